/** The operator opens an organization: name, e-mail domains, first owner. */
import { and, asc, eq, isNotNull, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { memberships, organizations, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { createOrganizationForAdmin } from '../../contracts/organizations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Clock } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { claimDomains } from './domains.ts'
import { insertWithFreeSlug } from './insert-organization.ts'
import { handOverInvitation, insertInvitation, type InvitationNeeds } from './invitations.ts'
import { presentForOperator } from './present.ts'

export const openOrganization =
  (needs: InvitationNeeds): Handler<typeof createOrganizationForAdmin> =>
  async (caller, { name, domains, admin_email, admin_name }) => {
    const { org, owner } = await withTransaction(needs.db, async (tx) => {
      await refuseNamesake(tx, name)
      const row = await insertWithFreeSlug(tx, needs.clock, name)
      await claimDomains(tx, row.id, domains)
      await recordAudit(tx, needs.clock, caller, {
        orgId: row.id,
        action: 'organization.created',
        subject: name,
      })
      if (admin_email === undefined) return { org: row, owner: null }
      return { org: row, owner: await makeOwner(tx, needs, row.id, admin_email, admin_name) }
    })
    if (!owner) return { ...presentForOperator(org, domains), owner: null }
    const url =
      owner.invitation && (await handOverInvitation(needs, owner.invitation, org.name, 'The operator'))
    return {
      ...presentForOperator(org, domains),
      owner: {
        id: owner.user.id,
        email: owner.user.email,
        name: owner.user.name,
        role: 'owner' as const,
        created: owner.invitation !== undefined,
        invitation_url: url ?? undefined,
      },
    }
  }

/** By name, not by slug: names in another script all leave the same slug, and are different all the same. */
async function refuseNamesake(tx: Transaction, name: string): Promise<void> {
  // A request that is sent twice, say by a script that lost patience, waits here for its twin.
  await tx.execute(
    sql`select pg_advisory_xact_lock(hashtextextended(${`organization ${name.toLowerCase()}`}, 0))`,
  )
  const [namesake] = await tx
    .select({ id: organizations.id })
    .from(organizations)
    .where(sql`lower(${organizations.name}) = lower(${name})`)
    .limit(1)
  if (namesake) throw new ServiceError('CONFLICT', 'An organization with this name exists already')
}

/**
 * Only a verified address counts as "an existing user with that e-mail": an unverified one could have been
 * claimed by anybody, and would be handed an organization. A new account waits for its person behind an invitation.
 */
async function makeOwner(
  tx: Transaction,
  needs: InvitationNeeds,
  orgId: string,
  email: string,
  name: string | undefined,
) {
  const known = await verifiedUserWith(tx, email)
  const user = known ?? (await insertWaitingUser(tx, needs.clock, email, name))
  await tx
    .insert(memberships)
    .values({ orgId, userId: user.id, role: 'owner', joinedBy: 'operator', joinedAt: needs.clock() })
  if (known) return { user, invitation: undefined }
  const invitation = await insertInvitation(tx, needs, {
    orgId,
    email,
    role: 'owner',
    invitedBy: null,
    waitingUserId: user.id,
  })
  return { user, invitation }
}

async function verifiedUserWith(tx: Transaction, email: string) {
  const [user] = await tx
    .select()
    .from(users)
    .where(and(eq(users.email, email), isNotNull(users.emailVerifiedAt)))
    .orderBy(asc(users.id))
    .limit(1)
  return user
}

async function insertWaitingUser(tx: Transaction, clock: Clock, email: string, name: string | undefined) {
  const now = clock()
  const [user] = await tx
    .insert(users)
    .values({ id: makeId('usr', now.getTime()), email, name: name ?? email, createdAt: now })
    .returning()
  return user!
}
