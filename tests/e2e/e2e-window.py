#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle ui`: who may use the page, and what it shows and does. e2e-top.py has the terminal view.

    e2e-window.py [browser]     browser: the page in Chromium, with playwright-core from npm
"""

import collections
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import secluded  # first: it starts the program again
import running
from running import BUCKLE, eventually, for_everybody
from tap import done, skip
from windows import WINDOW, Client, Server, loop, on_page


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
# The user's own process connects, and a sandbox inherits the connection.
HANDED = r"""
import os, socket, subprocess, sys
port, path, cookie, buckle = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
s = socket.create_connection(("127.0.0.1", port))
inside = "import socket, sys; s = socket.socket(fileno=int(sys.argv[1])); s.sendall(sys.argv[2].encode()); print('inside', s.recv(100).split()[1].decode())"
request = "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nCookie: %s\r\n\r\n" % (path, port, cookie)
os.set_inheritable(s.fileno(), True)
subprocess.run([buckle, "run", "--report=none", "--keep-fd", str(s.fileno()), "--", "python3", "-c", inside, str(s.fileno()), request],
               close_fds=False)
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
        for host in ("2130706433", "0x7f.1", "127.1", "localhost.", "::1", "0", socket.gethostname()):  # other names of this machine
            ran = user.run("--report=none", "--allow-net", "*", "--allow-net", "localhost:*", "--", *words, host, str(s.port), s.folder, s.cookie,
                           cwd=folder)
            said = ran.out.split()
            t.ok(said[:1] == ["none"] or (said[:1] == ["answer"] and (said[1] == "403" or int(said[1]) >= 500)), "nor from " + host, ran)
        user.write(folder + "/handed.py", HANDED)
        ran = user.call(["python3", "handed.py", str(s.port), s.folder, s.cookie, BUCKLE], cwd=folder)
        t.equal(ran.out.strip(), "inside 403", "a connection that was made outside and handed in gets nothing", ran)
        second = Server(user, folder)
        second.enter()
        t.equal(second.ask("GET", second.folder, Cookie=s.cookie)[0], 403, "the cookie of another page gets nothing")
        t.equal(second.ask("GET", s.folder, Cookie=s.cookie)[0], 403, "nor does its folder")
        second.end()
        # what a sandbox leaves behind is as much inside as it was
        ran = user.run("--report=none", "--profile", profile, "--", "sh", "-c", "(setsid python3 reach.py 127.0.0.1 %d %s '%s' > left &); "
                       "until [ -s left ]; do sleep 0.05; done; cat left" % (s.port, s.folder, s.cookie), cwd=folder)
        t.ok(ran.out.strip() == "answer 403" or ran.out.startswith("none"), "nor does an orphan", ran)
    finally:
        for one in (other, above):
            if one:
                one.end()
        s.end()


# A service of the user that connects to a port for those who reach its socket.
RELAY = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind("relay")
s.listen()
print("ready", flush=True)
while True:
    c, _ = s.accept()
    d = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    d.sendall(c.recv(4096))
    c.sendall(d.recv(4096))
    c.close()
    d.close()
"""
BY_RELAY = r"""
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(("GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nCookie: %s\r\n\r\n" % (sys.argv[3], sys.argv[2], sys.argv[4])).encode())
print(s.recv(100).split()[1].decode())
"""


def test_relay(user, t):
    """The limit: a process outside that connects for a command is stopped by the cookie alone."""
    folder, there = user.folder(), user.folder("relay")
    s = Server(user, folder)
    relay = user.start(["/usr/bin/python3", "-c", RELAY, str(s.port)], cwd=there, stdout=subprocess.PIPE)
    try:
        s.enter()
        relay.stdout.readline()
        user.write(folder + "/by-relay.py", BY_RELAY)
        for cookie, status, what in (("buckle=" + "0" * 32, "403", "without the cookie gets nothing"), (s.cookie, "200", "that has the cookie gets the page")):
            ran = user.run("--report=none", "--allow-socket=%s/relay" % there, "--", "python3", "by-relay.py", there + "/relay", str(s.port), s.folder, cookie,
                           cwd=folder)
            t.equal(ran.out.strip(), status, "a command with a relay outside %s" % what, ran)
        ran = user.run("--report=none", "--", "python3", "by-relay.py", there + "/relay", str(s.port), s.folder, s.cookie, cwd=folder)
        t.equal(ran.out.strip(), "", "and a command that may not use the relay gets nothing", ran)
    finally:
        relay.kill()
        relay.wait(10)
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
        asked = s.act("explain", operation="file-write-data", argument="~/.npmrc", program="sh", cwd=folder)
        facts = {f["filter"]: f["value"] for f in json.loads(asked["out"])["facts"]}
        t.equal(facts, {"path": user.home + "/.npmrc", "process-path": os.path.realpath("/bin/sh")}, "explain can be about a program", asked)
        gone = s.act("explain", operation="file-write-data", argument="~/.npmrc", program="no-such-program", cwd=folder)
        t.ok(gone["status"] == 400 and "no-such-program" in gone["err"], "which must be there", gone)
        s.act("deny-net", what="never.example", cwd=folder)
        t.ok("never.example" in s.act("settings", cwd=folder)["out"], "a host can be denied for good")
        s.act("undo", cwd=folder)
        s.act("allow-protected", what="git-hooks", cwd=folder)
        t.ok("git-hooks" in s.act("settings", cwd=folder)["out"], "and a class of protected names allowed")
        s.act("undo", cwd=folder)
        t.ok("git-hooks" not in s.act("settings", cwd=folder)["out"], "until that is undone")
        t.ok("deny" in s.act("reasons", operation="file-write-create", argument="/etc/x", cwd=folder)["out"], "explain answers")
    finally:
        s.end()


# A browser's start by xdg-open: what it was given, and what others can see of it.
XDG_OPEN = """#!/bin/sh
{ stat -c '%a %u' "$1"; cat "$1"; echo; tr '\\0' ' ' </proc/$$/cmdline; } > opened.part
echo "$1" > opened-file
mv opened.part opened
sleep 5
"""


def test_opener(user, t):
    """xdg-open gets a file that only this user can read; the code is in no command line, and the file goes away."""
    folder, tools = user.folder(), user.folder("tools")
    user.write(tools + "/xdg-open", XDG_OPEN, 0o755)
    shown = {"PATH": tools + ":" + running.PATH, "DISPLAY": ":97"}

    def opened(n, words=(), env=shown):
        """A server, and what its xdg-open wrote: mode and owner, the page, the command line, and the file."""
        place = folder + "/%d" % n
        user.sh("mkdir '%s'" % place)
        child = user.start([BUCKLE, "ui", "--idle", "60", *words], cwd=place, env=env, stdout=subprocess.PIPE)
        address = child.stdout.readline().decode().strip()
        if not eventually(lambda: os.path.exists(place + "/opened"), 10 if env is shown and not words else 1):
            return child, address, None
        with open(place + "/opened") as f, open(place + "/opened-file") as g:
            return child, address, (f.readline().split(), f.readline().strip(), f.read(), g.read().strip())

    child, address, saw = opened(1)
    try:
        if not t.ok(saw, "xdg-open is started"):
            return
        (mode, uid), page, line, path = saw
        t.equal((mode, int(uid)), ("600", user.uid), "with a file of mode 0600")
        t.ok(path.startswith(user.sessions + "/"), "in the user's runtime folder", path)
        t.ok("url=%s" % address in page and "http-equiv" in page, "which leads to the address", page)
        code = address.split("code=")[1]
        t.ok(path in line and code not in line, "its command line has the file, and not the code", line)
        lines = "".join(one for _, one in running.processes("."))
        t.ok("xdg-open " + path in lines and code not in lines, "nor has that of any process")
        t.ok(os.path.exists(path), "the file waits for the browser")
        port = int(address.split(":")[2].split("/")[0])
        client = Client(user)
        got = client.ask(port, "GET", "/?code=" + code, [("Host", "127.0.0.1:%d" % port)])
        client.end()
        t.ok(got[0] == 200 and not os.path.exists(path), "and is gone when the code was used", got)
        child.terminate()
        t.equal(child.wait(10), 0, "the server ends")
    finally:
        child.kill()
        child.wait(10)
    child, _, saw = opened(2)
    t.ok(saw and os.path.exists(saw[3]), "a browser that never comes", saw)
    child.terminate()
    child.wait(10)
    t.ok(saw and not os.path.exists(saw[3]), "leaves no file when the server ends")
    for n, words, env, how in ((3, ["--no-open"], shown, "with --no-open"), (4, [], {**shown, "DISPLAY": "", "WAYLAND_DISPLAY": ""}, "with an empty DISPLAY")):
        child, address, saw = opened(n, words, env)
        child.terminate()
        child.wait(10)
        t.ok(saw is None and "code=" in address, "%s the address is printed alone" % how, saw)


# Reads the stream of events, as a page that is open does.
OPEN_PAGE = r"""
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(("GET %sevents HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nCookie: %s\r\n\r\n" % (sys.argv[2], sys.argv[1], sys.argv[3])).encode())
s.recv(100)
print("open", flush=True)
sys.stdin.read()
"""


def test_idle(user, t):
    """--idle: the server ends so long after the last page was closed, and not before."""
    def begin(seconds):
        s = Server(user, user.folder(), "--idle", str(seconds))
        return s, time.monotonic()

    def page(s):
        one = user.start(["/usr/bin/python3", "-c", OPEN_PAGE, str(s.port), s.folder, s.cookie], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        one.stdout.readline()
        return one

    s, began = begin(2)
    try:
        t.equal(s.child.wait(20), 0, "with no page it ends by itself")
        t.ok(1 <= time.monotonic() - began < 6, "after two seconds", time.monotonic() - began)
    finally:
        s.client.end()
    s, began = begin(2)
    try:
        s.enter()
        pages = [page(s), page(s)]
        time.sleep(4)
        t.ok(s.child.poll() is None, "it stays while pages are open")
        for one, how in zip(pages, ("close", "kill")):
            t.ok(s.child.poll() is None, "or one of them is")
            one.stdin.close() if how == "close" else one.kill()
            one.wait(10)
            ended = time.monotonic()
            time.sleep(0 if how == "kill" else 3)
        t.equal(s.child.wait(20), 0, "and ends after the last was closed")
        t.ok(1 <= time.monotonic() - ended < 6, "in its time", time.monotonic() - ended)
    finally:
        s.child.kill()
        s.child.wait(10)
        s.client.end()
    s, began = begin(0)
    try:
        s.enter()
        for _ in range(20):  # as many as can be open, and more
            one = page(s)
            one.kill()
            one.wait(10)
        t.equal(s.ask("GET", s.folder, Cookie=s.cookie)[0], 200, "0 never ends it")
        one = page(s)
        t.ok(one.poll() is None, "and pages that were closed make room for others")
        one.kill()
        one.wait(10)
        for _ in range(10):  # pages that go while something is done for them
            gone = socket.create_connection(("127.0.0.1", s.port)) if user.uid == os.geteuid() else None
            if gone:
                body = json.dumps({"do": "doctor"})
                gone.sendall(("POST %sact HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: %s\r\nCookie: %s\r\nContent-Type: application/json\r\n"
                              "Content-Length: %d\r\n\r\n%s" % (s.folder, s.port, s.origin, s.cookie, len(body), body)).encode())
                time.sleep(0.02)
                gone.close()
        t.ok("abilities" in s.act("doctor")["out"] and s.child.poll() is None, "a page that goes while a command runs for it leaves the server whole")
    finally:
        t.equal(s.end(), 0, "a signal does")
    for wrong in ("-1", "x", "1.5", "99999999999"):
        ran = user.call([BUCKLE, "ui", "--no-open", "--idle", wrong])
        t.ok(ran.status == 2 and "--idle" in ran.err, "--idle %s is refused" % wrong, ran)


# ---- the browser ----

HOSTILE = "<img src=x onerror=document.title='owned'>\u202egpj.exe" + "y" * 60


@on_page
def test_now(user, t, p, b):
    """Each action on a denial, by its effect on the run."""
    t.ok("http" in str(p.opened), "the page opens", p.opened)
    made, kept = p.outside + "/made", p.outside + "/kept"
    run = p.run(loop("touch '%s' '%s' 2>/dev/null" % (made, kept)))
    t.ok(b.sees("[role=treeitem]", "run %d" % run.pid), "a run appears in the tree")
    t.ok(b.sees(".row", made), "and its denials in the list")
    b("click", of=".row", has=made)
    detail = b("text", of=".detail")
    for word in ("file-write-create", made, "touch (process ", "Rule", "default.sb:"):
        t.ok(word in detail, "the detail has " + word, detail)
    b("click", of=".detail button", has="Allow for a minute")
    t.ok(eventually(lambda: os.path.exists(made)), "one click lets the run do it for a minute")
    t.ok(made not in p.settings() and not os.path.exists(kept), "and nothing else")
    b("click", of=".row", has=kept)
    b("click", of=".detail button", has="Allow for this run")
    t.ok(eventually(lambda: os.path.exists(kept)), "or until it ends")
    b("click", of=".detail button", has="Allow for good")
    t.ok(b.sees(".detail pre", kept), "for good shows the line first", b("text", of=".detail"))
    t.ok("allowWrite" in b("text", of=".detail pre") and kept not in p.settings(), "before it is written")
    b("click", of=".detail button", has="Cancel")
    t.ok(b("count", of=".detail pre") == 0 and kept not in p.settings(), "which can be cancelled")
    b("click", of=".detail button", has="Allow for good")
    b("click", of=".detail button", has="Write this")
    t.ok(eventually(lambda: kept in p.settings()), "then it is")
    user.call([BUCKLE, "undo"], cwd=p.folder)
    b("click", of=".detail button", has="Deny for good")
    t.ok(b.sees(".detail pre", "denyWrite") or b.sees(".detail pre", "deny"), "deny shows its line, too")
    b("click", of=".detail button", has="Write this")
    t.ok(eventually(lambda: kept in p.settings()), "and is written")
    user.call([BUCKLE, "undo"], cwd=p.folder)
    b("click", of=".detail button", has="Ignore")
    t.ok(b.sees(".detail pre", "ignoreViolations"), "ignore shows its line, too", b("text", of="#note"))
    b("click", of=".detail button", has="Write this")
    t.ok(eventually(lambda: "ignoreViolations" in p.settings()), "and is written", p.settings())
    user.call([BUCKLE, "undo"], cwd=p.folder)
    b("click", of=".detail button", has="Explain")
    t.ok(b.sees(".detail pre", "Decided by"), "explain has the reasons")
    t.ok("U+000A" not in b("text", of=".detail") and b("eval", code="document.querySelector('.detail pre').innerText.split('\\n').length") > 5, "in lines")
    other = p.run(loop("touch /etc/other 2>/dev/null"))
    t.ok(b.sees(".row", "/etc/other"), "another run is denied something, too")
    b("click", of="[role=treeitem]", has="run %d" % other.pid)
    t.ok(eventually(lambda: kept not in b("text", of="#now .list") and "/etc/other" in b("text", of="#now .list")), "choosing it in the tree shows its denials alone")
    b("click", of="[role=treeitem]", has="Everything")
    b("fill", of="#now label:has-text('Filter') input", value="outside-")
    t.ok(b.sees("#now .row", "outside-"), "and the first item those of all")
    b("fill", of="#now label:has-text('Filter') input", value="")
    b("click", of=".feed button", has="Pause")
    t.ok(b.sees(".feed button", "Continue ("), "the list can pause, and counts what comes")
    count = len(p.drawn())
    time.sleep(1)
    t.equal(len(p.drawn()), count, "but shows nothing of it")
    b("click", of=".feed button", has="Continue")
    t.ok(eventually(lambda: len(p.drawn()) > count), "until it goes on")
    other.kill()
    run.kill()
    t.ok(eventually(lambda: "run %d" % run.pid not in b("text", of="[role=tree]")), "a killed run leaves the tree")


@on_page
def test_protected(user, t, p, b):
    """A protected name is allowed by its class, a host by its name, and other denials not at all."""
    hook = p.folder + "/.git/hooks/made"
    user.sh("git init -q .", cwd=p.folder)
    p.run(loop("{ touch '%s'; curl -s -m 2 http://denied.example/; mknod x p && mknod y c 1 3; } >/dev/null 2>&1; rm -f x" % hook))
    t.ok(b.sees(".row", hook), "a protected name is shown")
    b("click", of=".row", has=hook)
    t.ok(b.sees(".detail", "git-hooks"), "with its class")
    b("click", of=".detail button", has="Allow for good")
    t.ok(b.sees(".detail pre", "allowProtected"), "for good adds the class", b("text", of=".detail"))
    b("click", of=".detail button", has="Cancel")
    b("click", of=".detail button", has="Allow for this run")
    t.ok(eventually(lambda: os.path.exists(hook)), "and one click lets the run write it", b("text", of="#note"))
    t.ok(b.sees(".row", "denied.example"), "a host is shown")
    b("click", of=".row", has="denied.example")
    b("click", of=".detail button", has="Deny for good")
    t.ok(b.sees(".detail pre", "deniedDomains"), "and can be denied for good")
    b("click", of=".detail button", has="Write this")
    t.ok(eventually(lambda: "denied.example" in p.settings()), "which settings have then")
    user.call([BUCKLE, "undo"], cwd=p.folder)
    said = p.folder + "/said"
    p.run(loop("curl -s -o /dev/null -m 5 -w '%%{http_code}\n' http://granted.example/ >> %s" % said), "--allow-net", "other.example")
    b("fill", of="#now label:has-text('Filter') input", value="granted.example")
    t.ok(b.sees(".row", "granted.example") and set(lines_of(said)) == {REFUSED}, "another host is refused", lines_of(said))
    b("click", of=".row", has="granted.example")
    b("click", of=".detail button", has="Allow for this run")
    t.ok(eventually(lambda: NO_HOST in lines_of(said)), "one click lets the run connect to it", lines_of(said), b("text", of="#note"))
    t.ok("granted.example" not in p.settings(), "and no other")


# What the proxy answers for a host that it may not connect to, and for one that does not exist.
REFUSED, NO_HOST = "403", "502"


def lines_of(path):
    try:
        with open(path) as f:
            return f.read().split()
    except OSError:
        return []


@on_page
def test_session(user, t, p, b):
    """What a session is granted its runs have, also later ones, and no others."""
    owner = user.start(["sleep", "600"])
    session = user.call([BUCKLE, "session", "--for", str(owner.pid)], cwd=p.folder).out.strip()
    made = p.outside + "/made"
    try:
        first = p.run(loop("touch '%s' 2>/dev/null" % made), "--session", session)
        t.ok(b.sees("[role=treeitem]", "session " + session), "a session is in the tree", b("text", of="[role=tree]"))
        t.ok(b.sees("[role=treeitem]", "run %d" % first.pid), "with its run below")
        t.ok(b.sees(".row", made), "and its denials in the list")
        b("click", of=".row", has=made)
        t.ok(b("count", of=".detail button:has-text('Allow for this run')") == 0, "nothing is offered for the run alone")
        b("click", of=".detail button", has="Allow for the session")
        t.ok(eventually(lambda: os.path.exists(made)), "one click lets the session's run do it", b("text", of="#note"))
        first.kill()
        os.unlink(made)
        tries = ("--report=none", "--session", session, "--", "touch", made)
        t.ok(user.run(*tries, cwd=p.folder).status == 0 and os.path.exists(made), "and a later run of it")
        os.unlink(made)
        t.ok(user.run("--report=none", "--", "touch", made, cwd=p.folder).status != 0 and not os.path.exists(made), "but no other run")
        t.ok(made not in p.settings(), "and nothing is written down")
        owner.kill()
        owner.wait(10)
        t.ok(eventually(lambda: "session " + session not in b("text", of="[role=tree]")), "the session leaves the tree with its end")
        t.ok(b.sees(".detail", "The run has ended."), "and nothing is offered for it any more")
    finally:
        owner.kill()
        owner.wait(10)


@on_page
def test_questions(user, t, p, b):
    """Questions of `buckle run --ask` are answered on the page."""
    def ask(host, times="1"):
        run = p.run("until [ -e go-%s ]; do sleep 0.1; done; for i in %s; do curl -s -o /dev/null -m 20 -w '%%{http_code}\n' http://%s/ >> said-%s; done; "
                    "sleep 30" % (host, times, host, host), "--ask")
        b.sees("[role=treeitem]", "run %d" % run.pid)
        user.write(p.folder + "/go-" + host, "")
        return b.sees(".question", host)

    def of(host):
        """Other tests' runs may ask at the same time."""
        return ".question:has-text('%s')" % host

    def gone(host):
        return eventually(lambda: b("count", of=of(host)) == 0)

    def said(host, *words):
        return eventually(lambda: lines_of(p.folder + "/said-" + host) == list(words))
    t.ok(ask("one.example"), "a question appears", b("text", of="#now"))
    t.ok("curl" in b("text", of=of("one.example")), "with the program", b("text", of=".question"))
    b("click", of=of("one.example") + " button", has="Deny")
    t.ok(said("one.example", REFUSED), "and its answer arrives")
    t.ok(gone("one.example"), "the question is gone")
    t.ok(ask("two.example"), "another one")
    b("click", of=of("two.example") + " button", has="Allow always")
    t.ok(said("two.example", NO_HOST) and eventually(lambda: "two.example" in p.settings()), "can be remembered", p.settings())
    user.call([BUCKLE, "settings", "remove", "network.allowedDomains"], cwd=p.folder)
    t.ok(ask("once.example", "1 2"), "one of a run that asks twice")
    b("click", of=of("once.example") + " button", has="Allow once")
    t.ok(said("once.example", NO_HOST), "lets one request through", lines_of(p.folder + "/said-once.example"))
    t.ok(b.sees(".question", "once.example"), "so that the next one is asked about")
    b("click", of=of("once.example") + " button", has="Deny")
    t.ok(said("once.example", NO_HOST, REFUSED), "and refused", lines_of(p.folder + "/said-once.example"))
    t.ok(ask("run.example", "1 2 3"), "one of a run that asks three times")
    b("click", of=of("run.example") + " button", has="Allow for this run")
    t.ok(said("run.example", NO_HOST, NO_HOST, NO_HOST), "lets all of them through", lines_of(p.folder + "/said-run.example"))
    t.ok("run.example" not in p.settings() and "once.example" not in p.settings(), "and neither is written down")
    hook = p.folder + "/.git/hooks/made"
    user.sh("git init -q .", cwd=p.folder)
    run = p.run("until [ -e go-hook ]; do sleep 0.1; done; for i in 1 2; do (echo $i >>'%s') 2>/dev/null && echo yes >>said-hook || echo no >>said-hook; done; sleep 30" % hook, "--ask")
    b.sees("[role=treeitem]", "run %d" % run.pid)
    user.write(p.folder + "/go-hook", "")
    t.ok(b.sees(of(hook), "class git-hooks"), "a protected name is asked about, with its class", b("text", of="#now"))
    b("click", of=of(hook) + " button", has="Allow once")
    t.ok(said("hook", "yes") and lines_of(hook) == ["1"], "one answer lets the command write it", lines_of(p.folder + "/said-hook"))
    t.ok(b.sees(of(hook), "wants to change"), "once")
    b("click", of=of(hook) + " button", has="Deny")
    t.ok(said("hook", "yes", "no") and lines_of(hook) == ["1"] and "git-hooks" not in p.settings(), "or refuses it", lines_of(p.folder + "/said-hook"))
    user.sh("rm -rf .git", cwd=p.folder)
    t.ok(ask("gone.example"), "one of a run")
    p.runs[-1].kill()
    t.ok(gone("gone.example"), "which is killed disappears")
    b("eval", code="location.reload()")
    t.ok(b.sees("[role=treeitem]", "Everything") and b("count", of=of("gone.example")) == 0, "and does not come back")


@on_page
def test_hostile(user, t, p, b):
    """Names with markup, controls and great length are text."""
    long = "z" * 200
    deep = "/".join([p.outside] + [long] * 19)
    user.sh("mkdir -p '%s'" % os.path.dirname(deep))
    p.run("until [ -e go ]; do sleep 0.1; done; touch \"$(cat name)\"; touch '%s'; touch \"$(printf '%s/\\033[31mred\\nline')\"; sleep 30" % (deep, p.outside))
    user.write(p.folder + "/name", p.outside + "/" + HOSTILE)
    b.sees("[role=treeitem]", "cat name")
    user.write(p.folder + "/go", "")
    t.ok(b.sees(".row", "onerror"), "a name with markup is shown")
    t.ok("owned" not in b("eval", code="document.title") and b("count", of=".list img") == 0, "as text")
    b("click", of=".row", has="onerror")
    t.ok("U+202E" in b("text", of=".detail") and "\u202e" not in b("text", of=".detail"), "and hidden characters can be seen", b("text", of=".detail"))
    t.ok(b.sees(".row", "zzzz"), "a name of 4,000 bytes is shown")
    b("click", of=".row", has="zzzz")
    name = b("text", of=".detail .title .path")
    t.ok(len(name) < 700 and name.startswith(p.outside) and "…" in name and name.endswith("zzz"), "without its middle", name)
    t.ok(b("eval", code="document.documentElement.scrollWidth <= innerWidth"), "and doesn't widen the page")
    # the same names by other ways: settings of the folder, a record, and files to compare
    user.write(p.folder + "/.buckle/settings.json", json.dumps({"filesystem": {"denyRead": ["/" + HOSTILE]}}))
    b("click", of="#tab-policy")
    b("fill", of="#policy label:has-text('Folder') input", value=p.folder)
    b("press", key="Enter")
    t.ok(b.sees("#policy table", "onerror"), "a hostile settings file is shown as text", b("text", of="#policy"))
    record = p.folder + "/record.jsonl"
    user.run("--report=none", "--record", record, "--", "sh", "-c", 'touch "$1"', HOSTILE, "/etc/" + HOSTILE, cwd=p.folder)
    b("click", of="#tab-history")
    b("fill", of="#history label:has-text('Record') input", value=record)
    b("click", of="#history button", has="Show")
    t.ok(b.sees("#history .row.deny", "onerror"), "so are a hostile record", b("text", of="#history"))
    t.ok(eventually(lambda: re.search("onerror.*U\\+202E", b("text", of="#history label:has-text('First run')"))), "and the runs to compare",
         b("text", of="#history label:has-text('First run')"))
    b("click", of="#history .row.deny", has="onerror")
    t.ok(b.sees("#history tr", "U+202E"), "and the record's details")
    b("click", of="#tab-compare")
    b("fill", of="#compare fieldset:nth-of-type(1) input", value=HOSTILE)
    b("fill", of="#compare fieldset:nth-of-type(2) input", value=HOSTILE)
    b("click", of="#compare button", has="Compare")
    t.ok(b.sees("#compare", "onerror"), "so is a hostile name in an error")
    # a rule of a settings file as a picture; a command in the tree and in a question
    b("click", of="#tab-policy")
    b("select", of="#policy label:has-text('Operation') select", value="file-read-data")
    b("click", of="#policy button", has="Draw")
    b.sees(".picture", "allow")
    b("fill", of="#policy label:has-text('Search the graph') input", value="onerror")
    t.ok(b("count", of=".node.found") > 0, "a hostile rule is drawn", b("text", of="#policy [role=status]"))
    b("click", of="#tab-now")
    asks = p.run(": '%s\u2800\u3164\u200b'; until [ -e ask ]; do sleep 0.1; done; curl -s -m 20 http://hostile.example/; sleep 30" % HOSTILE.replace("'", ""), "--ask")
    t.ok(b.sees("[role=treeitem]", "run %d" % asks.pid) and b.sees("[role=treeitem]", "<img src=x onerror"), "a hostile command is in the tree, as text")
    user.write(p.folder + "/ask", "")
    t.ok(b.sees(".question", "<img src=x onerror"), "and in a question")
    everything = b("eval", code="document.documentElement.outerHTML")
    t.equal([ascii(c) for c in "\u202e\u2800\u3164\u200b\x1b" if c in everything], [], "no hidden character is anywhere in the page, in attributes neither")
    t.ok(b("count", of="img") == 1 and "owned" not in b("eval", code="document.title"), "and no markup came of any")


@on_page
def test_policy_view(user, t, p, b):
    """Settings with file and line, changes, undo, reasons, the plan, and the graph."""
    user.call([BUCKLE, "settings", "add", "filesystem.denyRead", "/srv/kept"], cwd=p.folder)
    b("click", of="#tab-policy")
    t.ok(b.sees("#policy tr", "filesystem.denyRead") and b.sees("#policy tr", "/srv/kept") and b.sees("#policy tr", "settings.json:"),
         "settings are shown, with file and line", b("text", of="#policy"))
    file = user.home + "/.config/buckle/settings.json"
    with open(file) as f:
        line = next(n for n, text in enumerate(f, 1) if "/srv/kept" in text)
    t.ok(b.sees("#policy tr:has-text('/srv/kept')", "%s:%d" % (file, line)), "which are those of the value", b("text", of="#policy table"))
    b("fill", of="#policy label:has-text('Folder') input", value=p.folder)
    b("press", key="Enter")
    b("select", of="#policy label:has-text('Key') select", value="network.allowedDomains")
    b("fill", of="#policy label:has-text('Value') input", value="new.example")
    t.ok(b.sees(".check", "new.example"), "what would be written is shown as it is typed")
    t.ok("new.example" not in p.settings(), "before it is written")
    b("select", of="#policy label:has-text('Key') select", value="enabled")
    b("fill", of="#policy label:has-text('Value') input", value="perhaps")
    t.ok(b.sees(".check.bad", "enabled"), "a wrong value is marked as it is typed", b("text", of=".check"))
    b("select", of="#policy label:has-text('Key') select", value="network.allowedDomains")
    b("fill", of="#policy label:has-text('Value') input", value="new.example")
    b("click", of="#policy button", has="Write")
    t.ok(eventually(lambda: "new.example" in p.settings()), "then it is written")
    t.ok(b.sees("#policy table tr", "settings.json:"), "with its file and line", b("text", of="#policy table"))
    ran = user.run("--report=none", "--dry-run", "--json", "--", "true", cwd=p.folder)
    t.ok(ran.status == 0, "runs take it", ran)
    b("click", of="#policy button", has="Undo")
    t.ok(eventually(lambda: "new.example" not in p.settings()) and "/srv/kept" in p.settings(), "and it can be undone")
    b("click", of="#policy button[aria-label*='/srv/kept']")
    t.ok(eventually(lambda: "/srv/kept" not in p.settings()), "a value can be removed")
    b("click", of="#policy button", has="Undo")
    t.ok(eventually(lambda: "/srv/kept" in p.settings()), "and brought back")
    user.call([BUCKLE, "settings", "remove", "filesystem.denyRead"], cwd=p.folder)
    for verb, what, verdict in (("write", "~/.npmrc", "No."), ("create", p.folder + "/x", "Yes."), ("read", "~/.ssh/id_rsa", "No."),
                                ("connect to", "example.com:443", "No.")):
        b("select", of="#policy label:has-text('do this') select", value=verb)
        b("fill", of="#policy label:has-text('Path or host') input", value=what)
        b("fill", of="#policy label:has-text('May') input", value="node" if "npmrc" in what else "")
        b("click", of="#policy button", has="Ask")
        t.ok(b.sees("#policy [aria-live] strong", verdict) and b.sees("#policy [aria-live] pre", "Decided by"),
             "may it %s %s? %s" % (verb, what.replace(p.folder, "."), verdict), b("text", of="#policy"))
    b("click", of="#policy button", has="Show the plan")
    t.ok(b.sees("#policy .tier", "judged"), "the plan shows what is judged")
    t.ok(b.sees("#policy tr", "file-write-create"), "for each operation")
    plan = json.loads(user.run("--dry-run", "--json", "--", "sh", cwd=p.folder).out)["operations"]
    words = {"walled": "wall", "judged": "judged", "sentry": "sentry", "masked": "masked", "denied": "denied", "free": "free"}
    drawn = b("eval", code="[...document.querySelectorAll('#policy tr:has(.tier)')].map((r) => [r.cells[0].innerText, r.cells[1].innerText])")
    t.equal(sorted(map(tuple, drawn)), sorted((o["operation"], words[o["tier"]]) for o in plan), "wall, judged, sentry: as the run has it")
    said = dict((word, int(n)) for n, word in re.findall(r"(\d+) (\w+)", b("text", of="#policy p:has-text(' judged, ')")))
    t.equal({k: n for k, n in said.items() if n}, dict(collections.Counter(how for _, how in drawn)), "and so many of each")
    t.ok({"wall", "judged"} <= {how for _, how in drawn}, "of which there is more than one")
    b("click", of="#policy button", has="Draw")
    t.ok(b.sees(".picture", "allow") and b("count", of=".picture .node") > 20, "the graph is drawn", b("text", of="#policy"))
    before = b("eval", code="document.querySelector('.picture svg').getBoundingClientRect().width")
    b("click", of="button[aria-label=Larger]")
    t.ok(b("eval", code="document.querySelector('.picture svg').getBoundingClientRect().width") > before, "and can be zoomed")
    b("fill", of="#policy label:has-text('Search the graph') input", value=p.folder.rsplit("/", 1)[1])
    t.ok(b("count", of=".node.found") > 0 and b.sees("#policy [role=status]", "found"), "and searched")
    b("eval", code="document.querySelector('.picture').focus()")
    for key, sign in (("+", 1), ("-", -1)):
        before = b("eval", code="document.querySelector('.picture svg').getBoundingClientRect().width")
        b("press", key=key)
        t.ok((b("eval", code="document.querySelector('.picture svg').getBoundingClientRect().width") - before) * sign > 0, "%s zooms" % key)


@on_page
def test_other_views(user, t, p, b):
    """History and Compare."""
    record = p.folder + "/record.jsonl"
    user.run("--report=none", "--record", record, "--", "sh", "-c", "touch /etc/one /etc/both", cwd=p.folder)
    user.run("--report=none", "--record", record, "--", "sh", "-c", "touch /etc/two /etc/both", cwd=p.folder)
    b("click", of="#tab-history")
    b("fill", of="#history label:has-text('Record') input", value=record)
    b("click", of="#history button", has="Show")
    t.ok(b.sees("#history .row", "/etc/one"), "the record is shown", b("text", of="#history"))
    b("fill", of="#history label:has-text('Contains') input", value="/etc/two")
    b("click", of="#history button", has="Show")
    t.ok(eventually(lambda: "/etc/one" not in b("text", of="#history .list")) and b.sees("#history .row", "/etc/two"), "filtered")
    b("select", of="#history label:has-text('Group by') select", value="operation")
    b("click", of="#history button", has="Show")
    b.sees("#history .row", "×")
    t.equal(re.findall(r"(\d+)×\s+(\S+)", b("text", of="#history .list")), [("2", "file-write-create")], "and grouped, of those alone")
    b("fill", of="#history label:has-text('Contains') input", value="")
    b("click", of="#history button", has="Show")
    t.ok(b.sees("#history .row", "4×"), "or of all", b("text", of="#history .list"))
    b("select", of="#history label:has-text('Group by') select", value="path")
    b("click", of="#history button", has="Show")
    b.sees("#history .row", "/etc/one")
    t.equal(sorted(re.findall(r"(\d+)×\s+(\S+)", b("text", of="#history .list"))), [("1", "/etc/one"), ("1", "/etc/two"), ("2", "/etc/both")], "by path, too")
    b("click", of="#history button", has="Compare the runs")
    both = b("text", of="#history")
    t.ok(re.search(r"only in the first \(1\)\s+file-write-create /etc/one\s+Denied only in the second \(1\)\s+file-write-create /etc/two\s+"
                   r"Denied in both \(1\)\s+file-write-create /etc/both", both), "two runs are compared", both)
    one = user.write(p.folder + "/a.sb", '(version 1)(deny default)(allow file-read* (subpath "/usr"))')
    two = user.write(p.folder + "/b.sb", '(version 1)(deny default)(allow file-write* (subpath "/srv"))')
    b("click", of="#tab-compare")
    b("fill", of="#compare fieldset:nth-of-type(1) input", value=one)
    b("fill", of="#compare fieldset:nth-of-type(2) input", value=two)
    b("click", of="#compare button", has="Compare")
    t.ok(b.sees("#compare h2", "allows more") and b.sees("#compare tr", "/srv"), "profiles are compared, with a witness", b("text", of="#compare"))
    t.ok(b.sees("#compare h2", "allows less") and b.sees("#compare tr", "/usr"), "both ways")
    rows = b("eval", code="[...document.querySelectorAll('#compare tbody tr')].map((r) => [...r.cells].map((c) => c.innerText))")
    wrong = [(file, row) for row in rows for file, said in ((one, row[2]), (two, row[3]))
             if user.call([BUCKLE, "eval", file, row[0], *shlex.split(row[1])]).out.split()[0] != said.split(":")[0]]
    t.ok(len(rows) > 3 and not wrong, "each witness is allowed by the one and denied by the other", wrong or rows)
    b("fill", of="#compare fieldset:nth-of-type(2) input", value=one)
    b("click", of="#compare button", has="Compare")
    t.ok(b.sees("#compare", "They allow and deny the same."), "equal ones are")
    more = user.write(p.folder + "/more.json", '{"filesystem": {"allowWrite": [".", "/srv/data"]}}')
    b("select", of="#compare fieldset:nth-of-type(1) select", value="here")
    b("select", of="#compare fieldset:nth-of-type(2) select", value="settings")
    b("fill", of="#compare fieldset:nth-of-type(2) input", value=more)
    b("click", of="#compare button", has="Compare")
    t.ok(b.sees("#compare tr", "/srv/data"), "settings, too", b("text", of="#compare"))


MENDED = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
LACKING = {"full": False, "summary": "Runs are refused here.", "notes": [], "abilities": [
    {"name": "userns", "words": "user namespaces", "value": False, "good": False, "use": "private folders", "remedy": "Allow them: %s (until the next boot)" % MENDED},
    {"name": "landlock", "words": "Landlock", "value": 7, "good": True, "use": "walls"}]}


@on_page
def test_doctor(user, t, p, b):
    """What this host has and lacks, as the command prints it; and the command that mends what another lacks."""
    found = json.loads(user.call([BUCKLE, "doctor", "--json"]).out)
    b("click", of="#tab-doctor")
    t.ok(b.sees("#doctor tr", "Landlock"), "doctor shows what the host has")
    text = b("text", of="#doctor")
    t.equal([a["words"] for a in found["abilities"] if a["words"] not in text], [], "all that `buckle doctor` knows")
    lacking = b("eval", code="[...document.querySelectorAll('#doctor h3')].map((h) => h.innerText.split(':')[0])")
    t.equal(sorted(lacking), sorted(a["words"].split(":")[0] for a in found["abilities"] if not a["good"]), "what is missing has a part of its own")
    b("doctor", answer=json.dumps({"status": 0, "out": json.dumps(LACKING), "err": ""}))
    b("click", of="#tab-now")
    b("click", of="#tab-doctor")
    t.ok(b.sees("#doctor h3", "user namespaces") and b.sees("#doctor", "Something is missing."), "a host that lacks something", b("text", of="#doctor"))
    t.equal(b("text", of="#doctor code.command"), MENDED, "has the command that mends it")
    b("click", of="#doctor button", has="Copy")
    t.equal(b("clipboard"), MENDED, "which one click copies")
    t.equal(b("axe"), [], "no serious finding of axe")


@on_page
def test_reach(user, t, p, b):
    """Keyboard only, and axe on each view, light, dark and narrow."""
    made = p.outside + "/made"
    p.run(loop("touch '%s' 2>/dev/null" % made))
    b.sees(".row", made)
    b("fill", of="#now label:has-text('Filter') input", value=made)  # other runs of this user are denied things, too
    b("eval", code="document.getElementById('tab-now').focus()")
    for view in ("policy", "history", "compare", "doctor"):
        b("press", key="ArrowRight")
        t.equal(b("focus"), "tab-" + view, "keys lead to " + view)
        time.sleep(1.2)
        heard = b("roles")
        t.equal(heard["nameless"], [], "%s: each control has a name" % view)
        t.ok(heard["roles"].get("tab") == 5 and heard["roles"].get("tabpanel") == 1 and heard["roles"].get("heading", 0) > 1, "with its role", heard)
        for dark, width in ((False, 1200), (True, 1200), (False, 420)):
            b("dark", on=dark)
            b("size", width=width, height=800)
            t.equal(b("axe"), [], "%s: no serious finding of axe (%s, %d wide)" % (view, "dark" if dark else "light", width))
            t.ok(b("eval", code="document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off")
    b("size", width=1200, height=800)
    b("press", key="Home")
    t.equal(b("focus"), "tab-now", "Home leads back")
    for _ in range(12):
        if b("focus") == "listbox":
            break
        b("press", key="Tab")
    t.equal(b("focus"), "listbox", "Tab leads to the denials")
    b("press", key="ArrowDown")
    t.ok(b.sees(".detail", "file-write-create"), "arrows choose one", b("text", of="#now"), b("focus"))
    heard = b("roles")
    t.equal(heard["nameless"], [], "now: each control has a name")
    t.ok(all(heard["roles"].get(r, 0) >= n for r, n in (("tree", 1), ("treeitem", 2), ("listbox", 1), ("option", 1), ("searchbox", 1), ("region", 1))),
         "with its role", heard)
    t.equal(b("eval", code="document.getElementById(document.querySelector('[role=listbox]').getAttribute('aria-activedescendant')).getAttribute('aria-selected')"),
            "true", "and which denial is chosen can be heard")
    for dark, width in ((False, 1200), (True, 1200), (False, 420)):
        b("dark", on=dark)
        b("size", width=width, height=800)
        t.equal(b("axe"), [], "now: no serious finding of axe (%s, %d wide)" % ("dark" if dark else "light", width))
    b("size", width=1200, height=800)
    b("press", key="Tab")
    for _ in range(8):
        if "Allow for this run" in str(b("eval", code="document.activeElement.textContent")):
            break
        b("press", key="Tab")
    b("press", key="Enter")
    t.ok(eventually(lambda: os.path.exists(made)), "and Enter on a button allows it")
    b("eval", code="document.querySelector('[role=treeitem]').focus()")
    own = "run %d" % p.runs[-1].pid
    for _ in range(30):  # other runs of this user are there, too
        if own in b("eval", code="document.activeElement.innerText"):
            break
        b("press", key="ArrowDown")
    time.sleep(1.5)  # the tree is drawn anew with each denial
    t.ok(own in str(b("eval", code="document.activeElement.innerText")), "the place in the tree stays while denials come", b("text", of="[role=tree]"))
    b("press", key="Enter")
    t.ok(eventually(lambda: own in str(b("eval", code="document.querySelector('[role=treeitem][aria-selected=true]').innerText"))), "keys choose in the tree, too")
    b("press", key="Home")
    b("press", key=" ")
    t.ok(eventually(lambda: b("eval", code="document.querySelector('[role=treeitem][aria-selected=true]').dataset.key") == "all"), "and lead back")


@on_page
def test_focus(user, t, p, b):
    """What goes away leaves the focus near, and where a key that was typed twice does no harm."""
    def active():
        return b("eval", code="document.activeElement.closest('.question') === document.activeElement ? 'question' : "
                 "document.activeElement.getAttribute('role') === 'listbox' ? 'list' : document.activeElement.textContent")

    def focus(of, has):
        b("eval", code="[...document.querySelectorAll(%s)].find((e) => e.textContent.includes(%s)).focus()" % (json.dumps(of), json.dumps(has)))

    def ask(host):
        run = p.run("until [ -e go-%s ]; do sleep 0.1; done; curl -s -o /dev/null -m 60 -w '%%{http_code}\n' http://%s/ > said-%s; sleep 60" % (host, host, host),
                    "--ask", "--ask-timeout", "60")
        b.sees("[role=treeitem]", "run %d" % run.pid)
        user.write(p.folder + "/go-" + host, "")
        return b.sees(".question", host)
    t.ok(ask("one.example"), "a question")
    focus(".question button", "Deny")
    t.ok(ask("two.example") and active() == "Deny", "another one leaves the focus where it is", active())
    b("press", key="Enter")
    b("press", key="Enter")
    t.ok(eventually(lambda: lines_of(p.folder + "/said-one.example") == [REFUSED]), "Enter answers it")
    t.ok(eventually(lambda: active() == "question"), "and leads to the other as a whole", active())
    b("press", key="Enter")
    time.sleep(0.5)
    t.ok(b("count", of=".question:has-text('two.example')") == 1 and lines_of(p.folder + "/said-two.example") == [], "where Enter does nothing",
         b("text", of="#now"), lines_of(p.folder + "/said-two.example"))
    for _ in range(4):
        b("press", key="Tab")
    t.equal(active(), "Deny", "Tab leads to its answers")
    b("press", key="Enter")
    t.ok(eventually(lambda: lines_of(p.folder + "/said-two.example") == [REFUSED]) and eventually(lambda: active() == "list"), "and after the last one to the denials",
         active())
    kept = p.outside + "/kept"
    run = p.run(loop("touch '%s' 2>/dev/null" % kept))
    b.sees(".row", kept)
    b("click", of=".row", has=kept)
    for after in ("Cancel", "Write this"):
        focus(".detail button", "Allow for good")
        b("press", key="Enter")
        t.ok(eventually(lambda: active() == "Write this"), "for good leads to the line and its button", active())
        focus(".detail button", after)
        b("press", key="Enter")
        t.ok(eventually(lambda: "Allow for good" in active()), "%s leads back" % after, active())
    t.ok(kept in p.settings(), "and has written it")
    b("click", of="#tab-policy")
    b.sees("#policy tr", kept)
    focus("#policy tr:has(button[aria-label*=kept]) button", "Remove")
    b("press", key="Enter")
    t.ok(eventually(lambda: kept not in p.settings()), "a value is removed by a key")
    t.ok(eventually(lambda: b("focus") == "group"), "and the focus is in the table", b("focus"))
    b("click", of="#tab-now")
    focus(".detail button", "Allow for this run")
    run.kill()
    t.ok(b.sees(".detail", "The run has ended.") and eventually(lambda: b("focus") == "region"), "a run that ends leaves it in the details", b("focus"))


@on_page
def test_foreign(user, t, p, b):
    """A wrong code, pages of other sites and other ports in the same browser, and other names of the machine."""
    user.call([BUCKLE, "settings", "add", "filesystem.denyRead", "/srv/kept"], cwd=p.folder)
    origin = p.server.origin
    t.ok("not valid" in b("visit", at=origin + "/?code=" + "0" * 32), "a wrong code opens nothing")
    t.ok("not valid" in b("visit", at=p.server.address), "nor does the code again")
    site = subprocess.Popen([sys.executable, "-c", "import http.server as h\nclass P(h.BaseHTTPRequestHandler):\n def do_GET(s):\n  "
                             "s.send_response(200); s.send_header('Content-Type', 'text/html'); s.end_headers(); s.wfile.write(b'<body>site ' + "
                             "s.headers.get('Cookie', 'no cookie').encode())\n def log_message(*a): pass\n"
                             "s = h.HTTPServer(('127.0.0.1', 0), P); print(s.server_port, flush=True); s.serve_forever()"], stdout=subprocess.PIPE, text=True)
    try:
        port = int(site.stdout.readline())
        for name in ("127.0.0.1", "localhost"):
            got = b("foreign", at="http://%s:%d/" % (name, port))
            if not isinstance(got, dict):
                t.ok(False, "a page at %s" % name, got)
                continue
            t.ok(got["post"].startswith("failed") and got["read"].startswith("failed"), "a page at %s can't act or read" % name, got)
            t.ok(got["plain"].startswith(("failed", "answered opaque")) and not got["frames"][0].startswith("http"), "nor send blindly, nor frame it", got)
            t.equal(got["frames"][1:], ["http://%s:%d/" % (name, port)], "while it can frame its own")
            t.ok("/srv/kept" in p.settings(), "and what it sent did nothing")
            t.ok(got["cookie"] == "site no cookie", "and doesn't get the cookie", got)
        # a site whose name leads to this machine now: the same origin to the browser, another Host to the server
        place = p.opened[len(origin):]
        got = b("named", at="http://rebound.example:%d%s" % (p.server.port, place))
        t.equal(got, {"status": 403, "cookie": "", "read": 403, "events": 403, "post": 403}, "a name that was bound to this machine gets nothing")
        got = b("named", at=origin + place)
        t.equal([got["status"], got["read"], got["events"], got["post"], got["cookie"]], [200] * 4 + [""], "while the page's own does, and scripts have no cookie")
        second = Server(user, p.folder)
        try:
            got = b("named", at=second.address.replace("127.0.0.1", "rebound.example"))
            t.equal(got["status"], 403, "nor does it with a code that nobody has used")
        finally:
            second.end()
        t.ok(b("count", of="#tab-now") == 1, "the page is still there")
        t.equal(b("eval", code="fetch('style.css').then((r) => r.status)"), 200, "and still works")
    finally:
        user.call([BUCKLE, "settings", "remove", "filesystem.denyRead"], cwd=p.folder)
        site.kill()
        site.wait(10)


def only(tests):
    """Those named by the environment, to try one."""
    return [one for one in tests if one.__name__ in os.environ["ONLY"].split()] if "ONLY" in os.environ else tests


if not os.path.exists(WINDOW):
    skip("libexec/buckle/buckle-window was not built")
elif sys.argv[1:] == ["browser"]:
    for_everybody(only([test_now, test_protected, test_questions, test_hostile, test_session, test_policy_view, test_other_views, test_doctor, test_reach, test_focus, test_foreign]))
else:
    for_everybody(only([test_login, test_peers, test_relay, test_acts, test_opener, test_idle]))
sys.exit(done())
