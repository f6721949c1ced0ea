#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A session for the program that started it (`buckle session --stream`), and `buckle srt`, whose
commands report to it: what bindings to other languages are made of. Commands must reach neither the
session nor its folder.
"""

import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import BUCKLE, for_everybody


class Stream:
    """The program's end of a session."""

    def __init__(self, person):
        self.person = person
        # a process of this user's that the session is for
        self.owner = person.start(["sleep", "1000"])
        self.child = person.start([BUCKLE, "session", "--stream", "--for", str(self.owner.pid)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        hello = self.read()
        self.pid, self.folder = hello["session"], hello["folder"]
        self.work = person.folder()
        self.settings = os.path.join(self.folder, "settings.json")
        self.configure(allowWrite=[self.work])

    def configure(self, network=None, **filesystem):
        text = json.dumps({"network": {"allowedDomains": [], "deniedDomains": [], **(network or {})},
                           "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": [], **filesystem}})
        self.person.write(self.settings + ".new", text)
        os.rename(self.settings + ".new", self.settings)

    def read(self):
        return json.loads(self.child.stdout.readline())

    def send(self, **message):
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()

    def flush(self):
        """Everything that was written before."""
        self.send(flush=7)
        found = []
        while (message := self.read()) != {"flushed": 7}:
            found.append(message)
        return found

    def words(self, command, *options):
        return [BUCKLE, "srt", "--settings", self.settings, "--session", str(self.pid), "--command-text", "#1",
                *options, "-c", command]

    def srt(self, command, *options, **how):
        return self.person.call(self.words(command, *options), cwd=self.work, **how)

    def end(self):
        self.child.stdin.close()
        status = self.child.wait(10)
        self.owner.kill()
        self.owner.wait()
        return status


def test_events(person, t):
    s = Stream(person)
    done = s.srt("touch here; touch ../there; echo $0; exit 3", "--shell", "sh")
    t.ok(done.status == 3 and done.out.endswith("/sh\n") and os.path.exists(f"{s.work}/here"), "a command runs", done)
    found = s.flush()
    t.ok(len(found) == 1 and found[0]["command"] == "#1" and found[0]["denied"]["operation"] == "file-write-create"
         and found[0]["denied"]["path"] == os.path.join(person.home, "there"), "its denial is there once it has ended", found)
    t.equal(s.flush(), [], "and once only")
    folder = s.folder
    t.equal((s.end(), os.path.exists(folder)), (0, False), "the session ends with its input, and takes its folder along")


def test_questions(person, t):
    s = Stream(person)
    for answer, others in (("deny", 2), ("once", 1)):
        child = person.start(s.words(f"{BUCKLE} connect asked.example 443", "--ask-session"), cwd=s.work,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        asked = s.read()
        question = asked.get("question", {})
        t.ok(question.get("host") == "asked.example" and question.get("port") == 443, f"a question: {answer}", asked)
        s.send(consent=answer, run=asked["run"], id=question["id"])
        child.wait(30)
        denied = [m for m in s.flush() if "denied" in m]
        refused = any("the user denied it" in m["denied"].get("target", "") for m in denied)
        t.equal(refused, answer == "deny", f"the answer counts: {answer}")
        del others
    s.configure({"strictAllowlist": True})
    t.ok(s.srt(f"{BUCKLE} connect asked.example 443", "--ask-session").status != 0, "strictAllowlist: no question")
    t.equal([m for m in s.flush() if "question" in m], [], "none was asked")
    s.end()


def test_grants(person, t):
    s = Stream(person)
    more = person.folder()
    t.ok(s.srt(f"touch {more}/x").status != 0, "not before")
    s.flush()
    s.send(request={"grant": "allow-write", "what": more}, of=3)
    t.equal(s.read(), {"of": 3, "answer": {"ok": True, "waits": ""}}, "a grant")
    t.ok(s.srt(f"touch {more}/x").status == 0, "later commands have it")
    other = person.folder()
    child = person.start(s.words(f"until touch {other}/x 2>/dev/null; do sleep .05; done", "--grantable"), cwd=s.work)
    time.sleep(0.3)
    s.send(request={"grant": "allow-write", "what": other}, of=4)
    t.equal(child.wait(30), 0, "a command that runs gets it")
    s.end()


def test_update(person, t):
    """A command follows its settings file."""
    s = Stream(person)
    other = person.folder()
    child = person.start(s.words(f"until touch {other}/x 2>/dev/null; do sleep .05; done", "--grantable"), cwd=s.work)
    time.sleep(0.3)
    s.configure(allowWrite=[s.work, other])
    t.equal(child.wait(30), 0, "other settings reach a command that runs")
    s.end()


def test_attacks(person, t):
    s = Stream(person)
    # the worst case: everything may be written and every socket reached
    s.configure({"allowAllUnixSockets": True}, allowWrite=["/"])
    before = open(s.settings, encoding="utf-8").read()
    script = f"""
echo '{{}}' >{s.settings}; rm -f {s.settings}; mv {s.folder} {s.folder}x; touch {s.folder}/y
mv {os.path.dirname(s.folder)} {os.path.dirname(s.folder)}x; ln -s /tmp {s.folder}z
{BUCKLE} srt --session {s.pid} --command-text '#9' -c 'echo joined'
{BUCKLE} grant --session {s.pid} --write /etc && echo granted
kill {s.pid}; exit 0"""
    done = s.srt(script)
    t.ok("joined" not in done.out and "granted" not in done.out, "commands cannot join the session or grant", done)
    t.equal((open(s.settings, encoding="utf-8").read(), os.listdir(s.folder)), (before, ["settings.json"]),
            "its settings stay")
    t.ok(s.child.poll() is None and not [m for m in s.flush() if m.get("command") == "#9"], "and so does the session")
    s.end()


def test_end(person, t):
    """Killed, or its owner gone."""
    s = Stream(person)
    s.owner.send_signal(signal.SIGKILL)
    s.owner.wait()
    t.equal((s.child.wait(10), os.path.exists(s.folder)), (0, False), "it ends with the process it is for")
    s.child.stdin.close()
    done = person.call([BUCKLE, "srt", "--session", str(s.pid), "-c", "echo ran"], cwd=s.work)
    t.ok(done.status == 1 and "ran" not in done.out, "without its session a command does not run", done)


def test_name(person, t):
    """The compat names are commands as well, for installations that have one program only."""
    done = person.call([BUCKLE, "srt", "-c", "exit 4"])
    t.equal(done.status, 4, "buckle srt", done)
    done = person.call([BUCKLE, "sandbox-exec", "-p", "(version 1) (allow default)", "/bin/echo", "hi"])
    t.equal(done.out, "hi\n", "buckle sandbox-exec", done)


for_everybody([test_events, test_questions, test_grants, test_update, test_attacks, test_end, test_name])
sys.exit(tap.done())
