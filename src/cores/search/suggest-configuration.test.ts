import { expect, test } from 'vitest'
import { suggestConfiguration } from './suggest-configuration.ts'

const column = (name: string, type = 'text') => ({ name, type })
const VECTOR = { name: 'embedding', dimensions: 384, models: ['minilm-l6-v2'], metric: null, index: null }

const table = (name: string): Parameters<typeof suggestConfiguration>[0][number] => ({
  table: name,
  kind: 'table',
  rows: 3,
  is_estimated: false,
  configured: false,
  columns: [column('id', 'int4'), column('title'), column('body'), column('embedding', 'vector')],
  vectors: [{ ...VECTOR, without_vector: 0 }],
})

test('a table whose name no configuration may hold keeps out itself, and no other', () => {
  const tooLong = `${'s'.repeat(63)}.${'t'.repeat(64)}`
  const suggested = suggestConfiguration([table(tooLong), table('public.articles')], null)
  const tables = suggested?.connection_config.embedding_configs.map((entry) => entry.table)
  expect(tables).toEqual(['public.articles'])
  expect(suggestConfiguration([table(tooLong)], null)).toBe(null)
})
