#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle node`: metrics, health and readiness by HTTP; lines that sampling leaves out, and totals that stay exact; readers of events. Prints TAP."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from containers import Agent, judges_of, why_not
from drive import BUCKLE, FOLDER, buckle

PROFILES = {"write": "(version 1)\n(allow default)\n(deny file-write*)\n(allow file-write* (subpath \"/work\") (literal \"/dev/null\"))\n"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask(port, request, timeout=10):
    """The whole answer to some bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as s:
        s.sendall(request)
        answer = b""
        try:
            while part := s.recv(65536):
                answer += part
        except ConnectionResetError:
            pass
        return answer


def get(port, path):
    head, _, body = ask(port, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()).partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode(), body.decode()


# the text format 0.0.4, as strictly as its description has it
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{({NAME})="((?:[^"\\\n]|\\.)*)"\}})? (\d+(?:\.\d+)?)$')


def metrics(port):
    """{name or (name, label's value): number}; None if a line is no Prometheus text."""
    types, values = {}, {}
    for line in get(port, "/metrics")[1].splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            types[name] = kind
        elif not line.startswith("# HELP "):
            match = SAMPLE.match(line)
            if not match or not (types.get(match[1]) or types.get(re.sub("_(bucket|sum|count)$", "", match[1])) == "histogram"):
                return None
            values[(match[1], match[3]) if match[2] else match[1]] = float(match[4])
    return values


def http(agent, port):
    status, body = get(port, "/metrics")
    tap.ok(status == "HTTP/1.1 200 OK" and body.endswith("\n"), "/metrics", status, body)
    values = metrics(port)
    tap.ok(values and all(values[f"buckle_node_{n}"] == 0 for n in ("calls_judged_total", "calls_denied_total", "containers", "containers_refused_total",
                                                                      "judge_restarts_total", "call_seconds_count")), "the text is Prometheus', and all is zero", body)
    tap.equal(get(port, "/healthz"), ("HTTP/1.1 200 OK", "ok\n"), "/healthz")
    tap.equal(get(port, "/readyz"), ("HTTP/1.1 200 OK", "ready\n"), "/readyz")
    tap.ok(get(port, "/healthz?verbose=1")[0].endswith("200 OK"), "a query changes nothing")
    for request, want, what in (
            (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"404", "no other path"), (b"GET /metrics/../etc HTTP/1.1\r\nHost: x\r\n\r\n", b"404", "no path below"),
            (b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", b"405", "no POST"), (b"HELO\r\n\r\n", b"400", "no other protocol"),
            (b"GET http://x/metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"404", "no proxy requests"), (b"\0" * 100 + b"\r\n\r\n", b"400", "no NULs"),
            (b"GET /metrics HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 8192 + b"\r\n\r\n", b"400", "no long head")):
        answer = ask(port, request)
        tap.ok(answer.split(b" ")[1:2] == [want], f"HTTP: {what}", answer[:200])
    with open("/proc/net/tcp", encoding="ascii") as f:
        places = [line.split()[1] for line in f.readlines()[1:] if line.split()[3] == "0A"]
    tap.ok(f"0100007F:{port:04X}" in places and f"00000000:{port:04X}" not in places, "a port alone is one of 127.0.0.1", places)
    for bad in ("x", "localhost:1", "127.0.0.1", "1.2.3.4:99999", "-1", ":", "a" * 200):
        done = buckle("node", "--socket", "s", "--profiles", agent.profiles, f"--metrics={bad}")
        tap.equal(done.status, 2, f"--metrics={bad[:20]} is refused: {done.err[:100]}")
    tap.ok("cannot listen" in buckle("node", "--socket", "s2", "--profiles", agent.profiles, f"--metrics={port}").err, "a port that is taken is an error")


def slow_clients(agent, port):
    """Connections that send nothing, or a byte now and then, keep nobody out."""
    before = len(os.listdir(f"/proc/{agent.child.pid}/fd"))
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
    for s in held[::2]:
        s.send(b"GET /met")
    began = time.monotonic()
    status, _ = get(port, "/healthz")
    took = time.monotonic() - began
    tap.ok(status.endswith("200 OK") and took < 1, "sixty silent connections keep nobody out", status, took)
    open_now = len(os.listdir(f"/proc/{agent.child.pid}/fd"))
    tap.ok(open_now <= before + 16, "at most sixteen of them are kept", before, open_now)
    until = time.monotonic() + 10
    while len(os.listdir(f"/proc/{agent.child.pid}/fd")) > before and time.monotonic() < until:
        for s in held:
            try:
                s.send(b"x")
            except OSError:
                pass
        time.sleep(0.2)
    tap.ok(len(os.listdir(f"/proc/{agent.child.pid}/fd")) <= before, "none of them is left after a while, although they send a byte now and then")
    for s in held:
        s.close()
    reader = socket.create_connection(("127.0.0.1", port))
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    reader.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    tap.ok(get(port, "/healthz")[0].endswith("200 OK"), "a client that does not read its answer keeps nobody out")
    reader.close()


def readiness():
    for what, breaks in (("the folder of profiles", lambda a: shutil.rmtree(a.profiles)), ("the runtimes' socket", lambda a: os.unlink(a.socket))):
        port = free_port()
        agent = Agent(PROFILES, f"--metrics={port}")
        first = get(port, "/readyz")[0]
        breaks(agent)
        status, body = get(port, "/readyz")
        tap.ok(first.endswith("200 OK") and status.startswith("HTTP/1.1 503") and "gone" in body, f"without {what} it is not ready", first, status, body)
        tap.ok(get(port, "/healthz")[0].endswith("200 OK"), "and healthy all the same")
        agent.stop()


def counted(agent, port):
    _, out, err, name = agent.run("write", "i=0; while [ $i -lt 20 ]; do echo x > /work/a; echo x > /tmp/a; i=$((i+1)); done 2>/dev/null; echo end")
    agent.wait(lambda e: any(x["event"] == "ended" and x["container"] == name for x in e))
    end, told, values = agent.events("ended", name)[0], agent.events("violation", name), metrics(port)
    tap.ok(out == "end\n" and end["denied"] == 20 == len(told), "twenty denials, each with a line", out, err, end, len(told))
    tap.equal([e["denied"] for e in told], list(range(1, 21)), "a line has the number of denials so far")
    got = {n: values[f"buckle_node_{n}"] for n in ("calls_judged_total", "calls_denied_total", "containers", "containers_started_total", "containers_ended_total",
                                                    "call_seconds_count")}
    tap.equal(got, {"calls_judged_total": end["judged"], "calls_denied_total": 20, "containers": 0, "containers_started_total": 1, "containers_ended_total": 1,
                    "call_seconds_count": end["judged"]}, "the metrics are the events' totals")
    steps = [(float(k[1]), v) for k, v in values.items() if isinstance(k, tuple) and k[0] == "buckle_node_call_seconds_bucket"]
    tap.ok([s for s, _ in steps] == sorted(s for s, _ in steps) and [v for _, v in steps] == sorted(v for _, v in steps) and steps[-1] == (float("inf"), end["judged"]),
           "the buckets grow to +Inf", steps)
    tap.ok(0 < values["buckle_node_call_seconds_sum"] < 60, "and their sum is a time", values["buckle_node_call_seconds_sum"])
    child, name = agent.begin("write", "while [ ! -e /work/stop ]; do sleep 0.05; echo x > /work/a; done")
    agent.wait(lambda e: any(x["event"] == "started" and x["container"] == name for x in e))
    first = metrics(port)
    time.sleep(0.5)
    second = metrics(port)
    tap.ok(first["buckle_node_containers"] == 1 and second["buckle_node_calls_judged_total"] > first["buckle_node_calls_judged_total"],
           "a container that runs is counted while it runs", first, second)
    for pid in judges_of(agent.child.pid):
        os.kill(pid, signal.SIGKILL)
    agent.wait(lambda e: any(x["event"] == "resumed" for x in e))
    third = metrics(port)
    tap.ok(third["buckle_node_judge_restarts_total"] == 1 and third["buckle_node_calls_judged_total"] >= second["buckle_node_calls_judged_total"],
           "a judge that died is counted, and takes no count along", second, third)
    subprocess.run(["runc", "--root", os.path.join(FOLDER, "runc-state"), "kill", name, "KILL"], capture_output=True, check=False)
    child.communicate(timeout=30)
    agent.say("[1]")
    agent.wait(lambda e: any(x["event"] == "refused" for x in e))
    tap.equal(metrics(port)["buckle_node_containers_refused_total"], 1, "a refused message is counted")


def sampled():
    port = free_port()
    agent = Agent(PROFILES, f"--metrics={port}", "--sample=5")
    began = time.monotonic()
    _, out, err, name = agent.run("write", "i=0; while [ $i -lt 300 ]; do echo x > /tmp/a; i=$((i+1)); done 2>/dev/null; sleep 1.5; echo x > /tmp/a; echo end")
    took = time.monotonic() - began
    agent.wait(lambda e: any(x["event"] == "ended" and x["container"] == name for x in e))
    lines = [e for e in agent.events(container=name) if e["event"] in ("violation", "skipped")]
    told = [e for e in lines if e["event"] == "violation"]
    tap.ok(out == "end\n" and 1 <= len(told) <= 5 * (took + 1), "--sample: at most so many lines a second", len(told), took, err)
    tap.equal(agent.events("ended", name)[0]["denied"], 301, "the total at the end is exact")
    wrong = [e for i, e in enumerate(lines) if e["denied"] != (lines[i - 1]["denied"] if i else 0) + e.get("skipped", 0) + (e["event"] == "violation")]
    tap.ok(not wrong, "each line accounts for those before it", wrong[:3])
    tap.ok(any(e["event"] == "skipped" for e in lines), "lines that were left out are made good while the container waits", lines[-3:])
    values = metrics(port)
    tap.equal((values["buckle_node_calls_denied_total"], values["buckle_node_events_skipped_total"]), (301, 301 - len(told)), "the metrics are exact")
    agent.stop()
    tap.equal(buckle("node", "--sample=many").status, 2, "--sample wants a number")


def readers():
    port = free_port()
    path = os.path.join(FOLDER, "events.sock")
    agent = Agent(PROFILES, f"--metrics={port}", f"--events={path}")
    quick, slow = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    quick.connect(path)
    slow.connect(path)
    quick.settimeout(10)
    pod = {"io.kubernetes.cri.sandbox-name": "web-0", "io.kubernetes.cri.sandbox-namespace": "shop", "io.kubernetes.cri.sandbox-uid": "0-1-2",
           "io.kubernetes.cri.container-name": "app"}
    _, _, _, name = agent.run("write", "echo x > /tmp/a", annotations=pod)
    got = []
    while not got or got[-1]["event"] != "ended":
        got.append(json.loads(quick.recv(65536)))
    agent.wait(lambda e: any(x["event"] == "ended" for x in e))
    tap.equal([e for e in got if e["event"] != "ready"], [e for e in agent.events() if e["event"] != "ready"], "a reader gets every line, as standard output has it")
    tap.equal(got[-1].get("pod"), {"namespace": "shop", "name": "web-0", "uid": "0-1-2", "container": "app"}, "lines name the pod")
    for key, value in (("io.kubernetes.cri.sandbox-name", "../../x"), ("io.kubernetes.cri.sandbox-namespace", "a/b"), ("io.kubernetes.cri.sandbox-name", "A"),
                       ("io.kubernetes.cri.sandbox-namespace", "x" * 64)):
        _, _, _, name = agent.run("write", "true", annotations={**pod, key: value})
        agent.wait(lambda e, name=name: any(x["event"] == "ended" and x["container"] == name for x in e))
        tap.ok("pod" not in agent.events("ended", name)[0], f"no pod has the name {value[:10]!r}")
    quick.close()
    count = 2000
    _, out, _, name = agent.run("write", f"i=0; while [ $i -lt {count} ]; do echo x > /tmp/a; i=$((i+1)); done 2>/dev/null; echo end")
    agent.wait(lambda e: any(x["event"] == "ended" and x["container"] == name for x in e))
    tap.ok(out == "end\n" and metrics(port)["buckle_node_events_lost_total"] > 0, "a reader that reads nothing holds nobody up, and its lost lines are counted", out)
    slow.settimeout(2)
    seen, lost, last = 0, 0, {}
    try:
        while True:
            last = json.loads(slow.recv(65536))
            seen += 1
    except TimeoutError:
        pass
    agent.say("[1]")
    lost = json.loads(slow.recv(65536))
    tap.ok(lost["event"] == "lost" and seen + lost["count"] == len(agent.events()) - 1 - sum(e["event"] == "ready" for e in agent.events()),
           "the next line that it gets says how many it has missed", seen, lost, len(agent.events()), last)
    os.chmod(FOLDER, 0o755)  # the socket alone keeps others out
    nobody = subprocess.run(["/usr/bin/python3", "-c", f"import socket; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect({path!r})"], user=65534,
                            group=65534, extra_groups=[], capture_output=True, check=False)
    tap.ok(b"PermissionError" in nobody.stderr, "other users cannot read events", nobody.stderr[-200:])
    agent.stop()
    tap.ok(not os.path.exists(path), "the socket goes with the agent")


def main():
    reason = why_not("runc")
    if reason:
        tap.skip(reason)
        return tap.done()
    port = free_port()
    agent = Agent(PROFILES, f"--metrics={port}")
    try:
        for part in (http, slow_clients, counted):
            part(agent, port)
    finally:
        agent.stop()
    for part in (readiness, sampled, readers):
        part()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
