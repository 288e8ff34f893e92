/** Roles that groups give: the highest of those that somebody is in. Owners keep theirs, and nobody becomes one. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { memberships, provisionedPeople as people } from '../../../db/schema.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import { SCIM_ROLES, type ScimRole } from '../../contracts/scim.ts'
import type { Clock } from '../dependencies.ts'
import { endAccess } from '../organizations/index.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'

type Held = {
  readonly personId: string
  readonly userId: string
  readonly membershipId: string
  readonly email: string
  readonly role: Role
  /** What groups gave last. */
  readonly before: ScimRole | null
  readonly roles: readonly ScimRole[]
}

/** Whoever is in no such group any more is a viewer again; a role that somebody else gave is left alone. */
export async function giveRoles(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  { orgId, personIds }: { readonly orgId: string; readonly personIds: readonly string[] },
): Promise<void> {
  for (const held of await lockHeld(tx, orgId, personIds)) {
    const given = SCIM_ROLES.findLast((role) => held.roles.includes(role)) ?? null
    if (given === held.before && (given === null || given === held.role)) continue
    await tx
      .update(people)
      .set({ role: given })
      .where(and(eq(people.orgId, orgId), eq(people.id, held.personId)))
    await setRole(tx, clock, actor, orgId, held, given ?? 'viewer')
  }
}

async function setRole(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  orgId: string,
  { userId, membershipId, email, role }: Held,
  to: ScimRole,
): Promise<void> {
  if (role === 'owner' || role === to) return
  await tx
    .update(memberships)
    .set({ role: to })
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
  const right = { id: membershipId, orgId }
  if (atLeast(to, role)) await recordWidening(tx, 'role', right)
  else {
    await endAccess(tx, clock, { orgId, userId }, to)
    await recordNarrowing(tx, 'role', { ...right, to: { role: to } })
  }
  await recordAudit(tx, clock, actor, {
    orgId,
    action: 'member.role_changed',
    subject: `${email}: ${role} → ${to}, by SCIM`,
  })
}

/** Under a lock: somebody may be changing the same role by hand. */
async function lockHeld(
  tx: Transaction,
  orgId: string,
  personIds: readonly string[],
): Promise<readonly Held[]> {
  if (personIds.length === 0) return []
  const ids = sql`(select value from json_array_elements_text(${JSON.stringify(personIds)}::text::json))`
  return tx.execute<Held>(sql`
    select p.id as "personId", m.user_id as "userId", m.id as "membershipId", p.email, m.role, p.role as before,
      coalesce((
        select json_agg(distinct g.role) from provisioned_places pl
        join provisioned_groups g on g.org_id = pl.org_id and g.group_id = pl.group_id and g.role is not null
        where pl.org_id = p.org_id and pl.person_id = p.id
      ), '[]'::json) as roles
    from provisioned_people p
    join memberships m on m.org_id = p.org_id and m.user_id = p.user_id
    where p.org_id = ${orgId} and p.active and p.deleted_at is null and p.id in ${ids}
    order by m.user_id
    for update of m`)
}
