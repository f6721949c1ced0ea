#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle self-test`, which must hold here and must notice a program that confines nothing; and what
`buckle --version --json` says of the program.
"""

import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import drive
import elf
import tap
from running import BUCKLE, PEOPLE, for_everybody

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = ["run", "write-here", "write-elsewhere", "secret", "network", "host", "nested", "signals", "report",
         "nothing-left"]

# Takes the command line of `buckle run` and runs the command as it is.
FREE = """#!/bin/sh
if test "$1" = connect; then exec {buckle} "$@"; fi
while test $# -gt 0 && test "$1" != --; do
    case $1 in --upstream) export ALL_PROXY=$2; shift ;; esac
    shift
done
shift
exec "$@"
"""
# Makes the program take another one for itself.
PRELOAD = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
ssize_t readlink(const char *path, char *to, size_t n)
{
    ssize_t (*real)(const char *, char *, size_t) = dlsym(RTLD_NEXT, "readlink");
    const char *other = getenv("TAKEN_FOR");
    if (!other || strcmp(path, "/proc/self/exe"))
        return real(path, to, n);
    unsetenv("LD_PRELOAD");
    size_t len = strlen(other) < n ? strlen(other) : n;
    memcpy(to, other, len);
    return (ssize_t)len;
}
"""


def trials(ran):
    return {one["name"]: one for one in json.loads(ran.out)["trials"]}


def leftovers():
    return [name for name in os.listdir("/var/tmp") if name.startswith("self-test-")]


def test_holds(person, t):
    done = person.call([BUCKLE, "self-test"])
    t.ok(done.status == 0 and done.out.count("✓") == len(NAMES) and "✗" not in done.out and not done.err,
         "everything holds", done)
    t.ok(done.seconds < 10, "within ten seconds", done)
    found = trials(person.call([BUCKLE, "self-test", "--json"]))
    t.equal([name for name in NAMES if found[name]["holds"]], NAMES, "the same as JSON")
    t.equal(leftovers(), [], "its folder is removed")


def test_notices(person, t):
    """Without a sandbox none of the restrictions holds."""
    if person is not PEOPLE[-1] or "asan" in drive.BUCKLE:
        return  # the same for everybody; the sanitizers' library has to come first
    loads = os.path.join(os.path.dirname(drive.BUCKLE), "../libexec/buckle/buckle-shared")  # libraries
    program = shutil.copy(loads, os.path.dirname(BUCKLE)) if os.path.exists(loads) else BUCKLE
    if elf.is_static(program):
        return  # as released: nothing can be put before its own functions
    free = person.write(os.path.join(person.home, "free"), FREE.format(buckle=BUCKLE), 0o755)
    source = person.write(os.path.join(person.home, "preload.c"), PRELOAD)
    shared = source.replace(".c", ".so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shared, source, "-ldl"], check=True)
    os.chmod(shared, 0o755)
    done = person.call([program, "self-test", "--json"], timeout=120,
                       env={"LD_PRELOAD": shared, "TAKEN_FOR": free})
    found = trials(done)
    t.equal([name for name in NAMES if found[name]["holds"]], ["run", "write-here"],
            "a program that confines nothing fails where it must", done)
    t.ok(done.status == 1 and all(found[name].get("reason") for name in NAMES[2:]), "with reasons", done)
    t.equal(leftovers(), [], "its folder is removed then as well")


def test_weaker(person, t):
    """A host on which nothing can be enforced: runs fail, and the table says so."""
    done = person.call([BUCKLE, "self-test"], env={"BUCKLE_PRETEND": "landlock=0,seccomp_notify=0,user_ns=0"})
    t.ok(done.status == 1 and "✗" in done.out and "buckle doctor" in done.out, "a host that cannot", done)


# What a program that finds Buckle may ask for on Linux.
FEATURES = {"ask", "credentials", "gate", "grants", "judge", "learning", "node", "own-folders", "record", "requests", "worlds"}


def test_version():
    done = drive.buckle("--version", "--json")
    about = json.loads(done.out)
    tap.equal(drive.buckle("--version").out, f"buckle {about['version']}\n", "--version")
    tap.equal(about["target"]["system"], "linux", "the target")
    tap.ok("linux" in about["targets"] and "judge" in about["features"] and "srt" in about["names"]
           and "self-test" in about["commands"], "targets, features, commands and names", about)
    tap.equal(FEATURES - set(about["features"]), set(), "a feature for each of these")
    window = os.path.join(os.path.dirname(os.environ["BUCKLE"]), "..", "libexec", "buckle", "buckle-window")
    tap.equal("page" in about["features"], os.path.exists(window), "a page, if buckle-window was built")
    if os.path.exists(os.path.join(TOP, ".git")):
        known = subprocess.run(["git", "-C", TOP, "merge-base", "--is-ancestor", about["commit"] or "none", "HEAD"],
                               stderr=subprocess.DEVNULL, check=False)
        tap.equal(known.returncode, 0, "the commit, or one before it if nothing was compiled since")
    else:
        tap.ok(about["commit"] is None or re.fullmatch("[0-9a-f]{40}", about["commit"]), "the commit", about)


def commit_of(folder):
    return subprocess.run([f"{folder}/tools/commit.sh"], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_commit():
    """Only a repository of its own, or an archive of one, names a commit."""
    outer = os.path.join(drive.FOLDER, "outer")
    copy = os.path.join(outer, "copy")
    os.makedirs(f"{copy}/tools")
    with open(os.path.join(TOP, "tools", "commit.sh"), encoding="utf-8") as f:
        text = f.read()
    drive.write("outer/copy/tools/commit.sh", text)
    os.chmod(f"{copy}/tools/commit.sh", 0o755)
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", "-C"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run([*git, outer, *words], check=True)
    tap.equal(commit_of(copy), "", "a copy inside another repository has no commit")
    drive.write("outer/copy/.gitattributes", "tools/commit.sh export-subst\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, copy, *words], check=True)
    head = subprocess.run([*git, copy, "rev-parse", "HEAD"], stdout=subprocess.PIPE, text=True, check=True).stdout
    tap.equal(commit_of(copy), head, "a repository does")
    os.makedirs(f"{outer}/archive")
    subprocess.run(f"git -C {copy} archive HEAD | tar -x -C {outer}/archive", shell=True, check=True)
    tap.equal(commit_of(f"{outer}/archive"), head, "so does its archive")
    drive.write("outer/copy/tools/commit.sh", text + "\n")
    tap.equal(commit_of(copy), head.strip() + "-modified\n", "changes are told")


for_everybody([test_holds, test_notices, test_weaker])
test_version()
test_commit()
sys.exit(tap.done())
