/** The operator creates an organization with its email domains and first owner. */
import { and, isNull, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { organizations } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { withTransaction } from '../transaction.ts'
import { createOwner, presentOwner } from './create-owner.ts'
import { claimDomains } from './organization-domains.ts'
import { insertOrganization } from './insert-organization.ts'
import type { InvitationDeps } from './send-invitation.ts'
import { presentForOperator } from './present-organization.ts'

export const createOrganizationAsOperator =
  (deps: InvitationDeps): Handler<'createOrganizationAsOperator'> =>
  async (principal, { name, domains, admin_email, admin_name }) => {
    const { org, owner } = await withTransaction(deps.db, async (tx) => {
      await refuseTakenName(tx, name)
      const row = await insertOrganization(tx, deps.clock, { name, foundedBy: null })
      await claimDomains(tx, row.id, domains)
      await recordAudit(tx, deps.clock, principal, {
        orgId: row.id,
        action: 'organization.created',
        subject: name,
      })
      if (admin_email === undefined) return { org: row, owner: null }
      return {
        org: row,
        owner: await createOwner(tx, deps, { orgId: row.id, email: admin_email, name: admin_name }),
      }
    })
    return {
      ...presentForOperator(org, domains),
      owner: owner && (await presentOwner(deps, owner, org.name)),
    }
  }

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
