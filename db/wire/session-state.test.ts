import { expect, test } from 'vitest'
import { bind, execute, parse } from '../../test/support/wire-client.ts'
import {
  copyInResponse,
  cString,
  errorResponse,
  FLUSH,
  message,
  readyForQuery,
  simpleQuery,
  SYNC,
  WireError,
} from './protocol-messages.ts'
import {
  NEW_SESSION,
  nextSessionState,
  type SessionEffect,
  type SessionInput,
  type SessionState,
  type SessionWork,
  QUEUED_BYTES,
} from './session-state.ts'

const MIB = 1024 * 1024
const READY = NEW_SESSION
const IN_TRANSACTION: SessionState = { ...READY, holdsBackend: true, status: 'T' }
const HOLDING: SessionState = { ...READY, holdsBackend: true }
const SKIPPING: SessionState = { ...READY, phase: { name: 'skipping until Sync' } }
const TERMINATED: SessionState = { ...READY, phase: { name: 'terminated' } }
const extended = (queuedBytes: number, of = READY): SessionState => ({
  ...of,
  phase: { name: 'extended query', queuedBytes },
})
const copyIn = (more: { bytes?: number; tooLarge?: boolean } = {}, of = READY): SessionState => ({
  ...of,
  phase: { name: 'copy in', query: `copy t from '/dev/blob'`, bytes: 0, tooLarge: false, ...more },
})
const waiting = (work: SessionWork, of = READY): SessionState => ({
  ...of,
  phase: { name: 'waiting for backend', work },
})
const running = (work: SessionWork, of = HOLDING): SessionState => ({
  ...of,
  phase: { name: 'running', work },
})
const terminated = (of: SessionState): SessionState => ({ ...of, phase: { name: 'terminated' } })

const received = (bytes: Buffer, freeCopyBytes = 512 * MIB): SessionInput => ({
  message: bytes,
  freeCopyBytes,
})
const finished = (status?: 'I' | 'T' | 'E', failed = false): SessionInput => ({
  finished: { status, failed },
})
const error = (code: string, text: string) => errorResponse(new WireError(code, text))
const fatal = (code: string, text: string) => new WireError(code, text, { fatal: true })
const sent = (...messages: readonly Buffer[]): SessionEffect => ({ send: Buffer.concat(messages) })

const QUERY = simpleQuery('select 1')
const WORK = { query: QUERY }
const PARSE = parse('s', 'select 1')
const BIND = bind('s')
const COPY = simpleQuery('copy t from stdin')
const DATA = message('d', Buffer.from('1\n'))
const COPY_DONE = message('c')
const FAIL = message('f', cString(`it's $5`))
const TERMINATE = message('X')
const FUNCTION_CALL = message('F')
const UNKNOWN = message('y')
const [UNTIL_SYNC, UNTIL_FLUSH, PART] = [{ queue: 'Sync' }, { queue: 'Flush' }, { queue: 'part' }] as const
const FAILED = { failedTransaction: { complete: true } } as const
const CANCELLED = new WireError('57014', 'cancelled')
const BUSY = new WireError('57P03', 'busy')
const LOST = fatal('57P02', 'lost')

const UNSUPPORTED_COPY =
  'COPY FROM STDIN is supported only as a simple query with no other statement beside it'
const raised = (code: string, text: string): SessionWork => ({
  query: simpleQuery(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}', MESSAGE = E'${text}'; END $$`),
})
const TOO_LARGE = raised(
  '54000',
  'COPY FROM STDIN takes at most 256 MiB, and less while other clients copy: send the data in parts',
)
const UNEXPECTED = sent(errorResponse(fatal('08P01', 'invalid frontend message type')))

type Row = [what: string, SessionState, SessionInput, SessionState, SessionEffect[]]

const SIMPLE_QUERY: Row[] = [
  [
    'a query',
    READY,
    received(QUERY),
    waiting(WORK),
    ['forget unnamed statement', 'stop idle timer', 'take backend'],
  ],
  [
    'a query in a transaction',
    IN_TRANSACTION,
    received(QUERY),
    running(WORK, IN_TRANSACTION),
    ['forget unnamed statement', 'stop idle timer', { run: WORK }],
  ],
  [
    'a query after queued messages',
    extended(9),
    received(QUERY),
    waiting(PART, READY),
    ['stop idle timer', 'take backend', { handleAgain: QUERY }],
  ],
  [
    'a query after a Flush',
    extended(0, HOLDING),
    received(QUERY),
    running(WORK),
    ['forget unnamed statement', 'stop idle timer', { run: WORK }],
  ],
  [
    'a function call',
    READY,
    received(FUNCTION_CALL),
    waiting({ query: FUNCTION_CALL }),
    ['stop idle timer', 'take backend'],
  ],
  [
    'a function call after queued messages',
    extended(9),
    received(FUNCTION_CALL),
    waiting(PART),
    ['stop idle timer', 'take backend', { handleAgain: FUNCTION_CALL }],
  ],
  ['the backend', waiting(WORK), 'backend taken', running(WORK), [{ run: WORK }]],
  [
    'the backend, for SQL that drops statements',
    waiting({ query: simpleQuery('DISCARD all') }),
    'backend taken',
    running({ query: simpleQuery('DISCARD all') }),
    ['doubt statements', { run: { query: simpleQuery('DISCARD all') } }],
  ],
  [
    'no backend in time',
    waiting(WORK),
    { failed: BUSY },
    READY,
    [sent(errorResponse(BUSY), readyForQuery('I'))],
  ],
  ['its end', running(WORK), finished('I'), READY, ['release backend']],
  ['its end in a transaction', running(WORK), finished('T'), IN_TRANSACTION, ['start idle timer']],
  [
    'its end in a failed transaction',
    running(WORK, IN_TRANSACTION),
    finished('E', true),
    { ...HOLDING, status: 'E' },
    ['start idle timer'],
  ],
  [
    'a lost engine',
    running(WORK),
    { failed: LOST },
    terminated(HOLDING),
    [sent(errorResponse(LOST), readyForQuery('I')), 'hang up'],
  ],
  [
    'a lost engine in a transaction',
    running(WORK, IN_TRANSACTION),
    { failed: LOST },
    terminated(IN_TRANSACTION),
    [sent(errorResponse(LOST), readyForQuery('E')), 'hang up'],
  ],
]

const EXTENDED_QUERY: Row[] = [
  ['a Parse', READY, received(PARSE), extended(PARSE.length + QUEUED_BYTES), [{ queue: PARSE }]],
  [
    'a Bind after it',
    extended(10),
    received(BIND),
    extended(10 + BIND.length + QUEUED_BYTES),
    [{ queue: BIND }],
  ],
  [
    'an Execute in a transaction',
    IN_TRANSACTION,
    received(execute),
    extended(execute.length + QUEUED_BYTES, IN_TRANSACTION),
    [{ queue: execute }],
  ],
  [
    'a Parse of SQL that drops statements',
    READY,
    received(parse('', 'deallocate a')),
    { ...extended(parse('', 'deallocate a').length + QUEUED_BYTES), altersStatements: true },
    [{ queue: parse('', 'deallocate a') }],
  ],
  [
    'the backend for it',
    waiting(UNTIL_SYNC, { ...READY, altersStatements: true }),
    'backend taken',
    running(UNTIL_SYNC, { ...HOLDING, altersStatements: true }),
    ['doubt statements', { run: UNTIL_SYNC }],
  ],
  [
    'more than is kept',
    extended(MIB),
    received(BIND),
    waiting(PART),
    [{ queue: BIND }, 'stop idle timer', 'take backend'],
  ],
  ['a Sync with nothing before it', READY, received(SYNC), READY, [sent(readyForQuery('I'))]],
  [
    'a Sync in a transaction',
    IN_TRANSACTION,
    received(SYNC),
    running(UNTIL_SYNC, IN_TRANSACTION),
    ['stop idle timer', { run: UNTIL_SYNC }],
  ],
  ['a Sync', extended(9), received(SYNC), waiting(UNTIL_SYNC), ['stop idle timer', 'take backend']],
  ['a Flush', extended(9), received(FLUSH), waiting(UNTIL_FLUSH), ['stop idle timer', 'take backend']],
  ['the end of a Sync', running(UNTIL_SYNC), finished('I', true), READY, ['release backend']],
  ['the end of a Flush', running(UNTIL_FLUSH), finished(), extended(0, HOLDING), ['start idle timer']],
  ['the end of a part', running(PART), finished(), extended(0, HOLDING), ['start idle timer']],
  [
    'an error in a Flush',
    running(UNTIL_FLUSH),
    finished(undefined, true),
    { ...SKIPPING, holdsBackend: true },
    ['start idle timer'],
  ],
  [
    'no backend in time for a Sync',
    waiting(UNTIL_SYNC),
    { failed: BUSY },
    READY,
    [sent(errorResponse(BUSY), readyForQuery('I'))],
  ],
  [
    'no backend in time for a Flush',
    waiting(UNTIL_FLUSH),
    { failed: BUSY },
    SKIPPING,
    [sent(errorResponse(BUSY))],
  ],
  ['a query while skipping', SKIPPING, received(QUERY), SKIPPING, []],
  ['an unknown message while skipping', SKIPPING, received(UNKNOWN), SKIPPING, []],
  ['the Sync that ends the skipping', SKIPPING, received(SYNC), READY, [sent(readyForQuery('I'))]],
  [
    'the same with the backend',
    { ...SKIPPING, holdsBackend: true },
    received(SYNC),
    running(UNTIL_SYNC),
    ['stop idle timer', { run: UNTIL_SYNC }],
  ],
]

const COPY_IN: Row[] = [
  [
    'COPY FROM STDIN',
    READY,
    received(COPY),
    copyIn(),
    ['forget unnamed statement', sent(copyInResponse(false)), 'start idle timer'],
  ],
  [
    'COPY FROM STDIN beside another statement',
    READY,
    received(simpleQuery('select 1; copy t from stdin')),
    waiting(raised('0A000', UNSUPPORTED_COPY)),
    ['forget unnamed statement', 'stop idle timer', 'take backend'],
  ],
  [
    'a Parse of it',
    READY,
    received(parse('', 'copy t from stdin')),
    SKIPPING,
    [sent(error('0A000', UNSUPPORTED_COPY))],
  ],
  [
    'a Parse of it in a transaction',
    IN_TRANSACTION,
    received(parse('', 'copy t from stdin')),
    { ...IN_TRANSACTION, phase: { name: 'skipping until Sync' } },
    [sent(error('0A000', UNSUPPORTED_COPY)), 'fail transaction', 'start idle timer'],
  ],
  [
    'a Parse of it after queued messages',
    extended(9),
    received(parse('', 'copy t from stdin')),
    waiting(PART),
    ['stop idle timer', 'take backend', { handleAgain: parse('', 'copy t from stdin') }],
  ],
  ['data', copyIn(), received(DATA), copyIn({ bytes: 2 }), [{ keepCopyData: DATA }, 'start idle timer']],
  [
    'data up to the limit',
    copyIn({ bytes: 256 * MIB - 2 }),
    received(DATA),
    copyIn({ bytes: 256 * MIB }),
    [{ keepCopyData: DATA }, 'start idle timer'],
  ],
  [
    'data beyond the limit',
    copyIn({ bytes: 256 * MIB - 1 }),
    received(DATA),
    copyIn({ bytes: 256 * MIB - 1, tooLarge: true }),
    ['start idle timer'],
  ],
  [
    'data for which others left no room',
    copyIn(),
    received(DATA, 1),
    copyIn({ tooLarge: true }),
    ['start idle timer'],
  ],
  [
    'data after too much',
    copyIn({ tooLarge: true }),
    received(DATA),
    copyIn({ tooLarge: true }),
    ['start idle timer'],
  ],
  ['a Sync among the data', copyIn(), received(SYNC), copyIn(), ['start idle timer']],
  ['a Flush among the data', copyIn(), received(FLUSH), copyIn(), ['start idle timer']],
  [
    'CopyDone',
    copyIn({ bytes: 2 }),
    received(COPY_DONE),
    waiting({ copy: simpleQuery(`copy t from '/dev/blob'`) }),
    ['stop idle timer', 'take backend'],
  ],
  [
    'CopyDone in a transaction',
    copyIn({}, IN_TRANSACTION),
    received(COPY_DONE),
    running({ copy: simpleQuery(`copy t from '/dev/blob'`) }, IN_TRANSACTION),
    ['stop idle timer', { run: { copy: simpleQuery(`copy t from '/dev/blob'`) } }],
  ],
  [
    'CopyDone after too much',
    copyIn({ tooLarge: true }),
    received(COPY_DONE),
    waiting(TOO_LARGE),
    ['stop idle timer', 'take backend'],
  ],
  [
    'CopyFail',
    copyIn(),
    received(FAIL),
    waiting(raised('57014', String.raw`COPY from stdin failed: it''s \x245`)),
    ['stop idle timer', 'take backend'],
  ],
  ['a query among the data', copyIn(), received(QUERY), terminated(READY), [UNEXPECTED, 'hang up']],
  [
    'the end of input among the data',
    copyIn(),
    'end of input',
    TERMINATED,
    [sent(errorResponse(fatal('08006', 'the client is gone'))), 'hang up'],
  ],
  ['data of a COPY that failed', READY, received(DATA), READY, []],
  ['CopyDone of a COPY that failed', READY, received(COPY_DONE), READY, []],
  ['CopyFail of a COPY that failed', READY, received(FAIL), READY, []],
]

const TIMEOUT = sent(
  errorResponse(fatal('25P03', 'terminating connection due to idle-in-transaction timeout')),
)
const SHUTDOWN = fatal('57P01', 'terminating connection due to administrator command')

const LISTEN = simpleQuery('select 1; listen news')
const UNSUPPORTED_LISTEN = 'LISTEN is not supported: no notification would arrive'
const REFUSED_LISTEN: Row[] = [
  [
    'LISTEN in a query',
    READY,
    received(LISTEN),
    waiting(raised('0A000', UNSUPPORTED_LISTEN)),
    ['forget unnamed statement', 'stop idle timer', 'take backend'],
  ],
  [
    'LISTEN to be prepared',
    READY,
    received(parse('', 'listen news')),
    SKIPPING,
    [sent(error('0A000', UNSUPPORTED_LISTEN))],
  ],
  [
    'LISTEN to be prepared in a transaction',
    IN_TRANSACTION,
    received(parse('', 'listen news')),
    { ...SKIPPING, holdsBackend: true, status: 'T' },
    [sent(error('0A000', UNSUPPORTED_LISTEN)), 'fail transaction', 'start idle timer'],
  ],
]
const FAILED_TRANSACTION = { ...READY, status: 'T' } as const
const CANCELLED_STATEMENT: Row[] = [
  [
    'a cancelled query',
    running(WORK),
    { failed: CANCELLED },
    READY,
    [sent(error('57014', 'cancelled'), readyForQuery('I')), 'release backend'],
  ],
  [
    'a cancelled part of an extended query',
    running(UNTIL_FLUSH),
    { failed: CANCELLED },
    SKIPPING,
    [sent(error('57014', 'cancelled')), 'release backend'],
  ],
  [
    'a cancelled query in a transaction: a failed one is begun in its place',
    running(WORK, IN_TRANSACTION),
    { failed: CANCELLED },
    waiting(FAILED, FAILED_TRANSACTION),
    [sent(error('57014', 'cancelled')), 'release backend', 'stop idle timer', 'take backend'],
  ],
  [
    'which gets the backend',
    waiting(FAILED, FAILED_TRANSACTION),
    'backend taken',
    running(FAILED, IN_TRANSACTION),
    [{ run: FAILED }],
  ],
  [
    'and has failed',
    running(FAILED, IN_TRANSACTION),
    finished('E', true),
    { ...IN_TRANSACTION, status: 'E' },
    [sent(readyForQuery('E')), 'start idle timer'],
  ],
  [
    'and has failed before the Sync',
    running({ failedTransaction: { complete: false } }, IN_TRANSACTION),
    finished('E', true),
    { ...SKIPPING, holdsBackend: true, status: 'E' },
    ['start idle timer'],
  ],
  [
    'or waits in vain: then nothing can stand for it',
    waiting(FAILED, FAILED_TRANSACTION),
    { failed: BUSY },
    terminated(FAILED_TRANSACTION),
    [sent(errorResponse(BUSY), readyForQuery('E')), 'hang up'],
  ],
]

const TERMINATION: Row[] = [
  ['Terminate', READY, received(TERMINATE), TERMINATED, ['hang up']],
  ['Terminate while skipping', SKIPPING, received(TERMINATE), TERMINATED, ['hang up']],
  ['the end of input', extended(9), 'end of input', TERMINATED, ['hang up']],
  ['an unknown message', READY, received(UNKNOWN), TERMINATED, [UNEXPECTED, 'hang up']],
  ['a failure to read', extended(9), { failed: LOST }, TERMINATED, [sent(errorResponse(LOST)), 'hang up']],
  [
    'too long idle in a transaction',
    IN_TRANSACTION,
    'idle timeout',
    terminated(IN_TRANSACTION),
    [TIMEOUT, 'hang up'],
  ],
  ['a shutdown', READY, { terminate: SHUTDOWN }, TERMINATED, [sent(errorResponse(SHUTDOWN)), 'hang up']],
  [
    'a shutdown while waiting',
    waiting(WORK),
    { terminate: SHUTDOWN },
    TERMINATED,
    [sent(errorResponse(SHUTDOWN)), 'hang up'],
  ],
  [
    'a shutdown while running',
    running(WORK),
    { terminate: SHUTDOWN },
    terminated(HOLDING),
    [sent(errorResponse(SHUTDOWN)), 'hang up', { interrupt: 'cancelled' }],
  ],
  ['a cancel request', running(WORK), 'cancel', running(WORK), [{ interrupt: 'cancelled' }]],
  ['a cancel request while waiting', waiting(WORK), 'cancel', waiting(WORK), [{ interrupt: 'cancelled' }]],
  ['a cancel request after it was cancelled', waiting(FAILED), 'cancel', waiting(FAILED), []],
  ['a cancel request with nothing to cancel', READY, 'cancel', READY, []],
  [
    'a client that left long ago',
    running(WORK),
    'client gone',
    running(WORK),
    [{ interrupt: 'client gone' }],
  ],
  ['a client that left while waiting', waiting(WORK), 'client gone', waiting(WORK), []],
  ['a message after the end', TERMINATED, received(QUERY), TERMINATED, []],
  ['the backend after the end', TERMINATED, 'backend taken', TERMINATED, []],
  ['a failure after the end', TERMINATED, { failed: LOST }, TERMINATED, []],
  ['another end', TERMINATED, { terminate: SHUTDOWN }, TERMINATED, []],
]

test.each([
  ...SIMPLE_QUERY,
  ...EXTENDED_QUERY,
  ...COPY_IN,
  ...REFUSED_LISTEN,
  ...CANCELLED_STATEMENT,
  ...TERMINATION,
])('%s', (_what, state, input, next, effects) => {
  expect(nextSessionState(state, input)).toEqual([next, effects])
})

test('a message that cannot be read is a protocol violation', () => {
  expect(() => nextSessionState(READY, received(message('P', Buffer.from('no end'))))).toThrow(
    expect.objectContaining({ code: '08P01', fatal: true }) as Error,
  )
})
