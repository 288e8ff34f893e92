import { expect, test } from 'vitest'
import type { SearchEntry } from '../../contracts/data-sources.ts'
import { hasStoredWords, storeWordsAdvice, unusedColumnName } from './full-text.ts'
import type { TableInfo } from './table-info.ts'

const tableOf = (columns: Record<string, string>, more: object = {}, kind = 'r') =>
  ({
    kind,
    columns: new Map(
      Object.entries(columns).map(([name, type]) => [name, { name, type, virtual: false, ...more }]),
    ),
  }) as unknown as TableInfo

const ENTRY = { table: 'papers', content_columns: 'id,title,said' } as SearchEntry
const GIVE_IT_ONE = { afterward: 'give it a stored tsvector column and set text_search_column to that' }

test('a table is given a column of its words, of the texts that hits show and under a name that is free', () => {
  expect(
    storeWordsAdvice(ENTRY, tableOf({ id: 'text', title: 'text', said: 'date', words: 'text' })),
  ).toEqual({
    statement:
      `alter table "public"."papers" add column "words_" tsvector generated always as ` +
      `(to_tsvector('english', coalesce("title"::text, ''))) stored; create index on "public"."papers" using gin ("words_")`,
    afterward: 'set text_search_column to "words_"',
  })
  expect(unusedColumnName('words', tableOf({ words: 'text', words_: 'text' }))).toBe('words__')
})

test('what has such a column already, or cannot have one, is told what to do instead', () => {
  const texts = { id: 'text', title: 'text', said: 'text' }
  const stored = { ...texts, terms: 'tsvector' }
  expect(storeWordsAdvice(ENTRY, tableOf(stored))).toEqual({ afterward: 'set text_search_column to "terms"' })
  expect(storeWordsAdvice(ENTRY, tableOf(stored, { virtual: true })).statement).toContain(
    'add column "words"',
  )
  expect(storeWordsAdvice(ENTRY, tableOf(texts, {}, 'v'))).toEqual(GIVE_IT_ONE)
  expect(storeWordsAdvice(ENTRY, tableOf({ id: 'text', title: 'date', said: 'bytea' }))).toEqual(GIVE_IT_ONE)
})

test('words are stored in a column that is named and computed once', () => {
  const entry = { ...ENTRY, text_search_column: 'terms' }
  expect([
    hasStoredWords(entry, tableOf({ terms: 'tsvector' })),
    hasStoredWords(entry, tableOf({ terms: 'tsvector' }, { virtual: true })),
    hasStoredWords(ENTRY, tableOf({ terms: 'tsvector' })),
  ]).toEqual([true, false, false])
})
