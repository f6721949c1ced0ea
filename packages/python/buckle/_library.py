# SPDX-License-Identifier: Apache-2.0
"""libbuckle's functions, as ctypes sees them. <buckle/buckle.h> says what they do."""

import ctypes
import ctypes.util
import os
from typing import Any, List, Optional, Sequence

P, S, I = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
U, U32, U64, SIZE = ctypes.c_uint, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t
ERROR, WORDS, STDIO = ctypes.POINTER(P), ctypes.POINTER(S), ctypes.POINTER(I)
EVENT_FN = QUESTION_FN = ctypes.CFUNCTYPE(None, P, P, P)

# Texts that belong to the caller come as pointers, so that they can be freed.
TEXT = P

FUNCTIONS = """
version S | free - P
options_new P | options_free - P | options_param I P S S | options_import_dir I P S
load_file P S P ERROR | load_text P S S SIZE P ERROR | profile_free - P
judge_new P P ERROR | judge_free - P | judge I P S WORDS SIZE ERROR
judge_platform I P P | judge_extension I P S S | judge_revoke - P
rule_file S P | rule_line U P | rule_column U P | rule_text S P
explain TEXT P S WORDS SIZE ERROR
command_new P WORDS | command_free - P | command_profile I P S | command_settings I P S SIZE
command_found_settings - P I | command_text I P S S SIZE | command_rule I P S S
command_param I P S S | command_directory I P S | command_tmpdir I P S
command_set_env I P S S | command_keep_env I P S | command_stdio - P I I I | command_keep_fd I P I
command_timeout - P U32 | command_max_memory - P U64 | command_max_procs - P U32
command_flag I P I I | command_on_event - P EVENT_FN P
command_on_question - P QUESTION_FN P U32
event_denied I P | event_time U64 P | event_pid I P | event_program S P | event_operation S P
event_target S P | event_line S P | event_json S P | event_lost U64 P
question_id U32 P | question_withdrawn I P | question_host S P | question_port U P
question_udp I P | question_program S P | question_pid I P
prepare P P ERROR | run_begin I P WORDS STDIO ERROR
plan TEXT P I ERROR | start P P ERROR | run_fd I P | run_dispatch I P I ERROR
run_status I P | run_signal_number I P | run_timed_out I P | run_cancelled I P | run_cancel I P
run_signal I P I | run_answer I P U32 I | run_grant I P S S ERROR ERROR
run_update_settings I P S SIZE ERROR ERROR | run_update_text I P S SIZE ERROR ERROR | run_free - P
supported_platform I | dependencies TEXT P ERROR | apply I P I ERROR | error_half I P
error_report S P | error_message S P | error_hint S P | error_file S P | error_line U P | error_free - P
"""


def _declare(lib: Any) -> Any:
    types = dict(globals(), **{"-": None})
    for entry in FUNCTIONS.replace("\n", "|").split("|"):
        if not entry.strip():
            continue
        name, result, *takes = entry.split()
        function = getattr(lib, "buckle_" + name)
        function.restype, function.argtypes = types[result], [types[word] for word in takes]
    return lib


def _load() -> Any:
    """The library in this package, else the system's."""
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libbuckle.so")
    return _declare(ctypes.CDLL(here if os.path.exists(here) else "libbuckle.so.0"))


lib = _load()


class Error(Exception):
    """What went wrong, in the library's words; for a policy also where."""

    message: str = ""
    hint: str = ""
    file: str = ""
    line: int = 0
    half: bool = False  # apply(): part of the policy holds already; end the process


def text_of(value: Optional[bytes]) -> str:
    return (value or b"").decode(errors="replace")


def error_of(pointer: Any, otherwise: str) -> Error:
    """Takes over the library's error."""
    if not pointer:
        return Error(otherwise)
    error = Error(text_of(lib.buckle_error_report(pointer)).rstrip())
    error.message = text_of(lib.buckle_error_message(pointer))
    error.hint = text_of(lib.buckle_error_hint(pointer))
    error.file = text_of(lib.buckle_error_file(pointer))
    error.line = lib.buckle_error_line(pointer)
    error.half = bool(lib.buckle_error_half(pointer))
    lib.buckle_error_free(pointer)
    return error


def take_text(pointer: Any) -> str:
    """A text that belongs to the caller."""
    text = text_of(ctypes.cast(pointer, S).value)
    lib.buckle_free(pointer)
    return text


def words_of(words: Sequence[str]) -> Any:
    encoded: List[Optional[bytes]] = [os.fsencode(word) for word in words]
    return (S * (len(encoded) + 1))(*encoded, None)


def must(result: int) -> None:
    """For setters, which fail only without memory, or for a word that they do not know."""
    if result < 0:
        raise Error("the library did not accept this")
