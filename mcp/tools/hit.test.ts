import { expect, test } from 'vitest'
import { hitText, hitUrl } from './hit.ts'

type Hit = Parameters<typeof hitText>[0]
const hit = (metadata: object, more: object = {}) => ({ metadata, ...more }) as Hit

test('of passages the text is shown, below each other with a heading once, and what else the row has', () => {
  const metadata = { heading: 'Leave', passage: 'x', year: 2026, _score: 0.5 }
  const passages = [
    { heading: 'Leave', passage: 'Thirty days.' },
    { heading: 'Leave', passage: 'Fewer at first.' },
    { heading: 'Pay', passage: 'Monthly.' },
    { heading: 'Leave', passage: 'None.' },
  ]
  expect(hitText(hit(metadata, { passages }))).toBe(
    'Leave\nThirty days.\n\nFewer at first.\n\nPay\nMonthly.\n\nLeave\nNone.\n\nyear: 2026',
  )
  expect(hitText(hit({ heading: 'Leave', passage: 'Thirty days.' }))).toBe('Leave\nThirty days.')
})

test('of other rows every column is shown with its name, but what the search adds', () => {
  const row = { title: 'Ada', tags: ['a', 'b'], heading: 1, _found_by: 'words', _handle: 'h' }
  expect(hitText(hit(row))).toBe('title: Ada\ntags: ["a","b"]\nheading: 1')
})

test('without an address of its own, a hit leads to its data source in the console of the configuration', () => {
  const app = new URL('https://app.test')
  expect(hitUrl(app, 'db_a/b', hit({}))).toBe('https://app.test/console/data-sources/db_a%2Fb')
  expect(hitUrl(app, 'db_docs', hit({}, { url: 'https://docs.test/1' }))).toBe('https://docs.test/1')
})
