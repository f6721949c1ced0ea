#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Roots of busybox and of Debian, under three policies, started by runc, crun and Podman: what each program may do is what `buckle eval` says. Prints TAP.

    tests/e2e/e2e-node-roots.py [whole]

The Debian root is made by debootstrap, from the network; only with "whole".
"""

import json
import os
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from containers import Agent, Podman, bundle, crun_here, image_root, root_of, why_not
from drive import BUCKLE, FOLDER, buckle, write

WHOLE = "whole" in sys.argv

PROFILES = {
    "write": """(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath "/work") (literal "/dev/null") (literal "/dev/tty"))
(allow file-write-create file-write-unlink (regex #"^/tmp/[a-z]+\\.lock$"))
""",
    "read": """(version 1)
(allow default)
(deny file-read* (literal "/etc/shadow") (regex #"\\.key$"))
(deny file-read-data (subpath "/var/lib/dpkg/info") (subpath "/secret"))
""",
    "exec": """(version 1)
(allow default)
(deny process-exec)
(allow process-exec (literal "/bin/busybox") (regex #"^/usr/bin/(bash|dash|cat|ls)$"))
""",
}

# (command, operation, path)
ROWS = {
    "write": [
        ("echo x > /work/new", "file-write-create", "/work/new"), ("echo x >> /work/old", "file-write-data", "/work/old"), ("rm /work/gone", "file-write-unlink", "/work/gone"),
        ("mkdir /work/folder", "file-write-create", "/work/folder"), ("ln -s x /work/link", "file-write-create", "/work/link"),
        ("chmod 600 /work/old", "file-write-mode", "/work/old"), ("echo x > /tmp/new", "file-write-create", "/tmp/new"), ("mkdir /tmp/folder", "file-write-create", "/tmp/folder"),
        ("echo x >> /etc/passwd", "file-write-data", "/etc/passwd"), ("chmod 666 /etc/passwd", "file-write-mode", "/etc/passwd"), ("touch /etc/passwd", "file-write-times", "/etc/passwd"),
        ("rm /etc/passwd", "file-write-unlink", "/etc/passwd"), ("mkdir /tmp/one.lock", "file-write-create", "/tmp/one.lock"), ("mkdir /tmp/ONE.lock", "file-write-create", "/tmp/ONE.lock"),
        ("cat /etc/passwd", "file-read-data", "/etc/passwd"),
    ],
    "read": [
        ("cat /etc/shadow", "file-read-data", "/etc/shadow"), ("stat /etc/shadow", "file-read-metadata", "/etc/shadow"), ("cat /etc/passwd", "file-read-data", "/etc/passwd"),
        ("cat /work/a.key", "file-read-data", "/work/a.key"), ("cat /secret/file", "file-read-data", "/secret/file"), ("stat /secret/file", "file-read-metadata", "/secret/file"),
        ("echo x >> /work/a.key", "file-write-data", "/work/a.key"),
    ],
    "exec": [
        ("ls /", "process-exec", {"busybox": "/bin/busybox", "Debian": "/usr/bin/ls"}), ("cat /etc/passwd", "process-exec", {"busybox": "/bin/busybox", "Debian": "/usr/bin/cat"}),
        ("/work/program", "process-exec", "/work/program"), ("stat /", "process-exec", {"busybox": "/bin/busybox", "Debian": "/usr/bin/stat"}),
    ],
}
# Debian's own tools, with what they need that the policy denies or allows: (profile, command, whether it does its work)
TOOLS = [
    ("write", "dpkg-query -W bash", True), ("write", "perl -e 'open(F, q(>), q(/work/perl)) or exit 1; print F q(x)'", True),
    ("write", "perl -e 'open(F, q(>), q(/usr/lib/perl)) or exit 1'", False), ("write", "useradd ada", False), ("write", "dpkg --add-architecture arm64", False),
    ("write", "tar -C /work -cf /work/etc.tar /etc/hostname", True), ("write", "tar -C /opt -xf /work/etc.tar", False), ("read", "dpkg -L bash", False), ("read", "getent passwd root", True),
    ("read", "getent shadow root", False), ("exec", "bash -c 'echo inside'", True), ("exec", "perl -e 1", False),
]


def prepare(root):
    for folder in ("work", "tmp"):
        shutil.rmtree(os.path.join(root, folder), ignore_errors=True)
    for folder in ("work", "secret", "tmp", "etc"):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    for path, text in (("work/old", "old\n"), ("work/gone", "x"), ("work/a.key", "key\n"), ("secret/file", "x\n"), ("etc/shadow", "root:*:1::::::\n"), ("etc/hostname", "x\n")):
        with open(os.path.join(root, path), "w", encoding="utf-8") as f:
            f.write(text)
    program = os.path.join(root, "work", "program")
    shutil.copy(shutil.which("busybox"), program)


def script(profile, rows):
    lines = [f"({command}) >/dev/null 2>&1 && echo '{i} did' || echo '{i} no'" for i, (command, *_) in enumerate(rows)]
    return "; ".join([*lines, "echo end"]).replace("/work/program)", "/work/program true)")


class Direct:
    """runc or crun, with a bundle."""

    def __init__(self, agent, name, path):
        self.agent, self.name, self.path, self.n = agent, name, path, 0

    def run(self, root, profile, shell, text):
        self.n += 1
        folder = bundle(f"root-{self.name}-{self.n}", [shell, "-c", text], self.agent.seccomp(profile))
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
            config = json.load(f)
        config["root"]["path"] = root
        if self.name == "crun":
            del config["linux"]["resources"]
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
            json.dump(config, f)
        return subprocess.run([self.path, *root_of(self.name), "run", "-b", folder, f"root-{self.name}-{os.getpid()}-{self.n}"], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=120, check=False, text=True)


class ByPodman:
    """Podman with `buckle oci` as its runtime."""

    name = "podman"

    def __init__(self, agent):
        self.engine, self.images = Podman(), {}
        self.wrapper = os.path.join(FOLDER, write("podman-runtime", f"""#!/bin/sh
exec {BUCKLE} oci --runtime runc --socket {agent.socket} --profiles {agent.profiles} -- "$@"
"""))
        os.chmod(self.wrapper, 0o755)

    def run(self, root, profile, shell, text):
        if root not in self.images:
            self.images[root] = f"root{len(self.images)}:1"
            self.engine.add(self.images[root], root)
        return self.engine.run([shell, "-c", text], runtime=self.wrapper, annotation="org.buckle.profile=" + profile, image=self.images[root])


def verdict(agent, profile, op, path):
    done = buckle("eval", os.path.join(agent.profiles, profile + ".sb"), op, path)
    return "did" if done.out.split()[:1] == ["allow"] else "no"


def told(done):
    return dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)


def check(agent, runtime, kind, root):
    shell = "/bin/sh" if kind == "busybox" else "/usr/bin/bash"
    for profile, rows in ROWS.items():
        prepare(root)
        done = runtime.run(root, profile, shell, script(profile, rows))
        want = {str(i): verdict(agent, profile, op, path[kind] if isinstance(path, dict) else path) for i, (_, op, path) in enumerate(rows)}
        differ = [f"{rows[int(i)][0]}: eval {came}, {runtime.name} {told(done).get(i)}" for i, came in want.items() if told(done).get(i) != came]
        tap.ok(not differ and "end" in done.stdout and len(set(want.values())) == 2, f"{kind}, {runtime.name}, {profile}: {len(rows)} outcomes are eval's verdicts", *differ,
               done.stdout[-300:], done.stderr[-500:])
    for profile in PROFILES if kind == "Debian" else ():
        tools = [t for t in TOOLS if t[0] == profile]
        prepare(root)
        done = runtime.run(root, profile, shell, script(profile, [(command,) for _, command, _ in tools]))
        differ = [f"{command}: {told(done).get(str(i))}" for i, (_, command, works) in enumerate(tools) if (told(done).get(str(i)) == "did") != works]
        tap.ok(not differ and "end" in done.stdout, f"{kind}, {runtime.name}, {profile}: {len(tools)} of its tools work, or fail, as they should", *differ, done.stdout[-300:],
               done.stderr[-500:])


def debian_root():
    """A root by debootstrap, or why there is none."""
    if not shutil.which("debootstrap"):
        return None, "debootstrap is not installed"
    root = os.path.join(FOLDER, "debian")
    done = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root, os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=900, check=False, text=True)
    return (root, None) if done.returncode == 0 else (None, "debootstrap does not work here: " + shlex.quote(done.stdout[-200:] + done.stderr[-200:]))


def main():
    reason = why_not("runc")
    if reason:
        tap.skip(reason)
        return tap.done()
    agent = Agent(PROFILES)
    try:
        crun = crun_here()
        runtimes = [Direct(agent, "runc", "runc")] + ([Direct(agent, "crun", crun)] if crun else [])
        if not crun:
            tap.skip("crun does not work here")
        if Podman.why_not():
            tap.skip(Podman.why_not())
        else:
            runtimes.append(ByPodman(agent))
        roots = {"busybox": image_root()}
        if WHOLE:
            roots["Debian"], why = debian_root()
            if why:
                del roots["Debian"]
                tap.skip(why)
        for kind, root in roots.items():
            for runtime in runtimes:
                check(agent, runtime, kind, root)
    finally:
        agent.stop()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
