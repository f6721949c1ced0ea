#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the tree: manual pages against the option tables, licence headers, links, the words of names
and the length of sentences, the tests that the threat model names, and the installed files. Prints
TAP.
"""

import ast
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUCKLE = os.environ.get("BUCKLE", "buckle")
ROOT = os.environ.get("STAGE", "") + os.environ.get("PREFIX", "/usr/local")
NO_PAGE = {"help", "completions"}  # described in buckle(1)


def help_of(*command):
    return subprocess.run([BUCKLE, *command, "--help"], stdout=subprocess.PIPE, text=True,
                          timeout=30).stdout


def commands():
    listing = help_of().split("Commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listing.split("\n") if re.match(r"  \S", line)]


def page(name):
    path = os.path.join(TOP, "docs", "man", name + ".scd")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as f:
        return f.read().replace("\\", "")


def page_of(command):
    """The command's own page, or the page that lists it among its names."""
    own = page(f"buckle-{command}.1")
    shared = (page(name[:-len(".scd")]) for name in sorted(os.listdir(os.path.join(TOP, "docs", "man"))))
    return own or next((text for text in shared if re.search(rf"\bbuckle-{command}\b(?!-)",
                                                             text.split("# SYNOPSIS")[0])), "")


def check_pages():
    overview = page("buckle.1")
    for command in commands():
        tap.ok(re.search(rf"\b{command}\b", overview), f"buckle(1) names {command}")
        text = overview if command in NO_PAGE else page_of(command)
        if not tap.ok(text, f"{command} has a manual page"):
            continue
        if "All options of *buckle-run*(1)" in text:
            text += page("buckle-run.1")
        options = help_of(command).split("Options:\n")[1]
        for letter, name in re.findall(r"^ +(?:-(\w), +)?--([a-z-]+)", options, re.MULTILINE):
            if name == "help":
                continue
            both = f"*-{letter}*, *--{name}*" if letter else f"*--{name}*"
            tap.ok(both in text, f"buckle-{command}(1) describes {both}")


def source_files():
    for folder, folders, files in os.walk(TOP):
        folders[:] = [d for d in folders if d not in (".git", "build", "__pycache__", "corpus")]
        for name in files:
            if name.endswith((".c", ".h", ".def", ".py", ".sh")):
                yield os.path.join(folder, name)


def parses(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def check_sources():
    unlicensed, marked, broken = [], [], []
    for path in source_files():
        with open(path, encoding="utf-8") as f:
            text = f.read()
        shown = os.path.relpath(path, TOP)
        if "SPDX-License-Identifier: Apache-2.0" not in text[:300]:
            unlicensed.append(shown)
        if re.search(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", text):
            marked.append(shown)
        if path.endswith(".py") and not parses(text):
            broken.append(shown)
    tap.equal(unlicensed, [], "every source file names its licence")
    tap.equal(marked, [], "no file leaves work for later")
    tap.equal(broken, [], "every Python program can be read, those too that no check runs")


def check_products():
    """A compiler's output beside the sources is committed by accident sooner or later."""
    left = [name for name in os.listdir(TOP) if name.endswith((".o", ".a", ".so")) or name == "a.out"]
    tap.equal(left, [], "no compiler left its output beside the sources")


# Flags of other programs, and the one place that starts `buckle run` itself.
FOREIGN_FLAGS = {
    "src/agent/job.c": None,
    "src/git/keys.def": {"--tags", "--no-tags"},
    "src/git/todo.c": {"--whitespace", "--ignore-whitespace", "--ignore-space-change", "--reject"},
    # the options of other sandboxes
    **dict.fromkeys((f"src/import/{tool}.c" for tool in ("bwrap", "codex", "docker", "landrun", "nono", "systemd"))),
    "src/window/acts.def": None,  # the commands of `buckle` that the page starts
    "src/kernel/plan/plan-caps.c": {"--cap-add"},  # docker
    "src/macos/monitor.c": {"--predicate", "--style"},  # log
    "src/run/on-linux/host-fix.c": {"--security-opt", "--device", "--user", "--scope"},  # docker, systemd-run
}


def flags_named(path):
    """Flags that the strings of a C file name, comments left out."""
    with open(path, encoding="utf-8") as f:
        tokens = re.findall(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', f.read(), re.DOTALL)
    strings = " ".join(one for one in tokens if one.startswith('"'))
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", strings))


def check_flags():
    """The library names no flag: its users have none to give (src/base/remedies.def)."""
    named = []
    for path in source_files():
        shown = os.path.relpath(path, TOP)
        if not shown.startswith("src/") or not shown.endswith((".c", ".h", ".def")):
            continue
        allowed = FOREIGN_FLAGS.get(shown, set())
        if allowed is not None:
            named += [f"{shown}: {flag}" for flag in sorted(flags_named(path) - allowed)]
    tap.equal(named, [], "no string of the library names a flag of the command line")


# docs/architecture.md says why; what else differs between systems is a file that the build chooses.
KNOW_THE_SYSTEM = {"cli/main.c", "cli/version.c", "src/policy/target.c"}


def check_systems():
    found = set()
    for path in source_files():
        shown = os.path.relpath(path, TOP)
        if shown.startswith(("src/", "cli/", "include/")) and shown.endswith((".c", ".h", ".def")):
            with open(path, encoding="utf-8") as f:
                found |= {shown} if re.search(r"\b(__linux__|__APPLE__)\b", f.read()) else set()
    tap.equal(sorted(found), sorted(KNOW_THE_SYSTEM), "no other file asks for which system it is compiled")


# Words that docs/glossary.md has replaced. Names of the kernel and of the C library are not ours.
RETIRED = set("""behind desk door ground guard guards hear heard hearing hears keeper laid lay meanings
    naming netenv netgate person persons post posts renew renewal renewed said say says seal stage
    stages stand stands tell teller tells told worker workers""".split())
# Words of file names that need no entry in the glossary.
COMMON = set("""base64 bind choose clock config debug edit epoll help hex load lock merge meson numbers
    old open parse poll ports signal stat terminals url utf8""".split())


def file_words():
    """Each word of the names of files and folders below src/ and cli/, with one place where it is."""
    words = {}
    for top in ("src", "cli"):
        for folder, folders, files in os.walk(os.path.join(TOP, top)):
            folders[:] = [d for d in folders if d != "__pycache__"]
            for name in folders + [os.path.splitext(f)[0] for f in files]:
                for word in re.split("[-.]", name):
                    words.setdefault(word, os.path.relpath(os.path.join(folder, name), TOP))
    return words


def defined_names(text):
    """Functions that a C file defines or declares, and its structs, enums and unions."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    functions = re.findall(r"^[a-z][\w *]*[ *](\w+)\(", text, re.MULTILINE)
    return functions + re.findall(r"\b(?:struct|enum|union) (\w+) \{", text)


def check_names():
    words = file_words()
    retired = [words[word] for word in sorted(words) if word in RETIRED]
    for path in source_files():
        shown = os.path.relpath(path, TOP)
        if shown.startswith(("src/", "cli/")) and shown.endswith((".c", ".h")):
            with open(path, encoding="utf-8") as f:
                retired += [f"{shown}: {name}" for name in defined_names(f.read())
                            if RETIRED & set(name.lower().split("_"))]
    tap.equal(retired, [], "no file, function or struct has a retired word in its name")


def check_glossary():
    with open(os.path.join(TOP, "docs", "glossary.md"), encoding="utf-8") as f:
        text = f.read()
    words = file_words()
    missing = [f"{word}: {words[word]}" for word in sorted(words)
               if word not in COMMON and not re.search(rf"\b{word.removesuffix('s')}s?\b", text, re.IGNORECASE)]
    tap.equal(missing, [], "the glossary has every word of the names of files")
    gone = [name for name in re.findall(r"`([\w./-]+/[\w.-]+\.(?:c|h|def|sb))`", text)
            if not any(os.path.exists(os.path.join(TOP, below, name)) for below in ("", "src", "src/kernel"))]
    tap.equal(gone, [], "the glossary names no file that is not there")


MOST_WORDS = 40


def sentences(text):
    """The sentences of a page, without code, tables, headings and indented lines."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = "\n".join(line for line in text.split("\n") if not line.startswith(("|", "#", "    ")))
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*] |\d+\. |\*)", text):
        yield from re.split(r"(?<=[.!?:;])\s+(?=[A-Z`*_\[(])", " ".join(paragraph.split()))


def pages():
    for folder, endings in ((TOP, ".md"), (os.path.join(TOP, "docs"), ".md"),
                            (os.path.join(TOP, "docs", "man"), ".scd")):
        yield from (os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(endings))


def check_sentences():
    long = []
    for path in pages():
        with open(path, encoding="utf-8") as f:
            long += [f"{os.path.relpath(path, TOP)}: {one[:60]}…" for one in sentences(f.read())
                     if len(one.split()) > MOST_WORDS]
    tap.equal(long, [], f"no sentence of the pages has more than {MOST_WORDS} words")


def check_links():
    pages = [os.path.join(TOP, name) for name in os.listdir(TOP) if name.endswith(".md")]
    docs = os.path.join(TOP, "docs")
    pages += [os.path.join(docs, name) for name in os.listdir(docs) if name.endswith(".md")]
    broken = []
    for path in pages:
        with open(path, encoding="utf-8") as f:
            links = re.findall(r"\]\((?!https?:)([^)#]+)", f.read())
        broken += [f"{os.path.relpath(path, TOP)}: {link}" for link in links
                   if not os.path.exists(os.path.join(os.path.dirname(path), link))]
    tap.equal(broken, [], "no page links to what is not there")


def is_run(source, function):
    """Whether a test is defined, and called or listed."""
    defined = re.search(rf"\b(def|void|int) {function}\(", source)  # in Python, in C
    return defined and len(re.findall(rf"\b{function}\b", source)) > 1


def broken_pointers(text):
    """Tests that a text names ("tests/FILE: test_this, trap_2; tests/FILE") but that do not exist."""
    broken = []
    for name, functions in re.findall(r"(tests/[\w./-]+\w)((?:: |, |(?:test|trap)_\w+)*)", text):
        path, source = os.path.join(TOP, name), ""
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as f:
                source = f.read()
        broken += [] if source else [name]
        broken += [f"{name}: {one}" for one in re.findall(r"(?:test|trap)_\w+", functions)
                   if not is_run(source, one)]
    return broken


def check_promises():
    """Each promise of the threat model names a test that exists and runs."""
    with open(os.path.join(TOP, "docs", "threat-model.md"), encoding="utf-8") as f:
        text = f.read()
    for sentence in re.split(r"\n- |\n## ", text)[1:]:
        if sentence.startswith(("Promised", "Not promised")):
            continue
        words = " ".join(sentence.split())
        tap.ok("(tests/" in words and not broken_pointers(words), f"has its test: {words[:60]}…",
               *broken_pointers(words))


def installed(pattern):
    expression = re.compile(pattern)
    for folder, _, files in os.walk(ROOT):
        for name in files:
            if expression.fullmatch(os.path.relpath(os.path.join(folder, name), ROOT)):
                return True
    return False


def check_installation():
    for pattern in ["bin/buckle", "include/buckle/buckle\\.h", "lib/.*libbuckle\\.so\\..*",
                    "lib/.*libbuckle\\.a", "lib/.*pkgconfig/libbuckle\\.pc",
                    "share/man/man1/buckle\\.1", "share/man/man1/buckle-eval\\.1",
                    "share/man/man3/libbuckle\\.3", "share/man/man5/sbpl\\.5", "share/bash-completion/completions/buckle",
                    "share/zsh/site-functions/_buckle",
                    "share/fish/vendor_completions\\.d/buckle\\.fish"]:
        tap.ok(installed(pattern), f"installs {pattern}")


def check_helpers():
    """A release compiles buckle-tls from a list of its own, which Meson does not check."""
    sys.path.insert(0, os.path.join(TOP, "tools"))
    from helpers import HELPERS
    for helper in HELPERS:
        if helper.glibc:
            check_links_alone(helper)


def check_links_alone(helper):
    sources = [path for pattern in helper.glibc for path in glob.glob(pattern, root_dir=TOP)]
    done = subprocess.run(["gcc", "-std=gnu11", "-ffunction-sections", "-fdata-sections", "-D_GNU_SOURCE",
                           "-Isrc", "-Iinclude", *sources, "-Wl,--gc-sections", "-ldl", "-o", os.devnull],
                          cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    tap.ok(done.returncode == 0, f"a release's {helper.name} has all its sources", done.stdout[-2000:])


def main():
    check_pages()
    check_sources()
    check_products()
    check_flags()
    check_systems()
    check_names()
    check_glossary()
    check_sentences()
    check_links()
    check_promises()
    check_installation()
    check_helpers()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
