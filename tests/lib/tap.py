# SPDX-License-Identifier: Apache-2.0
"""Test Anything Protocol for Python tests; tap.h is the same for C."""

import sys

_checks = 0
_failures = 0


def ok(passed, name, *details):
    """One check. If it fails, prints `details` line by line."""
    global _checks, _failures
    _checks += 1
    text = str(name).replace("\\", "\\\\").replace("#", "\\#").replace("\n", " ")
    print(f"{'ok' if passed else 'not ok'} {_checks} - {text}")
    if not passed:
        _failures += 1
        for detail in details:
            for line in str(detail).split("\n"):
                print(f"#   {line}")
    sys.stdout.flush()
    return bool(passed)


def equal(got, want, name):
    return ok(got == want, name, f"got  {got!r}", f"want {want!r}")


def skip(reason):
    global _checks
    _checks += 1
    print(f"ok {_checks} # SKIP {reason}")


def done():
    """Prints the plan. Returns the exit status."""
    print(f"1..{_checks}")
    return 1 if _failures else 0
