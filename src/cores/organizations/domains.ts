/** E-mail domains of an organization: set by the operator, whose people join on first sign-in. */
import { eq, inArray } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { organizationDomains, organizations } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { setOrganizationDomains } from '../../contracts/organizations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { domainsOf, presentForOperator } from './present.ts'
import { isPublicMailDomain } from './public-mail-domains.ts'

export const replaceDomains =
  ({ db, clock }: Storage): Handler<typeof setOrganizationDomains> =>
  (caller, { org_id, domains }) =>
    withTransaction(db, async (tx) => {
      const [org] = await tx.select().from(organizations).where(eq(organizations.id, org_id)).for('update')
      if (!org) throw notFound()
      await tx.delete(organizationDomains).where(eq(organizationDomains.orgId, org_id))
      await claimDomains(tx, org_id, domains)
      const subject = domains.join(', ') || 'none'
      await recordAudit(tx, clock, caller, { orgId: org_id, action: 'organization.domains_set', subject })
      return presentForOperator(org, await domainsOf(tx, org_id))
    })

export async function claimDomains(
  tx: Transaction,
  orgId: string,
  domains: readonly string[],
): Promise<void> {
  const wanted = [...new Set(domains)]
  const open = wanted.filter(isPublicMailDomain)
  if (open.length > 0) {
    throw new ServiceError('INVALID_REQUEST', 'A public mail domain cannot belong to an organization', {
      problems: open.map((domain) => `domains: anybody can have an address at ${domain}`),
    })
  }
  if (wanted.length === 0) return
  const claimed = await tx
    .insert(organizationDomains)
    .values(wanted.map((domain) => ({ domain, orgId })))
    .onConflictDoNothing()
    .returning()
  if (claimed.length === wanted.length) return
  const taken = await tx.select().from(organizationDomains).where(inArray(organizationDomains.domain, wanted))
  throw new ServiceError('CONFLICT', 'A domain belongs to another organization', {
    problems: taken.filter((row) => row.orgId !== orgId).map((row) => `domains: ${row.domain} is taken`),
  })
}
