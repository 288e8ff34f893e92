/**
 * Writes activity. Rows that are ready in the same turn of the event loop go in one statement, which under load halves the
 * writes, and as one value: the driver takes longer for twenty parameters than for all of their text.
 */
import { locally } from '../../../db/commit-locally.ts'
import type { Handle } from '../../../db/connect.ts'
import { getTableColumns, sql } from '../../../db/drizzle.ts'
import { activity, trailPending } from '../../../db/schema.ts'
import type { Scope } from '../../contracts/scopes.ts'
import { notifyChangeSoon } from '../changes/index.ts'
import { preparedQuery } from '../prepared-query.ts'

type Row = typeof activity.$inferInsert
/** What a call used of the rights of its grant; the source is empty where it was about none. */
export type Use = { readonly scope: Scope; readonly sourceId: string }
type Waiting = { readonly row: Row; readonly uses: readonly Use[]; readonly done: PromiseWithResolvers<void> }

/** Thousands of calls may end in one turn, which waited for the same thing. */
const ROWS_AT_ONCE = 500

const waiting = new WeakMap<Handle, Waiting[]>()

/** Resolves once the row is stored, and what the call used is counted, if it was an agent's. */
export function insertActivity(db: Handle, row: Row, uses: readonly Use[] = []): Promise<void> {
  const done = Promise.withResolvers<void>()
  const rows = waiting.get(db)
  const one = { row, uses: row.grantId ? uses : [], done }
  if (rows && rows.length < ROWS_AT_ONCE) rows.push(one)
  else insertSoon(db, [one])
  return done.promise
}

function insertSoon(db: Handle, rows: Waiting[]): void {
  waiting.set(db, rows)
  setImmediate(() => {
    if (waiting.get(db) === rows) waiting.delete(db)
    void insertAll(db, rows)
  })
}

async function insertAll(db: Handle, rows: readonly Waiting[]): Promise<void> {
  try {
    const uses = countUses(rows)
    const values = { rows: JSON.stringify(rows.map(({ row }) => row)) }
    if (uses.length === 0) await insertRows(db).execute(values)
    else await insertRowsAndUses(db).execute({ ...values, uses: JSON.stringify(uses) })
    for (const { row, done } of rows) {
      notifyChangeSoon(db, 'activity', row)
      done.resolve()
    }
  } catch (error) {
    // Of several, one may be to blame, and the others are other organizations': each by itself.
    if (rows.length > 1 && isAboutRows(error)) for (const one of rows) void insertAll(db, [one])
    else for (const { done } of rows) done.reject(error)
  }
}

/** SQLSTATE classes: 22 a value, 23 a constraint. */
const ABOUT_ROWS = /^2[23][0-9A-Z]{3}$/

/**
 * Nothing was stored, and another row may be. After a lost connection all may be, and a database that is away, full or slow
 * would have each row as a statement. Drizzle wraps the driver's error.
 */
function isAboutRows(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return ABOUT_ROWS.test(at.code)
  }
  return false
}

/** In the order of the columns, with their types. What a row leaves out is null. */
const { trailOrder: _, ...columns } = getTableColumns(activity)
const FIELDS = sql.raw(
  Object.entries(columns)
    .map(([key, column]) => `"${key}" ${column.getSQLType()}`)
    .join(', '),
)
const COLUMNS = sql.raw([...Object.values(columns), activity.trailOrder].map(({ name }) => name).join(', '))

/** One for each right, in one order everywhere: two statements with the same ones do not wait for each other in a circle. */
function countUses(rows: readonly Waiting[]) {
  const counted = new Map<string, Use & { orgId: string; grantId: string; calls: number; at: Date }>()
  for (const { row, uses } of rows) {
    for (const { scope, sourceId } of uses) {
      const key = `${row.orgId} ${row.grantId} ${scope} ${sourceId}`
      const known = counted.get(key)
      const at = known && known.at > row.at ? known.at : row.at
      counted.set(key, {
        orgId: row.orgId,
        grantId: row.grantId!,
        scope,
        sourceId,
        calls: (known?.calls ?? 0) + 1,
        at,
      })
    }
  }
  return [...counted].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, use]) => use)
}

/** Each gets its place in the trail, and is noted for whoever seals it: an index of the table itself would be a fifth one. */
const addedRows = (db: Handle) => {
  const rows = sql`json_to_recordset(${sql.placeholder('rows')}::json) as rows (${FIELDS}) where ${locally}`
  return db.$with('added', {}).as(sql`
    insert into activity (${COLUMNS}) select rows.*, nextval('trail_order') from ${rows}
    returning trail_order, org_id, id`)
}
const PENDING = sql`select trail_order, org_id, id from added`

const insertRows = preparedQuery((db) =>
  db.with(addedRows(db)).insert(trailPending).select(PENDING).prepare('insert_activity'),
)

/** In the same statement: what was answered is counted. */
const insertRowsAndUses = preparedQuery((db) => {
  const used = db.$with('used', {}).as(sql`
    insert into grant_uses (org_id, grant_id, scope, source_id, calls, last_used_at)
    select "orgId", "grantId", scope, "sourceId", calls, at
    from json_to_recordset(${sql.placeholder('uses')}::json) as uses (
      "orgId" text, "grantId" text, scope text, "sourceId" text, calls integer, at timestamptz)
    on conflict (org_id, grant_id, scope, source_id) do update set
      calls = grant_uses.calls + excluded.calls,
      last_used_at = greatest(grant_uses.last_used_at, excluded.last_used_at)`)
  return db.with(addedRows(db), used).insert(trailPending).select(PENDING).prepare('insert_activity_and_uses')
})
