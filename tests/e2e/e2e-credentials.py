#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Credentials that requests carry and the command never has: what the server gets, what the command sees,
answers that return a secret, and canaries. Prints TAP.
"""

import base64
import gzip
import hashlib
import hmac
import http.server
import importlib.util
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import threading
import time
from urllib.parse import quote, unquote

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from drive import FOLDER
from running import BUCKLE, PEOPLE

HERE = os.path.dirname(os.path.abspath(__file__))
LOADED = importlib.util.spec_from_file_location("e2e_tls", os.path.join(HERE, "e2e-tls.py"))
TLS = importlib.util.module_from_spec(LOADED)
LOADED.loader.exec_module(TLS)

SECRET = "ghp_Zx81kQw93LmNb72VcXs45aDfGhJ0pQ/r+T=u"


# ---- a server that returns what it gets ----


def echo_parts(how, text):
    """The answer's header fields and its bytes on the wire."""
    raw = text.encode()
    if how == "chunks":
        return ["Transfer-Encoding: chunked"], b"".join(b"1\r\n%c\r\n" % b for b in raw) + b"0\r\n\r\n"
    if how == "trailer":
        return ["Transfer-Encoding: chunked"], b"2\r\nok\r\n0\r\nX-Token: " + raw + b"\r\n\r\n"
    if how == "gzip":
        packed = gzip.compress(raw)
        return ["Content-Encoding: gzip", f"Content-Length: {len(packed)}"], packed
    if how == "close":
        return ["Connection: close"], raw
    if how == "header":
        return [f"X-Token: {text}", "Content-Length: 2"], b"ok"
    if how.startswith("base64-"):
        raw = base64.b64encode(b"x" * int(how[-1]) + raw + b"yy")
    if how == "hex":
        raw = raw.hex().encode()
    if how == "json":
        raw = b'{"t": "' + raw.replace(b"/", b"\\/") + b'"}'
    return [f"Content-Length: {len(raw)}"], raw


class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        token = self.headers.get("authorization") or self.headers.get("x-api-key") or ""
        self.server.seen.append((path, token, query, dict(self.headers)))
        fields, body = echo_parts(path.rpartition("/")[2], token.rpartition(" ")[2])
        status = "302 Found\r\nLocation: /v1/x?t=" + token.rpartition(" ")[2] if path.endswith("/redirect") else "200 OK"
        self.wfile.write(f"HTTP/1.1 {status}\r\n".encode() + "".join(f + "\r\n" for f in fields).encode() + b"\r\n")
        for i in range(0, len(body), 7):  # in pieces
            self.wfile.write(body[i:i + 7])
            self.wfile.flush()
        self.close_connection = "Connection: close" in fields

    def do_POST(self):
        body = Git.body(self)
        self.server.seen.append((self.path, self.headers.get("authorization") or "", body.decode(), dict(self.headers)))
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def log_message(self, *_):
        pass


def serve():
    handler, TLS.Handler = TLS.Handler, Echo
    server = TLS.serve("good")
    TLS.Handler = handler
    return server


def run(user, server, script, *flags, rule=None, secret=SECRET, env=None, rest=("--allow-request=localhost:PORT",)):
    port = str(server.server_address[1])
    rule = (rule or "TOKEN -> localhost:PORT").replace("PORT", port)
    more = [one.replace("PORT", port) for one in rest]
    script = script.replace("URL", f"https://localhost:{port}")
    variables = {"SSL_CERT_FILE": os.path.join(TLS.PKI, "ca.pem"), "TOKEN": secret}
    variables.update(env or {})
    server.seen.clear()
    return user.run(*more, *([f"--credential={rule}"] if rule != "none" else []), *flags, "--", "sh", "-c", script, cwd=user.folder(),
                    env=variables, timeout=60)


HEADER = 'curl -sS -H "Authorization: Bearer $TOKEN" '


# ---- what the server gets, and what the command sees ----


def shape(text):
    return re.sub("[A-Z]", "A", re.sub("[a-z]", "a", re.sub("[0-9]", "0", text)))


def test_places(user, server):
    done = run(user, server, 'printf %s "$TOKEN"')
    tap.ok(done.out != SECRET and shape(done.out) == shape(SECRET) and done.out.startswith("ghp_"),
           f"{user.name}: inside is a placeholder of the same shape", done)
    again = run(user, server, 'printf %s "$TOKEN"')
    tap.ok(again.out != done.out, f"{user.name}: another one in each run", again)
    done = run(user, server, HEADER + 'URL/v1/x; curl -sS -H "X-Api-Key: $TOKEN" URL/v1/y; curl -sS -u "me:$TOKEN" URL/v1/z; '
               'curl -sS "URL/v1/q?a=1&t=$TOKEN&b=2"')
    got = [(path, token, query) for path, token, query, _ in server.seen]
    basic = "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()
    tap.equal(got, [("/v1/x", f"Bearer {SECRET}", ""), ("/v1/y", SECRET, ""), ("/v1/z", basic, ""), ("/v1/q", "", f"a=1&t={SECRET}&b=2")],
              f"{user.name}: the server gets it in header fields, basic authentication and the query")
    tap.ok(SECRET not in done.out + done.err, f"{user.name}: and no answer has it", done)
    done = run(user, server, "for i in 1 2 3; do " + HEADER + "URL/v1/$i URL/v1/again; done; exec 3>&1; "
               + HEADER + "-o /dev/null -w '%{http_version}' URL/v1/x")
    tap.ok(len(server.seen) == 7 and all(SECRET in one[1] for one in server.seen) and done.out.endswith("1.1"),
           f"{user.name}: each request on a kept connection", done)


def test_limits(user, server):
    other = serve()
    port = other.server_address[1]
    done = run(user, server, HEADER + f"https://localhost:{port}/v1/x", rest=("--allow-request=localhost:PORT", f"--allow-request=localhost:{port}"))
    tap.ok(len(other.seen) == 1 and SECRET not in str(other.seen), f"{user.name}: another host gets the placeholder", done)
    done = run(user, server, HEADER + "URL/v1/x; " + HEADER + "URL/v2/x; " + HEADER + "URL/v1/../v2/x --path-as-is; " + HEADER + "URL/v1x",
               rule="TOKEN -> localhost:PORT/v1/**")
    tap.equal([one[0] for one in server.seen if SECRET in one[1]], ["/v1/x"], f"{user.name}: only below the path")
    plain = TLS.Quiet(("127.0.0.1", 0), Echo)
    plain.seen = []
    TLS.threading.Thread(target=plain.serve_forever, daemon=True).start()
    done = run(user, plain, HEADER + f"http://localhost:{plain.server_address[1]}/v1/x")
    tap.ok(len(plain.seen) == 1 and SECRET not in str(plain.seen), f"{user.name}: nothing without TLS", done)
    done = run(user, server, HEADER + "URL/v1/x", rest=())
    tap.ok(not server.seen, f"{user.name}: a credential allows no host", done)
    done = run(user, server, HEADER + "URL/v1/x", rest=("--allow-net=localhost:PORT",))
    tap.ok(len(server.seen) == 1 and SECRET in server.seen[0][1], f"{user.name}: hosts that are allowed as a whole get it, too", done)
    done = run(user, server, "printf 'SSH-2.0-x\\r\\n' | timeout 3 nc -w 2 localhost PORT".replace("PORT", str(server.server_address[1])),
               rest=("--allow-net=localhost:PORT",))
    tap.ok(not server.seen, f"{user.name}: and nothing but requests", done)
    for text, why in (("short -> localhost", "not set"), ("TOKEN", "no host"), ("9X -> localhost", "variable"), ("TOKEN -> *", "hosts with a name"),
                      ("TOKEN=ftp:x -> a.b", "source"), ("TOKEN -> a.b/*/x", "path is plain"), ("TOKEN=command:false -> a.b", "failed"),
                      ("TOKEN=file:/nonexistent -> a.b", "No such file")):
        done = run(user, server, "echo started", rule=text)
        tap.ok(done.status == 125 and why in done.err and "started" not in done.out, f"{user.name}: refused: {text}", done)
    for secret, why in (("abc", "too short"), ("x" * 5000, "4096"), ("a b c d e f g h i", "bytes")):
        done = run(user, server, "echo started", secret=secret)
        tap.ok(done.status == 125 and why in done.err and secret not in done.err, f"{user.name}: refused: {secret[:9]}", done)


def test_sources(user, server):
    place = os.path.join(user.folder(), "token")
    user.write(place, SECRET + "\n")
    done = run(user, server, HEADER + "URL/v1/x", rule=f"TOKEN=file:{place} -> localhost:PORT", env={"TOKEN": ""})
    tap.ok(server.seen and server.seen[0][1] == f"Bearer {SECRET}", f"{user.name}: from a file", done)
    done = run(user, server, HEADER + "URL/v1/x", rule=f"TOKEN=command:cat {place} | tr -d x -> localhost:PORT", env={"TOKEN": ""})
    tap.ok(server.seen and server.seen[0][1] == "Bearer " + SECRET.replace("x", ""), f"{user.name}: from a command", done)


def test_bodies(user, server):
    send = 'curl -sS -d "{\\"t\\": \\"$TOKEN\\"}" URL/v1/token; '
    done = run(user, server, send)
    tap.ok(len(server.seen) == 1 and SECRET not in str(server.seen), f"{user.name}: a body gets none", done)
    done = run(user, server, send + HEADER + "URL/v1/x", rule="TOKEN -> localhost:PORT/v1/** in body")
    tap.equal([one[1:3] for one in server.seen], [("", '{"t": "%s"}' % SECRET), (f"Bearer {done.out.split(chr(34))[3]}", "")],
              f"{user.name}: unless its rule says so, and then only a body")
    tap.ok(SECRET not in done.out, f"{user.name}: and the answer has none", done)
    big = "head -c 300000 /dev/zero | tr '\\0' x; printf %s $TOKEN; head -c 100 /dev/zero | tr '\\0' y"
    done = run(user, server, f"({big}) | curl -sS -H 'Transfer-Encoding: chunked' -H 'Expect:' --data-binary @- -o /dev/null URL/v1/token",
               rule="TOKEN -> localhost:PORT in body header")
    tap.ok(len(server.seen) == 1 and server.seen[0][2] == "x" * 300000 + SECRET + "y" * 100, f"{user.name}: also in chunks", done)
    for text in ("TOKEN -> a.b in", "TOKEN -> a.b in cookie"):
        done = run(user, server, "echo started", rule=text)
        tap.ok(done.status == 125 and "started" not in done.out, f"{user.name}: refused: {text}", done)


def test_keyring(user, server):
    """The Secret Service of a desktop, in a session of its own."""
    if any(not shutil.which(one) for one in ("secret-tool", "gnome-keyring-daemon", "dbus-run-session")):
        tap.skip("the Secret Service is not installed")
        return
    if user.uid not in {one.pw_uid for one in pwd.getpwall()}:
        return  # the bus wants a user that has a name
    home, port = user.folder("keyring"), server.server_address[1]
    words = f"run --allow-request=localhost:{port} '--credential=TOKEN=keyring:service %s user me -> localhost:{port}' --"
    script = f"""mkdir -p -m 700 run; export HOME=$PWD XDG_RUNTIME_DIR=$PWD/run
printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
printf %s '{SECRET}' | secret-tool store --label=x service buckle-test user me || exit 9
mkdir project; cd project
"$1" {words % "buckle-test"} sh -c 'curl -sS -H "X-Api-Key: $TOKEN" https://localhost:{port}/v1/plain'
"$1" {words % "none"} echo started
"""
    server.seen.clear()
    done = user.call(["dbus-run-session", "--", "sh", "-c", script, "sh", BUCKLE], cwd=home,
                     env={"SSL_CERT_FILE": os.path.join(TLS.PKI, "ca.pem")})
    tap.ok(len(server.seen) == 1 and server.seen[0][1] == SECRET and SECRET not in done.out, f"{user.name}: from the keyring", done)
    tap.ok("started" not in done.out and "its command" in done.err, f"{user.name}: which must have it", done)


def test_settings(user, server):
    port = server.server_address[1]
    place = os.path.join(user.folder(), "settings.json")
    user.write(place, json.dumps({"network": {"allowedDomains": [f"localhost:{port}"], "credentials": [f"TOKEN -> localhost:{port}/v1/**"]}}))
    done = run(user, server, HEADER + "URL/v1/x; " + HEADER + "URL/v2/x", f"--settings={place}", rule="none", rest=())
    tap.equal([SECRET in one[1] for one in server.seen], [True, False], f"{user.name}: from settings")
    user.write(place, json.dumps({"network": {"credentials": ["TOKEN to localhost"]}}))
    done = run(user, server, "echo started", f"--settings={place}", rule="none")
    tap.ok(done.status == 125 and ":1:30: network.credentials" in done.err and "started" not in done.out, f"{user.name}: wrong settings", done)


# ---- git ----


class Git(http.server.BaseHTTPRequestHandler):
    """git's own server program; only for who has the secret."""

    protocol_version = "HTTP/1.1"

    def body(self):
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def answer(self):
        path, _, query = self.path.partition("?")
        self.server.seen.append(f"{self.command} {path}")
        body = self.body()
        if self.headers.get("authorization") != "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode():
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        env = dict(os.environ, GIT_PROJECT_ROOT=self.server.root, GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path, QUERY_STRING=query,
                   REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("content-type") or "", CONTENT_LENGTH=str(len(body)),
                   REMOTE_USER="me", GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*",
                   HTTP_CONTENT_ENCODING=self.headers.get("content-encoding") or "", GIT_PROTOCOL=self.headers.get("git-protocol") or "")
        made = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE, check=False).stdout
        head, _, text = made.partition(b"\r\n\r\n")
        status = next((line[8:] for line in head.split(b"\r\n") if line.startswith(b"Status: ")), b"200 OK")
        self.wfile.write(b"HTTP/1.1 " + status + b"\r\n" + head + b"\r\nContent-Length: %d\r\n\r\n" % len(text) + text)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def test_git(user):
    handler, TLS.Handler = TLS.Handler, Git
    server = TLS.serve("good")
    TLS.Handler = handler
    server.root = os.path.join(FOLDER, f"git-{user.name}")
    for name in ("mine", "other"):
        subprocess.run(["git", "init", "-q", "--bare", os.path.join(server.root, "me", name + ".git")], check=True)
        subprocess.run(["git", "-C", os.path.join(server.root, "me", name + ".git"), "config", "http.receivepack", "true"], check=True)
    script = "export HOME=$PWD GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=credential.helper " \
             "GIT_CONFIG_VALUE_0='!f() { echo username=me; echo password=$TOKEN; }; f'; cd $TMPDIR; git clone -q URL/me/mine.git a 2>&1 && " \
             "cd a && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && " \
             "git push -q URL/me/mine.git HEAD:refs/heads/main && echo pushed; " \
             "git push -q URL/me/other.git HEAD:refs/heads/main && echo pushed too; git ls-remote URL/me/mine.git"
    done = run(user, server, script, rest=("--allow-request=git-push localhost:PORT/me/mine",))
    tap.ok("pushed\n" in done.out and "refs/heads/main" in done.out and SECRET not in done.out + done.err, f"{user.name}: git clones and pushes", done)
    tap.ok("pushed too" not in done.out and not any("other" in one for one in server.seen), f"{user.name}: and only to that repository", done)


# ---- AWS ----

AWS = {"AWS_ACCESS_KEY_ID": "AKIAQ7X2M5LD9RPT4WZC", "AWS_SECRET_ACCESS_KEY": "hT7/kQ2mVx9+LpZ3wR8sNcB5yJ4gFdA6eU1oXiKq",
       "AWS_SESSION_TOKEN": "IQoJb3JpZ2luX2VjEJr" + "k7Tz3/vQ9+" * 30 + "Zw=="}


def aws_signature(method, target, headers, payload, names, scope, date, leave_out=()):
    """An implementation of its own, with the real key; path as it was sent."""
    path, _, query = target.partition("?")
    pairs = sorted(tuple(quote(unquote(part), safe="-_.~") for part in (one + "=").split("=")[:2]) for one in query.split("&")
                   if one and one.split("=")[0] not in leave_out)
    fields = "".join(f"{name}:{' '.join((headers.get(name) or '').split())}\n" for name in names.split(";"))
    text = "\n".join((method, path, "&".join("=".join(pair) for pair in pairs), fields, names, payload))
    key = b"AWS4" + AWS["AWS_SECRET_ACCESS_KEY"].encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    text = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n" + hashlib.sha256(text.encode()).hexdigest()
    return hmac.new(key, text.encode(), "sha256").hexdigest()


class Aws(http.server.BaseHTTPRequestHandler):
    """Answers 200 to requests that are signed with the real keys."""

    protocol_version = "HTTP/1.1"

    def is_signed(self, body):
        path, _, query = self.path.partition("?")
        given = dict(one.partition("=")[::2] for one in query.split("&"))
        if "X-Amz-Signature" in given:
            key, _, scope = unquote(given["X-Amz-Credential"]).partition("/")
            made = aws_signature(self.command, self.path, self.headers, "UNSIGNED-PAYLOAD", unquote(given["X-Amz-SignedHeaders"]), scope,
                                 given["X-Amz-Date"], ("X-Amz-Signature",))
            return key == AWS["AWS_ACCESS_KEY_ID"] and made == given["X-Amz-Signature"]
        words = dict(one.strip().partition("=")[::2] for one in (self.headers.get("authorization") or "").partition(" ")[2].split(","))
        key, _, scope = words.get("Credential", "").partition("/")
        payload = self.headers.get("x-amz-content-sha256") or hashlib.sha256(body).hexdigest()
        token = self.headers.get("x-amz-security-token")
        made = aws_signature(self.command, self.path, self.headers, payload, words.get("SignedHeaders", ""), scope, self.headers.get("x-amz-date"))
        return key == AWS["AWS_ACCESS_KEY_ID"] and made == words.get("Signature") and token in (None, AWS["AWS_SESSION_TOKEN"])

    def answer(self):
        body = Git.body(self)
        good = self.is_signed(body)
        self.server.seen.append((f"{self.command} {self.path}", good, dict(self.headers), body))
        text = (self.headers.get("authorization") or "").encode() + b"\n" + (self.headers.get("x-amz-security-token") or "").encode()
        self.wfile.write(b"HTTP/1.1 %d x\r\nContent-Length: %d\r\n\r\n" % (200 if good else 403, len(text)) + text)

    do_GET = do_PUT = do_POST = answer

    def log_message(self, *_):
        pass


# a client that signs by hand: curl has no queries, tokens and streams
SIGN = r"""
import hashlib, hmac, os, subprocess, sys
from urllib.parse import quote
how, url = sys.argv[1:]
host = url.split("/")[2]
key, secret, token = (os.environ[n] for n in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"))
scope, date = "20260101/us-east-1/s3/aws4_request", "20260101T000000Z"
fields = {"host": host, "x-amz-date": date, "x-amz-security-token": token,
          "x-amz-content-sha256": {"stream": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "trailer": "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}.get(how, "UNSIGNED-PAYLOAD")}
query, payload = "", fields["x-amz-content-sha256"]
if how == "query":
    fields = {"host": host}
    query = "&".join(sorted(f"{n}={quote(v, safe='')}" for n, v in {
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": f"{key}/{scope}", "X-Amz-Date": date, "X-Amz-Expires": "60",
        "X-Amz-Security-Token": token, "X-Amz-SignedHeaders": "host"}.items()))
if how == "range":
    fields["range"] = "bytes=0-5"
names = ";".join(sorted(fields))
text = "\n".join(("GET", "/b/k", query, "".join(f"{n}:{fields[n]}\n" for n in sorted(fields)), names, payload))
k = b"AWS4" + secret.encode()
for part in scope.split("/"):
    k = hmac.new(k, part.encode(), "sha256").digest()
made = hmac.new(k, f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(text.encode()).hexdigest()}".encode(), "sha256").hexdigest()
if how == "wrong":
    made = made[::-1]
kind = "AWS4-ECDSA-P256-SHA256" if how == "sigv4a" else "AWS4-HMAC-SHA256"
args = [f"{url}/b/k?{query}&X-Amz-Signature={made}"] if how == "query" else [
    f"{url}/b/k", "-H", f"Authorization: {kind} Credential={key}/{scope}, SignedHeaders={names}, Signature={made}"]
for n, v in fields.items():
    if n != "host":
        args += ["-H", f"{n}: {v}"]
sys.exit(subprocess.call(["curl", "-sS", "-w", " %{http_code}\n", *args]))
"""


def run_aws(user, server, script, *flags):
    names = [f"--credential={name} -> localhost:PORT" for name in AWS]
    return run(user, server, script, *(one.replace("PORT", str(server.server_address[1])) for one in (*names, *flags)), rule="none", env=AWS)


def test_aws(user):
    handler, TLS.Handler = TLS.Handler, Aws
    server = TLS.serve("good")
    TLS.Handler = handler
    place = os.path.join(user.folder(), "sign.py")
    user.write(place, SIGN)
    curl = 'curl -sS --aws-sigv4 aws:amz:us-east-1:%s -u "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" -w " %%{http_code}" '
    hidden = lambda done: not any(value in done.out + done.err for value in AWS.values())
    for name, words in (("a list", "'URL/b?list-type=2&prefix=a'"), ("a call with a body", "-d Action=GetCallerIdentity URL/"),
                        ("a large body", "--data-binary @big URL/")):
        done = run_aws(user, server, "head -c 900000 /dev/zero | tr '\\0' z > big; " + curl % "sts" + words)
        tap.ok(len(server.seen) == 1 and server.seen[0][1] and done.out.endswith(" 200") and hidden(done),
               f"{user.name}: AWS: {name} of curl is signed anew", done, server.seen[0][2] if server.seen else "")
    for how in ("plain", "query", "trailer", "range"):
        done = run_aws(user, server, f"python3 {place} {how} URL", f"--allow-read={place}")
        tap.ok(len(server.seen) == 1 and server.seen[0][1] and done.out.endswith(" 200\n") and hidden(done),
               f"{user.name}: AWS: {how} is signed anew", done, server.seen[0][:3] if server.seen else "")
    for how, why in (("stream", "single chunks"), ("sigv4a", "another kind"), ("wrong", "not the one that its keys give")):
        done = run_aws(user, server, f"python3 {place} {how} URL", f"--allow-read={place}")
        tap.ok(not server.seen and why in done.out and done.out.endswith(" 403\n"), f"{user.name}: AWS: {how} is refused", done)
    other = serve()
    port = other.server_address[1]
    done = run_aws(user, server, curl % "s3" + f"https://localhost:{port}/v1/x", f"--allow-request=localhost:{port}")
    tap.ok(len(other.seen) == 1 and not any(value in str(other.seen) for value in AWS.values()), f"{user.name}: AWS: not for another host", done)


def test_programs(user, server):
    """gh and aws, with their usual variables."""
    if "heavy" not in sys.argv:
        return
    if shutil.which("gh", path=user.env["PATH"]):
        port = server.server_address[1]
        done = run(user, server, f"export HOME=$PWD GH_HOST=localhost:{port}; gh api v1/plain; gh api -X POST v1/plain -f a=b", rule="GH_ENTERPRISE_TOKEN -> localhost:PORT",
                   env={"GH_ENTERPRISE_TOKEN": SECRET}, rest=("--allow-request=GET localhost:PORT/api/v3/**",))
        tap.ok([one[:2] for one in server.seen] == [("/api/v3/v1/plain", f"token {SECRET}")] and SECRET not in done.out + done.err and "POST" in done.err,
               f"{user.name}: gh asks with the secret, and may not change anything", done, server.seen)
    else:
        tap.skip("gh is not installed")
    if not os.path.exists("/usr/bin/aws"):
        tap.skip("awscli is not installed")
        return
    handler, TLS.Handler = TLS.Handler, Aws
    site = TLS.serve("good")
    TLS.Handler = handler
    aws = "/usr/bin/aws --endpoint-url URL --region us-east-1 --no-cli-pager "
    for words, request in (("sts get-caller-identity", "POST /"), ("s3api put-object --bucket b --key k --body f", "PUT /b/k"),
                           ("s3 cp f s3://b/k", "PUT /b/k"), ("s3api list-objects-v2 --bucket b --prefix 'a b'", "GET /b?list-type=2&prefix=a%20b&encoding-type=url")):
        done = run_aws(user, site, f"export HOME=$PWD AWS_MAX_ATTEMPTS=1; echo hello >f; {aws} {words} 2>&1")
        tap.ok([one[:2] for one in site.seen] == [(request, True)] and not any(value in done.out + done.err for value in AWS.values()),
               f"{user.name}: aws {words} is signed anew", done, [one[:3] for one in site.seen])


# ---- answers ----

# the secret itself, or what one can read it from
FORMS = (SECRET, SECRET.replace("/", "\\/"), SECRET.encode().hex(),
         *(base64.b64encode(b"x" * i + SECRET.encode() + b"yy").decode()[4:-8] for i in range(3)))


def test_answers(user, server):
    for how in ("plain", "chunks", "trailer", "close", "header", "redirect", "base64-0", "base64-1", "base64-2", "hex", "json"):
        done = run(user, server, f"{HEADER} -D - --raw URL/v1/{how}; echo \"end $TOKEN\"")
        text = re.sub(r"\r\n1\r\n", "", done.out) if how == "chunks" else done.out
        fake = done.out.rpartition("end ")[2].strip()
        tap.ok(len(server.seen) == 1 and SECRET in server.seen[0][1] and not any(form in text for form in FORMS) and re.match("HTTP/1.1 (200|302) ", text),
               f"{user.name}: an answer with the secret: {how}", done, text)
        if how in ("plain", "close", "header"):
            tap.ok(text.count(fake) == 2, f"{user.name}: the placeholder is in its place: {how}", done)
    done = run(user, server, f"{HEADER} --compressed URL/v1/gzip")
    tap.ok(len(server.seen) == 1 and done.status != 0 and "compressed" in done.err, f"{user.name}: a compressed answer is refused", done)
    done = run(user, server, f"{HEADER} --http2-prior-knowledge URL/v1/plain; {HEADER} --http2 -o /dev/null -w '%{{http_version}}' URL/v1/plain")
    tap.ok(len(server.seen) <= 2 and done.out.endswith("1.1") and SECRET not in done.out, f"{user.name}: HTTP/2 is refused, or not agreed upon", done)
    run(user, server, f"{HEADER} --compressed URL/v1/plain")
    tap.equal(server.seen[0][3].get("Accept-Encoding"), "identity", f"{user.name}: and none is asked for")
    run(user, server, f"{HEADER} -r 0-5 URL/v1/plain")
    tap.equal(server.seen[0][3].get("Range"), None, f"{user.name}: nor parts of one")


def everything_in(folder):
    found = []
    for top, _, names in os.walk(folder):
        for name in names:
            try:
                with open(os.path.join(top, name), "rb") as f:
                    found.append(f.read(1 << 24))
            except OSError:
                continue
    return b"".join(found)


def read_whole(path):
    with open(path, "rb") as f:
        return f.read()


def parent_of(pid):
    return read_whole(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1].decode()


def processes_of(marker):
    """Each process of the run whose arguments have the marker: whether it is inside, its name, and all that it has in
    memory, variables and arguments. Buckle's own processes have the arguments of the program that forked them, except
    for buckle-tls, which is a child of one of them."""
    here, words, spaces, parents = os.readlink("/proc/self/ns/pid"), {}, {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents[pid], spaces[pid] = parent_of(pid), os.readlink(f"/proc/{pid}/ns/pid")
            words[pid] = read_whole(f"/proc/{pid}/cmdline")
        except OSError:
            continue
    marked = {pid for pid in words if marker.encode() in words[pid] and pid != str(os.getpid())}
    inside = {spaces[pid] for pid in marked} - {here}
    found = []
    for pid in words:
        if pid not in marked and spaces[pid] not in inside and parents[pid] not in marked:
            continue
        try:
            found.append((spaces[pid] in inside, read_whole(f"/proc/{pid}/comm").decode().strip(), words[pid] + memory_of(pid)))
        except OSError:
            continue
    return found


# each secret, used in one process: header, basic, query, body, by turns; then it waits to be looked at
USES = r"""
import base64, os, sys, time, urllib.request as u
for i in range(20):
    t, url, fields, body = os.environ[f"CANARY_{i}"], sys.argv[1] + f"/v1/{('plain', 'header', 'chunks', 'redirect')[i % 4]}", {}, None
    if i % 4 == 0: fields = {"X-Api-Key": t}
    if i % 4 == 1: fields = {"Authorization": "Basic " + base64.b64encode(b"me:" + t.encode()).decode()}
    if i % 4 == 2: url += "?token=" + t
    if i % 4 == 3: body, url = b"secret=" + t.encode(), sys.argv[1] + "/v1/post"
    answer = u.urlopen(u.Request(url, body, fields))
    kept = answer.read() + str(answer.headers).encode()
    open(f"answer-{i}", "wb").write(kept)
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        for line in open(f"/proc/{pid}/maps"):
            start, end = (int(one, 16) for one in line.split()[0].split("-"))
            with open(f"/proc/{pid}/mem", "rb", 0) as f:
                f.seek(start)
                if b"canary" in f.read(end - start) and pid != str(os.getpid()):
                    open("found", "a").write(pid)
    except (OSError, ValueError, OverflowError):
        continue
print("used", flush=True)
while not os.path.exists("done"):
    time.sleep(0.05)
"""


def test_canaries(user, server):
    """Twenty secrets from variables, files and commands, each used; none is anywhere inside or in the record."""
    canaries = {f"CANARY_{i}": f"canary{i:02}Q" + os.urandom(12).hex() for i in range(20)}
    port, work, outside, marker = server.server_address[1], user.folder(), user.folder("outside"), f"canaries{os.getpid()}{user.name}"
    flags = []
    for i, (name, secret) in enumerate(canaries.items()):
        source = "" if i % 3 == 0 else f"=file:{outside}/{name}" if i % 3 == 1 else f"=command:cat {outside}/{name}"
        user.write(os.path.join(outside, name), secret + "\n")
        flags.append(f"--credential={name}{source} -> localhost:{port} in header query body")
    user.write(os.path.join(work, "uses.py"), USES)
    looked = []

    def look():
        for _ in range(400):
            time.sleep(0.1)
            if len(server.seen) >= 20:
                looked.extend(processes_of(marker))
                break
        user.write(os.path.join(work, "done"), "")

    server.seen.clear()
    thread = threading.Thread(target=look)
    thread.start()
    record = os.path.join(outside, "record")
    done = user.run(f"--allow-request=localhost:{port}", *flags, f"--record={record}", f"--deny-read={outside}", "--", "sh", "-c",
                    f"python3 uses.py https://localhost:{port} {marker}; env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; "
                    "cp -r \"$TMPDIR\" tmpdir 2>/dev/null; true", cwd=work,
                    env={"SSL_CERT_FILE": os.path.join(TLS.PKI, "ca.pem"), **{n: s for i, (n, s) in enumerate(canaries.items()) if i % 3 == 0}}, timeout=90)
    thread.join()
    tap.ok(not os.path.exists(os.path.join(work, "found")), f"{user.name}: the command finds none in other processes", done)
    sent = " ".join(f"{token} {query}" for _, token, query, _ in server.seen)
    plain = sent + " ".join(base64.b64decode(token[6:]).decode() for _, token, _, _ in server.seen if token.startswith("Basic "))
    tap.equal([name for name, secret in canaries.items() if secret not in plain], [], f"{user.name}: twenty secrets are used")
    places = {"output": done.out.encode() + done.err.encode(), "files": everything_in(work), "the record": everything_in(os.path.dirname(record)) and
              b"".join(everything_in(one) if os.path.isdir(one) else open(one, "rb").read() for one in [record] if os.path.exists(one))}
    forms = [form for secret in canaries.values() for form in (secret.encode(), secret.encode().hex().encode(), base64.b64encode(secret.encode())[:-4])]
    for place, text in places.items():
        tap.ok(text and not any(form in text for form in forms), f"{user.name}: none of them is in {place}", done)
    if os.geteuid() == 0:
        check_memory(user, looked, canaries.values(), forms, done)


# These have secrets: the one that was started with them or read them, the one that puts them into requests, and the one
# that encrypts those.
HOLDERS = {"buckle", "buckle-gate", "buckle-tls"}


def check_memory(user, looked, secrets, forms, done):
    names, within = {name for _, name, _ in looked}, [name for inside, name, _ in looked if inside]
    tap.ok({"python3", "sh", "buckle-init"} <= set(within) and HOLDERS | {"buckle-judge"} <= names and
           any(b"SSL_CERT_FILE" in memory for _, name, memory in looked if name == "python3"),
           f"{user.name}: all processes of the run are looked at", done, sorted(names))
    having = [(inside, name) for inside, name, memory in looked if any(form in memory for form in forms)]
    tap.equal([name for inside, name in having if inside], [], f"{user.name}: no memory, variables or arguments inside have one: {len(within)} processes")
    tap.equal(sorted({name for _, name in having} - HOLDERS), [], f"{user.name}: nor has a process outside that does not need them: {len(looked)} processes")
    tap.ok(all(any(secret.encode() in memory for _, name, memory in looked if name == "buckle-gate") for secret in secrets), f"{user.name}: the gate has all", done)


def memory_of(pid):
    """What a process has in its memory, and its variables."""
    with open(f"/proc/{pid}/environ", "rb") as f:
        found = [f.read()]
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            start, end = (int(one, 16) for one in span.split("-"))
            if rights.startswith("r") and "[v" not in line and end - start < 256 << 20:
                memory.seek(start)
                found.append(memory.read(end - start))
    return b"".join(found)


def test_memory(user, server):
    """A process that has used it, read from outside while it runs."""
    if os.geteuid() != 0:
        tap.skip("only root can read another process")
        return
    marker, found = f"mark{os.getpid()}{user.name}", []

    def look():
        for _ in range(100):
            time.sleep(0.1)
            if not server.seen:
                continue
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as f:
                        if marker.encode() in f.read().split(b"\0"):
                            found.append(memory_of(pid))
                            return
                except OSError:
                    continue

    code = "import os, sys, time, urllib.request as u; r = u.Request(sys.argv[1], headers={'X-Api-Key': os.environ['TOKEN']}); " \
           "text = u.urlopen(r).read(); print(text); sys.stdout.flush(); time.sleep(2)"
    thread = threading.Thread(target=look)
    thread.start()
    done = run(user, server, f'python3 -c "{code}" URL/v1/plain {marker}')
    thread.join()
    tap.ok(len(server.seen) == 1 and SECRET in server.seen[0][1] and found, f"{user.name}: a process that has used a secret", done)
    tap.ok(found and b"SSL_CERT_FILE" in found[0] and SECRET.encode() not in found[0], f"{user.name}: has it nowhere in its memory")


def main():
    if not shutil.which("openssl") or not shutil.which("curl"):
        tap.skip("openssl is not installed")
        return tap.done()
    TLS.make_pki()
    server = serve()
    for user in PEOPLE[-1:] if "ONE_USER" in os.environ else PEOPLE:
        test_places(user, server)
        test_limits(user, server)
        test_sources(user, server)
        test_bodies(user, server)
        test_keyring(user, server)
        test_settings(user, server)
        test_answers(user, server)
        test_git(user)
        test_aws(user)
        test_programs(user, server)
        test_canaries(user, server)
        test_memory(user, server)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
