#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everyday work with git under the default profile, in a project that was there before.

See tests/lib/matrix.py for how rows work. Upstream is a repository whose commits add, change and
remove files with protected names: editors', agents' and tools' settings, and .gitmodules.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap
from matrix import Matrix, Pass, Row
from running import missing

ENV = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A",
       "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "init.defaultBranch",
       "GIT_CONFIG_VALUE_0": "main", "GIT_CONFIG_KEY_1": "protocol.file.allow", "GIT_CONFIG_VALUE_1": "always",
       "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true", "GIT_ADVICE": "0"}

# A repository with a plain history: main, and side, which changes another file.
PLAIN = """
mkdir -p src docs
printf '%s\\n' 1 2 3 4 5 6 7 8 9 >notes && echo 'int x;' >src/x.c && echo doc >docs/a.md && git init -q . && git add -A &&
git commit -q -m first
git checkout -q -b side && echo side >side.txt && git add -A && git commit -q -m side && git checkout -q main
echo two >>docs/a.md && git commit -q -a -m second
"""
BARE = PLAIN + 'git init -q --bare $HOME/project/../bare.git; git remote add origin $HOME/bare.git; '
# Protected names of every class that upstream projects have.
TREE = """
mkdir -p .vscode .idea .claude/commands .codex .cursor .husky src
echo '{"tasks": []}' >.vscode/tasks.json; echo '{}' >.vscode/settings.json; echo '<xml/>' >.idea/workspace.xml
echo '{"mcpServers": {}}' >.mcp.json; echo '{}' >.claude/settings.json; echo hello >.claude/commands/hello.md
echo 'model = "x"' >.codex/config.toml; echo '{}' >.cursor/mcp.json; echo 'int main;' >src/main.c; echo v1 >version
"""
NAMES = ".vscode/tasks.json .idea/workspace.xml .mcp.json .claude/settings.json .codex/config.toml"
UPSTREAM = "mkdir $UPSTREAM && (cd $UPSTREAM && git init -q . && " + TREE + " git add -A && git commit -q -m one);"
# A project cloned by the person before, whose upstream moved on: one commit that touches no protected
# name, on topic; one that does, on main.
CLONED = UPSTREAM + """
git clone -q $UPSTREAM . && (cd $UPSTREAM &&
  git checkout -q -b topic && echo v2 >version && git commit -q -a -m two && git checkout -q main &&
  git checkout -q -b gone && git rm -q -r .vscode .idea && git commit -q -m 'no editors' && git checkout -q main &&
  echo '{"tasks": [1]}' >.vscode/tasks.json && echo '{"a": 1}' >.claude/settings.json && git commit -q -a -m settings)
"""
LIBRARY = ("mkdir $HOME/library && (cd $HOME/library && git init -q . && " + TREE + "git add -A && git commit -q -m lib); ")
COMPLETE = "".join(f"test -s clone/{name}; " for name in NAMES.split())
CLEAN = "test -z \"$(git status --porcelain)\"; git fsck --strict >/dev/null 2>&1; "
EDITORS = ("--allow-protected", "editors")
AGENTS = ("--allow-protected", "agents")
BOTH = ("--allow-protected", "editors,agents")

ROWS = [
    # ---- repositories that contain protected names ----
    Row("clone", "git clone -q $UPSTREAM clone", UPSTREAM, COMPLETE + "git -C clone status --porcelain | wc -l | grep -qx 0",
        fast=True),
    Row("clone --depth 1", "git clone -q --depth 1 file://$UPSTREAM clone", UPSTREAM, COMPLETE),
    Row("clone --bare", "git clone -q --bare $UPSTREAM clone.git", UPSTREAM, "git -C clone.git rev-parse main"),
    Row("clone --mirror, remote update", "git clone -q --mirror $UPSTREAM m.git && git -C m.git remote update", UPSTREAM,
        "git -C m.git rev-parse main"),
    Row("clone --recurse-submodules", "git clone -q --recurse-submodules $HOME/super clone",
        UPSTREAM + "git init -q $HOME/super && cd $HOME/super && git submodule --quiet add $UPSTREAM clone && git commit -q -m sub",
        "cd clone; " + COMPLETE, fast=True),
    Row("clone, branch, commit, push", "git clone -q $HOME/b.git c && cd c && git checkout -q -b t && echo x >.mcp.json && "
        "git commit -q -a -m x && git push -q -u origin t 2>&1 | grep -q denied || git log -1 --format=%s | grep -qx x",
        UPSTREAM + "git clone -q --bare $UPSTREAM $HOME/b.git", "test $(cat c/.mcp.json) = x"),
    Row("checkout of a commit that changes protected files, in a clone made here",
        "git clone -q $UPSTREAM clone && cd clone && git checkout -q HEAD~1 && git checkout -q main",
        CLONED.replace("git clone -q $UPSTREAM .", ":"), "grep -q 1 clone/.vscode/tasks.json", fast=True),
    Row("pull in a clone of an earlier run", ["git clone -q $UPSTREAM clone && git -C clone reset -q --hard HEAD~1",
                                              "cd clone && git pull -q"],
        CLONED.replace("git clone -q $UPSTREAM .", ":"), "grep -q 1 clone/.vscode/tasks.json"),
    Row("rm -rf of a clone of an earlier run", ["git clone -q $UPSTREAM clone", "rm -rf clone"], UPSTREAM,
        "test ! -e clone", fast=True),
    Row("tar x", "mkdir t && tar xf $HOME/t.tar -C t && rm -rf t/.idea", UPSTREAM + "tar cf $HOME/t.tar -C $UPSTREAM .",
        "test -e t/.vscode/tasks.json -a ! -e t/.idea"),
    Row("cp -a", "cp -a $UPSTREAM clone", UPSTREAM, COMPLETE),
    Row("rsync -a", "rsync -a --exclude .git/hooks $UPSTREAM/ clone/ && rsync -a --delete --exclude .git $UPSTREAM/ clone/", UPSTREAM,
        COMPLETE, needs=("rsync",)),
    Row("archive, tar x", "git archive --prefix=clone/ -o a.tar HEAD && tar xf a.tar", CLONED, COMPLETE),
    Row("worktree add, of a tree with protected names", "git worktree add -q clone && git -C clone log -1 --format=%s", CLONED,
        COMPLETE + "git worktree list | grep -q clone", fast=True),
    Row("worktree remove", "git worktree add -q w && git worktree remove w", CLONED, "test ! -e w; " + CLEAN),
    Row("worktree remove, of an earlier run", ["git worktree add -q w", "git worktree remove w"], CLONED,
        "test ! -e w; " + CLEAN),
    Row("submodule add", "git submodule --quiet add $HOME/library lib && git commit -q -m sub",
        PLAIN + LIBRARY, "test -s lib/.vscode/tasks.json; git config -f .gitmodules submodule.lib.path; " + CLEAN),
    Row("submodule update --init", "git submodule --quiet update --init",
        LIBRARY + "git init -q $HOME/up && (cd $HOME/up && git submodule --quiet add $HOME/library lib && git commit -q -m s); "
        "git clone -q $HOME/up .", "test -s lib/.vscode/tasks.json; " + CLEAN, flag=BOTH),
    Row("submodule update to another commit", "git submodule --quiet update",
        PLAIN + LIBRARY + "git submodule --quiet add $HOME/library lib && git commit -q -m s && (cd $HOME/library && "
        "echo v2 >version && git commit -q -a -m v2) && git -C lib pull -q && git commit -q -a -m v2 && git -C lib reset -q --hard HEAD~1",
        "test $(cat lib/version) = v2; " + CLEAN),
    Row("submodule deinit", "git submodule --quiet deinit -f lib",
        PLAIN + LIBRARY + "git submodule --quiet add $HOME/library lib && git commit -q -m s", "test ! -e lib/version",
        flag=AGENTS),
    # ---- a project that was there before, commits that leave protected names alone ----
    Row("pull", "git pull -q origin topic", CLONED, "test $(cat version) = v2; " + CLEAN, fast=True),
    Row("fetch, merge", "git fetch -q && git merge -q origin/topic", CLONED, "test $(cat version) = v2; " + CLEAN),
    Row("switch to a remote branch", "git fetch -q && git switch -q topic && git switch -q main", CLONED, CLEAN),
    Row("add, commit", "echo x >>notes && git add notes && git commit -q -m x", PLAIN, CLEAN, fast=True),
    Row("status, diff, log, show, blame", "git status -s && git diff && git log --stat && git show && git blame notes", PLAIN),
    Row("switch -c, commit, merge --no-ff", "git switch -q -c t && echo x >x && git add x && git commit -q -m x && "
        "git switch -q main && git merge -q --no-ff -m m t", PLAIN, "test -e x; " + CLEAN),
    Row("merge with a conflict, resolved", "git checkout -q -b c HEAD~1 && echo c >>docs/a.md && git commit -q -a -m c; "
        "git merge main >/dev/null && exit 1; echo both >docs/a.md && git add docs && git commit -q --no-edit", PLAIN, CLEAN),
    Row("rebase", "git checkout -q side && git rebase -q main", PLAIN, "test \"$(git log -1 --format=%s HEAD~1)\" = second; " + CLEAN),
    Row("rebase -i", "GIT_SEQUENCE_EDITOR=\"sed -i '1{h;d};2G'\" git rebase -q -i HEAD~2",
        PLAIN + "for i in 1 2; do echo $i >f$i; git add -A; git commit -q -m f$i; done",
        "test \"$(git log --format=%s -2 | xargs)\" = 'f1 f2'; " + CLEAN, fast=True),
    Row("commit --fixup, rebase --autosquash", "echo x >>docs/a.md && git commit -q -a --fixup HEAD && "
        "GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash HEAD~2", PLAIN, "test $(git rev-list --count HEAD) = 2; " + CLEAN),
    Row("commit --amend", "echo x >>notes && git commit -q -a --amend -m amended", PLAIN, "git log -1 --format=%s | grep -qx amended"),
    Row("stash, stash pop", "echo x >>notes && echo u >new && git stash -q -u && git stash pop -q", PLAIN,
        "grep -qx x notes; test -e new"),
    Row("stash beside protected files", "git stash -q && git stash list | grep -q WIP", CLONED + "echo v9 >version",
        "test $(cat version) = v1"),
    Row("reset --hard", "echo x >>notes && git reset -q --hard HEAD~1", PLAIN, CLEAN),
    Row("reset, restore, checkout -- file", "echo x >>notes && git add notes && git reset -q && git restore notes && "
        "echo y >>notes && git checkout -q -- notes", PLAIN, CLEAN),
    Row("cherry-pick", "git cherry-pick side >/dev/null", PLAIN, "test -e side.txt; " + CLEAN),
    Row("revert", "git revert --no-edit HEAD >/dev/null", PLAIN, "test $(cat docs/a.md) = doc; " + CLEAN),
    Row("bisect", "git bisect start HEAD HEAD~3 >out && git bisect run sh -c 'test ! -e f2' >out && git bisect reset 2>/dev/null && grep -q 'is the first bad' out",
        PLAIN + "for i in 1 2 3; do echo $i >f$i; git add -A; git commit -q -m f$i; done"),
    Row("tag, branch", "git tag v1 && git tag -a v2 -m v2 && git branch b && git branch -m b c && git branch -q -d c && git tag -d v1",
        PLAIN, "git rev-parse v2"),
    Row("remote add, fetch, remove", "git remote add up $HOME/bare.git && git fetch -q up && git remote rename up u2 && git remote remove u2",
        BARE),
    Row("push -u", "git push -q -u origin main", BARE, "git -C $HOME/bare.git rev-parse main; test $(git config branch.main.remote) = origin",
        flags=("--allow-write", "../bare.git")),
    Row("config user.email", "git config user.email x@example.com && git config pull.rebase true", PLAIN,
        "test $(git config user.email) = x@example.com", fast=True),
    Row("sparse-checkout", "git sparse-checkout set src && test ! -e docs && git sparse-checkout disable", PLAIN, CLEAN),
    Row("bundle", "git bundle create -q b.bundle --all && git bundle verify -q b.bundle && git clone -q b.bundle c", CLONED,
        "test -s c/.vscode/tasks.json"),
    Row("format-patch, am", "git format-patch -q -1 -o p side && git am -q p/*", PLAIN, "test -e side.txt"),
    Row("diff, apply", "git diff HEAD~1 HEAD >p && git apply -R p && git apply p", PLAIN, "test $(wc -l <docs/a.md) = 2"),
    Row("clean -fdx", "git clean -q -fdx", PLAIN + "mkdir build && echo o >build/o && echo x >x", "test ! -e build -a ! -e x"),
    Row("clean -fdx with protected names", "git clean -q -fdx", PLAIN + "mkdir .vscode .idea && echo o >.vscode/o && echo x >.idea/x",
        "test ! -e .vscode -a ! -e .idea"),
    Row("rm, mv", "git mv notes n2 && git rm -q docs/a.md && git commit -q -m moved", PLAIN,
        "test -e n2 -a ! -e docs; " + CLEAN),
    Row("rm of protected files", "git rm -q -r .vscode .idea && git commit -q -m gone", CLONED, "test ! -e .vscode; " + CLEAN,
        fast=True),
    Row("gc, repack, prune", "git gc -q && git repack -q -a -d && git prune", PLAIN, CLEAN),
    Row("fsck", "git fsck --full 2>&1", PLAIN),
    Row("maintenance run", "git maintenance run --quiet && git maintenance run --task=commit-graph --quiet", PLAIN, CLEAN),
    Row("notes", "git notes add -m note && git log -1 | grep -q note", PLAIN),
    Row("add -p", "echo 0 | cat - notes >n && mv n notes && echo 10 >>notes && printf 'y\\nn\\n' | git add -p >/dev/null && git commit -q -m half",
        PLAIN, "git diff --quiet && exit 1; test $(git diff | grep -c '^+[0-9]') = 1"),
    Row("init, first commit", "git init -q new && cd new && echo x >x && git add x && git commit -q -m x", "", "git -C new rev-parse main",
        fast=True),
    Row("init in the project", "git init -q . && echo x >x && git add x && git commit -q -m x", "", "git rev-parse main"),
    Row("attributes, filter from before", "echo '*.up filter=up' >.gitattributes && echo low >a.up && git add -A && git commit -q -m up",
        PLAIN + "git config filter.up.clean 'tr a-z A-Z'", "test $(git show HEAD:a.up) = LOW"),
    Row("shallow fetch, unshallow", "git clone -q --depth 1 file://$UPSTREAM clone && git -C clone fetch -q --unshallow",
        UPSTREAM, COMPLETE),
    Row("grep, shortlog, describe, reflog", "git grep -q int && git shortlog -s HEAD && git describe --always && git reflog", PLAIN),
    Row("checkout of a commit that removes protected files", "git fetch -q && git checkout -q origin/gone", CLONED,
        "test ! -e .vscode; " + CLEAN),
    Row("commit of the person's own protected files", "git add -A && git commit -q -m mine", CLONED + "echo '{}' >.vscode/launch.json", CLEAN),
    # ---- protected names in a project that was there before ----
    Row("pull of changed protected files", "git pull -q", CLONED, "grep -q 1 .vscode/tasks.json; " + CLEAN, flag=BOTH, fast=True),
    Row("merge of changed protected files", "git fetch -q && git merge -q origin/main", CLONED, "grep -q 1 .claude/settings.json; " + CLEAN,
        flag=BOTH),
    Row("stash of protected files", "git stash -q && git stash pop -q", CLONED + "echo mine >.vscode/settings.json",
        "grep -q mine .vscode/settings.json; test -z \"$(git stash list)\"", flag=EDITORS),
    Row("reset --hard of a changed .mcp.json", "git reset -q --hard", CLONED + "echo mine >.mcp.json", CLEAN, flag=AGENTS),
    Row("checkout of a branch that adds .vscode", "git checkout -q editors",
        PLAIN + "git checkout -q -b editors && mkdir .vscode && echo {} >.vscode/tasks.json && git add -A && git commit -q -m e && git checkout -q main",
        "test -s .vscode/tasks.json; " + CLEAN, flag=EDITORS),
    # ---- hooks ----
    Row("a hook", "printf '#!/bin/sh\\nexit 0\\n' >.git/hooks/pre-commit && chmod +x .git/hooks/pre-commit", PLAIN,
        "test -x .git/hooks/pre-commit", flag=("--allow-protected", "git-hooks"), fast=True),
]

PASSES = [
    Pass("without a flag", (), 57),
    Pass("with --allow-protected editors,agents,tools", ("--allow-protected", "editors,agents,tools"), 66),
    Pass("with --ask, answered with once", ("--ask",), 66, key="o"),
]

if missing("git"):
    tap.skip("git is not installed")
    sys.exit(tap.done())
assert len(ROWS) == 68, len(ROWS)
sys.exit(Matrix("git", ROWS, PASSES, ENV).main())
