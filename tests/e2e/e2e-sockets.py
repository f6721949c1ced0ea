#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unix sockets: by path and abstract name, of every kind, and allowed by name one at a time. Prints TAP.
"""

import glob
import os
import pwd
import select
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import running
import tap
from running import eventually, for_everybody, missing

PYTHON = "/usr/bin/python3"

# How programs use sockets internally: prints the results.
AMONG = r"""
import array, os, socket, threading
U, D, S, P = socket.AF_UNIX, socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET

def tried(name, what):
    try:
        print(name, what())
    except OSError as e:
        print(name, "failed:", e)

def pair(kind):
    a, b = socket.socketpair(U, kind)
    a.send(b"one"); a.send(b"two"); b.send(b"back")
    return b.recv(9), b.recv(9) if kind != S else b"two", a.recv(9)

def served(kind, name):
    with socket.socket(U, kind) as server, socket.socket(U, kind) as client:
        server.bind(name); server.listen()
        client.connect(name)
        there = server.accept()[0]
        there.send(b"hello")
        return client.recv(9), server.getsockname()

def asked(name, own):
    "A server that answers whoever has a name."
    with socket.socket(U, D) as server, socket.socket(U, D) as client:
        server.bind(name); client.bind(own)
        client.sendto(b"question", name)
        text, who = server.recvfrom(99)
        server.sendto(b"answer to " + text, who)
        return who, client.recv(99)

def connected(name):
    with socket.socket(U, D) as server, socket.socket(U, D) as client:
        server.bind(name); client.connect(name)
        client.send(b"a"); client.sendmsg([b"b", b"c"]); client.sendall(b""); os.write(client.fileno(), b"d")
        return [server.recv(9) for _ in range(4)]

def passed(kind):
    "A descriptor that comes with a message."
    a, b = socket.socketpair(U, kind)
    r, w = os.pipe()
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [w]))])
    text, control, _, _ = b.recvmsg(9, 99)
    got = array.array("i"); got.frombytes(control[0][2])
    os.write(got[0], b"through it")
    return text, os.read(r, 99)

def passed_to(name):
    r, w = os.pipe()
    with socket.socket(U, D) as server, socket.socket(U, D) as client:
        server.bind(name)
        client.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [w]))], 0, name)
        text, control, _, _ = server.recvmsg(9, 99)
        got = array.array("i"); got.frombytes(control[0][2])
        os.write(got[0], b"as well")
        return text, os.read(r, 99)

def full(name):
    "One that waits until there is room."
    with socket.socket(U, D) as server, socket.socket(U, D) as client:
        server.bind(name)
        client.setblocking(False)
        sent = 0
        try:
            while sent < 5000:
                client.sendto(b"%d" % sent, name); sent += 1
        except BlockingIOError:
            pass
        client.setblocking(True)
        late = threading.Thread(target=client.sendto, args=(b"last", name))
        late.start()
        got = [server.recv(9) for _ in range(sent + 1)]
        late.join()
        return sent > 0, got[0], got[-1]

def large(n):
    a, b = socket.socketpair(U, D)
    a.send(b"x" * n)
    return len(b.recv(n + 1))

tried("stream pair", lambda: pair(S))
tried("datagram pair", lambda: pair(D))
tried("packet pair", lambda: pair(P))
tried("stream by path", lambda: served(S, "s1"))
tried("packets by path", lambda: served(P, "s2"))
tried("stream, abstract", lambda: served(S, "\0buckle-among"))
tried("packets, abstract", lambda: served(P, "\0buckle-among"))
tried("datagrams by path", lambda: asked("d1", "d2"))
tried("connected datagrams", lambda: connected("d3"))
tried("connected datagrams, abstract", lambda: connected("\0buckle-among-d"))
tried("stream: descriptors", lambda: passed(S))
tried("datagrams: descriptors", lambda: passed(D))
tried("datagrams by path: descriptors", lambda: passed_to("d4"))
tried("waiting for room", lambda: full("d5"))
tried("large", lambda: large(30000))
tried("nobody", lambda: socket.socket(U, D).sendto(b"x", "nothing"))
tried("not connected", lambda: socket.socket(U, S).send(b"x"))
tried("name taken", lambda: socket.socket(U, D).bind("d1"))
"""


def test_among(user, t):
    inside, outside = user.folder(), user.folder()
    bare = user.call([PYTHON, "-c", AMONG], cwd=outside)
    boxed = user.run(PYTHON, "-c", AMONG, cwd=inside)
    for want, got in zip(bare.out.splitlines(), boxed.out.splitlines() + [""] * 99):
        t.equal(got, want, "among themselves: " + want.split(" (")[0].split(" [")[0], boxed.err)
    t.ok(len(bare.out.splitlines()) == 18 and "buckle:" not in boxed.err,
         "among themselves: all of it, without a word", bare, boxed)


# ---- outside ----

ATTACK = r"""
import errno, os, socket, sys
U, D, S, P = socket.AF_UNIX, socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET
folder = sys.argv[1]

def tried(name, what):
    try:
        what()
        print(name + ": ok")
    except OSError as e:
        print(name + ": " + errno.errorcode[e.errno])

def connect(kind, name, end=None):
    with end or socket.socket(U, kind) as s:
        s.connect(name)
        s.send(b"x")

def message(name, end=None):
    with end or socket.socket(U, D) as s:
        s.sendmsg([b"x"], [], 0, name)

tried("stream", lambda: connect(S, folder + "/stream"))
tried("packets", lambda: connect(P, folder + "/packets"))
tried("datagram", lambda: connect(D, folder + "/datagram"))
tried("sendto", lambda: socket.socket(U, D).sendto(b"x", folder + "/datagram"))
tried("sendmsg", lambda: message(folder + "/datagram"))
tried("relative", lambda: message(os.path.relpath(folder) + "/datagram"))
"""

# each is harmless if it reaches no outside process, whatever its result
TRICKS = r"""
a, b = socket.socketpair(U, D)
tried("pair: sendto", lambda: a.sendto(b"x", folder + "/datagram"))
tried("pair: sendmsg", lambda: a.sendmsg([b"x"], [], 0, folder + "/datagram"))
tried("pair: connect", lambda: (a.connect(folder + "/datagram"), a.send(b"x")))
own = socket.socket(U, D)
own.bind("own")
c = socket.socket(U, D)
c.connect("own")
tried("connected: sendto", lambda: c.sendto(b"x", folder + "/datagram"))
tried("connected: sendmsg", lambda: c.sendmsg([b"x"], [], 0, folder + "/datagram"))
tried("connected: again", lambda: (c.connect(folder + "/datagram"), c.send(b"x")))
tried("bound: send", lambda: (own.connect(folder + "/datagram"), own.send(b"x")))
tried("link", lambda: (os.symlink(folder + "/datagram", "link"), message("link")))
tried("raw", lambda: socket.socket(U, socket.SOCK_RAW).sendto(b"x", folder + "/datagram"))
tried("forked", lambda: os.fork() or os._exit(message(folder + "/datagram") or 0))
"""


class Servers:
    """One of each kind, outside."""

    KINDS = {"stream": socket.SOCK_STREAM, "packets": socket.SOCK_SEQPACKET,
             "datagram": socket.SOCK_DGRAM}

    def __init__(self, user):
        self.folder = user.folder("servers")
        self.all = {}
        for name, kind in self.KINDS.items():
            server = socket.socket(socket.AF_UNIX, kind)
            server.bind(os.path.join(self.folder, name))
            os.chmod(os.path.join(self.folder, name), 0o777)
            if kind != socket.SOCK_DGRAM:
                server.listen(8)
            server.setblocking(False)
            self.all[name] = server

    def received(self):
        """How often each was reached since the last call."""
        count = {}
        for name, server in self.all.items():
            count[name] = 0
            while select.select([server], [], [], 0)[0]:
                if name == "datagram":
                    server.recv(9)
                else:
                    server.accept()[0].close()
                count[name] += 1
        return count


def test_outside(user, t):
    servers = Servers(user)
    r = user.run("-v", PYTHON, "-c", ATTACK, servers.folder, cwd=user.folder())
    t.equal(sorted(set(line.split(": ")[1] for line in r.out.splitlines())), ["EPERM"],
            "outside: every kind is denied at once", r)
    t.ok(all(f"{servers.folder}/{n}" in r.err for n in servers.all),
         "outside: and reported, with its path", r)
    r = user.run(PYTHON, "-c", ATTACK + TRICKS, servers.folder, cwd=user.folder())
    t.equal((sum(servers.received().values()), r.status), (0, 0),
            "outside: nobody heard anything, whatever was tried", r)
    words = [w for n in servers.all for w in ("--allow-socket", f"{servers.folder}/{n}")]
    r = user.run(*words, PYTHON, "-c", ATTACK, servers.folder, cwd=user.folder())
    t.equal((set(line.split(": ")[1] for line in r.out.splitlines()), servers.received()),
            ({"ok"}, {"stream": 1, "packets": 1, "datagram": 4}), "outside: allowed, all arrive", r)
    r = user.run("--allow-socket", f"{servers.folder}/stream", PYTHON, "-c", ATTACK + TRICKS,
                   servers.folder, cwd=user.folder())
    t.equal(servers.received(), {"stream": 1, "packets": 0, "datagram": 0},
            "outside: one allowed, the others not", r)


SENDS = "import socket; print(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '\\0{name}'))"


def test_abstract(user, t):
    name = f"buckle-test-{os.getpid()}-{user.name}"
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    server.bind("\0" + name)
    script = SENDS.format(name=name)
    r = user.run(PYTHON, "-c", script, cwd=user.folder())
    t.ok(r.status != 0 and "refused" in r.err, "abstract: names outside are not there", r)
    r = user.run("--allow-socket", "@" + name, "--dry-run", cwd=user.folder())
    t.ok(f"@{name} is looked up in the sandbox's network" in r.out.replace("\n    ", " "),
         "abstract: and the plan says so", r)
    env = {"BUCKLE_PRETEND": "net_ns=0"}
    r = user.run(PYTHON, "-c", script, cwd=user.folder(), env=env)
    t.ok(r.status != 0 and "@" + name in r.err and "not permitted" in r.err,
         "abstract: without a network namespace they are denied, and reported", r)
    t.ok(not select.select([server], [], [], 0)[0], "abstract: nobody outside heard anything")
    r = user.run("--allow-socket", "@" + name, PYTHON, "-c", script, cwd=user.folder(), env=env)
    t.ok(r.status == 0 and select.select([server], [], [], 0)[0],
         "abstract: there, one that is allowed is reached", r)
    server.close()


# ---- by name ----


def needs(*programs):
    def decorate(test):
        def wrapped(user, t):
            gone = missing(*programs)
            if gone:
                tap.skip(f"{gone} is not installed")
            else:
                test(user, t)
        wrapped.__name__ = test.__name__
        return wrapped
    return decorate


def check_named(user, t, name, path, env, argv, want):
    """Denied, with the variable kept and without; allowed by name and by path."""
    keep = [w for v in env for w in ("--env", v)]
    folder = user.folder()
    r = user.run(*keep, *argv, cwd=folder, env=env)
    t.ok(r.status != 0 and want not in r.out and f"connect  {path}" in r.err,
         f"{name}: denied, and reported", r)
    r = user.run("--allow-socket", name, *argv, cwd=folder, env=env)
    t.ok(r.status == 0 and want in r.out and "buckle:" not in r.err, f"{name}: allowed by name", r)
    r = user.run(*keep, "--allow-socket", path, *argv, cwd=folder, env=env)
    t.ok(r.status == 0 and want in r.out and "buckle:" not in r.err, f"{name}: allowed by path", r)


@needs("ssh-agent", "ssh-add", "ssh-keygen")
def test_ssh_agent(user, t):
    folder = user.folder()
    path = folder + "/agent"
    agent = user.start(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    try:
        eventually(lambda: os.path.exists(path))
        user.sh(f"ssh-keygen -q -t ed25519 -N '' -C known -f {folder}/key; "
                  f"SSH_AUTH_SOCK={path} ssh-add -q {folder}/key")
        check_named(user, t, "ssh-agent", path, {"SSH_AUTH_SOCK": path}, ["ssh-add", "-l"], "known")
        r = user.run("ssh-add", "-l", cwd=folder, env={"SSH_AUTH_SOCK": path})
        t.ok(r.status != 0 and "not passed on: SSH_AUTH_SOCK" in r.err,
             "ssh-agent: by default its variable is not passed on", r)
    finally:
        agent.terminate()
        agent.wait()


@needs("dbus-daemon", "dbus-send", "gdbus")
def test_dbus(user, t):
    path = user.folder() + "/bus"
    daemon = user.start(["dbus-daemon", "--session", "--nofork", f"--address=unix:path={path}"],
                          stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: os.path.exists(path))
        to = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=" + path}
        check_named(user, t, "dbus", path, to,
                    ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/",
                     "org.freedesktop.DBus.ListNames"], "org.freedesktop.DBus")
        call = ["call", "--dest", "org.freedesktop.DBus", "--object-path", "/", "--method",
                "org.freedesktop.DBus.ListNames"]
        check_named(user, t, "dbus", path, to, ["gdbus", call[0], "--session", *call[1:]],
                    "org.freedesktop.DBus")
        check_named(user, t, "dbus-system", path, {"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=" + path},
                    ["gdbus", call[0], "--system", *call[1:]], "org.freedesktop.DBus")
    finally:
        daemon.terminate()
        daemon.wait()


@needs("gpg-agent", "gpg-connect-agent", "gpgconf")
def test_gpg_agent(user, t):
    home = user.folder("gnupg")
    os.chmod(home, 0o700)
    env = {"GNUPGHOME": home}
    path = user.call(["gpgconf", "--list-dirs", "agent-socket"], env=env).out.strip()
    user.call(["gpgconf", "--launch", "gpg-agent"], env=env)
    try:
        ask = ["gpg-connect-agent", "--no-autostart", "GETINFO version", "/bye"]
        r = user.run(*ask, cwd=user.folder(), env=env)
        t.ok("D 2" not in r.out and path in r.err, "gpg-agent: denied, and reported", r)
        r = user.run("--allow-socket", "gpg-agent", *ask, cwd=user.folder(), env=env)
        t.ok(r.status == 0 and "D 2" in r.out, "gpg-agent: allowed by name", r)
    finally:
        user.call(["gpgconf", "--kill", "gpg-agent"], env=env)


class Engine(threading.Thread):
    """A minimal Docker server."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        os.chmod(path, 0o777)
        self.server.listen(8)
        self.start()

    def run(self):
        while True:
            try:
                conn = self.server.accept()[0]
            except OSError:
                return
            conn.recv(4096)
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nOK\n")
            conn.close()


@needs("curl")
def test_docker(user, t):
    path = user.folder() + "/docker.sock"
    engine = Engine(path)
    check_named(user, t, "docker", path, {"DOCKER_HOST": "unix://" + path},
                ["sh", "-c", "curl -sS --unix-socket ${DOCKER_HOST#unix://} http://docker/_ping"], "OK")
    engine.server.close()


@needs("logger")
def test_log(user, t):
    path = user.folder() + "/log"
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    server.bind(path)
    os.chmod(path, 0o777)
    argv = ["logger", "-d", "-u", path, "-t", "test", "well done"]
    r = user.run(*argv, cwd=user.folder())
    t.ok(path in r.err and not select.select([server], [], [], 0)[0], "logger: denied, and reported", r)
    r = user.run("--allow-socket", path, *argv, cwd=user.folder())
    received = server.recv(999) if eventually(lambda: select.select([server], [], [], 0)[0], 3) else b""
    t.ok(r.status == 0 and b"well done" in received, "logger: allowed, its message arrives", r)
    server.close()


@needs("psql")
def test_postgresql(user, t):
    """A real server at its usual socket name, in another folder."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found or user.uid == 0:
        return tap.skip("initdb is not installed" if not found else
                        "a PostgreSQL server does not run as root")
    folder, binaries = user.folder("pg"), os.path.dirname(found[-1])
    user.sh(f"{binaries}/initdb -D {folder}/data -A trust -U tester --no-sync >{folder}/log 2>&1")
    server = user.start([binaries + "/postgres", "-D", folder + "/data", "-k", folder, "-c", "fsync=off",
                           "-c", "listen_addresses="], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    try:
        path = folder + "/.s.PGSQL.5432"
        argv = ["psql", "-U", "tester", "-d", "postgres", "-Atc", "select 6 * 7"]
        eventually(lambda: user.call(argv, env={"PGHOST": folder}).status == 0, 20)
        check_named(user, t, "postgresql", path, {"PGHOST": folder}, argv, "42")
    finally:
        server.terminate()
        server.wait()


def test_names(user, t):
    folder = user.folder()
    for words, want in ((["--allow-socket", "ssh-agnt"], "did you mean ssh-agent"),
                        (["--allow-socket", "ssh-agent"], "cannot find the socket ssh-agent"),
                        (["--allow-socket", "x11"], "cannot find the socket x11")):
        r = user.run(*words, "true", cwd=folder)
        t.ok(r.status == 125 and want in r.err, " ".join(words) + ": " + want, r)
    show = ["sh", "-c", "echo $WAYLAND_DISPLAY $PULSE_SERVER"]
    r = user.run("--allow-socket", "wayland", "--allow-socket", "pulseaudio", *show, cwd=folder)
    runtime = user.env["XDG_RUNTIME_DIR"]
    t.equal(r.out, f"{runtime}/wayland-0 unix:{runtime}/pulse/native\n",
            "programs are told where sockets are, since XDG_RUNTIME_DIR is another folder", r)


if __name__ == "__main__":
    if len(running.PEOPLE) > 1:  # ssh and D-Bus look users up
        running.PEOPLE[1] = running.User("nobody", pwd.getpwnam("nobody").pw_uid)
    for_everybody([test_among, test_outside, test_abstract, test_ssh_agent, test_dbus, test_gpg_agent,
                   test_docker, test_log, test_postgresql, test_names])
    sys.exit(tap.done())
