#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What denials of reading cost commands that read much; prints TAP.

    tests/bench/run-reads.py [--write]

Programs that walk, search and compile, in a folder of an ordinary user whose home has the stores that
the default profile guards: bare, under `buckle run`, with every read judged (--strict-reads), and
inside a folder that is guarded itself, on tmpfs and in turns (see launch.c). The target is for the
default. --write puts the table into docs/performance.md. The programs are those of build/bench, or
$BENCH_LAUNCH, $BUCKLE.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests"))

import tap  # noqa: E402

_spec = importlib.util.spec_from_file_location(
    "launch", os.path.join(TOP, "tests", "bench", "run-launch.py"))
launch = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(launch)
say = launch.say

REPETITIONS = 20
FEWER = 5  # of what takes longer, and has no target
TARGET, CEILING = 1.10, 3
SLOW_CEILING = 100
ORDINARY = 4242
STORES = (".ssh/id_ed25519", ".aws/credentials", ".gnupg/private-keys-v1.d/key", ".kube/config",
          ".docker/config.json", ".netrc", ".config/gcloud/credentials.db", ".bash_history")


# ---- what is worked on ----


def furnish(bench):
    """A home with secrets, and a repository of sources in the work folder."""
    for name in STORES:
        path = os.path.join(bench.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write("secret\n")
    tree = os.path.join(bench.work, "tree")
    for i in range(60):
        os.makedirs(f"{tree}/part{i}/deep")
        for k in range(50):
            with open(f"{tree}/part{i}/{'deep/' if k % 2 else ''}file{k}.c", "w", encoding="utf-8") as f:
                f.write("".join(f"int value_{i}_{k}_{n} = {n};\n" for n in range(200)))
    with open(bench.work + "/Makefile", "w", encoding="utf-8") as f:
        f.write("OBJECTS = $(patsubst %,%.o,$(shell seq 20))\nall: $(OBJECTS)\n$(OBJECTS): %.o:\n"
                "\t@$(CC) -O1 -c -o $@ -include stdio.h -include stdlib.h -include string.h "
                "-x c tree/part$*/file0.c\n")
    subprocess.run(["chown", "-R", f"{bench.uid}:{bench.uid}", bench.folder], check=True)
    bench.call("sh", "-ec", "git init -q . && git add -A && git commit -q -m x", cwd=tree)


# what: (program, script, how often in one run): long enough that the launch is a small part
WORK = {
    "rg": ("rg", "rg -c 'value_5_[0-9]*_19;' tree || test $? = 1", 15),
    "grep -r": ("grep", "grep -rc 'value_5_7_19;' tree || test $? = 1", 10),
    "find": ("find", "find tree -size +100k -newer Makefile", 25),
    "git status": ("git", "(cd tree; touch part1/file0.c; git status)", 25),
    "C build": ("make", "rm -f *.o; make -s -j2", 2),
}


# ---- how ----


def refused(bench, options):
    """Whether a secret cannot be read."""
    key = os.path.join(bench.folder, STORES[0])
    how = {} if bench.uid == os.geteuid() else {"user": bench.uid, "group": bench.uid, "extra_groups": []}
    done = subprocess.run([*bench.run(), *options, "--report", "none", "cat", key], env=bench.env,
                          cwd=bench.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    return done.returncode == 1 and b"secret" not in done.stdout


def ways(bench):
    """Options by name. A profile that guards nothing by itself is told to."""
    options = []
    if not refused(bench, options):
        for name in STORES:
            options += ["--deny-read", os.path.join(bench.folder, name)]
        say("the default profile does not guard the home folder: told to by --deny-read")
    tap.ok(refused(bench, options), "what is measured keeps secrets")
    guarded = os.path.join(bench.folder, "guarded.sb")
    with open(guarded, "w", encoding="utf-8") as f:
        f.write(f'(version 1)\n(import "default.sb")\n'
                f'(deny file-read-data (regex #"^{bench.work}/tree/.*\\.key$"))\n')
    os.chmod(guarded, 0o644)
    return {"default": options, "judged": [*options, "--strict-reads"], "inside": ["--profile", guarded]}


def ratios(bench, script, loops, options, repetitions):
    """Times without Buckle, and ratios to them by name."""
    script = f"for i in $(seq {loops}); do {script}; done"
    commands = {"bare": ["/bin/sh", "-ec", script]}
    for way, words in options.items():
        commands[way] = [*bench.run(), *words, "--report", "none", "/bin/sh", "-ec", script]
    got = bench.times(repetitions, commands)
    bare = got.pop("bare")
    return bare, {way: spread.over(bare) for way, spread in got.items()}


def measure(bench, name, script, loops, options):
    bare, got = ratios(bench, script, loops, {"default": options["default"]}, REPETITIONS)
    launch.judge(f"{name}, × bare ({bare.median / 1e6:.0f} ms)", got["default"], TARGET, CEILING)
    slow = {way: options[way] for way in ("judged", "inside")}
    got.update(ratios(bench, script, 2, slow, FEWER)[1])
    for way in slow:
        say(f"      {name}, {way}: {got[way].show(digits=2)}")
        tap.ok(got[way].median <= SLOW_CEILING, f"{name}, {way}: at most {SLOW_CEILING}",
               got[way].show(digits=2))
    return [name, bare.show(1e6), *(got[way].show(digits=2) for way in ("default", "judged", "inside"))]


def bench_reads(bench, page):
    furnish(bench)
    options = ways(bench)
    rows = []
    for name, (program, script, loops) in WORK.items():
        if not shutil.which(program, path=launch.PATH):
            tap.skip(f"{program} is not installed")
            continue
        rows.append(measure(bench, name, script, loops, options))
    page.table("Reading on tmpfs, as an ordinary user",
               ["", "ms bare", "× with the stores guarded", "× with every read judged",
                "× inside a guarded folder"], rows)


# ---- the page ----

launch.BEGIN, launch.END = "<!-- reads: begin -->", "<!-- reads: end -->"
launch.OPENING = """
## Reading

Written by `tests/bench/run-reads.py --write`, which `make bench` runs as well. Each is a command that
takes tenths of a second, launch included, in turns on tmpfs; medians of ratios with the outer deciles.
"Guarded" is what the default profile does; "every read judged" is `--strict-reads`.
"""


def in_memory(argv):
    """Starts again with a tmpfs that ends with us, and a /dev/fuse that ordinary users may open, as
    distributions have it."""
    folder = tempfile.mkdtemp(prefix="buckle-bench-")
    script = 'mount -t tmpfs -o mode=755 buckle-bench "$BENCH_MEMORY" && '
    if os.path.exists("/dev/fuse") and os.stat("/dev/fuse").st_mode & 0o6 != 0o6:
        script += ('mknod -m 666 "$BENCH_MEMORY/fuse" c '
                   f'{os.major(os.stat("/dev/fuse").st_rdev)} {os.minor(os.stat("/dev/fuse").st_rdev)} && '
                   'mount --bind "$BENCH_MEMORY/fuse" /dev/fuse && ')
    status = subprocess.call(["unshare", "-m", "sh", "-c", script + '"$@"', "sh", sys.executable, __file__,
                              *argv], env=dict(os.environ, BENCH_MEMORY=folder))
    os.rmdir(folder)
    return status


def main(argv):
    if not launch.MEMORY and os.geteuid() == 0:
        return in_memory(argv)
    if not launch.MEMORY:
        tap.skip("no tmpfs: set BENCH_MEMORY to a folder on one")
        return tap.done()
    if not os.path.exists("/dev/fuse"):
        tap.skip("there is no /dev/fuse")
        return tap.done()
    page = launch.engine.Page()
    bench = launch.Bench("an ordinary user", ORDINARY if os.geteuid() == 0 else os.geteuid())
    try:
        bench_reads(bench, page)
    except (RuntimeError, OSError, subprocess.SubprocessError) as trouble:
        tap.ok(False, "measuring", trouble)
    finally:
        bench.close()
    if "--write" in argv:
        launch.write_page(page)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
