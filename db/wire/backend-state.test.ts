import { expect, test } from 'vitest'
import { DATABASE_CLOSED, failureIn, nextBackendState } from './backend-state.ts'
import type { BackendEffect, BackendInput, BackendState } from './backend-state.ts'
import type { Client } from './prepared-statements.ts'

const client = (name: string): Client => ({
  settings: [['application_name', name]],
  statements: new Map(),
  parsed: new Set(),
  epoch: 0,
})
const [A, B, C] = [client('a'), client('b'), client('c')]
const IDLE: BackendState = { phase: 'idle' }
const ENDED: BackendState = { phase: 'ended' }
type Phase = Extract<BackendState, { owner: Client }>['phase']
const of = (phase: Phase, owner: Client, ...waiting: Client[]) => ({ phase, owner, waiting })
const interrupted = { ...of('running', A), interruption: 'cancelled' } as const
const FAILURE = new Error('no folder')
const BUSY = expect.objectContaining({ code: '57P03', fatal: false }) as unknown
const CANCELLED = expect.objectContaining({ code: '57014', fatal: false }) as unknown
const closed = (refuse: Client): BackendEffect => ({ refuse, error: DATABASE_CLOSED })

const ROWS: [what: string, BackendState, BackendInput, BackendState, BackendEffect[]][] = [
  ['the first client', IDLE, { take: A }, of('preparing', A), [{ prepare: A }]],
  ['the next', of('held', A), { take: B }, of('held', A, B), []],
  ['a third, behind it', of('running', A, B), { take: C }, of('running', A, B, C), []],
  ['the owner once more', of('held', A, B), { take: A }, of('held', A, B), [{ grant: A }]],
  ['a client after the end', ENDED, { take: A }, ENDED, [closed(A)]],
  [
    'too long a wait',
    of('held', A, B, C),
    { waitedTooLong: B },
    of('held', A, C),
    [{ refuse: B, error: BUSY }],
  ],
  ['a session that is ready', of('preparing', A, B), 'prepared', of('held', A, B), [{ grant: A }]],
  [
    'no session, nobody waits',
    of('preparing', A),
    { notPrepared: FAILURE },
    IDLE,
    [{ refuse: A, error: FAILURE }, 'became idle'],
  ],
  [
    'no session, somebody waits',
    of('preparing', A, B),
    { notPrepared: FAILURE },
    of('preparing', B),
    [{ refuse: A, error: FAILURE }, { prepare: B }],
  ],
  ['work', of('held', A, B), 'run', of('running', A, B), []],
  ['its end', of('running', A, B), 'finished', of('held', A, B), []],
  ['its end at the last moment', interrupted, 'finished', of('held', A), []],
  [
    'a cancel by the owner',
    of('running', A),
    { interrupt: A, why: 'cancelled' },
    interrupted,
    ['interrupt engine'],
  ],
  ['a second reason', interrupted, { interrupt: A, why: 'time is up' }, interrupted, ['interrupt engine']],
  [
    'a cancel by one that waits',
    of('running', A, B, C),
    { interrupt: B, why: 'cancelled' },
    of('running', A, C),
    [{ refuse: B, error: CANCELLED }],
  ],
  ['a cancel by another', of('running', A, B), { interrupt: C, why: 'cancelled' }, of('running', A, B), []],
  [
    'a cancel while its session is prepared',
    of('preparing', A, B),
    { interrupt: A, why: 'cancelled' },
    { ...of('preparing', A, B), isCancelled: true },
    [],
  ],
  [
    'a session for what was cancelled',
    { ...of('preparing', A, B), isCancelled: true },
    'prepared',
    of('preparing', B),
    [{ refuse: A, error: CANCELLED }, { prepare: B }],
  ],
  ['a cancel with nothing to cancel', of('held', A), { interrupt: A, why: 'cancelled' }, of('held', A), []],
  ['a cancel too late', of('lost', A), { interrupt: A, why: 'cancelled' }, of('lost', A), []],
  [
    'a reset that hangs',
    of('preparing', A),
    { interrupt: A, why: 'time is up' },
    { ...of('preparing', A), interruption: 'time is up' },
    ['interrupt engine'],
  ],
  [
    'a rollback that hangs',
    of('rolling back', A),
    { interrupt: A, why: 'time is up' },
    { ...of('rolling back', A), interruption: 'time is up' },
    ['interrupt engine'],
  ],
  ['an engine that is gone', interrupted, 'engine lost', of('lost', A), []],
  ['a release', of('held', A), { release: A }, IDLE, ['became idle']],
  ['a release, somebody waits', of('held', A, B, C), { release: A }, of('preparing', B, C), [{ prepare: B }]],
  ['a release by another', of('held', A, B), { release: B }, of('held', A, B), []],
  [
    'a client that leaves with the engine',
    of('held', A, B),
    { leave: A },
    of('rolling back', A, B),
    [{ rollBack: A }],
  ],
  ['a client that leaves after a loss', of('lost', A, B), { leave: A }, of('preparing', B), [{ prepare: B }]],
  ['a client that leaves without the engine', of('held', A), { leave: B }, of('held', A), []],
  ['a client that leaves an idle one', IDLE, { leave: A }, IDLE, []],
  ['a client that leaves after the end', ENDED, { leave: A }, ENDED, []],
  ['a rollback', of('rolling back', A), 'rolled back', IDLE, ['became idle']],
  [
    'a rollback, somebody waits',
    of('rolling back', A, B),
    'rolled back',
    of('preparing', B),
    [{ prepare: B }],
  ],
  ['closing it as idle', IDLE, 'close idle', IDLE, [{ close: 'stop' }]],
  ['closing it in use', of('held', A), 'close idle', of('held', A), []],
  ['the end of an idle one', IDLE, 'end', ENDED, [{ close: 'stop' }]],
  [
    'the end of one in use',
    of('running', A, B, C),
    'end',
    ENDED,
    [closed(B), closed(C), { close: 'terminate' }],
  ],
  [
    'the end while it opens',
    of('preparing', A, B),
    'end',
    ENDED,
    [closed(A), closed(B), { close: 'terminate' }],
  ],
  ['a second end', ENDED, 'end', ENDED, [{ close: 'terminate' }]],
  ['a session that is ready after the end', ENDED, 'prepared', ENDED, []],
  ['no session after the end', ENDED, { notPrepared: FAILURE }, ENDED, []],
]

test.each(ROWS)('%s', (_what, state, input, next, effects) => {
  expect(nextBackendState(state, input)).toEqual([next, effects])
})

test.each([
  ['ended', ENDED, '57P01', 'the database was closed', true],
  ['interrupted', interrupted, '57014', 'canceling statement due to user request', false],
  ['running', of('running', A), '57P02', 'the database engine stopped and will be opened again', true],
])('what ran when it was %s fails with its own words', (_what, state, code, message, fatal) => {
  expect(failureIn(state, FAILURE)).toMatchObject({ code, message, fatal })
})
