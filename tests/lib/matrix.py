# SPDX-License-Identifier: Apache-2.0
"""Matrices of everyday tasks: rows of real work, run by the installed program for each user.

    Matrix("git", ROWS, [Pass("without a flag", (), required=57), …]).main()

    e2e-matrix-NAME.py             the rows marked fast
    e2e-matrix-NAME.py whole       all rows, each also without Buckle
    e2e-matrix-NAME.py bare        all rows, only without Buckle
    e2e-matrix-NAME.py … -k WORD   only rows whose name contains WORD; no totals

Each row has a new HOME with a new project in it ($HOME/project, where everything runs). It works if
its status is the expected one and its check succeeds. A row that fails without Buckle is a mistake
in the row. A row must work in every pass, unless it names a flag or a reason: with `flag` it must fail
in passes that don't give this flag, and must work with it; with `waits` it may fail, and the total
says how many rows work.
"""

import concurrent.futures
import dataclasses
import os
import re
import shutil
import sys
import tempfile

tempfile.tempdir = "/var/tmp"  # before drive: people's homes are not in /tmp, which is a layer inside

import drive
import tap
from asked import call_answering
from running import BUCKLE, PEOPLE, missing

SHOWN = 12  # lines of output of a row that fails
WORKERS = 2


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    run: object  # the command, for sh -ec; a list: earlier runs, which must succeed, and the command
    setup: str = ""  # outside, in the project, before
    check: str = ""  # outside, in the project, afterwards; must succeed
    status: int = 0
    fast: bool = False  # part of `make check`
    flag: tuple = ()  # must fail without these words, and work with them
    flags: tuple = ()  # words that every pass adds to its own
    waits: str = ""  # why this row may fail
    needs: tuple = ()  # programs; skipped if one is missing
    env: tuple = ()  # (name, value)…
    cwd: str = ""  # below the project
    timeout: int = 60
    root: bool = True  # whether root runs it
    user: bool = True  # whether an ordinary user runs it

    def runs(self):
        return [self.run] if isinstance(self.run, str) else list(self.run)


@dataclasses.dataclass(frozen=True)
class Pass:
    """All rows with the same flags. `required` is the number of rows that must work, for each user."""
    label: str
    flags: tuple
    required: int
    waits: str = ""  # the pass is left out while the program doesn't know its flags, for this reason
    key: str = ""  # answers every question of --ask, which allows whatever a class protects

    def gives(self, flag):
        """Whether a row that needs a flag works in this pass."""
        return covers(self.flags, flag) or (bool(self.key) and set(given(flag)) == {"--allow-protected"})


def given(flags):
    """{option: set of values} of a tuple of words."""
    found, option = {}, None
    for word in flags:
        if word.startswith("--"):
            option, _, value = word.partition("=")
            found.setdefault(option, set()).update(value.split(",") if value else ())
        elif option:
            found[option].update(word.split(","))
    return found


def covers(flags, wanted):
    """Whether some flags give at least what others give."""
    have = given(flags)
    return all(option in have and values <= have[option] for option, values in given(wanted).items())


class Outcome:
    def __init__(self, fine, why="", ran=None):
        self.fine, self.why, self.ran = fine, why, ran

    def lines(self):
        """What is wrong, and the first lines of output."""
        text = (self.ran.err + self.ran.out).strip().split("\n") if self.ran else []
        more = [f"… {len(text) - SHOWN} more lines"] if len(text) > SHOWN else []
        return [self.why, *text[:SHOWN], *more]


class Matrix:
    def __init__(self, name, rows, passes, env=None, prepare=None):
        """`env` is added for every row. `prepare(user, home)` makes a new home what it must be."""
        self.name, self.rows, self.passes = name, rows, passes
        self.env, self.prepare = env or {}, prepare
        names = [row.name for row in rows]
        assert len(set(names)) == len(names), "rows have the same name"

    # ---- one row ----

    def place(self, user, row):
        """A new home and project."""
        home = user.folder(re.sub(r"[^a-z0-9]+", "-", row.name.lower()).strip("-")[:40])
        project = os.path.join(home, "project")
        os.mkdir(project)
        user.own(project)
        if self.prepare:
            self.prepare(user, home)
        env = {"HOME": home, "UPSTREAM": os.path.join(home, "upstream"), **self.env, **dict(row.env)}
        return home, project, env

    def attempt(self, user, row, flags, key=""):
        """Runs a row with some flags; with None, without Buckle. key: answers questions."""
        home, project, env = self.place(user, row)
        try:
            return self.attempt_in(user, row, flags, project, env, key)
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def attempt_in(self, user, row, flags, project, env, key):
        def outside(script):
            return user.call(["/bin/bash", "-ec", script], cwd=project, env=env, timeout=row.timeout)
        if row.setup:
            ran = outside(row.setup)
            if ran.status != 0:
                return Outcome(False, f"the setup ends with {ran.status}: a mistake in the row", ran)
        where = [] if flags is None else [BUCKLE, "run", *flags, *row.flags, "--"]
        *earlier, last = row.runs()
        for script, want in [*((one, 0) for one in earlier), (last, row.status)]:
            how = {"cwd": os.path.join(project, row.cwd), "env": env, "timeout": row.timeout}
            argv = [*where, "/bin/bash", "-ec", script]
            ran = call_answering(user, argv, key, **how) if key else user.call(argv, **how)
            if ran.status != want:
                return Outcome(False, f"status {ran.status} instead of {want}: {script.strip()[:200]}", ran)
        checked = outside(row.check) if row.check else None
        if checked and checked.status != 0:
            return Outcome(False, f"the check fails: {row.check.strip()[:300]}\n{checked.err[:300]}", ran)
        return Outcome(True, ran=ran)

    # ---- all rows ----

    def each(self, user, rows, flags_of, key=""):
        """(row, outcome) of each row, in order, some at once. A row without programs has None."""
        def one(row):
            return None if missing(*row.needs) else self.attempt(user, row, flags_of(row), key)
        with concurrent.futures.ThreadPoolExecutor(max_workers=WORKERS) as pool:
            yield from zip(rows, pool.map(one, rows))

    def control(self, user, rows):
        """Every row without Buckle."""
        for row, outcome in self.each(user, rows, lambda row: None):
            if outcome:
                tap.ok(outcome.fine, f"{user.name}: without Buckle: {row.name}", *outcome.lines())

    def judge(self, user, one, row, outcome):
        """A check for a row in a pass. Returns whether the row works."""
        name = f"{user.name}: {one.label}: {row.name}"
        if outcome is None:
            tap.skip(f"{missing(*row.needs)} is not installed")
        elif row.flag and not one.gives(row.flag):
            tap.ok(not outcome.fine, f"{name}: fails, as it must", "it works")
        elif outcome.fine or not row.waits:
            tap.ok(outcome.fine, name, *outcome.lines())
        else:
            print(f"# {name}: fails; waits for {row.waits}")
            for line in "\n".join(outcome.lines()).split("\n"):
                print(f"#     {line}")
        return bool(outcome and outcome.fine)

    def pass_over(self, user, one, rows, total):
        count, lacking = 0, 0
        for row, outcome in self.each(user, rows, lambda row: one.flags, one.key):
            count += self.judge(user, one, row, outcome)
            lacking += outcome is None
        if total:
            text = f"{user.name}: {self.name}: {count} of {len(rows)} {one.label}"
            print(f"= {text}")
            tap.ok(count + lacking >= one.required, f"{text} (at least {one.required})")

    def flagged(self, user, rows):
        """Rows that need a flag which no pass gives work with it."""
        rows = [row for row in rows if row.flag and not any(one.gives(row.flag) for one in self.passes)]
        rows = [row for row in rows if self.known(user, row.flag, row.waits)]
        for row, outcome in self.each(user, rows, lambda row: row.flag):
            if outcome:
                tap.ok(outcome.fine, f"{user.name}: with {' '.join(row.flag)}: {row.name}", *outcome.lines())

    @staticmethod
    def known(user, flags, waits):
        """Whether the program knows flags; those that nothing waits for it must know."""
        if not waits or user.run(*flags, "--", "true", cwd=user.folder()).status == 0:
            return True
        print(f"# {' '.join(flags)}: left out; waits for {waits}")
        return False

    def main(self):
        words = sys.argv[1:]
        word = words[words.index("-k") + 1] if "-k" in words else None
        whole, bare = "whole" in words, "bare" in words
        rows = [row for row in self.rows if (whole or bare or word or row.fast) and (not word or word in row.name)]
        for user in PEOPLE:
            mine = [row for row in rows if (row.root if user.uid == 0 else row.user)]
            if whole or bare or word:
                self.control(user, mine)
            if bare:
                continue
            for one in self.passes:
                # answers take time: the fast part asks only where there is a question
                asked = mine if whole or word or not one.key else [row for row in mine if row.flag]
                if self.known(user, one.flags, one.waits):
                    self.pass_over(user, one, asked, whole and not word)
            self.flagged(user, mine)
        return tap.done()
