/** Runners that wait for something to claim. */
import { DEPLOYMENT_WAITS_MAX } from '../../contracts/limits.ts'
import { createWaits } from '../waits.ts'

export const waitForWork = createWaits({
  perOrganization: DEPLOYMENT_WAITS_MAX,
  refusal: 'Too many runners of this organization wait already',
})
