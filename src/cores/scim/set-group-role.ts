/** Which role a group of the directory gives. It acts on the very next call of those in it. */
import { and, eq } from '../../../db/drizzle.ts'
import { provisionedGroups, provisionedPlaces as places } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { SCIM_ROLES } from '../../contracts/scim.ts'
import { lockGroup } from '../groups/index.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'
import { write, type Verb } from '../verb.ts'
import { giveRoles } from './roles.ts'

export const setGroupRole: Verb<'setGroupRole'> = write(
  { author: 'owner', audit: ['scim.role_set', 'member.role_changed', 'identity_link.removed'] },
  async ({ tx, clock, orgId, principal, audit }, { group_id, role: given }) => {
    const role = given === 'none' ? null : given
    const group = await lockGroup(tx, orgId, group_id)
    const isIt = and(eq(provisionedGroups.orgId, orgId), eq(provisionedGroups.groupId, group_id))
    const [before] = await tx.select().from(provisionedGroups).where(isIt).for('update')
    if (!before) throw notFound()
    if (before.role === role) return {}
    await tx.update(provisionedGroups).set({ role }).where(isIt)
    const right = { id: group_id, orgId }
    if (rankOf(role) > rankOf(before.role)) await recordWidening(tx, 'group_role', right)
    else await recordNarrowing(tx, 'group_role', { ...right, to: { role } })
    const inIt = await tx
      .select({ id: places.personId })
      .from(places)
      .where(and(eq(places.orgId, orgId), eq(places.groupId, group_id)))
    await giveRoles(tx, clock, principal, { orgId, personIds: inIt.map(({ id }) => id) })
    await audit('scim.role_set', `${group.name}: ${before.role ?? 'none'} → ${role ?? 'none'}`)
    return {}
  },
)

const rankOf = (role: (typeof SCIM_ROLES)[number] | null): number =>
  role === null ? -1 : SCIM_ROLES.indexOf(role)
