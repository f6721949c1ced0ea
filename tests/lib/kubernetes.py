# SPDX-License-Identifier: Apache-2.0
"""Kubernetes for tests: a stand-in for the API server that keeps what it gets, an agent that only has a socket for events, certificates, and the
published schemas.
"""

import http.server
import json
import os
import re
import socket
import ssl
import subprocess
import threading
import time

from drive import FOLDER

TOKEN = "token-of-the-test"
LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
EVENTS = re.compile(rf"/api/v1/namespaces/({LABEL})/events$")
EVENT = re.compile(rf"/api/v1/namespaces/({LABEL})/events/({LABEL}(?:\.{LABEL})*)$")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")


def certificates(name):
    """A CA and a certificate for 127.0.0.1: (ca, cert, key)."""
    folder = os.path.join(FOLDER, name)
    os.makedirs(folder, exist_ok=True)
    ca, ca_key, cert, key, asked = (os.path.join(folder, f) for f in ("ca.crt", "ca.key", "tls.crt", "tls.key", "csr"))
    run = lambda *argv, **how: subprocess.run(["openssl", *argv], check=True, capture_output=True, **how)
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test CA", "-keyout", ca_key, "-out", ca)
    run("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-keyout", key, "-out", asked)
    extensions = os.path.join(folder, "ext")
    with open(extensions, "w", encoding="ascii") as f:
        f.write("subjectAltName=IP:127.0.0.1\n")
    run("x509", "-req", "-days", "2", "-in", asked, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-extfile", extensions, "-out", cert)
    return ca, cert, key


def wrong_event(e):
    """What core/v1's Event does not allow, or None: required fields and their types."""
    if not isinstance(e, dict) or (e.get("apiVersion"), e.get("kind")) != ("v1", "Event"):
        return "kind"
    about, meta = e.get("involvedObject"), e.get("metadata")
    if not isinstance(about, dict) or not isinstance(meta, dict):
        return "metadata and involvedObject are required"
    for key in ("reason", "message", "type", "reportingComponent", "reportingInstance"):
        if not isinstance(e.get(key), str) or not e[key]:
            return key
    for key in ("firstTimestamp", "lastTimestamp"):
        if not TIME.match(e.get(key, "")):
            return key
    if not isinstance(e.get("count"), int) or not 0 < e["count"] < 2**31:
        return "count"
    if len(e["message"]) > 1024 or any(ord(c) < 32 or ord(c) == 127 for c in e["message"]):
        return "message"
    if e["type"] not in ("Normal", "Warning") or not re.fullmatch("[A-Z][A-Za-z]+", e["reason"]):
        return "type or reason"
    return None if meta.get("namespace") == about.get("namespace", "default") else "namespaces differ"


class Api:
    """A stand-in API server: events only, kept as the real one would; `say` is a status to answer instead."""

    def __init__(self, tls=None):
        self.events, self.requests, self.wrong, self.say, self.hang = {}, [], [], None, False
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.take(EVENTS, "application/json")

            def do_PATCH(self):
                self.take(EVENT, "application/merge-patch+json")

            def take(self, form, kind):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = api.take(self.command, self.path, form.match(self.path), self.headers, kind, body, bool(tls))
                answer = b'{"kind":"Status"}'
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that refuses our certificate

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls[1], tls[2])
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, method, path, match, headers, kind, body, tls):
        self.requests.append((time.monotonic(), method, path))
        if self.hang:
            time.sleep(20)
        if self.say:
            return self.say
        if tls and headers.get("Authorization") != "Bearer " + TOKEN:
            self.wrong.append("no token")
            return 401
        if not tls and "Authorization" in headers:
            self.wrong.append("a token without TLS")
        if not match or headers.get("Content-Type") != kind:
            self.wrong.append((method, path, headers.get("Content-Type")))
            return 404
        got = json.loads(body)
        if method == "PATCH":
            known = self.events.get((match[1], match[2]))
            if not known:
                return 404
            known.update(got)
            got = known
        why = wrong_event(got)
        if why or got["metadata"]["namespace"] != match[1] or not EVENT.match(f"/api/v1/namespaces/{match[1]}/events/{got['metadata']['name']}"):
            self.wrong.append((why, got))
            return 422
        key = (match[1], got["metadata"]["name"])
        if method == "POST" and key in self.events:
            return 409
        self.events[key] = got
        return 201 if method == "POST" else 200

    def wait(self, test, seconds=10):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if test(list(self.events.values())):
                return True
            time.sleep(0.02)
        return False

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class FakeAgent:
    """A socket for events, as `buckle node --events` has it."""

    def __init__(self, name):
        self.path = os.path.join(FOLDER, name)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen()
        self.listener.settimeout(10)
        self.reader = None

    def say(self, *lines):
        if not self.reader:
            self.reader, _ = self.listener.accept()
        for line in lines:
            self.reader.send(line if isinstance(line, bytes) else json.dumps(line).encode())

    def hang_up(self):
        self.reader.close()
        self.reader = None


# ---- the published schemas ----

VALIDATE = """
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
for (const [name, o] of JSON.parse(readFileSync("objects.json"))) {
  try {
    const group = o.apiVersion.includes("/") ? o.apiVersion : "v1";
    const model = (await import(`kubernetes-models/${group}/${o.kind}`))[o.kind];
    new model(o).validate();
    console.log(`fine ${name}`);
  } catch (e) {
    console.log(`wrong ${name}: ${String(e.message).replaceAll("\\n", "; ")}`);
  }
}
"""


class Schemas:
    """The schemas of Kubernetes' OpenAPI document, as the npm package kubernetes-models has them: values by its validators, which allow unknown
    members, and names of members by TypeScript, which does not."""

    def __init__(self):
        self.folder = os.path.join(FOLDER, "schemas")
        os.makedirs(self.folder)
        with open(os.path.join(self.folder, "package.json"), "w", encoding="ascii") as f:
            f.write('{"type": "module"}')
        got = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "kubernetes-models@5", "typescript@5"], cwd=self.folder,
                             capture_output=True, timeout=300, check=False)
        self.there = got.returncode == 0

    def wrong(self, objects):
        """[complaint] about [(name, object)]."""
        with open(os.path.join(self.folder, "objects.json"), "w", encoding="utf-8") as f:
            json.dump(objects, f)
        with open(os.path.join(self.folder, "validate.mjs"), "w", encoding="utf-8") as f:
            f.write(VALIDATE)
        done = subprocess.run(["node", "validate.mjs"], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        lines = done.stdout.splitlines()
        if len(lines) != len(objects):
            return [done.stdout + done.stderr]
        with open(os.path.join(self.folder, "objects.ts"), "w", encoding="utf-8") as f:
            for i, (_, o) in enumerate(objects):
                group = o["apiVersion"] if "/" in o["apiVersion"] else "v1"
                rest = {k: v for k, v in o.items() if k not in ("apiVersion", "kind")}  # which the class adds
                f.write(f'import {{ {o["kind"]} as K{i} }} from "kubernetes-models/{group}/{o["kind"]}";\nnew K{i}({json.dumps(rest)});\n')
        typed = subprocess.run(["node_modules/.bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "objects.ts"], cwd=self.folder,
                               capture_output=True, text=True, timeout=120, check=False)
        return [line for line in lines if not line.startswith("fine ")] + typed.stdout.splitlines()
