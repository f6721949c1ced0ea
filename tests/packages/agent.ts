// SPDX-License-Identifier: Apache-2.0
// A small agent: runs the commands of a "model" in a sandbox, and prints what came of them as JSON. It
// is written for sandbox-runtime; the tests run it with that and with Buckle, changing only the import.
import { SandboxManager, type SandboxRuntimeConfig, type SandboxViolationEvent } from '@anthropic-ai/sandbox-runtime'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

interface Outcome {
  command: string
  status: number | null
  output: string
  failed: boolean
}

const [proxy] = process.argv.slice(2)
const asked: string[] = []
const outcomes: Outcome[] = []

const config: SandboxRuntimeConfig = {
  network: {
    allowedDomains: ['allowed.example', '*.wild.example'],
    deniedDomains: ['denied.wild.example'],
    parentProxy: { http: proxy, https: proxy },
  },
  filesystem: {
    denyRead: ['secrets'],
    allowWrite: ['.'],
    denyWrite: ['.env', 'kept'],
  },
}

function run(line: string): Promise<{ status: number | null; output: string; errors: string }> {
  return new Promise(resolve => {
    const child = spawn(line, { shell: true })
    let output = ''
    let errors = ''
    child.stdout.on('data', data => (output += data))
    child.stderr.on('data', data => (errors += data))
    child.on('close', status => resolve({ status, output, errors }))
  })
}

async function tool(command: string, custom?: Partial<SandboxRuntimeConfig>): Promise<void> {
  const line = await SandboxManager.wrapWithSandbox(command, undefined, custom)
  const { status, output, errors } = await run(line)
  const annotated = SandboxManager.annotateStderrWithSandboxFailures(command, errors)
  SandboxManager.cleanupAfterCommand()
  outcomes.push({ command, status, output, failed: annotated.length > 0 })
}

const curl = (url: string): string => `curl -s -o /dev/null -m 20 --retry 5 --retry-connrefused -w '%{http_code}' ${url}`

async function main(): Promise<void> {
  if (!SandboxManager.isSupportedPlatform()) throw new Error('no sandbox here')
  const { errors } = SandboxManager.checkDependencies()
  if (errors.length) throw new Error(errors.join(', '))
  await SandboxManager.initialize(config, async ({ host, port }) => {
    asked.push(`${host}:${port}`)
    return host === 'yes.example'
  })
  const seen: SandboxViolationEvent[][] = []
  const unsubscribe = SandboxManager.getSandboxViolationStore().subscribe(all => seen.push(all))

  await tool('echo hello; exit 3')
  await tool('printf "%s\\n" "it\'s $((1 + 1)) \\"quoted\\" \\$HOME !"')
  await tool('echo x >made && cat made')
  await tool('echo x >../outside')
  await tool('echo x >.env')
  await tool('echo x >kept/file')
  await tool('cat secrets/key')
  await tool('cat readable')
  await tool('cat <<END | wc -l\na\nb\nEND')
  await tool('kill -TERM $$')
  await tool('echo $SANDBOX_RUNTIME $TMPDIR && echo x >$TMPDIR/file')
  await tool('sleep 60 & echo left')
  await tool(curl('http://allowed.example/'))
  await tool(curl('http://deep.wild.example/'))
  await tool(curl('http://denied.wild.example/'))
  await tool(curl('http://no.example/'))
  await tool(curl('http://yes.example/'))
  await tool('echo x >../outside', { filesystem: { denyRead: [], allowWrite: ['.', '..'], denyWrite: [] } })
  SandboxManager.updateConfig({ ...config, filesystem: { ...config.filesystem, allowWrite: [] } })
  await tool('echo x >late')
  SandboxManager.updateConfig(config)
  await tool('echo x >later')

  unsubscribe()
  const lines = SandboxManager.getSandboxViolationStore()
    .getViolations()
    .map(violation => violation.line)
  await SandboxManager.reset()
  const files = ['made', '../outside', '.env', 'kept/file', 'late', 'later'].filter(existsSync)
  console.log(JSON.stringify({ outcomes, asked, files, lines, notified: seen.length > 0 }))
}

void main()
