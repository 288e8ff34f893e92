import { expect, test } from 'vitest'
import { dropStagedTable } from './drop-staged-table.ts'
import { questionSessionsOverLimits, sessionsOverLimits, type TenantSession } from './sessions-over-limits.ts'

const TENANTS = [
  { orgId: 'one', physicalName: 'a' },
  { orgId: 'one', physicalName: 'b' },
  { orgId: 'other', physicalName: 'c' },
]
const LIMITS = {
  statementSeconds: 100,
  idleTransactionSeconds: 10,
  temporaryFileBytes: 1000,
  connections: 3,
  diskBytes: 1,
}
const DROP = dropStagedTable('lod_1', 'lod_1_rows')
const WRITING = { state: 'active', transactionSeconds: 1, isWriting: true }
let pid = 0
const session = (login: string, more: Partial<TenantSession> = {}): TenantSession => ({
  pid: (pid += 1),
  login,
  query: 'select 1',
  backendStart: `2026-01-01 00:00:${String(pid % 60).padStart(2, '0')}`,
  queryStart: '2026-01-01 00:00:00',
  state: 'idle',
  runningSeconds: 5,
  idleSeconds: 5,
  transactionSeconds: null,
  isWriting: false,
  temporaryFileBytes: 0,
  ...more,
})
const ended = (...sessions: TenantSession[]) =>
  sessionsOverLimits(sessions, TENANTS, LIMITS).map(({ session: one, limit, how }) => [one.pid, limit, how])

test.each([
  ['a statement within its time', { state: 'active', runningSeconds: 100 }, undefined],
  ['a statement over its time', { state: 'active', runningSeconds: 101 }, ['statement', 'cancel']],
  [
    'a function call over its time',
    { state: 'fastpath function call', runningSeconds: 101 },
    ['statement', 'cancel'],
  ],
  ['one that went on in spite of it', { state: 'active', runningSeconds: 131 }, ['statement', 'terminate']],
  ['an idle session, however old its last statement', { runningSeconds: 9999, idleSeconds: 9999 }, undefined],
  ['a transaction idle for a while', { state: 'idle in transaction', idleSeconds: 10 }, undefined],
  [
    'a transaction idle for too long',
    { state: 'idle in transaction', idleSeconds: 11 },
    ['idle_transaction', 'terminate'],
  ],
  [
    'a failed one idle for too long',
    { state: 'idle in transaction (aborted)', idleSeconds: 11 },
    ['idle_transaction', 'terminate'],
  ],
  [
    'a long transaction that works',
    { state: 'active', runningSeconds: 1, idleSeconds: 9999, temporaryFileBytes: 1000 },
    undefined,
  ],
  ['one that we may not see', { state: null, runningSeconds: null, idleSeconds: null }, undefined],
] as const)('%s', (_what, more, expected) => {
  const one = session('a', more)
  expect(ended(one, session('c'))).toEqual(expected ? [[one.pid, ...expected]] : [])
})

test('temporary files count for the organization, and the session with the most of them goes', () => {
  const [small, large] = [600, 601].map((temporaryFileBytes, at) =>
    session('ab'[at]!, { temporaryFileBytes }),
  )
  const neighbor = session('c', { temporaryFileBytes: 1000 })
  expect(ended(small!, large!, neighbor)).toEqual([[large!.pid, 'temporary_files', 'terminate']])
})

test('connections count for the organization, and the newest go', () => {
  const start = (second: number) => ({ backendStart: `2026-01-01 00:00:0${second}` })
  const own = [session('a', start(5)), session('b', start(1)), session('a', start(2)), session('b', start(3))]
  const neighbors = [1, 2, 3].map((second) => session('c', start(second)))
  expect(ended(...own, ...neighbors)).toEqual([[own[0]!.pid, 'connections', 'terminate']])
})

test('a session over several limits is ended once, and one of no tenant never', () => {
  const many = [1, 2, 3, 4].map(() => session('a', { state: 'active', runningSeconds: 500 }))
  expect(ended(...many)).toHaveLength(4)
  const foreign = Array.from({ length: 9 }, () =>
    session('postgres', { state: 'active', runningSeconds: 9999, temporaryFileBytes: 9999 }),
  )
  expect(ended(...foreign)).toEqual([])
})

test.each([
  ['that runs', { state: 'active', transactionSeconds: 30 }, undefined],
  ['that runs for too long', { state: 'active', transactionSeconds: 31 }, 'statement'],
  ['in a transaction too long', { state: 'idle in transaction', transactionSeconds: 31 }, 'statement'],
  ['that writes', { state: 'active', transactionSeconds: 1, isWriting: true }, 'disk'],
  [
    'that drops what a load staged',
    { state: 'active', transactionSeconds: 120, isWriting: true, query: DROP },
    undefined,
  ],
  [
    'that drops it for too long',
    { state: 'active', transactionSeconds: 121, isWriting: true, query: DROP },
    'statement',
  ],
  [
    'that has dropped it and does not end',
    { state: 'idle in transaction', transactionSeconds: 1, isWriting: true, query: DROP },
    'disk',
  ],
  ...[
    `${DROP}; drop table notes`,
    `select 1; ${DROP}`,
    DROP.replace('svc_loads', 'public'),
    DROP.replace(' cascade', ''),
  ].map((query) => [`that does not quite drop it: ${query}`, { ...WRITING, query }, 'disk'] as const),
  ['that is idle', { idleSeconds: 300 }, undefined],
  ['that is idle for too long', { idleSeconds: 301 }, 'connections'],
  ['that we may not see', { state: null, idleSeconds: null }, undefined],
] as const)('a session of our questions %s', (_what, more, expected) => {
  const one = session('a_q', more)
  const endings = questionSessionsOverLimits([one], {
    transactionSeconds: 30,
    idleSeconds: 300,
    droppingSeconds: 120,
  })
  expect(endings).toEqual(expected ? [{ session: one, limit: expected, how: 'terminate' }] : [])
})
