#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""(trace "FILE") in the profile that --profile names: what it denies is allowed, and rules for it are
appended to the file. Nowhere else does it change anything.

    e2e-trace.py [TEST…]
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import BUCKLE, for_everybody

CLOSED = '(version 1)\n(deny default)\n(trace "out.sb")\n'
USES = '(version 1)\n(deny default)\n(import "out.sb")\n'


def made(person, **texts):
    folder = person.folder()
    for name, text in texts.items():
        person.write(f"{folder}/{name}.sb", text)
    person.write(f"{folder}/data", "data\n")
    return folder


def run(person, folder, profile, script, *words):
    return person.call([BUCKLE, "run", "--profile", f"{profile}.sb", *words, "--", "sh", "-c", script], cwd=folder)


def text_of(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        return f.read()


def test_learns(person, t):
    """A profile that denies everything, and its trace, let the same run pass; later runs append."""
    folder = made(person, closed=CLOSED, uses=USES)
    script = "cat data; echo x >new; rm new"
    r = run(person, folder, "closed", script)
    first = text_of(f"{folder}/out.sb")
    t.ok(r.status == 0 and r.out == "data\n" and "is allowed" in r.err and f"{folder}/out.sb" in r.err, "it runs, and one line says so", r)
    r = run(person, folder, "uses", script)
    t.ok(r.status == 0 and r.out == "data\n", "the rules allow it", r)
    r = run(person, folder, "uses", "echo x >other")
    t.ok(r.status != 0 and not os.path.exists(f"{folder}/other"), "and nothing else", r)
    r = run(person, folder, "closed", "echo x >other; rm other")
    second = text_of(f"{folder}/out.sb")
    t.ok(second.startswith(first) and "/other" in second[len(first):] and "/data" not in second[len(first):], "what is new is appended", second)
    r = run(person, folder, "closed", script)
    t.equal(text_of(f"{folder}/out.sb"), second, "what is known is not", r)


def test_difference(person, t):
    """Only what the profile denies gets a rule."""
    folder = made(person, part='(version 1)\n(allow default)\n(deny file-read-data (literal "' + "DATA" + '"))\n(trace "out.sb")\n')
    person.write(f"{folder}/part.sb", text_of(f"{folder}/part.sb").replace("DATA", f"{folder}/data"))
    r = run(person, folder, "part", "cat data part.sb >/dev/null")
    rules = [line for line in text_of(f"{folder}/out.sb").split("\n") if line.startswith("(")]
    t.ok(len(rules) == 1 and "/data" in rules[0] and "file-read-data" in rules[0], "one rule", rules, r)


def test_bounds(person, t):
    """Secret stores and protected names stay denied, and get no rule."""
    folder = made(person, closed=CLOSED)
    os.makedirs(f"{person.home}/.ssh", exist_ok=True)
    person.own(f"{person.home}/.ssh")
    person.write(f"{person.home}/.ssh/id_trace", "secret\n")
    r = run(person, folder, "closed", f"cat {person.home}/.ssh/id_trace; echo x >.mcp.json; echo x >{person.home}/.bashrc-trace; echo x >{person.home}/.bashrc")
    t.ok("secret" not in r.out and not os.path.exists(f"{folder}/.mcp.json") and not os.path.exists(f"{person.home}/.bashrc"),
         "they stay denied", r)
    text = "\n".join(line for line in text_of(f"{folder}/out.sb").split("\n") if not line.startswith(";"))
    t.ok("bashrc-trace" in text and "id_trace" not in text and ".mcp.json" not in text and '.bashrc"' not in text, "and have no rule", text)
    os.unlink(f"{person.home}/.ssh/id_trace")


def test_elsewhere(person, t):
    """An imported profile, a comment and a string ask for nothing."""
    folder = made(person, inner=CLOSED.replace("(version 1)\n", ""), outer='(version 1)\n(import "inner.sb")\n',
                  comment='(version 1)\n(deny default)\n; (trace "out.sb")\n(allow file-read* (literal "/(trace x)"))\n')
    for name in ("outer", "comment"):
        r = run(person, folder, name, "cat data")
        t.ok(r.status != 0 and "data\n" not in r.out and text_of(f"{folder}/out.sb") is None, name, r)
    both = made(person, closed=CLOSED)
    r = person.call([BUCKLE, "run", "--dry-run", "--profile", "closed.sb", "--", "true"], cwd=both)
    t.ok(r.status == 0 and text_of(f"{both}/out.sb") is None, "--dry-run runs nothing", r)


def test_files(person, t):
    """The profile's author chooses the file: it must be new or one with learned rules, and not protected."""
    folder = made(person)
    person.sh(f"echo 'important' >taken.sb; ln -s taken.sb link.sb; mkdir folder.sb; : >empty.sb; ln -s {person.home} home; "
              "mkdir -p .git/hooks home/.config/autostart .vscode", cwd=folder)
    for name in ("taken.sb", "link.sb", "folder.sb", "none/out.sb", ".", "/dev/null", "new", ".sb", "home/.bashrc", ".git/hooks/x.sb",
                 "home/.config/autostart/x.sb", ".vscode/x.sb"):
        person.write(f"{folder}/bad.sb", CLOSED.replace("out.sb", name))
        r = run(person, folder, "bad", "cat data")
        t.ok(r.status != 0 and "data\n" not in r.out and "(trace …) cannot write" in r.err, name, r)
    t.equal(text_of(f"{folder}/taken.sb"), "important\n", "which is as it was")
    t.ok(not any(os.path.exists(f"{folder}/{name}") for name in ("new", ".sb", ".git/hooks/x.sb", ".vscode/x.sb", "home/.bashrc")),
         "and nothing was made")
    person.write(f"{folder}/good.sb", CLOSED.replace("out.sb", "empty.sb"))
    r = run(person, folder, "good", "cat data; echo '(allow default)' >empty.sb")
    t.ok(r.out == "data\n" and "(allow default)" not in text_of(f"{folder}/empty.sb").split("\n"), "what the command writes there is replaced", r)
    for words in (["--settings", "data"], ["--learn-denied", "x"], ["--updatable"]):
        r = run(person, folder, "good", "cat data", *words)
        t.ok(r.status == 2 and words[0] in r.err, f"{words[0]} does not go with it", r)


TESTS = [test_learns, test_difference, test_bounds, test_elsewhere, test_files]
chosen = sys.argv[1:]
for_everybody([test for test in TESTS if not chosen or test.__name__ in chosen])
sys.exit(tap.done())
