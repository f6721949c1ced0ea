// SPDX-License-Identifier: Apache-2.0
/*
 * A function that decides about requests (network.filterRequest). Commands' gates ask over a Unix
 * socket, a line of JSON for each request (buckle-proxy(1), DECIDER). The function gets the request
 * as the web has it. Its body comes over the socket only if the function reads it. Whatever goes
 * wrong here is a no.
 */
import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

const BODY_MAX = 32 << 20
const LINE_MAX = 2 << 20
const WAIT_MS = 2000
const REASON_BYTES = 1024
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'OPTIONS'])
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FRAMING = new Set(
  'host content-length transfer-encoding connection upgrade te trailer keep-alive proxy-connection'.split(' '),
)

const fold = name => name.toLowerCase().replace(/[_.]/g, '-')

// ---- requests ----

/** A stream that asks for the body once somebody reads it. */
function bodyStream(needBody) {
  return new ReadableStream(
    {
      async pull(controller) {
        const { data, cut } = await needBody(BODY_MAX)
        if (cut) throw new Error(`the body has more than ${BODY_MAX} bytes`)
        if (data.length) controller.enqueue(new Uint8Array(data))
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Whether servers could read this path in two ways. */
function isAmbiguous(target) {
  const path = target.split('?')[0]
  return /^\/[/\\]|\\|\/(\.|%2e){1,2}(\/|$)/i.test(path)
}

function describe(question, needBody, signal) {
  const { method, scheme, host, port, path, query, headers = {} } = question
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  const authority = port === (scheme === 'https' ? 443 : 80) ? name : `${name}:${port}`
  const requestTarget = query === undefined ? path : `${path}?${query}`
  const url = new URL(`${scheme}://${authority}${path === '*' ? '/' : requestTarget}`)
  const shows = !WITHOUT_BODY.has(method)
  const lines = Object.entries(headers).flatMap(([field, values]) => values.map(value => [field, value]))
  const request = new Request(url, {
    method,
    headers: [['host', authority], ...lines],
    signal,
    ...(shows && { body: bodyStream(needBody), duplex: 'half' }),
  })
  const info = {
    scheme,
    target: { host, port },
    requestTarget,
    normalizedRequestTarget: url.pathname.replace(/^\/+/, '/') + url.search,
    requestTargetIsAmbiguous: isAmbiguous(requestTarget),
    rawHeaders: [['host', authority], ...lines].flat(),
    ...(!shows && { unshownBody: async () => (await needBody(1)).data.length > 0 }),
  }
  return { request, info }
}

// ---- decisions ----

/** A reason as the gate takes it: short, and one line. */
function plain(reason) {
  let text = reason.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
  while (Buffer.byteLength(text) > REASON_BYTES) text = text.slice(0, -8)
  return text
}

function refuse(reason, status) {
  const good = Number.isInteger(status) && status >= 400 && status <= 599
  return { action: 'deny', status: good ? status : 403, reason: plain(reason) }
}

function needList(list, what) {
  if (list !== undefined && !Array.isArray(list)) throw new Error(`${what} is not an array`)
  return list ?? []
}

function checkName(name, what) {
  if (typeof name !== 'string' || !TOKEN.test(name)) throw new Error(`${what} holds an invalid header name`)
  return name.toLowerCase()
}

/** Names that some server takes for the same are one field. */
function fieldsToSet(list) {
  const fields = new Map()
  for (const entry of list) {
    if (!Array.isArray(entry) || entry.length !== 2) throw new Error('setHeaders holds an entry that is not a pair')
    const name = checkName(entry[0], 'setHeaders')
    if (typeof entry[1] !== 'string' || /[^\t\u0020-\u007e]/.test(entry[1]))
      throw new Error('setHeaders holds an invalid header value')
    if (FRAMING.has(fold(name))) continue
    const field = fields.get(fold(name)) ?? { name, values: [] }
    field.values.push(entry[1])
    fields.set(fold(name), field)
  }
  return Object.fromEntries([...fields.values()].map(({ name, values }) => [name, values]))
}

/** The line for the gate. */
function answerTo(decision) {
  try {
    if (typeof decision !== 'object' || decision === null) throw new Error('not an object')
    const { action, reason, status } = decision
    if (action !== 'allow' && action !== 'deny') throw new Error('unknown action')
    if (reason !== undefined && typeof reason !== 'string') throw new Error('reason is not a string')
    if (action === 'deny') return refuse(reason ?? 'denied by sandbox policy', status)
    const removed = needList(decision.removeHeaders, 'removeHeaders').map(name => checkName(name, 'removeHeaders'))
    return {
      action,
      setHeaders: fieldsToSet(needList(decision.setHeaders, 'setHeaders')),
      removeHeaders: removed.filter(name => !FRAMING.has(fold(name))),
    }
  } catch (error) {
    return refuse(`malformed filterRequest decision: ${error.message}`)
  }
}

// ---- connections ----

/** One gate: its questions, and the bodies that were asked for. */
class Asker {
  #socket
  #decide
  #parts = []
  #size = 0
  #limit = LINE_MAX
  #bodies = new Map()
  #ended = new AbortController()

  constructor(socket, decide) {
    this.#socket = socket
    this.#decide = decide
    socket.on('data', data => this.#take(data))
    socket.on('error', () => {})
    socket.on('close', () => this.#end())
    socket.unref()
  }

  #end() {
    this.#ended.abort()
    for (const { reject } of this.#bodies.values()) reject(new Error('the connection has ended'))
    this.#bodies.clear()
  }

  #send(message) {
    if (!this.#socket.destroyed) this.#socket.write(JSON.stringify(message) + '\n')
  }

  #take(data) {
    for (let at; (at = data.indexOf(10)) >= 0; data = data.subarray(at + 1)) {
      const line = Buffer.concat([...this.#parts, data.subarray(0, at)]).toString()
      this.#parts = []
      this.#size = 0
      this.#onLine(line)
    }
    if (data.length) this.#parts.push(data)
    this.#size += data.length
    if (this.#size > (this.#bodies.size ? 2 * BODY_MAX : this.#limit)) this.#socket.destroy()
  }

  #onLine(line) {
    let message
    try {
      message = JSON.parse(line)
    } catch {
      this.#socket.destroy()
      return
    }
    if (message.t === 'req') void this.#answer(message)
    else if (message.t === 'body') {
      this.#bodies.get(message.id)?.resolve({ data: Buffer.from(message.data, 'base64'), cut: message.cut === true })
      this.#bodies.delete(message.id)
    }
  }

  /** The gate sends it once. */
  #needBody(id, max) {
    const wanted = new Promise((resolve, reject) => this.#bodies.set(id, { resolve, reject }))
    this.#send({ id, action: 'need_body', max })
    return wanted
  }

  async #answer(question) {
    const { id } = question
    let body
    const needBody = max => (body ??= this.#needBody(id, max))
    // the gate does not wait long for a program that says nothing
    const waits = setInterval(() => this.#send({ id, action: 'wait' }), WAIT_MS)
    let answer
    try {
      const { request, info } = describe(question, needBody, this.#ended.signal)
      answer = answerTo(await this.#decide(request, info))
    } catch (error) {
      answer = refuse(`sandbox policy check failed: ${error?.message}`)
    }
    clearInterval(waits)
    // nothing but a denial may come before a body that was asked for
    if (this.#bodies.has(id) && answer.action !== 'deny') await body.catch(() => {})
    this.#bodies.delete(id)
    this.#send({ id, ...answer })
  }
}

// ---- sockets ----

let made = 0
const servers = new Map() // from a function to its server and path

/** The socket of a function, which is there from now on. */
export function socketOf(decide, folder) {
  let found = servers.get(decide)
  if (!found) {
    const path = join(folder, `filter-${++made}.sock`)
    const server = createServer(socket => new Asker(socket, decide))
    server.on('error', () => {})
    server.listen(path)
    server.unref()
    found = { server, path }
    servers.set(decide, found)
  }
  return found.path
}

export function closeSockets() {
  for (const { server, path } of servers.values()) {
    server.close()
    rmSync(path, { force: true })
  }
  servers.clear()
}
