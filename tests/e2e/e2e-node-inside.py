#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What other tests promise about a sandbox, in containers: their tests of programs, signals, calls that lead around, and calls that do more than they say run
here with containers in place of `buckle run`, and expect the same. The last check is that every attacker of tests/escape runs in a container, or is listed
with the reason. Prints TAP.

    tests/e2e/e2e-node-inside.py [whole]

Without "whole", a few of them run, as an ordinary user.
"""

import concurrent.futures
import glob
import importlib.util
import os
import re
import shutil
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import races
import tap
from containers import Containers, why_not
from escaping import attempts, wrong
from inside import Inside
from world import BIN, TOP, World, escape, people, processes_with, until

WHOLE = "whole" in sys.argv
WAITING = {"opens": 200, "same": 300, "chain": 100, "connects": 100, "sends": 100, "signals": 100, "carried": 60, "full": 700}


def module(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), os.path.join(TOP, "tests", "e2e", name + ".py"))
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


process, traps, unasked = module("e2e-process"), module("e2e-traps"), module("e2e-unasked")

# attackers that no container can meet, or that need another setting than a container has
LEFT_OUT = {
    "first": "attacks the init of `buckle run`", "first-trace-own": "the same",
    "machine-first": "the same", "machine-bystander": "looks for processes of the host by their numbers, which a pid namespace does not have",
    "machine-terminal": "the terminal is the runtime's", "unasked-foreground": "the terminal is the runtime's", "unasked-crash": "core dumps are the runtime's",
    "unasked-limits": "core dumps are the runtime's", "unasked-disks": "a container has no disks: see confined() in e2e-node.py and machine-devices",
    "like-fifo": "runc's filter lets signals interrupt judged calls", "like-storm": "the same", "object-receive": "the runtime passes signals on",
    "wear-forks": "a limit of `buckle run`", "wear-denies": "counts the report of `buckle run`: see neighbours() in e2e-node-escape.py",
    "wear-work": "measures `buckle run`: see run-node.py", "wear-processes": "the same", "linger": "a program of exec-race", "linger-fork": "the same", "nothing": "a program of exec-forms",
    "like-after-exec": "a program of like-threads", "like-heir": "for folders that the judge keeps, which it does not for containers", "way-unreported": "the same", "race-plant": "repositories under the default policy of `buckle run`", "race-slow": "a file system that hangs, as root of the host",
    "race-dial": "the network is refused as a whole, or the gate's", "families": "the network namespace is the runtime's: see confined() in e2e-node.py",
}


def programs(who):
    who.ran.add("signals")  # by a shell
    for test in (process.test_forms, process.test_fork, process.test_signals, process.test_signal_numbers, process.test_code, process.test_sysv, process.test_posix,
                 process.test_sched, process.test_scripts, process.test_who):
        test(who)


def around(who):
    for number in (5, 6, 14):
        traps.alike(who, number, but=LEFT_OUT)
    for trap in (traps.calls_around, traps.trap_12, traps.trap_15):
        trap(who)
    hidden(who)
    races_to_start(who)
    left_behind(who)


def hidden(who):
    """The judge has the host's rights to read memory, so what hides it is judged as usual."""
    world = World(who)
    done = who.boxed(escape("call-hidden", world.out("victim")), world)
    tap.equal(done.lines(), {"hide": "ok", "create": "ok", "write elsewhere": "EPERM"}, f"{who.name}: hiding one's memory changes nothing")
    program = os.path.join(world.top, "unreadable")
    shutil.copy(os.path.join(BIN, "escape"), program)
    os.chmod(program, 0o111)
    done = who.boxed([program, "call-create", "made", world.out("victim")], world)
    who.ran.add("call-create")
    tap.equal(done.lines(), {"create": "ok", "make a folder": "ok", "write elsewhere": "EPERM"}, f"{who.name}: nor does a program that cannot be read")
    done = who.boxed(escape("call-judge"), world)
    met = done.lines()
    tap.ok({met.get("a listener of its own"), met.get("a listener, with threads")} == {"EPERM"} and met.get("the judge answers") == "ok" and "can " not in done.out,
           f"{who.name}: no judge of its own, and nobody else in sight", done)
    done = who.boxed(["/usr/bin/timeout", "-s", "KILL", "2", *escape("call-insist", world.out("victim"))], world)
    who.ran.add("call-insist")
    tap.ok("insisting" in done.out and len(done.out.splitlines()) == 1 and world.intact(), f"{who.name}: nor by insisting", done)


def races_to_start(who):
    world = World(who)
    for path in (world.path, world.out):
        process.copied(who, os.path.join(BIN, "escape"), path("run"))
    policy = process.OPEN + '(deny process-exec (subpath "{outside}"))'
    for how in (["exec-race"], ["exec-race-beside"], ["exec-race", "linger-fork"], ["exec-race-descriptor"], ["exec-race", "linger", True]):
        begun, survived, done = process.race_to_start(who, world, policy, *how)
        tap.ok(survived == 0, f"{who.name}: {' '.join(map(str, how))}: what starts by a race is killed ({begun} started)", f"{survived} survived", done)


def left_behind(who):
    """What a container inherits, and what it leaves."""
    world = World(who)
    bare, done = who.run(escape("object-list"), world.inside), who.boxed(escape("object-list"), world)
    tap.equal(done.out, bare.out, f"{who.name}: descriptors are those that the runtime passed")
    done = who.boxed(escape("object-through", 3), world, keep=world.outside)
    tap.ok(set(done.lines().values()) == {"EPERM"} and len(done.lines()) == 6 and world.intact(), f"{who.name}: through a folder that it was passed nothing can be written", done)
    mark = f"left-{os.getpid()}-{who.uid}"
    done = who.boxed(escape("object-stay", "leave", mark), world)
    tap.ok(done.status == 7 and until(lambda: not processes_with(mark)), f"{who.name}: background processes end with it", done)


def passed(who):
    """Files that a process outside passes in are as protected as by name."""
    world = World(who)
    with socket.socket(socket.AF_UNIX) as server, concurrent.futures.ThreadPoolExecutor(1) as pool:
        server.bind(world.path("socket"))
        who.own(world.path("socket"))
        server.listen()
        server.settimeout(20)
        running = pool.submit(who.boxed, escape("way-passed", world.path("socket")), world)
        peer = server.accept()[0]
        held = [os.open(world.outside, os.O_RDONLY), os.open(world.outside, os.O_PATH), os.open(world.out("victim"), os.O_RDONLY), os.open(world.out("victim"), os.O_PATH)]
        socket.send_fds(peer, [b"x"], held)
        done = running.result()
        peer.close()
    for fd in held:
        os.close(fd)
    tap.ok(done.status == 0 and len(attempts(done)) > 40 and not wrong(done) and world.intact(), f"{who.name}: way-passed: {len(attempts(done))} attempts failed", *wrong(done), done)


def waits(who):
    """Calls that block, by the hundred: others are answered meanwhile."""
    for kind, n in WAITING.items():
        world = World(who)
        done = who.boxed(escape("wait-" + kind, world.inside, world.outside, n), world)
        came = dict(line.split() for line in done.out.splitlines() if re.fullmatch("came [0-9]+|refused [0-9]+|failed [0-9]+", line))
        enough = int(came.get("came", 0)) >= n if kind == "carried" else int(came.get("came", 0)) + int(came.get("refused", 0)) == n
        met = [line for line in wrong(done) if line != "the chain's ends: ok"]
        # 700 that wait are more than the judge has descriptors for
        enough = enough and (int(came.get("refused", 0)) > 100) == (kind == "full")
        tap.ok(done.status == 0 and not met and enough and came.get("failed", "0") == "0" and world.intact(),
               f"{who.name}: wait-{kind}: {n} calls that wait, and none is let through", *met, done)


def complete(ran):
    """Every attacker is tried in a container, or listed."""
    names = set()
    for path in glob.glob(os.path.join(TOP, "tests", "escape", "*.c")):
        with open(path, encoding="utf-8") as f:
            found = re.search(r"const struct attack attacks_\w+\[\] = \{(.*?)\};", f.read(), re.S)
        names |= set(re.findall(r'\{"([a-z-]+)", \d', found[1])) if found else set()
    with open(os.path.join(TOP, "tests", "e2e", "e2e-node-escape.py"), encoding="utf-8") as f:
        elsewhere = set(re.findall(r'"([a-z]+-[a-z-]+)"', f.read())) | set(races.FILES)
    helpers = {flipper for flipper, _ in races.FLIPPERS.values() if flipper}
    missing = names - ran - elsewhere - set(LEFT_OUT) - helpers
    tap.ok(len(names) > 60 and not missing, f"all {len(names)} attackers run in containers, but {len(names & set(LEFT_OUT))} that are listed", sorted(missing))
    tap.ok(not set(LEFT_OUT) & ran and set(LEFT_OUT) <= names, "and none of these does", set(LEFT_OUT) & ran, set(LEFT_OUT) - names)


def more(who):
    for test in (unasked.test_modes, unasked.test_whiteout, unasked.test_orders):
        test(who, "usual")


def sockets(who):
    for name in races.SOCKETS:
        races.race_to_server(who, name, 0.5, f"{who.name}: {name}")


PARTS = (around, more, passed, programs, sockets, waits)
FEW = 3


def main():
    reason = why_not("runc")
    if reason:
        tap.skip(reason)
        return tap.done()
    agent = Containers({})
    ran = set()
    try:
        for who in people() if WHOLE else people()[:1]:
            inside = Inside(who, agent)
            for part in PARTS if WHOLE else PARTS[:FEW]:
                part(inside)
            ran |= inside.ran
        if WHOLE:
            complete(ran)
    finally:
        agent.stop()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
