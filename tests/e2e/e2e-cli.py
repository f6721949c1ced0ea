#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line itself: help, exit statuses, options, where a profile comes from."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import buckle, write
from tap import done, equal, ok

PROFILE = """(version 1)
(deny default)
(allow file-read* (subpath "/usr"))
(deny file-read* (literal "/usr/secret"))
(allow file-write* (subpath (param "HOME")))
"""
COMMANDS = ["doctor", "check", "eval", "explain", "graph", "compile", "decompile", "disasm", "diff", "catalog", "vocab", "completions", "help"]


def test_help():
    r = buckle("--help")
    ok(r.status == 0 and not r.err, "--help succeeds", r)
    for command in COMMANDS:
        ok(f"\n  {command} " in r.out, f"--help lists {command}", r)
        own = buckle(command, "--help")
        ok(own.status == 0 and own.out.startswith(f"Usage: buckle {command} "),
           f"{command} --help", own)
        equal(buckle("help", command).out, own.out, f"help {command} says the same")
        ok(max(len(line) for line in own.out.split("\n")) <= 100, f"{command} --help is not wide")
    equal(buckle("-h").out, r.out, "-h is --help")
    r = buckle()
    ok(r.status == 2 and "Usage:" in r.err and not r.out, "no command: help on stderr, status 2", r)
    r = buckle("--version")
    ok(r.status == 0 and r.out.startswith("buckle 0."), "--version", r)


def test_mistakes():
    for argv, words in [
        (["chekc"], ["chekc", "did you mean check?"]),
        (["frobnicate"], ["unknown command", "--help"]),
        (["eval", "--jsno", "p.sb", "file-read*"], ["--jsno", "did you mean --json?"]),
        (["eval", "--zzz"], ["--zzz", "--help"]),
        (["eval", "-Z"], ["-Z"]),
        (["eval", "--os"], ["--os needs a value"]),
        (["eval", "-D"], ["-D needs a value"]),
        (["eval", "--json=yes"], ["takes no value"]),
        (["eval"], ["no profile given", "usage:"]),
        (["eval", "p.sb"], ["no operation given", "usage:"]),
        (["explain", "p.sb"], ["no operation given"]),
        (["check"], ["no file given"]),
        (["graph"], ["no profile given"]),
        (["graph", "p.sb", "--format", "png"], ["text, dot, json or svg"]),
        (["graph", "p.sb", "file-raed*"], ["file-raed*", "did you mean file-read*?"]),
        (["completions", "tcsh"], ["tcsh"]),
        (["eval", "-D", "HOME", "p.sb", "file-read*"], ["KEY=VALUE"]),
        (["eval", "--os", "99", "p.sb", "file-read*"], ["--os 99", "14.4.1"]),
        (["eval", "-DHOME=/h", "p.sb", "file-raed-data", "/x"], ["did you mean file-read-data?"]),
        (["eval", "missing.sb", "file-read*"], ["missing.sb", "No such file"]),
        (["eval", ".", "file-read*"], ["."]),
        (["eval", "--batch", "-"], ["standard input"]),
        (["eval", "--batch", "p.sb", "file-read*"], ["standard input"]),
        (["eval", "\x1b[31mred", "file-read*"], ["\\x1b[31mred"]),
    ]:
        r = buckle(*argv)
        good = r.status == 2 and r.err.startswith("buckle: ") and not r.out
        ok(good and all(w in r.err for w in words), "mistake: " + " ".join(argv), r)
        ok("\x1b" not in r.err, "no escape sequence reaches the terminal")


def test_eval():
    for argv, status, start in [
        (["p.sb", "file-read-data", "/usr/bin/cc"], 0, "allow "),
        (["p.sb", "file-read-data", "/usr/secret"], 1, "deny "),
        (["p.sb", "file-read-data", "/etc/passwd"], 1, "deny "),
        (["-D", "HOME=/home/me", "p.sb", "file-write-data", "/home/me/x"], 0, "allow "),
        (["-DHOME=/home/me", "p.sb", "file-write-data", "/home/you/x"], 1, "deny "),
        (["p.sb", "file-write-data", "/home/me/x", "--define=HOME=/home/me"], 0, "allow "),
        (["--define", "HOME=/home/me", "--", "p.sb", "file-write-data", "/home/me"], 0, "allow "),
        (["-p", "(version 1) (allow default)", "file-read*", "/x"], 0, "allow "),
        (["--text=(version 1) (deny default)", "file-read*", "/x"], 1, "deny "),
        (["p.sb", "file-read-data", "/usr/a b"], 0, "allow "),
    ]:
        if not any("HOME" in a for a in argv):
            argv = ["-D", "HOME=/nowhere", *argv]
        r = buckle("eval", *argv)
        ok(r.status == status and r.out.startswith(start) and r.out.count("\n") == 1,
           "eval " + " ".join(argv), r)
    r = buckle("eval", "-D", "HOME=/h", "p.sb", "file-read-data", "/usr/secret")
    ok("p.sb:4: (deny file-read*" in r.out, "eval names the deciding rule and its line", r)
    r = buckle("eval", "-q", "-D", "HOME=/h", "p.sb", "file-read-data", "/usr/secret")
    ok(r.status == 1 and r.out == "" and r.err == "", "eval --quiet answers by status only", r)
    r = buckle("eval", "-j", "-D", "HOME=/h", "p.sb", "file-read-data", "/usr/secret")
    answer = json.loads(r.out)
    equal((answer["verdict"], answer["operation"], answer["arguments"]),
          ("deny", "file-read-data", ["/usr/secret"]), "eval --json repeats the question")
    equal((answer["rule"]["kind"], answer["rule"]["file"], answer["rule"]["line"]),
          ("written", "p.sb", 4), "eval --json names the rule")
    r = buckle("eval", "-", "file-read-data", "/x", stdin="(version 1)(allow default)")
    ok(r.status == 0, "a profile from standard input", r)
    r = buckle("eval", "system", "file-read-data", "/nonexistent")
    ok(r.status in (0, 1) and r.err == "", "a shipped profile by name", r)
    write("system.sb", "(version 1)(broken")
    ok(buckle("eval", "system.sb", "file-read-data", "/x").status == 2,
       "a name with .sb is a file")


def test_batch():
    rows = ('# comment\n\nfile-read-data /usr/bin/cc\nfile-read-data /usr/secret\n'
            'file-read-data "/usr/a b"\nfile-read-data /usr/a\\ b\n')
    r = buckle("eval", "--batch", "-D", "HOME=/h", "p.sb", stdin=rows)
    equal([line.split()[0] for line in r.out.splitlines()], ["allow", "deny", "allow", "allow"],
          "--batch answers each row")
    equal(r.status, 0, "--batch: status 0 although something is denied")
    r = buckle("eval", "-b", "-D", "HOME=/h", "p.sb",
               stdin="file-read-data /usr/x\nfile-raed /x\nfile-read-data 'open\nfile-read* /x")
    equal([line.split()[0] for line in r.out.splitlines()], ["allow", "deny"],
          "--batch goes on after a bad row")
    ok(r.status == 2 and "<stdin>:2:" in r.err and "<stdin>:3:" in r.err, "and names it", r)
    r = buckle("eval", "-b", "-j", "-D", "HOME=/h", "p.sb", stdin="file-read-data /usr/x\nnope\n")
    answers = [json.loads(line) for line in r.out.splitlines()]
    equal([a["verdict"] for a in answers], ["allow", "error"], "--batch --json: an object each")
    equal(answers[1]["row"], 2, "with the row's number")
    r = buckle("eval", "-b", "-p", "(version 1)(allow default)", stdin=b"file-read* /a\0b\n")
    ok(r.status == 2 and "NUL" in r.err, "a NUL byte in a row is an error", r)
    r = buckle("eval", "-b", "-p", "(version 1)(allow default)", stdin="")
    ok(r.status == 0 and r.out == "", "an empty batch is fine", r)


def test_explain():
    r = buckle("explain", "-D", "HOME=/h", "p.sb", "file-read-data", "/usr/secret")
    ok(r.status == 0 and "deny" in r.out and "p.sb:4" in r.out, "explain names rule and line", r)
    r = buckle("explain", "--json", "-D", "HOME=/h", "p.sb", "file-read-data", "/usr/bin/cc")
    ok(r.status == 0 and isinstance(json.loads(r.out), dict), "explain --json is JSON", r)


def test_vocab():
    r = buckle("vocab", "file-read-data")
    ok(r.status == 0 and "file-read*" in r.out and "14.4.1 22" in r.out, "vocab tells of a word", r)
    r = buckle("vocab", "--json", "file-read-data")
    equal(json.loads(r.out)[0]["ids"]["14.4.1"], 22, "vocab --json")
    r = buckle("vocab", "--os", "14.4.1", "22")
    ok(r.status == 0 and "file-read-data" in r.out, "vocab finds an id", r)
    r = buckle("vocab", "file-raed-data")
    ok(r.status == 2 and "file-read-data" in r.err, "vocab suggests", r)


def test_output():
    """Output that cannot be written is an error, never a silent success."""
    for argv in [["--help"], ["eval", "-p", "(version 1)(allow default)", "file-read*", "/x"],
                 ["vocab"], ["completions", "bash"], ["check", "-p", "(version 1)(nonsense)"]]:
        with open("/dev/full", "w", encoding="utf-8") as full:
            r = buckle(*argv, stdout=full)
        ok(r.status == 2 and "No space left" in r.err, "a full disk: " + argv[0], r)


def main():
    write("p.sb", PROFILE)
    test_help()
    test_mistakes()
    test_eval()
    test_batch()
    test_explain()
    test_vocab()
    test_output()
    return done()


if __name__ == "__main__":
    sys.exit(main())
