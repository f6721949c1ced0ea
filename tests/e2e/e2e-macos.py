#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The macOS back end, as far as Linux can test it: wrapped command lines and complete runs, through our
own `sandbox-exec` and a `log` that replays denials in the system's format. Prints TAP.
"""

import base64
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import drive
import internet
import names
import tap
from internet import SERVER4
from running import BUCKLE, PATH, PEOPLE, eventually, for_everybody, missing, processes

# A program that replaces the system's, and records how it was called.
SANDBOX_EXEC = """#!/bin/sh
printf %s "$2" >{folder}/profile
tag=$(printf %s "$2" | grep -o 'CMD64_[^"]*_END_[A-Za-z0-9_]*' | head -n 1)
sed "s|@TAG@|$tag|" {folder}/lines >>{folder}/stream
exec {real} "$@"
"""
LOG = """#!/bin/sh
printf '%s\\n' "$@" >{folder}/log-args
{way}
"""
HEADER = """echo "Filtering the log data using \\"$3\\""
echo "Timestamp               Ty Process[PID:TID]"
"""
SILENT = "exec tail -n +1 -f {folder}/stream"
FOLLOW = HEADER + "exec tail -n +1 -f {folder}/stream"
STUBBORN = HEADER + "trap '' TERM; tail -n +1 -f {folder}/stream & while :; do sleep 1; done"


def denial(what, process="sh(812)", kernel="2026-11-15 13:05:11.123 E  kernel[0:1f3a2] (Sandbox) "):
    return f"{kernel}Sandbox: {process} deny(1) {what}\n@TAG@\n"


class Mac:
    """A folder with the two programs, and their recorded calls."""

    def __init__(self, user, lines="", log=FOLLOW):
        self.user = user
        self.folder = user.folder("mac")
        self.lines = user.write(self.folder + "/lines", lines)
        user.write(self.folder + "/stream", "")
        self._program("sandbox-exec", SANDBOX_EXEC, real=os.path.join(names.FOLDER, "sandbox-exec"))
        if log:
            self._program("log", LOG, way=log.format(folder=self.folder))
        self.work = user.folder()

    def _program(self, name, text, **more):
        self.user.write(f"{self.folder}/bin/{name}", text.format(folder=self.folder, **more), 0o755)

    def env(self, **more):
        return {"PATH": f"{self.folder}/bin:{PATH}", "BUCKLE_BACKEND": "seatbelt", **more}

    def run(self, *words, **how):
        how.setdefault("cwd", self.work)
        return self.user.run(*words, env=self.env(), **how)

    def left(self):
        """Processes that should have ended."""
        return processes(re.escape(self.folder))

    def reported(self, name):
        with open(f"{self.folder}/{name}", encoding="utf-8", errors="surrogateescape") as f:
            return f.read()


# ---- complete runs ----


def test_run(user, t):
    mac = Mac(user, denial("file-write-create /etc/new") +
              denial("mach-lookup com.apple.diagnosticd") +
              denial("file-read-data /x", "mDNSResponder(1)") +
              denial("file-read-data " + user.home + "/.netrc", "Some App (H(9)"))
    r = mac.run("--", "sh", "-c", "echo out; echo text >made; echo x >/etc/new; cat made; exit 3")
    t.ok(r.status == 3 and r.out == "out\ntext\n", "the command's output and status", r)
    t.ok("/etc/new: Operation not permitted" in r.err, "the profile is enforced", r)
    t.ok("buckle: 2 operations were denied" in r.err and "create  /etc/new" in r.err and
         "default.sb" in r.err, "the log's denials are reported, with the rule behind them", r)
    t.ok(".netrc" in r.err and "secrets.sb" in r.err, "also of a name with parentheses", r)
    t.ok("diagnosticd" not in r.err and "/x" not in r.err, "the system's own chatter is not", r)
    args = mac.reported("log-args").split("\n")
    session = re.fullmatch(r'\(eventMessage ENDSWITH "(_[a-z0-9]{9}_SBX)"\)', args[2] if len(args) > 2 else "")
    t.ok(args[:2] == ["stream", "--predicate"] and args[3:5] == ["--style", "compact"] and session,
         "log is asked for this session's lines", args)
    tag = re.search(r'CMD64_([A-Za-z0-9+/=]*)_END_(\w*)"', mac.reported("profile"))
    text = base64.b64decode(tag[1]).decode() if tag else ""
    t.ok(session and tag and tag[2] == session[1] and text.startswith("sh -c 'echo out;"),
         "whose tag is in the profile, with the command", text)
    t.equal(mac.left(), [], "nothing is left")
    profile = mac.reported("profile")
    t.ok("(import" not in profile and "(param" not in profile and "(define" not in profile and
         "(glob" not in profile.replace("(global", ""), "the profile is whole, in Apple's words")


def test_quiet(user, t):
    mac = Mac(user)
    r = mac.run("--", "sh", "-c", "env; git init -q repo && ls -d repo/.git")
    t.ok(r.status == 0 and "repo/.git" in r.out and r.err == "", "nothing denied, nothing said", r)
    t.ok("SANDBOX_RUNTIME=1" in r.out and "BUCKLE_BACKEND" not in r.out, "the environment", r)
    with open(mac.lines, "rb") as secret:
        fd = secret.fileno()
        r2 = mac.run("--", "sh", "-c", f"cat <&{fd} || echo closed", pass_fds=[fd])
    t.ok(r2.out == "closed\n", "what the caller has open is not passed on", r2)
    tmpdir = re.search(r"^TMPDIR=(.*)$", r.out, re.M)
    t.ok(tmpdir and not os.path.exists(tmpdir[1]), "TMPDIR was its own, and is gone", r)


def test_ends(user, t):
    mac = Mac(user)
    r = mac.run("--", "sh", "-c", "kill -TERM $$")
    t.equal(r.status, -signal.SIGTERM, "ends by the command's signal")
    r = mac.run("--", "no-such-program")
    t.ok(r.status == 127, "a command that is not there", r)
    r = mac.run("--timeout", "1", "--", "sleep", "30")
    t.ok(r.status == 124 and r.seconds < 10, "a time limit", r)
    child = user.start([BUCKLE, "run", "--", "sh", "-c", "trap 'echo got; exit 5' TERM; echo up; "
                          "while :; do sleep 0.1; done"], cwd=mac.work, env=mac.env(),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    up = child.stdout.readline()
    child.terminate()
    out, err = child.communicate(timeout=20)
    t.ok(up == b"up\n" and out == b"got\n" and child.returncode == 5, "signals are passed on", out, err)
    t.equal(mac.left(), [], "nothing is left")
    mac = Mac(user, log=SILENT)
    child = user.start([BUCKLE, "run", "--allow-net", "a.test", "--", "sh", "-c", "sleep 5; echo ran"], cwd=mac.work,
                         env=mac.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eventually(mac.left)  # the log; wait for its first word
    child.terminate()
    out, err = child.communicate(timeout=20)
    t.ok(out == b"" and child.returncode == -signal.SIGTERM, "also before the command has started", out, err)
    t.ok(eventually(lambda: not mac.left()), "and nothing is left then", mac.left())


def test_monitors(user, t):
    mac = Mac(user, log=None)
    os.symlink("/bin/false", mac.folder + "/bin/log")
    r = mac.run("--", "echo", "ran")
    t.ok(r.status == 0 and r.out == "ran\n", "a log that ends at once does no harm", r)
    r = mac.run("--debug", "--", "echo", "ran")
    t.ok("monitor: started" in r.err and "exited with code 1" in r.err, "which the debug log tells of", r)
    mac = Mac(user, denial("file-read-data /a"), STUBBORN)
    r = mac.run("--", "echo", "ran")
    t.ok(r.status == 0 and "/a" in r.err and r.seconds < 10, "one that will not end is ended", r)
    mac = Mac(user, denial("file-read-data /" + "a" * 20000) + denial("file-new-thing /b"))
    r = mac.run("--verbose", "--", "true")
    t.ok(r.status == 0 and "/aaa" in r.err and "file-new-thing /b" in r.err,
         "long lines, and operations nobody knows", r)


def test_settings(user, t):
    mac = Mac(user, denial("file-read-data /quiet/a") + denial("file-write-data /loud/b"))
    secret = user.write(mac.work + "/keys/secret", "secret\n")
    user.write(mac.work + "/keys/open/public", "public\n")
    settings = user.write(mac.folder + "/s.json", json.dumps({
        "filesystem": {"denyRead": ["keys"], "allowRead": ["keys/open"], "allowWrite": ["."],
                       "denyWrite": ["fixed/inner"]},
        "ignoreViolations": {"*": ["/quiet"]}}))
    user.write(mac.work + "/fixed/inner/f", "x")
    r = mac.run("--settings", settings, "--", "sh", "-c",
                "cat keys/secret; cat keys/open/public; mv keys k2; mv fixed f2; echo y >fixed/inner/f;"
                "echo z >fixed/other; echo a >.bashrc; ln keys/secret s2; cat s2")
    t.ok(r.out == "public\n" and os.path.exists(secret) and os.path.exists(mac.work + "/fixed/other"),
         "settings are enforced through it", r)
    with open(mac.work + "/fixed/inner/f", encoding="ascii") as f:
        t.equal(f.read(), "x", "what is denied is as it was")
    t.ok("/loud/b" in r.err and "/quiet" not in r.err, "ignored denials are not reported", r)
    t.ok(not os.path.exists(mac.work + "/.bashrc"), "protected names", r)


# ---- wrapped command lines ----


def wrap(mac, *words, **how):
    how.setdefault("cwd", mac.work)
    return mac.user.call([BUCKLE, "wrap", *words], env=mac.env(), **how)


def sh(mac, line):
    return mac.user.call(["/bin/sh", "-c", line], cwd=mac.work, env=mac.env())


def test_wrap(user, t):
    mac = Mac(user)
    made = wrap(mac, "echo \"it's $((1+1))\"; echo x >/etc/new; echo ok >made; exit 4")
    r = sh(mac, made.out)
    t.ok(made.status == 0 and made.out.startswith("env SANDBOX_RUNTIME=1 "), "a line for a shell", made)
    t.ok(r.status == 4 and r.out == "it's 2\n" and "/etc/new: Operation not permitted" in r.err and
         os.path.exists(mac.work + "/made"), "which runs the command, confined", r)
    words = shlex.split(made.out)
    at = words.index("sandbox-exec")
    t.ok(words[at + 1] == "-p" and words[at + 3].endswith("/bash") and words[at + 4] == "-c",
         "in the order that people know", words[at:])
    odd = bytes(range(1, 256)).decode("latin-1").encode("latin-1")
    made = user.call([BUCKLE.encode(), b"wrap", b"--shell", b"sh", b"--", b"printf", b"%s", odd],
                       cwd=mac.work, env=mac.env())
    r = user.call([b"/bin/sh", b"-c", made.raw], cwd=mac.work, env=mac.env())
    t.ok(r.raw == odd, "any byte but NUL survives", made, r)
    r = wrap(mac, "--shell", "no-such-shell", "true")
    t.ok(r.status == 2 and "Shell 'no-such-shell' not found in PATH" in r.err, "a shell that is not there", r)


def test_wrap_bare(user, t):
    mac = Mac(user)
    settings = user.write(mac.folder + "/s.json", json.dumps({
        "network": {"allowedDomains": ["example.com"]},
        "filesystem": {"denyRead": ["no"], "allowWrite": ["."], "denyWrite": []}}))
    made = wrap(mac, "--bare", "-s", settings, "--http-port", "3128", "--socks-port", "1080",
                "--session", "_s_SBX", "ls no")
    profile = shlex.split(made.out)[shlex.split(made.out).index("sandbox-exec") + 2] if made.status == 0 else ""
    order = [profile.find(f"; ---- {title}") for title in
             ("process", "Mach", "POSIX IPC", "IOKit", "sysctl", "devices", "network", "file read", "file write")]
    t.ok(profile.startswith('(version 1)\n(deny default\n    (with message "CMD64_bHMgbm8=_END__s_SBX"))') and
         -1 not in order and order == sorted(order), "the sections of a profile", order, made)
    t.ok('(allow network-outbound (remote ip "localhost:3128"))' in profile and "example.com" not in profile,
         "names are the proxies' affair")
    env = dict(w.split("=", 1) for w in shlex.split(made.out) if re.match(r"[A-Za-z_]+=", w))
    t.ok(env.get("HTTPS_PROXY") == "http://localhost:3128" and env.get("all_proxy") == "socks5h://localhost:1080" and
         "1080" in env.get("GIT_SSH_COMMAND", ""), "the way to them", env)
    off = user.write(mac.folder + "/off.json", json.dumps({"filesystem": {"disabled": True}}))
    r = wrap(mac, "--bare", "-s", off, "ls -l | wc")
    t.ok(r.status == 0 and "sandbox-exec" in r.out, "the network is restricted still", r)
    everything = {"filesystem": {"disabled": True},
                  "network": {"allowAllDomains": True, "allowAllUnixSockets": True, "allowLocalBinding": True}}
    for name, text in (("nothing is restricted", everything), ("sandboxes are off", {"enabled": False})):
        user.write(off, json.dumps(text))
        for words in (["--bare"], []):
            r = wrap(mac, *words, "-s", off, "ls -l | wc")
            t.equal((r.status, r.out), (0, "ls -l | wc\n"), f"{name}: the command as it is", r)
    everything["network"]["deniedDomains"] = ["a.test"]
    user.write(off, json.dumps(everything))
    t.ok("sandbox-exec" in wrap(mac, "-s", off, "ls").out, "but one host that is denied restricts")


# ---- the network ----


def test_network():
    why = internet.missing() or (missing("curl") and "curl is not installed")
    if why:
        tap.skip(why)
        return
    user = PEOPLE[0]
    net = internet.Internet(drive.FOLDER)
    site = user.folder("site")
    user.write(site + "/hello", "hello there\n")
    net.start([sys.executable, "-m", "http.server", "80", "--bind", SERVER4, "--directory", site])
    net.wait_for(SERVER4, 80)
    mac = Mac(user)

    def run(script, *options):
        argv = net.argv_in(net.home, [BUCKLE, "run", *options, "--", "sh", "-c", script])
        argv = [a.replace(f"--wdns={os.getcwd()}", f"--wdns={mac.work}") for a in argv]
        return user.call(argv, cwd=mac.work, env=mac.env(), timeout=60)

    r = run("curl -sS -m 20 http://four.test/hello; curl -sS -m 20 --proxy $ALL_PROXY http://four.test/hello;"
            "curl -sS -m 20 http://denied.test/hello", "--allow-net", "four.test")
    t = r.out.split("\n")
    tap.ok(t[:2] == ["hello there"] * 2, "network: an allowed name, by both proxies", r)
    tap.ok("denied.test:80 is denied" in r.out and "connect  denied.test:80" in r.err,
           "network: another is refused, and reported", r)
    r = run(f"curl -sS -m 5 --noproxy '*' http://{SERVER4}/hello", "--allow-net", "four.test")
    tap.ok(r.status != 0 and "hello" not in r.out, "network: nothing leads around the proxies", r)
    r = run("curl -sS -m 20 --proxy http://localhost:${HTTP_PROXY##*:} http://four.test/hello",
            "--allow-net", "four.test")
    tap.ok("hello" not in r.out, "network: who does not know the token is turned away", r)
    r = run("curl -sS -m 20 -o /dev/null -w '%{size_download}' http://four.test/large; "
            "for i in 1 2 3 4 5 6 7 8; do curl -sS -m 20 http://four.test/hello & done; wait",
            "--allow-net", "four.test") if make_large(site) else None
    tap.ok(r and r.out.startswith(str(3 << 20)) and r.out.count("hello there") == 8,
           "network: much at once, many at once", r)
    tap.equal([p for p in processes(re.escape(BUCKLE) + " run")], [], "network: nothing is left")


def make_large(site):
    with open(site + "/large", "wb") as f:
        f.write(os.urandom(3 << 20))
    return True


# ---- for a Mac, written here ----


def test_every_host(user, t):
    """allowAllDomains without proxies; with a denied name only proxies can decide."""
    folder = user.folder()
    for denied, port in (([], []), (["bad.example"], []), (["bad.example"], ["--http-port", "3128"])):
        file = user.write(f"{folder}/s.json", json.dumps(
            {"network": {"allowAllDomains": True, "deniedDomains": denied}}))
        r = user.call([BUCKLE, "profile", "--macos", "--bare", "--no-settings", "-s", file, *port], cwd=folder)
        profile = user.write(f"{folder}/p.sb", r.out)
        asked = "".join(f"network-outbound {host}\n" for host in ("93.184.216.34:443", "127.0.0.1:3128"))
        answers = user.call([BUCKLE, "eval", "--batch", profile], stdin=asked).out.split("\n")
        want = ["deny" if denied else "allow", "allow" if port or not denied else "deny"]
        t.equal([a.split()[0] if a else a for a in answers[:2]], want, f"every host, {denied or 'none'} denied {port}")
        t.ok("mDNSResponder" in r.out or denied, "names can be looked up", r)


def test_wrap_tmpdir(user, t):
    folder = user.folder()
    file = user.write(f"{folder}/s.json", json.dumps({"filesystem": {"allowWrite": [folder]}}))
    r = user.call([BUCKLE, "wrap", "--bare", "--no-settings", "-s", file, "true"], cwd=folder)
    words = shlex.split(r.out)
    tmpdir = next((w[7:] for w in words if w.startswith("TMPDIR=")), "")
    t.ok(tmpdir.startswith("/tmp/buckle-"), "wrap names a TMPDIR", r)
    t.ok(os.path.isdir(tmpdir) and stat.S_IMODE(os.stat(tmpdir).st_mode) == 0o700,
         "which is there, for its user alone")
    profile = user.write(f"{folder}/p.sb", words[words.index("-p") + 1])
    asked = "".join(f"file-write-create {p}\n" for p in
                    (f"/private{tmpdir}/x", f"{tmpdir}/x", "/private/tmp/x", "/tmp/x"))
    answers = user.call([BUCKLE, "eval", "--batch", profile], stdin=asked).out.split("\n")
    t.equal([a.split()[0] for a in answers[:4]], ["allow", "allow", "deny", "deny"],
            "which can be written by both of its names, and nothing beside it")


def test_links_elsewhere(user, t):
    """A Mac has other links than this machine; on a Mac its own count."""
    folder = user.folder()
    user.write(f"{folder}/real/x", "")
    os.symlink(f"{folder}/real", f"{folder}/link")
    file = user.write(f"{folder}/s.json", json.dumps(
        {"filesystem": {"denyRead": [f"{folder}/link", "/bin/secret", "/tmp/secret"]}}))
    here = [BUCKLE, "profile", "--macos", "--bare", "--no-settings", "-s", file]
    for before, real in (([], False), (["env", "BUCKLE_BACKEND=seatbelt"], True)):
        out = user.call([*before, *here], cwd=folder).out
        who = "this machine" if before else "a Mac"
        t.equal((f'"{folder}/link"' in out, f'"{folder}/real"' in out), (True, real), f"links, for {who}")
        t.ok('"/tmp/secret" "/private/tmp/secret"' in out, f"both names of /tmp, for {who}")
        t.equal('(subpath "/usr/bin/secret")' in out, bool(before and os.path.islink("/bin")),
                f"a link of this machine, for {who}")


def test_dry_run(user, t):
    mac = Mac(user)
    r = mac.run("--dry-run", "--", "true")
    t.ok(r.status == 0 and r.out.startswith("; Seatbelt enforces this (sandbox-exec)") and
         "(version 1)" in r.out and "(deny default" in r.out, "a dry run prints the profile", r)
    r = mac.run("--dry-run", "--json", "--", "true")
    plan = json.loads(r.out)
    t.ok(plan["enforced"] == "sandbox-exec" and "(version 1)" in plan["profile"], "also as JSON", r)


def test_refused_profile(user, t):
    """What sandbox-exec prints about a profile that it does not understand."""
    mac = Mac(user)
    recorded = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "macos", "sandbox-exec.txt")
    with open(recorded, encoding="utf-8") as f:
        words = f.read()
    user.write(f"{mac.folder}/bin/sandbox-exec", f"#!/bin/sh\necho '{words.strip()}' >&2\nexit 65\n", 0o755)
    r = mac.run("--", "true")
    t.ok(r.status == 65 and words in r.err, "its words and its status reach the user", r)


for_everybody([test_run, test_quiet, test_ends, test_monitors, test_settings, test_wrap, test_wrap_bare,
               test_every_host, test_wrap_tmpdir, test_links_elsewhere, test_dry_run, test_refused_profile])
test_network()
sys.exit(tap.done())
