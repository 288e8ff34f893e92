/** SCIM bearers as they are stored and returned. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { scimBearers } from '../../../db/schema.ts'
import { SCIM_PATH } from '../../contracts/scim.ts'
import { isOfEpoch, readKeyEpoch } from '../key-epoch.ts'
import { presentPrevious } from '../previous-value.ts'

export type BearerRow = typeof scimBearers.$inferSelect

/** Also one of an earlier key epoch: SCIM is set up, and rotating the bearer makes it work again. */
export const bearerOf = (orgId: string) => and(eq(scimBearers.orgId, orgId), isNull(scimBearers.revokedAt))

/** One that opens something. */
export const liveBearer = async (db: Handle) =>
  and(isNull(scimBearers.revokedAt), isOfEpoch(scimBearers.keyEpoch, await readKeyEpoch(db)))

export const presentBearer = (row: BearerRow, now: Date) => ({
  id: row.id,
  provider: row.provider,
  issuer: row.issuer,
  starts_with: row.startsWith,
  created_by: row.createdByName,
  created_at: row.createdAt.toISOString(),
  last_used_at: row.lastUsedAt?.toISOString() ?? null,
  previous: presentPrevious(row, now),
})

export const baseUrl = (issuer: URL): string => new URL(SCIM_PATH, issuer).href

/** As the audit trail names it. */
export const bearerName = ({ startsWith }: Pick<BearerRow, 'startsWith'>): string =>
  `SCIM bearer ${startsWith}…`

/** Some providers end theirs with a slash, in some places. */
export const bareIssuer = (issuer: string): string => issuer.replace(/\/$/, '')
