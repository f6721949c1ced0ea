#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Known escapes from other sandboxes, one by one, and what must still work. Prints TAP.

    tests/e2e/e2e-traps.py [TRAP…]

Attackers are in tests/escape ($TOOLS/escape); tests/probe makes single calls. They can change only
files of this test. As root, everything runs as root and as an ordinary user. Races run as the ordinary
user, for RACE_SECONDS each (SLOW, as under sanitizers, makes them short).
"""

import fcntl
import glob
import os
import pty
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import races
import tap
from races import WRITES_IN
from world import (World, check_batch, child_named, escape, is_alive, people, processes_with,
                   read_until, tool, until)

SECONDS = float(os.environ.get("RACE_SECONDS", "0.4" if os.environ.get("SLOW") else "2"))


# ---- 1: descriptors carry the rights of a judge that is confined itself ----


def trap_1(who):
    world = World(who)
    os.mkdir(world.path("a"))
    who.own(world.path("a"))
    profile = world.profile(WRITES_IN.replace("{inside}", "{inside}/a"))
    child = who.start([who.buckle(), "run", "--report", "none", "--profile", profile, "--",
                       tool("probe"), "--batch"], world.inside, stdin=subprocess.PIPE)

    def ask(*words):
        child.stdin.write(("\t".join(words) + "\n").encode())
        child.stdin.flush()
        ready = select.select([child.stdout], [], [], 10)[0]
        return child.stdout.readline().decode().strip() if ready else "no answer"

    tap.equal(ask("open-create", world.path("a/f")), "ok", f"{who.name}: 1: creating is allowed")
    # An outside process replaces the folder: the judge goes by names, the wall by inodes.
    os.rename(world.path("a"), world.path("b"))
    os.mkdir(world.path("a"))
    who.own(world.path("a"))
    tap.equal(ask("open-create", world.path("a/g")), "EACCES",
              f"{who.name}: 1: what the judge would allow, its own wall refuses")
    tap.equal(ask("open-write", world.path("b/f")), "EPERM",
              f"{who.name}: 1: what the wall would allow, the judge refuses")
    tap.ok(not os.listdir(world.path("a")), f"{who.name}: 1: nothing was made")
    child.communicate(timeout=10)


# ---- 2: the supervisor can be neither ended nor replaced ----


def trap_2(who):
    world = World(who)
    done = who.boxed(escape("call-judge"), world, ["--report", "none"])
    reported = done.lines()
    for what in ("a listener of its own", "a listener, with threads", "signal the first process"):
        tap.equal(reported.get(what), "EPERM", f"{who.name}: 2: {what}")
    tap.ok(reported.get("the judge answers") == "ok" and reported.get("signal the parent") != "ok"
           and "can signal" not in done.out and "can read" not in done.out,
           f"{who.name}: 2: nobody outside can be signalled or read", done)

    marker = f"insist-{who.name}"
    child = who.start([who.buckle(), "run", "--report", "none", "--", "sh", "-c",
                       f"exec {tool('escape')} call-insist {world.out('victim')}", marker],
                      world.inside)
    ready = read_until(child.stdout, "insisting")
    inside = processes_with(world.out("victim"))
    judge = child_named(child.pid, "buckle-judge")
    if not tap.ok(judge and "insisting" in ready, f"{who.name}: 2: the attacker runs", ready):
        child.kill()
        child.communicate()
        return
    os.kill(judge, signal.SIGKILL)
    try:
        out, err = child.communicate(timeout=10)
        out = out.decode(errors="replace")
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = "", b"did not end"
    tap.ok(child.returncode == 125, f"{who.name}: 2: without its judge the sandbox ends",
           child.returncode, err)
    tap.ok("written" not in out and "judges itself" not in out and world.intact(),
           f"{who.name}: 2: nothing got out meanwhile", out[-300:])
    tap.ok(until(lambda: not any(is_alive(f"/proc/{pid}") for pid in inside)),
           f"{who.name}: 2: nobody is left")


# ---- 3: a sandbox in a sandbox ----


def trap_3(who):
    world = World(who)
    done = who.boxed([who.buckle(), "run", "--", "true"], world, ["--report", "none"])
    tap.ok(done.status == 0, f"{who.name}: 3: a run inside has its own judge", done)
    walls = world.profile("(version 1)\n(allow default file-write-setugid)\n")
    done = who.boxed([who.buckle(), "run", "--profile", walls, "--", *escape("object-list")], world)
    tap.ok(done.status == 0, f"{who.name}: 3: no object of ours is within its reach", done)
    done = who.boxed([who.buckle(), "run", "--accept-weaker", "--report", "none", "--", "sh", "-c",
                      f"echo x > new; echo x > sub/new; echo x > {world.out('new')}"],
                     world, ["--report", "none"])
    tap.ok(os.path.exists(world.path("new")) and world.intact(),
           f"{who.name}: 3: both policies hold inside", done)


# ---- 4: races ----


def trap_4(who):
    if who.uid == 0:
        return  # e2e-escape.py has all of them, shorter, for everybody and in every sandbox
    for name in races.FILES:
        races.race(who, name, SECONDS, f"{who.name}: 4: {name}")
    world = races.race(who, "race-plant", SECONDS, f"{who.name}: 4: race-plant")
    tap.ok(not os.path.exists(world.path(".git/hooks")), f"{who.name}: 4: no hook was planted")
    for name in races.SOCKETS:
        races.race_to_server(who, name, SECONDS, f"{who.name}: 4: {name}")


# ---- 5, 6, 9: transparent behaviour ----

ALIKE = {5: ["like-strings", "like-threads"],
         6: ["like-magic", "like-open", "like-results", "like-umask", "like-masks", "like-names",
             "like-attributes", "like-folders", "like-fifo"],
         9: ["like-storm"],
         14: ["like-creds"]}


def alike(who, number, but=()):
    for name in (n for n in ALIKE[number] if n not in but):
        words = escape(name, min(SECONDS, 1)) if name == "like-storm" else escape(name)
        reported = []
        for options in (None, ["--report", "none"]):
            world = World(who)
            if options is None:
                done = who.run(words, world.inside, start_new_session=True)
            else:
                done = who.boxed(words, world, options, start_new_session=True)
            reported.append(done.out.splitlines() + [f"status {done.status}"])
        bare, boxed = reported
        differ = [f"bare {a!r}, boxed {b!r}" for a, b in zip(bare, boxed) if a != b]
        tap.ok(bare == boxed and len(bare) > 1 and bare[-1] == "status 0",
               f"{who.name}: {number}: {name} is the same inside ({len(bare)} lines)", *differ,
               *(["bare", *bare[-3:], "boxed", *boxed[-3:]] if not differ else []), done.err)
        if name == "like-storm":
            tap.equal(boxed[0], "done twice or not at all: 0", f"{who.name}: 9: exactly once each")


def trap_5(who):
    alike(who, 5)


def trap_6(who):
    alike(who, 6)
    world = World(who)
    master, terminal = pty.openpty()
    child = who.start([who.buckle(), "run", "--", "sh", "-c", "echo to the terminal > /dev/tty"],
                      world.inside, stdin=terminal, stdout=terminal, stderr=terminal,
                      start_new_session=True,
                      preexec_fn=lambda: fcntl.ioctl(0, 0x540e, 0))  # TIOCSCTTY
    os.close(terminal)
    text, end = b"", time.monotonic() + 10
    while b"terminal\r" not in text and time.monotonic() < end:
        if select.select([master], [], [], 0.2)[0]:
            try:
                text += os.read(master, 4096)
            except OSError:
                break
    child.wait(timeout=10)
    os.close(master)
    tap.ok(child.returncode == 0 and text == b"to the terminal\r\n",
           f"{who.name}: 6: /dev/tty is the command's terminal", text, child.returncode)


def trap_9(who):
    alike(who, 9)


# ---- 7: moving and linking ----


def trap_7(who):
    world = World(who)
    for folder in (".git", ".git/hooks", "plain", "prepared", "prepared/hooks"):
        os.mkdir(world.path(folder))
        who.own(world.path(folder))
    for name in (".git/config", "prepared/config", "prepared/hooks/pre-commit", "plain/file"):
        with open(world.path(name), "w") as f:
            f.write("original" if name != "plain/file" else "another")
        who.own(world.path(name))
    p = world.path
    check_batch(who, world, [
        (("rename", p(".git"), p("moved")), "EPERM"),
        (("rename", p(".git"), p("sub/.git")), "EPERM"),
        (("rename-exchange", p(".git"), p("plain")), "EPERM"),
        (("rename-exchange", p("plain"), p(".git")), "EPERM"),
        (("rename", p(".git/config"), p("x")), "EPERM"),
        (("rename", p(".git/hooks"), p("x")), "EPERM"),
        (("rename", p("plain/file"), p(".git/config")), "EPERM"),
        (("rename", p("prepared"), p("sub/.git")), "EPERM"),
        (("renameat2", p("prepared"), p("sub/.git")), "EPERM"),
        (("rename", p("prepared/hooks"), p(".git/hooks2")), "ok"),
        (("rename", p(".git/hooks2"), p("prepared/hooks")), "ok"),
        (("link", p(".git/config"), p("x")), "EPERM"),
        (("linkat", p(".git/config"), p("x")), "EPERM"),
        (("link", p("plain/file"), p(".git/hooks/x")), "EPERM"),
        (("symlink", p("prepared"), p("sub/.git")), "EPERM"),
        (("symlinkat", p("prepared/hooks"), p(".git/hooks/x")), "EPERM"),
        (("open-write", p(".git/config")), "EPERM"),
        (("open-create", p(".git/hooks/pre-commit")), "EPERM"),
        (("unlink", p(".git/config")), "EPERM"),
        (("rename", world.inside, world.inside + "2"), "EPERM"),
        (("rename", p("plain"), p("sub/plain")), "ok"),
        (("link", p("sub/plain/file"), p("x")), "ok"),
    ], "7: repositories and their neighbours")
    with open(p(".git/config")) as f:
        tap.equal(f.read(), "original", f"{who.name}: 7: the repository's settings are untouched")

    world = World(who)
    p = world.path
    os.makedirs(p("a/b/c"))
    for name in ("a/b/c/secret", "a/b/free"):
        with open(p(name), "w") as f:
            f.write("original")
    for name in ("a", "a/b", "a/b/c", "a/b/c/secret", "a/b/free"):
        who.own(p(name))
    profile = world.profile(WRITES_IN + '(deny file-write* (subpath "{inside}/a/b/c/secret"))\n'
                            '(deny file-write-mode (literal "{inside}/a/b/free"))\n')
    check_batch(who, world, [
        (("rename", p("a"), p("z")), "EPERM"),
        (("rename", p("a/b"), p("z")), "EPERM"),
        (("rename", p("a/b/c"), p("z")), "EPERM"),
        (("rename-exchange", p("a/b/c"), p("sub")), "EPERM"),
        (("rename-exchange", p("sub"), p("a/b/c")), "EPERM"),
        (("link", p("a/b/c/secret"), p("z")), "EPERM"),
        (("chmod", p("a/b/free")), "EPERM"),
        (("link", p("a/b/free"), p("z")), "EPERM"),
        (("rename", p("a/b/free"), p("z")), "EPERM"),
        (("rename", p("victim"), p("a/b/new")), "ok"),
    ], "7: ancestors of what is denied stay, links grant nothing", ["--profile", profile])


# ---- 8: memory that cannot be read ----


def trap_8(who):
    world = World(who)
    done = who.boxed(escape("call-hidden", world.out("victim")), world, ["--report", "none"])
    tap.equal(done.lines(), {"hide": "ok", "create": "ok", "write elsewhere": "EPERM"},
              f"{who.name}: 8: hiding one's memory changes nothing")
    if who.uid == 0:
        return
    program = os.path.join(world.top, "unreadable")
    shutil.copy(tool("escape"), program)
    os.chown(program, os.geteuid(), os.getegid())
    os.chmod(program, 0o111)
    done = who.boxed([program, "call-create", "made", world.out("victim")], world)
    # Among a program's owners, only root can read it regardless of its mode.
    tap.ok(done.status == 0 and set(done.lines().values()) <= {"EPERM", "EACCES"}
           and not os.path.exists(world.path("made")),
           f"{who.name}: 8: a program that cannot be read is refused what is judged, at once", done)
    tap.ok("memory cannot be read" in done.err, f"{who.name}: 8: and that is reported", done)


# ---- 11: calls that lead around ----

NOT_THERE = {"clone3", "openat2", "setxattrat", "removexattrat", "file_setattr", "number 600",
             "number 100000", "number -2", "int 0x80", "x32", "clone3 with a user namespace"}


def calls_around(who):
    world = World(who)
    for attack, least in (("call-numbers", 50), ("call-doors", 3)):
        done = who.boxed(escape(attack), world, ["--report", "none"])
        reported = done.lines()
        wrong = [f"{what}: {came}" for what, came in reported.items()
                 if came not in (who.own_entries if what in ("int 0x80", "x32") else
                                 ("ENOSYS",) if what in NOT_THERE else ("EPERM",))]
        tap.ok(len(reported) >= least and not wrong, f"{who.name}: 11: {attack}: all are refused",
               *wrong, done)


def trap_11(who):
    calls_around(who)
    world = World(who)
    status = dict(line.split(":\t", 1) for line in
                  who.boxed(["cat", "/proc/self/status"], world).out.splitlines() if ":\t" in line)
    # root keeps capabilities for work on files: chown, dac_override, fowner, fsetid, kill, setgid, setuid
    most = 0xfb if who.uid == 0 else 0
    held = {kind: int(status[kind], 16) & ~most for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd",
                                                              "CapAmb")}
    tap.ok(not any(held.values()) and status["NoNewPrivs"] == "1",
           f"{who.name}: 11: no capability, and no way to gain one", held, status["NoNewPrivs"])
    everything = world.profile("(version 1)\n(allow default)\n")
    done = who.boxed(escape("call-numbers"), world, ["--profile", everything, "--report", "none"])
    got = done.lines()
    open_ones = [name for name in ("io_uring_setup", "userfaultfd", "bpf", "pidfd_getfd", "mount",
                                   "setns", "keyctl", "unshare user") if got.get(name) != "EPERM"]
    tap.ok(not open_ones, f"{who.name}: 11: also under a policy that allows everything", open_ones)


# ---- 12: what Landlock does not cover ----

BY_FILE = """open-write openat-write open-rdwr openat-rdwr open-append openat-append open-trunc
openat-trunc open-create openat-create creat truncate unlink unlinkat chmod fchmod fchmodat fchmodat2
fchmodat2-nofollow fchmodat2-empty chown lchown fchown fchownat fchownat-empty utime utimes futimesat
utimensat utimensat-now utimensat-nofollow utimensat-fd setxattr lsetxattr fsetxattr removexattr
lremovexattr fremovexattr setflags fssetxattr""".split()
BY_NEW_NAME = """open-create openat-create open-create-read openat-create-read open-create-excl
openat-create-excl creat mkdir mkdirat mknod-fifo mknodat-fifo mknod-file mknodat-file mknod-socket
mknodat-socket mknod-dev mknodat-dev""".split()
BY_FOLDER = """rmdir rmdirat open-tmpfile openat-tmpfile chmod fchmod chown fchown utimensat-fd
fsetxattr setflags""".split()
BY_TWO = "rename renameat renameat2 rename-noreplace link linkat linkat-follow".split()


def trap_12(who):
    world = World(who)
    victim, new, sub = world.out("victim"), world.out("new"), world.out("sub")
    calls = [((op, victim), "EPERM") for op in BY_FILE]
    calls += [((op, new), "EPERM") for op in BY_NEW_NAME]
    calls += [((op, sub), "EPERM") for op in BY_FOLDER]
    calls += [((op, victim, new), "EPERM") for op in BY_TWO]
    calls += [((op, world.path("victim"), new), "EPERM") for op in BY_TWO]
    # a readable file can be copied instead, so the link gains nothing
    calls += [((op, victim, world.path("stolen")), "EXDEV" if "link" in op else "EPERM")
              for op in BY_TWO]
    calls += [(("rename", world.path("victim"), victim), "EPERM"),
              (("rename-exchange", world.path("victim"), victim), "EPERM"),
              (("rename-exchange", victim, world.path("victim")), "EPERM"),
              (("symlink", "x", new), "EPERM"), (("symlinkat", "x", new), "EPERM"),
              (("setxattrat", victim), "ENOSYS"), (("removexattrat", victim), "ENOSYS"),
              (("stat", victim), "ok"), (("open-read", victim), "ok")]
    check_batch(who, world, calls, "12: every form of every writing call")
    tap.ok(world.intact(), f"{who.name}: 12: nothing changed", world.before, world.look())
    link = world.path("link")
    os.symlink(world.outside, link)
    calls = [((op, f"{link}/victim"), "EPERM") for op in BY_FILE]
    calls += [((op, f"{link}/new"), "EPERM") for op in BY_NEW_NAME]
    calls += [((op, f"{world.inside}/sub/../link/sub"), "EPERM") for op in BY_FOLDER]
    calls += [((op, "/proc/self/cwd/link/victim"), "EPERM") for op in ("open-write", "chmod", "unlink")]
    calls += [((op, f"/proc/self/root{victim}"), "EPERM") for op in ("open-write", "chmod", "unlink")]
    check_batch(who, world, calls, "12: and through links")
    tap.ok(world.intact(), f"{who.name}: 12: nothing changed through links")


# ---- 14: root's children that change users ----


def trap_14(who):
    alike(who, 14)


# ---- 15: Unix sockets ----

# Binds, connects, and prints whether both ends have the requested names.
NAMES = """
import os, socket
top, deep = os.getcwd(), "d" * 120
os.mkdir(deep)
for where, name in (top, "sock"), (top, "n" * 107), (top, "./dot"), (top, top + "/whole"), \\
        (deep, "n" * 107), (deep, "./dot"), (deep, "sock"):
    os.chdir(os.path.join(top, where))
    server, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    server.bind(name)
    server.listen(1)
    client.setblocking(len(name) % 2)
    client.connect(name)
    print(server.getsockname() == name, client.getpeername() == name, os.path.lexists(name))
"""


def trap_15(who):
    world = World(who)
    done = who.boxed(["/usr/bin/python3", "-c", NAMES], world)
    tap.equal(done.out.split(), ["True"] * 21, f"{who.name}: 15: names of sockets are as asked for")
    servers = {}
    for kind, number in (("stream", socket.SOCK_STREAM), ("dgram", socket.SOCK_DGRAM),
                         ("seqpacket", socket.SOCK_SEQPACKET)):
        server = socket.socket(socket.AF_UNIX, number)
        server.bind(world.out(kind))
        os.chmod(world.out(kind), 0o777)
        if kind != "dgram":
            server.listen(5)
        servers[kind] = server
    abstract = socket.socket(socket.AF_UNIX)
    name = f"buckle-trap-{os.getpid()}-{who.name}"
    abstract.bind("\0" + name)
    abstract.listen(5)
    servers["abstract"] = abstract
    os.symlink(world.out("stream"), world.path("link"))
    # In the private network namespace nobody has the abstract name.
    for profile in (None, WRITES_IN):
        options = ["--profile", world.profile(profile)] if profile else []
        check_batch(who, world, [
            (("connect-unix", world.out("stream")), "EPERM"),
            (("connect-unix", world.path("link")), "EPERM"),
            (("connect-unix", "../un/stream"), "EPERM"),
            (("connect-seqpacket", world.out("seqpacket")), "EPERM"),
            (("connect-unix", "@" + name), "EPERM" if profile else "ECONNREFUSED"),
            (("connect-dgram", world.out("dgram")), "EPERM"),
            (("sendto-unix", world.out("dgram")), "EPERM"),
            (("sendmsg-unix", world.out("dgram")), "EPERM"),
            (("sendmmsg-unix", world.out("dgram")), "EPERM"),
            (("pair-sendmsg-unix", world.out("dgram")), "ok"),  # and goes to the pair's other end
            (("pair-sendto-unix", world.out("dgram")), "ok"),
            (("pair-connect-unix", world.out("dgram")), "EPERM"),
            (("socket-dgram",), "ok"),
            (("socket-raw",), "ok"),
            (("socketpair-dgram",), "ok"),
            (("bind-unix", world.out("mine")), "EPERM"),
        ], f"15: sockets of the host ({'a profile' if profile else 'default'})", options)
    tap.ok(not select.select(list(servers.values()), [], [], 0)[0],
           f"{who.name}: 15: no server heard anything")
    own = world.profile(WRITES_IN + '(allow network* (subpath "{inside}"))\n', "own.sb")
    done = who.boxed(escape("object-serve", world.path("mine")), world, ["--profile", own])
    bare = World(who)
    bare = who.run(escape("object-serve", bare.path("mine")), bare.inside)
    tap.equal(sorted(done.out.split("\n")), sorted(bare.out.split("\n")),
              f"{who.name}: 15: a server of one's own works when it is allowed")
    for server in servers.values():
        server.close()


# ---- 16: signals, termination, and cleanup ----


def trap_16(who):
    world = World(who)
    for script, want in (("exit 7", 7), ("kill -TERM $$", -15), ("kill -SEGV $$", -11),
                         ("kill -KILL $$", -9), ("true", 0)):
        done = who.boxed(["sh", "-c", script], world)
        tap.equal((done.status, done.err), (want, ""), f"{who.name}: 16: {script}")
    receive(who, world)
    stop(who, world)
    tap.equal(who.boxed(escape("object-stay", "leave", f"left-{who.name}"), world).status, 7,
              f"{who.name}: 16: background processes do not keep it")
    tap.ok(until(lambda: not processes_with(f"left-{who.name}")),
           f"{who.name}: 16: and end with it")
    mounts = open("/proc/self/mountinfo").read()
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        end_by(who, world, sig)
    tap.equal(open("/proc/self/mountinfo").read(), mounts, f"{who.name}: 16: no mount is left")
    runs = os.path.join(who.runtime, f"buckle-{who.uid}", "run-*")
    tap.ok(glob.glob(runs), f"{who.name}: 16: SIGKILL leaves the session's folder")
    who.boxed(["true"], world)
    tap.equal(glob.glob(runs), [], f"{who.name}: 16: which the next run removes")
    tap.ok(world.intact(), f"{who.name}: 16: nothing changed")


def receive(who, world):
    child = who.start([who.buckle(), "run", "--", *escape("object-receive")], world.inside)
    read_until(child.stdout, "ready")
    names = ["INT", "QUIT", "HUP", "USR1", "USR2", "TERM"]
    text = ""
    for name in names:
        child.send_signal(getattr(signal, "SIG" + name))
        text += read_until(child.stdout, "heard " + name, 5)
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=10)
    tap.equal([line.split()[1] for line in text.split("\n") if line.startswith("heard")], names,
              f"{who.name}: 16: signals reach the command")
    tap.equal(child.returncode, 42, f"{who.name}: 16: which decides what they mean")


def stop(who, world):
    child = who.start([who.buckle(), "run", "--", "sh", "-c", "kill -STOP $$; exit 9"], world.inside)
    stopped, status = False, None
    for _ in range(250):
        pid, status = os.waitpid(child.pid, os.WUNTRACED | os.WNOHANG)
        if pid:
            stopped = os.WIFSTOPPED(status)
            break
        time.sleep(0.02)
    tap.ok(stopped, f"{who.name}: 16: buckle stops with its command", status)
    child.send_signal(signal.SIGCONT)
    try:
        child.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
    tap.equal(child.returncode, 9, f"{who.name}: 16: and goes on with it")


def end_by(who, world, sig):
    marker = f"{sig.name}-{who.name}"
    child = who.start([who.buckle(), "run", "--", *escape("object-stay", "stay", marker)],
                      world.inside, start_new_session=True)
    ready = read_until(child.stdout, "ready")
    pids = processes_with(marker)
    kinds = ("pid", "mnt", "net")
    ours = {os.readlink(f"/proc/self/ns/{kind}") for kind in kinds}
    spaces = {}  # keep each open, so that its number is not reused
    for path in (f"/proc/{pid}/ns/{kind}" for pid in pids for kind in kinds):
        try:
            number = os.readlink(path)
            if number not in ours and number not in spaces:
                spaces[number] = os.open(path, os.O_RDONLY)
        except OSError:
            pass
    tap.ok("ready" in ready and len(pids) >= 2 and spaces, f"{who.name}: 16: {sig.name}: it runs",
           ready, pids, spaces)
    child.send_signal(sig)
    try:
        child.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
    tap.equal(child.returncode, -sig, f"{who.name}: 16: {sig.name}: ends it")
    tap.ok(until(lambda: not processes_with(marker)), f"{who.name}: 16: {sig.name}: nobody is left")

    def users():
        found = []
        for path in glob.glob("/proc/[0-9]*/ns/*"):
            try:
                found += [path] if os.readlink(path) in spaces and is_alive(path) else []
            except OSError:
                pass
        return found

    tap.ok(until(lambda: not users()), f"{who.name}: 16: {sig.name}: no namespace is in use")
    for fd in spaces.values():
        os.close(fd)


# ---- 18: inheritance ----


def trap_18(who):
    world = World(who)
    folder = os.open(world.outside, os.O_RDONLY | os.O_DIRECTORY)
    path_only = os.open(world.outside, os.O_PATH)
    file = os.open(world.path("victim"), os.O_RDONLY)
    device = os.open("/dev/zero", os.O_RDONLY)
    pipe = os.pipe()
    pair = socket.socketpair()
    poll = select.epoll()
    master, terminal = pty.openpty()
    # Higher than any limit of the command's process at that point.
    high = fcntl.fcntl(folder, fcntl.F_DUPFD, 900)
    fds = [folder, path_only, file, device, pipe[0], pair[0].fileno(), poll.fileno(), terminal, high]

    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))

    done = who.boxed(escape("object-list"), world, pass_fds=fds, preexec_fn=lower)
    tap.equal(sorted(done.lines().items()),
              sorted({str(file): "file", str(pipe[0]): "pipe", str(terminal): "terminal"}.items()),
              f"{who.name}: 18: files, pipes and terminals stay, nothing else")
    done = who.boxed(escape("object-list"), world, ["--keep-fd", str(pair[0].fileno()),
                                                    "--keep-fd", str(folder)], pass_fds=fds)
    tap.ok(done.lines().get(str(pair[0].fileno())) == "socket"
           and done.lines().get(str(folder)) == "folder" and len(done.lines()) == 5,
           f"{who.name}: 18: --keep-fd keeps one", done)
    done = who.boxed(escape("object-through", folder), world,
                     ["--report", "none", "--keep-fd", str(folder)], pass_fds=fds)
    tap.ok(set(done.lines().values()) == {"EPERM"} and len(done.lines()) == 6 and world.intact(),
           f"{who.name}: 18: through a kept folder nothing can be written", done)
    done = who.boxed(["sh", "-c", "exec 2>/dev/null; echo x > ../un/new; pwd"], world,
                     ["--report", "none"])
    tap.ok(done.out.strip() == world.inside and world.intact(),
           f"{who.name}: 18: the working directory is the same, and no way out", done)
    for fd in (folder, path_only, file, device, *pipe, master, terminal, high):
        os.close(fd)
    for one in (*pair, poll):
        one.close()


# ---- 19: the environment ----

SECRETS = ["GITHUB_TOKEN", "MY_SECRET", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "SSH_AUTH_SOCK",
           "DB_PASSWORD", "OPENAI_API_KEY", "DBUS_SESSION_BUS_ADDRESS", "npm_config__authToken"]
PLAIN = ["EDITOR", "TOKENS_PER_PAGE", "LC_ALL", "PASSAGE", "KEYBOARD"]


def trap_19(who):
    world = World(who)
    env = {name: "value" for name in SECRETS + PLAIN}
    done = who.boxed(["env"], world, env=env)
    names = {line.split("=")[0] for line in done.out.splitlines()}
    tap.equal(sorted(names & set(SECRETS)), [], f"{who.name}: 19: secrets are not passed on")
    tap.equal(sorted(set(PLAIN) - names), [], f"{who.name}: 19: everything else is")
    done = who.boxed(["env"], world, ["--env", "GITHUB_TOKEN"], env=env)
    names = {line.split("=")[0] for line in done.out.splitlines()}
    tap.equal(sorted(names & set(SECRETS)), ["GITHUB_TOKEN"], f"{who.name}: 19: --env keeps one")
    done = who.boxed(["true"], world, ["-v"], env=env)
    tap.ok(all(name in done.err for name in SECRETS) and "value" not in done.err,
           f"{who.name}: 19: -v names what was removed, without its value", done)


TRAPS = {1: trap_1, 2: trap_2, 3: trap_3, 4: trap_4, 5: trap_5, 6: trap_6, 7: trap_7, 8: trap_8,
         9: trap_9, 11: trap_11, 12: trap_12, 14: trap_14, 15: trap_15, 16: trap_16, 18: trap_18,
         19: trap_19}


def without_pids(who):
    """As in a container that cannot mount /proc: judge and command see the same one."""
    who.name += ", no pid namespace"
    who.env["BUCKLE_PRETEND"] = "mount_proc=0"
    for number in (2, 6, 8, 12, 16):
        if not sys.argv[1:] or str(number) in sys.argv[1:]:
            TRAPS[number](who)


def main():
    everybody = people()
    for who in everybody:
        for number, trap in TRAPS.items():
            if not sys.argv[1:] or str(number) in sys.argv[1:]:
                trap(who)
    without_pids(everybody[0])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
