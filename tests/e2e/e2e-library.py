#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed library: C programs, including the examples, find it with pkg-config, link it statically
and dynamically, and run; a binding loads it. Prints TAP."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet
from drive import FOLDER, write
from tap import done, equal, ok, skip

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


EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


def run(*argv, stdin="", **env):
    return subprocess.run(argv, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          input=stdin, text=True, timeout=60, env=dict(os.environ, **env))


def find(name):
    for folder, _, files in os.walk(ROOT):
        if name in files:
            return folder
    return ""


def flags(*options):
    """pkg-config's flags for the staged installation."""
    folder = find("libbuckle.pc")
    r = run("pkg-config", *options, "libbuckle", PKG_CONFIG_PATH=folder,
            PKG_CONFIG_SYSROOT_DIR=os.environ.get("STAGE", ""))
    return r.stdout.split()


def check(program, **env):
    r = run(program, "demo.sb", "file-read-data", "/usr/x", **env)
    ok(re.fullmatch(r"1 3 0\.\d+\.\d+\n", r.stdout), f"{program} judges", r.stdout)
    r = run(program, "bad.sb", "file-read-data", "/usr/x", **env)
    ok(r.returncode == 2 and "bad.sb:1:" in r.stdout, f"{program} tells errors", r.stdout)


def compile_example(name, how, *words):
    source = os.path.join(EXAMPLES, name + ".c")
    program = f"./{name}-{how}"
    r = run("cc", "-Wall", "-Wextra", "-Werror", source, "-o", program, *words, "-pthread")
    equal(r.returncode, 0, f"{name}.c compiles, {how}: " + r.stdout[:500])
    return program


def try_judge(program, **env):
    r = run(program, "demo.sb", "file-read-data", "/usr/x", **env)
    equal((r.returncode, r.stdout), (0, "allow (demo.sb:3)\n"), f"{program} allows")
    r = run(program, "demo.sb", "file-write-data", "/usr/x", **env)
    equal((r.returncode, r.stdout), (1, "deny (demo.sb:2)\n"), f"{program} denies")


def try_run(program, **env):
    r = run(program, "sh", "-c", "echo out; echo x > /etc/buckle-example; exit 5", **env)
    equal(r.returncode, 5, f"{program} ends as its command does")
    ok("out\n" in r.stdout and "deny(1) file-write-create /etc/buckle-example" in r.stdout,
       f"{program} tells of a denial", r.stdout)
    r = run(program, "/nowhere/at/all", **env)
    ok(r.returncode == 125 and "/nowhere/at/all" in r.stdout, f"{program} says why not", r.stdout)


def try_agent(program, **env):
    write("settings.json", '{"filesystem": {"allowWrite": ["."]}, "excludedCommands": ["id"]}')
    r = run(program, "settings.json", **env, stdin="echo fine > made; cat made\n"
            "echo x > /etc/buckle-example\nid\n")
    ok(r.stdout.startswith("Commands run in a sandbox"), f"{program}: a summary first", r.stdout)
    ok("$ echo fine > made; cat made\nfine\n\n[exit status 0]\n" in r.stdout,
       f"{program}: a command runs", r.stdout)
    ok(re.search(r"<sandbox_violations>\n\S+ deny\(1\) file-write-create /etc/buckle-example\n"
                 r"</sandbox_violations>\n\[exit status 2\]", r.stdout),
       f"{program}: another is annotated", r.stdout)
    ok("[not run: the settings exclude this command" in r.stdout,
       f"{program}: and one is not its business", r.stdout)
    ok(r.stdout.endswith("\n1 violations\n"), f"{program}: all are counted", r.stdout)


def try_apply(program, **env):
    write("lines", "one\ntwo\n")
    r = run(program, "lines", **env)
    equal((r.returncode, r.stdout),
          (0, "2 lines\n/etc/passwd: Operation not permitted\nlines: Operation not permitted\n"),
          f"{program} gives everything up but what is open")


def try_binding(folder):
    program = os.path.join(EXAMPLES, "binding.py")
    env = {"LIBBUCKLE": os.path.join(folder, "libbuckle.so")}
    r = run(program, "sh", "-c", "echo x > /etc/buckle-example; exit 6", **env)
    ok(r.returncode == 6 and '"path": "/etc/buckle-example"' in r.stdout,
       "a binding runs a command and hears of its events", r.stdout)
    r = run(program, "/nowhere/at/all", **env)
    ok(r.returncode == 1 and "/nowhere/at/all" in r.stdout, "and raises what is wrong", r.stdout)


def try_asking(program, **env):
    """In a small internet: the answer decides."""
    why = internet.missing()
    if why:
        return skip("asking: " + why)
    net = internet.Internet(FOLDER)
    try:
        net.start(["python3", "-m", "http.server", "--directory", FOLDER, "--bind",
                   internet.SERVER4, "80"])
        net.wait_for(internet.SERVER4, 80)
        fetch = f"curl -fsS -m 20 --noproxy '*' http://{internet.SERVER4}/demo.sb"
        for answer, got in (("y\n", True), ("n\n", False)):
            r = run(*net.argv_in(net.home, ["sh", "-c", f'cd {FOLDER} && exec {program} sh -c "$0"',
                                            fetch]), stdin=answer, **env)
            ok(f"wants to reach {internet.SERVER4}:80" in r.stdout,
               f"{program} asks about a host", r.stdout)
            ok(("(deny default)" in r.stdout) == got, f"{program}: answered {answer.strip()}", r.stdout)
    finally:
        net.end()


def try_examples(shared, static):
    tries = {"judge": try_judge, "run": try_run, "agent-shell": try_agent, "apply": try_apply}
    folder = find("libbuckle.so")
    for name, check_it in tries.items():
        check_it(compile_example(name, "shared", *shared), LD_LIBRARY_PATH=folder)
        check_it(compile_example(name, "static", *static))
    try_binding(folder)
    try_asking("./run-shared", LD_LIBRARY_PATH=folder)


def check_header():
    """The header compiles as C++ and as plain C, and has the right version."""
    version = run("pkg-config", "--modversion", "libbuckle",
                  PKG_CONFIG_PATH=find("libbuckle.pc")).stdout.strip()
    write("version.c", "#include <buckle/buckle.h>\nBUCKLE_VERSION_MAJOR.BUCKLE_VERSION_MINOR."
          "BUCKLE_VERSION_PATCH\n")
    r = run("cc", "-E", "-P", "version.c", *flags("--cflags"))
    equal(r.stdout.strip().splitlines()[-1].replace(" ", ""), version, "the header's version")
    write("plain.c", "#include <buckle/buckle.h>\nint x;\n")
    for how in (["-x", "c++", "-std=c++11"], ["-std=c99", "-pedantic"]):
        r = run("cc", *how, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "plain.c",
                *flags("--cflags"))
        equal(r.returncode, 0, f"the header is {how[-1 if '++' in how[1] else 0]}: {r.stdout[:300]}")


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
    try_examples(flags("--cflags", "--libs"), [archive, *flags("--cflags"), *libs])
    check_header()
    header = os.path.join(find("buckle.h"), "buckle.h")
    with open(header, encoding="utf-8") as f:
        declared = set(re.findall(r"\b(buckle_\w+)(?<!_fn)\(", re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)))
    for what, options in [("libbuckle.so", ["-D"]), ("libbuckle.a", ["-g"])]:
        names = run("nm", *options, "--defined-only", os.path.join(find(what), what)).stdout
        names = re.findall(r"^[0-9a-f]+ (?!A )[A-Z] (\S+)", names, re.MULTILINE)
        if options == ["-D"]:
            ok(all(n.endswith("@@LIBBUCKLE_0") for n in names), f"{what}: each has a version", names)
            names = [n.split("@")[0] for n in names]
        ok(names and all(n.startswith("buckle_") for n in names), f"{what} exports only buckle_…",
           [n for n in names if not n.startswith("buckle_")][:20])
        equal(sorted(declared ^ set(names)), [], f"{what} has what the header declares, no more")
    return done()


if __name__ == "__main__":
    sys.exit(main())
