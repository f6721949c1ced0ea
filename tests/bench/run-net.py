#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the network of `buckle run` costs, against a bare relay and against peers; prints TAP.

    tests/bench/run-net.py [--quick] [--write]

A small internet (tests/lib/internet.py): a server in one network namespace, and in another the client,
who reaches it through each relay in turn; every relay has a loopback in front and a cable behind it.
All are told the server's address, so that no name server is measured. Rounds are interleaved and
ratios taken round by round. What is small is measured with everybody on one processor, since who wakes
whom on which is the scheduler's affair and costs more than all else; bulk with all of them. A target that is missed is called NEAR or MISS; what fails the run is a
ceiling further up. --write puts the tables into docs/performance.md; --quick repeats less. The
programs are those of build/bench, or of $BENCH_BUILD. Needs root.
"""

import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from measure import TOP, Page, Spread, Targets, progress  # noqa: E402

import internet  # noqa: E402
import tap  # noqa: E402
from processes import command_name, descendants, memory_of  # noqa: E402

BUILD = os.environ.get("BENCH_BUILD", os.path.join(TOP, "build", "bench"))
TOOLS = ("bench-launch", "bench-net-load", "bench-net-serve", "bench-floor-relay", "bench-floor-gate")
ORDINARY = 4242
SERVER, PORT = internet.SERVER4, "9000"
TINYPROXY_PORT, MICROSOCKS_PORT, SOCAT_PORT = "9103", "9104", "9105"
HTTP_PORT, SOCKS_PORT = "3128", "1080"  # of the gate, inside
PAUSE = "35000"  # µs after each launch: what the kernel takes to give a network namespace back
SPARE = 120  # descriptors of the gate that are no connection's

DIRECT = "no relay"
COPY, SPLICE = "bare relay, copying", "bare relay, splicing"
SENDS_HTTP, SENDS_SOCKS = "bare relay that says 200 first", "bare relay that nods at SOCKS first"
OPEN, HTTP, SOCKS = "gate", "gate, as an HTTP proxy", "gate, as a SOCKS proxy"
BARE_OPEN, BARE_HTTP, BARE_SOCKS = ("bare relay in the gate's place", "bare relay in its place that says 200 first",
                                    "bare relay in its place that nods at SOCKS first")
TINYPROXY, MICROSOCKS, SOCAT = "tinyproxy", "microsocks", "socat chain"
OURS, FLOORS, PEERS = (OPEN, HTTP, SOCKS), (COPY, SPLICE), (TINYPROXY, MICROSOCKS, SOCAT)
# a proxy connection exchanges a handshake before the first byte, whatever the relay
GREETING = {OPEN: FLOORS, HTTP: (SENDS_HTTP,), SOCKS: (SENDS_SOCKS,)}
# what a client in a sandbox always needs: its network's rules, and a connect made on its behalf
IN_PLACE = {OPEN: BARE_OPEN, HTTP: BARE_HTTP, SOCKS: BARE_SOCKS}
LOGIN = "bench:secret"


class Often:
    def __init__(self, quick):
        self.quick = quick
        self.rounds, self.tries = (5, 2) if quick else (11, 3)
        self.bytes, self.requests = (64 << 20, 4000) if quick else (128 << 20, 8000)
        self.questions, self.fresh = (400, 200) if quick else (1000, 400)
        self.launches = 20 if quick else 60
        self.held = 10000  # or what may be open at once


class Load:
    """A client that loads one network path; it answers commands with numbers."""

    def __init__(self, place, argv):
        self.child = place.start(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def order(self, words):
        self.child.stdin.write(words.encode() + b"\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.child.args[-1]}: the client ended at: {words}")
        return [float(n) for n in line.split()]


class Place:
    """Both ends of the cable, and the processes started there."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="buckle-bench-")
        self.tools, home = (os.path.join(self.folder, d) for d in ("tools", "home"))
        self.work = os.path.join(home, "work")
        for sub in (self.tools, home, self.work):
            os.mkdir(sub, 0o755)
        for tool in TOOLS:
            shutil.copy(os.path.join(BUILD, "tests", "bench", tool), self.tools)
        shutil.copy(os.path.join(BUILD, "buckle"), self.tools)
        os.chmod(self.folder, 0o755)
        for sub in (home, self.work):
            os.chown(sub, ORDINARY, ORDINARY)
        self.env = {"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8"}
        self.net = internet.Internet(self.folder)
        # thousands of connections to one destination keep their ports busy for a minute
        subprocess.run(["nsenter", "--target", str(self.net.home), "--net", "sh", "-ec",
                        "cd /proc/sys/net/ipv4; echo 20000 65000 >ip_local_port_range; echo 1 >tcp_tw_reuse"],
                       check=True)
        self.net.start([self.tool("bench-net-serve"), SERVER, PORT])
        if not self.net.wait_for(SERVER, int(PORT)):
            raise RuntimeError("the server does not start")

    def tool(self, name):
        return os.path.join(self.tools, name)

    def argv(self, words):
        """As an ordinary user at home."""
        there = f"--wdns={os.getcwd()}"
        return [w if w != there else f"--wdns={self.work}"
                for w in self.net.argv_in(self.net.home, words, ORDINARY)]

    def start(self, words, **how):
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        child = subprocess.Popen(self.argv(words), env=self.env, cwd=self.work, **{**quiet, **how})
        self.net.started.append(child)
        return child

    def boxed(self, words):
        return [self.tool("buckle"), "run", "--allow-net", f"{SERVER}:{PORT}", "--", *words]

    def close(self):
        self.net.end()
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- network paths ----


class Way:
    """One relay: its general client, and its HTTP client if that is another."""

    def __init__(self, plain, http=None):
        self.plain, self.http = plain, http or plain


def relays(place):
    """Starts those that are installed; returns the client arguments for each."""
    found = {DIRECT: ["direct", SERVER, PORT]}
    for name, how, says, way, port in ((COPY, "copy", "none", "direct", "9101"),
                                       (SPLICE, "splice", "none", "direct", "9102"),
                                       (SENDS_HTTP, "copy", "connect", "connect", "9106"),
                                       (SENDS_SOCKS, "copy", "socks", "socks", "9107")):
        place.start([place.tool("bench-floor-relay"), how, says, "127.0.0.1", port, SERVER, PORT])
        found[name] = [way, SERVER, PORT, "127.0.0.1", port]
    for name, maker, way, port in ((TINYPROXY, tinyproxy, "connect", TINYPROXY_PORT),
                                   (MICROSOCKS, microsocks, "socks", MICROSOCKS_PORT),
                                   (SOCAT, socat, "direct", SOCAT_PORT)):
        if not shutil.which(name.split()[0]):
            tap.skip(f"{name.split()[0]} is not installed")
            continue
        maker(place)
        found[name] = [way, SERVER, PORT, "127.0.0.1", port]
    return found


def tinyproxy(place):
    conf = os.path.join(place.folder, "tinyproxy.conf")
    with open(conf, "w", encoding="ascii") as f:
        f.write(f"Port {TINYPROXY_PORT}\nListen 127.0.0.1\nMaxClients 1000\nLogLevel Critical\nTimeout 600\n")
    place.start(["tinyproxy", "-d", "-c", conf])


def microsocks(place):
    place.start(["microsocks", "-i", "127.0.0.1", "-p", MICROSOCKS_PORT], stderr=subprocess.DEVNULL)


def socat(place):
    """Two of them with a Unix socket between, as other tools join a network namespace to the host."""
    path = os.path.join(place.work, "bridge")
    place.start(["socat", f"UNIX-LISTEN:{path},fork,backlog=128", f"TCP:{SERVER}:{PORT}"])
    place.start(["socat", f"TCP-LISTEN:{SOCAT_PORT},bind=127.0.0.1,fork,reuseaddr,backlog=128",
                 f"UNIX-CONNECT:{path}"])


def gate_ways(place):
    load = place.tool("bench-net-load")

    def inside(way, port):
        words = " ".join([load, way, SERVER, PORT, *(["127.0.0.1", port] if port else [])])
        login = "BENCH_LOGIN=buckle:$CLOUDSDK_PROXY_PASSWORD exec " if port else "exec "
        return Load(place, place.boxed(["sh", "-c", login + words]))

    return {OPEN: Way(inside("direct", None)),
            HTTP: Way(inside("connect", HTTP_PORT), inside("absolute", HTTP_PORT)),
            SOCKS: Way(inside("socks", SOCKS_PORT))}


def bare_ways(place):
    """The bare relay in the gate's place, and its clients in place of the gate's."""
    def inside(says, way, port):
        words = [way, SERVER, PORT, *(["127.0.0.1", port] if port else [])]
        login = ["env", f"BENCH_LOGIN={LOGIN}"] if way == "socks" else []
        return Way(Load(place, [*login, place.tool("bench-floor-gate"), place.tool("bench-floor-relay"), says,
                                SERVER, PORT, place.tool("bench-net-load"), *words]))

    return {BARE_OPEN: inside("none", "direct", None), BARE_HTTP: inside("connect", "connect", HTTP_PORT),
            BARE_SOCKS: inside("socks", "socks", SOCKS_PORT)}


def all_ways(place):
    others = relays(place)
    time.sleep(0.5)
    load = place.tool("bench-net-load")
    login = {SENDS_SOCKS: ["env", f"BENCH_LOGIN={LOGIN}"]}
    ways = {name: Way(Load(place, [*login.get(name, []), load, *words])) for name, words in others.items()}
    ways.update(bare_ways(place))
    ways.update(gate_ways(place))
    order = (DIRECT, *FLOORS, SENDS_HTTP, SENDS_SOCKS, *IN_PLACE.values(), *OURS, *PEERS)
    return {name: ways[name] for name in order if name in ways}


# ---- measuring ----

BULK, PAGES, REQUESTS, ROUND, FRESH, LATE = ("bulk", "bulk over HTTP", "requests", "round trip",
                                             "new connection", "new connection, p99")


def best(often, load, words):
    """The best of several tries counts, to exclude other load on this machine."""
    return [min(tried) for tried in zip(*(load.order(words) for _ in range(often.tries)))]


def small_round(way, often):
    """Nanoseconds of each measure."""
    fresh, late = best(often, way.plain, f"fresh {often.fresh}")
    return {REQUESTS: best(often, way.http, f"requests 32 {often.requests}")[0] / often.requests,
            ROUND: best(often, way.plain, f"rounds {often.questions}")[0], FRESH: fresh, LATE: late}


def bulk_round(way, often):
    return {BULK: best(often, way.plain, f"bulk {often.bytes}")[0],
            PAGES: best(often, way.http, f"http {often.bytes}")[0]}


def measure(one_round, ways, often):
    samples = {name: {} for name in ways}
    order = list(ways)
    for i in range(often.rounds + 1):
        for name in order[i % len(order):] + order[:i % len(order)]:
            for measured, ns in one_round(ways[name], often).items():
                if i:  # the first is for caches and neighbours' tables
                    samples[name].setdefault(measured, []).append(ns)
    return {name: {m: Spread(ns) for m, ns in got.items()} for name, got in samples.items()}


def measure_all(often):
    """Restarts everything for each kind: the scheduler places processes when they start."""
    everywhere = os.sched_getaffinity(0)
    got = {}
    for one_round, where in ((small_round, {max(everywhere)}), (bulk_round, everywhere)):
        os.sched_setaffinity(0, where)
        place = Place()
        try:
            for name, measured in measure(one_round, all_ways(place), often).items():
                got.setdefault(name, {}).update(measured)
        finally:
            place.close()
    return got


def rate(spread, amount):
    """Work done per unit of time."""
    return Spread([amount / s for s in spread.samples])


def added(got, name, measured):
    return Spread([a - b for a, b in zip(got[name][measured].samples, got[DIRECT][measured].samples)])


def table(got, often, page):
    rows = []
    for name, of in got.items():
        rows.append([name, rate(of[BULK], 8 * often.bytes).show(digits=1),
                     rate(of[PAGES], 8 * often.bytes).show(digits=1),
                     rate(of[REQUESTS], 1e6).show(digits=1), of[ROUND].show(1000, 1),
                     added(got, name, ROUND).show(1000, 1) if name != DIRECT else "–",
                     of[FRESH].show(1000), of[LATE].show(1000)])
        progress(f"{name}: " + "; ".join(f"{h} {c}" for h, c in zip(HEAD[1:], rows[-1][1:])))
    page.table("Through the gate and through others", HEAD, rows)


HEAD = ["", "bulk, Gbit/s", "bulk over HTTP, Gbit/s", "requests, 1,000/s", "round trip, µs", "added, µs",
        "new connection, µs", "p99, µs"]


def least(got, names, measured):
    return min((got[n][measured] for n in names if n in got), key=lambda s: s.median, default=None)


def judge(got, targets):
    """Times, so that less is better: 0.9 of the floor's rate is 1.11 of its time."""
    for name in OURS:
        for measured, ceiling in ((BULK, 1.8), (PAGES, 1.8), (REQUESTS, 2.5), (ROUND, 2), (FRESH, 4), (LATE, 5)):
            mine, bare = got[name][measured], got[IN_PLACE[name]][measured]
            relay = least(got, GREETING[name] if measured in (FRESH, LATE) else FLOORS, measured)
            targets.judge(f"{measured}, {name}: time × the bare relay", mine.over(relay), 1.11, ceiling,
                          bare.over(relay))
            peers = least(got, PEERS, measured)
            if peers:
                targets.judge(f"{measured}, {name}: time × the best of tinyproxy, microsocks, socat",
                              mine.over(peers), 1, ceiling, bare.over(peers))
        relay = min((added(got, n, ROUND) for n in FLOORS), key=lambda s: s.median)
        targets.judge(f"added to a round trip, {name}: × the bare relay", added(got, name, ROUND).over(relay),
                      1.11, 3, added(got, IN_PLACE[name], ROUND).over(relay))


# ---- many connections ----


def gate_of(load):
    """A sandbox's gate process."""
    found = [p for p in descendants(load.child.pid) if command_name(p) == "buckle-gate"]
    if len(found) != 1:
        raise RuntimeError(f"no gate among {[command_name(p) for p in descendants(load.child.pid)]}")
    return found[0]


def bench_held(place, often, page):
    """Very many open connections, and the memory the gate uses for them."""
    rows = []
    for name, way in gate_ways(place).items():
        load = way.plain
        load.order("rounds 10")  # everything is laid out
        gate = gate_of(load)
        before = memory_of(gate)[0]
        opened = load.order(f"hold {often.held}")[0]
        during = memory_of(gate)[0]
        again = load.order("again")[0]
        load.order("drop")
        time.sleep(1.5)
        after = memory_of(gate)[0]
        tap.ok(opened == again == often.held, f"{name}: {often.held} connections are held, and answer again",
               opened, again)
        tap.ok((during - before) * 1024 <= 4096 * often.held,
               f"{name}: at most 4 KiB for each of them", before, during)
        each = (during - before) * 1024 / often.held
        progress(f"{name}: {opened:.0f} held; gate {before} KiB, {during} KiB with them, {after} KiB after; "
            f"{each:.0f} bytes each")
        rows.append([name, f"{opened:,.0f}", f"{before:,}", f"{during:,}", f"{after:,}", f"{each:,.0f}"])
    page.table("Connections held: the gate's own memory, KiB",
               ["", "answered", "before", "with them", "afterwards", "bytes for each"], rows)


# ---- launching ----


def best_of(samples, tries):
    return Spread([min(samples[i:i + tries]) for i in range(0, len(samples) - tries + 1, tries)])


def bench_launch(place, often, page, targets):
    commands = {"without": [place.tool("buckle"), "run", "--", "/bin/true"], "with": place.boxed(["/bin/true"])}
    words = []
    for argv in commands.values():
        words += ["--", *("---" if w == "--" else w for w in argv)]
    argv = place.argv([place.tool("bench-launch"), str(often.launches), PAUSE, *words])
    done = subprocess.run(argv, env=place.env, cwd=place.work, check=True, timeout=300, stdout=subprocess.PIPE)
    without, having = (best_of([float(n) / 1000 for n in line.split()], often.tries)
                       for line in done.stdout.decode().splitlines())
    more = Spread([a - b for a, b in zip(having.samples, without.samples)])
    page.text(f"A launch of /bin/true takes {without.show()} µs without a network and {having.show()} µs with "
              f"one host allowed, {more.show()} µs more.")
    targets.judge("launch with a host allowed, µs more than without", more, 1000, 5000, digits=0)


# ---- the page ----


def finish(page, targets, often):
    head = Page("network")
    head.text(f"{os.cpu_count()} cores, Linux {platform.release()}, {platform.machine()}"
              + ("; few repetitions (--quick)" if often.quick else "") + ".")
    head.table("Targets of the network", ["", "at most", "measured", "floor here", ""], targets.rows)
    page.lines = head.lines + page.lines
    page.write()


def may_hold(wanted):
    """How many connections one process may relay here: two descriptors each."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = 2 * wanted + SPARE
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, enough), max(hard, enough)))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        progress(f"no more than {hard} files may be open here, so fewer than {wanted} connections are held")
        return min(wanted, (hard - SPARE) // 2)
    return wanted


def go_ahead():
    """Raises the priority, where permitted."""
    try:
        os.nice(-20)
    except OSError:
        progress("with the priority of everybody else")


def main(argv):
    why = internet.missing()
    if why:
        tap.skip(why)
        return tap.done()
    page, targets, often = Page("network"), Targets(), Often("--quick" in argv)
    often.held = may_hold(often.held)
    go_ahead()
    got = measure_all(often)
    table(got, often, page)
    judge(got, targets)
    place = Place()
    try:
        bench_held(place, often, page)
        bench_launch(place, often, page, targets)
    finally:
        place.close()
    if "--write" in argv:
        finish(page, targets, often)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
