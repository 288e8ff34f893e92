import { eq } from '../../../../db/drizzle.ts'
import { emailSuppressions } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { resetTarget } from '../delivery/reset-target.ts'
import { write, type Verb } from '../../verb.ts'
import { findByVerification, type FindDeps } from './address-verification.ts'
import { emailDigest, emailOf, openIntegrationSecret } from './integration-secret.ts'
import { isVerified, updateIntegrationRow, workingState } from './integration-rows.ts'

/** A second press of the button changes nothing. One that an admin turned off meanwhile is confirmed, and stays off. */
export const verifyAddress: Verb<'verifyAddress', FindDeps> = write(
  { by: 'principal', audit: 'integration.verified' },
  async (context, { token }) => {
    const { tx, clock, principal, dataKeys, audit } = context
    const row = await findByVerification(context, token)
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
    const as = { ...principal, userName: 'a verification link' }
    await audit('integration.verified', row.name, { orgId: row.orgId, as })
    return {}
  },
)
