#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buckle run --ask: asks on the terminal (tmux) about hosts that no rule names, in a small internet.
Prints TAP."""

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import internet
import tap
from drive import FOLDER
from internet import OTHER4, SERVER4, SERVER6
from running import SLOW, eventually
from world import World, people

PATIENCE = 30 if SLOW else 10

PROFILE = """(version 1)
(import "default.sb")
(allow network-outbound (domain "allowed.test"))
(deny network-outbound (domain "never.test") (domain "half.test:443"))
"""

QUESTION = r"wants to connect to {}:80\nbuckle: allow \[o\]nce, for this \[r\]un, \[d\]eny, \[n\]o to all\? *\Z"
DIRECT = "unset $(env | grep -i proxy | cut -d= -f1);"
CURL = "curl -fsS -m 20 "


def serve_http(net):
    """Serves a greeting at every address, and records the requested hosts."""
    def one(client):
        data = b""
        while b"\r\n\r\n" not in data:
            more = client.recv(4096)
            if not more:
                return client.close()
            data += more
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\nhello there\n")
        client.close()

    def serve(listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(client,), daemon=True).start()

    def echo(s):
        while True:
            data, who = s.recvfrom(2048)
            s.sendto(b"got " + data, who)

    for address in (SERVER4, SERVER6, OTHER4, internet.OTHER6):
        threading.Thread(target=serve, args=(net.listen(address, 80),), daemon=True).start()
        threading.Thread(target=echo, args=(net.listen(address, 9999, socket.SOCK_DGRAM),), daemon=True).start()


class Terminal:
    """A tmux server in the machine at home, with one window and a shell in it."""

    def __init__(self, net, who):
        self.net, self.who = net, who
        self.world = World(who)
        self.policy = self.world.profile(PROFILE)
        self.sockets = os.path.join(self.world.top, "tmux")
        os.mkdir(self.sockets, 0o700)
        who.own(self.sockets)
        self.asked_before = len(net.asked)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "40",
                  "env PS1='out> ' /bin/bash --norc --noprofile -i")
        self.rests("out>")

    def tmux(self, *words):
        argv = self.net.argv_in(self.net.home, ["tmux", "-L", "ask", *words], self.who.uid)
        argv = [a.replace(f"--wdns={os.getcwd()}", f"--wdns={self.world.inside}") for a in argv]
        done = subprocess.run(argv, env=dict(self.who.env, TMUX_TMPDIR=self.sockets, TERM="xterm"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        return done.stdout.decode(errors="replace")

    def type(self, text):
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", "Enter")

    def key(self, *names):
        self.tmux("send-keys", *names)

    def screen(self):
        return self.tmux("capture-pane", "-p", "-J").rstrip("\n")

    def shows(self, pattern):
        return eventually(lambda: re.search(pattern, self.screen(), re.M), PATIENCE)

    def asks(self, host):
        """Whether the screen ends in a question about it. The prompt accepts input a moment later."""
        found = self.shows(QUESTION.format(re.escape(host)))
        time.sleep(0.4)
        return found

    def rests(self, prompt):
        return eventually(lambda: re.search(rf"^{prompt} *\Z", self.screen(), re.M), PATIENCE)

    def run(self, script, *options):
        """Starts a script in a sandbox, from a file to avoid quoting."""
        path = self.world.path("script")
        with open(path, "w", encoding="utf-8") as f:
            f.write(script)
        self.tmux("clear-history")
        self.type(f"clear; {self.who.buckle()} run --ask --profile {self.policy} {' '.join(options)} "
                  "-- sh ./script")

    def read(self, name):
        try:
            with open(self.world.path(name), encoding="utf-8") as f:
                return f.read()
        except OSError:
            return ""

    def close(self):
        self.tmux("kill-server")


def with_terminal(test):
    def run(net, who):
        x = Terminal(net, who)
        try:
            test(x, lambda ok, what, *more: tap.ok(ok, f"{who.name}: {what}", *more))
        finally:
            x.close()
    run.__name__ = test.__name__
    return run


@with_terminal
def test_answers(x, t):
    for way, words in (("", "through the proxy"), (DIRECT, "without a proxy")):
        x.run(f"{way} {CURL} http://denied.test/hello; {CURL} http://denied.test/hello; echo ended")
        t(x.asks("denied.test"), f"a host that no rule names is asked about, {words}", x.screen())
        t("curl" in x.screen().split("wants to")[0].splitlines()[-1], "with the program", x.screen())
        t(not any("denied" in n for n in x.net.asked[x.asked_before:]), "nobody was told of it before",
          x.net.asked[x.asked_before:])
        x.key("o")
        t(x.shows(r"once\nhello there\n"), "o lets it through", x.screen())
        t(x.asks("denied.test"), "once", x.screen())
        x.key("o")
        t(x.shows(r"hello there\n(.*\n)*ended"), "and once more", x.screen())
        x.rests("out>")
        x.asked_before = len(x.net.asked)
    before = x.screen()
    t("operation was denied" not in before, "nothing was denied", before)
    x.run(f"{CURL} http://denied.test/; {CURL} http://denied.test/; {DIRECT} {CURL} http://denied.test/")
    x.asks("denied.test")
    x.key("r")
    t(x.rests("out>") and x.screen().count("hello there") == 3, "r lets it through from then on", x.screen())
    x.run(f"{CURL} http://denied.test/; {CURL} http://denied.test/; {DIRECT} {CURL} http://four.test/")
    x.asks("denied.test")
    x.key("d")
    t(x.asks("four.test"), "d denies one host and not the next", x.screen())
    x.key("d")
    t(x.rests("out>") and "hello" not in x.screen() and "denied.test:80 (the user denied it)" in x.screen() and
      "four.test:80 (the user denied it)" in x.screen(), "and the summary says so", x.screen())
    x.run(f"{CURL} http://denied.test/; {CURL} http://four.test/; {CURL} http://allowed.test/")
    x.asks("denied.test")
    x.key("n")
    t(x.rests("out>") and x.screen().count("wants to") == 1 and x.screen().count("hello there") == 1,
      "n asks no more, and what rules allow still works", x.screen())


@with_terminal
def test_not_asked(x, t):
    x.run(f"{DIRECT} {CURL} http://never.test/; {CURL} http://allowed.test/; {CURL} http://127.0.0.1:22/; "
          f"{CURL} http://169.254.169.254/; echo ended")
    t(x.rests("out>") and x.shows("^hello there\n") and "wants to" not in x.screen() and
      "never.test" in x.screen().split("was denied")[-1], "what rules decide, and special places, are not asked about",
      x.screen())
    x.run(f"{CURL} -x $HTTP_PROXY -p http://127.0.0.1:22/; {DIRECT} {CURL} https://half.test/; "
          f"{CURL} http://half.test/", "--ask-timeout", "1")
    t(x.shows("wants to connect to half.test:80"), "a host of which one port is denied", x.screen())
    t(x.rests("out>") and "half.test:80 (no answer in time)" in x.screen() and
      x.screen().count("wants to") == 1, "a question has its time", x.screen())


@with_terminal
def test_several(x, t):
    x.run("""python3 - <<'E'
import base64, os, socket
login = os.environ["HTTP_PROXY"].split("//")[1].split("@")[0]
ask = b"GET http://denied.test/ HTTP/1.1\\r\\nHost: denied.test\\r\\nProxy-Authorization: Basic "
ask += base64.b64encode(login.encode()) + b"\\r\\n\\r\\n"
held = [socket.create_connection(("127.0.0.1", 3128)) for _ in range(3)]
for s in held:
    s.sendall(ask)
for s in held:
    print(s.makefile("rb").read().decode().splitlines()[-1])
E""")
    x.asks("denied.test")
    x.key("o")
    t(x.rests("out>") and x.screen().count("wants to") == 1 and x.screen().count("hello there") == 3,
      "who wants the same waits for the same answer", x.screen())
    x.run(f"{DIRECT}\nfor h in denied.test four.test; do {CURL} http://$h/ & done; wait; echo ended")
    x.shows("wants to")
    time.sleep(1)
    x.key("o")
    t(x.shows("(?s)wants to.*wants to"), "who wants something else is asked about next", x.screen())
    time.sleep(0.4)
    x.key("o")
    t(x.rests("out>") and x.screen().count("hello there") == 2, "both get through", x.screen())
    x.run(f"stty -g > before; {CURL} http://denied.test/", "--timeout", "1")
    x.asks("denied.test")
    t(x.rests("out>") and "no longer needed\n" in x.screen(), "a question ends with its command", x.screen())
    x.type("stty -g > after")
    x.rests("out>")
    t(eventually(lambda: x.read("before") == x.read("after") != ""), "and leaves the terminal as it was",
      x.read("before"), x.read("after"))


@with_terminal
def test_terminal(x, t):
    x.run(f"stty -g > before; sleep 1; {CURL} http://denied.test/; stty -g > after")
    time.sleep(0.6)
    x.key("o", "r", "o", "r")
    x.asks("denied.test")
    time.sleep(0.5)
    t("once" not in x.screen().split("wants to")[-1].replace("[o]nce", ""), "what was typed ahead is no answer",
      x.screen())
    x.key("x")
    x.key("o")
    t(x.rests("out>") and "hello there" in x.screen(), "other keys mean nothing", x.screen())
    t(x.read("before") == x.read("after") != "", "the terminal is as it was")
    x.run(f"trap '' TTOU TTIN TSTP; (while :; do printf '\\rbuckle: /usr/bin/git wants to connect to good.test:80' >/dev/tty; done) & "
          f"one=$!; dd if=/dev/tty of=got bs=1 & {CURL} http://denied.test/; kill $one $!; "
          "sleep 0.2; echo; echo ended")
    found = x.shows("wants to connect to denied.test:80\n") and x.asks("denied.test")
    first = x.screen()
    time.sleep(0.5)
    t(found and x.screen() == first, "nothing is written over a question", first, x.screen())
    x.key("o")
    t(x.rests("out>") and x.read("got") == "", "or reads its answer", x.read("got"), x.screen())
    x.run(f"{CURL} http://denied.test/; echo not reached")
    x.asks("denied.test")
    x.key("C-c")
    t(x.rests("out>") and not re.search("^not reached", x.screen(), re.M), "^C denies, and interrupts", x.screen())
    x.run(f"sleep 0.5; {CURL} http://denied.test/")
    x.asks("denied.test")
    x.key("C-z")
    time.sleep(0.3)
    t(x.asks("denied.test"), "^Z does nothing", x.screen())
    x.key("d")
    x.rests("out>")


@with_terminal
def test_jobs(x, t):
    x.type(f"clear; PS1='in> ' {x.who.buckle()} run --ask --profile {x.policy} -- /bin/bash --norc --noprofile -i")
    x.rests("in>")
    x.type(CURL + "http://denied.test/")
    t(x.asks("denied.test"), "a job of a shell inside is asked about", x.screen())
    x.key("o")
    t(x.shows("^hello there\n") and x.rests("in>") and "Stopped" not in x.screen(), "and the shell goes on", x.screen())
    x.type("sleep 1; echo $((6*7))")
    t(x.shows("^42") and x.rests("in>"), "with its jobs", x.screen())
    x.type("exit")
    x.rests("out>")
    x.run(f"{CURL} http://denied.test/ > got; echo ended > end")
    x.asks("denied.test")
    x.key("o")
    x.rests("out>")
    x.type(f"clear; {x.who.buckle()} run --ask --profile {x.policy} -- sh ./script &")
    time.sleep(1)
    x.type("echo here $((6*7))")
    t(x.shows("^here 42") and "wants to" not in x.screen(), "a job in the background waits with its question",
      x.screen())
    x.type("fg")
    t(x.asks("denied.test"), "until it is in the foreground", x.screen())
    x.key("o")
    t(x.rests("out>") and x.read("got") == "hello there\n", "and goes on then", x.screen())


@with_terminal
def test_other_roads(x, t):
    x.run("export no_proxy= NO_PROXY=; login=${ALL_PROXY#*//}; login=${login%@*}; "
          f"{CURL} -U $login --socks5-hostname localhost:1080 http://denied.test/")
    t(x.asks("denied.test"), "SOCKS is asked about", x.screen())
    x.key("o")
    t(x.rests("out>") and "hello there" in x.screen(), "and goes through", x.screen())
    x.run(f"{DIRECT} {CURL} http://{OTHER4}/")
    t(x.asks(OTHER4), "so is an address", x.screen())
    x.key("r")
    t(x.rests("out>") and "hello there" in x.screen(), "which may then be reached", x.screen())
    x.run(f"{DIRECT} python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
          "s.settimeout(20); s.connect((\"denied.test\", 9999)); s.send(b\"ping\"); print(s.recv(99).decode())'")
    t(x.shows(r"wants to send to denied.test:9999 \(UDP\)"), "so are datagrams", x.screen())
    time.sleep(0.4)
    x.key("o")
    t(x.rests("out>") and "got ping" in x.screen(), "and go through", x.screen())
    x.run(f"{CURL} http://rebind.test/")
    x.asks("rebind.test")
    x.key("r")
    t(x.rests("out>") and "rebind.test:80 (127.0.0.1 is loopback)" in x.screen() or
      "rebind.test:80 (::1 is loopback)" in x.screen(), "an allowed name still may not lead to this machine",
      x.screen())


def test_nobody(net, who):
    world = World(who)
    policy = world.profile(PROFILE)
    argv = net.argv_in(net.home, [who.buckle(), "run", "--ask", "--profile", policy, "--", "sh", "-c",
                                  f"{CURL} http://denied.test/; {CURL} http://allowed.test/"], who.uid)
    argv = [a.replace(f"--wdns={os.getcwd()}", f"--wdns={world.inside}") for a in argv]
    done = subprocess.run(argv, env=who.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True, timeout=60, check=False)
    tap.ok(b"denied.test:80 (nobody to ask)" in done.stderr and done.stdout == b"hello there\n",
           f"{who.name}: without a terminal the answer is no, and says so", done.stderr, done.stdout)


# for root, only the processes it may stop differ
AS_ROOT = ["test_terminal", "test_nobody"]
@with_terminal
def test_always(x, t):
    """The answer "always" goes to the user's settings, and the question is not repeated."""
    path = os.path.join(x.who.home, ".config/buckle/settings.json")
    script = x.world.path("script")
    with open(script, "w", encoding="utf-8") as f:
        f.write(CURL + "http://denied.test/; echo ended")
    x.type(f"clear; {x.who.buckle()} run --ask -- sh ./script")
    t(x.shows(r"wants to connect to denied.test:80\nbuckle: .*\[a\]lways"), "always is offered", x.screen())
    time.sleep(0.4)
    x.key("a")
    t(x.shows(r"always\nhello there\n(.*\n)*ended"), "a lets it through", x.screen())
    t(eventually(lambda: os.path.exists(path) and "denied.test:80" in open(path, encoding="utf-8").read(), PATIENCE),
      "and is written down")
    x.rests("out>")
    t("settings" not in x.screen(), "without another word", x.screen())
    x.type(f"clear; {x.who.buckle()} run --ask -- sh ./script")
    t(x.shows(r"hello there\n(.*\n)*ended") and "wants to" not in x.screen(), "not asked again", x.screen())
    os.remove(path)


@with_terminal
def test_strict(x, t):
    """strictAllowlist, set while the command runs."""
    path = os.path.join(x.who.home, "strict.json")

    def send(text):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o644)

    send("{}")
    with open(x.world.path("script"), "w", encoding="utf-8") as f:
        f.write(f"until [ -e go ]; do sleep 0.1; done; {CURL} http://denied.test/; echo ended")
    x.type(f"clear; {x.who.buckle()} run --ask --settings {path} -- sh ./script")
    time.sleep(0.5)
    send('{"network": {"strictAllowlist": true}}')
    time.sleep(0.5)
    with open(x.world.path("go"), "w", encoding="utf-8"):
        pass
    t(x.shows(r"ended") and "wants to" not in x.screen() and "hello" not in x.screen(),
      "from then on nobody is asked, and the answer is no", x.screen())


TESTS = [test_always, test_strict, test_answers, test_not_asked, test_several, test_terminal, test_jobs, test_other_roads, test_nobody]


def main():
    why = internet.missing()
    for program in ("tmux", "curl"):
        if not why and not shutil.which(program):
            why = f"{program} is not installed"
    if why:
        tap.skip(why)
        return tap.done()
    chosen, names = sys.argv[1:], [test.__name__ for test in TESTS]
    everybody = people()
    internet.NAMES["never.test"] = [OTHER4]
    net = internet.Internet(FOLDER)
    serve_http(net)
    for who in everybody:
        for test in TESTS:
            if test.__name__ in (chosen or (AS_ROOT if who.uid == 0 else names)):
                test(net, who)
    return tap.done()


sys.exit(main())
