#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle proxy`: the gate for programs that Buckle does not run. Real clients, a user for each policy, a decider in lines and in
srt's frames, and clients that misbehave. Prints TAP.
"""

import base64
import importlib.util
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import sites
import tap
from drive import FOLDER
from running import BUCKLE, PEOPLE


def load(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(os.path.dirname(os.path.abspath(__file__)), f"e2e-{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TLS, HANDLING = load("tls"), load("handling")
PKI = TLS.PKI


class Proxy:
    """A running proxy, and what it printed when it was ready."""

    def __init__(self, user, *flags, settings=None, env=None, fds=(), program="buckle"):
        self.folder = user.folder()
        words = [BUCKLE, "proxy"]
        if program == "srt":
            link = os.path.join(self.folder, "srt")
            os.symlink(BUCKLE, link)
            words = [link, "proxy"]
        for name, value in (settings or {}).items():
            path = os.path.join(self.folder, name + ".json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(value, f)
            words += ["--policy", f"{name}={path}"]
        self.ca = os.path.join(self.folder, "ca.pem")
        self.errors = open(os.path.join(self.folder, "errors"), "w+b")
        self.child = subprocess.Popen([*words, "--json", "--ca-file", self.ca, *(f.replace("FOLDER", self.folder) for f in flags)],
                                      stdout=subprocess.PIPE, stderr=self.errors, cwd=self.folder, pass_fds=fds, user=user.uid, group=user.uid,
                                      extra_groups=[], env={**user.env, "SSL_CERT_FILE": os.path.join(PKI, "ca.pem"), **(env or {})})
        self.line = self.child.stdout.readline()
        self.ready = json.loads(self.line) if self.line else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()
        self.child.stdout.close()
        self.errors.close()

    def said(self):
        with open(self.errors.name, encoding="utf-8") as f:
            return f.read()

    def url(self, name="main", kind="http"):
        return next(p[kind] for p in self.ready["policies"] if p["user"] == name)


def sh(proxy, script, kind="http", name="main", **more):
    """A client as others would start it: with the usual variables."""
    url = proxy.url(name, kind)
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": proxy.folder, "http_proxy": url, "https_proxy": url,
           "SSL_CERT_FILE": proxy.ca, "CURL_CA_BUNDLE": proxy.ca, "GIT_SSL_CAINFO": proxy.ca, "NODE_EXTRA_CA_CERTS": proxy.ca,
           "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", **more}
    done = subprocess.run(["sh", "-c", script], cwd=proxy.folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120)
    return done.stdout.decode("utf-8", "replace")


def basic(login):
    return base64.b64encode(login.encode()).decode()


def network(**keys):
    return {"network": keys}


# ---- tests ----


def test_clients(user, server, plain):
    secure, clear = server.server_address[1], plain.server_address[1]
    rules = {"main": network(allowedDomains=[f"localhost:{clear}"], allowedRequests=[f"GET,HEAD localhost:{secure}/v1/**"])}
    with Proxy(user, settings=rules) as proxy:
        for kind in ("http", "socks"):
            # a list of hosts that no host is in
            out = sh(proxy, f"curl -sS https://localhost:{secure}/v1/x; curl -sS http://localhost:{clear}/p; "
                     f"curl -sS -X DELETE https://localhost:{secure}/v1/x; curl -sS https://localhost:{secure}/v2", kind, no_proxy="none")
            tap.ok(out.count("Host: localhost") == 2 and "this DELETE request" in out and "this GET request" in out,
                   f"{user.name}: curl, {kind}: requests by rule", out)
        out = sh(proxy, f"curl -sS --http1.1 https://localhost:{secure}/v1/x; wget -q --ca-certificate=$SSL_CERT_FILE -O - https://localhost:{secure}/v1/x; "
                 f"python3 -c \"import urllib.request; print(urllib.request.urlopen('https://localhost:{secure}/v1/x').read().decode())\"")
        tap.equal(out.count("Host: localhost"), 3, f"{user.name}: curl, wget and Python trust what --ca-file got")
        out = sh(proxy, f"curl -sSD - http://localhost:{clear + 1}/ http://other.test/ 2>&1; curl -sS https://other.test/")
        tap.ok(out.count("X-Proxy-Error: blocked-by-allowlist") == 2 and "403" in out.splitlines()[-1] and "denied other.test:443" in proxy.said(),
               f"{user.name}: other hosts are refused, with srt's mark, and reported", (out, proxy.said()))
        with open(proxy.ca, encoding="ascii") as f:
            text = f.read()
        tap.ok("PRIVATE" not in text and text.count("BEGIN CERTIFICATE") == 1, f"{user.name}: the file has a certificate, and no key")


def test_users(user, plain):
    clear = plain.server_address[1]
    both = {"a": network(allowedDomains=[f"localhost:{clear}"]), "b": network(allowedDomains=["b.test"])}
    with Proxy(user, "--listen", "unix:FOLDER/sock", "--listen", "127.0.0.1:0", "--passwords", "FOLDER/passwords", settings=None) as proxy:
        tap.ok(proxy.ready is None, f"{user.name}: a file of passwords that is not there", proxy.said())
    with Proxy(user, "--listen", "127.0.0.1:0", "--listen", "unix:FOLDER/sock", settings=both) as proxy:
        place, url = proxy.ready["listen"][0], f"http://localhost:{clear}/x"
        a, b = (next(p["password"] for p in proxy.ready["policies"] if p["user"] == n) for n in "ab")
        out = sh(proxy, f"for l in a:{a} b:{b} a:{b} b:{a} a: : c:{a}; do for k in http socks5h; do "
                 f"curl -s -o /dev/null -w '%{{http_code}} ' --noproxy none -x $k://$l@{place} {url} || echo -n 'no '; done; done", name="a")
        tap.equal(out.split(), ["200", "200", "403", "000", "no"] + ["407", "000", "no"] * 5, f"{user.name}: each login has its policy, and no other login any")
        out = sh(proxy, f"curl -s --noproxy none -x http://{place} {url}; curl -s --noproxy none --unix-socket sock -x '' -H 'Proxy-Authorization: Basic "
                 f"{basic(f'a:{a}')}' --request-target {url} http://localhost:{clear}/", name="a")
        tap.ok("needs the user and password" in out and f"localhost:{clear}" in out, f"{user.name}: none at all, and a Unix socket", out)
        mode = os.stat(os.path.join(proxy.folder, "sock")).st_mode & 0o777
        tap.equal(oct(mode), "0o700", f"{user.name}: whose file is for its owner")
        proxy.child.terminate()
        proxy.child.wait()
        tap.ok(not os.path.exists(os.path.join(proxy.folder, "sock")) and proxy.child.returncode == 0, f"{user.name}: and goes with the proxy")


def test_lines(user, server):
    port = server.server_address[1]
    path = os.path.join(user.folder(), "decider.sock")
    decider = HANDLING.Decider(path)
    with Proxy(user, "--decider", path, "--decider-timeout", "500", settings={"main": network(allowedDomains=[f"localhost:{port}"])}) as proxy:
        server.seen.clear()
        code = "-o /dev/null -w '%{http_code} '"
        out = sh(proxy, f"curl -sS {code} https://localhost:{port}/x; curl -sS {code} https://localhost:{port}/deny; "
                 f"curl -sS {code} https://localhost:{port}/silent; curl -sS {code} https://localhost:{port}/garbage; curl -sS https://localhost:{port}/set")
        tap.ok(out.startswith("200 403 503 503 ") and "x-set: by the decider" in out and server.seen == ["GET /x", "GET /set"] and
               decider.asked[0]["user"] == "main" and decider.asked[0]["scheme"] == "https", f"{user.name}: a decider, with lines", (out, decider.asked))
        with socket.create_connection(proxy.ready["listen"][0].split(":")) as s:
            login = proxy.url().split("//")[1].split("@")[0]
            s.sendall(b"CONNECT localhost:%d HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic %s\r\n\r\n" %
                      (port, basic(login).encode()))
            s.recv(100)
            s.sendall(b"SSH-2.0-x\r\n")
            s.settimeout(10)
            try:
                left = s.recv(100)
            except ConnectionResetError:
                left = b""
            tap.equal(left, b"", f"{user.name}: what is no request is refused")


class Frames(threading.Thread):
    """A decider as `srt proxy` has it."""

    def __init__(self, sock, hosts):
        super().__init__(daemon=True)
        self.sock, self.hosts, self.got = sock, hosts, []
        self.start()

    def send(self, message):
        data = json.dumps(message).encode()
        self.sock.sendall(struct.pack(">I", len(data)) + data)

    def read(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            if not more:
                return None
            data += more
        return data

    def run(self):
        while (head := self.read(4)):
            m = json.loads(self.read(struct.unpack(">I", head)[0]))
            self.got.append(m)
            if m["t"] == "hello":
                self.send({"t": "hello", "proto": 1, "allowedDomains": self.hosts, "deniedDomains": []})
            elif m["t"] == "body":
                self.send({"t": "verdict", "id": m["id"], "action": "allow"})
            elif m["path"] == "/deny":
                self.send({"t": "verdict", "id": m["id"], "action": "deny", "status": 451, "reason": "by the decider"})
            elif m["path"] == "/body":
                self.send({"t": "verdict", "id": m["id"], "action": "need_body", "max": 100})
            elif m["path"] == "/token":
                self.send({"t": "verdict", "id": m["id"], "action": "allow", "cred": "x", "credential": "abc"})
            elif m["path"] == "/set":
                self.send({"t": "verdict", "id": m["id"], "action": "allow", "setHeaders": {"authorization": ["x"]}})
            else:
                self.send({"t": "verdict", "id": m["id"], "action": "allow"})


def test_srt(user, server):
    port = server.server_address[1]
    ours, theirs = socket.socketpair()
    lifeline, keep = os.pipe()
    ca_read, ca_write = os.pipe()
    for name in ("ca.pem", "ca.key"):
        with open(os.path.join(PKI, name), "rb") as f:
            os.write(ca_write, f.read())
    os.close(ca_write)
    decider = Frames(ours, [f"localhost:{port}", "127.0.0.1"])
    flags = ["--decider-fd", str(theirs.fileno()), "--lifeline-fd", str(lifeline), "--ca-fd", str(ca_read), "--listen", "127.0.0.1:0",
             "--strip-response-header", "set-cookie"]
    with Proxy(user, *flags, fds=(theirs.fileno(), lifeline, ca_read), program="srt") as proxy:
        theirs.close()
        os.close(lifeline)
        os.close(ca_read)
        out = sh(proxy, f"U=https://localhost:{port}; curl -sSD - $U/x; curl -sS -o /dev/null -w '%{{http_code}}\\n' $U/deny; curl -sS -d abc $U/body; "
                 "curl -sS $U/token", name="decider")
        asked = [(m["method"], m["path"]) for m in decider.got if m["t"] == "req"]
        tap.ok("451" in out and "Authorization: Bearer abc" in out.replace("authorization", "Authorization") and "secret" not in out.split("X_Inner")[0] and
               asked == [("GET", "/x"), ("GET", "/deny"), ("POST", "/body"), ("GET", "/token")] and
               {"t", "id", "method", "host", "port", "path", "headers"} == set(next(m for m in decider.got if m["t"] == "req")),
               f"{user.name}: srt proxy with its decider in frames", (out, decider.got))
        os.close(keep)
        proxy.child.wait(20)
        tap.equal(proxy.child.returncode, 0, f"{user.name}: and it ends with its lifeline")
    ours.close()


def test_bad(user, plain):
    clear = plain.server_address[1]
    with Proxy(user, settings={"main": network(allowedDomains=[f"localhost:{clear}"])}) as proxy:
        host, port = proxy.ready["listen"][0].split(":")
        for name, data in (("garbage", b"\0\1\2" * 1000), ("a long line", b"GET " + b"a" * 200000), ("an endless header", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 50000),
                           ("half a greeting", b"\5"), ("no bytes", b""), ("SOCKS 4", b"\4\1\0\x50\x7f\0\0\1\0"), ("a login of nothing", b"\5\1\2\1\0\0")):
            with socket.create_connection((host, int(port))) as s:
                try:
                    s.sendall(data)
                    s.shutdown(socket.SHUT_WR)
                    s.settimeout(20)
                    while s.recv(65536):
                        pass
                    ended = True
                except (ConnectionResetError, BrokenPipeError):
                    ended = True
                except TimeoutError:
                    ended = False
            tap.ok(ended, f"{user.name}: {name}: the connection ends")
        idle = [socket.create_connection((host, int(port))) for _ in range(300)]
        out = sh(proxy, f"curl -sS --noproxy none -x $http_proxy http://localhost:{clear}/x")
        tap.ok("Host: localhost" in out, f"{user.name}: 300 idle connections disturb nobody", out)
        for s in idle:
            s.close()
        gate = next(int(p) for p in os.listdir("/proc") if p.isdigit() and parent(p) == proxy.child.pid)
        os.kill(gate, signal.SIGKILL)
        proxy.child.wait(20)
        tap.ok(proxy.child.returncode == 1 and "one of its processes has ended" in proxy.said(), f"{user.name}: without one of its processes the proxy ends", proxy.said())
    for flags, why in ((["--listen", "0.0.0.0:0"], "not a loopback address"), (["--listen", "nonsense"], "ADDRESS:PORT"),
                       (["--policy", "main"], "USER=FILE"), (["--profile", "nonexistent"], "nonexistent"), (["--no-login"], "one policy"),
                       (["--lifeline-fd", "77"], "77"), (["--decider", "a", "--decider-fd", "0"], "--decider")):
        with Proxy(user, *flags, settings={"main": network(), "more": network()}) as proxy:
            tap.ok(proxy.ready is None and why in proxy.said() and proxy.child.wait(20) == 2, f"{user.name}: {' '.join(flags)}: {why}", proxy.said())


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def test_git(user):
    """Fetching is allowed, pushing is not; then pushing to one repository."""
    if not shutil.which("git") or not os.path.exists(backend := subprocess.run(["git", "--exec-path"], stdout=subprocess.PIPE, text=True,
                                                                              check=True).stdout.strip() + "/git-http-backend"):
        tap.skip("git http-backend is not installed")
        return
    site = os.path.join(FOLDER, f"repositories-{user.name}")
    for name in ("mine", "other"):
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", os.path.join(site, "me", name + ".git")], check=True)
        subprocess.run(["git", "-C", os.path.join(site, "me", name + ".git"), "config", "http.receivepack", "true"], check=True)
    server = sites.git_server(TLS, backend, site)
    port = server.server_address[1]
    rules = {"main": network(allowedRequests=[f"git-push localhost:{port}/me/mine", f"read-only localhost:{port}/me/**"])}
    with Proxy(user, settings=rules) as proxy:
        out = sh(proxy, f"set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; U=https://localhost:{port}/me; "
                 "git clone -q $U/mine.git a; cd a; echo hello >f; git add f; git commit -qm first; git push -q origin HEAD:main; cd ..; "
                 "git clone -q $U/mine.git b; cat b/f; git clone -q $U/other.git c; cd c; git commit -q --allow-empty -m x; "
                 "git push -q origin HEAD:main || echo refused", no_proxy="none")
        tap.ok("hello\n" in out and out.rstrip().endswith("refused") and "git-receive-pack" in proxy.said(), f"{user.name}: git clones, pushes to one repository, "
               "and not to another", (out, proxy.said()))


def test_npm(user):
    if not shutil.which("npm") or not shutil.which("node"):
        tap.skip("npm is not installed")
        return
    server = sites.npm_registry(TLS)
    port = server.server_address[1]
    rules = {"main": network(allowedRequests=[f"read-only localhost:{port}"]),
             "author": network(allowedRequests=[f"read-only localhost:{port}", f"PUT localhost:{port}/left-pad"])}
    with Proxy(user, settings=rules) as proxy:
        npm = f"npm --registry https://localhost:{port}/ --cafile {proxy.ca} --noproxy none.test --no-audit --no-fund --no-update-notifier --loglevel error"
        script = f"mkdir -p p; cd p; echo '{{\"name\": \"left-pad\", \"version\": \"9.9.9\"}}' >package.json; " \
                 f"echo '//localhost:{port}/:_authToken=abc' >.npmrc; {npm} publish >out 2>&1 && echo published || echo refused; " \
                 f"mkdir -p ../q; cd ../q; echo '{{}}' >package.json; {npm} install left-pad >out 2>&1; cat node_modules/left-pad/index.js out"
        out = sh(proxy, script, no_proxy="none.test")
        tap.ok("refused" in out and "padded" in out and not server.published, f"{user.name}: npm installs, and does not publish", (out, proxy.said()))
        out = sh(proxy, "rm -rf p q; " + script, name="author", no_proxy="none.test")
        tap.ok("published" in out and "padded" in out and server.published == ["/left-pad"], f"{user.name}: the user who may publish does", (out, proxy.said()))


def main():
    TLS.make_pki()
    server, plain = HANDLING.echo(True), HANDLING.echo(False)
    for user in PEOPLE[-1:] if "ONE_USER" in os.environ else PEOPLE:
        test_clients(user, server, plain)
        test_users(user, plain)
        test_lines(user, server)
        test_srt(user, server)
        test_bad(user, plain)
        test_git(user)
        test_npm(user)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
