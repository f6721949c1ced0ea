# SPDX-License-Identifier: Apache-2.0
"""Containers for the tests of the node agent: bundles, a running agent, runtimes."""

import hashlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import time

from drive import BUCKLE, FOLDER

CAPS = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_MKNOD", "CAP_SETUID", "CAP_SETGID"]
APPLETS = ("sh", "ls", "cat", "echo", "mkdir", "touch", "rm", "mv", "ln", "mknod", "id", "sleep", "true", "chmod", "readlink", "su", "wc", "head", "dd",
           "nc", "kill", "ps", "mount", "chroot", "stat", "grep", "rmdir", "cp", "test")
# what a Debian root has besides busybox: this machine's own, read-only
DEBIAN = [p for p in ("/usr", "/bin", "/lib", "/lib64", "/etc") if os.path.isdir(p)]


def why_not(runtime):
    """Why containers cannot be tested here, or None."""
    if not shutil.which(runtime):
        return f"{runtime} is not installed"
    if os.geteuid() != 0:
        return "containers are started by root"
    if not shutil.which("busybox"):
        return "busybox is not installed"
    folder = bundle("probe", ["/bin/true"])
    done = subprocess.run([runtime, *root_of(runtime), "run", "-b", folder, "probe"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    return None if done.returncode == 0 else f"{runtime} does not work here"


def root_of(runtime):
    return ["--root", os.path.join(FOLDER, runtime + "-state")]


def bundle(name, args, seccomp=None, debian=False, **more):
    """Makes a bundle with a root file system of busybox, and Debian's if asked for. Returns its folder."""
    folder = os.path.join(FOLDER, "bundles", name)
    root = os.path.join(folder, "rootfs")
    links = [p for p in DEBIAN if os.path.islink(p)] if debian else []
    for part in ("bin", "proc", "dev", "tmp", "work", "secret", "etc", "usr", "lib", "lib64"):
        if "/" + part not in links:
            os.makedirs(os.path.join(root, part), exist_ok=True)
    for path in links:
        if not os.path.lexists(root + path):
            os.symlink(os.readlink(path), root + path)
    mounts = [{"destination": "/proc", "type": "proc", "source": "proc"},
              {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
              {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666"]}]
    if debian:
        mounts += [{"destination": p, "type": "bind", "source": p, "options": ["rbind", "ro"]} for p in DEBIAN if p not in links]
    else:
        if not os.path.exists(os.path.join(root, "bin", "busybox")):
            shutil.copy(shutil.which("busybox"), os.path.join(root, "bin", "busybox"))
            for applet in APPLETS:
                os.symlink("busybox", os.path.join(root, "bin", applet))
            for path, text in (("etc/passwd", "root:x:0:0::/:/bin/sh\nada:x:1000:1000::/:/bin/sh\n"), ("secret/key", "secret\n"), ("work/old", "old\n"),
                               ("tmp/id.key", "key\n"), ("tmp/plain", "plain\n")):
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write(text)
    config = {"ociVersion": "1.0.2",
              "process": {"args": args, "cwd": "/", "env": ["PATH=/usr/bin:/bin"], "user": {"uid": 0, "gid": 0}, "noNewPrivileges": True,
                          "capabilities": {k: CAPS for k in ("bounding", "effective", "permitted")}},
              "root": {"path": "rootfs"}, "hostname": "inside", "mounts": mounts, "annotations": more.pop("annotations", {}),
              "linux": {"namespaces": [{"type": t} for t in ("pid", "network", "ipc", "uts", "mount")],
                        "resources": {"devices": [{"allow": False, "access": "rwm"}]}}}
    if more.pop("host_network", False):
        config["linux"]["namespaces"] = [n for n in config["linux"]["namespaces"] if n["type"] != "network"]
    network = more.pop("network", None)
    for space in config["linux"]["namespaces"]:
        if network and space["type"] == "network":
            space["path"] = network
    for source, place, options in more.pop("binds", ()):
        config["mounts"].append({"destination": place, "type": "bind", "source": source, "options": options.split(",")})
    if more.pop("shared", False):  # as engines do
        config["mounts"] += [{"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "nodev", "mode=1777"]},
                             {"destination": "/dev/mqueue", "type": "mqueue", "source": "mqueue"}]
    config["process"].update(more)
    if seccomp:
        config["linux"]["seccomp"] = seccomp
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)
    return folder


class Agent:
    """A running agent with a folder of profiles, and the lines that it printed."""

    count = 0

    def __init__(self, profiles, *flags, popen=subprocess.Popen):
        Agent.count += 1
        self.folder = os.path.join(FOLDER, f"agent{Agent.count}")
        self.profiles = os.path.join(self.folder, "profiles")
        os.makedirs(self.profiles)
        for name, text in profiles.items():
            self.profile(name, text)
        self.socket = os.path.join(self.folder, "node.sock")
        self.log = os.path.join(self.folder, "events")
        self.flags = flags
        self.popen = popen
        self.n = 0
        self.start()

    def profile(self, name, text):
        with open(os.path.join(self.profiles, name + ".sb"), "w", encoding="utf-8") as f:
            f.write(text)

    def start(self):
        ready = sum(e["event"] == "ready" for e in self.events()) if os.path.exists(self.log) else 0
        with open(self.log, "ab") as out:
            self.child = self.popen([BUCKLE, "node", "--socket", self.socket, "--profiles", self.profiles, *self.flags], stdout=out,
                                    stdin=subprocess.DEVNULL)
        self.wait(lambda e: sum(x["event"] == "ready" for x in e) > ready)

    def events(self, kind=None, container=None):
        with open(self.log, encoding="utf-8") as f:
            text = f.read()
        found = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines() if line]
        return [e for e in found if (not kind or e["event"] == kind) and (not container or e.get("container") == container)]

    def wait(self, test, seconds=10):
        """Waits until test(events) holds. Returns whether it does."""
        until = time.monotonic() + seconds
        while not test(self.events()):
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True

    def seccomp(self, name, metadata=None):
        done = subprocess.run([BUCKLE, "node", "spec", "--seccomp", *[f for f in self.flags if f == "--gate"], "--socket", self.socket, os.path.join(self.profiles, name + ".sb")], capture_output=True,
                              check=True)
        section = json.loads(done.stdout)
        if metadata is not None:
            section["listenerMetadata"] = metadata
        return section

    def run(self, profile, args, runtime="runc", metadata=None, timeout=60, name=None, section=None, given=None, keep=None, **more):
        """Runs a container to its end, without a filter if the profile is None, with the file `keep` as descriptor 3. Returns (status, output, errors, id)."""
        self.n += 1
        name = name or f"c{os.getpid()}-{self.n}"
        words = args if isinstance(args, list) else ["/bin/sh", "-c", args]
        folder = bundle(name, words, profile and (section or self.seccomp(profile, metadata)), **more)
        words = [runtime, *root_of(runtime), "run", *(["--preserve-fds", "1"] if keep else []), "-b", folder, name]
        words = ["/bin/sh", "-c", 'exec 3<"$0"; exec "$@"', keep, *words] if keep else words
        done = subprocess.run(words, input=given or b"", stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, check=False)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), name

    def begin(self, profile, args, runtime="runc", **more):
        """Starts a container in the background. Returns (process, id)."""
        self.n += 1
        name = f"c{os.getpid()}-{self.n}"
        folder = bundle(name, args if isinstance(args, list) else ["/bin/sh", "-c", args], self.seccomp(profile), **more)
        child = subprocess.Popen([runtime, *root_of(runtime), "run", "-b", folder, name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        return child, name

    def say(self, text, fds=(), close=True):
        """Sends a runtime's message with descriptors."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.socket)
            data = text if isinstance(text, bytes) else json.dumps(text).encode()
            if data:
                socket.send_fds(s, [data], list(fds))
            if not close:
                time.sleep(6)

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def stop(self):
        self.child.terminate()
        return self.child.wait()


def judges_of(agent_pid):
    """The judges among the children of a process."""
    with open(f"/proc/{agent_pid}/task/{agent_pid}/children", encoding="ascii") as f:
        pids = [int(p) for p in f.read().split()]
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                if f.read().strip() == "buckle-judge":
                    found.append(pid)
        except FileNotFoundError:
            pass
    return found


class Done:
    """How a container ended, like drive.Ran."""

    def __init__(self, status, out, err, name):
        self.status, self.out, self.err, self.name = status, out, err, name

    def __str__(self):
        return f"status {self.status}\nout: {self.out[:2000]}\nerr: {self.err[:2000]}"


class Containers(Agent):
    """An agent, and containers with more than a command."""

    def ran(self, words, profile, timeout=120, mounts=(), **more):
        return Done(*self.run(profile, words, timeout=timeout, binds=mounts, **more))


# ---- engines ----

COMMON_CALLS = """accept accept4 access arch_prctl bind brk capget capset chdir chmod chown clock_gettime clone close connect dup dup2 dup3 epoll_create1 epoll_ctl epoll_pwait
 execve execveat exit exit_group faccessat faccessat2 fchdir fchmod fchmodat fchown fchownat fcntl fork fstat fstatfs futex getcwd getdents64 getegid geteuid getgid getgroups getpgid getpid
 getppid getrandom getsockopt gettid getuid ioctl kill link linkat lseek lstat mkdir mkdirat mmap mprotect munmap nanosleep newfstatat open openat openat2 pipe pipe2 poll prctl pread64
 prlimit64 read readlink readlinkat rename renameat2 rmdir rseq rt_sigaction rt_sigprocmask rt_sigreturn sched_yield sendfile sendmsg recvmsg set_robust_list set_tid_address setgid setgroups
 setuid sigaltstack socket stat statfs statx symlink sysinfo tgkill umask uname unlink unlinkat utimensat vfork wait4 write writev""".split()


def engine_profile():
    """A filter like those of engines: a list of allowed calls, some under conditions."""
    return {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38, "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"],
            "syscalls": [{"names": COMMON_CALLS, "action": "SCMP_ACT_ALLOW"}, {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
                         {"names": ["personality"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 0, "op": "SCMP_CMP_EQ"}]}]}


def crun_here():
    """An executable that is crun with version 2 of cgroups alone, or None. crun refuses a host with both versions."""
    if not shutil.which("crun") or not shutil.which("unshare"):
        return None
    path = os.path.join(FOLDER, "crun")
    with open(path, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\nexec unshare -m sh -c 'mount -t cgroup2 none /sys/fs/cgroup && exec " + shutil.which("crun") + " \"$@\"' crun \"$@\"\n")
    os.chmod(path, 0o755)
    folder = bundle("crun-probe", ["/bin/true"])
    config = os.path.join(folder, "config.json")
    with open(config, encoding="utf-8") as f:
        parsed = json.load(f)
    del parsed["linux"]["resources"]
    with open(config, "w", encoding="utf-8") as f:
        json.dump(parsed, f)
    done = subprocess.run([path, *root_of("crun"), "run", "-b", folder, "crun-probe"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    return path if done.returncode == 0 else None


def image_root():
    """The root file system of an image: busybox."""
    folder = bundle("image", ["/bin/true"])
    return os.path.join(folder, "rootfs")


class Podman:
    name = "podman"
    count = 0

    @staticmethod
    def why_not():
        return None if shutil.which("podman") else "podman is not installed"

    def __init__(self):
        self.base = ["podman", "--root", os.path.join(FOLDER, "podman"), "--runroot", os.path.join(FOLDER, "podman-run"), "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"]
        self.add("bb:1", image_root())

    def add(self, image, root):
        with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as tar:
            subprocess.run([*self.base, "import", "-", image], stdin=tar.stdout, capture_output=True, timeout=300, check=True)

    def run(self, args, runtime="runc", annotation=None, seccomp=None, privileged=False, image="bb:1"):
        more = ["--annotation", annotation] if annotation else []
        more += ["--security-opt", "seccomp=" + seccomp] if seccomp else []
        more += ["--privileged"] if privileged else []
        return subprocess.run([*self.base, "--runtime", runtime, "run", "--rm", "--network", "none", "--pids-limit", "-1", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096", *more,
                               image, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False, text=True)


class Containerd:
    """A containerd of our own, and ctr."""

    name = "containerd"

    @staticmethod
    def why_not():
        return None if shutil.which("containerd") and shutil.which("ctr") else "containerd is not installed"

    def __init__(self):
        folder = os.path.join(FOLDER, "containerd")
        os.mkdir(folder)
        self.count = 0
        self.address = os.path.join(folder, "sock")
        with open(os.path.join(folder, "log"), "wb") as log:
            self.child = subprocess.Popen(["containerd", "--root", folder + "/root", "--state", folder + "/state", "--address", self.address], stdout=log, stderr=log)
        until = time.monotonic() + 30
        while subprocess.run(self.ctr("version"), capture_output=True, check=False).returncode and time.monotonic() < until:
            time.sleep(0.2)
        subprocess.run(self.ctr("images", "import", "--snapshotter", "native", self.image(folder)), check=True, capture_output=True, timeout=120)

    def ctr(self, *words):
        return ["ctr", "-a", self.address, *words]

    @staticmethod
    def image(folder):
        """An OCI archive with one layer."""
        def blob(data):
            parts["blobs/sha256/" + hashlib.sha256(data).hexdigest()] = data
            return {"digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": len(data)}

        parts, text = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}, io.BytesIO()
        with tarfile.open(fileobj=text, mode="w") as layer:
            layer.add(image_root(), arcname=".")
        kind = "application/vnd.oci.image."
        first = blob(text.getvalue())
        config = {"architecture": {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine], "os": "linux", "config": {"Env": ["PATH=/bin"]},
                  "rootfs": {"type": "layers", "diff_ids": [first["digest"]]}}
        manifest = {"schemaVersion": 2, "mediaType": kind + "manifest.v1+json", "config": {"mediaType": kind + "config.v1+json", **blob(json.dumps(config).encode())},
                    "layers": [{"mediaType": kind + "layer.v1.tar", **first}]}
        parts["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [{"mediaType": kind + "manifest.v1+json", **blob(json.dumps(manifest).encode()),
                                                                             "annotations": {"io.containerd.image.name": "docker.io/library/bb:1"}}]}).encode()
        path = os.path.join(folder, "image.tar")
        with tarfile.open(path, "w") as archive:
            for name, data in parts.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return path

    def run(self, args, runtime=None, annotation=None, seccomp=None, privileged=False):
        self.count += 1
        more = ["--runc-binary", runtime] if runtime else []
        more += ["--annotation", annotation] if annotation else []
        more += ["--seccomp", "--seccomp-profile", seccomp] if seccomp else []
        more += ["--privileged"] if privileged else []
        return subprocess.run(self.ctr("run", "--rm", "--snapshotter", "native", *more, "docker.io/library/bb:1", f"c{self.count}", *args), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, check=False, text=True)

    def stop(self):
        self.child.terminate()
        self.child.wait()


class Docker:
    """A Docker engine of our own, without networks. Its version in Debian 12 passes no annotations, so default.sb counts."""

    name = "Docker"

    @staticmethod
    def why_not():
        return None if shutil.which("dockerd") and shutil.which("docker") else "docker is not installed"

    def __init__(self, runtime):
        folder = os.path.join(FOLDER, "docker")
        os.mkdir(folder)
        self.socket = "unix://" + os.path.join(folder, "sock")
        with open(os.path.join(folder, "daemon.json"), "w", encoding="ascii") as f:
            json.dump({"runtimes": {"buckle": {"path": runtime}}}, f)
        with open(os.path.join(folder, "log"), "wb") as log:
            self.child = subprocess.Popen(["dockerd", "--config-file", folder + "/daemon.json", "--data-root", folder + "/root", "--exec-root", folder + "/exec",
                                           "--pidfile", folder + "/pid", "-H", self.socket, "--iptables=false", "--ip-masq=false", "--bridge=none", "--storage-driver=vfs"],
                                          stdout=log, stderr=log)
        until = time.monotonic() + 30
        while self.docker("version").returncode and time.monotonic() < until:
            time.sleep(0.2)
        with subprocess.Popen(["tar", "-C", image_root(), "-c", "."], stdout=subprocess.PIPE) as tar:
            subprocess.run(["docker", "-H", self.socket, "import", "-", "bb:1"], stdin=tar.stdout, capture_output=True, timeout=120, check=True)

    def docker(self, *words):
        return subprocess.run(["docker", "-H", self.socket, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False, text=True)

    def run(self, args, *more):
        return self.docker("run", "--rm", "--network", "none", *more, "bb:1", *args)

    def stop(self):
        self.child.terminate()
        self.child.wait()


# ---- processes ----

def named(name):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                if f.read().strip() == name:
                    yield int(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass


def all_judges(folder):
    """The judges of containers whose bundles or agents are in a folder, whoever started them. A judge has the container's root."""
    found = []
    for pid in named("buckle-judge"):
        try:
            with open(f"/proc/{pid}/mountinfo", encoding="utf-8", errors="replace") as f:
                if any(folder in line.split()[3] or line.split()[3].startswith("/" + os.path.basename(folder)) for line in f):
                    found.append(pid)
        except OSError:
            pass
    return found


def holders(path):
    """The holders at an agent's socket."""
    with open("/proc/net/unix", encoding="utf-8") as f:
        inodes = {line.split()[6] for line in f if line.rstrip().endswith(path + ".hold")}
    found = []
    for pid in named("buckle-holder"):
        try:
            links = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        except OSError:
            continue
        if any(f"socket:[{inode}]" in links for inode in inodes):
            found.append(pid)
    return found
