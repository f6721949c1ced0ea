#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/need.sh: names missing packages, installs them, and explains what to do if it cannot.

Stubs replace the system's tools and record their calls.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import FOLDER, write
from tap import done, equal, ok

NEED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "need.sh")
QUERY = '#!/bin/sh\necho "installed have-one"\necho "installed have-two"\necho "config-files purged"\n'
LOG = '#!/bin/sh\necho "$0 $*" | sed "s|.*/||" >> "$FOLDER/log"\n'


def need(tools, *packages):
    """Runs need.sh with only these stubs and the few real tools that it uses."""
    folder = os.path.join(FOLDER, "bin")
    subprocess.run(["rm", "-rf", folder, os.path.join(FOLDER, "log")], check=True)
    for name, text in tools.items():
        os.chmod(os.path.join(FOLDER, write("bin/" + name, text)), 0o755)
    for name in ("sh", "sed", "env"):
        os.symlink(f"/usr/bin/{name}", os.path.join(folder, name))
    r = subprocess.run(["/bin/sh", NEED, *packages], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=20,
                       env={"PATH": folder, "FOLDER": FOLDER})
    log = os.path.join(FOLDER, "log")
    calls = open(log, encoding="utf-8").read().splitlines() if os.path.exists(log) else []
    return r.returncode, r.stdout, calls


def main():
    root = {"dpkg-query": QUERY, "id": "#!/bin/sh\necho 0\n", "apt-get": LOG}
    status, out, calls = need(root, "have-one", "have-two")
    equal((status, out, calls), (0, "", []), "nothing is missing: nothing happens")
    status, out, calls = need(root, "have-one", "gone", "purged", "have")
    equal((status, out), (0, "Installing what is missing: gone purged have\n"),
          "what is missing is named")
    ok(len(calls) == 2 and calls[0].endswith(" update")
       and calls[1].endswith("install -y --no-install-recommends gone purged have"),
       "and installed after an update", calls)
    user = dict(root, id="#!/bin/sh\necho 1000\n")
    status, out, calls = need(user, "gone")
    ok(status == 1 and "apt-get install --no-install-recommends gone" in out and not calls,
       "without root and sudo it says what to do", status, out, calls)
    sudo = dict(user, sudo='#!/bin/sh\necho "sudo" >> "$FOLDER/log"\nexec "$@"\n')
    status, out, calls = need(sudo, "gone")
    ok(status == 0 and calls.count("sudo") == 2, "with sudo it uses that", status, out, calls)
    failing = dict(root, **{"apt-get": "#!/bin/sh\nexit 100\n"})
    status, out, calls = need(failing, "gone")
    ok(status == 1 and "could not install: gone" in out and "SKIP_DEPS=1" in out,
       "a failing installation is reported", status, out)
    other = {"id": "#!/bin/sh\necho 0\n"}
    equal(need(other, "gone"), (0, "", []), "other systems are left alone")
    return done()


if __name__ == "__main__":
    sys.exit(main())
