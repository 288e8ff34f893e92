/** What a pattern matches: in the catalogue, and among what happened lately. */
import { and, count, eq, gte, inArray } from '../../../db/drizzle.ts'
import { events } from '../../../db/schema.ts'
import { EVENTS, EVENT_TYPES, matches } from '../../contracts/events.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { previewPattern } from '../../contracts/subscriptions.ts'
import { asMember } from '../caller.ts'
import type { Storage } from '../needs.ts'

const LATELY_MS = 7 * 24 * 60 * 60 * 1000

export const preview =
  ({ db, clock }: Storage): Handler<typeof previewPattern> =>
  async (who, { pattern }) => {
    const { orgId } = asMember(who)
    const known = EVENT_TYPES.filter((type) => matches(pattern, type))
    const counted =
      known.length === 0
        ? []
        : await db
            .select({ type: events.type, n: count() })
            .from(events)
            .where(
              and(
                eq(events.orgId, orgId),
                inArray(events.type, known),
                gte(events.occurredAt, new Date(clock().getTime() - LATELY_MS)),
              ),
            )
            .groupBy(events.type)
    const happened = new Map(counted.map(({ type, n }) => [type, n]))
    const types = known.map((type) => ({ type, when: EVENTS[type].when, events: happened.get(type) ?? 0 }))
    return {
      types,
      events: types.reduce((sum, type) => sum + type.events, 0),
      is_known: types.length > 0,
    }
  }
