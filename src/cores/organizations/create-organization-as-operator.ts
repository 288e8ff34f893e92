/** The operator creates an organization with its email domains and first owner. */
import { and, isNull, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { organizations } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { createOwner, presentOwner } from './create-owner.ts'
import { claimDomains } from './organization-domains.ts'
import { insertOrganization } from './insert-organization.ts'
import type { InvitationDeps } from './send-invitation.ts'
import { presentForOperator } from './present-organization.ts'

export const createOrganizationAsOperator: Verb<'createOrganizationAsOperator', InvitationDeps> =
  writeInSteps(
    { by: 'principal', audit: 'organization.created' },
    async (context, { name, domains, admin_email, admin_name }) => {
      const { clock, transaction } = context
      const { org, owner } = await transaction(async ({ tx, audit }) => {
        await refuseTakenName(tx, name)
        const row = await insertOrganization(tx, clock, { name, foundedBy: null })
        await claimDomains(tx, row.id, domains)
        await audit('organization.created', name, { orgId: row.id })
        if (admin_email === undefined) return { org: row, owner: null }
        return {
          org: row,
          owner: await createOwner(tx, context, { orgId: row.id, email: admin_email, name: admin_name }),
        }
      })
      return {
        ...presentForOperator(org, domains),
        owner: owner && (await presentOwner(context, owner, org.name)),
      }
    },
  )

/**
 * By name, not by slug: names in another script all give the same slug and still differ. Among the operator's own only:
 * otherwise anybody could take a name before the company that has it.
 */
async function refuseTakenName(tx: Transaction, name: string): Promise<void> {
  // A request that is sent twice waits here for the first one.
  await tx.execute(
    sql`select pg_advisory_xact_lock(hashtextextended(${`organization ${name.toLowerCase()}`}, 0))`,
  )
  const [existing] = await tx
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(sql`lower(${organizations.name}) = lower(${name})`, isNull(organizations.foundedBy)))
    .limit(1)
  if (existing) throw new ServiceError('CONFLICT', 'An organization with this name already exists')
}
