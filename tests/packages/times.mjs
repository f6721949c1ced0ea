// SPDX-License-Identifier: Apache-2.0
// Times wrapped commands, of the two packages and bare, in turn: prints the medians in milliseconds.
import * as ours from '@buckle/sandbox-runtime'
import * as theirs from '@anthropic-ai/sandbox-runtime'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROUNDS = Number(process.argv[2] ?? 25)
const config = {
  network: { allowedDomains: [], deniedDomains: [] },
  filesystem: { denyRead: ['~/.ssh'], allowWrite: ['.'], denyWrite: ['.env'] },
}
const modules = join(dirname(fileURLToPath(import.meta.url)), 'node_modules')
writeFileSync('settings.json', JSON.stringify(config))

const end = child =>
  new Promise((resolve, reject) =>
    child.on('close', status => (status === 0 ? resolve() : reject(new Error(`exit status ${status}`)))),
  )
const wrapped = manager => async () => end(spawn(await manager.wrapWithSandbox('true'), { shell: true }))
const program = name => () =>
  end(spawn(process.execPath, [join(modules, name, 'dist', 'cli.js'), '--settings', 'settings.json', '-c', 'true']))

const ways = {
  bare: () => end(spawn('true', { shell: true })),
  // what the original starts as well, and nothing around it
  floor: () => end(spawn('bwrap --unshare-all --die-with-parent --dev-bind / / --proc /proc bash -c true', { shell: true })),
  ours: wrapped(ours.SandboxManager),
  theirs: wrapped(theirs.SandboxManager),
  'wrap ours': () => ours.SandboxManager.wrapWithSandbox('true'),
  'wrap theirs': () => theirs.SandboxManager.wrapWithSandbox('true'),
  node: () => end(spawn(process.execPath, ['-e', '0'])),
  'cli ours': program('@buckle/sandbox-runtime'),
  'cli theirs': program('@anthropic-ai/sandbox-runtime'),
}

await ours.SandboxManager.initialize(config)
await theirs.SandboxManager.initialize(config)
const times = Object.fromEntries(Object.keys(ways).map(name => [name, []]))
for (let round = -1; round < ROUNDS; round++)
  for (const [name, way] of Object.entries(ways)) {
    const begun = performance.now()
    await way()
    if (round >= 0) times[name].push(performance.now() - begun) // the first one warms up
  }
const median = list => list.sort((a, b) => a - b)[list.length >> 1]
console.log(JSON.stringify(Object.fromEntries(Object.entries(times).map(([name, list]) => [name, median(list)]))))
await ours.SandboxManager.reset()
await theirs.SandboxManager.reset()
