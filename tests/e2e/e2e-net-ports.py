#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The network filtered by name where the kernel cannot redirect packets: the gate listens on single
ports. Prints TAP.

On those ports, the guarantees are the same as with redirection.
"""

import importlib
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import netbox
import tap
from netbox import CURL
from processes import command_name, descendants

net_tests, dial_tests, attack_tests = (importlib.import_module(name)
                                       for name in ("e2e-net", "e2e-dial", "e2e-attacks"))

PRETEND = "nftables=0"
WELL_KNOWN = {22, 25, 80, 443, 465, 587, 873, 993, 9418}  # docs/linux.md

# names no port
HOSTS = """(version 1)
(import "default.sb")
(allow network-outbound (domain "allowed.test") (domain "four.test"))
"""

CONNECT = """python3 - <<'E'
import errno, socket
try:
    s = socket.socket(socket.AF_INET, {kind})
    s.settimeout(5)
    s.connect(({host!r}, {port}))
    s.send(b"x")
    print("heard", s.recv(9))
except OSError as e:
    print(errno.errorcode.get(e.errno, e))
E"""


def connect(host, port, kind="socket.SOCK_STREAM"):
    return CONNECT.format(host=host, port=port, kind=kind)


def received(script):
    """Refusals of the kernel itself are reported a moment later."""
    return script + "\nsleep 0.5"


def test_other_ports(net, who):
    """nginx listens on 8080, which no rule names."""
    for host, port in (("four.test", 8080), ("192.0.2.7", 7777)):
        done = net.boxed(who, received(connect(host, port)), profile=HOSTS)
        tap.ok(done.out == "ECONNREFUSED\n" and f"{host}:{port}" in done.err,
               f"{who.name}: a port that is not listened on is refused, and reported", done)
    done = net.boxed(who, received(connect("2001:db8::7", 7777).replace("AF_INET,", "AF_INET6,")), profile=HOSTS)
    tap.ok(done.out == "ECONNREFUSED\n" and "[2001:db8::7]:7777" in done.err, f"{who.name}: by IPv6 as well", done)
    done = net.boxed(who, received(connect("four.test", 993) + "\n" + connect("127.0.0.1", 7777)), profile=HOSTS)
    tap.ok(":7777" not in done.err and ":993" not in done.err,
           f"{who.name}: what is heard, and what is loopback's own, is not reported as refused", done)
    done = net.boxed(who, CURL + "http://four.test:8080/hello", way="proxy", profile=HOSTS)
    tap.ok(done.out == "hello there\n", f"{who.name}: which a proxy's client reaches", done)
    named = HOSTS.replace('"four.test"', '"four.test:8080"')
    done = net.boxed(who, CURL + "http://four.test:8080/hello", profile=named)
    tap.ok(done.out == "hello there\n", f"{who.name}: and everybody where a rule names it", done)
    done = net.boxed(who, CURL + "http://allowed.test:8079/hello", profile=HOSTS + """
(deny network-outbound (domain "allowed.test:8079"))""")
    tap.ok(done.status != 0 and "allowed.test:8079" in done.err,
           f"{who.name}: one that a rule denies is denied, and reported", done)


def test_datagrams(net, who):
    """Datagrams never reach the gate, whether allowed or not."""
    net_tests.echo_servers(net)
    before = len(net.echo)
    for host in ("allowed.test", "192.0.2.7"):
        done = net.boxed(who, received(connect(host, 9999, "socket.SOCK_DGRAM")))
        tap.ok(done.out == "ECONNREFUSED\n" and len(net.echo) == before and f"{host}:9999" in done.err,
               f"{who.name}: datagrams to {host} are refused, and reported", done)
    done = net.boxed(who, received(connect("127.0.0.1", 9999, "socket.SOCK_DGRAM")))
    tap.ok(done.out == "ECONNREFUSED\n" and ":9999" not in done.err, f"{who.name}: loopback's are nobody's affair", done)


LATE = """python3 - <<'E'
import socket, time
for i in range(300):
    try:
        s = socket.create_connection(("four.test", {port}), timeout=5)
        s.sendall(b"GET /hello HTTP/1.0\\r\\nHost: four.test:{port}\\r\\n\\r\\n")
        print(i > 0, s.makefile().read().splitlines()[-1])
        break
    except OSError:
        open("tried", "w").close()
        time.sleep(0.1)
E"""


def test_late(net, who):
    """A rule added while the command runs also opens its port."""
    going = net.start(who, LATE.format(port=8080), ["--grantable"], profile=HOSTS)
    going.await_file("tried")
    run = [p for p in descendants(going.child.pid) + [going.child.pid] if command_name(p) == "buckle"]
    grant = [who.buckle(), "grant", "--run", str(min(run)), "--net", "four.test:8080"] if run else ["false"]
    output = netbox.Runner(who).run(net.net.argv_in(net.net.home, grant, who.uid), going.world.inside, 20)
    done = going.end()
    tap.ok(output.status == 0 and done.out == "True hello there\n",
           f"{who.name}: a port that is granted later leads to the gate", output, done)


def test_loopback(net, who):
    """A rule about all of loopback means the sandbox's own, also on the gate's ports."""
    host = dial_tests.Counter(dial_tests.listen(net, net.net.home, ("127.0.0.1", 443)))
    rules = HOSTS + '(allow network-outbound (remote ip "localhost:*"))'
    for at in ("127.0.0.1", "127.9.9.9", "0.0.0.0", "198.18.0.1"):
        done = net.boxed(who, connect(at, 443), profile=rules)
        tap.ok(done.status == 0 and "heard b'x'" not in done.out and host.count == 0,
               f"{who.name}: {at}:443 does not lead to the host's", done)
    done = net.boxed(who, connect("127.0.0.1", 443), profile=HOSTS, options=["--allow-net", "localhost:443"])
    tap.ok("heard b'x'" in done.out and host.count == 1, f"{who.name}: unless a rule opens that port", done)
    host.end()
    bind = "python3 -c \"import socket; socket.create_server(('127.0.0.1', {})); print('bound')\""
    done = net.boxed(who, bind.format(9418), profile=HOSTS)
    tap.ok("Address already in use" in done.err, f"{who.name}: a port of the gate's is taken inside", done)
    done = net.boxed(who, bind.format(9418), ["--publish", "9418"], profile=HOSTS)
    tap.ok(done.out == "bound\n", f"{who.name}: but not when it is published", done)
    done = net.boxed(who, bind.format(8080), profile=HOSTS)
    tap.ok(done.out == "bound\n", f"{who.name}: others are free", done)


def test_reported(net, who):
    done = net.boxed(who, "true", ["--dry-run"])
    text = " ".join(done.out.split())
    found = re.search(r"no nftables, .* only at these ports, .*: ([0-9, ]+)", text)
    ports = {80, 8080} | WELL_KNOWN  # the profile names two
    tap.ok(found and sorted(map(int, found[1].split(","))) == sorted(ports) and "datagrams are refused" in text,
           f"{who.name}: the plan says what is weaker", found, done)


ASK6 = """python3 - <<'E'
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.settimeout(5)
s.connect(("2001:db8::53", 53))
question = bytes.fromhex("123401000001000000000000") + b"\\x07allowed\\x04test\\0\\0\\1\\0\\1"
s.send(question)
answer = s.recv(512)
print(answer[:2] == question[:2] and answer[7] == 1 and answer[-4:-2] == b"\\xc6\\x12")
E"""


def test_records(net, who):
    """The DNS stub answers queries to any name server."""
    done = net.boxed(who, "grep nameserver /etc/resolv.conf")
    net_tests.test_records(net, who, done.out.split()[1])
    net_tests.test_records(net, who)
    done = net.boxed(who, ASK6)
    tap.ok(done.out == "True\n", f"{who.name}: one at an IPv6 address as well", done)


def test_refused(net, who):
    """Not pretended: a filter refuses the netlink sockets that set up rules."""
    dial_tests.move(who, "refused by the kernel", "no-netfilter")
    for test in (test_reported, test_other_ports, net_tests.test_families):
        test(net, who)


TESTS = (test_other_ports, test_datagrams, test_late, test_loopback, test_reported, test_records,
         net_tests.test_clients, net_tests.test_families, net_tests.test_addresses, net_tests.test_special,
         net_tests.test_own_servers, net_tests.test_local_ports, net_tests.test_publish,
         attack_tests.test_fronting, attack_tests.test_smuggling, attack_tests.test_connect_to_loopback,
         attack_tests.test_raw_addresses, attack_tests.test_rebinding, attack_tests.test_names,
         attack_tests.test_other_roads, attack_tests.test_inherited, test_refused)

if __name__ == "__main__":
    os.environ["BUCKLE_PRETEND"] = PRETEND
    sys.exit(netbox.main(TESTS))
