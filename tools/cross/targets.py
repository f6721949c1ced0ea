# SPDX-License-Identifier: Apache-2.0
"""The machines that Buckle is released for, one row each, and where cross builds keep their files."""

import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CROSS = os.path.join(TOP, "build", "cross")


class Target:
    def __init__(self, name, compiler, released, cpu, emulator=None):
        self.name = name          # on the command line, and the folder below build/cross
        self.compiler = compiler  # `zig cc -target`, with the oldest system that it must run on
        self.released = released  # in the names of released files
        self.cpu = cpu            # Meson's and CMake's word
        self.emulator = emulator  # Debian's user-mode emulator, for tests
        self.system = "darwin" if name.endswith("-macos") else "linux"
        self.folder = os.path.join(CROSS, name)
        self.prefix = os.path.join(self.folder, "prefix")  # headers and static libraries
        self.tools = os.path.join(self.folder, "bin")
        self.cross_file = os.path.join(self.folder, "cross.ini")

    def tool(self, name):
        return os.path.join(self.tools, name)


TARGETS = {one.name: one for one in (
    Target("x86_64-linux-musl", "x86_64-linux-musl", "linux-x86_64", "x86_64"),
    Target("aarch64-linux-musl", "aarch64-linux-musl", "linux-arm64", "aarch64", "qemu-aarch64"),
    Target("riscv64-linux-musl", "riscv64-linux-musl", "linux-riscv64", "riscv64", "qemu-riscv64"),
    Target("aarch64-macos", "aarch64-macos.13.0", "macos-arm64", "aarch64"),
    Target("x86_64-macos", "x86_64-macos.13.0", "macos-x86_64", "x86_64"),
)}


def chosen(names):
    """The targets that a command line names; all of them if it names none."""
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        raise SystemExit(f"unknown target {unknown[0]}; known are {', '.join(TARGETS)}")
    return [TARGETS[name] for name in names] or list(TARGETS.values())
