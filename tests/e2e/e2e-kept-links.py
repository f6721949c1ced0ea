#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where built-in names lead is kept for the next launch. A link that changes in whatever way between
two runs counts at once, and files that are not right are ignored. Prints TAP.
"""

import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import running
import tap
from running import ORDINARY, eventually, for_everybody

SETTLED = 2.1  # seconds after which a folder counts as unchanged, and one tick


class Home:
    """A home folder with a work folder in it and a state folder beside it."""

    def __init__(self, person, make=""):
        self.person = person
        self.path = person.folder("home")
        self.work = os.path.join(self.path, "work")
        self.state = person.folder("state")
        self.folder = os.path.join(self.state, "buckle/links")
        self.env = {"XDG_STATE_HOME": self.state, "HOME": self.path}
        self.sh("mkdir -p work old new; echo secret >old/credentials; echo secret >new/credentials; " + make)

    def sh(self, script):
        return self.person.sh(script, cwd=self.path, env=self.env)

    def run(self, script, **how):
        return self.person.run("sh", "-c", script, cwd=self.work, env=self.env, **how)

    def is_read(self, name):
        """Whether a sandboxed command can read a file."""
        return "secret" in self.run(f"cat {self.path}/{name}").out

    def files(self):
        names = os.listdir(self.folder) if os.path.isdir(self.folder) else []
        return {name: os.stat(os.path.join(self.folder, name), follow_symlinks=False).st_ino for name in names}

    def one(self):
        (name,) = self.files()
        return os.path.join(self.folder, name)

    def keep(self):
        """Runs until something is kept and is used; folders of the system may have just changed."""
        def kept():
            self.run("true")
            before = self.files()
            self.run("true")
            return before and self.files() == before
        return eventually(kept, 20)


# Each row: what changes; how home is made; how it changes; a file that can be read before and not
# after, and one that cannot be read before. "-" for none.
CHANGES = [
    ("a store becomes a link", "mkdir .aws", "rmdir .aws; ln -s new .aws", "new/credentials", "-"),
    ("a link appears", "true", "ln -s new .aws", "new/credentials", "-"),
    ("a link gets another target", "ln -s old .aws", "ln -sfn new .aws", "new/credentials", "old/credentials"),
    ("a link is exchanged by a rename", "ln -s old .aws; ln -s new aside", "mv -T aside .aws", "new/credentials", "old/credentials"),
    ("a link inside a folder", "mkdir -p .config/gcloud", "rmdir .config/gcloud; ln -s ../new .config/gcloud", "new/credentials", "-"),
    ("a link inside a store", "mkdir .ssh; ln -s ../old/credentials .ssh/id_rsa", "ln -sf ../new/credentials .ssh/id_rsa",
     "new/credentials", "old/credentials"),
    ("a link on the way", "mkdir -p v1/aws v2/aws; cp old/credentials v1/aws; cp new/credentials v2/aws; ln -s v1 dots; ln -s dots/aws .aws",
     "ln -sfn v2 dots", "v2/aws/credentials", "v1/aws/credentials"),
    ("a folder on the way becomes a link", "mkdir -p a/b/c/aws d/aws; cp old/credentials a/b/c/aws; cp new/credentials d/aws; ln -s a/b/c/aws .aws",
     "mv a/b/c a/b/x; ln -s ../../d a/b/c", "d/aws/credentials", "a/b/c/aws/credentials"),
    ("a link five levels down", "mkdir -p a/b/c/d one two; cp old/credentials one; cp new/credentials two; ln -s ../../../../one a/b/c/d/e; ln -s a/b/c/d/e .aws",
     "ln -sfn ../../../../two a/b/c/d/e", "two/credentials", "one/credentials"),
    ("what a dangling link names", "ln -s later/aws .aws; mkdir -p aside; cp new/credentials aside",
     "mkdir later; ln -s ../aside later/aws", "aside/credentials", "-"),
    ("a folder is renamed", "mkdir -p .config/gcloud other; ln -s ../new other/gcloud", "mv .config gone; mv other .config", "new/credentials", "-"),
    ("times are set back", "mkdir .config", "touch -r .config stamp; ln -s ../new .config/gcloud; touch -r stamp .config; touch -r stamp .",
     "new/credentials", "-"),
    ("modes open a folder", "mkdir .config; ln -s ../new .config/gcloud; chmod 0 .config", "chmod 700 .config", "-", "-"),
]


def test_changes(person, t):
    homes = [Home(person, row[1]) for row in CHANGES]
    yield
    for home, (what, _, change, free, closed) in zip(homes, CHANGES):
        kept = home.keep() or "modes" in what
        before = (free == "-" or home.is_read(free), closed != "-" and home.is_read(closed))
        home.sh(change)
        after = free != "-" and home.is_read(free)
        t.equal((bool(kept), before), (True, (True, False)), f"{what}: the state before is kept", home.files())
        t.equal(after, False, f"{what}: the next run knows")
        if "modes" in what:
            t.equal(home.is_read("new/credentials"), False, f"{what}: and what is behind it")


# The same for a large working folder, and one above it. Each row: what changes, how it was, how it
# changes, a file that can be written before and not after, and the reverse.
ABOVE = [
    ("a link in the working folder", "ln -s old a/work/.vscode", "ln -sfn new a/work/.vscode", "new/x", "old/x"),
    ("a link that appears there", "true", "ln -s new a/work/.vscode", "new/x", "-"),
    ("a link above it", "ln -s work/old a/.vscode", "ln -sfn work/new a/.vscode", "new/x", "old/x"),
    ("a link on the way", "mkdir a/work/d; ln -s ../old a/work/d/e; ln -s d/e a/work/.vscode",
     "ln -sfn ../new a/work/d/e", "new/x", "old/x"),
    ("a link in a folder with a built-in name", "mkdir a/work/.claude; ln -s ../old a/work/.claude/commands",
     "ln -sfn ../new a/work/.claude/commands", "new/x", "old/x"),
    ("the working folder is exchanged", "ln -s old a/work/.vscode; cp -r a/work a/other; ln -sfn new a/other/.vscode",
     "mv a/work a/gone; mv a/other a/work", "new/x", "old/x"),
]


class Above(Home):
    """A home with a working folder two levels below it, and many files in both."""

    def __init__(self, person, make):
        super().__init__(person, "mkdir -p a/work/old a/work/new; for i in $(seq 500); do : >a/a-name-of-many-letters-in-the-folder-$i; done; "
                         "cp a/a-name-* a/work; " + make)
        self.work = os.path.join(self.path, "a/work")
        self.folder = os.path.join(self.state, "buckle/links-large")

    def is_written(self, name):
        return self.run(f"echo x >{name}").status == 0 if name != "-" else None


def test_above(person, t):
    homes = [Above(person, row[1]) for row in ABOVE]
    yield
    before = [(home.is_written(row[3]), home.is_written(row[4])) for home, row in zip(homes, ABOVE)]
    yield
    kept = [bool(home.keep()) for home in homes]
    for i, (home, (what, _, change, free, closed)) in enumerate(zip(homes, ABOVE)):
        home.sh(change)
        after = home.is_written(free), home.is_written(closed)
        only = closed == "-"
        t.equal((kept[i], before[i]), (True, (True, None if only else False)), f"{what}: the state before is kept", home.files())
        t.equal(after, (False, None if only else True), f"{what}: the next run knows")


def test_link_goes(person, t):
    home = Home(person, "ln -s old .aws")
    yield
    t.ok(home.keep() and not home.is_read("old/credentials"), "a link's target is denied")
    home.sh("rm .aws")
    t.ok(home.is_read("old/credentials"), "and free again once the link is gone")


def test_at_once(person, t):
    """Without waiting, so that times may not differ."""
    home = Home(person, "ln -s old .aws; mkdir -p .config; ln -s ../old .config/gcloud")
    wrong = kept = 0
    for i in range(12):
        free, closed = ("old", "new") if i % 2 == 0 else ("new", "old")
        home.run("true")
        kept += len(home.files())
        home.sh(f"ln -sfn {closed} .aws; ln -sfn ../{closed} .config/gcloud; touch -d @1 . .config")
        wrong += home.is_read(f"{closed}/credentials") or not home.is_read(f"{free}/credentials")
    t.equal(wrong, 0, "links that change all the time are seen")
    t.equal(kept, 0, "nothing is kept of folders that have just changed")


def test_home_is_exchanged(person, t):
    home = Home(person, "mkdir .config")
    other = Home(person, "mkdir -p work .config; ln -s ../new .config/gcloud; ln -s new .aws")
    yield
    t.ok(home.keep() and home.is_read("new/credentials"), "a home without links is kept")
    os.rename(home.path, home.path + ".old")
    os.rename(other.path, home.path)
    t.equal(home.is_read("new/credentials"), False, "another folder in its place is looked at")


def test_mounted_over(person, t):
    if person.uid != 0:
        return
    home = Home(person, "mkdir -p .config mounted; ln -s ../new mounted/gcloud")
    yield
    home.keep()
    script = f"mount --bind mounted .config && cd work && {running.BUCKLE} run cat {home.path}/new/credentials"
    done = person.call(["unshare", "-m", "sh", "-c", script], cwd=home.path, env=home.env)
    t.ok(done.status != 0 and "secret" not in done.out, "a mount over a folder is seen", done)
    t.ok(home.is_read("new/credentials"), "and only while it is there")


def test_put_back(person, t):
    """A file of an earlier state, whole and the user's own."""
    home = Home(person, "ln -s old .aws")
    yield
    home.keep()
    kept = home.one()
    shutil.copy2(kept, kept + ".aside")
    person.own(kept + ".aside")
    os.rename(kept + ".aside", os.path.join(home.state, "aside"))
    home.sh("ln -sfn new .aws")
    yield
    home.keep()
    os.replace(os.path.join(home.state, "aside"), kept)
    t.equal(home.is_read("new/credentials"), False, "an old file is not believed")
    t.equal(home.is_read("old/credentials"), True, "nor does it deny what is free")


def forgeries(home):
    def change(at):
        def write(path):
            with open(path, "r+b") as f:
                f.seek(at if at >= 0 else os.path.getsize(path) + at)
                byte = f.read(1)
                f.seek(-1, os.SEEK_CUR)
                f.write(bytes([byte[0] ^ 1]))
        return write

    def replace(make):
        def put(path):
            os.rename(path, path + ".old")
            make(path)
            home.person.own(path)
        return put

    for at in (20, 60, 200, -200, -1):
        yield f"a changed byte at {at}", change(at)
    yield "half of it", lambda path: os.truncate(path, os.path.getsize(path) // 2)
    yield "nothing", lambda path: os.truncate(path, 0)
    yield "a symlink", replace(lambda path: os.symlink(path + ".old", path))
    yield "a FIFO", replace(lambda path: os.mkfifo(path, 0o600))
    yield "a folder", replace(os.mkdir)
    yield "a file that others can write", lambda path: os.chmod(path, 0o666)
    yield "a folder that others can enter", lambda path: os.chmod(os.path.dirname(path), 0o777)
    if os.geteuid() == 0:
        other = ORDINARY if home.person.uid == 0 else 0
        yield "somebody else's file", lambda path: os.chown(path, other, other)
        yield "somebody else's folder", lambda path: os.chown(os.path.dirname(path), other, other)


def test_forged(person, t):
    """A file that says that there are no links, damaged or not the user's."""
    homes = [Home(person) for _ in forgeries(Home(person))]
    yield
    for home, (what, forge) in zip(homes, forgeries(homes[0])):
        home.keep()
        forge(home.one())
        home.sh("ln -s new .aws")
        t.equal(home.is_read("new/credentials"), False, f"{what}: links count")


ATTACKS = """
p={folder}
for f in $p/*; do echo x >>$f; cp /etc/passwd $f; mv $f $f.x; ln -f $f $p/two; ln -sf /etc/passwd $f; rm -f $f; chmod 644 $f; touch $f; truncate -s 0 $f; done
mv $p $p.x; rm -rf $p; mkdir $p.y; echo x >$p/0123456789abcdef; chmod 777 $p; mv {state} {state}.x
true
"""


def test_attacked(person, t):
    rows = ([], ["--profile", "open"], ["--allow-write", "HOME"])
    homes = [Home(person, "ln -s old .aws") for _ in rows]
    yield
    for flags, home in zip(rows, homes):
        home.keep()
        words = [home.path if f == "HOME" else f for f in flags]
        with open(home.one(), "rb") as f:
            before = f.read()
        script = ATTACKS.replace("{folder}", home.folder).replace("{state}", home.state)
        person.run(*words, "sh", "-c", script, cwd=home.work, env=home.env)
        with open(home.one(), "rb") as f:
            t.equal(f.read() == before, True, f"{' '.join(flags) or 'default'}: commands cannot change it")


def all_tests(person, t):
    """Tests yield where time must pass before their folders count as unchanged."""
    tests = [test(person, t) for test in (test_changes, test_above, test_link_goes, test_home_is_exchanged, test_mounted_over,
                                          test_put_back, test_forged, test_attacked)]
    while tests:
        left = []
        for test in tests:
            if next(test, test) is None:
                left.append(test)
        tests = left
        time.sleep(SETTLED if tests else 0)


for_everybody([all_tests, test_at_once])
sys.exit(tap.done())
