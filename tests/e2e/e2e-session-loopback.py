#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that one command of a session has started is reached by the session's other commands, and by nobody
else. Prints TAP.
"""

import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import running
from agents import Client, call, hook, hook_output, settings
from running import eventually, for_everybody
from tap import done

# answers in a loop: a large answer, and what it was sent; two threads at most
SERVE = """import os, socket, sys, threading
s = socket.socket(socket.AF_INET6 if len(sys.argv) > 2 else socket.AF_INET)
s.bind(("::1" if len(sys.argv) > 2 else "127.0.0.1", int(sys.argv[1]))); s.listen(50)
def serve(c):
    with c:
        c.sendall(b"hello " + c.recv(65536))
open("up", "w").close()
while True:
    threading.Thread(target=serve, args=(s.accept()[0],)).start()
"""
CALL = """import errno, socket, sys
try:
    s = socket.create_connection((sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1", int(sys.argv[1])), 5)
    s.sendall(b"there"); print(s.recv(99).decode())
except OSError as e:
    print(errno.errorcode.get(e.errno, e))
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Sessions:
    """Sessions that end with a process of their own."""

    def __init__(self, user):
        self.user, self.owners = user, []

    def open(self):
        owner = self.user.start(["sleep", "300"])
        self.owners.append(owner)
        return self.user.call([running.BUCKLE, "session", "--for", str(owner.pid)]).out.strip()

    def close(self):
        for owner in self.owners:
            owner.kill()
            owner.wait()


def start(user, folder, session, port, *options, more=()):
    child = user.start([running.BUCKLE, "run", "--session", session, *options, "--", "python3", "-c", SERVE, str(port),
                        *more], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: os.path.exists(f"{folder}/up"), 20)
    os.unlink(f"{folder}/up")
    return child


def test_session(user, t):
    folder, port = user.folder(), free_port()
    sessions = Sessions(user)
    one, two = sessions.open(), sessions.open()

    def calls(options, to=None):
        return user.call([running.BUCKLE, "run", *options, "--", "python3", "-c", CALL, str(port), *([to] if to else [])],
                         cwd=folder)

    first = start(user, folder, one, port)
    for options in ([], ["--watch-net"], ["--allow-net", "example.test"], ["--allow-net", "localhost:*"]):
        for to in ("127.0.0.1", "localhost"):
            r = calls(["--session", one, *options], to)
            t.ok(r.out == "hello there\n" and "denied" not in r.err, f"another command calls {to} {options}", r)
    t.equal(calls(["--session", two]).out, "ECONNREFUSED\n", "a command of another session does not")
    t.equal(calls([]).out, "ECONNREFUSED\n", "nor one without a session")
    with socket.socket() as s:
        t.ok(s.connect_ex(("127.0.0.1", port)) != 0, "nor this machine")
    script = "import subprocess, sys\n" + "\n".join(
        ["p = [subprocess.Popen([sys.executable, '-c', sys.argv[1], sys.argv[2]], stdout=subprocess.PIPE) for _ in range(30)]",
         "print(sum(x.communicate()[0] == b'hello there\\n' for x in p))"])
    r = user.call([running.BUCKLE, "run", "--session", one, "--", "python3", "-c", script, CALL, str(port)], cwd=folder,
                  timeout=120)
    t.equal(r.out, "30\n", "thirty calls at once", r)
    other = start(user, folder, two, port)
    t.equal(calls(["--session", two]).out, "hello there\n", "two sessions use the same port")
    other.kill()
    other.wait()
    first.kill()
    first.wait()
    t.ok(eventually(lambda: calls(["--session", one]).out == "ECONNREFUSED\n"), "the port is closed when the command ends")
    again = start(user, folder, one, port, more=("six",))
    t.equal(calls(["--session", one]).out, "hello there\n", "the next server gets it, here on IPv6")
    again.kill()
    again.wait()
    sessions.close()


def test_attacks(user, t):
    """A session's servers are no way out, and a narrow command stays narrow."""
    folder, port = user.folder(), free_port()
    sessions = Sessions(user)
    one = sessions.open()
    with socket.create_server(("127.0.0.1", 0)) as host:
        at = host.getsockname()[1]
        wide = start(user, folder, one, port, "--allow-net", "localhost:*")
        r = user.call([running.BUCKLE, "run", "--session", one, "--", "python3", "-c", CALL, str(at)], cwd=folder)
        t.ok(r.out == "ECONNREFUSED\n" and f"127.0.0.1:{at}" in r.err, "what another command may call is still refused", r)
        host.settimeout(0.2)
        try:
            host.accept()
            t.ok(False, "and not called")
        except TimeoutError:
            t.ok(True, "and not called")
        # it listens at this machine's port inside: then this machine's is not reached there by others
        shadow = start(user, folder, one, at)
        r = user.call([running.BUCKLE, "run", "--session", one, "--allow-net", f"localhost:{at}", "--", "true"], cwd=folder)
        t.ok(r.status == 0, "a rule for a port that the session uses", r)
        shadow.kill()
        shadow.wait()
        wide.kill()
        wide.wait()
    r = user.call([running.BUCKLE, "run", "--session", one, "--", "sh", "-c",
                   "ls -l /proc/self/fd /proc/1/fd 2>/dev/null | grep -c socket"], cwd=folder)
    t.equal(r.out.strip(), "0", "the command has no socket of the session's", r)
    sessions.close()


def test_agents(user, t):
    folder, port = user.folder(), free_port()
    settings(user, autoAllowBashIfSandboxed=True)
    user.write(f"{folder}/serve.py", SERVE)
    user.write(f"{folder}/call.py", CALL)
    c = Client(user, folder)
    c.bash(f"python3 serve.py {port}", run_in_background=True)
    t.ok(eventually(lambda: os.path.exists(f"{folder}/up"), 20), "an MCP server's background job starts a server")
    a = c.bash(f"python3 call.py {port}")
    t.ok("hello there" in a.text and not a.error, "the next command calls it", a)
    c.bash(f"python3 call.py {port}", run_in_background=True)
    c.close()
    os.unlink(f"{folder}/up")
    other = Client(user, folder)
    a = other.bash(f"python3 call.py {port}")
    t.ok("ECONNREFUSED" in a.text, "it ended with the session", a)
    other.close()

    def rewritten(command):
        _, answer = hook(user, call(command, folder), cwd=folder)
        return hook_output(answer).get("updatedInput", {}).get("command", "false")

    port = free_port()
    first = user.start(["sh", "-c", "exec " + rewritten(f"python3 serve.py {port}")], cwd=folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    t.ok(eventually(lambda: os.path.exists(f"{folder}/up"), 20), "a hook's command starts a server")
    r = user.call(["sh", "-c", rewritten(f"python3 call.py {port}")], cwd=folder)
    t.ok("hello there" in r.out, "the hook's next command calls it", r)
    first.kill()
    first.wait()


if __name__ == "__main__":
    for_everybody([test_session, test_attacks, test_agents])
    sys.exit(done())
