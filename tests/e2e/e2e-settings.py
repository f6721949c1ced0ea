#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settings: what they mean, as rows that eval and the kernel answer alike; layers and trust; bad
input; changes while a command runs. Prints TAP.
"""

import json
import os
import pty
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import drive
import running
import tap
from running import eventually, for_everybody

TOOLS = os.environ.get("TOOLS", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/gcc/tests"))
SRT = os.path.join(os.path.dirname(running.BUCKLE), "srt")
PROBE = os.path.join(os.path.realpath(drive.FOLDER), "bin", "probe")

# what a row asks: (operation, call)
ASKS = {"read": ("file-read-data", "openat-read"), "see": ("file-read-metadata", "stat"),
        "write": ("file-write-data", "open-write"), "make": ("file-write-create", "open-create-excl"),
        "remove": ("file-write-unlink", "unlink"), "chmod": ("file-write-mode", "chmod"),
        "mkdir": ("file-write-create", "mkdir")}


class Table:
    """Files and links to begin with, settings, and rows `ask path verdict`. {w} is the working
    directory, {o} a folder outside, {h} the home folder."""

    def __init__(self, name, files, settings, rows, links=()):
        self.name, self.files, self.settings = name, files.split(), settings
        self.rows = [line.split() for line in rows.strip().split("\n")]
        self.links = links


READING = Table(
    "reads: a denial, what is allowed in it, and what is denied in that",
    "o/a/file o/a/open/file o/a/open/shut/file o/a/open/key.pem o/b",
    {"filesystem": {"denyRead": ["{o}/a", "{o}/a/open/shut", "{o}/a/open/**/*.pem", "{o}/nothere"],
                    "allowRead": ["{o}/a/open"]}},
    """
    read  o/a/file             deny
    see   o/a/file             deny
    read  o/a/open/file        allow
    see   o/a/open/file        allow
    read  o/a/open/shut/file   deny
    read  o/a/open/key.pem     deny
    read  o/b                  allow
    write o/b                  deny
    """)

WRITING = Table(
    "writes: denied at, above and below what is allowed",
    "o/a/file o/a/shut/file o/a/shut/open/file o/b/in/file o/b/file o/c/file w/file",
    {"filesystem": {"allowWrite": ["{o}/a", "{o}/a/shut/open", "{o}/b/in", "{o}/c"],
                    "denyWrite": ["{o}/a/shut", "{o}/b", "{o}/c"]}},
    """
    write  o/a/file             allow
    make   o/a/new              allow
    remove o/a/file             allow
    write  o/a/shut/file        deny
    make   o/a/shut/new         deny
    write  o/a/shut/open/file   deny
    write  o/b/file             deny
    write  o/b/in/file          deny
    write  o/c/file             deny
    write  w/file               deny
    make   w/new                deny
    read   w/file               allow
    """)

DEFAULTS = Table(
    "nothing said about writing: the working directory, and not its protected names",
    "w/file w/.bashrc w/sub/.git/config w/sub/.git/hooks/x o/file h/.aws/credentials h/.aws/ok",
    {"filesystem": {"allowRead": ["~/.aws/ok"]}},
    """
    write  w/file               allow
    make   w/new                allow
    write  w/.bashrc            deny
    make   w/deep/.bashrc       deny
    make   w/.mcp.json          deny
    make   w/.vscode            deny
    write  w/sub/.git/config    deny
    make   w/sub/.git/hooks/y   deny
    remove w/sub/.git/hooks/x   deny
    write  o/file               deny
    read   h/.aws/credentials   deny
    see    h/.aws/credentials   allow
    read   h/.aws/ok            allow
    """)

GIT_CONFIG = Table(
    "allowGitConfig",
    "w/.git/config w/.git/hooks/x o/.git/config",
    {"filesystem": {"allowGitConfig": True}},
    """
    write  w/.git/config        allow
    make   w/.git/hooks/y       deny
    write  o/.git/config        deny
    """)

GLOBS = Table(
    "patterns, judged when a file is touched",
    "w/a.lock w/a.txt w/sub/b.lock w/x1/k w/x2/k w/xx/k w/log/deep/f w/logs o/q/r",
    {"filesystem": {"allowWrite": [".", "{o}/q*"], "denyWrite": ["*.lock", "x[0-9]", "log/**"],
                    "denyRead": ["**/b.lock"]}},
    """
    write  w/a.lock             deny
    write  w/a.txt              allow
    make   w/new.lock           deny
    make   w/new.txt            allow
    write  w/sub/b.lock         allow
    read   w/sub/b.lock         deny
    make   w/new/b.lock         allow
    write  w/x1/k               deny
    write  w/x2/k               deny
    write  w/xx/k               allow
    write  w/log/deep/f         deny
    write  w/logs               allow
    mkdir  o/qq                 allow
    write  o/q/r                deny
    """)

GLOB_READS = Table(
    "patterns that permit reading, inside of what is denied and by patterns denied again",
    "o/a/x.pub o/a/x o/a/sub/y.pub o/b1/f o/b1/keep/f o/b2/f o/c/[z-a] o/c/z",
    {"filesystem": {"denyRead": ["{o}/a", "{o}/b?", "{o}/c/[z-a]"], "allowWrite": ["."],
                    "allowRead": ["{o}/a/*.pub", "{o}/b[12]/keep"]}},
    """
    read  o/a/x.pub             allow
    see   o/a/x.pub             allow
    read  o/a/x                 deny
    see   o/a/x                 deny
    read  o/a/sub/y.pub         deny
    read  o/b1/f                deny
    read  o/b1/keep/f           deny
    read  o/b2/f                deny
    read  o/c/[z-a]             deny
    read  o/c/z                 allow
    """)

NAMES = Table(
    "names that hold what patterns are made of",
    "w/app/[id]/page w/app/i/page w/app/i2/page w/star*/f w/starry/f w/half[/f",
    {"filesystem": {"allowWrite": ["."],
                    "denyWrite": ["app/[id]", {"path": "star*", "literal": True}, "half["]}},
    """
    write  w/app/[id]/page      deny
    write  w/app/i/page         deny
    write  w/app/i2/page        allow
    write  w/star*/f            deny
    write  w/starry/f           allow
    write  w/half[/f            deny
    """)

LINKS = Table(
    "symbolic links, in and out",
    "o/real/file o/real2/file o/key w/plain",
    {"filesystem": {"allowWrite": [".", "{o}/out/in"], "denyWrite": ["link", "linked"],
                    "denyRead": ["key"]}},
    """
    write  o/real/file          deny
    write  w/link/file          deny
    remove w/link               deny
    remove w/linked             deny
    write  w/plain              allow
    read   w/key                deny
    read   o/key                deny
    remove w/key                deny
    write  o/real2/file         allow
    """,
    links=[("w/link", "{o}/real"), ("w/linked", "plain2"), ("w/key", "{o}/key"), ("o/out", "{o}"),
           ("o/in", "real2")])

DISABLED = Table(
    "filesystem.disabled: everything but settings",
    "w/.bashrc o/file h/.config/buckle/settings.json h/.aws/credentials",
    {"filesystem": {"disabled": True}},
    """
    write  w/.bashrc            allow
    write  o/file               allow
    read   h/.aws/credentials   allow
    write  h/.config/buckle/settings.json  deny
    make   h/.config/buckle/more           deny
    """)

REPOSITORIES = Table(
    "worktrees and submodules",
    "w/.git/modules/sub/config w/.git/modules/a/b/hooks/x w/.git/worktrees/wt/config.worktree "
    "w/.git/worktrees/wt/HEAD w/.git/index w/wt/.git/hooks/x",
    {},
    """
    write  w/.git/modules/sub/config               deny
    make   w/.git/modules/sub/hooks/y              deny
    write  w/.git/modules/a/b/hooks/x              deny
    write  w/.git/worktrees/wt/config.worktree     deny
    make   w/.git/commondir                        deny
    write  w/.git/worktrees/wt/HEAD                allow
    write  w/.git/index                            allow
    make   w/.gitmodules                           deny
    remove w/wt/.git/hooks/x                       deny
    make   w/deep/er/.claude/commands/x            deny
    """)

NESTED = Table(
    "protected names at any depth, in repositories of any kind",
    "w/a/.git/config w/a/.git/modules/m/config w/a/.git/modules/m/n/hooks/x w/a/.git/worktrees/t/config.worktree "
    "w/a/.git/worktrees/t/HEAD w/a/.git/index w/a/b/.bashrc w/a/b/.vscode/tasks.json w/a/b/.claude/agents/x w/a/b/file",
    {"filesystem": {"allowWrite": ["."]}},
    """
    write  w/a/.git/config                        deny
    remove w/a/.git/config                        deny
    write  w/a/.git/modules/m/config              deny
    write  w/a/.git/modules/m/n/hooks/x           deny
    make   w/a/.git/modules/m/n/hooks/y           deny
    write  w/a/.git/worktrees/t/config.worktree   deny
    write  w/a/.git/worktrees/t/HEAD              allow
    write  w/a/.git/index                         allow
    write  w/a/b/.bashrc                          deny
    make   w/a/b/c/.zprofile                      deny
    make   w/a/b/.ripgreprc                       deny
    make   w/a/b/.idea                            deny
    write  w/a/b/.vscode/tasks.json               deny
    make   w/a/b/.claude/agents/y                 deny
    make   w/a/b/.claude/commands/y               deny
    make   w/a/b/.gitmodules                      deny
    write  w/a/b/file                             allow
    make   w/a/b/bashrc                           allow
    make   w/a/b/.bashrc2                         allow
    """)

TABLES = [REPOSITORIES, READING, WRITING, DEFAULTS, GIT_CONFIG, GLOBS, GLOB_READS, NAMES, LINKS, DISABLED, NESTED]
# those that say all of it themselves mean the same under the name srt, whose text is another one
AS_SRT = [READING, WRITING, GLOBS, GLOB_READS, NAMES, LINKS, NESTED]


class Place:
    """Where a table is tried."""

    def __init__(self, person, table):
        self.person = person
        self.w, self.o = person.folder("work"), person.folder("outside")
        self.names = {"w": self.w, "o": self.o, "h": person.home}
        for name in table.files:
            self.person.write(self.path(name), "{}\n")
        for name, target in table.links:
            os.symlink(target.format(**self.names), self.path(name))
            if person.uid != os.geteuid():
                os.lchown(self.path(name), person.uid, person.uid)
        # what a row makes needs its folder
        for ask, name, _ in table.rows:
            folder = os.path.dirname(self.path(name))
            if ask in ("make", "mkdir") and not os.path.isdir(folder):
                os.makedirs(folder)
                person.own(folder)
        text = json.dumps(table.settings).replace("{o}", self.o).replace("{w}", self.w)
        self.file = person.write(os.path.join(person.home, f"settings-{person.made}.json"), text)

    def path(self, name):
        top, rest = name.split("/", 1)
        return os.path.join(self.names[top], rest)

    def real(self, ask, name):
        """What the judge is asked about: who removes a link does not follow it."""
        path = self.path(name)
        if ask != "remove":
            return os.path.realpath(path)
        return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))

    def by_eval(self, table, *how):
        r = self.person.call([running.BUCKLE, "profile", "--no-settings", *how, "-s", self.file], cwd=self.w)
        if r.status != 0:
            return [str(r)] * len(table.rows)
        profile = self.person.write(os.path.join(self.person.home, "made.sb"), r.out)
        rows = "".join(f"{ASKS[ask][0]} '{self.real(ask, name)}'\n" for ask, name, _ in table.rows)
        r = self.person.call([running.BUCKLE, "eval", "--batch", "-D", f"HOME={self.person.home}", profile], stdin=rows)
        answers = [line.split()[0] for line in r.out.splitlines()]
        return answers if len(answers) == len(table.rows) else [str(r)] * len(table.rows)

    def by_eval_of_srt(self, table):
        return self.by_eval(table, "--bare")

    def by_eval_of_macos(self, table):
        return self.by_eval(table, "--bare", "--macos")

    def by_kernel(self, table):
        return self.by_calls(table, [running.BUCKLE, "run", "--no-settings", "--report", "none", "--strict-reads"])

    def by_srt(self, table):
        return self.by_calls(table, [SRT])

    def by_calls(self, table, program):
        calls = "".join(f"{ASKS[ask][1]}\t{self.path(name)}\n" for ask, name, _ in table.rows)
        r = self.person.call([*program, "-s", self.file, PROBE, "--batch"], cwd=self.w, stdin=calls)
        answers = r.out.split()
        if len(answers) != len(table.rows):
            return [str(r)] * len(table.rows)
        return ["allow" if a == "ok" else "deny" if a in ("EPERM", "EACCES", "EROFS", "ENOENT") else a
                for a in answers]


def test_hidden(person, t):
    """Without FUSE what is denied is hidden; what is allowed in it must not be."""
    w, o = fresh(person), person.folder("outside")
    for name in ("a/file", "a/open/file", "a/open/shut/file", "a/open/key.pem"):
        person.write(f"{o}/{name}", name)
    for more in ([], [f"{o}/a/open/shut"], [f"{o}/a/open/**/*.pem"]):
        file = person.write(f"{person.home}/hidden.json", json.dumps({
            "filesystem": {"denyRead": [f"{o}/a", *more], "allowRead": [f"{o}/a/open"]}}))
        r = person.run("--report", "none", "-s", file, "sh", "-c", f"cat {o}/a/file {o}/a/open/file", cwd=w)
        t.equal(r.out, "a/open/file", f"what is allowed in a denied folder can be read, {len(more)} denied in it", r)


def test_rows(person, t):
    if not os.path.lexists(SRT):
        os.symlink("buckle", SRT)
    for table in TABLES:
        as_srt = ("by_eval_of_srt", "by_eval_of_macos", "by_srt") if table in AS_SRT else ()
        for how in ("by_eval", "by_kernel", *as_srt):
            place = Place(person, table)
            got = getattr(place, how)(table)
            wrong = [f"{ask} {name}: want {want}, got {came}"
                     for (ask, name, want), came in zip(table.rows, got) if came != want]
            t.ok(not wrong, f"{table.name}, {how.replace('_', ' ')}", *wrong)


# ---- layers ----


def settings(person, cwd, *words, env=None):
    return person.call([running.BUCKLE, "settings", *words], cwd=cwd, env=env)


def trust(person, cwd, *words):
    return person.call([running.BUCKLE, "trust", *words], cwd=cwd)


def fresh(person):
    """A person without settings, and a project."""
    shutil.rmtree(os.path.join(person.home, ".config"), ignore_errors=True)
    return person.folder("project")


def values(person, cwd, key, *words, **how):
    r = settings(person, cwd, "--json", *words, **how)
    return [v["value"] for v in json.loads(r.out).get(key, []) if v["counts"]]


def test_layers(person, t):
    w = fresh(person)
    r = settings(person, w, "add", "network.allowedDomains", "a.test", "b.test")
    t.equal(r.status, 0, "the user's layer is written", r)
    t.equal(values(person, w, "network.allowedDomains"), ["a.test", "b.test"], "and counts")
    t.equal(values(person, w, "filesystem.allowWrite"), ["."], "nothing is said about writing: the working directory")
    settings(person, w, "add", "filesystem.allowWrite", "~/cache")
    t.equal(values(person, w, "filesystem.allowWrite"), [".", "~/cache"], "adding keeps the default")
    settings(person, w, "set", "network.allowLocalBinding", "true")
    person.write(f"{w}/.buckle/settings.json", json.dumps({
        "network": {"allowedDomains": ["evil.test"], "deniedDomains": ["b.test"], "allowLocalBinding": False,
                    "allowAllUnixSockets": True},
        "filesystem": {"allowWrite": ["/etc"], "denyRead": ["secret"]}}))
    t.equal(values(person, w, "network.allowedDomains"), ["a.test", "b.test"], "a project does not open hosts for itself")
    t.equal(values(person, w, "filesystem.allowWrite"), [".", "~/cache"], "nor folders")
    t.equal(values(person, w, "network.allowAllUnixSockets"), [], "nor sockets")
    t.equal(values(person, w, "network.deniedDomains"), ["b.test"], "it may close hosts")
    t.equal(values(person, w, "network.allowLocalBinding"), [False], "and what the user has opened")
    sub = os.path.join(w, "deep/er")
    os.makedirs(sub)
    t.equal(values(person, sub, "network.deniedDomains"), ["b.test"], "also from a folder below")
    r = settings(person, w)
    t.ok("evil.test" in r.out and "not trusted" in r.out and "project settings, line 1" in r.out
         and "buckle trust" in r.err, "what does not count is listed, with the reason and the line", r)

    r = trust(person, sub)
    t.ok(r.status == 0 and w in r.out, "trusted", r)
    t.equal(values(person, w, "network.allowedDomains"), ["a.test", "b.test", "evil.test"], "now it counts")
    t.ok(w in trust(person, w, "--list").out, "and is listed")
    person.write(f"{w}/.buckle/settings.local.json", '{"filesystem": {"allowWrite": ["/usr"]}}')
    t.equal(values(person, w, "network.allowedDomains"), ["a.test", "b.test"], "another file, and it counts no longer")
    trust(person, w)
    t.ok("/usr" in values(person, w, "filesystem.allowWrite"), "until that is trusted, too")
    with open(f"{w}/.buckle/settings.json", "a", encoding="utf-8") as f:
        f.write(" ")
    t.equal(values(person, w, "filesystem.allowWrite"), [".", "~/cache"], "nor when a byte has changed")
    trust(person, w)
    trust(person, w, "--remove", w)
    t.equal(values(person, w, "filesystem.allowWrite"), [".", "~/cache"], "nor when trust is taken back")


# what a project that nobody trusts says, and what counts of it: nothing that widens
WIDENS = {
    "network": {"allowedDomains": ["evil.test"], "allowAllDomains": True, "allowUnixSockets": ["/"],
                "allowAllUnixSockets": True, "allowLocalBinding": True, "allowLocalPorts": [22], "httpProxyPort": 1,
                "socksProxyPort": 2, "parentProxy": {"http": "http://evil.test:1"}, "strictAllowlist": False,
                "allowMachLookup": ["x.*"], "requireHostMatch": False},
    "filesystem": {"allowRead": ["~/.ssh"], "allowWrite": ["~"], "allowGitConfig": True, "disabled": True},
    "enabled": False, "autoAllowBashIfSandboxed": True, "excludedCommands": ["sh"], "allowUnsandboxedCommands": True,
    "ignoreViolations": {"*": ["/"]}, "allowNestedUserNamespaces": True, "allowPty": True, "allowAppleEvents": True,
    "enableWeakerNetworkIsolation": True, "enableWeakerNestedSandbox": True,
}


def test_distrust(person, t):
    w = fresh(person)
    keys = [f"{k}.{sub}" if k in ("network", "filesystem") else k
            for k, v in WIDENS.items() for sub in (v if k in ("network", "filesystem") else [""])]
    opening = {k["key"] for k in json.loads(settings(person, w, "--keys", "--json").out) if k["opens"]}
    t.equal(set(keys), opening, "every key that opens is tried")
    person.write(f"{w}/.buckle/settings.json", json.dumps(WIDENS))
    said = json.loads(settings(person, w, "--json").out)
    counted = {key for key in keys for v in said[key] if v["counts"] and v["layer"] != "default"}
    t.equal(counted, set(), "nothing that widens counts")
    before = person.call([running.BUCKLE, "profile"], cwd=w).out
    person.write(f"{w}/.buckle/settings.json", "{}")
    t.equal(before, person.call([running.BUCKLE, "profile"], cwd=w).out, "and the policy is as if it were not said")
    person.write(f"{w}/.buckle/settings.json", '{"enabled": false, "ignoreViolations": {"make": ["/x"]}}')
    terminal, theirs = pty.openpty()
    os.write(terminal, b"n\n")
    child = person.start([running.BUCKLE, "trust"], cwd=w, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    shown = child.communicate(timeout=30)[0].decode()
    t.ok("enabled: false" in shown and "ignoreViolations: make: " in shown and child.returncode == 1,
         "who is asked for trust is shown what it opens", shown)
    os.close(terminal)
    os.close(theirs)
    t.ok(not trust(person, w, "--list").out, "and may say no")
    person.write(f"{w}/.buckle/settings.json", '{"filesystem": {"denyRead": []}}')
    t.equal(settings(person, w).err, "", "nothing is said about trust where nothing depends on it")


def test_projects(person, t):
    """Projects in each other: the inner one does not lift what the outer one denies."""
    w, o = fresh(person), person.folder("outside")
    inner = os.path.join(w, "vendor/inner")
    person.write(f"{w}/.buckle/settings.json", json.dumps({"filesystem": {"denyRead": ["private"], "allowWrite": [".", o]}}))
    person.write(f"{inner}/.buckle/settings.json", json.dumps({"filesystem": {"denyRead": ["own"], "allowRead": ["../../private/part"]}}))
    secret, own = person.write(f"{w}/private/part/secret", "text\n"), person.write(f"{inner}/own", "text\n")
    script = f"cat {secret} {own}; touch {o}/new; echo x >{w}/.buckle/settings.json; touch here; echo ran"

    def tries():
        r = person.run("--report", "none", "sh", "-c", script, cwd=inner)
        made = [name for name, path in (("outside", f"{o}/new"), ("here", f"{inner}/here")) if os.path.exists(path)]
        for name in (f"{o}/new", f"{inner}/here"):
            if os.path.exists(name):
                os.remove(name)
        return r.out, made

    t.equal(tries(), ("ran\n", ["here"]), "denials of both hold, nothing of either opens")
    told = settings(person, inner).out
    t.ok(f"{w}/.buckle/settings.json, line 1" in told and "project settings, line 1" in told, "and tell whose they are", told)
    trust(person, inner)
    t.equal(tries(), ("text\nran\n", ["here"]), "trusting the inner one opens what it opens")
    trust(person, inner, "--remove", inner)
    trust(person, w)
    t.equal(tries(), ("ran\n", ["outside", "here"]), "trusting the outer one does not trust the inner one")
    if person.uid:
        os.chmod(f"{w}/.buckle", 0)
        r = person.run("sh", "-c", "echo ran", cwd=inner)
        t.ok(r.status == 125 and "ran" not in r.out and f"{w}/.buckle" in r.err,
             "a folder of settings that cannot be looked into is not passed over", r)
        os.chmod(f"{w}/.buckle", 0o700)


def test_policy(person, t):
    w, o = fresh(person), person.folder("outside")
    person.write(f"{o}/file", "text\n")
    policy = person.write(f"{person.home}/policy.json", json.dumps({
        "filesystem": {"allowWrite": [w], "denyRead": [f"{o}/file"]},
        "network": {"allowedDomains": ["a.test"], "strictAllowlist": True},
        "allowUnsandboxedCommands": False, "allowNestedUserNamespaces": False}))
    env = {"BUCKLE_POLICY": policy}
    loose = person.write(f"{person.home}/loose.json", json.dumps({
        "filesystem": {"allowWrite": [o], "allowRead": [f"{o}/file"], "disabled": True},
        "network": {"allowedDomains": ["b.test"], "allowAllDomains": True, "strictAllowlist": False},
        "allowUnsandboxedCommands": True}))
    for key, want in (("filesystem.allowWrite", [w]), ("network.allowedDomains", ["a.test"]),
                      ("network.strictAllowlist", [True]), ("network.allowAllDomains", []),
                      ("filesystem.disabled", []), ("allowUnsandboxedCommands", [False])):
        t.equal(values(person, w, key, "-s", loose, env=env), want, f"policy: {key}")
    script = f"cat {o}/file; echo x > {o}/new; echo x > {w}/new && echo written"
    for name, words in (("settings", ["-s", loose]), ("flags", ["--allow-write", o, "--allow-read", f"{o}/file"]),
                        ("a profile", ["--profile", "open"]), ("nothing", [])):
        r = person.run("--report", "none", *words, "sh", "-c", script, cwd=w, env=env)
        t.ok("text" not in r.out and not os.path.exists(f"{o}/new") and "written" in r.out,
             f"policy over {name}: denied reads and a ceiling for writes hold", r)
    for name, words in (("sandbox-exec", ["-p", "(version 1)(allow default)"]), ("cage", ["--allow", o, "--allow", w])):
        link = os.path.join(os.path.dirname(running.BUCKLE), name)
        if not os.path.lexists(link):
            os.symlink("buckle", link)
        r = person.call([link, *words, "sh", "-c", script], cwd=w, env=env)
        t.ok("text" not in r.out and not os.path.exists(f"{o}/new") and "written" in r.out, f"policy over {name}", r)
    run = Lines(person, "--grantable", "sh", "-c", f"touch {o}/new; " + WAIT.format("[ -e go ]", "went") + f"; touch {o}/new",
                cwd=w, env=env)
    said = eventually(lambda: o in person.call([running.BUCKLE, "log", "--run", str(run.child.pid)]).out)
    r = person.call([running.BUCKLE, "grant", "--run", str(run.child.pid), "--write", o])
    person.write(f"{w}/go", "")
    out = run.end()
    t.ok(said and out == "went\n" and not os.path.exists(f"{o}/new"), "policy over a grant", r, run.err())
    r = person.run("--allow-userns", "true", cwd=w, env=env)
    t.ok(r.status == 125 and "policy" in r.err, "policy over a flag that is no rule", r)
    r = person.run("true", cwd=w, env={"BUCKLE_POLICY": "/nonexistent"})
    t.equal(r.status, 125, "a policy that is named has to be there", r)
    for words in ([], ["--profile", "open"]):
        r = person.run(*words, "true", cwd=person.home if words else w, env={"BUCKLE_POLICY": "policy.json"})
        t.ok(r.status == 125 and "BUCKLE_POLICY" in r.err, f"and to be named from the root {words}", r)


def test_protected(person, t):
    w = fresh(person)
    settings(person, w, "add", "filesystem.allowWrite", "~")
    person.write(f"{w}/.buckle/settings.json", "{}")
    given = person.write(f"{person.home}/given.json", "{}")
    script = f"for f in ~/.config/buckle/settings.json {w}/.buckle/settings.json {given}; do echo x > $f; rm -f $f; " \
             "mv $f $f.old; done; mv ~/.config ~/.other; mkdir -p ~/.config/buckle/trust; touch ~/fine"
    r = person.run("-s", given, "sh", "-c", script, cwd=w)
    t.ok(os.path.exists(f"{person.home}/fine"), "the home folder can be written", r)
    with open(given, encoding="utf-8") as f:
        t.equal(f.read(), "{}", "settings that were named stay as they are")
    t.ok(os.path.exists(f"{person.home}/.config/buckle/settings.json") and
         os.path.exists(f"{w}/.buckle/settings.json") and
         not os.path.exists(f"{person.home}/.config/buckle/trust"), "and so do those that were found", r)
    person.sh("ln -s ~ build", cwd=w)
    settings(person, w, "set", "filesystem.allowWrite", '[".", "build"]')
    r = person.run("true", cwd=w)
    t.ok(r.status == 125 and "link" in r.err and person.home in r.err,
         "a link that the command could have made opens nothing", r)


def test_turned_links(person, t):
    """Links that a command has made open nothing to the next one, whoever permits what."""
    w, o = fresh(person), person.folder("outside")
    secret = person.write(f"{o}/secret", "text\n")
    person.write(f"{w}/releases/1/file", "text\n")
    r = person.run("sh", "-c", f"ln -s {secret} data; ln -s {o} build; ln -s releases/1 current", cwd=w)
    t.equal(sorted(os.listdir(w)), ["build", "current", "data", "releases"], "they can be made", r)
    file = f"{person.home}/turned.json"
    allowed = {"filesystem": {"denyRead": [o], "allowRead": ["data"]}}, {"filesystem": {"allowWrite": [".", "build"]}}, \
        {"network": {"allowUnixSockets": ["data"]}}
    tries = [(json.dumps(text), []) for text in allowed]
    tries += [("{}", words) for words in (["--allow-read", "data"], ["--allow-write", "build/x"], ["--allow-socket", "./data"])]
    for text, words in tries:
        person.write(file, text)
        r = person.run("-s", file, *words, "sh", "-c", "echo ran", cwd=w)
        t.ok(r.status == 125 and r.out == "" and "link" in r.err and o in r.err, f"refused: {words or text}", r)
    person.write(file, '{"filesystem": {"allowWrite": ["releases"], "allowRead": ["data"]}}')
    t.equal(person.run("-s", file, "cat", "data", cwd=w).out, "text\n", "a link where the command cannot write is followed")
    r = person.run("--allow-write", "current/more", "sh", "-c", "mkdir current/more && echo made", cwd=w)
    t.equal(r.out, "made\n", "and so is one that leads nowhere else", r)
    person.write(file, "{}")
    run = Lines(person, "--grantable", "--updatable", "-s", file, "sh", "-c",
                "touch ready; " + WAIT.format("[ -e go ]", "went"), cwd=w)
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    r = person.call([running.BUCKLE, "grant", "--run", str(run.child.pid), "--write", "build"], cwd=w)
    t.ok(r.status != 0 and "link" in r.err, "refused: a grant", r)
    person.write(file, json.dumps(allowed[0]))
    t.ok(run.says("is a link"), "refused: settings that come later", run.err())
    person.write(f"{w}/go", "")
    run.end()


def test_new_repository(person, t):
    """What is made during the run is protected, too; a repository of its own may be set up."""
    if running.missing("git"):
        tap.skip("git is not installed")
        return
    w = fresh(person)
    file = person.write(f"{person.home}/s.json", '{"filesystem": {"allowWrite": ["."]}}')
    r = person.run("--report", "none", "-s", file, "sh", "-c", "mkdir -p a/b && cd a/b && git init -q new && cd new && "
                   "git config user.name x && echo set; echo evil >.git/hooks/pre-commit; echo x >.bashrc; "
                   "mkdir .vscode; git status --porcelain", cwd=w)
    new = f"{w}/a/b/new"
    t.ok(r.out == "set\n" and not os.path.exists(f"{new}/.git/hooks/pre-commit") and not os.path.exists(f"{new}/.bashrc")
         and not os.path.exists(f"{new}/.vscode"), "a new repository: set up, and neither hooks nor protected names", r)


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
    def __init__(self, person, kind, where=""):
        self.child = person.start(["python3", "-c", SERVER, kind, where], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE)
        self.where = self.child.stdout.readline().decode().strip()

    def end(self):
        self.child.kill()
        self.child.wait()


def test_sockets(person, t):
    w, o = fresh(person), person.folder("outside")
    server = Server(person, "unix", f"{o}/s")
    other = Server(person, "unix", f"{w}/t")
    file = f"{person.home}/sockets.json"

    def asks(network, where):
        person.write(file, json.dumps({"network": network}))
        return person.run("--report", "none", "-s", file, "python3", "-c", CLIENT, "unix", where, cwd=w).out.strip()

    t.ok(asks({}, f"{o}/s") != "hello", "a Unix socket outside is closed")
    t.equal(asks({"allowUnixSockets": [f"{o}/s"]}, f"{o}/s"), "hello", "one that is listed is not")
    t.ok(asks({"allowUnixSockets": [f"{o}/s"]}, f"{w}/t") != "hello", "another one is, also in the working directory")
    t.equal(asks({"allowUnixSockets": ["*"]}, f"{w}/t"), "hello", "by a pattern")
    t.equal(asks({"allowAllUnixSockets": True}, f"{o}/s"), "hello", "all of them")
    server.end()
    other.end()


def test_ports(person, t):
    w = fresh(person)
    server, other = Server(person, "tcp"), Server(person, "tcp")
    file = f"{person.home}/ports.json"

    def asks(network, where):
        person.write(file, json.dumps({"network": network}))
        return person.run("--report", "none", "-s", file, "python3", "-c", CLIENT, "tcp", where, cwd=w).out.strip()

    port = int(server.where)
    t.ok(asks({}, server.where) != "hello", "this machine's ports are closed")
    t.equal(asks({"allowLocalPorts": [port]}, server.where), "hello", "one that is listed is not")
    t.ok(asks({"allowLocalPorts": [port]}, other.where) != "hello", "another one is")
    if not running.missing("curl"):
        person.write(file, json.dumps({"network": {"httpProxyPort": port}}))
        r = person.run("--report", "none", "-s", file, "curl", "-s", "-m", "10", "http://name.test/x", cwd=w)
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
    ("zero byte", '{"filesystem": {"denyRead": ["/a\\u0000b"]}}', ["zero byte"]),
    ("deep nesting", "[" * 100000, ["deep"]),
    ("no host", '{"network": {"allowedDomains": ["https://a.test/x"]}}', ["https://a.test/x"]),
    ("every host", '{"network": {"allowedDomains": ["*"]}}', ["every host"]),
    ("half the world", '{"network": {"allowedDomains": ["*.com"]}}', ["*.com"]),
    ("no port", '{"network": {"httpProxyPort": 70000}}', ["65535"]),
    ("not yet", '{"credentials": {}}', ["not there yet"]),
    ("unset variable", '{"filesystem": {"denyRead": ["$NO_SUCH_VAR/x"]}}', ["NO_SUCH_VAR"]),
    ("slash behind a pattern", '{"filesystem": {"denyRead": ["a/*/"]}}', ["slash"]),
    ("literal without a path", '{"filesystem": {"denyRead": [{"literal": true}]}}', ["literal"]),
    ("beside sandbox", '{"sandbox": {}, "network": {}}', ["beside sandbox"]),
]


def test_bad(person, t):
    w = fresh(person)
    path = os.path.join(w, "bad.json")
    for name, text, words in BAD:
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        person.own(path)
        r = person.run("-s", path, "sh", "-c", "echo ran", cwd=w)
        t.ok(r.status == 125 and "ran" not in r.out and "bad.json" in r.err
             and all(word in r.err for word in words), f"{name}: nothing runs, and why", r)
        c = person.call([running.BUCKLE, "check", path], cwd=w)
        t.ok(c.status == 1 and all(word in c.out for word in words), f"{name}: check says the same", c)
    for where in (f"{person.home}/.config/buckle/settings.json", f"{w}/.buckle/settings.json"):
        person.write(where, '{"filesystem": {"denyReads": []}}')
        r = person.run("sh", "-c", "echo ran", cwd=w)
        t.ok(r.status == 125 and "denyReads" in r.err and "ran" not in r.out, f"{where} is not passed over", r)
        os.remove(where)


def test_files(person, t):
    w = fresh(person)
    path = os.path.join(w, "odd.json")
    with open(path, "wb") as f:
        f.truncate(100 << 20)
    person.own(path)
    r = person.run("-s", path, "true", cwd=w)
    t.ok(r.status == 125 and "larger" in r.err and r.seconds < 5, "100 MB are refused unread", r)
    os.remove(path)
    os.mkfifo(path)
    person.own(path)
    r = person.run("-s", path, "true", cwd=w, timeout=10)
    t.equal(r.status, 125, "a pipe in a file's place is not waited for", r)
    os.remove(path)
    r = person.run("-s", path, "true", cwd=w)
    t.ok(r.status == 125 and "No such file" in r.err, "a file that is named has to be there", r)
    if person.uid:
        person.write(path, "{}", 0o000)
        r = person.run("-s", path, "true", cwd=w)
        t.equal(r.status, 125, "and to be readable", r)
    person.write(path, '{"ripgrep": {}, "allowPty": true, "enabled": true, "seccomp": {}}')
    c = person.call([running.BUCKLE, "check", path], cwd=w)
    t.ok(c.status == 0 and c.out.count("note:") == 4, "what has no effect is told by check", c)
    t.quiet(person.run("-s", path, "true", cwd=w), "and accepted")
    person.write(path, '{"other": {"x": 1}, "sandbox": {"filesystem": {"denyRead": ["/x"]}}}')
    t.quiet(person.run("-s", path, "true", cwd=w), "a host's larger file")
    t.equal(values(person, w, "filesystem.denyRead", "-s", path), ["/x"], "of which the sandbox counts")


# ---- changing ----


def test_edit(person, t):
    w = fresh(person)
    path = f"{person.home}/.config/buckle/settings.json"

    def read():
        with open(path, encoding="utf-8") as f:
            return f.read()

    settings(person, w, "add", "filesystem.denyRead", "~/a b", '{"path": "*", "literal": true}')
    settings(person, w, "set", "network.httpProxyPort", "3128")
    want = {"filesystem": {"denyRead": ["~/a b", {"path": "*", "literal": True}]}, "network": {"httpProxyPort": 3128}}
    t.equal(json.loads(read()), want, "added and set")
    t.ok(read().startswith('{\n  "filesystem": {\n    "denyRead"'), "pretty", read())
    t.equal(os.stat(path).st_mode & 0o777, 0o600, "for nobody else's eyes")
    settings(person, w, "add", "filesystem.denyRead", "~/a b")
    t.equal(json.loads(read()), want, "what is there is not added again")
    settings(person, w, "remove", "filesystem.denyRead", '{"path": "*", "literal": true}')
    settings(person, w, "remove", "network.httpProxyPort")
    t.equal(json.loads(read()), {"filesystem": {"denyRead": ["~/a b"]}}, "removed, with an empty section")
    before = read()
    for words in (["set", "filesystem.denyRead", "[3]"], ["add", "network.allowedDomains", "http://x"],
                  ["set", "nosuch", "1"], ["add", "network.httpProxyPort", "1"], ["set", "credentials", "{}"],
                  ["remove", "filesystem.allowWrite"], ["remove", "filesystem.denyRead", "b"],
                  ["set", "filesystem.denyRead", '["a", "b"']):
        r = settings(person, w, *words)
        t.ok(r.status == 2 and read() == before, f"refused, nothing written: {' '.join(words)}", r)
    settings(person, w, "set", "network.deniedDomains", '["a.test"]', "--layer", "project")
    with open(f"{w}/.buckle/settings.json", encoding="utf-8") as f:
        t.equal(json.load(f), {"network": {"deniedDomains": ["a.test"]}}, "another layer")
    r = settings(person, w, "--schema")
    schema = json.loads(r.out)["properties"]
    keys = json.loads(settings(person, w, "--keys", "--json").out)
    flat = set(schema) | {f"{s}.{k}" for s in ("network", "filesystem") for k in schema[s]["properties"]}
    t.equal(flat, {k["key"] for k in keys if k["effect"] != "later"}, "the schema has every key")


# ---- while a command runs ----

WAIT = "i=0; until {} 2>/dev/null; do i=$((i+1)); [ $i -lt 400 ] || exit 9; sleep 0.05; done; echo {}"


class Lines:
    """A run whose standard error is looked at while it goes on."""

    def __init__(self, person, *words, cwd, **how):
        self.path = os.path.join(person.home, "err")
        with open(self.path, "wb") as err:
            self.child = person.start([running.BUCKLE, "run", *words], cwd=cwd, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=err, **how)

    def err(self):
        with open(self.path, encoding="utf-8") as f:
            return f.read()

    def says(self, text):
        return eventually(lambda: text in self.err(), 10)

    def end(self):
        try:
            out, _ = self.child.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            self.child.kill()
            out, _ = self.child.communicate()
        return out.decode()


def test_watch(person, t):
    w, o = fresh(person), person.folder("outside")
    secret = person.write(f"{o}/secret", "text\n")
    file = person.write(f"{person.home}/live.json", "{}")
    script = f"touch ready; {WAIT.format(f'! cat {secret} >/dev/null', 'shut')}; " \
             f"{WAIT.format('[ -e go ]', 'went')}; cat {secret} 2>/dev/null; exit 0"
    run = Lines(person, "--updatable", "-s", file, "sh", "-c", script, cwd=w)
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    person.write(file, '{"filesystem": {"denyRead": ["/x", ')
    t.ok(run.says("settings stay as they were"), "half a file changes nothing, and is told", run.err())
    os.truncate(file, 100 << 20)
    os.utime(file)
    t.ok(run.says("larger"), "nor does one of 100 MB", run.err())
    person.write(file, "{}", 0 if person.uid else 0o600)
    t.ok(not person.uid or run.says("Permission denied"), "nor one that cannot be read", run.err())
    person.write(file, json.dumps({"filesystem": {"denyRead": [o]}}))
    t.ok(run.says("count from here on"), "a change is taken over", run.err())
    os.remove(file)
    t.ok(run.says("No such file"), "a file that is gone changes nothing", run.err())
    person.write(f"{w}/go", "")
    out = run.end()
    t.equal(out, "shut\nwent\n", "denied from the next operation on, and to the end", run.err())


def test_appears(person, t):
    """Files that are not there when the command starts, nor the folders that they will be in."""
    o = person.folder("outside")
    secret = person.write(f"{o}/secret", "text\n")
    text = json.dumps({"filesystem": {"denyRead": [o]}})
    script = f"touch ready; {WAIT.format(f'! cat {secret} >/dev/null', 'shut')}; touch own $TMPDIR/x && echo made"
    for name, path in (("the user's", "{h}/.config/buckle/settings.json"), ("a project's", "{w}/.buckle/settings.json")):
        w = fresh(person)
        run = Lines(person, "--updatable", "sh", "-c", script, cwd=w)
        eventually(lambda w=w: os.path.exists(f"{w}/ready"), 10)
        person.write(path.format(h=person.home, w=w), text)
        out = run.end()
        t.equal(out, "shut\nmade\n", f"{name} file that comes to be counts", run.err())
    w = fresh(person)
    target = person.write(f"{person.home}/dotfiles/buckle.json", "{}")
    os.makedirs(f"{person.home}/.config/buckle")
    os.symlink(target, f"{person.home}/.config/buckle/settings.json")
    run = Lines(person, "--updatable", "sh", "-c", script, cwd=w)
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    time.sleep(0.3)
    person.write(target, text)
    t.equal(run.end(), "shut\nmade\n", "and so does what a link leads to", run.err())
    w = fresh(person)
    child = person.start([running.BUCKLE, "run", "--updatable", "-s", "-", "sh", "-c", script], cwd=w,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdin.write(b'{"filesystem": {"denyWrite": ["never"]}}')
    child.stdin.close()
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    person.write(f"{person.home}/.config/buckle/settings.json", text)
    try:
        out, err = child.stdout.read(), child.stderr.read()
    finally:
        child.wait()
    t.ok(out == b"shut\nmade\n" and b"stay as they were" not in err, "what came from standard input is not read again",
         out, err)


def test_control(person, t):
    w, o = fresh(person), person.folder("outside")
    secret = person.write(f"{o}/secret", "text\n")
    ours, theirs = os.pipe()
    script = f"touch ready; [ -e /proc/self/fd/{ours} ] && echo leaked; " \
             f"{WAIT.format(f'! cat {secret} >/dev/null', 'shut')}; {WAIT.format(f'cat {secret} >/dev/null', 'open')}"
    run = Lines(person, "--updatable", "--control-fd", str(ours), "sh", "-c", script, cwd=w, pass_fds=[ours])
    os.close(ours)
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    os.write(theirs, b'{"filesystem": {"denyWrites": []}}\n')
    t.ok(run.says("denyWrites"), "a line that is wrong changes nothing, and is told", run.err())
    line = json.dumps({"filesystem": {"denyRead": [o]}}).encode() + b"\n"
    for i in range(len(line)):
        os.write(theirs, line[i:i + 1])
    t.ok(run.says("count from here on"), "a line that arrives in pieces is taken over", run.err())
    time.sleep(0.3)
    os.write(theirs, b'{}\n')
    os.close(theirs)
    out = run.end()
    t.equal(out, "shut\nopen\n", "the next line takes its place; the end of input changes nothing", run.err())
    r = person.run("--control-fd", "99", "true", cwd=w)
    t.equal(r.status, 125, "a descriptor that is not there", r)


def test_waits(person, t):
    w, o = fresh(person), person.folder("outside")
    file = person.write(f"{person.home}/fixed.json", "{}")
    run = Lines(person, "-s", file, "sh", "-c", "touch ready; " + WAIT.format("[ -e go ]", "went"), cwd=w)
    eventually(lambda: os.path.exists(f"{w}/ready"), 10)
    person.write(file, json.dumps({"filesystem": {"denyRead": [o]}}))
    t.ok(run.says("with the next command: file-read-data"), "without --updatable: what has to wait is told", run.err())
    person.write(f"{w}/go", "")
    run.end()


def test_reports(person, t):
    w, o = fresh(person), person.folder("outside")
    file = person.write(f"{person.home}/ignore.json", json.dumps({"ignoreViolations": {"*": ["/outside"]}}))
    script = f"touch {o}/x 2>/dev/null; true"
    t.quiet(person.run("-s", file, "sh", "-c", script, cwd=w), "ignored for every command")
    person.write(file, json.dumps({"ignoreViolations": {"other": [o]}}))
    r = person.run("-s", file, "sh", "-c", script, cwd=w)
    t.ok(o in r.err, "not for this one", r)
    t.quiet(person.run("-s", file, "sh", "-c", ": other; " + script, cwd=w), "but for that one")


def test_profile(person, t):
    w = fresh(person)
    file = person.write(f"{person.home}/p.json", json.dumps({
        "filesystem": {"denyRead": ["~/shut"], "allowWrite": ["."]}, "network": {"allowedDomains": ["a.test"]}}))
    r = person.call([running.BUCKLE, "profile", "-s", file], cwd=w)
    t.ok(r.status == 0 and f'(subpath "{w}")' in r.out and "; " + file in r.out and '(domain "a.test")' in r.out,
         "the profile, with where its rules come from", r)
    c = person.call([running.BUCKLE, "check", "-"], stdin=r.out)
    t.ok(c.status == 0, "which check takes", c)
    r = person.call([running.BUCKLE, "profile", "-s", file, "--macos", "--http-port", "3128", "--tag", "TAG"], cwd=w)
    t.ok(r.status == 0 and '"localhost:3128"' in r.out and "a.test" not in r.out and '(with message "TAG")' in r.out
         and "(import" not in r.out, "for macOS: proxies' ports in place of names, no imports", r)
    c = person.call([running.BUCKLE, "check", "--no-lint", "-"], stdin=r.out)
    t.ok(c.status == 0, "which check takes as well", c)


TESTS = [test_rows, test_hidden, test_turned_links, test_new_repository, test_sockets, test_ports, test_layers, test_distrust, test_projects, test_policy, test_protected, test_bad, test_files, test_edit, test_watch, test_appears,
         test_control, test_waits, test_reports, test_profile]

if __name__ == "__main__":
    shutil.copy(os.path.join(TOOLS, "probe"), PROBE)
    os.chmod(PROBE, 0o755)
    for_everybody([test for test in TESTS if len(sys.argv) < 2 or test.__name__[5:] in sys.argv[1:]])
    sys.exit(tap.done())
