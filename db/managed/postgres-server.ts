/** The operator's Postgres server on which managed databases are created, each with its own login. */
import type postgres from 'postgres'
import type { TenantLimit, TenantLimits } from '../../src/contracts/tenant-limits.ts'
import { openDriver } from '../driver-socket.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import { makeTransactionsSafe, SAFE_OPTIONS } from '../safe-transactions.ts'
import { revokePublicConnect } from './revoke-public-connect.ts'
import { tlsModeOf, type TlsMode } from './open-socket.ts'
import { toManagedServerError, ManagedServerError } from './managed-server-error.ts'
import { isPgvectorSupported, isPostgresSupported, MIN_PGVECTOR, MIN_POSTGRES } from './required-versions.ts'
import { createManagedDatabase, dropManagedDatabase, type Admin } from './managed-database.ts'
import { createQuestionRole } from './question-role.ts'
import { rotatedLogins } from './rotated-logins.ts'
import type { Tenant } from './sessions-over-limits.ts'
import { readDatabaseSizes, setConnectRights, type ConnectRights } from './tenant-disk.ts'
import { endSessionsOverLimits, type EndedSession } from './tenant-sessions.ts'
import { unenforcedLimits } from './unenforced-limits.ts'

export { ManagedServerError } from './managed-server-error.ts'

export type ManagedServer = {
  /** Role, database and extension. Throws ManagedServerError where it cannot isolate them; safe to repeat after a kill. */
  create(physicalName: string, verifier: string): Promise<void>
  /** Ends its connections first; safe to repeat. Returns the roles that had to stay, without a login (drop-role.ts). */
  remove(physicalName: string): Promise<readonly string[]>
  /** Of the tenant's own login, whose password was changed; also those that are logging in with the one before (rotated-logins.ts). */
  endSessionsOf(physicalName: string): Promise<void>
  /** Returns the databases that PUBLIC may still connect to, because our login may not alter them. Every new database is open until this runs. */
  revokePublicConnect(): Promise<readonly string[]>
  /** The login of our questions (question-role.ts); safe to repeat. */
  createQuestionRole(physicalName: string, verifier: string): Promise<void>
  endSessionsOverLimits(tenants: readonly Tenant[], limits: TenantLimits): Promise<readonly EndedSession[]>
  /** In bytes. */
  readDatabaseSizes(physicalNames: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Of the tenants' own logins; ends the sessions of those that are refused. */
  setConnectRights(rights: ConnectRights): Promise<void>
  unenforcedLimits(physicalNames: readonly string[]): Promise<readonly TenantLimit[]>
  /** With `host` and `port` all that a client needs besides name and password. */
  readonly ssl: TlsMode
  readonly host: string
  readonly port: number
  close(): Promise<void>
}

const STATEMENT_TIMEOUT_MS = 60_000
const IDLE_SECONDS = 30
const CONNECT_SECONDS = 10

/** Connects at first use. The roles in `keepConnect` are granted what PUBLIC loses. */
export function openManagedServer(
  url: string,
  { keepConnect = [] }: { keepConnect?: readonly string[] } = {},
): ManagedServer {
  const { host, port, ssl } = addressOf(url)
  const sql = openClient(url, { max: 2, idle_timeout: IDLE_SECONDS })
  const rotated = rotatedLogins(sql)
  // However many databases are made at once: one connection beside the pool.
  const inTurn = oneAtATime()
  const admin: Admin = {
    sql,
    inDatabase: (database, work) =>
      inTurn(async () => {
        const own = openClient(url, { max: 1, database })
        try {
          await work(own)
        } finally {
          await own.end({ timeout: 5 })
        }
      }),
  }

  return {
    create: (physicalName, verifier) =>
      withPublicErrors(async () => {
        if (!/^[^,/]+$/.test(host)) {
          throw new ManagedServerError('MANAGED_DATABASE_URL must name exactly one host, and no socket.')
        }
        await checkServer(sql)
        if ((await revokePublicConnect(sql, keepConnect)).length > 0) {
          throw new ManagedServerError(
            'Any login may connect to other databases on the server, and ours may not change that. As their owner, run REVOKE CONNECT, TEMPORARY ON DATABASE ... FROM PUBLIC for each.',
          )
        }
        await createManagedDatabase(admin, physicalName, verifier, { withVector: true })
      }),
    remove: (physicalName) => withPublicErrors(() => dropManagedDatabase(admin, physicalName)),
    endSessionsOf: (physicalName) => withPublicErrors(() => rotated.endSessionsOf(physicalName)),
    revokePublicConnect: () => withPublicErrors(() => revokePublicConnect(sql, keepConnect)),
    createQuestionRole: (physicalName, verifier) =>
      withPublicErrors(() => createQuestionRole(sql, physicalName, verifier)),
    endSessionsOverLimits: (tenants, limits) =>
      withPublicErrors(() => endSessionsOverLimits(sql, tenants, limits)),
    readDatabaseSizes: (names) => withPublicErrors(() => readDatabaseSizes(sql, names)),
    setConnectRights: (rights) => withPublicErrors(() => setConnectRights(sql, rights)),
    unenforcedLimits: (names) => withPublicErrors(() => unenforcedLimits(sql, names)),
    host,
    port,
    ssl,
    async close() {
      rotated.close()
      await sql.end({ timeout: 5 })
    },
  }
}

type ServerCapabilities = { version: number; vector: string | null; canCreate: boolean }

/** Before anything is created, so that nothing is left behind. */
async function checkServer(sql: postgres.Sql): Promise<void> {
  const [server] = await sql.unsafe<ServerCapabilities[]>(
    `select current_setting('server_version_num')::int as version,
      (select default_version from pg_available_extensions where name = 'vector') as vector,
      (select rolsuper or (rolcreatedb and rolcreaterole) from pg_roles where rolname = current_user) as "canCreate"`,
  )
  if (!server || !isPostgresSupported(server.version)) {
    throw new ManagedServerError(`The server for managed databases is older than Postgres ${MIN_POSTGRES}.`)
  }
  if (server.vector === null || !isPgvectorSupported(server.vector)) {
    throw new ManagedServerError(
      `The server for managed databases has no pgvector ${MIN_PGVECTOR} or newer: install it there, or set MANAGED_DATABASE_URL to a server that has it, or to embedded.`,
    )
  }
  if (!server.canCreate) {
    throw new ManagedServerError(
      'Our login on the server for managed databases needs CREATEDB and CREATEROLE, or to be a superuser.',
    )
  }
}

async function withPublicErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toManagedServerError(error)
  }
}

function openClient(url: string, options: object): postgres.Sql {
  const settings = {
    ...SAFE_OPTIONS,
    fetch_types: false,
    connect_timeout: CONNECT_SECONDS,
    onnotice() {},
    connection: {
      ...SAFE_OPTIONS.connection,
      application_name: 'svc',
      statement_timeout: STATEMENT_TIMEOUT_MS,
      // Unqualified names resolve to the system catalog, whatever is in the schemas of the database.
      search_path: 'pg_catalog',
    },
    ...options,
  }
  return makeTransactionsSafe(openDriver(url, settings))
}

function addressOf(url: string): { host: string; port: number; ssl: TlsMode } {
  // The parser's own error carries the whole address, and with it the password.
  if (!URL.canParse(url)) throw new ManagedServerError('MANAGED_DATABASE_URL is not a valid Postgres URL.')
  const { hostname, port, searchParams } = new URL(url)
  const host = decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1') || 'localhost'
  return { host, port: Number(port) || 5432, ssl: tlsModeOf(searchParams) }
}
