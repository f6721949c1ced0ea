#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Work that writes many files, beside bwrap; and what one judge serves. Prints TAP.

    tests/bench/run-writes.py [--quick] [--write]

`git clone`, `tar x` and `npm ci` on a disk, as an ordinary user whose secrets Buckle guards, in turns with
a plain bwrap that guards nothing, and with the floor: the same walls, and a judge that makes every call
in the caller's folder and checks nothing (floor-calls.c). What was written is removed between two runs,
unmeasured. Ratios are those of the turns. Then callers that do nothing but create and remove files, one to
sixteen at a time, in memory; and how much of a processor the judge needs while others work. --write puts the tables
into docs/performance.md. The programs are those of build/bench, or of $BENCH_BUILD; $BENCH_RELEASED names
the program that a release has.
"""

import importlib
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers
import workloads
from measure import Page, Spread, Targets, progress, tap

import fusable
from processes import command_name, descendants

cost = importlib.import_module("run-cost")

BWRAP = ["/usr/bin/bwrap", "--unshare-all", "--bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
PARTS, EACH = 65, 100
LENGTH_MS = 1000
CALLERS = (1, 2, 4, 8, 16)
TARGET, CEILING = 1.12, 2
JUDGE_US = 40  # a ceiling, on whatever machine this is


def tree(top):
    for part in range(PARTS):
        os.makedirs(f"{top}/part{part}/deep")
        for k in range(EACH):
            with open(f"{top}/part{part}/{'deep/' if k % 2 else ''}file{k}.c", "w", encoding="utf-8") as f:
                f.write("".join(f"int value_{part}_{k}_{n};\n" for n in range(20)))


def prepare_clone(bench):
    tree(bench.work + "/source")
    bench.own()
    bench.call("sh", "-ec", "git init -q . && git add -A && git commit -qm x && git gc -q", cwd=bench.work + "/source")
    return "git clone -q source made"


def prepare_tar(bench):
    tree(bench.work + "/source")
    bench.own()
    bench.call("tar", "cf", "source.tar", "source")
    return "mkdir made && tar xf source.tar -C made"


def prepare_npm(bench):
    return workloads.NpmWork.prepare(bench, peers.PATH)


def prepare_make(bench):
    workloads.sources(bench)
    return f"make -s -j{os.cpu_count()}"


WORK = {"git clone of 6,500 files": (prepare_clone, ["made"]), "tar x of 6,500 files": (prepare_tar, ["made"]),
        "npm ci of 3,000 files": (prepare_npm, ["node_modules"])}
COMPILING = {"make of 40 files": (prepare_make, [f"{i + 1}.o" for i in range(40)])}


def forget(bench, made):
    for name in made:
        path = os.path.join(bench.work, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)


def ways_of(bench):
    floor = [bench.tool("bench-floor"), "walls", bench.tool("bench-floor-calls"), "perform"]
    return {"buckle": [bench.buckle, "run", "--report", "none", "--"], "bwrap": BWRAP, "floor": floor, "bare": []}


def in_turns(bench, script, made, turns):
    """Seconds by way; a first turn does not count."""
    ways = ways_of(bench)
    got = {way: [] for way in ways}
    for turn in range(turns + 1):
        for way, words in ways.items():
            forget(bench, made)
            time.sleep(0.05)
            began = time.perf_counter()
            bench.call(*words, "/bin/sh", "-ec", script)
            if turn:
                got[way].append(time.perf_counter() - began)
    return {way: Spread(samples) for way, samples in got.items()}


# ---- the judge's part ----


def seconds_run(pid):
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0


def judge_seconds(bench, words):
    """Runs them in Buckle. Returns what they print, and the processor time of the judge."""
    child = subprocess.Popen([bench.buckle, "run", "--report", "none", "--", *words], env=bench.env, cwd=bench.work,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **bench.how())
    judge, used = None, 0
    while child.poll() is None:
        try:
            judge = judge or next((p for p in descendants(child.pid) if command_name(p) == "buckle-judge"), None)
        except OSError:
            pass  # one of them ended meanwhile
        used = max(used, seconds_run(judge)) if judge else used
        time.sleep(0.005)
    if child.returncode:
        raise RuntimeError(f"{words[0]} failed inside")
    return child.stdout.read(), used


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def share_of(bench, script, made, turns):
    """The judge's processor time over that of the same work outside."""
    got = []
    for _ in range(turns):
        forget(bench, made)
        before = children_seconds()
        bench.call("/bin/sh", "-ec", script)
        outside = children_seconds() - before
        forget(bench, made)
        got.append(judge_seconds(bench, ["/bin/sh", "-ec", script])[1] / outside)
    return Spread(got)


def in_memory(bench):
    """Puts the working folder into memory, where root can."""
    return subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=700,uid={bench.uid},gid={bench.uid}", "none",
                           bench.work], stderr=subprocess.DEVNULL, check=False).returncode == 0


def one_rate(bench, how, callers):
    """Calls a second, and the judge's microseconds for each."""
    words = [bench.tool("bench-many"), bench.work, str(callers), str(LENGTH_MS)]
    text, used = judge_seconds(bench, words) if how == "Buckle" else (bench.call(*ways_of(bench)[how], *words), 0)
    calls, took = (float(n) for n in text.split())
    forget(bench, [f"caller{i}" for i in range(callers)])
    return calls * 1e9 / took, used * 1e6 / calls


def rates(bench, turns, page):
    """Judged calls in a second, and the judge's time for one."""
    ways, rows = ("Buckle", "floor", "bare"), []
    for callers in CALLERS:
        got = {way: [] for way in ways}
        for _ in range(turns):
            for way in ways:
                got[way].append(one_rate(bench, way, callers))
        shown = [Spread([rate for rate, _ in got[way]]).show() for way in ways]
        judge = Spread([took for _, took in got["Buckle"]])
        shown.append(judge.show(digits=1))
        progress(f"{callers} callers: " + ", ".join(f"{w} {s}" for w, s in zip((*ways, "judge, µs"), shown)))
        rows.append([str(callers), *shown])
        tap.ok(0 < judge.median <= JUDGE_US, f"{callers} callers: the judge needs at most {JUDGE_US} µs for a call",
               shown[-1])
    page.table("Judged calls in a second: creating and removing files in memory",
               ["callers", *ways, "the judge's processor time for one, µs"], rows)


def measure(bench, turns, page, targets):
    rows, shares = [], []
    for name, (prepare, made) in {**WORK, **COMPILING}.items():
        try:
            script = prepare(bench)
        except LookupError as lacks:
            tap.skip(str(lacks))
            continue
        if name in WORK:
            got = in_turns(bench, script, made, turns)
            over = {way: got[way].over(got["bwrap"]) for way in ("buckle", "floor")}
            targets.judge(f"{name}, × bwrap", over["buckle"], TARGET, CEILING, over["floor"])
            rows.append([name, got["bare"].show(1e-3), *(got[w].over(got["bare"]).show(digits=2) for w in ("buckle", "floor", "bwrap"))])
        share = share_of(bench, script, made, max(3, turns // 3))
        progress(f"{name}: the judge takes {share.show(digits=2)} of its processor time")
        shares.append([name, share.show(digits=3), f"{1 / share.median:,.0f}" if share.median else "–"])
        bench.clear()
    page.table("Work that writes, on a disk", ["", "ms bare", "× buckle run", "× floor", "× bwrap"], rows)
    page.table("The judge beside the work: processor time",
               ["", "judge / the same work outside", "processors that one judge can serve"], shares)
    if in_memory(bench):
        rates(bench, max(3, turns // 3), page)
    else:
        tap.skip("an ordinary user cannot mount a tmpfs for the rates")


def main(argv):
    if not fusable.usable() or not os.path.exists(BWRAP[0]):
        tap.skip("no /dev/fuse for everybody, or no bwrap")
        return tap.done()
    turns = 5 if "--quick" in argv else 15
    cost.MEMORY = tempfile.mkdtemp(prefix="buckle-writes-", dir="/var/tmp")
    os.chmod(cost.MEMORY, 0o755)
    name, uid = ("an ordinary user", cost.ORDINARY) if os.geteuid() == 0 else ("this user", os.geteuid())
    bench = cost.Bench(name, uid)
    released = os.environ.get("BENCH_RELEASED")
    bench.buckle = shutil.copy(released, bench.tools + "/released") if released else bench.tool("buckle")
    page, targets = Page("writes"), Targets()
    try:
        measure(bench, turns, page, targets)
    finally:
        subprocess.run(["umount", bench.work], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(cost.MEMORY, ignore_errors=True)
    head = Page("writes")
    head.text(f"{os.cpu_count()} cores, Linux {platform.release()}, {platform.machine()}; {turns} turns; as {name}; "
              f"{'the released program' if released else 'as built by make'}.")
    head.table("Targets of writes", ["", "at most", "measured", "floor here", ""], targets.rows)
    page.lines = head.lines + page.lines
    if "--write" in argv:
        page.write()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
