/** Moves what producers wrote down into the notification core. An event that was recorded twice becomes one. */
import { sql } from '../../../db/drizzle.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'

/** In one transaction; the next one follows at once. */
const BATCH = 500
/** "svc outbox" as a number: one ships at a time, so that what happened first is there first. */
const ONE_AT_A_TIME = 7_382_001

/** How many left the outbox. */
export async function shipOutbox({ db, clock }: Storage): Promise<number> {
  const [waiting] = await db.execute(sql`select 1 from outbox limit 1`)
  if (!waiting) return 0
  return withTransaction(db, async (tx) => {
    const [lock] = await tx.execute<{ mine: boolean }>(
      sql`select pg_try_advisory_xact_lock(${sql.raw(String(ONE_AT_A_TIME))}) as mine`,
    )
    if (!lock!.mine) return 0
    const [moved] = await tx.execute<{ n: number }>(sql`
      with taken as (
        delete from outbox o
        using (select org_id, id from outbox order by seq limit ${sql.raw(String(BATCH))}) first
        where o.org_id = first.org_id and o.id = first.id
        returning o.*
      ), shipped as (
        insert into events (
          org_id, id, source, dedup_key, type, subject, actor_id, concerns_id, app_id, data, occurred_at, seq, recorded_at
        )
        select org_id, id, source, dedup_key, type, subject, actor_id, concerns_id, app_id, data, occurred_at, seq,
          ${clock().toISOString()}::timestamptz
        from taken
        order by seq
        on conflict (org_id, source, dedup_key) do nothing
      )
      select count(*)::int as n from taken`)
    return moved!.n
  })
}
