import { describe, expect, test } from 'vitest'
import { queryDataSource } from '../src/contracts/data-sources.ts'
import { agentToken, callTool, fakeServices, toolText, MCP } from '../test/support/fake-services.ts'
import { readArguments } from './read-arguments.ts'
import { datasourceQuery } from './tools/datasource-query.ts'
import { notificationFollow } from './tools/notification-follow.ts'
import { notificationSubscriptions } from './tools/notification-subscriptions.ts'

const question = { source_id: 'db_x', query: 'x' }

describe('arguments are read kindly', () => {
  test.each([
    ['null is absent', { ...question, top_k: null, filters: null, target: null }, question],
    ['text is read as a number', { ...question, top_k: '3' }, { ...question, top_k: 3 }],
    [
      'text is read as filters',
      { ...question, filters: '{"year":2020}' },
      { ...question, filters: { year: 2020 } },
    ],
    ['the text null is absent too', { ...question, filters: 'null' }, question],
    [
      'text where text is wanted stays text',
      { source_id: 'db_x', query: '3', target: 'null' },
      { source_id: 'db_x', query: '3', target: 'null' },
    ],
    [
      'text that is something else stays, for its problem to be told',
      { ...question, top_k: 'three', filters: '[1]' },
      { ...question, top_k: 'three', filters: '[1]' },
    ],
    ['what nobody asked for stays too', { ...question, constructor: '3' }, { ...question, constructor: '3' }],
  ])('%s', (_how, given, read) => {
    expect(readArguments(datasourceQuery, given)).toEqual(read)
  })

  test('lists and switches as text', () => {
    expect(readArguments(notificationFollow, { app: 'shop', categories: '["Tickets"]' })).toEqual({
      app: 'shop',
      categories: ['Tickets'],
    })
    expect(readArguments(notificationSubscriptions, { all: 'true' })).toEqual({ all: true })
  })

  test('and reach the gateway as what they mean', async () => {
    const system = fakeServices()
    const asked: unknown[] = []
    const answer = system.does[queryDataSource.name]!
    system.does[queryDataSource.name] = (input) => {
      asked.push(input)
      return answer(input)
    }
    const input = { ...question, top_k: '3', filters: '{"year":[2020,2021]}', target: null }
    const token = await agentToken(system, 'platform')
    const { isError } = await toolText(
      await callTool(system, '/platform', 'datasource_query', input, { token }),
    )
    expect(isError).toBe(false)
    expect(asked).toEqual([{ ...question, top_k: 3, filters: { year: [2020, 2021] } }])
  })
})

test('what is absent is called missing', async () => {
  const system = fakeServices()
  const token = await agentToken(system, 'platform')
  const response = await callTool(system, '/platform', 'datasource_query', { query: null }, { token })
  expect((await toolText(response)).text).toBe(
    'INVALID_REQUEST: The arguments are not valid. source_id: missing. query: missing. Correct the arguments and call again.',
  )
})

test.each([
  [0.81234567, 0.8123],
  [1, 1],
  [-0.00004, -0],
  [null, null],
])('a score of %s is told as %s', async (score, told) => {
  const system = fakeServices()
  system.does[queryDataSource.name] = () => ({
    count: 1,
    results: [{ id: '7', title: 'A row', metadata: { _score: score, price: 0.81234567 } }],
  })
  const token = await agentToken(system, 'platform')
  const { text } = await toolText(
    await callTool(system, '/platform', 'datasource_query', question, { token }),
  )
  expect((JSON.parse(text) as { results: unknown[] }).results).toEqual([
    { id: '7', title: 'A row', metadata: { _score: told === null ? null : told + 0, price: 0.81234567 } },
  ])
})

describe('a message that cannot be read', () => {
  const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const post = async (args: string, headers: Record<string, string> = {}) => {
    const system = fakeServices()
    const response = await system.app.request(`${MCP}/platform`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await agentToken(system, 'platform')}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"datasource_query","arguments":${args}}}`,
    })
    return { system, response }
  }

  test.each([
    ['deep filters', `{"source_id":"db_x","query":"x","filters":{"a":${deep(5_000)}}}`],
    ['very deep filters', `{"source_id":"db_x","query":"x","filters":{"a":${deep(100_000)}}}`],
    ['deep arguments', deep(20_000)],
    ['a list of arguments', '[1]'],
    ['text', '"x"'],
  ])('is refused as invalid, with an activity row: %s', async (_what, args) => {
    for (const headers of [{}, { accept: 'application/json' }]) {
      const { system, response } = await post(args, headers)
      expect(response.status).toBe(200)
      const { id, error } = (await response.json()) as { id: number; error: { code: number } }
      expect([id, error.code]).toEqual([7, -32_602])
      expect(system.reported).toEqual([
        expect.objectContaining({ name: 'datasource_query', outcome: 'refused', error: 'INVALID_REQUEST' }),
      ])
    }
  })

  test('one that is nested as deep as filters are is read', async () => {
    const { response } = await post('{"source_id":"db_x","query":"x","filters":{"a":["b"]}}')
    expect((await toolText(response)).isError).toBe(false)
  })

  test.each(['tools/list', 'prompts/get', 'completion/complete'])(
    'it has no row where it is no call: %s',
    async (method) => {
      const system = fakeServices()
      const response = await system.app.request(`${MCP}/platform`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await agentToken(system, 'platform')}`,
          'content-type': 'application/json',
        },
        body: `{"jsonrpc":"2.0","id":7,"method":"${method}","params":{"_meta":{"a":${deep(50_000)}}}}`,
      })
      expect(await response.json()).toMatchObject({ id: 7, error: { code: -32_602 } })
      expect(system.reported).toEqual([])
    },
  )
})
