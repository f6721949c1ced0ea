#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `buckle try` and `buckle keep` cost, against bwrap with the same folder writable, `buckle run` and
`cp -a`; prints TAP.

    tests/bench/run-try.py [--quick] [--write]

All take turns in one run, on a disk, as an ordinary user whose state is on the same file system; ratios
are taken turn by turn. Launches have real-time priority, if that is allowed; longer work has none, since
the threads of a program would not take turns with the judge. --write puts the table into docs/performance.md; --quick repeats less. The program
is that of build/bench, or of $BENCH_BUILD, or $BUCKLE.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import workloads  # noqa: E402
from measure import TOP, Page, Spread, Targets, progress  # noqa: E402

import tap  # noqa: E402

BUILD = os.environ.get("BENCH_BUILD", os.path.join(TOP, "build", "bench"))
BUCKLE = os.environ.get("BUCKLE", os.path.join(BUILD, "buckle"))
ORDINARY = 4242
FILES = 6500


class Bench:
    """A home on disk, owned by the measuring user, with a working folder."""

    def __init__(self):
        root = os.geteuid() == 0
        self.uid = ORDINARY if root else os.geteuid()
        self.how = {"user": self.uid, "group": self.uid, "extra_groups": []} if root else {}
        self.folder = tempfile.mkdtemp(prefix="home-", dir=os.environ.get("BENCH_WORK", "/var/tmp"))
        self.work = os.path.join(self.folder, "work")
        self.buckle = os.path.join(self.folder, "buckle")
        shutil.copy(BUCKLE, self.buckle)
        for sub in ("run", "work"):
            os.mkdir(os.path.join(self.folder, sub), 0o700)
        self.own()
        self.env = {"PATH": os.environ["PATH"], "HOME": self.folder, "LC_ALL": "C.UTF-8",
                    "XDG_RUNTIME_DIR": os.path.join(self.folder, "run"),
                    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com",
                    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"}

    def own(self):
        if self.how:
            subprocess.run(["chown", "-R", f"{self.uid}:{self.uid}", self.folder], check=True)

    def call(self, *argv, cwd=None):
        done = subprocess.run(argv, env=self.env, cwd=cwd or self.work, timeout=300, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **self.how)
        if done.returncode:
            raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()[-500:]}")
        return done.stderr

    def timed(self, *argv):
        began = time.perf_counter()
        text = self.call(*argv)
        return time.perf_counter() - began, text

    def bwrap(self, words):
        return ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--bind", self.work, self.work, "--proc", "/proc",
                "--dev-bind", "/dev", "/dev", "--tmpfs", "/dev/shm", "--die-with-parent", *words]

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Clone:
    name, makes = f"git clone of {FILES:,} files", "clone"

    @staticmethod
    def prepare(bench):
        source = os.path.join(bench.work, "source")
        for i in range(FILES):
            folder = f"{source}/part{i // 100}"
            os.makedirs(folder, exist_ok=True)
            with open(f"{folder}/file{i}", "w", encoding="utf-8") as f:
                f.write(f"{i}\n" * 20)
        bench.own()
        bench.call("sh", "-ec", "git init -q . && git add -A && git commit -q -m x && git repack -q -a -d", cwd=source)
        return "git clone -q source clone"


class Npm:
    name, makes = workloads.NpmWork.name, "node_modules"

    @staticmethod
    def prepare(bench):
        script = workloads.NpmWork.prepare(bench, os.environ["PATH"])
        return script


def turn(bench, words, makes, took):
    """One repetition of all of them."""
    def clean():
        shutil.rmtree(os.path.join(bench.work, makes), ignore_errors=True)
        os.sync()
    def add(name, seconds):
        took.setdefault(name, []).append(seconds * 1e3)
    judged = [bench.buckle, "try", "--discard", "--report", "text", "--", *words]
    for name, argv in (("bwrap", bench.bwrap(words)), ("run", [bench.buckle, "run", "--", *words]), ("judged", judged)):
        clean()
        add(name, bench.timed(*argv)[0])
    clean()
    seconds, text = bench.timed(bench.buckle, "try", "--review", "later", "--", *words)
    add("try", seconds)
    world = re.search(r"the world (\w+)", text).group(1)
    os.sync()
    add("keep", bench.timed(bench.buckle, "keep", world)[0])
    os.sync()
    add("cp -a", bench.timed("cp", "-a", makes, "copy")[0])
    shutil.rmtree(os.path.join(bench.work, "copy"))


def first_in_line(yes):
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO if yes else os.SCHED_OTHER, os.sched_param(20 if yes else 0))
    except OSError:
        pass


def launches(bench, n):
    took = {"run": [], "try": []}
    first_in_line(True)
    for i in range(-2, n):
        for name, all_of_it in took.items():
            seconds = bench.timed(bench.buckle, name, "--", "/bin/true")[0]
            if i >= 0:
                all_of_it.append(seconds * 1e3)
            time.sleep(0.03)
    first_in_line(False)
    return {name: Spread(samples) for name, samples in took.items()}


def measure(bench, work, n, targets, rows):
    try:
        script = work.prepare(bench)
    except LookupError as why:
        tap.skip(f"{work.name}: {why}")
        return
    took, words = {}, ["sh", "-ec", script]
    for i in range(-1, n):
        turn(bench, words, work.makes, took if i >= 0 else {})
    shutil.rmtree(os.path.join(bench.work, work.makes))
    took = {name: Spread(samples) for name, samples in took.items()}
    for what, one, other, target, ceiling in (("in a world, × bwrap", "try", "bwrap", 1.1, 1.6),
                                              ("kept, × cp -a of what changed", "keep", "cp -a", 1.5, 4)):
        ratio = took[one].over(took[other])
        targets.judge(f"{work.name}: {what}", ratio, target, ceiling)
        rows.append([f"{work.name}: {what}", took[one].show(), took[other].show(), ratio.show(digits=2), f"{target:g}"])
    for what, one in (("in a world, judged (`--report text`), × bwrap", "judged"), ("in `buckle run`, × bwrap", "run")):
        ratio = took[one].over(took["bwrap"])
        progress(f"{work.name}: {what} {ratio.show(digits=2)}")
        rows.append([f"{work.name}: {what}", took[one].show(), took["bwrap"].show(), ratio.show(digits=2), "–"])


def main(argv):
    quick, targets, page, rows = "--quick" in argv, Targets(), Page("try"), []
    bench = Bench()
    try:
        took = launches(bench, 40 if quick else 60)
        ratio = took["try"].over(took["run"])
        targets.judge("launch of true in a world, × run", ratio, 1.3, 2)
        rows.append(["launch of `true` in a world, × run", took["try"].show(digits=1), took["run"].show(digits=1),
                     ratio.show(digits=2), "1.3"])
        for work in (Clone, Npm):
            measure(bench, work, 3 if quick else 7, targets, rows)
    finally:
        bench.close()
    if "--write" in argv:
        page.text(f"{os.cpu_count()} cores, Linux {os.uname().release}, load {os.getloadavg()[0]:.0f}; as an ordinary user.")
        page.table("Worlds", ["", "ms", "ms of the other", "ratio", "target"], rows)
        page.write()
    return tap.done()


if __name__ == "__main__":
    main(sys.argv[1:])
