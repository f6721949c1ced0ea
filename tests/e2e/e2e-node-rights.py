#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The node agent in a container with the rights that packaging/kubernetes gives it: runc runs what the DaemonSet says, and the agent judges other
containers of this machine. Without any one of the capabilities something fails. Prints TAP.
"""

import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from containers import Agent, root_of, why_not
from drive import BUCKLE, FOLDER

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROFILES = {"rights": "(version 1)\n(allow default)\n(allow file-write-setugid)\n(deny file-write* (subpath \"/tmp\"))\n(deny file-read* (subpath \"/secret\"))\n"
            "(deny file-write* (literal \"/work/kill\") (with send-signal SIGKILL))\n"}
# what Docker and Podman give to a container, as far as file systems are concerned
INSIDE = ["CAP_" + c for c in ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "SETFCAP", "SETGID", "SETPCAP", "SETUID")]

# each is a line that a judged call makes: what works under the profile must work, what does not must not
STEPS = """
import os, stat
def ada(what):
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([]); os.setresgid(1000, 1000, 1000); os.setresuid(1000, 1000, 1000)
            what()
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])  # negative: a signal
def must(name, what):
    try:
        what()
        print(name, "did")
    except OSError as e:
        print(name, type(e).__name__)
def denied(name, what):
    try:
        what()
        print(name, "LET THROUGH")
    except OSError:
        print(name, "denied")
def as_ada(name, what):
    print(name, "did" if ada(what) == 0 else "no")
put = lambda path: open(path, "w").close()
os.chmod("/work", 0o777)
must("write", lambda: put("/work/mine"))
denied("tmp", lambda: put("/tmp/x"))
denied("secret", lambda: open("/secret/key"))
as_ada("ada-writes", lambda: put("/work/hers"))
print("ada-owns", os.stat("/work/hers").st_uid if os.path.exists("/work/hers") else "nothing")
as_ada("ada-closes", lambda: (os.mkdir("/work/closed", 0o700), put("/work/closed/f")))
must("override", lambda: put("/work/closed/g"))
must("chown", lambda: os.chown("/work/mine", 1000, 1000))
must("chmod", lambda: os.chmod("/work/hers", 0o600))
must("mknod", lambda: os.mknod("/work/fifo-like", stat.S_IFCHR | 0o600, os.makedev(1, 3)))
must("setgid", lambda: (os.chown("/work/mine", 0, 1000), os.chmod("/work/mine", 0o2770)))
print("setgid-bit", oct(os.stat("/work/mine").st_mode))
must("filecap", lambda: os.setxattr("/work/mine", "security.capability", bytes.fromhex("0100000200040000000000000000000000000000")))
print("ada-is-killed", ada(lambda: put("/work/kill")))
os.mkdir("/work/roots", 0o755)
as_ada("ada-not-root", lambda: put("/work/roots/x"))
"""


def daemon():
    """The container of the DaemonSet that judges."""
    import yaml
    with open(os.path.join(TOP, "packaging", "kubernetes", "manifests.yaml"), encoding="utf-8") as f:
        objects = [o for o in yaml.safe_load_all(f) if o]
    pod = next(o for o in objects if (o["kind"], o["metadata"]["name"]) == ("DaemonSet", "buckle-node"))["spec"]["template"]["spec"]
    return pod, next(c for c in pod["containers"] if c["name"] == "node")


class PodAgent(Agent):
    """The agent as a container of runc, with what the manifest says."""

    def __init__(self, profiles, without=()):
        self.pod, self.container = daemon()
        self.without = without
        super().__init__(profiles)

    def config(self):
        args = [a for a in self.container["args"] if not a.startswith("--keep")] + ["--keep=none"]
        args = [a.replace("/run/buckle/", self.folder + "/").replace("0.0.0.0:9466", "127.0.0.1:9466") for a in args]
        caps = ["CAP_" + c for c in self.container["securityContext"]["capabilities"]["add"] if c not in self.without]
        kinds = ["mount", "ipc", "uts", "network", "cgroup"] + ([] if self.pod["hostPID"] else ["pid"])
        bind = lambda source, destination, *flags: {"type": "bind", "source": source, "destination": destination, "options": ["rbind", *flags]}
        mounts = [{"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]},
                  {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
                  bind(self.folder, self.folder), bind(self.profiles, "/etc/buckle/profiles", "ro"), bind("/sys/fs/cgroup", "/sys/fs/cgroup"),
                  {"destination": "/run/buckle-events", "type": "tmpfs", "source": "tmpfs", "options": ["mode=2770", "gid=65532"]}]
        return {"ociVersion": "1.0.2", "root": {"path": "rootfs", "readonly": self.container["securityContext"]["readOnlyRootFilesystem"]}, "hostname": "pod",
                "process": {"args": ["/usr/bin/buckle", *args], "cwd": "/", "env": ["PATH=/usr/bin"], "user": {"uid": 0, "gid": 0}, "noNewPrivileges": False,
                            "capabilities": {k: caps for k in ("bounding", "effective", "permitted")}},
                "mounts": mounts,
                "linux": {"namespaces": [{"type": k} for k in kinds], "resources": {"devices": [{"allow": False, "access": "rwm"}]},
                          "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware"],
                          "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]}}

    def start(self):
        self.name = f"pod{os.getpid()}-{Agent.count}"
        folder = os.path.join(self.folder, "pod")
        for part in ("usr/bin", "proc", "dev", "etc/buckle/profiles", "sys/fs/cgroup", "run/buckle-events", self.folder.lstrip("/")):
            os.makedirs(os.path.join(folder, "rootfs", part), exist_ok=True)
        shutil.copy(BUCKLE, os.path.join(folder, "rootfs", "usr", "bin", "buckle"))
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
            json.dump(self.config(), f)
        with open(self.log, "ab") as out, open(self.log + ".err", "ab") as err:
            self.child = subprocess.Popen(["runc", *root_of("runc"), "run", "-b", folder, self.name], stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        self.wait(lambda e: any(x["event"] == "ready" for x in e))

    def stop(self):
        subprocess.run(["runc", *root_of("runc"), "kill", self.name, "KILL"], capture_output=True, check=False)
        self.child.wait(20)
        subprocess.run(["runc", *root_of("runc"), "delete", "-f", self.name], capture_output=True, check=False)


def steps(without=()):
    agent = PodAgent(PROFILES, without)
    try:
        status, out, err, _ = agent.run("rights", ["/usr/bin/python3", "-c", STEPS], debian=True, timeout=30, name="rights-" + ("-".join(without) or "all"),
                                        capabilities={k: INSIDE for k in ("bounding", "effective", "permitted")})
        with open(agent.log + ".err", encoding="utf-8", errors="replace") as f:
            why = f.read()
        return dict(line.split(" ", 1) for line in out.splitlines()), (status, err, why, agent.events("refused")[-1:])
    finally:
        agent.stop()


WHOLE = {"write": "did", "tmp": "denied", "secret": "denied", "ada-writes": "did", "ada-owns": "1000", "ada-closes": "did", "override": "did", "chown": "did",
         "chmod": "did", "mknod": "did", "setgid": "did", "setgid-bit": "0o102770", "filecap": "did", "ada-not-root": "no", "ada-is-killed": "-9"}


def main():
    reason = why_not("runc")
    try:
        import yaml  # noqa
    except ImportError:
        reason = reason or "yaml is not installed"
    if not reason:
        linked = subprocess.run(["ldd", BUCKLE], capture_output=True, text=True, check=False)
        reason = None if re.search("not a dynamic|statically", linked.stdout + linked.stderr) else "a static program is not installed"
    if reason:
        tap.skip(reason)
        return tap.done()
    got, why = steps()
    tap.equal(got, WHOLE, f"with the manifest's rights all works, and nothing more {why}")
    for one in daemon()[1]["securityContext"]["capabilities"]["add"]:
        got, why = steps((one,))
        wrong = {k: v for k, v in got.items() if WHOLE[k] != v}
        print(f"# without {one}: {'nothing starts' if not got else wrong} {why[3] if not got else ''}")
        tap.ok(got != WHOLE, f"without {one} something fails")
        tap.ok("LET THROUGH" not in got.values() and got.get("ada-not-root", "no") == "no", f"without {one} nothing is let through", got)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
