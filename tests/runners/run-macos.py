#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and links the program for macOS, here, and inspects the result; TAP.

    tests/runners/run-macos.py [aarch64-macos | x86_64-macos …]

The compiler, its headers and the libraries come from tools/cross. A warning of the compiler or the
linker is an error. clang's analyser reads what only macOS has; clang-tidy reads the rest (run-tidy.py).

Nothing here runs the program: tools/mac-check.sh does, on a Mac.
"""

import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, "tests", "lib"), os.path.join(TOP, "tools", "cross"),
                os.path.join(TOP, "tools")]

import helpers  # noqa: E402
import libraries  # noqa: E402
import tap  # noqa: E402
import toolchain  # noqa: E402
from targets import chosen  # noqa: E402

NATIVE = os.path.join(TOP, "build", "gcc")
LIBC = os.path.join("node_modules", "@zigc", "lib", "libc")
SYSTEM = "/usr/lib/libSystem.B.dylib"
PROGRAMS = ["buckle", *(one.built for one in helpers.HELPERS if "darwin" in one.systems)]


def run(argv, cwd=TOP):
    done = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout


# ---- building ----


def prepare(target):
    toolchain.install()
    toolchain.write(target)
    libraries.build([target])


CACHED = """#!/bin/sh
export CCACHE_COMPILERTYPE=clang CCACHE_COMPILERCHECK='string:{version}'
export CCACHE_BASEDIR='{top}' CCACHE_NOHASHDIR=1
exec ccache {compiler} "$@"
"""


def cached(target):
    """A cross file that puts ccache before the compiler, where there is one."""
    if not shutil.which("ccache"):
        return []
    wrapper = toolchain.put(target.tool("cached-cc"), CACHED.format(
        version=f"zig {toolchain.version_wanted()} {target.compiler}", top=TOP, compiler=target.tool("cc")), 0o755)
    return ["--cross-file", toolchain.put(os.path.join(target.folder, "cached.ini"),
                                          f"[binaries]\nc = '{wrapper}'\n")]


def build(target):
    """Sets up and compiles build/NAME. Returns its folder and the log, or None and the log."""
    folder = os.path.join(TOP, "build", target.name)
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        shutil.rmtree(folder, ignore_errors=True)
        # the compiler leaves files where it is asked about itself
        status, log = run(["meson", "setup", "--cross-file", target.cross_file, *cached(target), "-Dtests=false",
                           "-Dman=disabled", "-Dwerror=true", f"-Dnative_build={NATIVE}", folder, TOP], cwd=target.folder)
        if status:
            return None, log
    status, log = run(["ninja", "-C", folder, "--quiet", *PROGRAMS])
    return (None if status else folder), log


def warnings_in(log):
    return [line for line in log.split("\n") if re.search(r"\bwarning\b", line)]


# ---- what is in it ----


def sources_of(folder):
    """The program's own sources, as the build names them."""
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as f:
        all_commands = json.load(f)
    paths = {os.path.relpath(os.path.join(one["directory"], one["file"]), TOP): one for one in all_commands}
    return {path: one for path, one in paths.items() if path.startswith(("src/", "cli/"))}


def check_sources(sources):
    tap.equal([path for path in sources if path.startswith("src/kernel/") or "/on-linux/" in path], [],
             "nothing of Linux is in it")
    here = sources_of(NATIVE)
    # a spare's client is another program (cli/run/client-main.c)
    absent = {path for path in here if path.startswith("cli/") and path not in sources and not path.endswith("-main.c")}
    whole = ("cli/learn/", "cli/node/", "cli/try/")
    tap.equal(sorted(path for path in absent if not path.startswith(whole)), ["cli/profile/cmd-export.c", "cli/run/cmd-proxy.c"],
              "every command is in it, but those that need what macOS lacks")
    missing = []
    for folder, _, names in os.walk(os.path.join(TOP, "src")):
        if folder.endswith("/on-macos"):
            paths = [os.path.relpath(os.path.join(folder, name), TOP) for name in names]
            missing += [path for path in paths if path.endswith(".c") and path not in sources]
    tap.equal(missing, [], "every file for macOS is in it")


# ---- the binary ----

LC_SYMTAB, LC_LOAD_DYLIB, LC_BUILD_VERSION = 0x2, 0xC, 0x32


def load_commands(data):
    magic, = struct.unpack_from("<I", data, 0)
    assert magic == 0xFEEDFACF, "not a 64-bit Mach-O file"
    count, = struct.unpack_from("<I", data, 16)
    at = 32
    for _ in range(count):
        kind, size = struct.unpack_from("<II", data, at)
        yield kind & 0x7FFFFFFF, at
        at += size


def text_at(data, at):
    return data[at:data.index(b"\0", at)].decode()


def imports_of(data):
    """The undefined symbols, and the libraries that have to have them."""
    symbols, loaded, oldest = set(), [], None
    for kind, at in load_commands(data):
        if kind == LC_LOAD_DYLIB:
            loaded.append(text_at(data, at + struct.unpack_from("<I", data, at + 8)[0]))
        elif kind == LC_BUILD_VERSION:
            version, = struct.unpack_from("<I", data, at + 12)
            oldest = f"{version >> 16}.{version >> 8 & 255}"
        elif kind == LC_SYMTAB:
            first, count, strings, _ = struct.unpack_from("<IIII", data, at + 8)
            for i in range(count):
                name, what = struct.unpack_from("<IB", data, first + 16 * i)
                if what & 0x0E == 0 and not what & 0xE0:  # undefined, and not for a debugger
                    symbols.add(text_at(data, strings + name))
    return symbols, loaded, oldest


def exports_of(processor):
    """What libSystem exports on one processor, from its text-based stub."""
    with open(os.path.join(toolchain.home(), LIBC, "darwin", "libSystem.tbd"), encoding="utf-8") as f:
        text = f.read()
    wanted = {"aarch64": ("arm64-macos", "arm64e-macos"), "x86_64": ("x86_64-macos",)}[processor]
    names = set()
    for targets, symbols in re.findall(
            r"- targets: *\[([^]]*)\]\s*(?:re-?exports: *\[[^]]*\]\s*)?(?:weak-)?symbols: *\[([^]]*)\]", text):
        if set(re.split(r"[\s,]+", targets.strip())) & set(wanted):
            names |= {name.strip(" '\"\n") for name in symbols.split(",")}
    return names


def looked_up():
    """Symbols that are found by name in libSystem while it runs."""
    with open(os.path.join(TOP, "src", "system", "on-macos", "seatbelt.c"), encoding="utf-8") as f:
        return {"_" + name for name in re.findall(r'dlsym\(RTLD_DEFAULT, "(\w+)"\)', f.read())}


def check_imports(target, program, data):
    name = os.path.basename(program)
    symbols, loaded, oldest = imports_of(data)
    exports = exports_of(target.cpu)
    tap.ok(len(symbols) > 100 and len(exports) > 1000, f"{name}: {len(symbols)} imports, {len(exports)} exports")
    tap.equal(sorted(symbols - exports), [], f"{name}: libSystem exports every symbol that it imports")
    tap.equal(loaded, [SYSTEM], f"{name}: it needs no other library")
    tap.equal(oldest, re.search(r"macos\.(\d+\.\d+)", target.compiler).group(1), f"{name}: and runs from this version on")


def check_binary(target, folder):
    with open(os.path.join(TOP, "cli", "commands.def"), encoding="utf-8") as f:
        reasons = set(re.findall(r'LINUX_COMMAND\(\w+, "([^"]+)"\)', f.read()))
    for program in PROGRAMS:
        with open(os.path.join(folder, program), "rb") as f:
            data = f.read()
        check_imports(target, program, data)
        if program == "buckle":
            tap.ok(reasons and all(why.encode() in data for why in reasons), "it says why it lacks some commands", reasons)
    tap.equal(sorted(looked_up() - exports_of(target.cpu)), [], "libSystem has what is looked up by name")


# ---- the analyser ----


def analyse(target, sources):
    """Debian's clang reads the sources with the headers of macOS."""
    shown = [path for path in sources if "/on-macos/" in path or path.startswith("src/macos/")]
    headers = os.path.join(toolchain.home(), LIBC, "include", "any-darwin-any")
    found = []
    for path in sorted(shown):
        keep = [word for word in shlex.split(sources[path].get("command", "")) if word.startswith(("-I", "-D", "-U"))]
        _, log = run(["clang", "-target", f"{target.cpu}-apple-macos13", "--analyze", "--analyzer-output", "text",
                      "-nostdlibinc", "-isystem", headers, "-std=gnu11", "-w",
                      *[fix_include(word, sources[path]["directory"]) for word in keep], path])
        found += [line for line in log.split("\n") if re.search(r": (warning|error|fatal error):", line)]
    tap.equal(found, [], f"clang's analyser finds nothing in {len(shown)} files")


def fix_include(word, folder):
    return "-I" + os.path.join(folder, word[2:]) if word.startswith("-I") else word


def main(argv):
    for target in chosen(argv or ["aarch64-macos"]):
        prepare(target)
        folder, log = build(target)
        if not tap.ok(folder, f"{target.name}: it compiles and links", log[-3000:]):
            continue
        tap.equal(warnings_in(log), [], "without a warning")
        sources = sources_of(folder)
        check_sources(sources)
        check_binary(target, folder)
        analyse(target, sources)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
