const DAY_MS = 24 * 60 * 60 * 1000

/** Midnight in UTC of the first of this many days, the last of which is today. */
export const beginOfDays = (now: Date, days: number): Date =>
  new Date((Math.floor(now.getTime() / DAY_MS) - (days - 1)) * DAY_MS)
