import { ServiceError } from '../../../contracts/errors.ts'
import { writeInSteps, type Verb } from '../../verb.ts'
import {
  mailVerification,
  renewVerification,
  requireMailTo,
  type VerificationDeps,
} from './address-verification.ts'
import { emailOf, openIntegrationSecret } from './integration-secret.ts'
import { isVerified, lockIntegration } from './integration-rows.ts'

export const sendAddressVerification: Verb<'sendAddressVerification', VerificationDeps> = writeInSteps(
  {},
  async (context, { integration_id }) => {
    const { orgId, dataKeys, transaction } = context
    const pending = await transaction(async ({ tx }) => {
      const row = await lockIntegration(tx, orgId, integration_id)
      if (isVerified(row)) {
        throw new ServiceError('CONFLICT', 'There is no address to confirm', {
          hint: 'Only an email address that nobody has confirmed gets a link.',
        })
      }
      requireMailTo(context, emailOf(openIntegrationSecret(dataKeys, row).url))
      return renewVerification(tx, context, row)
    })
    await mailVerification(context, pending)
    return {}
  },
)
