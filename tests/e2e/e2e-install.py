#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle hook --install` for every agent: what it writes, that everything else in a file stays byte for
byte, that a dry run changes nothing, and that files which are not the user's are left alone.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import running
from agents import PLUGIN
from running import for_everybody
from tap import done

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "..", "..", "cli", "agent", "agents.def")

# agent: the files that an installation for the user writes, below the home folder
FILES = {
    "claude": [".claude/settings.json"],
    "gemini": [".gemini/settings.json"],
    "codex": [".codex/hooks.json"],
    "cursor": [".cursor/hooks.json"],
    "copilot": [".copilot/hooks/buckle.json"],
    "opencode": [".config/opencode/plugins/buckle.js"],
    "qwen": [".qwen/settings.json"],
    "windsurf": [".codeium/windsurf/hooks.json", ".codeium/windsurf/mcp_config.json"],
    "kiro": [".kiro/hooks/buckle.json", ".kiro/settings/mcp.json"],
    "amp": [".config/amp/plugins/buckle.ts"],
    "goose": [".agents/plugins/buckle/plugin.json", ".agents/plugins/buckle/hooks/hooks.json"],
    "cline": ["Documents/Cline/Hooks/PreToolUse", "Documents/Cline/Hooks/TaskStart", "Documents/Cline/Hooks/TaskResume",
              ".cline/data/settings/cline_mcp_settings.json"],
}
MCP = {"claude": ".claude.json", "gemini": ".gemini/settings.json", "codex": ".codex/config.toml",
       "cursor": ".cursor/mcp.json", "copilot": ".copilot/mcp-config.json",
       "opencode": ".config/opencode/opencode.json", "qwen": ".qwen/settings.json",
       "amp": ".config/amp/settings.json"}


def install(user, *words, **how):
    return user.call([running.BUCKLE, "hook", *words], **how)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def tree(folder):
    """Every file with its bytes."""
    return {os.path.join(d, f): read(os.path.join(d, f)) for d, _, files in os.walk(folder) for f in files}


def test_table(user, t):
    with open(TABLE, encoding="utf-8") as f:
        names = re.findall(r'^AGENT\(\w+, "(\w+)"', f.read(), re.M)
    t.equal(sorted(FILES), sorted(names), "every agent is tried here")
    with open(os.path.join(HERE, "..", "..", "docs", "agents.md"), encoding="utf-8") as f:
        docs = f.read()
    with open(TABLE, encoding="utf-8") as f:
        rows = re.findall(r'^AGENT\(\w+, "(\w+)", "([^"]+)", "([^"]+)", "([^"]+)"', f.read(), re.M)
    for name, title, version, source in rows:
        line = next((l for l in docs.split("\n") if l.startswith(f"| [{title}]({source})")), "")
        t.ok(f"`{name}`" in line and version in line, f"docs/agents.md has {title} {version}", line)


def test_every_agent(user, t):
    for agent, files in FILES.items():
        home = user.folder("home-" + agent)
        env = {"HOME": home}
        r = install(user, "--install", agent, "--dry-run", cwd=home, env=env)
        t.ok(r.status == 0 and not os.listdir(home) and
             all(f"+++ {home}/{f}\n" in r.out for f in files), f"{agent}: a dry run shows it all and writes nothing", r)
        r = install(user, "--install", agent, cwd=home, env=env)
        made = tree(home)
        t.equal(sorted(made), sorted(f"{home}/{f}" for f in files), f"{agent}: the files", r)
        t.ok(all(running.BUCKLE.encode() in text or b'"version": "1' in text for text in made.values()),
             f"{agent}: they name the program", made)
        for path, text in made.items():
            if path.endswith(".json"):
                json.loads(text)
        r = install(user, "--install", agent, cwd=home, env=env)
        t.equal(tree(home), made, f"{agent}: again changes nothing", r)
        r = install(user, "--uninstall", agent, "--dry-run", cwd=home, env=env)
        t.ok(tree(home) == made and "\n-" in r.out, f"{agent}: a dry removal, too", r)
        install(user, "--uninstall", agent, cwd=home, env=env)
        left = tree(home)
        t.equal(left, {}, f"{agent}: removed")
        project = user.folder("project-" + agent)
        r = install(user, "--install", agent, "--project", cwd=project, env=env)
        t.ok(r.status == 0 and tree(project) and all(p.startswith(project) for p in tree(project)),
             f"{agent}: in a project", r)


def test_gates(user, t):
    """Where a hook that fails would let the command through, failing is a no."""
    home = user.folder()
    env = {"HOME": home}
    for agent in FILES:
        install(user, "--install", agent, env=env)
    for agent in ("claude", "gemini", "codex", "qwen", "windsurf", "kiro", "copilot", "goose", "cursor"):
        text = read(f"{home}/{FILES[agent][-1 if agent == 'goose' else 0]}").decode()
        t.ok("hook || exit 2" in text or "hook --by-status || exit 2" in text, f"{agent}: exit 2", text)
    t.ok('"failClosed": true' in read(f"{home}/.cursor/hooks.json").decode(), "cursor: failClosed")
    t.ok('"on_failure": "block"' in read(f"{home}/.agents/plugins/buckle/hooks/hooks.json").decode(), "goose: on_failure")
    script = f"{home}/Documents/Cline/Hooks/PreToolUse"
    t.ok(os.access(script, os.X_OK), "cline: a program")
    text = read(script).decode().replace(running.BUCKLE, "/nonexistent/buckle")
    user.write(script, text, 0o755)
    r = user.call(["sh", "-c", f"echo '{{}}' | '{script}'"], env=env)
    t.ok(json.loads(r.out)["cancel"] is True, "cline: without buckle nothing runs", r)
    start = f"{home}/Documents/Cline/Hooks/TaskStart"
    message = json.dumps({"hookName": "TaskStart", "taskId": "1", "workspaceRoots": [home], "taskStart": {}})
    r = user.call(["sh", "-c", f"'{start}'"], stdin=message, env=env)
    said = json.loads(r.out)
    t.ok(said["cancel"] is False and home in said["contextModification"], "cline: a task starts with what the sandbox is", r)
    user.write(start, read(start).decode().replace(running.BUCKLE, "/nonexistent/buckle"), 0o755)
    r = user.call(["sh", "-c", f"'{start}'"], stdin=message, env=env)
    t.ok(json.loads(r.out) == {"cancel": False}, "cline: without buckle it starts as well", r)
    hooks = json.loads(read(f"{home}/.kiro/hooks/buckle.json"))["hooks"]
    r = user.call(["sh", "-c", next(h for h in hooks if h["trigger"] == "SessionStart")["action"]["command"]], cwd=home, env=env)
    t.ok(r.status == 0 and home in r.out, "kiro: so does a session", r)


COMMENTED = '''// mine
{
    /* a comment */
    "model": "x", // keep, }
    "hooks": {
        "OTHER": [],
        "EVENT": [
            {"matcher": "Edit", "hooks": [{"type": "command", "command": "x hook"}]}, // not Buckle's
        ],
    },
    "url": "http://x/*y*/",
}
'''


def test_bytes(user, t):
    events = {"claude": "PreToolUse", "gemini": "BeforeTool", "codex": "PreToolUse", "qwen": "PreToolUse",
              "cursor": "preToolUse", "windsurf": "pre_run_command"}
    shapes = {"comments": COMMENTED, "one line": '{"a": 1, "hooks": {"EVENT": [{"command": "y"}]}}',
              "CRLF": '{\r\n\t"a": [1,\r\n 2]\r\n}\r\n', "no end of line": '{\n "a": "\\u00e9 ü"\n}', "a BOM": '\ufeff{"a":1}'}
    for agent, event in events.items():
        home = user.folder()
        path = f"{home}/{FILES[agent][0]}"
        for name, text in shapes.items():
            before = text.replace("EVENT", event).encode()
            if agent == "cursor" and b'"version"' not in before:
                before = before.replace(b"{", b'{"version": 1, ', 1) if name != "comments" else \
                    before.replace(b'    "model"', b'    "version": 1,\n    "model"')
            user.write(path, before.decode())
            r = install(user, "--install", agent, env={"HOME": home})
            after = read(path)
            lines = [l for l in before.split(b"\n") if l.strip(b" \r\t{}[],")]
            t.ok(r.status == 0 and (b"buckle hook || exit 2" in after or b"buckle hook --by-status || exit 2" in after) and
                 (name not in ("comments", "CRLF") or all(l.rstrip(b"\r,") in after for l in lines)),
                 f"{agent}, {name}: installed", r, after)
            install(user, "--install", agent, env={"HOME": home})
            t.equal(read(path), after, f"{agent}, {name}: twice is once")
            install(user, "--uninstall", agent, env={"HOME": home})
            t.equal(read(path), before, f"{agent}, {name}: removed, byte for byte")
    home = user.folder()
    path = f"{home}/.claude/settings.json"
    old = '{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "OLD hook"}]}]}}'
    for command in ("/opt/buckle", "buckle", "'/a b/buckle'"):
        user.write(path, old.replace("OLD", command))
        install(user, "--install", "claude", env={"HOME": home})
        t.equal(read(path).count(b"exit 2"), 1, f"an older entry is replaced: {command}")
        t.ok(b"OLD" not in read(path) and b"/opt/" not in read(path), "and gone")
    for command in ("mybuckle", "echo buckle; x", "/x/buckle-thing"):
        user.write(path, old.replace("OLD", command))
        install(user, "--install", "claude", env={"HOME": home})
        install(user, "--uninstall", "claude", env={"HOME": home})
        t.ok(command.encode() in read(path), f"not ours: {command}", read(path))


TOML = '''# mine
model = "x" # keep
[mcp_servers.other]
command = "y"

text = """
[mcp_servers.fake]
"""
'''


def test_servers(user, t):
    home = user.folder()
    for agent, file in MCP.items():
        path = f"{home}/{file}"
        before = TOML if file.endswith(".toml") else '{\n  // mine\n  "a": 1\n}\n'
        user.write(path, before)
        r = install(user, "--install", agent, "--mcp", "--dry-run", env={"HOME": home})
        t.ok(r.status == 0 and "mcp" in r.out and read(path).decode() == before, f"{agent}: a dry run", r)
        r = install(user, "--install", agent, "--mcp", env={"HOME": home})
        after = read(path)
        t.ok(r.status == 0 and b"mine" in after and running.BUCKLE.encode() in after, f"{agent}: the server", r)
        install(user, "--install", agent, "--mcp", env={"HOME": home})
        t.equal(read(path), after, f"{agent}: twice is once")
        install(user, "--uninstall", agent, "--mcp", env={"HOME": home})
        t.equal(read(path).decode(), before, f"{agent}: removed, byte for byte")
    path = f"{home}/.claude.json"
    user.write(path, '{"mcpServers": {"buckle": {"command": "evil", "args": ["x"]}}}')
    r = install(user, "--install", "claude", "--mcp", env={"HOME": home})
    t.ok(r.status == 2 and b"evil" in read(path), "another server of that name stays", r)
    path = f"{home}/.codex/config.toml"
    for text in ('mcp_servers = { buckle = { command = "x" } }\n', 'mcp_servers.buckle.command = "x"\n',
                 '[mcp_servers]\nx = """not closed\n', '[mcp_servers.buckle]\na=1\n\n[mcp_servers.buckle]\nb=1\n'):
        user.write(path, text)
        r = install(user, "--install", "codex", "--mcp", env={"HOME": home})
        t.ok(r.status == 2 and read(path).decode() == text, f"left alone: {text.splitlines()[0]}", r)


def test_malformed(user, t):
    home = user.folder()
    path = f"{home}/.claude/settings.json"
    for name, text in {"not JSON": "{", "a list": "[]", "hooks a list": '{"hooks": []}',
                       "an event an object": '{"hooks": {"PreToolUse": {}}}', "keys twice": '{"a": 1, "a": 2}',
                       "an open comment": '{} /* x', "nothing": "", "deep": "[" * 5000,
                       "not UTF-8": b'{"a": "\xff"}', "large": '{"a": "' + "x" * (2 << 20) + '"}'}.items():
        with open(user.write(path, ""), "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        before = read(path)
        for words in (["--install", "claude"], ["--install", "claude", "--dry-run"], ["--uninstall", "claude"]):
            r = install(user, *words, env={"HOME": home})
            t.ok(read(path) == before and (r.status == 2 or name in ("a list", "hooks a list", "an event an object")),
                 f"{name}: {' '.join(words)} leaves it", r)
    t.equal([f for f in os.listdir(f"{home}/.claude") if f != "settings.json"], [], "nothing else is left there")


def test_attacks(user, t):
    """A project that was checked out cannot use an installation to write elsewhere."""
    home, project = user.folder(), user.folder()
    victim = user.write(f"{home}/.bashrc", '{"victim": 1}')
    json_victim = user.write(f"{home}/other.json", "{}")
    for agent, path in (("claude", ".claude/settings.json"), ("opencode", ".opencode/plugins/buckle.js"),
                        ("cline", ".clinerules/hooks/PreToolUse"), ("copilot", ".github/hooks/buckle.json")):
        user.write(f"{project}/{path}", "")
        os.remove(f"{project}/{path}")
        for target in (victim, json_victim, f"{home}/new-file"):
            user.sh(f"ln -s {target} {project}/{path}")
            r = install(user, "--install", agent, "--project", cwd=project, env={"HOME": home})
            t.ok(r.status == 2 and read(victim) == b'{"victim": 1}' and read(json_victim) == b"{}" and
                 not os.path.exists(f"{home}/new-file"), f"{agent}: a symlink to {os.path.basename(target)}", r)
            os.remove(f"{project}/{path}")
        folder = os.path.dirname(f"{project}/{path}")
        os.rmdir(folder)
        user.sh(f"mkdir -p {home}/away && ln -s {home}/away {folder}")
        r = install(user, "--install", agent, "--project", cwd=project, env={"HOME": home})
        t.ok(r.status == 2 and not os.listdir(f"{home}/away"), f"{agent}: a folder that is a symlink", r)
        user.sh(f"rm -r {project}/.[a-z]*")
    real = user.write(f"{home}/dotfiles/claude.json", "{}\n")
    user.sh(f"mkdir -p {home}/.claude && ln -s {real} {home}/.claude/settings.json")
    r = install(user, "--install", "claude", env={"HOME": home})
    t.ok(r.status == 0 and os.path.islink(f"{home}/.claude/settings.json") and b"buckle hook" in read(real),
         "the user's own link is followed", r)
    foreign = user.write(f"{home}/.config/opencode/plugins/buckle.js", "export const X = 1\n")
    r = install(user, "--install", "opencode", env={"HOME": home})
    t.ok(r.status == 2 and read(foreign) == b"export const X = 1\n", "a file of this name that is not ours", r)
    r = install(user, "--uninstall", "opencode", env={"HOME": home})
    t.ok(r.status == 2 and os.path.exists(foreign), "is not removed either", r)
    if os.geteuid() == 0:
        other = f"{home}/.qwen/settings.json"
        user.write(other, "{}")
        os.chown(other, 4711, 4711)
        os.chmod(other, 0o666)
        r = install(user, "--install", "qwen", env={"HOME": home})
        t.ok(r.status == 2 and "another user" in r.err and read(other) == b"{}", "somebody else's file", r)
    fifo = f"{home}/.gemini/settings.json"
    user.sh(f"mkdir -p {home}/.gemini && mkfifo {fifo}")
    r = install(user, "--install", "gemini", env={"HOME": home}, timeout=10)
    t.equal(r.status, 2, "a pipe is not waited for", r)
    r = install(user, "--install", "gemini", env={"HOME": "relative"})
    t.equal(r.status, 2, "a home that is no path", r)


def test_plugins(user, t):
    """The plug-ins do what their hosts document, run by Node as their hosts would."""
    if running.missing("node"):
        t.skip("node is not installed")
        return
    home, project = user.folder(), user.folder()
    script = user.write(f"{home}/drive.mjs", PLUGIN)
    calls = json.dumps([["bash", "echo \"it's here\""], ["read", "x"]])
    for agent in ("opencode", "amp"):
        path = f"{home}/{FILES[agent][0]}"
        install(user, "--install", agent, env={"HOME": home})
        if path.endswith(".ts"):
            user.sh(f"cp {path} {home}/plugin.mjs")
            path = f"{home}/plugin.mjs"
        r = user.call(["node", script, path, calls], cwd=project, env={"HOME": home})
        said = [json.loads(l) for l in r.out.splitlines()]
        command = said[0] if agent == "opencode" else said[0].get("input", {}).get("cmd", "")
        t.ok(" run " in command and said[-1] in ("x", {"action": "allow"}), f"{agent}: commands are rewritten", r)
        t.equal(said[1], "it's here\n", f"{agent}: and run")
        broken = read(path).decode().replace(running.BUCKLE, "/nonexistent/buckle")
        user.write(path, broken)
        r = user.call(["node", script, path, calls], cwd=project, env={"HOME": home})
        first = json.loads(r.out.splitlines()[0]) if r.out else {}
        t.ok("error" in first or first.get("action") == "reject-and-continue", f"{agent}: without buckle nothing runs", r)


if __name__ == "__main__":
    for_everybody([test_table, test_every_agent, test_gates, test_bytes, test_servers, test_malformed, test_attacks,
                   test_plugins])
    sys.exit(done())
