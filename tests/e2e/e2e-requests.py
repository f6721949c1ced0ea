#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules about requests: a table of requests and verdicts, sent over real connections, in HTTP/1 and HTTP/2.
Both must agree, and the server must not see what is denied. Prints TAP.
"""

import ast
import json
import os
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
ROWS = [
    # methods and paths
    ("GET", "/v1/x", ALLOW), ("GET", "/v1/x/y/z", ALLOW), ("HEAD", "/v1/x", ALLOW), ("GET", "/v1/", ALLOW),
    ("POST", "/v1/x", DENY), ("PUT", "/v1/x", DENY), ("DELETE", "/v1/x", DENY), ("PATCH", "/v1/x", DENY),
    ("OPTIONS", "/v1/x", DENY), ("GET", "/v1", DENY), ("GET", "/v2/x", DENY), ("GET", "/", DENY), ("GET", "/V1/x", DENY),
    ("GET", "/v1x/y", DENY), ("GET", "/x/v1/y", DENY), ("PROPFIND", "/v1/x", DENY), ("M-SEARCH", "/v1/x", DENY),
    ("POST", "/rpc/send", ALLOW), ("POST", "/rpc/send/", DENY), ("POST", "/rpc/sendx", DENY), ("GET", "/rpc/send", DENY),
    ("POST", "/rpc", DENY), ("POST", "/rpc/send?x=1", ALLOW),
    # denials win
    ("GET", "/v1/private/x", DENY), ("HEAD", "/v1/private/x", ALLOW), ("GET", "/v1/privateer", ALLOW),
    ("GET", "/v1/never", DENY), ("HEAD", "/v1/never", DENY),
    # reading only
    ("GET", "/git/o/r.git/info/refs?service=git-upload-pack", ALLOW), ("POST", "/git/o/r.git/git-upload-pack", ALLOW),
    ("POST", "/git/o/r.git/git-receive-pack", DENY), ("OPTIONS", "/git/x", ALLOW), ("PUT", "/git/x", DENY),
    ("POST", "/git/git-upload-packx", DENY), ("POST", "/git/x/git-upload-pack/y", DENY), ("DELETE", "/git/x", DENY),
    # git by repository
    ("GET", "/me/mine/info/refs?service=git-receive-pack", ALLOW), ("POST", "/me/mine/git-receive-pack", ALLOW),
    ("GET", "/me/mine.git/info/refs?service=git-upload-pack", ALLOW), ("POST", "/me/mine.git/git-upload-pack", ALLOW),
    ("POST", "/me/mine.git/git-receive-pack", ALLOW), ("POST", "/me/other/git-receive-pack", DENY), ("GET", "/me/mine", DENY),
    ("POST", "/me/mine/../other/git-receive-pack", DENY), ("GET", "/me/mine/info/refs", DENY), ("POST", "/me/mine.git/info/lfs", DENY),
    ("GET", "/you/yours/info/refs?service=git-upload-pack", ALLOW), ("POST", "/you/yours.git/git-upload-pack", ALLOW),
    ("GET", "/you/yours.git/info/refs?service=git-receive-pack", DENY), ("POST", "/you/yours.git/git-receive-pack", DENY),
    ("GET", "/me/mine/info/refs?service=git-receive-pack&x=1", DENY), ("PUT", "/me/mine/git-receive-pack", DENY),
    # gRPC
    ("POST", "/pkg.Svc/Do", ALLOW), ("POST", "/pkg.Svc/Do/More", DENY), ("GET", "/pkg.Svc/Do", DENY), ("POST", "/pkg.Other/Do", DENY),
    # queries
    ("GET", "/q?kind=a", ALLOW), ("GET", "/q?kind=abc", ALLOW), ("GET", "/q?kind=b", DENY), ("GET", "/q", DENY), ("GET", "/q?", DENY),
    ("GET", "/q?kind=b&kind=a", DENY), ("GET", "/q?%6Bind=a", ALLOW), ("GET", "/q?kind=%61", ALLOW), ("GET", "/q?kind%3Da", DENY),
    ("GET", "/v1/x?anything=/../..", ALLOW), ("GET", "/v1/x?a=%zz", DENY), ("GET", "/v1/x?%", DENY), ("GET", "/v1/x?a#b", DENY),
    # escapes
    ("GET", "/%76%31/x", ALLOW), ("GET", "/v1/%70rivate/x", DENY), ("GET", "/v1/priv%61te/x", DENY), ("GET", "/v1/a%20b", ALLOW),
    ("GET", "/v1/%", DENY), ("GET", "/v1/%2", DENY), ("GET", "/v1/%zz", DENY), ("GET", "/v1/%00", DENY), ("GET", "/v1/%0a", DENY),
    ("GET", "/v1/%0d%0aX", DENY), ("GET", "/v1/%7f", DENY), ("GET", "/v1/%2570rivate", DENY), ("GET", "/v1/%25", ALLOW),
    ("GET", "/v1/%252e%252e/x", DENY), ("GET", "/v1/%c3%a9", ALLOW), ("GET", "/v1/%c0%af", DENY), ("GET", "/v1/%ff", DENY),
    ("GET", "/v1/%e0%80%af", DENY), ("GET", "/v1/%ed%a0%80", DENY),
    # escaped slashes: every reading has to be allowed
    ("GET", "/v1%2Fx", DENY), ("GET", "/v1/a%2Fb", ALLOW), ("GET", "/v1/private%2fx", DENY), ("GET", "/v1/a%2F..%2Fprivate", DENY),
    ("PUT", "/@scope/name", ALLOW), ("PUT", "/@scope%2fname", DENY), ("GET", "/v1/a%5cb", DENY), ("GET", "/v1/a\\b", DENY),
    ("GET", "/%2fv1/x", DENY), ("GET", "/v1/%2f", DENY),
    # dots and empty segments
    ("GET", "/v1/../v1/x", DENY), ("GET", "/v1/./x", DENY), ("GET", "/v1/x/..", DENY), ("GET", "/v1/.", DENY), ("GET", "/v1/..", DENY),
    ("GET", "/v1/%2e%2e/x", DENY), ("GET", "/v1/.%2e/x", DENY), ("GET", "/v1/%2E", DENY), ("GET", "/v1//x", DENY), ("GET", "//v1/x", DENY),
    ("GET", "/v1/x//", DENY), ("GET", "/v1/...", ALLOW), ("GET", "/v1/..x", ALLOW), ("GET", "/v1/.hidden", ALLOW), ("GET", "/./v1/x", DENY),
    ("GET", "/../v1/x", DENY), ("GET", "/x/../v1/x", DENY),
    # parameters of a segment
    ("GET", "/v1/x;a=b", ALLOW), ("GET", "/v1/private;a/x", DENY), ("GET", "/v1/..;/x", DENY), ("GET", "/v1/.;a/x", DENY),
    ("GET", "/v1;a/x", DENY), ("GET", "/v1/;a/x", DENY), ("GET", "/v1/a%3Bb", ALLOW), ("GET", "/v1/never;x", DENY),
    # fields that name another method or path
    ("GET", "/v1/x", DENY, "X-HTTP-Method-Override: DELETE"), ("GET", "/v1/x", DENY, "x-http-method: PUT"),
    ("GET", "/v1/x", DENY, "X-Method-Override: POST"), ("GET", "/v1/x", DENY, "X-Original-URL: /admin"),
    ("GET", "/v1/x", DENY, "X-Rewrite-URL: /admin"), ("GET", "/v1/x", ALLOW, "X-Forwarded-For: 1.2.3.4"),
    # other targets and methods
    ("TRACE", "/v1/x", DENY), ("TRACK", "/v1/x", DENY), ("OPTIONS", "*", DENY), ("GET", "/v1/" + "a" * 3000, ALLOW),
    ("GET", "/v2/" + "a" * 3000, DENY), ("GET", "/v1/" + "a/" * 500 + "b", ALLOW),
]

# only in HTTP/1: whole heads
RAW = [
    # a port that a rule names is taken for a proxy, whose requests may go anywhere
    ("GET http://localhost:PORT/v1/x HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n", DENY),
    ("GET http://localhost:PORT/v2/x HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n", DENY),
    ("GET http://localhost:PORT HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n", DENY),
    ("CONNECT localhost:PORT HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n", DENY),
    ("GET /v1/x HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", DENY),
    ("GET /v1/x HTTP/1.1\r\n\r\n", DENY),
    ("get /v1/x HTTP/1.1\r\nHost: localhost\r\n\r\n", DENY),
    ("GET  /v1/x HTTP/1.1\r\nHost: localhost\r\n\r\n", DENY),
    ("GET /v1/x HTTP/1.1\nHost: localhost\n\n", DENY),
    ("GET /v1/x HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", DENY),
    ("GET /v1/x HTTP/1.1\r\nHost : localhost\r\n\r\n", DENY),
    ("GET /v1/x HTTP/2.0\r\nHost: localhost\r\n\r\n", DENY),
    ("GET /v1/x\r\n\r\n", DENY),
    ("POST /rpc/send HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", DENY),
    ("POST /rpc/send HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", DENY),
    ("POST /rpc/send HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", ALLOW),
    ("POST /rpc/send HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\nGET /v2/x HTTP/1.1\r\nHost: localhost\r\n\r\n", ALLOW),
    ("GET /v1/x HTTP/1.1\r\nHost: localhost\r\n\r\nDELETE /v1/x HTTP/1.1\r\nHost: localhost\r\n\r\n", ALLOW),
    ("SSH-2.0-client\r\n", DENY),
    ("hello there\r\n", DENY),
    ("\x16\x03\x01\x00\x05hello", DENY),
]

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


def main():
    server = Server()
    for user in PEOPLE:
        check(user, server)
        settings(user, server)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
