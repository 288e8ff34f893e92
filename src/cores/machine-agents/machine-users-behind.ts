/** Four eyes: what a machine agent asks for, nobody approves who could have asked through it. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, inArray, or, sql } from '../../../db/drizzle.ts'
import { machineAgentCredentials, machineAgents, platformAccessGrants } from '../../../db/schema.ts'

/**
 * The users of all machine agents that somebody answers for or did, or made a credential of. Also of those that are removed
 * or revoked by now: they may have been when it asked.
 */
export async function readMachineUsersBehind(
  db: Handle,
  orgId: string,
  userId: string,
): Promise<ReadonlySet<string>> {
  const withCredential = db
    .select({ id: machineAgentCredentials.agentId })
    .from(machineAgentCredentials)
    .where(eq(machineAgentCredentials.createdBy, userId))
  const answeredFor = db
    .select({ id: platformAccessGrants.machineAgentId })
    .from(platformAccessGrants)
    .where(
      and(
        eq(platformAccessGrants.orgId, orgId),
        eq(platformAccessGrants.via, 'machine'),
        sql`${platformAccessGrants.payload} @> ${JSON.stringify({ former_owners: [userId] })}::jsonb`,
      ),
    )
  const rows = await db
    .select({ userId: machineAgents.userId })
    .from(machineAgents)
    .where(
      and(
        eq(machineAgents.orgId, orgId),
        or(
          eq(machineAgents.ownerId, userId),
          inArray(machineAgents.id, withCredential),
          inArray(machineAgents.id, answeredFor),
        ),
      ),
    )
  return new Set(rows.map((row) => row.userId))
}
