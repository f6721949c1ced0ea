#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names follow what they mean: built-in names that are symlinks, files that other mounts show again, and
file systems that ignore case. Every path to a denied file is denied.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from restarting import in_own_namespace

in_own_namespace("mnt", "-m", "--propagation", "private")  # copies in the sandbox receive later mounts

import drive
import fusable
from running import BUCKLE, eventually, for_everybody, missing, suggested_flags
from tap import done, skip

TIERS = {"sentry": (), "judged": ("--strict-reads",)}
# pretended hosts: without mounts reading is judged, without FUSE it is masked
BARE = {"BUCKLE_PRETEND": "user_ns=0,mount_ns=0,pid_ns=0,net_ns=0,ipc_ns=0,uts_ns=0"}
MASKS = {"BUCKLE_PRETEND": "fuse=0"}


class Home:
    """A separate home folder for each test, since it contains the built-in names."""

    def __init__(self, user):
        self.user = user
        self.top = user.folder("home")
        self.env = {"HOME": self.top}
        self.work = self.folder("work")

    def path(self, name):
        return os.path.join(self.top, name)

    def folder(self, name):
        path = self.path(name)
        os.makedirs(path)
        self.user.own(path)
        return path

    def write(self, name, text="SECRET\n", mode=0o644):
        return self.user.write(self.path(name), text, mode)

    def link(self, to, name):
        self.user.sh(f"mkdir -p $(dirname {self.path(name)}) && ln -s {to} {self.path(name)}")

    def run(self, *words, cwd=None, env=None, **how):
        return self.user.run(*words, cwd=cwd or self.work, env={**self.env, **(env or {})}, **how)

    def sh(self, script, *flags, **how):
        return self.run(*flags, "--", "sh", "-c", script, **how)


def reads(home, t, name, *paths, flags=(), env=None, cwd=None):
    """None of these can be read."""
    for path in paths:
        r = home.run(*flags, "cat", path, env=env, cwd=cwd)
        # it may be masked by something empty
        t.ok(((r.status == 1 and "cat: " in r.err) or env == MASKS) and "SECRET" not in r.out and
             "buckle: cannot" not in r.err,
             f"{name}: {path.replace(home.top, '~')} is not read", r)


def writes(home, t, name, *paths, flags=(), env=None, cwd=None):
    """None of these can be written, created, moved away or replaced; the report names each."""
    for path in paths:
        for deed in (f"echo PLANTED >>'{path}'", f"mv '{path}' '{path}.aside'", f"rm -rf '{path}'",
                     f"echo PLANTED >new-$$ && mv -T new-$$ '{path}'", f"ln -sfnT /tmp '{path}'"):
            r = home.sh(f"{deed}; rm -f new-$$; test ! -e '{path}.aside' -a ! -h '{path}.aside' && "
                        f"test \"$(readlink '{path}')\" != /tmp && ! grep -qs PLANTED '{path}'",
                        *flags, env=env, cwd=cwd)
            t.ok(r.status == 0 and "protected" in r.err + "protected" * (not os.path.lexists(path)),
                 f"{name}: {deed.replace(home.top, '~')} does nothing", r)


# ---- links ----


def test_secret_links(user, t):
    home = Home(user)
    home.write("dotfiles/aws/credentials")
    home.write("dotfiles/gh/hosts.yml")
    home.write("dotfiles/config/gcloud/token")
    home.write("key", mode=0o600)
    home.write("dotfiles/netrc")
    home.write("dotfiles/histories/bash")
    home.write("dotfiles/token")
    home.write("dotfiles/plain", "plain\n")
    home.link("dotfiles/aws", ".aws")
    home.link("../key", ".ssh/id_rsa")
    home.link("one", ".netrc")
    home.link("two", "one")
    home.link(home.path("dotfiles/netrc"), "two")
    home.link("dotfiles/config", ".config")
    home.link("../../gh", "dotfiles/config/gh")
    user.sh(f"cd {home.top}/dotfiles/config && rm gh && ln -s ../gh gh")
    home.link("dotfiles/histories/bash", ".bash_history")
    home.link("../dotfiles/token", ".kube/config")
    home.link("dotfiles/later", ".npmrc")
    secret = [home.path(p) for p in (
        "dotfiles/aws/credentials", "key", "dotfiles/netrc", "dotfiles/config/gcloud/token",
        "dotfiles/gh/hosts.yml", "dotfiles/histories/bash", "dotfiles/token", ".aws/credentials",
        ".ssh/id_rsa", ".netrc", ".config/gcloud/token", ".config/gh/hosts.yml")]
    for tier, flags in TIERS.items():
        reads(home, t, tier, *secret, flags=flags)
        r = home.run(*flags, "cat", home.path("dotfiles/plain"))
        t.quiet(r, f"{tier}: what lies beside them is read", "plain\n")
    reads(home, t, "no mounts", *secret[:5], env=BARE)
    reads(home, t, "masks", *secret[:5], env=MASKS)
    r = home.run("cat", secret[0])
    t.ok("~/.aws" in r.err.replace(home.top, "~") and "secret" in r.err, "the report names the store", r)
    t.equal(suggested_flags(r.err)[:1], ["--allow-read"], "and a flag", r)
    r = home.run(*suggested_flags(r.err), "cat", secret[0])
    t.ok(r.status == 0 and "SECRET" in r.out, "which opens it", r)
    r = home.run("--allow-read", "~/.aws", "cat", secret[0])
    t.ok(r.status == 0 and "SECRET" in r.out, "so does the store's own name", r)
    t.quiet(home.run("ls", home.path(".ssh")), "names of keys are no secret", "id_rsa\n")
    # a dangling symlink whose target is created outside while the command runs
    r = home.run("sh", "-c", "echo ready; read go; cat ../dotfiles/later", stdin="")
    child = user.start([BUCKLE, "run", "--", "sh", "-c",
                          "echo ready; read go; cat ../dotfiles/later"], cwd=home.work, env=home.env,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.readline()
    home.write("dotfiles/later")
    eventually(lambda: False, 0.3)
    out, err = child.communicate(b"go\n", timeout=30)
    t.ok(child.returncode != 0 and b"SECRET" not in out, "what a broken link leads to is closed when it is made",
         out, err)


def test_link_in_parents(user, t):
    """The home folder itself may be reached through links."""
    home = Home(user)
    home.write(".aws/credentials")
    home.write("elsewhere/keys/aws")
    home.link("elsewhere/keys/aws", ".pgpass")
    way = home.path("work") + "/way"
    os.symlink(home.top, way)
    env = {"HOME": way}
    reads(home, t, "a home that is a link", home.path(".aws/credentials"), home.path("elsewhere/keys/aws"),
          way + "/.pgpass", env=env)


PROTECTED_LINKS = {
    # link: (its text, its target below the working folder)
    ".bashrc": ("work/dot/bashrc", "dot/bashrc"),
    ".profile": ("work/dot/first", "dot/profile"),
    ".zshenv": ("work/dot/zshenv", "dot/zshenv"),
    ".config": ("work/dot/config", "dot/config/autostart/x.desktop"),
    "work/.vscode": ("shared/editor", "shared/editor/tasks.json"),
    "work/.git/hooks": ("../team/hooks", "team/hooks/pre-commit"),
    "work/.git/config": ("../team/settings", "team/settings"),
    "work/.claude/settings.json": ("../shared/claude.json", "shared/claude.json"),
    "work/.mcp.json": ("shared/mcp.json", "shared/mcp.json"),
    "work/.idea/workspace.xml": ("../shared/idea.xml", "shared/idea.xml"),
}


def furnish_links(home):
    home.user.sh(f"git init -q {home.work} && rm -rf {home.work}/.git/hooks {home.work}/.git/config")
    for link, (says, target) in PROTECTED_LINKS.items():
        home.write("work/" + target, "old\n")
        home.link(says, link)
    home.user.sh(f"ln -s profile {home.work}/dot/first")


def test_protected_links(user, t):
    home = Home(user)
    furnish_links(home)
    targets = [f"{home.work}/{target}" for _, target in PROTECTED_LINKS.values()]
    writes(home, t, "link", *targets)
    writes(home, t, "a link on the way", f"{home.work}/dot/first")
    writes(home, t, "no mounts", targets[0], targets[4], env=BARE)
    for flags, name in (("--allow-write", home.work), "a flag"), (("--allow-write", "/"), "a flag for all"), \
            (("--allow-write", home.work + "/**"), "a pattern"):
        r = home.sh(f"echo PLANTED >>{targets[0]}; echo PLANTED >>{targets[5]}", *flags)
        t.ok(r.status != 0, f"{name} does not open them", r)
    for folder in "dot", "shared/editor", "team/hooks", "team":
        r = home.sh(f"mv {folder} aside")
        t.ok(r.status != 0 and os.path.isdir(f"{home.work}/{folder}"), f"{folder} stays where it is", r)
    r = home.sh("mkdir new && echo x >new/y && echo x >>dot/other && mkdir -p shared/more && rm -r shared/more")
    t.quiet(r, "what lies beside them is written")
    r = home.sh(f"echo x >>{targets[0]}")
    t.ok("~/.bashrc" in r.err.replace(home.top, "~"), "the report names the built-in name", r)
    flags = suggested_flags(r.err)
    r = home.sh(f"echo x >>{targets[0]}", *flags)
    t.ok(flags and r.status == 0, "its own flag opens it", flags, r)
    t.ok(all(os.path.exists(p) for p in targets), "all of it is still there")


def test_dangling_links(user, t):
    """The target of a dangling symlink cannot be created."""
    home = Home(user)
    home.link("work/dot/zshrc", ".zshrc")
    home.link("shared/none", "work/.vscode")
    home.folder("work/dot")
    home.folder("work/shared")
    for deed in ("echo x >dot/zshrc", "mkdir shared/none", "echo x >x; mv x dot/zshrc", "ln -s x dot/zshrc",
                 "mkdir d; echo x >d/zshrc; rmdir dot; mv d dot"):
        r = home.sh(deed)
        t.ok(r.status != 0 and not os.path.lexists(home.work + "/dot/zshrc") and
             not os.path.lexists(home.work + "/shared/none"), f"{deed}: no", r)


def test_links_above(user, t):
    """Links in folders above the working folder that lead into it."""
    home = Home(user)
    home.write("project/sub/editor/tasks.json", "old\n")
    home.link("sub/editor", "project/.vscode")
    user.sh(f"git init -q {home.top}/project && cd {home.top}/project && mkdir sub/h && rm -rf .git/hooks && "
              "ln -s ../sub/h .git/hooks")
    for path in "editor/tasks.json", "h/post-checkout":
        r = home.sh(f"echo x >>{path}", cwd=home.path("project/sub"))
        t.ok(r.status != 0 and "protected" in r.err, f"{path} is protected from a folder below as well", r)


def test_git_link(user, t):
    """A repository behind a link: its hooks and settings."""
    home = Home(user)
    user.sh(f"git init -q {home.work} && mv {home.work}/.git {home.work}/store && ln -s store {home.work}/.git")
    for path in "store/hooks/pre-commit", "store/config":
        r = home.sh(f"echo x >>{path}")
        t.ok(r.status != 0 and "protected" in r.err, f"{path} is protected", r)
    r = home.sh("git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x")
    t.ok(r.status == 0, "commits are made there all the same", r)


def test_everywhere(user, t):
    """Settings, the compat names and the library treat these names alike."""
    home = Home(user)
    home.write("work/dot/bashrc", "old\n")
    home.write("dotfiles/aws/credentials")
    home.link("work/dot/bashrc", ".bashrc")
    home.link("dotfiles/aws", ".aws")
    settings = home.write("s.json", '{"filesystem": {"allowWrite": ["."]}}')
    for name, flags in ("settings", ("--settings", settings)), ("strict", ("--profile=strict",)):
        r = home.sh("echo x >>dot/bashrc", *flags)
        t.ok(r.status != 0 and "protected" in r.err, f"{name}: no writing", r)
        r = home.sh("cat ../dotfiles/aws/credentials", *flags)
        t.ok(r.status != 0 and "SECRET" not in r.out, f"{name}: no reading", r)
    other = os.path.join(drive.FOLDER, "names-" + user.name)
    os.makedirs(other, exist_ok=True)
    os.chmod(other, 0o755)
    srt = home.write("srt.json", '{"network":{"allowedDomains":[],"deniedDomains":[]},'
                     '"filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]}}')
    profile = home.write("p.sb", '(version 1)(allow default)(import "protected.sb")')
    for name, words in ("srt", ["--settings", srt]), ("sandbox-exec", ["-f", profile, "sh", "-c"]):
        path = os.path.join(other, name)
        if not os.path.lexists(path):
            os.symlink(BUCKLE, path)
        r = user.call([path, *words, "echo x >>dot/bashrc"], cwd=home.work, env=home.env)
        with open(home.path("work/dot/bashrc"), encoding="utf-8") as f:
            t.equal(f.read(), "old\n", f"{name} knows them", r)


# ---- mounts ----


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def unmount(*paths):
    for path in paths:
        subprocess.run(["umount", "-l", path], check=False)


def only_root_mounts():
    if os.geteuid() == 0:
        return False
    skip("only root can mount")
    return True


class Aliases:
    """The same files under other names: all of home, a part of it, a store, the disk that holds it."""

    def __init__(self, home):
        self.home = home
        self.at = os.path.join(os.path.realpath(drive.FOLDER), "mounts-" + home.user.name)
        self.mounted = []

    def add(self, name, what):
        path = os.path.join(self.at, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.isdir(what):
            os.makedirs(path, exist_ok=True)
        else:
            with open(path, "w", encoding="utf-8"):
                pass
        mount("--bind", what, path)
        self.mounted.append(path)
        return path

    def end(self):
        unmount(*reversed(self.mounted))


def test_aliases(user, t):
    if only_root_mounts():
        return
    home = Home(user)
    home.write(".aws/credentials")
    home.write(".ssh/id_rsa")
    home.write(".ssh/known_hosts", "public\n")
    home.write("private/a")
    home.write("plain", "plain\n")
    aliases = Aliases(home)
    try:
        all_of_it, store = aliases.add("all", home.top), aliases.add("store", home.path(".aws"))
        one, whole = aliases.add("one", home.path(".ssh/id_rsa")), aliases.add("disk", "/")
        twice = aliases.add("twice", all_of_it)
        deny = ("--deny-read", home.path("private"))
        secret = [all_of_it + "/.aws/credentials", all_of_it + "/.ssh/id_rsa", store + "/credentials", one,
                  whole + home.top + "/.aws/credentials", twice + "/.aws/credentials", all_of_it + "/private/a",
                  whole + home.top + "/private/a"]
        for tier, flags in TIERS.items():
            reads(home, t, "alias, " + tier, *secret, flags=(*flags, *deny))
            r = home.run(*flags, *deny, "cat", all_of_it + "/plain", all_of_it + "/.ssh/known_hosts")
            t.quiet(r, f"alias, {tier}: the rest is read", "plain\npublic\n")
            r = home.run(*flags, "cat", all_of_it + "/.aws/credentials")
            t.ok("secrets.sb" in r.err and all_of_it in r.err, f"alias, {tier}: and reported", r)
        reads(home, t, "alias, no mounts", *secret, flags=deny, env=BARE)
        reads(home, t, "alias, masks", *secret, flags=deny, env=MASKS)
        reads(home, t, "alias, strict", all_of_it + "/plain", flags=("--profile=strict",))
        r = home.run("--allow-read", "~/.aws", "cat", all_of_it + "/.aws/credentials")
        t.ok("SECRET" in r.out, "a flag opens the store by any name", r)
        here = all_of_it + "/work"
        for name, flags, env in ("sentry", (), None), ("no mounts", (), BARE):
            r = home.sh("echo x >file && cat file && rm file", *flags, cwd=here, env=env)
            t.quiet(r, f"working folder on an alias, {name}: it is written", "x\n")
            reads(home, t, f"working folder on an alias, {name}", here + "/../.aws/credentials",
                  home.path(".aws/credentials"), cwd=here, env=env)
        r = home.sh("echo x >file && cat file && rm file", "--profile=strict", cwd=here)
        t.quiet(r, "working folder on an alias, strict: it is written and read", "x\n")
    finally:
        aliases.end()


def test_alias_writes(user, t):
    """Writing to protected or denied files by another name."""
    if only_root_mounts():
        return
    home = Home(user)
    home.write(".zshenv", "old\n")
    home.write(".config/autostart/x.desktop", "old\n")
    home.write("work/kept/x", "old\n")
    aliases = Aliases(home)
    try:
        alias = aliases.add("all", home.top)
        paths = [alias + "/.zshenv", alias + "/.config/autostart/x.desktop", alias + "/.ssh/authorized_keys"]
        for name, env in ("mounts", None), ("no mounts", BARE):
            for path in paths:
                r = home.sh(f"mkdir -p $(dirname {path}); echo PLANTED >>{path}", "--here", cwd=alias, env=env)
                t.ok(r.status != 0 and "protected" in r.err, f"{name}: {path.replace(alias, '')} by an alias", r)
            r = home.sh(f"echo x >>{alias}/work/kept/x", "--deny-write", home.path("work/kept"), cwd=alias + "/work",
                        env=env)
            t.ok(r.status != 0, f"{name}: --deny-write by an alias", r)
            r = home.sh(f"mv {alias}/work/kept {alias}/work/gone", "--deny-write", home.path("work/kept"),
                        cwd=alias + "/work", env=env)
            t.ok(r.status != 0 and os.path.exists(home.path("work/kept/x")), f"{name}: nor moved", r)
    finally:
        aliases.end()


def test_hidden_aliases(user, t):
    """Files under a mount that are visible elsewhere, and mounts that show nothing twice."""
    if only_root_mounts():
        return
    home = Home(user)
    home.write(".aws/credentials")
    home.write(".aws/sso/token")
    home.write("work/x", "text\n")
    aliases = Aliases(home)
    try:
        alias, part = aliases.add("all", home.top), aliases.add("part", home.path(".aws/sso"))
        mount("-t", "tmpfs", "none", home.path(".aws"))
        aliases.mounted.append(home.path(".aws"))
        for name, flags, env in ("sentry", (), None), ("judged", ("--strict-reads", "--shared-tmp"), None), \
                ("no mounts", (), BARE), ("masks", (), MASKS):
            reads(home, t, f"under a mount, {name}", alias + "/.aws/credentials", part + "/token", flags=flags, env=env)
        mount("--bind", home.work, home.work)
        aliases.mounted.append(home.work)
        r = home.sh("cat x && echo x >y && rm y", "--profile=strict")
        t.quiet(r, "a folder that is mounted on itself", "text\n")
    finally:
        aliases.end()


def test_own_mounts(user, t):
    """Our own mounts cause no aliases: /dev/null covers what is neither file nor folder."""
    home = Home(user)
    home.write(".ssh/id_rsa")
    user.sh(f"mkfifo {home.path('.netrc')}")
    for name, env in ("sentry", None), ("masks", MASKS):
        t.quiet(home.sh("echo x >/dev/null && cat /dev/null && exec 3<>/dev/null", env=env), f"/dev/null, {name}")
        t.quiet(home.sh("echo x >/dev/null && cat /dev/null", "--deny-read", "**/*.pem", env=env),
                f"/dev/null where every opening is judged, {name}")


def test_not_followed(user, t):
    """What docs/threat-model.md does not promise."""
    home = Home(user)
    home.write("work/deep/er/shared/tasks.json", "old\n")
    home.link("shared", "work/deep/er/.vscode")
    r = home.sh("echo x >>deep/er/shared/tasks.json")
    t.ok(r.status == 0, "a link further down protects itself only", r)
    r = home.sh("rm deep/er/.vscode && ln -s ../shared deep/er/.vscode")
    t.ok(r.status != 0 and not os.path.lexists(home.path("work/deep/er/.vscode")),
         "… which it does: it can go, and none can take its place", r)
    if only_root_mounts():
        return
    aliases = Aliases(home)
    at = os.path.join(aliases.at, "overlay")
    os.makedirs(at)
    home.write("lower/.netrc")
    mount("-t", "overlay", "none", "-o", f"lowerdir={home.path('lower')}:{home.path('work')}", at)
    aliases.mounted.append(at)
    try:
        r = home.run("cat", home.path("lower/.netrc"), env={"HOME": at})
        t.ok("SECRET" in r.out, "the folders that an overlay is made of have names of their own", r)
        reads(home, t, "an overlay", at + "/.netrc", env={"HOME": at})
    finally:
        aliases.end()


class Talk:
    """A shell in a sandbox that runs one line after the other."""

    def __init__(self, home, *flags, cwd=None, env=None):
        script = 'while IFS= read -r line; do eval "$line" 2>&1; echo "==$?"; done'
        self.child = home.user.start([BUCKLE, "run", *flags, "--", "sh", "-c", script], cwd=cwd or home.work,
                                       env={**home.env, **(env or {})}, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.ask("true")

    def ask(self, line):
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()
        text = ""
        while True:
            got = self.child.stdout.readline().decode(errors="replace")
            text += got
            if not got or got.startswith("=="):
                return text

    def end(self):
        self.child.stdin.close()
        self.child.stdout.read()
        err = self.child.stderr.read().decode(errors="replace")
        self.child.wait(timeout=30)
        return err


def test_later_mounts(user, t):
    """Aliases created outside while the command runs, and mounts above a sentry."""
    if only_root_mounts():
        return
    home = Home(user)
    home.write(".aws/credentials")
    aliases = Aliases(home)
    mount("--make-rshared", "/")
    try:
        for name, flags, env in ("sentry", (), None), ("judged", ("--strict-reads", "--shared-tmp"), None), \
                ("no mounts", (), BARE), ("masks", (), MASKS):
            talk = Talk(home, *flags, env=env)
            path = os.path.join(aliases.at, "later-" + name.replace(" ", "-"))
            os.makedirs(path)
            eventually(lambda: False, 0.2)
            mount("--bind", home.top, path)
            seen = eventually(lambda: "work" in talk.ask(f"ls {path}"), 5)
            eventually(lambda: False, 0.2)
            output = talk.ask(f"cat {path}/.aws/credentials")
            t.ok(seen and "SECRET" not in output, f"{name}: an alias that is made later", output)
            # the same folder mounted on itself: the sentry is now below it
            mount("--bind", home.path(".aws"), home.path(".aws"))
            eventually(lambda: False, 0.3)
            output = talk.ask(f"cat {home.path('.aws')}/credentials")
            t.ok("SECRET" not in output, f"{name}: a mount over a sentry", output)
            unmount(home.path(".aws"))
            mount("--rbind", home.top, home.top)
            eventually(lambda: False, 0.3)
            output = talk.ask(f"cat {home.path('.aws')}/credentials")
            t.ok("SECRET" not in output, f"{name}: a mount above a sentry", output)
            unmount(home.top)
            talk.end()
            unmount(path)
    finally:
        aliases.end()
        mount("--make-rprivate", "/")


def test_detached(user, t):
    """Files on a detached mount have no meaningful path."""
    if only_root_mounts():
        return
    disk = os.path.join(os.path.realpath(drive.FOLDER), "disk-" + user.name)
    os.makedirs(disk)
    for name, flags, env in ("sentry", (), None), ("judged", ("--strict-reads", "--shared-tmp"), None), ("no mounts", (), BARE):
        mount("-t", "tmpfs", "-o", "mode=755", "none", disk)
        home = Home(user)
        home.top = disk + "/user"
        os.makedirs(home.top)
        home.env = {"HOME": home.top}
        for path in home.top, home.top + "/work":
            os.makedirs(path, exist_ok=True)
            user.own(path)
        home.write(".aws/credentials")
        home.write(".aws/other")
        talk = Talk(home, "--here", "--allow-write", "/user", *flags, cwd=home.top + "/work", env=env)
        talk.ask("cd ..")
        unmount(disk)
        output = talk.ask("cat .aws/credentials") + talk.ask(f"cat {home.top}/.aws/other")
        t.ok("SECRET" not in output, f"{name}: a store on a mount that was taken away is not read", output)
        if env:
            output = talk.ask("echo x >.zshenv")
            t.ok("==0" not in output, f"{name}: nor is anything written there", output)
        talk.end()


# ---- case ----


def make_ntfs(image, at, user):
    return [["mkfs.ntfs", "-F", "-q", image],
            ["lowntfs-3g", "-o", f"ignore_case,allow_other,uid={user.uid},gid={user.uid}", image, at]]


def make_vfat(image, at, user):
    return [["mkfs.vfat", image], ["mount", "-o", f"loop,quiet,uid={user.uid},gid={user.uid}", image, at]]


def make_ext4(image, at, user):
    return [["mke2fs", "-q", "-t", "ext4", "-O", "casefold", "-E", "encoding=utf8", image],
            ["mount", "-o", "loop", image, at], ["mkdir", at + "/Home"], ["chattr", "+F", at + "/Home"],
            ["chown", f"{user.uid}:{user.uid}", at, at + "/Home"]]


FOLDING = {"ntfs": make_ntfs, "vfat": make_vfat, "ext4": make_ext4}


def folding(user, kind):
    """A case-insensitive file system of this user; None if it cannot be made."""
    image = os.path.join(drive.FOLDER, f"{kind}-{user.name}")
    at = os.path.join(os.path.realpath(drive.FOLDER), f"Folds-{kind}-{user.name}")
    os.makedirs(at)
    subprocess.run(["truncate", "-s", "16M", image], check=True)
    for words in FOLDING[kind](image, at, user):
        if missing(words[0]):
            skip(f"{words[0]} is not installed")
            return None
        made = subprocess.run(words, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if made.returncode:
            unmount(at)
            skip(f"{kind} that folds case cannot be mounted here")
            return None
    return at


def test_case(user, t):
    if only_root_mounts():
        return
    for kind in FOLDING:
        at = folding(user, kind)
        if at:
            try_case(user, t, kind, at)


def try_case(user, t, kind, at):
    home = Home(user)
    # as such a file system lists it: the kernel calls a folder by the name that was looked up last
    home.top = at + "/home"
    os.makedirs(home.top, exist_ok=True)
    home.env = {"HOME": home.top}
    home.work = home.top + "/work"
    os.makedirs(home.work)
    user.own(home.work)
    try:
        home.write(".aws/credentials")
        home.write(".netrc")
        home.write("Private/a")
        home.write("work/.bashrc", "old\n")
        home.write("work/README", "text\n")
        user.sh(f"git init -q {home.work}")
        for tier, flags in TIERS.items():
            flags = (*flags, "--deny-read", home.path("Private"))
            reads(home, t, f"{kind}, {tier}", *(home.path(p) for p in (
                ".aws/credentials", ".AWS/credentials", ".Aws/CREDENTIALS", ".NETRC", ".netrc", "private/a",
                "PRIVATE/A")), at + "/HOME/.aws/credentials", flags=flags)
        for path in ".BASHRC", ".Bashrc", ".GIT/hooks/x", ".git/HOOKS/x", ".VSCODE/tasks.json", ".Claude/Settings.json", \
                ".con\ufb01g/buckle/x", ".ba\u017fhrc", ".git/\u200chooks/x":
            r = home.sh(f"mkdir -p $(dirname {path}); echo PLANTED >>{path}")
            with open(home.path("work/.bashrc"), encoding="utf-8") as f:
                t.ok(r.status != 0 and f.read() == "old\n", f"{kind}: {path!a} is not written", r)
        r = home.sh("cat README && echo x >Makefile && mkdir -p Src/Sub && echo x >Src/Sub/File && git add . && "
                    "rm -r Src Makefile")
        t.quiet(r, f"{kind}: everything else is written", "text\n")
        r = home.sh("echo x >keep/x", "--deny-write", home.path("work/Keep"))
        t.ok(r.status != 0, f"{kind}: --deny-write", r)
    finally:
        unmount(at)


def main():
    if not fusable.usable():
        skip("/dev/fuse is not open to everybody here")
        return done()
    for_everybody([test_secret_links, test_link_in_parents, test_protected_links, test_dangling_links, test_links_above,
                   test_git_link, test_everywhere, test_aliases, test_alias_writes, test_hidden_aliases,
                   test_own_mounts, test_not_followed, test_later_mounts, test_detached,
                   test_case])
    return done()


if __name__ == "__main__":
    sys.exit(main())
