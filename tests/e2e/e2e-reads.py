#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Denied reading: by sentry and by judge, whatever happens to the files meanwhile."""

import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import fusable
from running import BUCKLE, eventually, for_everybody, processes
from talking import LOOP, Talker
from tap import done, skip


class Home:
    """A folder with secrets, and one to work in next to it."""

    def __init__(self, user):
        self.user = user
        self.top = user.folder("home")
        self.work = os.path.join(self.top, "work")
        os.mkdir(self.work)
        user.own(self.work)
        self.write(".ssh/id_rsa", "PRIVATE")
        self.write(".ssh/known_hosts", "public")
        self.write(".ssh/sub/id_deep", "DEEP")
        self.write(".netrc", "PASSWORD")
        self.write("plain", "plain")

    def write(self, name, text):
        return self.user.write(os.path.join(self.top, name), text)

    def path(self, name):
        return os.path.join(self.top, name)

    def profile(self, rules, name="reads.sb"):
        return self.write(name, "(version 1)(allow default)(deny network*)\n" +
                          rules.replace("~", self.top))

    def run(self, *words, flags=(), **how):
        return self.user.run(*flags, "--", *words, cwd=self.work, **how)

    def sh(self, script, *flags, **how):
        return self.run("sh", "-c", script, flags=flags, **how)


class Talk(Talker):
    """A shell in a sandbox that answers line by line."""

    def __init__(self, home, *flags, cwd=None, env=None):
        self.home = home
        self.child = home.user.start([BUCKLE, "run", *flags, "--", "sh", "-c", LOOP],
                                       cwd=cwd or home.work, env=env,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def end(self):
        self.child.stdin.close()
        out, err = self.child.stdout.read(), self.child.stderr.read()
        self.child.wait(timeout=30)
        return err.decode(errors="replace")

    def process(self, name):
        """The pid of the sandbox's process of that name."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                    head, rest = f.read().rsplit(")", 1)
            except OSError:
                continue
            if head.endswith("(" + name) and int(rest.split()[1]) == self.child.pid:
                return int(pid)
        return None


def events_of(ran):
    """The events of a report, which programs' own output may surround."""
    found, decoder = [], json.JSONDecoder()
    for begin in re.finditer(r'\{"time"', ran.err):
        found.append(decoder.raw_decode(ran.err, begin.start())[0])
    return found


def uses_sentries(home, *flags):
    r = home.user.call([BUCKLE, "run", "--dry-run", *flags, "--", "true"], cwd=home.work)
    return "\nSentries\n" in r.out


DENY_SSH = ("--deny-read", "~/.ssh/id_*")


def flags_of(home, *words):
    return [w.replace("~", home.top) for w in words]


TIERS = (("sentry", ()), ("judged", ("--strict-reads",)))


def test_tiers_agree(user, t):
    """The same questions, the same answers."""
    rules = """
    (deny file-read-data (regex #"^~/\\.ssh/id_[^/]*$") (literal "~/.netrc") (subpath "~/.aws"))
    (deny file-read-data (subpath "~/open/closed"))"""
    script = """
    for f in .ssh/id_rsa .ssh/known_hosts .ssh/sub/id_deep .netrc .aws/key open/a open/closed/b plain none
    do echo "$f: $(cat ../$f 2>&1)"; echo "$f: $(stat -c '%F %s' ../$f 2>&1)"; done
    for d in .ssh .ssh/sub .aws open open/closed; do echo "$d: $(ls ../$d 2>&1)"; done
    ln -s ../.netrc link; cat link; cd ../.aws && cat key; cd ../.ssh; cat id_rsa known_hosts"""
    home = Home(user)
    home.write(".aws/key", "AWS")
    home.write("open/a", "a")
    home.write("open/closed/b", "B")
    profile = home.profile(rules)
    reported = {}
    for tier, flags in TIERS:
        r = home.sh("rm -f link;" + script, "--profile", profile, "--report", "json", *flags)
        events = events_of(r)
        reported[tier] = (re.sub(r"0x[0-9a-f]+", "", r.out),
                      sorted({(e["operation"], e["path"]) for e in events}))
        t.ok(all(e["pid"] > 1 for e in events) and events, f"{tier}: events have a process", r)
    t.ok(uses_sentries(home, "--profile", profile), "the first is by sentry")
    out = reported["sentry"][0]
    t.equal(reported["judged"], reported["sentry"], "sentry and judge agree")
    for secret in ("PRIVATE", "PASSWORD", "AWS", "B\n"):
        t.ok(secret not in out, f"{secret.strip()} is not read", out)
    for line in (".ssh/known_hosts: public", ".ssh/sub/id_deep: DEEP", "open/a: a", "plain: plain",
                 ".ssh/id_rsa: regular file 7", ".netrc: regular file 8", ".aws/key: regular file 3"):
        t.ok(line in out, line, out)
    denied = {path for op, path in reported["sentry"][1] if op == "file-read-data"}
    t.equal(denied, {home.path(n) for n in (".ssh/id_rsa", ".netrc", ".aws", ".aws/key",
                                            "open/closed", "open/closed/b")}, "each is reported")


def test_metadata(user, t):
    """Under file-read* neither contents nor metadata."""
    home = Home(user)
    profile = home.profile('(deny file-read* (subpath "~/.ssh"))')
    r = home.sh("stat ../.ssh/id_rsa; cat ../.ssh/id_rsa; ls ../.ssh; ls -d ../.ssh; test -e ../.ssh/x; "
                "stat -c %s ../plain", "--profile", profile, "--report", "json")
    t.ok("PRIVATE" not in r.out and r.out == "5\n", "nothing is shown", r)
    events = {(e["operation"], e["path"]) for e in events_of(r)}
    t.ok(("file-read-metadata", home.path(".ssh/id_rsa")) in events, "stat is reported", r)


def test_flags(user, t):
    """--deny-read and --allow-read."""
    home = Home(user)
    flags = flags_of(home, *DENY_SSH, "--deny-read", "~/.netrc")
    t.ok(uses_sentries(home, *flags), "by sentry")
    r = home.sh("cat ../.netrc ../.ssh/id_rsa; cat ../.ssh/known_hosts", *flags)
    t.ok(r.out == "public" and "2 operations were denied" in r.err, "denied by flags", r)


def test_carve_out(user, t):
    """The whole home folder is denied, except the project."""
    home = Home(user)
    home.write("work/mine", "mine")
    home.write("work/secrets/key", "KEY")
    profile = home.profile('(deny file-read* (subpath "~"))(allow file-read* (subpath "~/work"))'
                           '(deny file-read-data (subpath "~/work/secrets"))')
    t.ok(uses_sentries(home, "--profile", profile), "by sentry")
    r = home.sh("cat mine; ls; echo new >made; cat made; mkdir d && mv made d/ && ls d; pwd; "
                f"cat secrets/key; cat ../plain; cat {home.path('work/mine')}", "--profile", profile)
    t.ok(r.out == "mine" + "mine\nsecrets\nnew\nmade\n" + home.work + "\nmine", "the project works", r)
    t.ok(os.path.exists(home.path("work/d/made")), "and is the real one")


def test_writing_below(user, t):
    """Allowed writes behind a sentry go to the real folder."""
    home = Home(user)
    profile = home.profile('(deny file-read-data (regex #"^~/\\.ssh/id_[^/]*$"))')
    script = """cd ../.ssh || exit 9
    echo more >>known_hosts && echo new >fresh && mkdir folder && ln -s fresh soft && ln fresh hard
    mv fresh folder/ && mv folder/fresh ../work/out && mv ../work/out back && chmod 600 back
    touch -d 2001-01-01 back && echo WRITTEN >id_new && truncate -s 2 hard && rm soft
    cat id_new; cat back; echo; rmdir folder; ls"""
    r = home.sh(script, "--profile", profile)
    seen = sorted(os.listdir(home.path(".ssh")))
    t.equal(seen, ["back", "hard", "id_new", "id_rsa", "known_hosts", "sub"], "the real folder", r)
    t.equal(r.out.split(), ["ne", "back", "hard", "id_new", "id_rsa", "known_hosts", "sub"],
            "as the command sees it", r)
    with open(home.path(".ssh/known_hosts"), encoding="utf-8") as f:
        t.equal(f.read(), "publicmore\n", "appended")
    st = os.stat(home.path(".ssh/back"))
    t.ok(st.st_mode & 0o777 == 0o600 and st.st_nlink == 2, "mode and links")


def test_replaced(user, t):
    """An outside process replaces denied files while the command runs."""
    home = Home(user)
    talk = Talk(home, *flags_of(home, "--deny-read", "~/.netrc", "--deny-read", "~/.aws",
                                "--deny-read", "~/.later", "--deny-read", "~/x/y/z"))
    t.ok("not permitted" in talk.ask("cat ../.netrc"), "before")

    def denied(name, secret):
        """Access is denied soon, and stays denied."""
        last = [""]

        def now():
            last[0] = talk.ask(f"cat {home.path(name)}")
            return "not permitted" in last[0]
        return eventually(now, 5) and secret not in talk.ask(f"cat {home.path(name)}")

    home.write("netrc.new", "NEWER")
    os.rename(home.path("netrc.new"), home.path(".netrc"))
    t.ok(denied(".netrc", "NEWER"), "a file that another was renamed over")
    os.unlink(home.path(".netrc"))
    t.ok(eventually(lambda: "No such file" in talk.ask(f"cat {home.path('.netrc')}")), "removed")
    home.write(".netrc", "AGAIN")
    t.ok(denied(".netrc", "AGAIN"), "and made again")

    home.write(".aws/key", "FIRST")
    t.ok(denied(".aws/key", "FIRST"), "a folder that appears")
    home.write("aws.new/key", "SECOND")
    os.rename(home.path(".aws"), home.path("aws.old"))
    os.rename(home.path("aws.new"), home.path(".aws"))
    t.ok(denied(".aws/key", "SECOND"), "a folder that took another's place")
    t.ok("not" not in talk.ask("echo over"), "the command goes on")

    home.write(".later", "LATER")
    t.ok(denied(".later", "LATER"), "a file that appears later")
    home.write("x/y/z/key", "DEEP")
    t.ok(denied("x/y/z/key", "DEEP"), "with its folders")
    os.rename(home.path("x"), home.path("x.old"))
    home.write("x/y/z/key", "DEEPER")
    t.ok(denied("x/y/z/key", "DEEPER"), "whose outermost is replaced")
    t.ok("denied" in talk.end(), "all of it is reported")


def test_shut(user, t):
    """Files behind folders that are inaccessible at first, and become accessible later."""
    if user.uid == 0:
        return  # enters every folder
    for how, env in (("sentry", {}), ("mask", {"BUCKLE_PRETEND": "fuse=0"})):
        home = Home(user)
        folders = {"shut": 0o000, "listed": 0o600, "passed": 0o300}
        flags = ["--deny-read", "~/.first"]
        for folder, mode in folders.items():
            home.write(f"{folder}/in/key", "BEHIND")
            os.chmod(home.path(folder), mode)
            flags += ["--deny-read", f"~/{folder}/in/key", "--deny-read", f"~/{folder}/later"]
        talk = Talk(home, *flags_of(home, *flags), env=env)

        def closed(name, secret, talk=talk, home=home):
            talk.ask(f"cat {home.path(name)}")  # it may still be read for a moment
            return eventually(lambda: secret not in talk.ask(f"cat {home.path(name)}"), 5)
        time.sleep(0.2)
        home.write(".first", "FIRST")
        t.ok(closed(".first", "FIRST"), f"{how}: names are watched by now")
        t.ok(closed("passed/in/key", "BEHIND"), f"{how}: a folder that can be passed through")
        user.sh(f"echo LATER >{home.path('passed/later')}")  # and nothing else changes
        t.ok(closed("passed/later", "LATER"), f"{how}: where something appears")
        for folder in folders:
            os.chmod(home.path(folder), 0o755)
            t.ok(closed(f"{folder}/in/key", "BEHIND"), f"{how}: {folder} is opened")
            home.write(f"{folder}/later", "AFTERWARDS")
            t.ok(closed(f"{folder}/later", "AFTERWARDS"), f"{how}: where something appears")
        talk.end()


def test_own_creations(user, t):
    """Files that the command itself creates under a denied name."""
    home = Home(user)
    profile = home.profile('(deny file-read-data (subpath "~/made") (literal "~/work/token"))')
    talk = Talk(home, "--profile", profile)
    talk.ask("mkdir ../made && echo mine >../made/file; echo mine >token")
    t.ok(eventually(lambda: "not permitted" in talk.ask("cat ../made/file")), "a folder it made")
    t.ok(eventually(lambda: "not permitted" in talk.ask("cat token")), "a file it made")
    t.ok("==0" in talk.ask("echo more >>../made/file && echo more >../made/other"), "it still writes")
    talk.end()
    with open(home.path("made/file"), encoding="utf-8") as f:
        t.equal(f.read(), "mine\nmore\n", "into the real one")


REOPEN = r"""
import os, sys
flags = {"append": os.O_APPEND, "plain": 0, "create": os.O_CREAT, "empty": os.O_TRUNC}
try:
    fd = os.open(sys.argv[1], os.O_WRONLY | flags[sys.argv[2]])
    print("==", os.read(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY), 100))
except OSError as e:
    print("==", e.strerror)
"""


def test_opened_again(user, t):
    """What may be written but not read is not opened again for reading through its descriptor."""
    home = Home(user)
    rules = '(deny file-read-data (subpath "~/work/conf") (literal "~/work/token"))'
    profile = home.profile(rules)
    t.ok(uses_sentries(home, "--profile", profile), "by sentry")
    for tier, flags in TIERS:
        for name in ("work/conf/key", "work/token"):
            home.write(name, "HIDDEN")
            for how in ("append", "plain", "create", "empty"):
                r = home.run("python3", "-c", REOPEN, home.path(name), how,
                             flags=["--profile", profile, *flags])
                t.ok("HIDDEN" not in r.out and "==" in r.out, f"{tier}: {name}, {how}", r)
        r = home.sh("echo 1 >>conf/log && echo 2 >>conf/log && echo 3 >conf/key && echo 4 >>conf/key && "
                    "touch token", "--profile", profile, *flags)
        t.ok(r.status == 0, f"{tier}: its own files grow", r)
        with open(home.path("work/conf/log"), encoding="utf-8") as f:
            t.equal(f.read(), "1\n2\n", f"{tier}: all of it")
        os.unlink(home.path("work/conf/log"))


def test_own_and_held(user, t):
    """Not promised: what is added to a file that the command made and holds open."""
    home = Home(user)
    talk = Talk(home, "--profile", home.profile('(deny file-read-data (subpath "~/made"))'))
    talk.ask("mkdir ../made; exec 7>../made/file")
    home.write("made/file", "ADDED")
    held = talk.ask("cat /proc/self/fd/7")
    t.ok("ADDED" in held, "it can be read", held)
    talk.end()


def test_working_directory(user, t):
    """Trap 18: a cwd inside a denied folder, and folders that were open before."""
    home = Home(user)
    rules = '(deny file-read-data (subpath "~/.ssh/sub"))(deny file-read* (regex #"^~/\\.ssh/id_"))'
    profile = home.profile(rules)
    r = user.run("--profile", profile, "--", "sh", "-c", "cat id_rsa; cat known_hosts",
                   cwd=home.path(".ssh"))
    t.ok("PRIVATE" not in r.out and "public" in r.out, "cwd inside", r)
    r = user.run("--profile", home.profile('(deny file-read-data (subpath "~/.ssh"))', "b.sb"), "--",
                   "sh", "-c", "cat id_rsa; cat ./known_hosts", cwd=home.path(".ssh"))
    t.ok(r.out == "", "cwd denied", r)
    held = os.open(home.path(".ssh"), os.O_RDONLY | os.O_DIRECTORY)
    os.set_inheritable(held, True)
    r = user.run(*flags_of(home, *DENY_SSH), "--", "sh", "-c",
                   f"cat /proc/self/fd/{held}/id_rsa; cat /dev/fd/{held}/known_hosts",
                   cwd=home.work, pass_fds=[held])
    os.close(held)
    t.ok("PRIVATE" not in r.out and "public" not in r.out, "an inherited folder", r)


def test_killed_server(user, t):
    """Without its sentry, the sandbox ends and reports why."""
    home = Home(user)
    talk = Talk(home, *flags_of(home, *DENY_SSH))
    talk.ask("true")
    pid = talk.process("buckle-sentry")
    if not t.ok(pid, "there is a sentry"):
        return
    os.kill(pid, signal.SIGKILL)
    began = time.monotonic()
    status = talk.child.wait(timeout=20)
    err = talk.child.stderr.read().decode()
    t.ok(status == 125 and "sentry" in err and time.monotonic() - began < 10, "killed", status, err)


def test_stopped_server(user, t):
    """A stopped sentry only blocks readers; a time limit ends them."""
    home = Home(user)
    mark = f"sleep 3{os.getpid()}{user.uid}"
    talk = Talk(home, *flags_of(home, *DENY_SSH), "--timeout", "2")
    talk.ask(f"{mark} >/dev/null 2>&1 &")
    pid = talk.process("buckle-sentry")
    if not t.ok(pid, "there is a sentry"):
        return
    os.kill(pid, signal.SIGSTOP)
    talk.child.stdin.write(b"cat ../.ssh/id_rsa ../.ssh/known_hosts\n")
    talk.child.stdin.flush()
    began = time.monotonic()
    try:
        status = talk.child.wait(timeout=20)
    except subprocess.TimeoutExpired:
        os.kill(pid, signal.SIGCONT)
        talk.child.kill()
        status = None
    t.ok(status == 124, "the command ends in time", status, time.monotonic() - began)
    t.ok(eventually(lambda: not processes(mark) and not os.path.exists(f"/proc/{pid}")), "nothing is left")


def test_killed_controller(user, t):
    """SIGKILL of buckle, also with a stopped sentry, leaves nothing."""
    for stopped in (False, True):
        home = Home(user)
        mark = f"sleep 4{os.getpid()}{user.uid}{int(stopped)}"
        talk = Talk(home, *flags_of(home, *DENY_SSH))
        talk.ask(f"{mark} >/dev/null 2>&1 &")
        pid, judge = talk.process("buckle-sentry"), talk.process("buckle-judge")
        if stopped:
            os.kill(pid, signal.SIGSTOP)
            talk.child.stdin.write(b"cat ../.ssh/id_rsa\n")
            talk.child.stdin.flush()
            time.sleep(0.2)
        talk.child.kill()
        talk.child.wait(timeout=10)
        t.ok(eventually(lambda: not processes(mark) and not os.path.exists(f"/proc/{pid}")
                        and not os.path.exists(f"/proc/{judge}")),
             "stopped sentry" if stopped else "killed", processes(mark))
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        t.ok(" - fuse buckle" not in f.read(), "no mount outside")


def test_out_of_reach(user, t):
    """The command can neither see nor lift its sentries."""
    home = Home(user)
    r = home.sh("ps -e -o comm= | grep -c buckle-sentry; umount ../.ssh; mount -t tmpfs none ../.ssh; "
                "unshare -Urm true; mv ../.ssh ../moved; cat ../moved/id_rsa ../.ssh/id_rsa",
                *flags_of(home, *DENY_SSH, "--allow-write", "~"))
    t.ok("PRIVATE" not in r.out and r.out.startswith("0\n"), "not lifted", r)


def test_fallback(user, t):
    """Without namespaces reading is judged; the answers are the same."""
    home = Home(user)
    r = home.sh("cat ../.ssh/id_rsa; cat ../.ssh/known_hosts; stat -c %s ../.ssh/id_rsa",
                *flags_of(home, *DENY_SSH), "--accept-weaker",
                env={"BUCKLE_PRETEND": "user_ns=0,mount_ns=0,pid_ns=0,net_ns=0"})
    t.ok(r.out == "public7\n" and "id_rsa" in r.err, "no namespaces", r)


def test_masks(user, t):
    """Without FUSE, masks hide denied paths, as the plan says."""
    home = Home(user)
    home.write(".aws/key", "KEY")
    home.write(".ssh/a/b/c/d/e", "BURIED")
    env = {"BUCKLE_PRETEND": "fuse=0"}
    flags = flags_of(home, *DENY_SSH, "--deny-read", "~/.netrc", "--deny-read", "~/.aws",
                     "--deny-read", "~/.later")
    plan = user.call([BUCKLE, "run", "--dry-run", *flags, "--", "true"], cwd=home.work, env=env)
    t.ok("\nMasks\n" in plan.out and "not reported" in plan.out, "the plan says so", plan)
    talk = Talk(home, *flags, env=env)
    for name in (".ssh/id_rsa", ".netrc", ".aws/key", ".ssh/a/b/c/d/e"):
        text = talk.ask(f"cat ../{name}")
        t.ok(not any(w in text for w in ("PRIVATE", "PASSWORD", "KEY", "BURIED")), name, text)
    t.ok("public" in talk.ask("cat ../.ssh/known_hosts"), "what is allowed beside it is read")
    t.ok("key" not in talk.ask("ls ../.aws"), "a folder is empty")

    def hidden(name, secret):
        return eventually(lambda: secret not in talk.ask(f"cat {home.path(name)}"))
    home.write("new", "REPLACED")
    os.rename(home.path("new"), home.path(".netrc"))
    t.ok(hidden(".netrc", "REPLACED"), "a file that another was renamed over")
    for i in range(300):
        home.write("new", f"AGAIN {i}")
        os.rename(home.path("new"), home.path(".netrc"))
    t.ok(hidden(".netrc", "AGAIN"), "one that is replaced while it is being masked")
    home.write(".later", "LATER")
    t.ok(hidden(".later", "LATER"), "a file that appears")
    home.write(".ssh/id_later", "LATER")
    t.ok(hidden(".ssh/id_later", "LATER"), "one in a folder of which not everything is denied")
    os.rename(home.path(".aws"), home.path("old"))
    home.write(".aws/key", "SECOND")
    t.ok(hidden(".aws/key", "SECOND"), "a folder that is replaced")
    talk.end()


def test_without_pid_namespace(user, t):
    """The judge makes the namespaces itself; the sentry follows it there."""
    home = Home(user)
    r = home.sh("cat ../.ssh/id_rsa; cat ../.ssh/known_hosts; echo x >../.ssh/new",
                *flags_of(home, *DENY_SSH, "--allow-write", "~/.ssh/new"), "--accept-weaker",
                env={"BUCKLE_PRETEND": "mount_proc=0"})
    t.ok(r.out == "public" and "id_rsa" in r.err and os.path.exists(home.path(".ssh/new")),
         "no fresh /proc", r)
    home.write("work/mine", "mine")
    profile = home.profile('(deny file-read* (subpath "~"))(allow file-read* (subpath "~/work"))')
    count = "wc -l </proc/self/mountinfo"
    r = home.sh(f"{count}; sleep 0.3; for i in $(seq 300); do cat mine >/dev/null || exit 1; done; {count}; cat ../plain",
                "--profile", profile, env={"BUCKLE_PRETEND": "pid_ns=0"}, timeout=30)
    mounts = r.out.split()
    t.ok(len(mounts) == 2 and abs(int(mounts[1]) - int(mounts[0])) <= 1 and "../plain: Operation not permitted" in r.err,
         "a folder that is open inside a closed one is mounted once", r)


def test_judged_without_pid_namespace(user, t):
    """Files that were open before stay usable, and processes outside are not found."""
    home, env = Home(user), {"BUCKLE_PRETEND": "pid_ns=0"}
    mine = os.getpid()
    tries = (f"cat /proc/self/comm /proc/thread-self/comm; ls -d /proc/{mine}; cat /proc/{mine}/status; cat /proc/{mine}/environ; "
             f"head -c 9 /proc/{mine}/root/etc/hostname 2>/dev/null; echo x >/proc/{mine}/comm; readlink /proc/{mine}/exe; ls /proc/{mine}/fd; true")
    r = home.sh(tries, "--strict-reads", "--accept-weaker", "--report", "none", env=env)
    t.ok(r.out == "cat\ncat\n" and r.err.count("No such file or directory") + r.err.count("nonexistent") >= 5 and "Permission denied" not in r.err,
         "/proc has no processes outside", r)
    home.write("work/said", "said\n")
    for folder in ("/tmp", home.path("work")):
        with open(folder + f"/{mine}-{user.name}", "w+", encoding="utf-8") as out:
            os.chmod(out.name, 0o666)
            r = user.start([BUCKLE, "run", "--strict-reads", "--accept-weaker", "--", "cat", "said"], cwd=home.path("work"),
                           env={**user.env, **env}, stdout=out)
            r.wait(30)
            out.seek(0)
            text = out.read()
            t.ok(r.returncode == 0 and text == "said\n", f"output goes to a file in {folder}", r.returncode, text)
            os.unlink(out.name)


def test_no_watches(user, t):
    """Denied paths stay denied when the user's inotify watches are used up."""
    if user.uid == 0:
        return  # other processes of root would suffer
    home = Home(user)
    script = ("import ctypes,sys\nlibc = ctypes.CDLL(None)\n"
              "while libc.inotify_init1(0x80000) >= 0: pass\n"
              "print('full', flush=True)\nsys.stdin.read()")
    flags = flags_of(home, "--deny-read", "~/.netrc")
    hold = user.start(["python3", "-c", script], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE)
    hold.stdout.readline()
    talk = Talk(home, *flags)
    home.write("n", "NEWER")
    os.rename(home.path("n"), home.path(".netrc"))
    t.ok(eventually(lambda: "not permitted" in talk.ask("cat ../.netrc")), "without watches")
    talk.end()
    hold.communicate()


def test_nested(user, t):
    """A nested buckle does not weaken the outer one."""
    home = Home(user)
    r = home.run(BUCKLE, "run", "--accept-weaker", "--profile", "open", "--", "cat",
                 home.path(".ssh/id_rsa"), home.path(".ssh/known_hosts"),
                 flags=flags_of(home, *DENY_SSH))
    t.ok(r.out == "public" and "not permitted" in r.err, "buckle in buckle", r)


def test_older_kernel(user, t):
    """A kernel that cannot bind a detached mount."""
    home = Home(user)
    env = {"BUCKLE_PRETEND": "kernel=6.1"}
    flags = flags_of(home, *DENY_SSH, "--deny-read", "~/.netrc")
    r = home.sh("cat ../.ssh/id_rsa ../.netrc; cat ../.ssh/known_hosts; ls /proc/driver; "
                "cat /proc/driver/*/id_rsa", *flags, env=env)
    t.ok("PRIVATE" not in r.out and r.out.startswith("public") and "id_rsa" in r.err, "kernel 6.1", r)
    talk = Talk(home, *flags, env=env)
    home.write("n", "NEWER")
    os.rename(home.path("n"), home.path(".netrc"))
    t.ok(eventually(lambda: "not permitted" in talk.ask("cat ../.netrc")), "kernel 6.1: replaced")
    talk.end()


def main():
    if not fusable.usable():
        skip("/dev/fuse is not open to everybody here")
        return done()
    if len(sys.argv) > 1:
        for_everybody([globals()["test_" + name] for name in sys.argv[1:]])
        return done()
    for_everybody([test_tiers_agree, test_metadata, test_flags, test_carve_out, test_writing_below,
                   test_replaced, test_shut, test_own_creations, test_opened_again,
                   test_own_and_held, test_working_directory,
                   test_killed_server, test_stopped_server, test_killed_controller, test_out_of_reach,
                   test_fallback, test_masks,
                   test_without_pid_namespace, test_judged_without_pid_namespace, test_older_kernel, test_no_watches, test_nested])
    return done()


if __name__ == "__main__":
    sys.exit(main())
