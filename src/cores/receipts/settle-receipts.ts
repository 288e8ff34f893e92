/** A receipt is final when no process that has a lease is left that has not acknowledged it: then it is signed. */
import { sql } from '../../../db/drizzle.ts'
import type { Database, Transaction } from '../../../db/connect.ts'
import { notify } from '../../../db/listen.ts'
import type { Cut, Remains, SignedReceipt } from '../../contracts/receipt-format.ts'
import { REMOTE_ANSWER_SECONDS } from '../../contracts/limits.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import type { Clock } from '../dependencies.ts'
import { separately } from '../separately.ts'
import { committingLocally } from '../transaction.ts'
import { readSigner } from '../trail/index.ts'
import { readRemains } from './read-remains.ts'
import { totalCut, type ReceiptRow } from './receipt-rows.ts'

type SettleDeps = { readonly db: Database; readonly clock: Clock; readonly dataKeys: DataKeys }

/** Each by itself: one that cannot be signed holds up no other. */
export async function settleReceipts(deps: SettleDeps): Promise<void> {
  const settled = await deps.db.execute<{ id: string }>(
    sql`select id from receipts r where ${IS_SETTLED} order by id`,
  )
  const each = separately()
  for (const { id } of settled) await each.run(() => committingLocally(deps.db, (tx) => settle(tx, deps, id)))
  each.end()
}

async function settle(tx: Transaction, deps: SettleDeps, id: string): Promise<void> {
  const settled = await lockSettled(tx, id)
  if (!settled) return
  const { row, cuts, finalAt } = settled
  const signer = await readSigner(tx, deps)
  const remains = await remainsOf(tx, row)
  const receipt: SignedReceipt = {
    receipt: 1,
    id: row.id,
    org: row.orgId,
    of: { kind: row.ofKind, id: row.ofId, name: row.ofName },
    by: { id: row.byId, name: row.byName },
    ...(row.isRehearsal && { rehearsal: true }),
    began_at: new Date(row.beganAt).toISOString(),
    final_at: new Date(finalAt).toISOString(),
    ended: row.ended,
    cut: totalCut(cuts),
    processes: cuts.length,
    remains,
    key: signer.id,
  }
  const signed = JSON.stringify(receipt)
  await tx.execute(sql`update receipts set final_at = ${receipt.final_at}::timestamptz, signed = ${signed},
    remains = ${JSON.stringify(remains)}::text::jsonb, signature = ${signer.signReceipt(signed)} where id = ${row.id} and final_at is null`)
  await notify(tx, 'endings', row.id)
}

/** Read again: somebody may have got a connection string while their access ended. */
async function remainsOf(tx: Transaction, row: ReceiptRow): Promise<readonly Remains[]> {
  if (row.ofKind !== 'person' && row.ofKind !== 'organization') return []
  return readRemains(tx, row.orgId, row.ofKind === 'person' ? row.ofId : null)
}

type Settled = { readonly row: ReceiptRow; readonly cuts: readonly Cut[]; readonly finalAt: string }

const IS_MISSING = sql`not p.is_remote and p.until > clock_timestamp() and not exists (
    select from receipt_acknowledgements a where a.receipt_id = r.id and a.process = p.name)`

/** Of a process without a database each answer has a lease: the last one ends so long after somebody knew of the ending. */
const IS_SETTLED = sql`final_at is null
  and exists (select from receipt_acknowledgements a where a.receipt_id = r.id)
  and not exists (select from processes p where ${IS_MISSING})
  and (is_rehearsal or not exists (select from processes p where p.is_remote and p.until
      > (select min(at) from receipt_acknowledgements a where a.receipt_id = r.id))
    or (select min(at) from receipt_acknowledgements a where a.receipt_id = r.id)
      < clock_timestamp() - make_interval(secs => ${String(REMOTE_ANSWER_SECONDS)}::double precision))`

/** Until the next of the leases that it waits for is over, of which nobody tells. Null: it waits for none. */
export const LAPSES_IN_MS = sql`(
  select (extract(epoch from min(over_at) - clock_timestamp()) * 1000)::float8 from (
    select p.until as over_at from processes p where ${IS_MISSING}
    union all
    select min(at) + make_interval(secs => ${String(REMOTE_ANSWER_SECONDS)}::double precision)
    from receipt_acknowledgements a where a.receipt_id = r.id
  ) lease where over_at > clock_timestamp())`

/** Undefined: another process has it, or it is final. */
async function lockSettled(tx: Transaction, id: string): Promise<Settled | undefined> {
  const [found] = await tx.execute<Omit<Settled, 'row'> & Record<string, unknown>>(sql`
    select id, org_id as "orgId", of_kind as "ofKind", of_id as "ofId", of_name as "ofName", by_id as "byId",
      by_name as "byName", is_rehearsal as "isRehearsal", began_at::text as "beganAt", ended, whose,
      (select coalesce(json_agg(cut), '[]') from receipt_acknowledgements a where a.receipt_id = r.id) as cuts,
      -- Not before any of them has acknowledged it, nor before the last lease has lapsed.
      date_trunc('milliseconds', clock_timestamp() + interval '1 millisecond')::text as "finalAt"
    from receipts r where id = ${id} and ${IS_SETTLED} for update of r skip locked`)
  if (!found) return undefined
  const { cuts, finalAt, ...row } = found
  return { row: row as unknown as ReceiptRow, cuts, finalAt }
}
