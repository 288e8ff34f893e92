/**
 * How much of large bodies this process holds at once, while they arrive and are worked on; and of large answers, until the
 * client has taken them. Each has room of its own, so nobody's slow download takes that of uploads. An organization has its
 * limit, and at most half of what the others leave: so whoever comes finds room for something, however many hold as much
 * as they can. Whoever would go beyond is told to come back.
 */
import { ServiceError } from '../contracts/errors.ts'
import { SOURCE_MAX_BYTES } from '../contracts/limits.ts'

/** Two of the largest for an organization. */
const LIMITS = { perOrganization: 2 * SOURCE_MAX_BYTES, all: 8 * SOURCE_MAX_BYTES }
export const ANSWER_LIMITS = { perOrganization: 2 * SOURCE_MAX_BYTES, all: 4 * SOURCE_MAX_BYTES }

export type HeldBody = {
  /** Throws when it would be too much. */
  readonly add: (bytes: number) => void
  readonly release: () => void
}

type HoldBody = (orgId: string | null) => HeldBody

export function heldBodies({ perOrganization, all } = LIMITS): HoldBody {
  const byOrganization = new Map<string | null, number>()
  let total = 0
  const heldBy = (orgId: string | null) => byOrganization.get(orgId) ?? 0
  const shareOf = (orgId: string | null) => Math.min(perOrganization, (all - (total - heldBy(orgId))) / 2)
  return (orgId) => {
    let own = 0
    const count = (bytes: number) => {
      own += bytes
      total += bytes
      const held = heldBy(orgId) + bytes
      if (held > 0) byOrganization.set(orgId, held)
      else byOrganization.delete(orgId)
    }
    return {
      add(bytes) {
        if (heldBy(orgId) + bytes > shareOf(orgId)) throw tooMuch()
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
