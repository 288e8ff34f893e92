/** A server that other people's clients connect to: a process of its own that is restarted on the same data, whose hour passes when the test says so. */
import { fork, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { httpClient } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { readConfig } from '../../src/boot/config.ts'
import { listGrants, revokeGrant } from '../../src/contracts/grants.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { arrive, decide, type ListeningSystem } from './assistant.ts'
import { copySnapshot } from './database.ts'
import { openDocumentHost, type DocumentHost } from './document-host.ts'
import { PASSWORD, type Person } from './make.ts'
import { freePort } from './free-port.ts'
import type { ClockMessage, ServerSettings } from './server-with-clock.ts'
import { newWalker } from './walker.ts'

const SERVER = fileURLToPath(new URL('./server-with-clock.ts', import.meta.url))

export type ClientSystem = {
  readonly origin: string
  /** The address people give to their assistants. */
  readonly platform: string
  readonly email: string
  readonly documents: DocumentHost
  /** What a person's browser does with the address a client opened: signs in and allows. Says where it is sent then. */
  readonly approve: (authorizationUrl: string) => Promise<URL>
  /** Time passes for the server. */
  readonly pass: (seconds: number) => Promise<void>
  /** Stops the process and starts another on the same data. */
  readonly restart: () => Promise<void>
  /** Ends every grant, as its owner would; says which clients had one. */
  readonly revokeAll: () => Promise<string[]>
  /** How often it has given out tokens. */
  readonly tokensIssued: () => number
  readonly stop: () => Promise<void>
}

/** Serves these metadata documents at the addresses they name. With the sample, which has a data source to query. */
export async function startClientSystem(
  published: readonly { client_id: string }[],
  settings: Readonly<Record<string, string>> = {},
): Promise<ClientSystem> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-clients-'))
  const dataFolder = join(folder, 'data')
  await copySnapshot(dataFolder)
  const addresses = published.map(({ client_id }) => new URL(client_id))
  const documents = await openDocumentHost(addresses.map(({ hostname }) => hostname))
  published.forEach((document, at) => documents.put(addresses[at]!.pathname, document))
  const [port, email] = [await freePort(), 'owner@people.test']
  const env = {
    PORT: String(port),
    METRICS_PORT: 'off',
    SVC_DATA_DIR: dataFolder,
    MANAGED_DATABASE_PORT: '0',
    SVC_ADMIN_EMAIL: email,
    SVC_ADMIN_PASSWORD: PASSWORD,
    ARGON2_MEMORY_KIB: '64',
    STOP_SECONDS: '1',
    ...settings,
  }
  const config = readConfig(env)
  const origin = `http://localhost:${port}`
  let aheadSeconds = 0
  const said: string[] = []
  const launch = () =>
    launchServer(
      { env, documents: { port: documents.port, certificate: documents.certificate }, aheadSeconds },
      said,
    )
  let server = await launch()

  const system = {
    system: { config },
    clock: { now: () => new Date(Date.now() + aheadSeconds * 1000) },
    as: (who) => httpClient(overNetwork(config.API_URL), who),
    origin,
  } as ListeningSystem

  return {
    origin,
    platform: `${origin}/platform`,
    email,
    documents,
    async approve(authorizationUrl) {
      const walker = newWalker(system, { overSockets: true })
      let page = await arrive(system, walker, { email } as Person, new URL(authorizationUrl))
      if (!page.location) page = await decide(system, walker, page)
      if (!page.location) throw new Error(`Nothing was answered (${page.status}): ${page.words}`)
      return page.location
    },
    async pass(seconds) {
      aheadSeconds += seconds
      const moved = new Promise((resolve) => server.once('message', resolve))
      server.send({ aheadSeconds } satisfies ClockMessage)
      await moved
    },
    async restart() {
      await stopServer(server)
      server = await launch()
    },
    async revokeAll() {
      const { token } = await system.as()(signInWithPassword, { email, password: PASSWORD })
      const call = system.as({ token })
      const { grants } = await call(listGrants, {})
      for (const { id } of grants) await call(revokeGrant, { grant_id: id })
      return grants.map(({ client_id }) => client_id)
    },
    tokensIssued: () =>
      said
        .join('')
        .split('\n')
        .filter((line) => line.includes('"route":"/oauth/token"') && line.includes('"status":200')).length,
    async stop() {
      await stopServer(server)
      documents.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function launchServer(settings: ServerSettings, said: string[]): Promise<ChildProcess> {
  const server = fork(SERVER, [JSON.stringify(settings)], {
    env: { PATH: process.env['PATH'], HOME: settings.env['SVC_DATA_DIR'] },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let mine = ''
  await new Promise<void>((resolve, reject) => {
    const hear = (text: string) => {
      said.push(text)
      mine += text
      if (/"event":"ready"/.test(mine)) resolve()
    }
    server.stdout!.setEncoding('utf8').on('data', hear)
    server.stderr!.setEncoding('utf8').on('data', hear)
    server.once('exit', (code) => reject(new Error(`The server ended with ${code}: ${mine}`)))
  })
  return server
}

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return
  const ended = new Promise<number | null>((resolve) => server.once('exit', resolve))
  server.kill('SIGTERM')
  const code = await ended
  if (code !== 0) throw new Error(`The server stopped with ${code}`)
}
