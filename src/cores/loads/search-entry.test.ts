import { expect, test } from 'vitest'
import type { StoredPlan } from '../../../db/schema.ts'
import { withTable } from './search-entry.ts'

const PLAN = {
  table: 'papers',
  append: false,
  model: 'm',
  dimensions: 3,
  language: 'english',
  saveConfiguration: true,
  columns: [
    { name: 'id', type: 'text' },
    { name: 'title', type: 'text' },
    { name: 'seen_by', type: 'text[]' },
    { name: 'tags', type: 'text[]' },
  ],
  id: 0,
  title: 1,
  embed: [1],
} as unknown as StoredPlan

test('the column that says who sees a row is neither returned nor filtered on', () => {
  const before = { connection_config: { embedding_configs: [] }, filter_schema: {} }
  const contentOf = (access_column?: string) => {
    const { connection_config, filter_schema } = withTable(
      { ...before, ...(access_column && { access_column }) },
      PLAN,
    )
    return [connection_config.embedding_configs[0]!.content_columns, filter_schema]
  }
  expect(contentOf('seen_by')).toEqual(['id,title,tags', { tags: 'string' }])
  expect(contentOf()).toEqual(['id,title,seen_by,tags', { seen_by: 'string', tags: 'string' }])
})
