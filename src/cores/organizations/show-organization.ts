import { eq } from '../../../db/drizzle.ts'
import { organizations } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { read, type Verb } from '../verb.ts'
import { listDomains } from './organization-domains.ts'
import { presentOrganization, PROVIDER_USE } from './present-organization.ts'

export const showOrganization: Verb<'showOrganization'> = read(async ({ db, member, orgId }) => {
  const { role } = member
  const [row] = await db
    .select({ org: organizations, providerUse: PROVIDER_USE })
    .from(organizations)
    .where(eq(organizations.id, orgId))
  if (!row) throw notFound()
  const { org, providerUse } = row
  return presentOrganization(org, role, { domains: await listDomains(db, orgId), providerUse })
})
