#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's packages, and the dev-container feature: into a fresh root, used there, and out again.

The root is entered in two ways. In a chroot the kernel refuses user namespaces, so an ordinary user
gets a sandbox without namespaces; with a root of its own, all of it works.
"""

import json
import os
import shlex
import shutil
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import roots
import tap

NAMES = ["buckle", "libbuckle0", "libbuckle-dev", "buckle-dbgsym", "libbuckle0-dbgsym"]


def test_lint(packages):
    tap.equal(sorted(os.path.basename(path).split("_")[0] for path in packages), sorted(NAMES), "which packages")
    done = roots.run(["lintian", "--allow-root", "--fail-on", "error", *packages])
    tap.ok(done.returncode == 0, "lintian finds no error", done.stdout)


def as_user(command):
    return "su -s /bin/sh joe -c " + shlex.quote(command)


def example_runs(root, how, who):
    """README's first example, word for word."""
    roots.inside(root, "rm -rf /root/work /home/joe/work", how)
    for command, printed in roots.first_example():
        command = f"mkdir -p ~/work; cd ~/work; {command}"
        done = roots.inside(root, as_user(command) if who == "user" else command, how)
        tap.equal(done.stdout, printed, f"{how}, {who}: {command[:70]}")


def test_runs(root):
    for how in roots.ENTER:
        for who in ("root", "user"):
            example_runs(root, how, who)
    for how, who, status in (("chroot", "root", 0), ("chroot", "user", 0), ("own root", "root", 0), ("own root", "user", 0)):
        done = roots.inside(root, as_user("buckle doctor --json") if who == "user" else "buckle doctor --json", how)
        tap.equal(done.returncode, status, f"{how}, {who}: doctor says that the default profile is enforced in full")
        tap.ok(json.loads(done.stdout), f"{how}, {who}: doctor prints JSON")
    for name, arguments in (("srt", "true"), ("cage", "true"), ("sandbox-exec", "-n no-network true")):
        done = roots.inside(root, f"mkdir -p /root/work; cd /root/work; PATH=/usr/libexec/buckle:$PATH {name} {arguments}")
        tap.equal((done.returncode, done.stdout), (0, ""), f"{name} is in /usr/libexec/buckle")
    helpers_work(root, "installed")


def helpers_work(root, name):
    roots.check_helpers(lambda command: roots.inside(root, as_user(f"mkdir -p ~/helpers; cd ~/helpers; {command}")).stdout, name)


def test_texts(root):
    for path in ("usr/share/man/man1/buckle-run.1.gz", "usr/share/man/man5/sbpl.5.gz",
                 "usr/share/bash-completion/completions/buckle", "usr/share/zsh/vendor-completions/_buckle",
                 "usr/share/fish/vendor_completions.d/buckle.fish", "usr/share/buckle/settings.schema.json"):
        tap.ok(os.path.exists(os.path.join(root, path)), f"installs {path}")


def check_units(whose, folder, names):
    """systemd reads them. Returns the command that the service starts."""
    copied = os.path.join(roots.WORK, "units")
    shutil.rmtree(copied, ignore_errors=True)
    os.makedirs(copied)
    command = None
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            text = f.read()
        if "ExecStart=" in text:
            command = text.split("ExecStart=")[1].split("\n")[0]
            text = text.replace(f"ExecStart={command}", "ExecStart=/bin/true")  # the program is in the root only
        with open(os.path.join(copied, name), "w", encoding="utf-8") as f:
            f.write(text)
    done = roots.run(["systemd-analyze", f"--{whose}", "--man=no", "verify", *(os.path.join(copied, name) for name in names)],
                     env=dict(os.environ, XDG_RUNTIME_DIR=copied))
    tap.equal((done.returncode, done.stdout), (0, ""), f"systemd finds nothing wrong with {', '.join(names)}")
    return command


def test_node_unit(root):
    """It is there, and nobody but the machine's owner enables it."""
    command = check_units("system", os.path.join(root, "usr/lib/systemd/system"), ["buckle-node.service"])
    done = roots.inside(root, f"{command} --help")
    tap.ok(done.returncode == 0 and "Usage: buckle node" in done.stdout, "buckle-node.service starts what the package has", done.stdout)
    links = "find /etc/systemd -name 'buckle*'"
    tap.equal(roots.inside(root, links).stdout, "", "installing does not enable buckle-node.service")
    done = roots.inside(root, "cd /var/lib/dpkg/info; grep -hos 'deb-systemd-invoke .*buckle-node[^ ]*' buckle.preinst buckle.postinst")
    tap.equal(done.stdout, "deb-systemd-invoke try-restart 'buckle-node.service'\n",
              "nothing starts it, and an upgrade restarts one that runs")
    # as a maintainer's script does it, and with less than all of systemd
    done = roots.inside(root, f"DPKG_MAINTSCRIPT_PACKAGE=buckle deb-systemd-helper enable buckle-node.service; {links}")
    tap.ok("multi-user.target.wants/buckle-node.service" in done.stdout, "it can be enabled; purging has to undo that", done.stdout)


def test_units(root):
    """What the users' service starts tells a sound record from another."""
    folder = os.path.join(root, "usr/lib/systemd/user")
    names = sorted(os.listdir(folder))
    tap.equal(names, ["buckle-verify.service", "buckle-verify.timer"], "units for users")
    command = check_units("user", folder, names)
    test_node_unit(root)
    keep = 'mkdir -p ~/.config/buckle ~/kept; cd ~/kept; printf %s \'{"record": {"path": "~/record"}}\' >~/.config/buckle/settings.json; '
    for name, spoil, status in (("sound", "", 0), ("changed", "sed -i 's/kept/other/' ~/record; ", 1)):
        done = roots.inside(root, as_user(f"{keep} rm -rf ~/record; buckle run -- true; {spoil} {command}"))
        tap.equal(done.returncode, status, f"the service, with a record that is {name}")
        tap.ok(status == 0 or "record" in done.stdout, "and what it prints", done.stdout)
    roots.inside(root, as_user("rm -rf ~/.config/buckle ~/record"))


def test_library(root):
    """A program that the packages alone can build."""
    with open(os.path.join(root, "packages", "judge.c"), "w", encoding="utf-8") as f:
        f.write("""#include <buckle/buckle.h>
#include <stdio.h>
int main(void) { puts(buckle_version()); return 0; }
""")
    for name, link in (("shared", "$(pkg-config --libs libbuckle)"),
                       ("static", "-l:libbuckle.a $(pkg-config --libs --static libbuckle | sed s/-lbuckle//)")):
        done = roots.inside(root, f"cd /packages && cc -o judge judge.c $(pkg-config --cflags libbuckle) {link} && ./judge")
        tap.ok(done.returncode == 0 and done.stdout.strip(), f"a program with the {name} library", done.stdout)


PRETEND = """mount -t tmpfs none /proc/sys/kernel
echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns
BUCKLE_PRETEND=user_ns=0 """


def test_apparmor(root):
    """What the package installs is what `buckle doctor` asks for."""
    with open(os.path.join(roots.PACKAGING, "apparmor", "buckle"), encoding="utf-8") as f:
        profile = f.read()
    installed = os.path.join(root, "etc/apparmor.d/buckle")
    tap.ok(os.path.exists(installed) and open(installed, encoding="utf-8").read() == profile,
           "AppArmor 4: the package installs the profile")
    done = roots.inside(root, PRETEND + as_user("buckle doctor"))
    asked = done.stdout.partition("/etc/apparmor.d/buckle:\n\n")[2].partition("\n\n      and load it")[0]
    tap.equal(textwrap.dedent(asked).strip(), profile.strip(), "doctor asks for the same profile")


def test_purge(root, before):
    # a profile for another path is somebody's own
    installed = os.path.join(root, "etc/apparmor.d/buckle")
    done = roots.inside(root, "dpkg --purge libbuckle-dev libbuckle0 buckle")
    tap.ok(done.returncode == 0, "purges", done.stdout)
    tap.equal(sorted(roots.listed(root) ^ before), [], "purging leaves nothing, and takes nothing else away")
    with open(installed, "w", encoding="utf-8") as f:
        f.write("profile buckle /usr/local/bin/buckle flags=(unconfined) {\n}\n")
    kept = open(installed, encoding="utf-8").read()
    roots.inside(root, "dpkg -i /packages/buckle_*.deb; dpkg --purge buckle")
    tap.ok(os.path.exists(installed) and open(installed, encoding="utf-8").read() == kept,
           "a profile for another path stays as it is")
    os.remove(installed)


def test_feature(root, tarball):
    os.makedirs(os.path.join(root, "packages", "feature"))
    roots.run(["tar", "-C", os.path.join(root, "packages", "feature"), "-xf", tarball])
    with open(os.path.join(root, "packages/feature/devcontainer-feature.json"), encoding="utf-8") as f:
        tap.equal(json.load(f)["id"], "buckle", "feature: its JSON")
    done = roots.inside(root, "NAMES='srt cage' /packages/feature/install.sh")
    tap.ok(done.returncode == 0, "feature: install.sh", done.stdout)
    example_runs(root, "own root", "user")
    helpers_work(root, "feature")
    done = roots.inside(root, "mkdir -p /root/srt; cd /root/srt; srt 'echo hello'")
    tap.equal(done.stdout, "hello\n", "feature: the name srt")
    done = roots.inside(root, "NAMES=sh /packages/feature/install.sh")
    tap.ok(done.returncode == 1 and "not sh" in done.stdout, "feature: no other names", done.stdout)


def main():
    packages = roots.made("debian", "*.deb")
    test_lint(packages)
    root = roots.make_root("root", ["gcc", "git", "libc6-dev", "pkg-config", "libc-ares-dev", "libjansson-dev",
                                    "libnghttp2-dev", "libssl3", "libyaml-dev"])
    if not root:
        return tap.done()
    roots.inside(root, "useradd --create-home joe; mkdir -p /etc/apparmor.d/abi; touch /etc/apparmor.d/abi/4.0")
    before = roots.listed(root)
    os.mkdir(os.path.join(root, "packages"))
    for path in packages:
        shutil.copy(path, os.path.join(root, "packages"))
    line = roots.install_line("Debian, Ubuntu").replace("apt install", "apt-get -qq -y install")
    for command in (line, "dpkg -i libbuckle0_*.deb libbuckle-dev_*.deb"):
        done = roots.inside(root, f"cd /packages && {command}")
        tap.ok(done.returncode == 0, f"installs: {command}", done.stdout)
    test_runs(root)
    test_texts(root)
    test_units(root)
    test_library(root)
    test_apparmor(root)
    test_purge(root, before)
    for tarball in roots.made("feature", "devcontainer-feature-buckle.tgz"):
        test_feature(root, tarball)
    roots.run(["rm", "-rf", "--one-file-system", root])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
