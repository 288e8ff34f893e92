import type { Transaction } from '../../../../db/connect.ts'
import { CHANNELS, type IntegrationKind } from '../../../contracts/channels.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { requireMember } from '../../principal.ts'
import { withTransaction } from '../../transaction.ts'
import { resetTarget } from '../delivery/reset-target.ts'
import { alreadyConnected } from './connect-by-address.ts'
import { digestOf, maskAddress, sealIntegrationSecret } from './integration-secret.ts'
import {
  resumeSubscriptions,
  updateIntegrationRow,
  findByDigest,
  lockIntegrations,
  lockIntegration,
  presentWithCount,
  requireAllowed,
  type IntegrationRow,
  type IntegrationDeps,
} from './integration-rows.ts'

/** A forum's address belongs to its key. */
const ADDRESS_CAN_CHANGE: Record<IntegrationKind, boolean> = { chat: true, webhook: true, forum: false }

type Change = {
  readonly name?: string | undefined
  readonly url?: string | undefined
  readonly enabled?: boolean | undefined
  readonly resend_on_unknown?: boolean | undefined
}

export const updateIntegration =
  (deps: IntegrationDeps): Handler<'updateIntegration'> =>
  async (who, { integration_id, ...asked }) => {
    const { orgId } = requireMember(who)
    if (asked.url !== undefined) await requireAllowed(deps.checks, asked.url)
    return withTransaction(deps.db, async (tx) => {
      await lockIntegrations(tx, orgId)
      const row = await lockIntegration(tx, orgId, integration_id)
      const next = { ...(await addressChange(tx, deps, row, asked.url)), ...stateChange(row, asked) }
      const resend = resendChange(row, asked)
      if (Object.keys({ ...next, ...resend }).length === 0) return presentWithCount(tx, row)
      const config = { ...row.config, ...next.config, ...resend }
      const changed = await updateIntegrationRow(tx, row, { ...next, config })
      if (row.state !== 'active' && changed.state === 'active') await resumeSubscriptions(tx, row)
      if (asked.url !== undefined || (row.state !== 'active' && changed.state === 'active')) {
        await resetTarget(tx, deps.clock, { orgId, target: row.id })
      }
      const subject = changed.name
      await recordAudit(tx, deps.clock, who, { orgId, action: 'integration.changed', subject })
      return presentWithCount(tx, changed)
    })
  }

/** A new address is a new key, and ends whatever was wrong with the old one; an integration that is off stays off. */
async function addressChange(
  tx: Transaction,
  { dataKeys }: IntegrationDeps,
  row: IntegrationRow,
  url: string | undefined,
): Promise<Partial<IntegrationRow>> {
  if (url === undefined) return {}
  if (!ADDRESS_CAN_CHANGE[row.kind] || row.teamId !== null) {
    throw new ServiceError('CONFLICT', 'The address of this integration comes from connecting it', {
      hint: 'Connect it again.',
    })
  }
  const digest = digestOf(dataKeys, url)
  const same = await findByDigest(tx, { orgId: row.orgId, kind: row.kind, digest })
  if (same && same.id !== row.id) throw alreadyConnected()
  return {
    digest,
    sealed: sealIntegrationSecret(dataKeys, row, { url }),
    config: { address: maskAddress(url) },
    failingSince: null,
    state: row.state === 'off' ? 'off' : 'active',
  }
}

/** Turned on again by an admin, what was lost, gone or dead is tried again. */
const stateChange = (row: IntegrationRow, { name, enabled }: Change): Partial<IntegrationRow> => ({
  ...(name !== undefined && name !== row.name && { name }),
  ...(enabled === true && row.state !== 'active' && { state: 'active' as const, failingSince: null }),
  ...(enabled === false && row.state !== 'off' && { state: 'off' as const }),
})

function resendChange({ kind, config }: IntegrationRow, { resend_on_unknown: resend }: Change) {
  if (resend === undefined) return {}
  if (CHANNELS[kind].repeatable !== 'if_integration_allows') {
    throw new ServiceError('INVALID_REQUEST', 'resend_on_unknown applies only to webhooks', {
      problems: ['resend_on_unknown: only for webhooks'],
    })
  }
  return (config['resend_on_unknown'] === true) === resend ? {} : { resend_on_unknown: resend }
}
