#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buckle decompile: the output, compiled again, is equivalent: for compiled samples, public profiles
($BUCKLE_SHARED, or ../shared), shipped and golden ones. --verify proves it, and for the samples
`diff` compares the output with their sources as well. --all tries all profiles of iOS 13's bundle."""

import glob
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import corpus
from drive import buckle, write
from tap import done, equal, ok, skip

TOP = os.path.dirname(os.path.dirname(HERE))


def comes_back(name, *argv):
    r = buckle("decompile", "--verify", *argv)
    ok(r.status == 0 and r.out.startswith("; Decompiled from "), f"{name} comes back", r)
    return r.out


def check_samples():
    samples = sorted(glob.glob(os.path.join(corpus.SHARED, "blobs", "*", "*.sb")) +
                     glob.glob(os.path.join(corpus.SHARED, "blobs", "new", "*", "*.sb")))
    if not samples:
        skip("the compiled samples are not here (set BUCKLE_SHARED)")
        return
    for source in samples:
        name = os.path.basename(source)
        text = comes_back(name, source + ".bin")
        fold = [] if "osx-10.6" in source else ["--fold-case"]
        r = buckle("diff", *fold, write("again.sb", text), source)
        ok(r.status == 0, f"{name}: the text is the source", r)
        ok("disable-" not in text and "decision-flags" not in text, f"{name}: in plain words", text)


def check_without_source():
    blobs = os.path.join(corpus.SHARED, "blobs", "new")
    for path in sorted(glob.glob(os.path.join(blobs, "blobs-only", "*.bin"))):
        comes_back(os.path.basename(path), path)
    for path in sorted(glob.glob(os.path.join(blobs, "ios13", "*_bundle.bin"))):
        names = bundle_names(path)
        ok(len(names) >= 214, "the bundle has its profiles", names)
        for name in names if "--all" in sys.argv else names[::16]:
            comes_back(f"iOS 13's {name}", "--name", name, path)


def bundle_names(path):
    """The names of era D's profiles, read here to have a second opinion."""
    with open(path, "rb") as f:
        data = f.read()
    nodes, ops, profiles, regexes = struct.unpack_from("<HBxHH", data, 2)
    rows = 12 + 2 * (regexes + data[10] + data[11])
    size = 4 + 2 * ops
    pool = (rows + profiles * size + 7) // 8 * 8 + 8 * nodes
    names = []
    for i in range(profiles):
        at = pool + 8 * struct.unpack_from("<H", data, rows + i * size)[0]
        names.append(data[at + 2:at + 1 + struct.unpack_from("<H", data, at)[0]].decode())
    return names


def check_profiles():
    if not os.path.isdir(corpus.CORPUS):
        skip("the public profiles are not here (set BUCKLE_SHARED)")
        return
    for name, argv in corpus.profiles():
        comes_back(name, *argv)
    for path in corpus.files("webkit/*.sb"):
        comes_back(corpus.short(path) + " with message filters", path, *corpus.defines(
            {**corpus.WEBKIT, "ENABLE_SANDBOX_MESSAGE_FILTER": "YES", "CPU": "arm64"}))


def check_own():
    own = glob.glob(os.path.join(TOP, "profiles", "*.sb"))
    own += glob.glob(os.path.join(TOP, "tests", "golden", "*.sb"))
    ok(len(own) > 10, "there are profiles of our own")
    for path in sorted(own):
        comes_back(os.path.basename(path), *corpus.defines({"HOME": "/home/me"}), path)


def check_stable():
    first = buckle("decompile", "default").out
    again = buckle("decompile", write("again.sb", first)).out
    equal(again.splitlines()[1:], first.splitlines()[1:], "decompiling what was decompiled")


def check_errors():
    equal(buckle("decompile").status, 2, "no profile")
    equal(buckle("decompile", "missing.sb").status, 2, "a profile that is not there")
    equal(buckle("decompile", write("bad.sb", "(version 1)(nonsense)")).status, 2, "a bad profile")
    equal(buckle("decompile", write("bad.bin", b"\0\0\6\0\xbe" + bytes(20))).status, 2, "a bad blob")


def main():
    check_samples()
    check_without_source()
    check_profiles()
    check_own()
    check_stable()
    check_errors()
    return done()


if __name__ == "__main__":
    sys.exit(main())
