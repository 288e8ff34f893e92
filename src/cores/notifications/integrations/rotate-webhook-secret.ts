import { randomBytes } from 'node:crypto'
import { write, type Verb } from '../../verb.ts'
import { openIntegrationSecret, sealIntegrationSecret } from './integration-secret.ts'
import {
  lockIntegration,
  requireWebhook,
  updateIntegrationRow,
  type IntegrationDeps,
} from './integration-rows.ts'

const HOUR_MS = 60 * 60 * 1000
/** Standard Webhooks: 24 to 64 bytes. */
const SECRET_BYTES = 32

/** The key that signed so far goes on beside the new one for a while, so that no receiver has to change in one moment. */
export const rotateWebhookSecret: Verb<'rotateWebhookSecret', IntegrationDeps> = write(
  { audit: 'integration.changed' },
  async ({ tx, clock, orgId, audit, dataKeys }, { integration_id, overlap_hours }) => {
    const row = await lockIntegration(tx, orgId, integration_id)
    requireWebhook(row)
    const known = openIntegrationSecret(dataKeys, row)
    const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
    const previousUntil = new Date(clock().getTime() + overlap_hours * HOUR_MS).toISOString()
    const signing = { secret, previous: known.signing?.secret ?? null, previousUntil }
    await updateIntegrationRow(tx, row, {
      sealed: sealIntegrationSecret(dataKeys, row, { ...known, signing }),
      config: { ...row.config, own_secret: true, previous_secret_until: previousUntil },
    })
    await audit('integration.changed', row.name)
    return { secret, previous_secret_until: overlap_hours === 0 ? null : previousUntil }
  },
)
