#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""status, enable, disable, allow, deny, allow-net, undo: they change the right key of the right layer,
take effect on the next command, and can be undone.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import running
from running import for_everybody
from tap import done, skip


def buckle(user, *words, cwd=None):
    return user.call([running.BUCKLE, *words], cwd=cwd)


def user_file(user):
    return f"{user.home}/.config/buckle/settings.json"


def settings_of(user):
    try:
        with open(user_file(user), encoding="utf-8") as f:
            return json.load(f)
    except OSError:
        return None


def test_allow(user, t):
    folder, outside = user.folder(), user.folder("outside")
    r = buckle(user, "allow", outside, cwd=folder)
    t.ok(r.status == 0 and settings_of(user) == {"filesystem": {"allowWrite": [".", outside]}},
         "a path is allowed, and the working directory stays so", r, settings_of(user))
    r = user.run("touch", outside + "/x", "here", cwd=folder)
    t.quiet(r, "the next command may write there, and here")
    r = buckle(user, "undo", cwd=folder)
    t.ok(r.status == 0 and settings_of(user) is None, "undone, no file is left", r)
    r = user.run("touch", outside + "/y", cwd=folder)
    t.ok(r.status != 0, "and it is denied again", r)
    buckle(user, "allow", "--read", outside, cwd=folder)
    t.equal(settings_of(user), {"filesystem": {"allowRead": [outside]}}, "reading alone")
    buckle(user, "undo", cwd=folder)
    os.chdir(folder)
    r = buckle(user, "allow", "sub", cwd=folder)
    t.equal(settings_of(user)["filesystem"]["allowWrite"][-1], folder + "/sub",
            "a relative path is meant from here")
    buckle(user, "undo", cwd=folder)
    r = buckle(user, "undo", cwd=folder)
    t.ok(r.status == 1 and "nothing" in r.err, "then there is nothing to undo", r)


def test_deny(user, t):
    folder = user.folder()
    secret = user.write(folder + "/secret", "s\n")
    buckle(user, "deny", secret, cwd=folder)
    t.equal(settings_of(user), {"filesystem": {"denyRead": [secret], "denyWrite": [secret]}},
            "denied, for reading and writing")
    r = user.run("cat", secret, cwd=folder)
    t.ok("s" not in r.out, "it is not read", r)
    r = user.run("sh", "-c", "echo x > secret", cwd=folder)
    t.ok(r.status != 0, "nor written", r)
    buckle(user, "undo", cwd=folder)
    buckle(user, "deny", "--write", secret, cwd=folder)
    t.quiet(user.run("cat", secret, cwd=folder), "writing alone leaves reading", "s\n")
    buckle(user, "undo", cwd=folder)


def test_switch(user, t):
    folder = user.folder()
    t.ok("enabled" in buckle(user, "status", cwd=folder).out, "enabled at first")
    buckle(user, "disable", cwd=folder)
    t.ok("disabled" in buckle(user, "status", cwd=folder).out and
         buckle(user, "summary", cwd=folder).out == "", "disabled, with nothing to tell a model")
    r = buckle(user, "decide", "--mode=open", "ls", cwd=folder)
    t.equal(r.status, 3, "commands run outside", r)
    buckle(user, "enable", cwd=folder)
    r = buckle(user, "decide", "--mode=open", "ls", cwd=folder)
    t.equal(r.status, 0, "enabled, inside", r)
    buckle(user, "undo", cwd=folder)
    buckle(user, "undo", cwd=folder)
    buckle(user, "allow-net", "host.example", cwd=folder)
    t.ok("host.example" in buckle(user, "status", cwd=folder).out, "a host is allowed")
    before = settings_of(user)
    r = buckle(user, "allow-net", "no such host", cwd=folder)
    t.ok(r.status == 2 and settings_of(user) == before, "nonsense changes nothing", r)
    r = buckle(user, "undo", cwd=folder)
    t.ok("host.example" in r.err and settings_of(user) is None, "nor is it what is undone", r)
    r = buckle(user, "allow", "--layer", "local", "/opt", cwd=folder)
    t.ok(r.status == 0 and os.path.exists(folder + "/.buckle/settings.local.json"), "another layer", r)
    t.ok("not trusted" in buckle(user, "status", cwd=folder).out, "is reported as not trusted yet")
    buckle(user, "undo", cwd=folder)
    t.ok(not os.path.exists(folder + "/.buckle/settings.local.json"), "and undone as well")


def test_undo(user, t):
    """Undo does not revert later changes to a file."""
    folder = user.folder()
    buckle(user, "deny", "/opt", cwd=folder)
    mine = {"filesystem": {"denyRead": ["/opt"], "denyWrite": ["/opt", "/mine"]}}
    user.write(user_file(user), json.dumps(mine))
    r = buckle(user, "undo", cwd=folder)
    t.ok(r.status == 2 and "changed since" in r.err and settings_of(user) == mine,
         "a file that was edited meanwhile is left alone", r)
    os.unlink(user_file(user))
    os.unlink(f"{user.home}/.config/buckle/undo.json")
    project = user.write(folder + "/.buckle/settings.json", "{}", 0o644)
    buckle(user, "deny", "--layer", "project", "/opt", cwd=folder)
    buckle(user, "undo", cwd=folder)
    with open(project, encoding="utf-8") as f:
        t.ok(f.read() == "{}" and os.stat(project).st_mode & 0o777 == 0o644,
             "what others share is put back as it was, readable as it was")
    settings = {"enabled": True}
    user.write(folder + "/.buckle/settings.json", json.dumps(settings))
    r = buckle(user, "disable", cwd=folder)
    t.ok(r.status == 0 and "keep it enabled here" in r.err, "what another layer holds against it is reported", r)
    buckle(user, "undo", cwd=folder)


def at_once(user, folder, commands):
    """Runs all of them in parallel. Returns those that failed."""
    started = [user.start([running.BUCKLE, *words], cwd=folder, stderr=subprocess.PIPE) for words in commands]
    ended = [(child.communicate(timeout=60), child.returncode) for child in started]
    return [one for one in ended if one[1] != 0]


def test_at_once(user, t):
    """Parallel changes to a file do not undo each other."""
    folder, config = user.folder(), os.path.dirname(user_file(user))
    names = [f"h{n}.example" for n in range(20)]
    failed = at_once(user, folder, [["settings", "add", "network.allowedDomains", n] for n in names])
    t.ok(not failed and sorted(settings_of(user)["network"]["allowedDomains"]) == sorted(names),
         "twenty entries are added at once", failed, settings_of(user))
    undone = [buckle(user, "undo", cwd=folder).status for _ in range(21)]
    t.ok(undone == [0] * 20 + [1] and settings_of(user) is None, "and undone one by one", undone)
    paths = [f"/opt/p{n}" for n in range(10)]
    failed = at_once(user, folder, [["deny", path] for path in paths])
    t.ok(not failed and sorted(settings_of(user)["filesystem"]["denyRead"]) == paths,
         "ten are denied at once", failed, settings_of(user))
    undone = [buckle(user, "undo", cwd=folder).status for _ in range(11)]
    t.ok(undone == [0] * 10 + [1] and settings_of(user) is None, "each is undone", undone)
    user.write(user_file(user) + ".lock", "")
    r = buckle(user, "settings", "add", "network.allowedDomains", "a.example", cwd=folder)
    t.ok(r.status == 0 and r.seconds < 5, "who died while changing it keeps nobody waiting", r)
    left = [name for name in os.listdir(config) if "lock" in name or name.endswith(".new")]
    t.equal(left, [], "nothing is left lying about")
    os.unlink(user_file(user))


def test_summary(user, t):
    """The summary contains everything a model needs, and nothing false."""
    folder = user.folder()
    reported = lambda *words: buckle(user, "summary", *words, cwd=folder).out
    rules = {"filesystem": {"denyRead": ["/opt/closed"], "allowWrite": [".", "/srv/out"],
                            "denyWrite": ["/srv/out/not"]},
             "network": {"allowedDomains": ["*.example.org"], "deniedDomains": ["bad.example.org"],
                         "allowUnixSockets": ["/run/some.sock"]},
             "ignoreViolations": {"*": ["/usr/bin"], "npm": ["/opt/npm"]},
             "excludedCommands": ["docker:*"]}
    user.write(user_file(user), json.dumps({**rules, "allowUnsandboxedCommands": True}))
    text = reported()
    for what, words in {
            "what is not read": ["Reading", "/opt/closed", "credential stores"],
            "what is written": ["Writing", folder, "/srv/out", "never", "/srv/out/not"],
            "hosts": ["Network", "*.example.org", "never bad.example.org"],
            "sockets": ["Unix sockets: /run/some.sock"],
            "denials that are not reported": ['"/usr/bin"', '"/opt/npm" for commands with "npm"'],
            "temporary files": ["$TMPDIR", "all commands of a session share"],
            "what counts as evidence": ["Operation not permitted", "does not resolve",
                                        "<sandbox_violations>", "ordinary one"],
            "when to bypass, and to try again": ["dangerouslyDisableSandbox only if", "at once",
                                                 "one sentence", "may be asked"],
            "that bypassing is no habit": ["no reason for another"],
            "what runs outside by itself": ["outside the sandbox automatically", "docker:*"],
            "how restrictions are changed": ["buckle allow PATH", "buckle grant"],
            "credentials stay closed": ["Never propose", "credential stores"]}.items():
        missing = [w for w in words if w not in text]
        t.ok(not missing, f"the model sees {what}", missing, text)
    t.ok(len(text) < 3500, "in few words", len(text))
    user.write(user_file(user), json.dumps(rules))
    strict = reported()
    t.ok("disabled by policy" in strict and "only if the user" not in strict,
         "the strict variant: no bypass, and what to do instead", strict)
    plan = reported("--plan", "--plan-file", "plan.md")
    t.ok(plan.startswith("The agent is planning: no command runs") and "but plan.md" in plan and
         "Running outside" not in plan, "plan mode: nothing runs, one file may be written", plan)
    facts = json.loads(reported("--json"))
    t.ok(facts["allowedDomains"] == ["*.example.org"] and facts["excludedCommands"] == ["docker:*"] and
         facts["denyRead"] == ["/opt/closed"] and not facts["allowUnsandboxedCommands"],
         "the same as JSON", facts)
    user.write(user_file(user), json.dumps({"filesystem": {"allowWrite": ["/tmp"]}}))
    t.ok("/tmp itself" not in reported(), "nothing wrong is said")
    user.write(user_file(user), json.dumps({"enabled": False}))
    t.equal(reported(), "", "nothing at all when sandboxing is disabled")
    t.equal(reported("--mode=none"), "", "or tools are")
    os.unlink(user_file(user))


def test_settings_undone(user, t):
    """What `buckle settings` changed is undone, too: all values of one command at once."""
    folder = user.folder()
    buckle(user, "settings", "add", "network.deniedDomains", "one.example", "two.example", cwd=folder)
    t.equal(settings_of(user), {"network": {"deniedDomains": ["one.example", "two.example"]}}, "settings add adds both")
    r = buckle(user, "settings", "add", "network.deniedDomains", "three.example", "not a host", cwd=folder)
    t.ok(r.status == 2 and "three.example" not in json.dumps(settings_of(user)), "a wrong value leaves all of its command out", r)
    buckle(user, "settings", "remove", "network.deniedDomains", "one.example", cwd=folder)
    buckle(user, "undo", cwd=folder)
    t.equal(settings_of(user), {"network": {"deniedDomains": ["one.example", "two.example"]}}, "undo brings back what remove took")
    r = buckle(user, "undo", cwd=folder)
    t.ok(settings_of(user) is None and "settings add network.deniedDomains" in r.err, "and takes back what add added", r)


COUNTS = """
active() { "$BUCKLE" status | sed -n 's/^active *//p'; }
active
"$BUCKLE" session --for $$ >/dev/null; active
sleep 60 & "$BUCKLE" session --for $! >/dev/null; active
"$BUCKLE" run --accept-weaker -- sleep 60 & wait_for "1 run,"; active
"$BUCKLE" run --accept-weaker -- sleep 60 & wait_for "2 runs,"; active
kill $(jobs -p)
"""
WAIT = """
wait_for() { for i in $(seq 200); do case "$(active)" in "$1"*) return;; esac; sleep 0.05; done; }
"""


def test_counts(user, t):
    """One run, two runs. A network namespace has its own runs and sessions; other tests have theirs."""
    apart = ["unshare", "-n"] if user.uid == 0 else ["unshare", "-rn"]
    if user.call([*apart, "true"]).status != 0:
        return skip("no network namespace can be made")
    r = user.call([*apart, "bash", "-c", WAIT + COUNTS], cwd=user.folder(), env={"BUCKLE": running.BUCKLE})
    t.equal(r.out.splitlines(), ["0 runs, 0 sessions", "0 runs, 1 session, 0 denied", "0 runs, 2 sessions, 0 denied",
                                 "1 run, 2 sessions, 0 denied", "2 runs, 2 sessions, 0 denied"], "status counts runs and sessions", r)


if __name__ == "__main__":
    for_everybody([test_counts, test_allow, test_deny, test_switch, test_undo, test_settings_undone, test_at_once, test_summary])
    sys.exit(done())
