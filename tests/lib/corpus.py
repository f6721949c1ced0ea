# SPDX-License-Identifier: Apache-2.0
"""Real profiles outside this tree ($BUCKLE_SHARED/corpus, or ../shared/corpus), with the parameters
they need."""

import glob
import os

from drive import write

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.environ.get("BUCKLE_SHARED") or os.path.join(os.path.dirname(TOP), "shared")
CORPUS = os.path.join(SHARED, "corpus")

CHROMIUM = {
    "OS_VERSION": "1400", "USER_HOMEDIR_AS_LITERAL": "/Users/me",
    "BUNDLE_ID": "org.example.Browser",
    "BUNDLE_PATH": "/Applications/Browser.app", "BROWSER_PID": "77", "LOG_FILE_PATH": "/tmp/log",
    "EXECUTABLE_PATH": "/Applications/Browser.app/Contents/MacOS/Helper",
    "DARWIN_USER_CACHE_DIR": "/private/var/folders/x/C",
}
GEMINI = {
    "TARGET_DIR": "/Users/me/project", "TMP_DIR": "/private/tmp/me", "HOME_DIR": "/Users/me",
    "CACHE_DIR": "/Users/me/Library/Caches",
    **{f"INCLUDE_DIR_{i}": f"/Users/me/include{i}" for i in range(5)},
}
WEBKIT = {
    "HOME_DIR": "/Users/me", "HOME_LIBRARY_PREFERENCES_DIR": "/Users/me/Library/Preferences",
    "DARWIN_USER_TEMP_DIR": "/private/var/folders/x/T",
    "DARWIN_USER_CACHE_DIR": "/private/var/folders/x/C",
    "WEBKIT2_FRAMEWORK_DIR": "/System/Library/Frameworks/WebKit.framework",
}


def files(pattern):
    return sorted(glob.glob(os.path.join(CORPUS, pattern), recursive=True))


def short(path):
    return os.path.relpath(path, CORPUS)


def defines(params):
    return [word for k, v in params.items() for word in ("-D", f"{k}={v}")]


def safehouse(paths, workdir='"/Users/me/work"'):
    text = ""
    for path in paths:
        with open(path, encoding="utf-8") as f:
            text += f.read() + "\n"
    return (text.replace("__SAFEHOUSE_REPLACE_ME_WITH_ABSOLUTE_HOME_DIR__", "/Users/me")
            .replace("__SAFEHOUSE_REPLACE_ME_WITH_WORK_DIR_DEFINE__",
                     f"(define WORK_DIR {workdir})"))


def many(count=120, modules=6):
    """[(name, text)]: this many different profiles, each made of safehouse modules for a different
    user."""
    base, *parts = files("safehouse/**/*.sb")
    parts = [p for p in parts if "integrations" not in p]
    found = []
    for i in range(count):
        some = [parts[(i * 5 + k) % len(parts)] for k in range(modules)]
        found.append((f"user{i}", safehouse([base, *sorted(set(some))]).replace("/Users/me",
                                                                                f"/Users/u{i}")))
    return found


def profiles():
    """[(name, arguments)] of every valid profile, each once."""
    common = os.path.join(CORPUS, "chromium", "common.sb")
    chromium = defines({**CHROMIUM, "FILTER_SYSCALLS": "TRUE", "COMPONENT_PATH": "/c",
                        "HELPER_BUNDLE_ID": "org.example.Helper"})
    webkit = defines({**WEBKIT, "CPU": "arm64"})
    found = [(short(common), [*chromium, common])]
    found += [(short(f), [*chromium, "--prelude", common, f])
              for f in files("chromium/*.sb") if f != common]
    found += [(short(f), [*defines(GEMINI), f]) for f in files("gemini-cli/*.sb")]
    found += [(short(f), [*webkit, f]) for f in files("webkit/*.sb")]
    parts = files("safehouse/**/*.sb")
    found += [("safehouse", [write("corpus/safehouse.sb", safehouse(parts))])]
    found += [(short(f), [write(f"corpus/{i}.sb", safehouse([parts[0], f]))])
              for i, f in enumerate(parts[1:])]
    found += [(short(f), [f]) for f in files("fixtures/examples/valid*.sb") +
              files("fixtures/Fixtures/valid/*.sb")]
    return found
