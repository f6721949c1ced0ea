#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loopback as people expect it: servers of this machine and of the command, and ports that are taken. Prints TAP."""

import json
import os
import shutil
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from world import World, people

INBOUND = """(version 1)
(allow default)
(deny network*)
(allow network-bind network-inbound (local ip "localhost:%d"))
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def holder(port=0):
    s = socket.socket()
    s.bind(("127.0.0.1", port))
    s.listen()
    return s


# ---- what an endpoint says about its socket ----


CONNECT = """import socket
for family, host, port in ((socket.AF_INET, "127.0.0.1", {four}), (socket.AF_INET6, "::1", {six})):
    try:
        print(socket.create_connection((host, port)).recv(9).decode())
    except OSError:
        print("no")
"""


def greeter(family, host):
    """A server of this machine that greets by its family."""
    server = socket.create_server((host, 0), family=family)

    def serve():
        while True:
            server.accept()[0].sendall(b"four" if family == socket.AF_INET else b"six")
    threading.Thread(target=serve, daemon=True).start()
    return server.getsockname()[1]


def test_sockets(who):
    """A rule about a socket's family, type or protocol holds for connections, and its denial is reported."""
    world = World(who)
    code = CONNECT.format(four=greeter(socket.AF_INET, "127.0.0.1"), six=greeter(socket.AF_INET6, "::1"))
    for denied, expected in (("(socket-domain AF_INET)", "no six"), ("(socket-domain AF_INET6)", "four no"),
                             ("(require-all (socket-domain AF_INET) (socket-protocol 6))", "no six"),
                             ("(socket-type SOCK_STREAM)", "no no"), ("(socket-protocol 17)", "four six")):
        profile = world.profile(f"(version 1)(allow default)(deny network-outbound {denied})")
        done = who.boxed(["python3", "-c", code], world, ["--profile", profile])
        tap.ok(done.out.split() == expected.split() and done.err.count("  connect ") == expected.count("no"),
               f"{who.name}: deny {denied}: {expected}", done)


# ---- ports of this machine that lead inside ----


def test_in_a_row(who):
    """A run leaves its port free, and the next one gets it."""
    world, port = World(who), free_port()
    options = ["--profile", world.profile(INBOUND % port)]
    failed = []
    for _ in range(300):
        done = who.boxed(["true"], world, options)
        if done.status != 0 or done.err:
            failed.append(done)
            continue
        try:
            holder(port).close()
        except OSError as error:
            failed.append(error)
    tap.ok(not failed, f"{who.name}: 300 runs in a row, {len(failed)} without the port", *failed[:3])


def test_taken(who):
    """A port that another program uses costs the command nothing but the callers from this machine."""
    serve = ("python3 -c 'import socket\n"
             "s = socket.create_server((\"127.0.0.1\", {port}))\n"
             "c = socket.create_connection((\"127.0.0.1\", {port})); s.accept()[0].sendall(b\"inside\"); print(c.recv(9))'")
    world = World(who)
    with holder() as taken:
        port = taken.getsockname()[1]
        profile = world.profile(INBOUND % port)
        done = who.boxed(["sh", "-c", serve.format(port=port)], world, ["--profile", profile])
        tap.ok(done.status == 0 and done.out == "b'inside'\n", f"{who.name}: the command goes on and serves itself", done)
        tap.ok(f"localhost:{port} (in use on this machine" in done.err and done.err.count("\n") == 2 and
               "profile.sb:4" in done.err and "no rule" not in done.err, f"{who.name}: and one line says so", done)
        done = who.boxed(["true"], world, ["--publish", str(port)])
        tap.ok(done.status == 0 and "in use" in done.err, f"{who.name}: the flag does the same", done)
    port = free_port()
    profile = world.profile(INBOUND % port)
    first = who.start([who.buckle(), "run", "--profile", profile, "--", "sh", "-c", "touch up; sleep 20"], world.inside)
    while not os.path.exists(world.path("up")) and first.poll() is None:
        pass
    done = who.boxed(["true"], world, ["--profile", profile])
    tap.ok(done.status == 0 and f"localhost:{port} (in use" in done.err, f"{who.name}: another sandbox has it", done)
    first.kill()
    first.communicate()


# ---- servers of this machine ----


class Server:
    """Answers each connection with a word, on this machine's loopback."""

    def __init__(self, word, address="127.0.0.1", port=0):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.create_server((address, port), family=family)
        self.port, self.word = self.socket.getsockname()[1], word
        self.calls = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.calls += 1
            client.sendall(self.word.encode())
            client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


ONE_PORT = """(version 1)
(allow default)
(deny network-outbound (remote ip "*:25"))
"""

# each call prints what it read, or the error's name
CALLS = """python3 - <<'E'
import errno, select, socket
def call(host, port, slow=False):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if slow:
            s.setblocking(False)
            err = s.connect_ex((host, port))
            if err == errno.EINPROGRESS:
                select.select([], [s], [], 5)
                err = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if err:
                raise OSError(err, "")
            s.setblocking(True)
        else:
            s.connect((host, port))
        s.settimeout(5)
        print(s.recv(99).decode() or "end")
    except OSError as e:
        print(errno.errorcode.get(e.errno, e))
    return s
{script}
E"""


def called(who, world, script, options):
    done = who.boxed(["sh", "-c", CALLS.replace("{script}", script)], world, options)
    return done.out.split(), done


def settings_of(world, **network):
    path = os.path.join(world.top, "settings.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({"network": network}, f)
    return ["--settings", path]


# without packet rules, without handing over, where sockets cannot be taken
HOSTS = {"": {}, " (no nftables)": {"BUCKLE_PRETEND": "nftables=0"}, " (no tproxy)": {"BUCKLE_PRETEND": "nft_tproxy=0"},
         " (no pidfd_getfd)": {"BUCKLE_PRETEND": "pidfd_getfd=0"}}


def test_reach(who):
    world = World(who)
    ways = {"localhost:*": ["--allow-net", "localhost:*"], "localhost": ["--allow-net", "localhost"],
            "allowLocalBinding": settings_of(world, allowLocalBinding=True),
            "one port denied": ["--profile", world.profile(ONE_PORT)]}
    with Server("four") as four, Server("six", "::1") as six, Server("two", "127.0.0.2") as two:
        script = (f"for slow in (False, True):\n"
                  f"    call('127.0.0.1', {four.port}, slow); call('::1', {six.port}, slow); call('127.0.0.1', {six.port}, slow)\n"
                  f"    call('127.0.0.2', {two.port}, slow); call('127.0.0.1', {free_port()}, slow)\n"
                  f"    call('0.0.0.0', {four.port}, slow); call('::ffff:127.0.0.1', {four.port}, slow)\n")
        expected = ["four", "six", "six", "two", "ECONNREFUSED", "four", "four"] * 2
        for name, options in ways.items():
            got, done = called(who, world, script, options)
            tap.ok(got == expected and not done.err, f"{who.name}: {name}: servers of this machine, and closed ports", done)
        for host, pretend in HOSTS.items():
            who.env.update(pretend)
            got, done = called(who, world, script, ways["localhost:*"])
            tap.ok(got == expected and not done.err, f"{who.name}: localhost:*{host}", done)
            for name in pretend:
                del who.env[name]
    with Server("outside") as host:
        script = (f"s = socket.create_server(('127.0.0.1', {host.port}))\n"
                  f"c = socket.create_connection(('127.0.0.1', {host.port})); s.accept()[0].sendall(b'inside'); print(c.recv(9))\n"
                  f"s.close(); call('127.0.0.1', {host.port})")
        got, done = called(who, world, script, ways["localhost:*"])
        tap.ok(got == ["b'inside'", "outside"], f"{who.name}: a server inside comes first, at the same port", done)


def test_programs(who):
    world = World(who)
    with Server("HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello") as host:
        url = f"http://localhost:{host.port}/"
        for name, script in (("curl", f"curl -sS {url}"), ("wget", f"wget -qO- {url}"),
                             ("node", f"node -e 'require(\"http\").get(\"{url}\", r => r.pipe(process.stdout))'"),
                             ("python3", f"python3 -c 'import urllib.request as u; print(u.urlopen(\"{url}\").read().decode(), end=\"\")'"),
                             ("nc", f"nc -z 127.0.0.1 {host.port} && printf hello")):
            if not shutil.which(name):
                continue
            done = who.boxed(["sh", "-c", script], world, ["--allow-net", "localhost:*"])
            tap.ok(done.out == "hello", f"{who.name}: {name} calls a server of this machine", done)


def test_limits(who):
    """A rule opens what it says, and the rest is reported."""
    world = World(who)
    with Server("one") as one, Server("other") as other, Server("two", "127.0.0.2") as two, Server("six", "::1") as six:
        everything = "; ".join(f"call('{host}', {port}, {slow})" for host, port in
                               (("127.0.0.1", other.port), ("127.0.0.2", two.port), ("::1", six.port),
                                ("::ffff:127.0.0.1", other.port), ("0.0.0.0", other.port), ("::", six.port))
                               for slow in (False, True))
        def refused(options, name):
            before = other.calls + two.calls + six.calls
            got, done = called(who, world, everything, options)
            tap.ok(set(got) <= {"ECONNREFUSED", "EPERM", "ECONNRESET", "end"} and len(got) == 12 and
                   other.calls + two.calls + six.calls == before,
                   f"{who.name}: {name}: no other port or address", got, done)
            return done

        done = refused([], "the default profile")
        tap.ok(f"127.0.0.1:{other.port}" in done.err and f"--allow-net 127.0.0.1:{other.port}" in done.err,
               f"{who.name}: a server of this machine that was refused is reported, with the flag", done)
        done = refused(["--allow-net", f"localhost:{one.port}"], "localhost with one port")
        tap.ok(f"127.0.0.1:{other.port}" in done.err and "not among the allowed" in done.err,
               f"{who.name}: also beside one that is allowed", done)
        refused(["--allow-net", "example.test"], "a host")
        refused(["--allow-net", "*"], "every host")
        done = who.boxed(["sh", "-c", f"curl -sS -m 5 --noproxy '' http://localhost:{other.port}/; "
                          f"curl -sS -m 5 --noproxy '' -p http://127.0.0.1:{other.port}/"], world, ["--allow-net", "*"])
        tap.ok(other.calls == 0 and "other" not in done.out and "loopback" in done.err,
               f"{who.name}: every host: not through the proxies either", done)
        refused(settings_of(world, allowLocalPorts=[one.port]), "allowLocalPorts")
        refused(["--allow-net", "localhost:*", "--deny-net", "localhost"], "all denied again")
        refused(["--allow-net", "localhost:*", "--deny-net", f"localhost:{other.port}", "--deny-net",
                 f"localhost:{two.port}", "--deny-net", f"localhost:{six.port}"], "each denied again")
        got, done = called(who, world, f"call('127.0.0.2', {two.port}); call('127.0.0.1', {two.port})",
                           ["--allow-net", f"127.0.0.1:{two.port}"])
        tap.ok("two" not in got, f"{who.name}: a rule for one loopback address opens no other", done)
        got, done = called(who, world, f"call('127.0.0.1', 64057); call('127.0.0.1', {one.port})", ["--allow-net", "localhost:*"])
        tap.ok(got[-1:] == ["one"] and got[0] in ("end", "ECONNRESET", "timed", "ETIMEDOUT"),
               f"{who.name}: the gate serves no connection that the judge did not announce", done)


# ---- servers of the command ----


def own_address():
    """An address of this machine that is not loopback, or None."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("192.0.2.1", 9))
            return s.getsockname()[0]
    except OSError:
        return None


def answer_of(address, port, seconds=10):
    """What a server says within this time, or None."""
    end = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection((address, port), timeout=5) as s:
                if data := s.recv(99):
                    return data.decode()
        except OSError:
            pass
        if time.monotonic() > end:
            return None
        time.sleep(0.05)


def is_free(port, seconds=5):
    """Whether a server can listen there, as servers do: connections of the last one may still be closing."""
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return True
        except OSError:
            if time.monotonic() > end:
                return False
        time.sleep(0.1)


SERVE = """import os, socket, sys, time
s = socket.socket(); s.bind((sys.argv[2], int(sys.argv[1]))); s.listen()
open("port", "w").write(str(s.getsockname()[1])); os.rename("port", "up")
end = time.monotonic() + 60
s.settimeout(0.1)
while not os.path.exists("stop") and time.monotonic() < end:
    try:
        s.accept()[0].sendall(b"inside")
    except TimeoutError:
        pass
s.close()
while not os.path.exists("leave") and time.monotonic() < end:
    time.sleep(0.05)
"""


def test_called(who):
    for bind in ("127.0.0.1", "0.0.0.0"):
        for number in (free_port(), 0):
            world = World(who)
            child = who.start([who.buckle(), "run", *settings_of(world, allowLocalBinding=True), "--", "python3", "-c",
                               SERVE, str(number), bind], world.inside)
            while not os.path.exists(world.path("up")) and child.poll() is None:
                time.sleep(0.02)
            port = int(open(world.path("up"), encoding="ascii").read() or 0)
            what = f"{who.name}: a server at {bind}, {'some port' if number == 0 else 'its port'}"
            tap.ok(answer_of("127.0.0.1", port) == "inside" and answer_of("::1", port) == "inside",
                   f"{what}: called from this machine")
            address = own_address()
            tap.ok(not address or answer_of(address, port, 0) is None, f"{what}: only through loopback")
            open(world.path("stop"), "w", encoding="ascii").close()
            tap.ok(is_free(port), f"{what}: the port is free when the server has ended")
            open(world.path("leave"), "w", encoding="ascii").close()
            child.communicate()
    world = World(who)
    with Server("outside") as host:
        script = f"s = socket.create_server(('127.0.0.1', {host.port})); print('up')"
        got, done = called(who, world, script, settings_of(world, allowLocalBinding=True))
        tap.ok(got == ["up"] and f"localhost:{host.port} (in use on this machine" in done.err,
               f"{who.name}: a port that this machine uses is reported, and the server starts", done)
    port = free_port()
    failed = [done for _ in range(20) for got, done in [called(who, world, f"socket.create_server(('127.0.0.1', {port}))",
              settings_of(world, allowLocalBinding=True))] if done.err or not is_free(port, 0)]
    tap.ok(not failed, f"{who.name}: 20 servers in a row at one port", *failed[:2])
    got, done = called(who, world, f"s = socket.create_server(('127.0.0.1', {port})); print('up'); import time; time.sleep(1)", [])
    tap.ok(got == ["up"], f"{who.name}: without a permission there are servers", done)
    child = who.start([who.buckle(), "run", "--", "sh", "-c", CALLS.replace("{script}",
                      f"s = socket.create_server(('127.0.0.1', {port})); import time; time.sleep(1)")], world.inside)
    tap.ok(answer_of("127.0.0.1", port, 0.7) is None, f"{who.name}: but this machine does not call them")
    child.communicate()


TESTS = [test_sockets, test_in_a_row, test_taken, test_reach, test_programs, test_limits, test_called]


def main():
    for who in people():
        for test in TESTS:
            if not sys.argv[1:] or test.__name__ in sys.argv[1:]:
                test(who)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
