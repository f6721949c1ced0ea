#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with special rights: those that work inside, and one line for those that cannot. Prints TAP."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from running import for_everybody, missing
from tap import done, skip


def test_ping(user, t):
    """Its file has a capability, which it does not get."""
    if missing("ping"):
        return skip("ping is not installed")
    folder = user.folder()
    for flags in ([], ["--allow-net", "example.com"], ["--strict-reads"]):
        r = user.run(*flags, "ping", "-c1", "-W2", "127.0.0.1", cwd=folder)
        t.ok(r.status == 0 and "1 received" in r.out and r.err == "", f"ping reaches loopback {flags}", r)
    r = user.run("sh", "-c", "ping -c1 -W2 localhost && grep CapEff /proc/self/status", cwd=folder)
    caps = int(r.out.split()[-1], 16) if r.status == 0 else -1
    t.ok(caps >= 0 and not caps & (1 << 13), "started by a shell, and nothing has net_raw", r)
    for flags in ([], ["--allow-net", "*"], ["--allow-net", "192.0.2.0/24"], ["--profile", "open"]):
        if flags[-1:] == ["open"] and user.call(["sh", "-c", "read low high </proc/sys/net/ipv4/ping_group_range; "
                                                 "[ $low -le $(id -g) ] && [ $(id -g) -le $high ]"]).status == 0:
            continue # the host lets everybody ping
        r = user.run(*flags, "ping", "-c1", "-W1", "192.0.2.1", cwd=folder)
        lines = r.err.strip().split("\n")
        t.ok(r.status != 0 and lines[-1].startswith("buckle: ping cannot reach other hosts from a sandbox: ") and
             "allow with" not in r.err, f"other hosts: one line {flags}", r)
    return None


def test_perf(user, t):
    if missing("perf"):
        return skip("perf is not installed")
    folder = user.folder()
    count = ["perf", "stat", "-e", "page-faults", "true"]
    if user.call(count, cwd=folder).status:
        return skip("the host does not let users measure")
    r = user.run(*count, cwd=folder)
    t.ok(r.status != 0 and r.err.strip().split("\n")[-1].startswith("buckle: perf cannot measure: ") and "--allow-perf" in r.err,
         "nothing is measured without the flag, and one line names it", r)
    r = user.run("--allow-perf", *count, cwd=folder)
    t.ok(r.status == 0 and "page-faults" in r.err, "its own processes with it", r)
    r = user.run("--allow-perf", "perf", "stat", "-a", "-e", "page-faults", "true", cwd=folder)
    t.ok(r.status != 0 and "--allow-perf" not in r.err, "but no processor, on which others run", r)
    return None


# a command that fails inside; the name that the line begins with
HOPELESS = (("sudo -n true", "sudo"), ("mount -t tmpfs none /mnt", "mount"), ("umount /proc", "umount"),
            ("apt-get install -y buckle-no-such-package hello", "apt-get"), ("docker ps", "docker"))


def test_hints(user, t):
    """The last line says why and what to do; no flag is suggested that would not help."""
    folder = user.folder()
    for command, name in HOPELESS:
        if missing(name):
            skip(f"{name} is not installed")
            continue
        for words in (command.split(), ["sh", "-c", f"cd . && X=1 {command}"]):
            r = user.run(*words, cwd=folder, stdin=b"")
            lines = r.err.strip().split("\n")
            said = [line for line in lines if "cannot work in a sandbox" in line]
            t.ok(r.status != 0 and len(said) == 1 and lines[-1] == said[0] and
                 said[0].startswith(f"buckle: {name} cannot work in a sandbox: ") and "allow with" not in r.err and
                 "to allow it" not in r.err, f"{' '.join(words)}: one line", r)
    for words in (["sh", "-c", "echo sudo; false"], ["sh", "-c", "mount >/dev/null"], ["false"],
                  ["sh", "-c", "true sudo; exit 1"]):
        r = user.run(*words, cwd=folder)
        t.ok("cannot work" not in r.err, f"{words[-1]}: none", r)
    r = user.run("--report", "none", "mount", "-t", "tmpfs", "none", "/mnt", cwd=folder)
    t.ok("buckle:" not in r.err, "none where nothing is to be reported", r)


def main():
    for_everybody([test_ping, test_perf, test_hints])
    return done()


if __name__ == "__main__":
    sys.exit(main())
