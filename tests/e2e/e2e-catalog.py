#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buckle catalog: a catalog lists exactly what the profile allows. For small profiles the expected text
was worked out by hand. For public profiles and compiled samples ($BUCKLE_SHARED, or ../shared) the
test turns the catalog back into rules, one per clause, and `diff` proves them equivalent; `eval`
checks samples as well."""

import glob
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import corpus
from drive import FOLDER, buckle, write
from tap import done, equal, ok, skip

TOP = os.path.dirname(os.path.dirname(HERE))


def catalog(*argv):
    r = buckle("catalog", "--json", *argv)
    return json.loads(r.out)[0] if r.status == 0 else None


# ---- catalogs as rules ----

def condition(e):
    if "not" in e:
        return f"(require-not {condition(e['not'])})"
    for key in ("all", "any"):
        if key in e:
            return f"(require-{key} {' '.join(map(condition, e[key]))})"
    return e["sbpl"]


def clause_rule(ops, clause):
    parts = [f"(require-any {' '.join(map(condition, clause['any']))})"] if clause["any"] else []
    parts += map(condition, clause["all"])
    parts += [f"(require-not {condition(e)})" for e in clause["except"]]
    return f"(allow {ops} (require-all {' '.join(parts)}))"


def entries(c):
    return [e for f in c["families"] for e in f["entries"]]


def clauses(entry):
    return entry["allowed"] + entry["with_extension"]


def as_rules(c):
    """Denies each operation except its clauses, whatever its parents allow."""
    lines = ["(version 1)", "(disable-rule-checks)", "(define NO_IMPLICIT_RULES #t)"]
    for entry in entries(c):
        ops = " ".join(entry["operations"])
        always = any(not (x["any"] or x["all"] or x["except"]) for x in clauses(entry))
        lines.append(f"({'allow' if always else 'deny'} {ops})")
        lines += [clause_rule(ops, x) for x in clauses(entry) if not always]
    return "\n".join(lines) + "\n"


def proves(name, params, profile):
    """Returns the catalog."""
    c = catalog(*params, profile)
    ok(c is not None, f"{name} has a catalog")
    if c is None:
        return None
    r = buckle("diff", "--verdicts", *params, profile, write("again.sb", as_rules(c)))
    ok(r.status == 0, f"{name}: it says what is allowed, no less and no more", r)
    return c


def one_file(argv):
    """Puts a profile's prelude and text into one file, because `diff` takes no preludes."""
    if "--prelude" not in argv:
        return argv[:-1], argv[-1]
    at = argv.index("--prelude")
    text = ""
    for path in (argv[at + 1], argv[-1]):
        with open(os.path.join(FOLDER, path), encoding="utf-8") as f:
            text += f.read() + "\n"
    return argv[:at], write("whole.sb", text)


def check_corpus():
    if not os.path.isdir(corpus.CORPUS):
        skip("the public profiles are not here (set BUCKLE_SHARED)")
        return
    for name, argv in corpus.profiles():
        params, profile = one_file(argv)
        c = proves(name, params, profile)
        if c:
            asks_eval(name, [*params, profile], c)


def check_samples():
    blobs = sorted(glob.glob(os.path.join(corpus.SHARED, "blobs", "*", "*.bin")))
    if not blobs:
        skip("the compiled samples are not here (set BUCKLE_SHARED)")
    for blob in blobs:
        proves(os.path.basename(blob), [], blob)


def check_proof():
    """The proof detects a missing or an additional clause."""
    text = ('(version 1)(deny default)(allow file-read* (subpath "/a") (extension "x"))'
            '(deny file-read* (literal "/a/b"))')
    profile = write("proof.sb", text)
    for what, change in (
            ("an item", lambda e: e["allowed"][0]["any"].pop()),
            ("an exception", lambda e: e["allowed"][0]["except"].pop()),
            ("a clause", lambda e: e["with_extension"].pop())):
        c = catalog(profile)
        read = [e for e in entries(c) if "file-read-data" in e["operations"]]
        change(read[0])
        r = buckle("diff", "--verdicts", profile, write("again.sb", as_rules(c)))
        equal(r.status, 1, f"without {what} it is not the same")


# ---- checked with eval ----

SUBJECTS = {"file-read-data": "path", "file-write-data": "path", "process-exec*": "path",
            "mach-lookup": "global-name", "sysctl-read": "sysctl-name"}
OUTLANDISH = ["/", "/nowhere/at/all", "nowhere.at.all"]


def test_holds(t, subject, value):
    """None: the question does not contain the filter's fact."""
    if t["filter"] != subject or t["how"] not in ("literal", "prefix", "subpath", "regex"):
        return False
    text = t["value"]
    if t["how"] == "regex":
        return re.search(text, value) is not None
    below = value.startswith(text.rstrip("/") + "/")
    return {"literal": value == text, "prefix": value.startswith(text),
            "subpath": value == text or below}[t["how"]]


def holds(e, *question):
    if "not" in e:
        return not holds(e["not"], *question)
    if "all" in e:
        return all(holds(k, *question) for k in e["all"])
    if "any" in e:
        return any(holds(k, *question) for k in e["any"])
    return test_holds(e, *question)


def gives(entry, *question):
    return any((not c["any"] or holds({"any": c["any"]}, *question)) and
               holds({"all": c["all"]}, *question) and not holds({"any": c["except"]}, *question)
               for c in clauses(entry))


def mentioned(e, subject):
    """Values of the filter that a clause or condition mentions."""
    if "sbpl" in e:
        return [e["value"]] if e["filter"] == subject and "value" in e else []
    kids = e["not"] if "not" in e else [k for key in ("any", "all", "except") for k in e.get(key, [])]
    return [v for k in (kids if isinstance(kids, list) else [kids]) for v in mentioned(k, subject)]


def samples(entry, subject):
    found = set(OUTLANDISH)
    for value in [v for c in clauses(entry) for v in mentioned(c, subject)]:
        found |= {value, value + "/below", value + "x", value.rsplit("/", 1)[0]}
    return sorted(v for v in found if v and not set(v) & set(' "\\#;\n'))


def asks_eval(name, argv, c):
    """eval must decide every sample as the catalog says."""
    rows = []
    for op, subject in SUBJECTS.items():
        entry, = [e for e in entries(c) if op in e["operations"]]
        rows += [(op, v, "allow" if gives(entry, subject, v) else "deny")
                 for v in samples(entry, subject)]
    r = buckle("eval", "--batch", *argv, stdin="".join(f"{op} {v}\n" for op, v, _ in rows))
    verdicts = [line.split()[0] for line in r.out.splitlines()]
    wrong = [f"{op} {v} is {got}" for (op, v, want), got in zip(rows, verdicts) if got != want]
    ok(len(verdicts) == len(rows) and not wrong, f"{name}: eval agrees on {len(rows)} samples",
       "\n".join(wrong[:10]) or r)


# ---- worked out by hand ----

def sbpl(tests):
    return sorted(t["sbpl"] for t in tests)


def entry_for(c, op):
    found = [(f, e) for f in c["families"] for e in f["entries"] if op in e["operations"]]
    equal(len(found), 1, f"{op} stands in one place")
    return found[0]


HAND = """(version 1)
(deny default)
(allow file-read* (subpath "/usr") (subpath "/bin"))
(deny file-read* (subpath "/usr/secret"))
(allow file-read-data (literal "/usr/secret/open"))
(allow file-read* (extension "read"))
(allow file-write* (require-all (subpath "/home") (extension "write") (vnode-type REGULAR-FILE)))
(allow network-outbound (remote tcp "*:443"))
(allow process-exec (with no-sandbox) (literal "/bin/ls"))
(allow mach-lookup)
(deny mach-lookup (require-all (global-name-prefix "com.") (uid 0)))
"""


def check_hand():
    c = catalog(write("hand.sb", HAND))

    family, e = entry_for(c, "file-read-data")
    equal(family["words"], "may read", "reading is reading")
    literal, tree, other = e["allowed"]
    equal(sbpl(literal["any"]), ['(literal "/usr/secret/open")'], "the exception's exception")
    equal(literal["except"] + literal["all"], [], "it holds whatever else")
    equal((sbpl(tree["any"]), sbpl(tree["except"])), (['(subpath "/usr")'], ['(subpath "/usr/secret")']),
          "a folder, but not a part of it")
    equal((sbpl(other["any"]), other["except"]), (['(subpath "/bin")'], []),
          "another, which the exception is not about")
    equal([sbpl(x["any"]) for x in e["with_extension"]], [['(extension "read")']],
          "an extension opens more, and stands apart")

    _, e = entry_for(c, "file-read-metadata")
    equal(len(e["allowed"]), 2, "the last exception is about data only")

    family, e = entry_for(c, "file-write-data")
    equal((family["family"], e["allowed"]), ("write", []), "nothing is written without an extension")
    write_clause, = e["with_extension"]
    equal(sbpl(write_clause["any"]), ['(subpath "/home")'], "where it may be written with one")
    equal(sbpl(write_clause["all"]), ['(extension "write")', '(vnode-type REGULAR-FILE)'],
          "and on what conditions")

    family, e = entry_for(c, "network-outbound")
    equal(family["words"], "may reach", "reaching")
    ok('(remote tcp "*:443")' in sbpl(e["allowed"][0]["any"]), "the port")

    _, e = entry_for(c, "process-exec*")
    equal([(x["terms"], sbpl(x["any"])) for x in e["allowed"]],
          [("outside", ['(literal "/bin/ls")'])], "a program that leaves the sandbox")

    _, e = entry_for(c, "mach-lookup")
    clause, = e["allowed"]
    equal((clause["any"], clause["all"]), ([], []), "all services")
    equal([sbpl(x["all"]) for x in clause["except"]],
          [['(global-name-prefix "com.")', "(uid 0)"]], "except those, for that user")

    _, e = entry_for(c, "process-fork")
    equal(clauses(e), [], "nothing was said of it: it is denied")


def check_text():
    out = buckle("catalog", "hand.sb").out
    for lines in ("""may read
  file-read-metadata, file-read-xattr
    /usr and below
      except /usr/secret and below
    /bin and below
    with an extension
      extension read
""", """  file-write*
    with an extension
      /home and below
        when the extension is write
        when the kind of file is REGULAR-FILE
""", """  process-exec*
    /bin/ls
      outside this sandbox
""", """  mach-lookup
    anything
      except when the service name starts with com. and the user id is 0
"""):
        ok(lines in out, "in words: " + lines.split("\n")[0].strip(), out)
    ok("\nmay not\n" in out and "\n  be reached at\n" in out, "what it may not, at the end", out)


def check_platform():
    write("platform.sb", '(version 1)(allow default)(deny file-read* (subpath "/usr/lib"))'
                         '(deny process-exec*)')
    c = catalog("--platform", "platform.sb", "hand.sb")
    _, e = entry_for(c, "file-read-metadata")
    equal(sorted(sbpl(e["allowed"][0]["except"])),
          ['(subpath "/usr/lib")', '(subpath "/usr/secret")'], "both layers' exceptions")
    equal(sbpl(e["with_extension"][0]["except"]), ['(subpath "/usr/lib")'],
          "an extension opens nothing that the platform denies")
    equal(clauses(entry_for(c, "process-exec*")[1]), [], "what the platform denies is denied")
    both = write("both.sb", as_rules(c))
    for op, path in (("file-read-data", "/usr/lib/x"), ("file-read-data", "/usr/bin/x"),
                     ("file-read-data", "/usr/secret/open"), ("process-exec*", "/bin/ls")):
        stack = buckle("eval", "--platform", "platform.sb", "--profile", "hand.sb", op, path)
        equal(buckle("eval", both, op, path).status, stack.status, f"{op} {path} as the stack has it")


def check_diff():
    write("later.sb", HAND.replace("/bin", "/opt").replace("(with no-sandbox)", ""))
    r = buckle("catalog", "--diff", "--json", "hand.sb", "later.sb")
    equal(r.status, 1, "there is a difference")
    changes = {op: e for f in json.loads(r.out)["families"] for e in f["entries"]
               for op in e["operations"]}
    equal(sorted(changes), ["file-read*", "file-read-data", "file-read-metadata", "file-read-xattr",
                            "process-exec*", "process-exec-interpreter"], "in these operations only")
    e = changes["file-read-metadata"]
    equal([sbpl(x["any"]) for x in clauses(e["gone"])], [['(subpath "/bin")']], "what is gone")
    equal([sbpl(x["any"]) for x in clauses(e["new"])], [['(subpath "/opt")']], "what is new")
    e = changes["process-exec*"]
    equal((clauses(e["gone"])[0]["terms"], clauses(e["new"])[0]["terms"]), ("outside", "freely"),
          "programs stay inside now")
    for op, change in changes.items():
        path = re.fullmatch('path="(.*)"', change["witness"]["facts"]).group(1)
        asked = [buckle("eval", name, change["witness"]["operation"], path).out.split()[0]
                 for name in ("hand.sb", "later.sb")]
        ok(len(set(asked)) == 2 and asked == change["witness"]["verdicts"],
           f"eval bears witness for {op}", f"{path} {asked}")

    text = buckle("catalog", "--diff", "hand.sb", "later.sb").out
    ok("    no longer\n      /bin and below\n" in text and "    now\n      /opt and below\n" in text,
       "in words", text)

    write("inside.sb", HAND.replace("(with no-sandbox)", ""))
    r = buckle("catalog", "--diff", "hand.sb", "inside.sb")
    ok(r.status == 1 and "outside this sandbox" in r.out and "for instance" not in r.out,
       "the same program, on other terms", r)

    write("words.sb", HAND.replace('(subpath "/bin")', '(literal "/bin") (prefix "/bin/")'))
    r = buckle("catalog", "--diff", "hand.sb", "words.sb")
    equal((r.status, r.out), (0, ""), "the same in other words is no difference")
    equal(buckle("catalog", "--diff", "hand.sb").status, 2, "one profile is not two")


def check_versions():
    r = buckle("catalog", "--changes", "13.0..14.4.1", "--json")
    changes = {e["operation"]: (f["family"], e["change"]) for f in json.loads(r.out)["families"]
               for e in f["entries"]}
    # from the two columns of ../shared/vocab: 13.0 has no file-lock, 14.4.1 no process-codesigning*
    equal(changes.get("file-lock"), ("files", "new"), "an operation that came")
    equal(changes.get("process-codesigning*"), ("processes", "gone"), "one that went")
    ok("file-read-data" not in changes, "one that stayed")
    back = json.loads(buckle("catalog", "--changes", "14.4.1..13.0", "--json").out)
    equal({e["operation"] for f in back["families"] for e in f["entries"]}, set(changes),
          "backwards the same operations change")
    c = catalog("--changes", "13.0..14.4.1", write("open.sb", "(version 1)(allow default)"))
    reported = {op for e in entries(c) for op in e["operations"]}
    equal(reported, {op for op, (_, change) in changes.items() if change == "new"},
          "with a profile: what it says of the new ones")
    equal(buckle("catalog", "--changes", "13..99").status, 2, "a version that nobody knows")
    c = catalog("--os", "ios4", "-p", "(version 1)(allow default)")
    ok("mach-lookup" in [op for e in entries(c) for op in e["operations"]] and
       "syscall-unix" not in [op for e in entries(c) for op in e["operations"]],
       "of one version: its operations only")


def check_usage():
    equal(buckle("catalog").status, 2, "no profile")
    equal(buckle("catalog", "missing.sb").status, 2, "one that is not there")
    r = buckle("catalog", "hand.sb", "later.sb")
    ok(r.status == 0 and r.out.startswith("hand.sb\n") and "\nlater.sb\n" in r.out, "two in a row", r)
    equal(len(json.loads(buckle("catalog", "-j", "hand.sb", "later.sb").out)), 2, "as JSON as well")


def check_depth():
    """Nested exceptions: the last rule wins, so each is an exception to those before it."""
    rules = [f'({"deny" if i % 2 else "allow"} file-read* (prefix "/{i}"))\n'
             for i in range(1000)]
    head = "(version 1)(deny default)\n"
    deep = write("deep.sb", head + "".join(rules[:150]))
    proves("150 exceptions", [], deep)
    r = buckle("catalog", deep)
    ok(r.status == 0 and len(r.out) < 1 << 20, "150 exceptions do not multiply", r.status)
    r = buckle("catalog", write("deeper.sb", head + "".join(rules)))
    ok(r.status == 2 and "levels" in r.err, "1,000 are refused, not cut off", r)


def main():
    check_hand()
    check_text()
    check_platform()
    check_diff()
    check_versions()
    check_usage()
    check_depth()
    check_proof()
    check_samples()
    check_corpus()
    return done()


if __name__ == "__main__":
    sys.exit(main())
