/**
 * Before retention deletes activity, every organization that has some of it gets a signed seal without rows that says so: what
 * is missing afterwards is known to be deleted, and by how many rows, and the roots stay.
 */
import type { Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { firstIdOf } from '../../contracts/ids.ts'
import { withTransaction } from '../transaction.ts'
import type { SealDeps } from './seal-trail.ts'
import { readSigner } from './trail-keys.ts'
import { lockTrailState, readEpoch, saveTrailState } from './trail-state.ts'
import { writeSeals } from './write-seals.ts'

/** A seal of so much later has no older rows: they are committed within moments of their time. */
const LATE = sql.raw(`interval '2 days'`)

type Removed = {
  readonly orgId: string
  /** Seals that keep some of their rows. */
  readonly partly: readonly { number: number; from: number; to: number; last: string; count: number }[]
}

/** Returns up to which `trail_order` rows may be deleted: what is not sealed stays. */
export async function sealRemoval(deps: SealDeps, before: Date): Promise<number> {
  const { db, clock } = deps
  return withTransaction(db, async (tx) => {
    const state = await lockTrailState(tx)
    const bound = firstIdOf('act', before.getTime())
    const isRemoved = sql`place > ${String(state.removedTo ?? 0)}::bigint and activity_first < ${bound}
      and sealed_at < ${before.toISOString()}::timestamptz + ${LATE}`
    const removed = (await tx.execute(sql`
      select org_id as "orgId", coalesce(json_agg(json_build_object('number', number, 'from', order_from,
        'to', order_to, 'last', activity_last, 'count', activity_count) order by number) filter (where activity_last >= ${bound}), '[]') as partly
      from trail_seals where ${isRemoved} group by org_id`)) as unknown as readonly Removed[]
    if (removed.length === 0) return state.sealedTo
    const seals = []
    for (const { orgId, partly } of removed) {
      const counts: [number, number][] = []
      for (const seal of partly) counts.push([seal.number, await countBefore(tx, orgId, seal, bound)])
      const activity_before = before.toISOString()
      seals.push({
        orgId,
        orderFrom: state.sealedTo,
        orderTo: state.sealedTo,
        leaves: Buffer.alloc(0),
        says: { removed: { activity_before, partly: counts } },
      })
    }
    const epoch = await readEpoch(tx)
    await writeSeals(tx, { signer: await readSigner(tx, deps), epoch, now: clock() }, seals)
    // Nothing is left that these hashes would tell apart; the root stays.
    await tx.execute(sql`
      update trail_seals set leaves = '' where ${isRemoved} and activity_last < ${bound} and activity_count = row_count`)
    const [last] = await tx.execute<{ place: number | null }>(sql`
      select max(place)::float8 as place from trail_seals
      where place > ${String(state.removedTo ?? 0)}::bigint and sealed_at < ${before.toISOString()}::timestamptz`)
    await saveTrailState(tx, { ...state, ...(last?.place != null && { removedTo: last.place }) })
    return state.sealedTo
  })
}

async function countBefore(
  tx: Transaction,
  orgId: string,
  { from, to, last, count }: Removed['partly'][number],
  bound: string,
): Promise<number> {
  // By those that stay: some of the others may be deleted already.
  const [row] = await tx.execute<{ stay: number }>(sql`
    select count(*)::int as stay from activity where org_id = ${orgId} and id >= ${bound} and id <= ${last}
      and trail_order > ${String(from)}::bigint and trail_order <= ${String(to)}::bigint`)
  return count - row!.stay
}
