import { subscriptions } from '../../../../db/schema.ts'
import { list, type Verb } from '../../list.ts'
import { ownedBy, presentCommonFields, WITH_LAST_DELIVERY } from './subscription-rows.ts'

export const listMySubscriptions: Verb<'listMySubscriptions'> = list(
  { rows: 'subscriptions', desc: [subscriptions.id] },
  async ({ db, member, page }) =>
    page({
      from: () => db.select(WITH_LAST_DELIVERY).from(subscriptions),
      where: ownedBy(member),
      key: ({ row }) => [row.id],
      present: (rows) => rows.map(({ row, lastDeliveryAt }) => presentCommonFields(row, lastDeliveryAt)),
    }),
)
