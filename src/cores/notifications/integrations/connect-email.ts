import { writeInSteps, type Verb } from '../../verb.ts'
import {
  mailVerification,
  renewVerification,
  requireMailTo,
  type VerificationDeps,
} from './address-verification.ts'
import { alreadyConnected } from './connect-by-address.ts'
import { digestOf, mailtoUrl, maskAddress } from './integration-secret.ts'
import { findByDigest, insertIntegration, lockIntegrations, presentWithCount } from './integration-rows.ts'

/** Whoever connects the same address before it is confirmed gets another mail with another link. */
export const connectEmail: Verb<'connectEmail', VerificationDeps> = writeInSteps(
  { audit: 'integration.connected' },
  async (context, { address, name }) => {
    const { db, member, orgId, dataKeys, transaction } = context
    requireMailTo(context, address)
    const url = mailtoUrl(address)
    const pending = await transaction(async ({ tx, audit }) => {
      await lockIntegrations(tx, orgId)
      const known = await findByDigest(tx, { orgId, kind: 'email', digest: digestOf(dataKeys, url) })
      if (known && known.state !== 'unverified') throw alreadyConnected()
      const row =
        known ??
        (await insertIntegration(tx, context, member, {
          kind: 'email',
          name: name ?? maskAddress(url),
          secret: { url },
        }))
      if (!known) await audit('integration.connected', row.name)
      return renewVerification(tx, context, row)
    })
    await mailVerification(context, pending)
    return presentWithCount(db, pending.row)
  },
)
