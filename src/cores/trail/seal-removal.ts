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
import {
  lastPlace,
  LATE_MS,
  lockTrailState,
  readEpoch,
  readTrailState,
  saveTrailState,
} from './trail-state.ts'
import { writeSeals } from './write-seals.ts'

/** Looked at in one transaction: whoever seals waits for it. */
const SEALS_AT_ONCE = 1_000

type Removed = {
  readonly orgId: string
  /** Seals that keep some of their rows. */
  readonly partly: readonly { number: number; from: number; to: number; last: string; count: number }[]
}

/** Returns up to which `trail_order` rows may be deleted: what is not sealed stays. Undefined: it was stopped before its end. */
export async function sealRemoval(
  deps: SealDeps,
  before: Date,
  { stopping, atOnce = SEALS_AT_ONCE }: { readonly stopping?: AbortSignal; readonly atOnce?: number } = {},
): Promise<number | undefined> {
  const { sealedTo, removedTo = 0 } = await readTrailState(deps.db)
  const top = await lastPlace(deps.db)
  let step: Step | undefined = { from: removedTo, isWhole: true }
  while (step) {
    if (stopping?.aborted) return undefined
    step = await sealStep(deps, before, { ...step, top, atOnce })
  }
  return sealedTo
}

/** `isWhole`: of all before it, every row is from before. */
type Step = { readonly from: number; readonly isWhole: boolean }

/** Undefined: no seal behind it has such rows. */
async function sealStep(
  deps: SealDeps,
  before: Date,
  { from, isWhole, top, atOnce }: Step & { readonly top: number; readonly atOnce: number },
): Promise<Step | undefined> {
  return withTransaction(deps.db, async (tx) => {
    const state = await lockTrailState(tx)
    const seals = await tx.execute<{ place: number; sealedAt: number }>(sql`
      select place::float8 as place, (extract(epoch from sealed_at) * 1000)::float8 as "sealedAt" from trail_seals
      where place > ${String(from)}::bigint and place <= ${String(top)}::bigint order by place limit ${String(atOnce)}::int`)
    const to = seals.at(-1)?.place
    if (to === undefined) return undefined
    const removed = await readRemoved(tx, { from, to, before })
    if (removed.length > 0) {
      const orders = { orderFrom: state.sealedTo, orderTo: state.sealedTo, leaves: Buffer.alloc(0) }
      const activity_before = before.toISOString()
      const written = removed.map(({ orgId, partly }) => ({
        orgId,
        ...orders,
        says: { removed: { activity_before, partly } },
      }))
      const epoch = await readEpoch(tx)
      await writeSeals(tx, { signer: await readSigner(tx, deps), epoch, now: deps.clock() }, written)
    }
    // A row is older than its seal: what was sealed before then is done with.
    const firstKept = seals.findIndex(({ sealedAt }) => sealedAt >= before.getTime())
    const removedTo = firstKept < 0 ? to : (seals[firstKept - 1]?.place ?? from)
    if (isWhole) await saveTrailState(tx, { ...state, removedTo: Math.max(removedTo, state.removedTo ?? 0) })
    const areYoung = seals.every(({ sealedAt }) => sealedAt >= before.getTime() + LATE_MS)
    if (seals.length < atOnce || (areYoung && to >= (state.lateTo ?? 0))) return undefined
    return { from: to, isWhole: isWhole && firstKept < 0 }
  })
}

async function readRemoved(
  tx: Transaction,
  { from, to, before }: { readonly from: number; readonly to: number; readonly before: Date },
): Promise<{ orgId: string; partly: [number, number][] }[]> {
  const bound = firstIdOf('act', before.getTime())
  const found = (await tx.execute(sql`
    select org_id as "orgId", coalesce(json_agg(json_build_object('number', number, 'from', order_from,
      'to', order_to, 'last', activity_last, 'count', activity_count) order by number) filter (where activity_last >= ${bound}), '[]') as partly
    from trail_seals where place > ${String(from)}::bigint and place <= ${String(to)}::bigint and activity_first < ${bound}
    group by org_id`)) as unknown as readonly Removed[]
  const removed = []
  for (const { orgId, partly } of found) {
    const counts: [number, number][] = []
    for (const seal of partly) counts.push([seal.number, await countBefore(tx, orgId, seal, bound)])
    removed.push({ orgId, partly: counts })
  }
  return removed
}

/**
 * After retention has deleted: of a seal that has no row left nothing is told apart by its hashes, and the root stays. Months go
 * as a whole, so rows may stay for long after they were signed to go, and their hashes with them.
 */
export async function emptySeals(
  { db }: SealDeps,
  { stopping, atOnce = SEALS_AT_ONCE }: { readonly stopping?: AbortSignal; readonly atOnce?: number } = {},
): Promise<void> {
  for (;;) {
    if (stopping?.aborted) return
    const isDone = await withTransaction(db, async (tx) => {
      const state = await lockTrailState(tx)
      const from = state.emptiedTo ?? 0
      const seals = await tx.execute<{ place: number; isLeft: boolean }>(sql`
        select place::float8 as place, activity_first is not null and exists (
          select from activity where org_id = seal.org_id and id >= activity_first and id <= activity_last
            and trail_order > order_from and trail_order <= order_to) as "isLeft"
        from trail_seals seal where place > ${String(from)}::bigint and place <= ${String(state.removedTo ?? 0)}::bigint
        order by place limit ${String(atOnce)}::int`)
      const left = seals.findIndex(({ isLeft }) => isLeft)
      const to = (left < 0 ? seals.at(-1) : seals[left - 1])?.place
      if (to === undefined) return true
      await tx.execute(sql`
        update trail_seals set leaves = '' where place > ${String(from)}::bigint and place <= ${String(to)}::bigint
          and activity_count = row_count and row_count > 0`)
      await saveTrailState(tx, { ...state, emptiedTo: to })
      return left >= 0 || seals.length < atOnce
    })
    if (isDone) return
  }
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
