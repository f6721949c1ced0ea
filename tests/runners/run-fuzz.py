#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs each libFuzzer program of build/fuzz for $FUZZ_SECONDS; prints TAP.

New inputs go to build/fuzz/corpus, findings to build/fuzz/findings; the corpora in the tree stay
unchanged. Add each finding to tests/fuzz/corpus, together with its fix.
"""

import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECONDS = int(os.environ.get("FUZZ_SECONDS", "20"))


def fuzz(name):
    program = os.path.join(TOP, "build", "fuzz", "tests", "fuzz-" + name)
    grown = os.path.join(TOP, "build", "fuzz", "corpus", name)
    findings = os.path.join(TOP, "build", "fuzz", "findings", name) + "/"
    os.makedirs(grown, exist_ok=True)
    os.makedirs(findings, exist_ok=True)
    dictionary = os.path.join(TOP, "tests", "fuzz", name + ".dict")
    options = [f"-dict={dictionary}"] if os.path.exists(dictionary) else []
    done = subprocess.run(
        [program, grown, os.path.join(TOP, "tests", "fuzz", "corpus", name), *options,
         f"-max_total_time={SECONDS}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1",
         f"-artifact_prefix={findings}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    runs = [line.rpartition(":")[2].strip() for line in done.stdout.split("\n")
            if line.startswith("stat::number_of_executed_units")]
    tail = done.stdout.rstrip().split("\n")[-40:]
    print(f"= {name}: {runs[0] if runs else 0} runs")
    tap.ok(done.returncode == 0, f"{name}: {runs[0] if runs else 'no'} runs without a finding",
           *tail)


def main():
    names = sys.argv[1:] or [os.path.basename(f)[len("fuzz-"):-2] for f in sorted(
        glob.glob(os.path.join(TOP, "tests", "fuzz", "fuzz-*.c")))]
    for name in names:
        fuzz(name)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
