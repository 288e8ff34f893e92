/** Ends the access of somebody to this organization, in the transaction of what the directory said. Others are not touched. */
import { randomUUID } from 'node:crypto'
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, sql } from '../../../db/drizzle.ts'
import { invitations, memberships } from '../../../db/schema.ts'
import { revokeInvitations } from '../credentials/index.ts'
import { endAccess, lockOwners } from '../organizations/index.ts'
import { recordEvent } from '../outbox.ts'
import { recordAudit } from '../record-audit.ts'
import { recordNarrowing } from '../right-versions.ts'
import type { ScimContext } from './dependencies.ts'
import type { PersonRow } from './person-rows.ts'

/** True: the organization has no owner any more. */
export async function endPerson(context: ScimContext, person: PersonRow): Promise<boolean> {
  const { tx, clock, orgId, bearer } = context
  await recordNarrowing(tx, 'provisioned_person', { id: person.id, orgId, to: { active: 'false' } })
  await lockOwners(tx, orgId)
  // First: whoever is accepting one at this moment is waited for, and then found among the members.
  const addresses = [...new Set([person.email, person.userName.toLowerCase()])]
  await revokeInvitations(tx, clock, and(eq(invitations.orgId, orgId), inArray(invitations.email, addresses)))
  const accounts = await accountsOf(tx, person, addresses)
  for (const { userId, email } of accounts) {
    await endAccess(tx, clock, { orgId, userId }, null, bearer)
    await recordEvent(tx, clock, {
      orgId,
      type: 'org.member.removed',
      subject: `members/${userId}`,
      source: 'members',
      dedupKey: `removed:${userId}:${randomUUID()}`,
      actorId: null,
      data: { user_id: userId },
    })
    await recordAudit(tx, clock, bearer, { orgId, action: 'member.removed', subject: email })
  }
  if (!accounts.some(({ role }) => role === 'owner') || (await hasOwner(tx, orgId))) return false
  await recordAudit(tx, clock, bearer, { orgId, action: 'scim.owners_ended', subject: person.email })
  return true
}

type Account = { readonly userId: string; readonly email: string; readonly role: string }

/**
 * The account that they are bound to, and whichever other member has proven one of their addresses or came by an invitation
 * to it: the organization's directory says that nobody is there any more, however they signed in. Whoever is another active
 * person of the directory stays. Locked: what is being granted to one of them at this moment is waited for, and then found.
 */
async function accountsOf(
  tx: Transaction,
  { orgId, id, userId }: PersonRow,
  addresses: readonly string[],
): Promise<readonly Account[]> {
  const given = sql`(select value from json_array_elements_text(${JSON.stringify(addresses)}::text::json))`
  return tx.execute<Account>(sql`
    select m.user_id as "userId", u.email, m.role
    from memberships m join users u on u.id = m.user_id
    where m.org_id = ${orgId} and u.kind = 'person' and (
      m.user_id = ${userId}
      or (u.email_verified_at is not null and u.email in ${given})
      or exists (select from identities i where i.user_id = u.id and i.email_verified and lower(i.email) in ${given})
      or exists (
        select from invitations i
        where i.org_id = m.org_id and i.accepted_by = m.user_id and i.email in ${given}
      )
    )
    and not exists (
      select from provisioned_people o
      where o.org_id = m.org_id and o.user_id = m.user_id and o.id <> ${id} and o.active and o.deleted_at is null
    )
    order by m.user_id
    for update of m`)
}

async function hasOwner(tx: Transaction, orgId: string): Promise<boolean> {
  const [owner] = await tx
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.role, 'owner')))
    .limit(1)
  return owner !== undefined
}
