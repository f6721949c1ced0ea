#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle top`: its screens in tmux, its keys and what they do, questions, names that would take the
terminal over, a connection by ssh, and what it leaves behind."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import secluded  # first: it starts the program again
import running
from running import BUCKLE, eventually, for_everybody
from tap import done, skip
from windows import WINDOW, Tmux

KEYS_LINE = "q quit"
RED = "\x1b[31m"
DEAF = 0.5  # keys do not count at once when a question has appeared


class Top:
    """A `buckle top` in tmux, beside a run that is denied something over and over."""

    def __init__(self, user, *words, env="", script=None, ask=()):
        self.user, self.folder, self.outside = user, user.folder(), user.folder("outside")
        self.run = user.start([BUCKLE, "run", "--report=none", "--grantable", *ask, "--", "sh", "-c",
                               script or "while [ ! -e stop ]; do touch '%s/made' 2>/dev/null; sleep 0.3; done" % self.outside],
                              cwd=self.folder, stdin=subprocess.DEVNULL)
        self.tmux = Tmux(user, self.folder)
        self.tmux.keys("stty -g > before; %s %s top; echo ended-$?; stty -g > after" % (env, BUCKLE), "Enter")

    def pid(self):
        """Of buckle-window."""
        for p in os.listdir("/proc"):
            try:
                with open("/proc/%s/cmdline" % p, "rb") as f:
                    words = f.read().split(b"\0")
                if words[:3] == [b"buckle-window", b"top", BUCKLE.encode()]:
                    return int(p)
            except OSError:
                continue
        return None

    def restored(self):
        def text(name):
            with open(self.folder + "/" + name) as f:
                return f.read()
        return eventually(lambda: os.path.exists(self.folder + "/after") and text("before") == text("after") != "") and \
            self.tmux.call("display-message", "-p", "#{alternate_on}#{cursor_flag}").strip() == "01"

    def end(self):
        self.user.write(self.folder + "/stop", "")
        self.run.kill()
        self.run.wait(10)
        self.tmux.end()


def test_top(user, t):
    """Screens after each key, and a new size."""
    x = Top(user)
    m, run, made = x.tmux, x.run, x.outside + "/made"
    try:
        t.ok(m.shows(" denied, "), "top starts", m.screen())
        t.ok(m.shows(made), "shows denials", m.screen())
        t.ok(m.shows("run %d" % run.pid), "and the run", m.screen())
        lines = m.screen().splitlines()
        t.ok(lines[0].startswith("buckle top  ") and KEYS_LINE in lines[-1], "totals are on top, keys at the bottom", m.screen())
        m.keys("p")
        t.ok(m.shows("PAUSED"), "p pauses", m.screen())
        time.sleep(0.3)
        count = m.screen().count("made")
        time.sleep(0.9)
        t.equal(m.screen().count("made"), count, "so that nothing is added", m.screen())
        m.keys("p")
        t.ok(eventually(lambda: "PAUSED" not in m.screen() and m.screen().count("made") > count), "and goes on", m.screen())
        m.keys("/")
        t.ok(m.shows("type a filter"), "/ asks for a filter", m.screen())
        m.keys("nomatch", "Enter")
        t.ok(m.shows("filter: nomatch") and eventually(lambda: made not in m.screen()), "which hides the others", m.screen())
        m.keys("/")
        m.keys("Escape")
        t.ok(m.shows(made) and "filter:" not in m.screen(), "Escape shows all again", m.screen())
        m.keys("/")
        m.keys("outside-%s" % x.outside.rsplit("-", 1)[1], "Enter")
        t.ok(m.shows("filter: outside"), "a filter on this test's folder", m.screen())
        m.keys("p")
        m.shows("PAUSED")
        newest = chosen(m)
        m.keys("Up")
        t.ok(eventually(lambda: chosen(m) and chosen(m) != newest), "Up chooses an older one", chosen(m), newest)
        older = chosen(m)
        m.keys("p")
        time.sleep(0.8)
        t.equal(chosen(m), older, "which stays chosen while others come", m.screen())
        m.keys("Down")
        t.ok(eventually(lambda: chosen(m) and chosen(m) != older), "Down a newer one")
        m.keys("e")
        t.ok(m.shows("any key: back") and "Decided by" in m.screen() and "deny file-write-create" in m.screen(), "e explains", m.screen())
        m.keys("x")
        t.ok(m.shows(made), "and any key leads back", m.screen())
        m.keys("h")
        # other runs of this user may have been denied some
        t.ok(eventually(lambda: re.search(r"No host was denied\.|^ +\d+  \S", m.screen(), re.M) and ") deny(" not in m.screen()), "h shows hosts", m.screen())
        m.keys("h")
        for columns, rows in ((60, 20), (30, 8), (200, 50), (100, 30)):
            m.call("resize-window", "-x", str(columns), "-y", str(rows))
            t.ok(eventually(lambda: len(m.screen().splitlines()) == rows and m.screen().startswith("buckle top") and
                            max(map(len, m.screen().splitlines())) <= columns and "quit" in m.screen().splitlines()[-1]),
                 "it takes the size %d×%d" % (columns, rows), m.screen())
        m.keys("t")
        t.ok(eventually(lambda: os.path.exists(made)), "t allows it for a minute", m.screen())
        run.kill()
        t.ok(eventually(lambda: "run %d" % run.pid not in m.screen()), "a killed run disappears", m.screen())
        t.ok(made in m.screen(), "and its denials stay", m.screen())
        m.keys("d")
        t.ok(eventually(lambda: made in user.call([BUCKLE, "settings"], cwd=x.folder).out), "d denies it for good", m.screen())
        m.keys("q")
        t.ok(m.shows("ended-0"), "q ends it", m.screen())
        t.ok(x.restored(), "and the terminal is as before")
    finally:
        user.call([BUCKLE, "undo"], cwd=x.folder)
        x.end()


def chosen(m):
    """The line in reverse video, without the first."""
    lines = m.call("capture-pane", "-p", "-e").splitlines()[1:]
    return "".join(re.sub(r"\x1b\[[0-9;]*m", "", l) for l in lines if re.search(r"\x1b\[(?:[0-9]+;)*7(?:;[0-9]+)*m", l)).strip()


def test_top_allows(user, t):
    """The keys that change what a run may do."""
    x = Top(user)
    made = x.outside + "/made"
    try:
        t.ok(x.tmux.shows(made), "a denial is there", x.tmux.screen())
        x.tmux.keys("/")
        x.tmux.keys("outside-%s" % x.outside.rsplit("-", 1)[1], "Enter")
        x.tmux.keys("a")
        t.ok(eventually(lambda: os.path.exists(made)), "a allows it for the run", x.tmux.screen())
        t.ok(made not in user.call([BUCKLE, "settings"], cwd=x.folder).out, "and for no other")
        x.tmux.keys("A")
        t.ok(eventually(lambda: made in user.call([BUCKLE, "settings"], cwd=x.folder).out), "A for good", x.tmux.screen())
        user.call([BUCKLE, "undo"], cwd=x.folder)
    finally:
        x.end()


def test_top_protected(user, t):
    """A protected name is allowed by its class; what only settings can allow says so."""
    x = Top(user, script="mkdir -p .git/hooks; while [ ! -e stop ]; do touch .git/hooks/made 2>/dev/null; sleep 0.3; done")
    try:
        t.ok(x.tmux.shows(".git/hooks/made"), "a denial is there", x.tmux.screen())
        x.tmux.keys("/")
        x.tmux.keys(os.path.basename(x.folder) + "/.git", "Enter")
        t.ok(x.tmux.shows("filter: "), "and chosen", x.tmux.screen())
        x.tmux.keys("a")
        t.ok(eventually(lambda: os.path.exists(x.folder + "/.git/hooks/made")), "a allows its class", x.tmux.screen())
    finally:
        x.end()
    x = Top(user, script="exec python3 -c 'import os, time\nwhile not os.path.exists(\"stop\"):\n"
                         " try: os.mknod(\"d\", 0o20600, os.makedev(1, 3))\n except OSError: pass\n time.sleep(0.3)'")
    try:
        if t.ok(x.tmux.shows("mknod"), "a device file is denied", x.tmux.screen()):
            x.tmux.keys("/")
            x.tmux.keys("mknod", "Enter", "a")
            t.ok(x.tmux.shows("only files and hosts"), "which no grant allows", x.tmux.screen())
    finally:
        x.end()


def test_top_hosts(user, t):
    """Hosts, questions and colours."""
    script = "while [ ! -e stop ]; do curl -s -m 2 http://denied.example/ >/dev/null; sleep 0.5; done"
    x = Top(user, script=script)
    try:
        t.ok(x.tmux.shows("network-outbound denied.example"), "a denied host is shown", x.tmux.screen())
        t.ok(eventually(lambda: RED in x.tmux.call("capture-pane", "-p", "-e")), "in red",
             x.tmux.call("capture-pane", "-p", "-e"))
        x.tmux.keys("h")
        t.ok(eventually(lambda: re.search(r"^ +\d+  denied\.example", x.tmux.screen(), re.M)), "h counts it", x.tmux.screen())
    finally:
        x.end()
    script = "until [ -e go ]; do sleep 0.1; done; curl -s -o /dev/null -m 20 http://asked.example/; touch done"
    x = Top(user, env="NO_COLOR=1", script=script, ask=["--ask"])
    try:
        x.tmux.shows("run %d" % x.run.pid)
        user.write(x.folder + "/go", "")
        t.ok(x.tmux.shows("wants to connect to asked.example"), "a question is shown", x.tmux.screen())
        t.ok("o once" in x.tmux.screen(), "with its keys", x.tmux.screen())
        t.ok(RED not in x.tmux.call("capture-pane", "-p", "-e"), "NO_COLOR is obeyed")
        time.sleep(DEAF)
        x.tmux.keys("n")
        t.ok(x.tmux.shows("answered: deny") and eventually(lambda: os.path.exists(x.folder + "/done")), "n answers it", x.tmux.screen())
    finally:
        x.end()


def test_top_ends(user, t):
    """Whatever ends it restores the terminal."""
    for name in ("TERM", "HUP", "INT", "QUIT"):
        x = Top(user)
        try:
            t.ok(x.tmux.shows(" denied, "), "top starts", x.tmux.screen())
            os.kill(x.pid(), getattr(signal, "SIG" + name))
            t.ok(x.tmux.shows("ended-0"), "SIG%s ends it" % name, x.tmux.screen())
            t.ok(x.restored(), "and the terminal is as before")
        finally:
            x.end()
    ran = user.call([BUCKLE, "top"])
    t.ok(ran.status == 2 and "terminal" in ran.err, "without a terminal it says so", ran)


# Denials at an even rate, and how many there were.
EVEN = """exec python3 -c 'import os, time
n, began = 0, time.time()
while not os.path.exists("stop-denials"):
    try:
        os.open("%s/made", os.O_WRONLY | os.O_CREAT)
    except OSError:
        n += 1
    time.sleep(max(0, began + n / 40 - time.time()))
with open("said.part", "w") as f:
    f.write("%%d" %% n)
os.rename("said.part", "said")
time.sleep(60)'"""
TOTALS = re.compile(r"buckle top  (\d+) denied, (\d+)/s")


def test_totals(user, t):
    """The head counts what was denied, and how much of it in a second. Other tests' runs of the user count, too."""
    outside = user.folder("outside")
    x = Top(user, script=EVEN % outside)
    m = x.tmux

    def head():
        return [int(n) for n in TOTALS.search(m.screen()).groups()]
    try:
        t.ok(m.shows("run %d" % x.run.pid) and m.shows(outside + "/made"), "denials come", m.screen())
        time.sleep(2)
        first, began = head()[0], time.monotonic()
        time.sleep(9.5)  # the mean is that of ten seconds
        last, shown = head()
        real = (last - first) / (time.monotonic() - began)
        t.ok(real > 20 and real * 0.7 <= shown <= real * 1.3, "those of a second are %.0f, give or take 30 %%" % real, shown)
        user.write(x.folder + "/stop-denials", "")
        eventually(lambda: os.path.exists(x.folder + "/said"))
        with open(x.folder + "/said", encoding="ascii") as f:
            n = int(f.read())
        t.ok(eventually(lambda: "run %d  %d denied" % (x.run.pid, n) in m.screen()) and head()[0] >= n, "all %d of the run are counted" % n, m.screen())
        m.keys("q")
        m.shows("ended-0")
        m.keys("clear; %s top" % BUCKLE, "Enter")
        m.shows("run %d  %d denied" % (x.run.pid, n))
        heads = [head()]
        for _ in range(20):
            heads.append(head())
            time.sleep(0.1)
        t.ok(max(rate for _, rate in heads) <= heads[-1][0] - heads[0][0] + 5, "what was denied before it started is in the total alone", heads)
    finally:
        x.end()


def test_letters(user, t):
    """k and j choose like the arrows."""
    x = Top(user)
    m = x.tmux
    try:
        m.keys("/")
        m.keys(os.path.basename(x.outside), "Enter")
        t.ok(eventually(lambda: m.screen().count("/made") > 3), "denials are there", m.screen())
        m.keys("p")
        m.shows("PAUSED")
        t.ok(eventually(lambda: row_of_chosen(m) > 0), "one is chosen", m.screen())
        rows = []
        for key in ("Up", "Down", "k", "k", "j", "j"):
            rows.append(moved_by(m, key))
        t.equal(rows[2:4] + rows[4:], [rows[0]] * 2 + [rows[1]] * 2, "k goes to older ones and j to newer ones, as the arrows do")
        t.ok(rows[0] < 0 < rows[1], "that is up and down", rows, m.screen())
    finally:
        x.end()


def row_of_chosen(m):
    lines = m.call("capture-pane", "-p", "-e").splitlines()
    return next((i for i, l in enumerate(lines) if i and re.search(r"\x1b\[(?:[0-9]+;)*7(?:;[0-9]+)*m", l)), -1)


def moved_by(m, key):
    """How many rows down. While the screen is drawn, none may be chosen for a moment."""
    before = row_of_chosen(m)
    m.keys(key)
    eventually(lambda: row_of_chosen(m) not in (before, -1), 3)
    return row_of_chosen(m) - before


# ---- questions ----

# Each host in a process of its own: what the proxy said, once for each request.
ASKS = """
ask() { for i in $2; do curl -s -o /dev/null -m 60 -w '%%{http_code}\\n' http://$1/ >>said-$1; done; }
until [ -e go ]; do sleep 0.1; done
for h in %s; do ask $h "%s" & done; wait; touch done; while [ ! -e stop ]; do sleep 0.1; done
"""
ASKED = re.compile(r"wants to connect to (\w+\.example)(?::80)?")
REFUSED, NO_HOST = "403", "502"


class Asking(Top):
    """A `buckle top` beside a run that asks for hosts at the same time, so often each."""

    def __init__(self, user, hosts, times="1"):
        super().__init__(user, script=ASKS % (" ".join(hosts), times), ask=["--ask", "--ask-timeout", "60"])
        self.hosts = hosts
        self.tmux.shows("run %d" % self.run.pid)

    def go(self):
        self.user.write(self.folder + "/go", "")

    def asked(self):
        """The host that the screen asks about, if it is one of ours."""
        found = ASKED.search(self.tmux.screen())
        return found and found.group(1) in self.hosts and found.group(1)

    def said(self, host):
        try:
            with open(self.folder + "/said-" + host) as f:
                return f.read().split()
        except OSError:
            return []

    def answer(self, key):
        """Types a key a moment after the question has appeared. Returns the host."""
        host = eventually(self.asked) and self.asked()
        time.sleep(DEAF)
        self.tmux.keys(key)
        return host


def test_several(user, t):
    """Questions that come together are asked one after the other, and each answer goes to its own."""
    x = Asking(user, ["one.example", "two.example", "three.example"])
    try:
        x.go()
        t.ok(x.tmux.shows("(2 more wait)"), "of three questions one is shown, and how many wait", x.tmux.screen())
        first = x.answer("n")
        t.ok(x.tmux.shows("(1 more waits)") and x.asked() != first, "an answer leads to the next", x.tmux.screen())
        second = x.answer("o")
        t.ok(eventually(lambda: x.asked() not in (first, second)) and "more wait" not in x.tmux.screen(), "and the next", x.tmux.screen())
        third = x.answer("n")
        t.equal(sorted(map(str, (first, second, third))), sorted(x.hosts), "each host is asked about once")
        t.ok(eventually(lambda: os.path.exists(x.folder + "/done")), "and all have their answers", x.tmux.screen())
        t.equal([x.said(h) for h in (first, second, third)], [[REFUSED], [NO_HOST], [REFUSED]], "which are those that were typed")
        t.ok(KEYS_LINE in x.tmux.screen(), "then the keys are back", x.tmux.screen())
    finally:
        x.end()
    x = Asking(user, ["one.example", "two.example"])
    try:
        x.go()
        x.tmux.shows("(1 more waits)")
        time.sleep(0.5)
        x.tmux.keys("n", "n")
        time.sleep(0.5)
        t.ok(x.asked() and sum(map(len, map(x.said, x.hosts))) == 1, "a key that was typed twice answers one question", x.tmux.screen())
        x.run.kill()
        t.ok(eventually(lambda: not x.asked()), "a question of a run that has ended is not asked any more", x.tmux.screen())
    finally:
        x.end()


def test_answers(user, t):
    """o, r and w by what they do: for one request, for all of this run, and for good."""
    def settings():
        return user.call([BUCKLE, "settings"], cwd=x.folder).out
    x = Asking(user, ["once.example"], "1 2")
    try:
        x.go()
        t.equal(x.answer("o"), "once.example", "a question")
        t.ok(eventually(lambda: x.said("once.example") == [NO_HOST]), "o lets one request through", x.said("once.example"))
        t.equal(x.answer("n"), "once.example", "and the next one is asked about again")
        t.ok(eventually(lambda: x.said("once.example") == [NO_HOST, REFUSED]), "which n refuses", x.said("once.example"))
    finally:
        x.end()
    x = Asking(user, ["run.example"], "1 2 3")
    try:
        x.go()
        x.answer("r")
        t.ok(eventually(lambda: x.said("run.example") == [NO_HOST] * 3), "r lets all requests of this run through", x.said("run.example"))
        t.ok("run.example" not in settings(), "and is not written down")
    finally:
        x.end()
    x = Asking(user, ["always.example"], "1 2")
    try:
        x.go()
        x.answer("w")
        t.ok(eventually(lambda: x.said("always.example") == [NO_HOST] * 2), "w lets them through", x.said("always.example"))
        t.ok(eventually(lambda: "always.example" in settings()), "and writes the host into the user's settings", settings())
    finally:
        user.call([BUCKLE, "settings", "remove", "network.allowedDomains"], cwd=x.folder)
        x.end()


# ---- names ----

LONG = "l" * 200
# a title, colours, a cursor that moves, the 8-bit forms of these, direction marks, a line of its own
NAMES = ("\x1b]2;owned\x07", "\x1b[2J\x1b[31mred", "\x9b31mred", "\x1b[1;1Hmoved", "\u202egpj.exe", "\u2066isolate", "a\nbuckle top  0 denied",
         "\x0fshift", "\x84\x85next", "wide-\u4e2d\u6587" * 12)
HOSTILE = """
import os, sys, time
top = sys.argv[1]
names = [bytes.fromhex(n) for n in sys.argv[2:]]
deep = "/".join([top] + ["%s"] * 19)
while not os.path.exists("stop"):
    for name in [os.fsencode(top) + b"/" + n for n in names] + [os.fsencode(deep) + b"/the-end"]:
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT))
        except OSError:
            pass
    time.sleep(0.5)
""" % LONG


def test_names(user, t):
    """Names that commands chose neither reach the terminal as controls nor spoil the screen."""
    x = Top(user, script="while [ ! -e start ]; do sleep 0.1; done; exec python3 hostile.py \"$(cat outside)\" $(cat names)")
    m = x.tmux
    try:
        user.sh("mkdir -p '%s'" % "/".join([x.outside] + [LONG] * 19))
        user.write(x.folder + "/hostile.py", HOSTILE)
        user.write(x.folder + "/outside", x.outside)
        # each in UTF-8, and what of them has 8 bits as one byte, too
        forms = [n.encode() for n in NAMES] + [n.encode("latin-1") for n in NAMES if max(map(ord, n)) < 256]
        user.write(x.folder + "/names", " ".join(f.hex() for f in forms))
        m.call("pipe-pane", "-o", "cat >> '%s/raw'" % x.folder)
        m.call("select-pane", "-T", "mine")
        m.call("resize-window", "-x", "160", "-y", "45")
        m.shows("run %d" % x.run.pid)
        m.keys("/")
        m.keys(os.path.basename(x.outside), "Enter")
        user.write(x.folder + "/start", "")
        t.ok(m.shows("the-end"), "the end of a name of 4,000 bytes is shown", m.screen())
        for shown in ("\\x1b]2;owned\\x07", "\\x1b[2J\\x1b[31mred", "\\xc2\\x9b31mred", "\\x9b31mred", "\\xe2\\x80\\xaegpj.exe",
                      "a\\x0abuckle top", "\u4e2d\u6587"):
            t.ok(m.shows(shown, 5), "%s is shown so" % ascii(shown), m.screen())
        m.keys("p")
        m.shows("PAUSED")
        for columns, rows in ((160, 45), (80, 24), (40, 12)):
            m.call("resize-window", "-x", str(columns), "-y", str(rows))

            def whole():
                lines = m.screen().splitlines()
                return len(lines) == rows and lines[0].startswith("buckle top  ") and lines[-1].startswith(KEYS_LINE) and \
                    sum(l.startswith("buckle top") for l in lines) == 1
            t.ok(eventually(whole), "each is one line at most of %d columns, and the rest of the screen is whole" % columns, m.screen())
        m.keys("e")
        t.ok(m.shows("any key: back"), "one of them is explained", m.screen())
        m.keys("x")
        m.call("resize-window", "-x", "100", "-y", "30")
        m.keys("p")
        time.sleep(1)
        with open(x.folder + "/raw", "rb") as f:
            raw = f.read()
        t.ok(len(raw) > 1000, "the terminal's input was kept", len(raw))
        for bad in (b"\x1b]2;", b"owned\x07", b"\x1b[31mred", "\x9b".encode(), "\u202e".encode(), "\u2066".encode(), b"\x0fshift", "\x85".encode()):
            t.ok(bad not in raw, "%r never reaches the terminal" % bad)
        t.equal(m.call("display-message", "-p", "#{pane_title}").strip(), "mine", "nor is its title another")
    finally:
        x.end()
    command = "echo '\x1b]2;owned\x07\u202e' >/dev/null; exec sleep 30"
    x = Top(user, script=command)
    try:
        t.ok(eventually(lambda: re.search(r"run %d .*\\x1b\]2;owned\\x07" % x.run.pid, x.tmux.screen())), "nor do those of a command in the tree",
             x.tmux.screen())
    finally:
        x.end()


# ---- by ssh ----

SSHD = """
ListenAddress 127.0.0.1
Port %(port)d
HostKey %(top)s/host
PidFile none
AuthorizedKeysFile %(top)s/own.pub
StrictModes no
PermitRootLogin yes
UsePAM no
PasswordAuthentication no
"""


def test_ssh(user, t):
    """In a terminal that sshd made, and when the connection breaks."""
    if user is not running.PEOPLE[0]:
        return  # sshd lets those in who have a name
    sshd = shutil.which("sshd", path=running.PATH)
    if not sshd:
        skip("sshd is not installed")
        return
    x = Top(user)
    m, top, port = x.tmux, user.folder("ssh"), free_port()
    user.sh("ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f own", cwd=top)
    user.write(top + "/config", SSHD % {"port": port, "top": top})
    if user.uid == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    server = user.start([sshd, "-D", "-e", "-f", top + "/config"], stderr=subprocess.DEVNULL)
    try:
        m.shows(" denied, ")
        m.keys("q")
        m.shows("ended-0")
        user.write(x.folder + "/over", "exec ssh -tt -F none -i %s/own -p %d -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
                   "127.0.0.1 'TERM=screen LC_ALL=C.UTF-8 exec %s top'\n" % (top, port, BUCKLE))
        m.keys("clear; stty -g > before; rm -f after; sh over; echo ended-by-ssh-$?; stty -g > after", "Enter")
        t.ok(m.shows("run %d" % x.run.pid) and m.shows(x.outside + "/made"), "top shows runs and denials in a terminal of sshd", m.screen())
        m.call("resize-window", "-x", "70", "-y", "20")
        t.ok(eventually(lambda: len(m.screen().splitlines()) == 20 and "quit" in m.screen().splitlines()[-1] and
                        max(map(len, m.screen().splitlines())) <= 70), "takes its new size", m.screen())
        m.keys("/")
        m.keys(os.path.basename(x.outside), "Enter")
        m.shows("filter: ")
        m.keys("t")
        t.ok(eventually(lambda: os.path.exists(x.outside + "/made")), "and its keys", m.screen())
        m.keys("q")
        t.ok(m.shows("ended-by-ssh-0") and x.restored(), "q ends it, and the terminal is as before", m.screen())
        m.keys("clear; sh over; echo broken-$?", "Enter")
        m.shows(" denied, ")
        there = tops()
        t.ok(there, "it runs again", m.screen())
        for pid in pids_of(b"ssh\0-tt\0"):
            os.kill(pid, signal.SIGKILL)
        t.ok(eventually(lambda: not set(there) & set(tops())), "when the connection breaks, it ends", tops())
    finally:
        server.terminate()
        server.wait(10)
        x.end()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def pids_of(begins):
    found = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % p, "rb") as f:
                line = f.read()
        except OSError:
            continue
        if line.startswith(begins) and os.fsencode(running.drive.FOLDER) in line:
            found.append(int(p))
    return found


def tops():
    return pids_of(b"buckle-window\0top\0")


def only(tests):
    """Those named by the environment, to try one."""
    return [one for one in tests if one.__name__ in os.environ["ONLY"].split()] if "ONLY" in os.environ else tests


if not os.path.exists(WINDOW):
    skip("libexec/buckle/buckle-window was not built")
else:
    for_everybody(only([test_top, test_totals, test_letters, test_top_allows, test_top_protected, test_top_hosts, test_several, test_answers, test_names,
                        test_ssh, test_top_ends]))
sys.exit(done())
