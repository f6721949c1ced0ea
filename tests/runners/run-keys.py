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
DROPIN = os.path.join(TOP, "docs", "dropin.md")
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


def check_dropin():
    """Every key of srt in docs/dropin.md is one of ours, or a member of one; and the effects agree."""
    out = subprocess.run([BUCKLE, "settings", "--keys", "--json"], check=True, stdout=subprocess.PIPE).stdout
    ours = {key["key"]: key["effect"] for key in json.loads(out)}
    with open(DROPIN, encoding="utf-8") as f:
        rows = f.read().split("<!-- srt keys -->")[1].split("<!-- /srt keys -->")[0].strip().split("\n")[2:]
    listed = {}
    for row in rows:
        _, key, what, _ = (part.strip() for part in row.split("|"))
        listed[key.strip("`")] = what
    tap.ok(len(listed) == len(rows) > 50, "docs/dropin.md lists each key of srt once")
    unknown = [key for key in listed if key not in ours and key.rsplit(".", 1)[0] not in ours]
    tap.equal(unknown, [], "and all of them are settings")
    inert = [key for key, what in listed.items() if key in ours and
             what.startswith("no effect") != (ours[key] == "none") and ours[key] != "later" and key != "network.requireHostMatch"]
    tap.equal(inert, [], "those without effect are those that it calls so")
    macos = [key for key, what in listed.items() if key in ours and what.startswith("macOS only") != (ours[key] == "macos")]
    tap.equal(macos, [], "so are those for macOS")


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
    check_dropin()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
