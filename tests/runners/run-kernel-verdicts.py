#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the rows about files, sockets and processes again, against the kernel; prints TAP.

    tests/runners/run-kernel-verdicts.py [FILE.rows…]

`buckle eval` tells what a policy means; this tests whether `buckle run` enforces it. Under each
table's profile a probe ($TOOLS/probe) attempts the operation of each row, in a file system made for
it, where the rows' paths exist. Rows that no single Linux call can express are counted with the
reason (VERBOSE=1 lists them). $BUCKLE_PRETEND (kernel=6.1.0) pretends a less capable host. $TIER is
judged or sentry: the tier that controls reading; or container: runc starts the probe, and the node
agent judges it. As root, everything runs as root and as an ordinary user.
"""

import ctypes
import errno
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import traceback

# The tier that controls reading, where the planner has a choice: judged or sentry. Or container.
TIER = os.environ.get("TIER", "judged")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
if TIER == "sentry":
    import fusable
import process_rows
import tap
if TIER == "container":
    import verdict_boxes as boxes

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUCKLE = os.path.abspath(os.environ.get("BUCKLE", "buckle"))
TOOLS = os.environ.get("TOOLS", os.path.join(os.path.dirname(HERE), "build", "gcc", "tests"))
ORDINARY = 1000
TOOL = "/.tool"  # folder for files that are not part of the world
PATIENCE = 20

_spec = importlib.util.spec_from_file_location("run_verdicts", os.path.join(HERE, "runners", "run-verdicts.py"))
verdicts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(verdicts)

# Rules that a program needs before it can try anything; they do not affect the results. The probe is
# static, so that starting it only needs reading itself.
STARTING = "(allow process* file-map-executable sysctl-read)"
PRELUDE = {"writing": STARTING + "(allow file-read*)",
           "reading": STARTING + f'(allow file-read-data (literal "{TOOL}/probe"))'}
READING = ("file-read", "file-test-existence")

# operation: (kind of object that the row needs, calls that need only this operation)
EXISTING = {
    "file-write-data": ("file", ["open-write", "openat-append", "truncate"]),
    "file-write-mode": ("file", ["chmod", "fchmodat2"]),
    "file-write-owner": ("file", ["chown", "fchownat"]),
    "file-write-times": ("file", ["utimensat", "utime"]),
    "file-write-xattr": ("file", ["setxattr"]),
    "file-write-flags": ("file", ["setflags"]),
    "file-write-unlink": ("file", ["unlinkat"]),
    "network-outbound": ("socket", ["connect-unix", "connect-seqpacket", "connect-dgram",
                                    "sendto-unix", "sendmsg-unix", "sendmmsg-unix"]),
    "file-read-data": ("file", ["open-nonblock", "openat-nonblock", "watch"]),
    "file-read-metadata": ("file", ["stat-path", "lstat", "newfstatat", "newfstatat-empty", "statx",
                                    "statx-empty", "fstat-name", "statfs", "access-read",
                                    "faccessat2-read", "open-path"]),
    "file-read-xattr": ("file", ["getxattr", "lgetxattr", "listxattr", "llistxattr"]),
    "file-test-existence": ("file", ["access", "faccessat", "faccessat2"]),
}
# A sentry does not check mere lookups: they reveal nothing without a further operation.
if TIER == "sentry":
    for _kind, _calls in EXISTING.values():
        _calls[:] = [c for c in _calls if c not in ("watch", "open-path")]
# Calls that act on a symlink itself, without following it.
OF_LINKS = {
    "file-write-unlink": ["unlinkat"],
    "file-read-metadata": ["lstat", "newfstatat-nofollow", "readlink", "readlinkat",
                           "readlinkat-empty"],
    "file-read-xattr": ["lgetxattr", "llistxattr"],
}
CREATING = {"file": ["mknod-file"], "dir": ["mkdir"], "fifo": ["mknod-fifo"],
            "symlink": ["symlinkat"], "socket": ["mknod-socket"]}
KINDS = {"REGULAR-FILE": "file", "DIRECTORY": "dir", "SYMLINK": "symlink", "FIFO": "fifo",
         "SOCKET": "socket"}
# The socket type that a call needs; otherwise a stream.
SERVES = {"connect-seqpacket": socket.SOCK_SEQPACKET,
          **dict.fromkeys(("connect-dgram", "sendto-unix", "sendmsg-unix", "sendmmsg-unix"),
                          socket.SOCK_DGRAM)}
MADE = "buckle.created-repository"
REMOVAL = "buckle.removal"
# Names that may be removed, but not moved away.
REMOVABLE = re.compile(r"/\.(bashrc|bash_profile|zshrc|zprofile|profile|gitconfig|ripgreprc)$|/\.(vscode|idea|zed)(/|$)|"
                       r"/\.hg/hgrc|/\.jj/(repo/config|workspace-config)\.toml$|/\.sl/config$|/\.git$")
# Patterns only match names; the judge also checks for a repository and for the data written.
GIT_JUDGES = re.compile("/\\.gitmodules$|/\\.git/modules/.*/(config|hooks)(/|$)|"
                        "/\\.git/worktrees/[^/]*/(gitdir|commondir)$|/\\.G[iI][tT]/")


# Where a row's parameters put a private layer.
LAYERED = re.compile("/\\.gnupg/pubring")


class NotHere(Exception):
    """A row that Linux cannot express, and why."""


class Row:
    def __init__(self, number, question):
        self.number = number
        self.question = question
        words = shlex.split(question)
        self.operation, self.path, self.kind, self.repository = words[0], None, None, None
        self.given, self.xattr, self.mode = set(), None, None
        removal = False
        for word in words[1:]:
            name, equals, value = word.partition("=")
            if word.startswith(("/", "@")) and self.path is None:
                self.path = word
            elif equals and name == "vnode-type" and value in KINDS:
                self.kind = KINDS[value]
            elif word == "extension=" + MADE:
                self.repository = True
            elif word == "extension=" + REMOVAL:
                removal = True
            elif word in (f"uid={os.geteuid()}", f"gid={os.getegid()}"):
                self.given.add(name)
            elif equals and name in ("uid", "gid"):
                raise NotHere("asks about somebody else")
            elif equals and name == "xattr":
                self.xattr = value
            elif equals and name == "file-mode":
                self.mode = int(value, 8)
            elif equals and re.fullmatch("[a-z-]+", name):
                raise NotHere(f"asks about {name}")
            else:
                raise NotHere("asks about an address that is not a Unix socket's"
                              if self.operation.startswith("network") else "names no path")
        if self.operation == "file-write-unlink" and not removal and not self.repository and \
                REMOVABLE.search(self.path or ""):
            raise NotHere("without its extension this is about moving: e2e-own-folders.py")
        if LAYERED.search(self.path or ""):
            raise NotHere("a private layer is there: e2e-layers.py")
        self.reads = self.operation.startswith(READING)
        self.check_path()
        self.plan()

    def check_path(self):
        if self.path is None:
            raise NotHere("names no path")
        if self.path.startswith("@") and not self.operation.startswith("network"):
            raise NotHere("not a path")
        if self.path == "/" and not self.reads:
            raise NotHere("the root directory cannot be made, moved or replaced")
        if os.path.normpath(self.path) != self.path or self.path.startswith("//"):
            raise NotHere("not a canonical path: the kernel never asks about it")
        if self.path.startswith("/proc/"):
            raise NotHere("procfs has files of its own")
        regular = self.kind not in ("dir", "symlink")
        if GIT_JUDGES.search(self.path) or (regular and self.path.endswith("/.git")):
            raise NotHere("the judge decides by what it is to git, and what it says: e2e-git.py")
        own = re.match("/dev/(shm|pts)(?=/|$)", self.path)
        if own:
            raise NotHere(f"the sandbox has a {own[0]} of its own")
        if any(len(os.fsencode(part)) > 255 for part in self.path.split("/")):
            raise NotHere("a name longer than any on disk")
        if self.repository:
            at = self.path.find("/.git/")
            self.repository = self.path[:at + 5] if at >= 0 else self.path
            if not self.repository.endswith("/.git"):
                raise NotHere("a repository that is not called .git")

    def plan(self):
        """What must exist, what to attempt, and which other operations that needs."""
        self.also = []
        if self.operation == "file-write-create":
            self.needs, self.calls = "absent", CREATING[self.kind or "file"]
        elif self.operation == "network-bind":
            self.needs, self.calls = "absent", ["bind-unix", "bind-dgram"]
            self.also = [] if self.path.startswith("@") else ["file-write-create"]
        elif self.operation == "file-mknod":
            raise NotHere("device nodes need a capability that no sandbox keeps")
        elif self.operation == "file-link":
            raise NotHere("a link is also judged by what its new name would allow")
        elif self.operation == "file-write-setugid":
            self.needs, self.calls = self.kind or "file", ["chmod-setuid"]
            self.also = ["file-write-mode"]
        elif self.operation in EXISTING:
            self.needs, self.calls = EXISTING[self.operation]
            self.needs = self.kind or self.needs
            if self.needs == "dir" and self.operation == "file-write-unlink":
                self.needs, self.calls = "empty dir", ["rmdir"]
            if self.operation == "file-write-flags" and self.needs in ("socket", "fifo"):
                raise NotHere("flags are set through a descriptor, which it cannot have")
            if self.needs == "symlink" and self.operation not in OF_LINKS:
                raise NotHere("attributes of a symbolic link itself")
            if self.needs == "symlink":
                self.calls = OF_LINKS[self.operation]
            if self.operation == "file-read-data" and self.needs == "socket":
                raise NotHere("sockets are not opened")
            if self.path == "/":
                self.needs = "dir"
            if self.xattr:
                self.calls = [call + "-named" for call in self.calls if call.endswith("etxattr")]
        else:
            raise NotHere("no call asks about the whole family" if self.operation.endswith("*")
                          else "not about files or sockets")
        if self.path.startswith("@"):
            self.needs = "abstract"  # no such name in the sandbox's network
        if self.operation.startswith("network") and len(os.fsencode(self.path)) > 100:
            raise NotHere("longer than a socket's address")


# ---- worlds ----


def parents(path):
    while len(path) > 1 and not path.startswith("@"):
        path = os.path.dirname(path)
        if path != "/":
            yield path


class World:
    """Rows that agree about what exists where."""

    def __init__(self, folders):
        self.kinds = {up: "dir" for path in folders for up in (path, *parents(path))}
        self.rows = []

    def take(self, row):
        wants = {path: "dir" for path in parents(row.path)}
        wants[row.path] = row.needs
        if row.repository:
            wants[row.repository] = "repository"
        if any(self.kinds.get(path, kind) != kind for path, kind in wants.items()):
            return False
        self.kinds.update(wants)
        self.rows.append(row)
        return True


def worlds_of(rows, folders):
    worlds = []
    for row in rows:
        if not any(world.take(row) for world in worlds):
            worlds.append(World(folders))
            worlds[-1].take(row)
    return worlds


DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx",
           *(["fuse"] if TIER == "sentry" else []))
KEPT = {TOOL, "/proc", "/dev", "/.host"}
servers = {}


def remove(path):
    servers.pop(path, None)
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        pass


def make(path, kind, serves=socket.SOCK_STREAM):
    """Brings a path into the state that rows need."""
    if kind == "abstract":
        return
    if path.startswith("/dev/") and path[5:] in DEVICES:
        return
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        mode = None
    if kind == "absent":
        if mode is not None:
            remove(path)
    elif kind in ("dir", "empty dir", "repository"):
        if mode is None:
            os.mkdir(path)
    elif kind == "socket":
        # a server with a full backlog would refuse: use a new one for each question
        remove(path)
        servers[path] = socket.socket(socket.AF_UNIX, serves)
        servers[path].bind(path)
        if serves != socket.SOCK_DGRAM:
            servers[path].listen(5)
    elif mode is None:
        {"file": lambda: open(path, "w").close(), "fifo": lambda: os.mkfifo(path),
         "symlink": lambda: os.symlink("nowhere", path)}[kind]()


def clear():
    servers.clear()
    for name in os.listdir("/"):
        if "/" + name not in KEPT:
            remove("/" + name)
    for name in os.listdir("/dev"):
        if name not in DEVICES:
            remove("/dev/" + name)


def build(world):
    clear()
    for path in sorted(world.kinds):
        if world.kinds[path] == "repository":
            continue
        if any(world.kinds.get(up) == "repository" for up in parents(path)):
            continue  # inside a folder that the command itself makes
        make(path, world.kinds[path])


# ---- asking ----


def surroundings():
    return {"PATH": "/bin", "XDG_RUNTIME_DIR": TOOL + "/run",
            **{k: v for k, v in os.environ.items() if k == "BUCKLE_PRETEND"}}


class Probe:
    """A probe under a profile, which answers line by line."""

    def __init__(self, options, cwd, home):
        if TIER == "container":
            self.child = boxes.Box(options[1], cwd, home, [TOOL + "/probe", "--init"])
            return
        argv = [*LOADER, TOOL + "/buckle", "run", "--shared-tmp", "--report", "none", *options, "--",
                TOOL + "/probe", "--batch"]
        env = dict(surroundings(), HOME=home)
        self.child = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def claims(self, operation):
        """Whether the plan says that the operation is allowed where the policy allows it."""
        refused = self.child.operations if TIER == "container" else {}
        return not any(operation in refused.get(how, ()) for how in ("refused", "judgedRefused"))

    def ask(self, *words):
        line = "\t".join("".join(c if " " < c <= "~" and c != "\\" else
                                 "".join(f"\\x{b:02x}" for b in os.fsencode(c)) for c in word)
                         for word in words)
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
            return self.child.stdout.readline().decode().strip() or "no answer"
        except OSError:
            return "no answer"

    def end(self):
        try:
            _, err = self.child.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.child.kill()
            _, err = self.child.communicate()
        return err.decode(errors="replace")


def attempt(probe, world, row, call):
    if row.repository:
        remove(row.repository)
        made = probe.ask("mkdir", row.repository)
        if made == "EPERM":
            raise NotHere("a repository that the command may not make")
        for path in reversed(list(parents(row.path))):
            if len(path) > len(row.repository):
                make(path, "dir")
        if row.path == row.repository:
            return probe.ask(call, row.path)
    make(row.path, row.needs, SERVES.get(call, socket.SOCK_STREAM))
    if row.mode is not None:
        os.chmod(row.path, row.mode)
    words = [call, row.path]
    if call.startswith("symlink"):
        words.insert(1, "nowhere")
    if row.xattr:
        words.append(row.xattr)
    answer = probe.ask(*words)
    if row.needs == "absent":
        make(row.path, "absent")
    elif call.startswith(("chmod", "fchmod")) and os.path.isdir(row.path):
        os.chmod(row.path, 0o755)  # or the folder would become inaccessible
    return answer


def in_order(rows):
    """Puts removals last, the deepest first."""
    return sorted(rows, key=lambda r: (r.operation == "file-write-unlink", -r.path.count("/")
                                       if r.operation == "file-write-unlink" else 0))


def gone(world, row, call, err, on_result, skip):
    if "cannot run" in err:
        for other in world.rows:
            skip(other, "the profile does not let a program start")
    else:
        on_result(row, call, False, "the probe is gone: " + err)


def check_world(world, options, params, expected, odd_errno, on_result, skip):
    cwd, home = params.get("CWD", TOOL + "/cwd"), params.get("HOME", "/nonexistent")
    build(world)
    probe = Probe(options, cwd, home)
    for row in in_order(world.rows):
        for call in row.calls:
            try:
                answer = attempt(probe, world, row, call)
            except NotHere as why:
                skip(row, str(why))
                break
            # allowed operations can still be impossible; there are no terminals here
            allowed = ("ok", "EISDIR", "ENODATA", "EOPNOTSUPP",
                       {"/dev/tty": "ENXIO", "/dev/ptmx": "ENOENT"}.get(row.path, "ok"),
                       "ECONNREFUSED" if row.needs == "abstract" else "ok")
            came = "allow" if answer in allowed else "deny" if (
                answer == "EPERM" or odd_errno and answer != "no answer") else "neither"
            if answer == "no answer":
                return gone(world, row, call, probe.end(), on_result, skip)
            if came == "deny" and expected[row.number] == "allow" and not probe.claims(row.operation):
                skip(row, "the plan says that a container cannot have it")
                break
            on_result(row, call, came == expected[row.number], f"{call}: {answer}, eval says "
                 f"{expected[row.number]}")
    probe.end()


# ---- groups ----


def with_prelude(text, about):
    """The profile with the probe's rules added on an existing line, so that line numbers stay."""
    match = re.search(r"\(version\s+\d+\)", text)
    at = match.end() if match else 0
    return text[:at] + PRELUDE[about] + text[at:]


def split_options(group):
    params, others, given = {}, [], iter(group.options)
    for option in given:
        if option == "-D":
            key, _, value = next(given).partition("=")
            params[key] = value
        else:
            others.append(option)
    return params, others


def evaluate(group, where, questions):
    text = "".join(q + "\n" for q in questions)
    # a message of `buckle run` itself
    own = ["-D", "ORDINARY=1"] if os.geteuid() != 0 else []
    done = subprocess.run([*LOADER, TOOL + "/buckle", "eval", "--batch", "--json", *own, *group.options,
                           where], input=text.encode(errors="surrogateescape"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=TOOL + "/tables",
                          timeout=PATIENCE)
    return [json.loads(line)["verdict"] for line in done.stdout.decode().splitlines()]


def ends_process(source):
    return any(word in (source or "") for word in ("send-signal", "(with termination)"))


def fits(row, source, folders, name, skip):
    """Whether a row can be tested with this profile and these folders."""
    why = None
    if source and "vnode-type" in source and not row.kind:
        why = "leaves open what kind of file it is, as the kernel never does"
    elif source and any(f"({who} " in source and who not in row.given for who in ("uid", "gid")):
        why = "leaves open who asks, as the kernel never does"
    elif source and "(file-mode " in source and row.mode is None:
        why = "leaves open which mode the file has, as the kernel never does"
    elif any((path + "/").startswith(row.path + "/") for path in folders):
        if row.needs == "absent" or row.operation == "file-write-unlink":
            why = "the working and home directories have to be there"
        row.needs = "dir"
    elif source and "(xattr " in source and not row.xattr:
        row.calls = [call for call in row.calls if "etxattr" not in call]
    elif row.path.startswith("/dev/"):
        row.calls = [call for call in row.calls if call != "truncate"]
    if why:
        skip(name, row.number, row.question, why)
    return not why


def contained(group, name, skip):
    """Whether a container can have the group's profile, which becomes a text without parameters."""
    params, _ = split_options(group)
    text = group.text and boxes.in_text(group.text, params)
    why = None if text else "a container's profile has no parameters" if group.text else \
        "shipped profiles, and those of several files, are tried as they are"
    for number, question, _, _ in group.rows if why else ():
        skip(name, number, question, why)
    group.text = text
    return not why


def check_group(group, name, on_result, skip):
    if TIER == "container" and not contained(group, name, skip):
        return
    for about in PRELUDE:
        check_part(group, name, about, on_result, skip)
    check_processes(group, name, on_result, skip)


def check_processes(group, name, on_result, skip):
    """Rows about processes, each as the question the kernel asks; rows with the same prelude share a probe."""
    rows = process_rows.rows_of(group, TOOL, name, skip)
    params, others = split_options(group)
    why = f"{others[0]} is an option of eval alone" if others else \
        "the profile does not load" if group.errors else \
        "its rule ends the process that asks" if ends_process(group.text) else \
        "shipped profiles are tried as they are" if group.text is None else None
    for row in list(rows) if why else []:
        rows.remove(row)
        skip(name, row.number, row.question, why)
    for prelude in sorted({row.prelude() for row in rows}):
        some = [row for row in rows if row.prelude() == prelude]
        check_asked(group, name, prelude, some, on_result, skip)


def unenforced(options):
    """Operations that the plan does not enforce, as it says itself."""
    if TIER == "container":
        return set(boxes.ask({"profile": options[1]})["unavailable"])
    done = subprocess.run([*LOADER, TOOL + "/buckle", "run", "--shared-tmp", "--dry-run", "--json", *options, "--",
                           TOOL + "/probe"], stdout=subprocess.PIPE, cwd=TOOL + "/cwd",
                          timeout=PATIENCE, env=dict(surroundings(), HOME="/nonexistent"))
    return {o["operation"] for o in json.loads(done.stdout)["operations"]
            if o["tier"] == "unenforced"}


def check_asked(group, name, prelude, rows, on_result, skip):
    clear()
    plain, where = TOOL + "/tables/plain.sb", TOOL + "/tables/asked.sb"
    put(plain, group.text)
    match = re.search(r"\(version\s+\d+\)", group.text)
    at = match.end() if match else 0
    put(where, group.text[:at] + prelude + group.text[at:])
    answers = iter(evaluate(group, plain, [q for row in rows for q in (row.asked, *row.also)]))
    options = ["--profile", where]
    for key, value in split_options(group)[0].items():
        options += ["-D", f"{key}={value}"]
    for row in rows:
        row.prepare()
    probe = Probe(options, TOOL + "/cwd", "/nonexistent")
    for row in rows:
        expected, also = next(answers), [next(answers) for _ in row.also]
        if "deny" in also:
            skip(name, row.number, row.question, "its call asks more, which is denied")
            continue
        row.touch_up()
        answer = probe.ask(*row.call)
        if answer == "no answer":
            err = probe.end()
            if "cannot run" in err:
                skip(name, row.number, row.question, "the profile does not let a program start")
            else:
                on_result(name, row, row.call[0], False, "the probe is gone: " + err)
            return
        came = {"ok": "allow", "EPERM": "deny", **row.means}.get(answer, "neither")
        if came == "deny" and expected == "allow" and not probe.claims(row.operation):
            skip(name, row.number, row.question, "the plan says that a container cannot have it")
            continue
        if came == "allow" and expected == "deny" and row.family() in unenforced(options):
            skip(name, row.number, row.question, "the plan says that this host does not enforce it")
            continue
        on_result(name, row, row.call[0], came == expected,
             f"{' '.join(row.call)}: {answer}, eval says {expected} of {row.asked}")
    probe.end()


def check_part(group, name, about, on_result, skip):
    rows = []
    for number, question, verdict, _ in group.rows:
        operation = question.split()[0]
        kinds = READING if about == "reading" else ("file-write", "file-link", "file-mknod",
                                                    "network-outbound", "network-bind")
        if not operation.startswith(kinds):
            continue
        try:
            rows.append(Row(number, question))
        except NotHere as why:
            skip(name, number, question, str(why))
    params, others = split_options(group)
    source = group.text
    if source is None and os.path.exists(f"{TOOL}/tables/{group.profile}"):
        with open(f"{TOOL}/tables/{group.profile}", errors="surrogateescape") as f:
            source = f.read()
    why = None
    if others:
        why = f"{others[0]} is an option of eval alone"
    elif ends_process(source):
        why = "its rule ends the process that asks"
    elif group.errors:
        why = "the profile does not load"
    if why:
        for row in rows:
            skip(name, row.number, row.question, why)
        return
    folders = [params[key] for key in ("CWD", "HOME") if params.get(key, "/") != "/"]
    rows = [row for row in rows if fits(row, source, folders, name, skip)]
    if not rows:
        return
    plain, where = group.profile, os.path.splitext(group.profile or "")[0]
    if source is not None:
        plain, where = TOOL + "/tables/plain.sb", TOOL + "/tables/asked.sb"
        with open(plain, "w", errors="surrogateescape") as f:
            f.write(source)
        with open(where, "w", errors="surrogateescape") as f:
            f.write(with_prelude(source, about))
    answers = iter(evaluate(group, plain, [r.question for r in rows] + [
        r.question.replace(r.operation, also, 1) for r in rows for also in r.also]))
    expected = {row.number: next(answers) for row in rows}
    for row in list(rows):
        denied = [also for also in row.also if next(answers) == "deny"]
        if denied:
            rows.remove(row)
            skip(name, row.number, row.question, f"its call is also {denied[0]}, which is denied")
    options = ["--profile", where]
    if TIER == "judged":  # not masks, which permit less
        options.append("--strict-reads")
    for key, value in params.items():
        options += ["-D", f"{key}={value}"]
    for world in worlds_of(rows, folders):
        check_world(world, options, params, expected, bool(source and "errno" in source),
                    lambda row, call, good, detail: on_result(name, row, call, good, detail),
                    lambda row, why: skip(name, row.number, row.question, why))


# ---- a file system for the rows ----

libc = ctypes.CDLL(None, use_errno=True)
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def call(name, *args):
    if getattr(libc, name)(*args) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount(source, target, kind, flags):
    call("mount", *(x.encode() if x else None for x in (source, target, kind)),
         ctypes.c_ulong(flags), None)


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


def take_along():
    """Reads the files that the new root needs: {name: bytes}; and how to start the program there."""
    paths = {"buckle": BUCKLE, "probe": os.path.join(TOOLS, "probe")}
    listed = subprocess.run(["ldd", BUCKLE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True).stdout
    loader = None
    for path in re.findall(r"(/\S+) \(0x", listed):
        paths[os.path.basename(path)] = path
        if "/ld-" in path:
            loader = f"{TOOL}/{os.path.basename(path)}"
    folder = os.path.join(HERE, "verdicts")
    paths.update({"tables/" + f: os.path.join(folder, f) for f in os.listdir(folder)
                  if f.endswith(".sb")})
    contents = {}
    for name, path in paths.items():
        with open(path, "rb") as f:
            contents[name] = f.read()
    return contents, [loader, "--library-path", TOOL] if loader else []


def unpack(contents, to):
    for name, content in contents.items():
        path = os.path.join(to, name)
        with open(path, "wb") as f:
            f.write(content)
        os.chmod(path, 0o755)


def enter(uid, root):
    """Becomes uid, in a mount namespace whose root is a new, empty file system."""
    gid = uid if os.geteuid() == 0 else os.getgid()
    if TIER == "container":
        return enter_box(uid, root)
    if os.geteuid() == 0 and uid != 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        call("prctl", 4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: /proc/self is ours again
    call("unshare", CLONE_NEWNS | (CLONE_NEWUSER if uid != 0 else 0))
    if uid != 0:
        put("/proc/self/setgroups", "deny")
        put("/proc/self/uid_map", f"{uid} {uid} 1")
        put("/proc/self/gid_map", f"{gid} {gid} 1")
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", root, "tmpfs", 0)
    furnish(root)


def furnish(root):
    for name in ("dev", "proc", ".host", TOOL[1:] + "/run", TOOL[1:] + "/tables",
                 TOOL[1:] + "/cwd"):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    os.chmod(root + TOOL + "/run", 0o700)
    mount("/proc", root + "/proc", None, MS_BIND | MS_REC)
    for name in DEVICES:
        put(f"{root}/dev/{name}", "")
        mount(f"/dev/{name}", f"{root}/dev/{name}", None, MS_BIND)


def enter_box(uid, root):
    """Enters a copy of a tmpfs that stays mounted where containers start. Everything in it becomes uid's."""
    boxes.own_mounts()
    furnish(root)
    for folder, folders, files in os.walk(root + TOOL):
        for path in (folder, *(os.path.join(folder, f) for f in files)):
            os.chown(path, uid, uid)
    os.chown(root, uid, uid)
    os.chown(root + "/dev", uid, uid)


def switch(root, uid):
    os.chdir(root)
    call("syscall", PIVOT_ROOT[os.uname().machine], b".", b".host")
    os.chdir("/")
    if TIER == "container" and uid != 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def inside(uid, files, root, send):
    global LOADER
    groups = [(os.path.basename(path), group) for path in files for group in verdicts.parse(path)]
    contents, LOADER = take_along()
    enter(uid, root)
    unpack(contents, root + TOOL)
    switch(root, uid)

    def on_result(name, row, call_name, good, detail):
        send({"name": name, "line": row.number, "question": row.question, "good": good,
              "detail": detail})

    def skip(name, number, question, why):
        send({"name": name, "line": number, "question": question, "why": why})

    for name, group in groups:
        check_group(group, name, on_result, skip)
    send({"done": True})


def run_as(uid, files, root, starter=None):
    """Runs in a child. Yields the lines it reports."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        if starter:
            starter.enter()
        out = os.fdopen(writer, "w")
        try:
            signal.alarm(1500 if TIER == "container" else 240)
            inside(uid, files, root, lambda what: out.write(json.dumps(what) + "\n"))
        except BaseException as error:  # report any exception to the parent
            denied = isinstance(error, OSError) and error.errno in (errno.EPERM, errno.ENOSPC)
            first = "unshare" in str(error)
            out.write(json.dumps({"failed": traceback.format_exc(),
                                  "unavailable": denied and first}) + "\n")
        out.flush()
        os._exit(0)
    os.close(writer)
    return child, os.fdopen(reader)


def report(who, reported):
    agreed, reasons = 0, {}
    for what in reported:
        if "why" in what:
            reasons.setdefault(what["why"], []).append(what)
        elif what.get("good"):
            agreed += 1
        elif "question" in what:
            tap.ok(False, f"{who}: {what['name']}:{what['line']}: {what['question']}", what["detail"])
    missing = sum(map(len, reasons.values()))
    tap.ok(agreed > 0 and reported[-1:] == [{"done": True}],
           f"{who}: eval and kernel agree on {agreed} calls; {missing} rows have none on Linux",
           *(what["failed"] for what in reported if "failed" in what))
    for why, rows in sorted(reasons.items()):
        print(f"# {who}: not expressible: {len(rows)} rows: {why}")
        for row in rows if os.environ.get("VERBOSE") else []:
            print(f"#     {row['name']}:{row['line']}: {row['question']}")
    return agreed


def main():
    why = boxes.why_not() if TIER == "container" else TIER == "sentry" and not fusable.usable() and "/dev/fuse is not open to everybody here"
    if why:
        tap.skip(why)
        return tap.done()
    folder = os.path.join(HERE, "verdicts")
    files = [os.path.abspath(f) for f in sys.argv[1:]] or sorted(
        os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".rows"))
    people = [ORDINARY, 0] if os.geteuid() == 0 else [os.geteuid()]
    with tempfile.TemporaryDirectory(prefix="buckle-kernel-") as root:
        os.chmod(root, 0o777)
        started, starters = [], []
        agent = boxes.agent() if TIER == "container" else None
        for uid in people:
            os.mkdir(f"{root}/{uid}")
            os.chmod(f"{root}/{uid}", 0o777)
            if agent:
                mount("tmpfs", f"{root}/{uid}", "tmpfs", 0)
                starters.append(boxes.Starter(agent, f"{root}/{uid}", uid, DEVICES))
            started.append((uid, *run_as(uid, files, f"{root}/{uid}", *starters[-1:])))
        for starter in starters:  # after the forks: a thread's locks would be copied
            starter.serve()
        for uid, child, reader in started:
            reported = [json.loads(line) for line in reader]
            os.waitpid(child, 0)
            who = "root" if uid == 0 else "user"
            if any(what.get("unavailable") for what in reported):
                tap.skip(f"namespaces are not available to {who}")
            else:
                report(who, reported)
        if agent:
            boxes.leave(agent, starters)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
