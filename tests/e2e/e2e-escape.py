#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways out of the sandbox, each tried by an attacker of tests/escape that knows the sandbox well.

An attacker prints a line for each attempt. Every attempt must fail, except its own work ("own: …"),
which shows that the sandbox still works and allows what it should. The test also checks from outside:
a folder next to the attacker's own must not change, to the nanosecond.

Everything runs as root and as an ordinary user, and in several sandboxes: see tests/lib/escaping.py.
"""

import fcntl
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import fusable  # first: it may start the program again
import races
import slowfs
import tap
from drive import FOLDER
from escaping import FASTER, NO_LANDLOCK, SANDBOXES, SECONDS, USABLE, attack, attempts, wrong
from world import (World, child_named, ended, escape, is_alive, own_processes, people,
                   processes_with, read_until, tool, until)

# ---- other names for the same file ----


def test_ways(who, sandbox):
    for name, least in (("way-proc", 90), ("way-descriptor", 80), ("way-link", 25),
                        ("way-names", 60)):
        attack(who, sandbox, name, least=least)


READS = """(version 1)
(allow default)
(deny file-write* (subpath "{outside}"))
(deny file-read-data (subpath "{outside}"))
"""


def test_reading(who, sandbox):
    attack(who, sandbox, "way-read", least=10, profile=READS)


# ---- the judge ----


def test_wear(who, sandbox):
    attack(who, sandbox, "wear-memory", SECONDS / 2, least=3)
    attack(who, sandbox, "wear-stop", SECONDS / 2, least=3)
    attack(who, sandbox, "wear-fifo", least=7)
    attack(who, sandbox, "wear-limits", least=7)
    attack(who, sandbox, "wear-hunger", least=4)
    if who.uid != 0:  # root has no such limit
        attack(who, sandbox, "wear-forks", least=3, options=["--max-procs", "400"])


# ---- the machine ----


def test_machine(who, sandbox):
    for name, least in (("machine-kernel", 40), ("machine-devices", 3), ("machine-groups", 1),
                        ("machine-self", 12)):
        attack(who, sandbox, name, least=least, places=0)
    if sandbox != "bare":  # without namespaces, init is the host's
        attack(who, sandbox, "machine-first", least=10, places=0)


# Without Landlock, members of a pid namespace may signal each other, which its init ignores; without
# any wall, visible processes have names, but nothing leads into them.
NO_WAY_IN = {"unwalled": re.compile(r"signal"),
             "exposed": re.compile(r"^(where |through its root|its locks)")}


def wrong_about_first(done, sandbox):
    harmless = NO_WAY_IN.get(sandbox)
    return [line for line in wrong(done) if not (harmless and harmless.search(line))]


def test_first(who, sandbox):
    """Attacks init, repeatedly, from the command's first moment on."""
    flags, env = (SANDBOXES | NO_LANDLOCK)[sandbox]
    met, tried = [], 0
    # with a network it also sets up the namespace, until just before the command starts
    for more in ([], [], [], ["--allow-net", "a.test"], ["--allow-net", "a.test"]):
        done = who.boxed(escape("first", SECONDS / 20), World(who), [*flags, *more, "--report", "none"],
                         env=env)
        met += wrong_about_first(done, sandbox) + ([done] if done.status else [])
        tried += len(attempts(done))
    tap.ok(not met and tried >= 5 * 30, f"{who.name}, {sandbox}: first: {tried} attempts failed", *met)


def read_or_nothing(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


RECVFROM = {"x86_64": "45", "aarch64": "207"}[os.uname().machine]


def run_held(who, flags, env):
    """A run whose init is stopped while it waits for the last order, with all its capabilities."""
    world = World(who)
    # many flags keep the judge busy with the policy
    busy = [f"--deny-write={world.outside}/{n}/*.{n}" for n in range(1000)]
    child = who.start([who.buckle(), "run", *flags, *busy, "--report", "none", "--",
                       *escape("first", SECONDS / 4)], world.inside, env=env)
    first = None
    while not first and child.poll() is None:
        first = child_named(child.pid, "buckle-init")
    if until(lambda: read_or_nothing(f"/proc/{first}/syscall").split(" ")[0] == RECVFROM, 1):
        os.kill(first, signal.SIGSTOP)
    return ended(child, 20)


def test_first_held(who, sandbox):
    """init drops its capabilities on the judge's order, around the time when the command starts. Here
    it is stopped just before, and the command has plenty of time to attack it."""
    if sandbox in ("bare", "exposed", "asked"):
        return  # it is the host's, or must set up the network first
    flags, env = (SANDBOXES | NO_LANDLOCK)[sandbox]
    label = f"{who.name}, {sandbox}: first, held"
    for _ in range(20):
        done = run_held(who, flags, env)
        able = re.search(r"^late CapPrm:\s*([0-9a-f]+)", done.out, re.M)
        if able and bin(int(able[1], 16)).count("1") > 30:
            break
    tap.ok(able and bin(int(able[1], 16)).count("1") > 30, f"{label}: it was met with its rights", done)
    met = wrong_about_first(done, sandbox)
    tap.ok(done.status == 0 and len(attempts(done)) >= 30 and not met, label, *met, done)


def test_bystander(who, sandbox):
    mark = f"bystander-{who.name}-{sandbox}"
    other = who.start(["sh", "-c", "sleep 300; :", mark], who.home)
    try:
        attack(who, sandbox, "machine-bystander", other.pid, mark, places=0)
        tap.ok(other.poll() is None, f"{who.name}, {sandbox}: the bystander has not noticed")
    finally:
        other.kill()
        other.wait()


def test_traced(who, sandbox):
    """The command cannot trace outside processes of the same user, but can trace its own children."""
    flags, env = (SANDBOXES | NO_LANDLOCK)[sandbox]
    mark = f"traced-{who.name}-{sandbox}"
    other = who.start(["sh", "-c", "sleep 300; :", mark], who.home)
    try:
        done = who.boxed(escape("machine-bystander", other.pid, mark), World(who),
                         [*flags, "--report", "none"], env=env)
    finally:
        other.kill()
        other.wait()
    tap.ok(done.status == 0 and not wrong(done), f"{who.name}, {sandbox}: nobody outside is traced",
           *wrong(done), done)
    done = who.boxed(escape("first-trace-own"), World(who), [*flags, "--report", "none"], env=env)
    tap.ok(done.status == 0 and not wrong(done) and attempts(done),
           f"{who.name}, {sandbox}: a child that asks for it is", *wrong(done), done)


def test_supervisors(who, sandbox):
    """Buckle's own processes, by their outside pids: nobody inside sees them, and they continue."""
    world = World(who)
    flags, env = USABLE[sandbox]
    script = (f"echo ready; while read pid; do {tool('escape')} machine-bystander $pid buckle; done; "
              "echo x >made && echo own: still there: ok")
    child = who.start([who.buckle(), "run", *flags, "--report", "none", "--profile",
                       world.profile(READS), "--", "sh", "-c", script], world.inside, env=env,
                      stdin=subprocess.PIPE)
    read_until(child.stdout, "ready")
    pids = own_processes(child.pid)
    done = ended(child, given="".join(f"{pid}\n" for pid in pids).encode())
    seen = done.out.count("in sight")
    label = f"{who.name}, {sandbox}"
    tap.ok(done.status == 0 and not wrong(done) and "own: still there: ok" in done.out,
           f"{label}: Buckle's {len(pids)} processes are out of reach", *wrong(done), done)
    tap.ok(len(pids) >= 2 and seen == 0, f"{label}: none of them can be seen", pids, done)


# ---- terminals ----


def test_terminal(who, sandbox):
    """The command's own terminal, and another one of the same user."""
    world = World(who)
    flags, env = USABLE[sandbox]
    (master, own), (elsewhere, other) = pty.openpty(), pty.openpty()
    who.own(os.ttyname(own), os.ttyname(other))
    os.write(elsewhere, b"password\n")
    child = who.start([who.buckle(), "run", *flags, "--report", "none", "--",
                       *escape("machine-terminal", os.ttyname(other))], world.inside, env=env,
                      stdin=own, start_new_session=True,
                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    done = ended(child)
    met = [line for line in wrong(done, sandbox)
           if sandbox != "bare" or not line.startswith("another's: ")]  # needs a mount namespace
    label = f"{who.name}, {sandbox}: machine-terminal"
    tap.ok(done.status == 0 and len(attempts(done)) == 13 and not met, label, *met, done)
    tap.equal(os.read(other, 99), b"password\n", f"{label}: what was typed elsewhere is still there")
    for fd in (master, own, elsewhere, other):
        os.close(fd)


# ---- descriptors from outside ----


def test_passed(who, sandbox):
    """Files that an outside process passes in are as protected as by name."""
    world = World(who)
    flags, env = USABLE[sandbox]
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(world.path("socket"))
        who.own(world.path("socket"))
        server.listen()
        profile = world.profile(races.TO_OWN_SERVER)
        child = who.start([who.buckle(), "run", *flags, "--report", "none", "--profile", profile, "--",
                           *escape("way-passed", world.path("socket"))], world.inside, env=env)
        server.settimeout(10)
        peer = server.accept()[0]
        held = [os.open(world.outside, os.O_RDONLY), os.open(world.outside, os.O_PATH),
                os.open(world.out("victim"), os.O_RDONLY), os.open(world.out("victim"), os.O_PATH)]
        socket.send_fds(peer, [b"x"], held)
        done = ended(child)
        peer.close()
    label = f"{who.name}, {sandbox}: way-passed"
    tap.ok(done.status == 0 and len(attempts(done)) > 40 and not wrong(done, sandbox),
           f"{label}: {len(attempts(done))} attempts failed", *wrong(done, sandbox), done)
    tap.ok(world.intact(attributes=sandbox != "walls"), f"{label}: nothing outside changed")
    for fd in held:
        os.close(fd)


# ---- races ----


def test_races(who, sandbox):
    """All races of trap 4, each for a shorter time, for all users and in every sandbox. Without a judge,
    attributes and Unix sockets are open."""
    flags, env = USABLE[sandbox]
    how = {"options": flags, "env": env}
    for name in races.FILES:
        if sandbox != "walls" or name != "race-fd":  # which is about attributes
            races.race(who, name, SECONDS / 5, f"{who.name}, {sandbox}: {name}",
                       attributes=sandbox != "walls", **how)
    for name in races.SOCKETS if sandbox != "walls" else ():
        races.race_to_server(who, name, SECONDS / 5, f"{who.name}, {sandbox}: {name}", **how)


# ---- reports ----


def test_counts(who, sandbox):
    """Every denial is reported exactly once, however many threads cause them."""
    world = World(who)
    flags, env = USABLE[sandbox]
    each, threads = 500, 16
    done = who.boxed(escape("wear-denies", world.inside, world.outside, threads, each), world,
                     [*flags, "--report", "json"], timeout=120, env=env)
    reported = 0
    for line in done.err.splitlines():
        if line.startswith("{") and json.loads(line)["path"] == world.out("victim"):
            reported += 1
    tap.ok(reported == each * threads + 1 and not wrong(done),
           f"{who.name}, {sandbox}: {each * threads + 1} denials, as many reported", reported,
           *wrong(done), done.err[:2000])


# ---- other file systems ----


def mount(kind, options, place):
    os.makedirs(place)
    return subprocess.run(["mount", "-t", kind, "-o", options, kind, place],
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def test_file_systems(who):
    """Paths mean the same on file systems that invent inodes and device numbers."""
    if os.geteuid() != 0:
        tap.skip("needs root to mount file systems")
        return
    for kind in ("tmpfs", "overlay"):
        place = os.path.join(FOLDER, f"{kind}-{who.name}")
        lower = os.path.join(FOLDER, f"layers-{kind}-{who.name}")
        options = "size=16m"
        if kind == "overlay":
            os.makedirs(lower)
            if not mount("tmpfs", "size=16m", os.path.join(lower, "upper-fs")):
                continue
            for name in ("lower", "upper-fs/upper", "upper-fs/work"):
                os.makedirs(os.path.join(lower, name))
            options = (f"lowerdir={lower}/lower,upperdir={lower}/upper-fs/upper,"
                       f"workdir={lower}/upper-fs/work")
        if not mount(kind, options, place):
            tap.skip(f"{kind} cannot be mounted here")
            continue
        try:
            os.chmod(place, 0o755)
            for name in ("way-proc", "way-descriptor", "way-link", "way-names"):
                attack(who, "usual", name, least=20, top=place)
        finally:
            subprocess.run(["umount", "-l", place], check=False)
            if kind == "overlay":
                subprocess.run(["umount", "-l", os.path.join(lower, "upper-fs")], check=False)


# ---- the processes around it ----


def test_stopped(who, sandbox):
    """While the judge is stopped, judged calls wait and nothing gets through; killing the controller
    then ends all of them."""
    world = World(who)
    flags, env = USABLE[sandbox]
    marker = f"stopped-{who.name}-{sandbox}"
    script = ("echo ready; while :; do echo x > made; echo x > '" + world.out("victim") +
              "'; done 2>/dev/null")
    child = who.start([who.buckle(), "run", *flags, "--report", "none", "--", "sh", "-c", script,
                       marker], world.inside, env=env)
    read_until(child.stdout, "ready")
    judge = child_named(child.pid, "buckle-judge")
    tap.ok(judge, f"{who.name}, {sandbox}: there is a judge")
    if not judge:
        child.kill()
        return
    for _ in range(20):
        os.kill(judge, signal.SIGSTOP)
        time.sleep(0.01)
        os.kill(judge, signal.SIGCONT)
    os.unlink(world.path("made"))
    tap.ok(until(lambda: os.path.exists(world.path("made"))),
           f"{who.name}, {sandbox}: the command goes on with a judge that was stopped")
    os.kill(judge, signal.SIGSTOP)
    child.kill()
    child.communicate(timeout=10)
    tap.ok(until(lambda: not processes_with(marker) and not is_alive(f"/proc/{judge}"))
           and world.intact(),
           f"{who.name}, {sandbox}: killing Buckle ends a stopped judge and the command")


INSIST = (": >>got; echo ready; while :; do echo x >made; echo x >'{victim}'; cat '{victim}'; "
          "done 2>/dev/null >>got")


def insisting(who, sandbox, marker):
    """A command that writes where allowed, and tries to write and read where denied."""
    world = World(who)
    flags, env = USABLE[sandbox]
    child = who.start([who.buckle(), "run", *flags, "--report", "none", "--profile",
                       world.profile(READS), "--", "sh", "-c",
                       INSIST.format(victim=world.out("victim")), marker], world.inside, env=env)
    read_until(child.stdout, "ready")
    return world, child


def test_each_stopped(who, sandbox):
    """Stops each of Buckle's processes for a moment; the command continues afterwards."""
    world, child = insisting(who, sandbox, f"each-stopped-{who.name}-{sandbox}")
    pids = own_processes(child.pid)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)
        os.kill(pid, signal.SIGCONT)
    os.unlink(world.path("made"))
    goes_on = until(lambda: os.path.exists(world.path("made")))
    child.terminate()
    child.communicate(timeout=10)
    tap.ok(goes_on and world.intact() and os.path.getsize(world.path("got")) == 0,
           f"{who.name}, {sandbox}: {len(pids)} processes of Buckle's were stopped for a while")


def test_each_killed(who, sandbox):
    """Kills each of Buckle's processes in turn; neither the command nor the others survive."""
    number = 0
    while True:
        marker = f"each-killed-{number}-{who.name}-{sandbox}"
        world, child = insisting(who, sandbox, marker)
        pids = own_processes(child.pid)
        os.kill(pids[number], signal.SIGKILL)
        try:
            child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        gone = until(lambda: not processes_with(marker)
                     and not any(is_alive(f"/proc/{pid}") for pid in pids))
        tap.ok(gone and child.returncode != 0 and world.intact()
               and os.path.getsize(world.path("got")) == 0,
               f"{who.name}, {sandbox}: killing process {number + 1} of {len(pids)} ends all",
               child.returncode, pids, processes_with(marker))
        for stream in (child.stdout, child.stderr):
            stream.close()
        number += 1
        if number >= len(pids):
            return


# ---- stretched races ----


def test_slow(who, sandbox):
    """A path on a slow page changes while the judge reads it. The delay is short, because all processes
    of the sandbox wait for the same judge."""
    if os.geteuid() != 0 or not fusable.usable():
        tap.skip("mounting a slow file system takes root and /dev/fuse")
        return
    world = World(who)
    flags, env = USABLE[sandbox]
    label = f"{who.name}, {sandbox}: race-slow"
    slow = slowfs.SlowPage(world.path("slow"), b"victim", 0.005)
    with slow as page:
        words = escape("race-slow", SECONDS / 2, world.inside, world.outside, page)
        done = who.boxed(words, world, [*flags, "--report", "none"], timeout=SECONDS + 60, env=env)
    reported = dict(line.split(" ", 1) for line in done.out.splitlines() if " " in line)
    tap.ok(done.status == 0 and int(reported.get("passed", 0)) > 0 and int(reported.get("refused", 0)) > 0,
           f"{label}: both names were met", done)
    tap.ok(slow.looks > 20, f"{label}: and each was waited for", slow.looks)
    tap.ok(world.intact(), f"{label}: nothing outside changed", world.before)


TESTS = [test_slow, test_races, test_ways, test_passed, test_reading, test_wear, test_machine,
         test_first, test_first_held, test_bystander, test_supervisors, test_terminal, test_counts,
         test_stopped, test_each_stopped, test_each_killed]
WALLED = [test_races, test_ways, test_machine, test_first, test_first_held, test_bystander,
          test_supervisors, test_terminal]
UNWALLED = [test_first, test_first_held, test_traced]
QUICK = [test_slow, test_races, test_ways, test_reading, test_wear, test_machine, test_bystander,
         test_counts]


def tests_of(sandbox):
    return UNWALLED if sandbox in NO_LANDLOCK else WALLED if sandbox == "walls" else TESTS


def test_faster(everybody):
    for who in everybody:
        for sandbox in FASTER:
            for test in QUICK:
                test(who, sandbox)
    return tap.done()


def main():
    everybody = people()
    chosen = sys.argv[1:]
    if chosen == ["faster"]:
        return test_faster(everybody)
    for who in everybody:
        for sandbox in SANDBOXES | NO_LANDLOCK:
            for test in tests_of(sandbox):
                if not chosen or test.__name__ in chosen or sandbox in chosen:
                    test(who, sandbox)
        if not chosen or "test_file_systems" in chosen:
            test_file_systems(who)
    return tap.done()


sys.exit(main())
