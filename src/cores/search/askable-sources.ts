/** Which sources a caller may know of: exposed, switched on, and within the grant the caller came with. */
import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq, gt, inArray } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import type { listAskableSources } from '../../contracts/data-sources.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { atLeast, GRANTABLE_ROLES, type Role } from '../../contracts/roles.ts'
import { asMember, type MemberCaller } from '../caller.ts'
import { calledLike, findSource, sourceIdOf, type SourceRow } from '../databases/index.ts'
import type { Storage } from '../needs.ts'

/** The same answer for unknown, hidden, switched off and outside the grant: which of them it is tells nobody anything. */
export async function findAskable(db: Handle, caller: MemberCaller, id: string): Promise<SourceRow> {
  const row = await findSource(db, caller.orgId, id)
  if (!row || !row.enabled || !row.exposed || !isGranted(caller, row)) throw notFound()
  return row
}

const isGranted = ({ sources }: MemberCaller, { id }: SourceRow): boolean =>
  sources === null || sources.includes(id)

export function requireMinimumRole(caller: MemberCaller, row: SourceRow): void {
  if (atLeast(caller.role, row.minimumRole)) return
  throw new ServiceError('FORBIDDEN', `This data source needs the role ${row.minimumRole} or above`, {
    hint: 'Ask an owner or admin of the organization.',
  })
}

const within = (role: Role) =>
  inArray(
    dataSources.minimumRole,
    GRANTABLE_ROLES.filter((minimum) => atLeast(role, minimum)),
  )

const askable = (orgId: string, role: Role) =>
  and(
    eq(dataSources.orgId, orgId),
    eq(dataSources.enabled, true),
    eq(dataSources.exposed, true),
    within(role),
  )

export const askableSources =
  ({ db }: Storage): Handler<typeof listAskableSources> =>
  async (who, { search, limit, cursor }) => {
    const { orgId, role, sources } = asMember(who)
    const after = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select()
      .from(dataSources)
      .where(
        and(
          askable(orgId, role),
          sources === null ? undefined : inArray(dataSources.id, [...sources]),
          calledLike(search),
          after === undefined ? undefined : gt(dataSources.name, after),
        ),
      )
      .orderBy(asc(dataSources.name))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.name])
    return {
      data_sources: page.rows.map((row) => ({
        id: sourceIdOf(row.name),
        name: row.title,
        minimum_role: row.minimumRole,
        filters: row.configuration?.filter_schema ?? {},
        targets: row.configuration?.connection_config.embedding_configs.map(({ label }) => label) ?? [],
        description: row.description,
      })),
      next_cursor: page.next_cursor,
    }
  }

/** All of them, or those of a list; one that may not be asked is as unknown as one that does not exist. */
export async function allAskable(
  db: Handle,
  { orgId, role, sources }: MemberCaller,
  chosen: readonly string[] | undefined,
): Promise<readonly SourceRow[]> {
  const rows = await db
    .select()
    .from(dataSources)
    .where(and(askable(orgId, role), sources === null ? undefined : inArray(dataSources.id, [...sources])))
    .orderBy(asc(dataSources.name))
  if (chosen === undefined) return rows
  const wanted = chosen.map((id) => rows.find((row) => row.id === id || sourceIdOf(row.name) === id))
  if (wanted.some((row) => row === undefined)) throw notFound()
  return [...new Set(wanted)].filter((row) => row !== undefined)
}

/** What a person can choose from when they connect an agent. At most 100 are exposed, so no page is needed. */
export async function sourcesToChoose(
  db: Handle,
  orgId: string,
  role: Role,
): Promise<readonly { id: string; name: string; title: string }[]> {
  return db
    .select({ id: dataSources.id, name: dataSources.name, title: dataSources.title })
    .from(dataSources)
    .where(askable(orgId, role))
    .orderBy(asc(dataSources.name))
}
