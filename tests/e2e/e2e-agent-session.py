#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One scripted session of an agent, once through `buckle mcp` and once through `buckle hook`: `cd`, a
server in the background, TMPDIR, denials, questions, a grant, a sub-agent, bypasses, an excluded
command. Both give the same decisions and results, those of agent-session.txt. ACCEPT=1 rewrites it.
"""

import difflib
import json
import os
import re
import subprocess
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import running
from agents import Client, settings
from asked import OnTerminal
from running import eventually, for_everybody, processes
from tap import done

TRANSCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent-session.txt")
PORT = 18080
SERVER = f"python3 -m http.server {PORT} >$TMPDIR/served 2>&1"
GET = f"python3 -c 'import urllib.request as u; print(u.urlopen(\"http://localhost:{PORT}/\", timeout=9).status)'"
CONNECT = "BUCKLE connect {0}.example 443 </dev/null 2>/dev/null"

# (command, how): `yes` and `host` are the person's answers to questions about the command and a host.
STEPS = [
    ("pwd", {}),
    ("mkdir -p sub/deep && cd sub", {}),
    ("pwd", {}),
    ("cd deep; cd ../deep; false", {}),
    ("pwd", {}),
    ("export KEPT=1; kept() { echo yes; }; cd ../..", {}),
    ("echo \"[$KEPT]\"; type kept", {}),
    ("echo handed over >$TMPDIR/note", {}),
    ("cat $TMPDIR/note; rm $TMPDIR/note", {}),
    ("cd sub; cd /usr", {}),
    ("pwd", {}),
    ("mkdir gone; cd gone; rmdir ../gone", {}),
    ("pwd -P", {}),
    (f"{SERVER} & for i in $(seq 100); do {GET} 2>/dev/null && break; sleep .1; done", {}),
    (GET, {}),
    ("touch OUTSIDE/denied", {}),
    (None, {"grant": "OUTSIDE"}),
    ("touch OUTSIDE/granted && ls OUTSIDE", {}),
    (CONNECT.format("refused"), {"host": "deny"}),
    (CONNECT.format("once"), {"host": "once"}),
    ("cd sub", {}),
    ("pwd; cd sub/deep", {"sub_agent": True}),
    ("pwd", {}),
    ("touch ELSEWHERE/one", {"bypass": True}),
    (None, {"settings": {"allowUnsandboxedCommands": True}}),
    ("touch ELSEWHERE/two; echo $?", {"bypass": True, "yes": True}),
    ("touch ELSEWHERE/three", {"bypass": True, "yes": False}),
    ("touch ELSEWHERE/excluded", {"yes": True}),
    ("touch ELSEWHERE/excluded; id -u >/dev/null", {}),
    ("for i in $(seq 130); do touch ELSEWHERE/$i 2>/dev/null; done", {}),
    ("exit 7", {}),
    (" ", {}),
    ("ls ELSEWHERE; cat sub/none", {}),
    (GET, {}),
]
RULES = {"autoAllowBashIfSandboxed": True, "excludedCommands": ["touch ELSEWHERE/excluded"]}


class Person:
    """Answers questions, and remembers how many there were."""

    def __init__(self):
        self.yes = self.host = None
        self.asked = 0

    def about_command(self):
        self.asked += 1
        return self.yes


class ByMcp:
    name = "mcp"

    def __init__(self, user, folder, person):
        self.user, self.folder, self.person = user, folder, person
        self.client = Client(user, folder, answer=self.answer)
        self.session = self.client.child.pid

    def answer(self, text):
        if "wants to connect" in text:
            self.person.asked += 1
            allowed = self.person.host == "once"
            return {"action": "accept", "content": {"allow": "once"}} if allowed else {"action": "decline"}
        return {"action": "accept", "content": {}} if self.person.about_command() else {"action": "decline"}

    def bash(self, command, bypass):
        output = self.client.bash(command, **({"dangerouslyDisableSandbox": True} if bypass else {}))
        if "exitCode" not in output.facts:
            return None
        return (output.facts["sandboxed"], output.facts["exitCode"], output.facts["stdout"],
                output.facts["stderr"])

    def sub_agent(self):
        return ByMcp(self.user, self.folder, self.person)

    def watch(self):
        pass

    def unwatch(self):
        pass

    def close(self):
        self.client.close()


# An agent with a shell tool: calls the hook and runs its answer. It asks about what the hook leaves to it.
AGENT = """
import json, subprocess, sys
buckle, folder = sys.argv[1:3]
for line in sys.stdin:
    given = json.loads(line)
    message = {"hook_event_name": "PreToolUse", "session_id": "one", "cwd": folder, "tool_name": "Bash",
               "transcript_path": "/dev/null", "permission_mode": "default", "tool_use_id": "1",
               "tool_input": {"command": given["command"], "dangerouslyDisableSandbox": given["bypass"]},
               **({"agent_id": "sub", "agent_type": "general-purpose"} if given["sub_agent"] else {})}
    a = subprocess.run([buckle, "hook"], input=json.dumps(message), capture_output=True, text=True, cwd=folder)
    said = json.loads(a.stdout).get("hookSpecificOutput", {})
    decision, given = said.get("permissionDecision", "client"), said.get("updatedInput", message["tool_input"])
    if decision in ("client", "ask"):
        print(json.dumps("may I?"), flush=True)
        decision = "allow" if json.loads(sys.stdin.readline()) else "deny"
    if decision == "deny":
        print(json.dumps(None), flush=True)
        continue
    with open(folder + "/../out", "w+") as out, open(folder + "/../err", "w+") as err:
        r = subprocess.run(["bash", "-c", given["command"]], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                           cwd=folder)
        out.seek(0), err.seek(0)
        print(json.dumps(["updatedInput" in said, r.returncode, out.read(), err.read()]), flush=True)
"""


class ByHook:
    name = "hook"

    def __init__(self, user, folder, person, child=None):
        self.user, self.folder, self.person, self.is_sub = user, folder, person, child is not None
        script = user.write(user.home + "/agent.py", textwrap.dedent(AGENT))
        self.child = child or user.start(["python3", script, running.BUCKLE, folder], cwd=folder,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.seen = None

    @property
    def session(self):
        found = [p for p, _ in processes(rf"buckle session --for {self.child.pid}\b")]
        return found[0] if found else 0

    def send(self, what):
        self.child.stdin.write(json.dumps(what).encode() + b"\n")
        self.child.stdin.flush()

    def bash(self, command, bypass):
        self.send({"command": command, "bypass": bypass, "sub_agent": self.is_sub})
        if self.seen:
            self.person.asked += self.seen.asks(20)
            self.seen.answer("o" if self.person.host == "once" else "d")
        got = json.loads(self.child.stdout.readline())
        if got == "may I?":
            self.send(self.person.about_command())
            got = json.loads(self.child.stdout.readline())
        return got and tuple(got)

    def sub_agent(self):
        return ByHook(self.user, self.folder, self.person, self.child)

    def watch(self):
        """The person's terminal."""
        self.seen = OnTerminal(self.user, [running.BUCKLE, "log", "--follow", "--session", str(self.session)])
        self.seen.shows("kept", 0.5)

    def unwatch(self):
        self.seen.child.terminate()
        self.seen.end()
        self.seen = None

    def close(self):
        if not self.is_sub:
            self.child.stdin.close()
            self.child.wait(10)


def describe(result):
    if not result:
        return ["  refused"]
    inside, status, out, err = result
    lines = [f"  {'inside' if inside else 'outside'}, exit status {status}"]
    err = re.sub(r"\n?(<sandbox_violations>\n)((?:.*\n){4})(?:.*\n)*(.*\n</sandbox_violations>)", r"\1\2…\n\3", err)
    return lines + [f"  > {line}" for line in out.splitlines()] + [f"  ! {line}" for line in err.splitlines() if line]


class Session:
    """The script, in folders of its own."""

    def __init__(self, user, how):
        self.user = user
        base = user.folder("base")
        self.places = {"OUTSIDE": base + "/outside", "ELSEWHERE": base + "/elsewhere", "PROJECT": base + "/project"}
        user.sh("mkdir " + " ".join(self.places.values()))
        self.places["BUCKLE"] = running.BUCKLE
        self.set({})
        self.person = Person()
        self.agent = how(user, self.places["PROJECT"], self.person)
        self.lines = []

    def fill(self, text):
        for name, path in self.places.items():
            text = text.replace(name, path)
        return text

    def show(self, text):
        for name, path in self.places.items():
            text = text.replace(path, name)
        return re.sub(r"\(\d+\) deny", "(PID) deny", text)

    def set(self, more):
        settings(self.user, **json.loads(self.fill(json.dumps({**RULES, **more}))))

    def do(self, command, how):
        """A step, and its lines of the transcript."""
        if "settings" in how:
            self.set(how["settings"])
            return ["(the user changes the settings: " + json.dumps(how["settings"]) + ")"]
        if "grant" in how:
            r = self.user.call([running.BUCKLE, "grant", "--write", self.fill(how["grant"]), "--session",
                                str(self.agent.session)])
            return [f"(the user grants {how['grant']}: {'yes' if r.status < 2 else r.err})"]
        self.person.yes, self.person.host, self.person.asked = how.get("yes"), how.get("host"), 0
        agent = self.agent.sub_agent() if how.get("sub_agent") else self.agent
        if "host" in how:
            agent.watch()
        result = agent.bash(self.fill(command), how.get("bypass", False))
        if "host" in how:
            agent.unwatch()
        if agent is not self.agent:
            agent.close()
        asked = ["  the user is asked" + ("" if how.get("yes", how.get("host") != "deny") else ", and says no")]
        flags = [name for name in ("bypass", "sub_agent") if how.get(name)]
        return [f"$ {command}" + (f"   ({', '.join(flags)})" if flags else ""), *(asked * self.person.asked),
                *describe(result)]

    def run(self):
        for command, how in STEPS:
            self.lines += [self.show(line) for line in self.do(command, how)]
        return "\n".join(self.lines) + "\n"


def test_session(user, t, how):
    s = Session(user, how)
    text = s.run()
    if "ACCEPT" in os.environ and how is ByMcp:
        with open(TRANSCRIPT, "w", encoding="utf-8") as f:
            f.write(text)
    with open(TRANSCRIPT, encoding="utf-8") as f:
        want = f.read()
    changed = list(difflib.unified_diff(want.splitlines(), text.splitlines(), "transcript", how.name, lineterm="", n=2))
    t.ok(not changed, f"{how.name}: the session is the one of the transcript", *changed)
    r = user.call([running.BUCKLE, "session", "--list"])
    t.ok(re.search(rf"^{s.agent.session}  .*\n(.*\n)*?  \d+  background  python3 -m http.server .*\(port {PORT}\)$",
                   r.out, re.M), f"{how.name}: `buckle session` lists the server", r)
    s.agent.close()
    t.ok(eventually(lambda: not processes(rf"http\.server {PORT}")), f"{how.name}: it ends with the agent")
    settings(user)


def test_mcp(user, t):
    test_session(user, t, ByMcp)


def test_hook(user, t):
    test_session(user, t, ByHook)


if __name__ == "__main__":
    for_everybody([test_mcp, test_hook])
    sys.exit(done())
