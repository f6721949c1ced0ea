#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions with a world: `buckle mcp --try`, `buckle hook --try` and `buckle agent --try`. All commands
see one world, also side by side and in the background; a checkpoint follows each; nothing outside changes
until it is kept.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from agents import Client, HookAgent, settings
from running import BUCKLE, eventually, for_everybody
from tap import done

TREE = "find . -printf '%p %m %y %l %T@ ' -type f -exec cat {} + -o -printf '\\n' | sort"


def tree(user, folder):
    return user.sh(TREE, cwd=folder)


def made(user):
    folder = user.folder("project")
    user.sh("mkdir -p src lib/deep; echo one >src/one; echo two >src/two; echo x >lib/deep/x; ln -s one src/link", cwd=folder)
    return folder


def buckle(user, *words, **how):
    return user.call([BUCKLE, *words], **how)


def worlds(user):
    return json.loads(buckle(user, "changes", "--json").out)


def changed(user, *words):
    r = buckle(user, "changes", "--json", *words)
    return {c["path"]: c["change"] for c in json.loads(r.out)["changes"]} if r.status == 0 else r.err


def client(user, folder, *words):
    settings(user, autoAllowBashIfSandboxed=True)
    return Client(user, folder, "--try", *words, stderr=subprocess.PIPE)


def test_mcp(user, t):
    folder = made(user)
    before = tree(user, folder)
    c = client(user, folder)
    t.equal(c.bash("echo three >src/three; rm src/two; echo more >>src/one; cat src/one").text, "one\nmore\n", "a command")
    world = worlds(user)[0]["world"]
    t.equal(tree(user, folder), before, "nothing has changed outside")
    t.equal(c.bash("ls src; mkdir build; echo b >build/b").text, "link\none\nthree\n", "the next one sees what it did")
    r = c.bash("python3 -c 'import os; os.rename(\"build\", \"out\")'; cat out/b")
    t.equal(r.text, "b\n", "a folder of an earlier command can be renamed", r)
    c.bash("cat src/one")
    rows = [(k["checkpoint"], k["command"]) for k in json.loads(buckle(user, "changes", "--checkpoints", "--json", world).out)]
    t.equal([n for n, _ in rows], [1, 2, 3], "a checkpoint follows each command that changed something", rows)
    t.ok(rows[1][1].startswith("ls src; mkdir build"), "with the command", rows)
    t.equal(changed(user, world), {"out": "added", "out/b": "added", "src/one": "changed", "src/three": "added",
                                   "src/two": "removed"}, "a world in use can be looked at")
    t.equal(changed(user, world, "--checkpoint", "1"), {"src/one": "changed", "src/three": "added", "src/two": "removed"},
            "as it was after the first command")
    t.equal(changed(user, world, "--checkpoint", "2", "--since", "1"), {"build": "added", "build/b": "added"}, "what the second one did")
    t.equal(changed(user, world, "--since", "2"), {"build": "removed", "build/b": "removed", "out": "added", "out/b": "added"},
            "and what came after it")
    r = buckle(user, "changes", world, "--diff", "--checkpoint", "1")
    t.ok("\n one\n+more\n" in r.out, "differences of a checkpoint", r)
    for command in ("keep", "discard"):
        r = buckle(user, command, world)
        t.ok(r.status == 2 and "in use" in r.err, f"{command} refuses a world in use", r)
    c.close()
    shown = c.child.stderr.read().decode()
    t.ok(f"the world {world}: 3 added, 1 changed, 1 removed" in shown and f"buckle keep {world}" in shown,
         "at the end there is a summary", shown)
    t.equal(tree(user, folder), before, "still nothing has changed outside")
    r = buckle(user, "discard", "--after", "2", world)
    t.equal(changed(user, world), {"build": "added", "build/b": "added", "src/one": "changed", "src/three": "added",
                                   "src/two": "removed"}, "back to the second checkpoint", r)
    t.equal(buckle(user, "changes", world, "--", "cat", "build/b", "src/one", cwd=folder).out, "b\none\nmore\n", "a command runs there")
    r = buckle(user, "discard", "--after", "3", world)
    t.ok(r.status == 2 and "no checkpoint 3" in r.err, "the third one is gone", r)
    r = buckle(user, "keep", world)
    t.ok(r.status == 0 and open(f"{folder}/build/b").read() == "b\n" and not os.path.exists(f"{folder}/src/two"), "kept", r)
    t.equal(worlds(user), [], "no world is left")


def test_beside(user, t):
    """Commands side by side and in the background are in the same world."""
    folder = made(user)
    c = client(user, folder)
    job = c.bash("echo up >up; for i in $(seq 200); do test -e down && exit; sleep 0.1; done", run_in_background=True).facts["job"]
    t.ok(eventually(lambda: c.bash("cat up").text == "up\n"), "a command sees what a background one does")
    c.bash("touch down")
    t.ok(eventually(lambda: not c.tool("bash_output", job=job).facts["running"]), "and the other way round")
    numbers = [c.begin("tools/call", {"name": "bash", "arguments": {"command": f"echo {i} >n{i}; sleep 0.2; ls n*"}}) for i in range(4)]
    for n in numbers:
        if not any(note.get("id") == n for note in c.notes):
            c.wait(n)
    t.equal(c.bash("cat n0 n1 n2 n3").text, "0\n1\n2\n3\n", "four at once")
    r = c.bash("(sleep 30; echo late >late) >/dev/null 2>&1 & echo started")
    t.equal(r.text, "started\n", "background processes of a shell", r)
    c.close()
    t.ok(eventually(lambda: worlds(user) and not worlds(user)[0]["used"]), "they end with the session")
    t.equal(sorted(os.listdir(folder)), ["lib", "src"], "nothing has changed outside")
    buckle(user, "changes", "--prune", "--days", "0")


def test_empty(user, t):
    c = client(user, made(user))
    c.bash("ls; mkdir x; rmdir x")
    c.close()
    t.equal((worlds(user), c.child.stderr.read()), ([], b""), "a world without changes is gone at the end")


def test_hook(user, t):
    folder = made(user)
    before = tree(user, folder)
    settings(user, autoAllowBashIfSandboxed=True)
    agent = HookAgent(user, folder, "--try")
    status, out, err = agent.bash("echo new >new; rm -r lib; ls")
    t.equal((status, out), (0, "new\nsrc\n"), "a command", err)
    t.equal(agent.bash("cat new; echo again >>new")[1], "new\n", "the next one")
    world = worlds(user)[0]
    t.ok(world["used"] and world["folder"] == folder, "the session has a world", world)
    rows = json.loads(buckle(user, "changes", "--checkpoints", "--json", world["world"]).out)
    t.ok(eventually(lambda: len(json.loads(buckle(user, "changes", "--checkpoints", "--json", world["world"]).out)) == 2),
         "two checkpoints", rows)
    agent.close()
    t.ok(eventually(lambda: not worlds(user)[0]["used"]), "the session ends with the agent")
    t.equal(tree(user, folder), before, "nothing has changed outside")
    t.equal(changed(user, world["world"]), {"lib": "removed", "new": "added"}, "its changes")
    t.equal(buckle(user, "keep", world["world"]).status, 0, "are kept")
    t.equal(sorted(os.listdir(folder)), ["new", "src"], "then they are real")


def test_hook_without(user, t):
    """A session that began without a world gets none: the command must not change real files."""
    folder = made(user)
    settings(user, autoAllowBashIfSandboxed=True)
    agent = HookAgent(user, folder)
    agent.bash("true")
    pid = agent.session
    r = buckle(user, "run", "--session", str(pid), "--session-world", "--", "touch", "real", cwd=folder)
    t.ok(pid and r.status == 125 and "no world" in r.err and not os.path.exists(f"{folder}/real"), "it is refused", r)
    r = buckle(user, "run", "--session-world", "--", "touch", "real", cwd=folder)
    t.ok(r.status == 125 and "no world" in r.err and not os.path.exists(f"{folder}/real"), "also without a session", r)
    agent.close()


def test_outside(user, t):
    """Other folders stay as they are, and so do worlds."""
    folder, other = made(user), made(user)
    c = client(user, folder)
    r = c.bash(f"echo x >{other}/x; echo x >~/.local/state/buckle/worlds/x; ls ~/.local/state/buckle/worlds/*/0/upper && echo seen")
    t.ok(not os.path.exists(f"{other}/x") and not os.path.exists(f"{user.home}/.local/state/buckle/worlds/x"), "not writable", r)
    c.close()
    buckle(user, "changes", "--prune", "--days", "0")


INSIDE = """
import json, os, subprocess, sys
def hook(command):
    message = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": os.getcwd(), "tool_name": "Bash",
               "tool_input": {"command": command}}
    a = subprocess.run([sys.argv[1], "hook", "--try"], input=json.dumps(message), capture_output=True, text=True)
    line = json.loads(a.stdout)["hookSpecificOutput"]["updatedInput"]["command"]
    return subprocess.run(line, shell=True, capture_output=True, text=True)
os.makedirs(os.path.expanduser("~/.claude/projects"), exist_ok=True)
open(os.path.expanduser("~/.claude/projects/transcript"), "w").write("t")
open("by-agent", "w").write("a")
r = hook("cat by-agent; echo c >by-command; rm src/two")
print(r.stdout, r.stderr, r.returncode, os.environ.get("BUCKLE_WORLD"), os.path.exists("by-command"))
"""


def test_agent(user, t):
    folder = made(user)
    before = tree(user, folder)
    settings(user, autoAllowBashIfSandboxed=True)
    r = buckle(user, "agent", "--try", "--program", "/usr/bin/python3", "claude", "--", "-c", INSIDE, BUCKLE, cwd=folder)
    world = worlds(user)[0]["world"]
    t.equal(r.out, f"a  0 {world} True\n", "the agent and its commands are in one world", r)
    t.equal(tree(user, folder), before, "nothing has changed outside")
    t.ok(os.path.exists(f"{user.home}/.claude/projects/transcript"), "but the agent's state is real")
    t.equal(changed(user, world), {"by-agent": "added", "by-command": "added", "src/two": "removed"}, "the changes")
    buckle(user, "keep", world)
    t.ok(os.path.exists(f"{folder}/by-command"), "are kept")


def test_sub_agents(user, t):
    """Two sub-agents, each in a world of its own on their parent's; the parent's gets what is kept of them."""
    folder = made(user)
    before = tree(user, folder)
    parent = client(user, folder)
    parent.bash("echo p >by-parent")
    world = worlds(user)[0]["world"]
    subs = [client(user, folder, "--on", world) for _ in range(2)]
    for i, sub in enumerate(subs):
        t.equal(sub.bash(f"cat by-parent; echo {i} >by-sub{i}; echo {i} >>src/one; ls by-*").text, f"p\nby-parent\nby-sub{i}\n",
                "a sub-agent sees its parent's changes, and not the other one's")
    t.equal(parent.bash("ls by-*; cat src/one").text, "by-parent\none\n", "its parent sees none of it")
    ids = [w["world"] for w in worlds(user) if w.get("on") == world]
    t.equal(len(ids), 2, "worlds on the parent's")
    for sub in subs:
        sub.close()
    r = buckle(user, "keep", ids[0])
    t.ok(r.status != 0 and "in use" in r.err, "nothing is kept in a world in use", r)
    parent.close()
    t.ok(buckle(user, "keep", world).status == 1, "nor is it kept before what is on top of it")
    t.equal(buckle(user, "keep", ids[0]).status, 0, "the one is kept in its parent's world")
    r = buckle(user, "keep", ids[1])
    t.ok(r.status == 1 and f"{folder}/src/one: it has changed outside" in r.err, "what both changed is a conflict", r)
    buckle(user, "discard", ids[1])
    t.equal(tree(user, folder), before, "nothing has changed outside")
    t.ok(buckle(user, "keep", world).status == 0 and os.path.exists(f"{folder}/by-parent"), "all of it at last")
    t.equal([os.path.exists(f"{folder}/by-sub{i}") for i in range(2)].count(True), 1, "with one of the two")
    r = buckle(user, "agent", "--on", world, "claude", cwd=folder)
    t.ok(r.status == 2 and "--on needs --try" in r.err, "--on without --try", r)


TESTS = [test_agent, test_sub_agents, test_mcp, test_beside, test_empty, test_hook, test_hook_without, test_outside]
chosen = sys.argv[1:]
for_everybody([test for test in TESTS if not chosen or test.__name__ in chosen])
sys.exit(done())
