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
ERAS = ["B", "C", "C12", "D", "E", "E17", "E26"]
ALONE = ["B", "C", "C12", "D", "E"]  # single profiles, too


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
            if era not in ALONE:
                continue
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


def keyed(w, key, values, match, unmatch):
    """A node that names an entitlement, and behind it nodes for its values: (filter, argument)."""
    at = unmatch
    for number, value in reversed(values):
        at = w.node(("filter", number, value, match, at))
    return w.node(("filter", 0x1e, ("record", w.counted(key + b"\0")), at, unmatch))


def check_entitlements():
    """#t, #f and strings are different values of a key, named by the node in front of them."""
    source = write("values.sb", HEAD + """(allow file-read-data
        (require-entitlement "k" (entitlement-value #t)) (require-entitlement "k" (entitlement-value "v")))
        (allow file-write-data (require-entitlement "k" (entitlement-value #f)))
        (allow file-read-xattr (literal "/A"))""")
    g = graph("-p", HEAD + '(allow file-read-xattr (literal "/A"))')
    for era in ERAS:
        w = bundles.Writer(era)
        w.add("p", g)
        allow, deny = w.node(("decision", 0)), w.node(("decision", 5))
        text = struct.pack("<IB", 1, 0) + b"v" if era == "B" else None
        v = ("record", w.record(text) if text else w.counted(bundles.pattern("literal", b"v")))
        table = w.profiles[0][1]
        table[w.ops.index("file-read-data")] = keyed(w, b"k", [(0x1f, 1), (0x20, v)], allow, deny)
        table[w.ops.index("file-write-data")] = keyed(w, b"k", [(0x1f, 0)], allow, deny)
        path = write(f"values-{era}.bin", w.write_old() if w.old else w.write_new()) + ":p"
        r = buckle("diff", *fold(era), source, path)
        ok(r.status == 0, f"{era}: values of an entitlement are those of the source", r)
        r = buckle("decompile", "--verify", path)
        ok(r.status == 0 and '(require-entitlement "k" (entitlement-value #f))' in r.out, f"{era}: and in its text", r)
        r = buckle("disasm", path)
        ok("(%entitlement-boolean #f)" in r.out and "(%entitlement-boolean)" in r.out, f"{era}: disasm shows both", r)


def check_newest():
    """iOS 26 has more operations than any version with published names: listed, but not decoded."""
    w = bundles.Writer("E26")
    w.ops = w.ops + [None] * 5
    w.add("one", graph("strings.sb"))
    data = w.write_new()
    path = write("newest.bin", data)
    equal(buckle("disasm", "--list", path).out.split(), ["one"], "iOS 26: profiles are listed")
    r = buckle("disasm", path + ":one")
    ok("with the header of iOS 26" in r.out and "op-194" in r.out, "iOS 26: disassembled, without names", r)
    r = buckle("eval", path + ":one", "file-read-data", "/c")
    ok(r.status == 2 and "offset 0x4" in r.err and "195 operations (0xc3)" in r.err and "read as era E" in r.err,
       "iOS 26: no verdict without names", r)
    data = bytearray(data)
    data[7] += 1  # one name more than there are
    r = buckle("disasm", write("shifted.bin", bytes(data)))
    ok(r.status == 2 and "offset 0x" in r.err, "a header that does not fit is refused", r)


def check_case():
    """macOS lowers paths and ignores their case; a file with upper case in a path minds it."""
    made = [("lower", graph("-p", HEAD + '(allow file-read* (subpath "/usr/lib"))')),
            ("upper", graph("-p", HEAD + '(allow file-read* (subpath "/System"))'))]
    for era, minds in (("E", False), ("E17", True)):
        path = write(f"case-{era}.bin", bundles.bundle(era, made))
        for name, asked, plain in (("lower", "/USR/LIB/a", False), ("upper", "/system/a", False), ("upper", "/System/a", True)):
            verdict = "allow" if plain or not minds else "deny"
            equal(buckle("eval", f"{path}:{name}", "file-read-data", asked).out.split()[:1], [verdict], f"{era}: {asked} is {verdict}")
        r = buckle("decompile", "--verify", path + ":upper")
        equal(r.status, 0, f"{era}: verified")


def check_unknown_bytes():
    """Errors name the offset, the byte and how the file was read."""
    w = bundles.Writer("E")
    w.add(None, graph("-p", HEAD + '(allow file-read* (literal "/x"))'))
    good = w.write_new()
    code = good.index(b"\x41/x\x0f\x00\x0f\x0a")
    node = next(at for at in range(0, len(good), 8) if good[at:at + 2] == b"\0\1" and at > 14 + 2 * 190)
    for at, byte, words in ((node + 1, 0x77, "unknown filter 0x77"), (code, 0x3c, "unknown pattern byte 0x3c"),
                            (code + 3, 0x30, "byte 0x30: unknown jump")):
        data = bytearray(good)
        data[at] = byte
        r = buckle("decompile", write("unknown.bin", bytes(data)))
        where = at - 1 if "filter" in words else at
        ok(r.status == 2 and f"offset {where:#x}: {words}" in r.err and "read as era E (macOS 14), 190 operations" in r.err,
           f"{words}: offset, byte and layout", r)


def check_corpus():
    found = [(name, argv, graph(*argv)) for name, argv in profiles()]
    for era in ALONE:
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
    check_entitlements()
    check_newest()
    check_case()
    check_unknown_bytes()
    if os.path.isdir(CORPUS):
        check_corpus()
    else:
        skip("real profiles are not here (set BUCKLE_SHARED)")
    return done()


if __name__ == "__main__":
    sys.exit(main())
