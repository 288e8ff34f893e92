import { expect, test } from 'vitest'
import type { Wire } from './model-wire.ts'
import { anthropic } from './anthropic.ts'
import { openAiChat } from './openai-chat.ts'
import { openAiResponses } from './openai-responses.ts'

const WIRES: [name: string, wire: Wire, body: object, input: string, output: string][] = [
  ['anthropic', anthropic, { content: [] }, 'input_tokens', 'output_tokens'],
  ['openai-responses', openAiResponses, { output: [] }, 'input_tokens', 'output_tokens'],
  [
    'openai-chat',
    openAiChat,
    { choices: [{ message: { content: '' } }] },
    'prompt_tokens',
    'completion_tokens',
  ],
]

test.each(WIRES)('%s: half of the usage, or none of it, is not known', (_name, wire, body, input, output) => {
  const tokens = (usage: object | null) => wire.fromResponse({ ...body, usage }).tokens
  expect(tokens({ [input]: 20_000, [output]: 40 })).toBe(20_040)
  expect(tokens({ [input]: 20_000, [output]: 0 })).toBe(20_000)
  for (const usage of [
    null,
    {},
    { [output]: 40 },
    { [input]: 20_000 },
    { [input]: 0, [output]: 0 },
    { [input]: 0, [output]: 40 },
    { [input]: -1, [output]: 40 },
    { [input]: 1.5, [output]: 40 },
    { [input]: '20000', [output]: 40 },
    { [input]: 20_000, [output]: null },
  ])
    expect([usage, tokens(usage)]).toEqual([usage, null])
})

test('anthropic counts what was cached apart', () => {
  const tokens = (usage: object) => anthropic.fromResponse({ content: [], usage }).tokens
  expect(tokens({ input_tokens: 0, cache_read_input_tokens: 900, output_tokens: 5 })).toBe(905)
  expect(tokens({ input_tokens: 10, cache_creation_input_tokens: null, output_tokens: 5 })).toBe(15)
  expect(tokens({ input_tokens: 10, cache_read_input_tokens: 'many', output_tokens: 5 })).toBeNull()
})
