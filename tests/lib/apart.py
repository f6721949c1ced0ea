# SPDX-License-Identifier: Apache-2.0
"""Keeps the mounts of other tests away: what is kept or prepared for the next launch depends on what is
mounted.

Import this before anything that makes files: as root, it restarts the program in a new mount
namespace.
"""

import os
import subprocess
import sys

MARK = "BUCKLE_TESTS_APART"
UNSHARE = ["unshare", "-m", "--propagation", "private"]

if os.geteuid() == 0 and MARK not in os.environ:
    os.environ[MARK] = "1"
    if subprocess.run([*UNSHARE, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.execvp(UNSHARE[0], [*UNSHARE, sys.executable, *sys.argv])
