#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Own folders in later runs: what the record of own folders remembers, what the user adopts, and
attempts over several runs to plant a protected name in a folder that was there before, or to forge
the record.
"""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import running
import tap
from running import PEOPLE, for_everybody, eventually

SWAP = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2) < 0:
    sys.exit(ctypes.get_errno())
"""
MAKE = "mkdir own && mkdir own/.vscode && echo evil >own/.vscode/tasks.json; echo evil >own/.mcp.json; "
LIMIT = 1000000


def record(person, env=None):
    state = (env or {}).get("XDG_STATE_HOME") or os.path.join(person.home, ".local/state")
    return os.path.join(state, "buckle/own-folders")


def content(path):
    with open(path, "rb") as f:
        return f.read()


class Project:
    """A folder that was there before, with src/ and lib/ in it."""

    def __init__(self, person, extra=()):
        self.person, self.work = person, person.folder()
        for path in ("src/a.c", "lib/b.c", "src/deep/c.c", *extra):
            person.write(os.path.join(self.work, path), "the user's\n")
        self.swap = person.write(os.path.join(person.home, "swap.py"), SWAP)
        # a file in each tells it from a later folder with its number
        self.theirs = {os.stat(os.path.join(self.work, name)).st_ino: file
                       for name, file in (("src", "a.c"), ("lib", "b.c"), ("src/deep", "c.c"))}
        self.ran = []

    def run(self, script, *flags, folder=""):
        done = self.person.run("--report", "none", *flags, "sh", "-c",
                               script.replace("SWAP", f"python3 {self.swap}"),
                               cwd=os.path.join(self.work, folder))
        self.ran.append(done)
        return done

    def user(self, script):
        return self.person.sh(script, cwd=self.work)

    def path(self, name):
        return os.path.join(self.work, name)

    def has(self, name):
        return os.path.lexists(self.path(name))

    def planted(self, names):
        """Which of these were made, and which of the user's folders has something protected in it,
        wherever it is now."""
        found = [name for name in names if self.has(name)]
        for folder, folders, files in os.walk(self.work):
            if self.theirs.get(os.stat(folder).st_ino) in files:
                found += [os.path.join(folder, name) for name in folders + files
                          if name in (".vscode", ".idea", ".mcp.json", ".claude")]
        return found


def test_kept(person, t):
    p = Project(person)
    p.run("mkdir own")
    t.quiet(p.run("mkdir own/.vscode && echo x >own/.vscode/tasks.json && echo x >own/.mcp.json"),
            "an own folder of an earlier run")
    p.user("mv own moved && mkdir sub && mv moved sub/own")
    t.quiet(p.run("echo y >sub/own/.mcp.json && mkdir -p sub/own/.claude/commands"), "it keeps its mark when it moves")
    t.quiet(p.run("mv sub/own again && rm -rf again && mkdir again && mkdir again/.idea"),
            "moved, removed and made again")
    t.ok(p.run("mkdir sub/.idea").status != 0, "a folder that the user made never gets one")
    p.run("mkdir -p out/in")
    t.quiet(p.run("mv out/in in && mkdir in/.vscode && mkdir out/.vscode"), "part of one")
    t.quiet(p.run("echo z >in/.vscode/t"), "stays own, too")
    t.ok(os.stat(record(person)).st_size < LIMIT and os.stat(record(person)).st_mode & 0o777 == 0o600,
         "the record is small and private")


def test_dependencies(person, t):
    """Package managers replace what is in node_modules: there a new folder is always own."""
    p = Project(person, ["node_modules/p/.idea/x", "node_modules/p/index.js"])
    t.quiet(p.run("rm -f node_modules/p/index.js && mv node_modules/p node_modules/.p-old && mkdir node_modules/p && "
                  "mkdir node_modules/p/.idea && echo y >node_modules/p/.idea/x"), "a package is replaced")
    p.run("mv src node_modules/src; mkdir node_modules/src/.vscode; mv node_modules/src src; mkdir src/.vscode")
    t.equal(p.planted([]), [], "a folder that moves there stays what it is", p.ran[-1])


def test_adopted(person, t):
    p = Project(person)
    status = lambda folder: [line for line in person.call([running.BUCKLE, "status"], cwd=p.path(folder)).out.split("\n")
                             if line.startswith("folder")]
    p.run("mkdir own other && mkdir own/sub")
    t.ok("its own until" in "".join(status("own/sub")) and f"{p.work}/own " in "".join(status("own/sub")),
         "status: own", status("own/sub"))
    t.equal(status("src"), [], "status: nothing about the user's own folders")
    p.run("true", folder="own/sub")
    t.ok("adopted" in "".join(status("own")), "status: adopted", status("own"))
    p.run("mkdir own/.vscode own/sub/.vscode; mv own o2; mkdir o2/.vscode; mv o2 other/o3; mkdir other/o3/.vscode; "
          "mv other/o3 o4; mkdir o4/.vscode; rm -rf own; mkdir own; mkdir own/.vscode")
    t.equal([name for name in ("own/.vscode", "own/sub/.vscode", "o2/.vscode", "other/o3/.vscode", "o4/.vscode", "o4/sub/.vscode")
             if p.has(name)], [], "a folder that the user has started a run in", p.ran[-1])
    t.ok(p.run("mkdir .vscode").status != 0, "nor the working folder")
    p.run("mkdir home2 home2/x")
    person.run("true", cwd=p.path("src"), env={"HOME": p.path("home2/x"), "XDG_STATE_HOME": person.home + "/.local/state"})
    t.ok(p.run("mkdir home2/.vscode").status != 0, "nor what is around a home folder")


def test_adopted_meanwhile(person, t):
    """The user starts a run in a folder while the command that made it still runs."""
    p = Project(person)
    script = "mkdir own && mkdir own/.idea && touch made; while [ ! -e go ]; do sleep 0.02; done; mkdir own/.vscode; touch end"
    child = person.start([running.BUCKLE, "run", "--report", "none", "sh", "-c", script], cwd=p.work)
    t.ok(eventually(lambda: p.has("made")) and p.has("own/.idea"), "own while it runs")
    p.run("true", folder="own")
    p.user("touch go")
    child.wait(20)
    t.ok(p.has("end") and not p.has("own/.vscode"), "adopted at once")
    script = "mkdir new && touch made2; while [ ! -e go2 ]; do sleep 0.02; done; mkdir new/.vscode; touch end2"
    child = person.start([running.BUCKLE, "run", "--report", "none", "sh", "-c", script], cwd=p.work)
    eventually(lambda: p.has("made2"))
    p.user("mv new elsewhere && mkdir new && touch go2")
    child.wait(20)
    t.ok(p.has("end2") and not p.has("new/.vscode"), "and one that the user has replaced is theirs")


# name: the scripts of several runs, and what must not be there afterwards
ATTACKS = {
    "removed, then made": (["rm -rf src", "mkdir src; mkdir src/.vscode; mkdir -p src/deep/.vscode"],
                           ["src/.vscode", "src/deep/.vscode"]),
    "moved away, then copied back": (["mv src s2", "cp -a s2 src; mkdir src/.vscode s2/.vscode"],
                                     ["src/.vscode", "s2/.vscode"]),
    "moved into an own one": (["mkdir own; mv src own/src", "mkdir own/src/.vscode", "mv own/src src; mkdir src/.vscode"], []),
    "moved deep into an own one": (["mkdir -p own/a; mv src/deep own/a/d", "mkdir own/a/d/.idea; echo x >own/a/d/.mcp.json"], []),
    "exchanged": (["mkdir own", "SWAP own src", "mkdir src/.vscode; mkdir own/.vscode"], ["src/.vscode"]),
    "exchanged in one run": (["mkdir own; SWAP own src", "mkdir src/.vscode; mkdir own/.vscode"], ["src/.vscode"]),
    "exchanged below": (["mkdir -p own/a; SWAP own/a src/deep", "mkdir own/a/.vscode src/deep/.vscode"], ["src/deep/.vscode"]),
    "a file exchanged with a folder": (["mkdir own; echo x >own/f; SWAP own/f src", "mkdir own/f/.vscode"], ["own/f/.vscode"]),
    "an own folder in its place": (["mkdir own", "mv src s2; mv own src", "mkdir src/.vscode"], ["src/.vscode"]),
    "an own folder in its place, later": (["mkdir own", "mv src s2", "mv own src", "mkdir src/.vscode"], ["src/.vscode"]),
    "an own folder with names in its place": ([MAKE, "mv src s2", "mv own src"], ["src/.vscode", "src/.mcp.json"]),
    "over an empty one": (["mkdir own", "rm -f lib/b.c; mv -T own lib", "mkdir lib/.vscode"], ["lib/.vscode"]),
    "an own folder in an own one": (["mkdir a a2; mv a2 a/deep; mv src s2; mv a src", "mkdir src/deep/.vscode src/.vscode"],
                                    ["src/.vscode", "src/deep/.vscode"]),
    "an own folder in an own one, later": (["mkdir a a2", "mv a2 a/deep", "mv src s2; mv a src",
                                            "mkdir src/deep/.vscode"], ["src/deep/.vscode"]),
    "an own folder below": (["mkdir lib/deep; mv src s2; mv lib src", "mkdir src/deep/.vscode"], ["src/deep/.vscode"]),
    "an own folder below, later": (["mkdir lib/deep", "mv src s2", "mv lib src", "mkdir src/deep/.vscode"],
                                   ["src/deep/.vscode"]),
    "a folder exchanged with an own one below": (["mkdir lib/deep", "SWAP lib src", "mkdir src/deep/.vscode"],
                                                 ["src/deep/.vscode"]),
    "renamed to a first part": (["mkdir own", "mv own .claude", "echo evil >.claude/settings.json; mkdir .claude/commands"],
                                [".claude/settings.json", ".claude/commands"]),
    "an own folder below a first part": (["mkdir -p src/new", "mv src .claude; mv .claude/new .claude/commands",
                                          "echo x >.claude/commands/x"], [".claude/commands"]),
    "a link in its place": ([MAKE, "rm -rf src", "ln -s own src; ln -s $PWD/own src"], ["src/.vscode"]),
    "a link in one run": ([MAKE, "rm -rf src; ln -s own src"], ["src/.vscode"]),
    "a link exchanged": ([MAKE + "ln -s own l", "SWAP l src"], ["src/.vscode"]),
    "a link that leads nowhere yet": (["rm -rf src; ln -s later src", "ln -s later src", MAKE + "mv own later"],
                                      ["src/.vscode"]),
    "a file moved in": ([MAKE, "mv own/.mcp.json src/; ln own/.mcp.json lib/.mcp.json; cp own/.mcp.json ."],
                        ["src/.mcp.json", "lib/.mcp.json", ".mcp.json"]),
    "a folder moved in": ([MAKE, "mv own/.vscode src/; cp -a own/.vscode .; mv own/.vscode lib/.idea"],
                          ["src/.vscode", ".vscode", "lib/.idea"]),
    "a folder around it": ([MAKE, "mv own src/own; mv src/own/.vscode src/.vscode"], ["src/.vscode"]),
    "mounted": ([MAKE, "mount --bind own src; unshare -Urm mount --bind own src; unshare -m mount --bind own src"],
                ["src/.vscode"]),
    "in a nested run": ([MAKE, f"cd src; {running.BUCKLE} run mkdir .vscode; cd ../own; {running.BUCKLE} run true; cd ..; "
                         "mkdir src/.idea"], ["src/.vscode"]),
}


def test_attacks(person, t):
    for name, (scripts, planted) in ATTACKS.items():
        p = Project(person)
        for script in scripts:
            p.run(script)
        t.equal(p.planted(planted), [], f"nothing is planted: {name}", *p.ran)


def test_others(person, t):
    """Attempts that need the user's help."""
    p = Project(person)
    p.run("mkdir own")
    for _ in range(20):  # one of these gets its number
        p.user("rmdir own && mkdir own")
    t.ok(p.run("mkdir own/.vscode").status != 0, "a folder of the user's with the same path, and perhaps number")
    p = Project(person)
    p.run("mkdir own")
    p.user("mv own src/own")
    p.run("mkdir src/.vscode; mv src/own src/deep/own; mkdir src/deep/.vscode")
    t.equal(p.planted([]), [], "the user moves an own folder into theirs")
    t.quiet(p.run("mkdir src/deep/own/.vscode"), "it is still own there")
    held = """
import os
src, deep = os.open("src", os.O_PATH), os.open("src/deep", os.O_RDONLY)
os.mkdir("own"); own = os.open("own", os.O_RDONLY)
os.rename("src", "own/src")
for fd in (src, deep):
    try: os.mkdir(".vscode", dir_fd=fd)
    except OSError: pass
os.rename("own/src", "src2")
os.rename("own", "src")
for fd in (src, deep, own):
    try: os.mkdir(".idea", dir_fd=fd)
    except OSError: pass
"""
    p = Project(person)
    p.run(f"python3 -c '{held}'")
    t.equal(p.planted(["src/.idea"]), [], "through descriptors that stay open", p.ran[-1])
    p = Project(person)
    child = person.start([running.BUCKLE, "run", "--report", "none", "sh", "-c", "rm -rf src; touch gone; sleep 60"], cwd=p.work)
    eventually(lambda: p.has("gone"))
    child.send_signal(signal.SIGKILL)
    child.wait()
    p.run("mkdir src; mkdir src/.vscode")
    t.ok(p.has("src") and not p.has("src/.vscode"), "after a run that was killed")


def test_not_promised(person, t):
    p = Project(person)
    p.run("mkdir own")
    p.user("mkdir own/mine && echo x >own/mine/file")
    t.quiet(p.run("mkdir own/mine/.vscode"), "not promised: the user's folder in an own one")


def test_races(person, t):
    p = Project(person)
    move = "import os\nfor i in range(300):\n for a, b in (('src', 's2'), ('own', 'src'), ('src', 'own'), ('s2', 'src')):\n" \
           "  try: os.rename(a, b)\n  except OSError: pass\n"
    plant = "import os\nfor i in range(1500):\n for d in ('src', 's2', 'own/src', 'src/deep', 's2/deep'):\n" \
            "  try: os.mkdir(d + '/.vscode')\n  except OSError: pass\n"
    p.run(f"mkdir own; python3 -c \"{move}\" & python3 -c \"{plant}\"; wait")
    t.equal(p.planted([]), [], "while another process moves folders", p.ran[-1])
    p = Project(person)
    p.run("mkdir own")
    argv = [running.BUCKLE, "run", "--report", "none", "python3", "-c"]
    two = [person.start([*argv, text], cwd=p.work) for text in (move, plant)]
    for child in two:
        child.wait(100)
    p.run("mkdir src/.vscode s2/.vscode src/deep/.vscode; mkdir src/.idea")
    t.equal(p.planted([]), [], "while another run moves folders")


FORGED = {
    "garbage": b"\xff" * 700000,
    "nothing": b"",
    "one byte": b"x",
    "a head only": None,
    "too long": None,
    "a different version": None,
}


def test_forged(person, t):
    """A record that is broken or not private counts for nothing, and does no harm."""
    p = Project(person)
    p.run("mkdir own keep")
    good = content(record(person))
    for name, text in FORGED.items():
        if name == "a head only":
            text = good[:64]
        elif name == "too long":
            text = good + b"x"
        elif name == "a different version":
            text = good[:28] + b"\x07" + good[29:]
        person.write(record(person), "", mode=0o600)
        with open(record(person), "wb") as f:
            f.write(text)
        done = p.run("mkdir own/.vscode; mkdir src/.vscode; mkdir new; mkdir new/.vscode")
        t.ok(not p.has("own/.vscode") and p.planted([]) == [] and p.has("new/.vscode"), f"a record of {name}", done)
        t.quiet(p.run("echo x >new/.vscode/t && rm -rf new"), f"after {name}, it is made anew")

    def restore(mode=0o600):
        person.write(record(person), "", mode=mode)
        with open(record(person), "wb") as f:
            f.write(good)

    def is_ignored(name):
        p.run("mkdir own/.vscode; mkdir src/.vscode")
        t.ok(not p.has("own/.vscode") and p.planted([]) == [], f"ignored: {name}", p.ran[-1])
    restore(0o640)
    is_ignored("a record that others can read")
    restore(0o602)
    is_ignored("a record that others can write")
    restore()
    os.link(record(person), record(person) + ".2")
    is_ignored("a record with a second name")
    os.rename(record(person) + ".2", record(person) + ".3")
    os.unlink(record(person))
    os.symlink("own-folders.3", record(person))
    is_ignored("a symlink")
    os.unlink(record(person))
    os.rename(record(person) + ".3", record(person))
    if os.geteuid() == 0:
        other = 4243
        os.chown(record(person), other, other)
        is_ignored("somebody else's record")
        person.own(record(person))
        if person.uid == 0:
            os.chown(record(person), 0, 0)
    os.unlink(record(person))
    os.mkfifo(record(person), 0o600)
    person.own(record(person))
    is_ignored("a pipe")
    os.unlink(record(person))
    os.mkdir(record(person))
    is_ignored("a folder")
    os.rmdir(record(person))
    restore()
    t.quiet(p.run("mkdir own/.vscode"), "the real one counts again")


REACH = ["echo x >>FILE", "rm -f FILE", "mv FILE FILE.2", "ln FILE here", "ln -s here FILE", "cp own/forged FILE",
         "mv own/forged FILE", "SWAP own/forged FILE", "mv STATE STATE.2", "rm -rf STATE", "chmod 666 FILE", "touch FILE",
         "truncate -s 0 FILE", "mkdir -p STATE/buckle", "touch STATE/buckle/own-folders.1", "mv ~/.local ~/local",
         "ln -s $PWD/own STATE", "ln -s $PWD/own STATE/buckle", "mkdir -p STATE && ln -s $PWD STATE/buckle",
         "python3 -c 'import os; os.setxattr(\"FILE\", \"user.a\", b\"1\")'",
         "unshare -Urm sh -c 'mount --bind own STATE/buckle && echo x >FILE'"]


def test_reach(person, t):
    """The record is out of the command's reach, whatever the policy opens."""
    for name, env in (("at home", {}), ("below the working folder", {"XDG_STATE_HOME": "WORK/state"})):
        p = Project(person)
        env = {key: value.replace("WORK", p.work) for key, value in env.items()}
        file, state = record(person, env), os.path.dirname(os.path.dirname(record(person, env)))
        flags = ["--report", "none", "--allow-write", person.home]
        if env:  # the first run: it must not be there before
            first = [word.replace("FILE", file).replace("STATE", state) for word in REACH[-4:-2]]
            for script in first:
                person.run(*flags, "sh", "-c", script, cwd=p.work, env=env)
            t.ok(not os.path.islink(state) and not os.path.islink(os.path.dirname(file)), f"{name}: not made before us")
        person.run(*flags, "sh", "-c", "mkdir own; echo x >own/forged", cwd=p.work, env=env)
        before, links = content(file), os.stat(file).st_nlink
        for script in REACH:
            done = person.run(*flags, "sh", "-c", script.replace("FILE", file).replace("STATE", state)
                              .replace("SWAP", f"python3 {p.swap}"), cwd=p.work, env=env)
            now = os.path.isfile(file) and not os.path.islink(file) and content(file) == before and \
                os.stat(file).st_nlink == links and os.stat(file).st_mode & 0o777 == 0o600
            t.ok(now and not os.path.exists(os.path.join(os.path.dirname(file), "own-folders.1")), f"{name}: {script}", done)


def test_users(_, t):
    """Each user has their own record, and root leaves nothing in another user's home."""
    if len(PEOPLE) < 2:
        return
    root, user = PEOPLE
    p = Project(user)
    child = root.run("--report", "none", "sh", "-c", "mkdir own", cwd=p.work)
    os.chown(p.path("own"), user.uid, user.uid)
    t.ok(child.status == 0 and p.run("mkdir own/.vscode").status != 0, "what root's commands made is not the user's commands'")
    home = user.folder("home")
    done = root.run("--report", "none", "sh", "-c", "mkdir own2", cwd=p.work, env={"HOME": home})
    t.equal((done.status, os.listdir(home)), (0, []), "root with the user's HOME", done)


def test_no_home(person, t):
    work = person.folder()
    for env in ({"HOME": "relative"}, {"XDG_STATE_HOME": "relative", "HOME": "/proc"},
                {"HOME": person.home + "/missing"}):
        done = person.run("sh", "-c", "mkdir own && mkdir own/.vscode && rm -rf own", cwd=work, env=env)
        t.quiet(done, f"without a place for the record: {env}")
    t.ok(not os.path.exists(person.home + "/missing"), "and no home is made")


def test_many(person, t):
    """More folders than the record remembers: it stays as small, and the oldest are forgotten."""
    p = Project(person)
    script = "import os\nfor i in range(7000): os.mkdir(f'%s{i}')"
    p.run("mkdir first")
    for letter in "abc":
        p.run(f"python3 -c \"{script % letter}\"")
    t.ok(os.stat(record(person)).st_size < LIMIT, "the record does not grow")
    last = p.run("for i in $(seq 6900 6999); do mkdir c$i/.vscode 2>/dev/null && echo; done | wc -l")
    old = p.run("for i in $(seq 0 99); do mkdir a$i/.vscode 2>/dev/null && echo; done | wc -l")
    t.ok(int(last.out) >= 90 and int(old.out) < int(last.out), "the oldest are forgotten first", last, old)
    p.run("mkdir src/.vscode")
    t.equal(p.planted([]), [], "and nothing else is own")


for_everybody([test_kept, test_dependencies, test_adopted, test_adopted_meanwhile, test_attacks, test_others, test_not_promised, test_races,
               test_forged, test_reach, test_no_home, test_many])
if len(PEOPLE) > 1:
    test_users(None, running.Checks(PEOPLE[1]))
sys.exit(tap.done())
