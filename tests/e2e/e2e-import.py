#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle settings import`: what is taken over from the settings of other programs, what is not and why, and
that no file can open more than it says."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import running
from running import for_everybody
from tap import done


class Place:
    """A home folder with a project in it, and the imports there."""

    def __init__(self, user):
        self.user, self.home = user, user.folder()
        self.project = f"{self.home}/project"
        user.sh(f"mkdir -p {self.project}")
        self.own = f"{self.home}/.config/buckle/settings.json"

    def run(self, *words):
        return self.user.call([running.BUCKLE, *words], cwd=self.project, env={"HOME": self.home, "XDG_CONFIG_HOME": ""})

    def take(self, name, text, *words):
        """Imports a file; returns the command's result and the user's settings."""
        path = self.user.write(f"{self.home}/{name}", text if isinstance(text, str) else json.dumps(text))
        r = self.run("settings", "import", path, *words)
        if not os.path.exists(self.own):
            return r, None
        with open(self.own, encoding="utf-8") as f:
            return r, json.load(f)


def test_claude(user, t):
    p = Place(user)
    settings = {
        "model": "x",
        "permissions": {
            "allow": ["Bash(npm run *)", "Edit(//srv/data/**)", "Edit(src/**)", "Edit(./gen)", "WebFetch(domain:docs.test)",
                      "Read(//etc)", "mcp__x__y", "Edit"],
            "deny": ["Read(.env)", "Read(./secrets/**)", "Edit(//srv/data/keep)", "Bash(rm *)", "WebFetch(domain:evil.test)",
                     "Read(~/notes)", "Edit(*.{a,b})"],
            "ask": ["Bash(git push *)"], "additionalDirectories": ["../other", "/srv/more"], "defaultMode": "plan"},
        "sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True, "excludedCommands": ["docker *"],
                    "failIfUnavailable": True, "network": {"allowedDomains": ["a.test"], "allowLocalBinding": True},
                    "filesystem": {"denyRead": ["~/.aws"], "allowRead": ["/srv/data/open"]}},
    }
    r, own = p.take("settings.json", settings)
    t.ok(r.status == 0 and own is None and "+++ " in r.out and "--write" in r.err, "shown first, nothing is written", r)
    r, own = p.take("settings.json", settings, "--write")
    t.equal(own, {
        "enabled": True, "autoAllowBashIfSandboxed": True, "excludedCommands": ["docker *"],
        "network": {"allowedDomains": ["a.test", "docs.test"], "allowLocalBinding": True, "deniedDomains": ["evil.test"]},
        "filesystem": {"denyRead": ["~/.aws", "**/.env", "secrets", "~/notes"], "allowRead": ["/srv/data/open"],
                       "allowWrite": [".", "/srv/data", "src", "gen", "../other", "/srv/more"],
                       "denyWrite": ["/srv/data/keep"]}}, "taken over", r)
    for rule in ("Bash(npm run *)", "Read(//etc)", "mcp__x__y", "Edit:", "Bash(rm *)", "Bash(git push *)", "plan",
                 "failIfUnavailable", "{a,b}"):
        t.ok(rule in r.out.split("not taken over:")[1], f"reported: {rule}", r)
    r = p.run("check", p.own)
    t.equal(r.status, 0, "the result is valid", r)
    r, again = p.take("settings.json", settings, "--write")
    t.ok(again == own and "nothing changes" in r.err, "twice is once", r)
    r = p.run("undo")
    t.ok(r.status == 0 and not os.path.exists(p.own), "and can be undone", r)
    user.write(p.own, '{"filesystem": {"denyRead": ["/mine"]}, "network": {"strictAllowlist": true}}')
    r, own = p.take("settings.json", settings, "--write")
    t.ok(own["filesystem"]["denyRead"][0] == "/mine" and own["network"]["strictAllowlist"] is True,
         "what was there stays", own)


def test_rules_of_a_project(user, t):
    p = Place(user)
    rules = {"permissions": {"allow": ["Edit(/docs/**)"], "deny": ["Read(/private)"]}}
    r, own = p.take("project/.claude/settings.json", rules, "--write")
    t.equal(own["filesystem"], {"allowWrite": [".", p.project + "/docs"], "denyRead": [p.project + "/private"]},
            "/ is the project's folder", r)


def test_codex(user, t):
    p = Place(user)
    r, own = p.take("config.toml", '''
# mine
model = "x"
approval_policy = "never"
sandbox_mode = 'workspace-write'

[sandbox_workspace_write]
writable_roots = [
  "/srv/a", # one
  "/srv/b",
]
network_access = true
exclude_slash_tmp = true

[projects."/x y"]
trust_level = "trusted"

[[profiles.list]]
text = """
not [a] table"""
''', "--write")
    t.equal(own, {"filesystem": {"allowWrite": [".", "/srv/a", "/srv/b"], "sharedTmp": True},
                  "network": {"allowAllDomains": True}, "autoAllowBashIfSandboxed": True,
                  "allowUnsandboxedCommands": False}, "workspace-write", r)
    t.ok("projects" in r.out and "profiles" in r.out, "the rest is reported", r)
    os.remove(p.own)
    r, own = p.take("config.toml", 'sandbox_mode = "read-only"\n', "--write")
    t.equal(own, {"filesystem": {"allowWrite": []}}, "read-only", r)
    r = p.user.call([running.BUCKLE, "run", "sh", "-c", "touch x || echo no"], cwd=p.project,
                    env={"HOME": p.home, "XDG_CONFIG_HOME": ""})
    t.ok(r.out == "no\n", "and nothing can be written", r)
    os.remove(p.own)
    r, own = p.take("config.toml", 'sandbox_mode = "danger-full-access"\n', "--write")
    t.ok(own is None and "stays enabled" in r.out, "full access is not taken over", r)


def test_gemini(user, t):
    p = Place(user)
    r, own = p.take("settings.json", '''{
  // comments are allowed there
  "tools": {"sandbox": "docker", "sandboxAllowedPaths": ["/srv/a"], "sandboxNetworkAccess": false,
            "allowed": ["run_shell_command", "run_shell_command(git)"], "exclude": ["write_file"],},
  "context": {"includeDirectories": ["../lib"]},
}''', "--write")
    t.equal(own, {"enabled": True, "filesystem": {"allowWrite": [".", "/srv/a", "../lib"]},
                  "autoAllowBashIfSandboxed": True}, "taken over", r)
    t.ok("run_shell_command(git)" in r.out and "write_file" in r.out, "the rest is reported", r)


def test_srt(user, t):
    p = Place(user)
    mine = {"network": {"allowedDomains": ["a.test"], "deniedDomains": []},
            "filesystem": {"denyRead": ["~/.x"], "allowWrite": ["."], "denyWrite": [".env"]}, "ripgrep": {"command": "rg"}}
    r, own = p.take("srt.json", mine, "--write")
    t.equal(own, {"network": {"allowedDomains": ["a.test"]},
                  "filesystem": {"denyRead": ["~/.x"], "allowWrite": ["."], "denyWrite": [".env"]}}, "taken over", r)


def test_hostile(user, t):
    p = Place(user)
    wide = ["/", "//", "~", "~/", p.home, os.path.dirname(p.home), "/*", "/**", "~/*", "~/**", "../..", "../../..",
            p.project + "/../..", "$HOME", "${HOME}/x", "/./", "/.."]
    r, own = p.take("srt.json", {"filesystem": {"allowWrite": wide, "denyRead": ["/x"]}}, "--write")
    t.equal(own, {"filesystem": {"denyRead": ["/x"]}}, "nothing that opens everything", r)
    os.remove(p.own)
    rules = [f"Edit({x})" for x in ("//**", "///", "~/**", "~", "/../../**", "../../**", "//tmp/../**")]
    hosts = [f"WebFetch(domain:{x})" for x in ("*", "*.com", "http://x", "a b", "", "a.test/../b")]
    r, own = p.take("c.json", {"permissions": {"allow": rules + hosts}}, "--write")
    t.ok(own is None, "by rules", r, own)
    r, own = p.take("c.json", {"sandbox": {"enabled": False, "filesystem": {"disabled": True}}}, "--write")
    t.ok(own is None and "stays enabled" in r.out, "nothing turns the sandbox off", r)
    odd = "Edit(//srv/\x1b[31m\u202eevil\nnot taken over:)"
    r, own = p.take("c.json", {"permissions": {"allow": [odd], "deny": [7, None, ["x"], {}], "ask": "x"}})
    t.ok("\x1b" not in r.out and "\u202e" not in r.out and r.status == 0, "no bytes for the terminal", r)
    bad = {"not JSON": "{", "a list": "[]", "nobody's": '{"a": 1}', "empty": "", "deep": '{"permissions": ' + "[" * 9999,
           "permissions a list": '{"permissions": []}', "sandbox a string": '{"sandbox": "x", "permissions": 7}'}
    for name, text in bad.items():
        r, own = p.take("bad.json", text, "--write")
        t.ok(own is None and r.status in (0, 2), f"{name}: nothing is written", r)
    toml = {"not closed": 'a = "x', "no value": "a =\n", "twice": "a = 1\na = 2\n", "a table and a value": "a = 1\n[a.b]\n",
            "deep": "a = " + "[" * 5000, "deep keys": ".".join("a" * 200) + " = 1\n", "binary": "a = 1\0\n",
            "behind a value": "a = 1 b = 2\n", "an escape": 'a = "\\ud800"\n', "many": "".join(f"k{i}=1\n" for i in range(9000))}
    for name, text in toml.items():
        r, own = p.take("bad.toml", text, "--write")
        t.ok(own is None and r.status == 2 and "bad.toml" in r.err and r.seconds < 5, f"TOML, {name}: an error", r)
    r = p.run("settings", "import", "/nonexistent")
    t.equal(r.status, 2, "a missing file", r)
    r, own = p.take("x.json", {"tools": {}}, "--from", "nobody")
    t.equal(r.status, 2, "an unknown program", r)
    user.sh(f"mkfifo {p.home}/pipe.json")


if __name__ == "__main__":
    for_everybody([test_claude, test_rules_of_a_project, test_codex, test_gemini, test_srt, test_hostile])
    sys.exit(done())
