/** Seals of one organization with their rows, read by the primary keys of their tables. */
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { HASH_BYTES, leafOf, type TrailKind } from '../../contracts/trail-format.ts'
import { sha256 } from '../../trust/trail-key.ts'
import { inOrder, readRows, type OrderedRow } from './trail-rows.ts'

export type Seal = {
  readonly number: number
  readonly epoch: string
  readonly firstRow: number
  readonly rowCount: number
  readonly orderFrom: number
  readonly orderTo: number
  readonly activityFirst: string | null
  readonly activityLast: string | null
  readonly auditFirst: string | null
  readonly auditLast: string | null
  readonly signed: string
  readonly signature: string
  readonly leaves: Buffer
}

export type NumberedRow = Pick<OrderedRow, 'text'> & { readonly number: number }

const SEALS_AT_ONCE = 1_000
const ROWS_AT_ONCE = 5_000

/** Some seals from a number on: as many as have so many rows together, and at least one. */
export async function readSeals(
  db: Handle,
  orgId: string,
  { from, rows = ROWS_AT_ONCE }: { readonly from: number; readonly rows?: number },
): Promise<Seal[]> {
  // Which they are is found without their hashes, which are larger than all the rest.
  const found = await db.execute<Omit<Seal, 'leaves'> & { leaves: string }>(sql`
    select number::float8 as number, epoch, first_row::float8 as "firstRow", row_count as "rowCount",
      order_from::float8 as "orderFrom", order_to::float8 as "orderTo",
      activity_first as "activityFirst", activity_last as "activityLast",
      audit_first as "auditFirst", audit_last as "auditLast", signed, signature, encode(leaves, 'base64') as leaves
    from trail_seals where org_id = ${orgId} and number >= ${String(from)}::bigint and number <= (
      select max(number) from (
        select number, sum(row_count) over (order by number) - row_count as before
        from (select number, row_count from trail_seals where org_id = ${orgId} and number >= ${String(from)}::bigint
          order by number limit ${String(SEALS_AT_ONCE)}::int) next
      ) counted where before < ${String(rows)}::int)
    order by number`)
  return found.map((seal) => ({ ...seal, leaves: Buffer.from(seal.leaves, 'base64') }))
}

/** The rows of seals that follow each other, by their sequence numbers. */
export async function readSealedRows(
  db: Handle,
  orgId: string,
  seals: readonly Seal[],
): Promise<ReadonlyMap<number, readonly NumberedRow[]>> {
  const rows = inOrder(await readOf(db, orgId, 'audit', seals), await readOf(db, orgId, 'activity', seals))
  const found = new Map<number, readonly NumberedRow[]>()
  let at = 0
  for (const seal of seals) {
    const own: OrderedRow[] = []
    while (at < rows.length && rows[at]!.order <= seal.orderTo) {
      if (rows[at]!.order > seal.orderFrom) own.push(rows[at]!)
      at++
    }
    found.set(seal.number, numbered(seal, own))
  }
  return found
}

async function readOf(
  db: Handle,
  orgId: string,
  kind: TrailKind,
  seals: readonly Seal[],
): Promise<OrderedRow[]> {
  const withRows = seals.filter((seal) => seal[`${kind}First`] !== null)
  if (withRows.length === 0) return []
  const first = withRows.map((seal) => seal[`${kind}First`]!).toSorted()[0]!
  const last = withRows
    .map((seal) => seal[`${kind}Last`]!)
    .toSorted()
    .at(-1)!
  return readRows(db, kind, {
    where: sql`org_id = ${orgId} and id >= ${first} and id <= ${last}
      and trail_order > ${String(withRows[0]!.orderFrom)}::bigint and trail_order <= ${String(withRows.at(-1)!.orderTo)}::bigint`,
  })
}

/** Where some are missing, each has the number of its hash; one that was changed has that behind the row before it. */
function numbered({ firstRow, rowCount, leaves }: Seal, rows: readonly OrderedRow[]): NumberedRow[] {
  if (rows.length === rowCount) return rows.map(({ text }, at) => ({ number: firstRow + at, text }))
  let next = firstRow
  return rows.map(({ text }) => {
    const at = indexOfHash(leaves, leafOf(sha256, text))
    const number = at < 0 ? next : firstRow + at
    next = number + 1
    return { number, text }
  })
}

function indexOfHash(leaves: Buffer, leaf: Uint8Array): number {
  for (let at = leaves.indexOf(leaf); at >= 0; at = leaves.indexOf(leaf, at + 1)) {
    if (at % HASH_BYTES === 0) return at / HASH_BYTES
  }
  return -1
}
