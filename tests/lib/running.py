# SPDX-License-Identifier: Apache-2.0
"""`buckle run` for the end-to-end tests: the users, their folders, and what a run leaves behind.

Every test runs for each of PEOPLE: the user who runs the tests and, if that is root, an ordinary user
as well. Each has a home folder with work folders in it.
"""

import os
import re
import shutil
import subprocess
import time

import drive
import tap

ORDINARY = 4242  # an ordinary user needs no entry in /etc/passwd
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PASSED = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
SLOW = "SLOW" in os.environ

os.chmod(drive.FOLDER, 0o755)


def _program():
    """The program where everybody can read it."""
    path = os.path.join(drive.FOLDER, "bin", "buckle")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(drive.BUCKLE, path)
    os.chmod(path, 0o755)
    # what it starts, except for the large one
    for name in ("buckle-client", "buckle-tls"):
        helper = os.path.join(os.path.dirname(drive.BUCKLE), "..", "libexec", "buckle", name)
        if os.path.exists(helper):
            os.makedirs(os.path.join(drive.FOLDER, "libexec", "buckle"), exist_ok=True)
            shutil.copy(helper, os.path.join(drive.FOLDER, "libexec", "buckle"))
    return path


BUCKLE = _program()
# the client of a session's spare, as the hook runs it; a program that is not installed has none
CLIENT = os.path.join(drive.FOLDER, "libexec", "buckle", "buckle-client")
CLIENT = CLIENT if os.path.exists(CLIENT) else BUCKLE


class User:
    """A user who runs commands."""

    def __init__(self, name, uid):
        self.name, self.uid = name, uid
        self.home = os.path.join(os.path.realpath(drive.FOLDER), "home-" + name)
        self.made = 0
        # a separate runtime folder: a run cleans up after killed runs, also those of other tests
        self.sessions = os.path.join(os.path.realpath(drive.FOLDER), "run-" + name)
        for path in (self.home, self.sessions):
            os.makedirs(path, mode=0o700)
            self.own(path)
        self.env = {"PATH": PATH, "HOME": self.home, "XDG_RUNTIME_DIR": self.sessions, "USER": name, "LC_ALL": "C.UTF-8",
                    "TERM": "xterm", "GIT_CONFIG_NOSYSTEM": "1",
                    **{k: os.environ[k] for k in PASSED if k in os.environ}}

    def own(self, path):
        if self.uid != os.geteuid():
            os.chown(path, self.uid, self.uid)

    def folder(self, name="work"):
        """Makes a new folder and returns its canonical path."""
        self.made += 1
        path = os.path.join(self.home, f"{name}-{self.made}")
        os.makedirs(path)
        self.own(path)
        return path

    def write(self, path, text, mode=0o644):
        folder = os.path.dirname(path)
        missing = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for one in reversed(missing):
            os.mkdir(one)
            self.own(one)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        self.own(path)
        return path

    def as_them(self):
        """Arguments that make subprocess run something as this user."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.uid, "extra_groups": []}

    def start(self, argv, cwd=None, env=None, **how):
        return subprocess.Popen(argv, cwd=cwd or self.home, env={**self.env, **(env or {})},
                                **self.as_them(), **how)

    def call(self, argv, cwd=None, stdin=b"", timeout=60, env=None, **how):
        """Runs something to its end."""
        began = time.monotonic()
        child = self.start(argv, cwd, env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, **how)
        given = stdin.encode() if isinstance(stdin, str) else stdin
        return drive.Ran(*drive.finish(child, given, timeout), time.monotonic() - began)

    def run(self, *words, **how):
        """buckle run …"""
        return self.call([BUCKLE, "run", *words], **how)

    def sh(self, script, **how):
        """A shell script without a sandbox; must succeed."""
        r = self.call(["/bin/sh", "-ec", script], **how)
        if r.status != 0:
            raise RuntimeError(f"{script}: {r}")
        return r.out

    def profile(self, name, text):
        return self.write(os.path.join(self.home, name), text)


def _people():
    if os.geteuid() != 0:
        return [User("user", os.geteuid())]
    return [User("root", 0), User("user", ORDINARY)]


PEOPLE = _people()


class Checks:
    """tap's checks, prefixed with the user's name."""

    def __init__(self, user):
        self.name = user.name

    def ok(self, passed, name, *details):
        return tap.ok(passed, f"{self.name}: {name}", *details)

    def equal(self, got, want, name, *details):
        return tap.ok(got == want, f"{self.name}: {name}", f"got  {got!r}", f"want {want!r}",
                      *details)

    def quiet(self, ran, name, out=None):
        """Success without any output from Buckle."""
        fine = ran.status == 0 and "buckle:" not in ran.err and (out is None or ran.out == out)
        return tap.ok(fine, f"{self.name}: {name}", ran)


def for_everybody(tests):
    """Runs each test for each user; with ONE_USER in the environment, for the ordinary one."""
    for user in PEOPLE[-1:] if "ONE_USER" in os.environ else PEOPLE:
        for test in tests:
            try:
                test(user, Checks(user))
            except (RuntimeError, OSError, KeyError, ValueError, subprocess.SubprocessError) as gone:
                tap.ok(False, f"{user.name}: {test.__name__}", repr(gone))


def suggested_flags(summary):
    """The flags that a summary suggests, split as a shell does."""
    words = []
    for line in summary.split("\n"):
        if line.startswith(("allow with:", "protected path; to allow it:")):
            text = line.split(":", 1)[1]
            done = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], cwd=drive.FOLDER,
                                  stdout=subprocess.PIPE, check=True)
            words += done.stdout.decode().split("\0")[:-1]
    return words


def missing(*programs):
    """The first program that is not installed, or None."""
    return next((p for p in programs if not shutil.which(p, path=PATH)), None)


# ---- processes ----


def processes(pattern):
    """Command lines of running processes that match."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read().replace(b"\0", b" ").decode(errors="replace")
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                state = f.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if re.search(pattern, line) and state != "Z":
            found.append((int(pid), line.strip()))
    return found


def started(pid):
    """When a process started, in seconds since boot; None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return int(f.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return None


def namespaces(before):
    """The namespaces of all processes that started before this time since boot. The kernel reuses
    numbers, so later processes may be in unrelated namespaces with the same number."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        birth = started(pid)
        if birth is None or birth > before:
            continue
        for kind in ("mnt", "net", "pid", "user", "ipc", "uts"):
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
            except OSError:
                pass
    return found


def eventually(condition, seconds=10):
    """Whether the condition becomes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())
