#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the engine's benchmarks and compares them with their targets; prints TAP.

    tests/bench/run-bench.py [--write]

Times are compared only within one run: what is compared takes turns (see main.c), each repetition
gives a ratio, and the median ratio is judged. Ratios of a busy machine vary, so a target counts as
missed when the median misses it by more than NOISE; what lies between is called NEAR, and only what
misses by CEILING fails. Instruction counts come from callgrind and do not vary: each is a ceiling.

--write puts the tables into docs/performance.md. The programs are those of build/bench, or
$BENCH_ENGINE and $BUCKLE.
"""

import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from measure import NOISE, TOP, Page, Spread, progress  # noqa: E402

import tap  # noqa: E402

BUILD = os.path.join(TOP, "build", "bench")
ENGINE = os.environ.get("BENCH_ENGINE", os.path.join(BUILD, "tests", "bench", "bench-engine"))
BUCKLE = os.environ.get("BUCKLE", os.path.join(BUILD, "buckle"))
SHARED = os.environ.get("BUCKLE_SHARED", os.path.join(os.path.dirname(TOP), "shared"))
CORPUS = os.path.join(SHARED, "corpus")
DEMO = os.path.join(TOP, "docs", "demo", "demo.sb")

CEILING = 0.50  # a busy machine is no reason to fail
REPETITIONS = 101
COLD_STARTS = 41
FIRST_MILLIONS = 2  # instructions from text to the first verdict
LOAD_MILLIONS = 40  # and for loading the largest real profile

WEBKIT_PARAMETERS = {
    "CPU": "x86_64",
    "DARWIN_USER_CACHE_DIR": "/private/var/folders/aa/C",
    "DARWIN_USER_TEMP_DIR": "/private/var/folders/aa/T",
    "ENABLE_SANDBOX_MESSAGE_FILTER": "YES",
    "HOME_DIR": "/Users/alice",
    "HOME_LIBRARY_PREFERENCES_DIR": "/Users/alice/Library/Preferences",
    "WEBKIT2_FRAMEWORK_DIR": "/System/Library/Frameworks/WebKit.framework",
}


# ---- the programs ----


def call(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{os.path.basename(argv[0])}: {done.stderr.strip()}")
    return done


def engine(*args):
    return call(ENGINE, *args).stdout.split("\n")


def times(works, options=(), repetitions=REPETITIONS):
    """Nanoseconds of each benchmark, in turns in one process."""
    lines = engine(*options, "time", str(repetitions), *works)
    samples = {}
    for line in filter(None, lines):
        name, *numbers = line.split()
        samples[name] = Spread([float(n) for n in numbers])
    return samples


def cold_times(works):
    """The same in a fresh process each time, with cold memory."""
    samples = {w: [] for w in works}
    for turn in range(COLD_STARTS):
        for i in range(len(works)):
            work = works[(turn + i) % len(works)]
            samples[work].append(float(engine("cold", work)[0].split()[0]))
    return {w: Spread(s) for w, s in samples.items()}


def collected(*argv):
    text = call("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *argv)
    match = re.search(r"Collected : (\d+)", text.stderr)
    if not match:
        raise RuntimeError(f"callgrind counted nothing for {' '.join(argv)}")
    return int(match[1]), text.stdout


def instructions(work, options=(), how="warm"):
    """Instructions of one unit of work."""
    count, out = collected("--toggle-collect=measured", ENGINE, *options, how, work)
    return count / int(out.split()[1])


def count_all(works, counting, how="warm"):
    return {w: instructions(w, how=how) for w in works} if counting else {}


def shown_count(counts, work):
    return f"{counts[work]:,.0f}" if work in counts else "–"


# ---- evaluation ----


def judge(name, value, target, at_most, shown, noise=NOISE):
    """One target: PASS, NEAR (missed within the noise of times) or MISS. Fails where counts miss, and
    where times miss by more than noise."""
    slack = value / target if at_most else target / value
    word = "PASS" if slack <= 1 else "NEAR" if slack <= 1 + noise else "MISS"
    bound = f"{'at most' if at_most else 'at least'} {target:g}"
    progress(f"{word}  {name}: {shown}, target {bound}")
    tap.ok(slack <= 1 + (CEILING if noise else 0), f"{name}: {bound}", shown)


def judge_ratio(name, ratio, target, at_most):
    judge(name, ratio.median, target, at_most, ratio.show(digits=2))


def judge_counts(name, counts, work, base, target, at_most):
    """The same as a ratio of instructions, which other load does not affect."""
    if counts:
        ratio = counts[work] / counts[base]
        judge(name + ", in instructions", ratio, target, at_most, f"{ratio:.2f}", noise=0)


def judge_millions(name, count, ceiling):
    """Ceilings on instructions, so that work cannot grow unnoticed."""
    judge(f"{name}, million instructions", count / 1e6, ceiling, True, f"{count / 1e6:.2f}",
          noise=0)


# ---- the benchmarks ----


# (benchmark, what is compared, minimum ratio)
RIVALS = [
    ("decide-list", "a list tried with PCRE2-JIT takes so many times as long", 3),
    ("decide-combined", "a combined PCRE2-JIT pattern takes so many times as long", 1),
    ("match-combined", "the combined pattern without the folders takes so many times as long", 1),
]


def bench_decide(page, counting):
    number, length, allowed, secrets = engine("agree")[0].split()
    tap.ok(int(number) >= 2000, f"all three decide alike on {number} paths")
    names = {
        "decide": "Buckle",
        "decide-list": "the rules as a list, regexes by PCRE2-JIT",
        "decide-combined": "folders as a list, one combined PCRE2-JIT pattern",
        "match-combined": "that pattern alone, which decides nothing yet",
    }
    got, counts = times(names), count_all(names, counting)
    ours = got["decide"]
    rows = []
    for work, name in names.items():
        rows.append([name, got[work].show(), got[work].over(ours).show(digits=2),
                     shown_count(counts, work)])
        progress(f"{got[work].show():>22} ns a decision: {name}")
    for work, name, target in RIVALS:
        judge_ratio(name, got[work].over(ours), target, False)
        judge_counts(name, counts, work, "decide", target, False)
    page.table(f"One decision: 50 subpaths and 20 regexes, {number} paths of {length} bytes "
               f"({allowed} allowed, {secrets} matched by a regex)",
               ["", "ns", "× Buckle", "instructions"], rows)


def bench_first(page, counting):
    names = {
        "first": "Buckle: text → graph → verdict",
        "first-list": "PCRE2: compile 20 patterns → verdict",
        "first-combined": "PCRE2: compile the combined pattern → verdict",
    }
    warm, cold = times(names), cold_times(list(names))
    counts = count_all(names, counting, "cold")
    rows = []
    for work, name in names.items():
        rows.append([name, cold[work].show(1000), warm[work].show(1000),
                     shown_count(counts, work)])
        progress(f"{cold[work].show(1000):>18} µs in a fresh process, {warm[work].show(1000)} again: "
            + name)
    judge("from text to the first verdict in a fresh process, ms", cold["first"].median / 1e6, 0.3,
          True, cold["first"].show(1e6, 3))
    if counting:
        judge_millions("from text to the first verdict", counts["first"], FIRST_MILLIONS)
    page.table("From nothing to the first verdict: the same profile",
               ["", "µs in a fresh process", "µs when done again", "instructions"], rows)


# scaling: (description, benchmark, sizes)
GROWTH = [
    ("rules, five subpaths to two regexes", "decide-rules", (10, 100, 1000)),
    ("globs", "decide-globs", (1, 10, 100, 1000)),
]


def bench_growth(page, counting):
    rows = []
    for title, name, sizes in GROWTH:
        works = [f"{name}:{n}" for n in sizes]
        got, counts = times(works), count_all(works, counting)
        for n, work in zip(sizes, works):
            ratio = got[work].over(got[works[0]])
            rows.append([f"{title}: {n:,}", got[work].show(), ratio.show(digits=2),
                         shown_count(counts, work)])
            progress(f"{got[work].show():>18} ns a decision: {title}: {n:,}")
        words = f"growth of a decision from {sizes[0]} to {sizes[-1]} {title.split(',')[0]}"
        judge_ratio(words, got[works[-1]].over(got[works[0]]), 2, True)
        judge_counts(words, counts, works[-1], works[0], 2, True)
    page.table("Growth", ["", "ns", "× the smallest", "instructions"], rows)


def bench_allocations(page, counting):
    del page, counting
    for work in ["decide", "decide-rules:1000", "decide-globs:1000"]:
        made, before = engine("allocations", work)[0].split()
        tap.ok(int(before) > 0, f"{work}: the counter counts ({before} while getting ready)")
        word = "PASS" if made == "0" else "MISS"
        progress(f"{word}  {work}: {made} allocations while deciding, target 0")
        tap.ok(made == "0", f"{work}: a decision allocates nothing, the first included", made)


def safehouse_text():
    folder, files = os.path.join(CORPUS, "safehouse"), []
    for where, _, names in os.walk(folder):
        files += [os.path.join(where, n) for n in names if n.endswith(".sb")]
    text = ""
    for path in sorted(files):
        with open(path, encoding="utf-8") as f:
            text += f.read() + "\n"
    mark = "__SAFEHOUSE_REPLACE_ME_WITH_"
    return text.replace(mark + "ABSOLUTE_HOME_DIR__", "/Users/alice").replace(
        mark + "WORK_DIR_DEFINE__", '(define WORK_DIR "/Users/alice/work")')


def bench_load(page, counting):
    if not os.path.isdir(CORPUS):
        tap.skip("the corpus of real profiles is not here (set BUCKLE_SHARED)")
        return
    options = [word for k, v in WEBKIT_PARAMETERS.items() for word in ("-D", f"{k}={v}")]
    with tempfile.NamedTemporaryFile("w", suffix=".sb", encoding="utf-8") as joined:
        joined.write(safehouse_text())
        joined.flush()
        files = {"WebKit's WebProcess": os.path.join(CORPUS, "webkit", "com.apple.WebProcess.sb"),
                 "all of safehouse": joined.name}
        works = {name: "load:" + path for name, path in files.items()}
        got = times(works.values(), options, 41)
        rows = []
        for name, work in works.items():
            size = f"{os.path.getsize(files[name]) / 1024:.0f}"
            count = instructions(work, options) if counting else 0
            rows.append([name, size, got[work].show(1e6, 2), f"{count:,.0f}" if count else "–"])
            progress(f"{got[work].show(1e6, 2):>18} ms to load {size} KiB: {name}")
            if counting:
                judge_millions(f"loading {name}", count, LOAD_MILLIONS)
    page.table("Loading real profiles: text → graph", ["", "KiB", "ms", "instructions"], rows)


def bench_bundles(page, counting):
    """Decoding and decompiling every profile of a bundle made from the corpus."""
    if not os.path.isdir(CORPUS):
        tap.skip("the corpus of real profiles is not here (set BUCKLE_SHARED)")
        return
    os.environ["BUCKLE"] = BUCKLE
    import bundles  # noqa: E402  reads $BUCKLE
    from corpus import many
    graphs, rows = [], []
    for name, text in many():
        graphs.append((name, json.loads(call(BUCKLE, "graph", "--format", "json", "-p",
                                             text).stdout)))
    for era in "BD":
        with tempfile.NamedTemporaryFile("wb", suffix=".bin") as f:
            f.write(bundles.bundle(era, graphs))
            f.flush()
            size, works = os.path.getsize(f.name) / 1024, [f"decode:{f.name}", f"decompile:{f.name}"]
            got = times(works, (), 11)
            count = instructions(works[0]) if counting else 0
        for work, words in zip(works, ["decoded", "decoded and decompiled"]):
            progress(f"{got[work].show(1e6, 1):>18} ms: {len(graphs)} profiles of era {era}, {words}")
            judge(f"{len(graphs)} profiles of era {era}, {size:.0f} KiB, {words}, seconds",
                  got[work].median / 1e9, 0.5, True, got[work].show(1e9, 3))
        rows.append([f"era {era}, {len(graphs)} profiles", f"{size:.0f}",
                     *(got[w].show(1e6, 1) for w in works), f"{count:,.0f}" if count else "–"])
    page.table("Bundles: every profile to a graph, and on to text",
               ["", "KiB", "ms decoded", "ms decompiled too", "instructions decoded"], rows)


# a thousand rules of each kind: filters by number
RULES = {
    "literals": lambda i: f'(allow file-read* (literal "/x/{i}"))',
    "regexes": lambda i: f'(allow file-read* (regex #"^/x/{i}/[a-z]+/.*\\.txt$"))',
    "names": lambda i: f'(allow mach-lookup (global-name "com.example.s{i}"))',
    "ports": lambda i: f'(allow network-outbound (remote tcp "*:{i + 1}"))',
    "exceptions": lambda i: (f'({"deny" if i % 5 == 4 else "allow"} file-read* '
                             f'({("literal", "subpath", "prefix")[i % 3]} "/u/{i % 50}/{i:05}"))'),
}


def processor_time(*argv):
    """Seconds of processor time, and the exit status."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            timeout=60).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, status


def bench_diff(page, _counting):
    """Two profiles of a thousand rules: the same in another order, and with one rule changed."""
    rows, order = [], random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        def put(name, rules):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="ascii") as f:
                f.write("\n".join(["(version 1)(deny default)", *rules]))
            return path

        for name, rule in RULES.items():
            rules = [rule(i) for i in range(1000)]
            moved = list(rules) if name == "exceptions" else order.sample(rules, len(rules))
            changed = moved[:500] + [rule(5000)] + moved[501:]
            first, cells = put("first.sb", rules), []
            for command, other, want in (("diff", moved, 0), ("diff", changed, 1), ("catalog", None, 0)):
                argv = [BUCKLE, command, first, *([put("other.sb", other)] if other else [])]
                runs = [processor_time(*argv) for _ in range(7)]
                tap.ok({status for _, status in runs} == {want}, f"{command} of 1,000 {name}: {want}")
                took = Spread([seconds for seconds, _ in runs])
                cells.append(took.show(1e-3, 0))
                judge(f"{command}, 1,000 {name}, seconds", took.median, 0.5, True, took.show(1, 3))
            rows.append([name, *cells])
    page.table("Two profiles of 1,000 rules, whole commands: processor time in ms",
               ["", "`diff`, equal", "`diff`, one rule differs", "`catalog` of one"], rows)


# counted commands: (arguments, ceiling in millions of instructions)
COMMANDS = {
    "buckle --version": (["--version"], 0.5),
    "buckle eval of the demonstration's profile": (["eval", DEMO, "file-read-data", "/usr/x"], 1),
    "buckle check of the demonstration's profile": (["check", DEMO], 1),
}


def bench_start(page, counting):
    if not counting:
        return
    rows = []
    for name, (argv, ceiling) in COMMANDS.items():
        count, _ = collected(BUCKLE, *argv)
        rows.append([f"`{name}`", f"{count:,}"])
        judge_millions(name, count, ceiling)
    page.table("Whole commands, the loader's work included", ["", "instructions"], rows)


SETTINGS = {
    "network": {"allowedDomains": ["github.com", "*.github.com", "example.org", "*.example.org"],
                "deniedDomains": ["bad.example.com"]},
    "filesystem": {"denyRead": ["~/Documents"], "allowRead": ["~/Documents/public"],
                   "allowWrite": [".", "~/.cache/npm", "/var/tmp"], "denyWrite": [".env", "**/*.lock"]},
}


def bench_settings(page, counting):
    """From settings to a graph, against the default profile to one; at two instructions a nanosecond
    a millisecond is two million."""
    if not counting:
        return
    ask = ["-D", "HOME=/home/a", "-D", "CWD=/home/a/w", "-D", "TMPDIR=/run/t"]
    with tempfile.TemporaryDirectory() as folder:
        file, made = (os.path.join(folder, name) for name in ("settings.json", "made.sb"))
        with open(file, "w", encoding="ascii") as f:
            json.dump(SETTINGS, f)
        start = collected(BUCKLE, "--version")[0]
        writing, text = collected(BUCKLE, "profile", "--no-settings", "--settings", file, "--tmpdir", "/run/t")
        with open(made, "w", encoding="utf-8") as f:
            f.write(text)
        plain, given = (collected(BUCKLE, "eval", "-q", *ask, profile, "file-read-data", "/usr/x")[0]
                        for profile in ("default", made))
    rows = [["the default profile, to its first verdict", f"{plain:,}"],
            ["a settings file of eleven entries, to a profile", f"{writing - start:,}"],
            ["that profile, to its first verdict", f"{given:,}"]]
    page.table("Settings", ["", "instructions"], rows)
    judge_millions("what settings add to a launch", given - plain + writing - start, 2)


BENCHMARKS = [bench_decide, bench_first, bench_growth, bench_allocations, bench_load, bench_bundles,
              bench_diff, bench_start, bench_settings]


def main(argv):
    page, counting = Page("engine"), shutil.which("valgrind") is not None
    if not counting:
        tap.skip("valgrind is not installed: no instruction counts")
    for bench in BENCHMARKS:
        try:
            bench(page, counting)
        except RuntimeError as trouble:
            tap.ok(False, bench.__name__.replace("bench_", ""), trouble)
    if "--write" in argv:
        page.write()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
