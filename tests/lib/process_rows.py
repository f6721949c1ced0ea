# SPDX-License-Identifier: Apache-2.0
"""Verdict rows about processes, for tests/runners/run-kernel-verdicts.py.

The kernel knows more than a row states: the target of a signal can be a child, a sandbox member and
another process at once. So each row becomes the question that the kernel will ask; `buckle eval`
answers it, and the probe attempts it.
"""

import os
import re
import shlex
import shutil

LINUX_SIGNALS = {"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGKILL": 9, "SIGUSR1": 10, "SIGTERM": 15,
                 "SIGCONT": 18, "SIGSTOP": 19, "15": 15, "9": 9}
# target in the row: (call, further facts about such a process)
TARGETS = {
    "self": ("signal-self", ["self", "pgrp", "same-sandbox"]),
    "children": ("signal-children", ["children", "others", "same-sandbox"]),
    "pgrp": ("signal-group", ["pgrp", "others", "same-sandbox"]),
    "same-sandbox": ("signal-fellow", ["others", "same-sandbox"]),
    "others": ("signal-fellow", ["others", "same-sandbox"]),
    "other": ("signal-fellow", ["others", "same-sandbox"]),
}
SYSV = {"ipc-sysv-shm": "sysv-shm", "ipc-sysv-sem": "sysv-sem", "ipc-sysv-msg": "sysv-msg"}
# operation: (call, other operations it needs)
POSIX = {
    "ipc-posix-shm-write-create": ("shm-create", []),
    "ipc-posix-shm-write-data": ("shm-write", ["ipc-posix-shm-write-create"]),
    "ipc-posix-shm-write-unlink": ("shm-unlink", ["ipc-posix-shm-write-create"]),
    "ipc-posix-sem-create": ("sem-create", ["ipc-posix-sem-open", "ipc-posix-sem-unlink"]),
    "ipc-posix-sem-open": ("sem-open", ["ipc-posix-sem-create", "ipc-posix-sem-unlink"]),
}
# operation: (file in /proc/PID, open mode)
ABOUT_PROCESSES = {
    "process-info-pidinfo": ("stat", "r"),
    "process-info-pidfdinfo": ("fd", "r"),
    "process-info-rusage": ("statm", "r"),
    "process-info-setcontrol": ("oom_score_adj", "w"),
}
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
OPERATIONS = ("process-info", "sysctl", "pseudo-tty", "file-lock", "file-ioctl", "file-clone",
              "file-chroot", "file-mount", "file-unmount", "system-reboot", "system-acct",
              "system-swap", "system-set-time", "system-kext", "signal", "process-exec", "process-fork", "file-map-executable",
              "dynamic-code-generation", "ipc-sysv", "ipc-posix", "system-socket")


class NotHere(Exception):
    """A row that Linux cannot express, and why."""


class ProcessRow:
    def __init__(self, number, question, tool):
        self.number, self.question, self.tool = number, question, tool
        self.operation, *self.words = shlex.split(question)
        self.program, self.script, self.also, self.means = None, None, [], {}
        self.who = [f"uid={os.geteuid()}", f"gid={os.getegid()}"]
        self.plan()

    def family(self):
        """The name that the plan uses."""
        return "process-info*" if self.operation.startswith("process-info") else self.operation

    def given(self, name):
        return [w.split("=", 1)[1] for w in self.words if w.startswith(name + "=")]

    def subject(self):
        plain = [w for w in self.words if "=" not in w]
        return plain[0] if plain else None

    def only(self, *names):
        """Checks that the row has only these facts, and only facts about users that hold here."""
        for word in self.words:
            name = word.split("=", 1)[0]
            if "=" in word and name in ("uid", "gid") and word not in self.who:
                raise NotHere("asks about somebody else")
            if "=" in word and name not in (*names, "uid", "gid"):
                raise NotHere(f"asks about {name}")

    def plan(self):
        if self.operation == "signal":
            self.plan_signal()
        elif self.operation in ("process-exec", "process-exec*", "process-exec-interpreter",
                                "file-map-executable"):
            self.plan_file()
        elif self.operation == "process-fork":
            self.only()
            self.asked, self.call = " ".join(["process-fork", *self.who]), ["fork"]
        elif self.operation == "dynamic-code-generation":
            self.only()
            self.asked = " ".join(["dynamic-code-generation", *self.who])
            self.call = ["map-code"]
        elif self.operation in SYSV:
            self.only()
            self.asked, self.call = " ".join([self.operation, *self.who]), [SYSV[self.operation]]
        elif self.operation in POSIX:
            self.plan_posix()
        elif self.operation == "system-socket":
            self.plan_socket()
        elif self.operation in ABOUT_PROCESSES or self.operation == "process-info-listpids":
            self.plan_info()
        elif self.operation in ("sysctl-read", "sysctl-write"):
            self.plan_sysctl()
        elif self.operation in ("pseudo-tty", "file-lock", "file-ioctl"):
            self.plan_device()
        elif self.operation.startswith(("file-chroot", "file-mount", "file-unmount", "system-")):
            raise NotHere("refused whatever the policy says")
        elif self.operation == "file-clone":
            raise NotHere("not every file system can clone")
        else:
            raise NotHere("no call asks about the whole family" if self.operation.endswith("*") else
                          "no call asks just that")

    def plan_signal(self):
        self.only("target", "signal-number")
        names = self.given("target") + ([self.subject()] if self.subject() else [])
        if len(names) != 1:
            raise NotHere("names no process, or several")
        if names[0] not in TARGETS:
            raise NotHere("init is out of reach")
        call, facts = TARGETS[names[0]]
        numbers = self.given("signal-number") or ["SIGCONT"]
        if numbers[0] not in LINUX_SIGNALS:
            raise NotHere("a signal that Linux numbers otherwise")
        self.asked = " ".join(["signal", *(f"target={f}" for f in facts),
                               f"signal-number={numbers[0]}", *self.who])
        self.call = [call, str(LINUX_SIGNALS[numbers[0]])]

    def plan_file(self):
        self.only("file-mode")
        self.program = self.subject()
        if not self.program or not self.program.startswith("/"):
            raise NotHere("names no path")
        if os.path.normpath(self.program) != self.program or self.program == "/":
            raise NotHere("not a canonical path: the kernel never asks about it")
        if self.program.startswith(("/proc", "/dev")):
            raise NotHere("procfs and devices have files of their own")
        self.mode = int((self.given("file-mode") or ["0755"])[0], 8)
        if self.mode & 0o111 == 0 and self.operation != "file-map-executable":
            raise NotHere("a file that cannot be executed")
        self.asked = " ".join([self.operation, shlex.quote(self.program), f"file-mode={self.mode:04o}",
                               "vnode-type=REGULAR-FILE", *self.who])
        self.call = ["map-file" if self.operation == "file-map-executable" else "exec-program",
                     self.program]
        if self.operation == "process-exec-interpreter":
            self.script = f"{self.tool}/cwd/script-{self.number}"
            self.call[1] = self.script

    def plan_info(self):
        self.only("target")
        names = self.given("target") + ([self.subject()] if self.subject() else [])
        if self.operation == "process-info-listpids":
            self.asked = " ".join([self.operation, "target=same-sandbox", *self.who])
            self.call = ["open-read", "/proc"]
            return
        if len(names) > 1 or names and names[0] not in TARGETS:
            raise NotHere("names several processes, or the first")
        call, facts = TARGETS[names[0] if names else "self"]
        self.asked = " ".join([self.operation, *(f"target={f}" for f in facts), *self.who])
        self.call = [call.replace("signal", "info"), *ABOUT_PROCESSES[self.operation]]

    def plan_sysctl(self):
        self.only()
        name = self.subject() or ""
        path = "/proc/sys/" + name.replace(".", "/")
        if not re.fullmatch(r"[a-z0-9_.]+", name) or not os.path.isfile(path):
            raise NotHere("a variable that Linux does not have")
        self.asked = " ".join([self.operation, name, *self.who])
        self.call = ["open-read" if self.operation == "sysctl-read" else "open-write", path]
        # unreadable entries are missing; others are not always writable
        self.means = {"ENOENT": "deny", "EACCES": "allow"}

    def plan_device(self):
        self.only()
        path = self.subject()
        if self.operation == "pseudo-tty":
            # there is no devpts here
            self.asked, self.call = " ".join(["pseudo-tty", *self.who]), ["open-rdwr", "/dev/ptmx"]
            self.means = {"ENODEV": "allow", "ENOENT": "allow"}
        elif self.operation == "file-lock":
            if path:
                raise NotHere("locks are not told apart by path")
            self.asked, self.call = " ".join(["file-lock", *self.who]), ["flock", "/dev/null"]
        elif path in DEVICES:
            self.asked = " ".join(["file-ioctl", path, "vnode-type=CHARACTER-DEVICE", *self.who])
            self.call, self.means = ["ioctl-device", path], {"ENOTTY": "allow", "EINVAL": "allow",
                                                             "EACCES": "deny"}
        else:
            raise NotHere("not a device that is here")

    def plan_posix(self):
        self.only()
        name = (self.subject() or "").lstrip("/")
        if not name or "/" in name:
            raise NotHere("a name that no object has on Linux")
        facts = [f"ipc-posix-name=/{name}", f"ipc-posix-name={name}", *self.who]
        call, also = POSIX[self.operation]
        self.asked, self.call = " ".join([self.operation, *facts]), [call, "/" + name]
        self.also = [" ".join([one, *facts]) for one in also]

    def plan_socket(self):
        self.only("socket-domain", "socket-protocol", "socket-type")
        domain = (self.given("socket-domain") or [self.subject()])[0]
        if domain not in ("AF_ROUTE", "17") or self.given("socket-protocol"):
            raise NotHere("a family that Linux does not have, or that the network decides about")
        self.asked = " ".join(["system-socket", "socket-domain=AF_ROUTE", "socket-type=3",
                               "socket-protocol=0", *self.who])
        self.call = ["socket-route"]

    def prelude(self):
        """The rules that the probe needs to ask exactly this."""
        rules = f'(allow process-exec* (literal "{self.tool}/probe"))(allow file-read* sysctl-read)' \
            f'(allow process-exec* (regex #"^{re.escape(self.tool)}/cwd/script-"))' \
            '(allow file-write* (subpath "/dev/shm"))' \
            '(allow file-write-data (regex #"^/proc/") (literal "/dev/ptmx"))'
        if self.operation.startswith("sysctl"):
            rules = rules.replace(" sysctl-read", "")
        return rules + ("" if self.operation == "process-fork" else "(allow process-fork)")

    def touch_up(self):
        """Rows may share a file and disagree about its mode."""
        if self.program:
            os.chmod(self.program, self.mode)

    def prepare(self):
        """Creates what must exist before the sandbox starts."""
        if self.program:
            os.makedirs(os.path.dirname(self.program), exist_ok=True)
            shutil.copy(self.tool + "/probe", self.program)
            self.touch_up()
        if self.script:
            with open(self.script, "w") as f:
                f.write(f"#!{self.program}\n")
            os.chmod(self.script, 0o755)
        os.makedirs("/dev/shm", exist_ok=True)


def rows_of(group, tool, name, skip):
    rows = []
    for number, question, _, _ in group.rows:
        if not question.startswith(OPERATIONS):
            continue
        try:
            rows.append(ProcessRow(number, question, tool))
        except NotHere as why:
            skip(name, number, question, str(why))
    return rows
