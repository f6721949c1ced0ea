# SPDX-License-Identifier: Apache-2.0
"""Writes an OCI image (layout 1.0.0) as one tarball: a file system with the program, what belongs to it, and nothing else.

The tarball is what `podman load`, `skopeo copy oci-archive:…` and `umoci` take.
"""

import gzip
import hashlib
import io
import json
import tarfile
import time

from beside import beside

# folder of `make dist`: processor, as images name it
PROCESSORS = {"linux-x86_64": "amd64", "linux-arm64": "arm64", "linux-riscv64": "riscv64"}

# Programs look here for a place to write, for the user's name, and for where they are.
FOLDERS = {"dev": 0o755, "etc": 0o755, "home": 0o755, "home/user": 0o755, "proc": 0o755, "root": 0o700,
           "sys": 0o755, "tmp": 0o1777, "usr": 0o755, "usr/bin": 0o755, "usr/libexec": 0o755,
           "usr/libexec/buckle": 0o755, "usr/share": 0o755, "usr/share/doc": 0o755, "work": 0o1777}
USER = 1000
FILES = {"etc/passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n",
         "etc/group": "root:x:0:\nuser:x:1000:\n"}


def entry(name, when, mode, **rest):
    one = tarfile.TarInfo(name)
    one.mtime, one.mode = when, mode
    for key, value in rest.items():
        setattr(one, key, value)
    return one


def tar(files, when, folders=None):
    """A tarball's bytes, from {name: bytes}; a name that a shell or the kernel runs is executable."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as out:
        for name, mode in sorted((folders or {}).items()):
            owner = USER if name in ("home/user", "work") else 0
            out.addfile(entry(name, when, mode, type=tarfile.DIRTYPE, uid=owner, gid=owner))
        for name, text in sorted(files.items()):
            mode = 0o755 if text.startswith((b"#!", b"\x7fELF")) else 0o644
            out.addfile(entry(name, when, mode, size=len(text)), io.BytesIO(text))
    return packed.getvalue()


class Layout:
    """The blobs of an image, by their digest."""

    def __init__(self):
        self.blobs = {}

    def add(self, kind, text):
        if not isinstance(text, bytes):
            text = json.dumps(text, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(text).hexdigest()
        self.blobs[f"blobs/sha256/{digest}"] = text
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(text)}


def add_image(layout, processor, program, version, when):
    with open(program, "rb") as f:
        files = {"usr/bin/buckle": f.read(), **{name: text.encode() for name, text in FILES.items()}}
    for name, path in beside(program).items():
        with open(path, "rb") as f:
            files["usr/" + name] = f.read()
    layer = tar(files, when, FOLDERS)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    config = {
        "created": created, "architecture": processor, "os": "linux",
        "config": {"Entrypoint": ["/usr/bin/buckle"], "Cmd": ["--help"], "WorkingDir": "/work", "User": "user",
                   "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/user"],
                   "Labels": {"org.opencontainers.image.version": version,
                              "org.opencontainers.image.licenses": "Apache-2.0",
                              "org.opencontainers.image.title": "buckle"}},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": created, "created_by": f"buckle {version}"}],
    }
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": layout.add("config.v1+json", config),
                "layers": [layout.add("layer.v1.tar+gzip", gzip.compress(layer, mtime=0))]}
    return {**layout.add("manifest.v1+json", manifest), "platform": {"architecture": processor, "os": "linux"}}


def with_name(descriptor, name):
    return {**descriptor, "annotations": {"org.opencontainers.image.ref.name": name}}


def write(programs, version, when, path):
    """PROGRAMS: {folder of `make dist`: the program}."""
    layout = Layout()
    images = [add_image(layout, PROCESSORS[folder], program, version, when)
              for folder, program in sorted(programs.items())]
    # tools that know lists choose from the one with the version's name; umoci takes no list, so each
    # image has a name of its own too
    listed = layout.add("index.v1+json", {"schemaVersion": 2, "manifests": images,
                                          "mediaType": "application/vnd.oci.image.index.v1+json"})
    named = [with_name(listed, version),
             *(with_name(one, f"{version}-{one['platform']['architecture']}") for one in images)]
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
             "index.json": json.dumps({"schemaVersion": 2, "manifests": named}, sort_keys=True).encode(),
             **layout.blobs}
    with open(path, "wb") as f:
        f.write(tar(files, when, {"blobs": 0o755, "blobs/sha256": 0o755}))
