// SPDX-License-Identifier: Apache-2.0
// The process that wrapped commands report to (`buckle session --stream`): lines of JSON in both
// directions. It ends with this process, and takes its folder with it.
import { spawn } from 'node:child_process'
import { readSync, writeSync } from 'node:fs'

const FLUSH_MS = 2000
const LINES_MAX = 8 << 20

function sleep(milliseconds) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

export class Session {
  pid
  folder
  #child
  #rest = Buffer.alloc(0)
  #number = 0
  #flushed = 0
  #waiting = new Map()
  #events
  #begun

  /** events: onDenied(event, command), onQuestion(question) => Promise<boolean>. */
  constructor(events) {
    this.#events = events
  }

  get alive() {
    return this.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Resolves once it can be joined; to undefined if it cannot be, as inside another sandbox. */
  start(program) {
    return new Promise(resolve => {
      this.#begun = resolve
      this.#child = spawn(program, ['session', '--stream', '--for', String(process.pid)], {
        stdio: ['pipe', 'pipe', 'ignore'],
      })
      this.#child.on('error', () => this.#end())
      this.#child.on('exit', () => this.#end())
      this.#child.stdin.on('error', () => {})
      this.#child.stdout.on('error', () => {})
      this.#child.stdout.on('data', data => this.#take(data))
    })
  }

  /** The program may end while the session waits. */
  #unref() {
    this.#child.unref()
    this.#child.stdin.unref?.()
    this.#child.stdout.unref?.()
  }

  #end() {
    this.pid = undefined
    this.#begun(undefined)
    for (const { reject } of this.#waiting.values()) reject(new Error('the session has ended'))
    this.#waiting.clear()
  }

  stop() {
    if (!this.#child || !this.alive) return Promise.resolve()
    return new Promise(resolve => {
      this.#child.ref()
      this.#child.once('exit', resolve)
      this.#child.stdin.end()
    })
  }

  // ---- lines ----

  #take(data) {
    let text = this.#rest.length ? Buffer.concat([this.#rest, data]) : data
    for (let at; (at = text.indexOf(10)) >= 0; text = text.subarray(at + 1))
      this.#onLine(text.subarray(0, at).toString())
    this.#rest = Buffer.from(text)
    if (this.#rest.length > LINES_MAX) this.#child.kill()
  }

  #onLine(line) {
    let message
    try {
      message = JSON.parse(line)
    } catch {
      return
    }
    if (message.denied) this.#events.onDenied(message.denied, message.command)
    else if (message.question) void this.#answer(message)
    else if (message.flushed) this.#flushed = message.flushed
    else if (message.answer) this.#onAnswer(message)
    else if (message.session) {
      this.pid = message.session
      this.folder = message.folder || undefined
      this.#unref()
      this.#begun(this)
    }
  }

  #send(message) {
    if (this.alive) this.#child.stdin.write(JSON.stringify(message) + '\n')
  }

  /** An error in the callback is a no. */
  async #answer({ question, run }) {
    let yes = false
    try {
      yes = (await this.#events.onQuestion(question)) === true
    } catch {}
    this.#send({ consent: yes ? 'once' : 'deny', run, id: question.id })
  }

  // ---- requests ----

  request(request) {
    if (!this.alive) return Promise.reject(new Error('there is no session'))
    return new Promise((resolve, reject) => {
      this.#waiting.set(++this.#number, { resolve, reject })
      this.#send({ request, of: this.#number })
    })
  }

  #onAnswer({ of, answer }) {
    const { resolve, reject } = this.#waiting.get(of) ?? {}
    this.#waiting.delete(of)
    if (answer.ok) resolve?.(answer)
    else reject?.(new Error(answer.error))
  }

  /**
   * Takes in everything that has happened until now, without waiting for the event loop: a caller
   * that has seen a command end then sees all of its violations.
   */
  flush() {
    const input = this.#child?.stdin?._handle?.fd
    const output = this.#child?.stdout?._handle?.fd
    if (!this.alive || !(input >= 0) || !(output >= 0) || this.#child.stdin.writableLength) return
    const number = ++this.#number
    const bytes = Buffer.alloc(65536)
    try {
      writeSync(input, `{"flush": ${number}}\n`)
    } catch {
      return
    }
    for (const end = Date.now() + FLUSH_MS; this.#flushed < number && Date.now() < end; ) {
      try {
        const n = readSync(output, bytes)
        if (n === 0) return
        this.#take(bytes.subarray(0, n))
      } catch (error) {
        if (error.code !== 'EAGAIN') return
        sleep(0.2)
      }
    }
  }
}
