#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The network filtered by name without a network namespace: the judge connects. Prints TAP.

The guarantees are the same as with a namespace, so most tests are the same.
"""

import glob
import importlib
import os
import shutil
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import internet
import netbox
import tap
from drive import FOLDER
from internet import OTHER4, SERVER4
from world import BIN, TOOLS, escape, people, until

net_tests, client_tests, attack_tests, gate_tests = (
    importlib.import_module(name) for name in ("e2e-net", "e2e-clients", "e2e-attacks", "e2e-gate"))

PRETEND = "user_ns=0,mount_ns=0,pid_ns=0,net_ns=0,ipc_ns=0,uts_ns=0"

# Prints one "name: result" per line.
ATTACK = r"""
import ctypes, errno, os, select, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
allowed, denied = (sys.argv[1], 8080), (sys.argv[2], 8080)
I, S, FAST = socket.AF_INET, socket.SOCK_STREAM, 0x20000000

def tried(name, what):
    try:
        print(name + ":", what())
    except OSError as e:
        print(name + ":", errno.errorcode.get(e.errno, e))

def fetch(s):
    s.settimeout(5)
    s.send(b"GET /where HTTP/1.0\r\n\r\n")
    return "answered" if s.recv(99).startswith(b"HTTP/1.1 200") else "closed"

def dial(to, family=I):
    with socket.socket(family, S) as s:
        s.settimeout(5)
        s.connect(to)
        return fetch(s)

def later(to):
    with socket.socket(I, S) as s:
        s.setblocking(False)
        first = s.connect_ex(to)
        select.select([], [s], [], 5)
        error = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        again = s.connect_ex(to)
        if first not in (0, errno.EINPROGRESS) or error or again not in (0, errno.EISCONN):
            return "odd", first, error, again
        return fetch(s)

def again(first, then):
    with socket.socket(I, S) as s:
        s.connect(first)
        if libc.connect(s.fileno(), b"\0" * 16, 16) < 0:
            raise OSError(ctypes.get_errno(), "")
        s.connect(then)
        return fetch(s)

def deferred(to):
    with socket.socket(I, S) as s:
        s.setsockopt(socket.IPPROTO_TCP, 30, 1)  # TCP_FASTOPEN_CONNECT
        s.connect(to)
        return fetch(s)

def serve(address):
    with socket.socket(I, S) as s:
        s.bind(address)
        s.listen()
        return "listens"

def in_child(to):
    with socket.socket(I, S) as s:
        pid = os.fork()
        if pid == 0:
            s.connect(to)
            try:
                os._exit(0 if fetch(s) == "answered" else 1)
            except OSError:
                os._exit(1)
        return "closed" if os.waitpid(pid, 0)[1] else "answered"

tried("plain", lambda: dial(allowed))
tried("mapped", lambda: dial(("::ffff:" + allowed[0], allowed[1]), socket.AF_INET6))
tried("later", lambda: later(allowed))
tried("again", lambda: again(denied, allowed))
tried("deferred", lambda: deferred(allowed))
tried("in a child", lambda: in_child(allowed))
tried("denied plain", lambda: dial(denied))
tried("denied mapped", lambda: dial(("::ffff:" + denied[0], denied[1]), socket.AF_INET6))
tried("denied later", lambda: later(denied))
tried("denied again", lambda: again(allowed, denied))
tried("denied deferred", lambda: deferred(denied))
tried("denied in a child", lambda: in_child(denied))
tried("denied loopback", lambda: dial(("127.0.0.1", 18099)))
tried("denied nowhere", lambda: dial(("0.0.0.0", 18099)))
tried("fast sendto", lambda: socket.socket(I, S).sendto(b"x", FAST, denied))
tried("fast sendmsg", lambda: socket.socket(I, S).sendmsg([b"x"], [], FAST, denied))
tried("server", lambda: serve(("127.0.0.1", 0)))
tried("server at a port", lambda: serve(("0.0.0.0", 18098)))
for name, family, kind, proto in (
        ("udp", I, 2, 0), ("udp6", 10, 2, 0), ("icmp", I, 2, 1), ("raw", I, 3, 1), ("sctp", I, 1, 132),
        ("packets", I, 5, 0), ("mptcp", I, 1, 262), ("dccp", I, 6, 0), ("link", 17, 3, 0),
        ("vsock", 40, 1, 0), ("alg", 38, 5, 0), ("smc", 43, 1, 0)):
    tried("kind " + name, lambda: socket.socket(family, kind, proto) and "made")
"""

NOT_THERE = ("EPERM", "EAFNOSUPPORT", "ESOCKTNOSUPPORT", "EPROTONOSUPPORT", "EINVAL")


def listen(net, where, address):
    server = net.net.socket_in(where, socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(address)
    server.listen(64)
    return server


class Counter(threading.Thread):
    """A server that sends one byte and counts its clients."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.count = server, 0
        self.start()

    def run(self):
        while True:
            try:
                conn = self.server.accept()[0]
                self.count += 1
                conn.sendall(b"x")
                conn.close()
            except OSError:
                return

    def end(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


def test_attacks(net, who):
    path = os.path.join(FOLDER, "attack.py")
    with open(path, "w", encoding="ascii") as f:
        f.write(ATTACK)
    host = Counter(listen(net, net.net.home, ("127.0.0.1", 18099)))
    done = net.boxed(who, f"python3 {path} {SERVER4} {OTHER4}", ["-v"], timeout=60)
    got = dict(line.split(": ", 1) for line in done.out.splitlines() if ": " in line)
    for name in ("plain", "mapped", "later", "again", "deferred", "in a child"):
        kept = name == "again" and "container" in who.name  # a connected socket stays connected
        tap.ok(got.get(name) == ("EISCONN" if kept else "answered"),
               f"{who.name}: an allowed address: {name}", got, done)
    for name in (n for n in got if n.startswith("denied")):
        tap.ok(got[name] in ("ECONNRESET", "EPIPE", "closed", "EISCONN"),
               f"{who.name}: {name}: no answer", got[name], done)
    tap.equal([got.get("fast sendto"), got.get("fast sendmsg")], ["ENOTSUP"] * 2,
              f"{who.name}: connecting by sending is not there")
    tap.equal([got.get("server"), got.get("server at a port")], ["EPERM"] * 2,
              f"{who.name}: servers would be heard by the host's network, and are denied")
    wrong = [n for n in got if n.startswith("kind") and got[n] not in NOT_THERE]
    tap.ok(not wrong and len(got) == 30, f"{who.name}: no socket except for TCP", *wrong, done)
    tap.ok(all(text in done.err for text in (f"{OTHER4}:8080", "127.0.0.1:18099", "0.0.0.0:18098")),
           f"{who.name}: and what was denied is reported", done)
    tap.equal(host.count, 0, f"{who.name}: nobody came to the host's own server")
    host.end()


def test_race(net, who):
    allowed = Counter(listen(net, net.net.world, (SERVER4, 18097)))
    denied = Counter(listen(net, net.net.world, (OTHER4, 18097)))
    done = net.boxed(who, " ".join(escape("race-dial", 1, SERVER4, OTHER4, 18097)),
                     ["--report", "none", "--allow-net", f"{SERVER4}:18097"], timeout=40)
    figures = dict(line.split() for line in done.out.splitlines() if line.count(" ") == 1)
    tap.ok(int(figures.get("passed", 0)) > 5 and int(figures.get("refused", 0)) > 5,
           f"{who.name}: addresses that change while they are judged: both outcomes were met", done)
    tap.ok(denied.count == 0 and allowed.count > 5,
           f"{who.name}: and nobody came to the denied one", denied.count, allowed.count)
    allowed.end()
    denied.end()


def test_strangers(net, who):
    """Other processes on this machine get nothing from the gate."""
    result = []

    def outside():
        found = until(lambda: [p for p in glob.glob(FOLDER + "/w*/in/proxy-port")
                               if os.path.getsize(p)], 15)
        if not found:
            return
        path = glob.glob(FOLDER + "/w*/in/proxy-port")[0]
        with open(path, encoding="ascii") as f:
            port = int(f.read())
        with net.net.socket_in(net.net.home, socket.AF_INET, socket.SOCK_STREAM) as s:
            s.settimeout(5)
            s.connect(("127.0.0.1", port))
            s.sendall(b"CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n")
            result.append(s.recv(99).split(b"\r\n")[0])
        os.unlink(path)

    thread = threading.Thread(target=outside)
    thread.start()
    net.boxed(who, "echo ${HTTPS_PROXY##*:} > proxy-port; "
              "for i in $(seq 100); do test -e proxy-port || break; sleep 0.1; done", way="proxy")
    thread.join()
    tap.ok(result and b" 407 " in result[0] + b" ", f"{who.name}: the proxies want the run's token",
           *result)


def test_plan(net, who):
    done = net.boxed(who, "true", ["--dry-run"])
    tap.ok("no network namespace" in done.out and "datagrams are refused" in done.out,
           f"{who.name}: the plan says what is weaker", done)


def test_ports(net, who):
    """Ports of the host's loopback, which the command shares."""
    fetch = "curl -sS -m 5 --noproxy '*' telnet://127.0.0.1:{} </dev/null"
    host = Counter(listen(net, net.net.home, ("127.0.0.1", 18080)))
    done = net.boxed(who, fetch.format(18080), ["--allow-net", "localhost:18080"])
    tap.ok(done.out == "x" and host.count == 1, f"{who.name}: a port of loopback that is allowed", done)
    done = net.boxed(who, fetch.format(18080), ["--allow-net", "localhost:18081"])
    tap.ok(host.count == 1 and "127.0.0.1:18080" in done.err, f"{who.name}: and only that", done)
    host.end()
    serve = "import socket; s = socket.create_server(('127.0.0.1', {})); print(s.accept()[1][0])"
    received = []

    def call():
        def one():
            with net.net.socket_in(net.net.home, socket.AF_INET, socket.SOCK_STREAM) as s:
                return s.connect_ex(("127.0.0.1", 18096)) == 0
        received.append(until(one, 10))

    thread = threading.Thread(target=call)
    thread.start()
    done = net.boxed(who, f'python3 -c "{serve.format(18096)}"', ["--publish", "18096"])
    thread.join()
    tap.ok(done.out == "127.0.0.1\n" and received == [True], f"{who.name}: a server that is published", done)
    done = net.boxed(who, f'python3 -c "{serve.format(18095)}"', ["--publish", "18096"])
    tap.ok(done.status == 1 and "127.0.0.1:18095" in done.err, f"{who.name}: and no other", done)


def move(who, place, *words):
    """From now on the user's commands run where the kernel refuses these calls (tests/probe/pretend.c)."""
    path = os.path.join(BIN, "buckle-" + "-".join(words))
    shutil.copy(os.path.join(TOOLS, "pretend"), BIN)
    with open(path, "w", encoding="ascii") as f:
        f.write(f'#!/bin/sh\nexec setpriv --no-new-privs {BIN}/pretend {" ".join(words)} -- {BIN}/buckle "$@"\n')
    os.chmod(path, 0o755)
    del who.env["BUCKLE_PRETEND"]
    who.buckle, who.name = lambda: path, f"{who.name}, {place}"


def test_container(net, who):
    """As in Docker: a filter refuses namespaces and pidfd_getfd."""
    move(who, "in a container", "no-namespaces", "no-getfd")
    for test in (test_attacks, test_race, net_tests.test_clients):
        test(net, who)


# the same guarantees as with a namespace
CHOSEN = (net_tests.test_clients, client_tests.test_git, client_tests.test_ssh, attack_tests.test_fronting,
          attack_tests.test_names, gate_tests.test_others, gate_tests.test_proxies, gate_tests.test_own_addresses)


def main():
    why = internet.missing()
    if not why and not shutil.which("nginx"):
        why = "nginx is not installed"
    if why:
        tap.skip(why)
        return tap.done()
    everybody = people()
    net = netbox.Net()
    for who in everybody:
        who.env["BUCKLE_PRETEND"] = PRETEND
        for test in (test_attacks, test_race, test_ports, test_strangers, test_plan):
            test(net, who)
        for test in CHOSEN if who.uid else ():
            test(net, who)
        if who.uid:
            test_container(net, who)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
