#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TLS that ends in the gate: real clients with their usual configuration, the servers' certificates, and what
is trusted where. Prints TAP.
"""

import http.server
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import sites
import tap
from drive import FOLDER
from running import BUCKLE, PEOPLE

PKI = os.path.join(FOLDER, "pki")


# ---- certificates and servers ----


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, cwd=PKI, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def certificate(name, alt, days=2):
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
    with open(os.path.join(PKI, "alt"), "w", encoding="ascii") as f:
        f.write(f"subjectAltName={alt}\n")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", str(days),
            "-out", f"{name}.pem", "-extfile", "alt")


def make_pki():
    os.makedirs(PKI)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
            "-days", "2", "-subj", "/CN=a test's authority")
    certificate("good", "DNS:localhost,IP:127.0.0.1")
    openssl("x509", "-in", "good.pem", "-pubkey", "-noout", "-out", "pinned")
    certificate("other", "DNS:other.test")
    certificate("old", "DNS:localhost", days=-1)
    for name in os.listdir(PKI):
        os.chmod(os.path.join(PKI, name), 0o644)
    os.chmod(PKI, 0o755)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        size = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(size)
        text = f"{self.command} {self.path} {len(body)}\n".encode()
        if self.path == "/v1/large":
            text = b"0123456789abcdef" * (256 << 10)
        self.server.seen.append(f"{self.command} {self.path}")
        self.server.resumed.append(self.connection.session_reused)
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def serve(name, wants_client=False, newest=ssl.TLSVersion.TLSv1_3):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = newest
    context.load_cert_chain(os.path.join(PKI, name + ".pem"), os.path.join(PKI, name + ".key"))
    if wants_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(os.path.join(PKI, "ca.pem"))
    server = Quiet(("127.0.0.1", 0), Handler)
    server.seen, server.resumed = [], []
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


# ---- clients ----

PYTHON = "import urllib.request; print(urllib.request.urlopen('URL/v1/x').read().decode())"
REQUESTS = "import requests; print(requests.get('URL/v1/x').text)"
NODE_FETCH = "fetch('URL/v1/x').then(r => r.text()).then(console.log)"
NODE_HTTPS = "require('https').get('URL/v1/x', r => r.on('data', d => console.log(String(d))))"
RUBY = "require 'net/http'; puts Net::HTTP.get(URI('URL/v1/x'))"
PERL = "use HTTP::Tiny; print HTTP::Tiny->new(verify_SSL=>1)->get('URL/v1/x')->{content}"
PHP = "echo file_get_contents('URL/v1/x');"
GO = 'package main\nimport ("fmt"; "io"; "net/http")\nfunc main() { r, err := http.Get("URL/v1/x"); if err != nil { panic(err) }; ' \
     'b, _ := io.ReadAll(r.Body); fmt.Print(string(b)) }\n'

CLIENTS = [
    ("curl", "curl", "curl -sS URL/v1/x"),
    ("curl, HTTP/1.1", "curl", "curl -sS --http1.1 URL/v1/x"),
    ("curl, TLS 1.2", "curl", "curl -sS --tls-max 1.2 URL/v1/x"),
    ("curl without the proxy", "curl", "curl -sS --noproxy '*' URL/v1/x"),
    ("wget", "wget", "wget -q -O - URL/v1/x"),
    ("openssl s_client", "openssl", "printf 'GET /v1/x HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' | openssl s_client -quiet "
     "-verify_return_error -servername localhost -connect localhost:PORT 2>/dev/null"),
    ("Python's urllib", "python3", f'python3 -c "{PYTHON}"'),
    ("Node's fetch", "node", f'node -e "{NODE_FETCH}"'),
    ("Node's https", "node", f'node -e "{NODE_HTTPS}"'),
    ("git", "git", "git ls-remote URL/v1/x 2>&1 | grep -o 'not valid: is this a git repository' && echo GET /v1/x 0"),
]
JAVA = """import java.net.URI; import java.net.http.*;
public class A { public static void main(String[] a) throws Exception {
  System.out.print(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("URL/v1/x")).build(), HttpResponse.BodyHandlers.ofString()).body()); } }
"""
HTTPX = "import httpx; print(httpx.get('URL/v1/x').text)"
MORE = [
    ("Python's httpx", "python3", f'python3 -c "{HTTPX}"'),
    ("Java's HttpClient", "java", f"cat > A.java <<'E'\n{JAVA}E\njava A.java"),
    ("Python's requests", "python3", f'python3 -c "{REQUESTS}"'),
    ("Ruby", "ruby", f'ruby -e "{RUBY}"'),
    ("Perl", "perl", f'perl -e "{PERL}"'.replace("$", "\\$")),
    ("PHP", "php", f'php -r "{PHP}"'),
    ("Go", "go", f"cat > a.go <<'E'\n{GO}E\nexport HOME=$PWD GOFLAGS=-mod=mod; go run a.go"),
]


def lacks(user, name, program):
    if not shutil.which(program, path=user.env["PATH"]):
        return f"{program} is not installed"
    module = name.removeprefix("Python's ")
    if module in ("requests", "httpx") and user.call(["python3", "-c", f"import {module}"]).status != 0:
        return f"{module} is not installed"
    if name == "Perl" and user.call(["perl", "-MIO::Socket::SSL", "-e", "1"]).status != 0:
        return "IO::Socket::SSL is not installed"
    return None


def run(user, port, script, rules=("GET,HEAD localhost:PORT/v1/**",), store="ca.pem", **how):
    flags = [f"--allow-request={rule.replace('PORT', str(port))}" for rule in rules]
    script = script.replace("URL", f"https://localhost:{port}").replace("PORT", str(port))
    # the machine's store
    env = {"SSL_CERT_FILE": os.path.join(PKI, store)} if store else {}
    return user.run(*flags, *how.pop("more", ()), "--", "sh", "-c", script, cwd=user.folder(), env=env, timeout=120, **how)


def test_clients(user, server):
    port = server.server_address[1]
    for name, program, script in CLIENTS + (MORE if "heavy" in sys.argv else []):
        why = lacks(user, name, program)
        if why:
            tap.skip(why)
            continue
        done = run(user, port, script)
        tap.ok("GET /v1/x 0" in done.out and "denied" not in done.err, f"{user.name}: {name}", done)


def git_backend():
    return subprocess.run(["git", "--exec-path"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip() + "/git-http-backend"


def test_git(user):
    """Cloning, and pushing to one repository."""
    site = os.path.join(FOLDER, f"repositories-{user.name}")
    for name in ("mine", "other"):
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", os.path.join(site, "me", name + ".git")], check=True)
        subprocess.run(["git", "-C", os.path.join(site, "me", name + ".git"), "config", "http.receivepack", "true"], check=True)
    server = sites.git_server(sys.modules[__name__], git_backend(), site)
    done = run(user, server.server_address[1], "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; "
               "git clone -q URL/me/mine.git a && cd a && echo hello >f && git add f && git commit -qm first && git push -q origin HEAD:main && cd .. && "
               "git clone -q URL/me/mine.git b && cat b/f && git clone -q URL/me/other.git c && cd c && git commit -q --allow-empty -m x && "
               "git push -q origin HEAD:main || echo refused", rules=("git-push localhost:PORT/me/mine", "read-only localhost:PORT/me/**"))
    tap.ok(done.out == "hello\nrefused\n" and "git-receive-pack" in done.err, f"{user.name}: git clones, and pushes where it may", done)


def test_npm(user):
    if not shutil.which("npm"):
        tap.skip("npm is not installed")
        return
    server = sites.npm_registry(sys.modules[__name__])
    npm = "npm --registry URL/ --no-audit --no-fund --no-update-notifier --loglevel error"
    done = run(user, server.server_address[1], "mkdir p q; export npm_config_cache=$PWD/k; cd p; echo '{\"name\": \"left-pad\", \"version\": \"9.9.9\"}' >package.json; "
               f"echo '//localhost:PORT/:_authToken=abc' >.npmrc; {npm} publish >out 2>&1 && echo published; {npm} publish --tag other >out 2>&1; "
               f"cd ../q; echo '{{}}' >package.json; {npm} install left-pad >out 2>&1; cat node_modules/left-pad/index.js || cat out",
               rules=("read-only localhost:PORT", "PUT localhost:PORT/left-pad"))
    tap.ok(done.out == "published\n// padded\n" and server.published, f"{user.name}: npm publishes and installs", done)


def test_installers(user):
    """pip and cargo, from a registry of their own kind."""
    if "heavy" not in sys.argv:
        return
    pip, cargo = sites.python_index(sys.modules[__name__]), sites.cargo_registry(sys.modules[__name__])
    if user.call(["python3", "-m", "pip", "--version"]).status == 0:
        done = run(user, pip.server_address[1], "python3 -m pip install -q --disable-pip-version-check --no-cache-dir --target t --index-url URL/v1/ padded && "
                   "PYTHONPATH=t python3 -m padded")
        tap.ok(done.out.endswith("padded\n"), f"{user.name}: pip", done)
    else:
        tap.skip("pip is not installed")
    test_cargo(user, cargo)


def test_cargo(user, registry):
    """A crate from a sparse registry, which cargo knows since 1.68, and one from a git repository."""
    done = user.call(["cargo", "--version"]) if shutil.which("cargo", path=user.env["PATH"]) else None
    if not done or done.status != 0:
        tap.skip("cargo is not installed")
        return
    fetch = ("mkdir -p c/src h; cd c; printf '[package]\\nname = \"a\"\\nversion = \"0.1.0\"\\n[dependencies]\\npadded = { %s }\\n' >Cargo.toml; "
             "echo 'fn main() {}' >src/main.rs; export CARGO_HOME=$PWD/../h CARGO_REGISTRIES_R_INDEX=sparse+URL/v1/; cargo fetch -q && ls $CARGO_HOME/%s")
    if int(done.out.split()[1].split(".")[1]) >= 68:
        done = run(user, registry.server_address[1], fetch % ('version = \"1\", registry = \"r\"', "registry/src/*"))
        tap.ok("padded-1.0.0" in done.out, f"{user.name}: cargo, a sparse registry", done)
    site = os.path.join(FOLDER, f"crates-{user.name}")
    work, bare = os.path.join(site, "work"), os.path.join(site, "padded.git")
    os.makedirs(os.path.join(work, "src"))
    for name, text in (("Cargo.toml", '[package]\nname = "padded"\nversion = "1.0.0"\n'), ("src/lib.rs", "")):
        with open(os.path.join(work, name), "w", encoding="ascii") as f:
            f.write(text)
    for words in (["init", "-q", "-b", "master"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
                  ["clone", "-q", "--bare", work, bare]):
        subprocess.run(["git", *words], check=True, cwd=work)
    server = sites.git_server(sys.modules[__name__], git_backend(), site)
    done = run(user, server.server_address[1], fetch % ('git = \"URL/padded.git\"', "git/checkouts/*/*"), rules=("read-only localhost:PORT/padded.git/**",))
    tap.ok("Cargo.toml" in done.out, f"{user.name}: cargo, a git repository", done)


def test_requests(user, server):
    port = server.server_address[1]
    server.seen.clear()
    done = run(user, port, "curl -sS -o /dev/null -w '%{http_code} ' URL/v1/a URL/v1/b; curl -sS -X DELETE URL/v1/a; curl -sS URL/v2",
               more=("--report", "json"))
    tap.ok("200" in done.out and "DELETE request to localhost" in done.out and '"detail": "GET /v2"' in done.err,
           f"{user.name}: denied requests get an answer and a report", done)
    tap.equal(server.seen, ["GET /v1/a", "GET /v1/b"], f"{user.name}: and the server sees none of them")
    done = run(user, port, "curl -sS URL/v1/large | sha256sum; head -c 3000000 /dev/zero | curl -sS --data-binary @- URL/v1/up",
               rules=("localhost:PORT/v1/**",))
    tap.ok("POST /v1/up 3000000" in done.out, f"{user.name}: megabytes in either direction", done)


def test_servers(user):
    for name, alert, why in (("other", "", "ostname mismatch"), ("old", "expired", "has expired")):
        server = serve(name)
        done = run(user, server.server_address[1], "curl -sS URL/v1/x")
        tap.ok(done.out == "" and alert in done.err and why in done.err and not server.seen,
               f"{user.name}: a server's certificate, {name}: the client fails, and the reason is reported", done)
    server = serve("good")
    done = run(user, server.server_address[1], "curl -sS URL/v1/x", store=None)
    tap.ok("unknown ca" in done.err and "unable to get local issuer" in done.err and not server.seen,
           f"{user.name}: a server that this machine does not trust", done)
    server = serve("good", wants_client=True)
    done = run(user, server.server_address[1], "curl -sS URL/v1/x")
    tap.ok(done.out == "" and "client certificate" in done.err and not server.seen,
           f"{user.name}: a server that asks for a client certificate is refused", done)


def test_sessions(user):
    """Neither Python nor the server says goodbye."""
    script = "import urllib.request as r; [r.urlopen('URL/v1/x').read() for _ in range(5)]"
    for newest in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        server = serve("good", newest=newest)
        run(user, server.server_address[1], f'python3 -c "{script}"')
        tap.equal(server.resumed, [False, True, True, True, True],
                  f"{user.name}: {newest.name}: a server's first session is resumed by all other connections")


def test_pinned(user, server):
    """A client that knows the server's key fails."""
    port = server.server_address[1]
    server.seen.clear()
    done = run(user, port, f"curl -sS --pinnedpubkey {PKI}/pinned URL/v1/x || echo status $?")
    tap.ok(done.out == "status 90\n" and not server.seen, f"{user.name}: a client that pins the server's key", done)
    tap.ok(f"localhost:{port}" in done.err and "expect the server's own certificate" in done.err, f"{user.name}: and the report says why", done)
    # the run ends with the client, right after it has left
    ends = [run(user, port, f"exec curl -sS --pinnedpubkey {PKI}/pinned URL/v1/x").err for _ in range(10)]
    tap.equal(sum("expect the server's own certificate" in err for err in ends), 10, f"{user.name}: also when the run ends with it")
    done = run(user, port, "curl -sS URL/v1/x; printf 'GET /v1/y HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' | timeout 5 openssl s_client -quiet "
               "-connect localhost:PORT 2>/dev/null")
    tap.ok("GET /v1/y 0" in done.out and "own certificate" not in done.err, f"{user.name}: no other client's says so", done)


# Where other systems keep their bundles: the files, each with its own bundle or a link to another one.
LAYOUTS = {
    "Fedora": {"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem": None,
               "/etc/pki/tls/certs/ca-bundle.crt": "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
               "/etc/pki/tls/cert.pem": "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
               "/etc/ssl/certs/ca-certificates.crt": "/etc/pki/tls/certs/ca-bundle.crt"},
    "Alpine": {"/etc/ssl/certs/ca-certificates.crt": None, "/etc/ssl/cert.pem": "certs/ca-certificates.crt",
               "/etc/ssl1.1/cert.pem": "/etc/ssl/cert.pem"},
    "openSUSE": {"/var/lib/ca-certificates/ca-bundle.pem": None, "/etc/ssl/ca-bundle.pem": "/var/lib/ca-certificates/ca-bundle.pem"},
    "NixOS": {"/etc/static/ssl/certs/ca-certificates.crt": None, "/etc/static/ssl/certs/ca-bundle.crt": "ca-certificates.crt",
              "/etc/ssl": "/etc/static/ssl"},
}


def test_layouts(user, server):
    """Bundles of other systems, made in a mount namespace: each of their names leads to one that has the authority."""
    if os.geteuid() != 0:
        tap.skip("only root can make another system's places")
        return
    port = server.server_address[1]
    drop = ["setpriv", f"--reuid={user.uid}", f"--regid={user.uid}", "--clear-groups"] if user.uid != os.geteuid() else []
    for system, files in LAYOUTS.items():
        make = "".join(f"mkdir -p {os.path.dirname(path)}; " + (f"ln -s {to} {path}; " if to else f"cp {PKI}/ca.pem {path}; ") for path, to in files.items())
        # a file's own name and all links to it
        names = [path for path in files if not path.endswith("/ssl")] + ["/etc/ssl/certs/ca-bundle.crt"] * (system == "NixOS")
        inside = "".join(f"curl -sS --cacert {path} https://localhost:{port}/v1/x; grep -c BEGIN {path}; " for path in names)
        script = ("set -e; t=$(mktemp -d); mount -t tmpfs t $t; chmod 755 $t; cp -a /etc/. $t; mount --move $t /etc; mount -t tmpfs t /var/lib; "
                  f"rm -rf /etc/ssl /etc/pki; {make} cd \"$1\"; shift; exec \"$@\"")
        done = PEOPLE[0].call(["unshare", "--mount", "sh", "-c", script, "sh", user.folder(), *drop, BUCKLE, "run", "--no-settings",
                               f"--allow-request=GET,HEAD localhost:{port}/v1/**", "--", "sh", "-c", inside],
                              env=dict(user.env, SSL_CERT_FILE=os.path.join(PKI, "ca.pem")))
        tap.equal(done.out, "GET /v1/x 0\n2\n" * len(names), f"{user.name}: the bundles of {system}")


def test_browser(user, server):
    """Chromium has a store of its own. It takes authorities from the machine's policies."""
    if "heavy" not in sys.argv:
        return
    if not shutil.which("chromium"):
        tap.skip("chromium is not installed")
        return
    before = sorted(os.listdir("/etc/chromium"))
    server.seen.clear()
    done = run(user, server.server_address[1], "export HOME=$PWD; for u in URL/v1/x URL/v2; do timeout 60 chromium --headless --no-sandbox --disable-gpu "
               "--user-data-dir=$PWD/c --dump-dom $u 2>/dev/null; done; ls /etc/chromium")
    tap.ok("GET /v1/x 0" in done.out and "GET /v1/x" in server.seen and "GET /v2" not in server.seen, f"{user.name}: Chromium", done)
    tap.ok(all(name in done.out.split("\n") for name in before) and sorted(os.listdir("/etc/chromium")) == before,
           f"{user.name}: its other settings are there, and the machine's folder is as before", done)


VARIABLES = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE", "PIP_CERT",
             "CARGO_HTTP_CAINFO", "DENO_CERT")


def test_trust(user, server):
    port = server.server_address[1]
    done = run(user, port, f"curl -sS --cacert {PKI}/other.pem URL/v1/x; curl -sS URL/v1/x")
    tap.ok(done.out == "GET /v1/x 0\n" and "alert unknown ca" in done.err, f"{user.name}: a client that trusts nothing, and one that does", done)
    # the authority's certificate, shown to the world outside
    done = run(user, port, "openssl s_client -connect localhost:PORT -servername localhost </dev/null 2>/dev/null | openssl x509; "
               "tail -40 $SSL_CERT_FILE >authority")
    with open("/etc/ssl/certs/ca-certificates.crt", "rb") as f:
        tap.ok("BEGIN CERTIFICATE" in done.out and b"Buckle" not in f.read(), f"{user.name}: the machine's bundle is as before", done)
    with open(os.path.join(PKI, "ca.pem"), encoding="ascii") as f:
        tap.equal(f.read().count("BEGIN"), 1, f"{user.name}: so is the caller's")
    done = run(user, port, "openssl crl2pkcs7 -nocrl -certfile $SSL_CERT_FILE | openssl pkcs7 -print_certs -text -noout | "
               "grep -A9 'Name Constraints: critical'")
    tap.ok("DNS:localhost" in done.out and "DNS:" not in done.out.replace("DNS:localhost", ""),
           f"{user.name}: the authority is only for the hosts concerned", done)
    done = run(user, port, "grep -c BEGIN $SSL_CERT_FILE; cat /proc/[0-9]*/environ $SSL_CERT_FILE 2>/dev/null | grep -c 'PRIVATE KEY'")
    tap.equal(done.out, "2\n0\n", f"{user.name}: one certificate more inside, and no key")
    # it comes last in each bundle
    names = " ".join(VARIABLES).replace("URL", "UR''L")
    done = run(user, port, f"tail -5 $SSL_CERT_FILE >last; for name in {names}; do tail -5 \"$(printenv $name)\" | cmp -s - last && echo $name; done")
    tap.equal(done.out.split(), list(VARIABLES), f"{user.name}: all variables that programs know name a bundle with it")


def test_others(user, server):
    """Hosts without rules about requests keep their own TLS."""
    port = server.server_address[1]
    done = user.run(f"--allow-net=localhost:{port}", "--allow-request=GET localhost:1/v1", "--", "sh", "-c",
                    f"openssl s_client -connect localhost:{port} -servername localhost </dev/null 2>/dev/null | openssl x509 -noout -issuer",
                    cwd=user.folder(), env={"SSL_CERT_FILE": os.path.join(PKI, "ca.pem")})
    tap.ok("a test's authority" in done.out, f"{user.name}: another host's connection is not decrypted", done)
    done = user.run(f"--allow-net=localhost:{port}", "--", "sh", "-c", "echo ${NODE_EXTRA_CA_CERTS-unset}; ls -l /proc/*/maps | wc -l",
                    cwd=user.folder(), env={})
    tap.ok(done.out.startswith("unset\n"), f"{user.name}: without such rules nothing changes", done)


def test_h2(user):
    if not shutil.which("nghttpd"):
        tap.skip("nghttpd is not installed")
        return
    site, port = os.path.join(FOLDER, f"site-{user.name}"), free_port()
    os.makedirs(os.path.join(site, "v1"))
    for name, text in (("v1/x", "hello\n"), ("other", "secret\n")):
        with open(os.path.join(site, name), "w", encoding="ascii") as f:
            f.write(text)
    with subprocess.Popen(["nghttpd", "-d", site, str(port), "good.key", "good.pem"], cwd=PKI, stdout=subprocess.DEVNULL) as child:
        done = run(user, port, "for i in 1 2 3 4 5 6 7 8 9; do curl -sSk -o /dev/null URL/v1/x && break; sleep 0.2; done; "
                   "curl -sS -w '%{http_version}\\n' URL/v1/x URL/v1/x; curl -sSD - URL/other; curl -sS --data-binary @$SSL_CERT_FILE "
                   "-w '%{http_code}\\n' URL/v1/x; curl -sS -o a -o b -o c -w '%{http_code}\\n' URL/v1/x URL/other URL/v1/x")
        child.terminate()
    lines = done.out.replace("\r", "").split("\n")
    tap.ok(lines[:4] == ["hello", "2", "hello", "2"] and lines[4].startswith("HTTP/2 403") and
           lines[-5:] == ["403", "200", "403", "200", ""] and "GET /other" in done.err, f"{user.name}: HTTP/2, and a denied request in it", done)


# What is missing, how to take it away, and what the report names.
MISSING = [
    ("buckle-tls", "rm HELPER", "is not beside bin/buckle"),
    ("its C library", "printf '\\177ELF no' >HELPER", "does not start here"),
    ("OpenSSL", "for f in $(ldconfig -p | sed -n 's/.*libssl.so.3 .*=> //p'); do mount --bind /dev/null $f; done", "libssl.so.3 is missing"),
]


def test_missing(user, server):
    """Without what buckle-tls needs, the connection is refused, and the report says what to install."""
    url = f"localhost:{server.server_address[1]}"
    # clients need the library, too; the first bytes of one are enough
    out = ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    client = f"import socket; s = socket.create_connection(('localhost', {server.server_address[1]})); " \
             f"s.sendall(bytes.fromhex('{out.read().hex()}')); exit(s.recv(1) == b'')"
    for what, take, said in MISSING:
        if "mount" in take and os.geteuid() != 0:
            tap.skip("only root can hide a library")
            continue
        folder = os.path.join(user.home, "release-" + what.replace(" ", "-"))
        for name in ("bin/buckle", "libexec/buckle/buckle-tls"):
            os.makedirs(os.path.dirname(os.path.join(folder, name)))
            shutil.copy(os.path.join(FOLDER, name), os.path.join(folder, name))
        server.seen.clear()
        script = take.replace("HELPER", folder + "/libexec/buckle/buckle-tls") + '; cd "$1"; shift; exec "$@"'
        drop = ["setpriv", f"--reuid={user.uid}", f"--regid={user.uid}", "--clear-groups"] if user.uid != os.geteuid() else []
        done = PEOPLE[0].call(["unshare", "--mount", "sh", "-c", script, "sh", user.folder(), *drop, folder + "/bin/buckle", "run",
                               f"--allow-request=GET {url}/v1/**", "--", "/usr/bin/python3", "-c", client], env=user.env)
        tap.ok(done.status != 0 and said in done.err and not server.seen, f"{user.name}: without {what}", done)


def main():
    if not shutil.which("openssl"):
        tap.skip("openssl is not installed")
        return tap.done()
    make_pki()
    server = serve("good")
    done = run(PEOPLE[0], server.server_address[1], "curl -sS URL/v1/x")
    if "libssl.so.3 is missing" in done.err:
        tap.ok(done.out == "" and not server.seen, "without the library such connections are refused", done)
        tap.skip("libssl.so.3 is not installed")
        return tap.done()
    for user in PEOPLE[-1:] if "ONE_USER" in os.environ else PEOPLE:
        test_clients(user, server)
        test_git(user)
        test_npm(user)
        test_installers(user)
        test_requests(user, server)
        test_servers(user)
        test_sessions(user)
        test_pinned(user, server)
        test_layouts(user, server)
        test_browser(user, server)
        test_trust(user, server)
        test_others(user, server)
        test_h2(user)
        test_missing(user, server)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
