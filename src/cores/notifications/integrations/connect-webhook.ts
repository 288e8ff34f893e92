import { writeInSteps, type Verb } from '../../verb.ts'
import type { IntegrationDeps } from './integration-rows.ts'
import { connectByAddress } from './connect-by-address.ts'

export const connectWebhook: Verb<'connectWebhook', IntegrationDeps> = writeInSteps(
  { audit: 'integration.connected' },
  async (context, { name, url, resend_on_unknown }) =>
    connectByAddress(context, {
      kind: 'webhook',
      name,
      url,
      resendOnUnknown: resend_on_unknown,
    }),
)
