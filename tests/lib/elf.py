# SPDX-License-Identifier: Apache-2.0
"""What the head of an ELF file of 64 bits says."""

import struct

PT_INTERP = 3
PT_RELRO = 0x6474E552
ET_DYN = 3


def kind_and_types(path):
    """A file's kind, and the types of its program headers."""
    with open(path, "rb") as f:
        head = f.read(4096)
    kind, = struct.unpack_from("<H", head, 16)
    offset, = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    return kind, [struct.unpack_from("<I", head, offset + i * size)[0] for i in range(count)]


def is_static(path):
    """Whether nothing has to load it."""
    return PT_INTERP not in kind_and_types(path)[1]
