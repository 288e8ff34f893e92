import { expect, test } from 'vitest'
import { countMatches } from './count-matches.ts'
import type { MatchLines } from './match-lines-port.ts'

async function* paged(...pages: readonly (readonly string[])[]) {
  yield* pages
}
const counting = () => {
  const parts: (readonly string[])[] = []
  const matchLines: MatchLines = async (_, { source, lines, most }) => {
    parts.push(lines)
    return Math.min(lines.filter((line) => line.includes(source)).length, most)
  }
  return { parts, matchLines }
}
const OF = { orgId: 'org_1' }
const line = (length: number) => 'x'.repeat(length)

test('over all pages, no further than asked', async () => {
  const { parts, matchLines } = counting()
  const pages = () => paged(['a', 'b'], ['a', 'c'], ['a'])
  expect(await countMatches(matchLines, pages(), { ...OF, source: 'a', most: 10 })).toEqual({
    count: 3,
    isWhole: true,
  })
  parts.length = 0
  expect(await countMatches(matchLines, pages(), { ...OF, source: 'a', most: 2 })).toEqual({
    count: 2,
    isWhole: true,
  })
  expect(parts).toHaveLength(2)
})

test('a page of long lines is handed over in parts, and nothing of it is left out', async () => {
  const { parts, matchLines } = counting()
  const page = [...Array.from({ length: 100 }, () => line(16_000)), line(500_000), 'a']
  expect(await countMatches(matchLines, paged(page), { ...OF, source: 'a', most: 9 })).toEqual({
    count: 1,
    isWhole: true,
  })
  expect(parts.flat()).toEqual(page)
  for (const part of parts)
    expect(part.length === 1 || part.join('').length <= 256 * 1024, String(part.length)).toBe(true)
})

test('the limit holds within a page: what is beyond it is not looked at', async () => {
  const { parts, matchLines } = counting()
  const page = Array.from({ length: 1_000 }, () => line(16_000))
  expect(await countMatches(matchLines, paged(page), { ...OF, source: 'a', most: 9 })).toEqual({
    count: 0,
    isWhole: false,
  })
  expect(parts.flat().join('').length).toBeLessThanOrEqual(8 * 1024 * 1024)
})

test('lines that take too long end it, with what was found before', async () => {
  const answers = [2, undefined, 5]
  const counted = await countMatches(async () => answers.shift(), paged(['a'], ['b'], ['c']), {
    ...OF,
    source: 'a',
    most: 9,
  })
  expect([counted, answers]).toEqual([{ count: 2, isWhole: false }, [5]])
})
