#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs verdict tables through `buckle eval --batch`; prints TAP.

    tests/runners/run-verdicts.py [FILE.rows…]

A table is text, line by line:

    # a comment
    profile FILE                     use this file (next to the table), or shipped profile
    profile <<                       or the text up to a line >>; its lines count from 1
    (version 1) …
    >>
    param KEY=VALUE                  -D for this profile
    option --fold-case               any other option of `buckle eval`
    file-read-data /etc/hosts → allow
    file-read-data "/a b" vnode-type=DIRECTORY → deny ; line 3
    error 2 unknown operation        loading fails with an error in line 2 that contains these words

Parameters and options belong to the profile above them. `; line N` requires that the rule in line N
decides, `; no line` that no written rule does. `->` also works for `→`. The program is $BUCKLE.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUCKLE = os.environ.get("BUCKLE", "buckle")
ROW = re.compile(r"^(.*?)\s+(?:→|->)\s*(allow|deny)\s*(?:;\s*(line\s+(\d+)|no line)\s*)?$")


class Group:
    """A profile with its options and the expected results."""

    def __init__(self, profile, line):
        self.profile = profile  # path, or None while it is only text
        self.text = None
        self.line = line
        self.options = []
        self.rows = []  # (line, question, verdict, rule line: None, 0 or a number)
        self.errors = []  # (line, error line, words)


def parse(path):
    groups, inline = [], None
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
        for number, raw in enumerate(f, 1):
            line = raw.rstrip("\n")
            if inline is not None:
                if line.strip() == ">>":
                    groups[-1].text, inline = "".join(inline), None
                else:
                    inline.append(raw)
                continue
            words = line.split(None, 1)
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "profile":
                groups.append(Group(words[1].strip(), number))
                if words[1].strip() == "<<":
                    groups[-1].profile, inline = None, []
            else:
                groups[-1:] or fail_parse(path, number, "a row before any profile")
                parse_line(groups[-1], words, line, path, number)
    if inline is not None:
        fail_parse(path, number, "a profile that is never closed with >>")
    return groups


def fail_parse(path, number, why):
    sys.exit(f"Bail out! {path}:{number}: {why}")


def parse_line(group, words, line, path, number):
    if words[0] == "param":
        group.options += ["-D", words[1].strip()]
    elif words[0] == "option":
        group.options += shlex.split(words[1])
    elif words[0] == "error":
        where, text = words[1].split(None, 1)
        group.errors.append((number, int(where), text.strip()))
    else:
        match = ROW.match(line)
        if not match:
            fail_parse(path, number, f"not understood: {line}")
        question, verdict, rule, rule_line = match.groups()
        wanted = None if not rule else int(rule_line) if rule_line else 0
        group.rows.append((number, question, verdict, wanted))


def command(*argv):
    argv = [BUCKLE, *argv]
    if os.environ.get("VALGRIND"):
        argv = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", *argv]
    return argv


def run(argv, text=""):
    done = subprocess.run(command(*argv), input=text.encode(errors="surrogateescape"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return (done.returncode, done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"))


def check_errors(group, path, name):
    status, out, err = run(["check", "--json", *group.options, path])
    try:
        findings = json.loads(out)["files"][0].get("findings", [])
    except (ValueError, LookupError):
        tap.ok(False, f"{name}:{group.line}: loads or tells why not", out, err)
        return
    reported = [(f.get("line", 0), f["message"]) for f in findings if f["level"] == "error"]
    for number, line, words in group.errors:
        hit = any(line == at and words in message for at, message in reported)
        tap.ok(hit and status == 1, f"{name}:{number}: error in line {line}: {words}",
               f"status {status}", *(f"line {at}: {message}" for at, message in reported), err)


def check_rows(group, path, name):
    text = "".join(question + "\n" for _, question, _, _ in group.rows)
    status, out, err = run(["eval", "--batch", "--json", *group.options, path], text)
    answers = [json.loads(line) for line in out.splitlines()]
    if not tap.ok(status == 0 and len(answers) == len(group.rows),
                  f"{name}:{group.line}: profile loads, {len(group.rows)} rows are answered",
                  f"status {status}, {len(answers)} answers", err,
                  *(a["message"] for a in answers if a["verdict"] == "error")):
        if len(answers) != len(group.rows):
            return
    for (number, question, verdict, line), answer in zip(group.rows, answers):
        rule = answer.get("rule", {})
        good = answer["verdict"] == verdict and line in (None, rule.get("line", 0))
        want = verdict + ("" if line is None else f" by line {line}")
        tap.ok(good, f"{name}:{number}: {question} → {want}", json.dumps(answer))


def check_file(path):
    name = os.path.basename(path)
    for group in parse(path):
        with tempfile.TemporaryDirectory() as folder:
            where = os.path.join(folder, "profile.sb")
            if group.text is not None:
                with open(where, "wb") as f:
                    f.write(group.text.encode(errors="surrogateescape"))
            else:
                beside = os.path.join(os.path.dirname(path), group.profile)
                where = beside if os.path.exists(beside) else group.profile
            if group.errors:
                check_errors(group, where, name)
            if group.rows or not group.errors:
                check_rows(group, where, name)


def main():
    folder = os.path.join(HERE, "verdicts")
    files = sys.argv[1:] or sorted(
        os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".rows"))
    for path in files:
        check_file(path)
    tap.ok(files, "there are verdict tables")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
