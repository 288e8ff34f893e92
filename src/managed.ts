/** Managed databases as this installation has them: on a server, or embedded here or in a neighbouring process. */
import type { Connection, Database } from '../db/connect.ts'
import { eq } from '../db/drizzle.ts'
import { attachedDatabases } from '../db/managed/attached-databases.ts'
import { embeddedPlace } from '../db/managed/embedded-place.ts'
import { openManagedServer } from '../db/managed/postgres-server.ts'
import { serverPlace } from '../db/managed/server-place.ts'
import { sourceConnections } from '../db/managed/source-connections.ts'
import { dataSources } from '../db/schema.ts'
import type { Config } from './config.ts'
import type { AttachedDatabases, ManagedDatabases, SourceConnections } from './cores/databases/index.ts'
import type { Logger } from './observe/log.ts'
import type { DataKeys } from './trust/data-key.ts'

export type Managed = {
  readonly managed: ManagedDatabases
  readonly attached: AttachedDatabases
  readonly connections: SourceConnections
  /** Lets people connect before anybody asked a question. */
  open(): Promise<void>
  close(): Promise<void>
}

export function createManaged(needs: {
  readonly config: Config
  readonly connection: Connection
  readonly dataKeys: DataKeys
  readonly log: Logger
}): Managed {
  const { config, connection, dataKeys, log } = needs
  const url = config.MANAGED_DATABASE_URL ?? config.DATABASE_URL ?? 'embedded'
  const place =
    url === 'embedded'
      ? embeddedPlace({
          dataFolder: config.SVC_DATA_DIR,
          host: config.MANAGED_DATABASE_HOST,
          port: config.MANAGED_DATABASE_PORT,
          db: connection.db,
          saltKey: dataKeys.keyFor('unknown-login'),
          warn: (event, fields) => log.warn(event, fields),
        })
      : serverPlace(openManagedServer(url, { alsoKeep: loginsOf(config.DATABASE_URL) }))
  const connections = sourceConnections(config.ATTACH_ALLOWED)
  return {
    managed: place,
    attached: attachedDatabases({
      sql: connection.sql,
      allowed: config.ATTACH_ALLOWED,
      ours: async () => [await place.address(), ...addressOf(config.DATABASE_URL)],
    }),
    connections,
    open: () => place.open(),
    async close() {
      await connections.close()
      await place.close()
    },
  }
}

/** Databases that came to the server since are open to every login until this is called. Nothing to do where there is no server. */
export function closingToStrangers(config: Config, db: Database, log: Logger): () => Promise<void> {
  const url = config.MANAGED_DATABASE_URL ?? config.DATABASE_URL ?? 'embedded'
  if (url === 'embedded') return async () => {}
  return async () => {
    // A server on which nothing of ours was made is left as it is.
    const made = await db
      .select({ id: dataSources.id })
      .from(dataSources)
      .where(eq(dataSources.kind, 'postgres'))
      .limit(1)
    if (made.length === 0) return
    const server = openManagedServer(url, { alsoKeep: loginsOf(config.DATABASE_URL) })
    try {
      const open = await server.closeToStrangers()
      if (open.length > 0) log.warn('every login may connect to these databases', { databases: open })
    } finally {
      await server.close()
    }
  }
}

function addressOf(url: string | undefined): { host: string; port: number }[] {
  const parsed = url === undefined ? null : URL.parse(url)
  return parsed?.hostname ? [{ host: parsed.hostname, port: Number(parsed.port || 5432) }] : []
}

/** The control plane's own login keeps its rights if it lives on the same server. */
function loginsOf(url: string | undefined): string[] {
  const login = url === undefined ? '' : decodeURIComponent(URL.parse(url)?.username ?? '')
  return login === '' ? [] : [login]
}
