import { expect, test } from 'vitest'
import { cpuMs } from '../../../test/support/cpu-ms.ts'
import { columnNames } from './column-names.ts'

test.each<[readonly string[], readonly string[]]>([
  [
    ['id', 'Product Name', 'price (€)'],
    ['id', 'product_name', 'price'],
  ],
  [
    ['Straße', '日本', 'A-B', 'a b'],
    ['straße', '日本', 'a_b', 'a_b_2'],
  ],
  [
    ['embedding', 'words', 'ctid', 'row_number'],
    ['embedding_2', 'words_2', 'ctid_2', 'row_number_2'],
  ],
  [
    ['2024', '!!!', '"; drop table x; --', '$svc$'],
    ['column_2024', 'column', 'drop_table_x', 'svc'],
  ],
])('%j become %j', (headers, names) => {
  expect(columnNames(headers)).toEqual(names)
})

test('a name as long as a row does not take longer than a short one', () => {
  const spentMs = cpuMs(() => expect(columnNames(['x'.repeat(250_000)])).toEqual(['x'.repeat(59)]))
  expect(spentMs).toBeLessThan(1_000)
})

test('two long names that are cut stay apart, within what Postgres takes', () => {
  const names = columnNames([`${'ü'.repeat(60)}a`, `${'ü'.repeat(60)}b`])
  expect(new Set(names).size).toBe(2)
  for (const name of names) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63)
})
