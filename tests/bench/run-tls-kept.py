#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What kept TLS connections cost in memory where TLS ends in the gate.

    tests/bench/run-tls-kept.py [CONNECTIONS]

Needs nginx and openssl. $BUCKLE is the program. A client inside opens 10,000 connections, sends a request on
each, and keeps them. Prints by how much the gate and buckle-tls grew for each, by their proportional set size.
"""

import importlib.util
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LOADED = importlib.util.spec_from_file_location("run_tls", os.path.join(HERE, "run-tls.py"))
TLS = importlib.util.module_from_spec(LOADED)
LOADED.loader.exec_module(TLS)

SPARE = 200  # connections before the first look: what they share is there then

CLIENT = r"""
import os, socket, ssl, sys
port, n, part = (int(one) for one in sys.argv[1:4])
context, kept = ssl.create_default_context(), []
def open_some(count):
    for _ in range(count):
        s = context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost")
        s.sendall(b"GET /small HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % port)
        got = b""
        while got.count(b"x") < 200:
            more = s.recv(65536)
            assert more, got
            got += more
        kept.append(s)
for count in (part, n):
    open_some(count)
    print("open", flush=True)
    sys.stdin.readline()
"""


def ours(run):
    """The gate and buckle-tls among the run's processes."""
    children, found = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                name, _, rest = f.read().partition("(")[2].rpartition(")")
            children.setdefault(int(rest.split()[1]), []).append((int(pid), name))
        except OSError:
            continue
    below = [run]
    while below:
        for pid, name in children.get(below.pop(), []):
            below.append(pid)
            if name in ("buckle-gate", "buckle-tls"):
                found[name] = pid
    return found


def memory(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("Pss:"))


def measure(port, n, place):
    argv = [TLS.BUCKLE, "run", "--no-settings", f"--allow-request=localhost:{port}", "--", "python3", "-c", CLIENT, str(port), str(n), str(SPARE)]
    run = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                           env=dict(os.environ, SSL_CERT_FILE=f"{place}/ca.pem", SSL_CERT_DIR="/nonexistent"))
    sizes = []
    for _ in range(2):
        if run.stdout.readline() != "open\n":
            raise SystemExit("the client could not open its connections")
        time.sleep(1)
        sizes.append({name: memory(pid) for name, pid in ours(run.pid).items()})
        run.stdin.write("\n")
        run.stdin.flush()
    run.wait()
    return {name: (size - sizes[0][name]) / n for name, size in sizes[1].items()}


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    n = min(n, limit // 2 - SPARE - 50)  # the gate has two descriptors for each
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        TLS.make_certificates(place)
        with open(f"{place}/small", "wb") as f:
            f.write(b"x" * 200)
        origin = TLS.free_port()
        TLS.CONF = TLS.CONF.replace("4096;", f"{3 * n};").replace("keepalive_requests", "keepalive_timeout 3600; keepalive_requests")
        nginx = TLS.start_nginx(place, "origin", TLS.ORIGIN.format(origin=origin, place=place))
        try:
            time.sleep(1)
            each = measure(origin, n, place)
            print(f"{n} kept connections: {sum(each.values()):.1f} KiB each (" + ", ".join(f"{name} {size:.1f}" for name, size in sorted(each.items())) + ")")
        finally:
            nginx.send_signal(signal.SIGTERM)
            nginx.wait()


if __name__ == "__main__":
    main()
