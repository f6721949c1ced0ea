#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settings: layers and trust; sockets and ports; bad input; changes while a command runs.
e2e-settings-rows.py tests their meaning for files. Prints TAP.
"""

import json
import os
import pty
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import names
import running
import tap
from running import eventually, for_everybody

# ---- layers ----


def settings(user, cwd, *words, env=None):
    return user.call([running.BUCKLE, "settings", *words], cwd=cwd, env=env)


def trust(user, cwd, *words):
    return user.call([running.BUCKLE, "trust", *words], cwd=cwd)


def fresh(user):
    """A user without settings, and a project."""
    shutil.rmtree(os.path.join(user.home, ".config"), ignore_errors=True)
    return user.folder("project")


def values(user, cwd, key, *words, **how):
    r = settings(user, cwd, "--json", *words, **how)
    return [v["value"] for v in json.loads(r.out).get(key, []) if v["counts"]]


def test_layers(user, t):
    w = fresh(user)
    r = settings(user, w, "add", "network.allowedDomains", "a.test", "b.test")
    t.equal(r.status, 0, "the user's layer is written", r)
    t.equal(values(user, w, "network.allowedDomains"), ["a.test", "b.test"], "and counts")
    t.equal(values(user, w, "filesystem.allowWrite"), ["."], "nothing is said about writing: the working directory")
    settings(user, w, "add", "filesystem.allowWrite", "~/cache")
    t.equal(values(user, w, "filesystem.allowWrite"), [".", "~/cache"], "adding keeps the default")
    settings(user, w, "set", "network.allowLocalBinding", "true")
    user.write(f"{w}/.buckle/settings.json", json.dumps({
        "network": {"allowedDomains": ["evil.test"], "deniedDomains": ["b.test"], "allowLocalBinding": False,
                    "allowAllUnixSockets": True},
        "filesystem": {"allowWrite": ["/etc"], "denyRead": ["secret"]}}))
    t.equal(values(user, w, "network.allowedDomains"), ["a.test", "b.test"], "a project does not open hosts for itself")
    t.equal(values(user, w, "filesystem.allowWrite"), [".", "~/cache"], "nor folders")
    t.equal(values(user, w, "network.allowAllUnixSockets"), [], "nor sockets")
    t.equal(values(user, w, "network.deniedDomains"), ["b.test"], "it may close hosts")
    t.equal(values(user, w, "network.allowLocalBinding"), [False], "and what the user has opened")
    sub = os.path.join(w, "deep/er")
    os.makedirs(sub)
    t.equal(values(user, sub, "network.deniedDomains"), ["b.test"], "also from a folder below")
    r = settings(user, w)
    t.ok("evil.test" in r.out and "not trusted" in r.out and "project settings, line 1" in r.out
         and "buckle trust" in r.err, "what does not count is listed, with the reason and the line", r)

    r = trust(user, sub)
    t.ok(r.status == 0 and w in r.out, "trusted", r)
    t.equal(values(user, w, "network.allowedDomains"), ["a.test", "b.test", "evil.test"], "now it counts")
    t.ok(w in trust(user, w, "--list").out, "and is listed")
    user.write(f"{w}/.buckle/settings.local.json", '{"filesystem": {"allowWrite": ["/usr"]}}')
    t.equal(values(user, w, "network.allowedDomains"), ["a.test", "b.test"], "another file, and it counts no longer")
    trust(user, w)
    t.ok("/usr" in values(user, w, "filesystem.allowWrite"), "until that is trusted, too")
    with open(f"{w}/.buckle/settings.json", "a", encoding="utf-8") as f:
        f.write(" ")
    t.equal(values(user, w, "filesystem.allowWrite"), [".", "~/cache"], "nor when a byte has changed")
    trust(user, w)
    trust(user, w, "--remove", w)
    t.equal(values(user, w, "filesystem.allowWrite"), [".", "~/cache"], "nor when trust is taken back")


# settings of an untrusted project, and what applies: nothing that widens access
WIDENS = {
    "network": {"allowedDomains": ["evil.test"], "allowedRequests": ["evil.test/"], "credentials": ["HOME -> evil.test"], "ssh": ["* -> evil.test"], "allowAllDomains": True, "allowUnixSockets": ["/"],
                "allowAllUnixSockets": True, "allowLocalBinding": True, "allowLocalPorts": [22], "httpProxyPort": 1,
                "socksProxyPort": 2, "parentProxy": {"http": "http://evil.test:1"}, "strictAllowlist": False,
                "tlsTerminate": {"excludeDomains": ["evil.test"]}, "filterRequest": "/tmp/evil", "allowPlaintextHeaderSet": True,
                "mitmProxy": {"socketPath": "/tmp/evil", "domains": ["evil.test"]}, "ambiguousRequestTarget": "asSpelled",
                "allowMachLookup": ["x.*"], "requireHostMatch": False, "refuseOpaqueTunnels": False, "allowManagedDomainsOnly": False},
    "filesystem": {"allowRead": ["~/.ssh"], "allowWrite": ["~"], "allowGitConfig": True, "disabled": True,
                   "sharedTmp": False, "shareCaches": True, "allowProtected": ["editors", "git-hooks"],
                   "allowManagedReadPathsOnly": False},
    "record": {"path": "/tmp/evil", "maxBytes": 1, "keep": 1, "files": False, "journal": True,
               "otlp": "http://evil.test:1"},
    "credentials": {"envVars": [{"name": "HOME", "mode": "mask"}]},
    "enabled": False, "autoAllowBashIfSandboxed": True, "excludedCommands": ["sh"], "agreedCommands": ["sh *"], "allowUnsandboxedCommands": True,
    "ignoreViolations": {"*": ["/"]}, "allowNestedUserNamespaces": True, "allowPty": True, "allowAppleEvents": True,
    "enableWeakerNetworkIsolation": True, "enableWeakerNestedSandbox": True, "autoPresets": True,
    "enabledPlatforms": ["none"], "prompt": False, "tmpdir": "/tmp/evil",
}


def test_distrust(user, t):
    w = fresh(user)
    sections = ("network", "filesystem", "record")
    keys = [f"{k}.{sub}" if k in sections else k for k, v in WIDENS.items() for sub in (v if k in sections else [""])]
    opening = {k["key"] for k in json.loads(settings(user, w, "--keys", "--json").out) if k["opens"]}
    t.equal(set(keys), opening, "every key that opens is tried")
    user.write(f"{w}/.buckle/settings.json", json.dumps(WIDENS))
    output = json.loads(settings(user, w, "--json").out)
    counted = {key for key in keys for v in output[key] if v["counts"] and v["layer"] != "default"}
    t.equal(counted, set(), "nothing that widens counts")
    before = user.call([running.BUCKLE, "profile"], cwd=w).out
    user.write(f"{w}/.buckle/settings.json", "{}")
    t.equal(before, user.call([running.BUCKLE, "profile"], cwd=w).out, "and the policy is as if it were not said")
    user.write(f"{w}/.buckle/settings.json", '{"enabled": false, "ignoreViolations": {"make": ["/x"]}}')
    terminal, theirs = pty.openpty()
    os.write(terminal, b"n\n")
    child = user.start([running.BUCKLE, "trust"], cwd=w, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    shown = child.communicate(timeout=30)[0].decode()
    t.ok("enabled: false" in shown and "ignoreViolations: make: " in shown and child.returncode == 1,
         "who is asked for trust is shown what it opens", shown)
    os.close(terminal)
    os.close(theirs)
    t.ok(not trust(user, w, "--list").out, "and may say no")
    user.write(f"{w}/.buckle/settings.json", '{"filesystem": {"denyRead": []}}')
    t.equal(settings(user, w).err, "", "nothing is said about trust where nothing depends on it")


def test_projects(user, t):
    """Nested projects: the inner one cannot override denials of the outer one."""
    w, o = fresh(user), user.folder("outside")
    inner = os.path.join(w, "vendor/inner")
    user.write(f"{w}/.buckle/settings.json", json.dumps({"filesystem": {"denyRead": ["private"], "allowWrite": [".", o]}}))
    user.write(f"{inner}/.buckle/settings.json", json.dumps({"filesystem": {"denyRead": ["own"], "allowRead": ["../../private/part"]}}))
    secret, own = user.write(f"{w}/private/part/secret", "text\n"), user.write(f"{inner}/own", "text\n")
    script = f"cat {secret} {own}; touch {o}/new; echo x >{w}/.buckle/settings.json; touch here; echo ran"

    def tries():
        r = user.run("--report", "none", "sh", "-c", script, cwd=inner)
        made = [name for name, path in (("outside", f"{o}/new"), ("here", f"{inner}/here")) if os.path.exists(path)]
        for name in (f"{o}/new", f"{inner}/here"):
            if os.path.exists(name):
                os.remove(name)
        return r.out, made

    t.equal(tries(), ("ran\n", ["here"]), "denials of both hold, nothing of either opens")
    reported = settings(user, inner).out
    t.ok(f"{w}/.buckle/settings.json, line 1" in reported and "project settings, line 1" in reported, "and tell whose they are", reported)
    trust(user, inner)
    t.equal(tries(), ("text\nran\n", ["here"]), "trusting the inner one opens what it opens")
    trust(user, inner, "--remove", inner)
    trust(user, w)
    t.equal(tries(), ("ran\n", ["outside", "here"]), "trusting the outer one does not trust the inner one")
    if user.uid:
        os.chmod(f"{w}/.buckle", 0)
        r = user.run("sh", "-c", "echo ran", cwd=inner)
        t.ok(r.status == 125 and "ran" not in r.out and f"{w}/.buckle" in r.err,
             "a folder of settings that cannot be looked into is not passed over", r)
        os.chmod(f"{w}/.buckle", 0o700)


def test_policy(user, t):
    w, o = fresh(user), user.folder("outside")
    user.write(f"{o}/file", "text\n")
    policy = user.write(f"{user.home}/policy.json", json.dumps({
        "filesystem": {"allowWrite": [w], "denyRead": [f"{o}/file"]},
        "network": {"allowedDomains": ["a.test"], "strictAllowlist": True},
        "allowUnsandboxedCommands": False, "allowNestedUserNamespaces": False}))
    env = {"BUCKLE_POLICY": policy}
    loose = user.write(f"{user.home}/loose.json", json.dumps({
        "filesystem": {"allowWrite": [o], "allowRead": [f"{o}/file"], "disabled": True},
        "network": {"allowedDomains": ["b.test"], "allowAllDomains": True, "strictAllowlist": False},
        "allowUnsandboxedCommands": True}))
    for key, want in (("filesystem.allowWrite", [w]), ("network.allowedDomains", ["a.test"]),
                      ("network.strictAllowlist", [True]), ("network.allowAllDomains", []),
                      ("filesystem.disabled", []), ("allowUnsandboxedCommands", [False])):
        t.equal(values(user, w, key, "-s", loose, env=env), want, f"policy: {key}")
    script = f"cat {o}/file; echo x > {o}/new; echo x > {w}/new && echo written"
    for name, words in (("settings", ["-s", loose]), ("flags", ["--allow-write", o, "--allow-read", f"{o}/file"]),
                        ("a profile", ["--profile", "open"]), ("nothing", [])):
        r = user.run("--report", "none", *words, "sh", "-c", script, cwd=w, env=env)
        t.ok("text" not in r.out and not os.path.exists(f"{o}/new") and "written" in r.out,
             f"policy over {name}: denied reads and a ceiling for writes hold", r)
    for name, words in (("sandbox-exec", ["-p", "(version 1)(allow default)"]), ("cage", ["--allow", o, "--allow", w])):
        link = os.path.join(os.path.dirname(running.BUCKLE), name)
        if not os.path.lexists(link):
            os.symlink("buckle", link)
        r = user.call([link, *words, "sh", "-c", script], cwd=w, env=env)
        t.ok("text" not in r.out and not os.path.exists(f"{o}/new") and "written" in r.out, f"policy over {name}", r)
    run = Lines(user, "--grantable", "sh", "-c", f"touch {o}/new; " + WAIT.format("[ -e go ]", "went") + f"; touch {o}/new",
                cwd=w, env=env)
    output = eventually(lambda: o in user.call([running.BUCKLE, "log", "--run", str(run.child.pid)]).out)
    r = user.call([running.BUCKLE, "grant", "--run", str(run.child.pid), "--write", o])
    user.write(f"{w}/go", "")
    out = run.end()
    t.ok(output and out == "went\n" and not os.path.exists(f"{o}/new"), "policy over a grant", r, run.err())
    r = user.run("--allow-userns", "true", cwd=w, env=env)
    t.ok(r.status == 125 and "policy" in r.err, "policy over a flag that is no rule", r)
    r = user.run("true", cwd=w, env={"BUCKLE_POLICY": "/nonexistent"})
    t.equal(r.status, 125, "a policy that is named has to be there", r)
    for words in ([], ["--profile", "open"]):
        r = user.run(*words, "true", cwd=user.home if words else w, env={"BUCKLE_POLICY": "policy.json"})
        t.ok(r.status == 125 and "BUCKLE_POLICY" in r.err, f"and to be named from the root {words}", r)


def test_protected(user, t):
    w = fresh(user)
    settings(user, w, "add", "filesystem.allowWrite", "~")
    user.write(f"{w}/.buckle/settings.json", "{}")
    given = user.write(f"{user.home}/given.json", "{}")
    script = f"for f in ~/.config/buckle/settings.json {w}/.buckle/settings.json {given}; do echo x > $f; rm -f $f; " \
             "mv $f $f.old; done; mv ~/.config ~/.other; mkdir -p ~/.config/buckle/trust; touch ~/fine"
    r = user.run("-s", given, "sh", "-c", script, cwd=w)
    t.ok(os.path.exists(f"{user.home}/fine"), "the home folder can be written", r)
    with open(given, encoding="utf-8") as f:
        t.equal(f.read(), "{}", "settings that were named stay as they are")
    t.ok(os.path.exists(f"{user.home}/.config/buckle/settings.json") and
         os.path.exists(f"{w}/.buckle/settings.json") and
         not os.path.exists(f"{user.home}/.config/buckle/trust"), "and so do those that were found", r)
    user.sh("ln -s ~ build", cwd=w)
    settings(user, w, "set", "filesystem.allowWrite", '[".", "build"]')
    r = user.run("true", cwd=w)
    t.ok(r.status == 125 and "link" in r.err and user.home in r.err,
         "a link that the command could have made opens nothing", r)


# Policies that allow all writing, and everything that tries to open the protected paths.
def loosest(user, w, *places):
    """{name: command line prefix}"""
    opens = [word for place in places for word in ("--allow-write", place)]
    everything = json.dumps({"filesystem": {"allowWrite": ["/", *places]}})
    disabled = json.dumps({"filesystem": {"disabled": True}})
    free = "(version 1)(allow default)"
    names_again = free + "(define (deny . all) #t)(define (subpath . all) (literal \"/\"))" \
        "(define literal subpath)(define regex subpath)(define file-write* file-read*)" \
        "(set! %finalize (lambda () (allow file-write* file-write-data file-write-create file-write-unlink)))"

    def own(name, text):
        return user.profile(name, text)
    return {
        "the default profile": ["buckle", "run", "--here"],
        "flags": ["buckle", "run", "--here", *opens, "-w", w, "-w", user.home],
        "open, and flags": ["buckle", "run", "--profile", "open", *opens, "-w", "/"],
        "a profile that allows everything": ["buckle", "run", "--profile", own("free.sb", free)],
        "one that gives names another meaning":
            ["buckle", "run", "--profile", own("again.sb", names_again), *opens],
        "settings": ["buckle", "run", "--here", "-s", user.write(user.home + "/all.json", everything)],
        "settings without rules about files":
            ["buckle", "run", "--here", "-s", user.write(user.home + "/none.json", disabled)],
        "a preset": ["buckle", "run", "--here", "--preset", "builtin:safe-home", *opens],
        "sandbox-exec": ["sandbox-exec", "-p", free],
        "srt": ["srt", "-s", user.write(user.home + "/srt.json", everything)],
        "cage": ["cage", "--allow", "/"],
    }


def look(path):
    """A path's type and contents; None if it does not exist."""
    if not os.path.lexists(path):
        return None
    st = os.lstat(path)
    if os.path.islink(path):
        return st.st_ino, os.readlink(path)
    if os.path.isdir(path):
        return st.st_ino, st.st_mode, {name: look(os.path.join(path, name)) for name in os.listdir(path)}
    with open(path, encoding="utf-8") as f:
        return st.st_ino, st.st_mode, st.st_nlink, f.read()


def hold(path):
    """The identity of a folder or symlink; a missing folder may be created, but no symlink."""
    return os.lstat(path).st_ino if os.path.lexists(path) else os.path.islink(path)


def try_all(user, t, w, script, places, holders, env=None):
    """Runs the script under each; the paths and their parents must stay unchanged, or missing."""
    for name, (program, *words) in loosest(user, w, *places).items():
        before, held = [look(p) for p in places], {p: hold(p) for p in holders if os.path.lexists(p)}
        command = [*words, *([] if program == "sandbox-exec" else ["--"]), "sh", "-c", script]
        r = user.call([running.BUCKLE, *command], cwd=w, env=env) if program == "buckle" else \
            names.call(user, program, *command, cwd=w, env=env or {})
        changed = [p for p, was in zip(places, before) if look(p) != was]
        moved = [p for p, was in held.items() if hold(p) != was] + \
                [p for p in holders if p not in held and os.path.islink(p)]
        t.ok(os.path.exists(w + "/ran") and not changed and not moved,
             f"{name}: all stays as it is", changed, moved, r)
        user.sh(f"rm -rf {w}/ran {w}/evil* {w}/hard; mkdir -p {w}/evil/buckle; echo '{{}}' >{w}/evil/settings.json; "
                  f"cp {w}/evil/settings.json {w}/evil/buckle/", cwd="/")


EACH_WAY = """for p in {places}; do
echo x >$p; echo x >$p/settings.json; mkdir -p $p/trust; touch $p/trust/x; chmod 777 $p; rm -rf $p; mv $p $p.old
ln -sf {w}/evil/target $p; ln -s {w}/evil $p; mv -T {w}/evil $p; ln $p/settings.json {w}/hard && echo x >{w}/hard
d=$(dirname $p); mv $d $d.old && mkdir -p $p; ln -s {w}/evil $d; mv -T {w}/evil $d
mv -T --exchange {w}/evil $d 2>/dev/null
done 2>/dev/null; touch {w}/ran"""


def test_places_of_ours(user, t):
    """No policy allows writing to files that configure sandboxes."""
    w = fresh(user)
    home = user.home
    places = [home + "/.config/buckle", home + "/.config/cage", home + "/.srt-settings.json", w + "/.buckle"]
    for exists in (False, True):
        if exists:
            shutil.rmtree(home + "/.config", ignore_errors=True)
            settings(user, w, "set", "network.allowLocalBinding", "false")
            user.write(f"{w}/.buckle/settings.json", "{}")
            user.write(home + "/.srt-settings.json", "{}")
        try_all(user, t, w, EACH_WAY.format(places=" ".join(places), w=w), places,
                [home, home + "/.config", *([w] if exists else [])])
    os.unlink(home + "/.srt-settings.json")


def test_places_elsewhere(user, t):
    """Nor where a variable or a symlink has moved them into a writable folder."""
    w = fresh(user)
    xdg = w + "/cfg"
    policy = user.write(w + "/policy.json", "{}")
    places = [xdg + "/buckle", xdg + "/cage", policy]
    for exists in (False, True):
        user.sh(f"rm -rf {xdg}; mkdir {xdg}")
        if exists:
            user.write(xdg + "/buckle/settings.json", "{}")
        try_all(user, t, w, EACH_WAY.format(places=" ".join(places), w=w), places, [w, xdg],
                env={"XDG_CONFIG_HOME": xdg, "BUCKLE_POLICY": policy})
    for what, link in {
            "the folder": "mkdir -p ~/.config dot/buckle; ln -s $PWD/dot/buckle ~/.config/buckle",
            "the folder around it": "mkdir -p dot/buckle; ln -s $PWD/dot ~/.config",
            "a file": "mkdir -p ~/.config/buckle dot/buckle; echo '{}' >dot/buckle/settings.json; "
                      "ln -s $PWD/dot/buckle/settings.json ~/.config/buckle/settings.json",
            "a folder that is not there": "mkdir -p ~/.config dot; ln -s $PWD/dot/buckle ~/.config/buckle",
            "links to links": "mkdir -p ~/.config dot/buckle; ln -s dot two; ln -s $PWD/two/buckle ~/.config/buckle",
    }.items():
        w = fresh(user)
        user.sh(link, cwd=w)
        config, real, two = user.home + "/.config", w + "/dot/buckle", w + "/two"
        places = [real + "/settings.json" if what == "a file" else real, config + "/buckle"]
        script = EACH_WAY.format(places=f"{' '.join(places)} {two}", w=w)
        try_all(user, t, w, script, places + ([two] if os.path.islink(two) else []),
                [config, w + "/dot", user.home, w])
        user.sh(f"rm -rf {config}")


def test_last_word(user, t):
    """A profile cannot override what follows it: the machine's policy and the user's flags."""
    w, o = fresh(user), user.folder("outside")
    policy = user.write(user.home + "/last.json", json.dumps({"filesystem": {"denyWrite": [o]}}))
    for what, text in {
            "deny": "(define (deny . all) #t)", "deny by another": "(set! deny allow)",
            "filters": "(define (subpath . all) (literal \"/nowhere\"))(define regex subpath)",
            "operations": "(define file-write* file-read*)(define file-write-create file-read*)",
            "the end": "(define (%finalize) (allow file-write* file-write-create file-write-data (regex \"^/\")))",
            "quote": "(define quote list)", "syntax": "(define-macro (deny . all) #t)"}.items():
        profile = user.profile("last.sb", "(version 1)(allow default)" + text)
        for name, words, env in (("the machine's policy", [], {"BUCKLE_POLICY": policy}),
                                 ("a flag", ["--deny-write", o], {})):
            r = user.run("--report", "none", "--profile", profile, *words, "sh", "-c",
                           f"echo x >{o}/new; touch ran", cwd=w, env=env)
            t.ok(os.path.exists(w + "/ran") and not os.path.exists(o + "/new"),
                 f"a profile that defines {what} anew does not lift {name}", r)
            user.sh(f"rm -f {w}/ran {o}/new")


def test_turned_links(user, t):
    """Symlinks that a command creates give the next command no access, whatever is allowed."""
    w, o = fresh(user), user.folder("outside")
    secret = user.write(f"{o}/secret", "text\n")
    user.write(f"{w}/releases/1/file", "text\n")
    r = user.run("sh", "-c", f"ln -s {secret} data; ln -s {o} build; ln -s releases/1 current", cwd=w)
    t.equal(sorted(os.listdir(w)), ["build", "current", "data", "releases"], "they can be made", r)
    file = f"{user.home}/turned.json"
    allowed = {"filesystem": {"denyRead": [o], "allowRead": ["data"]}}, {"filesystem": {"allowWrite": [".", "build"]}}, \
        {"network": {"allowUnixSockets": ["data"]}}
    tries = [(json.dumps(text), []) for text in allowed]
    tries += [("{}", words) for words in (["--allow-read", "data"], ["--allow-write", "build/x"], ["--allow-socket", "./data"])]
    for text, words in tries:
        user.write(file, text)
        r = user.run("-s", file, *words, "sh", "-c", "echo ran", cwd=w)
        t.ok(r.status == 125 and r.out == "" and "link" in r.err and o in r.err, f"refused: {words or text}", r)
    user.write(file, '{"filesystem": {"allowWrite": ["releases"], "allowRead": ["data"]}}')
    t.equal(user.run("-s", file, "cat", "data", cwd=w).out, "text\n", "a link where the command cannot write is followed")
    r = user.run("--allow-write", "current/more", "sh", "-c", "mkdir current/more && echo made", cwd=w)
    t.equal(r.out, "made\n", "and so is one that leads nowhere else", r)
    user.write(file, "{}")
    run = Lines(user, "--grantable", "--updatable", "-s", file, "sh", "-c",
                "touch ready; " + WAIT.format("[ -e go ]", "went"), cwd=w)
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    r = user.call([running.BUCKLE, "grant", "--run", str(run.child.pid), "--write", "build"], cwd=w)
    t.ok(r.status != 0 and "link" in r.err, "refused: a grant", r)
    user.write(file, json.dumps(allowed[0]))
    t.ok(run.prints("is a symlink"), "refused: settings that come later", run.err())
    user.write(f"{w}/go", "")
    run.end()


def test_new_repository(user, t):
    """Files created during the run are protected, too; the command may create its own repository."""
    if running.missing("git"):
        tap.skip("git is not installed")
        return
    w = fresh(user)
    file = user.write(f"{user.home}/s.json", '{"filesystem": {"allowWrite": ["."]}}')
    r = user.run("--report", "none", "-s", file, "sh", "-c", "mkdir -p a/b && cd a/b && git init -q new && cd new && "
                   "git config user.name x && echo set; echo evil >.git/hooks/pre-commit; echo x >.bashrc; "
                   "mkdir .vscode; git status --porcelain", cwd=w)
    new = f"{w}/a/b/new"
    t.ok(r.out == "set\n?? .bashrc\n" and not os.path.exists(f"{new}/.git/hooks/pre-commit") and
         os.path.isdir(f"{new}/.vscode"), "a new repository: set up, protected names in its own folder, no hooks", r)


# ---- sockets and ports ----

SERVER = """
import socket, sys
s = socket.socket(socket.AF_UNIX if sys.argv[1] == "unix" else socket.AF_INET)
s.bind(sys.argv[2] if sys.argv[1] == "unix" else ("127.0.0.1", 0))
s.listen(8)
print(s.getsockname() if sys.argv[1] == "unix" else s.getsockname()[1], flush=True)
while True:
    c, _ = s.accept()
    got = c.recv(200).decode()
    c.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\nsaw " + got.split("\\r\\n")[0].encode() if "HTTP" in got else b"hello")
    c.close()
"""
CLIENT = """
import socket, sys
s = socket.socket(socket.AF_UNIX if sys.argv[1] == "unix" else socket.AF_INET)
try:
    s.connect(sys.argv[2] if sys.argv[1] == "unix" else ("127.0.0.1", int(sys.argv[2])))
    s.send(b"x")
    print(s.recv(10).decode())
except OSError as e:
    print(e.strerror)
"""


class Server:
    def __init__(self, user, kind, where=""):
        self.child = user.start(["python3", "-c", SERVER, kind, where], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE)
        self.where = self.child.stdout.readline().decode().strip()

    def end(self):
        self.child.kill()
        self.child.wait()


def test_sockets(user, t):
    w, o = fresh(user), user.folder("outside")
    server = Server(user, "unix", f"{o}/s")
    other = Server(user, "unix", f"{w}/t")
    file = f"{user.home}/sockets.json"

    def asks(network, where):
        user.write(file, json.dumps({"network": network}))
        return user.run("--report", "none", "-s", file, "python3", "-c", CLIENT, "unix", where, cwd=w).out.strip()

    t.ok(asks({}, f"{o}/s") != "hello", "a Unix socket outside is closed")
    t.equal(asks({"allowUnixSockets": [f"{o}/s"]}, f"{o}/s"), "hello", "one that is listed is not")
    t.ok(asks({"allowUnixSockets": [f"{o}/s"]}, f"{w}/t") != "hello", "another one is, also in the working directory")
    t.equal(asks({"allowUnixSockets": ["*"]}, f"{w}/t"), "hello", "by a pattern")
    t.equal(asks({"allowAllUnixSockets": True}, f"{o}/s"), "hello", "all of them")
    server.end()
    other.end()


def test_ports(user, t):
    w = fresh(user)
    server, other = Server(user, "tcp"), Server(user, "tcp")
    file = f"{user.home}/ports.json"

    def asks(network, where):
        user.write(file, json.dumps({"network": network}))
        return user.run("--report", "none", "-s", file, "python3", "-c", CLIENT, "tcp", where, cwd=w).out.strip()

    port = int(server.where)
    t.ok(asks({}, server.where) != "hello", "this machine's ports are closed")
    t.equal(asks({"allowLocalPorts": [port]}, server.where), "hello", "one that is listed is not")
    t.ok(asks({"allowLocalPorts": [port]}, other.where) != "hello", "another one is")
    if not running.missing("curl"):
        user.write(file, json.dumps({"network": {"httpProxyPort": port}}))
        r = user.run("--report", "none", "-s", file, "curl", "-s", "-m", "10", "http://name.test/x", cwd=w)
        t.equal(r.out, "saw GET http://name.test/x HTTP/1.1", "somebody else's proxy is announced and reached", r)
    server.end()
    other.end()


# ---- bad input ----

BAD = [
    ("unknown key", '{\n "filesystem": {"alowWrite": []}}', ["2:17", "alowWrite", "filesystem.allowWrite"]),
    ("unknown key on top", '{"netwrk": {}}', ["netwrk", "network"]),
    ("right key, wrong place", '{"allowedDomains": []}', ["network.allowedDomains"]),
    ("wrong type", '{"filesystem": {"denyRead": "x"}}', ["filesystem.denyRead", "list of paths", "a string"]),
    ("wrong element", '{"filesystem": {"denyRead": [1]}}', ["filesystem.denyRead", "a number"]),
    ("not a bool", '{"network": {"allowLocalBinding": 1}}', ["true or false"]),
    ("duplicate key", '{\n"filesystem": {},\n"filesystem": {}}', ["3:1", "twice", "line 2"]),
    ("comment", '{ // no\n}', ["comments"]),
    ("trailing comma", '{"filesystem": {},}', ["1:19"]),
    ("half a file", '{"filesystem": {"denyRead": ["/a', ["1:30"]),
    ("nothing", "", ["empty"]),
    ("not an object", "[]", ["an object"]),
    ("bad UTF-8", b'{"filesystem": {"denyRead": ["/\xff"]}}', ["UTF-8"]),
    ("zero byte", '{"filesystem": {"denyRead": ["/a\\u0000b"]}}', ["NUL byte"]),
    ("deep nesting", "[" * 100000, ["deep"]),
    ("no host", '{"network": {"allowedDomains": ["https://a.test/x"]}}', ["https://a.test/x"]),
    ("every host", '{"network": {"allowedDomains": ["*"]}}', ["every host"]),
    ("half the world", '{"network": {"allowedDomains": ["*.com"]}}', ["*.com"]),
    ("no port", '{"network": {"httpProxyPort": 70000}}', ["65535"]),
    ("half a proxy", '{"network": {"mitmProxy": {}}}', ["needs socketPath and domains"]),
    ("a wrong mask", '{"credentials": {"envVars": [{"name": "A"}]}}', ["name and mode"]),
    ("unset variable", '{"filesystem": {"denyRead": ["$NO_SUCH_VAR/x"]}}', ["NO_SUCH_VAR"]),
    ("slash behind a pattern", '{"filesystem": {"denyRead": ["a/*/"]}}', ["slash"]),
    ("literal without a path", '{"filesystem": {"denyRead": [{"literal": true}]}}', ["literal"]),
    ("beside sandbox", '{"sandbox": {}, "network": {}}', ["next to sandbox"]),
]


def test_bad(user, t):
    w = fresh(user)
    path = os.path.join(w, "bad.json")
    for name, text, words in BAD:
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        user.own(path)
        r = user.run("-s", path, "sh", "-c", "echo ran", cwd=w)
        t.ok(r.status == 125 and "ran" not in r.out and "bad.json" in r.err
             and all(word in r.err for word in words), f"{name}: nothing runs, and why", r)
        c = user.call([running.BUCKLE, "check", path], cwd=w)
        t.ok(c.status == 1 and all(word in c.out for word in words), f"{name}: check says the same", c)
    for where in (f"{user.home}/.config/buckle/settings.json", f"{w}/.buckle/settings.json"):
        user.write(where, '{"filesystem": {"denyReads": []}}')
        r = user.run("sh", "-c", "echo ran", cwd=w)
        t.ok(r.status == 125 and "denyReads" in r.err and "ran" not in r.out, f"{where} is not passed over", r)
        os.remove(where)


def test_files(user, t):
    w = fresh(user)
    path = os.path.join(w, "odd.json")
    with open(path, "wb") as f:
        f.truncate(100 << 20)
    user.own(path)
    r = user.run("-s", path, "true", cwd=w)
    t.ok(r.status == 125 and "larger" in r.err and r.seconds < 5, "100 MB are refused unread", r)
    os.remove(path)
    os.mkfifo(path)
    user.own(path)
    r = user.run("-s", path, "true", cwd=w, timeout=10)
    t.equal(r.status, 125, "a pipe in a file's place is not waited for", r)
    os.remove(path)
    r = user.run("-s", path, "true", cwd=w)
    t.ok(r.status == 125 and "No such file" in r.err, "a file that is named has to be there", r)
    if user.uid:
        user.write(path, "{}", 0o000)
        r = user.run("-s", path, "true", cwd=w)
        t.equal(r.status, 125, "and to be readable", r)
    user.write(path, '{"ripgrep": {}, "allowPty": true, "enabled": true, "seccomp": {}}')
    c = user.call([running.BUCKLE, "check", path], cwd=w)
    t.ok(c.status == 0 and c.out.count("note:") == 4, "what has no effect is reported by check", c)
    t.quiet(user.run("-s", path, "true", cwd=w), "and accepted")
    user.write(path, '{"other": {"x": 1}, "sandbox": {"filesystem": {"denyRead": ["/x"]}}}')
    t.quiet(user.run("-s", path, "true", cwd=w), "a host's larger file")
    t.equal(values(user, w, "filesystem.denyRead", "-s", path), ["/x"], "of which the sandbox counts")


def test_hosts(user, t):
    """Files of host applications load as they are, with the effect that their keys ask for."""
    w = fresh(user)
    path = os.path.join(w, "host.json")
    user.write(path, json.dumps({
        "model": "x", "env": {"A": "b"}, "hooks": {"PreToolUse": []}, "permissions": {"allow": ["Bash(ls:*)"]},
        "failIfUnavailable": True, "enabledPlatforms": ["macos", "linux", "wsl"]}))
    t.quiet(user.run("-s", path, "true", cwd=w), "a host's own keys beside ours")
    c = user.call([running.BUCKLE, "check", path], cwd=w)
    t.ok(c.status == 0 and "model is a setting of Claude Code" in c.out and "buckle settings import" in c.out and
         "never runs a command without its sandbox" in c.out, "check says whose they are", c)
    for name, text, near in (("one of ours", '{"excludedCommand": []}', "excludedCommands"),
                             ("a host's", '{"failIfUnavailble": true}', "failIfUnavailable"),
                             ("a host's in a section", '{"network": {"allowManagedDomainOnly": true}}',
                              "network.allowManagedDomainsOnly"),
                             ("a host's top key in a section", '{"network": {"permissions": {}}}', "is not a setting"),
                             ("nobody's", '{"permisions": {}}', "is not a setting")):
        user.write(path, text)
        r = user.run("-s", path, "sh", "-c", "echo ran", cwd=w)
        t.ok(r.status == 125 and near in r.err and not r.out, f"a misspelled key stays an error: {name}", r)

    def decides(text, **env):
        user.write(f"{user.home}/.config/buckle/settings.json", text)
        r = user.call([running.BUCKLE, "decide", "--mode", "open", "true"], cwd=w, env=env)
        os.remove(f"{user.home}/.config/buckle/settings.json")
        return r

    r = decides('{"enabledPlatforms": ["macos"]}')
    t.ok("outside" in r.out, "not a system of the list: disabled", r)
    r = decides('{"enabledPlatforms": ["linux", "wsl"]}')
    t.ok("outside" not in r.out, "this system is in the list", r)
    policy = user.write(f"{user.home}/policy.json", '{"enabled": true}')
    r = decides('{"enabledPlatforms": ["macos"]}', BUCKLE_POLICY=policy)
    t.ok("outside" not in r.out, "the machine's policy enables in spite of a user's list", r)
    user.write(f"{w}/.buckle/settings.json", '{"enabledPlatforms": ["macos"]}')
    r = decides("{}")
    t.ok("outside" not in r.out, "a project's list needs trust", r)
    os.remove(f"{w}/.buckle/settings.json")

    loose = user.write(path, json.dumps({"network": {"allowedDomains": ["a.test"], "allowAllDomains": True},
                                         "filesystem": {"denyRead": ["/d"], "allowRead": ["/d/e"]}}))
    user.write(policy, json.dumps({"network": {"allowManagedDomainsOnly": True},
                                   "filesystem": {"allowManagedReadPathsOnly": True}}))
    env = {"BUCKLE_POLICY": policy}
    for key in ("network.allowedDomains", "network.allowAllDomains", "filesystem.allowRead"):
        t.equal(values(user, w, key, "-s", loose, env=env), [], f"kept for the machine's policy: {key}")
    t.equal(values(user, w, "filesystem.denyRead", "-s", loose, env=env), ["/d"], "denials of others count")
    server = Server(user, "tcp")
    for how, want in ((env, ""), ({}, "hello")):
        r = user.run("--report", "none", "--profile", "open", "python3", "-c", CLIENT, "tcp", server.where, cwd=w, env=how)
        t.ok((r.out.strip() == "hello") == bool(want), f"a ceiling without a list: {want or 'closed'}", r)
    server.end()
    user.write(policy, json.dumps({"network": {"allowManagedDomainsOnly": True, "allowedDomains": ["b.test"]}}))
    t.equal(values(user, w, "network.allowedDomains", "-s", loose, env=env), ["b.test"], "and with one")
    user.write(path, json.dumps({"network": {"allowManagedDomainsOnly": True, "allowedDomains": ["a.test"]}}))
    t.equal(values(user, w, "network.allowedDomains", "-s", path), ["a.test"], "without effect in any other file")


# ---- changing ----


def test_edit(user, t):
    w = fresh(user)
    path = f"{user.home}/.config/buckle/settings.json"

    def read():
        with open(path, encoding="utf-8") as f:
            return f.read()

    settings(user, w, "add", "filesystem.denyRead", "~/a b", '{"path": "*", "literal": true}')
    settings(user, w, "set", "network.httpProxyPort", "3128")
    want = {"filesystem": {"denyRead": ["~/a b", {"path": "*", "literal": True}]}, "network": {"httpProxyPort": 3128}}
    t.equal(json.loads(read()), want, "added and set")
    t.ok(read().startswith('{\n  "filesystem": {\n    "denyRead"'), "pretty", read())
    t.equal(os.stat(path).st_mode & 0o777, 0o600, "for nobody else's eyes")
    settings(user, w, "add", "filesystem.denyRead", "~/a b")
    t.equal(json.loads(read()), want, "what is there is not added again")
    settings(user, w, "remove", "filesystem.denyRead", '{"path": "*", "literal": true}')
    settings(user, w, "remove", "network.httpProxyPort")
    t.equal(json.loads(read()), {"filesystem": {"denyRead": ["~/a b"]}}, "removed, with an empty section")
    before = read()
    for words in (["set", "filesystem.denyRead", "[3]"], ["add", "network.allowedDomains", "http://x"],
                  ["set", "nosuch", "1"], ["add", "network.httpProxyPort", "1"], ["set", "credentials", "3"],
                  ["remove", "filesystem.allowWrite"], ["remove", "filesystem.denyRead", "b"],
                  ["set", "filesystem.denyRead", '["a", "b"']):
        r = settings(user, w, *words)
        t.ok(r.status == 2 and read() == before, f"refused, nothing written: {' '.join(words)}", r)
    settings(user, w, "set", "network.deniedDomains", '["a.test"]', "--layer", "project")
    with open(f"{w}/.buckle/settings.json", encoding="utf-8") as f:
        t.equal(json.load(f), {"network": {"deniedDomains": ["a.test"]}}, "another layer")
    r = settings(user, w, "--schema")
    schema = json.loads(r.out)["properties"]
    keys = json.loads(settings(user, w, "--keys", "--json").out)
    flat = set(schema) | {f"{s}.{k}" for s in ("network", "filesystem", "record") for k in schema[s]["properties"]}
    t.equal(flat, {k["key"] for k in keys if k["effect"] != "later"}, "the schema has every key")


# ---- while a command runs ----

WAIT = "i=0; until {} 2>/dev/null; do i=$((i+1)); [ $i -lt 400 ] || exit 9; sleep 0.05; done; echo {}"


class Lines:
    """A run whose standard error can be read while it runs."""

    def __init__(self, user, *words, cwd, under=(), **how):
        self.path = os.path.join(user.home, "err")
        with open(self.path, "wb") as err:
            self.child = user.start([*under, running.BUCKLE, "run", *words], cwd=cwd, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=err, **how)

    def err(self):
        with open(self.path, encoding="utf-8") as f:
            return f.read()

    def prints(self, text):
        return eventually(lambda: text in self.err(), 10)

    def end(self):
        try:
            out, _ = self.child.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            self.child.kill()
            out, _ = self.child.communicate()
        return out.decode()


def test_watch(user, t):
    w, o = fresh(user), user.folder("outside")
    secret = user.write(f"{o}/secret", "text\n")
    file = user.write(f"{user.home}/live.json", "{}")
    script = f"touch ready; {WAIT.format(f'! cat {secret} >/dev/null', 'shut')}; " \
             f"{WAIT.format('[ -e go ]', 'went')}; cat {secret} 2>/dev/null; exit 0"
    run = Lines(user, "--updatable", "-s", file, "sh", "-c", script, cwd=w)
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    user.write(file, '{"filesystem": {"denyRead": ["/x", ')
    t.ok(run.prints("the old settings stay in force"), "half a file changes nothing, and is reported", run.err())
    os.truncate(file, 100 << 20)
    os.utime(file)
    t.ok(run.prints("larger"), "nor does one of 100 MB", run.err())
    user.write(file, "{}", 0 if user.uid else 0o600)
    t.ok(not user.uid or run.prints("Permission denied"), "nor one that cannot be read", run.err())
    user.write(file, json.dumps({"filesystem": {"denyRead": [o]}}))
    t.ok(run.prints("the new settings are in force"), "a change is taken over", run.err())
    os.remove(file)
    t.ok(run.prints("No such file"), "a file that is gone changes nothing", run.err())
    user.write(f"{w}/go", "")
    out = run.end()
    t.equal(out, "shut\nwent\n", "denied from the next operation on, and to the end", run.err())


def test_no_watch(user, t):
    """Where the user has no watches left, the files are read from time to time."""
    w, o = fresh(user), user.folder("outside")
    secret = user.write(f"{o}/secret", "text\n")
    file = user.write(f"{user.home}/unwatched.json", "{}")
    script = f"touch ready; {WAIT.format(f'! cat {secret} >/dev/null', 'shut')}"
    none = ["unshare", "-Ur", "sh", "-c", 'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"', "sh"]
    run = Lines(user, "--updatable", "--accept-weaker", "-s", file, "sh", "-c", script, cwd=w, under=none)
    t.ok(run.prints("cannot watch settings"), "without watches it says so", run.err())
    user.write(file, json.dumps({"filesystem": {"denyRead": [o]}}))
    t.equal(run.end(), "shut\n", "and reads the files from time to time", run.err())


def test_appears(user, t):
    """Files whose folders do not exist when the command starts."""
    o = user.folder("outside")
    secret = user.write(f"{o}/secret", "text\n")
    text = json.dumps({"filesystem": {"denyRead": [o]}})
    script = f"touch ready; {WAIT.format(f'! cat {secret} >/dev/null', 'shut')}; touch own $TMPDIR/x && echo made"
    for name, path in (("the user's", "{h}/.config/buckle/settings.json"), ("a project's", "{w}/.buckle/settings.json")):
        w = fresh(user)
        run = Lines(user, "--updatable", "sh", "-c", script, cwd=w)
        eventually(lambda w=w: os.path.exists(f"{w}/ready"), 10)
        user.write(path.format(h=user.home, w=w), text)
        out = run.end()
        t.equal(out, "shut\nmade\n", f"{name} file that comes to be counts", run.err())
    w = fresh(user)
    target = user.write(f"{user.home}/dotfiles/buckle.json", "{}")
    os.makedirs(f"{user.home}/.config/buckle")
    os.symlink(target, f"{user.home}/.config/buckle/settings.json")
    run = Lines(user, "--updatable", "sh", "-c", script, cwd=w)
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    time.sleep(0.3)
    user.write(target, text)
    t.equal(run.end(), "shut\nmade\n", "and so does what a link leads to", run.err())
    w = fresh(user)
    child = user.start([running.BUCKLE, "run", "--updatable", "-s", "-", "sh", "-c", script], cwd=w,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdin.write(b'{"filesystem": {"denyWrite": ["never"]}}')
    child.stdin.close()
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    written = user.write(f"{user.home}/.config/buckle/new", text)
    os.replace(written, f"{user.home}/.config/buckle/settings.json")  # never seen half written
    try:
        out, err = child.stdout.read(), child.stderr.read()
    finally:
        child.wait()
    t.ok(out == b"shut\nmade\n" and b"stay in force" not in err, "what came from standard input is not read again",
         out, err)


def test_control(user, t):
    w, o = fresh(user), user.folder("outside")
    secret = user.write(f"{o}/secret", "text\n")
    ours, theirs = os.pipe()
    script = f"touch ready; [ -e /proc/self/fd/{ours} ] && echo leaked; " \
             f"{WAIT.format(f'! cat {secret} >/dev/null', 'shut')}; {WAIT.format(f'cat {secret} >/dev/null', 'open')}"
    run = Lines(user, "--updatable", "--control-fd", str(ours), "sh", "-c", script, cwd=w, pass_fds=[ours])
    os.close(ours)
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    os.write(theirs, b'{"filesystem": {"denyWrites": []}}\n')
    t.ok(run.prints("denyWrites"), "a line that is wrong changes nothing, and is reported", run.err())
    line = json.dumps({"filesystem": {"denyRead": [o]}}).encode() + b"\n"
    for i in range(len(line)):
        os.write(theirs, line[i:i + 1])
    t.ok(run.prints("the new settings are in force"), "a line that arrives in pieces is taken over", run.err())
    time.sleep(0.3)
    os.write(theirs, b'{}\n')
    os.close(theirs)
    out = run.end()
    t.equal(out, "shut\nopen\n", "the next line takes its place; the end of input changes nothing", run.err())
    r = user.run("--control-fd", "99", "true", cwd=w)
    t.equal(r.status, 125, "a descriptor that is not there", r)


def test_waits(user, t):
    w, o = fresh(user), user.folder("outside")
    file = user.write(f"{user.home}/fixed.json", "{}")
    run = Lines(user, "-s", file, "sh", "-c", "touch ready; " + WAIT.format("[ -e go ]", "went"), cwd=w)
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    user.write(file, json.dumps({"filesystem": {"denyRead": [o]}}))
    t.ok(run.prints("with the next command: file-read-data"), "without --updatable: what has to wait is reported", run.err())
    user.write(f"{w}/go", "")
    run.end()


def test_reports(user, t):
    w, o = fresh(user), user.folder("outside")
    file = user.write(f"{user.home}/ignore.json", json.dumps({"ignoreViolations": {"*": ["/outside"]}}))
    script = f"touch {o}/x 2>/dev/null; true"
    t.quiet(user.run("-s", file, "sh", "-c", script, cwd=w), "ignored for every command")
    user.write(file, json.dumps({"ignoreViolations": {"other": [o]}}))
    r = user.run("-s", file, "sh", "-c", script, cwd=w)
    t.ok(o in r.err, "not for this one", r)
    t.quiet(user.run("-s", file, "sh", "-c", ": other; " + script, cwd=w), "except that one")


def test_profile(user, t):
    w = fresh(user)
    file = user.write(f"{user.home}/p.json", json.dumps({
        "filesystem": {"denyRead": ["~/shut"], "allowWrite": ["."]}, "network": {"allowedDomains": ["a.test"]}}))
    r = user.call([running.BUCKLE, "profile", "-s", file], cwd=w)
    t.ok(r.status == 0 and f'(subpath "{w}")' in r.out and "; " + file in r.out and '(domain "a.test")' in r.out,
         "the profile, with where its rules come from", r)
    c = user.call([running.BUCKLE, "check", "-"], stdin=r.out)
    t.ok(c.status == 0, "which check takes", c)
    r = user.call([running.BUCKLE, "profile", "-s", file, "--macos", "--http-port", "3128", "--tag", "TAG"], cwd=w)
    t.ok(r.status == 0 and '"localhost:3128"' in r.out and "a.test" not in r.out and '(with message "TAG")' in r.out
         and "(import" not in r.out, "for macOS: proxies' ports in place of names, no imports", r)
    c = user.call([running.BUCKLE, "check", "--no-lint", "-"], stdin=r.out)
    t.ok(c.status == 0, "which check takes as well", c)


TESTS = [test_turned_links, test_new_repository, test_sockets, test_ports, test_layers, test_distrust, test_projects, test_policy, test_hosts, test_protected, test_places_of_ours,
         test_places_elsewhere, test_last_word, test_bad, test_files, test_edit, test_watch, test_no_watch, test_appears,
         test_control, test_waits, test_reports, test_profile]

if __name__ == "__main__":
    for_everybody([test for test in TESTS if len(sys.argv) < 2 or test.__name__[5:] in sys.argv[1:]])
    sys.exit(tap.done())
