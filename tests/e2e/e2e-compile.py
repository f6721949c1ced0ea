#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buckle compile: reproduces samples byte for byte. Every real profile, compiled and decompiled, stays
equivalent and compiles to the same bytes again. Samples and profiles are outside this tree
($BUCKLE_SHARED, or ../shared).

e2e-compile.py --table prints the table of docs/formats.md.
"""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from corpus import CORPUS, SHARED, TOP, files, profiles
from drive import FOLDER, buckle, write
from tap import done, equal, ok, skip

REPRODUCED = 34  # never fewer
TABLE = re.compile(r"^\| samples \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)


def read(name):
    with open(os.path.join(FOLDER, name), "rb") as f:
        return f.read()


# ---- samples ----


def reason(source, ours, theirs):
    """Why a sample is not reproduced: the difference of the graphs, else of the bytes."""
    reported = re.findall(r"^(\S+) (\S+?)=.*$", buckle("diff", source, source + ".bin").out,
                      re.MULTILINE)
    if reported:
        return "the compiler adds a rule: " + ", ".join(f"{op} ({what})" for op, what in reported)
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), len(ours))
    return f"the same graph, first different at 0x{at:x}"


def samples():
    """[(name, None or why not)]"""
    found = []
    for source in sorted(glob.glob(os.path.join(SHARED, "blobs", "*", "*.sb"))):
        folder = os.path.basename(os.path.dirname(source))
        r = buckle("compile", "--os", folder.split("-")[1], source, "-o", "sample.bin")
        with open(source + ".bin", "rb") as f:
            theirs = f.read()
        ours = read("sample.bin") if r.status == 0 else b""
        why = None if ours == theirs else r.err.strip() or reason(source, ours, theirs)
        found.append((f"{folder}/{os.path.basename(source)[:-3]}", why))
    return found


def table(found):
    rows = []
    for folder in sorted({name.split("/")[0] for name, _ in found}):
        whys = [(name, why) for name, why in found if name.split("/")[0] == folder]
        same = sum(why is None for _, why in whys)
        others = "; ".join(f"`{name}`: {why}" for name, why in whys if why)
        rows.append(f"| {folder} | {same} of {len(whys)} | {others or 'none'} |")
    return "\n".join(["| samples | the same, byte for byte | not the same, and why |", "|---|---|---|",
                      *rows])


def check_fixed_points():
    """A compiled sample, decoded and written again."""
    for blob in sorted(glob.glob(os.path.join(SHARED, "blobs", "*", "*.bin"))):
        version = os.path.basename(os.path.dirname(blob)).split("-")[1]
        r = buckle("compile", "--os", version, blob, "-o", "sample.bin")
        with open(blob, "rb") as f:
            theirs = f.read()
        ok(r.status == 0 and read("sample.bin") == theirs,
           f"{os.path.basename(blob)}: decoding and writing it gives its bytes", r)


def check_samples():
    found = samples()
    same = sum(why is None for _, why in found)
    ok(same >= REPRODUCED, f"{same} of {len(found)} samples are reproduced",
       [f"{name}: {why}" for name, why in found if why])
    for name, why in found:
        ok(why is None or "different at" not in why, f"{name}: {why or 'the same bytes'}")
    with open(os.path.join(TOP, "docs", "formats.md"), encoding="utf-8") as f:
        printed = TABLE.search(f.read())
    equal(printed and printed.group(0), table(found), "docs/formats.md says so (--table prints it)")


# Later pairs that differ, and why (docs/formats.md).
NOT_SAME = {
    "deny_except_tmp": "a literal is asked before a subpath that excludes it",
    "net_outbound_allow": "the order of alternatives in a pattern",
    "struct_nested": "the order of alternatives in a pattern",
}


def check_later_samples():
    sources = sorted(glob.glob(os.path.join(SHARED, "blobs", "new", "macos-14.4.1", "*.sb")))
    for source in sources:
        name = os.path.basename(source)[:-3]
        r = buckle("compile", "--os", "14.4.1", source, "-o", "sample.bin")
        with open(source + ".bin", "rb") as f:
            same = r.status == 0 and read("sample.bin") == f.read()
        ok(same == (name not in NOT_SAME), f"{name}: {NOT_SAME.get(name, 'the same bytes')}", r)


def nodes_of(rule):
    """The tests of a profile with this rule, in the order of the file."""
    r = buckle("compile", "--os", "14.4.1", write("order.sb", "(version 1)(deny default)" + rule), "-o", "order.bin")
    ok(r.status == 0, f"{rule}: compiled", r)
    found = re.findall(r"^  0x\w+  00\w\w \w{4} \w{4} \w{4}  \d+  (.*)  yes", buckle("disasm", "order.bin").out, re.M)
    return [test for test in found if "(target self)" not in test]


def check_order():
    """What Apple's compiler does where the order is free."""
    for rule, nodes in (
            ('(allow file-read* (require-all (subpath "/x") (vnode-type DIRECTORY)))',
             ["(vnode-type DIRECTORY)", '(subpath "/x")']),
            ('(allow file-read* (require-all (require-any (subpath "/x") (regex #"y")) (vnode-type DIRECTORY SYMLINK)))',
             ["(vnode-type DIRECTORY)", "(vnode-type SYMLINK)", '(subpath "/x")', '(regex #"y")']),
            ('(allow file-read* (require-all (subpath "/x") (extension "e")))', ['(subpath "/x")', '(extension "e")']),
            ("(allow system-socket (socket-domain 2))(allow system-socket (socket-domain 30))",
             ["(socket-domain AF_INET)", "(socket-domain AF_INET6)"]),
            ("(allow system-fcntl (fcntl-command 0))(allow system-fcntl (fcntl-command 1024))(deny system-fcntl)",
             ["(fcntl-command F_DUPFD)", "(fcntl-command 1024)"]),
            ('(allow file-read* (regex #"^/dev/") (regex #"^/a\\.b$"))',
             ['(require-any (literal "/a.b") (prefix "/dev/"))']),  # one pattern, the shorter string first
            ('(allow file-read* (regex #"^/a.b$"))', ['(regex #"^/a.b$")'])):
        equal(nodes_of(rule), nodes, f"{rule}: in this order")


# ---- real profiles ----

# What cannot be compiled, by a part of the message: missing in the version, or unknown encoding.
LACKING = {
    "webkit/com.apple.WebKit.GPUProcess.sb": "process-codesigning-status* does not exist",
    "webkit/com.apple.WebKit.webpushd.mac.sb": "process-codesigning-status* does not exist",
    "webkit/com.apple.WebKit.webpushd.relocatable.mac.sb":
        "process-codesigning-status* does not exist",
    "webkit/com.apple.WebProcess.sb": "process-codesigning-status* does not exist",
    "chromium/renderer.sb": "(with send-signal …)",
}


def whole(argv):
    """Arguments for diff, which takes no prelude: one file with both."""
    *options, path = argv
    if "--prelude" not in options:
        return [*options, path]
    at = options.index("--prelude")
    text = ""
    for part in (options[at + 1], path):
        with open(part, encoding="utf-8") as f:
            text += f.read() + "\n"
    return [*options[:at], write("both.sb", text)]


def by_text(name, era):
    """Decompiles a.bin and compiles the text again."""
    r = buckle("decompile", "--verify", "a.bin")
    if not ok(r.status == 0, f"{name}: decompiled", r):
        return
    r = buckle("compile", "--era", era, write("again.sb", r.out), "-o", "c.bin")
    ok(r.status == 0, f"{name}: what was decompiled is compiled", r)
    r = buckle("diff", "c.bin", "a.bin")
    ok(r.status == 0, f"{name}: by way of its text it decides alike", r)


def round_trip(name, argv, era="E"):
    r = buckle("compile", "--era", era, *argv, "-o", "a.bin")
    if name in LACKING:
        ok(r.status == 2 and LACKING[name] in r.err, f"{name}: {LACKING[name]}", r)
        return
    if not ok(r.status == 0, f"{name} is compiled", r):
        return
    first = read("a.bin")
    fold = ["--fold-case"] if era == "E" else []
    r = buckle("diff", *fold, *whole(argv), "a.bin")
    ok(r.status == 0, f"{name}: decoding gives the profile back", r)
    r = buckle("compile", "--era", era, "a.bin", "-o", "b.bin")
    ok(r.status == 0 and read("b.bin") == first, f"{name}: compiling that gives the same bytes", r)
    by_text(name, era)


def check_corpus():
    found = profiles()
    # files that are deliberately not complete profiles; all of safehouse's include its first
    broken = {"fixtures/Fixtures/invalid/unknown_char.sb", "fixtures/examples/invalid-profile.sb",
              "fixtures/Fixtures/invalid/unterminated_string.sb",
              "fixtures/examples/partial-errors.sb"}
    every = {os.path.relpath(path, CORPUS) for path in files("**/*.sb")}
    equal(every - {name for name, _ in found}, broken | {"safehouse/00-base.sb"},
          f"{len(found)} profiles: every file of the corpus")
    for name, argv in found:
        round_trip(name, argv)


# ---- everything that can be written ----

HEAD = "(version 1)(deny default)"
RULES = [
    '(allow file-read* (literal "/a") (literal "/a/b") (subpath "/a/b/c") (prefix "/ab"))',
    '(allow file-read* (subpath "/a") (literal "/ab") (literal "/abc") (subpath "/abcd"))',
    '(allow file-read* (subpath "/"))',
    '(allow mach-lookup (xpc-service-name-prefix ""))',
    '(allow file-read* (literal ""))',
    '(allow file-read* (literal "%s"))' % ("/" + "long" * 16),
    '(allow file-read* (literal "%s") (literal "/x"))' % ("/" + "longer" * 80),
    '(allow file-read* %s)' % " ".join(f'(literal "/many/{i:03}/x")' for i in range(300)),
    '(allow file-read* %s)' % " ".join(f'(subpath "{"/d" * i}")' for i in range(300, 1, -1)),
    '(allow file-read* (regex #"^/(a|bc|d+e?|[x-z]{2,4})*$" #"/[^/]+/c" #"[0-9]"))',
    '(allow file-read* (regex #"[^a-cx]" #"^[]$" #"a{3}" #"(a*)*b" #"^[^.]*[.]$" #"^"))',
    '(allow mach-lookup (global-name-prefix "com.apple.") (global-name "x") (local-name "Y"))',
    '(allow network-outbound (remote tcp "*:80") (remote ip "localhost:*") (remote udp4 "*:*"))',
    '(allow network-outbound (remote unix-socket (path-literal "/s")))',
    '(allow file-read* (require-all (extension "e") (vnode-type DIRECTORY) (file-mode #o0004)))',
    '(allow file-read* (require-not (literal "/x")))(deny file-read-data (literal "/y"))',
    '(deny file-write* (with message "why not") (literal "/x"))(allow file-write* (with report))',
    '(allow signal (target others) (target children))(deny signal (with no-report) (target pgrp))',
    '(deny system-fcntl (fcntl-command 3) (fcntl-command 200))',
    '(allow syscall-unix (syscall-number SYS_open) (syscall-number 400))(deny syscall-unix)',
    '(allow process-info* (require-all (target self) (process-attribute is-plugin)))',
    '(allow device-camera (require-entitlement "k"))(allow process-fork (%entitlement-is-present "k"))',
    '(allow mach-lookup (require-entitlement "k" (entitlement-value "a" "b")) (global-name "n"))',
    '(allow mach-lookup (require-entitlement "k" (entitlement-value-regex #"^a.*b$")))',
    '(allow mach-lookup (require-entitlement "j" (entitlement-value-prefix "a")) '
    '(require-entitlement "k" (entitlement-value "a")))',
    '(allow process-fork (require-all (%entitlement-is-present "j") (require-entitlement "k")))',
    '(allow process-fork (require-all (require-entitlement "j" (entitlement-value #f)) '
    '(require-not (require-entitlement "k" (entitlement-value "a")))))',
    '(allow (with no-profile) process-exec (literal "/x"))(deny time-set)(deny system-misc)',
    '(define-storage-class "c" (subpath "/x"))',
]


def check_forms():
    for i, rule in enumerate(RULES):
        round_trip(rule[:90], [write(f"form{i}.sb", HEAD + rule)])
    for i, rule in enumerate(RULES_A):
        round_trip("era A: " + rule[:90], [write(f"old{i}.sb", HEAD + rule)], "A")
    every = "".join(r for r in RULES if "many" not in r and '"/d' not in r)
    round_trip("all of these", [write("forms.sb", HEAD + every)])


RULES_A = [
    '(allow file-read-data (literal "/A.b") (subpath "/tmp/x") (prefix "/ab") (subpath "/"))',
    '(allow file-read-data (regex #"^/(a|bc|d+e?|[x-z]{2,4})*$" #"/[^/]+/c" #"[0-9]" #"[^a-cx]"))',
    '(allow file-write* (literal ""))(deny file-write-data (require-not (literal "/x$(y)")))',
    '(allow mach-lookup (global-name "x") (local-name-prefix "Y"))(allow signal (target others))',
    '(allow file-read-xattr (require-all (file-mode #o0004) (xattr "a")))',
    '(allow file-read-data %s)' % " ".join(f'(literal "/many/{i:03}/x")' for i in range(100)),
]

REFUSED = [
    ('(allow network-outbound (remote tcp "10.0.0.0/8:80"))', "14.4.1", "addresses"),
    ('(allow network-outbound (remote tcp "*:80-90"))', "14.4.1", "ranges"),
    ('(deny signal (with send-signal SIGKILL))', "14.4.1", "(with send-signal …)"),
    ('(allow network-outbound (uid 0))', "ios4", "filter uid"),
    ('(allow process-codesigning-status*)', "14.4.1",
     "operation process-codesigning-status* does not exist in macOS 14.4.1"),
    ('(allow nvram-get)', "ios4", "operation nvram-get does not exist in iOS 4"),
    ('(allow network-outbound)', "10.6", "operation network-outbound"),
    ('(allow file-read-data (regex #"^/%s$"))' % ("(a|b)" * 3000), "14.4.1", "too large"),
]


def check_refused():
    for rule, version, words in REFUSED:
        r = buckle("compile", "--os", version, write("no.sb", HEAD + rule), "-o", "no.bin")
        ok(r.status == 2 and words in r.err, f"{rule[:70]} for {version}: {words}", r)
    for argv, words in [
        (["p.sb"], "no output file given"), (["-o", "x"], "no profile given"),
        (["p.sb", "-o", "x", "--era", "B"], "--era must be A or E"),
        (["p.sb", "-o", "x", "--os", "13.0"], "known: 14.4.1"),
        (["p.sb", "-o", "x", "--os", "ios4", "--era", "E"], "does not use era E"),
        (["p.sb", "-o", "no/such/folder/x"], "No such file"),
    ]:
        write("p.sb", HEAD)
        r = buckle("compile", *argv)
        ok(r.status == 2 and words in r.err, f"compile {' '.join(argv)}: {words}", r)


def check_output():
    r = buckle("compile", "-p", HEAD, "-o", "-")
    buckle("compile", "-p", HEAD, "-o", "same.bin")
    equal(r.raw, read("same.bin"), "-o - writes to standard output")
    a = buckle("compile", "-p", HEAD, "--era", "E", "-o", "-").raw
    equal(a, r.raw, "era E is what is written unless another is asked for")
    buckle("compile", "-p", HEAD, "--era", "A", "-o", "old.bin")
    r = buckle("disasm", "old.bin")
    ok("era A" in r.out and " op-" not in r.out, "era A is written with names that are known", r)


def main():
    if "--table" in sys.argv[1:]:
        print(table(samples()))
        return 0
    check_forms()
    check_refused()
    check_output()
    check_order()
    if os.path.isdir(CORPUS):
        check_samples()
        check_fixed_points()
        check_later_samples()
        check_corpus()
    else:
        skip("real profiles and compiled samples are not here (set BUCKLE_SHARED)")
    return done()


if __name__ == "__main__":
    sys.exit(main())
