#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle ui` and `buckle top`: who may use the page, what it shows and does, and the terminal view.

    e2e-window.py [browser]     browser: the page in Chromium, with playwright-core from npm
"""

import json
import os
import re
import shutil
import signal
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


# The page looks at who is at the other end, so requests come from a process of the user.
CLIENT = """
import http.client, json, sys
for line in sys.stdin:
    o = json.loads(line)
    try:
        c = http.client.HTTPConnection("127.0.0.1", o["port"], timeout=10)
        c.putrequest(o["method"], o["path"], skip_host=True, skip_accept_encoding=True)
        for name, value in o["fields"]:
            c.putheader(name, value)
        body = o["body"]
        if body is not None:
            c.putheader("Content-Length", str(len(body.encode())))
        c.endheaders(body.encode() if body is not None else None)
        r = c.getresponse()
        got = [r.status, r.getheaders(), r.read().decode(errors="replace")]
    except Exception as e:
        got = [0, [], repr(e)]
    print(json.dumps(got), flush=True)
"""


class Client:
    """Sends requests as a user does."""

    def __init__(self, user, prefix=()):
        self.child = user.start([*prefix, "/usr/bin/python3", "-c", CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, port, method, path, fields, body=None):
        self.child.stdin.write(json.dumps({"port": port, "method": method, "path": path, "fields": fields, "body": body}).encode() + b"\n")
        self.child.stdin.flush()
        status, got, text = json.loads(self.child.stdout.readline())
        return status, dict(got), text

    def end(self):
        self.child.stdin.close()
        self.child.wait(10)


class Server:
    """A `buckle ui`, and a client that has its cookie."""

    def __init__(self, user, cwd):
        self.user, self.client = user, Client(user)
        self.child = user.start([BUCKLE, "ui", "--no-open", "--idle", "120"], cwd=cwd, stdout=subprocess.PIPE)
        self.address = self.child.stdout.readline().decode().strip()
        at = urlsplit(self.address)
        self.port, self.code = at.port, at.query

    def ask(self, method, path, body=None, **fields):
        given = {"Host": "127.0.0.1:%d" % self.port, **{k.replace("_", "-"): v for k, v in fields.items()}}
        return self.client.ask(self.port, method, path, [(k, v) for k, v in given.items() if v is not None], body)

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
        self.client.end()
        self.child.terminate()
        return self.child.wait(10)


def test_login(user, t):
    """Code, cookie, Host, Origin, and pages of other sites."""
    folder = user.folder()
    s = Server(user, folder)
    try:
        t.ok(re.fullmatch(r"http://127\.0\.0\.1:\d+/\?code=[0-9a-f]{32}", s.address), "prints an address with a code", s.address)
        own = "127.0.0.1:%d" % s.port
        t.equal(s.ask("GET", "/?code=" + "0" * 32)[0], 403, "a wrong code gets nothing")
        for code in (s.code[:-1], s.code + "0", "code=", "code", s.code.upper() if s.code.upper() != s.code else "x"):
            t.equal(s.ask("GET", "/?" + code)[0], 403, "nor does " + ("a part of it" if code == s.code[:-1] else code[:8] + "…"))
        t.equal(s.ask("POST", "/?" + s.code, "{}", Origin=s.origin)[0], 403, "nor a POST")
        for host in ("example.com", "localhost:%d" % s.port, "127.0.0.1", own + ".", "127.0.0.2:%d" % s.port, "[::1]:%d" % s.port, None):
            t.ok(s.ask("GET", "/?" + s.code, Host=host)[0] in (400, 403), "the right code under another Host is refused: %s" % host)
        twice = s.client.ask(s.port, "GET", "/?" + s.code, [("Host", own), ("Host", "example.com")])
        t.ok(twice[0] in (400, 403), "so are two of them", twice[0])
        away = s.client.ask(s.port, "GET", "http://example.com/?" + s.code, [("Host", own)])
        t.ok(away[0] in (400, 403), "and an address of another host", away[0])
        t.equal(s.ask("GET", "/?" + s.code, Origin="http://example.com")[0], 403, "and another Origin")
        status, fields = s.enter()
        t.equal(status, 200, "the code opens the page")
        t.ok("HttpOnly" in fields["Set-Cookie"] and "SameSite=Strict" in fields["Set-Cookie"], "with a cookie that scripts can't read")
        t.ok(s.code[5:] not in fields["Set-Cookie"], "which is not the code")
        csp = fields["Content-Security-Policy"]
        t.ok("unsafe" not in csp and "frame-ancestors 'none'" in csp and "default-src 'none'" in csp, "and a strict policy", csp)
        t.equal(s.ask("GET", "/?" + s.code)[0], 403, "the code works once")
        t.equal(s.ask("GET", s.folder)[0], 403, "without the cookie there is no page")
        for wrong in ("0" * 32, s.cookie[7:-1], s.cookie[7:] + "0", ""):
            t.equal(s.ask("GET", s.folder, Cookie="buckle=" + wrong)[0], 403, "nor with a wrong one (%d digits)" % len(wrong))
        t.equal(s.ask("GET", s.folder, Cookie="a=b; " + s.cookie)[0], 200, "with it there is")
        t.equal(s.ask("GET", "/" + "0" * 32 + "/", Cookie=s.cookie)[0], 403, "but not in another folder")
        for path in ("../", "..%2f", "%2e%2e/", "no.js", "index.html/", "//"):
            t.ok(s.ask("GET", s.folder + path, Cookie=s.cookie)[0] in (400, 403, 404), "nothing is at " + path)
        for status, fields, _ in (s.ask("GET", s.folder, Cookie=s.cookie), s.ask("GET", "/"), s.ask("GET", s.folder + "x", Cookie=s.cookie)):
            t.ok(fields.get("X-Frame-Options") == "DENY" and "frame-ancestors 'none'" in fields.get("Content-Security-Policy", "") and
                 fields.get("X-Content-Type-Options") == "nosniff" and fields.get("Cache-Control") == "no-store" and
                 not any(k.lower().startswith("access-control") for k in fields), "an answer of status %d can't be framed or read elsewhere" % status, fields)
        for site in ("cross-site", "same-site"):  # another port of this host is the same site
            t.equal(s.ask("GET", s.folder, Cookie=s.cookie, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors")[0], 403,
                    "another page (%s) can't embed a file of it" % site)
            t.equal(s.ask("POST", s.folder + "act", "{}", Cookie=s.cookie, Origin=s.origin, Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate",
                          Content_Type="application/json")[0], 403, "nor send a form")
        body = json.dumps({"do": "undo"})
        post = dict(Cookie=s.cookie, Content_Type="application/json")
        t.equal(s.ask("POST", s.folder + "act", body, **post)[0], 403, "a POST needs an Origin")
        for origin in ("http://example.com", "null", s.origin + ".example.com", "https" + s.origin[4:], "http://127.0.0.1:1"):
            t.equal(s.ask("POST", s.folder + "act", body, Origin=origin, **post)[0], 403, "its own, not " + origin.replace(str(s.port), "PORT"))
        t.equal(s.ask("POST", s.folder + "act", body, Origin=s.origin, Cookie=s.cookie, Content_Type="text/plain")[0], 400,
                "and JSON, which a form can't send")
        for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"):
            t.ok(s.ask(method, s.folder + "act", "", Cookie=s.cookie, Origin=s.origin)[0] not in (200, 204), method + " is refused")
        t.ok(s.ask("POST", s.folder + "act", "x" * (1 << 20), Origin=s.origin, **post)[0] in (0, 400, 413), "a large body is refused")
        t.ok(s.ask("GET", s.folder, Cookie=s.cookie, X="y" * 20000)[0] != 200, "so are large fields")
        t.equal(s.act("no-such-act")["status"], 400, "it does only what its table has")
        t.equal(s.act("allow-read")["status"], 400, "and not without the values")
        shown = s.act("try-allow-net", what="--layer=project")
        t.ok("network.allowedDomains: --layer=project" in shown["out"], "a value is never an option", shown)
        t.equal(s.ask("GET", s.folder, Cookie=s.cookie)[0], 200, "after all of this it still serves")
    finally:
        t.equal(s.end(), 0, "SIGTERM ends it")


# Inside, each of these would use the page if it could: with the right code, and with the cookie.
REACH = """
import http.client, sys
host, port, path, cookie = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
try:
    c = http.client.HTTPConnection(host, port, timeout=5)
    c.putrequest("GET", path, skip_host=True)
    c.putheader("Host", "127.0.0.1:%d" % port)
    c.putheader("Cookie", cookie)
    c.endheaders()
    print("answer", c.getresponse().status)
except OSError as e:
    print("none", type(e).__name__)
"""
OPEN = """(version 1)
(allow default)
"""


def test_peers(user, t):
    """Other users and sandboxes, also those that may connect and have what it takes."""
    folder = user.folder()
    s = Server(user, folder)
    other = Client(user, ["setpriv", "--reuid=4343", "--regid=4343", "--clear-groups"]) if user.uid == 0 else None
    above = None if user.uid == os.geteuid() else Client(running.PEOPLE[0])
    try:
        own = [("Host", "127.0.0.1:%d" % s.port)]
        for who, client in (("another user", other), ("root", above)):
            if client:
                t.equal(client.ask(s.port, "GET", "/?" + s.code, own)[0], 403, who + " is refused with the right code")
        # the code is still good: it was not used up
        t.equal(s.enter()[0], 200, "this user is not")
        for who, client in (("another user", other), ("root", above)):
            if client:
                t.equal(client.ask(s.port, "GET", s.folder, own + [("Cookie", s.cookie)])[0], 403, who + " is refused with the cookie")
        user.write(folder + "/reach.py", REACH)
        profile = user.profile("open.sb", OPEN)
        words = ("python3", "reach.py")
        for how in (["--allow-net", "localhost:*"], ["--allow-net", "*", "--allow-net", "localhost:*"], ["--profile", profile]):
            for host in ("127.0.0.1", "localhost", "0.0.0.0", "127.1.2.3", "::ffff:127.0.0.1"):
                ran = user.run("--report=none", *how, "--", *words, host, str(s.port), s.folder, s.cookie, cwd=folder)
                said = ran.out.split()
                t.ok(said[:1] == ["none"] or said == ["answer", "403"] or (said[:1] == ["answer"] and int(said[1]) >= 500),
                     "a sandbox with %s gets nothing from %s, even with the cookie" % (" ".join(how).replace(user.home + "/", ""), host), ran)
        t.equal(s.ask("GET", s.folder, Cookie=s.cookie)[0], 200, "while the user does")
        # what a sandbox leaves behind is as much inside as it was
        ran = user.run("--report=none", "--profile", profile, "--", "sh", "-c", "(setsid python3 reach.py 127.0.0.1 %d %s '%s' > left &); "
                       "until [ -s left ]; do sleep 0.05; done; cat left" % (s.port, s.folder, s.cookie), cwd=folder)
        t.ok(ran.out.strip() == "answer 403" or ran.out.startswith("none"), "nor does an orphan", ran)
    finally:
        for one in (other, above):
            if one:
                one.end()
        s.end()


def test_acts(user, t):
    """Each act that changes something, by its effect."""
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
        ran = user.run("--", "cat", secret, cwd=folder)
        t.ok("words" not in ran.out, "and runs obey", ran, s.act("settings", cwd=folder))
        s.act("undo", cwd=folder)
        t.equal(user.run("--", "cat", secret, cwd=folder).out, "words", "until it is undone")
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
        self.socket = os.path.join(user.sessions, "tmux-" + os.path.basename(cwd))
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


KEYS_LINE = "q quit"
RED = "\x1b[31m"


class Top:
    """A `buckle top` in tmux, beside a run that is denied something over and over."""

    def __init__(self, user, *words, env="", script=None, ask=()):
        self.user, self.folder, self.outside = user, user.folder(), user.folder("outside")
        self.run = user.start([BUCKLE, "run", "--report=none", "--grantable", *ask, "--", "sh", "-c",
                               script or "while [ ! -e stop ]; do touch '%s/made' 2>/dev/null; sleep 0.3; done" % self.outside],
                              cwd=self.folder, stdin=subprocess.DEVNULL)
        self.tmux = Tmux(user, self.folder)
        self.tmux.keys("stty -g > before; %s %s top; echo ended-$?; stty -g > after" % (env, BUCKLE), "Enter")

    def pid(self):
        """Of buckle-window."""
        for p in os.listdir("/proc"):
            try:
                with open("/proc/%s/cmdline" % p, "rb") as f:
                    words = f.read().split(b"\0")
                if words[:3] == [b"buckle-window", b"top", BUCKLE.encode()]:
                    return int(p)
            except OSError:
                continue
        return None

    def restored(self):
        def text(name):
            with open(self.folder + "/" + name) as f:
                return f.read()
        return eventually(lambda: os.path.exists(self.folder + "/after") and text("before") == text("after") != "") and \
            self.tmux.call("display-message", "-p", "#{alternate_on}#{cursor_flag}").strip() == "01"

    def end(self):
        self.user.write(self.folder + "/stop", "")
        self.run.kill()
        self.run.wait(10)
        self.tmux.end()


def test_top(user, t):
    """Screens after each key, and a new size."""
    x = Top(user)
    m, run, made = x.tmux, x.run, x.outside + "/made"
    try:
        t.ok(m.shows(" denied, "), "top starts", m.screen())
        t.ok(m.shows(made), "shows denials", m.screen())
        t.ok(m.shows("run %d" % run.pid), "and the run", m.screen())
        lines = m.screen().splitlines()
        t.ok(lines[0].startswith("buckle top  ") and KEYS_LINE in lines[-1], "totals are on top, keys at the bottom", m.screen())
        m.keys("p")
        t.ok(m.shows("PAUSED"), "p pauses", m.screen())
        time.sleep(0.3)
        count = m.screen().count("made")
        time.sleep(0.9)
        t.equal(m.screen().count("made"), count, "so that nothing is added", m.screen())
        m.keys("p")
        t.ok(eventually(lambda: "PAUSED" not in m.screen() and m.screen().count("made") > count), "and goes on", m.screen())
        m.keys("/")
        t.ok(m.shows("type a filter"), "/ asks for a filter", m.screen())
        m.keys("nomatch", "Enter")
        t.ok(m.shows("filter: nomatch") and eventually(lambda: made not in m.screen()), "which hides the others", m.screen())
        m.keys("/")
        m.keys("Escape")
        t.ok(m.shows(made) and "filter:" not in m.screen(), "Escape shows all again", m.screen())
        m.keys("/")
        m.keys("outside-%s" % x.outside.rsplit("-", 1)[1], "Enter")
        t.ok(m.shows("filter: outside"), "a filter on this test's folder", m.screen())
        m.keys("p")
        m.shows("PAUSED")
        newest = chosen(m)
        m.keys("Up")
        t.ok(eventually(lambda: chosen(m) and chosen(m) != newest), "Up chooses an older one", chosen(m), newest)
        older = chosen(m)
        m.keys("p")
        time.sleep(0.8)
        t.equal(chosen(m), older, "which stays chosen while others come", m.screen())
        m.keys("Down")
        t.ok(eventually(lambda: chosen(m) and chosen(m) != older), "Down a newer one")
        m.keys("e")
        t.ok(m.shows("any key: back") and "Decided by" in m.screen() and "deny file-write-create" in m.screen(), "e explains", m.screen())
        m.keys("x")
        t.ok(m.shows(made), "and any key leads back", m.screen())
        m.keys("h")
        t.ok(m.shows("No host was denied."), "h shows hosts", m.screen())
        m.keys("h")
        for columns, rows in ((60, 20), (30, 8), (200, 50), (100, 30)):
            m.call("resize-window", "-x", str(columns), "-y", str(rows))
            t.ok(eventually(lambda: len(m.screen().splitlines()) == rows and m.screen().startswith("buckle top") and
                            max(map(len, m.screen().splitlines())) <= columns and "quit" in m.screen().splitlines()[-1]),
                 "it takes the size %d×%d" % (columns, rows), m.screen())
        m.keys("t")
        t.ok(eventually(lambda: os.path.exists(made)), "t allows it for a minute", m.screen())
        run.kill()
        t.ok(eventually(lambda: "run %d" % run.pid not in m.screen()), "a killed run disappears", m.screen())
        t.ok(made in m.screen(), "and its denials stay", m.screen())
        m.keys("d")
        t.ok(eventually(lambda: made in user.call([BUCKLE, "settings"], cwd=x.folder).out), "d denies it for good", m.screen())
        m.keys("q")
        t.ok(m.shows("ended-0"), "q ends it", m.screen())
        t.ok(x.restored(), "and the terminal is as before")
    finally:
        user.call([BUCKLE, "undo"], cwd=x.folder)
        x.end()


def chosen(m):
    """The line in reverse video, without the first."""
    lines = m.call("capture-pane", "-p", "-e").splitlines()[1:]
    return "".join(re.sub(r"\x1b\[[0-9;]*m", "", l) for l in lines if re.search(r"\x1b\[(?:[0-9]+;)*7(?:;[0-9]+)*m", l)).strip()


def test_top_allows(user, t):
    """The keys that change what a run may do."""
    x = Top(user)
    made = x.outside + "/made"
    try:
        t.ok(x.tmux.shows(made), "a denial is there", x.tmux.screen())
        x.tmux.keys("/")
        x.tmux.keys("outside-%s" % x.outside.rsplit("-", 1)[1], "Enter")
        x.tmux.keys("a")
        t.ok(eventually(lambda: os.path.exists(made)), "a allows it for the run", x.tmux.screen())
        t.ok(made not in user.call([BUCKLE, "settings"], cwd=x.folder).out, "and for no other")
        x.tmux.keys("A")
        t.ok(eventually(lambda: made in user.call([BUCKLE, "settings"], cwd=x.folder).out), "A for good", x.tmux.screen())
        user.call([BUCKLE, "undo"], cwd=x.folder)
    finally:
        x.end()


def test_top_hosts(user, t):
    """Hosts, questions and colours."""
    script = "while [ ! -e stop ]; do curl -s -m 2 http://denied.example/ >/dev/null; sleep 0.5; done"
    x = Top(user, script=script)
    try:
        t.ok(x.tmux.shows("denied.example"), "a denied host is shown", x.tmux.screen())
        t.ok(RED in x.tmux.call("capture-pane", "-p", "-e"), "in red", x.tmux.call("capture-pane", "-p", "-e"))
        x.tmux.keys("h")
        t.ok(eventually(lambda: re.search(r"^ +\d+  denied\.example", x.tmux.screen(), re.M)), "h counts it", x.tmux.screen())
    finally:
        x.end()
    script = "until [ -e go ]; do sleep 0.1; done; curl -s -o /dev/null -m 20 http://asked.example/; touch done"
    x = Top(user, env="NO_COLOR=1", script=script, ask=["--ask"])
    try:
        x.tmux.shows("run %d" % x.run.pid)
        user.write(x.folder + "/go", "")
        t.ok(x.tmux.shows("asks for asked.example"), "a question is shown", x.tmux.screen())
        t.ok("o once" in x.tmux.screen(), "with its keys", x.tmux.screen())
        t.ok(RED not in x.tmux.call("capture-pane", "-p", "-e"), "NO_COLOR is obeyed")
        x.tmux.keys("n")
        t.ok(x.tmux.shows("answered: deny") and eventually(lambda: os.path.exists(x.folder + "/done")), "n answers it", x.tmux.screen())
    finally:
        x.end()


def test_top_ends(user, t):
    """Whatever ends it restores the terminal."""
    for name in ("TERM", "HUP", "INT", "QUIT"):
        x = Top(user)
        try:
            t.ok(x.tmux.shows(" denied, "), "top starts", x.tmux.screen())
            os.kill(x.pid(), getattr(signal, "SIG" + name))
            t.ok(x.tmux.shows("ended-0"), "SIG%s ends it" % name, x.tmux.screen())
            t.ok(x.restored(), "and the terminal is as before")
        finally:
            x.end()
    ran = user.call([BUCKLE, "top"])
    t.ok(ran.status == 2 and "terminal" in ran.err, "without a terminal it says so", ran)


if not os.path.exists(WINDOW):
    skip("libexec/buckle/buckle-window was not built")
elif sys.argv[1:] == ["browser"]:
    for_everybody([test_page])
else:
    for_everybody([test_login, test_peers, test_acts, test_top, test_top_allows, test_top_hosts, test_top_ends])
done()
