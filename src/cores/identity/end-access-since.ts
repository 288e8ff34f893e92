/** Somebody else was in: ends what was made since then, by one person or in a whole organization. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, sql } from '../../../db/drizzle.ts'
import { machineAgents, memberships, sessions, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Principal } from '../../contracts/operation.ts'
import { atLeast, ROLES, type Role } from '../../contracts/roles.ts'
import { endByCause, type Cause, type People } from '../credentials/index.ts'
import type { Clock } from '../dependencies.ts'
import { lockAuthor } from '../lock-author.ts'
import { endLinksMadeSince } from '../organizations/index.ts'
import { requireMember, requireUserId } from '../principal.ts'
import { write, type Verb } from '../verb.ts'
import { recordEndedAccess, totalOf, type EndedInOrganization } from './record-ended-access.ts'

export const endAccessSince: Verb<'endAccessSince'> = write(
  { by: 'principal', audit: ['access.ended', 'identity_link.removed'] },
  async ({ tx, clock, principal }, { since, all, user_id }) => {
    const isOwn = !all && user_id === undefined
    // Before it is locked with others: two calls by one session would wait for each other.
    if (principal.sessionId !== undefined) {
      const own = tx.select({ id: sessions.id }).from(sessions)
      await own.where(eq(sessions.id, principal.sessionId)).for('update')
    }
    const people = isOwn ? await ownAnywhere(tx, principal) : await peopleIn(tx, clock, principal, user_id)
    // Postgres has no year 0, and nothing was made before this one.
    const after = new Date(Math.max(Date.parse(since), 0))
    const { sessionId: exceptSessionId } = principal
    const { sessions: sessionCount, ended: others } = await endIn(tx, clock, {
      people,
      after,
      exceptSessionId,
    })
    // Then: one that is being made at this moment holds the session or token by which it is.
    const linked = await endLinksMadeSince(tx, clock, principal, { people, after })
    const ended = [...others, ...linked.map(({ orgId }) => ({ orgId, kind: 'grants' as const }))]
    const counts = { sessions: sessionCount, ...totalOf(ended) }
    const where = principal.orgId
    await recordEndedAccess(tx, clock, principal, {
      ended,
      sessions: where === null ? undefined : { orgId: where, count: sessionCount },
      about: `${people.called} since ${after.toISOString()}`,
    })
    return counts
  },
)

type Called = People & { readonly called: string }

/** What outlives its maker is theirs to end as long as they are members. */
async function ownAnywhere(tx: Transaction, principal: Principal): Promise<Called> {
  const userId = requireUserId(principal)
  const { orgId } = memberships
  const mine = await tx.select({ orgId }).from(memberships).where(eq(memberships.userId, userId))
  return {
    ...oneself(userId),
    called: 'their own',
    orgId: null,
    lasting: { orgIds: mine.map((one) => one.orgId), isBy: (maker) => eq(maker, userId) },
  }
}

const oneself = (userId: string): Pick<People, 'has' | 'withOperators'> => ({
  has: (column) => eq(column, userId),
  withOperators: false,
})

/** Members whose role is not above that of the principal, or one of them. */
async function peopleIn(
  tx: Transaction,
  clock: Clock,
  principal: Principal,
  userId: string | undefined,
): Promise<Called> {
  const member = await lockAuthor(tx, clock, requireMember(principal), 'admin')
  const { orgId } = member
  if (userId !== undefined) {
    const email = await findManageable(tx, member, userId)
    const lasting = {
      orgIds: [orgId],
      isBy: (maker: Parameters<People['lasting']['isBy']>[0]) => eq(maker, userId),
    }
    return { ...oneself(userId), called: email, orgId, lasting }
  }
  const inRoles = (roles: readonly Role[]) =>
    and(eq(memberships.orgId, orgId), inArray(memberships.role, [...roles]))
  const isReachable = (role: Role) => atLeast(member.role, role)
  const reachable = tx
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(inRoles(ROLES.filter(isReachable)))
  const above = await tx
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(inRoles(ROLES.filter((role) => !isReachable(role))))
  const aboveIds = JSON.stringify(above.map(({ userId: id }) => id))
  return {
    called: 'everybody',
    orgId,
    has: (column) => inArray(column, reachable),
    withOperators: member.role === 'owner',
    lasting: {
      orgIds: [orgId],
      // Also by whoever was removed since. As text, because what they made may lie on another server than people do.
      isBy: (maker) =>
        sql`(${maker} is not null and ${maker} not in
          (select value from json_array_elements_text(${aboveIds}::text::json)))`,
    },
  }
}

async function findManageable(
  tx: Transaction,
  { orgId, role }: { orgId: string; role: (typeof ROLES)[number] },
  userId: string,
): Promise<string> {
  const [target] = await tx
    .select({ email: users.email, role: memberships.role })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
  if (!target) throw notFound()
  if (!atLeast(role, target.role)) throw new ServiceError('FORBIDDEN', 'This member’s role is above yours')
  return target.email
}

async function endIn(
  tx: Transaction,
  clock: Clock,
  cause: Omit<Extract<Cause, { cause: 'made_since' }>, 'cause'>,
): Promise<{ sessions: number; ended: readonly EndedInOrganization[] }> {
  const { sessions: own, ...rest } = await endByCause(tx, clock, { cause: 'made_since', ...cause })
  const ended = [
    ...rest.tokens.map((row) => ({ orgId: row.orgId, kind: 'tokens' as const })),
    ...rest.grants.map((row) => ({ orgId: row.orgId, kind: 'grants' as const })),
    ...(await organizationsOf(tx, rest.credentials)).map((id) => ({
      orgId: id,
      kind: 'credentials' as const,
    })),
    ...rest.bearers.map((row) => ({ orgId: row.orgId, kind: 'credentials' as const })),
    ...rest.invitations.map((row) => ({ orgId: row.orgId, kind: 'invitations' as const })),
  ]
  return { sessions: own.length, ended }
}

/** The organization of each credential. */
async function organizationsOf(
  tx: Transaction,
  credentials: readonly { readonly agentId: string }[],
): Promise<readonly string[]> {
  if (credentials.length === 0) return []
  const ids = credentials.map(({ agentId }) => agentId)
  const agents = await tx
    .select({ id: machineAgents.id, orgId: machineAgents.orgId })
    .from(machineAgents)
    .where(inArray(machineAgents.id, ids))
  const byId = new Map(agents.map(({ id, orgId }) => [id, orgId]))
  return ids.map((id) => byId.get(id)!)
}
