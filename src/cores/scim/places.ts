/** Places in groups: what the directory says, and what those have by it who are members. */
import type { Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import type { Clock } from '../dependencies.ts'
import { groupMemberRight } from '../groups/index.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'

type Of = { readonly orgId: string; readonly personIds: readonly string[]; readonly groupId?: string }

const listed = (ids: readonly string[]) =>
  sql`(select value from json_array_elements_text(${JSON.stringify(ids)}::text::json))`

const inGroup = (groupId: string | undefined) =>
  groupId === undefined ? sql`true` : sql`pl.group_id = ${groupId}`

/** The place of somebody whom the directory put there. */
const placeRight = (orgId: string, groupId: string, personId: string) => ({
  id: `${groupId} ${personId}`,
  orgId,
})

/** Who is new in it, by their ids; those who are nobody here are passed over. */
export async function addPlaces(
  tx: Transaction,
  clock: Clock,
  { orgId, groupId, personIds }: Of & { readonly groupId: string },
): Promise<readonly string[]> {
  if (personIds.length === 0) return []
  const added = await tx.execute<{ id: string }>(sql`
    insert into provisioned_places (org_id, group_id, person_id)
    select ${orgId}, ${groupId}, p.id from provisioned_people p
    where p.org_id = ${orgId} and p.deleted_at is null and p.id in ${listed(personIds)}
    order by p.id
    on conflict do nothing
    returning person_id as id`)
  const ids = added.map(({ id }) => id)
  await recordWidening(
    tx,
    'provisioned_place',
    ids.map((id) => placeRight(orgId, groupId, id)),
  )
  await givePlaces(tx, clock, { orgId, groupId, personIds: ids })
  return ids
}

/** To those who are members, with the membership of now: the place ends with it. */
export async function givePlaces(
  tx: Transaction,
  clock: Clock,
  { orgId, groupId, personIds }: Of,
): Promise<void> {
  if (personIds.length === 0) return
  const given = await tx.execute<{ groupId: string; userId: string }>(sql`
    insert into group_members as gm (org_id, group_id, user_id, membership_id, added_at, provisioned)
    select pl.org_id, pl.group_id, m.user_id, m.id, ${clock().toISOString()}::timestamptz, true
    from provisioned_places pl
    join provisioned_people p on p.org_id = pl.org_id and p.id = pl.person_id and p.active and p.deleted_at is null
    join memberships m on m.org_id = p.org_id and m.user_id = p.user_id
    where pl.org_id = ${orgId} and ${inGroup(groupId)} and pl.person_id in ${listed(personIds)}
    order by pl.group_id, m.user_id
    on conflict (org_id, group_id, user_id) do update
      set membership_id = excluded.membership_id, added_at = excluded.added_at, provisioned = true
      where gm.membership_id <> excluded.membership_id
    returning gm.group_id as "groupId", gm.user_id as "userId"`)
  await recordWidening(
    tx,
    'group_member',
    given.map((one) => groupMemberRight(orgId, one.groupId, one.userId)),
  )
}

/** Whom it took out, by their ids. A place that somebody here gave, too, stays. */
export async function takePlaces(
  tx: Transaction,
  { orgId, groupId, personIds }: Of,
): Promise<readonly string[]> {
  if (personIds.length === 0) return []
  const taken = await tx.execute<{ groupId: string; personId: string }>(sql`
    delete from provisioned_places pl
    where pl.org_id = ${orgId} and ${inGroup(groupId)} and pl.person_id in ${listed(personIds)}
    returning pl.group_id as "groupId", pl.person_id as "personId"`)
  await recordNarrowing(
    tx,
    'provisioned_place',
    taken.map((one) => placeRight(orgId, one.groupId, one.personId)),
  )
  const ended = await tx.execute<{ groupId: string; userId: string }>(sql`
    delete from group_members gm using json_to_recordset(${JSON.stringify(taken)}::text::json)
      as pl("groupId" text, "personId" text), provisioned_people p
    where p.org_id = ${orgId} and p.id = pl."personId"
      and gm.org_id = ${orgId} and gm.group_id = pl."groupId" and gm.user_id = p.user_id
      and gm.provisioned
    returning gm.group_id as "groupId", gm.user_id as "userId"`)
  await recordNarrowing(
    tx,
    'group_member',
    ended.map((one) => groupMemberRight(orgId, one.groupId, one.userId)),
  )
  return taken.map(({ personId }) => personId)
}
