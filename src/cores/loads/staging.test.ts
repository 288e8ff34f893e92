import { expect, test } from 'vitest'
import type { Queries } from '../databases/index.ts'
import { contentFrom, contentTable, finishedTable, removeStaging, rowsTable, stagedTable } from './staging.ts'

const ID = 'lod_1'

test('whoever makes a table while what was staged is removed makes it before it is removed, or not at all', async () => {
  const tables = new Set([contentTable(ID), rowsTable(ID), stagedTable(ID), finishedTable(ID)])
  // As `whileStaged` does, at any moment between two statements.
  const makeAgain = () => {
    if (tables.has(rowsTable(ID))) tables.add(stagedTable(ID))
  }
  const queries: Queries = {
    query(text) {
      for (const name of tables) if (text.includes(`exists ${name} `)) tables.delete(name)
      makeAgain()
      return Promise.resolve([])
    },
  }
  await removeStaging(queries, ID)
  expect([...tables]).toEqual([])
})

/** Parts of ten bytes, of which the third may be gone. */
function staged(content: string, { isThirdGone = false } = {}) {
  const looks: string[] = []
  const parts = Array.from({ length: Math.ceil(content.length / 10) }, (_, at) => ({
    at: at * 10,
    body: Buffer.from(content.slice(at * 10, at * 10 + 10)),
  })).filter(({ at }) => !(isThirdGone && at === 20))
  const queries = {
    async query(_text: string, [offset, bytes]: readonly string[]) {
      const [first, end] = [Number(offset), Number(offset) + Number(bytes)]
      looks.push(`${first} to ${end}`)
      return parts
        .filter(({ at, body }) => at < end && at + body.length > first)
        .map(({ at, body }) => ({ at: String(at), body: body.toString('base64') }))
    },
  } as unknown as Queries
  return { next: contentFrom(queries, ID, 0), looks }
}

test('small files one behind the other are read part by part, not part by file', async () => {
  const { next, looks } = staged('abcdefghijklmnopqrstuvwxyz')
  const files: string[] = []
  for (const bytes of [3, 2, 0, 4, 3, 8, 6]) files.push(String(await next(bytes)))
  expect(files).toEqual(['abc', 'de', '', 'fghi', 'jkl', 'mnopqrst', 'uvwxyz'])
  expect(looks).toEqual(['0 to 3', '10 to 12', '20 to 26'])
})

test('a file whose part is gone has fewer bytes than it should, and so has every file behind it', async () => {
  const { next } = staged('abcdefghijklmnopqrstuvwxyz1234', { isThirdGone: true })
  expect([String(await next(15)), String(await next(8)), String(await next(2))]).toEqual([
    'abcdefghijklmno',
    'pqrst',
    '',
  ])
})

test('a database that gives a byte at a time is asked once for a file', async () => {
  let looks = 0
  const queries = {
    async query(_text: string, [at]: readonly string[]) {
      looks += 1
      return [{ at, body: Buffer.from('x').toString('base64') }]
    },
  } as unknown as Queries
  expect(String(await contentFrom(queries, ID, 0)(1_000))).toBe('x')
  expect(looks).toBe(1)
})

test('what was read of a file is held by nobody but whoever asked for it', async () => {
  const { next } = staged('x'.repeat(20_000))
  const [first, second] = [await next(10_001), await next(9_999)]
  expect([first, second].map((file) => [file.length, file.buffer.byteLength])).toEqual([
    [10_001, 10_001],
    [9_999, 9_999],
  ])
})
