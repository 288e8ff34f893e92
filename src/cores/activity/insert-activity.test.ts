import type postgres from 'postgres'
import { expect, test } from 'vitest'
import type { Handle } from '../../../db/connect.ts'
import { drizzle, getTableColumns } from '../../../db/drizzle.ts'
import { activity } from '../../../db/schema.ts'
import { insertActivity } from './insert-activity.ts'

/** A driver that answers as it is told, and remembers how many rows each statement had. */
function fakeDatabase(failure: (requestIds: readonly string[]) => Error | undefined = () => undefined) {
  const sizes: number[] = []
  const unsafe = (_text: string, [rows]: readonly string[]) => {
    const requestIds = (JSON.parse(rows!) as { requestId: string }[]).map(({ requestId }) => requestId)
    sizes.push(requestIds.length)
    const failed = failure(requestIds)
    return failed ? Promise.reject(failed) : Promise.resolve([])
  }
  const client = { unsafe, options: { parsers: {}, serializers: {} } } as unknown as postgres.Sql
  return { db: drizzle(client) as unknown as Handle, sizes }
}

const row = (requestId: string) => ({ requestId }) as typeof activity.$inferInsert
const failing = (code: string) => Object.assign(new Error(code), { code })

async function insertThree(failure: (requestIds: readonly string[]) => Error | undefined) {
  const { db, sizes } = fakeDatabase(failure)
  const inserted = ['a', 'b', 'c'].map((requestId) => insertActivity(db, row(requestId)))
  const outcomes = (await Promise.allSettled(inserted)).map((outcome) =>
    outcome.status === 'fulfilled' ? 'stored' : (outcome.reason as Error).cause,
  )
  return { outcomes, sizes }
}

test.each(['22P05', '22P02', '23502', '23514'])(
  'a row that is refused (%s) is refused alone',
  async (code) => {
    const error = failing(code)
    const { outcomes, sizes } = await insertThree((requestIds) =>
      requestIds.includes('b') ? error : undefined,
    )
    expect(outcomes).toEqual(['stored', error, 'stored'])
    expect(sizes).toEqual([3, 1, 1, 1])
  },
)

test.each([
  'CONNECTION_CLOSED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  '08006',
  '53100',
  '57014',
  '57P01',
  '40001',
])('an error that is of no row (%s) is told to all, and nothing is sent twice', async (code) => {
  const error = failing(code)
  let failures = 0
  const { outcomes, sizes } = await insertThree(() => ((failures += 1) === 1 ? error : undefined))
  expect(outcomes).toEqual([error, error, error])
  expect(sizes).toEqual([3])
})

test('calls that end in one turn are written by hundreds', async () => {
  const { db, sizes } = fakeDatabase()
  await Promise.all(Array.from({ length: 1_201 }, (_, at) => insertActivity(db, row(String(at)))))
  expect(sizes).toEqual([500, 500, 201])
  await insertActivity(db, row('next'))
  expect(sizes).toEqual([500, 500, 201, 1])
})

test('no column has a value that drizzle or the database would give: what a row leaves out is null', () => {
  const columns = Object.values(getTableColumns(activity))
  const given = columns.filter(
    ({ hasDefault, generated, generatedIdentity, onUpdateFn }) =>
      hasDefault || generated || generatedIdentity || onUpdateFn,
  )
  expect(columns.length).toBeGreaterThan(10)
  expect(given.map(({ name }) => name)).toEqual([])
})
