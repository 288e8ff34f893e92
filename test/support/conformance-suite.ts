/** Runs the official conformance suite of MCP against a server that wants a token. */
import { spawn } from 'node:child_process'
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, request as ask, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const SUITE = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))

export type Outcome = 'passed' | 'warned' | 'failed' | 'not run'

export function outcomeOf(checks: readonly Check[] = []): Outcome {
  const has = (wanted: string) => checks.some(({ status }) => status === wanted)
  if (has('FAILURE')) return 'failed'
  if (has('WARNING')) return 'warned'
  return has('SUCCESS') ? 'passed' : 'not run'
}

type Check = { status: string; errorMessage?: string }

/** `found` has the checks of each scenario. */
export async function runSuite(url: string, options: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-conformance-'))
  try {
    const child = spawn(process.execPath, [SUITE, 'server', '--url', url, ...options, '-o', folder], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (said: string) => (output += said))
    child.stderr.setEncoding('utf8').on('data', (said: string) => (output += said))
    const code = await new Promise<number | null>((ended) => child.once('close', ended))
    const found = new Map<string, Check[]>()
    for await (const path of glob('**/checks.json', { cwd: folder })) {
      found.set(scenarioOf(path), JSON.parse(await readFile(join(folder, path), 'utf8')) as Check[])
    }
    return { code, output, found }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Its folders are called `server-<scenario>-<time>`. */
const scenarioOf = (path: string): string =>
  dirname(path)
    .replace(/^server-/, '')
    .replace(/-\d{4}-\d\d-\d\dT.*$/, '')

/**
 * The suite has no option for a token. Host and Origin go through as they came, but for the proxy's own name, which
 * nobody behind it knows.
 */
export async function proxyAdding(authorization: string, target: URL): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    const { port } = server.address() as AddressInfo
    const isOwn = incoming.headers.host?.endsWith(`:${port}`) ?? false
    const headers = {
      ...incoming.headers,
      authorization,
      host: isOwn ? target.host : (incoming.headers.host ?? ''),
    }
    const { url = '/', method = 'GET' } = incoming
    const passedOn = ask(new URL(url, target), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passedOn.once('error', () => outgoing.destroy())
    outgoing.once('close', () => passedOn.destroy())
    incoming.pipe(passedOn)
  })
  await new Promise<void>((ready) => server.listen(0, 'localhost', ready))
  return server
}
