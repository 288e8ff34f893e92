import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { MaintenanceModelsSetting } from './model-settings.ts'

const LEAST = { wire: 'openai-chat', url: 'http://127.0.0.1:11434/v1' }

const problemsOf = (models: unknown): string[] =>
  MaintenanceModelsSetting.safeParse(
    typeof models === 'string' ? models : JSON.stringify(models),
  ).error?.issues.map(({ message }) => message) ?? []

test('no setting means no language models', () => {
  expect(MaintenanceModelsSetting.parse(undefined)).toEqual(new Map())
})

test('a model needs a wire and an address; the ceilings have defaults', () => {
  const models = MaintenanceModelsSetting.parse(JSON.stringify({ local: LEAST }))
  expect(models.get('local')).toEqual({
    wire: 'openai-chat',
    url: new URL(LEAST.url),
    max_output_tokens: 4_096,
    max_run_tokens: 150_000,
    timeout_ms: 120_000,
  })
})

test.each([
  ['', 'must be JSON'],
  ['[]', 'must be JSON'],
  [{ rules: LEAST }, 'rules is the built-in analyst'],
  [{ 'two words': LEAST }, 'a model name must have'],
  [{ a: 'x' }, 'a must be an object with at least wire and url'],
  [{ a: { ...LEAST, wire: 'grpc' } }, 'a: wire must be one of anthropic'],
  [{ a: { ...LEAST, url: 'ftp://a.test' } }, 'a: url must be an http or https address'],
  [{ a: { ...LEAST, url: 'http://me:secret@a.test' } }, 'a: url must be an address without user'],
  [{ a: { ...LEAST, key: 'two words' } }, 'a: key must be visible ASCII'],
  [{ a: { ...LEAST, max_output_tokens: 0 } }, 'a: max_output_tokens must be a whole number'],
  [{ a: { ...LEAST, api_key: 'sk-1' } }, 'a does not know api_key'],
])('%j is refused', (models, problem) => {
  expect(problemsOf(models)).toEqual([expect.stringContaining(problem)])
})

test('problems quote no value', () => {
  const canary = 'sk canary'
  const models = { a: { ...LEAST, key: canary, url: `http://me:${canary}@a.test`, wire: canary } }
  expect(inspect(problemsOf(models))).not.toContain('canary')
})
