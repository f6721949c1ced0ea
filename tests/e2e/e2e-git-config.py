#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""src/git reads git's files as git does.

Both read random settings (tests/git/git-text.c prints our result). The output of everyday commands is
harmless, and a disarmed rebase list executes nothing. $SEED and $FILES choose other settings and how
many.
"""

import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import FOLDER
from tap import done, equal, ok, skip

SEED = int(os.environ.get("SEED", "15"))
FILES = int(os.environ.get("FILES", "500"))
TOOLS = os.environ.get("TOOLS", "build/gcc/tests")
# the one built with the program under test, if any
BESIDE = os.path.join(os.path.dirname(os.environ.get("BUCKLE", "")), "tests", "git-text")
TOOL = os.path.abspath(BESIDE if os.path.exists(BESIDE) else os.path.join(TOOLS, "git-text"))

ENV = {"PATH": os.environ["PATH"], "HOME": FOLDER, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C",
       "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
       "GIT_COMMITTER_EMAIL": "a@b", "GIT_EDITOR": "true", "GIT_ALLOW_PROTOCOL": "file"}
ENV.update({name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS")
            if name in os.environ})


def call(*argv, cwd=FOLDER, **more):
    return subprocess.run(argv, cwd=cwd, env=dict(ENV, **more), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)


def git_version():
    words = call("git", "--version").stdout.decode()
    return tuple(int(n) for n in re.search(r"(\d+)\.(\d+)", words).groups())


# git 2.45 keeps white space inside values
READING = "config" if git_version() >= (2, 45) else "spaced"

# ---- random settings ----

SECTIONS = [b"core", b"Core", b"REMOTE", b"a-b", b"a.b", b"a.B.c", b"x1", b"include", b"includeIf", b".",
            b"a..b", b"-", b"1"]
SUBSECTIONS = [b"origin", b"Origin", b"a.b", b"a b", b'q\\"q', b"b\\\\b", b"odd\\x", b"", b"]", b"#;", b"[",
               b"\xc3\xa4\xff", b"tab\t", b"cr\rx", b" lead", b"gitdir:~/x/", b"\\", b"\\n"]
NAMES = [b"name", b"NAME", b"hooksPath", b"a-1", b"x", b"url", b"n0", b"x-", b"z9-Z"]
PIECES = [b"a", b"value", b" ", b"  ", b"\t", b" \t ", b'"', b'"quoted"', b'" kept "', b"\\n", b"\\t", b"\\b",
          b'\\"', b"\\\\", b"#", b";", b"# comment", b"\\\n", b"\\\r\n", b" \\\n  ", b"=", b"[", b"]", b"\xc3\xa4",
          b"\xff", b"\r", b"\v", b"\f", b"'", b"$(x)", b"https://h/x", b'""', b"!x"]
BROKEN = [b"[]", b"\\x", b"\\r", b'"', b"\\ ", b"[", b"[a", b'[a "b', b'[a "b" ]', b"[a b]", b"[a_b]", b"x_y = 1",
          b"9x = 1", b"x : 1", b"= 1", b"name # comment", b"name ; x", b"\xef\xbb", b"\x01", b"x\r=1", b"-x=1",
          b'[a "b\nc"]', b"[a\n]", b'[a\n"b"]', b"!"]
SPACES = [b"", b"", b"", b" ", b"\t", b"  ", b" \t"]
ENDS = [b"\n"] * 24 + [b"\r\n", b"\n\n"] * 3 + [b"\r\r\n"]


def one_of(rng, few):
    return few[rng.randrange(len(few))]


def header(rng):
    sub = b""
    if rng.random() < 0.5:
        sub = one_of(rng, [b" ", b"\t", b"  ", b"\r "]) + b'"' + one_of(rng, SUBSECTIONS) + b'"'
    return b"[" + one_of(rng, SECTIONS) + sub + b"]"


def value(rng):
    text = b"".join(one_of(rng, PIECES) for _ in range(rng.randrange(7)))
    if text.replace(b'\\"', b"").count(b'"') % 2 and rng.random() < 0.9:
        text += b'"'  # mostly well-formed
    return text


def setting(rng):
    text = one_of(rng, SPACES) + one_of(rng, NAMES)
    if rng.random() < 0.85:
        text += one_of(rng, SPACES) + b"=" + one_of(rng, SPACES) + value(rng)
    return text


def line(rng, broken):
    kind = rng.random()
    if broken and kind < 0.06:
        text = one_of(rng, SPACES) + one_of(rng, BROKEN)
    elif kind < 0.2:
        text = one_of(rng, SPACES) + header(rng)
        if rng.random() < 0.3:
            text += one_of(rng, SPACES) + setting(rng)
    elif kind < 0.3:
        text = one_of(rng, SPACES) + one_of(rng, [b"#", b";", b"# c \\", b'; "', b"", b"#[a]"])
    else:
        text = setting(rng)
    return text + one_of(rng, SPACES) + one_of(rng, ENDS)


def settings(rng):
    broken = rng.random() < 0.3
    text = one_of(rng, [b"", b"", b"", b"", b"\xef\xbb\xbf"])
    if rng.random() < 0.9:
        text += header(rng) + one_of(rng, ENDS)
    text += b"".join(line(rng, broken) for _ in range(rng.randrange(14)))
    if rng.random() < 0.3:
        text = text[:-1]
    if broken and rng.random() < 0.2 and text:
        at = rng.randrange(len(text))
        text = text[:at] + bytes([rng.randrange(1, 256)]) + text[at + 1:]
    return text


def test_settings():
    rng = random.Random(SEED)
    path = os.path.join(FOLDER, "settings")
    different, refused, keys = [], 0, 0
    for number in range(FILES):
        text = settings(rng)
        with open(path, "wb") as f:
            f.write(text)
        theirs = call("git", "config", "--file", path, "--no-includes", "--list", "-z")
        ours = call(TOOL, READING, path)
        refused += theirs.returncode != 0
        keys += theirs.stdout.count(b"\0") if theirs.returncode == 0 else 0
        if ours.returncode not in (0, 1) or (theirs.returncode == 0) != (ours.returncode == 0):
            different.append(f"{number}: {text!r}: git {theirs.stderr!r}, ours {ours.stderr!r}")
        elif theirs.returncode == 0 and theirs.stdout != ours.stdout:
            different.append(f"{number}: {text!r}: git {theirs.stdout!r}, ours {ours.stdout!r}")
    ok(not different, f"{FILES} files read as git reads them (seed {SEED})", *different[:5])
    ok(refused > FILES / 20 and keys > FILES * 2,
       "many of them are fine and some are not", f"{refused} refused, {keys} settings")


# ---- what git writes ----


def repository(name, *options):
    path = os.path.join(FOLDER, name)
    call("git", "init", "-q", "-b", "main", *options, path)
    return path


def commit(path, name, text="x"):
    with open(os.path.join(path, name), "w", encoding="utf-8") as f:
        f.write(text)
    call("git", "add", name, cwd=path)
    call("git", "commit", "-q", "-m", name, cwd=path)


EVERYDAY = """
git config user.email x@y
git config user.name 'A B'
git remote add up ../up.git
git remote add -t main -m main mirrored ssh://git@h:22/x/y.git
git remote set-url up ../other.git
git remote rename up moved
git remote remove moved
git push -q -u pushed main
git branch --set-upstream-to pushed/main topic
git branch --edit-description topic
git branch -m topic renamed
git branch -D renamed
git config pull.rebase true
git config push.autoSetupRemote true
git config core.autocrlf input
git config --unset core.autocrlf
git config advice.detachedHead false
git sparse-checkout set --cone folder
git sparse-checkout disable
git submodule add -q ../pushed.git lib
git submodule init
git submodule deinit -f lib
git maintenance run --quiet
git worktree add -q ../tree -b tree
"""

NOT_HARMLESS = {
    "git config core.fsmonitor ./x": "core.fsmonitor",
    "git config core.hooksPath .husky": "core.hookspath",
    "git config alias.st '!./x'": "alias.st",
    "git remote set-url old https://evil/": "remote.old.url",
    "git remote set-url --push old https://evil/": "remote.old.pushurl",
    "git remote remove old": "remote.old.url",
    "git remote rename old new": "remote.old.url",
    "git remote add evil 'ext::sh -c x'": "remote.evil.url",
    "git config branch.main.pushRemote evil": "branch.main.pushremote",
    "git config --add include.path ../x": "include.path",
    "git config filter.x.clean ./x": "filter.x.clean",
    "git config submodule.x.update '!./x'": "submodule.x.update",
}


def keep(path, name):
    copy = os.path.join(FOLDER, name)
    with open(os.path.join(path, ".git", "config"), "rb") as f, open(copy, "wb") as g:
        g.write(f.read())
    return copy


def test_everyday():
    path = repository("everyday")
    os.mkdir(os.path.join(path, "folder"))
    commit(path, "folder/a")
    call("git", "init", "-q", "-b", "main", "--bare", os.path.join(FOLDER, "pushed.git"))
    call("git", "remote", "add", "pushed", "../pushed.git", cwd=path)
    call("git", "branch", "topic", cwd=path)
    call("git", "init", "-q", os.path.join(FOLDER, "blank"))
    was = keep(os.path.join(FOLDER, "blank"), "was")
    for command in EVERYDAY.strip().split("\n"):
        ran = call("sh", "-c", command.replace("git ", "git -c protocol.file.allow=always ", 1), cwd=path)
        now = keep(path, "now")
        judged = call(TOOL, "harmless", was, now)
        ok(ran.returncode == 0 and judged.returncode == 0, f"{command} is harmless", ran.stderr,
           judged.stdout, judged.stderr)


def test_not_harmless():
    path = repository("attacked")
    call("git", "remote", "add", "old", "../old.git", cwd=path)
    was = keep(path, "was")
    with open(was, "rb") as f:
        text = f.read()
    for command, key in NOT_HARMLESS.items():
        ran = call("sh", "-c", command, cwd=path)
        judged = call(TOOL, "harmless", was, keep(path, "now"))
        ok(ran.returncode == 0 and judged.returncode == 1 and judged.stdout.startswith(key.encode() + b":"),
           f"{command} is not harmless", ran.stderr, judged.stdout, judged.stderr)
        with open(os.path.join(path, ".git", "config"), "wb") as f:
            f.write(text)


# ---- a rebase that is continued ----

EXEC = [b"exec touch RAN", b"x touch RAN", b"exec\ttouch RAN", b"  exec touch RAN", b"\tx\ttouch RAN",
        b"exec touch RAN\r", b"x touch RAN # x", b" \t exec  touch RAN", b"exec touch RAN; true"]
QUIET = [b"", b"# exec touch RAN", b"noop", b"label here", b"reset here", b"\r", b"  # x touch RAN"]


def stopped(name):
    """A repository in the middle of an interactive rebase."""
    path = repository(name)
    for file in ("a", "b", "c"):
        commit(path, file)
    call("git", "rebase", "-i", "HEAD~2", cwd=path, GIT_SEQUENCE_EDITOR="sed -i 1s/^pick/edit/")
    return path, os.path.join(path, ".git", "rebase-merge", "git-rebase-todo")


def rebase(name, lines, disarm, config=()):
    """Whether a continued rebase executed something, and what git said."""
    path, todo = stopped(name)
    with open(todo, "rb") as f:
        pick = f.read().split(b"\n")[0]
    with open(todo, "wb") as f:
        f.write(b"\n".join([b"label here", *lines[:-1], pick, *lines[-1:]]) + b"\n")
    if disarm:
        text = call(TOOL, "disarm", todo)
        with open(todo, "wb") as f:
            f.write(text.stdout)
    ended = call("git", *config, "rebase", "--continue", cwd=path)
    return os.path.exists(os.path.join(path, "RAN")), ended, os.path.exists(os.path.join(path, "c"))


def test_rebase():
    rng = random.Random(SEED)
    for number, line_ in enumerate(EXEC):
        ran, _, _ = rebase(f"armed{number}", [line_], False)
        ok(ran, f"git executes {line_!r}")
        ran, ended, whole = rebase(f"disarmed{number}", [line_], True)
        ok(not ran and whole and ended.returncode == 0, f"not once it is disarmed: {line_!r}", ended.stderr)
    for number in range(10):
        lines = [one_of(rng, EXEC + QUIET) for _ in range(rng.randrange(2, 8))]
        ran, ended, whole = rebase(f"random{number}", lines, True)
        ok(not ran and whole and ended.returncode == 0, f"a random list executes nothing: {lines!r}", ended.stderr)
    ran, ended, _ = rebase("comments", [EXEC[0], EXEC[1]], True, ("-c", "core.commentChar=;"))
    ok(not ran and ended.returncode != 0 and b"exec touch RAN" in ended.stderr,
       "with other comments git stops and shows the line", ended.stderr)


def main():
    if not os.path.exists(TOOL):
        skip("git-text was not built")
        return done()
    test_settings()
    test_everyday()
    test_not_harmless()
    test_rebase()
    return done()


if __name__ == "__main__":
    sys.exit(main())
