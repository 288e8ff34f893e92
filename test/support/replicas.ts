/**
 * An installation of many processes: four each of the services that people and assistants meet, one of each of the rest,
 * one Postgres behind them, and HAProxy in front of all of them and between them. Every service has a place more than it
 * has processes, so that the next one is there before the one before it goes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Connection } from '../../db/connect.ts'
import { readConfig, SERVICE_NAMES, type ServiceName } from '../../src/boot/config.ts'
import { httpClient } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import type { ListeningSystem } from './assistant.ts'
import { freePort } from './free-port.ts'
import { startHaproxy, type Haproxy } from './haproxy.ts'
import { startPostgres, type TestPostgres } from './postgres.ts'
import { processes, type Env, type Processes, type ServerProcess } from './process.ts'
import { freshSecrets } from './system.ts'

/** Those that run once are run once by most. */
const REPLICAS: Readonly<Record<ServiceName, number>> = {
  'auth-service': 4,
  'api-gateway': 4,
  'mcp-server': 4,
  worker: 4,
  'deploy-api': 1,
  'agent-runner': 1,
  console: 1,
  site: 1,
}

const WITH_DATABASE: ReadonlySet<ServiceName> = new Set([
  'auth-service',
  'api-gateway',
  'deploy-api',
  'worker',
])

/** A check that is passed, on a busy machine. */
const UP_MS = 20_000

export type Replica = ServerProcess & { readonly service: ServiceName }

export type Installation = {
  readonly postgres: TestPostgres
  readonly databaseUrl: string
  readonly dataKey: string
  readonly connection: Connection
  readonly haproxy: Haproxy
  readonly own: Processes
  /** Through HAProxy, as people and assistants see it. */
  readonly system: ListeningSystem
  readonly replicas: (service?: ServiceName) => Replica[]
  /** Another one, once a place is free; resolves when HAProxy sends requests to it. `launcher`: of another version. */
  readonly start: (service: ServiceName, launcher?: string) => Promise<Replica>
  /** It has ended, or is about to: its place is free for another one once it has. */
  readonly forget: (replica: Replica) => void
  readonly stop: () => Promise<void>
}

export async function startInstallation(haproxyProgram: string, settings: Env): Promise<Installation> {
  const own = processes()
  const [postgres, folder] = await Promise.all([startPostgres(), own.newFolder()])
  const places = {} as Record<ServiceName, number[]>
  for (const service of SERVICE_NAMES) {
    places[service] = await Promise.all(Array.from({ length: REPLICAS[service] + 1 }, freePort))
  }
  const [front, auth, gateway, deploy, runner] = await Promise.all(Array.from({ length: 5 }, freePort))
  const haproxy = await startHaproxy(haproxyProgram, folder, {
    backends: places,
    frontends: [
      {
        port: front!,
        backend: 'console',
        paths: [
          ['/api', 'api-gateway'],
          ['/v1/', 'api-gateway'],
          ['/oauth/', 'auth-service'],
          ['/auth/', 'auth-service'],
          ['/.well-known/oauth-authorization-server', 'auth-service'],
          ['/.well-known/openid-configuration', 'auth-service'],
          ['/.well-known/agent-skills', 'site'],
          ['/platform', 'mcp-server'],
          ['/notifications', 'mcp-server'],
          ['/.well-known/', 'mcp-server'],
        ],
      },
      // Between services: by the same rules, whoever calls.
      { port: auth!, backend: 'auth-service' },
      { port: gateway!, backend: 'api-gateway' },
      { port: deploy!, backend: 'deploy-api' },
      { port: runner!, backend: 'agent-runner' },
    ],
  })
  const origin = `http://localhost:${front}`
  const { JWT_SECRET, JWT_SIGNING_KEY, ACTOR_ASSERTION_SECRET, DATA_KEY } = freshSecrets()
  const shared: Env = {
    APP_URL: origin,
    API_URL: origin,
    AUTH_URL: origin,
    MCP_URL: origin,
    AUTH_SERVICE_URL: `http://127.0.0.1:${auth}`,
    GATEWAY_URL: `http://127.0.0.1:${gateway}`,
    DEPLOY_URL: `http://127.0.0.1:${deploy}`,
    AGENT_RUNNER_URL: `http://127.0.0.1:${runner}`,
    TRUSTED_PROXIES: '127.0.0.1',
    SVC_ORG: 'Replicas',
    ARGON2_MEMORY_KIB: '64',
    ...settings,
  }
  const AGENT_RUNNER_SECRET = 'c5'.repeat(32)
  const secrets: Readonly<Record<ServiceName, Env>> = {
    'auth-service': { JWT_SECRET, JWT_SIGNING_KEY, ACTOR_ASSERTION_SECRET },
    'api-gateway': { DATA_KEY },
    'mcp-server': { JWT_SECRET, ACTOR_ASSERTION_SECRET },
    worker: { DATA_KEY, AGENT_RUNNER_SECRET },
    'deploy-api': { DATA_KEY, AGENT_RUNNER_SECRET },
    'agent-runner': { AGENT_RUNNER_SECRET },
    console: {},
    site: {},
  }
  const running = new Set<Replica>()
  const taken = new Set<number>()
  const untilUp = async (service: ServiceName, port: number) => {
    const deadline = AbortSignal.timeout(UP_MS)
    while (!(await haproxy.serversUp(service)).includes(port)) {
      if (deadline.aborted) throw new Error(`HAProxy does not take ${service} for ready`)
      await sleep(50)
    }
  }
  const freePlace = async (service: ServiceName): Promise<number> => {
    for (;;) {
      const port = places[service].find((place) => !taken.has(place))
      if (port !== undefined) {
        taken.add(port)
        return port
      }
      await sleep(50)
    }
  }
  const start = async (service: ServiceName, launcher?: string): Promise<Replica> => {
    const port = await freePlace(service)
    const env = {
      ...shared,
      ...secrets[service],
      ...(WITH_DATABASE.has(service) && { DATABASE_URL: postgres.url }),
      SVC_SERVICES: service,
      PORT: String(port),
    }
    const replica = { ...(await own.start({ env, ...(launcher && { launcher }) })), service }
    void replica.exited.then(() => taken.delete(port))
    running.add(replica)
    await untilUp(service, port)
    return replica
  }
  // It takes every server for ready until the first checks have failed.
  for (const service of SERVICE_NAMES) while ((await haproxy.serversUp(service)).length > 0) await sleep(50)
  // The first of them migrates.
  await start('auth-service')
  for (const service of SERVICE_NAMES) {
    const missing = REPLICAS[service] - [...running].filter((one) => one.service === service).length
    await Promise.all(Array.from({ length: missing }, () => start(service)))
  }
  const connection = await connect({ url: postgres.url }, { poolSize: 5 })
  const config = readConfig({ ...shared, PORT: String(front) })
  return {
    postgres,
    databaseUrl: postgres.url,
    dataKey: DATA_KEY,
    connection,
    haproxy,
    own,
    system: {
      system: { config },
      db: connection.db,
      clock: { now: () => new Date() },
      as: (who) => httpClient(overNetwork(config.API_URL), who),
      origin,
    } as ListeningSystem,
    replicas: (service) => [...running].filter((one) => service === undefined || one.service === service),
    start,
    forget: (replica) => void running.delete(replica),
    async stop() {
      await haproxy.stop()
      await own.cleanUp()
      await connection.close()
      await postgres.stop()
    },
  }
}
