import type { Handler } from '../../../contracts/operations.ts'
import type { Storage } from '../../dependencies.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { findByVerification } from './address-verification.ts'
import { isVerified, presentIntegration } from './integration-rows.ts'

/** A forged link, an old one and one whose integration is gone are answered alike. */
export const showAddressVerification =
  (deps: Storage & WithDirectory): Handler<'showAddressVerification'> =>
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
