#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nobody's consent is made up: what the settings ask about runs only if somebody was asked. Agents whose
hooks cannot ask, or that take "ask" for a yes, are played as their documentation or their bug reports
describe them: they run whatever the hook's answer makes them run.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import running
from agents import PLUGIN, call, hook, hook_output, settings
from running import for_everybody
from tap import done

# What an agent runs after an answer; None: nothing.


def codex(r, a, command):
    """Takes "ask", and everything else that it does not know, for no answer at all."""
    said = hook_output(a)
    if r.status == 2 or said.get("permissionDecision") == "deny":
        return None
    return said["updatedInput"]["command"] if said.get("permissionDecision") == "allow" else command


def claude(r, a, command):
    """In modes in which it asks nobody: "ask" is a yes."""
    said = hook_output(a)
    if r.status == 2 or said.get("permissionDecision") == "deny":
        return None
    return said.get("updatedInput", {}).get("command", command)


def cursor(r, a, command):
    if r.status == 2 or a.get("permission") == "deny":
        return None
    return a.get("updated_input", {}).get("command", command)


def older_plugin(r, a, command):
    """The plug-ins of earlier versions did not look at the decision about a command inside."""
    if r.status != 0:
        return None
    if a.get("sandboxed") is True:
        return a["command"]
    return command if a.get("decision") == "allow" else None


def gemini(r, a, command):
    """Versions that do not know "ask"."""
    if r.status == 2 or a.get("decision") in ("deny", "block"):
        return None
    return a.get("hookSpecificOutput", {}).get("tool_input", {}).get("command", command)


def by_status(r, _, command):
    return None if r.status == 2 else command


def messages(folder):
    """Each agent's message about COMMAND, what it runs then, and options of the hook."""
    shell = {"command": "COMMAND", "dangerouslyDisableSandbox": True}
    common = {"session_id": folder, "cwd": folder}
    claudes = {f"Claude Code, mode {mode}": (call("COMMAND", folder, mode=mode, dangerouslyDisableSandbox=True), claude, [])
               for mode in ("bypassPermissions", "auto", "dontAsk", "another")}
    unnamed = call("COMMAND", folder, dangerouslyDisableSandbox=True)
    del unnamed["permission_mode"]
    return {
        **claudes,
        "Claude Code's format without a mode": (unnamed, claude, []),
        "Codex": ({**call("COMMAND", folder, dangerouslyDisableSandbox=True), "turn_id": "t", "model": "m"}, codex, []),
        "Cursor": ({"hook_event_name": "preToolUse", "tool_name": "Shell", "conversation_id": folder, "cwd": folder,
                    "tool_input": shell}, cursor, []),
        "an older Gemini CLI": ({"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "cwd": folder,
                                 "session_id": folder, "tool_input": shell}, gemini, []),
        "an older plug-in": ({**common, **shell}, older_plugin, []),
        "Windsurf": ({"agent_action_name": "pre_run_command", "trajectory_id": folder,
                      "tool_info": {"command_line": "COMMAND", "cwd": folder}}, by_status, ["--by-status"]),
        "Cline": ({"hookName": "PreToolUse", "taskId": folder, "workspaceRoots": [folder],
                   "preToolUse": {"toolName": "execute_command", "parameters": shell}}, by_status, ["--by-status"]),
    }


def run_as(user, folder, command, message, reads, words):
    """Plays the agent. Returns the hook's answer."""
    r, a = hook(user, json.dumps(message).replace("COMMAND", command), *words, cwd=folder)
    then = reads(r, a, command)
    if then is not None:
        user.call(["bash", "-c", then], cwd=folder, start_new_session=True)
    return r


def plugins(user):
    """The installed plug-ins, as Node loads them."""
    if running.missing("node"):
        return {}
    home = user.folder("plugins")
    for agent in ("opencode", "amp"):
        user.call([running.BUCKLE, "hook", "--install", agent], env={"HOME": home})
    user.sh(f"cp {home}/.config/amp/plugins/buckle.ts {home}/amp.mjs")
    return {"OpenCode": f"{home}/.config/opencode/plugins/buckle.js", "Amp": f"{home}/amp.mjs"}


def plugin(user, folder, path, command, confirms="none", config=None, agent=None):
    """Node plays the host: it runs what the plug-in makes of the command. config: OpenCode's."""
    script = user.write(f"{folder}/drive.mjs", PLUGIN)
    words = [json.dumps([config, agent])] if config else []
    return user.call(["node", script, path, json.dumps([["bash", command]]), confirms, *words], cwd=folder)


def project(user):
    folder = user.folder()
    user.write(f"{folder}/bin/tool", "#!/bin/sh\n[ $1 = push ] && echo x >>pushed\necho ran $1\n", 0o755)
    return folder


def gone(path):
    """Whether the file is missing. Afterwards it is."""
    there = os.path.exists(path)
    if there:
        os.remove(path)
    return not there


def attack(user, t, what, command, made):
    """Every agent tries; nothing makes the file."""
    folder = project(user)
    command, made = command.replace("FOLDER", folder), made.replace("FOLDER", folder)
    for name, how in messages(folder).items():
        r = run_as(user, folder, command, *how)
        t.ok(gone(made), f"{name}: {what}", r)
    for name, path in plugins(user).items():
        r = plugin(user, folder, path, command)
        t.ok(gone(made), f"{name}: {what}", r)


def test_rule(user, t):
    """A rule that asks, in a session where nobody watches."""
    settings(user, autoAllowBashIfSandboxed=True, commands=[{"match": "tool push *", "ask": True}])
    attack(user, t, "what a rule asks about does not run unasked", "bin/tool push", "FOLDER/pushed")
    folder = project(user)
    for name, how in messages(folder).items():
        if how[1] is by_status:
            continue
        run_as(user, folder, "bin/tool pull >>pulled; bin/tool push; true", *how)
        t.ok(not gone(f"{folder}/pulled") and gone(f"{folder}/pushed"),
             f"{name}: the rest of the line runs, in the sandbox")
    for mode in ("default", "acceptEdits"):
        r = run_as(user, folder, "bin/tool push", call("COMMAND", folder, mode=mode), claude, [])
        t.ok('"ask"' in r.out and not gone(f"{folder}/pushed"),
             f"where the agent asks, its user's yes is one for the run, too ({mode})", r)
    r = run_as(user, folder, "bin/tool push", {"command": "COMMAND", "cwd": folder, "asks": True}, older_plugin, [])
    t.ok('"ask"' in r.out and not gone(f"{folder}/pushed"), "so in another program that says that it asks", r)
    settings(user)


def test_prompt(user, t):
    """The setting that asks about every command."""
    settings(user, prompt=True)
    for name, how in messages(folder := project(user)).items():
        if how[1] in (older_plugin, gemini):  # they ignore the answer, so only the sandbox is left
            continue
        r = run_as(user, folder, "touch made", *how)
        t.ok(gone(f"{folder}/made"), f"{name}: prompt, and nobody is asked: nothing runs", r)
    for name, path in plugins(user).items():
        r = plugin(user, folder, path, "touch made")
        t.ok(gone(f"{folder}/made") and "ask" in r.out, f"{name}: prompt, and nobody is asked: nothing runs", r)
    settings(user, prompt=True, excludedCommands=["touch:*"])
    attack(user, t, "an excluded command that prompt asks about", "touch FOLDER.outside", "FOLDER.outside")
    settings(user)
    for name, path in plugins(user).items():
        r = plugin(user, folder, path, "touch made")
        t.ok(not gone(f"{folder}/made"), f"{name}: without it the agent's own rules decide", r)


def test_bypass(user, t):
    """A bypass that the settings allow, if the user agrees."""
    settings(user, autoAllowBashIfSandboxed=True, allowUnsandboxedCommands=True)
    attack(user, t, "a bypass is not granted unasked", "touch FOLDER.outside", "FOLDER.outside")
    settings(user, enabled=False, commands=[{"match": "tool push *", "ask": True}])
    attack(user, t, "without a sandbox: what a rule asks about does not run unasked", "bin/tool push", "FOLDER/pushed")
    settings(user)


# OpenCode's rules, a command, and whether it may run; it never asks about the hook's command by itself here
OPENCODE = (
    ({}, "touch made", True),
    ({"permission": "deny"}, "touch made", False),
    ({"permission": {"bash": "deny"}}, "touch made", False),
    ({"permission": {"*": "deny", "bash": "allow"}}, "touch made", True),
    ({"permission": {"edit": "deny"}}, "touch made", True),
    ({"permission": {"bash": {"*": "allow", "touch *": "deny"}}}, "touch made", False),
    ({"permission": {"bash": {"*": "allow", "touch": "deny"}}}, "touch made", True),
    ({"permission": {"bash": {"*": "allow", "touch ma?e": "deny"}}}, "true && touch made", False),
    ({"permission": {"bash": {"*": "allow", "touch *": "deny"}}}, "X=1 'touch' made", False),
    ({"permission": {"bash": {"*": "allow", "touch *": "deny"}}}, "echo $(touch made)", False),
    ({"permission": {"bash": {"*": "allow", "ls *": "deny"}}}, "ls; touch made", False),
    ({"permission": {"bash": {"touch *": "deny", "*": "allow"}}}, "touch made", True),
    ({"permission": {"bash": {"*": "deny", "touch *": "allow"}}}, "touch made", True),
    ({"permission": {"bash": {"*": "allow", "touch *": "ask"}}}, "touch made", False),
    ({"permission": {"bash": {"*": "ask", "*buckle*": "allow"}}}, "touch made", False),
    ({"permission": {"bash": {"*": "ask"}}}, "touch made", True),
    ({"agent": {"build": {"permission": {"bash": {"touch *": "deny"}}}}}, "touch made", False),
    ({"agent": {"plan": {"permission": {"bash": {"touch *": "deny"}}}}}, "touch made", True),
)


def test_opencode(user, t):
    """OpenCode sees the hook's command, so the hook applies OpenCode's rules to the original one."""
    path = plugins(user).get("OpenCode")
    if not path:
        return
    settings(user, autoAllowBashIfSandboxed=True)
    folder = project(user)
    for config, command, runs in OPENCODE:
        r = plugin(user, folder, path, command, config=config)
        t.equal(gone(f"{folder}/made"), not runs, f"OpenCode: {json.dumps(config)}: {command}", )
        t.ok(runs or "own settings" in r.out, "  and the model learns why", r)
    config = {"agent": {"plan": {"permission": {"bash": {"touch *": "deny"}}}}}
    r = plugin(user, folder, path, "touch made", config=config, agent="plan")
    t.ok(gone(f"{folder}/made"), "OpenCode: the rules are those of the agent that speaks", r)
    settings(user)


if __name__ == "__main__":
    for_everybody([test_rule, test_prompt, test_bypass, test_opencode])
    sys.exit(done())
