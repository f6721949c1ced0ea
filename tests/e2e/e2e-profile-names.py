#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rule for names of profiles, in every command and in the library: a name with a slash or a suffix
is a path, anything else is a shipped profile. Runs in a folder with files ./default and ./default.sb."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import BUCKLE, FOLDER, buckle, write
from tap import done, equal, ok

STAGE = os.environ.get("STAGE", "")
SHIPPED, BARE, SUFFIX = "the shipped profile", "./default", "./default.sb"

# name → which profile it is
NAMES = {"default": SHIPPED, "./default": BARE, "default.sb": SUFFIX, "./default.sb": SUFFIX,
         os.path.join(FOLDER, "default"): BARE}
PARAMS = ["-D", "CWD=/w", "-D", "HOME=/h", "-D", "TMPDIR=/t", "-D", "ORDINARY=1"]

LIBRARY = r"""
#include <buckle/buckle.h>
#include <stdio.h>
#include <string.h>

static int run(const char *name, const char *const *argv)
{
    struct buckle_error *error = NULL;
    struct buckle_command *command = buckle_command_new(argv);
    buckle_command_profile(command, name);
    struct buckle_run *run = buckle_start(command, &error);
    if (!run || buckle_run_wait(run, &error) < 0)
        printf("%s", buckle_error_report(error));
    return 0;
}

static int load(const char *path)
{
    struct buckle_error *error = NULL;
    struct buckle_profile *profile = buckle_load_file(path, NULL, &error);
    printf("%s", profile ? "loaded" : buckle_error_report(error));
    return 0;
}

int main(int argc, char **argv)
{
    return argc > 3 ? run(argv[2], (const char *const *)argv + 3) : load(argv[2]);
}
"""


def make_files():
    """Each file of the folder denies reading another one. Neither declares its version, so that `buckle
    check` has something to say."""
    for name, profile in (("bare", "default"), ("suffix", "default.sb")):
        write(name, f"can read {name}\n")
        write(profile, f'(allow default)(deny file-read-data (literal "{os.path.join(FOLDER, name)}"))')
    write("mine", '(version 1)(allow default)')


def run(*argv, **env):
    return subprocess.run(argv, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=60, env=dict(os.environ, **env))


def who(can_bare, can_suffix):
    """The profile under which these files can be read."""
    return {(True, True): SHIPPED, (False, True): BARE, (True, False): SUFFIX}.get((can_bare, can_suffix))


def by_output(text):
    return who("can read bare" in text, "can read suffix" in text)


def by_text(text):
    """Of an output that names the denied file."""
    return BARE if "/bare" in text else SUFFIX if "/suffix" in text else SHIPPED


def by_questions(name, command):
    return who(*(buckle(command, *PARAMS, name, "file-read-data", os.path.join(FOLDER, file))
                 .out.startswith("allow") for file in ("bare", "suffix")))


def by_comparing(name, *command):
    """Which of the files the profile equals."""
    same = [path for path in (BARE, SUFFIX) if buckle(*command, *PARAMS, name, path).status == 0]
    return same[0] if len(same) == 1 else SHIPPED


def compile_it(name):
    r = buckle("compile", *PARAMS, name, "-o", "made.bin")
    return by_text(r.err + buckle("decompile", "made.bin").out)


def check_it(name):
    r = buckle("check", *PARAMS, "--no-lint", name)
    return SUFFIX if "default.sb:1" in r.out.replace("<buckle>/default.sb", "") else \
        BARE if "default:1" in r.out else SHIPPED


def disasm_it(name):
    """None of them is compiled, and the message names the text that was read."""
    r = buckle("disasm", name)
    return SHIPPED if "<buckle>/default.sb" in r.err else SUFFIX if "default.sb" in r.err else \
        BARE if "default" in r.err else r.err


COMMANDS = {
    "run": lambda name: by_output(buckle("run", "--profile", name, "cat", "bare", "suffix").out),
    "run --dry-run": lambda name: by_text(buckle("run", "--profile", name, "--dry-run", "true").out),
    "eval": lambda name: by_questions(name, "eval"),
    "eval --profile": lambda name: who(*(
        buckle("eval", *PARAMS, "--profile", name, "file-read-data", os.path.join(FOLDER, f)).status == 0
        for f in ("bare", "suffix"))),
    "eval --platform": lambda name: who(*(
        buckle("eval", *PARAMS, "--platform", name, "--profile", "./mine", "file-read-data",
               os.path.join(FOLDER, f)).status == 0 for f in ("bare", "suffix"))),
    "explain": lambda name: by_questions(name, "explain"),
    "check": check_it,
    "graph": lambda name: by_text(buckle("graph", *PARAMS, name).out),
    "diff": lambda name: by_comparing(name, "diff"),
    "compile": compile_it,
    "decompile": lambda name: by_text(buckle("decompile", *PARAMS, name).out),
    "disasm": disasm_it,
    "catalog --diff": lambda name: by_comparing(name, "catalog", "--diff"),
}


def check_commands():
    for command, find in COMMANDS.items():
        for name, want in NAMES.items():
            equal(find(name), want, f"{command}: {name} is {want}")


def check_other_words():
    """A bare word that is no shipped profile, though there is such a file."""
    for words in (["eval", "mine", "process-fork"], ["explain", "mine", "process-fork"], ["check", "mine"],
                  ["graph", "mine"], ["diff", "mine", "mine"], ["compile", "mine", "-o", "x.bin"],
                  ["decompile", "mine"], ["disasm", "mine"], ["catalog", "mine"],
                  ["run", "--profile", "mine", "true"]):
        r = buckle(*words)
        ok(r.status not in (0, 1) and "no shipped profile mine" in r.err + r.out and
           "./mine" in r.err + r.out, f"{words[0]}: mine is no shipped profile, and the hint names ./mine", r)
    r = buckle("eval", "strict.sb", "process-fork")
    ok(r.status == 2 and "shipped profile is called strict" in r.err,
       "a missing file is an error, with the shipped profile as a hint", r)
    r = buckle("eval", "-", "process-fork", stdin="(version 1)(allow default)")
    ok(r.status == 0, "- is standard input", r)


def check_without_profiles():
    """Commands that make a profile from settings never read these files."""
    ok("/suffix" not in buckle("profile").out + buckle("profile", "--macos").out, "profile: no file is read")
    r = buckle("wrap", "cat", "bare")
    ok(r.status == 0 and "/suffix" not in r.out, "wrap: no file is read", r)
    for argv in (["srt", "cat", "bare", "suffix"], ["cage", "cat", "bare", "suffix"]):
        r = run(os.path.join(os.path.dirname(BUCKLE), argv[0]), *argv[1:])
        equal(by_output(r.stdout), SHIPPED, f"{argv[0]}: no file is read")


def check_sandbox_exec():
    program = os.path.join(os.path.dirname(BUCKLE), "sandbox-exec")
    for name, want in [*NAMES.items(), ("default", BARE)][1:]:
        r = run(program, "-f", name, "cat", "bare", "suffix")
        equal(by_output(r.stdout), want, f"sandbox-exec -f: {name} is {want}, always a path")
    r = run(program, "-n", "default", "cat", "bare", "suffix")
    equal(by_output(r.stdout), SHIPPED, "sandbox-exec -n: default is the shipped profile")


def check_library():
    config = next(folder for folder, _, files in os.walk(STAGE or "/usr") if "libbuckle.pc" in files)
    words = run("pkg-config", "--cflags", "--libs", "libbuckle", PKG_CONFIG_PATH=config,
                PKG_CONFIG_SYSROOT_DIR=STAGE).stdout.split()
    write("library.c", LIBRARY)
    r = run("cc", "library.c", "-o", "./library", *words)
    equal(r.returncode, 0, "the program compiles: " + r.stdout[:500])
    shared = {"LD_LIBRARY_PATH": os.path.dirname(config)}
    for name, want in NAMES.items():
        r = run("./library", "run", name, "cat", "bare", "suffix", **shared)
        equal(by_output(r.stdout), want, f"library: {name} is {want}")
    r = run("./library", "run", "mine", "true", **shared)
    ok("no shipped profile mine" in r.stdout, "library: mine is no shipped profile", r.stdout)
    equal(run("./library", "load", "mine", **shared).stdout, "loaded", "buckle_load_file() takes paths only")
    ok("cannot read strict" in run("./library", "load", "strict", **shared).stdout, "and no shipped profile")


make_files()
check_commands()
check_other_words()
check_without_profiles()
check_sandbox_exec()
check_library()
sys.exit(done())
