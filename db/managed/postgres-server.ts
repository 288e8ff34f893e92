/** The operator's Postgres server on which managed databases are made, each with a login of its own. */
import postgres from 'postgres'
import { makeTransactionsSafe, SAFE_OPTIONS } from '../safe-transactions.ts'
import { closeToStrangers } from './close-to-strangers.ts'
import type { TlsMode } from './connect-to.ts'
import { asManagedServerProblem, ManagedServerProblem } from './managed-server-problem.ts'
import {
  isPgvectorNewEnough,
  isPostgresNewEnough,
  OLDEST_PGVECTOR,
  OLDEST_POSTGRES,
} from './needed-versions.ts'
import { makeTenant, removeTenant, type Admin } from './tenant.ts'

export { ManagedServerProblem } from './managed-server-problem.ts'

export type ManagedServer = {
  /** Role, database and extension. Refuses (ManagedServerProblem) what it cannot isolate; safe to repeat after a kill. */
  create(physicalName: string, verifier: string): Promise<void>
  /** Ends its connections first; safe to repeat. */
  remove(physicalName: string): Promise<void>
  /** Databases that others may still connect to, because our login may not alter them. A new one is open until this runs. */
  closeToStrangers(): Promise<readonly string[]>
  /** With `host` and `port` all that a client needs besides name and password. */
  readonly ssl: TlsMode
  readonly host: string
  readonly port: number
  close(): Promise<void>
}

const STATEMENT_TIMEOUT_MS = 60_000
const IDLE_SECONDS = 30

/** Connects at first use. `alsoKeep`: roles of ours that must not lose what PUBLIC gave them, whatever else they are. */
export function openManagedServer(
  url: string,
  { alsoKeep = [] }: { alsoKeep?: readonly string[] } = {},
): ManagedServer {
  const { host, port, ssl } = placeOf(url)
  const sql = openClient(url, { max: 2, idle_timeout: IDLE_SECONDS })
  const admin: Admin = {
    sql,
    async inDatabase(database, work) {
      const own = openClient(url, { max: 1, database })
      try {
        await work(own)
      } finally {
        await own.end({ timeout: 5 })
      }
    },
  }

  return {
    create: (physicalName, verifier) =>
      inOurWords(async () => {
        if (!/^[^,/]+$/.test(host)) {
          throw new ManagedServerProblem('MANAGED_DATABASE_URL must name exactly one host and no socket.')
        }
        await refuseUnfit(sql)
        if ((await closeToStrangers(sql, alsoKeep)).length > 0) {
          throw new ManagedServerProblem(
            'Any login may connect to other databases of the server, and ours may not alter that: as their owner, REVOKE CONNECT, TEMPORARY ON DATABASE ... FROM PUBLIC on each.',
          )
        }
        await makeTenant(admin, physicalName, verifier, { withVector: true })
      }),
    remove: (physicalName) => inOurWords(() => removeTenant(admin, physicalName)),
    closeToStrangers: () => inOurWords(() => closeToStrangers(sql, alsoKeep)),
    host,
    port,
    ssl,
    close: () => sql.end({ timeout: 5 }),
  }
}

type Fitness = { version: number; vector: string | null; mayMake: boolean }

/** Before anything is made, so that nothing is left behind. */
async function refuseUnfit(sql: postgres.Sql): Promise<void> {
  const [server] = await sql.unsafe<Fitness[]>(
    `select current_setting('server_version_num')::int as version,
      (select default_version from pg_available_extensions where name = 'vector') as vector,
      (select rolsuper or (rolcreatedb and rolcreaterole) from pg_roles where rolname = current_user) as "mayMake"`,
  )
  if (!server || !isPostgresNewEnough(server.version)) {
    throw new ManagedServerProblem(
      `The server for managed databases is older than Postgres ${OLDEST_POSTGRES}.`,
    )
  }
  if (server.vector === null || !isPgvectorNewEnough(server.vector)) {
    throw new ManagedServerProblem(
      `The server for managed databases has no pgvector ${OLDEST_PGVECTOR} or newer: install it there, or set MANAGED_DATABASE_URL to a server that has it, or to embedded.`,
    )
  }
  if (!server.mayMake) {
    throw new ManagedServerProblem(
      'Our login on the server for managed databases needs CREATEDB and CREATEROLE, or to be a superuser.',
    )
  }
}

async function inOurWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw asManagedServerProblem(error)
  }
}

function openClient(url: string, options: object): postgres.Sql {
  const settings = {
    ...SAFE_OPTIONS,
    fetch_types: false,
    connect_timeout: 10,
    onnotice() {},
    connection: {
      ...SAFE_OPTIONS.connection,
      application_name: 'svc',
      statement_timeout: STATEMENT_TIMEOUT_MS,
      // Names mean the catalogue's own, whatever lies in the schemas of the database we are in.
      search_path: 'pg_catalog',
    },
    ...options,
  }
  // The driver's types leave out `max_pipeline`.
  return makeTransactionsSafe(postgres(url, settings as postgres.Options<Record<string, never>>))
}

/** What the driver makes of it too: no `sslmode` is no TLS, and one that it does not know means to verify. */
function placeOf(url: string): { host: string; port: number; ssl: TlsMode } {
  // The parser's own error carries the whole address, and with it the password.
  if (!URL.canParse(url))
    throw new ManagedServerProblem('MANAGED_DATABASE_URL is not an address of a server.')
  const { hostname, port, searchParams } = new URL(url)
  const host = decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1') || 'localhost'
  return { host, port: Number(port) || 5432, ssl: tlsMode(searchParams) }
}

function tlsMode(query: URLSearchParams): TlsMode {
  if (query.get('sslrootcert') === 'system') return 'verify-full'
  const asked = query.get('sslmode') ?? query.get('ssl') ?? 'disable'
  switch (asked) {
    case 'disable':
    case 'false':
      return 'disable'
    case 'prefer':
    case 'allow':
      return 'prefer'
    case 'require':
      return 'require'
    default:
      return 'verify-full'
  }
}
