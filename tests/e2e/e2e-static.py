#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make static`: one file that needs nothing else. Runs it in root directories that contain nothing
else, and that a sandbox must not escape from."""

import os
import plistlib
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import elf
from drive import FOLDER
from tap import done, equal, ok, skip

STATIC = os.path.join(os.environ.get("TOOLS", "build/gcc/tests"), "..", "buckle-static")

# What a command inside needs from the host; everything ends with the process.
PLACE = """set -e
mount --bind "$1" "$1"
cd "$1"
mkdir -p proc dev tmp work
mount -t proc proc proc
mount -t tmpfs dev dev
mknod -m 666 dev/null c 1 3
mount -t tmpfs tmp tmp
shift
exec chroot . /buckle "$@"
"""


def test_file():
    ok(elf.is_static(STATIC), "nothing has to load it")
    equal(elf.kind_and_types(STATIC)[0], elf.ET_DYN, "and it can lie anywhere in memory")


def test_installed():
    """The installed program reads property lists, whichever way it is linked. A released one has no twin
    with libraries beside it, so it reads no binary ones, and says what to do."""
    program = os.environ.get("BUCKLE")
    if not program:
        skip("no installed program")
        return
    path, binary = (os.path.join(FOLDER, name) for name in ("given.plist", "binary.plist"))
    for name, form in ((path, plistlib.FMT_XML), (binary, plistlib.FMT_BINARY)):
        with open(name, "wb") as f:
            plistlib.dump({"a": True}, f, fmt=form)
    profile = '(version 1)(deny default)(if (entitlement "a") (allow file-read*))'
    for words in (["--entitlements", path], ["--entitlements=" + path]):
        got = run([program, "eval", *words, "--text", profile, "file-read-data", "/x"])
        ok(got.returncode == 0 and got.stdout.startswith("allow"), f"a property list: {words[0].split('=')[0]}", got)
    got = run([program, "eval", "--entitlements", binary, "--text", profile, "file-read-data", "/x"])
    alone = not os.path.exists(os.path.dirname(program) + "/../libexec/buckle/buckle-shared")
    if alone and elf.is_static(program):
        ok(got.returncode == 2 and "linked statically" in got.stderr and "JSON" in got.stderr, "a binary one: an error that helps", got)
    else:
        ok(got.returncode == 0 and got.stdout.startswith("allow"), "a binary one", got)
    got = run([program, "eval", "--entitlements", "/nowhere", "--text", profile, "file-read-data", "/x"])
    ok(got.returncode not in (0, 1), "one that is missing is an error", got)


def new_root(name):
    root = os.path.join(FOLDER, name)
    os.mkdir(root)
    shutil.copy(STATIC, root + "/buckle")
    return root


def run(argv, **how):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, **how)


def test_empty_root():
    root = new_root("empty")
    version = run([STATIC, "--version"]).stdout

    def inside(*argv):
        return run(["chroot", root, "/buckle", *argv])

    equal(inside("--version").stdout, version, "an empty root: it starts")
    got = inside("eval", "default", "-D", "CWD=/work", "file-write-data", "/work/x")
    equal((got.returncode, got.stdout.split()[:1]), (0, ["allow"]), "it answers questions")
    ok("Landlock" in inside("doctor").stdout, "the doctor looks around")
    got = inside("run", "--here", "/buckle", "--version")
    ok(got.returncode == 125 and "/tmp" in got.stderr, "run says what it lacks", got)
    text = "(version 1)(deny default)(if (entitlement \"x\") (allow default))"
    for name, kind in (("xml", plistlib.FMT_XML), ("binary", plistlib.FMT_BINARY)):
        with open(f"{root}/{name}.plist", "wb") as f:
            plistlib.dump({"x": True}, f, fmt=kind)
    got = inside("eval", "--entitlements", "/xml.plist", "--text", text, "file-read-data", "/a")
    equal(got.stdout.split()[:1], ["allow"], "property lists in XML are read")
    got = inside("check", "--entitlements", "/binary.plist", "--text", text)
    ok(got.returncode != 0 and "linked statically" in got.stdout, "binary ones need a library", got)


def test_bare_root():
    root = new_root("bare")
    version = run([STATIC, "--version"]).stdout

    def inside(*argv):
        return run(["unshare", "-m", "sh", "-c", PLACE, "sh", root, *argv])

    got = inside("run", "--here", "/buckle", "--version")
    equal((got.returncode, got.stdout, got.stderr), (0, version, ""), "a root with /proc: it runs")
    # outside the root there is a shell, inside there is none
    got = inside("run", "--here", "/bin/sh", "-c", "echo out")
    ok(got.returncode == 127 and "out" not in got.stdout, "what runs stays in that root", got)
    got = inside("run", "--here", "--profile", "open", "/buckle", "check", "default")
    ok(got.returncode == 0, "under another profile, too", got)
    equal(os.listdir(root + "/tmp"), [], "nothing is left behind")


def main():
    if os.geteuid() != 0:
        skip("a root directory of its own takes root")
        return done()
    test_file()
    test_installed()
    test_empty_root()
    test_bare_root()
    return done()


if __name__ == "__main__":
    sys.exit(main())
