import type { Handle } from '../../../db/connect.ts'
import { listDomains } from '../organizations/index.ts'
import type { Assertion } from './verify-assertion.ts'

/**
 * The address that the provider vouches for: because it says so, or, where it does not say, because it lies in a domain of
 * the organization. Addresses in those are the organization's to give, and so its provider's; any other could be anybody's.
 */
export async function vouchedEmail(
  db: Handle,
  orgId: string,
  { email }: Pick<Assertion, 'email'>,
): Promise<string | undefined> {
  if (email === undefined || email.isVerified) return email?.address
  return (await isInDomains(db, orgId, email.address)) ? email.address : undefined
}

export const isInDomains = async (db: Handle, orgId: string, address: string): Promise<boolean> =>
  (await listDomains(db, orgId)).includes(address.slice(address.lastIndexOf('@') + 1))
