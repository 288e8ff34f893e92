/**
 * Seals what was written since the last time: of each organization one batch, with its hashes, their root, and a signature over
 * that and the seal before. A row that is committed late is in a later batch, because it was not settled before. All of a batch
 * is one transaction; a process that dies in the midst of it has sealed nothing.
 */
import type { Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { firstIdOf } from '../../contracts/ids.ts'
import { leafOf } from '../../contracts/trail-format.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { sha256 } from '../../trust/trail-key.ts'
import type { Log, Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { settledOrder } from './settled-order.ts'
import { readSigner } from './trail-keys.ts'
import { inOrder, readUnsealed, type OrderedRow } from './trail-rows.ts'
import {
  lastPlace,
  LATE_MS,
  lockTrailState,
  readEpoch,
  readTrailState,
  saveTrailState,
  type TrailState,
} from './trail-state.ts'
import { writeSeals, type NewSeal, type Signed } from './write-seals.ts'

export type SealDeps = Storage &
  Log & {
    readonly dataKeys: DataKeys
    /** The operator's folder, where there is one. */
    readonly trailRoots?: TrailRoots | undefined
  }

/** Appends, and resolves when it is on the disk. */
export type TrailRoots = { append(seals: readonly Signed[]): Promise<void> }

/** Of each table, in one transaction. */
const ROWS_AT_ONCE = 4_000
const ORGANIZATIONS_AT_ONCE = 500
const ROOTS_AT_ONCE = 5_000

/** Returns how many rows it sealed. */
export async function sealTrail(deps: SealDeps, stopping?: AbortSignal): Promise<number> {
  await sealBreak(deps, stopping)
  const settled = await settledOrder(deps, stopping)
  if (settled === undefined) return 0
  let count = 0
  for (;;) {
    const sealed = stopping?.aborted ? undefined : await sealNext(deps, settled)
    if (sealed === undefined) break
    count += sealed
  }
  await writeRoots(deps, stopping)
  return count
}

/** Undefined: all is sealed. */
async function sealNext(deps: SealDeps, settled: number): Promise<number | undefined> {
  const { db, clock } = deps
  return withTransaction(db, async (tx) => {
    const state = await lockTrailState(tx)
    if (state.sealedTo >= settled) return undefined
    const reach = { began: state.began, after: state.sealedTo, upTo: await reachOf(tx, state, settled) }
    const rows = inOrder(await readUnsealed(tx, 'audit', reach), await readUnsealed(tx, 'activity', reach))
    const to = reach.upTo
    const epoch = await readEpoch(tx)
    let { lateTo } = state
    if (rows.length > 0) {
      const seals = sealsOf(rows, { orderFrom: state.sealedTo, orderTo: to })
      const now = clock()
      await writeSeals(tx, { signer: await readSigner(tx, deps), epoch, now }, seals)
      const late = firstIdOf('act', now.getTime() - LATE_MS)
      if (seals.some(({ ids }) => ids?.activityFirst !== undefined && ids.activityFirst < late))
        lateTo = await lastPlace(tx)
    }
    await tx.execute(sql`delete from trail_pending where trail_order <= ${String(to)}::bigint`)
    await saveTrailState(tx, { ...state, epoch, sealedTo: to, ...(lateTo !== undefined && { lateTo }) })
    return rows.length
  })
}

/** As far as either table has so many rows. */
async function reachOf(tx: Transaction, { began, sealedTo }: TrailState, settled: number): Promise<number> {
  const isNext = sql`trail_order > ${String(sealedTo)}::bigint and trail_order <= ${String(settled)}::bigint`
  const nth = sql`order by trail_order offset ${String(ROWS_AT_ONCE - 1)}::int limit 1`
  const [row] = await tx.execute<{ order: number }>(sql`
    select least(${String(settled)}::bigint, (select trail_order from trail_pending where ${isNext} ${nth}),
      (select trail_order from audit_log where ${isNext} and id >= ${firstIdOf('aud', began)} ${nth}))::float8 as order`)
  return row!.order
}

function sealsOf(rows: readonly OrderedRow[], orders: { orderFrom: number; orderTo: number }): NewSeal[] {
  return [...Map.groupBy(rows, ({ orgId }) => orgId)].map(([orgId, own]) => {
    const audit = own.filter(({ kind }) => kind === 'audit')
    const activity = own.filter(({ kind }) => kind === 'activity')
    const ids = {
      audit: audit.map(({ id }) => id).toSorted(),
      activity: activity.map(({ id }) => id).toSorted(),
    }
    const activityTo = activity
      .map(({ at }) => at)
      .toSorted()
      .at(-1)
    return {
      orgId,
      ...orders,
      leaves: Buffer.concat(own.map(({ text }) => leafOf(sha256, text))),
      activityCount: activity.length,
      ...(activityTo !== undefined && { activityTo }),
      ids: {
        ...(ids.audit.length > 0 && { auditFirst: ids.audit[0]!, auditLast: ids.audit.at(-1)! }),
        ...(ids.activity.length > 0 && {
          activityFirst: ids.activity[0]!,
          activityLast: ids.activity.at(-1)!,
        }),
      },
    }
  })
}

/** The database has gone back since the last seal: every organization is told so by a signed seal without rows. */
async function sealBreak(deps: SealDeps, stopping: AbortSignal | undefined): Promise<void> {
  const { db, clock } = deps
  const known = (await readTrailState(db)).epoch
  if (known === undefined || known === (await readEpoch(db))) return
  let after: string | undefined = ''
  while (after !== undefined) {
    if (stopping?.aborted) return
    const from: string = after
    after = await withTransaction(db, async (tx) => {
      const state = await lockTrailState(tx)
      const epoch = await readEpoch(tx)
      const heads = await tx.execute<{ orgId: string; epoch: string }>(sql`
        with recursive org(id, place) as (
          (select org_id, 1 from trail_seals where org_id > ${from} order by org_id limit 1)
          union all
          select next.org_id, org.place + 1 from org cross join lateral (
            select org_id from trail_seals where org_id > org.id order by org_id limit 1) next
          where org.place < ${String(ORGANIZATIONS_AT_ONCE)}::int)
        select org.id as "orgId", head.epoch from org cross join lateral (
          select epoch from trail_seals where org_id = org.id order by number desc limit 1) head
        order by org.place`)
      const orders = { orderFrom: state.sealedTo, orderTo: state.sealedTo }
      const seals = heads
        .filter((head) => head.epoch !== epoch)
        .map(({ orgId }) => ({ orgId, ...orders, leaves: Buffer.alloc(0) }))
      if (seals.length > 0)
        await writeSeals(tx, { signer: await readSigner(tx, deps), epoch, now: clock() }, seals)
      if (heads.length === ORGANIZATIONS_AT_ONCE) return heads.at(-1)!.orgId
      await saveTrailState(tx, { ...state, epoch })
      return undefined
    })
  }
}

/**
 * After they are stored, and again where a process died in between: the folder may have one twice, and lacks none. The folder may
 * be slow, so nobody who seals waits for it.
 */
async function writeRoots({ db, trailRoots }: SealDeps, stopping: AbortSignal | undefined): Promise<void> {
  if (!trailRoots) return
  for (;;) {
    if (stopping?.aborted) return
    const { writtenTo = 0 } = await readTrailState(db)
    const seals = await db.execute<Signed & { place: number }>(sql`
      select signed, signature, place::float8 as place from trail_seals
      where place > ${String(writtenTo)}::bigint order by place limit ${String(ROOTS_AT_ONCE)}::int`)
    const last = seals.at(-1)?.place
    if (last === undefined) return
    await trailRoots.append(seals.map(({ signed, signature }) => ({ signed, signature })))
    await withTransaction(db, async (tx) => {
      const state = await lockTrailState(tx)
      // Another one may have written as well, and further.
      await saveTrailState(tx, { ...state, writtenTo: Math.max(last, state.writtenTo ?? 0) })
    })
  }
}
