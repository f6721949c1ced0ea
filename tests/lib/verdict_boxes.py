# SPDX-License-Identifier: Apache-2.0
"""Probes in containers, for tests/runners/run-kernel-verdicts.py with TIER=container.

The process that tries the rows lives in the rows' file system, and cannot start containers from there. So its parent does: it has the same tmpfs mounted
elsewhere, which becomes the container's root, and an agent that judges. Both talk over a socket; the probe's standard streams are passed with the request.
"""

import ctypes
import json
import os
import re
import shutil
import socket
import subprocess
import threading

from containers import Agent, CAPS, root_of, why_not as without
from drive import BUCKLE, FOLDER

MS_BIND, MS_REC, MS_PRIVATE, CLONE_NEWNS = 4096, 16384, 1 << 18, 0x20000
LARGEST = 1 << 20
libc = ctypes.CDLL(None, use_errno=True)


def why_not():
    return without("runc")


def call(name, *args):
    if getattr(libc, name)(*args) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def own_mounts():
    """What this process mounts from now on ends with it."""
    call("unshare", CLONE_NEWNS)
    call("mount", None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)


# ---- the side that starts containers ----


def bundle(name, root, uid, devices, folder, words, home, seccomp):
    """A container whose root is the rows' file system: no file of the runtime hides one of theirs."""
    mounts = [{"destination": "/proc", "type": "proc", "source": "proc"},
              {"destination": "/dev", "type": "bind", "source": root + "/dev", "options": ["bind", "rw"]}]
    mounts += [{"destination": "/dev/" + d, "type": "bind", "source": "/dev/" + d, "options": ["bind", "rw"]} for d in devices]
    caps = CAPS if uid == 0 else []
    config = {"ociVersion": "1.0.2", "root": {"path": root}, "hostname": "inside", "mounts": mounts,
              "process": {"args": words, "cwd": folder, "env": ["PATH=/bin", "HOME=" + home], "user": {"uid": uid, "gid": uid}, "noNewPrivileges": True,
                          "capabilities": {k: caps for k in ("bounding", "effective", "permitted")}},
              "linux": {"namespaces": [{"type": t} for t in ("pid", "network", "ipc", "uts", "mount")], "seccomp": seccomp,
                        "resources": {"devices": [{"allow": False, "access": "rwm"}]}}}
    place = os.path.join(FOLDER, "bundles", name)
    os.makedirs(place)
    with open(os.path.join(place, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)
    return place


class Starter:
    """Starts probes in containers, for one process in the rows' file system."""

    def __init__(self, agent, root, uid, devices):
        self.agent, self.root, self.uid, self.devices = agent, root, uid, devices
        self.here, self.there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.started, self.thread, self.n = [], None, 0

    def enter(self):
        """In the process that asks."""
        global the_socket
        the_socket = self.there
        self.here.close()

    def serve(self):
        self.there.close()
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def loop(self):
        while True:
            data, fds, _, _ = socket.recv_fds(self.here, LARGEST, 3)
            if not data:
                break
            self.here.send(json.dumps(self.answer(json.loads(data), fds)).encode())
            for fd in fds:
                os.close(fd)
        self.reap(wait=True)

    def reap(self, wait=False):
        for child, place in list(self.started):
            if wait or child.poll() is not None:
                child.wait()
                shutil.rmtree(place, ignore_errors=True)
                self.started.remove((child, place))

    def answer(self, asked, fds):
        self.reap()
        self.n += 1
        name = f"v{os.getpid()}-{self.uid}-{self.n}"
        profile = os.path.join(self.agent.profiles, name + ".sb")
        with open(self.root + asked["profile"], "rb") as f, open(profile, "wb") as to:
            to.write(f.read())
        made = subprocess.run([BUCKLE, "node", "spec", "--socket", self.agent.socket, profile], capture_output=True, check=False)
        if made.returncode:
            return {"refused": made.stderr.decode(errors="replace")}
        spec = json.loads(made.stdout)
        if "words" not in asked:
            return {"operations": spec["operations"]}
        place = bundle(name, self.root, self.uid, self.devices, asked["cwd"], asked["words"], asked["home"], spec["linux"]["seccomp"])
        self.started.append((subprocess.Popen(["runc", *root_of("runc"), "run", "-b", place, name], stdin=fds[0], stdout=fds[1], stderr=fds[2]), place))
        return {"operations": spec["operations"]}


def agent():
    own_mounts()
    return Agent({})


def leave(judging, starters):
    for starter in starters:
        starter.thread.join(60)
        call("umount2", starter.root.encode(), 2)
    judging.stop()
    for event in judging.events("refused")[:3]:
        print("# refused:", event["reason"])


# ---- the side of the rows ----


class Refused(Exception):
    """A profile that the agent does not take, and why."""


the_socket = None


def ask(what, fds=()):
    socket.send_fds(the_socket, [json.dumps(what).encode()], fds)
    answer = json.loads(the_socket.recv(LARGEST))
    if "refused" in answer:
        raise Refused(answer["refused"])
    return answer["operations"]


class Box:
    """What runs in a container, like a Popen."""

    def __init__(self, profile, cwd, home, words):
        pipes = [os.pipe() for _ in range(3)]
        (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = pipes
        self.stdin, self.stdout, self.stderr = os.fdopen(ours_in, "wb"), os.fdopen(ours_out, "rb"), os.fdopen(ours_err, "rb")
        try:
            self.operations = ask({"profile": profile, "cwd": cwd, "home": home, "words": words}, [theirs_in, theirs_out, theirs_err])
        finally:
            for fd in (theirs_in, theirs_out, theirs_err):
                os.close(fd)

    def communicate(self, timeout=None):
        """Ends the probe's input, and reads what else it says."""
        try:
            self.stdin.close()
        except OSError:
            pass
        return self.stdout.read(), self.stderr.read()


def in_text(text, params):
    """The profile with parameters as strings, or None: a container's profile takes none."""
    if params and ("(import" in text or "NO_IMPLICIT_RULES" in params):
        return None
    for key, value in params.items():
        text = text.replace(f'(param "{key}")', '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"')
    return None if re.search(r"\(param\b", text) else text

