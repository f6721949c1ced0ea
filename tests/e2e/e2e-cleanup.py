#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buckle run leaves nothing behind, however it ends: no process, namespace, mount or folder."""

import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from running import BUCKLE, eventually, for_everybody, namespaces, processes
from tap import done

# Prints its namespaces, then starts a child, one in a new session, and an orphan of an orphan.
SPREAD = """
readlink /proc/self/ns/mnt /proc/self/ns/net /proc/self/ns/pid /proc/self/ns/ipc
echo "tmp $TMPDIR"; echo x >$TMPDIR/file; mkdir -p $TMPDIR/deep/er; chmod 0 $TMPDIR/deep
(sleep {0}1) &
setsid sleep {0}2 &
(setsid sh -c 'trap "" TERM INT HUP; sleep {0}3 & sleep {0}4' &)
i=0; while [ $i -lt 100 ] && ! {{ {1}; }}; do i=$((i+1)); sleep 0.02; done
echo ready
{2}
"""
COUNT = 0


class Session:
    """One run that prints its namespaces, and its result."""

    def __init__(self, user, ending, flags=(), env=None):
        global COUNT
        COUNT += 1
        # unique sleeping times identify our processes
        self.mark = f"{os.getpid()}{COUNT}"
        seen = f"[ \"$(ps -e -o args= 2>/dev/null | grep -c '^sleep {self.mark}')\" -ge 3 ]"
        self.folder = user.folder()
        self.child = user.start([BUCKLE, "run", *flags, "sh", "-c",
                                   SPREAD.format(self.mark, seen, ending)],
                                  cwd=self.folder, env=env, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.spaces, self.tmp, self.over = [], None, float("inf")
        for line in self.child.stdout:
            words = line.decode().split()
            if words[0] == "ready":
                return
            if words[0] == "tmp":
                self.tmp = words[1]
            else:
                self.spaces.append(words[0])
        raise RuntimeError(f"the command did not start: {self.child.stderr.read()}")

    def end(self, timeout=30):
        try:
            self.child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.child.kill()
            return None
        finally:
            self.over = time.clock_gettime(time.CLOCK_BOOTTIME)
        return self.child.returncode

    def running(self):
        return processes(rf"^sleep {self.mark}\d ")

    def own_spaces(self):
        """Its namespaces that differ from ours."""
        ours = {os.readlink(f"/proc/self/ns/{k}") for k in ("mnt", "net", "pid", "ipc")}
        return set(self.spaces) - ours

    def left_spaces(self):
        return self.own_spaces() & namespaces(self.over)

    def gone(self):
        return not self.running() and not self.left_spaces()


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return [line for line in f if "buckle" in line]


def helpers_of(pid):
    """The processes that buckle itself started."""
    found = []
    for one in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{one}/stat", encoding="utf-8", errors="replace") as f:
                if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(one))
        except OSError:
            pass
    return found


def check_gone(t, s, how, tmp_too=True):
    t.ok(eventually(lambda: not s.running(), 5), f"{how}: no process", s.running())
    t.ok(eventually(s.gone, 5), f"{how}: no namespace", s.left_spaces())
    t.equal(mounts(), [], f"{how}: no mount")
    if tmp_too:
        t.ok(not os.path.exists(s.tmp), f"{how}: no TMPDIR", s.tmp)
    t.equal(os.listdir(s.folder), [], f"{how}: nothing in the working directory")


def test_normal_end(user, t):
    s = Session(user, "exit 3")
    t.ok(len(s.own_spaces()) == 4 and s.tmp, "it lives in namespaces of its own", s.spaces)
    t.equal(s.end(), 3, "a normal end")
    check_gone(t, s, "normal end")


def test_signals(user, t):
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        s = Session(user, "while :; do sleep 0.05; done")
        t.ok(len(s.running()) >= 4, f"{sig.name}: four processes are there first", s.running())
        s.child.send_signal(sig)
        t.equal(s.end(), -int(sig), f"{sig.name}: ends buckle as it ended the command")
        check_gone(t, s, sig.name)


def test_kill(user, t):
    s = Session(user, "while :; do sleep 0.05; done")
    s.child.kill()
    t.equal(s.end(), -int(signal.SIGKILL), "SIGKILL")
    check_gone(t, s, "SIGKILL", tmp_too=False)
    t.ok(os.path.exists(s.tmp), "SIGKILL: TMPDIR is all that is left")
    user.run("true", cwd=user.folder())
    t.ok(eventually(lambda: not os.path.exists(s.tmp), 5), "and the next run removes it")


def test_kill_of_the_judge(user, t):
    s = Session(user, "while :; do sleep 0.05; done")
    judges = helpers_of(s.child.pid)
    t.ok(judges, "it has a judge", judges)
    for pid in judges:
        os.kill(pid, signal.SIGKILL)
    status = s.end()
    t.ok(status not in (0, None), "a killed judge is no success", status)
    check_gone(t, s, "killed judge")


def test_killed_early(user, t):
    """Also at any moment of the start."""
    folder = user.folder()
    mark = f"{os.getpid()}77"
    for i in range(24):
        child = user.start([BUCKLE, "run", "sleep", mark], cwd=folder,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(i * 0.0005)
        child.kill()
        child.wait()
    t.ok(eventually(lambda: not processes(rf"^sleep {mark} "), 5), "killed while starting: no process",
         processes(rf"^sleep {mark} "))
    t.ok(eventually(lambda: not processes(rf"buckle run sleep {mark}"), 5), "no judge either",
         processes(rf"buckle run sleep {mark}"))


def test_tmpdir_of_the_living(user, t):
    """Cleaning up spares sessions that are still active."""
    s = Session(user, "read line; test -e $TMPDIR/file && exit 5")
    user.run("true", cwd=user.folder())
    t.ok(os.path.exists(s.tmp), "another run leaves a living session's TMPDIR alone")
    s.child.stdin.write(b"\n")
    s.child.stdin.flush()
    t.equal(s.end(), 5, "which still works")


def test_background(user, t):
    s = Session(user, "exit 0")
    s.end()
    t.equal(s.running(), [], "background processes end with the command")
    folder = user.folder()
    began = time.monotonic()
    r = user.run("--wait", "sh", "-c", "setsid sh -c 'sleep 1; echo late >late' & exit 6",
                   cwd=folder)
    t.ok(r.status == 6 and os.path.exists(folder + "/late") and time.monotonic() - began > 0.9,
         "--wait: they finish first", r)


def test_without_pid_namespace(user, t):
    env = {"BUCKLE_PRETEND": "pid_ns=0,mount_proc=0"}
    for how, send in [("normal end", None), ("SIGTERM", signal.SIGTERM), ("SIGKILL", signal.SIGKILL)]:
        s = Session(user, "exit 3" if send is None else "while :; do sleep 0.05; done",
                    flags=["--accept-weaker"], env=env)
        if send:
            s.child.send_signal(send)
        status = s.end()
        t.equal(status, 3 if send is None else -int(send), f"no pid namespace: {how}")
        t.ok(eventually(lambda: not s.running(), 5), f"no pid namespace: {how}: no process",
             s.running())
        for pid, _ in s.running():
            os.kill(pid, signal.SIGKILL)
    user.run("true", cwd=user.folder())


def main():
    for_everybody([
        test_normal_end, test_signals, test_kill, test_kill_of_the_judge, test_killed_early,
        test_tmpdir_of_the_living, test_background, test_without_pid_namespace,
    ])
    return done()


if __name__ == "__main__":
    sys.exit(main())
