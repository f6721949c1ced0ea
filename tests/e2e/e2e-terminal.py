#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A terminal inside buckle run, driven through tmux: a shell with jobs, ^C, ^Z, resizing, vim, less."""

import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from running import BUCKLE, SLOW, eventually, for_everybody, missing
from tap import done, skip

PATIENCE = 30 if SLOW else 10


class Terminal:
    """A separate tmux server with one window and a shell in it."""

    def __init__(self, user):
        self.user, self.folder = user, user.folder("terminal")
        user.env["TMUX_TMPDIR"] = user.folder("tmux")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "90", "-y", "24",
                  "env PS1='out> ' BASH_SILENCE_DEPRECATION_WARNING=1 "
                  "/bin/bash --norc --noprofile -i")
        self.shows(r"^out> *$")

    def tmux(self, *words):
        return self.user.call(["tmux", "-L", "test", *words], cwd=self.folder).out

    def type(self, text, enter=True):
        self.tmux("send-keys", "-l", text)
        if enter:
            self.tmux("send-keys", "Enter")

    def key(self, *names):
        self.tmux("send-keys", *names)

    def screen(self):
        return self.tmux("capture-pane", "-p", "-J").rstrip("\n")

    def shows(self, pattern):
        """Whether the screen matches in time."""
        return eventually(lambda: re.search(pattern, self.screen(), re.M), PATIENCE)

    def rests(self, prompt):
        """Whether the last line becomes a prompt in time."""
        return eventually(lambda: re.search(rf"{prompt} *\Z", self.screen()), PATIENCE)

    def clear(self):
        self.key("C-l")
        time.sleep(0.1)

    def enter(self, *flags):
        """Starts a shell inside."""
        self.type(f"PS1='in> ' {BUCKLE} run {' '.join(flags)} /bin/bash --norc --noprofile -i")
        return self.rests("in>")

    def close(self):
        self.tmux("kill-server")


def with_terminal(test):
    def run(user, t):
        terminal = Terminal(user)
        try:
            test(terminal, t)
        finally:
            terminal.close()
    run.__name__ = test.__name__
    return run


@with_terminal
def test_shell(x, t):
    t.ok(x.enter(), "a prompt", x.screen())
    t.ok("job control" not in x.screen(), "with job control", x.screen())
    x.type("echo $((6*7)) $-")
    t.ok(x.shows(r"^42 \w*i\w*"), "commands run", x.screen())
    x.type("tty; test -t 0 && test -t 1 && test -t 2 && echo all three")
    t.ok(x.shows(r"^/dev/pts/\d+") and x.shows("^all three"), "it has its terminal", x.screen())
    x.type("echo to the terminal >/dev/tty")
    t.ok(x.shows("^to the terminal"), "/dev/tty", x.screen())
    x.clear()
    x.type("read -s -p 'secret: ' s </dev/tty; echo \"got $s\"")
    x.shows("secret:")
    x.type("hush")
    t.ok(x.shows("got hush") and "secret: hush" not in x.screen(), "reading without echo", x.screen())
    x.type("exit 7")
    t.ok(x.rests("out>"), "exit", x.screen())
    x.type("echo status $?")
    t.ok(x.shows("^status 7"), "and its status", x.screen())


@with_terminal
def test_interrupt(x, t):
    x.enter()
    x.type("sleep 1000")
    time.sleep(0.3)
    x.key("C-c")
    t.ok(x.rests("in>"), "^C ends the job, not the shell", x.screen())
    x.type("echo after $?")
    t.ok(x.shows("^after 130"), "as an interrupt", x.screen())
    x.type("exit")
    x.rests("out>")
    x.clear()
    x.type(f"{BUCKLE} run sleep 1000")
    time.sleep(0.5)
    x.key("C-c")
    t.ok(x.rests("out>"), "^C ends a plain command and buckle", x.screen())
    x.type("echo after $?")
    t.ok(x.shows("^after 130"), "which ended by the signal", x.screen())
    x.type(f"{BUCKLE} run sh -c 'trap \"echo caught; exit 3\" INT; while :; do sleep 0.1; done'")
    time.sleep(0.5)
    x.key("C-c")
    t.ok(x.shows("caught"), "a command may handle it", x.screen())
    x.type("echo handled $?")
    t.ok(x.shows("^handled 3"), "and says how it ended", x.screen())
    x.type(f"{BUCKLE} run sleep 1000")
    time.sleep(0.5)
    x.key("C-\\")
    t.ok(x.shows("Quit"), "^\\ quits", x.screen())


@with_terminal
def test_inner_jobs(x, t):
    x.enter()
    x.type("sleep 1000")
    time.sleep(0.3)
    x.key("C-z")
    t.ok(x.shows(r"\[1\]\+ +Stopped +sleep 1000") and x.rests("in>"), "^Z stops a job inside",
         x.screen())
    x.clear()
    x.type("fg")
    t.ok(x.shows("^sleep 1000"), "fg", x.screen())
    x.key("C-c")
    t.ok(x.rests("in>"), "which can be interrupted", x.screen())
    x.type("sleep 0.5 & wait; echo waited; jobs")
    t.ok(x.shows("^waited"), "jobs in the background", x.screen())
    x.type("cat &")
    t.ok(x.shows(r"Stopped +cat") or x.type("jobs") or x.shows(r"Stopped +cat"),
         "a background job that reads stops", x.screen())
    x.type("kill %cat; exit")
    x.rests(r"(in|out)>")
    if x.rests("in>"):
        x.type("exit")
    t.ok(x.rests("out>"), "exit", x.screen())


@with_terminal
def test_outer_jobs(x, t):
    """buckle itself is a job of the outer shell."""
    x.type(f"{BUCKLE} run sleep 1000")
    time.sleep(0.7)
    x.key("C-z")
    t.ok(x.shows(r"Stopped .*run sleep 1000") and x.rests("out>"), "^Z stops buckle and command",
         x.screen())
    x.clear()
    x.type("fg")
    time.sleep(0.5)
    t.ok(not x.screen().rstrip().endswith("out>"), "fg: both go on", x.screen())
    x.key("C-z")
    t.ok(x.shows(r"Stopped .*run sleep 1000"), "^Z again", x.screen())
    x.type("bg")
    time.sleep(0.3)
    x.type("jobs")
    t.ok(x.shows(r"Running .*run sleep 1000"), "bg", x.screen())
    x.type("kill %1; wait; echo gone")
    t.ok(x.shows("^gone"), "kill", x.screen())
    x.clear()
    x.type(f"{BUCKLE} run sh -c 'echo one; kill -STOP $$; echo two'")
    t.ok(x.shows(r"Stopped") and x.rests("out>"), "a command that stops itself stops buckle",
         x.screen())
    x.type("fg")
    t.ok(x.shows("^two"), "and goes on with it", x.screen())
    x.rests("out>")
    x.clear()
    x.enter()
    x.type("suspend -f; echo back")
    t.ok(x.rests("out>"), "suspend in the inner shell leads out", x.screen())
    x.type("fg")
    t.ok(x.shows("^back"), "fg leads in again", x.screen())
    x.type("exit")
    x.rests("out>")
    x.clear()
    x.type(f"echo piped | {BUCKLE} run cat | cat; {BUCKLE} run true & wait; echo fine")
    t.ok(x.shows("^piped") and x.shows("^fine"), "in pipelines and in the background", x.screen())


@with_terminal
def test_size(x, t):
    x.enter()
    x.type("stty size")
    t.ok(x.shows("^24 90"), "the terminal's size", x.screen())
    x.type("sh -c 'trap \"echo changed\" WINCH; while :; do sleep 0.1; done'")
    time.sleep(0.5)
    x.tmux("resize-window", "-x", "70", "-y", "20")
    t.ok(x.shows("^changed"), "SIGWINCH arrives", x.screen())
    x.key("C-c")
    x.rests("in>")
    x.type("stty size")
    t.ok(x.shows("^20 70"), "the new size", x.screen())
    x.type("exit")


@with_terminal
def test_editors(x, t):
    lacks = missing("vim", "less")
    if lacks:
        return skip(f"{lacks} is not installed")
    x.enter()
    x.type("vim -u NONE -N letter")
    t.ok(x.shows("letter"), "vim starts", x.screen())
    time.sleep(0.3)
    x.key("i")
    x.type("dear sandbox", enter=False)
    x.key("Escape")
    time.sleep(0.2)
    x.type(":w")
    t.ok(x.shows("written"), "saves", x.screen())
    x.key("C-z")
    t.ok(x.shows("Stopped"), "stops", x.screen())
    x.type("fg")
    t.ok(x.shows("^dear sandbox"), "comes back", x.screen())
    x.type(":q")
    t.ok(x.rests("in>"), "and leaves", x.screen())
    with open(x.folder + "/letter", encoding="utf-8") as f:
        t.equal(f.read(), "dear sandbox\n", "the file is there")
    t.equal(sorted(os.listdir(x.folder)), ["letter"], "and no swap file")
    x.clear()
    x.type("seq 1 500 | less")
    t.ok(x.shows("^1$") and x.shows("^20$"), "less", x.screen())
    x.type("G", enter=False)
    t.ok(x.shows("^500$"), "its keys", x.screen())
    x.type("q", enter=False)
    t.ok(x.rests("in>"), "and its end", x.screen())
    x.type("exit")
    return None


@with_terminal
def test_nano(x, t):
    lacks = missing("nano")
    if lacks:
        return skip(f"{lacks} is not installed")
    x.enter("--report", "json")
    x.type("nano letter")
    t.ok(x.shows("GNU nano"), "nano starts", x.screen())
    x.type("dear sandbox", enter=False)
    x.key("C-o")
    t.ok(x.shows("File Name to Write: letter"), "asks for the name", x.screen())
    x.key("Enter")
    t.ok(x.shows("Wrote 1 line"), "saves", x.screen())
    x.key("C-x")
    t.ok(x.rests("in>") and "denied" not in x.screen(), "leaves, and nothing was denied", x.screen())
    with open(x.folder + "/letter", encoding="utf-8") as f:
        t.equal(f.read(), "dear sandbox\n", "the file is there")
    t.equal(sorted(os.listdir(x.folder)), ["letter"], "and nothing else")
    x.type("exit")
    return None


@with_terminal
def test_intact_afterwards(x, t):
    x.type("stty -g >before")
    x.rests("out>")
    x.enter()
    x.type("was=$(stty -g); stty raw -echo; stty $was; exit")
    x.rests("out>")
    x.type(f"{BUCKLE} run sh -c 'stty -echo; kill -9 $$'; stty echo; stty -g >after; "
           "cmp before after && echo same")
    t.ok(x.shows("^same"), "the terminal's settings are as they were", x.screen())
    x.type("sleep 1000")
    time.sleep(0.3)
    x.key("C-z")
    t.ok(x.shows(r"Stopped +sleep 1000"), "job control outside works on", x.screen())
    x.type("kill %1; echo end of it")
    t.ok(x.shows("^end of it"), "and so does the rest", x.screen())
    x.clear()
    x.type(f"{BUCKLE} run /bin/bash -i -c 'sleep 0.2; exit 4'; echo left $?")
    t.ok(x.shows("^left 4") and x.rests("out>"), "a command that takes the terminal gives it back",
         x.screen())
    x.type("echo outside")
    t.ok(x.shows("^outside"), "the outer shell reads again", x.screen())


@with_terminal
def test_scripts(x, t):
    """A script that starts a shell inside, and then continues to read from the terminal."""
    x.type(f"PS1='in> ' sh -c '{BUCKLE} run /bin/bash --norc --noprofile -i; read a; echo got $a'")
    t.ok(x.rests("in>") and "job control" not in x.screen(), "a prompt, with job control", x.screen())
    x.type("sleep 1000")
    time.sleep(0.3)
    x.key("C-z")
    t.ok(x.shows(r"Stopped +sleep 1000") and x.rests("in>"), "^Z stops a job inside", x.screen())
    x.type("kill %1; exit 0")
    time.sleep(0.5)
    x.type("exit 0")
    x.type("line")
    t.ok(x.shows("^got (line|exit 0)"), "the script reads again", x.screen())
    t.ok(x.rests("out>"), "and ends", x.screen())


def main():
    lacks = missing("tmux", "bash")
    if lacks:
        skip(f"{lacks} is not installed")
        return done()
    for_everybody([test_shell, test_interrupt, test_inner_jobs, test_outer_jobs, test_size,
                   test_editors, test_nano, test_intact_afterwards, test_scripts])
    return done()


if __name__ == "__main__":
    sys.exit(main())
