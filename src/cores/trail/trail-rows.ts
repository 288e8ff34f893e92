/** Rows of the trail, as they are sealed, exported and streamed: every column, by the names of trail-format.ts. */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { firstIdOf } from '../../contracts/ids.ts'
import { TRAIL_FIELDS, type TrailKind, type TrailRow } from '../../contracts/trail-format.ts'

const TRAIL_TABLES = { audit: 'audit_log', activity: 'activity' } as const satisfies Record<TrailKind, string>

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
  { from, where, limit }: { readonly from?: SQL; readonly where: SQL; readonly limit?: number },
): Promise<OrderedRow[]> {
  const [found] = await db.execute<{ rows: string }>(sql`
    select coalesce(json_agg(found.is), '[]')::text as rows from (
      select json_build_array(org_id, trail_order, ${columnsOf(kind)}) as is
      from ${from ?? sql.raw(TRAIL_TABLES[kind])} where ${where} order by trail_order
      ${limitOf(limit)}
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

const limitOf = (limit: number | undefined): SQL =>
  limit === undefined ? sql`` : sql`limit ${String(limit)}::int`

const isoTime = (ms: number): string => new Date(Math.round(ms)).toISOString()

export const inOrder = (...lists: readonly (readonly OrderedRow[])[]): OrderedRow[] =>
  lists.flat().toSorted((a, b) => a.order - b.order)

/** Those of activity that wait to be sealed, by their key; the others by the index of their order. */
export async function readUnsealed(
  db: Handle,
  kind: TrailKind,
  { began, after, upTo, orgId, limit }: Unsealed,
): Promise<OrderedRow[]> {
  const isNext = sql`trail_order > ${String(after)}::bigint
    ${upTo === undefined ? sql`` : sql`and trail_order <= ${String(upTo)}::bigint`}
    ${orgId === undefined ? sql`` : sql`and org_id = ${orgId}`}`
  if (kind === 'audit') {
    const isInReach = sql`id >= ${firstIdOf('aud', began)}`
    return readRows(db, kind, {
      where: sql`${isNext} and ${isInReach}`,
      ...(limit !== undefined && { limit }),
    })
  }
  const pending = sql`(select org_id as pending_org, id as pending_id from trail_pending where ${isNext}
    order by trail_order ${limitOf(limit)}) pending`
  const from = sql`${pending} join activity on org_id = pending_org and id = pending_id`
  return readRows(db, kind, { from, where: sql`true` })
}

type Unsealed = {
  readonly began: number
  readonly after: number
  readonly upTo?: number
  readonly orgId?: string
  readonly limit?: number
}
