import type { Handle } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { receipts } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import { atLeast } from '../../contracts/roles.ts'
import type { MemberPrincipal } from '../principal.ts'
import { read, type Verb } from '../verb.ts'
import { createWaits } from '../work/index.ts'
import { presentReceipt } from './receipt-rows.ts'

const waitForProcesses = createWaits(FAIR_QUEUES.receiptWaits, 'endings')

export const showReceipt: Verb<'showReceipt'> = read(
  async ({ db, member, orgId, principal: { signal } }, { receipt_id, wait }) => {
    const find = () => findReceipt(db, member, receipt_id)
    const found = await find()
    if (found.finalAt !== null || wait === 0) return presentReceipt(db, found)
    const isFinal = async () => (await find()).finalAt !== null
    await waitForProcesses(db, { orgId, key: receipt_id }, { seconds: wait, signal }, isFinal)
    return presentReceipt(db, await find())
  },
)

/** Whoever ended it sees it, and owners and admins. */
async function findReceipt(db: Handle, { orgId, userId, role }: MemberPrincipal, id: string) {
  const [row] = await db
    .select()
    .from(receipts)
    .where(
      and(
        eq(receipts.orgId, orgId),
        eq(receipts.id, id),
        atLeast(role, 'admin') ? undefined : eq(receipts.byId, userId),
      ),
    )
  if (!row) throw notFound()
  return row
}
