/** What a directory reads: people and groups of its own organization, one by one or in pages. */
import type { SQL } from 'drizzle-orm'
import { and, asc, eq, inArray, isNull, sql } from '../../../db/drizzle.ts'
import {
  groups,
  provisionedGroups,
  provisionedPeople as people,
  provisionedPlaces as places,
} from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { idPattern } from '../../contracts/ids.ts'
import { PAGE_DEFAULT, PAGE_MAX, SCIM_PAGE_MEMBERS_MAX } from '../../contracts/limits.ts'
import { SCIM_URN } from '../../contracts/scim-resources.ts'
import type { Storage } from '../dependencies.ts'
import type { ScimPrincipal } from './dependencies.ts'
import { conditionOf, type Columns } from './match-filter.ts'
import { parseFilter } from './parse-filter.ts'
import { isPerson, presentPerson } from './person-rows.ts'
import { ScimError } from './scim-error.ts'

export type Asked = {
  readonly filter?: string | undefined
  readonly startIndex?: string | undefined
  readonly count?: string | undefined
  /** False: members of groups are left out. */
  readonly withMembers: boolean
}

const PERSON_COLUMNS: Columns = {
  id: { is: 'exact', as: sql`${people.id}` },
  externalid: { is: 'exact', as: sql`${people.externalId}` },
  username: { is: 'text', as: sql`lower(${people.userName})` },
  displayname: { is: 'text', as: sql`lower(${people.displayName})` },
  'name.givenname': { is: 'text', as: sql`lower(${people.givenName})` },
  'name.familyname': { is: 'text', as: sql`lower(${people.familyName})` },
  emails: { is: 'text', as: sql`${people.email}` },
  'emails.value': { is: 'text', as: sql`${people.email}` },
  'emails.type': { is: 'text', as: sql`'work'::text` },
  'emails.primary': { is: 'truth', as: sql`true` },
  active: { is: 'truth', as: sql`${people.active}` },
  'meta.created': { is: 'time', as: sql`${people.createdAt}` },
  'meta.lastmodified': { is: 'time', as: sql`${people.updatedAt}` },
}

const hasMember = (id: string): SQL =>
  sql`exists (select from provisioned_places pl
    where pl.org_id = ${groups.orgId} and pl.group_id = ${groups.id} and pl.person_id = ${id})`

const GROUP_COLUMNS: Columns = {
  id: { is: 'exact', as: sql`${groups.id}` },
  externalid: { is: 'exact', as: sql`${provisionedGroups.externalId}` },
  displayname: { is: 'text', as: sql`lower(${groups.name})` },
  members: { is: 'member', has: hasMember },
  'members.value': { is: 'member', has: hasMember },
  'meta.created': { is: 'time', as: sql`${groups.createdAt}` },
}

export const listPeople =
  ({ db }: Storage) =>
  async (bearer: ScimPrincipal, asked: Asked, base: string) => {
    const { found, answer } = await scimPage(asked, PERSON_COLUMNS, (filter) =>
      db
        .select({ person: people, total: TOTAL })
        .from(people)
        .where(and(eq(people.orgId, bearer.orgId), isNull(people.deletedAt), filter))
        .orderBy(asc(people.id))
        .$dynamic(),
    )
    return answer(found.map(({ person }) => presentPerson(person, base)))
  }

export const showPerson =
  ({ db }: Storage) =>
  async ({ orgId }: ScimPrincipal, id: string, base: string) => {
    const [row] = idPattern('scp').test(id) ? await db.select().from(people).where(isPerson(orgId, id)) : []
    if (!row) throw notFound()
    return presentPerson(row, base)
  }

export const listScimGroups =
  ({ db }: Storage) =>
  async ({ orgId }: ScimPrincipal, asked: Asked, base: string) => {
    const { found, answer } = await scimPage(asked, GROUP_COLUMNS, (filter) =>
      db
        .select({ group: groups, own: provisionedGroups, total: TOTAL })
        .from(groups)
        .innerJoin(provisionedGroups, isOwn)
        .where(and(eq(groups.orgId, orgId), filter))
        .orderBy(asc(groups.id))
        .$dynamic(),
    )
    if (!asked.withMembers) return answer(found.map((row) => presentGroup(row, undefined, base)))
    const { members, cutAt } = await readMembers(
      db,
      orgId,
      found.map(({ group }) => group.id),
    )
    // The page ends before the group whose members are too many. The first one never is: it has at most half as many.
    const end = cutAt === undefined ? found.length : found.findIndex(({ group }) => group.id === cutAt)
    const shown = found.slice(0, end)
    return answer(shown.map((row) => presentGroup(row, members.get(row.group.id) ?? [], base)))
  }

export const showScimGroup =
  ({ db }: Storage) =>
  async ({ orgId }: ScimPrincipal, id: string, base: string, withMembers = true) => {
    const [row] = idPattern('grp').test(id)
      ? await db
          .select({ group: groups, own: provisionedGroups })
          .from(groups)
          .innerJoin(provisionedGroups, isOwn)
          .where(and(eq(groups.orgId, orgId), eq(groups.id, id)))
      : []
    if (!row) throw notFound()
    const members = withMembers ? ((await readMembers(db, orgId, [id])).members.get(id) ?? []) : undefined
    return presentGroup(row, members, base)
  }

/** Not those that somebody here created. */
const isOwn = and(eq(provisionedGroups.orgId, groups.orgId), eq(provisionedGroups.groupId, groups.id))

type Shown = { readonly value: string; readonly display: string }

/**
 * People of the directory only: whom else somebody put into a group here is nothing to it. `cutAt`: the first group whose
 * members are not all there, because an answer has at most so many.
 */
async function readMembers(
  db: Storage['db'],
  orgId: string,
  groupIds: readonly string[],
): Promise<{ readonly members: ReadonlyMap<string, readonly Shown[]>; readonly cutAt?: string }> {
  if (groupIds.length === 0) return { members: new Map() }
  const rows = await db
    .select({ groupId: places.groupId, value: people.id, display: people.userName })
    .from(places)
    .innerJoin(people, and(eq(people.orgId, places.orgId), eq(people.id, places.personId)))
    .where(and(eq(places.orgId, orgId), inArray(places.groupId, [...groupIds]), isNull(people.deletedAt)))
    .orderBy(places.groupId, places.personId)
    .limit(SCIM_PAGE_MEMBERS_MAX + 1)
  const byGroup = Map.groupBy(rows, ({ groupId }) => groupId)
  const cutAt = rows[SCIM_PAGE_MEMBERS_MAX]?.groupId
  return {
    members: new Map(
      [...byGroup].map(([id, of]) => [id, of.map(({ value, display }) => ({ value, display }))]),
    ),
    ...(cutAt !== undefined && { cutAt }),
  }
}

const presentGroup = (
  {
    group,
    own,
  }: {
    readonly group: typeof groups.$inferSelect
    readonly own: typeof provisionedGroups.$inferSelect
  },
  members: readonly Shown[] | undefined,
  base: string,
) => ({
  schemas: [SCIM_URN.group],
  id: group.id,
  ...(own.externalId !== null && { externalId: own.externalId }),
  displayName: group.name,
  ...(members && { members }),
  meta: {
    resourceType: 'Group',
    created: group.createdAt.toISOString(),
    lastModified: own.updatedAt.toISOString(),
    location: `${base}/Groups/${group.id}`,
  },
})

const TOTAL = sql<number>`count(*) over ()`.mapWith(Number)

type Query<Row> = PromiseLike<Row[]> & {
  limit(rows: number): Query<Row>
  offset(rows: number): Query<Row>
}

/** RFC 7644, 3.4.2.4: from 1, and anything smaller means 1; a negative count means none. */
async function scimPage<Row extends { readonly total: number }>(
  { filter, startIndex, count }: Asked,
  columns: Columns,
  query: (filter: SQL | undefined) => Query<Row>,
) {
  const from = Math.max(1, numberOf('startIndex', startIndex) ?? 1) - 1
  const size = Math.min(PAGE_MAX, Math.max(0, numberOf('count', count) ?? PAGE_DEFAULT))
  const condition = filter === undefined ? undefined : conditionOf(parseFilter(filter), columns)
  const rows = await query(condition).limit(Math.max(1, size)).offset(from)
  // Behind the last page, nothing tells how many there are.
  const [first] = rows.length === 0 && from > 0 ? await query(condition).limit(1) : rows
  return {
    found: size === 0 ? [] : rows,
    answer: (resources: readonly object[]) => ({
      schemas: [SCIM_URN.list],
      totalResults: first?.total ?? 0,
      startIndex: from + 1,
      itemsPerPage: resources.length,
      Resources: resources,
    }),
  }
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  if (!/^-?\d{1,9}$/.test(text)) throw new ScimError('invalidValue', `${name} must be a whole number`)
  return Number(text)
}
