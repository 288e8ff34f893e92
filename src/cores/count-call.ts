/**
 * How many MCP calls a grant or an API token may make: counted by the statement that finds it, in a row that all
 * processes share. A leaky bucket, as in throttle.ts: so many at once, then one every `60 s / limit`.
 */
import { locally } from '../../db/commit-locally.ts'
import type { Handle } from '../../db/connect.ts'
import type { SQL } from 'drizzle-orm'
import { sql } from '../../db/drizzle.ts'
import { throttles } from '../../db/schema.ts'

export type CallLimit = { readonly mcpCallsPerMinute: number }

const MINUTE_SECONDS = 60

/** The statement's placeholders: how long one call fills the bucket, and up to where another one fits. */
export function callLimitValues({ mcpCallsPerMinute }: CallLimit): {
  stepSeconds: number
  capacitySeconds: number
} {
  const stepSeconds = MINUTE_SECONDS / mcpCallsPerMinute
  // Half a step, because Postgres rounds every step to a microsecond.
  return { stepSeconds, capacitySeconds: MINUTE_SECONDS - stepSeconds / 2 }
}

const seconds = (name: string) => sql`make_interval(secs => ${sql.placeholder(name)}::float8)`
const now = sql`${sql.placeholder('now')}::timestamptz`

/**
 * What a statement starts with to count a call, and the seconds to wait, null when it was counted. `credential` selects
 * the one id to count for, or nothing: a token that does not exist leaves no row.
 */
export function countingCall(db: Handle, credential: SQL, id: SQL) {
  const counted = db.$with('counted', { key: throttles.key }).as(sql`
    insert into ${throttles} (key, full_until)
    select ${keyOf(sql`found.id`)}, ${now} + ${seconds('stepSeconds')} from (${credential}) as found (id)
    where ${locally}
    on conflict (key) do update set full_until = greatest(${throttles}.full_until, ${now}) + ${seconds('stepSeconds')}
    where ${throttles}.full_until <= ${now} + ${seconds('capacitySeconds')}
    returning key`)
  // As the row was when the statement began: near enough to say how long to wait.
  const fullUntil = sql`(select full_until from ${throttles} where key = ${keyOf(id)})`
  const wait = sql`ceil(extract(epoch from ${fullUntil} - ${now} - ${seconds('capacitySeconds')}))::int`
  const retryAfterSeconds = sql<
    number | null
  >`case when not exists (select from ${counted}) then greatest(1, ${wait}) end`
  return { start: db.with(counted), retryAfterSeconds }
}

/** Ids are no secret, so unlike the other keys this one is not a digest. */
const keyOf = (id: SQL) => sql`'mcp-calls:' || ${id}`

/** For a statement that counts nothing. */
export const notCounting = (db: Handle) => ({ start: db, retryAfterSeconds: sql<number | null>`null::int` })

export type Counting = ReturnType<typeof notCounting> | ReturnType<typeof countingCall>
