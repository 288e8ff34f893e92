import { describe, expect, test } from 'vitest'
import { arcs, percentWords, shareRing } from './share-ring.ts'

describe('a ring of shares', () => {
  test('arcs follow each other and close the ring', () => {
    expect(arcs([6, 0, 3, 1])).toEqual([
      { part: 0, length: 60, before: 0 },
      { part: 2, length: 30, before: 60 },
      { part: 3, length: 10, before: 90 },
    ])
    expect(arcs([0, 0])).toEqual([])
  })

  test.each([
    [0, 0, '0%'],
    [0, 7, '0%'],
    [1, 1_000, '<1%'],
    [23, 130, '18%'],
    [999, 1_000, '>99%'],
    [7, 7, '100%'],
  ])('%i of %i is a truthful percentage', (part, whole, said) => {
    expect(percentWords(part, whole)).toBe(said)
  })

  test('it has a text alternative, and its figure is text', async () => {
    const ring = shareRing('Share refused: <1%', [{ value: 1, ink: 'hatched' }], {
      figure: '<1%',
      word: 'refused',
    })
    const drawn = String(await ring)
    expect(drawn).toContain('role="img" aria-label="Share refused: &lt;1%"')
    expect(drawn).toContain('>&lt;1%</text>')
    expect(drawn).toContain('stroke="url(#ink-hatched)"')
    expect(drawn).not.toContain('style=')
  })
})
