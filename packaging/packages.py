#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the packages that are not language packages, in dist/; `make dist` runs it.

    packaging/packages.py [PART…]

The parts are below in PARTS. Without a name, all of them. Variables, as tools/dist/dist.py sets them:

    BUCKLE_DIST        where the files go, and where the source tarball is (dist/)
    BUCKLE_DIST_STAGE  what the static programs were packed from (build/dist), such as
                       linux-x86_64/bin/buckle below it
    BUCKLE_DIST_WORK   a folder for builds (build/packaging)
    SOURCE_DATE_EPOCH  the one time that appears in the files (the commit's)
    RELEASE_URL        where releases are published; recipes name it
    RELEASE_MAIL       whom Debian's packages name as the maintainer's address

Two runs with the same variables and source tarball give the same bytes.
"""

import datetime
import email.utils
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TOP, "tools")]

import image
from beside import beside

DIST = os.environ.get("BUCKLE_DIST", os.path.join(TOP, "dist"))
STAGE = os.environ.get("BUCKLE_DIST_STAGE", os.path.join(TOP, "build", "dist"))
WORK = os.environ.get("BUCKLE_DIST_WORK", os.path.join(TOP, "build", "packaging"))

# Reserved names, which lead nowhere: nothing is published yet.
URL = os.environ.get("RELEASE_URL", "https://buckle.invalid/releases")
MAIL = os.environ.get("RELEASE_MAIL", "authors@buckle.invalid")


def output(argv, **how):
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True, **how).stdout


def git(*arguments):
    return output(["git", "-c", f"safe.directory={TOP}", "-C", TOP, *arguments])


def version():
    with open(os.path.join(TOP, "meson.build"), encoding="utf-8") as f:
        return re.search(r"version: '([^']+)'", f.read()).group(1)


def epoch():
    return int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))


def read(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


# ---- the source ----


def source_tarball():
    """dist/buckle-VERSION-source.tar.gz; made from the commit if `make dist` has not yet."""
    name = f"buckle-{version()}"
    path = os.path.join(DIST, name + "-source.tar.gz")
    if not os.path.exists(path):
        packed = git("archive", "--format=tar", f"--prefix={name}/", "HEAD")
        with open(path, "wb") as f, gzip.GzipFile(filename="", fileobj=f, mode="wb", mtime=0) as out:
            out.write(packed)
    return path


def values():
    """What stands for @NAME@ in the recipes."""
    when = datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc)
    source = read(source_tarball())
    return {"VERSION": version(), "URL": URL, "MAIL": MAIL,
            "SOURCE": os.path.basename(source_tarball()),
            "SHA256": hashlib.sha256(source).hexdigest(), "SHA512": hashlib.sha512(source).hexdigest(),
            "YEAR": str(when.year), "DATE": email.utils.format_datetime(when), "RPMDATE": when.strftime("%a %b %d %Y")}


def filled(text):
    known = values()
    return re.sub(r"@([A-Z0-9]+)@", lambda found: known[found.group(1)], text)


# ---- parts ----


def recipes():
    """For other systems' build tools: each takes the source tarball, by address and checksum."""
    for name in sorted(os.listdir(os.path.join(HERE, "recipes"))):
        with open(os.path.join(DIST, name), "w", encoding="utf-8") as f:
            f.write(filled(read(HERE, "recipes", name).decode()))


def debian():
    """Debian's packages, by dpkg-buildpackage from the source tarball."""
    work = os.path.join(WORK, "debian")
    tree = os.path.join(work, f"buckle-{version()}")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    with tarfile.open(source_tarball()) as tar:
        tar.extractall(work)
    shutil.copytree(os.path.join(tree, "packaging", "debian"), os.path.join(tree, "debian"))
    for name in ("changelog", "control", "copyright"):
        path = os.path.join(tree, "debian", name)
        text = filled(read(path).decode())
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    env = dict(os.environ, SOURCE_DATE_EPOCH=str(epoch()), LC_ALL="C.UTF-8")
    env.setdefault("DEB_BUILD_OPTIONS", f"parallel={os.cpu_count() or 1}")
    # the variables of `make dist` are not for the build within
    for name in ("DESTDIR", "PREFIX", "VERSION", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
        env.pop(name, None)
    log = os.path.join(work, "log")
    with open(log, "wb") as f:
        done = subprocess.run(["dpkg-buildpackage", "-b", "-us", "-uc"], cwd=tree, env=env, stdout=f,
                              stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise SystemExit(read(log).decode(errors="replace")[-4000:] + f"\n{log}: dpkg-buildpackage failed")
    for name in sorted(os.listdir(work)):
        if name.endswith(".deb"):
            shutil.copyfile(os.path.join(work, name), os.path.join(DIST, name))


def programs():
    """{folder: the static program} of those that `make dist` has made for Linux."""
    named = {folder: os.path.join(STAGE, folder, "bin", "buckle") for folder in image.PROCESSORS}
    there = {folder: path for folder, path in named.items() if os.path.exists(path)}
    if not there:
        raise SystemExit(f"no static program in {STAGE}: run `make dist`")
    return there


def oci():
    """An OCI image of the static program, one for each processor that has one."""
    image.write(programs(), version(), epoch(), os.path.join(DIST, f"buckle-{version()}-oci.tar"))


def with_programs(folder, to):
    """A tarball of a folder of packaging/, which finds its programs beside its own files: linux-x86_64/bin/buckle."""
    files = {name: filled(read(HERE, folder, name).decode()).encode()
             for name in os.listdir(os.path.join(HERE, folder)) if not name.startswith("__")}
    for name, path in programs().items():
        own = {"bin/buckle": path, **beside(path)}
        files |= {f"{name}/{one}": read(where) for one, where in own.items()}
    parts = [name.split("/") for name in files]
    folders = {"/".join(one[:n]): 0o755 for one in parts for n in range(1, len(one))}
    with open(os.path.join(DIST, to), "wb") as f:
        f.write(gzip.compress(image.tar(files, epoch(), folders), mtime=0))


def feature():
    """A dev-container feature, under the name that registries of features expect."""
    with_programs("devcontainer", "devcontainer-feature-buckle.tgz")


def action():
    """What the repository of a GitHub action holds."""
    with_programs("action", f"buckle-{version()}-action.tar.gz")


PARTS = {"recipes": recipes, "feature": feature, "action": action, "oci": oci, "debian": debian}


def main(names):
    unknown = set(names) - set(PARTS)
    if unknown:
        raise SystemExit(f"no such part: {' '.join(sorted(unknown))}; there are {' '.join(PARTS)}")
    os.makedirs(DIST, exist_ok=True)
    for name in names or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
