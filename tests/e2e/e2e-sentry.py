#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sentries' file system alone: real programs behind it, compared with the plain folder.

No other part of the sandbox runs (tests/sentry/sentry-host.c), so the results are the server's own.
e2e-reads.py tests it within `buckle run`.
"""

import errno
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import drive  # noqa: E402
import running  # noqa: E402
import tap  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = os.environ.get("TOOLS", os.path.join(TOP, "build", "gcc", "tests"))
GROUP = 5151  # a supplementary group of the ordinary user
PYTHON = "/usr/bin/python3"


def built():
    """The program under test, copied where everybody can run it."""
    beside = os.path.join(os.path.dirname(drive.BUCKLE), "tests", "sentry-host")
    path = os.path.join(drive.FOLDER, "bin", "sentry-host")
    shutil.copy(beside if os.path.exists(beside) else os.path.join(TOOLS, "sentry-host"), path)
    os.chmod(path, 0o755)
    return path


def device():
    """/dev/fuse, or a copy that everybody may open, as on distributions."""
    if os.geteuid() != 0 or os.stat("/dev/fuse").st_mode & 0o6 == 0o6:
        return "/dev/fuse"
    path = os.path.join(drive.FOLDER, "fuse")
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(10, 229))
    os.chmod(path, 0o666)
    return path


HOST, DEVICE = None, None  # set by main()


class Watched:
    """A tree with sentries on some of its folders."""

    def __init__(self, user, name, rules="", points=("",)):
        self.user = user
        self.top = user.folder(name)
        self.rules = rules
        self.points = points
        self.events = os.path.join(user.sessions, f"{os.path.basename(self.top)}.events")

    def path(self, name):
        return os.path.join(self.top, name) if name else self.top

    def write(self, name, text="", mode=0o644):
        return self.user.write(self.path(name), text, mode)

    def command(self, *argv):
        text = "(version 1)\n(allow default)\n" + textwrap.dedent(self.rules).replace("TOP", self.top)
        profile = self.user.write(self.events[:-len("events")] + "sb", text)
        points = [self.path(p) for p in self.points]
        return [HOST, DEVICE, self.events, profile, *points, "--", *argv]

    def call(self, *argv, **how):
        """Runs a command behind the sentries."""
        if os.path.exists(self.events):
            os.unlink(self.events)
        how.setdefault("cwd", self.top)
        how.setdefault("extra_groups", [GROUP])
        return call(self.user, self.command(*argv), **how)

    def bare(self, *argv, **how):
        """The same without sentries, but with the same namespaces."""
        kept, self.points = self.points, ()
        ran = self.call(*argv, **how)
        self.points = kept
        return ran

    def reported(self):
        """What was reported: [(operation, path below the tree, rule's line)]."""
        return [(e["operation"], os.path.relpath(e["path"], self.top), e["rule"].get("line"))
                for e in self.raw_reported()]

    def raw_reported(self):
        if not os.path.exists(self.events):
            return []
        with open(self.events, encoding="utf-8") as f:
            return [json.loads(line) for line in f]


def call(user, argv, cwd, extra_groups, timeout=60):
    how = {} if user.uid == os.geteuid() else {
        "user": user.uid, "group": user.uid, "extra_groups": extra_groups}
    began = time.monotonic()
    child = subprocess.Popen(argv, cwd=cwd, env=user.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    return drive.Ran(*drive.finish(child, None, timeout), time.monotonic() - began)


# Runs "word argument…" lines and prints for each the name of its errno, or OK with what it got.
DEEDS = r"""
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
start = os.open(".", os.O_PATH)

def statx_lazily(path):  # content with what the kernel knows already
    buf = ctypes.create_string_buffer(256)
    if libc.statx(-100, path.encode(), 0x4000, 0x7ff, buf) < 0:
        raise OSError(ctypes.get_errno(), "")
    return int.from_bytes(buf[40:48], "little")  # the size

def read(path):
    with open(path, "rb") as f:
        return f.read()

def execute(path):
    pid = os.fork()
    if pid == 0:
        try:
            os.execv(path, [path])
        except OSError as e:
            os._exit(e.errno)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code, "")

def through(path):  # a descriptor that only names, opened afterwards
    fd = os.open(path, os.O_PATH)
    return read(f"/proc/self/fd/{fd}")

deeds = {
    "read": read, "list": lambda p: sorted(os.listdir(p)), "stat": lambda p: os.lstat(p).st_size,
    "lazily": statx_lazily, "readlink": os.readlink, "exists": lambda p: os.access(p, os.F_OK) or 1 / 0,
    "xattrs": os.listxattr, "xattr": lambda p: os.getxattr(p, "user.note"), "chdir": lambda p: (os.chdir(p), os.fchdir(start))[0],
    "statfs": lambda p: os.statvfs(p).f_namemax, "execute": execute, "through": through,
    "create": lambda p: os.open(p, os.O_CREAT | os.O_WRONLY, 0o644), "unlink": os.unlink,
    "truncate": lambda p: os.truncate(p, 0), "append": lambda p: os.open(p, os.O_WRONLY),
    "chmod": lambda p: os.chmod(p, 0o600), "mkdir": os.mkdir, "touch": os.utime,
    "rename": lambda p: os.rename(p, p + ".new"), "link": lambda p: os.link(p, p + ".new"),
    "symlink": lambda p: os.symlink("x", p), "setxattr": lambda p: os.setxattr(p, "user.note", b"2"),
    "mknod": lambda p: os.mkfifo(p), "rmdir": os.rmdir,
}
for line in sys.argv[1:]:
    deed, _, argument = line.partition(" ")
    try:
        got = deeds[deed](argument)
        print("OK" if got is None or deed in ("create", "append") else f"OK {got!r}")
    except OSError as e:
        print(errno.errorcode.get(e.errno, e.errno))
    except ZeroDivisionError:
        print("no")
"""


def check_deeds(watched, check, what, rows, reported=None):
    """rows: {deed: outcome}; told: what is to be reported."""
    ran = watched.call(PYTHON, "-c", DEEDS, *rows)
    got = dict(zip(rows, ran.out.split("\n")))
    wrong = [f"{deed}: wanted {want}, got {got.get(deed)}" for deed, want in rows.items()
             if got.get(deed) != want]
    check.ok(not wrong, f"{what} ({len(rows)} deeds)", *wrong, *([ran] if wrong else []))
    if reported is not None:
        check.equal(watched.reported(), reported, f"{what}: reports")


# ---- allowed access works as without a sentry ----


def furnish(w):
    """Creates files of every kind."""
    p = w.user
    w.write("empty")
    w.write("note", "a needle in a note\n")
    w.write("locked", "mine\n", 0o000)
    w.write("strict", "needle\n", 0o600)
    w.write("big", "0123456789abcdef" * 200000 + "needle\n")
    w.write("script.sh", "#!/bin/sh\necho \"script $1\"\n", 0o755)
    w.write("plain.sh", "echo plain\n", 0o644)
    w.write("deep/er/and/deeper/still", "needle\n")
    w.write("odd/\u00e4 b\n*c\\", "odd\n")
    w.write("odd/" + "n" * 255, "long\n")
    for i in range(700):
        w.write(f"many/{i:04}", f"{i}\n")
    shutil.copy("/bin/echo", w.path("binary"))
    p.own(w.path("binary"))
    os.link(w.path("note"), w.path("twin"))
    for name, target in (("link", "note"), ("absolute", "/etc/passwd"), ("dangling", "nowhere"),
                         ("loop", "loop"), ("tolder", "deep/er")):
        os.symlink(target, w.path(name))
        os.lchown(w.path(name), p.uid, p.uid)
    with open(w.path("sparse"), "wb") as f:
        f.write(b"start")
        f.seek(1 << 20)
        f.write(b"middle")
        f.truncate(3 << 20)
    os.mkfifo(w.path("pipe"))
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(w.path("socket"))
    for name in ("sparse", "pipe", "socket"):
        p.own(w.path(name))
    p.sh(f"cd {w.top} && mkdir repo && cd repo && git init -q . && git config user.email a@b && "
         "git config user.name a && for i in $(seq 50); do echo $i >f$i; done && git add . && "
         "git commit -qm all && echo more >>f1 && echo new >g && rm f2")
    try:
        os.setxattr(w.path("note"), "user.note", b"value\0with\xff")
    except OSError:
        pass
    if os.geteuid() == 0:
        w.write("theirs", "group only\n", 0o640)
        os.chown(w.path("theirs"), 0, GROUP)
        w.write("root's", "root only\n", 0o600)
        os.chown(w.path("root's"), 0, 0)


SAME = {
    "ls": "ls -laR --time-style=full-iso .",
    "find": r"find . -printf '%p %y %m %n %s %b %U %G %i %l %T@ %C@ %D\n' | sed 's/ [0-9]*$//'",
    "stat with birth": "find . -exec stat --printf '%n %W %a %o %s %t %T %N\\n' {} +",
    "grep": "grep -rn needle .",
    "rg": "rg --sort path -n needle . || rg --sort path -uu needle .",
    "checksums": "find . -type f -exec md5sum {} +",
    "tar": "tar cf - --sort=none . 2>&1 | md5sum",
    "diff after cp": "mkdir -p $TMP/copy && cp -a . $TMP/copy/t; diff -r --no-dereference . $TMP/copy/t; "
                     "find $TMP/copy/t -printf '%P %m %s %l %t\\n'; rm -rf $TMP/copy",
    "git": "cd repo && git status --porcelain && git log --format=%s%H && git diff",
    "script": "./script.sh argument; ./plain.sh; sh plain.sh",
    "binary": "./binary argument; cd deep && ../binary again",
    "walking": "cd tolder/and && pwd && ls .. && cat deeper/still ../../../link && cat absolute",
    "links": "readlink link absolute dangling loop; cat loop dangling; realpath tolder",
    "ranges": "dd if=big bs=1000 skip=77 count=3 status=none | md5sum; tail -c 8 big; head -c 5 big",
    "locks": "exec 8<note && flock -n 8 && echo locked && flock -n note true || echo busy",
    "mmap": f"""{PYTHON} -c '
import mmap, hashlib
for share in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
    with open("big", "rb") as f, mmap.mmap(f.fileno(), 0, flags=share, prot=mmap.PROT_READ) as m:
        print(hashlib.md5(m).hexdigest(), m[16 * 200000:])'""",
    "holes": f"""{PYTHON} -c '
import os
fd = os.open("sparse", os.O_RDONLY)
print(os.lseek(fd, 0, os.SEEK_HOLE), os.lseek(fd, 8192, os.SEEK_DATA), os.lseek(fd, 0, os.SEEK_END))
try: os.lseek(fd, 2 << 20, os.SEEK_DATA)
except OSError as e: print(e.errno)'""",
    "access": f"""{PYTHON} -c '
import os
for n in sorted(os.listdir(".")):
    print(n, [os.access(n, m) for m in (os.F_OK, os.R_OK, os.W_OK, os.X_OK)])'""",
    "attributes": f"""{PYTHON} -c '
import os
for n in sorted(os.listdir(".")):
    try: print(n, [(a, os.getxattr(n, a)) for a in os.listxattr(n, follow_symlinks=False)])
    except OSError as e: print(n, e.errno)'""",
    "file system": f"""{PYTHON} -c '
import os
v = os.statvfs("note"); print(v.f_bsize, v.f_frsize, v.f_blocks, v.f_namemax)'""",
    "seeking in a folder": f"""{PYTHON} -c '
import ctypes
libc = ctypes.CDLL(None)
class Entry(ctypes.Structure):
    _fields_ = [("ino", ctypes.c_ulong), ("off", ctypes.c_long), ("len", ctypes.c_ushort),
                ("type", ctypes.c_ubyte), ("name", ctypes.c_char * 256)]
libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.POINTER(Entry)
libc.readdir.argtypes = libc.telldir.argtypes = libc.rewinddir.argtypes = [ctypes.c_void_p]
libc.telldir.restype = ctypes.c_long
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
d = libc.opendir(b"many")
def rest():
    names = []
    while (e := libc.readdir(d)): names.append(e.contents.name)
    return names
places, names = [], []
while True:
    places.append(libc.telldir(d))
    e = libc.readdir(d)
    if not e: break
    names.append(e.contents.name)
print(len(names), len(set(names)))
for i in (0, 1, 350, 699, 701, 20):
    libc.seekdir(d, places[i])
    print(rest() == names[i:])
libc.rewinddir(d)
print(rest() == names)'""",
}


def test_same(user, check):
    w = Watched(user, "same")
    furnish(w)
    temporary = user.folder("tmp")
    user.env = dict(user.env, TMP=temporary)
    for what, script in SAME.items():
        if what == "rg" and running.missing("rg"):
            tap.skip("ripgrep is not installed")
            continue
        bare, ours = w.bare("sh", "-c", script), w.call("sh", "-c", script)
        same = (bare.raw, bare.err, bare.status) == (ours.raw, ours.err, ours.status)
        check.ok(same and bare.out, f"the same by {what}", first_difference(bare, ours))
    check.equal(w.reported(), [], "nothing to report")


def first_difference(a, b):
    for name in ("out", "err"):
        for x, y in zip((getattr(a, name) + "\n<end>").split("\n"), (getattr(b, name) + "\n<end>").split("\n")):
            if x != y:
                return f"{name}: bare {x!r}, behind the sentry {y!r}"
    return f"status: bare {a.status}, behind the sentry {b.status}"


# ---- what is denied ----


def test_data(user, check):
    """Contents are denied, metadata is not."""
    w = Watched(user, "data", """\
        (deny file-read-data (subpath "TOP/secret"))
        (allow file-read-data (literal "TOP/secret/known"))
        (deny file-read-data (literal "TOP/alias") (with errno ENOENT))
    """)
    w.write("secret/key", "12345")
    w.write("secret/known", "hosts")
    w.write("secret/prog", "#!/bin/true\n", 0o755)
    w.write("alias", "hidden")
    os.link(w.path("secret/key"), w.path("hard"))
    os.symlink("secret/key", w.path("soft"))
    check_deeds(w, check, "contents denied", {
        "read secret/key": "EPERM", "list secret": "EPERM", "stat secret/key": "OK 5",
        "lazily secret/key": "OK 5", "exists secret/key": "OK True", "stat secret": f"OK {os.stat(w.path('secret')).st_size}",
        "read secret/known": "OK b'hosts'", "through secret/key": "EPERM", "through secret/known": "OK b'hosts'",
        "read soft": "EPERM", "readlink soft": "OK 'secret/key'", "read hard": "OK b'12345'",
        "read alias": "ENOENT", "stat alias": "OK 6", "read secret/none": "ENOENT",
        "xattrs secret/key": "OK []", "statfs secret": "OK 255", "read note": "ENOENT",
        "chdir secret": "OK",
    }, [("file-read-data", "secret/key", 3), ("file-read-data", "secret", 3),
        ("file-read-data", "secret/key", 3), ("file-read-data", "secret/key", 3),
        ("file-read-data", "alias", 5)])
    # this /proc is the host's: it shows outside pids, not $$
    ran = w.call("sh", "-c", "read pid rest </proc/self/stat; echo $pid $$; exec cat secret/key")
    outside, inside = ran.out.split()
    event = (w.raw_reported() or [{}])[0]
    check.equal((event.get("pid"), event.get("exe", "").split("/")[-1]), (int(outside), "cat"),
                "the process has its number outside, and the program is named")
    check.ok(inside != outside, "it has another one inside")


def test_all(user, check):
    """file-read* denies both; lookups below still reach allowed files."""
    w = Watched(user, "all", """\
        (deny file-read* (subpath "TOP/hidden"))
        (allow file-read* (subpath "TOP/hidden/way/to/open"))
        (deny file-read-xattr (literal "TOP/marked"))
        (deny file-test-existence (literal "TOP/unseen"))
        (deny process-exec* (literal "TOP/program"))
        (deny file-read-metadata (literal "TOP/blind"))
    """)
    w.write("hidden/file", "12345")
    w.write("hidden/way/to/open/file", "here")
    w.write("hidden/way/to/closed", "not here")
    w.write("marked", "m")
    w.write("unseen", "u")
    w.write("blind", "contents")
    w.write("program", "#!/bin/true\n", 0o755)
    os.symlink("way/to/open/file", w.path("hidden/soft"))
    check_deeds(w, check, "all reading denied", {
        "read hidden/file": "EPERM", "stat hidden/file": "EPERM", "lazily hidden/file": "OK 0",
        "list hidden": "EPERM", "stat hidden": "EPERM", "chdir hidden": "OK",
        "readlink hidden/soft": "EPERM", "xattrs hidden/file": "EPERM", "statfs hidden": "EPERM",
        "read hidden/way/to/open/file": "OK b'here'", "list hidden/way/to/open": "OK ['file']",
        "stat hidden/way/to/closed": "EPERM", "list hidden/way": "EPERM",
        "xattrs marked": "EPERM", "read marked": "OK b'm'",
        "exists unseen": "no", "read unseen": "OK b'u'",
        "read blind": "OK b'contents'", "stat blind": "EPERM",
        "execute program": "EPERM", "read program": "OK b'#!/bin/true\\n'",
        "read hidden/none": "ENOENT",
    }, [("file-read-data", "hidden/file", 3), ("file-read-metadata", "hidden/file", 3),
        ("file-read-data", "hidden", 3), ("file-read-metadata", "hidden", 3),
        ("file-read-metadata", "hidden/soft", 3),
        ("file-read-xattr", "hidden/file", 3), ("file-read-metadata", "hidden", 3),
        ("file-read-metadata", "hidden/way/to/closed", 3), ("file-read-data", "hidden/way", 3),
        ("file-read-xattr", "marked", 5), ("file-test-existence", "unseen", 6),
        ("file-read-metadata", "blind", 8), ("process-exec*", "program", 7)])


def test_writes(user, check):
    """Nothing is ever written through it."""
    w = Watched(user, "writes", '(deny file-read-data (literal "TOP/x"))')
    w.write("file", "12345")
    w.write("folder/inside", "")
    before = user.sh(f"find {w.top} -printf '%p %m %s %T@ %C@\\n'")
    deeds = ("create new", "append file", "truncate file", "chmod file", "unlink file", "mkdir new",
             "rename file", "link file", "symlink new", "setxattr file", "mknod new", "rmdir folder",
             "touch file")
    check_deeds(w, check, "writing", dict.fromkeys(deeds, "EROFS"), [])
    check.equal(user.sh(f"find {w.top} -printf '%p %m %s %T@ %C@\\n'"), before, "nothing has changed")


def test_points(user, check):
    """A sentry on a file, a sentry inside a sentry, sentries side by side."""
    w = Watched(user, "points", '(deny file-read-data (regex #"/key$"))',
                ("one/key", "two", "two/inner", "three"))
    for name in ("one/key", "one/other", "two/key", "two/inner/key", "two/inner/fine", "three/fine"):
        w.write(name, name)
    check_deeds(w, check, "several sentries", {
        "read one/key": "EPERM", "stat one/key": "OK 7", "read one/other": "OK b'one/other'",
        "list one": "OK ['key', 'other']", "read two/key": "EPERM", "read two/inner/key": "EPERM",
        "read two/inner/fine": "OK b'two/inner/fine'", "list two": "OK ['inner', 'key']",
        "read three/fine": "OK b'three/fine'",
    }, [("file-read-data", p, 3) for p in ("one/key", "two/key", "two/inner/key")])


# ---- changes outside ----


class Talk:
    """A shell behind the sentries, driven line by line."""

    def __init__(self, watched):
        if os.path.exists(watched.events):
            os.unlink(watched.events)
        how = watched.user.as_them()
        self.child = subprocess.Popen(watched.command("sh"), cwd=watched.top, env=watched.user.env,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, bufsize=1, **how)

    def send(self, line):
        self.child.stdin.write(line + "; echo .\n")
        received = ""
        while not received.endswith(".\n"):
            more = self.child.stdout.readline()
            if not more:
                return received + "<gone>"
            received += more
        return received[:-2].strip()

    def close(self):
        self.child.stdin.close()
        self.child.wait(timeout=20)
        self.child.stdout.close()


def test_changes(user, check):
    """Changes to the real folder are visible and checked at once."""
    w = Watched(user, "changes", '(deny file-read-data (subpath "TOP/secret"))')
    w.write("secret/key", "secret")
    w.write("file", "old")
    w.write("moving/inside", "moved")
    t = Talk(w)
    check.equal(t.send("cat file"), "old", "before")
    w.write("file", "newer")
    check.equal(t.send("cat file; stat -c %s file"), "newer5", "new contents")
    t.send("exec 5<file")
    w.write("other", "replaced")
    os.rename(w.path("other"), w.path("file"))
    check.equal(t.send("cat file; cat <&5"), "replacednewer", "a file that was replaced, and the old one")
    t.send("exec 6<file")
    with open(w.path("file"), "a", encoding="utf-8") as f:
        f.write(" and grown")
    check.equal(t.send("cat <&6"), "replaced and grown", "a file that grew while open")
    os.unlink(w.path("file"))
    check.equal(t.send("test -e file || echo gone; ls"), "gone\nmoving\nsecret", "a file that was removed")
    t.send("cd moving")
    os.rename(w.path("moving"), w.path("secret/moving"))
    check.ok("not permitted" in t.send("cat inside"), "a folder that came below a denied one")
    os.rename(w.path("secret/moving"), w.path("free"))
    check.equal(t.send("cat inside"), "moved", "and left it again")
    t.send("cd ..")
    user.sh(f"rm -r {w.path('free')}; mv {w.path('secret')} {w.path('public')}")
    check.equal(t.send("cat public/key"), "secret", "a folder that lost its denied name")
    t.close()

def test_at_once(user, check):
    """However quickly files change, an answer never uses an earlier check."""
    w = Watched(user, "once")
    w.write("grown", "")
    w.write("old", "")
    script = """
import os, sys
def outside(what):
    print(what, flush=True)
    sys.stdin.readline()
bad = []
for i in range(150):
    if os.stat("grown").st_size != i: bad.append(f"stat {i}")
    fd = os.open("grown", os.O_RDONLY)
    outside("grow")
    if os.fstat(fd).st_size != i + 1: bad.append(f"fstat {i}")
    if len(os.pread(fd, 1000, 0)) != i + 1: bad.append(f"read {i}")
    if os.stat("grown").st_size != i + 1: bad.append(f"stat again {i}")
    os.close(fd)
    os.stat("old")
    outside("move")
    if os.path.exists("old") or not os.path.exists("new"): bad.append(f"move {i}")
    outside("back")
print("done", bad, flush=True)
"""
    child = subprocess.Popen(w.command(PYTHON, "-c", script), cwd=w.top, env=user.env,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **user.as_them())
    for line in child.stdout:
        if line == "grow\n":
            with open(w.path("grown"), "a", encoding="utf-8") as f:
                f.write("x")
        elif line in ("move\n", "back\n"):
            names = (w.path("old"), w.path("new"))
            os.rename(*(names if line == "move\n" else reversed(names)))
        else:
            break
        child.stdin.write("\n")
        child.stdin.flush()
    child.stdin.close()
    child.stdout.close()
    child.wait(timeout=20)
    check.equal(line, "done []\n", "changes are seen at once")


def test_gone(user, check):
    """A denied file that was unlinked while open."""
    w = Watched(user, "gone", '(deny file-read-data (subpath "TOP/secret"))')
    w.write("secret/key", "secret")
    script = """
import os, sys
fd = os.open("secret/key", os.O_PATH)
print("held", flush=True)
sys.stdin.readline()
try: print(open(f"/proc/self/fd/{fd}").read())
except OSError as e: print(e.errno)
"""
    child = subprocess.Popen(w.command(PYTHON, "-c", script), cwd=w.top, env=user.env,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **user.as_them())
    child.stdout.readline()
    os.unlink(w.path("secret/key"))
    out, _ = child.communicate("\n", timeout=20)
    check.equal(out.strip(), str(errno.EPERM), "a denied file stays denied when its name is gone")
    check.equal(w.reported()[-1], ("file-read-data", "secret/key", 3), "and is reported by that name")


# ---- whose rights ----


def test_rights(user, check):
    """Modes, groups and ACLs apply to the calling process."""
    w = Watched(user, "rights")
    if os.geteuid() != 0:
        tap.skip("only root can make other people's files")
        return
    rows = {"own": (4242, 4242, 0o600), "root": (0, 0, 0o600), "group": (0, GROUP, 0o640),
            "none": (4242, 4242, 0), "other": (0, 0, 0o604), "minus": (0, GROUP, 0o604),
            "program": (0, 0, 0o700), "acl": (0, 0, 0o640)}
    for name, (uid, gid, mode) in rows.items():
        w.write(name, "#!/bin/true\n")
        w.write(f"in-{name}/file", "f")
        for path, extra in ((w.path(name), 0), (w.path("in-" + name), 0o100 if mode & 0o400 else 0)):
            os.chown(path, uid, gid)
            os.chmod(path, mode | extra)
    try:  # user 4242 may read, the owning group may not
        entries = [(1, 6, 0xffffffff), (2, 4, 4242), (4, 0, 0xffffffff), (16, 4, 0xffffffff),
                   (32, 0, 0xffffffff)]
        os.setxattr(w.path("acl"), "system.posix_acl_access", (2).to_bytes(4, "little") + b"".join(
            tag.to_bytes(2, "little") + perm.to_bytes(2, "little") + who.to_bytes(4, "little")
            for tag, perm, who in entries))
    except OSError:
        check.ok(True, "no ACLs here")
    script = "for f in " + " ".join(rows) + """; do
        cat $f >/dev/null 2>&1 && echo $f; cat in-$f/file >/dev/null 2>&1 && echo in $f
        ls in-$f >/dev/null 2>&1 && echo list $f; ./$f 2>/dev/null && echo run $f
        for m in r w x; do test -$m $f && echo $m $f; done; done; true"""
    whoms = {"as themselves": []}
    if user.uid == 0:
        whoms = {"as root": [],
                 "as an ordinary user": ["setpriv", "--reuid=4242", "--regid=4242", "--clear-groups"],
                 "in a group": ["setpriv", "--reuid=4242", "--regid=4242", f"--groups={GROUP}"],
                 "as root without the right to override": [
                     "setpriv", "--bounding-set=-dac_override,-dac_read_search",
                     "--inh-caps=-dac_override,-dac_read_search"],
                 "as a group's own": ["setpriv", "--reuid=77", f"--regid={GROUP}", "--clear-groups"]}
    for what, prefix in whoms.items():
        bare, ours = (run(*prefix, "sh", "-c", script) for run in (w.bare, w.call))
        check.ok(bare.out and (bare.out, bare.status) == (ours.out, ours.status),
                 f"rights {what}", bare, ours)


def test_rights_mixed(user, check):
    """Users alternate, and none gets the rights of another."""
    if user.uid != 0:
        return
    w = Watched(user, "mixed")
    w.write("root's", "r", 0o600)
    w.write("everybody's", "e", 0o644)
    script = """
        for i in $(seq 40); do
            cat "root's" >/dev/null || echo root refused
            setpriv --reuid=4242 --regid=4242 --clear-groups cat "root's" 2>/dev/null && echo leaked
            setpriv --reuid=4242 --regid=4242 --clear-groups cat "everybody's" >/dev/null || echo refused
        done &
        while kill -0 $! 2>/dev/null; do cat "root's" >/dev/null || echo root refused; done; wait"""
    ran = w.call("sh", "-c", script, timeout=120)
    check.equal((ran.out, ran.err, ran.status), ("", "", 0), "rights of people who take turns")


# ---- load, limits and the end ----


def test_load(user, check):
    if running.missing("rg"):
        tap.skip("ripgrep is not installed")
        return
    w = Watched(user, "load", '(deny file-read-data (subpath "TOP/secret"))')
    w.write("secret/key", "needle")
    for i in range(600):
        w.write(f"d{i % 30}/f{i}", "x" * (i * 50) + "\nneedle\n")
    seconds = 2 if running.SLOW else 4
    script = (f"end=$(($(date +%s) + {seconds})); n=0; while [ $(date +%s) -lt $end ]; do "
              "rg -j8 -uu --no-messages -l needle . | wc -l; done")
    stop = threading.Event()

    def disturb():  # an outside process moves files, but not those searched for
        while not stop.wait(0.001):
            with open(w.path("d0/moving"), "w", encoding="utf-8") as f:
                f.write("nothing")
            os.rename(w.path("d0/moving"), w.path("d1/moved"))
            os.unlink(w.path("d1/moved"))

    thread = threading.Thread(target=disturb)
    thread.start()
    ran = w.call("sh", "-c", script, timeout=90)
    stop.set()
    thread.join()
    counts = ran.out.split()
    check.ok(ran.status == 0 and counts and set(counts) == {"600"},
             "eight threads find the same every time", ran)
    reported = w.reported()
    check.ok(reported and set(reported) == {("file-read-data", "secret", 3)} and len(reported) == len(counts),
             "each refusal is reported once", len(reported), len(counts), reported[:3])


def test_many(user, check):
    """The kernel drops unused inodes, and so does the server."""
    w = Watched(user, "forest")
    n = 10000 if running.SLOW else 20000
    for i in range(0, n, 100):
        os.makedirs(w.path(f"d{i}"))
        for k in range(100):
            os.close(os.open(w.path(f"d{i}/{k}"), os.O_CREAT | os.O_WRONLY, 0o644))
    script = "find . -type f -size 0 | wc -l; find . -type f -exec cat {} + | wc -c; find . -type f | wc -l"
    # room for less than half of them: it must drop inodes to continue
    ran = call(user, ["prlimit", f"--nofile={n}:{n}", *w.command("sh", "-c", script)], w.top,
               [], timeout=120)
    check.equal((ran.out.split(), ran.err), ([str(n), "0", str(n)], ""), f"{n} files are all found")


def test_limits(user, check):
    """A process with too many open files gets an error, until it closes some."""
    w = Watched(user, "limits", '(deny file-read-data (literal "TOP/key"))')
    for i in range(3000):
        w.write(f"f{i}", "x")
    w.write("key", "k")
    script = """
import errno, os, resource
files = []
try:
    for i in range(3000): files.append(os.open(f"f{i}", os.O_RDONLY))
    print("no limit")
except OSError as e: print(errno.errorcode[e.errno], len(files) > 300)
for fd in files: os.close(fd)
print(len([open(f"f{i}").read() for i in range(3000)]))
try: open("key")
except OSError as e: print(errno.errorcode[e.errno])
"""
    # the server keeps its limit from the start; the command cannot raise its own further
    limited = ["prlimit", "--nofile=4096:4096"]
    ran = call(user, [*limited, *w.command(PYTHON, "-c", script)], w.top, [])
    check.ok(ran.out.split() == ["ENFILE", "True", "3000", "EPERM"], "a full table", ran)


def server_of(host):
    """The server that a sentry-host started."""
    for line in subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(host)], stdout=subprocess.PIPE,
                               text=True, check=False).stdout.splitlines():
        pid, name = line.split()
        if name == "buckle-sentry":
            return int(pid)
    return None


def test_killed(user, check):
    """Without its server the file system fails at once, and nothing hangs."""
    for how in ("killed", "stopped, then killed"):
        w = Watched(user, "killed")
        w.write("file", "x")
        t = Talk(w)
        t.send("cat file")
        server = server_of(t.child.pid)
        check.ok(server, f"{how}: the server is there")
        if not server:
            t.close()
            continue
        began = time.monotonic()
        if how == "killed":
            os.kill(server, signal.SIGKILL)
        else:
            os.kill(server, signal.SIGSTOP)
            threading.Timer(0.5, os.kill, (server, signal.SIGKILL)).start()
        received = t.send("cat file")
        received += t.send("ls .")
        check.ok(received.count("not connected") + received.count("onnection aborted") == 2, f"{how}: ENOTCONN", received)
        check.ok(time.monotonic() - began < 5, f"{how}: at once")
        t.close()


TESTS = [test_same, test_data, test_all, test_writes, test_points, test_changes, test_at_once, test_gone,
         test_rights,
         test_rights_mixed, test_load, test_many, test_limits, test_killed]


def possible():
    """The reason why there can be no sentry here, or None."""
    user = running.PEOPLE[-1]
    w = Watched(user, "probe")
    ran = w.call("true")
    return None if ran.status == 0 else ran.err.strip().split("\n")[-1]


def main():
    global HOST, DEVICE
    if not os.path.exists("/dev/fuse"):
        tap.skip("there is no /dev/fuse")
        return tap.done()
    HOST, DEVICE = built(), device()
    why = possible()
    if why and running.PEOPLE[-1].uid != 0:
        tap.skip(f"no sentries as an ordinary user: {why}")
        running.PEOPLE[:] = [p for p in running.PEOPLE if p.uid == 0]
    chosen = [t for t in TESTS if len(sys.argv) < 2 or t.__name__[5:] in sys.argv[1:]]
    running.for_everybody(chosen)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
