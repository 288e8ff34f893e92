/** One way to the database, whichever engine it is: Postgres by its address, or the embedded one in a folder. */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import { openEmbedded } from './embedded.ts'
import * as schema from './schema.ts'
import { makeTransactionsSafe, SAFE_OPTIONS, type Sql } from './safe-transactions.ts'

export type Database = PostgresJsDatabase<typeof schema>
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]
/** For verbs that do not care whether somebody else opened a transaction around them. */
export type Handle = Database | Transaction

export type Where = { readonly url: string } | { readonly folder: string }
export type ConnectOptions = { readonly poolSize?: number; readonly statementTimeoutMs?: number }

export type Connection = {
  readonly kind: 'embedded' | 'postgres'
  readonly db: Database
  readonly sql: Sql
  readonly close: () => Promise<void>
}

const CONNECT_TIMEOUT_SECONDS = 10
/** How long a close waits for queries that are under way. */
const CLOSE_TIMEOUT_SECONDS = 5

export async function connect(
  where: Where,
  { poolSize = 10, statementTimeoutMs = 30_000 }: ConnectOptions = {},
): Promise<Connection> {
  return 'url' in where
    ? connectPostgres(where.url, poolSize, statementTimeoutMs)
    : connectEmbedded(where.folder, statementTimeoutMs)
}

/** `folder` is the data folder. Its lock is the caller's: other files in it are guarded by it too. */
async function connectEmbedded(folder: string, statementTimeoutMs: number): Promise<Connection> {
  const embedded = await openEmbedded(folder, { statementTimeoutMs })
  const client = openClient({
    socket: embedded.socket,
    user: 'postgres',
    database: 'postgres',
    max: 1,
    ssl: false,
    // The one session lives as long as the process, and opening its folder again after a loss takes what it takes.
    max_lifetime: null,
    idle_timeout: 0,
    connect_timeout: 0,
    backoff: () => 0.01,
  })
  const close = async () => {
    await client.sql.end({ timeout: CLOSE_TIMEOUT_SECONDS })
    await embedded.close()
  }
  return { kind: 'embedded', ...client, close }
}

async function connectPostgres(
  url: string,
  poolSize: number,
  statementTimeoutMs: number,
): Promise<Connection> {
  const address = addressOf(url)
  const client = openClient(
    {
      max: poolSize,
      connect_timeout: CONNECT_TIMEOUT_SECONDS,
      connection: { application_name: 'svc', statement_timeout: statementTimeoutMs },
    },
    url,
  )
  const close = () => client.sql.end({ timeout: CLOSE_TIMEOUT_SECONDS })
  try {
    await client.sql`select 1`
  } catch (error) {
    await close()
    throw new Error(`Cannot use Postgres at ${address}: ${reasonOf(error)}`, { cause: error })
  }
  return { kind: 'postgres', ...client, close }
}

/** The driver's types leave out `socket`, `max_pipeline` and a `max_lifetime` of none. */
function openClient(options: Record<string, unknown>, url = ''): { db: Database; sql: Sql } {
  const settings = {
    ...SAFE_OPTIONS,
    ...options,
    connection: { ...SAFE_OPTIONS.connection, ...(options['connection'] ?? {}) },
    // Drizzle knows the types of its columns; asking would cost every connection a query.
    fetch_types: false,
    onnotice() {},
  }
  const sql = makeTransactionsSafe(postgres(url, settings as postgres.Options<Record<string, never>>))
  return { db: drizzle(sql, { schema }), sql }
}

/** Host and database only. The parser's own error carries the whole address, and with it the password. */
function addressOf(url: string): string {
  if (!URL.canParse(url))
    throw new Error('The database address is not of the form postgres://user@host:5432/name')
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string }
  return message || code || 'unknown reason'
}

/** Drizzle wraps the driver's error, so the whole chain of causes is looked through. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, constraint_name: name } = at as { code?: unknown; constraint_name?: unknown }
    if (code === '23505') return constraint === undefined || name === constraint
  }
  return false
}
