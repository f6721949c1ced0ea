#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what libbuckle exports with what programs were compiled for; prints TAP.

    tests/runners/run-abi.py [--accept]

tests/abi/x86_64.abi describes the functions of the released library: names, versions, parameters,
values of enums (abidw). Nothing of that may go or change. A new function belongs to a node of its own
in src/api/libbuckle.map, named after the release that brings it; --accept then writes it down.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STORED = os.path.join(TOP, "tests", "abi", "x86_64.abi")
HEADERS = os.path.join(TOP, "include", "buckle")
LIBRARY = os.path.join(os.environ.get("STAGE", TOP + "/build/stage") + os.environ.get("PREFIX", "/usr/local"),
                       "lib", "libbuckle.so.0")
DESCRIBE = ["abidw", "--headers-dir", HEADERS, "--drop-private-types", "--no-show-locs", "--no-corpus-path",
            "--no-comp-dir-path", "--drop-undefined-syms", "--no-elf-needed", "--no-parameter-names",
            "--type-id-style", "hash"]


def call(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def symbols():
    """{name: version} that the library exports."""
    _, text = call("readelf", "--wide", "--dyn-syms", LIBRARY)
    found = re.findall(r"\b(?:FUNC|OBJECT)\s+GLOBAL DEFAULT\s+\d+ ([\w.]+)(?:@@?(\w+))?", text)
    return {name: version for name, version in found}


def check_symbols():
    exported = symbols()
    tap.ok(len(exported) > 100, "the library exports its functions", len(exported))
    tap.equal([name for name in exported if not name.startswith("buckle_")], [], "and nothing else")
    tap.equal([name for name, version in exported.items() if not version.startswith("LIBBUCKLE_")], [],
              "each with a version")
    with open(os.path.join(HEADERS, "buckle.h"), encoding="utf-8") as f:
        declared = re.findall(r"^BUCKLE_API [^;(]*?\**(buckle_\w+)\(", f.read(), re.MULTILINE)
    tap.equal(sorted(set(declared) ^ set(exported)), [], "the header declares what is exported, and that only")


def check_changes():
    with tempfile.TemporaryDirectory() as folder:
        now = os.path.join(folder, "now.abi")
        status, text = call(*DESCRIBE, "--out-file", now, LIBRARY)
        if not tap.ok(status == 0, "the library can be described", text):
            return
        # 4: there are changes, 8: incompatible ones
        status, text = call("abidiff", "--headers-dir1", HEADERS, "--headers-dir2", HEADERS, STORED, now)
        tap.ok(status == 0, "programs of the last release run with this library", text)
        # the comparison itself notices what must not happen
        with open(now, encoding="utf-8") as f:
            description = f.read()
        spoilt = os.path.join(folder, "spoilt.abi")
        with open(spoilt, "w", encoding="utf-8") as f:
            f.write(description.replace("value='1'", "value='7'", 1))
        status, _ = call("abidiff", STORED, spoilt)
        tap.ok(status & 4, "another value in an enum is noticed")
        with open(spoilt, "w", encoding="utf-8") as f:
            without = re.sub(r"\n *<function-decl name='buckle_version'[\s\S]*?</function-decl>", "", description)
            f.write(re.sub(r"\n *<elf-symbol name='buckle_version'.*", "", without))
        status, _ = call("abidiff", STORED, spoilt)
        tap.ok(status & 8, "a function that is gone is noticed")


def main():
    if "--accept" in sys.argv[1:]:
        os.makedirs(os.path.dirname(STORED), exist_ok=True)
        sys.exit(call(*DESCRIBE, "--out-file", STORED, LIBRARY)[0])
    if not shutil.which("abidiff"):
        tap.skip("abigail-tools is not installed")
    elif platform.machine() != "x86_64":
        tap.skip("the stored description is of x86-64")
    else:
        check_symbols()
        check_changes()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
