import { and, asc, eq } from '../../../../db/drizzle.ts'
import { deliveries } from '../../../../db/schema.ts'
import { REPLAYS_MAX } from '../../../contracts/deliveries.ts'
import { write, type Verb } from '../../verb.ts'
import { isBefore, isSince, isTo } from './delivery-rows.ts'
import { enqueueReplays, lockReplays, selectReplayable, wasMissed } from './enqueue-replays.ts'

export const replayFailedDeliveries: Verb<'replayFailedDeliveries'> = write(
  { audit: 'delivery.replayed' },
  async ({ tx, clock, orgId, audit }, { from, to, integration_id, include_unconfirmed }) => {
    await lockReplays(tx, orgId)
    const found = await selectReplayable(tx)
      .where(
        and(
          eq(deliveries.orgId, orgId),
          isSince(new Date(from)),
          to === undefined ? undefined : isBefore(new Date(to)),
          integration_id === undefined ? undefined : isTo(integration_id),
          wasMissed({ includesUnconfirmed: include_unconfirmed }),
        ),
      )
      .orderBy(asc(deliveries.id))
      .limit(REPLAYS_MAX + 1)
    const replayed = found.slice(0, REPLAYS_MAX)
    await enqueueReplays(tx, clock, replayed)
    if (replayed.length > 0) {
      await audit('delivery.replayed', `${replayed.length} since ${from}`)
    }
    return { replayed: replayed.length, more: found.length > REPLAYS_MAX }
  },
)
