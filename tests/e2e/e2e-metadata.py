#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judged metadata: if the judge makes stat, access, readlink, xattr and inotify calls, they return the
same as the kernel's, and reveal nothing that the policy denies. Prints TAP.

tests/probe/look.c makes correct and wrong calls and prints their results, which must be the same
whether they are judged or not.
"""

import json
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap
from world import World, check_batch, people, tool

SECONDS = float(os.environ.get("RACE_SECONDS", "0.4" if os.environ.get("SLOW") else "2"))

# Judges every call about reading, and denies none of look.c's calls.
JUDGES = """(version 2)
(allow default)
(deny file-read* file-test-existence (literal "/nonexistent/secret"))
(deny file-read* file-test-existence (regex #"/\\.env$"))
"""
FREE = """(version 1)
(allow default)
"""


def furnish(world, who):
    """Creates the files for look.c."""
    def own(path):
        who.own(path)
        return path

    os.chdir(world.inside)
    try:
        with open("file", "w") as f:
            f.write("contents")
        open("empty", "w").close()
        with open("unreadable", "w") as f:
            f.write("contents")
        os.mkdir("folder")
        open("folder/file", "w").close()
        for name, to in (("link", "file"), ("dangling", "nowhere"), ("loop", "loop"),
                         ("tofolder", "folder"), ("through", "folder/../folder")):
            os.symlink(to, name)
        os.mkfifo("fifo")
        with socket.socket(socket.AF_UNIX) as s:
            s.bind("socket")
        for path in ("file", "folder"):
            os.setxattr(path, "user.one", b"first")
            os.setxattr(path, "user.two", b"")
        for name in os.listdir("."):
            own(name)
        own("folder/file")
        os.chmod("unreadable", 0)
    finally:
        os.chdir("/")


def test_same(who):
    world = World(who)
    furnish(world, who)
    free, judging = world.profile(FREE, "free.sb"), world.profile(JUDGES)

    def look(profile):
        with open(world.path("folder/gone"), "w"):
            who.own(world.path("folder/gone"))
        done = who.boxed([tool("look")], world, ["--report", "none", "--profile", profile])
        return done.out.split("\n") if done.status == 0 else [str(done)]

    # does not compare values that change between runs, such as new files' times
    first, judged, second = look(free), look(judging), look(free)
    steady = [(a, b) for a, b, c in zip(first, judged, second) if a == c]
    different = [line for a, b in steady if a != b for line in ("free:   " + a, "judged: " + b)]
    tap.ok(len(first) == len(judged) and not different and len(steady) > 3000,
           f"{who.name}: judged calls answer as the kernel does ({len(steady)} calls)",
           *(line[:200] for line in different[:30] or judged[:5]))


def test_denied(who):
    """Every form, by every kind of name."""
    world = World(who)
    for name in (".env", "other"):
        with open(world.path(name), "w") as f:
            f.write("secret")
        who.own(world.path(name))
    os.symlink(".env", world.path("link"))
    os.symlink(world.inside, world.path("sub/way"))
    who.own(world.path("link"))
    profile = world.profile(JUDGES)
    names = [".env", "link", world.path(".env"), "sub/../.env", "sub/way/.env", "./.env",
             f"/proc/self/cwd/.env", f"/proc/self/root/{world.path('.env')}", "/proc/self/cwd/link",
             f"/proc/thread-self/cwd/.env"]
    following = ["stat-path", "newfstatat", "newfstatat-empty", "fstat-name", "statx", "statx-empty",
                 "statfs", "access", "access-read", "faccessat", "faccessat2", "open-path", "watch",
                 "open-read", "getxattr", "listxattr"]
    expected = [((call, name), "EPERM") for call in following for name in names]
    expected += [((call, name), "EPERM") for name in (".env", "sub/way/.env", "/proc/self/cwd/.env")
                 for call in ("lstat", "newfstatat-nofollow", "readlink", "readlinkat", "lgetxattr",
                              "readlinkat-empty", "llistxattr", "faccessat2-read")]
    expected += [((call, ".env"), "ENOSYS") for call in ("file-getattr", "listxattrat")]
    expected += [((call, "other"), "ok") for call in following if call != "getxattr"]
    check_batch(who, world, expected, "denied metadata is not revealed", ["--profile", profile])
    done = who.boxed([tool("probe"), "stat-path", ".env"], world,
                     ["--profile", profile, "--report", "json"])
    events = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    reported = [e for e in events if e.get("operation") == "file-read-metadata"]
    tap.ok(len(reported) == 1 and reported[0].get("path") == world.path(".env"),
           f"{who.name}: a denied look is reported with its path", str(events), done.err)


def test_race(who):
    """Names and descriptors that change while they are judged show nothing."""
    world = World(who)
    for name in ("abcd", ".env"):
        with open(world.path(name), "w") as f:
            f.write("secret")
        who.own(world.path(name))
    secret = os.stat(world.path(".env")).st_ino
    done = who.boxed([tool("look"), "abcd", ".env", str(secret), str(SECONDS)], world,
                     ["--report", "none", "--profile", world.profile(JUDGES)], timeout=60)
    tap.ok(done.status == 0 and done.out.startswith("shown 0"),
           f"{who.name}: changing names and numbers show nothing", str(done))


def main():
    for who in people():
        test_same(who)
        test_denied(who)
        test_race(who)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
