#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle import`: for each tool, verdicts that its documentation states, asked of the imported profile; what
is lost is said; hostile inputs stay strings; and for bwrap and firejail what a probe can do there and here.
"""

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import BUCKLE, FOLDER, buckle, write
from running import for_everybody
from tap import done, equal, ok, skip

HOME = "/home/nobody-here"
ENV = {"HOME": HOME, "PATH": "/usr/bin:/bin"}
R, W, X, N, S = "file-read-data", "file-write-data", "process-exec", "network-outbound", "file-read-metadata"
YES, NO = "allow", "deny"


def imported(tool, *given, status=0, name="one"):
    """The profile of a command line or file, which loads without errors."""
    r = buckle("import", tool, *given, env=ENV)
    equal(r.status, status, f"{tool} {name}: status {status}")
    if r.status not in (0, 3):
        print("#", r.err)
        return None, r
    path = os.path.join(FOLDER, write(f"{tool}-{name}.sb", r.raw))
    check = buckle("check", path, env=ENV)
    ok("error" not in check.out + check.err, f"{tool} {name}: the profile loads", check)
    return path, r


def verdicts(profile, rows, what, *define):
    """Rows are (operation, argument, verdict). A missing profile fails."""
    text = "".join(f"{op} '{arg}'\n" for op, arg, _ in rows)
    r = buckle("eval", *define, "--batch", profile or "missing", stdin=text, env=ENV)
    got = [line.split()[0] for line in r.out.splitlines()]
    wrong = [f"{row}: {g}" for row, g in zip(rows, got) if row[2] != g]
    ok(len(got) == len(rows) and not wrong, f"{what}: {len(rows)} verdicts", *wrong, r.err)


# ---- by documentation ----

def test_bwrap():
    p, _ = imported("bwrap", "--ro-bind", "/usr", "/usr", "--bind", "/srv/data", "/srv/data", "--tmpfs", "/srv/data/tmp",
                    "--ro-bind", "/opt/lib", "/mnt/lib", "--proc", "/proc", "--dev", "/dev", "--unshare-net", "--", "ls")
    verdicts(p, [(R, "/usr/bin/x", YES), (W, "/usr/bin/x", NO), (X, "/usr/bin/x", YES), (R, "/etc/passwd", NO),
                 (S, "/etc/passwd", NO), (R, "/srv/data/a", YES), (W, "/srv/data/a", YES), (R, "/srv/data/tmp/a", NO),
                 (W, "/srv/data/tmp/a", NO), (R, "/opt/lib/a", YES), (W, "/opt/lib/a", NO), (R, "/mnt/lib/a", NO),
                 (R, "/proc/self/status", YES), (W, "/dev/null", YES), (R, "/dev/sda", NO), (N, "1.2.3.4:80", NO),
                 (N, "/run/dbus/system_bus_socket", NO), (S, "/srv", YES), (R, "/srv", NO)], "bwrap")
    p, _ = imported("bwrap", "--ro-bind", "/", "/", "--tmpfs", "/home", "--bind", "/home/u/p", "/home/u/p", "sh",
                    name="whole tree")
    verdicts(p, [(R, "/etc/x", YES), (W, "/etc/x", NO), (R, "/home/u/x", NO), (S, "/home/u/x", NO), (S, "/home/u", YES),
                 (W, "/home/u/p/x", YES), (R, "/dev/null", NO), (N, "1.2.3.4:80", YES), (N, "/home/u/s", NO),
                 (N, "/run/s", YES)], "bwrap: a later mount hides, another shows again")
    p, _ = imported("bwrap", "--bind", "/data", "/work", "--tmpfs", "/work/secret", "--ro-bind", "/b", "/b", "--bind", "/c", "/b",
                    name="moved")
    verdicts(p, [(W, "/data/x", YES), (R, "/data/secret/x", NO), (R, "/work/x", NO), (R, "/b/x", NO), (W, "/c/x", YES)],
             "bwrap: what is hidden at another path is hidden at its own")
    p, _ = imported("bwrap", "--bind", "/x", "/home/u", "--tmpfs", "/home", name="covered")
    verdicts(p, [(R, "/x/a", NO), (R, "/home/u/a", NO)], "bwrap: what is covered is gone")
    write("args", b"--ro-bind\0/a b\0/a b\0--unshare-all\0--share-net\0")
    p, _ = imported("bwrap", "args", name="NUL-separated")
    verdicts(p, [(R, "/a b/c", YES), (R, "/a", NO), (N, "1.2.3.4:80", YES)], "bwrap --args")
    write("line", "# mine\nbwrap --ro-bind \"$HOME\" '/h x' \\\n  --unshare-net -- ls | cat\n")
    r = buckle("import", "bwrap", "line", env=ENV)
    ok(r.status == 2 and "line:3" in r.err and "|" in r.err, "a pipe in a file is an error with its line", r)


def test_landrun():
    p, _ = imported("landrun", "--rox", "/usr", "--ro", "/etc,/lib64x", "--rw", "/srv/w", "--ro", "/srv/w/in", "--rwx", "/srv/x",
                    "--unix", "/run/pg/s", "--connect-tcp", "443,8000", "--bind-tcp", "8080", "--env", "HOME", "ls")
    verdicts(p, [(X, "/usr/bin/ls", YES), (R, "/etc/hosts", YES), (X, "/etc/x", NO), (W, "/etc/x", NO), (W, "/srv/w/a", YES),
                 (X, "/srv/w/a", NO), (W, "/srv/w/in/a", YES), (X, "/srv/x/a", YES), (R, "/root/x", NO),
                 (N, "tcp:1.2.3.4:443", YES), (N, "tcp:1.2.3.4:8000", YES), (N, "tcp:1.2.3.4:80", NO),
                 ("network-bind", "tcp:0.0.0.0:8080", YES), ("network-bind", "tcp:0.0.0.0:80", NO), (N, "/run/pg/s", YES),
                 (N, "/run/pg/t", NO)], "landrun")
    p, _ = imported("landrun", "ls", name="nothing")
    verdicts(p, [(R, "/usr/x", NO), (N, "tcp:1.2.3.4:443", NO)], "landrun without options is a maximum jail")
    p, _ = imported("landrun", "--unrestricted-network", "--unrestricted-filesystem", "ls", name="open")
    verdicts(p, [(W, "/usr/x", YES), (N, "tcp:1.2.3.4:443", YES)], "landrun, unrestricted")


UNIT = """[Unit]
Description=x
[Service]
ExecStart=/usr/bin/x \\
    --y
ProtectSystem=strict
ReadWritePaths=/var/lib/x -/var/log/x
ReadOnlyPaths=/var/lib/x/fixed
ProtectHome=yes
BindPaths=/srv/real:/srv/shown
PrivateTmp=yes
PrivateDevices=yes
InaccessiblePaths=/opt/secret
ReadWritePaths=/opt/secret/in
NoExecPaths=/var
ExecPaths=/var/lib/x/bin
IPAddressDeny=any
IPAddressAllow=localhost 10.0.0.0/8
SocketBindDeny=any
NoNewPrivileges=yes
"""


def test_systemd():
    write("x.service", UNIT)
    p, _ = imported("systemd", "x.service")
    verdicts(p, [(R, "/etc/x", YES), (W, "/etc/x", NO), (W, "/var/lib/x/a", YES), (W, "/var/lib/x/fixed/a", NO),
                 (W, "/var/log/x/a", YES), (R, "/home/u/a", NO), (R, "/root/a", NO), (R, "/tmp/a", NO),
                 (R, "/opt/secret/a", NO), (W, "/opt/secret/in/a", NO), (X, "/var/x", NO), (X, "/var/lib/x/bin/a", YES),
                 (R, "/srv/real/a", YES), (R, "/srv/shown/a", NO), (R, "/dev/sda", NO), (W, "/dev/null", YES),
                 (N, "10.1.1.1:80", YES), (N, "1.2.3.4:80", NO), (N, "localhost:80", YES)], "systemd")
    p, r = imported("systemd", "-p", "PrivateNetwork=yes", "-p", "SystemCallFilter=@system-service", "--user", "ls", status=3,
                    name="systemd-run")
    ok("SystemCallFilter" in r.err and "SystemCallFilter" in r.out, "systemd: what is lost is said twice", r)
    verdicts(p, [(N, "1.2.3.4:80", NO), (W, "/etc/x", YES)], "systemd-run")
    p, _ = imported("systemd", "-p", "RestrictAddressFamilies=AF_UNIX", status=3, name="families")
    verdicts(p, [(N, "1.2.3.4:80", NO), (N, "/run/x", YES)], "systemd: only AF_UNIX")


COMPOSE = """services:
  web:
    image: nginx
    read_only: true
    network_mode: none
    cap_drop: [ALL]
    volumes:
      - /srv/www:/usr/share/nginx/html:ro
      - /srv/cache:/var/cache
      - logs:/var/log
      - {type: bind, source: /srv/conf, target: /etc/nginx, read_only: true}
  other:
    image: x
"""


def test_docker():
    p, _ = imported("docker", "run", "--rm", "-it", "-v", "/srv/a:/a", "-v", "/srv/b:/b:ro", "--mount",
                    "type=bind,src=/srv/c,dst=/c,readonly", "--network", "none", "--read-only", "--tmpfs", "/tmp",
                    "--cap-drop=ALL", "--security-opt", "no-new-privileges", "alpine", "sh", "-v", "/:/")
    verdicts(p, [(W, "/srv/a/x", YES), (R, "/srv/b/x", YES), (W, "/srv/b/x", NO), (W, "/srv/c/x", NO), (R, "/srv/c/x", YES),
                 (R, "/srv/d/x", NO), (R, "/usr/bin/ls", YES), (W, "/usr/bin/ls", NO), (R, "/etc/shadow", NO),
                 (R, "/home/u/x", NO), (N, "1.2.3.4:80", NO), (N, "/run/docker.sock", NO), (W, "/tmp/x", NO)], "docker")
    write("compose.yaml", COMPOSE)
    r = buckle("import", "docker", "compose.yaml", env=ENV)
    ok(r.status == 2 and "name one" in r.err, "docker: of several services one is named", r)
    p, _ = imported("docker", "compose.yaml", "web", name="compose")
    verdicts(p, [(R, "/srv/www/x", YES), (W, "/srv/www/x", NO), (W, "/srv/cache/x", YES), (R, "/srv/conf/x", YES),
                 (W, "/srv/conf/x", NO), (N, "1.2.3.4:80", NO), (R, "/srv/x", NO)], "compose")
    _, r = imported("docker", "run", "--memory", "1g", "--security-opt", "seccomp=/x.json", "alpine", status=3, name="limits")
    equal(len(re.findall("^warning", r.err, re.M)), 2, "docker: two warnings")


NONO = """{
  "meta": {"name": "x"}, // comments are fine
  "filesystem": {"allow": ["$HOME/.npm", "$WORKDIR/out"], "read": ["/srv/r"], "write_file": ["/srv/w.log"],
                 "deny": ["/srv/r/secret", "$HOME/.npm/_auth*"]},
  "network": {"allow_domain": ["registry.npmjs.org", "*.example.com"], "open_port": [3000]},
  "workdir": {"access": "read"}
}
"""


def test_nono():
    write("nono.json", NONO)
    p, _ = imported("nono", "nono.json")
    verdicts(p, [(W, HOME + "/.npm/x", YES), (R, HOME + "/.npm/_auth.json", NO), (R, "/srv/r/a", YES), (W, "/srv/r/a", NO),
                 (R, "/srv/r/secret/a", NO), (W, "/srv/w.log", YES), (R, "/srv/w.log", NO), (R, "/usr/lib/x", YES),
                 (W, "/tmp/x", YES), (R, "/w/a", YES), (W, "/w/a", NO), (W, "/w/out/a", YES), (R, HOME + "/.ssh/id", NO),
                 (R, HOME + "/other", NO), (N, "registry.npmjs.org:443", YES), (N, "a.example.com:443", YES),
                 (N, "evil.org:443", NO), (N, "tcp:localhost:3000", YES), (N, "tcp:localhost:3001", NO)], "nono",
             "-D", "CWD=/w", "-D", "HOME=" + HOME)
    p, _ = imported("nono", "run", "--allow-cwd", "--read", "/srv/r", "--block-net", "--", "make", name="command line")
    verdicts(p, [(W, "/w/a", YES), (R, "/srv/r/a", YES), (N, "1.2.3.4:80", NO)], "nono run", "-D", "CWD=/w")
    write("nono2.json", '{"extends": "claude-code", "security": {"signal_mode": "isolated"}}')
    imported("nono", "nono2.json", status=3, name="extends")


def test_codex():
    write("config.toml", 'model = "x"\nsandbox_mode = "workspace-write"\n[sandbox_workspace_write]\n'
          'writable_roots = ["/srv/y"]\nexclude_slash_tmp = true\n')
    p, _ = imported("codex", "config.toml")
    rows = [(R, "/etc/x", YES), (W, "/etc/x", NO), (W, "/srv/y/a", YES), (W, "/srv/y/.git/config", NO), (W, "/w/a", YES),
            (W, "/w/.git/hooks/x", NO), (W, "/w/.codex/x", NO), (W, "/tmp/a", NO), (W, "/t/a", YES), (X, "/usr/bin/x", YES),
            (N, "1.2.3.4:80", NO), (N, "/run/x", NO), (W, "/dev/null", YES)]
    verdicts(p, rows, "codex", "-D", "CWD=/w", "-D", "TMPDIR=/t")
    p, _ = imported("codex", "--sandbox", "read-only", "--add-dir", "/srv/y", name="read-only")
    verdicts(p, [(R, "/etc/x", YES), (W, "/srv/y/a", NO), (W, "/w/a", NO), (N, "1.2.3.4:80", NO)], "codex read-only",
             "-D", "CWD=/w")
    p, _ = imported("codex", "-s", "workspace-write", "-c", "sandbox_workspace_write.network_access=true", name="network")
    verdicts(p, [(N, "1.2.3.4:80", YES), (W, "/tmp/a", YES)], "codex with network")
    for words in (("--yolo",), ("-s", "danger-full-access"), ("-s", "what")):
        equal(buckle("import", "codex", *words, env=ENV).status, 2, f"codex {' '.join(words)} is an error")


FIREJAIL = """# mine
include missing.local
noblacklist ${HOME}/.config/git
blacklist ${HOME}/.config/git
blacklist ${HOME}/.ssh
blacklist /usr/bin/gcc*
read-only ${HOME}/ro
read-write ${HOME}/ro/rw   # again
whitelist /srv/shown
whitelist-ro /srv/fixed
noexec ${HOME}/data
private-tmp
private-etc hosts,ssl
net none
caps.drop all
nonewprivs
"""


def test_firejail():
    write("x.profile", FIREJAIL)
    p, _ = imported("firejail", "x.profile")
    verdicts(p, [(R, HOME + "/.config/git/x", YES), (R, HOME + "/.ssh/id", NO), (S, HOME + "/.ssh/id", NO),
                 (X, "/usr/bin/gcc-12", NO), (X, "/usr/bin/git", YES), (W, HOME + "/ro/a", NO), (W, HOME + "/ro/rw/a", YES),
                 (W, HOME + "/a", YES), (R, "/srv/other", NO), (W, "/srv/shown/a", YES), (R, "/srv/fixed/a", YES),
                 (W, "/srv/fixed/a", NO), (X, HOME + "/data/x", NO), (R, "/tmp/x", NO), (R, "/etc/hosts", YES),
                 (R, "/etc/shadow", NO), (R, "/home/other/x", NO), (N, "1.2.3.4:80", NO), (W, "/usr/x", NO)], "firejail")
    _, r = imported("firejail", "--seccomp", "--net=none", "--private", "--blacklist=/srv", "ls", status=3, name="command line")
    ok("seccomp" in r.err, "firejail: seccomp is said to be lost", r)
    all_of_them = [f for f in os.listdir("/etc/firejail") if f.endswith(".profile")] if os.path.isdir("/etc/firejail") else []
    if not all_of_them:
        return skip("firejail is not installed")
    bad = []
    for name in sorted(all_of_them)[::20]:
        r = buckle("import", "--quiet", "firejail", "/etc/firejail/" + name, env=ENV)
        path = os.path.join(FOLDER, write("f.sb", r.raw))
        got = buckle("eval", "--batch", path, stdin=f"{W} /usr/bin/x\n{R} /home/other/x\n{R} /proc/kcore\n", env=ENV)
        words = [line.split()[0] for line in got.out.splitlines()]
        if r.status not in (0, 3) or words != [NO, NO, NO]:
            bad.append((name, r.status, r.err[:200], words))
    ok(not bad, f"firejail's own profiles: a sample of {len(all_of_them)}", *bad)


# ---- hostile inputs ----

EVIL = '/x")) (allow default) (allow file-read* (subpath "/'


def test_hostile():
    for tool, given in (("bwrap", ("--ro-bind", EVIL, EVIL)), ("landrun", ("--ro", EVIL, "ls")),
                        ("firejail", (f"--whitelist={EVIL}",)), ("docker", ("run", "-v", EVIL + ":/x", "i")),
                        ("nono", ("run", "--read", EVIL)), ("codex", ("-s", "workspace-write", "--add-dir", EVIL)),
                        ("bwrap", ("--bind", "/a\n(allow default)\n", "/b\n(allow default)")),
                        ("bwrap", ("--symlink", "\n(allow default)\n;", "/x")),
                        ("firejail", ("--blacklist=/a\\*[\")(allow default)",))):
        r = buckle("import", tool, *given, env=ENV)
        path = os.path.join(FOLDER, write("evil.sb", r.raw))
        got = buckle("eval", path, "mach-lookup", "com.evil", env=ENV)
        ok(r.status in (0, 3) and got.status == 1 and got.out.startswith("deny"), f"{tool}: text stays text", r, got)
        equal([l for l in r.out.splitlines() if l.startswith("(allow default")], [], f"{tool}: no line of its own")
    for tool, given, word in (("bwrap", ("--frobnicate", "1"), "--frobnicate"), ("landrun", ("--rwz", "/x"), "--rwz"),
                              ("docker", ("run", "--frob", "x"), "--frob"), ("firejail", ("--frob=1",), "frob"),
                              ("systemd", ("-p", "Frob=1"), "Frob"), ("nono", ("run", "--frob"), "--frob"),
                              ("codex", ("--frob",), "--frob"), ("bwrap", ("--bind", "/a"), "--bind"),
                              ("bwrap", ("--bind", "/a/../etc", "/x"), ".."), ("landrun", ("--connect-tcp", "70000"), "70000"),
                              ("nono", ("run", "--allow-domain", 'a"b'), "host name"),
                              ("systemd", ("-p", 'IPAddressAllow=1.2.3.4/33'), "address")):
        r = buckle("import", tool, *given, env=ENV)
        ok(r.status == 2 and word in r.err and not r.out, f"{tool} {given[0]}: an error that names it", r)
    write("big.profile", "blacklist /x\n" * 100000)
    r = buckle("import", "firejail", "big.profile", env=ENV)
    ok(r.status == 2 and r.seconds < 20, "too many lines are an error, soon", r)
    write("loop.profile", f"include {FOLDER}/loop.profile\n")
    ok(buckle("import", "firejail", "loop.profile", env=ENV).status == 2, "a file that includes itself ends")
    _, r = imported("bwrap", "--seccomp", "3", status=3, name="strict")
    r = buckle("import", "--strict", "bwrap", "--seccomp", "3", env=ENV)
    ok(r.status == 3 and not r.out, "--strict prints no profile that is less", r)


# ---- the tools themselves ----

TOOLS = os.environ.get("TOOLS", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/gcc/tests"))
PROBE = os.path.join(TOOLS, "probe")
ATTEMPTS = ("open-read", "open-append", "stat", "exec")
NAMES = ("shown/a", "shown/deep/a", "hidden/a", "fixed/a", "fixed/in/a", "outside")


def tree(user):
    top = user.folder("import")
    for name in NAMES:
        user.write(f"{top}/{name}", "#!/bin/true\n", 0o755)
    shutil.copy(PROBE, top + "/probe")
    os.chmod(top + "/probe", 0o755)
    return top


def outcomes(user, top, around):
    rows = [(a, f"{top}/{n}") for a in ATTEMPTS for n in NAMES]
    text = "".join(f"{a}\t{path}\n" for a, path in rows)
    r = user.call([*around, top + "/probe", "--batch"], stdin=text.encode(), cwd=top)
    lines = r.out.splitlines()
    return {row: line.split()[-1] == "ok" for row, line in zip(rows, lines)} if len(lines) == len(rows) else None, r


def compare(user, t, tool, words, name):
    top = user.top
    words = [w.replace("TOP", top) for w in words]
    there, ran = outcomes(user, top, [tool, *words])
    if there is None:
        return skip(f"{tool} does not work here")
    r = user.call([BUCKLE, "import", "--quiet", tool, *words], cwd=top)
    profile = user.profile("imported", r.out)
    here, run = outcomes(user, top, [BUCKLE, "run", "--profile", profile, "--"])
    t.ok(here is not None, f"{tool} {name}: the probe runs here", run, r)
    wider = [row for row in there if here and here[row] and not there[row]]
    less = [row for row in there if here and there[row] and not here[row]]
    t.ok(not wider, f"{tool} {name}: nothing is allowed here that is not there", *wider, r.out)
    # root reads the empty file that firejail puts over a blacklisted one
    t.ok(not less or (tool == "firejail" and user.uid == 0), f"{tool} {name}: and the other way round", *less, run.err)
    t.ok(any(there.values()) and not all(there.values()), f"{tool} {name}: the probe sees a difference")


def test_real(user, t):
    user.top = tree(user)
    base = ["--ro-bind", "/usr", "/usr", "--ro-bind", "/bin", "/bin", "--ro-bind", "/lib", "/lib", "--ro-bind-try", "/lib64", "/lib64"]
    lines = {
        "one folder": [*base, "--ro-bind", "TOP/probe", "TOP/probe", "--bind", "TOP/shown", "TOP/shown"],
        "whole tree": ["--ro-bind", "/", "/", "--bind", "TOP/shown", "TOP/shown", "--tmpfs", "TOP/hidden"],
        "hidden, then shown": ["--bind", "/", "/", "--tmpfs", "TOP/shown", "--bind", "TOP/shown/deep", "TOP/shown/deep",
                               "--ro-bind", "TOP/fixed", "TOP/fixed", "--bind", "TOP/fixed/in", "TOP/fixed/in"],
        "covered": ["--bind", "TOP/shown", "TOP/shown", "--ro-bind", "/", "/", "--tmpfs", "TOP/fixed"],
    }
    if not shutil.which("bwrap"):
        skip("bwrap is not installed")
    else:
        for name, words in lines.items():
            compare(user, t, "bwrap", words, name)
    if not shutil.which("firejail"):
        skip("firejail is not installed")
    else:
        more = {
            "blacklist": ["--quiet", "--noprofile", "--blacklist=TOP/hidden", "--read-only=TOP/fixed", "--read-write=TOP/fixed/in"],
            "noexec": ["--quiet", "--noprofile", "--noexec=TOP/shown", "--blacklist=TOP/outside"],
        }
        for name, words in more.items():
            compare(user, t, "firejail", words, name)


def main():
    for test in (test_bwrap, test_landrun, test_systemd, test_docker, test_nono, test_codex, test_firejail, test_hostile):
        test()
    for_everybody([test_real])
    return done()


if __name__ == "__main__":
    sys.exit(main())
