#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources with the checks in .clang-tidy; prints TAP. Takes minutes."""

import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, "build", "clang")  # clang-tidy wants clang's command lines


def findings(path):
    done = subprocess.run(["clang-tidy", "-p", BUILD, "--quiet", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, errors="replace")
    return path, [line for line in done.stdout.splitlines() if " error: " in line]


def main(argv):
    if not shutil.which("clang-tidy"):
        tap.skip("clang-tidy is not installed")
        return tap.done()
    sources = argv[1:] or sorted(glob.glob(os.path.join(TOP, "src", "**", "*.c"), recursive=True) +
                                 glob.glob(os.path.join(TOP, "cli", "**", "*.c"), recursive=True))
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for path, found in pool.map(findings, sources):
            tap.ok(not found, f"{os.path.relpath(path, TOP)} has no findings", *found)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
