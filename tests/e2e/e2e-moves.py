#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every way to reach what settings deny by moving it, or a folder above it, with the real kernel, under
the profiles for Linux and for macOS. Prints TAP.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import names
import tap
from running import PATH, for_everybody

# Runs inside. Tries each attack from the writable folder, and prints those that succeed.
ATTACKS = r'''
import ctypes, os, shutil, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, EXCHANGE = -100, 2

def exchange(a, b):
    if libc.renameat2(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), EXCHANGE) < 0:
        raise OSError(ctypes.get_errno(), "renameat2")

def read(path):
    with open(path) as f:
        return "SECRET" in f.read()

def move_and_read(old, new, inner):
    def attack():
        os.rename(old, new)
        return read(os.path.join(new, inner) if inner else new)
    return attack

def swap_and_read(old, inner):
    def attack():
        os.makedirs("dummy", exist_ok=True)
        exchange(old, "dummy")
        return read(os.path.join("dummy", inner))
    return attack

def link_and_read(path):
    def attack():
        os.link(path, "second")
        return read("second")
    return attack

def symlink_and_read(path):
    def attack():
        os.symlink(os.path.abspath(path), "soft")
        return read("soft")
    return attack

def write(path, text="CHANGED"):
    with open(path, "w") as f:
        f.write(text)
    return True

def move_write_back(old, inner):
    def attack():
        os.rename(old, "aside")
        try:
            write(os.path.join("aside", inner))
        finally:
            os.rename("aside", old)
        return True
    return attack

def replace(old, inner):
    """Makes another folder in its place."""
    def attack():
        os.rename(old, "old-one")
        os.makedirs(os.path.dirname(os.path.join(old, inner)))
        return write(os.path.join(old, inner))
    return attack

def plant(folder, inner):
    """Prepares a folder elsewhere and moves it to where something denied would be in it."""
    def attack():
        shutil.rmtree("prepared", ignore_errors=True)
        os.makedirs(os.path.dirname(os.path.join("prepared", inner)))
        write(os.path.join("prepared", inner))
        os.makedirs(os.path.dirname(folder) or ".", exist_ok=True)
        os.rename("prepared", folder)
        return True
    return attack

def link_in_place(path, target):
    def attack():
        os.makedirs(target, exist_ok=True)
        os.symlink(os.path.abspath(target), path)
        return True
    return attack

def link_and_write(path):
    def attack():
        os.link(path, "third")
        return write("third")
    return attack

def remove(path):
    def attack():
        shutil.rmtree(path)
        return True
    return attack

reading = {
    "itself": move_and_read("a/b/secret", "m1", "f"),
    "its file": move_and_read("a/b/secret/f", "m2", ""),
    "the folder above": move_and_read("a/b", "m3", "secret/f"),
    "two above": move_and_read("a", "m4", "b/secret/f"),
    "into the other writable place": move_and_read("a", OTHER + "/m5", "b/secret/f"),
    "exchanged": swap_and_read("a/b/secret", "f"),
    "exchanged above": swap_and_read("a/b", "secret/f"),
    "exchanged two above": swap_and_read("a", "b/secret/f"),
    "a hard link": link_and_read("a/b/secret/f"),
    "a symbolic link": symlink_and_read("a/b/secret/f"),
    "a symbolic link above": symlink_and_read("a/b/../b/secret/f"),
    "a denied place in an open one": move_and_read("a/b/secret/open/again", "m6", "f"),
    "an open place that holds it": move_and_read("a/b/secret/open", "m7", "again/f"),
    "a glob's file": move_and_read("one/keys/k.pem", "one/keys/k.txt", ""),
    "a glob's folder": move_and_read("one/keys", "one/m8", "k.pem"),
    "a glob's folder above": move_and_read("one", "m9", "m/k.pem"),
    "a glob's first folder": move_and_read("one", "two/three", "keys/k.pem"),
    "a pattern's name": move_and_read("x/y/deep/.env", "x/y/deep/env", ""),
    "a pattern's folder": move_and_read("x/y/deep", "x/y/m10", ".env"),
    "a literal file": move_and_read("lit", "m11", ""),
}
writing = {
    "itself": move_write_back("c/d/no", "f"),
    "the folder above": move_write_back("c/d", "no/f"),
    "two above": move_write_back("c", "d/no/f"),
    "another in its place": replace("c/d/no", "f"),
    "another above it": replace("c/d", "no/f"),
    "another two above it": replace("c", "d/no/f"),
    "removed": remove("c/d/no"),
    "a hard link": link_and_write("c/d/no/f"),
    "a pattern's folder": move_write_back("x/fixed/lock", "f.lock"),
    "a pattern's folder above": move_write_back("x/fixed", "lock/f.lock"),
    "another pattern's folder": replace("x/fixed/lock", "f.lock"),
    "a literal file's folder": replace("e", "f"),
    "hooks": move_write_back("repo/.git/hooks", "pre-commit"),
    "hooks' repository": move_write_back("repo/.git", "hooks/pre-commit"),
    "another repository": replace("repo/.git", "hooks/pre-commit"),
    "a link for a repository": link_in_place("bare/.git", "elsewhere"),
    "a shell's file by rename": plant("home/.bashrc", "x"),
    "an editor's folder": plant(".vscode", "tasks.json"),
    "an agent's folder": move_write_back("agent/.claude", "commands/x"),
}
# What moves with its folder to where a pattern no longer covers it, and what is prepared elsewhere.
deep = {
    "out of a pattern's reach": move_and_read("x", OTHER + "/m12", "y/deep/.env"),
    "planted where it is denied": plant("later", "inner/f"),
    "planted hooks": plant("fresh/.git", "hooks/pre-commit"),
}
tried = {"reading": reading, "writing": writing}
if sys.argv[1] == "linux":
    tried["deep"] = deep
for kind, attacks in tried.items():
    for name, attack in attacks.items():
        try:
            got = attack()
        except OSError as e:
            got = False
        if got:
            print(f"{kind}: {name}", flush=True)
print("done")
'''


def make(user):
    work = user.folder("w")
    for path in ("a/b/secret/f", "a/b/secret/open/again/f", "one/keys/k.pem", "x/y/deep/.env", "lit"):
        user.write(f"{work}/{path}", "SECRET\n")
    for path in ("c/d/no/f", "e/f", "x/fixed/lock/f.lock", "repo/.git/hooks/pre-commit", "agent/.claude/commands/x"):
        user.write(f"{work}/{path}", "ORIGINAL\n")
    for path in ("a/b/secret/open/public", "c/free", "one/other", "two/inner/x", "home/x", "bare/x"):
        user.write(f"{work}/{path}", "free\n")
    return work


def settings(user, work, other):
    return user.write(work + ".json", json.dumps({"filesystem": {
        "denyRead": ["a/b/secret", "a/b/secret/open/again", "*/keys/*.pem", "**/deep/.env",
                     {"path": "lit", "literal": True}],
        "allowRead": ["a/b/secret/open"],
        "allowWrite": [".", other],
        "denyWrite": ["c/d/no", {"path": "e/f", "literal": True}, "**/lock/*.lock", "later/inner"]}}))


def originals(work):
    """Files that changed but should not have."""
    wrong = []
    for path, text in (("c/d/no/f", "ORIGINAL\n"), ("e/f", "ORIGINAL\n"), 
                       ("repo/.git/hooks/pre-commit", "ORIGINAL\n"), ("agent/.claude/commands/x", "ORIGINAL\n"),
                       ("a/b/secret/f", "SECRET\n"), ("lit", "SECRET\n")):
        try:
            with open(os.path.join(work, path), encoding="ascii") as f:
                if f.read() != text:
                    wrong.append(path)
        except OSError as gone:
            wrong.append(str(gone))
    # a pattern matches its files anywhere, so their folders may have moved
    kept = {name: text for folder, _, files in os.walk(work) for name in files
            for text in [read(os.path.join(folder, name))] if name in ("f.lock", "k.pem", ".env")}
    if kept != {"f.lock": "ORIGINAL\n", "k.pem": "SECRET\n", ".env": "SECRET\n"}:
        wrong.append(str(kept))
    return wrong


def read(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return f.read()


def attack(user, t, system):
    work, other = make(user), user.folder("other")
    script = user.write(other + ".py", ATTACKS.replace("OTHER", repr(other)))
    env = {"BUCKLE_BACKEND": "seatbelt", "PATH": names.FOLDER + ":" + PATH} if system == "macos" else {}
    r = user.run("--report", "none", "-s", settings(user, work, other), "--", "python3", "-B", script, system,
                   cwd=work, env=env)
    t.equal(r.out, "done\n", f"{system}: nothing gets through", r)
    t.equal(originals(work), [], f"{system}: everything is where it was")
    r = user.run("--report", "none", "-s", work + ".json", "--", "sh", "-c",
                   "mv c/free c/moved && mv two/inner two/outer && cat a/b/secret/open/public"
                   " && mkdir -p later/x && rm -r home/* && mv c/moved " + other + (" && git init -q made" if system == "linux" else ""),
                   cwd=work, env=env)
    t.ok(r.status == 0 and r.out == "free\n", f"{system}: other things are moved and removed freely", r)


def test_linux(user, t):
    attack(user, t, "linux")


def test_macos(user, t):
    attack(user, t, "macos")


for_everybody([test_linux, test_macos])
sys.exit(tap.done())
