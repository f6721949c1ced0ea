#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The OCI image: its digests, and the program in it under runc, with and without a filter like
Docker's."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import roots
import tap

BUCKLE = "/usr/bin/buckle"

# Docker's filter refuses these calls to processes without CAP_SYS_ADMIN; of clone, flags that make namespaces.
REFUSED = ["unshare", "setns", "mount", "umount2", "pivot_root", "move_mount", "fsopen", "fsmount", "open_tree"]
NAMESPACES = 0x7E020000


def docker_filter():
    refused = [{"names": REFUSED, "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
               {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]
    refused += [{"names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1,
                 "args": [{"index": 0, "value": 1 << bit, "valueTwo": 1 << bit, "op": "SCMP_CMP_MASKED_EQ"}]}
                for bit in range(32) if NAMESPACES >> bit & 1]
    return {"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64"], "syscalls": refused}


def test_digests(layout):
    """Each blob has the digest and the size that others name, and the index leads to all of them."""
    with open(os.path.join(layout, "index.json"), encoding="utf-8") as f:
        todo = json.load(f)["manifests"]
    seen = set()
    while todo:
        one = todo.pop()
        path = os.path.join(layout, "blobs", *one["digest"].split(":"))
        with open(path, "rb") as f:
            text = f.read()
        seen.add(os.path.basename(path))
        tap.equal((hashlib.sha256(text).hexdigest(), len(text)), (one["digest"][7:], one["size"]),
                  f"{one['mediaType']} has its digest")
        if one["mediaType"].endswith(("index.v1+json", "manifest.v1+json")):
            blob = json.loads(text)
            todo += blob.get("manifests", []) + blob.get("layers", []) + ([blob["config"]] if "config" in blob else [])
    tap.equal(set(os.listdir(os.path.join(layout, "blobs/sha256"))), seen, "no blob is left over")


class Bundle:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
            self.config = json.load(f)

    def run(self, runtime, argv, uid=None, filtered=False):
        config = json.loads(json.dumps(self.config))
        config["process"] |= {"args": argv, "terminal": False}
        if uid is not None:
            config["process"]["user"] = {"uid": uid, "gid": uid}
        if filtered:
            config["linux"]["seccomp"] = docker_filter()
        with open(os.path.join(self.folder, "config.json"), "w", encoding="utf-8") as f:
            json.dump(config, f)
        state = os.path.join(self.folder, "state")
        return roots.run([runtime, "--root", state, "run", "--bundle", self.folder, f"buckle-{os.getpid()}"])


def test_runs(bundle, runtime):
    done = bundle.run(runtime, [BUCKLE, "--version"])
    tap.ok(done.returncode == 0 and done.stdout.startswith("buckle "), f"{runtime}: --version", done.stdout)
    for profile, status in (("(version 1) (allow default)", 0), ("(version 1) (deny default)", 1)):
        done = bundle.run(runtime, [BUCKLE, "eval", "-q", "-p", profile, "file-read-data", "/"])
        tap.equal(done.returncode, status, f"{runtime}: eval {profile}")
    tap.equal(bundle.config["process"]["user"]["uid"], 1000, "the image's user is an ordinary one")
    for uid in (1000, 0):
        where = f"{runtime}, uid {uid}"
        done = bundle.run(runtime, [BUCKLE, "run", "--", BUCKLE, "eval", "-q", "-p", "(version 1) (allow default)",
                                    "file-read-data", "/"], uid)
        tap.equal((done.returncode, done.stdout), (0, ""), f"{where}: run")
        for to, status in (("/work/out.sbc", 0), ("/home/user/out.sbc", 2)):
            done = bundle.run(runtime, writing(to), uid)
            tap.equal(done.returncode, status, f"{where}: run, writing {to}")
            tap.equal(os.path.exists(bundle.folder + "/rootfs" + to), status == 0, f"{where}: {to} is there only if allowed")
        os.remove(bundle.folder + "/rootfs/work/out.sbc")
        # Docker's filter refuses unshare() with any flag; whether or not that is enough for a sandbox, none is left open
        done = bundle.run(runtime, writing("/home/user/out.sbc"), uid, filtered=True)
        tap.ok(done.returncode in (2, 125) and not os.path.exists(bundle.folder + "/rootfs/home/user/out.sbc"),
               f"{where}, Docker's filter: confined, or not run", done.stdout)


def writing(to):
    """The image has no other program: Buckle writes a compiled profile."""
    return [BUCKLE, "run", "--report=none", "--", BUCKLE, "compile", "/usr/share/doc/a.sb", "-o", to]


def main():
    packed = roots.made("oci", "*-oci.tar")[0]
    folder = os.path.join(roots.WORK, "oci")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    layout = os.path.join(folder, "layout")
    with tarfile.open(packed) as tar:
        tar.extractall(layout)
    test_digests(layout)
    version = os.path.basename(packed).split("-")[1]
    line = roots.install_line("containers").replace("LAYOUT", layout).replace("BUNDLE", os.path.join(folder, "bundle"))
    processor = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    line = line.replace("-amd64 ", f"-{processor} ")
    tap.ok(f":{version}-" in line, "README: the image is of this version", line)
    roots.succeeds(line.split(), f"README: {line}")
    bundle = Bundle(os.path.join(folder, "bundle"))
    program = bundle.folder + "/rootfs" + BUCKLE
    linked = subprocess.run(["readelf", "-d", program], stdout=subprocess.PIPE, text=True, check=False).stdout
    tap.ok("NEEDED" not in linked, "the program in it needs no library", linked)
    for one in roots.HELPERS:
        tap.ok(os.access(f"{bundle.folder}/rootfs/usr/{one.path}", os.X_OK), f"{one.name} is beside it, to be copied along")
    with open(bundle.folder + "/rootfs/usr/share/doc/a.sb", "w", encoding="utf-8") as f:
        f.write("(version 1)\n(allow default)\n")
    bundle.config["root"]["readonly"] = False
    test_runs(bundle, "runc")
    roots.run(["rm", "-rf", "--one-file-system", folder])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
