import { requireSession } from '../principal.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { endAndRemove, finalReceipt } from './end-and-remove.ts'

export const removeOrganization: Verb<'removeOrganization'> = writeInSteps(
  { author: 'owner', audit: 'organization.removed' },
  async ({ db, clock, orgId, principal, transaction }, { confirm }) => {
    requireSession(principal)
    const id = await transaction(({ tx }) => endAndRemove(tx, clock, principal, { orgId, confirm }))
    return finalReceipt({ db, clock }, id, principal.signal)
  },
)
