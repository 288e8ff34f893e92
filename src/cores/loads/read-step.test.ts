import { createHash, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { LOAD_PART_BYTES, LOAD_PART_MIN_BYTES } from '../../contracts/limits.ts'
import type { Queries } from '../databases/index.ts'
import { readStep } from './read-step.ts'
import type { StepContext } from './step.ts'

const FILE = randomBytes(3 * 1024 * 1024 + 777)
const sha256 = createHash('sha256').update(FILE).digest('hex')
type Part = { readonly at: number; readonly body: Buffer }

const partAt = (at: number, length: number): Part => ({ at, body: FILE.subarray(at, at + length) })

/** Sizes in turn, until the file is over. */
function partsOf(...sizes: number[]): Part[] {
  const parts: Part[] = []
  for (let at = 0; at < FILE.length; at += parts.at(-1)!.body.length) {
    parts.push(partAt(at, sizes[parts.length % sizes.length]!))
  }
  return parts
}

/** As the table of parts answers. */
const staged =
  (parts: readonly Part[]) =>
  (offset: number, bytes: number): readonly Part[] =>
    parts
      .filter(
        ({ at, body }) => at > offset - LOAD_PART_BYTES && at < offset + bytes && at + body.length > offset,
      )
      .toSorted((a, b) => a.at - b.at)

/** The step in which all was read, and what the database was asked meanwhile. */
async function digest(
  answer: (offset: number, bytes: number) => readonly Part[],
  clock = () => new Date(0),
): Promise<{ outcome: unknown; statements: number }> {
  let statements = 0
  const queries: Queries = {
    query<Row extends object>(_text: string, [offset, bytes]: readonly (string | null)[] = []) {
      statements += 1
      const rows = answer(Number(offset), Number(bytes))
      return Promise.resolve(
        rows.map(({ at, body }) => ({ at: String(at), body: body.toString('base64') })) as object[] as Row[],
      )
    },
  }
  const context = { deps: { clock }, queries, plan: {} } as unknown as StepContext
  const load = { id: 'lod_1', bytes: FILE.length, readBytes: FILE.length, sha256 }
  const outcome = await readStep(context, load as never).catch((error: unknown) => error)
  return { outcome, statements }
}

test.each([
  ['the largest', partsOf(LOAD_PART_BYTES)],
  ['the smallest', partsOf(LOAD_PART_MIN_BYTES)],
  ['almost the largest', partsOf(LOAD_PART_BYTES - 1)],
  ['many sizes', partsOf(LOAD_PART_MIN_BYTES, LOAD_PART_BYTES, 70_001, LOAD_PART_BYTES - 5, 1_025)],
  [
    'the smallest, one of which a late attempt has made longer than those behind it',
    [partAt(0, 9_999), ...partsOf(LOAD_PART_MIN_BYTES).slice(1)],
  ],
])('a file is whole, whatever parts it came in: %s', async (_name, parts) => {
  const { outcome, statements } = await digest(staged(parts))
  expect(outcome).toEqual({ phase: 'checking' })
  expect(statements).toBeLessThanOrEqual(4)
})

test('a database that gives a byte at a time is asked once', async () => {
  const { outcome, statements } = await digest((offset) => [partAt(offset, 1)])
  expect(outcome).toMatchObject({ name: 'LoadFailed', failure: 'staging_lost' })
  expect(statements).toBe(1)
})

test('a file of which a part is missing, or the end, is lost', async () => {
  const parts = partsOf(LOAD_PART_BYTES)
  for (const missing of [0, 1, parts.length - 1]) {
    const { outcome } = await digest(staged(parts.toSpliced(missing, 1)))
    expect(outcome).toMatchObject({ name: 'LoadFailed', failure: 'staging_lost' })
  }
})

test('a database that takes long for every part is left after twenty minutes, and tried again', async () => {
  let minutes = 0
  const parts = staged(partsOf(LOAD_PART_BYTES))
  const slow = (perStatement: number) =>
    digest(
      (offset, bytes) => {
        minutes += perStatement
        return parts(offset, bytes)
      },
      () => new Date(minutes * 60_000),
    )
  expect(await slow(11)).toMatchObject({ outcome: { name: 'ServiceError', code: 'TIMEOUT' }, statements: 2 })
  expect(await slow(4)).toEqual({ outcome: { phase: 'checking' }, statements: 4 })
})
