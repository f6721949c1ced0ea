# SPDX-License-Identifier: Apache-2.0
"""Questions to a profile, without running anything."""

import ctypes
import os
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._library import P, Error, error_of, lib, must, take_text, text_of, words_of


class Verdict(NamedTuple):
    """True if it is allowed. The rule is the one that decided; file is empty if none was written."""

    allowed: bool
    file: str
    line: int
    rule: str

    def __bool__(self) -> bool:
        return self.allowed


class Judge:
    """
    Answers for one profile: a path, or SBPL text.

        judge = Judge(text='(version 1) (deny default) (allow file-read* (subpath "/usr"))')
        judge("file-read-data", "/usr/bin/env").allowed
    """

    def __init__(self, path: Optional[str] = None, *, text: Optional[str] = None,
                 params: Optional[Mapping[str, str]] = None, import_dirs: Sequence[str] = ()) -> None:
        self._judge: Any = None
        self._profile: Any = None
        if (path is None) == (text is None):
            raise TypeError("give a path or a text")
        options, error = lib.buckle_options_new(), P()
        try:
            for key, value in (params or {}).items():
                must(lib.buckle_options_param(options, key.encode(), os.fsencode(value)))
            for folder in import_dirs:
                must(lib.buckle_options_import_dir(options, os.fsencode(folder)))
            if text is not None:
                data = text.encode()
                self._profile = lib.buckle_load_text(b"<text>", data, len(data), options, ctypes.byref(error))
            else:
                self._profile = lib.buckle_load_file(os.fsencode(path or ""), options, ctypes.byref(error))
        finally:
            lib.buckle_options_free(options)
        if not self._profile:
            raise error_of(error, "the profile cannot be loaded")
        self._judge = lib.buckle_judge_new(self._profile, ctypes.byref(error))
        if not self._judge:
            raise error_of(error, "out of memory")

    def _ask(self, arguments: Sequence[str], facts: Mapping[str, str]) -> Tuple[Any, int]:
        words = [*arguments, *(f"{key.replace('_', '-')}={value}" for key, value in facts.items())]
        return words_of(words), len(words)

    def __call__(self, operation: str, *arguments: str, **facts: str) -> Verdict:
        """A question that makes no sense is an Error."""
        words, count = self._ask(arguments, facts)
        error = P()
        allowed = lib.buckle_judge(self._judge, operation.encode(), words, count, ctypes.byref(error))
        if allowed < 0:
            raise error_of(error, "the question makes no sense")
        return Verdict(allowed == 1, text_of(lib.buckle_rule_file(self._judge)),
                       lib.buckle_rule_line(self._judge), text_of(lib.buckle_rule_text(self._judge)))

    def explain(self, operation: str, *arguments: str, **facts: str) -> str:
        words, count = self._ask(arguments, facts)
        error = P()
        found = lib.buckle_explain(self._judge, operation.encode(), words, count, ctypes.byref(error))
        if not found:
            raise error_of(error, "the question makes no sense")
        return take_text(found)

    def close(self) -> None:
        lib.buckle_judge_free(self._judge)
        lib.buckle_profile_free(self._profile)
        self._judge = self._profile = None

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_profile", None):
            self.close()


__all__ = ["Error", "Judge", "Verdict"]
