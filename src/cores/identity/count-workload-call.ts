/** Counts a call of a service account: throttle.ts with a statement that is built once, because every call needs it. */
import { keptLocally } from '../../../db/commit-locally.ts'
import { sql } from '../../../db/drizzle.ts'
import { throttles } from '../../../db/schema.ts'
import { WORKLOAD_CALLS } from '../../contracts/limits.ts'
import { sha256 } from '../../trust/keyed-hash.ts'
import type { Storage } from '../dependencies.ts'
import { preparedQuery } from '../prepared-query.ts'
import { throttle } from '../throttle.ts'

const STEP_SECONDS = WORKLOAD_CALLS.seconds / WORKLOAD_CALLS.count
const now = sql`${sql.placeholder('now')}::timestamptz`
const seconds = (n: number) => sql.raw(`make_interval(secs => ${n})`)

export async function countWorkloadCall({ db, clock }: Storage, bindingId: string): Promise<void> {
  const key = `workload-calls:${bindingId}`
  const counted = await countCall(db).execute({ key: sha256(key), now: clock().toISOString() })
  // Full: this says how long to wait.
  if (counted.length === 0) await throttle({ db, clock }, key, WORKLOAD_CALLS)
}

const countCall = preparedQuery((db) =>
  db
    .insert(throttles)
    .values({ key: sql.placeholder('key'), fullUntil: keptLocally(sql`${now} + ${seconds(STEP_SECONDS)}`) })
    .onConflictDoUpdate({
      target: throttles.key,
      set: { fullUntil: sql`greatest(${throttles.fullUntil}, ${now}) + ${seconds(STEP_SECONDS)}` },
      setWhere: sql`${throttles.fullUntil} <= ${now} + ${seconds(WORKLOAD_CALLS.seconds - STEP_SECONDS)}`,
    })
    .returning({ key: throttles.key })
    .prepare('workload_call'),
)
