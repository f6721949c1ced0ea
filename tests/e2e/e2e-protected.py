#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Classes of protected names: each is denied in a project that was there before, and allowed by a
flag, settings or a grant, which open nothing else.
"""

import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import running
import tap
from agents import Client
from asked import OnTerminal
from running import for_everybody

CLASSES = {
    "editors": [".vscode/tasks.json", ".idea/workspace.xml", "src/.zed/tasks.json"],
    "agents": [".claude/settings.json", ".mcp.json", "src/.codex/config.toml", ".cursor/mcp.json"],
    "shells": [".bashrc", "src/.profile", ".zshrc"],
    "tools": [".ripgreprc", ".hg/hgrc", "src/.jj/repo/config.toml"],
    "git-hooks": [".git/hooks/pre-commit"],
    "git-settings": [".gitconfig", ".git/commondir"],
}
# in no class
NEVER = [".buckle/settings.json", ".srt-settings.json", ".config/buckle/settings.json"]
# asks for every change, and prints what worked
TRY = """
git config core.pager evil 2>/dev/null && echo core.pager
for f in {files}; do (echo "# x" >>$f) 2>/dev/null && echo $f; done
exit 0"""
ALL = [f for files in CLASSES.values() for f in files]


def project(person):
    """A repository with folders for all names, made outside the sandbox."""
    work = person.folder()
    person.sh("git init -q .", cwd=work)
    for path in ALL + NEVER:
        person.write(os.path.join(work, os.path.dirname(path), "was-there"), "")
    return work


def changed(person, work, *flags, **how):
    """What a command with these flags can change, sorted."""
    outside = os.path.join(person.home, ".bashrc")
    script = TRY.format(files=" ".join([*ALL, *NEVER, outside]))
    r = person.run(*flags, "--report", "none", "sh", "-c", script, cwd=work, **how)
    person.sh(f"rm -rf {work}/.git/config {outside} && git init -q . && rm -f {work}/.git/commondir", cwd=work)
    return sorted(r.out.split()) if r.status == 0 else [f"status {r.status}", r.err]


def of_classes(*classes):
    extra = ["core.pager"] if "git-settings" in classes else []
    return sorted(extra + [f for c in classes for f in CLASSES[c]])


def test_flag(person, t):
    work = project(person)
    t.equal(changed(person, work), [], "every class is denied by default")
    for name in CLASSES:
        t.equal(changed(person, work, "--allow-protected", name), of_classes(name), f"{name}, and nothing else")
    t.equal(changed(person, work, "--allow-protected", "editors,agents", "--allow-protected=tools"),
            of_classes("editors", "agents", "tools"), "several classes")
    t.equal(changed(person, work, "--allow-protected", "editors,agents", "--deny-write", ".idea"),
            [f for f in of_classes("editors", "agents") if "idea" not in f], "a denial still wins")
    t.equal(changed(person, work, "--profile", "readonly", "--allow-protected", ",".join(CLASSES)), [],
            "a class allows nothing by itself")
    everything = of_classes(*CLASSES) + [os.path.join(person.home, ".bashrc")]
    t.equal(changed(person, work, "--allow-write", person.home, "--allow-protected", ",".join(CLASSES)),
            sorted(everything), "a folder that another flag opens has them, too")
    t.equal(changed(person, work, "--allow-write", person.home), [], "and does not without")
    r = person.run("--allow-protected", "editor", "true", cwd=work)
    t.ok(r.status == 125 and "no class editor" in r.err and "did you mean editors?" in r.err, "a misspelled class", r)
    own = person.profile("own.sb", '(version 1)(allow default)(import "protected.sb")')
    t.equal(changed(person, work, "--profile", own, "--allow-protected", "shells"),
            sorted(CLASSES["shells"] + [os.path.join(person.home, ".bashrc")]), "with the user's own profile")


def test_links(person, t):
    """Targets of symlinks at protected names belong to the same class."""
    work = project(person)
    person.write(f"{work}/dot/bashrc", "")
    person.write(f"{work}/shared/tasks.json", "")
    person.sh("rm -rf .vscode && ln -s dot/bashrc .bashrc && ln -s shared .vscode", cwd=work)
    script = "for f in dot/bashrc shared/tasks.json; do (echo x >>$f) 2>/dev/null && echo $f; done; true"

    def written(*flags):
        return person.run(*flags, "--report", "none", "sh", "-c", script, cwd=work).out.split()
    t.equal(written(), [], "targets are protected")
    t.equal(written("--allow-protected", "shells"), ["dot/bashrc"], "until their class is allowed")
    t.equal(written("--allow-protected", "editors"), ["shared/tasks.json"], "and no other")


def test_settings(person, t):
    work = project(person)
    settings = f"{work}/.buckle/settings.json"
    said = json.dumps({"filesystem": {"allowProtected": ["editors", "tools"]}})
    file = person.write(f"{person.home}/named.json", said)
    t.equal(changed(person, work, "--settings", file), of_classes("editors", "tools"), "named settings")
    t.equal(changed(person, work, "--settings", file, "--allow-protected", "agents"),
            of_classes("editors", "tools", "agents"), "and a flag")
    person.write(settings, said)
    t.equal(changed(person, work), [], "a project does not allow itself a class")
    person.call([running.BUCKLE, "trust", "--yes"], cwd=work)
    t.equal(changed(person, work), of_classes("editors", "tools"), "until it is trusted")
    os.unlink(settings)
    r = person.call([running.BUCKLE, "allow", "--protected", "editors,agents"], cwd=work)
    t.ok(r.status == 0 and "editors, agents" in r.err, "buckle allow --protected", r)
    t.equal(changed(person, work), of_classes("editors", "agents"), "is for later runs")
    shown = person.call([running.BUCKLE, "settings"], cwd=work).out
    t.ok("filesystem.allowProtected" in shown and "editors" in shown, "settings show it", shown)
    policy = person.write(f"{person.home}/policy.json", json.dumps({"filesystem": {"allowProtected": ["agents"]}}))
    env = {"BUCKLE_POLICY": policy}
    t.equal(changed(person, work, env=env), of_classes("agents"), "the machine's policy is a ceiling for settings")
    t.equal(changed(person, work, "--no-settings", "--allow-protected", "editors,agents", env=env), of_classes("agents"),
            "and for flags")
    t.equal(changed(person, work, "--no-settings", env=env), [], "and allows nothing by itself")
    person.call([running.BUCKLE, "undo"], cwd=work)
    t.equal(changed(person, work), [], "undo takes it back")
    r = person.call([running.BUCKLE, "allow", "--protected", "editors", "x"], cwd=work)
    t.equal(r.status, 2, "classes and a path are two things", r)
    bad = person.write(f"{person.home}/bad.json", '{"filesystem": {"allowProtected": ["agent"]}}')
    r = person.run("--settings", bad, "true", cwd=work)
    t.ok(r.status == 125 and "did you mean agents?" in r.err, "a misspelled class in settings", r)


def test_summary(person, t):
    """One flag for all classes, which suffices."""
    work = project(person)
    script = ["sh", "-c", "for f in .vscode/t .idea/t .mcp.json .ripgreprc; do echo x >$f; done"]
    r = person.run(*script, cwd=work)
    flags = running.suggested_flags(r.err)
    t.equal(flags, ["--allow-protected", "editors,agents,tools"], "one flag for four files", r)
    t.quiet(person.run(*flags, *script, cwd=work), "which is enough")
    home = person.write(os.path.join(person.home, ".zshrc"), "")
    r = person.run("sh", "-c", f"echo x >>{home}", cwd=work)
    t.equal(running.suggested_flags(r.err), ["--allow-write", home], "a path where a class is not enough", r)
    r = person.run("--report", "json", "sh", "-c", "echo x >.mcp.json", cwd=project(person))
    events = [json.loads(line) for line in r.err.splitlines() if line.startswith("{")]
    t.equal([e.get("class") for e in events], ["agents"], "events name the class", r)


def test_grant(person, t):
    work = project(person)
    script = "until (echo x >.vscode/tasks.json) 2>/dev/null; do sleep 0.1; done; (echo x >.mcp.json) 2>/dev/null && echo bad; echo done"
    child = person.start([running.BUCKLE, "run", "--report", "none", "sh", "-c", script], cwd=work,
                         stdout=running.subprocess.PIPE, stderr=running.subprocess.PIPE)
    time.sleep(1)
    r = person.call([running.BUCKLE, "grant", "--protected", "editors", "--run", str(child.pid)], cwd=work)
    t.equal(r.status, 0, "a class is granted to a run in progress", r)
    status, out, err = running.drive.finish(child, timeout=20)
    t.equal((status, out), (0, b"done\n"), "which gets nothing else", err)


# ---- --ask ----

class Asked(OnTerminal):
    """A run with --ask."""

    def __init__(self, person, work, script, *flags):
        super().__init__(person, [running.BUCKLE, "run", "--ask", *flags, "--", "sh", "-c", script], work)


WRITES = "for f in .vscode/a .vscode/b .mcp.json; do (echo x >$f) 2>/dev/null && echo made $f; done; echo over"


def made(work):
    return [f for f in (".vscode/a", ".vscode/b", ".mcp.json") if os.path.exists(os.path.join(work, f))]


def test_ask(person, t):
    work = project(person)
    run = Asked(person, work, WRITES)
    t.ok(run.asks() and f"{work}/.vscode/a" in run.text and "class editors" in run.text and "dash" in run.text,
         "program, file and class are shown", run.text)
    t.equal(made(work), [], "and the call waits")
    run.answer("o")
    t.equal((run.answers("dd"), made(work)), (3, [".vscode/a"]), "once is for one file", run.text)
    t.ok("the user denied it" in run.text, "a denial says who denied it", run.text)
    work = project(person)
    run = Asked(person, work, WRITES)
    t.equal((run.answers("rd"), made(work)), (2, [".vscode/a", ".vscode/b"]), "for this run is for the class", run.text)
    work = project(person)
    run = Asked(person, work, WRITES)
    t.equal((run.answers("do"), made(work)), (2, [".mcp.json"]), "a class that was denied is not asked about again", run.text)
    work = project(person)
    run = Asked(person, work, WRITES)
    t.equal((run.answers("n"), made(work)), (1, []), "no to all", run.text)
    work = project(person)
    run = Asked(person, work, WRITES, "--ask-timeout", "1")
    t.equal((run.answers(""), made(work)), (2, []), "no answer is no", run.text)
    t.ok("no answer in time" in run.text and "--allow-protected editors,agents" in run.text, "and the report says so", run.text)
    run = Asked(person, work, WRITES)
    run.answers("ad")
    said = person.call([running.BUCKLE, "settings"], cwd=work).out
    t.ok(made(work) == [".vscode/a", ".vscode/b"] and "allowProtected" in said and "editors" in said,
         "always changes the settings", run.text, said)
    person.sh("rm -rf .config/buckle", cwd=person.home)
    work = project(person)
    began = time.monotonic()
    r = person.call(["setsid", "-w", running.BUCKLE, "run", "--ask", "sh", "-c", WRITES], cwd=work)
    t.ok(made(work) == [] and time.monotonic() - began < 10 and "nobody to ask" in r.err, "without a terminal: denied at once", r)


def test_ask_not(person, t):
    """What is not asked about: what a class would not allow, and what a ceiling keeps."""
    work = project(person)
    run = Asked(person, work, f"for f in {' '.join(NEVER)} ~/.bashrc; do (echo x >$f) 2>/dev/null && echo made; done; echo over")
    t.equal((run.answers("rrrr"), "made" in run.text), (0, False), "no question that a yes would not answer", run.text)
    policy = person.write(f"{person.home}/policy.json", json.dumps({"filesystem": {"allowProtected": ["agents"]}}))
    person.env["BUCKLE_POLICY"] = policy
    run = Asked(person, work, WRITES)
    t.equal((run.answers("r"), made(work)), (1, [".mcp.json"]), "nor about what the machine's policy keeps", run.text)
    del person.env["BUCKLE_POLICY"]
    work = project(person)
    flood = "i=0; while [ $i -lt 300 ]; do (echo x >.vscode/f$i) 2>/dev/null & i=$((i+1)); done; wait; echo over"
    run = Asked(person, work, flood, "--ask-timeout", "2")
    t.ok(run.answers("d") == 1 and "over" in run.text, "three hundred calls at once are one question", run.text[-600:])


def test_ask_git(person, t):
    """A program that replaces a file by another, and one that runs on while a call waits."""
    work = project(person)
    run = Asked(person, work, "git config core.pager evil && echo set")
    t.ok(run.asks() and "git-settings" in run.text and ".git/config" in run.text, "git's settings are asked about", run.text)
    run.answer("o")
    t.ok(run.answers("") == 1 and "set" in run.text.split("once")[-1], "one question for one change", run.text)
    t.ok("pager = evil" in person.sh("cat .git/config", cwd=work), "which takes place")
    work = project(person)
    run = Asked(person, work, "mkdir tree tree/.vscode && echo x >tree/.vscode/t && mv tree/.vscode sub && mv sub .idea/x")
    t.ok(run.answers("o") <= 1 and os.path.exists(f"{work}/.idea/x/t"), "a folder that moves is one question", run.text)


SWAP = """
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
def swap():
    while True:
        if sys.argv[1] == "link":
            os.symlink("b", "next"); os.rename("next", "cur"); time.sleep(0.001)
            os.symlink("a", "next"); os.rename("next", "cur"); time.sleep(0.001)
        else:
            libc.renameat2(-100, b"a", -100, b"b", 2); time.sleep(0.001)
threading.Thread(target=swap, daemon=True).start()
for i in range(40):
    try:
        with open("cur/.vscode/planted", "a") as f:
            f.write("x")
    except OSError:
        pass
"""


def test_ask_swapped(person, t):
    """While a call waits, others lead its path elsewhere: an answer is for the file that was shown."""
    for how in ("link", "exchange"):
        work = project(person)
        for name in ("a", "b"):
            person.write(f"{work}/{name}/.vscode/was-there", name)
        os.symlink("a", f"{work}/cur")
        script = person.write(f"{person.home}/swap.py", SWAP)
        run = Asked(person, work, f"python3 {script} {how}", "--ask-timeout", "20")
        allowed, denied = 0, 0
        while run.asks():
            asked = run.text.rsplit("wants to change ", 1)[1].split("\r")[0]
            good = asked == f"{work}/a/.vscode/planted"
            run.answer("o" if good and allowed < 3 else "d")
            allowed, denied = allowed + (good and allowed < 3), denied + 1
        run.end()

        def planted(name):
            with open(f"{work}/{name}/.vscode/was-there", encoding="utf-8") as f:
                folder = f.read()
            return folder, os.path.exists(f"{work}/{name}/.vscode/planted")
        if how == "link":
            t.ok(("b", True) not in (planted("a"), planted("b")), f"{how}: nothing where the answer was no", run.text[-800:])
        t.ok(allowed + denied >= 1, f"{how}: it was asked", run.text[-800:])


def elicited(client, command, answer):
    """Runs a command; answers each question as answer(message) says. Returns the questions."""
    number = client.begin("tools/call", {"name": "bash", "arguments": {"command": command}})
    asked = []
    while True:
        message = client.read(60)
        if message.get("method") == "elicitation/create":
            asked.append(message["params"]["message"])
            client.send({"id": message["id"], "result": answer(asked[-1])})
        elif message.get("id") == number and "method" not in message:
            return asked


def accept(how):
    return {"action": "accept", "content": {"allow": how}}


def test_mcp(person, t):
    """An agent's client asks the user, while the other processes of the command go on."""
    for how, want in (("once", [".vscode/a", ".vscode/b", ".mcp.json"]), ("run", [".vscode/a", ".vscode/b", ".mcp.json"])):
        work = project(person)
        client = Client(person, work, capabilities={"elicitation": {}})
        asked = elicited(client, WRITES, lambda _: accept(how))
        t.equal((len(asked), made(work)), (3 if how == "once" else 2, want), f"asked through the client: {how}", asked)
        t.ok(f"{work}/.vscode/a" in asked[0] and "editors" in asked[0], "with file and class", asked)
        client.close()
    work = project(person)
    client = Client(person, work, capabilities={"elicitation": {}})
    asked = elicited(client, WRITES, lambda _: {"action": "decline"})
    t.equal((len(asked), made(work)), (2, []), "declined: each class once", asked)
    client.close()
    client = Client(person, work)
    began = time.monotonic()
    t.equal((elicited(client, WRITES, None), made(work)), ([], []), "a client that cannot ask")
    t.ok(time.monotonic() - began < 10, "does not wait")
    client.close()


def test_mcp_swapped(person, t):
    """As test_ask_swapped, but nothing is stopped while the user thinks."""
    work = project(person)
    for name in ("a", "b"):
        person.write(f"{work}/{name}/.vscode/was-there", name)
    os.symlink("a", f"{work}/cur")
    script = person.write(f"{work}/swap.py", SWAP)
    client = Client(person, work, capabilities={"elicitation": {}})

    def answer(message):
        time.sleep(0.1)
        return accept("once") if f"{work}/a/.vscode/planted" in message else {"action": "decline"}
    asked = elicited(client, f"python3 {script} link", answer)
    t.ok(len(asked) > 0 and not os.path.exists(f"{work}/b/.vscode/planted"), "a yes for one file opens no other", asked)
    client.close()


def test_explained(person, t):
    """status and explain show what settings do to classes, with file and line."""
    work = project(person)
    mine = f"{person.home}/.config/buckle/settings.json"

    def status():
        return person.call([running.BUCKLE, "status"], cwd=work).out

    def explain(name, *how):
        return person.call([running.BUCKLE, "explain", "--settings", *how, "file-write-create", f"{work}/{name}"],
                           cwd=work).out
    text = status()
    t.ok(re.search("^protected +editors, agents, shells, tools, git-hooks, git-settings$", text, re.M) and
         "not protected" not in text, "all classes are protected by default", text)
    text = explain(".vscode/x")
    t.ok(text.startswith("deny") and "class editors: `buckle run --allow-protected editors`" in text,
         "explain knows the class without settings", text)
    person.write(mine, '{"filesystem": {\n  "allowProtected": [\n    "editors"]}}')
    text = status()
    t.ok(re.search(r"^not protected +editors \(user settings, line 3\)$", text, re.M) and
         re.search("^protected +agents, shells", text, re.M) and "except these classes of names: editors." in text,
         "status shows what a line of the settings does", text)
    t.equal(json.loads(person.call([running.BUCKLE, "status", "--json"], cwd=work).out)["allowProtected"], ["editors"],
            "also as JSON")
    text = explain(".vscode/x")
    t.ok(text.startswith("allow") and f"class editors: allowed by user settings, line 3 ({mine})" in text,
         "explain names the line", text)
    text = explain(".mcp.json")
    t.ok(text.startswith("deny") and "class agents" in text and "allowed by" not in text, "of no other class", text)
    t.ok("class" not in explain("plain").split("Protected")[-1].split("Tried")[0], "and of no other name")
    person.write(f"{work}/.buckle/settings.json", '{"filesystem": {"allowProtected": ["agents"]}}')
    text = status() + explain(".mcp.json")
    t.ok(text.count("project settings, line 1") == 2 and text.count("ignored: the project is not trusted") == 2 and
         "\ndeny" in text, "a line that does not count, and why", text)
    policy = person.write(f"{person.home}/policy.json", json.dumps({"filesystem": {"allowProtected": ["tools"]}}))
    person.env["BUCKLE_POLICY"] = policy
    facts = json.loads(explain(".vscode/x", "--json"))
    t.ok(facts["decision"] == "deny" and facts["protected"]["class"] == "editors" and
         not facts["protected"]["allowed"] and facts["protected"]["file"] == mine and
         "machine's policy" in facts["protected"]["ignored"], "the machine's policy overrides it", facts)
    del person.env["BUCKLE_POLICY"]
    person.sh("rm -rf .config/buckle", cwd=person.home)
    r = person.call([running.BUCKLE, "explain", "--settings", "--profile", "default", "file-write-create", "/x"], cwd=work)
    t.equal(r.status, 2, "settings or a profile, not both", r)


for_everybody([test_flag, test_links, test_summary, test_settings, test_grant, test_explained, test_ask, test_ask_not, test_ask_git,
              test_ask_swapped, test_mcp, test_mcp_swapped])
sys.exit(tap.done())
