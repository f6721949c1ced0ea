#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle node`: containers that runc starts, judged from outside. Three policies, a root of busybox and one of Debian; hostile messages; judges that
die; many short containers. Prints TAP.
"""

import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from containers import Agent, bundle, judges_of, root_of, why_not
from drive import BUCKLE, FOLDER, buckle, write

WHOLE = "whole" in sys.argv

PROFILES = {
    "write": """(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath "/work") (literal "/dev/null") (literal "/dev/tty"))
(deny network*)
""",
    "read": """(version 1)
(allow default)
(deny file-read* (subpath "/secret"))
(deny file-read* (regex #"\\.key$"))
""",
    "exec": """(version 1)
(allow default)
(deny process-exec)
(allow process-exec (literal "/bin/busybox"))
(allow process-exec (regex #"^/usr/bin/(dash|cat|true)$"))
(deny signal (target others))
""",
    "open": "(version 1)\n(allow default)\n",
    "broken": "(version 1)\n(allow default\n",
    # names that the oldest vocabulary lacks
    "names": "(version 1)\n(allow default)\n(deny process-info* (target others))\n(deny pseudo-tty file-map-executable (subpath \"/work\"))\n(deny file-write-xattr)\n",
}

# what a shell does, and the question that it is: (profile, command, operation, path)
ROWS = [
    ("write", "echo x > /work/new", "file-write-create", "/work/new"),
    ("write", "echo x > /work/old", "file-write-data", "/work/old"),
    ("write", "echo x > /tmp/new", "file-write-create", "/tmp/new"),
    ("write", "echo x >> /tmp/plain", "file-write-data", "/tmp/plain"),
    ("write", "rm /tmp/plain", "file-write-unlink", "/tmp/plain"),
    ("write", "rm /work/old", "file-write-unlink", "/work/old"),
    ("write", "mkdir /work/d", "file-write-create", "/work/d"),
    ("write", "mkdir /d", "file-write-create", "/d"),
    ("write", "chmod 600 /work/old", "file-write-mode", "/work/old"),
    ("write", "chmod 600 /tmp/plain", "file-write-mode", "/tmp/plain"),
    ("write", "touch /tmp/plain", "file-write-times", "/tmp/plain"),
    ("write", "ln -s a /work/l", "file-write-create", "/work/l"),
    ("write", "ln -s a /tmp/l", "file-write-create", "/tmp/l"),
    ("write", "cat /secret/key", "file-read-data", "/secret/key"),
    ("read", "cat /secret/key", "file-read-data", "/secret/key"),
    ("read", "cat /tmp/id.key", "file-read-data", "/tmp/id.key"),
    ("read", "cat /tmp/plain", "file-read-data", "/tmp/plain"),
    ("read", "stat /tmp/id.key", "file-read-metadata", "/tmp/id.key"),
    ("read", "echo x > /tmp/new.key", "file-write-create", "/tmp/new.key"),
    ("exec", "/bin/true", "process-exec", "/bin/busybox"),
    ("exec", "/work/copy", "process-exec", "/work/copy"),
]


def rows(agent):
    """Each command's outcome is the evaluator's verdict, in containers that start afresh."""
    for profile, command, op, path in ROWS:
        setup = "cp /bin/busybox /work/copy 2>/dev/null; " if "/work/copy" in command else ""
        status, out, err, name = agent.run(profile, f"{setup}({command}) >/dev/null && echo did")
        verdict = buckle("eval", os.path.join(agent.profiles, profile + ".sb"), op, path)
        want = verdict.out.split()[0] == "allow"
        tap.ok((out.strip() == "did") == want, f"{profile}: {command}: {'allowed' if want else 'denied'}", status, out, err, verdict)
        agent.wait(lambda e, name=name: any(x["event"] == "ended" and x["container"] == name for x in e))
        told = [e for e in agent.events("violation", name) if e["path"] == path]
        tap.ok(bool(told) != want, f"{profile}: {command}: {'no event' if want else 'an event with its path'}", agent.events(container=name))


def confined(agent):
    """What a container could have a judge do for it."""
    _, out, err, name = agent.run("write", "mknod /work/sda b 8 0; cat /work/sda; mknod /work/mem c 1 1; head -c 1 /work/mem; echo end")
    tap.ok(out == "end\n" and "ermitted" in err, "a device that its cgroup forbids cannot be opened by way of the judge", out, err)
    _, out, err, _ = agent.run("write", "cat /proc/[0-9]*/comm; ls /proc | grep -c '^[0-9]'")
    tap.ok("buckle" not in out and "runc" not in out.split("\n")[1:], "no process of the agent is visible inside", out, err)
    _, out, err, _ = agent.run("write", "mount -t tmpfs x /work; chroot /work /bin/true; echo $?")
    tap.ok("ermitted" in err and out.strip() not in ("0",), "paths mean what they meant at the start", out, err)
    _, out, err, name = agent.run("write", "su ada -c 'id -u; echo x > /work/ada; cat /work/ada'; chmod 777 /work; su ada -c 'echo y > /work/ada && id -u'; ls -l /work/ada")
    tap.ok("1000" in out and "ada      1000" in out and "ermission" in err,
           "the judge acts as the user that a process has become", out, err)
    _, out, err, _ = agent.run("write", "ln -s /etc/passwd /work/link; echo x >> /work/link; ln /etc/passwd /work/hard; echo x >> /work/../etc/passwd; echo end")
    tap.ok(out == "end\n" and err.count("ermitted") == 2 and "cross-device" in err, "links and .. lead to what they name", out, err)
    _, out, err, _ = agent.run("write", "nc -w 1 127.0.0.1 1 </dev/null; echo $?")
    tap.ok("ermitted" in err, "without a rule for the network there is no IP socket", out, err)
    _, out, err, _ = agent.run("exec", "sleep 5 & kill $!; echo $?")
    tap.ok(out.strip() != "0", "signals are judged", out, err)


def debian(agent):
    status, out, err, _ = agent.run("write", ["/usr/bin/python3", "-c", """
import os, subprocess
open("/work/a", "w").write("x")
os.rename("/work/a", "/work/b")
print(sorted(os.listdir("/work")))
for what in (lambda: open("/tmp/a", "w"), lambda: os.rename("/work/b", "/tmp/b"), lambda: os.link("/etc/hostname", "/work/c")):
    try:
        what()
        print("did")
    except OSError as e:
        print(type(e).__name__)
print(subprocess.run(["/bin/sh", "-c", "echo $((6*7))"], capture_output=True, text=True).stdout)
"""], debian=True)
    tap.equal(out.split("\n")[:5], ["['b']", "PermissionError", "PermissionError", "OSError", "42"], f"Debian's Python under a policy {err}")
    # forks while children end: runc's filter lets signals interrupt what is judged
    done = [agent.run("write", ["/usr/bin/dash", "-c", "cat /etc/hostname >/dev/null; head -c 9 /etc/hostname >/dev/null; echo x | tee /work/x >/dev/null; cat /work/x"], debian=True)
            for _ in range(8)]
    tap.ok(all(one[:2] == (0, "x\n") for one in done), "Debian's shell forks as it does elsewhere", *done)
    status, out, err, name = agent.run("exec", ["/usr/bin/dash", "-c", "cat /etc/hostname >/dev/null && echo cat; ls / ; true && echo true"], debian=True)
    tap.ok("cat" in out and "true" in out and "ermi" in err, "Debian's programs, and which may be executed", out, err)
    status, out, err, _ = agent.run("exec", ["/usr/bin/python3", "-c", "print(1)"], debian=True)
    tap.ok(status != 0 and out == "", "the container's own first program is judged", status, out, err)
    status, out, err, _ = agent.run("open", ["/usr/bin/python3", "-c", "print(1)"], debian=True)
    tap.equal((status, out), (0, "1\n"), f"a policy that allows everything {err}")


def refused(agent):
    for metadata, words in (("nothing", "cannot read the profile nothing.sb"), ("broken", "broken.sb:2"), ("../write", "must be the name of a profile"),
                            ("a" * 200, "must be the name"), ("", "names a profile"), (".hidden", "must be the name")):
        before = len(agent.events("refused"))
        status, out, err, _ = agent.run("open", "echo started", metadata=metadata)
        agent.wait(lambda e, n=before: sum(x["event"] == "refused" for x in e) > n)
        reason = agent.events("refused")[-1]["reason"]
        tap.ok(status != 0 and out == "" and words in reason, f"refused: a container with the profile {metadata[:20]!r}", status, out, err, reason)
    os.symlink("/etc/hostname", os.path.join(agent.profiles, "out.sb"))
    status, out, err, _ = agent.run("open", "echo started", metadata="out")
    tap.ok(status != 0 and "out.sb" in agent.events("refused")[-1]["reason"], "refused: a profile that links out of the folder", out, err)
    status, out, err, _ = agent.run("names", "echo started")
    tap.equal((status, out), (0, "started\n"), f"but none for a name that `buckle check` knows {err} {agent.events('refused')[-1:]}")
    status, out, _, _ = agent.run("open", "echo started", metadata="", annotations={"org.buckle.profile": "open"})
    tap.equal((status, out), (0, "started\n"), "an annotation names the profile")
    status, out, _, _ = agent.run("open", "echo started", metadata="write", annotations={"org.buckle.profile": "open"})
    tap.ok(status != 0 and "different profiles" in agent.events("refused")[-1]["reason"], "refused: metadata and annotation that differ")


def state(**changes):
    s = {"ociVersion": "1.0.2", "fds": ["seccompFd"], "pid": os.getpid(), "metadata": "open",
         "state": {"ociVersion": "1.0.2", "id": "hostile", "status": "creating", "pid": os.getpid(), "bundle": "/"}}
    s.update(changes)
    return {k: v for k, v in s.items() if v is not None}


def hostile(agent):
    at_first = len(os.listdir(f"/proc/{agent.child.pid}/fd"))
    null = os.open("/dev/null", os.O_RDWR)
    inner = state()["state"]
    cases = [
        ("no JSON", b"{]", (), "not JSON"), ("half of it", b'{"fds": [', (), "too early"), ("a NUL", b"\0", (), ""),
        ("a list", b"[1]", (), "no object"), ("deep nesting", b"[" * 100000, (), ""), ("no pid", state(pid=None), (null,), "pid"),
        ("a pid of -1", state(pid=-1), (null,), "pid"), ("a huge pid", state(pid=2**40), (null,), "pid"), ("a pid in words", state(pid="1"), (null,), "pid"),
        ("no state", state(state=None), (null,), "state"), ("an id with a slash", state(state={**inner, "id": "../x"}), (null,), "state.id"),
        ("an id with a newline", state(state={**inner, "id": "a\nb"}), (null,), "state.id"), ("a long id", state(state={**inner, "id": "a" * 5000}), (null,), "state.id"),
        ("no fds", state(fds=[]), (), "fds"), ("fds without seccompFd", state(fds=["x"]), (null,), "seccompFd"),
        ("seccompFd twice", state(fds=["seccompFd"] * 2), (null, null), "once"), ("no descriptor", state(), (), "another number"),
        ("two descriptors for one", state(), (null, null), "another number"), ("fifty descriptors", state(), (null,) * 50, "another number"),
        ("a descriptor of a file", state(), (null,), "no seccomp listener"), ("a number as metadata", state(metadata=7), (null,), "metadata"),
        ("metadata with a NUL", state(metadata="open\0x"), (null,), ""), ("annotations as a list", state(state={**inner, "annotations": []}), (null,), "annotations"),
        ("a key twice", b'{"pid": 1, "pid": 2}', (null,), "not JSON"), ("two megabytes", b'{"a": "' + b"x" * (2 << 20), (null,), "too long"),
    ]
    for what, text, fds, words in cases:
        before = len(agent.events("refused"))
        try:
            agent.say(text, fds)
        except (BrokenPipeError, ConnectionResetError):
            pass
        told = agent.wait(lambda e, n=before: sum(x["event"] == "refused" for x in e) > n)
        reason = agent.events("refused")[-1]["reason"] if told else None
        tap.ok(told and words in reason, f"refused: {what}", reason)
    os.close(null)
    # the reason is printed before the connection is closed
    agent.wait(lambda _: len(os.listdir(f"/proc/{agent.child.pid}/fd")) <= at_first)
    open_now = len(os.listdir(f"/proc/{agent.child.pid}/fd"))
    tap.ok(open_now <= at_first, "none of their descriptors is left", at_first, open_now)
    nobody = subprocess.run(["/usr/bin/python3", "-c", f"import socket; socket.socket(socket.AF_UNIX).connect({agent.socket!r})"], user=65534, group=65534,
                            extra_groups=[], capture_output=True, check=False)
    tap.ok(b"PermissionError" in nobody.stderr, "other users cannot connect", nobody.stderr[-200:])
    status, out, err, _ = agent.run("open", "echo fine")
    tap.equal((status, out), (0, "fine\n"), f"and the agent serves on {err}")


def dying_judges(agent):
    child, name = agent.begin("write", "i=0; while [ $i -lt 400 ]; do echo x > /work/a || echo no; echo x > /tmp/a && echo WRONG; sleep 0.005; i=$((i+1)); done; echo end")
    agent.wait(lambda e: any(x["event"] == "started" and x["container"] == name for x in e))
    killed = 0
    for _ in range(3):
        time.sleep(0.3)
        for pid in judges_of(agent.child.pid):
            os.kill(pid, signal.SIGKILL)
            killed += 1
        agent.wait(lambda e, n=killed: sum(x["event"] == "resumed" for x in e if x.get("container") == name) >= n)
    out, err = child.communicate(timeout=60)
    agent.wait(lambda e: any(x["event"] == "ended" and x["container"] == name for x in e))
    resumed = agent.events("resumed", name)
    tap.ok(killed == 3 and len(resumed) == 3, "a judge that is killed has a successor", killed, agent.events(container=name)[-5:])
    tap.ok(out.decode().endswith("end\n") and b"WRONG" not in out, "the container goes on, and nothing is let through", out[-300:], err[-300:])
    # a call that the dead judge had received is refused, at most one for each
    tap.ok(out.count(b"no\n") <= 3, "calls wait for the successor", out.count(b"no\n"))


def exec_inside(agent):
    child, name = agent.begin("write", "sleep 20")
    agent.wait(lambda e: any(x["event"] == "started" and x["container"] == name for x in e))
    done = subprocess.run(["runc", *root_of("runc"), "exec", name, "/bin/sh", "-c", "echo x > /work/e && echo did; echo x > /tmp/e"], capture_output=True, check=False,
                          stdin=subprocess.DEVNULL)
    tap.ok(done.stdout == b"did\n" and b"ermitted" in done.stderr, "a process that joins the container has a judge as well", done)
    subprocess.run(["runc", *root_of("runc"), "kill", name, "KILL"], capture_output=True, check=False)
    child.communicate(timeout=30)
    tap.ok(agent.wait(lambda e: sum(x["event"] == "ended" and x["container"] == name for x in e) == 2), "both judges end with their processes",
           agent.events(container=name))


def many(agent):
    def one(i):
        return agent.run("write", f"echo {i} > /work/x; cat /work/x; echo x > /tmp/no", name=f"many-{i}")

    before = len(os.listdir(f"/proc/{agent.child.pid}/fd"))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = list(pool.map(one, range(40)))
    wrong = [d for i, d in enumerate(done) if d[1] != f"{i}\n" or "ermitted" not in d[2]]
    tap.ok(not wrong, "forty short containers, four at a time", *wrong[:2])
    agent.wait(lambda e: sum(x["event"] == "ended" and x["container"].startswith("many-") for x in e) == 40)
    told = {e["container"] for e in agent.events("violation") if e["container"].startswith("many-")}
    tap.equal(len(told), 40, "each has its event")
    status, _, _, _ = agent.run("write", ["/bin/true"])
    tap.equal(status, 0, "a container that exits at once")
    agent.wait(lambda e: not judges_of(agent.child.pid))
    tap.ok(len(os.listdir(f"/proc/{agent.child.pid}/fd")) <= before, "no descriptor is left", os.listdir(f"/proc/{agent.child.pid}/fd"))
    tap.equal(judges_of(agent.child.pid), [], "no judge is left")


def short(agent):
    """Thousands of containers that live for a moment, some of them killed while they start."""
    n = 10000 if WHOLE else 60
    section = agent.seccomp("write")
    began = sum(e["event"] == "started" for e in agent.events())

    def one(i):
        name = f"short-{i}"
        folder = bundle(name, ["/bin/true"], section)
        child = subprocess.Popen(["runc", *root_of("runc"), "run", "-b", folder, name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if i % 10 == 0:
            time.sleep(0.005 * (i // 10 % 12))
            child.kill()
        status = child.wait(timeout=120)
        subprocess.run(["runc", *root_of("runc"), "delete", "-f", name], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
        return i % 10 == 0 or status == 0

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        good = list(pool.map(one, range(n)))
    tap.ok(all(good), f"{n} short containers, a tenth of them killed while they start", good.count(False))
    tap.ok(agent.wait(lambda e: not judges_of(agent.child.pid), 60), "no judge is left of them", judges_of(agent.child.pid))
    events = agent.events()
    tap.ok(sum(e["event"] == "started" for e in events) - began >= n * 0.9, "each of the others had a judge")
    tap.equal(agent.run("write", "echo x > /tmp/x || echo judged")[1], "judged\n", "and the agent goes on")


def gone_before(agent):
    """Containers that have ended before the agent reads their message: the agent is stopped meanwhile."""
    agent.run("write", ["/bin/true"])  # its profile stays compiled
    agent.wait(lambda e: not judges_of(agent.child.pid))
    before = len(os.listdir(f"/proc/{agent.child.pid}/fd"))
    for dies in ("whole", "runtime"):
        agent.child.send_signal(signal.SIGSTOP)
        children = [agent.begin("write", "echo started") for _ in range(3)]
        time.sleep(0.5)
        for child, name in children:
            tap.ok(child.poll() is None, f"{name}: without an agent that reads, a container waits")
            child.kill()
            out, _ = child.communicate(timeout=30)
            tap.equal(out, b"", f"{name}: it ends before its program starts")
            if dies == "whole":
                subprocess.run(["runc", *root_of("runc"), "delete", "-f", name], capture_output=True, check=False)
        agent.child.send_signal(signal.SIGCONT)
        status, out, err, _ = agent.run("write", "echo x > /tmp/x || echo judged")
        tap.equal((status, out), (0, "judged\n"), f"{dies}: those that had gone harm nobody {err}")
        if dies == "runtime":  # what the runtime left
            for _, name in children:
                subprocess.run(["runc", *root_of("runc"), "delete", "-f", name], capture_output=True, check=False)
        agent.wait(lambda e: {x.get("container") for x in e if x["event"] in ("started", "refused")} >= {name for _, name in children})
        told = {name: [e for e in agent.events(container=name) if e["event"] in ("started", "refused")] for _, name in children}
        tap.ok(all(len(one) == 1 and (one[0]["event"] == "started" or "has ended" in one[0]["reason"]) for one in told.values()),
               f"{dies}: each was judged until its end, or refused because it had ended", told)
        tap.ok(agent.wait(lambda e: not judges_of(agent.child.pid), 20), f"{dies}: no judge is left", judges_of(agent.child.pid), agent.events()[-12:])
        tap.ok(agent.wait(lambda e: len(os.listdir(f"/proc/{agent.child.pid}/fd")) <= before), f"{dies}: and no descriptor", before,
               os.listdir(f"/proc/{agent.child.pid}/fd"))


def no_reader(agent):
    """Events that cannot be written are counted, and containers go on."""
    disk = os.path.join(FOLDER, "disk")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False).returncode:
        tap.skip("tmpfs cannot be mounted here")
        return
    try:
        full = Agent(PROFILES)
        full.stop()
        full.log = os.path.join(disk, "events")
        full.start()
        _, out, err, _ = full.run("write", "i=0; while [ $i -lt 400 ]; do echo x > /tmp/n$i; i=$((i+1)); done 2>/dev/null; echo end")
        tap.equal(out, "end\n", f"a full disk: the container goes on {err[-300:]}")
        os.truncate(full.log, 0)
        _, out, _, name = full.run("write", "echo x > /tmp/after || echo no")
        lost = full.wait(lambda e: any(x["event"] == "lost" and x["count"] > 10 for x in e))
        tap.ok(out == "no\n" and lost and full.wait(lambda e: any(x.get("path") == "/tmp/after" for x in e)), "and with room again, the number of lost events is there", full.events())
        full.stop()
    finally:
        subprocess.run(["umount", "-l", disk], check=False)
    read, written = os.pipe()
    stuck = Agent.__new__(Agent)
    stuck.__dict__.update(agent.__dict__)
    stuck.socket = os.path.join(FOLDER, "stuck.sock")
    with subprocess.Popen([BUCKLE, "node", "--socket", stuck.socket, "--profiles", agent.profiles], stdout=written, stdin=subprocess.DEVNULL) as child:
        os.close(written)
        tap.ok(b"ready" in os.read(read, 4096), "an agent whose reader stops")
        _, out, err, _ = stuck.run("write", "i=0; while [ $i -lt 600 ]; do echo x > /tmp/n$i; i=$((i+1)); done 2>/dev/null; echo end")
        tap.equal(out, "end\n", f"does not stop containers {err[-300:]}")
        child.terminate()
    os.close(read)


def changed_profile(agent):
    agent.profile("changing", PROFILES["open"])
    first = agent.run("changing", "echo x > /tmp/a && echo did")[1]
    agent.profile("changing", PROFILES["write"])
    second = agent.run("changing", "echo x > /tmp/a && echo did")[1]
    tap.equal((first, second), ("did\n", ""), "a changed profile counts for the next container")
    agent.profile("changing", PROFILES["broken"])
    told = agent.wait(lambda e: any(x["event"] == "profile" and x["name"] == "changing" and "changing.sb:2" in x.get("problem", "") for x in e))
    tap.ok(told, "a change with mistakes is reported before a container needs it", agent.events("profile"))
    agent.profile("changing", PROFILES["open"])
    told = agent.wait(lambda e: [x for x in e if x["event"] == "profile"][-1].get("problem") is None)
    tap.ok(told, "and so is one without", agent.events("profile"))


def audited():
    agent = Agent(PROFILES, "--audit")
    status, out, err, name = agent.run("write", "echo x > /tmp/a && cat /tmp/a")
    agent.wait(lambda e: any(x["event"] == "ended" for x in e))
    told = agent.events("violation", name)
    tap.ok(out == "x\n" and any(e["path"] == "/tmp/a" and e.get("audit") for e in told), "--audit: reported, and allowed", out, err, told)
    tap.equal(agent.stop(), 0, "SIGTERM ends the agent")
    tap.ok(not os.path.exists(agent.socket), "and removes its socket")


def printed():
    write("p.sb", PROFILES["write"])
    spec = json.loads(buckle("node", "spec", "p.sb").out)
    seccomp = spec["linux"]["seccomp"]
    tap.equal((seccomp["listenerPath"], seccomp["listenerMetadata"][:2], len(seccomp["listenerMetadata"]), seccomp["defaultAction"]),
              ("/run/buckle/node.sock", "p@", 18, "SCMP_ACT_ERRNO"), "spec: the section")
    names = [n for rule in seccomp["syscalls"] for n in rule["names"] if "args" not in rule]
    tap.ok(len(names) == len(set(names)) and "write" in names, "spec: each call is in one rule", [n for n in names if names.count(n) > 1])
    of = {n: rule["action"] for rule in seccomp["syscalls"] for n in rule["names"]}
    tap.equal([of[n] for n in ("openat", "read", "mount", "execve", "write")], ["SCMP_ACT_NOTIFY", "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO", "SCMP_ACT_NOTIFY", "SCMP_ACT_ALLOW"],
              "spec: judged, passed and refused calls")
    tap.equal(json.loads(buckle("node", "spec", "--name", "n", "-p", "(version 1)(allow default)(deny file-read* (subpath \"/secret\"))").out)["linux"]["maskedPaths"], ["/secret"],
              "spec: what can be masked")
    tap.equal(json.loads(buckle("node", "spec", "--name", "n", "-p", "(version 1)(allow default)(deny file-write* (subpath \"/usr\"))").out)["linux"]["readonlyPaths"],
              ["/usr"], "spec: what can be read-only")
    given = {tuple(one["parent"]): one["allowedAccess"] for one in spec["landlock"]["pathBeneath"]}
    tap.ok(any("/work" in parents and "write_file" in rights and "make_reg" in rights for parents, rights in given.items()), "spec: Landlock's rights", given)
    by = spec["operations"]
    listed = [op for ops in by.values() for op in ops]
    tap.equal((len(listed), "file-write-data" in by["judged"], "network-outbound" in by["refused"], "file-read-data" in listed),
              (len(set(listed)), True, True, False), "spec: operations, each in one list; what is free in none")
    plan = buckle("node", "plan", "p.sb").out
    tap.ok("file-write-data                  judged\n" in plan and "network-outbound                 refused by the filter" in plan, "plan: a table", plan)
    bad = buckle("node", "spec", "--name", "../x", "p.sb")
    tap.equal(bad.status, 2, "spec: a name that is none")
    tap.equal(buckle("node", "--profiles", "/nonexistent", "--socket", "s").status, 2, "no folder of profiles")


def main():
    printed()
    reason = why_not("runc")
    if reason:
        tap.skip(reason)
        return tap.done()
    agent = Agent(PROFILES)
    try:
        for part in (rows, confined, debian, refused, hostile, dying_judges, exec_inside, many, short, gone_before, no_reader, changed_profile):
            part(agent)
        audited()
    finally:
        agent.stop()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
