#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Demonstrates what docs/threat-model.md does not promise: each limit is exactly as described. If you
close one, its test here shows which sentence to remove. Prints TAP.
"""

import glob
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import fusable  # first: it may start the program again
from machine import disk
from running import BUCKLE, for_everybody
from tap import done, skip
from world import child_named


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def test_linked_before(user, t):
    """A hard-linked file can be changed by one name; its other name stays out of reach."""
    folder, other = user.folder(), user.folder("other")
    victim = user.write(other + "/victim", "before\n")
    os.link(victim, folder + "/linked")
    r = user.run("sh", "-c", f"echo after >linked; echo x >{victim}; rm {victim}", cwd=folder)
    t.equal((read(victim), "denied" in r.err), ("after\n", True),
            "written by the name inside, not by the one outside", r)
    r = user.run("sh", "-c", f"ln {victim} again 2>/dev/null; ls", cwd=folder)
    t.equal(r.out, "linked\n", "and no new one comes about", r)


def test_run_by_others(user, t):
    """Others may run what the command writes, but names that programs run by themselves are protected."""
    folder = user.folder()
    user.sh("git init -q .", cwd=folder)
    script = ("printf 'all:\\n\\techo planted >by-make\\n' >Makefile; "
              "echo 'echo planted >by-git' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit")
    user.run("sh", "-c", script, cwd=folder)
    user.sh("make -s; echo x >x; git add x; git -c user.name=x -c user.email=x commit -qm x",
              cwd=folder)
    t.equal((os.path.exists(folder + "/by-make"), os.path.exists(folder + "/by-git")), (True, False),
            "a Makefile, but no hook")


def test_handed(user, t):
    """The command can use an inherited file as it was opened."""
    folder, other = user.folder(), user.folder("other")
    to_write, to_read = user.write(other + "/a", "before"), user.write(other + "/b", "before")
    fds = [os.open(to_write, os.O_WRONLY | os.O_APPEND), os.open(to_read, os.O_RDONLY)]
    script = f"echo after >&{fds[0]}; cat <&{fds[1]}; echo after >/proc/self/fd/{fds[1]}"
    r = user.run("bash", "-c", script, cwd=folder, pass_fds=fds)
    for fd in fds:
        os.close(fd)
    t.equal((r.out, read(to_write), read(to_read)), ("before", "beforeafter\n", "before"),
            "written where it was open for writing, read where for reading", r)


def test_reading(user, t):
    """A secret in a path that the default profile does not know."""
    folder = user.folder()
    unknown = user.write(user.home + "/my-notes/password", "hunter2\n")
    known = user.write(user.home + "/.ssh/id_rsa", "PRIVATE\n", 0o600)
    t.equal(user.run("cat", unknown, known, cwd=folder).out, "hunter2\n", "default")
    t.equal(user.run("sh", "-c", "head -c 4 /dev/zero | wc -c", cwd=folder).out, "4\n", "devices")
    t.equal(user.run("--profile", "strict", "cat", unknown, known, cwd=folder).out, "", "strict")


# Mounts a file system with a disk on it while a command runs.
LATER = """
mkdir -p {place}
{command} &
until test -e {ready}; do sleep 0.02; done
mount -t tmpfs none {place}
mknod {place}/disk b {major} {minor} && chmod 666 {place}/disk
wait
"""


def test_mounted_later(user, t):
    """A later mount from outside makes its devices available; those present at the start are denied."""
    if os.geteuid() != 0:
        return skip("mounting a file system takes root")
    folder, place = user.folder(), user.folder("place")
    with disk() as names:
        if not names:
            return skip("a disk takes root and a loop device")
        look = f"head -c 6 {names[0]}; >ready; for i in $(seq 100); do " \
               f"head -c 6 {place}/disk && break; sleep 0.05; done 2>/dev/null"
        user.write(folder + "/look", look)
        rdev = os.stat(names[0]).st_rdev
        as_them = f"setpriv --reuid {user.uid} --regid {user.uid} --clear-groups"
        script = LATER.format(place=place, ready=folder + "/ready", major=os.major(rdev),
                              minor=os.minor(rdev),
                              command=f"{as_them} {BUCKLE} run --report none sh look")
        r = subprocess.run(["unshare", "-m", "--propagation", "shared", "sh", "-c", script], cwd=folder,
                           env=user.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    t.equal(r.stdout, b"secret", "what is mounted later, and nothing else", r.stderr)
    return None


def test_among_members(user, t):
    """A process that may write to another's memory needs no signal."""
    folder = user.folder()
    policy = user.profile("no-signals.sb", "(version 1)(allow default)"
                            "(deny signal (target others))")
    script = "sleep 30 & kill $!; echo $?; exec 3<>/proc/$!/mem && echo opened"
    r = user.run("--report", "none", "--profile", policy, "bash", "-c", script, cwd=folder,
                   timeout=40)
    t.equal(r.out, "1\nopened\n", "a signal is denied, its memory is open", r)


def test_not_hidden(user, t):
    """A program can detect the sandbox."""
    folder = user.folder()
    script = "grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status"
    t.equal(user.run("sh", "-c", script, cwd=folder).out, "NoNewPrivs:\t1\nSeccomp:\t2\n",
            "by its own status")
    t.equal(user.run("unshare", "--mount", "true", cwd=folder).status, 1, "or by what it cannot do")


def status_of(path):
    with open(path + "/status", encoding="utf-8") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def threads_with_filter(pid):
    """The threads of a process; the one that mounts takes its filter a moment after the start."""
    for _ in range(50):
        threads = [status_of(task) for task in glob.glob(f"/proc/{pid}/task/*")]
        if all(one["Seccomp"] == "2" for one in threads):
            break
        time.sleep(0.1)
    return threads


def test_helpers(user, t):
    """What an attacker gains by taking over the judge, or one of the sentry's threads."""
    if not fusable.usable():
        return skip("/dev/fuse is not open to everybody here")
    look_in, mount, file_work = 1 << 19, 1 << 21, 0xfb
    folder, secret = user.folder(), user.folder("secret")
    # the answering thread drops the rest at the command's first request
    script = f"echo x >made; ls {secret}; echo ready; read over"
    child = user.start([BUCKLE, "run", "--report", "none", "--deny-read", secret, "sh", "-c", script],
                         cwd=folder, stdin=-1, stdout=-1, stderr=-1)
    child.stdout.readline()
    judge, sentry = (child_named(child.pid, name) for name in ("buckle-judge", "buckle-sentry"))
    caps = int(status_of(f"/proc/{judge}")["CapEff"], 16)
    t.equal(caps, look_in | (file_work if user.uid == 0 else 0),
            "the judge looks into processes; for root it works on files")
    threads = threads_with_filter(sentry)
    t.equal([one["Seccomp"] for one in threads], ["2", "2"], "both of the sentry's have a filter")
    if user.uid != 0:
        t.equal(sorted(int(one["CapEff"], 16) for one in threads), [0, mount],
                "one of them can mount, and the one that answers can do nothing but read")
    child.communicate(b"\n", timeout=30)
    return None


def test_repository_taken_over(user, t):
    """A path where the command created a repository stays its own until it ends."""
    folder = user.folder()
    script = ("git init -q r; echo made; read again; "
              "git -C r config user.name x && echo configured; "
              "echo x >r/.git/hooks/pre-commit && echo hooked")
    child = user.start([BUCKLE, "run", "--report", "none", "sh", "-c", script], cwd=folder,
                         stdin=-1, stdout=-1, stderr=-1)
    child.stdout.readline()
    user.sh("rm -rf r; git init -q r", cwd=folder)
    out, err = child.communicate(b"\n", timeout=30)
    t.equal(out, b"configured\n", "its settings, but not its hooks", err)


def main():
    for_everybody([test_linked_before, test_run_by_others, test_handed, test_reading,
                   test_mounted_later, test_among_members, test_not_hidden, test_helpers, test_repository_taken_over])
    return done()


if __name__ == "__main__":
    sys.exit(main())
