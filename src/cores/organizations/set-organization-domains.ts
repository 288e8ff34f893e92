import { eq } from '../../../db/drizzle.ts'
import { organizationDomains, organizations } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { endProofByDomain } from './end-proof.ts'
import { claimDomains, listDomains } from './organization-domains.ts'
import { presentForOperator } from './present-organization.ts'

export const setOrganizationDomains =
  ({ db, clock }: Storage): Handler<'setOrganizationDomains'> =>
  (principal, { org_id, domains }) =>
    withTransaction(db, async (tx) => {
      const [org] = await tx.select().from(organizations).where(eq(organizations.id, org_id)).for('update')
      if (!org) throw notFound()
      await tx.delete(organizationDomains).where(eq(organizationDomains.orgId, org_id))
      await claimDomains(tx, org_id, domains)
      const subject = domains.join(', ') || 'none'
      await recordAudit(tx, clock, principal, { orgId: org_id, action: 'organization.domains_set', subject })
      await endProofByDomain(tx, clock, principal, { orgId: org_id, domains })
      return presentForOperator(org, await listDomains(tx, org_id))
    })
