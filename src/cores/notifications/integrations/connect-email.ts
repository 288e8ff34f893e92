import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { requireMember } from '../../principal.ts'
import { withTransaction } from '../../transaction.ts'
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
export const connectEmail =
  (deps: VerificationDeps): Handler<'connectEmail'> =>
  async (who, { address, name }) => {
    const principal = requireMember(who)
    const { orgId } = principal
    requireMailTo(deps, address)
    const url = mailtoUrl(address)
    const pending = await withTransaction(deps.db, async (tx) => {
      await lockIntegrations(tx, orgId)
      const known = await findByDigest(tx, { orgId, kind: 'email', digest: digestOf(deps.dataKeys, url) })
      if (known && known.state !== 'unverified') throw alreadyConnected()
      const row =
        known ??
        (await insertIntegration(tx, deps, principal, {
          kind: 'email',
          name: name ?? maskAddress(url),
          secret: { url },
        }))
      if (!known) {
        await recordAudit(tx, deps.clock, who, { orgId, action: 'integration.connected', subject: row.name })
      }
      return renewVerification(tx, deps, row)
    })
    await mailVerification(deps, pending)
    return presentWithCount(deps.db, pending.row)
  }
