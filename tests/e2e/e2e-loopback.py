#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loopback as people expect it: servers of this machine and of the command, and ports that are taken. Prints TAP."""

import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from world import World, people

INBOUND = """(version 1)
(allow default)
(deny network*)
(allow network-bind network-inbound (local ip "localhost:%d"))
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def holder(port=0):
    s = socket.socket()
    s.bind(("127.0.0.1", port))
    s.listen()
    return s


# ---- ports of this machine that lead inside ----


def test_in_a_row(who):
    """A run leaves its port free, and the next one gets it."""
    world, port = World(who), free_port()
    options = ["--profile", world.profile(INBOUND % port)]
    failed = []
    for _ in range(300):
        done = who.boxed(["true"], world, options)
        if done.status != 0 or done.err:
            failed.append(done)
            continue
        try:
            holder(port).close()
        except OSError as error:
            failed.append(error)
    tap.ok(not failed, f"{who.name}: 300 runs in a row, {len(failed)} without the port", *failed[:3])


def test_taken(who):
    """A port that another program uses costs the command nothing but the callers from this machine."""
    serve = ("python3 -c 'import socket\n"
             "s = socket.create_server((\"127.0.0.1\", {port}))\n"
             "c = socket.create_connection((\"127.0.0.1\", {port})); s.accept()[0].sendall(b\"inside\"); print(c.recv(9))'")
    world = World(who)
    with holder() as taken:
        port = taken.getsockname()[1]
        profile = world.profile(INBOUND % port)
        done = who.boxed(["sh", "-c", serve.format(port=port)], world, ["--profile", profile])
        tap.ok(done.status == 0 and done.out == "b'inside'\n", f"{who.name}: the command goes on and serves itself", done)
        tap.ok(f"localhost:{port} (in use on this machine" in done.err and done.err.count("\n") == 2 and
               "profile.sb:4" in done.err and "no rule" not in done.err, f"{who.name}: and one line says so", done)
        done = who.boxed(["true"], world, ["--publish", str(port)])
        tap.ok(done.status == 0 and "in use" in done.err, f"{who.name}: the flag does the same", done)
    port = free_port()
    profile = world.profile(INBOUND % port)
    first = who.start([who.buckle(), "run", "--profile", profile, "--", "sh", "-c", "touch up; sleep 20"], world.inside)
    while not os.path.exists(world.path("up")) and first.poll() is None:
        pass
    done = who.boxed(["true"], world, ["--profile", profile])
    tap.ok(done.status == 0 and f"localhost:{port} (in use" in done.err, f"{who.name}: another sandbox has it", done)
    first.kill()
    first.communicate()


TESTS = [test_in_a_row, test_taken]


def main():
    for who in people():
        for test in TESTS:
            if not sys.argv[1:] or test.__name__ in sys.argv[1:]:
                test(who)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
