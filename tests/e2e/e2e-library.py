#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed library: a C program finds it by pkg-config, links it both ways and uses it."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from drive import FOLDER, write
from tap import done, equal, ok

ROOT = os.environ.get("STAGE", "") + os.environ.get("PREFIX", "/usr/local")

PROGRAM = r"""
#include <buckle/buckle.h>
#include <stdio.h>

/* Names that the library uses inside: a static library must not clash with them. */
int buf_free, arena_alloc, graph_eval, err_set, vocab_find;

int main(int argc, char **argv)
{
    struct buckle_error *error = NULL;
    struct buckle_profile *profile = buckle_load_file(argv[1], NULL, &error);
    if (!profile) {
        printf("%s", buckle_error_report(error));
        buckle_error_free(error);
        return 2;
    }
    struct buckle_judge *judge = buckle_judge_new(profile, &error);
    const char *arguments[] = {argv[3]};
    enum buckle_verdict v = buckle_judge(judge, argv[2], arguments, argc > 3, &error);
    printf("%d %u %s\n", (int)v, buckle_rule_line(judge), buckle_version());
    buckle_judge_free(judge);
    buckle_profile_free(profile);
    return 0;
}
"""


def run(*argv, **env):
    return subprocess.run(argv, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60, env=dict(os.environ, **env))


def find(name):
    for folder, _, files in os.walk(ROOT):
        if name in files:
            return folder
    return ""


def flags(*options):
    """What pkg-config says of the staged installation."""
    folder = find("libbuckle.pc")
    r = run("pkg-config", *options, "libbuckle", PKG_CONFIG_PATH=folder,
            PKG_CONFIG_SYSROOT_DIR=os.environ.get("STAGE", ""))
    return r.stdout.split()


def check(program, **env):
    r = run(program, "demo.sb", "file-read-data", "/usr/x", **env)
    ok(re.fullmatch(r"1 3 0\.\d+\.\d+\n", r.stdout), f"{program} judges", r.stdout)
    r = run(program, "bad.sb", "file-read-data", "/usr/x", **env)
    ok(r.returncode == 2 and "bad.sb:1:" in r.stdout, f"{program} tells errors", r.stdout)


def main():
    write("main.c", PROGRAM)
    write("demo.sb", '(version 1)\n(deny default)\n(allow file-read* (subpath "/usr"))\n')
    write("bad.sb", "(version 1")
    r = run("cc", "main.c", "-o", "./shared", *flags("--cflags", "--libs"))
    equal(r.returncode, 0, "links against the shared library: " + r.stdout[:500])
    check("./shared", LD_LIBRARY_PATH=find("libbuckle.so"))
    archive = os.path.join(find("libbuckle.a"), "libbuckle.a")
    libs = [f for f in flags("--static", "--libs") if f != "-lbuckle"]
    r = run("cc", "main.c", archive, "-o", "./static", *flags("--cflags"), *libs)
    equal(r.returncode, 0, "links against the static library: " + r.stdout[:500])
    check("./static")
    for what, options in [("libbuckle.so", ["-D"]), ("libbuckle.a", ["-g"])]:
        names = run("nm", *options, "--defined-only", os.path.join(find(what), what)).stdout
        names = re.findall(r"^[0-9a-f]+ [A-Z] (\S+)", names, re.MULTILINE)
        ok(names and all(n.startswith("buckle_") for n in names), f"{what} exports only buckle_…",
           [n for n in names if not n.startswith("buckle_")][:20])
    return done()


if __name__ == "__main__":
    sys.exit(main())
