# SPDX-License-Identifier: Apache-2.0
"""The peers, and the options that make each restrict alike: writing only in the working folder, no
network, private processes and IPC; "plain" reads everything, "guarded" not the secret stores."""

import json
import os
import shlex
import shutil
import subprocess

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NODE_PEER = "@anthropic-ai/sandbox-runtime"
NODE_NEEDS = ("node", "npm", "bwrap", "socat", "rg")
STORES = (".ssh/id_ed25519", ".aws/credentials", ".gnupg/private-keys-v1.d/key", ".kube/config",
          ".docker/config.json", ".netrc", ".config/gcloud/credentials.db", ".bash_history")
IMPORT = '(import "secrets.sb")\n'


def furnish(home):
    """Puts a secret into each store."""
    for name in STORES:
        path = os.path.join(home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write("secret\n")


def plain_profile(shipped, path):
    """The default profile without its secrets."""
    with open(shipped, encoding="utf-8") as f:
        text = f.read()
    if IMPORT not in text:
        raise RuntimeError("default.sb does not import secrets.sb as it used to")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace(IMPORT, ""))
    os.chmod(path, 0o644)


class Peers:
    """argv makers: each takes a command, and the stores or none."""

    def __init__(self, bench, plain):
        self.bench, self.plain = bench, plain
        self.stores = self.existing(self.sentries([]))
        if self.sentries(["--profile", plain]):
            raise RuntimeError("the plain profile has guards")

    def sentries(self, options):
        text = self.bench.call(*self.bench.run(), *options, "--dry-run", "--json", "/bin/true")
        return [g["path"] for g in json.loads(text)["guards"]]

    def existing(self, paths):
        """The stores that this user can see: d or f, and the path."""
        script = 'for p; do if [ -d "$p" ]; then echo "d$p"; elif [ -e "$p" ]; then echo "f$p"; fi; done'
        return self.bench.call("/bin/sh", "-c", script, "sh", *paths).splitlines()

    def buckle(self, words, guarded, program=None):
        profile = [] if guarded else ["--profile", self.plain]
        return [program or self.bench.run()[0], "run", *profile, "--", *words]

    def bwrap(self, words, guarded):
        work, masks = self.bench.work, []
        for store in self.stores if guarded else []:
            masks += ["--tmpfs", store[1:]] if store[0] == "d" else ["--ro-bind", "/dev/null", store[1:]]
        return ["/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/", "/", "--bind", work, work, *masks,
                "--proc", "/proc", "--dev-bind", "/dev", "/dev", "--tmpfs", "/dev/shm",
                "--die-with-parent", *words]

    def firejail(self, words, guarded):
        masks = ["--blacklist=" + s[1:] for s in self.stores] if guarded else []
        return ["/usr/bin/firejail", "--quiet", "--noprofile", "--net=none", "--ipc-namespace",
                "--read-only=/", "--read-only=" + self.bench.folder, "--read-write=" + self.bench.work,
                *masks, "--", *words]

    def node(self, words, guarded):
        """Always guarded: a file names the command."""
        del guarded
        return [self.bench.node_peer, "-s", self.bench.node_settings, "-c", shlex.join(words)]

    # ---- which peers are installed ----

    def install_node(self, folder):
        """Raises LookupError that names what is missing."""
        lacks = [p for p in NODE_NEEDS if not shutil.which(p, path=PATH)]
        if lacks:
            raise LookupError(f"{NODE_PEER} needs {', '.join(lacks)}")
        program = os.path.join(folder, "node_modules", ".bin", "srt")
        if not os.path.exists(program):
            os.makedirs(folder, exist_ok=True)
            try:
                # the caller's environment knows how to reach the registry
                subprocess.run(["npm", "--no-audit", "--no-fund", "--no-update-notifier", "--cache",
                                folder + "/cache", "install", NODE_PEER], cwd=folder, timeout=60,
                               check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            except (subprocess.SubprocessError, OSError):
                raise LookupError(f"npm cannot install {NODE_PEER}") from None
        self.bench.node_peer = program
        self.bench.node_settings = os.path.join(self.bench.folder, "srt.json")
        with open(self.bench.node_settings, "w", encoding="utf-8") as f:
            json.dump({"network": {"allowedDomains": [], "deniedDomains": []},
                       "filesystem": {"denyRead": [s[1:] for s in self.stores],
                                      "allowWrite": [self.bench.work], "denyWrite": []}}, f)
        os.chmod(self.bench.node_settings, 0o644)

    def restricts(self, maker, guarded):
        """Checks that it restricts as required. Returns what it fails to do, or nothing."""
        key = os.path.join(self.bench.folder, STORES[0])
        tests = {"writing here": "touch inside", "no writing elsewhere": "! touch ../outside",
                 "no network": 'test "$(grep -c : /proc/net/dev)" -le 1'}
        if guarded:
            tests["no secrets"] = f"! grep -q secret {key}"
        for name, script in tests.items():
            try:
                self.bench.call(*maker(["/bin/sh", "-c", script], guarded))
            except RuntimeError as trouble:
                return f"{name}: {trouble}"
        return ""
