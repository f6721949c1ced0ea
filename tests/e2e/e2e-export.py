#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle export`: each result is given to what it is for. Landlock's JSON and OCI's filter are put into force
by this program, and a probe tries what they allow; systemd reads the drop-in.
"""

import ctypes
import errno
import json
import os
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from drive import FOLDER, buckle, write
from tap import done, equal, ok, skip

LIBC = ctypes.CDLL(None, use_errno=True)
TOP = os.path.realpath(FOLDER)
PROFILE = f"""(version 1)
(deny default)
(allow process-fork sysctl-read file-map-executable)
(allow process-exec* file-read* (subpath "/usr") (subpath "/lib") (subpath "/lib64") (subpath "/bin"))
(allow file-read* (subpath "{TOP}/shown"))
(allow file-read* file-write* (subpath "{TOP}/mine"))
(allow file-read* file-write-data (literal "/dev/null"))
(allow network-outbound (remote tcp "*:443"))
"""

# landlockconfig's schema: the names of rights, in the order of their bits, and the keys of each object.
FS = ["execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file", "make_char", "make_dir", "make_reg",
      "make_sock", "make_fifo", "make_block", "make_sym", "refer", "truncate", "ioctl_dev"]
NET = ["bind_tcp", "connect_tcp"]
SCOPES = ["abstract_unix_socket", "signal"]
ONLY_FOLDERS = set(FS) - {"execute", "write_file", "read_file", "truncate", "ioctl_dev"}


def exported(kind, profile, status=3):
    r = buckle("export", kind, profile)
    equal(r.status, status, f"{kind}: status {status}")
    return r


def fits_schema(config):
    """What is wrong with it, by the published schema."""
    wrong = [k for k in config if k not in ("abi", "variable", "ruleset", "pathBeneath", "netPort")]
    for r in config["ruleset"]:
        for key, names in r.items():
            known = {"handledAccessFs": FS, "handledAccessNet": NET, "scoped": SCOPES}.get(key)
            wrong += [key] if not known or not names else [n for n in names if n not in known]
    for key, names, of, kind in (("pathBeneath", FS, "parent", str), ("netPort", NET, "port", int)):
        if key in config and not config[key]:
            wrong.append(key)
        for r in config.get(key, []):
            wrong += [k for k in r if k not in ("allowedAccess", of)] + [n for n in r["allowedAccess"] if n not in names]
            wrong += [v for v in r[of] if not isinstance(v, kind)] + ([] if r[of] and r["allowedAccess"] else [r])
    return wrong


def call(number, *args):
    got = LIBC.syscall(ctypes.c_long(number), *args)
    if got < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return got


def bits(names, of):
    return sum(1 << of.index(n) for n in names)


class Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("fd", ctypes.c_int32)]


def landlock(config):
    """Puts a configuration into force for this process."""
    r = config["ruleset"][0]
    attr = (ctypes.c_uint64 * 3)(bits(r.get("handledAccessFs", []), FS), bits(r.get("handledAccessNet", []), NET),
                                 bits(r.get("scoped", []), SCOPES))
    ruleset = call(444, attr, ctypes.c_size_t(24), ctypes.c_uint32(0))
    for rule in config.get("pathBeneath", []):
        for path in rule["parent"]:
            try:
                fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            names = [n for n in rule["allowedAccess"] if os.path.isdir(path) or n not in ONLY_FOLDERS]
            call(445, ctypes.c_int(ruleset), ctypes.c_int(1), ctypes.byref(Beneath(bits(names, FS), fd)), ctypes.c_uint32(0))
    for rule in config.get("netPort", []):
        for port in rule["port"]:
            pair = (ctypes.c_uint64 * 2)(bits(rule["allowedAccess"], NET), port)
            call(445, ctypes.c_int(ruleset), ctypes.c_int(2), pair, ctypes.c_uint32(0))
    LIBC.prctl(38, 1, 0, 0, 0)
    call(446, ctypes.c_int(ruleset), ctypes.c_uint32(0))


def seccomp(config):
    """Loads an OCI filter with libseccomp."""
    lib = ctypes.CDLL("libseccomp.so.2")
    lib.seccomp_init.restype = ctypes.c_void_p
    compare = {"SCMP_CMP_NE": 1, "SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}

    class Arg(ctypes.Structure):
        _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]

    ctx = ctypes.c_void_p(lib.seccomp_init(ctypes.c_uint32(0x7fff0000)))
    for rule in config["syscalls"]:
        args = [Arg(a["index"], compare[a["op"]], a["value"], a["valueTwo"]) for a in rule.get("args", [])]
        for name in rule["names"]:
            nr = lib.seccomp_syscall_resolve_name(name.encode())
            if nr == -1:
                continue  # younger than the library
            got = lib.seccomp_rule_add_array(ctx, ctypes.c_uint32(0x00050000 | rule["errnoRet"]), ctypes.c_int(nr),
                                             ctypes.c_uint(len(args)), (Arg * max(1, len(args)))(*args))
            if got:
                raise OSError(-got, f"{name}: {rule}")
    if lib.seccomp_load(ctx):
        raise OSError("seccomp_load")


def in_child(enforce, tries):
    """What each try gives in a child where something is in force: 'ok' or an errno's name."""
    read, to = os.pipe()
    child = os.fork()
    if child == 0:
        words = []
        try:
            enforce()
            for one in tries:
                try:
                    one()
                    words.append("ok")
                except OSError as e:
                    words.append(errno.errorcode[e.errno])
        except BaseException as e:
            words = [repr(e)]
        os.write(to, json.dumps(words).encode())
        os._exit(0)
    os.close(to)
    with os.fdopen(read) as f:
        got = json.loads(f.read() or "[]")
    os.waitpid(child, 0)
    return got


def has_landlock():
    try:
        return call(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1)) >= 6
    except OSError:
        return False


def test_landlock():
    write("p.sb", PROFILE)
    r = exported("landlock-json", "p.sb")
    config = json.loads(r.out)
    equal(fits_schema(config), [], "landlock-json: as the schema says")
    ok("file-read-metadata" in r.err and "judge" in r.err, "landlock-json: what is lost is listed", r.err)
    equal(config.get("netPort"), [{"allowedAccess": ["connect_tcp"], "port": [443]}], "landlock-json: one port")
    if not has_landlock():
        return skip("this kernel has no Landlock of version 6")
    for name in ("shown/a", "mine/a", "other/a"):
        write(name, "x")

    def connect(port):
        with socket.socket() as s:
            s.settimeout(1)
            s.connect(("127.0.0.1", port))

    paths = [f"{TOP}/{n}/a" for n in ("shown", "mine", "other")]
    tries = [lambda p=p: open(p).close() for p in paths] + [lambda p=p: open(p, "a").close() for p in paths]
    tries += [lambda: os.mkdir(TOP + "/mine/new"), lambda: os.mkdir(TOP + "/shown/new"), lambda: open("/etc/passwd").close(),
              lambda: connect(443), lambda: connect(80)]
    got = in_child(lambda: landlock(config), tries)
    equal(got, ["ok", "ok", "EACCES", "EACCES", "ok", "EACCES", "ok", "EACCES", "EACCES", "ECONNREFUSED", "EACCES"],
          "landlock-json: in force, it means what the profile says")
    write("q.sb", '(version 1)(deny default)(allow file-read* (subpath "/a\\"b\\n"))')
    config = json.loads(exported("landlock-json", "q.sb").out)
    equal([r["parent"] for r in config["pathBeneath"]], [['/a"b\n']], "landlock-json: a path of any characters")


def test_seccomp():
    r = exported("seccomp-json", "p.sb")
    config = json.loads(r.out)
    equal(config["defaultAction"], "SCMP_ACT_ALLOW", "seccomp-json: others pass")
    names = {n for s in config["syscalls"] for n in s["names"]}
    ok({"mount", "bpf", "chroot", "kexec_load"} <= names, "seccomp-json: calls that the policy never allows", sorted(names))
    ok({"openat", "open", "read"}.isdisjoint(names), "seccomp-json: and none that it may")
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return skip("libseccomp is not installed")
    tries = [lambda: os.chroot("/"), lambda: call(165, b"a", b"/", b"b", ctypes.c_ulong(0), None), lambda: open("/dev/null").close(),
             lambda: call(56, ctypes.c_ulong(0x10000000), None, None, None, None)]
    got = in_child(lambda: seccomp(config), tries[:3] if os.uname().machine != "x86_64" else tries)
    equal(got, ["EPERM", "EPERM", "ok", "EPERM"][:len(got)], "seccomp-json: in force, through libseccomp")


def test_systemd():
    r = exported("systemd", "p.sb")
    lines = [l for l in r.out.splitlines() if not l.startswith("#")]
    ok(lines[0] == "[Service]" and "TemporaryFileSystem=/:ro" in lines and f'BindReadOnlyPaths="-{TOP}/shown"' in lines
       and f'BindPaths="-{TOP}/mine"' in lines and "NoExecPaths=/" in lines and 'ExecPaths="-/usr"' in lines,
       "systemd: folders that may be read, written and run", r.out)
    ok("#   file-read-metadata" in r.out, "systemd: comments list what is lost")
    r = exported("systemd", "readonly")
    ok("ProtectSystem=strict" in r.out and "PrivateNetwork=yes" in r.out, "systemd: a profile that reads everything", r.out[:500])
    write("q2.sb", '(version 1)(deny default)(allow file-read* (subpath "/a b%c\\nExecStart=/evil"))')
    r = buckle("export", "systemd", "q2.sb")
    ok(not any(l.startswith("ExecStart") for l in r.out.splitlines()) and r'"-/a\x20b%%c\x0aExecStart=/evil"' in r.out,
       "systemd: a path stays one value", r.out)
    if not shutil.which("systemd-analyze"):
        return skip("systemd is not installed")
    for name, profile in (("one", "p.sb"), ("two", "readonly"), ("three", "q2.sb")):
        text = buckle("export", "--quiet", "systemd", profile).out + "ExecStart=/bin/true\n"
        path = os.path.join(FOLDER, write(f"x-{name}.service", text))
        v = subprocess.run(["systemd-analyze", "verify", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        complaints = [l for l in v.stdout.splitlines() if f"x-{name}.service" in l
                      and "Failed to parse system call, ignoring" not in l]  # younger than this systemd
        ok(not complaints, f"systemd-analyze verify: {profile}", v.stdout)


def main():
    for test in (test_landlock, test_seccomp, test_systemd):
        test()
    r = buckle("export", "frob", "readonly")
    ok(r.status == 2 and "landlock-json" in r.err, "an unknown format is an error", r)
    return done()


if __name__ == "__main__":
    sys.exit(main())
