#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sandboxes inside sandboxes. The inner run asks the outer controller for a sandbox beside its own,
under both policies: what it inherits, its verdicts at four levels, who reports, what ends with whom,
and attempts to gain something by asking."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import BUCKLE, eventually, for_everybody, processes

NEST_CALL = 0x4275636b
OPEN = "(version 1)(allow default)"


def names():
    """The compat names beside the program."""
    for name in ("srt", "cage", "sandbox-exec"):
        path = os.path.join(os.path.dirname(BUCKLE), name)
        if not os.path.lexists(path):
            os.symlink(BUCKLE, path)
    return os.path.dirname(BUCKLE)


def nested(*levels):
    """The words of a run whose command is a run, and so on; levels are lists of options."""
    words = []
    for options in levels:
        words += ([BUCKLE, "run"] if words else []) + [*options, "--"]
    return words


# ---- what the command gets ----


def test_command(person, t):
    work = person.folder()
    two = nested([], [])
    for store in (".ssh", ".aws"):
        person.write(f"{person.home}/{store}/key", "private")
    t.quiet(person.run(*two, "true", cwd=work), "two levels are quiet")
    for status in (0, 7):
        r = person.run(*two, "sh", "-c", f"exit {status}", cwd=work)
        t.equal(r.status, status, f"exit status {status}", r)
    r = person.run(*two, "sh", "-c", "kill -9 $$", cwd=work)
    t.equal(r.status, person.run("--", "sh", "-c", "kill -9 $$", cwd=work).status, "death by a signal", r)
    r = person.run(*two, "no-such-program", cwd=work)
    t.equal(r.status, 127, "a program that is missing", r)
    r = person.run(*two, "sh", "-c", "cat; echo err >&2; echo $A; umask; ulimit -n; pwd; id -u",
                   cwd=work, stdin="given\n", env={"A": "b"})
    limit = r.out.split()[3]
    t.equal(r.out.split(), ["given", "b", "0022", limit, work, str(person.uid)],
            "standard input and output, variables, umask, limits, folder, user", r)
    t.ok("err" in r.err, "standard error", r)
    script = f"umask 077; ulimit -S -n 99; ulimit -c 0; nice -n 5 {BUCKLE} run -- sh -c 'umask; ulimit -n; nice'"
    r = person.run("--", "sh", "-c", script, cwd=work)
    t.equal(r.out.split(), ["0077", "99", "5"], "what the asker changed before it asked", r)
    r = person.run("--", "sh", "-c", f"mkdir in && cd in && {BUCKLE} run -- touch here", cwd=work)
    t.ok(r.status == 0 and os.path.exists(f"{work}/in/here"), "files are the real ones", r)
    r = person.run("--", "sh", "-c", f"echo text >f; exec 7<f; {BUCKLE} run -- cat /dev/fd/7", cwd=work)
    t.equal(r.out, "text\n", "an inherited descriptor keeps its number", r)
    r = person.run("--", "sh", "-c", f"trap '' USR1; {BUCKLE} run -- sh -c 'kill -USR1 $$; echo on'", cwd=work)
    t.equal(r.out, "on\n", "an ignored signal stays ignored", r)
    r = person.run("--", "sh", "-c", f"{BUCKLE} run -- sh -c 'echo $$ $PPID; ls /proc | grep -c ^[0-9]'", cwd=work)
    t.equal(r.out.split()[:2], ["2", "0"], "its own pid namespace", r)
    r = person.run("--", "sh", "-c", f"{BUCKLE} run -- sh -c 'echo $TMPDIR >$TMPDIR/x; cat $TMPDIR/x'; ls $TMPDIR/.in | grep run-; true", cwd=work)
    t.ok(r.status == 0 and "/.in/run-" in r.out and len(r.out.split()) == 1, "a TMPDIR inside the outer one", r)


def test_names(person, t):
    work, folder = person.folder(), names()
    profile = person.profile("open.sb", OPEN + '(deny file-write* (subpath "/etc"))')
    settings = person.write(f"{person.home}/srt.json", json.dumps(
        {"network": {"allowedDomains": [], "deniedDomains": []},
         "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": [f"{work}/closed"]}}))
    os.mkdir(f"{work}/closed")
    person.own(f"{work}/closed")
    for name, words in {"cage": ["--"], "sandbox-exec": ["-f", profile],
                        "srt": ["--settings", settings]}.items():
        inner = [f"{folder}/{name}", *words]
        r = person.run("--", *inner, "sh", "-c", "echo yes", cwd=work)
        t.ok(r.status == 0 and r.out == "yes\n", f"{name} inside buckle run", r)
        r = person.run("--profile", profile, "--", *inner, "sh", "-c", "echo x >/etc/nested", cwd=work)
        t.ok(r.status != 0 and not os.path.exists("/etc/nested"), f"{name} inside is held by the outer policy", r)
        r = person.call([*inner, BUCKLE, "run", "--", "sh", "-c", f"touch {person.home}/out"], cwd=work)
        t.ok(r.status != 0 and not os.path.exists(f"{person.home}/out"), f"buckle run inside {name}", r)
    r = person.run("--", f"{folder}/srt", "--settings", settings, "touch", "closed/x", "y", cwd=work)
    t.ok(r.status != 0 and os.path.exists(f"{work}/y") and not os.path.exists(f"{work}/closed/x"),
         "settings of the inner srt hold", r)


def test_other_sandboxes(person, t):
    """Where another program has the listener, the error has words of the name it was called by."""
    work, folder = person.folder(), names()
    for name, words in {"srt": ["true"], "cage": ["--", "true"], "sandbox-exec": ["-p", OPEN + "(deny file-write*)", "true"]}.items():
        r = person.call([f"{folder}/{name}", *words], cwd=work, env={"BUCKLE_PRETEND": "listener_taken=1"})
        t.ok(r.status not in (0, None) and "listener" in r.err and
             "--accept-weaker" not in r.err.replace("`buckle run --accept-weaker`", ""),
             f"{name} names what is missing, and no flag that it does not have", r)


# ---- verdicts ----

PLACES = ["a", "b", "c", "d"]


def profiles(person, top):
    """Four policies that differ in what they deny; each level imports one from a file."""
    made = []
    for i, name in enumerate(PLACES):
        part = person.profile(f"part-{name}.sb",
                              f'(deny file-read-data (literal "{top}/{name}/secret"))')
        text = f"""(version 1)(allow default)
(import "{os.path.basename(part)}")
(deny file-write* (subpath "{top}/{name}"))
(deny file-read-data (regex #"\\.{name}$"))
(deny file-write-create (literal (string-append (param "TOP") "/{PLACES[i - 1]}/new-{name}")))
(allow file-write* (subpath "{top}/{PLACES[i - 2]}/open"))"""
        made.append(person.profile(f"level-{name}.sb", text))
    return made


def test_verdicts(person, t):
    top = person.folder("top")
    files = [f"{top}/{p}/{f}" for p in PLACES for f in
             ("secret", "plain", "x.a", "x.b", "x.c", "x.d", "open/f")] + [f"{top}/free"]
    for f in files:
        person.write(f, "text\n")
    new = [f"{top}/{p}/new-{n}" for p in PLACES for n in PLACES] + [f"{top}/new"]
    made = profiles(person, top)
    script = "".join(f"cat {f} >/dev/null 2>&1; echo read $?\n(echo x >>{f}) 2>/dev/null; echo write $?\n" for f in files)
    script += "".join(f"(: >{f}) 2>/dev/null; echo create $?\n" for f in new)
    person.write(f"{person.home}/probe.sh", script)
    questions = "".join(f"file-read-data {f}\nfile-write-data {f}\n" for f in files)
    questions += "".join(f"file-write-create {f}\n" for f in new)
    for depth in (2, 4):
        define = ["-D", f"TOP={top}"]
        stack = [x for m in made[:depth - 1] for x in ("--stack", m)]
        told = person.call([BUCKLE, "eval", "--batch", *define, *stack, made[depth - 1]], stdin=questions)
        want = [line.split()[0] == "allow" for line in told.out.splitlines()]
        levels = nested(*[["--no-settings", "--profile", m, *define] for m in made[:depth]])
        ran = person.run(*levels, "sh", f"{person.home}/probe.sh", cwd=top, timeout=120)
        got = [line.split()[1] == "0" for line in ran.out.splitlines()]
        names_of = questions.splitlines()
        wrong = [names_of[i] for i in range(min(len(want), len(got))) if want[i] != got[i]]
        t.ok(len(want) == len(got) == len(names_of) and not wrong and False in want and True in want,
             f"{depth} levels: {len(names_of)} verdicts equal to buckle eval --stack", wrong, ran.err[:2000], told.err[:500])


# ---- reports ----


def test_reports(person, t):
    work = person.folder()
    for name in ("one", "two", "three"):
        person.write(f"{work}/{name}/f", "x")
    r = person.run(*nested(["--deny-write", f"{work}/one"], ["--deny-write", f"{work}/two"]), "sh", "-c",
                   "echo x >one/f; echo x >two/f; echo x >three/f", cwd=work)
    inner, _, outer = r.err.rpartition("buckle: 1 operation was denied")
    t.ok(f"{work}/one/f" in outer and "two/f" not in outer, "the outer run reports what its policy denied", r)
    t.ok(f"{work}/two/f" in inner and f"{work}/one/f" in inner and "the outer sandbox" in inner,
         "the inner run reports both, and which is not its own", r)
    line = next((l for l in inner.splitlines() if l.startswith("allow with")), "")
    t.ok("one/f" not in line, "no flag of the inner run is suggested for it", r)


# ---- the end ----


def by_role(tag):
    """Pids of a run's processes by name. The inner runs' helpers are copies of the outer controller,
    with its command line."""
    found = {}
    for pid, _ in processes(tag):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                found.setdefault(f.read().strip(), []).append(pid)
        except OSError:
            pass
    return {name: sorted(pids) for name, pids in found.items()}


def test_ends(person, t):
    work, depth = person.folder(), 4
    roles = {"buckle": depth, "buckle-judge": depth, "buckle-init": depth, "buckle-nested": depth - 1}
    for role, count in roles.items():
        for at in range(count):
            tag = f"tag-{person.name}-{role}-{at}-{os.getpid()}"
            child = person.start([BUCKLE, "run", *nested(*[[] for _ in range(depth)]), "sh", "-c",
                                  f"touch {tag}; sleep 1000 & sleep 1000; : {tag}"], cwd=work,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            up = eventually(lambda tag=tag: os.path.exists(f"{work}/{tag}"), 60)
            pids = by_role(tag).get(role, []) if up else []
            if len(pids) == count:
                os.kill(pids[at], signal.SIGKILL)
            try:
                status = child.wait(40) if pids else None
            except subprocess.TimeoutExpired:
                status = None
            left = [] if eventually(lambda tag=tag: not processes(tag), 20) else processes(tag)
            t.ok(len(pids) == count and status not in (None, 0) and not left,
                 f"killing {role} {at + 1} of {count} ends all, and nothing is left", up, pids, status, left[:5])
            if child.poll() is None:
                child.kill()
                child.wait()


def test_signals(person, t):
    work = person.folder()
    for sig, status in ((signal.SIGTERM, 3), (signal.SIGUSR1, 4)):
        name = f"up-{sig}"
        child = person.start([BUCKLE, "run", *nested([], [], []), "sh", "-c",
                              f"trap 'exit {status}' {int(sig)}; touch {name}; while :; do sleep 0.05; done"], cwd=work)
        eventually(lambda name=name: os.path.exists(f"{work}/{name}"), 30)
        child.send_signal(sig)
        t.equal(child.wait(20), status, f"signal {int(sig)} reaches the innermost command")
    began = time.monotonic()
    r = person.run(*nested([], ["--timeout", "1"]), "sleep", "100", cwd=work)
    t.ok(r.status == 124 and time.monotonic() - began < 20, "the inner run's timeout", r)
    r = person.run("--timeout", "1", *nested([], []), "sleep", "100", cwd=work)
    t.equal(r.status, 124, "the outer run's timeout", r)


def typed(person, work, argv, steps, seconds=40, pause=0.2):
    """Runs something in a terminal, types each text once the one before it has appeared, and returns
    the output and the wait status (None: it did not end)."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(work)
        if person.uid != os.geteuid():
            os.setgroups([])
            os.setgid(person.uid)
            os.setuid(person.uid)
        os.execve(argv[0], argv, {**person.env, "PS1": "ready> "})
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    out, steps, end = b"", list(steps), time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                out += os.read(fd, 4096)
            except OSError:
                break
        if steps and steps[0][0].encode() in out:
            time.sleep(pause)
            os.write(fd, steps.pop(0)[1].encode())
            out += b"|"
    done, status = os.waitpid(pid, os.WNOHANG) if time.monotonic() >= end else os.waitpid(pid, 0)
    if not done:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(fd)
    return out.decode(errors="replace"), status if done else None


def test_terminal(person, t):
    work = person.folder()
    two = [BUCKLE, "run", *nested([], [])]
    shell = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
    out, status = typed(person, work, [*two, "sh", "-c", "test -t 0 && stty size && echo u''p; read x; echo got $x"],
                        [("up", "word\n")])
    t.ok("33 99" in out and "got word" in out and status == 0, "a terminal, its size, and input", out, status)
    out, status = typed(person, work, [*two, "sh", "-c", "trap 'exit 3' INT; echo u''p; while :; do sleep 0.1; done"],
                        [("up", "\x03")])
    t.equal(status, 3 << 8, "^C", out)
    out, status = typed(person, work, [*two, *shell], [("ready> ", "cat\n"), ("cat", "\x1a"), ("Stopped", "fg\n"),
                                                      ("fg", "word\n"), ("word\r\nword", "\x04"), ("|ready> ", "exit 5\n")])
    t.equal(status, 5 << 8, "a shell with jobs inside", out)
    for pause in (0.2, 0.02): # typing ahead, before all processes have stopped
        out, status = typed(person, work, [BUCKLE, "run", "--", *shell],
                            [("ready> ", f"{BUCKLE} run -- sh -c 'echo u\"\"p; read x; echo got $x'\n"), ("up", "\x1a"),
                             ("Stopped", "fg\n"), ("fg", "word\n"), ("got word\r\nready>", "exit 6\n")], pause=pause)
        t.equal(status, 6 << 8, f"an inner run as the job of a shell: ^Z and fg, {pause} s apart", out)


# ---- attacks ----

ASK = f"""
import ctypes, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def ask():
    fd = libc.prctl({NEST_CALL}, 0, 0, 0, 0)
    return socket.socket(fileno=fd) if fd >= 0 else None
def words(s):
    s.settimeout(30)
    try:
        return s.recv(8192)
    except OSError as gone:
        return repr(gone).encode()
"""


def python(person, work, script, *options, **how):
    path = person.write(f"{work}/attack-{person.made}.py", ASK + script)
    person.made += 1
    return person.run(*options, "--", "/usr/bin/python3", path, cwd=work, **how)


def test_hostile_requests(person, t):
    work = person.folder()
    r = python(person, work, """
for n in (0, 1, 7, 8, 100, 1096, 5000):
    for fill in (0, 1, 255):
        s = ask()
        s.send(bytes([1, 0, 0, 0]) + bytes([fill]) * n)
        assert b"buckle" not in words(s)
        s.close()
print("done")
""")
    t.ok("done" in r.out and r.status == 0, "garbage is refused, and the sandbox goes on", r)
    r = python(person, work, """
held, refused = [], 0
for i in range(200):
    s = ask()
    if s is None:
        refused += 1
        continue
    held.append(s)
import select, time
end = time.monotonic() + 20
while refused < 150 and held and time.monotonic() < end:
    for s in select.select(held, [], [], 1)[0]:
        refused += b"too many" in words(s)
        held.remove(s)
print(refused >= 150, len(held))
""", timeout=120)
    t.ok(r.out.startswith("True"), "200 askers at once: only some are served", r)
    r = person.run(*nested([], []), "true", cwd=work)
    t.equal(r.status, 0, "and another run goes on", r)
    r = python(person, work, """
# nobody who asks for somebody else: the channel belongs to the process that called
s = ask()
pid = os.fork()
if pid == 0:
    os.execv("/bin/sleep", ["sleep", "100"])
s.close()
os.kill(pid, 9)
print("done")
""")
    t.ok("done" in r.out, "a channel that is closed at once", r)


def test_no_gain(person, t):
    work, home = person.folder(), person.home
    person.write(f"{home}/key", "private\n")
    secret = person.write(f"{home}/only-outside.sb", "(version 1)(allow default)")
    closed = person.profile("closed.sb", OPEN + f'(deny file-read* (literal "{secret}"))'
                            f'(deny file-read-data (literal "{home}/key"))(deny network*)'
                            f'(deny file-write* (subpath "{home}/kept"))')
    person.write(f"{home}/kept/f", "x\n")
    outer = ["--no-settings", "--profile", closed]
    everything = person.profile("everything.sb", OPEN)
    r = person.run(*nested(outer, ["--no-settings", "--profile", everything, "--accept-weaker"]), "sh", "-c",
                   f"cat {home}/key; echo y >{home}/kept/f; rm -rf {home}/kept", cwd=work)
    t.ok("private" not in r.out and open(f"{home}/kept/f").read() == "x\n", "an open inner policy opens nothing", r)
    r = person.run(*nested(outer, ["--no-settings", "--profile", secret]), "true", cwd=work)
    t.ok(r.status not in (0, None), "a profile that the outer policy hides cannot be used", r)
    person.write(f"{work}/import.sb", f'(version 1)(import "{secret}")')
    r = person.run(*nested(outer, ["--no-settings", "--profile", f"{work}/import.sb"]), "true", cwd=work)
    t.ok(r.status not in (0, None), "nor imported", r)
    for flags in (["--allow-read", f"{home}/key"], ["--allow-write", f"{home}/kept"], ["--allow-net", "*"],
                  ["--upstream", "http://127.0.0.1:1"], ["--allow-userns"], ["--core-dumps"], ["-D", "HOME=/"]):
        script = (f"cat {home}/key; echo y >{home}/kept/f; unshare -U true && echo userns; ulimit -c; "
                  "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 1)' && echo net")
        r = person.run(*nested(outer, ["--no-settings", *flags]), "sh", "-c", script, cwd=work)
        t.ok("private" not in r.out and "userns" not in r.out and "net" not in r.out and
             open(f"{home}/kept/f").read() == "x\n", f"{flags[0]} inside gains nothing", r)
    for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR"):
        r = person.run(*outer, "--", "env", f"{variable}={home}/kept", BUCKLE, "run", "--no-settings", "--", "true", cwd=work)
        t.equal(os.listdir(f"{home}/kept"), ["f"], f"nothing is made in {variable} of the asker", r)
    if person.uid == 0:
        r = person.run(*nested([], ["--cap", "sys_admin", "--accept-weaker"]), "grep", "CapEff", "/proc/self/status", cwd=work)
        t.ok(r.status != 0 or not int(r.out.split()[1], 16) >> 21 & 1, "no capability that the outer run gave up", r)
        r = person.run("--cap", "setpcap", "--accept-weaker", "--", "setpriv", "--bounding-set", "-chown", "--inh-caps", "-chown", BUCKLE, "run", "--",
                       "grep", "CapEff", "/proc/self/status", cwd=work)
        t.ok(r.status != 0 or not int(r.out.split()[1], 16) & 1, "nor one that the asker gave up", r)
        r = person.run("--", "setpriv", "--reuid", "4242", "--regid", "4242", "--clear-groups", BUCKLE, "run",
                       "--here", "--", "id", "-u", cwd=work, env={"HOME": "/"})
        t.ok(r.out != "0\n", "a command that changed its user does not become root again", r)
    r = person.run("--max-procs", "40", "--", BUCKLE, "run", "--", "sh", "-c", "ulimit -u", cwd=work)
    t.ok(r.out in ("40\n", ""), "limits of the outer run", r)


def test_sandboxed_asker(person, t):
    """A process that has confined itself further does not get rid of that by asking."""
    work = person.folder()
    r = python(person, work, """
# a filter of its own
class Prog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
code = struct.pack("HBBI", 6, 0, 0, 0x7fff0000)
buf = ctypes.create_string_buffer(code)
prog = Prog(1, ctypes.cast(buf, ctypes.c_void_p))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(prog), 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[0] and %r, [%r, "run", "--", "echo", "escaped"])
""" % (BUCKLE, BUCKLE))
    t.ok("escaped" not in r.out and r.status != 0, "with a seccomp filter of its own", r)
    r = person.run("--allow-userns", "--", "unshare", "-Ur", BUCKLE, "run", "--here", "--", "echo", "escaped", cwd=work)
    t.ok("escaped" not in r.out and r.status != 0, "in a user namespace of its own", r)


def test_between(person, t):
    """The two sandboxes and each other's processes."""
    work = person.folder()
    person.write(f"{work}/loop.sh", "touch up; while :; do sleep 0.05; done")
    person.write(f"{work}/ask.sh", f"""{BUCKLE} run -- sh loop.sh & asker=$!
while ! test -e up; do sleep 0.02; done
grep -l buckle-init /proc/[0-9]*/comm | wc -l
kill -9 $asker; wait $asker 2>/dev/null
for i in $(seq 200); do pgrep -f 'sh loop.sh' >/dev/null || break; sleep 0.02; done
pgrep -fc 'sh loop.sh'; exit 0""")
    r = person.run("--", "sh", "ask.sh", cwd=work)
    t.equal(r.out.split(), ["2", "0"], "the asker sees it, and its death ends it", r)
    trace = f"""
import time
pid = os.fork()
if pid == 0:
    os.execv({BUCKLE!r}, ["buckle", "run", "--", "sh", "-c", "touch ready; sleep 5"])
while not os.path.exists("ready"):
    time.sleep(0.02)
got = []
for p in filter(str.isdigit, os.listdir("/proc")):
    if int(p) in (os.getpid(), pid):
        continue
    if libc.ptrace(16, int(p), 0, 0) == 0:
        got.append(open("/proc/%s/comm" % p).read().strip())
print(got)
os.kill(pid, 9)
"""
    r = python(person, work, trace)
    t.ok(r.status == 0 and "buckle" not in r.out, "no process of ours can be traced from the outer sandbox", r)
    script = f"sleep 99 & {BUCKLE} run -- sh -c 'pgrep -c sleep; pkill -9 sleep'; kill -0 $! && echo lives; kill $!"
    r = person.run("--", "sh", "-c", script, cwd=work)
    t.equal(r.out.split(), ["0", "lives"], "the inner command does not see the outer sandbox's processes", r)


def test_own_folders(person, t):
    """Asking for a sandbox makes no folder of the user's the command's own."""
    plant = "mkdir -p src/.vscode; echo x >src/.vscode/tasks.json"
    inner = f"{BUCKLE} run -- sh -c"
    for name, script in {
            "after the outer command has moved the folder": f"mv src aside; {inner} '{plant}'",
            "with a forged record": f"mkdir -p state/buckle; mv src aside; XDG_STATE_HOME=$PWD/state {inner} '{plant}'",
            "with another home": f"mkdir home; mv src aside; HOME=$PWD/home {inner} '{plant}'",
            "from another folder": f"mkdir own; mv src aside; (cd own; {inner} 'cd ..; {plant}')",
            "below an own folder": f"mkdir own; mv src own; {inner} 'cd own; {plant}'; mv own/src src",
            "moved by the inner command": f"mkdir own; {inner} 'mv src own'; (cd own; {plant}); mv own/src src"}.items():
        work = person.folder()
        person.write(work + "/src/main.c", "")
        r = person.run("--", "sh", "-c", script, cwd=work)
        t.ok(not os.path.exists(work + "/src/.vscode"), f"nothing is planted {name}", r)
    work = person.folder()
    r = person.run("--", "sh", "-c", f"mkdir src; {inner} '{plant}' && cat src/.vscode/tasks.json", cwd=work)
    t.equal(r.out, "x\n", "a folder of the outer command is the inner one's own, too", r)


for_everybody([test_command, test_names, test_other_sandboxes, test_verdicts, test_reports, test_ends, test_signals, test_terminal,
               test_hostile_requests, test_no_gain, test_own_folders, test_sandboxed_asker,
               test_between])
sys.exit(tap.done())
