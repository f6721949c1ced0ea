#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers that staple OCSP answers, where TLS ends in the gate: openssl's responder signs them, openssl's server
and nginx send them, and curl asks for a page. Prints TAP.
"""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from drive import FOLDER
from running import PEOPLE

HERE = os.path.dirname(os.path.abspath(__file__))
LOADED = importlib.util.spec_from_file_location("e2e_tls", os.path.join(HERE, "e2e-tls.py"))
TLS = importlib.util.module_from_spec(LOADED)
LOADED.loader.exec_module(TLS)

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
# the responder's clock, ten days late
LATE = "#include <stddef.h>\n#include <sys/time.h>\n#include <time.h>\n" \
       "time_t time(time_t *t) { struct timeval v; gettimeofday(&v, NULL); v.tv_sec -= 864000; if (t) *t = v.tv_sec; return v.tv_sec; }\n"
NONE, WORKS, BAD, REVOKED = "none", "", "bad certificate status", "certificate revoked"

# what is shown, the certificate's extension, the responder's word on it, how it answers, openssl's server,
# the alert that curl names, the report's reason
CASES = [
    ("demanded and good", True, "V", (), (), WORKS, ""),
    ("good, by TLS 1.2", True, "V", (), ("-tls1_2",), WORKS, ""),
    ("good, by hashes of SHA-256", True, "V", ("sha256",), (), WORKS, ""),
    ("good, by a responder of the authority", True, "V", ("delegate",), (), WORKS, ""),
    ("demanded and missing", True, NONE, (), (), BAD, "the server sends none"),
    ("missing, by TLS 1.2", True, NONE, (), ("-tls1_2",), BAD, "the server sends none"),
    ("demanded, signed by a stranger", True, "V", ("stranger",), (), BAD, "the server's is not valid"),
    ("demanded, about another certificate", True, "V", ("other",), (), BAD, "the server's is not valid"),
    ("demanded, too old", True, "V", ("late",), (), BAD, "the server's is not valid"),
    ("demanded, no answer at all", True, "V", ("broken",), (), BAD, "the server's is not valid"),
    ("revoked", False, "R", (), (), REVOKED, "has revoked it"),
    ("revoked, by TLS 1.2", False, "R", (), ("-tls1_2",), REVOKED, "has revoked it"),
    ("revoked, in an old answer", False, "R", ("late",), (), REVOKED, "has revoked it"),
    ("unknown", False, "?", (), (), BAD, "does not know it"),
    ("not demanded, about another certificate", False, "V", ("other",), (), WORKS, ""),
    ("not demanded, \"revoked\" signed by a stranger", False, "R", ("stranger",), (), WORKS, ""),
    ("not demanded and missing", False, NONE, (), (), WORKS, ""),
]


# ---- certificates and answers ----


def path(name):
    return os.path.join(TLS.PKI, name)


def put(name, text):
    with open(path(name), "w", encoding="ascii") as f:
        f.write(text)


def certificate(name, extensions):
    TLS.openssl("req", *KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
    put("alt", extensions)
    TLS.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-out", f"{name}.pem",
                "-extfile", "alt")


def make_pki():
    TLS.make_pki()
    TLS.openssl("req", "-x509", *KEY, "-keyout", "stranger.key", "-out", "stranger.pem", "-days", "2", "-subj", "/CN=a stranger")
    certificate("delegate", "extendedKeyUsage=OCSPSigning\n")
    put("late.c", LATE)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path("late.so"), path("late.c")], check=True)
    os.makedirs(path("v1"))
    put("v1/x", "hello\n")


def serial_of(name):
    done = subprocess.run(["openssl", "x509", "-in", path(name + ".pem"), "-noout", "-serial"], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip().partition("=")[2]


def answer(name, word, how):
    """The responder's answer about the certificate NAME; returns its file."""
    about = "good" if "other" in how else name
    known = {"V": f"V\t401231235959Z\t\t{serial_of(about)}\tunknown\t/CN=x\n", "R": f"R\t401231235959Z\t250101000000Z\t{serial_of(about)}\tunknown\t/CN=x\n"}
    put("index", known.get(word, ""))
    signer = "stranger" if "stranger" in how else "delegate" if "delegate" in how else "ca"
    words = ["openssl", "ocsp", "-issuer", "ca.pem"]
    made = name + ".staple"
    subprocess.run([*words, *(["-sha256"] if "sha256" in how else []), "-cert", about + ".pem", "-no_nonce", "-reqout", "question"], cwd=TLS.PKI, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run(["openssl", "ocsp", "-index", "index", "-CA", "ca.pem", "-rsigner", signer + ".pem", "-rkey", signer + ".key", "-reqin", "question",
                    "-respout", made, "-ndays", "2"], cwd=TLS.PKI, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=dict(os.environ, LD_PRELOAD=path("late.so")) if "late" in how else None)
    if "broken" in how:  # the responder's "try later", which has no signature
        with open(path(made), "wb") as f:
            f.write(b"\x30\x03\x0a\x01\x03")
    return path(made)


# ---- servers ----


def wait_for(port):
    for _ in range(100):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def check(user, what, port, alert, why, saw):
    """One request, and whether the server got it."""
    done = TLS.run(user, port, "curl -sS --http1.1 URL/v1/x")
    if alert == WORKS:
        tap.ok(done.out == "hello\n" and saw(), f"{user.name}: a stapled answer, {what}", done)
    else:
        tap.ok(done.out == "" and alert in done.err and why in done.err and not saw(), f"{user.name}: a stapled answer, {what}: refused, and reported", done)


def test_openssl(user):
    for i, (what, demands, word, how, more, alert, why) in enumerate(CASES):
        name, port, log = f"case-{i}", TLS.free_port(), path(f"log-{user.name}-{i}")
        if not os.path.exists(path(name + ".pem")):
            certificate(name, "subjectAltName=DNS:localhost\n" + ("tlsfeature=status_request\n" if demands else ""))
            if word != NONE:
                answer(name, word, how)
        staple = ["-status_file", name + ".staple"] if word != NONE else []
        with open(log, "wb") as out, subprocess.Popen(["openssl", "s_server", "-WWW", "-accept", f"127.0.0.1:{port}", "-cert", name + ".pem", "-key",
                                                       name + ".key", *staple, *more], cwd=TLS.PKI, stdin=subprocess.DEVNULL, stdout=out, stderr=out) as server:
            wait_for(port)
            check(user, what, port, alert, why, lambda log=log: b"FILE:v1/x" in open(log, "rb").read())
            server.terminate()


NGINX = """
daemon off; worker_processes 1; pid {place}/pid; error_log /dev/null;
events {{ worker_connections 64; }}
http {{
    access_log {place}/access;
    client_body_temp_path {place}/t1; proxy_temp_path {place}/t2; fastcgi_temp_path {place}/t3; uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;
    server {{
        listen 127.0.0.1:{port} ssl; root {pki};
        ssl_certificate {pki}/{name}.pem; ssl_certificate_key {pki}/{name}.key;
        ssl_stapling on; ssl_stapling_file {staple};
    }}
}}
"""


def test_nginx(user):
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if not program:
        tap.skip("nginx is not installed")
        return
    for i, (word, alert, why) in enumerate((("V", WORKS, ""), ("R", REVOKED, "has revoked it"))):
        name, port, place = f"nginx-{i}", TLS.free_port(), os.path.join(FOLDER, f"nginx-{user.name}-{i}")
        os.makedirs(place)
        certificate(name, "subjectAltName=DNS:localhost\ntlsfeature=status_request\n")
        with open(os.path.join(place, "conf"), "w", encoding="ascii") as f:
            f.write(NGINX.format(place=place, port=port, pki=TLS.PKI, name=name, staple=answer(name, word, ())))
        with subprocess.Popen([program, "-c", f"{place}/conf", "-p", place], stderr=subprocess.DEVNULL) as server:
            wait_for(port)
            check(user, f"nginx's, {word}", port, alert, why, lambda place=place: "GET /v1/x" in open(os.path.join(place, "access"), encoding="utf-8").read())
            server.send_signal(signal.SIGTERM)


def main():
    if not shutil.which("openssl") or not shutil.which("cc"):
        tap.skip("openssl is not installed" if shutil.which("cc") else "cc is not installed")
        return tap.done()
    make_pki()
    for user in PEOPLE[-1:] if "ONE_USER" in os.environ else PEOPLE:
        test_openssl(user)
        test_nginx(user)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
