#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spares: sandboxes that sessions prepare for their next command. A command finds the same with and
without one; what changes meanwhile counts; nothing inside reaches one; nothing of it is left.

    e2e-spare.py [whole]     whole: every row, not only the most important
"""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import apart  # first: it starts the program again
import running
from agents import Client, settings
from running import eventually, for_everybody
from tap import done, skip

WHOLE = "whole" in sys.argv[1:]
SPACE = "readlink /proc/self/ns/pid"  # tells sandboxes apart


def spares(of=None):
    """The controllers that hold a command, or one holder's."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
            with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                name = f.read().strip()
        except OSError:
            continue
        ours = any(w.startswith(b"--spare") for w in words) and not name.startswith("buckle-")
        if ours and (of is None or any(of.encode() in w for w in words)):
            found.append(int(pid))
    return found


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def family(pid):
    return [pid, *(p for child in children(pid) for p in family(child))]


def held_space(pid):
    """The pid namespace of a held command, or None: its judge waits for the exec, as after vfork()."""
    held, space = False, None
    for child in children(pid):
        try:
            with open(f"/proc/{child}/stat", encoding="utf-8") as f:
                text = f.read()
            if "buckle-init" in text:
                space = os.readlink(f"/proc/{child}/ns/pid")
        except OSError:
            continue
        held |= "buckle-judge" in text and text.rsplit(")", 1)[1].split()[0] == "D"
    return space if held else None


def wait_held(list_spares):
    """Waits until a spare holds its command, and a moment more. Returns its pid namespace."""
    found = []

    def look():
        found[:] = [space for space in map(held_space, list_spares()) if space]
        return found
    eventually(look)
    time.sleep(0.25)
    return found[0] if found and look() else None


class Session:
    """What `buckle hook` does: a session, and commands that belong to it."""

    def __init__(self, user, folder, *words):
        self.user, self.folder = user, folder
        self.program = running.CLIENT
        self.owner = user.start(["sleep", "600"])
        self.pid = user.call([running.BUCKLE, "session", *words, "--for", str(self.owner.pid)],
                             cwd=folder).out.strip()

    def words(self, command, *more):
        return [self.program, "run", "--annotate", "--watch-net", "--root", self.folder, *more,
                "--session", self.pid, "--ask-session", "--leave-background", "--folder-of", "x",
                "--", "/bin/sh", "-c", command]

    def run(self, command, *more, cwd=None, **how):
        return self.user.call(self.words(command, *more), cwd=cwd or self.folder,
                              start_new_session=True, **how)

    def ready(self):
        return wait_held(lambda: spares(f"--session={self.pid}"))

    def ready_again(self):
        """After a change. A spare that was being prepared meanwhile gives up, and the next command makes another."""
        return self.ready() or self.run("true").status == 0 and self.ready()

    def uses(self, held):
        """Whether the next command runs in this sandbox."""
        return held is not None and self.run(SPACE).out.strip() == held

    def end(self):
        self.owner.kill()
        self.owner.wait()


# ---- the same with and without ----

FACTS = r"""
fact() { printf '%s: ' "$1"; shift; "$@" 2>&1 | tr '\n' '|'; echo; }
fact id id
fact umask umask
fact limits sh -c 'ulimit -a'
fact hard sh -c 'ulimit -Ha'
fact nice nice
fact folder pwd
fact variables sh -c 'env | grep -v -e ^_= -e PROXY -e proxy -e "^PWD=" | sort'
fact descriptors sh -c 'for f in /proc/$$/fd/*; do echo ${f##*/}; done'
fact status sh -c 'grep -e ^Cap -e ^NoNew -e ^Seccomp -e ^Sig[^Q] -e ^Uid -e ^Gid -e ^Groups /proc/self/status'
fact cgroup cat /proc/self/cgroup
fact oom cat /proc/self/oom_score_adj
fact schedule sh -c 'cut -d" " -f18,19,40,41 /proc/self/stat'
fact processes sh -c 'set -- /proc/[0-9]*; echo $#'
fact first cat /proc/1/comm
fact terminal sh -c 'ps -o tty= -p $$ 2>/dev/null; tty'
fact mounts sh -c 'cut -d" " -f5- /proc/self/mountinfo | sed "s/[a-z]*:[0-9]*//" | sort | head -c 100000 | wc -l'
fact network sh -c 'cat /proc/net/dev | cut -d: -f1'
fact host hostname
fact tmpdir sh -c 'echo $TMPDIR; ls -ld $TMPDIR | cut -c1-10'
fact shm ls /dev/shm
fact devices sh -c 'head -c 4 /dev/zero | wc -c; echo x >/dev/null'
fact written sh -c 'echo text >new && cat new && rm new'
fact outside sh -c 'echo no >/etc/buckle-no; echo $?'
fact secret sh -c 'cat ~/.ssh/id_rsa; echo $?'
fact private sh -c 'echo x >/tmp/buckle-spare-row && cat /tmp/buckle-spare-row && rm /tmp/buckle-spare-row'
fact kernel sh -c 'echo 1 >/proc/sys/kernel/panic; echo $?'
fact ptrace sh -c 'kill -0 1; echo $?'
fact marks sh -c 'echo ${SANDBOX_RUNTIME-}'
"""


def facts(r):
    return dict(line.split(": ", 1) for line in r.out.splitlines() if ": " in line)


def compare(t, spare, plain, name, command, *more, **how):
    was_ready = spare.ready()
    a, b = spare.run(command, *more, **how), plain.run(command, *more, **how)
    one, other = ((r.status, r.out, re.sub(r"\(\d+\)", "(N)", r.err)) for r in (a, b))
    t.ok(was_ready and one == other, f"the same: {name}", a, b)


def test_same(user, t):
    folder = user.folder()
    user.write(f"{user.home}/.ssh/id_rsa", "secret")
    spare, plain = Session(user, folder), Session(user, folder, "--no-spare")
    first = spare.run("echo text; exit 3")
    t.ok(first.status == 3 and first.out == "text\n", "the first command runs as usual", first)
    plain.run("true")
    held = spare.ready()
    t.ok(held, "then a spare waits")
    t.ok(spare.uses(held), "the next command uses it", held)
    spare.ready()
    a, b = spare.run(FACTS), plain.run(FACTS)
    one, other = facts(a), facts(b)
    t.ok(len(one) >= 28, "facts were found", a)
    for name, value in one.items():
        value, want = (v.replace(spare.pid, "N").replace(plain.pid, "N")
                       for v in (value, other.get(name, "")))
        if name in ("variables", "tmpdir"):  # each session has its own
            value, want = value.count("|"), want.count("|")
        if name == "secret":  # a mask is empty, or refuses
            value, want = "secret" in value, False
        t.equal(value, want, f"the same: {name}")

    if WHOLE:
        same_rows(user, t, folder, spare, plain)
    spare.end()
    plain.end()


def read_at_once(pipe):
    """All that a pipe has, or None if a process that has it could still write."""
    os.set_blocking(pipe.fileno(), False)
    parts = []
    while part := pipe.read():
        parts.append(part)
    return None if part is None else b"".join(parts)


def test_output_ends(user, t):
    folder = user.folder()
    s = Session(user, folder)
    s.run("true")
    held = s.ready()
    child = user.start(s.words(f"{SPACE}; echo text >&2"), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, start_new_session=True)
    child.wait()
    out, err = read_at_once(child.stdout), read_at_once(child.stderr)
    child.stdout.close()
    child.stderr.close()
    t.ok(held and out == f"{held}\n".encode() and err == b"text\n", "when the client has ended, the output has, too", held, out, err)
    s.end()


def test_programs(user, t):
    """The client is a small program; whatever it cannot do, the whole one does."""
    folder = user.folder()
    s = Session(user, folder)
    if s.program == running.BUCKLE:
        skip("buckle-client is not installed")
        return s.end()
    s.run("true")
    for program in (running.BUCKLE, running.CLIENT, running.BUCKLE):
        held = s.ready()
        s.program = program
        t.ok(s.uses(held), f"a spare is for both programs: {os.path.basename(program)}", held)
    s.program = running.CLIENT
    held = s.ready()
    r = s.run("echo $0; exit 4", "--deny-read", folder + "/closed")
    t.ok((r.status, r.out) == (4, "/bin/sh\n"), "other options: the whole program runs it", r)
    r = user.call([running.CLIENT, "--version"])
    t.ok(r.status == 0 and r.out.startswith("buckle "), "other commands, too", r)
    r = user.call([running.CLIENT, "run", "--no-such-option", "true"])
    t.ok(r.status == 2 and "unknown option" in r.err, "which says what is wrong", r)
    alone = user.folder("alone") + "/buckle-client"
    shutil.copy(running.CLIENT, alone)
    os.chmod(alone, 0o755)
    r = user.call([alone, "run", "true"])
    t.ok(r.status == 125 and "not beside buckle" in r.err, "alone it runs nothing", r)
    return s.end()


def same_rows(user, t, folder, spare, plain):
    compare(t, spare, plain, "an exit status", "exit 42")
    compare(t, spare, plain, "a signal", "kill -TERM $$")
    compare(t, spare, plain, "standard input", "wc -c; exec 0<&-; cat", stdin=b"x" * 1000000)
    compare(t, spare, plain, "much output", "head -c 3000000 /dev/zero | tr '\\0' x; echo e >&2")
    compare(t, spare, plain, "a long command", "true " + "x" * 60000 + "; echo end")
    compare(t, spare, plain, "one that is too long for a packet", "true '" + "x" * 120000 + "'; echo end")
    compare(t, spare, plain, "a denial", "echo no >/etc/buckle-no")
    compare(t, spare, plain, "a program that is not there", "exec /nowhere/at-all")
    compare(t, spare, plain, "a variable that changed", "echo $CHANGED", env={"CHANGED": "yes"})
    compare(t, spare, plain, "quotes and bytes", "printf '%s|' 'a b' \"\" $'\\303\\244' \"$HOME\"")
    for name, how, want in (("umask", "umask 077;", "0077"), ("limit", "ulimit -n 999;", "999"),
                            ("priority", "renice 5 $$ >/dev/null;", "\n5\n"),
                            ("ignored signal", "trap '' USR2;", "SigIgn:\t0000000000000800")):
        words = " ".join("'" + w.replace("'", "'\\''") + "'" for w in spare.words(
            "umask; ulimit -n; nice; echo $PWD; grep Sig /proc/self/status"))
        held = spare.ready()
        r = user.call(["/bin/sh", "-c", f"{how} {words}"], cwd=folder, start_new_session=True)
        t.ok(want in r.out, f"another {name} is the command's", r, held)
    os.makedirs(folder + "/sub", exist_ok=True)
    user.own(folder + "/sub")
    spare.ready()
    r = spare.run("cd sub; pwd")
    spare.ready()
    t.equal(spare.run("pwd").out, folder + "/sub\n", "cd lasts", r)
    spare.ready()
    spare.run("echo kept >$TMPDIR/f")
    spare.ready()
    t.equal(spare.run("cat $TMPDIR/f").out, "kept\n", "TMPDIR is the session's")
    spare.ready()
    t.ok(eventually(lambda: len(spares(f"--session={spare.pid}")) == 1), "there is one at a time")


# ---- signals, descriptors, terminals ----

def test_clients(user, t):
    folder = user.folder()
    s = Session(user, folder)
    s.run("true")
    s.ready()
    child = user.start(s.words("trap 'echo caught; exit 7' TERM; echo up; sleep 30 & wait"), cwd=folder,
                       stdout=subprocess.PIPE, start_new_session=True, stdin=subprocess.DEVNULL)
    child.stdout.readline()
    child.send_signal(signal.SIGTERM)
    t.ok(child.stdout.readline() == b"caught\n" and child.wait(10) == 7, "signals reach the command")
    s.ready()
    child = user.start(s.words("echo $$ >alive; while :; do date +%s%N >tick; sleep 0.05; done"),
                       cwd=folder, start_new_session=True, stdin=subprocess.DEVNULL)
    eventually(lambda: os.path.exists(folder + "/tick"))
    child.kill()
    child.wait()
    time.sleep(0.5)
    before = open(folder + "/tick").read()
    time.sleep(0.3)
    t.equal(open(folder + "/tick").read(), before, "the command ends with its client")

    s.run("true")
    s.ready()
    path = user.write(folder + "/passed", "through")
    with open(path, "rb") as f:
        os.set_inheritable(f.fileno(), True)
        r = s.run(f"cat <&{f.fileno()}", pass_fds=[f.fileno()])
    t.equal(r.out, "through", "a descriptor that the command inherits is its own", r)
    s.ready()
    main, other = pty.openpty()
    child = user.start(s.words("test -t 1 && echo terminal"), cwd=folder, stdin=other, stdout=other,
                       stderr=other, start_new_session=True)
    os.close(other)
    text = b""
    try:
        while b"terminal" not in text:
            text += os.read(main, 1000)
    except OSError:
        pass
    t.ok(child.wait(10) == 0 and b"terminal" in text, "with a terminal it runs as usual", text)
    os.close(main)
    s.end()


# ---- what changes meanwhile ----

def test_grant_meanwhile(user, t):
    """A spare that asked for the session's grants before one, and is ready after it."""
    folder = user.folder()
    settings(user)
    s = Session(user, folder)
    denied = stopped = 0
    for i in range(8 if WHOLE else 4):
        outside = user.folder("outside")
        s.ready()
        s.run("true")
        early = []
        eventually(lambda: early.extend(spares(s.pid)) or early)
        time.sleep(0.002 * i)
        for pid in early:
            os.kill(pid, signal.SIGSTOP)
        stopped += any(not held_space(pid) for pid in early)
        user.call([running.BUCKLE, "grant", "--session", s.pid, "--write", outside])
        for pid in early:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.25)
        denied += s.run(f"echo x >{outside}/f").status != 0
    t.equal((denied, stopped > 0), (0, True), "a grant counts while a spare is being prepared", stopped)
    s.end()


def test_changes(user, t):
    folder = user.folder()
    user.write(folder + "/data/file", "text\n")
    settings(user)
    s = Session(user, folder)
    s.run("true")

    def changed(name, change, command, check):
        held = s.ready_again()
        change()
        r = s.run(f"({SPACE}) >&2; {command}")
        fresh = r.err.startswith("pid:[") and r.err.splitlines()[0] != held
        t.ok(held and fresh and check(r), f"{name}: counts, and the spare is not used", r, held)

    changed("settings that deny reading", lambda: settings(user, filesystem={"denyRead": [f"{folder}/data"]}),
            "cat data/file", lambda r: r.status != 0 and r.out == "")
    changed("and allow it again", lambda: settings(user), "cat data/file", lambda r: r.out == "text\n")
    changed("settings that say what to report",
            lambda: settings(user, ignoreViolations={"*": ["quiet"]}), "touch /etc/buckle-quiet",
            lambda r: "sandbox_violations" not in r.err)
    settings(user)
    s.run("true")
    changed("the project's settings", lambda: user.write(folder + "/.buckle/settings.json",
                                                        '{"filesystem": {"denyWrite": ["data"]}}'),
            "echo more >>data/file", lambda r: r.status != 0)
    changed("settings that are gone", lambda: os.remove(folder + "/.buckle/settings.json"),
            "echo more >>data/file", lambda r: r.status == 0)
    outside = user.folder("outside")
    if not WHOLE:
        return s.end()
    changed("a grant", lambda: user.call([running.BUCKLE, "grant", "--session", s.pid,
                                              "--write", outside]),
            f"echo x >{outside}/f", lambda r: r.status == 0)
    target = user.write(user.folder("keys") + "/real", "secret\n")
    os.makedirs(f"{user.home}/.aws", exist_ok=True)
    user.own(f"{user.home}/.aws")
    changed("a link to a secret", lambda: os.symlink(target, f"{user.home}/.aws/credentials"),
            f"cat {target}", lambda r: r.out == "")
    outside = user.folder("outside")
    settings(user, filesystem={"allowWrite": [".", f"{outside}/out"]})
    os.makedirs(outside + "/out")
    user.own(outside + "/out")
    s.run("true")

    def replace():
        shutil.rmtree(outside + "/out")
        os.makedirs(outside + "/out")
        user.own(outside + "/out")
    changed("a folder that was replaced", replace, f"echo x >{outside}/out/f", lambda r: r.status == 0)
    user.sh("git init -q . && git config user.email a@b && git config user.name n", cwd=folder)
    s.run("true")
    changed("git's settings", lambda: user.sh("git config core.hooksPath tools/hooks && mkdir -p tools/hooks", cwd=folder),
            "echo x >tools/hooks/pre-commit", lambda r: r.status != 0)
    if user.uid == 0:
        place = user.folder("mounted")
        changed("a mount", lambda: subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True),
                "true", lambda r: r.status == 0)
        subprocess.run(["umount", place], check=True)
    settings(user)
    s.run("true")
    t.ok(s.uses(s.ready_again()), "if nothing changes, the next one is used again")
    s.end()


# ---- from inside ----

PROBE = r"""
import os, socket, sys, signal
host, held = [int(w) for w in sys.argv[1].split(",")], sys.argv[2:]
for pid in host:
    for what in (lambda: os.kill(pid, signal.SIGTERM), lambda: os.listdir(f"/proc/{pid}/fd"),
                 lambda: open(f"/proc/{pid}/mem", "r+b"), lambda: os.pidfd_open(pid)):
        try:
            what()
            with open(f"/proc/{pid}/comm") as f:
                name = f.read().strip()
            if name.startswith("buckle"):
                print("reached", pid, name)
        except OSError:
            pass
for name in held:
    for kind in (socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
        try:
            with socket.socket(socket.AF_UNIX, kind) as s:
                s.settimeout(2)
                s.connect(b"\0" + name.encode())
                print("connected", name)
        except OSError:
            pass
print(sum(p.isdigit() for p in os.listdir("/proc")), "processes")
"""


def abstract_names():
    with open("/proc/net/unix", encoding="utf-8") as f:
        words = [line.split() for line in f]
    return sorted({w[7][1:] for w in words if len(w) > 7 and w[7].startswith("@") and "buckle" in w[7]})


def test_inside(user, t):
    """An earlier command of the session goes on in the background, and looks for the spare."""
    folder = user.folder()
    s = Session(user, folder)
    user.write(folder + "/probe.py", PROBE)
    s.run("true")
    s.ready()
    s.run("(while [ ! -e go ]; do sleep 0.05; done; python3 probe.py $(cat go) >found 2>&1; "
          "mv found seen) >/dev/null 2>&1 &")
    held = s.ready()
    pids = [p for one in spares(f"--session={s.pid}") for p in family(one)]
    user.write(folder + "/go.new", ",".join(map(str, [*pids, int(s.pid)])) + " " + " ".join(abstract_names()))
    os.rename(folder + "/go.new", folder + "/go")
    eventually(lambda: os.path.exists(folder + "/seen"), 60)  # it tries what every other session here has, too
    found = open(folder + "/seen").read() if os.path.exists(folder + "/seen") else "nothing"
    t.ok(held and len(pids) >= 3 and "reached" not in found and "connected" not in found and
         "processes" in found, "a command sees and reaches no process or socket of the spare", found, pids)
    t.ok(s.uses(held), "which is used as if nothing had been tried")
    s.ready()
    r = s.run("for f in /proc/self/fd/*; do readlink $f; done | grep -c -e socket -e memfd -e mountinfo; true")
    t.equal(r.out.strip(), "0", "the command gets none of its descriptors", r)
    s.ready()
    r = s.run(f"{running.BUCKLE} run --session {s.pid} -- sh -c 'echo inner'; "
              f"{running.BUCKLE} run --session {s.pid} --spare=session -- sh -c ''; true")
    t.ok("inner" not in r.out or r.status == 0, "a run inside is no client of it", r)
    t.ok(s.uses(s.ready()), "and offers no spare to the session")
    s.end()


# ---- the end ----

def test_end(user, t):
    folder = user.folder()
    for name, end in (("the owner", lambda s: s.end()),
                      ("the session", lambda s: os.kill(int(s.pid), signal.SIGKILL))):
        s = Session(user, folder)
        s.run("true")
        held = s.ready()
        pids = [p for one in spares(f"--session={s.pid}") for p in family(one)]
        end(s)
        gone = eventually(lambda: not any(os.path.exists(f"/proc/{p}") for p in pids))
        t.ok(held and len(pids) >= 3 and gone, f"a spare ends with {name}", pids)
        s.end()
    s = Session(user, folder)
    s.run("true")
    s.ready()
    for pid in spares(f"--session={s.pid}"):
        os.kill(pid, signal.SIGKILL)
    r = s.run("echo fine")
    t.ok(r.status == 0 and r.out == "fine\n", "without its spare a command runs as usual", r)
    r = s.run("true", "--spare=fd:99")
    t.ok(r.status == 125 and "--spare" in r.err, "a holder that is not there", r)
    s.end()
    def left():
        return [os.path.join(at, name) for at, folders, files in os.walk(user.sessions)
                for name in folders + files if at != user.sessions and name != "numbers"]
    t.ok(eventually(lambda: not spares(running.BUCKLE) and not left()), "nothing is left",
         spares(running.BUCKLE), left())


# ---- buckle mcp ----

def mcp_ready(c):
    return wait_held(lambda: children(c.child.pid))


def test_mcp(user, t):
    folder, outside = user.folder(), user.folder("outside")
    user.write(folder + "/data", "text\n")
    settings(user, autoAllowBashIfSandboxed=True)
    c, plain = Client(user, folder), Client(user, folder, "--no-spare")
    held = mcp_ready(c)
    t.ok(held and c.bash(SPACE).text.strip() == held, "the first command of buckle mcp uses a spare", held)
    t.ok(not any(map(held_space, children(plain.child.pid))), "there is none if it shall keep none")
    for command in ("echo out; echo err >&2; exit 3", "kill -TERM $$", "mkdir -p d; cd d", "pwd",
                    "echo x >/etc/buckle-no", "ls /proc/self/fd; umask", "cat; echo end", "cd .."):
        mcp_ready(c)
        a, b = c.bash(command), plain.bash(command)
        one, other = (re.sub(r"\((\d+)\)", "(N)", repr((r.text, r.facts))) for r in (a, b))
        t.ok(one == other, f"the same through buckle mcp: {command}", a.text, b.text)
    mcp_ready(c)
    slow = c.bash("sleep 5", timeout=300)
    t.ok(slow.facts["timedOut"], "a time limit counts from the start of the command", slow.text)
    held = mcp_ready(c)
    settings(user, autoAllowBashIfSandboxed=True, filesystem={"denyRead": [folder + "/data"]})
    r = c.bash(f"{SPACE}; cat data")
    t.ok(held and "text" not in r.text and r.text.split()[0] != held, "settings that changed count", r.text)
    settings(user, autoAllowBashIfSandboxed=True)
    c.bash("true")
    held = mcp_ready(c)
    user.call([running.BUCKLE, "grant", "--session", str(c.child.pid), "--write", outside])
    r = c.bash(f"{SPACE}; echo x >{outside}/f && echo wrote")
    t.ok(held and "wrote" in r.text and r.text.split()[0] != held, "so does a grant", r.text)
    mcp_ready(c)
    pids = family(c.child.pid)
    c.child.kill()
    c.child.wait()
    t.ok(eventually(lambda: not any(os.path.exists(f"/proc/{p}") for p in pids)),
         "and a spare ends with a server that was killed", pids)
    plain.close()
    c.close()


def test_not_started(user, t):
    """Where none could be used, none is started: each would take a number of the session."""
    folder = user.folder()

    def numbers(line):
        c = Client(user, folder, "--mode", "open")
        for _ in range(2):
            c.bash(line)
            time.sleep(0.2)
        got = c.bash(line, run_in_background=True).facts.get("job")
        c.close()
        s = Session(user, folder)
        s.run(line)
        time.sleep(0.2)
        s.run("sleep 5 >/dev/null 2>&1 &")
        listed = user.call([running.BUCKLE, "session", "--list"], cwd=folder).out
        s.end()
        return got, [int(n) for n in re.findall(r"^ +(\d+) .*sleep 5", listed, re.M)]
    settings(user, commands=[{"match": "nothing *", "deny": True}])
    got, hook = numbers("true")
    t.ok(got == 3 and hook == [2], "with rules for commands", got, hook)
    settings(user, record={"path": f"{user.home}/record/"})
    got, hook = numbers("true")
    t.ok(got == 3 and hook == [2], "with a record", got, hook)
    settings(user)
    got, hook = numbers("true")
    t.ok(got != 3 and hook != [2], "and elsewhere there is one", got, hook)


if __name__ == "__main__":
    for_everybody((test_same, test_output_ends, test_programs, test_clients, test_grant_meanwhile, test_changes, test_inside, test_end,
                   test_mcp, test_not_started) if WHOLE else
                  (test_same, test_output_ends, test_programs, test_grant_meanwhile, test_changes, test_inside, test_not_started))
    sys.exit(done())
