#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways out of a container's profile, each tried by an attacker of tests/escape inside a container; and what a container could do to its neighbours and to the
node agent. Every attempt must fail, except the attacker's own work ("own: …"). Prints TAP.
"""

import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from containers import Containers, root_of, why_not
from escaping import attempts, wrong
from races import FILES, FLIPPERS
from world import World, escape, people, tool, until

WHOLE = "whole" in sys.argv
SECONDS = float(os.environ.get("ESCAPE_SECONDS", "5" if WHOLE else "0.5"))

PROFILES = {
    "escape": """(version 1)
(allow default)
(deny file-write*)
(allow file-write* (regex #"/w[0-9]+/in(/|$)") (literal "/dev/null") (literal "/dev/tty"))
""",
    "reading": """(version 1)
(allow default)
(deny file-write* (regex #"/w[0-9]+/un(/|$)"))
(deny file-read-data (regex #"/w[0-9]+/un(/|$)"))
""",
    "busy": "(version 1)\n(allow default)\n(deny file-write* (regex #\"\\.no$\"))\n",
}



def in_container(agent, who, world, words, profile="escape", timeout=120):
    """Runs an attacker in a container that has the world at its usual place."""
    return agent.ran(words, profile=profile, timeout=timeout, mounts=[(world.top, world.top, "bind"), (os.path.dirname(tool("escape")), "/tools", "bind,ro")],
                     user={"uid": who.uid, "gid": who.uid}, cwd=world.inside)


def attack(agent, who, name, *more, least=1, places=2, profile="escape", harmless=None):
    world = World(who)
    words = ["/tools/escape", name, *[world.inside, world.outside][:places], *map(str, more)]
    done = in_container(agent, who, world, words, profile)
    met = [line for line in wrong(done) if not (harmless and re.search(harmless, line))]
    label = f"{who.name}: {name}"
    tap.ok(done.status == 0 and len(attempts(done)) >= least and not met, f"{label}: {len(attempts(done))} attempts met what they should", *met, f"status {done.status}",
           done.out[-1500:] if done.status else "", done.err[-1500:])
    tap.ok(world.intact(), f"{label}: nothing outside changed", world.before)


def ways(agent, who):
    for name, least in (("way-proc", 60), ("way-descriptor", 60), ("way-link", 25), ("way-names", 60)):
        attack(agent, who, name, least=least)
    attack(agent, who, "way-read", least=10, profile="reading")


def judge(agent, who):
    for name, least in (("wear-memory", 3), ("wear-stop", 3)):
        attack(agent, who, name, SECONDS / 2, least=least)
    for name, least in (("wear-fifo", 7), ("wear-limits", 7), ("wear-hunger", 4)):
        attack(agent, who, name, least=least)


def machine(agent, who):
    for name, least in (("machine-kernel", 40), ("machine-devices", 3), ("machine-groups", 1), ("machine-self", 12)):
        # the profile leaves the network free, and runc lets containers make devices, which they cannot open
        attack(agent, who, name, least=least, places=0, harmless="^vsock: |^a memory device: |^a disk")


def races(agent, who):
    for name in FILES:
        world = World(who)
        flipper, first = FLIPPERS.get(name, (None, None))
        other = flipper and who.start(escape(flipper, 3600, world.inside, world.outside), world.inside)
        if first:
            until(lambda path=world.path(first): os.path.islink(path))
        done = in_container(agent, who, world, ["/tools/escape", name, str(SECONDS), world.inside, world.outside])
        if other:
            other.kill()
            other.communicate()
        figures = dict(line.split() for line in done.out.splitlines() if line.count(" ") == 1)
        least = 20 if WHOLE else 1
        tap.ok(done.status == 0 and int(figures.get("passed", 0)) >= least and int(figures.get("refused", 0)) >= least, f"{who.name}: {name}: both outcomes were met", done)
        tap.ok(world.intact(), f"{who.name}: {name}: nothing forbidden happened", world.before)


CREDS = r"""
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
NR = {"x86_64": dict(setfsuid=122, setresuid=117, capset=126), "aarch64": dict(setfsuid=151, setresuid=147, capset=91)}[os.uname().machine]

def call(name, *args):
    return libc.syscall(NR[name], *args)

def may():
    try:
        os.close(os.open("/work/root-only", os.O_WRONLY))
        return True
    except PermissionError:
        return False

def drop_all():
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)
    assert call("capset", head, (ctypes.c_uint32 * 6)()) == 0

os.close(os.open("/work/root-only", os.O_CREAT | os.O_WRONLY, 0o600))
os.chmod("/work/root-only", 0o600)
wrong = 0
for _ in range(50):
    os.seteuid(1000); wrong += may(); wrong += may()
    os.seteuid(0); wrong += not may(); wrong += not may()
print("in turn", wrong, flush=True)

go, back, wrong = threading.Semaphore(0), threading.Semaphore(0), 0
def other():
    global wrong
    call("setresuid", -1, 1000, -1)
    for _ in range(50):
        go.acquire(); wrong += may(); wrong += may(); back.release()
t = threading.Thread(target=other); t.start()
for _ in range(50):
    wrong += not may(); go.release(); back.acquire(); wrong += not may()
t.join()
print("threads", wrong, flush=True)

pid = os.fork()
if pid == 0:
    os.chown("/work/root-only", 1000, 1000); os.chmod("/work/root-only", 0)
    assert may()
    drop_all()
    print("without capabilities", may(), flush=True)
    os._exit(0)
os.waitpid(pid, 0)

# a thread without rights executes a program, and takes over the number of the first thread, which has them and keeps calling
os.chmod("/work/root-only", 0o600)
def execute():
    call("setresuid", 1000, 1000, 1000)
    os.execv(sys.executable, [sys.executable, "-c", "import os\ntry:\n os.open('/work/root-owned', os.O_WRONLY)\n print('executed True')\nexcept PermissionError:\n print('executed False')"])
os.close(os.open("/work/root-owned", os.O_CREAT | os.O_WRONLY, 0o600))
sys.stdout.flush()
threading.Thread(target=execute).start()
while True:
    os.close(os.open("/work/root-owned", os.O_WRONLY))
"""


def credentials(agent):
    """The judge acts with what a thread has now, though it remembers what threads had."""
    for i in range(10 if WHOLE else 3):
        done = agent.ran(["/usr/bin/python3", "-c", CREDS], profile="busy", debian=True)
        tap.equal(done.out.splitlines(), ["in turn 0", "threads 0", "without capabilities False", "executed False"], f"credentials that change ({i}) {done.err[-500:]}")


# Its first child writes as root and ends; the second has no rights, and has children when told. Looking for files is not judged.
REUSED = r"""
import itertools, os, time

def told(*names):
    while True:
        for name in names:
            if os.path.exists("/work/" + name):
                return name
        time.sleep(0.0005)

os.mkdir("/work/open")
os.chmod("/work/open", 0o777)
for name, mode in (("root-only", 0o600), ("open/heir", 0o666), ("open/owner", 0o666)):
    os.close(os.open("/work/" + name, os.O_CREAT | os.O_WRONLY, mode))
if os.fork() == 0:
    os.setgroups([]); os.setresgid(1000, 1000, 1000); os.setresuid(1000, 1000, 1000)
    os.rename("/work/open/heir", "/work/open/ready")
    for i in itertools.count():
        told(f"fork{i}")
        if os.fork() == 0:
            if told(f"yes{i}", f"no{i}") == f"no{i}":
                os._exit(0)
            try:
                os.open("/work/root-only", os.O_WRONLY)
                print("wrote", flush=True)
            except PermissionError:
                print("refused", flush=True)
            os._exit(7)
        if os.waitstatus_to_exitcode(os.wait()[1]) == 7:
            os._exit(0)
told("open/ready")
if os.fork() == 0:
    for _ in range(3):
        os.close(os.open("/work/root-only", os.O_WRONLY))
    os.rename("/work/open/owner", "/work/open/wrote")
    told("end")
    os._exit(0)
os.wait()
os.wait()
"""


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


def reused(agent):
    """A thread gets the number of one that had root's rights and has ended. The judge must not remember it for the other."""
    child, name = agent.begin("busy", ["/usr/bin/python3", "-c", REUSED], debian=True)
    work = os.path.join(os.path.dirname(agent.folder), "bundles", name, "rootfs", "work")

    def put(path):
        with open(os.path.join(work, path), "wb"):
            pass
    agent.wait(lambda e: any(x["event"] == "started" and x["container"] == name for x in e), 60)
    until(lambda: os.path.exists(os.path.join(work, "open/wrote")), 60)
    first = agent.events("started", name)[0]["container_pid"]
    heir, owner = children_of(first)
    put("end")
    until(lambda: not os.path.exists(f"/proc/{owner}"), 60)
    met = False
    for i in range(100):
        with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as f:
            f.write(str(owner - 1))
        put(f"fork{i}")
        until(lambda: children_of(heir), 60)
        met = children_of(heir) == [owner]
        put(f"yes{i}" if met else f"no{i}")
        if met:
            break
        until(lambda: not children_of(heir), 60)
    if not met:
        subprocess.run(["runc", *root_of("runc"), "kill", name, "KILL"], capture_output=True, check=False)
    out, err = child.communicate(timeout=60)
    tap.ok(met and out == b"refused\n", "a number that a thread with root's rights had: its next owner has its own", met, out, err[-500:])


def neighbours(agent):
    """One container denies as fast as it can; another one works meanwhile, and gets all its events."""
    loud = [agent.begin("busy", "while :; do echo x > /work/x.no; done 2>/dev/null") for _ in range(2)]
    for _, name in loud:
        agent.wait(lambda e, name=name: any(x["event"] == "violation" and x["container"] == name for x in e), 30)
    begun = time.monotonic()
    done = agent.ran(["/bin/sh", "-c", "i=0; while [ $i -lt 100 ]; do echo x > /work/a; echo x > /work/$i.no; i=$((i+1)); done 2>/dev/null; cat /work/a"], profile="busy")
    took = time.monotonic() - begun
    tap.ok(done.out == "x\n" and took < 60, "a neighbour that floods the agent does not stop others", done.status, done.err, took)
    for child, name in loud:
        subprocess.run(["runc", *root_of("runc"), "kill", name, "KILL"], capture_output=True, check=False)
        child.communicate(timeout=60)
    agent.wait(lambda e: any(x["event"] == "ended" and x["container"] == done.name for x in e), 60)
    tap.equal(len({e["path"] for e in agent.events("violation", done.name)}), 100, "and the other's events are complete")


def bad_ends(agent):
    """A container whose processes end while the judge works for them."""
    done = agent.ran(["/bin/sh", "-c", "i=0; while [ $i -lt 100 ]; do (echo x > /work/$i.no) & kill -9 $! 2>/dev/null; i=$((i+1)); done; wait; echo end"], profile="busy")
    tap.ok(done.out == "end\n" or "Interrupted" in done.err, "callers that die while they are judged", done)


def main():
    reason = why_not("runc")
    if reason:
        tap.skip(reason)
        return tap.done()
    agent = Containers(PROFILES)
    try:
        for who in people():
            for part in (ways, judge, machine, races):
                part(agent, who)
        for part in (credentials, reused, neighbours, bad_ends):
            part(agent)
    finally:
        agent.stop()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
