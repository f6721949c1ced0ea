#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Logins by keys of ssh-agent: real ssh, sshd and ssh-agent, and clients that speak to the agent themselves. Prints TAP."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import PEOPLE, eventually

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Place:
    """A user with two keys in an agent, and two servers that take both."""

    def __init__(self, user):
        self.user, self.home = user, user.folder("ssh")
        os.chmod(self.home, 0o700)
        self.ports = [free_port(), free_port()]
        self.processes = []
        user.sh("mkdir -m 700 .ssh; for k in one two host0 host1; do ssh-keygen -q -t ed25519 -N '' -C $k@test -f $k; done; "
                "ssh-keygen -q -t rsa -N '' -f rsa0; ssh-keygen -q -t ecdsa -b 384 -N '' -f ecdsa0; cat one.pub two.pub > authorized; mkdir work", cwd=self.home)
        for i, port in enumerate(self.ports):
            self.serve(i, port, f"{self.home}/host{i}")
            with open(f"{self.home}/host{i}.pub", encoding="utf-8") as f:
                self.know(port, f.read())
        self.agent = os.path.join(self.home, "agent")
        self.processes.append(user.start(["ssh-agent", "-D", "-a", self.agent], stdout=subprocess.DEVNULL))
        eventually(lambda: os.path.exists(self.agent))
        user.sh("ssh-add -q one two", cwd=self.home, env={"SSH_AUTH_SOCK": self.agent})

    def know(self, port, key):
        path = os.path.join(self.home, ".ssh", "known_hosts")
        with open(path, "a", encoding="utf-8") as f:
            f.write(f"[localhost]:{port} {' '.join(key.split()[:2])}\n")
        self.user.own(path)

    def serve(self, i, port, key):
        config = self.user.write(f"{self.home}/sshd{i}", f"Port {port}\nListenAddress 127.0.0.1\nHostKey {key}\nAuthorizedKeysFile {self.home}/authorized\n"
                                 f"PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nAllowAgentForwarding yes\nPermitRootLogin yes\n")
        log = f"{self.home}/sshd{i}.log"
        self.processes.append(self.user.start([SSHD, "-D", "-E", log, "-f", config]))
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.05)

    def run(self, rules, script, env=None, record=None):
        flags = [f"--ssh={one.replace('PORT0', str(self.ports[0])).replace('PORT1', str(self.ports[1]))}" for one in rules]
        hosts = [f"--allow-net=localhost:{port}" for port in self.ports]
        flags += [f"--record={record}"] if record else []
        script = script.replace("SSH0", self.ssh(0)).replace("SSH1", self.ssh(1))
        return self.user.run(*flags, *hosts, f"--allow-read={self.home}/.ssh/known_hosts", f"--allow-read={self.home}", "--", "sh", "-c", script,
                             cwd=f"{self.home}/work", env={"HOME": self.home, "SSH_AUTH_SOCK": self.agent, **(env or {})})

    def ssh(self, i, more=""):
        return (f"ssh -F none -T -p {self.ports[i]} -o BatchMode=yes -o IdentityFile=none -o UserKnownHostsFile={self.home}/.ssh/known_hosts "
                f"-o LogLevel=ERROR {more} localhost")

    def end(self):
        for one in self.processes:
            one.terminate()
            one.wait()


# A client that speaks to the agent itself: tries what ssh does not.
CLIENT = r"""
import os, socket, struct, sys
def word(b): return struct.pack(">I", len(b)) + b
def ask(s, message):
    s.sendall(word(message))
    head = s.recv(4, socket.MSG_WAITALL)
    return s.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL) if len(head) == 4 else b""
def agent():
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["SSH_AUTH_SOCK"])
    return s
s = agent()
keys = ask(s, b"\x0b")
n = struct.unpack(">I", keys[1:5])[0]
size = struct.unpack(">I", keys[5:9])[0] if n else 0
key = keys[9:9 + size]
session = b"s" * 32
login = word(session) + b"\x32" + word(b"me") + word(b"ssh-connection") + word(b"publickey") + b"\x01" + word(b"ssh-ed25519") + word(key)
host = open(sys.argv[1]).read().split()[1]
import base64
host = base64.b64decode(host)
bind = lambda sig, fwd=b"\0": b"\x1b" + word(b"session-bind@openssh.com") + word(host) + word(session) + word(sig) + fwd
fake = word(b"ssh-ed25519") + word(b"\0" * 64)
print("list", n)
print("sign", ask(agent(), b"\x0d" + word(key) + word(login) + b"\0\0\0\0")[0])
print("bind", ask(s, bind(fake))[0])
print("sign", ask(s, b"\x0d" + word(key) + word(login) + b"\0\0\0\0")[0])
for name, message in (("add", b"\x11" + word(b"ssh-ed25519")), ("remove", b"\x12" + word(key)), ("remove-all", b"\x13"), ("lock", b"\x16" + word(b"x")),
                      ("query", b"\x1b" + word(b"query")), ("card", b"\x14" + word(b"/tmp/x.so") + word(b"")), ("unknown", b"\xff"), ("sshsig", b"\x0d" + word(key) + word(b"SSHSIG" + word(b"git")) + b"\0\0\0\0")):
    print(name, ask(agent(), message)[0])
big = agent()
big.sendall(struct.pack(">I", 1 << 30) + b"x")
print("big", len(big.recv(10)))
"""


def test_logins(at):
    name = at.user.name
    done = at.run(["one@test -> localhost:PORT0"], "ssh-add -l; SSH0 echo in0; SSH1 echo in1")
    tap.ok("one@test" in done.out and "two@test" not in done.out, f"{name}: only the key named is listed", done)
    tap.ok("in0" in done.out and "in1" not in done.out, f"{name}: and signs only for the host named", done)
    tap.ok("connect  ssh-agent (the host's key is not one that known_hosts has for a host named)" in done.err, f"{name}: which is reported", done)
    user = "root" if at.user.uid == 0 else None
    done = at.run([f"{at.home}/one.pub -> nobody@localhost:PORT0"], "SSH0 echo in0")
    tap.ok("in0" not in done.out, f"{name}: nor for another user", done)
    if user:
        done = at.run([f"{at.home}/one.pub -> {user}@localhost:PORT0"], "SSH0 echo in0")
        tap.ok("in0" in done.out, f"{name}: but for the one named", done)
    print_of = at.user.sh("ssh-keygen -l -f two.pub", cwd=at.home).split()[1]
    done = at.run([f"{print_of} -> localhost:PORT1 localhost:PORT0"], "ssh-add -l; SSH0 echo in0; SSH1 echo in1")
    tap.ok("in0" in done.out and "in1" in done.out and "two@test" in done.out and "one@test" not in done.out, f"{name}: by fingerprint, to two hosts", done)
    done = at.run(["* -> localhost:PORT0"], at.ssh(0, "-A") + " 'ssh-add -l; echo in0'")
    tap.ok("in0" in done.out and "one@test" not in done.out.split("in0")[0], f"{name}: the agent is not forwarded", done)
    done = at.run([], 'echo "<$SSH_AUTH_SOCK>"; SSH0 echo in0')
    tap.ok("<>" in done.out and "in0" not in done.out, f"{name}: without a rule there is no agent", done)


def test_attacks(at):
    script = at.user.write(f"{at.home}/client.py", CLIENT)
    for key in ("host0.pub", "host1.pub"):
        done = at.run(["one@test -> localhost:PORT0"], f"python3 {script} {at.home}/{key}")
        tap.equal(done.out.split("\n")[:-1], ["list 1", "sign 5", "bind 5", "sign 5", "add 5", "remove 5", "remove-all 5", "lock 5", "query 5", "card 5", "unknown 5",
                                              "sshsig 5", "big 0"], f"{at.user.name}: a client of its own gets nothing signed ({key})")
    listed = at.user.sh("ssh-add -l", env={"SSH_AUTH_SOCK": at.agent})
    tap.ok("one@test" in listed and "two@test" in listed, f"{at.user.name}: and the agent is as before")


def agent_of(at):
    """The status of the agent inside, as the kernel shows it, or ""."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words, open(f"/proc/{pid}/status", encoding="utf-8") as status:
                if words.read().startswith(b"buckle-tls\0ssh\0" + at.agent.encode() + b"\0"):
                    return status.read()
        except OSError:
            continue
    return ""


def test_wall(at):
    """The process that reads what the command sends has a filter and no capabilities. Refusals are in the record."""
    record, seen = os.path.join(at.home, "record"), []

    def look():
        for _ in range(100):
            time.sleep(0.1)
            seen.append(agent_of(at))
            if "\nSeccomp:\t2\n" in seen[-1]:
                break
        at.user.write(f"{at.home}/work/looked", "")

    thread = threading.Thread(target=look)
    thread.start()
    done = at.run(["one@test -> localhost:PORT0"], "ssh-add -D; while ! test -e looked; do sleep 0.1; done; ssh-add -l", record=record)
    thread.join()
    os.unlink(f"{at.home}/work/looked")
    tap.ok("\nSeccomp:\t2\n" in seen[-1] and "\nCapEff:\t0000000000000000\n" in seen[-1], f"{at.user.name}: the agent inside has a wall", seen[-1])
    tap.ok("one@test" in done.out, f"{at.user.name}: and works", done)
    with open(record, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    events = [one for one in lines if one.get("target") == "ssh-agent"]
    tap.ok(len(events) >= 1 and all(one["operation"] == "network-outbound" and one["verdict"] == "deny" and one["pid"] > 0 for one in events) and
           "only listing keys and signing logins is allowed" in json.dumps(events), f"{at.user.name}: a refusal is an event", done, *lines)


def test_keys_of_hosts(at):
    """RSA and ECDSA keys of hosts, and one that known_hosts doesn't have."""
    for kind in ("rsa0", "ecdsa0"):
        port = free_port()
        at.serve(9, port, f"{at.home}/{kind}")
        with open(f"{at.home}/{kind}.pub", encoding="utf-8") as f:
            at.know(port, f.read())
        at.user.sh(f"ssh-keygen -q -H -f {at.home}/.ssh/known_hosts; rm -f {at.home}/.ssh/known_hosts.old")
        old, at.ports[0] = at.ports[0], port
        done = at.run(["one@test -> localhost:PORT0"], "SSH0 echo in0")
        at.ports[0] = old
        tap.ok("in0" in done.out, f"{at.user.name}: a host with {kind}, with hashed names", done)
    done = at.run(["one@test -> unknown.test"], "echo started")
    tap.ok(done.status == 125 and "known_hosts has no key of unknown.test" in done.err and "started" not in done.out, f"{at.user.name}: an unknown host", done)
    for text in ("one@test", "-> a.b", "x -> @a.b", "x -> a.b:", "x -> -oProxyCommand=x"):
        done = at.run([text], "echo started")
        tap.ok(done.status == 125 and "started" not in done.out, f"{at.user.name}: refused: {text}", done)
    done = at.run(["* -> localhost:PORT0"], "echo started", {"SSH_AUTH_SOCK": f"{at.home}/none"})
    tap.ok("started" in done.out, f"{at.user.name}: an agent that is gone", done)


def main():
    if not os.path.exists(SSHD) or not shutil.which("ssh-agent") or not shutil.which("ssh"):
        tap.skip("sshd is not installed")
        return tap.done()
    os.makedirs("/run/sshd", exist_ok=True) if os.geteuid() == 0 else None
    for user in PEOPLE:
        if subprocess.run(["getent", "passwd", str(user.uid)], stdout=subprocess.DEVNULL, check=False).returncode != 0:
            continue  # ssh wants a user that has a name
        at = Place(user)
        try:
            test_logins(at)
            test_attacks(at)
            test_wall(at)
            test_keys_of_hosts(at)
        finally:
            at.end()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
