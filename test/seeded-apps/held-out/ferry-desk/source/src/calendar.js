const DAY_MS = 86_400_000

/** The days around one, as 2026-03-01. */
export function daysAround(day) {
  const middle = new Date(`${day}T00:00:00Z`).getTime()
  return [-1, 0, 1].map((offset) => new Date(middle + offset * DAY_MS).toISOString().slice(0, 10))
}

export const isSunday = (day) => new Date(`${day}T00:00:00Z`).getUTCDay() === 0
