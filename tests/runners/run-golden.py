#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares each tests/golden/NAME.sb with the graph beside it, NAME.graph; prints TAP.

    tests/runners/run-golden.py [--accept] [NAME…]

NAME.args, if it exists, has further arguments: an operation, options. --accept rewrites the graphs:
read the diff before you commit it. The program is $BUCKLE.
"""

import difflib
import os
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
BUCKLE = os.path.abspath(os.environ.get("BUCKLE", "buckle"))


def read(path, default=None):
    if default is not None and not os.path.exists(path):
        return default
    with open(path, encoding="utf-8") as f:
        return f.read()


def graph(name):
    """Sets cwd so that names in the graph do not depend on the path of the tree."""
    args = shlex.split(read(os.path.join(FOLDER, name + ".args"), ""))
    return subprocess.run([BUCKLE, "graph", "--format", "text", name + ".sb", *args], cwd=FOLDER,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                          text=True, errors="replace")


def main():
    names = [a for a in sys.argv[1:] if a != "--accept"]
    accept = "--accept" in sys.argv[1:]
    if not names:
        names = sorted(f[:-3] for f in os.listdir(FOLDER) if f.endswith(".sb"))
    for name in names:
        path = os.path.join(FOLDER, name + ".graph")
        done = graph(name)
        if done.returncode:
            tap.ok(False, f"{name}: exit status {done.returncode}", done.stdout)
            continue
        if accept:
            with open(path, "w", encoding="utf-8") as f:
                f.write(done.stdout)
        want = read(path, "")
        diff = difflib.unified_diff(want.splitlines(), done.stdout.splitlines(), "expected", "got",
                                    lineterm="")
        tap.ok(done.stdout == want, f"{name}: graph as expected", *diff)
    tap.ok(names, "there are golden files")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
