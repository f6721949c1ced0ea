#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles everything for arm64 and runs what an emulator of programs can run; prints TAP.

    tests/run-arm64.py

Needs aarch64-linux-gnu-gcc, and qemu-aarch64 for running. jansson for arm64 is seldom at hand: its headers
are taken as they are, and a library of the same functions, which read no JSON, stands in. What needs the
kernel (seccomp, Landlock, namespaces) is not emulated; the filter for arm64 is checked by simulation.
"""

import glob
import os
import shutil
import subprocess
import sys

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
BUILD = os.path.join(TOP, "build", "arm64")
ROOT = os.path.join(TOP, "build", "arm64-root")
CROSS = "aarch64-linux-gnu-"
SYSROOT = "/usr/aarch64-linux-gnu"
QEMU = ["qemu-aarch64", "-L", SYSROOT]

# what these need of the kernel, or of JSON, is not there
EXCEPT = {"test-kernel-bpf", "test-kernel-cgroup", "test-kernel-host", "test-kernel-made",
          "test-kernel-own-socket", "test-kernel-process", "test-sbpl-load"}

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

STUB = """#include <jansson.h>
json_t *json_loadb(const char *s, size_t n, size_t f, json_error_t *e)
{ (void)s; (void)n; (void)f; (void)e; return NULL; }
void json_delete(json_t *j) { (void)j; }
size_t json_array_size(const json_t *j) { (void)j; return 0; }
json_t *json_array_get(const json_t *j, size_t i) { (void)j; (void)i; return NULL; }
json_int_t json_integer_value(const json_t *j) { (void)j; return 0; }
double json_real_value(const json_t *j) { (void)j; return 0; }
const char *json_string_value(const json_t *j) { (void)j; return NULL; }
void *json_object_iter(json_t *j) { (void)j; return NULL; }
void *json_object_iter_next(json_t *j, void *i) { (void)j; (void)i; return NULL; }
void *json_object_key_to_iter(const char *k) { (void)k; return NULL; }
const char *json_object_iter_key(void *i) { (void)i; return NULL; }
json_t *json_object_iter_value(void *i) { (void)i; return NULL; }
"""


def run(argv, **how):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **how)


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def stand_in():
    """Libraries for arm64, as far as compiling and linking need them."""
    include, lib = os.path.join(ROOT, "include"), os.path.join(ROOT, "lib")
    os.makedirs(include, exist_ok=True)
    for header in glob.glob("/usr/include/jansson*.h") + glob.glob("/usr/include/*/jansson*.h"):
        shutil.copy(header, include)
    shutil.copytree("/usr/include/plist", os.path.join(include, "plist"), dirs_exist_ok=True)
    source = put(os.path.join(ROOT, "stub.c"), STUB)
    os.makedirs(lib, exist_ok=True)
    steps = [[CROSS + "gcc", "-fPIC", "-I" + include, "-c", source, "-o", lib + "/stub.o"],
             [CROSS + "ar", "rcs", lib + "/libjansson.a", lib + "/stub.o"],
             [CROSS + "gcc", "-shared", "-Wl,-soname,libjansson.so", lib + "/stub.o", "-o",
              lib + "/libjansson.so"]]
    for step in steps:
        done = run(step)
        if done.returncode:
            return done.stdout
    for name, version, libs in (("jansson", "2.14", "-ljansson"), ("libplist-2.0", "2.2", "")):
        put(f"{lib}/pkgconfig/{name}.pc", f"Name: {name}\nDescription: stands in\nVersion: {version}\n"
            f"Cflags: -isystem {include}\nLibs: -L{lib} {libs}\n")
    return ""


def compile_all():
    log = stand_in()
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
    done = run([*QEMU, os.path.join(BUILD, "tests", name)], timeout=600)
    lines = done.stdout.split("\n")
    bad = [line for line in lines if line.startswith("not ok")]
    tap.ok(done.returncode == 0 and not bad and any(line.startswith("1..") for line in lines),
           f"emulated: {name}, {sum(line.startswith('ok') for line in lines)} checks", *bad[:20],
           *lines[-3:])


def check_program():
    """The program itself: a decision and a plan."""
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
    done = run([sys.executable, os.path.join(HERE, "run-numbers.py"), CROSS + "gcc"])
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
