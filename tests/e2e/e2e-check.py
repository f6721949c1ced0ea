#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buckle check: places, carets, hints, lint, JSON, exit statuses."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import buckle, write
from tap import done, equal, ok

CLEAN = """(version 1)
(deny default)
(allow file-read* (subpath "/usr"))
"""
BROKEN = """(version 1)
(deny default)
(allow file-raed* (subpath "/usr"))
(allow file-read* (subpth "/lib"))
(allow mach-lookup (subpath "/x"))
"""


def caret_points_at(report, line, text):
    """Whether the excerpt of this line is followed by a caret below the text."""
    lines = report.split("\n")
    for shown, marks in zip(lines, lines[1:]):
        if shown.lstrip().startswith(f"{line} | ") and text in shown:
            return marks.find("^") == shown.find(text)
    return False


def test_errors():
    write("broken.sb", BROKEN)
    r = buckle("check", "broken.sb")
    equal(r.status, 1, "errors: status 1")
    for line, text in [(3, "file-raed*"), (4, "subpth"), (5, "subpath")]:
        ok(f"broken.sb:{line}:" in r.out, f"the error in line {line} is reported", r)
    ok(caret_points_at(r.out, 3, "file-raed*"), "the caret stands below the wrong word", r)
    ok("file-read*" in r.out and "hint:" in r.out, "and a hint says what was meant", r)
    r = buckle("eval", "broken.sb", "file-read*", "/x")
    ok(r.status == 2 and "broken.sb:3:" in r.err and r.out == "", "eval tells them as well", r)
    r = buckle("check", "--json", "broken.sb")
    document = json.loads(r.out)
    equal((r.status, document["errors"] >= 2), (1, True), "--json counts errors")
    finding = document["files"][0]["findings"][0]
    equal((finding["level"], finding["file"], finding["line"]), ("error", "broken.sb", 3),
          "--json gives places")


def test_clean():
    write("clean.sb", CLEAN)
    r = buckle("check", "clean.sb")
    ok(r.status == 0 and r.out == "" and r.err == "", "silent when all is well", r)
    r = buckle("check", "--json", "clean.sb")
    equal((r.status, json.loads(r.out)),
          (0, {"files": [{"file": "clean.sb", "errors": 0, "warnings": 0, "notes": 0,
                          "findings": []}], "errors": 0, "warnings": 0}), "--json of a clean file")
    r = buckle("check", "-", stdin=CLEAN)
    ok(r.status == 0 and r.out == "", "standard input", r)


def test_several():
    r = buckle("check", "clean.sb", "broken.sb", "clean.sb")
    ok(r.status == 1 and "broken.sb:3:" in r.out, "several files: errors in one of them", r)
    r = buckle("check", "missing.sb", "broken.sb")
    ok(r.status == 2 and "missing.sb" in r.err and "broken.sb:3:" in r.out,
       "a missing file does not stop the others", r)
    r = buckle("check", "--json", "missing.sb", "broken.sb")
    equal([sorted(f) for f in json.loads(r.out)["files"]][0], ["file", "unreadable"],
          "--json tells of missing files")


def test_lint():
    write("lint.sb", """(version 1)
(deny default)
(allow default)
(allow file-read* (literal "/usr/bin/cc"))
(deny file-read* (subpath "/usr"))
(allow file-read* (subpath "relative/path"))
""")
    r = buckle("check", "lint.sb")
    equal(r.status, 0, "warnings alone: status 0")
    ok("lint.sb:2:1: warning:" in r.out, "a replaced rule", r)
    ok("lint.sb:4:1: warning:" in r.out, "a shadowed rule", r)
    ok("lint.sb:6:1: warning:" in r.out, "an impossible filter", r)
    ok("lint.sb:5" in r.out.partition("lint.sb:4:1:")[2], "and which rule decides in its place", r)
    places = [line.split(":")[1] for line in r.out.split("\n") if line.startswith("lint.sb:")]
    equal(places, sorted(places, key=int), "in the order of the text")
    equal(buckle("check", "--strict", "lint.sb").status, 1, "--strict: status 1")
    r = buckle("check", "--no-lint", "lint.sb")
    ok(r.status == 0 and r.out == "", "--no-lint", r)
    codes = [f["code"] for f in
             json.loads(buckle("check", "-j", "lint.sb").out)["files"][0]["findings"]]
    ok({"replaced-rule", "shadowed-rule", "impossible-filter"} <= set(codes),
       "--json names the kinds", codes)


def test_imported():
    """What the author of this file can change, and nothing else."""
    write("part.sb", """(version 1)
(deny file-read-data (literal "/x"))
(allow file-read-data (subpath "/x"))
""")
    write("whole.sb", """(version 1)
(deny default)
(import "part.sb")
(import "part.sb")
(deny file-read-data (subpath "/x"))
(for-each (lambda (name) (allow file-read-data (literal "/y"))) '("a" "b"))
""")
    r = buckle("check", "whole.sb")
    ok(r.status == 0 and r.out == "", "rules of imported files, and a rule that would be blamed for itself", r)
    ok("part.sb:2:1: warning:" in buckle("check", "part.sb").out, "their own author hears of it")
    write("own.sb", """(version 1)
(deny default)
(deny file-read-data (literal "/x"))
(import "part.sb")
""")
    ok("own.sb:3:1: warning:" in buckle("check", "own.sb").out, "a rule of this file that an imported one decides")


def test_linux():
    write("mac.sb", """(version 1)
(deny default)
(allow mach-lookup (global-name "com.example.a"))
(allow mach-lookup (global-name "com.example.b"))
(allow file-read* (subpath "/usr"))
(allow iokit-open (iokit-user-client-class "X"))
""")
    r = buckle("check", "--linux", "mac.sb")
    equal(r.status, 0, "--linux: notes are no errors")
    equal(r.out.count("mach-lookup has no counterpart"), 1, "--linux names an operation once")
    ok("mac.sb:3:1: note:" in r.out and "mac.sb:6:1: note:" in r.out, "with its place", r)
    ok("file-read" not in r.out.split("counterpart")[0], "and not those that Linux has", r)


def main():
    test_errors()
    test_clean()
    test_several()
    test_lint()
    test_imported()
    test_linux()
    return done()


if __name__ == "__main__":
    sys.exit(main())
