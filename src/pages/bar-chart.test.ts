import { describe, expect, test } from 'vitest'
import { barChart, niceTop, stack } from './bar-chart.ts'

const SERIES = [
  { name: 'answered', ink: 'plain' },
  { name: 'refused', ink: 'hatched' },
] as const

describe('a bar chart', () => {
  test.each([
    [0, 2],
    [1, 2],
    [3, 4],
    [5, 10],
    [10, 10],
    [11, 20],
    [399, 400],
    [401, 1_000],
  ])('a day of %i fits under %i, and half of that is a whole number', (most, top) => {
    expect(niceTop(most)).toBe(top)
    expect(Number.isInteger(top / 2)).toBe(true)
  })

  test('parts are stacked from the bottom up, and zero is not drawn', () => {
    expect(stack([5, 0, 3], 10)).toEqual([
      { part: 0, y: 80, height: 80 },
      { part: 2, y: 32, height: 48 },
    ])
    expect(stack([0, 0], 10)).toEqual([])
  })

  test('one among thousands stays visible, and a full bar stays within the plot', () => {
    expect(stack([1], 10_000)[0]?.height).toBe(2)
    const full = stack([9_999, 1], 10_000)
    expect(full.at(-1)?.y).toBeGreaterThanOrEqual(0)
    expect(full.at(-1)?.height).toBeGreaterThan(1)
  })

  test('every bar says its numbers, and its parts differ by more than color', async () => {
    const drawn = String(await barChart('Two days', SERIES, [bar('1 May', 3, 1), bar('2 May', 0, 0)]))
    expect(drawn).toContain('role="img" aria-label="Two days"')
    expect(drawn).toContain('<title>1 May: 3 answered, 1 refused</title>')
    expect(drawn).toContain('<title>2 May: 0 answered, 0 refused</title>')
    expect(drawn.match(/<rect/g)).toHaveLength(2)
    expect(drawn).toContain('fill="url(#ink-plain)"')
    expect(drawn).toContain('fill="url(#ink-hatched)"')
  })

  test('no inline style, and text is escaped', async () => {
    const drawn = String(await barChart('"><script>', SERIES, [bar('<b>', 1, 1)]))
    expect(drawn).not.toContain('style=')
    expect(drawn).not.toContain('<script>')
    expect(drawn).not.toContain('<b>')
  })

  test('no bars at all is an empty plot', async () => {
    expect(String(await barChart('Nothing', SERIES, []))).not.toContain('<rect')
  })
})

const bar = (label: string, ...values: number[]) => ({ label, values })
