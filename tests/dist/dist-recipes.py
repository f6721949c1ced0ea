#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes for other systems, each read by its own tools as far as Debian has them.

rpmbuild and makepkg build their packages from the source tarball; Alpine's abuild and Homebrew are
not in Debian, and Nix has no packages to build with here.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import roots
import tap


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def test_filled(recipes, source):
    """Nothing is left open, and all name the same source."""
    digest = roots.run(["sha256sum", source]).stdout.split()[0]
    digest512 = roots.run(["sha512sum", source]).stdout.split()[0]
    for name, path in recipes.items():
        text = text_of(path)
        tap.equal(re.findall(r"@[A-Z0-9]+@", text), [], f"{name}: has no open place")
        tap.ok(os.path.basename(source) in text, f"{name}: names the source tarball")
        if name in ("PKGBUILD", "buckle.rb"):
            tap.ok(digest in text, f"{name}: has its checksum")
        if name == "APKBUILD":
            tap.ok(digest512 in text, f"{name}: has its checksum")


def test_shell(recipes):
    for name, shell in (("PKGBUILD", "bash"), ("APKBUILD", "sh")):
        roots.succeeds([shell, "-n", recipes[name]], f"{name}: {shell} reads it")
        roots.succeeds(["shellcheck", recipes[name]], f"{name}: shellcheck finds nothing")
    for script in ("devcontainer/install.sh", "debian/buckle.postinst", "debian/buckle.postrm"):
        roots.succeeds(["shellcheck", os.path.join(roots.PACKAGING, script)], f"{script}: shellcheck finds nothing")


# What abuild wants of every APKBUILD, and the functions that it calls.
ALPINE = """pkgname pkgver pkgrel pkgdesc url arch license source sha512sums builddir makedepends""".split()


def test_alpine(recipe):
    """A shell reads it as abuild does: variables, functions, one checksum for each source."""
    script = """srcdir=/s; . "$1"
        for name in $2; do eval "printf '%s=%s\\0' $name \\"\\$$name\\""; done
        for name in build check package; do command -V $name; done"""
    done = subprocess.run(["sh", "-euc", script, "sh", recipe, " ".join(ALPINE)], stdout=subprocess.PIPE, text=True, check=False)
    pairs = dict(one.split("=", 1) for one in done.stdout.split("\0") if "=" in one)
    tap.equal([name for name in ALPINE if not pairs.get(name)], [], "APKBUILD: has what abuild wants")
    tap.equal(done.stdout.count("is a shell function"), 3, "APKBUILD: has its functions")
    sums = re.findall(r"^([0-9a-f]{128})  (\S+)$", pairs.get("sha512sums", ""), re.MULTILINE)
    tap.equal([name for _, name in sums], [os.path.basename(one) for one in pairs["source"].split()],
              "APKBUILD: one checksum for each source")
    tap.ok(re.fullmatch(r"[0-9][0-9.]*", pairs["pkgver"]) and pairs["pkgrel"].isdigit(), "APKBUILD: a version that apk takes")


# As little of nixpkgs as the flake names, so that Nix evaluates all of it.
NIX = """let
  flake = import %s;
  pkgs = { system = "x86_64-linux"; stdenv.mkDerivation = x: x; mkShell = x: x; lib.licenses.asl20 = "asl20";
           stdenv.isLinux = true; openssl = "/openssl"; lib.getLib = x: x; lib.optionalString = yes: x: if yes then x else "";
           meson = 1; ninja = 1; pkg-config = 1; scdoc = 1; libplist = 1;
           pkgsStatic = { c-ares = 1; jansson = 1; libevent = 1; libyaml = 1; ncurses = 1; nghttp2 = 1; }; };
  nixpkgs = { legacyPackages.x86_64-linux = pkgs; legacyPackages.aarch64-linux = pkgs;
              legacyPackages.x86_64-darwin = pkgs; legacyPackages.aarch64-darwin = pkgs;
              lib.genAttrs = names: f: builtins.listToAttrs (map (name: { inherit name; value = f name; }) names); };
  outputs = flake.outputs { inherit self nixpkgs; source = "/source"; };
  self = outputs;
in builtins.toJSON outputs
"""


def test_nix(recipe, version):
    env = dict(os.environ, HOME=roots.WORK, NIX_STATE_DIR=roots.WORK + "/nix", NIX_STORE_DIR=roots.WORK + "/nix-store")
    roots.succeeds(["nix-instantiate", "--parse", recipe], "flake.nix: Nix parses it", env=env)
    done = roots.run(["nix-instantiate", "--eval", "--strict", "-E", NIX % recipe], env=env)
    tap.ok(done.returncode == 0 and f'\\"version\\":\\"{version}\\"' in done.stdout, "flake.nix: Nix evaluates it", done.stdout)
    tap.ok("--add-rpath /openssl/lib " in done.stdout, "flake.nix: buckle-tls finds OpenSSL", done.stdout)


def test_ruby(recipe):
    roots.succeeds(["ruby", "-c", recipe], "buckle.rb: ruby reads it")
    # what a formula calls, written down as it is called
    stub = """class Formula
  CALLS = Hash.new { |all, name| all[name] = [] }
  def self.method_missing(name, *values, &) = CALLS[name] << values
  def self.test(&) = CALLS[:test] << []
  def self.respond_to_missing?(*) = true
end
load ARGV[0]
p(Formula::CALLS.transform_values(&:length).slice(:desc, :homepage, :url, :sha256, :license, :depends_on, :test))
p Buckle.instance_methods(false)
"""
    done = roots.run(["ruby", "-e", stub, recipe])
    tap.ok(done.returncode == 0 and all(f":{name}=>" in done.stdout for name in ("url", "sha256", "license", "test")) and "[:install]" in done.stdout,
           "buckle.rb: is a formula with its fields, install and test", done.stdout)


# ---- building ----


def unpack_and_run(packed, unpack, name):
    """The program of a package that was built here, from its own folder."""
    with tempfile.TemporaryDirectory() as folder:
        done = roots.run(["sh", "-c", unpack, "sh", packed], cwd=folder)
        program = os.path.join(folder, "usr/bin/buckle")
        tap.ok(done.returncode == 0 and os.path.exists(program), f"{name}: has /usr/bin/buckle", done.stdout)
        work = os.path.join(folder, "work")
        os.mkdir(work)
        for command, printed in roots.first_example():
            env = dict(os.environ, PATH=os.path.dirname(program) + ":" + os.environ["PATH"])
            tap.equal(roots.run(["sh", "-c", command], cwd=work, env=env).stdout, printed, f"{name}: {command[:60]}")
        roots.check_helpers(lambda command: roots.run(["sh", "-c", command], cwd=work, env=env).stdout, name)


def test_rpm(recipe, source):
    done = roots.run(["rpmlint", recipe])
    # Mandriva's macro for the names of libraries, which Fedora and openSUSE do not have
    errors = [line for line in done.stdout.split("\n") if " E: " in line and "mklibname" not in line]
    tap.equal(errors, [], "buckle.spec: rpmlint finds no error")
    tree = os.path.join(roots.WORK, "rpm")
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(os.path.join(tree, "SOURCES"))
    shutil.copy(source, os.path.join(tree, "SOURCES"))
    # the packages that it needs have other names here
    line = roots.install_line("RPM").split()
    roots.succeeds([*line[:-1], "--nodeps", "--define", f"_topdir {tree}", os.path.basename(recipe)],
                   f"README: {' '.join(line)}", cwd=os.path.dirname(recipe))
    built = {}
    for folder, _, files in os.walk(os.path.join(tree, "RPMS")):
        built |= {name.split("-0")[0]: os.path.join(folder, name) for name in files}
    tap.ok({"buckle", "libbuckle0", "libbuckle-devel"} <= set(built), "buckle.spec: its packages", str(sorted(built)))
    if "buckle" in built:
        unpack_and_run(built["buckle"], 'rpm2cpio "$1" | cpio -idm --quiet', "rpm")


def test_arch(recipe, source):
    """makepkg refuses to run as root, so another user runs it."""
    folder = tempfile.mkdtemp(prefix="makepkg-")
    for path in (recipe, source):
        shutil.copy(path, folder)
    os.chmod(folder, 0o755)
    roots.run(["chown", "-R", "65534:65534", folder])
    env = dict(os.environ, HOME=folder, PACKAGER="Buckle's tests <tests@buckle.invalid>", CCACHE_DIR=folder + "/ccache", PKGEXT=".pkg.tar.gz")
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    line = roots.install_line("Arch").split()[:1]  # -i would install it here
    roots.succeeds([*drop, *line, "--nodeps", "--noconfirm"], "PKGBUILD: makepkg builds it", cwd=folder, env=env)
    built = [name for name in os.listdir(folder) if ".pkg.tar" in name]
    tap.equal(len(built), 1, "PKGBUILD: its package")
    for name in built:
        unpack_and_run(os.path.join(folder, name), 'tar -xf "$1"', "PKGBUILD")
    shutil.rmtree(folder)


def main():
    names = ["PKGBUILD", "APKBUILD", "buckle.rb", "buckle.spec", "flake.nix"]
    first = roots.made("recipes", "PKGBUILD")[0]
    recipes = {name: os.path.join(os.path.dirname(first), name) for name in names}
    source = roots.made("recipes", "*-source.tar.gz")[0]
    os.makedirs(roots.WORK, exist_ok=True)
    test_filled(recipes, source)
    test_shell(recipes)
    test_alpine(recipes["APKBUILD"])
    test_nix(recipes["flake.nix"], re.search(r"buckle-([0-9.]+)-source", source).group(1))
    test_ruby(recipes["buckle.rb"])
    if "quick" not in sys.argv:
        test_rpm(recipes["buckle.spec"], source)
        test_arch(recipes["PKGBUILD"], source)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
