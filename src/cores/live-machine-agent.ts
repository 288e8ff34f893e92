/**
 * Whether a machine agent still stands: not removed, not expired, and on the membership that its owner had when they took
 * it on. It has no role on an app of its own.
 */
import type { SQLWrapper } from 'drizzle-orm'
import type { Handle } from '../../db/connect.ts'
import { and, eq, gt, isNull } from '../../db/drizzle.ts'
import { machineAgents, memberships } from '../../db/schema.ts'
import { lowerOf, type Role } from '../contracts/roles.ts'

type Value<Of> = Of | SQLWrapper

/** Values, or the placeholders of a prepared statement. */
export const liveMachineAgent = (
  db: Handle,
  { orgId, userId, now }: { orgId: Value<string>; userId: Value<string>; now: Value<Date> },
) =>
  db
    .select({ role: machineAgents.role, ownerRole: memberships.role })
    .from(machineAgents)
    .innerJoin(
      memberships,
      and(
        eq(memberships.orgId, machineAgents.orgId),
        eq(memberships.userId, machineAgents.ownerId),
        eq(memberships.id, machineAgents.ownerMembershipId),
      ),
    )
    .where(
      and(
        eq(machineAgents.orgId, orgId),
        eq(machineAgents.userId, userId),
        isNull(machineAgents.removedAt),
        gt(machineAgents.expiresAt, now),
      ),
    )

/** Never above the member who answers for it. */
export const machineAgentRole = ({ role, ownerRole }: { role: Role; ownerRole: Role }): Role =>
  lowerOf(role, ownerRole)
