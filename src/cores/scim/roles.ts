/** Roles that groups give: the highest of those that somebody is in. Owners keep theirs, and nobody becomes one. */
import type { Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import { SCIM_ROLES, type ScimRole } from '../../contracts/scim.ts'
import { endByCause } from '../credentials/index.ts'
import type { Clock } from '../dependencies.ts'
import { endLinksAboveMakers } from '../organizations/index.ts'
import { recordAudits, type AuditActor } from '../record-audit.ts'
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

/**
 * Whoever is in no such group any more is a viewer again; a role that somebody else gave is left alone. In
 * statements for all of them: a group has thousands.
 */
export async function giveRoles(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  { orgId, personIds }: { readonly orgId: string; readonly personIds: readonly string[] },
): Promise<void> {
  const changed = (await lockHeld(tx, orgId, personIds)).flatMap((held) => {
    const given = SCIM_ROLES.findLast((role) => held.roles.includes(role)) ?? null
    if (given === held.before && (given === null || given === held.role)) return []
    return [{ ...held, given, to: given ?? ('viewer' as const) }]
  })
  if (changed.length === 0) return
  const given = changed.map(({ personId, given: role }) => ({ id: personId, role }))
  await tx.execute(sql`
    update provisioned_people p set role = given.role from ${rolesOf(given)}
    where p.org_id = ${orgId} and p.id = given.id`)
  await setRoles(
    tx,
    clock,
    actor,
    orgId,
    changed.filter(({ role, to }) => role !== 'owner' && role !== to),
  )
}

const rolesOf = (rows: readonly { readonly id: string; readonly role: ScimRole | null }[]) =>
  sql`json_to_recordset(${JSON.stringify(rows)}::text::json) as given(id text, role text)`

async function setRoles(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  orgId: string,
  changed: readonly (Held & { readonly to: ScimRole })[],
): Promise<void> {
  if (changed.length === 0) return
  await tx.execute(sql`
    update memberships m set role = given.role
    from ${rolesOf(changed.map(({ userId, to }) => ({ id: userId, role: to })))}
    where m.org_id = ${orgId} and m.user_id = given.id`)
  const [raised, lowered] = [
    changed.filter(({ role, to }) => atLeast(to, role)),
    changed.filter(({ role, to }) => !atLeast(to, role)),
  ]
  await recordWidening(
    tx,
    'role',
    raised.map(({ membershipId }) => ({ id: membershipId, orgId })),
  )
  for (const [role, of] of Map.groupBy(lowered, ({ to }) => to)) {
    const userIds = of.map(({ userId }) => userId)
    await endByCause(tx, clock, { cause: 'role_lowered', orgId, userIds, role })
  }
  await recordNarrowing(
    tx,
    'role',
    lowered.map(({ membershipId, to }) => ({ id: membershipId, orgId, to: { role: to } })),
  )
  await endLinksAboveMakers(tx, clock, actor, { orgId, userIds: changed.map(({ userId }) => userId) })
  const subjects = changed.map(({ email, role, to }) => `${email}: ${role} → ${to}, by SCIM`)
  await recordAudits(tx, clock, actor, { orgId, action: 'member.role_changed' }, subjects)
}

/**
 * Under locks: somebody may be changing the same role by hand. First of the people, and read after that: another group
 * that they come into or leave at this moment counts, too.
 */
async function lockHeld(
  tx: Transaction,
  orgId: string,
  personIds: readonly string[],
): Promise<readonly Held[]> {
  if (personIds.length === 0) return []
  const ids = sql`(select value from json_array_elements_text(${JSON.stringify(personIds)}::text::json))`
  await tx.execute(sql`
    select from provisioned_people p where p.org_id = ${orgId} and p.id in ${ids} order by p.id for no key update`)
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
