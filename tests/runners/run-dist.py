#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a release twice, from two checkouts in different places, and tries what it made; prints TAP.

    tests/runners/run-dist.py [--once] [--again] [--made=FOLDER] [TARGET…]

Both must have the same bytes, though the second is made by another user, with another umask, time
zone, language and copy of the compiler. Then the files are used as a user would: sums, a tarball
unpacked into an empty folder, the README's first example. Programs for other processors run under
qemu-user, which knows neither seccomp listeners nor Landlock, and no namespaces: everything that only
reads and judges profiles runs, and `run` must refuse. --once builds once and compares nothing. --again
goes on in the checkouts of an earlier run, with the commit of this one. --made builds nothing, and tries
what is in a folder.
"""

import concurrent.futures
import glob
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import elf
import roots
import tap

sys.path.insert(0, os.path.join(TOP, "tools", "cross"))
import targets
import toolchain

PLACE = os.path.join(TOP, "build", "check-dist")
MOST_BYTES = 3 << 20
DEMO = """(version 1)
(deny default)
(allow file-read* (subpath "/usr"))
(deny file-write* (subpath "/usr/.git"))
"""


def run(argv, **how):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False, **how)


# ---- building ----


def git(*words):
    return run(["git", "-c", "safe.directory=*", *words])


def checkout(name, again, source=TOP):
    """A clone of the commit, with nothing of this checkout in it."""
    folder = os.path.join(PLACE, name)
    if again and os.path.exists(folder):
        done = git("-C", folder, "pull", "--quiet", "--ff-only")
    else:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        done = git("clone", "--quiet", "--no-hardlinks", source, folder)
    return folder if done.returncode == 0 else tap.ok(False, "a clone of the commit", done.stdout) or None


def make_dist(folder, names, before=(), **env):
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("BUCKLE") and k not in ("STAGE", "PREFIX")}, **env}
    with open(folder + ".log", "w+", encoding="utf-8", errors="replace") as log:
        done = subprocess.run([*before, os.path.join(folder, "tools", "dist", "dist.py"), *names], env=env, cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, check=False)
        log.seek(0)
        said = log.read()
    tap.ok(done.returncode == 0, f"make dist in {os.path.relpath(folder, PLACE)}", said[-4000:])
    print(f"= {said.strip().splitlines()[-1] if said.strip() else ''}")
    return os.path.join(folder, "dist") if done.returncode == 0 else None


NOBODY = "65534"


def make_elsewhere(folder, names):
    """As on another machine, as far as one can be had here."""
    home = os.path.join(PLACE, "another", "zig")
    if not os.path.exists(home):
        shutil.copytree(toolchain.home(), home, symlinks=True)
    before = ["sh", "-c", 'umask 077 && exec "$@"', "sh"]
    if os.getuid() == 0:
        run(["chown", "-R", f"{NOBODY}:{NOBODY}", folder, home])
        before = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *before]
    return make_dist(folder, names, before, ZIG_HOME=home, HOME=os.path.join(PLACE, "another"), USER="nobody", LOGNAME="nobody",
                     TZ="Pacific/Kiritimati", LC_ALL="C", CCACHE_DISABLE="1")


def check_same(one, other):
    names = sorted(os.listdir(one))
    tap.equal(sorted(os.listdir(other)), names, "two builds make the same files")
    for name in names:
        with open(os.path.join(one, name), "rb") as a, open(os.path.join(other, name), "rb") as b:
            tap.ok(a.read() == b.read(), f"two builds: {name} has the same bytes")


# ---- what was made ----


def unpack(path, name):
    folder = os.path.join(PLACE, "unpacked", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with tarfile.open(path) as tar:
        members = tar.getmembers()
        tar.extractall(folder)
    top = {member.name.split("/")[0] for member in members}
    tap.equal(len(top), 1, f"{name}: everything is below one folder")
    owners = {(m.uid, m.gid, m.uname, m.gname) for m in members}
    tap.equal(owners, {(0, 0, "", "")}, f"{name}: files belong to nobody in particular")
    return os.path.join(folder, top.pop())


def check_elf(path, name):
    kind, types = elf.kind_and_types(path)
    tap.ok(elf.is_static(path), f"{name}: needs no loader", types)
    tap.equal(kind, elf.ET_DYN, f"{name}: can be anywhere in memory")
    tap.ok(elf.PT_RELRO in types, f"{name}: tables become read-only", types)
    tap.ok(os.path.getsize(path) <= MOST_BYTES, f"{name}: at most {MOST_BYTES} bytes", os.path.getsize(path))


def check_macho(path, name):
    """Every page has the sum that the ad-hoc signature names, or no Mac with arm64 starts it."""
    with open(path, "rb") as f:
        data = f.read()
    commands, at, signature = struct.unpack_from("<I", data, 16)[0], 32, None
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", data, at)
        signature = struct.unpack_from("<I", data, at + 8)[0] if kind == 0x1d else signature
        at += size
    if not tap.ok(signature or "arm64" not in name, f"{name}: is signed") or not signature:
        return
    count, = struct.unpack_from(">I", data, signature + 8)
    blobs = [signature + struct.unpack_from(">I", data, signature + 16 + 8 * i)[0] for i in range(count)]
    code = next(b for b in blobs if data[b:b + 4] == b"\xfa\xde\x0c\x02")
    hashes, _, _, pages, limit, size, _, _, bits = struct.unpack_from(">IIIIIBBBB", data, code + 16)
    wrong = [i for i in range(pages)
             if hashlib.sha256(data[i << bits:min((i + 1) << bits, limit)]).digest()
             != data[code + hashes + i * size:code + hashes + (i + 1) * size]]
    tap.equal(wrong, [], f"{name}: the signature fits every page")


def check_no_places(path, name, places):
    with open(path, "rb") as f:
        text = f.read()
    tap.equal([p for p in places if p.encode() in text], [], f"{name}: names no folder of the build")


def check_example(program):
    work = os.path.join(PLACE, "work")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    env = {"PATH": os.path.dirname(program) + ":/usr/local/bin:/usr/bin:/bin", "HOME": os.path.join(PLACE, "unpacked"),
           "LC_ALL": "C.UTF-8"}
    for command, printed in roots.first_example():
        done = run(["sh", "-c", command], cwd=work, env=env)
        tap.equal(done.stdout, printed, f"README: {command[:60]}")
    roots.check_helpers(lambda command: run(["sh", "-c", command], cwd=work, env=env).stdout, "tarball")
    tap.equal(run(["sh", "-c", roots.SHOWS_VIEW], cwd=work, env=env).stdout, "0\n1\n", "tarball: the view for the terminal")


def check_words(program, prefix):
    """What needs no kernel: profiles read, judged and compiled."""
    work = os.path.join(PLACE, "words")
    os.makedirs(work, exist_ok=True)
    with open(os.path.join(work, "demo.sb"), "w", encoding="utf-8") as f:
        f.write(DEMO)
    rows = ((["--version"], 0, "buckle "), (["check", "demo.sb"], 0, ""),
            (["eval", "demo.sb", "file-read-data", "/usr/x"], 0, "allow"),
            (["eval", "demo.sb", "file-write-data", "/usr/.git/x"], 1, "deny"),
            (["explain", "demo.sb", "file-read-data", "/etc/passwd"], 0, "Decided by demo.sb:2"),
            (["compile", "demo.sb", "-o", "demo.bin"], 0, ""),
            (["eval", "demo.bin", "file-read-data", "/usr/x"], 0, "allow"),
            (["decompile", "demo.bin"], 0, "(deny default)"), (["graph", "demo.sb"], 0, "file-read"),
            (["profile"], 0, "(version"), (["vocab", "file-read-data"], 0, "file-read-data"))
    for words, status, printed in rows:
        done = run([*prefix, program, *words], cwd=work)
        tap.ok(done.returncode == status and printed in done.stdout, f"{' '.join(prefix + words)}", done.returncode,
               done.stdout[-500:])
    if prefix:
        done = run([*prefix, program, "run", "--", "/bin/true"], cwd=work)
        tap.ok(done.returncode != 0 and "buckle:" in done.stdout, f"{prefix[0]}: run refuses, and says why", done.stdout)


def check_target(dist, target, version):
    name = f"buckle-{version}-{target.released}"
    root = unpack(os.path.join(dist, name + ".tar.gz"), name)
    debug = unpack(os.path.join(dist, name + "-debug.tar.xz"), name + "-debug")
    program = os.path.join(root, "bin", "buckle")
    for wanted in ("share/man/man1/buckle-run.1.gz", "share/bash-completion/completions/buckle",
                   "share/zsh/site-functions/_buckle", "share/fish/vendor_completions.d/buckle.fish",
                   "share/buckle/profiles/default.sb", "share/buckle/settings.schema.json",
                   "share/doc/buckle/LICENSE", *(one.path for one in roots.helpers_of(target))):
        tap.ok(os.path.exists(os.path.join(root, wanted)), f"{name}: has {wanted}")
    places = [PLACE, TOP, toolchain.home()]
    helpers = {one: os.path.join(root, one.path) for one in roots.helpers_of(target)}
    for path in [program, *helpers.values(), *glob.glob(os.path.join(debug, "**"), recursive=True)]:
        if os.path.isfile(path):
            check_no_places(path, f"{name}: {os.path.basename(path)}", places)
    for path in [program, *(path for one, path in helpers.items() if not one.glibc)]:
        (check_elf if target.system == "linux" else check_macho)(path, f"{name}: {os.path.basename(path)}")
    if target.system != "linux":
        return
    if target.cpu == os.uname().machine:
        check_words(program, [])
        check_example(program)
    elif shutil.which(target.emulator or ""):
        check_words(program, [target.emulator])
    else:
        tap.skip(f"{target.emulator} is not installed")


def check_packages(dist, program):
    """npm packages and wheels, installed into an empty project and a virtual environment."""
    done = run([os.path.join(TOP, "tests", "e2e", "e2e-packages.py")], env=dict(os.environ, PACKAGES=dist, BUCKLE=program))
    tap.ok(done.returncode == 0, "the packages for languages can be installed and used", done.stdout[-4000:])


# The project's own library checks a bill against its published schema.
VALIDATOR = ["@cyclonedx/cyclonedx-library@10.3.0", "ajv@8.20.0", "ajv-formats@3.0.1", "ajv-formats-draft2019@1.6.1"]
VALIDATE = """const { Validation } = require("@cyclonedx/cyclonedx-library");
const text = require("node:fs").readFileSync(process.argv[1], "utf8");
new Validation.JsonStrictValidator(JSON.parse(text).specVersion).validate(text).then(
    (found) => found && (console.log(JSON.stringify(found, null, 1)), process.exit(1)));"""


def check_schema(path):
    folder = os.path.join(PLACE, "validator")
    os.makedirs(folder, exist_ok=True)
    done = run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, *VALIDATOR])
    if tap.ok(done.returncode == 0, "npm installs CycloneDX's library", done.stdout[-2000:]):
        done = run(["node", "-e", VALIDATE, path], cwd=folder)
        tap.ok(done.returncode == 0, "the bill of materials is valid by CycloneDX's schema", done.stdout[-3000:])


def check_statement(statement):
    """What in-toto and SLSA require of a statement, and that no digest is empty."""
    tap.equal((statement["_type"], statement["predicateType"]),
              ("https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"), "provenance: its types")
    made = statement["predicate"]["buildDefinition"]
    tap.ok(":" in made["buildType"] and made["externalParameters"], "provenance: how it was built")
    tap.ok(":" in statement["predicate"]["runDetails"]["builder"]["id"], "provenance: by what")
    named = statement["subject"] + made["resolvedDependencies"]
    tap.equal([one for one in named if not all(re.fullmatch("[0-9a-f]{40,128}", sum) for sum in one["digest"].values())
               or not one["digest"] or not one.get("name")], [], "provenance: every file and source has a name and a digest")
    tap.equal([one for one in made["resolvedDependencies"] if ":" not in one["uri"]], [], "provenance: and sources a place")


def check_papers(dist, version, chosen):
    done = run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=dist)
    tap.ok(done.returncode == 0, "SHA256SUMS is right", done.stdout)
    with open(os.path.join(dist, f"buckle-{version}.cdx.json"), encoding="utf-8") as f:
        bill = json.load(f)
    names = {one["bom-ref"] for one in bill["components"]}
    tap.ok({"jansson", "libyaml", "c-ares", "nghttp2", "libevent", "ncurses", "musl"} <= names, "the bill of materials names what is linked", names)
    refs = {ref for one in bill["dependencies"] for ref in (one["ref"], *one["dependsOn"])}
    tap.equal(refs - names - {"buckle"}, set(), "and depends on nothing else")
    helpers = {f"{one.name}-{target.released}" for target in chosen for one in roots.helpers_of(target)}
    tap.ok(helpers <= names, "and helpers for each system that has them", names)
    check_schema(os.path.join(dist, f"buckle-{version}.cdx.json"))
    with open(os.path.join(dist, f"buckle-{version}.provenance.json"), encoding="utf-8") as f:
        statement = json.load(f)
    check_statement(statement)
    said = {one["name"] for one in statement["subject"]}
    there = set(os.listdir(dist)) - {"SHA256SUMS", f"buckle-{version}.provenance.json"}
    tap.equal(said, there, "the provenance names every file")


def make_both(names, once, again):
    """Where the first build put its files; the second must have made the same."""
    toolchain.install()  # before it is copied
    folder = checkout("one", again)
    other = None if once or not folder else checkout("another/place/two", again, folder)
    with concurrent.futures.ThreadPoolExecutor() as pool:  # side by side: each has long steps with one process
        first = pool.submit(make_dist, folder, names, ZIG_HOME=toolchain.home()) if folder else None
        second = pool.submit(make_elsewhere, other, names) if other else None
        dist, same = first and first.result(), second and second.result()
    if dist and same:
        check_same(dist, same)
    return dist


def main(words):
    chosen = targets.chosen([word for word in words if not word.startswith("--")])
    made = [word.removeprefix("--made=") for word in words if word.startswith("--made=")]
    dist = os.path.abspath(made[0]) if made else make_both([one.name for one in chosen], "--once" in words, "--again" in words)
    if not dist:
        return tap.done()
    source = os.path.basename(glob.glob(os.path.join(dist, "*-source.tar.gz"))[0])
    version = source.removeprefix("buckle-").removesuffix("-source.tar.gz")
    for target in chosen:
        check_target(dist, target, version)
    name = f"buckle-{version}-linux-x86_64"
    check_packages(dist, os.path.join(PLACE, "unpacked", name, name, "bin", "buckle"))
    check_papers(dist, version, chosen)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
