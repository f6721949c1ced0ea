#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real work under the default profile of buckle run: git, a C build, npm, python, many repositories.

After each, `git status` outside shows nothing that the command did not do.
"""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import drive
from running import for_everybody, missing, suggested_flags
from tap import done, skip

NAMES = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A",
         "GIT_COMMITTER_EMAIL": "a@example.com"}
REPOSITORIES = 100
PACKAGES = ["lodash@4.17.21", "rxjs@7.8.1"]


def repository(user, name="repository"):
    """An existing repository: two commits, a branch, an ignored file."""
    folder = user.folder(name)
    user.env.update(NAMES)
    user.sh("""
git init -q -b main .
printf 'build/\\n' >.gitignore
mkdir src && echo 'int main(void) { return 0; }' >src/main.c && echo one >notes
git add -A && git commit -q -m first
git checkout -q -b side && echo side >>notes && git commit -q -a -m side && git checkout -q main
""", cwd=folder)
    return folder


def status(user, folder):
    return user.sh("git status --porcelain --untracked-files=all", cwd=folder)


# ---- git ----


def test_git_in_a_repository(user, t):
    folder = repository(user)
    before = user.sh("cat .git/config; ls .git/hooks", cwd=folder)
    steps = {
        "add -A, commit": "echo two >two && git add -A && git commit -q -m two",
        "commit -a": "echo more >>notes && git commit -q -a -m more",
        "stash -u and pop": "echo x >untracked && echo y >>notes && git stash -q -u && "
                            "test ! -e untracked && git stash pop -q && test -e untracked && "
                            "git checkout -q notes && rm untracked",
        "branch, checkout, merge": "git checkout -q -b topic && echo t >topic && git add topic && "
                                   "git commit -q -m topic && git checkout -q main && "
                                   "git merge -q --no-edit topic",
        "merge of a side branch": "git merge -q --no-edit side || "
                                  "{ git checkout -q --theirs notes && git add notes && "
                                  "git commit -q --no-edit; }",
        "rebase": "git checkout -q -b moved main~1 && echo m >moved && git add moved && "
                  "git commit -q -m moved && git rebase -q main && git checkout -q main",
        "tag, reset, clean": "git tag v1 && echo x >junk && git clean -q -f && "
                             "git reset -q --hard HEAD",
        "worktree add and remove": "git worktree add -q wt -b wt && cd wt && echo w >w && "
                                   "git add w && git commit -q -m w && cd .. && "
                                   "git worktree remove wt",
        "gc": "git gc -q",
        "mv, rm": "git mv two zwei && git rm -q -f zwei && git reset -q --hard",
        "log, diff, blame, grep": "git log --oneline >/dev/null && git diff HEAD~1 >/dev/null && "
                                  "git blame notes >/dev/null && git grep -q one",
    }
    for name, script in steps.items():
        t.quiet(user.run("sh", "-ec", script, cwd=folder, timeout=120), f"git {name}")
    t.quiet(user.run("git", "branch", "-q", "-D", "topic", cwd=folder), "git branch -D")
    t.equal(status(user, folder), "", "git status outside is clean")
    t.equal(user.sh("cat .git/config; ls .git/hooks", cwd=folder), before,
            "settings and hooks are as they were")
    t.equal(user.sh("git fsck 2>&1 | grep -v dangling || true", cwd=folder), "", "git fsck is content")


def test_git_making_repositories(user, t):
    source, folder = repository(user), user.folder()
    user.env.update(NAMES)
    scripts = {
        "init": "git init -q new && cd new && echo a >a && git add -A && git commit -q -m a",
        "clone": f"git clone -q --no-hardlinks {source} copy",
        "clone of a clone, hard links": "git clone -q copy second",
        "remote add, config, fetch": "cd new && git remote add origin ../copy && "
                                     "git config user.name B && git fetch -q origin",
        "clone --bare, push": "git clone -q --bare copy bare.git && cd copy && "
                              "git remote add bare ../bare.git && echo b >b && git add b && "
                              "git commit -q -m b && git push -q bare HEAD",
        "worktree": "cd copy && git worktree add -q ../tree && cd ../tree && echo c >c && "
                    "git add c && git commit -q -m c && cd ../copy && git worktree remove ../tree",
        "moving a repository": "mv new moved && cd moved && git config user.name C && git status",
        "removing all of it": "rm -rf moved copy second bare.git",
    }
    script = " && ".join(f"( {s} )" for s in scripts.values())
    r = user.run("sh", "-ec", script, cwd=folder, timeout=120)
    t.quiet(r, "init, clone, remote, worktree, mv, rm -rf in one session")
    t.equal(os.listdir(folder), [], "and nothing is left of it")
    r = user.run("sh", "-ec", f"git clone -q --no-hardlinks {source} copy && cd copy && "
                   "git remote set-url origin /x && git config user.name D", cwd=folder)
    t.quiet(r, "harmless settings of a clone are the command's own")
    t.equal(status(user, folder + "/copy"), "", "git status of the clone is clean")
    r = user.run("git", "clone", "-q", source, "linked", cwd=folder)
    t.ok(r.status == 0 and os.path.exists(folder + "/linked/.git/HEAD"),
         "cloning from outside works although files there cannot be linked to", r)
    t.ok("denied" not in r.err, "attempts to make links are not reported", r)


def test_submodules(user, t):
    library, folder = repository(user, "library"), repository(user)
    add = f"git -c protocol.file.allow=always submodule add -q {library} sub"
    r = user.run("sh", "-ec", add + " && git commit -q -m sub && git submodule update -q", cwd=folder)
    t.quiet(r, "submodule add in a repository that was there")
    t.equal(status(user, folder), "", "and git status is clean")
    fresh = user.folder()
    r = user.run("sh", "-ec", f"git init -q . && {add} && git commit -q -m sub", cwd=fresh)
    t.quiet(r, "and in a repository of its own")


def test_protected_in_repositories(user, t):
    folder = repository(user)
    attempts = {
        "git config": "git config core.pager evil",
        "a hook": "echo evil >.git/hooks/pre-commit",
        "a hook by rename": "echo evil >x && mv x .git/hooks/pre-commit",
        "a hook by link": "echo evil >x && ln x .git/hooks/pre-commit",
        "hooks moved away": "mv .git/hooks hidden",
        ".git moved away": "mv .git hidden",
        "the settings by append": "echo evil >>.git/config",
        "the settings by link": "ln .git/config x && echo evil >>x",
        "the settings removed": "rm -f .git/config",
        "another folder as hooks": "rm -rf .git/hooks && mkdir other && ln -s ../other .git/hooks",
    }
    before = user.sh("cat .git/config; ls -l .git/hooks", cwd=folder)
    for name, script in attempts.items():
        r = user.run("sh", "-ec", script, cwd=folder)
        t.ok(r.status != 0 and "denied" in r.err, f"{name}: denied and reported", r)
        t.equal(user.sh("cat .git/config; ls -l .git/hooks", cwd=folder), before,
                f"{name}: nothing changed")
        user.sh("rm -rf x other hidden", cwd=folder)
    t.equal(status(user, folder), "", "git status is clean")
    r = user.run("git", "config", "core.pager", "less", cwd=folder)
    flags = suggested_flags(r.err)
    t.equal(flags, ["--allow-protected", "git-settings"], "the summary names the flag", r)
    t.quiet(user.run(*flags, "git", "config", "core.pager", "less", cwd=folder),
            "and with the flag it works")
    fresh = user.folder()
    r = user.run("sh", "-c", "git init -q . && git remote add origin /x && "
                   "echo evil >.git/hooks/pre-commit", cwd=fresh)
    t.ok(r.status != 0 and "pre-commit" in r.err and fresh in r.err,
         "a hook in a repository of its own: denied, and the summary names the repository", r)
    t.ok(os.path.exists(fresh + "/.git/hooks/pre-commit.sample") or
         not os.path.exists("/usr/share/git-core/templates/hooks"), "samples are there")
    t.ok(not os.path.exists(fresh + "/.git/hooks/pre-commit"), "the hook is not")
    t.ok("/x" in user.sh("git remote -v", cwd=fresh), "its settings could be written")


def test_checkout_of_protected_names(user, t):
    folder = repository(user)
    user.sh("git checkout -q -b full && echo x >.bashrc && mkdir .vscode && "
              "echo '{}' >.vscode/tasks.json && echo z >zzz && git add -f -A && "
              "git commit -q -m full && git checkout -q main", cwd=folder)
    r = user.run("git", "checkout", "-q", "full", cwd=folder)
    t.ok(r.status != 0 and ".bashrc" in r.err and ".vscode" in r.err,
         "a branch with protected names: told which", r)
    t.equal((user.sh("git branch --show-current", cwd=folder), status(user, folder)),
            ("main\n", ""), "and the old branch is whole")
    flags = suggested_flags(r.err)
    t.quiet(user.run(*flags, "git", "checkout", "-q", "full", cwd=folder),
            f"with {' '.join(flags)}: checked out")
    t.equal((user.sh("git branch --show-current", cwd=folder), status(user, folder)),
            ("full\n", ""), "as a whole")


# ---- builds ----

MAKEFILE = """CFLAGS = -O1 -Wall
OBJECTS = $(patsubst %.c,build/%.o,$(wildcard src/*.c))
build/program: $(OBJECTS)
\t$(CC) -o $@ $^
build/src/%.o: src/%.c | build/src
\t$(CC) $(CFLAGS) -MMD -c -o $@ $<
build/src:
\tmkdir -p $@
check: build/program
\ttest "$$(./build/program)" = 42
install: build/program
\tinstall -D -m 755 build/program $(DESTDIR)/bin/program
clean:
\trm -rf build
-include build/src/*.d
"""


def test_build(user, t):
    lacks = missing("make", "gcc", "git")
    if lacks:
        return skip(f"{lacks} is not installed")
    folder = repository(user)
    os.unlink(folder + "/src/main.c")
    user.write(folder + "/Makefile", MAKEFILE)
    total = 12
    for i in range(total):
        user.write(f"{folder}/src/part{i}.c", f"#include <stdlib.h>\nint part{i}(void);\n"
                     f"int part{i}(void) {{ return abs(-{i}); }}\n")
    calls = "".join(f"int part{i}(void);\n" for i in range(total))
    body = " + ".join(f"part{i}()" for i in range(total))
    user.write(folder + "/src/main.c", "#include <stdio.h>\n" + calls +
                 f"int main(void) {{ printf(\"%d\\n\", {body} - 24); return 0; }}\n")
    user.sh("git add -A && git commit -q -m build", cwd=folder)
    t.quiet(user.run("make", "-s", "-j2", cwd=folder, timeout=240), "make -j2")
    t.quiet(user.run("make", "-s", "check", cwd=folder), "make check")
    t.quiet(user.run("make", "-s", "install", "DESTDIR=build/root", cwd=folder), "make install")
    t.ok(os.access(folder + "/build/root/bin/program", os.X_OK), "what it built can be run")
    user.sh("touch src/part3.c", cwd=folder)
    r = user.run("make", cwd=folder)
    t.ok(r.status == 0 and r.out.count(" -c ") == 1, "times decide what is built again", r)
    t.equal(status(user, folder), "", "git status is clean: build/ is ignored")
    t.quiet(user.run("make", "-s", "clean", cwd=folder), "make clean")
    other = user.folder("other")
    r = user.run("make", "-s", "install", f"DESTDIR={other}", cwd=folder)
    t.ok(r.status != 0 and suggested_flags(r.err), "make install elsewhere is denied", r)


def npm_cache():
    """A cache filled outside, where there is a network; or None. Fills it twice, because npm does not
    always store what it fetched last."""
    cache, folder = os.path.join(drive.FOLDER, "npm-cache"), os.path.join(drive.FOLDER, "npm-fill")
    os.makedirs(folder, exist_ok=True)
    npm = ["npm", "--no-audit", "--no-fund", "--cache", cache, "--ignore-scripts"]
    try:
        for words in (["install", *PACKAGES], ["ci"]):
            subprocess.run(npm + words, cwd=folder, timeout=90, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.SubprocessError:
        return None
    return cache


def test_npm(user, t):
    lacks = missing("npm", "node")
    if lacks:
        return skip(f"{lacks} is not installed")
    if not hasattr(test_npm, "cache"):
        test_npm.cache = npm_cache()
    if not test_npm.cache:
        return skip("the npm registry is not reachable")
    folder = repository(user)
    user.write(folder + "/package.json", '{"name": "x", "version": "1.0.0", "scripts": '
                 '{"postinstall": "echo postinstall >done", "test": "node test.js"}}\n')
    user.write(folder + "/.gitignore", "node_modules/\ncache/\ndone\npackage-lock.json\n")
    user.write(folder + "/test.js", "const _ = require('lodash'); const r = require('rxjs');\n"
                 "r.of(_.sum([1, 2, 3])).subscribe(x => console.log('sum', x));\n")
    user.sh("git add -A && git commit -q -m npm", cwd=folder)
    shutil.copytree(test_npm.cache, folder + "/cache")
    for where, folders, files in os.walk(folder + "/cache"):
        for name in folders + files + ["."]:
            user.own(os.path.join(where, name))
    base = ["npm", "--offline", "--no-audit", "--no-fund", "--no-update-notifier", "--cache",
            folder + "/cache"]
    t.quiet(user.run(*base, "install", *PACKAGES, cwd=folder, timeout=240), "npm install")
    count = sum(len(files) for _, _, files in os.walk(folder + "/node_modules"))
    t.ok(count > 2000, f"{count} files were installed")
    r = user.run(*base, "test", cwd=folder)
    t.ok(r.status == 0 and "sum 6" in r.out, "npm test", r)
    t.quiet(user.run(*base, "ci", cwd=folder, timeout=240), "npm ci: removed and installed again")
    t.ok(os.path.exists(folder + "/done"), "its scripts ran")
    t.quiet(user.run("rm", "-rf", "node_modules", cwd=folder), "rm -rf node_modules")
    user.sh("git checkout -q package.json", cwd=folder)
    t.equal(status(user, folder), "", "git status shows nothing else")


def test_python(user, t):
    probe = user.call(["/usr/bin/python3", "-c", "import venv, ensurepip"])
    if probe.status != 0:
        return skip("python3-venv is not installed")
    folder = user.folder()
    t.quiet(user.run("/usr/bin/python3", "-m", "venv", "env", cwd=folder, timeout=240),
            "python3 -m venv")
    r = user.run("env/bin/python", "-c", "import pip, sys; print(sys.prefix)", cwd=folder)
    t.ok(r.status == 0 and r.out == folder + "/env\n", "and what it made runs", r)
    user.write(folder + "/package/__init__.py", "x = 1\n")
    t.quiet(user.run("/usr/bin/python3", "-m", "compileall", "-q", "package", cwd=folder),
            "compiling modules")
    user.write(folder + "/setup.py", "from setuptools import setup\n"
                 "setup(name='package', version='1', packages=['package'])\n")
    r = user.run("env/bin/python", "-c", "import setuptools", cwd=folder)
    if r.status == 0:
        t.quiet(user.run("env/bin/pip", "install", "-q", "--no-index", "--no-build-isolation",
                           "--disable-pip-version-check", ".", cwd=folder, timeout=120,
                           env={"XDG_CACHE_HOME": folder + "/cache"}), "pip install .")


# ---- many ----


def test_many_repositories(user, t):
    template, folder = repository(user), user.folder("many")
    user.sh(f"i=0; while [ $i -lt {REPOSITORIES} ]; do cp -r {template} r$i; i=$((i+1)); done",
              cwd=folder, timeout=240)
    script = ("for r in r*; do git -C $r status --porcelain || exit 1; done; "
              "for r in r*; do echo x >$r/new && git -C $r add new || exit 1; done")
    t.quiet(user.run("sh", "-c", script, cwd=folder, timeout=240),
            f"git status and add in {REPOSITORIES} repositories", "")
    r = user.run("sh", "-c", "for r in r*; do echo evil >$r/.git/hooks/pre-commit; done; true",
                   cwd=folder, timeout=240)
    planted = user.sh("ls -d r*/.git/hooks/pre-commit 2>/dev/null | wc -l", cwd=folder)
    t.ok(f"{REPOSITORIES} operations were denied" in r.err and planted == "0\n",
         "a hook in each of them: all denied, all counted", r.err[-2000:])
    t.ok(r.err[r.err.index("buckle:"):].count("\n") < 40, "in a summary that one can read",
         r.err[-3000:])
    fresh = user.folder("many")
    t.quiet(user.run("sh", "-ec", f"i=0; while [ $i -lt {REPOSITORIES} ]; do git init -q r$i; "
                       "git -C r$i remote add origin /x; i=$((i+1)); done", cwd=fresh, timeout=280),
            f"making {REPOSITORIES} repositories")


def main():
    if missing("git"):
        skip("git is not installed")
        return done()
    for_everybody([
        test_git_in_a_repository, test_git_making_repositories, test_submodules,
        test_protected_in_repositories, test_checkout_of_protected_names, test_build, test_npm,
        test_python, test_many_repositories,
    ])
    return done()


if __name__ == "__main__":
    sys.exit(main())
