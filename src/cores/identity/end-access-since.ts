/**
 * Somebody else was in: ends what was made since then, by one person or in a whole organization. Sessions and tokens
 * first: whatever is being made with them at this moment holds them, so it is waited for and then found.
 */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, gt, gte, inArray, isNull, ne, or } from '../../../db/drizzle.ts'
import {
  apiTokens,
  invitations,
  machineAgentCredentials,
  machineAgents,
  memberships,
  platformAccessGrants,
  sessions,
  users,
} from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Principal } from '../../contracts/operation.ts'
import { atLeast, ROLES } from '../../contracts/roles.ts'
import type { Clock } from '../dependencies.ts'
import { endGrants } from '../grants/index.ts'
import { revokeCredentials } from '../machine-agents/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { revokeInvitations } from '../organizations/index.ts'
import { requireMember, requireUserId } from '../principal.ts'
import { revokeApiTokens } from '../api-tokens/index.ts'
import { write, type Verb } from '../verb.ts'
import { recordEndedAccess, totalOf, type EndedInOrganization } from './record-ended-access.ts'

export const endAccessSince: Verb<'endAccessSince'> = write(
  { by: 'principal' },
  async ({ tx, clock, principal }, { since, all, user_id }) => {
    const isOwn = !all && user_id === undefined
    const people = isOwn ? ownAnywhere(principal) : await peopleIn(tx, clock, principal, user_id)
    // Postgres has no year 0, and nothing was made before this one.
    const after = new Date(Math.max(Date.parse(since), 0))
    const sessionCount = await endSessionsOf(tx, clock, people, after, principal.sessionId)
    const ended = await endRest(tx, clock, people, after)
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

/** Whose: conditions on the columns that name a person and an organization. */
type People = {
  readonly called: string
  /** Null: in every organization. */
  readonly orgId: string | null
  readonly has: (column: PersonColumn) => SQL | undefined
  /** Those that the operator made have no inviter. */
  readonly withOperators: boolean
}
type PersonColumn =
  | typeof sessions.userId
  | typeof apiTokens.userId
  | typeof platformAccessGrants.userId
  | typeof invitations.invitedBy
  | typeof machineAgents.ownerId
  | typeof machineAgentCredentials.createdBy

function ownAnywhere(principal: Principal): People {
  const userId = requireUserId(principal)
  return { called: 'their own', orgId: null, has: (column) => eq(column, userId), withOperators: false }
}

/** Members whose role is not above that of the principal, or one of them. */
async function peopleIn(
  tx: Transaction,
  clock: Clock,
  principal: Principal,
  userId: string | undefined,
): Promise<People> {
  const member = await lockAuthor(tx, clock, requireMember(principal), 'admin')
  const { orgId } = member
  if (userId !== undefined) {
    const email = await findManageable(tx, member, userId)
    return { called: email, orgId, has: (column) => eq(column, userId), withOperators: false }
  }
  const reachable = tx
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(
      and(
        eq(memberships.orgId, orgId),
        inArray(
          memberships.role,
          ROLES.filter((role) => atLeast(member.role, role)),
        ),
      ),
    )
  return {
    called: 'everybody',
    orgId,
    has: (column) => inArray(column, reachable),
    withOperators: member.role === 'owner',
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

/**
 * One's own end everywhere. An organization ends those that chose it last: a session opens every organization of its
 * person, and one that works in another is not this one's to end.
 */
async function endSessionsOf(
  tx: Transaction,
  clock: Clock,
  people: People,
  after: Date,
  current: string | undefined,
): Promise<number> {
  const now = clock()
  const rows = await tx
    .update(sessions)
    .set({ endedAt: now })
    .where(
      and(
        people.has(sessions.userId),
        people.orgId === null ? undefined : eq(sessions.orgId, people.orgId),
        gte(sessions.createdAt, after),
        isNull(sessions.endedAt),
        gt(sessions.expiresAt, now),
        current === undefined ? undefined : ne(sessions.id, current),
      ),
    )
    .returning({ id: sessions.id })
  return rows.length
}

async function endRest(
  tx: Transaction,
  clock: Clock,
  people: People,
  after: Date,
): Promise<readonly EndedInOrganization[]> {
  const now = clock()
  const { orgId } = people
  const tokens = await revokeApiTokens(
    tx,
    clock,
    and(
      orgId === null ? undefined : eq(apiTokens.orgId, orgId),
      people.has(apiTokens.userId),
      gte(apiTokens.createdAt, after),
      or(isNull(apiTokens.expiresAt), gt(apiTokens.expiresAt, now)),
    ),
  )
  const grants = await endGrants(
    tx,
    clock,
    and(
      orgId === null ? undefined : eq(platformAccessGrants.orgId, orgId),
      or(
        people.has(platformAccessGrants.userId),
        inArray(platformAccessGrants.machineAgentId, machineAgentsOf(tx, people)),
      ),
      gte(platformAccessGrants.createdAt, after),
      gt(platformAccessGrants.expiresAt, now),
    ),
    'access_ended',
  )
  const credentials = await revokeCredentials(
    tx,
    clock,
    and(
      people.has(machineAgentCredentials.createdBy),
      orgId === null ? undefined : inArray(machineAgentCredentials.agentId, machineAgentsIn(tx, orgId)),
      gte(machineAgentCredentials.createdAt, after),
    ),
  )
  const invited = await revokeInvitations(
    tx,
    clock,
    and(
      orgId === null ? undefined : eq(invitations.orgId, orgId),
      or(people.has(invitations.invitedBy), people.withOperators ? isNull(invitations.invitedBy) : undefined),
      gte(invitations.createdAt, after),
      gt(invitations.expiresAt, now),
    ),
  )
  return [
    ...tokens.map((row) => ({ orgId: row.orgId, kind: 'tokens' as const })),
    ...grants.map((row) => ({ orgId: row.orgId, kind: 'grants' as const })),
    ...(await organizationsOf(tx, credentials)).map((id) => ({ orgId: id, kind: 'credentials' as const })),
    ...invited.map((row) => ({ orgId: row.orgId, kind: 'invitations' as const })),
  ]
}

/** Those that they answer for. */
const machineAgentsOf = (tx: Transaction, people: People) =>
  tx.select({ id: machineAgents.id }).from(machineAgents).where(people.has(machineAgents.ownerId))

const machineAgentsIn = (tx: Transaction, orgId: string) =>
  tx.select({ id: machineAgents.id }).from(machineAgents).where(eq(machineAgents.orgId, orgId))

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
