// SPDX-License-Identifier: Apache-2.0
// The newest violations, in memory.

const KEPT = 100
const KEY_LENGTH = 100

/** What a violation is found by: the first hundred characters of a command or its id, in base64. */
export function encodeKey(key) {
  return Buffer.from(key.slice(0, KEY_LENGTH)).toString('base64')
}

/** Whether settings say not to keep it: parts of commands, or *, to parts of lines. */
export function isIgnored(line, command, ignored) {
  return Object.entries(ignored ?? {}).some(
    ([part, texts]) =>
      (part === '*' || (command ?? '').includes(part)) && texts.some(text => line.includes(text)),
  )
}

const ESCAPES = { '<': '&lt;', '>': '&gt;', '&': '&amp;' }

/**
 * A command's error output with a block of violations. The command controls that output and the file
 * names in the block, so tags in the first and brackets in the second are escaped.
 */
export function annotate(stderr, violations) {
  if (!violations.length) return stderr
  const plain = stderr.replace(/<(?=\/?sandbox_violations)/gi, '&lt;')
  const lines = violations.map(({ line }) => line.replace(/[<>&]/g, sign => ESCAPES[sign]))
  return [plain, '<sandbox_violations>', ...lines, '</sandbox_violations>'].join('\n')
}

export class SandboxViolationStore {
  #violations = []
  #total = 0
  #listeners = new Set()
  #refresh

  /** refresh: called before every look, to take in what has happened until now. */
  constructor(refresh = () => {}) {
    this.#refresh = refresh
  }

  addViolation(violation) {
    this.#violations.push(violation)
    this.#total++
    if (this.#violations.length > KEPT) this.#violations.splice(0, this.#violations.length - KEPT)
    this.#notify()
  }

  getViolations(limit) {
    this.#refresh()
    return limit === undefined ? [...this.#violations] : limit > 0 ? this.#violations.slice(-limit) : []
  }

  getCount() {
    this.#refresh()
    return this.#violations.length
  }

  getTotalCount() {
    this.#refresh()
    return this.#total
  }

  getViolationsForCommand(command) {
    const key = encodeKey(command)
    return this.getViolations().filter(violation => violation.encodedCommand === key)
  }

  clear() {
    this.#violations = []
    this.#notify()
  }

  subscribe(listener) {
    this.#listeners.add(listener)
    listener(this.getViolations())
    return () => this.#listeners.delete(listener)
  }

  #notify() {
    for (const listener of [...this.#listeners]) listener([...this.#violations])
  }
}
