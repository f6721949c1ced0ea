#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What TLS that ends in the gate costs, beside nginx as a terminating proxy on the same machine.

    tests/bench/run-tls.py [ROUNDS]

Needs nginx, openssl and h2load. $BUCKLE is the program. The same server answers both, and h2load asks
both in turn, nginx from outside and the gate from inside a sandbox. Prints ratios of medians: below 1 is
better than nginx, except for bulk, where above 1 is.
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

# name, arguments of h2load, path, which number counts
KINDS = [
    ("new connections", ["-n", "300", "-c", "300", "-m", "1"], "/small"),
    ("requests on kept ones", ["-n", "6000", "-c", "4", "-m", "1"], "/small"),
    ("bulk", ["-n", "40", "-c", "1", "-m", "1"], "/large"),
]

CONF = """
daemon off; worker_processes 1; pid {place}/pid; error_log /dev/null;
events {{ worker_connections 4096; }}
http {{
    access_log off; keepalive_requests 1000000;
    client_body_temp_path {place}/t1; proxy_temp_path {place}/t2; fastcgi_temp_path {place}/t3; uwsgi_temp_path {place}/t4;
    scgi_temp_path {place}/t5;
    ssl_certificate {place}/s.pem; ssl_certificate_key {place}/s.key;
    upstream origin {{ server 127.0.0.1:{origin}; keepalive 512; }}
    server {{ listen 127.0.0.1:{origin} ssl backlog=4096; root {place}; }}
    server {{
        listen 127.0.0.1:{proxy} ssl backlog=4096;
        location / {{
            proxy_pass https://origin; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_ssl_verify on; proxy_ssl_trusted_certificate {place}/ca.pem; proxy_ssl_name localhost; proxy_buffering on;
        }}
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
    """Seconds that h2load took."""
    argv = ["h2load", "--h1", "-t", "1", *arguments, f"https://localhost:{port}{path}"]
    if inside:
        argv = [BUCKLE, "run", "--no-settings", f"--allow-request=localhost:{port}", "--", *argv]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env=dict(os.environ, SSL_CERT_FILE=f"{place}/ca.pem", SSL_CERT_DIR="/nonexistent"))
    found = re.search(r"finished in ([0-9.]+)(ms|s|us)", done.stdout)
    right = re.search(r"(\d+) succeeded, 0 failed", done.stdout)
    if not found or not right:
        raise SystemExit(f"{' '.join(argv)}:\n{done.stdout[-1500:]}")
    return float(found.group(1)) * {"s": 1, "ms": 1e-3, "us": 1e-6}[found.group(2)]


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
        origin, proxy = free_port(), free_port()
        with open(f"{place}/conf", "w", encoding="ascii") as f:
            f.write(CONF.format(place=place, origin=origin, proxy=proxy))
        nginx = subprocess.Popen(["nginx", "-c", f"{place}/conf", "-p", place], stderr=subprocess.DEVNULL)
        try:
            time.sleep(1)
            for name, arguments, path in KINDS:
                times = {False: [], True: []}
                for _ in range(rounds):
                    for inside in (False, True):
                        times[inside].append(load(origin if inside else proxy, arguments, path, inside, place))
                ours, theirs = statistics.median(times[True]), statistics.median(times[False])
                ratio = theirs / ours if name == "bulk" else ours / theirs
                print(f"{name:24} nginx {theirs * 1e3:8.1f} ms   gate {ours * 1e3:8.1f} ms   ratio {ratio:.2f}")
        finally:
            nginx.send_signal(signal.SIGTERM)
            nginx.wait()


if __name__ == "__main__":
    main()
