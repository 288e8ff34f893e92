/** Turns of organizations: whoever has had none for longest is next, so one that asks a lot delays only itself. */
import { ServiceError } from '../../contracts/errors.ts'

export type TurnLimits = {
  readonly running: number
  readonly perOrganization: number
  /** Of one organization; more are refused at once. */
  readonly waitingPerOrganization: number
  readonly waitMs: number
}

type Organization = { running: number; readonly waiting: Set<() => void> }

export function fairTurns(limits: TurnLimits) {
  /** Those with something running or waiting, in the order of their last turn. */
  const organizations = new Map<string, Organization>()
  let running = 0

  async function inTurn<T>(orgId: string, work: () => Promise<T>): Promise<T> {
    await turnOf(orgId)
    try {
      return await work()
    } finally {
      end(orgId)
    }
  }

  function turnOf(orgId: string): Promise<void> {
    const organization = organizations.get(orgId) ?? { running: 0, waiting: new Set() }
    organizations.set(orgId, organization)
    if (organization.waiting.size >= limits.waitingPerOrganization) return Promise.reject(busy())
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(timer)
        organization.waiting.delete(start)
        organization.running += 1
        running += 1
        resolve()
      }
      const timer = setTimeout(() => {
        organization.waiting.delete(start)
        forget(orgId, organization)
        reject(busy())
      }, limits.waitMs)
      organization.waiting.add(start)
      startNext()
    })
  }

  function end(orgId: string): void {
    const organization = organizations.get(orgId)!
    organization.running -= 1
    running -= 1
    // Behind those that came meanwhile.
    organizations.delete(orgId)
    if (organization.running > 0 || organization.waiting.size > 0) organizations.set(orgId, organization)
    startNext()
  }

  function startNext(): void {
    if (running >= limits.running) return
    for (const [orgId, organization] of organizations) {
      const [start] = organization.waiting
      if (!start || organization.running >= limits.perOrganization) continue
      organizations.delete(orgId)
      organizations.set(orgId, organization)
      return start()
    }
  }

  function forget(orgId: string, { running: own, waiting }: Organization): void {
    if (own === 0 && waiting.size === 0) organizations.delete(orgId)
  }

  return { inTurn }
}

const busy = () =>
  new ServiceError('RATE_LIMITED', 'Too many archives of this organization at once; try again later', {
    retryAfterSeconds: 5,
  })
