#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everyday work with npm, yarn, pnpm and bun under --auto.

See tests/lib/matrix.py for how rows work. Packages come from the registry that npm is configured to
use on this machine. yarn, pnpm, bun and playwright-core come from there, too, once for all rows.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import drive
import tap
from matrix import Matrix, Pass, Row
from running import PATH, missing

TOOLS = os.path.join(drive.FOLDER, "tools")
BERRY = f"{TOOLS}/berry/node_modules/.bin/yarn"
ENV = {"PATH": f"{TOOLS}/node_modules/.bin:{PATH}", "NPM_CONFIG_FUND": "false", "NPM_CONFIG_AUDIT": "false",
       "NPM_CONFIG_UPDATE_NOTIFIER": "false", "YARN_ENABLE_TELEMETRY": "0", "YARN_ENABLE_IMMUTABLE_INSTALLS": "false",
       "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A",
       "GIT_COMMITTER_EMAIL": "a@example.com",
       # a machine whose registry has a certificate of its own
       **{k: os.environ[k] for k in ("NODE_EXTRA_CA_CERTS",) if k in os.environ}}
TESTED = '"scripts": {"test": "node test.js", "start": "node index.js", "greet": "echo hello >greeting"}'
PACKAGE = f"""echo '{{"name": "x", "version": "1.0.0", "dependencies": {{"is-number": "7.0.0"}}, {TESTED}}}' >package.json
echo 'if (!require("is-number")(3)) process.exit(1)' >test.js
echo 'require("fs").writeFileSync("started", "yes")' >index.js
"""
EMPTY = """echo '{"name": "x", "version": "1.0.0"}' >package.json
"""
LOCKED = PACKAGE + "npm install --silent --package-lock-only\n"
INSTALLED = PACKAGE + "npm install --silent\n"
# A package with the settings of editors and agents in it, as some are published.
LIBRARY = """mkdir -p ../lib/package/.idea ../lib/package/.vscode ../lib/package/.claude
(cd ../lib/package && echo '{"name": "lib", "version": "1.0.0", "bin": {"lib": "lib.js"}}' >package.json
printf '#!/usr/bin/env node\\nconsole.log("lib")\\n' >lib.js && echo x >.idea/workspace.xml
echo '{}' >.vscode/tasks.json && echo '{}' >.claude/settings.json && tar czf ../lib.tgz -C .. package)
cp ../lib/lib.tgz .
"""
WITH_LIBRARY = LIBRARY + """echo '{"name": "x", "version": "1.0.0", "dependencies": {"lib": "file:lib.tgz"}}' >package.json
"""
COMPLETE = "test -s node_modules/lib/.idea/workspace.xml; test -s node_modules/lib/.vscode/tasks.json"
SPACES = """mkdir -p packages/a packages/b
echo '{"name": "root", "private": true, "workspaces": ["packages/*"]}' >package.json
echo '{"name": "a", "version": "1.0.0", "scripts": {"build": "echo a >built"}}' >packages/a/package.json
echo '{"name": "b", "version": "1.0.0", "dependencies": {"a": "1.0.0", "is-number": "7.0.0"}, "scripts": {"build": "echo b >built"}}' >packages/b/package.json
"""
BUILT = "test -s packages/a/built; test -s packages/b/built"
FINE = "node test.js"
FOLDERS = "layers, which make the folders that a new home lacks"

ROWS = [
    # ---- installing ----
    Row("init", "npm init -y", check="grep -q version package.json"),
    Row("install", "npm install", PACKAGE, FINE, fast=True),
    Row("install of a package", "npm install is-number", EMPTY, "grep -q is-number package.json; test -d node_modules/is-number"),
    Row("install --save-dev", "npm install -D is-number", EMPTY, "grep -q devDependencies package.json"),
    Row("ci", "npm ci", LOCKED, FINE, fast=True),
    Row("ci over an install", "npm ci", INSTALLED, FINE),
    Row("ci over an install with editors' settings", "npm ci", WITH_LIBRARY + "npm install --silent", COMPLETE, fast=True),
    Row("ci twice", ["npm ci", "npm ci"], LOCKED, FINE),
    Row("install of a package with editors' settings", "npm install", WITH_LIBRARY, COMPLETE, fast=True),
    Row("rm -rf node_modules", "rm -rf node_modules", WITH_LIBRARY + "npm install --silent", "test ! -e node_modules"),
    Row("rm -rf of node_modules from an earlier run", ["npm install", "rm -rf node_modules"], WITH_LIBRARY, "test ! -e node_modules"),
    Row("install of a folder", "npm install ./lib", "mkdir lib\necho '{\"name\": \"lib\", \"version\": \"1.0.0\"}' >lib/package.json\n" + EMPTY,
        "test -L node_modules/lib"),
    Row("install from git", "npm install git+file://$HOME/upstream", EMPTY +
        "mkdir $UPSTREAM && cd $UPSTREAM && echo '{\"name\": \"up\", \"version\": \"1.0.0\"}' >package.json && git init -q . && git add -A && git commit -q -m x",
        "test -s node_modules/up/package.json"),
    Row("uninstall", "npm uninstall is-number", INSTALLED, "test ! -e node_modules/is-number"),
    Row("update", "npm update", INSTALLED, FINE),
    Row("outdated", "npm outdated || true; npm ls", INSTALLED, FINE),
    Row("dedupe and prune", "npm dedupe && npm prune", INSTALLED, FINE),
    Row("rebuild", "npm rebuild", INSTALLED, FINE),
    Row("a postinstall script", "npm install", EMPTY + """echo '{"name": "x", "version": "1.0.0", "scripts": {"postinstall": "echo done >ran"}}' >package.json""",
        "test -s ran"),
    Row("install --global into the project", "npm install -g --prefix $PWD/global semver@7.5.4", EMPTY,
        "test \"$(global/bin/semver 1.2.3)\" = 1.2.3"),
    Row("view", "npm view is-number@7.0.0 version >out", EMPTY, "grep -q 7.0.0 out"),
    Row("cache verify", "npm install --silent && npm cache verify", PACKAGE, FINE),
    # ---- scripts ----
    Row("test", "npm test", INSTALLED),
    Row("start", "npm start", INSTALLED, "test -s started"),
    Row("run", "npm run greet", INSTALLED, "grep -q hello greeting", fast=True),
    Row("a test that fails", "npm test", INSTALLED + "echo 'process.exit(3)' >test.js", status=3),
    Row("npx of a package", "npx -y semver@7.5.4 1.2.3 >out", EMPTY, "grep -q 1.2.3 out"),
    Row("npx of an installed package", "npx --no-install lib >out", WITH_LIBRARY + "npm install --silent", "grep -q lib out"),
    Row("exec", "npm exec -y --package=semver@7.5.4 -- semver 2.0.0 >out", EMPTY, "grep -q 2.0.0 out"),
    Row("a server and its client", "node -e 'require(\"http\").createServer((q, r) => r.end(\"hi\")).listen(3111, () => "
        "require(\"http\").get(\"http://localhost:3111\", r => r.pipe(require(\"fs\").createWriteStream(\"out\")).on(\"close\", () => process.exit())))'",
        EMPTY, "grep -q hi out"),
    # ---- publishing ----
    Row("pack", "npm pack", PACKAGE, "tar tzf x-1.0.0.tgz | grep -q index.js"),
    Row("publish --dry-run", "npm publish --dry-run", PACKAGE),
    Row("version", "npm version patch", "git init -q . && " + EMPTY + "git add -A && git commit -q -m x", "git tag | grep -qx v1.0.1"),
    Row("link", "mkdir -p global/lib && NPM_CONFIG_PREFIX=$PWD/global npm link ../lib/package", LIBRARY + EMPTY, "test -e node_modules/lib/package.json",
        waits="permission for ../lib: npm makes its programs executable"),
    Row("workspaces", "npm install && npm run build --workspaces", SPACES, BUILT + "; test -L node_modules/a"),
    # ---- what packages do ----
    Row("a compiler of another language", "npm install --silent esbuild@0.21.5 && npx esbuild index.ts --outfile=out.js",
        EMPTY + "echo 'const x: number = 3; console.log(x)' >index.ts", "test \"$(node out.js)\" = 3", timeout=120),
    Row("typescript", "npm install --silent typescript@5.4.5 && npx tsc index.ts", EMPTY + "echo 'const x: number = 3; console.log(x)' >index.ts",
        "test \"$(node index.js)\" = 3", timeout=180),
    Row("a formatter", "npm install --silent prettier@3.3.3 && npx prettier --write index.js", EMPTY + "echo 'let x=1' >index.js",
        "grep -q 'let x = 1;' index.js", timeout=120),
    Row("node-gyp", "node-gyp rebuild --nodedir=/usr >log 2>&1", EMPTY + """
echo '{"targets": [{"target_name": "n", "sources": ["n.c"]}]}' >binding.gyp
printf '#include <node_api.h>\\nNAPI_MODULE_INIT() { napi_value v; napi_create_int32(env, 42, &v); return v; }\\n' >n.c""",
        "test \"$(node -p 'require(\"./build/Release/n.node\")')\" = 42", needs=("make", "g++"), timeout=180),
    Row("playwright-core", "node shot.js >log 2>&1", EMPTY + f"ln -s {TOOLS}/node_modules node_modules" + """
cat >shot.js <<'X'
const { chromium } = require('playwright-core');
(async () => {
  const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  const p = await b.newPage();
  await p.setContent('<h1>hello</h1>');
  await p.screenshot({ path: 'page.png' });
  await b.close();
})();
X""", "file page.png 2>/dev/null | grep -q PNG || head -c 4 page.png | grep -q PNG", needs=("chromium",), timeout=120),
    # ---- others ----
    Row("yarn 1: install, add, run", "yarn install --silent && yarn add --silent semver@7.5.4 && yarn run greet", PACKAGE,
        FINE + "; test -s yarn.lock; test -s greeting; test -d node_modules/semver", timeout=120, fast=True),
    Row("yarn 1: workspaces", "yarn install --silent && yarn workspaces run build", SPACES, BUILT, timeout=120),
    Row("yarn berry: install", BERRY + " install", PACKAGE +
        "echo 'nodeLinker: node-modules' >.yarnrc.yml; touch yarn.lock", FINE, timeout=120, waits=FOLDERS),
    Row("yarn berry: plug and play", BERRY + " install && " + BERRY + " node test.js", PACKAGE + "touch yarn.lock", "test -s .pnp.cjs",
        timeout=120, waits=FOLDERS),
    Row("pnpm: install, add, run", "pnpm install --silent && pnpm add --silent semver@7.5.4 && pnpm run greet", PACKAGE,
        FINE + "; test -s pnpm-lock.yaml; test -s greeting; test -L node_modules/semver", timeout=120, fast=True),
    Row("pnpm: dlx", "pnpm dlx semver@7.5.4 1.2.3 >out", EMPTY, "grep -q 1.2.3 out", timeout=120, waits=FOLDERS),
    Row("bun: install, add, run", "bun install --silent && bun add --silent semver@7.5.4 && bun run greet", PACKAGE,
        FINE + "; test -s greeting; test -d node_modules/semver", timeout=120,
        waits="bun, which on a busy machine misses a response that a proxy hands over in one piece"),
]

PASSES = [Pass("with --auto", ("--auto",), 44)]
PACKAGES = {TOOLS: ["yarn@1.22.22", "pnpm@9.15.9"]}
if len(sys.argv) > 1:  # the fast rows need no more
    PACKAGES[TOOLS] += ["bun@1.1.42", "playwright-core@1.47.2", "node-gyp@10.3.1"]
    PACKAGES[TOOLS + "/berry"] = ["@yarnpkg/cli-dist@4.5.3"]


def install_tools():
    """Whether the registry has what the rows use. yarn uses another one, unless it is configured."""
    env = {**os.environ, **ENV, "PATH": PATH, "HOME": os.path.join(drive.FOLDER, "tools-home")}
    for folder, names in PACKAGES.items():
        os.makedirs(folder)
        done = subprocess.run(["npm", "install", "--prefix", folder, "--silent", *names], cwd=folder, check=False, env=env,
                              stdout=subprocess.DEVNULL, stderr=sys.stderr)
        if done.returncode != 0:
            return False
    subprocess.run(["chmod", "-R", "a+rX", TOOLS], check=False)
    registry = subprocess.run(["npm", "config", "get", "registry"], cwd=TOOLS, check=True, env=env, stdout=subprocess.PIPE)
    ENV["YARN_REGISTRY"] = ENV["YARN_NPM_REGISTRY_SERVER"] = registry.stdout.decode().strip()
    return True


lacks = missing("npm", "node", "git")
if lacks:
    tap.skip(f"{lacks} is not installed")
elif not install_tools():
    tap.skip("the npm registry is not reachable")
else:
    assert len(ROWS) == 47, len(ROWS)
    sys.exit(Matrix("npm", ROWS, PASSES, ENV).main())
sys.exit(tap.done())
