/** The operator creates an organization with its email domains and first owner. */
import { and, asc, eq, isNotNull, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { memberships, organizations, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Clock } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { claimDomains } from './organization-domains.ts'
import { insertOrganization } from './insert-organization.ts'
import { insertInvitation, sendInvitation, type InvitationDeps } from './send-invitation.ts'
import { presentForOperator } from './present-organization.ts'

export const createOrganizationAsOperator =
  (deps: InvitationDeps): Handler<'createOrganizationAsOperator'> =>
  async (principal, { name, domains, admin_email, admin_name }) => {
    const { org, owner } = await withTransaction(deps.db, async (tx) => {
      await refuseTakenName(tx, name)
      const row = await insertOrganization(tx, deps.clock, name)
      await claimDomains(tx, row.id, domains)
      await recordAudit(tx, deps.clock, principal, {
        orgId: row.id,
        action: 'organization.created',
        subject: name,
      })
      if (admin_email === undefined) return { org: row, owner: null }
      return { org: row, owner: await createOwner(tx, deps, row.id, admin_email, admin_name) }
    })
    if (!owner) return { ...presentForOperator(org, domains), owner: null }
    const url = owner.invitation && (await sendInvitation(deps, owner.invitation, org.name, 'The operator'))
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

/** By name, not by slug: names in another script all give the same slug and still differ. */
async function refuseTakenName(tx: Transaction, name: string): Promise<void> {
  // A request that is sent twice waits here for the first one.
  await tx.execute(
    sql`select pg_advisory_xact_lock(hashtextextended(${`organization ${name.toLowerCase()}`}, 0))`,
  )
  const [existing] = await tx
    .select({ id: organizations.id })
    .from(organizations)
    .where(sql`lower(${organizations.name}) = lower(${name})`)
    .limit(1)
  if (existing) throw new ServiceError('CONFLICT', 'An organization with this name already exists')
}

/**
 * Only a verified address counts as "an existing user with that email": an unverified one could have been
 * claimed by anybody, and would be handed an organization. A new account waits for its person behind an invitation.
 */
async function createOwner(
  tx: Transaction,
  deps: InvitationDeps,
  orgId: string,
  email: string,
  name: string | undefined,
) {
  const known = await findVerifiedUser(tx, email)
  const user = known ?? (await insertWaitingUser(tx, deps.clock, email, name))
  await tx
    .insert(memberships)
    .values({ orgId, userId: user.id, role: 'owner', joinedBy: 'operator', joinedAt: deps.clock() })
  if (known) return { user, invitation: undefined }
  const invitation = await insertInvitation(tx, deps, {
    orgId,
    email,
    role: 'owner',
    invitedBy: null,
    waitingUserId: user.id,
  })
  return { user, invitation }
}

async function findVerifiedUser(tx: Transaction, email: string) {
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
