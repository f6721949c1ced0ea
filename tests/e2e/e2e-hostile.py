#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Malicious profiles: each ends quickly, with an error that names the problem."""

import os
import resource
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import BUCKLE, FOLDER, buckle, write
from tap import done, ok

SECONDS = 60 if os.environ.get("SLOW") else 10
MEMORY = 2 << 30
MILLION = 1000000
SANITIZED = "asan" in os.environ.get("BUCKLE", "")  # needs terabytes of addresses
ENDLESS = ["steps", "memory"]  # the first budget that runs out

# name: (text, words of which one must occur in the error; None if it may also succeed)
COMPILED = "taken for a compiled profile"

PROFILES = {
    "a million open parentheses": ("(" * MILLION, ["nest", "deep", "depth", "never closed"]),
    "a million open lists with a word each": ("(a " * MILLION, ["nest", "deep", "depth", "never"]),
    "a million nested pairs, closed": ("(" * MILLION + ")" * MILLION, ["nest", "deep", "depth"]),
    "a million closing parentheses": (")" * MILLION, [")"]),
    "a million quotes": ("'" * MILLION, ["nest", "deep", "depth"]),
    "a million quasiquotes": ("`," * MILLION + "x", ["nest", "deep", "depth"]),
    "nested quoted data": ("(version 1)(define x '" + "(" * 99999 + ")" * 99999 + ")", None),
    "an open string of 15 MiB": ('(version 1)"' + "a" * (15 << 20), ["string", "closed"]),
    "a symbol of 15 MiB": ("(version 1)" + "a" * (15 << 20), ["not an operation"]),
    "an endless loop": ("(version 1)(define (f) (f))(f)", ENDLESS),
    "an endless named let": ("(version 1)(let loop () (loop))", ENDLESS),
    "endless mutual recursion": ("(version 1)(define (f) (g))(define (g) (f))(f)", ENDLESS),
    "endless deep recursion": ("(version 1)(define (f) (+ 1 (f)))(f)", ["deep", "depth", "nest"]),
    "a list without end": ("(version 1)(define (f l) (f (cons 1 l)))(f '())", ENDLESS),
    "a string that doubles": ('(version 1)(define (f s) (f (string-append s s)))(f "aaaaaaaa")',
                              ENDLESS),
    "exponential macros": (
        "(version 1)(define-macro (m n) (if (= n 0) 1 `(+ (m ,(- n 1)) (m ,(- n 1)))))(m 60)",
        ENDLESS),
    "a macro that expands to itself": ("(version 1)(define-macro (m) '(m))(m)", ENDLESS),
    "a program that reads itself": (
        '(version 1)(define (f s) (eval (read (open-input-string s))))'
        '(define s "(f s)")(f s)', ENDLESS),
    "a circular list": (
        "(version 1)(define x (list 1 2))(set-cdr! x x)(allow file-read* x)", []),
    "rules without end": (
        '(version 1)(define (f) (allow file-read* (literal "/x")) (f))(f)', ENDLESS),
    "conditions nested without end": (
        '(version 1)(define (f e) (f (require-not e)))(allow file-read* (f (literal "/x")))',
        ENDLESS),
    "conditions nested a hundred thousand deep": (
        '(version 1)(define (f e n) (if (= n 0) e (f (require-not e) (- n 1))))'
        '(allow file-read* (f (literal "/x") 100000))', None),
    "conditions that double": (
        '(version 1)(define (f e n) (if (= n 0) e (f (require-all (require-any e '
        '(literal "/x")) (require-not e)) (- n 1))))(allow file-read* (f (literal "/y") 40))', None),
    "counted repetition": ('(version 1)(allow file-read* (regex #"(((a{1000}){1000}){1000})"))',
                           ["regex", "large", "states", "repeat", "nodes"]),
    "regex of a million parentheses": (
        '(version 1)(allow file-read* (regex #"' + "(" * MILLION + '"))', ["regex", "nest", "deep",
                                                                         "parenthes", "closed"]),
    "regex of a million stars": (
        '(version 1)(allow file-read* (regex #"a' + "*" * MILLION + '"))', None),
    "NUL bytes between words": (b"(version 1)\0(deny\0default)", None),
    "NUL bytes alone": (b"\0" * 100000, COMPILED),
    "NUL bytes in a path": (b'(version 1)(allow file-read* (literal "/a\0b"))', None),
    "bytes that are not UTF-8": (b"(version 1)(\xff\xfe\xc0\x80 default)", [""]),
    "bytes that are not UTF-8, in a path": (b'(version 1)(allow file-read* (literal "/\xff"))',
                                            None),
    "every byte there is": (bytes(range(256)) * 4096, COMPILED),
    "escape sequences for the terminal": (b"(version 1)(\x1b[2J\x1b]0;owned\x07)", [""]),
    "a comment of 15 MiB": ("(version 1);" + "x" * (15 << 20), None),
    "two hundred thousand rules": (
        "(version 1)" + "".join(f'(allow file-read* (literal "/f/{i}"))' for i in range(200000)),
        None),
    "a huge number": ("(version 1)(define x " + "9" * 100000 + ")", None),
    "formats": ('(version 1)(%s%n%s%n "%s%n")', [""]),
}


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def judge(name, r, words):
    output = r.out + r.err
    in_time = r.status is not None and r.seconds < SECONDS
    if words is COMPILED:
        ok(in_time and r.status == 2 and "offset" in output, f"{name}: ends in an error", r)
    elif words is None:
        ok(in_time and r.status in (0, 1), f"{name}: ends", r)
    else:
        reported = "error:" in output and (not words or any(w in output for w in words))
        ok(in_time and r.status == 1 and reported, f"{name}: ends in an error", r)
    ok(not any(c in output for c in "\x1b\0\x07"), f"{name}: sends nothing raw to the terminal",
       repr(output[:500]))
    ok(len(output) < 1 << 20, f"{name}: is reported briefly", len(output))


def test_profiles():
    for name, (text, words) in PROFILES.items():
        judge(name, buckle("check", write("hostile.sb", text), timeout=SECONDS + 5), words)


def test_huge_files():
    path = os.path.join(FOLDER, "huge.sb")
    with open(path, "wb") as f:
        f.write(b'(version 1)"')
        f.truncate(1 << 30)
    r = buckle("check", "huge.sb", timeout=SECONDS)
    ok(r.status == 2 and "larger than" in r.err, "a gigabyte string in a file is refused", r)
    os.remove(path)
    with open("/dev/zero", "rb") as zero:
        r = buckle("check", "-", stdin=zero, timeout=SECONDS)
        ok(r.status == 2 and "larger than" in r.err, "an endless pipe is refused", r)
    r = buckle("check", "/dev/zero", timeout=SECONDS)
    ok(r.status == 2, "an endless device is refused", r)
    r = buckle("check", "/proc/self/mem", timeout=SECONDS)
    ok(r.status == 2, "a file that cannot be read is an error", r)


def test_imports():
    write("self.sb", '(version 1)\n(import "self.sb")\n')
    write("a.sb", '(version 1)\n(import "b.sb")\n')
    write("b.sb", '(import "a.sb")\n')
    for name, line in [("self.sb", "self.sb:2:"), ("a.sb", "b.sb:1:")]:
        r = buckle("check", name, timeout=SECONDS)
        ok(r.status == 1 and "imports itself" in r.out and line in r.out, f"import cycle from {name}", r)
    r = buckle("check", write("gone.sb", '(version 1)\n(import "no-such-profile.sb")\n'))
    ok(r.status == 1 and "gone.sb:2:" in r.out and "no-such-profile.sb" in r.out,
       "a missing import has a place", r)
    r = buckle("check", write("zero.sb", '(version 1)(import "/dev/zero")'), timeout=SECONDS)
    ok(r.status == 1 and "error:" in r.out, "importing an endless device", r)
    r = buckle("check", write("dir.sb", '(version 1)(import "/")'), timeout=SECONDS)
    ok(r.status == 1 and "error:" in r.out, "importing a folder", r)


def test_regexes():
    for pattern in ["(a|a)*b", "(a*)*b", "(a+)+$", "^(a|aa)+$", "(.*)*x", "(a?){50}a{50}",
                    ".*.*.*.*.*=.*", "(x+x+)+y", "[ab]*a[ab]{12}"]:
        profile = write("regex.sb", f'(version 1)(deny default)(allow file-read* (regex #"{pattern}"))')
        rows = f"file-read-data /{'a' * 100000}\nfile-read-data /{'ab' * 50000}\n"
        r = buckle("eval", "--batch", profile, stdin=rows, timeout=SECONDS)
        ok(r.status == 0 and r.seconds < SECONDS and r.out.count("\n") == 2,
           f"{pattern} on paths of 100,000 bytes", str(r)[:300])


def test_questions():
    profile = write("p.sb", '(version 1)(deny default)(allow file-read* (subpath "/usr"))')
    r = buckle("eval", "--batch", profile, stdin="file-read-data " + "/a" * (8 << 20) + "\n",
               timeout=SECONDS)
    ok(r.status in (0, 2), "a path of 16 MiB", str(r)[:300])
    rows = "file-read-data /usr/x\n" * 100000
    r = buckle("eval", "--batch", profile, stdin=rows, timeout=SECONDS)
    ok(r.status == 0 and r.out.count("\n") == 100000, "a hundred thousand rows", r.seconds)
    r = buckle("eval", profile, "file-read-data", *(f"uid={i}" for i in range(5000)))
    ok(r.status in (0, 1, 2), "five thousand facts", str(r)[:300])
    r = buckle("eval", profile, *["-D", "A=B"] * 5000, "file-read-data", "/usr")
    ok(r.status == 0, "five thousand parameters", str(r)[:300])
    r = buckle("eval", profile, "file-read-data", b"/usr/\xff\x1b[2J")
    ok(r.status == 0 and "\x1b" not in r.out, "a path that is not UTF-8", str(r)[:300])


def trie(depth):
    """A pattern of era E with 8 to the power of depth alternatives."""
    if depth == 0:
        return b"\x0a"
    below, code = trie(depth - 1), b""
    skip = len(below) - 1
    jump = bytes([0x80 + skip]) if skip < 0x80 else b"\x08" + struct.pack("<H", skip - 128)
    for letter in b"abcdefgh":
        code += bytes([0x40, letter]) + (b"\x0f" if letter == ord("h") else jump) + below
    return code


def test_unfolding():
    """Sixty thousand nodes that share one pattern of thousands of alternatives: memory grows with the
    file, not with its expansion."""
    nodes, ops = 60000, 190
    pattern = trie(4)
    data = struct.pack("<HHBBBBHHH", 0, nodes + 2, ops, 0, 0, 0, 0, 0, 0) + bytes(2 * ops)
    data += bytes(-len(data) % 8)
    data += b"".join(struct.pack("<BBHHH", 0, 1, 0, nodes, i + 1) for i in range(nodes))
    data += bytes([1, 0, 0, 0, 0, 0, 0, 0, 1, 5, 0, 0, 0, 0, 0, 0])
    data += struct.pack("<H", len(pattern)) + pattern
    write("unfolds.bin", data)
    limit = len(data) * 300 // 1024 + (64 << 10)  # KiB
    for command in ("graph", "decompile", "disasm"):
        argv = [BUCKLE, command, os.path.join(FOLDER, "unfolds.bin")]
        if not SANITIZED:
            argv = ["sh", "-c", f'ulimit -v {limit}; exec "$@"', "sh", *argv]
        r = subprocess.run(argv, capture_output=True, timeout=SECONDS * 2)
        reported = r.stdout + r.stderr
        ok(r.returncode in (0, 2) and b"expands far beyond its size" in reported and
           b"memory" not in r.stderr, f"{command}: a pattern that unfolds, in {limit >> 10} MiB",
           reported[-300:])


def empty_pattern():
    """A compiled profile of era E whose only pattern, for every operation, accepts everything: the
    code of (prefix "")."""
    ops = 190
    data = struct.pack("<HHBBBBHHH", 0, 3, ops, 0, 0, 0, 0, 0, 0) + bytes(2 * ops)
    data += bytes(-len(data) % 8)
    data += struct.pack("<BBHHH", 0, 1, 0, 1, 2)
    data += bytes([1, 0, 0, 0, 0, 0, 0, 0, 1, 5, 0, 0, 0, 0, 0, 0])
    return data + struct.pack("<H", 1) + b"\x0a"


def test_empty_paths():
    """An empty path, for example from an empty parameter, is not the whole disk."""
    for command, status in (("check", 1), ("eval", 2), ("compile", 2)):
        more = {"eval": ["file-write-data", "/x"], "compile": ["-o", "empty.bin"]}.get(command, [])
        for form in ('(subpath "")', '(prefix "")', '(regex #"")', '(subpath "/a" "")',
                     '(subpath (param "CACHE_DIR"))'):
            name = write("empty.sb", f"(version 1)(deny default)(allow file-write* {form})")
            r = buckle(command, "-D", "CACHE_DIR=", name, *more)
            output = r.out + r.err
            ok(r.status == status and "an empty path would match every file" in output and
               ("param" not in form or "the parameter CACHE_DIR is empty" in output),
               f"{command}: {form} is refused", r)
    write("empty.bin", empty_pattern())
    r = buckle("eval", "empty.bin", "file-write-data", "/x")
    ok(r.status == 0 and r.out.startswith("allow"), "a compiled one means what it means there", r)
    r = buckle("decompile", "empty.bin")
    ok('(prefix "")' in r.out, "and is decompiled", r)
    r = buckle("run", "--profile", "./empty.bin", "--", "echo", "ran")
    ok(r.status == 125 and "an empty path would match every file" in r.err and not r.out,
       "but nothing runs under it", r)


def main():
    if not SANITIZED:
        limited()
    test_profiles()
    test_huge_files()
    test_imports()
    test_regexes()
    test_questions()
    test_unfolding()
    test_empty_paths()
    return done()


if __name__ == "__main__":
    sys.exit(main())
