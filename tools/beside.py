# SPDX-License-Identifier: Apache-2.0
"""What belongs to a program that is packed: the programs that it starts, in ../libexec/buckle beside it."""

import os

FOLDER = "libexec/buckle"


def beside(program):
    """{path from the folder above the program's: file}, such as libexec/buckle/buckle-tls."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(program))), FOLDER)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return {f"{FOLDER}/{name}": os.path.join(folder, name) for name in names}
