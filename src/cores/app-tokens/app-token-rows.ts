/** Tokens of an app as the API returns them. */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { appTokens } from '../../../db/schema.ts'
import type { App } from '../apps/index.ts'
import { isOfEpoch } from '../key-epoch.ts'
import { presentPrevious } from '../previous-value.ts'

type Row = typeof appTokens.$inferSelect

/** Those of an earlier key epoch open nothing any more, so they are in no list and count for no limit. */
export const liveTokensOf = ({ orgId, id }: App, epoch: string | null) =>
  and(
    eq(appTokens.orgId, orgId),
    eq(appTokens.appId, id),
    isNull(appTokens.revokedAt),
    isOfEpoch(appTokens.keyEpoch, epoch),
  )

export const presentAppToken = (row: Row, now: Date) => ({
  id: row.id,
  name: row.name,
  scope: row.scope,
  starts_with: row.startsWith,
  created_by: row.createdByName,
  created_at: row.createdAt.toISOString(),
  last_used_at: row.lastUsedAt?.toISOString() ?? null,
  previous: presentPrevious(row, now),
})

/** As the audit trail names it. */
export const subjectOf = (app: App, { name, startsWith }: Pick<Row, 'name' | 'startsWith'>): string =>
  `${app.alias}: ${name} (${startsWith}…)`
