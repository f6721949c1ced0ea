# SPDX-License-Identifier: Apache-2.0
"""Numbers, targets and tables, shared by the benchmarks."""

import json
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "lib"))

import tap  # noqa: E402

PAGE = os.path.join(TOP, "docs", "performance.md")
NOISE = 0.10  # what a busy machine adds or takes


def progress(text):
    print("= " + text)
    sys.stdout.flush()


class Spread:
    """Median and outer deciles of some samples."""

    def __init__(self, samples):
        ordered = sorted(samples)
        self.samples = samples
        self.p10, self.median, self.p90 = (ordered[int(q * (len(ordered) - 1) + 0.5)]
                                           for q in (0.1, 0.5, 0.9))

    def least(self):
        """Lower 95 % confidence bound of the median."""
        ordered = sorted(self.samples)
        n = len(ordered)
        return ordered[max(0, int(n / 2 - 0.98 * n ** 0.5))]

    def most(self):
        """Upper 95 % confidence bound of the median."""
        ordered = sorted(self.samples)
        n = len(ordered)
        return ordered[min(n - 1, int(n / 2 + 0.98 * n ** 0.5))]

    def over(self, other):
        """Ratios, repetition by repetition."""
        return Spread([a / b for a, b in zip(self.samples, other.samples)])

    def scaled(self, unit):
        return Spread([s / unit for s in self.samples])

    def show(self, unit=1.0, digits=0):
        numbers = [f"{v / unit:,.{digits}f}" for v in (self.median, self.p10, self.p90)]
        return f"{numbers[0]} ({numbers[1]}–{numbers[2]})"


class Page:
    """What goes between two marks in docs/performance.md."""

    def __init__(self, mark):
        self.begin, self.end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
        self.lines = []

    def text(self, *lines):
        self.lines += ["", *lines]

    def table(self, title, head, rows):
        self.text(f"### {title}", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|")
        self.lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]

    def write(self):
        with open(PAGE, encoding="utf-8") as f:
            before, rest = f.read().split(self.begin)
        body = "\n".join(self.lines).strip("\n")
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(f"{before}{self.begin}\n\n{body}\n\n{self.end}{rest.split(self.end)[1]}")


class Targets:
    """Each target and its measurement: PASS; FLOOR, when the kernel alone takes longer; NEAR, missed
    within the noise; or MISS. Missing a target is not a failure; exceeding its ceiling is, so that costs cannot grow unnoticed."""

    def __init__(self):
        self.rows = []

    def judge(self, name, got, target, ceiling, floor=None, digits=2):
        word = ("PASS" if got.median <= target else
                "NEAR" if got.median <= target * (1 + NOISE) else "MISS")
        least = floor.show(digits=digits) if floor else "–"
        if floor and word != "PASS" and floor.least() > target:
            word = "FLOOR"
        shown = got.show(digits=digits)
        progress(f"{word}  {name}: {shown}, target at most {target:g}"
            + (f", floor {least}" if floor else ""))
        tap.ok(got.median <= ceiling, f"{name}: at most {ceiling:g}", shown)
        self.rows.append([name, f"{target:g}", shown, least, word])


class Server:
    """A client of `buckle mcp`."""

    def __init__(self, program, work, *words, **how):
        self.child = subprocess.Popen([program, "mcp", "--shell", "/bin/sh", *words], cwd=work, bufsize=0,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, **how)
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "bench", "version": "1"}})

    def ask(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        answer, rest = b"", self.child.stdout.fileno()
        while not answer.endswith(b"\n"):
            answer += os.read(rest, 1 << 16)
        return json.loads(answer)

    def run(self):
        facts = self.ask("tools/call", {"name": "bash", "arguments": {"command": "true"}})
        return facts["result"]["structuredContent"]["exitCode"]

    def end(self):
        self.child.stdin.close()
        self.child.wait()
