#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds what a release publishes into dist/; `make dist` runs it.

    tools/dist/dist.py [--programs] [TARGET…]

For each target (tools/cross/targets.py): the libraries, the program, its debug information apart, and
a tarball. Then the source, the packages of PARTS, a bill of materials, a statement of provenance and
SHA256SUMS. With --programs it makes neither source nor packages. Two builds of one commit give the same
bytes: docs/releasing.md says how.

The unpacked tarballs stay in build/dist/RELEASED, such as build/dist/linux-x86_64/bin/buckle.
"""

import glob
import gzip
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import time

import release  # first: it makes the modules of tools/cross known
from bill import write_bill
from helpers import helpers_of, linked_of
from provenance import write_provenance

import libraries
import toolchain
from targets import CROSS, TARGETS, TOP, chosen

# Programs that make further packages from build/dist, side by side. They run in the top folder with
# BUCKLE_DIST (where to put files), BUCKLE_DIST_STAGE (build/dist), VERSION and SOURCE_DATE_EPOCH.
PARTS = ["tools/pack-languages.py", "packaging/packages.py"]

# Everything is compiled for speed with debug information, which is taken out afterwards.
OPTIONS = ["--prefix=/usr/local", "--buildtype=debugoptimized", "-Dwerror=true", "-Db_pie=true", "-Dtests=false"]

MOST_BYTES = 3 << 20  # of a program for Linux


def step(words):
    print(f"{time.strftime('%T')} {words}", flush=True)


def run(argv, **how):
    return libraries.run(argv, **how)


# ---- compiling ----


def build_folder(target):
    return os.path.join(target.folder, "dist")


def build_id(target, name):
    """Names this build of a program: debuggers find its other file by that."""
    text = "\n".join([release.commit(), *release.changed(), target.name, name, toolchain.version_wanted()])
    return hashlib.sha1(text.encode()).hexdigest()


def link_arguments(target):
    if target.system == "darwin":
        return ""
    return "-static -pie -Wl,--gc-sections"


def native():
    """The target whose programs run here: the other builds run them."""
    return TARGETS["x86_64-linux-musl"]


def configure(target, jobs):
    folder = build_folder(target)
    options = [*OPTIONS, f"-Dc_link_args={link_arguments(target)}", "-Dman=enabled"]
    if target is not native():
        options.append(f"-Dnative_build={build_folder(native())}")
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        # the compiler leaves files where it is asked about itself
        run(["meson", "setup", "--cross-file", target.cross_file, *options, folder, TOP], cwd=target.folder)
    else:
        run(["meson", "configure", folder, *options])
    return ["ninja", "-C", folder, *jobs]


def pages():
    found = glob.glob(os.path.join(TOP, "docs", "man", "*.scd"))
    return sorted(os.path.basename(path)[:-len(".scd")] for path in found)


def texts():
    """{what the build makes: where it is installed}, beside the program; the same for all targets."""
    made = {f"docs/man/{page}": f"share/man/man{page[-1]}/{page}" for page in pages() if page != "libbuckle.3"}
    return {**made, "cli/completions/buckle": "share/bash-completion/completions/buckle",
            "cli/completions/_buckle": "share/zsh/site-functions/_buckle",
            "cli/completions/buckle.fish": "share/fish/vendor_completions.d/buckle.fish",
            "settings.schema.json": "share/buckle/settings.schema.json"}


def compile_target(target, jobs):
    step(f"{target.name}: compiling")
    ninja = configure(target, jobs)
    wanted = ["buckle", *(one.built for one in linked_of(target))]
    if target is native():
        wanted += ["src/sbpl/precompile", *texts()]
    run([*ninja, *wanted])


def link_again(target, made):
    """Links a program with copies of the compiler's own libraries that have no debug information.
    Theirs names folders of the machine that compiled them first, and would be in the debug file. The pointers
    in tables take less room, too, in a form that the compiler has no argument for."""
    folder = build_folder(target)
    command = run(["ninja", "-C", folder, "-t", "commands", made]).strip().split("\n")[-1]
    shown = run(["sh", "-c", command.replace(f" -o {made} ", f" -o {made}-first ") + " -v"], cwd=folder)
    words = next(line for line in shown.split("\n") if line.startswith("ld.lld ")).split()[1:]
    cache = os.environ.get("ZIG_GLOBAL_CACHE_DIR") or os.path.join(toolchain.home(), "cache")
    for i, word in enumerate(words):
        if word.startswith(cache) and word.endswith((".o", ".a")):
            words[i] = os.path.join(folder, "without-debug-" + os.path.basename(word))
            run(["llvm-objcopy", "--strip-debug", word, words[i]])
    words[words.index("-o") + 1] = f"{made}-linked"
    run([target.tool("ld.lld"), *words, "--pack-dyn-relocs=relr",
         f"--build-id=0x{build_id(target, os.path.basename(made))}"], cwd=folder)
    return os.path.join(folder, f"{made}-linked")


def glibc_sources(helper):
    return sorted(path for pattern in helper.glibc for path in glob.glob(pattern, root_dir=TOP))


def compile_helper(target, helper, to):
    """Loads the system's libraries, and so needs the system's C library: glibc 2.28 or newer. Elsewhere
    buckle-tls does not start, and Buckle says that TLS cannot be decrypted."""
    os.makedirs(os.path.dirname(to), exist_ok=True)
    cache = os.environ.get("ZIG_GLOBAL_CACHE_DIR") or os.path.join(toolchain.home(), "cache")
    run([toolchain.program(), "cc", "-target", target.compiler.replace("-musl", "-gnu.2.28"), "-O2", "-s", "-fPIE",
         "-pie", "-std=gnu11", *toolchain.compile_arguments(target), "-D_GNU_SOURCE", "-Isrc", "-Iinclude",
         *glibc_sources(helper), "-Wl,--gc-sections", "-ldl", "-o", to],
        cwd=TOP, env=dict(os.environ, ZIG_GLOBAL_CACHE_DIR=cache))


# ---- packing ----


def copy(source, to, mode):
    os.makedirs(os.path.dirname(to), exist_ok=True)
    shutil.copyfile(source, to)
    os.chmod(to, mode)


def strip_elf(built, to, debug):
    """The program without, and a file with its debug information; debuggers find it by build id."""
    run(["llvm-objcopy", "--only-keep-debug", built, debug])
    run(["llvm-objcopy", "--strip-all", "--remove-section=.comment", built, to])


def put_uuid(path, uuid):
    """Puts 16 bytes into the command LC_UUID of a Mach-O file of 64 bits."""
    with open(path, "r+b") as f:
        count, at = struct.unpack("<16xI12x", f.read(32))[0], 32
        for _ in range(count):
            f.seek(at)
            command, size = struct.unpack("<II", f.read(8))
            if command == 0x1B:
                f.write(uuid)
                return
            at += size
    raise SystemExit(f"{path}: has no UUID")


def strip_macho(built, to, debug):
    """The same for macOS. llvm-strip signs the file anew, ad hoc: no Mac starts one whose sums differ. The
    linker makes the UUID, by which debuggers find the other file, from paths of this build too; ours
    depends on the program alone."""
    named = os.path.join(os.path.dirname(built), "named", os.path.basename(built))
    copy(built, named, 0o755)
    put_uuid(named, bytes(16))
    run(["llvm-strip", named, "-o", to])
    with open(to, "rb") as f:
        put_uuid(named, hashlib.sha256(f.read()).digest()[:16])
    run(["dsymutil", named, "-o", debug])
    run(["llvm-strip", named, "-o", to])


def strip_program(target, made, to, debug):
    """From Meson's build to the release."""
    name = os.path.basename(made)
    os.makedirs(os.path.dirname(to), exist_ok=True)
    if target.system == "darwin":
        strip_macho(os.path.join(build_folder(target), made), to, os.path.join(debug, name + ".dSYM"))
    else:
        strip_elf(link_again(target, made), to, os.path.join(debug, name + ".debug"))
    if target.system == "linux" and os.path.getsize(to) > MOST_BYTES:
        raise SystemExit(f"{to}: has {os.path.getsize(to)} bytes, more than {MOST_BYTES}")


def write_page(source, to):
    os.makedirs(os.path.dirname(to), exist_ok=True)
    with open(source, "rb") as f, open(to + ".gz", "wb") as out:
        with gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=0) as packed:
            packed.write(f.read())


def stage(target):
    """build/dist/RELEASED: what the tarball has."""
    folder = os.path.join(release.STAGE, target.released)
    shutil.rmtree(folder, ignore_errors=True)
    for made, to in texts().items():
        source = os.path.join(build_folder(native()), made)
        if to.startswith("share/man"):
            write_page(source, os.path.join(folder, to))
        else:
            copy(source, os.path.join(folder, to), 0o644)
    for path in glob.glob(os.path.join(TOP, "profiles", "*.sb")):
        copy(path, os.path.join(folder, "share/buckle/profiles", os.path.basename(path)), 0o644)
    for name in ("LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"):
        copy(os.path.join(TOP, name), os.path.join(folder, "share/doc/buckle", name), 0o644)
    debug = os.path.join(release.STAGE, "debug", target.released)
    shutil.rmtree(debug, ignore_errors=True)
    os.makedirs(debug)
    strip_program(target, "buckle", os.path.join(folder, "bin/buckle"), debug)
    for helper in helpers_of(target):
        to = os.path.join(folder, helper.path)
        if helper.glibc:
            compile_helper(target, helper, to)
        else:
            strip_program(target, helper.built, to, debug)
    return folder, debug


def pack_target(target):
    folder, debug = stage(target)
    name = f"buckle-{release.version()}-{target.released}"
    release.pack(folder, name, os.path.join(release.DIST, name + ".tar.gz"))
    release.pack(debug, name + "-debug", os.path.join(release.DIST, name + "-debug.tar.xz"))
    paths = ["bin/buckle", *(one.path for one in helpers_of(target))]
    sizes = (f"{os.path.basename(path)} {os.path.getsize(os.path.join(folder, path)):,}" for path in paths)
    step(f"{target.name}: {name}.tar.gz, bytes: {', '.join(sizes)}")


def pack_source():
    """The commit's files, as git has them."""
    name = f"buckle-{release.version()}"
    to = os.path.join(release.DIST, name + "-source.tar.gz")
    if not release.git("rev-parse", "HEAD"):
        step("no repository here: no source tarball")
        return
    packed = subprocess.run(["git", "-c", f"safe.directory={TOP}", "-C", TOP, "archive", "--format=tar",
                             f"--prefix={name}/", "HEAD"], stdout=subprocess.PIPE, check=True).stdout
    with open(to, "wb") as f, gzip.GzipFile(filename="", fileobj=f, mode="wb", mtime=0) as out:
        out.write(packed)


# ---- all of it ----


def write_sums():
    names = sorted(name for name in os.listdir(release.DIST) if name != "SHA256SUMS")
    with open(os.path.join(release.DIST, "SHA256SUMS"), "w", encoding="utf-8") as f:
        f.writelines(f"{release.sha256(os.path.join(release.DIST, name))}  {name}\n" for name in names)


def run_parts():
    env = dict(os.environ, BUCKLE_DIST=release.DIST, BUCKLE_DIST_STAGE=release.STAGE, VERSION=release.version(),
               SOURCE_DATE_EPOCH=str(release.epoch()))

    def run_part(part):
        step(part)
        subprocess.run([os.path.join(TOP, part)], cwd=TOP, env=env, check=True)
        step(f"{part}: done")

    libraries.side_by_side(run_part, PARTS)


def make_target(target):
    compile_target(target, ["-j", str(os.cpu_count() or 1)])
    pack_target(target)


def main(words):
    began = time.monotonic()
    targets = chosen([word for word in words if word != "--programs"])
    if native() not in targets:
        targets = [native(), *targets]
    os.environ["SOURCE_DATE_EPOCH"] = str(release.epoch())
    if release.changed():
        step("this tree has changes that no commit has: not for publishing")
    for folder in (release.DIST, release.STAGE):
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(release.DIST)
    toolchain.install()
    for target in targets:
        toolchain.write(target)
    libraries.build(targets)
    make_target(native())
    libraries.side_by_side(make_target, [target for target in targets if target is not native()])
    if release.git("rev-parse", "HEAD") not in ("", release.commit()):
        raise SystemExit("the tree has another commit now than when this began: start again")
    if "--programs" not in words:
        pack_source()
        run_parts()
    write_bill(targets)
    write_provenance(targets)
    write_sums()
    size = sum(os.path.getsize(os.path.join(release.DIST, name)) for name in os.listdir(release.DIST))
    step(f"dist/: {len(os.listdir(release.DIST))} files, {size / 1e6:.1f} MB, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
