#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tools/mac-check.sh here, with stand-ins for what only a Mac has; prints TAP.

`sandbox-exec` is Buckle's own. All of the report must be good then; without enforcement, every line
about a denial must say so. That is what makes a report from a Mac worth reading.
"""

import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import names
import tap

# It writes the denials that the script and `self-test` provoke to the log, as the kernel would.
SANDBOX_EXEC = """#!/bin/sh
denied=
case " $* " in
*etc/buckle-check*) denied=/private/etc/buckle-check ;;
*outside/reported*) denied=$(realpath -m ../outside/reported) ;;
esac
if [ "$denied" ]; then
    tag=$(printf %s "$2" | grep -o 'CMD64_[^"]*_END_[A-Za-z0-9_]*' | head -n 1)
    printf '%s\\n' "2026-11-15 13:05:11.123 E  kernel[0:1f3a2] (Sandbox) Sandbox: sh(812) deny(1) file-write-create $denied" "$tag" |
        tee -a {folder}/stream >>{folder}/stream."${{tag##*_END_}}"
    sleep 0.5 # `log` below takes longer to start than the real one
fi
{enforce}
"""
REAL = 'exec {real} "$@"'
NONE = 'shift 2; exec "$@"'

LOG = """#!/bin/sh
echo "Filtering the log data"
# a run asks for its own lines, the script for all of them
tag=$(echo "$*" | sed -n 's/.*ENDSWITH "\\([^"]*\\)".*/.\\1/p')
: >>{folder}/stream"$tag"
exec tail -n +1 -f {folder}/stream"$tag"
"""
OTHERS = {"sw_vers": f"#!/bin/sh\ncat {TOP}/tests/macos/sw_vers.txt\n",
          "codesign": "#!/bin/sh\n",
          # as BSD's takes its arguments; perl's alarm stays with what is executed
          "script": '#!/bin/bash\n[ "$1" = -q ] || exit 2\nexec /usr/bin/script -qec "$(printf "%q " "${@:3}")" "$2"\n',
          "cp": '#!/bin/sh\n[ "$1" = -c ] && shift\nexec /bin/cp "$@"\n'}  # -c clones


def report(folder, enforce):
    """The lines of one run: {what: "ok", "NOT OK" or "-"}, and all of the output."""
    tools = {"sandbox-exec": SANDBOX_EXEC.format(folder=folder, enforce=enforce), "log": LOG.format(folder=folder), **OTHERS}
    home = os.path.join(folder, "home")
    os.makedirs(os.path.join(folder, "bin"))
    os.makedirs(home)
    open(os.path.join(folder, "stream"), "w", encoding="utf-8").close()
    for name, text in tools.items():
        path = os.path.join(folder, "bin", name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o755)
    env = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": home, "BUCKLE_BACKEND": "seatbelt", "TMPDIR": folder}
    buckle = os.path.relpath(os.environ["BUCKLE"], TOP)  # as a person would name it
    done = subprocess.run([os.path.join(TOP, "tools", "mac-check.sh"), buckle], cwd=TOP, env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    found = {what: how for how, what in re.findall(r"^(ok|NOT OK|-) +(.*)$", done.stdout, re.MULTILINE)}
    left = [name for name in os.listdir(folder) if name.startswith("buckle-check.")]
    tap.equal((left, sorted(os.listdir(home))), ([], []), "it leaves nothing behind")
    return done.returncode, found, done.stdout


# What a Mac without enforcement must not get past.
DENIALS = {"writing to the home folder", "writing to /tmp", "reading a secret in a home folder", "inside another sandbox",
           "a protected name", "by a rename", "by a symlink in its place", "moving a denied folder", "linking a denied file",
           "reading a denied file", "copying a denied file", "cloning a denied file"}
# What only buckle-window and the control sockets show.
WHAT_RUNS = {"status lists the session", "top lists it, and ends with q", "ui refuses its page to a sandbox",
             "and serves it to the user", "whose code works once"}


def main():
    with tempfile.TemporaryDirectory() as folder:
        status, found, text = report(os.path.join(folder, "good"), REAL.format(real=os.path.join(names.FOLDER, "sandbox-exec")))
        bad = [what for what, how in found.items() if how == "NOT OK"]
        tap.ok(not bad, "with a sandbox, all is good", bad, text)
        tap.equal(status, 0, "and so is the status")
        tap.ok(len([how for how in found.values() if how == "ok"]) >= 35, "most of it can be tried here", text)
        tap.equal((DENIALS | WHAT_RUNS) - set(found), set(), "it has every denial, and what shows runs")
        tap.ok(os.path.expanduser("~") + "/" not in text and folder not in text, "it names no folder of the machine", text)
        status, found, text = report(os.path.join(folder, "bad"), NONE)
        tap.equal([what for what in sorted(DENIALS) if found.get(what) != "NOT OK"], [], "without a sandbox, every denial is missed")
        tap.equal(status, 1, "and the status says so")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
