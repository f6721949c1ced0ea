#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The names of other programs that Buckle answers to, driven as scripts written for them do."""

import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import drive
import names
import tap
from running import PEOPLE, for_everybody

OPEN = "(version 1)(allow default)"


def test_links():
    """What is installed."""
    stage = os.environ.get("STAGE")
    if not stage:
        return
    for name in names.NAMES:
        link = stage + os.environ["PREFIX"] + "/bin/" + name
        tap.ok(os.path.islink(link) and os.readlink(link) == "buckle", f"{name} is a link to buckle")


# ---- sandbox-exec ----


def test_spec_commands(person, t):
    """Reading a file's status, its contents, a listing, and what is allowed inside."""
    home = person.folder("yourname")
    person.write(home + "/.bashrc", "secret\n")
    person.write(home + "/project/README.md", "readable\n")
    profile = person.write(person.folder("p") + "/test.sb", f"""\
(version 1)
(import "system.sb")
(allow default)
(deny file-read-data (subpath "{home}"))
(allow file-read-data (subpath "{home}/project"))
""")
    r = names.script(person, f"sandbox-exec -f {profile} stat {home}/.bashrc")
    t.ok(r.status == 0 and "Size: 7" in r.out, "stat of a file whose contents are denied", r)
    r = names.script(person, f"sandbox-exec -f {profile} cat {home}/.bashrc")
    t.ok(r.status == 1 and r.out == "" and "Operation not permitted" in r.err, "cat of it", r)
    r = names.script(person, f"sandbox-exec -f {profile} ls {home}")
    t.ok(r.status == 2 and r.out == "" and "Operation not permitted" in r.err, "ls of its folder", r)
    r = names.script(person, f"sandbox-exec -f {profile} cat {home}/project/README.md")
    t.ok(r.status == 0 and r.out == "readable\n" and r.err == "", "cat of what is allowed inside", r)


def test_sandbox_exec_options(person, t):
    def run(*words, **how):
        return names.call(person, "sandbox-exec", *words, **how)

    r = run("-p", OPEN, "sh", "-c", "exit 7")
    t.ok(r.status == 7 and r.err == "", "the command's status", r)
    r = run("-p", OPEN, "sh", "-c", "kill -TERM $$")
    t.equal(r.status, -15, "the command's signal")
    deny = '(version 1)(allow default)(deny file-read-data (literal (param "FILE")))'
    file = person.write(person.folder() + "/a=b", "x")
    for words in (["-D", "FILE=" + file], ["-DFILE=" + file]):
        r = run("-p", deny, *words, "cat", file)
        t.ok(r.status == 1 and "not permitted" in r.err, f"a parameter given as {words[0][:2]}", r)
    r = run("-p", deny, "-DFILE=/other", "--", "cat", file)
    t.ok(r.status == 0 and r.out == "x", "another value; -- before the command", r)
    r = run("-p", OPEN, "echo", "-p", "-n", "x")
    t.ok(r.out == "-p -n x\n", "the command's own options are left to it", r)
    own = person.write(person.folder() + "/own.sb", '(version 1)(allow default)(deny file-write*)')
    text = f'(version 1)(import "{own}")'
    r = run("-p", text, "sh", "-c", "echo x >new", cwd=person.folder())
    t.ok(r.status == 2 and "not permitted" in r.err, "a profile in words imports a file", r)
    r = run("-p", OPEN, "env", env={"MY_API_KEY": "k", "TMPDIR": "/somewhere"})
    t.ok("MY_API_KEY=k\n" in r.out and "TMPDIR=/somewhere\n" in r.out and
         "SANDBOX_RUNTIME" not in r.out, "the environment is passed on as it is", r)


def test_sandbox_exec_mistakes(person, t):
    def run(*words):
        return names.call(person, "sandbox-exec", *words)

    for words, what in (([], "nothing"), (["-p", OPEN], "no command"), (["ls"], "no profile"),
                        (["-z", "ls"], "an unknown option"), (["-p"], "a missing value"),
                        (["-p", OPEN, "-n", "no-write", "ls"], "two profiles"),
                        (["-p", OPEN, "-D", "x", "ls"], "a parameter without a value")):
        r = run(*words)
        t.ok(r.status == 64 and "Usage: sandbox-exec [options] command [args]" in r.err,
             f"{what}: usage, 64", r)
    t.ok("sandbox-exec: illegal option -- z\n" in run("-z", "ls").err, "the option is named")
    for words, what in ((["-p", "(version 1"], "a list that is not closed"),
                        (["-p", "(version 1)(allow no-such-operation)"], "an unknown operation"),
                        (["-f", "/no/such/file"], "a missing file"),
                        (["-f", "/"], "a folder"),
                        (["-n", "no-such-name"], "an unknown name")):
        r = run(*words, "echo", "ran")
        t.ok(r.status == 65 and r.err.startswith("sandbox-exec: ") and r.out == "", f"{what}: 65", r)
    r = run("-p", OPEN, "no-such-command")
    t.equal((r.status, r.err),
            (71, "sandbox-exec: execvp() of 'no-such-command' failed: No such file or directory\n"),
            "a command that is not there")
    r = run("-p", "(version 1)(deny default)", "/bin/echo")
    t.equal((r.status, r.err),
            (71, "sandbox-exec: execvp() of '/bin/echo' failed: Operation not permitted\n"),
            "a command that may not be run")
    script = person.write(person.folder() + "/plain", "text")
    r = run("-p", OPEN, script)
    t.equal((r.status, r.err),
            (71, f"sandbox-exec: execvp() of '{script}' failed: Permission denied\n"),
            "a file that is no program")


def test_nested(person, t):
    inner = os.path.join(names.FOLDER, "sandbox-exec")
    for words in (["-p", "(version 1)(allow default)(deny file-write*)"], ["-n", "no-write"]):
        r = names.call(person, "sandbox-exec", "-p", OPEN + "(deny file-write* (literal \"/x\"))", inner,
                       *words, "echo", "ran")
        t.ok(r.status == 71 and r.out == "" and
             r.err.startswith("sandbox-exec: sandbox_apply: Operation not permitted"),
             f"a sandbox in a sandbox, as on macOS: {words[0]}", r)


def test_named_profiles(person, t):
    def run(name, *words, **how):
        return names.call(person, "sandbox-exec", "-n", name, *words, **how)

    r = names.call(person, "sandbox-exec", "-n")
    listed = [line.strip() for line in r.err.split("\n") if line.startswith("  ")]
    for name in ("no-network", "no-internet", "no-write", "no-write-except-temporary",
                 "pure-computation", "default", "strict", "readonly", "open"):
        t.ok(name in listed, f"-n lists {name}")
    t.ok("common" not in listed and "protected" not in listed, "parts of profiles are not listed")

    folder = person.folder()
    r = run("no-write", "sh", "-c", "echo x >f", cwd=folder)
    t.ok(r.status == 2 and not os.listdir(folder), "no-write: a file", r)
    t.ok(run("no-write", "sh", "-c", "echo x >/dev/null").status == 0, "no-write: /dev/null")
    # the tests' own folders lie in /tmp
    r = run("no-write-except-temporary", "sh", "-c", "echo x >f && rm f", cwd=folder)
    t.ok(r.status == 0, "no-write-except-temporary: in /tmp", r)
    r = run("no-write-except-temporary", "sh", "-c", "echo x >/usr/local/buckle-test-f")
    t.ok(r.status == 2 and not os.path.exists("/usr/local/buckle-test-f"),
         "no-write-except-temporary: elsewhere", r)

    connect = ("import socket, sys\n"
               "s = socket.socket(int(sys.argv[1]))\n"
               "s.connect((\"127.0.0.1\", int(sys.argv[3])) if sys.argv[2] == '-' else sys.argv[2])\n"
               "print('connected')")
    with socket.socket(socket.AF_INET) as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(8)
        path = folder + "/socket"
        unix.bind(path)
        os.chmod(path, 0o777)
        unix.listen(8)
        port = str(tcp.getsockname()[1])
        for name, by_tcp, by_unix in (("no-network", False, False), ("no-internet", False, True),
                                      ("no-write", True, None)):
            r = run(name, "python3", "-c", connect, str(int(socket.AF_INET)), "-", port)
            t.equal(r.out == "connected\n", by_tcp, f"{name}: TCP", r)
            if by_unix is not None:
                r = run(name, "python3", "-c", connect, str(int(socket.AF_UNIX)), path)
                t.equal(r.out == "connected\n", by_unix, f"{name}: a socket file", r)

    r = run("pure-computation", "awk", "BEGIN { print 6 * 7 }")
    t.ok(r.status == 0 and r.out == "42\n", "pure-computation computes", r)
    r = run("pure-computation", "cat", person.write(folder + "/mine", "x"))
    t.ok(r.status == 1 and r.out == "", "pure-computation reads no file of mine", r)
    r = run("pure-computation", "sh", "-c", "true & wait")
    t.ok(r.status != 0, "pure-computation starts nothing else", r)
    r = run("default", "sh", "-c", "echo x >f && rm f && test -n \"$TMPDIR\" && echo y >$TMPDIR/f",
            cwd=folder)
    t.ok(r.status == 0, "default knows where it is", r)


def test_verbose(person, t):
    text = ('(version 1)(deny default)(import "bsd.sb")(allow mach-lookup (global-name "a"))'
            '(allow mach-lookup (global-name "b"))(allow process-fork)')
    folder = person.folder()
    r = names.call(person, "sandbox-exec", "-v", "-p", text, "sh", "-c", "echo x >f; true",
                   cwd=folder)
    absent = [line for line in r.err.split("\n") if "without a meaning on Linux" in line]
    t.ok(len(absent) == 1 and absent[0].count("mach-lookup") == 1, "what only macOS has, once", r)
    t.ok("sandbox-exec: " in r.err and folder + "/f" in r.err, "what was denied", r)
    r = names.call(person, "sandbox-exec", "-p", text, "sh", "-c", "true")
    t.equal((r.status, r.err), (0, ""), "nothing of it unless asked")


def main():
    test_links()
    for_everybody([test_spec_commands, test_sandbox_exec_options, test_sandbox_exec_mistakes, test_nested,
                   test_named_profiles, test_verbose])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
