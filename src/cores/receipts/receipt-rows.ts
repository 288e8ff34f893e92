/** Receipts as they are stored, and as they are shown. */
import type { Handle } from '../../../db/connect.ts'
import { inArray, sql } from '../../../db/drizzle.ts'
import { receiptAcknowledgements, type receipts } from '../../../db/schema.ts'
import { CUT_KINDS, type Cut, type CutKind } from '../../contracts/receipt-format.ts'
import { publicTrailKeys } from '../trail/index.ts'

export type ReceiptRow = typeof receipts.$inferSelect

export const totalCut = (all: readonly Cut[]): Record<CutKind, number> => {
  const kinds = Object.keys(CUT_KINDS) as CutKind[]
  return Object.fromEntries(
    kinds.map((kind) => [kind, all.reduce((sum, cut) => sum + cut[kind], 0)]),
  ) as Record<CutKind, number>
}

/** Without what makes it a proof. */
export async function presentReceipts(db: Handle, rows: readonly ReceiptRow[]) {
  if (rows.length === 0) return []
  const acknowledged = await db
    .select()
    .from(receiptAcknowledgements)
    .where(
      inArray(
        receiptAcknowledgements.receiptId,
        rows.map(({ id }) => id),
      ),
    )
  const live = rows.some(({ finalAt }) => finalAt === null) ? await liveProcesses(db) : []
  const byReceipt = Map.groupBy(acknowledged, ({ receiptId }) => receiptId)
  return rows.map((row) => {
    const own = byReceipt.get(row.id) ?? []
    const by = new Set(own.map(({ process }) => process))
    return {
      id: row.id,
      state: row.finalAt === null ? ('pending' as const) : ('final' as const),
      rehearsal: row.isRehearsal,
      of: { kind: row.ofKind, id: row.ofId, name: row.ofName },
      by: { id: row.byId, name: row.byName },
      began_at: row.beganAt.toISOString(),
      final_at: row.finalAt?.toISOString() ?? null,
      ended: row.ended,
      cut: totalCut(own.map(({ cut }) => cut)),
      processes: {
        acknowledged: own.length,
        waiting_for: row.finalAt === null ? live.filter((name) => !by.has(name)).length : 0,
      },
      remains: [...row.remains],
    }
  })
}

async function liveProcesses(db: Handle): Promise<string[]> {
  const rows = await db.execute<{ name: string }>(
    sql`select name from processes where until > clock_timestamp() and not is_remote`,
  )
  return rows.map(({ name }) => name)
}

export async function presentReceipt(db: Handle, row: ReceiptRow) {
  const [shown] = await presentReceipts(db, [row])
  return { ...shown!, signed: row.signed, signature: row.signature, keys: await publicTrailKeys(db) }
}
