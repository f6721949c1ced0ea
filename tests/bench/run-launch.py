#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches of the default profile as shipped against bwrap, and against an earlier program; prints TAP.

    tests/bench/run-launch.py [--quick] [--write] [--before PROGRAM] [--released PROGRAM]

All that is compared takes turns (launch.c), and ratios are those of the pairs. The home with its eight
secret stores is in memory. The programs are on a disk, as bwrap is, where this machine has one. A row fails if the whole 95 % confidence interval of their median lies more than
a tenth above its target. --before names an earlier build of Buckle: then default, open and a plain
profile must not be slower than with that one. Without it, $BENCH_BEFORE does. --write puts the tables
into docs/performance.md. The programs are those of build/bench, or of $BENCH_BUILD. --released names
the program that a release has, which people get; without it, $BENCH_RELEASED does.

The machine should be quiet. Beside other work use real-time priority (chrt -r 10).
"""

import importlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers  # noqa: E402
from measure import NOISE, Page, progress  # noqa: E402

import tap  # noqa: E402

cost = importlib.import_module("run-cost")

PAUSE = "20000"  # µs after each launch
TRUE = ["/bin/true"]
BWRAP = ["/usr/bin/bwrap", "--unshare-all", "--bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
OPEN = """(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath (param "CWD")) (subpath (param "TMPDIR")))
(deny network*)
"""


def masks(who):
    """The same stores that Buckle guards, where they exist."""
    words = []
    for store in who.stores:
        words += ["--tmpfs", store[1:]] if store[0] == "d" else ["--ro-bind", "/dev/null", store[1:]]
    return words


class Rows:
    """Ratios with their targets."""

    def __init__(self):
        self.rows = []

    def add(self, name, ratios, target):
        low, high = ratios.least(), ratios.most()
        shown = f"{ratios.median:.2f} ({low:.2f}–{high:.2f})"
        word = "PASS" if ratios.median <= target else "NEAR" if low <= target * (1 + NOISE) else "MISS"
        progress(f"{word}  {name}: {shown}, target at most {target:g}")
        tap.ok(low <= target * (1 + NOISE), f"{name}: at most {target:g}", shown)
        self.rows.append([name, f"{target:g}", shown, word])


def words_of(bench, argv):
    return shlex.join(argv).replace(bench.folder, "~")


def against_bwrap(bench, times, rows, page):
    who = peers.Peers(bench, bench.plain)
    masked = [*BWRAP, *masks(who), *TRUE]
    commands = {"bare": TRUE, "default": [bench.buckle, "run", "--", *TRUE], "bwrap": [*BWRAP, *TRUE], "masked": masked}
    took = bench.times(times, commands, PAUSE)
    rows.add(f"default × plain bwrap, as {bench.name}", took["default"].over(took["bwrap"]), 0.75)
    rows.add(f"default × a bwrap that masks the same {len(who.stores)} stores, as {bench.name}",
             took["default"].over(took["masked"]), 0.62)
    page.text(f"As {bench.name}, µs: " + ", ".join(f"{n} {t.show(unit=1e3)}" for n, t in took.items()) + ".")
    return words_of(bench, commands["bwrap"]), words_of(bench, masked)


def against_before(bench, times, rows, before):
    plain = os.path.join(bench.tools, "open.sb")
    with open(plain, "w", encoding="utf-8") as f:
        f.write(OPEN)
    os.chmod(plain, 0o644)
    programs = {"before": shutil.copy(before, bench.disk + "/before"), "buckle": bench.buckle}
    for name, words in {"default": [], "a plain profile": ["--profile", plain], "open": ["--profile", "open"]}.items():
        commands = {n: [p, "run", *words, "--", *TRUE] for n, p in programs.items()}
        for argv in commands.values():  # the first keep what the others use
            for _ in range(3):
                bench.call(*argv)
        took = bench.times(times, commands, PAUSE)
        rows.add(f"{name}, × before, as {bench.name}", took["buckle"].over(took["before"]), 1)


def warm(bench, program):
    """Puts the program on the disk, and lets it keep what later launches use: not of a home that has
    just been made."""
    bench.disk = tempfile.mkdtemp(prefix="buckle-bench-", dir="/var/tmp")
    os.chmod(bench.disk, 0o755)
    bench.buckle = shutil.copy(program or bench.tool("buckle"), bench.disk + "/buckle")
    time.sleep(2.1)
    for _ in range(3):
        bench.call(bench.buckle, "run", "--", *TRUE)


def main(argv):
    if not cost.MEMORY and os.geteuid() == 0:
        return cost.in_memory(argv, __file__)
    if not cost.MEMORY or not os.path.exists(BWRAP[0]):
        tap.skip("no tmpfs: set BENCH_MEMORY to a folder on one" if not cost.MEMORY else "no bwrap")
        return tap.done()
    before, released = (argv[argv.index(option) + 1] if option in argv else os.environ.get(variable)
                        for option, variable in (("--before", "BENCH_BEFORE"), ("--released", "BENCH_RELEASED")))
    times = 60 if "--quick" in argv else 201
    page, rows, seen = Page("launch"), Rows(), None
    page.text(f"{os.cpu_count()} cores, Linux {platform.release()}, {platform.machine()}; {times} pairs; "
              f"{'the released program' if released else 'as built by make'}.")
    people = {"an ordinary user": cost.ORDINARY, "root": 0} if os.geteuid() == 0 else {"an ordinary user": os.geteuid()}
    for name, uid in people.items():
        bench = cost.Bench(name, uid)
        try:
            warm(bench, released)
            lines = against_bwrap(bench, times, rows, page)
            seen = seen or lines
            if before:
                against_before(bench, times, rows, before)
        except (RuntimeError, OSError, subprocess.SubprocessError) as trouble:
            tap.ok(False, f"measuring as {name}", trouble)
        finally:
            bench.close()
            shutil.rmtree(bench.disk, ignore_errors=True)
    if "--write" in argv and tap.ok(seen is not None, "everything was measured that goes onto the page"):
        page.table("Launches", ["", "at most", "median of the pairs (95 % confidence)", ""], rows.rows)
        page.text("Plain bwrap, and the one that masks, as an ordinary user:", "", "```sh", *seen, "```")
        page.write()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
