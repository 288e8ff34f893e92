import { expect, test } from 'vitest'
import type { Hit, SearchEntry } from '../../contracts/data-sources.ts'
import type { Queries } from '../databases/index.ts'
import { foldPassages } from './passages.ts'

const passage = (id: string): Hit => ({
  id,
  title: null,
  metadata: { path: `${id.split(' ')[0]}.md`, heading: '', passage: `Passage ${id}` },
})

/** A database that marks no word. */
const queries = {
  query: async (_text: string, [, given]: readonly string[]) =>
    (JSON.parse(given!) as string[]).map((marked) => ({ marked })),
} as unknown as Queries

test('a document is one hit with its two next passages, of those that would have been hits themselves', async () => {
  const found = ['leave 1', 'leave 2', 'desk 1', 'leave 3', 'leave 4', 'kitchen 1', 'desk 2'].map(passage)
  const folded = await foldPassages(queries, {} as SearchEntry, 'leave', { found, limit: 6 })
  expect(folded.map(({ id, passages = [] }) => [id, ...passages.map((further) => further.id)])).toEqual([
    ['leave 1', 'leave 2', 'leave 3'],
    ['desk 1'],
    ['kitchen 1'],
  ])
})
