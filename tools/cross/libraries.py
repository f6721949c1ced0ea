#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the libraries that Buckle links, static, for cross targets.

    tools/cross/libraries.py [TARGET…]

Sources are Debian's packages. apt-get gets them with a configuration and lists of its own
(build/cross/sources), so that nothing below /etc changes; it checks them against Debian's signed
index. Results go to build/cross/TARGET/prefix. build/cross/sources/sources.json lists the versions,
files and hashes, for the bill of materials.
"""

import concurrent.futures
import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

import toolchain
from targets import CROSS, chosen

SOURCES = os.path.join(CROSS, "sources")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Library:
    def __init__(self, source, name, archive, licence, headers, options=(), cflags="", darwin=(), configure=(),
                 systems=("linux", "darwin")):
        self.source = source    # Debian's source package
        self.name = name        # pkg-config's
        self.archive = archive  # lib….a, as everybody calls it; None: only the headers are used
        self.licence = licence
        self.headers = headers  # what must be there in the end
        self.options = options  # CMake's
        self.cflags = cflags    # for programs that use it
        self.darwin = darwin    # more flags for compiling it for macOS
        self.configure = configure  # arguments of ./configure, for a source that has nothing for CMake
        self.systems = systems  # whose programs use it


# Where systems keep descriptions of terminals, and those that a program has itself: images have none.
TERMINFO = ["/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo"]
# Speeds by their old numbers, which ncurses wants on macOS. The compiler's headers lack this one.
SPEEDS = [0, 50, 75, 110, 134, 150, 200, 300, 600, 1200, 1800, 2400, 4800, 9600, 19200, 38400, 57600, 115200]
OLD_SPEEDS = "".join(f"#define B{speed} {i}\n" for i, speed in enumerate(SPEEDS))
TERMINALS = ["xterm-256color", "xterm", "tmux-256color", "screen-256color", "screen", "linux", "vt100"]

LIBRARIES = (
    Library("jansson", "jansson", "libjansson.a", "MIT", ["jansson.h"],
            ["-DJANSSON_BUILD_DOCS=OFF", "-DJANSSON_EXAMPLES=OFF", "-DJANSSON_WITHOUT_TESTS=ON"]),
    Library("libyaml", "yaml-0.1", "libyaml.a", "MIT", ["yaml.h"], ["-DBUILD_TESTING=OFF"],
            cflags="-DYAML_DECLARE_STATIC"),
    Library("c-ares", "libcares", "libcares.a", "MIT", ["ares.h"],
            ["-DCARES_STATIC=ON", "-DCARES_SHARED=OFF", "-DCARES_BUILD_TOOLS=OFF"],
            # the compiler's headers for macOS have no arpa/nameser.h
            cflags="-DCARES_STATICLIB", darwin=["-DINADDRSZ=4"]),
    Library("nghttp2", "libnghttp2", "libnghttp2.a", "MIT", ["nghttp2/nghttp2.h"],
            ["-DENABLE_LIB_ONLY=ON", "-DENABLE_STATIC_LIB=ON", "-DENABLE_SHARED_LIB=OFF",
             "-DENABLE_DOC=OFF", "-DWITH_JEMALLOC=OFF"], cflags="-DNGHTTP2_STATICLIB"),
    # for buckle-window alone
    Library("libevent", "libevent", "libevent.a", "BSD-3-Clause", ["event2/http.h"],
            ["-DEVENT__LIBRARY_TYPE=STATIC", "-DEVENT__DISABLE_OPENSSL=ON", "-DEVENT__DISABLE_THREAD_SUPPORT=ON",
             "-DEVENT__DISABLE_TESTS=ON", "-DEVENT__DISABLE_REGRESS=ON", "-DEVENT__DISABLE_BENCHMARK=ON",
             "-DEVENT__DISABLE_SAMPLES=ON", "-DEVENT__DISABLE_DEBUG_MODE=ON"]),
    Library("ncurses", "ncursesw", "libncursesw.a", "X11-distribute-modifications-variant", ["curses.h"],
            # by itself it lets ar keep owners and times
            configure=["cf_cv_ar_flags=-crD", "--enable-widec", "--enable-overwrite", "--disable-db-install", "--without-ada",
                       "--without-cxx", "--without-cxx-binding", "--without-debug", "--without-manpages", "--without-progs",
                       "--without-tests", "--without-dlsym", "--with-terminfo-dirs=" + ":".join(TERMINFO),
                       "--with-default-terminfo-dir=/usr/share/terminfo", "--with-fallbacks=" + ",".join(TERMINALS)]),
    # loaded when used
    Library("libplist", "libplist-2.0", None, "LGPL-2.1-or-later", ["plist/plist.h"]),
)


def run(argv, **how):
    """Runs a program; prints what it said only if it fails."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **how)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: failed\n{done.stdout[-4000:]}")
    return done.stdout


# ---- sources ----


def source_entries():
    """`deb-src` lines for the Debian suites that this machine gets packages from."""
    listed = run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(REPO_URI)|$(RELEASE)",
                  "Created-By: Packages"])
    places = dict.fromkeys(line.split("|", 1)[1] for line in listed.split("\n") if line.startswith("Debian|"))
    if not places:
        raise SystemExit("apt has no lists of Debian's packages: run apt-get update first")
    return "".join("deb-src [signed-by={}] {} {} main\n".format(KEYRING, *place.split("|")) for place in places)


def apt(*arguments):
    for folder in ("state/lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(SOURCES, folder), exist_ok=True)
    toolchain.put(os.path.join(SOURCES, "sources.list"), source_entries())
    options = {"Dir::Etc::SourceList": f"{SOURCES}/sources.list", "Dir::Etc::SourceParts": "-",
               "Dir::State": f"{SOURCES}/state", "Dir::State::Status": "/var/lib/dpkg/status",
               "Dir::Cache": f"{SOURCES}/cache", "APT::Sandbox::User": "root"}
    return run(["apt-get", "-qq", *(f"-o{key}={value}" for key, value in options.items()), *arguments],
               cwd=SOURCES)


def described(path, library):
    """What a .dsc says of its package: version, and files with hashes, each of which is checked."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    version = re.search(r"^Version: (\S+)", text, re.MULTILINE).group(1)
    block = re.search(r"^Checksums-Sha256:\s*\n((?: .*\n)+)", text, re.MULTILINE).group(1)
    files = {name: digest for digest, _, name in (line.split() for line in block.strip().split("\n"))}
    for name, digest in files.items():
        if sha256(os.path.join(SOURCES, name)) != digest:
            raise SystemExit(f"{name}: not the file that {os.path.basename(path)} names")
    files[os.path.basename(path)] = sha256(path)
    return {"source": library.source, "library": library.name, "version": version, "linked": bool(library.archive),
            "licence": library.licence, "dsc": os.path.basename(path), "files": dict(sorted(files.items()))}


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def fetch():
    """Gets the source packages, once; returns the list of what was got."""
    os.makedirs(SOURCES, exist_ok=True)
    listing = os.path.join(SOURCES, "sources.json")
    with open(os.path.join(SOURCES, ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(listing):
            with open(listing, encoding="utf-8") as f:
                got = json.load(f)
            if [one["source"] for one in got] == [one.source for one in LIBRARIES]:
                return got
        print("Getting the sources of " + ", ".join(one.source for one in LIBRARIES), flush=True)
        apt("update")
        apt("source", "--download-only", *(one.source for one in LIBRARIES))
        got = []
        for library in LIBRARIES:
            found = glob.glob(os.path.join(SOURCES, f"{library.source}_*.dsc"))
            if len(found) != 1:
                raise SystemExit(f"{SOURCES}: has {len(found)} versions of {library.source}: remove the folder")
            got.append(described(found[0], library))
        toolchain.put(listing, json.dumps(got, indent=1) + "\n")
        return got


def unpacked(library, got):
    """The folder of the library's source, Debian's patches applied."""
    folder = os.path.join(SOURCES, f"{library.source}-{got['version']}")
    with open(os.path.join(SOURCES, ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(folder):
            run(["dpkg-source", "--no-copy", "-x", os.path.join(SOURCES, got["dsc"]), folder + ".part"])
            os.rename(folder + ".part", folder)
    return folder


# ---- building ----


def compile_flags(source, build, name):
    """The same bytes wherever they are compiled; parts that nobody calls can be dropped at linking."""
    return " ".join(["-g", "-fPIC", "-ffunction-sections", "-fdata-sections",
                     f"-ffile-prefix-map={source}={toolchain.SHOWN}/{name}",
                     f"-ffile-prefix-map={build}={toolchain.SHOWN}/{name}",
                     f"-ffile-prefix-map={toolchain.home()}={toolchain.SHOWN}/zig"])


def configure(target, library, source, build):
    system = "Darwin" if target.system == "darwin" else "Linux"
    flags = compile_flags(source, build, library.source)
    if target.system == "darwin":
        flags = " ".join([flags, *library.darwin])
    return ["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_SYSTEM_NAME={system}", f"-DCMAKE_SYSTEM_PROCESSOR={target.cpu}",
            # nghttp2 asks for a C++ compiler and then has nothing for it; the real one would compile libc++
            f"-DCMAKE_C_COMPILER={target.tool('cc')}", f"-DCMAKE_CXX_COMPILER={target.tool('cc')}",
            f"-DCMAKE_AR={target.tool('ar')}", f"-DCMAKE_RANLIB={target.tool('ranlib')}",
            f"-DCMAKE_C_FLAGS={flags}", "-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG",
            # linked as Buckle is, for which the compiler has a C library already
            "-DCMAKE_TRY_COMPILE_CONFIGURATION=Release",
            "-DCMAKE_EXE_LINKER_FLAGS=" + ("-static -pie" if target.system == "linux" else ""),
            "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY", "-DCMAKE_OSX_SYSROOT=", "-DCMAKE_OSX_ARCHITECTURES=",
            "-DCMAKE_OSX_DEPLOYMENT_TARGET=", "-DCMAKE_INSTALL_NAME_TOOL=/bin/true",
            "-DBUILD_SHARED_LIBS=OFF", f"-DCMAKE_INSTALL_PREFIX={target.prefix}",
            "-DCMAKE_INSTALL_LIBDIR=lib", *library.options]


def host(target):
    """The target, as ./configure calls it."""
    return f"{target.cpu}-apple-darwin" if target.system == "darwin" else target.compiler


def by_cmake(target, library, source, build):
    run(configure(target, library, source, build))
    run(["ninja", "-C", build, "install"])


def by_configure(target, library, source, build):
    os.makedirs(build)
    flags = compile_flags(source, build, library.source)
    if target.system == "darwin":
        toolchain.put(os.path.join(build, "lacking", "sys", "ttydev.h"), OLD_SPEEDS, 0o644)
        flags += f" -I{build}/lacking"
    env = dict(os.environ, CC=target.tool("cc"), AR=target.tool("ar"), RANLIB=target.tool("ranlib"), CFLAGS=flags)
    run([os.path.join(source, "configure"), f"--host={host(target)}", "--with-build-cc=cc", f"--prefix={target.prefix}",
         f"--libdir={target.prefix}/lib", *library.configure], cwd=build, env=env)
    for part in ("install.includes", "install.libs"):  # both at once would write the headers twice
        run(["make", "-j", str(os.cpu_count() or 1), part], cwd=build, env=env)


PKG_CONFIG = """prefix=${{pcfiledir}}/../..
Name: {name}
Description: {source}, for {target}
Version: {version}
Cflags: -isystem ${{prefix}}/include {cflags}
Libs: {libs}
"""


def upstream(version):
    return re.sub(r"^\d+:|-[^-]*$", "", version)


def build_library(target, library, got):
    """Builds and installs one library, unless that was done before with the same source."""
    stamp = os.path.join(target.prefix, "built", library.source)
    wanted = json.dumps([got, library.options, library.configure, target.compiler, toolchain.version_wanted(),
                         compile_flags("", "", library.source)]) + "\n"
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as f:
            if f.read() == wanted:
                return
    print(f"{target.name}: {library.source} {got['version']}", flush=True)
    source = unpacked(library, got)
    if library.archive:
        build = os.path.join(target.folder, library.source)
        shutil.rmtree(build, ignore_errors=True)
        (by_configure if library.configure else by_cmake)(target, library, source, build)
    else:
        folder = os.path.dirname(library.headers[0])
        shutil.copytree(os.path.join(source, "include", folder), os.path.join(target.prefix, "include", folder),
                        dirs_exist_ok=True)
    for made in [f"include/{header}" for header in library.headers] + [f"lib/{library.archive or ''}"]:
        if not os.path.exists(os.path.join(target.prefix, made)):
            raise SystemExit(f"{target.name}: building {library.source} made no {made}")
    libs = f"-L${{prefix}}/lib -l{library.archive[3:-2]}" if library.archive else ""
    toolchain.put(os.path.join(target.prefix, "lib", "pkgconfig", library.name + ".pc"), PKG_CONFIG.format(
        name=library.name, source=library.source, target=target.name, version=upstream(got["version"]),
        cflags=library.cflags, libs=libs))
    toolchain.put(stamp, wanted)


def side_by_side(work, items):
    """Calls work(item) for each, as many at once as there are processors; ends with the first failure."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        done = [pool.submit(work, item) for item in items]
        try:
            return [one.result() for one in done]
        except BaseException:
            for one in done:
                one.cancel()
            raise


def build(targets):
    """CMake tries one thing after the other, so several libraries at once."""
    got = {one["source"]: one for one in fetch()}
    side_by_side(lambda one: build_library(*one, got[one[1].source]),
                 [(target, library) for target in targets for library in LIBRARIES if target.system in library.systems])


def main(names):
    targets = chosen(names)
    toolchain.install()
    for target in targets:
        toolchain.write(target)
    build(targets)


if __name__ == "__main__":
    main(sys.argv[1:])
