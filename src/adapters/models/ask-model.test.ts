/** Against a scripted provider on loopback that speaks all three wires. */
import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startModelServer, type ScriptedTurn } from '../../../test/support/model-server.ts'
import { MODEL_WIRES, type ModelRequest, type ModelWire } from '../../contracts/model-port.ts'
import { askModel, ModelFailure, type ModelSettings } from './ask-model.ts'

const KEY = 'sk-canary-key'
const LOG_LINE = 'canary log line'

const REQUEST: ModelRequest = {
  system: 'Look at the app.',
  messages: [{ role: 'user', text: LOG_LINE }],
  tools: [
    {
      name: 'read_file',
      description: 'Read a file.',
      parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    },
  ],
  maxOutputTokens: 500,
}

async function meet(wire: ModelWire, script: readonly ScriptedTurn[], over: Partial<ModelSettings> = {}) {
  const server = await startModelServer(script)
  onTestFinished(() => server.stop())
  const settings: ModelSettings = {
    wire,
    url: new URL(`${server.origin}/v1`),
    model: 'theirs',
    key: KEY,
    outputLimitField: 'max_completion_tokens',
    timeoutMs: 5_000,
    ...over,
  }
  const ask = (request = REQUEST, signal = new AbortController().signal) =>
    askModel(settings, request, { fetch, signal })
  return { server, ask }
}

async function failureOf(asked: Promise<unknown>): Promise<ModelFailure> {
  const error: unknown = await asked.then(
    () => new Error('There was an answer'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ModelFailure)) throw error
  expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/canary/)
  return error
}

describe.each(MODEL_WIRES)('%s', (wire) => {
  test('a text', async () => {
    const { ask, server } = await meet(wire, [{ text: 'All read.', tokens: [100, 20] }])
    expect(await ask()).toMatchObject({ text: 'All read.', calls: [], ending: 'stop', tokens: 120 })
    const [{ headers, body }] = server.received as [(typeof server.received)[0]]
    expect(headers[wire === 'anthropic' ? 'x-api-key' : 'authorization']).toBe(
      wire === 'anthropic' ? KEY : `Bearer ${KEY}`,
    )
    expect(body).toMatchObject({ model: 'theirs' })
    expect(JSON.stringify(body)).toContain(LOG_LINE)
    expect(JSON.stringify(body)).toContain('"required":["path"]')
  })

  test('calls of tools, and their results on the way back', async () => {
    const calls = [
      { name: 'read_file', arguments: { path: 'a.js' } },
      { name: 'read_file', arguments: { path: 'b.js' } },
    ]
    const { ask, server } = await meet(wire, [{ text: 'Reading.', calls }, { text: 'Done.' }])
    const turn = await ask()
    expect(turn.ending).toBe('tool_calls')
    expect(turn.calls.map(({ name, arguments: text }) => [name, JSON.parse(text)])).toEqual(
      calls.map(({ name, arguments: given }) => [name, given]),
    )
    const results = turn.calls.map(({ id }, n) => ({ callId: id, text: `content ${n}`, isError: n === 1 }))
    const { text, calls: made, echo } = turn
    await ask({
      ...REQUEST,
      messages: [
        ...REQUEST.messages,
        { role: 'assistant', text, calls: made, echo },
        { role: 'tools', results },
      ],
    })
    expect(server.received[1]!.body).toMatchSnapshot()
  })

  test('arguments that are not JSON are the model’s text', async () => {
    const { ask } = await meet(wire, [{ calls: [{ name: 'read_file', arguments: '{"path":' }] }])
    const { calls } = await ask()
    expect(calls).toMatchObject([{ name: 'read_file' }])
    expect(calls[0]!.arguments).toContain('{')
  })

  test.each([
    ['length', 'length'],
    ['filtered', 'other'],
  ] as const)('%s is no conclusion', async (ending, seen) => {
    const { ask } = await meet(wire, [{ text: 'All is w', ending }])
    expect((await ask()).ending).toBe(seen)
  })

  test('usage that is not said is not guessed', async () => {
    const { ask } = await meet(wire, [{ text: 'x', tokens: null }])
    expect((await ask()).tokens).toBeNull()
  })

  test.each<[string, ScriptedTurn, Partial<ModelFailure>]>([
    ['401', { status: 401, body: '{"error":"canary"}' }, { reason: 'refused', isSent: false }],
    ['400', { status: 400, body: 'canary' }, { reason: 'refused', isSent: false }],
    [
      '429',
      { status: 429, headers: { 'retry-after': '7' } },
      { reason: 'rate_limited', isSent: false, retryAfterSeconds: 7 },
    ],
    [
      '429 for a day',
      { status: 429, headers: { 'retry-after': '86400' } },
      { reason: 'rate_limited', isSent: false, retryAfterSeconds: 600 },
    ],
    ['529', { status: 529 }, { reason: 'rate_limited', isSent: false, retryAfterSeconds: 30 }],
    ['500', { status: 500 }, { reason: 'unavailable', isSent: true }],
    [
      'a redirect',
      { status: 302, headers: { location: 'http://127.0.0.1:1/' } },
      { reason: 'unavailable', isSent: false },
    ],
    ['a reset', { fault: 'reset' }, { reason: 'unavailable', isSent: true }],
    ['half an answer', { fault: 'cut off' }, { reason: 'unavailable', isSent: true }],
    ['a page', { fault: 'not json' }, { reason: 'invalid_answer', isSent: true }],
    ['an answer without content', { fault: 'no content' }, { reason: 'invalid_answer', isSent: true }],
    ['an answer without end', { fault: 'endless' }, { reason: 'invalid_answer', isSent: true }],
    [
      'a call without a name',
      { calls: [{ name: '', arguments: {} }] },
      { reason: 'invalid_answer', isSent: true },
    ],
  ])('%s', async (_what, turn, expected) => {
    const { ask, server } = await meet(wire, [turn])
    expect(await failureOf(ask())).toMatchObject(expected)
    // Never again by itself: each attempt is paid for.
    expect(server.received).toHaveLength(1)
  })

  test('a provider that is down has been sent nothing, and costs nothing', async () => {
    const { ask, server } = await meet(wire, [{ text: 'x' }])
    await server.stop()
    expect(await failureOf(ask())).toMatchObject({ reason: 'unavailable', isSent: false })
  })

  test('silence ends with the time-out, and counts as sent', async () => {
    const { ask } = await meet(wire, [{ fault: 'silence' }], { timeoutMs: 100 })
    expect(await failureOf(ask())).toMatchObject({ reason: 'timeout', isSent: true })
  })

  test('whoever gives up gets their own reason', async () => {
    const { ask } = await meet(wire, [{ fault: 'silence' }])
    const ending = new AbortController()
    const asked = ask(REQUEST, ending.signal)
    ending.abort(new Error('switched off'))
    await expect(asked).rejects.toThrow('switched off')
  })
})
