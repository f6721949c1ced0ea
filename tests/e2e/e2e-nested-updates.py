#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What changes for a running sandbox changes for those inside it: grants reach them as far as their own
policies go, and what is taken away is gone at every level at once. Plans and `buckle doctor` inside describe
the sandbox that a run there gets."""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap
from talking import LOOP, Talker
from running import BUCKLE, eventually, for_everybody


class Shell(Talker):
    """A shell that answers line by line, inside as many sandboxes as there are lists of flags."""

    def __init__(self, user, *levels, cwd, env=None):
        words = []
        for flags in levels:
            words += [BUCKLE, "run", *flags, "--"]
        self.user = user
        self.child = user.start([*words, "sh", "-c", LOOP], cwd=cwd, env=env, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def does(self, line):
        return self.ask(line).endswith("==0\n")

    def grant(self, *words):
        return self.user.call([BUCKLE, "grant", "--run", str(self.child.pid), *words])

    def end(self):
        self.child.stdin.close()
        self.child.stdout.read()
        err = self.child.stderr.read().decode(errors="replace")
        self.child.wait(timeout=30)
        return err


def test_grants(user, t):
    work, out, other = user.folder(), user.folder("out"), user.folder("other")
    user.write(out + "/f", "")
    deep = [[], [], []]
    shell = Shell(user, ["--grantable"], *deep, cwd=work)
    t.ok(not shell.does(f"echo x >>{out}/f"), "denied at the fourth level before")
    r = shell.grant("--write", out)
    t.equal(r.status, 0, "granted to the outermost", r)
    t.ok(not shell.does(f"echo x >>{out}/f"), "which opens nothing that the inner ones deny")
    shell.end()

    wide = ["--allow-write", out, "--allow-write", other]
    shell = Shell(user, ["--grantable"], wide, wide, cwd=work)
    t.ok(not shell.does(f"echo x >>{out}/f"), "the outermost denies what the inner ones allow")
    shell.grant("--write", out)
    t.ok(eventually(lambda: shell.does(f"echo x >>{out}/f"), 5), "until it is granted there")
    t.ok(shell.does(f"{BUCKLE} run --allow-write {out} -- sh -c 'echo y >>{out}/f'"), "also for a run that starts later")
    t.ok(not shell.does(f"{BUCKLE} run -- sh -c 'echo y >>{out}/f'"), "if that one allows it")
    t.ok(not shell.does(f"echo x >{other}/f") and os.listdir(other) == [], "and nothing else is")
    shell.end()

    shell = Shell(user, ["--grantable"], [*wide, "--deny-write", out + "/f"], cwd=work)
    t.ok(not shell.does(f"echo x >>{out}/new"), "two levels before")
    shell.grant("--write", out)
    t.ok(eventually(lambda: shell.does(f"echo x >{out}/new"), 5), "a grant reaches the second level")
    t.ok(not shell.does(f"echo x >>{out}/f"), "but not beyond its own policy")
    err = shell.end()
    t.ok(out + "/f" in err, "which is reported", err)

    host = Shell(user, ["--grantable"], ["--allow-net", "granted.example"], cwd=work)
    t.ok(not host.does("getent hosts granted.example"), "a host before")
    host.grant("--net", "granted.example")
    t.ok(eventually(lambda: host.does("getent hosts granted.example"), 5), "is granted")
    host.grant("--net", "other.example")
    t.ok(not host.does("getent hosts other.example"), "one that only the outer policy allows is not")
    host.end()


def settings(**filesystem):
    return json.dumps({"network": {"allowedDomains": []},
                       "filesystem": {"allowWrite": [], "denyWrite": [], "denyRead": [], **filesystem}})


def test_narrowing(user, t):
    work, out = user.folder(), user.folder("out")
    secret = user.write(user.folder("store") + "/secret", "secret\n")
    file = user.write(user.folder("settings") + "/s.json", settings(allowWrite=[out]))
    wide = ["--no-settings", "--allow-write", out]
    inner = Shell(user, ["--updatable", "-s", file], wide, wide, wide, cwd=work)
    t.ok(inner.does(f"echo x >{out}/f && cat {secret}"), "four levels, all open")
    user.write(file, settings(allowWrite=[], denyRead=[secret]))
    t.ok(eventually(lambda: not inner.does(f"echo x >{out}/f"), 5), "taken away from the outermost, writing ends in all")
    t.ok(eventually(lambda: not inner.does(f"cat {secret}"), 5), "and so does reading")
    user.write(file, settings(allowWrite=[out]))
    t.ok(eventually(lambda: inner.does(f"echo x >{out}/f && cat {secret}"), 5), "and comes back")
    err = inner.end()
    t.ok(secret in err and "the outer sandbox" in err, "the reports name it", err)


def test_homes(user, t):
    """An update means the user's home, whatever the inner run's variables say."""
    work = user.folder()
    store = user.write(f"{user.home}/.aws/credentials", "secret\n")
    elsewhere = user.folder("elsewhere")
    file = user.write(user.folder("settings") + "/s.json", settings(allowWrite=["."]))
    shell = Shell(user, ["--updatable", "-s", file], ["--no-settings", "--profile", "open", "--env", "HOME"],
                  cwd=work, env={"HOME": user.home})
    shell.does(f"export HOME={elsewhere}")
    inner = f"HOME={elsewhere} XDG_CONFIG_HOME={elsewhere} {BUCKLE} run --no-settings --profile open -- sh -c"
    script = f"touch up; until [ -e go ]; do sleep 0.05; done; cat {store}; echo x >{user.home}/planted; echo x >/planted"
    shell.child.stdin.write(f'{inner} "{script}"\n'.encode())
    shell.child.stdin.flush()
    up = eventually(lambda: os.path.exists(work + "/up"), 20)
    user.write(file, settings(allowWrite=[".", "/nowhere"], denyRead=["~/.aws"]))
    time.sleep(1)
    user.write(work + "/go", "")
    answer = shell.ask("true")
    shell.end()
    t.ok(up and "secret" not in answer, "a store in the user's home stays closed", answer)
    t.ok(not os.path.exists(f"{user.home}/planted") and not os.path.exists("/planted"), "nothing is planted")


def test_descriptions(user, t):
    work, out = user.folder(), user.folder("out")
    r = user.run("--", BUCKLE, "doctor", "--json", cwd=work)
    told = json.loads(r.out) if r.out else {}
    alone = json.loads(user.call([BUCKLE, "doctor", "--json"], cwd=work).out)
    t.ok(r.status == 0 and told["nested"] and told["full"] and r.err == "" and not alone["nested"],
         "doctor describes runs inside, without a denial", r)
    good = [{a["name"]: a["good"] for a in d.get("abilities", []) if a["name"] != "cgroup"} for d in (told, alone)]
    t.equal(good[0], good[1], "with what the host can do")
    for levels in (1, 3):
        words = [w for _ in range(levels) for w in (BUCKLE, "run", "--allow-net", "example.com", "--")]
        r = user.call([*words, BUCKLE, "run", "--no-settings", "--allow-write", out, "-n", "--json", "--", "true"], cwd=work)
        plan = json.loads(r.out) if r.status == 0 else {}
        places = [w["path"] for w in plan.get("landlock", {}).get("except", [])]
        t.ok(plan.get("judge") and "pid" in plan["namespaces"] and "network" in plan["namespaces"] and
             out not in places and r.err == "", f"the plan inside {levels}: of all policies together", r, places)
    r = user.run("--", BUCKLE, "run", "-n", "--", "true", cwd=work)
    t.ok(r.status == 0 and "Landlock" in r.out and r.err == "", "as text", r)
    r = user.run("--", BUCKLE, "run", "-n", "--cap", "sys_time", "--", "true", cwd=work)
    t.ok("sys_time" not in r.out, "and with the stricter options", r)


for_everybody([test_grants, test_narrowing, test_homes, test_descriptions])
sys.exit(tap.done())
