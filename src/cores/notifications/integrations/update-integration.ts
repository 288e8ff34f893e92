import type { Transaction } from '../../../../db/connect.ts'
import { CHANNELS, type IntegrationKind } from '../../../contracts/channels.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { holdTarget, releaseTarget } from '../delivery/hold-target.ts'
import { resetTarget } from '../delivery/reset-target.ts'
import { writeInSteps, type Verb } from '../../verb.ts'
import { alreadyConnected } from './connect-by-address.ts'
import {
  hasHolderLeft,
  mailVerification,
  renewVerification,
  requireMailTo,
  UNVERIFIED,
  type VerificationDeps,
} from './address-verification.ts'
import {
  digestOf,
  mailtoUrl,
  maskAddress,
  openIntegrationSecret,
  sealIntegrationSecret,
} from './integration-secret.ts'
import {
  resumeSubscriptions,
  updateIntegrationRow,
  findByDigest,
  lockIntegrations,
  lockIntegration,
  presentWithCount,
  requireAllowed,
  workingState,
  type IntegrationRow,
  type IntegrationDeps,
} from './integration-rows.ts'

/** A forum's address belongs to its key. */
const URL_CAN_CHANGE: Record<IntegrationKind, boolean> = {
  chat: true,
  webhook: true,
  forum: false,
  email: false,
}

type Change = {
  readonly name?: string | undefined
  readonly url?: string | undefined
  readonly address?: string | undefined
  readonly enabled?: boolean | undefined
  readonly resend_on_unknown?: boolean | undefined
}

export const updateIntegration: Verb<'updateIntegration', VerificationDeps> = writeInSteps(
  { audit: 'integration.changed' },
  async (context, { integration_id, ...asked }) => {
    const { clock, orgId, checks, transaction } = context
    if (asked.url !== undefined) await requireAllowed(checks, context.orgId, asked.url)
    const { updated, pending } = await transaction(async ({ tx, audit }) => {
      await lockIntegrations(tx, orgId)
      const row = await lockIntegration(tx, orgId, integration_id)
      if (asked.address !== undefined) requireMailTo(context, asked.address)
      const moved = {
        ...(await urlChange(tx, context, row, asked.url)),
        ...(await emailChange(tx, context, row, asked.address)),
      }
      const left = asked.enabled === true ? await holderChange(tx, context, { ...row, ...moved }) : {}
      const next = { ...moved, ...left, ...stateChange({ ...row, ...moved, ...left }, asked) }
      const resend = resendChange(row, asked)
      if (Object.keys({ ...next, ...resend }).length === 0) {
        return { updated: await presentWithCount(tx, row), pending: null }
      }
      const config = { ...row.config, ...next.config, ...resend }
      const changed = await updateIntegrationRow(tx, row, { ...next, config })
      if (row.state !== 'active' && changed.state === 'active') await resumeSubscriptions(tx, row)
      if (row.state === 'paused' && changed.state !== 'paused') await releaseTarget(tx, clock, row)
      if (asked.url !== undefined || (row.state !== 'active' && changed.state === 'active')) {
        await resetTarget(tx, clock, { orgId, target: row.id })
        if (changed.state === 'paused') await holdTarget(tx, clock, row)
      }
      await audit('integration.changed', changed.name)
      return {
        updated: await presentWithCount(tx, changed),
        pending: moved.verificationHash === null ? await renewVerification(tx, context, changed) : null,
      }
    })
    if (pending) await mailVerification(context, pending)
    return updated
  },
)

/** A new address is a new key, and ends whatever was wrong with the old one; an integration that is off stays off. */
async function urlChange(
  tx: Transaction,
  { dataKeys }: IntegrationDeps,
  row: IntegrationRow,
  url: string | undefined,
): Promise<Partial<IntegrationRow>> {
  if (url === undefined) return {}
  if (!URL_CAN_CHANGE[row.kind] || row.teamId !== null) {
    throw new ServiceError('CONFLICT', 'The address of this integration comes from connecting it', {
      hint: 'Connect it again.',
    })
  }
  const digest = digestOf(dataKeys, url)
  const same = await findByDigest(tx, { orgId: row.orgId, kind: row.kind, digest })
  if (same && same.id !== row.id) throw alreadyConnected()
  return {
    digest,
    // A secret of its own stays: it is the address that changes.
    sealed: sealIntegrationSecret(dataKeys, row, { ...openIntegrationSecret(dataKeys, row), url }),
    config: { address: maskAddress(url) },
    failingSince: null,
    state: row.state === 'off' || row.state === 'paused' ? row.state : 'active',
  }
}

/** Another mailbox, which has confirmed nothing: what was proven of the old one ends with it. */
async function emailChange(
  tx: Transaction,
  { dataKeys }: IntegrationDeps,
  row: IntegrationRow,
  address: string | undefined,
): Promise<Partial<IntegrationRow>> {
  if (address === undefined) return {}
  if (row.kind !== 'email') {
    throw new ServiceError('INVALID_REQUEST', 'address applies only to email', {
      problems: ['address: only for email'],
    })
  }
  // Nothing would be sent to the new address before it is confirmed: what waits would be dropped.
  if (row.state === 'paused') {
    throw new ServiceError('CONFLICT', 'The integration is paused', { hint: 'Resume it first.' })
  }
  const url = mailtoUrl(address)
  const digest = digestOf(dataKeys, url)
  if (digest === row.digest) return {}
  if (await findByDigest(tx, { orgId: row.orgId, kind: row.kind, digest })) throw alreadyConnected()
  return {
    digest,
    sealed: sealIntegrationSecret(dataKeys, row, { url }),
    config: { address: maskAddress(url) },
    // One that nobody named is called by its address.
    ...(row.name === row.config['address'] && { name: maskAddress(url) }),
    failingSince: null,
    ...UNVERIFIED,
    state: row.state === 'off' ? 'off' : 'unverified',
  }
}

/** Turned on, an address whose holder left since it was confirmed is to be confirmed anew; nothing is mailed there unasked. */
const holderChange = async (
  tx: Transaction,
  deps: VerificationDeps,
  row: IntegrationRow,
): Promise<Partial<IntegrationRow>> =>
  row.kind === 'email' && row.verifiedAt && (await hasHolderLeft({ ...deps, db: tx }, row, row.verifiedAt))
    ? UNVERIFIED
    : {}

/** Turned on again by an admin, what was lost, gone or dead is tried again. */
const stateChange = (row: IntegrationRow, { name, enabled }: Change): Partial<IntegrationRow> => ({
  ...(name !== undefined && name !== row.name && { name }),
  ...(enabled === true &&
    row.state !== workingState(row) && { state: workingState(row), failingSince: null }),
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
