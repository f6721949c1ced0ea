#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buckle diff: proves equal profiles equal, and gives a witness for different ones, which `eval`
confirms; compares compiled samples with their sources ($BUCKLE_SHARED/blobs, or ../shared/blobs)."""

import glob
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import FOLDER, buckle, write
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


# ---- policies with too many kinds of paths to try them all ----

PLACES = ["-D", "CWD=/w", "-D", "HOME=/h", "-D", "TMPDIR=/t"]
MANY = "".join(f'(deny file-write* (regex #"/n{i:02}/.*x{i:02}"))' for i in range(24))


def timed(*argv):
    r = buckle("diff", *argv, timeout=60)
    ok(r.seconds < 5, f"{' '.join(argv)[-60:]}: {r.seconds:.1f} s of 5", r)
    return r


def check_large():
    r = timed("default", "strict")
    ok(r.status == 1 and "undecided" not in r.out and "file-write* " in r.out,
       "default and strict: each operation is decided", r)
    for rules, status in [
        ('(deny file-write* (subpath "/nowhere"))', 0),
        ('(deny file-write* (require-all (subpath "/nowhere") (regex #"/a[0-9]*b")))', 0),
        ('(allow file-write* (literal "/nowhere/x"))', 1),
        ('(deny file-read-data (regex #"^/h/foo.*bar$"))', 1),
        ('(deny file-write* (require-all (subpath "/w") (regex #"zz[0-9]+q$")))', 1),
    ]:
        more = write("more.sb", '(version 1)(import "default.sb")' + rules)
        r = timed("--verdicts", *PLACES, "default", more)
        ok(r.status == status and "undecided" not in r.out, f"default and {rules}: {status}", r)
    for a, b, status in [("^/([ab]*)$", "^/(a|b)*$", 0), ("^/([ab]*)$", "^/([abc]*)$", 1),
                         ("^/[ab]*$", "^/(a|b|ba)*$", 0), ("^/a(b|c)$", "^/a[bd]$", 1)]:
        names = pair(f'(allow file-write* (regex #"{a}")){MANY}', f'(allow file-write* (regex #"{b}")){MANY}')
        r = timed(*names)
        ok(r.status == status, f"{a} and {b} among many names: {status}", r)
        if status:
            facts, one, other = blocks(r.out)["file-write-data"]
            path = re.search(r'path="(.*?)"', facts).group(1)
            equal([buckle("eval", n, "file-write-data", path).out.split()[0] for n in names], [one, other],
                  "its witness is one")


def random_rules(rng):
    tests = ['(literal "/a")', '(literal "/a/b")', '(subpath "/a")', '(subpath "/a/b")', '(prefix "/a")',
             '(regex #"b$")', '(regex #"^/a.*c$")', '(regex #"/b/")', '(regex #"[bc]+")', '(subpath "/c")',
             '(vnode-type DIRECTORY)', '(extension "e")', '(subpath "/")', '(regex #"^/[ab/]*$")']
    rules = ""
    for _ in range(rng.randrange(1, 6)):
        some = rng.sample(tests, rng.randrange(1, 4))
        how = rng.choice(["require-all", "require-any"])
        if rng.random() < 0.3:
            some[-1] = f"(require-not {some[-1]})"
        rules += f"({rng.choice(['allow', 'deny'])} file-read-data ({how} {' '.join(some)}))"
    return rules


def check_random():
    """What is called equal is equal for many paths; what is called different has a witness."""
    rng = random.Random(7)
    paths = ["/", "/a", "/b", "/c"] + [f"/{x}{m}{y}" for x in "abc" for y in ("b", "c", "x", "b/c") for m in "/bx"]
    rows = "".join(f"file-read-data {p}{kind}{e}\n" for p in paths for kind in ("", " vnode-type=DIRECTORY")
                   for e in ("", " extension=e"))
    wrong = []
    for i in range(40):
        first = random_rules(rng)
        names = pair(first, random_rules(rng) if i % 2 else first + random_rules(rng))
        r = buckle("diff", "--verdicts", *names)
        answers = [[line.split()[0] for line in buckle("eval", "--batch", n, stdin=rows).out.splitlines()] for n in names]
        if r.status == 2 or (r.status == 0 and answers[0] != answers[1]):
            wrong.append((i, r.status, open(os.path.join(FOLDER, "a.sb")).read(), open(os.path.join(FOLDER, "b.sb")).read()))
    equal(wrong, [], "what is called equal is so for many paths, and all is decided")


def check_errors():
    a, _ = pair("", "")
    equal(buckle("diff", a).status, 2, "one profile is not enough")
    equal(buckle("diff", a, "missing.sb").status, 2, "a profile that is not there")
    equal(buckle("diff", a, write("bad.sb", "(version 1)(nonsense)")).status, 2, "a bad profile")
    equal(buckle("diff", a, write("bad.bin", b"\0\0\6\0\xbe" + bytes(20))).status, 2, "a bad blob")


def check_samples():
    samples = sorted(glob.glob(os.path.join(SHARED, "blobs", "*", "*.sb")) +
                     glob.glob(os.path.join(SHARED, "blobs", "new", "*", "*.sb")))
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
    check_large()
    check_random()
    check_errors()
    check_samples()
    return done()


if __name__ == "__main__":
    sys.exit(main())
