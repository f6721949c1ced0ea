# SPDX-License-Identifier: Apache-2.0
"""A test that wants a namespace of its own."""

import os
import subprocess
import sys


def in_own_namespace(kind, *options):
    """As root, restarts the program in a new namespace, once, where that is possible. Returns whether it is in it."""
    mark, own = f"BUCKLE_TESTS_{kind.upper()}", os.readlink(f"/proc/self/ns/{kind}")
    if os.geteuid() != 0:
        return False
    if mark in os.environ:
        return os.environ[mark] != own
    os.environ[mark] = own
    unshare = ["unshare", *options]
    if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])
    return False
