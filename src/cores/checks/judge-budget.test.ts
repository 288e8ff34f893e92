import { expect, test } from 'vitest'
import { evidenceBytes, outputTokens, questionFits } from './judge-budget.ts'

test.each([
  ['a short one in the least there is', 'Is all well?', 500, true],
  ['a long one in the usual', 'q'.repeat(2_000), 5_000, true],
  ['a long one in the least', 'q'.repeat(2_000), 500, false],
  ['a long one, three bytes a character', '漢'.repeat(2_000), 9_000, true],
  ['the same in less', '漢'.repeat(2_000), 8_000, false],
  ['one that grows in JSON', '"'.repeat(2_000), 6_000, true],
  ['the same in less than it grows to', '"'.repeat(2_000), 5_000, false],
  ['one that grows more than fits', '\u0001'.repeat(2_000), 5_000, false],
])('whether a question fits: %s', (_what, question, maxTokens, fits) => {
  expect(questionFits({ question, maxTokens })).toBe(fits)
  if (!fits) expect(evidenceBytes({ question, maxTokens })).toBe(0)
})

test('question, evidence, instructions and answer are not more than the tokens of the check', () => {
  for (const maxTokens of [500, 5_000, 8_000, 50_000]) {
    const question = 'Is all well?'
    const bytes = evidenceBytes({ question, maxTokens }) + JSON.stringify(question).length
    // A token for each byte: so many there are in a log of random characters.
    expect(bytes + 300 + outputTokens(maxTokens)).toBeLessThanOrEqual(maxTokens)
  }
})
