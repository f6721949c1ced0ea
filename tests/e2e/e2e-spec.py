#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every SBPL example in the specification loads.

The test reads the documents in $BUCKLE_SHARED/spec, or ../shared/spec next to the checkout. Examples
are fenced scheme blocks, code spans, profiles inside shell commands and drawings, and string arrays
of programs that write profiles. Most are fragments: the test prints what each needed to become a
profile.
"""

import glob
import json
import os
import re
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TESTS, "lib"))
from drive import buckle, write
from tap import done, ok, skip

SHARED = os.environ.get("BUCKLE_SHARED") or os.path.join(TESTS, "..", "..", "shared")

RULES = ("allow", "deny")
FORMS = RULES + ("version", "import")

# An operation that takes the filter, for filters without a rule.
FITTING = [
    ("signal", ("target",)),
    ("network*", ("remote", "local", "protocol")),
    ("mach-lookup", ("global-name", "local-name", "service-name")),
    ("sysctl-read", ("sysctl-name",)),
    ("file-read*", ("path", "literal", "subpath", "regex", "vnode-type", "uid", "gid", "extension")),
]

# Placeholders in templates, and values that only examples contain.
TEMPLATE = {"OPERATION": "file-read*", "FILTER-KEY": "subpath", "FILTER-KEY2": "literal",
            "FILTER-VALUE": '"/value"', "FILTER-VALUE2": '"/value"'}
REPLACEMENTS = {'"proxy:port"': '"localhost:3128"'}

# ${…} of programs that write profiles, by words in the expression.
SUBSTITUTES = [
    (re.compile(r"^(logTag|W|Q)$"), "CMD64_bHM=_END_tag"),
    (re.compile(r"ProxyPort$"), "3128"),
    (re.compile(r"regexPattern|^kL\((Y|I)\)$"), '"^/home/me/[^/]*\\\\.env$"'),
    (re.compile(r"normalizedPath|^kL\((Z|X)\)$"), '"/home/me/project"'),
]

OPERATION_SPAN = re.compile(
    r"^(file|network|mach|ipc|process|sysctl|system|iokit)-[a-z-]+\*?$|^signal$")


# ---- reading text ----

def forms_of(text):
    """Top-level (…) forms of SBPL text, with regard to comments and strings. Returns (forms, whether
    the text ended inside one)."""
    forms, depth, start, i = [], 0, 0, 0
    while i < len(text):
        c = text[i]
        if c == ";":
            while i < len(text) and text[i] != "\n":
                i += 1
        elif c == '"':
            i += 1
            while i < len(text) and text[i] != '"':
                i += 2 if text[i] == "\\" else 1
        elif c == "(":
            if depth == 0:
                start = i
            depth += 1
        elif c == ")" and depth:
            depth -= 1
            if depth == 0:
                forms.append(text[start:i + 1])
        i += 1
    return forms, depth > 0


def head(form):
    return re.match(r"\(\s*([^\s()\"]*)", form)[1]


def fenced(text):
    """(line number, language, text) of each fenced block, and the text with these blanked out."""
    blocks, rest, block = [], [], None
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip().startswith("```"):
            if block is None:
                block = (number, line.strip().strip("`"), [])
            else:
                blocks.append((block[0], block[1], "\n".join(block[2])))
                block = None
            rest.append("")
        elif block is not None:
            block[2].append(line)
            rest.append("")
        else:
            rest.append(line)
    return blocks, "\n".join(rest)


# ---- finding examples ----

def from_programs(code):
    """Profiles as lists of string literals: from the start of a form to its end."""
    literal = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'|`((?:[^`\\]|\\.)*)`')
    code = "\n".join(re.sub(r"(^|\s)//.*", "", line) for line in code.split("\n"))
    found, pending = [], ""
    for match in literal.finditer(code):
        piece = next(g for g in match.groups() if g is not None)
        opens = piece.lstrip().startswith(tuple("(" + f for f in FORMS))
        if not pending and not opens:
            continue
        pending += piece + "\n"
        forms, unfinished = forms_of(pending)
        if not unfinished:
            found += forms
            pending = ""
    return found


def from_commands(script):
    """Profiles in here-documents and in the quoted argument of sandbox-exec -p."""
    found = [body for _, body in re.findall(r"<<\s*'?(\w+)'?[^\n]*\n(.*?)\n\1\b", script, re.S)]
    return found + re.findall(r"sandbox-exec -p '([^']*)'", script)


def from_drawing(text):
    """A profile inside a box of characters."""
    inner = [re.sub(r"^\s*[|│]|[|│]\s*$", "", line).strip() for line in text.split("\n")]
    return [f for f in forms_of("\n".join(inner))[0] if head(f) in FORMS]


def examples(text):
    """(line number, what it is, SBPL) of each example in a document."""
    blocks, prose = fenced(text)
    for number, language, body in blocks:
        if language == "scheme":
            yield number, "block", body
        elif language == "bash":
            for profile in from_commands(body):
                yield number, "shell command", profile
        elif language == "javascript":
            forms = from_programs(body)
            for form in forms:
                yield number, "program", form
            if len(forms) > 1:
                yield number, "program, all of it", "\n".join(forms)
        elif language == "":
            drawn = from_drawing(body)
            if drawn:
                yield number, "drawing", "\n".join(drawn)
    for number, line in enumerate(prose.split("\n"), 1):
        for span in re.findall(r"`([^`]+)`", line):
            if span.startswith("("):
                yield number, "span", span
            elif OPERATION_SPAN.match(span):
                yield number, "operation", span


# ---- completing profiles ----

def fill_in(text, needed):
    """Replaces placeholders by values, and removes ellipses."""
    def substitute(match):
        for pattern, value in SUBSTITUTES:
            if pattern.search(match[1]):
                needed.append("${%s}" % match[1])
                return value
        return match[0]
    text = re.sub(r"\$\{([^}]*)\}", substitute, text)
    for word, value in REPLACEMENTS.items():
        if word in text:
            needed.append(f"{word} replaced")
            text = text.replace(word, value)
    filled = re.sub(r"(?<=[\s(])(?:%s)(?=[\s)])" % "|".join(TEMPLATE),
                    lambda m: TEMPLATE[m[0]], text)
    if filled != text:
        needed.append("template words replaced")
    dropped = re.sub(r"(?<=[\s(])(?:\.\.\.|…)(?=[\s)]|$)", "", filled)
    if dropped != filled:
        needed.append("… dropped")
    return dropped


def wrap(form, needed):
    """Wraps fragments in a rule."""
    name = head(form)
    if name in FORMS:
        return form
    if name == "with":
        needed.append("wrapped in an allow rule")
        return f"(allow file-read* {form})"
    if name == "param":
        needed.append("wrapped in (subpath (string-append …))")
        return f'(allow file-read* (subpath (string-append "/" {form})))'
    for operation, filters in FITTING:
        if name in filters:
            needed.append(f"wrapped in a rule for {operation}")
            return f"(allow {operation} {form})"
    return form


def complete(kind, text):
    """The profile, and what was needed to complete it."""
    needed = []
    if kind == "operation":
        needed.append("wrapped in a rule")
        return f"(version 1)\n(deny default)\n(allow {text})\n", needed
    filled = fill_in(text, needed)
    forms, unfinished = forms_of(filled)
    if unfinished:
        needed.append("NOT CLOSED")
    lines = [wrap(form, needed) for form in forms]
    if not any(head(form) == "version" for form in lines):
        needed.append("(version 1) added")
        lines.insert(0, "(version 1)")
    return "\n".join(lines) + "\n", list(dict.fromkeys(needed))


def parameters(text):
    return [f"{key}=value" for key in set(re.findall(r'\(param "([^"]+)"\)', text))]


def check(name, number, kind, text):
    profile, needed = complete(kind, text)
    path = write("example.sb", profile)
    options = [word for p in parameters(profile) for word in ("-D", p)]
    needed += ["-D " + p for p in parameters(profile)]
    r = buckle("check", "--no-lint", "--json", *options, path)
    try:
        findings = json.loads(r.out)["files"][0]["findings"]
    except (ValueError, LookupError):
        findings = [{"level": "error", "code": "?", "line": 0, "message": r.out + r.err}]
    needed += [f"{f['level']}: {f['code']}" for f in findings if f["level"] != "error"]
    shown = " ".join(text.split())
    shown = shown if len(shown) < 70 else shown[:69] + "…"
    note = "; ".join(needed) or "nothing"
    good = r.status == 0 and all(f["level"] != "error" for f in findings)
    ok(good and not any("NOT" in n for n in needed),
       f"{name}:{number}: {kind}: {shown} [needed: {note}]", profile,
       *(f"line {f['line']}: {f['message']}" for f in findings if f["level"] == "error"))


# Minimum numbers of examples, so that a broken extraction is noticed.
AT_LEAST = {"block": 25, "span": 40, "operation": 25, "program": 50, "program, all of it": 3,
            "shell command": 2, "drawing": 1}


def main():
    documents = sorted(glob.glob(os.path.join(SHARED, "spec", "*.txt")))
    if not documents:
        skip("the specification is not beside the checkout (set BUCKLE_SHARED)")
        return done()
    counts = {}
    for path in documents:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for number, kind, example in examples(text):
            counts[kind] = counts.get(kind, 0) + 1
            check(os.path.basename(path).split("_")[0], number, kind, example)
    for kind, least in AT_LEAST.items():
        ok(counts.get(kind, 0) >= least, f"at least {least} of kind “{kind}” were found",
           f"only {counts.get(kind, 0)}")
    return done()


if __name__ == "__main__":
    sys.exit(main())
