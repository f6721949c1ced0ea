#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiled profiles and bundles of iOS 6 to 13 and collections of macOS 14: the tests' own encoder
(tests/lib/bundles.py) writes them, the program reads them, and both must be equal. Real profiles are
outside this tree ($BUCKLE_SHARED/corpus, or ../shared/corpus)."""

import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import bundles
from corpus import CORPUS, profiles
from drive import buckle, write
from tap import done, equal, ok, skip

HEAD = "(version 1)(deny default)"
TEXTS = {
    "strings": '(allow file-read* (literal "/A b") (subpath "/c") (prefix "/d") (subpath "/"))'
               '(allow mach-lookup (global-name "com.apple.X") (global-name-prefix "p."))',
    "regexes": '(allow file-read* (regex #"^/(a|bc|d+e?|[x-z]{2,4})*$" #"/[^/.]+/c" #"[0-9]")'
               ' (regex #"[^a-cx]") (regex #"^a.c$"))',
    "numbers": '(allow signal (target others))(allow file-read* (file-mode #o0004)'
               ' (vnode-type DIRECTORY))(deny file-write* (with no-report) (device-major 3))',
    "network": '(allow network-outbound (remote tcp "*:80") (remote udp "localhost:*"))'
               '(allow network-inbound (local ip4 "localhost:1"))',
    "names": '(allow file-read* (require-all (extension "x") (require-not (literal "/y"))))'
             '(allow mach-lookup (%entitlement-is-present "e"))',
    "long": '(allow file-read* (literal "%s"))' % ("/long" * 60),
}
ERAS = ["B", "C", "C12", "D", "E"]


def graph(*argv):
    return json.loads(buckle("graph", "--format", "json", *argv).out)


def fold(era):
    return ["--fold-case"] if era == "E" else []


def check_made():
    made = {name: write(f"{name}.sb", HEAD + text) for name, text in TEXTS.items()}
    graphs = {name: graph(path) for name, path in made.items()}
    for era in ERAS:
        letter = era[0]
        data = bundles.bundle(era, list(graphs.items()))
        path = write(f"{era}.bin", data)
        r = buckle("disasm", "--list", path)
        equal(r.out.split(), list(made), f"{era}: profiles are listed")
        r = buckle("disasm", path)
        ok(r.status == 0 and f"era {letter} " in r.out and "strings" in r.out,
           f"{era}: recognised by its bytes", r.err or r.out[:300])
        for name, source in made.items():
            r = buckle("diff", *fold(era), source, f"{path}:{name}")
            ok(r.status == 0, f"{era}: {name} in a bundle is its source", r)
            alone = write("alone.bin", bundles.single(era, graphs[name]))
            forced = ["--era", letter] if era == "D" else []
            r = buckle("diff", *fold(era), *forced, source, alone)
            ok(r.status == 0, f"{era}: {name} alone is its source", r)
        r = buckle("diff", *fold(era), made["names"], f"{path}:strings")
        equal(r.status, 1, f"{era}: another profile is another")
        check_choice(era, path)


def check_choice(era, path):
    asked = ["file-read-data", "/c/d"]
    equal(buckle("eval", path + ":strings", *asked).out.split()[:1], ["allow"], f"{era}: FILE:NAME")
    equal(buckle("eval", "--name", "numbers", path, *asked).out.split()[:1], ["deny"],
          f"{era}: --name")
    for argv, words in [
        (["eval", path, *asked], "which one?"),
        (["eval", path + ":nobody", *asked], "none of its 6 profiles is called nobody"),
        (["disasm", path + ":nobody"], "nobody"),
        (["eval", "--era", "A", path + ":strings", *asked], "offset"),
        (["eval", "--era", "Z", path + ":strings", *asked], "eras are A, B, C, D and E"),
        (["eval", "strings.sb", "--name", "x", *asked], "is a text"),
    ]:
        r = buckle(*argv)
        ok(r.status == 2 and words in r.err, f"{era}: {' '.join(argv[:3])}: {words}", r)
    for command in (["explain", path + ":strings", *asked], ["graph", path + ":strings"],
                    ["check", path + ":strings"], ["disasm", path + ":strings"]):
        r = buckle(*command)
        ok(r.status in (0, 1) and not r.err, f"{era}: {command[0]} takes it", r)
    name = bundles.OS[era]
    r = buckle("disasm", path)
    ok(r.out.split("\n")[0].endswith(f" operations, named as in {name}"), f"{era}: whose names", r)
    r = buckle("decompile", path + ":strings")
    ok(f"operations, named as in {name}." in r.out.split("\n")[0], f"{era}: decompile says it", r)
    equal(buckle("eval", "--os", name, path + ":strings", *asked).status, 0, f"{era}: --os {name}")
    r = buckle("eval", "--os", "ios4", path + ":strings", *asked)
    ok(r.status == 2 and "offset 0x" in r.err and "ios4 has 73" in r.err, f"{era}: not of iOS 4", r)
    r = buckle("compile", path + ":network", "-o", "again.bin")
    ok(r.status == 0, f"{era}: a profile of it is compiled for macOS 14", r)


def check_twins():
    """iOS 13.0 and macOS 10.15 have equally many, but different operations; --os chooses."""
    def named(r):
        return re.search(r"named as in (\S+)", r.out).group(1)
    equal(named(buckle("disasm", "D.bin")), "ios13.0", "what iOS compiled has iOS's names")
    equal(named(buckle("disasm", "--os", "10.15", "D.bin")), "10.15", "unless it is said otherwise")


def check_words():
    """Unsupported contents: variables in patterns, unknown flags and words."""
    g = graph("-p", HEAD + '(allow file-read* (literal "/x"))')
    w = bundles.Writer("D")
    w.add("p", g)
    known = w.counted(bundles.pattern("literal", b"/x"))
    w.records[known] = struct.pack("<H", 10) + b"\x10\x0f\x42/x/\x0f\x00\x0f\x0a"
    path = write("variable.bin", w.write_new())
    r = buckle("disasm", path)
    ok('(literal "${HOME}/x/")' in r.out, "a variable stands by its name", r)
    w = bundles.Writer("D")
    w.add("p", g)
    w.node(("decision", 5))
    data = bytearray(w.write_new())
    at = data.index(bytes([1, 5, 0, 0, 0, 0, 0, 0]))
    data[at + 3] = 7
    r = buckle("explain", write("flags.bin", bytes(data)) + ":p", "default")
    ok(r.status == 2 and f"offset {at + 3:#x}: byte 0x07" in r.err, "a byte of a decision that nobody knows is an error", r)
    data[at + 3] = 0
    data[at + 6] = 7  # bytes 4 to 7 are a message's number
    r = buckle("explain", write("message.bin", bytes(data)) + ":p", "default")
    ok(r.status == 2 and f"offset {at + 4:#x}: no message" in r.err, "a message that is not there is an error", r)


def check_corpus():
    found = [(name, argv, graph(*argv)) for name, argv in profiles()]
    for era in ERAS:
        able = [(f"p{i}", argv, g) for i, (_, argv, g) in enumerate(found)
                if not bundles.can_express(era, g)]
        ok(len(able) >= 20, f"{era}: {len(able)} of {len(found)} profiles can be said in it")
        path = write(f"corpus-{era}.bin", bundles.bundle(era, [(n, g) for n, _, g in able]))
        equal(len(buckle("disasm", "--list", path).out.split()), len(able), f"{era}: all listed")
        for name, argv, _ in able:
            if "--prelude" in argv:
                continue
            r = buckle("diff", *fold(era), *argv, f"{path}:{name}")
            ok(r.status == 0, f"{era}: {argv[-1]} is its source", r)


def main():
    check_made()
    check_twins()
    check_words()
    if os.path.isdir(CORPUS):
        check_corpus()
    else:
        skip("real profiles are not here (set BUCKLE_SHARED)")
    return done()


if __name__ == "__main__":
    sys.exit(main())
