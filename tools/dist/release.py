# SPDX-License-Identifier: Apache-2.0
"""What a release is made from: version, commit, time, and the folders of `make dist`."""

import functools
import gzip
import hashlib
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TOOLS, os.path.join(TOOLS, "cross")]
from targets import TOP

# What is published, and what it is packed from: a folder for each target. Tests have others.
DIST = os.environ.get("BUCKLE_DIST") or os.path.join(TOP, "dist")
STAGE = os.environ.get("BUCKLE_DIST_STAGE") or os.path.join(TOP, "build", "dist")


def git(*arguments):
    done = subprocess.run(["git", "-c", f"safe.directory={TOP}", "-C", TOP, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 and os.path.exists(os.path.join(TOP, ".git")) else ""


def version():
    with open(os.path.join(TOP, "meson.build"), encoding="utf-8") as f:
        return re.search(r"version: '([^']+)'", f.read()).group(1)


# `git archive` fills this in (.gitattributes): a tree without a repository knows its commit and time.
ARCHIVED = "$Format:%H %ct$"


@functools.lru_cache
def commit():
    return git("rev-parse", "HEAD") if ARCHIVED.startswith("$") else ARCHIVED.split()[0]


@functools.lru_cache
def changed():
    """Files of the tree that are not as in the commit."""
    return [line[3:] for line in git("status", "--porcelain", "--untracked-files=no").split("\n") if line]


@functools.lru_cache
def epoch():
    """Seconds: the one time that appears in released files."""
    said = os.environ.get("SOURCE_DATE_EPOCH")
    if not said:
        said = git("log", "-1", "--format=%ct") if ARCHIVED.startswith("$") else ARCHIVED.split()[1]
    if not said:
        raise SystemExit("this tree has no commit: set SOURCE_DATE_EPOCH")
    return int(said)


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def entry(path, name, when):
    """A tar header that has nothing of this machine: no owner, no odd permission, one time."""
    one = tarfile.TarInfo(name)
    one.mtime = when
    if os.path.islink(path):
        one.type, one.linkname = tarfile.SYMTYPE, os.readlink(path)
    elif os.path.isdir(path):
        one.type, one.mode = tarfile.DIRTYPE, 0o755
    else:
        one.size, one.mode = os.path.getsize(path), 0o755 if os.access(path, os.X_OK) else 0o644
    return one


def pack(folder, name, to):
    """Packs a folder as NAME/ into a .tar.gz or .tar.xz: the same bytes for the same files."""
    when, packed = epoch(), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        tar.addfile(entry(folder, name, when))
        for here, folders, files in os.walk(folder):
            folders.sort()
            for one in sorted(folders + files):
                path = os.path.join(here, one)
                header = entry(path, os.path.join(name, os.path.relpath(path, folder)), when)
                if header.isreg():
                    with open(path, "rb") as f:
                        tar.addfile(header, f)
                else:
                    tar.addfile(header)
    with open(to, "wb") as f:
        if to.endswith(".xz"):
            f.write(lzma.compress(packed.getvalue(), preset=6))
        else:
            with gzip.GzipFile(filename="", fileobj=f, mode="wb", mtime=0, compresslevel=9) as out:
                out.write(packed.getvalue())
    return to
