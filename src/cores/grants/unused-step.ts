/**
 * What is to be done next about a grant that is not used, or not all of it. Its person is told first, and what they were told
 * of comes to pass a week later unless it was used meanwhile; what became unused later than that they are told of anew.
 */
import { UNUSED_NOTICE_DAYS } from '../../contracts/limits.ts'
import { isLess, usedSince, type GrantUse, type Rights } from './grant-uses.ts'

export type UnusedStep =
  | { readonly do: 'tell_narrowing' | 'tell_ending' | 'end' }
  | { readonly do: 'narrow'; readonly left: Rights }

type Judged = Rights & {
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  readonly usesSince: Date
  readonly narrowingToldAt: Date | null
  readonly endingToldAt: Date | null
}

export type UnusedSettings = {
  readonly narrowUnusedAfterDays: number | null
  readonly endUnusedAfterDays: number | null
}

const DAY_MS = 24 * 60 * 60 * 1000
/** Nobody counts on what they were told longer ago: the setting was off meanwhile, or no worker ran. */
const NOTICE_HOLDS_DAYS = 2 * UNUSED_NOTICE_DAYS

const daysBefore = (at: Date, days: number): Date => new Date(at.getTime() - days * DAY_MS)
const earlier = (a: Date, b: Date): Date => (a < b ? a : b)

export const unusedStep = (
  grant: Judged,
  uses: readonly GrantUse[],
  { narrowUnusedAfterDays, endUnusedAfterDays }: UnusedSettings,
  now: Date,
): UnusedStep | undefined =>
  (endUnusedAfterDays === null ? undefined : endingStep(grant, endUnusedAfterDays, now)) ??
  (narrowUnusedAfterDays === null ? undefined : narrowingStep(grant, uses, narrowUnusedAfterDays, now))

/** When what their person was told of comes to pass, as things are now; null: it does not, or they were not told. */
export function announcedEnds(
  grant: Judged,
  uses: readonly GrantUse[],
  { narrowUnusedAfterDays, endUnusedAfterDays }: UnusedSettings,
  now: Date,
): { readonly narrowsOn: Date | null; readonly endsOn: Date | null } {
  const endOf = (told: Date | null, isStillSo: (toldAt: Date, end: Date) => boolean) => {
    const toldAt = heldNotice(told, now)
    const end = toldAt && new Date(toldAt.getTime() + UNUSED_NOTICE_DAYS * DAY_MS)
    return toldAt && end && isStillSo(toldAt, end) ? end : null
  }
  const at = (end: Date) => (end > now ? end : now)
  return {
    narrowsOn: endOf(
      grant.narrowingToldAt,
      (toldAt, end) =>
        narrowUnusedAfterDays !== null &&
        leftSince(grant, uses, announcedSince(toldAt, narrowUnusedAfterDays, at(end))) !== undefined,
    ),
    endsOn: endOf(
      grant.endingToldAt,
      (toldAt, end) =>
        endUnusedAfterDays !== null &&
        (grant.lastUsedAt ?? grant.createdAt) <= announcedSince(toldAt, endUnusedAfterDays, at(end)),
    ),
  }
}

/** Undefined: they have not been told, or too long ago. */
const heldNotice = (toldAt: Date | null, now: Date): Date | undefined =>
  toldAt !== null && toldAt > daysBefore(now, NOTICE_HOLDS_DAYS) ? toldAt : undefined

/** What was unused for so long when they were told, and is unused for all of the days now. */
const announcedSince = (toldAt: Date, days: number, now: Date): Date =>
  earlier(daysBefore(now, days), daysBefore(toldAt, days - UNUSED_NOTICE_DAYS))

function endingStep(
  { createdAt, lastUsedAt, endingToldAt }: Judged,
  days: number,
  now: Date,
): UnusedStep | undefined {
  const last = lastUsedAt ?? createdAt
  if (last > daysBefore(now, days - UNUSED_NOTICE_DAYS)) return undefined
  const toldAt = heldNotice(endingToldAt, now)
  if (toldAt === undefined || last > daysBefore(toldAt, days - UNUSED_NOTICE_DAYS))
    return { do: 'tell_ending' }
  const isOver = toldAt <= daysBefore(now, UNUSED_NOTICE_DAYS) && last <= announcedSince(toldAt, days, now)
  return isOver ? { do: 'end' } : undefined
}

/** One that used nothing has nothing that could be left to it: it ends, or it stays. */
function leftSince(grant: Judged, uses: readonly GrantUse[], since: Date): Rights | undefined {
  if (grant.usesSince > since) return undefined
  const left = usedSince(grant, uses, since)
  return left.scopes.length > 0 && isLess(left, grant) ? left : undefined
}

function narrowingStep(
  grant: Judged,
  uses: readonly GrantUse[],
  days: number,
  now: Date,
): UnusedStep | undefined {
  const toldAt = heldNotice(grant.narrowingToldAt, now)
  if (toldAt !== undefined) {
    if (toldAt > daysBefore(now, UNUSED_NOTICE_DAYS)) return undefined
    const left = leftSince(grant, uses, announcedSince(toldAt, days, now))
    if (left) return { do: 'narrow', left }
  }
  return leftSince(grant, uses, daysBefore(now, days - UNUSED_NOTICE_DAYS))
    ? { do: 'tell_narrowing' }
    : undefined
}
