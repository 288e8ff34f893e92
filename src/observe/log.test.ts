import { expect, test } from 'vitest'
import { createLogger, LOG_LEVELS, type LogLevel } from './log.ts'

const NOON = new Date('2026-11-15T12:00:00.000Z')

function loggerAt(level: LogLevel, pretty = false) {
  const lines: string[] = []
  return { lines, log: createLogger({ level, pretty, write: (line) => lines.push(line), clock: () => NOON }) }
}

/** What one call writes, read back. */
function written(fields: Record<string, unknown>): Record<string, unknown> {
  const { lines, log } = loggerAt('debug')
  log.info('it happened', fields)
  expect(lines).toHaveLength(1)
  return JSON.parse(lines[0]!) as Record<string, unknown>
}

test('a line is one JSON object with time, level, event and the fields that have a value', () => {
  const { lines, log } = loggerAt('info')
  log.warn('it happened', { count: 3, user: undefined, org: null })
  expect(lines).toEqual([
    '{"time":"2026-11-15T12:00:00.000Z","level":"warn","event":"it happened","count":3,"org":null}\n',
  ])
})

test.each(
  LOG_LEVELS.map((level, at) => [level, LOG_LEVELS.slice(at).filter((name) => name !== 'silent')] as const),
)('at level %s the levels %j are written', (level, expected) => {
  const { lines, log } = loggerAt(level)
  for (const name of ['debug', 'info', 'warn', 'error'] as const) log[name](name)
  expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(expected)
})

test.each([
  'token',
  'api_token',
  'accessToken',
  'client_secret',
  'JWT_SECRET',
  'password',
  'new_password',
  'passwd',
  'Authorization',
  'set-cookie',
  'apiKey',
  'api_key',
  'code_verifier',
  'webhook-signature',
])('what stands under %s is hidden, whatever it is', (key) => {
  for (const value of ['geheim', ['geheim'], { value: 'geheim' }, { deep: [{ value: 'geheim' }] }]) {
    expect(written({ [key]: value })).toMatchObject({ [key]: '[hidden]' })
  }
})

test('a secret is found however deep it lies', () => {
  const line = written({
    request: { headers: { authorization: 'geheim', accept: 'text/html' } },
    list: [{ token: 'geheim' }],
  })
  expect(line).toMatchObject({
    request: { headers: { authorization: '[hidden]', accept: 'text/html' } },
    list: [{ token: '[hidden]' }],
  })
})

test('a count of secrets is no secret', () => {
  expect(written({ tokens: 3, hasPassword: true })).toMatchObject({ tokens: 3, hasPassword: true })
})

/** A value that ends its own line could write another one that never happened. */
test.each([false, true])('no value can begin a line of its own (as text: %s)', (pretty) => {
  const evil = 'x\n{"level":"error","event":"forged"}\r\u2028\u2029\u0085\u001b[2J'
  const { lines, log } = loggerAt('debug', pretty)
  log.info(evil, { user: evil, nested: { user: evil }, [evil]: 1, error: new Error(evil) })
  const text = lines.join('')
  // Everything a terminal, a pager or a log shipper might take for the end of a line or for a command.
  // oxlint-disable-next-line no-control-regex -- that is what it looks for
  expect(text.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/)
  expect(text.endsWith('\n')).toBe(true)
})

test('on a terminal a line is short: time of day, event, fields; only what is not usual names its level', () => {
  const { lines, log } = loggerAt('debug', true)
  log.info('request', { status: 200, route: 'whoAmI', password: 'geheim', services: ['a', 'b'] })
  log.error('request failed')
  expect(lines).toEqual([
    '12:00:00  request  status=200  route=whoAmI  password=[hidden]  services=["a","b"]\n',
    '12:00:00  ERROR request failed\n',
  ])
})

test('an error is described, under any key, and whatever was thrown', () => {
  const cause = Object.assign(new Error('Key (email)=(ada@example.com) already exists'), { code: '23505' })
  expect(JSON.stringify(written({ reason: new Error('it broke', { cause }) }))).not.toContain(
    'ada@example.com',
  )
  expect(written({ reason: new Error('it broke', { cause }) })).toMatchObject({
    reason: { name: 'Error', message: 'it broke', cause: { message: 'Postgres error 23505', code: '23505' } },
  })
  expect(written({ error: 'words' })).toMatchObject({ error: 'words' })
  expect(written({ error: { token: 'geheim' } })).toMatchObject({ error: 'a thrown object' })
})

test('what JSON cannot hold does not cost the line, or the request it belongs to', () => {
  const round: Record<string, unknown> = {}
  round['self'] = round
  expect(written({ round, big: 10n ** 30n, at: NOON, url: new URL('https://a.example/b') })).toMatchObject({
    event: 'it happened',
    big: '1000000000000000000000000000000',
    at: '2026-11-15T12:00:00.000Z',
    url: 'https://a.example/b',
  })
})
