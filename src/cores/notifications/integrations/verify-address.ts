import { eq } from '../../../../db/drizzle.ts'
import { emailSuppressions } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { withTransaction } from '../../transaction.ts'
import { resetTarget } from '../delivery/reset-target.ts'
import { findByVerification, type FindDeps } from './address-verification.ts'
import { emailDigest, emailOf, openIntegrationSecret } from './integration-secret.ts'
import { isVerified, updateIntegrationRow, workingState } from './integration-rows.ts'

/** A second press of the button changes nothing. One that an admin turned off meanwhile is confirmed, and stays off. */
export const verifyAddress =
  (deps: FindDeps): Handler<'verifyAddress'> =>
  (nobody, { token }) =>
    withTransaction(deps.db, async (tx) => {
      const { clock, dataKeys } = deps
      const row = await findByVerification({ ...deps, db: tx }, token)
      if (!row) throw new ServiceError('NOT_FOUND', 'This link is no longer valid')
      if (isVerified(row)) return {}
      const verified = { kind: row.kind, verifiedAt: clock() }
      await updateIntegrationRow(tx, row, {
        verifiedAt: verified.verifiedAt,
        failingSince: null,
        ...(row.state !== 'off' && { state: workingState(verified) }),
      })
      await resetTarget(tx, clock, { orgId: row.orgId, target: row.id })
      // Somebody read the mail there: whatever the mail server once said of this mailbox is over.
      const address = emailOf(openIntegrationSecret(dataKeys, row).url)
      await tx
        .delete(emailSuppressions)
        .where(eq(emailSuppressions.emailDigest, emailDigest(dataKeys, address)))
      const by = { ...nobody, userName: 'a verification link' }
      const audited = { orgId: row.orgId, action: 'integration.verified', subject: row.name } as const
      await recordAudit(tx, clock, by, audited)
      return {}
    })
