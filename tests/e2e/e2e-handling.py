#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the gate does with connections and requests that are allowed: srt's keys tlsTerminate, mitmProxy, filterRequest,
stripResponseHeaders, allowPlaintextHeaderSet and ambiguousRequestTarget. Prints TAP.
"""

import base64
import hashlib
import importlib.util
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
from running import PEOPLE

SPEC = importlib.util.spec_from_file_location("tls", os.path.join(os.path.dirname(os.path.abspath(__file__)), "e2e-tls.py"))
TLS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(TLS)
PKI = TLS.PKI


# ---- servers ----


class Echo(TLS.Handler):
    """Answers with the header that arrived."""

    def answer(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.seen.append(f"{self.command} {self.path}")
        text = "".join(f"{k}: {v}\n" for k, v in self.headers.items()).encode()
        self.send_response(200)
        self.send_header("Set-Cookie", "a=secret")
        self.send_header("X_Inner.Name", "secret")
        self.send_header("X-Plain", "plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_HEAD = do_POST = do_TRACE = answer


def echo(secure):
    server = TLS.serve("good") if secure else TLS.Quiet(("127.0.0.1", 0), Echo)
    server.RequestHandlerClass = Echo
    if not secure:
        server.seen = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Decider:
    """Decides about requests by their path, or breaks the protocol."""

    def __init__(self, path):
        self.path, self.asked = path, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        os.chmod(path, 0o777)
        self.listener.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, client.makefile("rwb") as io:
            for line in io:
                q = json.loads(line)
                self.asked.append(q)
                if q["t"] == "req" and q["path"] == "/wait":
                    for _ in range(4):
                        io.write(b'{"id": %d, "action": "wait"}\n' % q["id"])
                        io.flush()
                        time.sleep(2)
                answer = self.decide(q) if q["t"] == "req" else self.look(q)
                if answer is None:
                    continue
                try:
                    io.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode() + b"\n")
                    io.flush()
                except OSError:
                    return

    @staticmethod
    def look(q):
        """Decides about a body."""
        text = base64.b64decode(q["data"])
        if text == b"again":
            return {"id": q["id"], "action": "need_body", "max": 100}
        good = b"evil" not in text and not q.get("cut")
        return {"id": q["id"], "action": "allow"} if good else {"id": q["id"], "action": "deny", "reason": "cut" if q.get("cut") else "evil"}

    @staticmethod
    def decide(q):
        yes = {"id": q["id"], "action": "allow"}
        return {"/deny": {"id": q["id"], "action": "deny", "reason": "not this one"},
                "/status": {"id": q["id"], "action": "deny", "status": 429, "reason": "later"},
                "/set": dict(yes, setHeaders={"x-set": ["by the decider"], "accept": "changed"}, removeHeaders=["user_agent"]),
                "/length": dict(yes, setHeaders={"content-length": ["5"]}),
                "/smuggle": dict(yes, setHeaders={"x-a": ["1\r\nx-b: 2"]}),
                "/unknown": dict(yes, more=1),
                "/other": dict(yes, id=q["id"] + 1000),
                "/twice": b'{"id": %d, "action": "deny", "action": "allow"}\n' % q["id"],
                "/garbage": b"}{\n",
                "/see": {"id": q["id"], "action": "need_body", "max": 100},
                "/early": b'{"id": %d, "action": "need_body", "max": 100}\n{"id": %d, "action": "allow"}\n' % (q["id"], q["id"]),
                "/none": {"id": q["id"], "action": "need_body", "max": 0},
                "/more": {"id": q["id"], "action": "need_body", "max": 33554433},
                "/all": {"id": q["id"], "action": "need_body", "max": 33554432},
                "/silent": None}.get(q["path"], yes)


class Proxy:
    """A proxy behind a Unix socket: connects, and records where to."""

    def __init__(self, path, port):
        self.asked, self.port = [], port
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        os.chmod(path, 0o777)
        self.listener.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(1)
            self.asked.append(head.split(b"\r\n")[0].decode())
            server = socket.create_connection(("127.0.0.1", self.port))
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self.relay, args=(a, b), daemon=True).start()

    @staticmethod
    def relay(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


# ---- tests ----


def run(user, network, script, **how):
    folder = user.folder()
    path = os.path.join(folder, "s.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"network": network, "filesystem": {"allowWrite": ["."]}}, f)
    env = {"SSL_CERT_FILE": os.path.join(PKI, "ca.pem"), **how.pop("env", {})}
    return user.run("--settings", path, "--", "sh", "-c", script, cwd=folder, env=env, timeout=120, **how)


ISSUER = "openssl s_client -connect localhost:{} -servername localhost </dev/null 2>/dev/null | openssl x509 -noout -issuer; "


def test_terminate(user, server):
    port = server.server_address[1]
    hosts = [f"localhost:{port}"]
    done = run(user, {"allowedDomains": hosts, "tlsTerminate": {}}, ISSUER.format(port) + f"curl -sS https://localhost:{port}/x")
    tap.ok("Buckle, one run" in done.out and "Host: localhost" in done.out, f"{user.name}: tlsTerminate decrypts all allowed hosts", done)
    done = run(user, {"allowedDomains": hosts, "tlsTerminate": {"excludeDomains": ["localhost"]}}, ISSUER.format(port))
    tap.ok("a test's authority" in done.out, f"{user.name}: except excludeDomains", done)
    done = run(user, {"allowedRequests": [f"GET localhost:{port}/**"], "tlsTerminate": {"excludeDomains": ["localhost"]}},
               f"curl -sS https://localhost:{port}/x")
    tap.ok(done.out == "" and "excludeDomains lists it" in done.err, f"{user.name}: a host whose requests are checked is refused then", done)
    own = {"caCertPath": os.path.join(PKI, "ca.pem"), "caKeyPath": os.path.join(PKI, "ca.key")}
    done = run(user, {"allowedDomains": hosts, "tlsTerminate": own}, ISSUER.format(port) + f"curl -sS https://localhost:{port}/x")
    tap.ok("a test's authority" in done.out and "Host: localhost" in done.out, f"{user.name}: an authority of one's own", done)
    done = run(user, {"allowedDomains": hosts, "tlsTerminate": dict(own, caKeyPath=os.path.join(PKI, "good.pem"))}, "true")
    tap.ok(done.status != 0 and "has no" in done.err, f"{user.name}: a key that is none", done)
    done = run(user, {"allowedDomains": hosts, "tlsTerminate": {"extraCaCertPaths": [os.path.join(PKI, "other.pem"), "/nonexistent"]}},
               "grep -c BEGIN $SSL_CERT_FILE")
    tap.equal(done.out, "3\n", f"{user.name}: extraCaCertPaths")
    done = run(user, {"allowedDomains": hosts + ["a.test"], "tlsTerminate": {"maxTunnels": 1}},
               "mkfifo stay; exec 9<>stay; "
               f"openssl s_client -connect localhost:{port} -servername localhost <stay >log 2>&1 9>&- & "
               "until grep -q 'Verify return' log 2>/dev/null; do sleep 0.1; done; "
               f"curl -sS -D - -x $HTTPS_PROXY --noproxy none https://localhost:{port}/x; kill $!")
    tap.ok("503" in done.out + done.err and "too-many-tunnels" in done.out, f"{user.name}: maxTunnels", done)


def test_slow(user):
    """A server that accepts and then says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        script = f"curl -sS -m 5 -o /dev/null -w '%{{time_total}}' https://localhost:{port}/x"
        done = run(user, {"allowedDomains": [f"localhost:{port}"], "tlsTerminate": {"handshakeTimeoutMs": 500}}, script)
        took = float(done.out.replace(",", "."))
        tap.ok(0.4 < took < 4 and "handshake took too long" in done.err, f"{user.name}: handshakeTimeoutMs ends it, and says so", took, done)
        done = run(user, {"allowedDomains": [f"localhost:{port}"], "tlsTerminate": {}}, script)
        tap.ok(float(done.out.replace(",", ".")) > 4.5 and "too long" not in done.err, f"{user.name}: without it, not so soon", done)
    # one whose queue is full at first: the handshake has begun when the connection is there
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        first = [socket.socket() for _ in range(3)]
        for one in first:
            one.setblocking(False)
            one.connect_ex(address)
        taken = []
        free = threading.Timer(0.7, lambda: taken.extend(full.accept() for _ in range(2)))
        free.start()
        script = f"curl -sS -m 8 -o /dev/null -w '%{{time_total}}' https://localhost:{address[1]}/x"
        done = run(user, {"allowedDomains": [f"localhost:{address[1]}"], "tlsTerminate": {"handshakeTimeoutMs": 2000}}, script)
        took = float(done.out.replace(",", "."))
        tap.ok(1.9 < took < 6 and "handshake took too long" in done.err, f"{user.name}: also if connecting takes a while", took, done)
        free.join()
        for one in first:
            one.close()


def test_strip(user, server, plain):
    for scheme, port in (("https", server.server_address[1]), ("http", plain.server_address[1])):
        done = run(user, {"allowedDomains": [f"localhost:{port}"], "tlsTerminate": {},
                          "stripResponseHeaders": ["SET_COOKIE", "x-inner-name"]},
                   f"curl -sS -D - {scheme}://localhost:{port}/a {scheme}://localhost:{port}/b")
        tap.ok("secret" not in done.out and done.out.count("X-Plain: plain") == 2 and done.out.count("Host: localhost") == 2,
               f"{user.name}: stripResponseHeaders, {scheme}", done)


def test_via(user, server):
    port = server.server_address[1]
    path = os.path.join(user.folder(), "mitm.sock")
    proxy = Proxy(path, port)
    done = run(user, {"allowedDomains": ["a.test", "localhost"], "mitmProxy": {"socketPath": path, "domains": ["*.sub.test", "a.test"]}},
               f"curl -sSk https://a.test/x; curl -sSk https://localhost:{port}/y; curl -sS https://b.test/")
    tap.ok(done.out.count("Host: ") == 2 and proxy.asked == ["CONNECT a.test:443 HTTP/1.1"], f"{user.name}: mitmProxy gets its hosts, and no others",
           done)
    done = run(user, {"allowedDomains": ["a.test"], "mitmProxy": {"socketPath": path + ".gone", "domains": ["a.test"]}}, "curl -sSk https://a.test/x")
    tap.ok(done.out == "" and done.status != 0, f"{user.name}: without it nothing leaves", done)


def test_decider(user, server, plain):
    path = os.path.join(user.folder(), "decider.sock")
    decider = Decider(path)
    secure, clear = server.server_address[1], plain.server_address[1]
    network = {"allowedDomains": [f"localhost:{secure}", f"localhost:{clear}"], "tlsTerminate": {}, "filterRequest": path}

    def ask(script, **more):
        script = script.replace("URL", f"https://localhost:{secure}").replace("CLEAR", f"http://localhost:{clear}")
        return run(user, {**network, **more}, script)
    done = ask("curl -sS URL/x?q=1 URL/y; curl -sS CLEAR/z")
    tap.ok(done.out.count("Host: localhost") == 3 and [(q["method"], q["path"], q["scheme"]) for q in decider.asked] ==
           [("GET", "/x", "https"), ("GET", "/y", "https"), ("GET", "/z", "http")] and decider.asked[0]["query"] == "q=1" and
           decider.asked[0]["host"] == "localhost" and decider.asked[0]["headers"]["accept"] == ["*/*"],
           f"{user.name}: a program is asked about each request", (done, decider.asked))
    server.seen.clear()
    done = ask("curl -sS -D - URL/deny; curl -sS -o /dev/null -w '%{http_code}\\n' URL/status; curl -sS -X TRACE -o /dev/null -w '%{http_code}\\n' URL/t")
    tap.ok("403 Forbidden" in done.out and "not this one" in done.out and "X-Proxy-Error: blocked-by-sandbox-runtime" in done.out and
           done.out.endswith("429\n405\n") and server.seen == [] and "GET /deny" in done.err, f"{user.name}: what it denies", done)
    done = ask("curl -sS URL/set")
    tap.ok("x-set: by the decider" in done.out and "accept: changed" in done.out and "User-Agent" not in done.out and "*/*" not in done.out,
           f"{user.name}: fields that it sets and removes", done)
    done = ask("curl -sS -o /dev/null -w '%{http_code}\\n' CLEAR/set")
    tap.equal(done.out, "403\n", f"{user.name}: none in plain text")
    done = ask("curl -sS CLEAR/set", allowPlaintextHeaderSet=True)
    tap.ok("x-set: by the decider" in done.out, f"{user.name}: unless allowPlaintextHeaderSet", done)
    test_seen_bodies(user, ask, server, decider)
    done = ask("curl -sS -o a -w '%{http_code}\\n' URL/wait")
    tap.equal(done.out, "200\n", f"{user.name}: a program that says so gets more time")
    for bad in ("length", "smuggle", "none", "more", "unknown", "other", "twice", "garbage"):
        server.seen.clear()
        done = ask(f"curl -sS -o /dev/null -w '%{{http_code}}\\n' URL/{bad}; curl -sS -o /dev/null -w '%{{http_code}}\\n' URL/fine")
        tap.ok(done.out == "503\n200\n" and server.seen == ["GET /fine"], f"{user.name}: an answer that breaks the protocol: {bad}", done)
    done = ask("curl -sS -o a -w '%{http_code}\\n' URL/silent & curl -sS -o b -w '%{http_code}\\n' URL/fine; wait")
    tap.equal(done.out, "200\n503\n", f"{user.name}: no answer within five seconds, and others do not wait")
    done = run(user, {**network, "filterRequest": path + ".gone"}, f"curl -sS -o a -w '%{{http_code}}\\n' https://localhost:{secure}/x")
    tap.equal(done.out, "503\n", f"{user.name}: nobody to ask")
    test_targets(user, ask, server, decider)


def test_seen_bodies(user, ask, server, decider):
    post = "curl -sS -o a -w '%{http_code}\\n' "
    rows = [("a body", "-d good URL/see", "200", [("good", None)]), ("one that is denied", "-d evil URL/see", "403", [("evil", None)]),
            ("in chunks", "-H 'Transfer-Encoding: chunked' -d ev''il URL/see", "403", [("evil", None)]),
            ("no body", "URL/see", "200", [("", None)]), ("as long as it may be", "-d @100 URL/see", "200", [("x" * 100, None)]),
            ("more than it wants to see", "-d @101 URL/see", "403", [("x" * 100, True)]),
            ("much more, in chunks", "-H 'Transfer-Encoding: chunked' --data-binary @big URL/see", "403", [("x" * 100, True)]),
            ("for which the client waits to be asked", "-H 'Expect: 100-continue' --expect100-timeout 20 -d good URL/see", "200", [("good", None)]),
            ("asked for twice", "-d again URL/see", "503", [("again", None)]), ("an answer before it", "-H 'Transfer-Encoding: chunked' -T slow URL/early", "503", []),
            ("plain", "-d evil CLEAR/see", "403", [("evil", None)])]
    files = "for n in 100 101; do head -c $n /dev/zero | tr '\\0' x >$n; done; head -c 3000000 /dev/zero | tr '\\0' x >big; "
    slow = "mkfifo slow; (sleep 1; echo hi) >slow & "
    for name, words, status, seen in rows:
        server.seen.clear()
        decider.asked.clear()
        done = ask(files + slow + post + words)
        shown = [(base64.b64decode(q["data"]).decode(), q.get("cut")) for q in decider.asked if q["t"] == "body"]
        tap.ok(done.out == status + "\n" and shown == seen and bool(server.seen) == (status == "200"), f"{user.name}: a decider sees {name}",
               done, shown, server.seen)
    decider.asked.clear()
    done = ask(files + "sum() { sha256sum | cut -c1-64; }; head -c 30000000 /dev/urandom >large; " + post + "--data-binary @large URL/all; "
               "sum <large; " + " & ".join([post.replace("a -w", f"a{i} -w") + "--data-binary @large URL/all" for i in range(3)]) + "; wait")
    shown = [hashlib.sha256(base64.b64decode(q["data"])).hexdigest() for q in decider.asked if q["t"] == "body"]
    lines = done.out.split()
    tap.ok(lines[0] == "200" and shown[0] == lines[1] and "200" in lines[2:] and set(lines[2:]) <= {"200", "503"},
           f"{user.name}: 30 megabytes, and not too many at once", done.out, done.err[-300:])


def test_h2(user, plain):
    """The same in HTTP/2, over TLS and without, by a server that speaks both versions."""
    if not shutil.which("nghttpx"):
        tap.skip("nghttpx is not installed")
        return
    path, secure, clear = os.path.join(user.folder(), "decider.sock"), TLS.free_port(), TLS.free_port()
    decider = Decider(path)
    network = {"allowedDomains": [f"localhost:{secure}", f"localhost:{clear}"], "tlsTerminate": {}, "filterRequest": path}
    argv = ["nghttpx", f"--frontend=127.0.0.1,{secure}", f"--frontend=127.0.0.1,{clear};no-tls", f"--backend=127.0.0.1,{plain.server_address[1]}",
            "--conf=/dev/null", "--workers=1", "--errorlog-file=/dev/null", "--accesslog-file=/dev/null", "--no-ocsp", "good.key", "good.pem"]
    with subprocess.Popen(argv, cwd=PKI, stderr=subprocess.DEVNULL) as child:
        for port in (secure, clear):
            for _ in range(100):
                with socket.socket() as s:
                    if s.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
        try:
            check_h2(user, decider, plain, lambda script, **more: run(user, {**network, **more}, script.replace("URL", f"https://localhost:{secure}").replace(
                "CLEAR", f"http://localhost:{clear}")))
        finally:
            child.terminate()


def check_h2(user, decider, server, ask):
    word = "curl -sS -o a -w '%{http_version} %{http_code}\\n' "
    done = ask(word + "URL/x?q=1 -o b URL/y && cat a")
    tap.ok(done.out.startswith("2 200\n2 200\n") and "curl" in done.out and
           [(q["method"], q["path"], q["scheme"], q["host"], q["headers"]["accept"]) for q in decider.asked] ==
           [("GET", one, "https", "localhost", ["*/*"]) for one in ("/x", "/y")] and decider.asked[0]["query"] == "q=1",
           f"{user.name}: HTTP/2: a program is asked about each request", done, decider.asked)
    server.seen.clear()
    done = ask("curl -sS -D - URL/deny; " + word + "URL/status -o b URL/x -o c URL/length; " + word + "-X TRACE URL/t")
    tap.ok("HTTP/2 403" in done.out and "x-buckle-denied: not this one" in done.out and "x-proxy-error: blocked-by-sandbox-runtime" in done.out and
           "GET /deny" in done.err and done.out.split("\n")[-5:] == ["2 429", "2 200", "2 503", "2 405", ""] and server.seen == ["GET /x"],
           f"{user.name}: HTTP/2: what it denies", done, server.seen)
    done = ask("curl -sS URL/set | tr A-Z a-z")
    tap.ok("x-set: by the decider" in done.out and "accept: changed" in done.out and "curl" not in done.out and "*/*" not in done.out,
           f"{user.name}: HTTP/2: fields that it sets and removes", done)
    server.seen.clear()
    done = ask(f"head -c 3000000 /dev/urandom >big; {word} --data-binary @big URL/up; curl -sS -Z " +
               " --next -Z ".join(f"-sS -o o{i} -w '%{{http_version}} %{{http_code}}\\n' {'' if name == 'deny' else '--data-binary @big'} URL/{name}"
                                for i, name in enumerate(["a", "deny", "b", "deny", "c"])))
    tap.ok(done.out.startswith("2 200\n") and sorted(done.out.split("\n")[1:]) == ["", "2 200", "2 200", "2 200", "2 403", "2 403"] and
           sorted(server.seen) == ["POST /a", "POST /b", "POST /c", "POST /up"], f"{user.name}: HTTP/2: bodies, and several requests at once", done)
    decider.asked.clear()
    done = ask(word + "-d good URL/see; " + word + "-d evil URL/see")
    shown = [base64.b64decode(q["data"]).decode() for q in decider.asked if q["t"] == "body"]
    tap.ok(done.out == "1.1 200\n1.1 403\n" and shown == ["good", "evil"], f"{user.name}: HTTP/2: to show a body, the client falls back to HTTP/1.1",
           done, decider.asked)
    done = ask(word + "URL/silent -o b URL/fine")
    tap.equal(done.out, "2 503\n2 200\n", f"{user.name}: HTTP/2: no answer in time")
    for mode, answer, asked in (("refuse", "2 400\n", []), ("asSpelled", "2 200\n", ["/a/../b"]), ("normalize", "2 200\n", ["/b"])):
        server.seen.clear()
        decider.asked.clear()
        done = ask(word + "--path-as-is 'URL/a/../b?c=1'", ambiguousRequestTarget=mode)
        seen = ["GET /b?c=1"] if asked else []  # nghttpx resolves dot segments itself
        tap.ok(done.out == answer and server.seen == seen and [q["path"] for q in decider.asked] == asked, f"{user.name}: HTTP/2: ambiguousRequestTarget {mode}", done, server.seen)
    server.seen.clear()
    done = ask("; ".join(word + "--http2-prior-knowledge CLEAR/" + one for one in ("x", "deny", "set")) + "; " + word + "--http2 CLEAR/x -o b CLEAR/deny")
    tap.ok(done.out == "2 200\n2 403\n2 403\n2 200\n2 403\n" and server.seen == ["GET /x", "GET /x"], f"{user.name}: HTTP/2 without TLS", done, server.seen)
    done = ask(word + "URL/x", stripResponseHeaders=["set-cookie"])
    tap.equal(done.out, "1.1 200\n", f"{user.name}: where answers are changed, HTTP/1.1 is offered")


def test_targets(user, ask, server, decider):
    script = "curl -sS --path-as-is -o a -w '%{http_code}\\n' 'URL/a/../b?c=/../d'"
    for mode, answer, seen in (("refuse", "400\n", []), ("asSpelled", "200\n", ["GET /a/../b?c=/../d"]), ("normalize", "200\n", ["GET /b?c=/../d"])):
        server.seen.clear()
        decider.asked.clear()
        done = ask(script, ambiguousRequestTarget=mode)
        tap.ok(done.out == answer and server.seen == seen and len(decider.asked) == len(seen), f"{user.name}: ambiguousRequestTarget {mode}",
               (done, server.seen))


def main():
    TLS.make_pki()
    server, plain = echo(True), echo(False)
    for user in PEOPLE[-1:] if "ONE_USER" in os.environ else PEOPLE:
        test_terminate(user, server)
        test_slow(user)
        test_strip(user, server, plain)
        test_via(user, server)
        test_decider(user, server, plain)
        test_h2(user, plain)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
