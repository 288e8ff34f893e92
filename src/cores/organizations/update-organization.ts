/** Settings of an organization: its name and time zone, who invites, and whether agents and support staff may come in. */
import { eq, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { organizations, sessions, users } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { chooseOrganization, updateOrganization } from '../../contracts/organizations.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, requireRole } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { endVisitsTo } from '../support-access/index.ts'
import { withTransaction } from '../transaction.ts'
import { domainsOf, presentOrganization } from './present.ts'

export const changeOrganization =
  ({ db, clock }: Storage): Handler<typeof updateOrganization> =>
  (who, { name, agents_enabled, admins_may_invite, timezone, support_access_enabled }) =>
    withTransaction(db, async (tx) => {
      const caller = asMember(who)
      const { orgId } = caller
      if (admins_may_invite !== undefined) requireRole(caller, 'owner', 'Only an owner may let admins invite')
      if (support_access_enabled !== undefined)
        requireRole(caller, 'owner', 'Only an owner may switch support access')
      if (timezone !== undefined) await requireKnownTimezone(tx, timezone)
      const [before] = await tx.select().from(organizations).where(eq(organizations.id, orgId)).for('update')
      if (!before) throw notFound()
      const after = {
        name: name ?? before.name,
        agentsEnabled: agents_enabled ?? before.agentsEnabled,
        adminsMayInvite: admins_may_invite ?? before.adminsMayInvite,
        timezone: timezone ?? before.timezone,
        supportAccessEnabled: support_access_enabled ?? before.supportAccessEnabled,
      }
      const [row] = await tx.update(organizations).set(after).where(eq(organizations.id, orgId)).returning()
      if (after.agentsEnabled !== before.agentsEnabled) {
        const action = after.agentsEnabled ? 'agents.switched_on' : 'agents.switched_off'
        await recordAudit(tx, clock, caller, { orgId, action })
      }
      if (after.supportAccessEnabled !== before.supportAccessEnabled) {
        const action = after.supportAccessEnabled ? 'support.switched_on' : 'support.switched_off'
        await recordAudit(tx, clock, caller, { orgId, action })
        if (!after.supportAccessEnabled) await endVisitsTo(tx, clock, caller)
      }
      const changes = [
        after.name !== before.name && `name: ${before.name} → ${after.name}`,
        after.adminsMayInvite !== before.adminsMayInvite &&
          `admins ${after.adminsMayInvite ? 'may' : 'may not'} invite`,
        after.timezone !== before.timezone && `time zone: ${before.timezone} → ${after.timezone}`,
      ].filter((change) => change !== false)
      if (changes.length > 0) {
        const subject = changes.join('; ')
        await recordAudit(tx, clock, caller, { orgId, action: 'organization.updated', subject })
      }
      return presentOrganization(row!, caller.role, await domainsOf(tx, orgId))
    })

/** Digests are computed in the database, whose list of zones may be older than ours. */
async function requireKnownTimezone(tx: Transaction, timezone: string): Promise<void> {
  await tx.execute(sql`select now() at time zone ${timezone}::text`).catch((cause: unknown) => {
    throw new ServiceError('INVALID_REQUEST', undefined, {
      problems: ['timezone: is not known to the database'],
      cause,
    })
  })
}

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
