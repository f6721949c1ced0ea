#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle node`, killed while containers run: nothing passes that the profile denies, nothing hangs for good, and no event is missing. With the holder, and
with a stand-in for systemd's store of descriptors. Prints TAP.
"""

import array
import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from containers import Agent, all_judges, holders, root_of, why_not
from drive import BUCKLE, FOLDER
from world import until

WHOLE = "whole" in sys.argv
PROFILES = {
    "write": """(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath "/work") (literal "/dev/null") (literal "/dev/tty"))
""",
    "open": "(version 1)\n(allow default)\n",
}


def denied_paths(agent, name):
    return [e["path"] for e in agent.events("violation", name)]


def load(n):
    """A shell's loop of one allowed and one denied call, each denied one with a path of its own."""
    return f"i=0; while [ $i -lt {n} ]; do echo $i > /work/n && (echo x > /tmp/n$i && echo WRONG) 2>/dev/null; i=$((i+1)); done; cat /work/n; echo end"


def under_load(agent):
    """The agent alone is killed, again and again."""
    n, kills = (4000, 20) if WHOLE else (600, 5)
    running = [agent.begin("write", load(n)) for _ in range(3)]
    for _, name in running:
        agent.wait(lambda e, name=name: any(x["event"] == "violation" and x["container"] == name for x in e))
    for i in range(kills):
        agent.kill()
        time.sleep(0.2 if i % 2 else 0.02)
        agent.start()
        time.sleep(0.2)
    for child, name in running:
        out, err = child.communicate(timeout=300)
        agent.wait(lambda e, name=name: any(x["event"] == "ended" and x["container"] == name for x in e))
        paths = denied_paths(agent, name)
        tap.ok(out.decode() == f"{n - 1}\nend\n", "killed under load: the container goes on, and nothing is let through", out[-300:], err[-300:])
        tap.equal(set(f"/tmp/n{i}" for i in range(n)) - set(paths), set(), "killed under load: no event is missing")
        tap.ok(len(paths) <= n + kills, "killed under load: at most one event is there twice for each kill", len(paths), n, kills)
        ended = agent.events("ended", name)
        tap.ok(len(ended) == 1 and ended[0]["denied"] >= n and len(agent.events("started", name)) == 1, "killed under load: it started once and ended once", ended)
    tap.ok(sum(e["event"] == "kept" for e in agent.events()) > 0, "killed under load: successors took containers over")


def with_judges(agent):
    """The agent dies, and every judge: what an OOM killer or the end of a service does."""
    n = 800
    child, name = agent.begin("write", load(n))
    agent.wait(lambda e: any(x["event"] == "violation" and x["container"] == name for x in e))
    for i in range(3):
        agent.kill()
        for pid in all_judges(FOLDER):
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.3)
        agent.start()
        agent.wait(lambda e, n=i: sum(x["event"] == "resumed" and x["container"] == name for x in e) > n)
        time.sleep(0.1)
    out, err = child.communicate(timeout=120)
    agent.wait(lambda e: any(x["event"] == "ended" and x["container"] == name for x in e))
    tap.ok(out.decode().endswith("end\n") and b"WRONG" not in out, "killed with the judges: the container goes on, and nothing is let through", out[-300:], err[-300:])
    tap.ok(len(agent.events("resumed", name)) == 3, "killed with the judges: each successor starts another judge", agent.events(container=name)[:3])
    missing = set(f"/tmp/n{i}" for i in range(n)) - set(denied_paths(agent, name))
    tap.ok(len(missing) <= 3, "killed with the judges: events of answered calls are there", missing)


def waiting(agent):
    """Calls wait while neither agent nor judge is there."""
    child, name = agent.begin("write", "while [ ! -e /work/go ]; do sleep 0.05; done; echo x > /work/a && echo did; echo x > /tmp/a || echo no; echo end")
    agent.wait(lambda e: any(x["event"] == "started" and x["container"] == name for x in e))
    root = os.path.join(FOLDER, "bundles", name, "rootfs")
    agent.kill()
    for pid in all_judges(FOLDER):
        os.kill(pid, signal.SIGKILL)
    with open(os.path.join(root, "work", "go"), "wb"):
        pass
    time.sleep(1)
    tap.ok(child.poll() is None and not os.path.exists(os.path.join(root, "work", "a")), "without agent and judge, calls wait")
    agent.start()
    out, err = child.communicate(timeout=30)
    tap.ok(out.decode().endswith("no\nend\n") and b"did" in out, "and go on with the next agent", out, err)


def backlog(agent):
    agent.kill()
    child, name = agent.begin("write", "echo x > /tmp/a || echo started")
    time.sleep(0.5)
    tap.ok(child.poll() is None, "a container that starts without an agent waits")
    agent.start()
    out, _ = child.communicate(timeout=30)
    tap.equal(out, b"started\n", f"and starts with the next one ({name})")


def old_policy(agent):
    """A running container keeps its version of the profile, whoever judges."""
    agent.profile("changing", PROFILES["write"])
    child, name = agent.begin("changing", "while [ ! -e /work/go ]; do sleep 0.05; done; echo x > /tmp/a || echo no")
    agent.wait(lambda e: any(x["event"] == "started" and x["container"] == name for x in e))
    agent.kill()
    agent.profile("changing", PROFILES["open"])
    for pid in all_judges(FOLDER):
        os.kill(pid, signal.SIGKILL)
    agent.start()
    with open(os.path.join(FOLDER, "bundles", name, "rootfs", "work", "go"), "wb"):
        pass
    out, err = child.communicate(timeout=30)
    tap.equal(out, b"no\n", f"a profile that changed meanwhile does not count for what runs {err}")
    tap.equal(agent.run("changing", "echo x > /tmp/a && echo did")[1], "did\n", "but for what starts")


def stopped(agent):
    child, name = agent.begin("write", load(200))
    agent.wait(lambda e: any(x["event"] == "violation" and x["container"] == name for x in e))
    tap.equal(agent.stop(), 0, "SIGTERM ends the agent while a container runs")
    agent.start()
    out, _ = child.communicate(timeout=60)
    agent.wait(lambda e: any(x["event"] == "ended" and x["container"] == name for x in e))
    tap.ok(out == b"199\nend\n" and len(set(denied_paths(agent, name))) == 200, "and the next one goes on", out[-100:])


def holder_dies(agent):
    child, name = agent.begin("write", load(300))
    agent.wait(lambda e: any(x["event"] == "violation" and x["container"] == name for x in e))
    first = holders(agent.socket)
    for pid in first:
        os.kill(pid, signal.SIGKILL)
    until(lambda: holders(agent.socket) not in ([], first), 10)
    time.sleep(0.2)
    agent.kill()
    agent.start()
    out, _ = child.communicate(timeout=60)
    tap.ok(len(first) == 1 and out == b"299\nend\n", "a holder that dies is replaced, and knows everything", first, out[-100:])


def two_agents(agent):
    done = subprocess.run([BUCKLE, "node", "--socket", agent.socket, "--profiles", agent.profiles], capture_output=True, timeout=60, check=False)
    tap.ok(done.returncode == 2 and b"another agent" in done.stderr, "a second agent for the same socket is refused", done)


def nobody_comes():
    agent = Agent(PROFILES, "--wait=2")
    child, name = agent.begin("write", "while echo x > /work/a; do sleep 0.1; done 2>/dev/null; echo x > /tmp/a && echo WRONG; echo end")
    agent.wait(lambda e: any(x["event"] == "started" and x["container"] == name for x in e))
    agent.kill()
    begun = time.monotonic()
    try:
        out, _ = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        out = b"it hangs"
        child.kill()
    took = time.monotonic() - begun
    tap.ok(b"WRONG" not in out and b"hangs" not in out and 1.5 < took < 30, "if no agent comes in time, judged calls fail", out, took)
    time.sleep(0.5)
    tap.equal((holders(agent.socket), all_judges(agent.folder)), ([], []), "and neither holder nor judge is left")
    agent.start()
    tap.equal(agent.run("write", "echo started")[1], "started\n", "a later agent starts afresh")
    agent.stop()
    agent = Agent(PROFILES, "--keep=none")
    child, name = agent.begin("write", "while echo x > /work/a; do sleep 0.1; done 2>/dev/null; echo x > /tmp/a && echo WRONG; echo end")
    agent.wait(lambda e: any(x["event"] == "started" and x["container"] == name for x in e))
    agent.kill()
    out, _ = child.communicate(timeout=60)
    tap.ok(b"WRONG" not in out, "--keep=none: judged calls fail at once", out)


class Systemd:
    """What systemd does for a service with FileDescriptorStoreMax=: it keeps descriptors by name, and passes them to the next process."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "notify")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.path)
        self.store, self.said, self.settled = [], [], threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            data, extra, _, _ = self.sock.recvmsg(65536, socket.CMSG_SPACE(64 * 4))
            fds = array.array("i")
            for level, kind, got in extra:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    fds.frombytes(got[:len(got) // 4 * 4])
            if data == b"SETTLED":
                self.settled.set()
                continue
            words = dict(line.split("=", 1) for line in data.decode().splitlines())
            self.said.append(words)
            if words.get("FDSTORE") == "1":
                # the order is not kept
                self.store += [(words["FDNAME"], fd) for fd in reversed(fds)]
            if words.get("FDSTOREREMOVE") == "1":
                for name, fd in self.store:
                    if name == words["FDNAME"]:
                        os.close(fd)
                self.store = [(name, fd) for name, fd in self.store if name != words["FDNAME"]]

    def settle(self):
        """Returns when everything that was sent before has been read: messages arrive in their order."""
        self.settled.clear()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(b"SETTLED", self.path)
        return self.settled.wait(30)

    def popen(self, argv, **more):
        # systemd, too, reads what a service has said before it starts it again
        self.settle()
        store = list(self.store)
        high = [os.dup(fd) for _, fd in store]
        low = max(high + [100]) + 1

        def place():
            for i, fd in enumerate(high):
                os.dup2(fd, low + i)
            for i in range(len(high)):
                os.dup2(low + i, 3 + i)
            os.closerange(3 + len(high), 1000)

        env = dict(os.environ, NOTIFY_SOCKET=self.path, LISTEN_FDS=str(len(store)), LISTEN_FDNAMES=":".join(name for name, _ in store))
        child = subprocess.Popen(["/bin/sh", "-c", "LISTEN_PID=$$ exec \"$@\"", "sh", *argv], env=env, close_fds=False, preexec_fn=place, **more)
        for fd in high:
            os.close(fd)
        return child


def systemd():
    folder = os.path.join(FOLDER, "systemd")
    os.mkdir(folder)
    manager = Systemd(folder)
    agent = Agent(PROFILES, popen=manager.popen)
    manager.settle()  # the agent has said so before it prints its line
    tap.ok({"READY": "1"} in manager.said and not holders(agent.socket), "systemd: it says when it is ready, and needs no holder", manager.said)
    n = 300
    child, name = agent.begin("write", load(n))
    agent.wait(lambda e: any(x["event"] == "violation" and x["container"] == name for x in e))
    for i in range(4):
        agent.kill()
        for pid in all_judges(FOLDER) if i % 2 else ():
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
        agent.start()
        time.sleep(0.1)
    out, err = child.communicate(timeout=120)
    agent.wait(lambda e: any(x["event"] == "ended" and x["container"] == name for x in e))
    missing = set(f"/tmp/n{i}" for i in range(n)) - set(denied_paths(agent, name))
    tap.ok(out.decode().endswith("end\n") and b"WRONG" not in out and len(missing) <= 2, "systemd: killed under load, the container goes on", out[-300:], err[-300:], missing)
    until(lambda: manager.settle() and not any(n[0] == "c" for n, _ in manager.store), 10)
    tap.equal(sorted({n for n, _ in manager.store if n[0] == "c"}), [], "systemd: what has ended is removed from the store")
    tap.equal(agent.stop(), 0, "systemd: it stops")


def main():
    reason = why_not("runc")
    if reason:
        tap.skip(reason)
        return tap.done()
    agent = Agent(PROFILES)
    try:
        for part in (under_load, with_judges, waiting, backlog, old_policy, stopped, holder_dies, two_agents):
            part(agent)
    finally:
        agent.stop()
    time.sleep(0.5)
    tap.equal(holders(agent.socket), [], "without containers, the holder ends with the agent")
    nobody_comes()
    systemd()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
