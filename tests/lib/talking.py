# SPDX-License-Identifier: Apache-2.0
"""A shell that stays, and answers line by line."""

import re

# What a line prints, and then ==STATUS.
LOOP = 'while IFS= read -r line; do eval "$line" 2>&1; echo "==$?"; done'


class Talker:
    """Whoever has started LOOP as self.child, with pipes for its input and output."""

    def ask(self, line):
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()
        text = b""
        while True:
            got = self.child.stdout.readline()
            text += got
            if not got or re.search(rb"==\d+\n$", got):
                return text.decode(errors="replace") + ("" if got else "gone")
