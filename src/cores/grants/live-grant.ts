/**
 * Whether a grant is live at this moment. One indexed query re-reads grant, client, membership, role, key epoch, the
 * organization's own block and its agents switch, so that ending any of them acts on the next call.
 */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, gt, isNull, ne, notExists, or, sql } from '../../../db/drizzle.ts'
import {
  memberships,
  organizationClientBlocks,
  organizations,
  platformAccessGrants,
  platformOauthClients,
  users,
} from '../../../db/schema.ts'
import { callLimitValues, countingCall, notCounting, type CallLimit, type Counting } from '../count-call.ts'
import { preparedQuery } from '../prepared-query.ts'
import type { Clock } from '../dependencies.ts'

export type LivenessDeps = { readonly db: Handle; readonly clock: Clock; readonly keyEpoch: string }

export async function findLiveGrant(deps: LivenessDeps, id: string) {
  const [found] = await liveGrantQuery(deps.db).execute(livenessValues(deps, id))
  return found
}

/** Also counts an MCP call under the grant, in the same statement. */
export async function countGrantCall(deps: LivenessDeps & CallLimit, id: string) {
  const values = { ...livenessValues(deps, id), ...callLimitValues(deps) }
  const [found] = await countedGrantQuery(deps.db).execute(values)
  return found
}

const livenessValues = ({ clock, keyEpoch }: LivenessDeps, grantId: string) => ({
  grantId,
  keyEpoch,
  now: clock().toISOString(),
})

const grantId = sql.placeholder('grantId')
const keyEpoch = sql.placeholder('keyEpoch')
const now = sql`${sql.placeholder('now')}::timestamptz`

const grantQuery = (db: Handle, { start, retryAfterSeconds }: Counting) =>
  start
    .select({
      grant: platformAccessGrants,
      role: memberships.role,
      user: { id: users.id, email: users.email, name: users.name },
      organization: { id: organizations.id, name: organizations.name, slug: organizations.slug },
      retryAfterSeconds,
    })
    .from(platformAccessGrants)
    .innerJoin(users, eq(users.id, platformAccessGrants.userId))
    .innerJoin(organizations, eq(organizations.id, platformAccessGrants.orgId))
    .innerJoin(
      memberships,
      and(
        eq(memberships.orgId, platformAccessGrants.orgId),
        eq(memberships.userId, platformAccessGrants.userId),
      ),
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

const liveGrantQuery = preparedQuery((db) => grantQuery(db, notCounting(db)).prepare('live_grant'))

const countedGrantQuery = preparedQuery((db) => {
  const grant = sql`select ${platformAccessGrants.id} from ${platformAccessGrants} where ${platformAccessGrants.id} = ${grantId}`
  return grantQuery(db, countingCall(db, grant, sql`${grantId}::text`)).prepare('counted_grant')
})

/** "Last used" is for people who tidy up: a minute is precise enough, and most calls then write nothing. */
const LAST_USED_PRECISION_MS = 60_000

export async function touchGrant(
  { db, clock }: LivenessDeps,
  grant: { id: string; lastUsedAt: Date | null },
): Promise<void> {
  const now = clock()
  if (grant.lastUsedAt !== null && now.getTime() - grant.lastUsedAt.getTime() < LAST_USED_PRECISION_MS) return
  await db.update(platformAccessGrants).set({ lastUsedAt: now }).where(eq(platformAccessGrants.id, grant.id))
}
