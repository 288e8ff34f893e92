/** Changes its name, who answers for it, or when it expires. */
import type { Transaction } from '../../../db/connect.ts'
import { eq, sql } from '../../../db/drizzle.ts'
import { machineAgents, platformAccessGrants, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { LivenessDeps } from '../grants/index.ts'
import { requireRole } from '../principal.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'
import { lockOwner } from './lock-owner.ts'
import { expiryOf, lockManageable, presentOne, refuseHigherAgent, type Agent } from './machine-agent-rows.ts'
import { isStanding } from './standing-grant.ts'

export const updateMachineAgent: Verb<'updateMachineAgent', LivenessDeps> = write(
  { author: 'viewer', audit: 'machine_agent.changed' },
  async ({ tx, clock, keyEpoch, member, audit }, { machine_agent_id, name, owner_id, expires_at }) => {
    const agent = await lockManageable(tx, member, machine_agent_id)
    requireRole(member, 'admin')
    await refuseHigherAgent(tx, member, agent)
    if (name === undefined && owner_id === undefined && expires_at === undefined) {
      throw new ServiceError('INVALID_REQUEST', undefined, {
        problems: ['name, owner_id or expires_at must be given'],
      })
    }
    const next = {
      name: name ?? agent.name,
      // Also the same person: after they had left, they answer for it again.
      ...(owner_id === undefined ? ownerOf(agent) : await lockOwner(tx, agent.orgId, owner_id)),
      expiresAt: expires_at === undefined ? agent.expiresAt : expiryOf(clock, expires_at),
    }
    const changes = await describeChanges(tx, agent, next)
    if (changes.length > 0) {
      await tx.update(machineAgents).set(next).where(eq(machineAgents.id, agent.id))
      await tx.update(users).set({ name: next.name }).where(eq(users.id, agent.userId))
      await tx
        .update(platformAccessGrants)
        .set({ clientName: next.name, expiresAt: next.expiresAt })
        .where(isStanding(agent.id))
      if (next.ownerId !== agent.ownerId) await rememberOwner(tx, agent)
      const right = { id: agent.id, orgId: agent.orgId }
      const to = { expiresAt: next.expiresAt.toISOString() }
      if (next.expiresAt < agent.expiresAt)
        await recordNarrowing(tx, 'machine_agent_expiry', { ...right, to })
      else if (next.expiresAt > agent.expiresAt) await recordWidening(tx, 'machine_agent_expiry', right)
      await audit('machine_agent.changed', `${agent.name}: ${changes.join(', ')}`)
    }
    return presentOne({ db: tx, clock, keyEpoch }, member, agent.id)
  },
)

/** What it asked for while they answered for it is still not theirs to approve. On ended grants too: one of them is the last. */
async function rememberOwner(tx: Transaction, { id, ownerId }: Agent): Promise<void> {
  const former = sql`coalesce(${platformAccessGrants.payload} -> 'former_owners', '[]'::jsonb) || to_jsonb(${ownerId}::text)`
  await tx
    .update(platformAccessGrants)
    .set({ payload: sql`${platformAccessGrants.payload} || jsonb_build_object('former_owners', ${former})` })
    .where(eq(platformAccessGrants.machineAgentId, id))
}

type Changed = Pick<Agent, 'name' | 'ownerId' | 'ownerMembershipId' | 'expiresAt'>

const ownerOf = ({ ownerId, ownerMembershipId }: Agent) => ({ ownerId, ownerMembershipId })

async function describeChanges(tx: Transaction, agent: Agent, next: Changed): Promise<string[]> {
  const changes: string[] = []
  if (next.name !== agent.name) changes.push(`name ${next.name}`)
  if (next.ownerMembershipId !== agent.ownerMembershipId) {
    const [owner] = await tx.select({ email: users.email }).from(users).where(eq(users.id, next.ownerId))
    changes.push(`owner ${owner!.email}`)
  }
  if (next.expiresAt.getTime() !== agent.expiresAt.getTime())
    changes.push(`expires ${next.expiresAt.toISOString()}`)
  return changes
}
