#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles everything for arm64 and runs what a user-mode emulator can run; prints TAP.

    tests/runners/run-arm64.py

Needs aarch64-linux-gnu-gcc, and qemu-aarch64 to run programs. Libraries for arm64 are rarely
installed, so stubs replace them: the host's headers, and functions that do nothing. The emulator does
not cover seccomp, Landlock and namespaces; a simulation checks the filter for arm64.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP = os.path.dirname(HERE)
BUILD = os.path.join(TOP, "build", "arm64")
ROOT = os.path.join(TOP, "build", "arm64-root")
CROSS = "aarch64-linux-gnu-"
SYSROOT = "/usr/aarch64-linux-gnu"
QEMU = ["qemu-aarch64", "-L", SYSROOT]

# these need kernel features, JSON or YAML that are missing here
EXCEPT = {"test-api-apply", "test-api-manager", "test-api-run", "test-kernel-bpf",
          "test-kernel-cgroup", "test-kernel-host", "test-kernel-path-set", "test-kernel-own-socket",
          "test-kernel-process", "test-net-h2", "test-net-own-address", "test-run-update", "test-sbpl-load",
          "test-settings-presets"}

CROSS_FILE = f"""[binaries]
c = '{CROSS}gcc'
ar = '{CROSS}ar'
strip = '{CROSS}strip'
objcopy = '{CROSS}objcopy'
nm = '{CROSS}nm'
ld = '{CROSS}ld'
pkgconfig = 'pkg-config'
exe_wrapper = {QEMU!r}
[properties]
pkg_config_libdir = '{ROOT}/lib/pkgconfig'
needs_exe_wrapper = true
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""

# libraries: headers, prefix of their functions, whether anything links them
LIBRARIES = {
    "jansson": (["jansson*.h"], "json_", True),
    "libcares": (["ares*.h"], "ares_", True),
    "libnghttp2": (["nghttp2/nghttp2*.h"], "nghttp2_", True),
    "yaml-0.1": (["yaml.h"], "yaml_", True),
    "libplist-2.0": (["plist"], "plist_", False),  # loaded when used
}


def run(argv, **how):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **how)


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def stub(include, patterns, prefix):
    """Defines each function that the headers declare, as one that does nothing."""
    names = set()
    for header in sum((glob.glob(os.path.join(include, pattern)) for pattern in patterns), []):
        with open(header, encoding="utf-8", errors="replace") as f:
            names |= set(re.findall(rf"\b({prefix}[a-z0-9_]+)\s*\(", f.read()))
    return "".join(f"long {name}(void);\nlong {name}(void) {{ return 0; }}\n" for name in sorted(names))


def replacement():
    """Makes stub libraries for compiling and linking."""
    include, lib = os.path.join(ROOT, "include"), os.path.join(ROOT, "lib")
    os.makedirs(include, exist_ok=True)
    os.makedirs(lib, exist_ok=True)
    for name, (patterns, prefix, linked) in LIBRARIES.items():
        short = name.removeprefix("lib")
        for pattern in patterns:
            for path in glob.glob("/usr/include/" + pattern) + glob.glob("/usr/include/*-linux-gnu/" + pattern):
                to = os.path.join(include, os.path.dirname(pattern), os.path.basename(path))
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copytree(path, to, dirs_exist_ok=True) if os.path.isdir(path) else shutil.copy(path, to)
        source = put(f"{ROOT}/{short}.c", stub(include, patterns, prefix) if linked else "")
        made = f"{lib}/{short}.o"
        for step in ([CROSS + "gcc", "-fPIC", "-fno-builtin", "-c", source, "-o", made],
                     [CROSS + "ar", "rcs", f"{lib}/lib{short}.a", made],
                     [CROSS + "gcc", "-shared", f"-Wl,-soname,lib{short}.so", made, "-o",
                      f"{lib}/lib{short}.so"]):
            done = run(step)
            if done.returncode:
                return done.stdout
        put(f"{lib}/pkgconfig/{name}.pc", f"Name: {name}\nDescription: stands in\nVersion: 2.14\n"
            f"Cflags: -isystem {include}\nLibs: -L{lib} {'-l' + short if linked else ''}\n")
    return ""


def compile_all():
    log = replacement()
    if log:
        return log
    cross = put(os.path.join(ROOT, "cross.ini"), CROSS_FILE)
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        done = run(["meson", "setup", BUILD, TOP, "--cross-file", cross, "-Dwerror=true",
                    "-Dman=disabled"])
        if done.returncode:
            return done.stdout
    done = run(["ninja", "-C", BUILD])
    return done.stdout if done.returncode else ""


def run_unit(name):
    try:
        done = run([*QEMU, os.path.join(BUILD, "tests", name)], timeout=300)
    except subprocess.TimeoutExpired:
        tap.ok(False, f"emulated: {name} comes to an end")
        return
    lines = done.stdout.split("\n")
    bad = [line for line in lines if line.startswith("not ok")]
    tap.ok(done.returncode == 0 and not bad and any(line.startswith("1..") for line in lines),
           f"emulated: {name}, {sum(line.startswith('ok') for line in lines)} checks", *bad[:20],
           *lines[-3:])


def check_program():
    """Runs the program itself: a verdict and a plan."""
    env = {**os.environ, "QEMU_LD_PREFIX": SYSROOT}
    buckle = [*QEMU, "-E", f"LD_LIBRARY_PATH={ROOT}/lib", os.path.join(BUILD, "buckle")]
    profile = put(os.path.join(ROOT, "a.sb"), "(version 1)(deny default)(allow file-read* (subpath \"/a\"))")
    done = run([*buckle, "eval", profile, "file-read-data", "/a/b"], env=env)
    tap.ok(done.returncode == 0 and "allow" in done.stdout, "emulated: buckle eval", done.stdout)
    pretend = ("root=0,landlock=7,seccomp_notify=1,notify_addfd=1,user_ns=1,mount_ns=1,pid_ns=1,"
               "mount_proc=1,net_ns=1,read_memory=1,pidfd_getfd=1,listener_taken=0")
    done = run([*buckle, "run", "--dry-run", "--profile", profile, "true"],
               env={**env, "BUCKLE_PRETEND": pretend}, cwd=ROOT)
    tap.ok(done.returncode == 0 and "System calls (aarch64)" in done.stdout and "openat" in done.stdout
           and ", mkdir," not in done.stdout, "emulated: a plan for arm64", done.stdout[:3000])


def main():
    if not shutil.which(CROSS + "gcc"):
        tap.skip(CROSS + "gcc is not installed")
        return tap.done()
    log = compile_all()
    if not tap.ok(not log, "everything compiles for arm64, with warnings as errors", log[-4000:]):
        return tap.done()
    done = run([sys.executable, os.path.join(HERE, "runners", "run-numbers.py"), CROSS + "gcc"])
    tap.ok(done.returncode == 0, "call numbers as in the headers for arm64", done.stdout)
    if not shutil.which(QEMU[0]):
        tap.skip(QEMU[0] + " is not installed")
        return tap.done()
    units = sorted(os.path.basename(f)[:-2] for f in glob.glob(os.path.join(HERE, "unit", "test-*.c")))
    for name in units:
        if name not in EXCEPT:
            run_unit(name)
    check_program()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
