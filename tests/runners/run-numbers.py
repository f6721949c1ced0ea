#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the numbers in src/kernel/plan/syscalls.def with the kernel's headers; prints TAP.

    tests/runners/run-numbers.py [COMPILER]

For x86-64 it uses the compiler's <asm/unistd.h>, for arm64 the generic header next to it, or that of
the cross compiler (aarch64-linux-gnu-gcc). A call that is not in the headers must be newer than all
calls there. NO must mean that an architecture lacks the call.
"""

import os
import platform
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# the calls that arm64 selects in the generic header
GENERIC = ["-D__ARCH_WANT_RENAMEAT", "-D__ARCH_WANT_NEW_STAT", "-D__ARCH_WANT_SET_GET_RLIMIT",
           "-D__ARCH_WANT_TIME32_SYSCALLS", "-D__ARCH_WANT_SYS_CLONE3", "-D__ARCH_WANT_MEMFD_SECRET"]


def rows():
    """(name, number on x86-64, number on arm64); None for NO."""
    with open(os.path.join(TOP, "src", "kernel", "plan", "syscalls.def"), encoding="utf-8") as f:
        text = f.read()
    found = re.findall(r"^(?:JUDGED|REFUSED|TESTED)\(\s*(\w+),\s*(\w+),\s*(\w+)", text, re.M)
    return [(name, *(None if n == "NO" else int(n) for n in numbers)) for name, *numbers in found]


def headers(compiler, header, *flags):
    """{name: number} of a header; empty if there is none."""
    done = subprocess.run([compiler, *flags, "-dM", "-E", "-"], input=f"#include <{header}>\n",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    defined = dict(re.findall(r"^#define (__NR\w+) (.+)$", done.stdout, re.M))
    known = {}
    for name in defined:
        value = defined[name]
        while value in defined:
            value = defined[value]
        if name.startswith("__NR_") and value.isdigit():
            known[name[len("__NR_"):]] = int(value)
    known.pop("syscalls", None)
    known.pop("arch_specific_syscall", None)
    return known


def wrong(name, number, known):
    if number is None:
        return f"{name} has number {known[name]}" if name in known else None
    if name in known:
        return None if known[name] == number else f"{name} is {known[name]}, not {number}"
    taken = [other for other, n in known.items() if n == number]
    if taken:
        return f"{number} is {taken[0]}, not {name}"
    return None if number > max(known.values()) or name in GONE else f"{name} is unknown"


# Numbers that older headers had and newer ones omit.
GONE = {"nfsservctl", "_sysctl", "uselib", "lookup_dcookie", "create_module", "get_kernel_syms",
        "query_module", "afs_syscall", "tuxcall", "security"}


def compare(what, known, column):
    if not known:
        tap.skip(f"no headers for {what}")
        return
    calls = rows()
    bad = [w for row in calls if (w := wrong(row[0], row[column], known))]
    named = sum(row[0] in known for row in calls)
    tap.ok(not bad and named > 100, f"{what}: {named} of {len(calls)} numbers are the kernel's", *bad)


def passed():
    with open(os.path.join(TOP, "src", "kernel", "plan", "passed-calls.def"), encoding="utf-8") as f:
        return re.findall(r"^CALL\((\w+)\)", f.read(), re.M)


def listed(what, known):
    """Every call of the headers is in one of the two lists: filters by name refuse all others."""
    names = [row[0] for row in rows()] + passed()
    missing = [n for n in known if n not in names]
    tap.ok(bool(known) and not missing and len(names) == len(set(names)), f"{what}: every call is listed once", *missing)


def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("CC", "cc")
    if "aarch64" in compiler:
        compare(f"arm64 ({compiler})", headers(compiler, "asm/unistd.h"), 2)
        return tap.done()
    if platform.machine() == "x86_64":
        compare("x86-64", headers(compiler, "asm/unistd_64.h"), 1)
        listed("x86-64", headers(compiler, "asm/unistd_64.h"))
    compare("arm64", headers(compiler, "asm-generic/unistd.h", *GENERIC), 2)
    listed("arm64", headers(compiler, "asm-generic/unistd.h", *GENERIC))
    names = [row[0] for row in rows()]
    tap.ok(len(names) == len(set(names)), "no call stands twice",
           *(n for n in set(names) if names.count(n) > 1))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
