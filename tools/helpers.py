#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs in libexec/buckle that a release has beside bin/buckle, one row each.

    tools/helpers.py BUILD FOLDER      strips those of a build into FOLDER/libexec/buckle

Tarballs, packages, the image and their tests get them from here. A program that another C library is
needed for has a list of sources: it is compiled apart, for glibc. The others are linked as buckle is.
"""

import os
import subprocess
import sys

FOLDER = "libexec/buckle"


class Helper:
    def __init__(self, name, built, systems=("linux",), glibc=(), library=False):
        self.name = name
        self.built = built      # in Meson's build folder
        self.systems = systems  # that have it
        self.glibc = glibc      # sources of a program that loads the system's libraries
        self.library = library  # whether programs that link libbuckle start it, too
        self.path = f"{FOLDER}/{name}"


HELPERS = (
    Helper("buckle-client", "buckle-client"),
    # loads the system's OpenSSL
    Helper("buckle-tls", "src/tls/buckle-tls",
           glibc=["src/tls/*.c", "src/base/*.c", "src/graph/peer.c", "src/net/on-linux/tls-turn.c", "src/kernel/shared/own-filter.c",
                  "src/kernel/launch/walls.c"], library=True),
    Helper("buckle-window", "src/window/buckle-window", systems=("linux", "darwin")),
)


def helpers_of(target):
    """Those of a release's target."""
    return [one for one in HELPERS if target.system in one.systems]


def linked_of(target):
    """Those that Meson links for the target."""
    return [one for one in helpers_of(target) if not one.glibc]


def strip_built(build, folder):
    """For tests and packages of this machine's own build."""
    os.makedirs(os.path.join(folder, FOLDER), exist_ok=True)
    for one in HELPERS:
        subprocess.run(["strip", "-o", os.path.join(folder, one.path), os.path.join(build, one.built)], check=True)


if __name__ == "__main__":
    strip_built(*sys.argv[1:])
