#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `buckle run` costs, against the bare command and bubblewrap; prints TAP.

    tests/bench/run-launch.py [--write]

Everything that is compared takes turns in one run on tmpfs, and ratios are taken repetition by
repetition (see launch.c). A target that is missed is called NEAR or MISS; what fails the run is a
ceiling further up, which keeps the cost from growing unnoticed. --write puts the tables into
docs/performance.md. The programs are those of build/bench, or $BENCH_LAUNCH, $BENCH_CALLS, $BUCKLE.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests"))

import tap  # noqa: E402

_spec = importlib.util.spec_from_file_location(
    "engine", os.path.join(TOP, "tests", "bench", "run-bench.py"))
engine = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(engine)
Spread, say = engine.Spread, engine.say

TOOLS = os.path.join(TOP, "build", "bench", "tests", "bench")
LAUNCH = os.environ.get("BENCH_LAUNCH", os.path.join(TOOLS, "bench-launch"))
CALLS = os.environ.get("BENCH_CALLS", os.path.join(TOOLS, "bench-calls"))
LIBRARY = os.environ.get("BENCH_LIBRARY", os.path.join(TOOLS, "bench-library"))
BUCKLE = os.environ.get("BUCKLE", os.path.join(TOP, "build", "bench", "buckle"))
STATIC = os.environ.get("BUCKLE_STATIC", os.path.join(TOP, "build", "bench", "buckle-static"))
MEMORY = os.environ.get("BENCH_MEMORY", "")  # a folder on tmpfs; not /dev/shm, which is private inside

LAUNCHES = 101
PAUSE = 35000  # µs after each launch: what the kernel takes to give a network namespace back
TURNS = 7
PACKAGES = ["lodash@4.17.21", "rxjs@7.8.1"]
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BWRAP = ["/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]


class Bench:
    """A folder in memory that belongs to whoever measures."""

    def __init__(self, name, uid):
        self.name, self.uid = name, uid
        self.folder = tempfile.mkdtemp(prefix="buckle-bench-", dir=MEMORY)
        self.tools = os.path.join(self.folder, "tools")
        os.mkdir(self.tools)
        for tool in (LAUNCH, CALLS, LIBRARY, BUCKLE, STATIC):
            shutil.copy(tool, self.tools)
        for sub in ("run", "work"):
            os.mkdir(os.path.join(self.folder, sub), 0o700)
        self.work = os.path.join(self.folder, "work")
        for where in (self.folder, self.work, os.path.join(self.folder, "run")):
            os.chown(where, uid, uid)
        os.chmod(self.folder, 0o755)
        self.env = {"PATH": PATH, "HOME": self.folder, "LC_ALL": "C.UTF-8",
                    "XDG_RUNTIME_DIR": os.path.join(self.folder, "run"),
                    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com",
                    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"}

    def tool(self, path):
        return os.path.join(self.tools, os.path.basename(path))

    def call(self, *argv, cwd=None):
        how = {} if self.uid == os.geteuid() else {"user": self.uid, "group": self.uid,
                                                   "extra_groups": []}
        done = subprocess.run(argv, env=self.env, cwd=cwd or self.work, timeout=600,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, **how)
        if done.returncode:
            raise RuntimeError(f"{os.path.basename(argv[0])}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def run(self):
        return [self.tool(BUCKLE), "run"]

    def bwrap(self):
        return [*BWRAP, "--bind", self.work, self.work]

    def times(self, repetitions, commands, pause=0):
        """Nanoseconds of whole commands, taken in turns."""
        words = []
        for argv in commands.values():
            words += ["--", *("---" if w == "--" else w for w in argv)]
        lines = self.call(self.tool(LAUNCH), str(repetitions), str(pause),
                          *words).strip().split("\n")
        return {name: Spread([float(n) for n in line.split()])
                for name, line in zip(commands, lines)}

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def judge(name, ratio, target, ceiling):
    word = ("PASS" if ratio.median <= target else
            "NEAR" if ratio.median <= target * (1 + engine.NOISE) else "MISS")
    say(f"{word}  {name}: {ratio.show(digits=2)}, target at most {target:g}")
    tap.ok(ratio.median <= ceiling, f"{name}: at most {ceiling:g}", ratio.show(digits=2))


# ---- starting ----

FROM_PROCESS = "from a running process that has its plan"


def bench_start(bench, page):
    commands = {"bare vfork and exec": ["/bin/true"],
                "buckle run": [*bench.run(), "--", "/bin/true"],
                "buckle run, linked statically": [bench.tool(STATIC), "run", "--", "/bin/true"]}
    if os.path.exists(BWRAP[0]):
        commands["bwrap --unshare-all"] = [*bench.bwrap(), "/bin/true"]
    else:
        tap.skip("bubblewrap is not installed")
    commands["buckle --version (what a start of Buckle itself costs)"] = [bench.tool(BUCKLE),
                                                                         "--version"]
    got = bench.times(LAUNCHES, commands, PAUSE)
    bare, ours = got["bare vfork and exec"], got["buckle run"]
    lines = bench.call(bench.tool(LIBRARY), str(LAUNCHES), str(PAUSE), "/bin/true").split("\n")
    alone, library = (Spread([float(n) for n in line.split()]) for line in lines[:2])
    for name, spread in [*got.items(), (FROM_PROCESS, library)]:
        say(f"{spread.show(1000):>22} µs: {name}, as {bench.name}")
    judge(f"launch as {bench.name}, × bare", ours.over(bare), 3.2, 16)
    judge(f"launch of the static program as {bench.name}, × bare",
          got["buckle run, linked statically"].over(bare), 2.6, 16)
    judge(f"launch from a running process as {bench.name}, × bare", library.over(alone), 2.1, 10)
    if "bwrap --unshare-all" in got:
        judge(f"launch as {bench.name}, × bwrap", ours.over(got["bwrap --unshare-all"]), 0.6, 2)
    page.table(f"Launch of /bin/true, as {bench.name}", ["", "µs", "× bare"],
               [*([n, s.show(1000), s.over(bare).show(digits=2)] for n, s in got.items()),
                [FROM_PROCESS, library.show(1000), library.over(alone).show(digits=2)]])


# ---- single calls ----

# call: (target in µs, ceiling): what the prototype's measurements promise, and twice the worst seen
CALL_TARGETS = {"open-read": (3, 10), "open-write": (16, 100), "create": (20, 150),
                "unlink": (12, 100), "mkdir": (12, 100)}


def bench_calls(bench, page):
    samples = {"outside": {}, "inside": {}}
    for _ in range(TURNS):
        for where, prefix in (("outside", []), ("inside", bench.run())):
            text = bench.call(*prefix, bench.tool(CALLS), bench.work, "2000")
            for line in text.strip().split("\n"):
                name, ns = line.split()
                samples[where].setdefault(name, []).append(float(ns))
    rows = []
    for name, (target, ceiling) in CALL_TARGETS.items():
        outside, inside = Spread(samples["outside"][name]), Spread(samples["inside"][name])
        rows.append([name, outside.show(1000, 1), inside.show(1000, 1),
                     inside.over(outside).show(digits=1)])
        micro = Spread([ns / 1000 for ns in samples["inside"][name]])
        judge(f"one {name} as {bench.name}, µs ({outside.median / 1000:.1f} outside)", micro, target,
              ceiling)
    page.table(f"Single calls, as {bench.name}", ["", "µs outside", "µs inside", "×"], rows)


# ---- whole work ----


def prepare_make(bench):
    for i in range(20):
        with open(f"{bench.work}/part{i}.c", "w", encoding="utf-8") as f:
            f.write(f"#include <stdio.h>\n#include <stdlib.h>\nint part{i}(int x);\n"
                    f"int part{i}(int x) {{ printf(\"%d\", x); return abs(x) + {i}; }}\n")
    with open(bench.work + "/Makefile", "w", encoding="utf-8") as f:
        f.write("all: $(patsubst %.c,%.o,$(wildcard part*.c))\n"
                "%.o: %.c\n\t@$(CC) -O1 -c -o $@ $<\n")
    return "rm -f *.o && make -s -j2"


def prepare_git(bench):
    os.mkdir(bench.work + "/source")
    for i in range(1000):
        with open(f"{bench.work}/source/file{i}", "w", encoding="utf-8") as f:
            f.write(f"{i}\n" * 20)
    subprocess.run(["sh", "-ec", f"chown -R {bench.uid} {bench.work}"], check=True)
    bench.call("sh", "-ec", "git init -q . && git add -A && git commit -q -m x",
               cwd=bench.work + "/source")
    return ("git clone -q source clone.$$ && cd clone.$$ && git status >/dev/null && "
            "echo x >>file1 && git commit -q -a -m y && cd .. && rm -rf clone.$$")


def prepare_npm(bench):
    if not shutil.which("npm", path=PATH):
        raise LookupError("npm is not installed")
    npm = f"npm --no-audit --no-fund --no-update-notifier --cache {bench.work}/cache"
    try:
        # the caller's environment knows how to reach the registry; twice, because what npm fetched
        # last is not always in its cache when it ends
        subprocess.run(["sh", "-ec", f"{npm} install {' '.join(PACKAGES)} && {npm} ci"], cwd=bench.work,
                       timeout=120, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    except (subprocess.SubprocessError, OSError):
        raise LookupError("the npm registry is not reachable") from None
    subprocess.run(["sh", "-ec", f"chown -R {bench.uid} {bench.work}"], check=True)
    return npm + " --offline ci"


# what: (prepare, repetitions, target, ceiling)
WORK = {"make -j2 of 20 files": (prepare_make, 9, 1.1, 2),
        "git clone, status, commit of 1,000 files": (prepare_git, 9, 1.1, 6),
        "npm ci of 3,000 files": (prepare_npm, 5, 1.1, 3)}


def bench_work(bench, page):
    rows = []
    for name, (prepare, repetitions, target, ceiling) in WORK.items():
        try:
            script = prepare(bench)
        except LookupError as lacks:
            tap.skip(str(lacks))
            continue
        commands = {"bare": ["/bin/sh", "-ec", script],
                    "buckle": [*bench.run(), "--report", "none", "/bin/sh", "-ec", script]}
        if os.path.exists(BWRAP[0]):
            commands["bwrap"] = [*bench.bwrap(), "/bin/sh", "-ec", script]
        got = bench.times(repetitions, commands)
        judge(f"{name}, × bare ({got['bare'].median / 1e6:.0f} ms)", got["buckle"].over(got["bare"]),
              target, ceiling)
        rows.append([name, got["bare"].show(1e6), got["buckle"].over(got["bare"]).show(digits=2),
                     got["bwrap"].over(got["bare"]).show(digits=2) if "bwrap" in got else "–"])
        shutil.rmtree(bench.work)
        os.mkdir(bench.work)
        os.chown(bench.work, bench.uid, bench.uid)
    page.table("Whole work on tmpfs", ["", "ms bare", "× under buckle run", "× under bwrap"], rows)


# ---- the page ----

BEGIN, END = "<!-- launch: begin -->", "<!-- launch: end -->"
OPENING = """
## `buckle run`

Written by `tests/bench/run-launch.py --write`, which `make bench` runs as well. Everything compared
takes turns on tmpfs; medians with the outer deciles, ratios repetition by repetition.
"""


def write_page(page):
    with open(engine.PAGE, encoding="utf-8") as f:
        text = f.read()
    if BEGIN not in text:
        text = text.rstrip("\n") + "\n" + OPENING + "\n" + BEGIN + "\n" + END + "\n"
    before, rest = text.split(BEGIN)
    body = "\n".join(page.lines).strip("\n")
    with open(engine.PAGE, "w", encoding="utf-8") as f:
        f.write(f"{before}{BEGIN}\n\n{body}\n\n{END}{rest.split(END)[1]}")


def in_memory(argv):
    """Starts again with a tmpfs that ends with us, which only root can have."""
    folder = tempfile.mkdtemp(prefix="buckle-bench-")
    script = 'mount -t tmpfs -o mode=755 buckle-bench "$BENCH_MEMORY" && "$@"'
    status = subprocess.call(["unshare", "-m", "sh", "-c", script, "sh", sys.executable, __file__,
                              *argv], env=dict(os.environ, BENCH_MEMORY=folder))
    os.rmdir(folder)
    return status


def main(argv):
    if not MEMORY and os.geteuid() == 0:
        return in_memory(argv)
    page = engine.Page()
    people = [("root", 0), ("an ordinary user", 4242)] if os.geteuid() == 0 else \
        [("an ordinary user", os.geteuid())]
    if not MEMORY:
        tap.skip("no tmpfs: set BENCH_MEMORY to a folder on one")
        return tap.done()
    for name, uid in people:
        bench = Bench(name, uid)
        try:
            bench_start(bench, page)
            bench_calls(bench, page)
            if (name, uid) == people[-1]:
                bench_work(bench, page)
        except (RuntimeError, OSError, subprocess.SubprocessError) as trouble:
            tap.ok(False, f"measuring as {name}", trouble)
        finally:
            bench.close()
    if "--write" in argv:
        write_page(page)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
