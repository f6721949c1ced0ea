# SPDX-License-Identifier: Apache-2.0
"""`buckle ui` and `buckle top` for the end-to-end tests: servers, a browser that has the page open, and
terminals."""

import json
import os
import re
import shutil
import subprocess
from urllib.parse import urlsplit

import drive
from running import BUCKLE, eventually
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

    def __init__(self, user, cwd, *words):
        self.user, self.client = user, Client(user)
        self.child = user.start([BUCKLE, "ui", "--no-open", *(words or ("--idle", "120"))], cwd=cwd, stdout=subprocess.PIPE)
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


# ---- the browser ----

class Browser:
    """Chromium as the user, with the page open."""

    def __init__(self, user, address):
        modules = os.path.join(drive.FOLDER, "modules")
        os.makedirs(modules, exist_ok=True)
        if not os.path.exists(os.path.join(modules, "node_modules")):
            got = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", modules,
                                  "playwright-core@1.48.2", "axe-core@4.10.2"], capture_output=True, text=True, timeout=180)
            if got.returncode:
                skip("the npm registry has no playwright-core here")
                done()
        script = os.path.join(drive.FOLDER, "window.mjs")
        shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "window.mjs"), script)
        os.chmod(script, 0o644)
        self.child = user.start(["node", script, address, modules, shutil.which("chromium")], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True, env={"TMPDIR": user.sessions})

    def __call__(self, name, /, **values):
        self.child.stdin.write(json.dumps({"do": name, **values}) + "\n")
        self.child.stdin.flush()
        got = json.loads(self.child.stdout.readline())
        return got.get("ok", got.get("failed"))

    def sees(self, of, has):
        return self("wait", of=of, has=has) is True

    def end(self):
        self.child.stdin.close()
        self.child.wait(20)


class Page:
    """A `buckle ui`, a browser that has it open, and runs beside it."""

    def __init__(self, user):
        self.user, self.folder, self.outside = user, user.folder(), user.folder("outside")
        self.server, self.runs = Server(user, self.folder), []
        self.browser = Browser(user, self.server.address)
        self.opened = self.browser("open")

    def run(self, script, *words):
        self.runs.append(self.user.start([BUCKLE, "run", "--report=none", "--grantable", *words, "--", "sh", "-c", script],
                                         cwd=self.folder, stdin=subprocess.DEVNULL))
        return self.runs[-1]

    def drawn(self):
        """All that the list has, in view or not."""
        return range(int(self.browser("eval", code="Number(document.querySelector('#now .row')?.getAttribute('aria-setsize') ?? 0)")))

    def counts(self, pid):
        """The denials that the tree has for a run."""
        found = re.search(r"run %d, (\d+) denied" % pid, self.browser("text", of="[role=tree]"))
        return int(found.group(1)) if found else None

    def settings(self):
        return self.user.call([BUCKLE, "settings"], cwd=self.folder).out

    def end(self):
        self.user.write(self.folder + "/stop", "")
        for run in self.runs:
            run.kill()
            run.wait(10)
        self.browser.end()
        self.server.end()


def on_page(test):
    def run(user, t):
        p = Page(user)
        try:
            test(user, t, p, p.browser)
            t.equal([e for e in p.browser("errors") if "owned" in e or e.startswith("asks") or "Content Security Policy" in e or "Error:" in e], [],
                    "nothing else was loaded, and no script failed")
        finally:
            p.end()
    run.__doc__ = test.__doc__
    run.__name__ = test.__name__
    return run


def loop(words):
    return "while [ ! -e stop ]; do %s; sleep 0.3; done" % words


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
