#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buckle graph: four formats, output files, what happens without Graphviz."""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import FOLDER, buckle, write
from tap import done, equal, ok, skip


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
        return f.read()


def main():
    write("p.sb", '(version 1)(deny default)(allow file-read* (subpath "/usr/marker"))\n')
    text = buckle("graph", "p.sb")
    ok(text.status == 0 and "/usr/marker" in text.out, "text is the default", text)
    equal(buckle("graph", "--format=text", "p.sb").out, text.out, "--format text")
    one = buckle("graph", "p.sb", "file-read-data")
    ok(one.status == 0 and "/usr/marker" in one.out and len(one.out) < len(text.out),
       "one operation is less than all", one)
    dot = buckle("graph", "--format", "dot", "p.sb")
    ok(dot.status == 0 and dot.out.lstrip().startswith("digraph"), "dot", dot)
    ok(isinstance(json.loads(buckle("graph", "--format=json", "p.sb").out), dict), "json")
    r = buckle("graph", "p.sb", "-o", "out.json")
    ok(r.status == 0 and r.out == "" and isinstance(json.loads(read("out.json")), dict),
       "the output's name chooses the format", r)
    r = buckle("graph", "p.sb", "-o", "no/such/folder")
    ok(r.status == 2 and "no/such/folder" in r.err, "an output that cannot be written", r)
    if shutil.which("dot"):
        r = buckle("graph", "--format", "svg", "p.sb", "file-read-data", timeout=60)
        ok(r.status == 0 and "<svg" in r.out and "/usr/marker" in r.out, "svg", r)
        r = buckle("graph", "p.sb", "file-read-data", "-o", "out.svg", timeout=60)
        ok(r.status == 0 and "<svg" in read("out.svg"), "svg into a file", r)
    else:
        skip("Graphviz is not installed")
    r = buckle("graph", "--format", "svg", "p.sb", env={"PATH": "/nonexistent"})
    ok(r.status == 2 and "graphviz" in r.err, "without Graphviz: the package is named", r)
    r = buckle("graph", "p.sb", "-o", "/dev/full")
    ok(r.status == 2 and "No space left" in r.err, "a full disk is an error", r)
    return done()


if __name__ == "__main__":
    sys.exit(main())
