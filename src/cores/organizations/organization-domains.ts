/** Email domains of organizations: set by the operator; people with an address there join on sign-in. */
import { inArray } from '../../../db/drizzle.ts'
import type { Handle, Transaction } from '../../../db/connect.ts'
import { organizationDomains } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { isPublicMailDomain } from './public-mail-domains.ts'

export async function claimDomains(
  tx: Transaction,
  orgId: string,
  domains: readonly string[],
): Promise<void> {
  const requested = [...new Set(domains)]
  const publicDomains = requested.filter(isPublicMailDomain)
  if (publicDomains.length > 0) {
    throw new ServiceError('INVALID_REQUEST', 'A public mail domain cannot belong to an organization', {
      problems: publicDomains.map((domain) => `domains: anybody can have an address at ${domain}`),
    })
  }
  if (requested.length === 0) return
  const claimed = await tx
    .insert(organizationDomains)
    .values(requested.map((domain) => ({ domain, orgId })))
    .onConflictDoNothing()
    .returning()
  if (claimed.length === requested.length) return
  const taken = await tx
    .select()
    .from(organizationDomains)
    .where(inArray(organizationDomains.domain, requested))
  throw new ServiceError('CONFLICT', 'A domain already belongs to another organization', {
    problems: taken.filter((row) => row.orgId !== orgId).map((row) => `domains: ${row.domain} is taken`),
  })
}

export const listDomains = async (db: Handle, orgId: string): Promise<string[]> =>
  (await listDomainsByOrganization(db, [orgId])).get(orgId) ?? []

export async function listDomainsByOrganization(
  db: Handle,
  orgIds: readonly string[],
): Promise<Map<string, string[]>> {
  if (orgIds.length === 0) return new Map()
  const rows = await db
    .select()
    .from(organizationDomains)
    .where(inArray(organizationDomains.orgId, [...orgIds]))
    .orderBy(organizationDomains.domain)
  const groups = Map.groupBy(rows, ({ orgId }) => orgId)
  return new Map([...groups].map(([orgId, group]) => [orgId, group.map(({ domain }) => domain)]))
}
