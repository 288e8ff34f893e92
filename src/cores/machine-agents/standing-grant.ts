/**
 * The grant of a machine agent. It stands as long as the agent does: tokens are issued on it without anybody's approval,
 * and what ends it ends them on the next call.
 */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { platformAccessGrants, type machineAgents } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { SCOPE_EDITION } from '../../contracts/scopes.ts'
import type { Clock } from '../dependencies.ts'
import { endGrants, type EndReason } from '../grants/index.ts'

type Agent = typeof machineAgents.$inferSelect
type Grant = typeof platformAccessGrants.$inferSelect

/** Not yet ended by anybody; keys may have been rotated since. */
export const isStanding = (agentId: string) =>
  and(eq(platformAccessGrants.machineAgentId, agentId), isNull(platformAccessGrants.revokedAt))

type Given = Pick<Grant, 'scopes' | 'sources' | 'keyEpoch'> &
  Partial<Pick<Grant, 'createdAt' | 'lastUsedAt' | 'scopeEdition' | 'payload'>>

export async function insertStandingGrant(
  tx: Transaction,
  clock: Clock,
  agent: Agent,
  given: Given,
): Promise<Grant> {
  const now = clock()
  const [grant] = await tx
    .insert(platformAccessGrants)
    .values({
      scopeEdition: SCOPE_EDITION,
      createdAt: now,
      ...given,
      // Also of one that takes another's place: what that used was counted under its own id.
      usesSince: now,
      id: makeId('grt', now.getTime()),
      orgId: agent.orgId,
      userId: agent.userId,
      clientId: agent.clientId,
      clientKind: 'machine',
      clientName: agent.name,
      redirectHost: '',
      resource: 'platform',
      via: 'machine',
      roleCap: agent.role,
      carriesAppRoles: false,
      machineAgentId: agent.id,
      // The authorization server has no record of its own: it never asks for this one. It holds former owners.
      payload: given.payload ?? {},
      expiresAt: agent.expiresAt,
    })
    .returning()
  return grant!
}

/**
 * Another grant with what is left of the old one, so that tokens of the old one open nothing. Undefined when somebody has
 * ended it before: that is final.
 */
export async function replaceStandingGrant(
  tx: Transaction,
  clock: Clock,
  agent: Agent,
  { reason, keyEpoch }: { readonly reason: EndReason; readonly keyEpoch?: string },
): Promise<Grant | undefined> {
  const [ended] = await endGrants(tx, clock, isStanding(agent.id), reason)
  if (!ended) return undefined
  // Made when it was first given: this is no new right.
  const { scopes, scopeEdition, sources, createdAt, lastUsedAt, payload } = ended
  return insertStandingGrant(tx, clock, agent, {
    scopes,
    scopeEdition,
    sources,
    createdAt,
    lastUsedAt,
    payload,
    keyEpoch: keyEpoch ?? ended.keyEpoch,
  })
}
