import { and, desc, lt } from '../../../../db/drizzle.ts'
import { subscriptions } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { pageOf, readCursor } from '../../../contracts/paging.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { ownedBy, presentCommonFields, WITH_LAST_DELIVERY } from './subscription-rows.ts'

export const listMySubscriptions =
  ({ db }: Storage): Handler<'listMySubscriptions'> =>
  async (who, { limit, cursor }) => {
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select(WITH_LAST_DELIVERY)
      .from(subscriptions)
      .where(
        and(ownedBy(requireMember(who)), before === undefined ? undefined : lt(subscriptions.id, before)),
      )
      .orderBy(desc(subscriptions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ row }) => [row.id])
    return {
      subscriptions: page.rows.map(({ row, lastDeliveryAt }) => presentCommonFields(row, lastDeliveryAt)),
      next_cursor: page.next_cursor,
    }
  }
