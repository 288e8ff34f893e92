/**
 * How much of large bodies this process holds at once, while they arrive and while they are worked on: all together, and
 * of one organization a quarter of it. Whoever would go beyond is told to come back.
 */
import { ServiceError } from '../contracts/errors.ts'
import { SOURCE_MAX_BYTES } from '../contracts/limits.ts'

/** Two of the largest for an organization, which leaves three others as much. */
const LIMITS = { perOrganization: 2 * SOURCE_MAX_BYTES, all: 8 * SOURCE_MAX_BYTES }

export type HeldBody = {
  /** Throws when it would be too much. */
  readonly add: (bytes: number) => void
  readonly release: () => void
}

export function heldBodies({ perOrganization, all } = LIMITS): (orgId: string | null) => HeldBody {
  const byOrganization = new Map<string | null, number>()
  let total = 0
  return (orgId) => {
    let own = 0
    const count = (bytes: number) => {
      own += bytes
      total += bytes
      const held = (byOrganization.get(orgId) ?? 0) + bytes
      if (held > 0) byOrganization.set(orgId, held)
      else byOrganization.delete(orgId)
    }
    return {
      add(bytes) {
        if ((byOrganization.get(orgId) ?? 0) + bytes > perOrganization || total + bytes > all) throw tooMuch()
        count(bytes)
      },
      release: () => count(-own),
    }
  }
}

const tooMuch = () =>
  new ServiceError('RATE_LIMITED', 'Too many large requests at once; try again later', {
    retryAfterSeconds: 5,
  })
