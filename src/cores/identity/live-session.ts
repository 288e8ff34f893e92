/** A browser's session that has not ended, whose it is, and the organization that they act in: in one statement. */
import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq, isNull, or, sql } from '../../../db/drizzle.ts'
import { memberships, organizations, sessions, users } from '../../../db/schema.ts'
import { PAGE_DEFAULT } from '../../contracts/limits.ts'
import { OWN_ORGANIZATION, presentOwnOrganization } from '../organizations/index.ts'
import { preparedQuery } from '../prepared-query.ts'

/** What a validation needs to know: reading the others takes longer than finding the rows. */
export const SESSION_COLUMNS = {
  id: sessions.id,
  orgId: sessions.orgId,
  generation: sessions.generation,
  roleCap: sessions.roleCap,
  carriesAppRoles: sessions.carriesAppRoles,
  rotatedAt: sessions.rotatedAt,
  lastUsedAt: sessions.lastUsedAt,
}
export const USER_COLUMNS = {
  id: users.id,
  email: users.email,
  name: users.name,
  emailVerifiedAt: users.emailVerifiedAt,
}

type Asked = {
  readonly sessionId: string
  readonly userId: string
  /** Id or slug of the organization that the request names. */
  readonly organization: string | undefined
  /** Whether to read all organizations of the person as well. */
  readonly organizations: boolean
  readonly now: string
}

/** `organizations` is left out where they were not asked for, or are more than a page. */
export async function findLiveSession(db: Handle, { organizations: withAll, ...asked }: Asked) {
  if (withAll && asked.organization === undefined) {
    const rows = await liveSessionWithAll(db).execute(asked)
    if (rows.length < PAGE_DEFAULT) return chosenOf(rows)
  }
  const query = asked.organization === undefined ? liveSession : liveSessionIn
  const [row] = await query(db).execute(asked)
  if (!row) return undefined
  const { membership, ...found } = row
  return {
    ...found,
    membership: membership?.orgId == null ? null : membership,
    organizations: undefined,
  }
}

const isLive = and(
  eq(sessions.id, sql.placeholder('sessionId')),
  eq(sessions.userId, sql.placeholder('userId')),
  eq(sessions.kind, 'browser'),
  isNull(sessions.endedAt),
  sql`${sessions.expiresAt} > ${sql.placeholder('now')}::timestamptz`,
)

const isNamed = or(
  eq(organizations.id, sql.placeholder('organization')),
  eq(organizations.slug, sql.placeholder('organization')),
)

/** The one last chosen, or else the first one joined: being removed from one does not hide the others. */
function sessionQuery(db: Handle, which: ReturnType<typeof and>) {
  const membership = db
    .select({
      orgId: organizations.id,
      orgName: sql<string>`${organizations.name}`.as('org_name'),
      orgSlug: organizations.slug,
      timezone: organizations.timezone,
      id: sql<string>`${memberships.id}`.as('membership_id'),
      role: memberships.role,
    })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.orgId))
    .where(and(eq(memberships.userId, sessions.userId), which))
    .orderBy(sql`${memberships.orgId} is distinct from ${sessions.orgId}`, memberships.joinedAt)
    .limit(1)
    .as('membership')
  return db
    .select({ session: SESSION_COLUMNS, user: USER_COLUMNS, membership: { ...membership._.selectedFields } })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .leftJoinLateral(membership, sql`true`)
    .where(isLive)
}

const liveSession = preparedQuery((db) => sessionQuery(db, undefined).prepare('live_session'))
const liveSessionIn = preparedQuery((db) => sessionQuery(db, isNamed).prepare('live_session_in'))

/** A row for each organization, in the order of `listOrganizations`, and at least one. */
const liveSessionWithAll = preparedQuery((db) =>
  db
    .select({
      session: SESSION_COLUMNS,
      user: USER_COLUMNS,
      membership: { id: memberships.id, joinedAt: memberships.joinedAt },
      ...OWN_ORGANIZATION,
    })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .leftJoin(memberships, eq(memberships.userId, sessions.userId))
    .leftJoin(organizations, eq(organizations.id, memberships.orgId))
    .where(isLive)
    .orderBy(asc(organizations.name), asc(organizations.id))
    .limit(PAGE_DEFAULT)
    .prepare('live_session_with_all'),
)

/** As `sessionQuery` chooses. */
function chosenOf(rows: Awaited<ReturnType<ReturnType<typeof liveSessionWithAll>['execute']>>) {
  const [first] = rows
  if (!first) return undefined
  const { session, user } = first
  const own = rows.flatMap(({ membership, org, role, ...more }) =>
    membership && org && role ? [{ membership, org, role, ...more }] : [],
  )
  const [chosen] = own.toSorted(
    (a, b) =>
      Number(b.org.id === session.orgId) - Number(a.org.id === session.orgId) ||
      a.membership.joinedAt.getTime() - b.membership.joinedAt.getTime(),
  )
  return {
    session,
    user,
    membership: chosen
      ? {
          orgId: chosen.org.id,
          orgName: chosen.org.name,
          orgSlug: chosen.org.slug,
          timezone: chosen.org.timezone,
          id: chosen.membership.id,
          role: chosen.role,
        }
      : null,
    organizations: own.map(presentOwnOrganization),
  }
}
