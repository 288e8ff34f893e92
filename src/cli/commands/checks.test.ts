/** `svc apps checks …`: which definition its options make, what stays as it was, and the exit code of a run. */
import { expect, test } from 'vitest'
import { svcWith } from '../../../test/support/fake-api.ts'

const HEALTH = {
  id: 'chk_0mwhkcyh5nlh1pqqssy5gj19q',
  name: 'Health',
  definition: {
    kind: 'http',
    url: 'https://shop.example/',
    method: 'GET',
    conditions: ['[STATUS] < 400'],
    headers: { 'X-Key': '[hidden]' },
  },
  last_run_at: null,
  recent: [],
}
const PANICS = { ...HEALTH, name: 'Panics', definition: { kind: 'logs', pattern: 'panic', max_count: 0 } }

const answersFor = (check: object) => ({
  createCheck: check,
  updateCheck: check,
  listChecks: { checks: [PANICS, check] },
})
const sentBy = async (
  operation: 'createCheck' | 'updateCheck',
  check: object,
  argv: string[],
  stdin = '',
) => {
  const { exit, sent } = await svcWith(answersFor(check), ['apps', 'checks', ...argv], { cwd: '/', stdin })
  expect(exit).toBe(0)
  return sent[operation]!.body
}

test.each([
  [
    ['--pattern', 'panic', '--window', '5', '--max-count', '0'],
    { definition: { kind: 'logs', pattern: 'panic', window_minutes: 5, max_count: 0 } },
  ],
  [
    ['--question', 'Well?', '--max-tokens', '900', '--disable', '--failures', '2'],
    {
      definition: { kind: 'judge', question: 'Well?', max_tokens: 900 },
      enabled: false,
      failure_threshold: 2,
    },
  ],
  [
    ['--url', 'https://shop.example/', '--header', 'X-Key: -', '--header', 'Accept:text/plain'],
    {
      definition: {
        kind: 'http',
        url: 'https://shop.example/',
        headers: { 'X-Key': 'secret', Accept: 'text/plain' },
      },
    },
  ],
])('%j makes its definition', async (options, sent) => {
  expect(await sentBy('createCheck', HEALTH, ['add', 'shop', 'New', ...options], 'secret\n')).toEqual({
    name: 'New',
    ...sent,
  })
})

test.each([
  [[], 'Nothing to check'],
  [['--question', 'Well?', '--pattern', 'x'], 'Options of several kinds of checks'],
  [['--url', 'https://shop.example/', '--header', 'nonsense'], 'Invalid value for --header: nonsense'],
  [['--pattern', 'x', '--maintenance', 'tomorrow'], 'Invalid value for --maintenance: tomorrow'],
  [['--pattern', 'x', '--interval', '29'], 'Must be a whole number from 30 to 86400'],
  [['--pattern', 'x', '--failures', '0'], 'Must be a whole number from 1 to 20'],
  [['--pattern', 'x', '--max-count', '1000001'], 'Must be a whole number from 0 to 1000000'],
  [['--question', 'Well?', '--max-tokens', '499'], 'Must be a whole number from 500 to 50000'],
  [['--url', 'https://shop.example/', '--check-timeout', '99'], 'Must be a whole number from 100 to 30000'],
])('%j is refused, and nothing is made', async (options, says) => {
  const argv = ['apps', 'checks', 'add', 'shop', 'New', ...options]
  const { exit, err, sent } = await svcWith(answersFor(HEALTH), argv, { cwd: '/' })
  expect([exit, err, sent]).toEqual([5, expect.stringContaining(says), {}])
})

test('a check is changed by its name; what is not given stays, also a secret header', async () => {
  const changed = async (...options: string[]) =>
    sentBy('updateCheck', HEALTH, ['edit', 'shop', 'Health', ...options])
  expect(await changed('--enable')).toEqual({ enabled: true })
  expect(await changed('--condition', '[STATUS] < 500', '--header', 'Accept: a')).toEqual({
    definition: {
      ...HEALTH.definition,
      conditions: ['[STATUS] < 500'],
      headers: { 'X-Key': '[hidden]', Accept: 'a' },
    },
  })
  // Names of headers have no case.
  expect(await changed('--header', 'x-key: b')).toEqual({
    definition: { ...HEALTH.definition, headers: { 'x-key': 'b' } },
  })
  expect(await changed('--no-headers', '--no-maintenance')).toEqual({
    definition: { ...HEALTH.definition, headers: {} },
    maintenance_windows: [],
  })
  expect(await changed('--maintenance', '2030-01-01T00:00:00Z/2030-01-02', '--interval', '300')).toEqual({
    interval_seconds: 300,
    maintenance_windows: [{ from: '2030-01-01T00:00:00.000Z', until: '2030-01-02T00:00:00.000Z' }],
  })
  expect(await sentBy('updateCheck', PANICS, ['edit', 'shop', 'Panics', '--window', '9'])).toEqual({
    definition: { ...PANICS.definition, window_minutes: 9 },
  })
  const both = ['apps', 'checks', 'edit', 'shop', 'Health', '--enable', '--disable']
  const { exit, err } = await svcWith(answersFor(HEALTH), both, { cwd: '/' })
  expect([exit, err]).toEqual([5, expect.stringContaining('--enable conflicts with --disable')])
  const unknown = await svcWith(answersFor(HEALTH), [...both.slice(0, 4), 'None'], { cwd: '/' })
  expect([unknown.exit, unknown.err]).toEqual([4, expect.stringContaining('No check is named None')])
})

test.each([
  ['pass', 0],
  ['fail', 11],
  ['error', 11],
])('a run that ends with %s exits with %i', async (result, wanted) => {
  const run = { at: '2026-11-15T00:00:00.000Z', result, reason: null, duration_ms: 3 }
  const answers = {
    ...answersFor(HEALTH),
    runCheck: {},
    showCheck: { ...HEALTH, last_run_at: run.at },
    listCheckRuns: { runs: [run] },
  }
  const { exit, out } = await svcWith(answers, ['apps', 'checks', 'run', 'shop', 'Health'], { cwd: '/' })
  expect([exit, out]).toEqual([wanted, expect.stringContaining(result)])
})
