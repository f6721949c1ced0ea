#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everyday tasks in `buckle try`: after keeping, the tree is the one that they make without Buckle, by
an exact manifest. After discarding it is byte for byte what it was, times included. Both are made in
the same folder, one after the other, since many programs write its path.

    e2e-try-tasks.py            what takes little time
    e2e-try-tasks.py whole      package managers, compilers and databases as well
"""

import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import for_everybody
from tried import GIT, MANIFEST, SETUP, alike, buckle, manifest, trying, world_of, worlds

# what is done, without and with Buckle
TASKS = {
    # the index has inode numbers
    "git init and commit": f"export GIT_COMMITTER_DATE=2020-01-01T00:00:00 && {GIT} init -q . && {GIT} add -A && "
                           f"{GIT} commit -q -m one --date=2020-01-01T00:00:00 && rm .git/index",
    "sed -i over a tree": "find src -type f -name '*.txt' -exec sed -i s/o/0/g {} +",
    "mv of folders and files": "mv src/deep moved && mv run lib/ran && mv lib library",
    "rename of folders": """python3 -c "
import os
os.setxattr('src/deep', 'user.folder', b'1')
os.rename('src/deep', 'moved'); os.rename('lib', 'moved/er/lib'); os.rename('moved', 'again')
os.mkdir('empty'); os.rename('src', 'empty')" """,
    "git mv": f"export GIT_COMMITTER_DATE=2020-01-01T00:00:00 && {GIT} init -q . && {GIT} add -A && {GIT} mv src source && "
              f"{GIT} commit -q -m one --date=2020-01-01T00:00:00 && rm .git/index",
    "hard links": "ln lib/zero hard && ln src/deep/numbers lib/numbers && cp -al src copy",
    "cp -a keeps times": "cp -a src copy && rm -r src",
    "sqlite": """python3 -c "
import sqlite3
d = sqlite3.connect('data.db')
d.execute('create table t (n)')
d.executemany('insert into t values (?)', [(i,) for i in range(500)])
d.commit(); d.close()" """,
    "symlinks": "ln -s ../etc broken && ln -sfn deep src/link && ln -s src folder && rm src/two.txt",
    "attributes": """python3 -c "
import os
os.setxattr('src/one.txt', 'user.mine', b'1')
os.setxattr('lib', 'user.folder', b'2')
os.mkdir('made'); os.setxattr('made', 'user.new', b'3')" """,
    "sparse files": "truncate -s 3M sparse && printf x | dd of=sparse bs=1 seek=2000000 conv=notrunc status=none",
    "odd names": r"""python3 -c "
import os
for n in (b'new\nline', b'esc\x1b[31m', b'\xff\xfe', b' blank ', b'-rf', b'a' * 255):
    open(n, 'w').write('x'); os.mkdir(b'd' + n[:200])" """,
    "modes and times": "chmod 700 src && chmod 444 src/one.txt && touch -d 2001-01-01 src/two.txt lib",
    "replace files by folders and back": "rm src/one.txt && mkdir src/one.txt && rm -r src/deep && echo f >src/deep && "
                                         "rm -r lib && mkdir lib && echo l >lib/new",
    "a tree like node_modules": "for i in $(seq 60); do mkdir -p node_modules/p$i/lib && echo $i >node_modules/p$i/index.js "
                                "&& cp lib/zero node_modules/p$i/lib/; done",
    "case changes": "mv src/one.txt src/ONE.txt && mv run RUN",
    "nothing": "true",
    "make it and remove it again": "mkdir t && echo x >t/x && rm -r t && echo y >y && rm y",
}

DATES = "export GIT_COMMITTER_DATE=2020-01-01T00:00:00 GIT_AUTHOR_DATE=2020-01-01T00:00:00"
REPOSITORY = f"""{DATES}; {GIT} init -q .; for i in 1 2 3; do seq $i 40 >f$i; {GIT} add .; {GIT} commit -qm $i; done
{GIT} checkout -q -b side HEAD~1; seq 9 >side; {GIT} add .; {GIT} commit -qm side; seq 3 >>side; {GIT} commit -qam more; rm .git/index; {GIT} reset -q"""
LINKED = "mkdir -p a/deep b; seq 100 >a/one; seq 200 >a/deep/two; ln a/one b/one; ln a/deep/two b/two; ln a/one a/deep/one"
C_PROJECT = r"""
mkdir src; printf 'int b(void);\n#include <stdio.h>\nint main(void) { printf("%%d\\n", b()); return 0; }\n' >src/a.c
printf 'int b(void) { return 3; }\n' >src/b.c; echo text >page.1
printf 'PREFIX = out\nprog: src/a.o src/b.o\n\t$(CC) -o $@ $^\ninstall: prog\n\tinstall -d $(PREFIX)/bin $(PREFIX)/man\n\tinstall -m 755 prog $(PREFIX)/bin/prog\n\tinstall -m 644 page.1 $(PREFIX)/man/\n\tln -sf prog $(PREFIX)/bin/other\n' >Makefile
"""
NPM = r"""
for n in one two three; do mkdir -p p/package/lib p/package/bin; for i in $(seq 40); do echo "module.exports = $i" >p/package/lib/m$i.js; done
printf '{"name": "%s", "version": "1.0.0", "bin": {"%s": "bin/run.js"}}' $n $n >p/package/package.json
printf '#!/usr/bin/env node\nconsole.log(1)\n' >p/package/bin/run.js; tar c --sort=name --mtime=2020-01-01 -C p package | gzip -n >$n.tgz; rm -r p; done
printf '{"name": "x", "version": "1.0.0", "dependencies": {"one": "file:one.tgz", "two": "file:two.tgz", "three": "file:three.tgz"}}' >package.json
npm install --offline --no-audit --no-fund --no-update-notifier --package-lock-only --silent
"""
CARGO = r"""
mkdir -p src part/src; printf '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\npart = { path = "part" }\n[profile.dev]\nincremental = false\n' >Cargo.toml
printf '[package]\nname = "part"\nversion = "0.1.0"\nedition = "2021"\n' >part/Cargo.toml
printf 'pub fn f() -> i32 { 3 }\n' >part/src/lib.rs; printf 'fn main() { println!("{}", part::f()); }\n' >src/main.rs
"""
PYTHON = r"""
mkdir -p pkg/thing; echo 'x = 1' >pkg/thing/__init__.py
printf '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n[project]\nname = "thing"\nversion = "1.0"\n[project.scripts]\nthing = "thing:x"\n' >pkg/pyproject.toml
"""
DEB = r"""
mkdir -p deb/DEBIAN deb/usr/share/x root/var/lib/dpkg/info root/var/lib/dpkg/updates; echo data >deb/usr/share/x/file; ln -s file deb/usr/share/x/link
ln deb/usr/share/x/file deb/usr/share/x/hard; printf 'Package: x\nVersion: 1\nArchitecture: all\nMaintainer: A <a@example.com>\nDescription: x\n' >deb/DEBIAN/control
chmod -R u=rwX,go=rX deb; find deb -exec touch -h -d 2020-01-01 {} +; export SOURCE_DATE_EPOCH=1577836800; touch root/var/lib/dpkg/status root/var/lib/dpkg/available; dpkg-deb -Zgzip -b deb x.deb >/dev/null
"""
DPKG = "dpkg --root=$PWD/root --log=/dev/null --force-not-root --force-script-chrootless"

# ids of others are unknown in an ordinary user's sandbox
ACLS = "setfacl -m u:$(id -u):r a/one; setfacl -d -m g:$(id -g):rx b; python3 -c 'import os; os.setxattr(\"a/deep\", \"user.x\", b\"1\")'"

# what is made first, what is done
FEW = {
    "git rebase": (REPOSITORY, f"{DATES}; {GIT} rebase -q main && rm .git/index"),
    "git merge and stash": (REPOSITORY, f"{DATES}; echo x >>f1 && {GIT} stash -q && {GIT} merge -q -m m main && {GIT} stash pop -q && rm .git/index"),
    "git worktree": (REPOSITORY, f"{DATES}; {GIT} worktree add -q tree main && rm .git/index .git/worktrees/tree/index"),
    "git gc": (REPOSITORY, f"{DATES}; {GIT} gc -q --prune=now && rm .git/index"),
    "make and make install": (C_PROJECT, "make -s && make -s install PREFIX=$PWD/prefix && touch src/b.c"),
    "sed -i over hard links": (LINKED, "find . -type f -exec sed -i s/1/x/ {} +"),
    "rsync -aHAX": (LINKED + f"; {ACLS}; cp -r b c", "rsync -aHAX a b copy/ && rsync -aHAX --delete a/ c/"),
    "tar": (LINKED, "tar cf x.tar a b && mkdir out && tar xpf x.tar -C out && rm -r a"),
    "sqlite with a mapped file": ("", """python3 -c "
import sqlite3
d = sqlite3.connect('data.db')
d.execute('pragma journal_mode = wal'); d.execute('pragma mmap_size = 10000000')
d.execute('create table t (n)')
for k in range(5):
    d.executemany('insert into t values (?)', [(i,) for i in range(500)])
    d.commit()
d.execute('delete from t where n > 100'); d.commit(); d.execute('vacuum'); d.close()" """),
    "files that are mapped": ("head -c 300000 /dev/zero >map", """python3 -c "
import mmap
with open('map', 'r+b') as f:
    m = mmap.mmap(f.fileno(), 0)
    m[5000:5004] = b'here'; m.flush(); m.close()" """),
    "dpkg --root": (DEB, f"{DPKG} -i x.deb >/dev/null"),
    "dpkg --remove": (DEB + f"\n{DPKG} -i x.deb >/dev/null", f"{DPKG} -r x >/dev/null"),
    "patch": ("mkdir -p s; seq 50 >s/a; sed s/7/x/ s/a >b; diff -u --label a --label b s/a b >p || true", "patch -s s/a <p && patch -b -s -R s/a <p"),
    "zip and unzip": ("mkdir d; seq 30 >d/a; chmod 700 d/a; echo b >d/b; touch -d 2020-01-01 d/a d/b d; python3 -m zipfile -c x.zip d", "rm -r d; unzip -q x.zip -d out"),
}
# A layer copies one of several names (buckle-try(1) says so), so the names are files of their own afterwards.
SPLIT = {
    "hard-linked trees are written": (LINKED, "echo more >>a/one; chmod 600 b/two; rm b/one; echo x >a/deep/one"),
    "hard links are moved and linked again": (LINKED, "mv a/one c; ln c again; echo more >>again; cat a/deep/one; mv b moved; touch -d 2001-01-01 moved/two"),
    "rsync -aHAX to other names": (LINKED + f"; {ACLS}", "rsync -aHAX --delete a/ b/"),
}
MORE = {
    "npm ci": (NPM, "npm ci --offline --no-audit --no-fund --no-update-notifier --silent"),
    "npm ci again": (NPM + "npm ci --offline --no-audit --no-fund --no-update-notifier --silent", "npm ci --offline --no-audit --no-fund --no-update-notifier --silent"),
    "cargo build": (CARGO, "/usr/bin/cargo build -q --offline && target/debug/x && rm -f target/.rustc_info.json"),
    "pip install -e": (PYTHON, "export PYTHONDONTWRITEBYTECODE=1; /usr/bin/python3 -m venv --without-pip --system-site-packages v && "
                       "v/bin/python -m pip install -q --no-compile --no-index --no-build-isolation --no-deps --disable-pip-version-check -e pkg"),
    "cmake": (C_PROJECT + "printf 'cmake_minimum_required(VERSION 3.10)\\nproject(x C)\\nadd_executable(x src/a.c src/b.c)\\n"
              "install(TARGETS x DESTINATION bin)\\n' >CMakeLists.txt", "cmake -S . -B o >/dev/null && make -s -C o >/dev/null && cmake --install o --prefix out >/dev/null && "
              "rm -rf o/CMakeFiles/CMakeTmp o/CMakeFiles/*.log o/CMakeFiles/*.yaml"),
    "lmdb": ("", "mkdir db && (printf 'VERSION=3\\nformat=print\\ntype=btree\\nmapsize=10485760\\nHEADER=END\\n'; for i in $(seq 2000); do "
             "printf ' key%s\\n value%s\\n' $i $i; done; echo DATA=END) | mdb_load db && mdb_stat db >/dev/null && rm db/lock.mdb"),
}


def refill(person, folder, setup):
    for name in os.listdir(os.fsencode(folder)):
        path = os.path.join(os.fsencode(folder), name)
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    person.sh(f"umask 022\n{setup}", cwd=folder)
    # a tree that is older than what is done to it
    person.sh("find . -depth -newermt 2020-02-01 -exec touch -h -d '2020-01-02 03:04:05' {} +", cwd=folder)


def check_task(person, t, name, setup, script):
    folder, script = person.folder(), f"umask 022\n{script}"
    refill(person, folder, setup)
    since = time.time_ns() - 3 * 10**9  # some tools write whole seconds, or every second one
    time.sleep(0.02)
    r = person.call(["/bin/sh", "-ec", script], cwd=folder, timeout=180)
    t.ok(r.status == 0, f"{name}: runs without Buckle", r)
    want = manifest(person, folder)
    refill(person, folder, setup)
    before = manifest(person, folder)
    r = trying(person, folder, script, "--discard")
    t.ok(r.status == 0, f"{name}: runs", r)
    t.equal(manifest(person, folder), before, f"{name}: after discarding it is as it was")
    r = trying(person, folder, script, "--review", "later")
    world = world_of(r)
    t.equal(manifest(person, folder), before, f"{name}: nothing has changed outside")
    if not world:
        t.equal(alike(manifest(person, folder)[1:], want[1:], since), [], f"{name}: no changes", r)
        return
    inside = buckle(person, "changes", world, "--", "python3", "-c", MANIFEST, folder, cwd=folder)
    r = buckle(person, "keep", world)
    t.ok(r.status == 0, f"{name}: kept", r, inside)
    kept = manifest(person, folder)
    t.equal(alike(kept, want, since), [], f"{name}: as without Buckle")
    t.equal(alike(kept, json.loads(inside.out or "[]"), 2**63), [], f"{name}: as in the world, times included", inside.err)


def test_tasks(person, t):
    for name, script in TASKS.items():
        check_task(person, t, name, SETUP, script)
    t.equal(worlds(person), [], "no world is left")


def test_real(person, t):
    for name, (setup, script) in {**FEW, **SPLIT}.items():
        check_task(person, t, name, setup, script)
    t.equal(worlds(person), [], "no world is left")


def test_heavy(person, t):
    for name, (setup, script) in MORE.items():
        check_task(person, t, name, setup, script)
    t.equal(worlds(person), [], "no world is left")


chosen = sys.argv[1:]
if chosen and chosen != ["whole"]:  # single tasks, by name
    def test_some(person, t):
        everything = {**{name: (SETUP, script) for name, script in TASKS.items()}, **FEW, **SPLIT, **MORE}
        for name in chosen:
            check_task(person, t, name, *everything[name])
    for_everybody([test_some])
else:
    for_everybody([test_real, test_heavy] if chosen else [test_tasks, test_real])
sys.exit(tap.done())
