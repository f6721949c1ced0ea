#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle run` under load: no event is lost or invented (counted on both sides), memory does not grow,
nothing hangs, and reaching a limit gives a sane error. Prints TAP.

LOAD=full uses the promised sizes; the default is about a tenth.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import SLOW
from world import World, child_named, ended, escape, people, processes_with, until

FULL = os.environ.get("LOAD") == "full"
SECONDS = 5 if FULL else 2
DENIES = 1_000_000 if FULL else 50_000
PROCESSES = 10_000 if FULL else 1_000
AT_ONCE = 100 if FULL else 40
WAITING = {"opens": 3_000, "same": 3_000, "chain": 3_000 if FULL else 1_000, "connects": 3_000 if FULL else 1_000,
           "sends": 3_000 if FULL else 1_000, "signals": 3_000 if FULL else 1_000}
WAIT_MS = 100 * (5 if SLOW else 1)  # longest wait of others meanwhile
MEMORY_KIB = 4096 * (5 if SLOW else 1)  # private memory of Buckle's processes; sanitizers need more


def reported(done):
    """How many denials the summary counts."""
    found = re.search(r"buckle: ([\d,]+|one|an?) operations? (?:was|were) denied", done.err)
    if not found:
        return 0
    return int(found[1].replace(",", "")) if found[1][0].isdigit() else 1


def own_lines(done):
    return [line for line in done.out.splitlines() if line.startswith("own: ")]


def fine(done):
    """The attacker ended by itself, and all its own work succeeded."""
    own = own_lines(done)
    return done.status == 0 and own and all(line.endswith(": ok") for line in own) and \
        "opened what it may not" not in done.out


def counted(done, word):
    """The attacker's own count."""
    found = re.search(rf"^{word} (\d+)$", done.out, re.M)
    return int(found[1]) if found else None


# ---- memory ----


def private_kib(pid):
    """Private memory of a process."""
    total = 0
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        for line in f:
            if line.startswith(("Private_Clean:", "Private_Dirty:")):
                total += int(line.split()[1])
    return total


def supervisors(pid):
    """The controller and Buckle's other processes."""
    found = {"controller": pid}
    for name in ("buckle-judge", "buckle-sentry", "buckle-init"):
        child = child_named(pid, name)
        if child:
            found[name] = child
    return found


# ---- tests ----


def test_denies(who):
    """Very many denials, and the memory of Buckle's processes meanwhile."""
    world = World(who)
    threads = 16
    each = DENIES // threads
    child = who.start([who.buckle(), "run", "--", *escape("wear-denies", world.inside,
                                                          world.outside, threads, each)],
                      world.inside)
    sizes = []
    end = time.monotonic() + 300
    while child.poll() is None and time.monotonic() < end:
        try:
            sizes.append(sum(private_kib(p) for p in supervisors(child.pid).values()))
        except (OSError, TypeError):
            pass
        time.sleep(0.05)
    if child.poll() is None:
        child.kill()
    done = ended(child, 120)
    tap.ok(fine(done) and counted(done, "answered") == each * threads,
           f"{who.name}: {each * threads} denied calls were answered", done)
    tap.equal(reported(done), each * threads + 1, f"{who.name}: as many were reported")
    early, late = sizes[len(sizes) // 4:len(sizes) // 2], sizes[len(sizes) // 2:]
    tap.ok(len(sizes) > 4 and max(late) <= max(early) + 256,
           f"{who.name}: memory does not grow with them", sizes[:5], sizes[-5:])
    tap.ok(sizes and max(sizes) <= MEMORY_KIB,
           f"{who.name}: the supervisors' own memory stays below {MEMORY_KIB} KiB",
           max(sizes, default=None))


def test_threads(who):
    world = World(who)
    done = who.boxed(escape("wear-work", world.inside, world.outside, 64, SECONDS), world,
                     timeout=SECONDS + 60)
    tap.ok(fine(done), f"{who.name}: 64 threads at full speed", done)
    denied = counted(done, "denied") or 0
    tap.ok(denied >= 64 and reported(done) == denied + 1 and world.intact(),
           f"{who.name}: what they were denied was reported, nothing outside changed", denied, done)


def test_processes(who):
    world = World(who)
    done = who.boxed(escape("wear-processes", world.inside, world.outside, PROCESSES), world,
                     timeout=240)
    tap.ok(fine(done), f"{who.name}: {PROCESSES} short processes", done)
    tap.equal(reported(done), PROCESSES + 1, f"{who.name}: each was denied once, and reported")


def test_at_once(who):
    """Many sandboxes at the same time."""
    world = World(who)
    marker = f"at-once-{who.name}"
    children = []
    for i in range(AT_ONCE):
        script = f"echo {i} > at-once-{i}; echo x > {world.out('victim')}; cat at-once-{i}"
        children.append(who.start([who.buckle(), "run", "--", "sh", "-c", script, marker],
                                  world.inside))
    bad = []
    for i, child in enumerate(children):
        done = ended(child, 120)
        if done.status != 0 or done.out.strip() != str(i) or reported(done) != 1:
            bad.append(f"{i}: {done}")
    tap.ok(not bad, f"{who.name}: {AT_ONCE} sandboxes at once", *bad[:5])
    tap.ok(until(lambda: not processes_with(marker)) and world.intact(),
           f"{who.name}: nothing is left of them")


def denying(who, total):
    """A started command that is denied this often."""
    world = World(who)
    child = who.start([who.buckle(), "run", "--",
                       *escape("wear-denies", world.inside, world.outside, 4, total // 4)],
                      world.inside)
    until(lambda: child_named(child.pid, "buckle-judge"))
    return child


def pause(pid, seconds=0.3):
    """Stops one of Buckle's processes for a while, if it still exists."""
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


def test_slow_supervisor(who):
    """While controller and judge are stopped, the command waits, and nothing is lost."""
    total = 20_000
    for name in ("controller", "buckle-judge"):
        child = denying(who, total)
        for _ in range(3):
            pid = supervisors(child.pid).get(name)
            if child.poll() is None and pid:
                pause(pid)
            time.sleep(0.1)
        done = ended(child, 120)
        tap.ok(fine(done) and reported(done) == total + 1,
               f"{who.name}: a {name} that is stopped now and then loses nothing", reported(done), done)


def test_loaded_machine(who):
    """Every processor has four other processes of the same priority."""
    total = 20_000
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"])
            for _ in range(4 * (os.cpu_count() or 1))]
    try:
        done = ended(denying(who, total), 120)
    finally:
        for one in busy:
            one.kill()
            one.wait()
    tap.ok(fine(done) and reported(done) == total + 1, f"{who.name}: a loaded machine loses nothing",
           reported(done), done)


def test_limits(who):
    """With very low limits, it works or reports why not."""
    world = World(who)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    done = who.boxed(["sh", "-c", "ulimit -n; echo x > made && cat made"], world,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, hard)))
    tap.ok(done.status == 0 and done.out == "16\nx\n",
           f"{who.name}: a command with few descriptors is judged all the same", done)
    limits = {"16 descriptors": (resource.RLIMIT_NOFILE, 16),
              "64 MiB of address space": (resource.RLIMIT_AS, 64 << 20),
              "no core files": (resource.RLIMIT_CORE, 0),
              "files of 4 KiB": (resource.RLIMIT_FSIZE, 4096),
              "stacks of 256 KiB": (resource.RLIMIT_STACK, 256 << 10),
              "no locked memory": (resource.RLIMIT_MEMLOCK, 0),
              "no signals that wait": (resource.RLIMIT_SIGPENDING, 0),
              "no other process": (resource.RLIMIT_NPROC, 1)}
    if SLOW:  # the sanitizers themselves need more
        del limits["64 MiB of address space"], limits["no other process"]
    for name, (which, value) in limits.items():
        world = World(who)
        done = who.boxed(["sh", "-c", "echo x > made && cat made"], world,
                         preexec_fn=lambda: resource.setrlimit(which, (value, value)))
        works = done.status == 0 and done.out == "x\n" and not done.err
        says = done.status == 125 and done.err.startswith("buckle:")
        tap.ok(works or says, f"{who.name}: with {name} it works or says why not", done)


def read_until(child, line):
    """A child's output up to this line, or to its end."""
    reported = []
    while not reported or (reported[-1] and reported[-1] != line + "\n"):
        reported.append(child.stdout.readline().decode(errors="replace"))
    return "".join(reported)


def waits(who, kind, number, most_threads=1):
    world = World(who)
    child = who.start([who.buckle(), "run", "--", *escape("wait-" + kind, world.inside, world.outside,
                                                          number)],
                      world.inside, stdin=subprocess.PIPE)
    timer = threading.Timer(120, child.kill)
    timer.start()
    begun = read_until(child, "waiting")
    timer.cancel()
    what = f"{who.name}: {number} that wait ({kind})"
    if child.poll() is not None or not begun.endswith("waiting\n"):
        tap.ok(False, f"{what}: the judge answers", begun, ended(child))
        return
    found = supervisors(child.pid)
    kib = sum(private_kib(p) for p in found.values())
    threads = len(os.listdir(f"/proc/{found['buckle-judge']}/task"))
    done = ended(child, 120, b"\n")
    done.out = begun + done.out
    slow = counted(done, "slow")
    tap.ok(slow is not None and slow <= WAIT_MS, f"{what}: others are answered within {WAIT_MS} ms", done)
    tap.ok(kib <= MEMORY_KIB and threads <= most_threads,
           f"{what}: threads {most_threads}, memory below {MEMORY_KIB} KiB", kib, threads)
    tap.ok(fine(done) and (counted(done, "came") == number or most_threads > 1) and counted(done, "failed") == 0 and
           counted(done, "other ends that failed") in (0, None) and
           done.lines().get("the chain's ends", "ok") == "ok",
           f"{what}: all come back with what they waited for", done)
    tap.ok(world.intact() and reported(done) == 301, f"{what}: nothing is let through meanwhile", reported(done))


def test_waiting(who):
    """Blocking calls need no thread, delay no other call, and return when they should."""
    for kind, number in WAITING.items():
        waits(who, kind, number)
    waits(who, "carried", 60, 61)  # connected datagram sockets have a thread each, of which there are few


def test_waiting_full(who):
    """More calls than the table or the descriptor limit allows: an error, and everything continues."""
    world = World(who)
    done = who.boxed(escape("wait-full", world.inside, world.outside, 400), world, timeout=120,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
    tap.ok(fine(done) and (counted(done, "refused") or 0) > 100 and (counted(done, "came") or 0) > 50 and
           counted(done, "refused") + counted(done, "came") == 400,
           f"{who.name}: where descriptors run out, those who wait are told", done)
    tap.ok(world.intact(), f"{who.name}: and nothing is let through")


def test_full_disk(who):
    """A full file system of 64 KiB. Needs root to mount it."""
    if os.geteuid() != 0:
        tap.skip("needs root to mount a small file system")
        return
    world = World(who)
    place = world.path("small")
    os.mkdir(place)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], check=True)
    try:
        os.chmod(place, 0o777)
        script = ("dd if=/dev/zero of=big bs=1k count=500 2>/dev/null; echo status $?; "
                  "echo more > more; echo x > ../../un/victim; rm big; "
                  "echo again > again && cat again")
        done = who.run([who.buckle(), "run", "--", "sh", "-c", script], place)
        tap.ok(done.out == "status 1\nagain\n" and reported(done) == 1 and world.intact(),
               f"{who.name}: on a full disk it behaves as without Buckle, and still tells", done)
        sessions = os.path.join(place, "run")
        os.mkdir(sessions, 0o700)
        who.own(sessions)
        with open(os.path.join(place, "big"), "wb") as f:
            try:
                f.write(b"x" * 100_000)
            except OSError:
                pass
        done = who.boxed(["sh", "-c", "echo fine"], world, env={"XDG_RUNTIME_DIR": sessions})
        tap.ok((done.status == 0 and done.out == "fine\n") or
               (done.status == 125 and done.err.startswith("buckle:")),
               f"{who.name}: without room for a session folder it works or says why not", done)
    finally:
        subprocess.run(["umount", "-l", place], check=False)


TESTS = [test_denies, test_threads, test_processes, test_at_once, test_slow_supervisor,
         test_loaded_machine, test_limits, test_waiting, test_waiting_full, test_full_disk]


def main():
    chosen = sys.argv[1:]
    for who in people():
        for test in TESTS:
            if not chosen or test.__name__ in chosen:
                test(who)
    return tap.done()


sys.exit(main())
