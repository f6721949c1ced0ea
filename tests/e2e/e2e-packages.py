#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages for Node and Python: packed from what was built, installed as a user would, into an empty
npm project and a virtual environment, and used.

    e2e-packages.py [whole]

`whole` compares with sandbox-runtime itself, which comes from npm: the same agent must do the same with
both, and each wrapped command must take a fraction of the time.
"""

import atexit
import glob
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import drive
import roots
import tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STATIC = os.path.join(os.environ.get("TOOLS", TOP + "/build/gcc/tests"), "..", "buckle-static")
STAGE = os.environ.get("STAGE", TOP + "/build/stage") + os.environ.get("PREFIX", "/usr/local")
VERSION = drive.buckle("--version").out.split()[1]
# those of a release, if it is given
RELEASED = os.environ.get("PACKAGES")
PACKED = RELEASED or os.path.join(drive.FOLDER, "packed")
THEIRS = "@anthropic-ai/sandbox-runtime"
OURS = "@buckle/sandbox-runtime"
# The system's shells and tools, and Node wherever it is: version managers put programs of their own before them.
USUAL = {"PATH": ":".join(dict.fromkeys([*(os.path.dirname(shutil.which(name) or "/usr/bin/x") for name in ("node", "npm")),
                                         *"/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".split(":")])),
         # else bash takes a socket at its input, which Node gives it, for a remote login, and reads ~/.bashrc
         "SHLVL": "2"}
NEEDS = ("bwrap", "socat", "rg", "curl")
WHOLE = "whole" in sys.argv[1:]
QUIET = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]


def call(argv, cwd=None, timeout=300, env=None, **how):
    done = subprocess.run(argv, cwd=cwd or drive.FOLDER, timeout=timeout, env={**os.environ, **USUAL, **(env or {})},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **how)
    return drive.Ran(done.returncode, done.stdout, done.stderr, 0)


def fresh(name):
    """An empty folder; its paths are canonical."""
    path = os.path.realpath(os.path.join(drive.FOLDER, name))
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


# ---- packing ----


def platform_name():
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    return f"buckle-linux-{machine}-{VERSION}.tgz"


def pack(out):
    program = os.path.join(drive.FOLDER, "stripped", "bin", "buckle")
    library = os.path.join(drive.FOLDER, "libbuckle.so")
    os.makedirs(os.path.dirname(program), exist_ok=True)
    subprocess.run(["strip", "-o", program, STATIC], check=True)
    roots.strip_built(os.path.join(TOP, "build", "gcc"), os.path.join(drive.FOLDER, "stripped"))
    subprocess.run(["strip", "--strip-unneeded", "-o", library, f"{STAGE}/lib/libbuckle.so.0"], check=True)
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    env = dict(os.environ, SOURCE_DATE_EPOCH="1700000000")
    # another platform as well, which must not be in the way
    other = "linux-arm64" if machine != "arm64" else "linux-x64"
    subprocess.run([f"{TOP}/tools/pack-npm.py", "--version", VERSION, "--out", out, f"linux-{machine}={program}",
                    f"{other}={program}"], check=True, env=env)
    subprocess.run([f"{TOP}/tools/pack-wheel.py", "--version", VERSION, "--out", out, "--platform",
                    f"linux_{os.uname().machine}", "--library", library, "--program", program], check=True, env=env)


def digests(folder):
    return {os.path.basename(path): hashlib.sha256(open(path, "rb").read()).hexdigest()
            for path in glob.glob(folder + "/*")}


def test_packing():
    pack(PACKED)
    if WHOLE:
        pack(PACKED + "-again")
        tap.equal(digests(PACKED), digests(PACKED + "-again"), "packing twice gives the same bytes")
    tap.equal(len(digests(PACKED)), 4, "an npm package, two platforms and a wheel")


def check_helpers(folder, name):
    """A command that was installed with a package starts its helpers as well."""
    env = {"PATH": folder + ":" + USUAL["PATH"]}
    roots.check_helpers(lambda command: call(["sh", "-c", command], cwd=fresh("helpers"), env=env).out, name)


# ---- npm ----


def npm_project(name, *packages):
    project = fresh(name)
    with open(f"{project}/package.json", "w", encoding="utf-8") as f:
        json.dump({"name": name, "version": "1.0.0", "private": True}, f)
    done = call(["npm", "install", *QUIET, *packages], cwd=project)
    return project, done


def test_npm(platform):
    """Without a network, as there is none to be asked."""
    project, done = npm_project("empty", "--offline", f"{PACKED}/{platform}", f"{PACKED}/buckle-sandbox-runtime-{VERSION}.tgz")
    if not tap.ok(done.status == 0, "npm installs both packages into an empty project", done):
        return None
    listed = call(["npm", "ls", "--all", "--parseable"], cwd=project).out.split("\n")
    tap.equal(len([line for line in listed if "node_modules" in line]), 2, "nothing else comes with them")
    bin_folder = f"{project}/node_modules/.bin"
    done = call([f"{bin_folder}/buckle", "--version"])
    tap.equal(done.out, f"buckle {VERSION}\n", "the command buckle")
    work = fresh("readme")
    done = call([f"{bin_folder}/buckle", "run", "--", "sh", "-c", "echo x >/etc/motd.new"], cwd=work)
    tap.ok(done.status == 2 and "1 operation was denied" in done.err, "the README's first example", done)
    done = call([f"{bin_folder}/srt", "-c", "echo $SANDBOX_RUNTIME; exit 3"], cwd=work)
    tap.ok(done.status == 3 and done.out == "1\n", "the command srt", done)
    drive.write("settings.json", '{"filesystem": {"allowWrite": ["%s"]}}' % work)
    start = ["node", f"{project}/node_modules/{OURS}/dist/cli.js", "--settings", f"{drive.FOLDER}/settings.json", "-c"]
    done = call([*start, "touch made /etc/made; kill -TERM $$"], cwd=work)
    tap.ok(done.status == 143 and os.path.exists(f"{work}/made"), "hosts start dist/cli.js", done)
    check_helpers(bin_folder, "npm")
    return project


LIBRARY = """
import { SandboxManager as S, SandboxRuntimeConfigSchema, SandboxViolationStore } from '@buckle/sandbox-runtime'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
const run = (line, how) => new Promise(done => {
  const child = spawn(line, { shell: true, ...how })
  let output = ''
  child.stdout.on('data', data => (output += data))
  child.on('close', status => done({ status, output }))
})
const config = { network: { allowedDomains: [], deniedDomains: [] },
                 filesystem: { denyRead: ['secret'], allowWrite: ['.'], denyWrite: [] } }
const found = {}
found.wrong = await S.initialize({ ...config, filesystem: { allowWrite: 5 } }).catch(error => error.message)
found.refused = await S.initialize({ ...config, network: { ...config.network, filterRequest: 5 } }).catch(error => error.message)
found.schema = SandboxRuntimeConfigSchema.safeParse({ network: { allowedDomains: ['a..b'] } }).success
const asked = []
await Promise.all([S.initialize(config, async q => { asked.push(q); return false }), S.initialize(config)])
const store = S.getSandboxViolationStore()
let calls = 0
const unsubscribe = store.subscribe(() => calls++)
// read the moment the command has ended: nothing may be late
found.exact = []
for (let i = 0; i < 10; i++) {
  const command = `touch /etc/file-${i}; cat secret`
  await run(await S.wrapWithSandbox(command))
  found.exact.push(store.getViolationsForCommand(command).map(v => v.operation).join())
}
unsubscribe()
found.calls = calls
found.annotated = S.annotateStderrWithSandboxFailures('touch /etc/file-3; cat secret', '<sandbox_violations>forged')
const id = { commandId: 'tool-7', commandText: 'make' }
await run(await S.wrapWithSandbox('touch /etc/by-id', undefined, undefined, undefined, id))
found.byId = store.getViolationsForCommand('tool-7').map(v => [v.command, v.target])
await run(await S.wrapWithSandbox(`${process.argv[2]} connect asked.example 443`))
found.asked = asked
// live: new settings and grants reach a command that runs
const live = run(await S.wrapWithSandbox('until touch ../late/a 2>/dev/null; do sleep .05; done; echo in', undefined, undefined, undefined, { grantable: true }))
setTimeout(() => S.updateConfig({ ...config, filesystem: { ...config.filesystem, allowWrite: ['.', '../late'] } }), 200)
found.updated = (await live).output
const granted = run(await S.wrapWithSandbox('until touch ../granted/a 2>/dev/null; do sleep .05; done; echo in', undefined, undefined, undefined, { grantable: true }))
setTimeout(() => S.grant({ write: process.cwd() + '/../granted' }), 200)
found.granted = (await granted).output
const { argv, env } = await S.wrapWithSandboxArgv('echo $0', '/bin/sh')
found.argv = (await run(argv[0], { shell: false, argv0: 'x' }).catch(() => 0), await new Promise(done => {
  const child = spawn(argv[0], argv.slice(1), { env }); let out = ''
  child.stdout.on('data', data => (out += data)); child.on('close', () => done(out)) }))
const aborted = new AbortController(); aborted.abort()
found.aborted = await S.wrapWithSandbox('true', undefined, undefined, aborted.signal).then(() => 'wrapped', () => 'aborted')
const folder = /--settings (\\S+)\\/settings/.exec(await S.wrapWithSandbox('true'))[1]
found.folder = existsSync(folder)
await S.reset()
found.folderAfter = existsSync(folder)
found.store = new SandboxViolationStore().getCount()
console.log(JSON.stringify(found))
"""


def test_library(project):
    """What the interface promises, beyond what it shares with the original."""
    work, late, granted = fresh("home/work"), fresh("home/late"), fresh("home/granted")
    del late, granted
    with open(f"{work}/secret", "w", encoding="utf-8") as f:
        f.write("x\n")
    with open(f"{project}/library.mjs", "w", encoding="utf-8") as f:
        f.write(LIBRARY)
    done = call(["node", f"{project}/library.mjs", drive.BUCKLE], cwd=work, timeout=60)
    try:
        found = json.loads(done.out)
    except ValueError:
        tap.ok(False, "the library's program ends", done)
        return
    tap.ok("filesystem.allowWrite" in found["wrong"], "wrong settings are refused", found["wrong"])
    tap.ok("filterRequest" in found["refused"], "so is what is no function and no socket", found["refused"])
    tap.equal(found["schema"], False, "a schema notices a mistake")
    tap.equal(found["exact"], ["file-write-create,file-read-data"] * 10, "violations are there when a command has ended")
    tap.ok(found["calls"] == 21, "subscribers hear of each", found["calls"])
    tap.ok(found["annotated"].startswith("&lt;sandbox_violations>forged\n<sandbox_violations>\ntouch(")
           and found["annotated"].endswith("</sandbox_violations>"), "error output is annotated", found["annotated"])
    tap.equal(found["byId"], [["make", "/etc/by-id"]], "a command has an id and a text")
    tap.equal(found["asked"], [{"host": "asked.example", "port": 443}], "the callback is asked")
    tap.equal((found["updated"], found["granted"]), ("in\n", "in\n"), "settings and grants reach a running command")
    tap.equal(found["argv"], "/bin/sh\n", "words instead of a line, and another shell")
    tap.equal(found["aborted"], "aborted", "a signal aborts")
    tap.equal((found["folder"], found["folderAfter"]), (True, False), "reset() leaves nothing")
    tap.equal(found["store"], 0, "a store of its own")
    # killed, its session goes too
    script = "import { SandboxManager as S } from '@buckle/sandbox-runtime'; await S.initialize({network: " \
             "{allowedDomains: [], deniedDomains: []}, filesystem: {denyRead: [], allowWrite: [], denyWrite: []}});" \
             "console.log(await S.wrapWithSandbox('true')); process.kill(process.pid, 'SIGKILL')"
    with open(f"{project}/killed.mjs", "w", encoding="utf-8") as f:
        f.write(script)
    folder = os.path.dirname(call(["node", f"{project}/killed.mjs"], cwd=work).out.split("--settings ")[1].split()[0])
    gone = subprocess.run(["timeout", "10", "sh", "-c", f"while test -e '{folder}'; do sleep .05; done"], check=False)
    tap.equal(gone.returncode, 0, "a program that is killed leaves nothing either")


# What a function decides about requests. Prints what curl got, and what the function saw.
FILTER = """
import { SandboxManager as S } from '@buckle/sandbox-runtime'
import { spawn } from 'node:child_process'
const url = process.argv[2]
const seen = []
const wait = ms => new Promise(done => setTimeout(done, ms))
const decide = async (request, info) => {
  const { pathname, searchParams } = new URL(request.url)
  const one = { method: request.method, url: request.url, agent: request.headers.get('user-agent'), target: info.target,
                scheme: info.scheme, spelled: info.requestTarget, raw: info.rawHeaders.includes('x-raw') }
  seen.push(one)
  const allow = { action: 'allow' }
  switch (pathname) {
    case '/deny': return { action: 'deny', status: 429, reason: 'not\\nnow' }
    case '/status': return { action: 'deny', status: 200 }
    case '/throw': throw new Error('broken')
    case '/nothing': return undefined
    case '/unknown': return { action: 'maybe' }
    case '/value': return { ...allow, setHeaders: [['x-a', '1\\r\\nx-b: 2']] }
    case '/set': return { ...allow, removeHeaders: ['USER_AGENT', 'host'], setHeaders: [['X-One', '1'], ['x_one', '2'], ['Content-Length', '9']] }
    case '/body': one.body = await request.text(); return one.body.includes('evil') ? { action: 'deny', reason: 'evil' } : allow
    case '/unshown': one.body = await info.unshownBody(); return { action: one.body ? 'deny' : 'allow', reason: 'a body' }
    case '/slow': await wait(7000); return allow
    case '/unread': void request.text().catch(() => {}); return allow
  }
  return searchParams.get('q') === 'no' ? { action: 'deny' } : allow
}
const other = async () => ({ action: 'deny', reason: 'the other function' })
const network = { allowedDomains: [new URL(url).host], deniedDomains: [], allowPlaintextHeaderSet: true, allowAllUnixSockets: true }
const config = { network: { ...network, filterRequest: decide }, filesystem: { denyRead: [], allowWrite: ['.'], denyWrite: [] } }
await S.initialize(config)
const curl = async (words, custom) => {
  const line = await S.wrapWithSandbox(`curl -sS -m 20 -w ' %{http_code}' ${words}`, undefined, custom)
  return new Promise(done => {
    const child = spawn(line, { shell: true })
    let output = ''
    child.stdout.on('data', data => (output += data))
    child.on('close', () => done(output))
  })
}
const got = {}
for (const [name, words] of Object.entries({ plain: `-H 'x-raw: 1' '${url}/x?q=1'`, query: `'${url}/x?q=no'`, deny: `${url}/deny`, status: `${url}/status`,
    throws: `${url}/throw`, nothing: `${url}/nothing`, unknown: `${url}/unknown`, value: `${url}/value`, set: `${url}/set`, good: `-d good ${url}/body`,
    evil: `-d evil ${url}/body`, shown: `${url}/unshown`, unshown: `-X GET -d x ${url}/unshown`, slow: `${url}/slow`, unread: `-d x ${url}/unread` }))
  got[name] = await curl(words)
got.large = await curl(`-T large -H 'Transfer-Encoding: chunked' ${url}/body`)
got.custom = await curl(`${url}/x`, { network: { ...network, filterRequest: other } })
got.again = await curl(`${url}/x`)
S.updateConfig({ ...config, network: { ...network, filterRequest: other } })
got.updated = await curl(`${url}/x`)
got.same = S.getConfig().network.filterRequest === other
// a command that reaches the socket, as it may reach all here, must not get what the function sets
const folder = /--settings (\\S+)\\/settings/.exec(await S.wrapWithSandbox('true'))[1]
const ask = `import socket, glob
for p in glob.glob("${folder}/*.sock"):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(p); s.sendall(b'{"t":"req","id":1,"method":"GET","scheme":"http","host":"a","port":80,"path":"/set"}' + bytes([10])); print(s.recv(999))
    except OSError as e: print(e.errno)`
got.socket = await new Promise(async done => {
  const child = spawn(await S.wrapWithSandbox(`python3 -c '${ask}'`), { shell: true })
  let output = ''
  child.stdout.on('data', data => (output += data))
  child.stderr.on('data', data => (output += data))
  child.on('close', () => done(output))
})
await S.reset()
console.log(JSON.stringify({ got, seen }))
"""


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers with the header of the request."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        if self.headers.get("transfer-encoding"):
            while size := int(self.rfile.readline(), 16):
                self.rfile.read(size + 2)
            self.rfile.readline()
        self.rfile.read(int(self.headers.get("content-length") or 0))
        text = str(self.headers).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


def test_filter(project):
    work = fresh("home/filter")
    with open(f"{project}/filter.mjs", "w", encoding="utf-8") as f:
        f.write(FILTER)
    with open(f"{work}/large", "wb") as f:
        f.truncate(33 << 20)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://localhost:{server.server_port}"
        done = call(["node", f"{project}/filter.mjs", url], cwd=work, timeout=120)
        server.shutdown()
    try:
        all_of_it = json.loads(done.out)
    except ValueError:
        tap.ok(False, "the program with a function ends", done)
        return
    got, seen = all_of_it["got"], {one["url"].removeprefix(url): one for one in all_of_it["seen"]}
    ends = {"plain": "200", "query": "403", "deny": "429", "status": "403", "throws": "403", "nothing": "403", "unknown": "403", "value": "403", "set": "200",
            "good": "200", "evil": "403", "shown": "200", "unshown": "403", "slow": "200", "unread": "200", "large": "403", "custom": "403", "again": "200",
            "updated": "403"}
    tap.equal({name: got[name].split(" ")[-1] for name in ends}, ends, "a function decides about requests")
    one = seen.get("/x?q=1", {})
    tap.ok(one.get("method") == "GET" and "curl" in one["agent"] and one["target"] == {"host": "localhost", "port": int(url.rsplit(":", 1)[1])} and
           one["scheme"] == "http" and one["spelled"] == "/x?q=1" and one["raw"], "it gets the request", one)
    tap.ok("not now" in got["deny"] and "broken" in got["throws"] and "the other function" in got["custom"] and "the other function" in got["updated"] and
           got["same"] is True, "its reasons reach the client, and updateConfig() changes it", got)
    tap.ok("x-one: 1\n" in got["set"] and "x-one: 2\n" in got["set"] and "User-Agent" not in got["set"] and "Content-Length" not in got["set"] and
           "Host: localhost" in got["set"], "fields that it sets and removes", got["set"])
    tap.equal(seen["/unshown"]["body"], True, "a GET with a body")
    tap.ok("setHeaders" not in got["socket"] and got["socket"], "a command cannot ask it", got["socket"])


# A command that takes a spare has its processes elsewhere: its client starts none.
SPARE = """
import { SandboxManager as S } from '@buckle/sandbox-runtime'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
await S.initialize({ network: { allowedDomains: [], deniedDomains: [] }, filesystem: { denyRead: [], allowWrite: ['.'], denyWrite: [] } })
let taken = false
for (let i = 0; i < 50 && !taken; i++) {
  const { argv } = await S.wrapWithSandboxArgv('echo on; sleep .1')
  const child = spawn(argv[0], argv.slice(1))
  await once(child.stdout, 'data')
  taken = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8') === ''
  await once(child, 'close')
}
console.log(taken)
await S.reset()
"""


def test_spare(project):
    with open(f"{project}/spare.mjs", "w", encoding="utf-8") as f:
        f.write(SPARE)
    own = fresh("tmpdir")
    os.symlink(own, own + "/link")
    # a symlink is not followed, so the session's is used
    for name, tmpdir in (("a TMPDIR of this user's own", own), ("the session's TMPDIR", own + "/link")):
        done = call(["node", f"{project}/spare.mjs"], cwd=fresh("spare"), env={"CLAUDE_TMPDIR": tmpdir}, timeout=60)
        tap.ok(done.out == "true\n", f"commands take the spare sandbox, with {name}", done)


# ---- Python ----

# As roots.CHECKS_TLS.
MODULE_TLS = """import buckle, os
open("store", "w").close()
os.environ["SSL_CERT_FILE"] = os.path.abspath("store")
settings = {"network": {"allowedRequests": ["GET tls.test/x"]}, "filesystem": {"allowWrite": ["."]}}
print(buckle.run(["grep", "-c", "BEGIN", "store"], buckle.Policy(settings=settings), capture_output=True).stdout.decode(), end="")
"""


def test_python():
    environment = fresh("venv")
    subprocess.run(["/usr/bin/python3", "-m", "venv", environment], check=True)
    wheel = glob.glob(f"{PACKED}/*{os.uname().machine}.whl")[0]
    done = call([f"{environment}/bin/pip", "install", "--no-index", "--disable-pip-version-check", wheel])
    if not tap.ok(done.status == 0, "pip installs the wheel into a virtual environment", done):
        return
    tap.equal(call([f"{environment}/bin/buckle", "--version"]).out, f"buckle {VERSION}\n", "the command buckle")
    # not in /tmp, where what a command writes stays in a layer of its own
    outer = tempfile.mkdtemp(prefix="buckle-python-", dir="/var/tmp")
    atexit.register(shutil.rmtree, outer, ignore_errors=True)
    work = os.path.join(outer, "work")
    os.mkdir(work)
    done = call([f"{environment}/bin/python", f"{TOP}/tests/packages/readme.py"], cwd=work, timeout=60)
    want = [[2, "hi\n", [["file-write-create", "out"]], 9, True, ["file-write-create"], ["asked.example"], True,
             False, 1, 2, 0, True, False, 3, "sh\n", False], "denied", True, True]
    tap.equal(json.loads(done.out) if done.status == 0 else str(done), want, "run, judge, events, questions, holding, grants, apply")
    check_helpers(f"{environment}/bin", "pip")
    done = call([f"{environment}/bin/python", "-c", MODULE_TLS], cwd=fresh("tls"))
    tap.ok(done.out == "1\n", "the module finds it, too", done)
    if WHOLE:
        test_types(environment)


def test_types(environment):
    if not shutil.which("mypy"):
        tap.skip("mypy is not installed")
        return
    site = glob.glob(f"{environment}/lib/python3*/site-packages")[0]
    done = call(["/usr/bin/mypy", "--strict", "--cache-dir", f"{drive.FOLDER}/mypy", f"{TOP}/tests/packages/readme.py"],
                env={"MYPYPATH": site})
    tap.ok(done.status == 0, "mypy accepts the package and its user", done)
    drive.write("wrong.py", "import buckle\nbuckle.run(5)\nbuckle.run(['x']).status.upper()\n")
    done = call(["/usr/bin/mypy", "--strict", "--cache-dir", f"{drive.FOLDER}/mypy", "wrong.py"], env={"MYPYPATH": site})
    tap.ok(done.out.count("error:") == 2, "and not a wrong one", done)


# ---- with the original ----


class Proxy(http.server.BaseHTTPRequestHandler):
    """A proxy that answers for every host."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_CONNECT(self):
        """Some clients of a proxy send plain HTTP through a tunnel."""
        self.send_response(200)
        self.end_headers()
        self.rfile.readline()
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        self.close_connection = True

    def log_message(self, *_):
        pass


def agent_folder(name):
    work = fresh(f"agents/{name}/work")
    for folder in ("secrets", "kept"):
        os.mkdir(f"{work}/{folder}")
    for file in ("secrets/key", "readable"):
        with open(f"{work}/{file}", "w", encoding="utf-8") as f:
            f.write(file + "\n")
    return work


def compiled(project, package):
    """The agent as JavaScript, checked against that package's types. Only its import changes."""
    with open(f"{TOP}/tests/packages/agent.ts", encoding="utf-8") as f:
        text = f.read()
    assert text.count(THEIRS) == 1
    name = package.strip("@").replace("/", "-")
    with open(f"{project}/{name}.mts", "w", encoding="utf-8") as f:
        f.write(text.replace(THEIRS, package))
    done = call(["node_modules/.bin/tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node",
                 "--skipLibCheck", f"{name}.mts"], cwd=project)
    tap.ok(done.status == 0, f"the agent compiles with {package}", done)
    return f"{project}/{name}.mjs"


def run_agent(project, package, port):
    work = agent_folder(package.split("/")[0].strip("@"))
    done = call(["node", compiled(project, package), f"http://127.0.0.1:{port}"], cwd=work, timeout=300,
                env={"no_proxy": "", "NO_PROXY": ""})
    if not tap.ok(done.status == 0, f"the agent runs with {package}", done):
        return None
    return json.loads(done.out)


def compare(theirs, ours):
    for one, other in zip(theirs["outcomes"], ours["outcomes"]):
        if "$TMPDIR" in one["command"] and os.stat("/tmp/claude").st_uid != os.geteuid():
            tap.equal(other["status"], 0, "a TMPDIR of its own where the original's belongs to another user")
            continue
        tap.equal((other["status"], other["output"]), (one["status"], one["output"]), f"same: {one['command'][:50]}")
    tap.equal(ours["asked"], theirs["asked"], "the same questions")
    tap.equal(ours["files"], theirs["files"], "the same files")
    hosts = [line.split("network-outbound ")[1].split(" ")[0] for line in theirs["lines"] if "network-outbound" in line]
    mine = [line.split("network-outbound ")[1].split(" ")[0] for line in ours["lines"] if "network-outbound" in line]
    tap.equal(mine, hosts, "the same hosts were denied")
    want = ["../outside", ".env", "kept/file", "secrets/key"]
    tap.equal([name for name in want if not any(line.endswith(name.lstrip("./")) for line in ours["lines"])], [],
              "and the files that the original does not report")


def test_same(project):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        theirs = run_agent(project, THEIRS, server.server_port)
        ours = run_agent(project, OURS, server.server_port)
        server.shutdown()
    if theirs and ours:
        compare(theirs, ours)


NAMES = """
import * as theirs from '@anthropic-ai/sandbox-runtime'
import * as ours from '@buckle/sandbox-runtime'
const lacks = (one, other) => Object.keys(one).filter(name => typeof one[name] !== typeof other[name])
console.log(JSON.stringify([lacks(theirs, ours), lacks(theirs.SandboxManager, ours.SandboxManager)]))
process.exit()
"""


def test_names(project):
    """A missing name would keep a program from starting, even if it is never used."""
    with open(f"{project}/names.mjs", "w", encoding="utf-8") as f:
        f.write(NAMES)
    tap.equal(call(["node", "names.mjs"], cwd=project).out, "[[],[]]\n", "every name that can be imported is there")


def test_times(project):
    shutil.copy(f"{TOP}/tests/packages/times.mjs", project)
    done = call(["node", "times.mjs"], cwd=project, timeout=300)
    if not tap.ok(done.status == 0, "both run in turn", done):
        return
    times = json.loads(done.out)
    print("= " + ", ".join(f"{name} {ms:.1f} ms" for name, ms in times.items()))
    whole = times["theirs"] / times["ours"]
    net = (times["theirs"] - times["bare"]) / (times["ours"] - times["bare"])
    program = (times["cli theirs"] - times["node"]) / (times["cli ours"] - times["node"])
    print(f"= per wrapped command {whole:.1f} x, without the spawn {net:.1f} x; dist/cli.js without node's start {program:.1f} x")
    tap.ok(whole >= 4, "a wrapped command is at least four times as fast", times)
    floor = (times["theirs"] - times["bare"]) / (times["floor"] - times["bare"])
    print(f"= an empty bwrap would be {floor:.1f} x without the spawn")
    tap.ok(net >= 8, "eight times without the bare spawn", times)
    tap.ok(program >= 8, "so is dist/cli.js without the start of node", times)


def test_whole(platform):
    lacks = [name for name in NEEDS if not shutil.which(name)]
    if lacks:
        tap.skip(f"{lacks[0]} is not installed")
        return
    project, done = npm_project("both", f"{PACKED}/{platform}", f"{PACKED}/buckle-sandbox-runtime-{VERSION}.tgz", THEIRS,
                                "typescript@5", "@types/node@20")
    if done.status != 0:
        tap.skip("the npm registry is not reachable")
        return
    test_names(project)
    test_same(project)
    test_times(project)


def main():
    if not shutil.which("npm"):
        tap.skip("npm is not installed")
        return tap.done()
    platform = platform_name()
    if not RELEASED:
        test_packing()
    project = test_npm(platform)
    if project:
        test_library(project)
        test_filter(project)
        test_spare(project)
    test_python()
    if WHOLE:
        test_whole(platform)
    return tap.done()


sys.exit(main())
