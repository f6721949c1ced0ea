#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle learn`: a profile learned from one run lets later runs pass, in other folders and with other
temporary names. Each of its rules is needed, and none opens what the base denies. Names that the
command chooses cannot change what the profile means. `run --learn-denied` writes rules for denials.

    e2e-learn.py          a few tasks
    e2e-learn.py whole    twenty real builds and test suites, with the cost of learning
    e2e-learn.py by-hand  the number of rules, against profiles that were written by hand
"""

import os
import re
import shutil
import stat
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import BUCKLE, for_everybody

GIT = "git -c user.name=A -c user.email=a@example.com -c init.defaultBranch=main"

C_PROJECT = r"""
mkdir src include
printf 'CFLAGS = -O1 -Iinclude\nprog: src/a.o src/b.o src/c.o\n\t$(CC) -o $@ $^\ncheck: prog\n\t./prog\n' >Makefile
printf 'int b(void);\n' >include/b.h
printf '#include <stdio.h>\n#include "b.h"\nint main(void) { printf("%%d\\n", b()); return 0; }\n' >src/a.c
printf '#include "b.h"\nint c(void);\nint b(void) { return c(); }\n' >src/b.c
printf '#include <stdlib.h>\nint c(void) { return abs(-3); }\n' >src/c.c
"""
UNITTEST = r"""
mkdir tests
cat >tests/test_files.py <<'END'
import os, subprocess, tempfile, unittest
class Files(unittest.TestCase):
    def test_folder(self):
        with tempfile.TemporaryDirectory() as d:
            with open(os.path.join(d, "x"), "w") as f:
                f.write("x")
    def test_beside(self):
        with tempfile.NamedTemporaryFile(dir=".") as f:
            f.write(b"x")
    def test_child(self):
        self.assertEqual(subprocess.check_output(["sh", "-c", "echo hi"]), b"hi\n")
END
"""
NODE = r"""
cat >a.js <<'END'
const fs = require("fs"), os = require("os"), path = require("path");
const d = fs.mkdtempSync(path.join(os.tmpdir(), "a-"));
fs.writeFileSync(path.join(d, "x"), "1");
fs.mkdirSync("dist", {recursive: true});
fs.writeFileSync("dist/out.js", "done");
console.log(require("child_process").execSync("echo hi").toString());
END
printf '{"name": "a", "version": "1.0.0", "scripts": {"test": "node a.js"}}\n' >package.json
"""

# what is made first, what is learned, and what makes it run afresh
FEW = {
    "make": (C_PROJECT, "make check", "rm -f prog src/*.o"),
    "git commit": (f"{GIT} init -q . && echo 0 >f", f"echo $$ >>f && {GIT} add f && {GIT} commit -qm $$ && {GIT} log -1", ""),
    "unittest": (UNITTEST, "/usr/bin/python3 -m unittest discover -q -s tests", "rm -rf tests/__pycache__"),
    "sqlite": ("", "/usr/bin/python3 -c \"import sqlite3; d = sqlite3.connect('db'); "
                   "d.execute('create table if not exists t (n)'); d.execute('insert into t values (1)'); d.commit()\"", ""),
    "temporary files": ("echo a >f", "sed -i s/a/b/ f; f=$(mktemp /var/tmp/learned.XXXXXX); echo x >$f; cat $f; rm $f", ""),
}
MORE = {
    "tar": ("mkdir d; for i in 1 2 3 4; do echo $i >d/$i; done", "tar czf o.tgz d && mkdir x && tar xzf o.tgz -C x && rm -r x", ""),
    "node": (NODE, "node a.js", "rm -rf dist"),
    "npm test": (NODE, "npm test --silent --no-update-notifier", "rm -rf dist"),
    "cc": ("printf 'int main(void) { return 0; }' >a.c", "cc -g -o a a.c && ./a", "rm -f a"),
    "c++": ("printf '#include <vector>\\n#include <iostream>\\nint main() { std::vector<int> v(3); std::cout << v.size(); }' >a.cc",
            "c++ -o a a.cc && ./a", "rm -f a"),
    "perl": ("", "perl -MFile::Temp=tempfile -e 'my ($f, $n) = tempfile(DIR => \".\", UNLINK => 1); print $f 1; close $f; "
                 "open O, \">out\"; print O 1; close O; rename \"out\", \"out2\"'", "rm -f out2"),
    "find and grep": ("mkdir -p a/b/c; echo x >a/b/c/d", "find . -type f -exec cat {} +; grep -r x .; ls -la /etc >/dev/null", ""),
    "git clone and gc": (f"{GIT} init -q o && cd o && for i in 1 2 3; do echo $i >f$i; {GIT} add .; {GIT} commit -qm $i; done",
                         f"{GIT} clone -q o c && cd c && echo y >f1 && {GIT} commit -qam y && {GIT} gc -q && cd .. && rm -rf c", ""),
    "git rebase": (f"{GIT} init -q . && for i in 1 2 3; do echo $i >f$i; {GIT} add .; {GIT} commit -qm $i; done && "
                   f"{GIT} checkout -q -b b HEAD~1 && echo z >z && {GIT} add z && {GIT} commit -qm z",
                   f"{GIT} rebase -q main && {GIT} reset -q --hard HEAD", ""),
    "a static library": (C_PROJECT, "cc -Iinclude -c src/b.c -o b.o && cc -c src/c.c -o c.o && ar rcs lib.a b.o c.o && ranlib lib.a",
                         "rm -f *.o lib.a"),
    "shell script": ("", "for i in 1 2 3 4 5; do echo $i >out$i; done; cat out* | sort -r | head -2; rm out*", ""),
    "patch and diff": ("seq 50 >a; sed s/7/x/ a >b; diff -u a b >p || true", "patch -s a <p && diff a b; patch -s -R a <p", ""),
    "a Unix socket": ("", "/usr/bin/python3 -c \"import os, socket as s; a = s.socket(s.AF_UNIX); a.bind('x.sock'); a.listen(); "
                          "b = s.socket(s.AF_UNIX); b.connect('x.sock'); os.unlink('x.sock')\"", ""),
    "venv": ("", "/usr/bin/python3 -m venv --without-pip v && v/bin/python -c 'print(1)'", "rm -rf v"),
    "compileall": ("mkdir m; for i in 1 2 3; do echo 'x = 1' >m/a$i.py; done", "/usr/bin/python3 -m compileall -q m", "rm -rf m/__pycache__"),
}

# The same work in another order, for tasks that have one: jobs side by side, tests and files the other way round.
ORDERS = {
    "make": "make -j3 src/c.o src/b.o src/a.o && make -j3 check",
    "unittest": "PYTHONPATH=tests /usr/bin/python3 -m unittest -q test_files.Files.test_child test_files.Files.test_beside test_files.Files.test_folder",
    "temporary files": "f=$(mktemp /var/tmp/learned.XXXXXX); echo x >$f; sed -i s/a/b/ f; cat $f; rm $f",
    "tar": "tar czf o.tgz d/4 d/3 d/2 d/1 && mkdir x && tar xzf o.tgz -C x d/3 d/1 && tar xzf o.tgz -C x && rm -r x",
    "find and grep": "ls -la /etc >/dev/null; grep -r x .; find . -depth -type f -exec cat {} +",
    "a static library": "cc -c src/c.c -o c.o & cc -Iinclude -c src/b.c -o b.o; wait; ar rcs lib.a c.o b.o && ranlib lib.a",
    "shell script": "for i in 5 3 1 4 2; do echo $i >out$i & done; wait; cat out* | sort -r | head -2; rm out*",
    "compileall": "/usr/bin/python3 -m compileall -q m/a3.py m/a1.py m/a2.py",
    "git commit": f"echo $$ >>f && {GIT} commit -qam $$ && {GIT} log -1 && echo again >>f && {GIT} add f && {GIT} commit -qm again",
    "git clone and gc": f"{GIT} clone -q o c && cd c && {GIT} gc -q && echo y >f1 && {GIT} commit -qam y && cd .. && rm -rf c",
}


# What a person would write for five of them, with one path a rule. Where the learned profile names single programs and
# files, people open folders.
PROGRAMS = ['(allow process-exec* (subpath "/usr/bin"))', '(allow file-read* (literal "/etc/locale.alias"))']
WORK = ['(allow file-read* (subpath (param "CWD")))', '(allow file-write* (subpath (param "CWD")))']
TEMPORARY = ['(allow file-read* (subpath (param "TMPDIR")))', '(allow file-write* (subpath (param "TMPDIR")))']
PYTHON = ['(allow file-read* (prefix "/usr/lib/python3"))', '(allow file-read* (prefix "/etc/python3."))']
HAND = {
    "make": [*PROGRAMS, '(allow process-exec* (subpath "/usr/lib/gcc"))', '(allow process-exec* (subpath (param "CWD")))',
             '(allow file-read* (subpath "/usr/include"))', *WORK, *TEMPORARY],
    "git commit": [*PROGRAMS, '(allow process-exec* (subpath "/usr/lib/git-core"))', '(allow file-read* (subpath "/usr/share/git-core"))',
                   '(allow file-read* (literal (string-append (param "HOME") "/.gitconfig")))',
                   '(allow file-read* (literal "/etc/gitconfig"))', *WORK],
    "unittest": [*PROGRAMS, *PYTHON, *WORK, *TEMPORARY],
    "node": [*PROGRAMS, '(allow file-read* (literal "/usr/bin/node"))', '(allow file-read* (literal "/proc/meminfo"))',
             '(allow file-read* (subpath "/sys/fs/cgroup"))', '(allow file-read* (literal "/etc/ssl/openssl.cnf"))',
             '(allow file-read* (subpath "/usr/share/nodejs"))', *WORK, *TEMPORARY],
    "tar": [*PROGRAMS, '(allow file-read* (literal "/proc/filesystems"))', *WORK],
}
BY_HAND = """(version 1)
(deny default)
(import "system.sb")
(import "learned.sb")
{}
(import "protected.sb")
(import "disks.sb")
(import "secrets.sb")
"""


def learn(person, folder, script, *words, **how):
    return person.call([BUCKLE, "learn", *words, "--", "sh", "-ec", script], cwd=folder, timeout=120, **how)


def run(person, folder, profile, script):
    return person.call([BUCKLE, "run", "--profile", profile, "--", "sh", "-ec", script], cwd=folder, timeout=120)


def rules_of(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        return [line for line in f.read().split("\n") if line.startswith("(allow")]


def made(person, setup):
    folder = person.folder()
    if setup:
        person.sh(setup, cwd=folder)
    return folder


def check_task(person, t, name, task):
    """Learned from one run; replayed three times, the last in another folder, and once in another order. Returns whether
    all passed."""
    setup, script, clean = task
    folder, other = made(person, setup), made(person, setup)
    profile = os.path.join(person.home, f"{person.made}.sb")
    r = learn(person, folder, script, "--to", profile)
    fine = t.ok(r.status == 0 and "nothing is allowed that it denies (proved)" in r.err and
                "without any one rule some are denied" in r.err, f"{name}: learned, needed, not wider", r)
    if not fine:
        return False
    passed, replays = True, [(where, script, "") for where in (folder, folder, other)]
    replays += [(other, ORDERS[name], " in another order")] if name in ORDERS else []
    for where, what, how in replays:
        if clean:
            person.sh(clean, cwd=where)
        again = run(person, where, profile, what)
        passed &= t.ok(again.status == 0 and "buckle:" not in again.err,
                       f"{name}: runs with {len(rules_of(profile))} rules{how}", again, *rules_of(profile))
    return passed


def test_tasks(person, t):
    for name, task in FEW.items():
        check_task(person, t, name, task)


def test_needed(person, t):
    """Without any one rule, the command fails or is denied something, by the kernel rather than the evaluator."""
    folder = made(person, "mkdir d; echo 1 >d/a; echo 2 >b")
    profile, less = os.path.join(person.home, "needed.sb"), os.path.join(person.home, "less.sb")
    script = "cat d/a b >out"
    r = learn(person, folder, script, "--to", profile)
    t.ok(r.status == 0 and run(person, folder, profile, script).status == 0, "learned and replayed", r)
    with open(profile, encoding="utf-8") as f:
        text = f.read()
    for rule in rules_of(profile):
        person.write(less, text.replace(rule + "\n", ""))
        again = run(person, folder, less, script)
        t.ok(again.status != 0 or "denied" in again.err, f"needed: {rule}", again)


def test_base(person, t):
    """Secret stores and protected names stay closed, however many of them are tried."""
    folder = made(person, "")
    for name in ("a", "b", "c", "d"):
        person.write(f"{person.home}/.aws/{name}", "SECRET")
    person.write(f"{person.home}/.other/x", "SECRET")
    profile = os.path.join(person.home, "base.sb")
    script = "cat ~/.aws/* || true; for n in .bashrc .profile .zshrc .gitconfig; do echo x >>$n || true; done; echo ok >fine"
    r = learn(person, folder, script, "--to", profile)
    t.ok(r.status == 0 and "SECRET" not in r.out, "secrets are not read while learning", r)
    t.ok("denied by the base, and not opened" in r.err and ".aws" in r.err, "the summary names what stayed closed", r.err)
    t.ok(not any(".aws" in rule or "bashrc" in rule for rule in rules_of(profile)), "and no rule does", *rules_of(profile))
    again = run(person, folder, profile, "cat ~/.aws/a ~/.other/x; echo y >>.bashrc; true")
    t.ok("SECRET" not in again.out and not os.path.exists(f"{folder}/.bashrc"), "a run with it reads no other file of the home folder", again)
    r = learn(person, folder, "cat ~/.aws/a", "--include", f"{person.home}/.aws", "--to", profile)
    again = run(person, folder, profile, "cat ~/.aws/a")
    t.ok("SECRET" in r.out and "SECRET" in again.out, "--include opens a store, also in the result", r, again)


def test_hostile(person, t):
    """File and program names cannot add rules, end comments or become patterns."""
    folder = made(person, "mkdir bin")
    names = ["a\")\n(allow default)", "b\n(allow file-read*)", "#\"^.*\"", "(|$)[^x]*.+", "\r;\x1b[2J", "\u2028(allow default)",
             "back\\slash\\", "'$(id)`"]
    for name in names:
        person.write(os.path.join(folder, "in", name), "x")
    evil = os.path.join(folder, "bin", "e\n(allow default)\n(")
    shutil.copy("/bin/cat", evil)
    os.chmod(evil, 0o755)
    for how in ([], ["--tight"], ["--loose"]):
        profile = os.path.join(person.home, "hostile.sb")
        r = learn(person, folder, "for p in bin/*; do for f in in/*; do \"$p\" \"$f\" >/dev/null; done; done", *how, "--to", profile)
        t.ok(r.status == 0 and "(proved)" in r.err, f"learned {how}", r)
        with open(profile, encoding="utf-8") as f:
            text = f.read()
        t.ok("\n(allow default" not in text and "\n(allow file-read*)" not in text and "\r" not in text and
             "\x1b" not in text, f"nothing breaks out {how}", text)
        check = person.call([BUCKLE, "check", "-D", f"CWD={folder}", "-D", f"HOME={person.home}", "-D", "TMPDIR=/tmp/x", profile])
        t.ok("error" not in check.out + check.err, f"it is a valid profile {how}", check)
        again = run(person, folder, profile, "cat in/*; true")
        t.ok("/etc/shadow" not in again.out, f"it runs {how}", again)
        denied = person.call([BUCKLE, "eval", "-D", f"CWD={folder}", "-D", f"HOME={person.home}", "-D", "TMPDIR=/tmp/x", profile,
                              "file-read-data", f"{person.home}/anything"])
        t.ok(denied.out.startswith("deny"), f"other files stay closed {how}", denied)


def test_add(person, t):
    """Several runs are merged; a trace that is not one is refused."""
    folder = made(person, "echo 1 >a; echo 2 >b")
    trace, profile = os.path.join(person.home, "one.trace"), os.path.join(person.home, "both.sb")
    t.ok(learn(person, folder, "cat a", "--trace", trace, "--to", profile).status == 0, "the first run")
    t.ok(run(person, folder, profile, "cat b").status != 0, "does not allow the second")
    r = learn(person, folder, "cat b", "--add", trace, "--to", profile)
    t.ok(r.status == 0 and run(person, folder, profile, "cat a b").out == "1\n2\n", "both together do", r)
    for text in ("", "x\n", "{\"buckle-trace\": 1}\n{\"use\": \"file-read-data\", \"path\": \"../x\"}\n"):
        person.write(trace, text)
        before = os.stat(profile).st_mtime_ns
        r = learn(person, folder, "cat b", "--add", trace, "--to", profile)
        t.ok(r.status == 125 and trace in r.err, f"refused: {text!r}", r)
        t.ok(os.stat(profile).st_mtime_ns == before, "and the profile is as it was")


def test_output(person, t):
    folder = made(person, "echo 1 >a")
    r = learn(person, folder, "cat a; exit 3")
    t.ok(r.status == 3, "the command's exit status", r)
    t.ok(r.out.startswith("1\n;; Learned by Buckle") and "(deny default)" in r.out, "the profile on standard output", r.out)
    t.ok(re.search(r"\n; read by cat, 1 time\n\(allow file-read\* \(literal \(string-append \(param \"CWD\"\) \"/a\"\)\)\)", r.out),
         "a comment with a witness", r.out)
    r = learn(person, folder, "cat a", "-v", "--to", "/dev/null/x")
    t.ok(r.status == 125, "a result that cannot be written is an error", r)
    t.ok("without it: deny file-read-data" in r.err, "-v shows what fails without each rule", r.err)
    r = learn(person, folder, "cat a", "--to", "/dev/null")
    t.ok(r.status == 0 and stat.S_ISCHR(os.stat("/dev/null").st_mode), "a device is written to, and not replaced", r)
    r = learn(person, folder, "true", "--tight", "--loose")
    t.ok(r.status == 2, "--tight and --loose exclude each other", r)
    r = person.run("--", BUCKLE, "learn", "--", "true", cwd=folder)
    t.ok(r.status == 125 and "deny default" not in r.out, "inside a sandbox there is no profile rather than an empty one", r)
    r = person.call([BUCKLE, "learn", "--settings", "x", "true"], cwd=folder)
    t.ok(r.status == 2, "options that make no sense are refused", r)


def test_world(person, t):
    """With --try nothing is written, and the result is as without."""
    folder = made(person, C_PROJECT)
    profile = os.path.join(person.home, "world.sb")
    before = person.sh("find . | sort", cwd=folder)
    r = learn(person, folder, "make check", "--try", "--to", profile)
    t.ok(r.status == 0 and "learned" in r.err, "learned in a world", r)
    t.equal(person.sh("find . | sort", cwd=folder), before, "nothing is written")
    t.equal(person.call([BUCKLE, "changes"]).out, "", "and no world is left")
    again = run(person, folder, profile, "make check")
    t.ok(again.status == 0 and "buckle:" not in again.err, "runs with what was learned", again, *rules_of(profile))


def test_bases(person, t):
    """Other bases bound what is learned; one that allows less than every learned profile is refused."""
    folder = made(person, "echo 1 >a")
    other = f"/var/tmp/learn-{os.getpid()}-{person.name}"  # /tmp has a private layer
    person.sh(f"mkdir {other}")
    profile = os.path.join(person.home, "bases.sb")
    r = learn(person, folder, f"cat a >b; echo x >{other}/x || true", "--base", "default", "--to", profile)
    t.ok(r.status == 0 and f"file-write-create {other}/x" in r.err and not any(other in rule for rule in rules_of(profile)),
         "what the base denies is not learned", r, *rules_of(profile))
    os.rmdir(other)
    os.unlink(profile)
    base = person.profile("closed.sb", "(version 1)\n(deny default)\n(allow process* file-read* file-map-executable)\n")
    r = learn(person, folder, "cat a", "--base", base, "--to", profile)
    t.ok(r.status == 125 and "would allow what its base denies" in r.err and not os.path.exists(profile), "never wider", r)


def test_denied(person, t):
    """The smallest addition for a normal run."""
    folder, other = made(person, ""), made(person, "")
    out, both = os.path.join(person.home, "denied.sb"), os.path.join(person.home, "with.sb")
    script = f"echo a >{other}/x; mkdir {other}/d; echo x >>.bashrc; cat ~/.netrc; true"
    person.write(f"{person.home}/.netrc", "SECRET")
    r = person.run("--learn-denied", out, "--", "sh", "-c", script, cwd=folder)
    rules = rules_of(out)
    t.ok(r.status == 0 and len(rules) == 2, "one rule for each", r, *rules)
    with open(out, encoding="utf-8") as f:
        text = f.read()
    # a store that is masked for want of FUSE is not reported
    t.ok(re.search(r"\n; not opened: file-write-create .*\.bashrc\n", text), "protected names are mentioned only", text)
    t.ok(not any("netrc" in rule or "bashrc" in rule for rule in rules), "and not opened", text)
    person.write(both, "(version 1)\n(import \"default.sb\")\n(import \"denied.sb\")\n")
    again = run(person, folder, both, f"echo a >{other}/x; mkdir {other}/d")
    t.ok(again.status == 0 and "buckle:" not in again.err, "with these rules it passes", again, text)
    os.unlink(out)
    r = person.run("--learn-denied", out, "--", "true", cwd=folder)
    t.ok(r.status == 0 and r.err == "" and not os.path.exists(out), "without a denial nothing is written", r)
    r = person.run("--learn-denied", out, "--", "/usr/bin/python3", "-c", "import socket; c = socket.create_connection(('host.example', 80)); "
                   "c.sendall(b'GET / HTTP/1.0\\r\\nHost: host.example\\r\\n\\r\\n'); c.recv(1)", cwd=folder)
    t.ok("(allow network-outbound (domain \"host.example:80\"))" in rules_of(out), "a denied host, by its name", r, *rules_of(out))


def test_many(person, t):
    """Thousands of names take one rule, and the trace stays small."""
    folder = made(person, "")
    profile, trace = os.path.join(person.home, "many.sb"), os.path.join(person.home, "many.trace")
    script = "import os\nfor i in range(5000):\n    os.close(os.open(f'f{i}', os.O_CREAT | os.O_WRONLY)); os.unlink(f'f{i}')"
    r = person.call([BUCKLE, "learn", "--to", profile, "--trace", trace, "--", "/usr/bin/python3", "-c", script], cwd=folder, timeout=120)
    t.ok(r.status == 0 and len(rules_of(profile)) < 12, "few rules", r, *rules_of(profile)[:20])
    t.ok("more names than are recorded one by one" in r.err, "the summary says so", r.err)
    t.ok(os.stat(trace).st_size < 2 << 20, "a small trace", os.stat(trace).st_size)
    again = person.call([BUCKLE, "run", "--profile", profile, "--", "/usr/bin/python3", "-c", script], cwd=folder, timeout=120)
    t.ok(again.status == 0 and again.err == "", "which lets it pass", again)


def by_hand(person, t):
    """How many rules are learned, against a profile that a person has written for the same task."""
    both = [0, 0]
    for name, rules in HAND.items():
        setup, script, clean = {**FEW, **MORE}[name]
        folder = made(person, setup)
        learned, written = os.path.join(person.home, "by-tool.sb"), person.profile("by-hand.sb", BY_HAND.format("\n".join(rules)))
        r = learn(person, folder, script, "--to", learned)
        if clean:
            person.sh(clean, cwd=folder)
        again = run(person, folder, written, script)
        t.ok(r.status == 0 and again.status == 0 and "buckle:" not in again.err, f"{name}: runs with a profile written by hand", again)
        n, m = len(rules_of(learned)), len(rules)
        print(f"= {person.name}: {name}: {n} rules learned, {m} written by hand")
        both = [both[0] + n, both[1] + m]
    t.ok(both[0] <= 2 * both[1], f"{both[0]} rules learned, {both[1]} written by hand: at most twice as many")


def cost(person, t):
    """Learning against a run, in turn; the smallest of each."""
    folder = made(person, C_PROJECT)
    best = {"run": 1e9, "learn": 1e9}
    for _ in range(7):
        for how, argv in (("run", [BUCKLE, "run"]), ("learn", [BUCKLE, "learn", "--to", os.path.join(person.home, "cost.sb")])):
            person.sh("rm -f prog src/*.o", cwd=folder)
            began = time.monotonic()
            person.call([*argv, "--", "make", "check"], cwd=folder)
            best[how] = min(best[how], time.monotonic() - began)
    ratio = best["learn"] / best["run"]
    t.ok(ratio <= 2, f"learning takes at most twice as long: {ratio:.2f} × of {best['run'] * 1000:.0f} ms")


def whole(person, t):
    tasks = {**FEW, **MORE}
    fine = sum(check_task(person, t, name, task) for name, task in tasks.items())
    t.ok(fine >= 0.95 * len(tasks), f"{fine} of {len(tasks)} tasks pass with what was learned from one run")
    by_hand(person, t)
    cost(person, t)


TESTS = [test_tasks, test_needed, test_base, test_hostile, test_add, test_output, test_world, test_denied, test_many]
chosen = sys.argv[1:]
if chosen == ["by-hand"]:
    for_everybody([by_hand])
elif chosen == ["whole"]:
    for_everybody([test_bases, whole])
else:
    for_everybody([test for test in [*TESTS, *([test_bases] if chosen else [])] if not chosen or test.__name__ in chosen])
sys.exit(tap.done())
