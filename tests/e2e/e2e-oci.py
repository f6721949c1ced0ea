#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle oci`: a runtime that puts a profile's section into config.json, behind which runc and crun start the container. By itself, by Podman and by
containerd, and by Docker; and by the engines' own seccomp option. What it makes of config.json files that lie. Prints TAP.
"""

import json
import os
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from containers import Agent, Containerd, Docker, Podman, bundle, crun_here, engine_profile, root_of, why_not
from drive import BUCKLE, FOLDER, write

PROFILES = {
    "write": """(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath "/work") (literal "/dev/null") (literal "/dev/tty"))
""",
    "read": """(version 1)
(allow default)
(deny file-read* (subpath "/secret"))
""",
    "sockets": """(version 1)
(allow default)
(deny network-outbound (subpath "/run"))
(deny file-write* (literal "/tmp/new"))
""",
    "exec": """(version 1)
(allow default)
(deny process-exec)
(allow process-exec (literal "/bin/busybox"))
""",
    "open": "(version 1)\n(allow default)\n",
    "broken": "(version 1)\n(allow default\n",
}

ROWS = [("write", "echo x > /work/new && echo did", True), ("write", "echo x > /tmp/new && echo did", False), ("read", "cat /secret/key >/dev/null && echo did", False),
        ("read", "cat /tmp/plain >/dev/null && echo did", True), ("exec", "cp /bin/busybox /work/true; /work/true && echo did", False),
        ("sockets", "echo x > /tmp/new && echo did", False), ("open", "echo x > /tmp/new && echo did", True)]


def oci(agent, runtime, *argv, cwd=FOLDER, check=False, profiles=None):
    return subprocess.run([BUCKLE, "oci", "--runtime", runtime, "--socket", agent.socket, "--profiles", profiles or agent.profiles, "--", *argv], cwd=cwd,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=check, text=True)


def wrapper(agent, runtime):
    """An executable that an engine can take for a runtime."""
    path = os.path.join(FOLDER, write("wrapper-" + os.path.basename(runtime), f"""#!/bin/sh
exec {BUCKLE} oci --runtime {runtime} --socket {agent.socket} --profiles {agent.profiles} -- "$@"
"""))
    os.chmod(path, 0o755)
    return path


class Taken:
    """A runtime that keeps what it was given, in place of a real one."""

    def __init__(self):
        self.path = os.path.join(FOLDER, "taken")
        self.argv = self.path + ".argv"
        with open(self.path, "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\nfor word; do echo \"$word\"; done > {self.argv}\nexit 7\n")
        os.chmod(self.path, 0o755)

    def clear(self):
        if os.path.exists(self.argv):
            os.unlink(self.argv)

    def words(self):
        if not os.path.exists(self.argv):
            return None
        with open(self.argv, encoding="utf-8") as f:
            return f.read().splitlines()


def config_of(folder, change=None):
    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as f:
        config = json.load(f)
    if change:
        change(config)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(config, f)
    return config


def arguments(agent, taken):
    folder = bundle("args", ["/bin/true"], annotations={"org.buckle.profile": "write"})
    text = os.path.join(folder, "config.json")
    with open(text, "rb") as f:
        original = f.read()

    def run(*argv, cwd=FOLDER):
        taken.clear()
        with open(text, "wb") as f:
            f.write(original)
        done = oci(agent, taken.path, *argv, cwd=cwd)
        with open(text, "rb") as f:
            return done, taken.words(), f.read() != original

    for argv in (["create", "--bundle", folder, "id"], ["--root", "create", "--log=x", "run", "-b", folder, "id"], ["--debug", "--systemd-cgroup", "create", "-bundle=" + folder,
                 "--pid-file", "p", "--no-pivot", "id"], ["create", "--console-socket", "s", "--bundle=" + folder, "--", "id"]):
        done, words, edited = run(*argv)
        tap.ok(done.returncode == 7 and words == argv and edited, f"edits config.json, and executes the runtime with {argv[:4]}", done, words)
    done, words, edited = run("create", "id", cwd=folder)
    tap.ok(words == ["create", "id"] and edited, "the working folder is the bundle by default", done, words)
    done, words, edited = run("run", "-b", os.path.dirname(folder), "-f", "args/config.json", "id")
    tap.ok(words and edited, "crun's --config", done, words)
    for argv in (["--root", "create", "state", "id"], ["exec", "-t", "id", "create"], ["--version"], ["kill", "--bundle", "id", "KILL"], []):
        done, words, edited = run(*argv)
        tap.ok(words == argv and not edited, f"other commands pass as they are: {argv}", done, words)
    for argv in (["--unknown", "create", "-b", folder, "id"], ["make", "-b", folder, "id"], ["create", "--bundl", folder, "id"], ["create", "-b" + folder, "id"],
                 ["create", "--bundle"], ["create", "--bundle", folder], ["create", "-b", folder, "id", "id2"], ["restore", "-b", folder, "id"], ["--root"],
                 ["create", "-b", "/nonexistent", "id"]):
        done, words, edited = run(*argv)
        tap.ok(done.returncode == 2 and words is None and not edited and done.stderr.startswith("buckle: "), f"refused: {argv}", done, words)
    log = os.path.join(FOLDER, "oci.log")
    run("--log", log, "--log-format", "json", "create", "--bund", folder, "id")
    with open(log, encoding="utf-8") as f:
        told = json.loads(f.read())
    tap.ok(told["level"] == "error" and "--bund" in told["msg"], "the reason is in the runtime's log, too", told)
    for name in ("buckle-oci", "buckle-runc"):
        link = os.path.join(FOLDER, name)
        os.symlink(BUCKLE, link)
        done = subprocess.run([link, "--version"], capture_output=True, text=True, check=False)
        tap.ok(done.stdout.startswith("runc version"), f"{name} is a runtime", done)
    done = subprocess.run([os.path.join(FOLDER, "buckle-runc"), "create", "--bundl", "x"], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 2 and "--bundl" in done.stderr, "and as strict", done)


def deep(config):
    at = config["linux"]
    for _ in range(100):
        at["x"] = {}
        at = at["x"]


def hostile(agent, taken):
    """config.json files that the runtime must not get to see."""
    def seccomp(**more):
        return lambda c: c["linux"].update(seccomp={"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [], **more})

    def rule(**more):
        return seccomp(syscalls=[{"names": ["read"], "action": "SCMP_ACT_ALLOW", **more}])

    cases = {
        "Linux beside linux": lambda c: c.update(Linux={"seccomp": None}),
        "seccomp with a long s": lambda c: c["linux"].update({"\u017feccomp": None}),
        "maskedpaths beside maskedPaths": lambda c: c["linux"].update(maskedpaths=[]),
        "Annotations": lambda c: c.update(Annotations={"org.buckle.profile": "open"}),
        "no linux": lambda c: c.pop("linux"),
        "linux as a list": lambda c: c.update(linux=[]),
        "no annotation and no default": lambda c: c.update(annotations={}),
        "an annotation that is a path": lambda c: c.update(annotations={"org.buckle.profile": "../profiles/open"}),
        "an annotation with NUL": lambda c: c.update(annotations={"org.buckle.profile": "open\0x"}),
        "an annotation that is a number": lambda c: c.update(annotations={"org.buckle.profile": 1}),
        "a missing profile": lambda c: c.update(annotations={"org.buckle.profile": "nothing"}),
        "a broken profile": lambda c: c.update(annotations={"org.buckle.profile": "broken"}),
        "too deep": deep,
        "masked paths that are none": lambda c: c["linux"].update(maskedPaths={}) or c.update(annotations={"org.buckle.profile": "read"}),
        "another listener": seccomp(listenerPath="/run/other.sock"),
        "an unknown default": seccomp(defaultAction="SCMP_ACT_TRACE"),
        "an unknown member": seccomp(DefaultAction="SCMP_ACT_ALLOW"),
        "an unknown action": rule(action="SCMP_ACT_TRACE"),
        "a rule with two spellings": rule(Action="SCMP_ACT_ERRNO"),
        "an errno that is none": rule(errnoRet=5000),
        "args that are none": rule(args={"index": 0}),
        "names that are none": rule(names="read"),
        "syscalls that are none": seccomp(syscalls={}),
        "forbidden by arguments only": lambda c: c["linux"].update(seccomp={"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
            {"names": ["socket"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 0, "value": 40, "op": "SCMP_CMP_EQ"}]}]}),
    }
    for what, change in cases.items():
        taken.clear()
        folder = bundle("hostile", ["/bin/true"], annotations={"org.buckle.profile": "write"})
        before = config_of(folder, change)
        done = oci(agent, taken.path, "create", "-b", folder, "id")
        tap.ok(done.returncode == 2 and taken.words() is None and config_of(folder) == before and sorted(os.listdir(folder)) == ["config.json", "rootfs"],
               f"refused: {what}", done)
    for what, text in (("twice the same member", b'{"linux":{},"linux":{},"annotations":{"org.buckle.profile":"write"}}'), ("half of it", b'{"linux":{'), ("nothing", b""),
                       ("bytes that are no UTF-8", b'{"linux":{"x":"\xff"}}'), ("two megabytes", b'{"linux":{}' + b" " * (2 << 20) + b"}")):
        with open(os.path.join(folder, "config.json"), "wb") as f:
            f.write(text)
        done = oci(agent, taken.path, "create", "-b", folder, "id")
        tap.ok(done.returncode == 2 and taken.words() is None, f"refused: {what}", done)
    for what in ("link", "fifo"):
        path = os.path.join(folder, "config.json")
        os.unlink(path)
        os.symlink("/etc/hostname", path) if what == "link" else os.mkfifo(path)
        done = oci(agent, taken.path, "create", "-b", folder, "id")
        tap.ok(done.returncode == 2 and taken.words() is None, f"refused: config.json is a {what}", done)


def merged(agent, taken):
    """What the file says afterwards."""
    def made(change, profile="write"):
        folder = bundle("merged", ["/bin/true"], annotations={"org.buckle.profile": profile})
        os.chmod(os.path.join(folder, "config.json"), 0o640)
        before = config_of(folder, change)
        oci(agent, taken.path, "create", "-b", folder, "id")
        return before, config_of(folder), folder

    before, after, folder = made(lambda c: c["process"].update(rlimits=[{"type": "RLIMIT_CORE", "hard": 18446744073709551615, "soft": 18446744073709551615}]))
    ours = agent.seccomp("write")
    tap.ok(after["linux"].pop("seccomp") == ours, "without a section, it gets ours")
    tap.equal(after, before, "and all else is as it was, large numbers too")
    tap.equal((stat.S_IMODE(os.stat(os.path.join(folder, "config.json")).st_mode), sorted(os.listdir(folder))), (0o640, ["config.json", "rootfs"]), "the file's mode stays; nothing is left beside it")
    _, after, _ = made(lambda c: c["linux"].update(maskedPaths=["/proc/kcore"]), "read")
    tap.equal(after["linux"]["maskedPaths"], ["/proc/kcore", "/secret"], "masked paths are added")

    def actions(section, call):
        return [(r["action"], r.get("errnoRet"), len(r.get("args", []))) for r in section["syscalls"] if call in r["names"]]

    condition = [{"index": 0, "value": 16, "op": "SCMP_CMP_NE"}]
    theirs = {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38, "flags": ["SECCOMP_FILTER_FLAG_LOG"], "syscalls": [
        {"names": ["read", "openat", "execve"], "action": "SCMP_ACT_ALLOW"}, {"names": ["socket", "unlink"], "action": "SCMP_ACT_ALLOW", "args": condition},
        {"names": ["getpid"], "action": "SCMP_ACT_ERRNO", "errnoRet": 13}, {"names": ["bind"], "action": "SCMP_ACT_KILL_PROCESS"}]}
    _, after, _ = made(lambda c: c["linux"].update(seccomp=theirs))
    section = after["linux"]["seccomp"]
    want = {"read": [("SCMP_ACT_ALLOW", None, 0)], "openat": actions(ours, "openat"), "execve": [("SCMP_ACT_NOTIFY", None, 0)], "unlink": [("SCMP_ACT_NOTIFY", None, 1)],
            "getpid": [("SCMP_ACT_ERRNO", 13, 0)], "getuid": [("SCMP_ACT_ERRNO", 38, 0)], "bind": [("SCMP_ACT_ERRNO", 38, 0)]}
    tap.equal({call: actions(section, call) for call in want}, want, "merged: what both allow")
    tap.equal((section["flags"], section["listenerPath"], section["defaultAction"]), (theirs["flags"], agent.socket, "SCMP_ACT_ERRNO"), "merged: the engine's flags, our listener")
    done = oci(agent, taken.path, "create", "-b", folder, "id")
    _, again, folder = made(lambda c: c["linux"].update(seccomp=ours))
    again = again["linux"]["seccomp"]
    want = {call: actions(ours, call) for call in ("read", "execve", "mount")}
    tap.equal(({call: actions(again, call) for call in want}, {action for action, _, _ in actions(again, "openat")}), (want, {"SCMP_ACT_NOTIFY"}),
              f"a section of ours can be merged again; conditions are judged {done.returncode}")


def default_profile(agent, taken):
    profiles = os.path.join(FOLDER, "with-default")
    shutil.copytree(agent.profiles, profiles)
    shutil.copy(os.path.join(profiles, "read.sb"), os.path.join(profiles, "default.sb"))
    folder = bundle("default", ["/bin/true"])
    oci(agent, taken.path, "create", "-b", folder, "id", profiles=profiles)
    tap.ok(config_of(folder)["linux"]["seccomp"]["listenerMetadata"].startswith("default@"), "default.sb counts for containers without an annotation")


def by_hand(agent, runtime, name, **more):
    for profile, command, want in ROWS:
        folder = bundle(f"{name}-{profile}", ["/bin/sh", "-c", f"({command}); echo end"], engine_profile() if profile == "write" else None,
                        annotations={"org.buckle.profile": profile}, **more)
        if name == "crun":
            config_of(folder, lambda c: c["linux"].pop("resources"))
        done = oci(agent, runtime, *root_of(name), "run", "-b", folder, f"{name}-{profile}")
        tap.ok("end" in done.stdout and ("did" in done.stdout) == want, f"{name}: {profile}: {command}", done)
    folder = bundle(f"{name}-caps", ["/bin/sh", "-c", "echo x > /tmp/x; id -u"], annotations={"org.buckle.profile": "write"}, noNewPrivileges=False)
    if name == "crun":
        config_of(folder, lambda c: c["linux"].pop("resources"))
    done = oci(agent, runtime, *root_of(name), "run", "-b", folder, f"{name}-caps")
    tap.ok(done.stdout == "0\n" and "ermitted" in done.stderr, f"{name}: without noNewPrivileges", done)


STORM = """import os, signal, time
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
wrong, end = 0, time.monotonic() + 1
while time.monotonic() < end:
    made = libc.mkdir(b"/work/d", 0o700)
    wrong += made != 0
    libc.rmdir(b"/work/d")
signal.setitimer(signal.ITIMER_REAL, 0)
print("twice" if wrong else "once")
"""


def interrupted(agent, crun):
    """With the flag that crun knows, a signal makes no judged call happen twice."""
    for flags, want in (([], "twice\n"), (["SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"], "once\n")):
        name = f"crun-storm-{len(flags)}"
        folder = bundle(name, ["/usr/bin/python3", "-c", STORM], {**engine_profile(), "defaultAction": "SCMP_ACT_ALLOW", "flags": flags}, debian=True,
                        annotations={"org.buckle.profile": "write"})
        config_of(folder, lambda c: c["linux"].pop("resources"))
        done = oci(agent, crun, *root_of("crun"), "run", "-b", folder, name)
        tap.equal(done.stdout, want, f"crun: a storm of signals with the flags {flags} {done.stderr[-300:]}")


def stale(agent):
    section = agent.seccomp("write")
    agent.profile("write", PROFILES["write"] + "(deny process-fork)\n")
    status, out, _, _ = agent.run("write", "echo started", section=section)
    tap.ok(status != 0 and out == "" and "another version" in agent.events("refused")[-1]["reason"], "refused: a filter of another version of the profile", out,
           agent.events("refused")[-1:])
    agent.profile("write", PROFILES["write"])


def with_engine(agent, engine, runtimes):
    """An engine with our runtime, and with its own option for a filter."""
    for name, runtime in runtimes:
        wrapped = wrapper(agent, runtime)
        for profile, command, want in ROWS[:5] if name == "runc" else ROWS[:2]:
            done = engine.run(["/bin/sh", "-c", f"({command}); echo end"], runtime=wrapped, annotation="org.buckle.profile=" + profile, privileged=name == "crun")
            tap.ok("end" in done.stdout and ("did" in done.stdout) == want, f"{engine.name}, {name}: {profile}: {command}", done)
        done = engine.run(["/bin/echo", "started"], runtime=wrapped, privileged=name == "crun")
        tap.ok(done.returncode != 0 and "started" not in done.stdout and "names no profile" in done.stderr, f"{engine.name}, {name}: refused without a profile, with the reason", done)
    section = write("section.json", json.dumps(agent.seccomp("write")))
    done = engine.run(["/bin/sh", "-c", "echo x > /work/a && echo work; echo x > /tmp/a && echo tmp"], seccomp=os.path.join(FOLDER, section))
    tap.ok(done.stdout == "work\n", f"{engine.name}: its own seccomp option", done)


def from_image(podman):
    """Profiles that an image carries: Podman mounts it, and the agent takes the folder."""
    source = os.path.join(FOLDER, "image-of-profiles")
    os.mkdir(source)
    for name, text in (("web", PROFILES["write"]), ("broken", PROFILES["broken"])):
        with open(os.path.join(source, name + ".sb"), "w", encoding="utf-8") as f:
            f.write(text)
    os.symlink("/etc/hostname", os.path.join(source, "out.sb"))
    podman.add("profiles:1", source)
    mounted = subprocess.run([*podman.base, "image", "mount", "profiles:1"], capture_output=True, timeout=60, check=True, text=True).stdout.strip()
    agent = Agent({}, "--profiles", mounted)
    agent.profiles = mounted
    try:
        _, out, err, _ = agent.run("web", "echo x > /work/a && echo work; echo x > /tmp/a && echo tmp")
        tap.ok(out == "work\n" and "ermitted" in err, "profiles in an image: a container is judged by one", out, err, agent.events("refused"))
        section = agent.seccomp("web")
        for name, words in (("broken", "broken.sb:2"), ("out", "out.sb"), ("nothing", "nothing.sb")):
            before = len(agent.events("refused"))
            status, out, _, _ = agent.run("web", "echo started", section=dict(section, listenerMetadata=name))
            agent.wait(lambda e, n=before: sum(x["event"] == "refused" for x in e) > n)
            reason = agent.events("refused")[-1]["reason"]
            tap.ok(status != 0 and out == "" and words in reason, f"profiles in an image: {name} is refused with the reason", status, out, reason)
    finally:
        agent.stop()
        subprocess.run([*podman.base, "image", "umount", "profiles:1"], capture_output=True, check=False)


def with_docker(agent):
    engine = Docker(wrapper(agent, "runc"))
    try:
        command = "echo x > /work/a && echo work; echo x > /tmp/a && echo tmp"
        done = engine.run(["/bin/echo", "started"], "--runtime", "buckle")
        tap.ok(done.returncode != 0 and "started" not in done.stdout and "names no profile" in done.stderr, "Docker: refused without a profile, with the reason", done)
        agent.profile("default", PROFILES["write"])
        done = engine.run(["/bin/sh", "-c", command], "--runtime", "buckle")
        tap.ok(done.stdout == "work\n" and "ermitted" in done.stderr, "Docker: default.sb counts", done)
        engine.run(["/bin/sleep", "30"], "--runtime", "buckle", "-d", "--name", "stays")
        done = engine.docker("exec", "stays", "/bin/sh", "-c", command)
        tap.ok(done.stdout == "work\n" and "ermitted" in done.stderr, "Docker: and for what joins a container", done)
        engine.docker("kill", "stays")
        section = write("docker.json", json.dumps(agent.seccomp("write")))
        done = engine.run(["/bin/sh", "-c", command], "--security-opt", "seccomp=" + os.path.join(FOLDER, section))
        # this version drops the listener's path; a later one knows it
        tap.ok("tmp" not in done.stdout and (done.returncode != 0 or done.stdout == "work\n"), "Docker: its own seccomp option lets nothing through", done)
    finally:
        engine.stop()


def main():
    reason = why_not("runc")
    if reason:
        tap.skip(reason)
        return tap.done()
    agent, taken = Agent(PROFILES), Taken()
    containerd = None
    try:
        for part in (arguments, hostile, merged, default_profile):
            part(agent, taken)
        stale(agent)
        by_hand(agent, "runc", "runc")
        crun = crun_here()
        if crun:
            by_hand(agent, crun, "crun")
            interrupted(agent, crun)
        else:
            tap.skip("crun does not work here")
        if Podman.why_not():
            tap.skip(Podman.why_not())
        else:
            podman = Podman()
            with_engine(agent, podman, [("runc", "runc")] + ([("crun", crun)] if crun else []))
            from_image(podman)
        if Containerd.why_not():
            tap.skip(Containerd.why_not())
        else:
            containerd = Containerd()
            with_engine(agent, containerd, [("runc", "runc")])
        if Docker.why_not():
            tap.skip(Docker.why_not())
        else:
            with_docker(agent)
    finally:
        agent.stop()
        if containerd:
            containerd.stop()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
