import type { Handler } from '../../../contracts/operations.ts'
import { requireMember } from '../../principal.ts'
import type { IntegrationDeps } from './integration-rows.ts'
import { connectByAddress } from './connect-by-address.ts'

export const connectWebhook =
  (deps: IntegrationDeps): Handler<'connectWebhook'> =>
  (who, { name, url, resend_on_unknown }) =>
    connectByAddress(deps, requireMember(who), {
      kind: 'webhook',
      name,
      url,
      resendOnUnknown: resend_on_unknown,
    })
