import type { Handle } from '../../../../db/connect.ts'
import { and, count, desc, eq, gte, inArray } from '../../../../db/drizzle.ts'
import { events } from '../../../../db/schema.ts'
import { EVENTS, isAppEvent, partsOfAppEvent } from '../../../contracts/events.ts'
import { isOfType } from '../../like-pattern.ts'
import { read, type Verb } from '../../verb.ts'
import { catalogTypes, isKnownPattern } from './known-event-types.ts'

const PREVIEW_MS = 7 * 24 * 60 * 60 * 1000
/** Of what apps send, the most frequent: there is no end to names. */
const APP_TYPES_SHOWN = 50

export const previewEventPattern: Verb<'previewEventPattern'> = read(
  async ({ db, clock, orgId }, { pattern }) => {
    const since = new Date(clock().getTime() - PREVIEW_MS)
    const types = isAppEvent(pattern)
      ? await appTypes(db, { orgId, pattern, since })
      : await knownTypes(db, { orgId, pattern, since })
    return {
      types,
      events: types.reduce((sum, type) => sum + type.events, 0),
      is_known: types.length > 0 || (await isKnownPattern(db, orgId, pattern)),
    }
  },
)

type Asked = { readonly orgId: string; readonly pattern: string; readonly since: Date }

async function knownTypes(db: Handle, { orgId, pattern, since }: Asked) {
  const known = catalogTypes(pattern)
  if (known.length === 0) return []
  const counts = await db
    .select({ type: events.type, n: count() })
    .from(events)
    .where(and(eq(events.orgId, orgId), inArray(events.type, known), gte(events.occurredAt, since)))
    .groupBy(events.type)
  const countByType = new Map(counts.map(({ type, n }) => [type, n]))
  return known.map((type) => ({ type, when: EVENTS[type].when, events: countByType.get(type) ?? 0 }))
}

/** Those that were sent: which ones an app will send only the app knows. */
async function appTypes(db: Handle, { orgId, pattern, since }: Asked) {
  const counts = await db
    .select({ type: events.type, n: count() })
    .from(events)
    .where(and(eq(events.orgId, orgId), isOfType(events.type, pattern), gte(events.occurredAt, since)))
    .groupBy(events.type)
    .orderBy(desc(count()), events.type)
    .limit(APP_TYPES_SHOWN)
  return counts.map(({ type, n }) => ({
    type,
    when: `Sent by the app ${partsOfAppEvent(type).alias}`,
    events: n,
  }))
}
