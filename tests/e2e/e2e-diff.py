#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buckle diff: proves equal profiles equal, and gives a witness for different ones, which `eval`
confirms; compares compiled samples with their sources ($BUCKLE_SHARED/blobs, or ../shared/blobs)."""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import buckle, write
from tap import done, equal, ok, skip

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.environ.get("BUCKLE_SHARED") or os.path.join(os.path.dirname(TOP), "shared")
HEAD = "(version 1)(deny default)"

EQUAL = [
    ('(allow file-read* (subpath "/a"))', '(allow file-read* (literal "/a") (prefix "/a/"))'),
    ('(allow file-read* (subpath "/a"))', '(allow file-read* (regex #"^/a(/|$)"))'),
    ('(allow file-read* (literal "/a") (literal "/b"))', '(allow file-read* (regex #"^/[ab]$"))'),
    ('(allow file-read* (subpath "/a"))(deny file-read* (subpath "/a/b"))',
     '(allow file-read* (require-all (subpath "/a") (require-not (subpath "/a/b"))))'),
    ('(allow file-read* (require-all (subpath "/a") (vnode-type DIRECTORY)))',
     '(allow file-read* (require-all (vnode-type DIRECTORY) (subpath "/a")))'),
    ('(allow signal (target self) (target others))', '(allow signal (target others) (target self))'),
    ('(allow file-read* (subpath "/a"))(allow file-read* (subpath "/a/b"))',
     '(allow file-read* (subpath "/a"))'),
    ('(allow network-outbound (remote tcp "*:80"))', '(allow network-outbound (remote tcp "*:80"))'),
    ('(allow file-read* (require-all (extension "x") (extension "y")))',
     '(allow file-read* (require-all (extension "y") (extension "x")))'),
]

# Each with the operation and, if there is only one shortest witness, that witness.
DIFFERENT = [
    ('(allow file-read* (subpath "/a"))', '(allow file-read* (prefix "/a"))', "file-read-data", None),
    ('(allow file-read* (literal "/a"))', '', "file-read-data", "/a"),
    ('(allow file-read* (regex #"^/a+$"))', '(allow file-read* (regex #"^/aa*b?$"))',
     "file-read-data", "/ab"),
    ('(allow file-read* (subpath "/"))', '(allow file-read*)', "file-read-data", None),
    ('(allow file-read-data (literal "/x"))', '(allow file-read* (literal "/x"))',
     "file-read-metadata", "/x"),
    ('(deny file-read* (with no-report) (literal "/x"))', '', "file-read-data", "/x"),
]


def pair(a, b):
    return write("a.sb", HEAD + a), write("b.sb", HEAD + b)


def check_equal():
    for a, b in EQUAL:
        for x, y in ((a, b), (b, a)):
            r = buckle("diff", *pair(x, y))
            ok(r.status == 0 and r.out == "", f"{x} is {y}", r)


def blocks(out):
    """operation → (facts, verdict of A, verdict of B)"""
    found = re.findall(r"^(\S+)(.*)\n  (\w+) .*\n  (\w+) .*$", out, re.MULTILINE)
    return {op: (facts.strip(), a, b) for op, facts, a, b in found}


def check_different():
    for a, b, op, witness in DIFFERENT:
        names = pair(a, b)
        r = buckle("diff", *names)
        reported = blocks(r.out)
        if not ok(r.status == 1 and op in reported, f"{a} is not {b or 'nothing'}", r):
            continue
        facts, *verdicts = reported[op]
        path = re.search(r'path="(.*?)"', facts)
        if witness:
            equal(path and path.group(1), witness, f"{a} and {b}: shortest witness")
        for name, verdict in zip(names, verdicts):
            asked = buckle("eval", name, op, *([path.group(1)] if path else []))
            ok(asked.out.split()[:1] == [verdict], f"eval says {verdict} as diff does", asked)
        equal(buckle("diff", "-q", *names).out, "", "--quiet prints nothing")


def check_counts():
    """How many operations differ, in singular and plural."""
    base = "(version 1)(deny default)"
    for rules, words in (("(allow process-fork)", "1 operation differs"),
                         ("(allow process-fork sysctl-write)", "2 operations differ")):
        r = buckle("diff", *pair(base + rules, base))
        ok(r.status == 1 and r.out.splitlines()[-1] == words, words, r)


def check_verdicts():
    """Modifiers and reporting count as well, unless --verdicts compares only allow and deny."""
    reported = '(deny file-read* (literal "/x"))(allow file-read* (subpath "/y"))'
    silent = reported.replace("(deny file-read* ", "(deny file-read* (with no-report) ")
    names = pair(reported, silent)
    r = buckle("diff", *names)
    ok(r.status == 1 and ", reported)" in r.out and ", not reported)" in r.out and "0x" not in r.out,
       "one reports, the other does not", r)
    r = buckle("diff", "--verdicts", *names)
    equal((r.status, r.out), (0, ""), "which is no other verdict")
    names = pair(reported, silent.replace('"/y"', '"/z"'))
    r = buckle("diff", "--verdicts", *names)
    facts, a, b = blocks(r.out).get("file-read-data", ("", "", ""))
    ok(r.status == 1 and {a, b} == {"allow", "deny"}, "another verdict is shown", r)
    path = re.search(r'path="(.*?)"', facts).group(1)
    equal([buckle("eval", name, "file-read-data", path).out.split()[0] for name in names], [a, b],
          "and eval bears it out")


def check_errors():
    a, _ = pair("", "")
    equal(buckle("diff", a).status, 2, "one profile is not enough")
    equal(buckle("diff", a, "missing.sb").status, 2, "a profile that is not there")
    equal(buckle("diff", a, write("bad.sb", "(version 1)(nonsense)")).status, 2, "a bad profile")
    equal(buckle("diff", a, write("bad.bin", b"\0\0\6\0\xbe" + bytes(20))).status, 2, "a bad blob")


def check_samples():
    samples = sorted(glob.glob(os.path.join(SHARED, "blobs", "*", "*.sb")))
    if not samples:
        skip("the compiled samples are not here (set BUCKLE_SHARED)")
        return
    for source in samples:
        name = os.path.basename(source)[:-3]
        r = buckle("diff", source, source + ".bin")
        ok(r.status == 0 and r.out == "", f"{name} is its source", r)


def main():
    check_equal()
    check_different()
    check_counts()
    check_verdicts()
    check_errors()
    check_samples()
    return done()


if __name__ == "__main__":
    sys.exit(main())
