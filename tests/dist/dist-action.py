#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The GitHub action: the steps of action.yml as a runner would run them, in both modes."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import roots
import tap

COMMAND = """
curl -m 5 -sS http://good.test/ || true
curl -m 5 -sS http://evil.test/ || true
echo x >"$OUTSIDE" || true
echo x >"$TMPDIR/own"; echo x >here; mkdir -p ../more; echo x >../more/there
mkdir -p '<b>`|x`' && echo x >"$FORGED" || true
exit 7
"""


class Runner:
    """As much of GitHub's runner as a composite action needs."""

    def __init__(self, folder):
        with open(os.path.join(folder, "action.yml"), encoding="utf-8") as f:
            self.action = yaml.safe_load(f)
        self.folder = folder

    def filled(self, text, inputs):
        return re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda found: inputs[found.group(1)], text)

    def run(self, where, **given):
        given = {name.replace("_", "-"): value for name, value in given.items()}
        unknown = set(given) - set(self.action["inputs"])
        assert not unknown, unknown
        inputs = {name: given.get(name, one.get("default")) for name, one in self.action["inputs"].items()}
        files = {name: os.path.join(where, name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for path in files.values():
            open(path, "w", encoding="utf-8").close()
        work = os.path.join(where, "work")
        os.makedirs(work, exist_ok=True)
        for step in self.action["runs"]["steps"]:
            env = {**os.environ, **files, "GITHUB_ACTION_PATH": self.folder, "OUTSIDE": os.path.join(where, "outside"),
                   "FORGED": os.path.join(where, "a\nhosts<<x\nforged.test\nx\n| <img> |"),
                   **{name: self.filled(value, inputs) for name, value in step["env"].items()}}
            done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.filled(step["run"], inputs)],
                                  cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        with open(files["GITHUB_OUTPUT"], encoding="utf-8") as f:
            outputs = dict(re.findall(r"^([\w-]+)<<(?:end of \1)\n(.*?)^end of \1\n", f.read(), re.DOTALL | re.MULTILINE))
        with open(files["GITHUB_STEP_SUMMARY"], encoding="utf-8") as f:
            return done, outputs, f.read()


def test_action(action, folder):
    names = {f"${{{{ steps.run.outputs.{name} }}}}" for name in action.action["outputs"]}
    tap.equal({one["value"] for one in action.action["outputs"].values()}, names, "each output comes from the step")
    where = os.path.join(folder, "block")
    done, outputs, summary = action.run(where_made(where), run=COMMAND, allow_hosts="good.test\n*.also.test\n",
                                        allow_write="../more")
    tap.equal(done.returncode, 7, "block: the command's status")
    tap.ok(not os.path.exists(os.path.join(where, "outside")), "block: nothing is written outside", done.stdout)
    tap.ok(os.path.exists(os.path.join(where, "work", "here")), "block: the working directory is writable")
    tap.ok(os.path.exists(os.path.join(where, "more", "there")), "block: so is what allow-write names")
    tap.equal(outputs.get("hosts"), "good.test\n*.also.test\n", "block: the allowed hosts are an output")
    tap.equal(outputs.get("denied-hosts"), "evil.test:80\n", "block: so are the denied ones")
    tap.ok(int(outputs.get("denials", "0")) >= 3, "block: and their number", outputs)
    tap.ok("evil.test:80" in summary and "outside" in summary and "good.test" not in summary, "block: the summary", summary)
    tap.ok("forged" not in outputs.get("hosts", "") and "<img>" not in summary, "block: a file's name forges nothing", summary)
    test_audit(action, folder)


def where_made(where):
    os.makedirs(where)
    return where


def test_audit(action, folder):
    where = os.path.join(folder, "audit")
    done, outputs, summary = action.run(where_made(where), run=COMMAND, mode="audit", allow_hosts="good.test",
                                        allow_write="../more")
    tap.equal(done.returncode, 7, "audit: the command's status")
    tap.ok(os.path.exists(os.path.join(where, "outside")), "audit: nothing is blocked", done.stdout)
    tap.equal(outputs.get("hosts"), "evil.test:80\ngood.test:80\n", "audit: the hosts that it wanted, for allow-hosts")
    tap.equal(outputs.get("denied-hosts"), "evil.test:80\n", "audit: those that block would deny")
    tap.ok("outside" in summary and "would be denied" in summary and "good.test" not in summary, "audit: the summary", summary)
    tap.ok("/here" not in summary and "/there" not in summary and "own" not in summary, "audit: what block allows is not in it", summary)
    tap.ok("forged" not in outputs.get("hosts", "") and "<img>" not in summary, "audit: a file's name forges nothing", summary)
    done, outputs, summary = action.run(where_made(os.path.join(folder, "quiet")), run="echo hello")
    tap.equal((done.returncode, done.stdout, outputs.get("denials")), (0, "hello\n", "0\n"), "quiet when all is well")
    done, _, _ = action.run(where_made(os.path.join(folder, "wrong")), run="echo hello", mode="none")
    tap.ok(done.returncode == 1 and "hello" not in done.stdout, "another mode is an error", done.stdout)


def main():
    packed = roots.made("action", "*-action.tar.gz")[0]
    # not below /tmp, where the policy may let a command write into a layer
    folder = tempfile.mkdtemp(prefix="buckle-action-", dir="/var/tmp")
    own = os.path.join(folder, "own")
    os.mkdir(own)
    roots.run(["tar", "-C", own, "-xf", packed])
    test_action(Runner(own), folder)
    programs = os.path.join(own, "linux-" + {"aarch64": "arm64"}.get(os.uname().machine, os.uname().machine), "bin")
    env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}")
    roots.check_helpers(lambda command: roots.run(["sh", "-c", command], cwd=folder, env=env).stdout, "action")
    shutil.rmtree(folder)
    return tap.done()


if __name__ == "__main__":
    os.makedirs(roots.WORK, exist_ok=True)
    sys.exit(main())
