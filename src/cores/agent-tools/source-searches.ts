/** Searches of maintenance runs in source, each of which may read all of it. */
import { SOURCE_SEARCHES } from '../../contracts/limits.ts'
import { createTurns, type Turns } from '../turns.ts'

export function createSourceSearches(): Turns {
  const { total, perOrganization, waiting, waitMs } = SOURCE_SEARCHES
  return createTurns({
    total,
    perOrganization,
    waiting: { perOrganization: waiting, ms: waitMs, refusal: 'Too much source is searched at once' },
  })
}
