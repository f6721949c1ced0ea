#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/kubernetes: the chart renders, the manifests are what it renders, both fit Kubernetes' published schemas, and what they say agrees with
the program. `--accept` writes the manifests. Prints TAP.
"""

import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from drive import FOLDER, buckle
from kubernetes import Schemas

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHART = os.path.join(TOP, "packaging", "kubernetes", "chart")
MANIFESTS = os.path.join(TOP, "packaging", "kubernetes", "manifests.yaml")
HEAD = """# SPDX-License-Identifier: Apache-2.0
# The chart with its own values, for `kubectl apply -f`. `tests/runners/run-kubernetes.py --accept` writes it.
apiVersion: v1
kind: Namespace
metadata:
  name: buckle-system
  labels:
    # the agent judges the node's containers from outside
    pod-security.kubernetes.io/enforce: privileged
"""
OTHER = {"audit": True, "sample": 0, "metrics": {"port": 1234, "annotations": False, "podMonitor": True}, "profileConfigMaps": ["more", "others"],
         "webhook": {"caBundle": "AAAA", "annotations": {"cert-manager.io/inject-ca-from": "x/y"}}, "profiles": {"web.sb": "(version 1)\n(allow default)\n"}}
LEAST = {"events": {"enabled": False}, "webhook": {"enabled": False}, "runtimeClass": {"enabled": False}}


class Renderer:
    def __init__(self):
        self.program = os.path.join(FOLDER, "helm-template")
        env = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": os.path.join(FOLDER, "gocache"), "GOFLAGS": ""}
        self.built = subprocess.run(["go", "build", "-o", self.program, "."], cwd=os.path.join(TOP, "tests", "lib", "helm-template"), env=env,
                                    capture_output=True, text=True, check=False)

    def render(self, values=None):
        more = []
        if values:
            more = [os.path.join(FOLDER, "values.json")]
            with open(more[0], "w", encoding="utf-8") as f:
                json.dump(values, f)
        done = subprocess.run([self.program, CHART, "buckle", "buckle-system", *more], capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None, done.stderr


def parse(text):
    import yaml
    return [d for d in yaml.safe_load_all(text) if d]


def named(objects):
    return [(f"{o['kind']} {o['metadata']['name']}", o) for o in objects]


def find(objects, kind, name):
    return next(o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name))


def pods(objects):
    return [(o, o["spec"]["template"]["spec"]) for o in objects if o["kind"] in ("DaemonSet", "Deployment")]


def test_agrees(objects):
    """With itself, and with the program."""
    accounts = {o["metadata"]["name"] for o in objects if o["kind"] == "ServiceAccount"}
    known = set(re.findall(r"--([a-z-]+)", buckle("node", "--help").out))
    for o, pod in pods(objects):
        name = o["metadata"]["name"]
        labels = o["spec"]["template"]["metadata"]["labels"]
        tap.ok(o["spec"]["selector"]["matchLabels"].items() <= labels.items(), f"{name}: its selector finds its pods")
        tap.ok(pod["serviceAccountName"] in accounts and pod["automountServiceAccountToken"] is False, f"{name}: its account exists, and gives no token by itself")
        volumes = {v["name"] for v in pod["volumes"]}
        mounted = {m["name"] for c in pod["containers"] for m in c["volumeMounts"]}
        tap.equal(mounted, volumes, f"{name}: every volume is mounted, and exists")
        for c in pod["containers"]:
            options = {re.match("--([a-z-]+)", a)[1] for a in c["args"] if a.startswith("--")}
            tap.ok(c["args"][0] == "node" and options <= known, f"{name}/{c['name']}: its arguments are options of buckle node", options - known)
            ports = {p["name"] for p in c.get("ports", [])}
            probed = {c[p]["httpGet"]["port"] for p in ("readinessProbe", "livenessProbe") if p in c}
            tap.ok(probed <= ports, f"{name}/{c['name']}: its probes ask ports that it has")
            rights = c["securityContext"]
            tap.ok(not rights.get("privileged") and rights["readOnlyRootFilesystem"] and rights["capabilities"]["drop"] == ["ALL"],
                   f"{name}/{c['name']}: is not privileged, and writes nothing into its image")
            if c["name"] != "node":
                tap.ok("add" not in rights["capabilities"] and rights["allowPrivilegeEscalation"] is False, f"{name}/{c['name']}: has no capability")
    tokens = [c["name"] for _, pod in pods(objects) for c in pod["containers"] for m in c["volumeMounts"] if m["name"] == "token"]
    tap.equal(tokens, ["events"], "only the container for events has a token")
    tap.equal([o["rules"] for o in objects if o["kind"] in ("ClusterRole", "Role")], [[{"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]}]],
              "and that is for events alone")
    hook = find(objects, "ValidatingWebhookConfiguration", "buckle-profiles")["webhooks"][0]
    service = find(objects, "Service", "buckle-webhook")
    tap.ok(hook["clientConfig"]["service"]["name"] == "buckle-webhook" and hook["clientConfig"]["service"]["port"] == service["spec"]["ports"][0]["port"] and
           hook["failurePolicy"] == "Fail" and hook["clientConfig"]["service"]["path"] == "/validate", "the webhook's configuration leads to its service, and fails closed")
    profiles = find(objects, "ConfigMap", "buckle-profiles")
    tap.ok(hook["objectSelector"]["matchLabels"].items() <= profiles["metadata"]["labels"].items(), "and is asked about the chart's own profiles")
    for name, text in profiles["data"].items():
        tap.equal(buckle("node", "plan", "-p", text).status, 0, f"profile {name} can be planned")
    with open(os.path.join(TOP, "docs", "kubernetes.md"), encoding="utf-8") as f:
        text = f.read()
    tap.ok(f"runtimes.{find(objects, 'RuntimeClass', 'buckle')['handler']}" in text, "docs/kubernetes.md has the runtime's handler")


AJV = """
import Ajv from "ajv"; import { readFileSync } from "node:fs";
const check = new Ajv({strict: false}).compile(JSON.parse(readFileSync("values.schema.json")));
console.log(JSON.stringify(JSON.parse(readFileSync("cases.json")).map((c) => check(c))));
"""


def test_values(known, defaults):
    """values.schema.json, by ajv as Helm has another implementation of it."""
    def changed(**changes):
        return {**defaults, **changes}
    good = [defaults, changed(profiles={"a-b.c_d.sb": "x"}), changed(sample=0)]
    bad = [changed(profiles={"../x.sb": "x"}), changed(profiles={"x": "x"}), changed(profiles={"x.sb": 1}), changed(sample=-1), changed(image=""), changed(unknown=1),
           changed(metrics={"port": 70000}), changed(metrics={"port": 1, "more": 1}), changed(socketFolder="run"), changed(socketFolder="/a\"b"),
           changed(profileConfigMaps=["A b"]), changed(runtimeClass={"handler": "a\nb"}), changed(webhook={"enabled": True})]
    for name, text in (("cases.json", json.dumps(good + bad)), ("ajv.mjs", AJV)):
        with open(os.path.join(known.folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    shutil.copy(os.path.join(CHART, "values.schema.json"), known.folder)
    done = subprocess.run(["node", "ajv.mjs"], cwd=known.folder, capture_output=True, text=True, check=False)
    tap.equal(done.stdout.strip(), json.dumps([True] * len(good) + [False] * len(bad)).replace(" ", ""), f"values.schema.json takes good values and refuses bad ones {done.stderr}")


def test_schemas(known, sets):
    for what, objects in sets:
        own = [o for o in objects if not o["apiVersion"].startswith("monitoring.coreos.com")]
        tap.equal(known.wrong(named(own)), [], f"{what}: {len(own)} objects fit the published schemas")
    daemon = json.dumps(find(sets[0][1], "DaemonSet", "buckle-node"))
    for what, broken in (("a member that is misspelt", daemon.replace('"hostPID"', '"hostPid"')), ("a port as text", daemon.replace('"containerPort": 9466', '"containerPort": "x"')),
                         ("a missing selector", daemon.replace('"selector"', '"selectors"'))):
        tap.ok(broken != daemon and known.wrong([("broken", json.loads(broken))]), f"they find {what}")


def main():
    for program in ("go", "npm", "node"):
        if not shutil.which(program):
            tap.skip(f"{program} is not installed")
            return tap.done()
    try:
        import yaml  # noqa
    except ImportError:
        tap.skip("yaml is not installed")
        return tap.done()
    renderer = Renderer()
    if renderer.built.returncode:
        tap.skip("sprig is not installed")
        return tap.done()
    text, errors = renderer.render()
    if not tap.ok(text, "the chart renders", errors):
        return tap.done()
    if "--accept" in sys.argv[1:]:
        with open(MANIFESTS, "w", encoding="utf-8") as f:
            f.write(HEAD + text)
    with open(MANIFESTS, encoding="utf-8") as f:
        tap.ok(f.read() == HEAD + text, "manifests.yaml is what it renders (--accept)")
    objects = parse(HEAD + text)
    test_agrees(objects)
    other, least = (parse(renderer.render(values)[0] or "") for values in (OTHER, LEAST))
    tap.ok(find(other, "PodMonitor", "buckle-node") and "--audit" in str(other) and "1234" in str(other), "other values change what they say")
    tap.equal(sorted({o["kind"] for o in least}), ["ConfigMap", "DaemonSet", "ServiceAccount"], "without events, webhook and RuntimeClass")
    tap.equal([c["name"] for _, pod in pods(least) for c in pod["containers"]], ["holder", "node"], "nothing speaks to the API server then")
    known = Schemas()
    if not known.there:
        tap.skip("the npm registry is not reachable")
        return tap.done()
    with open(os.path.join(CHART, "values.yaml"), encoding="utf-8") as f:
        test_values(known, parse(f.read())[0])
    test_schemas(known, [("the manifests", objects), ("other values", other), ("the least", least)])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
