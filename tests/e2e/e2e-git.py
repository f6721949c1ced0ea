#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Git under the default profile: a command cannot plant anything that git runs by itself, and everyday
commands still work.

Each attack plants something inside; then the user's own git runs `status` outside, and must not
execute it. A marker file shows whether it did.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from running import PEOPLE, for_everybody, missing
from tap import done, skip

NAMES = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A",
         "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_ALLOW_PROTOCOL": "file:ext",
         "GIT_TEMPLATE_DIR": ""}


def repository(user, name="repository"):
    folder = user.folder(name)
    user.env.update({k: v for k, v in NAMES.items() if k != "GIT_TEMPLATE_DIR"})
    user.sh("""
git init -q -b main .
echo one >notes && git add -A && git commit -q -m first
git checkout -q -b side && echo side >>notes && git commit -q -a -m side && git checkout -q main
""", cwd=folder)
    return folder


class Trap:
    """A program that leaves a mark, in a writable folder."""

    def __init__(self, user, folder):
        self.user, self.folder = user, folder
        self.mark = os.path.join(user.home, "ran")
        self.script = user.write(os.path.join(folder, "evil.sh"),
                                   f"#!/bin/sh\ntouch {self.mark}\n", 0o755)

    def sprung(self):
        there = os.path.exists(self.mark)
        if there:
            os.unlink(self.mark)
        return there


# What the user types next, in the folder and everywhere below it.
LOOK = """
find . -name notes -exec touch {} +
find . '(' -name HEAD -o -name .git ')' -not -path '*/refs/*' -not -path '*/logs/*' |
while read -r d; do
    ( cd "${d%/*}" && for c in status x fetch; do git $c; done; git --git-dir=. status )
done
"""

# Settings that run a program at the next `git status`, wherever they are.
SETTINGS = ("printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = {top}\\n"
            "\\tfsmonitor = {evil}\\n'")
INSIDE = "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tfsmonitor = {evil}\\n'"
HEAD = "echo 'ref: refs/heads/main'"
# A repository in the folder x.
MADE = "mkdir -p x/objects x/refs/heads; " + HEAD + " >x/HEAD; " + SETTINGS + " >x/config; "
NEW = "git init -q in; echo x >in/notes; git -C in add notes; git -C in commit -q -m x; "
HOOK = "mkdir h; cp evil.sh h/post-index-change; "
EXCHANGE = ("python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'c', -100, b'.git/config', 2)\"")

ATTACKS = {
    "a repository inside, with a gitlink": NEW + "git add in; git -C in config core.fsmonitor {evil}",
    "a repository inside, settings written": NEW + INSIDE + " >in/.git/config",
    "a repository inside, settings by rename": NEW + INSIDE + " >c; mv c in/.git/config",
    "a repository inside, settings first":
        "mkdir -p in/.git; " + INSIDE + " >in/.git/config; " + NEW,
    "a repository inside, settings removed first":
        NEW + "rm in/.git/config; " + INSIDE + " >in/.git/config",
    "a repository inside, settings in pieces":
        NEW + "rm in/.git/config; exec 5>in/.git/config; printf '[core]\\n' >&5; echo a >a; "
        "printf '\\tfsmonitor = {evil}\\n' >&5; echo b >b",
    "a repository inside, moved to its name": MADE + "mkdir in; mv x in/.git",
    "a repository inside, put together elsewhere":
        "mkdir -p x/objects x/refs; " + INSIDE + " >x/config; mkdir in; mv x in/.git; " + HEAD +
        " >in/.git/HEAD",
    "a repository inside, a folder around it moved":
        "mkdir -p a/b; cd a/b; " + MADE + "cd ../..; mv a/b/x a/b/.git; mv a/b c",
    "a bare repository": MADE,
    "a bare repository, settings last":
        "mkdir -p x/objects x/refs; " + HEAD + " >x/HEAD; " + SETTINGS + " >x/config",
    "a bare repository, settings by rename":
        "git init -q --bare x; " + SETTINGS + " >c; mv c x/config",
    "a bare repository, settings by git": "git init -q --bare x; git -C x config core.bare false; "
        "git -C x config core.worktree {top}; git -C x config core.fsmonitor {evil}",
    "a bare repository, settings by hard link":
        "git init -q --bare x; " + SETTINGS + " >c; rm x/config; ln c x/config",
    "a bare repository, settings by link":
        "git init -q --bare x; " + SETTINGS + " >c; rm x/config; ln -s ../c x/config",
    "a bare repository, its HEAD last":
        "mkdir -p x/objects x/refs; " + SETTINGS + " >x/config; " + HEAD + " >H; mv H x/HEAD",
    "a bare repository, its HEAD linked":
        "mkdir -p x/objects x/refs; " + SETTINGS + " >x/config; " + HEAD + " >H; ln H x/HEAD",
    "a bare repository with links for folders":
        "mkdir x o r; " + HEAD + " >x/HEAD; " + SETTINGS + " >x/config; ln -s ../o x/objects; "
        "ln -s ../r x/refs",
    "a bare repository, a folder moved there":
        "mkdir -p x/objects r; " + HEAD + " >x/HEAD; " + SETTINGS + " >x/config; mv r x/refs",
    "a bare repository, a descriptor kept":
        "mkdir -p x/objects; " + HEAD + " >x/HEAD; echo '[core]' >x/config; exec 5>>x/config; "
        "mkdir x/refs; printf '\\tbare = false\\n\\tworktree = {top}\\n\\tfsmonitor = {evil}\\n' >&5",
    "a bare repository, a hard link kept":
        "mkdir -p x/objects; " + HEAD + " >x/HEAD; echo '[core]' >x/config; ln x/config kept; "
        "mkdir x/refs; printf '\\tbare = false\\n\\tworktree = {top}\\n\\tfsmonitor = {evil}\\n' >>kept",
    "a bare repository, taken apart":
        "git init -q --bare x; rm x/HEAD; " + SETTINGS + " >x/config; " + HEAD + " >x/HEAD",
    "a repository through commondir":
        "mkdir -p c/objects c/refs d; " + SETTINGS + " >c/config; echo ../c >d/commondir; " + HEAD +
        " >d/HEAD",
    "a repository two folders up":
        "mkdir -p c/objects c/refs c/w/d; " + SETTINGS + " >c/config; echo ../.. >c/w/d/commondir; " +
        HEAD + " >c/w/d/HEAD",
    "a worktree's folder moved to another repository":
        "git worktree add -q wt; mkdir -p c/objects c/refs c/w; " + SETTINGS + " >c/config; "
        "mv .git/worktrees/wt c/w/d",
    "the folder of worktrees moved to another repository":
        "git worktree add -q wt; mkdir -p c/objects c/refs; " + SETTINGS + " >c/config; "
        "mv .git/worktrees c/w",
    "a worktree of a repository that loses its HEAD":
        "git init -q --bare x; git -C x worktree add -q --orphan o 2>/dev/null; "
        "mkdir -p x/worktrees/o; " + HEAD + " >x/worktrees/o/HEAD; echo ../.. >x/worktrees/o/commondir; "
        "rm x/HEAD; " + SETTINGS + " >x/config",
    "settings, a descriptor kept over the rename":
        "cp .git/config c; exec 5>>c; mv c .git/config; printf '[core]\\n\\tfsmonitor = {evil}\\n' >&5",
    "settings, a hard link kept over the rename":
        "cp .git/config c; ln c d; mv c .git/config; printf '[core]\\n\\tfsmonitor = {evil}\\n' >>d",
    "settings exchanged": "cp .git/config c; git config -f c core.fsmonitor {evil}; " + EXCHANGE,
    "settings of this worktree":
        "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor {evil}",
    "settings of this worktree, written":
        "git config extensions.worktreeConfig true; " + INSIDE + " >.git/config.worktree",
    "settings included": INSIDE + " >x.cfg; git config include.path ../x.cfg",
    "settings included on a condition":
        INSIDE + " >x.cfg; git config 'includeIf.gitdir:{top}/.path' ../x.cfg",
    "a hooks folder of its own choice": HOOK + "git config core.hooksPath h",
    "a hook": HOOK + "mkdir -p .git/hooks; cp evil.sh .git/hooks/post-index-change",
    "hooks as a link in a created repository":
        HOOK + NEW + "rm -rf in/.git/hooks; ln -s ../../h in/.git/hooks",
    "hooks as a folder moved there": HOOK + NEW + "rm -rf in/.git/hooks; mv h in/.git/hooks",
    "a hook that was a sample":
        NEW + "cp evil.sh in/.git/hooks/x.sample; mv in/.git/hooks/x.sample in/.git/hooks/post-index-change",
    "hooks of a repository that is moved to its name":
        NEW + "mv in/.git x; mkdir -p x/hooks; cp evil.sh x/hooks/post-index-change; mv x in/.git",
    "a filter": "git config filter.x.clean {evil}; echo '* filter=x' >.gitattributes",
    "a filter, with other letters":
        "{ cat .git/config; printf '[FILTER \"x\"]\\n\\tClEaN = {evil}\\n'; } >c; mv c .git/config; "
        "echo '* filter=x' >.gitattributes",
    "an alias in a repository of its own": NEW + "git -C in config alias.x '!{evil}'",
    "another way to a remote": NEW + "git -C in remote add origin 'ext::{evil}'",
    "another way to a remote, as of old":
        NEW + "mkdir -p in/.git/remotes; echo 'URL: ext::{evil}' >in/.git/remotes/origin",
    "another program for a remote":
        NEW + "git -C in remote add origin /; git -C in config remote.origin.uploadpack {evil}",
    "another repository in place of .git": NEW + INSIDE + " >in/.git/config; mv .git away; mv in/.git .git",
    "a link in place of .git": MADE + "mv .git away; ln -s x .git",
    "a file in place of .git": MADE + "mv .git away; echo 'gitdir: x' >.git",
}


def test_planted(user, t):
    for name, script in ATTACKS.items():
        folder = repository(user)
        trap = Trap(user, folder)
        script = script.replace("{evil}", trap.script).replace("{top}", folder)
        r = user.run("sh", "-c", script, cwd=folder)
        user.call(["sh", "-c", LOOK], cwd=folder)
        t.ok(not trap.sprung(), f"{name}: git runs nothing", script, r)
        if user is not PEOPLE[0]:
            continue  # git does the same for everybody
        control = repository(user)
        trap = Trap(user, control)
        script = script.replace(folder, control)
        r = user.call(["sh", "-c", script], cwd=control)
        user.call(["sh", "-c", LOOK], cwd=control)
        t.ok(trap.sprung(), f"{name}: without a sandbox it would", script, r)


def linked(user):
    """A repository with a linked worktree and a submodule, from before."""
    folder, library = repository(user), repository(user, "library")
    user.sh(f"git worktree add -q wt && git -c protocol.file.allow=always submodule add -q {library} sub && "
              "printf 'wt\\nevil.sh\\n' >>.git/info/exclude && git commit -q -m sub", cwd=folder)
    return folder


POINTERS = {
    "a worktree's commondir": "echo ../../../x >.git/worktrees/wt/commondir",
    "a worktree's commondir by rename": "echo ../../../x >c; mv c .git/worktrees/wt/commondir",
    "a worktree's commondir made again":
        "rm .git/worktrees/wt/commondir; echo ../../../x >.git/worktrees/wt/commondir",
    "a worktree's commondir made again by rename":
        "rm .git/worktrees/wt/commondir; echo ../../../x >c; mv c .git/worktrees/wt/commondir",
    "a worktree's commondir as a link":
        "echo ../../../x >c; rm .git/worktrees/wt/commondir; ln -s ../../../c .git/worktrees/wt/commondir",
    "a worktree's commondir as a hard link":
        "echo ../../../x >c; rm .git/worktrees/wt/commondir; ln c .git/worktrees/wt/commondir",
    "a worktree's .git file": "echo 'gitdir: ../x' >wt/.git",
    "a worktree's .git file by rename": "echo 'gitdir: ../x' >c; mv c wt/.git",
    "a worktree's .git file made again": "rm wt/.git; echo 'gitdir: ../x' >wt/.git",
    "a worktree's .git file as a link": "rm wt/.git; ln -s ../x wt/.git",
    "a worktree's .git file as a hard link": "rm wt/.git; echo 'gitdir: ../x' >c; ln c wt/.git",
    "a worktree's .git file as a folder": "rm wt/.git; mv x wt/.git",
    "a submodule's .git file": "echo 'gitdir: ../x' >sub/.git",
    "a submodule's .git file made again": "rm sub/.git; echo 'gitdir: ../x' >sub/.git",
    "a submodule's .git file as a link": "rm sub/.git; ln -s ../x sub/.git",
    "a submodule's .git file as a folder": "rm sub/.git; cp -r x sub/.git",
    "a submodule's settings": "git -C sub config core.fsmonitor {evil}",
    "a submodule's settings, taken apart first":
        "rm .git/modules/sub/HEAD; cp x/config .git/modules/sub/config; cp x/HEAD .git/modules/sub/HEAD",
    "a submodule's settings by rename": "cp x/config c; mv c .git/modules/sub/config",
    "a submodule's hooks": "mkdir -p .git/modules/sub/hooks; cp evil.sh .git/modules/sub/hooks/post-index-change",
    "the folder of submodules as a link":
        "cp -r .git/modules m; cp x/config m/sub/config; rm -rf .git/modules; ln -s ../m .git/modules",
    "a submodule that was not populated":
        "git submodule deinit -q -f sub; cp -r x sub/.git",
    "a worktree's own settings":
        "git config extensions.worktreeConfig true; cp x/config .git/worktrees/wt/config.worktree",
    "a worktree's own settings by rename":
        "git config extensions.worktreeConfig true; cp x/config c; mv c .git/worktrees/wt/config.worktree",
}


def test_pointers(user, t):
    for name, script in POINTERS.items():
        for sandboxed in (True, False) if user is PEOPLE[0] else (True,):
            folder = linked(user)
            trap = Trap(user, folder)
            # a repository with bad settings, as far as it can be prepared
            whole = (MADE + script).replace("{evil}", trap.script).replace("{top}", folder)
            r = user.run("sh", "-c", whole, cwd=folder) if sandboxed else \
                user.call(["sh", "-c", whole], cwd=folder)
            user.call(["sh", "-c", "for d in wt sub .; do ( cd $d && touch notes && git status ); done"],
                        cwd=folder)
            if sandboxed:
                t.ok(not trap.sprung(), f"{name}: git runs nothing", whole, r)
            else:
                t.ok(trap.sprung(), f"{name}: without a sandbox it would", whole, r)


def test_rebase(user, t):
    """Todo lists of a rebase."""
    def begin(folder):
        user.sh("git checkout -q side; echo a >>notes; git commit -q -a -m a; "
                  "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~1 2>/dev/null; test -d .git/rebase-merge",
                  cwd=folder)

    def goes_on(folder):
        return user.call(["git", "rebase", "--continue"], cwd=folder, env={"GIT_EDITOR": "true"})

    for name, script in {
            "appended": "echo 'exec {evil}' >>.git/rebase-merge/git-rebase-todo",
            "by rename": "echo 'x {evil}' >c && mv c .git/rebase-merge/git-rebase-todo",
            "by a folder": "cp -r .git/rebase-merge r && echo 'exec {evil}' >r/git-rebase-todo; "
                           "rm -rf .git/rebase-merge; mv r .git/rebase-merge",
    }.items():
        folder = repository(user)
        trap = Trap(user, folder)
        begin(folder)
        r = user.run("sh", "-c", script.replace("{evil}", trap.script), cwd=folder)
        goes_on(folder)
        t.ok(not trap.sprung(), f"a line that executes, {name}: not run", r)

    folder = repository(user)
    trap = Trap(user, folder)
    r = user.run("sh", "-c", "git checkout -q side; echo a >>notes; git commit -q -a -m a; "
                   f"GIT_SEQUENCE_EDITOR=\"printf 'break\\nexec {trap.script}\\n' >\" git rebase -i HEAD~1; true",
                   cwd=folder)
    t.ok(os.path.isdir(folder + "/.git/rebase-merge"), "a rebase begun inside is left", r)
    t.ok("git-rebase-todo" in r.err and "exec" in r.err, "and its lines that execute are reported", r)
    goes_on(folder)
    t.ok(not trap.sprung(), "and are not run by the user's git rebase --continue", r)

    folder = repository(user)
    begin(folder)
    r = user.run("sh", "-c", "echo b >>notes && git add notes && git commit -q --amend --no-edit && "
                   "git rebase --continue", cwd=folder, env={"GIT_EDITOR": "true"})
    t.quiet(r, "the user's rebase can go on inside")
    t.ok(not os.path.isdir(folder + "/.git/rebase-merge"), "to its end")

    folder = repository(user)
    user.call(["sh", "-c", "echo m >>notes; git commit -q -a -m m; git rebase side"], cwd=folder)
    r = user.run("sh", "-ec", "test -d .git/rebase-merge; echo both >notes; git add notes; git rebase --continue >/dev/null",
                   cwd=folder, env={"GIT_EDITOR": "true"})
    t.quiet(r, "a rebase with a conflict can go on inside")

    folder = repository(user)
    r = user.run("sh", "-ec", "git checkout -q side; echo a >a; git add a; git commit -q -m a; echo b >b; "
                   "git add b; git commit -q -m b; GIT_SEQUENCE_EDITOR=\"sed -i '1{h;d};2G'\" git rebase -q -i HEAD~2; "
                   "GIT_SEQUENCE_EDITOR=\"sed -i '1aexec touch executed'\" git rebase -q -i HEAD~1; test -e executed; "
                   "git log --format=%s -2", cwd=folder)
    t.ok(r.status == 0 and r.out.split() == ["a", "b"] and "buckle:" not in r.err,
         "git rebase -i with an editor script, and with a line that executes", r)


EVERYDAY = {
    "remote add": "git remote add upstream /x && git remote -v | grep -q upstream",
    "remote add, fetch, remove": "git remote add o2 {bare} && git fetch -q o2 && git remote remove o2",
    "push -u": "git remote add origin {bare} && git push -q -u origin main && "
               "test $(git config branch.main.remote) = origin",
    "branch --set-upstream-to": "git checkout -q -b t2 && git branch -q --set-upstream-to=main && git checkout -q main",
    "config user.email": "git config user.email x@example.com && git config user.name 'X Y'",
    "config pull.rebase": "git config pull.rebase true && git config --unset pull.rebase",
    "commit": "echo x >x1 && git add x1 && git commit -q -m x1",
    "branch -m, -d": "git branch b1 && git branch -m b1 b2 && git branch -q -d b2",
    "checkout --track": "git remote add o3 {bare} && git fetch -q o3 && git push -q o3 main:f1 && git fetch -q o3 && "
                        "git checkout -q --track o3/f1 && git pull -q && git checkout -q main && git branch -q -D f1",
    "stash, cherry-pick, revert, tag": "echo y >>notes && git stash -q && git stash pop -q && git checkout -q notes && "
                                       "git cherry-pick -n side >/dev/null && git reset -q --hard && git revert --no-edit HEAD >/dev/null && git tag v9",
    "worktree add, commit there, remove": "git worktree add -q wt -b wtb && cd wt && echo w >w && git add w && "
                                          "git commit -q -m w && test $(cat .git | cut -c1-7) = gitdir: && cd .. && git worktree list | grep -q wtb && git worktree remove wt",
    "submodule add": "git -c protocol.file.allow=always submodule add -q {library} sub && git commit -q -m sub && git -C sub log -1 --format=%s",
    "submodule init, update": "git submodule deinit -q -f sub && git submodule init -q && git -c protocol.file.allow=always submodule update -q && test -e sub/notes",
    "submodule in a clone": "git clone -q . c1; cd c1 && git -c protocol.file.allow=always submodule update --init -q && test -e sub/notes",
    "sparse-checkout": "mkdir -p some && touch some/f && git add some && git commit -q -m some && git sparse-checkout set --cone some >/dev/null && git sparse-checkout disable",
    "init, clone --bare, mirror": "git init -q n1 && git clone -q --bare . n2.git && git clone -q --mirror . n3.git && git -C n2.git config user.name Z && rm -rf n1 n2.git n3.git",
    "bisect": "git bisect start HEAD HEAD~2 >/dev/null && git bisect good >/dev/null; git bisect reset >/dev/null 2>&1",
    "a copy of the repository": "mkdir cp && cp -a .git cp/.git && git -C cp log -1 >/dev/null && test $(git -C cp config core.bare) = false && rm -rf cp",
    "an archive of it": "tar cf $TMPDIR/r.tar .git && mkdir tx && tar xf $TMPDIR/r.tar -C tx && git -C tx fsck >/dev/null 2>&1 && rm -rf tx",
    "gc": "git gc -q",
}


def test_everyday(user, t):
    folder, library = repository(user), repository(user, "library")
    bare = user.folder("bare")
    user.sh("git init -q --bare -b main .", cwd=bare)
    for name, script in EVERYDAY.items():
        script = script.replace("{bare}", bare).replace("{library}", library)
        r = user.run("-w", bare, "sh", "-ec", script, cwd=folder, timeout=120)
        t.quiet(r, f"git {name}")
    t.equal(user.sh("git fsck 2>&1 | grep -v dangling || true", cwd=folder), "", "git fsck is content")


REFUSED = {
    "core.fsmonitor": "git config core.fsmonitor x",
    "core.hookspath": "git config core.hooksPath x",
    "alias.x": "git config alias.x '!x'",
    "remote.origin.url": "git remote set-url origin /evil",
    "remote.origin.pushurl": "git config remote.origin.pushurl /evil",
    "branch.main.remote": "git remote add other /evil && git branch -q --set-upstream-to=main main; "
                          "git config branch.main.remote other",
    "remote.e.url": "git remote add e 'ext::sh -c x'",
    "branch.side.pushremote": "git config branch.side.pushRemote /x",
    "core.worktree": "git config core.worktree /",
}


def test_refused(user, t):
    for key, script in REFUSED.items():
        folder = repository(user)
        user.sh("git remote add origin /there && git config branch.main.remote origin && "
                  "git config branch.main.merge refs/heads/main", cwd=folder)
        r = user.run("sh", "-c", script, cwd=folder)
        t.ok(r.status != 0 and f"({key})" in r.err, f"{key}: refused, and named", r)
        r = user.run("--report", "json", "sh", "-c", script, cwd=folder)
        t.ok(f'"detail": "{key}"' in r.err, f"{key}: named in JSON", r)
    folder = repository(user)
    r = user.run("-w", ".git/config", "git", "config", "core.fsmonitor", "x", cwd=folder)
    t.quiet(r, "with the flag that opens the file, any key")
    t.equal(user.sh("git config core.fsmonitor", cwd=folder), "x\n", "is set")


def test_named(user, t):
    """Files that existing settings name."""
    for key, value, path in (("core.hooksPath", ".husky", ".husky/pre-commit"),
                             ("core.hooksPath", ".", "pre-commit"),
                             ("include.path", "../team.cfg", "team.cfg"),
                             ("includeIf.onbranch:x.path", "../team.cfg", "team.cfg"),
                             ("filter.x.clean", "sh tools/clean.sh %f", "tools/clean.sh"),
                             ("alias.x", "!./tools/x", "tools/x"),
                             ("core.fsmonitor", "tools/watch", "tools/watch")):
        folder = repository(user)
        user.sh(f"git config '{key}' '{value}'", cwd=folder)
        r = user.run("sh", "-c", f"mkdir -p $(dirname {path}); echo x >{path}", cwd=folder)
        t.ok(r.status != 0 and not os.path.exists(os.path.join(folder, path)),
             f"{key} = {value}: {path} cannot be planted", r)
        r = user.run("sh", "-c", f"mkdir -p prepared/$(dirname {path}); echo x >prepared/{path}; "
                       f"mv prepared/$(dirname {path})/* . ; mv prepared/* .; mv prepared/.husky .", cwd=folder)
        t.ok(not os.path.exists(os.path.join(folder, path)), f"{key}: nor moved there", r)
        t.quiet(user.run("sh", "-c", "echo y >>notes; git commit -q -a -m y --no-verify -c core.hooksPath= 2>/dev/null; "
                           "echo z >other", cwd=folder), f"{key}: other files can be written")
    folder = repository(user)
    user.write(user.home + "/.gitconfig", "[core]\n\thooksPath = .hooks\n")
    r = user.run("sh", "-c", "mkdir -p .hooks; echo x >.hooks/pre-commit", cwd=folder)
    t.ok(not os.path.exists(folder + "/.hooks/pre-commit"), "the user's own core.hooksPath", r)
    os.unlink(user.home + "/.gitconfig")
    outer = user.folder()
    nested = os.path.join(outer, "nested")
    user.sh(f"git init -q {nested} && git -C {nested} config core.hooksPath h", cwd=outer)
    r = user.run("sh", "-c", "mkdir nested/h && echo x >nested/h/pre-commit", cwd=outer)
    t.quiet(r, "not promised: files that a nested repository's settings name")


def test_replaced(user, t):
    """Not promised: swapping two repositories; but the working folder's own cannot be replaced."""
    outer = user.folder()
    user.sh("git init -q nested && git -C nested remote add origin /there", cwd=outer)
    r = user.run("sh", "-c", "mv nested aside && git init -q nested && git -C nested remote add origin /x", cwd=outer)
    t.quiet(r, "a nested repository can be replaced by another")
    folder = repository(user)
    r = user.run("sh", "-c", "mv .git aside; rm -rf .git/HEAD; git init -q . ; git remote add origin /x; mv .git y", cwd=folder)
    t.ok(os.path.isdir(folder + "/.git") and not os.path.exists(folder + "/aside"),
         "the working folder's own stays", r)


def test_rebase_killed(user, t):
    """Killing Buckle prevents its cleanup; a timeout does not."""
    folder = repository(user)
    trap = Trap(user, folder)
    script = ("git checkout -q side; echo a >>notes; git commit -q -a -m a; "
              f"GIT_SEQUENCE_EDITOR=\"printf 'break\\nexec {trap.script}\\n' >\" git rebase -q -i HEAD~1; sleep 60")
    r = user.run("--timeout", "2", "sh", "-c", script, cwd=folder, timeout=60)
    todo = os.path.join(folder, ".git/rebase-merge/git-rebase-todo")
    with open(todo, encoding="utf-8") as f:
        text = f.read()
    t.ok("exec" in text and not any(line.startswith(("exec", "x ")) for line in text.split("\n")),
         "a run that ends by its timeout: lines that execute are comments", text, r)


def test_linked_worktree(user, t):
    """The working folder is a linked worktree."""
    main = repository(user)
    bare = user.folder("bare")
    user.sh("git init -q --bare -b main .", cwd=bare)
    wt = user.home + f"/linked-{user.made}"
    user.sh(f"git worktree add -q -b topic {wt}", cwd=main)
    r = user.run("sh", "-ec", "echo w >w && git add w && git commit -q -m w && git stash list && "
                   "echo z >>w && git stash -q && git stash pop -q && git commit -q -a -m z && git tag t1 && "
                   "git branch other && git checkout -q other && git checkout -q topic", cwd=wt)
    t.quiet(r, "add, commit, stash, tag, branch, checkout in a linked worktree")
    r = user.run("-w", bare, "sh", "-ec", f"git remote add origin {bare} && git push -q -u origin topic", cwd=wt)
    t.quiet(r, "remote add and push -u")
    t.equal(user.sh("git log -1 --format=%s topic", cwd=main), "z\n", "the main repository has it")
    trap = Trap(user, wt)
    for name, script in {
            "a hook": f"cp evil.sh {main}/.git/hooks/post-index-change",
            "a setting": "git config core.fsmonitor $PWD/evil.sh",
            "the main working tree": f"echo x >{main}/notes",
            "the main index": f"echo x >{main}/.git/index",
            "the pointer": "rm -f .git; mv .git x",
    }.items():
        r = user.run("sh", "-c", script, cwd=wt)
        t.ok("denied" in r.err, f"{name}: denied", r)
    user.call(["git", "status"], cwd=main)
    user.call(["git", "status"], cwd=wt)
    t.ok(not trap.sprung(), "and nothing runs")


def main():
    lacks = missing("git", "python3")
    if lacks:
        skip(f"{lacks} is not installed")
        return done()
    for_everybody([test_planted, test_pointers, test_rebase, test_everyday, test_refused,
                   test_named, test_replaced, test_rebase_killed, test_linked_worktree])
    return done()


sys.exit(main())
