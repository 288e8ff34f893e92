/** Settings of an organization: its name, who invites, and whether agents may come in at all. */
import { eq } from '../../../db/drizzle.ts'
import { organizations, sessions, users } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { chooseOrganization, updateOrganization } from '../../contracts/organizations.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, requireRole } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { domainsOf, presentOrganization } from './present.ts'

export const changeOrganization =
  ({ db, clock }: Storage): Handler<typeof updateOrganization> =>
  (who, { name, agents_enabled, admins_may_invite }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      if (admins_may_invite !== undefined) requireRole(caller, 'owner', 'Only an owner may let admins invite')
      const [before] = await tx.select().from(organizations).where(eq(organizations.id, orgId)).for('update')
      if (!before) throw notFound()
      const after = {
        name: name ?? before.name,
        agentsEnabled: agents_enabled ?? before.agentsEnabled,
        adminsMayInvite: admins_may_invite ?? before.adminsMayInvite,
      }
      const [row] = await tx.update(organizations).set(after).where(eq(organizations.id, orgId)).returning()
      if (after.agentsEnabled !== before.agentsEnabled) {
        const action = after.agentsEnabled ? 'agents.switched_on' : 'agents.switched_off'
        await recordAudit(tx, clock, caller, { orgId, action })
      }
      const changes = [
        after.name !== before.name && `name: ${before.name} → ${after.name}`,
        after.adminsMayInvite !== before.adminsMayInvite &&
          `admins ${after.adminsMayInvite ? 'may' : 'may not'} invite`,
      ].filter((change) => change !== false)
      if (changes.length > 0) {
        const subject = changes.join('; ')
        await recordAudit(tx, clock, caller, { orgId, action: 'organization.updated', subject })
      }
      return presentOrganization(row!, caller.role, await domainsOf(tx, orgId))
    })

export const pickOrganization =
  ({ db }: Storage): Handler<typeof chooseOrganization> =>
  async (who) => {
    const caller = asMember(who)
    if (caller.sessionId !== undefined) {
      await db.update(sessions).set({ orgId: caller.orgId }).where(eq(sessions.id, caller.sessionId))
      // The next sign-in begins where this one stood.
      await db.update(users).set({ lastOrgId: caller.orgId }).where(eq(users.id, caller.userId))
    }
    return {}
  }
