/** The whole system in one process, on the database of this test run, with a clock that tests move. */
import { randomBytes } from 'node:crypto'
import { listenerOf } from '../../db/listen.ts'
import { argon2Passwords } from '../../src/adapters/passwords/argon2.ts'
import { httpClient, type Call, type CallOptions } from '../../src/client/http-client.ts'
import type { Service } from '../../src/client/service.ts'
import { readConfig, type Config } from '../../src/boot/config.ts'
import type { Message } from '../../src/cores/dependencies.ts'
import { dispatcher } from '../../src/boot/listener.ts'
import { createLogger } from '../../src/observe/log.ts'
import { createSystem, type Overrides, type System } from '../../src/boot/system.ts'
import { inject } from 'vitest'
import { noteLogLine } from './answered-operations.ts'
import { testDatabase } from './database.ts'
import { isForVendor, reaching, servingFounded, splitDatabase, splitSettings } from './hosted-system.ts'
import { noteAnswer } from './seen-failures.ts'

export const OPERATOR_TOKEN = 'operator-token-of-the-tests-0123456789'
/** Where the time of every test system begins: a fixed instant, so that a test means the same on every day. */
export const START_MS = Date.parse('2026-03-02T10:00:00Z')
export const ORIGIN = 'http://localhost:4000'

export type TestSystem = {
  readonly system: System
  readonly db: Awaited<ReturnType<typeof testDatabase>>['db']
  /** What the system itself was given: never two databases. */
  readonly ownDb: TestSystem['db']
  /** The listener without its socket: Host check, health, services by path. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>
  readonly service: Service
  /** Calls operations through the gateway. */
  readonly as: (who?: CallOptions) => Call
  readonly clock: { now(): Date; advance(seconds: number): void }
  readonly mails: Message[]
  readonly logLines: string[]
  /** The auth service is a vendor's, and `db` is two databases. */
  readonly isHosted: boolean
  stop(): Promise<void>
}

/** Secrets of their own, so that one test's rotation is not another's. */
export const freshSecrets = () => ({
  JWT_SECRET: randomBytes(32).toString('hex'),
  JWT_SIGNING_KEY: randomBytes(32).toString('hex'),
  ACTOR_ASSERTION_SECRET: randomBytes(32).toString('hex'),
  DATA_KEY: randomBytes(32).toString('hex'),
})

/**
 * Of systems that were given none. The same for all of a worker, as they share its database: which of these app tokens were
 * made under is a row there.
 */
const { JWT_SECRET, JWT_SIGNING_KEY } = freshSecrets()

/** Where walks run with hosted auth, a system that has an auth service is two: see hosted-system.ts. */
export async function startSystem(
  env: Record<string, string> = {},
  overrides: TestOverrides = {},
): Promise<TestSystem> {
  const hasAuthService = env['SVC_SERVICES']?.includes('auth-service') ?? true
  const isHosted = inject('auth') === 'hosted' && hasAuthService && env['AUTH_MODE'] === undefined
  return isHosted ? startHosted(env, overrides) : start(env, overrides)
}

type TestOverrides = Overrides & {
  withMail?: boolean
  clockOf?: Pick<TestSystem, 'clock' | 'mails'> | undefined
}

async function startHosted(env: Record<string, string>, overrides: TestOverrides): Promise<TestSystem> {
  const settings = splitSettings(env)
  const { withMail, mail, passwords, guardedFetch } = overrides
  const forPeople = Object.fromEntries(
    Object.entries({ withMail, mail, passwords, guardedFetch }).filter(([, value]) => value !== undefined),
  )
  const connection = await testDatabase('vendor')
  const vendor = await start(settings.vendor, { ...forPeople, connection })
  const service = servingFounded(vendor.service, () => customer.system)
  const customer: TestSystem = await start(settings.customer, {
    ...overrides,
    clockOf: vendor,
    network: reaching(() => service),
  })
  const dispatch: Service = async (request) => {
    const toVendor = isForVendor(request)
    const response = await (
      toVendor ? reaching(() => service)(vendor.system.config.API_URL) : customer.service
    )(request)
    noteAnswer(request, response)
    return response
  }
  return {
    ...customer,
    ...connecting(customer.system.config, dispatch),
    db: splitDatabase(customer.db, vendor.db),
    service: dispatch,
    isHosted: true,
    mails: vendor.mails,
    async stop() {
      await customer.stop()
      await vendor.stop()
    },
  }
}

async function start(env: Record<string, string>, overrides: TestOverrides): Promise<TestSystem> {
  const { db, sql, kind } = overrides.connection ?? (await testDatabase())
  let ms = START_MS
  // A millisecond later at each reading, so that what is made later has the greater id.
  const clock = overrides.clockOf?.clock ?? {
    now: () => new Date((ms += 1)),
    advance: (seconds: number) => void (ms += seconds * 1000),
  }
  const now = () => clock.now()
  const mails: Message[] = overrides.clockOf?.mails ?? []
  const logLines: string[] = []
  const config = readConfig({
    METRICS_PORT: 'off',
    SVC_OPERATOR_TOKEN: OPERATOR_TOKEN,
    // Never opened: the connection is given. It only keeps secrets from being written into a folder.
    DATABASE_URL: 'postgres://unused.invalid/svc',
    ...freshSecrets(),
    JWT_SECRET,
    JWT_SIGNING_KEY,
    ...env,
  })
  const log = createLogger({
    level: 'debug',
    pretty: false,
    write: (line) => {
      logLines.push(line)
      noteLogLine(line)
    },
    clock: now,
  })
  const system = await createSystem(config, log, {
    clock: now,
    connection: { db, sql, kind, listener: listenerOf(db), close: async () => {} },
    passwords: argon2Passwords({ memoryKib: 64, passes: 1 }),
    mail: overrides.withMail ? async (message) => void mails.push(message) : null,
    ...overrides,
  })
  const dispatch = dispatcher(system)
  return {
    system,
    db,
    ownDb: db,
    service: dispatch,
    ...connecting(config, dispatch),
    isHosted: false,
    clock,
    mails,
    logLines,
    stop: () => system.stop(),
  }
}

function connecting(config: Config, dispatch: Service): Pick<TestSystem, 'fetch' | 'as'> {
  // Its own, because throttles are rows: a system with a moved clock must not keep the next one waiting.
  const address = `2001:db8::${randomBytes(8).toString('hex')}`
  // As a browser would: at the public address of this system, whatever address the request was made for.
  const service: Service = (request) => {
    const { pathname, search } = new URL(request.url)
    return dispatch(new Request(new URL(pathname + search, config.API_URL), request))
  }
  return {
    fetch: (path, init) => dispatch(new Request(new URL(path, config.API_URL), init)),
    as: (who = {}) => httpClient(service, { address, ...who }),
  }
}
