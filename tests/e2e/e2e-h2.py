#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 without TLS in a network filtered by name: real clients and servers, and requests for another
host on any stream. Prints TAP.
"""

import importlib
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import netbox
import tap
from drive import FOLDER
from internet import SERVER4, SERVER6
from netbox import CURL, PROFILE
from running import SLOW

gate_tests = importlib.import_module("e2e-gate")

PORT, UPGRADING = 8092, 8093


def servers(net):
    """Starts nghttpd, with a log of its requests, and nghttpx, which accepts upgrades. Returns an error or None."""
    if not shutil.which("nghttpd"):
        return "nghttpd is not installed"
    if hasattr(net, "h2_log"):
        return None
    net.h2_log = os.path.join(FOLDER, "nghttpd.log")
    log = open(net.h2_log, "wb")
    net.net.start(["stdbuf", "-oL", "nghttpd", "-v", "--no-tls", "-d", net.site, str(PORT)], stdout=log)
    if shutil.which("nghttpx"):
        net.net.start(["nghttpx", f"--frontend={SERVER4},{UPGRADING};no-tls", f"--backend={SERVER4},80", "--conf=/dev/null",
                       "--workers=1", "--errorlog-file=/dev/null", f"--accesslog-file={FOLDER}/nghttpx.log"])
        net.net.wait_for(SERVER4, UPGRADING)
    return None if net.net.wait_for(SERVER4, PORT) and net.net.wait_for(SERVER6, PORT) else "nghttpd does not start"


def asked(net, before):
    with open(net.h2_log, "rb") as f:
        return f.read()[before:]


def log_size(net):
    return os.path.getsize(net.h2_log)


# ---- real clients ----

# one connection, a request for each authority; prints each answer
NODE = """
const http2 = require("http2");
const session = http2.connect("http://HOST:PORT");
session.on("error", e => console.log("session", e.code));
session.on("close", () => process.exit());
const ask = names => {
    if (!names.length) return session.close();
    const request = session.request({":path": "/hello", ":authority": names[0]});
    let text = "";
    request.on("data", part => text += part);
    request.on("error", e => { console.log(names[0], e.code); });
    request.on("end", () => { console.log(names[0], text.trim()); ask(names.slice(1)); });
};
ask(NAMES);
"""


def node(host, port, names):
    text = NODE.replace("HOST", host).replace("PORT", str(port)).replace("NAMES", repr(names))
    return f"cat >c.js <<'E'\n{text}\nE\nnode c.js"


def test_clients(net, who):
    why = servers(net)
    if why:
        tap.skip(why)
        return
    for host in ("four.test", "six.test"):
        done = net.boxed(who, CURL + f"--http2-prior-knowledge http://{host}:{PORT}/hello")
        tap.ok(done.out == "hello there\n" and "denied" not in done.err,
               f"{who.name}: curl with prior knowledge, {host}", done)
    done = net.boxed(who, "export no_proxy= NO_PROXY=; " + CURL + "--proxytunnel --http2-prior-knowledge "
                     f"http://four.test:{PORT}/hello", way="proxy")
    tap.ok(done.out == "hello there\n", f"{who.name}: through a tunnel", done)
    done = net.boxed(who, f"head -c 3000000 /dev/urandom >big; {CURL} --http2-prior-knowledge --data-binary @big -o /dev/null "
                     f"-w '%{{http_code}} %{{size_upload}}' http://four.test:{PORT}/hello; {CURL} --http2-prior-knowledge "
                     f"http://four.test:{PORT}/large | cmp - {net.site}/large && echo same")
    tap.ok(done.out.endswith(" 3000000same\n"), f"{who.name}: three megabytes in either direction", done)
    fields = " ".join(f"-H 'x-{i}: {'abcdef' * 100}'" for i in range(30))
    done = net.boxed(who, CURL + f"{fields} --http2-prior-knowledge http://four.test:{PORT}/hello")
    tap.ok(done.out == "hello there\n", f"{who.name}: fields that take more than one frame", done)
    before = log_size(net)
    done = net.boxed(who, CURL + f"-H 'Host: denied.test' --http2-prior-knowledge http://four.test:{PORT}/hello")
    tap.ok(done.status != 0 and b"denied.test" not in asked(net, before) and "the request names denied.test" in done.err,
           f"{who.name}: curl with another authority: refused and reported", done)
    if not shutil.which("node"):
        tap.skip("node is not installed")
        return
    done = net.boxed(who, node("four.test", PORT, [f"four.test:{PORT}"] * 3))
    tap.ok(done.out == f"four.test:{PORT} hello there\n" * 3 and "denied" not in done.err, f"{who.name}: node's http2", done)
    before = log_size(net)
    done = net.boxed(who, node("four.test", PORT, [f"four.test:{PORT}", "denied.test", "four.test"]))
    tap.ok(f"four.test:{PORT} hello there\n" in done.out and "denied.test hello" not in done.out and
           b"denied.test" not in asked(net, before) and "the request names denied.test" in done.err,
           f"{who.name}: node's http2 with another authority on the second stream: refused and reported", done)


def test_upgrade(net, who):
    if servers(net) or not shutil.which("nghttpx"):
        tap.skip("nghttpx is not installed")
        return
    done = net.boxed(who, CURL + f"-v --http2 http://four.test:{UPGRADING}/hello http://four.test:{UPGRADING}/hello")
    tap.ok(done.out == "hello there\n" * 2 and "101 Switching" in done.err and "denied" not in done.err,
           f"{who.name}: HTTP/2 by an upgrade", done)
    done = net.boxed(who, CURL + f"--http2 http://four.test/hello http://four.test:8080/hello")
    tap.ok(done.out == "hello there\n" * 2 and "denied" not in done.err, f"{who.name}: where the server knows none", done)


def test_load(net, who):
    """Many streams at once, and many connections."""
    if servers(net) or not shutil.which("h2load"):
        tap.skip("h2load is not installed")
        return
    many = 300 if SLOW else 3000
    done = net.boxed(who, f"h2load -p h2c -n {many} -c 20 -m 30 http://four.test:{PORT}/hello", timeout=120)
    tap.ok(f"{many} succeeded, 0 failed" in done.out and "denied" not in done.err, f"{who.name}: {many} requests", done)


# ---- frames ----

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, WITH_PRIORITY = 1, 4, 8, 32


def frame(kind, flags, stream, payload=b"", size=None):
    return struct.pack(">I", len(payload) if size is None else size)[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def field(name, value):
    """A literal header field, without an index."""
    name, value = name.encode(), value.encode("latin-1")
    assert len(name) < 127 and len(value) < 127
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def request(host="four.test", method="GET", path="/where", *more, scheme="http"):
    pairs = [(":method", method), (":scheme", scheme), (":path", path), (":authority", host), *more]
    return b"".join(field(n, v) for n, v in pairs if v is not None)


def ask(stream, block, flags=END_STREAM | END_HEADERS):
    return frame(HEADERS, flags, stream, block)


OPEN = PREFACE + frame(SETTINGS, 0, 0)
MINE = ask(1, request())

# a table entry used twice, the second time after another entry replaced it
INDEXED = (b"\x40\x0a:authority\x0bdenied.test", b"\xbe")

FRAMES = {
    "another authority": OPEN + ask(1, request("denied.test")),
    "another authority on a second stream": OPEN + MINE + ask(3, request("denied.test")),
    "the same in one frame and another": OPEN + MINE + frame(HEADERS, END_STREAM, 3, request("denied.test")[:20]) +
        frame(CONTINUATION, END_HEADERS, 3, request("denied.test")[20:]),
    "byte by byte": OPEN + frame(HEADERS, END_STREAM, 1, b"") + b"".join(
        frame(CONTINUATION, 0, 1, request("denied.test")[i:i + 2]) for i in range(0, 60, 2)) +
        frame(CONTINUATION, END_HEADERS, 1, request("denied.test")[60:]),
    "with padding and priority": OPEN + frame(HEADERS, END_STREAM | END_HEADERS | PADDED | WITH_PRIORITY, 1,
                                              b"\3" + b"\0\0\0\0\1" + request("denied.test") + b"\0\0\0"),
    "from the table": OPEN + ask(1, request(None) + INDEXED[0]) + ask(3, request(None) + INDEXED[1]),
    "a host besides": OPEN + ask(1, request("four.test", "GET", "/", ("host", "denied.test"))),
    "a host instead": OPEN + ask(1, request(None, "GET", "/", ("host", "denied.test"))),
    "a Host in capital letters": OPEN + ask(1, request("four.test", "GET", "/", ("Host", "denied.test"))),
    "two authorities": OPEN + ask(1, request("four.test", "GET", "/", (":authority", "denied.test"))),
    "an authority that comes late": OPEN + ask(1, request(None, "GET", "/", ("a", "b"), (":authority", "denied.test"))),
    "a host in trailers": OPEN + ask(1, request("four.test", "POST"), END_HEADERS) + frame(DATA, 0, 1, b"x") +
        ask(1, field("host", "denied.test")),
    "a request where trailers should be": OPEN + ask(1, request("four.test", "POST"), END_HEADERS) + ask(1, request("denied.test")),
    "a user in the authority": OPEN + ask(1, request("four.test@denied.test")),
    "a whole address as path": OPEN + ask(1, request("four.test", "GET", "http://denied.test/")),
    "CONNECT": OPEN + ask(1, field(":method", "CONNECT") + field(":authority", "denied.test:80")),
    "CONNECT to itself": OPEN + ask(1, field(":method", "CONNECT") + field(":authority", "four.test")),
    "a line end in a value": OPEN + ask(1, request("four.test", "GET", "/", ("a", "b\r\nhost: denied.test"))),
    "chunks": OPEN + ask(1, request("four.test", "POST", "/", ("transfer-encoding", "chunked"))),
    "a method in small letters": OPEN + ask(1, request("four.test", "get")),
    "no authority": OPEN + ask(1, request(None)),
    "no method": OPEN + ask(1, field(":authority", "four.test") + field(":path", "/") + field(":scheme", "http")),
    "an even stream": OPEN + ask(2, request()),
    "stream 0": OPEN + ask(0, request()),
    "something between fields": OPEN + frame(HEADERS, END_STREAM, 1, request()[:10]) + frame(PING, 0, 0, b"12345678") +
        frame(CONTINUATION, END_HEADERS, 1, request()[10:]),
    "more fields of another stream": OPEN + frame(HEADERS, END_STREAM, 1, request()[:10]) +
        frame(CONTINUATION, END_HEADERS, 3, request()[10:]),
    "more fields of none": OPEN + frame(CONTINUATION, END_HEADERS, 1, request()),
    "more padding than there is": OPEN + frame(HEADERS, END_STREAM | END_HEADERS | PADDED, 1, b"\xff" + request()),
    "a table without end": OPEN + ask(1, b"\x3f\xff\xff\xff\x7f" + request()),
    "an index that is not there": OPEN + ask(1, request() + b"\xff\x7f"),
    "fields that are cut": OPEN + ask(1, request()[:-3]),
    "a frame of fields that is too long": OPEN + frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\0" * 40000),
    "fields without end": OPEN + frame(HEADERS, END_STREAM, 1, request()) + frame(CONTINUATION, 0, 1, field("a", "b")) * 200,
    "very many fields": OPEN + ask(1, request() + b"\x40\1a\1b" + b"\xbe" * 3000),
    "a promise": OPEN + frame(PUSH, END_HEADERS, 1, struct.pack(">I", 2) + request("denied.test")),
    "settings of a wrong length": PREFACE + frame(SETTINGS, 0, 0, b"12345") + MINE,
    "no settings": PREFACE + ask(1, request()),
    "data of no stream": OPEN + frame(DATA, END_STREAM, 1, b"x"),
    "a window of a wrong length": OPEN + frame(WINDOW, 0, 0, b"123"),
    "another preface": PREFACE.replace(b"SM", b"XX") + frame(SETTINGS, 0, 0) + MINE,
}


def test_frames(net, who):
    why = servers(net)
    if why:
        tap.skip(why)
        return
    done = gate_tests.send(net, who, f"say({PORT}, {OPEN + MINE!r}, host='four.test', wanted=b'html')", profile=PROFILE)
    tap.ok(done.output and len(done.output[0][1]) > 20 and not done.events, f"{who.name}: frames as they should be", done)
    good = (OPEN + ask(1, request("four.test", "POST", "/", ("host", f"four.test:{PORT}")), END_HEADERS) + frame(PRIORITY, 0, 1, b"12345")
            + frame(DATA, 0, 1, b"x" * 100) + ask(1, field("grpc-status", "0")) + frame(PING, 0, 0, b"12345678") +
            frame(77, 0, 9, b"unknown") + frame(WINDOW, 0, 2, struct.pack(">I", 1)) + frame(RST, 0, 1, b"\0\0\0\0"))
    done = gate_tests.send(net, who, f"say({PORT}, {good!r}, host='four.test', wait=1)", profile=PROFILE)
    tap.ok(done.output and not done.events, f"{who.name}: frames of all kinds", done)
    # as in another test's table: each name is unique, and none reaches the server
    before = log_size(net)
    script = "".join(f"say({PORT}, {text!r}, host='four.test', wait=2)\n" for text in FRAMES.values())
    done = gate_tests.send(net, who, script, profile=PROFILE)
    for i, name in enumerate(FRAMES):
        tap.ok(len(done.output) == len(FRAMES) and done.output[i][2], f"{who.name}: {name}: refused", done.output[i:i + 1], done)
    tap.ok(len(done.events) == len(FRAMES), f"{who.name}: each of {len(FRAMES)} is reported", len(done.events), done)
    tap.ok(b"denied.test" not in asked(net, before), f"{who.name}: and the server hears of no other name")


HALF = """
s = socket.create_connection(("four.test", PORT), timeout=10)
s.sendall(FIRST)
hear(s, 0.5)
try:
    s.sendall(REST)
except ConnectionError:
    pass
print([PORT, *hear(s, 2)])
"""


def test_server_first(net, who):
    """nghttpd sends its settings at once: half a preface must not change the protocol."""
    why = servers(net)
    if why:
        tap.skip(why)
        return
    for name, cut in (("the preface in two pieces", 3), ("one byte ahead of it", 1), ("all but its end", 13)):
        text = OPEN + ask(1, request("denied.test"))
        before = log_size(net)
        script = HALF.replace("PORT", str(PORT)).replace("FIRST", repr(text[:cut])).replace("REST", repr(text[cut:]))
        done = gate_tests.send(net, who, script, profile=PROFILE)
        tap.ok(done.output and done.output[0][2] and b"denied.test" not in asked(net, before) and len(done.events) == 1,
               f"{who.name}: {name}: refused", asked(net, before)[-500:], done)


TESTS = [test_clients, test_server_first, test_upgrade, test_load, test_frames]

if __name__ == "__main__":
    sys.exit(netbox.main(TESTS))
