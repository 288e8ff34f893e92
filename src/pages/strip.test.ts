import { expect, test } from 'vitest'
import { strip, stripHeight, stripOfBars } from './strip.ts'

test('the highest bar fills the line, a single one among thousands is seen, and nothing is a line', () => {
  expect([stripHeight(1000, 1000), stripHeight(1, 1000), stripHeight(0, 1000)]).toEqual([20, 2, 1])
})

test('it says itself in words, and escapes them', async () => {
  const drawn = String(await strip('7 <questions>', [{ label: '15 Nov', value: 3 }]))
  expect(drawn).toContain('aria-label="7 &lt;questions&gt;"')
  expect(drawn).toContain('<title>15 Nov: 3</title>')
  expect(String(await strip('none', []))).toContain('width="1"')
})

test('where it does not fit its bars become narrower: the newest, at the right, is never cut off', async () => {
  const bars = Array.from({ length: 30 }, () => ({ title: 'passed', height: 20, fill: 'ink-plain' as const }))
  expect(String(await stripOfBars('30 runs', bars))).toContain(
    'viewBox="0 0 238 20" preserveAspectRatio="none"',
  )
})
