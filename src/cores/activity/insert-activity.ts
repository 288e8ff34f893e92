/**
 * Writes activity. Rows that are ready in the same turn of the event loop go in one statement, which under load halves the
 * writes, and as one value: the driver takes longer for twenty parameters than for all of their text.
 */
import { locally } from '../../../db/commit-locally.ts'
import type { Handle } from '../../../db/connect.ts'
import { getTableColumns, sql } from '../../../db/drizzle.ts'
import { activity, trailPending } from '../../../db/schema.ts'
import { notifyChangeSoon } from '../changes/index.ts'
import { preparedQuery } from '../prepared-query.ts'

type Row = typeof activity.$inferInsert
type Waiting = { readonly row: Row; readonly done: PromiseWithResolvers<void> }

/** Thousands of calls may end in one turn, which waited for the same thing. */
const ROWS_AT_ONCE = 500

const waiting = new WeakMap<Handle, Waiting[]>()

/** Resolves once the row is stored. */
export function insertActivity(db: Handle, row: Row): Promise<void> {
  const done = Promise.withResolvers<void>()
  const rows = waiting.get(db)
  if (rows && rows.length < ROWS_AT_ONCE) rows.push({ row, done })
  else insertSoon(db, [{ row, done }])
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
    await insertRows(db).execute({ rows: JSON.stringify(rows.map(({ row }) => row)) })
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

/** Each gets its place in the trail, and is noted for whoever seals it: an index of the table itself would be a fifth one. */
const insertRows = preparedQuery((db) => {
  const rows = sql`json_to_recordset(${sql.placeholder('rows')}::json) as rows (${FIELDS}) where ${locally}`
  const added = db.$with('added', {}).as(sql`
    insert into activity (${COLUMNS}) select rows.*, nextval('trail_order') from ${rows}
    returning trail_order, org_id, id`)
  return db
    .with(added)
    .insert(trailPending)
    .select(sql`select trail_order, org_id, id from added`)
    .prepare('insert_activity')
})
