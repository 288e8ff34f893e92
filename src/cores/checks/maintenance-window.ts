/** The maintenance window that is open at a moment; of several that overlap, the one that ends last. */
import type { MaintenanceWindow } from '../../contracts/checks.ts'

export function openWindowUntil(windows: readonly MaintenanceWindow[], at: Date): Date | undefined {
  const now = at.getTime()
  const ends = windows
    .filter(({ from, until }) => Date.parse(from) <= now && now < Date.parse(until))
    .map(({ until }) => Date.parse(until))
  return ends.length === 0 ? undefined : new Date(Math.max(...ends))
}
