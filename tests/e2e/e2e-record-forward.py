#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A record that is sent on (`buckle run --record-to`): to the systemd journal, and to a collector that is down for a
while. With `whole`, 100,000 events while the collector is down for a minute, and what a record costs. Prints TAP.
"""

import http.server
import json
import os
import shutil
import signal
import statistics
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import BUCKLE, eventually, for_everybody, processes

DENY = "import os\nfor i in range({}):\n    try:\n        os.open('/etc/buckle-no', os.O_CREAT | os.O_WRONLY)\n    except OSError:\n        pass\n"


class Collector:
    """Accepts OTLP/HTTP, or refuses for a while."""

    def __init__(self, port=0, status=200):
        self.seen, self.bodies, self.status = {}, 0, status
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                text = self.rfile.read(int(self.headers["Content-Length"]))
                if outer.status == 200 and self.path == "/v1/logs" and self.headers["Content-Type"] == "application/json":
                    outer.take(json.loads(text))
                self.send_response(outer.status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, message):
        self.bodies += 1
        for resource in message["resourceLogs"]:
            for scope in resource["scopeLogs"]:
                for record in scope["logRecords"]:
                    attributes = {x["key"]: list(x["value"].values())[0] for x in record["attributes"]}
                    self.seen[int(attributes["buckle.seq"])] = (attributes, record)

    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def last_number(path):
    with open(path, "rb") as f:
        return json.loads(f.read().split(b"\n")[-2])["seq"]


def forwarders(path):
    return [pid for pid, _ in processes(r"buckle") if _held(pid, path)]


def _held(pid, path):
    try:
        return any(os.readlink(f"/proc/{pid}/fd/{fd}").startswith(path) for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def test_collector(user, t):
    work, keep, up = user.folder(), user.folder("keep"), Collector()
    path = f"{keep}/record.jsonl"
    ran = user.run("--record", path, "--record-to", up.url(), "--report", "none", "--", "python3", "-c", DENY.format(250), cwd=work)
    t.equal(ran.status, 0, "a run with a collector")
    total = last_number(path)
    t.ok(eventually(lambda: len(up.seen) == total, 30), "it gets every record", len(up.seen), total)
    attributes, record = up.seen[5]
    t.equal((attributes["buckle.kind"], attributes["buckle.path"], record["severityText"]), ("denial", "/etc/buckle-no", "WARN"),
            "with attributes")
    t.equal(json.loads(record["body"]["stringValue"])["hash"], attributes["buckle.hash"], "and the line itself")
    now = time.time_ns()
    t.ok(now - 300e9 < int(record["timeUnixNano"]) <= now + 1e9, "its time")
    t.ok(up.bodies < total, "in batches")
    t.ok(eventually(lambda: not forwarders(path), 30), "nothing is left running", forwarders(path))
    up.close()


def test_down(user, t):
    """A collector that is not there, and one that refuses: no run waits, and nothing is lost."""
    work, keep = user.folder(), user.folder("keep")
    path, down = f"{keep}/record.jsonl", Collector()
    down.close()
    port = down.port
    began = time.monotonic()
    for _ in range(3):
        ran = user.run("--record", path, "--record-to", f"http://127.0.0.1:{port}", "--report", "none", "--", "python3", "-c",
                       DENY.format(50), cwd=work)
        t.equal(ran.status, 0, "a run without its collector")
    t.ok(time.monotonic() - began < 30, "does not wait for it")
    up = Collector(port, 503)
    time.sleep(1)
    t.equal(len(up.seen), 0, "one that refuses")
    up.status = 200
    total = last_number(path)
    t.ok(eventually(lambda: len(up.seen) == total, 40), "gets everything later, in one piece", len(up.seen), total)
    t.ok(eventually(lambda: not forwarders(path), 30), "and all forwarders end")
    user.run("--record", path, "--record-to", up.url(), "--", "true", cwd=work)
    t.ok(eventually(lambda: len(up.seen) == total + 2, 30), "the next run continues", len(up.seen), total)
    up.close()


def test_killed(user, t):
    """A forwarder that is killed with its run: the next run's sends the rest."""
    work, keep = user.folder(), user.folder("keep")
    path, up = f"{keep}/record.jsonl", Collector(status=500)
    user.run("--record", path, "--record-to", up.url(), "--report", "none", "--", "python3", "-c", DENY.format(150), cwd=work)
    for pid in forwarders(path):
        os.kill(pid, signal.SIGKILL)
    up.status = 200
    user.run("--record", path, "--record-to", up.url(), "--", "true", cwd=work)
    total = last_number(path)
    t.ok(eventually(lambda: len(up.seen) == total, 30), "nothing is lost", len(up.seen), total)
    up.close()


def test_wrong(user, t):
    work, keep = user.folder(), user.folder("keep")
    for where in ("https://collector.test", "collector", "http://", "http://a:b@c/", "ftp://x"):
        ran = user.run("--record", keep, "--record-to", where, "--", "true", cwd=work)
        t.ok(ran.status == 125 and "not the URL of a collector" in ran.err, f"{where} is refused", ran)
    ran = user.run("--record-to", "journal", "--", "true", cwd=work)
    t.ok(ran.status == 125 and "no record" in ran.err, "without a record there is nothing to send", ran)


JOURNAL = r"""
import json, os, socket, struct, subprocess, sys
os.makedirs("/run/systemd/journal")
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/run/systemd/journal/socket")
os.chmod("/run/systemd/journal/socket", 0o777)
subprocess.run(sys.argv[1:], check=True, stderr=subprocess.DEVNULL)
s.settimeout(20)
found = []
while not any(x.get("BUCKLE_KIND") == "end" for x in found):
    data, entry = s.recv(1 << 20), {}
    while data:
        line, data = data.split(b"\n", 1)
        if b"=" in line:
            name, value = line.split(b"=", 1)
        else:
            n, = struct.unpack("<Q", data[:8])
            name, value, data = line, data[8:8 + n], data[9 + n:]
        entry[name.decode()] = value.decode()
    found.append(entry)
print(json.dumps(found))
"""


def test_journal(user, t):
    work, keep = user.folder(), user.folder("keep")
    script = user.write(f"{work}/journal.py", JOURNAL)
    how = ["unshare", "-m"] if user.uid == 0 else ["unshare", "-rm"]
    ran = user.call([*how, "sh", "-c", 'mount -t tmpfs none /run && exec python3 "$@"', "sh", script, BUCKLE, "run", "--record",
                     keep, "--record-to", "journal", "--", "sh", "-c", "echo > '/etc/buckle\nno'; true"], cwd=work)
    try:
        entries = json.loads(ran.out)
    except ValueError:
        t.ok(False, "the journal gets the record", ran)
        return
    denied = next(x for x in entries if x["BUCKLE_KIND"] == "denial")
    t.equal((denied["BUCKLE_PATH"], denied["PRIORITY"], denied["SYSLOG_IDENTIFIER"]), ("/etc/buckle\nno", "4", "buckle"),
            "a denial in structured fields, with a newline in its path")
    t.equal(json.loads(denied["BUCKLE_RECORD"])["hash"], denied["BUCKLE_HASH"], "with the line itself")
    t.equal([x["BUCKLE_SEQ"] for x in entries], [str(i + 1) for i in range(len(entries))], "in order, none missing")


# ---- by the hundred thousand ----


def memory(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            return next(int(x.split()[1]) for x in f if x.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 0


def test_many(user, t):
    """100,000 events while the collector is down for a minute."""
    work, keep = user.folder(), user.folder("keep")
    path, down = f"{keep}/record.jsonl", Collector()
    down.close()
    child = user.start([BUCKLE, "run", "--record", path, "--record-to", f"http://127.0.0.1:{down.port}", "--report", "none", "--",
                        "python3", "-c", DENY.format(100000)], cwd=work)
    began, most = time.monotonic(), 0
    while child.poll() is None or time.monotonic() < began + 60:
        most = max([most, memory(child.pid), *map(memory, forwarders(path))])
        time.sleep(0.5)
    t.equal(child.returncode, 0, "the run ends without its collector")
    up, total = Collector(down.port), last_number(path)
    t.ok(total >= 100003, "every event is recorded", total)
    t.ok(eventually(lambda: len(up.seen) == total, 100), "and arrives a minute later", len(up.seen), total)
    t.ok(most < 20000, "memory stays flat", f"{most} kB")
    up.close()


def test_cost(user, t):
    """Runs with and without a record, in turn."""
    work, keep = user.folder(), user.folder("keep")
    times = {(): [], ("--record", keep): []}
    for _ in range(7):
        for words, list_ in times.items():
            ran = user.run(*words, "--report", "none", "--", "python3", "-c", DENY.format(100000), cwd=work, timeout=300)
            list_.append(ran.seconds)
            shutil.rmtree(keep, ignore_errors=True)
            os.mkdir(keep)
            user.own(keep)
    plain, recorded = (min(x) for x in times.values())
    t.ok(recorded <= 1.02 * plain, f"100,000 events: {recorded / plain:.3f} of the time without a record",
         *(f"{' '.join(k)}: {statistics.median(v):.2f} s median, {min(v):.2f} least" for k, v in times.items()))


if __name__ == "__main__":
    if sys.argv[1:] == ["whole"]:
        for each in (test_many, test_cost):
            for_everybody([each])
    else:
        for_everybody([test_collector, test_down, test_killed, test_wrong, test_journal])
    sys.exit(tap.done())
