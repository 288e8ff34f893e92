import type { Handler } from '../../../contracts/operations.ts'
import { requireMember } from '../../principal.ts'
import type { IntegrationDeps } from './integration-rows.ts'
import { connectByAddress } from './connect-by-address.ts'

export const connectChatWebhook =
  (deps: IntegrationDeps): Handler<'connectChatWebhook'> =>
  (who, { name, url }) =>
    connectByAddress(deps, requireMember(who), { kind: 'chat', name, url, resendOnUnknown: false })
