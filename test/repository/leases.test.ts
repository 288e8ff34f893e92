/** What every lease promises is tested for all of them from one table: one that is missing there is not. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { filesUnder } from './source-tree.ts'

const find = (pattern: RegExp, files: readonly string[]): string[] =>
  files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, table]) => table!))
const once = (tables: readonly string[]) => [...new Set(tables)].toSorted()

test('every table with a lease is in the table of the transition tests, and no other', () => {
  const product = filesUnder('src').filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  const leased = find(/\bleased\(\s*(\w+)\s*,/g, product)
  expect(leased.length).toBeGreaterThan(9)
  expect(once(find(/^ {2}table: tables\.(\w+),$/gm, ['test/walks/leases.test.ts']))).toEqual(once(leased))
})
