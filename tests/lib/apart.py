# SPDX-License-Identifier: Apache-2.0
"""Keeps the mounts of other tests away: what is kept or prepared for the next launch depends on what is
mounted.

Import this before anything that makes files: as root, it restarts the program in a new mount
namespace. What other tests have mounted by then is unmounted there: the kernel would do so when such a
test removes the folder, in the middle of this one.
"""

import os
import subprocess
import tempfile

from restarting import in_own_namespace


def mounts_of_others():
    """The last one first: it can be on one before it."""
    with open("/proc/self/mountinfo", "rb") as f:
        points = [line.split()[4].decode("unicode_escape").encode("latin-1") for line in f]
    return [p for p in reversed(points) if p.startswith(os.fsencode(tempfile.gettempdir()) + b"/")]


if in_own_namespace("mnt", "-m", "--propagation", "private"):
    for point in mounts_of_others():
        subprocess.run(["umount", "-l", point], stderr=subprocess.DEVNULL, check=False)
