#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every row of src/agent/decisions.def, in every permission mode: `buckle decide`, the hook and the MCP
server do what the row says. The table in docs/agents.md is what `buckle decide --table` prints.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import running
from agents import Client, call, hook, hook_output, settings
from running import PEOPLE, for_everybody
from tap import done

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MODES = ("client", "prompt", "open", "none")

# How to get to a row: settings, command, bypass, plan mode.
WAYS = {
    "PLANNING": ({}, "true", False, True),
    "NO_COMMAND": ({}, " ", False, False),
    "COMMAND_DENIED": ({"commands": [{"match": "true *", "deny": True}]}, "true", False, False),
    "DISABLED_ASKED": ({"commands": [{"match": "true *", "ask": True}], "enabled": False}, "true", False, False),
    "COMMAND_ASKED": ({"commands": [{"match": "true *", "ask": True}]}, "/bin/true", False, False),
    "DISABLED": ({"enabled": False}, "true", False, False),
    "BYPASS_ALLOWED": ({"allowUnsandboxedCommands": True}, "true", True, False),
    "EXCLUDED": ({"excludedCommands": ["true:*"]}, "true", False, False),
    "BYPASS_AUTO": ({"autoAllowBashIfSandboxed": True}, "true", True, False),
    "BYPASS": ({}, "true", True, False),
    "AUTO_ALLOW": ({"autoAllowBashIfSandboxed": True}, "true", False, False),
    "ANY": ({}, "true", False, False),
}


def read_table():
    """Rows as [(when, where, {mode: verb}, reason)]."""
    with open(SOURCE + "/src/agent/decisions.def", encoding="utf-8") as f:
        rows = re.findall(r'^DECISION\((\w+), ".*?", (\w+), (\w+), (\w+), (\w+), "(.*)"\)$', f.read(), re.M)
    return [(when, where, {"client": client, "prompt": prompt, "open": opened, "none": "REFUSE"}, reason)
            for when, where, client, prompt, opened, reason in rows]


def plain(reason):
    """Without the place of the rule."""
    return re.sub(r" \(user settings, line \d+\)", "", reason)


def by_decide(user, folder, mode, way):
    _, command, bypass, plan = way
    r = user.call([running.BUCKLE, "decide", "--json", "--mode", mode, *(["--bypass"] if bypass else []),
                   *(["--plan"] if plan else []), command], cwd=folder)
    said = json.loads(r.out)
    return said["decision"], said["sandboxed"], plain(said["reason"]), r.status


def by_hook(user, folder, mode, way):
    _, command, bypass, plan = way
    _, a = hook(user, {"command": command, "cwd": folder, "mode": "plan" if plan else mode,
                       "dangerouslyDisableSandbox": bypass, "asks": True}, cwd=folder)
    return a["decision"], a["sandboxed"], plain(a["reason"])


def by_mcp(user, folder, mode, way):
    """Whether it ran, whether inside, how often somebody was asked."""
    _, command, bypass, plan = way
    asked = []
    c = Client(user, folder, "--mode", mode, *(["--plan"] if plan else []),
               answer=lambda text: asked.append(text) or {"action": "accept", "content": {}})
    output = c.bash(command, **({"dangerouslyDisableSandbox": True} if bypass else {}))
    c.close()
    return not output.error, output.facts.get("sandboxed", False), len(asked)


def test_rows(user, t):
    folder = user.folder()
    table = read_table()
    t.equal(sorted(row[0] for row in table), sorted(WAYS), "every row is tried")
    for when, where, verbs, reason in table:
        way = WAYS[when]
        settings(user, **way[0])
        for mode in MODES:
            verb, inside = verbs[mode], where == "INSIDE" and verbs[mode] != "REFUSE"
            reason = "tools are disabled" if mode == "none" else reason
            words = {"REFUSE": "refuse", "ASK": "ask", "CLIENT": "client",
                     "RUN": "run-sandboxed" if inside else "run-outside"}
            status = {"REFUSE": 1, "ASK": 4, "CLIENT": 5, "RUN": 0 if inside else 3}
            t.equal(by_decide(user, folder, mode, way), (words[verb], inside, reason, status[verb]),
                    f"{when}, {mode}: decide")
            # the hook approves only what Buckle confines
            words = {"REFUSE": "deny", "ASK": "ask", "CLIENT": "client", "RUN": "allow" if inside else "client"}
            if not (when == "PLANNING" and mode == "none"):
                t.equal(by_hook(user, folder, mode, way), (words[verb], inside, reason), f"{when}, {mode}: hook")
            # its client cannot know which calls run outside
            asks = verb == "ASK" or (verb == "CLIENT" and not inside)
            t.equal(by_mcp(user, folder, mode, way), (verb != "REFUSE", inside, int(asks)), f"{when}, {mode}: mcp")
    settings(user)


def test_prompt(user, t):
    """Settings that say prompt are the mode prompt, in all three."""
    folder = user.folder()
    for when, where, verbs, _ in read_table():
        way = WAYS[when]
        settings(user, prompt=True, **way[0])
        _, a = hook(user, call(way[1], folder, mode="plan" if way[3] else "default",
                               **({"dangerouslyDisableSandbox": True} if way[2] else {})))
        words = {"REFUSE": "deny", "ASK": "ask", "RUN": "allow"}
        t.equal((hook_output(a).get("permissionDecision"), "updatedInput" in hook_output(a)),
                (words[verbs["prompt"]], where == "INSIDE"), f"{when}: hook")
        decided = by_decide(user, folder, "client", way)[0]
        t.ok(decided.startswith({"REFUSE": "refuse", "ASK": "ask", "RUN": "run"}[verbs["prompt"]]),
             f"{when}: decide", decided)
        asked = by_mcp(user, folder, "client", way)[2]
        t.equal(asked, int(verbs["prompt"] == "ASK"), f"{when}: mcp")
    settings(user)


def test_docs(user, t):
    if user is not PEOPLE[0]:
        return
    r = user.call([running.BUCKLE, "decide", "--table"])
    with open(SOURCE + "/docs/agents.md", encoding="utf-8") as f:
        t.ok(r.status == 0 and r.out in f.read(), "the documentation has this table", r)


if __name__ == "__main__":
    for_everybody([test_rows, test_prompt, test_docs])
    sys.exit(done())
