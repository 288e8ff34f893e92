/** Turns at something that only a few may use at a time: those who wait get one in order, but no organization all of them. */

export type Turns = { take<T>(orgId: string, work: () => Promise<T>): Promise<T> }

export function createTurns({ total, perOrganization }: { total: number; perOrganization: number }): Turns {
  const running = new Map<string, number>()
  const waiting: { readonly orgId: string; readonly start: () => void }[] = []
  let count = 0

  const hasTurn = (orgId: string): boolean => count < total && (running.get(orgId) ?? 0) < perOrganization
  const enter = (orgId: string): void => {
    count++
    running.set(orgId, (running.get(orgId) ?? 0) + 1)
  }
  const leave = (orgId: string): void => {
    count--
    const left = running.get(orgId)! - 1
    if (left === 0) running.delete(orgId)
    else running.set(orgId, left)
    const next = waiting.findIndex((one) => hasTurn(one.orgId))
    if (next === -1) return
    const [one] = waiting.splice(next, 1)
    enter(one!.orgId)
    one!.start()
  }

  return {
    async take(orgId, work) {
      if (hasTurn(orgId)) enter(orgId)
      else await new Promise<void>((start) => waiting.push({ orgId, start }))
      try {
        return await work()
      } finally {
        leave(orgId)
      }
    },
  }
}
