/** Rows of data sources: found by either id, presented without secrets, opened to be queried. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import type { DataSource } from '../../contracts/data-sources.ts'
import type * as z from 'zod'
import { ServiceError } from '../../contracts/errors.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { preparedQuery } from '../prepared-query.ts'
import type { Login, ManagedDatabases, Queries, SourceConnections } from './managed-databases.ts'

export type SourceRow = typeof dataSources.$inferSelect

export const sourceIdOf = (name: string): string => `db_${name}`

/** `ds_…` or `db_<name>`: every path takes either. */
export const hasSourceId = (orgId: string, id: string) =>
  and(
    eq(dataSources.orgId, orgId),
    id.startsWith('db_') ? eq(dataSources.name, id.slice(3)) : eq(dataSources.id, id),
  )

export async function findSource(db: Handle, orgId: string, id: string): Promise<SourceRow | undefined> {
  const [row] = id.startsWith('db_')
    ? await sourceByName(db).execute({ orgId, name: id.slice(3) })
    : await sourceById(db).execute({ orgId, id })
  return row
}

const ofOrganization = eq(dataSources.orgId, sql.placeholder('orgId'))
const sourceByName = preparedQuery((db) =>
  db
    .select()
    .from(dataSources)
    .where(and(ofOrganization, eq(dataSources.name, sql.placeholder('name'))))
    .prepare('source_by_name'),
)
const sourceById = preparedQuery((db) =>
  db
    .select()
    .from(dataSources)
    .where(and(ofOrganization, eq(dataSources.id, sql.placeholder('id'))))
    .prepare('source_by_id'),
)

export const presentSource = (row: SourceRow): z.input<typeof DataSource> => ({
  id: row.id,
  source_id: sourceIdOf(row.name),
  name: row.title,
  description: row.description,
  kind: row.kind,
  documents: row.documents !== null,
  ready: row.preparingUntil === null,
  enabled: row.enabled,
  exposed: row.exposed,
  minimum_role: row.minimumRole,
  connection_config: row.configuration?.connection_config ?? null,
  filter_schema: row.configuration?.filter_schema ?? {},
  access_column: row.configuration?.access_column ?? null,
  configured_at: row.configuredAt?.toISOString() ?? null,
  created_at: row.createdAt.toISOString(),
})

/** The row that a sealed text belongs to: copied into another row it does not open. */
export const sealContext = ({ orgId, id }: Pick<SourceRow, 'orgId' | 'id'>): string =>
  `data_sources/${orgId}/${id}`

export type SourceDeps = {
  readonly managed: Pick<ManagedDatabases, 'address' | 'questionLogin'>
  readonly connections: SourceConnections
  readonly dataKeys: DataKeys
}

export async function readLogin(deps: Omit<SourceDeps, 'connections'>, row: SourceRow): Promise<Login> {
  const secret = openSecret(deps, row)
  if (row.kind === 'attached') return JSON.parse(secret) as Login
  const name = row.physicalName!
  return { ...(await deps.managed.address()), user: name, database: name, password: secret }
}

/** Sealed under another DATA_KEY than this process has: for whoever asks, the database is unreachable. */
function openSecret({ dataKeys }: Pick<SourceDeps, 'dataKeys'>, row: SourceRow): string {
  try {
    return dataKeys.open(sealContext(row), row.sealed)
  } catch (cause) {
    throw new ServiceError('TIMEOUT', 'The database of this source cannot be reached now', {
      hint: 'Its login was sealed under another DATA_KEY: tell the operator.',
      cause: Object.assign(new Error('The login cannot be opened', { cause }), { code: 'SEALED' }),
    })
  }
}

/** Our own login: it stays when the tenant's may not connect, and none of its sessions is taken for a tenant's. */
export async function readQuestionLogin(
  deps: Omit<SourceDeps, 'connections'>,
  row: SourceRow,
): Promise<Login> {
  const login = await readLogin(deps, row)
  const own = row.physicalName === null ? undefined : await deps.managed.questionLogin(row.physicalName)
  return { ...login, ...own }
}

/** The sealed text is part of the key: a new password needs new connections. */
const connectionKey = (row: SourceRow): string => `${row.id} ${row.sealed}`

export const openSource = (deps: SourceDeps, row: SourceRow): Queries =>
  deps.connections.open(connectionKey(row), row.kind, row.orgId, () => readQuestionLogin(deps, row))

export const releaseSource = (deps: SourceDeps, row: SourceRow): Promise<void> =>
  deps.connections.release(connectionKey(row))
