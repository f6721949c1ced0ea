#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the Python wheel: the package, the library, and the program as a command.

    tools/pack-wheel.py --version 0.1.0 --out FOLDER --platform manylinux_2_34_x86_64 \\
        --library libbuckle.so --program buckle

The library must need nothing but the C library, unless the wheel is for this machine only
(--platform linux_x86_64). What is in ../libexec/buckle beside the program goes along. What the
library starts is there once more, in its own folder. The same input gives the same bytes.
"""

import argparse
import base64
import hashlib
import os
import time
import zipfile

from beside import beside
from helpers import HELPERS

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.join(TOP, "packages", "python")
NAME = "buckle_sandbox"
EPOCH = max(int(os.environ.get("SOURCE_DATE_EPOCH", "499162500")), 315532800)  # zip begins in 1980

METADATA = """Metadata-Version: 2.1
Name: buckle-sandbox
Version: {version}
Summary: Runs commands in a sandbox
License: Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """Wheel-Version: 1.0
Generator: pack-wheel
Root-Is-Purelib: false
Tag: {tag}
"""


def read(*parts):
    with open(os.path.join(*parts), "rb") as f:
        return f.read()


def contents(args, tag):
    """{name: (bytes, whether it is a program)}."""
    info = f"{NAME}-{args.version}.dist-info"
    readme = read(SOURCE, "README.md").decode()
    files = {f"buckle/{name}": (read(SOURCE, "buckle", name), False)
             for name in os.listdir(os.path.join(SOURCE, "buckle")) if name.endswith((".py", ".typed"))}
    files["buckle/libbuckle.so"] = (read(args.library), False)
    files[f"{NAME}-{args.version}.data/scripts/buckle"] = (read(args.program), True)
    files |= {f"{NAME}-{args.version}.data/data/{name}": (read(path), True) for name, path in beside(args.program).items()}
    files |= {f"buckle/{one.name}": (read(beside(args.program)[one.path]), True) for one in HELPERS if one.library}
    files[f"{info}/METADATA"] = (METADATA.format(version=args.version, readme=readme).encode(), False)
    files[f"{info}/WHEEL"] = (WHEEL.format(tag=tag).encode(), False)
    files[f"{info}/LICENSE"] = (read(TOP, "LICENSE"), False)
    return files, f"{info}/RECORD"


def record(files, name):
    lines = []
    for path in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[path][0]).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(files[path][0])}\n")
    return "".join(lines) + f"{name},,\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name in ("version", "out", "platform", "library", "program"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    tag = f"py3-none-{args.platform}"
    files, name = contents(args, tag)
    files[name] = (record(files, name).encode(), False)
    os.makedirs(args.out, exist_ok=True)
    when = time.gmtime(EPOCH)[:6]
    with zipfile.ZipFile(os.path.join(args.out, f"{NAME}-{args.version}-{tag}.whl"), "w") as wheel:
        for path in sorted(files):
            content, program = files[path]
            entry = zipfile.ZipInfo(path, when)
            entry.create_system, entry.compress_type = 3, zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            wheel.writestr(entry, content, compresslevel=9)


if __name__ == "__main__":
    main()
