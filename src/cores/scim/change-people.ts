/** What a directory does to people: create, replace, change a part, delete. */
import { and, count, eq, inArray, isNotNull, isNull, sql } from '../../../db/drizzle.ts'
import { provisionedPeople as people } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { PROVISIONED_PEOPLE_MAX } from '../../contracts/limits.ts'
import type { Log, Storage } from '../dependencies.ts'
import { recordAudit } from '../record-audit.ts'
import { recordWidening } from '../right-versions.ts'
import { asDirectory } from './as-directory.ts'
import { findKnownAccount } from './bind-person.ts'
import type { ScimContext, ScimPrincipal } from './dependencies.ts'
import { endPerson } from './end-person.ts'
import { joinAsProvisioned } from './join.ts'
import { attributesOf, isPerson, lockPerson, requireOwnAddresses, type PersonRow } from './person-rows.ts'
import { takePlaces } from './places.ts'
import { changedPerson, readChanges, readPerson, type PersonAttributes } from './read-resource.ts'

export const createPerson =
  (deps: Storage & Log) =>
  async (bearer: ScimPrincipal, body: unknown): Promise<PersonRow> => {
    const { active = true, ...sent } = readPerson(body)
    const attributes = { ...sent, active }
    return telling(deps, bearer, async (context) => {
      const { tx, clock, orgId } = context
      await requireOwnAddresses(tx, orgId, attributes)
      await requireRoom(context)
      const now = clock()
      const [person] = await tx
        .insert(people)
        .values({
          ...attributes,
          orgId,
          id: makeId('scp', now.getTime()),
          bearerId: bearer.tokenId,
          userId: await findKnownAccount(tx, { orgId, issuer: bearer.issuer, ...attributes }),
          activeSince: now,
          createdAt: now,
          updatedAt: now,
        })
        .returning()
      await audit(context, 'scim.person_created', person!)
      return { person: person!, hasNoOwner: await settle(context, person!, undefined) }
    })
  }

export const replacePerson =
  (deps: Storage & Log) =>
  async (bearer: ScimPrincipal, id: string, body: unknown): Promise<PersonRow> => {
    const sent = readPerson(body)
    // Whoever is inactive stays so until the directory says otherwise.
    return telling(deps, bearer, (context) =>
      changePerson(context, id, ({ active }) => ({ ...sent, active: sent.active ?? active })),
    )
  }

export const patchPerson =
  (deps: Storage & Log) =>
  async (bearer: ScimPrincipal, id: string, body: unknown): Promise<PersonRow> => {
    const changes = readChanges(body)
    return telling(deps, bearer, (context) =>
      changePerson(context, id, (person) => changedPerson(person, changes)),
    )
  }

export const deletePerson =
  (deps: Storage & Log) =>
  async (bearer: ScimPrincipal, id: string): Promise<void> => {
    await telling(deps, bearer, async (context) => {
      const { tx, clock, orgId } = context
      const before = await lockPerson(tx, orgId, id)
      const hasNoOwner = await endPerson(context, before)
      await takePlaces(tx, { orgId, personIds: [id] })
      await forgetEarlier(context, before)
      const [person] = await tx
        .update(people)
        .set({ active: false, deletedAt: clock() })
        .where(isPerson(orgId, id))
        .returning()
      await audit(context, 'scim.person_deleted', before)
      return { person: person!, hasNoOwner }
    })
  }

/** Of those who were deleted with one of these addresses before, only other addresses are kept. */
async function forgetEarlier({ tx, orgId }: ScimContext, { email, userName }: PersonRow): Promise<void> {
  const [name, addresses] = [sql`lower(${people.userName})`, [...new Set([email, userName.toLowerCase()])]]
  const [byEmail, byName] = [inArray(people.email, addresses), inArray(name, addresses)]
  const isDeleted = and(eq(people.orgId, orgId), isNotNull(people.deletedAt))
  await tx.delete(people).where(and(isDeleted, byEmail, byName))
  await tx.update(people).set({ email: name }).where(and(isDeleted, byEmail))
  await tx
    .update(people)
    .set({ userName: sql`${people.email}` })
    .where(and(isDeleted, byName))
}

type Changed = { readonly person: PersonRow; readonly hasNoOwner: boolean }

/** Only the operator can help an organization without an owner, so they are told, once it is so. */
async function telling(
  deps: Storage & Log,
  bearer: ScimPrincipal,
  work: (context: ScimContext) => Promise<Changed>,
): Promise<PersonRow> {
  const { person, hasNoOwner } = await asDirectory(deps, bearer, work)
  if (hasNoOwner) {
    deps.log.warn('the directory has set the last owner of an organization inactive', {
      organization: bearer.orgId,
      remedy: `POST /api/v1/admin/orgs/${bearer.orgId}/owners with SVC_OPERATOR_TOKEN names another one`,
    })
  }
  return person
}

async function changePerson(
  context: ScimContext,
  id: string,
  change: (person: PersonAttributes) => PersonAttributes,
): Promise<Changed> {
  const { tx, clock, orgId, bearer } = context
  const before = await lockPerson(tx, orgId, id)
  const known = attributesOf(before)
  const next = change(known)
  const changed = (Object.keys(known) as (keyof PersonAttributes)[]).filter(
    (name) => known[name] !== next[name],
  )
  if (changed.length === 0) return { person: before, hasNoOwner: false }
  if (next.userName !== known.userName || next.email !== known.email)
    await requireOwnAddresses(tx, orgId, next)
  const now = clock()
  const userId =
    before.userId ??
    (next.active ? await findKnownAccount(tx, { orgId, issuer: bearer.issuer, ...next }) : null)
  const isActivated = next.active && !known.active
  const [person] = await tx
    .update(people)
    .set({ ...next, userId, updatedAt: now, ...(isActivated && { activeSince: now }) })
    .where(isPerson(orgId, id))
    .returning()
  if (changed.some((name) => name !== 'active')) await audit(context, 'scim.person_changed', person!)
  return { person: person!, hasNoOwner: await settle(context, person!, before) }
}

/** Brings access in line with what the directory says now. `before`: undefined of somebody new. */
async function settle(
  context: ScimContext,
  person: PersonRow,
  before: PersonRow | undefined,
): Promise<boolean> {
  const { tx, clock, orgId, bearer } = context
  if (!person.active) {
    if (before && !before.active) return false
    // Under the addresses of before, which accounts may still have.
    if (before) await audit(context, 'scim.person_deactivated', person)
    const ended = await endPerson(context, person)
    const moved = before && (before.email !== person.email || before.userName !== person.userName)
    return moved
      ? (await endPerson(context, { ...person, email: before.email, userName: before.userName })) || ended
      : ended
  }
  const isActivated = before !== undefined && !before.active
  if (isActivated) {
    await recordWidening(tx, 'provisioned_person', { id: person.id, orgId })
    await audit(context, 'scim.person_activated', person)
  }
  if (person.userId !== null && (isActivated || before?.userId !== person.userId))
    await joinAsProvisioned(tx, clock, bearer, { ...person, userId: person.userId })
  return false
}

const audit = (
  { tx, clock, orgId, bearer }: ScimContext,
  action:
    | 'scim.person_created'
    | 'scim.person_changed'
    | 'scim.person_activated'
    | 'scim.person_deactivated'
    | 'scim.person_deleted',
  { userName }: PersonRow,
) => recordAudit(tx, clock, bearer, { orgId, action, subject: userName })

async function requireRoom({ tx, orgId }: ScimContext): Promise<void> {
  const [found] = await tx
    .select({ n: count() })
    .from(people)
    .where(and(eq(people.orgId, orgId), isNull(people.deletedAt)))
  if (found!.n < PROVISIONED_PEOPLE_MAX) return
  throw new ServiceError(
    'CONFLICT',
    `An organization has at most ${PROVISIONED_PEOPLE_MAX} provisioned people`,
  )
}
