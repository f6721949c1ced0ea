#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buckle run: exit statuses, reports, flags, modifiers, limits, and staying out of the way."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from running import BUCKLE, PEOPLE, eventually, for_everybody, suggested_flags
from tap import done, skip

PYTHON = "/usr/bin/python3"
HEAD = """(version 1)
(allow default)
"""


def inside(user, *words, **how):
    how.setdefault("cwd", user.folder())
    return user.run(*words, **how)


def python(user, code, *flags, **how):
    return inside(user, *flags, "--", PYTHON, "-c", code, **how)


# ---- how a command ends ----


def test_status(user, t):
    for n in (0, 1, 3, 77, 255):
        t.equal(inside(user, "sh", "-c", f"exit {n}").status, n, f"exit status {n}")
    for sig in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGHUP):
        r = inside(user, "sh", "-c", f"kill -{int(sig)} $$")
        t.equal(r.status, -int(sig), f"a command that {sig.name} ends: so does buckle", r)
    r = inside(user, "/no/such/program")
    t.equal((r.status, "/no/such/program" in r.err), (127, True), "127: not found", r)
    r = inside(user, "no-such-program-anywhere")
    t.equal(r.status, 127, "127: not found in PATH", r)
    folder = user.folder()
    user.write(folder + "/data", "x")
    r = user.run("./data", cwd=folder)
    t.equal(r.status, 126, "126: cannot be run", r)
    t.equal(user.run(folder, cwd=folder).status, 126, "126: a folder")


def test_setup_errors(user, t):
    for words, reported in [(["--profile", "nonesuch", "true"], "nonesuch"),
                        (["--report", "loud", "true"], "loud"),
                        (["--timeout", "soon", "true"], "soon"),
                        (["--max-memory", "0", "true"], "max-memory"),
                        (["-D", "novalue", "true"], "novalue")]:
        r = inside(user, *words)
        t.ok(r.status == 125 and reported in r.err, f"125: {' '.join(words)}", r)
    broken = user.profile("broken.sb", "(version 1)\n(deny defalt)\n")
    r = inside(user, "--profile", broken, "true")
    t.ok(r.status == 125 and "broken.sb:2" in r.err, "125: a profile with an error is not run", r)
    r = inside(user, "--no-such-flag", "true")
    t.ok(r.status not in (0, 1) and "no-such-flag" in r.err, "an unknown option is an error", r)
    r = inside(user)
    t.ok(r.status != 0 and r.err, "no command is an error", r)


def test_timeout(user, t):
    r = inside(user, "--timeout", "1", "sleep", "60")
    t.ok(r.status == 124 and 0.9 < r.seconds < 10, "124 after --timeout", r)
    r = inside(user, "--timeout", "1", "sh", "-c", "trap '' TERM; sleep 60 & wait; sleep 60")
    t.ok(r.status == 124 and r.seconds < 20, "and a command that ignores it ends as well", r)
    t.equal(inside(user, "--timeout", "60", "sh", "-c", "exit 4").status, 4,
            "in time: the command's own status")


def test_signals_passed_on(user, t):
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP):
        folder = user.folder()
        child = user.start([BUCKLE, "run", "sh", "-c",
                              f"trap 'echo got; exit 9' {sig.name[3:]}; touch ready; "
                              "while :; do sleep 0.05; done"],
                             cwd=folder, stdout=subprocess.PIPE)
        eventually(lambda: os.path.exists(folder + "/ready"))
        child.send_signal(sig)
        out = child.communicate(timeout=20)[0]
        t.equal((child.returncode, out), (9, b"got\n"), f"{sig.name} reaches the command")


# ---- staying out of the way ----


def test_quiet(user, t):
    r = inside(user, "sh", "-c", "echo out; echo err >&2; touch a; mkdir b; mv a b; rm -r b")
    t.equal((r.status, r.out, r.err), (0, "out\n", "err\n"), "nothing denied, nothing said")
    folder = user.folder()
    user.run("sh", "-c", "umask 027; touch made; mkdir dir; umask 0; mkfifo pipe", cwd=folder)
    modes = {n: stat.S_IMODE(os.stat(f"{folder}/{n}").st_mode) for n in ("made", "dir", "pipe")}
    t.equal(modes, {"made": 0o640, "dir": 0o750, "pipe": 0o666}, "the command's umask counts")
    owners = {os.stat(f"{folder}/{n}").st_uid for n in ("made", "dir", "pipe")}
    t.equal(owners, {user.uid}, "files belong to who runs it")


def test_streams(user, t):
    r = inside(user, "cat", stdin=b"a\0b\n")
    t.equal((r.status, r.raw), (0, b"a\0b\n"), "standard input and output")
    big = os.urandom(1 << 20) * 8
    r = inside(user, "cat", stdin=big)
    t.ok(r.raw == big, "8 MiB through two pipes arrive whole")
    folder = user.folder()
    r = user.call(["/bin/sh", "-c", f"{BUCKLE} run sh -c 'yes | head -200000' | sha256sum; "
                     "yes | head -200000 | sha256sum"], cwd=folder)
    t.equal(len(set(r.out.split())), 2, "in a pipeline", r)
    r = user.call(["/bin/sh", "-c", f"{BUCKLE} run yes | head -1"], cwd=folder)
    t.equal((r.status, r.out, r.err), (0, "y\n", ""), "SIGPIPE ends the command quietly", r)
    r = user.call(["/bin/sh", "-c", f"{BUCKLE} run sh -c 'echo to-file; echo err >&2' "
                     ">out.txt 2>err.txt; cat out.txt err.txt"], cwd=folder)
    t.equal(r.out, "to-file\nerr\n", "redirected into files outside its reach")
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        r = user.call(["/bin/sh", "-c",
                         f"{BUCKLE} run sh -c 'echo x >made; exit 5' {closed}"], cwd=folder)
        t.equal(r.status, 5, f"with closed descriptors: {closed}", r)


DEVICES = """
import os
for name in ("null", "zero", "full", "urandom"):
    with open("/dev/" + name, "rb") as f:
        f.read(1)
open("/dev/null", "w").write("x")
def say(path, text):
    with open(path, "w") as f: f.write(text)
with open("/dev/stdin") as f: say("/dev/stdout", f.read())
say("/dev/fd/1", "fd\\n")
say("/proc/self/fd/1", "self\\n")
say(f"/proc/{os.getpid()}/fd/1", "pid\\n")
assert open("/proc/self/comm").read().strip() == "python3"
say("/proc/self/comm", "renamed")
assert open("/proc/self/comm").read().strip() == "renamed"
"""


def test_devices(user, t):
    if not os.path.exists("/dev/stdin") or not os.path.exists("/dev/fd"):
        return skip("/dev has no stdin")
    # separate pipes: others cannot be reopened by name
    script = user.write(user.home + "/devices.py", DEVICES)
    r = user.call(["/bin/sh", "-c", f"echo in | {BUCKLE} run {PYTHON} {script} | cat"],
                    cwd=user.folder())
    t.quiet(r, "devices and /proc/self mean what they mean", "in\nfd\nself\npid\n")


# RNDGETENTCNT: an ioctl that works on a read-only descriptor.
ORDERS = """
import fcntl, os, pty, socket, termios
def order(what, fd, number):
    try:
        fcntl.ioctl(fd, number, b"\\0" * 64)
        print(what, "ok")
    except OSError as e:
        print(what, e.strerror)
order("device", os.open("/dev/urandom", os.O_RDONLY), 0x80045200)
order("null", os.open("/dev/null", os.O_RDONLY), termios.TCGETS)
first, second = pty.openpty()
order("terminal", second, termios.TIOCGWINSZ)
order("its name", os.open(os.ttyname(second), os.O_RDWR | os.O_NOCTTY), termios.TIOCGWINSZ)
order("pipe", os.pipe()[0], termios.FIONREAD)
pair = socket.socketpair()
order("socket", pair[0].fileno(), termios.FIONREAD)
order("file", os.open("/etc/passwd", os.O_RDONLY), termios.FIONREAD)
"""
DEVICE_SETTINGS = {"filesystem": {"allowWrite": ["."]}}


def test_orders(user, t):
    """ioctl: only terminals and writable devices accept it; on other files it is not checked."""
    others = ["null Inappropriate ioctl for device"] + [
        f"{what} ok" for what in ("terminal", "its name", "pipe", "socket", "file")]
    def check(outcome, what, *flags):
        r = python(user, ORDERS, *flags)
        t.equal((r.status, r.out.splitlines()), (0, [f"device {outcome}"] + others), what, r)
    r = user.call([BUCKLE, "doctor"], cwd=user.home)
    if "orders" in r.out:
        return skip("Landlock cannot withhold orders from devices before Linux 6.10")
    denied = "Permission denied"
    check(denied, "orders to devices are withheld")
    check("ok", "a device that may be written takes them", "--allow-write", "/dev/urandom")
    check(denied, "one beside it", "--allow-write", "/dev/zero")
    check(denied, "strict", "--profile", "strict")
    check("ok", "open", "--profile", "open")
    settings = user.write(user.home + "/devices.json", json.dumps(DEVICE_SETTINGS))
    check(denied, "settings", "--settings", settings)
    allowing = {"filesystem": {"allowWrite": [".", "/dev/urandom"]}}
    settings = user.write(user.home + "/devices.json", json.dumps(allowing))
    check("ok", "settings that let it be written", "--settings", settings)


PROGRAMS = {
    "O_EXCL, once": """
import os
os.close(os.open("x", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
try:
    os.open("x", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
except FileExistsError:
    print("yes")
""",
    "O_TMPFILE, and giving it a name": """
import os
import ctypes
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
os.write(fd, b"yes")
assert ctypes.CDLL(None).linkat(-100, f"/proc/self/fd/{fd}".encode(), -100, b"named", 0x400) == 0
print(open("named").read())
""",
    "O_APPEND, O_TRUNC": """
open("f", "w").write("12"); open("f", "a").write("34"); assert open("f").read() == "1234"
open("f", "w").write("yes"); print(open("f").read())
""",
    "flock between processes": """
import fcntl, os
f = open("lock", "w"); fcntl.flock(f, fcntl.LOCK_EX)
if os.fork() == 0:
    try:
        fcntl.flock(open("lock", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os._exit(7)
    os._exit(0)
print("yes" if os.waitstatus_to_exitcode(os.wait()[1]) == 7 else "no")
""",
    "threads that write": """
import threading
def work(n):
    for i in range(40):
        with open(f"t{n}-{i}", "w") as f: f.write("x")
ts = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
import os
print("yes" if len([n for n in os.listdir() if n[0] == "t"]) == 320 else "no")
""",
    "setsid, double fork": """
import os
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("daemon", "w").write("x"); os.write(w, b"yes"); os._exit(0)
    os._exit(0)
os.wait(); print(os.read(r, 3).decode())
""",
    "vfork (posix_spawn)": """
import os
pid = os.posix_spawn("/bin/sh", ["sh", "-c", "echo yes >spawned"], os.environ)
os.waitpid(pid, 0); print(open("spawned").read(), end="")
""",
    "named pipes, either end first": """
import os, threading
os.mkfifo("p")
def write():
    with open("p", "w") as f: f.write("yes")
t = threading.Thread(target=write); t.start()
print(open("p").read()); t.join()
t = threading.Thread(target=write)
threading.Timer(0.2, t.start).start()
assert open("p").read() == "yes"
""",
    "socket pairs": """
import socket
a, b = socket.socketpair(); a.send(b"yes"); print(b.recv(3).decode())
""",
    "a server on its loopback": """
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
c = socket.create_connection(s.getsockname()); c.send(b"yes")
print(s.accept()[0].recv(3).decode())
""",
    "shared memory, semaphores": """
import multiprocessing as m
def f(q, s): s.acquire(); q.put("yes")
q, s = m.Queue(), m.Semaphore(1)
p = m.Process(target=f, args=(q, s)); p.start(); print(q.get()); p.join()
""",
    "times, modes, links, renames": """
import os
open("a", "w").close(); os.utime("a", (1, 2)); os.chmod("a", 0o600); os.link("a", "b")
os.symlink("a", "c"); os.rename("b", "d"); os.mkdir("e"); os.rename("d", "e/d"); os.truncate("a", 9)
s = os.stat("e/d")
print("yes" if (s.st_size, s.st_mode & 0o777, s.st_nlink) == (9, 0o600, 2) else s)
""",
    "deep folders and long names": """
import os
for i in range(15):
    os.mkdir("d" * 200); os.chdir("d" * 200)
open("f" * 255, "w").write("yes"); print(open("f" * 255).read())
try:
    open("g" * 256, "w")
except OSError as e:
    assert e.errno == 36, e
""",
    "names in any bytes": r"""
import os
for name in (b"\xff\xfe", b"new\nline", "\u00fc".encode(), b"esc\x1b[31m", b" ", b"-rf"):
    open(name, "w").close(); os.unlink(name)
print("yes")
""",
    "TMPDIR": """
import os, tempfile
d = os.environ["TMPDIR"]
with tempfile.NamedTemporaryFile("w") as f:
    assert f.name.startswith(d + "/"), f.name
print("yes" if os.stat(d).st_mode & 0o777 == 0o700 else "no")
""",
}


def test_programs(user, t):
    for name, code in PROGRAMS.items():
        t.quiet(python(user, code), name, "yes\n")


def test_refusals_as_the_kernel(user, t):
    """The kernel's own errors arrive unchanged."""
    r = python(user, """
import errno, os
def tried(f, *a):
    try:
        f(*a)
    except OSError as e:
        return errno.errorcode[e.errno]
open("f", "w").close(); os.mkdir("d"); os.mkdir("full"); open("full/x", "w").close()
os.symlink("loop", "loop"); os.symlink("missing/x", "dangling")
print(tried(os.unlink, "none"), tried(os.mkdir, "d"), tried(os.rmdir, "full"),
      tried(os.mkdir, "none/x"), tried(open, "f/x", "w"), tried(open, "d", "w"),
      tried(open, "loop", "w"), tried(os.rmdir, "f"), tried(os.unlink, "d"),
      tried(os.rename, "none", "x"), tried(os.symlink, "a", "f"), tried(open, "dangling", "w"),
      tried(open, "", "w"), tried(os.mkdir, ""))
""")
    want = ("ENOENT EEXIST ENOTEMPTY ENOENT ENOTDIR EISDIR ELOOP ENOTDIR EISDIR ENOENT EEXIST ENOENT "
            "ENOENT ENOENT\n")
    t.quiet(r, "errors are those of the kernel", want)


# ---- reports of denials ----


def test_summary(user, t):
    folder, other = user.folder(), user.folder("other")
    r = user.run("sh", "-c", f"echo x >{other}/new; echo rest", cwd=folder)
    t.ok(r.out == "rest\n" and "Operation not permitted" in r.err, "a denial is EPERM", r)
    t.ok("buckle: 1 operation was denied\n" in r.err, "the summary counts", r)
    t.ok(re.search(rf"^  create +{re.escape(other)}/new +default\.sb:\d+", r.err, re.M),
         "operation, path, rule's place", r)
    t.ok(not os.path.exists(other + "/new"), "and nothing was made")
    r = user.run("sh", "-c", f"for i in 1 2 3; do echo x >{other}/same; done", cwd=folder)
    t.ok("3 operations were denied" in r.err and "3×" in r.err, "the same again is counted", r)
    r = user.run("sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9; do echo x >{other}/n$i; done",
                   cwd=folder)
    t.ok("9 operations" in r.err and r.err.count("  create") == 1 and "(9 paths)" in r.err,
         "neighbours are one line", r)


def test_following_the_flag(user, t):
    """Run, take the suggested flag, run again, until all is allowed."""
    other = user.folder("other")
    user.write(other + "/old", "x")
    repository = user.folder("repository")
    user.sh("git init -q .", cwd=repository)
    deeds = {
        "a file outside": f"echo x >{other}/new",
        "an old file outside": f"echo x >>{other}/old && chmod 600 {other}/old && rm {other}/old",
        "a folder outside": f"mkdir -p {other}/d/e && touch {other}/d/e/f",
        "a strange name": f"touch \"{other}/it's  a [star]*\"",
        "a hook": f"echo x >{repository}/.git/hooks/pre-commit",
        "git's settings": f"git -C {repository} config user.name x",
        "a shell's start-up file": f"echo x >{repository}/.bashrc",
    }
    for name, script in deeds.items():
        folder, flags, rounds = user.folder(), [], 0
        r = user.run("sh", "-c", script, cwd=folder)
        t.ok(r.status != 0 and "denied" in r.err, f"{name}: denied at first", r)
        while r.status != 0 and rounds < 4:
            fresh = suggested_flags(r.err)
            if not fresh:
                break
            flags, rounds = flags + fresh, rounds + 1
            r = user.run(*flags, "sh", "-c", script, cwd=folder)
        t.ok(r.status == 0 and "buckle:" not in r.err, f"{name}: allowed as suggested", flags, r)


JSON_KEYS = {"time", "pid", "exe", "operation", "path", "verdict", "errno", "rule", "line"}


def test_json(user, t):
    folder, other = user.folder(), user.folder("other")
    script = f"exec 2>/dev/null; echo x >{other}/a; mkdir {other}/b"
    r = user.run("--report", "json", "sh", "-c", script, cwd=folder)
    lines = [line for line in r.err.split("\n") if line.startswith("{")]
    t.ok(len(lines) == 2 and "operations were denied" not in r.err, "one line an event", r)
    events = [json.loads(line) for line in lines]
    for event in events:
        t.ok(JSON_KEYS <= set(event), "an event has all it should", event)
    first, second = events
    t.ok(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"]), "time",
         first["time"])
    t.equal((first["operation"], first["path"], first["verdict"], first["errno"]),
            ("file-write-create", other + "/a", "deny", "EPERM"), "what was tried")
    t.ok(first["exe"].startswith("/") and second["exe"].endswith("/mkdir"), "the program", events)
    t.ok(first["pid"] > 1 and first["pid"] != second["pid"], "the process", events)
    t.ok(first["rule"]["file"].endswith("default.sb") and first["rule"]["line"] > 0, "the rule",
         first)
    t.equal(second["line"], f"mkdir({second['pid']}) deny(1) file-write-create {other}/b",
            "a line as macOS words it")
    if user.uid == os.geteuid() or os.geteuid() == 0:
        t.ok(abs(time.time() - time.mktime(time.strptime(first["time"][:19], "%Y-%m-%dT%H:%M:%S"))
                 + time.timezone) < 3600 * 26, "the time is about now", first["time"])


# DEL, C1 controls, bidirectional controls, line separators, a tag
HIDDEN = "\x7f\x85\x9b\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029\U000e0041"


def test_json_is_printable(user, t):
    """JSON for users and agents contains no control or hidden characters from names."""
    folder, other = user.folder(), user.folder("a" + HIDDEN)
    profile = user.write(other + "/p.sb", "(version 1)(allow default)(deny file-write* (subpath "
                                            f'"{other}"))(allow file-read* (regex #"^/{HIDDEN}"))')
    reading = user.write(other + "/r.sb", f'(version 1)(allow default)(deny file-read* (subpath "{other}"))')
    wrong = user.write(other + "/wrong.sb", f'(version 1)(allow "{HIDDEN}")')
    written = {
        "events": ["run", "--report", "json", "sh", "-c", f"exec 2>&-; echo x >'{other}/x'"],
        "a plan": ["run", "--dry-run", "--json", "--profile", reading, "true"],
        "a plan with flags": ["run", "--dry-run", "--json", "--deny-read", other, "true"],
        "an answer": ["eval", "--json", profile, "file-write-data", other + "/x"],
        "an explanation": ["explain", "--json", profile, "file-write-data", other + "/x"],
        "findings": ["check", "--json", wrong],
        "a graph": ["graph", "--format", "json", profile],
        "a catalog": ["catalog", "--json", profile],
    }
    for name, words in written.items():
        r = user.call([BUCKLE, *words], cwd=folder)
        seen = [c for c in HIDDEN if c in r.out + r.err]
        t.ok(any(form in r.out + r.err for form in ("\\u202e", r"\\xe2\\x80\\xae")), f"{name}: it is spelled out", r)
        t.equal(seen, [], f"{name}: nothing raw", r)
    r = user.run("--report", "json", "sh", "-c", f"exec 2>&-; echo x >'{other}/x'", cwd=folder)
    event = json.loads(r.err.split("\n")[0])
    t.equal(event["path"], other + "/x", "who parses it reads the name as it is", r)


def test_report_elsewhere(user, t):
    folder, other = user.folder(), user.folder("other")
    script = f"echo x >{other}/a; echo said >&2"
    r = user.run("--report", "none", "sh", "-c", script, cwd=folder)
    t.ok("buckle:" not in r.err and "said" in r.err, "none: not a word", r)
    read, write = os.pipe()
    child = user.start([BUCKLE, "run", "--report", f"fd:{write}", "sh", "-c",
                          script + f"; echo leaked >&{write}"],
                         cwd=folder, stderr=subprocess.PIPE, pass_fds=[write])
    os.close(write)
    err = child.communicate(timeout=30)[1].decode()
    with os.fdopen(read) as f:
        text = f.read()
    events = [json.loads(line) for line in text.split("\n") if line.startswith("{")]
    t.ok(len(events) == 1 and events[0]["path"] == other + "/a", "fd:N gets the events", text)
    t.ok("denied" not in err, "and standard error does not", err)
    t.ok("leaked" not in text, "the command cannot write there", text)


def test_live(user, t):
    folder, other = user.folder(), user.folder("other")
    child = user.start([BUCKLE, "run", "-v", "sh", "-c",
                          f"exec 2>/dev/null; echo x >{other}/a; read line; exit 0"],
                         cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    line = child.stderr.readline().decode()
    t.ok(child.poll() is None and re.search(
        rf"sh\(\d+\) deny\(1\) file-write-create {re.escape(other)}/a$", line.rstrip()),
        "-v tells while the command runs", line)
    rest = child.communicate(b"\n", timeout=20)[1].decode()
    t.ok("1 operation was denied" in rest, "and sums up at the end", rest)


# ---- modifiers ----


def test_modifiers(user, t):
    folder = user.folder()
    rules = HEAD + """
(deny file-write* (literal "{0}/plain"))
(deny file-write* (literal "{0}/silent") (with no-report))
(deny file-write* (literal "{0}/worded") (with message "because I say so"))
(deny file-write* (literal "{0}/missing") (with errno ENOENT))
(deny file-write* (literal "{0}/full") (with errno ENOSPC))
(deny file-write* (literal "{0}/killed") (with send-signal SIGKILL))
(deny file-write* (literal "{0}/user") (with send-signal SIGUSR1))
(allow file-write* (literal "{0}/told") (with report))
""".format(folder)
    profile = user.profile("modifiers.sb", rules)

    def attempt(name, *flags):
        return user.run("--profile", profile, *flags, PYTHON, "-c", f"""
import errno
try:
    open({name!r}, "w").close(); print("made")
except OSError as e:
    print(errno.errorcode[e.errno])
""", cwd=folder)

    r = attempt("plain")
    t.ok(r.out == "EPERM\n" and "modifiers.sb:4" in r.err, "deny: EPERM, and reported", r)
    r = attempt("silent")
    t.ok(r.out == "EPERM\n" and r.err == "", "no-report: not reported", r)
    r = attempt("worded")
    t.ok(r.out == "EPERM\n" and "because I say so" in r.err, "message: reported with it", r)
    t.equal(attempt("missing").out, "ENOENT\n", "errno: ENOENT")
    t.equal(attempt("full").out, "ENOSPC\n", "errno: by name, not by macOS's number")
    t.equal(attempt("killed").status, -signal.SIGKILL, "send-signal: SIGKILL")
    t.equal(attempt("user").status, -signal.SIGUSR1, "send-signal: by name, not by number")
    r = attempt("told")
    t.ok(r.status == 0 and r.out == "made\n" and "denied" not in r.err,
         "allow with report: allowed, not counted as denied", r)
    r = attempt("told", "--report", "json")
    events = [json.loads(line) for line in r.err.split("\n") if line.startswith("{")]
    t.ok(events and all(e["verdict"] == "allow" for e in events) and
         events[0]["path"] == folder + "/told", "and reported", r)


# ---- flags ----


def test_places(user, t):
    for cwd, words in [(user.home, "your home directory"), ("/", "the root directory")]:
        r = user.run("true", cwd=cwd)
        t.ok(r.status == 125 and words in r.err and "--here" in r.err, f"refused in {words}", r)
        t.equal(user.run("--here", "true", cwd=cwd).status, 0, f"--here in {words}")
    link = os.path.join(user.home, "itself")
    os.symlink(user.home, link)
    t.equal(user.run("true", cwd=link).status, 125, "by another name too")


def test_write_flags(user, t):
    folder, other = user.folder(), user.folder("other")
    deep = user.write(other + "/sub/x", "x")

    def writes(path, *flags):
        return user.run("--report", "none", *flags, "sh", "-c", f"echo y >{path}",
                          cwd=folder).status == 0

    t.ok(not writes(deep), "not without a flag")
    t.ok(writes(deep, "--allow-write", other), "--allow-write FOLDER")
    t.ok(writes(deep, "-w", other + "/sub"), "-w")
    t.ok(writes(deep, "-w", deep), "-w FILE")
    t.ok(writes(other + "/new", "-w", other + "/new"), "-w of what is not there yet")
    t.ok(writes(deep, "-w", f"../{os.path.basename(other)}"), "-w with a relative path")
    t.ok(writes(deep, "-w", f"~/{os.path.basename(other)}"), "-w with ~")
    t.ok(not writes(other + "-beside", "-w", other), "a folder is not its name's beginning")
    t.ok(writes(other + "/a.log", "-w", other + "/*.log"), "-w with a glob: what it matches")
    t.ok(not writes(other + "/a.txt", "-w", other + "/*.log"), "-w with a glob: nothing else")
    t.ok(writes(other + "/p/q/r.log", "-w", other + "/**/*.log") if os.makedirs(
        other + "/p/q", exist_ok=True) or user.own(other + "/p") or user.own(
            other + "/p/q") or True else False, "-w with **")
    os.symlink(other, user.home + "/link-to-other")
    t.ok(writes(deep, "-w", user.home + "/link-to-other"), "-w through a symbolic link")
    t.ok(not writes("here", "--deny-write", "here"), "--deny-write")
    t.ok(not writes("a.key", "--deny-write", "*.key"), "--deny-write with a glob")
    t.ok(writes("a.txt", "--deny-write", "*.key"), "which denies nothing else")
    t.ok(not writes(deep, "-w", other, "--deny-write", other + "/sub"), "--deny-write wins inside")


def test_protected(user, t):
    folder = user.folder()
    os.makedirs(folder + "/.vscode")
    user.own(folder + "/.vscode")

    def writes(path, *flags):
        return user.run("--report", "none", *flags, "sh", "-c", f"echo y >{path}",
                          cwd=folder).status == 0

    for path in (".bashrc", ".gitconfig", ".mcp.json", ".vscode/tasks.json"):
        t.ok(not writes(path), f"{path} is protected")
        t.ok(not writes(path, "-w", folder), f"{path}: opening its folder does not lift that")
        t.ok(writes(path, "-w", path), f"{path}: naming it does")
        os.unlink(f"{folder}/{path}")
    t.ok(writes(".vscode/x.json", "-w", ".vscode"), "a protected folder by its name")


def test_parameters(user, t):
    folder, other = user.folder(), user.folder("other")
    profile = user.profile("parameters.sb", """(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath (param "WHERE")))
(allow file-write* (subpath (param "TMPDIR")))
""")
    script = f"echo x >{other}/f && echo x >$TMPDIR/f"
    r = user.run("--profile", profile, "-D", "WHERE=" + other, "sh", "-c", script, cwd=folder)
    t.quiet(r, "-D and TMPDIR")
    r = user.run("--profile", profile, "-D", "WHERE=" + folder, "sh", "-c", script, cwd=folder)
    t.ok(r.status != 0 and "parameters.sb:3" in r.err, "-D: elsewhere is denied", r)
    for name, can in [("default", True), ("readonly", False), ("strict", True), ("open", True)]:
        r = user.run("--report", "none", "--profile", name, "sh", "-c", "echo x >made && echo ok",
                       cwd=folder)
        t.equal(r.out == "ok\n", can, f"--profile {name}: writing in the folder", r)
    r = user.run("--report", "none", "--profile", "open", "sh", "-c",
                   f"echo x >{other}/made && echo ok", cwd=folder)
    t.equal(r.out, "ok\n", "--profile open: elsewhere", r)


def test_empty_parameter(user, t):
    """An empty parameter, as from `getconf` on another system, must not open the home folder."""
    work = user.folder()
    user.write(user.home + "/.rc", "old")
    text = '(version 1)(deny default)(import "system.sb")(allow process*)(allow file-read*)' \
           '(allow file-write* (subpath (param "TARGET_DIR")) (subpath (param "CACHE_DIR")))'
    profile = user.profile("cache.sb", text)
    given = ["-D", "TARGET_DIR=" + work]
    r = user.run("--profile", profile, *given, "-D", "CACHE_DIR=", "--", "sh", "-c",
                   "echo new >~/.rc", cwd=work)
    with open(user.home + "/.rc", encoding="utf-8") as f:
        t.equal(f.read(), "old", "an empty parameter does not open home")
    t.ok(r.status == 125 and "the parameter CACHE_DIR is empty: give it a path" in r.err,
         "it is named", r)
    r = user.run("--profile", profile, *given, "-D", "CACHE_DIR=/none", "--", "true", cwd=work)
    t.quiet(r, "with a path it runs")


def test_environment(user, t):
    env = {"GITHUB_TOKEN": "t", "AWS_SECRET_ACCESS_KEY": "a", "SSH_AUTH_SOCK": "/s", "PLAIN": "p"}
    r = inside(user, "env", env=env)
    names = {line.split("=")[0] for line in r.out.split("\n")}
    t.ok(not names & {"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK"} and "PLAIN" in names,
         "secrets are not passed on", r)
    env |= {name: "hush" for name in (
        "PRIVATE_KEY", "SECRET_KEY_BASE", "GPG_PASSPHRASE", "BORG_PASSPHRASE", "PASSPHRASE", "SSHPASS",
        "DOCKER_AUTH_CONFIG", "RAILS_MASTER_KEY", "PGPASSWORD", "MYSQL_PWD", "APP_KEY", "API_KEY",
        "OPENAI_API_KEY_2", "MY_SECRETS", "GITHUB_PAT", "CI_JOB_JWT", "GOOGLE_CREDENTIALS", "BW_SESSION",
        "npm_config_//registry.example.test/:_authToken", "DEPLOY_KEY_BASE64", "STAGING_DATABASE_URL")}
    r = inside(user, "env", env=env)
    t.equal([line for line in r.out.split("\n") if line.endswith("=hush")], [], "by whatever name", r)
    everyday = {name: "seen" for name in (
        "GPG_TTY", "SSH_ASKPASS", "GIT_ASKPASS", "SUDO_ASKPASS", "GNUPGHOME", "GIT_CONFIG_KEY_0", "OLDPWD",
        "HOST_PWD", "XDG_SESSION_ID", "KEYBOARD", "MONKEY", "COMPASS", "BYPASS", "TOKENIZERS_PARALLELISM",
        "AUTHOR", "GIT_AUTHOR_NAME", "NEXT_PUBLIC_MAPS_KEY", "DEPLOY_PUBLIC_KEY", "KEYS", "PATCH")}
    r = inside(user, "env", env=everyday)
    t.equal(sorted(line[:-5] for line in r.out.split("\n") if line.endswith("=seen")),
            sorted(everyday), "what is no secret is", r)
    r = inside(user, "--env", "GITHUB_TOKEN", "env", env=env)
    t.ok("GITHUB_TOKEN=t" in r.out and "AWS_SECRET" not in r.out, "--env keeps one", r)
    r = inside(user, "-v", "true", env=env)
    t.ok("GITHUB_TOKEN" in r.err and "--env" in r.err, "-v says so", r)


def test_descriptors(user, t):
    folder = user.folder()
    path = user.write(user.home + "/held", "held")
    script = "import os\nfor n in (5, 6):\n  try: os.fstat(n); print(n)\n  except OSError: pass"
    opened = [os.open(folder, os.O_RDONLY), os.open(path, os.O_RDONLY)]

    def held(*flags):
        code = (f"import os; os.dup2({opened[0]}, 5); os.dup2({opened[1]}, 6); "
                f"os.execv({BUCKLE!r}, {[BUCKLE, 'run', *flags, PYTHON, '-c', script]!r})")
        return user.call([PYTHON, "-c", code], cwd=folder, pass_fds=opened).out.split()

    t.equal(held(), ["6"], "a folder is closed, a file stays")
    t.equal(held("--keep-fd", "5"), ["5", "6"], "--keep-fd")
    for fd in opened:
        os.close(fd)


def test_limits(user, t):
    fork = "import os, time\nn = 0\ntry:\n  while n < 200:\n    if os.fork() == 0: time.sleep(9)\n" \
           "    n += 1\nexcept OSError as e: print(n < 200)"
    if user.uid != 0:
        r = python(user, fork, "--max-procs", "20")
        t.ok(r.out == "True\n", "--max-procs", r)
        t.equal(inside(user, "--max-procs", "20", "sh", "-c", "true & true & wait").status, 0,
                "--max-procs leaves room for a few")
    r = python(user, "try: x = bytearray(1 << 30)\nexcept MemoryError: print('no')",
               "--max-memory", "400M")
    t.equal(r.out, "no\n", "--max-memory", r)
    r = python(user, "x = bytearray(1 << 25); print('yes')", "--max-memory", "1G")
    t.equal(r.out, "yes\n", "--max-memory leaves what it says", r)


def test_wait(user, t):
    folder = user.folder()
    script = "(sleep 0.7; touch late) >/dev/null 2>&1 & exit 3"
    r = user.run("sh", "-c", script, cwd=folder)
    time.sleep(1)
    t.equal((r.status, os.path.exists(folder + "/late")), (3, False),
            "background processes end with the command")
    r = user.run("--wait", "sh", "-c", script, cwd=folder)
    t.equal((r.status, os.path.exists(folder + "/late")), (3, True), "--wait lets them finish", r)


# ---- outside the sandbox ----

OUTSIDE = """
import errno, os, signal, sys
pid = int(sys.argv[1])
def tried(f, *a):
    try:
        f(*a)
    except OSError as e:
        return errno.errorcode[e.errno]
    return "done"
print(tried(os.kill, pid, 0), tried(os.kill, pid, signal.SIGKILL),
      tried(open, f"/proc/{pid}/mem", "rb"), os.path.exists(f"/proc/{pid}"), os.getppid(),
      len([n for n in os.listdir("/proc") if n.isdigit()]), flush=True)
"""


def test_processes_outside(user, t):
    """Another process of the same user, and Buckle's own."""
    other = user.start(["sleep", "1000"])
    r = python(user, OUTSIDE.replace("sys.argv[1]", str(other.pid)))
    t.ok(r.out == "ESRCH ESRCH ENOENT False 0 2\n", "they can be neither seen nor signalled", r)
    t.ok(other.poll() is None, "and live on", r)
    other.kill()
    other.wait()


def test_privileges(user, t):
    r = inside(user, "cat", "/proc/self/status")
    reported = dict(line.split(":\t") for line in r.out.strip().split("\n") if ":\t" in line)
    t.equal(reported["NoNewPrivs"], "1", "no privilege can be gained")
    # chown, dac_override, fowner, fsetid, kill, setgid, setuid: what work on files needs
    allowed = 0xfb if user.uid == 0 else 0
    for field in ("CapEff", "CapPrm", "CapBnd"):
        most = allowed if field != "CapBnd" or user.uid == 0 else (1 << 64) - 1
        t.ok(int(reported[field], 16) & ~most == 0, f"{field} is not more than it should be",
             reported[field])
    if os.geteuid() != 0 or user.uid == 0:
        return
    program = os.path.join(os.path.dirname(BUCKLE), "set-id")
    shutil.copy("/usr/bin/id", program)
    os.chmod(program, 0o4755)
    t.equal(user.call([program, "-u"]).out, "0\n", "outside a set-id program is root's")
    t.equal(inside(user, program, "-u").out, f"{user.uid}\n", "inside it is not")


# ---- plans and hosts ----


def test_dry_run(user, t):
    folder = user.folder()
    r = user.run("--dry-run", "touch", "made", cwd=folder)
    t.ok(r.status == 0 and not os.path.exists(folder + "/made"), "--dry-run runs nothing", r)
    t.ok("judged" in r.out and folder in r.out and "default.sb" in r.out, "it shows the plan", r)
    r = user.run("--dry-run", "--json", "true", cwd=folder)
    t.ok(isinstance(json.loads(r.out), dict), "--json")
    t.equal(user.run("--dry-run", cwd=folder).status, 0, "no command is needed")
    allowing = user.profile("allowing.sb", HEAD)
    r = user.run("--dry-run", "--profile", allowing, cwd=folder)
    t.ok(re.search(r"^  free .*(\n {18}.*)*file-read-data", r.out, re.M), "what is uniformly allowed is not judged", r)
    updatable = user.run("--dry-run", "--updatable", "--profile", allowing, cwd=folder)
    t.ok(re.search(r"^  judged .*(\n {18}.*)*file-write-create", updatable.out, re.M),
         "--updatable judges all the same", updatable)


# what the host lacks: what the error names
LACKING = {
    "landlock=0": "Landlock",
    "seccomp_notify=0": "judge",
    "pid_ns=0,landlock=5,read_memory=0": "signalled",
}


def test_lesser_hosts(user, t):
    folder = user.folder()
    for lack, word in LACKING.items():
        env = {"BUCKLE_PRETEND": lack}
        r = user.run("true", cwd=folder, env=env)
        t.ok(r.status == 125 and "--accept-weaker" in r.err, f"{lack}: an error that names the flag",
             r)
        r = user.run("--accept-weaker", "--dry-run", "true", cwd=folder, env=env)
        t.equal(r.status, 0, f"{lack}: --accept-weaker plans", r)
        t.ok("weaker" in r.out.lower() or word.lower() in r.out.lower(), f"{lack}: and says so", r)
    # a process that can write to others' memory escapes all rules, although no file is denied
    env = {"BUCKLE_PRETEND": "landlock=0,user_ns=0,mount_ns=0,pid_ns=0,net_ns=0"}
    profile = user.write(user.home + "/no-network.sb", HEAD + "(deny network*)\n")
    r = user.run("--profile", profile, "true", cwd=folder, env=env)
    t.ok(r.status == 125 and "no Landlock" in r.err, "no way to hold a policy about the network", r)
    # every policy protects Buckle's own settings, also one that allows everything
    profile = user.write(user.home + "/open.sb", HEAD)
    r = user.run("--profile", profile, "true", cwd=folder, env=env)
    t.ok(r.status == 125 and "--accept-weaker" in r.err, "nor our own settings where all is allowed", r)
    t.quiet(user.run("--accept-weaker", "--profile", profile, "true", cwd=folder, env=env), "unless that is accepted")
    r = user.run("true", cwd=folder, env={"BUCKLE_PRETEND": "nonsense=1"})
    t.ok(r.status == 125 and "nonsense" in r.err, "an unknown ability is an error", r)
    # containers often refuse a new /proc: only the pid namespace is lost
    for lack in ("pid_ns=0", "mount_proc=0", "notify_sync=0", "notify_killable=0"):
        r = user.run("--accept-weaker", "sh", "-c", "echo x >f && echo fine", cwd=folder,
                       env={"BUCKLE_PRETEND": lack})
        t.equal((r.status, r.out), (0, "fine\n"), f"{lack}: works", r)
    for lack in ("landlock=1", "landlock=2", "landlock=3", "landlock=5"):
        r = user.run("--accept-weaker", "sh", "-c", f"echo x >f && ! echo y >{user.home}/no",
                       cwd=folder, env={"BUCKLE_PRETEND": lack})
        t.ok(r.status == 0 and not os.path.exists(user.home + "/no"), f"{lack}: enforced", r)


def test_nested(user, t):
    """A process tree has only one seccomp listener: if it belongs to others, a judge is refused."""
    r = user.run("true", cwd=user.folder(), env={"BUCKLE_PRETEND": "listener_taken=1"})
    t.ok(r.status == 125 and "--accept-weaker" in r.err, "another program has the listener", r)


def main():
    for_everybody([
        test_status, test_setup_errors, test_timeout, test_signals_passed_on, test_quiet,
        test_streams, test_devices, test_orders, test_programs, test_refusals_as_the_kernel, test_summary,
        test_following_the_flag, test_json, test_json_is_printable, test_report_elsewhere, test_live, test_modifiers,
        test_places, test_write_flags, test_protected, test_parameters,
        test_empty_parameter, test_environment,
        test_descriptors, test_limits, test_wait, test_processes_outside,
        test_privileges, test_dry_run, test_lesser_hosts, test_nested,
    ])
    return done()


if __name__ == "__main__":
    sys.exit(main())
