#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Classes of protected names: each is denied in a project that was there before, and allowed by a
flag, settings or a grant, which open nothing else.
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import running
import tap
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


for_everybody([test_flag, test_links, test_summary, test_settings, test_grant])
sys.exit(tap.done())
