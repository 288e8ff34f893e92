/** The checks of several apps in a few words. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, inArray } from '../../../db/drizzle.ts'
import { checks } from '../../../db/schema.ts'
import { SUMMARY_CHECKS } from '../../contracts/app-summaries.ts'
import type { CheckResult } from '../../contracts/check-results.ts'
import { readRecent } from './check-rows.ts'

type Summary = {
  readonly checks: {
    id: string
    name: string
    enabled: boolean
    state: CheckResult | null
    recent: CheckResult[]
  }[]
  readonly checks_total: number
  readonly checks_failing: number
}

/** By app. */
export async function summarizeChecks(
  db: Handle,
  orgId: string,
  appIds: readonly string[],
): Promise<ReadonlyMap<string, Summary>> {
  if (appIds.length === 0) return new Map()
  const rows = await db
    .select({
      appId: checks.appId,
      id: checks.id,
      name: checks.name,
      enabled: checks.enabled,
      state: checks.state,
      recent: checks.recent,
    })
    .from(checks)
    .where(and(eq(checks.orgId, orgId), inArray(checks.appId, [...appIds])))
    .orderBy(checks.name)
  const byApp = Map.groupBy(rows, ({ appId }) => appId)
  return new Map(
    [...byApp].map(([appId, all]) => [
      appId,
      {
        checks: all
          .toSorted((a, b) => rankOf(a) - rankOf(b))
          .slice(0, SUMMARY_CHECKS)
          .map(({ id, name, enabled, state, recent }) => ({
            id,
            name,
            enabled,
            state,
            recent: readRecent(recent),
          })),
        checks_total: all.length,
        checks_failing: all.filter(({ enabled, state }) => enabled && state === 'fail').length,
      },
    ]),
  )
}

/** What fails first, what is turned off last. */
const rankOf = ({ enabled, state }: { enabled: boolean; state: CheckResult | null }): number => {
  if (!enabled) return 3
  return state === 'fail' ? 0 : state === 'pass' || state === null ? 2 : 1
}
