/** One grant, live or ended: its calls stay in the activity after it has ended. */
import { and, eq } from '../../../db/drizzle.ts'
import { organizationClientBlocks, organizations, platformAccessGrants, users } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { GRANT_END_REASONS, type GrantEndReason } from '../../contracts/grants.ts'
import { UNUSED_DAYS } from '../../contracts/limits.ts'
import { listGrantableSources } from '../search/index.ts'
import { read, type Verb } from '../verb.ts'
import { isManageable } from './grant-filters.ts'
import { isLess, readGrantUses, usedSince, type GrantUse, type Rights } from './grant-uses.ts'
import { grantedScopes } from './granted-scopes.ts'
import { listVisibleSources, presentGrantedSources, type KnownSource } from './granted-sources.ts'
import { findLiveGrant, type LivenessDeps } from './live-grant.ts'
import { GRANT_COLUMNS, presentGrant } from './present-grant.ts'
import { announcedEnds, type UnusedSettings } from './unused-step.ts'

export const showGrant: Verb<'showGrant', LivenessDeps> = read(async (context, { grant_id }) => {
  const { db, member } = context
  const [found] = await db
    .select({
      ...GRANT_COLUMNS,
      block: organizationClientBlocks.clientId,
      settings: {
        narrowUnusedAfterDays: organizations.narrowUnusedAfterDays,
        endUnusedAfterDays: organizations.endUnusedAfterDays,
      },
    })
    .from(platformAccessGrants)
    .innerJoin(organizations, eq(organizations.id, platformAccessGrants.orgId))
    .innerJoin(users, eq(users.id, platformAccessGrants.userId))
    .leftJoin(
      organizationClientBlocks,
      and(
        eq(organizationClientBlocks.orgId, platformAccessGrants.orgId),
        eq(organizationClientBlocks.clientId, platformAccessGrants.clientId),
      ),
    )
    .where(isManageable(db, member, grant_id))
  if (!found) throw notFound()
  const uses = await readGrantUses(db, member.orgId, [grant_id])
  // Without either there is no data source to name.
  const namesSources = found.grant.sources !== null || uses.length > 0
  const known = namesSources ? await listVisibleSources(db, member) : []
  return {
    ...presentGrant(found, known),
    ended: endOf(context, found.grant),
    blocked: found.block !== null,
    use: await useOf(context, found.grant, uses, known, found.settings),
  }
})

async function useOf(
  deps: LivenessDeps,
  grant: Row,
  uses: readonly GrantUse[],
  known: readonly KnownSource[],
  settings: UnusedSettings,
) {
  const scopes = grantedScopes(grant)
  const held = uses
    .filter(({ sourceId }) => sourceId !== '')
    .toSorted((a, b) => +b.lastUsedAt - +a.lastUsedAt)
  const { narrowsOn, endsOn } = announcedEnds({ ...grant, scopes }, uses, settings, deps.clock())
  return {
    since: grant.usesSince.toISOString(),
    scopes: scopes.map((scope) => ({ scope, ...totalOf(uses.filter((use) => use.scope === scope)) })),
    sources: held.flatMap((use) =>
      (presentGrantedSources([use.sourceId], known) ?? []).map((source) => ({
        ...source,
        ...totalOf([use]),
      })),
    ),
    unused: await unusedOf(deps, grant, { scopes, sources: grant.sources }, uses, known),
    narrows_on: narrowsOn?.toISOString() ?? null,
    ends_on: endsOn?.toISOString() ?? null,
  }
}

/** A search over several sources is a call of each of them. */
const totalOf = (uses: readonly GrantUse[]) => ({
  calls: uses.reduce((sum, { calls }) => sum + calls, 0),
  last_used_at:
    uses
      .map(({ lastUsedAt }) => lastUsedAt.toISOString())
      .toSorted()
      .at(-1) ?? null,
})

const DAY_MS = 24 * 60 * 60 * 1000

async function unusedOf(
  deps: LivenessDeps,
  grant: Row,
  before: Rights,
  uses: readonly GrantUse[],
  known: readonly KnownSource[],
) {
  const since = new Date(deps.clock().getTime() - UNUSED_DAYS * DAY_MS)
  if (grant.usesSince > since) return null
  const left = usedSince(before, uses, since)
  if (left.scopes.length === 0 || !isLess(left, before)) return null
  const live = await findLiveGrant(deps, grant.id)
  if (!live) return null
  const may = before.scopes.includes('data:read')
    ? await listGrantableSources(deps.db, grant.orgId, live.role)
    : []
  const lost = may.filter(({ id }) => (before.sources?.includes(id) ?? true) && !left.sources?.includes(id))
  return {
    scopes: before.scopes.filter((scope) => !left.scopes.includes(scope)),
    sources:
      presentGrantedSources(
        lost.map(({ id }) => id),
        known,
      ) ?? [],
  }
}

type Row = typeof platformAccessGrants.$inferSelect

function endOf({ clock, keyEpoch }: LivenessDeps, row: Row) {
  if (row.revokedAt !== null) return { at: row.revokedAt.toISOString(), reason: reasonOf(row) }
  if (row.keyEpoch !== keyEpoch) return { at: null, reason: 'keys_rotated' as const }
  if (row.expiresAt <= clock()) return { at: row.expiresAt.toISOString(), reason: 'expired' as const }
  return null
}

/** An operator may have stamped the row by hand, in words of their own. */
const reasonOf = ({ revokedReason }: Row): GrantEndReason =>
  GRANT_END_REASONS.find((reason) => reason === revokedReason) ?? 'revoked'
