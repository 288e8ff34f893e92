/** Removes service accounts from their apps: their pods are refused from the next call on. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { workloadBindings } from '../../../db/schema.ts'
import { recordEnding } from '../record-ending.ts'

export async function removeServiceAccounts(
  tx: Transaction,
  which: SQL,
): Promise<readonly { orgId: string }[]> {
  const removed = await tx
    .delete(workloadBindings)
    .where(which)
    .returning({ id: workloadBindings.id, orgId: workloadBindings.orgId })
  recordEnding(tx, 'service_account', removed)
  return removed
}
