#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast and how completely denials are reported, and what an agent's hook costs; prints TAP.

    tests/bench/run-events.py [--quick] [--write] [hook]

The figures are bench-events' (events.c). --write puts the table into docs/performance.md; --quick
repeats less; hook measures only what the hook adds. The programs are those of build/bench, or of $BENCH_BUILD.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from measure import TOP, Page, Spread, Targets, progress  # noqa: E402

import tap  # noqa: E402

BUILD = os.environ.get("BENCH_BUILD", os.path.join(TOP, "build", "bench"))
EVENTS = os.path.join(BUILD, "tests", "bench", "bench-events")
BUCKLE = os.path.join(BUILD, "buckle")
WANTED = 100000  # events a second that the store has to take
THREADS = 4


def numbers(*words):
    """Runs bench-events from a writable folder against one that is not."""
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as denied:
        words = [denied if w == "DENIED" else str(w) for w in words]
        r = subprocess.run([EVENTS, *words], cwd=work, capture_output=True, text=True, timeout=300,
                           check=False)
    if r.returncode != 0:
        raise RuntimeError(f"bench-events {words[0]}: {r.stderr}")
    return [[int(n) for n in line.split()] for line in r.stdout.splitlines()]


def bench_latency(n, page, targets):
    took = Spread([row[0] / 1000 for row in numbers("latency", BUCKLE, "DENIED", n)])
    tap.ok(len(took.samples) == n, f"each of {n} denied calls was heard of", len(took.samples))
    targets.judge("µs from the denied call to the subscriber", took, 1000, 1000, digits=0)
    page.append([f"from a denied call to the subscriber, µs, of {n:,}", took.show()])


def bench_flood(times, n, page):
    rates = []
    for _ in range(times):
        took, counted, kept = numbers("flood", BUCKLE, "DENIED", n)[0]
        tap.ok((counted, kept) == (n, 100), f"of {n} at once all are counted, the newest 100 kept",
               counted, kept)
        rates.append(n / took * 1e9)
    rates = Spread(rates)
    progress(f"a command that is denied {n:,} calls in a row: {rates.show()} a second")
    page.append([f"denied calls a second, of a command that makes {n:,} in a row, all counted",
                 rates.show()])


def bench_store(times, n, page):
    rates = []
    for _ in range(times):
        took, counted, kept, calls = numbers("store", THREADS, n)[0]
        tap.ok((counted, kept, calls) == (n * THREADS, 100, n * THREADS + 1),
               "the store counts all, keeps the newest 100 and calls once for each", counted, kept, calls)
        rates.append(n * THREADS / took * 1e9)
    rates = Spread(rates)
    tap.ok(rates.median >= WANTED, f"at least {WANTED:,} a second", rates.show())
    progress(f"the store takes {rates.show()} events a second from {THREADS} threads")
    page.append([f"events a second into the store, from {THREADS} threads, with a subscriber",
                 rates.show()])


def seconds(argv, work, message=""):
    began = time.perf_counter()
    r = subprocess.run(argv, cwd=work, input=message, capture_output=True, text=True, timeout=60, check=True)
    return time.perf_counter() - began, r.stdout


def bench_hook(n, page, targets):
    """A command through the hook, from the message to the end of what it answers, and the same by `buckle run`."""
    with tempfile.TemporaryDirectory() as work:
        message = json.dumps({"hook_event_name": "PreToolUse", "session_id": "one", "cwd": work, "tool_name": "Bash",
                              "permission_mode": "default", "tool_input": {"command": "true"}})
        plain = [BUCKLE, "run", "--annotate", "--watch-net", "--", "bash", "-c", "true"]
        seconds([BUCKLE, "hook"], work, message)  # starts the session
        added, ratios = [], []
        for _ in range(n):
            asked, answer = seconds([BUCKLE, "hook"], work, message)
            wrapped = json.loads(answer)["hookSpecificOutput"]["updatedInput"]["command"]
            ran, bare = seconds(shlex.split(wrapped), work)[0], seconds(plain, work)[0]
            added.append((asked + ran - bare) * 1000)
            ratios.append((asked + ran) / bare)
    targets.judge("ms that the hook adds to `buckle run`", Spread(added), 3, 6)
    page.append([f"a command through the hook, ms more than `buckle run`, of {n}", Spread(added).show(digits=1)])
    page.append(["the same as a ratio", Spread(ratios).show(digits=2)])


def main(argv):
    quick, rows, targets, page = "--quick" in argv, [], Targets(), Page("events")
    if "hook" not in argv:
        bench_latency(300 if quick else 2000, rows, targets)
        bench_flood(3 if quick else 7, 10000 if quick else 50000, rows)
        bench_store(3 if quick else 7, 100000, rows)
    bench_hook(60 if quick else 300, rows, targets)
    if "--write" in argv:
        page.text(f"{os.cpu_count()} cores, Linux {os.uname().release}, load {os.getloadavg()[0]:.0f}"
                  + ("; few repetitions (--quick)" if quick else "") + ".")
        page.table("Events", ["", "median (deciles)"], rows)
        page.write()
    return tap.done()


if __name__ == "__main__":
    main(sys.argv[1:])
