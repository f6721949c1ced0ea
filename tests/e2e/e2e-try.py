#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle try`: a command's changes stay in a world until the user keeps or discards them. Everyday
tasks give the same tree as without Buckle after keeping, and change nothing after discarding. What
changes outside meanwhile is never overwritten. e2e-try-kills.py has kills and full disks.

    e2e-try.py [whole | TEST…]     whole: a large hostile world, and what it costs
"""

import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from asked import OnTerminal
from running import BUCKLE, for_everybody
from tried import GIT, MANIFEST, buckle, made, manifest, trying, world_of, worlds



def test_shown(person, t):
    folder = made(person)
    r = trying(person, folder, "echo more >>src/two.txt; rm -r lib; mkdir new; printf x >new/tool; chmod +x new/tool; "
                               "ln -s /etc/passwd out; mkfifo pipe; mv run ran", "--review", "later")
    world = world_of(r)
    for words in ("5 added, 1 changed, 3 removed", "[executable]", "[leads out of the folder]", "[cannot be kept]",
                  f"buckle keep {world}"):
        t.ok(words in r.err, f"the summary has {words}", r)
    rows = {c["path"]: c for c in json.loads(buckle(person, "changes", world, "--json").out)["changes"]}
    t.equal({k: v["change"] for k, v in rows.items()},
            {"lib": "removed", "new": "added", "new/tool": "added", "out": "added", "pipe": "added", "ran": "added",
             "run": "removed", "src/two.txt": "changed"}, "changes --json")
    t.equal(rows["ran"].get("from"), "run", "a renamed file has its old name")
    r = buckle(person, "changes", world, "--diff")
    t.ok("\n two\n+more\n" in r.out, "changes --diff", r)
    r = buckle(person, "changes", world, "--", "cat", "src/two.txt", "new/tool", cwd=folder)
    t.equal(r.out, "two\nmore\nx", "another command sees the same world", r)
    r = buckle(person, "keep", world, f"{folder}/new/tool")
    t.ok(r.status == 1 and "as a whole" in r.err, "a part of a new folder cannot be kept by itself", r)
    r = buckle(person, "keep", world, "new", "src", cwd=folder)
    t.ok(r.status == 0 and os.path.exists(f"{folder}/new/tool") and os.path.exists(f"{folder}/lib"),
         "some paths are kept, the others are not", r)
    left = [c["path"] for c in json.loads(buckle(person, "changes", world, "--json").out)["changes"]]
    t.equal(left, ["lib", "out", "pipe", "ran", "run"], "the others are still in the world")
    r = buckle(person, "keep", world)
    t.ok(r.status == 0 and not os.path.exists(f"{folder}/pipe") and not os.path.exists(f"{folder}/lib"),
         "then the rest, without the pipe", r)
    t.ok(buckle(person, "keep", world).status == 2, "the world is gone")


def test_old_names(person, t):
    """Of files: the kernel notes them for root. For others, what renaming keeps has to be the same."""
    folder = made(person)
    person.sh("for i in 1 2 3; do echo same >same-$i; done; touch -d 2020-01-01 same-*; echo one >one; echo two >two; : >empty", cwd=folder)
    r = trying(person, folder, "mv same-1 src/same-a; mv same-2 src/same-b; mv one uno; echo more >>uno; cp two due; rm two; mv empty void",
               "--review", "later")
    world = world_of(r)
    rows = {c["path"]: c for c in json.loads(buckle(person, "changes", world, "--json").out)["changes"]}
    named = {path: row["from"] for path, row in rows.items() if row.get("from")}
    t.equal({named.pop("src/same-a", None), named.pop("src/same-b", None)}, {"same-1", "same-2"}, "each file has one old name", r)
    want = {"uno": "one", "void": "empty"} if person.uid == 0 else {}
    t.equal(named, want, "a copy, and for ordinary users a changed or empty file, have none")
    t.ok(buckle(person, "keep", world).status == 0 and not os.path.exists(f"{folder}/same-1") and os.path.exists(f"{folder}/src/same-a"),
         "they are kept")


def test_order(person, t):
    """First what is marked, then what was there before, then what is new; the counts are those of the lines."""
    folder = made(person)
    r = trying(person, folder, f"{GIT} init -q clone; mkdir -p new/deep; echo x >new/x; echo more >>src/one.txt; rm -r lib; "
                               "ln -s / clone/out; chmod 755 src/two.txt", "--review", "later")
    lines = [line.split() for line in r.err.split("\n")[1:-2] if "are not listed" not in line]
    t.equal([line[1] for line in lines], ["clone/out", "lib/", "src/one.txt", "src/two.txt", "clone/", "new/"], "the order", r)
    rows = json.loads(buckle(person, "changes", world_of(r), "--json").out)["changes"]
    clone = sum(c["path"].startswith("clone/") for c in rows)
    files = sum(c["path"].startswith("clone/") and not c["mode"].startswith("4") for c in rows)
    t.ok(f"{files} files, {clone - files} folders" in r.err, "a new folder's line counts what is in it", r)
    t.ok(f": {clone + 1 + 3} added, 2 changed, 2 removed in " in r.err, "the counts", r)
    buckle(person, "discard", world_of(r))


def test_renamed(person, t):
    """A renamed folder has its old name, also one that was renamed again. What rename(2) refuses is refused."""
    folder = made(person)
    script = ("import os, errno\n"
              "def no(a, b):\n try: os.rename(a, b)\n except OSError as e: print(errno.errorcode[e.errno], flush=True)\n"
              "no('src', 'lib'); no('src', 'run'); no('src', 'src/deep/x'); no('src', 'none/x')\n"
              "fd = os.open('src/deep', os.O_RDONLY)\n"
              "os.rename('src', 'one'); os.rename('one', 'two'); print(sorted(os.listdir('.')), sorted(os.listdir('two')))")
    r = person.call([BUCKLE, "try", "--review", "later", "--", "python3", "-c", script], cwd=folder)
    t.equal(r.out, "ENOTEMPTY\nENOTDIR\nEINVAL\nENOENT\n['lib', 'run', 'two'] ['deep', 'link', 'one.txt', 'two.txt']\n", "rename()", r)
    t.ok(re.search(r"> two/ .* was src\n", r.err), "the summary has the old name", r)
    buckle(person, "discard", world_of(r))
    r = person.call([BUCKLE, "try", "--discard", "--allow-protected", "git-settings", "--deny-read", f"{folder}/src/two.txt", "--",
                     "python3", "-c", "import os\nos.rename('src', 'x')\nprint(open('x/two.txt').read())"], cwd=folder)
    t.ok("two\n" not in r.out, "a file that cannot be read does not become readable by moving its folder", r)


def test_on(person, t):
    """Worlds on top of worlds: each begins with what is in the one below, and is kept there."""
    folder, bare = made(person), made(person)
    steps = ["echo first >first; rm src/one.txt; mkdir -p gone/deep; echo g >gone/deep/g; rm -r lib",
             "cat first >second; echo more >>first; rm -r gone; mkdir -p lib/new; echo l >lib/new/l; mkdir gone; echo o >src/one.txt",
             "rm second; echo third >src/deep/er/third; chmod 700 src/deep; echo t >>lib/new/l; ln -s x link; echo g >gone/g"]
    before, ids = manifest(person, folder), []
    for script in steps:
        person.sh(script, cwd=bare)
        on = ["--on", ids[-1]] if ids else []
        r = trying(person, folder, script, "--review", "later", *on)
        ids.append(world_of(r))
        t.ok(r.status == 0 and ids[-1], f"on {ids[:-1]}", r)
    t.equal(manifest(person, folder), before, "nothing has changed outside")
    rows = {c["path"]: c["change"] for c in json.loads(buckle(person, "changes", ids[1], "--json").out)["changes"]}
    t.equal(rows, {"first": "changed", "gone": "changed", "lib": "added", "lib/new": "added", "lib/new/l": "added", "second": "added",
                   "src/one.txt": "added"}, "the changes since the world below")
    r = buckle(person, "changes", ids[1], "--diff")
    t.ok("\n first\n+more\n" in r.out, "their differences", r)
    inside = json.loads(buckle(person, "changes", ids[2], "--", "python3", "-c", MANIFEST, folder, cwd=folder).out)
    plain = [[n, {k: v for k, v in row.items() if k != "time"}] for n, row in manifest(person, bare)]
    t.equal([[n, {k: v for k, v in row.items() if k != "time"}] for n, row in inside], plain, "the last one shows everything")
    r = buckle(person, "keep", ids[0])
    t.ok(r.status == 1 and ids[1] in r.err and "on top" in r.err, "one that has another on top is not kept", r)
    r = buckle(person, "discard", ids[1])
    t.ok(r.status == 2 and ids[2] in r.err, "nor discarded", r)
    for i in (2, 1):
        r = buckle(person, "keep", ids[i])
        t.ok(r.status == 0, f"kept in the world below: {i}", r)
        t.equal(manifest(person, folder), before, "nothing has changed outside")
    r = buckle(person, "keep", ids[0])
    after = [[n, {k: v for k, v in row.items() if k != "time"}] for n, row in manifest(person, folder)]
    t.ok(r.status == 0, "and at last outside", r)
    t.equal(after, plain, "as without Buckle")
    t.equal(worlds(person), [], "no world is left")


def test_siblings(person, t):
    """Two worlds on one: what both change is a conflict for the second."""
    folder = made(person)
    first = world_of(trying(person, folder, "echo 1 >file; echo a >a; echo b >b", "--review", "later"))
    one = world_of(trying(person, folder, "echo 2 >>a; echo new >new", "--review", "later", "--on", first))
    same = world_of(trying(person, folder, "echo 3 >>a; echo 3 >>b", "--review", "later", "--on", first))
    other = world_of(trying(person, folder, "echo 4 >>b; rm file", "--review", "later", "--on", first))
    t.ok(buckle(person, "keep", one).status == 0, "the first one")
    r = buckle(person, "keep", same)
    t.ok(r.status == 1 and f"{folder}/a: it has changed outside as well" in r.err and f"{folder}/b:" not in r.err, "the second one", r)
    t.ok(buckle(person, "discard", same).status == 0, "is discarded")
    r = buckle(person, "keep", other)
    t.ok(r.status == 0, "one that changes something else", r)
    t.ok(buckle(person, "keep", first).status == 0 and sorted(os.listdir(folder)) ==
         ["a", "b", "lib", "new", "run", "src"] and open(f"{folder}/b").read() == "b\n4\n", "all of it", os.listdir(folder))
    r = trying(person, folder, "echo x >src/x; echo y >y", "--review", "later", "--on", "nosuch")
    t.ok(r.status == 125 and "no world nosuch" in r.err, "a world that is missing", r)
    first = world_of(trying(person, folder, "echo x >src/x", "--review", "later"))
    r = buckle(person, "try", "--on", first, "--review", "later", "--", "touch", "z", cwd=f"{folder}/src")
    t.ok(r.status == 125 and not os.path.exists(f"{folder}/src/z"), "a folder that is in one of the places below", r)
    buckle(person, "changes", "--prune", "--days", "0")


def test_links(person, t):
    """A file is copied under all names that it has in the place, whichever changes it and however. Names elsewhere keep
    the old content, and the summary says so."""
    setup = ("echo one >one; ln one two; mkdir d; ln one d/three; echo a >a; ln a b; head -c 300000 /dev/zero >big; ln big d/big; "
             "echo m >m; ln m d/m; touch -d 2001-01-01 d")
    ways = {"appended": "echo more >>one", "truncated": "truncate -s 0 two", "a mode": "chmod 600 d/three",
            "times": "touch -d 2002-02-02 one", "an attribute": "python3 -c 'import os; os.setxattr(\"two\", \"user.x\", b\"1\")'",
            "moved": "mv one four", "linked": "ln one four", "by descriptor": "python3 -c 'import os; os.fchmod(os.open(\"one\", 0), 0o640)'",
            "its folder": "python3 -c 'import os; os.rename(\"d\", \"e\")'", "mapped": "python3 -c 'import mmap; "
            "f = open(\"d/big\", \"r+b\"); m = mmap.mmap(f.fileno(), 0); m[200000:200002] = b\"hi\"; m.flush()'",
            "one removed": "rm one; echo more >>two", "all replaced": "for i in one two d/three; do echo new >x; mv x $i; done"}
    for name, script in ways.items():
        folder, bare = made(person, setup), made(person, setup)
        person.sh(script, cwd=bare)
        r = trying(person, folder, f"{script}; stat -c '%i %h' one two d/three d/big big 2>/dev/null || true", "--review", "later")
        seen = dict.fromkeys(line.split()[0] for line in r.out.splitlines())
        t.ok("keep the old content" not in r.err, f"{name}: no name is left behind", r)
        if name in ("appended", "a mode", "times", "by descriptor"):
            t.equal(len(seen), 2, f"{name}: the names are one file inside", r)
        t.ok(buckle(person, "keep", world_of(r)).status == 0, f"{name}: kept", r)
        def shape(rows):
            return [[n, {k: v for k, v in row.items() if k != "time" and (k != "attributes" or n != "b''")}] for n, row in rows]
        t.equal(shape(manifest(person, folder)), shape(manifest(person, bare)), f"{name}: as without Buckle")
    folder, other = made(person, setup), made(person, "")
    os.link(f"{folder}/one", f"{other}/outside")
    r = trying(person, folder, "echo more >>one; cat two", "--review", "later")
    t.ok(r.out == "one\nmore\n" and "other names of the file keep the old content" in r.err, "a name outside is mentioned", r)
    t.ok(buckle(person, "keep", world_of(r)).status == 0 and open(f"{other}/outside").read() == "one\n", "and has not changed")


def test_local_clone(person, t):
    """git makes objects links to those of the source, and compares inode numbers."""
    folder = made(person)
    person.sh(f"{GIT} init -q source && cd source && cp ../src/two.txt . && {GIT} add . && {GIT} commit -qm x", cwd=folder)
    r = trying(person, folder, f"{GIT} clone -q source clone && cat clone/two.txt", "--discard")
    t.ok(r.status == 0 and r.out == "two\n", "a clone inside the place", r)


def test_success(person, t):
    folder = made(person)
    r = trying(person, folder, "echo x >new; exit 3", "--keep-on-success")
    t.ok(r.status == 3 and not os.path.exists(f"{folder}/new"), "a command that failed is not kept", r)
    t.ok(buckle(person, "discard", world_of(r)).status == 0, "discarded")
    r = trying(person, folder, "echo x >new", "--keep-on-success")
    t.ok(r.status == 0 and os.path.exists(f"{folder}/new"), "one that succeeded is", r)
    r = trying(person, folder, "cat new")
    t.ok(r.status == 0 and r.err == "" and r.out == "x\n", "without changes nothing is printed", r)
    r = trying(person, folder, "kill -9 $$")
    t.equal(r.status, 137, "the status is the command's", r)


def test_outside(person, t):
    """Only places of the world can be written."""
    folder, other = made(person), made(person)
    before = manifest(person, other)
    r = trying(person, folder, f"echo x >{other}/src/one.txt || echo no; echo y >>here", "--review", "later", "-w", other)
    world = world_of(r)
    t.ok("no" not in r.out and world, "--allow-write makes another place", r)
    t.equal(manifest(person, other), before, "which has not changed")
    t.ok(buckle(person, "keep", world).status == 0 and open(f"{other}/src/one.txt").read() == "x\n",
         "and is kept with the first")
    r = trying(person, folder, f"echo x >{other}/lib/file || echo no", "--discard", "-w", f"{other}/src/two.txt")
    t.ok(r.out == "no\n", "a folder that the policy does not open cannot be written", r)
    r = trying(person, folder, f"echo x >{other}/src/two.txt || echo no", "--discard", "-w", f"{other}/src/two.txt")
    t.ok(r.out == "no\n" and open(f"{other}/src/two.txt").read() == "two\n",
         "a single file that the policy opens is no place", r)
    state = f"{person.home}/.local/state/buckle"
    r = trying(person, folder, f"touch {state}/worlds/x || echo no", "--discard", "-w", state)
    t.ok(r.out == "no\n" or r.status == 125, "worlds cannot be written from a sandbox", r)
    t.ok("x" not in os.listdir(f"{state}/worlds"), "and were not")


def test_conflicts(person, t):
    folder = made(person)
    r = trying(person, folder, "echo in >>src/two.txt; echo in >new; rm lib/zero; rm -r src/deep", "--review", "later")
    world = world_of(r)
    person.sh("echo out >>src/two.txt; echo out >new; echo out >src/deep/er/x", cwd=folder)
    before = manifest(person, folder)
    r = buckle(person, "keep", world)
    t.ok(r.status == 1 and all(f"{folder}/{name}: it has changed outside" in r.err for name in ("src/two.txt", "new", "src/deep")),
         "what has changed outside is named", r)
    t.equal(manifest(person, folder), before, "and nothing is kept")
    r = buckle(person, "keep", world, f"{folder}/lib")
    t.ok(r.status == 0 and not os.path.exists(f"{folder}/lib/zero"), "the others can be", r)
    buckle(person, "discard", world)


def test_protected(person, t):
    folder = made(person)
    person.sh(f"{GIT} init -q .", cwd=folder)
    r = trying(person, folder, "echo x >.bashrc; mkdir .vscode; echo {} >.vscode/tasks.json; "
                               "printf '#!/bin/sh' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", "--review", "later",
               "--allow-protected", "shells,editors,git-hooks")
    world = world_of(r)
    t.ok("[protected: git-hooks]" in r.err and "[protected: shells]" in r.err, "protected names are marked", r)
    r = buckle(person, "keep", world)
    t.ok(r.status == 1 and "protected (git-hooks)" in r.err and not os.path.exists(f"{folder}/.bashrc"),
         "and need their class to be kept", r)
    r = buckle(person, "keep", "--allow-protected", "shells,editors,git-hooks", world)
    t.ok(r.status == 0 and os.path.exists(f"{folder}/.bashrc"), "which is named", r)
    r = trying(person, folder, "echo x >.gitconfig || echo no", "--discard", "--report", "text")
    t.ok(r.out == "no\n" and ".gitconfig" in r.err, "where writes are judged, they cannot be written without it", r)


def test_in_use(person, t):
    folder = made(person)
    waits = person.start([BUCKLE, "try", "--review", "later", "--", "sh", "-c", "echo x >new; echo ready; read x"], cwd=folder,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    waits.stdout.readline()
    world = worlds(person)[0]
    t.ok(world["used"], "a world in use is listed so")
    for command in ("keep", "discard"):
        r = buckle(person, command, world["world"])
        t.ok(r.status == 2 and "in use" in r.err, f"{command} refuses it", r)
    r = buckle(person, "changes", world["world"])
    t.ok(r.status == 0 and "+ new" in r.out, "changes shows it as it is", r)
    r = buckle(person, "changes", world["world"], "--", "true", cwd=folder)
    t.ok("in use" in r.err, "but runs nothing there", r)
    waits.communicate(b"\n")
    t.ok(buckle(person, "keep", world["world"]).status == 0 and os.path.exists(f"{folder}/new"), "afterwards it is kept")


def test_terminal(person, t):
    """On a terminal the user decides."""
    rows = [(["k"], ["a", "b"], 0), (["s", "y", "n"], ["a"], 1), (["d"], [], 0), ([""], [], 1), (["l", "k"], ["a", "b"], 0)]
    for answers, kept, left in rows:
        folder = person.folder()
        p = OnTerminal(person, [BUCKLE, "try", "--", "sh", "-c", "echo 1 >a; echo 2 >b; exit 3"], cwd=folder)
        for answer in answers:
            p.shows("] ")
            time.sleep(0.1)
            p.text = ""
            os.write(p.terminal, answer.encode() + b"\n")
        while p.read(1) and p.child.poll() is None:
            pass
        shown = p.text
        t.equal((p.child.wait(), sorted(os.listdir(folder)), len(worlds(person))), (3, kept, left), f"the answers {answers}", shown)
        buckle(person, "changes", "--prune", "--days", "0")


def test_races(person, t):
    """Somebody swaps a folder for a symlink while changes are kept: nothing is written where it leads."""
    folder, other = made(person), made(person)
    before = manifest(person, other)
    swap = """
import os, sys, time
end = time.monotonic() + 20
while time.monotonic() < end and not os.path.exists("stop"):
    os.rename("src", "aside"); os.symlink(sys.argv[1], "src")
    os.unlink("src"); os.rename("aside", "src")
"""
    for _ in range(4):
        r = trying(person, folder, "for i in $(seq 40); do echo $i >src/deep/n$i; done; echo x >src/new", "--review", "later")
        world = world_of(r)
        swapping = person.start(["/usr/bin/python3", "-c", swap, f"{other}/src"], cwd=folder)
        for _ in range(3):
            buckle(person, "keep", world)
        person.sh("touch stop", cwd=folder)
        swapping.wait()
        os.unlink(f"{folder}/stop")
        buckle(person, "discard", world)
    t.equal(manifest(person, other), before, "a folder that a symlink leads to has not changed")
    t.ok(not any("buckle-keep" in name for name in os.listdir(folder)), "nothing is left beside the files", os.listdir(folder))


def test_forged(person, t):
    """The command makes what looks like the overlay's own marks: nothing outside changes but what the summary says."""
    folder, other = made(person), made(person)
    person.sh("python3 -c 'import os; os.setxattr(\"lib\", \"user.overlay.opaque\", b\"y\")' || true", cwd=folder)
    before = manifest(person, other)
    script = f"""
import os
for name in ("src", "src/deep", "src/one.txt", "run", "new"):
    if name == "new": open(name, "w").close()
    for mark, value in (("opaque", b"y"), ("redirect", b"{other}/src"), ("metacopy", b""), ("whiteout", b"y"), ("origin", b"x" * 40)):
        for prefix in ("user", "trusted"):
            try: os.setxattr(name, prefix + ".overlay." + mark, value)
            except OSError: continue
            print(prefix, mark, name)
open("src/empty", "w").close(); open("lib/more", "w").close()
os.symlink("{other}", "out"); os.mkdir("into"); os.rename("out", "into/out")
"""
    r = person.call([BUCKLE, "try", "--review", "later", "--", "python3", "-c", script], cwd=folder)
    t.equal((r.status, r.out), (0, ""), "marks cannot be made", r)
    world = world_of(r)
    rows = {c["path"]: c["change"] for c in json.loads(buckle(person, "changes", world, "--json").out)["changes"]}
    t.equal(rows, {"new": "added", "src/empty": "added", "lib/more": "added", "into": "added", "into/out": "added"}, "what has changed")
    r = buckle(person, "keep", world)
    t.ok(r.status == 0 and os.path.exists(f"{folder}/src/deep/numbers") and os.path.exists(f"{folder}/lib/zero"), "kept", r)
    t.equal(manifest(person, other), before, "another folder has not changed")


def test_names(person, t):
    """Deep folders, long names and names of any bytes: what is kept is what was there."""
    folder, bare = made(person, ""), made(person, "")
    script = ("import os\n"
              "for n in (b'a\\nb', b'\\x1b[2J', b'\\xff\\xfe', b'..x', b' ', b'-rf', b'\\\\', b'x' * 255):\n"
              "    os.mkdir(b'd' + n[:254]); open(b'd' + n[:254] + b'/' + n, 'w').close(); os.symlink(n, n)\n"
              "for i in range(60): os.mkdir('deep' * 10); os.chdir('deep' * 10)\n"
              "open('end', 'w').close()")
    for where, words in ((bare, []), (folder, [BUCKLE, "try", "--review", "later", "--"])):
        r = person.call([*words, "/usr/bin/python3", "-c", script], cwd=where)
    t.ok(r.status == 0 and "\x1b" not in r.err and "a\nb" not in r.err, "the summary escapes names", r)
    t.ok(buckle(person, "keep", world_of(r)).status == 0, "kept")
    t.equal([n for n, _ in manifest(person, folder)], [n for n, _ in manifest(person, bare)], "the same names")



def test_prune(person, t):
    folder = made(person)
    trying(person, folder, "echo x >new", "--review", "later")
    t.ok(buckle(person, "changes", "--prune").status == 0 and len(worlds(person)) == 1, "a new world is not pruned")
    buckle(person, "changes", "--prune", "--days", "0")
    t.equal(worlds(person), [], "an old one is")


# Two megabytes far down, and three in folders without the right to list or to search them.
HIDDEN = """python3 -c "
import os
for name, size, mode in (('shut', 2, 0), ('blind', 1, 0o600)):
    os.mkdir(name)
    open(name + '/file', 'wb').write(os.urandom(size * 1000000))
    os.chmod(name, mode)
for _ in range(600):
    os.mkdir('d')
    os.chdir('d')
open('file', 'wb').write(os.urandom(2000000))"
"""


def test_room(person, t):
    """All worlds together have a limit. The oldest can be removed by size."""
    folder, ids = made(person), []
    for size in (3, 1, 2):
        ids.append(world_of(trying(person, folder, f"head -c {size}000000 /dev/urandom >new", "--review", "later")))
    sizes = {w["world"]: w["size"] for w in worlds(person)}
    t.ok(3e6 <= sizes[ids[0]] < 3.3e6 and 1e6 <= sizes[ids[1]] < 1.3e6, "worlds are measured", sizes)
    t.ok("3.0 MB" in buckle(person, "changes").out, "the list shows it")
    r = buckle(person, "changes", "--prune", "--size", "4M")
    t.equal([w["world"] for w in worlds(person)], ids[:0:-1], "the oldest goes until the others fit", r)
    deep = trying(person, folder, HIDDEN, "--review", "later")
    found = {w["world"]: w["size"] for w in worlds(person) if w["world"] not in ids}
    t.ok(len(found) == 1 and 5e6 <= min(found.values()) < 8e6, "so are files below 600 folders, and in folders that nobody may look into", found, deep)
    hidden = [os.stat(os.path.join(person.home, ".local/state/buckle/worlds", *found, "0/upper", name)).st_mode & 0o777 for name in ("shut", "blind")]
    t.equal(hidden, [0, 0o600], "whose modes are as they were")
    buckle(person, "discard", *found)
    person.write(f"{person.home}/.local/state/buckle/worlds/{ids[1]}/size", f"{16 << 30}\n")
    r = trying(person, folder, "touch x", "--review", "later")
    t.ok(r.status == 125 and "2 worlds wait" in r.err and not os.path.exists(f"{folder}/x") and len(worlds(person)) == 2,
         "with too much in them there is no other", r)
    r = buckle(person, "changes", ids[2], "--", "touch", "y", cwd=folder)
    t.ok(r.status == 0, "those that are there can be used", r)
    for size in ("x", "-1", "0"):
        t.ok(buckle(person, "changes", "--prune", "--size", size).status == 2, f"--size {size} is refused")
    buckle(person, "changes", "--prune", "--size", "1")
    t.equal(worlds(person), [], "all of them")


def test_fallback(person, t):
    """Where no layer can be mounted, the command does not start, and the reason is told."""
    folder = made(person)
    before = manifest(person, folder)
    for pretend in ("kernel=5.10.0", "user_ns=0,mount_ns=0"):
        r = person.call([BUCKLE, "try", "--accept-weaker", "--", "touch", "new"], cwd=folder, env={"BUCKLE_PRETEND": pretend})
        t.ok(r.status == 125 and "world" in r.err, f"with {pretend}", r)
        t.equal(manifest(person, folder), before, "nothing has changed")
    state = f"{folder}/state"
    person.sh(f"mkdir {state}")
    r = person.call([BUCKLE, "try", "--keep-on-success", "--", "sh", "-c", "touch new; ! touch state/buckle/x"], cwd=folder,
                    env={"XDG_STATE_HOME": state})
    t.ok(r.status == 0 and os.path.exists(f"{folder}/new") and os.listdir(f"{state}/buckle/worlds") == [] and not os.path.exists(f"{state}/buckle/x"), "a state folder inside the place", r)
    person.sh("rm -f new", cwd=folder)
    r = person.run("--", BUCKLE, "try", "--", "touch", "new", cwd=folder)
    t.ok(r.status != 0 and not os.path.exists(f"{folder}/new"), "inside another sandbox", r)


MANY = """
import os, sys
for i in range(int(sys.argv[1])):
    os.mkdir(f"d{i}")
    for k in range(1000):
        os.close(os.open(f"d{i}/\\n{k}", os.O_CREAT | os.O_WRONLY, 0o644))
for i in range(1500):
    os.mkdir("x")
    os.chdir("x")
"""
MEASURED = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print("KiB", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""
EACH = 400  # bytes of memory for a name, and what a process takes anyway
LEAST = 64 << 10


def measured(person, t, what, names, words, folder):
    """Runs it, and checks its memory. Returns what it printed."""
    began = time.monotonic()
    r = person.call(["python3", "-c", MEASURED, BUCKLE, *words], cwd=folder, timeout=3000)
    kib = int(r.err.split("KiB ")[-1])
    print(f"= {person.name}: {what}, {names} names: {time.monotonic() - began:.1f} s, {kib // 1024} MiB")
    t.ok(r.status == 0 and kib < LEAST + names * EACH // 1024, f"{what}: {names} names in bounded memory", kib, r.err[-500:])
    return r


def check_many(person, t, thousands):
    """A world with many names, some with newlines, and deep folders is summed up, listed, kept, removed and discarded."""
    folder, names = made(person), thousands * 1001 + 1500
    r = measured(person, t, "try", names, ["try", "--review", "later", "--", "python3", "-c", MANY, str(thousands)], folder)
    lines = r.err.split("\n")
    t.ok(f": {names} added, 0 changed, 0 removed in " in r.err and "1000 files" in r.err and len(lines) < 40, "it is summed up", *lines[:40])
    world = world_of(r)
    r = measured(person, t, "changes", names, ["changes", world], folder)
    t.equal(r.out.count("\n"), names, "each is listed in a line of its own")
    r = measured(person, t, "keep", names, ["keep", world], folder)
    t.ok(f"kept {names} changes" in r.err and sum(len(os.listdir(f"{folder}/d{i}")) for i in range(thousands)) == thousands * 1000, "they are kept", r.err)
    before = sorted(os.listdir(folder))
    r = measured(person, t, "try rm", names, ["try", "--review", "later", "--", "sh", "-c", "rm -r d*"], folder)
    t.ok(f" {thousands * 1001} removed in " in r.err, "what was removed is counted", r.err[:300])
    r = measured(person, t, "discard", names, ["discard", world_of(r)], folder)
    t.ok(sorted(os.listdir(folder)) == before and not worlds(person), "and there again after discarding", r.err)
    person.sh("rm -r d* x", cwd=folder, timeout=3000)  # Python's own removal recurses


def test_many(person, t):
    check_many(person, t, 5)


def test_million(person, t):
    """Once is enough, as the ordinary user if there is one; a tenth for the other."""
    check_many(person, t, 1000 if person.uid else 100)


def seconds(person, words, folder):
    began = time.monotonic()
    r = person.call(words, cwd=folder)
    return time.monotonic() - began, r


def test_cost(person, t):
    """Ratios within one run. The state folder and the project are on the same file system."""
    folder = person.folder()
    person.sh("for i in $(seq 30); do mkdir -p tree/$i; for k in $(seq 100); do echo $i $k >tree/$i/$k; done; done", cwd=folder)
    person.sh("mkdir work", cwd=folder)
    work, times = f"{folder}/work", {}
    copy = ["cp", "-r", "../tree", "new"]
    ways = {"bwrap": ["bwrap", "--dev-bind", "/", "/", "--bind", work, work, *copy], "run": [BUCKLE, "run", "--", *copy],
            "try": [BUCKLE, "try", "--review", "later", "--", *copy]}
    launches = {"launch of run": [BUCKLE, "run", "--", "true"], "launch of try": [BUCKLE, "try", "--", "true"]}
    for _ in range(25):
        for way, words in launches.items():
            times.setdefault(way, []).append(seconds(person, words, work)[0])
    for _ in range(3):
        for way, words in ways.items():
            person.sh("rm -rf new; sync", cwd=work)
            took, r = seconds(person, words, work)
            times.setdefault(way, []).append(took)
            if way == "try":
                world = world_of(r)
                times.setdefault("keep", []).append(seconds(person, [BUCKLE, "keep", world], work)[0])
                person.sh("sync", cwd=work)
                times.setdefault("cp -a", []).append(seconds(person, ["cp", "-a", "new", "again"], work)[0])
                person.sh("rm -rf again", cwd=work)
    usual = {way: statistics.median(all) for way, all in times.items()}
    for a, b in (("try", "bwrap"), ("run", "bwrap"), ("try", "run"), ("keep", "cp -a"), ("launch of try", "launch of run")):
        print(f"= {person.name}: {a} / {b}: {usual[a] / usual[b]:.2f}")
    t.ok(usual["try"] < 1.5 * usual["run"], "3,000 files in a world cost about as much as in a run", times)
    t.ok(usual["launch of try"] < 2 * usual["launch of run"], "so does a launch", times)


WHOLE = [test_million, test_cost]
TESTS = [test_shown, test_old_names, test_order, test_renamed, test_on, test_siblings, test_links, test_local_clone, test_success, test_outside, test_conflicts, test_protected, test_in_use,
               test_terminal, test_races, test_forged, test_names, test_prune, test_room, test_fallback, test_many]
chosen = sys.argv[1:]
for_everybody(WHOLE if chosen == ["whole"] else [test for test in TESTS + (WHOLE if chosen else [])
                                                 if not chosen or test.__name__ in chosen])
sys.exit(tap.done())
