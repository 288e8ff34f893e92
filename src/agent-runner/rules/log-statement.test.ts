import { expect, test } from 'vitest'
import { logsOnlyData, wordsOf } from './log-statement.ts'
import type { Reader } from './reader.ts'

/** Only the window is read. */
const onlyData = (lines: readonly string[], at: number) =>
  logsOnlyData(
    { around: async () => ({ path: 'a', start: 1, lines, totalLines: lines.length }) } as unknown as Reader,
    { path: 'a', line: at, text: lines[at - 1]!, ref: '' },
  )

test.each([
  ['console.error(`upload refused, bad name: ${name}`)', true],
  ['log.error("login failed for %s", user)', true],
  ['print(f"entry by {name}: {text}")', true],
  ['console.error(`payment failed: ${error.message}`)', false],
  ['log.exception("report for %s failed", user.id)', false],
  ['logger.error({ err }, `order not placed`)', false],
  ["throw new Error('amount must be whole')", false],
  ['slog.Error("message dropped", "err", err)', false],
])('%s logs only data: %s', async (line, isData) => {
  expect(await onlyData([line], 1)).toBe(isData)
})

test('an error that is caught nearby is what it tells of', async () => {
  expect(await onlyData(['} catch {', '  log.error("order failed")', '}'], 2)).toBe(false)
})

test('words are what it says, without what is put into them', () => {
  expect(wordsOf('log.error(`no hits for ${words}`, "twice")').replaceAll(/\s+/g, ' ').trim()).toBe(
    'no hits for twice',
  )
})
