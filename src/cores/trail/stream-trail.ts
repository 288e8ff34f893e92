/** The sealed trail as events, from a cursor on: of epoch and sequence number. */
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import type { TrailRow } from '../../contracts/trail-format.ts'
import { read, type OutputOf, type Verb } from '../verb.ts'
import { ocsfEvent } from './ocsf-event.ts'
import { readSealedRows, readSeals } from './sealed-rows.ts'

export type TrailCursor = { readonly epoch: string; readonly row: number }

export const streamTrail: Verb<'streamTrail'> = read(async ({ db, orgId }, { after, limit }) => {
  const { next, ...page } = await readEvents(db, orgId, { after: readCursor(after), limit })
  return { ...page, next: `${next.epoch}:${next.row}` }
})

export const TRAIL_BEGIN: TrailCursor = { epoch: '0-0', row: 0 }

function readCursor(text: string | undefined): TrailCursor {
  if (text === undefined) return TRAIL_BEGIN
  const [epoch, row] = text.split(':')
  return { epoch: epoch!, row: Number(row) }
}

export async function readEvents(
  db: Handle,
  orgId: string,
  { after, limit }: { readonly after: TrailCursor; readonly limit: number },
): Promise<Pick<OutputOf<'streamTrail'>, 'events' | 'seals'> & { readonly next: TrailCursor }> {
  const from = await rowOf(db, orgId, after)
  const known = from === 0 ? undefined : await sealOf(db, orgId, from)
  const isInside = known !== undefined && known.firstRow + known.rowCount - 1 > from
  // Seals without rows stand behind the row that was seen last: breaks, and what retention deleted.
  const first = known ? known.number + (isInside ? 0 : 1) : 1
  const seals = await readSeals(db, orgId, {
    from: first,
    rows: limit + (isInside ? from + 1 - known.firstRow : 0),
  })
  const end = seals.at(-1)
  if (!end) return { events: [], seals: [], next: after }
  const rows = await readSealedRows(db, orgId, seals)
  const found = seals.flatMap(({ number, epoch }) => rows.get(number)!.map((row) => ({ ...row, epoch })))
  const events = found.filter(({ number }) => number > from).slice(0, limit)
  const isFull = events.length === limit
  // Where retention has deleted the rows of a seal, it goes on behind them.
  const last = isFull ? events.at(-1)! : { number: end.firstRow + end.rowCount - 1, epoch: end.epoch }
  return {
    events: events.map(({ number, text, epoch }) =>
      ocsfEvent(orgId, { number, epoch, row: JSON.parse(text) as TrailRow }),
    ),
    seals: seals
      .filter(({ firstRow }) => firstRow <= last.number + 1)
      .map(({ signed, signature }) => ({ signed, signature })),
    next: { epoch: last.epoch, row: last.number },
  }
}

type SealOfRow = {
  readonly number: number
  readonly epoch: string
  readonly firstRow: number
  readonly rowCount: number
}

async function sealOf(db: Handle, orgId: string, row: number): Promise<SealOfRow | undefined> {
  const [seal] = await db.execute<SealOfRow>(sql`
    select number::float8 as number, epoch, first_row::float8 as "firstRow", row_count as "rowCount"
    from trail_seals where org_id = ${orgId} and first_row <= ${String(row)}::bigint and row_count > 0
    order by first_row desc limit 1`)
  return seal && seal.firstRow + seal.rowCount > row ? seal : undefined
}

/**
 * The last row that whoever has this cursor has seen of this very trail. Where the database has gone back since, what came
 * after that is gone, and other rows have its numbers. Epochs follow each other within a lineage alone: of a restore only the
 * rows of the lineage that the cursor is of are known to have been seen.
 */
async function rowOf(db: Handle, orgId: string, { epoch, row }: TrailCursor): Promise<number> {
  if (row === 0 || (await sealOf(db, orgId, row))?.epoch === epoch) return row
  const [known] = await db.execute<{ row: number | null }>(sql`
    select max(first_row + row_count - 1)::float8 as row from trail_seals
    where org_id = ${orgId} and split_part(epoch, '-', 2) = split_part(${epoch}::text, '-', 2)
      and split_part(epoch, '-', 1)::bigint <= split_part(${epoch}::text, '-', 1)::bigint`)
  return Math.min(row, known?.row ?? 0)
}
