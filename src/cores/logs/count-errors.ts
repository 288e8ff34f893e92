/** How many errors several apps have logged, as it was counted when their lines arrived. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, gte, inArray, sql } from '../../../db/drizzle.ts'
import { logVolumes } from '../../../db/schema.ts'
import { LOG_LEVELS } from '../../contracts/log-levels.ts'

/** By app; those without one are left out. */
export async function countErrors(
  db: Handle,
  orgId: string,
  appIds: readonly string[],
  since: Date,
): Promise<ReadonlyMap<string, number>> {
  if (appIds.length === 0) return new Map()
  const rows = await db
    .select({ appId: logVolumes.appId, lines: sql<number>`sum(${logVolumes.lines})::int` })
    .from(logVolumes)
    .where(
      and(
        eq(logVolumes.orgId, orgId),
        inArray(logVolumes.appId, [...appIds]),
        gte(logVolumes.at, since),
        gte(logVolumes.level, LOG_LEVELS.indexOf('error')),
      ),
    )
    .groupBy(logVolumes.appId)
  return new Map(rows.map(({ appId, lines }) => [appId, lines]))
}
