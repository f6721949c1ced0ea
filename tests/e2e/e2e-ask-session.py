#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions about protected names of an agent's commands: those that its hook puts into the sandbox ask
in `buckle log --follow`, wherever the user runs it. If nobody does, they are denied at once.
"""

import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import running
from agents import Client, settings
from asked import OnTerminal
from running import eventually, for_everybody, processes
from tap import done

# Calls the hook for each line, and runs the answer, as agents do: without a terminal.
AGENT = """
import json, os, subprocess, sys
buckle, folder = sys.argv[1:3]
os.setsid()
for line in sys.stdin:
    message = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": folder, "session_id": "one",
               "permission_mode": "default", "tool_input": {"command": json.loads(line)}}
    a = subprocess.run([buckle, "hook"], input=json.dumps(message), capture_output=True, text=True, cwd=folder)
    wrapped = json.loads(a.stdout)["hookSpecificOutput"]["updatedInput"]["command"]
    r = subprocess.run(["sh", "-c", wrapped], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder)
    print(json.dumps([r.returncode, r.stdout, r.stderr, wrapped]), flush=True)
"""


class Agent:
    """An agent with our hook, in a project that was there before."""

    def __init__(self, user):
        self.user = user
        settings(user, autoAllowBashIfSandboxed=True)
        self.folder = user.folder()
        script = user.write(f"{user.home}/agent.py", AGENT)
        self.child = user.start(["python3", script, running.BUCKLE, self.folder], cwd=self.folder,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.began = 0
        self.run("true")  # starts the session
        mine = [p for p, line in processes(r"buckle session --for \d+") if f"--for {self.child.pid} " in line + " "]
        self.session = str(mine[0])

    def begin(self, command):
        self.began = time.monotonic()
        self.child.stdin.write(json.dumps(command).encode() + b"\n")
        self.child.stdin.flush()

    def end(self):
        """Status, output and seconds."""
        status, out, err, wrapped = json.loads(self.child.stdout.readline())
        return status, out + err, time.monotonic() - self.began, wrapped

    def run(self, command):
        self.begin(command)
        return self.end()

    def change(self, name):
        """Begins a command that changes a file."""
        self.begin(f"echo x >{name}")

    def made(self, *names):
        return [n for n in names if os.path.exists(os.path.join(self.folder, n))]

    def watch(self, *flags):
        """Somebody who follows the log; back when the session knows."""
        seen = OnTerminal(self.user, [running.BUCKLE, "log", "--follow", "--session", self.session, *flags])
        time.sleep(0.5)
        return seen

    def log(self):
        return self.user.call([running.BUCKLE, "log", "--session", self.session]).out

    def close(self):
        self.child.stdin.close()
        self.child.wait(20)
        settings(self.user)


def stop(seen):
    seen.child.terminate()
    seen.end()


def with_agent(test):
    def run(user, t):
        agent = Agent(user)
        os.mkdir(f"{agent.folder}/.vscode")
        user.own(f"{agent.folder}/.vscode")
        try:
            test(agent, t)
        finally:
            agent.close()
    run.__name__ = test.__name__
    return run


@with_agent
def test_nobody(a, t):
    status, _, seconds, _ = a.run("echo x >.vscode/a")
    t.ok(status != 0 and seconds < 10 and not a.made(".vscode/a"), "if nobody watches, a change is denied at once", seconds)
    t.ok("nobody to ask" in a.log(), "the log says why", a.log())
    for flags, how in ((("--no-ask",), {}), ((), {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL}),
                       (("--json",), {})):
        seen = OnTerminal(a.user, [running.BUCKLE, "log", "--follow", "--session", a.session, *flags], **how)
        time.sleep(0.5)
        status, _, seconds, _ = a.run("echo x >.vscode/a")
        t.ok(status != 0 and seconds < 10 and not a.made(".vscode/a"),
             f"also with a log that nobody can answer at: {' '.join(flags) or 'no terminal'}", seconds)
        seen.child.terminate()
        seen.child.wait(10)


@with_agent
def test_answers(a, t):
    seen = a.watch()
    a.change(".vscode/a")
    t.ok(seen.asks() and f"{a.folder}/.vscode/a" in seen.text and "class editors" in seen.text and
         "echo x >.vscode/a" in seen.text, "command, file and class are shown", seen.text)
    t.equal(a.made(".vscode/a"), [], "and the call waits")
    seen.answer("o")
    t.ok(a.end()[0] == 0 and a.made(".vscode/a") and seen.shows("once"), "once is for this file", seen.text)
    a.change(".vscode/b")
    t.ok(seen.asks(), "the next is asked about")
    seen.answer("d")
    t.ok(a.end()[0] != 0 and not a.made(".vscode/b") and seen.shows("denied"), "denied", seen.text)
    t.ok("the user denied it" in a.log(), "which the log says", a.log())
    a.begin("echo x >.vscode/b; echo x >.vscode/c")
    t.ok(seen.asks(), "a denial is for one command")
    seen.answer("r")
    t.ok(a.end()[0] == 0 and len(a.made(".vscode/b", ".vscode/c")) == 2, "for this run: all of a class", seen.text)
    a.change(".vscode/d")
    t.ok(seen.asks(), "and only in that command")
    seen.answer("s")
    t.ok(a.end()[0] == 0 and seen.shows("for the session") and a.made(".vscode/d"), "for the session", seen.text)
    status, _, seconds, _ = a.run("echo x >.vscode/e")
    t.ok(status == 0 and a.made(".vscode/e"), "later commands have it", seconds)
    asked = seen.prompts
    a.change(".mcp.json")
    t.ok(seen.asks() and seen.prompts == asked + 1 and "class agents" in seen.text, "another class is another question")
    seen.answer("a")
    t.ok(a.end()[0] == 0 and a.made(".mcp.json") and seen.shows("always"), "always", seen.text)
    said = a.user.call([running.BUCKLE, "settings"], cwd=a.folder).out
    t.ok("allowProtected" in said and "agents" in said and "editors" not in said, "changes the settings", said)
    status, _, _, _ = a.run("echo y >.mcp.json")
    t.ok(status == 0 and seen.prompts == asked + 1, "which later commands read", seen.text)
    stop(seen)


@with_agent
def test_no_more(a, t):
    seen = a.watch()
    a.begin("echo x >.vscode/a; echo x >.mcp.json")
    t.ok(seen.asks(), "a question")
    seen.answer("n")
    t.ok(a.end()[0] != 0 and not a.made(".vscode/a", ".mcp.json"), "no to all of the command", seen.text)
    status, _, seconds, _ = a.run("echo x >.vscode/a")
    t.ok(status != 0 and seconds < 10 and seen.prompts == 1, "and of later ones, at once", seen.text)
    stop(seen)


@with_agent
def test_away(a, t):
    """Nobody answers in time."""
    seen = a.watch()

    def run():
        return a.user.call([running.BUCKLE, "run", "--session", a.session, "--ask-session", "--ask-timeout", "1",
                            "sh", "-c", "echo x >.vscode/a"], cwd=a.folder)
    r = run()
    t.ok(r.status != 0 and r.seconds < 10 and not a.made(".vscode/a"), "no answer is no", r)
    t.ok(seen.shows("until you press a key") and "no answer in time" in r.err, "and both sides say so", seen.text, r)
    status, _, seconds, _ = a.run("echo x >.vscode/a")
    t.ok(status != 0 and seconds < 10, "then commands don't wait", seconds)
    seen.answer("\n")
    t.ok(seen.shows("asking again"), "somebody is back", seen.text)
    seen.prompts = seen.text.count("o to all? ")
    a.change(".vscode/a")
    t.ok(seen.asks(), "and is asked", seen.text)
    seen.answer("o")
    t.ok(a.end()[0] == 0 and a.made(".vscode/a"), "and answers", seen.text)
    stop(seen)


@with_agent
def test_several(a, t):
    first, second = a.watch(), a.watch()
    a.change(".vscode/a")
    t.ok(first.asks() and second.asks(), "everybody who watches is asked")
    second.answer("o")
    t.ok(a.end()[0] == 0 and a.made(".vscode/a"), "one answer is enough")
    t.ok(first.shows("no longer needed"), "the others see that", first.text)
    a.change(".vscode/b")
    t.ok(first.asks() and second.asks(), "both again")
    stop(second)
    t.ok(not a.made(".vscode/b"), "one of them leaves, the command waits")
    first.child.send_signal(signal.SIGKILL)
    status, _, seconds, _ = a.end()
    t.ok(status != 0 and seconds < 20, "when nobody is left it is denied at once", seconds)
    first.end()


@with_agent
def test_ends(a, t):
    """A command that ends while it is asked about, and keys that were typed before."""
    seen = a.watch()
    a.begin("(echo x >.vscode/a) & sleep 1; kill -9 $!; wait")
    t.ok(seen.asks(), "a question")
    t.ok(seen.shows("no longer needed"), "is withdrawn when its process is gone", seen.text)
    a.end()
    seen.answer("oooo\n")
    time.sleep(0.3)
    a.change(".vscode/b")
    t.ok(seen.asks(), "a question after keys that were meant for something else", seen.text)
    time.sleep(0.5)
    t.ok(not a.made(".vscode/b"), "waits for a new key", seen.text)
    seen.answer("d")
    t.ok(a.end()[0] != 0 and not a.made(".vscode/b"), "which decides", seen.text)
    a.change(".vscode/c")
    t.ok(seen.asks(), "another")
    seen.answer("\x03")
    t.ok(a.end()[0] != 0 and not a.made(".vscode/c"), "an interrupt denies", seen.text)
    t.ok(seen.child.wait(10) == -signal.SIGINT, "and ends the log", seen.child.returncode)
    seen.end()


@with_agent
def test_attacks(a, t):
    """A command neither answers its own question nor writes to the terminal that shows it."""
    seen = a.watch()
    name = ".vscode/\x1b[2Jbuckle: allow\x07"
    a.begin(f"echo x >'{name}'")
    t.ok(seen.asks() and "\x1b[2J" not in seen.text and "[2J" in seen.text, "names are escaped", repr(seen.text))
    seen.answer("d")
    a.end()
    a.begin(f"({running.BUCKLE} log --follow --session {a.session} </dev/null; {running.BUCKLE} grant --session "
            f"{a.session} --protected editors) >answers 2>&1; echo x >.vscode/a")
    t.ok(seen.asks(), "a command that answers itself is asked about all the same", seen.text)
    time.sleep(1)
    t.ok(not a.made(".vscode/a"), "and waits")
    seen.answer("d")
    t.ok(a.end()[0] != 0 and not a.made(".vscode/a"), "for the user", seen.text)
    stop(seen)


@with_agent
def test_listed(a, t):
    """Windows that come later, and `buckle status`, see what waits; who only looks answers nothing."""
    seen = a.watch()

    def listed():
        active = json.loads(a.user.call([running.BUCKLE, "status", "--json"]).out)["active"]
        return [q["question"]["path"] for one in active if str(one["pid"]) == a.session for q in one["questions"]]
    a.change(".vscode/listed")
    t.ok(seen.asks(), "one is asked", seen.text)
    t.equal(listed(), [f"{a.folder}/.vscode/listed"], "the question is listed")
    t.equal(listed(), [f"{a.folder}/.vscode/listed"], "and still waits after somebody looked")
    seen.answer("o")
    status, out, _, _ = a.end()
    t.ok(status == 0 and a.made(".vscode/listed"), "its answer counts", out)
    t.equal(listed(), [], "and nothing waits then")
    stop(seen)


@with_agent
def test_hosts(a, t):
    """Questions about hosts, which srt sends to its session."""
    named = a.user.write(f"{a.user.home}/srt.json", json.dumps({
        "network": {"allowedDomains": ["allowed.example"], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}))
    seen = a.watch()

    def connect():
        return a.user.start([running.BUCKLE, "srt", "--settings", named, "--session", a.session, "--ask-session", "-c",
                             f"{running.BUCKLE} connect asked.example 443 </dev/null"], cwd=a.folder,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for key, word in (("d", "denied"), ("o", "once"), ("a", "always")):
        child = connect()
        t.ok(seen.asks() and "wants to connect to asked.example:443" in seen.text, f"a host is asked about: {word}", seen.text)
        seen.answer(key)
        child.wait(30)
        t.ok(seen.shows(word), f"and answered: {word}", seen.text)
    said = a.user.call([running.BUCKLE, "settings"], cwd=a.folder).out
    t.ok("asked.example:443" in said, "always changes the settings", said)
    stop(seen)


@with_agent
def test_commands(a, t):
    """Questions about commands have the same answers as those about hosts."""
    a.user.write(f"{a.folder}/bin/tool", "#!/bin/sh\necho ran $*\n", 0o755)
    settings(a.user, autoAllowBashIfSandboxed=True, commands=[{"match": ["tool push *", "tool tag *"], "ask": True}])
    hidden = "x=$(echo push); bin/tool $x"  # the line does not show it
    seen = a.watch()
    for key, word in (("d", "denied"), ("o", "once"), ("r", "for this run"), ("s", "for the session")):
        a.begin(hidden)
        t.ok(seen.asks() and "settings ask about tool push *" in seen.text, f"a command is asked about: {word}", seen.text)
        seen.answer(key)
        status, out, _, _ = a.end()
        t.ok(seen.shows(word, 5) and ("ran push" in out) == (key != "d"), f"and answered: {word}", seen.text, out)
    asked = seen.prompts
    status, out, _, wrapped = a.run(hidden)
    t.ok("ran push" in out and seen.prompts == asked, "later commands of the session have it", out)
    status, out, _, wrapped = a.run("bin/tool push")
    t.ok("ran push" in out and "--allow-command" not in wrapped and seen.prompts == asked, "so has an open line", wrapped)
    a.begin("x=$(echo tag); bin/tool $x")
    t.ok(seen.asks() and "tool tag *" in seen.text, "another pattern is another question", seen.text)
    seen.answer("a")
    t.ok("ran tag" in a.end()[1] and seen.shows("always"), "always", seen.text)
    said = a.user.call([running.BUCKLE, "settings"], cwd=a.folder).out
    t.ok("agreedCommands" in said and "tool tag *" in said and "tool push" not in said.split("agreedCommands")[1],
         "changes the settings", said)
    r = a.user.call([running.BUCKLE, "decide", "bin/tool tag"], cwd=a.folder)
    t.ok(r.out.startswith("run-sandboxed"), "which `buckle decide` reads", r)
    r = a.user.call([running.BUCKLE, "run", "sh", "-c", "bin/tool tag; true"], cwd=a.folder)
    t.ok("ran tag" in r.out, "and `buckle run`", r)
    stop(seen)


def test_command_on_terminal(user, t):
    """The same with `buckle run --ask`: always is in the settings, and later runs ask no more."""
    folder = user.folder()
    settings(user, commands=[{"match": "date *", "ask": True}])
    words = [running.BUCKLE, "run", "--ask", "sh", "-c", "date +x; date +y"]
    x = OnTerminal(user, words, cwd=folder)
    t.equal(x.answers("oo"), 2, "once is for one start")
    t.ok("x" in x.text and "y" in x.text, "and both ran", x.text)
    x = OnTerminal(user, words, cwd=folder)
    t.ok(x.answers("a") == 1 and "[a]lways" in x.text, "always", x.text)
    x = OnTerminal(user, words, cwd=folder)
    t.equal(x.answers(""), 0, "is remembered")
    said = user.call([running.BUCKLE, "settings"], cwd=folder).out
    t.ok("agreedCommands" in said and "date *" in said, "in the settings", said)
    settings(user)


def test_mcp(user, t):
    """A client that cannot ask: whoever follows the log of its server does."""
    folder = user.folder()
    os.mkdir(f"{folder}/.vscode")
    user.own(f"{folder}/.vscode")
    settings(user, autoAllowBashIfSandboxed=True)
    client = Client(user, folder, "--mode=open")
    seen = OnTerminal(user, [running.BUCKLE, "log", "--follow", "--session", str(client.child.pid)])
    time.sleep(0.5)
    number = client.begin("tools/call", {"name": "bash", "arguments": {"command": "echo x >.vscode/a"}})
    t.ok(seen.asks(), "a question", seen.text)
    seen.answer("o")
    client.wait(number)
    t.ok(eventually(lambda: os.path.exists(f"{folder}/.vscode/a")), "and its answer", seen.text)
    stop(seen)
    client.close()
    settings(user)


ALL = [test_nobody, test_answers, test_no_more, test_away, test_several, test_ends, test_attacks,
       test_listed, test_hosts, test_commands, test_command_on_terminal, test_mcp]
for_everybody(ALL)
sys.exit(done())
