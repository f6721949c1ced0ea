#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `buckle run` costs, against the bare command, the kernel's floor and peers; prints TAP.

    tests/bench/run-cost.py [--quick] [--write]

Everything that is compared takes turns in one run on tmpfs, and ratios are taken repetition by
repetition (see launch.c). Peers are told to restrict alike (see peers.py) and are held to it before
they are measured. A target that is missed is called NEAR or MISS; what fails the run is a ceiling
further up. --write puts tables and pictures into docs/performance.md and docs/performance/; --quick
repeats less. The programs are those of build/bench, or of $BENCH_BUILD.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers  # noqa: E402
import picture  # noqa: E402
import workloads  # noqa: E402
from measure import TOP, Page, Spread, Targets, progress  # noqa: E402

import tap  # noqa: E402
from processes import command_name, descendants, memory_of  # noqa: E402

BUILD = os.environ.get("BENCH_BUILD", os.path.join(TOP, "build", "bench"))
TOOLS = ("bench-launch", "bench-calls", "bench-many", "bench-library", "bench-floor", "bench-floor-static",
         "bench-floor-calls")
MEMORY = os.environ.get("BENCH_MEMORY", "")  # a folder on tmpfs; not /dev/shm, which is private inside
PICTURES = os.path.join(TOP, "docs", "performance")
ORDINARY = 4242
PAUSE = "35000"  # µs after each launch: what the kernel takes to give a network namespace back


class Often:
    """Number of repetitions of each."""

    def __init__(self, quick):
        self.quick = quick
        self.launches, self.node, self.library, self.tree = (21, 3, 15, 15) if quick else (51, 5, 41, 31)
        self.turns, self.calls = (3, 1000) if quick else (7, 2000)
        self.slow = 1 if quick else 3

    def work(self, usual):
        return max(2, usual // 3) if self.quick else usual


class Bench:
    """A home in memory, owned by the measuring user, with secrets and a working folder."""

    def __init__(self, name, uid):
        self.name, self.uid = name, uid
        self.folder = tempfile.mkdtemp(prefix="home-", dir=MEMORY)
        self.work = os.path.join(self.folder, "work")
        self.tools = os.path.join(self.folder, "tools")
        for sub in ("run", "work", "tools"):
            os.mkdir(os.path.join(self.folder, sub), 0o700)
        for tool in TOOLS:
            shutil.copy(os.path.join(BUILD, "tests", "bench", tool), self.tools)
        for program in ("buckle", "buckle-static"):
            shutil.copy(os.path.join(BUILD, program), self.tools)
        os.chmod(self.tools, 0o755)
        peers.furnish(self.folder)
        self.plain = os.path.join(self.tools, "plain.sb")
        peers.plain_profile(os.path.join(TOP, "profiles", "default.sb"), self.plain)
        self.own()
        os.chmod(self.folder, 0o755)
        self.env = {"PATH": peers.PATH, "HOME": self.folder, "LC_ALL": "C.UTF-8",
                    "XDG_RUNTIME_DIR": os.path.join(self.folder, "run"),
                    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com",
                    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"}

    def own(self):
        subprocess.run(["chown", "-R", f"{self.uid}:{self.uid}", self.folder], check=True)

    def tool(self, name):
        return os.path.join(self.tools, name)

    def run(self):
        return [self.tool("buckle"), "run"]

    def how(self):
        same = self.uid == os.geteuid()
        return {} if same else {"user": self.uid, "group": self.uid, "extra_groups": []}

    def call(self, *argv, cwd=None):
        done = subprocess.run(argv, env=self.env, cwd=cwd or self.work, timeout=300,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, **self.how())
        if done.returncode:
            raise RuntimeError(f"{os.path.basename(argv[0])}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def times(self, repetitions, commands, pause="0"):
        """Nanoseconds of whole commands, in turns."""
        words = []
        for argv in commands.values():
            words += ["--", *("---" if w == "--" else w for w in argv)]
        lines = self.call(self.tool("bench-launch"), str(repetitions), pause, *words).splitlines()
        return dict(zip(commands, map(numbers, lines)))

    def clear(self):
        shutil.rmtree(self.work)
        os.mkdir(self.work, 0o700)
        os.chown(self.work, self.uid, self.uid)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def numbers(line):
    return Spread([float(n) for n in line.split()])


# ---- launching ----

BARE = "bare vfork and exec"
FLOOR, FLOOR_STATIC = "the floor: the kernel's work alone", "the floor, linked statically"
FLOOR_GUARDED = "the floor, with a file system of one's own on the stores"
PLAIN, STATIC = "buckle run, reading everything", "the same, linked statically"
GUARDED, GUARDED_STATIC = "buckle run, secrets guarded", "guarded, linked statically"
START = "buckle --version: a start of Buckle itself"
TRUE = ["/bin/true"]


def launch_commands(bench, who):
    """In table order: first peers that read everything, then those that guard the stores."""
    static = bench.tool("buckle-static")
    commands = {BARE: TRUE, START: [bench.tool("buckle"), "--version"],
                **floors(bench), PLAIN: who.buckle(TRUE, False), STATIC: who.buckle(TRUE, False, static)}
    makers = {"bwrap": who.bwrap, "firejail": who.firejail}
    there = {n: m for n, m in makers.items() if holds(who, n, m)}
    commands.update({f"{n}, reading everything": m(TRUE, False) for n, m in there.items()})
    commands.update(guarded_floor(bench, who))
    commands.update({GUARDED: who.buckle(TRUE, True), GUARDED_STATIC: who.buckle(TRUE, True, static)})
    commands.update({f"{n}, secrets masked": m(TRUE, True) for n, m in there.items()})
    return commands


def floors(bench):
    """The same walls made by hand, where the kernel permits it."""
    commands = {FLOOR: [bench.tool("bench-floor"), "launch", *TRUE],
                FLOOR_STATIC: [bench.tool("bench-floor-static"), "launch", *TRUE]}
    try:
        bench.call(*commands[FLOOR])
    except RuntimeError as trouble:
        tap.skip(f"no floor: {trouble}")
        return {}
    return commands


def guarded_floor(bench, who):
    paths = [s[1:] for s in who.stores if s[1:].startswith(bench.folder)] or [s[1:] for s in who.stores]
    command = [bench.tool("bench-floor"), "guard", str(len(paths)), *paths, *TRUE]
    try:
        bench.call(*command)
    except RuntimeError as trouble:
        tap.skip(f"no floor with guards: {trouble}")
        return {}
    return {FLOOR_GUARDED: command}


def ratio_or_none(got, one, other):
    return got[one].over(got[other]) if one in got else None


def holds(who, name, maker):
    """Whether a peer is installed and restricts as required."""
    if not os.path.exists(maker(TRUE, False)[0]):
        tap.skip(f"{name} is not installed")
        return False
    for guarded in (False, True):
        lacks = who.restricts(maker, guarded)
        if lacks:
            tap.skip(f"{name} does not restrict alike as {who.bench.name}: {lacks}")
            return False
    return True


def bench_launch(bench, who, often, page, targets):
    for guarded in (False, True):
        tap.equal(who.restricts(who.buckle, guarded), "", f"buckle restricts, guarded: {guarded}")
    got = bench.times(often.launches, launch_commands(bench, who), PAUSE)
    bare, rows = got[BARE], []
    for name, spread in got.items():
        ratio = spread.over(bare)
        rows.append([name, spread.show(1000), ratio.show(digits=2)])
        progress(f"{spread.show(1000):>22} µs, × {ratio.show(digits=2)}: {name}, as {bench.name}")
    rows += bench_node(bench, who, often) if bench.uid else []
    page.table(f"Launch of /bin/true from the command line, as {bench.name}", ["", "µs", "× bare"], rows)
    name = f"launch as {bench.name}"
    targets.judge(f"{name}, × bare", got[PLAIN].over(bare), 3.2, 7,
                  ratio_or_none(got, FLOOR, BARE))
    targets.judge(f"{name}, linked statically, × bare", got[STATIC].over(bare), 2.6, 7,
                  ratio_or_none(got, FLOOR_STATIC, BARE))
    for ours, theirs, ceiling, floor in ((PLAIN, "bwrap, reading everything", 1.4, FLOOR),
                                         (GUARDED, "bwrap, secrets masked", 1.6, FLOOR_GUARDED)):
        if theirs in got:
            targets.judge(f"{name}, × {theirs}", got[ours].over(got[theirs]), 0.6, ceiling,
                          ratio_or_none(got, floor, theirs))
    return got


def bench_node(bench, who, often):
    """Separately and less often: one of its launches takes as long as a hundred others."""
    try:
        who.install_node(os.path.join(MEMORY, "npm"))
        lacks = who.restricts(who.node, True)
        if lacks:
            raise LookupError(f"{peers.NODE_PEER} does not restrict alike: {lacks}")
    except LookupError as lacks:
        tap.skip(str(lacks))
        return []
    got = bench.times(often.node, {BARE: TRUE, "node": who.node(TRUE, True)}, PAUSE)
    ratio = got["node"].over(got[BARE])
    progress(f"{got['node'].show(1000):>22} µs, × {ratio.show(digits=0)}: {peers.NODE_PEER}")
    return [[f"{peers.NODE_PEER}, secrets masked", got["node"].show(1000), ratio.show(digits=0)]]


def bench_library(bench, often, page, targets):
    args = [str(often.library), PAUSE]
    ours = bench.call(bench.tool("bench-library"), *args, bench.plain, *TRUE).splitlines()
    bare, library = map(numbers, ours[:2])
    ratio, floor, least = library.over(bare), None, None
    rows = [[BARE, bare.show(1000), "1.00"], [PLAIN, library.show(1000), ratio.show(digits=2)]]
    if floors(bench):
        lines = bench.call(bench.tool("bench-floor"), "times", *args, *TRUE).splitlines()
        bare, floor = map(numbers, lines[:2])
        least = floor.over(bare)
        rows.insert(1, [FLOOR, floor.show(1000), least.show(digits=2)])
    page.table(f"Launch from a running process that has its plan, as {bench.name}", ["", "µs", "× bare"],
               rows)
    targets.judge(f"launch from a running process as {bench.name}, × bare", ratio, 2.1, 5, least)
    return library, floor


def bench_tree(bench, who, often, page, targets):
    """The same folder with few and with many files below it."""
    for sub, n in (("few", 10), ("many", 10000)):
        for i in range(n):
            folder = f"{bench.work}/{sub}/{i // 100}"
            os.makedirs(folder, exist_ok=True)
            with open(f"{folder}/{i}", "w", encoding="utf-8"):
                pass
    bench.own()
    commands = {sub: ["/usr/bin/env", "-C", f"{bench.work}/{sub}", *who.buckle(TRUE, True)]
                for sub in ("few", "many")}
    got = bench.times(often.tree, commands, PAUSE)
    ratio = got["many"].over(got["few"])
    page.text(f"A launch in a folder with 10,000 files takes {ratio.show(digits=2)} times as long as in "
              "one with 10.")
    targets.judge("launch with 10,000 files in the working folder, × with 10", ratio, 1.05, 1.5)
    bench.clear()


# ---- single calls ----

# call: (target in µs or none, ceiling)
CALLS = {"open-read": (None, 4), "open-write": (15, 50), "create": (15, 75), "unlink": (10, 60),
         "mkdir": (10, 45)}
FLOORS = {"continue": "floor: there and back", "here": "path read, call made", "poll": "the same, by poll()",
          "perform": "floor: in the caller's folder"}


def bench_calls(bench, often, page, targets):
    calls = [bench.tool("bench-calls"), bench.work, str(often.calls)]
    floor = bench.tool("bench-floor-calls")
    ways = {"outside": calls, **{how: [floor, how, *calls] for how in FLOORS},
            "inside": [*bench.run(), *calls]}
    samples = {way: {} for way in ways}
    for _ in range(often.turns):
        for way, argv in ways.items():
            for line in bench.call(*argv).splitlines():
                name, ns = line.split()
                samples[way].setdefault(name, []).append(float(ns) / 1000)
    rows = []
    for name, (target, ceiling) in CALLS.items():
        got = {way: Spread(samples[way][name]) for way in ways}
        rows.append([name, *(got[way].show(digits=1) for way in ways)])
        if target:
            # the scheduler chooses processors: the best sample counts
            least = min((got[how] for how in ("here", "poll", "perform")), key=lambda s: s.median)
            targets.judge(f"one {name} as {bench.name}, µs", got["inside"], target, ceiling, least, digits=1)
        else:
            tap.ok(got["inside"].median <= ceiling, f"one {name} as {bench.name}: at most {ceiling} µs",
                   got["inside"].show(digits=1))
    page.table(f"Single calls in µs, as {bench.name}",
               ["", "outside", *FLOORS.values(), "inside"], rows)


# ---- whole workloads ----


def bench_work(bench, who, often, page, targets):
    makers = {n: m for n, m in (("bwrap", who.bwrap), ("firejail", who.firejail)) if holds(who, n, m)}
    rows, shown = [], []
    for work in workloads.ALL:
        try:
            script = work.prepare(bench, peers.PATH)
        except LookupError as lacks:
            tap.skip(str(lacks))
            continue
        words = ["/bin/sh", "-ec", f"for i in $(seq {work.loops}); do {script}; done"]
        once = ["/bin/sh", "-ec", script]
        commands = {"bare": words, "buckle": who.buckle(words, True),
                    **{n: m(words, True) for n, m in makers.items()}}
        # the walls, with a placeholder for the writing process
        commands["floor"] = [bench.tool("bench-floor"), "walls", bench.tool("bench-floor-calls"), "perform",
                             *words]
        try:
            bench.call(*commands["floor"])
        except RuntimeError as trouble:
            tap.skip(f"no floor for {work.name}: {trouble}")
            del commands["floor"]
        got = bench.times(often.work(work.repetitions), commands)
        ratios = {n: got[n].over(got["bare"]) for n in commands if n != "bare"}
        targets.judge(f"{work.name}, × bare", ratios["buckle"], 1.1, work.ceiling,
                      ratios.get("floor"))
        slow = slow_reads(bench, once, often) if work.reads else {}
        rows.append([work.name, got["bare"].show(1e6),
                     *(ratios[n].show(digits=2) if n in ratios else "–"
                       for n in ("buckle", "floor", "bwrap", "firejail")),
                     *(slow[n].show(digits=2) if n in slow else "–" for n in ("judged", "inside"))])
        shown.append((work.name.split(" of ")[0], ratios))
        bench.clear()
    page.table("Whole work on tmpfs, as an ordinary user whose secrets are guarded",
               ["", "ms bare", "× buckle run", "× floor", "× bwrap", "× firejail",
                "× every read judged", "× in a guarded folder"], rows)
    return shown


def slow_reads(bench, words, often):
    """What reading costs when it must be exact (--strict-reads), and when the folder itself is guarded.
    These have no target."""
    guarded = os.path.join(bench.tools, "guarded.sb")
    with open(guarded, "w", encoding="utf-8") as f:
        f.write(f'(version 1)\n(import "default.sb")\n'
                f'(deny file-read-data (regex #"^{bench.work}/tree/.*\\.key$"))\n')
    os.chmod(guarded, 0o644)
    run = [*bench.run(), "--report", "none"]
    got = bench.times(often.slow, {"bare": words, "judged": [*run, "--strict-reads", *words],
                                   "inside": [*run, "--profile", guarded, *words]})
    ratios = {way: got[way].over(got["bare"]) for way in ("judged", "inside")}
    for way, ratio in ratios.items():
        tap.ok(ratio.median <= 100, f"{way}: at most 100", ratio.show(digits=2))
    return ratios


# ---- memory ----


def bench_memory(bench, page, targets):
    """All of Buckle's processes while a command runs, without the command."""
    with subprocess.Popen([*bench.run(), "--", "/bin/sleep", "60"], env=bench.env, cwd=bench.work,
                          **bench.how()) as program:
        try:
            deadline, names = time.monotonic() + 10, {}
            while "sleep" not in names.values() and time.monotonic() < deadline:
                time.sleep(0.1)
                names = {p: command_name(p) for p in descendants(program.pid)}
            time.sleep(0.3)
            rows = [[name, *memory_of(p)] for p, name in names.items() if name != "sleep"]
        finally:
            program.terminate()
    total = [sum(row[i] for row in rows) for i in (1, 2)]
    page.table("Memory of the supervising processes, KiB",
               ["", "its own alone", "and its share of what they have in common"],
               [*rows, ["together", *total]])
    tap.ok(len(rows) >= 3, "controller, judge and init are counted", rows)
    targets.judge("supervisors' memory, KiB", Spread([float(total[1])]), 4096, 8192, digits=0)


# ---- the page ----


def write_pictures(launched, library, work):
    os.makedirs(PICTURES, exist_ok=True)
    order = [BARE, FLOOR, FLOOR_STATIC, PLAIN, STATIC, "bwrap, reading everything",
             "firejail, reading everything", None, FLOOR_GUARDED, GUARDED, GUARDED_STATIC, "bwrap, secrets masked",
             "firejail, secrets masked", None]
    rows = [(n, launched[n].scaled(1e6), kind(n)) if n else None for n in order if not n or n in launched]
    if library[1]:
        rows.append(("from a process: the floor", library[1].scaled(1e6), "floor"))
    rows.append(("from a process: buckle", library[0].scaled(1e6), "ours"))
    longest = 2.2 * max(launched[n].median / 1e6 for n in (PLAIN, GUARDED))
    put("launch.svg", picture.bars("Launch of /bin/true, ms, as an ordinary user", rows, 2, longest,
                                   note="lines: outer deciles; arrows: longer than the picture"))
    rows = []
    for name, ratios in work:
        rows += [(f"{name}: {n}", ratios[n], kind(n)) for n in ratios] + [None]
    if rows:
        put("work.svg", picture.bars("Whole work, × bare, secrets guarded", rows[:-1], 2, mark=1.1,
                                     note="dashed: the target, 1.10"))


def kind(name):
    return ("bare" if name == BARE else "floor" if "floor" in name else
            "ours" if "buckle" in name or name in (STATIC, GUARDED_STATIC) else "peer")


def put(name, text):
    with open(os.path.join(PICTURES, name), "w", encoding="utf-8") as f:
        f.write(text)


def finish(page, targets, often):
    """The targets come first on the page."""
    head = Page("cost")
    head.text(f"{os.cpu_count()} cores, Linux {platform.release()}, {platform.machine()}"
              + ("; few repetitions (--quick)" if often.quick else "") + ".")
    head.table("Targets", ["", "at most", "measured", "floor here", ""], targets.rows)
    head.text("![Launch](performance/launch.svg)", "", "![Whole work](performance/work.svg)")
    page.lines = head.lines + page.lines
    page.write()


def in_memory(argv, again=__file__):
    """Restarts in a new mount namespace, with a tmpfs, a /dev/fuse that ordinary users may open, as on
    distributions, and an ordinary user known to firejail."""
    folder = tempfile.mkdtemp(prefix="buckle-bench-")
    script = ['mount -t tmpfs -o mode=755 buckle-bench "$BENCH_MEMORY"', 'cd "$BENCH_MEMORY"']
    for name, line in (("passwd", f"bench:x:{ORDINARY}:{ORDINARY}::{folder}:/bin/sh"),
                       ("group", f"bench:x:{ORDINARY}:")):
        script.append(f'{{ cat /etc/{name}; echo {line}; }} >{name}; mount --bind {name} /etc/{name}')
    if os.path.exists("/dev/fuse"):
        device = os.stat("/dev/fuse").st_rdev
        script.append(f"mknod -m 666 fuse c {os.major(device)} {os.minor(device)}; mount --bind fuse /dev/fuse")
    again = [sys.executable, os.path.abspath(again), *argv]
    status = subprocess.call(["unshare", "-m", "sh", "-ec", "\n".join([*script, '"$@"']), "sh", *again],
                             env=dict(os.environ, BENCH_MEMORY=folder))
    os.rmdir(folder)
    return status


def measure(bench, often, page, targets):
    who = peers.Peers(bench, bench.plain)
    launched = bench_launch(bench, who, often, page, targets)
    library = bench_library(bench, often, page, targets)
    bench_calls(bench, often, page, targets)
    if bench.uid == 0:
        return None
    bench.clear()
    bench_tree(bench, who, often, page, targets)
    bench_memory(bench, page, targets)
    return launched, library, bench_work(bench, who, often, page, targets)


def main(argv):
    if not MEMORY and os.geteuid() == 0:
        return in_memory(argv)
    if not MEMORY:
        tap.skip("no tmpfs: set BENCH_MEMORY to a folder on one")
        return tap.done()
    page, targets, often, shown = Page("cost"), Targets(), Often("--quick" in argv), None
    people = {"an ordinary user": ORDINARY, "root": 0} if os.geteuid() == 0 else \
        {"an ordinary user": os.geteuid()}
    for name, uid in people.items():
        bench = Bench(name, uid)
        try:
            shown = measure(bench, often, page, targets) or shown
        except (RuntimeError, OSError, subprocess.SubprocessError) as trouble:
            tap.ok(False, f"measuring as {name}", trouble)
        finally:
            bench.close()
    if "--write" in argv and tap.ok(shown is not None, "everything was measured that goes onto the page"):
        write_pictures(*shown)
        finish(page, targets, often)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
