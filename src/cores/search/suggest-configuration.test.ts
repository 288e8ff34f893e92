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

test('the column that says who sees a row is not among those that are returned', () => {
  const guarded = { ...table('public.a'), columns: [column('id', 'int4'), column('seen_by'), column('body')] }
  const saved = { connection_config: { embedding_configs: [] }, filter_schema: {}, access_column: 'seen_by' }
  const suggested = suggestConfiguration([guarded], saved)
  expect(suggested?.connection_config.embedding_configs[0]?.content_columns).toBe('id, body')
  expect(suggested?.access_column).toBe('seen_by')
})
