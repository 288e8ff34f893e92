import { and, count, eq, gte, inArray } from '../../../../db/drizzle.ts'
import { events } from '../../../../db/schema.ts'
import { EVENTS, EVENT_TYPES, matches } from '../../../contracts/events.ts'
import { read, type Verb } from '../../verb.ts'

const PREVIEW_MS = 7 * 24 * 60 * 60 * 1000

export const previewEventPattern: Verb<'previewEventPattern'> = read(
  async ({ db, clock, orgId }, { pattern }) => {
    const known = EVENT_TYPES.filter((type) => matches(pattern, type))
    const counts =
      known.length === 0
        ? []
        : await db
            .select({ type: events.type, n: count() })
            .from(events)
            .where(
              and(
                eq(events.orgId, orgId),
                inArray(events.type, known),
                gte(events.occurredAt, new Date(clock().getTime() - PREVIEW_MS)),
              ),
            )
            .groupBy(events.type)
    const countByType = new Map(counts.map(({ type, n }) => [type, n]))
    const types = known.map((type) => ({ type, when: EVENTS[type].when, events: countByType.get(type) ?? 0 }))
    return { types, events: types.reduce((sum, type) => sum + type.events, 0), is_known: types.length > 0 }
  },
)
