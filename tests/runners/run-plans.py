#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares each tests/golden-plan/NAME.sb with the plan beside it, NAME.plan; prints TAP.

    tests/runners/run-plans.py [--accept] [NAME…]

The plan is the output of `buckle run --dry-run` for an ordinary user on a pretended host with all
features. NAME.host changes that host, NAME.args has further arguments. --accept rewrites the plans:
read the diff before you commit it. The program is $BUCKLE.
"""

import difflib
import json
import os
import platform
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden-plan")
BUCKLE = os.path.abspath(os.environ.get("BUCKLE", "buckle"))
HOST = ("root=0,landlock=7,seccomp_notify=1,notify_addfd=1,notify_killable=1,notify_sync=1,"
        "listener_taken=0,read_memory=1,pidfd_getfd=1,user_ns=1,mount_ns=1,pid_ns=1,mount_proc=1,"
        "net_ns=1,ipc_ns=1,uts_ns=1,fuse=1,nftables=1,nft_tproxy=1,cgroup=1,kernel=6.18.0")


def read(path, default=""):
    if not os.path.exists(path):
        return default
    with open(path, encoding="utf-8") as f:
        return f.read()


def plan(name, *more):
    base = os.path.join(FOLDER, name)
    host = ",".join(filter(None, [HOST, read(base + ".host").strip()]))
    args = shlex.split(read(base + ".args"))
    return subprocess.run([BUCKLE, "run", "--dry-run", "--profile", name + ".sb", *args, *more,
                           "--", "true"], cwd=FOLDER, env=dict(os.environ, BUCKLE_PRETEND=host),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, text=True,
                          errors="replace")


def check_json(name):
    done = plan(name, "--json")
    try:
        data = json.loads(done.stdout)
    except ValueError as e:
        tap.ok(False, f"{name}: JSON", str(e), done.stdout[:400])
        return
    judged = sorted(c["name"] for c in data["calls"]
                    if "judge" in [c["action"]] + [t["action"] for t in c.get("tests", [])])
    text = plan(name).stdout
    tap.ok(bool(judged) == data["judge"] and all(f"{n}" in text for n in judged),
           f"{name}: JSON and text name the same judged calls")


def main():
    names = [a for a in sys.argv[1:] if a != "--accept"]
    accept = "--accept" in sys.argv[1:]
    if platform.machine() != "x86_64":
        tap.skip("the stored plans are those of x86-64")
        return tap.done()
    if not names:
        names = sorted(f[:-3] for f in os.listdir(FOLDER) if f.endswith(".sb"))
    for name in names:
        path = os.path.join(FOLDER, name + ".plan")
        done = plan(name)
        if done.returncode:
            tap.ok(False, f"{name}: exit status {done.returncode}", done.stdout)
            continue
        if accept:
            with open(path, "w", encoding="utf-8") as f:
                f.write(done.stdout)
        want = read(path)
        diff = difflib.unified_diff(want.splitlines(), done.stdout.splitlines(), "expected", "got",
                                    lineterm="")
        tap.ok(done.stdout == want, f"{name}: plan as expected", *diff)
        check_json(name)
    tap.ok(names, "there are stored plans")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
