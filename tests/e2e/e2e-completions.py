#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completions: what bash offers at each position; zsh and fish accept their scripts."""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import FOLDER, buckle, write
from tap import done, equal, ok, skip


def offered(*words):
    """What bash offers for the last of these words, after sourcing the script."""
    script = """
source completion.bash
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_buckle
printf '%s\\n' "${COMPREPLY[@]}"
"""
    r = subprocess.run(["bash", "-c", script, "bash", "buckle", *words], cwd=FOLDER, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
    if r.returncode or r.stderr:
        return [f"failed: {r.stderr}"]
    return [line for line in r.stdout.split("\n") if line]


def test_bash():
    write("completion.bash", buckle("completions", "bash").out)
    write("demo.sb", "(version 1)")
    os.makedirs(os.path.join(FOLDER, "folder"), exist_ok=True)
    equal(offered("ev"), ["eval"], "commands")
    ok("--batch" in offered("eval", "--b"), "options", offered("eval", "--b"))
    ok("demo.sb" in offered("eval", "de"), "profiles are files", offered("eval", "de"))
    ok("system" in offered("eval", "sys"), "or shipped", offered("eval", "sys"))
    ok("file-read-data" in offered("eval", "demo.sb", "file-read"), "operations",
       offered("eval", "demo.sb", "file-read"))
    ok("file-read-data" in offered("eval", "-D", "A=B", "demo.sb", "file-read"),
       "a value of an option is not counted")
    equal(offered("graph", "--format", "d"), ["dot"], "values of options")
    equal(offered("graph", "--format", "=", "s"), ["svg"], "values after an equals sign")
    equal(offered("run", "--cap", "sys_t"), ["sys_time", "sys_tty_config"], "capabilities")
    equal(offered("graph", "-I", "fol"), ["folder"], "folders")
    ok("14.4.1" in offered("eval", "--os", "14"), "versions", offered("eval", "--os", "14"))
    equal(offered("completions", "z"), ["zsh"], "shells")
    equal(offered("help", "expl"), ["explain"], "commands after help")


def test_names():
    """The compat names."""
    def named(*words):
        script = r"""source ./completion.bash
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_buckle_name
printf '%s\n' "${COMPREPLY[@]}"
"""
        r = subprocess.run(["bash", "-c", script, "bash", *words], cwd=FOLDER, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
        return [line for line in r.stdout.split("\n") if line] if not r.stderr else [r.stderr]

    equal(named("cage", "--list"), ["--list-presets"], "flags of cage")
    equal(named("/usr/bin/cage", "-o", "y"), ["yaml"], "values of its flags")
    equal(named("sandbox-exec", "-n", "no-w"), ["no-write-except-temporary", "no-write"],
          "names of profiles")
    ok("--file" not in named("sandbox-exec", "-"), "sandbox-exec has letters only")
    equal(named("srt", "--cont"), ["--control-fd"], "options of srt")
    ok("bash" in named("srt", "bas"), "commands", named("srt", "bas"))


def test_other(shell, *check):
    script = write("completion." + shell, buckle("completions", shell).out)
    if not shutil.which(shell):
        skip(f"{shell} is not installed")
        return
    r = subprocess.run([shell, *check, script], cwd=FOLDER, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=20, text=True)
    ok(r.returncode == 0, f"{shell} understands its script", r.stdout)


def main():
    test_bash()
    test_names()
    test_other("zsh", "-n")
    test_other("fish", "-n")
    return done()


if __name__ == "__main__":
    sys.exit(main())
