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
from tap import done


def buckle(person, *words, cwd=None):
    return person.call([running.BUCKLE, *words], cwd=cwd)


def user_file(person):
    return f"{person.home}/.config/buckle/settings.json"


def settings_of(person):
    try:
        with open(user_file(person), encoding="utf-8") as f:
            return json.load(f)
    except OSError:
        return None


def test_allow(person, t):
    folder, outside = person.folder(), person.folder("outside")
    r = buckle(person, "allow", outside, cwd=folder)
    t.ok(r.status == 0 and settings_of(person) == {"filesystem": {"allowWrite": [".", outside]}},
         "a path is allowed, and the working directory stays so", r, settings_of(person))
    r = person.run("touch", outside + "/x", "here", cwd=folder)
    t.quiet(r, "the next command may write there, and here")
    r = buckle(person, "undo", cwd=folder)
    t.ok(r.status == 0 and settings_of(person) is None, "undone, no file is left", r)
    r = person.run("touch", outside + "/y", cwd=folder)
    t.ok(r.status != 0, "and it is denied again", r)
    buckle(person, "allow", "--read", outside, cwd=folder)
    t.equal(settings_of(person), {"filesystem": {"allowRead": [outside]}}, "reading alone")
    buckle(person, "undo", cwd=folder)
    os.chdir(folder)
    r = buckle(person, "allow", "sub", cwd=folder)
    t.equal(settings_of(person)["filesystem"]["allowWrite"][-1], folder + "/sub",
            "a relative path is meant from here")
    buckle(person, "undo", cwd=folder)
    r = buckle(person, "undo", cwd=folder)
    t.ok(r.status == 1 and "nothing" in r.err, "then there is nothing to undo", r)


def test_deny(person, t):
    folder = person.folder()
    secret = person.write(folder + "/secret", "s\n")
    buckle(person, "deny", secret, cwd=folder)
    t.equal(settings_of(person), {"filesystem": {"denyRead": [secret], "denyWrite": [secret]}},
            "denied, for reading and writing")
    r = person.run("cat", secret, cwd=folder)
    t.ok("s" not in r.out, "it is not read", r)
    r = person.run("sh", "-c", "echo x > secret", cwd=folder)
    t.ok(r.status != 0, "nor written", r)
    buckle(person, "undo", cwd=folder)
    buckle(person, "deny", "--write", secret, cwd=folder)
    t.quiet(person.run("cat", secret, cwd=folder), "writing alone leaves reading", "s\n")
    buckle(person, "undo", cwd=folder)


def test_switch(person, t):
    folder = person.folder()
    t.ok("enabled" in buckle(person, "status", cwd=folder).out, "enabled at first")
    buckle(person, "disable", cwd=folder)
    t.ok("disabled" in buckle(person, "status", cwd=folder).out and
         buckle(person, "summary", cwd=folder).out == "", "disabled, with nothing to tell a model")
    r = buckle(person, "decide", "--mode=open", "ls", cwd=folder)
    t.equal(r.status, 3, "commands run outside", r)
    buckle(person, "enable", cwd=folder)
    r = buckle(person, "decide", "--mode=open", "ls", cwd=folder)
    t.equal(r.status, 0, "enabled, inside", r)
    buckle(person, "undo", cwd=folder)
    buckle(person, "undo", cwd=folder)
    buckle(person, "allow-net", "host.example", cwd=folder)
    t.ok("host.example" in buckle(person, "status", cwd=folder).out, "a host is allowed")
    before = settings_of(person)
    r = buckle(person, "allow-net", "no such host", cwd=folder)
    t.ok(r.status == 2 and settings_of(person) == before, "nonsense changes nothing", r)
    r = buckle(person, "undo", cwd=folder)
    t.ok("host.example" in r.err and settings_of(person) is None, "nor is it what is undone", r)
    r = buckle(person, "allow", "--layer", "local", "/opt", cwd=folder)
    t.ok(r.status == 0 and os.path.exists(folder + "/.buckle/settings.local.json"), "another layer", r)
    t.ok("not trusted" in buckle(person, "status", cwd=folder).out, "is reported as not trusted yet")
    buckle(person, "undo", cwd=folder)
    t.ok(not os.path.exists(folder + "/.buckle/settings.local.json"), "and undone as well")


def test_undo(person, t):
    """Undo does not revert later changes to a file."""
    folder = person.folder()
    buckle(person, "deny", "/opt", cwd=folder)
    mine = {"filesystem": {"denyRead": ["/opt"], "denyWrite": ["/opt", "/mine"]}}
    person.write(user_file(person), json.dumps(mine))
    r = buckle(person, "undo", cwd=folder)
    t.ok(r.status == 2 and "changed since" in r.err and settings_of(person) == mine,
         "a file that was edited meanwhile is left alone", r)
    os.unlink(user_file(person))
    os.unlink(f"{person.home}/.config/buckle/undo.json")
    project = person.write(folder + "/.buckle/settings.json", "{}", 0o644)
    buckle(person, "deny", "--layer", "project", "/opt", cwd=folder)
    buckle(person, "undo", cwd=folder)
    with open(project, encoding="utf-8") as f:
        t.ok(f.read() == "{}" and os.stat(project).st_mode & 0o777 == 0o644,
             "what others share is put back as it was, readable as it was")
    settings = {"enabled": True}
    person.write(folder + "/.buckle/settings.json", json.dumps(settings))
    r = buckle(person, "disable", cwd=folder)
    t.ok(r.status == 0 and "keep it enabled here" in r.err, "what another layer holds against it is reported", r)
    buckle(person, "undo", cwd=folder)


def at_once(person, folder, commands):
    """Runs all of them in parallel. Returns those that failed."""
    started = [person.start([running.BUCKLE, *words], cwd=folder, stderr=subprocess.PIPE) for words in commands]
    ended = [(child.communicate(timeout=60), child.returncode) for child in started]
    return [one for one in ended if one[1] != 0]


def test_at_once(person, t):
    """Parallel changes to a file do not undo each other."""
    folder, config = person.folder(), os.path.dirname(user_file(person))
    names = [f"h{n}.example" for n in range(20)]
    failed = at_once(person, folder, [["settings", "add", "network.allowedDomains", n] for n in names])
    t.ok(not failed and sorted(settings_of(person)["network"]["allowedDomains"]) == sorted(names),
         "twenty entries are added at once", failed, settings_of(person))
    os.unlink(user_file(person))
    paths = [f"/opt/p{n}" for n in range(10)]
    failed = at_once(person, folder, [["deny", path] for path in paths])
    t.ok(not failed and sorted(settings_of(person)["filesystem"]["denyRead"]) == paths,
         "ten are denied at once", failed, settings_of(person))
    undone = [buckle(person, "undo", cwd=folder).status for _ in range(11)]
    t.ok(undone == [0] * 10 + [1] and settings_of(person) is None, "each is undone", undone)
    person.write(user_file(person) + ".lock", "")
    r = buckle(person, "settings", "add", "network.allowedDomains", "a.example", cwd=folder)
    t.ok(r.status == 0 and r.seconds < 5, "who died while changing it keeps nobody waiting", r)
    left = [name for name in os.listdir(config) if "lock" in name or name.endswith(".new")]
    t.equal(left, [], "nothing is left lying about")
    os.unlink(user_file(person))


def test_summary(person, t):
    """The summary contains everything a model needs, and nothing false."""
    folder = person.folder()
    told = lambda *words: buckle(person, "summary", *words, cwd=folder).out
    rules = {"filesystem": {"denyRead": ["/opt/closed"], "allowWrite": [".", "/srv/out"],
                            "denyWrite": ["/srv/out/not"]},
             "network": {"allowedDomains": ["*.example.org"], "deniedDomains": ["bad.example.org"],
                         "allowUnixSockets": ["/run/some.sock"]},
             "ignoreViolations": {"*": ["/usr/bin"], "npm": ["/opt/npm"]},
             "excludedCommands": ["docker:*"]}
    person.write(user_file(person), json.dumps(rules))
    text = told()
    for what, words in {
            "what is not read": ["Reading", "/opt/closed", "credential stores"],
            "what is written": ["Writing", folder, "/srv/out", "never", "/srv/out/not"],
            "hosts": ["Network", "*.example.org", "never bad.example.org"],
            "sockets": ["Unix sockets: /run/some.sock"],
            "denials that are not reported": ['"/usr/bin"', '"/opt/npm" for commands with "npm"'],
            "temporary files": ["$TMPDIR", "/tmp itself is not"],
            "what counts as evidence": ["Operation not permitted", "does not resolve",
                                        "<sandbox_violations>", "ordinary one"],
            "when to bypass, and to try again": ["dangerouslyDisableSandbox only if", "at once",
                                                 "one sentence", "may be asked"],
            "that bypassing is no habit": ["no reason for another"],
            "what runs outside by itself": ["outside the sandbox automatically", "docker:*"],
            "how restrictions are changed": ["buckle allow PATH", "buckle grant"],
            "credentials stay closed": ["Never propose", "credential stores"]}.items():
        missing = [w for w in words if w not in text]
        t.ok(not missing, f"a model is told {what}", missing, text)
    t.ok(len(text) < 3500, "in few words", len(text))
    person.write(user_file(person), json.dumps({**rules, "allowUnsandboxedCommands": False}))
    strict = told()
    t.ok("disabled by policy" in strict and "only if the user" not in strict,
         "the strict variant: no bypass, and what to do instead", strict)
    plan = told("--plan", "--plan-file", "plan.md")
    t.ok(plan.startswith("The agent is planning: no command runs") and "but plan.md" in plan and
         "Running outside" not in plan, "plan mode: nothing runs, one file may be written", plan)
    facts = json.loads(told("--json"))
    t.ok(facts["allowedDomains"] == ["*.example.org"] and facts["excludedCommands"] == ["docker:*"] and
         facts["denyRead"] == ["/opt/closed"] and not facts["allowUnsandboxedCommands"],
         "the same as JSON", facts)
    person.write(user_file(person), json.dumps({"filesystem": {"allowWrite": ["/tmp"]}}))
    t.ok("/tmp itself" not in told(), "nothing is told that is not so")
    person.write(user_file(person), json.dumps({"enabled": False}))
    t.equal(told(), "", "nothing at all when sandboxing is disabled")
    t.equal(told("--mode=none"), "", "or tools are")
    os.unlink(user_file(person))


if __name__ == "__main__":
    for_everybody([test_allow, test_deny, test_switch, test_undo, test_at_once, test_summary])
    sys.exit(done())
