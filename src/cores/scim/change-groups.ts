/**
 * What a directory does to groups: create, replace, change a part, delete. They are groups that rows name, so those that
 * people created are nothing to it: whoever it put there would see what their rows are for.
 */
import { and, count, eq, sql } from '../../../db/drizzle.ts'
import {
  groups,
  provisionedGroups,
  provisionedPeople as people,
  provisionedPlaces as places,
} from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { idPattern, makeId } from '../../contracts/ids.ts'
import { GROUP_MEMBERS_MAX, GROUPS_MAX } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import { deleteGroup, isGroup, lockGroup, type GroupRow } from '../groups/index.ts'
import { recordAudit, recordAudits } from '../record-audit.ts'
import { recordNarrowing } from '../right-versions.ts'
import { asDirectory } from './as-directory.ts'
import type { ScimContext, ScimPrincipal } from './dependencies.ts'
import { addPlaces, takePlaces } from './places.ts'
import { groupSteps, readChanges, readGroup, type GroupStep } from './read-resource.ts'
import { giveRoles } from './roles.ts'
import { ScimError } from './scim-error.ts'

/** Each says the id of the group. */
export const createProvisionedGroup =
  (deps: Storage) =>
  async (bearer: ScimPrincipal, body: unknown): Promise<string> => {
    const { name, externalId, members } = readGroup(body)
    return asDirectory(deps, bearer, async (context) => {
      const { tx, clock, orgId } = context
      // As for those that people create: counted one after the other.
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`groups of ${orgId}`}, 0))`)
      const [found] = await tx.select({ n: count() }).from(groups).where(eq(groups.orgId, orgId))
      if (found!.n >= GROUPS_MAX)
        throw new ServiceError('CONFLICT', `An organization has at most ${GROUPS_MAX} groups`)
      const now = clock()
      const [group] = await tx
        .insert(groups)
        .values({ orgId, id: makeId('grp', now.getTime()), name, createdAt: now, createdBy: bearer.tokenId })
        .returning()
      await tx.insert(provisionedGroups).values({ orgId, groupId: group!.id, externalId, updatedAt: now })
      await recordAudit(tx, clock, bearer, { orgId, action: 'group.created', subject: name })
      await step(context, group!, { kind: 'add', ids: members })
      return group!.id
    })
  }

export const replaceGroup =
  (deps: Storage) =>
  async (bearer: ScimPrincipal, id: string, body: unknown): Promise<string> => {
    const { name, externalId, members } = readGroup(body)
    return changeGroup(deps, bearer, id, [
      { kind: 'rename', name },
      { kind: 'external_id', externalId },
      { kind: 'replace', ids: members },
    ])
  }

export const patchGroup =
  (deps: Storage) =>
  async (bearer: ScimPrincipal, id: string, body: unknown): Promise<string> =>
    changeGroup(deps, bearer, id, groupSteps(readChanges(body)))

export const deleteProvisionedGroup =
  (deps: Storage) =>
  async (bearer: ScimPrincipal, id: string): Promise<void> =>
    asDirectory(deps, bearer, async (context) => {
      const { tx, clock, orgId } = context
      const group = await lockOwnGroup(context, id)
      const inIt = await peopleIn(context, group)
      await takePlaces(tx, { orgId, groupId: id, personIds: inIt })
      await tx.delete(provisionedGroups).where(isProvisioned(orgId, id))
      await giveRoles(tx, clock, bearer, { orgId, personIds: inIt })
      await deleteGroup(tx, group)
      await recordNarrowing(tx, 'group', { id, orgId, to: { name: null } })
      await recordAudit(tx, clock, bearer, { orgId, action: 'group.removed', subject: group.name })
    })

const isProvisioned = (orgId: string, id: string) =>
  and(eq(provisionedGroups.orgId, orgId), eq(provisionedGroups.groupId, id))

const GROUP_ID = idPattern('grp')

/** Of the directory: unknown, another organization's and one that somebody here created answer alike. */
async function lockOwnGroup({ tx, orgId }: ScimContext, id: string): Promise<GroupRow> {
  if (!GROUP_ID.test(id)) throw notFound()
  const group = await lockGroup(tx, orgId, id)
  const [own] = await tx.select().from(provisionedGroups).where(isProvisioned(orgId, id))
  if (!own) throw notFound()
  return group
}

const changeGroup = (
  deps: Storage,
  bearer: ScimPrincipal,
  id: string,
  steps: readonly GroupStep[],
): Promise<string> =>
  asDirectory(deps, bearer, async (context) => {
    const { tx, clock, orgId } = context
    let group = await lockOwnGroup(context, id)
    await tx.update(provisionedGroups).set({ updatedAt: clock() }).where(isProvisioned(orgId, id))
    for (const one of steps) group = await step(context, group, one)
    return id
  })

async function step(context: ScimContext, group: GroupRow, one: GroupStep): Promise<GroupRow> {
  const { tx, orgId } = context
  switch (one.kind) {
    case 'rename':
      return rename(context, group, one.name)
    case 'external_id':
      await tx
        .update(provisionedGroups)
        .set({ externalId: one.externalId })
        .where(isProvisioned(orgId, group.id))
      return group
    case 'add':
      await add(context, group, one.ids)
      return group
    case 'remove':
      await take(context, group, one.ids)
      return group
    case 'replace': {
      const wanted = new Set(one.ids)
      await take(
        context,
        group,
        (await peopleIn(context, group)).filter((id) => !wanted.has(id)),
      )
      await add(context, group, one.ids)
      return group
    }
  }
}

async function rename(context: ScimContext, group: GroupRow, name: string): Promise<GroupRow> {
  const { tx, clock, orgId, bearer } = context
  if (group.name === name) return group
  await tx.update(groups).set({ name }).where(isGroup(orgId, group.id))
  // Rows that name it as before are not for its members any more.
  await recordNarrowing(tx, 'group', { id: group.id, orgId, to: { name } })
  const subject = `${group.name} to ${name}`
  await recordAudit(tx, clock, bearer, { orgId, action: 'group.renamed', subject })
  return { ...group, name }
}

async function add(context: ScimContext, group: GroupRow, ids: readonly string[]): Promise<void> {
  const { tx, clock, orgId, bearer } = context
  if (ids.length === 0) return
  const known = await addressesOf(context, ids)
  if (known.size !== ids.length) throw new ScimError('invalidValue', 'members: there is no such person')
  const added = await addPlaces(tx, clock, { orgId, groupId: group.id, personIds: ids })
  const [held] = await tx.select({ n: count() }).from(places).where(isPlaceIn(orgId, group.id))
  if (held!.n > GROUP_MEMBERS_MAX)
    throw new ScimError('tooMany', `A group has at most ${GROUP_MEMBERS_MAX} members`)
  await giveRoles(tx, clock, bearer, { orgId, personIds: added })
  const subjects = added.map((id) => `${group.name}: ${known.get(id)}`)
  await recordAudits(tx, clock, bearer, { orgId, action: 'group.member_added' }, subjects)
}

async function take(context: ScimContext, group: GroupRow, ids: readonly string[]): Promise<void> {
  const { tx, clock, orgId, bearer } = context
  if (ids.length === 0) return
  const known = await addressesOf(context, ids)
  const taken = await takePlaces(tx, { orgId, groupId: group.id, personIds: [...known.keys()] })
  await giveRoles(tx, clock, bearer, { orgId, personIds: taken })
  const subjects = taken.map((id) => `${group.name}: ${known.get(id)}`)
  await recordAudits(tx, clock, bearer, { orgId, action: 'group.member_removed' }, subjects)
}

const isPlaceIn = (orgId: string, groupId: string) =>
  and(eq(places.orgId, orgId), eq(places.groupId, groupId))

async function peopleIn({ tx, orgId }: ScimContext, { id }: GroupRow): Promise<readonly string[]> {
  const rows = await tx.select({ id: places.personId }).from(places).where(isPlaceIn(orgId, id))
  return rows.map((row) => row.id)
}

/** Of those who are people of this organization, by their ids. Held: nobody is put into a group while they are deleted. */
async function addressesOf(
  { tx, orgId }: ScimContext,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx
    .select({ id: people.id, email: people.email })
    .from(people)
    .where(
      and(
        eq(people.orgId, orgId),
        sql`${people.deletedAt} is null`,
        sql`${people.id} in (select value from json_array_elements_text(${JSON.stringify(ids)}::text::json))`,
      ),
    )
    .orderBy(people.id)
    .for('no key update')
  return new Map(rows.map(({ id, email }) => [id, email]))
}
