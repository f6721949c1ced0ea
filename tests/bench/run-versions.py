#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches of several builds of Buckle in turn, each compared with the first: whether a change makes
launches slower.

    run-versions.py [--user ID] [--times N] OLD NEW... -- run /bin/true

Prints the first decile, the first quartile and the median, in ms and relative to the first program.
Beside other work, run it with real-time priority (chrt -r 10) and look at the decile.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time


def arguments():
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description="Launches of several builds in turn.")
    parser.add_argument("--user", type=int, help="run as this user (needs root)")
    parser.add_argument("--times", type=int, default=100, help="launches of each (default 100)")
    parser.add_argument("programs", nargs="+")
    given = parser.parse_args(words[:cut])
    given.programs = [os.path.abspath(p) for p in given.programs]
    given.words = words[cut + 1:] or ["run", "/bin/true"]
    return given


def measure(given, home):
    """Milliseconds of each launch, by program."""
    how = {"cwd": os.path.join(home, "work"), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if given.user is not None:
        how.update(user=given.user, group=given.user, extra_groups=[],
                   env={"PATH": os.environ["PATH"], "HOME": home, "XDG_RUNTIME_DIR": os.path.join(home, "run")})
    took = {p: [] for p in given.programs}
    for turn in range(given.times + 3):  # the first of them keep what the others use
        for program in given.programs:
            began = time.perf_counter()
            subprocess.run([program, *given.words], check=True, **how)
            if turn >= 3:
                took[program].append((time.perf_counter() - began) * 1e3)
    return took


def main():
    given = arguments()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        for name in ("", "work", "run"):
            path = os.path.join(home, name)
            os.makedirs(path, mode=0o700, exist_ok=True)
            if given.user is not None:
                os.chown(path, given.user, given.user)
        took = measure(given, home)
    first = sorted(took[given.programs[0]])
    for program in given.programs:
        times = sorted(took[program])
        columns = []
        for name, part in (("decile", 0.1), ("quartile", 0.25), ("median", 0.5)):
            at = int(len(times) * part)
            columns.append(f"{name} {times[at]:6.2f} ({times[at] / first[at]:.3f})")
        print(f"{program:40} {'  '.join(columns)}")


main()
