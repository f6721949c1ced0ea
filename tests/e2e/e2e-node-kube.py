#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle node webhook` and `buckle node events`, against a stand-in for Kubernetes' API server. With `schemas`: what they send fits the published ones.
Prints TAP.
"""

import base64
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from containers import Agent, why_not
from drive import BUCKLE, FOLDER, buckle
from kubernetes import TOKEN, Api, FakeAgent, Schemas, certificates

GOOD = "(version 1)\n(allow default)\n(deny file-write* (subpath \"/etc\"))\n"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# ---- the webhook ----


class Webhook:
    def __init__(self, tls=None):
        self.port, self.tls = free_port(), tls
        flags = ["--cert", tls[1], "--key", tls[2]] if tls else []
        self.child = subprocess.Popen([BUCKLE, "node", "webhook", f"--listen=127.0.0.1:{self.port}", *flags], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.02)

    def send(self, method, path, body=None, headers=None, timeout=15):
        """(status, text)"""
        if self.tls:
            where = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=ssl.create_default_context(cafile=self.tls[0]))
        else:
            where = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            where.request(method, path, body, headers or ({"Content-Type": "application/json"} if body else {}))
            answer = where.getresponse()
            return answer.status, answer.read().decode()
        except (ConnectionError, http.client.HTTPException) as e:
            return 0, str(e)
        finally:
            where.close()

    def review(self, data, **changes):
        """The response to a ConfigMap."""
        status, text = self.send("POST", "/validate?timeout=5s", json.dumps(question(data, **changes)))
        return json.loads(text)["response"] if status == 200 else (status, text)

    def stop(self):
        self.child.terminate()
        return self.child.wait(), self.child.stderr.read().decode()


def question(data, **changes):
    """As the API server sends it; the fields of AdmissionRequest."""
    request = {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
               "resource": {"group": "", "version": "v1", "resource": "configmaps"}, "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
               "name": "profiles", "namespace": "buckle", "operation": "CREATE", "userInfo": {"username": "admin", "groups": ["system:authenticated"]},
               "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "profiles", "namespace": "buckle"}, "data": data},
               "oldObject": None, "dryRun": False, "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}}
    request.update(changes)
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {k: v for k, v in request.items() if v is not ...}}


def reviews(hook):
    answer = hook.review({"web.sb": GOOD, "open.sb": "(version 1)(allow default)", "names.sb": "(version 1)(allow default)(deny process-info* file-map-executable)"})
    tap.equal(answer, {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "allowed": True}, "good profiles are allowed")
    _, text = hook.send("POST", "/validate", json.dumps(question({"web.sb": GOOD})))
    tap.equal({k: v for k, v in json.loads(text).items() if k != "response"}, {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"},
              "the answer is an AdmissionReview")
    for what, data, words in (
            ("a profile that does not compile", {"web.sb": "(version 1)\n(allow defalt)"}, "web.sb:2"),
            ("one that is not closed", {"web.sb": "(version 1"}, "web.sb"),
            ("one that imports the folder's others", {"a.sb": GOOD, "b.sb": "(version 1)(import \"a.sb\")"}, "b.sb"),
            ("one that imports a file of the host", {"b.sb": "(version 1)(import \"/etc/passwd\")"}, "b.sb"),
            ("one that does not end", {"b.sb": "(version 1)(define (f) (f))(f)"}, "b.sb"),
            ("one that nests without end", {"b.sb": "(version 1)" + "(" * 500000}, "b.sb"),
            ("another kind of file", {"web.txt": GOOD}, "web.txt"), ("a hidden name", {".x.sb": GOOD}, ".x.sb"), ("no name", {".sb": GOOD}, ".sb"),
            ("a long name", {"a" * 200 + ".sb": GOOD}, "NAME.sb"), ("a number", {"web.sb": 7}, "text")):
        answer = hook.review(data)
        tap.ok(answer["allowed"] is False and words in answer["status"]["message"] and answer["status"]["code"] == 422, f"refused: {what}", answer)
    bad = {f"p{i:03}.sb": "(version 2000)" for i in range(200)}
    answer = hook.review(bad)
    tap.ok(answer["allowed"] is False and "192 more" in answer["status"]["message"] and len(json.dumps(answer)) < 8192, "many mistakes give a short answer", len(str(answer)))
    tap.ok(hook.review({f"p{i:03}.sb": "(version 1)" for i in range(300)})["allowed"] is False, "refused: more profiles than a ConfigMap may have")
    binary = question({"web.sb": GOOD})
    binary["request"]["object"]["binaryData"] = {"x.sb": base64.b64encode(GOOD.encode()).decode()}
    tap.ok("binaryData" in json.loads(hook.send("POST", "/validate", json.dumps(binary))[1])["response"]["status"]["message"], "refused: binary data")
    tap.ok(hook.review(None)["allowed"], "a ConfigMap without data has nothing wrong")
    tap.ok(hook.review({"web.sb": "("}, operation="DELETE", object=None)["allowed"], "deleting is allowed")
    tap.ok(not hook.review({"web.sb": "("}, operation="UPDATE")["allowed"], "an update is checked")
    tap.ok(not hook.review({"web.sb": GOOD}, operation="CONNECT")["allowed"], "another operation is refused")
    tap.ok(not hook.review({}, object={"kind": "Secret", "data": {"a.sb": "x"}})["allowed"], "another kind is refused")
    escape = hook.review({"a.sb": "(version 1)(allow \x1b[31mx)"})["status"]["message"]
    tap.ok(all(ord(c) >= 32 or c == "\n" for c in escape), "no control character reaches kubectl's terminal", repr(escape))
    agreed = []
    for text in (GOOD, "", "(version 1)(allow nothing-known)", "(version 1)\n(deny default)", "(version 1)(allow file-read* (path 1))"):
        path = os.path.join(FOLDER, "same.sb")
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        agreed.append((buckle("node", "plan", path).status == 0) == hook.review({"same.sb": text})["allowed"])
    tap.equal(agreed, [True] * 5, "it allows what `buckle node plan` can plan")


def bad_questions(hook):
    good = question({"web.sb": GOOD})
    for what, text in (("no JSON", "{"), ("a list", "[]"), ("no request", json.dumps({**good, "request": None})), ("no uid", json.dumps(question({}, uid=...))),
                       ("a long uid", json.dumps(question({}, uid="x" * 5000))), ("v1beta1", json.dumps({**good, "apiVersion": "admission.k8s.io/v1beta1"})),
                       ("another kind", json.dumps({**good, "kind": "Pod"})), ("a key twice", '{"kind":"AdmissionReview","kind":"AdmissionReview"}'),
                       ("depth", "[" * 1000000), ("NULs", "\0" * 50)):
        status, answer = hook.send("POST", "/validate", text)
        tap.equal(status, 400, f"no question: {what} {answer[:60]!r}")
    for what, want, argv in (("a GET", 405, ("GET", "/validate")), ("another path", 404, ("POST", "/", "{}")),
                             ("five megabytes", 413, ("POST", "/validate", None, {"Content-Type": "application/json", "Content-Length": str(5 << 20)})),
                             ("a form", 415, ("POST", "/validate", "a=b", {"Content-Type": "application/x-www-form-urlencoded"})),
                             ("chunks", 411, ("POST", "/validate", None, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}))):
        tap.equal(hook.send(*argv)[0], want, f"HTTP: {what}")
    tap.equal([hook.send("GET", p) for p in ("/healthz", "/readyz")], [(200, "ok\n")] * 2, "health and readiness")


def slow_clients(hook):
    held = [socket.create_connection(("127.0.0.1", hook.port)) for _ in range(40)]
    for s in held[::3]:
        s.send(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
    began = time.monotonic()
    answer = hook.review({"web.sb": GOOD})
    took = time.monotonic() - began
    tap.ok(answer["allowed"] and took < 2, "forty connections that wait keep the API server waiting for nothing", answer, took)
    with open(f"/proc/{hook.child.pid}/task/{hook.child.pid}/children", encoding="ascii") as f:
        tap.ok(len(f.read().split()) <= 16, "at most sixteen have a process")
    time.sleep(10.5)
    for s in held:
        s.close()
    with open(f"/proc/{hook.child.pid}/task/{hook.child.pid}/children", encoding="ascii") as f:
        tap.equal(f.read().split(), [], "and none has after ten seconds")


def webhook():
    for bad in (["--listen=x"], ["--listen=1.2.3.4"], ["--listen=127.0.0.1:0", "--cert=x"], ["x"], ["--listen=127.0.0.1:99999"]):
        tap.equal(buckle("node", "webhook", *bad).status, 2, f"buckle node webhook {' '.join(bad)}")
    hook = Webhook()
    for part in (reviews, bad_questions, slow_clients):
        part(hook)
    tap.equal(hook.stop(), (0, ""), "it ends with SIGTERM")
    tls = certificates("webhook")
    hook = Webhook(tls)
    tap.ok(hook.review({"web.sb": GOOD})["allowed"] and not hook.review({"web.sb": "("})["allowed"], "TLS, with a certificate that is verified")
    with socket.create_connection(("127.0.0.1", hook.port)) as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        s.settimeout(5)
        try:
            answer = s.recv(100)
        except ConnectionResetError:
            answer = b""
        tap.ok(b"200" not in answer, "no plain HTTP beside it", answer)
    old = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{hook.port}", "-tls1_1"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    tap.ok(b"Cipher is (NONE)" in old.stdout, "no TLS 1.1", old.stdout[-300:])
    other = certificates("renewed")
    for f, to in zip(other[1:], tls[1:]):
        shutil.copy(f, to)
    hook.tls = other
    tap.ok(hook.review({"web.sb": GOOD})["allowed"], "a renewed certificate is served without a restart")
    hook.stop()


# ---- events ----


class Events:
    def __init__(self, api, path, *flags, **env):
        self.child = subprocess.Popen([BUCKLE, "node", "events", f"--from={path}", "--node=node-1", *([f"--api={api}"] if api else []), *flags],
                                      stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **env})

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        try:
            return self.child.wait(15), self.child.stderr.read().decode()
        finally:
            self.child.kill()


POD = {"namespace": "shop", "name": "web-0", "uid": "0f-1", "container": "app"}


def line(event="violation", **more):
    return {"time": "2026-05-06T07:08:09.123456Z", "event": event, "container": "c1", "container_pid": 77, "profile": "web", "pod": POD, **more}


def violation(n, **more):
    return line(**{"pid": 80, "exe": "/bin/sh", "operation": "file-write-create", "path": "/etc/x", "verdict": "deny", "denied": n, **more})


def events():
    api, agent = Api(), FakeAgent("fake1")
    sent = Events(api.url, agent.path)
    agent.say({"event": "ready"}, b"no JSON", b"[]", line("started"), violation(1))
    tap.ok(api.wait(lambda e: len(e) == 1), "a denial becomes an Event", api.requests, api.wrong)
    e = next(iter(api.events.values()))
    tap.equal({k: v for k, v in e.items() if k != "metadata"},
              {"apiVersion": "v1", "kind": "Event", "reason": "SandboxViolation", "type": "Warning", "count": 1, "firstTimestamp": "2026-05-06T07:08:09Z",
               "lastTimestamp": "2026-05-06T07:08:09Z", "message": "profile web denied file-write-create /etc/x to /bin/sh",
               "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "0f-1", "fieldPath": "spec.containers{app}"},
               "source": {"component": "buckle-node", "host": "node-1"}, "reportingComponent": "buckle-node", "reportingInstance": "node-1"}, "about the pod")
    # lines 2 to 499 are lost, and 500 is there
    for n in range(500, 1000):
        agent.say(violation(n, path=f"/etc/{n}"))
    agent.say(line("ended", judged=5000, denied=1234))
    time.sleep(0.5)
    tap.equal(len(api.requests), 1, "five hundred denials more make no request at once")
    agent.say({**violation(3), "container": "c2"}, {**violation(7), "container": "c1", "container_pid": 99}, line("refused", reason="no profile", container="c3"),
              line("resumed"), {"event": "refused", "reason": "the runtime's message: it is not JSON", "time": "2026-05-06T07:08:10.000000Z"})
    tap.ok(api.wait(lambda e: len(e) == 6), "another container, one that joined, one that was refused, a judge that died, a bad message: each has an Event",
           [e["reason"] for e in api.events.values()])
    node = [e for e in api.events.values() if e["involvedObject"]["kind"] == "Node"]
    tap.equal([(e["involvedObject"], e["metadata"]["namespace"]) for e in node], [({"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "node-1"}, "default")],
              "what has no pod is about the node")
    tap.equal(sent.stop(), (0, ""), "at the end all is posted")
    tap.equal(e["count"], 1234, "and the count is exact, although lines were lost")
    tap.ok([r[1] for r in api.requests].count("PATCH") == 1, "by one change of the object", api.requests)
    tap.equal(api.wrong, [], "the API server found nothing wrong")
    api.stop()
    return list(api.events.values())


def hostile_lines():
    api, agent = Api(), FakeAgent("fake2")
    sent = Events(api.url, agent.path)
    agent.say(violation(1, path="/tmp/\x1b[2J\u202e" + "ä" * 3000), {**violation(2**40), "container": "big"}, {**violation(-5), "container": "c4"},
              {**violation("7"), "container": "c5"}, {**violation(1), "container": "c6", "time": "yesterday"}, b"{" * 60000, b'{"event":"violation"}',
              {"event": "violation", "denied": 1, "pod": "x", "container": 5})
    agent.say({**violation(1), "container": "last"})
    sent_all = api.wait(lambda e: any(x["involvedObject"].get("name") == "web-0" for x in e) and len(e) >= 3)
    status = sent.stop()[0]
    tap.ok(sent_all and status == 0, "lines that no agent writes harm nobody", status, api.events.values())
    tap.ok(all("\x1b" not in e["message"] and len(e["message"]) <= 1024 for e in api.events.values()), "messages have no control characters, and an end")
    tap.ok(any(e["count"] == 2**31 - 1 for e in api.events.values()), "a count fits the schema's int32", [e["count"] for e in api.events.values()])
    api.stop()


def limits():
    api, agent = Api(), FakeAgent("fake3")
    sent = Events(api.url, agent.path)
    for i in range(1500):
        agent.say({**violation(1), "container": f"c{i}"})
    time.sleep(3)
    n = len(api.requests)
    tap.ok(25 <= n <= 30, "1,500 containers make 25 requests at once, and one a second then", n)
    status, err = sent.stop()
    # rows that were posted gave their place to others
    tap.ok(status == 0 and 900 < len(api.events) <= 1024 + n, "what the table has is posted at the end", status, len(api.events), err)
    api.stop()


def api_errors():
    api, agent = Api(), FakeAgent("fake4")
    api.say = 503
    sent = Events(api.url, agent.path)
    agent.say(violation(1))
    time.sleep(3.5)
    n = len(api.requests)
    api.say = None
    tap.ok(2 <= n <= 4, "an API server that is ill is asked at longer and longer intervals", n)
    tap.ok(api.wait(lambda e: len(e) == 1), "and gets the event when it is well")
    agent.say(violation(2))
    time.sleep(0.3)
    api.events.clear()
    status, err = sent.stop()
    tap.ok(status == 0 and [e["count"] for e in api.events.values()] == [2], "an Event that has expired is made anew", api.events, api.requests[-3:])
    tap.equal(err.count("\n"), 1, f"the problem is said once: {err}")
    sent = Events(api.url, agent.path)
    agent.hang_up()
    api.say = 403
    agent.say({**violation(1), "container": "forbidden"})
    time.sleep(1.5)
    before = len(api.requests)
    time.sleep(2)
    tap.equal(len(api.requests), before, "what is forbidden is not asked again and again")
    agent.hang_up()
    api.say = None
    agent.say({**violation(1), "container": "again"})
    tap.ok(api.wait(lambda e: len(e) == 2), "an agent that starts anew is found")
    api.hang = True
    agent.say({**violation(1), "container": "hang"})
    time.sleep(0.3)
    began = time.monotonic()
    status, _ = sent.stop()
    tap.ok(status == 0 and time.monotonic() - began < 12, "an API server that does not answer does not keep it from ending", status)
    api.stop()


def tls():
    good, other = certificates("api"), certificates("other")
    token = os.path.join(FOLDER, "token")
    with open(token, "w", encoding="ascii") as f:
        f.write(TOKEN + "\n")
    api, agent = Api(good), FakeAgent("fake5")
    flags = [f"--token-file={token}", f"--ca-file={good[0]}"]
    sent = Events("", agent.path, *flags, KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT=str(api.port))
    agent.say(violation(1))
    tap.ok(api.wait(lambda e: len(e) == 1) and not api.wrong, "as in a pod: by TLS, with the token", api.wrong, api.requests)
    status, err = sent.stop()
    agent.hang_up()
    sent = Events(api.url, agent.path, f"--token-file={token}", f"--ca-file={other[0]}")
    agent.say({**violation(1), "container": "c2"})
    time.sleep(1.5)
    status, err = sent.stop()
    tap.ok(len(api.requests) == 1 and "certificate" in err, "a server that another CA has signed gets nothing", err, api.requests)
    api.stop()
    for what, argv in (("another machine without TLS", ["--api=http://10.0.0.1:8001"]), ("a name", ["--api=https://example.com"]), ("another scheme", ["--api=ftp://127.0.0.1"]),
                       ("a path", ["--api=http://127.0.0.1:1/x"]), ("no API server", []), ("no node", ["--api=http://127.0.0.1:1", "--node="])):
        done = buckle("node", "events", "--node=n", "--from=x", *argv, env={k: v for k, v in os.environ.items() if not k.startswith("KUBERNETES")})
        tap.ok(done.status == 2 and done.err, f"refused: {what}", done)


def with_containers():
    reason = why_not("runc")
    if reason:
        tap.skip(reason)
        return
    api = Api()
    path = os.path.join(FOLDER, "events.sock")
    agent = Agent({"write": "(version 1)\n(allow default)\n(deny file-write* (subpath \"/tmp\"))\n"}, f"--events={path}", "--sample=2")
    sent = Events(api.url, path)
    child, name = agent.begin("write", "sleep 1.5; i=0; while [ $i -lt 200 ]; do echo x > /tmp/a; i=$((i+1)); done 2>/dev/null",
                              annotations={"io.kubernetes.cri.sandbox-name": "web-0", "io.kubernetes.cri.sandbox-namespace": "shop",
                                           "io.kubernetes.cri.sandbox-uid": "u-1", "io.kubernetes.cri.container-name": "app"})
    child.communicate(timeout=30)
    agent.wait(lambda e: any(x["event"] == "ended" for x in e))
    posted = api.wait(lambda e: len(e) == 1)
    sent.stop()
    found = [(e["involvedObject"].get("name"), e["count"]) for e in api.events.values()]
    tap.ok(posted and found == [("web-0", 200)], "a container of runc: two lines a second, one Event, an exact count", found, api.requests)
    agent.stop()
    api.stop()


def schemas(made):
    known = Schemas()
    if not known.there:
        tap.skip("the npm registry is not reachable")
        return
    broken = json.loads(json.dumps(made[0]))
    broken["count"] = "1"
    tap.ok(len(known.wrong([("broken", broken)])) >= 1, "the schemas find a count that is text")
    tap.ok(any("unknown" in w for w in known.wrong([("more", {**made[0], "unknown": 1})])), "and a member that is unknown")
    tap.equal(known.wrong([(e["metadata"]["name"], e) for e in made]), [], "Events fit the published schema of core/v1")


def main():
    if not os.path.exists(os.path.join(os.path.dirname(BUCKLE), "..", "libexec", "buckle", "buckle-kube")):
        tap.skip("libexec/buckle/buckle-kube was not built")
        return tap.done()
    if not shutil.which("openssl"):
        tap.skip("openssl is not installed")
        return tap.done()
    if "schemas" in sys.argv[1:]:
        schemas(events())
        return tap.done()
    webhook()
    for part in (events, hostile_lines, limits, api_errors, tls, with_containers):
        part()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
