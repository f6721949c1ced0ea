# SPDX-License-Identifier: Apache-2.0
"""Provides a /dev/fuse that everybody may open, as udev does, on machines without udev.

Import this before anything that makes files: as root, it restarts the program in a new mount
namespace, with such a device mounted over the real one. Nothing outside changes.
"""

import os
import subprocess

from restarting import in_own_namespace


def _mount_over():
    script = ("mount -t tmpfs none /mnt && mknod -m 666 /mnt/fuse c 10 229 && "
              "mount --bind /mnt/fuse /dev/fuse && umount -l /mnt")
    subprocess.run(["sh", "-c", script], check=False)


def usable():
    """Whether this process and later ones can open the device."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError:
        return False
    return bool(os.stat("/dev/fuse").st_mode & 0o002)


if os.path.exists("/dev/fuse") and not usable() and in_own_namespace("mnt", "-m", "--propagation", "private"):
    _mount_over()
