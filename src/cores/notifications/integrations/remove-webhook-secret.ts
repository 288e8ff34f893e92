import { write, type Verb } from '../../verb.ts'
import { openIntegrationSecret, sealIntegrationSecret } from './integration-secret.ts'
import {
  lockIntegration,
  requireWebhook,
  updateIntegrationRow,
  type IntegrationDeps,
} from './integration-rows.ts'

export const removeWebhookSecret: Verb<'removeWebhookSecret', IntegrationDeps> = write(
  { audit: 'integration.changed' },
  async ({ tx, orgId, audit, dataKeys }, { integration_id }) => {
    const row = await lockIntegration(tx, orgId, integration_id)
    requireWebhook(row)
    const { signing, ...rest } = openIntegrationSecret(dataKeys, row)
    if (!signing) return {}
    const { own_secret: _own, previous_secret_until: _until, ...config } = row.config
    await updateIntegrationRow(tx, row, { sealed: sealIntegrationSecret(dataKeys, row, rest), config })
    await audit('integration.changed', row.name)
    return {}
  },
)
