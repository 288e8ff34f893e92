import { and, eq, gt, or, sql } from '../../../db/drizzle.ts'
import { machineAgentCredentials } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { write, type Verb } from '../verb.ts'
import { revokeCredentials } from './credential-rows.ts'
import { lockManageable } from './machine-agent-rows.ts'

export const revokeMachineAgentCredential: Verb<'revokeMachineAgentCredential'> = write(
  { author: 'viewer', audit: 'machine_agent.credential_revoked' },
  async ({ tx, clock, member, audit }, { machine_agent_id, credential_id }) => {
    const agent = await lockManageable(tx, member, machine_agent_id)
    // During a rotation either one ends both.
    const successor = sql`(select rotated.replaced_by from ${machineAgentCredentials} rotated
      where rotated.id = ${credential_id} and rotated.expires_at > ${clock().toISOString()}::timestamptz)`
    const revoked = await revokeCredentials(
      tx,
      clock,
      and(
        eq(machineAgentCredentials.agentId, agent.id),
        or(
          eq(machineAgentCredentials.id, credential_id),
          and(
            eq(machineAgentCredentials.replacedBy, credential_id),
            gt(machineAgentCredentials.expiresAt, clock()),
          ),
          eq(machineAgentCredentials.id, successor),
        ),
      ),
    )
    if (revoked.length === 0) throw notFound()
    for (const { startsWith } of revoked)
      await audit('machine_agent.credential_revoked', `${agent.name} (${startsWith}…)`)
    return {}
  },
)
