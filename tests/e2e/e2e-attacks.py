#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on a network that is filtered by name: each is refused or harmless, reported, and limited in
memory. Prints TAP.
"""

import os
import resource
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import netbox
import tap
from internet import HOME4, OTHER4, OTHER6, SERVER4
from netbox import CURL, PROFILE, TALK, is_reached, listener_at_home, talk
from running import SLOW
from world import World

ROOM = 5 if SLOW else 1  # sanitizers pad all allocations
if "ASAN_OPTIONS" in os.environ:
    os.environ["ASAN_OPTIONS"] += ":quarantine_size_mb=16"  # and keep up to 256 MiB of freed memory
GATE_KIB = 4096 * ROOM  # beyond idle memory

# ---- other names ----


def test_fronting(net, who):
    done = net.boxed(who, CURL + "-H 'Host: denied.test' http://allowed.test/where")
    tap.ok("denied.test" not in done.out and "the request names denied.test" in done.err,
           f"{who.name}: another Host is refused and reported", done)
    done = net.boxed(who, CURL + f"-k --connect-to denied.test:443:allowed.test:443 "
                     "https://denied.test/where")
    tap.ok("denied.test" not in done.out and "hello names denied.test" in done.err,
           f"{who.name}: another name in the TLS hello is refused and reported", done)
    done = net.boxed(who, CURL + "-k -x http://allowed.test:3128 http://x.test/; "
                     "curl -sS -m 5 -k --proxytunnel -x $HTTPS_PROXY --connect-to "
                     "denied.test:443:allowed.test:443 https://denied.test/where", way="proxy")
    tap.ok("denied.test" not in done.out and "hello names denied.test" in done.err,
           f"{who.name}: the same through CONNECT", done)
    second = ("printf 'GET /where HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n"
              "GET /where HTTP/1.1\\r\\nHost: denied.test\\r\\n\\r\\n' | "
              "timeout 5 bash -c 'exec 3<>/dev/tcp/allowed.test/80; cat >&3; cat <&3'")
    done = net.boxed(who, second)
    tap.ok("allowed.test" in done.out and "denied.test " not in done.out
           and "the request names denied.test" in done.err,
           f"{who.name}: another Host in a second request is refused and reported", done)


# name: what is sent to allowed.test; {host} is empty for a connection, and the address for a proxy
SMUGGLED = {
    "CL.TE": "POST {host}/ HTTP/1.1\r\nHost: allowed.test\r\n{login}Content-Length: 6\r\n"
             "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
    "TE.CL": "POST {host}/ HTTP/1.1\r\nHost: allowed.test\r\n{login}Transfer-Encoding: chunked\r\n"
             "Content-Length: 4\r\n\r\n5c\r\n",
    "TE twice": "POST {host}/ HTTP/1.1\r\nHost: allowed.test\r\n{login}Transfer-Encoding: chunked\r\n"
                "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "TE with another word": "POST {host}/ HTTP/1.1\r\nHost: allowed.test\r\n{login}"
                            "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "two lengths": "POST {host}/ HTTP/1.1\r\nHost: allowed.test\r\n{login}Content-Length: 0\r\n"
                   "Content-Length: 40\r\n\r\n",
    "obs-fold": "GET {host}/where HTTP/1.1\r\nHost: allowed.test\r\n{login}X: a\r\n b\r\n\r\n",
    "bare LF": "GET {host}/where HTTP/1.1\nHost: allowed.test\n{login}\n",
    "a space before the colon": "GET {host}/where HTTP/1.1\r\nHost : allowed.test\r\n{login}\r\n",
    "two hosts": "GET {host}/where HTTP/1.1\r\nHost: allowed.test\r\nHost: denied.test\r\n{login}\r\n",
    "another host than the target's": "GET http://allowed.test/where HTTP/1.1\r\nHost: denied.test\r\n{login}\r\n",
    "a giant header": "GET {host}/where HTTP/1.1\r\nHost: allowed.test\r\n{login}X: {giant}",
    "very many fields": "GET {host}/where HTTP/1.1\r\nHost: allowed.test\r\n{login}{fields}\r\n",
    "a leading line end": "\r\nGET {host}/where HTTP/1.1\r\nHost: allowed.test\r\n{login}\r\n",
    "a method in small letters": "get {host}/where HTTP/1.1\r\nHost: allowed.test\r\n{login}\r\n",
}

# prints the status line of the answer, or nothing
SMUGGLE = """
text = {text!r}.replace("{{login}}", BASIC.decode() if {proxied} else "")
text = text.replace("{{host}}", "http://allowed.test" if {proxied} else "")
text = text.replace("{{giant}}", "a" * 300000).replace("{{fields}}", "a: b\\r\\n" * 5000)
s = to(3128) if {proxied} else socket.create_connection(("allowed.test", 80))
try:
    s.settimeout(8); s.sendall(text.encode())
except OSError:
    pass
print("answer:", all_of(s).decode("latin-1").split("\\r")[0])
"""


def test_smuggling(net, who):
    for name, text in SMUGGLED.items():
        for proxied in (False, True):
            log = open(os.path.join(netbox.FOLDER, "access.log"), "rb")
            log.seek(0, os.SEEK_END)
            done = talk(net, who, SMUGGLE.format(text=text, proxied=proxied))
            answer = done.out.replace("answer: ", "").strip()
            way = "through the proxy" if proxied else "directly"
            tap.ok(done.out and (answer == "" or answer.split()[1][0] == "4") and not log.read(),
                   f"{who.name}: {name}, {way}: refused, and no server hears of it", answer, done)
            if not proxied:
                tap.ok("allowed.test:80 (" in done.err, f"{who.name}: {name}, {way}: reported", done)
            log.close()


# ---- addresses ----

# the same address in all spellings that clients and servers accept
LOOPBACK = ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1", "127.0.0.1.",
            "[::1]", "[::ffff:127.0.0.1]", "localhost", "0.0.0.0", "[::]", "localhost.", "LOCALHOST", "a.localhost"]


ASK_PROXY = """
for host in {hosts!r}:
    s = to(3128)
    s.sendall(f"CONNECT {{host}}:{port} HTTP/1.1\\r\\nHost: {{host}}:{port}\\r\\n".encode() + BASIC + b"\\r\\n")
    by_http = all_of(s)[9:12].decode()
    bare = host.strip("[]")
    try:
        by_socks = socks(to(1080), bare, {port})[1]
    except (IndexError, OSError):
        by_socks = "closed"
    print(host, by_http, by_socks)
"""


def test_connect_to_loopback(net, who):
    listener = listener_at_home(net, "127.0.0.1", 18022)
    done = talk(net, who, ASK_PROXY.format(hosts=LOOPBACK, port=18022))
    rows = [line.split() for line in done.out.splitlines()]
    tap.ok(len(rows) == len(LOOPBACK) and all(row[1] in ("403", "400") and row[2] != "0" for row in rows) and
           not is_reached(listener), f"{who.name}: CONNECT and SOCKS to loopback spelled {len(LOOPBACK)} ways", done)
    tap.ok("127.0.0.1:18022" in done.err and "denied" in done.err, f"{who.name}: and reported", done)
    listener.close()


def test_raw_addresses(net, who):
    hosts = [OTHER4, f"[{OTHER6}]", "3405803796", f"[::ffff:{OTHER4}]", "169.254.169.254", HOME4]
    done = talk(net, who, ASK_PROXY.format(hosts=hosts, port=80))
    rows = [line.split() for line in done.out.splitlines()]
    tap.ok(len(rows) == len(hosts) and all(row[1:] == ["403", "2"] for row in rows) and OTHER4 in done.err and
           OTHER6 in done.err, f"{who.name}: CONNECT and SOCKS to addresses without a rule", done)


def test_itself(net, who):
    """Requests to the proxies for themselves, each other and the ports behind them."""
    hosts = ["127.0.0.1", "localhost", "198.18.0.1", "[::1]"]
    for port in (3128, 1080, 64053, 64055):
        done = talk(net, who, ASK_PROXY.format(hosts=hosts, port=port))
        rows = [line.split() for line in done.out.splitlines()]
        tap.ok(len(rows) == len(hosts) and all(row[1] == "403" and row[2] == "2" for row in rows),
               f"{who.name}: the gate does not call itself at port {port}", done)


def test_rebinding(net, who):
    """A name that resolves differently the second time."""
    listener = listener_at_home(net, "127.0.0.1", 80)
    net.net.turns.clear()
    done = net.boxed(who, f"for i in 1 2 3 4; do {CURL} http://flip.test/hello; done",
                     profile=PROFILE + '(allow network-outbound (domain "flip.test"))')
    tap.ok(done.out.count("hello there\n") >= 1 and not is_reached(listener) and "flip.test:80 (127.0.0.1 is loopback)"
           in done.err, f"{who.name}: what was checked is what is dialled, each time", done)
    listener.close()


def test_names(net, who):
    before = len(net.net.asked)
    done = net.boxed(who, "for i in 1 2 3; do getent hosts secret-$i.denied.test; done; "
                     "getent hosts allowed.test >/dev/null && echo found")
    asked = [n for n in net.net.asked[before:] if "secret" in n]
    tap.ok(done.out == "found\n" and not asked and "secret-1.denied.test" in done.err,
           f"{who.name}: nothing can be told to the world in labels", asked, done)



MANY_NAMES = """python3 - <<'E'
import os, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.connect(("192.0.2.53", 53))
def ask(name):
    s.send(struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
           + struct.pack(">BHH", 0, 1, 1))
    return s.recv(600)[3] & 15
open("begun", "w").close()
while not os.path.exists("go"): pass
codes = {ask("x" * 50 + "%d.allowed.test" % i) for i in range(30000)} | {ask("y%d.denied.test" % i) for i in range(2000)}
print(sorted(codes), ask("allowed.test"))
open("asked", "w").close()
while not os.path.exists("end"): pass
E"""


def test_very_many_names(net, who):
    going = net.start(who, MANY_NAMES, ["--report", "none"])
    going.await_file("begun")
    before, asked = going.gate_memory(), len(net.net.asked)
    going.touch("go")
    going.await_file("asked", 120)
    after = going.gate_memory()
    going.touch("end")
    done = going.end()
    tap.ok(done.out.startswith("[") and "3" in done.out and done.out.endswith(" 0\n"),
           f"{who.name}: 32,000 names: answered or refused, and the first still works", done)
    tap.ok(before and after - before <= 4 * GATE_KIB, f"{who.name}: they take {after - before} KiB of the gate", before)
    tap.equal(net.net.asked[asked:], [], f"{who.name}: and none reaches the world")


# ---- other protocols ----

ROADS = """python3 - <<'E'
import errno, os, socket, struct
def tried(name, make):
    try:
        make(); print(name, "ok")
    except OSError as e:
        print(name, "refused")
tried("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
tried("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
tried("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP))
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3)
    s.connect(("203.0.113.10", 443)); s.send(b"x"); s.recv(1)
tried("udp", udp)
def echo(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP); s.settimeout(3)
    s.sendto(b"\\x08\\0\\0\\0\\0\\0\\0\\0", (address, 0)); s.recv(10)
def icmp():
    try:
        echo("203.0.113.99")  # which nobody has: the sandbox's own kernel answers for every address
    except OSError:
        return echo("203.0.113.10")
    raise OSError
tried("icmp", icmp)
def netlink(protocol, kind, flags, body):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol); s.settimeout(3)
    s.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
    code = struct.unpack("=i", s.recv(4096)[16:20])[0]
    if code:
        raise OSError(-code, "")
NEWLINK, DELROUTE, REQUEST_ACK = 16, 25, 5
tried("link down", lambda: netlink(0, NEWLINK, REQUEST_ACK, struct.pack("=BxHiII", 0, 0, 1, 0, 1)))
tried("route away", lambda: netlink(0, DELROUTE, REQUEST_ACK, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 255, 0, 254, 2, 0)))
tried("rules away", lambda: netlink(12, 10 << 8 | 2, REQUEST_ACK, struct.pack("=BBH", 1, 0, 0)))
tried("setns", lambda: os.setns(os.open("/proc/1/ns/net", os.O_RDONLY)) if hasattr(os, "setns") else (_ for _ in ()).throw(OSError))
E"""


def test_other_roads(net, who):
    done = net.boxed(who, ROADS + "\n" + CURL + "http://denied.test/hello; " + CURL + "http://allowed.test/hello")
    lines = done.out.splitlines()
    tap.ok(len(lines) == 10 and all(line.endswith(" refused") for line in lines[:-1]) and lines[-1] == "hello there",
           f"{who.name}: no other road leads out, and nothing moves the one there is", done)


def test_inherited(net, who):
    """A connection from before the run is not inherited, and cannot be reached by another name."""
    before = net.net.socket_in(net.net.home, socket.AF_INET, socket.SOCK_STREAM)
    before.connect((OTHER4, 80))
    before.set_inheritable(True)
    world = World(who)
    policy = world.profile(PROFILE.replace("{server}", SERVER4))
    script = (f"import os, socket\ntry: os.write({before.fileno()}, b'GET /hello HTTP/1.0\\r\\n\\r\\n'); print('sent', flush=True)\n"
              "except OSError as e: print(e.strerror, flush=True)\n"
              "s = socket.create_connection(('allowed.test', 80)); s.set_inheritable(True)\n"
              "os.execv('/usr/bin/python3', ['python3', '-c', 'import socket, sys; s = socket.socket(fileno=int(sys.argv[1])); '\n"
              "  's.sendall(b\"GET /where HTTP/1.0\\\\r\\\\nHost: denied.test\\\\r\\\\n\\\\r\\\\n\"); print(s.recv(100))', str(s.fileno())])")
    argv = net.net.argv_in(net.net.home, [who.buckle(), "run", "--profile", policy, "--", "python3", "-c", script], who.uid)
    argv = [a.replace(f"--wdns={os.getcwd()}", f"--wdns={world.inside}") for a in argv]
    done = subprocess.run(argv, env=who.env, pass_fds=[before.fileno()], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    tap.ok(done.stdout.startswith("Bad file descriptor\n"), f"{who.name}: a connection from outside is closed", done)
    tap.ok("denied.test" not in done.stdout and "the request names denied.test" in done.stderr,
           f"{who.name}: one that is kept over exec is asked the same", done)
    before.close()


def test_cut_off(net, who):
    """The gate does not wait for peers that stop in mid-message."""
    script = """python3 - <<'E'
import socket, ssl
for first in (b"GE", b"GET /where HTTP/1.1\\r\\nHost: allo", b"\\x16\\x03\\x01\\x00\\x50\\x01"):
    s = socket.create_connection(("allowed.test", 80)); s.settimeout(8)
    s.sendall(first); s.shutdown(socket.SHUT_WR)
    try:
        print("ended", len(s.recv(100)))
    except ConnectionError:
        print("ended 0")
    except TimeoutError:
        print("waits")
E"""
    done = net.boxed(who, script)
    tap.equal(done.out, "ended 0\n" * 3, f"{who.name}: what is cut off is closed")


# ---- floods ----

HALF_OPEN = """python3 - <<'E'
import os, resource, socket, time, urllib.request
n = int(os.environ["MANY"])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
open("begun", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
at = socket.getaddrinfo("allowed.test", 80, socket.AF_INET)[0][4]
held = []
for i in range(n):
    s = socket.socket(); s.setblocking(False)
    try: s.connect(("127.0.0.1", 3128) if i % 2 else at)
    except BlockingIOError: pass
    except OSError: break
    held.append(s)
    if i % 4 == 1:
        try: s.send(b"GET http://allowed.test/ HTTP/1.1\\r\\nX: ")
        except OSError: pass
began = time.monotonic()
print(len(held), urllib.request.urlopen("http://allowed.test/hello").read().decode(), end="")
print("soon" if time.monotonic() - began < 20 else "late")
open("held", "w").close()
while not os.path.exists("end"): time.sleep(0.01)
E"""


def memory_around(going, seconds):
    """The gate's memory before and during the attack, and the attacker's result."""
    going.await_file("begun")
    before = going.gate_memory()
    going.touch("go")
    going.await_file("held", seconds)
    during = going.gate_memory()
    going.touch("end")
    return before, during, going.end()


def test_half_open(net, who):
    """Connections that send nothing, or only the start of a head."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    many = min(10000, (hard - 500) * 2 // 3)  # every second one also connects to a server
    going = net.start(who, f"export MANY={many}; " + HALF_OPEN)
    before, during, done = memory_around(going, 120)
    tap.ok(done.out == f"{many} hello there\nsoon\n", f"{who.name}: {many} half-open connections keep nobody waiting", done)
    tap.ok(before and during - before <= 2 * many * ROOM, f"{who.name}: at most {2 * ROOM} KiB of the gate's memory each",
           before, during)


LORIS = """
import time
s, began = to(3128), time.monotonic()
try:
    for i in range(60):
        s.send(b"GET http://allowed.test/ HTTP/1.1\\r\\nX: "[i:i + 1] or b"a"); time.sleep(1)
        s.setblocking(False)
        try:
            if s.recv(1) == b"": break
        except BlockingIOError: pass
except OSError:
    pass
print(20 < time.monotonic() - began < 50)
"""


def begin_slow_heads(net, who):
    """Takes half a minute, during which other tests run; the gate is the same for all users."""
    if who.uid != 0:
        net.slow = net.start(who, TALK.replace("{script}", LORIS), way="proxy")


def test_slow_heads(net, who):
    if who.uid == 0:
        return
    if not hasattr(net, "slow"):
        begin_slow_heads(net, who)
    done = net.slow.end(90)
    tap.ok(done.out == "True\n", f"{who.name}: who says a byte a second is disconnected after a while", done)


def flood(net):
    """A server that sends unasked for as long as a client reads."""
    if hasattr(net, "flood"):
        return
    net.flood = net.net.listen(SERVER4, 8091)

    def pour(client):
        first = client.recv(4096)
        try:
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" if first.startswith(b"GET") else b"ok, then: ")
            client.settimeout(5)
            for _ in range(200):
                client.sendall(b"x" * (1 << 20))
        except OSError:
            pass
        client.close()

    def serve():
        while True:
            client, _ = net.flood.accept()
            threading.Thread(target=pour, args=(client,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()


TAKE_NOTHING = """python3 - <<'E'
import os, socket, time
open("begun", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
s = socket.create_connection(("allowed.test", {port}))
s.sendall({text!r})
print(s.recv({read}))
time.sleep(4)
open("held", "w").close()
while not os.path.exists("end"): time.sleep(0.01)
E"""


def test_floods(net, who):
    """Servers that send more than requested, or more than the client reads."""
    flood(net)
    for name, text, read in (("unasked", b"GET / HTTP/1.1\r\nHost: allowed.test:8091\r\n\r\n", 10000),
                             ("to a client that does not read", b"\0hello", 10)):
        going = net.start(who, TAKE_NOTHING.format(port=8091, text=text, read=read))
        before, during, done = memory_around(going, 60)
        tap.ok(done.status == 0 and before and during - before <= GATE_KIB,
               f"{who.name}: 200 MiB {name}: {during - before} KiB of the gate's memory", before, done)


TESTS = [begin_slow_heads, test_fronting, test_smuggling, test_connect_to_loopback, test_raw_addresses, test_itself, test_rebinding,
         test_names, test_very_many_names, test_other_roads, test_inherited, test_cut_off, test_half_open,
         test_slow_heads, test_floods]

if __name__ == "__main__":
    sys.exit(netbox.main(TESTS))
