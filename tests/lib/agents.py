# SPDX-License-Identifier: Apache-2.0
"""Agents for the end-to-end tests: a client of `buckle mcp`, and a caller of `buckle hook`."""

import json
import os
import select
import subprocess
import time

import running


def settings(user, **values):
    """The user's own settings."""
    return user.write(f"{user.home}/.config/buckle/settings.json", json.dumps(values))


class Client:
    """A client with its own server."""

    def __init__(self, user, folder, *words, capabilities=None, greet=True, env=None, answer=None, stderr=None):
        """answer: a function of a question's text, to its answer ({"action": …})."""
        self.answer = answer
        capabilities = {"elicitation": {}} if answer and not capabilities else capabilities
        self.child = user.start([running.BUCKLE, "mcp", *words], cwd=folder, env=env,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        self.rest, self.last, self.notes = b"", 0, []
        if greet:
            self.hello = self.ask("initialize", {"protocolVersion": "2025-06-18",
                                                 "capabilities": capabilities or {},
                                                 "clientInfo": {"name": "test", "version": "1"}})
            self.send({"method": "notifications/initialized"})

    def raw(self, data):
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def send(self, message):
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def read(self, timeout=20):
        end = time.monotonic() + timeout
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.child.stdout], [], [], max(0, end - time.monotonic()))
            got = os.read(self.child.stdout.fileno(), 1 << 20) if ready else b""
            if not got:
                raise RuntimeError("no answer")
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def begin(self, method, params=None):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params or {}})
        return self.last

    def wait(self, number, timeout=30):
        """Returns the answer to a request, and keeps other messages that arrive meanwhile."""
        for _ in range(100000):
            message = self.read(timeout)
            if message.get("id") == number and "method" not in message:
                return message
            self.notes.append(message)
            if self.answer and message.get("method") == "elicitation/create":
                self.send({"id": message["id"], "result": self.answer(message["params"]["message"])})
        raise RuntimeError("no answer")

    def ask(self, method, params=None, timeout=30):
        return self.wait(self.begin(method, params), timeout)

    def tool(self, name, **arguments):
        """A tool's result: its text and its structured content."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments}, 90)["result"]
        return Answer(result)

    def bash(self, command, **arguments):
        return self.tool("bash", command=command, **arguments)

    def close(self):
        self.child.stdin.close()
        try:
            return self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            return None


class Answer:
    def __init__(self, result):
        self.text = result["content"][0]["text"]
        self.error = result["isError"]
        self.facts = result.get("structuredContent", {})

    def __str__(self):
        return f"error {self.error}: {self.text[:500]}\n{str(self.facts)[:500]}"


def hook(user, message, *words, cwd=None):
    text = message if isinstance(message, str) else json.dumps(message)
    r = user.call([running.BUCKLE, "hook", *words], stdin=text, cwd=cwd)
    try:
        return r, json.loads(r.out)
    except ValueError:
        return r, {}


def call(command, cwd, tool="Bash", mode="default", **more):
    """Uses a separate session for each folder, because a session stays in its first one."""
    return {"hook_event_name": "PreToolUse", "session_id": cwd, "cwd": cwd, "permission_mode": mode,
            "tool_name": tool, "tool_input": {"command": command, "description": "d", **more}}


def hook_output(answer):
    return answer.get("hookSpecificOutput", {})


# An agent as a process: calls the hook before each command, and runs its answer, as agents do.
AGENT = """
import json, os, subprocess, sys, tempfile
for line in sys.stdin:
    how = json.loads(line)
    given = {"command": how["command"], **how["input"]}
    message = {"hook_event_name": "PreToolUse", "session_id": how["id"], "cwd": how["cwd"], "tool_name": "Bash",
               "transcript_path": "/dev/null", "permission_mode": "default", "tool_use_id": "1", "tool_input": given,
               **how["more"]}
    a = subprocess.run([sys.argv[1], "hook", *sys.argv[2:]], input=json.dumps(message), capture_output=True, text=True, cwd=how["cwd"])
    said = json.loads(a.stdout).get("hookSpecificOutput", {})
    given = said.get("updatedInput", given)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(["bash", "-c", given["command"]], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 cwd=how["cwd"], start_new_session=True)
        try:
            status = child.wait(how["timeout"])
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 15)
            status = child.wait()
        out.seek(0), err.seek(0)
        print(json.dumps([status, out.read(), err.read(), given["command"]]), flush=True)
"""


class HookAgent:
    """An agent with our hook, started in a folder."""

    def __init__(self, user, folder, *words, env=None):
        """words: options of the hook."""
        self.folder, self.wrapped = folder, ""
        script = user.write(f"{user.home}/hook-agent.py", AGENT)
        self.child = user.start(["python3", script, running.BUCKLE, *words], cwd=folder, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, env=env)

    def bash(self, command, session="one", cwd=None, timeout=60, more=None, **given):
        """Exit status, output and error output."""
        self.child.stdin.write(json.dumps({"command": command, "id": session, "cwd": cwd or self.folder, "input": given,
                                           "more": more or {}, "timeout": timeout}).encode() + b"\n")
        self.child.stdin.flush()
        status, out, err, self.wrapped = json.loads(self.child.stdout.readline())
        return status, out, err

    @property
    def session(self):
        """The process of the agent's session, or 0."""
        found = [p for p, _ in running.processes(rf"buckle session --for {self.child.pid}\b")]
        return found[0] if found else 0

    def close(self):
        self.child.stdin.close()
        self.child.wait(10)


# A host of the plug-ins for OpenCode and Amp: loads one, sends it tool calls, and runs what comes back.
PLUGIN = """
const { spawnSync } = await import("node:child_process")
const run = async () => {
  const { default: amp, Buckle } = await import(process.argv[2])
  const say = (x) => console.log(JSON.stringify(x))
  if (Buckle) {
    const hooks = await Buckle({ directory: process.cwd() })
    if (process.argv[5]) {
      const [config, agent] = JSON.parse(process.argv[5])
      await hooks.config(config)
      await hooks["chat.message"]({ sessionID: "s", agent }, {})
    }
    for (const [tool, command] of JSON.parse(process.argv[3])) {
      const output = { args: { command } }
      try {
        await hooks["tool.execute.before"]({ tool, sessionID: "s", callID: "c" }, output)
        say(output.args.command)
        if (tool === "bash") say(spawnSync("sh", ["-c", output.args.command], { encoding: "utf8" }).stdout)
      } catch (e) { say({ error: e.message }) }
    }
  } else {
    let handler
    amp({ on: (name, f) => { handler = f }, helpers: {
      shellCommandFromToolCall: (e) => e.tool === "bash" ? { command: e.input.cmd } : null } })
    for (const [tool, cmd] of JSON.parse(process.argv[3])) {
      const a = await handler({ tool, input: { cmd }, thread: { id: "T-1" } })
      say(a)
      if (tool === "bash" && a.input) say(spawnSync("sh", ["-c", a.input.cmd], { encoding: "utf8" }).stdout)
    }
  }
}
run()
"""
