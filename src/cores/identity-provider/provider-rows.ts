/** The row of an organization's identity provider, its grants, and how the API returns it. */
import type { SQL } from 'drizzle-orm'
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, count, eq, lt, sql } from '../../../db/drizzle.ts'
import {
  organizationIdentityProviders as providers,
  platformAccessGrants,
  users,
} from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Clock } from '../dependencies.ts'
import { endGrants, isLiveGrant, type LivenessDeps } from '../grants/index.ts'
import { recordEnding, type EndedRow } from '../record-ending.ts'

export { andEnded } from '../grants/index.ts'

export type ProviderRow = typeof providers.$inferSelect

const noProvider = () =>
  new ServiceError('NOT_FOUND', 'The organization has no identity provider', { hint: 'Add one first.' })

export async function findProvider(db: Handle, orgId: string): Promise<ProviderRow> {
  const [row] = await db.select().from(providers).where(eq(providers.orgId, orgId))
  if (!row) throw noProvider()
  return row
}

/**
 * Every write that decides who gets what takes this lock, and an exchange shares it: either the exchange sees what was
 * written, or the write ends the grant that the exchange made.
 */
export async function lockProvider(tx: Transaction, orgId: string): Promise<ProviderRow> {
  const [row] = await tx.select().from(providers).where(eq(providers.orgId, orgId)).for('update')
  if (!row) throw noProvider()
  return row
}

type Cause =
  | 'provider_paused'
  | 'provider_removed'
  | 'rules_changed'
  | 'client_forbidden'
  | 'unlinked'
  | 'revoked'

/**
 * Those that came in by it; says how many. An exchange that was decided before is not stored any more either, whether
 * something has ended or not.
 */
export async function endGrantsOf(
  tx: Transaction,
  clock: Clock,
  { id, orgId }: Pick<ProviderRow, 'id' | 'orgId'>,
  reason: Cause,
  which?: SQL,
): Promise<number> {
  const [next] = await tx
    .update(providers)
    .set({ edition: sql`${providers.edition} + 1` })
    .where(eq(providers.id, id))
    .returning({ edition: providers.edition })
  if (reason !== 'revoked')
    recordEnding(tx, 'identity_provider', [{ id, orgId, to: { edition: String(next!.edition) } }])
  const ended = await endGrants(
    tx,
    clock,
    and(eq(platformAccessGrants.identityProviderId, id), which),
    reason,
  )
  return ended.length
}

/**
 * After a lost tail: which people, clients or rules it had lost is not known any more, so nobody comes in by it until
 * somebody has looked and resumed it.
 */
export async function pauseProviderAgain(
  tx: Transaction,
  clock: Clock,
  { id, orgId, to }: EndedRow,
): Promise<void> {
  const edition = Number(to!.edition)
  const [paused] = await tx
    .update(providers)
    .set({
      edition,
      state: sql`case when ${providers.state} = 'on' then 'paused' else ${providers.state} end`,
    })
    .where(and(eq(providers.id, id), lt(providers.edition, edition)))
    .returning({ id: providers.id })
  if (!paused) return
  recordEnding(tx, 'identity_provider', [{ id, orgId, to: to! }])
  await endGrants(tx, clock, eq(platformAccessGrants.identityProviderId, id), 'provider_paused')
}

export async function presentProvider(deps: LivenessDeps, row: ProviderRow) {
  const { db } = deps
  const [live] = await db
    .select({ count: count() })
    .from(platformAccessGrants)
    .where(and(eq(platformAccessGrants.identityProviderId, row.id), isLiveGrant(deps)))
  const [prover] =
    row.provenBy === null
      ? []
      : await db.select({ id: users.id, name: users.name }).from(users).where(eq(users.id, row.provenBy))
  return {
    id: row.id,
    name: row.name,
    issuer: row.issuer,
    tenant: row.tenantClaim === '' ? null : { claim: row.tenantClaim, value: row.tenantValue },
    jwks_uri: row.jwksUri,
    state: row.state,
    linking: row.linking,
    default_scopes: row.defaultScopes,
    assertion_seconds: row.assertionSeconds,
    token_minutes: row.tokenMinutes,
    is_required: row.isRequired,
    proven_by: prover ?? null,
    proven_at: row.provenAt?.toISOString() ?? null,
    live_grants: live?.count ?? 0,
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
  }
}
