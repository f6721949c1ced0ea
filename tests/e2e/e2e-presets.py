#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Presets: their meaning, by eval and by the kernel; their files and mistakes in them.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import drive
import names
import tap
from running import BUCKLE, for_everybody, missing


def cage(user, *words, **how):
    return names.call(user, "cage", *words, **how)


def presets(user, text):
    """The user's presets file."""
    return user.write(user.home + "/.config/cage/presets.yaml", text)


def raw_profile(ran):
    """The profile in the output of --dry-run."""
    return ran.out.split("-" * 40 + "\n")[1]


# ---- meaning ----

# What a shell inside can do with a path; `new` does not exist.
ASK = r"""
for path do
    out=
    if [ -d "$path" ]; then ls "$path" >/dev/null 2>&1 || out="$out-read"
    elif [ -e "$path" ]; then cat "$path" >/dev/null 2>&1 || out="$out-read"; fi
    stat "$path" >/dev/null 2>&1 || out="$out-stat"
    if [ -d "$path" ]; then ( : >"$path/new" && rm "$path/new" ) 2>/dev/null || out="$out-write"
    else ( : >>"$path" ) 2>/dev/null || out="$out-write"; fi
    echo "$out"
done
"""

OPERATIONS = {"read": "file-read-data", "stat": "file-read-metadata", "write": "file-write-data"}


def verdicts(user, t, name, words, rows, cwd):
    """rows: path → denied actions."""
    paths = list(rows)
    r = cage(user, *words, "sh", "-c", ASK, "sh", *paths, cwd=cwd)
    found = dict(zip(paths, ([w for w in line.split("-") if w] for line in r.out.split("\n"))))
    profile = user.write(user.folder("profile") + "/p.sb",
                           raw_profile(cage(user, "--dry-run", *words, "sh", cwd=cwd)))
    for path, denied in rows.items():
        label = f"{name}: {os.path.relpath(path, user.home)}"
        t.equal(found.get(path), denied, label + ", by the kernel", r)
        judged = [what for what, op in OPERATIONS.items()
                  if user.call([BUCKLE, "eval", profile, op, path]).status == 1]
        t.equal(judged, denied, label + ", by eval")


def home_tree(user):
    top = user.folder("tree")
    for path in ("keys/id", "keys/public/known", "keys/public/deep/secret", "caches/tool/f",
                 "caches/f", "work/f", "work/.env", "other", "docs/a/f", "docs/b/f"):
        user.write(f"{top}/{path}", "text\n")
    return top


RW = ["read", "write"]


def test_meaning(user, t):
    top = home_tree(user)
    work = top + "/work"

    def rows(**verdict):
        return {f"{top}/{path}" if path else top: denied for path, denied in verdict.items()}

    def check(name, words, table):
        verdicts(user, t, name, words, {f"{top}/{path}".rstrip("/"): denied
                                          for path, denied in table.items()}, work)

    check("nothing said", [], {"work/f": ["write"], "work": ["write"], "other": ["write"],
                               "keys/id": ["write"]})
    check("allow", ["--allow", "."], {"work/f": [], "work": [], "other": ["write"]})
    check("deny", ["--allow", top, "--deny", top + "/keys"],
          {"keys/id": RW, "keys": RW, "keys/public/known": RW, "other": []})
    check("allow inside of deny", ["--deny", top, "--allow", top + "/caches"],
          {"": RW, "other": RW, "caches": [], "caches/tool/f": []})
    check("deny inside of allow inside of deny",
          ["--deny", top, "--allow", top + "/caches", "--deny", top + "/caches/tool"],
          {"other": RW, "caches/f": [], "caches/tool/f": RW})
    check("the same place allowed and denied", ["--allow", top + "/docs", "--deny", top + "/docs"],
          {"docs/a/f": RW})
    check("a pattern", ["--allow", top, "--deny", top + "/**/.env", "--deny-read", top + "/docs/*/f",
                        "--deny-write", top + "/ot?er"],
          {"work/.env": RW, "work/f": [], "docs/a/f": ["read"], "docs/a": [], "other": ["write"]})
    system = [w for d in ("/bin", "/lib", "/lib64", "/usr", "/etc", "/dev", "/proc")
              for w in ("--allow-read", d)]
    check("strict", ["--strict", *system, "--allow-read", top + "/docs", "--allow", "."],
          {"docs/a/f": ["write"], "work/f": [], "other": RW, "": RW, "keys/id": RW})
    check("strict, with a denial in what is read",
          ["--strict", *system, "--allow-read", top, "--deny", top + "/keys"],
          {"other": ["write"], "keys/id": RW})

    presets(user, f"""
presets:
  carved:
    allow: [ "{top}" ]
    deny:
      - path: "{top}/keys"
        except:
          - "{top}/keys/public"
      - "{top}/keys/public/deep"
""")
    check("except", ["--preset", "carved"],
          {"other": [], "keys/id": RW, "keys": RW, "keys/public/known": ["write"],
           "keys/public/deep/secret": RW})
    check("a flag opens what a preset closes", ["--preset", "carved", "--allow", top + "/keys"],
          {"keys/id": [], "keys/public/known": [], "keys/public/deep/secret": RW})
    check("a flag closes what a preset opens", ["--preset", "carved", "--deny", top],
          {"other": RW})


def test_links(user, t):
    top = home_tree(user)
    os.symlink(top + "/keys", top + "/work/link")
    os.symlink(top + "/caches", top + "/work/cache")
    r = cage(user, "--allow", ".", "--deny", "link", "sh", "-c",
             "cat link/id; cat ../keys/id; mv link gone; ln -sfn /etc link", cwd=top + "/work")
    t.ok(r.err.count("not permitted") >= 3 and r.out == "" and
         os.readlink(top + "/work/link") == top + "/keys",
         "a denied link: neither what it leads to can be read, nor itself be replaced", r)
    file = presets(user, f"""
presets:
  one: {{ allow: [ {{ path: "cache", eval-symlinks: true }} ] }}
""")
    r = cage(user, "--config", file, "--preset", "one", "sh", "-c",
             "echo x >cache/new && rm ../caches/new && echo y >../other", cwd=top + "/work")
    t.ok(r.status == 2 and "caches" not in r.err and not os.path.exists(top + "/caches/new"),
         "an allowed link opens what it leads to", r)
    user.sh("ln -s ~ node_modules", cwd=top + "/work")
    for words in (["--allow", ".", "--allow", "node_modules"], ["--allow", ".", "--preset", "builtin:npm"]):
        r = cage(user, *words, "echo", "ran", cwd=top + "/work")
        t.ok(r.status == 1 and r.out == "" and "link" in r.err,
             f"unless the command could have made it: {words[2:]}", r)


def test_moves(user, t):
    """Moving denied files, or a folder above them, does not give access."""
    top = home_tree(user)
    for what, to in (("keys", "k2"), ("keys/id", "k3")):
        r = cage(user, "--allow", top, "--deny", top + "/keys", "sh", "-c",
                 f"mv {top}/{what} {top}/{to} && cat {top}/{to}* {top}/{to}/*")
        t.ok(r.status != 0 and "text" not in r.out, f"{what} stays where it is", r)
    r = cage(user, "--allow", user.home, "--deny", top + "/keys", "sh", "-c",
             f"mv {top} {top}-moved && cat {top}-moved/keys/id")
    t.ok(r.status != 0 and "text" not in r.out and os.path.exists(top), "so does what is above", r)


# ---- files ----


def test_search(user, t):
    def listed(**env):
        r = cage(user, "--list-presets", env=env)
        return [line[4:] for line in r.out.split("\n") if line.startswith("  - ") and ":" not in line]

    config = user.home + "/.config/cage"
    for f in ("presets.yaml", "presets.yml"):
        if os.path.exists(f"{config}/{f}"):
            os.unlink(f"{config}/{f}")
    t.equal(listed(), [], "no file: only what comes along")
    user.write(config + "/presets.yml", "presets: { yml: }\n")
    t.equal(listed(), ["yml"], "~/.config/cage/presets.yml")
    user.write(config + "/presets.yaml", "presets: { yaml: }\n")
    t.equal(listed(), ["yaml"], "~/.config/cage/presets.yaml comes before it")
    xdg = user.folder("xdg")
    t.equal(listed(XDG_CONFIG_HOME=xdg), ["yaml"], "$XDG_CONFIG_HOME without a file")
    user.write(xdg + "/cage/presets.yaml", "presets: { xdg: }\n")
    t.equal(listed(XDG_CONFIG_HOME=xdg), ["xdg"], "$XDG_CONFIG_HOME comes first")
    own = user.write(user.folder() + "/own.yaml", "presets: { own: }\n")
    r = cage(user, "-config=" + own, "-list-presets", env={"XDG_CONFIG_HOME": xdg})
    t.ok("  - own\n" in r.out and "xdg" not in r.out, "--config before all", r)
    r = cage(user, "--config", "/no/such.yaml", "echo", "ran")
    t.ok(r.status == 1 and r.out == "" and r.err.startswith("cage: error loading config"),
         "--config that is not there", r)
    os.unlink(config + "/presets.yml")
    r = cage(user, "--allow", user.home, "sh", "-c", f"echo >{config}/presets.yaml")
    t.ok(r.status == 2 and os.path.getsize(config + "/presets.yaml") > 2,
         "nobody inside writes the presets file", r)
    os.unlink(config + "/presets.yaml")
    new = [f"{user.home}/.config/cage/presets.yaml", f"{user.home}/.config/buckle/settings.json",
           f"{xdg}/cage/presets.yml", f"{xdg}/buckle/settings.json"]
    r = cage(user, "--allow", user.home, "sh", "-c",
             "".join(f"mkdir -p {os.path.dirname(f)}; echo >{f}; " for f in new) + f"echo >{user.home}/made",
             env={"XDG_CONFIG_HOME": xdg})
    t.ok(os.path.exists(user.home + "/made") and not [f for f in new if os.path.exists(f)],
         "nor makes one where it would be looked for", r)


def test_merging(user, t):
    folder = user.folder()
    for d in ("a", "b", "c", "d", "e"):
        os.mkdir(f"{folder}/{d}")
        user.own(f"{folder}/{d}")
    file = presets(user, """
x-shared: &shared
  allow: [ "b" ]
defaults:
  presets: [ always ]
presets:
  always: { allow: [ "a" ] }
  base: *shared
  left: { extends: [ base ] }
  right: { extends: [ base ], allow: [ "c" ] }
  both: { extends: [ left, right ] }
  alone: { skip-defaults: true, allow: [ "d" ] }
  merged: { <<: *shared, deny: [ "a" ] }
  loop: { extends: [ pool ] }
  pool: { extends: [ loop ] }
  lost: { extends: [ nowhere ] }
auto-presets:
  - command: sh
    presets: [ fromsh ]
  - command-pattern: ^(ba|da)sh$
    presets: [ alone ]
""".replace("[ fromsh ]", "[ right ]"))

    def writes(*words, shell="sh"):
        r = cage(user, *words, shell, "-c",
                 "for d in a b c d e; do ( : >$d/f ) 2>/dev/null && printf $d; done", cwd=folder)
        return r.out if r.status in (0, 1, 2) and "cage:" not in r.err else r.err

    t.equal(writes(), "abc", "defaults, and the presets of the command")
    t.equal(writes("--no-defaults"), "bc", "--no-defaults")
    t.equal(writes(shell="/bin/bash"), "d", "a pattern, by the last part of the name; skip-defaults")
    t.equal(writes("--preset", "both", "--allow", "e"), "abce", "a diamond, and a flag")
    t.equal(writes("--preset", "merged"), "bc", "<<, and a denial over a default")
    for name, words in (("loop", "circular preset reference"), ("lost", "preset not found: nowhere"),
                        ("nosuch", "preset not found: nosuch")):
        r = cage(user, "--preset", name, "echo", "ran")
        t.ok(r.status == 1 and r.out == "" and words in r.err, f"{name}: {words}", r)
    r = cage(user, "--preset", "npm", "echo", "ran")
    t.ok(r.status == 1 and "did you mean builtin:npm?" in r.err, "a shipped name without its prefix", r)

    shown = cage(user, "--show-preset", "both", "-o", "yaml")
    again = user.write(folder + "/again.yaml", shown.out)
    r = cage(user, "--config", again, "--preset", "both", "sh", "-c",
             "for d in a b c d e; do ( : >$d/f ) 2>/dev/null && printf $d; done", cwd=folder)
    t.equal(r.out, "bc", "what --show-preset -o yaml prints is a presets file", shown, r)
    r = cage(user, "--show-preset", "right", "-o", "raw")
    t.ok('"c"' in r.out and '"b"' not in r.out and "base" in r.out, "-o raw: what it says itself", r)
    r = cage(user, "--show-preset", "right")
    t.ok("  - b\n" in r.out and "  - c\n" in r.out and "Preset: right\n" in r.out, "as text", r)


def test_variables(user, t):
    folder = user.folder()
    presets(user, """
presets:
  set: { allow: [ "$PLACE/in", "${PLACE}-too" ] }
  unset: { allow: [ "$NOT_SET_HERE/x", "." ] }
  closed: { deny: [ "$NOT_SET_HERE/x" ] }
""")
    for d in ("p/in", "p-too"):
        os.makedirs(f"{folder}/{d}")
        user.sh(f"true")
        for one in (f"{folder}/p", f"{folder}/{d}"):
            user.own(one)
    r = cage(user, "--preset", "set", "sh", "-c", "echo >p/in/f && echo >p-too/f && echo >p/f",
             cwd=folder, env={"PLACE": folder + "/p"})
    t.ok(r.status == 2 and os.path.exists(folder + "/p-too/f"), "$VAR and ${VAR}", r)
    r = cage(user, "--preset", "unset", "--verbose", "sh", "-c", "echo >f", cwd=folder)
    t.ok(r.status == 0 and "not set" in r.err, "an unset variable opens nothing and is reported", r)
    r = cage(user, "--preset", "closed", "echo", "ran")
    t.ok(r.status == 1 and r.out == "" and "NOT_SET_HERE" in r.err, "denying one is an error", r)


def test_git(user, t):
    if missing("git"):
        tap.skip("git is not installed")
        return
    user.env.update({"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": "A",
                       "GIT_COMMITTER_EMAIL": "a@b.c"})
    top = user.folder("git")
    user.sh("git init -q main && cd main && git commit -q --allow-empty -m one && "
              "git worktree add -q ../tree && git init -q ../module && cd ../module && "
              "git commit -q --allow-empty -m m && cd ../main && "
              "git -c protocol.file.allow=always submodule --quiet add ../module sub", cwd=top)
    commit = "echo x >>f && git add f && git commit -q -m f"
    for where in ("main", "tree", "main/sub"):
        r = cage(user, "--allow", ".", "--allow-git", "sh", "-c", commit, cwd=f"{top}/{where}")
        t.ok(r.status == 0, f"a commit in {where}", r)
    r = cage(user, "--allow", ".", "sh", "-c", commit, cwd=f"{top}/tree")
    t.ok(r.status != 0, "not without --allow-git", r)
    # a .git file from elsewhere
    fake, victim = f"{top}/fake", f"{top}/module"
    user.write(fake + "/.git", f"gitdir: {victim}/.git\n")
    r = cage(user, "--allow", ".", "--allow-git", "sh", "-c", f"echo x >{victim}/.git/x", cwd=fake)
    t.ok(r.status == 2 and not os.path.exists(victim + "/.git/x"),
         "a .git file opens only what knows of it", r)


# ---- shipped presets ----


def test_shipped(user, t):
    r = cage(user, "--list-presets")
    shipped = [line[4:] for line in r.out.split("\n") if line.startswith("  - builtin:")]
    t.ok({"builtin:secure", "builtin:strict-base", "builtin:secrets-deny", "builtin:npm",
          "builtin:cargo", "builtin:go", "builtin:python"} <= set(shipped), "names", r)
    for name in shipped:
        r = cage(user, "--show-preset", name, "-o", "yaml")
        file = user.write(user.folder() + "/p.yaml", r.out)
        again = cage(user, "--config", file, "--show-preset", name.split(":")[1], "-o", "yaml")
        strip = [[line for line in text.split("\n") if not line.startswith("#")]
                 for text in (r.out, again.out)]
        t.equal(strip[1], strip[0], f"{name} reads back", r, again)
        text = f'(version 1)(allow default)(deny file-write*)(import "preset-{name.split(":")[1]}.sb")'
        r = user.call([BUCKLE, "check", "-D", "HOME=/h", "-D", "CWD=/w", "-p", text])
        t.ok(r.status == 0, f"{name} can be imported", r)
    work = user.folder()
    user.write(user.home + "/.ssh/id", "text\n")
    user.write(user.home + "/.npm/f", "text\n")
    user.write(user.home + "/Documents/f", "text\n")
    user.write(user.home + "/mine", "text\n")
    verdicts(user, t, "secure", ["--preset", "builtin:secure"],
             {work: [], user.home + "/.ssh/id": RW, user.home + "/.npm/f": [],
              user.home + "/Documents/f": ["write"], user.home + "/mine": RW,
              user.home: RW}, work)
    r = cage(user, "--preset", "builtin:secure", "python3", "-c", "print(open('/etc/passwd').read(4))",
             cwd=work)
    t.ok(r.status == 0, "programs run under secure", r)


# ---- with buckle run ----


def test_with_run(user, t):
    work = user.folder()
    user.write(user.home + "/.npm/f", "text\n")
    user.write(user.home + "/.aws/credentials", "text\n")
    script = ("echo x >f && echo x >~/.npm/g && cat ~/.npm/f; cat ~/.aws/credentials; echo >~/h; "
              "echo >~/.npm/.bashrc; echo >.gitconfig; true")
    r = user.run("--preset", "builtin:npm", "sh", "-c", f"({script.replace('; ', ');(')})", cwd=work)
    t.ok(r.status == 0 and r.out == "text\n" and not os.path.exists(user.home + "/.npm/g") and
         not os.path.exists(user.home + "/h"), "a preset is added to what is there without", r)
    r = user.run("--preset", "builtin:npm", "cat", user.home + "/.npm/g", cwd=work)
    t.ok(r.out == "x\n", "what is written to a cache stays in a private layer", r)
    r = user.run("--preset", "builtin:npm", "--share-caches", "sh", "-c", "echo x >~/.npm/g", cwd=work)
    t.ok(r.status == 0 and os.path.exists(user.home + "/.npm/g"), "unless caches are shared", r)
    settings = user.write(user.folder() + "/s.json", '{"filesystem": {"shareCaches": true}}')
    r = user.run("-s", settings, "--preset", "builtin:npm", "sh", "-c", "echo x >~/.npm/g2", cwd=work)
    t.ok(r.status == 0 and os.path.exists(user.home + "/.npm/g2"), "which settings can say, too", r)
    t.ok(not os.path.exists(user.home + "/.npm/.bashrc") and
         not os.path.exists(work + "/.gitconfig"), "protected names stay closed", r)
    connect = "import socket; socket.create_connection(('127.0.0.1', 1), 2)"
    r = user.run("--preset", "builtin:npm", "python3", "-c", connect, cwd=work)
    t.ok(r.status == 1, "and so does the network", r)
    file = user.write(user.folder() + "/s.yaml", "presets: { closed: { strict: true, read: "
                        "[ /bin, /lib, /lib64, /usr, /etc, /dev, /proc ] } }\n")
    r = user.run("--config", file, "--preset", "closed", "sh", "-c", "cat f; cat ~/.npm/f", cwd=work)
    t.ok(r.out == "x\n" and "not permitted" in r.err, "strict: what is written can be read", r)
    r = user.run("--preset", "no-such", "echo", "ran", cwd=work)
    t.ok(r.status == 125 and r.out == "" and "preset not found" in r.err, "one that is not there", r)
    r = user.run("--profile", "strict", "--preset", "builtin:npm", "echo", "ran", cwd=work)
    t.ok(r.status == 125 and r.out == "", "a profile and a preset", r)
    file = user.write(user.folder() + "/p.yaml", "presets: { one: { allow: [ \"~/.npm\" ] } }\n")
    r = user.run("--config", file, "--preset", "one", "--debug", "sh", "-c", "echo x >~/.npm/i", cwd=work)
    t.ok(r.status == 0 and f"Presets: {file}" in r.err and "write: 2 paths and TMPDIR" in r.err,
         "--config, --debug", r)
    r = user.call([BUCKLE, "profile", "--config", file, "--preset", "one"], cwd=work)
    t.ok(r.status == 0 and "preset one, line 1" in r.out and "/.npm" in r.out, "buckle profile", r)


def test_mixed(user, t):
    """Settings, a preset and flags each deny something below what another one allows."""
    top = home_tree(user)
    work = top + "/work"
    settings = user.write(user.folder() + "/s.json",
                            '{"filesystem": {"denyRead": ["%s/keys"], "allowWrite": ["%s/caches"], '
                            '"denyWrite": ["%s/docs/b"]}}' % (top, top, top))
    file = user.write(user.folder() + "/p.yaml", f"""
presets:
  p:
    allow: [ "{top}" ]
    deny: [ "{top}/caches/tool" ]
""")
    words = ["--settings", settings, "--config", file, "--preset", "p", "--deny-read", top + "/other",
             "--strict-reads"]  # without FUSE, a mask would cover it
    rows = {"work/f": [], "caches/f": [], "keys/id": ["read", "stat", "write"], "keys/public": None,
            "caches/tool/f": RW, "other": ["read"], "docs/b/f": ["write"], "docs/a/f": []}
    rows = {f"{top}/{path}": denied for path, denied in rows.items() if denied is not None}
    rows[f"{top}/keys/id"] = ["read", "stat"]
    r = user.run(*words, "sh", "-c", ASK, "sh", *rows, cwd=work)
    found = [[w for w in line.split("-") if w] for line in r.out.split("\n")]
    for got, (path, denied) in zip(found, rows.items()):
        if path.endswith("keys/id"):
            # for the shell, a path without metadata does not exist
            t.ok("stat" in got, "settings deny the metadata as well", r)
            continue
        t.equal(got, denied, f"mixed: {os.path.relpath(path, top)}", r)
    r = user.run(*words, "cat", top + "/keys/id", cwd=work)
    t.ok(r.status == 1 and r.out == "", "mixed: settings' denyRead under a preset's allow", r)
    text = user.call([BUCKLE, "profile", "--settings", settings, "--config", file, "--preset", "p"],
                       cwd=work)
    profile = user.write(user.folder() + "/p.sb", text.out)
    for op, path, verdict in (("file-read-data", "keys/id", 1), ("file-read-metadata", "keys/id", 1),
                              ("file-read-xattr", "keys/id", 1), ("file-read-data", "caches/tool/f", 1),
                              ("file-read-metadata", "caches/tool/f", 0),
                              ("file-write-unlink", "caches/tool/f", 1),
                              ("file-write-data", "docs/b/f", 1), ("file-write-create", "docs/a/n", 0)):
        r = user.call([BUCKLE, "eval", profile, op, f"{top}/{path}"])
        t.equal(r.status, verdict, f"mixed, by eval: {op} {path}", r)


# ---- mistakes ----


def test_mistakes(user, t):
    def refuses(text, *words):
        file = user.write(user.folder() + "/p.yaml", text)
        r = cage(user, "--config", file, "echo", "ran", timeout=20)
        reported = r.status == 1 and r.out == "" and r.err.startswith("cage: error loading config")
        t.ok(reported and all(w in r.err for w in words), f"{text[:50]!r}: {words}", r)

    refuses("presets:\n  a:\n    alow: []\n", "p.yaml:3:5", "unknown key alow", "did you mean allow?")
    refuses("preset:\n  a: {}\n", "p.yaml:1:1", "unknown key preset", "presets")
    refuses("presets:\n  a:\n    allow: .\n", "p.yaml:3:12", "allow", "a list")
    refuses("presets:\n  a:\n    allow: [ 12 ]\n", "a number", "quotes")
    refuses("presets:\n  a:\n    allow: [ ~ ]\n", "nothing")
    refuses("presets:\n  a:\n    strict: maybe\n", "strict", "true or false")
    refuses("presets:\n  a:\n    strict: \"true\"\n", "true or false")
    refuses("presets:\n  a:\n    deny: [ { except: [ x ] } ]\n", "has no path")
    refuses("presets:\n  a:\n    allow: [ { path: x, except: [ y ] } ]\n", "except is allowed in deny")
    refuses("presets:\n  a:\n    deny: [ { path: x, excpt: [ y ] } ]\n", "did you mean except?")
    refuses("presets:\n  a:\n    deny: [ { path: [ x ] } ]\n", "not a list")
    refuses("presets:\n  a:\n    extends: b\n", "extends", "a list")
    refuses("presets: { a: {}, a: {} }\n", "twice")
    refuses("presets:\n  builtin:x: {}\n", "builtin:")
    refuses("presets: [ a ]\n", "a map")
    refuses("- presets\n", "a map")
    refuses("defaults: { preset: [ a ] }\n", "unknown key preset in defaults", "presets")
    refuses("auto-presets:\n  - presets: [ a ]\n", "neither command")
    refuses("auto-presets:\n  - command-pattern: '('\n    presets: [ a ]\n", "p.yaml:2", "command-pattern")
    refuses("auto-presets:\n  - comand: x\n", "did you mean command?")
    refuses("presets: {\n", "p.yaml:")
    refuses("a: b: c\n", "p.yaml:1")
    refuses("presets: {}\n---\npresets: {}\n", "a second document")
    refuses("presets: !!map {}\n", "tag")
    refuses("presets: { a: { allow: [ \"x\\0y\" ] } }\n", "NUL")
    refuses("presets: *nowhere\n", "anchor")
    refuses("presets: &a { b: *a }\n", "contains it")
    file = user.folder() + "/bytes.yaml"
    with open(file, "wb") as f:
        f.write(b"presets: { \xff\xfe: {} }\n")
    os.chmod(file, 0o644)
    r = cage(user, "--config", file, "echo", "ran")
    t.ok(r.status == 1 and r.out == "" and "bytes.yaml" in r.err, "bytes that are no UTF-8", r)
    r = cage(user, "--config", user.home, "echo", "ran")
    t.ok(r.status == 1 and r.out == "", "a folder", r)


def test_check(user, t):
    """buckle check reports mistakes, and entries without effect."""
    file = user.write(user.folder() + "/p.yaml", """\
presets:
  links:
    allow: [ { path: /tmp, eval-symlinks: true } ]
  reads:
    read: [ /usr ]
  keys:
    allow-keychain: true
  unset:
    allow: [ "$NOT_SET_HERE/x" ]
  fine:
    strict: true
    read: [ /usr ]
    deny: [ { path: "~/.ssh", except: [ "~/.ssh/config" ] } ]
""")
    r = user.call([BUCKLE, "check", file])
    notes = [line for line in r.out.split("\n") if ": note: " in line]
    for line, words in ((3, "eval-symlinks"), (5, "strict"), (6, "keychain"), (9, "not set")):
        t.ok(any(f"p.yaml:{line}:" in n and words in n for n in notes), f"{words}, line {line}", r)
    t.ok(r.status == 0 and len(notes) == 4, "nothing else", r)
    file = user.write(user.folder() + "/q.yaml", """\
presets:
  a: { extends: [ b ] }
  c: { extends: [ nowhere ] }
  b: { extends: [ a ] }
  d: { deny: [ "$NOT_SET_HERE" ] }
defaults: { presets: [ gone ] }
auto-presets:
  - { command: x, presets: [ builtin:nmp ] }
""")
    r = user.call([BUCKLE, "check", file])
    for line, words in ((2, "circular"), (3, "nowhere"), (5, "NOT_SET_HERE"), (1, "gone"), (8, "builtin:npm?")):
        t.ok(r.status == 1 and f"q.yaml:{line}:" in r.out and words in r.out, f"{words}, line {line}", r)
    file = user.write(user.folder() + "/r.yml", "presets:\n  a: { alow: [] }\n")
    r = user.call([BUCKLE, "check", "--json", file])
    t.ok(r.status == 1 and '"line": 2' in r.out and "did you mean allow?" in r.out, "--json", r)


def test_bombs(user, t):
    def refuses(name, text, words, seconds=5):
        file = user.write(user.folder() + "/b.yaml", text)
        r = cage(user, "--config", file, "echo", "ran", timeout=20)
        t.ok(r.status == 1 and r.out == "" and words in r.err and r.seconds < seconds, name, r)

    lines = ['a: &a [ "lol", "lol", "lol", "lol", "lol", "lol", "lol", "lol", "lol" ]']
    for i in range(1, 10):
        one, before = chr(ord("a") + i), chr(ord("a") + i - 1)
        lines.append(f"{one}: &{one} [ {', '.join(['*' + before] * 9)} ]")
    laughs = "\n".join(lines)
    refuses("a billion laughs, as unknown keys", laughs, "unknown key a")
    hidden = "\n".join("x-" + line for line in lines)
    refuses("a billion laughs, as a list of paths", hidden + "\npresets: { p: { allow: *j } }",
            "not a list")
    many = "x: &x [ " + ", ".join(f'"p{i}"' for i in range(5000)) + " ]\n"
    many = "x-" + many + "presets:\n" + "".join(f"  p{i}: {{ allow: *x }}\n" for i in range(4000))
    refuses("a long list many times", many, "too far")
    refuses("deep lists", "presets: " + "[" * 100000, "deeply")
    refuses("deep maps", "presets: " + "{a: " * 10000, "deeply")
    refuses("many anchors", "\n".join(f"x-{i}: &a{i} 1" for i in range(1000)), "256 anchors")
    refuses("many names", "presets:\n" + "".join(f"  p{i}:\n" for i in range(20000)), "4,096")
    refuses("more than a mebibyte", "# " + "x" * (1 << 20) + "\n", "1 MiB")
    huge = user.folder() + "/huge.yaml"
    with open(huge, "wb") as f:
        f.truncate(100 << 20)
    os.chmod(huge, 0o644)
    r = cage(user, "--config", huge, "echo", "ran", timeout=20)
    t.ok(r.status == 1 and r.out == "" and r.seconds < 2, "100 MB", r)


# ---- the rest of the command line ----


def test_command_line(user, t):
    work = user.folder()
    r = cage(user, "env", cwd=work, env={"MY_API_KEY": "k"})
    t.ok("IN_CAGE=1\n" in r.out and "MY_API_KEY=k\n" in r.out and "SANDBOX_RUNTIME" not in r.out,
         "the environment is passed on, with IN_CAGE", r)
    t.equal(cage(user, "sh", "-c", "exit 9").status, 9, "the command's status")
    r = cage(user)
    t.ok(r.status == 1 and r.err.startswith("Usage: cage [flags] <command>"), "no command", r)
    r = cage(user, "--nonsense", "echo", "ran")
    t.ok(r.status == 2 and r.out == "" and "nonsense" in r.err, "an unknown flag", r)
    r = cage(user, "--alow", ".", "echo")
    t.ok(r.status == 2, "a misspelled flag", r)
    t.ok(cage(user, "-h").status == 0, "-h")
    r = cage(user, "no-such-command-at-all")
    t.ok(r.status == 1 and "command not found" in r.err, "a command that is not there", r)
    r = cage(user, "-version")
    t.ok(r.status == 0 and r.out.startswith("cage version "), "-version", r)
    for words in (["-allow", "."], ["--allow", "."], ["-allow=."], ["--allow=."]):
        r = cage(user, *words, "sh", "-c", "echo x >f && rm f", cwd=work)
        t.ok(r.status == 0, f"{words}", r)
    r = cage(user, "-strict=false", "-allow-all=false", "--", "echo", "--allow")
    t.ok(r.status == 0 and r.out == "--allow\n", "switches with a value; -- ends flags", r)
    r = cage(user, "--allow-all", "sh", "-c", "echo x >f && rm f && echo $IN_CAGE", cwd=work)
    t.equal((r.status, r.out), (0, "1\n"), "--allow-all")
    r = cage(user, "--allow", ".", os.path.join(names.FOLDER, "cage"), "--allow", ".", "sh", "-c",
             "echo x >f && rm f && echo y >../g", cwd=work)
    t.ok(r.status == 2 and "../g" in r.err and not os.path.exists(work + "/f") and
         not os.path.exists(work + "/../g"), "a cage in a cage: both policies hold", r)
    r = cage(user, "--dry-run", "--no-defaults", "--strict", "--deny", "/Users/test", "--", "echo",
             "hello")
    t.ok(r.status == 0 and r.out.startswith("Sandbox Profile (dry-run):") and
         r.out.count("* /Users/test (read+write) - from CLI flag") == 1 and
         "Command: echo hello" in r.out, "--dry-run", r)
    t.ok("(deny file-read-data" in raw_profile(r), "the raw profile denies contents, not metadata")
    r = cage(user, "--verbose", "sh", "-c", "echo x >f", cwd=work)
    t.ok("cage: " in r.err and work + "/f" in r.err, "--verbose tells what was denied", r)


def main():
    for_everybody([test_meaning, test_links, test_moves, test_search, test_merging, test_variables,
                   test_git, test_shipped, test_with_run, test_mixed, test_mistakes, test_check, test_bombs, test_command_line])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
