#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secret stores under the shipped profiles of buckle run: denied on every path, reported, and allowed by
the flag that the summary names. Nothing else is affected.
"""

import json
import os
import re
import sys
import tempfile

tempfile.tempdir = "/var/tmp"  # before running: people's homes are not in /tmp, which is a layer inside

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import fusable
from running import BUCKLE, for_everybody, missing, suggested_flags
from tap import done, skip

# path below the home folder: what it holds
STORES = {
    ".ssh/id_ed25519": "key", ".ssh/work/deploy": "key", ".aws/credentials": "key",
    ".aws/sso/cache/1.json": "token", ".netrc": "password", ".config/gh/hosts.yml": "token",
    ".npmrc": "token", ".cargo/credentials.toml": "token", ".docker/config.json": "token",
    ".mozilla/firefox/x.default/cookies.sqlite": "cookie", ".password-store/mail.gpg": "password",
    ".bash_history": "history", ".gnupg/private-keys-v1.d/A.key": "key",
    ".claude/.credentials.json": "token", ".local/share/keyrings/login.keyring": "password",
}
PUBLIC = [".ssh/id_ed25519.pub", ".ssh/known_hosts", ".ssh/config", ".gnupg/pubring.kbx",
          ".cargo/config.toml", ".config/gh/config.yml", ".claude/settings.json", ".gitconfig"]


def furnish(user):
    """Creates stores in the home folder, each with a unique secret."""
    for path, kind in STORES.items():
        user.write(f"{user.home}/{path}", f"SECRET-{kind}-{path}\n", 0o600)
    for path in PUBLIC:
        text = "[user]\n\tname = A\n\temail = a@example.com\n" if path == ".gitconfig" else "# public\n"
        user.write(f"{user.home}/{path}", text)


def test_closed(user, t):
    furnish(user)
    folder = user.folder()
    for path in STORES:
        full = f"{user.home}/{path}"
        r = user.run("cat", full, cwd=folder)
        t.ok(r.status != 0 and "SECRET" not in r.out and "Operation not permitted" in r.err and
             full in r.err.split("buckle:")[-1], f"{path}: not read, and reported", r)
    paths = " ".join(f"{user.home}/{p}" for p in [*STORES, *PUBLIC])
    t.quiet(user.run("sh", "-c", f"stat {paths} >/dev/null && test -f {paths.split()[0]}",
                       cwd=folder), "sizes and times of all of them are visible")
    public = " ".join(f"{user.home}/{p}" for p in PUBLIC)
    t.quiet(user.run("sh", "-c", f"cat {public} >/dev/null", cwd=folder),
            "what is public beside them is read without a word")
    t.quiet(user.run("ls", user.home + "/.ssh", cwd=folder), "names of keys are no secret",
            "\n".join(sorted(os.listdir(user.home + "/.ssh"))) + "\n")
    r = user.run("ls", user.home + "/.aws", cwd=folder)
    t.ok(r.status != 0 and "credentials" not in r.out, "a store is not listed", r)
    r = user.run("cat", "/etc/shadow", cwd=folder)
    t.ok(r.status != 0 and r.out == "" and (user.uid != 0 or "secrets.sb" in r.err),
         "/etc/shadow is not read, by root either", r)
    for profile in "readonly", "strict":
        r = user.run(f"--profile={profile}", "cat", user.home + "/.aws/credentials", cwd=folder)
        t.ok(r.status != 0 and "SECRET" not in r.out, f"{profile} closes them too", r)
    t.quiet(user.run("--profile=open", "cat", user.home + "/.netrc", cwd=folder),
            "open does not", "SECRET-password-.netrc\n")


def test_ways_around(user, t):
    folder, home = user.folder(), user.home
    key, store = f"{home}/.ssh/id_ed25519", f"{home}/.aws"
    os.symlink(key, folder + "/link")
    os.symlink(store, folder + "/store")
    user.own(folder)
    ways = {
        "a link that was there": "cat link",
        "a link to the folder": "cat store/credentials",
        "a link of its own": f"ln -s {key} own && cat own",
        "..": f"cat {home}/.config/../.ssh/id_ed25519",
        "/proc/self/root": f"cat /proc/self/root{key}",
        "/proc/self/cwd": "cat /proc/self/cwd/store/credentials",
        "its folder as working directory": f"cd {home}/.ssh && cat id_ed25519",
        "the store as working directory": f"cd {store} && cat credentials",
        "a copy": f"cp {key} copy && cat copy",
        "an archive": f"tar cf all.tar {store} && tar xOf all.tar",
        "a hard link": f"ln {key} hard && cat hard",
        "moving it": f"mv {key} moved && cat moved",
        "moving the store": f"mv {store} moved && cat moved/credentials",
        "grep -r": f"grep -rs SECRET {home}/.aws {home}/.netrc {home}/.docker",
        "for reading and writing": f"exec 3<>{key} && cat <&3",
        "another program": f"python3 -c \"print(open('{key}').read())\"",
        "a background process": f"(cat {key} &) ; sleep 0.2; false",
        "another user namespace": f"unshare -Ur cat {key}",
        "a mount": f"mkdir m && unshare -Urm sh -c 'mount --bind {store} m && cat m/credentials'",
    }
    for here in (), ("--here", "-w", home):
        for name, script in ways.items():
            r = user.run(*here, "sh", "-c", script, cwd=folder)
            t.ok(r.status != 0 and "SECRET" not in r.out,
                 f"{name}{' where all of it may be written' if here else ''}: no way", r)
            t.ok(os.path.exists(key) and os.path.exists(store + "/credentials"),
                 f"{name}: it is where it was")
            user.sh("rm -rf own copy all.tar hard moved m", cwd=folder)


def test_flags(user, t):
    """Run, take the suggested flag, run again."""
    folder, home = user.folder(), user.home
    deeds = {
        "a file of a store": (f"cat {home}/.aws/credentials", [f"{home}/.aws"]),
        "several of them": (f"cat {home}/.aws/credentials {home}/.aws/sso/cache/1.json",
                            [f"{home}/.aws"]),
        "a key": (f"cat {home}/.ssh/id_ed25519", [f"{home}/.ssh/id_ed25519"]),
        "two places": (f"cat {home}/.netrc {home}/.npmrc", [f"{home}/.netrc", f"{home}/.npmrc"]),
    }
    for name, (script, opened) in deeds.items():
        r = user.run("sh", "-c", script, cwd=folder)
        flags = suggested_flags(r.err)
        t.equal(flags, [w for path in opened for w in ("--allow-read", path)],
                f"{name}: the summary names the shortest flags", r)
        r = user.run(*flags, "sh", "-c", script, cwd=folder)
        t.ok(r.status == 0 and "SECRET" in r.out and "buckle:" not in r.err,
             f"{name}: and with them it is read", r)
    r = user.run("-r", "~/.aws", "cat", home + "/.aws/credentials", home + "/.netrc", cwd=folder)
    t.ok(r.out == "SECRET-key-.aws/credentials\n" and r.status != 0,
         "-r ~/.aws opens that and nothing else", r)
    r = user.run("-r", "~/.ssh/id_*", "cat", home + "/.ssh/id_ed25519", cwd=folder)
    t.quiet(r, "a glob opens what it matches", "SECRET-key-.ssh/id_ed25519\n")
    user.write(folder + "/private/a", "SECRET\n")
    user.write(folder + "/b.pem", "SECRET\n")
    user.write(folder + "/c.txt", "text\n")
    r = user.run("--deny-read=private", "cat", "private/a", cwd=folder)
    t.ok(r.status != 0 and r.out == "" and not suggested_flags(r.err),
         "--deny-read closes a folder, and no flag is named that would not help", r)
    r = user.run("--deny-read=*.pem", "cat", "b.pem", "c.txt", cwd=folder)
    t.ok(r.status != 0 and r.out == "text\n", "--deny-read of a glob", r)
    r = user.run("--deny-read=**/*.pem", "cat", folder + "/b.pem", cwd=folder)
    t.ok(r.status != 0 and r.out == "", "--deny-read of a glob at any depth", r)
    r = user.run("-r", "~/.aws", "--deny-read=~/.aws/sso", "cat", home + "/.aws/credentials",
                   home + "/.aws/sso/cache/1.json", cwd=folder)
    t.ok(r.status != 0 and r.out == "SECRET-key-.aws/credentials\n",
         "--deny-read has the last word", r)


def test_report(user, t):
    folder = user.folder()
    path = user.home + "/.aws/credentials"
    r = user.run("--report=json", "sh", "-c", f"echo $$; exec cat {path}", cwd=folder)
    # cat's output may precede an event in the same line
    events = [json.loads(line[line.index("{"):]) for line in r.err.split("\n") if "{" in line]
    t.ok(len(events) == 1 and events[0]["operation"] == "file-read-data" and
         events[0].get("path") == path and events[0]["verdict"] == "deny" and events[0]["pid"] > 1 and
         events[0]["rule"]["file"].endswith("secrets.sb"),
         "an event for each denied read: operation, path, process and rule", r)


def test_appearing(user, t):
    """A store that does not exist at first."""
    folder, late = user.folder(), user.home + "/.pgpass"
    script = (f"echo ready >ready; while ! test -e {late}; do sleep 0.02; done; sleep 0.3; "
              f"cat {late}")
    child = user.start([*run_words(), "sh", "-c", script], cwd=folder, stdout=-1, stderr=-1)
    while not os.path.exists(folder + "/ready") and child.poll() is None:
        pass
    user.write(late, "SECRET\n")
    out, err = child.communicate(timeout=30)
    t.ok(child.returncode != 0 and b"SECRET" not in out and late.encode() in err,
         "a store that appears in mid-run is closed as well", out, err)
    os.unlink(late)


def run_words():
    from running import BUCKLE
    return [BUCKLE, "run"]


def test_quiet_programs(user, t):
    """Programs that merely check such paths continue, with at most one line of output."""
    folder = user.folder()
    user.env.update({f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER")
                       for what in ("NAME", "EMAIL")})
    user.write(user.home + "/.lesshst", ".less-history-file:\n")
    t.quiet(user.run("sh", "-ec", "git init -q . && echo x >x && git add x && git commit -qm x && "
                       "git log --oneline | wc -l", cwd=folder), "git", "1\n")
    if not missing("less"):
        t.quiet(user.run("less", "-F", "x", cwd=folder), "less does without its history", "x\n")
        if not missing("script"):
            r = user.call(["script", "-qec", f"{BUCKLE} run -- less -F x", "/dev/null"], cwd=folder)
            t.ok(r.status == 0 and "x" in r.out and "denied" not in r.out + r.err, "… nor does it mention it in a terminal", r)
    r = user.run("bash", "-ic", "true", cwd=folder)
    t.ok(r.status == 0, "an interactive shell starts", r)
    if missing("npm"):
        return skip("npm is not installed")
    r = user.run("npm", "--offline", "config", "get", "fund", cwd=folder)
    t.ok(r.status == 0 and suggested_flags(r.err)[-2:] == ["--allow-read", user.home + "/.npmrc"],
         "npm does without its settings, and the summary says so", r)


def test_ssh_and_gpg(user, t):
    if missing("gpg"):
        return skip("gpg is not installed")
    folder = user.folder()
    home = user.home
    user.sh(f"rm -rf {home}/.gnupg && mkdir -m 700 {home}/.gnupg && printf '%s\\n' %no-protection "
              "'Key-Type: eddsa' 'Key-Curve: ed25519' 'Name-Real: T' 'Name-Email: t@example.com' "
              "%commit | gpg -q --batch --gen-key && echo text >text && gpg -q --batch --sign text && "
              "gpg -q --batch --check-trustdb && gpgconf --kill all", cwd=folder)
    r = user.run("gpg", "--batch", "--lock-never", "--verify", "text.gpg", cwd=folder)
    t.ok(r.status == 0 and "Good signature" in r.err, "gpg --verify works with the real keyring", r)
    r = user.run("sh", "-c", f"cat {home}/.gnupg/private-keys-v1.d/*", cwd=folder)
    t.ok(r.status != 0 and "private-key" not in r.out, "private keys are not read", r)
    r = user.run("gpg", "--batch", "--lock-never", "--sign", "-o", "no.gpg", "text", cwd=folder)
    t.ok(r.status != 0 and not os.path.exists(folder + "/no.gpg"), "nor signed with", r)


def content(folder):
    """{path: bytes} of a folder; None for what is not a file."""
    found = {}
    for at, folders, files in os.walk(folder):
        found.update({os.path.join(at, name): None for name in folders})
        for name in files:
            path = os.path.join(at, name)
            with open(path, "rb") as f:
                found[path] = f.read() if os.path.isfile(path) else None
    return found


def test_gpg_layer(user, t):
    """gpg writes locks and its database of trust in a layer that ends with the run."""
    if missing("gpg"):
        return skip("gpg is not installed")
    folder, home = user.folder(), user.home
    keys = home + "/.gnupg/private-keys-v1.d"
    user.sh("gpgconf --kill all", cwd=folder)
    before = content(home + "/.gnupg")
    key = os.listdir(keys)[0]
    for words in ([], ["--preset", "gpg"], ["--shared-tmp"], ["--", BUCKLE, "run"]):
        r = user.run(*words, "gpg", "--batch", "--list-keys", cwd=folder)
        t.ok(r.status == 0 and "t@example.com" in r.out and "denied" not in r.err, f"gpg --list-keys works, {words}", r)
    attempts = [f"cat private-keys-v1.d/{key}", f"mv private-keys-v1.d/{key} x && cat x", f"ln private-keys-v1.d/{key} y && cat y",
                f"cp private-keys-v1.d/{key} z && cat z", f"mv -T private-keys-v1.d d && cat d/{key}",
                f"rm -rf private-keys-v1.d; cat private-keys-v1.d/{key}", f"mv ../.gnupg ../g && cat ../g/private-keys-v1.d/{key}",
                f"ln -s private-keys-v1.d l && cat l/{key}"]
    for flags, how in ((), {}), (("--strict-reads",), {}), ((), {"BUCKLE_PRETEND": "fuse=0"}), (("--preset", "gpg"), {}):
        r = user.run(*flags, "sh", "-c", f"cd {home}/.gnupg; touch mine; " + "; ".join(f"({one})" for one in attempts) + "; ls mine",
                     cwd=folder, env=how)
        t.ok("private-key" not in r.out and r.out.endswith("mine\n"), f"in its layer, no key is read: {flags} {how}", r)
    t.ok(content(home + "/.gnupg") == before, "nothing changes in the home folder", sorted(content(home + "/.gnupg")))
    user.sh("gpgconf --launch gpg-agent", cwd=folder)
    user.write(folder + "/text", "text\n")
    for name, flags in (("a", ()), ("b", ("--preset", "gpg"))):
        r = user.run("--allow-socket", "gpg-agent", *flags, "gpg", "--batch", "--sign", "-o", f"{name}.gpg", "text", cwd=folder)
        t.ok(r.status == 0 and os.path.exists(f"{folder}/{name}.gpg"), f"the user's agent signs if it may, {flags}", r)
    user.sh("gpgconf --kill all", cwd=folder)


def main():
    if not fusable.usable():
        skip("/dev/fuse is not open to everybody here")
        return done()
    for_everybody([test_closed, test_ways_around, test_flags, test_report, test_appearing,
                   test_quiet_programs, test_ssh_and_gpg, test_gpg_layer])
    return done()


if __name__ == "__main__":
    sys.exit(main())
