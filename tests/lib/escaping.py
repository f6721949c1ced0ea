# SPDX-License-Identifier: Apache-2.0
"""The attackers of tests/escape, and the sandboxes they run in.

Everything runs as root and as an ordinary user, and in several sandboxes:

    usual       as `buckle run` is
    asked       every operation judged (--updatable), without walls
    bare        without user namespaces, as in a container (BUCKLE_PRETEND)
    walls       without a judge (BUCKLE_PRETEND): only what the walls enforce

The protection of neighbouring processes is also tested without Landlock:

    unwalled    with namespaces
    exposed     without any
"""

import os
import re

import tap
from world import HELD, World, escape

SECONDS = float(os.environ.get("ESCAPE_SECONDS", "1"))

# name: (options, environment)
SANDBOXES = {
    "usual": ([], {}),
    "asked": (["--updatable", "--shared-tmp"], {}),
    "bare": (["--accept-weaker"], {"BUCKLE_PRETEND": "user_ns=0,mount_ns=0,pid_ns=0,net_ns=0"}),
    "walls": (["--accept-weaker"], {"BUCKLE_PRETEND": "seccomp_notify=0"}),
}

NO_LANDLOCK = {
    "unwalled": (["--accept-weaker"], {"BUCKLE_PRETEND": "landlock=0"}),
    "exposed": (["--accept-weaker"],
                {"BUCKLE_PRETEND": "landlock=0,user_ns=0,mount_ns=0,pid_ns=0,net_ns=0"}),
}

# What makes runs faster: names that patterns deny are searched and covered instead of judged, and
# sandboxes are prepared before anybody knows what they will run.
FASTER = {
    "patterns": (["--deny-read", "**/.env"], {}),
    "held": ([], {HELD: "1"}),
}
USABLE = SANDBOXES | FASTER

# What only the judge enforces, not Landlock: attributes, and sockets that are only bound.
ONLY_JUDGED = re.compile(r": (f?chmod|fchown|times|futimens|utimensat|f?setxattr|xattr|flags)$|"
                         r"^chmod through a link$")


def attempts(done):
    """[(what, outcome)] of an attacker."""
    return [tuple(line.rsplit(": ", 1)) for line in done.out.splitlines() if ": " in line]


def wrong(done, sandbox="usual"):
    """Attempts that succeeded but should have failed, or the reverse."""
    found = [line for line in done.out.splitlines() if line.startswith("cannot attack")]
    for what, came in attempts(done):
        own = what.startswith("own")
        if sandbox == "walls" and ONLY_JUDGED.search(what):
            continue
        if (came == "ok") != own:
            found.append(f"{what}: {came}")
    return found


def attack(who, sandbox, name, *more, options=(), least=1, profile=None, top=None, **how):
    """Runs one attacker in one sandbox. Returns its world."""
    world = World(who, top)
    flags, env = USABLE[sandbox]
    flags = [*flags, "--report", "none", *options]
    if profile:
        flags += ["--profile", world.profile(profile)]
    words = escape(name, *[world.inside, world.outside][:how.pop("places", 2)], *more)
    done = who.boxed(words, world, flags, timeout=SECONDS + 60, env=env, **how)
    label = f"{who.name}, {sandbox}: {name}"
    tap.ok(done.status == 0 and len(attempts(done)) >= least and not wrong(done, sandbox),
           f"{label}: {len(attempts(done))} attempts met what they should", *wrong(done, sandbox),
           f"status {done.status}", done.out[-1500:] if done.status else "", done.err)
    tap.ok(world.intact(attributes=sandbox != "walls"), f"{label}: nothing outside changed",
           world.before)
