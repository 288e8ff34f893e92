import { eq } from '../../../db/drizzle.ts'
import { organizations } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { listDomains } from './organization-domains.ts'
import { presentOrganization, PROVIDER_USE } from './present-organization.ts'

export const showOrganization =
  ({ db }: Storage): Handler<'showOrganization'> =>
  async (principal) => {
    const { orgId, role } = requireMember(principal)
    const [row] = await db
      .select({ org: organizations, providerUse: PROVIDER_USE })
      .from(organizations)
      .where(eq(organizations.id, orgId))
    if (!row) throw notFound()
    const { org, providerUse } = row
    return presentOrganization(org, role, { domains: await listDomains(db, orgId), providerUse })
  }
