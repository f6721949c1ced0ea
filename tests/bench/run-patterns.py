#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading costs where a pattern denies names in the working folder; prints TAP.

    tests/bench/run-patterns.py [--write] [--quick]

$BUCKLE is the program, or that of the benchmarks' build. Each figure is a ratio of interleaved pairs:
with the pattern and without it, around the same work in a tree of 6,500 files; and launches in a folder
of 100,000 files and of 10, both with the pattern, after a first run, in a session and without one. A row fails if its median is, with
95 % confidence, more than a tenth above the target; the last one has a higher ceiling. --write writes the table in docs/performance.md.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure import NOISE, TOP, Page, Server, Spread, progress, tap

import fusable

PROGRAM = os.environ.get("BUCKLE", os.path.join(TOP, "build", "bench", "buckle"))
NOBODY = 65534
PATTERN = ["--deny-read", "**/.env"]
WORK = {
    "rg": "for i in 1 2 3 4 5; do rg -c value_5_7_19 tree; done",
    "grep -r": "for i in 1 2 3; do grep -rc value_5_7_19 tree; done",
    "find": "for i in 1 2 3 4 5 6 7 8; do find tree -size +100k -newer Makefile; done",
    "git status": "cd tree; for i in 1 2 3 4 5 6 7 8; do touch part1/file0.c; git status; done",
}


class Bench:
    def __init__(self, uid):
        self.uid = uid
        self.top = tempfile.mkdtemp(prefix="patterns-")
        self.home, self.work = os.path.join(self.top, "home"), os.path.join(self.top, "work")
        self.program = os.path.join(self.top, "buckle")
        shutil.copy(PROGRAM, self.program)
        for folder in (self.home, self.work, self.work + "/tree"):
            os.mkdir(folder)
        self.sources(self.work + "/tree", 65, 100)
        with open(self.work + "/Makefile", "w", encoding="utf-8") as f:
            f.write("all:\n")
        self.few, self.many = os.path.join(self.top, "few"), os.path.join(self.top, "many")
        self.sources(self.few, 1, 10)
        self.sources(self.many, 1000, 100)
        subprocess.run(["chown", "-R", f"{uid}:{uid}", self.top], check=True)
        os.chmod(self.top, 0o755)
        git = "git -c user.name=n -c user.email=e@example.com"
        self.call(["sh", "-ec", f"git init -q . && {git} add -A && {git} commit -qm x && git gc -q"], self.work + "/tree")

    @staticmethod
    def sources(top, parts, each):
        for i in range(parts):
            os.makedirs(f"{top}/part{i}/deep")
            if i < 5:
                with open(f"{top}/part{i}/.env", "w", encoding="utf-8") as f:
                    f.write("SECRET=1\n")
            for k in range(each):
                with open(f"{top}/part{i}/{'deep/' if k % 2 else ''}file{k}.c", "w", encoding="utf-8") as f:
                    f.write("".join(f"int value_{i}_{k}_{n};\n" for n in range(20)) if parts < 500 else "")

    def env(self):
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.home, "LC_ALL": "C.UTF-8", "XDG_RUNTIME_DIR": self.home}

    def call(self, words, cwd):
        how = {} if self.uid == os.geteuid() else {"user": self.uid, "group": self.uid, "extra_groups": []}
        began = time.perf_counter()
        subprocess.run(words, cwd=cwd, env=self.env(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False, **how)
        return time.perf_counter() - began

    def pairs(self, n, one, other):
        """Two calls in turns, after one of each that does not count."""
        got = ([], [])
        for i in range(n + 2):
            for k, (words, cwd) in enumerate((one, other)):
                took = self.call(words, cwd)
                if i > 1:
                    got[k].append(took)
                time.sleep(0.01)
        return Spread(got[0]).over(Spread(got[1]))

    def run(self, *flags):
        return [self.program, "run", "--report", "none", *flags, "--"]


    def session(self, n):
        """The next command of a session in the large folder, over the same in the small one."""
        settings = os.path.join(self.top, "settings.json")
        with open(settings, "w", encoding="utf-8") as f:
            json.dump({"filesystem": {"denyRead": [PATTERN[-1]]}}, f)
        os.chmod(settings, 0o644)
        how = {} if self.uid == os.geteuid() else {"user": self.uid, "group": self.uid, "extra_groups": []}
        how["env"] = self.env()
        ends = [Server(self.program, cwd, "--settings", settings, **how) for cwd in (self.many, self.few)]
        got = ([], [])
        for i in range(n + 3):
            for k, end in enumerate(ends):
                time.sleep(0.15)  # until there is a spare
                began = time.perf_counter()
                end.run()
                if i > 2:
                    got[k].append(time.perf_counter() - began)
        for end in ends:
            end.end()
        return Spread(got[0]).over(Spread(got[1]))


def judge(rows, name, got, target, ceiling=None):
    word = "PASS" if got.median <= target else "NEAR" if got.median <= target * (1 + NOISE) else "MISS"
    progress(f"{word}  {name}: {got.show(digits=2)}, at least {got.least():.2f}, target at most {target:g}")
    ceiling = ceiling or target * (1 + NOISE)
    tap.ok(got.least() <= ceiling, f"{name}: at most {ceiling:.2f}", got.show(digits=2))
    rows.append([name, f"{target:g}", got.show(digits=2), word])


def measure(uid, who, n, rows):
    bench = Bench(uid)
    time.sleep(3)  # what has just changed is searched again in each run
    guarded = os.path.join(bench.top, "guarded.sb")
    with open(guarded, "w", encoding="utf-8") as f:
        f.write(f'(version 1)\n(import "default.sb")\n'
                f'(deny file-read-data (regex #"^{bench.work}/tree/.*\\.key$"))\n')
    os.chmod(guarded, 0o644)
    for name, script in WORK.items():
        words = ["sh", "-c", script]
        plain = (bench.run() + words, bench.work)
        judge(rows, f"{name}, with a pattern × without, as {who}",
              bench.pairs(n, (bench.run(*PATTERN) + words, bench.work), plain), 1.05)
        judge(rows, f"{name}, in a folder with one denied name × without, as {who}",
              bench.pairs(n, (bench.run("--profile", guarded) + words, bench.work), plain), 1.3)
    judge(rows, f"next command of a session with 100,000 files × with 10, as {who}", bench.session(2 * n), 1.1)
    # a later run looks at each folder once: this one has 2,000
    judge(rows, f"launch with 100,000 files × with 10, without a session, from the second run on, as {who}",
          bench.pairs(4 * n, (bench.run(*PATTERN) + ["true"], bench.many),
                      (bench.run(*PATTERN) + ["true"], bench.few)), 1.1, ceiling=2)
    shutil.rmtree(bench.top, ignore_errors=True)


def main(words):
    if not fusable.usable():
        tap.skip("/dev/fuse is not open to everybody here")
        return tap.done()
    page, rows = Page("patterns"), []
    for who, uid in [("root", 0), ("an ordinary user", NOBODY)] if os.geteuid() == 0 else [("an ordinary user", os.geteuid())]:
        measure(uid, who, 5 if "--quick" in words else 15, rows)
    page.table("Patterns in the working folder", ["", "at most", "measured", ""], rows)
    if "--write" in words:
        page.write()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
