#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Private layers: what a command writes to /tmp, or to a cache that a preset names, reaches nobody
else. Everyday work, two runs at once, what the host changes meanwhile, what is left afterwards, and
attempts to get out of a layer or to read through it what is denied.
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import BUCKLE, eventually, for_everybody
from secret_socket import secret_socket

# a home folder below /tmp has denied names there, and so /tmp has no layer
OUTSIDE = tempfile.mkdtemp(dir="/var/tmp", prefix="layers-")
os.chmod(OUTSIDE, 0o755)
atexit.register(shutil.rmtree, OUTSIDE, ignore_errors=True)


def settle(person):
    """Moves the person's home folder out of /tmp."""
    home = os.path.join(OUTSIDE, person.name)
    if not os.path.isdir(home):
        os.mkdir(home)
        person.own(home)
    person.home = person.env["HOME"] = home


class Handed:
    """Files of the person's in the host's /tmp, removed again."""

    def __init__(self, person):
        self.path = tempfile.mkdtemp(dir="/tmp", prefix="handed-")
        person.own(self.path)
        self.name = os.path.basename(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def listing():
    return {name for name in os.listdir("/tmp") if name.startswith(("layer-", "handed-"))}


def test_work(person, t):
    settle(person)
    work = person.folder()
    before = listing()
    with Handed(person) as given:
        person.write(f"{given.path}/in", "from the host\n")
        script = f"""
cat {given.path}/in && echo mine >/tmp/layer-x && cat /tmp/layer-x
echo changed >>{given.path}/in && tail -n 1 {given.path}/in
cd /tmp && mkdir -p layer-d/e && echo y >layer-d/e/f && mv layer-d layer-e && cat layer-e/e/f
ln -s layer-e/e/f layer-l && cat layer-l && ln layer-x layer-h && cat layer-h
mkfifo layer-p && (echo through >layer-p & cat layer-p) && rm -r layer-e {given.path}/in
test ! -e {given.path}/in && chmod 700 layer-x && mktemp /tmp/layer-XXXXXX >/dev/null && df /tmp >/dev/null"""
        done = person.run("sh", "-ec", script, cwd=work)
        t.quiet(done, "files, folders, links and pipes in /tmp",
                "from the host\nmine\nchanged\ny\ny\nmine\nthrough\n")
        with open(f"{given.path}/in", encoding="utf-8") as f:
            t.equal(f.read(), "from the host\n", "the host's file is unchanged, and still there")
    t.equal(listing() - before, set(), "nothing is left in the host's /tmp")
    done = person.run("sh", "-c", "ls /tmp/layer-x", cwd=work)
    t.ok(done.status != 0, "the next run starts with nothing", done)


def test_servers(person, t):
    """Sockets that the command creates in /tmp work."""
    script = """
import socket
s = socket.socket(socket.AF_UNIX); s.bind("/tmp/layer-s"); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect("/tmp/layer-s"); c.send(b"hi")
print(s.accept()[0].recv(2).decode())
d = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); d.bind("/tmp/layer-dg")
e = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); e.sendto(b"ho", "/tmp/layer-dg"); print(d.recv(2).decode())"""
    t.quiet(person.run("/usr/bin/python3", "-c", script, cwd=person.folder()), "sockets in /tmp", "hi\nho\n")


def test_real(person, t):
    """Folders below /tmp that the policy opens stay the real ones."""
    with Handed(person) as given:
        work, other = f"{given.path}/work", f"{given.path}/other"
        for path in (work, other):
            os.mkdir(path)
            person.own(path)
        done = person.run("-w", other, "sh", "-ec", f"echo a >here; echo b >{other}/there; "
                          "echo c >$TMPDIR/own; echo d >../beside; cat ../beside", cwd=work)
        t.quiet(done, "a working folder below /tmp", "d\n")
        t.ok(os.path.exists(f"{work}/here") and os.path.exists(f"{other}/there"), "its files are real")
        t.ok(not os.path.exists(f"{given.path}/beside"), "those beside it are not")
        settings = person.write(os.path.join(person.home, "closed.json"), '{"filesystem": {"allowWrite": []}}')
        done = person.run("--report", "none", "-s", settings, "sh", "-c", "echo lost >vanishes; cat vanishes", cwd=work)
        t.ok(done.out == "", "a working folder that cannot be written has no layer", done)
        missing = f"{given.path}/missing"
        done = person.run("--report", "none", "-w", missing, "sh", "-c",
                          f"echo a >{missing}; echo b >/tmp/layer-y", cwd=work)
        t.ok(os.path.exists(missing), "a file that a flag opens is made where everybody finds it", done)


def test_shared(person, t):
    work = person.folder()
    done = person.run("--shared-tmp", "--report", "none", "sh", "-c", "echo >/tmp/layer-z", cwd=work)
    t.ok(done.status != 0 and not os.path.exists("/tmp/layer-z"), "--shared-tmp: /tmp cannot be written", done)
    settings = person.write(os.path.join(person.home, "s.json"), "{}")
    done = person.run("-s", settings, "sh", "-ec", "echo x >/tmp/layer-z; cat /tmp/layer-z", cwd=work)
    t.quiet(done, "settings have the layer, too", "x\n")
    done = person.run("-s", settings, "--shared-tmp", "--report", "none", "sh", "-c", "echo >/tmp/layer-z", cwd=work)
    t.ok(done.status != 0 and not os.path.exists("/tmp/layer-z"), "… unless --shared-tmp", done)


WAITER = """
import sys, time
def look(name):
    try:
        return open(name).read()
    except OSError:
        return None
for line in sys.stdin:
    name, began = line.strip(), time.monotonic()
    found = look(name)
    print("early" if found else "missing", flush=True)
    while found is None and time.monotonic() - began < 10:
        time.sleep(0.001)
        found = look(name)
    print(found, flush=True)"""


def test_later(person, t):
    """What the host adds or replaces is visible, even if the command looked for it before."""
    work = person.folder()
    with Handed(person) as given:
        os.makedirs(f"{given.path}/deep/er")
        child = person.start([BUCKLE, "run", "--", "/usr/bin/python3", "-u", "-c", WAITER], cwd=work,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in (f"{given.path}/a", f"{given.path}/deep/b", f"{given.path}/deep/er/c", f"{given.path}/new/d",
                     f"/tmp/{given.name}-top"):
            child.stdin.write(name + "\n")
            child.stdin.flush()
            first = child.stdout.readline()
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name + ".part", "w", encoding="utf-8") as f:
                f.write("later")
            os.chmod(name + ".part", 0o644)
            os.rename(name + ".part", name)
            t.equal((first, child.stdout.readline()), ("missing\n", "later\n"),
                    f"a file that appears later: {name[len(given.path):]}")
        os.unlink(f"/tmp/{given.name}-top")
        child.stdin.close()
        child.wait()


def test_two(person, t):
    """Two runs at once do not see each other's files."""
    work = person.folder()
    one = person.start([BUCKLE, "run", "--", "sh", "-c", "echo one >/tmp/layer-t; echo made; read x; cat /tmp/layer-t"],
                       cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    one.stdout.readline()
    done = person.run("sh", "-c", "cat /tmp/layer-t; echo two >/tmp/layer-t", cwd=work)
    t.ok(done.status == 0 and done.out == "", "the second starts without the first one's", done)
    out, _ = one.communicate("\n")
    t.equal(out, "one\n", "the first keeps its own")


def test_killed(person, t):
    """Nothing is left after SIGKILL: neither files nor mounts."""
    work = person.folder()
    before = listing()
    child = person.start([BUCKLE, "run", "--", "sh", "-c", "echo >/tmp/layer-k; echo made; sleep 60"], cwd=work,
                         stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    time.sleep(0.3)
    with open("/proc/mounts", encoding="utf-8") as f:
        overlays = [line for line in f if " /tmp overlay " in line]
    t.equal((listing() - before, overlays), (set(), []), "nothing is left after SIGKILL")


# ---- attacks ----

def test_sockets(person, t):
    """Sockets of the host in /tmp: as the policy says, through the layer as without it."""
    work = person.folder()
    with Handed(person) as given, secret_socket(f"{given.path}/agent") as path:
        script = f"""
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("{path}")
print(s.recv(6).decode())"""
        done = person.run("--report", "none", "/usr/bin/python3", "-c", script, cwd=work)
        t.ok(done.status != 0 and "secret" not in done.out, "a socket of the host is not reached", done)
        moved = f"import os; os.rename('{path}', '/tmp/layer-moved')\n" + script.replace(path, "/tmp/layer-moved")
        done = person.run("--report", "none", "/usr/bin/python3", "-c", moved, cwd=work)
        t.ok(done.status != 0 and "secret" not in done.out, "… nor under another name", done)
        linked = f"import os; os.symlink('{path}', '/tmp/layer-lnk')\n" + script.replace(path, "/tmp/layer-lnk")
        done = person.run("--report", "none", "/usr/bin/python3", "-c", linked, cwd=work)
        t.ok(done.status != 0 and "secret" not in done.out, "… nor through a symlink", done)
        done = person.run("--allow-socket", path, "/usr/bin/python3", "-c", script, cwd=work)
        t.quiet(done, "one that the policy allows is reached", "secret\n")


def test_out(person, t):
    """Writing to the host through the layer."""
    work = person.folder()
    with Handed(person) as given:
        mine = person.write(f"{given.path}/mine", "before\n")
        outside = person.write(os.path.join(person.home, "outside"), "before\n")
        script = f"""
ln -s {outside} /tmp/layer-out; echo evil >>/tmp/layer-out
ln -s {person.home} /tmp/layer-home; echo evil >/tmp/layer-home/planted
ln {mine} /tmp/layer-hard; echo evil >>/tmp/layer-hard
mv {outside} /tmp/layer-moved; echo evil >>/tmp/layer-moved
echo evil >>/proc/self/fd/0; chmod 777 /proc/self/fd/0; truncate -s 0 /proc/self/fd/0
echo evil >>/proc/1/root{mine}; echo evil >>/proc/self/root{mine}
mknod /tmp/layer-disk b 254 0 && head -c 1 /tmp/layer-disk; mknod /tmp/layer-null c 1 3 && echo x >/tmp/layer-null
cp /bin/sh /tmp/layer-sh; chmod 4755 /tmp/layer-sh; umount /tmp; mount -t tmpfs none /tmp
rm -rf /tmp/* 2>/dev/null"""
        with open(mine, encoding="utf-8") as f:
            child = person.start([BUCKLE, "run", "--report", "none", "--", "sh", "-c", script], cwd=work, stdin=f,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            child.communicate()
        for path in (mine, outside):
            with open(path, encoding="utf-8") as f:
                t.equal((f.read(), os.stat(path).st_mode & 0o777), ("before\n", 0o644),
                        f"not written: {os.path.basename(path)}")
        t.ok(not os.path.exists(os.path.join(person.home, "planted")), "nothing planted through a symlink")
        attributes = f"""
import os
for what in (lambda: os.fchmod(0, 0o777), lambda: os.utime(0, (1, 1)), lambda: os.setxattr(0, "user.x", b"1"),
             lambda: os.chmod("/proc/self/fd/0", 0o777), lambda: os.utime("/proc/self/fd/0", (1, 1))):
    try:
        what()
    except OSError:
        pass"""
        with open(mine, encoding="utf-8") as f:
            person.start([BUCKLE, "run", "--report", "none", "--", "/usr/bin/python3", "-c", attributes], cwd=work,
                         stdin=f).wait()
        st = os.stat(mine)
        t.ok(st.st_mode & 0o777 == 0o644 and st.st_mtime > 1 and not os.listxattr(mine),
             "an inherited file below the layer keeps its mode and times")


def test_denied(person, t):
    """Denied names are not read through the layer."""
    work = person.folder()
    with Handed(person) as given:
        secret = person.write(f"{given.path}/secret", "token\n")
        tries = f"""
cat {secret}; cp {secret} /tmp/layer-c && cat /tmp/layer-c; ln {secret} /tmp/layer-c2 && cat /tmp/layer-c2
mv {secret} /tmp/layer-c3 && cat /tmp/layer-c3; mv {given.path} /tmp/layer-d && cat /tmp/layer-d/secret
chmod 644 {secret}; touch {secret}; cat /tmp/layer-*; cat {secret}"""
        done = person.run("--report", "none", "--deny-read", secret, "sh", "-c", tries, cwd=work)
        t.ok("token" not in done.out, "--deny-read below /tmp", done)
        os.unlink(secret)
        child = person.start([BUCKLE, "run", "--report", "none", "--deny-read", secret, "--", "sh", "-c",
                              f"cat {secret}; echo made; read x; {tries}"],
                             cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        child.stdout.readline()
        person.write(secret, "token\n")
        time.sleep(0.3)
        out, _ = child.communicate("\n")
        t.ok("token" not in out, "… when it appears later", out)


def test_foreign(person, t):
    """Another user's folder that everybody may write: an ordinary user's layer cannot copy it, and says so."""
    if person.uid == os.geteuid():
        return
    work = person.folder()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="handed-") as given:
        os.chmod(given, 0o1777)
        with open(f"{given}/f", "w", encoding="utf-8") as f:
            f.write("text\n")
        os.chmod(f"{given}/f", 0o666)
        script = f"""
import errno, os, socket
d = {given!r}
def try_it(what):
    try:
        what()
        print("done")
    except OSError as e:
        print(errno.errorcode[e.errno])
print(open(d + "/f").read(), end="")
for what in (lambda: open(d + "/n", "w"), lambda: open(d + "/f", "a"), lambda: os.mkdir(d + "/d"),
             lambda: os.symlink("x", d + "/l"), lambda: os.link(d + "/f", "/tmp/layer-ln"), lambda: os.truncate(d + "/f", 0),
             lambda: os.utime(d + "/f"), lambda: os.mkfifo(d + "/p"),
             lambda: socket.socket(socket.AF_UNIX).bind(d + "/s")):
    try_it(what)"""
        r = person.run("--report", "none", "/usr/bin/python3", "-c", script, cwd=work)
        t.equal(r.out.split("\n"), ["text"] + ["EACCES"] * 9 + [""], "another user's folder in /tmp: EACCES", r)
        t.equal(os.listdir(given), ["f"], "… and nothing in it changes")


def test_full(person, t):
    """Filling the layer ends in an error, and not in a full disk."""
    script = """
import os
n = 0
try:
    with open("/tmp/layer-big", "wb") as f:
        f.truncate(1 << 50)
        os.posix_fallocate(f.fileno(), 0, 1 << 45)
except OSError as e:
    print(e.strerror)
s = os.statvfs("/tmp")
print(s.f_blocks * s.f_frsize <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)"""
    done = person.run("/usr/bin/python3", "-c", script, cwd=person.folder())
    t.ok(done.status == 0 and done.out.splitlines()[-1:] == ["True"] and "\n" in done.out.strip(),
         "the layer is bounded", done)


# ---- caches ----

def cache(person, text="from the host\n"):
    """An empty npm cache with one file."""
    shutil.rmtree(f"{person.home}/.npm", ignore_errors=True)
    person.write(f"{person.home}/.npm/_cacache/a", text)
    return f"{person.home}/.npm"


PRESET = ("--preset", "builtin:npm")


def test_cache(person, t):
    npm, work, other = cache(person), person.folder(), person.folder()
    script = f"cat {npm}/_cacache/a; echo mine >>{npm}/_cacache/a; echo new >{npm}/b; rm -rf {npm}/gone; mkdir {npm}/d"
    t.quiet(person.run(*PRESET, "sh", "-ec", script, cwd=work), "a cache is read and written", "from the host\n")
    t.quiet(person.run(*PRESET, "sh", "-ec", f"cat {npm}/_cacache/a {npm}/b", cwd=work), "the next run finds it",
            "from the host\nmine\nnew\n")
    with open(f"{npm}/_cacache/a", encoding="utf-8") as f:
        t.equal((f.read(), os.listdir(npm)), ("from the host\n", ["_cacache"]), "the real cache is unchanged")
    done = person.run(*PRESET, "sh", "-c", f"cat {npm}/_cacache/a; ls {npm}", cwd=other)
    t.quiet(done, "another project does not find it", "from the host\n_cacache\n")
    done = person.run(*PRESET, "--share-caches", "sh", "-ec", f"echo shared >{npm}/s", cwd=work)
    t.quiet(done, "--share-caches")
    t.ok(os.path.exists(f"{npm}/s"), "… writes the real one")


def test_cache_missing(person, t):
    work = person.folder()
    shutil.rmtree(f"{person.home}/.npm", ignore_errors=True)
    before = set(os.listdir(person.home))
    done = person.run(*PRESET, "sh", "-ec", "mkdir -p ~/.npm/x; echo y >~/.npm/x/y; cat ~/.npm/x/y", cwd=work)
    t.quiet(done, "a cache that does not exist yet", "y\n")
    t.equal(set(os.listdir(person.home)) - before - {".local"}, set(), "nothing is left in the home folder")


def test_cache_two(person, t):
    npm, work = cache(person), person.folder()
    one = person.start([BUCKLE, "run", *PRESET, "--", "sh", "-c",
                        f"echo one >{npm}/one; echo made; read x; ls {npm}"], cwd=work, stdin=subprocess.PIPE,
                       stdout=subprocess.PIPE, text=True)
    one.stdout.readline()
    done = person.run(*PRESET, "sh", "-ec", f"echo two >{npm}/two; cat {npm}/two", cwd=work)
    t.quiet(done, "two runs at once: the second can write, too", "two\n")
    out, _ = one.communicate("\n")
    t.equal(out, "_cacache\none\n", "the first keeps its own")
    done = person.run(*PRESET, "sh", "-ec", f"ls {npm}", cwd=work)
    t.quiet(done, "what the first wrote is kept", "_cacache\none\n")


def test_cache_secrets(person, t):
    """A secret in a folder that has a layer stays secret, and is not copied into the layer."""
    work = person.folder()
    person.write(f"{person.home}/.cargo/credentials.toml", "token\n", 0o600)
    tries = """cd ~/.cargo; cat credentials.toml; cp credentials.toml c; chmod 644 credentials.toml; touch credentials.toml
ln credentials.toml l; mv credentials.toml m; echo x >>credentials.toml; cat c l m; mv ~/.cargo ~/x
cat ~/.local/state/buckle/layers/*/*cargo*/upper/*; mkdir registry; echo fine >registry/f; cat registry/f"""
    for flags in (), ("--strict-reads",), ("--updatable",):
        done = person.run("--preset", "builtin:cargo", *flags, "--report", "none", "sh", "-c", tries, cwd=work)
        t.ok("token" not in done.out and "fine\n" in done.out, f"secrets in a cache's folder {flags}", done)
    with open(f"{person.home}/.cargo/credentials.toml", encoding="utf-8") as f:
        t.equal(f.read(), "token\n", "… are unchanged")
    found = [f for _, _, files in os.walk(f"{person.home}/.local/state/buckle/layers") for f in files
             if f.startswith("cred")]
    t.equal(found, [], "… and not in the layer")


def test_cache_reach(person, t):
    """What layers keep cannot be written past them."""
    npm, work = cache(person), person.folder()
    person.run(*PRESET, "sh", "-c", f"echo a >{npm}/kept", cwd=work)
    state = f"{person.home}/.local/state/buckle/layers"
    tries = f"""
for f in $(find {state} -name kept); do echo evil >>$f; rm -f $f; mv $f $f.x; ln -sf /etc/passwd $f; done
mv {person.home}/.local {person.home}/.l2; mv {state} {state}.x; mkdir {state}/new; echo x >{state}/planted"""
    person.run("-w", person.home, "--report", "none", "sh", "-c", tries, cwd=work)
    done = person.run(*PRESET, "cat", f"{npm}/kept", cwd=work)
    t.ok(done.out == "a\n" and not os.path.exists(f"{state}/planted"), "the state folder is out of reach", done)


def age(path, days):
    then = time.time() - days * 24 * 60 * 60
    os.utime(path, (then, then), follow_symlinks=False)


def test_cache_prune(person, t):
    """Once a day the layers of projects that were not used for long are removed, but nothing that links lead to."""
    npm, work, old, busy = cache(person), person.folder(), person.folder(), person.folder()
    outside = person.write(os.path.join(person.home, "not-pruned", "file"), "kept\n")
    state = f"{person.home}/.local/state/buckle/layers"
    plant = f"echo a >{npm}/kept; ln -s {os.path.dirname(outside)} {npm}/link; mkdir {npm}/shut; ln -s / {npm}/shut/root; chmod 0 {npm}/shut"
    for folder in (work, old, busy):
        person.run(*PRESET, "sh", "-c", plant, cwd=folder)
    mine = {folder: f"{state}/{folder[1:].replace('/', '%2F')}" for folder in (work, old, busy)}
    t.ok(all(os.path.isdir(path) for path in mine.values()), "each project has its own", os.listdir(state))
    running = person.start([BUCKLE, "run", *PRESET, "--", "sh", "-c", "echo up; read x"], cwd=busy, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
    running.stdout.readline()
    for folder in (old, busy):
        age(mine[folder], 61)
    person.run(*PRESET, "true", cwd=work)
    time.sleep(0.5)
    t.ok(os.path.isdir(mine[old]), "not more than once a day")
    age(f"{state}/.pruned", 2)
    person.run(*PRESET, "true", cwd=work)
    gone = eventually(lambda: not os.path.exists(mine[old]) and not os.path.exists(f"{state}/.old"))
    t.ok(gone, "what was unused for 60 days is removed", os.listdir(state))
    t.ok(os.path.isdir(mine[busy]) and os.path.isdir(mine[work]), "what is used stays", os.listdir(state))
    t.ok(os.path.exists(outside), "what links lead to stays")
    running.communicate("\n")


# ---- programs ----

def test_programs(person, t):
    """Programs that fail when they cannot write a cache."""
    work = person.folder()
    person.write(f"{work}/a.c", "int main(void) { return 0; }\n")
    before = set(os.listdir(person.home))
    for name, argv, preset in (("ccache", ["ccache", "gcc", "-c", "a.c"], ()),
                               ("gpg", ["gpg", "--list-keys"], ()),
                               ("gpg", ["gpg", "--list-keys"], ("--preset", "gpg"))):
        if not shutil.which(name, path="/usr/bin"):
            tap.skip(f"no {name} here")
            continue
        if name == "gpg":
            os.makedirs(f"{person.home}/.gnupg", 0o700, exist_ok=True)
            person.own(f"{person.home}/.gnupg")
        done = person.run(*preset, *argv, cwd=work)
        t.ok(done.status == 0, f"{name} works", done)
        if name == "gpg":
            t.equal(os.listdir(f"{person.home}/.gnupg"), [], "… and writes nothing to the home folder")
            shutil.rmtree(f"{person.home}/.gnupg")
    t.equal(set(os.listdir(person.home)) - before - {".local"}, set(), "nothing else is left there")
    done = person.run("-w", os.path.join(person.home, ".cache"), "sh", "-c", "echo $CCACHE_DIR", cwd=work)
    t.equal(done.out, "\n", "a flag that opens the real cache leaves it the real one")


TESTS = [test_work, test_servers, test_real, test_shared, test_later, test_two, test_killed, test_sockets, test_out,
         test_denied, test_foreign, test_full, test_cache, test_cache_missing, test_cache_two, test_cache_secrets, test_cache_reach, test_cache_prune,
         test_programs]

for_everybody([lambda person, t, test=test: (settle(person), test(person, t)) for test in TESTS])
sys.exit(tap.done())
