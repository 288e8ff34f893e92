/** Connects what is reached by an address alone: a signed webhook, or a chat channel by its incoming webhook. */
import type { Transaction } from '../../../../db/connect.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { InSteps } from '../../verb.ts'
import { digestOf } from './integration-secret.ts'
import {
  resumeSubscriptions,
  updateIntegrationRow,
  findByDigest,
  insertIntegration,
  lockIntegrations,
  presentWithCount,
  requireAllowed,
  type IntegrationRow,
  type IntegrationDeps,
} from './integration-rows.ts'
import { createChatTicketDefault } from '../fan-out/default-subscriptions.ts'

type AddressIntegration = {
  readonly kind: 'webhook' | 'chat'
  readonly name: string
  readonly url: string
  readonly resendOnUnknown: boolean
}

export async function connectByAddress(
  context: IntegrationDeps & InSteps<{ readonly audit: 'integration.connected' }>,
  { kind, name, url, resendOnUnknown }: AddressIntegration,
) {
  const { clock, member, orgId } = context
  // Before the transaction: it asks the network.
  await requireAllowed(context.checks, context.orgId, url)
  const digest = digestOf(context.dataKeys, url)
  return context.transaction(async ({ tx, audit }) => {
    await lockIntegrations(tx, orgId)
    const known = await findByDigest(tx, { orgId, kind, digest })
    if (known && known.state !== 'lost') throw alreadyConnected()
    const config = resendOnUnknown ? { resend_on_unknown: true } : {}
    const row = known
      ? await reconnect(tx, known, name)
      : await insertIntegration(tx, context, member, { kind, name, config, secret: { url } })
    if (row.kind === 'chat') {
      await createChatTicketDefault(tx, clock, { orgId, channel: digest, integrationId: row.id })
    }
    await audit('integration.connected', row.name)
    return presentWithCount(tx, row)
  })
}

export const alreadyConnected = () =>
  new ServiceError('CONFLICT', 'This address is already connected', {
    hint: 'Look for it in the list of integrations; it may be turned off.',
  })

async function reconnect(tx: Transaction, known: IntegrationRow, name: string): Promise<IntegrationRow> {
  await resumeSubscriptions(tx, known)
  return updateIntegrationRow(tx, known, { name, state: 'active', failingSince: null })
}
