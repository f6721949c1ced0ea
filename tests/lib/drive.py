# SPDX-License-Identifier: Apache-2.0
"""Drives the staged program ($BUCKLE) as a user would, for the end-to-end tests."""

import atexit
import os
import shutil
import subprocess
import tempfile
import time

BUCKLE = os.path.abspath(os.environ.get("BUCKLE", "buckle"))
FOLDER = tempfile.mkdtemp(prefix="buckle-e2e-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


class Ran:
    def __init__(self, status, out, err, seconds):
        self.status = status  # None if it had to be killed; negative for a signal
        self.raw = out
        self.out = out.decode(errors="replace")
        self.err = err.decode(errors="replace")
        self.seconds = seconds

    def __str__(self):
        return (f"status {self.status} after {self.seconds:.1f} s\n"
                f"out: {self.out[:2000]}\nerr: {self.err[:2000]}")


def finish(child, given=None, timeout=30):
    """(status, output, errors) of a child when it ends; the status is None if it had to be killed."""
    try:
        out, err = child.communicate(given, timeout)
        return child.returncode, out, err
    except subprocess.TimeoutExpired:
        child.kill()
        return None, *child.communicate()


def buckle(*argv, stdin=b"", stdout=subprocess.PIPE, timeout=30, env=None, cwd=FOLDER):
    """Runs the program. stdin is text, bytes or an open file."""
    how = {"input": stdin.encode() if isinstance(stdin, str) else stdin}
    if hasattr(stdin, "fileno"):
        how = {"stdin": stdin}
    start = time.monotonic()
    try:
        done = subprocess.run([BUCKLE, *argv], stdout=stdout, stderr=subprocess.PIPE,
                              timeout=timeout, cwd=cwd, env=env, **how)
        status, out, err = done.returncode, done.stdout or b"", done.stderr
    except subprocess.TimeoutExpired as late:
        status, out, err = None, late.stdout or b"", late.stderr or b""
    return Ran(status, out, err, time.monotonic() - start)


def write(name, text):
    """Makes a file in the tests' folder and returns its relative name."""
    path = os.path.join(FOLDER, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text.encode() if isinstance(text, str) else text)
    return name
