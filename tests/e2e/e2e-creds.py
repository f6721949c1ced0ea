#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands of root can change users or drop capabilities. The judge then acts with their credentials, not
as root. Prints TAP.
"""

import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap
from world import World, child_named, people, processes_with, tool, until

OTHER, GROUP = 4711, 4712
# Judges every call about files, and denies next to nothing.
JUDGES = """(version 1)
(allow default)
(deny file-read* file-write* file-test-existence (regex #"/\\.env$"))
"""
# Gives up every capability, then asks.
WITHOUT_CAPABILITIES = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
head = (ctypes.c_uint32 * 2)(0x20080522, 0)
data = (ctypes.c_uint32 * 6)()
assert libc.capset(head, data) == 0
for path in sys.argv[1:]:
    try:
        open(path).close()
        print("ok")
    except OSError as e:
        print(e.errno)
"""


def furnish(world):
    def put(name, mode, uid=0, gid=0):
        with open(world.path(name), "w") as f:
            f.write("text")
        os.chown(world.path(name), uid, gid)
        os.chmod(world.path(name), mode)

    os.chmod(world.inside, 0o755)
    put("roots", 0o600)
    put("groups", 0o640, 0, GROUP)
    put("theirs", 0o600, OTHER, OTHER)
    put("nobodys", 0o000, OTHER, OTHER)
    put("everybodys", 0o644)
    for name, mode, uid in (("closed", 0o700, 0), ("their", 0o755, OTHER)):
        os.mkdir(world.path(name))
        os.chown(world.path(name), uid, uid)
        os.chmod(world.path(name), mode)
    put("closed/file", 0o644)
    server = socket.socket(socket.AF_UNIX)
    server.bind(world.path("socket"))
    os.chmod(world.path("socket"), 0o600)
    server.listen(5)
    return server


def as_other(*groups):
    return ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}",
            *([f"--groups={','.join(map(str, groups))}"] if groups else ["--clear-groups"])]


def ask(who, world, before, calls):
    """Each call in a probe that runs as another user: {words: outcome}."""
    text = "".join("\t".join(words) + "\n" for words in calls)
    done = who.boxed([*before, tool("probe"), "--batch"], world,
                     ["--report", "none", "--profile", world.profile(JUDGES)], input=text)
    return done.out.split(), done


def check(who, world, before, expected, what):
    got, done = ask(who, world, before, [words for words, _ in expected])
    wrong = [f"{' '.join(words)}: wanted {want}, got {came}" for (words, want), came
             in zip(expected, got + ["nothing"] * len(expected)) if came != want]
    tap.ok(not wrong, f"{what} ({len(expected)} calls)", *wrong, done.err)


REFUSED = [
    (("open-read", "roots"), "EACCES"), (("open-write", "roots"), "EACCES"),
    (("openat-rdwr", "roots"), "EACCES"), (("open-create", "new"), "EACCES"),
    (("open-read", "groups"), "EACCES"), (("open-read", "closed/file"), "EACCES"),
    (("stat-path", "closed/file"), "EACCES"), (("statx", "closed/file"), "EACCES"),
    (("access", "closed/file"), "EACCES"), (("access-read", "roots"), "EACCES"),
    (("watch", "roots"), "EACCES"), (("mkdir", "new"), "EACCES"), (("unlink", "roots"), "EACCES"),
    (("rename", "roots", "other"), "EACCES"), (("chmod", "roots"), "EPERM"),
    (("fchmodat2", "everybodys"), "EPERM"), (("utimensat", "everybodys"), "EPERM"),
    (("truncate", "roots"), "EACCES"), (("symlink", "roots", "new"), "EACCES"),
    (("mknod-fifo", "new"), "EACCES"), (("setxattr", "everybodys"), "EACCES"),
    (("connect-unix", "socket"), "EACCES"), (("bind-unix", "new"), "EACCES"),
    (("getxattr", "closed/file"), "EACCES"), (("listxattr", "closed/file"), "EACCES"),
    (("readlink", "closed/file"), "EACCES"), (("statfs", "closed/file"), "EACCES"),
    (("open-path", "closed/file"), "EACCES"),
]
ALLOWED = [
    (("open-read", "everybodys"), "ok"), (("stat-path", "roots"), "ok"),
    (("open-rdwr", "theirs"), "ok"), (("chmod", "theirs"), "ok"), (("open-create", "their/new"), "ok"),
    (("mkdir", "their/folder"), "ok"), (("open-read", "/proc/self/status"), "ok"),
    (("open-rdwr", "/proc/self/mem"), "ok"), (("open-read", "/proc/self/fd"), "ok"),
    (("readlink", "/proc/self/exe"), "ok"), (("utimensat", "theirs"), "ok"),
]


def test_other(who):
    world = World(who)
    server = furnish(world)
    check(who, world, as_other(), REFUSED + ALLOWED, "somebody else is not root to the judge")
    made = [os.stat(world.path(name)) for name in ("their/new", "their/folder")]
    tap.ok(all((st.st_uid, st.st_gid) == (OTHER, OTHER) for st in made),
           "what they make is theirs", str(made))
    check(who, world, as_other(GROUP), [(("open-read", "groups"), "ok"),
                                        (("open-read", "roots"), "EACCES")], "groups count")
    check(who, world, [], [(("open-read", "roots"), "ok"), (("open-write", "roots"), "ok"),
                           (("stat-path", "closed/file"), "ok"), (("open-read", "nobodys"), "ok")],
          "and root is root")
    server.close()


def test_capabilities(who):
    world = World(who)
    furnish(world).close()
    script = os.path.join(world.top, "script.py")
    with open(script, "w") as f:
        f.write(WITHOUT_CAPABILITIES)
    done = who.boxed(["python3", script, "roots", "nobodys", "theirs"], world,
                     ["--report", "none", "--profile", world.profile(JUDGES)])
    tap.equal(done.out.split(), ["ok", "13", "13"], "root without capabilities has none here either")


def test_turns(who):
    """Root and other users alternate, in parallel."""
    world = World(who)
    furnish(world).close()
    other = " ".join(as_other())
    loop = 'for i in 1 2 3 4 5 6 7 8; do cat roots >/dev/null 2>&1 && echo {0}; done'
    done = who.boxed(["sh", "-c", f"{other} sh -c '{loop.format('bad')}' & {loop.format('good')}; wait"],
                     world, ["--report", "none", "--profile", world.profile(JUDGES)])
    tap.equal(done.out.split(), ["good"] * 8, "each is judged as who it is, in turn")


def test_end(who):
    """After acting as another user, the judge still ends with its parent."""
    world = World(who)
    furnish(world).close()
    mark = str(2000000 + os.getpid())
    child = who.start([who.buckle(), "run", "--report", "none", "--profile", world.profile(JUDGES),
                       "--", *as_other(), "sh", "-c", f"cat everybodys; exec sleep {mark}"],
                      world.inside)
    tap.ok(until(lambda: processes_with(mark), 10), "it runs")
    judge = child_named(child.pid, "buckle-judge")
    time.sleep(0.2)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    tap.ok(until(lambda: not processes_with(mark) and not os.path.exists(f"/proc/{judge}"), 10),
           "and ends with buckle")


def main():
    root = [who for who in people() if who.uid == 0]
    if not root:
        tap.skip("only root can become somebody else")
    for who in root:
        test_other(who)
        test_capabilities(who)
        test_turns(who)
        test_end(who)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
