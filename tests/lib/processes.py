# SPDX-License-Identifier: Apache-2.0
"""Running processes and their memory."""


def descendants(pid):
    found = [pid]
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        for child in f.read().split():
            found += descendants(int(child))
    return found


def memory_of(pid):
    """Private memory and proportional share (PSS), in KiB."""
    own = share = 0
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        for line in f:
            key, *rest = line.split()
            own += int(rest[0]) if key in ("Private_Clean:", "Private_Dirty:") else 0
            share += int(rest[0]) if key == "Pss:" else 0
    return own, share


def command_name(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""
