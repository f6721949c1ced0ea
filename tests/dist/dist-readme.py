#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README's section about installing: each line is run as it is written, from the files of a release,
into an empty folder, npm project or virtual environment; then README's first example.

    dist-readme.py [FOLDER WITH A RELEASE]

Lines that need a system of their own are run by the other programs here (ELSEWHERE)."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import roots
import tap

ELSEWHERE = {"Debian, Ubuntu": "dist-debian.py", "RPM": "dist-recipes.py", "Arch": "dist-recipes.py",
             "Homebrew": "dist-recipes.py", "Alpine, Nix": "dist-recipes.py", "containers": "dist-image.py",
             "dev containers": "dist-debian.py", "GitHub": "dist-action.py"}
EMULATORS = {"arm64": "qemu-aarch64", "riscv64": "qemu-riscv64"}
HERE = {"x86_64": "x86_64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


def example(path, name):
    """README's first example, in a new folder."""
    with tempfile.TemporaryDirectory() as work:
        env = {"PATH": path + ":/usr/local/bin:/usr/bin:/bin", "HOME": os.path.join(work, "home"), "LC_ALL": "C.UTF-8"}
        os.makedirs(os.path.join(work, "home"))
        os.mkdir(os.path.join(work, "project"))
        for command, printed in roots.first_example():
            done = roots.run(["sh", "-c", command], cwd=os.path.join(work, "project"), env=env)
            tap.equal(done.stdout, printed, f"{name}: {command[:60]}")


def try_tar(way, line, folder):
    to = os.path.join(folder, "local")
    os.mkdir(to)
    done = roots.run(["sh", "-c", line.replace("/usr/local", to)], cwd=folder)
    program = os.path.join(to, "bin", "buckle")
    if not tap.ok(done.returncode == 0 and os.access(program, os.X_OK), f"README: {line}", done.stdout):
        return
    machine = way.split()[-1]
    if machine == HERE:
        example(os.path.dirname(program), way)
    elif machine in EMULATORS:
        done = roots.run([EMULATORS[machine], program, "--version"])
        tap.ok(done.returncode == 0 and done.stdout.startswith("buckle "), f"{way}: starts under {EMULATORS[machine]}", done.stdout)
    else:
        with open(program, "rb") as f:
            tap.equal(f.read(4), b"\xcf\xfa\xed\xfe", f"{way}: a program for a Mac")


def try_npm(way, line, folder):
    with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as f:
        f.write('{"private": true}\n')
    done = roots.run(["sh", "-c", line + " --no-audit --no-fund --offline"], cwd=folder, env=dict(os.environ, HOME=folder))
    if tap.ok(done.returncode == 0, f"README: {line}", done.stdout):
        node = os.path.dirname(os.path.realpath(shutil.which("node")))
        example(os.path.join(folder, "node_modules", ".bin") + ":" + node, way)


def try_pip(way, line, folder):
    subprocess.run([shutil.which("python3", path="/usr/bin"), "-m", "venv", os.path.join(folder, "venv")], check=True)
    bin_folder = os.path.join(folder, "venv", "bin")
    done = roots.run(["sh", "-c", line + " --quiet --no-index --disable-pip-version-check"], cwd=folder,
                     env={"PATH": bin_folder + ":/usr/bin:/bin", "HOME": folder})
    if tap.ok(done.returncode == 0, f"README: {line}", done.stdout):
        example(bin_folder, way)


def try_make(way, line, folder):
    """Into another folder, with the packages that are there."""
    done = roots.run(["sh", "-c", f"SKIP_DEPS=1 DESTDIR={folder}/root " + line], cwd=roots.TOP)
    if tap.ok(done.returncode == 0, f"README: {line}", done.stdout[-3000:]):
        example(os.path.join(folder, "root/usr/local/bin"), way)


def main():
    given = sys.argv[1] if len(sys.argv) > 1 else None
    release = given or os.path.dirname((roots.released("SHA256SUMS") or [""])[0])
    if not release:
        tap.skip("there is no release of this commit: run `make dist`")
        return tap.done()
    ways = roots.install_lines()
    tap.ok(len(ways) >= 12, "README has the lines", sorted(ways))
    for way, words in ways.items():
        known = {"tar": try_tar, "npm": try_npm, "pip": try_pip, "make": try_make}.get(way.split(",")[0])
        if not known:
            tap.ok(way in ELSEWHERE, f"{way}: {ELSEWHERE.get(way)} tries it")
            continue
        with tempfile.TemporaryDirectory() as folder:
            for path in glob.glob(os.path.join(release, "buckle*")):
                os.symlink(path, os.path.join(folder, os.path.basename(path)))
            known(way, words[0], folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
