#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The compat names (sandbox-exec, srt, cage), used as existing scripts do."""

import json
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import drive
import names
import tap
from running import BUCKLE, PEOPLE, eventually, for_everybody

OPEN = "(version 1)(allow default)"


def test_links():
    """The installed links."""
    stage = os.environ.get("STAGE")
    if not stage:
        return
    for name in names.NAMES:
        link = stage + os.environ["PREFIX"] + "/bin/" + name
        tap.ok(os.path.islink(link) and os.readlink(link) == "buckle", f"{name} is a link to buckle")


# ---- sandbox-exec ----


def test_spec_commands(user, t):
    """Reading a file's status, its contents, a listing, and what is allowed below."""
    home = user.folder("yourname")
    user.write(home + "/.bashrc", "secret\n")
    user.write(home + "/project/README.md", "readable\n")
    profile = user.write(user.folder("p") + "/test.sb", f"""\
(version 1)
(import "system.sb")
(allow default)
(deny file-read-data (subpath "{home}"))
(allow file-read-data (subpath "{home}/project"))
""")
    r = names.script(user, f"sandbox-exec -f {profile} stat {home}/.bashrc")
    t.ok(r.status == 0 and "Size: 7" in r.out, "stat of a file whose contents are denied", r)
    r = names.script(user, f"sandbox-exec -f {profile} cat {home}/.bashrc")
    t.ok(r.status == 1 and r.out == "" and "Operation not permitted" in r.err, "cat of it", r)
    r = names.script(user, f"sandbox-exec -f {profile} ls {home}")
    t.ok(r.status == 2 and r.out == "" and "Operation not permitted" in r.err, "ls of its folder", r)
    r = names.script(user, f"sandbox-exec -f {profile} cat {home}/project/README.md")
    t.ok(r.status == 0 and r.out == "readable\n" and r.err == "", "cat of what is allowed inside", r)


def test_sandbox_exec_options(user, t):
    def run(*words, **how):
        return names.call(user, "sandbox-exec", *words, **how)

    r = run("-p", OPEN, "sh", "-c", "exit 7")
    t.ok(r.status == 7 and r.err == "", "the command's status", r)
    r = run("-p", OPEN, "sh", "-c", "kill -TERM $$")
    t.equal(r.status, -15, "the command's signal")
    deny = '(version 1)(allow default)(deny file-read-data (literal (param "FILE")))'
    file = user.write(user.folder() + "/a=b", "x")
    for words in (["-D", "FILE=" + file], ["-DFILE=" + file]):
        r = run("-p", deny, *words, "cat", file)
        t.ok(r.status == 1 and "not permitted" in r.err, f"a parameter given as {words[0][:2]}", r)
    r = run("-p", deny, "-DFILE=/other", "--", "cat", file)
    t.ok(r.status == 0 and r.out == "x", "another value; -- before the command", r)
    r = run("-p", OPEN, "echo", "-p", "-n", "x")
    t.ok(r.out == "-p -n x\n", "the command's own options are left to it", r)
    own = user.write(user.folder() + "/own.sb", '(version 1)(allow default)(deny file-write*)')
    text = f'(version 1)(import "{own}")'
    r = run("-p", text, "sh", "-c", "echo x >new", cwd=user.folder())
    t.ok(r.status == 2 and "not permitted" in r.err, "a profile in words imports a file", r)
    r = run("-p", OPEN, "env", env={"MY_API_KEY": "k", "TMPDIR": "/somewhere"})
    t.ok("MY_API_KEY=k\n" in r.out and "TMPDIR=/somewhere\n" in r.out and
         "SANDBOX_RUNTIME" not in r.out, "the environment is passed on as it is", r)


def test_sandbox_exec_mistakes(user, t):
    def run(*words):
        return names.call(user, "sandbox-exec", *words)

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
                        (["-p", OPEN + '(deny file-write* (subpath ""))'], "an empty path"),
                        (["-p", OPEN + '(allow file-write* (subpath (param "DIR")))', "-DDIR="],
                         "an empty parameter"),
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
    script = user.write(user.folder() + "/plain", "text")
    r = run("-p", OPEN, script)
    t.equal((r.status, r.err),
            (71, f"sandbox-exec: execvp() of '{script}' failed: Permission denied\n"),
            "a file that is no program")


def test_nested(user, t):
    inner = os.path.join(names.FOLDER, "sandbox-exec")
    folder = user.folder()
    outer = OPEN + f'(deny file-write* (literal "{folder}/x"))'
    for words in (["-p", f'(version 1)(allow default)(deny file-write* (literal "{folder}/y"))'],
                  ["-n", "no-write"]):
        r = names.call(user, "sandbox-exec", "-p", outer, inner, *words, "sh", "-c",
                       "echo ran; echo x >x; echo x >y", cwd=folder)
        t.ok(r.status != 0 and r.out == "ran\n" and not os.listdir(folder),
             f"a sandbox in a sandbox: both policies hold: {words[0]}", r)


def test_named_profiles(user, t):
    def run(name, *words, **how):
        return names.call(user, "sandbox-exec", "-n", name, *words, **how)

    r = names.call(user, "sandbox-exec", "-n")
    listed = [line.strip() for line in r.err.split("\n") if line.startswith("  ")]
    for name in ("no-network", "no-internet", "no-write", "no-write-except-temporary",
                 "pure-computation", "default", "strict", "readonly", "open"):
        t.ok(name in listed, f"-n lists {name}")
    t.ok("common" not in listed and "protected" not in listed, "parts of profiles are not listed")

    folder = user.folder()
    r = run("no-write", "sh", "-c", "echo x >f", cwd=folder)
    t.ok(r.status == 2 and not os.listdir(folder), "no-write: a file", r)
    t.ok(run("no-write", "sh", "-c", "echo x >/dev/null").status == 0, "no-write: /dev/null")
    # the tests' own folders are in /tmp
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
    r = run("pure-computation", "cat", user.write(folder + "/mine", "x"))
    t.ok(r.status == 1 and r.out == "", "pure-computation reads no file of mine", r)
    r = run("pure-computation", "sh", "-c", "true & wait")
    t.ok(r.status != 0, "pure-computation starts nothing else", r)
    r = run("default", "sh", "-c", "echo x >f && rm f && test -n \"$TMPDIR\" && echo y >$TMPDIR/f",
            cwd=folder)
    t.ok(r.status == 0, "default knows where it is", r)


def test_verbose(user, t):
    text = ('(version 1)(deny default)(import "bsd.sb")(allow mach-lookup (global-name "a"))'
            '(allow mach-lookup (global-name "b"))(allow process-fork)')
    folder = user.folder()
    r = names.call(user, "sandbox-exec", "-v", "-p", text, "sh", "-c", "echo x >f; true",
                   cwd=folder)
    absent = [line for line in r.err.split("\n") if "no effect on Linux" in line]
    t.ok(len(absent) == 1 and absent[0].count("mach-lookup") == 1, "what only macOS has, once", r)
    t.ok("sandbox-exec: " in r.err and folder + "/f" in r.err, "what was denied", r)
    r = names.call(user, "sandbox-exec", "-p", text, "sh", "-c", "true")
    t.equal((r.status, r.err), (0, ""), "nothing of it unless asked")


# ---- processes, of sandbox-exec and cage ----

LEFT = ("(sleep 1; echo late >late; (echo x >{shut}/no) 2>denied; sleep {long}) >/dev/null 2>&1 & "
        "[ -e /proc/{pid} ] && echo sees; exit 3")


def left(user, number):
    """The processes that a test left, by the odd time that they sleep."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", number.encode()]:
            found.append(int(pid))
    return found


def test_background(user, t):
    """With a policy that is open about processes, they go on as with the originals, and stay confined."""
    for number, (name, *words) in enumerate((
            ("cage", "--allow", "."),
            ("sandbox-exec", "-p", OPEN + '(deny file-write* (subpath (param "SHUT")))', "-D", "SHUT={shut}"))):
        work, shut = user.folder(), user.folder("shut")
        long = f"6{number}{user.uid % 100:02}.{os.getpid()}"
        script = LEFT.format(shut=shut, pid=os.getpid(), long=long)
        r = names.call(user, name, *[w.format(shut=shut) for w in words], "sh", "-c", script, cwd=work)
        t.ok(r.status == 3 and r.out == "sees\n" and r.err == "" and r.seconds < 0.9,
             f"{name}: sees processes outside, and does not wait for those it leaves", r)
        t.ok(eventually(lambda: os.path.exists(work + "/denied") and left(user, long)), f"{name}: they go on")
        t.ok(os.path.exists(work + "/late") and os.listdir(shut) == [] and
             "not permitted" in open(work + "/denied").read(), f"{name}: and stay confined")
        sleeper = left(user, long)[0]
        judge = next(pid for pid in ancestors(sleeper) if open(f"/proc/{pid}/comm").read() == "buckle-judge\n")
        os.kill(judge, 9)
        t.ok(eventually(lambda: not left(user, long)), f"{name}: without the judge they end")
    long = f"64{user.uid % 100:02}.{os.getpid()}"
    r = names.call(user, "sandbox-exec", "-p", OPEN + "(deny signal)", "sh", "-c",
                   f"sleep {long} >/dev/null 2>&1 & [ -e /proc/{os.getpid()} ] && echo sees; true")
    t.ok(r.status == 0 and r.out == "" and not left(user, long), "a policy about processes keeps them in", r)


def test_outsiders(user, t):
    """A policy that allows every signal reaches processes outside, by each name that sees them."""
    work = user.folder()
    home = user.folder("home")
    carved = f'(deny file-read* (subpath "{home}"))(allow file-read* (subpath "{home}/open"))'
    user.write(home + "/open/f", "f\n")
    user.write(home + "/x", "x\n")
    for name, *words in (("cage", "--allow", "."), ("sandbox-exec", "-p", OPEN),
                         ("sandbox-exec", "-p", OPEN + carved)):
        sleeper = user.start(["sleep", "60"])
        r = names.call(user, name, *words, "sh", "-c", f"kill -0 {sleeper.pid} && kill {sleeper.pid}", cwd=work)
        ended = eventually(lambda s=sleeper: s.poll() is not None, 5)
        t.ok(r.status == 0 and ended, f"{name} {words[-1][:60]}: signals a process outside", r)
        sleeper.kill()
        sleeper.wait()
    sleeper = user.start(["sleep", "60"])
    for deny in ("(deny signal)", "(deny signal (target others))", f"(deny signal)(allow signal (target same-sandbox))"):
        names.call(user, "sandbox-exec", "-p", OPEN + deny, "sh", "-c", f"kill {sleeper.pid}", cwd=work)
        t.ok(sleeper.poll() is None, f"{deny}: does not")
    r = names.call(user, "sandbox-exec", "-p", OPEN, BUCKLE, "run", "--", "sh", "-c", f"kill {sleeper.pid}", cwd=work)
    t.ok(r.status != 0 and sleeper.poll() is None, "nor does a stricter run inside", r)
    sleeper.kill()
    sleeper.wait()
    r = names.call(user, "sandbox-exec", "-p", OPEN + carved, "sh", "-c",
                   f"cat {home}/open/f; [ -e /proc/{os.getpid()} ] && echo sees; cat {home}/x", cwd=work)
    # without FUSE reading is judged, and /proc closed
    sees = "sees\n" if user.uid == 0 or os.stat("/dev/fuse").st_mode & 0o002 else ""
    t.ok(r.out == "f\n" + sees and r.status == 1 and "not permitted" in r.err, "an open folder in a closed one", r)


STOPPING = """
pid=$$
for name in buckle-reaper buckle-judge sandbox-exec; do
    pid=$(while read -r key value; do [ $key = PPid: ] && echo $value; done <"/proc/$pid/status")
    while read -r comm; do [ $comm = $name ] || echo "$comm instead of $name"; done <"/proc/$pid/comm"
    [ $name = buckle-judge ] && judge=$pid || kill -STOP $pid
done
kill -KILL $judge
sleep 0.2
(echo x >{shut}/no) 2>/dev/null && echo wrote
(read -r x <{shut}/f) 2>/dev/null && echo read
kill -KILL $pid
"""


def test_stopping(user, t):
    """Signals to Buckle's own processes open nothing."""
    shut = user.folder("shut")
    user.write(shut + "/f", "secret\n")
    r = names.call(user, "sandbox-exec", "-p", OPEN + f'(deny file-write* file-read-data (subpath "{shut}"))',
                   "sh", "-c", STOPPING.format(shut=shut), timeout=20)
    t.ok(r.status != 0 and r.out == "" and os.listdir(shut) == ["f"], "stopped and killed, it opens nothing", r)


def ancestors(pid):
    """The processes above one."""
    while pid > 1:
        with open(f"/proc/{pid}/stat") as f:
            pid = int(f.read().rsplit(")", 1)[1].split()[1])
        yield pid


def test_caller(user, t):
    """The process that waits for the command passes signals on, and takes it along."""
    long = f"65{user.uid % 100:02}.{os.getpid()}"
    for number in (signal.SIGTERM, signal.SIGKILL):
        child = user.start([os.path.join(names.FOLDER, "cage"), "sh", "-c", f"sleep {long}; exit 9"],
                           env=names.env(), cwd=user.folder())
        t.ok(eventually(lambda: left(user, long)), "the command runs")
        child.send_signal(number)
        status = child.wait(timeout=10)
        t.equal(status, -number, f"{number.name} ends the command")
        if number == signal.SIGKILL:
            t.ok(eventually(lambda: not left(user, long)), "with everything it started")
        for pid in left(user, long):
            os.kill(pid, 9)


# ---- srt ----

CONFIG = """{
  "network": { "allowedDomains": [], "deniedDomains": [] },
  "filesystem": { "denyRead": ["~/.ssh"], "allowWrite": ["."], "denyWrite": [".env"] }
}"""


def srt(user, *words, **how):
    return names.call(user, "srt", *words, **how)


def test_srt_settings(user, t):
    user.write(user.home + "/.ssh/id", "key\n")
    work = user.folder()
    own = user.home + "/.srt-settings.json"
    r = srt(user, "echo x >f || echo no", cwd=work)
    t.ok(r.out == "no\n" and not os.listdir(work), "without a file nothing can be written", r)
    r = srt(user, "cat ~/.ssh/id", cwd=work)
    t.equal(r.out, "key\n", "and everything be read")
    user.write(own, CONFIG)
    r = srt(user, "echo x >f; cat f; cat ~/.ssh/id; echo y >.env; echo z >../g; ls ~/.ssh", cwd=work)
    t.ok(r.out == "x\n" and r.err.count("ot permitted") == 4, "~/.srt-settings.json", r)
    t.equal(sorted(os.listdir(work)), ["f"], "what was written")
    r = srt(user, "echo x >.gitconfig; mkdir .vscode; echo >~/.srt-settings.json", cwd=work)
    t.ok(sorted(os.listdir(work)) == ["f"] and open(own).read() == CONFIG,
         "protected names, and the settings themselves", r)
    other = user.write(user.folder() + "/other.json",
                         '{"filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}')
    for words in (["-s", other], ["--settings", other], ["--settings=" + other]):
        r = srt(user, *words, "cat ~/.ssh/id && echo x >g", cwd=work)
        t.ok(r.out == "key\n" and not os.path.exists(work + "/g"), f"{words[0][:10]}", r)
    connect = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", %d), 2)'"
    with socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(4)
        r = srt(user, connect % tcp.getsockname()[1], cwd=work)
        t.ok(r.status == 1 and "Error" in r.err, "no network", r)


def test_srt_command(user, t):
    user.write(user.home + "/.srt-settings.json", CONFIG)
    work = user.folder()

    def run(*words, **how):
        return srt(user, *words, cwd=work, **how)

    t.equal(run("-c", "echo $((6*7)); exit 3").status, 3, "-c, and its status")
    t.equal(run("-c", "echo $((6*7))").out, "42\n", "-c takes it as it is")
    t.equal(run("echo $((6*7)) | cat").out, "42\n", "so does a single argument")
    t.equal(run("printf", "[%s]", "a  b", "$HOME", "c'd", "").out, "[a  b][$HOME][c'd][]",
            "several are words of one command")
    t.equal(run("echo", "-d", "-s", "x").out, "-d -s x\n", "the command's own options are its own")
    t.equal(run("type", "cd").out, "cd is a shell builtin\n", "what only the shell knows")
    t.equal(run("-c", "kill -KILL $$").status, 137, "a signal, as a shell tells of it")
    t.equal(run("no-such-command-at-all").status, 127, "a command that is not there")
    r = run("echo $SANDBOX_RUNTIME; echo $MY_TOKEN; test -w $TMPDIR && echo x >$TMPDIR/f$$; "
            "echo $TMPDIR", env={"MY_TOKEN": "t"})
    lines = r.out.split("\n")
    t.ok(lines[:2] == ["1", "t"] and not r.err, "the environment, whole; TMPDIR can be written", r)
    st = os.lstat("/tmp/claude")
    if st.st_uid == user.uid:
        t.equal(lines[2], "/tmp/claude", "TMPDIR is the fixed one")
    else:
        t.ok(lines[2] != "/tmp/claude" and lines[2], "TMPDIR is one's own where that is another's")
    bare = user.folder("bin")
    r = run("-d", "echo ran", env={"PATH": bare})
    t.ok(r.status == 1 and r.out == "" and "Shell not found in PATH" in r.err and "bash" in r.err,
         "no shell", r)


def test_srt_tmpdir(user, t):
    """The variables by which the original's callers choose TMPDIR."""
    work, own, other = user.folder(), user.folder("own"), user.folder("other")
    user.write(user.home + "/.srt-settings.json", '{"filesystem": {"allowWrite": []}}')
    script = 'echo "$TMPDIR"; echo x >"$TMPDIR/f" && cat "$TMPDIR/f"'
    for env, expected, name in (
            ({"CLAUDE_CODE_TMPDIR": own}, own, "CLAUDE_CODE_TMPDIR"),
            ({"CLAUDE_TMPDIR": own}, own, "CLAUDE_TMPDIR"),
            ({"CLAUDE_CODE_TMPDIR": own, "CLAUDE_TMPDIR": other}, own, "the current name first"),
            ({"CLAUDE_CODE_TMPDIR": own + "/new/"}, own + "/new", "a folder that is made")):
        r = srt(user, script, cwd=work, env=env)
        t.equal((r.out, r.err), (expected + "\nx\n", ""), name)
    os.symlink(other, work + "/link")
    taken = user.folder("taken")
    os.chown(taken, 1, 1)
    for path, name in ((user.home, "the home folder"), ("/", "a folder above it"), (taken, "another's folder"),
                       (work + "/link", "a symlink"), (work + "/link/", "the same with a slash")):
        r = srt(user, script, cwd=work, env={"CLAUDE_CODE_TMPDIR": path})
        t.ok(r.out.endswith("\nx\n") and os.path.realpath(r.out.split("\n")[0]) != os.path.realpath(path),
             f"{name} does not become TMPDIR", r)
    t.equal(os.listdir(other), [], "nothing was written through the symlink")


def test_srt_reads(user, t):
    """As in the original, allowing wins over denying the same, and what is writable can be read."""
    work = user.folder()
    for name in ("both/f", "deny/f", "deny/open/f", "deny/out/f", "deny/out/shut/f", "deny/same/f"):
        user.write(f"{work}/{name}", name + "\n")
    file = user.write(user.folder() + "/s.json", json.dumps({"filesystem": {
        "denyRead": [work + "/both", work + "/deny", work + "/deny/out/shut", work + "/**/*.key"],
        "allowRead": [work + "/both", work + "/deny/open", work + "/**/*.key"],
        "allowWrite": [work + "/deny/out"]}}))
    user.write(work + "/a.key", "key\n")
    for name, readable in (("both/f", True), ("deny/f", False), ("deny/open/f", True), ("deny/out/f", True),
                           ("deny/out/shut/f", False), ("a.key", True)):
        r = srt(user, "-s", file, f"cat {work}/{name}", cwd=work)
        t.equal(r.status == 0, readable, f"{name} can be read: {readable}", r)
    r = srt(user, "-s", file, f"ls {work}/deny/out && echo x >{work}/deny/out/new && cat {work}/deny/out/new")
    t.ok(r.status == 0 and r.out.endswith("x\n"), "a writable folder is listed, and what is made there read", r)
    r = user.run("-s", file, "cat", f"{work}/both/f", cwd=work)
    t.ok(r.status != 0 and r.out == "", "in Buckle's own settings the denial of the same place wins", r)


def test_srt_without_variables(user, t):
    program = os.path.join(names.FOLDER, "srt")
    r = user.call(["env", "-i", program, "-c", "echo ran; type -p ls"], cwd=user.folder())
    t.ok(r.status == 0 and r.out.startswith("ran\n/") and r.err == "", "env -i srt finds a shell", r)


def test_srt_pipe(user, t):
    work = user.folder()
    text = user.write(user.folder() + "/s.json", '{"filesystem": {"allowWrite": ["."]}}')
    for line, name in ((f"srt -s <(cat {text}) 'echo x >f; cat f'", "<(…)"),
                       (f"srt -s <(sleep 0.3; cat {text}) 'echo x >f; cat f'", "<(…) that is slow"),
                       (f"cat {text} | srt -s /dev/stdin 'echo x >f; cat f'", "/dev/stdin"),
                       (f"cat {text} | srt -s - 'echo x >f; cat f'", "-"),
                       (f"srt -s /dev/fd/7 'echo x >f; cat f' 7<{text}", "a descriptor"),
                       (f"mkfifo p; (sleep 0.3; timeout 5 cp {text} p) & srt -s p 'echo x >f; cat f'", "a named pipe")):
        r = user.call(["bash", "-c", "rm -f f; " + line], env=names.env(), cwd=work)
        t.equal((r.status, r.out, r.err), (0, "x\n", ""), f"-s takes {name}")
    r = names.script(user, f"cd {work}; echo '{{\"x\": 1}}' | srt -s /dev/stdin 'echo ran'")
    t.ok(r.status == 1 and r.out == "" and "x is not a setting" in r.err, "what is wrong in it is an error", r)


def test_srt_mistakes(user, t):
    def refuses(name, words, *parts):
        r = srt(user, *words)
        t.ok(r.status == 1 and r.out == "" and r.err.startswith("Error: ") and
             all(p in r.err for p in parts), name, r)

    def wrong(name, text, *parts):
        file = user.write(user.folder() + "/s.json", text)
        refuses(name, ["-s", file, "echo ran"], *parts)

    refuses("no command", [], "No command specified")
    refuses("an unknown option", ["--nonsense", "echo ran"], "--nonsense")
    refuses("a file that is not there", ["-s", "/no/such", "echo ran"], "/no/such")
    wrong("no JSON", "{", "s.json:1")
    wrong("an unknown key", '{\n "filesystem": {\n "denyRaed": [] } }', "s.json:3", "denyRead")
    wrong("a wrong type", '{"filesystem": {"denyRead": "x"}}', "s.json:1")
    user.write(user.home + "/.srt-settings.json", "{")
    refuses("the user's own file", ["echo ran"], ".srt-settings.json")
    os.unlink(user.home + "/.srt-settings.json")


def test_others_proxies(user, t):
    """External proxies, also on the ports that ours would use."""
    work = user.folder()
    file = work + "/s.json"
    fetch = ("python3 -c \"import os, socket; s = socket.create_connection(('localhost', "
             "int(os.environ['HTTP_PROXY'].rsplit(':', 1)[1])), 2); print(s.recv(9).decode())\"")
    with socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(4)
        port = tcp.getsockname()[1]
        user.write(file, '{"network": {"allowedDomains": ["a.example"], "httpProxyPort": %d}}' % port)
        child = user.start([os.path.join(names.FOLDER, "srt"), "-s", file, fetch], env=names.env(),
                             cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        tcp.settimeout(20)
        try:
            peer, _ = tcp.accept()
            peer.sendall(b"from here")
            peer.close()
        except TimeoutError:
            pass
        out, err = child.communicate(timeout=20)
        t.equal(out, b"from here\n", "a port of this machine", err)
    user.write(file, '{"network": {"allowedDomains": ["a.example"], "httpProxyPort": 3128, '
                       '"socksProxyPort": 1080}}')
    r = srt(user, "-s", file, "echo $HTTP_PROXY $https_proxy $ALL_PROXY $FTP_PROXY", cwd=work)
    words = r.out.split()
    t.ok(words[:3] == ["http://localhost:3128", "http://localhost:3128", "socks5h://localhost:1080"]
         and words[3].endswith("@localhost:1081"), "the ports where ours would be", r)


def test_control_fd(user, t):
    """Settings that arrive while the command runs."""
    work, other = user.folder(), user.folder("other")
    file = user.write(work + "/s.json", '{"filesystem": {"allowWrite": []}}')
    loop = (f"for i in 1 2 3 4 5 6 7 8; do (echo x >{other}/f) 2>/dev/null && exit 7; "
            "echo tick; sleep 0.1; done; exit 8")
    ours, theirs = os.pipe()
    child = user.start([os.path.join(names.FOLDER, "srt"), "-d", "-s", file, "--control-fd",
                          str(ours), "-c", loop], env=names.env(), cwd=work, pass_fds=[ours],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(ours)
    child.stdout.readline()
    for line in ("nonsense", '{"filesystem": {"allowWriet": []}}',
                 '{"filesystem": {"allowWrite": ["%s"]}}' % other):
        os.write(theirs, line.encode() + b"\n")
    out, err = child.communicate(timeout=30)
    os.close(theirs)
    reported = err.decode().count("the old settings stay in force")
    t.ok(reported == 2 and b"allowWriet" in err, "what is wrong is reported in the debug log", err)
    t.ok(child.returncode in (7, 8), "a change, as far as the running command can be given it", err)
    t.ok(child.returncode == 7 or b"with the next command" in err, "it counts, or is said to wait", err)
    r = srt(user, "--control-fd", "99", "echo ran")
    t.ok(r.status == 1 and r.out == "" and "99" in r.err, "no such descriptor", r)


def test_debug(user, t):
    secret = "hunter2"
    user.write(user.home + "/.srt-settings.json", """{
  "network": { "allowedDomains": ["a.example", "b.example"], "httpProxyPort": 3128,
               "socksProxyPort": 1080,
               "parentProxy": { "http": "http://me:%s@proxy.example:8080" } },
  "filesystem": { "denyRead": ["~/.ssh"], "allowWrite": ["."] },
  "ignoreViolations": { "*": ["quiet-one"] }
}""" % secret)
    work = user.folder()
    user.write(user.home + "/quiet-one", "")
    r = srt(user, "-d", f": {secret}; echo >~/loud-one; echo >~/quiet-one", cwd=work,
            env={"TOKEN": secret})
    t.ok(".srt-settings.json" in r.err and "2 hosts allowed" in r.err and "3128" in r.err and
         "1080" in r.err and "8080" in r.err, "settings, restrictions, others' ports", r)
    t.ok(secret not in r.err and "a.example" not in r.err, "nothing secret", r)
    denied = [line for line in r.err.split("\n") if line.startswith("srt: ")]
    t.ok(len(denied) == 1 and "loud-one" in denied[0], "denials, except ignored ones", r)
    r = srt(user, "true", cwd=work)
    t.equal((r.status, r.err), (0, ""), "nothing of it unless asked")


def main():
    test_links()
    for_everybody([test_spec_commands, test_sandbox_exec_options, test_sandbox_exec_mistakes, test_nested,
                   test_named_profiles, test_verbose, test_background, test_outsiders, test_stopping, test_caller, test_srt_settings, test_srt_command,
                   test_srt_tmpdir, test_srt_reads, test_srt_without_variables, test_srt_pipe,
                   test_srt_mistakes, test_others_proxies, test_control_fd, test_debug])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
