/** The data sources a principal may ask: exposed, enabled, and within their grant. */
import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq, inArray, sql } from '../../../db/drizzle.ts'
import { dataSources, questionCounts } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { atLeast, GRANTABLE_ROLES, orAbove, type Role } from '../../contracts/roles.ts'
import { preparedQuery } from '../prepared-query.ts'
import type { MemberPrincipal } from '../principal.ts'
import { sourceIdOf, type SourceRow } from '../databases/index.ts'
import type { SourceBarrier } from '../../contracts/access-reasons.ts'
import type { QuestionCounts } from './question-limits.ts'

export type AskableSource = { readonly source: SourceRow; readonly counts: QuestionCounts | null }

/**
 * With what its organization has asked so far, in one statement. Unknown, hidden, disabled and outside the grant answer
 * alike, so the answer reveals nothing.
 */
export async function findAskable(
  db: Handle,
  principal: MemberPrincipal,
  id: string,
): Promise<AskableSource> {
  const { orgId } = principal
  const [found] = id.startsWith('db_')
    ? await askableByName(db).execute({ orgId, name: id.slice(3) })
    : await askableById(db).execute({ orgId, id })
  if (!found || barriersOf(principal, found.source).some((barrier) => barrier !== 'minimum_role'))
    throw notFound()
  return found
}

const withCounts = (db: Handle) =>
  db
    .select({ source: dataSources, counts: questionCounts })
    .from(dataSources)
    .leftJoin(questionCounts, eq(questionCounts.orgId, dataSources.orgId))
const ofOrganization = eq(dataSources.orgId, sql.placeholder('orgId'))
const askableByName = preparedQuery((db) =>
  withCounts(db)
    .where(and(ofOrganization, eq(dataSources.name, sql.placeholder('name'))))
    .prepare('askable_by_name'),
)
const askableById = preparedQuery((db) =>
  withCounts(db)
    .where(and(ofOrganization, eq(dataSources.id, sql.placeholder('id'))))
    .prepare('askable_by_id'),
)

/** What keeps a principal from asking a source. Only the last is told: with the others it does not exist. */
export function barriersOf(
  { role, sources }: Pick<MemberPrincipal, 'role' | 'sources'>,
  { id, enabled, exposed, minimumRole }: Pick<SourceRow, 'id' | 'enabled' | 'exposed' | 'minimumRole'>,
): SourceBarrier[] {
  const barriers: SourceBarrier[] = []
  if (!enabled) barriers.push('off')
  if (!exposed) barriers.push('not_exposed')
  if (sources !== null && !sources.includes(id)) barriers.push('not_granted')
  if (!atLeast(role, minimumRole)) barriers.push('minimum_role')
  return barriers
}

export function requireMinimumRole(principal: MemberPrincipal, row: SourceRow): void {
  if (!barriersOf(principal, row).includes('minimum_role')) return
  throw new ServiceError('FORBIDDEN', `This data source requires the role ${orAbove(row.minimumRole)}`, {
    hint: 'Ask an owner or admin of the organization.',
  })
}

const hasMinimumRoleUpTo = (role: Role) =>
  inArray(
    dataSources.minimumRole,
    GRANTABLE_ROLES.filter((minimum) => atLeast(role, minimum)),
  )

export const isAskable = (orgId: string, role: Role) =>
  and(
    eq(dataSources.orgId, orgId),
    eq(dataSources.enabled, true),
    eq(dataSources.exposed, true),
    hasMinimumRoleUpTo(role),
  )

type AskableSources = {
  readonly sources: readonly SourceRow[]
  readonly counts: QuestionCounts | null
}

/** All of them, or those of a list, with the counts as above; one that may not be asked does not exist. */
export async function listAskable(
  db: Handle,
  { orgId, role, sources }: MemberPrincipal,
  ids: readonly string[] | undefined,
): Promise<AskableSources> {
  const found = await withCounts(db)
    .where(and(isAskable(orgId, role), sources === null ? undefined : inArray(dataSources.id, [...sources])))
    .orderBy(asc(dataSources.name))
  const rows = found.map(({ source }) => source)
  const counts = found[0]?.counts ?? null
  if (ids === undefined) return { sources: rows, counts }
  const requested = ids.map((id) => rows.find((row) => row.id === id || sourceIdOf(row.name) === id))
  if (requested.some((row) => row === undefined)) throw notFound()
  return { sources: [...new Set(requested)].filter((row) => row !== undefined), counts }
}

/** As `rowAccessOf` reads it of the row: by whom each of its rows is seen. */
const LIMITS_ROWS = sql<boolean>`${dataSources.configuration} ->> 'access_column' is not null`

/** What a person can choose from on the consent page. At most 100 are exposed, so there is one page. */
export async function listGrantableSources(
  db: Handle,
  orgId: string,
  role: Role,
): Promise<readonly { id: string; name: string; title: string; limitsRows: boolean }[]> {
  return db
    .select({
      id: dataSources.id,
      name: dataSources.name,
      title: dataSources.title,
      limitsRows: LIMITS_ROWS,
    })
    .from(dataSources)
    .where(isAskable(orgId, role))
    .orderBy(asc(dataSources.name))
}
