/** Takes the time again that a lost tail of the database gave back to a machine agent. False: it has no more. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, gt } from '../../../db/drizzle.ts'
import { machineAgents, platformAccessGrants } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import type { EndedRow } from '../record-ending.ts'
import { isStanding } from './standing-grant.ts'

export async function shortenAgain(tx: Transaction, _clock: Clock, { id, to }: EndedRow): Promise<boolean> {
  const expiresAt = new Date(to!.expiresAt!)
  const shortened = await tx
    .update(machineAgents)
    .set({ expiresAt })
    .where(and(eq(machineAgents.id, id), gt(machineAgents.expiresAt, expiresAt)))
    .returning({ id: machineAgents.id })
  if (shortened.length === 0) return false
  await tx.update(platformAccessGrants).set({ expiresAt }).where(isStanding(id))
  return true
}
