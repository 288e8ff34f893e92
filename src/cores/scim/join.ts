/** Brings a bound person into the organization, and gives what their groups give. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, lt } from '../../../db/drizzle.ts'
import { formerMembers, memberships, organizations, provisionedPeople as people } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { currentMembership, recordJoinedAnother, wasRemoved } from '../organizations/index.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { PersonRow } from './person-rows.ts'
import { givePlaces } from './places.ts'
import { giveRoles } from './roles.ts'

/** Whoever is a member already stays so. A new membership is another one: nothing of an earlier one comes back. */
export async function joinAsProvisioned(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  person: PersonRow & { readonly userId: string },
): Promise<void> {
  const { orgId, userId, id } = person
  if (!(await isWelcome(tx, person))) return
  const elsewhere = await currentMembership(tx, userId)
  const [joined] = await tx
    .insert(memberships)
    .values({ orgId, userId, role: 'viewer', joinedBy: 'scim', joinedAt: clock() })
    .onConflictDoNothing()
    .returning({ id: memberships.id })
  if (joined) {
    // Of a membership that has ended.
    await tx
      .update(people)
      .set({ role: null })
      .where(and(eq(people.orgId, orgId), eq(people.id, id)))
    await recordAudit(tx, clock, actor, {
      orgId,
      action: 'member.joined',
      subject: `${person.email} through SCIM`,
    })
    const [org] = await tx
      .select({ name: organizations.name })
      .from(organizations)
      .where(eq(organizations.id, orgId))
    await recordJoinedAnother(tx, clock, actor, elsewhere, org!.name)
  }
  await givePlaces(tx, clock, { orgId, personIds: [id] })
  await giveRoles(tx, clock, actor, { orgId, personIds: [id] })
}

/** Removed by somebody after the directory said that they belong here: it does not bring them back. */
async function isWelcome(
  tx: Transaction,
  { orgId, userId, email, activeSince }: PersonRow,
): Promise<boolean> {
  const isFormer = and(eq(formerMembers.orgId, orgId), wasRemoved(userId!, email))
  await tx.delete(formerMembers).where(and(isFormer, lt(formerMembers.since, activeSince)))
  const [former] = await tx
    .select({ userId: formerMembers.userId })
    .from(formerMembers)
    .where(isFormer)
    .limit(1)
  return former === undefined
}
