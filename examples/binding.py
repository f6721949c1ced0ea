#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How thin a binding is: runs a command in a sandbox from Python. binding.py COMMAND…"""

import ctypes
import os
import sys

lib = ctypes.CDLL(os.environ.get("LIBBUCKLE", "libbuckle.so.0"))
P, S, I, U64 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64
EVENT = ctypes.CFUNCTYPE(None, P, P, P)

for name, result, *takes in [
        ("version", S), ("command_new", P, ctypes.POINTER(S)), ("command_free", None, P),
        ("command_rule", I, P, S, S), ("command_directory", I, P, S),
        ("command_on_event", None, P, EVENT, P), ("start", P, P, ctypes.POINTER(P)),
        ("run_wait", I, P, ctypes.POINTER(P)), ("run_status", I, P), ("run_free", None, P),
        ("event_json", S, P), ("event_denied", I, P), ("error_report", S, P),
        ("error_free", None, P)]:
    function = getattr(lib, "buckle_" + name)
    function.restype, function.argtypes = result, takes


class Error(Exception):
    """What the library has to say, in its words."""

    def __init__(self, error):
        super().__init__(lib.buckle_error_report(error).decode())
        lib.buckle_error_free(error)


def run(argv, rules=(), directory=".", on_event=None):
    """The command's exit status. on_event gets each event as JSON."""
    error = P()
    words = (S * (len(argv) + 1))(*[a.encode() for a in argv], None)
    command = lib.buckle_command_new(words)
    for rule, value in rules:
        lib.buckle_command_rule(command, rule.encode(), value.encode())
    lib.buckle_command_directory(command, directory.encode())
    told = EVENT(lambda arg, run, event: on_event(lib.buckle_event_json(event).decode()))
    if on_event:
        lib.buckle_command_on_event(command, told, None)
    started = lib.buckle_start(command, ctypes.byref(error))
    lib.buckle_command_free(command)
    try:
        if not started or lib.buckle_run_wait(started, ctypes.byref(error)) < 0:
            raise Error(error)
        return lib.buckle_run_status(started)
    finally:
        lib.buckle_run_free(started)


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:], on_event=print))
    except Error as e:
        sys.exit(str(e))
