#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that want the gate's memory or time: long and slow headers, slow bodies, HTTP/2 resets, continuations and header bombs,
renegotiation, broken records among those of others. Memory stays bounded, and another connection is served meanwhile. Prints TAP.
"""

import base64
import contextlib
import importlib.util
import os
import socket
import ssl
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import PEOPLE


def load(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(os.path.dirname(os.path.abspath(__file__)), f"e2e-{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROXY, REQUESTS, TLS, HANDLING = (load(name) for name in ("proxy", "requests", "tls", "handling"))
PKI = PROXY.PKI = PROXY.TLS.PKI
MIB = 1 << 20
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


def memory(proxy):
    """What all processes of the proxy have in memory, in MiB."""
    pids, total = {proxy.child.pid}, 0
    for _ in range(3):
        pids |= {int(p) for p in os.listdir("/proc") if p.isdigit() and PROXY.parent(p) in pids}
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm", encoding="ascii") as f:
                resident, shared = (int(n) for n in f.read().split()[1:3])
                total += (resident - shared) * 4096
        except OSError:
            pass
    return total / MIB


def tunnel(proxy, port):
    host, at = proxy.ready["listen"][0].split(":")
    s = socket.create_connection((host, int(at)), timeout=30)
    login = base64.b64encode(proxy.url().split("//")[1].split("@")[0].encode()).decode()
    s.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\nProxy-Authorization: Basic {login}\r\n\r\n".encode())
    assert b" 200 " in s.recv(4096)
    return s


def frame(kind, flags, stream, data):
    return len(data).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + data


def literal(name, value, index=False):
    def text(t):
        n = len(t)
        if n < 127:
            return bytes([n]) + t
        out, n = bytes([127]), n - 127
        while n >= 128:
            out += bytes([n % 128 + 128])
            n //= 128
        return out + bytes([n]) + t
    return (b"\x40" if index else b"\0") + text(name) + text(value)


def request(port, path=b"/v1/x", more=b""):
    return literal(b":method", b"GET") + literal(b":scheme", b"http") + literal(b":path", path) + literal(b":authority", b"localhost:%d" % port) + more


def push(s, data):
    """Sends as far as the other side goes along; returns whether it took everything."""
    try:
        s.sendall(data)
        return True
    except OSError:
        return False


def served(proxy, port):
    began = time.monotonic()
    out = PROXY.sh(proxy, f"curl -sS -m 20 -p http://localhost:{port}/v1/x")
    return out.startswith("yes") and time.monotonic() - began < 20


def long_heads(proxy, port):
    return [s for _ in range(200) if push(s := tunnel(proxy, port), b"GET /v1/x HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 60000)]


def slow_heads(proxy, port):
    return [s for _ in range(300) if push(s := tunnel(proxy, port), b"G")]


def slow_bodies(proxy, port):
    return [s for _ in range(200) if push(s := tunnel(proxy, port),
            b"POST /rpc/send HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 1000000000\r\n\r\nx" % port)]


def resets(proxy, port):
    s = tunnel(proxy, port)
    block = request(port)
    data = b"".join(frame(1, 5, i * 2 + 1, block) + frame(3, 0, i * 2 + 1, b"\0\0\0\x08") for i in range(20000))
    push(s, PREFACE + data)
    return [s]


def denied_streams(proxy, port):
    """Each gets an answer of the gate's own, which nobody reads."""
    s = tunnel(proxy, port)
    block = request(port, b"/v2")
    s.settimeout(5)
    push(s, PREFACE + b"".join(frame(1, 5, i * 2 + 1, block) for i in range(60000)))
    return [s]


def continuations(proxy, port):
    s = tunnel(proxy, port)
    push(s, PREFACE + frame(1, 1, 1, request(port)) + b"".join(frame(9, 0, 1, literal(b"x-a", b"b" * 16000)) for _ in range(4000)))
    return [s]


def empty_continuations(proxy, port):
    s = tunnel(proxy, port)
    push(s, PREFACE + frame(1, 1, 1, request(port)) + frame(9, 0, 1, b"") * 500000)
    return [s]


def bomb(proxy, port):
    """One field of 4000 bytes, named by an index of one byte 15000 times."""
    s = tunnel(proxy, port)
    push(s, PREFACE + frame(1, 5, 1, request(port, more=literal(b"x-a", b"b" * 3900, index=True))))
    for i in range(50):
        push(s, frame(1, 5, i * 2 + 3, request(port, more=b"\xbe" * 15000)))
    return [s]


def pings(proxy, port):
    s = tunnel(proxy, port)
    s.settimeout(5)
    push(s, PREFACE + frame(6, 0, 0, b"01234567") * 300000)
    return [s]


def settings_flood(proxy, port):
    s = tunnel(proxy, port)
    s.settimeout(5)
    push(s, PREFACE + frame(4, 0, 0, b"\0\1\0\0\x10\0") * 100000)
    return [s]


ATTACKS = [("200 headers of 60 kB without an end", long_heads), ("300 headers that begin", slow_heads), ("200 bodies that never end", slow_bodies),
           ("20,000 requests that are reset at once", resets), ("60,000 denied requests", denied_streams),
           ("64 MB of continuations", continuations), ("500,000 empty continuations", empty_continuations),
           ("a header bomb", bomb), ("300,000 pings", pings), ("100,000 settings", settings_flood)]


def attack(user, server):
    port = server.port
    rules = {"main": {"network": {"allowedRequests": [f"GET localhost:{port}/v1/**", f"POST localhost:{port}/rpc/send"]}}}
    with PROXY.Proxy(user, "--quiet", settings=rules) as proxy:
        served(proxy, port)
        before = memory(proxy)
        for name, act in ATTACKS:
            held = act(proxy, port)
            fine = served(proxy, port)
            grown = memory(proxy) - before
            tap.ok(fine and grown < 64, f"{user.name}: {name}: others are served, and memory is bounded", f"{grown:.1f} MiB more; served: {fine}")
            for s in held:
                s.close()
        # what they took is given back, or used again
        for name, act in ATTACKS[:3]:
            for s in act(proxy, port):
                s.close()
        tap.ok(served(proxy, port) and memory(proxy) - before < 64, f"{user.name}: and again: no more than before", f"{memory(proxy) - before:.1f} MiB more")


def renegotiate(user):
    server = PROXY.TLS.serve("good")
    port = server.server_address[1]
    rules = {"main": {"network": {"allowedRequests": [f"GET localhost:{port}/v1/**"]}}}
    with PROXY.Proxy(user, settings=rules) as proxy:
        place, login = proxy.ready["listen"][0], proxy.url().split("//")[1].split("@")[0]
        name, word = login.split(":")
        done = subprocess.run(["openssl", "s_client", "-tls1_2", "-proxy", place, "-proxy_user", name, "-proxy_pass", f"pass:{word}", "-connect",
                               f"localhost:{port}", "-servername", "localhost", "-CAfile", proxy.ca], input=b"R\nGET /v1/x HTTP/1.0\r\n\r\n", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60, check=False)
        text = done.stdout.decode("utf-8", "replace")
        tap.ok("RENEGOTIATING" in text and "GET /v1/x 0" not in text and ("no renegotiation" in text or "handshake failure" in text or "error" in text),
               f"{user.name}: renegotiation is refused", text[-800:])
        out = PROXY.sh(proxy, f"curl -sS https://localhost:{port}/v1/x")
        tap.ok("GET /v1/x 0" in out, f"{user.name}: others are served", out)


class Client:
    """A kept connection whose TLS ends in the gate."""

    def __init__(self, proxy, port):
        self.raw = tunnel(proxy, port)
        self.raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = ssl.create_default_context(cafile=proxy.ca)
        self.tls = context.wrap_socket(self.raw, server_hostname="localhost")
        self.lines = self.tls.makefile("rb")

    def ask(self, path):
        self.tls.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def answer(self):
        """Status and body, or None if the connection has ended."""
        try:
            status, size = self.lines.readline().split(b" ")[1], 0
            while (line := self.lines.readline().lower()) not in (b"\r\n", b""):
                size = int(line.split(b":")[1]) if line.startswith(b"content-length:") else size
            return status.decode(), self.lines.read(size)
        except (OSError, IndexError):
            return None

    def break_record(self):
        """What is no TLS, in the middle of it."""
        os.write(self.tls.fileno(), b"\x17\x03\x03\x00\x20" + b"not encrypted by anybody's keys.")


def at_once(user):
    """Connections that the gate serves in the same turns: their bytes go to buckle-tls in one call."""
    server = PROXY.TLS.serve("good")
    port = server.server_address[1]
    rules = {"main": {"network": {"allowedRequests": [f"GET localhost:{port}/v1/**"]}}}
    with PROXY.Proxy(user, settings=rules) as proxy:
        clients = [Client(proxy, port) for _ in range(12)]
        wrong, others = [], {3: None, 7: None}
        for turn in range(40):
            for i, client in enumerate(clients):
                if turn == 10 and i == 3:
                    client.break_record()
                elif turn == 15 and i == 7:
                    client.ask("/v2/denied")
                elif i not in others or (others[i] is None and turn < 10):
                    client.ask(f"/v1/{i}/{turn}")
            for i, client in enumerate(clients):
                if turn == 10 and i == 3 or turn == 15 and i == 7:
                    others[i] = client.answer()
                elif i not in others or turn < 10:
                    got = client.answer()
                    if got != ("200", f"GET /v1/{i}/{turn} 0\n".encode()):
                        wrong.append((i, turn, got))
        tap.equal(wrong, [], f"{user.name}: twelve connections at once: each gets its own answers")
        tap.ok(others[3] is None, f"{user.name}: the one that breaks TLS ends", others[3])
        tap.ok(others[7] and others[7][0] == "403" and "GET /v2/denied" not in server.seen, f"{user.name}: a denied request is only its own", others[7])
        large = [clients[i] for i in (0, 1, 2, 4)]
        for client in large:
            client.ask("/v1/large")
        large.pop().tls.shutdown(socket.SHUT_RDWR)
        bodies = [client.answer() for client in large]
        tap.ok(bodies == [("200", b"0123456789abcdef" * (256 << 10))] * 3, f"{user.name}: large answers at once, one of whose clients leaves",
               [got and (got[0], len(got[1])) for got in bodies])


def is_open(client, seconds):
    client.tls.settimeout(seconds)
    try:
        return client.tls.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


@contextlib.contextmanager
def slow(user):
    """A client may stay for as long as it wants, but it has 30 seconds for a header."""
    server = PROXY.TLS.serve("good")
    port = server.server_address[1]
    rules = {"main": {"network": {"allowedRequests": [f"GET localhost:{port}/v1/**"]}}}
    with PROXY.Proxy(user, settings=rules) as proxy:
        begun, idle, between = (Client(proxy, port) for _ in range(3))
        for client in (idle, between):
            client.ask("/v1/x")
            client.answer()
        for client in (begun, between):
            client.tls.sendall(b"GET /v1/x HTTP/1.1\r\nHost: loc")
        began = time.monotonic()
        tap.ok(is_open(begun, 1) and is_open(between, 1), f"{user.name}: half a header is waited for")
        yield
        time.sleep(max(0, began + 34 - time.monotonic()))
        tap.ok(not is_open(begun, 1) and not is_open(between, 1), f"{user.name}: but not for long, nor a second one")
        tap.ok(proxy.said().count("header took too long") >= 1, f"{user.name}: which is reported", proxy.said()[-500:])
        idle.tls.settimeout(10)
        idle.ask("/v1/y")
        tap.equal(idle.answer(), ("200", b"GET /v1/y 0\n"), f"{user.name}: a connection without one stays")


def main():
    PROXY.TLS.make_pki()
    server = REQUESTS.Server()
    for user in PEOPLE[-1:]:
        with slow(user):
            attack(user, server)
            renegotiate(user)
            at_once(user)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
