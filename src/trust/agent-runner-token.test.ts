import { expect, test } from 'vitest'
import { agentRunnerTokens } from './agent-runner-token.ts'

const NOW = new Date('2026-03-02T10:00:00Z')
const tokens = agentRunnerTokens('ab'.repeat(32))

test('opens one side only, for a minute, under one secret', async () => {
  const token = await tokens.sign('tool-host', NOW)
  expect(await tokens.isValid('tool-host', token, NOW)).toBe(true)
  expect(await tokens.isValid('agent-runner', token, NOW)).toBe(false)
  expect(await tokens.isValid('tool-host', token, new Date(NOW.getTime() + 61_000))).toBe(false)
  expect(await agentRunnerTokens('cd'.repeat(32)).isValid('tool-host', token, NOW)).toBe(false)
})
