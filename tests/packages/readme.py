# SPDX-License-Identifier: Apache-2.0
"""What the README of the wheel shows, run by its tests in a virtual environment."""

import json
import os
import sys
from typing import List

import buckle


def outcomes() -> List[object]:
    """Every part of the interface once; run in an empty folder."""
    result = buckle.run(["sh", "-c", "echo hi; echo x >in; echo x >../out"], capture_output=True)
    denied = [(event.operation, os.path.basename(event.target)) for event in result.denied]
    ended = buckle.run(["sh", "-c", "kill -9 $$"])
    late = buckle.run(["sleep", "30"], timeout=1)
    lines = [event.operation for event in buckle.Run(["sh", "-c", "echo x >../out"], stderr=buckle.DEVNULL)]
    hosts: List[str] = []

    def on_question(question: buckle.Question) -> bool:
        hosts.append(question.host)
        return False

    buckle.run([os.path.join(os.path.dirname(sys.executable), "buckle"), "connect", "asked.example", "443"],
               on_question=on_question, stderr=buckle.DEVNULL)
    ready = buckle.Run(["false"], stdout=buckle.PIPE, hold=True)
    ready.begin(["sh", "-c", "echo $0; exit 3"])
    later = ready.wait()
    with buckle.Run(["sh", "-c", "echo x >never"], hold=True):
        pass  # closed without a command
    with buckle.Judge(text='(version 1) (deny default) (allow file-read* (subpath "/usr"))') as judge:
        yes, no = judge("file-read-data", "/usr/bin/env"), judge("file-read-data", "/etc/passwd")
    try:
        buckle.Judge(text="(version 1)\n(wrong)")
        line = 0
    except buckle.Error as error:
        line = error.line
    with buckle.Run(["sh", "-c", "until echo x >../granted; do sleep .1; done"],
                    buckle.Policy(tmpdir=None), flags=["grantable"], stderr=buckle.DEVNULL) as run:
        for _ in run:
            run.grant("allow-write", os.path.abspath("../granted"))
            break
        granted = run.wait().status
    return [result.status, (result.stdout or b"").decode(), denied, ended.signal, late.timed_out, lines, hosts,
            yes.allowed, no.allowed, yes.line, line, granted, os.path.exists("in"), os.path.exists("../out"),
            later.status, (later.stdout or b"").decode(), os.path.exists("never")]


def applied() -> str:
    """In a child, since it is for good."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        buckle.apply(buckle.Policy(deny_write=["."]))
        try:
            open("applied", "w", encoding="utf-8").close()
            os.write(write_end, b"written")
        except PermissionError:
            os.write(write_end, b"denied")
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(read_end, 100).decode()


if __name__ == "__main__":
    print(json.dumps([outcomes(), applied(), bool(buckle.plan()), "kernel" in buckle.doctor()]))
