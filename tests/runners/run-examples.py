#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples in README.md, docs/ and the manual pages and compares their output; prints TAP.

    tests/runners/run-examples.py [--accept]

A fenced block marked `console` is a session: lines that start with `$ ` are commands, and the lines
below each are the expected output (standard output and standard error together). A final line `…`
allows any further output. A fenced block marked `sbpl title=NAME` (or any language with a title)
makes a file of that name in the folder where the sessions of the page run.

Manual pages (scdoc) mark literal blocks with a comment above: `; example: console` and
`; example: title=NAME`. --accept writes the actual output into the pages: read the diff.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUCKLE = os.path.abspath(os.environ.get("BUCKLE", "buckle"))


def markdown_blocks(text):
    """(line, info, lines) of each fenced block."""
    block = None
    for number, line in enumerate(text.split("\n"), 1):
        if block is None and line.startswith("```") and line.strip("`"):
            block = (number, line.strip("`").strip(), [])
        elif block is not None and line.startswith("```"):
            yield block
            block = None
        elif block is not None:
            block[2].append(line)
        elif line.startswith("```"):
            block = (number, "", [])


def scdoc_blocks(text):
    """(line, info, lines) of each literal block marked by a comment."""
    info, block = None, None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("; example:"):
            info = line[len("; example:"):].strip()
        elif info is not None and block is None and line.startswith("```"):
            block = (number, info, [])
        elif block is not None and line.startswith("```"):
            yield block
            info, block = None, None
        elif block is not None:
            block[2].append(line)


def sessions(lines):
    """(command, expected lines) of a console block."""
    command, expected = None, []
    for line in lines:
        if line.startswith("$ "):
            if command:
                yield command, expected
            command, expected = line[2:], []
        elif command and command.endswith("\\") and not expected:
            command = command[:-1] + line.strip()
        elif command:
            expected.append(line)
    if command:
        yield command, expected


# the compat names, which exist next to the program only after installation
NAMES = tempfile.TemporaryDirectory()
for _name in ("cage", "sandbox-exec", "srt"):
    os.symlink(BUCKLE, os.path.join(NAMES.name, _name))


def run(command, folder):
    path = ":".join((os.path.dirname(BUCKLE), NAMES.name, os.environ["PATH"]))
    env = dict(os.environ, PATH=path, LC_ALL="C.UTF-8")
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.stdout.decode(errors="replace").rstrip("\n").split("\n")


def matches(got, want):
    while want and want[-1] == "":
        want = want[:-1]
    if want and want[-1] == "…":
        return got[:len(want) - 1] == want[:-1]
    return got == (want or [""])


def check_page(path, text, blocks, accept):
    """Runs a page's examples in a new folder. Returns how many there were."""
    page, lines, count = os.path.relpath(path, TOP), text.split("\n"), 0
    rewritten = []  # (first line, number of lines, new lines)
    with tempfile.TemporaryDirectory() as folder:
        for number, info, body in blocks(text):
            title = re.search(r"\btitle=(\S+)", info)
            if title:
                with open(os.path.join(folder, os.path.basename(title[1])), "w") as f:
                    f.write("\n".join(body) + "\n")
            if info.split()[:1] != ["console"]:
                continue
            fresh = []
            for command, want in sessions(body):
                count += 1
                got = run(command, folder)
                tap.ok(accept or matches(got, want), f"{page}:{number}: $ {command}",
                       "got:", *got, "want:", *want)
                fresh += ["$ " + command, *(want if matches(got, want) else got)]
            rewritten.append((number, len(body), fresh))
    if accept:
        for number, length, fresh in reversed(rewritten):
            lines[number:number + length] = fresh
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(lines))
    return count


def main():
    count, accept = 0, "--accept" in sys.argv[1:]
    pages = [os.path.join(TOP, "README.md"), os.path.join(TOP, "CONTRIBUTING.md")]
    pages += sorted(glob.glob(os.path.join(TOP, "docs", "*.md")))
    for path in pages + sorted(glob.glob(os.path.join(TOP, "docs", "man", "*.scd"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        blocks = scdoc_blocks if path.endswith(".scd") else markdown_blocks
        count += check_page(path, text, blocks, accept)
    tap.ok(count, "there are examples")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
