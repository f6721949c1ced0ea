# SPDX-License-Identifier: Apache-2.0
"""Makes Mach-O files with code signatures, byte by byte, and entitlements in both forms."""

import plistlib
import struct

ARM64 = (0x0100000c, 0)
X86_64 = (0x01000007, 3)

SIGNATURE = 0xfade0cc0
DIRECTORY = 0xfade0c02
PLIST = 0xfade7171
DER = 0xfade7172


def blob(magic, content):
    return struct.pack(">II", magic, 8 + len(content)) + content


def directory(identifier="com.example.app", team="TEAM123456", flags=0x10000, version=0x20400,
              exec_flags=1):
    """A code directory without hashes."""
    head = 88
    names = identifier.encode() + b"\0"
    team_at = head + len(names) if team else 0
    names += team.encode() + b"\0" if team else b""
    fields = struct.pack(">IIIIIIIBBBBI", version, flags, head + len(names), head, 0, 0, 0,
                         32, 2, 0, 12, 0)
    fields += struct.pack(">III", 0, team_at, 0)  # scatter, team, spare
    fields += struct.pack(">QQQQ", 0, 0, 0, exec_flags)
    return blob(DIRECTORY, fields + names)


def signature(parts):
    """parts: (slot, blob)."""
    at = 12 + 8 * len(parts)
    index = body = b""
    for slot, part in parts:
        index += struct.pack(">II", slot, at + len(body))
        body += part
    return struct.pack(">III", SIGNATURE, at + len(body), len(parts)) + index + body


def thin(signed=None, cpu=ARM64, big=False, extra=()):
    """A program that has nothing besides load commands, and a signature."""
    order = ">" if big else "<"
    commands = [struct.pack(order + "II", 0x1b, 24) + bytes(16), *extra]
    size = sum(map(len, commands)) + (16 if signed is not None else 0)
    at = 32 + size
    if signed is not None:
        commands.append(struct.pack(order + "IIII", 0x1d, 16, at, len(signed)))
    head = struct.pack(order + "IIIIIIII", 0xfeedfacf, *cpu, 2, len(commands), size, 0, 0)
    return head + b"".join(commands) + (signed or b"")


def fat(slices, wide=False):
    """slices: (cpu, bytes)."""
    entry = 32 if wide else 20
    at = (8 + entry * len(slices) + 15) // 16 * 16
    head = struct.pack(">II", 0xcafebabf if wide else 0xcafebabe, len(slices))
    body = b""
    for cpu, data in slices:
        place = struct.pack(">QQII" if wide else ">III", at + len(body), len(data),
                            *((4, 0) if wide else (4,)))
        head += struct.pack(">II", *cpu) + place
        body += data + bytes(-len(data) % 16)
    return head.ljust(at, b"\0") + body


# ---- entitlements ----

def der_item(tag, content):
    n = len(content)
    length = bytes([n]) if n < 128 else bytes([0x80 + (n.bit_length() + 7) // 8]) + n.to_bytes(
        (n.bit_length() + 7) // 8, "big")
    return bytes([tag]) + length + content


def der_value(value):
    if isinstance(value, bool):
        return der_item(1, b"\xff" if value else b"\0")
    if isinstance(value, int):
        return der_item(2, value.to_bytes(8, "big", signed=True))
    if isinstance(value, str):
        return der_item(12, value.encode())
    if isinstance(value, list):
        return der_item(0x30, b"".join(map(der_value, value)))
    return der_item(0xb0, b"".join(der_item(0x30, der_value(k) + der_value(v))
                                   for k, v in value.items()))


def der(entitlements):
    return der_item(0x70, der_item(2, b"\x01") + der_value(entitlements))


def signed(entitlements=None, form="plist", **how):
    """A signature with these entitlements."""
    parts = [(0, directory(**how))]
    if entitlements is not None and form in ("plist", "both"):
        parts.append((5, blob(PLIST, plistlib.dumps(entitlements))))
    if entitlements is not None and form in ("der", "both"):
        parts.append((7, blob(DER, der(entitlements))))
    return signature(parts)
