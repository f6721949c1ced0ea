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


def _run(who, world, name, seconds, options, env, label):
    flipper, first = FLIPPERS.get(name, (None, None))
    other = flipper and who.start(escape(flipper, 3600, world.inside, world.outside), world.inside)
    if first:
        until(lambda: os.path.islink(world.path(first)))
    done = who.boxed(escape(name, seconds, world.inside, world.outside), world,
                     ["--report", "none", *options], timeout=seconds + 30, env=env)
    if other:
        other.kill()
        other.communicate()
    figures = dict(line.split() for line in done.out.splitlines() if line.count(" ") == 1)
    tap.ok(done.status == 0 and int(figures.get("passed", 0)) > 20
           and int(figures.get("refused", 0)) > 20, f"{label}: both outcomes were met", done)


def race(who, name, seconds, label, options=(), env=None, attributes=True):
    """One race about files. Without `attributes`, compares only names and contents."""
    world = World(who)
    _run(who, world, name, seconds, options, env, label)
    tap.ok(world.intact(attributes), f"{label}: nothing forbidden happened", world.before,
           world.look() if os.path.exists(world.out("victim")) else "victim is gone")
    return world


def race_to_server(who, name, seconds, label, options=(), env=None):
    """One race to a server outside, which must receive nothing."""
    world = World(who)
    with socket.socket(socket.AF_UNIX, SOCKETS[name]) as server:
        server.bind(world.out("socket"))
        if SOCKETS[name] == socket.SOCK_STREAM:
            server.listen(64)
        os.chmod(world.out("socket"), 0o777)
        world.before = world.look()
        profile = ["--profile", world.profile(TO_OWN_SERVER)]
        _run(who, world, name, seconds, [*options, *profile], env, label)
        tap.ok(not select.select([server], [], [], 0)[0] and world.intact(),
               f"{label}: nobody got through to the other socket")
