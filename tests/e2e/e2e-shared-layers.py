#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What several sandboxes share: the runs of a session have one /tmp and one TMPDIR, and a sandbox inside another
sees the outer one's files. Who else must not see them, what is left afterwards, and attacks. Prints TAP.
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from agents import Client, call, hook, hook_output, settings
from running import BUCKLE, PEOPLE, eventually, for_everybody, processes
from secret_socket import secret_socket

# a home folder below /tmp has denied names there, and so /tmp has no layer
OUTSIDE = tempfile.mkdtemp(dir="/var/tmp", prefix="shared-")
os.chmod(OUTSIDE, 0o755)
atexit.register(shutil.rmtree, OUTSIDE, ignore_errors=True)


def settle(person):
    """Moves the person's home and runtime folders out of /tmp."""
    for name, variable in (("home-", "HOME"), ("run-", "XDG_RUNTIME_DIR")):
        path = os.path.join(OUTSIDE, name + person.name)
        if not os.path.isdir(path):
            os.mkdir(path, 0o700)
            person.own(path)
        person.env[variable] = path
    person.home = person.env["HOME"]


class Session:
    """A session that ends with a process of its own."""

    def __init__(self, person):
        self.person = person
        self.owner = person.start(["sleep", "300"])
        self.pid = int(person.call([BUCKLE, "session", "--for", str(self.owner.pid)]).out)

    def run(self, *words, **how):
        return self.person.run("--session", str(self.pid), *words, **how)

    def start(self, *words, **how):
        return self.person.start([BUCKLE, "run", "--session", str(self.pid), *words], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, **how)

    def sh(self, script, *words, **how):
        return self.run(*words, "--", "sh", "-c", script, **how)

    def end(self):
        self.owner.kill()
        self.owner.wait()
        return eventually(lambda: not processes(rf"buckle session --for {self.owner.pid}\b"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def tmpdirs(person):
    """The TMPDIRs that are there."""
    base = os.path.join(person.env["XDG_RUNTIME_DIR"], f"buckle-{person.uid}")
    return sorted(name for name in os.listdir(base) if name.startswith("run-")) if os.path.isdir(base) else []


def servers(person):
    """Processes of ours that have layers, of this user and this test."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                lines = f.read().split("\n")
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
                ours = BUCKLE in f.read()
        except OSError:
            continue
        values = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        if values["Name"] == "buckle-layers" and ours and values["Uid"].split()[0] == str(person.uid):
            found.append(int(pid))
    return found


# ---- a session ----


def test_session(person, t):
    work, other = person.folder(), person.folder()
    with Session(person) as s:
        r = s.sh("echo one >/tmp/shared-x; echo two >$TMPDIR/y; mkdir /tmp/shared-d; echo $TMPDIR", cwd=work)
        tmpdir = r.out.strip()
        t.quiet(r, "a command of a session writes to /tmp and TMPDIR")
        r = s.sh("cat /tmp/shared-x $TMPDIR/y; echo three >>/tmp/shared-x; echo $TMPDIR", cwd=other)
        t.quiet(r, "the next one reads it", f"one\ntwo\n{tmpdir}\n")
        r = s.sh("cat /tmp/shared-x; rm -r /tmp/shared-x /tmp/shared-d; ls -d /tmp/shared-*", cwd=work)
        t.equal(r.out, "one\nthree\n", "changes and removals last, too", r)
        s.sh("echo gone >/tmp/shared-z; echo gone >$TMPDIR/z", cwd=work)
        t.ok(not os.path.exists("/tmp/shared-z"), "nothing is in the host's /tmp")
        one = s.start("--", "sh", "-c", "echo first >/tmp/shared-a; echo made; read x; cat /tmp/shared-b", cwd=work)
        one.stdout.readline()
        r = s.sh("cat /tmp/shared-a; echo second >/tmp/shared-b", cwd=work)
        out, _ = one.communicate("\n")
        t.equal((r.out, out), ("first\n", "second\n"), "two commands at the same time share it, too", r)
        server = servers(person)
        t.equal(len(server), 1, "one process has the layer")
    t.ok(eventually(lambda: not os.path.exists(tmpdir) and not servers(person)), "all is gone at the session's end",
         tmpdirs(person))
    r = person.run("--", "sh", "-c", "ls /tmp/shared-z", cwd=work)
    t.ok(r.status != 0, "a later run does not find it", r)


def test_killed(person, t):
    """Nothing is left after SIGKILL, with a command running or without."""
    work = person.folder()
    for running in (False, True):
        s = Session(person)
        tmpdir = s.sh("echo x >/tmp/shared-k; mkdir -p $TMPDIR/a/b; echo x >$TMPDIR/a/b/c; chmod 0 $TMPDIR/a; echo $TMPDIR",
                      cwd=work).out.strip()
        child = s.start("--", "sh", "-c", "echo up; read x; cat /tmp/shared-k", cwd=work) if running else None
        if child:
            child.stdout.readline()
        os.kill(s.pid, signal.SIGKILL)
        if child:
            time.sleep(0.2)
            t.ok(os.path.isdir(tmpdir), "a running command keeps its TMPDIR")
            out, _ = child.communicate("\n")
            t.equal(out, "x\n", "… and its /tmp")
        t.ok(eventually(lambda d=tmpdir: not os.path.exists(d) and not servers(person)),
             f"nothing is left after SIGKILL ({'with' if running else 'without'} a command)", tmpdirs(person))
        s.end()


def test_mcp(person, t):
    work = person.folder()
    settings(person, sandbox={"enabled": True})
    client = Client(person, work)
    client.bash("echo one >/tmp/shared-m; echo two >$TMPDIR/m")
    r = client.bash("cat /tmp/shared-m $TMPDIR/m; echo $TMPDIR")
    t.ok("one\ntwo\n" in r.text, "buckle mcp: the next command reads it", r)
    tmpdir = [line for line in r.text.split("\n") if line.startswith("/")][0]
    client.child.send_signal(signal.SIGKILL)
    client.child.wait()
    t.ok(eventually(lambda: not os.path.exists(tmpdir) and not servers(person)), "… and nothing is left after SIGKILL")
    client = Client(person, work)
    tmpdir = client.bash("echo x >$TMPDIR/x; echo $TMPDIR").text.strip().split("\n")[0]
    client.close()
    t.ok(not os.path.exists(tmpdir) and not servers(person), "… nor after its end", tmpdir)


def test_hook(person, t):
    """The hook's session, which ends with the agent."""
    work = person.folder()
    settings(person)
    script = f"""
import json, subprocess, sys
def bash(command):
    message = {{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": {work!r}, "permission_mode": "default",
                "tool_name": "Bash", "tool_input": {{"command": command, "description": "d"}}}}
    r = subprocess.run([{BUCKLE!r}, "hook"], input=json.dumps(message), capture_output=True, text=True)
    out = json.loads(r.stdout)["hookSpecificOutput"]
    done = subprocess.run(["bash", "-c", out["updatedInput"]["command"]], cwd={work!r}, capture_output=True, text=True)
    return done.stdout + done.stderr
print(bash("echo one >/tmp/shared-h; echo two >$TMPDIR/h; echo $TMPDIR"), end="")
print(bash("cat /tmp/shared-h $TMPDIR/h; echo $TMPDIR"), end="")
"""
    r = person.call(["/usr/bin/python3", "-c", script], cwd=work)
    lines = r.out.split("\n")
    t.ok(lines[1:3] == ["one", "two"] and lines[0] == lines[3] and lines[0].startswith("/"), "the hook's commands share", r)
    t.ok(eventually(lambda: not os.path.exists(lines[0]) and not servers(person)), "… and all ends with the agent")


def test_host(person, t):
    """The host's /tmp stays visible, also what an earlier command has looked for in vain."""
    work = person.folder()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="shared-host-") as given, Session(person) as s:
        os.chmod(given, 0o755)
        person.own(given)
        s.sh(f"cat {given}/later; ls {given}/new/d {given}/work", "--report", "none", cwd=work)
        os.mkdir(f"{given}/new")
        for path in (f"{given}/later", f"{given}/new/d"):
            person.write(path, "later\n")
        r = s.sh(f"cat {given}/later {given}/new/d", cwd=work)
        t.quiet(r, "files that appear between two commands", "later\nlater\n")
        real = f"{given}/work"
        os.mkdir(real)
        person.own(real)
        r = s.sh(f"echo a >here; echo b >{given}/beside; cat {given}/later", cwd=real)
        t.ok(os.path.exists(f"{real}/here") and not os.path.exists(f"{given}/beside"), "a working folder in /tmp is real", r)
        r = s.sh(f"cat {given}/beside {real}/here; rm -r {real}", "--report", "none", cwd=work)
        t.equal(r.out, "b\na\n", "another command sees both", r)
        t.ok(os.path.exists(f"{real}/here"), "what that one removes stays there")
        r = s.sh("cat here; echo c >again", cwd=real)
        t.ok(r.out == "a\n" and os.path.exists(f"{real}/again"), "… and a later one works there again", r)


# ---- sandboxes inside ----


def test_nested(person, t):
    work = person.folder()
    b = f"{BUCKLE} run"
    r = person.run("--", "sh", "-ec", f"""
echo outer >/tmp/shared-o; echo mine >$TMPDIR/o; export OUTER=$TMPDIR
{b} -- sh -ec 'cat /tmp/shared-o $OUTER/o; echo inner >/tmp/shared-i; rm /tmp/shared-o; {b} -- cat /tmp/shared-i'
cat /tmp/shared-i; test ! -e /tmp/shared-o""", cwd=work)
    t.quiet(r, "an inner run shares the outer one's /tmp and reads its TMPDIR", "outer\nmine\ninner\ninner\n")
    r = person.run("--", "sh", "-ec", f"""
mkdir /tmp/shared-w; cd /tmp/shared-w; echo a >f
{b} -- sh -ec 'pwd; cat f; echo b >g; rm f'; cat g; ls
{b} --shared-tmp -- sh -ec 'cat g; echo c >h'; cat h""", cwd=work)
    t.quiet(r, "a working folder that is only in the layer", "/tmp/shared-w\na\nb\ng\nb\nc\n")
    closed = person.profile("closed.sb", "(version 1)(allow default)(deny file-write*)")
    for words in (["--shared-tmp"], ["--profile", closed]):
        r = person.run("--", "sh", "-c", f"echo x >/tmp/shared-r; {b} --report none {' '.join(words)} -- sh -c "
                       "'cat /tmp/shared-r; echo y >>/tmp/shared-r; echo z >/tmp/shared-n'; cat /tmp/shared-r; "
                       "ls /tmp/shared-n", cwd=work)
        t.equal(r.out, "x\nx\n", f"an inner policy without a layer reads, and writes nothing {words[0]}", r)
    r = person.run("--shared-tmp", "--", "sh", "-c", f"{b} --report none -- sh -c 'echo x >/tmp/shared-s'; ls /tmp/shared-s",
                   cwd=work)
    t.ok(not os.path.exists("/tmp/shared-s") and r.out == "", "an outer run without a layer: none inside", r)
    r = person.run("--", "sh", "-c", f"echo secret >/tmp/shared-q; {b} --report none --deny-read /tmp/shared-q -- sh -c "
                   "'cat /tmp/shared-q; cp /tmp/shared-q x; cat x; echo fine >/tmp/shared-f; cat /tmp/shared-f'", cwd=work)
    t.ok("secret" not in r.out and "fine" in r.out, "what the inner policy denies to read", r)
    with Session(person) as s:
        r = s.sh(f"echo s >/tmp/shared-1; {b} -- sh -ec '{b} -- cat /tmp/shared-1; echo i >/tmp/shared-2'", cwd=work)
        r2 = s.sh("cat /tmp/shared-2", cwd=work)
        t.equal((r.out, r2.out), ("s\n", "i\n"), "a sandbox inside a session's command", r, r2)
    t.ok(eventually(lambda: not servers(person)), "no process is left", servers(person))


def test_nested_later(person, t):
    """An inner run sees what the host adds, although it must not change the outer layer itself."""
    work = person.folder()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="shared-late-") as given:
        os.chmod(given, 0o755)
        script = (f"ls {given}/f; {BUCKLE} run -- sh -c 'ls {given}/f; echo looked; read x; for i in 1 2 3 4 5 6 7 8 9 10; do "
                  f"test -e {given}/f && break; sleep 0.2; done; cat {given}/f'")
        child = person.start([BUCKLE, "run", "--report", "none", "--", "sh", "-c", script], cwd=work, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        child.stdout.readline()
        person.write(f"{given}/f", "there\n")
        out, _ = child.communicate("\n")
        t.equal(out, "there\n", "a file that appears later")


# ---- attacks ----


def test_strangers(person, t):
    """Nobody else reads a session's layer or writes to its TMPDIR: no other session, no other run."""
    work = person.folder()
    with Session(person) as one, Session(person) as two:
        tmpdir = one.sh("echo secret >/tmp/shared-p; echo x >$TMPDIR/p; echo $TMPDIR", cwd=work).out.strip()
        tries = f"""cat /tmp/shared-p; echo evil >{tmpdir}/evil; echo evil >{tmpdir}/p; ln -s {tmpdir} l; echo evil >l/evil
rm -rf {tmpdir}; mv {tmpdir} $TMPDIR/m; for p in /proc/[0-9]*; do cat $p/root/tmp/shared-p $p/fd/*/upper/shared-p; done
mount --bind {tmpdir} /mnt; echo evil >/mnt/evil; find /tmp /run /dev -maxdepth 3 -name shared-p -exec cat {{}} + 2>/dev/null"""
        for name, run in {"another session": two.run, "no session": person.run}.items():
            r = run("--report", "none", "--", "sh", "-c", tries, cwd=work)
            t.ok("secret" not in r.out, f"a session's /tmp is not read by {name}", r)
            with open(f"{tmpdir}/p", encoding="utf-8") as f:
                t.ok(f.read() == "x\n" and os.listdir(tmpdir) == ["p"], "… nor its TMPDIR written")
        inside = "for p in /proc/[0-9]*; do cat $p/fd/*/upper/shared-p $p/fd/*/shared-p $p/root/../upper/shared-p; done"
        r = one.sh(inside, "--report", "none", cwd=work)
        t.ok("secret" not in r.out, "the upper side has no other name inside", r)


def test_other_users(person, t):
    """Another user's session reads neither the layer nor, unless it is root's, the TMPDIR."""
    others = [other for other in PEOPLE if other.uid != person.uid]
    work = person.folder()
    for other in others:
        settle(other)
        with Session(person) as one, Session(other) as two:
            tmpdir = one.sh("echo secret >/tmp/shared-p; echo hidden >$TMPDIR/p; echo $TMPDIR", cwd=work).out.strip()
            r = two.sh(f"cat /tmp/shared-p; cat {tmpdir}/p; echo evil >{tmpdir}/p; rm -rf {tmpdir}; "
                       "for p in /proc/[0-9]*; do cat $p/root/tmp/shared-p $p/fd/*/upper/shared-p; done", "--report", "none",
                       cwd=other.folder())
            t.ok("secret" not in r.out, f"a session's /tmp is not read by a session of {other.name}", r)
            t.ok(other.uid == 0 or "hidden" not in r.out, "… nor its TMPDIR, but by root", r)
            with open(f"{tmpdir}/p", encoding="utf-8") as f:
                t.ok(f.read() == "hidden\n" and os.listdir(tmpdir) == ["p"], "… nor is its TMPDIR written")
            if person.uid != 0:
                t.equal(os.stat(os.path.dirname(tmpdir)).st_mode & 0o77, 0, "the folder of TMPDIRs is the user's alone")


def test_fake(person, t):
    """A command cannot talk to the process that has the layers, nor stop it."""
    work = person.folder()
    with Session(person) as s:
        s.sh("echo x >/tmp/shared-v", cwd=work)
        server = servers(person)[0]
        r = s.sh(f"kill -9 {server}; kill -9 -1; pkill buckle; ls -l /proc/{server}/fd; cat /proc/{server}/maps; "
                 f"nsenter -t {server} -m ls /tmp", "--report", "none", cwd=work)
        t.equal(servers(person), [server], "it runs on", r)
        r = s.sh("cat /tmp/shared-v", cwd=work)
        t.equal(r.out, "x\n", "… and the layer is as it was", r)


def test_links(person, t):
    """Links and deep folders in TMPDIR do not lead the removal anywhere else."""
    work, outside = person.folder(), person.folder()
    for name in ("kept", "deep/kept"):
        person.write(f"{outside}/{name}", "kept\n")
    s = Session(person)
    tmpdir = s.sh(f"""
cd $TMPDIR; ln -s {outside} a; ln -s {outside}/kept b; ln -s / root; mkdir d; ln -s {outside}/deep d/e; ln -s .. up
mkdir closed; ln -s {outside} closed/x; chmod 0 closed; ln -s $TMPDIR/.. .deep-1-1; echo $TMPDIR""", cwd=work).out.strip()
    deep = f"path=$(printf 'n%.0s' $(seq 20)); cd $TMPDIR; for i in $(seq 100); do mkdir $path; cd $path; ln -s {outside} s; done"
    t.ok(s.run("--", "bash", "-c", deep, cwd=work).status == 0, "a deep tree")
    s.end()
    t.ok(eventually(lambda: not os.path.exists(tmpdir), 30), "TMPDIR is removed, deep as it is", tmpdirs(person))
    t.ok(os.path.exists(f"{outside}/kept") and os.path.exists(f"{outside}/deep/kept"), "nothing else is")


SWAP = """
import os, time
os.chdir(os.environ["TMPDIR"])
for n in ("x", "x/d", "x/d/d"): os.makedirs(n, exist_ok=True)
for i in range(300): open(f"x/d/f{i}", "w").close()
os.symlink(%r, "l")
print("up", flush=True)
while True:
    try:
        os.rename("x/d", "x/e"); os.rename("l", "x/d"); os.rename("x/d", "l"); os.rename("x/e", "x/d")
    except OSError:
        pass
"""


def test_race(person, t):
    """A command that swaps a folder for a link while everything is killed."""
    work, outside = person.folder(), person.folder()
    for i in range(300):
        person.write(f"{outside}/f{i}", "")
    for _ in range(3):
        s = Session(person)
        child = s.start("--", "/usr/bin/python3", "-c", SWAP % outside, cwd=work)
        child.stdout.readline()
        os.kill(s.pid, signal.SIGKILL)
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()
        eventually(lambda: not servers(person))
        s.end()
    t.equal(len(os.listdir(outside)), 300, "nothing outside is removed")
    t.ok(eventually(lambda: person.run("--", "true", cwd=work).status == 0 and not tmpdirs(person)), "nothing is left",
         tmpdirs(person))


def test_sockets(person, t):
    """Sockets: those of the session's commands are reached, those of the host as the policy says."""
    work = person.folder()
    connect = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
print(s.recv(6).decode())"""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="shared-sock-") as given, \
            secret_socket(f"{given}/agent") as path, Session(person) as s:
        os.chmod(given, 0o755)
        s.sh(f"ln -s {path} /tmp/shared-l; mv {path} /tmp/shared-mv; ln {path} /tmp/shared-hl", "--report", "none", cwd=work)
        for one in (path, "/tmp/shared-l", "/tmp/shared-mv", "/tmp/shared-hl"):
            r = s.run("--report", "none", "--", "/usr/bin/python3", "-c", connect, one, cwd=work)
            t.ok("secret" not in r.out, f"a socket of the host is not reached: {os.path.basename(one)}", r)
            inner = f"{BUCKLE} run --report none -- /usr/bin/python3 -c \"$1\" {one}"
            r = s.run("--report", "none", "--", "sh", "-c", inner, "sh", connect, cwd=work)
            t.ok("secret" not in r.out, "… nor from a sandbox inside", r)
        own = s.start("--", "/usr/bin/python3", "-c", "import socket\ns = socket.socket(socket.AF_UNIX)\n"
                      "s.bind('/tmp/shared-own'); s.listen(); print('up', flush=True)\ns.accept()[0].send(b'served')", cwd=work)
        own.stdout.readline()
        r = s.run("--", "/usr/bin/python3", "-c", connect, "/tmp/shared-own", cwd=work)
        t.quiet(r, "a socket of another command of the session is reached", "served\n")
        own.kill()
        own.wait()
        own.stdin.close()
        own.stdout.close()


def test_denied(person, t):
    """What a command's policy denies to read is denied, whoever wrote it to the session's /tmp."""
    work = person.folder()
    with Session(person) as s:
        s.sh("echo secret >/tmp/shared-secret", cwd=work)
        for words in (["--deny-read", "/tmp/shared-secret"], ["--deny-read", "/tmp/shared-secret", "--strict-reads"]):
            r = s.sh("cat /tmp/shared-secret; mv /tmp/shared-secret /tmp/shared-s2; cat /tmp/shared-s2; cp /tmp/shared-secret x",
                     "--report", "none", *words, cwd=work)
            t.ok("secret" not in r.out and not os.path.exists(f"{work}/x"), f"a later command's --deny-read {words[2:]}", r)
        child = s.start("--report", "none", "--deny-read", "/tmp/shared-new", "--", "sh", "-c",
                        "echo up; read x; cat /tmp/shared-new", cwd=work)
        child.stdout.readline()
        s.sh("echo secret >/tmp/shared-new", cwd=work)
        out, _ = child.communicate("\n")
        t.ok("secret" not in out, "… also when another command makes it meanwhile", out)


def test_outside(person, t):
    """What runs outside never shares the session's TMPDIR."""
    work = person.folder()
    settings(person, sandbox={"allowUnsandboxedCommands": True}, allowUnsandboxedCommands=True)
    client = Client(person, work, capabilities={})
    inside = client.bash("echo $TMPDIR").text.strip().split("\n")[0]
    r = client.bash("echo T=$TMPDIR", dangerouslyDisableSandbox=True)
    t.ok(inside.startswith("/") and f"T={inside}" not in r.text, "a command outside has its own TMPDIR", r)
    client.close()


TESTS = [test_session, test_killed, test_mcp, test_hook, test_host, test_nested, test_nested_later, test_strangers,
         test_other_users, test_fake, test_links, test_race, test_sockets, test_denied, test_outside]

only = sys.argv[1:]
for_everybody([lambda person, t, test=test: (settle(person), test(person, t)) for test in TESTS
               if not only or test.__name__ in only])
sys.exit(tap.done())
