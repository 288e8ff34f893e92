/**
 * A provider that is down: after two failures in a row an organization leaves the model alone for half an hour. Once two
 * organizations do, all of them do, and one request at a time looks whether it answers again. How long an answer takes
 * depends on what an organization asks: one that came too late counts for that organization alone.
 */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { modelOutages } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { ModelOutcome } from '../../contracts/model-port.ts'
import type { Storage } from '../dependencies.ts'
import { throttle } from '../throttle.ts'

const FAILURES = 2
const LEFT_ALONE_MINUTES = 30
/** Of all organizations together. */
const ORGANIZATIONS = 2
const PROBES = { count: 1, seconds: 5 * 60 }

export type AskedModel = { readonly orgId: string; readonly model: string; readonly now: Date }

const time = (now: Date): SQL => sql`${now.toISOString()}::timestamptz`

const countsForOthers = sql`provider_failures >= ${sql.raw(String(FAILURES))}`
const isLeftByAll = sql`count(*) filter (where ${countsForOthers}) >= ${sql.raw(String(ORGANIZATIONS))}`

/** Columns `own` and `everybody`: whether the organization leaves the model alone, and whether everybody does. */
export const outageState = ({ orgId, model, now }: AskedModel): SQL => sql`
  select coalesce(bool_or(org_id = ${orgId}), false) as own, ${isLeftByAll} as everybody
  from ${modelOutages} where model = ${model} and left_alone_until > ${time(now)}`

export async function readOutageState(
  db: Handle,
  asked: AskedModel,
): Promise<{ own: boolean; everybody: boolean }> {
  const [state] = await db.execute<{ own: boolean; everybody: boolean }>(outageState(asked))
  return state!
}

/** True: whoever asks may look whether it answers again. One may, every five minutes. */
export async function takeProbe(deps: Storage, model: string): Promise<boolean> {
  try {
    await throttle(deps, `model-probe:${model}`, PROBES)
    return true
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'RATE_LIMITED') return false
    throw error
  }
}

/** What an answer says about the model, as a part of a statement. `condition`: nothing is noted without it. */
export function outcomeNote({ orgId, model, now }: AskedModel, outcome: ModelOutcome, condition: SQL): SQL {
  if (outcome === 'answered')
    return sql`
      delete from ${modelOutages} where model = ${model} and ${condition} and (org_id = ${orgId} or ${countsForOthers} and (
        select ${isLeftByAll} from ${modelOutages} where model = ${model} and left_alone_until > ${time(now)}))`
  const until = sql`${time(now)} + make_interval(mins => ${sql.raw(String(LEFT_ALONE_MINUTES))})`
  return sql`
    insert into ${modelOutages} as o (org_id, model, failures, provider_failures, failed_at, left_alone_until)
    select ${orgId}, ${model}, 1, ${sql.raw(outcome === 'outage' ? '1' : '0')}, ${time(now)}, null where ${condition}
    on conflict (org_id, model) do update set
      failures = o.failures + 1, provider_failures = o.provider_failures + excluded.provider_failures,
      failed_at = excluded.failed_at,
      left_alone_until = case when o.failures + 1 >= ${sql.raw(String(FAILURES))} then ${until} end`
}

/** Where nothing else is booked with it. What was refused says nothing about the provider. */
export async function noteOutcome(db: Handle, asked: AskedModel, outcome: ModelOutcome): Promise<void> {
  if (outcome !== 'refused') await db.execute(outcomeNote(asked, outcome, sql`true`))
}
