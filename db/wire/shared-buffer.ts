/** What clients may have in memory here at a time, for one purpose: all together so much, and those of one organization half of it. */

/** Two COPYs of the maximum size, or eight such messages. */
const TOTAL_BYTES = 512 * 1024 * 1024
const PER_ORGANIZATION_BYTES = TOTAL_BYTES / 2

export type SharedBuffer = {
  readonly freeBytes: number
  take(bytes: number): void
  giveBack(bytes: number): void
}

/** The buffer of an organization, within that of all. */
export function shareBuffer(): (orgId: string) => SharedBuffer {
  const takenBy = new Map<string, number>()
  let taken = 0
  const change = (orgId: string, bytes: number) => {
    const left = (takenBy.get(orgId) ?? 0) + bytes
    if (left > 0) takenBy.set(orgId, left)
    else takenBy.delete(orgId)
    taken += bytes
  }
  return (orgId) => ({
    get freeBytes() {
      return Math.min(TOTAL_BYTES - taken, PER_ORGANIZATION_BYTES - (takenBy.get(orgId) ?? 0))
    },
    take: (bytes) => change(orgId, bytes),
    giveBack: (bytes) => change(orgId, -bytes),
  })
}
