import { eq } from '../../../db/drizzle.ts'
import { receipts } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { presentReceipts } from './receipt-rows.ts'

export const listReceipts: Verb<'listReceipts'> = list(
  { rows: 'receipts', desc: [receipts.id] },
  async ({ db, orgId, page }) =>
    page({
      from: () => db.select().from(receipts),
      where: eq(receipts.orgId, orgId),
      key: ({ id }) => [id],
      present: (rows) => presentReceipts(db, rows),
    }),
)
