import { IDENTITY_PROVIDER } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import { throttle } from '../throttle.ts'

/** What makes us fetch from addresses that an organization names. */
export const throttleFetches = (deps: Storage, orgId: string): Promise<void> =>
  throttle(deps, `identity provider of ${orgId}`, IDENTITY_PROVIDER.fetches)
