#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle agent`: a whole agent in the sandbox. Stand-ins do what the agents' documentation says: they keep state,
read their login, call their hook. Others attack: they try to change what is run outside later.
"""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import drive
import running
from provider import Provider
from running import for_everybody
from tap import done, skip

HERE = os.path.dirname(os.path.abspath(__file__))
PROFILES = os.path.join(HERE, "..", "..", "profiles")

# agent: a file of its state; its settings, hooks and plug-ins; all below the home folder
AGENTS = {
    "claude": (".claude/projects/x/s.jsonl", [".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/x.sh",
                                              ".claude/plugins/p.json", ".claude/agents/a.md", ".claude.json"]),
    "gemini": (".gemini/tmp/x/log", [".gemini/settings.json", ".gemini/extensions/e/x.json", ".gemini/hooks/x"]),
    "codex": (".codex/sessions/s.jsonl", [".codex/config.toml", ".codex/hooks.json", ".codex/rules/default.rules"]),
    "cursor": (".cursor/chats/c", [".cursor/hooks.json", ".cursor/mcp.json", ".cursor/hooks/x"]),
    "copilot": (".copilot/session-state/s", [".copilot/config.json", ".copilot/mcp-config.json", ".copilot/hooks/x.json"]),
    "opencode": (".local/share/opencode/log/x", [".config/opencode/opencode.json", ".config/opencode/opencode.jsonc",
                                                 ".config/opencode/plugins/x.js", ".config/opencode/plugin/x.js"]),
    "qwen": (".qwen/tmp/x", [".qwen/settings.json", ".qwen/extensions/e/x.json"]),
    "windsurf": (".codeium/windsurf/memories/m", [".codeium/windsurf/hooks.json", ".codeium/windsurf/mcp_config.json"]),
    "kiro": (".kiro/sessions/s", [".kiro/hooks/x.json", ".kiro/settings/mcp.json", ".kiro/agents/a.json"]),
    "amp": (".local/share/amp/threads/T-1.json", [".config/amp/settings.json", ".config/amp/plugins/x.ts"]),
    "goose": (".local/share/goose/sessions/s", [".config/goose/config.yaml", ".agents/plugins/p/hooks/hooks.json"]),
    "cline": (".cline/data/tasks/t", [".cline/hooks/PreToolUse", ".cline/data/settings/cline_mcp_settings.json",
                                      "Documents/Cline/Hooks/PreToolUse"]),
}
# Those that differ most; "heavy" tries them all.
QUICK = ("claude", "opencode", "windsurf", "cline")
if "heavy" not in sys.argv:
    TRIED = {a: AGENTS[a] for a in QUICK}
else:
    TRIED = AGENTS
# of everybody
OURS = [".config/buckle/settings.json", ".bashrc", ".profile", ".gitconfig"]
PROJECT = [".buckle/settings.json", ".claude/settings.json", ".codex/hooks.json", ".clinerules/hooks/PreToolUse",
           ".github/hooks/x.json", ".opencode/plugins/x.js", ".amp/plugins/x.ts", ".mcp.json"]

ATTACK = r"""
import ctypes, json, os, shutil, sys
home, names = sys.argv[1], json.loads(sys.argv[2])
libc = ctypes.CDLL(None)

def attempt(f, *args):
    try:
        f(*args)
    except OSError:
        pass

def write(path, mode="w"):
    with open(path, mode) as f:
        f.write("EVIL")

def exchange(a, b):
    libc.renameat2(-100, a.encode(), -100, b.encode(), 2)

state = json.loads(sys.argv[3])
work = os.getcwd()
for n, path in enumerate(names):
    evil = f"{work}/evil-{n}"
    write(evil)
    attempt(write, path)
    attempt(write, path, "a")
    attempt(os.makedirs, os.path.dirname(path), 0o777, True)
    attempt(write, path)
    attempt(os.rename, evil, path)
    attempt(exchange, evil, path)
    attempt(os.link, evil, path)
    attempt(os.symlink, evil, path)
    attempt(os.link, path, f"{work}/hard-{n}")
    attempt(write, f"{work}/hard-{n}", "a")
    attempt(os.unlink, path)
    attempt(os.rename, path, f"{work}/moved-{n}")
    attempt(os.truncate, path, 0)
    attempt(os.chmod, path, 0o777)
    attempt(write, f"/proc/self/cwd/../{os.path.relpath(path, home)}")
    # by its parents
    folder = os.path.dirname(path)
    while len(folder) > len(home):
        twin = f"{work}/twin-{n}-{len(folder)}"
        attempt(os.makedirs, twin)
        attempt(os.makedirs, os.path.dirname(f"{twin}/{os.path.relpath(path, folder)}"), 0o777, True)
        attempt(write, f"{twin}/{os.path.relpath(path, folder)}")
        attempt(os.rename, folder, folder + ".old")
        attempt(os.rename, folder, f"{work}/gone-{n}-{len(folder)}")
        attempt(os.rename, folder, f"{state}/gone-{n}-{len(folder)}")
        attempt(exchange, twin, folder)
        attempt(os.rename, twin, folder)
        attempt(os.symlink, twin, folder)
        attempt(lambda: shutil.rmtree(folder, ignore_errors=True) if "evil-dir" in folder else None)
        # a link inside the state folder that leads to it
        attempt(os.symlink, folder, f"{state}/link-{n}-{len(folder)}")
        attempt(write, f"{state}/link-{n}-{len(folder)}/{os.path.relpath(path, folder)}")
        folder = os.path.dirname(folder)
print("tried")
"""


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read(), os.path.islink(path)
    except OSError:
        return None


def test_sources(user, t):
    for agent in AGENTS:
        with open(f"{PROFILES}/tool-{agent}.sb", encoding="utf-8") as f:
            text = f.read()
        t.ok(re.search(r"^;; Sources: https://", text, re.M), f"{agent}: its preset has a source", text)
    r = user.call([running.BUCKLE, "agent", "--list"])
    t.equal([l.split()[0] for l in r.out.splitlines()], list(AGENTS), "all of them are listed", r)


def test_state(user, t):
    for agent, (state, _) in TRIED.items():
        home = user.folder()
        project = f"{home}/project"
        user.sh(f"mkdir -p {project} {home}/elsewhere")
        env = {"HOME": home}
        script = (f"mkdir -p $(dirname {home}/{state}) && echo s > {home}/{state} && echo p > p && "
                  f"{{ echo x > {home}/elsewhere/x || true; }} 2>/dev/null; {{ echo x > {home}/x || true; }} 2>/dev/null; echo done")
        r = user.call([running.BUCKLE, "agent", "--program", "/bin/sh", agent, "-c", script], cwd=project, env=env)
        t.ok(r.status == 0 and "done" in r.out and read(f"{home}/{state}") and read(f"{project}/p") and
             not os.path.exists(f"{home}/x") and not os.path.exists(f"{home}/elsewhere/x"),
             f"{agent}: writes its state and the project, and nothing else", r)
        t.ok("has no hook of Buckle" in r.err and f"--install {agent}" in r.err, f"{agent}: without a hook it says so", r)
        user.call([running.BUCKLE, "hook", "--install", agent], env=env)
        r = user.call([running.BUCKLE, "agent", "--program", "/bin/sh", agent, "--", "-c", "exit 7"], cwd=project, env=env)
        t.ok(r.status == 7 and not r.err, f"{agent}: with one it is quiet, and the status is the agent's", r)


def test_attacks(user, t):
    for agent, (state, settings) in TRIED.items():
        for there in (True, False):
            home = user.folder()
            project = f"{home}/project"
            user.sh(f"mkdir -p {project}")
            names = [f"{home}/{n}" for n in settings + OURS] + [f"{project}/{n}" for n in PROJECT]
            if there:
                for name in names:
                    user.write(name, "{}\n")
            folder = f"{home}/{state.split('/')[0]}" if state.count("/") < 3 else f"{home}/{'/'.join(state.split('/')[:3])}"
            before = {n: read(n) for n in names}
            r = user.call([running.BUCKLE, "agent", "--program", "/usr/bin/python3", agent, "-c", ATTACK, home,
                           json.dumps(names), json.dumps(folder)], cwd=project, env={"HOME": home})
            after = {n: read(n) for n in names}
            changed = [n[len(home):] for n in names if before[n] != after[n]]
            t.ok("tried" in r.out and not changed, f"{agent}, {'there' if there else 'missing'}: nothing that is run later changes",
                 changed, r.err[-1500:])


AGENT = """
import json, os, subprocess, sys
with open(os.path.expanduser("~/.claude/settings.json")) as f:
    hook = json.load(f)["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
out = []
for command in json.loads(sys.argv[1]):
    message = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": os.getcwd(), "session_id": "s",
               "permission_mode": "bypassPermissions", "tool_input": {"command": command}}
    a = subprocess.run(["sh", "-c", hook], input=json.dumps(message), capture_output=True, text=True,
                       env={**os.environ, "CLAUDE_PROJECT_DIR": os.getcwd()})
    new = json.loads(a.stdout)["hookSpecificOutput"]["updatedInput"]["command"]
    r = subprocess.run(["sh", "-c", new], capture_output=True, text=True)
    out.append([r.returncode, r.stdout])
with open(os.path.expanduser("~/.claude/.credentials.json")) as f:
    out.append([os.environ.get("ANTHROPIC_API_KEY"), f.read()])
print(json.dumps(out))
"""


def test_commands(user, t):
    """Commands of the hook run in a sandbox inside the agent's, with less."""
    home = user.folder()
    project = f"{home}/project"
    user.sh(f"mkdir -p {project}")
    env = {"HOME": home, "ANTHROPIC_API_KEY": "key"}
    user.write(f"{home}/.claude/.credentials.json", "login")
    user.call([running.BUCKLE, "hook", "--install", "claude"], env=env)
    commands = ["echo inside; touch made", "cat ~/.claude/.credentials.json || echo closed", "echo \"[$ANTHROPIC_API_KEY]\"",
                "touch ~/.claude/x || echo closed"]
    r = user.call([running.BUCKLE, "agent", "--program", "/usr/bin/python3", "claude", "--", "-c", AGENT, json.dumps(commands)],
                  cwd=project, env=env)
    said = json.loads(r.out) if r.out else []
    # a secret store is closed, or empty where a mask covers it
    t.ok(said[:1] == [[0, "inside\n"]] and said[1:2] in ([[0, "closed\n"]], [[0, ""]]) and
         said[2:] == [[0, "[]\n"], [0, "closed\n"], ["key", "login"]],
         "the agent has its login and key, its commands have not", r)
    t.ok(os.path.exists(f"{project}/made") and not os.path.exists(f"{home}/.claude/x"), "and not its state")
    commands = ["echo one >$TMPDIR/x; mkdir -p sub; cd sub", "pwd; cat $TMPDIR/x", "cd /", "pwd",
                "(echo '{}' >$TMPDIR/../folders.json) 2>/dev/null || echo closed; ls $TMPDIR/.."]
    r = user.call([running.BUCKLE, "agent", "--program", "/usr/bin/python3", "claude", "--", "-c", AGENT, json.dumps(commands)],
                  cwd=project, env=env)
    said = [out for _, out in json.loads(r.out)[:-1]] if r.out else []
    t.ok(said[1:2] == [f"{project}/sub\none\n"], "one TMPDIR, and cd lasts", r)
    t.ok(said[3:4] == [f"{project}\n"] or said[3:4] == [f"{project}/sub\n"], "inside the project", r)
    t.ok(said[4:] and said[4].startswith("closed"), "no command writes where the last one ended", r)
    t.equal([n for n in os.listdir("/tmp") if n.startswith("buckle-") and os.path.exists(f"/tmp/{n}/.in/commands")], [],
            "and TMPDIR ends with the agent")
    r = user.call([running.BUCKLE, "agent", "--program", "/bin/true", "nobody"], cwd=project, env=env)
    t.ok(r.status == 2 and "claude" in r.err, "an unknown agent", r)
    r = user.call([running.BUCKLE, "agent", "--program", "/bin/true", "claude"], cwd=home, env=env)
    t.ok(r.status == 125 and "home" in r.err, "not in the home folder", r)


# ---- the real ones ----

PACKAGES = {"claude": "@anthropic-ai/claude-code", "gemini": "@google/gemini-cli", "codex": "@openai/codex",
            "opencode": "opencode-ai", "qwen": "@qwen-code/qwen-code", "amp": "@sourcegraph/amp",
            "copilot": "@github/copilot", "cline": "cline"}
# what works without an account, besides --version and --help
OFFLINE = {"claude": ["mcp", "list"], "gemini": ["mcp", "list"], "codex": ["features", "list"], "opencode": ["mcp", "list"],
           "qwen": ["mcp", "list"], "copilot": ["help", "environment"]}
COMMAND = "echo from-the-tool; touch made; cat ~/.claude/.credentials.json; echo [$ANTHROPIC_API_KEY]"
INSTALLED = {}


def fetched(agent):
    """The program of an agent from the registry, once for all; None if it cannot be had."""
    if agent not in INSTALLED:
        folder = os.path.join(drive.FOLDER, "agent-" + agent)
        os.makedirs(folder, exist_ok=True)
        r = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", folder, PACKAGES[agent]],
                           capture_output=True, timeout=600, check=False)
        subprocess.run(["chmod", "-R", "a+rX", folder], check=False)
        program = f"{folder}/node_modules/.bin/{agent}"
        INSTALLED[agent] = program if r.returncode == 0 and os.path.exists(program) else None
    return INSTALLED[agent]


def test_real(user, t):
    for agent in PACKAGES:
        program = fetched(agent)
        if not program:
            skip(f"{PACKAGES[agent]} cannot be installed")
            continue
        home = user.folder()
        project = f"{home}/project"
        user.sh(f"mkdir -p {project}")
        for words in (["--version"], ["--help"], OFFLINE.get(agent)):
            if not words:
                continue
            if user.call([program, *words], cwd=project, env={"HOME": user.folder()}, timeout=120).status != 0:
                skip(f"{agent} does not run for everybody here")
                continue
            r = user.call([running.BUCKLE, "agent", "--program", program, agent, "--", *words], cwd=project,
                          env={"HOME": home}, timeout=120)
            t.ok(r.status == 0 and r.out + r.err, f"{agent} {' '.join(words)}", r)


FAKE = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "models": {"m": {"name": "m", "tool_call": True}},
        "options": {"baseURL": "http://127.0.0.1:PORT/v1", "apiKey": "k"}}


def opencode_config(**more):
    return json.dumps({"provider": {"fake": FAKE}, "model": "fake/m", "small_model": "fake/m", "autoupdate": False, **more})


def drives(user, t, agent, env, setup, *words):
    """The whole way: the agent asks its provider, which wants a command; the hook puts it inside."""
    program = fetched(agent)
    if not program:
        skip(f"{PACKAGES[agent]} cannot be installed")
        return
    provider = Provider(COMMAND)
    home = user.folder()
    project = f"{home}/project"
    user.sh(f"mkdir -p {project}")
    env = {"HOME": home, **{k: v.replace("PORT", str(provider.port)) for k, v in env.items()}}
    user.call([running.BUCKLE, "hook", "--install", agent], env=env)
    for name, text in setup.items():
        user.write(f"{home}/{name}", text.replace("PORT", str(provider.port)))
    r = user.call([running.BUCKLE, "agent", "--allow-net", f"127.0.0.1:{provider.port}", "--program", program, agent, "--",
                   *words], cwd=project, env=env, timeout=180)
    provider.end()
    result = next((s for s in provider.said if "from-the-tool" in s and "tool" in s), "")
    t.ok("all done" in r.out + r.err and os.path.exists(f"{project}/made"), f"{agent}: its command ran", r)
    t.ok("[]" in result and "login-secret" not in result, f"{agent}: without its login and key", result)


def test_driven(user, t):
    drives(user, t, "claude", {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": "http://127.0.0.1:PORT",
                               "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
           {".claude.json": '{"hasCompletedOnboarding": true}', ".claude/.credentials.json": "login-secret",
            ".config/buckle/settings.json": '{"autoAllowBashIfSandboxed": true}'},
           "-p", "run it", "--allowedTools", "Bash")
    drives(user, t, "opencode", {}, {".config/opencode/opencode.json": opencode_config()}, "run", "do it")


def test_refused(user, t):
    """Qwen Code runs the original command whatever a hook replaces it by: it must not run at all."""
    program = fetched("qwen")
    if not program:
        skip(f"{PACKAGES['qwen']} cannot be installed")
        return
    home = user.folder()
    user.sh(f"mkdir -p {home}/project")
    provider = Provider(f"echo from-the-tool; touch {home}/outside")
    env = {"HOME": home, "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"http://127.0.0.1:{provider.port}/v1", "OPENAI_MODEL": "m"}
    words = [program, "--auth-type", "openai", "--yolo", "-p", "run it"]
    r = user.call(words, cwd=f"{home}/project", env=env, timeout=180)
    if r.status != 0 and user is not running.PEOPLE[0]:
        provider.end()
        skip("qwen does not run for everybody here")
        return
    t.ok(os.path.exists(f"{home}/outside"), "qwen: without a hook its command runs", r)
    user.sh(f"rm -f {home}/outside")
    user.call([running.BUCKLE, "hook", "--install", "qwen"], env=env)
    provider.said.clear()
    r = user.call(words, cwd=f"{home}/project", env=env, timeout=180)
    provider.end()
    t.ok(not os.path.exists(f"{home}/outside") and any("MCP server" in s for s in provider.said),
         "qwen: with it, nothing runs outside, and the model learns why", r, provider.said[-2:])


# OpenCode's rules, and whether the command runs without our plug-in and with it
PERMISSIONS = (({"*": "allow"}, True, True), ({"*": "allow", "touch *": "deny"}, False, False),
               ({"*": "deny"}, False, False), ({"*": "ask"}, False, False),
               ({"*": "deny", "touch *": "allow"}, True, False),
               ({"*": "deny", "touch *": "allow", "*/buckle* run *": "allow"}, True, True),
               ({"*": "deny", "*/buckle* run *": "allow"}, False, False))


def test_permissions(user, t):
    """OpenCode's own rules, which see our command: docs/agents.md says what becomes of them."""
    program = fetched("opencode")
    if not program:
        skip(f"{PACKAGES['opencode']} cannot be installed")
        return
    for plugin in (False, True):
        home = user.folder()
        project = f"{home}/project"
        user.sh(f"mkdir -p {project}")
        if plugin:
            user.call([running.BUCKLE, "hook", "--install", "opencode"], env={"HOME": home})
        for bash, *runs in PERMISSIONS:
            provider = Provider("touch made")
            user.write(f"{home}/.config/opencode/opencode.json",
                       opencode_config(permission={"bash": bash}).replace("PORT", str(provider.port)))
            r = user.call([program, "run", "do it"], cwd=project, env={"HOME": home}, timeout=180)
            provider.end()
            made = os.path.exists(f"{project}/made")
            t.equal((made, bool(provider.said)), (runs[plugin], True),
                    f"opencode {'with' if plugin else 'without'} the plug-in: {json.dumps(bash)}", r)
            user.sh(f"rm -f {project}/made")


if __name__ == "__main__":
    for_everybody([test_sources, test_state, test_attacks, test_commands] +
                  ([test_real, test_driven, test_refused, test_permissions] if "heavy" in sys.argv else []))
    sys.exit(done())
