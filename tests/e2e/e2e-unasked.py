#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls that do more than their names say, tried by attackers of tests/escape (see e2e-escape.py): modes
that run programs with other rights, devices left by a move, ioctls through read-only descriptors, disks
below the files, core dumps, a terminal's foreground.
"""

import contextlib
import errno
import json
import os
import pty
import resource
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from drive import FOLDER
from escaping import NO_LANDLOCK, SANDBOXES, attack, attempts, wrong
from machine import disk, may_set_pattern, pattern
from world import World, ended, escape, people, until

OPEN = "(version 1)\n(allow default)\n"


# ---- modes, and devices left by a move ----


def test_modes(who, sandbox):
    if sandbox != "walls":  # where modes are allowed, as the plan says
        attack(who, sandbox, "unasked-modes", least=21, places=0)
        attack(who, sandbox, "unasked-modes", least=21, places=0, profile=OPEN)


def test_whiteout(who, sandbox):
    attack(who, sandbox, "unasked-whiteout", least=4, places=0)


# ---- ioctls ----


def test_orders(who, sandbox):
    attack(who, sandbox, "unasked-orders", least=58)
    attack(who, sandbox, "unasked-leases", least=5)


def test_migrated(who, sandbox):
    """A file with an old block map: a read-only descriptor suffices to migrate it."""
    world = World(who)
    old = world.out("victim")
    changed = subprocess.run(["chattr", "-e", old], stderr=subprocess.DEVNULL, check=False)
    if changed.returncode != 0:
        tap.skip("this file system has one way to list blocks")
        return
    before = subprocess.run(["lsattr", old], stdout=subprocess.PIPE, check=True).stdout
    flags, env = SANDBOXES[sandbox]
    done = who.boxed(escape("unasked-orders", world.inside, world.outside), world,
                     [*flags, "--report", "json"], env=env)
    after = subprocess.run(["lsattr", old], stdout=subprocess.PIPE, check=True).stdout
    label = f"{who.name}, {sandbox}: blocks of a file that can be read"
    tap.equal(after, before, f"{label} stay as they are")
    reported = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    tap.ok(sandbox == "walls" or any(e["path"] == old and e["operation"] == "file-ioctl" for e in reported),
           f"{label}: and it is reported", done)


# ---- disks ----


def check_disk(who, label, names, options, env):
    world = World(who)
    done = who.boxed(escape("unasked-disks", ":".join(names)), world, options, env=env)
    tap.ok(done.status == 0 and len(attempts(done)) == 4 * len(names) + 5 and not wrong(done), label,
           *wrong(done), done)
    return done


def test_disks(who, sandbox, names):
    flags, env = (SANDBOXES | NO_LANDLOCK)[sandbox]
    label = f"{who.name}, {sandbox}: disks"
    done = check_disk(who, f"{label} are closed", names, [*flags, "--report", "json"], env)
    reported = {json.loads(line)["path"] for line in done.err.splitlines() if line.startswith("{")}
    judged = sandbox in ("asked", "bare", "exposed")
    tap.ok(not judged or set(names) <= reported, f"{label}: and where reading is judged it is reported", reported)


def test_disk_profiles(who, names):
    """Shipped profiles, and every policy that denies reading."""
    world = World(who)
    raw, settings = world.profile(OPEN), os.path.join(world.top, "settings.json")
    with open(settings, "w") as f:
        json.dump({"filesystem": {"denyRead": [world.outside]}}, f)
    ways = [["--profile", name] for name in ("readonly", "strict", "open", "no-write", "no-network",
                                             "no-internet", "no-write-except-temporary")]
    ways += [["--strict-reads"], ["--grantable"], ["--deny-read", world.outside],
             ["--profile", raw, "--deny-read", world.outside],
             ["--profile", raw, "--strict-reads", "--deny-read", world.outside],
             ["--no-settings", "--settings", settings]]
    for flags in ways:
        check_disk(who, f"{who.name}: disks are closed with {' '.join(flags)}", names,
                   [*flags, "--report", "none"], {})
    for flags in (["--allow-read", names[0]], ["--allow-write", names[0]],
                  ["--profile", raw, "--deny-read", world.outside, "--allow-read", names[0]]):
        done = who.boxed(["head", "-c", "6", names[0]], World(who), [*flags, "--report", "none"])
        tap.ok(done.out == "secret", f"{who.name}: {' '.join(flags)} opens the one that it names", done)
    done = who.boxed(["head", "-c", "6", names[0]], World(who), ["--profile", raw, "--report", "none"])
    tap.ok(done.out == "secret", f"{who.name}: a profile that allows everything does", done)


# ---- core dumps ----

def unlimited():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def crash(who, world, flags=None, env=None, script=None):
    """An attacker that crashes, in a sandbox or, without flags, in none."""
    words = escape("unasked-crash") if script is None else ["sh", "-c", script]
    argv = words if flags is None else [who.buckle(), "run", *flags, "--report", "none", "--", *words]
    return ended(who.start(argv, world.inside, env=env, preexec_fn=unlimited))


def cores(folder):
    return [name for name in os.listdir(folder) if name.startswith("core")]


def test_core_files(who, sandbox):
    flags, env = SANDBOXES[sandbox]
    label = f"{who.name}, {sandbox}: core dumps"
    with pattern("core.%p"):
        free, world, wanted = World(who), World(who), World(who)
        crash(who, free)
        tap.ok(cores(free.inside), f"{label}: there is a file without Buckle")
        done = crash(who, world, flags, env)
        tap.ok(done.status != 0 and not cores(world.inside), f"{label}: none in the sandbox",
               cores(world.inside), done)
        done = crash(who, wanted, [*flags, "--core-dumps"], env)
        tap.ok(cores(wanted.inside), f"{label}: unless it is wanted", done)


def test_core_handler(who, sandbox):
    """A core handler runs outside as root, and would get the command's memory."""
    flags, env = SANDBOXES[sandbox]
    label = f"{who.name}, {sandbox}: the handler of core dumps"
    log = os.path.join(FOLDER, f"handled-{who.name}-{sandbox}")
    handler = log + ".sh"
    with open(handler, "w") as f:
        # the pattern is the whole machine's: other tests' programs crash, too
        f.write(f'#!/bin/sh\n[ "$1" = escape ] && echo handled >>{log}\ncat >/dev/null\n')
    os.chmod(handler, 0o755)
    with pattern(f"|{handler} %e"):
        crash(who, World(who))
        tap.ok(until(lambda: os.path.exists(log)), f"{label} runs without Buckle")
        os.unlink(log)
        done = crash(who, World(who), flags, env)
        tap.ok(done.status != 0 and not until(lambda: os.path.exists(log), 0.5),
               f"{label} is not started", done)
        lowered = "ulimit -S -c 0; ulimit -c 0; " + " ".join(escape("unasked-crash"))
        crash(who, World(who), flags, env, lowered)
        tap.ok(not until(lambda: os.path.exists(log), 0.5), f"{label}: nor with a limit of 0")


def test_core_folder(who):
    """If the core pattern is an absolute path, TMPDIR replaces its folder."""
    folder = os.path.join(FOLDER, f"cores-{who.name}")
    os.makedirs(folder)
    os.chmod(folder, 0o777)
    with pattern(f"{folder}/core.%e"):
        done = crash(who, World(who), ["--core-dumps"], None,
                     " ".join(escape("unasked-crash")) + "; ls $TMPDIR")
    tap.ok("core.escape" in done.out and not os.listdir(folder),
           f"{who.name}: core dumps that are wanted go to TMPDIR", os.listdir(folder), done)


def test_core_socket(who):
    """Not promised: a core socket gets the dump, whatever the limit."""
    kernel = tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2])
    if kernel < (6, 16):
        return
    world = World(who)
    path = os.path.join(world.top, "cores")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        server.settimeout(10)
        try:
            with pattern("@" + path):
                child = who.start([who.buckle(), "run", "--report", "none", "--",
                                   *escape("unasked-crash")], world.inside)
                peer = server.accept()[0]
                got = peer.recv(4)
                peer.close()
                ended(child)
        except OSError as gone:
            if gone.errno != errno.EINVAL:
                raise
            tap.skip("sockets for core dumps are set in the machine's first mount namespace")
            return
    tap.equal(got, b"\x7fELF", f"{who.name}: a socket for core dumps is given one")


# ---- the terminal's foreground ----

# Leads a session with a terminal, as a shell does, and starts a job in it: one that starts the command
# in its own process group and reads from the terminal meanwhile ("shared"), the same without passing on
# the terminal ("null"); or the command itself, in the background or in the foreground ("job"). Prints
# what the job read, whether an outside process is stopped, and which group has the foreground afterwards.
LEADER = """
import fcntl, os, signal, subprocess, sys, termios, time
tty, how = os.open(sys.argv[1], os.O_RDWR), sys.argv[2]
fcntl.ioctl(tty, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
words = [word.replace("LEADER", str(os.getpgrp())) for word in sys.argv[3:]]
reads = "import os,subprocess,sys; p=subprocess.Popen(sys.argv[2:],stdin=int(sys.argv[1])); " \
        "print('read', os.read(2, 99)); sys.stdout.flush(); p.wait()"
if how in ("shared", "null"):
    null = os.open("/dev/null", os.O_RDWR)
    words = [sys.executable, "-c", reads, "0" if how == "shared" else str(null), *words]
    job = subprocess.Popen(words, stdin=tty, stderr=tty, pass_fds=[null], preexec_fn=os.setpgrp)
else:
    job = subprocess.Popen(words, stdin=tty, preexec_fn=os.setpgrp)
ours = os.getpgrp() if how == "background" else job.pid
os.tcsetpgrp(tty, ours)
moved, stopped, end = False, 0, time.time() + 20
while time.time() < end:
    pid, status = os.waitpid(job.pid, os.WNOHANG | os.WUNTRACED)
    if pid and not os.WIFSTOPPED(status):
        break
    with open(f"/proc/{job.pid}/stat") as f:
        stopped = stopped + 1 if f.read().rsplit(")", 1)[1].split()[0] == "T" else 0
    if stopped > 100:
        os.killpg(job.pid, signal.SIGKILL)
    moved |= os.tcgetpgrp(tty) != ours
    time.sleep(0.01)
print("moved" if moved else "stayed", "stopped" if stopped > 100 else "running",
      "ours" if os.tcgetpgrp(tty) == ours else "theirs")
"""


def lead(who, how, argv, env):
    """The terminal's foreground afterwards, and the attacker's results."""
    master, slave = pty.openpty()
    who.own(os.ttyname(slave))
    child = who.start(["/usr/bin/python3", "-c", LEADER, os.ttyname(slave), how, *argv],
                      World(who).inside, env=env, start_new_session=True)
    time.sleep(1.5)
    os.write(master, b"typed\n")
    done = ended(child)
    os.close(master)
    os.close(slave)
    return done


def test_foreground(who, sandbox):
    flags, env = SANDBOXES[sandbox]
    argv = [who.buckle(), "run", *flags, "--report", "none", "--",
            *escape("unasked-foreground", "LEADER")]
    label = f"{who.name}, {sandbox}: the foreground"
    done = lead(who, "shared", [*argv, "reads"], env)
    met = done.lines()
    tap.ok("read b'typed" in done.out and done.out.endswith("running ours\n")
           and met.get("keep it") == "EPERM" and met.get("give it to another") != "ok",
           f"{label} goes back to those outside who need it", done)
    for how, more in (("null", "reads"), ("background", "looks")):
        done = lead(who, how, [*argv, more], env)
        tap.ok(done.out.endswith("stayed running ours\n") and len(attempts(done)) == 3
               and not wrong(done), f"{label} stays with those outside ({how})", done)
    done = lead(who, "job", [*argv, "looks"], env)
    met = done.lines()
    taken = sandbox != "walls"  # if it cannot be determined, it is refused
    tap.ok((met.get("take the foreground") == "ok") == taken and met.get("give it to another") != "ok"
           and done.out.endswith("ours\n"), f"{label} is a job's of its own, and given back", done)


TESTS = [test_modes, test_whiteout, test_orders, test_migrated, test_foreground]
LIMITS = [test_core_files, test_core_handler]


def test_limits(who, sandbox):
    attack(who, sandbox, "unasked-limits", least=9, places=0)


def main():
    everybody, chosen = people(), sys.argv[1:]

    def is_chosen(test):
        return not chosen or test.__name__ in chosen

    cores_too = os.geteuid() == 0 and may_set_pattern()
    if not cores_too:
        tap.skip("the kernel's pattern for core dumps cannot be set here")
    for who in everybody:
        for sandbox in SANDBOXES:
            for test in [*TESTS, test_limits, *(LIMITS if cores_too else [])]:
                if is_chosen(test):
                    test(who, sandbox)
        for test in [test_core_folder, test_core_socket] if cores_too else []:
            if is_chosen(test):
                test(who)
    with contextlib.ExitStack() as stack:
        names = stack.enter_context(disk()) if os.geteuid() == 0 else None
        if names is None:
            tap.skip("making a disk takes root and a loop device")
            return tap.done()
        for who in everybody:
            for sandbox in SANDBOXES | NO_LANDLOCK:
                if is_chosen(test_disks):
                    test_disks(who, sandbox, names)
            if is_chosen(test_disk_profiles):
                test_disk_profiles(who, names)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
