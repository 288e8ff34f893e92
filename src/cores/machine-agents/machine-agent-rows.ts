/** Rows of machine agents: who may see and manage them, and how the API returns them. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, asc, eq, inArray, isNull, sql } from '../../../db/drizzle.ts'
import {
  machineAgentCredentials,
  machineAgents,
  memberships,
  organizationClientBlocks,
  platformAccessGrants,
  platformOauthClients,
  users,
} from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { MACHINE_AGENT_DAYS } from '../../contracts/limits.ts'
import { mayGive, type MachineAgentState } from '../../contracts/machine-agents.ts'
import { atLeast, lowerOf, type Role } from '../../contracts/roles.ts'
import type { Clock } from '../dependencies.ts'
import {
  grantedScopes,
  listVisibleSources,
  presentGrantedSources,
  type KnownSource,
  type LivenessDeps,
} from '../grants/index.ts'
import type { LockedAuthor } from '../lock-author.ts'
import type { MemberPrincipal } from '../principal.ts'
import { isLiveCredential, presentCredential, type Credential } from './credential-rows.ts'
import { isStanding } from './standing-grant.ts'

export type Agent = typeof machineAgents.$inferSelect

/** Those one answers for; as owner or admin all. For everybody else they do not exist. */
export const isVisible = ({ orgId, userId, role }: MemberPrincipal) =>
  and(
    eq(machineAgents.orgId, orgId),
    isNull(machineAgents.removedAt),
    atLeast(role, 'admin') ? undefined : eq(machineAgents.ownerId, userId),
  )

/** Locked, for a change by somebody who may make it. */
export async function lockManageable(
  tx: Transaction,
  member: LockedAuthor<MemberPrincipal>,
  agentId: string,
): Promise<Agent> {
  const [agent] = await tx
    .select()
    .from(machineAgents)
    .where(and(isVisible(member), eq(machineAgents.id, agentId)))
    .for('update')
  if (!agent) throw notFound()
  return agent
}

/**
 * Whoever gets a credential of it, or chooses who answers for it, can use what it may do. That holds for its owner too: with
 * a lower role they hold it down, but with the next owner it would rise.
 */
export async function refuseHigherAgent(
  tx: Transaction,
  { role }: MemberPrincipal,
  agent: Agent,
): Promise<void> {
  if (!atLeast(role, agent.role))
    throw new ServiceError('FORBIDDEN', 'This machine agent’s role is above yours')
  const [grant] = await tx.select().from(platformAccessGrants).where(isStanding(agent.id))
  if (mayGive(role, { role: agent.role, scopes: grant ? grantedScopes(grant) : [] })) return
  throw new ServiceError('FORBIDDEN', 'This machine agent has maintenance:admin, which only owners may give')
}

const DAY_MS = 24 * 60 * 60 * 1000

export function expiryOf(clock: Clock, asked: string | undefined): Date {
  const now = clock().getTime()
  const latest = now + MACHINE_AGENT_DAYS * DAY_MS
  if (asked === undefined) return new Date(latest)
  const wanted = Date.parse(asked)
  if (wanted > now && wanted <= latest) return new Date(wanted)
  throw new ServiceError('INVALID_REQUEST', undefined, {
    problems: [`expires_at must be in the future, and at most ${MACHINE_AGENT_DAYS} days from now`],
  })
}

type Row = {
  agent: Agent
  owner: { id: string; email: string; name: string }
  ownerRole: Role | null
  grant: typeof platformAccessGrants.$inferSelect | null
  isBlocked: boolean
  lastUsedAt: string | null
}

export const agentRows = (db: Handle) =>
  db
    .select({
      agent: machineAgents,
      owner: { id: users.id, email: users.email, name: users.name },
      ownerRole: memberships.role,
      grant: platformAccessGrants,
      isBlocked: sql<boolean>`${organizationClientBlocks.clientId} is not null or ${platformOauthClients.isActive} is false`,
      // Of all its grants: also after the last one has ended.
      lastUsedAt: sql<string | null>`(select max(used.last_used_at)::text from ${platformAccessGrants} used
        where used.machine_agent_id = ${machineAgents.id})`,
    })
    .from(machineAgents)
    .innerJoin(users, eq(users.id, machineAgents.ownerId))
    .leftJoin(memberships, isOwnersMembership)
    .leftJoin(
      platformAccessGrants,
      and(eq(platformAccessGrants.machineAgentId, machineAgents.id), isNull(platformAccessGrants.revokedAt)),
    )
    .leftJoin(
      organizationClientBlocks,
      and(
        eq(organizationClientBlocks.orgId, machineAgents.orgId),
        eq(organizationClientBlocks.clientId, machineAgents.clientId),
      ),
    )
    .leftJoin(platformOauthClients, eq(platformOauthClients.clientId, machineAgents.clientId))

const isOwnersMembership = and(
  eq(memberships.orgId, machineAgents.orgId),
  eq(memberships.userId, machineAgents.ownerId),
  eq(memberships.id, machineAgents.ownerMembershipId),
)

type Presenting = Pick<LivenessDeps, 'db' | 'clock' | 'keyEpoch'>

export async function presentAgents(deps: Presenting, member: MemberPrincipal, rows: readonly Row[]) {
  const { db, clock } = deps
  const credentials = await readCredentials(deps, rows)
  const known = rows.some(({ grant }) => grant?.sources) ? await listVisibleSources(db, member) : []
  return rows.map((row) =>
    presentAgent(
      clock,
      row,
      credentials.filter(({ agentId }) => agentId === row.agent.id),
      known,
    ),
  )
}

export async function presentOne(deps: Presenting, member: MemberPrincipal, agentId: string) {
  const rows = await agentRows(deps.db).where(and(isVisible(member), eq(machineAgents.id, agentId)))
  const [agent] = await presentAgents(deps, member, rows)
  if (!agent) throw notFound()
  return agent
}

async function readCredentials({ db, ...deps }: Presenting, rows: readonly Row[]): Promise<Credential[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ agent }) => agent.id)
  return db
    .select()
    .from(machineAgentCredentials)
    .where(and(inArray(machineAgentCredentials.agentId, ids), isLiveCredential(deps)))
    .orderBy(asc(machineAgentCredentials.id))
}

const presentAgent = (
  clock: Clock,
  row: Row,
  credentials: readonly Credential[],
  known: readonly KnownSource[],
) => {
  const { agent, owner, ownerRole, grant, lastUsedAt } = row
  return {
    id: agent.id,
    client_id: agent.clientId,
    name: agent.name,
    role: agent.role,
    current_role: ownerRole && lowerOf(agent.role, ownerRole),
    owner,
    user_id: agent.userId,
    state: stateOf(clock, row, credentials),
    grant_id: grant?.id ?? null,
    scopes: grant ? grantedScopes(grant) : [],
    sources: grant ? presentGrantedSources(grant.sources, known) : [],
    credentials: credentials.map(presentCredential),
    created_at: agent.createdAt.toISOString(),
    expires_at: agent.expiresAt.toISOString(),
    last_used_at: lastUsedAt === null ? null : new Date(lastUsedAt).toISOString(),
  }
}

function stateOf(
  clock: Clock,
  { agent, ownerRole, grant, isBlocked }: Row,
  credentials: readonly Credential[],
): MachineAgentState {
  if (grant === null) return 'disconnected'
  if (agent.expiresAt <= clock()) return 'expired'
  if (ownerRole === null) return 'owner_left'
  if (isBlocked) return 'blocked'
  return credentials.length === 0 ? 'no_credentials' : 'active'
}
