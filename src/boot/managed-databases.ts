/** Managed databases as configured: on a Postgres server, or embedded in this process or another one with the same data folder. */
import type { Connection, Database } from '../../db/connect.ts'
import { eq } from '../../db/drizzle.ts'
import { attachedDatabases } from '../../db/managed/attached-databases.ts'
import { attachedPools } from '../../db/managed/attached-thread.ts'
import { embeddedProvisioner } from '../../db/managed/embedded-provisioner.ts'
import { openManagedServer } from '../../db/managed/postgres-server.ts'
import { serverProvisioner } from '../../db/managed/server-provisioner.ts'
import { sourceConnections } from '../../db/managed/source-connections.ts'
import { dataSources } from '../../db/schema.ts'
import type { TenantLimits } from '../contracts/tenant-limits.ts'
import type { Config } from './config.ts'
import type {
  AttachedDatabases,
  ManagedDatabases,
  SourceConnections,
  TenantServer,
} from '../cores/databases/index.ts'
import type { Logger } from '../observe/log.ts'
import type { DataKeys } from '../trust/data-key.ts'

export type Managed = {
  readonly managed: ManagedDatabases
  readonly attached: AttachedDatabases
  readonly connections: SourceConnections
  /** Serves connections before the first question. */
  open(): Promise<void>
  close(): Promise<void>
}

export function createManaged(deps: {
  readonly config: Config
  readonly connection: Connection
  readonly dataKeys: DataKeys
  readonly tenantLimits: TenantLimits
  readonly log: Logger
}): Managed {
  const { config, connection, dataKeys, tenantLimits, log } = deps
  const url = config.MANAGED_DATABASE_URL ?? config.DATABASE_URL ?? 'embedded'
  const provisioner =
    url === 'embedded'
      ? embeddedProvisioner({
          dataFolder: config.SVC_DATA_DIR,
          host: config.MANAGED_DATABASE_HOST,
          port: config.MANAGED_DATABASE_PORT,
          db: connection.db,
          saltKey: dataKeys.keyFor('unknown-login'),
          maintenanceTimeoutMs: tenantLimits.statementSeconds * 1000,
          warn: (event, fields) => log.warn(event, fields),
        })
      : serverProvisioner(
          openManagedServer(url, { keepConnect: loginsOf(config.DATABASE_URL) }),
          dataKeys.keyFor('question-login'),
          (event, fields) => log.warn(event, fields),
        )
  const pools = attachedPools(config.ATTACH_ALLOWED)
  const connections = sourceConnections(pools)
  return {
    managed: provisioner,
    attached: attachedDatabases({
      sql: connection.kind === 'postgres' ? connection.sql : undefined,
      allowed: config.ATTACH_ALLOWED,
      pools,
      ours: async () => [await provisioner.address(), ...addressOf(config.DATABASE_URL)],
    }),
    connections,
    open: () => provisioner.open(),
    async close() {
      await connections.close()
      await pools.close()
      await provisioner.close()
    },
  }
}

/** New databases on the server are open to every login until this is called. Does nothing without a server. */
export function publicConnectRevoker(config: Config, db: Database, log: Logger): () => Promise<void> {
  const url = config.MANAGED_DATABASE_URL ?? config.DATABASE_URL ?? 'embedded'
  if (url === 'embedded') return async () => {}
  return async () => {
    // A server without a managed database is left as it is.
    const existing = await db
      .select({ id: dataSources.id })
      .from(dataSources)
      .where(eq(dataSources.kind, 'postgres'))
      .limit(1)
    if (existing.length === 0) return
    const server = openManagedServer(url, { keepConnect: loginsOf(config.DATABASE_URL) })
    try {
      const open = await server.revokePublicConnect()
      if (open.length > 0) log.warn('every login may connect to these databases', { databases: open })
    } finally {
      await server.close()
    }
  }
}

/** The server that the worker watches; undefined where managed databases are embedded. Connects at first use. */
export function openTenantServer(config: Config): (TenantServer & { close(): Promise<void> }) | undefined {
  const url = config.MANAGED_DATABASE_URL ?? config.DATABASE_URL ?? 'embedded'
  return url === 'embedded' ? undefined : openManagedServer(url)
}

function addressOf(url: string | undefined): { host: string; port: number }[] {
  const parsed = url === undefined ? null : URL.parse(url)
  return parsed?.hostname ? [{ host: parsed.hostname, port: Number(parsed.port || 5432) }] : []
}

/** The login of our own database keeps its rights if it is on the same server. */
function loginsOf(url: string | undefined): string[] {
  const login = url === undefined ? '' : decodeURIComponent(URL.parse(url)?.username ?? '')
  return login === '' ? [] : [login]
}
