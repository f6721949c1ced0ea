#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the gate inspects and what it passes uninspected: requests and hellos that a lenient server would
accept, protocols that only look like HTTP, external proxies, and DNS queries. Prints TAP.
"""

import ast
import base64
import json
import os
import socket
import sys
import threading
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import internet
import netbox
import tap
from internet import LENIENT4, ROUTER4
from netbox import CURL, PROFILE, Runner, listener_at_home, is_reached
from world import World

LENIENT = PROFILE + '(allow network-outbound (domain "lenient.test") (domain "*.wild.test"))\n'

# sends the parts, each after an answer or silence, and prints everything received until it has the wanted
# text, or the connection ends
SAY = r'''python3 - <<'E'
import socket, sys, time
def hear(s, seconds, wanted=None):
    got, end = b"", time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        s.settimeout(left)
        try:
            more = s.recv(65536)
        except TimeoutError:
            break
        except ConnectionError:
            return got, True
        got += more
        if not more or (wanted is not None and wanted in got):
            return got, not more
    return got, False
def say(port, *parts, wanted=None, host="lenient.test", wait=4):
    s, got, over = socket.create_connection((host, port), timeout=10), b"", False
    for part in parts:
        try:
            s.sendall(part)
        except ConnectionError:
            break
        more, over = hear(s, wait if part is parts[-1] else 0.2, wanted if part is parts[-1] else b"")
        got += more
        if over:
            break
    print([port, got, over])
    s.close()
{script}
E'''


def send(net, who, script, profile=LENIENT):
    """What each say() printed, and its result."""
    packed = base64.b64encode(zlib.compress(script.encode())).decode()  # fits into a command line
    script = f"import base64, zlib\nexec(zlib.decompress(base64.b64decode('{packed}')))"
    done = net.boxed(who, SAY.replace("{script}", script), ["--report", "json"], profile=profile, timeout=120)
    done.output = [ast.literal_eval(line) for line in done.out.splitlines() if line.startswith("[")]
    done.events = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    return done


# ---- servers ----


def accepting(listener, serve):
    def go():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(client,), daemon=True).start()

    def one(client):
        try:
            serve(client)
        except (OSError, ValueError):
            pass
        client.close()

    threading.Thread(target=go, daemon=True).start()


def lenient(net):
    """Lenient servers: they skip unknown data, answer anything like a request, and record all input."""
    if hasattr(net, "received"):
        return
    net.received = []

    def serve(client):
        text = client.makefile("rwb", buffering=0)
        while line := text.readline():
            net.received.append(line)
            if b"HTTP/" not in line.upper() and line.strip():
                text.write(b"HTTP/1.1 400 What\r\nContent-Length: 0\r\n\r\n")
            while line.strip() and (field := text.readline()).strip():
                net.received.append(field)
                if field.lower().startswith(b"upgrade:"):
                    text.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n" + field.strip() + b"\r\n\r\n")
            if line.strip():
                text.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")

    for port in (80, 8000, 8080):
        accepting(net.net.listen(LENIENT4, port), serve)

    def record(client):
        while data := client.recv(65536):
            net.received.append(data)
            client.sendall(b"\x16\x03\x03\0\x04" + b"more")

    for port in (443, 8443, 9443):
        accepting(net.net.listen(LENIENT4, port), record)

    def repeat(client):
        while data := client.recv(65536):
            client.sendall(b"got " + data)

    for port in (21, 25, 70, 554, 4222, 5060, 6667, 6380):
        accepting(net.net.listen(LENIENT4, port), repeat)
    accepting(net.net.listen(ROUTER4, 8080), repeat)

    def greet(client):
        client.sendall(b"220 who is there\r\n")
        repeat(client)

    for port in (2121, 2525):
        accepting(net.net.listen(LENIENT4, port), greet)

    def speak_ssh(client):
        client.sendall(b"SSH-2.0-server\r\n")
        repeat(client)

    accepting(net.net.listen(internet.SERVER4, 8443), speak_ssh)


def received(net, before):
    return b"".join(net.received[before:])


# ---- requests: understood or refused ----

OTHER = b"GET /where HTTP/1.1\r\nHost: denied.test\r\n\r\n"
MINE = b"GET / HTTP/1.1\r\nHost: lenient.test\r\n\r\n"

REQUESTS = {
    "a leading line end": (b"\r\n" + OTHER, b""),
    "a leading line feed": (b"\n" + OTHER, b""),
    "a leading line of spaces": (b"  \r\n" + OTHER, b""),
    "the same, in two pieces": (b"\r\n", OTHER),
    "a lower-case method": (b"get /where HTTP/1.1\r\nHost: denied.test\r\n\r\n", b""),
    "a lower-case method in front": (b"get / HTTP/1.1\r\nHost: lenient.test\r\n\r\n" + OTHER, b""),
    "a long method": (b"A" * 40 + b" /where HTTP/1.1\r\nHost: denied.test\r\n\r\n", b""),
    "an odd method": (b"G!T /where HTTP/1.1\r\nHost: denied.test\r\n\r\n", b""),
    "one letter": (b"g /where HTTP/1.1\r\nHost: denied.test\r\n\r\n", b""),
    "tabs for spaces": (b"GET\t/where\tHTTP/1.1\r\nHost: denied.test\r\n\r\n", b""),
    "a space in front": (b" GET /where HTTP/1.1\r\nHost: denied.test\r\n\r\n", b""),
    "a space behind": (b"GET /where HTTP/1.1 \r\nHost: denied.test\r\n\r\n", b""),
    "a small http": (b"GET /where http/1.1\r\nHost: denied.test\r\n\r\n", b""),
    "another version": (b"GET /where HTTP/3.1\r\nHost: denied.test\r\n\r\n", b""),
    "cut in the method": (b"get", b" /where HTTP/1.1\r\nHost: denied.test\r\n\r\n"),
    "a very long first line": (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: denied.test\r\n\r\n", b""),
    "something before it": (b"x\r\n\r\n", OTHER),
    "something before it, in one piece": (b"EHLO me.test\r\n" + OTHER, b""),
    "something before it, cut elsewhere": (b"EHLO me.test\r\n" + OTHER[:8], OTHER[8:]),
    "CONNECT": (b"CONNECT denied.test:80 HTTP/1.1\r\nHost: denied.test:80\r\n\r\n", OTHER),
    "an upgrade to HTTP/2": (b"GET / HTTP/1.1\r\nHost: lenient.test\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                             b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", OTHER),
    "an upgrade to TLS": (b"GET / HTTP/1.1\r\nHost: lenient.test\r\nConnection: Upgrade\r\nUpgrade: TLS/1.2\r\n\r\n",
                          OTHER),
}


def attack(net, who, port, attacks):
    """Sends each to the port, with a unique name for denied.test, which must not reach the server."""
    marked = {name: [part.replace(b"denied.test", b"x%d.denied.test" % i) for part in parts if part]
              for i, (name, parts) in enumerate(attacks.items())}
    before = len(net.received)
    done = send(net, who, "".join(f"say({port}, {', '.join(map(repr, parts))}, wait=1.5)\n" for parts in marked.values()))
    for i, name in enumerate(marked):
        tap.ok(len(done.output) == len(marked) and b"x%d.denied.test" % i not in received(net, before) and done.output[i][2],
               f"{who.name}: port {port}: {name}: the other name is not heard, and the connection ends",
               done.output[i:i + 1], done)
    reported = [e for e in done.events if "lenient.test" in json.dumps(e)]
    tap.ok(len(reported) == len(marked), f"{who.name}: port {port}: each of {len(marked)} is reported", len(reported), done)


def test_requests(net, who):
    lenient(net)
    for port in (80, 8080, 8000):
        done = send(net, who, f"say({port}, {MINE!r}, {MINE!r}, wanted=b'yes')")
        tap.ok(done.output and done.output[0][1].count(b"yes") == 2 and not done.events,
               f"{who.name}: port {port}: ordinary requests are answered", done)
        attack(net, who, port, REQUESTS)


def hello(name, record=b"\x03\x01"):
    """A TLS ClientHello with this name and record version."""
    host = name.encode()
    names = len(host).to_bytes(2, "big") + host
    names = (len(names) + 1).to_bytes(2, "big") + b"\0" + names
    extension = b"\0\0" + len(names).to_bytes(2, "big") + names
    body = b"\x03\x03" + b"r" * 32 + b"\0" + b"\0\2\x13\1" + b"\1\0" + len(extension).to_bytes(2, "big") + extension
    message = b"\1" + len(body).to_bytes(3, "big") + body
    return b"\x16" + record + len(message).to_bytes(2, "big") + message


RECORDS = {
    "records of version 2": lambda name: hello(name, b"\x02\x00"),
    "records of version 4": lambda name: hello(name, b"\x04\x00"),
    "records of version 0": lambda name: hello(name, b"\x00\x00"),
    "an alert in front": lambda name: b"\x15\x03\x01\0\2\1\0" + hello(name),
    "a change of ciphers in front": lambda name: b"\x14\x03\x01\0\1\1" + hello(name),
    "an empty record in front": lambda name: b"\x16\x03\x01\0\0" + hello(name),
    "data in front": lambda name: b"\x17\x03\x03\0\1x" + hello(name),
    "another name": hello,
}


def test_hellos(net, who):
    lenient(net)
    for port in (443, 8443, 9443):
        done = send(net, who, f"say({port}, {hello('lenient.test')!r}, wanted=b'more')")
        tap.ok(done.output and b"more" in done.output[0][1] and not done.events, f"{who.name}: port {port}: a hello passes", done)
        # other data may begin like this, and no server takes it for a hello
        attack(net, who, port, {name: (make("denied.test"),) for name, make in RECORDS.items()
                                if port != 9443 or name != "data in front"})


# ---- what is not HTTP ----

# port: first data
OTHERS = {
    21: b"USER anonymous\r\n",
    25: b"EHLO me.test\r\n",
    6667: b"NICK somebody\r\nUSER somebody 0 * :Some Body\r\n",
    4222: b'CONNECT {"verbose":false,"lang":"python3"}\r\nPING\r\n',
    554: b"OPTIONS rtsp://lenient.test/media RTSP/1.0\r\nCSeq: 1\r\n\r\n",
    5060: b"REGISTER sip:lenient.test SIP/2.0\r\nVia: SIP/2.0/TCP me.test\r\n\r\n",
    6380: b"SET key value\r\n",
    70: b"\r\n",
    2121: b"USER anonymous\r\n",
    2525: b"EHLO me.test\r\n",
}

UNFINISHED = (b"hello there", b"GET", b"get /x HTTP", b"<stream:stream to='lenient.test'>", b'{"jsonrpc": "2.0"}',
              b"\0\1\2\3", b"\x80\x2e\1\3\1", b"a" * 70000 + b"z")


def test_others(net, who):
    lenient(net)
    more = b"and more\r\n"
    done = send(net, who, "".join(f"say({port}, {text!r}, {more!r}, wanted={more!r})\n"
                                 for port, text in OTHERS.items()))
    for i, (port, text) in enumerate(OTHERS.items()):
        got = done.output[i][1] if i < len(done.output) else b""
        tap.ok(b"got " + text in got and more in got, f"{who.name}: port {port}: {text[:20]!r} passes", got, done)
    tap.equal(done.events, [], f"{who.name}: and nothing is reported")
    done = send(net, who, "".join(f"say(6380, {text!r}, wanted={text[-1:]!r})\n" for text in UNFINISHED))
    for i, text in enumerate(UNFINISHED):
        got = done.output[i][1] if i < len(done.output) else b""
        tap.ok(got.replace(b"got ", b"") == text,
               f"{who.name}: a first message that ends without a line: {text[:20]!r}", got[:100], done)
    tap.equal(done.events, [], f"{who.name}: and nothing is reported")
    done = net.boxed(who, "printf QUIT | timeout 10 bash -c 'exec 3<>/dev/tcp/lenient.test/6380; cat >&3; head -c 8 <&3'",
                     profile=LENIENT)
    tap.equal(done.out, "got QUIT", f"{who.name}: one that ends with the connection")
    done = send(net, who, f"say(8080, b'USER me\\r\\n', wanted=b'me', host={ROUTER4!r})",
               profile=PROFILE + f'(allow network-outbound (remote ip "{ROUTER4}:8080"))')
    tap.ok(done.output and done.output[0][1] == b"got USER me\r\n" and not done.events,
           f"{who.name}: at an address that a rule names, also where websites are", done)


def test_ssh(net, who):
    """On web ports, ssh passes if both sides speak it."""
    lenient(net)
    done = send(net, who, "say(8443, b'SSH-2.0-client\\r\\n', b'and more', host='four.test', wanted=b'and more')")
    tap.ok(done.output and b"SSH-2.0-server" in done.output[0][1] and b"and more" in done.output[0][1] and not done.events,
           f"{who.name}: ssh at port 8443", done)
    before = len(net.received)
    done = send(net, who, f"say(80, b'SSH-2.0-client\\r\\n', {OTHER!r}, wait=1)")
    tap.ok(done.output and not received(net, before), f"{who.name}: what only calls itself ssh does not pass",
           received(net, before), done)


# a server's answer to half a line ends inspection, except if the server speaks HTTP/2
ANSWERED = """
s = socket.create_connection(("lenient.test", 6380), timeout=10)
s.sendall(b"\\5\\1\\2"); first = hear(s, 4, b"\\2")
s.sendall(b"GET / HTTP/1.1\\r\\nHost: denied.test\\r\\n\\r\\n")
print([6380, *hear(s, 4, b"\\r\\n\\r\\n")])
"""


def test_answered(net, who):
    lenient(net)
    done = send(net, who, ANSWERED)
    tap.ok(done.output and b"Host: denied.test" in done.output[0][1] and not done.events,
           f"{who.name}: behind an answer to something else a request is data", done)


# ---- external proxies ----


def home_proxy(net):
    if not hasattr(net, "home_proxy"):
        net.home_proxy = net.net.proxy("127.0.0.1", 18128, where=net.net.home)
        net.far_proxy = net.net.proxy(ROUTER4, 3140)
    net.home_proxy.clear()
    net.far_proxy.clear()


def test_proxies(net, who):
    home_proxy(net)
    fetch = "export no_proxy= NO_PROXY=; " + CURL + "-x http://{} https://denied.test/hello"
    done = net.boxed(who, fetch.format("localhost:18128"), profile=PROFILE +
                     '(allow network-outbound (remote ip "localhost:18128"))')
    tap.ok(done.out == "hello there\n" and net.home_proxy == ["denied.test:443"] and "denied" not in done.err,
           f"{who.name}: CONNECT to a proxy of this machine that a rule names", net.home_proxy, done)
    done = net.boxed(who, fetch.format(f"{ROUTER4}:3140"), profile=PROFILE +
                     f'(allow network-outbound (remote ip "{ROUTER4}:3140"))')
    tap.ok(done.out == "hello there\n" and net.far_proxy == ["denied.test:443"],
           f"{who.name}: CONNECT to one elsewhere, whose address and port a rule names", net.far_proxy, done)
    world = World(who)
    path = os.path.join(world.top, "settings.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"network": {"allowedDomains": ["allowed.test"], "httpProxyPort": 18128}}, f)
    argv = [who.buckle(), "run", "--no-settings", "-s", path, "--", "sh", "-c",
            CURL + "https://denied.test/hello"]
    home_proxy(net)
    done = Runner(who).run(["env", f"CA={net.ca}", *net.net.argv_in(net.net.home, argv, who.uid)], world.inside, 40)
    tap.ok(done.out == "hello there\n" and net.home_proxy == ["denied.test:443"],
           f"{who.name}: CONNECT to httpProxyPort, by the variables", net.home_proxy, done)
    home_proxy(net)
    for rule, where in (('(domain "router.test")', "router.test:3140"), (f'(remote ip "{ROUTER4}:*")', f"{ROUTER4}:3140"),
                        (f'(remote ip "{ROUTER4}/24:3140")', f"{ROUTER4}:3140"), ('(remote ip "*:3140")', f"{ROUTER4}:3140")):
        done = net.boxed(who, fetch.format(where), profile=PROFILE + f"(allow network-outbound {rule})")
        tap.ok(done.status != 0 and not net.far_proxy and "CONNECT" in done.err,
               f"{who.name}: not by {rule}, and reported", net.far_proxy, done)


def refusing_proxy(net):
    """Refuses CONNECT, and keeps the connection."""
    if hasattr(net, "refusing"):
        return
    net.refusing = []

    def serve(client):
        text = client.makefile("rwb", buffering=0)
        while line := text.readline():
            net.refusing.append(line)
            while (field := text.readline()).strip():
                net.refusing.append(field)
            text.write(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")

    accepting(net.net.listen(ROUTER4, 3141), serve)


def test_refused_tunnel(net, who):
    """If a proxy refuses a tunnel, the gate keeps inspecting."""
    refusing_proxy(net)
    rule = PROFILE + f'(allow network-outbound (remote ip "{ROUTER4}:3141"))'
    connect = b"CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n"
    done = send(net, who, f"say(3141, {connect!r}, {connect!r}, wanted=b'no', host={ROUTER4!r})", profile=rule)
    tap.ok(done.output and done.output[0][1].count(b"403 No") == 2 and not done.events,
           f"{who.name}: a proxy may be asked again", done)
    for then in (b"get / HTTP/1.1\r\nHost: denied.test\r\n\r\n", b"GET / HTTP/1.1\r\nHost: 203.0.113.20\r\n\r\n"):
        before = len(net.refusing)
        done = send(net, who, f"say(3141, {connect!r}, {then!r}, host={ROUTER4!r}, wait=1.5)", profile=rule)
        tap.ok(done.output and b"403 No" in done.output[0][1] and done.output[0][2] and len(done.events) == 1 and
               then.split(b"\r\n")[1] not in b"".join(net.refusing[before:]),
               f"{who.name}: and is not passed what cannot be read: {then[:4]!r}", net.refusing[before:], done)


# ---- this machine ----


def test_own_addresses(net, who):
    """More addresses than a table holds, and one that appears while the command runs."""
    profile = PROFILE + "".join(f'(allow network-outbound (domain "{n}.test"))' for n in ("last", "last6", "late", "carried"))
    all_of_them = [f"198.51.100.{i}/32 dev lo" for i in range(1, 101)]
    all_of_them += [f"2001:db8:100::{i:x}/128 dev lo nodad" for i in range(1, 101)]
    net.net.ip_at_home(*("address add " + a for a in all_of_them))
    four, six = listener_at_home(net, "198.51.100.100", 8099), listener_at_home(net, "2001:db8:100::64", 8099)
    for name, listener in (("last", four), ("last6", six)):
        done = net.boxed(who, CURL + f"http://{name}.test:8099/", profile=profile)
        tap.ok(done.status != 0 and not is_reached(listener) and "an address of this machine" in done.err,
               f"{who.name}: the hundredth address is this machine's too ({name})", done)
    done = net.boxed(who, CURL + "http://carried.test:8099/", profile=profile)
    tap.ok(done.status != 0 and "an address of this machine" in done.err, f"{who.name}: and one that carries it", done)
    done = net.boxed(who, CURL + "-m 2 http://198.51.100.100:8099/", profile=PROFILE +
                     '(allow network-outbound (remote ip "198.51.100.100:8099"))')
    tap.ok("an address of this machine" not in done.err and is_reached(four), f"{who.name}: unless a rule names it", done)
    net.net.ip_at_home(*("address del " + a for a in all_of_them))
    four.close()
    six.close()
    late = ["198.51.100.200/32 dev lo", "2001:db8:100::c8/128 dev lo nodad"]
    going = net.start(who, "touch begun; while [ ! -e go ]; do sleep 0.05; done; " + CURL + "http://late.test:8099/",
                      profile=profile)
    going.await_file("begun")
    net.net.ip_at_home(*("address add " + a for a in late))
    listeners = [listener_at_home(net, a.split("/")[0], 8099) for a in late]
    going.touch("go")
    done = going.end()
    tap.ok(done.status != 0 and not any(map(is_reached, listeners)) and "an address of this machine" in done.err,
           f"{who.name}: an address that came later", done)
    for listener in listeners:
        listener.close()
    net.net.ip_at_home(*("address del " + a for a in late))


# ---- names ----

ASK = """python3 - <<'E'
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(8); s.connect(("192.0.2.53", 53))
def ask(name, kind=16):
    s.send(struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
           + struct.pack(">BHH", 0, kind, 1))
    d = s.recv(600)
    return d[3] & 15, struct.unpack(">H", d[6:8])[0]
{script}
E"""

TXT, SRV, MX = 16, 33, 15
LABELS = [("_data.six.test", TXT), ("_data._tcp.six.test", SRV), ("_data._dmarc.six.test", TXT), ("data.six.test", MX),
          ("_dmarc._data.six.test", TXT), ("_xmpp-client._data.six.test", SRV), ("_xmpp-client._tcp._data.six.test", SRV),
          ("_data._xmpp-client._tcp.six.test", SRV), ("_" + "a" * 60 + "._" + "b" * 60 + ".six.test", TXT)]


def test_labels(net, who):
    """Labels before an allowed name are not sent to name servers, unless they are common."""
    before = len(net.net.asked)
    done = net.boxed(who, ASK.replace("{script}", f"for name, kind in {LABELS!r}: print(name, *ask(name, kind))"))
    asked = net.net.asked[before:]
    tap.ok(done.out == "".join(f"{name} 3 0\n" for name, _ in LABELS) and not asked and "_data.six.test" in done.err,
           f"{who.name}: labels in front of an allowed name stay here, and are told", asked, done)
    done = net.boxed(who, ASK.replace("{script}", "print(ask('_dmarc.six.test'), ask('_xmpp-client._tcp.six.test', 33), "
                                      "ask('_db._tcp.allowed.test', 33), ask('_any._thing.allowed.test'))"))
    tap.ok(done.out.startswith("(0, 1) (0, 1) (0, 2) (0, 0)") and "denied" not in done.err,
           f"{who.name}: well-known services are found, and whatever a wildcard covers", done)


MANY = """
codes = [ask("n%d.wild.test" % i)[0] for i in range(600)]
print(codes.count(2) > 200, codes[:100].count(2), ask("six.test")[0], ask("n1.wild.test")[0])
def reached(host):
    try:
        with socket.create_connection((host, 80), 9) as s:
            s.sendall(b"GET /hello HTTP/1.0\\r\\nHost: " + host.encode() + b"\\r\\n\\r\\n")
            return s.makefile("rb").read().endswith(b"hello there\\n")
    except OSError as e:
        return False
print(sum(reached("m%d.wild.test" % i) for i in range(20)) < 10, reached("n2.wild.test"), reached("four.test"))
"""


def test_many_names(net, who):
    """Queries for names that only a wildcard allows are rate-limited."""
    before = len(net.net.asked)
    done = net.boxed(who, ASK.replace("{script}", MANY), profile=LENIENT)
    asked = {n for n in net.net.asked[before:] if n.endswith(".wild.test")}
    tap.ok(done.out == "True 0 0 0\nTrue True True\n" and 100 < len(asked) < 330,
           f"{who.name}: of 600 names below a wildcard {len(asked)} are asked for", done)
    tap.ok("too many different names" in done.err, f"{who.name}: and the rest is reported", done)
    before = len(net.net.asked)
    done = net.boxed(who, ASK.replace("{script}", "print([ask('n%d.wild.test' % i)[0] for i in range(600)].count(2))"),
                     profile=PROFILE + "(allow network-outbound)\n(deny network-outbound (domain \"x.test\"))")
    tap.ok(done.out == "0\n" and len(net.net.asked) - before >= 600,
           f"{who.name}: where every host is allowed there is nothing to be paced", done)


TESTS = [test_requests, test_hellos, test_others, test_answered, test_ssh, test_proxies, test_refused_tunnel,
         test_own_addresses, test_labels, test_many_names]

if __name__ == "__main__":
    sys.exit(netbox.main(TESTS))
