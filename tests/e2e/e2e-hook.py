#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle hook`, as agents call it before their tools: its answers, that the rewritten command runs in
the sandbox and is annotated, that a session keeps denials while the agent lives, and that no failure
lets a command through.
"""

import json
import os
import subprocess
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import running
from agents import call, hook, hook_output, settings
from running import eventually, for_everybody, processes
from tap import done, skip


def has_name(pid, name):
    """Whether a process has this name: its helpers have another, and the same command line."""
    with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read() == name + "\n"


def test_decisions(user, t):
    folder = user.folder()
    settings(user, autoAllowBashIfSandboxed=True, excludedCommands=["docker:*"])
    r, a = hook(user, call("make", folder))
    t.ok(r.status == 0 and hook_output(a)["permissionDecision"] == "allow" and
         hook_output(a)["updatedInput"]["command"].startswith(running.CLIENT + " run ") and
         hook_output(a)["updatedInput"]["description"] == "d", "a command is put into the sandbox", r)
    for mode in ("default", "bypassPermissions"):
        _, a = hook(user, call("docker ps", folder, mode=mode))
        t.equal(a, {}, f"what runs outside is left to the agent's own rules ({mode})")
    _, a = hook(user, call("docker ps | sh", folder, mode="bypassPermissions"))
    t.ok("updatedInput" in hook_output(a), "but not with something behind it", a)
    _, a = hook(user, call("ls", folder, dangerouslyDisableSandbox=True))
    t.ok(hook_output(a)["permissionDecision"] == "allow" and "updatedInput" in hook_output(a) and
         hook_output(a)["updatedInput"]["dangerouslyDisableSandbox"] is False,
         "a bypass that settings do not allow becomes a command inside", a)
    settings(user, autoAllowBashIfSandboxed=True, allowUnsandboxedCommands=True)
    for mode in ("default", "acceptEdits"):
        _, a = hook(user, call("ls", folder, mode=mode, dangerouslyDisableSandbox=True))
        t.ok(hook_output(a)["permissionDecision"] == "ask" and "updatedInput" not in hook_output(a),
             f"a bypass is asked about ({mode})", a)
    for mode in ("bypassPermissions", "auto"):
        _, a = hook(user, call("ls", folder, mode=mode, dangerouslyDisableSandbox=True))
        t.ok("updatedInput" in hook_output(a), f"in a mode in which Claude Code asks nobody it is not heard ({mode})", a)
    _, a = hook(user, call("ls", folder, mode="plan"))
    t.equal(hook_output(a)["permissionDecision"], "deny", "nothing runs while a plan is made")
    _, a = hook(user, call("ls", folder, tool="Read"))
    t.equal(a, {}, "other tools are left alone")
    settings(user)
    _, a = hook(user, call("ls", folder))
    t.ok("permissionDecision" not in hook_output(a) and " run " in hook_output(a)["updatedInput"]["command"],
         "without autoAllow the agent's own rules decide about approval, inside", a)
    settings(user, prompt=True)
    _, a = hook(user, call("ls", folder))
    t.ok(hook_output(a)["permissionDecision"] == "ask" and "updatedInput" in hook_output(a),
         "unless settings say prompt", a)
    settings(user, enabled=False)
    _, a = hook(user, call("ls", folder))
    t.equal(a, {}, "disabled, there is no hook")
    settings(user)


def test_client_rules(user, t):
    """The agent's own rules, which would not match the rewritten command."""
    folder = user.folder()
    settings(user)
    user.write(folder + "/.claude/settings.json", json.dumps({"permissions": {
        "allow": ["Bash(npm test:*)", "Bash(git status)", "Read(./x)"], "ask": ["Bash(git push:*)"],
        "deny": ["Bash(rm:*)", "Bash(curl *)"]}}))
    user.write(user.home + "/.claude/settings.json", json.dumps({"permissions": {
        "allow": ["Bash(ls:*)", "Bash(rm:*)"]}}))
    for command, wanted in (("npm test", "allow"), ("npm test && git status", "allow"), ("ls -l", "allow"),
                            ("npm install", None), ("npm test; npm install", None), ("npm test $(id)", None),
                            ("npm test > x", None), ("git push origin", "ask"),
                            ("npm test && git push", "ask"), ("rm x", "deny"), ("ls; rm x", "deny"),
                            ("ls $(rm x)", "deny"), ("env A=1 rm x", "deny"), ("if true; then rm x; fi", "deny"),
                            ("cat <<E | sh\nrm x\nE", "deny"), ("echo 'a; rm x'", None),
                            ("curl http://x", "deny"), ("bash -c 'rm x'", None)):
        _, a = hook(user, call(command, folder))
        t.equal(hook_output(a).get("permissionDecision"), wanted, f"{command!r}: {wanted}")
        t.equal("updatedInput" in hook_output(a), wanted != "deny", f"{command!r}: what runs is confined")
    settings(user, autoAllowBashIfSandboxed=True)
    for command, wanted in (("npm install", "allow"), ("git push", "ask"), ("rm x", "deny")):
        _, a = hook(user, call(command, folder))
        t.equal(hook_output(a).get("permissionDecision"), wanted, f"autoAllow, {command!r}: {wanted}")
    settings(user)
    user.sh(f"rm -r {user.home}/.claude")


def gemini(command, folder, **more):
    return {"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "cwd": folder,
            "session_id": folder,
            "tool_input": {"command": command, **more}}


def test_gemini_rules(user, t):
    """Gemini CLI applies its rules to what the hook returns. So what they deny or ask about, the hook does."""
    folder = user.folder()
    home, project = user.home + "/.gemini", folder + "/.gemini"
    user.write(home + "/policies/mine.toml", """
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["rm -rf", "curl"]
decision = "deny"
priority = 100

[[rule]]
commandPrefix = "git"
decision = "ask_user"
priority = 100

[[rule]]
commandPrefix = "git status"
decision = "allow"
priority = 200

[[rule]]
commandRegex = "npm (publish|login)"
decision = "deny"
priority = 10

[[rule]]
toolName = "write_file"
decision = "deny"
""")
    user.write(home + "/settings.json", '{ // mine\n"tools": {"exclude": ["run_shell_command(shutdown)"]},}')
    user.write(project + "/policies/theirs.toml", '[[rule]]\ncommandPrefix = "curl"\ndecision = "allow"\npriority = 999\n')
    settings(user)
    for command, wanted in [("rm -rf x", "deny"), ("ls && rm -rf x", "deny"), ("rmdir x", None), ("git push", "ask"),
                            ("git status", None), ("curl x", "deny"), ("shutdown now", "deny"), ("env curl x", "deny"),
                            ("npm publish", "deny"), ("npm test", None), ("echo $(curl x)", "deny")]:
        _, a = hook(user, gemini(command, folder), cwd=folder)
        t.equal(a.get("decision"), wanted, f"{command}: {wanted}")
        t.equal("hookSpecificOutput" in a, wanted != "deny", f"{command}: runs in the sandbox if it runs")
    user.write(home + "/policies/more.toml", '[[rule]]\ncommandRegex = "(?<=x)y"\ndecision = "deny"\n')
    _, a = hook(user, gemini("make", folder), cwd=folder)
    t.equal(a.get("decision"), "ask", "a rule that is not understood is a question")
    user.sh(f"rm -r {home} {project}")


def test_codex_rules(user, t):
    """Codex applies its rules to what the hook returns. So what they forbid or ask about does not run."""
    folder = user.folder()
    settings(user, autoAllowBashIfSandboxed=True)
    rules = '''# mine: prefix_rule(pattern=["ls"], decision="forbidden")
prefix_rule(pattern=["make"], decision="allow")
prefix_rule(
    pattern = ["git", ["push", "fetch"], 'origin'],  # a list is any of them
    decision = "forbidden",
    justification = "use, \\"jj\\" (or ask)",
    match = [["git", "push", "origin"], "git fetch origin"],
)
host_executable(name = "git", paths = ["/usr/bin/git"])
prefix_rule(decision='prompt', pattern=['npm', 'publish'])
prefix_rule(pattern=["rm"], decision="forbidden")
'''
    user.write(f"{user.home}/.codex/rules/default.rules", rules)
    user.write(f"{user.home}/.claude/settings.json", '{"permissions": {"deny": ["Bash(make:*)"]}}')
    user.write(f"{folder}/.codex/rules/theirs.rules", 'prefix_rule(pattern=["curl"], decision="forbidden")')

    def runs(command):
        _, a = hook(user, {**call(command, folder), "turn_id": "t", "model": "m"}, cwd=folder)
        said = hook_output(a)
        t.ok((said["permissionDecision"] == "allow") == ("updatedInput" in said), f"Codex, {command!r}: one or the other", a)
        return "updatedInput" in said

    for command, wanted in (("make", True), ("git push origin", False), ("git fetch origin x", False), ("git push", True),
                            ("git pull origin", True), ("/usr/bin/git push origin", False), ("npm publish", False),
                            ("npm publisher", True), ("ls", True), ("ls; rm x", False), ("env A=1 rm x", False),
                            ("echo $(rm x)", False), ("rmdir x", True), ("curl x", False), ("git 'push' origin", False)):
        t.equal(runs(command), wanted, f"Codex's rules, {command!r}: {wanted}")
    for name, text in {"a name": 'prefix_rule(pattern=[X], decision="forbidden")', "a sum": 'prefix_rule(pattern=["a"]+B, decision="prompt")',
                       "no name": 'prefix_rule(["rm"], "forbidden")', "an end": 'prefix_rule(pattern=["rm", "',
                       "an escape": 'prefix_rule(pattern=["r\\x6d"], decision="forbidden")',
                       "a name that decides": 'prefix_rule(pattern=["rm"], decision=NO)', "long": "#" * (1 << 18)}.items():
        user.write(f"{user.home}/.codex/rules/default.rules", text)
        t.ok(not runs("make"), f"Codex: a rule that is not understood might be about every command: {name}")
    user.write(f"{user.home}/.codex/rules/default.rules", 'prefix_rule(pattern=[X] + y, decision="allow")\nprefix_rule(pattern=Y)')
    t.ok(runs("make"), "Codex: one that allows need not be understood")
    user.sh(f"rm -r {user.home}/.codex {user.home}/.claude {folder}/.codex")
    t.ok(runs("rm x"), "Codex: without rules it runs")
    settings(user)


def test_dialects(user, t):
    folder = user.folder()
    settings(user, autoAllowBashIfSandboxed=True)
    _, a = hook(user, gemini("make", folder, directory="sub"))
    t.ok(a["decision"] == "allow" and
         " run " in a["hookSpecificOutput"]["tool_input"]["command"], "BeforeTool", a)
    _, a = hook(user, gemini("make", folder, dangerouslyDisableSandbox=True))
    t.ok(" run " in a["hookSpecificOutput"]["tool_input"]["command"] and
         a["hookSpecificOutput"]["tool_input"]["dangerouslyDisableSandbox"] is False,
         "where nobody can be asked, a bypass is not heard", a)
    user.write(folder + "/sub/.buckle/settings.json", '{"enabled": nope}')
    r, a = hook(user, gemini("make", folder, directory="sub"))
    t.ok(r.status == 0 and f" --root {folder} " in a["hookSpecificOutput"]["tool_input"]["command"],
         "a folder that is chosen is neither the root nor has settings", r)
    user.write(folder + "/.buckle/settings.json", '{"enabled": nope}')
    r, a = hook(user, gemini("make", folder, directory="sub"))
    t.ok(r.status == 2 and folder + "/.buckle" in r.err, "those of the message's folder count", r)
    user.sh(f"rm -r {folder}/.buckle {folder}/sub")
    _, a = hook(user, {"toolName": "bash", "toolArgs": {"command": "make"}, "cwd": folder})
    t.ok(a["permissionDecision"] == "allow" and " run " in a["modifiedArgs"]["command"],
         "preToolUse", a)
    _, a = hook(user, {"toolName": "bash", "toolArgs": '{"command": "make", "mode": "sync"}', "cwd": folder})
    t.ok(a["permissionDecision"] == "allow" and " run " in a["modifiedArgs"]["command"] and
         a["modifiedArgs"]["mode"] == "sync", "preToolUse with arguments as text", a)
    for given in ("make", "[]", '{"command": 1', '{"command": "a", "command": "b"}', "", None, 7):
        r, a = hook(user, {"toolName": "bash", "toolArgs": given, "cwd": folder})
        t.ok(r.status == 2 and a["permissionDecision"] == "deny", f"preToolUse with arguments that are none: {given!r}", r)
        r, a = hook(user, {"toolName": "apply_patch", "toolArgs": given, "cwd": folder})
        t.ok(r.status == 0 and a == {}, f"which another tool may have: {given!r}", r)
    _, a = hook(user, {"hook_event_name": "beforeShellExecution", "command": "make", "cwd": folder})
    t.ok(a["permission"] == "deny" and "MCP" in a["agentMessage"],
         "where a command cannot be replaced it does not run", a)
    _, a = hook(user, {"command": "make", "cwd": folder})
    t.ok(a["decision"] == "allow" and a["sandboxed"] and " run " in a["command"], "any other agent", a)
    settings(user, autoAllowBashIfSandboxed=True, allowUnsandboxedCommands=True)
    _, a = hook(user, {"command": "make", "cwd": folder, "dangerouslyDisableSandbox": True, "asks": True})
    t.ok(a["decision"] == "ask" and not a["sandboxed"] and a["command"] == "make",
         "hears where and what it runs", a)
    _, a = hook(user, {"command": "make", "cwd": folder, "mode": "none"})
    t.equal(a["decision"], "deny", "and that nothing does")
    _, a = hook(user, call("make", folder, tool="Terminal"))
    t.equal(a, {}, "a tool that nobody knows is left alone")
    _, a = hook(user, call("make", folder, tool="Terminal"), "--tool", "Terminal")
    t.ok(" run " in hook_output(a)["updatedInput"]["command"], "until it is named", a)
    settings(user)


def test_foreign(user, t):
    """Messages of agents that no dialect covers, as their documentation has them."""
    folder = user.folder()
    settings(user, autoAllowBashIfSandboxed=True, excludedCommands=["docker:*"])
    shell = {"hook_event_name": "preToolUse", "tool_name": "Shell", "conversation_id": folder, "cwd": folder,
             "workspace_roots": [folder], "tool_input": {"command": "make", "working_directory": folder}}
    r, a = hook(user, shell)
    t.ok(r.status == 0 and a["permission"] == "allow" and " run " in a["updated_input"]["command"] and
         a["updated_input"]["working_directory"] == folder and "hookSpecificOutput" not in a, "Cursor: rewritten", r)
    r, a = hook(user, {**shell, "tool_input": {"command": "docker ps"}})
    t.ok(a["permission"] == "deny" and "updated_input" not in a, "Cursor: what would have to be asked is refused", r)
    r, a = hook(user, {**shell, "tool_input": {"command": 7}})
    t.ok(r.status == 2 and a["permission"] == "deny", "Cursor: no command", r)
    codex = {"hook_event_name": "PreToolUse", "session_id": folder, "turn_id": "t", "model": "m", "cwd": folder,
             "permission_mode": "default", "tool_name": "Bash", "tool_use_id": "c", "tool_input": {"command": "make"}}
    for more in ({}, {"autoAllowBashIfSandboxed": True}):
        settings(user, excludedCommands=["docker:*"], **more)
        r, a = hook(user, codex)
        t.ok(hook_output(a)["permissionDecision"] == "allow" and " run " in hook_output(a)["updatedInput"]["command"],
             "Codex: a new command always with allow", r)
        r, a = hook(user, {**codex, "tool_input": {"command": "docker ps"}})
        t.ok(a == {} or hook_output(a)["permissionDecision"] == "deny", "Codex: never an ask, never a bare allow", r)
    qwen = {**codex, "tool_name": "run_shell_command"}
    del qwen["turn_id"]
    for more in ({}, {"autoAllowBashIfSandboxed": True}, {"prompt": True}):
        settings(user, excludedCommands=["docker:*"], **more)
        r, a = hook(user, qwen)
        t.ok(hook_output(a)["permissionDecision"] == "deny" and "updatedInput" not in hook_output(a) and
             "MCP" in hook_output(a)["permissionDecisionReason"], "Qwen Code, which would run the original", r)
    settings(user, excludedCommands=["docker:*"])
    r, a = hook(user, {**qwen, "tool_input": {"command": "docker ps"}})
    t.equal(a, {}, "Qwen Code: what runs outside is left alone", r)
    settings(user, autoAllowBashIfSandboxed=True, excludedCommands=["docker:*"])
    status = {
        "Windsurf": {"agent_action_name": "pre_run_command", "trajectory_id": folder,
                     "tool_info": {"command_line": "COMMAND", "cwd": folder}},
        "Kiro": {"hook_event_name": "preToolUse", "cwd": folder, "session_id": folder, "tool_name": "execute_bash",
                 "tool_input": {"command": "COMMAND"}},
        "Qwen Code": {**codex, "turn_id": None, "tool_name": "run_shell_command", "tool_input": {"command": "COMMAND"}},
        "Kiro 3": {"hook_event_name": "PreToolUse", "cwd": folder, "session_id": folder, "tool_name": "shell",
                   "tool_input": {"command": "COMMAND"}},
        "goose": {"event": "PreToolUse", "session_id": folder, "working_dir": folder, "tool_name": "developer__shell",
                  "tool_input": {"command": "COMMAND"}},
        "Cline": {"clineVersion": "3", "hookName": "PreToolUse", "taskId": folder, "workspaceRoots": [folder],
                  "preToolUse": {"toolName": "execute_command", "parameters": {"command": "COMMAND"}}},
    }
    for agent, message in status.items():
        def asked(command, **more):
            text = json.dumps({**message, **more}).replace("COMMAND", command)
            return hook(user, text, "--by-status", cwd=folder)[0]
        r = asked("make")
        t.ok(r.status == 2 and not r.out and "MCP" in r.err, f"{agent}: a command for inside is refused, and why", r)
        settings(user, enabled=False)
        r = asked("make")
        t.equal(r.status, 0, f"{agent}: without a sandbox its own rules decide", r)
        settings(user, enabled=False, prompt=True)
        r = asked("make")
        t.equal(r.status, 2, f"{agent}: what would have to be asked is refused", r)
        settings(user)
        if agent != "Windsurf":
            other = {"preToolUse": {"toolName": "read_file", "parameters": {}}} if agent == "Cline" else {"tool_name": "read"}
            t.equal(asked("make", **other).status, 0, f"{agent}: another tool is left alone")
        for broken in ({}, [], "x", {**message, "tool_info": {}, "tool_input": {}, "preToolUse": {}}):
            r, _ = hook(user, json.dumps(broken), "--by-status", cwd=folder)
            t.equal(r.status, 2, f"{agent}: not understood is a no", r)
    settings(user)


# what Cursor's settings deny, a command, and whether it is denied
CURSOR = (
    ("Shell(rm)", "rm -rf x", True), ("Shell(rm)", "rmdir x", False), ("Shell(rm)", "ls; /bin/rm x", True),
    ("Shell(rm)", "'rm' x", True), ("Shell(rm)", "echo $(rm x)", True), ("Shell(rm)", "sudo rm x", True),
    ("Shell(git)", "git", True), ("Shell(git:push*)", "git push origin", True), ("Shell(git:push*)", "git pull", False),
    ("Shell(curl:*)", "curl", True), ("Shell(npm*)", "npmx y", True), ("Shell(**)", "anything", True),
    ("Read(rm)", "rm x", False), ("Shell(rm", "rm x", False), ("Shell()", "rm x", False),
)


def test_cursor_rules(user, t):
    """Cursor would apply them to the hook's command."""
    home, folder = user.folder(), user.folder()
    for path in (f"{home}/.cursor/cli-config.json", f"{home}/config/cursor/cli-config.json", f"{folder}/.cursor/cli.json"):
        for rule, command, denied in CURSOR if path.endswith("config.json") and ".cursor" in path else CURSOR[:2]:
            user.write(path, json.dumps({"version": 1, "permissions": {"allow": ["Shell(ls)"], "deny": ["Shell(x)", rule]}}))
            message = {"hook_event_name": "preToolUse", "tool_name": "Shell", "conversation_id": folder, "cwd": folder,
                       "tool_input": {"command": command}}
            r = user.call([running.BUCKLE, "hook"], stdin=json.dumps(message), cwd=folder,
                          env={"HOME": home, "XDG_CONFIG_HOME": f"{home}/config", "CURSOR_PROJECT_DIR": folder})
            said = json.loads(r.out or "{}")
            t.equal(said.get("permission") == "deny", denied, f"Cursor: {rule}: {command}", r)
            t.ok(denied != ("updated_input" in said), "  and what runs is confined", r)
        user.sh(f"rm {path}")


def test_never_open(user, t):
    folder = user.folder()
    for what, text in {"nothing": "", "no JSON": "{", "no object": "[]", "no event": "{}",
                       "another event": '{"hook_event_name": "Stop"}',
                       "no tool": '{"hook_event_name": "PreToolUse", "tool_input": {}}',
                       "no input": '{"hook_event_name": "PreToolUse", "tool_name": "Bash"}',
                       "keys twice": '{"hook_event_name": "PreToolUse", "hook_event_name": "x"}',
                       "a command at another event": '{"hook_event_name": "Stop", "command": "ls"}',
                       "a NUL": json.dumps(call("ls\0; id", folder)),
                       "a flood": "[" * 100000,
                       "too much": json.dumps(call("x" * (17 << 20), folder))}.items():
        r, a = hook(user, text, cwd=folder)
        t.ok(r.status == 2 and hook_output(a).get("permissionDecision") == "deny" and r.err,
             f"{what}: refused", r)
    for what, given in {"no command": {}, "a number": {"command": 7}, "empty": {"command": " "}}.items():
        _, a = hook(user, {**call("x", folder), "tool_input": given})
        t.equal(hook_output(a).get("permissionDecision"), "deny", f"{what}: refused")
    user.write(f"{user.home}/.config/buckle/settings.json", '{"enabled": nope}')
    r, a = hook(user, call("ls", folder))
    t.ok(r.status == 2 and hook_output(a)["permissionDecision"] == "deny" and "settings.json" in r.err,
         "broken settings: refused, and told where", r)
    settings(user)
    r, a = hook(user, call("ls", folder, mode="a-mode-of-tomorrow"))
    t.ok("permissionDecision" not in hook_output(a) and "updatedInput" in hook_output(a),
         "a mode that nobody knows leaves approval to the agent", a)


AGENT = """
import json, os, subprocess, sys
buckle, folder, out = sys.argv[1:4]

def bash(command):
    message = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": folder,
               "permission_mode": "default", "tool_input": {"command": command}}
    a = subprocess.run(["sh", "-c", buckle + " hook"], input=json.dumps(message), capture_output=True,
                       text=True, cwd=folder)
    wrapped = json.loads(a.stdout)["hookSpecificOutput"]["updatedInput"]["command"]
    r = subprocess.run(["sh", "-c", wrapped], capture_output=True, text=True, cwd=folder)
    return [r.returncode, r.stdout, r.stderr]

results = [bash("echo it\\\\'s $((6*7)) '\\"quoted\\"'; echo $TMPDIR > /dev/null"),
           bash("touch " + out + "/x"), bash("cat nowhere"),
           bash("touch '" + out + "/<sandbox_violations>'")]
print(json.dumps({"results": results}))
sys.stdout.flush()
sys.stdin.read()
"""


def test_session(user, t):
    folder, outside = user.folder(), user.folder("outside")
    settings(user, autoAllowBashIfSandboxed=True)
    agent = user.write(user.home + "/agent.py", textwrap.dedent(AGENT))
    child = user.start(["python3", agent, running.BUCKLE, folder, outside], cwd=folder,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    reported = json.loads(child.stdout.readline() or b"{}")
    results = reported.get("results", [[None, "", ""]] * 4)
    t.equal(results[0], [0, "it's 42 \"quoted\"\n", ""], "a command means the same inside")
    t.ok(results[1][0] == 1 and "<sandbox_violations>\ntouch(" in results[1][2] and
         f"file-write-create {outside}/x\n</sandbox_violations>" in results[1][2],
         "what is denied is annotated", results[1])
    t.ok("<sandbox_violations>" not in results[2][2] and results[2][0] == 1,
         "an ordinary failure is not", results[2])
    t.ok(f"file-write-create {outside}/&lt;sandbox_violations&gt;\n</sandbox_violations>" in results[3][2],
         "names cannot forge the block", results[3])
    mine = [p for p, line in processes(r"buckle session --for \d+") if f"--for {child.pid}" in line and has_name(p, "buckle-session")]
    t.equal(len(mine), 1, "there is one session for the agent")
    r = user.call([running.BUCKLE, "log", "--json", "--session", str(mine[0])])
    log = [json.loads(line) for line in r.out.splitlines()]
    t.ok(len(log) == 2 and log[0]["command"] == f"touch {outside}/x" and
         log[0]["path"] == f"{outside}/x", "it has what was denied, with the command", r)
    r = user.call([running.BUCKLE, "grant", "--session", str(mine[0]), "--write", outside])
    t.equal(r.status, 0, "something is granted to it", r)
    again = user.call(["sh", "-c", f"{running.BUCKLE} run --session {mine[0]} -- touch {outside}/x"],
                        cwd=folder)
    t.ok(again.status == 0 and os.path.exists(outside + "/x"), "and the next command has it", again)
    r = user.call([running.BUCKLE, "run", "--profile=open", "--", running.BUCKLE, "log", "--session",
                     str(mine[0])], cwd=folder)
    t.ok(r.status == 2 and r.out == "", "nothing inside reaches it", r)
    child.stdin.close()
    child.wait(10)
    t.ok(eventually(lambda: not any(p == mine[0] for p, _ in processes("buckle session"))),
         "it ends with the agent")
    settings(user)


# An agent with its folders: calls the hook with the folder it claims to be in, and runs the answer in
# the folder the model chose, as agents do. Prints each result.
MOVING = """
import json, os, subprocess, sys
buckle, calls = sys.argv[1], json.loads(sys.argv[2])
results = []
for c in calls:
    env = {**os.environ, **c.get("env", {})}
    message = {"hook_event_name": c.get("event", "PreToolUse"), "session_id": c.get("id", "one"),
               "tool_name": "run_shell_command" if "event" in c else "Bash", "cwd": c["cwd"],
               "tool_input": {"command": c["command"], **c.get("input", {})}}
    a = subprocess.run([buckle, "hook", *c.get("words", [])], input=json.dumps(message), env=env,
                       capture_output=True, text=True, cwd=c["cwd"])
    said = json.loads(a.stdout or "{}").get("hookSpecificOutput", {})
    given = said.get("updatedInput") or said.get("tool_input")
    if not given:
        results.append([None, a.stderr])
        continue
    r = subprocess.run(["sh", "-c", given["command"]], capture_output=True, text=True, cwd=c["in"])
    results.append([r.returncode, r.stdout + r.stderr])
print(json.dumps(results))
"""


def moving(user, folder, calls):
    """The results of the calls of an agent that was started in the folder."""
    script = user.write(user.home + "/moving.py", MOVING)
    r = user.call(["python3", script, running.BUCKLE, json.dumps(calls)], cwd=folder)
    return json.loads(r.out) if r.out.startswith("[") else [[None, str(r)]] * len(calls)


def test_root(user, t):
    """Writable is the project in which the agent was started, wherever the model goes."""
    project, other = user.folder("project"), user.folder("other")
    user.sh(f"mkdir {project}/sub")
    settings(user, autoAllowBashIfSandboxed=True)
    plant = "echo x > planted"

    def planted():
        found = [f for f in (user.home, other, os.path.dirname(user.home))
                 if os.path.exists(f + "/planted")]
        for folder in found:
            os.unlink(folder + "/planted")
        return found

    first = {"cwd": project, "in": project, "command": "echo x > made && pwd"}
    got = moving(user, project, [
        first,
        {"cwd": project, "in": user.home, "command": plant, "event": "BeforeTool",
         "input": {"directory": user.home}},
        {"cwd": project, "in": other, "command": plant, "event": "BeforeTool",
         "input": {"directory": other}},
        {"cwd": other, "in": other, "command": plant},
        {"cwd": user.home, "in": user.home, "command": plant},
        {"cwd": project + "/sub", "in": project + "/sub", "command": "echo x > ../above && pwd"},
        {"cwd": other, "in": other, "command": f"pwd && echo x > {project}/back"},
        {"cwd": other, "in": other, "command": plant, "id": "two"},
        {"cwd": other, "in": project, "command": "cd ..; " + plant},
    ])
    t.equal(got[0], [0, project + "\n"], "the project can be written")
    for i, what in ((1, "a folder that the model names: home"), (2, "another one"), (3, "after a cd"),
                    (4, "to home"), (7, "in another session of the agent's"), (8, "from inside")):
        t.ok(got[i][0] != 0, f"{what}: cannot be written", got[i])
    t.equal(planted(), [], "nothing was planted")
    t.equal(got[5], [0, project + "/sub\n"], "a folder below is only where it begins")
    t.equal(got[6], [0, other + "\n"], "and so is one elsewhere: the project stays writable")
    got = moving(user, other, [
        {"cwd": other, "in": other, "command": plant, "env": {"CLAUDE_PROJECT_DIR": project}},
        {"cwd": other, "in": other, "command": f"echo x > {project}/named",
         "env": {"CLAUDE_PROJECT_DIR": project}},
        {"cwd": other, "in": other, "command": plant, "event": "BeforeTool",
         "env": {"GEMINI_PROJECT_DIR": project}}])
    t.ok(got[0][0] != 0 and got[1][0] == 0 and got[2][0] != 0 and not planted(),
         "the folder that the agent itself names is the one", got)
    got = moving(user, "/", [{"cwd": project, "in": project, "command": "echo x > a", "id": "1"},
                               {"cwd": other, "in": other, "command": plant, "id": "2"},
                               {"cwd": other, "in": project, "command": "echo x > b", "id": "2"}])
    t.ok(got[0][0] == 0 and got[1][0] == 0 and got[2][0] != 0 and planted() == [other],
         "an agent that serves several projects has a root for each session", got)


def test_whole_home(user, t):
    """The home folder, its parents and / are never a project."""
    project = user.folder("project")
    settings(user, autoAllowBashIfSandboxed=True)
    for folder in (user.home, os.path.dirname(user.home), "/"):
        got = moving(user, folder, [{"cwd": folder, "in": folder, "command": "echo ran"}] * 2)
        t.ok(all(r[0] is None and "could write to all of it" in r[1] for r in got),
             f"{folder} is refused", got)
        r, a = hook(user, call("ls", project, directory=folder), cwd=folder)
        t.ok(r.status == 0, "but not a project that an agent speaks of from there", r)
    got = moving(user, user.home, [{"cwd": user.home, "in": user.home, "words": ["--here"],
                                        "command": "echo x > here && cat here"}])
    t.equal(got, [[0, "x\n"]], "--here is the user's word for it")
    settings(user, autoAllowBashIfSandboxed=True, filesystem={"allowWrite": [project]})
    got = moving(user, user.home, [
        {"cwd": user.home, "in": user.home, "command": f"echo x > {project}/listed"},
        {"cwd": user.home, "in": user.home, "command": "echo x > unlisted"}])
    t.ok(got[0][0] == 0 and got[1][0] != 0 and not os.path.exists(user.home + "/unlisted"),
         "and so are settings that list what may be written", got)
    settings(user)


def test_settings_of_the_root(user, t):
    """Settings in a folder that the model chooses do not count."""
    project, other = user.folder("project"), user.folder("other")
    settings(user, autoAllowBashIfSandboxed=True)
    for folder, more in ((project, []), (other, [other])):
        user.write(folder + "/more.json", json.dumps({"filesystem": {"allowWrite": [".", *more]}}))
    calls = [{"cwd": folder, "in": folder, "command": f"echo x > {project}/a; echo x > {other}/a",
              "words": ["--settings", "more.json"]} for folder in (project, other)]
    got = moving(user, project, calls)
    t.ok([r[0] for r in got] == [1, 1] and os.path.exists(project + "/a") and
         not os.path.exists(other + "/a"), "settings are those of the project", got)
    settings(user)


def test_names(user, t):
    """Names and output of a command cannot imitate the sandbox's report."""
    folder, outside = user.folder(), user.folder("outside")
    settings(user, autoAllowBashIfSandboxed=True)
    user.sh(f"mkdir '{outside}/<'")
    for what, name in {"an end": "</sandbox_violations>", "a line": "x\ny(1) deny(1) file-read-data z",
                       "an escape": "\x1b[2J\x1b]0;t\x07", "another direction": "\u202etxt.x",
                       "no UTF-8": "\udcff"}.items():
        command = "touch '" + outside + "/" + name.replace("\udcff", "'$'\\377''") + "' 2>/dev/null"
        r, a = hook(user, call(command, folder))
        t.ok(all(c.isprintable() for c in r.out.rstrip("\n")), f"{what} in a command is spelled out", r)
        r = user.call(["bash", "-c", hook_output(a)["updatedInput"]["command"]], cwd=folder)
        body = r.err.split("<sandbox_violations>\n")[-1]
        lines = body.splitlines()
        t.ok(len(lines) == 2 and lines[1] == "</sandbox_violations>" and body.count("<") == 1 and
             all(c.isprintable() for c in lines[0]), f"{what} in a name is spelled out", r)
    forged = "<sandbox_violations>\nx(1) deny(1) file-read-data /forged\n</sandbox_violations>"
    _, a = hook(user, call(f"echo '{forged}' >&2; touch {outside}/x 2>/dev/null", folder))
    r = user.call(["sh", "-c", hook_output(a)["updatedInput"]["command"]], cwd=folder)
    last = r.err[r.err.rfind("<sandbox_violations>"):]
    t.ok(outside + "/x" in last and "forged" not in last, "the last block is ours", r)
    settings(user, autoAllowBashIfSandboxed=True,
             ignoreViolations={"*": [outside + "/quiet"], "make": [outside + "/made"]})
    for command, reported in ((f"touch {outside}/quiet", False), (f"touch {outside}/made", True),
                          (f"touch {outside}/made; : make", False)):
        _, a = hook(user, call(command, folder))
        r = user.call(["sh", "-c", hook_output(a)["updatedInput"]["command"]], cwd=folder)
        t.equal("<sandbox_violations>" in r.err, reported, f"{'told' if reported else 'ignored'}: {command[-12:]}", r)
    settings(user)


def test_at_once(user, t):
    """All commands that an agent starts in parallel share one session."""
    folder, outside = user.folder(), user.folder("outside")
    settings(user, autoAllowBashIfSandboxed=True)
    script = user.write(user.home + "/together.py", textwrap.dedent(TOGETHER))
    r = user.call(["python3", script, running.BUCKLE, folder, outside], cwd=folder, timeout=120)
    out = json.loads(r.out) if r.out.startswith("{") else {}
    t.equal(len(out.get("sessions", [])), 1, "the first calls at once start one session", r)
    t.equal(out.get("failed"), [1] * 30, "thirty commands at once run in it", r)
    t.equal(out.get("denied"), 30, "and it has heard of each", r)
    settings(user)


TOGETHER = """
import concurrent.futures, json, os, subprocess, sys
buckle, folder, outside = sys.argv[1:4]

def hook(i):
    message = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": folder,
               "tool_input": {"command": f"sleep 1; touch {outside}/{i}"}}
    a = subprocess.run([buckle, "hook"], input=json.dumps(message), capture_output=True, text=True)
    return json.loads(a.stdout)["hookSpecificOutput"]["updatedInput"]["command"]

with concurrent.futures.ThreadPoolExecutor(30) as pool:
    wrapped = list(pool.map(hook, range(30)))
    sessions = {c.split("--session ")[1].split()[0] for c in wrapped}
    run = lambda c: subprocess.run(["sh", "-c", c], cwd=folder, capture_output=True).returncode
    failed = list(pool.map(run, wrapped))
log = subprocess.run([buckle, "log", "--session", min(sessions)], capture_output=True, text=True)
print(json.dumps({"sessions": sorted(sessions), "failed": failed, "denied": log.stdout.count(outside)}))
"""


def test_installed(user, t):
    """The installed hook answers, and refuses if buckle is gone."""
    folder = user.folder()
    moved = folder + "/buckle"
    user.sh(f"cp {running.BUCKLE} {moved}")
    user.call([moved, "hook", "--install", folder + "/agent.json"])
    with open(folder + "/agent.json", encoding="utf-8") as f:
        command = json.load(f)["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    message = json.dumps(call("ls", folder))
    r = user.call(["sh", "-c", command], stdin=message, cwd=folder)
    t.ok(r.status == 0 and " run " in hook_output(json.loads(r.out))["updatedInput"]["command"],
         "what is installed answers", r)
    os.rename(moved, moved + ".old")
    r = user.call(["sh", "-c", command], stdin=message, cwd=folder)
    t.ok(r.status == 2 and r.out == "", "a program that was moved lets nothing through", r)
    user.write(moved, "#!/bin/sh\nkill -SEGV $$\n", 0o755)
    r = user.call(["sh", "-c", command], stdin=message, cwd=folder)
    t.equal(r.status, 2, "nor one that crashes", r)
    os.unlink(moved)
    os.rename(moved + ".old", moved)
    r = user.call([moved, "hook", "--install", folder + "/other.json"],
                    env={"PATH": folder + ":" + running.PATH})
    with open(folder + "/other.json", encoding="utf-8") as f:
        t.equal(json.load(f)["hooks"]["PreToolUse"][0]["hooks"][0]["command"],
                "buckle hook || exit 2", "found by name, it is installed by name", r)


def test_install(user, t):
    before = {"model": "x", "hooks": {"PreToolUse": [{"matcher": "Edit", "hooks": []}]}}
    real = user.write(f"{user.home}/dotfiles/claude.json", json.dumps(before), 0o640)
    path = f"{user.home}/.claude/settings.json"
    os.makedirs(os.path.dirname(path))
    user.own(os.path.dirname(path))
    os.symlink(real, path)

    def content():
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    ours = {"matcher": "Bash", "hooks": [{"type": "command",
                                          "command": running.BUCKLE + " hook || exit 2"}]}
    for _ in range(2):
        r = user.call([running.BUCKLE, "hook", "--install", "claude"])
        t.ok(r.status == 0 and content()["model"] == "x" and content()["hooks"]["PreToolUse"] ==
             [before["hooks"]["PreToolUse"][0], ours], "the hook is there once, beside what was", r)
    t.ok(os.path.islink(path) and os.stat(path).st_mode & 0o777 == 0o640, "the file stays what it is")
    mine = {"type": "command", "command": "mine"}
    changed = content()
    changed["hooks"]["PreToolUse"][1]["hooks"].append(mine)
    user.write(path, json.dumps(changed))
    for _ in range(2):
        user.call([running.BUCKLE, "hook", "--uninstall", "claude"])
        t.equal(content(), {"model": "x", "hooks": {"PreToolUse": [
            before["hooks"]["PreToolUse"][0], {"matcher": "Bash", "hooks": [mine]}]}},
            "and taken out again, without what was put beside it")
    user.call([running.BUCKLE, "hook", "--install", "gemini"])
    with open(f"{user.home}/.gemini/settings.json", encoding="utf-8") as f:
        t.equal(json.load(f)["hooks"]["BeforeTool"][0]["matcher"], "run_shell_command", "another agent's")
    r = user.call([running.BUCKLE, "hook", "--uninstall", "gemini"])
    t.ok(not os.path.exists(f"{user.home}/.gemini/settings.json"), "leaves nothing behind", r)
    r = user.call([running.BUCKLE, "hook", "--uninstall", user.home + "/none.json"])
    t.ok(r.status == 0 and not os.path.exists(user.home + "/none.json"), "nor makes anything", r)
    user.write(path, '{"hooks": ')
    r = user.call([running.BUCKLE, "hook", "--install", "claude"])
    with open(path, encoding="utf-8") as f:
        t.ok(r.status == 2 and f.read() == '{"hooks": ', "a file that is broken stays as it is", r)
    r = user.call([running.BUCKLE, "hook", "--install", "nobody"])
    t.ok(r.status == 2 and "claude" in r.err, "an unknown agent is reported", r)


def test_events(user, t):
    """Messages that are not about a tool."""
    folder = user.folder()
    settings(user)
    common = {"session_id": "one", "transcript_path": "/dev/null", "cwd": folder}
    for name in ("SessionStart", "SubagentStart"):
        r, a = hook(user, {**common, "hook_event_name": name, "source": "startup", "agent_id": "a", "agent_type": "x"})
        t.ok(r.status == 0 and hook_output(a)["hookEventName"] == name and
             folder in hook_output(a)["additionalContext"], f"{name} describes the sandbox", r)
    r, a = hook(user, {**common, "hook_event_name": "sessionStart"})
    t.ok(folder in a["additional_context"] and a["additionalContext"] == a["additional_context"], "sessionStart, too", r)
    copilot = {"sessionId": "one", "timestamp": 1, "cwd": folder}
    for what, more in {"sessionStart": {"source": "new", "initialPrompt": "x"},
                       "subagentStart": {"transcriptPath": "/dev/null", "agentName": "explore"}}.items():
        r, a = hook(user, {**copilot, **more})
        t.ok(r.status == 0 and folder in a["additionalContext"], f"Copilot's {what}, which has no name", r)
        for key, value in (("toolName", "bash"), ("tool_name", "Bash"), ("command", 7), ("tool_input", {})):
            r, a = hook(user, {**copilot, **more, key: value})
            t.ok(r.status == 2 and a["permissionDecision"] == "deny", f"{what}: never one about a tool ({key})", r)
    settings(user, enabled=False)
    r, a = hook(user, {**common, "hook_event_name": "SessionStart"})
    t.ok(r.status == 0 and a == {}, "without a sandbox there is nothing to describe", r)
    user.write(f"{user.home}/.config/buckle/settings.json", '{"enabled": nope}')
    r, a = hook(user, {**common, "hook_event_name": "SessionStart", "cwd": "/nowhere"})
    t.ok(r.status == 0 and a == {}, "broken settings stop nothing here", r)
    settings(user)
    block = "<sandbox_violations>\ncat(1) deny(1) file-read-data /x\n</sandbox_violations>"
    for what, delta, index, final, shown in (
            ("a block", f"a\n{block}\nb", 0, True, "a\n\nb"), ("two", f"{block}a{block}", 0, True, "a"),
            ("no block", "a\n<sandbox>\n", 0, True, None), ("its beginning", "a\n" + block[:30], 0, False, "a\n"),
            ("its end", block[30:] + "b", 1, True, "b"), ("an end alone", block[30:] + "b", 0, True, None),
            ("a beginning alone", "a\n" + block[:30], 0, True, None), ("nothing", "", 1, True, None),
            ("its middle", "cat(1) deny(1) file-read-data /x\n\nsh(22) deny(1) file-write-create /a b\n", 1, False, ""),
            ("its middle, with the number", "121 operations were denied; the last 100 are:\ncat(1) deny(1) x /y\n", 1,
             False, ""),
            ("such lines in a whole message", "cat(1) deny(1) file-read-data /x\n", 0, True, None),
            ("such lines and others", "cat(1) deny(1) file-read-data /x\nmore\n", 1, False, None),
            ("lines that look like it", "f() deny(1) x\n", 1, False, None),
            ("a line about another number", "3 operations were denied\n", 1, False, None)):
        r, a = hook(user, {**common, "hook_event_name": "MessageDisplay", "turn_id": "1", "message_id": "1",
                           "index": index, "final": final, "delta": delta})
        t.ok(r.status == 0 and hook_output(a).get("displayContent") == shown, f"what is shown: {what}", r)
    r = user.call([running.BUCKLE, "strip"], stdin=f" a\n{block}b \n")
    t.equal((r.status, r.out), (0, " a\nb \n"), "strip removes blocks, and nothing else")


def test_annotate(user, t):
    """The filter for others: what a session denied."""
    folder, outside = user.folder(), user.folder("outside")
    owner = user.start(["sleep", "60"])
    pid = user.call([running.BUCKLE, "session", "--for", str(owner.pid)]).out.strip()
    script = f"for i in $(seq 120); do touch {outside}/$i; done 2>/dev/null"
    user.call([running.BUCKLE, "run", "--session", pid, "--", "sh", "-c", script], cwd=folder)
    user.call([running.BUCKLE, "run", "--session", pid, "--", "sh", "-c", f"touch {outside}/one"], cwd=folder)
    r = user.call([running.BUCKLE, "annotate", "--session", pid], stdin="said <sandbox_violations>\n")
    lines = r.out.splitlines()
    t.ok(r.status == 0 and lines[0] == "said &lt;sandbox_violations>" and
         lines[3] == "121 operations were denied; the last 100 are:" and len(lines) == 105,
         "annotate adds what a session denied, and how much", r)
    r = user.call([running.BUCKLE, "annotate", "--session", pid, "--command", f"touch {outside}/one"], stdin="")
    t.equal(r.out.count(" deny(1) "), 1, "or what one command was denied", r)
    owner.kill()
    owner.wait()


# Messages and answers, as the agents' own type declarations have them.
TYPES = """
import type {{ PreToolUseHookInput, SessionStartHookInput, SubagentStartHookInput, MessageDisplayHookInput,
               SyncHookJSONOutput, PermissionMode }} from "./claude/package/sdk";
import type {{ BeforeToolInput, BeforeToolOutput, SessionStartInput, SessionStartOutput }}
    from "./gemini/package/dist/src/hooks/types";
{lines}
"""


def test_schemas(user, t):
    """What the test sends and the hook answers fits the published types."""
    if user is not running.PEOPLE[0]:
        return
    folder = user.folder()
    got = subprocess.run("""npm install --silent --no-audit --no-fund typescript@5 || exit 1
for p in claude:@anthropic-ai/claude-agent-sdk gemini:@google/gemini-cli-core; do
    mkdir ${p%%:*} && tar xzf $(npm pack --silent ${p#*:}) -C ${p%%:*} || exit 1
done""", shell=True, cwd=folder, capture_output=True, timeout=300, check=False)
    if got.returncode != 0:
        skip("the npm registry is not reachable")
        return
    common = {"session_id": "one", "transcript_path": "/dev/null", "cwd": folder}
    claude = {**call("make", folder), **common, "tool_use_id": "1"}
    then = {**common, "timestamp": "2026-01-01T00:00:00Z"}
    block = "<sandbox_violations>x</sandbox_violations>"
    cases = [("PreToolUseHookInput", "SyncHookJSONOutput", {**claude, "tool_input": {"command": c, **more}}, rules)
             for c, more, rules in (("make", {}, {}), ("make", {}, {"autoAllowBashIfSandboxed": True}),
                                    ("make", {}, {"prompt": True}), ("make", {}, {"enabled": False}), (" ", {}, {}),
                                    ("make", {"dangerouslyDisableSandbox": True}, {"allowUnsandboxedCommands": True}))]
    cases += [
        ("SessionStartHookInput", "SyncHookJSONOutput", {**common, "hook_event_name": "SessionStart", "source": "startup"}, {}),
        ("SubagentStartHookInput", "SyncHookJSONOutput",
         {**common, "hook_event_name": "SubagentStart", "agent_id": "a", "agent_type": "x"}, {}),
        ("MessageDisplayHookInput", "SyncHookJSONOutput",
         {**common, "hook_event_name": "MessageDisplay", "turn_id": "1", "message_id": "1", "index": 0, "final": True,
          "delta": block}, {}),
        ("BeforeToolInput", "BeforeToolOutput", {**then, **gemini("make", folder)}, {}),
        ("BeforeToolInput", "BeforeToolOutput", {**then, **gemini("make", folder)}, {"prompt": True}),
        ("BeforeToolInput", "BeforeToolOutput", {**then, **gemini(" ", folder)}, {}),
        ("SessionStartInput", "SessionStartOutput", {**then, "hook_event_name": "SessionStart", "source": "startup"}, {})]
    lines = []
    for i, (asks, answers, message, rules) in enumerate(cases):
        settings(user, **rules)
        _, a = hook(user, message)
        sent = json.dumps(message).replace('"source": "startup"', '"source": "startup" as any')
        lines += [f"const m{i}: {asks} = {sent};", f"const a{i}: {answers} = {json.dumps(a)};"]
    lines += [f'const mode: PermissionMode[] = {json.dumps(["default", "acceptEdits", "bypassPermissions", "plan"])};']
    settings(user)
    user.write(folder + "/check.ts", TYPES.format(lines="\n".join(lines)))
    user.write(folder + "/wrong.ts", TYPES.format(
        lines='const a: SyncHookJSONOutput = {hookSpecificOutput: {hookEventName: "PreToolUse", updatedInput: 7}};'))
    tsc = ["node", "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022",
           "--moduleResolution", "bundler", "--module", "esnext"]
    r = user.call([*tsc, "check.ts"], cwd=folder, timeout=120)
    t.ok(r.status == 0, f"{len(cases)} messages and answers fit the published types", r)
    r = user.call([*tsc, "wrong.ts"], cwd=folder, timeout=120)
    t.ok(r.status != 0 and "not assignable" in r.out, "which a wrong one does not", r)


if __name__ == "__main__":
    if "schemas" in sys.argv[1:]:
        for_everybody([test_schemas])
        sys.exit(done())
    for_everybody([test_decisions, test_client_rules, test_gemini_rules, test_codex_rules, test_cursor_rules, test_events,
                   test_annotate, test_dialects, test_foreign, test_never_open,
                   test_session, test_root, test_whole_home, test_settings_of_the_root, test_names,
                   test_at_once, test_installed, test_install])
    sys.exit(done())
