#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules for commands: the setting `commands` denies, asks and narrows by program and arguments, when
a program starts. Ways to start one so that a rule does not see it; what cannot be seen is denied more,
never less.
"""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import for_everybody

DENIED = "Operation not permitted"
# The program that rules are about: it prints its arguments.
SCRIPT = "#!/bin/sh\necho ran: \"$@\"\n"

EXEC = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def vector(words):
    return (ctypes.c_char_p * (len(words) + 1))(*words, None)
def failed():
    print(os.strerror(ctypes.get_errno()))
    sys.exit(1)
"""


def rules(person, folder, *commands, **more):
    """Settings with these rules; returns the flags that use them."""
    path = person.write(os.path.join(folder, "rules.json"), json.dumps({"commands": list(commands), **more}))
    return ["--settings", path]


def place(person, folder):
    """A program `tool` in bin, which is first in PATH."""
    shutil.copy("/bin/echo", person.write(f"{folder}/bin/tool", ""))
    os.chmod(f"{folder}/bin/tool", 0o755)
    person.write(f"{folder}/bin/scrap", SCRIPT, 0o755)
    return {"PATH": f"{folder}/bin:{person.env['PATH']}"}


def test_patterns(person, t):
    folder = person.folder()
    env = place(person, folder)
    flags = rules(person, folder, {"match": ["tool push *", "* --force", f"{folder}/bin/scrap a"], "deny": True,
                                   "reason": "not here"})
    for words, denied in [("tool push", True), ("tool push x", True), ("tool pushx", False), ("tool", False),
                          ("tool x --force", True), ("echo x --force", False), ("/bin/echo x --force", True),
                          ("scrap a", True), ("scrap b", False), ("scrap a b", False)]:
        r = person.run(*flags, "sh", "-c", f"{words}; true", cwd=folder, env=env)
        t.equal(DENIED in r.err, denied, words)
        if denied and "scrap" not in words:
            t.ok("not here" in r.err and "rules.json, line 1" in r.err, f"{words}: the summary names the rule", r)
    r = person.run(*flags, "tool", "push", cwd=folder, env=env)
    t.ok(r.status == 126 and DENIED in r.err and "not here" in r.err and "rules.json, line 1" in r.err
         and "buckle settings" in r.err, "the command itself: which rule, and what to do", r)
    r = person.run(*flags, "--report", "json", "tool", "push", cwd=folder, env=env)
    t.ok(r.status == 126 and '"process-exec' in r.err, "as an event", r)
    r = person.run(*flags, "--annotate", "tool", "push", cwd=folder, env=env)
    t.ok("<sandbox_violations>" in r.err and "process-exec" in r.err, "for an agent", r)
    r = person.run("--profile", person.profile("x.sb", "(version 1)(allow default)(deny process-exec*\n"
                   '(literal "/usr/bin/id"))'), "/usr/bin/id", cwd=folder)
    t.ok(r.status == 126 and "x.sb:1" in r.err, "a profile's rule", r)


def test_disguises(person, t):
    """Each starts `tool push` in another way."""
    folder = person.folder()
    env = place(person, folder)
    flags = rules(person, folder, {"match": ["tool push *", "rm *"], "deny": True})
    loader = "/lib64/ld-linux-x86-64.so.2"
    ways = {
        "a wrapper": "env -i $PWD/bin/tool push",
        "a shell": "sh -c 'tool push'",
        "two shells": "sh -c \"sh -c 'exec tool push'\"",
        "xargs": "echo push | xargs tool",
        "find": "find bin/tool -exec {} push ';'",
        "timeout": "timeout 5 tool push",
        "a symlink": "ln -sf bin/tool other; ./other push",
        "a symlink's name": "ln -sf /bin/echo tool; ./tool push",
        "a folder's symlink": "ln -sfn bin dir; dir/tool push",
        "dots": "./bin/../bin//tool push",
        "another argument 0": "exec -a harmless tool push",
        "that name as argument 0": "exec -a tool /bin/echo push",
        "quotes": "t'o'ol \"pu\"sh",
        "variables": "x=tool; y=push; $x $y",
        "an expansion": "$(printf tool) $(printf push)",
        "a background": "tool push & wait",
        "a pipe": "true | tool push | cat",
        "a subshell": "(tool push)",
    }
    if os.path.exists(loader):
        ways["the loader"] = f"{loader} $PWD/bin/tool push"
    for name, line in ways.items():
        r = person.run(*flags, "bash", "-c", f"{line}; true", cwd=folder, env=env)
        t.ok("push" not in r.out and "was denied" in r.err or "were denied" in r.err, name, r)
    if shutil.which("busybox"):
        person.write(f"{folder}/victim", "x")
        person.run(*flags, "sh", "-c", "busybox rm victim; ln -s $(which busybox) rm; ./rm victim", cwd=folder, env=env)
        t.ok(os.path.exists(f"{folder}/victim"), "a program of busybox")


def test_descriptors(person, t):
    """fexecve(), execveat() and files in memory."""
    folder = person.folder()
    env = place(person, folder)
    flags = rules(person, folder, {"match": "tool push *", "deny": True})
    by_fd = EXEC + """
fd = os.open(sys.argv[1], os.O_RDONLY)
libc.syscall(322, fd, b"", vector([b"x", b"push"]), vector([]), 0x1000)
failed()
"""
    in_memory = EXEC + """
fd = os.memfd_create("x")
os.write(fd, open("/bin/echo", "rb").read())
libc.syscall(322, fd, b"", vector([b"tool", b"push"]), vector([]), 0x1000)
failed()
"""
    nothing = EXEC + """
libc.execve(sys.argv[1].encode(), None, None)
failed()
"""
    if os.uname().machine == "x86_64":
        r = person.run(*flags, "python3", "-c", by_fd, f"{folder}/bin/tool", cwd=folder, env=env)
        t.ok(DENIED in r.out and "push" not in r.out, "by a file descriptor", r)
        r = person.run(*flags, "python3", "-c", in_memory, cwd=folder, env=env)
        t.ok(DENIED in r.out and "push" not in r.out, "a file in memory, by its argument 0", r)
    r = person.run(*flags, "python3", "-c", nothing, f"{folder}/bin/tool", cwd=folder, env=env)
    t.ok(DENIED not in r.out, "no arguments at all: another command", r)
    odd = EXEC + """
libc.execve(sys.argv[1].encode(), vector([b"t", b"push", b"\\xff\\xfe\\n\\x1b[0m"]), vector([]))
failed()
"""
    r = person.run(*flags, "python3", "-c", odd, f"{folder}/bin/tool", cwd=folder, env=env)
    t.ok(DENIED in r.out, "arguments that are no text", r)
    t.ok("\x1b" not in r.err, "none of which reaches the terminal", r)


def test_length(person, t):
    """Where the arguments are too long to be read, the program alone counts."""
    folder = person.folder()
    env = place(person, folder)
    flags = rules(person, folder, {"match": "tool * --evil", "deny": True})
    for size, denied in [(1000, True), (100000, True), (260000, True), (1000000, True)]:
        many = EXEC + f"""
words = [b"tool"] + [b"x" * 1000] * {size // 1000} + [b"--evil"]
libc.execve(sys.argv[1].encode(), vector(words), vector([]))
failed()
"""
        r = person.run(*flags, "python3", "-c", many, f"{folder}/bin/tool", cwd=folder, env=env)
        t.equal(DENIED in r.out, denied, f"{size} bytes before it")
    big = EXEC + """
libc.execve(b"/bin/true", vector([b"true"] + [b"x" * 1000] * 1000), vector([]))
failed()
"""
    r = person.run(*flags, "python3", "-c", big, cwd=folder, env=env)
    t.equal(r.status, 0, "others can have as many as they like")
    bad = EXEC + """
libc.execve(b"/bin/true", ctypes.c_void_p(8), None)
failed()
"""
    r = person.run(*flags, "python3", "-c", bad, cwd=folder, env=env)
    t.ok("Bad address" in r.out, "a wrong pointer is the caller's mistake", r)


def test_race(person, t):
    """Another thread changes the arguments while the program starts."""
    folder = person.folder()
    env = place(person, folder)
    person.write(f"{folder}/bin/slow", "#!/bin/sh\ncase $1 in push) (echo $1 >>child); echo $1 >>found;; esac\n", 0o755)
    flags = rules(person, folder, {"match": ["slow push *", "sh */slow push *"], "deny": True})
    race = EXEC + """
import threading
word = ctypes.create_string_buffer(b"stay")
def change():
    while True:
        ctypes.memmove(word, b"push", 4)
        ctypes.memmove(word, b"stay", 4)
argv = (ctypes.c_char_p * 3)(b"slow", ctypes.cast(word, ctypes.c_char_p), None)
raw = (ctypes.c_void_p * 3)(ctypes.cast(ctypes.c_char_p(b"slow"), ctypes.c_void_p), ctypes.addressof(word), None)
for i in range(40):
    pid = os.fork()
    if pid == 0:
        threading.Thread(target=change, daemon=True).start()
        libc.execve(sys.argv[1].encode(), raw, vector([]))
        os._exit(0)
    os.waitpid(pid, 0)
"""
    person.run(*flags, "python3", "-c", race, f"{folder}/bin/slow", cwd=folder, env=env)
    t.ok(not os.path.exists(f"{folder}/found"), "what was judged runs, or is killed before it acts")
    t.ok(not os.path.exists(f"{folder}/child"), "and so is what it has started by then")


def test_profile(person, t):
    folder = person.folder()
    env = place(person, folder)
    os.symlink("/bin/sh", f"{folder}/bin/narrow")
    for name in ("src", "build"):
        os.mkdir(f"{folder}/{name}")
        person.own(f"{folder}/{name}")
    person.write(f"{folder}/notes", "secret\n")
    flags = rules(person, folder, {"match": "narrow *", "profile": {"denyNetwork": True, "denyRead": ["notes"],
                                                                    "allowWrite": ["build"]}})
    script = """
for f in src/a build/a a $TMPDIR/a /dev/null; do (echo x >$f) 2>/dev/null && echo $f | sed "s,$TMPDIR,T,"; done
cat notes; mv src moved && echo moved
python3 -c 'import socket; socket.socket(); print("socket")' 2>/dev/null
python3 -c 'import socket; socket.socketpair(); print("pair")'
true"""
    wide = person.run(*flags, "sh", "-c", script + "; mv moved src", cwd=folder, env=env)
    t.equal(wide.out.split(), ["src/a", "build/a", "a", "T/a", "/dev/null", "secret", "moved", "socket", "pair"],
            "another command")
    for name, start in [("the command itself", ["narrow", "-c"]), ("one that it starts", ["sh", "-c"])]:
        line = script if start[0] == "narrow" else "narrow -c '" + script.replace("'", "'\\''") + "'"
        r = person.run(*flags, *start, line, cwd=folder, env=env)
        t.equal(r.out.split(), ["build/a", "T/a", "/dev/null", "pair"], f"{name} can do less")
    after = "narrow -c true; (echo x >src/b) && cat notes"
    r = person.run(*flags, "sh", "-c", after, cwd=folder, env=env)
    t.ok(r.status == 0 and r.out == "secret\n", "it ends with the command", r)


TIGHT = """(version 1)
(allow default)
(deny network*)
(deny file-write*)
(allow file-write* (subpath (string-append (param "CWD") "/build")) (literal "/dev/null"))
(deny file-read-data (literal (string-append (param "CWD") "/notes")) (with message "not these"))
(deny process-exec (literal "/usr/bin/id"))
"""


def narrowed(person):
    """A folder with the program `narrow`, which is a shell."""
    folder = person.folder()
    env = place(person, folder)
    os.symlink("/bin/sh", f"{folder}/bin/narrow")
    for name in ("src", "build"):
        os.mkdir(f"{folder}/{name}")
        person.own(f"{folder}/{name}")
    person.write(f"{folder}/notes", "secret\n")
    return folder, env


def test_named_profile(person, t):
    """A rule names a profile: what it does not allow the command cannot do either."""
    folder, env = narrowed(person)
    person.write(f"{folder}/tight.sb", TIGHT)
    flags = rules(person, folder, {"match": "narrow *", "profile": "./tight.sb"})
    script = """
for f in src/a build/a; do (echo x >$f) 2>/dev/null && echo $f; done
cat notes; id -u >/dev/null && echo id; sh -c 'id -u' >/dev/null && echo sh-id
python3 -c 'import socket; socket.socket(); print("socket")' 2>/dev/null
true"""
    wide = person.run(*flags, "sh", "-c", script, cwd=folder, env=env)
    t.equal(wide.out.split(), ["src/a", "build/a", "secret", "id", "sh-id", "socket"], "another command")
    for start in (["narrow", "-c"], ["sh", "-c"]):
        line = script if start[0] == "narrow" else "narrow -c '" + script.replace("'", "'\\''") + "'"
        r = person.run(*flags, *start, line, cwd=folder, env=env)
        t.equal(r.out.split(), ["build/a"], f"{start[0]}: the profile holds for all that it starts")
        t.ok("tight.sb:6" in r.err and "not these" in r.err, "the summary names its rule", r)
    r = person.run(*flags, "narrow", "-c", "echo '(version 1)(allow default)' >tight.sb", cwd=folder, env=env)
    r = person.run(*flags, "sh", "-c", "echo >tight.sb; mv tight.sb x; rm -f tight.sb; true", cwd=folder, env=env)
    t.equal(open(f"{folder}/tight.sb", encoding="utf-8").read(), TIGHT, "no command changes the file")
    person.write(f"{folder}/two/rules.json", json.dumps({"commands": [{"match": "narrow *", "profile": "./tight.sb"}]}))
    r = person.run("--settings", f"{folder}/two/rules.json", "-w", "/", "--allow-read", f"{folder}/notes", "narrow", "-c",
                   "echo x >src/b; cat notes", cwd=folder, env=env)
    t.ok(not os.path.exists(f"{folder}/src/b") and "secret" not in r.out, "no flag overrides it", r)
    asked = rules(person, folder, {"match": "narrow *", "profile": "./tight.sb", "ask": True})
    r = person.run(*asked, "--allow-command", "narrow *", "sh", "-c", "narrow -c 'cat notes; sh -c true && echo on'",
                   cwd=folder, env=env)
    t.ok(r.out == "on\n", "with a question: what an approved command starts needs no other", r)
    shipped = rules(person, folder, {"match": "narrow *", "profile": "readonly"})
    r = person.run(*shipped, "narrow", "-c", "echo x >src/c; cat notes", cwd=folder, env=env)
    t.ok(r.out == "secret\n" and not os.path.exists(f"{folder}/src/c"), "a shipped profile", r)


def test_hostile_profile(person, t):
    """A project that nobody trusts can name a profile as well: it only takes away."""
    folder, env = narrowed(person)
    outside = f"{person.home}/outside-{os.path.basename(folder)}"
    opens = '(version 1)(define (deny . x) #t)(define deny allow)(allow default)(allow-protected "tools")'
    for name, text in [("definitions", opens), ("%finalize", opens + "(define (%finalize) (allow file-write*))")]:
        person.write(f"{folder}/x.sb", text)
        flags = rules(person, folder, {"match": "narrow *", "profile": "x.sb"})
        person.run(*flags, "narrow", "-c", f"echo x >{outside}", cwd=folder, env=env)
        t.ok(not os.path.exists(outside), f"{name} open nothing")
        r = person.run(*flags, "--profile", person.profile("d.sb", "(version 1)(allow default)(deny file-write*)"),
                       "sh", "-c", f"echo x >{folder}/src/d", cwd=folder, env=env)
        t.ok(not os.path.exists(f"{folder}/src/d"), f"{name} change no other text", r)
    quine = '(define t "(version 1)")(command-profile "y" t "a *")'
    for name, text, says in [
            ("itself", quine, "cannot have one for other commands"),
            ("a file", '(version 1)(import "/etc/passwd")', "cannot find"),
            ("nonsense", "(version 1)\n(allow nonsense)", "x.sb:2:8: "),
            ("nothing", "", "is empty"),
            ("a loop", "(version 1)(define (f) (f))(f)", "is there a loop")]:
        person.write(f"{folder}/x.sb", text)
        r = person.run(*rules(person, folder, {"match": "narrow *", "profile": "x.sb"}), "true", cwd=folder, env=env)
        t.ok(r.status == 125 and says in r.err and "x.sb" in r.err, f"a profile with {name} is refused", r)
    for name, says in [("/dev/zero", "is no profile"), ("./missing.sb", "cannot read"), ("nowhere", "no shipped profile"),
                       ("*.sb", "one file")]:
        r = person.run(*rules(person, folder, {"match": "narrow *", "profile": name}), "true", cwd=folder, env=env)
        t.ok(r.status == 125 and says in r.err, f"{name}: refused", r)
    from running import BUCKLE
    for name, text, says in [("nowhere", "", "no shipped profile"), ("./y.sb", "(version 1)\n(allow nonsense)", "y.sb:2:8"),
                             ("./y.sb", "(version 1)(deny network*)", ""), ("readonly", "", "")]:
        person.write(f"{folder}/y.sb", text)
        path = person.write(f"{folder}/c.json", json.dumps({"commands": [{"match": "a *", "profile": name}]}))
        r = person.call([BUCKLE, "check", path], cwd=folder)
        t.ok(r.status == (1 if says else 0) and says in r.out + r.err, f"`buckle check` looks into {name} ({says or 'fine'})", r)
    many = [{"match": f"n{i} *", "profile": "readonly", "ask": True} for i in range(17)]
    r = person.run(*rules(person, folder, *many), "true", cwd=folder, env=env)
    t.ok(r.status == 125 and "more than 32" in r.err, "patterns are counted as they are enforced", r)


LOSE = """
import ctypes, os, sys, time
def write():
    try:
        open(sys.argv[1], "w").close()
    except OSError:
        pass
"""


def test_descent(person, t):
    """A narrowed command cannot lose its rule with its parents."""
    folder = person.folder()
    env = place(person, folder)
    shutil.copy(os.path.realpath("/usr/bin/python3"), f"{folder}/bin/narrow")
    flags = rules(person, folder, {"match": "narrow *", "profile": {"allowWrite": []}})
    ways = {
        "a child": LOSE + "os.fork() or (write(), os._exit(0)); os.wait()",
        "an orphan": LOSE + "if os.fork() == 0:\n if os.fork() == 0:\n  time.sleep(0.05); write()\n os._exit(0)\n"
                            "time.sleep(0.2)",
        "an orphan in its own session": LOSE + "if os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n"
                                               "  time.sleep(0.05); write()\n os._exit(0)\ntime.sleep(0.2)",
        "a thread": LOSE + "import threading\nx = threading.Thread(target=write); x.start(); x.join()",
        "another program": LOSE + "os.execv('/bin/sh', ['sh', '-c', 'echo x >' + sys.argv[1]])",
        "many generations": LOSE + "for i in range(30):\n if os.fork():\n  os.wait(); os._exit(0)\nwrite()",
    }
    for name, text in ways.items():
        path = f"{folder}/out-{name.replace(' ', '-')}"
        person.run(*flags, "sh", "-c", 'narrow -c "$1" "$2"; true', "sh", text, path, cwd=folder, env=env)
        t.ok(not os.path.exists(path), name)
        person.run(*flags, "sh", "-c", '/usr/bin/python3 -c "$1" "$2"; true', "sh", text, path, cwd=folder,
                   env=env)
        t.ok(os.path.exists(path), f"{name}, not narrowed")
    adopt = """
import ctypes, os, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
subprocess.run(["narrow", "-c", sys.argv[2], sys.argv[1]])
time.sleep(0.2)
"""
    path = f"{folder}/adopted"
    person.run(*flags, "python3", "-c", adopt, path, ways["an orphan"], cwd=folder, env=env)
    t.ok(not os.path.exists(path), "an orphan that another process takes in")
    nested = "narrow -c 'import subprocess; subprocess.run([\"" + "$0" + "\", \"run\", \"touch\", \"nested\"])'"
    from running import BUCKLE
    person.run(*flags, "sh", "-c", nested.replace("$0", BUCKLE), cwd=folder, env=env)
    t.ok(not os.path.exists(f"{folder}/nested"), "a sandbox inside")


def test_ask(person, t):
    """Without anybody to ask, the answer is no; a flag, or the user who starts it, is a yes."""
    folder = person.folder()
    env = place(person, folder)
    flags = rules(person, folder, {"match": "tool push *", "ask": True})
    r = person.run(*flags, "sh", "-c", "tool push; true", cwd=folder, env=env)
    t.ok(DENIED in r.err and "has to agree" in r.err, "nobody to ask", r)
    t.ok("--allow-command 'tool push *'" in r.err and "no flag" not in r.err, "the summary says how to agree", r)
    agreed = rules(person, folder, {"match": "tool push *", "ask": True}, agreedCommands=["tool push *"])
    t.quiet(person.run(*agreed, "sh", "-c", "tool push", cwd=folder, env=env), "the user has agreed for good")
    t.ok(DENIED in person.run(*rules(person, folder, {"match": "tool push *", "deny": True},
                                     agreedCommands=["tool push *"]), "sh", "-c", "tool push; true", cwd=folder, env=env).err,
         "which is no permission where a rule denies")
    flags = rules(person, folder, {"match": "tool push *", "ask": True})
    r = person.run(*flags, "--allow-command", "tool push *", "sh", "-c", "tool push", cwd=folder, env=env)
    t.quiet(r, "a flag agrees")
    t.quiet(person.run(*flags, "tool", "push", cwd=folder, env=env), "the user's own command")
    r = person.run(*flags, "--allow-command", "tool *", "sh", "-c", "tool push; true", cwd=folder, env=env)
    t.ok(DENIED in r.err, "another pattern is no consent", r)


def test_sbpl(person, t):
    folder = person.folder()
    env = place(person, folder)
    profile = person.profile("c.sb", '(version 1)\n(allow default)\n'
                                     '(deny process-exec* (process-command "tool push *"))\n'
                                     '(deny file-write-create (process-command "tool touch *"))\n')
    r = person.run("--profile", profile, "sh", "-c", "tool push; tool pull", cwd=folder, env=env)
    t.ok(r.out == "pull\n" and "c.sb:3" in r.err, "a profile has such rules, too", r)
    from running import BUCKLE
    for command, says in [("tool push x", "deny"), ("tool pull", "allow"), ("/a/b/tool push", "deny")]:
        r = person.call([BUCKLE, "eval", profile, "process-exec*", "/x/tool", f"process-command={command}"])
        t.ok(r.out.startswith(says), f"eval: {command}", r)
    wrong = person.profile("w.sb", '(version 1)\n(deny process-exec* (process-command "a  b"))\n')
    r = person.call([BUCKLE, "check", wrong])
    t.ok(r.status != 0 and "one space" in r.err + r.out, "a pattern that is none", r)


def test_secrets(person, t):
    """What a command is told is in no report."""
    folder = person.folder()
    env = place(person, folder)
    flags = rules(person, folder, {"match": "tool *", "deny": True})
    record = f"{person.home}/record-{folder.rsplit('-', 1)[1]}"
    r = person.run(*flags, "--record", record + "/", "--report", "json", "bash", "-c",
                   'x=hunter; tool --password ${x}2; true', cwd=folder, env=env)
    written = "".join(open(os.path.join(record, f), encoding="utf-8").read() for f in os.listdir(record))
    t.ok('"deny"' in written or "denied" in written, "the denial is in the record", written)
    t.ok("hunter2" not in r.err + r.out + written, "without its arguments", r)


def test_line(person, t):
    """The MCP server asks about the line, or when a hidden command starts; nobody is asked twice."""
    from agents import Client, settings
    folder = person.folder()
    person.env.update(place(person, folder))
    settings(person, commands=[{"match": "tool push *", "ask": True}])
    for line, question in [("tool push --password hunter2", "Run this command in the sandbox?"),
                           ("ls >/dev/null; tool push", "Run this command in the sandbox?"),
                           ("$(echo tool) push --password hunter2", "The settings ask about tool push *")]:
        for action in ("accept", "decline"):
            asked = []
            c = Client(person, folder, "--mode", "open",
                       answer=lambda text, a=action, all=asked: all.append(text) or {"action": a, "content": {}})
            output = c.bash(line)
            c.close()
            t.ok(len(asked) == 1 and question in asked[0], f"{line}: one question", asked)
            t.equal("push" in str(output.facts.get("stdout", "")), action == "accept", f"{line}: {action}")
            if "$" in line:
                t.ok("hunter2" not in asked[0], "without the secret", asked)
    for how, line in (("session", "tool push"), ("session", "$(echo tool) push"), ("always", "tool push"),
                      ("always", "$(echo tool) push")):
        settings(person, commands=[{"match": "tool push *", "ask": True}])
        asked = []
        c = Client(person, folder, "--mode", "open",
                   answer=lambda text, h=how, all=asked: all.append(text) or {"action": "accept", "content": {"allow": h}})
        for other in (line, "tool push", "$(echo tool) push"):
            t.ok("push" in str(c.bash(other).facts.get("stdout", "")), f"{how}: {line}: {other}")
        c.close()
        t.equal(len(asked), 1, f"{how}: {line}: one question for all")
        asked.clear()
        c = Client(person, folder, "--mode", "open", answer=lambda text, all=asked: all.append(text) or {"action": "decline"})
        c.bash("tool push")
        c.close()
        t.equal(len(asked), 0 if how == "always" else 1, f"{how}: the next session")
    settings(person)


def test_not_promised(person, t):
    """docs/threat-model.md: ways around a rule."""
    folder = person.folder()
    env = place(person, folder)
    flags = rules(person, folder, {"match": "tool push *", "deny": True})
    r = person.run(*flags, "sh", "-c", "cp bin/tool other && ./other push", cwd=folder, env=env)
    t.equal(r.out, "push\n", "a copy has another name")
    person.sh("git init -q .", cwd=folder)
    git = rules(person, folder, {"match": "git push *", "deny": True})
    r = person.run(*git, "git", "-c", "alias.x=!echo pushing", "x", cwd=folder, env=env)
    t.equal(r.out, "pushing\n", "git has other ways")


if __name__ == "__main__":
    for_everybody([test_patterns, test_disguises, test_descriptors, test_length, test_race, test_profile, test_named_profile, test_hostile_profile, test_descent,
                   test_ask, test_sbpl, test_secrets, test_line, test_not_promised])
    sys.exit(tap.done())
