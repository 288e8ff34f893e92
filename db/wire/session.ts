/** One client after its login: reads its messages, has them run and writes the answers, as session-state.ts decides. */
import type { Socket } from 'node:net'
import type { Backend, Outcome, Work } from './backend.ts'
import { createCopyBuffer } from './copy-buffer.ts'
import type { MessageReader } from './message-reader.ts'
import {
  type Client,
  keepStatements,
  prefixStatementName,
  repeatParse,
  type StatementMessage,
} from './prepared-statements.ts'
import { cString, errorResponse, FLUSH, message, simpleQuery, SYNC, WireError } from './protocol-messages.ts'
import { NEW_SESSION, nextSessionState } from './session-state.ts'
import type { SessionEffect, SessionInput, SessionWork } from './session-state.ts'
import type { SharedBuffer } from './shared-buffer.ts'

export type SessionLimits = {
  readonly statementMs: number
  readonly idleInTransactionMs: number
  /** For the backend, while others use it. */
  readonly waitMs: number
}

const MESSAGE_MAX_BYTES = 64 * 1024 * 1024
/** Nobody waits for the answer, and everybody else waits for the engine; a client may send something and leave. */
const CLIENT_GONE_MS = 5_000
/** The second statement is an error of syntax. */
const FAILED_TRANSACTION = Buffer.concat([simpleQuery('BEGIN'), simpleQuery('refused')])

const TOO_MANY_LARGE_MESSAGES = new WireError(
  '53200',
  'too many large messages at once: send the data in parts',
  { fatal: true },
)

type StartTimer = (act: () => void, ms: number) => NodeJS.Timeout

export type Session = {
  /** Until the client leaves or is cut off. Never rejects. */
  readonly done: Promise<void>
  cancel(): void
  terminate(error: WireError): void
}

export function startSession(options: {
  readonly socket: Socket
  readonly reader: MessageReader
  readonly backend: Backend
  readonly client: Client
  /** Of the names of its statements. */
  readonly prefix: string
  readonly limits: SessionLimits
  /** For the data of COPY FROM STDIN. */
  readonly copyBuffer: SharedBuffer
  /** For messages that are longer than what is read ahead. */
  readonly messageBuffer: SharedBuffer
  /** Gets internal errors; the client only learns that there was one. */
  readonly onProblem: (problem: unknown) => void
  /** For what a client takes too long for. */
  readonly startTimer?: StartTimer
}): Session {
  const { socket, reader, backend, client, limits, messageBuffer, startTimer = setTimeout } = options
  const statements = keepStatements(client)
  let state = NEW_SESSION
  let queue: StatementMessage[] = []
  const copyBuffer = createCopyBuffer(options.copyBuffer)
  /** Of the message that was read last, if it is a large one. */
  let messageBytes = 0
  /** While a large message comes, which has its memory already. */
  let stalledTimer: NodeJS.Timeout | undefined
  let idleTimer: NodeJS.Timeout | undefined
  let goneTimer: NodeJS.Timeout | undefined
  const startStalled = (act: () => void) => startTimer(act, limits.idleInTransactionMs)
  const write = writerTo(socket, startStalled, () => dispatchInBackground('client gone'))

  async function dispatch(input: SessionInput): Promise<void> {
    const [next, effects] = nextSessionState(state, input)
    state = next
    for (const effect of effects) {
      const pending = perform(effect)
      if (pending) await pending
    }
  }

  /** A rejection that nobody handles would end the process; this ends only the session. */
  function dispatchInBackground(input: SessionInput): void {
    dispatch(input).catch((error: unknown) => {
      options.onProblem(error)
      socket.destroy()
    })
  }

  function perform(effect: SessionEffect): Promise<void> | void {
    if (typeof effect === 'string') return performers[effect]()
    if ('send' in effect) return write(effect.send)
    if ('queue' in effect) return void queue.push(prefixStatementName(effect.queue, options.prefix))
    if ('keepCopyData' in effect) return copyBuffer.add(effect.keepCopyData.subarray(5))
    if ('handleAgain' in effect) return dispatch(received(effect.handleAgain))
    if ('interrupt' in effect) return backend.interrupt(client, effect.interrupt)
    return run(effect.run).catch(failed).then(dispatch)
  }

  const performers: Record<Extract<SessionEffect, string>, () => Promise<void> | void> = {
    'take backend': () => takeBackend().catch(failed).then(dispatch),
    'release backend': () => backend.release(client),
    // A Parse that cannot succeed; its own error is not shown.
    'fail transaction': () =>
      runQuietly(message('P', cString(''), cString('refused'), Buffer.alloc(2))).then(() => {}),
    'doubt statements': () => backend.doubtStatements(),
    'forget unnamed statement': () => statements.forget(''),
    'start idle timer'() {
      clearTimeout(idleTimer)
      idleTimer = startTimer(() => dispatchInBackground('idle timeout'), limits.idleInTransactionMs)
    },
    'stop idle timer': () => clearTimeout(idleTimer),
    'hang up': () => hangUp(socket),
  }

  async function takeBackend(): Promise<SessionInput> {
    await backend.take(client, limits.waitMs)
    return 'backend taken'
  }

  const received = (bytes: Buffer): SessionInput => ({
    message: bytes,
    freeCopyBytes: options.copyBuffer.freeBytes,
  })

  function failed(error: unknown): SessionInput {
    discardInput()
    if (error instanceof WireError) return { failed: error }
    options.onProblem(error)
    return { failed: new WireError('XX000', 'internal error', { fatal: true }) }
  }

  function discardInput(): void {
    copyBuffer.discard()
    queue = []
  }

  /**
   * For the whole message as soon as it begins: whoever may begin one can also end it. Whoever does not go on with it is
   * ended: what it keeps, others cannot have.
   */
  function takeMessageBuffer(bytes: number): void {
    if (bytes > messageBuffer.freeBytes) throw TOO_MANY_LARGE_MESSAGES
    messageBuffer.take(bytes)
    messageBytes = bytes
    stalledTimer = startTimer(() => dispatchInBackground('idle timeout'), limits.idleInTransactionMs).unref()
  }

  function giveBackMessageBuffer(): void {
    messageBuffer.giveBack(messageBytes)
    messageBytes = 0
  }

  const watchForLeaving = () => {
    if (state.phase.name !== 'running') return
    goneTimer ??= setTimeout(() => dispatchInBackground('client gone'), CLIENT_GONE_MS)
  }
  socket.on('close', watchForLeaving)
  socket.on('end', watchForLeaving)

  async function run(work: SessionWork): Promise<SessionInput> {
    if (reader.ended) watchForLeaving()
    try {
      const { status, failure } = await runWork(work)
      return { finished: { status, failed: failure !== undefined } }
    } finally {
      clearTimeout(goneTimer)
      goneTimer = undefined
      discardInput()
    }
  }

  async function runWork(work: SessionWork): Promise<Outcome> {
    if ('query' in work) return runVisibly({ bytes: work.query, complete: true })
    if ('failedTransaction' in work) return runFailedTransaction()
    if ('copy' in work) return runVisibly({ bytes: work.copy, copy: copyBuffer.pieces, complete: true })
    const complete = work.queue === 'Sync'
    for (const [name, parse] of statements.missing(queue)) {
      const { failure } = await runQuietly(repeatParse(name, parse))
      if (failure) {
        write(errorResponse(failure))
        const status = complete ? (await runVisibly({ bytes: SYNC, complete })).status : undefined
        return { status, failure }
      }
      client.parsed.add(name)
    }
    const last = { Sync: [SYNC], Flush: [FLUSH], part: [] }[work.queue]
    const outcome = await runVisibly({
      bytes: Buffer.concat([...queue.map(({ bytes }) => bytes), ...last]),
      complete,
    })
    for (const sent of queue) statements.remember(sent)
    return outcome
  }

  const runFailedTransaction = () =>
    backend.run(client, { bytes: FAILED_TRANSACTION, complete: true }, limits.statementMs, (_, taken) =>
      taken(),
    )
  const runVisibly = (work: Work) => backend.run(client, work, limits.statementMs, write)
  const runQuietly = (bytes: Buffer) =>
    backend.run(client, { bytes, complete: false }, limits.statementMs, (_, taken) => taken())

  async function serve(): Promise<void> {
    try {
      while (state.phase.name !== 'terminated') {
        // Only the engine waits for a slow reader: what is answered here would pile up.
        await drained(socket)
        giveBackMessageBuffer()
        const bytes = await reader.next(MESSAGE_MAX_BYTES, takeMessageBuffer, () => stalledTimer?.refresh())
        clearTimeout(stalledTimer)
        await dispatch(bytes ? received(bytes) : 'end of input')
      }
    } catch (error) {
      await dispatch(failed(error))
    } finally {
      clearTimeout(idleTimer)
      clearTimeout(stalledTimer)
      discardInput()
      giveBackMessageBuffer()
      hangUp(socket)
      await backend.leave(client)
    }
  }

  return {
    done: serve(),
    cancel: () => dispatchInBackground('cancel'),
    terminate: (error) => dispatchInBackground({ terminate: error }),
  }
}

/** The engine waits for a client that reads slowly; one that does not read at all would stop everybody. */
function writerTo(socket: Socket, startTimer: (act: () => void) => NodeJS.Timeout, onStalled: () => void) {
  let timer: NodeJS.Timeout | undefined
  const watch = () => {
    if (socket.writableLength === 0 || socket.destroyed) return
    timer ??= startTimer(() => {
      socket.destroy()
      onStalled()
    })
  }
  socket.once('close', () => clearTimeout(timer))
  return (bytes: Uint8Array, taken = () => {}): void => {
    socket.write(bytes, () => {
      clearTimeout(timer)
      timer = undefined
      watch()
      taken()
    })
    watch()
  }
}

/** Until the client has taken what was written, or is gone. A socket that is destroyed or ends never needs a drain. */
async function drained(socket: Socket): Promise<void> {
  if (!socket.writableNeedDrain) return
  await new Promise<void>((settle) => {
    const done = () => {
      socket.off('drain', done).off('close', done)
      settle()
    }
    socket.on('drain', done).on('close', done)
  })
}

/** What is written already still leaves, if the other side takes it. */
function hangUp(socket: Socket): void {
  if (socket.destroyed) return
  socket.destroySoon()
  const late = setTimeout(() => socket.destroy(), LAST_WRITE_MS)
  socket.once('close', () => clearTimeout(late))
}
const LAST_WRITE_MS = 1_000
