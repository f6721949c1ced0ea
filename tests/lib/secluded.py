# SPDX-License-Identifier: Apache-2.0
"""Keeps the runs of other tests away. The page and the terminal view show and answer whatever their user runs in
their network namespace, and many tests have the same user.

Import this before anything that makes files: as root, it restarts the program in a new network namespace, which has a
loopback device alone.
"""

import fcntl
import socket
import struct

from restarting import in_own_namespace

SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def start_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


if in_own_namespace("net", "-n"):
    start_loopback()
