#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds Buckle in several ways, runs the suites and sums up.

    tests/run.py check | check-all | bench | fuzz [SUITE…]

Everything that tests is a program that prints TAP. A suite is a list of such programs; this runner
prints one line for each suite, details for what failed, and at the end the line

    N passed, N failed, N skipped

It fails when a check fails, when a program ends without saying that it is done, and when a skip is
not listed in tests/expected-skips.
"""

import concurrent.futures
import fnmatch
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STAGE = os.path.join(TOP, "build", "stage")
PREFIX = "/usr/local"
PROCESSORS = os.cpu_count() or 1
BUCKLE = STAGE + PREFIX + "/bin/buckle"

SANITIZE = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
BUILDS = {
    # name: (compiler, Meson options)
    "gcc": ("gcc", ["-Dwerror=true"]),
    "clang": ("clang", ["-Dwerror=true", "-Dman=disabled"]),
    "asan": ("clang", ["-Dwerror=true", "-Dman=disabled", *SANITIZE]),
    "bench": ("gcc", ["-Dbuildtype=release", "-Db_ndebug=true", "-Dbench=true", "-Dman=disabled"]),
    "fuzz": ("clang", ["-Dfuzz=true", "-Dman=disabled", *SANITIZE]),
}

# A sanitizer's finding is an exit status of its own, and never goes unnoticed.
SAN_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:exitcode=99",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=99",
}


class Suite:
    def __init__(self, name, programs, env=None, timeout=120, at_once=None, needs=None):
        self.name = name
        self.programs = programs  # argument vectors
        self.needs = needs  # a build that goes on beside the first suites
        self.env = env or {}
        self.timeout = timeout
        self.at_once = at_once  # programs, with no other suite beside it; None: beside others


class Result:
    def __init__(self):
        self.passed = 0
        self.failures = []  # texts
        self.skips = []  # reasons
        self.figures = []  # lines that start with "= ": what a benchmark measured

    def add(self, other):
        self.figures += other.figures
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips


def tests(*parts):
    return os.path.join(TOP, "tests", *parts)


def found(pattern):
    return sorted(glob.glob(tests(pattern)))


# ---- builds ----


def compiler_env(compiler):
    """Objects that another checkout compiled from the same text are used again."""
    if not shutil.which("ccache"):
        return dict(os.environ, CC=compiler)
    return dict(os.environ, CC=f"ccache {compiler}", CCACHE_BASEDIR=TOP, CCACHE_NOHASHDIR="1")


def build(name, *priority):
    """Sets up and compiles build/NAME. Returns (ok, log)."""
    compiler, options = BUILDS[name]
    folder = os.path.join(TOP, "build", name)
    env = compiler_env(compiler)
    steps = []
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        shutil.rmtree(folder, ignore_errors=True)
        steps.append(["meson", "setup", f"--prefix={PREFIX}", *options, folder, TOP])
    steps.append([*priority, "ninja", "-C", folder, "--quiet"])
    for step in steps:
        done = subprocess.run(step, env=env, cwd=TOP, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode:
            return False, done.stdout
    return True, ""


RELEASED = os.path.join(TOP, "build", "stage-released")


def install_released():
    """Makes the programs that are published, and puts them in place of the others."""
    made = os.path.join(TOP, "build", "released")
    done = subprocess.run([os.path.join(TOP, "tools", "dist", "dist.py"), "--programs", "x86_64-linux-musl"],
                          env=dict(os.environ, BUCKLE_DIST=os.path.join(made, "dist"), BUCKLE_DIST_STAGE=made),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode == 0 and os.path.exists(STAGE):
        shutil.rmtree(RELEASED, ignore_errors=True)
        shutil.copytree(STAGE, RELEASED, symlinks=True)
        for name in ("bin", "libexec"):
            shutil.rmtree(RELEASED + PREFIX + "/" + name)
            shutil.copytree(os.path.join(made, "linux-x86_64", name), RELEASED + PREFIX + "/" + name)
        for name in ("buckle-crun", "buckle-oci", "buckle-runc", "cage", "sandbox-exec", "srt"):
            os.symlink("buckle", f"{RELEASED}{PREFIX}/bin/{name}")
    return done.returncode == 0, done.stdout


def install_stage():
    """Installs the gcc build, so that tests drive what a user would."""
    shutil.rmtree(STAGE, ignore_errors=True)
    done = subprocess.run(
        ["meson", "install", "-C", os.path.join(TOP, "build", "gcc"), "--quiet", "--no-rebuild"],
        env=dict(os.environ, DESTDIR=STAGE), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace")
    return done.returncode == 0, done.stdout


# ---- TAP ----

LINE = re.compile(r"^(not )?ok\b *(\d+)?(?: *-)? *((?:[^#\\]|\\.)*)(?:# *(skip|todo)\S* *(.*))?$",
                  re.IGNORECASE)


def read_tap(output, status, who):
    """Counts the checks in a program's output."""
    result = Result()
    count, plan, failing = 0, None, None
    for line in output.split("\n"):
        match = LINE.match(line)
        if match:
            failing = None
            count += 1
            number, name, directive, reason = match.group(2, 3, 4, 5)
            if number and int(number) != count:
                result.failures.append(f"{who}: check {count} calls itself {number}")
            if directive and directive.lower() == "skip":
                result.skips.append(f"{who}: {reason.strip() or 'no reason given'}")
            elif match.group(1):
                failing = len(result.failures)
                result.failures.append(f"{who}: {name.strip()}")
            else:
                result.passed += 1
        elif line.startswith("1.."):
            plan = int(line[3:].split()[0])
        elif line.startswith("#") and failing is not None:
            result.failures[failing] += "\n    " + line
        elif line.startswith("Bail out!"):
            result.failures.append(f"{who}: {line}")
    tail = "\n    ".join(output.rstrip().split("\n")[-15:])
    if plan is None:
        result.failures.append(f"{who}: ended early (status {status})\n    {tail}")
    elif plan != count:
        result.failures.append(f"{who}: planned {plan} checks, ran {count}\n    {tail}")
    elif status != 0 and not result.failures:
        result.failures.append(f"{who}: exit status {status}\n    {tail}")
    return result


def run_program(argv, env, timeout):
    who = os.path.basename(argv[0])
    try:
        done = subprocess.run(argv, env=dict(os.environ, **env), cwd=TOP, timeout=timeout,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    except OSError as gone:
        result = Result()
        result.failures.append(f"{who}: cannot be run; is it in tests/meson.build? {gone}")
        return result
    except subprocess.TimeoutExpired as late:
        result = Result()
        text = (late.stdout or b"").decode(errors="replace").rstrip().split("\n")[-5:]
        result.failures.append(f"{who}: still running after {timeout} s\n    " + "\n    ".join(text))
        return result
    output = done.stdout.decode(errors="replace")
    result = read_tap(output, done.returncode, who)
    result.figures = [line[2:] for line in output.split("\n") if line.startswith("= ")]
    return result


def run_twice(argv, env, timeout):
    """Runs a program again if it failed and depends on timing: signals, terminals, what other
    processes see. The closing line counts its first failures as skipped, so that nobody overlooks
    them."""
    first = run_program(argv, env, timeout)
    who = os.path.basename(argv[0])
    if not first.failures or who not in SLOW_E2E:
        return first
    again = run_program(argv, env, timeout)
    again.skips += [f"{who}: passed only the second time: {failure.splitlines()[0]}"
                    for failure in first.failures if not again.failures]
    return again


def run_watched(argv, env, timeout):
    """With TIMES in the environment, programs that take more than TIMES seconds are named."""
    began = time.monotonic()
    result = run_twice(argv, env, timeout)
    took = time.monotonic() - began
    if "TIMES" in os.environ and took > float(os.environ["TIMES"] or 0):
        result.figures.append(f"{os.path.basename(argv[0])}: {took:.1f} s")
    return result


class Running:
    """A suite under way in a pool of workers."""

    def __init__(self, suite):
        self.suite = suite
        self.begun, self.ended, self.futures = None, None, []

    def run(self, argv):
        self.begun = self.begun or time.monotonic()
        result = run_watched(argv, self.suite.env, self.suite.timeout)
        self.ended = time.monotonic()
        return result

    def result(self):
        """Waits for all of it; what came of it, and how long it took."""
        result = Result()
        for one in self.futures:
            result.add(one.result())
        if not self.suite.programs:
            result.failures.append(f"{self.suite.name}: has no tests")
        return result, self.ended - self.begun if self.begun else 0


def turn(program):
    """What was compiled is quick, and says first what is wrong; then the long ones, so that none of
    them is left alone at the end; what waits for another build comes last."""
    suite, path = program[0].suite, program[1][0]
    if suite.needs:
        return 3
    return 0 if path.startswith(os.path.join(TOP, "build")) else 1 if os.path.basename(path) in SLOW_E2E + LONG else 2


class Later:
    """Builds that go on while the first suites run, one after the other, and give way to them."""

    def __init__(self, names):
        self.names = names
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=1)
        self.made = {name: self.pool.submit(timed, build, name, "nice", "-n", "10") for name in names}

    def wait(self, name):
        (fine, _), _ = self.made[name].result()
        return fine

    def report(self, total):
        for name in self.names:
            (fine, log), seconds = self.made[name].result()
            report_build(f"build ({name})", fine, log, seconds, total)


def run_suites(suites, on_result, at_once, later):
    """Side by side, so many programs at once; told in their order."""
    begun = [Running(suite) for suite in suites]
    programs = [(one, argv) for one in begun for argv in one.suite.programs]

    def start(one, argv):
        if one.suite.needs in later.names and not later.wait(one.suite.needs):
            return Result()  # the build counts as failed, once
        return one.run(argv)

    with concurrent.futures.ThreadPoolExecutor(max_workers=at_once) as pool:
        for one, argv in sorted(programs, key=turn):
            one.futures.append(pool.submit(start, one, argv))
        for one in begun:
            on_result(one.suite, *one.result())


# ---- what there is to run ----


def unit_programs(where):
    """One program for each tests/unit/test-NAME.c; a missing one fails by not starting."""
    names = [os.path.splitext(os.path.basename(f))[0] for f in found("unit/test-*.c")]
    return [[os.path.join(TOP, "build", where, "tests", name)] for name in names]


def replay_programs(where):
    programs = []
    for source in found("fuzz/fuzz-*.c"):
        name = os.path.splitext(os.path.basename(source))[0]
        corpus = tests("fuzz", "corpus", name[len("fuzz-"):])
        programs.append([os.path.join(TOP, "build", where, "tests", name + "-replay"), corpus])
    return programs


# These depend on timing (run_twice), and take long, so they begin first.
SLOW_E2E = ("e2e-self-test.py", "e2e-ask.py", "e2e-ask-session.py", "e2e-attacks.py", "e2e-cleanup.py", "e2e-clients.py", "e2e-clones.py", "e2e-commands.py", "e2e-dial.py", "e2e-escape.py",
            "e2e-gate.py", "e2e-git.py", "e2e-h2.py", "e2e-layers.py", "e2e-learn.py", "e2e-load.py", "e2e-mcp.py", "e2e-net-ports.py", "e2e-net-redirect.py",
            "e2e-loopback.py", "e2e-nested.py", "e2e-net.py", "e2e-own-record.py",
            "e2e-parent-proxy.py", "e2e-process.py", "e2e-programs.py", "e2e-protected.py", "e2e-record.py", "e2e-record-forward.py",
            "e2e-session-loopback.py", "e2e-session-world.py", "e2e-shared-layers.py", "e2e-spare.py", "e2e-static.py",
            "e2e-terminal.py", "e2e-top.py", "e2e-traps.py", "e2e-try.py", "e2e-try-kills.py", "e2e-unasked.py", "e2e-window.py", "e2e-window-load.py", "e2e-work.py",
            *(os.path.basename(f) for f in found("e2e/e2e-matrix-*.py")))


# These take long, too, but do not depend on timing.
LONG = ("e2e-git-inside.py", "e2e-packages.py", "e2e-patterns.py", "e2e-sentry.py", "e2e-settings.py",
        "e2e-whole-agent.py", "run-macos.py")

# Compares times, which other programs beside it would spoil.
ALONE = ("e2e-clones.py",)

# Packages are made of the gcc build.
STAGED = ("e2e-packages.py",)

# `make check` runs these as root and as an ordinary user: where the two differ most. Of the others the
# rows for root are left to check-all.
BOTH_USERS = ("e2e-attacks.py", "e2e-creds.py", "e2e-escape.py", "e2e-own-folders.py", "e2e-process.py", "e2e-run.py",
              "e2e-traps.py")


def e2e_programs(but=(), only=None):
    programs = found("e2e/e2e-*.py") + found("e2e/*.sh")  # one that is not executable fails
    return [[f] for f in programs
            if os.path.basename(f) not in but and (only is None or os.path.basename(f) in only)]


def staged_env():
    return {"BUCKLE": BUCKLE, "STAGE": STAGE, "PREFIX": PREFIX,
            "TOOLS": os.path.join(TOP, "build", "gcc", "tests")}


def asan_env():
    return dict(staged_env(), **SAN_ENV, SLOW="1",
                BUCKLE=os.path.join(TOP, "build", "asan", "buckle"))


def released_env():
    return dict(staged_env(), BUCKLE=RELEASED + PREFIX + "/bin/buckle", STAGE=RELEASED)


# Kernels that the documentation speaks of: Ubuntu 22.04 and Debian 12.
OLDER = ("5.15", "6.1")


def check_suites():
    staged, asan = staged_env(), asan_env()
    return [
        Suite("unit", unit_programs("gcc")),
        Suite("unit (sanitizers)", unit_programs("asan"), SAN_ENV, needs="asan"),
        Suite("golden", [[tests("runners", "run-golden.py")], [tests("runners", "run-plans.py")]], staged),
        Suite("verdicts", [[tests("runners", "run-verdicts.py")]], staged),
        Suite("verdicts (kernel)", [[tests("runners", "run-kernel-verdicts.py")]], staged),
        Suite("verdicts (sentries)", [[tests("runners", "run-kernel-verdicts.py")]], dict(staged, TIER="sentry")),
        *[Suite(f"verdicts (as Linux {version})", [[tests("runners", "run-kernel-verdicts.py")]],
                dict(staged, BUCKLE_PRETEND=f"kernel={version}.0")) for version in OLDER],
        Suite("verdicts (sanitizers)", [[tests("runners", "run-verdicts.py")]], asan, needs="asan"),
        Suite("fuzz replay", replay_programs("gcc")),
        Suite("fuzz replay (sanitizers)", replay_programs("asan"), SAN_ENV, needs="asan"),
        Suite("e2e", e2e_programs(only=BOTH_USERS), staged, timeout=300),
        Suite("e2e (ordinary user)", e2e_programs(but=ALONE + BOTH_USERS), dict(staged, ONE_USER="1"), timeout=300),
        Suite("examples", [[tests("runners", "run-examples.py")], [tests("runners", "run-keys.py")]], staged),
        Suite("tree", [[tests("runners", f)] for f in ("run-format.sh", "run-tree.py", "run-includes.py", "run-numbers.py")],
              staged),
        Suite("macos", [[tests("runners", "run-macos.py")]], timeout=900),
    ]


def long_suites():
    # in a static program valgrind cannot replace the C library's functions
    shared = STAGE + PREFIX + "/libexec/buckle/buckle-shared"
    valgrind = {"BUCKLE": shared if os.path.exists(shared) else BUCKLE, "VALGRIND": "1"}
    suites = [
        Suite("unit (clang)", unit_programs("clang")),
        Suite("clang-tidy", [[tests("runners", "run-tidy.py")]], timeout=3600),
        Suite("arm64", [[tests("runners", "run-arm64.py")]], timeout=1800),
        Suite("macos, whole", [[tests("runners", "run-macos.py"), "aarch64-macos", "x86_64-macos"],
                               [tests("runners", "run-mac-check.py")]], staged_env(), timeout=1800),
        Suite("e2e (sanitizers)", e2e_programs(but=ALONE + STAGED), asan_env(), timeout=900),
        Suite("released files", [[tests("runners", "run-dist.py")]], timeout=5400),
        # another C library: it opens files by other calls, and has another allocator and other threads
        Suite("e2e (released program)", e2e_programs(but=ALONE + STAGED), released_env(), timeout=900),
        Suite("verdicts (released program)", [[tests("runners", "run-kernel-verdicts.py")]], released_env(), timeout=900),
        Suite("programs", [[tests("e2e", "e2e-programs.py"), "heavy"]], staged_env(), timeout=900),
        Suite("clients", [[tests("e2e", "e2e-clients.py"), "heavy"]], staged_env(), timeout=900),
        Suite("tls", [[tests("e2e", f"e2e-{name}.py"), "heavy"] for name in ("tls", "credentials")], staged_env(), timeout=900),
        Suite("agents", [[tests("e2e", "e2e-whole-agent.py"), "heavy"]], staged_env(), timeout=1800),
        Suite("e2e (everybody)", e2e_programs(but=ALONE + BOTH_USERS), staged_env(), timeout=900),
        Suite("worlds", [[tests("e2e", "e2e-try.py"), "whole"], [tests("e2e", "e2e-try-kills.py"), "whole"], [tests("e2e", "e2e-try-tasks.py"), "whole"]], staged_env(), timeout=5400),
        Suite("learning", [[tests("e2e", "e2e-learn.py"), "whole"]], staged_env(), timeout=900),
        Suite("spares", [[tests("e2e", "e2e-spare.py"), "whole"]], staged_env(), timeout=900),
        Suite("records", [[tests("e2e", "e2e-record-forward.py"), "whole"]], staged_env(), timeout=1800),
        Suite("containers", [[tests("e2e", name), "whole"] for name in ("e2e-node.py", "e2e-node-restart.py", "e2e-oci.py", "e2e-node-escape.py", "e2e-node-gate.py",
                                                                               "e2e-node-inside.py", "e2e-node-roots.py")], staged_env(), timeout=1800,
              at_once=1),
        Suite("verdicts (containers)", [[tests("runners", "run-kernel-verdicts.py")]], dict(staged_env(), TIER="container"), timeout=1800),
        Suite("clones", [[tests("e2e", "e2e-clones.py"), "whole"]], staged_env(), timeout=1800),
        Suite("matrix", [[f, "whole"] for f in found("e2e/e2e-matrix-*.py")], staged_env(), timeout=1800),
        Suite("ABI", [[tests("runners", "run-abi.py")]], staged_env()),
        Suite("the page in a browser", [[tests("e2e", "e2e-window.py"), "browser"]], staged_env(), timeout=1800),
        Suite("mcp client library", [[tests("e2e", "e2e-mcp.py"), "sdk"]], staged_env(), timeout=600),
        Suite("kubernetes schemas", [[tests("e2e", "e2e-node-kube.py"), "schemas"], [tests("runners", "run-kubernetes.py")]], staged_env(), timeout=600),
        Suite("hook schemas", [[tests("e2e", "e2e-hook.py"), "schemas"]], staged_env(), timeout=600),
        Suite("races", [[tests("e2e", "e2e-traps.py"), "4", "9"]],
              {"BUCKLE": BUCKLE, "TOOLS": os.path.join(TOP, "build", "gcc", "tests"),
               "RACE_SECONDS": "20"}, timeout=900),
        Suite("escapes, load", [[tests("e2e", "e2e-escape.py")], [tests("e2e", "e2e-escape.py"), "faster"], [tests("e2e", "e2e-load.py")]],
              {"BUCKLE": BUCKLE, "TOOLS": os.path.join(TOP, "build", "gcc", "tests"),
               "ESCAPE_SECONDS": "10", "LOAD": "full"}, timeout=1800),
        Suite("verdicts (valgrind)", [[tests("runners", "run-verdicts.py")]], valgrind, timeout=900),
        Suite("fuzz", [[tests("runners", "run-fuzz.py")]], {"FUZZ_SECONDS": "60"}, timeout=900),
        Suite("packages of systems", [[f] for f in found("dist/dist-*.py")], staged_env(), timeout=3600),
    ]
    for suite in suites:
        suite.at_once = PROCESSORS
    # compares times
    suites.append(Suite("packages", [[tests("e2e", "e2e-packages.py"), "whole"]], staged_env(), timeout=900, at_once=1))
    suites.append(Suite("the page under load", [[tests("e2e", "e2e-window-load.py"), "whole"]], staged_env(), timeout=900, at_once=1))
    return suites


def bench_suites():
    how = ["--write"] if os.environ.get("BENCH_WRITE") else []
    quick = ["--quick"] if os.environ.get("BENCH_QUICK") else []
    return [Suite("bench", [[tests("bench", "run-bench.py"), *how],
                            [tests("bench", "run-cost.py"), *how, *quick],
                            [tests("bench", "run-launch.py"), *how, *quick],
                            [tests("bench", "run-net.py"), *how, *quick],
                            [tests("bench", "run-events.py"), *how, *quick],
                            [tests("bench", "run-spare.py"), *how, *quick],
                            [tests("bench", "run-try.py"), *how, *quick],
                            [tests("bench", "run-released.py"), *how, *quick],
                            [tests("bench", "run-patterns.py"), *how, *quick],
                            [tests("bench", "run-writes.py"), *how, *quick],
                            [tests("bench", "run-node.py"), *how, *quick],
                            [tests("bench", "run-node-scale.py"), *how]],
                  timeout=900, at_once=1)]


def fuzz_suites():
    return [Suite("fuzz", [[tests("runners", "run-fuzz.py")]], {}, timeout=3600)]


MODES = {
    # mode: (builds, builds beside the first suites, whether to install, suites)
    # the sanitizers' build is clang's, with its warnings
    "check": (["gcc"], ["asan"], True, check_suites),
    "check-all": (["gcc", "clang", "asan", "fuzz", "released"], [], True, lambda: check_suites() + long_suites()),
    "bench": (["bench", "released"], [], False, bench_suites),
    "fuzz": (["fuzz"], [], False, fuzz_suites),
}


# ---- telling ----


def expected_skips():
    with open(tests("expected-skips"), encoding="utf-8") as f:
        return [line.strip() for line in f if line.strip() and not line.startswith("#")]


def report(name, result, seconds, expected):
    """One line for a suite, then what deserves attention."""
    reasons = dict.fromkeys(result.skips)  # each once, in order
    for reason in reasons:
        if not any(fnmatch.fnmatchcase(reason, pattern) for pattern in expected):
            result.failures.append(f"unexpected skip: {reason}")
    words = f"{result.passed} passed"
    if result.skips:
        words += f", {len(result.skips)} skipped"
    if result.failures:
        words = f"FAILED {len(result.failures)}, " + words
    print(f"{name:<26} {words}  ({seconds:.1f} s)")
    for figure in result.figures:
        print("  " + figure)
    for failure in result.failures:
        print("  not ok: " + failure)
    for reason in reasons:
        print("  skipped: " + reason)
    sys.stdout.flush()


def timed(work, *args):
    start = time.monotonic()
    value = work(*args)
    return value, time.monotonic() - start


def report_build(title, fine, log, seconds, total):
    """Builds count as checks of one suite each."""
    result = Result()
    if fine:
        result.passed = 1
    else:
        result.failures.append(title + "\n    " + "\n    ".join(log.strip().split("\n")[-60:]))
    report(title, result, seconds, [])
    total.add(result)


def run_builds(names, install, total):
    """Returns whether testing makes sense."""
    steps = [(f"build ({name})", build, [name]) for name in names if name in BUILDS]
    if install:
        steps.append(("install", install_stage, []))
    if "released" in names:
        steps.append(("build (released)", install_released, []))
    for title, work, args in steps:
        (fine, log), seconds = timed(work, *args)
        report_build(title, fine, log, seconds, total)
        if not fine:
            return False
    return True


def main(argv):
    if len(argv) < 2 or argv[1] not in MODES:
        sys.exit(__doc__)
    # a shell starts what goes on in the background without them, and the tests end commands with them
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    builds, beside, install, suites = MODES[argv[1]]
    total, expected = Result(), expected_skips()
    if run_builds(builds, install, total):
        later = Later(beside)
        def on_result(suite, result, seconds):
            report(suite.name, result, seconds, expected)
            total.add(result)
        chosen = [suite for suite in suites() if not argv[2:] or suite.name in argv[2:]]
        # a suite of one program would leave other processors idle, and most programs wait now and then
        run_suites([suite for suite in chosen if not suite.at_once], on_result, 2 * PROCESSORS, later)
        for suite in chosen:
            if suite.at_once:
                run_suites([suite], on_result, suite.at_once, later)
        later.report(total)
    print(f"{total.passed} passed, {len(total.failures)} failed, {len(total.skips)} skipped")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
