#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways out of the sandbox, each tried by an attacker of tests/escape that knows the sandbox well.

An attacker prints a line for each attempt. Every attempt must fail, except those told as its own
("own: …"), which show that the sandbox is still standing and still lets through what it should.
What got out is also looked for from outside: a folder beside the attacker's own must be as it was,
to the nanosecond.

Everything is tried by root and by an ordinary user, and in several sandboxes:

    usual       as `buckle run` is
    asked       every operation judged (--updatable): no wall stands in for the judge
    bare        without user namespaces, as in a container (BUCKLE_PRETEND)
    walls       the judge's verdicts do not count: the policy allows what the walls deny
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import tap
from world import World, escape, people, processes_with, until

SECONDS = float(os.environ.get("ESCAPE_SECONDS", "2"))

# name: (options, environment)
SANDBOXES = {
    "usual": ([], {}),
    "asked": (["--updatable"], {}),
    "bare": (["--accept-weaker"], {"BUCKLE_PRETEND": "user_ns=0,mount_ns=0,pid_ns=0,net_ns=0"}),
}


def attempts(done):
    """[(what, outcome)] of an attacker."""
    return [tuple(line.rsplit(": ", 1)) for line in done.out.splitlines() if ": " in line]


def wrong(done):
    """What should have failed and did not, or the reverse."""
    found = [line for line in done.out.splitlines() if line.startswith("cannot attack")]
    for what, came in attempts(done):
        own = what.startswith("own")
        if (came == "ok") != own:
            found.append(f"{what}: {came}")
    return found


def attack(who, sandbox, name, *more, options=(), least=1, profile=None, statuses=(0,), **how):
    """One attacker in one sandbox; the world it met."""
    world = World(who)
    flags, env = SANDBOXES[sandbox]
    flags = [*flags, "--report", "none", *options]
    if profile:
        flags += ["--profile", world.profile(profile)]
    words = escape(name, *[world.inside, world.outside][:how.pop("places", 2)], *more)
    done = who.boxed(words, world, flags, timeout=SECONDS + 60, env=env, **how)
    label = f"{who.name}, {sandbox}: {name}"
    tap.ok(done.status in statuses and len(attempts(done)) >= least and not wrong(done),
           f"{label}: {len(attempts(done))} attempts met what they should", *wrong(done),
           f"status {done.status}", done.out[-1500:] if done.status not in statuses else "", done.err)
    tap.ok(world.intact(), f"{label}: nothing outside changed", world.before)
    return world, done


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
    if who.uid != 0:  # root has no limit of that kind
        attack(who, sandbox, "wear-forks", least=3, options=["--max-procs", "400"])


# ---- the machine ----


def test_machine(who, sandbox):
    for name, least in (("machine-kernel", 40), ("machine-devices", 3), ("machine-groups", 1),
                        ("machine-self", 12), ("machine-terminal", 3)):
        attack(who, sandbox, name, least=least, places=0)
    if sandbox == "usual":  # without namespaces the first process is the host's
        attack(who, sandbox, "machine-first", least=10, places=0)


def test_bystander(who, sandbox):
    mark = f"bystander-{who.name}-{sandbox}"
    other = who.start(["sh", "-c", "sleep 300; :", mark], who.home)
    try:
        attack(who, sandbox, "machine-bystander", other.pid, mark, places=0)
        tap.ok(other.poll() is None, f"{who.name}, {sandbox}: the bystander has not noticed")
    finally:
        other.kill()
        other.wait()


# ---- reports ----


def test_counts(who, sandbox):
    """Every denial is told exactly once, however many threads ask."""
    world = World(who)
    flags, env = SANDBOXES[sandbox]
    each, threads = 500, 16
    done = who.boxed(escape("wear-denies", world.inside, world.outside, threads, each), world,
                     [*flags, "--report", "json"], timeout=120, env=env)
    told = 0
    for line in done.err.splitlines():
        if line.startswith("{") and json.loads(line)["path"] == world.out("victim"):
            told += 1
    tap.ok(told == each * threads + 1 and not wrong(done),
           f"{who.name}, {sandbox}: {each * threads + 1} denials, as many told", told,
           *wrong(done), done.err[:2000])


TESTS = [test_ways, test_reading, test_wear, test_machine, test_bystander, test_counts]


def main():
    everybody = people()
    chosen = sys.argv[1:]
    for who in everybody:
        for sandbox in SANDBOXES:
            for test in TESTS:
                if not chosen or test.__name__ in chosen or sandbox in chosen:
                    test(who, sandbox)
    return tap.done()


sys.exit(main())
