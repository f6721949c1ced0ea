#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes: starting programs, signals, and interprocess communication. Prints TAP.

    tests/e2e/e2e-process.py [TEST…]

Tests every promise about them in docs/threat-model.md with real programs and with attackers
(tests/escape). Traps 10 and 13 are test_race and test_outside. As root, everything runs as root and as
an ordinary user. Outside processes only ever get signal 0.
"""

import json
import os
import pwd
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap
from world import World, escape, people, tool

SECONDS = os.environ.get("RACE_SECONDS", "0.5" if os.environ.get("SLOW") else "2")
OPEN = "(version 1)\n(allow default)\n"
FORMS = ["execve", "execveat", "fexecve", "execveat O_PATH", "by descriptor", "by link",
         "from a thread", "vfork", "posix_spawn", "guessed pass"]
NO_PIDS = {"BUCKLE_PRETEND": "pid_ns=0,mount_proc=0"}


def put(who, path, text, mode=0o755):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    who.own(path)
    return path


def copied(who, source, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(source, path)
    os.chmod(path, 0o755)
    who.own(path)
    return path


def run(who, world, profile, argv, *options, **how):
    return who.boxed(argv, world, ["--profile", world.profile(profile), *options], **how)


def check(who, done, want, what):
    """Checks an attacker's report, line by line."""
    got = done.lines()
    wrong = [f"{name}: wanted {outcome}, got {got.get(name)}" for name, outcome in want.items()
             if got.get(name) not in (outcome if isinstance(outcome, tuple) else (outcome,))]
    tap.ok(not wrong, f"{who.name}: {what} ({len(want)} outcomes)", *wrong, done)


def events(who, world, profile, argv, **how):
    """(outcome, [(operation, path)]) of a run, from its events."""
    done = run(who, world, profile, argv, "--report", "json", **how)
    reported = [json.loads(line[line.index('{"time"'):]) for line in done.err.splitlines()
            if '{"time"' in line]
    seen = [(e["operation"], e.get("path", e.get("target"))) for e in reported if "operation" in e]
    return done, seen


# ---- starting programs ----


def test_forms(who):
    """Every way to start a program, with an allowed and a denied program."""
    world = World(who)
    good, bad = (copied(who, tool("escape"), path("program")) for path in (world.path, world.out))
    policy = OPEN + '(deny process-exec (subpath "{outside}"))'
    check(who, run(who, world, policy, escape("exec-forms", bad), "--report", "none"),
          {form: "EPERM" for form in FORMS}, "a denied program starts in no form")
    check(who, run(who, world, policy, escape("exec-forms", good), "--report", "none"),
          {form: "ok" for form in FORMS + ["from memory"]}, "an allowed one starts in all")
    check(who, run(who, world, policy, escape("exec-forms", bad), "--report", "none", env=NO_PIDS),
          {form: "EPERM" for form in FORMS}, "nor without a pid namespace")
    # only the listed programs: neither copies in memory nor other files
    listed = OPEN + ('(deny process-exec)\n(allow process-exec (subpath "{inside}")'
                     f' (literal "{tool("escape")}"))')
    done = run(who, world, listed, escape("exec-forms", bad), "--report", "none")
    check(who, done, {**{form: "EPERM" for form in FORMS}, "from memory": "EPERM"},
          "with a list of what may start, nothing else does")
    check(who, run(who, world, listed, escape("exec-forms", good), "--report", "none"),
          {form: "ok" for form in FORMS}, "and what is listed does")


def race_to_start(who, world, policy, name, word="linger", link=False):
    """One race to start a denied program: how many started, and how many of these were permitted."""
    log = put(who, world.path("log"), "", 0o666)
    programs = [world.path("swap/run")] * 2 if link else [world.path("run"), world.out("run")]
    other = link and who.start(escape("race-link-flip", 60, world.inside, world.outside), world.inside)
    done = run(who, world, policy, escape(name, *programs, log, SECONDS, word), "--report", "none",
               "--wait", timeout=60)
    if other:
        other.kill()
        other.communicate()
    check(who, done, {"started": "some", "refused": "some"}, f"10: {name} {word}: was run")
    with open(log) as f:
        reported = f.read().split()
    return reported.count("started"), reported.count("survived"), done


def test_race(who):
    """Trap 10: execve() reads its path again after the judge has."""
    world = World(who)
    for path in (world.path, world.out):
        copied(who, tool("escape"), path("run"))
    policy = OPEN + '(deny process-exec (subpath "{outside}"))'
    for what, how in {
            "what starts by a race is killed": ["exec-race"],
            "also while others ask": ["exec-race-beside"],
            "and so are its children when they ask": ["exec-race", "linger-fork"],
            "also by descriptor": ["exec-race-descriptor"],
            "also by way of a link": ["exec-race", "linger", True]}.items():
        begun, survived, done = race_to_start(who, world, policy, *how)
        tap.ok(survived == 0, f"{who.name}: 10: {what} ({begun} started)", f"{survived} survived",
               done)
    walled = OPEN + ('(deny process-exec)\n(allow process-exec (subpath "{inside}") '
                     f'(literal "{tool("escape")}"))')
    for how in (["exec-race"], ["exec-race-descriptor"], ["exec-race", "linger", True]):
        begun, survived, done = race_to_start(who, world, walled, *how)
        tap.ok(begun == 0, f"{who.name}: 10: where folders bound what may run nothing else starts",
               f"{begun} started, {survived} survived", done)


def test_scripts(who):
    world = World(who)
    sh = os.path.realpath("/bin/sh")
    one = put(who, world.path("one"), "#!/bin/sh\necho one $1\n")
    two = put(who, world.path("two"), f"#!{one} x\n")
    spaces = put(who, world.path("spaces"), "#! \t /bin/sh -e\necho spaces\n")
    plain = put(who, world.path("plain"), "echo plain\n")
    deny_sh = OPEN + f'(deny process-exec-interpreter (literal "{sh}"))'
    for script in (one, two, spaces):
        done = run(who, world, deny_sh, ["bash", "-c", f"{script}; echo $?"], "--report", "none")
        tap.ok(done.out == "126\n", f"{who.name}: no interpreter, no script: "
               f"{os.path.basename(script)}", done)
    done, seen = events(who, world, deny_sh, ["bash", "-c", f"sh -c 'echo direct'; {one}; true"])
    tap.ok(done.out == "direct\n" and seen == [("process-exec-interpreter", sh)],
           f"{who.name}: by itself the interpreter runs; as one it is denied, and reported", done,
           seen)
    only_as_one = OPEN + f'(deny process-exec (literal "{sh}"))' \
        f'(allow process-exec-interpreter (literal "{sh}"))'
    done = run(who, world, only_as_one, ["bash", "-c", f"{one} a; {two}; {spaces}; sh -c 'echo no'"],
               "--report", "none")
    tap.ok(done.out.split("\n")[:3] == ["one a", "one x", "spaces"] and "no\n" not in done.out,
           f"{who.name}: as an interpreter it runs; by itself it is denied", done)
    denied = OPEN + '(deny process-exec (literal "{inside}/one"))'
    done = run(who, world, denied, ["bash", "-c", f"{one}; echo $?; {two}; echo $?; bash {one}"],
               "--report", "none")
    tap.ok(done.out.split() == ["126", "126", "one"],
           f"{who.name}: a script that is denied can only be read", done)
    done = run(who, world, OPEN + '(deny process-exec (literal "/none"))', ["bash", "-c", plain],
               "--report", "none")
    tap.equal(done.out, "plain\n", f"{who.name}: a file without a first line goes to the shell")


def test_first(who):
    """The command itself starts before the judge answers calls."""
    world = World(who)
    true = os.path.realpath(shutil.which("true"))
    done, seen = events(who, world, OPEN + f'(deny process-exec (literal "{true}"))', ["true"])
    tap.ok(done.status == 126 and "cannot run true" in done.err and
           seen == [("process-exec*", true)], f"{who.name}: a command that is denied", done, seen)
    some = OPEN + '(deny process-exec (literal "/nobody"))'
    for argv, status, what in ((["true"], 0, "by name"), ([true], 0, "by path"),
                               (["./local"], 0, "from here"), (["nowhere-to-be-found"], 127, "none"),
                               (["./folder"], 126, "a folder")):
        os.makedirs(world.path("folder"), exist_ok=True)
        put(who, world.path("local"), "#!/bin/sh\nexit 0\n")
        done = run(who, world, some, argv, env={"PATH": "/usr/bin:/bin"})
        tap.ok(done.status == status, f"{who.name}: judged command: {what}", done)
    done = run(who, world, some, ["sh", "-c", "echo $0 $1; pwd", "a b", "c"])
    tap.equal(done.out, f"a b c\n{world.inside}\n", f"{who.name}: arguments and working directory")
    # dynamic programs need their loader, which no rule names
    listed = "(version 1)\n(deny default)\n(allow file-read* file-write-data process-fork sysctl-read)\n" \
             '(allow process-exec (subpath "/usr/bin") (subpath "/bin"))'
    done = run(who, world, listed, ["sh", "-c", "ls /usr/bin >/dev/null && env -i /bin/echo fine; "
                                    "cp /bin/true copy 2>/dev/null; ./local"], "--report", "none")
    tap.ok(done.out == "fine\n" and done.status == 126,
           f"{who.name}: a wall around programs leaves the loader", done)
    done = run(who, world, listed, [os.path.realpath("/lib64/ld-linux-x86-64.so.2"), "/bin/true"],
               "--report", "none")
    if os.uname().machine == "x86_64":
        tap.ok(done.status == 126, f"{who.name}: but not as a program of its own", done)


PROGRAMS = {
    "python3": ["python3", "-c", "import subprocess as s, os\n"
                "print(s.run(['{good}'], stdout=-1).returncode)\n"
                "try: s.run(['{bad}'])\nexcept PermissionError as e: print(e.errno)\n"
                "print(os.waitstatus_to_exitcode(os.system('{good}')))\n"
                "p = os.posix_spawn('{good}', ['a'], os.environ); print(os.waitpid(p, 0)[1])"],
    "perl": ["perl", "-e", "print system('{good}'), \"\\n\"; system('{bad}'); print $!+0, \"\\n\"; "
             "print `{good}` eq '' ? 0 : 1, \"\\n\", 0, \"\\n\""],
    "node": ["node", "-e", "const c = require('child_process');\n"
             "console.log(c.spawnSync('{good}').status);\n"
             "console.log(c.spawnSync('{bad}').error.errno == -1 ? 1 : 'no');\n"
             "console.log(c.spawnSync('{good}', {{shell: true}}).status);\n"
             "c.execFile('{good}', (e) => console.log(e ? 'no' : 0))"],
}
JAVA = """import java.io.IOException;
class Spawn {
    public static void main(String[] a) throws Exception {
        System.out.println(new ProcessBuilder(a[0]).start().waitFor());
        try { new ProcessBuilder(a[1]).start().waitFor(); System.out.println("no"); }
        catch (IOException e) { System.out.println(1); }
        System.out.println(Runtime.getRuntime().exec(new String[] {"/bin/sh", "-c", a[0]}).waitFor());
        System.out.println(new ProcessBuilder(a[0]).inheritIO().start().waitFor());
    }
}
"""
GO = """package main
import ("errors"; "fmt"; "os"; "os/exec"; "syscall"; "time")
func main() {
    fmt.Println(exec.Command(os.Args[1]).Run() == nil)
    fmt.Println(errors.Is(exec.Command(os.Args[2]).Run(), syscall.EPERM))
    sleeping := exec.Command("sleep", "60")
    fmt.Println(sleeping.Start() == nil && sleeping.Process.Kill() == nil)
    err := sleeping.Wait()
    fmt.Println(err != nil)
    for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); { go func() {}() }
}
"""


def test_languages(who):
    """How language runtimes start programs: posix_spawn, vfork, clone with its own stack, a helper."""
    world = World(who)
    good, bad = (put(who, path("tool"), "#!/bin/sh\nexit 0\n") for path in (world.path, world.out))
    policy = OPEN + '(deny process-exec (subpath "{outside}"))\n' \
        "(deny signal)\n(allow signal (target self))\n(allow signal (target children))"
    for name, argv in PROGRAMS.items():
        if not shutil.which(name):
            tap.skip(f"{name} is not installed")
            continue
        done = run(who, world, policy, [a.format(good=good, bad=bad) for a in argv], "--report",
                   "none", timeout=60)
        tap.equal(done.out.split(), ["0", "1", "0", "0"], f"{who.name}: {name} starts programs")
        if done.out.split() != ["0", "1", "0", "0"]:
            print("#", done)
    if shutil.which("java"):
        put(who, world.path("Spawn.java"), JAVA)
        done = run(who, world, policy, ["java", "-XX:TieredStopAtLevel=1", "Spawn.java", good, bad],
                   "--report", "none", timeout=120)
        tap.ok(done.out.split() == ["0", "1", "0", "0"], f"{who.name}: java starts programs", done)
    else:
        tap.skip("java is not installed")
    go_program(who, world, policy, good, bad)


def go_program(who, world, policy, good, bad):
    if not shutil.which("go"):
        tap.skip("go is not installed")
        return
    put(who, world.path("spawn.go"), GO)
    env = {"GOCACHE": os.path.join(who.home, "go-cache"), "GOFLAGS": "-mod=mod", "GO111MODULE": "off",
           "GOPATH": os.path.join(who.home, "go")}
    made = who.run(["go", "build", "-o", world.path("spawn"), world.path("spawn.go")], world.inside,
                   timeout=300, env=env)
    if made.status:
        tap.skip("go does not build for everybody here")
        return
    done = run(who, world, policy, [world.path("spawn"), good, bad], "--report", "none", timeout=60)
    tap.ok(done.out.split() == ["true"] * 4,
           f"{who.name}: go starts and kills programs, and its own signals reach it", done)


def test_who(who):
    """Rules about the acting program, and about its user."""
    world = World(who)
    secret, cat = world.out("victim"), os.path.realpath(shutil.which("cat"))
    for what, policy in (
            ("reading", OPEN + f'(deny file-read-data (require-all (subpath "{{outside}}") '
             f'(process-path "{cat}")))'),
            ("writing", OPEN + f'(deny file-write* (require-all (subpath "{{outside}}") '
             '(process-path-regex #"/tee$")))')):
        script = f"cat {secret}; head -c 100 {secret}; echo x | tee {secret} >/dev/null; " \
            f"echo original | dd of={secret} bs=8 count=1 2>/dev/null; echo"
        done = run(who, world, policy, ["sh", "-c", script], "--report", "none")
        want = "original\n" if what == "reading" else "originaloriginal\n"
        with open(secret) as f:
            left = f.read()
        tap.ok(done.out == want and left == "original" and "not permitted" in done.err,
               f"{who.name}: {what} by one program only", done, left)
    me = OPEN + f'(deny file-write* (require-all (subpath "{{outside}}") (uid {who.uid})))'
    other = OPEN + f'(deny file-write* (require-all (subpath "{{outside}}") (uid {who.uid + 1})))'
    tap.ok(run(who, world, me, ["touch", secret], "--report", "none").status == 1 and
           run(who, world, other, ["touch", secret]).status == 0, f"{who.name}: by who it is")
    if who.uid == 0:
        done = run(who, world, OPEN + '(deny process-fork (uid 1000))',
                   ["sh", "-c", "true; python3 -c 'import os; os.setuid(1000)\n"
                    "try: os.fork(); print(1)\nexcept PermissionError: print(2)'"], "--report", "none")
        tap.equal(done.out, "2\n", "root: by whom it became")


def test_fork(who):
    world = World(who)
    forms = ["clone", "clone without signal", "vfork"] + (
        ["fork"] if os.uname().machine == "x86_64" else [])
    done = run(who, world, OPEN + "(deny process-fork)", escape("fork-forms"), "--report", "none")
    check(who, done, {**{form: "EPERM" for form in forms}, "clone3": "ENOSYS", "thread": "ok"},
          "no processes, but threads")
    check(who, run(who, world, OPEN, escape("fork-forms"), "--report", "none"),
          {**{form: "ok" for form in forms}, "thread": "ok"}, "both where nothing is denied")
    done, seen = events(who, world, OPEN + "(deny process-fork)", ["sh", "-c", "true; (true)"])
    tap.ok([s[0] for s in seen] == ["process-fork"], f"{who.name}: a fork that is denied is reported",
           done, seen)
    done = run(who, world, OPEN + "(deny process-fork)", escape("fork-forms"), "--accept-weaker",
               env={"BUCKLE_PRETEND": "seccomp_notify=0"})
    check(who, done, {**{form: "EPERM" for form in forms}, "thread": "ok"},
          "the filter alone denies it as well")


# ---- signals ----

WAYS = ["kill", "tkill", "tgkill", "sigqueue", "tgsigqueue", "F_SETOWN"]
REFUSED = {"pidfd": "ENOSYS", "F_SETOWN_EX": "EINVAL", "F_SETSIG": "EPERM", "FIOSETOWN": "EPERM"}
NEAR = ["self", "child", "child elsewhere", "grandchild"]
FAR = ["orphan", "other"]


def outcomes(who_is, outcome, ways=WAYS):
    return {f"{one} {way}": outcome for one in who_is for way in ways}


def signals(who, world, rules, **how):
    """The attacker, next to an unrelated process."""
    script = 'set -m; sleep 60 & other=$!; set +m; "$0" signals $other $other; kill $other'
    policy = OPEN + rules
    return run(who, world, policy, ["bash", "-c", script, tool("escape")], "--report", "none", **how)


def test_signals(who):
    world = World(who)
    # permission to signal children does not cover other processes, not even siblings of children
    for env, what in ((None, ""), (NO_PIDS, ", without a pid namespace")):
        options = {"env": env} if env else {}
        done = signals(who, world, "(deny signal)(allow signal (target children) (target self))",
                       **options)
        check(who, done, {**outcomes(NEAR, "ok"), **outcomes(FAR, "EPERM"),
                          **{f"{one} {way}": err for one in NEAR + FAR for way, err in REFUSED.items()},
                          "own group": "EPERM", "child's group": "ok", "other's group": "EPERM",
                          "everybody": "EPERM", "nobody": "ESRCH", "bad signal": "EINVAL"},
              "signals to children only" + what)
    done = signals(who, world, "(deny signal)(allow signal (target pgrp))")
    check(who, done, {**outcomes(["self", "child", "grandchild", "orphan"], "ok"),
                      **outcomes(["child elsewhere", "other"], "EPERM"), "own group": "ok",
                      "child's group": "EPERM", "other's group": "EPERM", "everybody": "EPERM"},
          "signals to the group only")
    done = signals(who, world, "(deny signal)(allow signal (target same-sandbox))")
    ways = WAYS + (["pidfd", "F_SETOWN_EX", "F_SETSIG", "FIOSETOWN"] if who.among_each_other else [])
    check(who, done, {**outcomes(NEAR + FAR, "ok", ways), "own group": "ok", "everybody": "ok"},
          "signals among each other are not asked about")
    done = signals(who, world, "(deny signal)")
    check(who, done, {**outcomes(["child", "other"], "EPERM"), "everybody": "EPERM"},
          "no signals")


def test_signal_numbers(who):
    world = World(who)
    policy = OPEN + "(deny signal)(allow signal (target self))" \
        "(allow signal (require-all (target children) (signal-number SIGTERM SIGIO)))"
    done = run(who, world, policy, escape("signal-numbers"), "--report", "none")
    check(who, done, {"TERM": "ok", "IO": "ok", "USR1": "EPERM", "RTMIN+1": "EPERM", "KILL": "EPERM"},
          "by number")
    done, seen = events(who, world, OPEN + "(deny signal (signal-number SIGUSR1))",
                        ["bash", "-c", "kill -USR1 $$; echo alive"])
    tap.ok(done.out == "alive\n" and len(seen) == 1 and seen[0][0] == "signal" and
           seen[0][1].startswith("SIGUSR1 to itself"), f"{who.name}: a denied signal is reported", done,
           seen)
    # the receiver learns the sender
    catch = "import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {10})\npid = os.fork()\n" \
        "if pid == 0:\n  os.kill(os.getppid(), 10); os._exit(0)\n" \
        "got = signal.sigwaitinfo({10})\nprint(got.si_pid == pid, got.si_code == 0)"
    done = run(who, world, OPEN + "(deny signal (target children))", ["python3", "-c", catch])
    tap.equal(done.out, "True True\n", f"{who.name}: a judged signal says who sent it")


def test_outside(who):
    """Trap 13: signals never reach outside processes, whatever the rules say."""
    world = World(who)
    victim = who.start(["sleep", "60"], world.inside)
    try:
        ask = f"kill -0 {victim.pid} 2>/dev/null && echo reached; renice -n 5 {victim.pid} " \
            f">/dev/null 2>&1 && echo reniced; taskset -p 1 {victim.pid} >/dev/null 2>&1 && echo moved"
        for rules in ("(deny signal)(allow signal (target same-sandbox))"
                      "(deny system-sched)(allow system-sched (target same-sandbox))",
                      "(deny signal)(allow signal (target children) (target self))"
                      "(deny system-sched)(allow system-sched (target self))"):
            for env in ({}, NO_PIDS):
                done = run(who, world, OPEN + rules, ["bash", "-c", ask + "; true"], "--report",
                           "none", env=env)
                tap.ok(done.out == "" and done.status == 0,
                       f"{who.name}: 13: out of reach{' without a pid namespace' if env else ''}: "
                       f"{rules.split('(')[-2].strip()}", done)
    finally:
        victim.kill()
        victim.wait()


GROUP = """import os, signal, subprocess, sys, time
os.setsid()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGUSR2})
beside = subprocess.Popen([sys.executable, "-c", "import signal, sys; print(flush=True); "
    "got = signal.sigtimedwait({signal.SIGUSR1}, 20); sys.exit(got is not None)"], stdout=-1)
beside.stdout.readline()
inside = "import os, signal, sys\\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})\\n" \
    "pid = os.fork()\\n" \
    "if pid == 0: os._exit(signal.sigtimedwait({signal.SIGUSR1}, 10) is not None)\\n" \
    "os.kill(0, signal.SIGUSR1)\\n" \
    "print('child', os.waitpid(pid, 0)[1] >> 8)\\n" \
    "print('self', signal.sigtimedwait({signal.SIGUSR1}, 1) is not None)\\n" \
    "try: os.setpriority(os.PRIO_PGRP, 0, os.getpriority(os.PRIO_PROCESS, 0))\\n" \
    "except PermissionError: print('no priority')\\n"
done = subprocess.run([*sys.argv[1:], "python3", "-c", inside], stdout=-1)
beside.send_signal(signal.SIGTERM)
print(done.stdout.decode().split(), beside.wait() == -signal.SIGTERM)
"""


def test_own_group(who):
    """The command is in its parent's process group, but signals to group 0 stay inside the sandbox."""
    world = World(who)
    for rules in ("(deny signal system-sched)(allow signal system-sched (target same-sandbox))",
                  "(deny signal system-sched)(allow signal (target children) (target self))"):
        profile = world.profile(OPEN + rules)
        for env in ({}, {"BUCKLE_PRETEND": "landlock=5"}, NO_PIDS):
            done = who.run(["python3", "-c", GROUP, who.buckle(), "run", "--profile", profile,
                            "--report", "none", "--"], world.inside, env=env, timeout=60)
            tap.ok(done.out == "['child', '1', 'self', 'True', 'no', 'priority'] True\n",
                   f"{who.name}: kill(0) stays inside {env} {rules[-40:]}", done)


def test_sched(who):
    world = World(who)
    mine = {"priority of itself": "ok", "affinity of itself": "ok", "priority of child": "ok"}
    done = signals(who, world, "(deny system-sched)(allow system-sched (target self)"
                   " (target children))")
    check(who, done, {**mine, "priority of other": "EPERM", "priority of everybody": "EPERM",
                      "affinity of other": "EPERM"}, "scheduling of oneself and children")
    done = signals(who, world, "(deny system-sched)(allow system-sched (target same-sandbox))")
    check(who, done, {**mine, "priority of other": "ok", "affinity of other": "ok"},
          "scheduling of each other")
    done = signals(who, world, "(deny system-sched)")
    check(who, done, dict.fromkeys(mine, "EPERM"), "no scheduling")


# ---- code ----


def test_code(who):
    world = World(who)
    good, bad = (copied(who, tool("escape"), path("lib")) for path in (world.path, world.out))
    files = OPEN + '(deny file-map-executable (subpath "{outside}"))'
    made = {"anonymous": "ok", "anonymous to write": "ok", "data made executable": "ok", "data": "ok",
            "file to read": "ok"}
    check(who, run(who, world, files, escape("map", bad), "--report", "none"),
          {**made, "file": "EPERM", "file made executable": "EPERM",
           "file made executable by key": "EPERM", "personality": "EPERM"}, "code from denied files")
    check(who, run(who, world, files, escape("map", good), "--report", "none"),
          {**made, "file": "ok", "file made executable": "ok", "memory file": "ok"},
          "code from others")
    none = OPEN + "(deny dynamic-code-generation)"
    check(who, run(who, world, none, escape("map", good), "--report", "none"),
          {"file": "ok", "data": "ok", "anonymous": "EPERM", "anonymous to write": "EPERM",
           "data made executable": "EPERM", "shared to write": "EPERM", "personality": "EPERM",
           "file made executable": "ok"}, "no code but that of files")
    done, seen = events(who, world, files, escape("map", bad))
    tap.ok(("file-map-executable", bad) in seen, f"{who.name}: code that is denied is reported", seen)
    # programs continue: their code and libraries are in system paths
    done = run(who, world, files, ["python3", "-c", "import ctypes, ssl, sqlite3; print('fine')"])
    tap.equal(done.out, "fine\n", f"{who.name}: libraries are loaded where they may be")
    done = run(who, world, OPEN + '(deny file-map-executable)(allow file-map-executable (subpath '
               '"/lib") (subpath "/usr") (subpath "/root"))', ["sh", "-c", "ls / >/dev/null; echo fine"])
    tap.equal(done.out, "fine\n", f"{who.name}: with a list of folders for libraries")


# ---- objects ----

SYSV = {"shm": ["shmget", "shmat", "shmctl"], "sem": ["semget", "semop", "semctl"],
        "msg": ["msgget", "msgsnd", "msgrcv", "msgctl"]}
POSIX = r"""
import ctypes, ctypes.util, os, sys
c = ctypes.CDLL(None, use_errno=True)
c.sem_open.restype = ctypes.c_void_p
def tell(what, good):
    print(f"{what}: {'ok' if good else os.strerror(ctypes.get_errno())}")
for name in sys.argv[1:]:
    n = name.encode()
    fd = c.shm_open(n, os.O_RDWR | os.O_CREAT, 0o600)
    tell(f"shm {name}", fd >= 0)
    fd = c.shm_open(n, os.O_RDWR, 0)
    tell(f"shm again {name}", fd >= 0)
    tell(f"shm unlink {name}", c.shm_unlink(n) == 0)
    sem = c.sem_open(n, os.O_CREAT | os.O_EXCL, 0o600, 1)
    tell(f"sem {name}", sem)
    tell(f"sem wait {name}", sem and c.sem_wait(ctypes.c_void_p(sem)) == 0)
    tell(f"sem unlink {name}", c.sem_unlink(n) == 0)
    q = c.mq_open(n, os.O_RDWR | os.O_CREAT, 0o600, None)
    tell(f"mq {name}", q >= 0)
    tell(f"mq unlink {name}", c.mq_unlink(n) == 0)
"""


def test_sysv(who):
    world = World(who)
    check(who, run(who, world, OPEN, escape("sysv"), "--report", "none"),
          {call: "ok" for calls in SYSV.values() for call in calls}, "System V objects")
    for kind, calls in SYSV.items():
        done = run(who, world, OPEN + f"(deny ipc-sysv-{kind})", escape("sysv"), "--report", "none")
        check(who, done, {call: "EPERM" if call in calls else "ok"
                          for some in SYSV.values() for call in some}, f"System V, without {kind}")
    done, seen = events(who, world, OPEN + "(deny ipc-sysv*)", ["ipcmk", "-S", "1"])
    tap.ok(seen == [("ipc-sysv-sem", "semget")], f"{who.name}: a denied object is reported", done, seen)


def is_refused(who, what):
    return what.startswith("mq") and not who.queues_by_name


def test_posix(who):
    world = World(who)
    argv = ["python3", "-c", POSIX, "/one", "/two"]
    # what could not be created does not exist; and mq_unlink() has its own error
    denied = ("Operation not permitted", "No such file or directory", "Permission denied")
    what = [f"{kind} {name}" for name in ("/one", "/two")
            for kind in ("shm", "shm again", "shm unlink", "sem", "sem wait", "sem unlink", "mq",
                         "mq unlink")]
    check(who, run(who, world, OPEN, argv), {w: "ok" for w in what}, "POSIX objects")
    for spelling in ("/two", "two"):
        done = run(who, world, OPEN + f'(deny ipc-posix* (ipc-posix-name "{spelling}"))', argv,
                   "--report", "none")
        check(who, done, {w: denied if w.endswith("/two") or is_refused(who, w) else "ok"
                          for w in what if w != "sem wait /two"}, f"POSIX objects but {spelling}")
    done = run(who, world, OPEN + '(deny ipc-posix*)(allow ipc-posix* (ipc-posix-name "/one"))',
               argv, "--report", "none")
    check(who, done, {w: denied if w.endswith("/two") or is_refused(who, w) else "ok"
                      for w in what if "wait" not in w}, "POSIX objects by name")
    done = run(who, world, OPEN + "(deny ipc-posix-sem*)", argv, "--report", "none")
    check(who, done, {w: denied if w.startswith("sem") and "wait" not in w else "ok"
                      for w in what if "wait" not in w}, "POSIX objects without semaphores")
    for op, call in (("shm-write-unlink", "shm unlink"), ("shm-write-data", "shm"),
                     ("sem-unlink", "sem unlink"), ("sem-create", "sem"),
                     ("shm-write-create", "shm")):
        done = run(who, world, OPEN + f'(deny ipc-posix-{op} (ipc-posix-name "/two"))', argv,
                   "--report", "none")
        check(who, done, {f"{call} /one": "ok", f"{call} /two": (denied[0], denied[2]),
                          "mq /two": "ok"}, f"POSIX objects: {op} by name")
    done, seen = events(who, world, OPEN + '(deny ipc-posix-shm-write-create '
                        '(ipc-posix-name "/two"))', argv)
    tap.ok(seen == [("ipc-posix-shm-write-create", "/two")], f"{who.name}: by its name", done, seen)


CLOSED = "(version 1)\n(deny default)\n(import \"bsd.sb\")\n(allow process-exec process-fork)\n(allow file-read*)\n"
SEMAPHORES = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.sem_open.restype = ctypes.c_void_p
for name in sys.argv[1:]:
    made = libc.sem_open(name.encode(), os.O_CREAT, 0o600, 1)
    done = made and [libc.sem_wait(ctypes.c_void_p(made)), libc.sem_post(ctypes.c_void_p(made)),
                     libc.sem_open(name.encode(), 0) is None, libc.sem_unlink(name.encode())]
    print(f"{name}: {'ok' if made and not any(done) else done or 'no'}")
for file in ("sem", "other", "sem.a/b"):
    try:
        open("/dev/shm/" + file, "w").close()
        print(f"{file}: made")
    except OSError:
        print(f"{file}: no")
"""


def test_semaphores(who):
    """Permission for semaphores is enough: elsewhere they are no files."""
    world = World(who)
    argv = ["python3", "-c", SEMAPHORES, "/one", "/two"]
    files = {"sem": "no", "other": "no", "sem.a/b": "no"}
    for rules, one, two, what in (
            ("(allow ipc-posix-sem)", "ok", "ok", "allowed"),
            ("(allow ipc-posix-sem*)", "ok", "ok", "allowed with their children"),
            ('(allow ipc-posix-sem (ipc-posix-name "/one"))', "ok", "no", "one of them"),
            ("", "no", "no", "not allowed"),
            ('(allow ipc-posix-sem)(deny file-write* (subpath "/dev/shm"))', "no", "no",
             "allowed where the files are denied by name")):
        for env in ({}, NO_PIDS, {"BUCKLE_PRETEND": "landlock=0"}):
            done = run(who, world, CLOSED + rules, argv, "--report", "none", "--accept-weaker", env=env)
            check(who, done, {"/one": one, "/two": two, **files}, f"semaphores: {what} {env}")


def test_signal_words(who):
    """A denied signal names the program that it was for."""
    world = World(who)
    done, seen = events(who, world, OPEN + "(deny signal)",
                        ["bash", "-c", "sleep 0.5 & while [ $(readlink /proc/$!/exe) = $(readlink /proc/$$/exe) ]; "
                                       "do :; done; kill -USR1 $!"])
    tap.ok(len(seen) == 1 and seen[0][0] == "signal" and seen[0][1].startswith("SIGUSR1 to child ") and
           seen[0][1].endswith(" (sleep)"), f"{who.name}: a denied signal names the program", done, seen)


# A /dev with message queues, mounted by root; then a user runs a command there.
QUEUES = """set -e
mount --make-rprivate /
mount -t tmpfs none "$1"
for name in null zero full random urandom tty; do
    touch "$1/$name"; mount --bind /dev/$name "$1/$name"
done
mkdir -m 1777 "$1/shm" "$1/mqueue" "$1/pts"
mount -t mqueue none "$1/mqueue"
mount --rbind "$1" /dev
shift
python3 -c 'import ctypes; c = ctypes.CDLL(None); q = c.mq_open(b"/theirs", 0o102, 0o666, None)
import os; os.chmod("/dev/mqueue/theirs", 0o666); c.mq_send(q, b"secret", 6, 1)'
exec "$@"
"""
RECEIVE = """import ctypes, os
c = ctypes.CDLL(None)
try:
    q = os.open("/dev/mqueue/theirs", os.O_RDONLY | os.O_NONBLOCK)
    print("received", c.mq_receive(q, ctypes.create_string_buffer(8192), 8192, None))
except FileNotFoundError:
    print("nothing there")
q = c.mq_open(b"/own", os.O_RDWR | os.O_CREAT, 0o600, None)
print(c.mq_send(q, b"mine", 4, 1), c.mq_receive(q, ctypes.create_string_buffer(8192), 8192, None))
"""


REACH = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_ssize_t
room = ctypes.create_string_buffer(512)
shm, sem, msg, key = map(int, sys.argv[1:])
CREAT, EXCL = 0o1000, 0o2000
def told(*results):
    print(*("ok" if r != -1 else "no" for r in results), flush=True)
told(libc.shmat(shm, None, 0), libc.semctl(sem, 0, 12), libc.msgctl(msg, 2, room),
     libc.semop(sem, room, 1), libc.shmget(key, 1, 0), libc.shmget(key, 1, CREAT | 0o600))
told(*(libc.shmctl(place, command, room) for place in range(9) for command in (13, 15)),
     *(libc.msgctl(place, command, room) for place in range(9) for command in (11, 13)))
own, mine = key + 1, libc.shmget(key + 1, 4096, CREAT | EXCL | 0o600)
told(mine, libc.shmget(own, 4096, CREAT | 0o600))
if os.fork() == 0: # a relative finds it by its key, and by its number
    told(libc.shmat(libc.shmget(own, 4096, 0), None, 0), libc.shmat(mine, None, 0))
    os._exit(0)
os.wait()
told(libc.shmget(own, 4096, CREAT | EXCL), libc.shmctl(mine, 0, None), libc.shmat(mine, None, 0))
for i in range(600): # more than are remembered at a time
    if libc.semctl(libc.semget(0, 1, 0o600), 0, 0) == -1:
        print(i)
"""
# no foreign keys; relatives find the command's own key, until it is removed
REACHED = ["no " * 6, "no " * 36, "ok ok", "ok ok", "no ok no"]


def reached(who, world, env, *options):
    """What the command can do with an outside segment, semaphores and queue."""
    key = 0x62754b00 + who.uid
    made = [who.run(["ipcmk", *kind], world.inside).out.split()[-1]
            for kind in (["-M", "4096"], ["-S", "1"], ["-Q"])]
    keyed = who.run(["/usr/bin/python3", "-c", "import ctypes; print(ctypes.CDLL(None).shmget("
                     f"{key}, 4096, 0o1600))"], world.inside).out.strip()
    try:
        return who.boxed(["/usr/bin/python3", "-c", REACH, *made, str(key)], world,
                         ["--report", "none", *options], env=env)
    finally:
        for kind, number in zip(("-m", "-s", "-q", "-m"), [*made, keyed]):
            who.run(["ipcrm", kind, number], world.inside)


def test_objects_outside(who):
    """Shared memory and queues are private to the sandbox, under any name."""
    world = World(who)
    for env in ({"BUCKLE_PRETEND": "ipc_ns=0"}, {"BUCKLE_PRETEND": "user_ns=0,ipc_ns=0"}):
        done = reached(who, world, env)
        tap.equal(done.out.splitlines(), [line.strip() for line in REACHED],
                  f"{who.name}: no System V object of others {env}")
        check(who, who.boxed(escape("sysv"), world, ["--report", "none"], env=env),
              {call: "ok" for calls in SYSV.values() for call in calls}, f"those of its own {env}")
    done = reached(who, world, {})
    tap.ok(done.out.startswith("no no no no no ok\n"), f"{who.name}: in a namespace nobody has the key",
           done)
    # no policy allows all writing, so there is a judge
    env = {"BUCKLE_PRETEND": "ipc_ns=0"}
    nothing = world.profile("(version 1)(allow default file-write-setugid)")
    done = reached(who, world, env, "--profile", nothing)
    plan = who.run([who.buckle(), "run", "--profile", nothing, "--dry-run", "--", "true"],
                   world.inside, env=env)
    tap.ok(done.out.splitlines()[:1] == [REACHED[0].strip()] and
           "System V objects and message queues of others" not in plan.out,
           f"{who.name}: nor under a policy that restricts nothing", done, plan)
    shared = "/dev/shm/buckle-e2e-" + who.name
    put(who, shared, "theirs", 0o600)
    try:
        for env in ({}, NO_PIDS):
            done = who.boxed(["sh", "-c", f"cat {shared}; echo mine >{shared} && cat {shared}"], world,
                             ["--report", "none"], env=env)
            with open(shared) as f:
                tap.ok(done.out == "mine\n" and f.read() == "theirs",
                       f"{who.name}: a /dev/shm of its own {env}", done)
    finally:
        os.unlink(shared)
    if os.geteuid() != 0:
        tap.skip("only root can mount a /dev/mqueue")
        return
    dev = os.path.join(world.top, "dev")
    os.mkdir(dev)
    become = [] if who.uid == 0 else ["setpriv", f"--reuid={who.uid}", f"--regid={who.uid}",
                                      "--clear-groups"]
    done = subprocess.run(["unshare", "-mi", "bash", "-c", QUEUES, "bash", dev, *become, who.buckle(),
                           "run", "--", "python3", "-c", RECEIVE], cwd=world.inside, env=who.env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    tap.ok(done.stdout == "nothing there\n0 4\n", f"{who.name}: queues of its own", done.stdout,
           done.stderr)


def test_sockets(who):
    world = World(who)
    usual = {"inet": "ok", "inet6": ("ok", "EAFNOSUPPORT"), "unix": "ok"}
    done = run(who, world, OPEN + "(deny system-socket)", escape("families"), "--report", "none")
    check(who, done, {**usual, "netlink": "ok", "vsock": "EAFNOSUPPORT", "alg": "EAFNOSUPPORT"},
          "no unusual sockets")
    done = run(who, world, OPEN + "(deny system-socket)(allow system-socket (socket-domain AF_ROUTE))",
               escape("families"), "--report", "none")
    check(who, done, {**usual, "netlink": "ok", "vsock": "EPERM", "alg": "EPERM"},
          "none except for routes")
    done = run(who, world, OPEN + "(deny system-socket (socket-domain AF_ROUTE))",
               escape("families"), "--report", "none")
    check(who, done, {**usual, "netlink": "EPERM"}, "all except for routes")


# ---- real work under the default profile ----

WORK = """
import multiprocessing as m, multiprocessing.shared_memory as s
def double(x):
    return 2 * x
if __name__ == "__main__":
    with m.Pool(3) as pool:
        print(sum(pool.map(double, range(100))))
    block = s.SharedMemory(create=True, size=100)
    block.buf[0] = 7
    again = s.SharedMemory(block.name)
    print(again.buf[0])
    again.close()
    block.close()
    block.unlink()
    lock, queue = m.Lock(), m.Queue()
    queue.put(1)
    print(queue.get(), m.Manager().list([1, 2])[1])
"""
POSTGRES = """set -e
initdb --no-sync -D data -A trust -U me >/dev/null 2>&1
pg_ctl -D data -w -t 60 -o "-k '$PWD/s' -c listen_addresses= -c fsync=off" -l log start >/dev/null
psql -h "$PWD/s" -U me -d postgres -Atc 'create table t as select * from generate_series(1, 1000) n;
    select sum(n) from t' | tail -1
pg_ctl -D data -w -m fast stop >/dev/null
"""


def test_default(who):
    """What the default profile allows between processes works without a judge."""
    world = World(who)
    plan = who.boxed(["true"], world, ["--dry-run", "--json"])
    calls = {c["name"]: c for c in json.loads(plan.out)["calls"]}
    asked = [name for name in ("kill", "tgkill", "execve", "execveat", "fork", "vfork", "mmap",
                               "mprotect", "shmget", "semop", "mq_open",
                               "sched_setaffinity", "pidfd_send_signal") if name in calls]
    tap.ok(not asked, f"{who.name}: the default profile asks about none of them", asked)
    leases = {test["value"] for test in calls["fcntl"]["tests"]}
    tap.ok(leases == {1024, 1040} and calls["fcntl"]["action"] == "allow",
           f"{who.name}: and of fcntl about leases alone", calls["fcntl"])
    put(who, world.path("work.py"), WORK)
    done = who.boxed(["python3", "work.py"], world, timeout=60)
    tap.ok(done.out.split() == ["9900", "7", "1", "2"], f"{who.name}: multiprocessing", done)
    done = who.boxed(["bash", "-c", "ipcmk -M 4096 -Q -S 2 | wc -l; ipcs -m | grep -c 4096; "
                      "sleep 60 & kill $!; wait $! || echo $?"], world)
    tap.ok(done.out.split() == ["3", "1", "143"], f"{who.name}: objects and jobs of a shell", done)


def test_postgres(who):
    folders = sorted(f"/usr/lib/postgresql/{v}/bin" for v in os.listdir("/usr/lib/postgresql")) \
        if os.path.isdir("/usr/lib/postgresql") else []
    if not folders:
        tap.skip("postgresql is not installed")
        return
    if who.uid == 0:
        return  # it refuses to run as root
    try:
        pwd.getpwuid(who.uid)
    except KeyError:
        return tap.skip("PostgreSQL wants a user that has a name")
    for host in ({}, {"BUCKLE_PRETEND": "ipc_ns=0"}):
        world = World(who)
        os.mkdir(world.path("s"))
        who.own(world.path("s"))
        done = who.boxed(["bash", "-c", POSTGRES], world, timeout=180,
                         env={"PATH": folders[-1] + ":" + who.env["PATH"], **host})
        log = world.path("log")
        tap.ok(done.out == "500500\n" and done.status == 0, f"{who.name}: PostgreSQL {host}", done,
               open(log).read()[-2000:] if os.path.exists(log) else "no log")


TESTS = [test_forms, test_race, test_scripts, test_first, test_languages, test_who, test_fork, test_signals,
         test_signal_numbers, test_outside, test_own_group, test_sched, test_code, test_sysv, test_posix,
         test_semaphores, test_signal_words,
         test_objects_outside, test_sockets,
         test_default, test_postgres]


def main():
    everybody = people()
    named = [t for t in TESTS if not sys.argv[1:] or t.__name__ in sys.argv[1:]]
    for test in named:
        for who in everybody:
            try:
                test(who)
            except (OSError, ValueError, KeyError, subprocess.SubprocessError) as gone:
                tap.ok(False, f"{who.name}: {test.__name__}", repr(gone))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
