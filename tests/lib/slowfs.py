# SPDX-License-Identifier: Apache-2.0
"""A file system with one file, "page", that is slow to read: a process that maps it slows down every
access to that memory. Needs root and a private mount namespace."""

import errno
import os
import struct
import subprocess
import threading
import time

LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, BATCH_FORGET = 1, 2, 3, 14, 15, 18, 25, 26, 42
ROOT, PAGE = 1, 2


class SlowPage:
    """with SlowPage(folder, b"text", seconds) as path: …; looks counts how often it was read."""

    def __init__(self, folder, text, seconds):
        self.folder, self.seconds, self.looks = folder, seconds, 0
        self.text = text.ljust(4096, b"\0")
        self.device = None

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        # "-i": without a helper program
        subprocess.run(["mount", "-i", "-t", "fuse", "-o", options, "slow", self.folder], check=True,
                       pass_fds=[self.device])
        threading.Thread(target=self.serve, daemon=True).start()
        return os.path.join(self.folder, "page")

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.folder], check=False)
        os.close(self.device)

    def attr(self, node):
        mode, size = (0o40755, 0) if node == ROOT else (0o100644, len(self.text))
        return struct.pack("<6Q10I", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, opcode, node, body):
        """Returns the answer to a request, or an errno."""
        if opcode == INIT:
            return struct.pack("<4I2H2I2HI7I", 7, 31, 65536, 0, 16, 12, 4096, 1, 0, 0, 0, *[0] * 7)
        if opcode == LOOKUP and node == ROOT and body.rstrip(b"\0") == b"page":
            return struct.pack("<4Q2I", PAGE, 0, 3600, 3600, 0, 0) + self.attr(PAGE)
        if opcode == LOOKUP:
            return errno.ENOENT
        if opcode == GETATTR:
            return struct.pack("<Q2I", 3600, 0, 0) + self.attr(node)
        if opcode == OPEN and node == PAGE:
            return struct.pack("<Q2I", 0, 0, 0)
        if opcode == READ:
            self.looks += 1
            time.sleep(self.seconds)
            offset, size = struct.unpack("<QI", body[8:20])
            return self.text[offset:offset + size]
        return b"" if opcode in (RELEASE, FLUSH) else errno.ENOSYS

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 17)
                opcode, unique, node = struct.unpack("<IQQ", request[4:24])
                if opcode in (FORGET, BATCH_FORGET):
                    continue
                got = self.answer(opcode, node, request[40:])
                error, data = (0, got) if isinstance(got, bytes) else (-got, b"")
                os.write(self.device, struct.pack("<IiQ", 16 + len(data), error, unique) + data)
            except OSError as trouble:
                if trouble.errno not in (errno.ENOENT, errno.EINTR):
                    return
