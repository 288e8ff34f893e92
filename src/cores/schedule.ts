/**
 * Times of a cron expression of five parts in a time zone. A time of the day comes once across each change of the clocks,
 * never twice; what repeats goes on.
 */
import { Cron } from 'croner'

/** Far enough for the 29th of February on a given weekday. */
const YEARS_AHEAD = 30

/** What croner takes beyond that is a date, which is due once and by the time zone of this process. */
const isCron = (expression: string): boolean => /^(?:@[a-z]+|[^\s:]+(?:\s+[^\s:]+){4})$/i.test(expression)

const cronOf = (expression: string, timezone: string): Cron =>
  new Cron(expression, { mode: '5-part', timezone, paused: true })

/** More of them in a day repeat. */
const TIMES_MAX = 96
const DAY_MS = 24 * 60 * 60_000
/** Less than between any two changes of a zone's clocks. */
const STEADY_DAYS_MAX = 14

/**
 * Gives the first time after another one. croner takes a time for one of the day only where it is alone: of several it
 * leaves out those that do not exist, and has twice those that come again. Near a change of the clocks each is asked for by
 * itself, which is slow elsewhere. Those that do not exist on that day are due at the change, together and once.
 */
function scheduleOf(expression: string, timezone: string): (after: Date) => Date | null {
  const cron = cronOf(expression, timezone)
  const times = timesOfDay(expression)
  if (times.length < 2 || times.length > TIMES_MAX) return (after) => cron.nextRun(after)
  const offsetAt = offsetsOf(timezone)
  // A day back: what comes again after a change comes within that.
  const isSteady = (after: Date, next: Date) =>
    next.getTime() - after.getTime() < STEADY_DAYS_MAX * DAY_MS &&
    offsetAt(new Date(after.getTime() - DAY_MS)) === offsetAt(next)
  let each: readonly Cron[] | undefined
  return (after) => {
    const next = cron.nextRun(after)
    if (!next || isSteady(after, next)) return next
    each ??= times.map((time) => cronOf(time, timezone))
    return first(each.map((one) => one.nextRun(after)))
  }
}

/** An expression for each; none where it repeats. croner has read it before, so it has no errors. */
function timesOfDay(expression: string): string[] {
  const [minute = '', hour = '', ...days] = expression.split(/\s+/)
  const [minutes, hours] = [valuesOf(minute), valuesOf(hour)]
  if (hours.length === 24) return []
  return hours.flatMap((h) => minutes.map((m) => [m, h, ...days].join(' ')))
}

/** None where it has a star. */
function valuesOf(field: string): number[] {
  const values = new Set<number>()
  for (const part of field.split(',')) {
    const [, from, to = from, step = '1'] = /^(\d+)(?:-(\d+)(?:\/(\d+))?)?$/.exec(part) ?? []
    if (from === undefined) return []
    for (let value = Number(from); value <= Number(to); value += Number(step)) values.add(value)
  }
  return [...values]
}

/** Such as GMT+02:00. */
function offsetsOf(timezone: string): (at: Date) => string | undefined {
  const format = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' })
  return (at) => format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value
}

const first = (times: readonly (Date | null)[]): Date | null =>
  times.reduce((least, time) => (least && (!time || least <= time) ? least : time), null)

export function problemsWithCron(expression: string, timezone: string, now: Date): string[] {
  const notCron = ['cron: must be a cron expression of five parts, such as 0 3 * * *']
  if (!isCron(expression)) return notCron
  try {
    return nextDueAt(expression, timezone, now) ? [] : ['cron: never comes due']
  } catch {
    return notCron
  }
}

/** The first time after this one; undefined when there is none. */
export function nextDueAt(expression: string, timezone: string, after: Date): Date | undefined {
  const next = scheduleOf(expression, timezone)(after) ?? undefined
  if (!next || next.getUTCFullYear() > after.getUTCFullYear() + YEARS_AHEAD) return undefined
  return next
}

/** The last time at or before this one, and after the other; undefined when there is none. */
export function lastDueAt(
  expression: string,
  timezone: string,
  { after, until }: { after: Date; until: Date },
): Date | undefined {
  const next = scheduleOf(expression, timezone)
  // Forward from ever earlier starts, so that the change of the clocks is treated as by nextDueAt.
  let last: Date | undefined
  for (const start of startsBefore(until, after)) {
    for (let at = next(start); at && at <= until; at = next(at)) last = at
    if (last && last > after) return last
    last = undefined
  }
  return undefined
}

/** Ever longer steps back, so that a schedule by the minute is not walked through a year. */
function* startsBefore(until: Date, after: Date): Generator<Date> {
  for (let seconds = 120; ; seconds *= 8) {
    const start = until.getTime() - seconds * 1000
    if (start <= after.getTime()) {
      yield after
      return
    }
    yield new Date(start)
  }
}

/** The date there at this moment, as YYYY-MM-DD. */
export const localDay = (at: Date, timezone: string): string =>
  // Sweden writes dates as ISO 8601 does.
  new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short' }).format(at)
