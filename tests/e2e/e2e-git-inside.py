#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A working folder inside a repository: a folder of a working tree, a linked worktree, a submodule.

Git works there. The working tree around it, other worktrees and submodules stay as they are, nothing
planted makes git run a program, and no pointer that an earlier command left opens another folder.
"""

import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from running import PEOPLE, for_everybody, missing
from tap import done, skip

NAMES = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A",
         "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_CONFIG_COUNT": "1",
         "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"}

MAKE = """
git init -q -b main library && (cd library && echo lib >lib && mkdir part && echo p >part/p && git add -A && git commit -q -m lib)
git init -q -b main repo && cd repo
mkdir -p package/deep other .vscode
echo notes >notes; echo a >package/a; echo d >package/deep/d; echo o >other/o; echo {} >.vscode/tasks.json
git add -A && git commit -q -m first
git submodule --quiet add ../library sub 2>/dev/null && git commit -q -m sub
git worktree add -q -b topic ../linked
git clone -q --bare . ../bare.git && git remote add origin ../bare.git && git fetch -q
echo package2 >>package/a && git commit -q -a -m second
"""


def digest(folder, but=()):
    """Names, types and content of everything below a folder, except some folders."""
    seen = {}
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(at, name) not in but]
        for name in folders + files:
            path = os.path.join(at, name)
            if path in but:
                continue
            text = os.readlink(path).encode() if os.path.islink(path) else b""
            if os.path.isfile(path) and not text:
                with open(path, "rb") as f:
                    text = f.read()
            seen[path] = (os.lstat(path).st_mode, hashlib.sha256(text).hexdigest())
    return seen


def changed(before, after):
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


class Place:
    """A repository with a linked worktree, a submodule and a remote, from before."""

    def __init__(self, user):
        user.env.update(NAMES)
        self.user, self.top = user, user.folder("place")
        user.sh(MAKE, cwd=self.top)
        self.repo = os.path.join(self.top, "repo")
        self.git = os.path.join(self.repo, ".git")

    def path(self, name):
        return os.path.join(self.top, name)


WHERE = {
    "a folder": "repo/package",
    "a folder below that": "repo/package/deep",
    "a linked worktree": "linked",
    "a folder of a linked worktree": "linked/package",
    "a submodule": "repo/sub",
    "a folder of a submodule": "repo/sub/part",
}
WORK = """
git status --porcelain >/dev/null
echo new >new && git add new && git commit -q -m new
echo more >>new && git stash -q && git stash pop -q && git commit -q -a -m more
git branch b1 && git tag t1 && git branch -q -d b1 && git config user.email b@example.com
git fetch -q origin && git log --oneline -3 && git diff HEAD~1 --stat
git commit -q --amend -m amended && git reset -q --soft HEAD~1 && git commit -q -m again && git gc -q
"""


def test_work(user, t):
    for name, where in WHERE.items():
        place = Place(user)
        cwd = place.path(where)
        outside = {path: digest(path, but=(cwd, place.git, place.path("repo/sub") if "sub" in where else cwd))
                   for path in (place.repo, place.path("other"), place.path("library"))}
        t.quiet(user.run("bash", "-ec", WORK, cwd=cwd), f"{name}: add, commit, stash, tag, fetch, amend, gc")
        t.equal(user.sh("git log -1 --format=%s; git status --porcelain; git fsck 2>&1 | grep -v dangling || true", cwd=cwd),
                "again\n", f"{name}: what was committed is there, and the repository is whole")
        for path, before in outside.items():
            after = digest(path, but=(cwd, place.git, place.path("repo/sub") if "sub" in where else cwd))
            t.equal(changed(before, after), [], f"{name}: {os.path.basename(path)} outside is as it was")
        r = user.run("--profile", "strict", "sh", "-ec", "echo s >>new && git add new && git commit -q -m strict", cwd=cwd)
        t.ok(r.status == 0 and user.sh("git log -1 --format=%s", cwd=cwd) == "strict\n", f"{name}: commit under the strict profile", r)


def test_settings(user, t):
    """The same where settings describe the access."""
    place = Place(user)
    cwd = place.path("repo/package")
    for text, works in (('{"network": {"allowedDomains": ["example.com"]}}', True),
                        ('{"filesystem": {"allowWrite": ["."]}}', True),
                        ('{"filesystem": {"allowWrite": ["deep"]}}', False)):
        settings = user.write(place.path("settings.json"), text)
        r = user.run("--settings", settings, "sh", "-ec", "echo x >>deep/d && git commit -q -a -m x", cwd=cwd)
        if works:
            t.quiet(r, f"commit with {text}")
        else:
            t.ok(r.status != 0 and "index.lock" in r.err, f"no commit with {text}", r)


# ---- attacks from inside ----

SETTING = "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tfsmonitor = {evil}\\n'"
EXCHANGE = "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'c', -100, b'{git}/config', 2)\""
BAD = "mkdir -p x/objects x/refs; echo 'ref: refs/heads/main' >x/HEAD; " + SETTING + " >x/config; "
# what makes git run a program at the next status
PLANTS = {
    "settings by git": "git config core.fsmonitor {evil}",
    "settings, written": SETTING + " >{git}/config",
    "settings by rename": SETTING + " >c; mv c {git}/config",
    "settings, removed first": SETTING + " >c; rm -f {git}/config; cp c {git}/config",
    "settings by hard link": SETTING + " >c; rm -f {git}/config; ln c {git}/config",
    "settings by symlink": SETTING + " >c; rm -f {git}/config; ln -s $PWD/c {git}/config",
    "settings, a descriptor kept": "cp {git}/config c; exec 5>>c; mv c {git}/config; printf '[core]\\n\\tfsmonitor = {evil}\\n' >&5",
    "settings, a hard link kept": "cp {git}/config c; ln c d; mv c {git}/config; printf '[core]\\n\\tfsmonitor = {evil}\\n' >>d",
    "settings exchanged": "cp {git}/config c; git config -f c core.fsmonitor {evil}; " + EXCHANGE,
    "settings of the worktree": "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor {evil}",
    "settings included": SETTING + " >s.cfg; git config include.path $PWD/s.cfg",
    "a hooks folder of its own choice": "mkdir h; cp {evil} h/post-index-change; git config core.hooksPath $PWD/h",
    "a hook": "mkdir -p {git}/hooks; cp {evil} {git}/hooks/post-index-change",
    "hooks as a symlink": "mkdir h; cp {evil} h/post-index-change; rm -rf {git}/hooks; ln -s $PWD/h {git}/hooks",
    "hooks moved there": "mkdir h; cp {evil} h/post-index-change; rm -rf {git}/hooks; mv h {git}/hooks",
    "a filter": "git config filter.x.clean {evil}; echo '* filter=x' >>{git}/info/attributes; touch a",
    "a commondir": BAD + "echo $PWD/x >{git}/commondir",
    "the repository replaced by a symlink": BAD + "mv {git} y || rm -rf {git}; ln -s $PWD/x {git}",
    "the repository moved away": BAD + "mv {git} {git}2; cp -r x {git}",
    "a worktree's commondir": BAD + "echo $PWD/x >{git}/worktrees/linked/commondir",
    "a worktree's commondir by rename": BAD + "echo $PWD/x >c; mv -f c {git}/worktrees/linked/commondir",
    "a worktree's folder replaced": BAD + "cp -r {git}/worktrees/linked w; echo $PWD/x >w/commondir; "
                                          "rm -rf {git}/worktrees/linked; mv w {git}/worktrees/linked",
    "a worktree's own settings": "git config extensions.worktreeConfig true; " + SETTING + " >{git}/worktrees/linked/config.worktree",
    "a submodule's settings": "git config -f {git}/modules/sub/config core.fsmonitor {evil}",
    "a submodule's settings by rename": SETTING + " >c; echo '\tworktree = ../../../sub' >>c; mv -f c {git}/modules/sub/config",
    "a submodule's hooks": "mkdir -p {git}/modules/sub/hooks; cp {evil} {git}/modules/sub/hooks/post-index-change",
    "the folder of submodules": "cp -r {git}/modules m; git config -f m/sub/config core.fsmonitor {evil}; "
                                "rm -rf {git}/modules; mv m {git}/modules || ln -s $PWD/m {git}/modules",
    "the submodule's pointer": BAD + "echo gitdir: $PWD/x >{top}/sub/.git",
}
# what changes files outside the folder
WRITES = {
    "a file": "echo evil >{top}/notes",
    "a new file": "echo evil >{top}/evil",
    "a protected file": "echo evil >{top}/.vscode/tasks.json; echo evil >{top}/.mcp.json",
    "a folder": "mkdir {top}/evil; mkdir {top}/other/evil",
    "removal": "rm -f {top}/notes; rm -rf {top}/other; mv {top}/other {top}/o2; mv {top}/notes .",
    "moved out": "mv a {top}/a; ln a {top}/a; ln -s a {top}/a",
    "by git checkout": "git checkout -q HEAD~2 -- {top}/notes; git -C {top} checkout -q HEAD~2; git -C {top} read-tree -u --reset HEAD~2",
    "by git clean": "git -C {top} clean -q -fdx; git -C {top} rm -q -f notes",
    "by git apply": "printf -- '--- a/notes\\n+++ b/notes\\n@@ -1 +1 @@\\n-notes\\n+evil\\n' | git -C {top} apply",
    "through a link in the repository": "ln -s {top} {git}/out; echo evil >{git}/out/notes; rm -f {git}/out; "
                                        "rm -rf {git}/logs; ln -s {top} {git}/logs; echo evil >{git}/logs/notes",
    "through a worktree added there": "git worktree add -q {top}/evil; git worktree add -q {top}/../evil2",
    "attributes": "chmod 777 {top}/notes; touch -d 2001-01-01 {top}/notes; chmod 777 {top}",
    "another worktree": "echo evil >{git}/worktrees/linked/HEAD; echo evil >{git}/worktrees/linked/index; "
                        "git -C {top}/../linked commit -q --allow-empty -m evil; echo evil >{top}/../linked/notes",
    "a submodule": "echo evil >{git}/modules/sub/HEAD; git -C {top}/sub commit -q --allow-empty -m evil; echo evil >{top}/sub/lib",
}


def trap(user, place, cwd):
    mark = place.path("ran")
    return mark, user.write(os.path.join(cwd, "evil.sh"), f"#!/bin/sh\ntouch {mark}\n", 0o755)


def look(user, place):
    user.call(["sh", "-c", "touch notes package/a; git status; git -C package status; cd sub && touch lib && git status; "
               "cd ../../linked && touch notes && git status"], cwd=place.repo)


def test_plants(user, t):
    for name, script in PLANTS.items():
        for sandboxed in (True, False) if user is PEOPLE[0] else (True,):
            place = Place(user)
            cwd = place.path("repo/package")
            mark, evil = trap(user, place, cwd)
            script_here = script.replace("{evil}", evil).replace("{git}", place.git).replace("{top}", place.repo)
            how = user.run if sandboxed else lambda *words, **rest: user.call(list(words), **rest)
            r = how("sh", "-c", script_here, cwd=cwd)
            look(user, place)
            ran = os.path.exists(mark)
            t.ok(ran != sandboxed, f"{name}: {'git runs nothing' if sandboxed else 'without a sandbox it would'}",
                 script_here, r)


def test_writes(user, t):
    for name, script in WRITES.items():
        place = Place(user)
        cwd = place.path("repo/package")
        user.sh("touch -d 2002-02-02 notes", cwd=place.repo)
        script_here = script.replace("{git}", place.git).replace("{top}", place.repo)
        skipped = (cwd, *(os.path.join(place.git, part) for part in
                          ("objects", "refs", "logs", "index", "HEAD", "ORIG_HEAD", "out", "COMMIT_EDITMSG")))
        before, time = digest(place.top, skipped), os.stat(place.repo + "/notes").st_mtime
        r = user.run("sh", "-c", script_here, cwd=cwd)
        t.equal(changed(before, digest(place.top, skipped)), [], f"{name}: nothing outside changes", script_here, r)
        t.equal(os.stat(place.repo + "/notes").st_mtime, time, f"{name}: nor its time", r)


def test_rebase(user, t):
    """A rebase that the person began at the top."""
    place = Place(user)
    cwd = place.path("repo/package")
    mark, evil = trap(user, place, cwd)
    user.sh("GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~1 2>/dev/null; test -d .git/rebase-merge", cwd=place.repo)
    r = user.run("sh", "-c", f"echo 'exec {evil}' >>{place.git}/rebase-merge/git-rebase-todo; "
                 f"echo 'exec {evil}' >c; mv c {place.git}/rebase-merge/git-rebase-todo", cwd=cwd)
    user.call(["git", "rebase", "--continue"], cwd=place.repo, env={"GIT_EDITOR": "true"})
    t.ok(not os.path.exists(mark), "a line that executes: not run", r)


def test_committed(user, t):
    """Not promised: what a commit contains. The working tree changes only when the person wants that."""
    place = Place(user)
    script = "git update-index --cacheinfo 100644,$(echo evil | git hash-object -w --stdin),notes && git commit -q -m evil"
    t.quiet(user.run("sh", "-ec", script, cwd=place.path("repo/package")), "a file outside can be staged and committed")
    t.equal(user.sh("cat notes; git restore notes; cat notes", cwd=place.repo), "notes\nevil\n",
            "and changes when it is restored outside")


# ---- pointers that an earlier command may have left ----

VICTIM = """
git init -q -b main victim && cd victim && echo v >v && mkdir -p objects refs modules/m logs && echo x >objects/x && git add -A && git commit -q -m v
git worktree add -q ../victim-linked && mkdir ../work ../work/sub
"""
# made without a sandbox in work/, as if nothing had stopped the earlier command; cwd for the next run
POINTERS = {
    "a .git file": ("echo gitdir: {v}/.git >.git", "."),
    "a .git file above": ("echo gitdir: {v}/.git >.git", "sub"),
    "a .git file to somebody's worktree": ("echo gitdir: {v}/.git/worktrees/victim-linked >.git", "."),
    "a .git symlink": ("ln -s {v}/.git .git", "."),
    "a .git symlink above": ("ln -s {v}/.git .git", "sub"),
    "a .git file symlinked": ("ln -s {v}-linked/.git .git", "."),
    "a repository with links for objects and refs":
        ("git init -q . && rm -rf .git/objects .git/refs .git/logs && for d in objects refs logs; do ln -s {v}/.git/$d .git/$d; done", "sub"),
    "a repository with links for files":
        ("git init -q . && for f in index HEAD packed-refs ORIG_HEAD; do ln -sf {v}/.git/$f .git/$f; done", "sub"),
    "a worktree's folder of its own, with the victim's repository":
        ("mkdir g && echo {v}/.git >g/commondir && echo $PWD/.git >g/gitdir && echo 'ref: refs/heads/main' >g/HEAD && "
         "echo gitdir: $PWD/g >.git", "."),
    "the same through a symlink":
        ("mkdir -p f/worktrees/g && cd f/worktrees/g && echo {v}/.git >commondir && echo {w}/.git >gitdir && "
         "echo 'ref: refs/heads/main' >HEAD && cd {w} && ln -s {v}/.git/objects f/objects && ln -s {v}/.git/refs f/refs && "
         "cp f/worktrees/g/HEAD f/HEAD && echo ../.. >f/worktrees/g/commondir && echo gitdir: {w}/f/worktrees/g >.git", "."),
    "a submodule that is no submodule":
        ("echo gitdir: {v} >.git && printf '[core]\\n\\tworktree = {w}\\n' >{v}/config && cp {v}/.git/HEAD {v}/HEAD", "."),
    "a submodule in an everyday folder":
        ("echo gitdir: {v}/modules/m >.git && mkdir {v}/modules/m/objects {v}/modules/m/refs && cp {v}/.git/HEAD {v}/modules/m/ && "
         "printf '[core]\\n\\tworktree = {w}\\n' >{v}/modules/m/config", "."),
    "a submodule whose settings only seem to name it":
        ("mkdir -p {v}/.git/modules/m/objects {v}/.git/modules/m/refs && cp {v}/.git/HEAD {v}/.git/modules/m/ && "
         "printf '[x]\\n\\tworktree = {w}\\n' >{v}/.git/modules/m/config && echo gitdir: {v}/.git/modules/m >.git", "."),
    "a repository around the home folder": ("git init -q $HOME", "."),
}
TRY = """
for d in {v} {v}/.git {v}/objects {v}/refs {v}/logs {v}/modules/m {v}/.git/objects {v}/.git/refs {v}/.git/refs/heads {v}/.git/logs \
         {v}/.git/worktrees/victim-linked {v}/.git/modules/m {v}-linked "$HOME" "$HOME/.git" "$HOME/.git/objects"; do
    echo evil >$d/evil; rm -f $d/evil
    for f in v x HEAD index config packed-refs main; do test -e $d/$f && echo evil >>$d/$f; done
done
for d in objects refs logs; do echo evil >{w}/.git/$d/evil; done
for f in index HEAD packed-refs ORIG_HEAD; do echo evil >>{w}/.git/$f; done
echo evil >e && git add e && git commit -q -m evil && git branch evil && git tag evil
true
"""


def test_pointers(user, t):
    user.env.update(NAMES)
    for name, (plant, where) in POINTERS.items():
        top = user.folder("pointers")
        user.sh(VICTIM, cwd=top)
        victim, work = top + "/victim", top + "/work"

        def words(script):
            return script.replace("{v}", victim).replace("{w}", work)
        env = {"HOME": top} if "$HOME" in plant else None
        user.sh(words(plant), cwd=work, env=env)
        watched = [victim, victim + "-linked", top + "/.git"]
        before = [digest(path) for path in watched]
        r = user.run("--report", "none", "sh", "-c", words(TRY), cwd=os.path.join(work, where), env=env)
        t.equal([changed(one, digest(path)) for one, path in zip(before, watched)], [[], [], []],
                f"{name}: opens nothing", r)
        # and an earlier command cannot even leave it
        if "{v}" in plant and "git init" not in plant and "{v}/" not in plant.split(">.git")[-1]:
            fresh = user.folder("fresh")
            user.run("--report", "none", "sh", "-c", words(plant).replace(work, fresh), cwd=fresh)
            t.ok(not os.path.lexists(fresh + "/.git"), f"{name}: cannot be left in a run")


def test_others(user, t):
    """Somebody else's repository around the folder is not this user's to write."""
    if os.geteuid() != 0 or user.uid == 0:
        return
    place = Place(user)
    for path in (place.repo, place.git):
        os.chown(path, 4243, 4243)
        os.chmod(path, 0o777)
    r = user.run("sh", "-c", f"echo evil >{place.git}/evil", cwd=place.path("repo/package"))
    t.ok(not os.path.exists(place.git + "/evil"), "somebody else's repository is not opened", r)


def main():
    lacks = missing("git", "python3", "bash")
    if lacks:
        skip(f"{lacks} is not installed")
        return done()
    for_everybody([test_work, test_settings, test_plants, test_writes, test_rebase, test_committed, test_pointers, test_others])
    return done()


sys.exit(main())
