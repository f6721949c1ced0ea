#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeping a world is all or nothing: with SIGKILL from its first system call to its last, and on disks
that run out of room or of inodes at every point. By an exact manifest the folder is what it was, or what
the command alone makes of such a folder.

    e2e-try-kills.py [whole | TEST…]     whole: 200 kills for each user
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import BUCKLE, for_everybody
from tried import MANIFEST, SETUP, buckle, made, manifest, trying, world_of

# What a command can do to a tree. Times are set, so that the result is the same each time.
CHANGES = r"""
for i in $(seq 60); do echo $i >n$i; done
cp -a src copy; rm -r lib; echo x >>src/two.txt; chmod 700 src; mv src/deep moved; ln run linked; ln src/one.txt copy/one-more
rm run; mkdir run; echo in >run/file; ln -sfn two.txt src/link; ln -s nowhere dangling
python3 -c "import os
os.setxattr('src/one.txt', 'user.note', b'kept')
with open('sparse', 'wb') as f: f.seek(1 << 20); f.write(b'end')"
find . -depth -exec touch -h -d '2021-02-03 04:05:06' {} +
"""


def wanted(person):
    """What the command makes of such a folder by itself."""
    bare = made(person)
    person.sh(CHANGES, cwd=bare)
    return manifest(person, bare)


def same(one, other):
    """Whether two trees are equal, but for the time of the top folder: names in it came and went."""
    return [row if row[0] != "b''" else {**row[1], "time": 0} for row in one] == \
        [row if row[0] != "b''" else {**row[1], "time": 0} for row in other]


def differing(one, other):
    """The first rows in which two manifests differ, for a message."""
    one, other = dict(map(tuple_of, one)), dict(map(tuple_of, other))
    return [(name, one.get(name), other.get(name)) for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)][:5]


def tuple_of(row):
    return row[0], row[1]


class Tried:
    """A folder, and a world over it that waits."""

    def __init__(self, person):
        self.person, self.folder = person, made(person)
        self.world = world_of(trying(person, self.folder, CHANGES, "--review", "later"))
        self.before = manifest(person, self.folder)

    def now(self):
        return manifest(self.person, self.folder)

    def end(self):
        buckle(self.person, "discard", self.world)
        shutil.rmtree(self.folder, ignore_errors=True)


def check(x, after, counts, wrong, where):
    """After a kill, the next call ends in all or nothing; and after nothing, keeping does all."""
    buckle(x.person, "changes", x.world)
    now = x.now()
    if same(now, after):
        counts["everything"] += 1
    elif now == x.before:
        counts["nothing"] += 1
        r = buckle(x.person, "keep", x.world)
        if r.status != 0 or not same(x.now(), after):
            wrong.append((where, "keeping again", r.status, r.err[-300:], differing(x.now(), after)))
    else:
        wrong.append((where, "between", differing(now, after), differing(now, x.before)))


def test_kills(person, t, times=6):
    """SIGKILL at moments that are spread evenly over the time that keeping takes."""
    after, counts, wrong, took = wanted(person), {"nothing": 0, "everything": 0}, [], []
    for _ in range(2):
        x = Tried(person)
        began = time.monotonic()
        r = buckle(person, "keep", x.world)
        took.append(time.monotonic() - began)
        t.ok(r.status == 0 and same(x.now(), after), "without a kill keeping gives what the command makes alone", r, differing(x.now(), after))
        x.end()
    for i in range(times):
        x = Tried(person)
        at = (i + 0.5) / times * min(took)
        keeping = person.start([BUCKLE, "keep", x.world], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(at)
        keeping.send_signal(signal.SIGKILL)
        keeping.wait()
        check(x, after, counts, wrong, f"{at * 1000:.1f} ms")
        x.end()
    t.equal(wrong, [], f"{times} kills over {min(took) * 1000:.0f} ms: {counts['nothing']} times nothing was kept, {counts['everything']} times everything")
    t.ok(counts["nothing"] and sum(counts.values()) == times, "some of them came before the end", counts)


def test_calls(person, t, times=10):
    """SIGKILL at system calls that are spread evenly over all that keeping makes."""
    if not shutil.which("strace"):
        tap.skip("strace is not installed")
        return
    after, counts, wrong, killed = wanted(person), {"nothing": 0, "everything": 0}, [], 0
    x = Tried(person)
    log = os.path.join(person.home, "calls")
    person.call(["strace", "-qq", "-o", log, BUCKLE, "keep", x.world])
    calls, seen = [], {}  # each call as strace counts it: its name, and how many times by then
    with open(log, encoding="utf-8", errors="replace") as f:
        for name in re.findall(r"^(\w+)\(", f.read(), re.M):
            seen[name] = seen.get(name, 0) + 1
            calls.append((name, seen[name]))
    calls = calls[1:]  # without execve()
    t.ok(len(calls) > 300 and same(x.now(), after), "keeping makes many system calls", len(calls))
    x.end()
    for i in range(times):
        x = Tried(person)
        name, n = calls[int((i + 0.5) / times * len(calls))]
        r = person.call(["strace", "-qq", "-o", "/dev/null", "-e", f"inject={name}:signal=KILL:when={n}", BUCKLE, "keep", x.world])
        killed += r.status in (-signal.SIGKILL, 128 + signal.SIGKILL)
        check(x, after, counts, wrong, f"{name} {n}")
        x.end()
    t.equal(wrong, [], f"{killed} kills at {times} of {len(calls)} system calls: {counts['nothing']} times nothing was kept, "
            f"{counts['everything']} times everything")
    t.ok(killed >= times * 0.9 and all(counts.values()), "nearly all of them killed it, before and after the point of no return", killed, counts)


# ---- full disks ----

# Runs in a mount namespace of its own, with a small file system: room() fills it so that little is left.
FULL = r"""
import json, os, re, subprocess, sys
buckle, top, how, changes, setup, manifest = sys.argv[1:]
disk = top + "/disk"
folder, state = disk + "/folder", (disk if how == "journal" else top) + "/state"
env = {**os.environ, "XDG_STATE_HOME": state}

def sh(script, cwd=folder):
    subprocess.run(["sh", "-ec", script], cwd=cwd, check=True)

def see():
    return json.loads(subprocess.run([sys.executable, "-", folder], input=manifest, capture_output=True, text=True, check=True).stdout)

def same(one, other):
    return one[0][0] == other[0][0] == "b''" and one[1:] == other[1:] and {**one[0][1], "time": 0} == {**other[0][1], "time": 0}

def call(*words):
    return subprocess.run([buckle, *words], cwd=folder, env=env, capture_output=True, text=True)

def fill(left):
    # leaves so many pages, or so many names
    if how == "names":
        os.mkdir(disk + "/filler")
        for i in range(max(0, os.statvfs(disk).f_favail - left)):
            os.close(os.open("%s/filler/%d" % (disk, i), os.O_CREAT | os.O_WRONLY))
    else:
        s = os.statvfs(disk)
        with open(disk + "/filler", "wb") as f:
            f.write(bytes(max(0, s.f_bavail - left) * s.f_frsize))

def free():
    subprocess.run(["rm", "-rf", disk + "/filler"], check=True)

def world():
    sh("rm -rf '%s'; mkdir '%s'" % (folder, folder), disk)
    sh(setup)
    r = call("try", "--review", "later", "--", "sh", "-ec", changes)
    found = re.search(r"the world (\w+)", r.stderr)
    if not found:
        raise RuntimeError(r.stderr)
    return found.group(1)

os.makedirs(top + "/state", exist_ok=True)
os.makedirs(disk, exist_ok=True)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m,nr_inodes=1500", "tmpfs", disk], check=True)
os.mkdir(folder)
sh(setup)
sh(changes)
after, rows = see(), []
for left in [0, 1, 2, 3, 5, 8, 12, 17, 23, 30, 40, 55, 75, 100, 140, 200, 300, 450]:
    w = world()
    before = see()
    fill(left)
    r = call("keep", w)
    now = see()
    state_of = "before" if now == before else "after" if same(now, after) else "between"
    free()
    again = call("keep", w) if state_of == "before" else None
    rows.append([left, r.returncode, state_of, r.stderr[-200:], again and [again.returncode, same(see(), after), again.stderr[-200:]]])
    call("discard", w)
print(json.dumps(rows))
"""


def test_full(person, t):
    """Disks that run out of room, of inodes, and of room for the journal: nothing has changed, or all."""
    if person.uid != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        return
    for how in ("room", "names", "journal"):
        top = person.folder()
        r = person.call(["unshare", "-m", "python3", "-c", FULL, BUCKLE, top, how, CHANGES, SETUP, MANIFEST], timeout=300)
        if not t.ok(r.status == 0 and r.out.startswith("["), f"{how}: disks of many sizes", r):
            continue
        rows = json.loads(r.out)
        failed = [row for row in rows if row[1] != 0]
        t.equal([row for row in rows if row[2] != ("after" if row[1] == 0 else "before")], [],
                f"{how}: {len(failed)} times of {len(rows)} keeping fails, and nothing has changed; else everything is kept")
        t.equal([row for row in failed if not re.search("No space left|no room", row[3])], [], f"{how}: each time it says why")
        t.equal([row for row in failed if row[4][:2] != [0, True]], [], f"{how}: with room again, it keeps everything")
        t.ok(2 <= len(failed) < len(rows), f"{how}: both happen", len(failed))


def test_many(person, t):
    test_kills(person, t, 50)
    test_calls(person, t, 150)


TESTS = [test_kills, test_calls, test_full]
chosen = sys.argv[1:]
for_everybody([test_many] if chosen == ["whole"] else [test for test in TESTS + [test_many] if (test.__name__ in chosen if chosen else test in TESTS)])
sys.exit(tap.done())
