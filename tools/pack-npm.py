#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the npm packages: one with the interface, and one for each platform with its program.

    tools/pack-npm.py --version 0.1.0 --out FOLDER PLATFORM=PROGRAM…

PLATFORM is what Node calls it: linux-x64, linux-arm64, linux-riscv64, darwin-arm64, darwin-x64. What is
in ../libexec/buckle beside the program goes along. The same input gives the same bytes: entries are sorted, and have the time of $SOURCE_DATE_EPOCH.
"""

import argparse
import gzip
import io
import json
import os
import sys
import tarfile

from beside import beside

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.join(TOP, "packages", "node")
SCOPE = "@buckle"
PLATFORMS = ("linux-x64", "linux-arm64", "linux-riscv64", "darwin-arm64", "darwin-x64")
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "499162500"))  # npm's own, in 1985


def read(*parts):
    with open(os.path.join(*parts), "rb") as f:
        return f.read()


def write_tarball(path, files):
    """files: {name: (bytes, whether it is a program)}."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            content, program = files[name]
            entry = tarfile.TarInfo("package/" + name)
            entry.size, entry.mtime, entry.mode = len(content), EPOCH, 0o755 if program else 0o644
            tar.addfile(entry, io.BytesIO(content))
    with open(path, "wb") as f, gzip.GzipFile(filename="", fileobj=f, mode="wb", mtime=0) as out:
        out.write(packed.getvalue())


def described(package):
    return (json.dumps(package, indent=2) + "\n").encode(), False


def main_package(version, platforms):
    package = json.loads(read(SOURCE, "package.json"))
    package["version"] = version
    package["optionalDependencies"] = {f"{SCOPE}/{p}": version for p in platforms}
    start = read(SOURCE, "bin", "buckle")
    files = {"package.json": described(package), "bin/buckle": (start, True), "bin/srt": (start, True),
             "README.md": (read(SOURCE, "README.md"), False), "LICENSE": (read(TOP, "LICENSE"), False)}
    for name in os.listdir(os.path.join(SOURCE, "src")):
        files["dist/" + name] = (read(SOURCE, "src", name), name == "cli.js")
    return files


def platform_package(version, platform, program):
    system, processor = platform.split("-")
    package = {"name": f"{SCOPE}/{platform}", "version": version, "license": "Apache-2.0",
               "description": f"The program of {SCOPE}/sandbox-runtime for {platform}",
               "os": [system], "cpu": [processor], "preferUnplugged": True, "files": ["bin", "libexec", "LICENSE"]}
    return {"package.json": described(package), "bin/buckle": (read(program), True),
            **{name: (read(path), True) for name, path in beside(program).items()}, "LICENSE": (read(TOP, "LICENSE"), False)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("programs", nargs="+", metavar="PLATFORM=PROGRAM")
    args = parser.parse_args()
    programs = dict(word.split("=", 1) for word in args.programs)
    unknown = sorted(set(programs) - set(PLATFORMS))
    if unknown:
        sys.exit(f"pack-npm.py: unknown platform: {', '.join(unknown)}")
    os.makedirs(args.out, exist_ok=True)
    where = os.path.join(args.out, SCOPE[1:])
    write_tarball(f"{where}-sandbox-runtime-{args.version}.tgz", main_package(args.version, sorted(programs)))
    for platform, program in sorted(programs.items()):
        write_tarball(f"{where}-{platform}-{args.version}.tgz",
                      platform_package(args.version, platform, program))


if __name__ == "__main__":
    main()
