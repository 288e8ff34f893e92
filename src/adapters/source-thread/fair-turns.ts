/**
 * Turns of organizations: whoever has used the least time is next, so one that asks a lot, or for what takes long, delays
 * only itself.
 */
import { ServiceError } from '../../contracts/errors.ts'

export type TurnLimits = {
  readonly running: number
  readonly perOrganization: number
  /** Of one organization; more are refused at once. */
  readonly waitingPerOrganization: number
  readonly waitMs: number
}

/** `used` in milliseconds, counted on from what the last one that had a turn had used when it came. */
type Organization = { running: number; used: number; readonly waiting: Set<() => void> }

export function fairTurns(limits: TurnLimits, now: () => number = () => performance.now()) {
  /** In the order of their last turn. Those that want nothing are kept while they have used more than others. */
  const organizations = new Map<string, Organization>()
  let running = 0
  /**
   * Whoever comes begins here, so nobody saves time up: what the one that had the last turn had used, or the share that
   * each of those who wanted something has had since. Otherwise ever new ones would be before one that has used some.
   */
  let current = 0

  async function inTurn<T>(orgId: string, work: () => Promise<T>): Promise<T> {
    const organization = await turnOf(orgId)
    const started = now()
    try {
      return await work()
    } finally {
      const took = now() - started
      organization.used += took
      current += took / activeOrganizations()
      end(orgId, organization)
    }
  }

  /** The one whose turn ends is among them. */
  const activeOrganizations = (): number =>
    [...organizations.values()].filter((one) => one.running + one.waiting.size > 0).length

  function turnOf(orgId: string): Promise<Organization> {
    const organization = organizations.get(orgId) ?? { running: 0, used: current, waiting: new Set() }
    organizations.set(orgId, organization)
    if (organization.waiting.size >= limits.waitingPerOrganization) return Promise.reject(tooMany())
    if (organization.running + organization.waiting.size === 0) {
      organization.used = Math.max(organization.used, current)
    }
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(timer)
        organization.waiting.delete(start)
        organization.running += 1
        running += 1
        resolve(organization)
      }
      const timer = setTimeout(() => {
        organization.waiting.delete(start)
        forgetIdle()
        reject(busy())
      }, limits.waitMs)
      organization.waiting.add(start)
      startNext()
    })
  }

  function end(orgId: string, organization: Organization): void {
    organization.running -= 1
    running -= 1
    // Behind those that came meanwhile and have used as much.
    organizations.delete(orgId)
    organizations.set(orgId, organization)
    startNext()
    forgetIdle()
  }

  function startNext(): void {
    if (running >= limits.running) return
    let next: [string, Organization] | undefined
    for (const [orgId, organization] of organizations) {
      if (organization.waiting.size === 0 || organization.running >= limits.perOrganization) continue
      if (!next || organization.used < next[1].used) next = [orgId, organization]
    }
    if (!next) return
    const [orgId, organization] = next
    current = Math.max(current, organization.used)
    organizations.delete(orgId)
    organizations.set(orgId, organization)
    const [start] = organization.waiting
    start!()
  }

  /** What somebody has used matters to those who wait only. */
  function forgetIdle(): void {
    const isQuiet = running === 0
    for (const [orgId, { running: own, waiting, used }] of organizations) {
      if (own === 0 && waiting.size === 0 && (isQuiet || used <= current)) organizations.delete(orgId)
    }
  }

  return { inTurn }
}

const tooMany = () =>
  new ServiceError(
    'RATE_LIMITED',
    'Too many archives and comparisons of this organization at once; try again later',
    { retryAfterSeconds: 5 },
  )

const busy = () =>
  new ServiceError('RATE_LIMITED', 'Too many archives and comparisons at the moment; try again later', {
    retryAfterSeconds: 5,
  })
