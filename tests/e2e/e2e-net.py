#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The network filtered by name: real clients, with the proxy variables and without them, against
servers in a small internet (tests/lib/internet.py). Prints TAP.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import internet
import netbox
import tap
from internet import OTHER4, SERVER4, SERVER6
from netbox import CURL, PROFILE, WAYS, Runner, rsync_server, talk
from running import eventually
from world import World


# ---- clients ----


# name: (required program, script for URL and host, which must print "hello there")
CLIENTS = {
    "curl": ("curl", CURL + "http://{host}/hello"),
    "curl, TLS and HTTP/2": ("curl", CURL + "--http2 https://{host}/hello"),
    "curl, HTTP/1.1 and TLS": ("curl", CURL + "--http1.1 https://{host}/hello"),
    "curl, another port": ("curl", CURL + "http://{host}:8080/hello"),
    "wget": ("wget", "wget -q -t 1 -T 20 --ca-certificate=$CA -O - https://{host}/hello"),
    "python": ("python3", "SSL_CERT_FILE=$CA python3 -c 'import urllib.request as u; "
               "print(u.urlopen(\"https://{host}/hello\").read().decode(), end=\"\")'"),
    "node": ("node", "NODE_EXTRA_CA_CERTS=$CA node -e 'fetch(\"https://{host}/hello\")"
             ".then(r => r.text()).then(t => process.stdout.write(t))"
             ".catch(e => {{ console.error(e.cause || e); process.exit(1) }})'"),
}


def test_clients(net, who):
    for name, (program, script) in CLIENTS.items():
        if not shutil.which(program):
            tap.skip(f"{program} is not installed")
            continue
        for way in WAYS:
            done = net.boxed(who, script.format(host="allowed.test"), way=way)
            tap.ok(done.status == 0 and done.out == "hello there\n" and "denied" not in done.err,
                   f"{who.name}: {name} ({way}): an allowed host", done)
            done = net.boxed(who, script.format(host="denied.test"), way=way)
            tap.ok(done.status != 0 and "hello" not in done.out and "denied.test" in done.err and
                   "buckle:" in done.err, f"{who.name}: {name} ({way}): a denied host, and reported", done)


def test_families(net, who):
    for host in ("four.test", "six.test", "www.allowed.test"):
        for way in WAYS:
            done = net.boxed(who, CURL + f"https://{host}/hello", way=way)
            tap.ok(done.out == "hello there\n", f"{who.name}: {host} ({way})", done)
    done = net.boxed(who, CURL + "http://broken.test/hello")
    tap.ok(done.out == "hello there\n", f"{who.name}: the second address when the first is silent",
           done)


def test_addresses(net, who):
    for way in WAYS:
        done = net.boxed(who, CURL + f"http://{SERVER4}:8080/hello", way=way)
        tap.ok(done.out == "hello there\n", f"{who.name}: an address that a rule names ({way})", done)
        done = net.boxed(who, CURL + f"http://{SERVER4}/hello", way=way)
        tap.ok(done.status != 0 and f"{SERVER4}:80" in done.err,
               f"{who.name}: the same on another port ({way})", done)
        done = net.boxed(who, CURL + f"http://[{SERVER6}]/hello", way=way)
        tap.ok(done.status != 0 and SERVER6 in done.err,
               f"{who.name}: an address without a rule ({way})", done)


def test_special(net, who):
    """Allowed names that resolve to special addresses."""
    for name in ("rebind.test", "meta.test", "link.test", "own.test", "mapped.test"):
        for way in WAYS:
            done = net.boxed(who, CURL + f"http://{name}/hello", way=way)
            tap.ok(done.status != 0, f"{who.name}: {name} ({way})", done)
            tap.ok(name in done.err and "denied" in done.err, f"{who.name}: {name} ({way}) is reported",
                   done)
    done = net.boxed(who, CURL + "http://half.test/hello")
    tap.ok(done.out == "hello there\n", f"{who.name}: of two addresses the harmless one", done)


def under(net, who, settings, script, way="direct"):
    """Runs a script under settings."""
    world = World(who)
    path = os.path.join(world.top, "settings.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(settings, f)
    argv = [who.buckle(), "run", "--no-settings", "-s", path, "--", "sh", "-c", WAYS[way] + script]
    return Runner(who).run(["env", f"CA={net.ca}", *net.net.argv_in(net.net.home, argv, who.uid)], world.inside,
                           timeout=40)


def test_settings(net, who):
    lists = {"allowedDomains": ["allowed.test", "*.allowed.test", "four.test"],
             "deniedDomains": ["www.allowed.test"],
             "deniedDomainReasons": {"www.allowed.test": "use the mirror instead"}}
    for way in WAYS:
        def reached(settings, host, path="hello", way=way):
            return under(net, who, {"network": settings}, CURL + f"http://{host}/{path}", way)
        done = reached(lists, "allowed.test")
        tap.ok(done.out == "hello there\n", f"{who.name}: settings: an allowed host ({way})", done)
        done = reached(lists, "www.allowed.test")
        tap.ok(done.status != 0 and "use the mirror instead" in done.err,
               f"{who.name}: settings: a denied one below it, with the reason ({way})", done)
        done = reached({**lists, "deniedResolvedAddresses": [f"{SERVER4}/24"]}, "four.test")
        tap.ok(done.status != 0 and "four.test" in done.err,
               f"{who.name}: settings: an allowed name does not lead to a denied range ({way})", done)
        done = reached({**lists, "deniedResolvedAddresses": [f"{SERVER4}/24"],
                        "allowedDomains": ["four.test", f"{SERVER4}:80"]}, "four.test")
        tap.ok(done.out == "hello there\n", f"{who.name}: settings: unless the address is allowed itself ({way})", done)
        done = reached({"allowAllDomains": True, "deniedDomains": ["four.test"]}, "denied.test")
        tap.ok(done.out == "hello there\n", f"{who.name}: settings: all hosts ({way})", done)
        done = reached({"allowAllDomains": True, "deniedDomains": ["four.test"]}, "four.test")
        tap.ok(done.status != 0, f"{who.name}: settings: but the denied one ({way})", done)
    done = under(net, who, {"network": lists}, "curl -sS -m 20 http://www.allowed.test/hello", "proxy")
    tap.ok("use the mirror instead" in done.out, f"{who.name}: settings: the proxy's answer has the reason", done)


def test_large(net, who):
    for way in WAYS:
        done = net.boxed(who, CURL + "-o got https://allowed.test/large && "
                         f"cmp got {net.site}/large && echo same", way=way)
        tap.ok(done.out == "same\n", f"{who.name}: three megabytes ({way})", done)
        done = net.boxed(who, f"head -c 5000000 /dev/zero > big; {CURL} --data-binary @big "
                         "http://allowed.test/post", way=way)
        tap.ok(done.out == "posted\n", f"{who.name}: five megabytes upwards ({way})", done)


def test_own_servers(net, who):
    script = ("python3 -m http.server 8000 --bind 0.0.0.0 >/dev/null 2>&1 & sleep 1; echo mine > f; "
              "curl -sS --noproxy '*' http://127.0.0.1:8000/f; curl -sS --noproxy '*' http://localhost:8000/f")
    done = net.boxed(who, script)
    tap.ok(done.out == "mine\nmine\n", f"{who.name}: the command's own servers", done)


SAME_PORT = """python3 - <<'E'
import socket
out = socket.create_connection(("four.test", 8080), timeout=5)
served = socket.create_server(("0.0.0.0", 8080))
inner = socket.create_connection(("127.0.0.1", 8080), timeout=5)
accepted = served.accept()[0]
accepted.sendall(b"inside")
print(inner.recv(6))
out.sendall(b"GET /hello HTTP/1.0\\r\\nHost: four.test:8080\\r\\n\\r\\n")
print(out.makefile("rb").read().endswith(b"hello there\\n"))
again = socket.create_connection(("four.test", 8080), timeout=5)
again.sendall(b"GET /hello HTTP/1.0\\r\\nHost: four.test:8080\\r\\n\\r\\n")
print(again.makefile("rb").read().endswith(b"hello there\\n"))
E"""


def test_same_port(net, who):
    """The command's server on the same port as a host's: each keeps its own."""
    done = net.boxed(who, SAME_PORT)
    tap.ok(done.out == "b'inside'\nTrue\nTrue\n", f"{who.name}: connections to a port that is served inside too", done)


def test_local_ports(net, who):
    """Single ports of the host's loopback."""
    server = net.net.socket_in(net.net.home, socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", 18080))
    server.listen(8)

    def serve():
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            client.recv(4096)
            client.sendall(b"HTTP/1.0 200 OK\r\n\r\nfrom the host\n")
            client.close()

    threading.Thread(target=serve, daemon=True).start()
    fetch = "curl -sS -m 5 --noproxy '*' http://localhost:18080/"
    done = net.boxed(who, fetch)
    tap.ok(done.status != 0 and "from the host" not in done.out,
           f"{who.name}: the host's loopback is another", done)
    done = net.boxed(who, fetch, ["--allow-net", "localhost:18080"])
    tap.ok(done.out == "from the host\n", f"{who.name}: a port of it that is allowed", done)
    done = net.boxed(who, fetch.replace("18080", "18081"), ["--allow-net", "localhost:18080"])
    tap.ok(done.status != 0, f"{who.name}: and only that", done)
    done = net.boxed(who, fetch.replace("localhost", "[::1]") + "; " + fetch.replace("localhost", "127.0.0.1"),
                     ["--allow-net", "localhost:18080"])
    tap.ok(done.out == "from the host\n" * 2, f"{who.name}: from either address", done)
    done = net.boxed(who, fetch.replace("localhost", "127.0.0.1"), profile=PROFILE + """
(allow network-outbound (remote tcp "127.0.0.1:18080"))""")
    tap.ok(done.out == "from the host\n", f"{who.name}: allowed by its address", done)
    done = net.boxed(who, fetch, ["--allow-net", "localhost:18080", "--dry-run"])
    tap.ok("port 18080 of loopback leads to this machine's (TCP and UDP)" in " ".join(done.out.split()),
           f"{who.name}: the plan says so", done)
    # a port in both rules leads to the side that listens
    done = net.boxed(who, fetch, ["--allow-net", "localhost:18080", "--publish", "18080"])
    tap.ok(done.out == "from the host\n", f"{who.name}: a port in both directions, where the host listens", done)
    done = net.boxed(who, "true", ["--publish", "18080"])
    tap.ok(done.status == 0 and "18080 (in use" in done.err, f"{who.name}: a port that is taken is not published", done)
    server.shutdown(socket.SHUT_RDWR)
    server.close()


def test_local_datagrams(net, who):
    servers, port = [], 18053 + who.uid % 10 + (who.uid == 0)
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        s = net.net.socket_in(net.net.home, family, socket.SOCK_DGRAM)
        s.bind((address, port))
        servers.append(s)

        def serve(s=s):
            while True:
                try:
                    data, client = s.recvfrom(70000)
                except OSError:
                    return
                s.sendto(b"host " + data, client)

        threading.Thread(target=serve, daemon=True).start()
    script = ECHO.replace("{script}", f"ask('127.0.0.1', {port}, socket.AF_INET); ask('::1', {port}, socket.AF_INET6); "
                          f"ask('127.0.0.1', {port}, socket.AF_INET, b'x', False); ask('127.0.0.1', {port + 10}, socket.AF_INET)")
    wanted = (f"127.0.0.1 {port} host ping\n::1 {port} host ping\n127.0.0.1 {port} host x +\n"
              f"127.0.0.1 {port + 10} ConnectionRefusedError\n")
    done = net.boxed(who, script, ["--allow-net", f"localhost:{port}"])
    tap.ok(done.out == wanted, f"{who.name}: datagrams to a port of the host's loopback", done)
    done = net.boxed(who, script)
    tap.ok("host" not in done.out, f"{who.name}: which has to be allowed", done)
    for s in servers:
        s.close()


def call(net, port, text=b"x", address="127.0.0.1"):
    """Connects from the machine at home. Returns the answer, or None."""
    s = net.net.socket_in(net.net.home, socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(10)
    try:
        s.connect((address, port))
        s.sendall(text)
        s.shutdown(socket.SHUT_WR)
        return s.makefile("rb").read()
    except OSError:
        return None
    finally:
        s.close()


INSIDE = """python3 - <<'E'
import os, socket, threading
def serve(s):
    while True:
        c, _ = s.accept()
        threading.Thread(target=answer, args=(c,), daemon=True).start()
def answer(c):
    data = c.makefile("rb").read()
    c.sendall(b"inside " + data); c.close()
open("begun", "w").close()
while not os.path.exists("go"): pass
for family, address, port in ((socket.AF_INET, "127.0.0.1", 18090), (socket.AF_INET6, "::1", 18091),
                              (socket.AF_INET, "0.0.0.0", 18092)):
    s = socket.socket(family, socket.SOCK_STREAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port)); s.listen(256)
    threading.Thread(target=serve, args=(s,), daemon=True).start()
open("listens", "w").close()
while not os.path.exists("end"): pass
E"""


def test_publish(net, who):
    """Servers of the command that the machine at home can reach."""
    world = World(who)
    policy = world.profile(PROFILE.replace("{server}", SERVER4))
    argv = [who.buckle(), "run", "--profile", policy, "--publish", "18090", "--publish", "18091", "--", "sh", "-c",
            INSIDE]
    argv = net.net.argv_in(net.net.home, argv, who.uid)
    argv = [a.replace(f"--wdns={os.getcwd()}", f"--wdns={world.inside}") for a in argv]
    child = subprocess.Popen(argv, env=who.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    begun = eventually(lambda: os.path.exists(world.path("begun")))
    tap.ok(begun and call(net, 18090) in (None, b""), f"{who.name}: nobody listens, nobody answers")
    open(world.path("go"), "w", encoding="ascii").close()
    eventually(lambda: os.path.exists(world.path("listens")))
    tap.ok(call(net, 18090, b"hello") == b"inside hello", f"{who.name}: a server inside is called from outside")
    tap.ok(call(net, 18090, b"hello", "::1") == b"inside hello", f"{who.name}: by either address")
    tap.ok(call(net, 18091, b"hello") == b"inside hello", f"{who.name}: one that listens on IPv6 only")
    tap.ok(call(net, 18092) is None, f"{who.name}: a port that is not published is not reached")
    tap.ok(call(net, 18090, address=internet.HOME4) is None, f"{who.name}: only through loopback")
    large = os.urandom(4 << 20)
    tap.ok(call(net, 18090, large) == b"inside " + large, f"{who.name}: four megabytes and back")
    answers, many = [], 200
    threads = [threading.Thread(target=lambda: answers.append(call(net, 18090, b"n"))) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tap.ok(answers == [b"inside n"] * many, f"{who.name}: {many} callers, more than there are sockets",
           len([a for a in answers if a == b"inside n"]))
    open(world.path("end"), "w", encoding="ascii").close()
    out, err = child.communicate(timeout=30)
    tap.ok(child.returncode == 0 and b"denied" not in err, f"{who.name}: it ends as ever", out, err)
    tap.ok(eventually(lambda: call(net, 18090) is None), f"{who.name}: and with it the port")


def test_flags(net, who):
    done = net.boxed(who, CURL + "https://denied.test/hello", ["--allow-net", "denied.test:443"])
    tap.ok(done.out == "hello there\n", f"{who.name}: --allow-net", done)
    done = net.boxed(who, CURL + "http://denied.test/hello", ["--allow-net", "denied.test:443"])
    tap.ok(done.status != 0 and "--allow-net denied.test:80" in done.err,
           f"{who.name}: another port is denied, and the summary names the flag", done)
    done = net.boxed(who, CURL + "http://www.allowed.test/hello", ["--deny-net", "*.allowed.test"])
    tap.ok(done.status != 0 and "www.allowed.test" in done.err, f"{who.name}: --deny-net", done)


# ---- the environment and the proxies ----


ENVIRONMENT = """HTTP_PROXY=http://buckle:TOKEN@localhost:3128
HTTPS_PROXY=http://buckle:TOKEN@localhost:3128
http_proxy=http://buckle:TOKEN@localhost:3128
https_proxy=http://buckle:TOKEN@localhost:3128
ALL_PROXY=socks5h://buckle:TOKEN@localhost:1080
all_proxy=socks5h://buckle:TOKEN@localhost:1080
NO_PROXY=localhost,127.0.0.1,::1,*.local
no_proxy=localhost,127.0.0.1,::1,*.local
FTP_PROXY=socks5h://buckle:TOKEN@localhost:1080
ftp_proxy=socks5h://buckle:TOKEN@localhost:1080
GRPC_PROXY=socks5h://buckle:TOKEN@localhost:1080
grpc_proxy=socks5h://buckle:TOKEN@localhost:1080
RSYNC_PROXY=buckle:TOKEN@localhost:3128
DOCKER_HTTP_PROXY=http://buckle:TOKEN@localhost:3128
DOCKER_HTTPS_PROXY=http://buckle:TOKEN@localhost:3128
CLOUDSDK_PROXY_TYPE=http
CLOUDSDK_PROXY_ADDRESS=localhost
CLOUDSDK_PROXY_PORT=3128
CLOUDSDK_PROXY_USERNAME=buckle
CLOUDSDK_PROXY_PASSWORD=TOKEN
CLOUDSDK_CORE_PROXY_TYPE=http
CLOUDSDK_CORE_PROXY_ADDRESS=localhost
CLOUDSDK_CORE_PROXY_PORT=3128
CLAUDE_CODE_HOST_HTTP_PROXY_PORT=3128
CLAUDE_CODE_HOST_SOCKS_PROXY_PORT=1080
GIT_SSH_COMMAND=ssh -o ProxyCommand='BUCKLE connect %h %p'
"""


def test_environment(net, who):
    def environment(script, *options):
        done = net.boxed(who, script, options, way="proxy")
        found = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
        token = found.get("CLOUDSDK_PROXY_PASSWORD", "")
        return found, token, done

    expected = dict(line.split("=", 1) for line in ENVIRONMENT.splitlines())
    before = {*who.env, "CA", "PWD", "OLDPWD", "_", "SHLVL"}
    places = {"TMPDIR", "TMUX_TMPDIR", "XDG_RUNTIME_DIR", "SANDBOX_RUNTIME"}
    found, token, done = environment("env")
    found = {name: value for name, value in found.items() if name not in before | places}
    expected = {name: value.replace("TOKEN", token).replace("BUCKLE", who.buckle())
                for name, value in expected.items()}
    tap.ok(len(token) == 32 and found == expected, f"{who.name}: the environment is what it should be",
           {n: (found.get(n), expected.get(n)) for n in {*found, *expected} if found.get(n) != expected.get(n)})
    other, again, _ = environment("env")
    tap.ok(again != token, f"{who.name}: each run has a token of its own")
    done = net.boxed(who, "env", ["--env", "GIT_SSH"], way="proxy", env={"GIT_SSH": "/my/ssh", "HTTP_PROXY": "x",
                                                                        "no_proxy": "y"})
    tap.ok("GIT_SSH=/my/ssh\n" in done.out and "GIT_SSH_COMMAND" not in done.out and "HTTP_PROXY=x" not in done.out
           and "no_proxy=y" not in done.out, f"{who.name}: how git calls ssh is left to whoever said so", done)
    done = net.boxed(who, "env", way="proxy", profile="(version 1)\n(allow default)\n(deny network*)\n")
    tap.ok("proxy" not in done.out.lower(), f"{who.name}: without a way out nothing leads there", done)


def test_socks(net, who):
    """curl through SOCKS, with names and with addresses."""
    login = "login=${{ALL_PROXY#*//}}; login=${{login%@*}}; export no_proxy= NO_PROXY=; "
    ask = login + CURL + "-U $login --{how} localhost:1080 http://{host}/hello"
    done = net.boxed(who, ask.format(how="socks5-hostname", host="allowed.test"), way="proxy")
    tap.ok(done.out == "hello there\n", f"{who.name}: curl --socks5-hostname", done)
    done = net.boxed(who, ask.format(how="socks5-hostname", host="denied.test"), way="proxy")
    tap.ok(done.status != 0 and not done.out and "denied.test:80" in done.err,
           f"{who.name}: curl --socks5-hostname to a denied host", done)
    done = net.boxed(who, ask.format(how="socks5-hostname", host="allowed.test")
                     .replace("-U $login", "-U buckle:wrong"), way="proxy")
    tap.ok(done.status != 0 and not done.out, f"{who.name}: and with another token", done)
    done = net.boxed(who, ask.format(how="socks5", host=f"{SERVER4}:8080"), way="proxy")
    tap.ok(done.out == "hello there\n", f"{who.name}: curl --socks5 to an allowed address", done)


def test_proxies(net, who):
    done = talk(net, who, """
for port in (3128, 1080):
    s = to(port); s.sendall(b"GET http://allowed.test/hello HTTP/1.0\\r\\n" + BASIC + b"\\r\\n")
    print(port, all_of(s).split(b"\\r\\n\\r\\n")[1])
    s = to(port); print(port, socks(s, "allowed.test", 80)[1])
    s.sendall(b"GET /hello HTTP/1.0\\r\\nHost: allowed.test\\r\\n\\r\\n"); print(port, all_of(s).split(b"\\r\\n\\r\\n")[1])
""")
    tap.ok(done.out == "".join(f"{p} b'hello there\\n'\n{p} 0\n{p} b'hello there\\n'\n" for p in (3128, 1080)),
           f"{who.name}: either port understands HTTP and SOCKS", done)
    done = talk(net, who, """
s = to(3128)
for where in ("http://allowed.test/where", "http://four.test/where", "http://denied.test/where"):
    host = where.split("/")[2].encode()
    s.sendall(b"GET " + where.encode() + b" HTTP/1.1\\r\\nHost: " + host + b"\\r\\n" + BASIC + b"\\r\\n")
    text = head(s); n = int(text.lower().split("content-length: ")[1].split("\\r")[0])
    print(text.split()[1], s.recv(n, socket.MSG_WAITALL).decode().split()[0], "x-buckle-denied" in text.lower())
""")
    tap.ok(done.out == "200 allowed.test False\n200 four.test False\n403 buckle: True\n" and
           "denied.test:80" in done.err, f"{who.name}: one connection, several hosts, each asked about", done)
    done = talk(net, who, """
s = to(3128); s.sendall(b"CONNECT denied.test:443 HTTP/1.1\\r\\nHost: denied.test:443\\r\\n" + BASIC + b"\\r\\n")
print(all_of(s).decode())
s = to(3128); s.sendall(b"GET http://allowed.test/hello HTTP/1.0\\r\\n\\r\\n"); print(head(s).split()[1])
s = to(1080); print(login(s, b"wrong" * 4)[1] != 0)
s = to(1080); print(socks(s, "allowed.test", 53, command=3)[1], socks(to(1080), "allowed.test", 53, command=2)[1])
""")
    lines = done.out.splitlines()
    tap.ok(" 403 " in lines[0] and "X-Buckle-Denied: network-outbound; rule=" in done.out and
           "buckle: denied.test:443 is denied" in done.out,
           f"{who.name}: a refusal has words for people and a field for programs", done)
    tap.ok(lines[-3:-1] == ["407", "True"], f"{who.name}: without the token nobody is served", done)
    tap.equal(lines[-1:], ["7 7"], f"{who.name}: SOCKS: no datagrams and no listening, and it says so")
    done = talk(net, who, """
body = b"5\\r\\nhello\\r\\n6\\r\\n there\\r\\n0\\r\\n\\r\\n"
for where in (b"http://allowed.test", b""):
    s = to(3128) if where else socket.create_connection(("allowed.test", 80))
    s.sendall(b"POST " + where + b"/post HTTP/1.1\\r\\nHost: allowed.test\\r\\n" + (BASIC if where else b"") +
              b"Transfer-Encoding: chunked\\r\\nConnection: close\\r\\n\\r\\n")
    for i in range(len(body)):
        s.sendall(body[i:i + 1])
    print(all_of(s).split(b"\\r\\n\\r\\n")[1])
""")
    tap.ok(done.out == "b'posted\\n'\n" * 2, f"{who.name}: chunks, byte by byte", done)


def test_upgrade(net, who):
    """An upgraded protocol passes once the server has agreed."""
    if not hasattr(net, "upgrading"):
        net.upgrading = net.net.listen(SERVER4, 8090)

        def serve():
            while True:
                client, _ = net.upgrading.accept()
                head = b""
                while b"\r\n\r\n" not in head:
                    head += client.recv(1)
                agreed = b"upgrade: echo" in head.lower()
                client.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst "
                               if agreed else b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n")
                while agreed and (data := client.recv(4096)):
                    client.sendall(data)
                client.close()

        threading.Thread(target=serve, daemon=True).start()
    done = talk(net, who, """
for where in (b"http://allowed.test:8090", b""):
    s = to(3128) if where else socket.create_connection(("allowed.test", 8090))
    s.sendall(b"GET " + where + b"/ws HTTP/1.1\\r\\nHost: allowed.test:8090\\r\\n" + (BASIC if where else b"") +
              b"Connection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n")
    status = head(s).split()[1]
    s.sendall(b"\\0binary GET / HTTP/1.1\\r\\nHost: denied.test\\r\\n\\r\\n"); s.shutdown(socket.SHUT_WR)
    print(status, all_of(s))
""")
    tap.ok(done.out == "101 b'first \\x00binary GET / HTTP/1.1\\r\\nHost: denied.test\\r\\n\\r\\n'\n" * 2,
           f"{who.name}: what follows an upgrade is the two sides' own", done)


def test_reverse(net, who):
    """Reverse lookups: known addresses give their names; others cause no query."""
    before = len(net.net.asked)
    done = net.boxed(who, """python3 - <<'E'
import socket
for family in (socket.AF_INET, socket.AF_INET6):
    at = socket.getaddrinfo("www.allowed.test", 80, family)[0][4]
    print(socket.getnameinfo(at, socket.NI_NAMEREQD)[0])
try:
    print(socket.gethostbyaddr("203.0.113.10"))
except OSError as e:
    print("nobody")
E""")
    tap.ok(done.out == "www.allowed.test\n" * 2 + "nobody\n" and len(net.net.asked) == before,
           f"{who.name}: names of addresses", net.net.asked[before:], done)
    done = net.boxed(who, "getent hosts denied.test >/dev/null && echo found; " + CURL + "http://denied.test/hello",
                     ["--late-names"])
    tap.ok(done.out == "found\n" and "denied.test:80" in done.err and "denied.test" not in net.net.asked[before:],
           f"{who.name}: --late-names: found by nobody but the command, and refused", done)


# ---- datagrams ----

# sends, and prints the answer and its sender, or the error; "+": from an unconnected socket
ECHO = '''python3 - <<'E'
import socket
def told(words):
    print(*words, flush=True)
def ask(host, port, family, text=b"ping", connected=True):
    try:
        at = socket.getaddrinfo(host, port, family, socket.SOCK_DGRAM)[0][4]
    except OSError:
        return told((host, "not found"))
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(4)
    try:
        if connected:
            s.connect(at); s.send(text); told((host, port, s.recv(70000).decode()))
        else:
            s.sendto(text, at); got, who = s.recvfrom(70000)
            told((host, port, got.decode(), "+" if who[:2] == at[:2] else who))
    except OSError as e:
        told((host, port, type(e).__name__))
{script}
E'''


def echo_servers(net):
    if hasattr(net, "echo"):
        return
    net.echo = []

    def serve(s):
        while True:
            data, who = s.recvfrom(70000)
            net.echo.append(data)
            s.sendto(b"got " + (data if len(data) < 100 else b"%d" % len(data)), who)

    for address in (SERVER4, SERVER6, OTHER4, internet.OTHER6):
        for port in (9999, 443):
            s = net.net.listen(address, port, socket.SOCK_DGRAM)
            threading.Thread(target=serve, args=(s,), daemon=True).start()


def test_datagrams(net, who):
    echo_servers(net)

    def ask(script, *options):
        return net.boxed(who, ECHO.replace("{script}", script), options)

    done = ask("for f in (socket.AF_INET, socket.AF_INET6):\n"
               "    ask('allowed.test', 9999, f); ask('allowed.test', 9999, f, b'x', False)\n"
               "    ask('allowed.test', 9999, f, b'a' * 30000); ask('allowed.test', 9999, f, b'')")
    tap.ok(done.out == 2 * ("allowed.test 9999 got ping\nallowed.test 9999 got x +\n"
                            "allowed.test 9999 got 30000\nallowed.test 9999 got \n"),
           f"{who.name}: datagrams to an allowed host and back, in both families", done)
    done = net.boxed(who, "true", ["--dry-run"])
    tap.ok("datagrams too" in " ".join(done.out.split()), f"{who.name}: the plan says so", done)
    done = ask("ask('four.test', 9999, socket.AF_INET6); ask('six.test', 9999, socket.AF_INET)")
    tap.ok(done.out == "four.test 9999 got ping\nsix.test 9999 got ping\n",
           f"{who.name}: to hosts of the other family", done)
    before = len(net.echo)
    done = ask(f"ask('{OTHER4}', 9999, socket.AF_INET); "
               f"ask('{internet.OTHER6}', 9999, socket.AF_INET6); ask('broken.test', 9999, socket.AF_INET)")
    tap.ok(done.out.count("ConnectionRefusedError") == 3 and len(net.echo) == before,
           f"{who.name}: datagrams that are not allowed are refused at once", done)
    tap.ok(f"{OTHER4}:9999" in done.err and f"[{internet.OTHER6}]:9999" in done.err and
           "broken.test:9999" in done.err, f"{who.name}: and reported, with name and port", done)
    done = ask(f"ask('{OTHER4}', 9999, socket.AF_INET); ask('{OTHER4}', 443, socket.AF_INET)",
               "--allow-net", f"{OTHER4}:9999")
    tap.ok(done.out == f"{OTHER4} 9999 got ping\n{OTHER4} 443 ConnectionRefusedError\n",
           f"{who.name}: an address and port that are allowed, and only that port", done)
    done = ask("ask('allowed.test', 9998, socket.AF_INET)")
    tap.ok(done.out == "allowed.test 9998 ConnectionRefusedError\n" and "denied" not in done.err,
           f"{who.name}: a closed port over there is one here", done)
    for name in ("rebind.test", "meta.test", "own.test"):
        done = ask(f"ask('{name}', 9999, socket.AF_INET)")
        tap.ok("ConnectionRefusedError" in done.out and f"{name}:9999 (" in done.err,
               f"{who.name}: datagrams to {name} are refused and reported", done)
    before = len(net.echo)
    done = ask("ask('allowed.test', 443, socket.AF_INET, bytes([0xc3, 0, 0, 0, 1]) + bytes(1200))")
    tap.ok("ConnectionRefusedError" in done.out and "QUIC" in done.err and len(net.echo) == before,
           f"{who.name}: QUIC, which hides its names, is refused and reported", done)
    done = ask("s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('0.0.0.0', 9999))\n"
               "ask('allowed.test', 9999, socket.AF_INET)\n"
               "c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); c.sendto(b'own', ('127.0.0.1', 9999))\n"
               "s.settimeout(4); told((s.recv(100),))")
    tap.ok(done.out == "allowed.test 9999 got ping\nb'own'\n",
           f"{who.name}: the command's own datagram server on the same port", done)


def test_many_flows(net, who):
    """More flows than the gate's table holds: it drops the oldest, and the newest work."""
    echo_servers(net)
    script = ("held = []\nat = socket.getaddrinfo('allowed.test', 9999, socket.AF_INET)[0][4]\n"
              "for i in range(3000):\n"
              "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', at); s.close()\n"
              "for i in range(3): ask('allowed.test', 9999, socket.AF_INET)")  # one may be lost in a full buffer
    done = net.boxed(who, ECHO.replace("{script}", script))
    tap.ok("allowed.test 9999 got ping\n" in done.out, f"{who.name}: 3,000 flows of datagrams", done)


# ---- a parent proxy ----


def test_upstream(net, who):
    if not hasattr(net, "parent"):
        net.parent = net.net.proxy(internet.ROUTER4, 3129)
        net.strict_parent = net.net.proxy(internet.ROUTER4, 3130, "me:secret")

    def via(url, script, *more, way="direct"):
        net.parent.clear()
        net.strict_parent.clear()
        before = len(net.net.asked)
        done = net.boxed(who, script, ["--upstream", url.replace("HOST", internet.ROUTER4), *more],
                         way=way)
        return done, [*net.parent, *net.strict_parent], net.net.asked[before:]

    fetch = CURL + "https://allowed.test/hello http://four.test/hello"
    for url in ("http://HOST:3129", "socks5://HOST:3129", "http://me:secret@HOST:3130",
                "socks5://me:secret@HOST:3130"):
        for way in WAYS:
            done, parent, asked = via(url, fetch, way=way)
            tap.ok(done.out == "hello there\n" * 2 and parent == ["allowed.test:443", "four.test:80"]
                   and not asked, f"{who.name}: through {url.split('@')[-1]} ({way}), by name", parent,
                   asked, done)
    done, parent, _ = via("http://HOST:3129", CURL + "http://denied.test/hello")
    tap.ok(done.status != 0 and not parent and "denied.test" in done.err,
           f"{who.name}: denied hosts are not asked for upstream", parent, done)
    done, parent, _ = via("http://HOST:3129", CURL + f"http://{SERVER4}:8080/hello")
    tap.ok(done.out == "hello there\n" and parent == [f"{SERVER4}:8080"],
           f"{who.name}: an address through the parent", parent, done)
    done, parent, _ = via("http://HOST:3129", CURL + "http://169.254.169.254/", "--allow-net", "*")
    tap.ok(done.status != 0 and not parent and "169.254.169.254" in done.err,
           f"{who.name}: not where no name may lead", parent, done)
    for url in ("http://HOST:3130", "socks5://HOST:3130", "http://HOST:3131", "http://me:no@HOST:3130",
                "socks5://me:no@HOST:3130", "http://HOST:443"):
        done, parent, _ = via(url, CURL + "http://allowed.test/hello")
        tap.ok(done.status != 0 and "hello" not in done.out and not parent,
               f"{who.name}: without {url} nothing is reached", parent, done)
    if rsync_server(net):
        done, parent, _ = via("socks5://HOST:3129", "rsync -q rsync://allowed.test/site/hello . && cat hello")
        tap.ok(done.out == "hello there\n" and parent == ["allowed.test:873"],
               f"{who.name}: a server that speaks first, through the parent", parent, done)
    echo_servers(net)
    done, _, _ = via("http://HOST:3129", ECHO.replace("{script}", "ask('allowed.test', 9999, socket.AF_INET)"))
    tap.ok("ConnectionRefusedError" in done.out and "parent proxy" in done.err,
           f"{who.name}: datagrams are refused and reported", done)
    done, _, _ = via("ftp://x", "true")
    tap.ok(done.status == 2 or "not the URL of a proxy" in done.err, f"{who.name}: no proxy's address", done)
    done = net.boxed(who, "true", ["--upstream", "http://p:1"], profile="(version 1)\n(allow default)\n")
    tap.ok(done.status != 0 and "not filtered" in done.err,
           f"{who.name}: a network that is not filtered does not lead there", done)


# ---- records ----

# queries any resolver address, and prints the code, truncation, and each record's data
RESOLVE = """python3 - <<'E'
import socket, struct
def skip(d, at):
    while d[at]:
        if d[at] >= 192:
            return at + 2
        at += 1 + d[at]
    return at + 1
def ask(name, kind, tcp=False, edns=False):
    q = struct.pack(">HHHHHH", 77, 0x100, 1, 0, 0, edns) + b"".join(
        bytes([len(l)]) + l.encode() for l in name.split(".")) + struct.pack(">BHH", 0, kind, 1)
    q += b"\\0" + struct.pack(">HHIH", 41, 1232, 0, 0) if edns else b""
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM); s.settimeout(8)
    s.connect(("{server}", 53))
    s.send((struct.pack(">H", len(q)) if tcp else b"") + q)
    if tcp:
        n = struct.unpack(">H", s.recv(2, socket.MSG_WAITALL))[0]
        d = s.recv(n, socket.MSG_WAITALL)
    else:
        d = s.recv(65535)
    ident, flags, nq, n = struct.unpack(">HHHH", d[:8])
    at, found = skip(d, 12) + 4, []
    for i in range(n):
        at = skip(d, at)
        size = struct.unpack(">H", d[at + 8:at + 10])[0]
        found.append(d[at + 10:at + 10 + size]); at += 10 + size
    print(name, flags & 15, "cut" if flags & 0x200 else "whole", len(d) <= 512, *(f.hex() for f in found))
{script}
E"""


def test_records(net, who, server="192.0.2.53"):
    def ask(script):
        before = len(net.net.asked)
        done = net.boxed(who, RESOLVE.replace("{script}", script).replace("{server}", server))
        return done, net.net.asked[before:]

    def answers(name, kind):
        data = (f.hex() for f in internet.RECORDS[(name, kind)])
        return " ".join([name, "0 whole True", *data]) + "\n"

    kinds = (("_db._tcp.allowed.test", 33), ("_none._tcp.allowed.test", 33), ("allowed.test", 15),
             ("allowed.test", 16))
    for options in ("", ", tcp=True", ", edns=True"):
        done, _ = ask("\n".join(f"ask('{name}', {kind}{options})" for name, kind in kinds))
        tap.ok(done.out == "".join(answers(*k) for k in kinds),
               f"{who.name}: SRV, MX and TXT of allowed names{options}", done)
    done, _ = ask("ask('large.allowed.test', 16); ask('large.allowed.test', 16, tcp=True)")
    lines = done.out.splitlines()
    tap.ok(len(lines) == 2 and "0 cut True" in lines[0] and "0 whole False" in lines[1] and
           lines[1].split()[4:] == [f.hex() for f in internet.RECORDS[("large.allowed.test", 16)]],
           f"{who.name}: what is too large for a datagram comes over a connection", done)
    done, asked = ask("ask('denied.test', 16); ask('_db._tcp.denied.test', 33); "
                      "ask('secret._db.denied.test', 16); ask('nowhere.six.test', 16)")
    tap.ok([l.split()[1] for l in done.out.splitlines()] == ["3"] * 4 and not asked and
           "denied.test" in done.err, f"{who.name}: records of denied names are not asked for, and reported",
           asked, done)
    done, _ = ask("ask('six.test', 16); ask('_x._tcp.six.test', 33)")
    tap.ok([l.split()[1:3] for l in done.out.splitlines()] == [["0", "whole"], ["3", "whole"]],
           f"{who.name}: records that are not there", done)


TESTS = [test_clients, test_families, test_addresses, test_settings, test_special, test_large, test_same_port,
         test_own_servers, test_local_ports, test_local_datagrams, test_publish, test_flags, test_environment,
         test_proxies, test_socks, test_upgrade, test_reverse, test_datagrams, test_many_flows, test_records,
         test_upstream]

if __name__ == "__main__":
    sys.exit(netbox.main(TESTS))
