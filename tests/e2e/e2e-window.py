#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle ui` and `buckle top`: who may use the page, what it shows and does, and the terminal view.

    e2e-window.py [browser]     browser: the page in Chromium, with playwright-core from npm
"""

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import time
from urllib.parse import urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import drive
import running
from running import BUCKLE, PATH, eventually, for_everybody
from tap import done, skip

WINDOW = os.path.join(os.path.dirname(drive.BUCKLE), "..", "libexec", "buckle", "buckle-window")
if os.path.exists(WINDOW):
    shutil.copy(WINDOW, os.path.join(drive.FOLDER, "libexec", "buckle"))


class Server:
    """A `buckle ui`, and a client that has its cookie."""

    def __init__(self, user, cwd):
        self.child = user.start([BUCKLE, "ui", "--no-open", "--idle", "120"], cwd=cwd, stdout=subprocess.PIPE)
        self.address = self.child.stdout.readline().decode().strip()
        at = urlsplit(self.address)
        self.port, self.code = at.port, at.query

    def ask(self, method, path, body=None, **fields):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        given = {"Host": "127.0.0.1:%d" % self.port, **{k.replace("_", "-"): v for k, v in fields.items()}}
        c.request(method, path, body=body, headers={k: v for k, v in given.items() if v is not None})
        r = c.getresponse()
        return r.status, dict(r.getheaders()), r.read().decode()

    def enter(self):
        status, fields, text = self.ask("GET", "/?" + self.code)
        cookie = fields.get("Set-Cookie", "")
        self.cookie, self.folder = cookie.split(";")[0], re.search(r"Path=(/[0-9a-f]+/)", cookie).group(1)
        return status, fields

    @property
    def origin(self):
        return "http://127.0.0.1:%d" % self.port

    def act(self, name, /, **values):
        status, _, text = self.ask("POST", self.folder + "act", json.dumps({"do": name, **values}), Cookie=self.cookie,
                                   Origin=self.origin, Content_Type="application/json")
        return json.loads(text) if status == 200 else {"status": status, "out": "", "err": text}

    def end(self):
        self.child.terminate()
        return self.child.wait(10)


def test_login(user, t):
    """Code, cookie, Host, Origin, other sites, other users, and sandboxes."""
    folder = user.folder()
    s = Server(user, folder)
    try:
        t.ok(re.fullmatch(r"http://127\.0\.0\.1:\d+/\?code=[0-9a-f]{32}", s.address), "prints an address with a code", s.address)
        if user.uid != os.geteuid():
            t.equal(s.ask("GET", "/?" + s.code)[0], 403, "another user is refused, even root with the code")
            return
        t.equal(s.ask("GET", "/?code=" + "0" * 32)[0], 403, "a wrong code gets nothing")
        t.equal(s.ask("GET", "/?" + s.code, Host="example.com")[0], 403, "nor does the right code under another Host")
        t.equal(s.ask("GET", "/?" + s.code, Host="localhost:%d" % s.port)[0], 403, "nor under another name of this host")
        status, fields = s.enter()
        t.equal(status, 200, "the code opens the page")
        t.ok("HttpOnly" in fields["Set-Cookie"] and "SameSite=Strict" in fields["Set-Cookie"], "with a cookie that scripts can't read")
        csp = fields["Content-Security-Policy"]
        t.ok("unsafe" not in csp and "frame-ancestors 'none'" in csp and "default-src 'none'" in csp, "and a strict policy", csp)
        t.equal(s.ask("GET", "/?" + s.code)[0], 403, "the code works once")
        t.equal(s.ask("GET", s.folder)[0], 403, "without the cookie there is no page")
        t.equal(s.ask("GET", s.folder, Cookie="buckle=" + "0" * 32)[0], 403, "nor with a wrong one")
        t.equal(s.ask("GET", s.folder, Cookie=s.cookie)[0], 200, "with it there is")
        t.equal(s.ask("GET", s.folder, Cookie=s.cookie, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0], 403,
                "another site can't embed a file of it")
        body = json.dumps({"do": "undo"})
        post = dict(Cookie=s.cookie, Content_Type="application/json")
        t.equal(s.ask("POST", s.folder + "act", body, **post)[0], 403, "a POST needs an Origin")
        t.equal(s.ask("POST", s.folder + "act", body, Origin="http://example.com", **post)[0], 403, "its own")
        t.equal(s.ask("POST", s.folder + "act", body, Origin=s.origin, Cookie=s.cookie, Content_Type="text/plain")[0], 400,
                "and JSON, which a form can't send")
        t.equal(s.act("no-such-act")["status"], 400, "it does only what its table has")
        t.equal(s.act("allow-read")["status"], 400, "and not without the values")
        shown = s.act("try-allow-net", what="--layer=project")
        t.ok("network.allowedDomains: --layer=project" in shown["out"], "a value is never an option", shown)
        url = s.origin + "/"
        ran = user.run("--allow-net", "localhost:*", "--", "curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}", url, cwd=folder)
        t.ok(ran.status != 0 and ran.out.strip() in ("000", "502", "503", "504"), "no sandbox reaches it, even with localhost:*", ran.out, ran.err)
        ran = user.run("--allow-net", "*", "--allow-net", "localhost:*", "--", "curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}",
                       "http://0.0.0.0:%d/" % s.port, cwd=folder)
        t.ok(ran.out.strip() != "200", "nor by another address", ran.out, ran.err)
        if user.uid == 0:
            other = subprocess.run(["setpriv", "--reuid=4343", "--clear-groups", "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", url],
                                   capture_output=True, text=True)
            t.equal(other.stdout, "403", "another user is refused")
            same = subprocess.run(["curl", "-s", "-w", "%{http_code}", "-b", s.cookie, s.origin + s.folder], capture_output=True, text=True)
            t.ok(same.stdout.endswith("200"), "as this one is not", same.stdout[-80:])
    finally:
        t.equal(s.end(), 0, "SIGTERM ends it")


def test_acts(user, t):
    """Each act that changes something, by its effect."""
    if user.uid != os.geteuid():
        return  # the page would refuse us
    folder = user.folder()
    s = Server(user, folder)
    try:
        s.enter()
        secret = user.write(os.path.join(user.folder("other"), "kept"), "words")
        shown = s.act("try-deny-read", what=secret, cwd=folder)
        t.ok("filesystem.denyRead: " + secret in shown["out"], "the settings line is shown first", shown)
        t.ok(secret not in s.act("settings", cwd=folder)["out"], "and nothing is written yet")
        s.act("deny-read", what=secret, cwd=folder)
        t.ok(secret in s.act("settings", cwd=folder)["out"], "then it is")
        t.ok(user.run("--", "cat", secret, cwd=folder).status != 0, "and runs obey")
        s.act("undo", cwd=folder)
        t.ok(user.run("--", "cat", secret, cwd=folder).status == 0, "until it is undone")
        wrong = s.act("try-set", key="enabled", value="perhaps", cwd=folder)
        t.ok(wrong["status"] == 2 and wrong["err"], "a wrong value is refused as it is typed", wrong)
        t.ok("abilities" in json.loads(s.act("doctor")["out"]), "doctor answers")
        t.ok("deny" in s.act("reasons", operation="file-write-create", argument="/etc/x", cwd=folder)["out"], "explain answers")
    finally:
        s.end()


# ---- the browser ----

class Browser:
    def __init__(self, address):
        modules = os.path.join(drive.FOLDER, "modules")
        os.makedirs(modules, exist_ok=True)
        if not os.path.exists(os.path.join(modules, "node_modules")):
            got = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", modules,
                                  "playwright-core@1.48.2", "axe-core@4.10.2"], capture_output=True, text=True, timeout=180)
            if got.returncode:
                skip("the npm registry has no playwright-core here")
                done()
        here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib", "window.mjs")
        self.child = subprocess.Popen(["node", here, address, modules, shutil.which("chromium")], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)

    def __call__(self, name, /, **values):
        self.child.stdin.write(json.dumps({"do": name, **values}) + "\n")
        self.child.stdin.flush()
        got = json.loads(self.child.stdout.readline())
        return got.get("ok", got.get("failed"))

    def end(self):
        self.child.stdin.close()
        self.child.wait(20)


HOSTILE = "<img src=x onerror=document.title='owned'>\u202egpj.exe" + "y" * 60


def test_page(user, t):
    """Each view, each action with its effect on a running sandbox, hostile names, keys, axe."""
    if user.uid != os.geteuid():
        return
    folder, outside = user.folder(), user.folder("outside")
    s = Server(user, folder)
    b = Browser(s.address)
    run = None
    try:
        t.ok("http" in str(b("open")), "the page opens")
        script = ("while [ ! -e stop ]; do cat '%s/wanted' > got 2>/dev/null; touch '%s/made' 2>/dev/null; sleep 0.3; done" % (outside, outside))
        run = user.start([BUCKLE, "run", "--report=none", "--grantable", "--", "sh", "-c", script], cwd=folder)
        t.equal(b("wait", of="[role=treeitem]", has="sleep 0.3"), True, "a run appears in the tree")
        t.equal(b("wait", of=".row", has=outside + "/made"), True, "and its denials in the list")
        b("click", of=".row", has=outside + "/made")
        t.ok("file-write" in b("text", of=".detail"), "with details", b("text", of=".detail"))
        b("click", of=".detail button", has="Allow for this run")
        t.ok(eventually(lambda: os.path.exists(outside + "/made")), "one click lets the run do it")
        b("click", of=".detail button", has="Allow for good")
        t.ok(outside + "/made" in b("text", of=".detail pre"), "for good shows the line first")
        t.ok(outside + "/made" not in user.call([BUCKLE, "settings"], cwd=folder).out, "before it is written")
        b("click", of=".detail button", has="Write this")
        t.ok(eventually(lambda: outside + "/made" in user.call([BUCKLE, "settings"], cwd=folder).out), "then it is")
        user.call([BUCKLE, "undo"], cwd=folder)
        user.run("--report=none", "--", "sh", "-c", 'touch "$0" "$0"; sleep 2', outside + "/" + HOSTILE, cwd=folder)
        b("wait", of=".row", has="onerror")
        t.ok("owned" not in b("eval", code="document.title") and b("count", of=".list img") == 0, "a name with markup stays text")
        b("click", of=".row", has="onerror")
        t.ok("U+202E" in b("text", of=".detail"), "and hidden characters can be seen")
        b("eval", code="document.getElementById('tab-now').focus()")
        for view in ("policy", "history", "compare", "doctor"):
            b("press", key="ArrowRight")
            t.equal(b("focus"), "tab-" + view, "keys lead to " + view)
            time.sleep(0.8)
            t.equal(b("axe"), [], view + " has no serious finding of axe")
        t.ok("Landlock" in b("text", of="#doctor"), "doctor shows what the host has")
        b("click", of="#tab-now")
        t.equal(b("axe"), [], "nor has now")
        b("dark", on=True)
        t.equal(b("axe"), [], "nor in the dark")
        got = b("foreign", at="data:text/html,<body>x")
        t.ok(isinstance(got, dict) and got["post"].startswith("failed"), "another site can't act", got)
        t.equal([e for e in b("errors") if "owned" in e or e.startswith("asks")], [], "nothing else is loaded")
    finally:
        open(folder + "/stop", "w").close()
        if run:
            run.wait(10)
        b.end()
        s.end()


# ---- the terminal ----

class Tmux:
    def __init__(self, user, cwd):
        self.socket = os.path.join(user.sessions, "tmux")
        self.user = user
        self.call("new-session", "-d", "-x", "100", "-y", "30", "-c", cwd, "sh")

    def call(self, *words):
        return self.user.call(["tmux", "-f", "/dev/null", "-S", self.socket, *words]).out

    def keys(self, *keys):
        self.call("send-keys", *keys)

    def screen(self):
        return self.call("capture-pane", "-p")

    def shows(self, text, seconds=10):
        return eventually(lambda: text in self.screen(), seconds)

    def end(self):
        self.call("kill-server")


def test_top(user, t):
    """Screens after each key, a new size, and each way to end."""
    folder, outside = user.folder(), user.folder("outside")
    script = "while [ ! -e stop ]; do touch '%s/made' 2>/dev/null; sleep 0.3; done" % outside
    run = user.start([BUCKLE, "run", "--report=none", "--grantable", "--", "sh", "-c", script], cwd=folder)
    m = Tmux(user, folder)
    try:
        m.keys("stty -a > before; %s top; stty -a > after; echo ended-$?" % BUCKLE, "Enter")
        t.ok(m.shows(" denied, "), "top starts", m.screen())
        t.ok(m.shows(outside + "/made"), "shows denials", m.screen())
        t.ok(m.shows("run %d" % run.pid), "and the run", m.screen())
        m.keys("p")
        t.ok(m.shows("PAUSED"), "p pauses", m.screen())
        m.keys("p")
        m.keys("/")
        m.keys("nomatch", "Enter")
        t.ok(m.shows("filter: nomatch") and eventually(lambda: outside + "/made" not in m.screen()), "/ filters", m.screen())
        m.keys("/")
        m.keys("Escape")
        t.ok(m.shows(outside + "/made"), "and shows all again", m.screen())
        m.keys("e")
        t.ok(m.shows("any key: back"), "e explains", m.screen())
        m.keys("x")
        m.call("resize-window", "-x", "60", "-y", "20")
        t.ok(eventually(lambda: len(m.screen().splitlines()) == 20 and "buckle top" in m.screen()), "it takes another size", m.screen())
        m.call("resize-window", "-x", "100", "-y", "30")
        m.keys("a")
        t.ok(eventually(lambda: os.path.exists(outside + "/made")), "a allows it for the run", m.screen())
        run.kill()
        t.ok(m.shows("Nothing runs."), "a killed run disappears", m.screen())
        m.keys("q")
        t.ok(m.shows("ended-0"), "q ends it", m.screen())
        t.ok(eventually(lambda: os.path.exists(folder + "/after")) and open(folder + "/before").read() == open(folder + "/after").read(),
             "and the terminal is as before")
        m.keys("clear; %s top; stty -a > again; echo killed-$?" % BUCKLE, "Enter")
        t.ok(m.shows(" denied, "), "top starts again", m.screen())
        user.call(["sh", "-c", "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q '^buckle-window top %s' && kill ${p#/proc/}; done; true" % BUCKLE])
        t.ok(m.shows("killed-0"), "SIGTERM ends it", m.screen())
        t.ok(open(folder + "/before").read() == open(folder + "/again").read(), "and the terminal is as before")
    finally:
        open(folder + "/stop", "w").close()
        run.wait(10)
        m.end()


if not os.path.exists(WINDOW):
    skip("libexec/buckle/buckle-window was not built")
elif sys.argv[1:] == ["browser"]:
    for_everybody([test_page])
else:
    for_everybody([test_login, test_acts, test_top])
done()
