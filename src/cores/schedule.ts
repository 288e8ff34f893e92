/** Times of a cron expression of five parts in a time zone: once across each change of the clocks, never twice. */
import { Cron } from 'croner'

/** Far enough for the 29th of February on a given weekday. */
const YEARS_AHEAD = 30

/** What croner takes beyond that is a date, which is due once and by the time zone of this process. */
const isCron = (expression: string): boolean => /^(?:@[a-z]+|[^\s:]+(?:\s+[^\s:]+){4})$/i.test(expression)

const cronOf = (expression: string, timezone: string): Cron =>
  new Cron(expression, { mode: '5-part', timezone, paused: true })

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
  const next = cronOf(expression, timezone).nextRun(after) ?? undefined
  if (!next || next.getUTCFullYear() > after.getUTCFullYear() + YEARS_AHEAD) return undefined
  return next
}

/** The last time at or before this one, and after the other; undefined when there is none. */
export function lastDueAt(
  expression: string,
  timezone: string,
  { after, until }: { after: Date; until: Date },
): Date | undefined {
  const cron = cronOf(expression, timezone)
  // Forward from ever earlier starts, so that the change of the clocks is treated as by nextDueAt.
  let last: Date | undefined
  for (const start of startsBefore(until, after)) {
    for (let at = cron.nextRun(start); at && at <= until; at = cron.nextRun(at)) last = at
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
