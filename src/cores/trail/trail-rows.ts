/** Rows of the trail, as they are sealed, exported and streamed: every column, by the names of trail-format.ts. */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { firstIdOf } from '../../contracts/ids.ts'
import { TRAIL_FIELDS, type TrailKind, type TrailRow } from '../../contracts/trail-format.ts'

const TRAIL_TABLES = { audit: 'audit_log', activity: 'activity' } as const satisfies Record<TrailKind, string>

/** `text`: its JSON, which is what is hashed and exported. */
export type OrderedRow = Pick<TrailRow, 'kind' | 'id' | 'at'> & {
  readonly orgId: string
  readonly order: number
  readonly text: string
}

const columnOf = (field: string): string =>
  field === 'at' ? '(extract(epoch from at) * 1000)::float8 as at' : field

/**
 * Each column as one value: the database puts together a list of each in half the time that it takes for one of each row, and the
 * driver takes longer for rows of twenty columns than for all of their text. In any order, unless there is a limit.
 */
export async function readRows(
  db: Handle,
  kind: TrailKind,
  { from, where, limit }: { readonly from?: SQL; readonly where: SQL; readonly limit?: number },
): Promise<OrderedRow[]> {
  const [, ...fields] = TRAIL_FIELDS[kind]
  const columns = ['org_id', 'trail_order', ...fields]
  const lists = columns.map((name) => `json_agg(${name})::text as ${name}`).join(', ')
  const [found] = await db.execute<Record<string, string | null>>(sql`
    select ${sql.raw(lists)} from (
      select ${sql.raw(columns.map(columnOf).join(', '))}
      from ${from ?? sql.raw(TRAIL_TABLES[kind])} where ${where}
      ${limit === undefined ? sql`` : sql`order by trail_order ${limitOf(limit)}`}
    ) found`)
  // There is none.
  if (found!['id'] === null) return []
  const listOf = <Value>(name: string) => JSON.parse(found![name]!) as Value[]
  const orders = listOf<number>('trail_order')
  const orgIds = listOf<string>('org_id')
  const ids = listOf<string>('id')
  const times = listOf<number>('at').map(isoTime)
  const values = fields.map((name) => ({
    name: `,"${name}":`,
    list: name === 'at' ? times : listOf<string | number | null>(name),
    // Without a backslash in any there is none to be escaped.
    write: found![name]!.includes('\\') ? writeEscaped : writePlain,
  }))
  return orders.map((order, at) => {
    // Put together at once: a text that grows holds all of its parts in memory.
    const parts = [`{"kind":"${kind}"`]
    for (const { name, list, write } of values) {
      const value = list[at]!
      if (value !== null) parts.push(name, write(value))
    }
    parts.push('}')
    return { kind, id: ids[at]!, at: times[at]!, orgId: orgIds[at]!, order, text: parts.join('') }
  })
}

/** As JSON. */
const writeEscaped = (value: string | number): string => JSON.stringify(value)
const writePlain = (value: string | number): string =>
  typeof value === 'string' ? `"${value}"` : String(value)

const limitOf = (limit: number | undefined): SQL =>
  limit === undefined ? sql`` : sql`limit ${String(limit)}::int`

const HOUR_MS = 3_600_000
let hour = { at: 0, begin: '1970-01-01T00:' }

/** As `toISOString` has it; rows mostly follow each other within an hour, whose beginning is the same. */
function isoTime(ms: number): string {
  const time = Math.round(ms)
  const at = Math.floor(time / HOUR_MS)
  if (at !== hour.at)
    hour = { at, begin: new Date(at * HOUR_MS).toISOString().slice(0, -'00:00.000Z'.length) }
  const rest = time - at * HOUR_MS
  const [minutes, seconds] = [Math.floor(rest / 60_000), Math.floor(rest / 1000) % 60]
  return `${hour.begin}${padded(minutes, 2)}:${padded(seconds, 2)}.${padded(rest % 1000, 3)}Z`
}

const padded = (number: number, digits: number): string => String(number).padStart(digits, '0')

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
