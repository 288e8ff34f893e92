import { read, type Verb } from '../../verb.ts'
import { findByVerification, type FindDeps } from './address-verification.ts'
import { isVerified, presentIntegration } from './integration-rows.ts'

/** A forged link, an old one and one whose integration is gone are answered alike. */
export const showAddressVerification: Verb<'showAddressVerification', FindDeps> = read(
  'principal',
  async (context, { token }) => {
    const { db, directory } = context
    const row = await findByVerification(context, token)
    const organization = row && (await directory.readOrganization(db, row.orgId))
    return organization
      ? {
          organization: organization.name,
          address: presentIntegration(row, 0, 0).address,
          verified: isVerified(row),
        }
      : { organization: null, address: null, verified: false }
  },
)
