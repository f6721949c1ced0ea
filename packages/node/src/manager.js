// SPDX-License-Identifier: Apache-2.0
/*
 * The manager of a program that runs commands. A wrapped command is `buckle srt` with a file of
 * settings. It reports to a session, which is one process for all commands; so violations,
 * questions about hosts and grants work on Linux as well. A command that runs follows its file:
 * updateConfig() rewrites it.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkConfig, getDefaultWritePaths, mergeConfig, settingsText } from './config.js'
import { closeSockets, socketOf } from './decider.js'
import { findProgram, getWslVersion, needProgram } from './program.js'
import { quoteWords } from './quote.js'
import { Session } from './session.js'
import { SandboxViolationStore, annotate, encodeKey, isIgnored } from './violations.js'

const COMMANDS_KEPT = 1000
const FILES_KEPT = 1000

let config
let ask
let session
let starting
let folder
let ownFolder
let last = 0
let made = 0
const files = new Map() // from a custom configuration, as text, to its file
const commands = new Map() // from a number to a command's key and text
const store = new SandboxViolationStore(() => session?.flush())
let dependencies

// ---- events ----

function remember(key, text) {
  const number = `#${++last}`
  commands.set(number, { key, text })
  if (commands.size > COMMANDS_KEPT) commands.delete(commands.keys().next().value)
  return number
}

function onDenied(event, number) {
  const command = commands.get(number)
  if (isIgnored(event.line, command?.text, config?.ignoreViolations)) return
  store.addViolation({
    line: event.line,
    command: command?.text,
    encodedCommand: command && encodeKey(command.key),
    timestamp: new Date(event.time),
    operation: event.operation,
    target: event.path ?? event.target,
    pid: event.pid,
    program: event.exe,
    rule: event.rule,
  })
}

function onQuestion({ host, port }) {
  return ask && host !== undefined ? ask({ host, port }) : false
}

// ---- the session, and its folder ----

async function startSession() {
  const next = new Session({ onDenied, onQuestion })
  const begun = await next.start(needProgram())
  session = begun ? next : undefined
  closeSockets()
  if (!session?.folder) {
    ownFolder = mkdtempSync(join(tmpdir(), 'buckle-'))
    process.once('exit', removeOwnFolder)
  }
  folder = session?.folder ?? ownFolder
  files.clear()
}

function removeOwnFolder() {
  if (ownFolder) rmSync(ownFolder, { recursive: true, force: true })
  ownFolder = undefined
}

/** One that has died is replaced. */
async function ensureSession() {
  if (folder && (!session || session.alive)) return
  starting ??= startSession().finally(() => (starting = undefined))
  await starting
}

// ---- settings files ----

function writeSettings(file, custom, cwd) {
  const next = `${file.path}.new`
  const text = settingsText(mergeConfig(config, custom), cwd, folder, decide => socketOf(decide, folder))
  writeFileSync(next, text, { mode: 0o600 })
  renameSync(next, file.path)
}

/** A command that runs keeps its policy. */
function dropFile([name, file]) {
  files.delete(name)
  rmSync(file.path, { force: true })
}

/** Commands with the same settings, wrapped in the same folder, share a file. */
function fileFor(custom) {
  const cwd = process.cwd()
  const decide = custom?.network?.filterRequest
  const own = typeof decide === 'function' ? socketOf(decide, folder) : null
  const name = JSON.stringify([cwd, custom ?? null, own])
  let file = files.get(name)
  if (!file) {
    file = { path: join(folder, `settings-${++made}.json`), custom, cwd }
    writeSettings(file, custom, cwd)
    files.set(name, file)
    if (files.size > FILES_KEPT) dropFile(files.entries().next().value)
  }
  return file.path
}

// ---- wrapping ----

/**
 * Prepares a sandbox for the first command. The session keeps it, and each command that uses one
 * leaves another; `buckle srt` checks that nothing has changed since then.
 */
function prepareSpare() {
  if (process.platform !== 'linux' || !session?.alive) return
  const words = ['srt', '--settings', fileFor(), '--session', String(session.pid)]
  if (ask) words.push('--ask-session')
  const spare = spawn(needProgram(), [...words, '--spare', 'session', '-c', ''], {
    stdio: 'ignore',
    detached: true,
  })
  spare.on('error', () => {})
  spare.unref()
}

async function wrapWords(command, shell, custom, signal, options) {
  signal?.throwIfAborted()
  const program = needProgram()
  await ensureSession()
  const words = [program, 'srt', '--settings', fileFor(custom)]
  if (session?.alive) {
    const text = options?.commandText ?? command
    const number = remember(options?.commandId || command, text)
    words.push('--session', String(session.pid), '--command-text', number)
    if (ask) words.push('--ask-session')
    if (options?.grantable) words.push('--grantable')
  }
  if (shell) words.push('--shell', shell)
  return [...words, '-c', command]
}

// ---- what the host can do ----

function checkDependencies() {
  if (dependencies) return dependencies
  if (!findProgram()) return { errors: ['Buckle is not installed for this platform'], warnings: [] }
  if (process.platform !== 'linux') return { errors: [], warnings: [] }
  const done = spawnSync(findProgram(), ['doctor', '--json'], { encoding: 'utf8' })
  try {
    const doctor = JSON.parse(done.stdout)
    dependencies = { errors: doctor.full ? [] : [doctor.summary], warnings: doctor.notes ?? [] }
  } catch {
    dependencies = { errors: [`buckle doctor failed: ${done.stderr ?? done.error}`], warnings: [] }
  }
  return dependencies
}

function needDependencies() {
  const { errors } = checkDependencies()
  if (errors.length) throw new Error(`Sandbox dependencies not available: ${errors.join(', ')}`)
}

// ---- the interface ----

let initializing

async function initialize(runtimeConfig, askCallback) {
  needProgram()
  needDependencies()
  checkConfig(runtimeConfig)
  config = runtimeConfig
  ask = askCallback
  await ensureSession()
  prepareSpare()
}

export const SandboxManager = {
  /** Calls at the same time share one start. A failed one can be tried again. */
  initialize(runtimeConfig, askCallback, _enableLogMonitor) {
    initializing ??= initialize(runtimeConfig, askCallback).catch(error => {
      initializing = undefined
      throw error
    })
    return initializing
  },

  isSupportedPlatform: () =>
    (process.platform === 'linux' || process.platform === 'darwin') && getWslVersion() !== '1' && !!findProgram(),
  isSandboxingEnabled: () => config !== undefined,
  checkDependencies: () => checkDependencies(),
  checkDependenciesAsync: async () => checkDependencies(),
  waitForNetworkInitialization: async () => {
    await initializing
    return config !== undefined
  },

  wrapWithSandbox: async (command, binShell, customConfig, abortSignal, options) =>
    quoteWords(await wrapWords(command, binShell, customConfig, abortSignal, options)),
  wrapWithSandboxArgv: async (command, binShell, customConfig, abortSignal, _cwd, options) => ({
    argv: await wrapWords(command, binShell, customConfig, abortSignal, options),
    env: { ...process.env },
  }),

  updateConfig(newConfig) {
    checkConfig(newConfig)
    config = newConfig
    for (const file of files.values()) writeSettings(file, file.custom, file.cwd)
  },
  getConfig: () => config,

  getFsReadConfig: () => ({
    denyOnly: [...(config?.filesystem?.denyRead ?? [])],
    allowWithinDeny: [...(config?.filesystem?.allowRead ?? [])],
  }),
  getFsWriteConfig: () => ({
    allowOnly: [...getDefaultWritePaths(), ...(config?.filesystem?.allowWrite ?? [])],
    denyWithinAllow: [...(config?.filesystem?.denyWrite ?? [])],
  }),
  getNetworkRestrictionConfig() {
    const { allowedDomains, deniedDomains } = config?.network ?? {}
    return {
      ...(allowedDomains && { allowedHosts: allowedDomains }),
      ...(deniedDomains?.length && { deniedHosts: deniedDomains }),
    }
  },
  getAllowUnixSockets: () => config?.network?.allowUnixSockets,
  getAllowLocalBinding: () => config?.network?.allowLocalBinding,
  getAllowMachLookup: () => config?.network?.allowMachLookup,
  getIgnoreViolations: () => config?.ignoreViolations,
  getEnableWeakerNestedSandbox: () => config?.enableWeakerNestedSandbox,
  getLinuxGlobPatternWarnings: () => [],

  // each command has its own proxies
  getProxyPort: () => config?.network?.httpProxyPort,
  getSocksProxyPort: () => config?.network?.socksProxyPort,
  getProxyAuthToken: () => undefined,
  getLinuxHttpSocketPath: () => undefined,
  getLinuxSocksSocketPath: () => undefined,
  getMitmCA: () => undefined,
  getSentinelRegistry: () => undefined,
  getAwsPairRegistry: () => undefined,
  getMaskedFileStore: () => undefined,

  getSandboxViolationStore: () => store,
  annotateStderrWithSandboxFailures(command, stderr) {
    return annotate(stderr, store.getViolationsForCommand(command))
  },

  /** More than srt: opens a path or a host for later commands, and as far as possible running ones. */
  async grant({ read, write, host }) {
    await ensureSession()
    if (!session) throw new Error('there is no session')
    const rules = { 'allow-read': read, 'allow-write': write, 'allow-net': host }
    let waits = ''
    for (const [grant, what] of Object.entries(rules))
      if (what !== undefined) waits += (await session.request({ grant, what })).waits
    return waits.split('\n').filter(Boolean)
  },

  cleanupAfterCommand() {},
  async reset() {
    await initializing?.catch(() => {})
    initializing = undefined
    const ending = session
    session = folder = undefined
    files.clear()
    commands.clear()
    closeSockets()
    removeOwnFolder()
    await ending?.stop()
  },
}
