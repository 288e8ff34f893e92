import type { Handler } from '../../../contracts/operations.ts'
import { findByVerification, type FindDeps } from './address-verification.ts'
import { isVerified, presentIntegration } from './integration-rows.ts'

/** A forged link, an old one and one whose integration is gone are answered alike. */
export const showAddressVerification =
  (deps: FindDeps): Handler<'showAddressVerification'> =>
  async (_nobody, { token }) => {
    const row = await findByVerification(deps, token)
    const organization = row && (await deps.directory.readOrganization(deps.db, row.orgId))
    return organization
      ? {
          organization: organization.name,
          address: presentIntegration(row, 0).address,
          verified: isVerified(row),
        }
      : { organization: null, address: null, verified: false }
  }
