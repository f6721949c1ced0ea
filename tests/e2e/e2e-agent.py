#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A complete agent session, once through `buckle mcp` and once through `buckle hook`: the same ten
commands (allowed, denied by file and by network, excluded, a bypass that policy refuses, in the
background, timed out, cancelled, after a change of settings, of a sub-agent). Checks what the agent,
the user and the model see, and what the session keeps.
"""

import json
import os
import re
import subprocess
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import running
from agents import Client, settings
from running import eventually, for_everybody, processes
from tap import done

LONG = f"sleep 31.{os.getpid()}"  # nobody else's
BLOCK = re.compile(r"<sandbox_violations>\n([\s\S]*?)</sandbox_violations>")


def for_user(stderr):
    """What agents show the user: the output without the block, stripped."""
    return BLOCK.sub("", stderr).strip()


def denied(stderr):
    """The denials in the block, without the process: `file-write-create /x`."""
    found = BLOCK.search(stderr)
    return {line.split(" deny(1) ")[1] for line in found.group(1).splitlines()} if found else set()


class ByMcp:
    """An agent that uses the server's tools."""

    name = "mcp"

    def __init__(self, user, folder):
        self.user, self.folder = user, folder
        self.client = Client(user, folder, answer=lambda _: {"action": "accept", "content": {}})
        self.session = self.client.child.pid
        self.jobs = {}

    def reported(self):
        return self.client.tool("sandbox_status").text

    def bash(self, command, **how):
        """Exit status, standard output, error output."""
        facts = self.client.bash(command, **how).facts
        return facts["exitCode"], facts["stdout"], facts["stderr"]

    def bypass(self, command):
        return self.bash(command, dangerouslyDisableSandbox=True)

    def timed_out(self, command, milliseconds):
        return self.client.bash(command, timeout=milliseconds).facts["timedOut"]

    def begin(self, command):
        return self.client.begin("tools/call", {"name": "bash", "arguments": {"command": command}})

    def cancel(self, number):
        self.client.send({"method": "notifications/cancelled", "params": {"requestId": number}})

    def leave(self, command):
        return self.client.bash(command, run_in_background=True).facts["job"]

    def left(self, job):
        """Everything a job has printed, once it has ended."""
        output = self.client.tool("bash_output", job=job)
        self.jobs[job] = self.jobs.get(job, "") + output.text
        return None if output.facts["running"] else self.jobs[job]

    def sub_agent(self):
        return ByMcp(self.user, self.folder)

    def close(self):
        self.client.close()


# An agent as a process: calls the hook before each command, as agents do, and runs its answer.
AGENT = """
import json, os, signal, subprocess, sys
buckle, folder = sys.argv[1:3]
running, last = {}, 0

def start(command, bypass, mode="default"):
    message = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": folder,
               "permission_mode": mode,
               "tool_input": {"command": command, "dangerouslyDisableSandbox": bypass}}
    a = subprocess.run([buckle, "hook"], input=json.dumps(message), capture_output=True, text=True,
                       cwd=folder)
    said = json.loads(a.stdout).get("hookSpecificOutput", {})
    if said.get("permissionDecision") == "deny":
        raise SystemExit(a.stdout)
    # its user says yes to every question
    return subprocess.Popen(["sh", "-c", said.get("updatedInput", {}).get("command", command)],
                            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, start_new_session=True)

def finish(child, timeout):
    try:
        out, err = child.communicate(timeout=timeout)
        return [child.returncode, out, err]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGTERM)
        out, err = child.communicate()
        return ["timed out", out, err]

for line in sys.stdin:
    what, *given = json.loads(line)
    answer = None
    if what == "run":
        answer = finish(start(*given[1:]), given[0])
    elif what == "start":
        last += 1
        running[last] = start(given[0], False)
        answer = last
    elif what == "cancel":
        os.killpg(running[given[0]].pid, signal.SIGTERM)
        answer = finish(running.pop(given[0]), 20)
    elif what == "poll":
        over = running[given[0]].poll() is not None
        answer = finish(running[given[0]], 20) if over else None
    print(json.dumps(answer), flush=True)
"""


class ByHook:
    """An agent whose own shell tool runs what the hook answers."""

    name = "hook"

    def __init__(self, user, folder):
        self.user, self.folder = user, folder
        script = user.write(user.home + "/agent.py", textwrap.dedent(AGENT))
        self.child = user.start(["python3", script, running.BUCKLE, folder], cwd=folder,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @property
    def session(self):
        """The session that the hook started for this agent."""
        found = [p for p, _ in processes(rf"buckle session --for {self.child.pid}\b")]
        return found[0] if found else 0

    def send(self, *words):
        self.child.stdin.write(json.dumps(words).encode() + b"\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def reported(self):
        return self.user.call([running.BUCKLE, "summary", "--mode=open"], cwd=self.folder).out

    def bash(self, command):
        return tuple(self.send("run", 60, command, False))

    def bypass(self, command, mode="default"):
        return tuple(self.send("run", 60, command, True, mode))

    def timed_out(self, command, milliseconds):
        return self.send("run", milliseconds / 1000, command, False)[0] == "timed out"

    def begin(self, command):
        return self.send("start", command)

    def cancel(self, number):
        self.send("cancel", number)

    def leave(self, command):
        return self.begin(command)

    def left(self, job):
        got = self.send("poll", job)
        return got and got[1] + got[2]

    def sub_agent(self):
        return ByHook(self.user, self.folder)

    def close(self):
        self.child.stdin.close()
        self.child.wait(10)


def test_commands(agent, t, outside):
    """Commands one to eight. Returns what each was denied, by its text."""
    expected = {}
    status, out, err = agent.bash("echo hello > made && cat made")
    t.equal((status, out, err), (0, "hello\n", ""), "1 allowed: as if there were no sandbox")

    command = f"echo mine >&2; touch {outside}/file 2>/dev/null"
    status, out, err = agent.bash(command)
    expected[command] = {f"file-write-create {outside}/file"}
    t.ok(status == 1 and denied(err) == expected[command], "2 a file: the agent reads what was denied",
         err)
    t.equal(for_user(err), "mine", "  and the user what the command said")

    command = "getent hosts host.example"
    status, out, err = agent.bash(command)
    expected[command] = {"network-outbound host.example"}
    t.ok(status != 0 and denied(err) == expected[command] and for_user(err) == "",
         "3 a host: the agent reads which", status, err)

    status, out, err = agent.bash(f"touch {outside}/excluded")
    t.ok((status, err) == (0, "") and os.path.exists(outside + "/excluded"), "4 excluded: it runs outside",
         status, err)

    command = f"touch {outside}/bypass"
    status, out, err = agent.bypass(command)
    expected[command] = {f"file-write-create {outside}/bypass"}
    t.ok(status == 1 and denied(err) == expected[command] and not os.path.exists(outside + "/bypass"),
         "5 a bypass that policy refuses: it runs inside", err)

    command = f"echo one; sleep 0.3; echo two; touch {outside}/later 2>/dev/null"
    job = agent.leave(command)
    expected[command] = {f"file-write-create {outside}/later"}
    t.equal(agent.bash("echo meanwhile")[1], "meanwhile\n", "6 in the background: others run meanwhile")
    got = []
    t.ok(eventually(lambda: got.append(agent.left(job)) or got[-1]) and
         got[-1].startswith("one\ntwo\n") and denied(got[-1]) == expected[command],
         "  and it is heard of in the end", got[-1:])

    t.ok(agent.timed_out(f"{LONG} & {LONG}", 400), "7 timed out")
    t.ok(eventually(lambda: not processes(f"^{LONG} ")), "  with everything it started")

    number = agent.begin(f"{LONG} & {LONG}")
    t.ok(eventually(lambda: len(processes(f"^{LONG} ")) == 2), "8 a command is under way")
    agent.cancel(number)
    t.ok(eventually(lambda: not processes(f"^{LONG} ")), "  and cancelled, with everything it started")
    return expected


def test_session(user, t, how):
    folder, outside, elsewhere = (user.folder(n) for n in ("work", "outside", "elsewhere"))
    rules = {"autoAllowBashIfSandboxed": True, "allowUnsandboxedCommands": False,
             "excludedCommands": [f"touch {outside}/excluded"], "network": {"strictAllowlist": True}}
    settings(user, **rules)
    agent = how(user, folder)
    reported = agent.reported()
    t.ok(folder in reported and outside + "/excluded" in reported and "disabled by policy" in reported,
         "the model sees the rules, the excluded commands, and that there is no bypass", reported)
    expected = test_commands(agent, t, outside)

    settings(user, **{**rules, "allowUnsandboxedCommands": True,
                        "filesystem": {"allowWrite": [".", outside]}})
    t.equal(agent.bash(f"touch {outside}/file"), (0, "", ""), "9 after a change of settings: allowed")
    again = agent.reported()
    t.ok(again != reported and f"{folder}, {outside}" in again and "disabled by policy" not in again and
         "dangerouslyDisableSandbox" in again, "  and reported", again)

    t.equal(agent.bypass(f"touch {elsewhere}/main")[0], 0, "10 a bypass that policy allows")
    if agent.name == "hook":
        command = f"touch {elsewhere}/unasked"
        status, out, err = agent.bypass(command, "bypassPermissions")
        expected[command] = {f"file-write-create {elsewhere}/unasked"}
        t.ok(status == 1 and denied(err) == expected[command] and not os.path.exists(elsewhere + "/unasked"),
             "  is not granted where the agent asks nobody", err)
    sub = agent.sub_agent()
    command = f"touch {elsewhere}/sub 2>/dev/null"
    status, out, err = sub.bash(command)
    t.ok(status == 1 and denied(err) == {f"file-write-create {elsewhere}/sub"} and
         not os.path.exists(elsewhere + "/sub"), "  is not inherited by a sub-agent", err)
    t.equal(sub.bash(f"touch {outside}/sub"), (0, "", ""), "  which has all other settings")
    sub.close()

    r = user.call([running.BUCKLE, "log", "--json", "--session", str(agent.session)])
    kept = {}
    for line in r.out.splitlines():
        event = json.loads(line)
        kept.setdefault(event["command"], set()).add(event["line"].split(" deny(1) ")[1])
    t.equal(kept, expected, "the session has what was denied, by command", r)
    session = agent.session
    agent.close()
    t.ok(eventually(lambda: user.call([running.BUCKLE, "log", "--session", str(session)]).status == 2),
         "and forgets it with the agent")
    settings(user)


def test_mcp(user, t):
    test_session(user, t, ByMcp)


def test_hook(user, t):
    test_session(user, t, ByHook)


if __name__ == "__main__":
    for_everybody([test_mcp, test_hook])
    sys.exit(done())
