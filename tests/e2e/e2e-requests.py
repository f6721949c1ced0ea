#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules about requests: a table of requests and verdicts, sent over real connections, in HTTP/1 and HTTP/2.
Both must agree, and the server must not see what is denied. Prints TAP.
"""

import ast
import json
import os
import re
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import PEOPLE

# ---- the server: answers everything, and records what it was asked ----


class Server:
    def __init__(self):
        self.seen, self.streams = [], 0  # requests in HTTP/1; how many there were in HTTP/2
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            first = client.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL)
            (self.h2 if first == b"PRI " else self.h1)(client.makefile("rwb", buffering=0))
        except OSError:
            pass
        client.close()

    def h1(self, io):
        while line := io.readline():
            words, length = line.decode("latin-1").split(), 0
            while (field := io.readline().strip()):
                if field.lower().startswith(b"content-length:"):
                    length = int(field.split(b":")[1])
            io.read(length)
            self.seen.append(" ".join(words[:2]))
            io.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")

    def h2(self, io):
        io.read(24)
        io.write(b"\0\0\0\x04\0\0\0\0\0")
        while len(head := io.read(9)) == 9:
            size, kind, stream = int.from_bytes(head[:3], "big"), head[3], head[5:]
            if size:
                io.read(size)
            if kind == 1:
                self.streams += 1
                io.write(b"\0\0\x01\x01\x05" + stream + b"\x88")


# ---- the table: method, target, verdict, more header fields ----

RULES = ["GET,HEAD localhost:PORT/v1/**", "POST localhost:PORT/rpc/send", "read-only localhost:PORT/git/**",
         "grpc localhost:PORT/pkg.Svc/*", "GET localhost:PORT/q?kind=a*", "PUT localhost:PORT/@*/*",
         "git-push localhost:PORT/me/mine", "git-fetch localhost:PORT/you/yours.git"]
DENIES = ["GET localhost:PORT/v1/private/**", "localhost:PORT/v1/never"]

ALLOW, DENY = True, False
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "requests.rows")


def expand(text):
    return re.sub(r"\{([^{}]+)\*(\d+)\}", lambda m: m.group(1) * int(m.group(2)), text, flags=re.S)


def read_rows():
    rows, raw = [], []
    with open(FILE, encoding="utf-8") as f:
        for line in f.read().split("\n"):
            if not line or line.startswith("#"):
                continue
            if line.startswith("raw "):
                raw.append((expand(line[10:].encode().decode("unicode_escape")), line[4:9] == "allow"))
                continue
            request, _, field = line[6:].partition(" | ")
            method, target = request.split(" ", 1)
            rows.append((method, expand(target), line[:5] == "allow", *([field] if field else [])))
    return rows, raw


ROWS, RAW = read_rows()

CLIENT = r'''
import socket, sys
rows, raw, port = eval(sys.stdin.read())
def connect():
    s = socket.create_connection(("127.0.0.1", port), timeout=10)
    return s
def hear(s, *enough):
    got = b""
    try:
        while not any(e in got for e in enough):
            more = s.recv(65536)
            if not more:
                break
            got += more
    except OSError:
        pass
    return got
def field(name, value):
    out = b"\0"
    for text in (name.encode(), value.encode("latin-1")):
        n = len(text)
        if n >= 127 + 128:
            low = n - 127
            out += bytes([127])
            while low >= 128:
                out += bytes([low % 128 + 128]); low //= 128
            out += bytes([low])
        else:
            out += bytes([n]) if n < 127 else bytes([127, n - 127])
        out += text
    return out
def h1(method, target, more):
    s = connect()
    s.sendall(f"{method} {target} HTTP/1.1\r\nHost: localhost:{port}\r\n{more}Connection: close\r\nContent-Length: 0\r\n\r\n".encode("latin-1"))
    got = hear(s, b"\r\n\r\n")
    return got[9:12].decode()
def h2(method, target, more):
    s = connect()
    block = field(":method", method) + field(":scheme", "http") + field(":path", target) + field(":authority", f"localhost:{port}")
    if more:
        name, value = more.strip().split(": ")
        block += field(name.lower(), value)
    s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0" + len(block).to_bytes(3, "big") + b"\1\5\0\0\0\1" + block)
    got = hear(s, b"\0\0\1\1\5\0\0\0\1\x88", b"\x08\x03403")  # the server's answer, or the gate's
    return "200" if b"\1\5\0\0\0\1\x88" in got else "403" if b"\x08\x03403" in got else ""
def head(text):
    s = connect()
    s.sendall(text.encode("latin-1"))
    return hear(s, b"\r\n\r\n")[9:12].decode()
for row in rows:
    print(repr([h1(*row), h2(*row)]), flush=True)
for text in raw:
    print(repr(head(text)), flush=True)
# ten requests on one connection; the last is another
s = connect()
for i in range(9):
    s.sendall(f"GET /v1/kept{i} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
    assert b"yes" in hear(s, b"yes")
s.sendall(f"DELETE /v1/kept HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
print(repr(hear(s).decode()))
'''


def table(user, server):
    port = str(server.port)
    rows = [(r[0], r[1], "".join(f + "\r\n" for f in r[3:])) for r in ROWS]
    raw = [text.replace("PORT", port) for text, _ in RAW]
    flags = [f"--allow-request={rule.replace('PORT', port)}" for rule in RULES]
    flags += [f"--deny-request={rule.replace('PORT', port)}" for rule in DENIES]
    work = user.folder()
    server.seen.clear()
    server.streams = 0
    done = user.run("--report", "json", *flags, "--", "python3", "-c", CLIENT, cwd=work, stdin=repr((rows, raw, server.port)), timeout=120)
    lines = [ast.literal_eval(line) for line in done.out.splitlines()]
    return done, lines


def check(user, server):
    done, lines = table(user, server)
    if not tap.ok(len(lines) == len(ROWS) + len(RAW) + 1, f"{user.name}: every request gets an answer", done):
        return
    wrong = []
    for row, (one, two) in zip(ROWS, lines):
        if (one == "200") != row[2] or (not row[2] and one not in ("403", "")):
            wrong.append(f"HTTP/1 {row}: {one}")
        if two != ("200" if row[2] else "403"):
            wrong.append(f"HTTP/2 {row}: {two}")
    tap.ok(not wrong, f"{user.name}: {len(ROWS)} requests in HTTP/1 and HTTP/2", *wrong)
    wrong = [f"{text!r}: {got}" for (text, want), got in zip(RAW, lines[len(ROWS):]) if (got == "200") != want]
    tap.ok(not wrong, f"{user.name}: {len(RAW)} heads that are unusual or malformed", *wrong)
    last = lines[-1]
    tap.ok(last.startswith("HTTP/1.1 403") and "DELETE request" in last, f"{user.name}: the tenth on one connection: 403 with a reason", last)
    # what the server saw is what the table allows
    allowed = {f"{r[0]} {r[1]}" for r in ROWS if r[2]} | {f"GET /v1/kept{i}" for i in range(9)} | {"POST /rpc/send", "GET /v1/x"}
    strays = [seen for seen in server.seen if seen not in allowed]
    tap.ok(not strays, f"{user.name}: nothing denied reaches the server", *strays)
    tap.equal(server.streams, sum(row[2] for row in ROWS), f"{user.name}: nor in HTTP/2")
    tap.ok('"detail":"DELETE /v1/kept"' in done.err.replace('": "', '":"'), f"{user.name}: an event has the method and the path", done.err[-600:])


def settings(user, server):
    """The same by settings, and hosts that take nothing but requests."""
    place = f"localhost:{server.port}"
    script = f"""curl -s -o /dev/null -w '%{{http_code}} ' http://{place}/v1/x; curl -s -o /dev/null -w '%{{http_code}} ' -X PUT http://{place}/v1/x
printf 'hello there\\r\\n' | timeout 5 python3 -c 'import socket, sys
s = socket.create_connection(("127.0.0.1", {server.port})); s.sendall(sys.stdin.buffer.read())
try: print(s.recv(100) or "closed")
except OSError: print("closed")'"""
    for text, want in (({"allowedRequests": [f"GET {place}/v1/**"]}, "200 403 closed"),
                       ({"allowedDomains": [place], "deniedRequests": [f"PUT {place}"]}, "200 403 closed"),
                       ({"allowedDomains": [place], "refuseOpaqueTunnels": True}, "200 200 closed")):
        path = user.profile("settings.json", json.dumps({"network": text}))
        done = user.run("--settings", path, "--", "sh", "-c", script, cwd=user.folder())
        tap.equal(done.out.strip(), want, f"{user.name}: {json.dumps(text)}")
    path = user.profile("settings.json", '{"network": {"allowedRequests": ["get x/y"]}}')
    done = user.run("--settings", path, "--", "true", cwd=user.folder())
    tap.ok(done.status != 0 and "capital letters" in done.err, f"{user.name}: a request that is none", done)


def sbpl(user, server):
    """The same as a rule of a profile."""
    place = f"localhost:{server.port}"
    path = user.profile("requests.sb", f"""(version 1)
(allow default)
(deny network-outbound (remote ip))
(allow network-outbound (require-all (remote ip "{place}") (http-request (method "GET" "HEAD") (path "/v1/**"))))
(deny network-outbound (require-all (remote ip "{place}") (http-request (path "/v1/private/**"))))
""")
    calls = (("GET", "/v1/x", "200"), ("PUT", "/v1/x", "403"), ("GET", "/v2", "403"), ("GET", "/v1/private/x", "403"), ("HEAD", "/v1/y", "200"),
             ("GET", "/v1/%70rivate/x", "403"))
    server.seen.clear()
    script = "".join(f"curl -s --path-as-is -m 10 -o /dev/null -w '%{{http_code}} ' {'-I' if method == 'HEAD' else '-X ' + method} http://{place}{target}; "
                     for method, target, _ in calls)
    done = user.run("--profile", path, "--report", "json", "--", "sh", "-c", script, cwd=user.folder())
    tap.equal(done.out.split(), [code for _, _, code in calls], f"{user.name}: (http-request …) in a profile")
    tap.equal(server.seen, ["GET /v1/x", "HEAD /v1/y"], f"{user.name}: the server sees what it allows")
    tap.ok(all(text in done.err.replace('": ', '":') for text in ('"detail":"PUT /v1/x"', '"line":3', '"line":5')),
           f"{user.name}: a report has the request and the rule", done)


def main():
    server = Server()
    for user in PEOPLE:
        check(user, server)
        settings(user, server)
        sbpl(user, server)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
