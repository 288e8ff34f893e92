import { expect, test } from 'vitest'
import { nameFromFile } from './name-from-file.ts'

test.each([
  ['Staff Handbook 2026.csv', 'staff_handbook_2026'],
  ['préis-liste.final.ndjson', 'preis_liste_final'],
  ['2026.csv', ''],
  ['日本.csv', ''],
  [`${'long '.repeat(20)}.csv`, 'long_long_long_long'],
])('%s is %s', (filename, name) => {
  expect(nameFromFile(filename, 20)).toBe(name)
})
