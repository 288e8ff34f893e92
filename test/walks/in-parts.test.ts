/** A large table is gone through in parts: every row once. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../../db/drizzle.ts'
import { inParts } from '../../src/cores/in-parts.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await newDatabase()
})
afterAll(() => database?.close())

test.each([
  ['a table', sql``],
  ['partitions', sql`partition by hash (n)`],
])('%s: every row is in one part, and each statement reads no more than a part', async (_what, kind) => {
  const { db } = database
  await db.execute(sql`drop table if exists many`)
  await db.execute(sql`create table many (n int, filler text) ${kind}`)
  const [table] = await db.execute<{ kind: string }>(
    sql`select relkind as kind from pg_class where oid = 'many'::regclass`,
  )
  for (const part of table!.kind === 'p' ? ['0', '1'] : []) {
    await db.execute(
      sql.raw(`create table many_${part} partition of many for values with (modulus 2, remainder ${part})`),
    )
  }
  await db.execute(sql`insert into many select n, repeat('x', 1000) from generate_series(1, 1000) n`)
  const parts: number[][] = []
  await inParts(db, { table: 'many', blocks: 20 }, async (isInPart) => {
    const rows = await db.execute<{ n: number }>(sql`select n from many where ${isInPart}`)
    parts.push(rows.map(({ n }) => n))
    await db.execute(sql`delete from many where ${isInPart} and n % 2 = 0`)
  })
  expect(parts.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, at) => at + 1))
  expect(parts.length).toBeGreaterThan(5)
  expect(Math.max(...parts.map((part) => part.length))).toBeLessThan(200)
  const [left] = await db.execute<{ count: number }>(sql`select count(*)::int as count from many`)
  expect(left!.count).toBe(500)
})

test('an empty table has none', async () => {
  const { db } = database
  await db.execute(sql`create table none (n int)`)
  const parts: unknown[] = []
  await inParts(db, { table: 'none' }, async (isInPart) => parts.push(isInPart))
  expect(parts).toEqual([])
})
