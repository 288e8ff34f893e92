import { and, desc, eq, gte, isNotNull, lt } from '../../../../db/drizzle.ts'
import { apps, deliveries } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { pageOf, readCursor } from '../../../contracts/paging.ts'
import { totalOf } from '../../total-of.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { isOfType } from '../../like-pattern.ts'
import { IS_MISSED } from './outcome-counts.ts'
import { presentDeliveries, selectDeliveries } from './delivery-rows.ts'

export const listDeliveries =
  (deps: Storage & WithDirectory): Handler<'listDeliveries'> =>
  async (
    who,
    { limit, cursor, count, missed, type, state, reason, channel, integration_id, app, event_id, from, to },
  ) => {
    const { db } = deps
    const { orgId } = requireMember(who)
    const before = readCursor(cursor, 1)?.[0]
    const matching = and(
      eq(deliveries.orgId, orgId),
      type === undefined ? undefined : isOfType(deliveries.type, type),
      missed ? and(isNotNull(deliveries.channel), IS_MISSED) : undefined,
      state && eq(deliveries.state, state),
      reason && eq(deliveries.reason, reason),
      channel && eq(deliveries.channel, channel),
      integration_id === undefined ? undefined : eq(deliveries.integrationId, integration_id),
      app === undefined ? undefined : eq(apps.alias, app),
      event_id === undefined ? undefined : eq(deliveries.eventId, event_id),
      from === undefined ? undefined : gte(deliveries.createdAt, new Date(from)),
      to === undefined ? undefined : lt(deliveries.createdAt, new Date(to)),
    )
    const rows = await selectDeliveries(db)
      .where(and(matching, before === undefined ? undefined : lt(deliveries.id, before)))
      .orderBy(desc(deliveries.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, ({ delivery }) => [delivery.id])
    const counted = await totalOf(db, { count, cursor }, page, () => selectDeliveries(db).where(matching))
    return { deliveries: await presentDeliveries(deps, page.rows), next_cursor: page.next_cursor, ...counted }
  }
