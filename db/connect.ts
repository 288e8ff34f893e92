/** Connects to the database: a Postgres server by its URL, or the embedded one in a folder. */
import { drizzle } from './drizzle.ts'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import { createGate, DatabaseAway, isLoss, OutcomeUnknown } from './database-away.ts'
import { openDriver, openPool } from './driver-socket.ts'
import { CONFIRM, keepingConnections } from './durable-changes.ts'
import { openEmbedded, type Embedded } from './embedded.ts'
import { createListener, setListener, type Listener, type Listening, type ListenSession } from './listen.ts'
import * as schema from './schema.ts'
import { makeTransactionsSafe, SAFE_OPTIONS } from './safe-transactions.ts'
import { withoutPipelining } from './without-pipelining.ts'

export type Database = PostgresJsDatabase<typeof schema>
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]
/** For verbs that run inside or outside a transaction. */
export type Handle = Database | Transaction

/** SQL as text, for migrations, the catalog and health checks. */
export type Sql = SqlQueries & { transaction<T>(work: (tx: SqlQueries) => Promise<T>): Promise<T> }
export type SqlQueries = {
  /** Without parameters the text may hold several statements; rows are those of a single one. */
  query<Row extends object>(text: string, parameters?: readonly string[]): Promise<readonly Row[]>
}

/** An embedded engine may be opening already, in a thread of its own, while the program loads. */
export type Where =
  | { readonly url: string }
  | { readonly folder: string }
  | { readonly embedded: Embedded | Promise<Embedded> }
export type ConnectOptions = {
  readonly poolSize?: number
  readonly statementTimeoutMs?: number
  /** Off behind a pooler in transaction mode that does not know named statements. */
  readonly prepare?: boolean
  /** The server itself, where `url` is that of a pooler in transaction mode, which delivers no notifications. */
  readonly listenUrl?: string | undefined
  /** Read only, for what may be old. */
  readonly takesStandby?: boolean
  readonly onListening?: ((state: Listening, because: string) => void) | undefined
}

export type Connection = {
  readonly kind: 'embedded' | 'postgres'
  readonly db: Database
  readonly sql: Sql
  readonly listener: Listener
  /** Of a server: which it is, and how far it is, may change under a process. */
  readonly server?: Server
  readonly close: () => Promise<void>
}

/** Resolves with the server, when its standby has all that was committed on it. */
type Confirmation = () => Promise<string>

const confirmations = new WeakMap<object, Confirmation>()

export const setConfirmation = (db: object, confirm: Confirmation): void =>
  void confirmations.set(db, confirm)

/** Undefined for a handle whose database can have no standby. */
export const confirmationOf = (db: object): Confirmation | undefined => confirmations.get(db)

export type Server = {
  /** Looks at the server before anything is asked of a new session, and holds everything else while it says so. */
  watch(look: Look): void
  /** A connection of its own, which waits for nobody. */
  aside<T>(work: (connection: Pick<Connection, 'db' | 'sql'>) => Promise<T>): Promise<T>
  /** Nothing of this process is sent until this is over. */
  hold(until: Promise<void>): void
  /** Behind a pooler in transaction mode, which may change the server without a new session of ours. */
  readonly isPooled: boolean
}

export type Look = () => Promise<void>

const CONNECT_TIMEOUT_SECONDS = 10
const STATEMENT_TIMEOUT_MS = 30_000
/** Whoever waits for what it looks at waits no longer. */
const ASIDE_CONNECT_SECONDS = 2
/** What is not done by then is done by the next one. */
const ASIDE_MS = 10_000
/** How long a close waits for running queries. */
const CLOSE_TIMEOUT_SECONDS = 5

export async function connect(where: Where, options: ConnectOptions = {}): Promise<Connection> {
  if ('url' in where) return connectPostgres(where.url, options)
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options
  const embedded = 'embedded' in where ? where.embedded : openEmbedded(where.folder, { statementTimeoutMs })
  await embedded
  return connectEmbedded(embedded)
}

/**
 * The caller holds the lock of the data folder, which guards other files too. An engine that is still opening answers once
 * it is open; whoever passes one awaits it before the first query, because the driver never learns that it failed.
 */
export function connectEmbedded(embedded: Embedded | Promise<Embedded>): Connection {
  // The one session there is also listens.
  let [onNotify, onLost] = [(_channel: string, _payload: string) => {}, () => {}]
  const options = {
    ...USUAL,
    onnotify: (channel: string, payload: string) => onNotify(channel, payload),
    onclose: () => onLost(),
    socket: async () => (await embedded).socket(),
    user: 'postgres',
    database: 'postgres',
    max: 1,
    ssl: false,
    // The one session lives as long as the process, and opening the folder again after a loss has no time limit.
    max_lifetime: null,
    idle_timeout: 0,
    connect_timeout: 0,
    backoff: () => 0.01,
  }
  // The driver's types leave out `socket`, `max_pipeline` and a `max_lifetime` of none.
  const client = makeTransactionsSafe(
    postgres('', options as object as postgres.Options<Record<string, never>>),
  )
  const query = async (text: string) => client.unsafe(text)
  const listener = createListener({
    query,
    open(heard) {
      onNotify = heard
      const lost = new Promise<void>((resolve) => (onLost = resolve))
      return { query, lost, end: async () => {} }
    },
  })
  return {
    kind: 'embedded',
    ...handlesOf(client, listener),
    async close() {
      await listener.stop()
      await client.end({ timeout: CLOSE_TIMEOUT_SECONDS })
      await Promise.resolve(embedded).then(
        (opened) => opened.close(),
        // It never opened, and whoever awaited it knows.
        () => {},
      )
    },
  }
}

async function connectPostgres(
  url: string,
  {
    poolSize = 10,
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
    prepare = true,
    listenUrl = url,
    takesStandby = false,
    onListening,
  }: ConnectOptions,
): Promise<Connection> {
  const address = addressOf(url)
  addressOf(listenUrl)
  const gate = createGate()
  let look: Look = async () => {}
  const settings = {
    ...USUAL,
    max: poolSize,
    // Also the COMMIT of the driver's own is a named statement unless this is off. Behind a pooler it would not be found,
    // which ends the transaction, and the driver's second COMMIT then succeeds with nothing left to commit.
    prepare,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    connection: sessionOptions(statementTimeoutMs),
    takesStandby,
  }
  const { client: driver } = openPool(url, settings, { gate, onSession: () => look() })
  const sent = prepare ? driver : withoutPipelining(driver, poolSize, gate)
  const client = makeTransactionsSafe(keepingConnections(sent, poolSize, gate), asThrown)
  const listener = createListener({
    query: async (text) => client.unsafe(text),
    open: (onNotify) => openListenSession(listenUrl, onNotify),
    onChange: onListening,
  })
  const close = async () => {
    await listener.stop()
    await client.end({ timeout: CLOSE_TIMEOUT_SECONDS })
  }
  try {
    await client.unsafe('select 1')
  } catch (error) {
    await close()
    throw new Error(`Cannot connect to Postgres at ${address}: ${reasonOf(error)}`, { cause: error })
  }
  const handles = handlesOf(client, listener, prepare)
  if (!takesStandby) setConfirmation(handles.db, () => confirm(client))
  const server: Server = {
    watch: (given) => void (look = given),
    hold: (until) => gate.hold(until),
    isPooled: !prepare,
    async aside(work) {
      const own = makeTransactionsSafe(
        openDriver(url, { ...settings, max: 1, prepare: false, connect_timeout: ASIDE_CONNECT_SECONDS }),
      )
      // A server that freezes says nothing, and whoever waits for this would wait for ever.
      const late = setTimeout(() => void own.end({ timeout: 0 }), ASIDE_MS)
      try {
        const aside = handlesOf(own, listener, false)
        setConfirmation(aside.db, () => confirm(own))
        return await work(aside)
      } finally {
        clearTimeout(late)
        await own.end({ timeout: CLOSE_TIMEOUT_SECONDS })
      }
    },
  }
  return { kind: 'postgres', ...handles, server, close }
}

async function confirm(client: postgres.Sql): Promise<string> {
  const [row] = await client.unsafe<{ server: string }[]>(CONFIRM)
  return row!.server
}

/** What was not committed was not done; a commit without an answer may be. */
function asThrown(error: unknown, phase: 'working' | 'committing'): unknown {
  if (!isLoss(error)) return error
  return phase === 'committing' ? new OutcomeUnknown(error) : new DatabaseAway(error)
}

const sessionOptions = (statementTimeoutMs: number) => ({
  application_name: 'svc',
  // Options and not parameters of their own, and they come last: PgBouncer takes no other parameters than `options`, and
  // from 1.20 on no options that end in spaces. A statement that the server compiles first takes longer for that than to run.
  // And what is found by its key is read by its key also while a table is small: a plan that reads all of it is kept for a
  // while after it has grown.
  options: `${SAFE_OPTIONS.connection.options}-c jit=off -c random_page_cost=1.1 -c statement_timeout=${statementTimeoutMs}`,
})

function openListenSession(url: string, onNotify: (channel: string, payload: string) => void): ListenSession {
  const { promise: lost, resolve } = Promise.withResolvers<void>()
  // The driver prefers the one in the address; by its own it is told apart from the pool.
  const address = new URL(url)
  address.searchParams.set('application_name', 'svc listener')
  const client = openDriver(address.href, {
    ...USUAL,
    max: 1,
    prepare: false,
    idle_timeout: null,
    max_lifetime: null,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    connection: sessionOptions(STATEMENT_TIMEOUT_MS),
    onnotify: onNotify,
    onclose: () => resolve(),
  })
  return { lost, query: async (text) => client.unsafe(text), end: () => client.end({ timeout: 0 }) }
}

// Drizzle knows the types of its columns; asking the server for types would cost every connection a query.
const USUAL = { ...SAFE_OPTIONS, fetch_types: false, onnotice() {} }

function handlesOf(
  client: postgres.Sql,
  listener: Listener,
  prepare = true,
): Pick<Connection, 'db' | 'sql' | 'listener'> {
  const queries = ({ unsafe }: Pick<postgres.Sql, 'unsafe'>): SqlQueries => ({
    // The driver's own queries do not start before they are awaited; these do.
    query: async <Row extends object>(text: string, parameters: readonly string[] = []) =>
      unsafe<Row[]>(text, [...parameters]),
  })
  const transaction = <T>(work: (tx: SqlQueries) => Promise<T>) =>
    client.begin((tx) => work(queries(tx))) as Promise<T>
  const db = drizzle(prepare ? preparing(client) : client, { schema })
  setListener(db, listener)
  return { db, sql: { ...queries(client), transaction }, listener }
}

/**
 * Drizzle asks the driver for unnamed statements, each of which is parsed anew and takes two round trips, one to learn
 * its types. Named ones are parsed once a connection and take one.
 */
function preparing<Client extends postgres.ISql>(client: Client): Client {
  const unsafe = (text: string, parameters: never[] = []) =>
    client.unsafe(text, parameters, { prepare: parameters.length > 0 })
  return new Proxy(client, {
    get(target, name) {
      if (name === 'unsafe') return unsafe
      if (name === 'begin' || name === 'savepoint') {
        const begin = Reflect.get(target, name) as (...args: unknown[]) => unknown
        return (...args: unknown[]) => {
          const work = args.pop() as (tx: postgres.ISql) => unknown
          return begin(...args, (tx: postgres.ISql) => work(preparing(tx)))
        }
      }
      return Reflect.get(target, name) as unknown
    },
  })
}

/** Host and database only. The parser's own error carries the whole address, and with it the password. */
function addressOf(url: string): string {
  if (!URL.canParse(url))
    throw new Error('The database address is not of the form postgres://user@host:5432/name')
  const { host, pathname, searchParams } = new URL(url)
  // The driver would neither wait between attempts nor ever give up.
  if (host.includes(','))
    throw new Error('The database address names several hosts. Name one: that of a proxy, or one that moves')
  // They would replace those without which a lost connection is not safe.
  if (searchParams.has('options'))
    throw new Error('The database address has options. Set them for the role: ALTER ROLE ... SET ...')
  return `${host}${pathname}`
}

function reasonOf(error: unknown): string {
  const { message, code } = (error instanceof DatabaseAway ? error.cause : error) as {
    message?: string
    code?: string
  }
  return message || code || 'unknown reason'
}

/** Drizzle wraps the driver's error, so the whole chain of causes is searched. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, constraint_name: name } = at as { code?: unknown; constraint_name?: unknown }
    if (code === '23505') return constraint === undefined || name === constraint
  }
  return false
}
