# SPDX-License-Identifier: Apache-2.0
"""The races of tests/escape: each must meet both outcomes, and nothing outside may have changed."""

import os
import select
import socket

import tap
from world import World, escape, until

WRITES_IN = """(version 1)
(deny default)
(allow process* file-read* sysctl* signal)
(allow file-write* (subpath "{inside}"))
"""
TO_OWN_SERVER = WRITES_IN + '(allow network-outbound network-bind (literal "{inside}/socket"))\n'

# A process outside that changes files as fast as it can, and what it creates first.
FLIPPERS = {"race-link-hammer": ("race-link-flip", "swap"), "race-connect-link": ("race-link-flip", "swap"),
            "swap-folders": ("swap-flip", None)}
FILES = ("race-memory", "race-link", "race-link-hammer", "race-dirfd", "race-fd", "swap-folders",
         "swap-depth")
SOCKETS = {"race-connect": socket.SOCK_STREAM, "race-connect-link": socket.SOCK_STREAM,
           "race-connect-family": socket.SOCK_STREAM, "race-datagram": socket.SOCK_DGRAM}


MET, TURNS = 20, 4  # a race was one if each outcome was met more often than this; how often to try


def _figures(who, world, name, seconds, options, env):
    """One run: how it ended, and how often each outcome was met."""
    flipper, first = FLIPPERS.get(name, (None, None))
    other = flipper and who.start(escape(flipper, 3600, world.inside, world.outside), world.inside)
    if first:
        until(lambda: os.path.islink(world.path(first)))
    done = who.boxed(escape(name, seconds, world.inside, world.outside), world,
                     ["--report", "none", *options], timeout=seconds + 30, env=env)
    if other:
        other.kill()
        other.communicate()
    counts = dict(line.split() for line in done.out.splitlines() if line.count(" ") == 1)
    return done, [int(counts.get(word, 0)) for word in ("passed", "refused")]


def _until_met(run, seconds, label):
    """Runs longer and longer, until both outcomes were met; a loaded machine may need it."""
    for turn in range(TURNS):
        done, counts = run(seconds * 2 ** turn)
        if done.status != 0 or min(counts) > MET:
            break
    tap.ok(done.status == 0 and min(counts) > MET, f"{label}: both outcomes were met", done)


def race(who, name, seconds, label, options=(), env=None, attributes=True):
    """One race about files. Without `attributes`, compares only names and contents."""
    worlds = []

    def run(length):
        worlds.append(World(who))
        return _figures(who, worlds[-1], name, length, options, env)
    _until_met(run, seconds, label)
    for world in worlds:
        tap.ok(world.intact(attributes), f"{label}: nothing forbidden happened", world.before,
               world.look() if os.path.exists(world.out("victim")) else "victim is gone")
    return worlds[-1]


def race_to_server(who, name, seconds, label, options=(), env=None):
    """One race to a server outside, which must receive nothing."""
    reached = []

    def run(length):
        world = World(who)
        with socket.socket(socket.AF_UNIX, SOCKETS[name]) as server:
            server.bind(world.out("socket"))
            if SOCKETS[name] == socket.SOCK_STREAM:
                server.listen(64)
            os.chmod(world.out("socket"), 0o777)
            world.before = world.look()
            profile = ["--profile", world.profile(TO_OWN_SERVER)]
            got = _figures(who, world, name, length, [*options, *profile], env)
            reached.append(bool(select.select([server], [], [], 0)[0]) or not world.intact())
        return got
    _until_met(run, seconds, label)
    tap.ok(not any(reached), f"{label}: nobody got through to the other socket")
