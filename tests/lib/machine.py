# SPDX-License-Identifier: Apache-2.0
"""Resources of the whole machine that tests need for a moment: a disk, and the core dump pattern. Both
need root."""

import contextlib
import fcntl
import os
import stat
import subprocess

from drive import FOLDER

PATTERN = "/proc/sys/kernel/core_pattern"


@contextlib.contextmanager
def pattern(text):
    """Changes where the kernel writes core dumps. It is machine-wide, so only one test at a time."""
    with open(os.path.join("/tmp", "core_pattern.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(PATTERN) as f:
            before = f.read()
        try:
            with open(PATTERN, "w") as f:
                f.write(text)
            yield
        finally:
            with open(PATTERN, "w") as f:
                f.write(before)


def may_set_pattern():
    try:
        with pattern("core"):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def disk():
    """A disk with a secret on it, under three names; None if it cannot be made."""
    image, node = os.path.join(FOLDER, "image"), os.path.join(FOLDER, "node")
    again = os.path.join(FOLDER, "devices")
    with open(image, "wb") as f:
        f.write(b"secret" * 10000)
    made = subprocess.run(["losetup", "-f", "--show", image], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    if made.returncode != 0:
        yield None
        return
    name = made.stdout.decode().strip()
    os.mknod(node, stat.S_IFBLK | 0o666, os.stat(name).st_rdev)
    os.makedirs(again)
    mounted = subprocess.run(["mount", "-t", "devtmpfs", "none", again], check=False).returncode == 0
    was = os.stat(name).st_mode
    for path in (name, node):  # as for members of the group disk
        os.chmod(path, 0o666)
    names = [name, node] + ([os.path.join(again, os.path.basename(name))] if mounted else [])
    try:
        yield names
    finally:
        os.chmod(name, was & 0o777)
        if mounted:
            subprocess.run(["umount", again], check=False)
        subprocess.run(["losetup", "-d", name], check=False)
        os.unlink(node)
        os.rmdir(again)
