#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Policy stacks: platform profile, process profile and extensions together, as text and JSON; and
compiled profiles wherever a profile is accepted."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import bundles
from drive import buckle, write
from tap import done, equal, ok

PLATFORM = '(version 1)(allow default)(deny file-write* (subpath "/System"))'
SECOND = '(version 1)(allow default)(deny process-fork)'
OWN = """(version 1)
(deny default)
(allow process-fork)
(allow file-read* (subpath "/usr"))
(allow file-write* (require-all (extension "rw") (vnode-type REGULAR-FILE)))
(deny file-write* (extension "locked"))
"""

# extensions, question → verdict, role of the layer that decided
ROWS = [
    ([], ["file-read-data", "/usr/x"], "allow", "profile"),
    ([], ["file-read-data", "/etc/x"], "deny", "profile"),
    ([], ["process-fork"], "deny", "platform"),
    ([], ["file-write-data", "/home/x", "vnode-type=REGULAR-FILE"], "deny", "profile"),
    (["rw:/home"], ["file-write-data", "/home/x", "vnode-type=REGULAR-FILE"], "allow", "profile"),
    (["rw:/home/"], ["file-write-data", "/home/x", "vnode-type=REGULAR-FILE"], "allow", "profile"),
    (["rw:/home"], ["file-write-data", "/home/x", "vnode-type=DIRECTORY"], "deny", "profile"),
    (["rw:/home"], ["file-write-data", "/homer", "vnode-type=REGULAR-FILE"], "deny", "profile"),
    (["rw"], ["file-write-data", "/a", "vnode-type=REGULAR-FILE"], "allow", "profile"),
    (["rw:/"], ["file-write-data", "/System/a", "vnode-type=REGULAR-FILE"], "deny", "platform"),
    (["other:/home"], ["file-write-data", "/home/x", "vnode-type=REGULAR-FILE"], "deny", "profile"),
    (["rw:/home", "locked:/home/x"], ["file-write-data", "/home/x", "vnode-type=REGULAR-FILE"],
     "deny", "profile"),
    (["rw:/home", "locked:/home/x"], ["file-write-data", "/home/y", "vnode-type=REGULAR-FILE"],
     "allow", "profile"),
]


def layers():
    return ["--platform", write("platform.sb", PLATFORM), "--platform", write("second.sb", SECOND),
            "--profile", write("own.sb", OWN)]


def check_rows():
    stack = layers()
    for extensions, question, verdict, role in ROWS:
        given = [w for e in extensions for w in ("--extension", e)]
        name = " ".join([*extensions, *question])
        r = buckle("eval", *stack, *given, *question)
        ok(r.out.startswith(verdict) and f"({role}: " in r.out, f"{name}: {verdict} by {role}", r)
        equal(r.status, 0 if verdict == "allow" else 1, f"{name}: status")
        reported = json.loads(buckle("eval", "--json", *stack, *given, *question).out)
        equal(reported["verdict"], verdict, f"{name}: JSON")
        alone = [layer["verdict"] for layer in reported["layers"]]
        equal(verdict, "deny" if "deny" in alone else "allow", f"{name}: a deny anywhere wins")


def check_explain():
    stack = layers() + ["--extension", "rw:/home", "--extension", "rw:/elsewhere",
                        "--extension", "unused:/home"]
    question = ["file-write-data", "/home/x", "vnode-type=REGULAR-FILE"]
    text = buckle("explain", *stack, *question).out
    ok(text.startswith("allow: every layer allows it\n"), "the whole comes first", text)
    for line in ("extension rw:/home: opens it", "extension rw:/elsewhere: issued for something else",
                 "extension unused:/home: makes no difference", "Layer 1, platform ",
                 "Layer 3, profile "):
        ok(line in text, line, text)
    reported = json.loads(buckle("explain", "--json", *stack, *question).out)
    equal([e["effect"] for e in reported["extensions"]], ["opens", "elsewhere", "none"], "effects")
    equal([x["explanation"]["decision"] for x in reported["layers"]], ["allow"] * 3, "every layer")
    text = buckle("explain", *stack, "process-fork").out
    ok(text.startswith("deny: denied by the platform ") and "second.sb" in text.splitlines()[0],
       "the layer that denies is named", text)


def check_errors():
    stack = layers()
    equal(buckle("eval", *stack, "--extension", ":x", "process-fork").status, 2, "no class")
    equal(buckle("eval", *stack, "--extension", "rw:", "process-fork").status, 2, "no value")
    equal(buckle("eval", "--platform", "missing.sb", "own.sb", "process-fork").status, 2,
          "a platform that is not there")
    equal(buckle("eval", "--profile", "own.sb", "-p", PLATFORM, "process-fork").status, 2,
          "two profiles of its own")


def check_forms():
    """One more layer in any form: text, argument, compiled."""
    platform = write("platform.sb", PLATFORM)
    question = ["file-write-data", "/system/x"]
    fold = ["--fold-case"]
    equal(buckle("compile", platform, "-o", "platform.bin").status, 0, "a platform is compiled")
    for form in (platform, "platform.bin"):
        r = buckle("eval", *fold, "--platform", form, "-p", "(version 1)(allow default)", *question)
        ok(r.status == 1 and "(platform: " in r.out, f"{form} with a text", r)
        r = buckle("eval", *fold, "--platform", form, write("all.sb", "(version 1)(allow default)"),
                   *question)
        ok(r.status == 1 and "(platform: " in r.out, f"{form} with an argument", r)
    for command in (["eval", "platform.bin", *question], ["explain", "platform.bin", *question],
                    ["graph", "platform.bin"], ["check", "platform.bin"], ["disasm", "platform.bin"],
                    ["decompile", "platform.bin"], ["diff", "--fold-case", platform, "platform.bin"],
                    ["run", "--profile", "./platform.bin", "--", "true"]):
        r = buckle(*command)
        ok(r.status == (1 if command[0] == "eval" else 0), f"{command[0]} takes it", r)


def check_eras():
    """Platform profiles compiled by other systems, single and from a bundle."""
    source = write("old.sb", '(version 1)(allow default)(deny file-write-data (literal "/locked"))')
    graph = json.loads(buckle("graph", "--format", "json", source).out)
    forms = {"B.bin:it": bundles.bundle("B", [("other", graph), ("it", graph)]),
             "D.bin:it": bundles.bundle("D", [("it", graph)]), "C.bin": bundles.single("C", graph)}
    for place, data in forms.items():
        write(place.split(":")[0], data)
    equal(buckle("compile", "--era", "A", source, "-o", "A.bin").status, 0, "one for iOS 4")
    for place in [*forms, "A.bin"]:
        for path, verdict in (("/locked", "deny"), ("/open", "allow")):
            r = buckle("eval", "--platform", place, "-p", "(version 1)(allow default)",
                       "file-write-data", path)
            ok(r.out.startswith(verdict) and ("(platform: " in r.out) == (verdict == "deny"),
               f"{place} as a platform: {path}", r)
    r = buckle("explain", "--platform", "B.bin:it", "-p", "(version 1)(allow default)",
               "file-write-data", "/locked")
    ok(r.out.startswith("deny: denied by the platform ") and "B.bin" in r.out, "and explained", r)


def main():
    check_rows()
    check_explain()
    check_errors()
    check_forms()
    check_eras()
    return done()


if __name__ == "__main__":
    sys.exit(main())
