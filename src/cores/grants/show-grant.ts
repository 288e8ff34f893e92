/** One grant, live or ended: its calls stay in the activity after it has ended. */
import { and, eq } from '../../../db/drizzle.ts'
import { organizationClientBlocks, platformAccessGrants, users } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { GRANT_END_REASONS, type GrantEndReason } from '../../contracts/grants.ts'
import { read, type Verb } from '../verb.ts'
import { isManageable } from './grant-filters.ts'
import { listVisibleSources } from './granted-sources.ts'
import type { LivenessDeps } from './live-grant.ts'
import { GRANT_COLUMNS, presentGrant } from './present-grant.ts'

export const showGrant: Verb<'showGrant', LivenessDeps> = read(async (context, { grant_id }) => {
  const { db, member } = context
  const [found] = await db
    .select({ ...GRANT_COLUMNS, block: organizationClientBlocks.clientId })
    .from(platformAccessGrants)
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
  const known = found.grant.sources === null ? [] : await listVisibleSources(db, member)
  return {
    ...presentGrant(found, known),
    ended: endOf(context, found.grant),
    blocked: found.block !== null,
  }
})

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
