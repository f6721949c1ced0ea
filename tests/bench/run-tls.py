#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What TLS that ends in the gate costs, beside nginx as a terminating proxy on the same machine.

    tests/bench/run-tls.py [ROUNDS]

Needs nginx, openssl and h2load. $BUCKLE is the program. The same server answers all, and clients ask
them in turn, nginx from outside and the gate from inside a sandbox. nginx has been running for a while, and each
sandbox has a gate of its own, so each client makes one request before it is measured. nginx is there three times: with
connections to the server that it keeps and gives to other clients, with a connection for each client but
sessions that are resumed, and with a new session each time. Prints ratios of the medians of times: below
1 is better than nginx.
"""

import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

BUCKLE = os.path.abspath(os.environ.get("BUCKLE", "build/buckle"))

WAYS = ("keeps", "resumes", "begins", "gate")

# name, arguments of h2load (None: openssl's client, one connection after another), path, who is compared
KINDS = [
    ("new connections at once", ["-n", "300", "-c", "300", "-m", "1"], "/small", WAYS),
    ("new connections in turn", None, "/small", WAYS),
    ("requests on kept ones", ["-n", "6000", "-c", "4", "-m", "1"], "/small", ("keeps", "gate")),
    ("bulk", ["-n", "40", "-c", "1", "-m", "1"], "/large", ("keeps", "gate")),
]
CONF = """
daemon off; worker_processes 1; pid {place}/{name}/pid; error_log /dev/null;
events {{ worker_connections 4096; }}
http {{
    access_log off; keepalive_requests 1000000;
    client_body_temp_path {place}/{name}/t1; proxy_temp_path {place}/{name}/t2; fastcgi_temp_path {place}/{name}/t3;
    uwsgi_temp_path {place}/{name}/t4; scgi_temp_path {place}/{name}/t5;
    ssl_certificate {place}/s.pem; ssl_certificate_key {place}/s.key;
{servers}}}
"""

ORIGIN = "    server {{ listen 127.0.0.1:{origin} ssl backlog=4096; root {place}; }}\n"
KEPT = "    upstream origin {{ server 127.0.0.1:{origin}; keepalive 512; }}\n"

WAY = """
    server {{
        listen 127.0.0.1:{port} ssl backlog=4096;
        location / {{
            proxy_pass https://{to}; proxy_http_version 1.1; proxy_set_header Connection "{connection}";
            proxy_ssl_session_reuse {reuse}; proxy_buffering on;
            proxy_ssl_verify on; proxy_ssl_trusted_certificate {place}/ca.pem; proxy_ssl_name localhost;
        }}
    }}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def make_certificates(place):
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    with open(f"{place}/alt", "w", encoding="ascii") as f:
        f.write("subjectAltName=DNS:localhost\n")
    for words in (["req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=bench"],
                  ["req", *key, "-keyout", "s.key", "-out", "s.csr", "-subj", "/CN=localhost"],
                  ["x509", "-req", "-in", "s.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-out", "s.pem",
                   "-extfile", "alt"]):
        subprocess.run(["openssl", *words], cwd=place, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def load(port, arguments, path, inside, place):
    """Seconds that h2load took, or that a connection took."""
    argv = ["h2load", "--h1", "-t", "1", *arguments, f"https://localhost:{port}{path}"] if arguments else [
        "openssl", "s_time", "-connect", f"localhost:{port}", "-new", "-time", "1", "-www", path]
    argv = ["sh", "-c", f'h2load --h1 -n 1 "https://localhost:{port}{path}" >/dev/null && exec "$@"', "sh", *argv]
    if inside:
        argv = [BUCKLE, "run", "--no-settings", f"--allow-request=localhost:{port}", "--", *argv]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env=dict(os.environ, SSL_CERT_FILE=f"{place}/ca.pem", SSL_CERT_DIR="/nonexistent"))
    if not arguments and (made := re.search(r"(\d+) connections in (\d+) real seconds, [1-9]\d\d+ bytes", done.stdout)):
        return int(made.group(2)) / int(made.group(1))
    found = re.search(r"finished in ([0-9.]+)(ms|s|us)", done.stdout)
    right = re.search(r"(\d+) succeeded, 0 failed", done.stdout)
    if not found or not right:
        raise SystemExit(f"{' '.join(argv)}:\n{done.stdout[-1500:]}")
    return float(found.group(1)) * {"s": 1, "ms": 1e-3, "us": 1e-6}[found.group(2)]


def start_nginx(place, name, servers):
    os.mkdir(f"{place}/{name}")
    with open(f"{place}/{name}/conf", "w", encoding="ascii") as f:
        f.write(CONF.format(place=place, name=name, servers=servers))
    return subprocess.Popen(["nginx", "-c", f"{place}/{name}/conf", "-p", place], stderr=subprocess.DEVNULL)


def start_servers(place, ports):
    """The server and the proxy are two processes, as they are two beside the gate."""
    origin = ports["gate"]
    ways = "".join(WAY.format(port=ports[way], to=to, connection=connection, reuse=reuse, place=place) for way, to, connection, reuse in
                   (("keeps", "origin", "", "on"), ("resumes", f"127.0.0.1:{origin}", "close", "on"),
                    ("begins", f"127.0.0.1:{origin}", "close", "off")))
    return [start_nginx(place, "origin", ORIGIN.format(origin=origin, place=place)),
            start_nginx(place, "proxy", KEPT.format(origin=origin) + ways)]


def measure(kind, rounds, ports, place):
    name, arguments, path, ways = kind
    times = {way: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            times[way].append(load(ports[way], arguments, path, way == "gate", place))
    middle = {way: statistics.median(times[way]) for way in ways}
    print(f"{name:24} gate {middle['gate'] * 1e3:8.1f} ms  " +
          "  ".join(f"x nginx that {way} {middle['gate'] / middle[way]:.2f}" for way in ways if way != "gate"), flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for program in ("nginx", "openssl", "h2load"):
        if not shutil.which(program):
            raise SystemExit(f"{program} is not installed")
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        make_certificates(place)
        for name, size in (("small", 200), ("large", 16 << 20)):
            with open(f"{place}/{name}", "wb") as f:
                f.write(b"x" * size)
        ports = {way: free_port() for way in WAYS}
        servers = start_servers(place, ports)
        try:
            time.sleep(1)
            for kind in KINDS:
                measure(kind, rounds, ports, place)
        finally:
            for server in servers:
                server.send_signal(signal.SIGTERM)
                server.wait()


if __name__ == "__main__":
    main()
