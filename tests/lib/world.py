# SPDX-License-Identifier: Apache-2.0
"""Users, worlds and tools for tests that look at sandboxes from both sides."""

import glob
import os
import select
import shutil
import subprocess
import time

import tap
from drive import BUCKLE, FOLDER, finish

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = os.environ.get("TOOLS", os.path.join(TOP, "build", "gcc", "tests"))
ORDINARY = 1000
# In the environment of a run: the command gets a sandbox that the library has prepared in advance.
HELD = "BUCKLE_TEST_HELD"
BIN = os.path.join(FOLDER, "bin")


class Who:
    """A user who runs Buckle."""

    among_each_other = True  # signals that stay inside a sandbox are not judged
    queues_by_name = True
    own_entries = ("ENOSYS",)

    def __init__(self, uid):
        self.uid = uid
        self.name = "root" if uid == 0 else "user"
        self.home = os.path.join(FOLDER, self.name)
        self.runtime = os.path.join(self.home, "run")
        os.makedirs(self.runtime)
        self.own(self.home, self.runtime)
        self.env = {"PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8",
                    "XDG_RUNTIME_DIR": self.runtime}
        if "BUCKLE_PRETEND" in os.environ:
            self.env["BUCKLE_PRETEND"] = os.environ["BUCKLE_PRETEND"]
        self.env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})

    def own(self, *paths):
        for path in paths:
            if os.geteuid() == 0:
                os.lchown(path, self.uid, self.uid)

    def start(self, argv, cwd, env=None, **how):
        if os.geteuid() == 0 and self.uid != 0:
            how.update(user=self.uid, group=self.uid, extra_groups=[])
        how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(argv, cwd=cwd, env=dict(self.env, **(env or {})), **how)

    def run(self, argv, cwd, timeout=30, input=None, **how):
        if input is not None:
            how["stdin"] = subprocess.PIPE
        return ended(self.start(argv, cwd, **how), timeout, input.encode() if input else None)

    def boxed(self, argv, world, options=(), **how):
        runner = tool("held-run") if HELD in (how.get("env") or {}) else self.buckle()
        return self.run([runner, "run", *options, "--", *argv], world.inside, **how)

    @staticmethod
    def buckle():
        return os.path.join(BIN, "buckle")


class Done:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def lines(self):
        """What the attacker reported: {what: outcome}."""
        return dict(line.rsplit(": ", 1) for line in self.out.splitlines() if ": " in line)

    def __str__(self):
        return f"status {self.status}\nout: {self.out[:3000]}\nerr: {self.err[:2000]}"


def ended(child, timeout=30, given=None):
    """The result of a child, waiting at most this long."""
    status, out, err = finish(child, given, timeout)
    return Done(status, out.decode(errors="replace"), err.decode(errors="replace"))


class World:
    """A writable folder and a denied one, whose names differ in one byte."""

    count = 0

    def __init__(self, who, top=None):
        World.count += 1
        self.who = who
        self.top = os.path.join(top or FOLDER, f"w{World.count}")
        self.inside = os.path.join(self.top, "in")
        self.outside = os.path.join(self.top, "un")
        for folder in (self.inside, self.outside):
            os.makedirs(os.path.join(folder, "sub"))
            with open(os.path.join(folder, "victim"), "w") as f:
                f.write("original")
            os.chmod(os.path.join(folder, "victim"), 0o600)
            who.own(folder, os.path.join(folder, "sub"), os.path.join(folder, "victim"))
        who.own(self.top)
        self.before = self.look()

    def look(self):
        seen = {}
        for folder, folders, files in os.walk(self.outside):
            for path in [folder] + [os.path.join(folder, n) for n in folders + files]:
                st = os.lstat(path)
                seen[path] = (st.st_mode, st.st_uid, st.st_ino, st.st_nlink, st.st_mtime_ns,
                              st.st_ctime_ns, os.listxattr(path, follow_symlinks=False))
        with open(os.path.join(self.outside, "victim")) as f:
            seen["content"] = f.read()
        return seen

    def intact(self, attributes=True):
        """Whether the folder outside is unchanged; without `attributes`, compares only names and contents."""
        def part(seen):
            return seen if attributes else {path: one if path == "content" else one[2:4]
                                            for path, one in seen.items()}
        try:
            return part(self.look()) == part(self.before)
        except OSError:
            return False

    def profile(self, text, name="profile.sb"):
        path = os.path.join(self.top, name)
        with open(path, "w") as f:
            f.write(text.format(inside=self.inside, outside=self.outside))
        return path

    def path(self, name):
        return os.path.join(self.inside, name)

    def out(self, name):
        return os.path.join(self.outside, name)


def tool(name):
    return os.path.join(BIN, name)


def escape(*words):
    return [tool("escape"), *map(str, words)]


def batch(who, world, lines, options=()):
    """Single calls in one sandbox: [(words…)] → list of outcomes."""
    text = "".join("\t".join(words) + "\n" for words in lines)
    done = who.boxed([tool("probe"), "--batch"], world, ["--report", "none", *options], input=text)
    return done.out.split(), done


def check_batch(who, world, expected, what, options=()):
    """expected: [(words, outcome)]"""
    got, done = batch(who, world, [words for words, _ in expected], options)
    wrong = [f"{' '.join(words)}: wanted {want}, got {came}" for (words, want), came
             in zip(expected, got + ["nothing"] * len(expected)) if came != want]
    tap.ok(not wrong, f"{who.name}: {what} ({len(expected)} calls)", *wrong, done.err)


def processes_with(marker):
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if marker.encode() in words:
            found.append(int(path.split("/")[2]))
    return found


def all_processes():
    """(pid, name, parent pid) of each process."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as f:
                head, rest = f.read().rsplit(")", 1)
        except OSError:
            continue
        pid, name = head.split(" (", 1)
        yield int(pid), name, int(rest.split()[1])


def child_named(pid, name):
    """The child of a process with this name."""
    return next((one for one, called, parent in all_processes()
                 if called == name and parent == pid), None)


def own_processes(pid):
    """A running buckle with its processes: judge, sentry, init, reaper."""
    found, everybody = [pid], list(all_processes())
    for one in found:
        found += [child for child, name, parent in everybody
                  if parent == one and name.startswith("buckle")]
    return found


def is_alive(path):
    """Whether the process of a /proc path exists and is not a zombie."""
    try:
        with open("/".join(path.split("/")[:3]) + "/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def until(check, seconds=5.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.02)
    return bool(check())


def read_until(stream, word, seconds=10.0):
    """Reads lines until one is `word`."""
    end, text = time.monotonic() + seconds, b""
    while word.encode() + b"\n" not in text and time.monotonic() < end:
        if select.select([stream], [], [], 0.1)[0]:
            more = os.read(stream.fileno(), 4096)
            if not more:
                break
            text += more
    return text.decode(errors="replace")


def people():
    """Puts the tools where everybody can run them. Returns the users to run them; with ONE_USER in
    the environment, the ordinary one."""
    os.chmod(FOLDER, 0o755)
    os.makedirs(BIN, exist_ok=True)
    for source in (BUCKLE, *(os.path.join(TOOLS, name) for name in ("escape", "look", "probe", "held-run"))):
        shutil.copy(source, BIN)
        os.chmod(os.path.join(BIN, os.path.basename(source)), 0o755)
    if os.geteuid() != 0:
        return [Who(os.geteuid())]
    return [Who(ORDINARY)] if "ONE_USER" in os.environ else [Who(ORDINARY), Who(0)]
