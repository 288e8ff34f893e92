/** The official conformance suite for MCP authorization servers, against the real server; a walker is its browser. */
import { spawn } from 'node:child_process'
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAgentSystem, type AgentSystem } from '../support/agents.ts'
import { freePort } from '../support/free-port.ts'

const SUITE = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))

let system: AgentSystem
beforeAll(async () => {
  system = await startAgentSystem()
})
afterAll(() => system?.stop())

type Check = { id: string; status: string; errorMessage?: string }

test.each([
  ['without a resource', (_system: AgentSystem): string[] => []],
  ['for /platform', ({ platform }: AgentSystem) => ['--resource', platform]],
  ['for /notifications', ({ origin }: AgentSystem) => ['--resource', `${origin}/notifications`]],
])('every scenario passes %s', async (_how, options) => {
  const port = await freePort()
  const clientId = await register(`http://127.0.0.1:${port}/callback`)
  const usual = ['--url', system.origin, '--client-id', clientId, '--port', String(port)]
  const { code, checks, output } = await runSuite([...usual, ...options(system)])
  expect(
    Object.fromEntries(checks.map(({ id, status }) => [id, status])),
    output + checks.map(({ errorMessage = '' }) => errorMessage).join('\n'),
  ).toEqual({
    'authorization-server-metadata': 'SUCCESS',
    'authorization-server-metadata-cimd': 'SUCCESS',
    'authorization-code-grant': 'SUCCESS',
  })
  expect(code, output).toBe(0)
})

async function register(redirectUri: string): Promise<string> {
  const response = await fetch(`${system.origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Conformance', redirect_uris: [redirectUri] }),
  })
  expect(response.status).toBe(201)
  return ((await response.json()) as { client_id: string }).client_id
}

/** It prints an address for a person to open and waits for the answer on its own port. */
async function runSuite(options: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-conformance-'))
  try {
    const child = spawn(process.execPath, [SUITE, 'authorization', ...options, '-o', folder], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    let browser: Promise<unknown> | undefined
    const hear = (text: string) => {
      output += text
      const [address] = /^http:\S+\/oauth\/authorize\?\S+(?=\n)/m.exec(output) ?? []
      if (address !== undefined) browser ??= visit(address).catch(() => child.kill())
    }
    child.stdout.setEncoding('utf8').on('data', hear)
    child.stderr.setEncoding('utf8').on('data', hear)
    const code = await new Promise<number | null>((ended) => child.once('close', ended))
    await browser
    return { code, output, checks: await checksIn(folder) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function visit(address: string): Promise<void> {
  const { answer } = await system.approve(address)
  await fetch(answer)
}

async function checksIn(folder: string): Promise<Check[]> {
  const checks: Check[] = []
  for await (const path of glob('**/checks.json', { cwd: folder })) {
    checks.push(...(JSON.parse(await readFile(join(folder, path), 'utf8')) as Check[]))
  }
  return checks
}
