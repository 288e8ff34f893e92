/** What the tools cost a model in every conversation, counted in cl100k tokens. */
import { readFileSync } from 'node:fs'
import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base'
import { expect, test } from 'vitest'
import { RESOURCES } from '../src/contracts/scopes.ts'
import { INSTRUCTIONS, MACHINE_AGENT_INSTRUCTIONS } from './instructions.ts'
import { TOOLS } from './tools.ts'

/** decisions, section 7: both endpoints with their instructions. */
const BUDGET = 2_000
/** About 110 each. */
const INSTRUCTIONS_BUDGET = 125

/** The committed snapshot; tools.test.ts compares it with the answer. */
const tools = (resource: string, role: string): string => {
  const file = new URL(`../test/snapshots/mcp-${resource}-${role}.json`, import.meta.url)
  return JSON.stringify(JSON.parse(readFileSync(file, 'utf8')))
}

test.each(['viewer', 'admin'])('both tool lists with instructions stay within the budget for %s', (role) => {
  const costs = RESOURCES.map(
    (resource) => countTokens(tools(resource, role)) + countTokens(INSTRUCTIONS[resource]),
  )
  const sum = costs.reduce((all, cost) => all + cost, 0)
  console.log(
    `tokens for ${role}: ${RESOURCES.map((resource, at) => `${resource} ${costs[at]}`).join(', ')}, ${sum} in all`,
  )
  expect(sum).toBeLessThanOrEqual(BUDGET)
})

test('the whole table stays within it, whoever sees all of it', () => {
  const costs = RESOURCES.map((resource) => {
    const listed = TOOLS.filter((tool) => tool.resource === resource).map((tool) => tool.listed)
    return countTokens(JSON.stringify(listed)) + countTokens(INSTRUCTIONS[resource])
  })
  expect(costs.reduce((all, cost) => all + cost, 0)).toBeLessThanOrEqual(BUDGET)
})

test.each([...Object.values(INSTRUCTIONS), MACHINE_AGENT_INSTRUCTIONS])(
  'instructions are short: %s',
  (text) => {
    expect(countTokens(text)).toBeLessThanOrEqual(INSTRUCTIONS_BUDGET)
  },
)
