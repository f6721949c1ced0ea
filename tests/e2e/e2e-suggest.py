#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flags that a summary suggests suffice: the same command with them succeeds, and is denied nothing."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from running import for_everybody, missing, suggested_flags
from tap import done, skip

NAMES = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A",
         "GIT_COMMITTER_EMAIL": "a@example.com"}
REPOSITORY = "git init -q -b main {o} && echo n >{o}/n && git -C {o} add n && git -C {o} commit -q -m n"
ATOMIC = "import os; open('{o}/f.json.tmp', 'w').write('x'); os.replace('{o}/f.json.tmp', '{o}/f.json')"
# what is there before, what the command does; {o} is a folder outside
COMMANDS = {
    "a file": ("", "echo x >{o}/f"),
    "a folder with files": ("", "mkdir -p {o}/a/b && echo x >{o}/a/b/c && echo y >{o}/a/d"),
    "a lock": ("echo x >{o}/state", "set -C; echo x >{o}/state.lock && set +C && echo y >{o}/state && rm {o}/state.lock"),
    "a lock that becomes the file": ("", "echo x >{o}/state.lock && mv {o}/state.lock {o}/state"),
    "sed -i": ("echo x >{o}/f", "sed -i s/x/y/ {o}/f"),
    "an atomic writer": ("", f'python3 -c "{ATOMIC}"'),
    "one that adds its process id": ("", "echo x >{o}/f.json.$$ && mv {o}/f.json.$$ {o}/f.json"),
    "mktemp": ("", "f=$(mktemp {o}/f.XXXXXX) && echo x >$f && mv $f {o}/f"),
    "rsync": ("mkdir s && echo x >s/f", "rsync -a s/ {o}/"),
    "sqlite": ("python3 -c \"import sqlite3; d = sqlite3.connect('{o}/x.db'); d.execute('create table t(a)'); d.commit()\"",
               "python3 -c \"import sqlite3; d = sqlite3.connect('{o}/x.db'); d.execute('insert into t values (1)'); d.commit()\""),
    "many files, one after another": ("", "for i in 1 2 3 4 5 6; do echo x >{o}/$i || r=1; done; exit ${r:-0}"),
    "several operations in one folder": ("touch {o}/a {o}/b {o}/c", "echo x >{o}/a || r=1; rm {o}/b || r=1; chmod 600 {o}/c || r=1; exit ${r:-0}"),
    "git commit in another repository": (REPOSITORY, "echo m >n && GIT_WORK_TREE=$PWD git --git-dir={o}/.git commit -q -a -m m"),
    "git commit --allow-empty there": (REPOSITORY, "git -C {o} commit -q --allow-empty -m m"),
    "git tag and branch there": (REPOSITORY, "git -C {o} tag t && git -C {o} branch b"),
    "git fetch there": (REPOSITORY + " && git clone -q {o} x && git -C x commit -q --allow-empty -m x",
                        "git -C {o} fetch -q $PWD/x main"),
    "git config there": (REPOSITORY, "git -C {o} config user.name x"),
    "a protected file": ("", "echo '{}' >.mcp.json"),
    "a protected file, written atomically": ("", "echo '{}' >.mcp.json.tmp && mv .mcp.json.tmp .mcp.json"),
    "a protected folder": ("", "mkdir .vscode && echo '{}' >.vscode/tasks.json"),
    "a hook": ("git init -q .", "echo x >.git/hooks/pre-commit"),
}


def test_flags(user, t):
    user.env.update(NAMES)
    for name, (before, command) in COMMANDS.items():
        if missing(command.split()[0].split("/")[-1]) and command.split()[0] == "rsync":
            continue
        work, outside = user.folder(), user.folder("outside")
        before, command = before.replace("{o}", outside), command.replace("{o}", outside)
        user.sh(before or "true", cwd=work)
        for _ in range(5):  # a random name with letters of one case alone looks like a chosen one
            r = user.run("bash", "-c", command, cwd=work)
            flags = suggested_flags(r.err)
            if not re.search(r"\.([a-z]{6}|[A-Z]{6}|[0-9]{6})$", " ".join(flags)):
                break
        t.ok(r.status != 0 and flags, f"{name}: denied, and a flag is suggested", command, r)
        t.ok(len(flags) <= 4, f"{name}: few words suffice", flags)
        again = user.run(*flags, "bash", "-c", command, cwd=work)
        t.quiet(again, f"{name}: with {' '.join(flag.replace(outside, 'O') for flag in flags)} it works")


def test_narrow(user, t):
    """A suggestion never opens a folder near the root, or more than it must."""
    work, outside = user.folder(), user.folder("outside")
    r = user.run("sh", "-c", "echo x >/etc/x.lock; echo x >/usr/y.tmp; echo x >/z~", cwd=work)
    t.equal(suggested_flags(r.err), [], "no flag opens /etc, /usr or /", r)
    r = user.run("sh", "-c", f"echo x >{outside}/a; echo x >{outside}/b", cwd=work)
    t.equal(suggested_flags(r.err), ["--allow-write", outside + "/a", "--allow-write", outside + "/b"],
            "two files are two files", r)
    places = [user.folder("many") for _ in range(6)]
    r = user.run("sh", "-c", "".join(f"echo x >{place}/a; " for place in places), cwd=work)
    t.ok(len(suggested_flags(r.err)) in (2, 8), "many places are one folder, or the summary says that there are more", r)
    t.ok(len(suggested_flags(r.err)) == 2 or "2 more need their own flags" in r.err, "in words", r)


TREE = """
git init -q -b main . && mkdir .vscode 'a b' && echo 1 >.mcp.json && echo 1 >.vscode/tasks.json && echo 1 >'a b/.mcp.json' && echo 1 >plain
git add -A && git commit -q -m one
"""
# what happens before, and what git does inside
GIT = {
    "restore": ("rm .mcp.json .vscode/tasks.json 'a b/.mcp.json'", "git restore ."),
    "checkout": ("rm .mcp.json plain", "git checkout -q -- ."),
    "reset --hard": ("echo 2 >.mcp.json; echo 2 >.vscode/tasks.json; echo 2 >plain", "git reset -q --hard"),
    "stash": ("echo 2 >.vscode/tasks.json; echo 2 >plain", "git stash -q"),
}


def test_left_out(user, t):
    """Git that is denied a file goes on; the summary says what is missing now, and how to get it."""
    user.env.update(NAMES)
    for name, (before, command) in GIT.items():
        work = user.folder()
        user.sh(TREE + before, cwd=work)
        r = user.run("sh", "-c", command, cwd=work)
        gone = [path for path in (".mcp.json", ".vscode/tasks.json", "a b/.mcp.json") if not os.path.exists(f"{work}/{path}")]
        told = [line for line in r.err.split("\n") if line.startswith("missing from the working tree: ")]
        t.ok(r.status != 0 or name in ("restore", "checkout"), f"git {name}: stops at protected files", r)
        t.ok(len(told) == bool(gone), f"git {name}: {len(gone)} files are missing, and the summary says so", gone, r)
        if told:
            user.sh(told[0].split("`")[1], cwd=user.home)
            t.equal([path for path in gone if not os.path.exists(f"{work}/{path}")], [],
                    f"git {name}: the command in the summary gets them", r)
    work = user.folder()
    user.sh(TREE + "rm .mcp.json", cwd=work)
    r = user.run("sh", "-c", "echo 1 >.mcp.json", cwd=work)
    t.ok("missing from" not in r.err, "other programs are not meant", r)


def main():
    lacks = missing("git", "python3", "bash")
    if lacks:
        skip(f"{lacks} is not installed")
        return done()
    for_everybody([test_flags, test_narrow, test_left_out])
    return done()


sys.exit(main())
