#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the table of keys in docs/settings.md matches the program; prints TAP.

    tests/runners/run-keys.py [--accept]
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(TOP, "docs", "settings.md")
BUCKLE = os.path.abspath(os.environ.get("BUCKLE", "buckle"))
START, END = "from src/settings/keys.def -->\n", "<!-- /keys -->"
EFFECTS = {"used": "", "macos": " *(macOS only)*", "host": " *(for programs that start commands)*",
           "none": " *(no effect)*", "later": " *(not implemented yet)*"}


def table():
    out = subprocess.run([BUCKLE, "settings", "--keys", "--json"], check=True, stdout=subprocess.PIPE).stdout
    rows = ["| key | takes | |", "|---|---|---|"]
    for key in json.loads(out):
        if key["key"] not in ("network", "filesystem", "record"):
            rows.append(f"| `{key['key']}` | {key['takes']} | {key['brief'].replace('*', chr(92) + '*')}"
                        f"{EFFECTS[key['effect']]} |")
    return "\n".join(rows) + "\n"


def main():
    with open(PAGE, encoding="utf-8") as f:
        text = f.read()
    before, rest = text.split(START, 1)
    now, after = rest.split(END, 1)
    if "--accept" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(before + START + table() + END + after)
        return 0
    tap.equal(now, table(), "docs/settings.md has every key (make accept writes them)")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
