# SPDX-License-Identifier: Apache-2.0
"""The compat names as a script finds them: links to the program, on PATH."""

import os

from running import BUCKLE, PATH

FOLDER = os.path.join(os.path.dirname(BUCKLE), "names")
NAMES = ("cage", "sandbox-exec", "srt")

os.makedirs(FOLDER, exist_ok=True)
for name in NAMES:
    link = os.path.join(FOLDER, name)
    if not os.path.lexists(link):
        os.symlink(BUCKLE, link)


def env(**more):
    """An environment with the names on PATH."""
    return {"PATH": FOLDER + ":" + PATH, **more}


def call(user, *words, **how):
    """Runs a command line that starts with one of the names."""
    return user.call([os.path.join(FOLDER, words[0]), *words[1:]],
                       env=env(**how.pop("env", {})), **how)


def script(user, text, **how):
    """A shell script that uses them."""
    return user.call(["/bin/sh", "-c", text], env=env(**how.pop("env", {})), **how)
