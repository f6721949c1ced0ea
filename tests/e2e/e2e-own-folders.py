#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders that the command created are its own: protected names may be written there. Everyday work
with trees that contain such names, and attempts to plant one in a folder that was there before.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import for_everybody

NAMES = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A",
         "GIT_COMMITTER_EMAIL": "a@example.com"}
# what each class of protected names is called in a tree
PROTECTED = [".vscode/tasks.json", ".idea/workspace.xml", ".mcp.json", ".claude/settings.json",
             ".codex/config.toml", ".cursor/mcp.json", ".bashrc", ".gitconfig", ".hg/hgrc"]
SWAP = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2) < 0:
    sys.exit(ctypes.get_errno())
"""


def tree(person, name="tree"):
    """A folder with protected names of every class."""
    folder = person.folder(name)
    for path in PROTECTED:
        person.write(os.path.join(folder, path), "from upstream\n")
    return folder


def repository(person):
    folder = tree(person, "upstream")
    person.env.update(NAMES)
    person.sh("git init -q -b main . && git add -A && git commit -q -m all", cwd=folder)
    return folder


def present(folder):
    return [path for path in PROTECTED if os.path.exists(os.path.join(folder, path))]


def test_work(person, t):
    up, work = repository(person), person.folder()
    t.quiet(person.run("git", "clone", "-q", up, "clone", cwd=work), "git clone")
    t.equal(present(f"{work}/clone"), PROTECTED, "the clone is complete")
    script = f"""
git clone -q {up} again && cd again && git rm -q -r .vscode && git commit -q -m gone
git checkout -q HEAD~1 && git checkout -q main && git reset -q --hard HEAD~1 && git stash list
cd .. && mv again moved && echo x >>moved/.mcp.json && rm -rf moved
tar -cf tree.tar -C {up} --exclude .git . && mkdir unpacked && tar -xf tree.tar -C unpacked
cp -a unpacked copied && rm -rf unpacked copied tree.tar"""
    t.quiet(person.run("sh", "-ec", script, cwd=work), "checkout, reset, mv, tar, cp and rm in own folders")


def attack(person, t, name, script, planted, extra=()):
    """Runs a script in a folder that has src/ and lib/, and looks for what it should not have made."""
    work = person.folder()
    for path in ("src/a.c", "lib/b.c", "src/deep/c.c"):
        person.write(os.path.join(work, path), "the user's\n")
    for path in extra:
        person.write(os.path.join(work, path), "the user's\n")
    swap = person.write(os.path.join(person.home, "swap.py"), SWAP)
    done = person.run("--report", "none", "sh", "-c", script.replace("SWAP", f"python3 {swap}"), cwd=work)

    def is_planted(path):
        full = os.path.join(work, path)
        if not os.path.lexists(full):
            return False
        if not os.path.isfile(full):
            return True
        with open(full, encoding="utf-8") as f:
            return f.read() != "the user's\n"
    t.equal([path for path in planted if is_planted(path)], [], name, done)


MAKE = "mkdir own && mkdir own/.vscode && echo evil >own/.vscode/tasks.json; "
ATTACKS = {
    "in the working folder": ("mkdir .vscode; echo evil >.mcp.json; mkdir .claude; echo evil >.claude/settings.json",
                              [".vscode", ".mcp.json", ".claude/settings.json"]),
    "a folder's first part": ("mkdir .cursor .codex .hg; for f in .cursor/mcp.json .codex/config.toml .hg/hgrc; "
                              "do echo evil >$f; done",
                              [".cursor/mcp.json", ".codex/config.toml", ".hg/hgrc"]),
    "in a folder that was there": ("mkdir src/.vscode; echo evil >src/.mcp.json", ["src/.vscode", "src/.mcp.json"]),
    "moved in": (MAKE + "mv own/.vscode src/; mv own/.vscode .; cp -a own/.vscode lib/",
                 ["src/.vscode", ".vscode", "lib/.vscode"]),
    "a file moved in": ("mkdir own; echo evil >own/.mcp.json; mv own/.mcp.json .; ln own/.mcp.json src/.mcp.json",
                        [".mcp.json", "src/.mcp.json"]),
    "renamed to a first part": ("mkdir own; echo evil >own/settings.json; mv own .claude",
                                [".claude/settings.json"]),
    "removed and made again": ("rm -rf src; mkdir src; mkdir src/.vscode; mkdir -p src/deep/.vscode",
                               ["src/.vscode", "src/deep/.vscode"]),
    "moved away and copied back": ("mv src s2; cp -a s2 src; mkdir src/.vscode; mkdir s2/.vscode",
                                   ["src/.vscode", "s2/.vscode"]),
    "an own folder in its place": (MAKE + "mv src s2; mv own src", ["src/.vscode"]),
    "an own folder over an empty one": (MAKE + "rm -f lib/b.c; mv -T own lib", ["lib/.vscode"]),
    "exchanged": (MAKE + "SWAP own src", ["src/.vscode"]),
    "exchanged, then planted": ("mkdir own; SWAP own src; mkdir src/.vscode; mkdir own/.vscode",
                                ["src/.vscode", "own/.vscode"]),
    "moved into an own one": ("mkdir own; mv src own/src; mkdir own/src/.vscode; mv own/src src",
                              ["own/src/.vscode", "src/.vscode"]),
    "moved into an own one and back": ("mkdir own; mv src own/src; mkdir own/src/deep/.idea; mv own/src/deep own/d; "
                                       "mkdir own/d/.idea; mv own/d own/src/deep; mv own/src src",
                                       ["src/deep/.idea", "own/d/.idea"]),
    "a link in its place": (MAKE + "rm -rf src; ln -s own src; ln -s $PWD/own src", ["src/.vscode"]),
    "a link over another": (MAKE + "ln -s own l; rm -rf src; ln -s l src", ["src/.vscode"]),
    "a link that leads nowhere yet": ("rm -rf src; ln -s later src; " + MAKE + "mv own later", ["src/.vscode"]),
    "a link moved into its place": (MAKE + "ln -s own l; rm -rf src; mv l src; ln -s own l; ln -P l src",
                                    ["src/.vscode"]),
    "a link exchanged with it": (MAKE + "ln -s own l; SWAP l src", ["src/.vscode"]),
    "parents, moved": (MAKE + "mv src/deep d2; mv own src/deep", ["src/deep/.vscode"]),
    "what decides about sandboxes": ("mkdir own; mkdir own/.buckle; echo {} >own/.srt-settings.json; "
                                     "mkdir -p own/.config/buckle", ["own/.buckle", "own/.srt-settings.json",
                                                                     "own/.config/buckle"]),
    "hooks": ("mkdir own; cd own; git init -q .; echo evil >.git/hooks/pre-commit", ["own/.git/hooks/pre-commit"]),
}


def test_attacks(person, t):
    for name, (script, planted) in ATTACKS.items():
        attack(person, t, f"nothing is planted: {name}", script, planted)
    attack(person, t, "what was there is not changed",
           "echo evil >>.mcp.json; echo evil >>src/.vscode/tasks.json; mkdir own; mv src own/; "
           "echo evil >>own/src/.vscode/tasks.json; mv .mcp.json own/stolen && echo evil >>own/stolen",
           ["own/src/.vscode/tasks.json", "own/stolen", ".mcp.json", "src/.vscode/tasks.json"],
           extra=(".mcp.json", "src/.vscode/tasks.json"))


# after what was there is removed: scripts, and what must not be there
THEIRS = (".vscode/tasks.json", ".idea/x.xml", ".bashrc", ".ripgreprc", "src/.vscode/tasks.json", ".hg/hgrc")
REMADE = {
    "a folder": ("rm -rf .vscode; mkdir .vscode; echo evil >.vscode/tasks.json", [".vscode"]),
    "a file": ("rm .bashrc; echo evil >.bashrc; cp src/a.c .bashrc; touch .bashrc", [".bashrc"]),
    "a file in the folder": ("rm .vscode/tasks.json; echo evil >.vscode/tasks.json; mkdir .vscode/tasks.json",
                             [".vscode/tasks.json"]),
    "another file in the folder": ("rm .vscode/tasks.json; echo evil >.vscode/settings.json", [".vscode/settings.json"]),
    "a symlink": (MAKE + "rm -rf .vscode; ln -s own/.vscode .vscode; ln -s own .idea", [".vscode"]),
    "a symlink, moved": (MAKE + "rm -rf .vscode; ln -s own/.vscode l; mv l .vscode", [".vscode"]),
    "a hard link": ("mkdir own; echo evil >own/.bashrc; rm .bashrc; ln own/.bashrc .bashrc", [".bashrc"]),
    "an own folder": (MAKE + "rm -rf .vscode; mv own/.vscode .vscode", [".vscode"]),
    "an own folder, exchanged": (MAKE + "rm .vscode/tasks.json; SWAP own/.vscode .vscode; SWAP own .vscode", [".vscode/tasks.json"]),
    "an own folder over it": (MAKE + "rm .vscode/tasks.json; mv -T own/.vscode .vscode", [".vscode/tasks.json"]),
    "an own file": ("mkdir own; echo evil >own/.bashrc; rm .bashrc; mv own/.bashrc .bashrc", [".bashrc"]),
    "a folder around it": ("rm -rf src/.vscode; mkdir own; mv src own/src; mkdir own/src/.vscode; mv own/src src",
                           ["src/.vscode", "own/src/.vscode"]),
    "a folder around it, made anew": ("rm -rf src; mkdir src; mkdir src/.vscode", ["src/.vscode"]),
    "the name in another place": (MAKE + "rm -rf src/.vscode; mv own/.vscode src/; cp -a own/.vscode lib/",
                                  ["src/.vscode", "lib/.vscode"]),
    "the settings of another version control system": ("rm -rf .hg; mkdir .hg; echo evil >.hg/hgrc", [".hg/hgrc"]),
    "a pipe or socket": ("rm .bashrc; mkfifo .bashrc", [".bashrc"]),
    "a name moved away and back": ("mv .vscode own; mv .bashrc b; echo evil >>b; mv b .bashrc; mv own/tasks.json t; "
                                   "echo evil >>t; mv t .vscode/tasks.json", [".bashrc", ".vscode/tasks.json"]),
}


def test_remade(person, t):
    for name, (script, planted) in REMADE.items():
        attack(person, t, f"removed and made again: {name}", script, planted, extra=THEIRS)


def test_removed(person, t):
    """Removing is not planting: what everyday work removes, and what stays."""
    up, work = repository(person), person.folder()
    for path in THEIRS + ("a/.gitconfig", "node_modules/p/.idea/x.xml", "node_modules/p/.claude/settings.json",
                          "node_modules/.q/.vscode/x", "keep/.claude/settings.json", ".mcp.json", ".claude/settings.json",
                          ".codex/hooks.json"):
        person.write(os.path.join(work, path), "the user's\n")
    person.write(f"{work}/.buckle/settings.json", "{}\n")
    person.sh(f"git clone -q {up} theirs && cd theirs && rm -rf .claude .codex .cursor .mcp.json && cd .. && "
              f"git clone -q {up} hooked && echo x >hooked/.git/hooks/pre-commit && git init -q -b main . && "
              "git add -f .idea && git commit -q -m one && git rm -q -r --cached .idea && git commit -q -m two && "
              "git reset -q --hard HEAD~1", cwd=work)
    t.quiet(person.run("git", "clone", "-q", up, "clone", cwd=work), "a clone")
    t.quiet(person.run("rm", "-rf", "clone", cwd=work), "rm -rf of a clone of an earlier run")
    t.quiet(person.run("rm", "-rf", "node_modules", cwd=work), "rm -rf node_modules")
    t.quiet(person.run("rm", "-rf", "theirs", cwd=work), "rm -rf of a clone that the user made")
    t.quiet(person.run("rm", "-rf", ".vscode", ".bashrc", ".ripgreprc", "src", ".hg", "a", cwd=work), "rm of protected names")
    t.quiet(person.run("git", "checkout", "-q", "main", cwd=work), "git that stays where it is")
    t.quiet(person.run("git", "rm", "-q", "-r", ".idea", cwd=work), "git rm")
    left = [path for path in (*THEIRS, "clone", "node_modules", "theirs", "a/.gitconfig")
            if os.path.lexists(os.path.join(work, path))]
    t.equal(left, [], "all of it is gone")
    keep = [".mcp.json", ".claude/settings.json", ".codex/hooks.json", ".buckle/settings.json", ".git/config", ".git/hooks",
            ".git", "hooked/.git/hooks/pre-commit", "keep/.claude/settings.json"]
    for path in keep:
        person.run("--report", "none", "rm", "-rf", path, cwd=work)
    person.run("--report", "none", "rm", "-rf", "hooked", "keep", cwd=work)
    t.equal([path for path in keep if not os.path.exists(os.path.join(work, path))], [],
            "agents' settings, hooks and the working folder's repository stay")
    home = [".bashrc", ".profile", ".gitconfig", ".zshenv", ".config/fish/config.fish"]
    for path in home:
        person.write(os.path.join(person.home, path), "the user's\n")
    person.run("--report", "none", "--allow-write", person.home, "sh", "-c", "cd && rm -rf " + " ".join(home), cwd=work)
    t.equal([path for path in home if not os.path.exists(os.path.join(person.home, path))], [], "start-up files stay")
    for path in home:
        os.unlink(os.path.join(person.home, path))


def test_bounds(person, t):
    """More folders than the judge remembers: it forgets, and denies."""
    work = person.folder()
    person.write(f"{work}/src/a.c", "the user's\n")
    script = """
import os
for i in range(9000):
    os.mkdir(f"d{i}")
os.mkdir("src/.vscode")
"""
    done = person.run("--report", "none", "python3", "-c", script, cwd=work, timeout=200)
    t.ok(done.status != 0 and not os.path.exists(f"{work}/src/.vscode") and len(os.listdir(work)) == 9001,
         "nine thousand folders", done)


for_everybody([test_work, test_attacks, test_removed, test_remade, test_bounds])
sys.exit(tap.done())
