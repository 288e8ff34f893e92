/** Puts a process together: its database, what its services share, and each service. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect, connectEmbedded, type Connection } from '../../db/connect.ts'
import type { Embedded } from '../../db/embedded.ts'
import { isMigrated, migrate } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import { openReplica, type Replica } from '../../db/replica.ts'
import type { NodeHandler } from '../../oauth/connector/connector-handler.ts'
import type { Service } from '../client/service.ts'
import { REMOTE_ANSWER_SECONDS } from '../contracts/limits.ts'
import { ENDINGS_PROMISES, type EndingsPromise } from '../contracts/endings.ts'
import { warnOfUndeclared } from '../cores/declared-rows.ts'
import { keepUnsettledEndings, watchTimeline, type TimelineWatch } from '../cores/endings/index.ts'
import { standbyWarnings } from '../cores/installation/index.ts'
import { watchProcess, type ProcessWatch } from '../cores/receipts/index.ts'
import { beginInstallationEpoch, writeKeyEpoch } from '../cores/key-epoch.ts'
import { prepareMonths } from '../cores/partitions.ts'
import type { Readiness } from '../http/health.ts'
import { marksIn, oldReads } from '../http/old-reads.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { noTracing } from '../observe/tracing-port.ts'
import { createOpenAnswers, type OpenAnswers } from '../trust/open-answers.ts'
import { createAdmission, type Admission } from './admission.ts'
import { createChannelAdapters } from './channel-adapters.ts'
import type { Config, ServiceName } from './config.ts'
import type { Running } from './running.ts'
import { readModelDir } from './model-dir.ts'
import { openJournal } from './open-journal.ts'
import { openTrailRoots } from './open-trail-roots.ts'
import { readSecrets } from './secrets.ts'
import { SERVICES } from './services.ts'
import { share, type Overrides, type Shared } from './shared.ts'
import { VERSION } from './version.ts'

export type { Overrides } from './shared.ts'

export type System = {
  readonly config: Config
  /** The services in this process that answer requests. */
  readonly services: ReadonlyMap<ServiceName, Service>
  /** For paths whose library needs Node's own request and response. */
  readonly nodeHandlers: ReadonlyMap<ServiceName, NodeHandler>
  readonly readiness: Readiness
  readonly metrics: Metrics | undefined
  readonly log: Logger
  /** When requests start, for every service that answers any. */
  readonly admission: Admission
  /** What it has open, and for whom. */
  readonly answers: OpenAnswers
  /** A process without a database has called: receipts of endings wait for its answers. Undefined: it is known. */
  noteRemote(): Promise<void> | undefined
  /** Where the api-gateway runs. */
  readonly managed: Running['managed']
  readonly gateway: Running['gateway']
  /** Where the auth service runs. */
  readonly auth: Running['auth']
  /** Begins what services do by themselves; once, when the port is open. */
  startJobs(): void
  stop(): Promise<void>
}

const STANDBY_REMEDY = 'a synchronous standby, see docs/operating.md#standbys'

const MIGRATIONS = fileURLToPath(new URL('../../db/migrations', import.meta.url))

/** Imported lazily, so a worker never loads a page. */
const BUILDERS: Record<ServiceName, () => Promise<(shared: Shared) => Running>> = {
  'api-gateway': async () => (await import('./build-gateway.ts')).buildGateway,
  'auth-service': async () => (await import('./build-auth-service.ts')).buildAuthService,
  'deploy-api': async () => (await import('./build-deploy-api.ts')).buildDeployApi,
  'mcp-server': async () => (await import('./build-mcp-server.ts')).buildMcpServer,
  console: async () => (await import('./build-console.ts')).buildConsole,
  site: async () => (await import('./build-site.ts')).buildSite,
  worker: async () => (await import('./build-worker.ts')).buildWorker,
  'agent-runner': async () => (await import('./build-agent-runner.ts')).buildAgentRunner,
}

type Closers = (() => Promise<void> | void)[]

export async function createSystem(config: Config, log: Logger, overrides: Overrides = {}): Promise<System> {
  const closers: Closers = []
  const stop = async () => {
    for (const close of closers.splice(0).toReversed()) await close()
  }
  try {
    return { ...(await build(config, log, overrides, closers)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function build(
  config: Config,
  log: Logger,
  overrides: Overrides,
  closers: Closers,
): Promise<Omit<System, 'stop'>> {
  const closing = <T extends { close(): Promise<void> | void }>(part: T): T => {
    closers.push(() => part.close())
    return part
  }
  const secrets = await readSecrets(config)
  const admission = createAdmission()
  const observed = {
    log,
    admission,
    clock: overrides.clock ?? (() => new Date()),
    ...(overrides.deadlineMs !== undefined && { deadlineMs: overrides.deadlineMs }),
    ...(await observe(config)),
  }
  closers.push(() => observed.tracing.stop())

  // Loaded while the database opens in its own thread: a start takes as long as the slower of the two.
  const builders = await Promise.all(
    [...new Set(config.SVC_SERVICES)].map(async (name) => [name, await BUILDERS[name]()] as const),
  )
  const migrations = await readMigrations(MIGRATIONS)
  const usesDatabase = config.SVC_SERVICES.some((name) => SERVICES[name].usesDatabase)
  const usesChannels = config.SVC_SERVICES.some((name) => name === 'api-gateway' || name === 'worker')
  const answers = createOpenAnswers(undefined, usesDatabase ? undefined : REMOTE_ANSWER_SECONDS * 1000)
  const connection = usesDatabase
    ? (overrides.connection ?? closing(await openDatabase(config, log, overrides.embedded)))
    : undefined
  if (connection && !overrides.connection)
    warnOfUndeclared(connection.db, (error) => log.warn('a verb left what it does not declare', { error }))
  if (connection?.kind === 'postgres' && !overrides.connection) {
    await warnOfEndlessStatements(connection, log)
    for (const text of await standbyWarnings(connection.db)) log.warn(text, { remedy: STANDBY_REMEDY })
  }

  const replica = await openOld(config, connection, closing)
  const unsettled = connection && closing(keepUnsettledEndings({ db: connection.db, ...observed }))
  const observation = { ...observed, ...(unsettled && { untilEnded: () => unsettled.untilEnded() }) }

  const running = new Map<ServiceName, Running>()
  const shared = share({
    config,
    overrides,
    observation,
    secrets,
    connection,
    oldReads: replica && oldReads(replica, marksIn({ db: connection!.db, clock: observed.clock })),
    channelAdapters: usesChannels ? closing(await createChannelAdapters(config)) : undefined,
    modelFolder: config.SVC_SERVICES.includes('api-gateway') ? await readModelDir(config) : undefined,
    trailRoots: await openTrailRoots(config, observed.clock),
    answers,
    running,
    closing,
  })
  for (const [name, start] of builders) running.set(name, start(shared))

  let timeline: TimelineWatch | undefined
  let own: ProcessWatch | undefined
  // The last step, because until here the embedded database may still be opening.
  if (connection) {
    await overrides.embedded
    const { applied, newer } = await migrate(connection.sql, migrations)
    if (applied.length > 0) log.info('migrations applied', { migrations: applied })
    if (newer.length > 0) log.warn('the database is newer than this program', { migrations: newer })
    timeline = await watchEndings(config, connection, observation, closers)
    own = closing(await watchProcess({ ...observed, db: connection.db, dataKeys: shared.dataKeys, answers }))
    await prepareMonths({ db: connection.db, partitions: connection.kind === 'postgres' }).catch(
      // Rows are kept all the same, and the worker tries again.
      (error: unknown) => log.warn('partitions were not made', { error }),
    )
    const auth = running.get('auth-service')?.auth
    if (auth) await writeKeyEpoch(connection.db, auth.keyEpoch)
    else if (shared.hosted && running.has('deploy-api')) await beginInstallationEpoch(connection.db)
  }

  const ask = connection && sharedFor(SHARED_MS, () => askDatabase(connection, migrations, timeline))
  return {
    config,
    services: existing(running, 'service'),
    nodeHandlers: existing(running, 'nodeHandler'),
    readiness: () => readiness(connection, ask, running, admission),
    metrics: observation.metrics,
    log,
    admission,
    answers,
    noteRemote: () => own?.noteRemote(),
    managed: running.get('api-gateway')?.managed,
    gateway: running.get('api-gateway')?.gateway,
    auth: running.get('auth-service')?.auth,
    startJobs() {
      for (const { startJobs } of running.values()) {
        const jobs = startJobs?.()
        if (jobs) closers.push(() => jobs.stop())
      }
    },
  }
}

async function observe(config: Config) {
  const { METRICS_PORT, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = config
  const metrics = METRICS_PORT === 'off' ? undefined : (await import('../observe/metrics.ts')).createMetrics()
  const tracing = endpoint
    ? (await import('../observe/tracing.ts')).startTracing({ endpoint, headers, version: VERSION })
    : noTracing
  return { metrics, tracing }
}

const existing = <Part extends 'service' | 'nodeHandler'>(
  running: ReadonlyMap<ServiceName, Running>,
  part: Part,
): ReadonlyMap<ServiceName, NonNullable<Running[Part]>> =>
  new Map([...running].flatMap(([name, { [part]: found }]) => (found ? [[name, found] as const] : [])))

async function openDatabase(
  config: Config,
  log: Logger,
  embedded: Promise<Embedded> | undefined,
): Promise<Connection> {
  if (config.DATABASE_URL !== undefined) {
    return connect(
      { url: config.DATABASE_URL },
      {
        poolSize: config.DATABASE_POOL,
        prepare: config.DATABASE_PREPARE,
        listenUrl: config.DATABASE_LISTEN_URL,
        onListening: (state, because) =>
          state === 'listening'
            ? log.info('work is heard of: listening')
            : log.warn('work is not heard of: polling', {
                because,
                remedy: 'DATABASE_LISTEN_URL, see docs/operating.md#poolers',
              }),
      },
    )
  }
  return embedded ? connectEmbedded(embedded) : connect({ folder: config.SVC_DATA_DIR })
}

async function openOld(
  config: Config,
  connection: Connection | undefined,
  closing: (replica: Replica) => Replica,
): Promise<Replica | undefined> {
  if (!config.DATABASE_REPLICA_URL || connection?.kind !== 'postgres') return undefined
  const { DATABASE_POOL: poolSize, DATABASE_PREPARE: prepare } = config
  return closing(await openReplica(config.DATABASE_REPLICA_URL, connection, { poolSize, prepare }))
}

/** We ask for a limit with each connection, and a pooler in between keeps that to itself. */
async function warnOfEndlessStatements({ sql }: Connection, log: Logger): Promise<void> {
  const [row] = await sql.query<{ limit: string }>(`select current_setting('statement_timeout') as limit`)
  if (row?.limit !== '0') return
  log.warn('statements have no time limit', {
    remedy: 'ALTER ROLE ... SET statement_timeout, see docs/operating.md#poolers',
  })
}

/** Before anybody is answered: what the database has lost since is ended again. */
async function watchEndings(
  config: Config,
  { db, server }: Connection,
  { clock, log }: { readonly clock: () => Date; readonly log: Logger },
  closers: Closers,
): Promise<TimelineWatch | undefined> {
  if (!server) return undefined
  const journal = await openJournal(config, { clock, log })
  if (journal) closers.push(() => journal.close())
  const timeline = await watchTimeline({ connection: { db, server }, clock, log, journal })
  closers.push(() => timeline.close())
  const promise = await timeline.promise()
  log.info(`revoked and ended credentials ${ENDINGS_PROMISES[promise]}`, { endings: promise })
  return timeline
}

async function mayWrite({ sql }: Connection): Promise<boolean> {
  const [row] = await sql.query<{ mode: string }>(`select current_setting('transaction_read_only') as mode`)
  return row?.mode === 'off'
}

/** Whoever asks whether it is ready takes no answer for a no, and asks again. */
const READY_MS = 1_000

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const answered = new AbortController()
  const late = sleep(READY_MS, undefined, { signal: answered.signal }).then(() => {
    throw new Error('no answer')
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    answered.abort()
  }
}

/** Whoever asks while it is being asked, or within a second of it, has the same answer: any number of probes costs as much as one. */
const SHARED_MS = 1_000

function sharedFor<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let known: { readonly answer: Promise<T>; readonly until: number } | undefined
  return () => {
    if (!known || performance.now() > known.until) known = { answer: ask(), until: performance.now() + ms }
    return known.answer
  }
}

type OfDatabase = {
  readonly isWritable: boolean
  readonly isMigrated: boolean
  readonly warnings: readonly string[]
  readonly endings: EndingsPromise | undefined
}

async function askDatabase(
  connection: Connection,
  migrations: Awaited<ReturnType<typeof readMigrations>>,
  timeline: TimelineWatch | undefined,
): Promise<OfDatabase> {
  const asked = Promise.all([
    mayWrite(connection),
    isMigrated(connection.sql, migrations),
    connection.kind === 'postgres' ? standbyWarnings(connection.db) : [],
    timeline?.promise(),
  ])
  // The embedded one has a single session, which may be busy.
  const answers = await (connection.kind === 'postgres' ? inTime(asked) : asked)
  return { isWritable: answers[0], isMigrated: answers[1], warnings: answers[2], endings: answers[3] }
}

/** `ask`: undefined without a database. */
async function readiness(
  connection: Connection | undefined,
  ask: (() => Promise<OfDatabase>) | undefined,
  running: ReadonlyMap<ServiceName, Running>,
  admission: Admission,
): ReturnType<Readiness> {
  if (!connection || !ask) return { ready: true, warnings: admission.warnings() }
  try {
    const { isWritable, isMigrated, warnings: ofStandbys, endings } = await ask()
    if (!isWritable) return { ready: false, because: 'the database takes no writes' }
    if (!isMigrated) return { ready: false, because: 'migrations are not applied' }
    const ofServices = [...running.values()].flatMap((service) => service.warnings?.() ?? [])
    const warnings = [...ofStandbys, ...ofServices, ...admission.warnings()]
    return { ready: true, work: connection.listener.state(), endings, warnings }
  } catch {
    return { ready: false, because: 'the database cannot be reached' }
  }
}
