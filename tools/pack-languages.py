#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages for languages of a release: npm packages for all platforms, and wheels for Linux.

    tools/pack-languages.py

A part of `make dist`. The programs come from $BUCKLE_DIST_STAGE (build/dist/RELEASED/bin/buckle), the
packages go to $BUCKLE_DIST (dist). A wheel also has the shared library, for glibc 2.34 and later,
which this builds: it needs nothing but the C library.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "cross"))

import libraries
import toolchain
from targets import CROSS, TOP, Target

DIST = os.environ.get("BUCKLE_DIST") or os.path.join(TOP, "dist")
STAGE = os.environ.get("BUCKLE_DIST_STAGE") or os.path.join(TOP, "build", "dist")

# Node's names for the released targets
PLATFORMS = {"linux-x86_64": "linux-x64", "linux-arm64": "linux-arm64", "linux-riscv64": "linux-riscv64",
             "macos-arm64": "darwin-arm64", "macos-x86_64": "darwin-x64"}
GLIBC = "2.34"  # what pip calls manylinux_2_34: RHEL 9, Ubuntu 22.04; systems before it lack Landlock
# without an emulator: there is no C library here that it could load for a program
WHEELS = {"linux-x86_64": Target("x86_64-linux-gnu", f"x86_64-linux-gnu.{GLIBC}", "linux-x86_64", "x86_64"),
          "linux-arm64": Target("aarch64-linux-gnu", f"aarch64-linux-gnu.{GLIBC}", "linux-arm64", "aarch64")}
OPTIONS = ["--prefix=/usr/local", "--buildtype=debugoptimized", "-Dtests=false", "-Dman=disabled"]


def program(released):
    path = os.path.join(STAGE, released, "bin", "buckle")
    return path if os.path.exists(path) else None


def version():
    with open(os.path.join(TOP, "meson.build"), encoding="utf-8") as f:
        return f.read().split("version: '", 1)[1].split("'", 1)[0]


def write_tools(target):
    """The compiler refuses a version of glibc in its target where it only preprocesses, as Meson lets it."""
    toolchain.write(target)
    with open(target.tool("cc"), encoding="utf-8") as f:
        lines = f.read().split("\n")
    compile_line = next(line for line in lines if line.startswith("exec "))
    plain = compile_line.replace(f"-target {target.compiler} ", f"-target {target.name} ")
    text = "\n".join(f'case " $* " in *" -dM "*) {plain} ;; esac\n{line}' if line is compile_line else line
                     for line in lines)
    toolchain.put(target.tool("cc"), text, 0o755)


def build_library(target):
    """The stripped library."""
    folder = os.path.join(target.folder, "library")
    native = os.path.join(CROSS, "x86_64-linux-musl", "dist")
    options = [*OPTIONS, "-Dc_link_args=-Wl,--build-id=none -Wl,--gc-sections"]
    if os.path.exists(os.path.join(native, "buckle")):
        options.append(f"-Dnative_build={native}")
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        libraries.run(["meson", "setup", "--cross-file", target.cross_file, *options, folder, TOP], cwd=target.folder)
    name = f"src/api/libbuckle.so.{version()}"
    libraries.run(["ninja", "-C", folder, name])
    stripped = os.path.join(folder, "libbuckle.so")
    libraries.run(["llvm-objcopy", "--strip-unneeded", "--remove-section=.comment", os.path.join(folder, name), stripped])
    check_needs(stripped)
    return stripped


def check_needs(library):
    """Nothing but the C library."""
    text = libraries.run(["readelf", "--dynamic", "--wide", library])
    needs = [line.split("[")[1].split("]")[0] for line in text.split("\n") if "(NEEDED)" in line]
    known = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux")
    other = [name for name in needs if not name.startswith(known)]
    if other:
        raise SystemExit(f"{library}: needs {', '.join(other)}")


def pack_npm():
    found = [f"{platform}={program(released)}" for released, platform in PLATFORMS.items() if program(released)]
    subprocess.run([os.path.join(HERE, "pack-npm.py"), "--version", version(), "--out", DIST, *found], check=True)


def pack_wheel(released):
    target = WHEELS[released]
    tag = f"manylinux_{GLIBC.replace('.', '_')}_{target.cpu}"
    subprocess.run([os.path.join(HERE, "pack-wheel.py"), "--version", version(), "--out", DIST, "--platform", tag,
                    "--library", build_library(target), "--program", program(released)], check=True)


def pack_wheels():
    wanted = [released for released in WHEELS if program(released)]
    for released in wanted:
        write_tools(WHEELS[released])
    libraries.build([WHEELS[released] for released in wanted])
    libraries.side_by_side(pack_wheel, wanted)


def main():
    if not any(program(released) for released in PLATFORMS):
        raise SystemExit(f"{STAGE}: has no programs")
    toolchain.install()
    pack_npm()
    pack_wheels()


if __name__ == "__main__":
    main()
