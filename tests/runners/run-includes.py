#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every #include "…" against the table in docs/architecture.md; prints TAP.

A row names a folder and the folders that it may include. It may name only folders of rows above its
own, so that a wrong direction cannot be declared right; the processes in src/kernel and the groups
of cli/ may include each other where their rows say so.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GROUPS = ("kernel/", "cli")  # folders of one group may include each other
ELSEWHERE = ("buckle",)  # include/buckle/buckle.h


def read_table():
    """{folder: the folders that it may include}, in the order of the rows."""
    with open(os.path.join(TOP, "docs", "architecture.md"), encoding="utf-8") as f:
        text = f.read()
    table = re.search(r"^\| folder \| may include \|.*\n\|[-| ]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    rows = {}
    for row in table.group(1).splitlines() if table else []:
        folder, may = row.split("|")[1:3]
        rows[folder.strip(" `").removeprefix("src/")] = re.findall(r"`([^`]+)`", may)
    return rows


def same_group(one, other):
    return any(one.startswith(group) and other.startswith(group) for group in GROUPS)


def check_order(rows):
    """No row may include what stands below it."""
    above, wrong = [], []
    for folder, may in rows.items():
        wrong += [f"{folder} may not include {other}: its row is not above" for other in may
                  if other not in above and not same_group(folder, other)]
        above.append(folder)
    tap.equal(wrong, [], "the table includes in one direction")


def includes():
    """(file, its folder, the included folder) of every include in the tree."""
    listing = subprocess.run(["git", "ls-files", "src", "cli"], cwd=TOP, stdout=subprocess.PIPE,
                             text=True, check=True).stdout
    for name in listing.splitlines():
        if not name.endswith((".c", ".h", ".def")) or not os.path.exists(os.path.join(TOP, name)):
            continue
        with open(os.path.join(TOP, name), encoding="utf-8") as f:
            for header in re.findall(r'^\s*#\s*include\s+"([^"]+)"', f.read(), re.MULTILINE):
                yield name, os.path.dirname(name).removeprefix("src/"), os.path.dirname(header)


def main():
    rows = read_table()
    tap.ok(len(rows) > 10, "docs/architecture.md has the table of folders")
    check_order(rows)
    wrong, missing = [], set()
    for name, folder, included in includes():
        if folder not in rows:
            missing.add(folder)
        elif included not in ("", folder, *ELSEWHERE, *rows[folder]):
            wrong.append(f"{name} includes {included}")
    tap.equal(sorted(missing), [], "every folder has a row")
    tap.equal(wrong, [], "no file includes what its folder may not")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
