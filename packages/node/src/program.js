// SPDX-License-Identifier: Apache-2.0
// Finds the program: in the package for this platform, else in PATH.
import { accessSync, constants, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
let found

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function fromPackage() {
  try {
    const file = require.resolve(`@buckle/${process.platform}-${process.arch}/package.json`)
    const path = join(dirname(file), 'bin', 'buckle')
    return isProgram(path) ? path : undefined
  } catch {
    return undefined
  }
}

function fromPath() {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(folder => folder.startsWith('/'))
  return folders.map(folder => join(folder, 'buckle')).find(isProgram)
}

/** The path of the program, or undefined. */
export function findProgram() {
  found ??= fromPackage() ?? fromPath()
  return found
}

export function needProgram() {
  const path = findProgram()
  if (!path)
    throw new Error(
      `Buckle is not installed for ${process.platform}-${process.arch}: ` +
        `the package @buckle/${process.platform}-${process.arch} is missing, and PATH has no buckle`,
    )
  return path
}

/** The major version of WSL, or undefined outside of it. */
export function getWslVersion() {
  try {
    const text = readFileSync('/proc/version', 'utf8')
    if (!/microsoft/i.test(text)) return undefined
    return /WSL(\d+)/i.exec(text)?.[1] ?? '1'
  } catch {
    return undefined
  }
}
