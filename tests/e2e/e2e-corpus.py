#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Third-party profiles: every valid one loads, and every broken one gives an error with its position.

They are outside this tree: in $BUCKLE_SHARED/corpus, or in ../shared/corpus next to the checkout.
Lines, columns and verdicts were derived by reading the profiles.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from corpus import CHROMIUM, CORPUS, GEMINI, WEBKIT, defines, files, safehouse, short
from drive import buckle, write
from tap import done, equal, ok, skip

def errors(report):
    """[(line, column)] of every error in a text report."""
    return [(int(m[1]), int(m[2])) for m in
            re.finditer(r"^[^\n]*?:(\d+):(\d+): error: ", report, re.MULTILINE)]


def loads(name, *argv):
    """Checks that a profile has no errors, with lint and without."""
    r = buckle("check", "--json", *argv)
    found = json.loads(r.out) if r.out.startswith("{") else {"errors": -1}
    ok(r.status == 0 and found["errors"] == 0, f"{name} loads", r)
    return found


def verdicts(name, rows, *argv):
    """rows: {question: allow|deny}, as one batch."""
    r = buckle("eval", "--batch", *argv, stdin="\n".join(rows) + "\n")
    answers = [line.split()[0] for line in r.out.splitlines()]
    if not ok(len(answers) == len(rows), f"{name}: all questions are answered", r):
        return
    for (question, want), got in zip(rows.items(), answers):
        equal(got, want, f"{name}: {question}")


# ---- chromium: common.sb comes before each other file ----


def test_chromium():
    common = os.path.join(CORPUS, "chromium", "common.sb")
    variants = {
        "as it is": {},
        "without denial logging": {"DISABLE_SANDBOX_DENIAL_LOGGING": "TRUE"},
        "with logging": {"ENABLE_LOGGING": "TRUE"},
        "with syscall filters": {"FILTER_SYSCALLS": "TRUE", "COMPONENT_PATH": "/c",
                                 "HELPER_BUNDLE_ID": "org.example.Helper"},
        "on the data volume": {"BUNDLE_PATH": "/System/Volumes/Data/Applications/Browser.app"},
        "on an old system": {"OS_VERSION": "1015"},
    }
    others = [f for f in files("chromium/*.sb") if f != common]
    ok(len(others) >= 2, "chromium: there are profiles")
    for what, extra in variants.items():
        params = defines({**CHROMIUM, **extra})
        loads(f"chromium/common.sb {what}", *params, common)
        for path in others:
            loads(f"{short(path)} {what}", *params, "--prelude", common, path)
    missing = buckle("check", common)
    ok(missing.status == 1 and "-D LOG_FILE_PATH=" in missing.out,
       "chromium: a missing parameter is named", missing)


def test_chromium_verdicts():
    common = os.path.join(CORPUS, "chromium", "common.sb")
    renderer = os.path.join(CORPUS, "chromium", "renderer.sb")
    params = defines({**CHROMIUM, "FILTER_SYSCALLS": "TRUE"})
    verdicts("renderer", {
        # named by common.sb and by renderer.sb, and what neither names
        "mach-lookup com.apple.system.notification_center": "allow",
        "mach-lookup com.apple.logd": "allow",
        "mach-lookup org.example.Browser.MachPortRendezvousServer.77": "allow",
        "mach-lookup com.apple.cfprefsd.daemon": "deny",
        "mach-lookup com.apple.Terminal": "deny",
        # the filtered allow of line 84 wins over the unfiltered deny of line 11
        "iokit-get-properties Ejectable": "allow",
        "iokit-get-properties IOPlatformSerialNumber": "deny",
        # a child's own rule comes before its parent's
        "process-info-pidinfo": "allow",
        "process-info-listpids": "deny",
        "process-info-setcontrol target=self": "allow",
        "process-info-setcontrol target=others": "deny",
        # renderer.sb denies all system calls after common.sb allowed some: they stay allowed
        "syscall-unix SYS_read": "allow",
        "syscall-unix SYS_chdir": "allow",
        "syscall-unix SYS_ptrace": "deny",
        "file-read-data /System/Library/Fonts/Menlo.ttc": "allow",
        "file-read-data /Users/me/Library/Fonts/x.otf": "allow",
        "file-read-data /etc/hosts": "deny",
        "file-read-metadata /etc/hosts": "allow",
        "file-read-data /private/etc/passwd": "allow",
        "file-read-xattr /private/etc/passwd": "deny",
        "file-write-data /dev/null vnode-type=CHARACTER-DEVICE": "allow",
        "file-write-data /dev/null vnode-type=REGULAR-FILE": "deny",
        "sysctl-read hw.perflevel0.name": "allow",
        "sysctl-write kern.tcsm_enable": "allow",
        "sysctl-write kern.hostname": "deny",
        "network-outbound tcp:1.2.3.4:443": "deny",
        "network-outbound unix:/private/var/run/syslog": "allow",
    }, *params, "--prelude", common, renderer)


# ---- safehouse: one program from many files, two placeholders to replace ----


def test_safehouse():
    paths = files("safehouse/**/*.sb")
    base = os.path.join(CORPUS, "safehouse", "00-base.sb")
    ok(len(paths) > 50 and paths[0] == base, "safehouse: 00-base.sb comes first", paths[:3])
    loads("safehouse, all of it", write("safehouse.sb", safehouse(paths)))
    loads("safehouse without a work folder", write("safehouse-off.sb", safehouse(paths, "#f")))
    for path in paths[1:]:
        loads(f"{short(path)} after 00-base.sb", write("module.sb", safehouse([base, path])))
    verdicts("safehouse", {
        # 20-network.sb
        "network-outbound tcp:1.2.3.4:443": "allow",
        "network-outbound unix:/private/var/run/mDNSResponder": "allow",
        "network-inbound tcp:127.0.0.1:80": "allow",
        # 60-agents/codex.sb
        "file-write-data /Users/me/.codex/config": "allow",
        "file-write-data /Users/me/.local/bin/codex-1.2": "allow",
        "file-write-data /etc/codex/x": "deny",
        "file-read-data /etc/codex/x": "allow",
        "file-write-data /Users/you/.codex/config": "deny",
    }, "safehouse.sb")


# ---- gemini-cli ----


def test_gemini():
    profiles = files("gemini-cli/*.sb")
    ok(len(profiles) == 6, "gemini-cli: six profiles", profiles)
    for path in profiles:
        loads(short(path), *defines(GEMINI), path)
        r = buckle("check", path)
        ok(r.status == 1 and "-D TARGET_DIR=" in r.out,
           f"{short(path)}: missing parameters are named", r)
        empty = defines({**GEMINI, "CACHE_DIR": ""})  # as `getconf` prints it on Linux
        for r in (buckle("check", *empty, path), buckle("eval", *empty, path, "file-read*", "/x"),
                  buckle("run", *empty, "--profile", path, "--", "echo", "ran")):
            ok(r.status in (1, 2, 125) and "the parameter CACHE_DIR is empty" in r.out + r.err and
               "ran" not in r.out, f"{short(path)}: an empty parameter is refused, and named", r)
    verdicts("permissive-open", {
        "file-read-data /Users/you/secret": "allow",
        "file-write-data /Users/me/project/src/a.c": "allow",
        "file-write-data /Users/me/project": "allow",
        "file-write-data /Users/me/projects": "deny",
        "file-write-data /Users/me/.bashrc": "deny",
        "file-write-create /etc/x": "deny",
        "file-write-data /Users/me/.gemini/x": "allow",
        "file-write-data /dev/ttys003": "allow",
        "file-write-data /dev/ttys003x": "deny",
        "file-read-data /var/run/docker.sock": "deny",
        "process-exec /usr/bin/git": "allow",
        "process-exec /usr/local/bin/docker": "deny",
        "process-exec /Applications/Docker.app/Contents/MacOS/x": "deny",
        "mach-lookup com.apple.trustd": "allow",
        "mach-lookup com.docker.helper": "deny",
        "network-outbound tcp:1.2.3.4:443": "allow",
        "system-socket socket-domain=AF_SYSTEM socket-protocol=2": "allow",
        "system-socket socket-domain=AF_SYSTEM socket-protocol=1": "deny",
        "signal target=self": "allow",
        "signal target=others": "deny",
    }, *defines(GEMINI), os.path.join(CORPUS, "gemini-cli", "sandbox-macos-permissive-open.sb"))
    verdicts("strict-proxied", {
        "file-read-data /Users/you/secret": "deny",
        "file-read-metadata /Users/you/secret": "allow",
        "file-read-data /Users/me/include3/x": "allow",
        "file-read-data /": "allow",
        "file-write-data /dev/ttys003": "deny",
        "network-outbound tcp:localhost:8877": "allow",
        "network-outbound tcp:127.0.0.1:8877": "allow",
        "network-outbound tcp:localhost:8878": "deny",
        "network-outbound udp:localhost:8877": "deny",
        "network-outbound tcp:1.2.3.4:8877": "deny",
    }, *defines(GEMINI), os.path.join(CORPUS, "gemini-cli", "sandbox-macos-strict-proxied.sb"))


# ---- webkit ----


def test_webkit():
    profiles = files("webkit/*.sb")
    ok(len(profiles) >= 6, "webkit: there are profiles")
    for path in profiles:
        for cpu in ["arm64", "x86_64"]:
            for what, extra in [("with message filters", {"ENABLE_SANDBOX_MESSAGE_FILTER": "YES"}),
                                ("without message filters", {})]:
                params = {**WEBKIT, "CPU": cpu, **extra}
                loads(f"{short(path)} {what} on {cpu}", *defines(params), path)
    verdicts("webpushd", {
        # an unfiltered deny of the family, and unfiltered allows of its members
        "process-info-pidinfo": "allow",
        "process-info-listpids": "deny",
        "process-info-setcontrol target=self": "allow",
        "file-read-data /dev/null": "allow",
        "file-write-data /dev/null": "allow",
        "file-write-data /dev/random": "deny",
        # (file-mode #o0004): readable for everybody
        "file-read-data /usr/share/x file-mode=0444": "allow",
        "file-read-data /usr/share/x file-mode=0400": "deny",
        "file-read-metadata /anywhere": "allow",
        "nvram-get": "deny",
    }, *defines({**WEBKIT, "CPU": "arm64"}),
        os.path.join(CORPUS, "webkit", "com.apple.WebKit.webpushd.mac.sb"))


# ---- fixtures ----

# every error of each file, as (line, column)
BROKEN = {
    # 6 unclosed list, 9 version, 13 filter, 17 unclosed string, 20 second version, 26 string
    "fixtures/examples/invalid-profile.sb": [(6, 1), (9, 10), (13, 4), (17, 16), (20, 1), (26, 9)],
    "fixtures/examples/partial-errors.sb": [(11, 1), (19, 16), (29, 25)],
    # the word after the stray character is unknown, too
    "fixtures/Fixtures/invalid/unknown_char.sb": [(2, 1), (2, 10)],
    "fixtures/Fixtures/invalid/unterminated_string.sb": [(2, 32)],
}


def test_fixtures():
    valid = [f for f in files("fixtures/**/*.sb") if short(f) not in BROKEN]
    ok(len(valid) == 3, "fixtures: three are valid", valid)
    for path in valid:
        loads(short(path), path)
    for name, want in BROKEN.items():
        r = buckle("check", os.path.join(CORPUS, name))
        equal((r.status, errors(r.out)), (1, want), f"{name}: every error at its place")
    verdicts("valid-profile.sb", {
        "file-read-data /usr/bin/cc": "allow",
        "file-read-data /Users/me": "allow",
        "file-read-data /etc/passwd": "allow",
        "file-read-data /System/x": "allow",
        "file-read-data /opt/x": "deny",
        "network-outbound tcp:1.2.3.4:80": "allow",
        "network-outbound udp:1.2.3.4:80": "deny",
        "mach-lookup com.apple.system.logger": "allow",
    }, os.path.join(CORPUS, "fixtures", "examples", "valid-profile.sb"))
    verdicts("complex.sb", {
        "process-exec /usr/bin/sw_vers": "allow",
        "process-exec /bin/sh": "deny",
        "file-read-data /etc/hosts": "allow",
        "file-read-data /Users/me/Library/x": "allow",
        "file-read-data /Users/me/y/Library/x": "deny",
        "file-read-data /Applications/x": "deny",
        "file-read-data /Applications/x extension=com.apple.app-sandbox.read": "allow",
        "file-write-data /tmp/test.txt": "allow",
        "file-write-create /tmp/test.txt": "deny",
    }, os.path.join(CORPUS, "fixtures", "Fixtures", "valid", "complex.sb"))


def main():
    if not os.path.isdir(CORPUS):
        skip("the corpus of real profiles is not here (set BUCKLE_SHARED)")
        return done()
    test_chromium()
    test_chromium_verdicts()
    test_safehouse()
    test_gemini()
    test_webkit()
    test_fixtures()
    return done()


if __name__ == "__main__":
    sys.exit(main())
