#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""procfs through the judge, which can inspect more processes than the command can, above all itself.
Prints TAP. Nothing is written: the tests only check whether a file opens for writing.
"""

import os
import select
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap
from world import World, check_batch, child_named, people, tool

# Judges every call about files, and denies next to nothing.
JUDGES = """(version 1)
(allow default)
(deny file-read* file-write* (regex #"/\\.env$"))
"""
REPORTED = ("ok", "EISDIR")  # results that mean a successful attack


class Asked:
    """A probe in a sandbox, driven from outside, where the pids are known."""

    def __init__(self, who, world, profile, before=(), env=None):
        argv = [*before, who.buckle(), "run", "--report", "none", "--profile", world.profile(profile),
                "--", tool("probe"), "--batch"]
        self.child = who.start(argv, world.inside, env=env, stdin=subprocess.PIPE)
        self.buckle = self.child.pid
        self.ask("stat-path", "/")  # it runs
        self.judge = child_named(self.buckle, "buckle-judge")

    def ask(self, *words):
        try:
            self.child.stdin.write(("\t".join(map(str, words)) + "\n").encode())
            self.child.stdin.flush()
        except OSError:
            return "gone"
        ready = select.select([self.child.stdout], [], [], 20)[0]
        return self.child.stdout.readline().decode().strip() if ready else "no answer"

    def end(self):
        self.child.stdin.close()
        self.child.wait(20)
        return self.child.stderr.read().decode(errors="replace")


def entries(pid):
    """Files of a process that would expose it."""
    return [f"{pid}/{name}" for name in ("mem", "environ", "root/etc/passwd", "cwd", "exe", "fd/3",
            "fd/4", "fd/5", "fd/6", "fd/7", "fd", "task", f"task/{pid}/mem", "maps", "auxv",
            "root", "map_files", "status", "ns/mnt")]


OPENS = ("open-read", "open-write", "open-rdwr", "openat-read", "stat-path", "lstat", "access-read",
         "readlink", "open-path", "watch", "getxattr")


def attack(asked, proc, pids):
    """Tries every way to open and inspect protected files. Returns the results of those that worked."""
    worked = []
    for pid in pids:
        for name in entries(pid):
            for call in OPENS:
                came = asked.ask(call, f"{proc}/{name}")
                if came in REPORTED or came in ("gone", "no answer", "ENODATA"):
                    worked.append(f"{call} {proc}/{name}: {came}")
    return worked


def test_other_instance(who):
    """A procfs mounted elsewhere, as for a chroot, contains Buckle's own processes."""
    if os.geteuid() != 0:
        tap.skip("mounting another procfs takes root")
        return
    world = World(who)
    proc = os.path.join(world.top, "proc")
    os.mkdir(proc)
    become = ["setpriv", f"--reuid={who.uid}", f"--regid={who.uid}", "--clear-groups"]
    before = ["unshare", "--mount", "sh", "-c", f'mount -t proc proc {proc} && exec "$@"', "sh",
              *(become if who.uid else [])]
    by_root = type(who).__new__(type(who))
    by_root.__dict__.update(who.__dict__, uid=0)
    asked = Asked(by_root, world, JUDGES, before)
    pids = [asked.judge, asked.buckle, "self", "thread-self", os.getpid(), 1]
    tap.ok(asked.judge, f"{who.name}: the judge is there")
    worked = attack(asked, proc, pids)
    tap.ok(not worked, f"{who.name}: nothing is reached through another procfs", *worked[:20])
    tap.equal(asked.ask("open-read", "/proc/self/status"), "ok",
              f"{who.name}: and its own is there as before")
    asked.end()


def test_without_namespace(who):
    """Without a pid namespace, command and judge see the same /proc."""
    world = World(who)
    asked = Asked(who, world, JUDGES, env={"BUCKLE_PRETEND": "mount_proc=0"})
    tap.ok(asked.judge, f"{who.name}: without a pid namespace: the judge is there")
    worked = attack(asked, "/proc", [asked.judge, asked.buckle, os.getpid()])
    tap.ok(not worked, f"{who.name}: without a pid namespace: others are out of reach",
           *worked[:20])
    fine = [("open-read", f"/proc/{name}") for name in
            ("self/status", "thread-self/status", "self/fd/0", "net/dev", "self/net/dev", "mounts",
             "./self/status", "self/root/etc/passwd", "self/cwd", "cpuinfo", "stat", "meminfo",
             "sys/kernel/ostype", "self/task", "self/environ", "../proc/self/maps")]
    fine += [("readlink", "/proc/self/exe"), ("readlink", "/proc/self"), ("stat-path", "/proc/self"),
             ("open-rdwr", "/proc/self/mem"), ("open-read", "/dev/fd/0"), ("lstat", "/proc/net")]
    wrong = [f"{' '.join(words)}: {came}" for words in fine
             for came in [asked.ask(*words)] if came != "ok"]
    tap.ok(not wrong, f"{who.name}: without a pid namespace: its own entries are there", *wrong)
    asked.end()


def test_own(who):
    """In the sandbox's own /proc, every link to a file is judged as that file."""
    world = World(who)
    with open(world.path(".env"), "w") as f:
        f.write("secret")
    who.own(world.path(".env"))
    ways = ["/proc/self/cwd/.env", "/proc/thread-self/cwd/.env", f"/proc/self/root{world.path('.env')}",
            "/proc/self/task/../cwd/.env", "/proc/./self/cwd/.env", "/proc/2/cwd/.env",
            "/proc/2/root" + world.path(".env"), "/proc/1/cwd/../proc/2/cwd/.env"]
    denied = [((call, way), "EPERM") for way in ways[:-1] for call in
              ("open-read", "open-write", "stat-path", "access-read", "open-path", "watch")]
    check_batch(who, world, denied, "links of procfs lead around nothing",
                ["--profile", world.profile(JUDGES)])
    machine = ["sysrq-trigger", "irq/default_smp_affinity", "sys/kernel/core_pattern",
               "sys/kernel/modprobe", "sys/kernel/sysrq", "mtrr"]
    machine = [name for name in machine if os.path.exists("/proc/" + name)]
    asked = Asked(who, world, JUDGES)
    worked = [f"{call} {name}: {came}" for name in machine for call in ("open-write", "openat-rdwr")
              for came in [asked.ask(call, "/proc/" + name)] if came in REPORTED]
    tap.ok(not worked and machine, f"{who.name}: what rules the machine does not open for writing",
           *worked)
    static = ["cpuinfo", "meminfo", "stat", "loadavg", "filesystems", "version", "uptime", "mounts",
              "net/dev", "sys/kernel/ostype", "self/status", "self/maps", "self/mountinfo"]
    wrong = [f"{name}: {came}" for name in static
             for came in [asked.ask("open-read", "/proc/" + name)] if came != "ok"]
    tap.ok(not wrong, f"{who.name}: what everybody may know can be read", *wrong)
    asked.end()


def main():
    for who in people():
        test_own(who)
        test_other_instance(who)
        test_without_namespace(who)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
