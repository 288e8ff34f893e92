import { and, eq, gte, lt } from '../../../db/drizzle.ts'
import { logUsage, logVolumes } from '../../../db/schema.ts'
import { LOG_DAYS } from '../../contracts/limits.ts'
import { LOG_LEVELS, type LogLevel } from '../../contracts/log-levels.ts'
import { requireSourceReader } from '../apps/index.ts'
import { read, type Verb } from '../verb.ts'
import type { ReadDeps } from './list-logs.ts'
import { VOLUME_STEP_MS } from './prepare-lines.ts'
import type { StoreDeps } from './store-lines.ts'

type Counts = Partial<Record<LogLevel, number>>

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS
/** The first that makes no more bars than a page has room for. */
const STEPS_MS = [VOLUME_STEP_MS, HOUR_MS, 6 * HOUR_MS]
const BARS_MAX = 100

export const summarizeLogs: Verb<'summarizeLogs', ReadDeps & Pick<StoreDeps, 'logLimits'>> = read(
  'principal',
  async ({ db, old = db, clock, principal, directory, logLimits }, { alias, since, until }) => {
    const { orgId, id: appId } = await requireSourceReader(directory, db, principal, alias)
    const now = clock().getTime()
    const to = Math.min(until === undefined ? now : Date.parse(until), now + HOUR_MS)
    const from = Math.max(
      since === undefined ? to - DAY_MS : Date.parse(since),
      now - (LOG_DAYS + 1) * DAY_MS,
    )
    const step = STEPS_MS.find((ms) => (to - from) / ms <= BARS_MAX) ?? STEPS_MS.at(-1)!
    const start = Math.floor(from / step) * step
    const buckets = new Map<number, Counts>()
    for (let at = start; at < to; at += step) buckets.set(at, {})
    const rows = await old
      .select({ at: logVolumes.at, level: logVolumes.level, lines: logVolumes.lines })
      .from(logVolumes)
      .where(
        and(
          eq(logVolumes.orgId, orgId),
          eq(logVolumes.appId, appId),
          gte(logVolumes.at, new Date(start)),
          lt(logVolumes.at, new Date(to)),
        ),
      )
    for (const { at, level, lines } of rows) {
      const counts = buckets.get(Math.floor(at.getTime() / step) * step)
      const name = LOG_LEVELS[level]!
      if (counts) counts[name] = (counts[name] ?? 0) + lines
    }
    const [usage] = await old
      .select()
      .from(logUsage)
      .where(and(eq(logUsage.orgId, orgId), eq(logUsage.appId, appId)))
    const isToday = usage?.day === new Date(now).toISOString().slice(0, 10)
    return {
      step_seconds: step / 1000,
      buckets: [...buckets].map(([at, counts]) => ({ at: new Date(at).toISOString(), counts })),
      stored_bytes: usage?.storedBytes ?? 0,
      max_bytes: logLimits.bytesPerApp,
      dropped_today: isToday ? usage.dropped : 0,
      refused_today: isToday ? usage.refused : 0,
    }
  },
)
