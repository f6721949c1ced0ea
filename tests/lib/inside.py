# SPDX-License-Identifier: Apache-2.0
"""A user in containers, with the methods of world.Who: what tests run in a sandbox, this runs in a container that the node agent judges."""

import json
import os

from containers import CAPS
from world import BIN, Done, Who

# in place of the policy that `buckle run` has by default
DEFAULT = """(version 1)
(allow default)
(deny file-write* file-mknod)
(allow file-write* (subpath "{inside}") (subpath "/proc") (literal "/dev/null") (literal "/dev/tty"))
(deny network-outbound network-bind (subpath "{outside}"))
"""


class Inside(Who):
    among_each_other = False  # signals that stay inside are judged like others
    queues_by_name = False  # the plan knows of no ipc namespace, so queues are refused where names matter
    own_entries = ("ENOSYS", "killed by signal 31")  # of other architectures: the runtime's filter

    def __init__(self, who, agent):
        self.__dict__.update(who.__dict__)
        self.name = f"{who.name} in a container"
        self.agent = agent
        self.ran = set()  # names of attackers

    def start(self, argv, cwd, env=None, **how):
        """Outside, beside the container."""
        return super().start(argv, cwd, env, **how)

    def run(self, argv, cwd, timeout=120, input=None, **_):
        """In a container without a filter."""
        return self.contained(None, argv, os.path.dirname(cwd), cwd, timeout, input)[0]

    def boxed(self, argv, world, options=(), timeout=120, input=None, keep=None, **_):
        """In a container under a profile. Only these options mean something there: --profile, and --report json."""
        options = list(options)
        text = DEFAULT.format(inside=world.inside, outside=world.outside)
        if "--profile" in options:
            with open(options[options.index("--profile") + 1], encoding="utf-8") as f:
                text = f.read()
        self.agent.n += 1
        profile = f"inside-{self.agent.n}"
        self.agent.profile(profile, text)
        words = list(argv)
        if os.path.join(BIN, "escape") in words[:-1]:
            self.ran.add(words[words.index(os.path.join(BIN, "escape")) + 1])
        done, name = self.contained(profile, argv, world.top, world.inside, timeout, input, keep)
        self.agent.wait(lambda e: any(x["event"] in ("ended", "refused") and x.get("container") == name for x in e))
        if options[-1:] == ["json"] or "json" in options:
            done.err += "".join(json.dumps({"time": e["time"], **e}, separators=(",", ":")) + "\n" for e in self.agent.events("violation", name))
        done.err += "".join(e["reason"] + "\n" for e in self.agent.events("refused", name))
        return done

    def contained(self, profile, argv, top, cwd, timeout, given, keep=None):
        caps = CAPS if self.uid == 0 else []
        status, out, err, name = self.agent.run(
            profile, list(argv), timeout=timeout, given=given.encode() if given else None, keep=keep, debian=True, shared=True,
            binds=[(top, top, "bind"), (BIN, BIN, "bind,ro")], cwd=cwd, user={"uid": self.uid, "gid": self.uid}, env=["PATH=/usr/bin:/bin", "HOME=" + cwd],
            capabilities={"bounding": CAPS, "effective": caps, "permitted": caps})
        return Done(status, out, err), name
