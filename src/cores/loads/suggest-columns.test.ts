import { expect, test } from 'vitest'
import { suggestColumns } from './suggest-columns.ts'

test('the id, the title, and texts of several words', () => {
  const rows = [
    ['7', 'Tent', 'A light tent for two people', '199.90'],
    ['8', 'Stove', 'A small stove that burns wood', '49'],
  ]
  expect(suggestColumns(['sku', 'name', 'description', 'price'], rows)).toEqual({
    id_column: 'sku',
    title_column: 'name',
    embed_columns: ['name', 'description'],
  })
})

test('an id that is there twice is none', () => {
  expect(
    suggestColumns(
      ['id', 'text'],
      [
        ['1', 'one'],
        ['1', 'two'],
      ],
    ).id_column,
  ).toBeNull()
})

test('something is always embedded', () => {
  expect(suggestColumns(['a', 'b'], [['1', '2']]).embed_columns).toEqual(['a'])
})
