import { writeInSteps, type Verb } from '../../verb.ts'
import type { IntegrationDeps } from './integration-rows.ts'
import { connectByAddress } from './connect-by-address.ts'

export const connectChatWebhook: Verb<'connectChatWebhook', IntegrationDeps> = writeInSteps(
  { audit: 'integration.connected' },
  async (context, { name, url }) =>
    connectByAddress(context, { kind: 'chat', name, url, resendOnUnknown: false }),
)
