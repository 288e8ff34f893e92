/** Takes again what a lost tail of the database gave back: a higher role, a switch that was turned off. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { memberships, organizations } from '../../../db/schema.ts'
import { atLeast, type GrantableRole } from '../../contracts/roles.ts'
import type { Clock } from '../dependencies.ts'
import type { EndedRow } from '../record-ending.ts'
import { endAccess } from './end-access.ts'
import { readSwitches, withoutMore } from './organization-switches.ts'

/** As `changeMemberRole` lowers it. False: it is no higher. */
export async function lowerRoleAgain(
  tx: Transaction,
  clock: Clock,
  { id, orgId, to }: EndedRow,
): Promise<boolean> {
  const role = to!.role as GrantableRole
  const isIt = and(eq(memberships.orgId, orgId!), eq(memberships.id, id))
  const [member] = await tx.select().from(memberships).where(isIt).for('update')
  if (!member || atLeast(role, member.role)) return false
  await tx.update(memberships).set({ role }).where(isIt)
  await endAccess(tx, clock, { orgId: orgId!, userId: member.userId }, role)
  return true
}

export async function turnOffSwitchesAgain(tx: Transaction, _clock: Clock, row: EndedRow): Promise<boolean> {
  const isIt = eq(organizations.id, row.id)
  const [before] = await tx.select().from(organizations).where(isIt).for('update')
  const less = before && withoutMore(before, readSwitches(row.to!))
  if (!less) return false
  await tx.update(organizations).set(less).where(isIt)
  return true
}
