#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Containers under the node agent, beside `buckle run` with the same profile and program: what a judged call takes with all of them at once, and what each
container costs in memory. Prints TAP.

    tests/bench/run-node.py [--quick] [--write]

runc puts each container into a CPU group of its own, and there the kernel takes longer to hand a call over. So there are two sides of `buckle run`: as it is, and
with each program in a group like a container's, where only the judges differ. The bound is on both. All sides take turns, in three rounds. Needs root and runc.
--write puts the tables into docs/performance.md; --quick makes fewer. The program is $BUCKLE, or that of build/bench.
"""

import array
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from measure import TOP, Page, progress  # noqa: E402

os.environ.setdefault("BUCKLE", os.path.join(os.environ.get("BENCH_BUILD", os.path.join(TOP, "build", "bench")), "buckle"))

import tap  # noqa: E402
from containers import Agent, all_judges, bundle, root_of, why_not  # noqa: E402
from drive import BUCKLE, FOLDER  # noqa: E402
from world import all_processes  # noqa: E402

QUICK = "--quick" in sys.argv
ROUNDS = 1 if QUICK else 3
MANY = 20 if QUICK else 100
CALLS = 1000
PAUSE_US = 10000
MIB = 1 << 20
BOUND = 1.5
PLAIN, GROUPED, JUDGED = "buckle run", "buckle run, a group each", "containers"
# a pattern, so that no wall can decide
PROFILE = """(version 1)
(allow default)
(deny file-write* (regex #"\\.key$"))
"""


def build():
    """The program, in the folder that both sides see as /bench."""
    shared = os.path.join(FOLDER, "bench")
    os.mkdir(shared)
    subprocess.run(["cc", "-O2", "-static", "-o", os.path.join(shared, "calls"), os.path.join(TOP, "tests", "bench", "node-calls.c")], check=True)
    with open(os.path.join(shared, "target"), "wb"):
        pass
    return shared


def words(shared, i, calls, pause):
    return [f"{shared}/{p}" for p in ("calls", "go", "target", f"out{i}")] + [str(calls), str(pause)]


class Containers:
    def __init__(self, agent, shared):
        self.agent, self.shared = agent, shared
        self.section = agent.seccomp("bench")
        self.count = 0

    def start(self, n, calls, pause=PAUSE_US):
        children = []
        for i in range(n):
            self.count += 1
            name = f"bench-{os.getpid()}-{self.count}"
            folder = bundle(name, words("/bench", i, calls, pause), self.section)
            config = os.path.join(folder, "config.json")
            with open(config, encoding="utf-8") as f:
                text = f.read()
            with open(config, "w", encoding="utf-8") as f:
                f.write(text.replace('"mounts": [', '"mounts": [{"destination": "/bench", "type": "bind", "source": "' + self.shared + '", "options": ["bind"]}, ', 1))
            children.append(subprocess.Popen(["runc", *root_of("runc"), "run", "-b", folder, name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL))
            if i % 4 == 3:
                self.wait_for(self.count)
        self.wait_for(self.count)
        return children

    def wait_for(self, n):
        if not self.agent.wait(lambda e: sum(x["event"] == "started" for x in e) >= n, 120):
            raise RuntimeError("containers do not start")


class Sandboxes:
    def __init__(self, profile, shared):
        self.profile, self.shared = profile, shared

    def start(self, n, calls, pause=PAUSE_US):
        children = [subprocess.Popen([BUCKLE, "run", "--profile", self.profile, "--", *words(self.shared, i, calls, pause)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, cwd="/") for i in range(n)]
        until = time.monotonic() + 120
        while not all(os.path.exists(f"{self.shared}/out{i}") for i in range(n)) and time.monotonic() < until:
            time.sleep(0.05)
        return children


def group_folder():
    """Where runc makes the CPU groups of containers, or none."""
    if os.path.isdir("/sys/fs/cgroup/cpu"):
        return "/sys/fs/cgroup/cpu"
    try:
        with open("/sys/fs/cgroup/cgroup.subtree_control", encoding="ascii") as f:
            return "/sys/fs/cgroup" if "cpu" in f.read().split() else None
    except OSError:
        return None


class Grouped(Sandboxes):
    """Each program in a CPU group of its own, as runc's containers are; its judge stays outside, as theirs do."""

    def __init__(self, profile, shared, folder):
        super().__init__(profile, shared)
        self.folder, self.groups = folder, []

    def start(self, n, calls, pause=PAUSE_US):
        children = super().start(n, calls, pause)
        until = time.monotonic() + 10  # those before may still be ending
        programs = []
        while len(programs) != n and time.monotonic() < until:
            programs = [pid for pid, name, _ in all_processes() if name == "calls"]
            time.sleep(0.05)
        if len(programs) != n:
            raise RuntimeError(f"{n} sandboxes run {len(programs)} programs")
        for pid in programs:
            self.groups.append(os.path.join(self.folder, f"bench-{os.getpid()}-run-{len(self.groups)}"))
            os.mkdir(self.groups[-1])
            with open(os.path.join(self.groups[-1], "cgroup.procs"), "w", encoding="ascii") as f:
                f.write(str(pid))
        return children

    def remove(self):
        for group in self.groups:
            os.rmdir(group)


def measure(side, shared, n, calls, pause=PAUSE_US):
    """Microseconds of all calls of n at once."""
    for name in os.listdir(shared):
        if name == "go" or name.startswith("out"):
            os.unlink(os.path.join(shared, name))
    children = side.start(n, calls, pause)
    time.sleep(0.3)
    with open(os.path.join(shared, "go"), "wb"):
        pass
    failed = [c.wait(600) for c in children]
    if any(failed):
        raise RuntimeError(f"{side}: {failed}")
    samples = array.array("I")
    for i in range(n):
        with open(f"{shared}/out{i}", "rb") as f:
            samples.frombytes(f.read())
    return samples


def percentile(samples, q):
    ordered = sorted(samples)
    return ordered[int(q * (len(ordered) - 1))] / 1000


def all_sides(agent, shared):
    profile, folder = os.path.join(agent.profiles, "bench.sb"), group_folder()
    sides = {PLAIN: Sandboxes(profile, shared)}
    if folder:
        sides[GROUPED] = Grouped(profile, shared, folder)
    sides[JUDGED] = Containers(agent, shared)
    return sides


def ratio_row(n, base, rounds):
    """Containers beside another side: both percentiles of all calls."""
    ratios, spreads = [], []
    for q in (0.5, 0.99):
        ours, theirs = (sum((r[name] for r in rounds), array.array("I")) for name in (JUDGED, base))
        each = [percentile(r[JUDGED], q) / percentile(r[base], q) for r in rounds]
        ratios.append(percentile(ours, q) / percentile(theirs, q))
        spreads.append(f"{min(each):.2f}–{max(each):.2f}")
    progress(f"{n} at once: a judged call takes {ratios[0]:.2f} times as long as in {base} (p50), {ratios[1]:.2f} (p99); rounds {', '.join(spreads)}")
    row = [n, f"containers / {base}", *(f"{r:.2f}" for r in ratios), "rounds: " + ", ".join(spreads)]
    tap.ok(max(ratios) <= BOUND, f"{n} at once: within {BOUND} times {base}", row)
    return row


def latency(page, agent, shared, sides):
    rows = []
    for n in (1, MANY):
        rounds = [{name: measure(side, shared, n, CALLS) for name, side in sides.items()} for _ in range(ROUNDS)]
        for name in sides:
            samples = sum((r[name] for r in rounds), array.array("I"))
            rows.append([n, name, f"{percentile(samples, 0.5):.1f}", f"{percentile(samples, 0.99):.1f}", len(samples)])
        rows += [ratio_row(n, base, rounds) for base in sides if base != JUDGED]
    ended = [e for e in agent.events("ended")]
    agent.wait(lambda e: sum(x["event"] == "ended" for x in e) >= ROUNDS * (1 + MANY))
    ended = agent.events("ended")
    tap.ok(all(e["judged"] >= CALLS for e in ended), "every call was judged", min(e["judged"] for e in ended))
    page.table(f"A judged call in µs: {CALLS} calls each, {PAUSE_US // 1000} ms apart", ["at once", "what", "p50", "p99", "calls"], rows)


def of_process(pid):
    """Bytes: its share of memory, what is its own, and its page tables."""
    found = {}
    for name in ("smaps_rollup", "status"):
        with open(f"/proc/{pid}/{name}", encoding="utf-8") as f:
            for line in f:
                key, _, rest = line.partition(":")
                if rest.strip().endswith("kB"):
                    found[key] = int(rest.split()[0]) * 1024
    return found["Pss"], found["Private_Clean"] + found["Private_Dirty"], found["VmPTE"]


def memory(page, agent, shared):
    side = Containers(agent, shared)
    side.count = sum(e["event"] == "started" for e in agent.events())
    rows, points = [], []
    for n in (1, MANY // 10, MANY // 4, MANY // 2, MANY):
        for name in os.listdir(shared):
            if name == "go" or name.startswith("out"):
                os.unlink(os.path.join(shared, name))
        children = side.start(n, 10, 1000)
        time.sleep(0.3)
        judges = all_judges(FOLDER)
        parts = [of_process(pid) for pid in judges] or [(0, 0, 0)]
        agent_own = of_process(agent.child.pid)
        total = sum(p[0] + p[2] for p in parts) + agent_own[0] + agent_own[2]
        points.append((n, total))
        rows.append([n, len(judges), f"{total / MIB:.2f}", f"{max(p[1] for p in parts) / 1024:.0f}", f"{max(p[2] for p in parts) / 1024:.0f}"])
        with open(os.path.join(shared, "go"), "wb"):
            pass
        for c in children:
            c.wait(120)
        agent.wait(lambda e: sum(x["event"] == "ended" for x in e) == sum(x["event"] == "started" for x in e))
    each = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])
    middle = [(t - points[0][1]) / (n - points[0][0]) for n, t in points[1:]]
    progress(f"memory for each container: {each / 1024:.0f} KiB; between the points {min(middle) / 1024:.0f} to {max(middle) / 1024:.0f} KiB")
    tap.ok(all(int(r[1]) == r[0] for r in rows), "a judge for each container", rows)
    tap.ok(each <= MIB, "at most 1 MiB for each container", each)
    tap.ok(max(middle) <= 1.25 * min(middle), "memory grows linearly", middle)
    page.table("Memory of the agent and its judges, their page tables included", ["containers", "judges", "MiB in all", "own memory of a judge, KiB", "page tables of a judge, KiB"], rows)
    page.text(f"Each container adds {each / 1024:.0f} KiB.")


def main():
    reason = why_not("runc")
    if reason or not shutil.which("cc"):
        tap.skip(reason or "there is no compiler")
        return tap.done()
    shared = build()
    agent = Agent({"bench": PROFILE})
    page, sides = Page("node"), all_sides(agent, shared)
    try:
        latency(page, agent, shared, sides)
        memory(page, agent, shared)
    finally:
        agent.stop()
        if GROUPED in sides:
            sides[GROUPED].remove()
    if "--write" in sys.argv:
        page.write()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
