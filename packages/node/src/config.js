// SPDX-License-Identifier: Apache-2.0
// Settings: from the caller's object to the file that commands get.
import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { needProgram } from './program.js'

const PATHS = {
  filesystem: ['denyRead', 'allowRead', 'allowWrite', 'denyWrite'],
  network: ['allowUnixSockets'],
}

/** The places that are writable without being listed. */
export function getDefaultWritePaths() {
  return [
    '/dev/stdout',
    '/dev/stderr',
    '/dev/null',
    '/dev/tty',
    '/tmp/claude',
    ...(process.platform === 'darwin' ? ['/dev/dtracehelper', '/dev/autofs_nowait', '/private/tmp/claude'] : []),
    join(homedir(), '.npm/_logs'),
    join(homedir(), '.claude/debug'),
  ]
}

/** The custom one wins, key by key within its sections. */
export function mergeConfig(base, custom) {
  if (!custom) return base
  const merged = { ...base }
  for (const [key, value] of Object.entries(custom)) {
    if (value === undefined) continue
    const isSection = key === 'network' || key === 'filesystem'
    const given = isSection ? Object.entries(value).filter(([, entry]) => entry !== undefined) : []
    merged[key] = isSection ? { ...base?.[key], ...Object.fromEntries(given) } : value
  }
  return merged
}

/** Relative paths belong to the folder in which the command is wrapped, wherever it is started. */
function absolute(path, cwd) {
  if (typeof path !== 'string' || path.startsWith('/') || path.startsWith('~')) return path
  const plain = path.replace(/^(\.\/+)+/, '')
  if (plain === '.' || plain === '') return cwd
  return plain === '..' || plain.startsWith('../') ? join(cwd, plain) : `${cwd}/${plain}`
}

/**
 * The text of the settings file. own: a folder that commands never write. socketOf: from a function
 * that decides about requests to the socket over which it is asked.
 */
export function settingsText(config, cwd, own, socketOf = () => '/dev/null') {
  const settings = { ...config }
  const decide = settings.network?.filterRequest
  if (typeof decide === 'function') settings.network = { ...settings.network, filterRequest: socketOf(decide) }
  for (const [section, keys] of Object.entries(PATHS)) {
    if (!settings[section]) continue
    settings[section] = { ...settings[section] }
    for (const key of keys)
      if (Array.isArray(settings[section][key]))
        settings[section][key] = settings[section][key].map(path => absolute(path, cwd))
  }
  if (own)
    settings.filesystem = {
      ...settings.filesystem,
      denyWrite: [...(settings.filesystem?.denyWrite ?? []), own],
    }
  return JSON.stringify(settings)
}

/** The mistakes in settings: {path, message} each. */
export function findMistakes(config) {
  let text
  try {
    text = settingsText(config, process.cwd())
  } catch (error) {
    return [{ path: [], message: error.message }]
  }
  const done = spawnSync(needProgram(), ['check', '--json', '--settings', '-'], {
    input: text,
    encoding: 'utf8',
  })
  if (done.error) throw done.error
  let findings
  try {
    findings = JSON.parse(done.stdout).files.flatMap(file => file.findings ?? [file])
  } catch {
    return [{ path: [], message: done.stderr.trim() || 'the settings cannot be checked' }]
  }
  return findings
    .filter(finding => finding.level !== 'warning' && finding.level !== 'note')
    .map(finding => ({
      path: (/^[\w.]+/.exec(finding.message ?? '')?.[0] ?? '').split('.').filter(Boolean),
      message: finding.message ?? 'the settings cannot be checked',
    }))
}

export function checkConfig(config) {
  const mistakes = findMistakes(config)
  if (mistakes.length) throw new Error(mistakes.map(mistake => mistake.message).join('\n'))
}

/** Checks one section of settings, or all of it, as a schema of zod does. */
class Schema {
  #section

  constructor(section) {
    this.#section = section
  }

  safeParse(value) {
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      return { success: false, error: failure([{ path: [], message: 'Expected object' }]) }
    const mistakes = findMistakes(this.#section ? { [this.#section]: value } : value)
    return mistakes.length
      ? { success: false, error: failure(mistakes) }
      : { success: true, data: structuredClone(value) }
  }

  parse(value) {
    const result = this.safeParse(value)
    if (!result.success) throw result.error
    return result.data
  }
}

function failure(issues) {
  const error = new Error(issues.map(issue => issue.message).join('\n'))
  return Object.assign(error, { name: 'ConfigError', issues, errors: issues })
}

export const SandboxRuntimeConfigSchema = new Schema()
export const NetworkConfigSchema = new Schema('network')
export const FilesystemConfigSchema = new Schema('filesystem')
export const IgnoreViolationsConfigSchema = new Schema('ignoreViolations')
export const RipgrepConfigSchema = new Schema('ripgrep')
export const GitConfigSchema = new Schema('git')
export const CredentialsConfigSchema = new Schema('credentials')
export const WindowsConfigSchema = new Schema('windows')
export const SrtWinConfigSchema = new Schema('windows')
