/** Changes the settings of an organization; turning support access off also ends the live support sessions. */
import { eq, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { organizations } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { requireRole } from '../principal.ts'
import { recordNarrowing, recordWidening } from '../right-versions.ts'
import { endLiveSupportSessions } from '../support-sessions/index.ts'
import { write, type Verb } from '../verb.ts'
import { listDomains } from './organization-domains.ts'
import { withoutMore, writeSwitches } from './organization-switches.ts'
import { presentOrganization, PROVIDER_USE } from './present-organization.ts'

export const updateOrganization: Verb<'updateOrganization'> = write(
  {
    author: 'admin',
    audit: [
      'agents.switched_on',
      'agents.switched_off',
      'support.switched_on',
      'support.switched_off',
      'support.ended',
      'organization.updated',
    ],
  },
  async (
    { tx, clock, member, orgId, audit },
    {
      name,
      agents_enabled,
      registered_clients,
      admins_may_invite,
      timezone,
      support_access_enabled,
      ...unused
    },
  ) => {
    if (admins_may_invite !== undefined)
      requireRole(member, 'owner', 'Only an owner may allow admins to invite')
    if (support_access_enabled !== undefined)
      requireRole(member, 'owner', 'Only an owner may turn support access on or off')
    if (timezone !== undefined) await requireKnownTimezone(tx, timezone)
    const [before] = await tx.select().from(organizations).where(eq(organizations.id, orgId)).for('update')
    if (!before) throw notFound()
    const after = {
      name: name ?? before.name,
      agentsEnabled: agents_enabled ?? before.agentsEnabled,
      registeredClients: registered_clients ?? before.registeredClients,
      adminsMayInvite: admins_may_invite ?? before.adminsMayInvite,
      timezone: timezone ?? before.timezone,
      supportAccessEnabled: support_access_enabled ?? before.supportAccessEnabled,
      narrowUnusedAfterDays: valueOr(unused.narrow_unused_after_days, before.narrowUnusedAfterDays),
      endUnusedAfterDays: valueOr(unused.end_unused_after_days, before.endUnusedAfterDays),
    }
    await tx.update(organizations).set(after).where(eq(organizations.id, orgId))
    if (withoutMore(before, after))
      await recordNarrowing(tx, 'organization', { id: orgId, orgId, to: writeSwitches(after) })
    else if (withoutMore(after, before)) await recordWidening(tx, 'organization', { id: orgId, orgId })
    if (after.agentsEnabled !== before.agentsEnabled) {
      await audit(after.agentsEnabled ? 'agents.switched_on' : 'agents.switched_off')
    }
    if (after.supportAccessEnabled !== before.supportAccessEnabled) {
      await audit(after.supportAccessEnabled ? 'support.switched_on' : 'support.switched_off')
      if (!after.supportAccessEnabled) await endLiveSupportSessions(tx, clock, member)
    }
    const changes = [
      after.name !== before.name && `name: ${before.name} → ${after.name}`,
      after.adminsMayInvite !== before.adminsMayInvite &&
        `admins ${after.adminsMayInvite ? 'may' : 'may not'} invite`,
      after.registeredClients !== before.registeredClients &&
        `registered clients: ${after.registeredClients}`,
      after.timezone !== before.timezone && `time zone: ${before.timezone} → ${after.timezone}`,
      after.narrowUnusedAfterDays !== before.narrowUnusedAfterDays &&
        `agents lose what they do not use: ${inDays(after.narrowUnusedAfterDays)}`,
      after.endUnusedAfterDays !== before.endUnusedAfterDays &&
        `agents that are not used end: ${inDays(after.endUnusedAfterDays)}`,
    ].filter((change) => change !== false)
    if (changes.length > 0) await audit('organization.updated', changes.join('; '))
    const [row] = await tx
      .select({ org: organizations, providerUse: PROVIDER_USE })
      .from(organizations)
      .where(eq(organizations.id, orgId))
    const { org, providerUse } = row!
    return presentOrganization(org, member.role, { domains: await listDomains(tx, orgId), providerUse })
  },
)

/** Null is a value: never. */
const valueOr = <Value>(given: Value | undefined, before: Value): Value =>
  given === undefined ? before : given

const inDays = (days: number | null): string => (days === null ? 'never' : `after ${days} days`)

/** Digests are computed in the database, whose list of zones may be older than ours. */
async function requireKnownTimezone(tx: Transaction, timezone: string): Promise<void> {
  await tx.execute(sql`select now() at time zone ${timezone}::text`).catch((cause: unknown) => {
    throw new ServiceError('INVALID_REQUEST', undefined, {
      problems: ['timezone: is not known to the database'],
      cause,
    })
  })
}
