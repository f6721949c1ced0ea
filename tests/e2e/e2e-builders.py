#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/bazel.md and docs/nix.md say: examples/bazel/linux-sandbox with the arguments that Bazel gives to linux-sandbox, and a derivation whose builder is
`buckle run`, built by Nix where it is installed. Prints TAP.
"""

import os
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from world import TOP, people

SCRIPT = os.path.join(TOP, "examples", "bazel", "linux-sandbox")
PAGE = os.path.join(TOP, "docs", "nix.md")


class Action:
    """An action of Bazel, with folders and arguments as Bazel has them."""

    count = 0

    def __init__(self, who):
        Action.count += 1
        self.who = who
        self.top = os.path.join(who.home, f"action{Action.count}")
        self.execroot = os.path.join(self.top, "execroot")
        self.other = os.path.join(self.top, "other")
        self.script = os.path.join(self.top, "linux-sandbox")
        with open(SCRIPT, encoding="utf-8") as f:
            text = f.read()
        tap.ok(text.count("buckle=/usr/bin/buckle\n") == 1, "the script names one program")
        for folder in (self.execroot, self.other, os.path.join(who.home, ".ssh")):
            os.makedirs(folder, exist_ok=True)
        with open(self.script, "w", encoding="utf-8") as f:
            f.write(text.replace("buckle=/usr/bin/buckle\n", f"buckle={who.buckle()}\n"))
        os.chmod(self.script, 0o755)
        with open(os.path.join(who.home, ".ssh", "id_rsa"), "w", encoding="ascii") as f:
            f.write("secret\n")
        who.own(self.top, self.execroot, self.other, os.path.join(who.home, ".ssh"), os.path.join(who.home, ".ssh", "id_rsa"))

    def run(self, command, *more, env=None):
        """Starts it beside the action's folder, so that only -W can make that one writable."""
        words = ["-W", self.execroot, "-t", "15", "-w", self.execroot, "-w", "/tmp", "-w", "/dev/shm"]
        return self.who.run([self.script, *words, *more, "--", "/bin/sh", "-c", command], self.top, env=env)

    def has(self, name):
        return os.path.exists(os.path.join(self.execroot, name))


def bazel(who):
    a = Action(who)
    done = a.run("echo made > out; pwd", "-N")
    tap.ok(done.status == 0 and a.has("out") and done.out.strip() == a.execroot, f"{who.name}: an action makes its output, in its folder", done)
    done = a.run(f"echo x > {a.other}/file; cat {who.home}/.ssh/id_rsa; echo end", "-N")
    tap.ok(done.out == "end\n" and not os.listdir(a.other), f"{who.name}: it neither writes outside nor reads a key", done)
    # an ordinary user's keys can be hidden by a mount, which reports nothing
    tap.ok(f"{a.other}/file" in done.err and (who.uid or f"{who.home}/.ssh/id_rsa" in done.err), f"{who.name}: and it is reported", done)
    flags = [a.run("true", "-D", *more, env=env).err.splitlines()[0] for more, env in (
        ((), {"BUCKLE_HOSTS": "a.test,b.test"}), (("-N",), {"BUCKLE_HOSTS": "a.test"}), ((), {}))]
    tap.equal([re.findall(r"--allow-net=(\S+)", line) for line in flags], [["a.test", "b.test"], [], []], f"{who.name}: an action gets the hosts of BUCKLE_HOSTS, and with -N none")
    done = a.run("exit 7", "-N")
    tap.equal(done.status, 7, f"{who.name}: the action's exit status")
    begun = time.monotonic()
    done = a.run("sleep 20; echo late", "-N", "-T", "1")
    tap.ok(done.status != 0 and done.out == "" and time.monotonic() - begun < 15, f"{who.name}: -T ends it", done)
    files = [os.path.join(a.top, name) for name in ("stdout", "stderr", "statistics")]
    done = a.run("echo o; echo e >&2", "-N", "-l", files[0], "-L", files[1], "-S", files[2])
    with open(files[0], encoding="utf-8") as out, open(files[1], encoding="utf-8") as err:
        tap.ok((out.read(), err.read(), done.out, os.path.getsize(files[2])) == ("o\n", "e\n", "", 0), f"{who.name}: -l, -L and -S", done)
    for what, more in (("a mount at another path", ("-M", a.other, "-m", "/mnt")), ("an option that linux-sandbox lacks", ("-x",)), ("a host that is no name", ("-D",))):
        done = a.run("echo ran > ran", *more, env={"BUCKLE_HOSTS": "--allow-write=/"} if more == ("-D",) else None)
        tap.ok(done.status != 0 and not a.has("ran") and done.err, f"{who.name}: refused: {what}", done)
    done = a.run("echo ran > same", "-N", "-M", a.other, "-m", a.other)
    tap.ok(done.status == 0 and a.has("same"), f"{who.name}: a mount at the same path", done)
    arguments = os.path.join(a.top, "arguments")
    with open(arguments, "w", encoding="utf-8") as f:
        f.write("\n".join(["-W", a.execroot, "-N", "--", "/bin/sh", "-c", "echo from > file; echo \"$0\"", "@literal"]) + "\n")
    done = who.run([a.script, "@" + arguments], a.top)
    tap.ok(done.out == "@literal\n" and a.has("file"), f"{who.name}: a file of arguments; what follows -- is the command's", done)
    evil = os.path.join(a.top, "evil")
    os.mkdir(evil)
    for name in ("buckle", "bash", "printf"):
        with open(os.path.join(evil, name), "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\ntouch {a.other}/{name}\n")
        os.chmod(os.path.join(evil, name), 0o755)
    with open(os.path.join(evil, "rc"), "w", encoding="ascii") as f:
        f.write(f"touch {a.other}/rc\n")
    who.own(evil)
    done = a.run("true", "-N", env={"PATH": evil + ":" + who.env["PATH"], "BASH_ENV": os.path.join(evil, "rc"), "ENV": os.path.join(evil, "rc"),
                                    "BASH_FUNC_printf%%": f"() {{ touch {a.other}/function; }}", "SHELLOPTS": "xtrace"})
    tap.ok(done.status == 0 and not os.listdir(a.other), f"{who.name}: an action's environment starts nothing outside", os.listdir(a.other), done)


def nix(who):
    """The derivation and the profile are the page's."""
    if not shutil.which("nix-build"):
        tap.skip("nix-build is not installed")
        return
    with open(PAGE, encoding="utf-8") as f:
        blocks = re.findall(r"^```\n(.*?)^```", f.read(), re.M | re.S)
    derivation = next(b for b in blocks if b.startswith("derivation"))
    profile = next(b for b in blocks if b.startswith("(version 1)"))
    top = os.path.join(who.home, "nix")
    os.mkdir(top)
    outside = os.path.join(top, "outside")
    secret = os.path.join(top, "secret")
    os.mkdir(outside)
    with open(secret, "w", encoding="ascii") as f:
        f.write("secret\n")
    command = f"echo made > $out; echo x > {outside}/file; read line < {secret} && echo $line >> $out; :"
    changed = derivation.replace('"/usr/bin/buckle"', f'"{who.buckle()}"').replace("echo made > $out", command)
    with open(os.path.join(top, "tried.nix"), "w", encoding="utf-8") as f:
        f.write(changed)
    with open(os.path.join(top, "profile.sb"), "w", encoding="utf-8") as f:
        f.write(profile + f'(deny file-read* (literal "{secret}"))\n')
    who.own(top, outside, secret)
    # a store of its own: an ordinary user has none, and the machine's is not touched
    env = {f"NIX_{name}_DIR": os.path.join(top, name.lower()) for name in ("STORE", "STATE", "LOG", "CONF", "LOCALSTATE")}
    env["NIX_CONFIG"] = "sandbox = false\nsubstitute = false\nbuild-users-group =\n"
    done = who.run(["nix-build", "--no-out-link", "tried.nix"], top, env=env, timeout=100)
    made = done.out.strip()
    text = None
    if made.startswith(top) and os.path.exists(made):
        with open(made, encoding="utf-8") as f:
            text = f.read()
    tap.ok(command in changed and text == "made\n", f"{who.name}: Nix builds the page's derivation, without the file that the profile denies", text, done)
    tap.ok(not os.listdir(outside) and f"{outside}/file" in done.err and (who.uid or secret in done.err), f"{who.name}: denials are in its log", done)


def main():
    for who in people():
        bazel(who)
        nix(who)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
