#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle entitlements`, the profile for apps, and runs with entitlements, extensions and platform
profiles. The Mach-O files are made here."""

import json
import os
import plistlib
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import macho
from drive import BUCKLE, FOLDER, buckle, write
from tap import done, equal, ok

GIVEN = {"com.apple.security.app-sandbox": True, "com.apple.security.network.client": True,
         "com.apple.security.application-groups": ["A.one", "B.two"], "n": 5, "name": "x y",
         "off": False}


def show(name, data, *options):
    return buckle("entitlements", *options, write(name, data))


def check_files():
    for form in ("plist", "der", "both"):
        for big in (False, True):
            r = show("thin", macho.thin(macho.signed(GIVEN, form), big=big), "--json")
            one = json.loads(r.out)[0] if r.status == 0 else {}
            ok(one.get("entitlements") == GIVEN, f"entitlements of a thin file ({form}, {big})", r)
    ok(one["identifier"] == "com.example.app" and one["team"] == "TEAM123456" and
       one["architecture"] == "arm64", "identifier, team, architecture", r)
    for flags, words in [(0, []), (0x2, ["adhoc"]), (0x10002, ["adhoc", "runtime"]),
                         (0x22000, ["library-validation", "linker-signed"]),
                         (0x40000300, ["hard", "kill", "0x40000000"])]:
        r = show("thin", macho.thin(macho.signed(GIVEN, flags=flags)), "--json")
        one = json.loads(r.out)[0]
        ok(one["flags"] == flags and one["flag_names"] == words, f"flags {flags:#x}: {words}", r)
    r = show("thin", macho.thin(macho.signed(GIVEN, flags=0x10002)))
    for line in ("arm64: com.example.app, team TEAM123456", "  flags 0x10002 (adhoc, runtime)",
                 "  com.apple.security.app-sandbox = true",
                 '  com.apple.security.application-groups = ["A.one", "B.two"]'):
        ok(r.status == 0 and line in r.out.splitlines(), line, r)
    for wide in (False, True):
        two = [(macho.X86_64, macho.thin(macho.signed(GIVEN), macho.X86_64)),
               (macho.ARM64, macho.thin(macho.signed(GIVEN)))]
        r = show("fat", macho.fat(two, wide), "--json")
        all_of = json.loads(r.out) if r.status == 0 else []
        ok([s["architecture"] for s in all_of] == ["x86_64", "arm64"] and
           all(s["entitlements"] == GIVEN for s in all_of), f"a fat file, {wide}", r)
    r = show("plain", macho.thin())
    ok(r.status == 1 and "not signed" in r.out, "a file without a signature: status 1", r)
    r = show("none", macho.thin(macho.signed()))
    ok(r.status == 0 and "no entitlements" in r.out, "a signature without entitlements", r)
    r = show("evil", macho.thin(macho.signed({"a\x1b[2J": "\x1b]0;x"}, "der")))
    ok(r.status == 0 and "\x1b" not in r.out, "control bytes do not reach the terminal", r)


def check_bundles():
    program = macho.thin(macho.signed(GIVEN))
    info = {"CFBundleExecutable": "Tool", "CFBundleIdentifier": "com.example.app"}
    write("My.app/Contents/Info.plist", plistlib.dumps(info))
    write("My.app/Contents/MacOS/Tool", program)
    # binary property lists need libplist, which the released program cannot load
    write("Phone.app/Info.plist", plistlib.dumps(info, fmt=plistlib.FMT_BINARY))
    write("Phone.app/Tool", program)
    for name in ("My.app", "Phone.app", "My.app/"):
        r = buckle("entitlements", "--json", name)
        if "linked statically" in r.err:
            ok(r.status == 2 and name == "Phone.app" and "as XML or JSON" in r.err, "a program without libplist says what it reads", r)
            continue
        ok(r.status == 0 and json.loads(r.out)[0]["entitlements"] == GIVEN, f"bundle {name}", r)
    r = buckle("entitlements", "--values", "My.app")
    ok(json.loads(r.out) == GIVEN, "--values prints the entitlements alone", r)
    for bad in ("../../etc/passwd", "", ".", "..", "a/b"):
        write("Bad.app/Contents/Info.plist", plistlib.dumps({"CFBundleExecutable": bad}))
        r = buckle("entitlements", "Bad.app")
        ok(r.status == 2 and "does not name a program" in r.err, f"CFBundleExecutable {bad!r}", r)
    os.makedirs(os.path.join(FOLDER, "Empty.app"), exist_ok=True)
    r = buckle("entitlements", "Empty.app")
    ok(r.status == 2 and "no Info.plist" in r.err, "a folder that is no bundle", r)


def damaged():
    """(what, bytes, words of the error)"""
    good = macho.thin(macho.signed(GIVEN, "both"))
    sig = macho.signed(GIVEN)
    yield "an ELF file", b"\x7fELF" + bytes(60), "not a Mach-O file"
    yield "nothing", b"", "the file ends"
    yield "a cut header", good[:20], "the file ends"
    yield "cut load commands", good[:40], "the file ends"
    yield "a cut signature", good[:-10], "past the end"
    yield "a load command of 0 bytes", macho.thin(sig, extra=[struct.pack("<II", 1, 0)]), "load command"
    yield "a load command of 7 bytes", macho.thin(sig, extra=[struct.pack("<II", 1, 7)]), "load command"
    yield "a huge load command", macho.thin(sig, extra=[struct.pack("<II", 1, 0xfffffff0)]), "load command"
    yield "two signatures", macho.thin(sig, extra=[struct.pack("<IIII", 0x1d, 16, 0, 0)]), "second signature"
    yield "a signature that is none", macho.thin(b"\0" * 64), "no signature"
    yield "a signature longer than its place", macho.thin(
        struct.pack(">III", macho.SIGNATURE, 0xffffffff, 1) + bytes(40)), "a signature of"
    yield "more parts than bytes", macho.thin(
        struct.pack(">III", macho.SIGNATURE, 52, 0xffffffff) + bytes(40)), "a signature of"
    yield "a part outside", macho.thin(
        struct.pack(">IIIII", macho.SIGNATURE, 20, 1, 0, 0xfffffff8)), "not inside it"
    yield "no code directory", macho.thin(macho.signature([])), "no code directory"
    broken = bytearray(macho.directory())
    struct.pack_into(">I", broken, 20, 0xffffff)
    yield "an identifier outside", macho.thin(macho.signature([(0, bytes(broken))])), "past its end"
    broken = bytearray(macho.directory())
    struct.pack_into(">I", broken, 48, len(broken) - 1 + 8)
    yield "a team outside", macho.thin(macho.signature([(0, bytes(broken))])), "past its end"
    twice = [(0, macho.directory())] + [(5, macho.blob(macho.PLIST, b"<plist/>"))] * 2
    yield "entitlements twice", macho.thin(macho.signature(twice)), "second time"
    for bad in (b"", b"\x70", b"\x70\x80", b"\x70\x05\x02\x01\x01", b"\x70\x03\x02\x01\x02",
                macho.der(GIVEN) + b"x", macho.der_item(0x70, b"\x02\x01\x01" + macho.der_item(0xb0, b"\x30\x00"))):
        part = (7, macho.blob(macho.DER, bad or b"\0"))
        yield f"DER {bad[:8]!r}", macho.thin(macho.signature([(0, macho.directory()), part])), "DER entitlements"
    deep = "x"
    for _ in range(40):
        deep = [deep]
    yield "deep DER", macho.thin(macho.signed({"k": deep}, "der")), "nested more than"
    yield "a fat file of no architecture", struct.pack(">II", 0xcafebabe, 0) + bytes(40), "fat file"
    yield "a fat file of too many", struct.pack(">II", 0xcafebabe, 0x00000034) + bytes(4000), "fat file"
    yield "a slice outside", struct.pack(">IIIIIII", 0xcafebabe, 1, 7, 3, 4096, 0xfffff000, 12), "past the end"
    yield "a fat file in a fat file", macho.fat([(macho.ARM64, macho.fat([(macho.ARM64, good)]))]), "not a Mach-O file"


def check_damaged():
    for what, data, words in damaged():
        r = show("bad", data)
        ok(r.status == 2 and words in r.err, f"{what}: {words}", r)
        r = buckle("eval", "--entitlements", "bad", "-p",
                   '(version 1)(allow default)(if (entitlement "x") (deny default))', "process-fork")
        ok(r.status == 2, f"{what}: a profile that needs it does not load", r)
    good = macho.thin(macho.signed(GIVEN, "both"))
    odd = [n for n in range(0, len(good), 7) if show("cut", good[:n]).status not in (1, 2)]
    equal(odd, [], "no cut of a file is taken for a signed one")


def check_eval():
    write("app", macho.thin(macho.signed(GIVEN)))
    profile = ('(version 1)(deny default)'
               '(allow network-outbound (require-entitlement "com.apple.security.network.client"))'
               '(allow device-camera (require-entitlement "com.apple.security.device.camera"))'
               '(allow process-fork (require-entitlement "com.apple.security.application-groups" '
               '(entitlement-value "B.two")))'
               '(allow mach-lookup (require-entitlement "name"))')
    for source in ("app", "My.app", write("e.json", json.dumps(GIVEN)),
                   write("e.plist", plistlib.dumps(GIVEN))):
        for op, status in [("network-outbound", 0), ("device-camera", 1), ("process-fork", 0), ("mach-lookup", 1)]:
            r = buckle("eval", "--entitlements", source, "-p", profile, op)
            ok(r.status == status, f"{op} with the entitlements of {source}: {status}", r)
    r = buckle("explain", "--entitlements", "app", "-p", profile, "network-outbound")
    ok(r.status == 0 and "allow" in r.out, "explain takes a Mach-O file", r)
    mixed = macho.fat([(macho.X86_64, macho.thin(macho.signed({"a": True}), macho.X86_64)),
                       (macho.ARM64, macho.thin(macho.signed({"a": False})))])
    r = buckle("eval", "--entitlements", write("mixed", mixed), "-p", profile, "process-fork")
    ok(r.status == 2 and "different entitlements" in r.err, "architectures that differ are refused", r)


def check_catalog():
    profile = '(version 1)(deny default)(allow file-read* (extension "e"))'
    r = buckle("catalog", "-p", profile, "--extension", "e=/srv/data")
    ok(r.status == 0 and "/srv/data" in r.out, "catalog lists what an extension opens", r)
    r = buckle("catalog", "-p", profile, "--extension", "f=/srv/data")
    ok("/srv/data" not in r.out, "and not what another class would", r)
    for flag in ("e=/srv/data", "e:/srv/data"):
        r = buckle("eval", "-p", profile, "--extension", flag, "file-read-data", "/srv/data/x")
        ok(r.status == 0, f"eval --extension {flag}", r)
        r = buckle("eval", "-p", profile, "--extension", flag, "file-read-data", "/srv/database")
        ok(r.status == 1, f"eval --extension {flag}: only that and below", r)


# ---- the profile for apps, and runs ----

HOME = os.path.join(FOLDER, "home")
CONTAINER = os.path.join(FOLDER, "container")
APP = ["--profile", "app-sandbox", "-D", "CONTAINER=" + CONTAINER]


def run(script, *options):
    env = dict(os.environ, HOME=HOME)
    return buckle("run", *options, "--", "sh", "-c", script, env=env, cwd=os.path.join(FOLDER, "cwd"))


def check_runs():
    for folder in ("home/Downloads", "home/doc", "container", "cwd"):
        os.makedirs(os.path.join(FOLDER, folder), exist_ok=True)
    write("home/Downloads/d", "downloaded\n")
    write("home/doc/x", "document\n")
    entitled = write("ent.json", json.dumps({"com.apple.security.files.downloads.read-only": True}))
    signed = write("signed", macho.thin(macho.signed({"com.apple.security.files.downloads.read-only": True})))
    files = ["--entitlements", os.path.join(FOLDER, entitled)]
    r = run(f"echo x >{CONTAINER}/f && cat {CONTAINER}/f", *APP)
    ok(r.status == 0 and r.out == "x\n", "an app owns its container", r)
    r = run("cat ~/Downloads/d", *APP)
    ok(r.status != 0 and not r.out, "without the entitlement it does not read ~/Downloads", r)
    for given in (entitled, signed):
        r = run("cat ~/Downloads/d; echo y >~/Downloads/new", *APP, "--entitlements", os.path.join(FOLDER, given))
        ok("downloaded" in r.out and not os.path.exists(HOME + "/Downloads/new"),
           f"with the entitlement of {given} it reads, and does not write", r)
    r = run("cat ~/doc/x", *APP, *files)
    ok(r.status != 0 and not r.out, "documents stay closed", r)
    r = run("cat ~/doc/x; echo y >~/doc/new", *APP, "--extension", "com.apple.app-sandbox.read=" + HOME + "/doc")
    ok(r.out == "document\n" and not os.path.exists(HOME + "/doc/new"), "an extension opens them for reading", r)
    r = run("echo y >~/doc/new", *APP, "--extension", "com.apple.app-sandbox.read-write=" + HOME + "/doc")
    ok(r.status == 0 and os.path.exists(HOME + "/doc/new"), "or for writing", r)
    r = run("cat ~/doc/x", *APP, "--extension", "com.example.other=" + HOME + "/doc")
    ok(r.status != 0, "an extension of another class opens nothing", r)
    os.symlink("doc", HOME + "/link")
    r = run("cat ~/doc/x", *APP, "--extension", "com.apple.app-sandbox.read=" + HOME + "/link")
    ok(r.out == "document\n", "an extension's path is resolved", r)
    check_platforms(files)
    for flags, words in [(["--extension", "buckle.private-layer"], "Buckle's own"),
                         (["--extension", "a=/nowhere/at/all"], "No such file"),
                         (["--extension", "=x"], "CLASS=PATH"),
                         (["--platform", "/nowhere.sb"], "No such file"),
                         (["--entitlements", "/nowhere"], "No such file")]:
        r = run("echo ran", *flags)
        ok(r.status == 125 and words in r.err and not r.out, f"{' '.join(flags)}: {words}", r)


def check_platforms(files):
    platform = os.path.join(FOLDER, write("platform.sb", f"""(version 1)
(allow default)
(deny file-read-data (subpath "{HOME}/Downloads"))
(deny file-write* (literal "{CONTAINER}/no"))
(deny file-read-data (require-all (subpath "{HOME}/doc") (require-not (extension "e"))))
"""))
    script = f"cat ~/Downloads/d; echo x >{CONTAINER}/no; echo x >{CONTAINER}/yes"
    r = run(script, *APP, *files, "--platform", platform)
    ok("downloaded" not in r.out and not os.path.exists(CONTAINER + "/no") and
       os.path.exists(CONTAINER + "/yes"), "what a platform profile denies, the profile cannot allow", r)
    ok("platform.sb:3" in r.err and "--allow-read" not in r.err,
       "the report names its rule, and no flag that would not help", r)
    r = run("cat ~/Downloads/d", "--platform", platform, "--allow-read", HOME + "/Downloads")
    ok(r.status != 0 and not r.out, "no flag lifts it", r)
    r = run(f"cat ~/Downloads/d; {BUCKLE} run --allow-read ~/Downloads -- cat {HOME}/Downloads/d",
            "--platform", platform)
    ok("downloaded" not in r.out, "nor does a sandbox inside", r)
    r = run("cat ~/doc/x", "--platform", platform)
    ok(r.status != 0, "platform profiles ask for extensions, too", r)
    r = run("cat ~/doc/x", "--platform", platform, "--extension", "e=" + HOME + "/doc")
    ok(r.out == "document\n", "which the process may hold", r)
    other = os.path.join(FOLDER, write("other.sb", f'(version 1)(allow default)(deny file-read-data (subpath "{HOME}/doc"))'))
    r = run("cat ~/doc/x", "--platform", platform, "--platform", other, "--extension", "e=" + HOME + "/doc")
    ok(r.status != 0, "of several, each must allow it", r)
    r = run("true", "--platform", os.path.join(FOLDER, write("broken.sb", "(version 1)(deny defaul)")))
    ok(r.status == 125, "a platform profile with a mistake: nothing runs", r)
    r = buckle("run", "--", BUCKLE, "run", "--platform", platform, "--", "echo", "ran", cwd=os.path.join(FOLDER, "cwd"))
    ok("ran" not in r.out and "inside another sandbox" in r.err, "inside another sandbox it is refused", r)


def check_real():
    """A program that a real linker made, if there is a compiler for macOS."""
    zig = os.path.join(os.environ.get("ZIG_HOME", "/nowhere"), "node_modules/.bin/zig")
    if not os.path.exists(zig):
        return
    write("real.c", "int main(void) { return 0; }\n")
    made = subprocess.run([zig, "cc", "-target", "aarch64-macos", "real.c", "-o", "real"], cwd=FOLDER, capture_output=True)
    if made.returncode:
        return
    r = buckle("entitlements", "--json", "real")
    ok(r.status == 0 and "adhoc" in json.loads(r.out)[0]["flag_names"], "a program of a real linker is signed ad hoc", r)


def main():
    check_files()
    check_bundles()
    check_damaged()
    check_eval()
    check_catalog()
    check_runs()
    check_real()
    return done()


if __name__ == "__main__":
    sys.exit(main())
