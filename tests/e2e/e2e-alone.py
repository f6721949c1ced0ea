#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command without a network: connections fail and are reported, loopback works. Prints TAP.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import for_everybody

PYTHON = "/usr/bin/python3"

START = r"""
import ctypes, errno, os, socket, struct, threading, time
S, D = socket.SOCK_STREAM, socket.SOCK_DGRAM

def tried(name, what):
    try:
        print(name, what(), flush=True)
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, e), flush=True)

def connect(kind, where, family=socket.AF_INET):
    with socket.socket(family, kind) as s:
        s.connect(where)

def datagram():
    return socket.socket(socket.AF_INET, D)
"""


def inside(user, script, *options):
    folder = user.folder()
    return user.run(*options, "--", PYTHON, "-c", START + script, cwd=folder)


def events(user, script, *options):
    """The JSON events: (operation, what, errno)."""
    ran = inside(user, script, "--report", "json", *options)
    lines = [json.loads(line) for line in ran.err.splitlines() if line.startswith("{")]
    return [(e.get("operation"), e.get("target"), e.get("errno")) for e in lines], ran


# action, and the reported address
ROADS = (
    ('connect(S, ("192.0.2.1", 443))', "192.0.2.1:443"),
    ('connect(S, ("2001:db8::7", 80), socket.AF_INET6)', "[2001:db8::7]:80"),
    ('connect(S, ("::ffff:192.0.2.2", 80), socket.AF_INET6)', "192.0.2.2:80"),
    ('connect(D, ("192.0.2.3", 9))', "192.0.2.3:9"),
    ('datagram().sendto(b"x", ("192.0.2.4", 9))', "192.0.2.4:9"),
    ('datagram().sendmsg([b"x"], [], 0, ("192.0.2.5", 9))', "192.0.2.5:9"),
    ('connect(S, ("169.254.169.254", 80))', "169.254.169.254:80"),
)

# sendmmsg() has no name in Python
MANY = r"""
libc = ctypes.CDLL(None, use_errno=True)
to = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(9), socket.inet_aton("192.0.2.6"))
data, name = ctypes.create_string_buffer(b"x"), ctypes.create_string_buffer(to)
part = ctypes.create_string_buffer(struct.pack("@PN", ctypes.addressof(data), 1))
head = ctypes.create_string_buffer(struct.pack("@PIPNPNiI", ctypes.addressof(name), 16, ctypes.addressof(part), 1, 0, 0,
                                               0, 0) + bytes(64))
s = datagram()
print("many", libc.sendmmsg(s.fileno(), head, 1, 0), errno.errorcode.get(ctypes.get_errno()))
"""


def test_roads(user, t):
    for road, reported in ROADS:
        got, ran = events(user, f"tried('it', lambda: {road})")
        t.equal(ran.out, "it EPERM\n", f"{reported} is refused: {road}", ran)
        t.ok([e[1] for e in got] == [reported], f"{reported} is reported, once", got, ran)
    got, ran = events(user, MANY)
    t.ok(ran.out == "many -1 EPERM\n" and [e[1] for e in got] == ["192.0.2.6:9"], "sendmmsg() as well", got, ran)
    ran = inside(user, 'tried("it", lambda: connect(S, ("192.0.2.1", 443)))')
    t.ok("192.0.2.1:443" in ran.err and "no network in this profile" in ran.err
         and "--allow-net 192.0.2.1:443" in ran.err, "the summary names it, the reason and the flag", ran)


def test_names(user, t):
    """Programs that resolve a name contact a name server, which is what the report shows."""
    for server in ("192.0.2.53", "127.0.0.53"):
        ran = inside(user, f'tried("it", lambda: datagram().sendto(b"?", ("{server}", 53)))')
        t.ok(f"{server}:53 (a name was looked up; --watch-net shows which)" in ran.err and
             "allow with" not in ran.err, f"a question to {server}", ran)


def test_modifiers(user, t):
    profile = user.profile("modified.sb", '(version 1)\n(allow default)\n(deny network-outbound)\n'
                             '(allow network-outbound (remote unix-socket))\n'
                             '(deny network-outbound (with errno ECONNREFUSED) (remote tcp "*:81"))\n'
                             '(deny network-outbound (with no-report) (remote tcp "*:82"))\n')
    got, ran = events(user, "for p in (80, 81, 82):\n tried(p, lambda: connect(S, ('192.0.2.1', p)))",
                      "--profile", profile)
    t.equal(ran.out, "80 EPERM\n81 ECONNREFUSED\n82 EPERM\n", "a rule says what is answered", ran)
    t.equal([e[1] for e in got], ["192.0.2.1:80", "192.0.2.1:81"], "and whether it is reported", ran)


# a server with a full backlog: only its own client waits
HOME = r"""
def serve(address, family=socket.AF_INET):
    server = socket.socket(family, S); server.bind((address, 0)); server.listen()
    client = socket.socket(family, S); client.connect(server.getsockname()[:2])
    there = server.accept()[0]
    there.sendall(b"hello"); return client.recv(9)
tried("v4", lambda: serve("127.0.0.1"))
tried("any", lambda: serve("0.0.0.0"))
tried("v6", lambda: serve("::1", socket.AF_INET6))
tried("nobody", lambda: connect(S, ("127.0.0.1", 9)))
def whose():
    a, b = datagram(), datagram()
    a.bind(("127.0.0.1", 0)); b.sendto(b"x", a.getsockname()); b.connect(a.getsockname()); b.send(b"y")
    return a.recv(9), a.recv(9)
tried("datagrams", whose)
def kept():
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", 7, 0))
    server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen()
    s.connect(server.getsockname())
    return struct.unpack("@ll", s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16))
tried("its own patience", kept)
"""

FULL = r"""
def crowd(family, where):
    "Connections to a server that accepts nobody, until one has to wait."
    server = socket.socket(family, S); server.bind(where); server.listen(0)
    held = []
    for i in range(8):
        s = socket.socket(family, S); s.setblocking(False)
        try:
            s.connect(server.getsockname())
        except BlockingIOError as e:
            held.append(errno.errorcode[e.errno])
            break
        held.append(s)
    return server, held
def waits(family, where, wanted):
    server, held = crowd(family, where)
    told = held[-1] if isinstance(held[-1], str) else "never full"
    done, late = [], socket.socket(family, S)
    def go():
        late.connect(server.getsockname()); done.append(True)
    thread = threading.Thread(target=go, daemon=True); thread.start()
    time.sleep(0.3)
    other = serve("127.0.0.1")
    early = list(done)
    for _ in held:
        server.setblocking(False)
        try: server.accept()[0].close()
        except BlockingIOError: time.sleep(0.1)
    thread.join(20)
    return told == wanted, early, other, done
tried("tcp", lambda: waits(socket.AF_INET, ("127.0.0.1", 0), "EINPROGRESS"))
tried("unix", lambda: waits(socket.AF_UNIX, "full", "EAGAIN"))
"""


def test_home(user, t):
    ran = inside(user, HOME)
    t.quiet(ran, "servers of its own, and nothing is reported",
            "v4 b'hello'\nany b'hello'\nv6 b'hello'\nnobody ECONNREFUSED\ndatagrams (b'x', b'y')\n"
            "its own patience (7, 0)\n")
    ran = inside(user, HOME.split("tried(")[0] + FULL)
    t.quiet(ran, "whoever waits for a full server waits alone, and gets in when there is room",
            "tcp (True, [], b'hello', [True])\nunix (True, [], b'hello', [True])\n")


if __name__ == "__main__":
    for_everybody([test_roads, test_names, test_modifiers, test_home])
    sys.exit(tap.done())
