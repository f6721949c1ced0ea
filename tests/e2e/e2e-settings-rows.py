#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The meaning of settings, as rows that eval, the kernel and srt must answer alike. Prints TAP.
"""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import drive
import running
import tap
from running import for_everybody

TOOLS = os.environ.get("TOOLS", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/gcc/tests"))
SRT = os.path.join(os.path.dirname(running.BUCKLE), "srt")
PROBE = os.path.join(os.path.realpath(drive.FOLDER), "bin", "probe")

# question of a row: (operation, call)
ASKS = {"read": ("file-read-data", "openat-read"), "see": ("file-read-metadata", "stat"),
        "write": ("file-write-data", "open-write"), "make": ("file-write-create", "open-create-excl"),
        "remove": ("file-write-unlink", "unlink"), "chmod": ("file-write-mode", "chmod"),
        "mkdir": ("file-write-create", "mkdir")}


class Table:
    """Initial files and links, settings, and rows `ask path verdict`. {w} is the working directory,
    {o} a folder outside, {h} the home folder."""

    def __init__(self, name, files, settings, rows, links=()):
        self.name, self.files, self.settings = name, files.split(), settings
        self.rows = [line.split() for line in rows.strip().split("\n")]
        self.links = links


READING = Table(
    "reads: a denial, what is allowed in it, and what is denied in that",
    "o/a/file o/a/open/file o/a/open/shut/file o/a/open/key.pem o/b",
    {"filesystem": {"denyRead": ["{o}/a", "{o}/a/open/shut", "{o}/a/open/**/*.pem", "{o}/nothere"],
                    "allowRead": ["{o}/a/open"]}},
    """
    read  o/a/file             deny
    see   o/a/file             deny
    read  o/a/open/file        allow
    see   o/a/open/file        allow
    read  o/a/open/shut/file   deny
    read  o/a/open/key.pem     deny
    read  o/b                  allow
    write o/b                  deny
    """)

WRITING = Table(
    "writes: denied at, above and below what is allowed",
    "o/a/file o/a/shut/file o/a/shut/open/file o/b/in/file o/b/file o/c/file w/file",
    {"filesystem": {"allowWrite": ["{o}/a", "{o}/a/shut/open", "{o}/b/in", "{o}/c"],
                    "denyWrite": ["{o}/a/shut", "{o}/b", "{o}/c"]}},
    """
    write  o/a/file             allow
    make   o/a/new              allow
    remove o/a/file             allow
    write  o/a/shut/file        deny
    make   o/a/shut/new         deny
    write  o/a/shut/open/file   deny
    write  o/b/file             deny
    write  o/b/in/file          deny
    write  o/c/file             deny
    write  w/file               deny
    make   w/new                deny
    read   w/file               allow
    """)

DEFAULTS = Table(
    "nothing said about writing: the working directory, and not its protected names",
    "w/file w/.bashrc w/sub/.git/config w/sub/.git/hooks/x o/file h/.aws/credentials h/.aws/ok",
    {"filesystem": {"allowRead": ["~/.aws/ok"]}},
    """
    write  w/file               allow
    make   w/new                allow
    write  w/.bashrc            deny
    make   w/deep/.bashrc       deny
    make   w/.mcp.json          deny
    make   w/.vscode            deny
    write  w/sub/.git/config    deny
    make   w/sub/.git/hooks/y   deny
    remove w/sub/.git/hooks/x   deny
    write  o/file               deny
    read   h/.aws/credentials   deny
    see    h/.aws/credentials   allow
    read   h/.aws/ok            allow
    """)

GIT_CONFIG = Table(
    "allowGitConfig",
    "w/.git/config w/.git/hooks/x o/.git/config",
    {"filesystem": {"allowGitConfig": True}},
    """
    write  w/.git/config        allow
    make   w/.git/hooks/y       deny
    write  o/.git/config        deny
    """)

GLOBS = Table(
    "patterns, judged when a file is touched",
    "w/a.lock w/a.txt w/sub/b.lock w/x1/k w/x2/k w/xx/k w/log/deep/f w/logs o/q/r",
    {"filesystem": {"allowWrite": [".", "{o}/q*"], "denyWrite": ["*.lock", "x[0-9]", "log/**"],
                    "denyRead": ["**/b.lock"]}},
    """
    write  w/a.lock             deny
    write  w/a.txt              allow
    make   w/new.lock           deny
    make   w/new.txt            allow
    write  w/sub/b.lock         allow
    read   w/sub/b.lock         deny
    make   w/new/b.lock         allow
    write  w/x1/k               deny
    write  w/x2/k               deny
    write  w/xx/k               allow
    write  w/log/deep/f         deny
    write  w/logs               allow
    mkdir  o/qq                 allow
    write  o/q/r                deny
    """)

GLOB_READS = Table(
    "patterns that permit reading, inside of what is denied and by patterns denied again",
    "o/a/x.pub o/a/x o/a/sub/y.pub o/b1/f o/b1/keep/f o/b2/f o/c/[z-a] o/c/z",
    {"filesystem": {"denyRead": ["{o}/a", "{o}/b?", "{o}/c/[z-a]"], "allowWrite": ["."],
                    "allowRead": ["{o}/a/*.pub", "{o}/b[12]/keep"]}},
    """
    read  o/a/x.pub             allow
    see   o/a/x.pub             allow
    read  o/a/x                 deny
    see   o/a/x                 deny
    read  o/a/sub/y.pub         deny
    read  o/b1/f                deny
    read  o/b1/keep/f           deny
    read  o/b2/f                deny
    read  o/c/[z-a]             deny
    read  o/c/z                 allow
    """)

NAMES = Table(
    "names that hold what patterns are made of",
    "w/app/[id]/page w/app/i/page w/app/i2/page w/star*/f w/starry/f w/half[/f",
    {"filesystem": {"allowWrite": ["."],
                    "denyWrite": ["app/[id]", {"path": "star*", "literal": True}, "half["]}},
    """
    write  w/app/[id]/page      deny
    write  w/app/i/page         deny
    write  w/app/i2/page        allow
    write  w/star*/f            deny
    write  w/starry/f           allow
    write  w/half[/f            deny
    """)

LINKS = Table(
    "symbolic links, in and out",
    "o/real/file o/real2/file o/key w/plain",
    {"filesystem": {"allowWrite": [".", "{o}/out/in"], "denyWrite": ["link", "linked"],
                    "denyRead": ["key"]}},
    """
    write  o/real/file          deny
    write  w/link/file          deny
    remove w/link               deny
    remove w/linked             deny
    write  w/plain              allow
    read   w/key                deny
    read   o/key                deny
    remove w/key                deny
    write  o/real2/file         allow
    """,
    links=[("w/link", "{o}/real"), ("w/linked", "plain2"), ("w/key", "{o}/key"), ("o/out", "{o}"),
           ("o/in", "real2")])

DISABLED = Table(
    "filesystem.disabled: everything but settings",
    "w/.bashrc o/file h/.config/buckle/settings.json h/.aws/credentials",
    {"filesystem": {"disabled": True}},
    """
    write  w/.bashrc            allow
    write  o/file               allow
    read   h/.aws/credentials   allow
    write  h/.config/buckle/settings.json  deny
    make   h/.config/buckle/more           deny
    """)

REPOSITORIES = Table(
    "worktrees and submodules",
    "w/.git/modules/sub/config w/.git/modules/a/b/hooks/x w/.git/worktrees/wt/config.worktree "
    "w/.git/modules/sub/HEAD w/.git/modules/sub/objects/x w/.git/modules/sub/refs/x w/.git/modules/a/b/HEAD w/.git/modules/a/b/objects/x w/.git/modules/a/b/refs/x "
    "w/.git/worktrees/wt/HEAD w/.git/index w/wt/.git/hooks/x",
    {},
    """
    write  w/.git/modules/sub/config               deny
    make   w/.git/modules/sub/hooks/y              deny
    write  w/.git/modules/a/b/hooks/x              deny
    write  w/.git/worktrees/wt/config.worktree     deny
    make   w/.git/commondir                        deny
    write  w/.git/worktrees/wt/HEAD                allow
    write  w/.git/index                            allow
    remove w/wt/.git/hooks/x                       deny
    make   w/deep/er/.claude/commands/x            deny
    """)

NESTED = Table(
    "protected names at any depth, in repositories of any kind",
    "w/a/.git/config w/a/.git/modules/m/config w/a/.git/modules/m/n/hooks/x w/a/.git/worktrees/t/config.worktree "
    "w/a/.git/modules/m/HEAD w/a/.git/modules/m/objects/x w/a/.git/modules/m/refs/x w/a/.git/modules/m/n/HEAD w/a/.git/modules/m/n/objects/x w/a/.git/modules/m/n/refs/x "
    "w/a/.git/worktrees/t/HEAD w/a/.git/index w/a/b/.bashrc w/a/b/.vscode/tasks.json w/a/b/.claude/agents/x w/a/b/file",
    {"filesystem": {"allowWrite": ["."]}},
    """
    write  w/a/.git/config                        deny
    write  w/a/.git/modules/m/config              deny
    write  w/a/.git/modules/m/n/hooks/x           deny
    make   w/a/.git/modules/m/n/hooks/y           deny
    write  w/a/.git/worktrees/t/config.worktree   deny
    write  w/a/.git/worktrees/t/HEAD              allow
    write  w/a/.git/index                         allow
    write  w/a/b/.bashrc                          deny
    make   w/a/b/c/.zprofile                      deny
    make   w/a/b/.ripgreprc                       deny
    make   w/a/b/.idea                            deny
    write  w/a/b/.vscode/tasks.json               deny
    make   w/a/b/.claude/agents/y                 deny
    make   w/a/b/.claude/commands/y               deny
    write  w/a/b/file                             allow
    make   w/a/b/bashrc                           allow
    make   w/a/b/.bashrc2                         allow
    """)

TABLES = [REPOSITORIES, READING, WRITING, DEFAULTS, GIT_CONFIG, GLOBS, GLOB_READS, NAMES, LINKS, DISABLED, NESTED]
# complete settings mean the same to srt, which generates different SBPL
AS_SRT = [READING, WRITING, GLOBS, GLOB_READS, NAMES, LINKS, NESTED]


class Place:
    """The folders of a table."""

    def __init__(self, user, table):
        self.user = user
        self.w, self.o = user.folder("work"), user.folder("outside")
        self.names = {"w": self.w, "o": self.o, "h": user.home}
        for name in table.files:
            self.user.write(self.path(name), "{}\n")
        for name, target in table.links:
            os.symlink(target.format(**self.names), self.path(name))
            if user.uid != os.geteuid():
                os.lchown(self.path(name), user.uid, user.uid)
        # a row that creates a file needs its folder
        for ask, name, _ in table.rows:
            folder = os.path.dirname(self.path(name))
            if ask in ("make", "mkdir") and not os.path.isdir(folder):
                os.makedirs(folder)
                user.own(folder)
        text = json.dumps(table.settings).replace("{o}", self.o).replace("{w}", self.w)
        self.file = user.write(os.path.join(user.home, f"settings-{user.made}.json"), text)

    def path(self, name):
        top, rest = name.split("/", 1)
        return os.path.join(self.names[top], rest)

    def real(self, ask, name):
        """The path that is judged: removing a symlink does not follow it."""
        path = self.path(name)
        if ask != "remove":
            return os.path.realpath(path)
        return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))

    def by_eval(self, table, *how, before=()):
        r = self.user.call([*before, running.BUCKLE, "profile", "--no-settings", *how, "-s", self.file], cwd=self.w)
        if r.status != 0:
            return [str(r)] * len(table.rows)
        profile = self.user.write(os.path.join(self.user.home, "made.sb"), r.out)
        rows = "".join(f"{ASKS[ask][0]} '{self.real(ask, name)}'\n" for ask, name, _ in table.rows)
        r = self.user.call([running.BUCKLE, "eval", "--batch", "-D", f"HOME={self.user.home}", profile], stdin=rows)
        answers = [line.split()[0] for line in r.out.splitlines()]
        return answers if len(answers) == len(table.rows) else [str(r)] * len(table.rows)

    def by_eval_of_srt(self, table):
        return self.by_eval(table, "--bare")

    def by_eval_of_macos(self, table):
        # as on a Mac: for this machine, whose links count
        return self.by_eval(table, "--bare", "--macos", before=["env", "BUCKLE_BACKEND=seatbelt"])

    def by_kernel(self, table):
        return self.by_calls(table, [running.BUCKLE, "run", "--no-settings", "--report", "none", "--strict-reads",
                                     "--shared-tmp"])

    def by_srt(self, table):
        return self.by_calls(table, [SRT])

    def by_calls(self, table, program):
        calls = "".join(f"{ASKS[ask][1]}\t{self.path(name)}\n" for ask, name, _ in table.rows)
        r = self.user.call([*program, "-s", self.file, PROBE, "--batch"], cwd=self.w, stdin=calls)
        answers = r.out.split()
        if len(answers) != len(table.rows):
            return [str(r)] * len(table.rows)
        return ["allow" if a == "ok" else "deny" if a in ("EPERM", "EACCES", "EROFS", "ENOENT") else a
                for a in answers]


def test_hidden(user, t):
    """Without FUSE, masks hide denied paths, but not allowed paths below."""
    w, o = user.folder("project"), user.folder("outside")
    for name in ("a/file", "a/open/file", "a/open/shut/file", "a/open/key.pem"):
        user.write(f"{o}/{name}", name)
    for more in ([], [f"{o}/a/open/shut"], [f"{o}/a/open/**/*.pem"]):
        file = user.write(f"{user.home}/hidden.json", json.dumps({
            "filesystem": {"denyRead": [f"{o}/a", *more], "allowRead": [f"{o}/a/open"]}}))
        r = user.run("--report", "none", "-s", file, "sh", "-c", f"cat {o}/a/file {o}/a/open/file", cwd=w)
        t.equal(r.out, "a/open/file", f"what is allowed in a denied folder can be read, {len(more)} denied in it", r)


def test_rows(user, t):
    if not os.path.lexists(SRT):
        os.symlink("buckle", SRT)
    for table in TABLES:
        as_srt = ("by_eval_of_srt", "by_eval_of_macos", "by_srt") if table in AS_SRT else ()
        for how in ("by_eval", "by_kernel", *as_srt):
            place = Place(user, table)
            got = getattr(place, how)(table)
            wrong = [f"{ask} {name}: want {want}, got {came}"
                     for (ask, name, want), came in zip(table.rows, got) if came != want]
            t.ok(not wrong, f"{table.name}, {how.replace('_', ' ')}", *wrong)


if __name__ == "__main__":
    shutil.copy(os.path.join(TOOLS, "probe"), PROBE)
    os.chmod(PROBE, 0o755)
    for_everybody([test_rows, test_hidden])
    sys.exit(tap.done())
