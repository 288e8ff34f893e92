/** Every need, built once, by hand, from top to bottom: the one place that knows them all. */
import { fileURLToPath } from 'node:url'
import { connect, type Connection } from '../db/connect.ts'
import type { Embedded } from '../db/embedded.ts'
import type { NodeDoor } from '../oauth/connector/door.ts'
import { isMigrated, migrate, readMigrations } from '../db/migrate.ts'
import { createEmbeddingModels } from './adapters/embeddings/index.ts'
import { guardedFetch } from './adapters/outbound/guarded-fetch.ts'
import { smtpMail } from './adapters/mail/smtp.ts'
import { argon2Passwords } from './adapters/passwords/argon2.ts'
import { createSignInProviders } from './adapters/sign-in/providers.ts'
import { createWaysOut } from './channels.ts'
import { overNetwork, type Service } from './client/service.ts'
import type { Config, ServiceName } from './config.ts'
import { ServiceError } from './contracts/errors.ts'
import type { Clock, GuardedFetch, Message } from './cores/needs.ts'
import type { Channels, ChatApp, ConnectionChecks } from './cores/notifications/index.ts'
import { keepFacts, type EmbeddingModels } from './cores/search/index.ts'
import type { Readiness } from './http/health.ts'
import { closingToStrangers, createManaged, type Managed } from './managed.ts'
import type { Logger } from './observe/log.ts'
import type { Metrics } from './observe/metrics.ts'
import { noTracing } from './observe/tracing-port.ts'
import { readSecrets, type Secrets } from './secrets.ts'
import { SERVICES, type Needs, type Running } from './services.ts'
import { accessTokens } from './trust/access-token.ts'
import { actorAssertions } from './trust/actor-assertion.ts'
import { dataKeys } from './trust/data-key.ts'
import { deriveKey, keyEpochOf, type KeyPurpose } from './trust/derive-key.ts'
import { userTokens } from './trust/user-token.ts'
import { buildCommit } from './build-commit.ts'
import { readPublishedSkills } from './skills/read-published.ts'
import { VERSION } from './version.ts'

export type System = {
  readonly config: Config
  /** By name, those that run here and answer requests. */
  readonly services: ReadonlyMap<ServiceName, Service>
  /** Paths that want Node's own request and response. */
  readonly doors: ReadonlyMap<ServiceName, NodeDoor>
  readonly readiness: Readiness
  readonly metrics: Metrics | undefined
  readonly log: Logger
  /** Managed databases, where the api-gateway runs. */
  readonly managed: Managed | undefined
  /** The needs of the api-gateway, for the sample of the first start; undefined where it does not run. */
  readonly gateway: ReturnType<Needs['api-gateway']> | undefined
  /** The needs of the auth service, for what happens at the first start; undefined where it does not run. */
  readonly auth: ReturnType<Needs['auth-service']> | undefined
  stop(): Promise<void>
}

/** What tests put in the place of the outside world. */
export type Overrides = {
  readonly clock?: Clock
  readonly connection?: Connection
  /** The embedded engine, if it was sent for before this program was loaded. */
  readonly embedded?: Promise<Embedded> | undefined
  readonly mail?: ((message: Message) => Promise<void>) | null
  readonly passwords?: ReturnType<typeof argon2Passwords>
  readonly guardedFetch?: GuardedFetch
  readonly models?: EmbeddingModels
  /** What connecting a channel asks of the outside. */
  readonly checks?: ConnectionChecks
  readonly chatApp?: ChatApp | null
  readonly channels?: Channels
  /** A service somewhere else, reached by function instead of address. */
  readonly network?: (base: URL) => Service
}

const MIGRATIONS = fileURLToPath(new URL('../db/migrations', import.meta.url))

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
  const here = new Set(config.SVC_SERVICES)
  const usesDatabase = config.SVC_SERVICES.some((name) => SERVICES[name].usesDatabase)

  const secrets = await readSecrets(config)
  const keyFor = keyMaker(secrets)

  const metrics =
    config.METRICS_PORT === 'off' ? undefined : (await import('./observe/metrics.ts')).createMetrics()
  const tracing = config.OTEL_EXPORTER_OTLP_ENDPOINT
    ? (await import('./observe/tracing.ts')).startTracing({
        endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
        version: VERSION,
      })
    : noTracing
  closers.push(() => tracing.stop())
  const observation = { log, metrics, tracing, clock }

  // Loaded while the database opens in its own thread: a start takes as long as the slower of the two.
  const loaded = await Promise.all(
    [...here].map(async (name) => [name, await SERVICES[name].load()] as const),
  )

  const migrations = await readMigrations(MIGRATIONS)
  const connection = usesDatabase
    ? (overrides.connection ?? (await openDatabase(config, overrides.embedded)))
    : undefined
  if (connection && !overrides.connection) closers.push(() => connection.close())
  if (connection) {
    const applied = await migrate(connection.sql, migrations)
    if (applied.length > 0) log.info('migrations applied', { migrations: applied })
  }
  const storage = () => ({ db: connection!.db, clock })

  const sealing = secrets.DATA_KEY ? dataKeys(secrets.DATA_KEY) : undefined
  const models = here.has('api-gateway')
    ? (overrides.models ?? createEmbeddingModels(config.EMBEDDING_MODELS))
    : undefined
  if (models && !overrides.models) closers.push(() => models.close())
  const managed =
    here.has('api-gateway') && connection
      ? createManaged({ config, connection, dataKeys: sealing!, log })
      : undefined
  if (managed) closers.push(() => managed.close())

  const waysOut = here.has('api-gateway') || here.has('worker') ? await createWaysOut(config) : undefined
  if (waysOut) closers.push(() => waysOut.close())

  const network = overrides.network ?? overNetwork
  const running = new Map<ServiceName, Running>()
  /** A service in this process by function, any other by address; looked up at the call, so the order does not matter. */
  const reach =
    (name: ServiceName, address: URL): Service =>
    (request) =>
      (running.get(name)?.service ?? network(address))(request)
  const { JWT_SECRET, JWT_SIGNING_KEY } = secrets
  const keyEpoch =
    JWT_SECRET && JWT_SIGNING_KEY ? keyEpochOf({ jwtSecret: JWT_SECRET, jwtSigningKey: JWT_SIGNING_KEY }) : ''
  const assertions = secrets.ACTOR_ASSERTION_SECRET
    ? actorAssertions(secrets.ACTOR_ASSERTION_SECRET, config.AUTH_URL.origin)
    : undefined

  const needs: Needs = {
    'api-gateway': () => ({
      ...observation,
      ...storage(),
      ...managed!,
      dataKeys: sealing!,
      models: models!,
      facts: keepFacts(),
      questionLimits: { perMinute: config.QUESTIONS_PER_MINUTE, perDay: config.QUESTIONS_PER_DAY },
      auth: reach('auth-service', config.AUTH_SERVICE_URL ?? config.AUTH_URL),
      deploy:
        here.has('deploy-api') || config.DEPLOY_URL
          ? reach('deploy-api', config.DEPLOY_URL ?? config.API_URL)
          : nowhere,
      checks: overrides.checks ?? waysOut!.checks,
      chatApp: overrides.chatApp === undefined ? waysOut!.chatApp : overrides.chatApp,
      mailFrom: config.SMTP_URL === undefined ? null : (config.MAIL_FROM ?? null),
      apiUrl: config.API_URL,
      version: VERSION,
      ownAssertions: config.AUTH_MODE === 'hosted' ? assertions : undefined,
    }),
    'deploy-api': () => ({
      ...observation,
      ...storage(),
      auth: reach('auth-service', config.AUTH_SERVICE_URL ?? config.AUTH_URL),
      ownAssertions: config.AUTH_MODE === 'hosted' ? assertions : undefined,
    }),
    'auth-service': () => ({
      ...observation,
      ...storage(),
      keyFor,
      userTokens: userTokens(keyFor('user-token'), config.AUTH_URL.origin),
      actorAssertions: assertions,
      keyEpoch,
      issuer: config.AUTH_URL,
      mcpUrl: config.MCP_URL,
      signInUrl: signInUrlOf(config),
      jwtSecret: secrets.JWT_SECRET ?? '',
      jwtSigningKey: secrets.JWT_SIGNING_KEY ?? '',
      guardedFetch: overrides.guardedFetch ?? guardedFetch(),
      loopbackPorts: config.OAUTH_LOOPBACK_PORTS,
      registrationOpen: config.OAUTH_DCR,
      refreshGraceSeconds: config.OAUTH_REFRESH_GRACE_S,
      privateSchemes: config.OAUTH_PRIVATE_REDIRECTS,
      passwords: overrides.passwords ?? argon2Passwords({ memoryKib: config.ARGON2_MEMORY_KIB, passes: 2 }),
      passwordSignIn: config.PASSWORD_SIGN_IN ?? !hasIdentityProvider(config),
      mail: overrides.mail === undefined ? mailOf(config) : overrides.mail,
      providers: createSignInProviders(providerSettings(config)),
      operatorToken: config.SVC_OPERATOR_TOKEN,
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
      gateway: reach('api-gateway', config.GATEWAY_URL ?? config.API_URL),
      appUrl: config.APP_URL,
      apiUrl: config.API_URL,
      mcpUrl: config.MCP_URL,
      authMode: config.AUTH_MODE,
      signInUrl: signInUrlOf(config),
      version: VERSION,
    }),
    site: () => ({
      ...observation,
      gateway: reach('api-gateway', config.GATEWAY_URL ?? config.API_URL),
      skills: readPublishedSkills(),
      commit: config.SVC_BUILD_COMMIT ?? buildCommit(),
      consoleUrl: new URL('/console', config.APP_URL),
    }),
    'mcp-server': () => ({
      ...observation,
      skills: readPublishedSkills(),
      auth: reach('auth-service', config.AUTH_SERVICE_URL ?? config.AUTH_URL),
      gateway: reach('api-gateway', config.GATEWAY_URL ?? config.API_URL),
      mcpUrl: config.MCP_URL,
      appUrl: config.APP_URL,
      stepUp: config.MCP_STEP_UP,
      issuer: config.AUTH_URL,
      authMode: config.AUTH_MODE,
      // With hosted auth there is no such secret and no such token; the MCP server then never asks.
      accessTokens: accessTokens(secrets.JWT_SECRET ?? '', config.AUTH_URL.origin),
      actorAssertions: assertions!,
      allowedOrigins: config.MCP_ALLOWED_ORIGINS,
      version: VERSION,
    }),
    worker: () => ({
      ...storage(),
      log,
      metrics,
      channels: overrides.channels ?? waysOut!.channels,
      dataKeys: sealing!,
      appUrl: config.APP_URL,
      siteUrl: config.SITE_URL,
      mail: overrides.mail === undefined ? mailOf(config) : overrides.mail,
      observeSend: metrics && ((channel, outcome) => metrics.observeSend(channel, outcome)),
      activityDays: config.ACTIVITY_DAYS,
      deliveryDays: config.DELIVERY_DAYS,
      closeToStrangers: closingToStrangers(config, connection!.db, log),
    }),
  }

  for (const [name, start] of loaded) {
    const service = start(needs)
    running.set(name, service)
    if (service.stop) closers.push(service.stop)
  }

  return {
    config,
    services: new Map(
      [...running].flatMap(([name, { service }]) => (service ? [[name, service] as const] : [])),
    ),
    doors: new Map([...running].flatMap(([name, { door }]) => (door ? [[name, door] as const] : []))),
    readiness: () => readiness(connection, migrations),
    metrics,
    log,
    managed,
    gateway: here.has('api-gateway') ? needs['api-gateway']() : undefined,
    auth: here.has('auth-service') ? needs['auth-service']() : undefined,
    stop,
  }
}

/** Of a service without an address: its public one is the gateway's, which would ask itself for ever. */
const nowhere: Service = async () => {
  throw new ServiceError('TIMEOUT', 'A service that is needed for this does not run here', {
    cause: 'DEPLOY_URL is not set, and the deploy-api does not run in this process',
  })
}

async function openDatabase(config: Config, embedded: Promise<Embedded> | undefined): Promise<Connection> {
  if (config.DATABASE_URL !== undefined) {
    return connect(
      { url: config.DATABASE_URL },
      { poolSize: config.DATABASE_POOL, prepare: config.DATABASE_PREPARE },
    )
  }
  return connect(embedded ? { embedded } : { folder: config.SVC_DATA_DIR })
}

async function readiness(
  connection: Connection | undefined,
  migrations: Awaited<ReturnType<typeof readMigrations>>,
): ReturnType<Readiness> {
  if (!connection) return { ready: true }
  try {
    return (await isMigrated(connection.sql, migrations))
      ? { ready: true }
      : { ready: false, because: 'migrations are not applied' }
  } catch {
    return { ready: false, because: 'the database cannot be reached' }
  }
}

/** Derived on first use: a process without the JWT secrets never asks. */
function keyMaker({ JWT_SECRET, JWT_SIGNING_KEY }: Secrets): (purpose: KeyPurpose) => Uint8Array {
  const made = new Map<KeyPurpose, Uint8Array>()
  return (purpose) => {
    const known = made.get(purpose)
    if (known) return known
    if (!JWT_SECRET || !JWT_SIGNING_KEY) throw new Error('this process does not hold the JWT secrets')
    const key = deriveKey({ jwtSecret: JWT_SECRET, jwtSigningKey: JWT_SIGNING_KEY }, purpose)
    made.set(purpose, key)
    return key
  }
}

const signInUrlOf = (config: Config): URL =>
  config.AUTH_LOGIN_URL ?? new URL('/auth/sign-in', config.REDIRECT_BASE_URL ?? config.APP_URL)

const mailOf = ({ SMTP_URL, MAIL_FROM }: Config) =>
  SMTP_URL !== undefined && MAIL_FROM !== undefined ? smtpMail({ url: SMTP_URL, from: MAIL_FROM }) : null

const hasIdentityProvider = (config: Config): boolean =>
  [config.GOOGLE_CLIENT_ID, config.MICROSOFT_CLIENT_ID, config.OIDC_CLIENT_ID].some((id) => id !== undefined)

function providerSettings(config: Config): Parameters<typeof createSignInProviders>[0] {
  const { GOOGLE_CLIENT_ID, GOOGLE_CLIENT_SECRET, GOOGLE_AUTHORITY } = config
  const { MICROSOFT_CLIENT_ID, MICROSOFT_CLIENT_SECRET, MICROSOFT_TENANT_ID, MICROSOFT_AUTHORITY } = config
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_TITLE } = config
  return {
    ...(GOOGLE_CLIENT_ID && GOOGLE_CLIENT_SECRET
      ? {
          google: { clientId: GOOGLE_CLIENT_ID, clientSecret: GOOGLE_CLIENT_SECRET, ...at(GOOGLE_AUTHORITY) },
        }
      : {}),
    ...(MICROSOFT_CLIENT_ID && MICROSOFT_CLIENT_SECRET
      ? {
          microsoft: {
            clientId: MICROSOFT_CLIENT_ID,
            clientSecret: MICROSOFT_CLIENT_SECRET,
            tenantId: MICROSOFT_TENANT_ID,
            ...at(MICROSOFT_AUTHORITY),
          },
        }
      : {}),
    ...(OIDC_ISSUER && OIDC_CLIENT_ID && OIDC_CLIENT_SECRET
      ? {
          oidc: {
            issuer: OIDC_ISSUER.href,
            clientId: OIDC_CLIENT_ID,
            clientSecret: OIDC_CLIENT_SECRET,
            title: OIDC_TITLE,
          },
        }
      : {}),
  }
}

const at = (authority: URL | undefined) => (authority ? { authority: authority.href } : {})
