# SPDX-License-Identifier: Apache-2.0
"""Trees before and after `buckle try`, compared exactly."""

import json
import re

from running import BUCKLE

GIT = "git -c user.name=A -c user.email=a@example.com -c init.defaultBranch=main"
MANIFEST = r"""
import hashlib, json, os, stat, sys
top, rows, links = sys.argv[1].encode(), [], {}
def see(path):
    st = os.lstat(path)
    row = {"mode": st.st_mode, "owner": [st.st_uid, st.st_gid], "time": st.st_mtime_ns}
    if stat.S_ISREG(st.st_mode):
        row["bytes"] = hashlib.sha256(open(path, "rb").read()).hexdigest()
        row["holes"] = st.st_blocks * 512 < st.st_size
        links.setdefault(st.st_ino, []).append(repr(path[len(top):]))
        row["names"] = links[st.st_ino]
    if stat.S_ISLNK(st.st_mode):
        row["to"] = repr(os.readlink(path))
    else:
        row["attributes"] = [[n, os.getxattr(path, n).hex()] for n in sorted(os.listxattr(path))]
    rows.append([repr(path[len(top):]), row])
    if stat.S_ISDIR(st.st_mode):
        for name in sorted(os.listdir(path)):
            see(os.path.join(path, name))
see(top)
print(json.dumps(rows))
"""

SETUP = r"""
mkdir -p src/deep/er lib; echo one >src/one.txt; echo two >src/two.txt; seq 1000 >src/deep/numbers
echo x >src/deep/er/x; ln -s one.txt src/link; chmod 751 lib
printf '#!/bin/sh\necho hi\n' >run; chmod 755 run; head -c 100000 /dev/zero >lib/zero
find . -depth -exec touch -h -d '2020-01-02 03:04:05' {} +
"""


def manifest(person, folder):
    return json.loads(person.sh(f"python3 - '{folder}' <<'END'\n{MANIFEST}\nEND"))


def alike(one, other, since):
    """Both trees, without the times that the tasks themselves set, which cannot be the same."""
    def without(rows):
        return [[name, {k: v for k, v in row.items() if k != "time" or v < since}] for name, row in rows]
    one, other = without(one), without(other)
    return [(a, b) for a, b in zip(one, other) if a != b] or ([] if len(one) == len(other) else
                                                             [(len(one), len(other))])


def made(person, script=SETUP):
    folder = person.folder()
    person.sh(script, cwd=folder)
    return folder


def trying(person, folder, script, *words):
    return person.call([BUCKLE, "try", *words, "--", "sh", "-ec", script], cwd=folder)


def world_of(ran):
    found = re.search(r"the world (\w+)", ran.err)
    return found and found.group(1)


def worlds(person):
    return json.loads(person.call([BUCKLE, "changes", "--json"]).out)


def buckle(person, *words, **how):
    return person.call([BUCKLE, *words], **how)
