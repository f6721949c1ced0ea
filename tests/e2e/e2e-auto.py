#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Presets of tools: when they are suggested, when --auto adds them, and which registries they open.

A command can make files in its project, and in whatever else it may write. None of them opens a
host or adds a preset for its next run.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap
from running import BUCKLE, for_everybody

TOOLS = {"npm": (".npm/_logs", "npm"), "python": (".cache/pip", "pip"), "cargo": (".cargo/registry", "cargo"),
         "go": (".cache/go-build", "go"), "java": (".m2/repository", "mvn"),
         "ruby": (".local/share/gem/ruby", "gem"), "php": (".cache/composer", "composer"),
         "dotnet": (".nuget/packages", "dotnet"), "ccache": (".cache/ccache", "ccache"),
         "playwright": (".cache/ms-playwright", "playwright")}
HOST = "registry.example.test"


def fake(user, folder, *names):
    """Programs of these names that do nothing; returns a PATH that has them first."""
    for name in names:
        user.write(f"{folder}/bin/{name}", "#!/bin/sh\nexit 0\n", 0o755)
    return {"PATH": f"{folder}/bin:{user.env['PATH']}"}


def added(ran):
    """The presets that the run has added, or None."""
    lines = [l for l in ran.err.split("\n") if l.startswith("buckle: added preset")]
    if len(lines) != 1:
        return lines or None
    return lines[0].split(";")[0].split(" ", 3)[3].split(", ")


def registries(user, tool, cwd, *words, env=None):
    """The hosts that count and those that don't, for a preset."""
    r = user.run("--preset", tool, "--debug", *words, "--", "true", cwd=cwd, env=env)
    found = {True: set(), False: set()}
    for line in r.err.split("\n"):
        if f"Registry for {tool} in" in line:
            found["(ignored" not in line].add(line.split(": ", 3)[3].split(" ")[0])
    if r.status != 0:
        raise RuntimeError(str(r))
    return found[True], found[False]


def reaches(user, cwd, host, *words, env=None):
    """Whether the policy lets a program look for this host."""
    r = user.run(*words, "--report", "json", "--", "getent", "hosts", host, cwd=cwd, env=env)
    return '"network-outbound"' not in r.err


# ---- suggestions ----


def test_suggested(user, t):
    work = user.folder()
    user.sh("mkdir -p ~/.cache ~/.local/share ~/.cargo ~/.m2 ~/.nuget ~/.local/share/gem")
    for tool, (cache, _) in TOOLS.items():
        r = user.run("--", "sh", "-c", f"mkdir -p ~/{cache}/a; : >~/{cache}/b; exit 0", cwd=work)
        line = f"{tool} needs its cache{'' if tool == 'ccache' else ' and registry'}: --preset {tool}\n"
        t.ok(line in r.err and "allow with" not in r.err, f"{tool} is suggested by name", r)
        r = user.run("--preset", tool, "--", "sh", "-c", f"mkdir -p ~/{cache}/a && : >~/{cache}/b", cwd=work)
        t.quiet(r, f"and {tool} is enough")
    many = "; ".join(f"mkdir -p ~/{cache}/{i}" for cache in (".npm", ".cache/yarn") for i in range(20))
    r = user.run("--", "sh", "-c", f"{many}; mkdir /etc/x; exit 0", cwd=work)
    t.ok(r.err.count("\n") < 60 and r.err.count("--preset npm") == 1 and "/etc/x" in r.err,
         "many denials, one line, and the others as before", r)


def test_suggested_host(user, t):
    work = user.folder()
    env = {"NPM_CONFIG_REGISTRY": f"https://{HOST}/"}
    r = user.run("-N", "other.test", "--", "getent", "hosts", HOST, cwd=work, env=env)
    t.ok("npm needs its cache and registry: --preset npm\n" in r.err and "--allow-net" not in r.err,
         "a registry's host", r)
    r = user.run("-N", "other.test", "--", "getent", "hosts", "another.test", cwd=work, env=env)
    t.ok("--preset" not in r.err and "--allow-net another.test" in r.err, "another host", r)
    path = fake(user, user.folder("programs"), "npm")
    user.write(path["PATH"].split(":")[0] + "/npm", "#!/bin/sh\ngetent hosts x.test\n", 0o755)
    r = user.run("--", "npm", cwd=work, env=path)
    t.ok("npm needs its cache and registry: --preset npm\n" in r.err, "names that cannot be looked up", r)
    r = user.run("--", "getent", "hosts", "x.test", cwd=work)
    t.ok("--preset" not in r.err, "by a program that is no tool", r)


def test_not_suggested(user, t):
    work = user.folder()
    settings = user.write(f"{user.folder('settings')}/s.json", '{"filesystem": {"denyWrite": ["~/.npm"]}}')
    r = user.run("-s", settings, "--", "sh", "-c", "mkdir -p ~/.npm/a; exit 0", cwd=work)
    t.ok("--preset" not in r.err, "not for what settings deny", r)
    r = user.run("--profile", "default", "--", "sh", "-c", "mkdir -p ~/.npm/a; exit 0", cwd=work)
    t.ok("--preset" not in r.err, "nor with a profile, which presets do not add to", r)


# ---- what tools do not get ----

# They run later, or name what runs.
CLOSED = {"npm": [".npmrc", ".yarnrc.yml", ".bun/bin/x", ".local/share/pnpm/x"],
          "python": [".pypirc", ".config/pip/pip.conf", ".local/bin/x", ".local/lib/python3/x"],
          "cargo": [".cargo/bin/x", ".cargo/config.toml", ".cargo/env", ".cargo/credentials.toml", ".rustup/x"],
          "go": ["go/bin/x", ".config/go/env"],
          "java": [".m2/settings.xml", ".gradle/init.gradle", ".gradle/gradle.properties", ".gradle/init.d/x"],
          "ruby": [".gemrc", ".gem/credentials", ".bundle/config"],
          "php": [".config/composer/auth.json", ".config/composer/vendor/bin/x"],
          "dotnet": [".nuget/NuGet/NuGet.Config", ".dotnet/tools/x"],
          "ccache": [".config/ccache/ccache.conf", ".ccache/ccache.conf"],
          "playwright": [".config/chromium/x", ".config/google-chrome/x"]}


def test_closed(user, t):
    work = user.folder()
    for tool, names in CLOSED.items():
        user.sh("mkdir -p " + " ".join(f"~/{os.path.dirname(name)}" for name in names))
        made = "; ".join(f"(echo x >~/{name}) 2>/dev/null && echo {name}" for name in names)
        r = user.run("--preset", tool, "--", "sh", "-c", f"{made}; exit 0", cwd=work)
        t.equal(r.out, "", f"{tool}: what runs later, or names what runs, stays closed", r)


# ---- --auto ----


def test_auto(user, t):
    work = user.folder()
    path = fake(user, user.folder("programs"), *(p for _, p in TOOLS.values()), "make", "python9")
    for tool, (_, program) in TOOLS.items():
        r = user.run("--auto", "--", program, cwd=work, env=path)
        t.equal((r.status, added(r)), (0, [tool]), f"{program} calls for {tool}", r)
    for words, want in ((["sh", "-c", "cd . && npm ci; cargo x"], ["cargo", "npm"]), (["env", "A=b", "npm"], ["npm"]),
                        (["python9", "-m", "pip", "list"], ["python"]), (["timeout", "9", "go", "x"], ["go"]),
                        (["make"], None), (["true"], None), (["sh", "-c", "echo npm"], None)):
        r = user.run("--auto", "--", *words, cwd=work, env=path)
        t.equal((r.status, added(r)), (0, want), " ".join(words), r)
        t.ok(r.err.count("\n") == (1 if want else 0), "in one line, if at all", r)
    r = user.run("--", "npm", cwd=work, env=path)
    t.quiet(r, "without --auto there is none")
    r = user.run("--auto", "--preset", "npm", "--", "npm", cwd=work, env=path)
    t.quiet(r, "nor is one that was named")
    r = user.run("--auto", "--profile", "default", "--", "npm", cwd=work, env=path)
    t.equal(r.status, 125, "a profile is another policy", r)
    r = user.run("--auto", "--report", "none", "--", "npm", cwd=work, env=path)
    t.quiet(r, "without reports")


def test_key(user, t):
    work = user.folder()
    path = fake(user, user.folder("programs"), "npm")
    settings = user.write(f"{user.folder('settings')}/s.json", '{"autoPresets": true}')
    r = user.run("-s", settings, "--", "npm", cwd=work, env=path)
    t.equal(added(r), ["npm"], "settings can make it the default", r)
    r = user.run("-s", settings, "--no-auto", "--", "npm", cwd=work, env=path)
    t.quiet(r, "and a flag can do without")
    user.write(f"{work}/.buckle/settings.json", '{"autoPresets": true}')
    r = user.run("--", "npm", cwd=work, env=path)
    t.equal(added(r), None, "a project's own settings don't, until they are trusted", r)


def test_planted(user, t):
    """Files that a command makes call for nothing in its next run."""
    work = user.folder()
    path = fake(user, user.folder("programs"), "make")
    r = user.run("--", "sh", "-c", "echo '[package]' >Cargo.toml; echo '{}' >package.json; echo module x >go.mod; "
                 f"echo registry=https://{HOST} >.npmrc", cwd=work)
    t.equal(r.status, 0, "a command makes files of several tools", r)
    r = user.run("--auto", "--", "make", cwd=work, env=path)
    t.quiet(r, "which add no preset")
    r = user.call([BUCKLE, "trust", "--yes", work], cwd=work)
    t.equal(r.status, 0, "the user trusts them", r)
    r = user.run("--auto", "--", "make", cwd=work, env=path)
    t.equal(added(r), ["cargo", "go", "npm"], "then they do", r)
    t.ok(f"; registry: {HOST}:443\n" in r.err, "with their registry", r)
    user.run("--", "sh", "-c", "touch pom.xml composer.json", cwd=work)
    r = user.run("--auto", "--", "make", cwd=work, env=path)
    t.equal(added(r), ["cargo", "go", "npm"], "but not those that come later", r)
    user.run("--", "sh", "-c", "echo registry=https://evil.test >.npmrc", cwd=work)
    r = user.run("--auto", "--", "make", cwd=work, env=path)
    t.ok("evil.test" not in r.err and HOST not in r.err, "nor what a file says later", r)
    user.call([BUCKLE, "trust", "--remove", work], cwd=work)
    r = user.run("--auto", "--", "make", cwd=work, env=path)
    t.quiet(r, "and none after trust is taken back")


# ---- registries ----

# tool: file below the home folder, what it says
OWN = {"npm": (".npmrc", "registry=https://{}/\n"), "python": (".config/pip/pip.conf", "[global]\nindex-url=https://{}/s\n"),
       "cargo": (".cargo/config.toml", '[registries.x]\nindex = "sparse+https://{}/"\n'),
       "go": (".config/go/env", "GOPROXY=https://{},direct\n"),
       "java": (".m2/settings.xml", "<settings><mirrors><mirror><mirrorOf>*</mirrorOf><url>https://{}/</url></mirror></mirrors></settings>"),
       "ruby": (".gemrc", ":sources:\n- https://{}/\n"),
       "php": (".config/composer/config.json", '{{"repositories": [{{"type": "composer", "url": "https://{}"}}]}}'),
       "dotnet": (".nuget/NuGet/NuGet.Config", '<configuration><packageSources><add key="x" value="https://{}/i.json"/></packageSources></configuration>')}
PROJECT = {"npm": (".npmrc", OWN["npm"][1]), "python": ("uv.toml", 'index-url = "https://{}/"\n'),
           "cargo": (".cargo/config.toml", OWN["cargo"][1]),
           "java": ("pom.xml", "<project><repositories><repository><url>https://{}</url></repository></repositories></project>"),
           "ruby": ("Gemfile", 'source "https://{}"\n'), "php": ("composer.json", OWN["php"][1]),
           "dotnet": ("nuget.config", OWN["dotnet"][1])}
PORT = HOST + ":443"


def test_own_files(user, t):
    for tool, (name, text) in OWN.items():
        work = user.folder()
        file = user.write(f"{user.home}/{name}", text.format(HOST))
        t.equal(registries(user, tool, work), ({PORT}, set()), f"{tool}: the user's {name} counts")
        t.ok(reaches(user, work, HOST, "--preset", tool), f"{tool}: and its host is open")
        t.ok(not reaches(user, work, "x" + HOST, "--preset", tool), f"{tool}: no other one")
        folder = os.path.dirname(file)
        for words, why in ((["--allow-write", file], "the file"), (["--allow-write", folder], "its folder"),
                           (["--allow-write", user.home], "the home folder")):
            t.equal(registries(user, tool, work, *words), (set(), {PORT}), f"{tool}: unless the command can write {why}")
            t.ok(not reaches(user, work, HOST, "--preset", tool, *words), f"{tool}: then its host is closed")
        os.remove(file)


def test_project_files(user, t):
    for tool, (name, text) in PROJECT.items():
        work = user.folder()
        user.write(f"{work}/{name}", text.format(HOST))
        t.equal(registries(user, tool, work), (set(), {PORT}), f"{tool}: the project's {name} does not count")
        t.ok(not reaches(user, work, HOST, "--preset", tool), f"{tool}: and its host is closed")
        user.call([BUCKLE, "trust", "--yes", work], cwd=work)
        t.equal(registries(user, tool, work), ({PORT}, set()), f"{tool}: until it is trusted")
        user.run("--", "sh", "-c", f"echo >>{name}", cwd=work)
        t.equal(registries(user, tool, work), (set(), {PORT}), f"{tool}: and after a change no more")


def test_ways_in(user, t):
    """Other ways for a command to get at a file that the user's tools read."""
    text = OWN["npm"][1].format("evil.test")
    for name, make in {
        "a symlink to the project": lambda w: os.symlink(user.write(f"{w}/planted", text), f"{user.home}/.npmrc"),
        "a hard link": lambda w: os.link(user.write(f"{w}/planted", text), f"{user.home}/.npmrc"),
        "a file that everybody can write": lambda w: user.write(f"{user.home}/.npmrc", text, 0o666),
        "a FIFO": lambda w: os.mkfifo(f"{user.home}/.npmrc"),
    }.items():
        work = user.folder()
        make(work)
        t.equal(registries(user, "npm", work)[0], set(), name)
        os.remove(f"{user.home}/.npmrc")
    work = user.folder()
    planted = user.write(f"{work}/planted", text)
    t.equal(registries(user, "npm", work, env={"NPM_CONFIG_USERCONFIG": planted})[0], set(), "a variable that names the project's file")
    os.symlink(work, f"{user.home}/linked")
    t.equal(registries(user, "npm", work, env={"NPM_CONFIG_USERCONFIG": f"{user.home}/linked/planted"})[0], set(),
            "also through a symlink")
    os.remove(f"{user.home}/linked")
    other = user.folder("other")
    t.equal(registries(user, "npm", other, env={"NPM_CONFIG_USERCONFIG": planted})[0], {"evil.test:443"},
            "elsewhere it is the user's own choice")
    home = user.write(f"{user.home}/.npmrc", text)
    t.equal(registries(user, "npm", user.home, "--here")[0], set(), "work in the home folder")
    os.remove(home)
    t.equal(registries(user, "npm", work, env={"NPM_CONFIG_REGISTRY": f"https://{HOST}/"})[0], {PORT}, "variables are the user's")


def test_secrets(user, t):
    """Credentials go nowhere; the registry itself is handed to commands that cannot read the file."""
    work = user.folder()
    path = fake(user, user.folder("programs"), "npm")
    file = user.write(f"{user.home}/.npmrc", f"registry=https://me:hunter2@{HOST}:8443/npm/?t=hunter2\n"
                      f"//{HOST}/:_authToken=hunter2\n")
    r = user.run("--auto", "--debug", "--", "npm", cwd=work, env=path)
    t.ok(f"{HOST}:8443" in r.err and "hunter2" not in r.err and "me:" not in r.err, "the port belongs to it, credentials don't", r)
    r = user.run("--auto", "--", "sh", "-c", ": npm; env; npm; cat ~/.npmrc", cwd=work, env=path)
    t.ok(f"NPM_CONFIG_REGISTRY=https://{HOST}:8443/npm/\n" in r.out and "hunter2" not in r.out + r.err,
         "a variable names the registry", r)
    r = user.run("--auto", "--", "sh", "-c", "env; npm", cwd=work, env={**path, "NPM_CONFIG_REGISTRY": "https://b.test/"})
    t.ok("NPM_CONFIG_REGISTRY=https://b.test/\n" in r.out, "unless the user has set it", r)
    os.remove(file)
    r = user.run("--auto", "--debug", "--", "npm", cwd=work, env={**path, "NPM_CONFIG_REGISTRY": "https://\x1b[31m*/"})
    t.ok("\x1b" not in r.err and "registry:" not in r.err, "a hostile value opens and prints nothing", r)


def main():
    for_everybody([test_suggested, test_suggested_host, test_not_suggested, test_closed, test_auto, test_key, test_planted,
                   test_own_files, test_project_files, test_ways_in, test_secrets])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
