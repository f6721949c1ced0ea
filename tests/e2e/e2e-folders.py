#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge keeps callers' working folders from call to call. Whatever moves a caller, its calls are made where it is. Prints TAP.

    tests/e2e/e2e-folders.py

The attempts are in tests/escape/like-folders.c. As root, an ordinary user makes them as well.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap
from processes import command_name, descendants
from world import World, child_named, escape, people, until

FEW = ["--report", "none"]
LAST = "/proc/sys/kernel/ns_last_pid"


def alike(who, what, options, **how):
    bare = World(who)
    done = who.run(escape("like-folders"), bare.inside)
    boxed = who.boxed(escape("like-folders"), World(who), [*FEW, *options], **how)
    differ = [f"bare {a!r}, boxed {b!r}" for a, b in zip(done.out.splitlines(), boxed.out.splitlines()) if a != b]
    tap.ok(done.out == boxed.out and len(done.out.splitlines()) > 50 and boxed.status == done.status == 0,
           f"{who.name}: {what}: every call is made where its caller is", *differ, boxed)
    tap.ok("elsewhere" not in boxed.out and boxed.lines().get("in a folder that a thread had left") == "0",
           f"{who.name}: {what}: and nowhere else", boxed)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


class Heir:
    """A process of the sandbox, whose children shall get the number of one that has ended."""

    def __init__(self, who):
        self.child = who.start([who.buckle(), "run", *FEW, "--", *escape("like-heir")], World(who).inside, stdin=subprocess.PIPE)
        self.heard = []

    def hear(self, what):
        while not self.heard or self.heard[-1] not in (what, ""):
            self.heard.append(self.child.stdout.readline().decode().rstrip("\n"))
        return self.heard[-1] == what

    def say(self, what):
        self.child.stdin.write(what)
        self.child.stdin.flush()

    def first(self):
        """The attacker's first process."""
        inside = [p for p in descendants(self.child.pid) if command_name(p) == "escape"]
        return next(p for p in inside if children_of(p))

    def inherit(self, number):
        """Whether a child got the number."""
        first = self.first()
        heir, = children_of(first)
        for _ in range(200):
            with open(LAST, "w", encoding="ascii") as f:
                f.write(str(number - 1))
            self.say(b"f")
            self.hear("forked")
            met = children_of(heir) == [number]
            self.say(b"y" if met else b"n")
            if met:
                return True
            self.hear("again")
            time.sleep(0.001)
        return False


def same_number(who):
    """A number that is used again is another process, with another working folder."""
    if os.geteuid() != 0:
        return
    it = Heir(who)
    it.hear("owner")
    owner = children_of(it.first())[-1]
    it.say(b"e")
    it.hear("heir")
    gone = until(lambda: not os.path.exists(f"/proc/{owner}"), 30)
    met = it.inherit(owner)
    out, err = it.child.communicate(timeout=30)
    shown = [line for line in out.decode().splitlines() if line.startswith("with its number")]
    tap.ok(gone and met and shown == [f"with its number, {i}: in 1" for i in range(3)],
           f"{who.name}: the next owner of a process's number works in its own folder", met, it.heard[-9:], shown, err[-300:])


def held(who, world, folder):
    """What the judge holds in that folder, after calls that were made there."""
    child = who.start([who.buckle(), "run", *FEW, "--", "sh", "-c", f"cd {folder}; for i in 1 2 3 4; do : > made; done; echo ready; read end"],
                      world.inside, stdin=subprocess.PIPE)
    ready = child.stdout.readline() == b"ready\n"
    judge = child_named(child.pid, "buckle-judge")
    links = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{judge}/fd") if os.path.islink(entry.path)] if ready and judge else None
    child.communicate(timeout=30)
    return links and [link for link in links if link.startswith(world.path(folder))]


def other_mounts(who):
    """A folder that is kept would keep its file system busy."""
    if os.geteuid() != 0:
        return
    world = World(who)
    os.mkdir(world.path("disk"))
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=777", "tmpfs", world.path("disk")], capture_output=True, check=False).returncode:
        tap.skip("tmpfs cannot be mounted here")
        return
    try:
        tap.equal(held(who, world, "sub"), [world.path("sub")], f"{who.name}: a folder on the file system where the run was started is kept")
        tap.equal(held(who, world, "disk"), [], f"{who.name}: one on another is not")
    finally:
        subprocess.run(["umount", "-l", world.path("disk")], check=False)


def unreported(who):
    """Start-up code changes its folder without a report. A program that does the same misleads nobody else."""
    world = World(who)
    done = who.boxed(escape("way-unreported", world.inside, world.outside), world, FEW)
    tap.ok(done.status == 0 and done.out.count("create: ok") >= 3 and world.intact(), f"{who.name}: an unreported change gains nothing", done)


def main():
    for who in people():
        other_mounts(who)
        alike(who, "usual", [])
        alike(who, "user namespaces", ["--allow-userns"])
        alike(who, "no pid namespace", [], env={"BUCKLE_PRETEND": "mount_proc=0"})
        same_number(who)
        unreported(who)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
