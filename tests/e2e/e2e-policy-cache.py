#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Policies that are kept for the next launch: they are used when nothing changed, every change takes
effect at once, files that are not right are ignored, and no sandboxed command can touch them.
Prints TAP.
"""

import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import apart  # first: it starts the program again
import running
import tap
from running import ORDINARY, PEOPLE, eventually, for_everybody

MOST = 32


class Kept:
    """The folder of kept policies, in a state folder of its own."""

    def __init__(self, person):
        self.person = person
        self.work = person.folder()
        self.state = person.folder("state")
        self.folder = os.path.join(self.state, "buckle/policies")
        self.env = {"XDG_STATE_HOME": self.state}

    def run(self, script, *flags, cwd=None, env=None):
        return self.person.run(*flags, "sh", "-c", script, cwd=cwd or self.work, env={**self.env, **(env or {})})

    def files(self):
        """Inode numbers by name: a file that is written again has another."""
        names = os.listdir(self.folder) if os.path.isdir(self.folder) else []
        return {name: os.stat(os.path.join(self.folder, name), follow_symlinks=False).st_ino for name in names}

    def content(self):
        found = {}
        for name in self.files():
            with open(os.path.join(self.folder, name), "rb") as f:
                found[name] = f.read()
        return found

    def one(self):
        """The path of the only file."""
        (name,) = self.files()
        return os.path.join(self.folder, name)


def test_used(person, t):
    k = Kept(person)
    outside = person.folder("outside")
    script = f"echo x >{outside}/a; echo y >here; cat here"
    first = k.run(script)
    before = k.files()
    t.equal(len(before), 1, "the first run keeps its policy")
    second = k.run(script)
    t.equal(k.files(), before, "the second uses it and keeps nothing")
    t.equal((second.status, second.out, second.err), (first.status, first.out, first.err),
            "with the same results and the same report")
    t.ok(f"{outside}/a" in first.err, "which names what was denied", first)
    t.equal(oct(os.stat(k.one()).st_mode & 0o777), "0o600", "only the user can read it")


def changes(person, k):
    """Each row: what changes, how, flags and environment of the run after it, a script that works
    before, and whether it works afterwards."""
    secret = person.write(os.path.join(person.folder("notes"), "plan.txt"), "secret\n")
    keys = person.folder("keys")
    person.write(os.path.join(keys, "id_ed25519"), "secret\n")
    settings = os.path.join(person.home, ".config/buckle/settings.json")
    store = person.write(os.path.join(person.home, ".aws/credentials"), "secret\n")
    return [
        ("a flag", None, ["--deny-read", secret], {}, f"grep secret {secret}", False),
        ("settings", lambda: person.write(settings, '{"filesystem": {"denyRead": ["%s"]}}' % secret), [], {},
         f"grep secret {secret}", False),
        ("a link with a secret's name", lambda: person.sh(f"ln -s {keys} ~/.ssh"), [], {}, f"grep secret {keys}/id_ed25519", False),
        ("git's settings", lambda: person.sh(f"git config --global core.hooksPath {k.work}/h; rm -rf {k.work}/h"), [], {},
         "mkdir -p h && echo x >h/pre-commit", False),
        ("the home folder", None, [], {"HOME": person.folder("home"), "GIT_CONFIG_GLOBAL": "/dev/null"},
         f"! grep secret {store}", False),
    ]


def test_changes(person, t):
    k = Kept(person)
    for what, change, flags, env, script, works in changes(person, k):
        k.run("true")
        before = k.run(script)
        held = k.files()
        if change:
            change()
        after = k.run(script, *flags, env=env)
        t.equal(before.status, 0, f"{what}: works before", before)
        t.equal(after.status == 0, works, f"{what}: the next run knows", after)
        t.ok(set(k.files()) - set(held), f"{what}: which is another policy", sorted(held), sorted(k.files()))
        person.sh("rm -rf ~/.ssh ~/.config/buckle ~/.gitconfig")


def test_folders(person, t):
    k = Kept(person)
    other = person.folder()
    for _ in range(2):
        k.run("true")
        k.run("true", cwd=other)
    held = k.files()
    t.equal(len(held), 2, "each working folder has its policy")
    t.equal(k.run(f"echo x >{other}/a", cwd=k.work).status == 0, False, "which does not open another")
    t.equal(k.run(f"echo x >{other}/a", cwd=other).status, 0, "but its own")


def forgeries(k):
    """Ways to make a file wrong; each takes its path."""
    def change(at):
        def write(path):
            with open(path, "r+b") as f:
                f.seek(at if at >= 0 else os.path.getsize(path) + at)
                byte = f.read(1)
                f.seek(-1, os.SEEK_CUR)
                f.write(bytes([byte[0] ^ 1]))
        return write

    def replace(make):
        def put(path):
            os.rename(path, path + ".old")
            make(path)
            k.person.own(path)
        return put

    def cut(path):
        os.truncate(path, os.path.getsize(path) // 2)

    yield "a changed byte in the head", change(20)
    yield "a changed byte in the middle", change(100000)
    yield "a changed byte at the end", change(-1)
    yield "half of it", cut
    yield "nothing", lambda path: os.truncate(path, 0)
    yield "a symlink", replace(lambda path: os.symlink(path + ".old", path))
    yield "a second name", lambda path: os.link(path, path + ".too")
    yield "a FIFO", replace(lambda path: os.mkfifo(path, 0o600))
    yield "a folder", replace(os.mkdir)
    yield "a file that others can read", lambda path: os.chmod(path, 0o644)
    yield "a folder that others can enter", lambda path: os.chmod(os.path.dirname(path), 0o755)
    if os.geteuid() == 0:
        other = ORDINARY if k.person.uid == 0 else 0
        yield "somebody else's file", lambda path: os.chown(path, other, other)
        yield "somebody else's folder", lambda path: os.chown(os.path.dirname(path), other, other)


def test_forged(person, t):
    for what, forge in forgeries(Kept(person)):
        k = Kept(person)
        outside = person.folder("outside")
        script = f"echo x >here && ! echo x >{outside}/a"
        k.run(script)
        path = k.one()
        forge(path)
        forged = os.lstat(path).st_ino
        done = k.run(script)
        t.equal((done.status, os.listdir(outside)), (0, []), f"{what}: the policy is in force", done)
        t.ok("folder" in what or os.lstat(path).st_ino != forged, f"{what}: it was not used, and is replaced")


def test_other_policy(person, t):
    """A file that is right in itself, under the name of another policy."""
    k = Kept(person)
    outside = person.folder("outside")
    k.run("true", "--profile", "open")
    open_file = k.one()
    k.run("true")
    (default,) = set(k.files()) - {os.path.basename(open_file)}
    shutil.copyfile(open_file, os.path.join(k.folder, default))
    done = k.run(f"echo x >{outside}/a")
    t.ok(done.status != 0 and os.listdir(outside) == [], "another policy's file is not used", done)


ATTACKS = """
p={folder}; q={state}
echo x >>$p/*; for f in $p/*; do echo x >$f; cp /etc/passwd $f; mv $f $f.x; ln -f $f $p/two; ln -sf /etc/passwd $f; rm -f $f; chmod 644 $f; touch $f; truncate -s 0 $f; done
mv $p $p.x; rm -rf $p; mkdir $p.y; echo x >$p/0123456789abcdef; chmod 777 $p; ln -s /tmp $p/link
mv $q $q.x; mv {above} {above}.x; rm -rf $q
python3 - <<'END'
import ctypes, os
libc = ctypes.CDLL(None)
for name in os.listdir('{folder}'):
    path = os.path.join('{folder}', name)
    os.makedirs('evil', exist_ok=True)
    open('evil/f', 'w').close()
    libc.renameat2(-100, b'evil/f', -100, path.encode(), 2)
    libc.renameat2(-100, b'evil', -100, b'{folder}', 2)
    for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_CREAT):
        try: os.write(os.open(path, flags), b'x')
        except OSError: pass
    try: os.utime(path, (1, 1))
    except OSError: pass
    try: os.setxattr(path, 'user.x', b'x')
    except OSError: pass
END
mount --bind /tmp $p
true
"""


def test_attacked(person, t):
    for flags in ([], ["--profile", "open"], ["--allow-write", "HOME"]):
        for inside_work in (False, True):
            k = Kept(person)
            if inside_work:  # where the command may write
                k.state = os.path.join(k.work, "state")
                k.folder = os.path.join(k.state, "buckle/policies")
                os.mkdir(k.state)
                person.own(k.state)
                k.env = {"XDG_STATE_HOME": k.state}
            words = [person.home if f == "HOME" else f for f in flags]
            k.run("true", *words)
            before = k.content()
            script = ATTACKS
            for key, value in (("folder", k.folder), ("state", k.state), ("above", os.path.dirname(k.state))):
                script = script.replace("{" + key + "}", value)
            k.run(script, *words)
            after = k.content()
            what = f"{' '.join(flags) or 'default'}{', in the working folder' if inside_work else ''}"
            t.ok(before and all(after.get(name) == text for name, text in before.items()),
                 f"{what}: kept policies stay", sorted(before), sorted(after))
            t.ok(len(after) <= len(before) + 1, f"{what}: and none is added but the run's own", sorted(after))


PROFILE = """(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath (param "CWD")) (subpath (param "TMPDIR")))
"""


def test_profile_files(person, t):
    """A profile from a file is read at each launch; its policy is kept as well, if that is all it reads."""
    k = Kept(person)
    outside = person.folder("outside")
    profile = os.path.join(person.folder("profiles"), "own.sb")
    script = f"echo x >here && echo x >{outside}/a"
    person.write(profile, PROFILE)
    k.run("true", "--profile", profile)
    held = k.files()
    t.equal(len(held), 1, "a profile's policy is kept")
    t.ok(k.run(script, "--profile", profile).status != 0 and os.listdir(outside) == [], "and in force")
    t.equal(k.files(), held, "the next run uses it")
    times = os.stat(profile)
    person.write(profile, PROFILE.replace("(deny file-write*)", "(deny file-mknod )"))
    os.utime(profile, ns=(times.st_atime_ns, times.st_mtime_ns))
    t.equal(k.run(script, "--profile", profile).status, 0, "a change counts at once, whatever the time of the file")
    person.write(profile, PROFILE)
    person.sh(f"rm -f {outside}/a")
    t.ok(k.run(script, "--profile", profile).status != 0, "and so does changing it back")
    part = person.write(os.path.join(os.path.dirname(profile), "part.sb"), "(version 1)\n")
    person.write(profile, PROFILE + '(import "part.sb")\n')
    t.ok(k.run(script, "--profile", profile).status != 0, "one that imports a file is in force")
    person.write(part, f'(version 1)\n(allow file-write* (subpath "{outside}"))\n')
    t.equal(k.run(script, "--profile", profile).status, 0, "and a change of that file counts at once")
    person.write(part, "(version 1)\n")
    person.sh(f"rm -f {outside}/a")
    t.ok(k.run(script, "--profile", profile).status != 0, "in both directions")
    hidden = PROFILE + '((if #t (string->symbol (string-append "im" "port"))) "part.sb")\n'
    person.write(profile, hidden)
    t.ok(k.run(script, "--profile", profile).status != 0, "an import that is not written as one opens nothing")


def test_root_in_a_home(person, t):
    """Root does not use what somebody else could have written."""
    if os.geteuid() != 0 or person.uid == 0:
        return
    k = Kept(person)
    k.run("true")
    before = k.content()
    done = PEOPLE[0].run("true", cwd=PEOPLE[0].folder(), env={**k.env, "HOME": person.home})
    t.equal(done.status, 0, "root runs with somebody's home", done)
    t.equal(k.content(), before, "and leaves their policies alone")


def test_numbers(person, t):
    k = Kept(person)
    tmpdirs = [k.run("echo $TMPDIR").out for _ in range(3)]
    t.equal(len(set(tmpdirs)), 1, "runs in a row have the same TMPDIR", tmpdirs)
    path = tmpdirs[0].strip()
    t.ok(not os.path.exists(path), "which is gone after each")
    script = "echo x >$TMPDIR/mine; echo $TMPDIR >tmp$0; sleep 60"
    children = [person.start([running.BUCKLE, "run", "sh", "-c", script, str(i)], cwd=k.work, env=k.env) for i in range(12)]
    files = [os.path.join(k.work, f"tmp{i}") for i in range(12)]
    t.ok(eventually(lambda: all(os.path.exists(f) and os.path.getsize(f) for f in files), 30), "12 at the same time")
    got = set()
    for file in files:
        with open(file, encoding="utf-8") as f:
            got.add(f.read())
    t.equal(len(got), 12, "have 12 of them")
    for c in children:
        c.send_signal(signal.SIGKILL)
        c.wait()
    late = k.run("ls $TMPDIR; echo $TMPDIR")
    t.equal((late.status, len(late.out.split())), (0, 1), "after a kill the next one is empty", late)
    base = os.path.dirname(path)
    t.ok(eventually(lambda: k.run("true").status == 0 and
                    [n for n in os.listdir(base) if n.startswith("run-")] == []), "and nothing is left",
         os.listdir(base))


def test_prune(person, t):
    k = Kept(person)
    for _ in range(MOST + 4):
        k.run("true", cwd=person.folder("many"))
    t.ok(len(k.files()) <= MOST, f"at most {MOST} are kept", len(k.files()))
    t.equal([n for n in k.files() if n.startswith(".")], [], "and no half-written one")


def test_no_place(person, t):
    """A run works where nothing can be kept."""
    k = Kept(person)
    for env in ({"XDG_STATE_HOME": "/proc/nowhere"}, {"XDG_STATE_HOME": "", "HOME": "/nowhere"}):
        done = k.run("echo x >here", env=env)
        t.equal(done.status, 0, f"without a state folder: {env}", done)


for_everybody([test_used, test_changes, test_folders, test_forged, test_other_policy, test_profile_files, test_attacked, test_root_in_a_home,
               test_numbers, test_prune, test_no_place])
sys.exit(tap.done())
