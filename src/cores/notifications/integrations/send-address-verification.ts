import { ServiceError } from '../../../contracts/errors.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { requireMember } from '../../principal.ts'
import { withTransaction } from '../../transaction.ts'
import {
  mailVerification,
  renewVerification,
  requireMailTo,
  type VerificationDeps,
} from './address-verification.ts'
import { emailOf, openIntegrationSecret } from './integration-secret.ts'
import { isVerified, lockIntegration } from './integration-rows.ts'

export const sendAddressVerification =
  (deps: VerificationDeps): Handler<'sendAddressVerification'> =>
  async (who, { integration_id }) => {
    const { orgId } = requireMember(who)
    const pending = await withTransaction(deps.db, async (tx) => {
      const row = await lockIntegration(tx, orgId, integration_id)
      if (isVerified(row)) {
        throw new ServiceError('CONFLICT', 'There is no address to confirm', {
          hint: 'Only an email address that nobody has confirmed gets a link.',
        })
      }
      requireMailTo(deps, emailOf(openIntegrationSecret(deps.dataKeys, row).url))
      return renewVerification(tx, deps, row)
    })
    await mailVerification(deps, pending)
    return {}
  }
