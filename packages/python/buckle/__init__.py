# SPDX-License-Identifier: Apache-2.0
"""
Buckle: commands in a sandbox, under policies in macOS's sandbox language (SBPL) or settings.

    import buckle
    buckle.run(["make"])                                  # as `buckle run make`
    buckle.Judge("default.sb")("file-write-create", "/etc/x").allowed
    buckle.apply(buckle.Policy(deny_write=["."]))         # this process itself
"""

import ctypes
import json
from typing import Any, Dict

from ._judge import Judge, Verdict
from ._library import P, Error, error_of, lib, take_text, text_of
from ._run import (DEVNULL, PIPE, Event, Policy, Question, Result, Run, apply, plan, run)

__version__: str = text_of(lib.buckle_version())


def supported() -> bool:
    """Whether commands can be run on this machine at all."""
    return bool(lib.buckle_supported_platform())


def doctor() -> Dict[str, Any]:
    """What this host can enforce, as `buckle doctor --json`."""
    error, full = P(), ctypes.c_int()
    text = lib.buckle_dependencies(ctypes.byref(full), ctypes.byref(error))
    if not text:
        raise error_of(error, "the host cannot be examined")
    found: Dict[str, Any] = json.loads(take_text(text))
    return found


__all__ = ["DEVNULL", "Error", "Event", "Judge", "PIPE", "Policy", "Question", "Result", "Run",
           "Verdict", "apply", "doctor", "plan", "run", "supported"]
