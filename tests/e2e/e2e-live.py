#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests to an active run: grants and queries about denials, by the user outside and by nobody else.
The control server does not disturb the command.
"""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import drive
import running
from agents import Client
from processes import command_name, descendants
from running import eventually, for_everybody
from tap import done

TRY = "i=0; until {} 2>/dev/null; do i=$((i+1)); [ $i -lt 400 ] || exit 9; sleep 0.05; done"


class Under:
    """An active run."""

    def __init__(self, user, *words, cwd=None, env=None):
        self.user = user
        self.child = user.start([running.BUCKLE, "run", *words], cwd=cwd or user.folder(),
                                  env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)

    def send(self, *words):
        return self.user.call([running.BUCKLE, words[0], "--run", str(self.child.pid), *words[1:]])

    def has_denied(self, what):
        return eventually(lambda: what in self.send("log").out)

    def end(self, timeout=30):
        status, out, err = drive.finish(self.child, None, timeout)
        return status, out.decode(), err.decode()


def test_grants(user, t):
    outside = user.folder("outside")
    run = Under(user, "--grantable", "--report=json", "sh", "-c",
                TRY.format(f"touch {outside}/x"))
    t.ok(run.has_denied(outside), "what is denied is in the log")
    r = run.send("grant", "--write", outside)
    t.equal(r.status, 0, "writing is granted", r)
    status, _, err = run.end()
    t.ok(status == 0 and os.path.exists(outside + "/x"), "and the command goes on", err)
    events = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    t.ok(any(e["verdict"] == "allow" and e["exe"] == "buckle grant" and e["path"] == outside
             for e in events), "the grant is an event", err)

    store = user.write(f"{user.home}/.aws/credentials", "SECRET\n", 0o600)
    run = Under(user, "--grantable", "--strict-reads", "sh", "-c", TRY.format(f"cat {store}"))
    t.ok(run.has_denied(store), "a secret is not read")
    r = run.send("grant", "--read", store)
    t.equal(r.status, 0, "reading it is granted", r)
    status, out, err = run.end()
    t.ok(status == 0 and out == "SECRET\n", "and it is read", err)

    run = Under(user, "--grantable", "sh", "-c", TRY.format("getent hosts host.example >/dev/null"))
    t.ok(run.has_denied("host.example"), "a host is not found")
    r = run.send("grant", "--net", "host.example")
    t.equal(r.status, 0, "it is granted", r)
    status, _, err = run.end()
    t.equal(status, 0, "and found", err)


def test_brief_grants(user, t):
    """Grants that end by themselves."""
    outside = user.folder("outside")
    cwd = user.folder()
    run = Under(user, "--grantable", "--report=none", "sh", "-c",
                f"while [ ! -e stop ]; do touch '{outside}/a' 2>/dev/null; sleep 0.1; done", cwd=cwd)
    t.ok(run.has_denied(outside), "denied at first")
    r = run.send("grant", "--write", outside, "--for", "2")
    t.equal(r.status, 0, "writing is granted for two seconds", r)
    t.ok(eventually(lambda: os.path.exists(outside + "/a")), "the command can write")

    def is_over():
        if os.path.exists(outside + "/a"):
            os.unlink(outside + "/a")
        time.sleep(0.5)
        return not os.path.exists(outside + "/a")
    t.ok(eventually(is_over), "and then no more")
    r = run.send("grant", "--write", outside)
    t.equal(r.status, 0, "a grant that lasts can follow", r)
    t.ok(eventually(lambda: os.path.exists(outside + "/a")), "and works")
    for bad in ("0", "x", "86401", "-1"):
        t.equal(run.send("grant", "--write", outside, "--for", bad).status, 2, f"--for {bad} is refused")
    user.write(cwd + "/stop", "")
    run.end()


def test_limits(user, t):
    outside = user.folder("outside")
    run = Under(user, "sh", "-c", f"touch {outside}/x; until [ -e go ]; do sleep 0.05; done; touch {outside}/x",
                cwd=(folder := user.folder()))
    t.ok(run.has_denied(outside), "denied without --grantable")
    r = run.send("grant", "--write", outside)
    t.ok(r.status == 1 and "wall" in r.err and outside in r.err and "--grantable" in r.err,
         "a wall that cannot be moved is named, and what to do", r)
    user.write(folder + "/go", "")
    status, _, _ = run.end()
    t.ok(status != 0 and not os.path.exists(outside + "/x"), "and it stands")
    run = Under(user, "--grantable", "sleep", "30")
    eventually(lambda: run.send("log").status == 0)
    r = run.send("grant", "--net", "not a host")
    t.ok(r.status == 2 and "not a host name" in r.err, "nonsense is refused", r)
    git = user.folder("repository")
    r = run.send("grant", "--write", git)
    t.equal(r.status, 0, "a folder is granted", r)
    os.kill(run.child.pid, signal.SIGTERM)
    run.end()
    r = run.send("log")
    t.ok(r.status == 2 and ("cannot reach" in r.err or "has ended" in r.err), "after its end there is nobody to ask", r)

    # paths that the profile protects stay protected inside a granted folder
    run = Under(user, "--grantable", "sh", "-c",
                TRY.format(f"touch {git}/plain") + f"; touch {git}/.bashrc")
    t.ok(run.has_denied("plain"), "a file is denied")
    run.send("grant", "--write", git)
    status, _, err = run.end()
    t.ok(status != 0 and os.path.exists(git + "/plain") and not os.path.exists(git + "/.bashrc"),
         "protected names stay protected in what is granted", err)


def test_log(user, t):
    outside = user.folder("outside")
    run = Under(user, "sh", "-c", f"for i in 1 2 3; do touch {outside}/a; done; touch {outside}/b; "
                "until [ -e go ]; do sleep 0.05; done; touch " + outside + "/c; sleep 0.3",
                cwd=(folder := user.folder()))
    t.ok(run.has_denied(outside + "/b"), "events are there as they happen")
    lines = run.send("log").out.splitlines()
    t.ok(len(lines) == 4 and all("deny(1) file-write-create" in line for line in lines),
         "one line each", lines)
    t.equal(run.send("log", "--grep", outside + "/b").out.count("\n"), 1, "of those that are wanted")
    objects = [json.loads(line) for line in run.send("log", "--json").out.splitlines()]
    t.ok(all(re.match(r"\d\d:\d\d:\d\d  sh -c for i in 1 2 3; .*…  touch\(\d+\) deny\(1\) file-write-create \S+  "
                      r"default\.sb:\d+$", line) for line in lines), "with time, command and rule", lines)
    t.ok(len(objects) == 4 and objects[0]["rule"]["file"].endswith("default.sb"), "with their rule", objects)
    grouped = run.send("log", "--group").out
    t.ok("3× deny(1) file-write-create " + outside + "/a" in grouped and
         "1× deny(1) file-write-create " + outside + "/b" in grouped, "grouped", grouped)
    follow = user.start([running.BUCKLE, "log", "--follow", "--run", str(run.child.pid)],
                          stdout=subprocess.PIPE)
    user.write(folder + "/go", "")
    run.end()
    out, _ = follow.communicate(timeout=20)
    t.ok(follow.returncode == 0 and outside + "/c" in out.decode(), "followed to the end", out)

    run = Under(user, "sh", "-c", f"for i in $(seq 150); do touch {outside}/f$i; done 2>/dev/null; "
                "until [ -e go ]; do sleep 0.05; done", cwd=(folder := user.folder()))
    t.ok(run.has_denied("/f150"), "many are denied")
    lines = run.send("log").out.splitlines()
    t.equal(lines[0], "50 earlier events are left out: only the last are kept", "how many are left out")
    t.ok(len(lines) == 101 and "/f51  " in lines[1], "the last hundred are kept", lines[:2])
    r = run.send("log", "--json")
    t.ok(len(r.out.splitlines()) == 100 and r.err.startswith("50 earlier"), "as JSON: on standard error", r)
    user.write(folder + "/go", "")
    run.end()


def test_log_source(user, t):
    """The rule is that of the user's file, not of what became of it."""
    outside = user.folder("outside")
    secret = user.write(outside + "/secret", "x")
    user.write(user.home + "/.config/buckle/settings.json",
               '{\n "filesystem": {\n  "denyRead": [\n   "/nowhere",\n   "%s" ] } }' % secret)
    file = user.write(outside + "/more.json", '{\n "filesystem": { "denyWrite": ["shut"] } }')
    run = Under(user, "-s", file, "--strict-reads", "--shared-tmp", "sh", "-c", f"cat {secret}; echo >shut; echo >{outside}/x; touch go; "
                "until [ -e end ]; do sleep 0.05; done", cwd=(folder := user.folder()))
    t.ok(eventually(lambda: os.path.exists(folder + "/go")), "the run has tried")
    lines = run.send("log").out.splitlines()
    ends = ["user settings, line 5: reading is denied there", f"{file}, line 2: writing is denied there",
            "no rule allows it"]
    t.ok(len(lines) == 3 and all(line.endswith("  " + end) for line, end in zip(lines, ends)),
         "each with the line of the user's file", lines)
    t.ok("<settings>" not in run.send("log").out, "not of the text that Buckle made", lines)
    user.write(folder + "/end", "")
    _, _, err = run.end()
    t.ok(all(end.split(":")[0] in err for end in ends) and "<settings>" not in err and
         "protected path" not in err, "so does the summary; nothing of it is a protected name", err)
    os.unlink(user.home + "/.config/buckle/settings.json")


def in_terminal(user, words, env):
    """Status and output of a command whose output is a terminal."""
    ours, theirs = pty.openpty()
    child = user.start(words, env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    out = b""
    try:
        while more := os.read(ours, 65536):
            out += more
    except OSError:  # the other side was closed
        pass
    os.close(ours)
    return child.wait(timeout=20), out.decode()


def test_pager(user, t):
    outside = user.folder("outside")
    run = Under(user, "sh", "-c", f"touch {outside}/a; until [ -e end ]; do sleep 0.05; done",
                cwd=(folder := user.folder()))
    t.ok(run.has_denied(outside), "something is denied")
    words = [running.BUCKLE, "log", "--run", str(run.child.pid)]
    for env, more, paged in (({"PAGER": "sed 's/^/paged: /'"}, [], True),
                             ({"PAGER": "false", "BUCKLE_PAGER": "sed 's/^/paged: /'"}, [], True),
                             ({"PAGER": "cat"}, [], False), ({"PAGER": ""}, [], False),
                             ({"PAGER": "/no/such/pager"}, [], False),
                             ({"PAGER": "sed 's/^/paged: /'"}, ["--json"], False)):
        status, out = in_terminal(user, words + more, env)
        t.ok(status == 0 and outside in out and ("paged: " in out) == paged, f"{env} {more}", out)
    r = user.call(words, env={"PAGER": "sed 's/^/paged: /'"})
    t.ok(outside in r.out and "paged" not in r.out, "no pager in a pipe", r)
    user.write(folder + "/end", "")
    run.end()


# Tries every way to a control socket, and prints which one worked.
CONNECT = """
import ctypes, os, socket, stat, sys
kind, uid, pid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
grant = b'{"grant": "allow-write", "what": "/"}'

# The secret that the server expects first, if readable; else a guess.
def key():
    try:
        for fd in os.listdir("/proc/%d/fd" % pid):
            if "buckle-key" in os.readlink("/proc/%d/fd/%s" % (pid, fd)):
                with open("/proc/%d/fd/%s" % (pid, fd), "rb") as f:
                    return f.read()
    except OSError:
        pass
    return bytes(32)

def talk(s, how):
    s.settimeout(3)
    got = b""
    try:
        s.send(key())
        s.send(grant)
        got = s.recv(1000)
    except OSError as e:
        pass
    if got:
        print("reached", how, got)

# Connected, sent to without, and as datagrams.
def by_name(name):
    for type in socket.SOCK_SEQPACKET, socket.SOCK_STREAM, socket.SOCK_DGRAM:
        s = socket.socket(socket.AF_UNIX, type)
        try:
            s.connect("\\0" + name)
            talk(s, "by its name")
        except OSError:
            pass
        s = socket.socket(socket.AF_UNIX, type)
        for send in (lambda: s.sendto(grant, "\\0" + name),
                     lambda: s.sendmsg([grant], [], 0, "\\0" + name)):
            try:
                send()
                print("reached by sending", type)
            except OSError:
                pass

for fd in os.listdir("/proc/self/fd"):
    try:
        if stat.S_ISSOCK(os.fstat(int(fd)).st_mode):
            print("reached by what it inherited", fd)
    except OSError:
        pass
for name in "buckle-%s-%d-%d" % (kind, uid, pid), "buckle-%s-for-%d-%d" % (kind, uid, pid):
    by_name(name)
libc = ctypes.CDLL(None, use_errno=True)
target = libc.syscall(434, pid, 0)  # pidfd_open
for fd in range(64):
    got = libc.syscall(438, target, fd, 0) if target >= 0 else -1  # pidfd_getfd
    if got >= 0:
        print("reached by taking descriptor", fd)
    try:
        os.open("/proc/%d/fd/%d" % (pid, fd), os.O_RDWR | os.O_NONBLOCK)
        print("reached by /proc", fd)
    except OSError:
        pass
print("done")
"""

NO_SPACES = "user_ns=0,mount_ns=0,pid_ns=0,net_ns=0,ipc_ns=0,uts_ns=0"

PLACES = {
    "behind all walls": {},
    "without Landlock's scope": {"BUCKLE_PRETEND": "landlock=4"},
    "without namespaces": {"BUCKLE_PRETEND": "landlock=4," + NO_SPACES},
    "without namespaces, with Landlock's scope": {"BUCKLE_PRETEND": NO_SPACES},
    "where sockets cannot be taken": {"BUCKLE_PRETEND": "landlock=4,pidfd_getfd=0," + NO_SPACES},
}

# Policies that allow as much as possible: by the command's own calls, or through the judge, which
# connects with its own credentials.
POLICIES = {
    "all is free": "(version 1)(allow default)",
    "all Unix sockets are allowed": "(version 1)(allow default)(deny network*)"
                                    "(allow network* (remote unix-socket))(allow network* (local unix-socket))",
    "abstract names are allowed": "(version 1)(allow default)(deny network*)"
                                  '(allow network* (remote unix-socket (path-regex #"^@")))'
                                  '(allow network* (local unix-socket (path-regex #"^@")))',
}


def socket_names(uid):
    """Names of this user's control sockets, as the kernel lists them."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as f:
        return [line.split()[-1] for line in f if f"buckle-run-{uid}-" in line or
                f"buckle-session-{uid}-" in line]


def check_no_way(user, t, what, words, env, policy):
    """Tries to connect from inside a sandbox that allows everything a policy can allow."""
    folder = user.folder()
    allowing = user.profile("allowing.sb", policy)
    connect = user.write(user.home + "/connect.py", CONNECT)
    kind, pid = words
    # its own run is known only after the start
    script = f"until [ -e pid ]; do sleep 0.05; done; exec python3 {connect} {kind} {user.uid} $(cat pid)"
    run = Under(user, "--accept-weaker", "--profile", allowing, "sh", "-c", script, cwd=folder, env=env)
    user.write(folder + "/pid.new", f"{pid or run.child.pid}\n")
    os.rename(folder + "/pid.new", folder + "/pid")
    status, out, err = run.end()
    t.ok(status == 0 and out == "done\n", what, out, err)


def test_no_way_in(user, t):
    """Nothing inside reaches a control socket: neither of its own run, nor of another, nor of a session."""
    other = Under(user, "--grantable", "sleep", "60")
    eventually(lambda: other.send("log").status == 0)
    session = user.start([running.BUCKLE, "session", "--foreground", "--for", str(os.getpid())]
                           if user.uid == os.geteuid() else
                           [running.BUCKLE, "session", "--foreground", "--for", str(other.child.pid)],
                           stdout=subprocess.PIPE)
    session_pid = int(session.stdout.readline())
    server = Client(user, user.folder(), "--grantable", "--mode=open")
    sockets = {"its own run's": ("run", 0), "another run's": ("run", other.child.pid),
               "a session's": ("session", session_pid), "a server's": ("session", server.child.pid)}
    for place, env in PLACES.items():
        for name, policy in POLICIES.items():
            for control, words in sockets.items():
                check_no_way(user, t, f"{place}, {name}: {control} control socket is out of reach", words, env, policy)
        r = user.call([running.BUCKLE, "run", "--accept-weaker", "--profile",
                         user.home + "/allowing.sb", running.BUCKLE, "grant", "--run",
                         str(other.child.pid), "--write", "/"], env=env, cwd=user.folder())
        t.ok(r.status == 2, f"{place}: `buckle grant` has no effect inside", r)
    output = server.bash(f"python3 {user.home}/connect.py session {user.uid} {server.child.pid}")
    t.equal(output.facts["stdout"], "done\n", "a server's own command does not reach it", output)
    output = server.bash("sleep 20", run_in_background=True)
    r = user.call(["python3", user.home + "/connect.py", "session", str(user.uid),
                     str(server.child.pid)])
    t.ok("reached by its name" in r.out, "while the user outside does, by its name", r)
    t.ok(all(name.startswith("@") for name in socket_names(user.uid)), "which is no file's",
         socket_names(user.uid))
    t.equal(other.send("log").out, "", "nothing was granted to the run")
    os.kill(other.child.pid, signal.SIGTERM)
    other.end()
    server.close()
    session.terminate()
    session.wait()


# Looks for keys among all processes' descriptors.
LOOK = """
import glob, os
for name in glob.glob("/proc/[0-9]*/fd/*") + glob.glob("/proc/[0-9]*/task/*/fd/*"):
    try:
        if "buckle-key" in os.readlink(name):
            print(name)
    except OSError:
        pass
print("done")
"""


def key_of(pid):
    """The descriptor of a session's key, as the kernel shows it."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            if "buckle-key" in os.readlink(f"/proc/{pid}/fd/{fd}"):
                return f"/proc/{pid}/fd/{fd}"
        except OSError:
            pass
    return None


def socket_of(pid, uid):
    """The inode of a run's control socket."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as f:
        return next((line.split()[6] for line in f if line.rstrip().endswith(f"@buckle-run-{uid}-{pid}")),
                    None)


def links_of(pid):
    """The open files of a process; some may be closed meanwhile."""
    found = []
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except FileNotFoundError:
        return found  # it has ended
    for fd in names:
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    return found


def test_key(user, t):
    """Only the server of a control socket has its key; neither the sandbox nor its helpers do."""
    secret = user.write(f"{user.home}/.aws/credentials", "SECRET\n", 0o600)
    run = Under(user, "--allow-net", "host.example", "--deny-read", secret, "sleep", "30")
    eventually(lambda: run.send("log").status == 0)
    names = {"buckle-judge", "buckle-gate", "buckle-sentry", "buckle-init"}
    t.ok(eventually(lambda: names <= {command_name(p) for p in descendants(run.child.pid)}),
         "a run with all its helpers")
    t.ok(key_of(run.child.pid), "its controller has a key")
    control = socket_of(run.child.pid, user.uid)
    t.ok(control, "and a control socket")
    for pid in descendants(run.child.pid)[1:]:
        held = links_of(pid)
        t.ok(not any("buckle-key" in name or name == f"socket:[{control}]" for name in held),
             f"{command_name(pid)} holds neither", held)
    with open(key_of(run.child.pid), "rb") as f:
        key = f.read()
    t.ok(len(key) == 32 and key != bytes(32), "the key cannot be guessed")
    try:
        with open(key_of(run.child.pid), "r+b") as f:
            f.write(bytes(32))
    except OSError:
        pass
    with open(key_of(run.child.pid), "rb") as f:
        t.equal(f.read(), key, "nor replaced")
    other = Under(user, "sleep", "30")
    eventually(lambda: other.send("log").status == 0)
    with open(key_of(other.child.pid), "rb") as f:
        t.ok(f.read() != key, "every run has its own")
    for one in run, other:
        os.kill(one.child.pid, signal.SIGTERM)
        one.end()
    for place, env in PLACES.items():
        for name, policy in POLICIES.items():
            r = user.run("--accept-weaker", "--profile", user.profile("look.sb", policy), "python3", "-c",
                           LOOK, cwd=user.folder(), env=env)
            t.ok(r.status == 0 and r.out == "done\n", f"{place}, {name}: no key is seen", r)


# Binds the names of control sockets in advance, and answers as their servers would.
FAKE = """
import json, os, select, socket, sys
uid, agent = sys.argv[1], sys.argv[2]
sockets = []
key = os.memfd_create("buckle-key")
os.write(key, bytes(32))
for name in "session-for-%s-%s" % (uid, agent), "session-%s-%d" % (uid, os.getpid()), \
        "run-%s-%d" % (uid, os.getpid()):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        s.bind("\\0buckle-" + name)
        s.listen(5)
        sockets.append(s)
    except OSError:
        pass
print("pid", os.getpid(), len(sockets), flush=True)
gift = [{"grant": "allow-write", "what": "/"}]
while select.select(sockets + [sys.stdin], [], [])[0] != [sys.stdin]:
    for control in select.select(sockets, [], [], 0)[0]:
        guest = control.accept()[0]
        guest.settimeout(1)
        try:
            for _ in range(3):
                heard = guest.recv(1000)
                if not heard:
                    break
                print("heard", heard, flush=True)
                guest.send(json.dumps({"ok": True, "grants": gift, "waits": "", "member": False,
                                       "cwd": "/", "command": []}).encode())
        except OSError:
            pass
"""


def test_fakes(user, t):
    """A command that binds the name of a control socket is not taken for its server: it neither gets
    grants nor gives any."""
    for place, env in PLACES.items():
        for name, policy in POLICIES.items():
            fakes(user, t, f"{place}, {name}", env, policy)


def fakes(user, t, what, env, policy):
    folder, outside = user.folder(), user.folder("outside")
    profile = user.profile("fake.sb", policy)
    fake = user.write(user.home + "/fake.py", FAKE)
    agent = user.start(["sleep", "60"])
    inside = user.start([running.BUCKLE, "run", "--accept-weaker", "--profile", profile, "python3", fake,
                           str(user.uid), str(agent.pid)], cwd=folder, env=env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output = inside.stdout.readline().split()
    t.ok(len(output) == 3, f"{what}: a fake has begun", output)
    r = user.call([running.BUCKLE, "session", "--for", str(agent.pid)])
    t.ok(r.out.strip() != output[1].decode(), f"{what}: it is no session of an agent's", r)
    r = user.run("--session", output[1].decode(), "touch", outside + "/x", cwd=folder)
    t.ok(r.status != 0 and not os.path.exists(outside + "/x"), f"{what}: no run joins it", r)
    for option in "--session", "--run":
        r = user.call([running.BUCKLE, "grant", option, output[1].decode(), "--write", outside])
        t.equal(r.status, 2, f"{what}: nor does a grant reach it ({option})", r)
    agent.kill()
    agent.wait()
    _, out, err = drive.finish(inside, b"\n")
    t.ok(b"heard" not in out, f"{what}: it heard nothing", out, err)


def test_others(user, t):
    if user.uid == 0 or os.geteuid() != 0:
        return
    root = running.PEOPLE[0]
    run = Under(root, "--grantable", "sleep", "30")
    eventually(lambda: run.send("log").status == 0)
    connect = user.write(user.home + "/connect.py", CONNECT)
    r = user.call(["python3", connect, "run", "0", str(run.child.pid)])
    t.equal(r.out, "done\n", "another user is not let in", r)
    os.kill(run.child.pid, signal.SIGTERM)
    run.end()


def test_rest(user, t):
    """The command works next to settings files; the watcher does not wake up for every file."""
    many = "i=0; while [ $i -lt 3000 ]; do : >f$i; i=$((i+1)); done"
    run = Under(user, "sh", "-c", f"sleep 0.3; {many}; echo made; exec sleep 30")
    t.equal(run.child.stdout.readline(), b"made\n", "many files are made")
    with open(f"/proc/{run.child.pid}/status", encoding="utf-8") as f:
        woken = next(int(line.split()[1]) for line in f if line.startswith("voluntary"))
    t.ok(woken < 1000, "few of which wake the controller", f"woken {woken} times")
    os.kill(run.child.pid, signal.SIGTERM)
    run.end()


if __name__ == "__main__":
    for_everybody([test_grants, test_brief_grants, test_limits, test_log, test_log_source, test_pager, test_no_way_in, test_key, test_fakes, test_others, test_rest])
    sys.exit(done())
