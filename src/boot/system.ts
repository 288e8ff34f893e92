/** Builds the dependencies of every service, once, from top to bottom: the one place that knows them all. */
import { fileURLToPath } from 'node:url'
import { connect, connectEmbedded, type Connection } from '../../db/connect.ts'
import type { Embedded } from '../../db/embedded.ts'
import type { NodeHandler } from '../../oauth/connector/connector-handler.ts'
import { isMigrated, migrate } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import { apiServer } from '../adapters/cluster/api-server.ts'
import { createEmbeddingModels } from '../adapters/embeddings/index.ts'
import type { AskModel } from '../agent-runner/do-run.ts'
import { guardedFetch } from '../adapters/outbound/guarded-fetch.ts'
import { httpProbes } from '../adapters/outbound/http-probe.ts'
import { proxiedFetch } from '../adapters/outbound/proxied-fetch.ts'
import { outboundProxy } from '../adapters/outbound/proxy.ts'
import { createLineMatcher } from '../adapters/log-matching/index.ts'
import { createSourceThread } from '../adapters/source-thread/index.ts'
import { smtpMail } from '../adapters/mail/smtp.ts'
import { argon2Passwords } from '../adapters/passwords/argon2.ts'
import { createSignInProviders } from '../adapters/sign-in/providers.ts'
import { createChannelAdapters } from './channel-adapters.ts'
import { agentClient } from '../client/agent-client.ts'
import { askModelAt } from '../client/ask-model.ts'
import { overNetwork, type CallInProcess, type Service } from '../client/service.ts'
import type { Config, ServiceName } from './config.ts'
import { ServiceError } from '../contracts/errors.ts'
import { TOKEN_REVIEWS } from '../contracts/limits.ts'
import type { Clock, GuardedFetch, Message } from '../cores/dependencies.ts'
import type { HttpProbe, JudgePort } from '../cores/checks/index.ts'
import { createProviderKeys } from '../cores/identity-provider/index.ts'
import { createTextEmbedding } from '../cores/embeddings/index.ts'
import { localDirectory, validatedDirectory } from '../cores/directory/index.ts'
import type { ChannelPorts, ChatApp, IntegrationChecks } from '../cores/notifications/index.ts'
import { createLogReads } from '../cores/logs/index.ts'
import { createTurns } from '../cores/work/index.ts'
import { FAIR_QUEUES } from '../contracts/fair-queues.ts'
import { createTableInfoCache, type EmbeddingModels } from '../cores/search/index.ts'
import {
  checkPermission,
  createTokenReviews,
  PROBLEM_TEXTS,
  type Cluster,
  type Workloads,
} from '../cores/workloads/index.ts'
import type { Readiness } from '../http/health.ts'
import {
  createManaged,
  openTenantServer,
  publicConnectRevoker,
  tenantLimitsOf,
  type Managed,
} from './managed-databases.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { noTracing } from '../observe/tracing-port.ts'
import { readSecrets, type Secrets } from './secrets.ts'
import { judgePort, modelAsker, offeredModels } from './maintenance-models.ts'
import { SERVICES, type Deps, type Running } from './services.ts'
import { allowsPasswords, providerSettings, signInUrlOf } from './sign-in-settings.ts'
import { accessTokens } from '../trust/access-token.ts'
import { actorAssertions } from '../trust/actor-assertion.ts'
import { agentRunnerTokens } from '../trust/agent-runner-token.ts'
import { dataKeys } from '../trust/data-key.ts'
import { deriveKey, keyEpochOf, type KeyPurpose } from '../trust/derive-key.ts'
import { runIdentities } from '../trust/run-identity.ts'
import { userTokens } from '../trust/user-token.ts'
import { siteSkills } from './site-skills.ts'
import { readPublishedSkills } from '../skills/read-published.ts'
import { VERSION } from './version.ts'

export type System = {
  readonly config: Config
  /** The services in this process that answer requests. */
  readonly services: ReadonlyMap<ServiceName, Service>
  /** For paths whose library needs Node's own request and response. */
  readonly nodeHandlers: ReadonlyMap<ServiceName, NodeHandler>
  readonly readiness: Readiness
  readonly metrics: Metrics | undefined
  readonly log: Logger
  /** Managed databases, where the api-gateway runs. */
  readonly managed: Managed | undefined
  /** The dependencies of the api-gateway, for the sample; undefined where it does not run. */
  readonly gateway: ReturnType<Deps['api-gateway']> | undefined
  /** The dependencies of the auth service, for the first run; undefined where it does not run. */
  readonly auth: ReturnType<Deps['auth-service']> | undefined
  /** Begins what services do by themselves; once, when the port is open. */
  startJobs(): void
  stop(): Promise<void>
}

/** What tests replace. */
export type Overrides = {
  readonly clock?: Clock
  readonly connection?: Connection
  /** The embedded engine, when it was opened before this module was loaded. */
  readonly embedded?: Promise<Embedded> | undefined
  readonly mail?: ((message: Message) => Promise<void>) | null
  readonly passwords?: ReturnType<typeof argon2Passwords>
  readonly guardedFetch?: GuardedFetch
  readonly models?: EmbeddingModels
  /** What connecting a channel asks of the outside. */
  readonly checks?: IntegrationChecks
  readonly chatApp?: ChatApp | null
  readonly channels?: ChannelPorts
  readonly probeHttp?: HttpProbe
  readonly judge?: JudgePort
  /** What the agent-runner asks instead of a provider. */
  readonly askModel?: AskModel
  /** The cluster that this process runs in, and the namespaces of organizations that are not known at the start. */
  readonly cluster?: Cluster
  readonly workloadNamespaces?: ReadonlyMap<string, readonly string[]>
  /** Calls a service of another process. */
  readonly network?: (base: URL) => Service
}

/** Longer than a judge waits for its model. */
const JUDGE_TIMEOUT_MS = 100_000

const MIGRATIONS = fileURLToPath(new URL('../../db/migrations', import.meta.url))

export async function createSystem(config: Config, log: Logger, overrides: Overrides = {}): Promise<System> {
  const closers: (() => Promise<void> | void)[] = []
  const stop = async () => {
    for (const close of closers.splice(0).toReversed()) await close()
  }
  try {
    return await build(config, log, overrides, closers, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

async function build(
  config: Config,
  log: Logger,
  overrides: Overrides,
  closers: (() => Promise<void> | void)[],
  stop: () => Promise<void>,
): Promise<System> {
  const clock = overrides.clock ?? (() => new Date())
  const runs = new Set(config.SVC_SERVICES)
  const usesDatabase = config.SVC_SERVICES.some((name) => SERVICES[name].usesDatabase)

  const secrets = await readSecrets(config)
  const keyFor = derivedKeys(secrets)

  const metrics =
    config.METRICS_PORT === 'off' ? undefined : (await import('../observe/metrics.ts')).createMetrics()
  const tracing = config.OTEL_EXPORTER_OTLP_ENDPOINT
    ? (await import('../observe/tracing.ts')).startTracing({
        endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
        version: VERSION,
      })
    : noTracing
  closers.push(() => tracing.stop())
  const observation = { log, metrics, tracing, clock }

  // Loaded while the database opens in its own thread: a start takes as long as the slower of the two.
  const starters = await Promise.all(
    [...runs].map(async (name) => [name, await SERVICES[name].load()] as const),
  )

  const migrations = await readMigrations(MIGRATIONS)
  const connection = usesDatabase
    ? (overrides.connection ?? (await openDatabase(config, log, overrides.embedded)))
    : undefined
  if (connection && !overrides.connection) {
    closers.push(() => connection.close())
    if (connection.kind === 'postgres') await warnOfEndlessStatements(connection, log)
  }
  const directory = config.AUTH_MODE === 'hosted' ? validatedDirectory(clock) : localDirectory
  const storage = () => ({ db: connection!.db, clock, directory })

  const keysForData = secrets.DATA_KEY ? dataKeys(secrets.DATA_KEY) : undefined
  const proxy = config.HTTPS_PROXY && outboundProxy(config.HTTPS_PROXY, config.NO_PROXY)
  const fetchGuarded = overrides.guardedFetch ?? guardedFetch({ proxy })
  // One for the process: what it holds limits how often we ask.
  const providerKeys = createProviderKeys({ guardedFetch: fetchGuarded, clock })
  const models = runs.has('api-gateway')
    ? (overrides.models ??
      createEmbeddingModels(config.EMBEDDING_MODELS, {
        fetch: proxiedFetch(proxy),
        threadsMax: config.EMBEDDING_THREADS,
      }))
    : undefined
  if (models && !overrides.models) closers.push(() => models.close())
  const embedTexts = models && createTextEmbedding(models)
  const managed =
    runs.has('api-gateway') && connection
      ? createManaged({ config, connection, dataKeys: keysForData!, log })
      : undefined
  if (managed) closers.push(() => managed.close())

  const tenantServer = runs.has('worker') ? openTenantServer(config) : undefined
  if (tenantServer) closers.push(() => tenantServer.close())

  const sourceThread = runs.has('deploy-api') ? createSourceThread() : undefined
  if (sourceThread) closers.push(() => sourceThread.close())

  const channelAdapters =
    runs.has('api-gateway') || runs.has('worker') ? await createChannelAdapters(config) : undefined
  if (channelAdapters) closers.push(() => channelAdapters.close())

  const httpProbe =
    runs.has('worker') && !overrides.probeHttp
      ? httpProbes({ allowNets: config.CHECKS_ALLOW_NETS, userAgent: `svc/${VERSION}` })
      : undefined
  if (httpProbe) closers.push(() => httpProbe.close())
  const lineMatcher = runs.has('worker') ? createLineMatcher() : undefined
  if (lineMatcher) closers.push(() => lineMatcher.close())
  // Apart from that of checks: a slow expression of either holds up its own kind only.
  const sourceMatcher = runs.has('deploy-api') ? createLineMatcher() : undefined
  if (sourceMatcher) closers.push(() => sourceMatcher.close())

  const cluster = runs.has('auth-service') ? (overrides.cluster ?? ownCluster(config, closers)) : undefined
  const workloads: Workloads | undefined = cluster && {
    ...createTokenReviews({ cluster, audience: config.WORKLOAD_AUDIENCE, clock, log }),
    namespaces: overrides.workloadNamespaces ?? config.WORKLOAD_NAMESPACES,
  }

  const network = overrides.network ?? overNetwork
  const running = new Map<ServiceName, Running>()
  /** A service in this process is called as a function, any other by its address. Looked up per call, so the order does not matter. */
  const serviceAt = (name: ServiceName, address: URL, reach = network): Service =>
    Object.assign((request: Request) => (running.get(name)?.service ?? reach(address))(request), {
      callInProcess: ((operation, input, options) =>
        running.get(name)?.service?.callInProcess?.(operation, input, options)) satisfies CallInProcess,
    })
  const { JWT_SECRET, JWT_SIGNING_KEY } = secrets
  const keyEpoch =
    JWT_SECRET && JWT_SIGNING_KEY ? keyEpochOf({ jwtSecret: JWT_SECRET, jwtSigningKey: JWT_SIGNING_KEY }) : ''
  const assertions = secrets.ACTOR_ASSERTION_SECRET
    ? actorAssertions(secrets.ACTOR_ASSERTION_SECRET, config.AUTH_URL.origin)
    : undefined

  const runnerSecret =
    config.AGENT_RUNNER_SECRET ??
    (keysForData && Buffer.from(keysForData.keyFor('agent-runner')).toString('hex'))
  const runnerTokens = runnerSecret === undefined ? undefined : agentRunnerTokens(runnerSecret)

  const judge =
    overrides.judge ??
    judgePort({
      db: () => connection!.db,
      models: config.MAINTENANCE_MODELS,
      ask: askModelAt(
        serviceAt('agent-runner', config.AGENT_RUNNER_URL ?? config.API_URL, (address) =>
          overNetwork(address, { timeoutMs: JUDGE_TIMEOUT_MS }),
        ),
        async () => runnerTokens!.sign('agent-runner', clock()),
      ),
    })

  const servedOrganizations = config.AUTH_MODE === 'hosted' ? new Set(config.HOSTED_ORGS) : undefined
  const hosted = servedOrganizations && { assertions: assertions!, servedOrganizations }

  const deps: Deps = {
    'api-gateway': () => ({
      ...observation,
      ...storage(),
      ...managed!,
      dataKeys: keysForData!,
      models: models!,
      embedTexts: embedTexts!,
      embeddingTokensPerDay: config.EMBEDDING_TOKENS_PER_DAY,
      tableInfo: createTableInfoCache(),
      questionLimits: { perMinute: config.QUESTIONS_PER_MINUTE, perDay: config.QUESTIONS_PER_DAY },
      auth: serviceAt('auth-service', config.AUTH_SERVICE_URL ?? config.AUTH_URL),
      deploy:
        runs.has('deploy-api') || config.DEPLOY_URL
          ? serviceAt('deploy-api', config.DEPLOY_URL ?? config.API_URL)
          : unavailable,
      checks: overrides.checks ?? channelAdapters!.checks,
      chatApp: overrides.chatApp === undefined ? channelAdapters!.chatApp : overrides.chatApp,
      mail: overrides.mail === undefined ? mailOf(config) : overrides.mail,
      siteUrl: config.SITE_URL,
      mailFrom: config.SMTP_URL === undefined ? null : (config.MAIL_FROM ?? null),
      apiUrl: config.API_URL,
      appUrl: config.APP_URL,
      mcpUrl: config.MCP_URL,
      operatorToken: config.SVC_OPERATOR_TOKEN,
      version: VERSION,
      hosted,
    }),
    'deploy-api': () => ({
      ...observation,
      ...storage(),
      dataKeys: keysForData!,
      judge,
      maintenanceModels: offeredModels(config.MAINTENANCE_MODELS),
      runIdentities: runIdentities(keysForData!.keyFor('run-identity')),
      agentRunnerTokens: runnerTokens,
      findLines: sourceMatcher!.findLines,
      sourceSearches: createTurns(FAIR_QUEUES.sourceSearches),
      runLogReads: createLogReads(FAIR_QUEUES.runLogSearches),
      auth: serviceAt('auth-service', config.AUTH_SERVICE_URL ?? config.AUTH_URL),
      hosted,
      workloadAudience: hosted ? undefined : config.SVC_WORKLOAD_AUDIENCE || undefined,
      sourceThread: sourceThread!,
      sourceStorageBytes: config.SOURCE_STORAGE_MIB * 1024 * 1024,
      logReads: createLogReads(),
      logLimits: {
        linesPerMinute: config.LOG_LINES_PER_MINUTE,
        bytesPerApp: config.LOG_MIB_PER_APP * 1024 * 1024,
      },
    }),
    'auth-service': () => ({
      ...observation,
      ...storage(),
      keyFor,
      userTokens: userTokens(keyFor('user-token'), config.AUTH_URL.origin),
      actorAssertions: assertions,
      workloads,
      keyEpoch,
      mcpCallsPerMinute: config.MCP_CALLS_PER_MINUTE,
      issuer: config.AUTH_URL,
      mcpUrl: config.MCP_URL,
      signInUrl: signInUrlOf(config),
      jwtSecret: secrets.JWT_SECRET ?? '',
      jwtSigningKey: secrets.JWT_SIGNING_KEY ?? '',
      guardedFetch: fetchGuarded,
      loopbackPorts: config.OAUTH_LOOPBACK_PORTS,
      registrationOpen: config.OAUTH_DCR,
      // With exact loopback ports the clients that use documents could not connect, so they are not offered.
      documentsOpen: config.OAUTH_CIMD && config.OAUTH_LOOPBACK_PORTS !== 'exact',
      providerKeys,
      enterpriseAuth: config.ENTERPRISE_AUTH,
      refreshGraceSeconds: config.OAUTH_REFRESH_GRACE_S,
      privateSchemes: config.OAUTH_PRIVATE_REDIRECTS,
      passwords: overrides.passwords ?? argon2Passwords({ memoryKib: config.ARGON2_MEMORY_KIB, passes: 2 }),
      passwordSignIn: allowsPasswords(config),
      mail: overrides.mail === undefined ? mailOf(config) : overrides.mail,
      providers: createSignInProviders(providerSettings(config), { fetch: proxiedFetch(proxy) }),
      operatorToken: config.SVC_OPERATOR_TOKEN,
      organizationsPerPerson: config.ORGANIZATIONS_PER_PERSON,
      returnBases: [
        config.APP_URL,
        config.AUTH_URL,
        config.REDIRECT_BASE_URL ?? config.APP_URL,
        ...config.ALLOWED_REDIRECT_BASE_URLS.map((url) => new URL(url)),
      ],
      appUrl: config.APP_URL,
      pagesUrl: config.REDIRECT_BASE_URL ?? config.APP_URL,
    }),
    console: () => ({
      ...observation,
      gateway: serviceAt('api-gateway', config.GATEWAY_URL ?? config.API_URL),
      appUrl: config.APP_URL,
      apiUrl: config.API_URL,
      mcpUrl: config.MCP_URL,
      authUrl: config.AUTH_URL,
      authMode: config.AUTH_MODE,
      signInUrl: signInUrlOf(config),
      version: VERSION,
    }),
    site: () => ({
      ...observation,
      gateway: serviceAt('api-gateway', config.GATEWAY_URL ?? config.API_URL),
      ...siteSkills(config),
      consoleUrl: new URL('/console', config.APP_URL),
    }),
    'mcp-server': () => ({
      ...observation,
      skills: readPublishedSkills(),
      auth: serviceAt('auth-service', config.AUTH_SERVICE_URL ?? config.AUTH_URL),
      gateway: serviceAt('api-gateway', config.GATEWAY_URL ?? config.API_URL),
      mcpUrl: config.MCP_URL,
      appUrl: config.APP_URL,
      stepUp: config.MCP_STEP_UP,
      issuer: config.AUTH_URL,
      authMode: config.AUTH_MODE,
      enterpriseAuth: config.ENTERPRISE_AUTH,
      servedOrganizations,
      // With hosted auth there is no such secret, and the MCP server verifies no such token.
      accessTokens: accessTokens(secrets.JWT_SECRET ?? '', config.AUTH_URL.origin),
      actorAssertions: assertions!,
      allowedOrigins: config.MCP_ALLOWED_ORIGINS,
      version: VERSION,
    }),
    'agent-runner': () => ({
      ...observation,
      agentRunnerTokens: runnerTokens!,
      models: config.MAINTENANCE_MODELS,
      askModel: overrides.askModel ?? modelAsker(proxiedFetch(proxy)),
      call: agentClient(serviceAt('deploy-api', config.DEPLOY_URL ?? config.API_URL)),
      runsAtOnce: config.MAINTENANCE_RUNS_AT_ONCE,
    }),
    worker: () => ({
      ...storage(),
      log,
      metrics,
      channels: overrides.channels ?? channelAdapters!.channels,
      dataKeys: keysForData!,
      probeHttp: overrides.probeHttp ?? httpProbe!.probe,
      matchLines: lineMatcher!.matchLines,
      // Without a way to the agent-runner nothing can be judged here.
      judge: overrides.judge || runs.has('agent-runner') || config.AGENT_RUNNER_URL ? judge : null,
      appUrl: config.APP_URL,
      siteUrl: config.SITE_URL,
      mail: overrides.mail === undefined ? mailOf(config) : overrides.mail,
      observeAttempt: metrics && ((channel, outcome) => metrics.observeAttempt(channel, outcome)),
      activityDays: config.ACTIVITY_DAYS,
      deliveryDays: config.DELIVERY_DAYS,
      sourceStorageBytes: config.SOURCE_STORAGE_MIB * 1024 * 1024,
      partitionsLogs: connection!.kind === 'postgres',
      revokePublicConnect: publicConnectRevoker(config, connection!.db, log),
      refreshDocuments: async (stopping) => {
        if (!config.ENTERPRISE_AUTH || !config.OAUTH_CIMD) return
        const { refreshDocuments } = await import('../../oauth/refresh-documents.ts')
        await refreshDocuments({ ...storage(), guardedFetch: fetchGuarded, log }, stopping)
      },
      tenantServer,
      tenantLimits: tenantLimitsOf(config),
    }),
  }

  if (runs.has('worker')) {
    metrics?.observeQueue(async () =>
      (await import('../cores/notifications/index.ts')).readMessageQueue(storage()),
    )
  }
  for (const [name, start] of starters) {
    const service = start(deps)
    running.set(name, service)
  }

  // The last step, because until here the embedded database may still be opening.
  if (connection) {
    await overrides.embedded
    const { applied, newer } = await migrate(connection.sql, migrations)
    if (applied.length > 0) log.info('migrations applied', { migrations: applied })
    if (newer.length > 0) log.warn('the database is newer than this program', { migrations: newer })
  }

  return {
    config,
    services: new Map(
      [...running].flatMap(([name, { service }]) => (service ? [[name, service] as const] : [])),
    ),
    nodeHandlers: new Map(
      [...running].flatMap(([name, { nodeHandler }]) => (nodeHandler ? [[name, nodeHandler] as const] : [])),
    ),
    readiness: () => readiness(connection, migrations, workloads),
    metrics,
    log,
    managed,
    gateway: runs.has('api-gateway') ? deps['api-gateway']() : undefined,
    auth: runs.has('auth-service') ? deps['auth-service']() : undefined,
    startJobs() {
      for (const { startJobs } of running.values()) {
        const jobs = startJobs?.()
        if (jobs) closers.push(() => jobs.stop())
      }
    },
    stop,
  }
}

/** For the deploy-api without an address: its public one is the gateway's, which would call itself for ever. */
const unavailable: Service = async () => {
  throw new ServiceError('TIMEOUT', 'A service that this request needs does not run here', {
    cause: 'DEPLOY_URL is not set, and the deploy-api does not run in this process',
  })
}

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

/** We ask for a limit with each connection, and a pooler in between keeps that to itself. */
async function warnOfEndlessStatements({ sql }: Connection, log: Logger): Promise<void> {
  const [row] = await sql.query<{ limit: string }>(`select current_setting('statement_timeout') as limit`)
  if (row?.limit !== '0') return
  log.warn('statements have no time limit', {
    remedy: 'ALTER ROLE ... SET statement_timeout, see docs/operating.md#poolers',
  })
}

async function readiness(
  connection: Connection | undefined,
  migrations: Awaited<ReturnType<typeof readMigrations>>,
  workloads: Workloads | undefined,
): ReturnType<Readiness> {
  if (!connection) return { ready: true }
  try {
    return (await isMigrated(connection.sql, migrations))
      ? { ready: true, work: connection.listener.state(), warnings: warningsOf(workloads) }
      : { ready: false, because: 'migrations are not applied' }
  } catch {
    return { ready: false, because: 'the database cannot be reached' }
  }
}

/** People sign in all the same: only workers are refused, or not even they, and would be by every other process. */
function warningsOf(workloads: Workloads | undefined): string[] {
  // Where no organization has a namespace nobody uses it, and a missing role is no problem.
  if (workloads && workloads.namespaces.size > 0) checkPermission(workloads)
  const problem = workloads?.status().problem
  return problem ? [`${PROBLEM_TEXTS[problem.stops]}: ${problem.reason}`] : []
}

/** Undefined outside of a cluster, and where workload identity is off. */
function ownCluster(config: Config, closers: (() => Promise<void> | void)[]): Cluster | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = config
  if (!config.WORKLOAD_IDENTITY_ENABLED || host === undefined) return undefined
  const cluster = apiServer({
    host,
    port,
    credentialsFolder: config.KUBERNETES_CREDENTIALS_DIR,
    timeoutMs: TOKEN_REVIEWS.seconds * 1000,
  })
  closers.push(() => cluster.close())
  return cluster
}

/** Derived at first use: a process without the JWT secrets never needs one. */
function derivedKeys({ JWT_SECRET, JWT_SIGNING_KEY }: Secrets): (purpose: KeyPurpose) => Uint8Array {
  const keys = new Map<KeyPurpose, Uint8Array>()
  return (purpose) => {
    const known = keys.get(purpose)
    if (known) return known
    if (!JWT_SECRET || !JWT_SIGNING_KEY) throw new Error('this process does not hold the JWT secrets')
    const key = deriveKey({ jwtSecret: JWT_SECRET, jwtSigningKey: JWT_SIGNING_KEY }, purpose)
    keys.set(purpose, key)
    return key
  }
}

const mailOf = ({ SMTP_URL, MAIL_FROM }: Config) =>
  SMTP_URL !== undefined && MAIL_FROM !== undefined ? smtpMail({ url: SMTP_URL, from: MAIL_FROM }) : null
