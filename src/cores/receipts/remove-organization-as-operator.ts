import { writeInSteps, type Verb } from '../verb.ts'
import { endAndRemove, finalReceipt } from './end-and-remove.ts'

export const removeOrganizationAsOperator: Verb<'removeOrganizationAsOperator'> = writeInSteps(
  { by: 'principal', audit: 'organization.removed' },
  async ({ db, clock, principal, transaction }, { org_id: orgId, confirm }) => {
    const id = await transaction(({ tx }) => endAndRemove(tx, clock, principal, { orgId, confirm }))
    return finalReceipt({ db, clock }, id, principal.signal)
  },
)
