/** What is known of a data source's condition: kept beside its row, told to whoever may read its configuration. */
import { keptLocally } from '../../../db/commit-locally.ts'
import { eq, and, sql } from '../../../db/drizzle.ts'
import type { Handle } from '../../../db/connect.ts'
import { dataSourceHealth } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { SourceHealth, SourceProblem } from '../../contracts/source-health.ts'
import type { SourceRow } from '../databases/index.ts'
import type { Log, Storage } from '../dependencies.ts'
import { causeOf, databaseFailureOf, type DatabaseFailure } from './database-failure.ts'

export type HealthRow = typeof dataSourceHealth.$inferSelect

export const isHealthOf = ({ orgId, id }: Pick<SourceRow, 'orgId' | 'id'>) =>
  and(eq(dataSourceHealth.orgId, orgId), eq(dataSourceHealth.sourceId, id))

export async function readHealth(db: Handle, source: SourceRow): Promise<HealthRow | null> {
  const [row] = await db.select().from(dataSourceHealth).where(isHealthOf(source))
  return row ?? null
}

/** An error this old says nothing about today. */
const CURRENT_MS = 60 * 60_000

export function presentHealth(row: HealthRow | null, now: Date): SourceHealth {
  if (!row) return { checked_at: null, problems: [], last_error: null }
  const { checkedAt, errorAt, errorKind: kind, errorCode: code } = row
  const error = errorAt && kind && code ? { at: errorAt, failure: { kind, code } } : undefined
  const isCurrent =
    error && now.getTime() - error.at.getTime() < CURRENT_MS && (!checkedAt || checkedAt < error.at)
  return {
    checked_at: checkedAt?.toISOString() ?? null,
    problems: [...(isCurrent ? [failureProblem(error.failure)] : []), ...row.problems, ...row.serverProblems],
    last_error: error
      ? { at: error.at.toISOString(), kind: error.failure.kind, cause: sentence(causeOf(error.failure)) }
      : null,
  }
}

export const failureProblem = (failure: DatabaseFailure): SourceProblem => ({
  kind: failure.kind,
  text: sentence(causeOf(failure)),
})

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

/** How a question to its database failed; undefined for what the database is not to blame for. */
export function failureOf(error: unknown): DatabaseFailure | undefined {
  if (!(error instanceof ServiceError)) return databaseFailureOf(error)
  if (!['TIMEOUT', 'SOURCE_FAILED', 'INVALID_SEARCH_CONFIGURATION'].includes(error.code)) return undefined
  return databaseFailureOf(error.cause) ?? { kind: 'changed', code: 'CHANGED' }
}

/** Whoever asked is told of the failure itself, even if this one cannot be written down. */
export async function recordFailure(
  { db, clock, log }: Storage & Log,
  source: SourceRow,
  { kind, code }: DatabaseFailure,
): Promise<void> {
  const error = { errorAt: clock(), errorKind: kind, errorCode: code }
  try {
    await db
      .insert(dataSourceHealth)
      .values({ orgId: keptLocally(sql`${source.orgId}`), sourceId: source.id, ...error })
      .onConflictDoUpdate({ target: [dataSourceHealth.orgId, dataSourceHealth.sourceId], set: error })
  } catch (cause) {
    log.warn('the failure of a data source could not be recorded', { source: source.id, error: cause })
  }
}

/** For another configuration: what was found is of no more use, and the next look is due. */
export async function forgetHealth(db: Handle, source: SourceRow): Promise<void> {
  await db
    .update(dataSourceHealth)
    .set({ checkBegan: null, checkedAt: null, problems: [], errorAt: null, errorKind: null, errorCode: null })
    .where(isHealthOf(source))
}
