import { eq } from '../../../db/drizzle.ts'
import { organizationDomains, organizations } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { write, type Verb } from '../verb.ts'
import { endProofByDomain } from './end-proof.ts'
import { claimDomains, listDomains } from './organization-domains.ts'
import { presentForOperator } from './present-organization.ts'

export const setOrganizationDomains: Verb<'setOrganizationDomains'> = write(
  { by: 'principal', audit: ['organization.domains_set', 'identity_provider.paused'] },
  async ({ tx, clock, principal, audit }, { org_id, domains }) => {
    const [org] = await tx.select().from(organizations).where(eq(organizations.id, org_id)).for('update')
    if (!org) throw notFound()
    await tx.delete(organizationDomains).where(eq(organizationDomains.orgId, org_id))
    await claimDomains(tx, org_id, domains)
    await audit('organization.domains_set', domains.join(', ') || 'none', { orgId: org_id })
    await endProofByDomain(tx, clock, principal, { orgId: org_id, domains })
    return presentForOperator(org, await listDomains(tx, org_id))
  },
)
