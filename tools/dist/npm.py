#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The npm packages of a release: tools/pack-npm.py with the programs of all targets that were built."""

import os
import subprocess
import sys

import release
from targets import TARGETS, TOP

# Node's words for systems and processors.
SYSTEMS, PROCESSORS = {"linux": "linux", "darwin": "darwin"}, {"x86_64": "x64", "aarch64": "arm64"}


def main():
    programs = []
    for target in TARGETS.values():
        path = os.path.join(release.STAGE, target.released, "bin", "buckle")
        if os.path.exists(path):
            programs.append(f"{SYSTEMS[target.system]}-{PROCESSORS[target.cpu]}={path}")
    return subprocess.run([os.path.join(TOP, "tools", "pack-npm.py"), "--version", release.version(), "--out",
                           release.DIST, *programs], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
