#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The next command of a session, with a spare and without one, against the bare start; prints TAP.

    tests/bench/run-spare.py [--quick] [--write]

The floor of a hook's command is one without a sandbox: a client of no more than six system calls gives its
streams to a process that waits to execute the command (floor-client.c, floor-session.c). All take turns, and a pause before each lets the spare get ready. --write puts the table into
docs/performance.md; --quick repeats less. The programs are those of build/bench, or of $BENCH_BUILD, put
where an installation has them; or $BUCKLE, which is installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from measure import TOP, Page, Server, Spread, Targets, progress  # noqa: E402

import tap  # noqa: E402

BUILD = os.environ.get("BENCH_BUILD", os.path.join(TOP, "build", "bench"))
BUCKLE = os.environ.get("BUCKLE", os.path.join(BUILD, "buckle"))
SHELL = ["/bin/sh", "-c", "true"]
PAUSE = 0.06


def install(work):
    """The program and the hook's client, as they are installed. Without the client it measures something else."""
    beside = os.path.join(os.path.dirname(BUCKLE), "..", "libexec", "buckle", "buckle-client")
    if os.path.exists(beside):
        return os.path.realpath(BUCKLE), os.path.realpath(beside)
    if os.environ.get("BUCKLE"):
        raise SystemExit(f"{BUCKLE} has no buckle-client beside it: name the program of an installation")
    made = []
    for name in ("bin/buckle", "libexec/buckle/buckle-client"):
        made.append(os.path.join(work, name))
        os.makedirs(os.path.dirname(made[-1]))
        shutil.copy(os.path.join(BUILD, os.path.basename(name)), made[-1])
    return made


def spawn(argv):
    """As cheaply as this program can: the child shares our memory until it execs."""
    null = os.open("/dev/null", os.O_RDWR)
    pid = os.posix_spawn(argv[0], argv, os.environ, setsid=True,
                         file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in range(3)])
    os.close(null)
    return os.waitpid(pid, 0)[1]


class Session:
    """Commands as `buckle hook` runs them."""

    def __init__(self, programs, work, *words):
        self.owner = subprocess.Popen(["sleep", "3600"])
        buckle, client = programs
        pid = subprocess.check_output([buckle, "session", *words, "--for", str(self.owner.pid)], cwd=work, text=True)
        self.words = [client, "run", "--annotate", "--watch-net", "--root", work, "--session", pid.strip(),
                      "--ask-session", "--leave-background", "--folder-of", "x", "--", *SHELL]
        spawn(self.words)

    def run(self):
        return spawn(self.words)

    def end(self):
        self.owner.kill()
        self.owner.wait()


class Floor:
    """A client, a session and a command, and nothing that makes it safe."""

    def __init__(self):
        name = f"buckle-bench-{os.getpid()}"
        self.words = [os.path.join(BUILD, "tests", "bench", "bench-floor-client"), name]
        self.session = subprocess.Popen([os.path.join(BUILD, "tests", "bench", "bench-floor-session"), name, *SHELL])

    def run(self):
        return spawn(self.words)

    def end(self):
        self.session.kill()
        self.session.wait()


def keep_descriptors():
    """A descriptor that a command would inherit rules a spare out."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and os.path.exists(f"/proc/self/fd/{name}"):
            os.set_inheritable(int(name), False)


def measure(n, programs, work):
    ends = {"mcp": Server(programs[0], work), "mcp without": Server(programs[0], work, "--no-spare"),
            "hook": Session(programs, work), "hook without": Session(programs, work, "--no-spare"), "floor": Floor()}
    ways = {"bare": lambda: spawn(SHELL), **{name: end.run for name, end in ends.items()}}
    took = {name: [] for name in ways}
    for turn in range(-2, n):
        for name, way in ways.items():
            time.sleep(PAUSE)
            began = time.perf_counter()
            if way() != 0:
                raise RuntimeError(f"{name}: failed")
            if turn >= 0:
                took[name].append((time.perf_counter() - began) * 1e6)
    for end in ends.values():
        end.end()
    return {name: Spread(samples) for name, samples in took.items()}


def main(argv):
    quick, targets, page = "--quick" in argv, Targets(), Page("spare")
    keep_descriptors()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_WORK", "/var/tmp")) as place:
        programs, work = install(os.path.realpath(place)), os.path.join(os.path.realpath(place), "work")
        os.mkdir(work)
        os.chdir(work)
        took = measure(40 if quick else 200, programs, work)
    bare, rows = took["bare"], []
    for name, words in (("mcp", "next command of buckle mcp"), ("hook", "next command of a hook's session")):
        with_one, without = took[name].over(bare), took[name + " without"].over(bare)
        floor = took["floor"].over(bare) if name == "hook" else None
        targets.judge(f"{words}, × the bare start", with_one, 1.6, 3, floor, digits=2)
        rows.append([words, took[name].show(), with_one.show(digits=2), without.show(digits=2)])
        progress(f"{words}: {took[name].show()} µs, bare {bare.show()}; without a spare {without.show(digits=2)}")
    if "--write" in argv:
        page.text(f"{os.cpu_count()} cores, Linux {os.uname().release}, load {os.getloadavg()[0]:.0f}; the bare start of "
                  f"`sh -c true` {bare.show()} µs.")
        page.table("Spares", ["", "µs", "× bare", "× bare without a spare"], rows)
        page.write()
    return tap.done()


if __name__ == "__main__":
    main(sys.argv[1:])
