#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches of the released static program and of the dynamic one, in turns; prints TAP.

    tests/bench/run-released.py [--write] [--quick]

The dynamic one is the benchmarks' build, stripped as well. --write writes the table in
docs/performance.md.
"""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure import TOP, Page, Spread, Targets, progress, tap

BUILD = os.path.join(TOP, "build", "bench")
RELEASED = os.path.join(TOP, "build", "released", "linux-x86_64", "bin", "buckle")
MEMORY = "/dev/shm"
PAUSE = "40000"  # µs after each launch, in which the kernel frees namespaces
NOBODY = 65534
COMMANDS = {"launch of /bin/true": ["run", "--", "/bin/true"],
            "the same, with a gate": ["run", "--allow-net", "example.com", "--", "/bin/true"],
            "buckle --version": ["--version"]}


def times(folder, uid, repetitions, commands):
    words = []
    for argv in commands:
        words += ["--", *("---" if word == "--" else word for word in argv)]
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": folder, "LC_ALL": "C.UTF-8", "XDG_RUNTIME_DIR": folder}
    how = {} if uid == os.geteuid() else {"user": uid, "group": uid, "extra_groups": []}
    done = subprocess.run([os.path.join(folder, "bench-launch"), str(repetitions), PAUSE, *words], env=env,
                          cwd=os.path.join(folder, "work"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, check=True, **how)
    return [Spread([float(n) for n in line.split()]) for line in done.stdout.splitlines()]


def furnish(uid):
    folder = tempfile.mkdtemp(prefix="released-", dir=MEMORY)
    os.mkdir(os.path.join(folder, "work"))
    subprocess.run(["strip", "-o", os.path.join(folder, "dynamic"), os.path.join(BUILD, "buckle-shared")], check=True)
    shutil.copy(RELEASED, os.path.join(folder, "released"))
    shutil.copy(os.path.join(BUILD, "tests", "bench", "bench-launch"), folder)
    subprocess.run(["chown", "-R", f"{uid}:{uid}", folder], check=True)
    os.chmod(folder, 0o755)
    return folder


def main(words):
    page, targets = Page("released"), Targets()
    repetitions = 31 if "--quick" in words else 101
    rows = []
    for who, uid in [("root", 0), ("an ordinary user", NOBODY)] if os.geteuid() == 0 else [("an ordinary user", os.geteuid())]:
        folder = furnish(uid)
        for name, argv in COMMANDS.items():
            dynamic, released = times(folder, uid, repetitions,
                                      [[os.path.join(folder, one), *argv] for one in ("dynamic", "released")])
            ratio = released.over(dynamic)
            rows.append([f"{name}, as {who}", dynamic.show(1000), released.show(1000), ratio.show(digits=2)])
            targets.judge(f"{name}, released × dynamic, as {who}", ratio, 1.0, 1.2)
        shutil.rmtree(folder, ignore_errors=True)
    sizes = ", ".join(f"{name} {os.path.getsize(path):,}" for name, path in (("released", RELEASED),))
    progress(f"bytes: {sizes}")
    page.table("The released program against the dynamic one", ["", "dynamic, µs", "released, µs", "released × dynamic"],
               rows)
    if "--write" in words:
        page.write()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
