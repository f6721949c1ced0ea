#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A thousand denials a second: how soon the page has them, that none is missing in its totals, and what
the server and the page take. And counts elsewhere: `buckle status`, `buckle run --title`.

    e2e-window-load.py          five seconds, read as the page does
    e2e-window-load.py whole    a minute, in Chromium
"""

import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import secluded  # first: it starts the program again
import running
from running import BUCKLE, eventually, for_everybody
from tap import done, skip
from windows import WINDOW, Page, Server, Tmux

PER_SECOND = 1000
MEDIAN_MS = 150
LONG_MS = 50  # the Long Tasks API's limit
SERVER_KIB = 8 << 10
PAGE_BYTES = 24 << 20

# Each name says when it was tried.
STORM = """
import os, sys, time
folder, seconds, rate = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
while not os.path.exists("go"):
    time.sleep(0.02)
began, n = time.time(), 0
while n < seconds * rate:
    while time.time() < began + n / rate:
        time.sleep(0.0005)
    try:
        os.open("%s/t-%d-%d" % (folder, time.time() * 1000, n), os.O_WRONLY | os.O_CREAT)
    except OSError:
        n += 1
print(n, round(time.time() - began, 2), flush=True)
while not os.path.exists("stop"):
    time.sleep(0.05)
"""

# Server-sent events, as a page reads them: when each name arrived, and the last totals.
READER = r"""
import json, re, socket, sys, time
port, folder, cookie, pid, most = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5])
s = socket.create_connection(("127.0.0.1", port))
s.sendall(("GET %sevents HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nCookie: %s\r\n\r\n" % (folder, port, cookie)).encode())
late, text, totals, ends = [], b"", {}, time.time() + most
print("reading", flush=True)
s.settimeout(1)
while time.time() < ends:
    try:
        text += s.recv(1 << 20)
    except TimeoutError:
        continue
    now = time.time() * 1000
    *lines, text = text.split(b"\n")
    for line in lines:
        late += [now - int(t) for t in re.findall(rb"\"path\":\"[^\"]*/t-([0-9]+)-", line)]
        for n in re.findall(rb"\"source\": %d, \"session\": false, \"denied\": ([0-9]+)" % pid, line):
            totals["denied"] = int(n)
print(json.dumps({"late": late, **totals}), flush=True)
"""


def storm(user, folder, outside, seconds):
    user.write(folder + "/storm.py", STORM)
    return user.start([BUCKLE, "run", "--report=none", "--", "python3", "storm.py", outside, str(seconds), str(PER_SECOND)], cwd=folder,
                      stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)


def peak_kib(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1))


def stormed(run):
    """What the storm says at its end."""
    n, took = run.stdout.readline().split()
    return int(n), float(took)


def test_stream(user, t):
    """Five seconds, without a browser."""
    folder, outside, seconds = user.folder(), user.folder("outside"), 5
    server = Server(user, folder)
    server.enter()
    run = storm(user, folder, outside, seconds)
    try:
        eventually(lambda: user.call([BUCKLE, "status", "--json"]).out.count('"pid":%d,' % run.pid))
        reader = user.start(["python3", "-c", READER, str(server.port), server.folder, server.cookie, str(run.pid), str(seconds + 8)],
                            stdout=subprocess.PIPE, text=True)
        reader.stdout.readline()
        time.sleep(0.5)
        user.write(folder + "/go", "")
        n, took = stormed(run)
        got = json.loads(reader.stdout.readline())
        median = statistics.median(got["late"]) if got["late"] else 1e9
        t.equal(got.get("denied"), n, "none of %d denials is missing in the total" % n)
        t.ok(len(got["late"]) > n / 2, "most of them arrive one by one", len(got["late"]), n)
        t.ok(median <= MEDIAN_MS, "the median arrives within %d ms" % MEDIAN_MS, median)
        t.ok(peak_kib(server.child.pid) <= SERVER_KIB, "the server takes no more than 8 MiB", peak_kib(server.child.pid))
        print("= " + "%s: %d denials in %.1f s reach a reader of events in %.0f ms (median), server %.1f MiB"
               % (user.name, n, took, median, peak_kib(server.child.pid) / 1024))
    finally:
        user.write(folder + "/stop", "")
        run.wait(20)
        server.end()


# In the page: when each row was there for the first time. Rows show a name that has the time of the call.
WATCH = """(() => {
  window.late = []; window.frames = []; let last = performance.now();
  const seen = new Set();
  const frame = () => {
    const now = performance.now(), at = Date.now();
    window.frames.push(now - last); last = now;
    for (const p of document.querySelectorAll('#now .row .path')) {
      const m = /t-(\\d+)-(\\d+)$/.exec(p.textContent);
      if (m && !seen.has(m[2])) { seen.add(m[2]); window.late.push(at - Number(m[1])); }
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})()"""
MEDIAN = "(() => { const l = window.late.toSorted((a, b) => a - b); return [l[l.length >> 1] ?? 1e9, l[Math.floor(l.length * 0.99)] ?? 1e9, l.length]; })()"


def test_page(user, t, seconds=int(os.environ.get("LOAD_SECONDS", "60"))):
    """A minute, in Chromium."""
    p = Page(user)
    b = p.browser
    run = storm(user, p.folder, p.outside, seconds)
    try:
        b("size", width=1200, height=2000)
        t.ok(b.sees("[role=treeitem]", "run %d" % run.pid), "the run appears")
        b("eval", code=WATCH)
        user.write(p.folder + "/go", "")
        time.sleep(seconds / 3)
        early = b("memory")
        n, took = stormed(run)
        late = b("memory")
        t.ok(eventually(lambda: p.counts(run.pid) == n, 20), "none of %d denials is missing in the total of the page" % n, p.counts(run.pid))
        median, nearly_all, shown = b("eval", code=MEDIAN)
        t.ok(median <= MEDIAN_MS, "a denied call is visible within %d ms (median of %d)" % (MEDIAN_MS, shown), median)
        t.ok(late <= PAGE_BYTES and late - early < PAGE_BYTES / 3, "the page's memory stays bounded", early, late)
        t.equal(len(p.drawn()), 10000, "and it keeps the last 10,000 denials")
        t.ok(b("count", of="#now .row") < 120, "of which only those in view are elements")
        pid = p.server.child.pid
        t.ok(peak_kib(pid) <= SERVER_KIB, "the server takes no more than 8 MiB", peak_kib(pid))
        b("size", width=1200, height=900)
        scrolled = b("scroll", of="#now .list", steps=200)
        t.ok(scrolled < LONG_MS, "no step of scrolling through them is a long task", scrolled)
        print("= " + "%s: %d denials in %.1f s: visible after %.0f ms (median; 99%%: %.0f ms), page %.1f MiB, server %.1f MiB; "
               "scrolling 10,000 rows: %.1f ms for each step" % (user.name, n, took, median, nearly_all, late / (1 << 20), peak_kib(pid) / 1024, scrolled))
    finally:
        user.write(p.folder + "/stop", "")
        run.wait(20)
        p.end()


def test_status(user, t):
    """`buckle status`: counts, the last denials, and questions that wait."""
    folder, outside = user.folder(), user.folder("outside")

    def status():
        return user.call([BUCKLE, "status"], cwd=folder).out
    run = user.start([BUCKLE, "run", "--report=none", "--", "sh", "-c", "for i in 1 2 3 4 5; do touch '%s/made-'$i; done; sleep 60" % outside],
                     cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    asks = None
    try:
        t.ok(eventually(lambda: "run %d, 5 denied" % run.pid in status()), "counts the denials of a run", status())
        shown = [l for l in status().splitlines() if l.startswith("denied") and outside in l]
        t.equal([l.rsplit("/", 1)[1] for l in shown], ["made-3", "made-4", "made-5"], "and shows the last of them", status())
        one = next(a for a in json.loads(user.call([BUCKLE, "status", "--json"], cwd=folder).out)["active"] if a["pid"] == run.pid)
        t.ok(one["denied"] == 5 and one["last"][-1]["path"] == outside + "/made-5", "also as JSON", one)
        named = "\x1b[31m\u202e"
        bad = user.start([BUCKLE, "run", "--report=none", "--", "sh", "-c", "touch '%s/%s'; sleep 60" % (outside, named)], cwd=folder,
                         stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        t.ok(eventually(lambda: "run %d, 1 denied" % bad.pid in status()), "a hostile name is counted", status())
        t.ok("\x1b" not in status() and "\u202e" not in status(), "and its controls don't reach the terminal")
        bad.kill()
        bad.wait(10)
        asks = Tmux(user, folder)
        asks.keys("%s run --ask -- curl -s -m 30 http://asked.example/" % BUCKLE, "Enter")
        t.ok(eventually(lambda: re.search(r"^waiting +\S*curl asks for asked.example", status(), re.M), 20), "a question that waits is shown", status())

        def answered():
            asks.keys("n")
            return "asked.example" not in status()
        t.ok(eventually(answered), "until it is answered", status())
        nobody = user.start([BUCKLE, "run", "--report=none", "--ask", "--", "sh", "-c",
                             "curl -s -o /dev/null -m 30 -w '%{http_code} ' http://nobody.example/ >said; sleep 60"], cwd=folder,
                            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            t.ok(eventually(lambda: os.path.exists(folder + "/said") and os.path.getsize(folder + "/said")), "one that nobody could answer")
            t.ok(eventually(lambda: "run %d, 1 denied" % nobody.pid in status()), "is denied", status())
            t.ok(eventually(lambda: not re.search(r"^waiting", status(), re.M)), "and doesn't wait", status())
        finally:
            nobody.kill()
            nobody.wait(10)
    finally:
        run.kill()
        run.wait(10)
        if asks:
            asks.end()


def test_title(user, t):
    """`buckle run --title`: the count comes, the old title comes back, and without the option there is none."""
    folder = user.folder()
    m = Tmux(user, folder)

    def title():
        return m.call("display-message", "-p", "#{pane_title}").strip()
    script = "until [ -e %s-go ]; do sleep 0.05; done; for i in 1 2 3; do touch /etc/x; done; until [ -e %s-stop ]; do sleep 0.05; done"
    try:
        m.keys("printf '\\033]2;mine\\007'", "Enter")
        t.ok(eventually(lambda: title() == "mine"), "a title of one's own", title())
        m.keys("%s run --title --report=none -- sh -c '%s'" % (BUCKLE, script % ("a", "a")), "Enter")
        time.sleep(0.5)
        t.equal(title(), "mine", "stays while nothing is denied")
        user.write(folder + "/a-go", "")
        t.ok(eventually(lambda: title() == "buckle: 3 denied"), "then it counts", title())
        user.write(folder + "/a-stop", "")
        t.ok(eventually(lambda: title() == "mine"), "and the old one comes back", title())
        m.keys("%s run --report=none -- sh -c '%s'" % (BUCKLE, script % ("b", "b")), "Enter")
        user.write(folder + "/b-go", "")
        t.ok(m.shows("cannot touch"), "without the option")
        time.sleep(0.5)
        t.equal(title(), "mine", "the title is left alone")
        user.write(folder + "/b-stop", "")
    finally:
        m.end()


def test_size(user, t):
    """Those who never open the page don't pay for it."""
    if user is not running.PEOPLE[0]:
        return
    linked = subprocess.run(["ldd", BUCKLE], capture_output=True, text=True).stdout
    t.ok("libevent" not in linked and "ncurses" not in linked, "buckle loads none of the page's libraries", linked)
    with open(BUCKLE, "rb") as f:
        own = f.read()
    with open(WINDOW, "rb") as f:
        window = f.read()
    for text in (b"EventSource('events')", b"text/event-stream", b"evhttp_", b"terminfo"):
        t.ok(text not in own, "nor has it %s in it" % text.decode())
    t.ok(b"EventSource('events')" in window and b"text/event-stream" in window, "which buckle-window has")


if not os.path.exists(WINDOW):
    skip("libexec/buckle/buckle-window was not built")
elif sys.argv[1:] == ["whole"]:
    for_everybody([test_page])
else:
    for_everybody([test_status, test_title, test_size, test_stream])
sys.exit(done())
