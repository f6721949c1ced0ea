#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A session is one place, and no more than that: `cd` lasts inside the project whatever a command says,
TMPDIR is the session's alone, background processes stay confined and end with it, and so does the session
with its agent.
"""

import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import running
from agents import Client, HookAgent, settings
from running import PEOPLE, eventually, for_everybody, processes
from tap import done


def with_agent(test):
    """A test with an agent in a new project."""
    def run(user, t):
        settings(user, autoAllowBashIfSandboxed=True)
        agent = HookAgent(user, user.folder("project"))
        try:
            test(user, t, agent)
        finally:
            agent.close()
            settings(user)
    run.__name__ = test.__name__
    return run


def pwd(agent, **how):
    return agent.bash("pwd -P", **how)[1].rstrip("\n")


@with_agent
def test_forged(user, t, agent):
    """A command can write any text where the shell says in which folder it ended."""
    project, other = agent.folder, user.folder("other")
    user.sh(f"mkdir {project}/sub && ln -s /etc {project}/link && ln -s {project}/sub {project}/fine && touch {project}/file")
    for what, text in {"another folder": "/etc", "a folder beside": other, "a longer name": project + "-x",
                       "the folder above": os.path.dirname(project), "a link": project + "/link",
                       "a link to a folder inside": project + "/fine", "dots": project + "/sub/../..",
                       "a relative path": "sub", "no folder": project + "/none", "a file": project + "/file",
                       "two lines": f"{project}/sub\n/etc", "a long path": "/" + "x" * 5000, "nothing": "",
                       "no path": "-"}.items():
        agent.bash("cd sub")
        user.write(project + "/text", text)
        status, _, err = agent.bash("cat text >&9; echo >&9; exec 9>&-; exec true")
        t.ok(status == 0 and pwd(agent) in (project, project + "/sub"), f"{what} is not followed", err)
    for command in ("cd sub; exec 9>&-", "cd sub; trap - EXIT", "cd sub; kill -9 $$"):
        agent.bash("cd " + project)
        t.ok("9:" not in agent.bash(command)[2] and pwd(agent) == project, f"quietly nothing: {command}")


@with_agent
def test_moved(user, t, agent):
    """The folder changes after the command."""
    project = agent.folder
    user.sh(f"mkdir -p {project}/a/b {project}/c")
    agent.bash("cd a/b")
    t.equal(pwd(agent), project + "/a/b", "`cd` lasts")
    user.sh(f"mv {project}/a {project}/d && ln -s /etc {project}/a")
    t.equal(pwd(agent), project, "not through a link that takes the folder's place")
    agent.bash("cd d/b")
    user.sh(f"rm -r {project}/d")
    t.equal(pwd(agent), project, "nor to a folder that is gone")
    agent.bash("cd c")
    t.equal(pwd(agent, session="two"), project, "another conversation has a folder of its own")
    t.equal(pwd(agent), project + "/c", "and each keeps its own")
    t.equal(pwd(agent, more={"agent_id": "a1"}), project, "a sub-agent begins in the project")
    agent.bash("cd ..; cd c; true", more={"agent_id": "a1"})
    t.equal(pwd(agent), project + "/c", "and moves nobody")
    t.equal(pwd(agent, cwd="/usr"), "/usr", "the agent's own folder counts when it changes")
    t.ok(agent.bash("touch x", cwd="/usr")[0] != 0, "and opens nothing")
    for name in ("$(touch made)", "'; touch made; '", "x" * 5000, "\u202e", ""):
        t.equal(pwd(agent, session=name), project, f"a session named {name[:20]!r}")
    t.ok(not os.path.exists(project + "/made"), "runs nothing")


@with_agent
def test_tmpdir(user, t, agent):
    inside = agent.bash("echo x >$TMPDIR/x; echo $TMPDIR")[1].strip()
    t.equal(agent.bash("cat $TMPDIR/x", session="two")[1], "x\n", "all commands of an agent share TMPDIR")
    settings(user, autoAllowBashIfSandboxed=True, excludedCommands=["env"])
    outside = dict(line.split("=", 1) for line in agent.bash("env")[1].splitlines() if "=" in line)
    t.ok(outside.get("TMPDIR") != inside and "SANDBOX_RUNTIME" not in outside, "a command outside has another one")
    other = HookAgent(user, agent.folder)
    t.ok(other.bash(f"echo y >{inside}/x")[0] != 0 and other.bash("echo $TMPDIR")[1].strip() != inside and
         agent.bash("cat $TMPDIR/x")[1] == "x\n", "and so has another agent, which cannot write to this one")
    other.close()
    agent.close()
    t.ok(eventually(lambda: not os.path.exists(inside)), "it ends with the agent")
    place, linked = user.home + "/place", user.home + "/linked"
    os.symlink(place, linked)
    for what, more, env, usual in (("a setting", {"tmpdir": "~/place"}, {}, False),
                                   ("a variable", {}, {"CLAUDE_CODE_TMPDIR": place}, False),
                                   ("the older one", {}, {"CLAUDE_TMPDIR": place}, False),
                                   ("a link", {"tmpdir": linked}, {}, True), ("no path", {"tmpdir": "x"}, {}, True),
                                   ("the project", {}, {"CLAUDE_TMPDIR": agent.folder + "/tmp"}, True),
                                   ("a project's setting", None, {}, True)):
        user.sh(f"mkdir -p {agent.folder}/tmp {agent.folder}/.buckle")
        settings(user, autoAllowBashIfSandboxed=True, **(more or {}))
        if more is None:
            user.write(agent.folder + "/.buckle/settings.json", json.dumps({"tmpdir": place}))
        again = HookAgent(user, agent.folder, env=env)
        _, out, err = again.bash("echo y >$TMPDIR/y && echo $TMPDIR; env | grep -c \"^CLAUDE.*TMPDIR=$TMPDIR$\"")
        path, named = out.split() if len(out.split()) == 2 else ("", "")
        t.ok(path.startswith(place + "/") != usual and int(named or -1) == len(env), f"{what} names the place", out, err)
        again.close()
        t.ok(eventually(lambda p=path: not os.path.exists(p)), "  where nothing is left")


def background(user, t, start, end, what):
    """A process in the background, from the session's beginning to its end."""
    outside = user.folder("outside")
    bash, pid = start()
    status, _, err = bash(f"(while sleep .2; do touch {outside}/x; touch alive; done) >/dev/null 2>&1 & echo started")
    t.ok(status == 0, f"{what}: a command with a process in the background ends", err)
    alive = f"{bash.folder}/alive"
    t.ok(eventually(lambda: os.path.exists(alive)), f"{what}: and that goes on")
    listed = user.call([running.BUCKLE, "session", "--list"])
    t.ok("  background  (while sleep" in listed.out, f"{what}: it is listed", listed)
    log = user.call([running.BUCKLE, "log", "--session", str(pid())])
    t.ok(outside + "/x" in log.out and not os.path.exists(outside + "/x"), f"{what}: it stays in its sandbox", log)
    end()
    t.ok(eventually(lambda: not processes(r"^sleep \.2")), f"{what}: it ends with the session")


def test_background(user, t):
    for how, ends in (("closed", None), ("killed", "agent"), ("its session killed", "session")):
        settings(user, autoAllowBashIfSandboxed=True)
        agent = HookAgent(user, user.folder("project"))

        def bash(command, a=agent):
            return a.bash(command)
        bash.folder = agent.folder

        def end(a=agent, which=ends):
            if which:
                os.kill(a.child.pid if which == "agent" else a.session, signal.SIGKILL)
            else:
                a.close()
        background(user, t, lambda b=bash, a=agent: (b, lambda: a.session), end, f"hook, {how}")
        agent.child.kill()
        agent.child.wait()
    client = Client(user, user.folder("project"))

    def call(command):
        output = client.bash(command)
        return output.facts["exitCode"], output.facts["stdout"], output.facts["stderr"]
    call.folder = client.bash("pwd").facts["cwd"]
    background(user, t, lambda: (call, lambda: client.child.pid), client.close, "mcp")
    settings(user)


@with_agent
def test_ended(user, t, agent):
    """What is ended from outside leaves nothing behind."""
    status, _, _ = agent.bash("sleep 41 & sleep 41", timeout=1)
    t.ok(status != 0 and eventually(lambda: not processes(r"^sleep 41 ")), "not even in the background")
    status, _, _ = agent.bash("sleep 42 & kill -TERM $$")
    t.ok(status != 0 and eventually(lambda: not processes(r"^sleep 42 ")), "nor if the command kills itself")
    client = Client(user, agent.folder)
    output = client.bash("sleep 43 & sleep 43", timeout=500)
    t.ok(output.facts["timedOut"] and eventually(lambda: not processes(r"^sleep 43 ")), "nor after a time limit")
    output = client.bash("(for i in 1 2 3; do echo $i; sleep .3; done; echo end >done) & echo started")
    t.ok("started" in output.facts["stdout"] and eventually(lambda: os.path.exists(agent.folder + "/done")),
         "a process in the background may print", output)
    client.close()


def test_idle(user, t):
    owner = user.start(["sleep", "60"])
    for what, words, seconds in (("a limit", ["--idle", "1"], (0.8, 8)), ("none", ["--idle", "0"], None)):
        pid = user.call([running.BUCKLE, "session", "--for", str(owner.pid), *words]).out.strip()
        began = time.monotonic()
        run = user.start([running.BUCKLE, "run", "--session", pid, "--", "sleep", "2"], cwd=user.folder())
        t.equal(run.wait(20), 0, f"{what}: a command keeps it")
        gone = eventually(lambda p=pid: not os.path.exists(f"/proc/{p}"), 4)
        t.ok(gone == bool(seconds) and time.monotonic() - began > 2, f"{what}: it ends when nothing happens")
    owner.kill()
    owner.wait()
    t.ok(eventually(lambda: not os.path.exists(f"/proc/{pid}")), "and with its owner")
    r = user.call([running.BUCKLE, "session", "--idle", "soon"])
    t.ok(r.status == 2 and "--idle" in r.err, "a limit is a number", r)


@with_agent
def test_strangers(user, t, agent):
    """Neither a command nor another user joins."""
    agent.bash("mkdir sub; cd sub")
    join = f"{running.BUCKLE} run --session {agent.session} --folder-of one -- sh -c 'cd /'"
    t.ok(agent.bash(join)[0] != 0 and pwd(agent) == agent.folder + "/sub", "a command inside cannot")
    for other in PEOPLE:
        if other is not user and user.uid:
            r = other.call(["sh", "-c", join], cwd=other.folder())
            t.ok(r.status != 0 and pwd(agent) == agent.folder + "/sub", "nor can another user", r)


if __name__ == "__main__":
    for_everybody([test_forged, test_moved, test_tmpdir, test_background, test_ended, test_idle, test_strangers])
    sys.exit(done())
