#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a node pays for the agent with more and more containers that wait: memory, start, a scrape of the metrics, a judged call of one that works. Prints
TAP.

    tests/bench/run-node-scale.py [--most=N] [--write]

Needs root, runc and busybox. Containers stay until the end; by default there are 100 of them at most. --write puts the table into docs/scale.md.
"""

import os
import re
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from measure import TOP, progress  # noqa: E402

os.environ.setdefault("BUCKLE", os.path.join(os.environ.get("BENCH_BUILD", os.path.join(TOP, "build", "bench")), "buckle"))

import tap  # noqa: E402
from containers import Agent, all_judges, bundle, root_of, why_not  # noqa: E402
from drive import FOLDER  # noqa: E402

MOST = max([int(a.partition("=")[2]) for a in sys.argv if a.startswith("--most=")], default=100)
STEPS = [n for n in (1, 10, 100, 300, 1000) if n <= MOST]
PORT = 29466
PROFILE = "(version 1)\n(allow default)\n(deny file-write* (regex #\"\\.key$\"))\n"
MIB = 1 << 20
PAGE = os.path.join(TOP, "docs", "scale.md")


def of_process(pid):
    """Bytes: its share of memory and its page tables; and its processor time in seconds."""
    found = {}
    for name in ("smaps_rollup", "status"):
        with open(f"/proc/{pid}/{name}", encoding="utf-8") as f:
            for line in f:
                key, _, rest = line.partition(":")
                if rest.strip().endswith("kB"):
                    found[key] = int(rest.split()[0]) * 1024
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        times = f.read().rsplit(")", 1)[1].split()[11:13]
    return found["Pss"] + found["VmPTE"], sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def metrics():
    """(values, bytes, milliseconds)"""
    began = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=10) as f:
        text = f.read()
    took = (time.monotonic() - began) * 1000
    return dict(re.findall(r"^(buckle_node_\w+) (\S+)$", text.decode(), re.M)), len(text), took


def start(agent, section, name, words):
    folder = bundle(name, words, section)
    subprocess.run(["runc", *root_of("runc"), "run", "-d", "-b", folder, name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


def one_that_works(agent, section):
    """Microseconds of a judged call beside all the others."""
    before = metrics()[0]
    agent.run("scale", "i=0; while [ $i -lt 500 ]; do echo x > /work/a; i=$((i+1)); done", section=section)
    after = metrics()[0]
    calls = float(after["buckle_node_call_seconds_count"]) - float(before["buckle_node_call_seconds_count"])
    return (float(after["buckle_node_call_seconds_sum"]) - float(before["buckle_node_call_seconds_sum"])) / calls * 1e6


def measure(agent, section):
    rows, there = [], 0
    for n in STEPS:
        began, added = time.monotonic(), n - there
        while there < n:
            start(agent, section, f"scale-{there}", ["/bin/sleep", "100000"])
            there += 1
        per_start = (time.monotonic() - began) / added * 1000
        agent.wait(lambda e, n=n: sum(x["event"] == "started" and x["container"].startswith("scale-") for x in e) >= n, 60)
        judges = all_judges(FOLDER)
        call = one_that_works(agent, section)
        cpu = of_process(agent.child.pid)[1]
        scrapes = [metrics() for _ in range(21)]
        time.sleep(2)
        idle = of_process(agent.child.pid)[1] - cpu
        memory = sum(of_process(p)[0] for p in judges) + of_process(agent.child.pid)[0]
        row = [n, len(judges), memory / MIB, memory / MIB / n, per_start, sorted(s[2] for s in scrapes)[10], scrapes[0][1], call, idle]
        rows.append(row)
        progress("{} containers: {} judges, {:.1f} MiB, {:.2f} each, {:.0f} ms a start, {:.2f} ms a scrape of {} bytes, {:.1f} µs a call, {:.2f} s of the agent".format(*row))
    return rows


def write(rows):
    lines = ["| containers | memory of the agent and all judges, MiB | for each, MiB | a start by runc, ms | a scrape, ms | a judged call of one more, µs |",
             "|---|---|---|---|---|---|"]
    lines += [f"| {r[0]:,} | {r[2]:.1f} | {r[3]:.2f} | {r[4]:.0f} | {r[5]:.2f} | {r[7]:.1f} |" for r in rows]
    with open(PAGE, encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"(<!-- scale: begin -->\n).*(<!-- scale: end -->)", lambda m: m[1] + "\n" + "\n".join(lines) + "\n\n" + m[2], text, flags=re.S)
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(text)


def main():
    reason = why_not("runc")
    if reason:
        tap.skip(reason)
        return tap.done()
    agent = Agent({"scale": PROFILE}, f"--metrics={PORT}")
    section = agent.seccomp("scale")
    try:
        rows = measure(agent, section)
    finally:
        for i in range(MOST):
            subprocess.run(["runc", *root_of("runc"), "delete", "-f", f"scale-{i}"], capture_output=True, check=False)
        agent.stop()
    tap.ok(all(r[1] == r[0] for r in rows), "a judge for each container", rows)
    tap.ok(rows[-1][3] <= 1, "at most 1 MiB for each container", rows[-1])
    # the law: what the last step added for each container is what the step before it added
    added = [(b[2] - a[2]) / (b[0] - a[0]) for a, b in zip(rows, rows[1:])]
    tap.ok(max(added) <= 1.25 * min(added), "memory grows linearly", added)
    if "--write" in sys.argv:
        write(rows)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
