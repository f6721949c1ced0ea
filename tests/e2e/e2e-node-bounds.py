#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bounds of a container's judge: five seconds of a processor, reached; memory and descriptors, by taking away what it has left. And a judge that ends at the worst
moment. In no case may anything be let through, or hang. Prints TAP.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import stepping
import tap
from containers import Containers, judges_of, root_of, why_not
from escaping import attempts, wrong
from world import World, people, tool, until

MIB = 1 << 20
ENDLESS = resource.RLIM_INFINITY
IOCTL, RECEIVE = 16, 0xC0502100

PROFILES = {
    "write": """(version 1)
(allow default)
(deny file-write*)
(allow file-write* (regex #"/w[0-9]+/in(/|$)") (subpath "/work") (literal "/dev/null") (literal "/dev/tty"))
""",
    # a set of states for each of the last twenty letters: what a table that grows with its input would need
    "letters": "(version 1)\n(allow default)\n(deny file-write* (regex #\"(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)$\"))\n",
}


def field(pid, name):
    """A number of /proc/PID/status, in bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return int(re.search(name + r":\s+(\d+)", f.read())[1]) * 1024


def judge_of(agent, name):
    """The judge that a container began with, however long a busy machine takes to start it."""
    agent.wait(lambda e: any(x["event"] == "started" and x["container"] == name for x in e), 60)
    return agent.events("started", name)[0]["judge"]


def begun(agent, profile, script, **more):
    """A container that waits for the file /work/go. Returns its process, name, judge, and a function that makes the file."""
    # the folder is its first judged call; until it is there, the runtime's own calls may still come
    child, name = agent.begin(profile, "mkdir /work/there; while [ ! -e /work/go ]; do sleep 0.02; done; " + script, **more)
    work = os.path.join(os.path.dirname(agent.folder), "bundles", name, "rootfs", "work")
    judge = judge_of(agent, name)
    until(lambda: os.path.exists(os.path.join(work, "there")), 60)
    return child, name, judge, lambda: open(os.path.join(work, "go"), "wb").close()


def ended(agent, child, name, timeout=120):
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        subprocess.run(["runc", *root_of("runc"), "kill", name, "KILL"], capture_output=True, check=False)
        out, err = child.communicate(timeout=60)
        out += b"\nHANGS"
    agent.wait(lambda e: any(x["event"] == "ended" and x["container"] == name for x in e))
    return out.decode(), err.decode()


def limits(agent):
    """What a judge starts with."""
    child, name, judge, go = begun(agent, "write", "echo end")
    memory = resource.prlimit(judge, resource.RLIMIT_AS)
    files = resource.prlimit(judge, resource.RLIMIT_NOFILE)
    core = resource.prlimit(judge, resource.RLIMIT_CORE)
    size = field(judge, "VmSize")
    sanitized = size > 1 << 40
    if sanitized:
        tap.skip("the sanitizers map terabytes")
    else:
        tap.ok(memory[0] == memory[1] and size < memory[0] <= size + 64 * MIB, "a judge has at most 64 MiB beyond what it starts with", memory, size)
    tap.equal((files, core), ((512, 512), (0, 0)), "512 descriptors, and no core dumps")
    go()
    tap.equal(ended(agent, child, name)[0], "end\n", "and judges with that")
    return not sanitized


ATTEMPT = "echo x > /work/mine && echo mine; (echo x > /tmp/no && echo WRONG) || echo no; "


def receives(registers):
    return registers["orig_rax"] == IOCTL and registers["rsi"] & 0xFFFFFFFF == RECEIVE  # musl passes it as a negative int


def stuck(agent):
    """A judge that runs in circles over a call that it has received."""
    child, name, judge, go = begun(agent, "write", ATTEMPT + "echo x > /work/again && echo end")
    traced = stepping.Stepped(judge)
    go()
    # the shell looks for the file by stat, which is free; the first judged call is the shell's open for writing
    found = traced.to_result(receives) and traced.to_next()
    traced.spin()
    traced.leave()
    since = time.monotonic()
    out, err = ended(agent, child, name)
    tap.ok(found and out == "no\nend\n" and time.monotonic() - since > 4, "five seconds of a processor for one call: it is refused, and the container goes on", out, err)
    tap.equal(len(agent.events("resumed", name)), 1, "by a successor")


def between(agent):
    """A judge that ends when it has received a call, before it could note it. The call is a child's: the shell itself ends when a fcntl() fails."""
    for _ in range(3):
        child, name = agent.begin("write", "while [ ! -e /work/go ]; do touch /work/tick; done 2>/dev/null; " + ATTEMPT + "echo end")
        work = os.path.join(os.path.dirname(agent.folder), "bundles", name, "rootfs", "work")
        judge = judge_of(agent, name)
        until(lambda: os.path.exists(os.path.join(work, "tick")), 60)
        traced = stepping.Stepped(judge)
        for _ in range(2):  # the second one: the kernel starts its numbers anywhere, so one must be known
            found = traced.to_result(receives)
        os.kill(judge, signal.SIGKILL)
        os.waitpid(judge, 0)
        resumed = agent.wait(lambda e: any(x["event"] == "resumed" and x["container"] == name for x in e))
        open(os.path.join(work, "go"), "wb").close()
        out, err = ended(agent, child, name, 20)
        tap.ok(found and resumed and out == "mine\nno\nend\n", "a judge that dies with a call that it has not noted: the call does not hang", out, err)


def starve(judge, what):
    """Leaves the judge what it has now, and a little."""
    if what == resource.RLIMIT_AS:
        resource.prlimit(judge, what, (field(judge, "VmSize") + 64 * 1024,) * 2)
    else:
        resource.prlimit(judge, what, (len(os.listdir(f"/proc/{judge}/fd")) + 2,) * 2)


def starving(agent, who, what, label):
    """Attackers whose judges, one after the other, have no memory or no descriptors left."""
    for name, least, more in (("way-names", 1, []), ("way-link", 1, []), ("wear-fifo", 1, []), ("wear-limits", 1, []), ("wear-stop", 1, ["1"])):
        world = World(who)
        words = f"/tools/escape {name} {world.inside} {world.outside} " + " ".join(more)
        child, container = agent.begin("write", f"cd {world.inside}; while [ ! -e /tmp/go ]; do sleep 0.02; done; exec {words}",
                                       binds=[(world.top, world.top, "bind"), (os.path.dirname(tool("escape")), "/tools", "bind,ro")], user={"uid": who.uid, "gid": who.uid})
        # the first judge before the attacker begins, or a quick one ends unharmed; then each successor
        first = judge_of(agent, container)
        starve(first, what)
        starved = {first}
        with open(os.path.join(os.path.dirname(agent.folder), "bundles", container, "rootfs", "tmp", "go"), "wb"):
            pass
        until = time.monotonic() + 60
        while child.poll() is None and time.monotonic() < until:
            for pid in judges_of(agent.child.pid):
                if pid not in starved:
                    try:
                        starve(pid, what)
                        starved.add(pid)
                    except (OSError, TypeError, ValueError):
                        pass  # it has just ended
            time.sleep(0.002)
        out, err = ended(agent, child, container, 10)
        done = type("Done", (), {"out": out})
        met = [line for line in wrong(done) if not line.startswith(("own", "cannot attack"))]  # its own work may fail
        tap.ok(starved and len(attempts(done)) >= least and not met and "HANGS" not in out and world.intact(), f"{label}: {name}: {len(attempts(done))} attempts, {len(starved)} judges: nothing is let through",
               *met, out[-600:], err[-600:])
    tap.equal(agent.run("write", ATTEMPT + "echo end")[1], "mine\nno\nend\n", f"{label}: and the next container has a judge as usual")


def letters(agent):
    """Names that are made to need many states: the judge's memory stays bounded."""
    script = ("import os, random\nrandom.seed(1)\nwrong = 0\n"
              "for i in range(20000):\n"
              "    name = ''.join(random.choice('ab') for _ in range(200))\n"
              "    denied = name[-17] == 'a'\n"
              "    try:\n        os.close(os.open('/work/' + name, os.O_CREAT | os.O_WRONLY)); os.unlink('/work/' + name); wrong += denied\n"
              "    except PermissionError:\n        wrong += not denied\nprint('wrong', wrong)\n")
    child, name = agent.begin("letters", ["/usr/bin/python3", "-c", script], debian=True)
    judge, most = judge_of(agent, name), 0
    while child.poll() is None:
        try:
            most = max(most, field(judge, "VmRSS"))
        except (OSError, TypeError):
            pass
        time.sleep(0.05)
    out, err = ended(agent, child, name, 300)
    tap.ok(out == "wrong 0\n" and not agent.events("resumed", name) and most < 64 * MIB, "twenty thousand names against a pattern of many states: every verdict is right", out, err, most)


def main():
    reason = why_not("runc")
    if reason:
        tap.skip(reason)
        return tap.done()
    agent = Containers(PROFILES)
    try:
        bounded, who = limits(agent), people()[0]
        if stepping.WHERE:
            stuck(agent)
            between(agent)
        else:
            tap.skip("judges are stopped in the middle on x86_64 only")
        if bounded:
            starving(agent, who, resource.RLIMIT_AS, "no memory")
        starving(agent, who, resource.RLIMIT_NOFILE, "no descriptors")
        letters(agent)
    finally:
        agent.stop()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
