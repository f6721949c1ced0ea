#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buckle run in other environments: containers, restricted hosts, other sandboxes, older kernels; as
root, and around programs with their own sandbox.

$TOOLS/pretend creates them with seccomp filters, mounts and dropped capabilities, as Docker,
Kubernetes, AppArmor or an administrator would. In each, `buckle run` keeps its promises, or refuses
to start and says why.
"""

import json
import os
import re
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import drive
import names
from running import BUCKLE, PEOPLE, SLOW, Checks, eventually, for_everybody, missing
from tap import done, equal, ok, skip

TOP = os.path.dirname(os.path.dirname(HERE))
PRETEND = os.path.join(os.environ.get("TOOLS", os.path.join(TOP, "build", "gcc", "tests")), "pretend")
PYTHON = "/usr/bin/python3"
DOCKER = ["no-namespaces", "no-getfd", "masked-proc", "read-only-sys", "small-dev", "docker-caps"]
KUBERNETES = ["masked-proc", "read-only-sys", "small-dev", "docker-caps", "no-new-privs"]

# What a hostile command tries; each line shows an attempt and its result.
ATTACK = """
import os, socket, sys
outside, server, peer, pid = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
def tried(name, f):
    try:
        f()
        print(name, "yes")
    except OSError as e:
        print(name, "no")
def write(path):
    with open(path, "w") as f: f.write("x")
def read(path):
    with open(path) as f:
        if not f.read(): raise OSError("masked")
def connect(family, to):
    with socket.socket(family) as s:
        s.settimeout(3); s.connect(to)
def send(to):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", to)
tried("inside", lambda: write("made"))
tried("again", lambda: (os.chmod("made", 0o600), os.rename("made", "moved"), os.unlink("moved")))
tried("tmp", lambda: write(os.environ["TMPDIR"] + "/made"))
tried("outside", lambda: write(outside + "/made"))
tried("mode", lambda: os.chmod(outside + "/victim", 0o777))
tried("key", lambda: read(os.environ["HOME"] + "/.ssh/id_ed25519"))
tried("told", lambda: read(outside + "/secret"))
tried("public", lambda: read(outside + "/victim"))
tried("host", lambda: connect(socket.AF_INET, ("127.0.0.1", server)))
tried("net", lambda: send(("192.0.2.1", 53)))
tried("unix", lambda: connect(socket.AF_UNIX, peer))
tried("abstract", lambda: connect(socket.AF_UNIX, chr(0) + peer))
tried("signal", lambda: os.kill(pid, 0))
tried("environ", lambda: open(f"/proc/{pid}/environ").read())
tried("memory", lambda: open(f"/proc/{pid}/mem", "rb").read(0))
"""
ALLOWED = {"inside", "again", "tmp", "public"}


class Victims:
    """Targets of an attack: a folder, servers and a process outside."""

    def __init__(self, user):
        self.folder = user.folder("outside")
        user.write(self.folder + "/victim", "x")
        user.write(self.folder + "/secret", "x")
        user.write(user.home + "/.ssh/id_ed25519", "x", 0o600)
        self.server = socket.socket()
        self.server.bind(("127.0.0.1", 0))
        self.server.listen()
        self.path = self.folder + "/peer"
        self.peers = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for peer, name in zip(self.peers, (self.path, "\0" + self.path)):
            peer.bind(name)
            peer.listen()
        os.chmod(self.path, 0o777)
        self.process = user.start(["sleep", "1000"])
        self.words = [self.folder, str(self.server.getsockname()[1]), self.path,
                      str(self.process.pid)]

    def close(self):
        self.process.kill()
        self.process.wait()
        for sock in (self.server, *self.peers):
            sock.close()


def pretended(user, words, argv, **how):
    """Runs something as this user, in an environment made of these words."""
    who = [] if user.uid == 0 else [f"uid={user.uid}"]
    env = {**user.env, **how.pop("env", {})}
    cwd = how.pop("cwd", None) or user.folder()
    child = subprocess.run([PRETEND, *words, *who, "--", *argv], cwd=cwd, env=env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=how.pop("timeout", 60), check=False)
    return drive.Ran(child.returncode, child.stdout, child.stderr, 0)


def got_through(ran):
    return {line.split()[0] for line in ran.out.split("\n") if line.endswith(" yes")}


def attacked(user, words, flags=(), **how):
    victims = Victims(user)
    flags = ["--deny-read", victims.folder + "/secret", *flags]
    r = pretended(user, words, [BUCKLE, "run", *flags, PYTHON, "-c", ATTACK, *victims.words], **how)
    victims.close()
    return r


def only_root_makes(t):
    if os.geteuid() == 0:
        return True
    skip("only root can pretend other places")
    return False


# ---- environments where everything is enforced ----

WORKS = {
    "nowhere special": [],
    "user namespaces refused": ["no-userns"],
    "AppArmor's user namespaces": ["empty-userns"],
    "no namespaces at all": ["no-namespaces"],
    "no user namespace left": ["spent-userns"],
    "pidfd_getfd refused": ["no-getfd"],
    "process_vm_readv refused": ["no-readv"],
    "a masked /proc": ["masked-proc"],
    "a read-only /proc": ["read-only-proc"],
    "a read-only /sys": ["read-only-sys"],
    "a small /dev": ["small-dev"],
    "no new privileges": ["no-new-privs"],
    "Docker": DOCKER,
    "Kubernetes": KUBERNETES,
    "a container without root": ["rootless", "masked-proc"],
}
OLDER = {
    "AppArmor on Ubuntu 24.04": (["empty-userns"], "6.8.0"),
    "Docker on Debian 12": (DOCKER, "6.1.0"),
    "Docker on Ubuntu 22.04": (DOCKER, "5.15.0"),
    "Debian 12": ([], "6.1.0"),
    "Ubuntu 22.04": ([], "5.15.0"),
}
ROOT_ONLY = {"no capabilities": ["no-caps"], "a container's capabilities": ["docker-caps"]}


def test_places(user, t):
    if not only_root_makes(t):
        return
    for name, words in {**WORKS, **(ROOT_ONLY if user.uid == 0 else {})}.items():
        r = attacked(user, words)
        t.equal((r.status, got_through(r)), (0, ALLOWED), f"{name}: enforced", r)
        t.ok("create" in r.err and "/made" in r.err, f"{name}: and reported", r)
    for name, (words, kernel) in OLDER.items():
        r = attacked(user, words, env={"BUCKLE_PRETEND": "kernel=" + kernel})
        t.equal((r.status, got_through(r)), (0, ALLOWED), f"{name}: enforced", r)


def test_ends(user, t):
    """Nothing outlives the command, whatever replaces the pid namespace."""
    if not only_root_makes(t):
        return
    mark = f"9{user.uid}17"
    for name, words in {"Docker": DOCKER, "a masked /proc": ["masked-proc"]}.items():
        script = f"(setsid sleep {mark} &) ; setsid sh -c 'sleep {mark} & exit' ; exit 7"
        r = pretended(user, words, [BUCKLE, "run", "sh", "-c", script])
        left = subprocess.run(["pgrep", "-f", f"^sleep {mark}"], stdout=subprocess.PIPE, check=False)
        t.equal((r.status, left.stdout), (7, b""), f"{name}: status, and nobody is left", r)


# ---- environments where something is missing ----

LACKS = {
    "no Landlock": (["no-landlock"], {}, "no Landlock"),
    "no seccomp notification": (["no-notify"], {}, "no seccomp notification"),
    "somebody else's listener": (["listener"], {}, "listener to itself"),
    "Docker with an older kernel and no judge": (DOCKER + ["no-notify"],
                                                 {"BUCKLE_PRETEND": "kernel=6.8.0"}, "no seccomp"),
}


def test_lacking(user, t):
    if not only_root_makes(t):
        return
    for name, (words, env, missing_part) in LACKS.items():
        r = attacked(user, words, env=env)
        t.ok(r.status == 125 and r.out == "" and missing_part in r.err and "--accept-weaker" in r.err
             and "buckle doctor" in r.err, f"{name}: not run, and told why", r)
        r = attacked(user, words, ["--accept-weaker"], env=env)
        through = got_through(r)
        t.ok(r.status == 0 and ALLOWED <= through and not through & {"outside", "host", "net"},
             f"{name}: --accept-weaker runs it behind what is left", r)
        plan = pretended(user, words, [BUCKLE, "run", "--accept-weaker", "--dry-run"], env=env)
        if words != ["listener"]:  # only an attempt shows this
            t.ok("weaker:" in plan.out, f"{name}: the plan says what is lost", plan)


# ---- doctor ----


def test_doctor(user, t):
    """doctor reports what run finds, and has a remedy for everything that is missing."""
    if not only_root_makes(t):
        return
    for name, words in {**WORKS, **{n: w for n, (w, e, _) in LACKS.items() if not e}}.items():
        r = pretended(user, words, [BUCKLE, "doctor", "--json"])
        reported = json.loads(r.out)
        t.equal((r.status, reported["full"]), (0, True) if name in WORKS else (1, False),
                f"{name}: doctor agrees", r.out[-900:])
        for ability in reported["abilities"]:
            if not ability["good"] and not ability.get("remedy"):
                t.ok(False, f"{name}: a remedy for {ability['name']}", ability)
    for words, field, good in [(["no-getfd"], "pidfd_getfd", False), (["no-readv"], "read_memory", True),
                               (["masked-proc"], "mount_proc", user.uid == 0),
                               (["small-dev"], "fuse", False), (["listener"], "listener_taken", False),
                               (["no-landlock"], "landlock", False), (["spent-userns"], "user_ns", False)]:
        r = pretended(user, words, [BUCKLE, "doctor", "--json"])
        found = {a["name"]: a["good"] for a in json.loads(r.out)["abilities"]}
        t.equal(found[field], good, f"doctor {' '.join(words)}: {field}")


def test_remedies(user, t):
    """Each missing ability has a remedy, as text and as JSON."""
    reported = json.loads(user.call([BUCKLE, "doctor", "--json"]).out)
    t.ok(len(reported["abilities"]) > 15 and {"kernel", "full", "summary", "features", "notes"} <= set(reported),
         "doctor --json has what the manual says", sorted(reported))
    for ability in reported["abilities"]:
        t.ok({"name", "value", "good", "words", "use", "since"} <= set(ability),
             f"doctor --json: {ability['name']}", ability)
        if ability["name"] in ("root", "disks"):  # neither good nor bad
            continue
        bad = "1" if ability["name"] == "listener_taken" else "0"
        env = {"BUCKLE_PRETEND": f"{ability['name']}={bad}"}
        r = user.call([BUCKLE, "doctor", "--json"], env=env)
        found = {a["name"]: a for a in json.loads(r.out)["abilities"]}[ability["name"]]
        text = user.call([BUCKLE, "doctor"], env=env).out
        remedy = found.get("remedy", "")
        t.ok(not found["good"] and len(remedy) > 20 and "✗ " + ability["words"] in text and
             remedy.split("\n")[0] in text, f"doctor without {ability['name']}: a remedy", found)


def test_apparmor(user, t):
    """Ubuntu 24.04: the remedy is a profile."""
    if not only_root_makes(t) or user.uid == 0:
        return
    words = ["empty-userns", "kernel.apparmor_restrict_unprivileged_userns=1"]
    r = pretended(user, words, [BUCKLE, "doctor"])
    t.ok("/etc/apparmor.d/buckle" in r.out and f"profile buckle {BUCKLE}" in r.out and
         "userns," in r.out and "apparmor_parser -r" in r.out, "the AppArmor profile is printed", r)
    r = pretended(user, ["no-userns", "kernel.unprivileged_userns_clone=0"], [BUCKLE, "doctor"])
    t.ok("kernel.unprivileged_userns_clone=1" in r.out, "Debian's old switch", r)


def test_kernels(_user, t):
    """The table in the documentation matches the program."""
    reported = json.loads(drive.buckle("doctor", "--json").out)["features"]
    with open(os.path.join(TOP, "docs", "linux.md"), encoding="utf-8") as f:
        text = f.read()
    rows = re.findall(r"^\| (\d+\.\d+) \| (.*) \| (.*) \|$", text, re.M)
    t.equal(rows, [(f["since"], f["words"], f["without"]) for f in reported], "docs/linux.md")
    with open(os.path.join(TOP, "docs", "man", "buckle-doctor.1.scd"), encoding="utf-8") as f:
        text = f.read().replace("\\_", "_")
    rows = re.findall(r"^\|  (\d+\.\d+)\n:  (.*)$", text, re.M)
    t.equal(rows, [(f["since"], f["words"]) for f in reported], "buckle-doctor(1)")


# ---- root ----

ROOT = """
import os
print(open("theirs").read())
with open("theirs", "a") as f: f.write("!")
os.chown("made", 4242, 4242) if open("made", "w") else 0
os.chmod("theirs", 0o640)
st = os.stat("made"); print(st.st_uid, os.stat("theirs").st_uid, flush=True)
if os.fork() == 0:
    os.setgroups([]); os.setresgid(4242, 4242, 4242); os.setresuid(4242, 4242, 4242)
    try:
        with open("theirs", "a") as f: f.write("?")
    except PermissionError:
        os._exit(1)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_root(user, t):
    """Root can access all files that the policy allows, and can change users."""
    if user.uid != 0:
        return
    for name, words in {"nowhere special": [], "a container's capabilities": ["docker-caps"],
                        "Docker": DOCKER, "Kubernetes": KUBERNETES}.items():
        folder = user.folder()
        os.chmod(user.home, 0o711)
        os.chmod(folder, 0o777)
        with open(folder + "/theirs", "w", encoding="utf-8") as f:
            f.write("theirs")
        os.chown(folder + "/theirs", 4242, 4242)
        os.chmod(folder + "/theirs", 0o600)
        r = pretended(user, words, [BUCKLE, "run", PYTHON, "-c", ROOT], cwd=folder)
        # without CAP_SYS_PTRACE nothing can inspect a process that changed users
        blind = name == "Docker"
        with open(folder + "/theirs", encoding="utf-8") as f:
            t.equal((r.status, r.out, f.read()),
                    (0, f"theirs\n4242 4242\n{int(blind)}\n", "theirs!" if blind else "theirs!?"),
                    f"{name}: files of others", r)
        plan = pretended(user, words, [BUCKLE, "run", "--dry-run"])
        t.equal("change their credentials" in plan.out, blind, f"{name}: the plan says if not all", plan)


def caps_inside(user, *flags, words=()):
    r = pretended(user, words, [BUCKLE, "run", *flags, "grep", "^Cap", "/proc/self/status"])
    sets = dict(re.findall(r"^(Cap\w+):\s*([0-9a-f]+)", r.out, re.M))
    return r, {name: int(value, 16) for name, value in sets.items()}


def test_caps(user, t):
    if user.uid != 0:
        r = user.run("--cap", "net_raw", "true", cwd=user.folder())
        t.ok(r.status == 125 and "only root" in r.err, "--cap is for root", r)
        return
    kept, net_raw, admin = 0xfb, 1 << 13, 1 << 21
    r, have = caps_inside(user)
    t.equal({have[n] for n in ("CapEff", "CapPrm", "CapBnd")}, {kept}, "what work on files needs", r)
    r, have = caps_inside(user, "--cap", "net_raw", "--cap", "CAP_SYS_TIME")
    t.equal({have[n] for n in ("CapEff", "CapPrm", "CapBnd")}, {kept | net_raw | 1 << 25},
            "and what --cap names", r)
    r = user.run("--cap", "fly", "true", cwd=user.folder())
    t.ok(r.status == 125 and "fly" in r.err, "an unknown capability", r)
    r = user.run("--cap", "sys_admin", "true", cwd=user.folder())
    t.ok(r.status == 125 and "--accept-weaker" in r.err and "weakens" in r.err,
         "one that walls depend on is refused", r)
    r, have = caps_inside(user, "--cap", "sys_admin", "--accept-weaker")
    t.equal(have["CapEff"], kept | admin, "--accept-weaker gives it", r)
    r = user.run("--cap", "sys_admin", "--accept-weaker", "sh", "-c",
                   "mount -t tmpfs none . || unshare -m true || chroot . true || "
                   "echo x >/proc/sys/kernel/domainname", cwd=user.folder())
    t.ok(r.status != 0 and "denied" in r.err or "not permitted" in r.err,
         "and the walls stand all the same", r)
    plan = user.run("--dry-run", "--cap", "sys_ptrace", "--accept-weaker", cwd=user.folder()).out
    t.ok(re.search(r"capabilities .*sys_ptrace", plan) and "weaker: capability sys_ptrace" in plan,
         "the plan shows it", plan)
    plan = user.run("--dry-run", "--json", "--cap", "net_raw", cwd=user.folder()).out
    t.ok("net_raw" in json.loads(plan)["capabilities"], "as JSON too", plan[:300])
    if os.path.exists(PRETEND):
        r, _ = caps_inside(user, "--cap", "sys_time", words=["docker-caps"])
        t.ok(r.status == 125 and "does not have it" in r.err, "what one does not have one cannot give",
             r)


# ---- sandboxes around ----


def around(user, t, name, argv, program=None):
    """Buckle inside another sandbox."""
    if program and missing(program):
        return skip(f"{program} is not installed")
    victims, folder = Victims(user), user.folder()
    script = [PYTHON, "-c", ATTACK, *victims.words]
    argv = [word.replace("CWD", folder) for word in argv]
    r = user.call([*argv, BUCKLE, "run", "--deny-read", victims.folder + "/secret", *script],
                    cwd=folder)
    victims.close()
    through = got_through(r)
    return t.ok(r.status == 0 and through == ALLOWED, f"inside {name}", r)


def test_around(user, t):
    around(user, t, "bwrap", ["bwrap", "--dev-bind", "/", "/", "--proc", "/proc"], "bwrap")
    around(user, t, "bwrap with everything unshared",
           ["bwrap", "--unshare-all", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc"], "bwrap")
    read_only = ["bwrap", "--ro-bind", "/", "/", "--bind", "CWD", "CWD", "--dev", "/dev", "--proc", "/proc"]
    around(user, t, "bwrap that is read-only but for the folder and /tmp", [*read_only, "--tmpfs", "/run", "--bind", "/tmp", "/tmp"], "bwrap")
    around(user, t, "bwrap without a network", ["bwrap", "--unshare-net", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc"], "bwrap")
    folder = user.folder()
    r = user.call([word.replace("CWD", folder) for word in read_only] + [BUCKLE, "run", "true"], cwd=folder)
    t.ok(r.status == 0 or "Read-only file system" in r.err, "all read-only: it works, or says why not", r)
    if user.uid == 0:  # it requires an entry in /etc/passwd
        around(user, t, "firejail", ["firejail", "--noprofile", "--quiet"], "firejail")
    around(user, t, "unshare", ["unshare", "-U", "-r"], "unshare")
    around(user, t, "unshare without maps", ["unshare", "-U"], "unshare")
    around(user, t, "a limit of 512 descriptors", ["prlimit", "--nofile=512:512"], "prlimit")
    around(user, t, "setpriv", ["setpriv", "--no-new-privs"], "setpriv")
    if os.geteuid() == 0:
        root = user.folder("root")
        r = attacked(user, [f"chroot={root}", f"cd={user.folder()}"])
        t.equal((r.status, got_through(r)), (0, ALLOWED), "inside a chroot", r)


CODEX = ["writes-walled", "no-network-calls"]


def test_agents_sandbox(user, t):
    """Landlock and a filter without namespaces, as Codex describes its own."""
    if not only_root_makes(t):
        return
    for words in (CODEX[:1], CODEX[1:], CODEX):
        r = attacked(user, words)
        t.equal((r.status, got_through(r)), (0, ALLOWED), f"inside {' '.join(words)}", r)
        t.ok("operations were denied" in r.err, "and reports", r)
    r = pretended(user, CODEX, [BUCKLE, "run", "--allow-net", "example.com", "true"])
    t.ok(r.status == 125 and "hint:" in r.err and "failed" in r.err, "filtered hosts are refused, with a reason", r)
    settings = user.write(user.folder("srt") + "/srt.json", '{"network": {"allowedDomains": [], "deniedDomains": []}, '
                          '"filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}')
    for name, words in (("srt", ["--settings", settings]), ("cage", ["--allow", ".", "--"]),
                        ("sandbox-exec", ["-p", '(version 1)(allow default)(deny file-write* (subpath "/etc"))'])):
        r = pretended(user, CODEX, [os.path.join(names.FOLDER, name), *words, "sh", "-c", "echo x >made && cat made; echo x >/etc/made"])
        t.ok(r.out == "x\n" and not os.path.exists("/etc/made"), f"{name} inside it", r)


def test_runc(user, t):
    """A container of an OCI runtime, with the runtime's own defaults. Only root can start one like this."""
    if user.uid != 0:
        return None
    if missing("runc"):
        return skip("runc is not installed")
    bundle, folder, victims = user.folder("bundle"), user.folder(), Victims(user)
    os.mkdir(bundle + "/root")
    subprocess.run(["runc", "spec"], cwd=bundle, check=True)
    with open(bundle + "/config.json", encoding="utf-8") as f:
        config = json.load(f)
    flags = ["--deny-read", victims.folder + "/secret"]
    config["process"].update(terminal=False, cwd=folder, env=[f"{k}={v}" for k, v in user.env.items()],
                             args=[BUCKLE, "run", *flags, PYTHON, "-c", ATTACK, *victims.words])
    config["root"] = {"path": "root", "readonly": False}
    config["mounts"] = [m for m in config["mounts"] if m["type"] != "cgroup"]
    config["linux"]["namespaces"] = [n for n in config["linux"]["namespaces"] if n["type"] != "cgroup"]
    config["linux"].pop("resources", None)
    with open(bundle + "/config.json", "w", encoding="utf-8") as f:
        json.dump(config, f)
    r = user.call(["unshare", "-m", "sh", "-c", f"mount --bind / root && exec runc --root {bundle}/state run buckle-{os.getpid()}"],
                  cwd=bundle)
    victims.close()
    if "runc run failed" in r.err:
        return skip("runc does not work here")
    return t.equal((r.status, got_through(r)), (0, ALLOWED), "inside runc", r)


def test_nested(user, t):
    """A run inside a run; e2e-nested.py has the rest."""
    folder, other = user.folder(), user.folder("other")
    inner = [BUCKLE, "run", "--accept-weaker"]
    t.equal(user.run(*inner, "sh", "-c", "exit 7", cwd=folder).status, 7, "buckle in buckle: its status")
    t.equal(user.run(*inner, "sh", "-c", "kill -9 $$", cwd=folder).status, -9,
            "or the signal")
    script = f"echo x >in && echo in; echo x >{other}/out && echo out"
    r = user.run(*inner, "-w", other, "sh", "-c", script, cwd=folder)
    t.ok(r.out == "in\n" and "denied" in r.err and not os.path.exists(other + "/out"),
         "the outer judge holds whatever the inner would allow", r)
    # the outer controller builds the inner sandbox, with walls of its own
    r = user.run(*inner, "--dry-run", cwd=folder)
    t.ok("weaker" not in r.out and "listener" not in r.out and "\nLandlock" in r.out,
         "the inner plan is that of a sandbox beside the outer one", r)
    r = user.run(PYTHON, "-c", "import ctypes, os; l = ctypes.CDLL(None, use_errno=True); "
                   "print(l.syscall(444, 0, 0, 1), ctypes.get_errno())", cwd=folder)
    t.equal(r.out, "-1 38\n", "programs find no Landlock inside", r)
    r = user.run(BUCKLE, "doctor", cwd=folder)
    t.ok(r.status == 0 and "inside a sandbox of Buckle" in r.out, "doctor knows", r)


# ---- sandboxes inside ----

SPACES = """
import ctypes, errno, os, sys
outside = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    r = getattr(libc, name)(*args)
    return "done" if r >= 0 else errno.errorcode[ctypes.get_errno()]
def tried(f):
    try:
        f()
        return "done"
    except OSError as e:
        return errno.errorcode[e.errno]
def put(path, text):
    with open(path, "w") as f: f.write(text)
NEWNS, NEWUSER, NEWPID, NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
uid, gid = os.getuid(), os.getgid()
print("user", call("unshare", NEWUSER))
for rounds in range(2): # a user namespace in the user namespace
    print("maps", tried(lambda: (put("/proc/self/setgroups", "deny"),
                                 put("/proc/self/uid_map", f"{uid} {uid} 1"),
                                 put("/proc/self/gid_map", f"{gid} {gid} 1"))))
    if rounds == 0:
        print("again", call("unshare", NEWUSER | NEWPID | NEWNET))
print("mounts", call("unshare", NEWNS))
print("both", call("unshare", NEWUSER | NEWNS))
print("clone3", "done" if libc.syscall(435, 0, 0) >= 0 else errno.errorcode[ctypes.get_errno()])
print("mount", call("mount", b"none", b"/tmp", b"tmpfs", 0, None))
print("bind", call("mount", b"/", b"/tmp", None, 4096, None))
print("umount", call("umount2", b"/proc", 2))
print("pivot", "done" if libc.syscall(155, b".", b".") >= 0 else errno.errorcode[ctypes.get_errno()])
print("inside", tried(lambda: put("made", "x")))
print("outside", tried(lambda: put(outside + "/made", "x")))
print("mode", tried(lambda: os.chmod(outside + "/victim", 0o777)))
os.mkdir("jail"); os.makedirs("jail" + outside); put("jail" + outside + "/victim", "x")
print("chroot", tried(lambda: os.chroot("jail")))
os.chdir("/")
print("jailed", tried(lambda: put(outside + "/victim", "y")), tried(lambda: put("here", "y")),
      tried(lambda: put("../../made", "y")))
print("reads", open(outside[1:] + "/victim").read())
os.symlink("/here", "link"); print("links", tried(lambda: put("link", "z")))
"""
SPACES_WANTED = """user done
maps done
again done
maps done
mounts EPERM
both EPERM
clone3 ENOSYS
mount EPERM
bind EPERM
umount EPERM
pivot EPERM
inside done
outside EPERM
mode EPERM
chroot done
jailed EPERM done EPERM
reads x
links EPERM
"""


def test_spaces(user, t):
    """User namespaces inside: what can be done in them lifts nothing."""
    victims = Victims(user)
    folder = user.folder()
    # who has no CAP_SETFCAP cannot map root, says the kernel
    root = ["--cap", "setfcap", "--accept-weaker"] if user.uid == 0 else []
    r = user.run("--allow-userns", *root, PYTHON, "-c", SPACES, victims.folder, cwd=folder)
    with open(victims.folder + "/victim", encoding="utf-8") as f:
        t.equal((r.out, f.read(), os.path.exists(victims.folder + "/made")),
                (SPACES_WANTED, "x", False), "--allow-userns", r)
    r = user.run(PYTHON, "-c", SPACES, victims.folder, cwd=user.folder())
    t.ok(r.out.startswith("user EPERM\n") and re.search("make +user namespace", r.err) and
         "allow with: --allow-userns " in r.err, "without it the summary names the flag", r)
    victims.close()
    r = user.run("--report", "none", "--accept-weaker", PYTHON, "-c", SPACES, victims.folder,
                   cwd=user.folder(), env={"BUCKLE_PRETEND": "seccomp_notify=0"})
    t.ok(r.out.startswith("user EPERM\n"), "without a judge they are refused all the same", r)


def test_bwrap_inside(user, t):
    if missing("bwrap"):
        return skip("bwrap is not installed")
    folder = user.folder()
    bwrap = ["bwrap", "--unshare-user", "--ro-bind", "/", "/", "true"]
    for words in ([], bwrap[:1] + bwrap[2:]), (["--allow-userns"], bwrap), (["--allow-userns"], ["env", *bwrap]):
        r = user.run(*words[0], *words[1], cwd=folder)
        said = [line for line in r.err.split("\n") if line.startswith("buckle: bwrap cannot work in a sandbox: it makes mounts")]
        t.ok(r.status == 1 and "make  mount namespace" in r.err and len(said) == 1 and "allow with" not in r.err,
             f"{' '.join(words[0])} bwrap: one line says why, and no flag is named", r)
    settings = user.write(folder + "/srt.json", '{"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": '
                          '{"denyRead": [], "allowWrite": [], "denyWrite": []}, "allowNestedUserNamespaces": true}')
    for name, *words in ["srt", "--settings", settings], ["cage"], ["cage", "--deny=/etc/hosts"], ["sandbox-exec", "-p", "(version 1)(allow default)"]:
        r = user.call([os.path.join(names.FOLDER, name), *words, *bwrap], cwd=folder)
        said = [line for line in r.err.split("\n") if line.startswith(f"{name}: bwrap cannot work in a sandbox: ")]
        t.ok(r.status == 1 and len(said) == 1 and "--allow" not in r.err, f"{name} says it, too, {words[-1:]}", r)
    return True


def test_chromium(user, t):
    """Its own sandbox, or none: as the flags say. Root's Chromium wants --no-sandbox anyway."""
    if missing("chromium"):
        return skip("chromium is not installed")
    folder = user.folder()
    page = user.write(folder + "/page.html", "<p id=p></p><script>"
                        "document.getElementById('p').textContent = 'six times seven is ' + 6 * 7"
                        "</script>")
    how = {"cwd": folder, "timeout": 120}
    common = ["--headless", "--disable-gpu", f"--user-data-dir={folder}/data", "file://" + page]
    dump = ["chromium", "--dump-dom", *common]
    if user.uid != 0:
        r = user.run(*dump, **how)
        t.ok(r.status != 0 and "--no-sandbox" in r.err and
             re.search("allow with: .*--allow-userns$", r.err, re.M),
             "chromium: both flags are named", r)
        r = user.run("--allow-userns", *dump, **how)
        t.ok(r.status == 0 and "six times seven is 42</p>" in r.out, "chromium in its own sandbox", r)
        r = user.run("--allow-userns", "chromium", f"--screenshot={folder}/shot.png", *common,
                       **how)
        with open(folder + "/shot.png", "rb") as f:
            t.ok(r.status == 0 and f.read(8) == b"\x89PNG\r\n\x1a\n", "chromium takes a picture", r)
    r = user.run(*dump, "--no-sandbox", **how)
    return t.ok(r.status == 0 and "six times seven is 42</p>" in r.out, "chromium --no-sandbox", r)


def main():
    tests = [test_places, test_ends, test_lacking, test_doctor, test_remedies, test_apparmor, test_kernels, test_root,
             test_caps, test_around, test_agents_sandbox, test_runc, test_nested, test_spaces, test_bwrap_inside]
    if not SLOW:
        tests.append(test_chromium)
    names = sys.argv[1:]
    for_everybody([test for test in tests if not names or test.__name__ in names])
    return done()


if __name__ == "__main__":
    sys.exit(main())
