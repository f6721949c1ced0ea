# SPDX-License-Identifier: Apache-2.0
"""Whole workloads: what is prepared in a folder, and the shell script that is then measured repeatedly."""

import os
import shutil
import subprocess

PACKAGES = ["lodash@4.17.21", "rxjs@7.8.1"]


def need(program, path):
    if not shutil.which(program, path=path):
        raise LookupError(f"{program} is not installed")


def sources(bench):
    """A repository of 3,000 files, and a Makefile that compiles some of them."""
    tree = os.path.join(bench.work, "tree")
    for i in range(60):
        os.makedirs(f"{tree}/part{i}/deep")
        for k in range(50):
            with open(f"{tree}/part{i}/{'deep/' if k % 2 else ''}file{k}.c", "w", encoding="utf-8") as f:
                f.write("".join(f"int value_{i}_{k}_{n} = {n};\n" for n in range(200)))
    with open(bench.work + "/Makefile", "w", encoding="utf-8") as f:
        f.write("OBJECTS = $(patsubst %,%.o,$(shell seq 40))\nall: $(OBJECTS)\n$(OBJECTS): %.o:\n"
                "\t@$(CC) -O1 -c -o $@ -include stdio.h -include stdlib.h -include string.h "
                "-x c tree/part$*/file0.c\n")
    bench.own()


class InSources:
    """A program that works on those sources."""

    def __init__(self, name, program, script, loops, reads=True, ceiling=1.5):
        self.name, self.program, self.script, self.loops = name, program, script, loops
        self.reads, self.ceiling, self.repetitions = reads, ceiling, 20

    def prepare(self, bench, path):
        need(self.program, path)
        sources(bench)
        if self.program == "git":
            bench.call("sh", "-ec", "git init -q . && git add -A && git commit -q -m x",
                       cwd=bench.work + "/tree")
        return self.script


class GitWork:
    name, loops, reads, ceiling, repetitions = "git clone, status, commit of 1,000 files", 2, False, 5, 9

    @staticmethod
    def prepare(bench, path):
        need("git", path)
        os.mkdir(bench.work + "/source")
        for i in range(1000):
            with open(f"{bench.work}/source/file{i}", "w", encoding="utf-8") as f:
                f.write(f"{i}\n" * 20)
        bench.own()
        bench.call("sh", "-ec", "git init -q . && git add -A && git commit -q -m x",
                   cwd=bench.work + "/source")
        return ("git clone -q source clone.$$ && cd clone.$$ && git status >/dev/null && "
                "echo x >>file1 && git commit -q -a -m y && cd .. && rm -rf clone.$$")


class NpmWork:
    name, loops, reads, ceiling, repetitions = "npm ci of 3,000 files", 1, False, 2, 5

    @staticmethod
    def prepare(bench, path):
        need("npm", path)
        npm = f"npm --no-audit --no-fund --no-update-notifier --cache {bench.work}/cache"
        try:
            # the caller's environment has the registry's settings; twice, because npm's last download
            # is not always in its cache when it exits
            subprocess.run(["sh", "-ec", f"{npm} install {' '.join(PACKAGES)} && {npm} ci"],
                           cwd=bench.work, timeout=120, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        except (subprocess.SubprocessError, OSError):
            raise LookupError("the npm registry is not reachable") from None
        bench.own()
        return npm + " --offline ci"


# long enough that the launch is a small part
ALL = [
    InSources("make -j2 of 40 files", "make", "rm -f *.o; make -s -j2", 1, reads=False, ceiling=1.5),
    GitWork,
    NpmWork,
    InSources("rg", "rg", "rg -c 'value_5_[0-9]*_19;' tree || test $? = 1", 15),
    InSources("grep -r", "grep", "grep -rc 'value_5_7_19;' tree || test $? = 1", 10),
    InSources("find", "find", "find tree -size +100k -newer Makefile", 25),
    InSources("git status", "git", "(cd tree; touch part1/file0.c; git status)", 25),
]
