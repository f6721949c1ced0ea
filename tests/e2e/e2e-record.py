#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The record of runs (`buckle run --record`): what it has, that commands cannot reach it, what crashes and several
writers leave of it, and that `buckle log verify` finds every change. Prints TAP.
"""

import fcntl
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from asked import OnTerminal
from running import BUCKLE, eventually, for_everybody


def lines(path):
    with open(path, "rb") as f:
        return [json.loads(line) for line in f.read().split(b"\n")[:-1]]


def kinds(path, *wanted):
    return [x for x in lines(path) if x["kind"] in wanted]


def verify(user, path, *words):
    """What `buckle log verify` says, and its status."""
    ran = user.call([BUCKLE, "log", "verify", path, *words, "--json"])
    try:
        return json.loads(ran.out), ran.status
    except ValueError:
        return {"wrong": str(ran)}, ran.status


def sound(user, t, path, name):
    said, status = verify(user, path)
    return t.ok(status == 0 and said["sound"], name, said, status)


def own_check(path):
    """The chain by an independent reading of its description."""
    before, number = "0" * 64, 0
    with open(path, "rb") as f:
        for line in f.read().split(b"\n")[:-1]:
            body, hash_ = line[:-2].split(b', "hash": "')
            x = json.loads(line)
            if hashlib.sha256(body).hexdigest() != hash_.decode() or x["prev"] != before or x["seq"] != number + 1:
                return f"record {x['seq']}"
            before, number = x["hash"], x["seq"]
    return None


# ---- contents ----


def test_contents(user, t):
    work, keep = user.folder(), user.folder("keep")
    path = f"{keep}/record.jsonl"
    ran = user.run("--record", keep, "--record-files", "--", "sh", "-c", "echo hi > new; echo x > /etc/buckle-no; exit 3",
                   cwd=work)
    t.equal(ran.status, 3, "the command's status is the run's", ran)
    start, = kinds(path, "run")
    t.equal(start["command"], ["sh", "-c", "echo hi > new; echo x > /etc/buckle-no; exit 3"], "the command")
    t.equal((start["folder"], start["uid"]), (work, user.uid), "its folder and user")
    t.ok(len(start["policy"]) == 64, "the policy's digest")
    denied, = kinds(path, "denial")
    t.equal((denied["operation"], denied["path"]), ("file-write-create", "/etc/buckle-no"), "the denial")
    written, = kinds(path, "file")
    t.equal((written["path"], written["size"], written["sha256"]),
            (f"{work}/new", 3, hashlib.sha256(b"hi\n").hexdigest()), "the file that it wrote")
    end, = kinds(path, "end")
    t.equal((end["status"], end["denied"], end["lost"]), (3, 1, 0), "how it ended")
    t.equal(os.stat(path).st_mode & 0o777, 0o600, "nobody else can read it")
    t.equal(own_check(path), None, "the chain is as described")
    sound(user, t, keep, "log verify agrees")
    user.run("--record", keep, "--", "true", cwd=work)
    same = kinds(path, "run")
    t.equal(same[0]["policy"], same[1]["policy"], "the same policy has the same digest")
    user.run("--record", keep, "-w", keep, "--", "true", cwd=work)
    t.ok(kinds(path, "run")[2]["policy"] != same[0]["policy"], "another policy has another")
    t.ok(len({x["run"] for x in kinds(path, "run")}) == 3, "each run has its own number")
    ran = user.run("--record", keep, "--", "/nonexistent/program", cwd=work)
    t.ok(ran.status == 127 and kinds(path, "end")[-1].get("failed"), "a command that cannot start is recorded", ran)


def test_secrets(user, t):
    work, keep = user.folder(), user.folder("keep")
    rows = [["curl", "-u", "me:s3cr3t", "x"], ["curl", "https://me:s3cr3t@host/x"], ["env", "API_KEY=s3cr3t"],
            ["tool", "--password", "s3cr3t"], ["tool", "--password=s3cr3t"], ["tool", "--api-key", "s3cr3t s3cr3t"],
            ["curl", "-H", "Authorization: Bearer s3cr3t"], ["sh", "-c", "curl -H 'X-Api-Key: s3cr3t' host"],
            ["sh", "-c", "export AWS_SECRET_ACCESS_KEY=s3cr3t; run"], ["mysql", "-ps3cr3t"],
            ["curl", "https://host/?access_token=s3cr3t&x=1"], ["curl", "-d", '{"password": "s3cr3t", "a": 1}'],
            ["tool", "ghp_s3cr3ts3cr3ts3cr3t"], ["tool", "sk-s3cr3ts3cr3ts3cr3ts"], ["tool", "--token", "-s3cr3t"],
            ["curl", "https://s3cr3t@host/"], ["sh", "-c", "mysql --password='s3cr3t' db"]]
    script = 'exec true "$@"'
    for row in rows:
        user.run("--record", keep, "--", "sh", "-c", script, *row, cwd=work)
    text = open(f"{keep}/record.jsonl", encoding="utf-8").read()
    seen = [x["command"][3:] for x in kinds(f"{keep}/record.jsonl", "run")]
    t.ok("s3cr3t" not in text, "no secret of a command is recorded", *[x for x in seen if "s3cr3t" in str(x)])
    user.run("--record", keep, "--", "sh", "-c", script, "git", "commit", "-m", "a key: value", "--author=me", cwd=work)
    t.equal(kinds(f"{keep}/record.jsonl", "run")[-1]["command"][3:],
            ["git", "commit", "-m", "a key: value", "--author=me"], "other arguments are kept")


def test_answers(user, t):
    work, keep = user.folder(), user.folder("keep")
    seen = OnTerminal(user, [BUCKLE, "run", "--record", keep, "--ask", "--", "sh", "-c", "mkdir .vscode; true"], cwd=work)
    t.equal(seen.answers("o"), 1, "a question", seen.text)
    answer, = kinds(f"{keep}/record.jsonl", "answer")
    t.equal((answer["answer"], answer["by"], answer["class"], answer["path"]),
            ("once", "terminal", "editors", f"{work}/.vscode"), "who answered what")
    child = user.start([BUCKLE, "run", "--record", keep, "--grantable", "--", "sh", "-c", "sleep 30"], cwd=work)
    eventually(lambda: len(kinds(f"{keep}/record.jsonl", "run")) == 2)
    eventually(lambda: user.call([BUCKLE, "grant", "--run", str(child.pid), "--write", keep]).status == 0)
    child.terminate()
    child.wait()
    grant, = kinds(f"{keep}/record.jsonl", "grant")
    t.ok(grant["path"] == keep and kinds(f"{keep}/record.jsonl", "policy"), "a grant, and the policy that it made", grant)
    sound(user, t, keep, "the chain is whole")


class Proxy(threading.Thread):
    """An HTTP proxy that accepts every CONNECT."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            client, _ = self.socket.accept()
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            client.close()


def test_hosts(user, t):
    work, keep, proxy = user.folder(), user.folder("keep"), Proxy()
    script = f"{BUCKLE} connect good.test 443; {BUCKLE} connect good.test 443; {BUCKLE} connect bad.test 443; true"
    user.run("--record", keep, "--upstream", f"http://127.0.0.1:{proxy.port}", "--allow-net", "good.test", "--",
             "sh", "-c", script, cwd=work)
    path = f"{keep}/record.jsonl"
    t.equal([x["target"] for x in kinds(path, "host")], ["good.test:443"], "a host that was reached, once")
    t.ok(any("bad.test:443" in x.get("target", "") for x in kinds(path, "denial")), "a host that was refused", lines(path))
    ran = user.call([BUCKLE, "log", "--from", keep, "--host", "bad.*"])
    t.ok("bad.test" in ran.out and "good.test" not in ran.out, "log --host chooses", ran)
    ran = user.run("--report", "json", "--record", keep, "--upstream", f"http://127.0.0.1:{proxy.port}", "--allow-net",
                   "good.test", "--", BUCKLE, "connect", "good.test", "443", cwd=work)
    t.ok("good.test" not in ran.err, "reports do not name hosts that were reached", ran)


# ---- attacks ----

ATTACK = r"""
import ctypes, os, stat, sys, fcntl
record, folder = sys.argv[1], os.path.dirname(sys.argv[1])
def attempt(name, fn):
    try:
        fn()
        print("DONE", name)
    except OSError:
        pass
forged = b'{"seq": 99, "kind": "run"}\n'
def opens(flags):
    def fn():
        fd = os.open(record, flags, 0o600)
        os.write(fd, forged)
    return fn
attempt("append", opens(os.O_WRONLY | os.O_APPEND))
attempt("truncate on open", opens(os.O_WRONLY | os.O_TRUNC))
attempt("read and write", opens(os.O_RDWR))
attempt("create", opens(os.O_WRONLY | os.O_CREAT))
def reads(then):
    fd = os.open(record, os.O_RDONLY)
    if stat.S_ISCHR(os.fstat(fd).st_mode):
        raise OSError  # a mask
    then(fd)
attempt("read", lambda: reads(lambda fd: os.read(fd, 10)))
attempt("lock", lambda: reads(lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)))
attempt("truncate", lambda: os.truncate(record, 0))
attempt("unlink", lambda: os.unlink(record))
attempt("rename", lambda: os.rename(record, record + "x"))
attempt("rename away", lambda: os.rename(record, "away"))
attempt("link", lambda: os.link(record, "alias"))
attempt("chmod", lambda: os.chmod(record, 0o666))
attempt("times", lambda: os.utime(record, (0, 0)))
attempt("attribute", lambda: os.setxattr(record, "user.x", b"1"))
open("mine", "wb").write(forged)
attempt("replace", lambda: os.rename("mine", record))
attempt("exchange", lambda: (_ for _ in ()).throw(OSError()) if ctypes.CDLL(None).renameat2(
    -100, b"mine2", -100, record.encode(), 2) else None)
attempt("next file", lambda: open(record + ".1", "wb").write(forged))
attempt("cursor", lambda: open(record + ".otlp", "wb").write(forged))
attempt("folder away", lambda: os.rename(folder, folder + "-away"))
def swap():
    os.rename(folder, folder + "-old")
    os.symlink("/tmp", folder)
attempt("folder by a link", swap)
def through():
    os.symlink(record, "pointer")
    os.write(os.open("pointer", os.O_WRONLY | os.O_APPEND), forged)
attempt("through a symlink", through)
def inherited():
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            for fd in os.listdir(f"/proc/{pid}/fd"):
                if os.path.basename(record) in os.readlink(f"/proc/{pid}/fd/{fd}"):
                    os.write(os.open(f"/proc/{pid}/fd/{fd}", os.O_WRONLY | os.O_APPEND), forged)
                    return
    raise OSError
attempt("a descriptor of another process", inherited)
"""


def test_attacks(user, t):
    for where in ("logs/record.jsonl", "record.jsonl"):
        work = user.folder()
        path = os.path.join(work, where)
        script = user.write(f"{work}/attack.py", ATTACK)
        for words in ((), ("--profile", "open"), ("-w", "/")):
            ran = user.run("--record", where, *words, "--", "python3", script, path, cwd=work)
            t.equal((ran.status, ran.out), (0, ""), f"no attack on {where} {' '.join(words)}", ran)
            sound(user, t, path, "the chain is whole")
        t.ok(all(x.get("kind") != "run" or "seq" in x and x["seq"] != 99 for x in lines(path)), "nothing is forged")
        t.equal(len(kinds(path, "end")), 3, "every run has its end")


def test_nested(user, t):
    """A sandbox inside cannot reach the record of the one around it, and what it may not do is recorded."""
    work = user.folder()
    script = user.write(f"{work}/attack.py", ATTACK)
    ran = user.run("--record", "record.jsonl", "--", BUCKLE, "run", "-w", "/", "--", "python3", script,
                   f"{work}/record.jsonl", cwd=work)
    t.equal((ran.status, ran.out), (0, ""), "no attack from a sandbox inside", ran)
    t.ok(len(kinds(f"{work}/record.jsonl", "denial")) > 5, "the outer record has its denials")
    ran = user.run("--", "sh", "-c", f"{BUCKLE} run --record inner.jsonl -- python3 {script} {work}/inner.jsonl", cwd=work)
    t.equal((ran.status, ran.out), (0, ""), "nor on the record of an inner run by its command", ran)
    sound(user, t, f"{work}/inner.jsonl", "which is whole")


def test_refused(user, t):
    """Files that must not become a record, or that the command has."""
    work, keep = user.folder(), user.folder("keep")
    path = f"{keep}/record.jsonl"
    user.run("--record", path, "--", "true", cwd=work)
    with open(path, "ab") as out:
        ran = user.call([BUCKLE, "run", "--record", path, "--", "echo", "forged"], cwd=work, pass_fds=(out.fileno(),))
        t.equal(ran.status, 0, "a descriptor that the command does not inherit")
        child = user.start([BUCKLE, "run", "--record", path, "--", "echo", "forged"], cwd=work, stdout=out,
                           stderr=subprocess.PIPE)
        err = child.communicate()[1].decode()
        t.ok(child.returncode == 125 and "is the record itself" in err, "the record as standard output", err)
        ran = user.call([BUCKLE, "run", "--record", path, "--keep-fd", str(out.fileno()), "--", "true"], cwd=work,
                        pass_fds=(out.fileno(),))
        t.ok(ran.status == 125 and "is the record itself" in ran.err, "or as a kept descriptor", ran)
    sound(user, t, path, "nothing was written to it")
    os.link(path, f"{work}/alias")
    ran = user.run("--record", path, "--", "true", cwd=work)
    t.ok(ran.status == 125 and "more than one name" in ran.err, "a file with another name", ran)
    os.unlink(f"{work}/alias")
    for name, text in (("notes", "my notes\n"), (".bashrc", "alias x=y\n")):
        other = user.write(f"{keep}/{name}", text)
        ran = user.run("--record", other, "--", "touch", "ran", cwd=work)
        t.ok(ran.status == 125 and "is not a record" in ran.err and open(other, encoding="utf-8").read() == text,
             f"{name} is not a record", ran)
    os.symlink(path, f"{keep}/link")
    ran = user.run("--record", f"{keep}/link", "--", "touch", "ran", cwd=work)
    t.ok(ran.status == 125, "a symlink", ran)
    os.chmod(path, 0o666)
    ran = user.run("--record", path, "--", "touch", "ran", cwd=work)
    t.ok(ran.status == 125 and "other users" in ran.err, "a file that others can write", ran)
    t.ok(not os.path.exists(f"{work}/ran"), "none of these commands ran")


# ---- crashes, writers, size ----


def test_torn(user, t):
    work, keep = user.folder(), user.folder("keep")
    path = f"{keep}/record.jsonl"
    user.run("--record", path, "--", "true", cwd=work)
    whole = open(path, "rb").read()
    with open(path, "wb") as f:
        f.write(whole[:-1])
    user.run("--record", path, "--", "true", cwd=work)
    said, status = verify(user, path)
    t.ok(status == 0 and said["torn"] == said["torn_bytes"] == 0 and said["ended"] == 2, "only a newline is missing", said)
    for cut in (2, 40, 200, len(whole.split(b"\n")[2]) + 10):
        with open(path, "wb") as f:
            f.write(whole[:-cut])
        said, status = verify(user, path)
        t.ok(status == 0 and said["torn_bytes"] > 0, f"a record without its last {cut} bytes", said)
        user.run("--record", path, "--", "true", cwd=work)
        said, status = verify(user, path)
        t.ok(status == 0 and said["torn"] == 1 and said["torn_bytes"] == 0, "the next run notes it", said)
        text = open(path, "rb").read()
        with open(path, "wb") as f:
            f.write(text[:-30])
        user.run("--record", path, "--", "true", cwd=work)
        said, status = verify(user, path)
        t.ok(status == 0 and said["torn"] == 2, "and another one", said)
        lost = [x for x in text.split(b"\n") if not x.endswith(b'"}') and x][0]
        with open(path, "wb") as f:
            f.write(text.replace(lost + b"\n", b""))
        t.equal(verify(user, path)[1], 1, "removing a torn line is found")
    with open(path, "wb") as f:
        f.write(whole[:5])
    ran = user.run("--record", path, "--", "true", cwd=work)
    t.ok(ran.status == 0 and verify(user, path)[1] == 0, "a file that was cut in its first line", ran)


def test_changes(user, t):
    """Every change of a line is found."""
    work, keep = user.folder(), user.folder("keep")
    path, copy = f"{keep}/record.jsonl", f"{keep}/copy.jsonl"
    for _ in range(3):
        user.run("--record", path, "--", "sh", "-c", "echo > /etc/buckle-no; true", cwd=work)
    text = open(path, "rb").read().split(b"\n")
    end = verify(user, path)[0]["hash"]

    def found(changed, name, *words):
        with open(copy, "wb") as f:
            f.write(b"\n".join(changed))
        os.chmod(copy, 0o644)
        said, status = verify(user, copy, *words)
        t.ok(status == 1 and said["wrong"], name, said)
    found(text[:2] + [text[2].replace(b"buckle-no", b"buckle-ok")] + text[3:], "a changed word")
    found(text[:2] + text[3:], "a removed line")
    found(text[:3] + [text[2]] + text[3:], "a repeated line")
    found(text[:2] + [text[3], text[2]] + text[4:], "lines in another order")
    found(text[:3] + [b"garbage"] + text[3:], "a line that is none")
    forged = text[2].replace(b"buckle-no", b"buckle-ok")
    body = forged[:-2].split(b', "hash": "')[0]
    found(text[:2] + [body + b', "hash": "' + hashlib.sha256(body).hexdigest().encode() + b'"}'] + text[3:],
          "a forged line with its own hash")
    found(text[:-3] + [b""], "a shortened record does not have the expected hash", "--expect", end)
    t.equal(verify(user, path, "--expect", end)[1], 0, "the whole one does")


def test_writers(user, t):
    """Several runs at once, with rotation, and one that is killed."""
    work, keep = user.folder(), user.folder("keep")
    home = user.write(f"{user.home}/.config/buckle/settings.json",
                      json.dumps({"record": {"path": keep, "maxBytes": 20000, "keep": 100000}}))
    script = "for i in $(seq 40); do echo > /etc/buckle-no; done 2> /dev/null"
    runs = [user.start([BUCKLE, "run", "--report", "none", "--", "sh", "-c", script], cwd=work) for _ in range(4)]
    t.ok(all(x.wait() >= 0 for x in runs), "four runs at once")
    said, status = verify(user, keep)
    t.ok(status == 0 and said["runs"] == 4 == said["ended"] and said["files"] > 1, "one chain over several files", said)
    events = user.call([BUCKLE, "log", "--from", keep, "--kind", "denial", "--by", "path", "--json"]).out
    t.equal(json.loads(events)["count"], 160, "nothing is lost")
    before = said["runs"]
    child = user.start([BUCKLE, "run", "--report", "none", "--", "sh", "-c", "while :; do echo > /etc/buckle-no; done 2> /dev/null"],
                       cwd=work)
    eventually(lambda: verify(user, keep)[0].get("runs") == before + 1)
    time.sleep(0.5)
    child.send_signal(signal.SIGKILL)
    child.wait()
    said, status = verify(user, keep)
    t.ok(status == 0 and said["runs"] == before + 1 and said["ended"] == before, "a killed run's record is sound", said)
    user.run("--", "true", cwd=work)
    sound(user, t, keep, "and goes on")
    ran = user.call([BUCKLE, "log", "--past", "--kind", "end"], cwd=work)
    t.equal(len(ran.out.splitlines()), 5, "log --past finds it by the settings", ran)
    user.write(home, json.dumps({"record": {"path": keep, "maxBytes": 20000, "keep": 2}}))
    for _ in range(2):  # more than a file takes
        user.run("--report", "none", "--", "sh", "-c", script, cwd=work)
    said, status = verify(user, keep)
    t.ok(status == 0 and said["first"] > 1, "old files go, and the rest is sound", said)
    os.unlink(home)


def test_locked(user, t):
    """Somebody who only reads the record can lock it, which must not keep runs from writing it."""
    work, keep = user.folder(), user.folder("keep")
    user.run("--record", keep, "--", "true", cwd=work)
    with open(f"{keep}/record.jsonl", "rb") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        ran = user.run("--record", keep, "--", "sh", "-c", "echo > /etc/buckle-no; true", cwd=work)
    t.ok(ran.status == 0 and ran.seconds < 15, "a run while the record is locked", ran)
    t.equal((len(kinds(f"{keep}/record.jsonl", "run")), len(kinds(f"{keep}/record.jsonl", "denial"))), (2, 1), "nothing is lost")
    sound(user, t, keep, "the chain is whole")


def test_settings(user, t):
    """Who may name a record."""
    work, keep = user.folder(), user.folder("keep")
    user.write(f"{work}/.buckle/settings.json", json.dumps({"record": {"path": f"{keep}/by-project"}}))
    ran = user.run("--", "true", cwd=work)
    t.ok(ran.status == 0 and not os.path.exists(f"{keep}/by-project"), "not a project that is not trusted", ran)
    policy = user.write(f"{keep}/policy.json", json.dumps({"record": {"path": f"{keep}/by-policy"}}))
    env = {"BUCKLE_POLICY": policy}
    ran = user.run("--no-settings", "--profile", "open", "--", "true", cwd=work, env=env)
    t.ok(ran.status == 0 and os.path.exists(f"{keep}/by-policy"), "the machine's policy, for every run", ran)
    ran = user.run("--record", f"{keep}/other", "--", "true", cwd=work, env=env)
    t.ok(ran.status == 125 and "machine's policy" in ran.err, "which a flag does not change", ran)
    user.write(f"{user.home}/.config/buckle/settings.json", json.dumps({"record": {"path": "relative"}}))
    ran = user.run("--", "true", cwd=work)
    t.ok(ran.status == 125 and "absolute" in ran.err, "a relative path in settings", ran)
    os.unlink(f"{user.home}/.config/buckle/settings.json")


# ---- buckle log ----


def test_log(user, t):
    work, keep = user.folder(), user.folder("keep")
    user.run("--record", keep, "--", "sh", "-c", "echo > /etc/buckle-a; touch .vscode; cat /etc/hosts > /dev/null; true",
             cwd=work)
    user.run("--record", keep, "--", "touch", "/etc/buckle-b", cwd=work)

    def log(*words):
        return user.call([BUCKLE, "log", "--from", keep, *words], env={"TZ": "UTC"}).out
    t.ok("buckle-a" in log() and "buckle-b" in log(), "all runs", log())
    for words, has, lacks in ((("--path", "/etc/*a"), "buckle-a", "buckle-b"), (("--program", "touch"), "buckle-b", "buckle-a"),
                              (("--class", "editors"), ".vscode", "/etc"), (("--since", "1h"), "buckle-a", "@"),
                              (("--kind", "end"), "ended with status", "deny(1)"), (("--grep", "buckle-b"), "buckle-b", "buckle-a")):
        out = log(*words)
        # the command itself names both
        objects = [x.split("  ")[-2 if "deny" in x else -1] for x in out.splitlines()]
        t.ok(any(has in x for x in objects) and not any(lacks in x for x in objects), f"log {' '.join(words)}", out)
    t.equal(log("--until", "1h"), "", "log --until: nothing is that old")
    t.ok("3× file-write-create" in log("--by", "operation"), "log --by operation", log("--by", "operation"))
    t.ok("1× deny(1) file-write-create /etc/buckle-a" in log("--group"), "log --group", log("--group"))
    sarif = json.loads(log("--sarif"))
    results = sarif["runs"][0]["results"]
    t.equal((sarif["version"], len(results), results[0]["ruleId"]), ("2.1.0", 3, "file-write-create"), "log --sarif")
    t.ok(results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///etc/buckle-a", "with files")
    t.ok(all(json.loads(x)["seq"] for x in log("--json").splitlines()), "log --json")
    ran = user.call([BUCKLE, "log", "--from", f"{keep}/none"])
    t.equal(ran.status, 2, "no such record")
    for words in (("--since", "soon"), ("--class", "none"), ("--by", "none"), ("--follow",)):
        t.equal(user.call([BUCKLE, "log", "--from", keep, *words]).status, 2, f"log {' '.join(words)} is wrong")


if __name__ == "__main__":
    for_everybody([test_contents, test_secrets, test_answers, test_hosts, test_attacks, test_nested, test_refused, test_torn,
                   test_changes, test_writers, test_locked, test_settings, test_log])
    sys.exit(tap.done())
