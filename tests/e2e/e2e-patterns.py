#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading denied by patterns in the working folder: names that exist, that the command makes, and that
appear from outside. Prints TAP."""

import json
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import fusable
import tap
from talking import LOOP, Talker
from running import BUCKLE, SLOW, eventually, for_everybody, missing

DENY = ("--deny-read", "**/.env", "--deny-read", "**/*.pem", "--deny-read", "**/secrets/**")
TIERS = (("searched", ()), ("judged", ("--strict-reads",)))

class Tree:
    """A working folder with denied names in it."""

    def __init__(self, user):
        self.user = user
        self.top = user.folder("patterns")
        for name in (".env", "a/.env", "a/b/key.pem", "a/secrets/one", "a/secrets/in/two"):
            self.write(name, "SECRET " + name)
        for name in ("plain", "a/plain", "a/b/plain", "env", "a/.environment", "c/other"):
            self.write(name, "plain " + name)

    def write(self, name, text):
        return self.user.write(os.path.join(self.top, name), text)

    def path(self, name):
        return os.path.join(self.top, name)

    def run(self, *words, flags=(), **how):
        return self.user.run(*DENY, *flags, "--", *words, cwd=self.top, **how)

    def python(self, script, *words, flags=(), **how):
        return self.run("python3", "-c", TOOLS + script, *words, flags=flags, **how)

    def plan(self, *flags):
        r = self.user.call([BUCKLE, "run", "--dry-run", "--json", *DENY, *flags, "--", "true"], cwd=self.top)
        return json.loads(r.out) if r.status == 0 else {"failed": r.err}


class Talk(Talker):
    """A shell in a sandbox that answers line by line."""

    def __init__(self, tree, *flags):
        self.child = tree.user.start([BUCKLE, "run", *DENY, *flags, "--", "sh", "-c", LOOP], cwd=tree.top,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def denies(self, name):
        """Soon, and from then on."""
        return (eventually(lambda: "not permitted" in self.ask(f"cat {name}"), 5) and
                "not permitted" in self.ask(f"cat {name}"))

    def end(self):
        self.child.stdin.close()
        self.child.stdout.read()
        err = self.child.stderr.read()
        self.child.wait(timeout=30)
        return err.decode(errors="replace")


TOOLS = r"""
import ctypes, errno, mmap, os, shutil, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)

def tried(what, do):
    try:
        got = do()
    except OSError as e:
        got = errno.errorcode.get(e.errno, e.errno)
    print(what, "->", "LEAK " + repr(got) if "SECRET" in str(got) else got)

def read(path, flags=0, **how):
    fd = os.open(path, os.O_RDONLY | flags, **how)
    try:
        return os.read(fd, 100).decode()
    finally:
        os.close(fd)

def exchange(a, b):
    if libc.renameat2(-100, a.encode(), -100, b.encode(), 2) < 0:
        raise OSError(ctypes.get_errno(), "renameat2")
"""

WAYS = r"""
names = [".env", "a/.env", "a/b/key.pem", "a/secrets/one", "a/secrets/in/two", "plain", "a/plain", "env",
         "a/.environment"]
here = os.getcwd()

def by_handle(name):
    fd = os.open(name, os.O_PATH)
    try:
        return read(f"/proc/self/fd/{fd}")
    except OSError as e:  # by the judge EBADF
        raise OSError(errno.EPERM, "")

def at_folder(name):
    folder = os.open(os.path.dirname(name) or ".", os.O_RDONLY if "secrets" not in name else os.O_PATH)
    return read(os.path.basename(name), dir_fd=folder)

def by_link(name):
    os.path.lexists("soft") and os.unlink("soft")
    os.symlink(os.path.join(here, name), "soft")
    return read("soft")

def written(name):
    fd = os.open(name, os.O_WRONLY | os.O_APPEND)
    return read(f"/proc/self/fd/{fd}")

def from_below(name):
    return read("a/b/../../" + name)

def copied(name):
    fd, out = os.open(name, os.O_RDONLY), os.open("out", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.sendfile(out, fd, 0, 100)
    return os.pread(out, 100, 0).decode()

def linked(name):
    os.path.lexists("hard") and os.unlink("hard")
    try:
        os.link(name, "hard")
    except OSError as e:
        return "refused" # not always with the same errno
    return read("hard")

def renamed(name):
    os.rename(name, "moved")
    try:
        return read("moved")
    finally:
        os.rename("moved", name)

def exchanged(name):
    exchange(name, "c/other")
    try:
        return read("c/other")
    finally:
        exchange(name, "c/other")

ways = {"open": read, "O_PATH": by_handle, "openat": at_folder, "symlink": by_link, "root":
        lambda n: read("/proc/self/root" + os.path.join(here, n)), "cwd": lambda n: read("/proc/self/cwd/" + n),
        "below": from_below, "sendfile": copied, "link": linked, "rename": renamed, "exchange": exchanged,
        "O_RDWR": lambda n: read(n, os.O_RDWR), "truncate": lambda n: read(n, os.O_TRUNC),
        "noatime": lambda n: read(n, os.O_NONBLOCK), "stat": lambda n: str(os.stat(n).st_size),
        "listed": lambda n: os.path.basename(n) in os.listdir(os.path.dirname(n) or "."),
        "access": lambda n: os.access(n, os.R_OK)}
for how, way in ways.items():
    for name in names:
        if how in ("truncate", "written", "O_RDWR") and "plain" in name: continue
        tried(f"{how} {name}", lambda: way(name))
for folder in ("a/secrets", "a/secrets/in", "a", "a/b"):
    tried("list " + folder, lambda: sorted(os.listdir(folder)))
for name in (".env", "a/secrets/one"):
    got = []
    try: written(name)
    except OSError: got.append("refused")
    print("written", name, "refused" if got else "opened")
"""


def test_tiers_agree(user, t):
    """Every way to read, by sentries on what was found, and by the judge."""
    answers, events = {}, {}
    for tier, flags in TIERS:
        tree = Tree(user)
        if tier == "searched":
            t.equal([one["path"] for one in tree.plan().get("searched", [])], [tree.top], "it is searched")
        r = tree.python(WAYS, flags=[*flags, "--report", "json"])
        t.ok("LEAK" not in r.out and r.out.count("EPERM") > 40, f"{tier}: nothing leaks", r)
        answers[tier] = r.out.replace(tree.top, "")
        events[tier] = sorted(set(re.findall(r'"operation": ?"([^"]*)".*?"path": ?"([^"]*)"',
                                             r.err.replace(tree.top, ""))))
    differing = [(a, b) for a, b in zip(answers["searched"].split("\n"), answers["judged"].split("\n"))
                 if a != b and not a.startswith("written")]
    t.equal(differing, [], "the same answers")
    t.equal(events["searched"], events["judged"], "the same reports")
    t.ok(("file-read-data", "/a/b/key.pem") in events["searched"], "denials are reported", events)


WORK = r"""
def sh(script):
    r = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(script, "->", r.returncode, r.stdout.decode())

sh("echo NEW >.env && stat -c %s .env")
sh("cp plain a/.env && stat -c %s a/.env")
sh("mv a/.env c/.env && stat -c %s c/.env && ls -A a")
sh("mv a c/a && cat c/a/plain && stat -c %s c/a/b/key.pem")
sh("cat c/a/b/key.pem c/.env")
sh("chmod 600 .env && touch -d 2001-01-01 .env && stat -c '%a %Y' .env")
sh("truncate -s 2 .env && stat -c %s .env")
sh("ln -s .env soft && cat soft")
sh("rm .env && test ! -e .env && echo AGAIN >.env && cat .env")
sh("mkdir -p n/m && echo 1 >n/m/x.pem && cat n/m/x.pem")
sh("mv n/m/x.pem n/m/y.pem && cat n/m/y.pem; ls n/m")
sh("mv n/m/y.pem n/m/y; ls n/m")
sh("rm -rf n c/a/b c/.env && ls -A c")
sh("mkdir secrets && echo 1 >secrets/new; cat secrets/new; ls secrets")
sh("rm secrets/new && rmdir secrets && ls -d secrets")
sh("mkdir keys && echo 1 >keys/one && mv keys secrets && cat secrets/one")
sh("tar cf - plain | tar xf - -C c && cat c/plain")
sh("echo 1 >one && mv one two.pem && cat two.pem; mv -T two.pem .env; cat .env; rm -f .env && ls -A")
"""


def test_work(user, t):
    """What commands do with such names works as it does by the judge."""
    answers = {}
    for tier, flags in TIERS:
        tree = Tree(user)
        r = tree.python(WORK, flags=flags)
        t.ok("SECRET" not in r.out and r.status == 0, f"{tier}: done", r)
        answers[tier] = r.out.replace(tree.top, "")
        r = user.call(["find", "."], cwd=tree.top)
        answers[tier] += "\n".join(sorted(r.out.split("\n")))
    t.equal(answers["searched"].split("\n"), answers["judged"].split("\n"), "the same results")


def test_git(user, t):
    """git moves guarded files about, and npm-like trees are removed."""
    if missing("git"):
        tap.skip("git is not installed")
        return
    tree = Tree(user)
    git = "git -c user.name=n -c user.email=e@example.com"
    user.sh(f"git init -q . && {git} add -A && {git} commit -qm one && "
            f"{git} mv a/.env c/.env && {git} commit -qm two && git checkout -q HEAD~1 2>&1", cwd=tree.top)
    r = tree.run("sh", "-c", f"git checkout -q - && git checkout -q - && {git} status --short && "
                 f"rm .env && git checkout -q -- .env && echo X >.env && {git} stash -q; "
                 "git checkout -q -- . && cat .env; git clean -qfdx; rm -rf a; git checkout -q -- a; "
                 "cat a/b/key.pem; git status --short")
    t.ok("SECRET" not in r.out and r.err.count("not permitted") >= 2, "git works", r)
    with open(tree.path("a/b/key.pem"), encoding="utf-8") as f:
        t.equal(f.read(), "SECRET a/b/key.pem", "the real files are whole")


NEW = r"""
def fresh(path, text="content"):
    with open(path, "w") as f: f.write(text)

def check(what, path):
    tried(what, lambda: read(path))

for i in range(8):
    os.mkdir("n")
    fresh("n/.env"); check("created", "n/.env")
    fresh("n/x"); os.rename("n/x", "n/x.pem"); check("renamed", "n/x.pem")
    fresh("n/y"); os.link("n/y", "n/y.pem"); check("linked", "n/y.pem")
    os.mkdir("n/d"); os.mkdir("n/d/e"); fresh("n/d/e/one"); os.rename("n/d/e", "n/secrets")
    check("a folder renamed", "n/secrets/one")
    os.mkdir("n/k"); fresh("n/k/f"); os.mkdir("n/k/secrets"); fresh("n/k/secrets/f")
    check("made in a new folder", "n/k/secrets/f")
    fresh("n/a.pem"); fresh("n/b"); exchange("n/a.pem", "n/y.pem"); check("exchanged", "n/a.pem")
    os.mknod("n/z.pem"); check("mknod", "n/z.pem")
    fd = os.open("n", os.O_TMPFILE | os.O_RDWR); os.write(fd, b"content")
    try:
        os.link(f"/proc/self/fd/{fd}", "n/t.pem", follow_symlinks=True); check("O_TMPFILE", "n/t.pem")
    except OSError as e: print("O_TMPFILE -> EPERM")
    os.close(fd)
    os.rename("n", "m"); check("moved along", "m/.env"); check("moved along", "m/k/secrets/f")
    shutil.rmtree("m", ignore_errors=True)
    for f in ("m/secrets/one", "m/k/secrets/f"):
        if os.path.lexists(f): os.unlink(f)
    shutil.rmtree("m", ignore_errors=True)
    if os.path.exists("m"): subprocess.run(["sh", "-c", "rmdir m/secrets m/k/secrets m/k m; rm -rf m"])
"""


def test_new_names(user, t):
    """Every way to make such a name: it is denied when the call returns."""
    for tier, flags in TIERS:
        tree = Tree(user)
        r = tree.python(NEW, flags=flags)
        lines = [line for line in r.out.split("\n") if "->" in line]
        wrong = [line for line in lines if not line.endswith("EPERM")]
        t.ok(len(lines) == 8 * 10 and not wrong, f"{tier}: denied at once", wrong[:10], r.err[-2000:])


RACE = r"""
stop, seen = False, []
paths = [".env", "a/.env", "d/.env", "d2/.env", "x.pem", "d/x.pem", "d2/x.pem", "y.pem"]
os.mkdir("d")

def reader():
    while not stop:
        for p in paths:
            try:
                with open(p) as f:
                    text = f.read()
                if "SECRET" in text: seen.append((p, text))
            except OSError: pass

def linker():
    while not stop:
        for new in ("y.pem", "d/x.pem"):
            try:
                os.link(".env", new)
                os.unlink(new)
            except OSError: pass

threads = [threading.Thread(target=f) for f in (reader, reader, linker)]
for t in threads: t.start()
for i in range(150):
    for a, b in ((".env", "d/.env"), ("d/.env", "x.pem"), ("d", "d2"), ("x.pem", "d2/x.pem"), ("d2", "d"),
                 ("d/x.pem", ".env")):
        try: os.rename(a, b)
        except OSError as e: print(a, b, e)
stop = True
for t in threads: t.join()
print("seen", seen[:3])
"""


def test_races(user, t):
    """Readers never see a secret while it moves from one denied name to another."""
    tree = Tree(user)
    r = tree.python(RACE, flags=["--report", "none"])
    t.ok(r.out == "seen []\n", "nothing is seen", r)


def test_outside(user, t):
    """Names that appear from outside are denied from the next moment on."""
    tree = Tree(user)
    talk = Talk(tree)
    t.ok("not permitted" in talk.ask("cat .env"), "before")
    tree.write("late.pem", "SECRET")
    t.ok(talk.denies("late.pem"), "created")
    tree.write("tmp", "SECRET")
    os.rename(tree.path("tmp"), tree.path(".env"))
    t.ok(talk.denies(".env"), "replaced")
    tree.write("new/deep/er/.env", "SECRET")
    t.ok(talk.denies("new/deep/er/.env"), "in new folders")
    elsewhere = user.folder("elsewhere")
    user.write(os.path.join(elsewhere, "in/side/x.pem"), "SECRET")
    user.write(os.path.join(elsewhere, "in/plain"), "open")
    os.rename(os.path.join(elsewhere, "in"), tree.path("in"))
    t.ok(talk.denies("in/side/x.pem"), "a folder that was moved in")
    tree.write("in/side/y.pem", "SECRET")
    t.ok(talk.denies("in/side/y.pem"), "and what appears in it")
    os.rename(tree.path("in"), tree.path("moved"))
    tree.write("moved/side/z.pem", "SECRET")
    t.ok(talk.denies("moved/side/x.pem") and talk.denies("moved/side/z.pem"), "moved again")
    os.rename(tree.path("moved/plain"), tree.path("moved/plain.pem"))
    t.ok(talk.denies("moved/plain.pem"), "renamed")
    talk.ask("mkdir made")
    tree.write("made/.env", "SECRET")
    t.ok(talk.denies("made/.env"), "in a folder that the command made")
    os.mkfifo(tree.path("pipe.pem"))
    user.own(tree.path("pipe.pem"))
    t.ok(eventually(lambda: "==0" in talk.ask("timeout 1 cat pipe.pem; test $? -ne 124")), "a pipe")
    t.ok("plain" in talk.ask("cat a/plain"), "the rest is open")
    err = talk.end()
    t.ok("late.pem" in err and "made/.env" in err, "reported", err)


def test_between(user, t):
    """Names that appear between two runs, and while a run begins."""
    tree = Tree(user)
    for i in range(3):
        tree.run("true")  # later runs know what these found
    tree.write("a/b/later.pem", "SECRET")
    tree.write("new/.env", "SECRET")
    os.rename(tree.path("c"), tree.path("c2"))
    tree.write("c2/.env", "SECRET")
    r = tree.run("cat", "a/b/later.pem", "new/.env", "c2/.env", ".env", "plain")
    t.ok(r.out == "plain plain" and r.err.count("not permitted") == 4, "since the last run", r)
    os.unlink(tree.path(".env"))
    r = tree.run("sh", "-c", "cat .env; echo 1 >.env; cat .env; cat a/.env")
    t.ok(r.out == "" and r.err.count("not permitted") == 2, "one that was removed", r)
    for i in range(4):
        stop = threading.Event()

        def make(i=i, stop=stop):
            for k in range(100000):
                if stop.is_set():
                    return
                tree.write(f"a/b/{i}-{k}.pem", "SECRET")
                stop.wait(0.001)
        maker = threading.Thread(target=make)
        maker.start()
        talk = Talk(tree)
        talk.ask("true")
        stop.set()
        maker.join()
        t.ok(eventually(lambda: "SECRET" not in talk.ask("cat a/b/*.pem"), 5), f"while it begins: {i}")
        talk.end()


def test_storm(user, t):
    """Names that appear among thousands of others, inside and outside at once."""
    tree = Tree(user)
    talk = Talk(tree)
    work = threading.Thread(target=lambda: talk.ask(
        "i=0; while [ $i -lt 300 ]; do mkdir -p s/$((i % 50)); : >s/$((i % 50))/$i; i=$((i + 1)); done"))
    work.start()
    for i in range(60):
        tree.write(f"o/{i}/f", "open")
        tree.write(f"o/{i}/.env", "SECRET")
    work.join()
    t.ok(eventually(lambda: "SECRET" not in talk.ask("cat o/*/.env"), 10), "all of them")
    talk.end()


def test_many(user, t):
    """More names than can have a sentry: judged from the start, or refused."""
    if user.uid == 0 and not SLOW:
        return
    tree = Tree(user)
    for i in range(700):
        tree.write(f"many/{i}.pem", "SECRET")
    plan = tree.plan()
    t.ok("searched" not in plan, "judged", str(plan)[:300])
    for i in range(3):  # later ones know that there are too many
        r = tree.run("sh", "-c", "cat many/*.pem | wc -c; cat plain; echo 1 >n.pem; cat n.pem")
        t.ok(r.out == "0\nplain plain" and "not permitted" in r.err, f"denied: {i}", r)
    tree = Tree(user)
    r = tree.python("""
made = 0
try:
    os.mkdir("n")
    for i in range(4000):
        os.close(os.open(f"n/{i}.pem", os.O_CREAT | os.O_WRONLY)); made += 1
except OSError as e: print(e.strerror)
print(made, sum(1 for i in range(made) if os.access(f"n/{i}.pem", os.F_OK)))
for i in (0, made - 1):
    tried("read", lambda: read(f"n/{i}.pem"))
for i in range(made): os.unlink(f"n/{i}.pem")
for i in range(100): os.close(os.open(f"n/{i}.pem", os.O_CREAT | os.O_WRONLY))
tried("read", lambda: read("n/99.pem"))
""", flags=["--report", "none"])
    t.ok("No space left" in r.out and r.out.count("-> EPERM") == 3, "bounded while it runs", r)


def test_big(user, t):
    """A folder with too many files, and one that cannot be searched, is judged."""
    if user.uid == 0 and not SLOW:
        return
    tree = Tree(user)
    for i in range(100):
        os.mkdir(tree.path(f"big{i}"))
        for k in range(210):
            os.close(os.open(tree.path(f"big{i}/{k}"), os.O_CREAT | os.O_WRONLY))
    t.ok("searched" not in tree.plan(), "too many files")
    for i in range(3):  # later ones know what is there
        r = tree.run("cat", ".env", "plain", "a/secrets/one")
        t.ok(r.out == "plain plain" and "2 operations were denied" in r.err, f"denied all the same: {i}", r)
    if user.uid == 0:
        return
    tree = Tree(user)
    tree.write("shut/.env", "SECRET")
    os.chmod(tree.path("shut"), 0o300)
    t.ok("searched" not in tree.plan(), "a closed folder")
    r = tree.run("sh", "-c", "cat shut/.env; chmod 700 shut; cat shut/.env; cat plain")
    t.ok(r.out == "plain plain" and r.err.count("not permitted") == 2, "denied all the same", r)


def test_closed_later(user, t):
    """A folder from outside that is closed at first, and one that the command closes."""
    if user.uid == 0:
        return
    tree = Tree(user)
    talk = Talk(tree)
    talk.ask("mkdir own; chmod 300 own")
    elsewhere = user.folder("elsewhere")
    user.write(os.path.join(elsewhere, "in/.env"), "SECRET")
    os.chmod(os.path.join(elsewhere, "in"), 0o000)
    os.rename(os.path.join(elsewhere, "in"), tree.path("in"))
    tree.write("own/.env", "SECRET")
    talk.ask("chmod 700 in own")
    t.ok(talk.denies("in/.env"), "closed at first")
    t.ok(talk.denies("own/.env"), "closed by the command")
    talk.end()


def test_no_watches(user, t):
    """Without watches the folder is searched again and again."""
    if user.uid == 0:
        return  # other processes of root would suffer
    tree = Tree(user)
    script = ("import ctypes,sys\nlibc = ctypes.CDLL(None)\nwhile libc.inotify_init1(0x80000) >= 0: pass\n"
              "print('full', flush=True)\nsys.stdin.read()")
    hold = user.start(["python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    hold.stdout.readline()
    talk = Talk(tree)
    talk.ask("mkdir made")
    tree.write("late.pem", "SECRET")
    tree.write("made/.env", "SECRET")
    t.ok(talk.denies("late.pem") and talk.denies("made/.env"), "without watches")
    talk.end()
    hold.communicate()


def test_aliases(user, t):
    """The same files under another path, mounted before and while the command runs."""
    if user.uid != 0:
        return  # cannot mount
    tree = Tree(user)
    other = user.folder("alias")
    subprocess.run(["mount", "--bind", tree.path("a"), other], check=True)
    try:
        t.ok("searched" not in tree.plan(), "judged where there is another path")
        r = tree.run("cat", os.path.join(other, ".env"), os.path.join(other, "plain"))
        t.ok("SECRET" not in r.out, "and denied there", r)
    finally:
        subprocess.run(["umount", "-l", other], check=True)
    talk = Talk(tree)
    talk.ask("cat .env")
    subprocess.run(["mount", "--bind", tree.path("a"), other], check=True)
    try:
        t.ok(eventually(lambda: "SECRET" not in talk.ask(f"cat {other}/.env")), "mounted later")
        subprocess.run(["mount", "-t", "tmpfs", "none", tree.path("c")], check=True)
        tree.write("c/.env", "SECRET")
        t.ok(eventually(lambda: "SECRET" not in talk.ask("cat c/.env")), "on a new mount")
    finally:
        subprocess.run(["umount", "-l", tree.path("c")], check=False)
        subprocess.run(["umount", "-l", other], check=False)
    talk.end()


def test_nested(user, t):
    """Inside another sandbox."""
    tree = Tree(user)
    r = user.run("--", BUCKLE, "run", *DENY, "--", "sh", "-c", "cat .env plain; echo 1 >n.pem; cat n.pem",
                 cwd=tree.top)
    t.ok(r.out == "plain plain" and r.err.count("not permitted") >= 2, "an inner run", r)
    r = tree.run(BUCKLE, "run", "--", "sh", "-c", "cat .env plain; mv .env x; rm a/.env; ls a/.env")
    t.ok(r.out == "plain plain", "an outer run's patterns", r)


def test_places(user, t):
    """Without a pid namespace, and with older kernels."""
    for what, env in (("no pid namespace", "pid_ns=0"), ("no fresh /proc", "mount_proc=0"),
                      ("kernel 6.1", "kernel=6.1"), ("no FUSE", "fuse=0")):
        tree = Tree(user)
        r = tree.run("sh", "-c", "cat .env plain; echo 1 >n.pem; cat n.pem; rm a/.env; mv .env b.pem; cat b.pem",
                     env={"BUCKLE_PRETEND": env})
        t.ok(r.out == "plain plain" and r.err.count("not permitted") == 3, what, r)


def main():
    if not fusable.usable():
        tap.skip("/dev/fuse is not open to everybody here")
        return tap.done()
    every = [test_tiers_agree, test_work, test_git, test_new_names, test_races, test_outside, test_between,
             test_storm,
             test_many, test_big, test_closed_later, test_no_watches, test_aliases, test_nested, test_places]
    for_everybody([globals()["test_" + name] for name in sys.argv[1:]] or every)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
