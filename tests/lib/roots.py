# SPDX-License-Identifier: Apache-2.0
"""What the tests of packages share: the files to test, and fresh roots to install them in."""

import glob
import os
import re
import subprocess
import sys

import tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))
from helpers import HELPERS, helpers_of, strip_built  # the other tests use them from here

WORK = os.path.join(TOP, "build", "packages-tried")  # roots, and what is made without a `make dist`
PACKAGING = os.path.join(TOP, "packaging")


def run(argv, **how):
    """Runs a command. Its output is text, standard error included."""
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **how}
    return subprocess.run(argv, text=True, errors="replace", check=False, **how)


def succeeds(argv, name, **how):
    done = run(argv, **how)
    tap.ok(done.returncode == 0, name, f"status {done.returncode}", done.stdout[-3000:])
    return done.stdout


# ---- the files ----


def stage():
    """Static programs: those of `make dist`, or else one of the build that is tested."""
    made = os.path.join(TOP, "build", "dist")
    if os.path.exists(os.path.join(made, "linux-x86_64", "bin", "buckle")):
        return made
    made = os.path.join(WORK, "stage")
    program = os.path.join(made, "linux-" + {"aarch64": "arm64"}.get(os.uname().machine, os.uname().machine), "bin", "buckle")
    os.makedirs(os.path.dirname(program), exist_ok=True)
    subprocess.run(["strip", "-o", program, os.path.join(TOP, "build", "gcc", "buckle-static")], check=True)
    strip_built(os.path.join(TOP, "build", "gcc"), os.path.dirname(os.path.dirname(program)))
    return made


def is_current(source):
    """Whether a source tarball is that of this commit."""
    head = run(["git", "-c", f"safe.directory={TOP}", "-C", TOP, "rev-parse", "HEAD"]).stdout.strip()
    return run(["sh", "-c", "gzip -dc \"$1\" | git get-tar-commit-id", "sh", source]).stdout.strip() == head


# where `make dist` and `make check-dist` leave a release
RELEASES = [os.path.join(TOP, "dist"), os.path.join(TOP, "build", "check-dist", "one", "dist")]


def released(pattern):
    """Files of a release of this commit, if there is one."""
    for folder in RELEASES:
        source = glob.glob(os.path.join(folder, "*-source.tar.gz"))
        found = sorted(glob.glob(os.path.join(folder, pattern)))
        if found and source and is_current(source[0]):
            return found
    return []


def made(part, pattern):
    """Files of a release of this commit, or else made from it: packaging/packages.py PART."""
    found = released(pattern)
    if found:
        return found
    folder = os.path.join(WORK, "dist")
    for source in glob.glob(os.path.join(folder, "*-source.tar.gz")):
        if not is_current(source):
            os.remove(source)
    env = dict(os.environ, BUCKLE_DIST=folder, BUCKLE_DIST_STAGE=stage(), BUCKLE_DIST_WORK=os.path.join(WORK, "build"))
    done = run([os.path.join(PACKAGING, "packages.py"), part], env=env)
    found = sorted(glob.glob(os.path.join(folder, pattern)))
    tap.ok(done.returncode == 0 and found, f"packages.py makes {part}", done.stdout[-3000:])
    return found


# ---- README's first example ----


def first_example():
    """[(command, what it prints)] of the first console block."""
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        block = re.search(r"```console\n(.*?)```", f.read(), re.DOTALL).group(1)
    steps = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [tuple(step.split("\n", 1)) for step in steps]


def install_lines():
    """{way: [what its row says in `…`]} of the section about installing."""
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        table = f.read().split("## Installing", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| ([^|]+) \| (`[^|]*) \|$", table, re.MULTILINE)
    return {way: re.findall(r"`([^`]+)`", text) for way, text in rows}


def install_line(way):
    """The command that installs it in one way."""
    return install_lines()[way][0]


# Where requests are checked, buckle-tls makes an authority, whose certificate is added to the store that is
# named. Without it, or without OpenSSL, nothing is. Prints the number of certificates.
CHECKS_TLS = """: >store; SSL_CERT_FILE=$PWD/store buckle run --allow-request='GET tls.test/x' -- sh -c 'grep -c BEGIN store'"""

# buckle-window gives its page to who has the code in the address. An earlier address must not be read. Small systems have no other client than bash.
SHOWS_PAGE = r""": >page; buckle ui --no-open >page 2>&1 & i=0
until [ -s page ] || [ $((i += 1)) -gt 100 ]; do sleep 0.1; done
bash -c 'IFS=/ read -r _ _ host path <page; exec 3<>/dev/tcp/127.0.0.1/${host#*:}
printf "GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n" "$path" "$host" >&3; IFS=$'\'\\r\'' read -r first _ <&3; echo "$first"'
kill $!"""

# And a view for the terminal, which ends with q; the terminal is one that every build knows.
SHOWS_VIEW = "{ sleep 0.5; printf q; sleep 0.5; } | script -qec 'TERM=vt100 buckle top' /dev/null >view; echo $?; grep -c 'buckle top' view"


def check_helpers(run_there, name):
    """run_there: runs a command of a shell where Buckle was installed, in a folder of its own, and returns what it printed."""
    tap.equal(run_there(CHECKS_TLS), "1\n", f"{name}: buckle-tls is found, and finds OpenSSL")
    tap.equal(run_there(SHOWS_PAGE), "HTTP/1.1 200 OK\n", f"{name}: buckle-window is found, and serves its page")


# ---- roots ----


def sources():
    """This machine's sources of Debian's packages, as lines of sources.list."""
    return run(["apt-get", "indextargets", "Created-By: Packages", "Origin: Debian", "--format",
                "deb $(REPO_URI) $(RELEASE) $(COMPONENT)"]).stdout


def make_root(name, packages):
    """A new root with Debian's smallest system and these packages. Returns its path, or None."""
    os.makedirs(WORK, exist_ok=True)
    root, packed = os.path.join(WORK, name), os.path.join(WORK, f"{name}-{'-'.join(packages)}.tar")
    if not os.path.exists(packed):
        options = os.path.join(WORK, "apt.conf")
        with open(options, "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in run(["apt-config", "dump"]).stdout.split("\n")
                         if re.match(r"Acquire::(https?|Retries)\b", line))
        listed = sources()
        codename = re.search(r" ([a-z]+) main", listed).group(1)
        made_root = run(["mmdebstrap", "--mode=root", "--format=tar", "--variant=minbase", f"--aptopt={options}",
                         f"--include={','.join(packages)}", codename, packed + ".new", "-"],
                        input=listed, stdin=None)
        if not tap.ok(made_root.returncode == 0, f"{name}: mmdebstrap makes a root", made_root.stdout[-2000:]):
            return None
        os.rename(packed + ".new", packed)
    run(["rm", "-rf", "--one-file-system", root])
    os.mkdir(root)
    run(["tar", "-C", root, "-xpf", packed])
    return root


MOUNTS = """set -e
mount --bind {root} {root}
mount -t proc proc {root}/proc
mount -t sysfs sys {root}/sys
mount --rbind /dev {root}/dev
mount -t tmpfs none {root}/run
cd {root}
"""

# The kernel gives no user namespace to a process whose root is not that of its mount namespace.
ENTER = {"chroot": "exec chroot . /bin/sh -c \"$1\"",
         "own root": "pivot_root . mnt; cd /; umount -l /mnt; exec /bin/sh -c \"$1\""}


def inside(root, command, how="own root"):
    """Runs a shell command in a root, in a mount namespace of its own."""
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
           "DEBIAN_FRONTEND": "noninteractive"}
    return run(["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "sh", "-c",
                MOUNTS.format(root=root) + ENTER[how], "sh", command], env=env)


def listed(root):
    """Every name in a root that a package could leave behind. Homes and /tmp have what runs keep there."""
    ignored = re.compile(r"(proc|sys|dev|run|tmp|home|root|var/log|var/lib/dpkg|var/lib/apt|var/cache/apt|var/cache/ldconfig|packages)(/|$)")
    return {name for name in (os.path.relpath(os.path.join(folder, one), root)
                              for folder, folders, files in os.walk(root) for one in folders + files)
            if not ignored.match(name)}
