/**
 * What a session does with each message of its client, in the phases of the protocol (PostgreSQL documentation, 54.2
 * Message Flow). Pure: session.ts performs the effects, one after the other, and reports how they ended.
 */
import { findCopyFromStdin, type CopyFromStdin } from './find-copy-from-stdin.ts'
import { hasListen } from './has-listen.ts'
import { textOfParse } from './prepared-statements.ts'
import { copyInResponse, errorResponse, readyForQuery, simpleQuery, typeOf } from './protocol-messages.ts'
import { type TransactionStatus, WireError } from './protocol-messages.ts'

export type SessionState = {
  readonly phase:
    | { readonly name: 'ready for query' | 'skipping until Sync' | 'terminated' }
    | { readonly name: 'extended query'; readonly queuedBytes: number }
    | CopyIn
    | { readonly name: 'waiting for backend' | 'running'; readonly work: SessionWork }
  /** From the first message that runs until the backend reports that it is idle. */
  readonly holdsBackend: boolean
  /** As the last ReadyForQuery had it. */
  readonly status: TransactionStatus
  /** The client has prepared SQL that makes or drops prepared statements by itself. */
  readonly altersStatements: boolean
}
type CopyIn = {
  readonly name: 'copy in'
  readonly query: string
  readonly bytes: number
  readonly tooLarge: boolean
}

/** The queue runs with the Sync or Flush that asked for it; a part of it because it is long, or before a query. */
export type SessionWork =
  | { readonly queue: 'Sync' | 'Flush' | 'part' }
  | { readonly query: Buffer }
  | { readonly copy: Buffer }
  /** A failed one in place of the transaction that was lost with the engine; then ReadyForQuery, if it is due. */
  | { readonly failedTransaction: { readonly complete: boolean } }

export type SessionInput =
  | { readonly message: Buffer; readonly freeCopyBytes: number }
  | { readonly finished: { readonly status: TransactionStatus | undefined; readonly failed: boolean } }
  | { readonly failed: WireError }
  | { readonly terminate: WireError }
  | Signal
type Signal = 'end of input' | 'backend taken' | 'cancel' | 'client gone' | 'idle timeout'

export type SessionEffect =
  | { readonly send: Buffer }
  | { readonly queue: Buffer }
  | { readonly keepCopyData: Buffer }
  | { readonly handleAgain: Buffer }
  | { readonly run: SessionWork }
  | { readonly interrupt: 'cancelled' | 'client gone' }
  | BackendEffect
  | ClientEffect
type BackendEffect = 'take backend' | 'release backend' | 'fail transaction' | 'doubt statements'
type ClientEffect = 'forget unnamed statement' | 'start idle timer' | 'stop idle timer' | 'hang up'

type Step = readonly [SessionState, readonly SessionEffect[]]

/** A longer queue is handed to the engine in parts. */
const QUEUE_MAX_BYTES = 1024 * 1024
/** What a queued message takes besides its own bytes, which may be five. */
export const QUEUED_BYTES = 256
const COPY_MAX_BYTES = 256 * 1024 * 1024
/** SQL that makes or drops prepared statements by itself. Found in a string or a comment, it costs a little time. */
const ALTERS_STATEMENTS = /\b(?:prepare|deallocate|discard)\b/i

const READY = { name: 'ready for query' } as const
const SKIPPING = { name: 'skipping until Sync' } as const
export const NEW_SESSION: SessionState = {
  phase: READY,
  holdsBackend: false,
  status: 'I',
  altersStatements: false,
}

export function nextSessionState(state: SessionState, input: SessionInput): Step {
  const { phase } = state
  const work = 'work' in phase ? phase.work : undefined
  if (phase.name === 'terminated') return [state, []]
  if (input === 'end of input')
    return phase.name === 'copy in' ? terminate(state, CLIENT_GONE) : hangUp(state)
  if (input === 'idle timeout') return terminate(state, IDLE_TIMEOUT)
  // The statement may still wait for its turn. One that was cancelled before is over already.
  if (input === 'cancel')
    return [state, work && !('failedTransaction' in work) ? [{ interrupt: 'cancelled' }] : []]
  if (input === 'client gone') return [state, phase.name === 'running' ? [{ interrupt: input }] : []]
  if (input === 'backend taken') return work ? run({ ...state, holdsBackend: true }, work) : [state, []]
  if ('terminate' in input) return terminate(state, input.terminate)
  if ('finished' in input) return work ? finish(state, work, input.finished) : [state, []]
  if ('failed' in input) return work ? fail(state, work, input.failed) : terminate(state, input.failed)

  const type = typeOf(input.message)
  if (phase.name === 'copy in') return onCopyMessage(state, phase, type, input)
  // Also messages that Postgres does not know: it ignores whatever comes before the Sync.
  if (phase.name === 'skipping until Sync' && type !== 'S' && type !== 'X') return [state, []]
  // While something runs no message is read.
  return work ? [state, []] : (QUERY_MESSAGES[type] ?? unexpected)(state, input.message)
}

const QUERY_MESSAGES: Readonly<Record<string, (state: SessionState, message: Buffer) => Step>> = {
  Q: (state, message) => afterQueue(state, message, onQuery),
  F: (state, message) => afterQueue(state, message, () => begin(state, { query: message })),
  P: onParse,
  B: queue,
  D: queue,
  E: queue,
  C: queue,
  H: (state) => begin(state, { queue: 'Flush' }),
  S: onSync,
  X: hangUp,
  // Data of a COPY that has failed already: Postgres ignores it.
  d: (state) => [state, []],
  c: (state) => [state, []],
  f: (state) => [state, []],
}

const queuedBytes = ({ phase }: SessionState) => ('queuedBytes' in phase ? phase.queuedBytes : 0)

/** A message that may only follow what is queued: the queue runs, then the message comes again. */
function afterQueue(
  state: SessionState,
  message: Buffer,
  handle: (state: SessionState, message: Buffer) => Step,
): Step {
  if (queuedBytes(state) === 0) return handle(state, message)
  const [next, effects] = begin(state, { queue: 'part' })
  return [next, [...effects, { handleAgain: message }]]
}

function onParse(state: SessionState, message: Buffer): Step {
  const text = textOfParse(message)
  if (findCopyFromStdin(text)) return afterQueue(state, message, refusing(UNSUPPORTED_COPY))
  if (hasListen(text)) return afterQueue(state, message, refusing(UNSUPPORTED_LISTEN))
  return queue(
    { ...state, altersStatements: state.altersStatements || ALTERS_STATEMENTS.test(text) },
    message,
  )
}

function queue(state: SessionState, message: Buffer): Step {
  const bytes = queuedBytes(state) + message.length + QUEUED_BYTES
  const phase = { name: 'extended query', queuedBytes: bytes } as const
  const queued = { ...state, phase }
  if (phase.queuedBytes <= QUEUE_MAX_BYTES) return [queued, [{ queue: message }]]
  const [next, effects] = begin(queued, { queue: 'part' })
  return [next, [{ queue: message }, ...effects]]
}

/** As Postgres does: the error, then nothing up to the Sync. A transaction it happens in has failed. */
const refusing =
  (error: WireError) =>
  (state: SessionState): Step => [
    { ...state, phase: SKIPPING },
    [
      { send: errorResponse(error) },
      ...(state.holdsBackend ? (['fail transaction', 'start idle timer'] as const) : []),
    ],
  ]

function onSync(state: SessionState): Step {
  if (queuedBytes(state) > 0 || state.holdsBackend) return begin(state, { queue: 'Sync' })
  return [{ ...state, phase: READY }, [{ send: readyForQuery('I') }]]
}

function onQuery(state: SessionState, message: Buffer): Step {
  const text = message.toString('utf8', 5, message.length - 1)
  const copy = findCopyFromStdin(text)
  const [next, effects]: Step = copy?.alone
    ? [
        { ...state, phase: { name: 'copy in', query: copy.fromBlob, bytes: 0, tooLarge: false } },
        [{ send: copyInResponse(copy.binary) }, 'start idle timer'],
      ]
    : begin(state, refusalOf(text, copy) ?? { query: message })
  // As in Postgres, a simple query ends the life of the unnamed statement.
  return [next, ['forget unnamed statement', ...effects]]
}

function refusalOf(text: string, copy: CopyFromStdin | undefined): SessionWork | undefined {
  if (copy) return raise(UNSUPPORTED_COPY)
  return hasListen(text) ? raise(UNSUPPORTED_LISTEN) : undefined
}

/** The data is collected, since the engine cannot wait for it, and then read by it in one go. */
function onCopyMessage(
  state: SessionState,
  phase: CopyIn,
  type: string,
  { message, freeCopyBytes }: { message: Buffer; freeCopyBytes: number },
): Step {
  if (type === 'd') {
    const bytes = phase.bytes + message.length - 5
    const tooLarge = phase.tooLarge || bytes > COPY_MAX_BYTES || message.length - 5 > freeCopyBytes
    // The timer also runs outside a transaction: what was collected takes memory.
    return tooLarge
      ? [{ ...state, phase: { ...phase, tooLarge } }, ['start idle timer']]
      : [{ ...state, phase: { ...phase, bytes } }, [{ keepCopyData: message }, 'start idle timer']]
  }
  if (type === 'H' || type === 'S') return [state, ['start idle timer']]
  if (type === 'c') {
    return begin(state, phase.tooLarge ? raise(COPY_TOO_LARGE) : { copy: simpleQuery(phase.query) })
  }
  if (type !== 'f') return unexpected(state)
  const reason = message.toString('utf8', 5, message.length - 1)
  return begin(state, raise(new WireError('57014', `COPY from stdin failed: ${reason}`)))
}

function begin(state: SessionState, work: SessionWork): Step {
  const [next, effects]: Step = state.holdsBackend
    ? run(state, work)
    : [{ ...state, phase: { name: 'waiting for backend', work } }, ['take backend']]
  return [next, ['stop idle timer', ...effects]]
}

function run(state: SessionState, work: SessionWork): Step {
  const doubtful =
    state.altersStatements || ('query' in work && ALTERS_STATEMENTS.test(work.query.toString()))
  return [
    { ...state, phase: { name: 'running', work } },
    [...(doubtful ? (['doubt statements'] as const) : []), { run: work }],
  ]
}

/** Without a Sync the client keeps the backend, and after an error everything up to a Sync is skipped. */
const isComplete = (work: SessionWork): boolean => !('queue' in work) || work.queue === 'Sync'

function finish(
  state: SessionState,
  work: SessionWork,
  { status, failed }: { status: TransactionStatus | undefined; failed: boolean },
): Step {
  if ('failedTransaction' in work) return finishFailedTransaction(state, work.failedTransaction)
  const open = failed ? SKIPPING : ({ name: 'extended query', queuedBytes: 0 } as const)
  const phase = isComplete(work) ? READY : open
  return [
    { ...state, phase, holdsBackend: status !== 'I', status: status ?? state.status },
    [status === 'I' ? 'release backend' : 'start idle timer'],
  ]
}

const finishFailedTransaction = (state: SessionState, { complete }: { complete: boolean }): Step => [
  { ...state, phase: complete ? READY : SKIPPING, holdsBackend: true, status: 'E' },
  [...(complete ? [{ send: readyForQuery('E') }] : []), 'start idle timer'],
]

/**
 * What is not fatal leaves the client in no transaction: it waited for the backend in vain, or its statement was
 * cancelled, and the engine and all it had begun is lost with it. As in Postgres the connection stays. Whoever was in
 * a transaction is in a failed one afterwards, so that nothing it sends next is committed by itself.
 */
function fail(state: SessionState, work: SessionWork, error: WireError): Step {
  // Drivers that tell of an error only with the ReadyForQuery after it would report a lost connection instead.
  if (error.fatal || 'failedTransaction' in work)
    return terminate({ ...state, phase: READY }, error, readyForQuery(state.status === 'I' ? 'I' : 'E'))
  const complete = isComplete(work)
  const without = { ...state, holdsBackend: false }
  const released = state.holdsBackend ? (['release backend'] as const) : []
  if (state.status !== 'I') {
    const [next, effects] = begin(without, { failedTransaction: { complete } })
    return [next, [{ send: errorResponse(error) }, ...released, ...effects]]
  }
  const answer = [errorResponse(error), ...(complete ? [readyForQuery('I')] : [])]
  return [{ ...without, phase: complete ? READY : SKIPPING }, [{ send: Buffer.concat(answer) }, ...released]]
}

function terminate(state: SessionState, error: WireError, ...after: readonly Buffer[]): Step {
  const [next, effects] = hangUp(state)
  return [next, [{ send: Buffer.concat([errorResponse(error), ...after]) }, ...effects]]
}

function hangUp(state: SessionState): Step {
  const interrupt = state.phase.name === 'running' ? ([{ interrupt: 'cancelled' }] as const) : []
  return [{ ...state, phase: { name: 'terminated' } }, ['hang up', ...interrupt]]
}

/** The engine would loop forever over a message it does not know. */
const unexpected = (state: SessionState): Step =>
  terminate(state, new WireError('08P01', 'invalid frontend message type', FATAL))

/** By the engine itself, so that a transaction fails with it and the status that follows is the true one. */
function raise({ code, message }: WireError): SessionWork {
  const plain = message.replaceAll('\0', '').replaceAll('\\', '\\\\')
  const text = plain.replaceAll("'", "''").replaceAll('$', '\\x24')
  return {
    query: simpleQuery(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}', MESSAGE = E'${text}'; END $$`),
  }
}

const FATAL = { fatal: true }
const CLIENT_GONE = new WireError('08006', 'the client is gone', FATAL)
/** One client that is idle in a transaction stops all the others. */
const IDLE_TIMEOUT = new WireError(
  '25P03',
  'terminating connection due to idle-in-transaction timeout',
  FATAL,
)
const UNSUPPORTED_COPY = new WireError(
  '0A000',
  'COPY FROM STDIN is supported only as a simple query with no other statement beside it',
)
const UNSUPPORTED_LISTEN = new WireError('0A000', 'LISTEN is not supported: no notification would arrive')
const COPY_TOO_LARGE = new WireError(
  '54000',
  'COPY FROM STDIN takes at most 256 MiB, and less while other clients copy: send the data in parts',
)
