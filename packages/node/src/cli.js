#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// `srt` for hosts that start `node dist/cli.js --settings FILE -c COMMAND`. It passes on descriptors
// and signals, and ends as the command does.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { needProgram } from './program.js'

const args = process.argv.slice(2)

/** Descriptor N of --control-fd has to be there for the program as well. */
function descriptors() {
  const at = args.findIndex(word => word === '--control-fd' || word.startsWith('--control-fd='))
  const text = at < 0 ? '' : args[at].includes('=') ? args[at].split('=')[1] : args[at + 1]
  const last = /^\d+$/.test(text ?? '') ? Number(text) : 2
  return Array.from({ length: Math.max(2, Math.min(last, 255)) + 1 }, (_, fd) =>
    fd <= 2 || fd === last ? 'inherit' : 'ignore',
  )
}

let program
try {
  program = needProgram()
} catch (error) {
  console.error(`Error: ${error.message}`)
  process.exit(1)
}
const child = spawn(program, ['srt', ...args], { stdio: descriptors() })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'])
  process.on(signal, () => child.kill(signal))
child.on('error', error => {
  console.error(`Error: ${error.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
