#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The one step of action.yml: runs a command under Buckle, and writes outputs and a summary.

block runs the command under the settings. audit runs it under a policy that allows everything and
reports network connections and writes; afterwards the policy of block judges each of them. So audit
shows what block would deny, except for what depends on the state of a run: a file in a folder that
the command itself created counts as denied if its name is protected.

What the command did is data from the sandbox: it may try to forge outputs or the summary with the
names of files and hosts. Outputs hold only what looks like a host, the summary only quoted text.
"""

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

AUDIT = """(version 1)
(allow default)
(allow network-outbound file-write* (with report))
(allow network-outbound (remote ip "localhost:*") (with report))
"""

MOST_ROWS = 200  # of a summary, which may have 1 MiB

HOST = re.compile(r"[A-Za-z0-9_.*:\[\]-]{1,260}")


def lines(name):
    return [line.strip() for line in os.environ.get(name, "").split("\n") if line.strip()]


def find_program():
    """The one that was named, the action's own, or an installed one."""
    machine = {"aarch64": "arm64"}.get(platform.machine(), platform.machine())
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"linux-{machine}", "bin", "buckle")
    found = os.environ.get("BUCKLE_PROGRAM") or (own if os.path.exists(own) else shutil.which("buckle"))
    if not found:
        sys.exit("::error::the action has no buckle for this machine: install it, or name it as program")
    return found


# ---- running ----


class Run:
    def __init__(self, work):
        self.work = work
        self.program = find_program()
        self.audit = os.environ["BUCKLE_MODE"] == "audit"
        self.hosts = lines("BUCKLE_HOSTS")
        self.tmpdir = self.path("tmp")
        os.mkdir(self.tmpdir, 0o700)

    def path(self, name):
        return os.path.join(self.work, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def policy(self):
        """The options that block takes, for `run` and for `profile`."""
        # a list replaces the default, which is the working directory
        writable = [os.path.abspath(path) for path in [".", *lines("BUCKLE_WRITE")]]
        inputs = {"network": {"allowedDomains": self.hosts}, "filesystem": {"allowWrite": writable}}
        files = [self.write("inputs.json", json.dumps(inputs))]
        files += [os.environ["BUCKLE_SETTINGS"]] if os.environ.get("BUCKLE_SETTINGS") else []
        return [f"--tmpdir={self.tmpdir}", *(f"--settings={path}" for path in files)]

    def start(self):
        """Returns the command's status, and the events."""
        # a step's own run is bash as well, and stops at the first failure
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", os.environ["BUCKLE_RUN"]]
        how = [f"--tmpdir={self.tmpdir}", "--shared-tmp", f"--profile={self.write('audit.sb', AUDIT)}"] if self.audit \
            else [*self.policy(), "--watch-net"]
        with open(self.path("events"), "w+", encoding="utf-8", errors="replace") as events:
            argv = [self.program, "run", *how, f"--report=fd:{events.fileno()}", "--", *command]
            status = subprocess.run(argv, pass_fds=[events.fileno()], check=False).returncode
            events.seek(0)
            return status, [json.loads(line) for line in events if line.strip()]

    def judge(self, events):
        """What block would deny of what audit saw."""
        text = subprocess.run([self.program, "profile", *self.policy()], stdout=subprocess.PIPE, check=True).stdout
        profile = self.write("block.sb", text.decode())
        questions = "".join(shlex.join([event["operation"], argument(event)]) + "\n" for event in events)
        answers = subprocess.run([self.program, "eval", "--batch", "--json", "--extension=buckle.private-layer:/tmp",
                                  profile], input=questions.encode(), stdout=subprocess.PIPE, check=True).stdout
        for event, answer in zip(events, answers.decode().splitlines(), strict=True):
            answer = json.loads(answer)
            if answer["verdict"] == "deny" and answer["report"]:
                yield {**event, "verdict": "deny", "rule": answer.get("rule") or {}}


def subject(event):
    return event.get("path") or event.get("target") or ""


def argument(event):
    """As `buckle eval` takes it."""
    if "path" in event or not event["operation"].startswith("network"):
        return subject(event).replace("\n", "?")
    return "tcp:" + (subject(event) if ":" in subject(event) else subject(event) + ":*")


# ---- telling ----


def hosts_of(events):
    named = {subject(event) for event in events if event["operation"] == "network-outbound" and "path" not in event}
    return sorted(host for host in named if HOST.fullmatch(host))


def give(name, value):
    """One line of HOST's characters cannot contain the delimiter."""
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as f:
        f.write(f"{name}<<end of {name}\n" + "".join(f"{line}\n" for line in value) + f"end of {name}\n")


def quoted(text):
    """A table's cell: nothing in it is markup."""
    text = "".join(c if c.isprintable() else "?" for c in text)[:300]
    return "<code>" + "".join(c if c.isalnum() or c in " /._-:*(),@+=~\"'" else f"&#{ord(c)};" for c in text) + "</code>"


def summary(denials, audit):
    counted = {}
    for event in denials:
        rule = event.get("rule") or {}
        place = rule.get("place") or (f"line {rule['line']}" if "line" in rule else "")
        key = (event["operation"], subject(event), event.get("message") or rule.get("text") or place)
        counted[key] = counted.get(key, 0) + 1
    would = "would be denied with `mode: block`" if audit else "denied"
    if not counted:
        return f"### Buckle: nothing {'would be ' if audit else 'was '}denied\n"
    rows = [f"| {count} | {quoted(operation)} | {quoted(what)} | {quoted(why)} |"
            for (operation, what, why), count in sorted(counted.items())]
    more = [f"\n{len(rows) - MOST_ROWS} more\n"] if len(rows) > MOST_ROWS else []
    return "\n".join([f"### Buckle: {len(counted)} different operations {would}", "",
                      "| times | operation | on | rule |", "|---|---|---|---|", *rows[:MOST_ROWS], *more, ""])


def main():
    if os.environ["BUCKLE_MODE"] not in ("audit", "block"):
        sys.exit("::error::mode must be audit or block")
    # the summary and the outputs are written after the run, by paths that the command may know but not change
    with tempfile.TemporaryDirectory(prefix="buckle-") as work:
        run = Run(work)
        status, events = run.start()
        denials = list(run.judge(events)) if run.audit else [e for e in events if e["verdict"] == "deny"]
    give("hosts", hosts_of(events) if run.audit else [host for host in run.hosts if HOST.fullmatch(host)])
    give("denied-hosts", hosts_of(denials))
    give("denials", [str(len(denials))])
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8") as f:
            f.write(summary(denials, run.audit))
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
