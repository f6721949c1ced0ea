#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""status, enable, disable, allow, deny, allow-net, undo: the right key of the right layer, with effect
on the next command, and back again.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
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
    t.ok("not trusted" in buckle(person, "status", cwd=folder).out, "is told as not trusted yet")
    buckle(person, "undo", cwd=folder)
    t.ok(not os.path.exists(folder + "/.buckle/settings.local.json"), "and undone as well")


if __name__ == "__main__":
    for_everybody([test_allow, test_deny, test_switch])
    done()
