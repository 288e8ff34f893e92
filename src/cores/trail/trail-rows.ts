/** Rows of the trail, as they are sealed, exported and streamed: every column, by the names of trail-format.ts. */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { TRAIL_FIELDS, type TrailKind, type TrailRow } from '../../contracts/trail-format.ts'

export const TRAIL_TABLES = { audit: 'audit_log', activity: 'activity' } as const satisfies Record<
  TrailKind,
  string
>

export type OrderedRow = { readonly orgId: string; readonly order: number; readonly row: TrailRow }

const columnsOf = (kind: TrailKind): SQL =>
  sql.raw(
    TRAIL_FIELDS[kind]
      .flatMap((field) => {
        if (field === 'kind') return []
        return field === 'at' ? ['(extract(epoch from at) * 1000)::float8'] : [field]
      })
      .join(', '),
  )

/** As one value: the driver takes longer for twenty columns than for all of their text. */
export async function readRows(
  db: Handle,
  kind: TrailKind,
  { where, limit }: { readonly where: SQL; readonly limit?: number },
): Promise<OrderedRow[]> {
  const [found] = await db.execute<{ rows: string }>(sql`
    select coalesce(json_agg(found.is), '[]')::text as rows from (
      select json_build_array(org_id, trail_order, ${columnsOf(kind)}) as is
      from ${sql.raw(TRAIL_TABLES[kind])} where ${where} order by trail_order
      ${limit === undefined ? sql`` : sql`limit ${String(limit)}::int`}
    ) found`)
  const fields = TRAIL_FIELDS[kind].slice(1)
  return (JSON.parse(found!.rows) as unknown[][]).map(([orgId, order, ...values]) => {
    const row: Record<string, unknown> = { kind }
    for (let at = 0; at < fields.length; at++) {
      const value = values[at]
      if (value !== null) row[fields[at]!] = fields[at] === 'at' ? isoTime(value as number) : value
    }
    return { orgId: orgId as string, order: order as number, row: row as TrailRow }
  })
}

const isoTime = (ms: number): string => new Date(Math.round(ms)).toISOString()

export const inOrder = (...lists: readonly (readonly OrderedRow[])[]): OrderedRow[] =>
  lists.flat().toSorted((a, b) => a.order - b.order)
