#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes in a world that no judge sees: the walls hold around it, secrets stay secret, and what is
protected is found when it is kept. Policies with more rules are judged as in `buckle run`.

    e2e-try-walls.py [TEST…]
"""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import BUCKLE, for_everybody
from tried import GIT, SETUP, buckle, made, manifest, trying, world_of

SENTENCE = "are not listed"

# Each line attempts something outside the world, and prints what it managed.
OUTSIDE = r"""
import ctypes, os, sys
out, c = sys.argv[1], ctypes.CDLL(None, use_errno=True)
def attempt(name, call):
    try:
        if call() not in (None, -1): print(name)
    except OSError: pass
count = 0
def there():  # another file for each attempt, so that none undoes what the next one needs
    global count
    count += 1
    return f"{out}/file{count}"
def none(): return there() + ".new"
def opened(flags, mode=0o600, path=None):
    fd = os.open(path or there(), flags, mode); os.close(fd); return "opened"
def done(call, *args):
    call(*args); return "done"
attempt("write", lambda: opened(os.O_WRONLY))
attempt("read and write", lambda: opened(os.O_RDWR))
attempt("append", lambda: opened(os.O_WRONLY | os.O_APPEND))
attempt("truncate at opening", lambda: opened(os.O_RDONLY | os.O_TRUNC))
attempt("truncate at opening for neither", lambda: opened(3 | os.O_TRUNC))
attempt("truncate by path", lambda: done(os.truncate, there(), 0))
attempt("create", lambda: opened(os.O_WRONLY | os.O_CREAT, path=none()))
attempt("create to read", lambda: opened(os.O_RDONLY | os.O_CREAT, path=none()))
attempt("unnamed", lambda: opened(os.O_RDWR | os.O_TMPFILE, path=out))
attempt("creat", lambda: c.creat(none().encode(), 0o600))
attempt("mkdir", lambda: done(os.mkdir, none()))
attempt("symlink", lambda: done(os.symlink, "x", none()))
attempt("fifo", lambda: done(os.mkfifo, none()))
attempt("remove", lambda: done(os.unlink, there()))
attempt("rmdir", lambda: done(os.rmdir, out + "/folder"))
attempt("rename", lambda: done(os.rename, there(), none()))
attempt("move out", lambda: done(os.rename, "src/two.txt", none()))
attempt("move in", lambda: done(os.rename, there(), "moved"))
attempt("link", lambda: done(os.link, there(), "linked"))
attempt("mode", lambda: done(os.chmod, there(), 0o777))
attempt("times", lambda: done(os.utime, there(), (1, 1)))
attempt("attribute", lambda: done(os.setxattr, there(), "user.x", b"x"))
os.symlink(out + "/file", "way")
attempt("through a symlink", lambda: opened(os.O_WRONLY | os.O_TRUNC, path="way"))
os.symlink(out, "ways")
attempt("through a symlink to a folder", lambda: opened(os.O_WRONLY | os.O_CREAT, path="ways/new"))
fd = os.open(out + "/file", os.O_RDONLY)
attempt("a descriptor again", lambda: opened(os.O_WRONLY, path=f"/proc/self/fd/{fd}"))
folder = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
attempt("below a descriptor", lambda: done(os.close, os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=folder)))
attempt("below the folder given", lambda: done(os.close, os.open("given", os.O_WRONLY | os.O_CREAT, dir_fd=3)))
attempt("mode of the folder given", lambda: done(os.fchmod, 3, 0o777))
attempt("own memory by its file", lambda: opened(os.O_RDWR, path="/proc/1/mem"))
attempt("init's score", lambda: opened(os.O_WRONLY, path="/proc/1/oom_score_adj"))
attempt("set-id program", lambda: opened(os.O_WRONLY | os.O_CREAT, 0o4755, path="setid"))
attempt("set-id later", lambda: done(os.chmod, "src/one.txt", 0o4755))
for kind in ("user", "trusted"):
    attempt(kind + ".overlay", lambda: done(os.setxattr, "src", kind + ".overlay.opaque", b"y"))
attempt("whiteout", lambda: done(os.mknod, "white", 0o20000, 0))
"""


ATTACKED = SETUP + "echo file >file; mkdir folder; for i in $(seq 50); do echo $i >file$i; done"
# as one attempt undoes what another needs, or the machine refuses them anyway
NEVER = {"own memory by its file", "init's score", "trusted.overlay", "whiteout"}


def test_outside(person, t):
    """Nothing outside the place changes, also not through descriptors of real folders."""
    folder, other = made(person), made(person, ATTACKED)
    alone, apart = made(person, ATTACKED), made(person)
    r = person.call(["sh", "-c", 'exec "$@" 3<"$0"', apart, "python3", "-c", OUTSIDE, alone], cwd=apart)
    missing = {"own memory by its file", "init's score", "whiteout", "trusted.overlay"} if person.uid else set()
    t.equal(set(re.findall(r'attempt\("([^"]+)"', OUTSIDE)) - set(r.out.split("\n")) - missing - NEVER, set(),
            "without Buckle the attempts succeed", r)
    before, outside = manifest(person, folder), manifest(person, other)
    r = person.call(["sh", "-c", 'exec "$@" 3<"$0"', folder, BUCKLE, "try", "--review", "later", "--keep-fd", "3", "--", "python3", "-c", OUTSIDE, other],
                    cwd=folder)
    t.equal(r.out, "", "each attempt fails", r)
    t.ok(SENTENCE in r.err, "the summary says that not all is listed", r)
    t.equal(manifest(person, folder), before, "the folder is as it was")
    t.equal(manifest(person, other), outside, "so is the other one")
    buckle(person, "discard", world_of(r))


def test_listed(person, t):
    """--report judges and lists. Without it the summary says that nothing is listed."""
    folder, other = made(person), made(person)
    script = f"echo x >{other}/new || echo no; echo y >here"
    r = trying(person, folder, script, "--review", "later")
    t.ok(r.out == "no\n" and f"{other}/new\n" not in r.err and SENTENCE in r.err, "by itself", r)
    buckle(person, "discard", world_of(r))
    for words in (["--report", "text"], ["-v"]):
        r = trying(person, folder, script, "--discard", *words)
        t.ok(r.out == "no\n" and f"{other}/new" in r.err and SENTENCE not in r.err, f"with {words[0]}", r)


def test_judged(person, t):
    """Rules that only a judge can enforce keep it."""
    folder = made(person)
    os.makedirs(f"{folder}/real")
    person.own(f"{folder}/real")
    for what, script, words in (
            ("a folder that must not be written", "echo x >src/new", ["--deny-write", f"{folder}/src"]),
            ("a pattern", "echo x >a.key", ["--deny-write", f"{folder}/*.key"]),
            ("a protected name in what stays real", "echo x >real/.mcp.json", ["--real", f"{folder}/real"])):
        r = trying(person, folder, f"({script}) 2>/dev/null || echo no; echo y >here", "--discard", *words)
        t.ok(r.out == "no\n" and "denied" in r.err and SENTENCE not in r.err, what, r)
    t.equal(os.listdir(f"{folder}/real"), [], "which was not written")


def test_other_mounts(person, t):
    """What is mounted in a place is real, and cannot be written. An ordinary user's command does not start there."""
    if os.geteuid():
        tap.skip("only root can mount something in a place")
        return
    folder = made(person)
    inside = "cat sub/file; echo x >sub/file; echo x >sub/new; rm sub/file; chmod 777 sub/file; echo y >here"
    script = (f"mkdir sub && mount -t tmpfs none sub && echo real >sub/file && chown -R {person.uid}:{person.uid} sub && "
              f"setpriv --reuid {person.uid} --regid {person.uid} --clear-groups {BUCKLE} try --discard -- sh -c '{inside}'; ls -l sub; cat sub/file")
    ran = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script], cwd=folder, env=person.env, timeout=60,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    t.ok(ran.stdout.endswith("real\n") and "new" not in ran.stdout and "-rw-r--r--" in ran.stdout,
         "a file system inside the place", ran.stdout, ran.stderr)
    if person.uid:
        t.ok("world's layers failed" in ran.stderr and not ran.stdout.startswith("real\n"), "the reason is told", ran.stderr)
    else:
        t.ok("+ here" in ran.stderr and SENTENCE in ran.stderr and ran.stdout.startswith("real\n"), "and no judge saw it", ran.stderr)


def test_secret(person, t):
    """What must not be read stays unreadable under other names, and is not written."""
    folder = made(person)
    for way in ("mv src/two.txt x; cat x", "ln src/two.txt x; cat x", "cp src/two.txt x; cat x", "mv src y; cat y/two.txt",
                "exec 3<>src/two.txt; cat <&3", "exec 3>>src/two.txt; cat </proc/self/fd/3", "ln -s src/two.txt x; cat x"):
        r = trying(person, folder, f"({way}) 2>/dev/null || true", "--discard", "--deny-read", f"{folder}/src/two.txt",
                   "--allow-protected", "git-settings")
        t.ok("two" not in r.out, way, r)
    t.equal(open(f"{folder}/src/two.txt", encoding="utf-8").read(), "two\n", "it is as it was")


def test_nested(person, t):
    """A sandbox inside writes to the same world, and is judged."""
    folder = made(person)
    before = manifest(person, folder)
    r = person.call([BUCKLE, "try", "--review", "later", "--", "sh", "-c", f"echo 1 >mine; {BUCKLE} run --deny-write {folder}/src -- "
                     "sh -c 'cat mine; echo 2 >inner; mv inner moved; echo x >src/new || echo no'; cat moved"], cwd=folder)
    t.equal(r.out, "1\nno\n2\n", "it sees and changes the world", r)
    t.equal(manifest(person, folder), before, "and nothing else")
    buckle(person, "discard", world_of(r))


def test_output(person, t):
    """Output that goes to a file can be opened by its name in /dev, and nothing else of it."""
    folder = made(person)
    out = f"{person.folder()}/log"
    r = person.sh(f"cd {folder} && {BUCKLE} try --discard -- sh -c 'echo one >/dev/stdout; rm {out} || echo kept >>here' >{out}; cat {out}")
    t.equal(r, "one\n", "the log")


def test_kept(person, t):
    """Protected names are written like others, and kept only with their class."""
    folder = made(person)
    person.sh(f"{GIT} init -q . && {GIT} init -q --bare bare && mkdir half && mkdir half/objects half/refs && "
              "printf '[core]\\n\\tfsmonitor = ./evil\\n' >half/config && mkdir -p .git/rebase-merge && echo 'pick a' >.git/rebase-merge/git-rebase-todo",
              cwd=folder)
    rows = [  # what is written, the class that keeping needs; "": none; "never": it cannot be kept
        ("echo {} >.mcp.json", "agents"), ("mkdir .vscode; echo x >.vscode/tasks.json", "editors"), ("echo x >.bashrc", "shells"),
        ("echo x >x; mv x .bashrc", "shells"), ("ln -s x .claude", "agents"),
        ("echo x >.srt-settings.json", "never"), ("mkdir .buckle; echo {} >.buckle/settings.json", "never"), ("ln -s src .config", "never"),
        (f"{GIT} config core.fsmonitor ./evil", "git-settings"), (f"{GIT} config user.name x", ""),
        ("printf '[core]\\n\\tfsmonitor = ./evil\\n' >>.git/config", "git-settings"),
        ("echo x >.git/hooks/post-commit", "git-hooks"), ("echo x >.git/hooks/y.sample", ""),
        (f"{GIT} -C bare config core.fsmonitor ./evil", "git-settings"), (f"{GIT} -C bare config user.name x", ""),
        ("echo x >bare/hooks/update", "git-hooks"), ("echo ref: refs/heads/main >half/HEAD", "git-settings"),
        ("mkdir -p n/objects n/refs; echo x >n/HEAD; printf '[core]\\n\\tfsmonitor = ./evil\\n' >n/config", "git-settings"),
        ("mkdir sub; echo 'gitdir: ../half' >sub/.git", "git-settings"), ("echo /tmp >.git/commondir", "git-settings"),
        ("echo 'exec evil' >>.git/rebase-merge/git-rebase-todo", "git-hooks"), ("echo 'pick b' >>.git/rebase-merge/git-rebase-todo", ""),
        ("mkdir bare/remotes; echo 'URL: ext::evil' >bare/remotes/origin", "git-settings"),
        ("mkdir -p .git/modules/m/hooks; printf '[core]\\n\\tfsmonitor = ./evil\\n' >.git/modules/m/config", "git-settings"),
        ("mkdir -p .git/modules/m/hooks; echo x >.git/modules/m/hooks/update", "git-hooks"),
        (f"{GIT} clone -q . copy", ""), (f"{GIT} init -q new; echo x >new/file", "")]
    for script, needs in rows:
        before = manifest(person, folder)
        r = trying(person, folder, script, "--review", "later")
        world = world_of(r)
        changes = json.loads(buckle(person, "changes", world, "--json").out)["changes"] if world else []
        found = {c.get("class", "never") for c in changes if "protected" in c["marks"]}
        t.equal(found, {needs} - {""}, f"{script}: the class", r)
        others = ",".join(c for c in ("shells", "tools", "git-settings", "git-hooks", "editors", "agents") if c != needs)
        kept = buckle(person, "keep", "--allow-protected", others, world)
        t.ok(kept.status == (1 if needs else 0), "without it", kept)
        if needs:
            t.equal(manifest(person, folder), before, "nothing is kept")
            buckle(person, "discard", world)


TESTS = [test_outside, test_listed, test_judged, test_other_mounts, test_secret, test_nested, test_output, test_kept]
chosen = sys.argv[1:]
for_everybody([test for test in TESTS if not chosen or test.__name__ in chosen])
sys.exit(tap.done())
