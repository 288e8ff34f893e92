/**
 * Whether a grant is live at this moment. One indexed query re-reads grant, client, membership, role, key epoch, the
 * organization's own block, its agents switch and its identity provider, or the machine agent and its owner, so that
 * ending any of them acts on the next call.
 */
import { locally } from '../../../db/commit-locally.ts'
import type { Handle } from '../../../db/connect.ts'
import { and, eq, exists, gt, isNull, ne, notExists, or, sql } from '../../../db/drizzle.ts'
import {
  identityProviderClients,
  machineAgents,
  memberships,
  organizationClientBlocks,
  organizationIdentityProviders,
  organizations,
  platformAccessGrants,
  platformOauthClients,
  users,
} from '../../../db/schema.ts'
import { lowerOf, type Role } from '../../contracts/roles.ts'
import { callLimitValues, countingCall, notCounting, type CallLimit, type Counting } from '../count-call.ts'
import { preparedQuery } from '../prepared-query.ts'
import type { Clock } from '../dependencies.ts'

export type LivenessDeps = {
  readonly db: Handle
  readonly clock: Clock
  readonly keyEpoch: string
  /** Whether the operator allows identity providers at all. Off: what came in by one is not live. */
  readonly enterpriseAuth: boolean
}

export async function findLiveGrant(deps: LivenessDeps, id: string) {
  const [found] = await liveGrantQuery(deps.db).execute(livenessValues(deps, id))
  return found && withRole(found)
}

/** Also counts an MCP call under the grant, in the same statement. */
export async function countGrantCall(deps: LivenessDeps & CallLimit, id: string) {
  const values = { ...livenessValues(deps, id), ...callLimitValues(deps) }
  const [found] = await countedGrantQuery(deps.db).execute(values)
  return found && withRole(found)
}

/** The lowest of what it was given, what its person or owner has now, and what the machine agent is. */
const withRole = <Found extends { role: Role; grant: { roleCap: Role }; machineAgent: MachineAgent | null }>(
  found: Found,
): Found => {
  const role = lowerOf(found.grant.roleCap, found.role)
  return { ...found, role: found.machineAgent === null ? role : lowerOf(found.machineAgent.role, role) }
}

type MachineAgent = { readonly id: string; readonly role: Role; readonly ownerId: string }

const livenessValues = ({ clock, keyEpoch, enterpriseAuth }: LivenessDeps, grantId: string) => ({
  grantId,
  keyEpoch,
  enterpriseAuth,
  now: clock().toISOString(),
})

const grantId = sql.placeholder('grantId')
const keyEpoch = sql.placeholder('keyEpoch')
const isEnterpriseAuthOn = sql`${sql.placeholder('enterpriseAuth')}::boolean`
const now = sql`${sql.placeholder('now')}::timestamptz`

/** What a call needs to know: reading the others takes longer than finding the row. */
const CALL_COLUMNS = {
  id: platformAccessGrants.id,
  clientId: platformAccessGrants.clientId,
  clientName: platformAccessGrants.clientName,
  resource: platformAccessGrants.resource,
  roleCap: platformAccessGrants.roleCap,
  carriesAppRoles: platformAccessGrants.carriesAppRoles,
  scopes: platformAccessGrants.scopes,
  scopeEdition: platformAccessGrants.scopeEdition,
  sources: platformAccessGrants.sources,
  lastUsedAt: platformAccessGrants.lastUsedAt,
}
const GRANT_COLUMNS = {
  ...CALL_COLUMNS,
  userId: platformAccessGrants.userId,
  identityProviderId: platformAccessGrants.identityProviderId,
  payload: platformAccessGrants.payload,
  expiresAt: platformAccessGrants.expiresAt,
}

/** With the membership that its owner had when they took it on: coming back revives nothing. */
const isMachineAgentLive = and(
  eq(machineAgents.orgId, platformAccessGrants.orgId),
  isNull(machineAgents.removedAt),
  gt(machineAgents.expiresAt, now),
  eq(machineAgents.ownerMembershipId, memberships.id),
)

const grantQuery = <Columns extends typeof CALL_COLUMNS>(
  db: Handle,
  { start, retryAfterSeconds }: Counting,
  columns: Columns,
) =>
  start
    .select({
      grant: columns,
      role: memberships.role,
      machineAgent: { id: machineAgents.id, role: machineAgents.role, ownerId: machineAgents.ownerId },
      user: { id: users.id, email: users.email, name: users.name },
      organization: { id: organizations.id, name: organizations.name, slug: organizations.slug },
      retryAfterSeconds,
    })
    .from(platformAccessGrants)
    .innerJoin(users, eq(users.id, platformAccessGrants.userId))
    .innerJoin(organizations, eq(organizations.id, platformAccessGrants.orgId))
    .leftJoin(machineAgents, eq(machineAgents.id, platformAccessGrants.machineAgentId))
    // Its person, or the owner of the machine agent.
    .innerJoin(
      memberships,
      and(
        eq(memberships.orgId, platformAccessGrants.orgId),
        eq(memberships.userId, sql`coalesce(${machineAgents.ownerId}, ${platformAccessGrants.userId})`),
      ),
    )
    .leftJoin(
      organizationIdentityProviders,
      eq(organizationIdentityProviders.orgId, platformAccessGrants.orgId),
    )
    .leftJoin(platformOauthClients, eq(platformOauthClients.clientId, platformAccessGrants.clientId))
    .where(
      and(
        eq(platformAccessGrants.id, grantId),
        isNull(platformAccessGrants.revokedAt),
        gt(platformAccessGrants.expiresAt, now),
        eq(platformAccessGrants.keyEpoch, keyEpoch),
        eq(organizations.agentsEnabled, true),
        or(ne(platformAccessGrants.clientKind, 'dynamic'), eq(organizations.registeredClients, 'allowed')),
        or(
          // Not while the organization demands its provider, also if that is paused or none may be used: nobody comes in then.
          and(
            eq(platformAccessGrants.via, 'consent'),
            sql`${organizationIdentityProviders.isRequired} is not true`,
          ),
          and(
            eq(platformAccessGrants.via, 'enterprise'),
            isEnterpriseAuthOn,
            eq(organizationIdentityProviders.id, platformAccessGrants.identityProviderId),
            eq(organizationIdentityProviders.state, 'on'),
            exists(
              db
                .select({ one: sql`1` })
                .from(identityProviderClients)
                .where(
                  and(
                    eq(identityProviderClients.providerId, organizationIdentityProviders.id),
                    eq(identityProviderClients.clientId, platformAccessGrants.clientId),
                    sql`${platformAccessGrants.resource} = any(${identityProviderClients.resources})`,
                  ),
                ),
            ),
          ),
          and(eq(platformAccessGrants.via, 'machine'), isMachineAgentLive),
        ),
        // A registered client must still be there; a metadata document has no row unless it is blocked.
        or(
          and(
            isNull(platformOauthClients.clientId),
            eq(platformAccessGrants.clientKind, 'metadata_document'),
          ),
          and(
            eq(platformOauthClients.isActive, true),
            or(isNull(platformOauthClients.expiresAt), gt(platformOauthClients.expiresAt, now)),
          ),
        ),
        notExists(
          db
            .select({ one: sql`1` })
            .from(organizationClientBlocks)
            .where(
              and(
                eq(organizationClientBlocks.orgId, platformAccessGrants.orgId),
                eq(organizationClientBlocks.clientId, platformAccessGrants.clientId),
              ),
            ),
        ),
      ),
    )

const liveGrantQuery = preparedQuery((db) =>
  grantQuery(db, notCounting(db), GRANT_COLUMNS).prepare('live_grant'),
)

const countedGrantQuery = preparedQuery((db) => {
  const grant = sql`select ${platformAccessGrants.id} from ${platformAccessGrants} where ${platformAccessGrants.id} = ${grantId}`
  return grantQuery(db, countingCall(db, grant, sql`${grantId}::text`), CALL_COLUMNS).prepare('counted_grant')
})

/** "Last used" is for people who tidy up: a minute is precise enough, and most calls then write nothing. */
const LAST_USED_PRECISION_MS = 60_000

export async function touchGrant(
  { db, clock }: LivenessDeps,
  grant: { id: string; lastUsedAt: Date | null },
): Promise<void> {
  const now = clock()
  if (grant.lastUsedAt !== null && now.getTime() - grant.lastUsedAt.getTime() < LAST_USED_PRECISION_MS) return
  await db
    .update(platformAccessGrants)
    .set({ lastUsedAt: now })
    .where(and(eq(platformAccessGrants.id, grant.id), locally))
}
