/** Which event types there are: those of the catalog, and whatever the apps of the organization send. */
import type { Handle } from '../../../../db/connect.ts'
import { EVENT_TYPES, isAppEvent, matches, partsOfAppEvent } from '../../../contracts/events.ts'
import { findApp } from '../../apps/index.ts'

export const catalogTypes = (pattern: string) => EVENT_TYPES.filter((type) => matches(pattern, type))

/** How an app names its events is its own business: of those only the app is looked for. */
export async function isKnownPattern(db: Handle, orgId: string, pattern: string): Promise<boolean> {
  if (!isAppEvent(pattern)) return catalogTypes(pattern).length > 0
  if (pattern === 'app.*') return true
  const { alias, name } = partsOfAppEvent(pattern)
  return name !== '' && (await findApp(db, orgId, alias)) !== undefined
}
