/** A question at least: one Hono route that counts it, searches and writes down that it was asked, by prepared statements. */
import { Hono } from 'hono'
import postgres from 'postgres'
import { connect } from '../db/connect.ts'
import { openEmbedded } from '../db/embedded.ts'
import { migrate } from '../db/migrate.ts'
import { readMigrations } from '../db/read-migrations.ts'
import { SAFE_OPTIONS } from '../db/safe-transactions.ts'
import type { Queries } from '../src/cores/databases/index.ts'
import { vectorLiteral } from '../src/cores/search/quote.ts'
import { file } from './programs.ts'

/** As `takeQuestion` does it. */
const COUNT = `insert into question_counts as q (org_id, minute, in_minute, day, in_day) values ($1, $2::timestamptz, 1, $3::timestamptz, 1)
on conflict (org_id) do update set minute = greatest(q.minute, excluded.minute),
in_minute = case when q.minute >= $2::timestamptz then q.in_minute + 1 else 1 end, day = greatest(q.day, excluded.day),
in_day = case when q.day >= $3::timestamptz then q.in_day + 1 else 1 end
where (not (q.minute >= $2::timestamptz) or q.in_minute < $4) and (not (q.day >= $3::timestamptz) or q.in_day < $5) returning org_id`

/** As `recordingActivity` does it. */
const WRITE_DOWN = `insert into activity (org_id, id, at, type, name, source_id, user_id, user_name, entry_point, client_id, outcome, error,
duration_ms, question_bytes, answer_bytes, hits, question_digest, answer_digest, request_id)
values ($1, $2, $3::timestamptz, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`

export type Statements = ReturnType<typeof statementsOn>

export function statementsOn(sql: postgres.Sql) {
  let written = 0
  return {
    async count(): Promise<void> {
      const now = new Date().toISOString()
      const [minute, day] = [`${now.slice(0, 16)}:00Z`, `${now.slice(0, 10)}T00:00:00Z`]
      await sql.unsafe(COUNT, ['org', minute, day, '1000000', '100000000'], { prepare: true })
    },
    async writeDown(question: string, answer: string, hits: number): Promise<void> {
      const values = [
        'org',
        `act_${(written += 1)}`,
        new Date().toISOString(),
        'data_source',
        'db_bench',
        'ds_01jv0000000000000000000000',
        'usr_01jv0000000000000000000000',
        'somebody',
        'api',
        null,
        'answered',
        null,
        '1',
        String(question.length),
        String(answer.length),
        String(hits),
        '0123456789abcdef0123456789abcdef',
        '0123456789abcdef0123456789abcdef',
        'req_01jv0000000000000000000000',
      ]
      await sql.unsafe(WRITE_DOWN, values, { prepare: true })
    },
  }
}

export type Search = { readonly plain: string; readonly filtered: string }

export function bareQuestion(
  statements: Statements,
  queries: Queries,
  search: Search,
  vectorOf: (question: string) => Float32Array,
): Hono {
  return new Hono().post('/query', async (c) => {
    const { query, filters } = await c.req.json<{ query: string; filters?: { part: number[] } }>()
    await statements.count()
    const vector = vectorLiteral(vectorOf(query))
    const results = filters
      ? await queries.query(search.filtered, [vector, `{${filters.part.join(',')}}`])
      : await queries.query(search.plain, [vector])
    const answer = JSON.stringify({ count: results.length, results })
    await statements.writeDown(query, answer, results.length)
    return c.body(answer, 200, { 'content-type': 'application/json' })
  })
}

export type BarePlace = { readonly folder: string } | { readonly url: string }

/** The same tables in a database of its own, through the same driver with as many connections. */
export async function openBareControl(
  place: BarePlace,
): Promise<{ sql: postgres.Sql; close: () => Promise<void> }> {
  const first = await connect(place)
  await migrate(first.sql, await readMigrations(file('../db/migrations')))
  await first.close()
  const usual = { ...SAFE_OPTIONS, fetch_types: false, onnotice() {} }
  if ('url' in place) {
    const sql = postgres(place.url, { ...usual, max: 10 } as postgres.Options<Record<string, never>>)
    return { sql, close: () => sql.end({ timeout: 5 }) }
  }
  const { socket, close } = await openEmbedded(place.folder)
  // The driver's types leave out `socket`.
  const options = { ...usual, socket, user: 'postgres', database: 'postgres', max: 1, ssl: false }
  const sql = postgres('', options as unknown as postgres.Options<Record<string, never>>)
  return {
    sql,
    async close() {
      await sql.end({ timeout: 5 })
      await close()
    },
  }
}
