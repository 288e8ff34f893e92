/** One client after its login: reads its messages, has them run, writes the answers. */
import type { Socket } from 'node:net'
import { parseAgain, type Backend, type Client, type Interruption, type Work } from './backend.ts'
import { findCopy, type FoundCopy } from './find-copy.ts'
import type { MessageReader } from './message-reader.ts'
import {
  copyInResponse,
  errorResponse,
  message,
  readyForQuery,
  simpleQuery,
  type Status,
  SYNC,
  WireFailure,
  zeroTerminated,
} from './messages.ts'
import { prefixNames, textOfParse, type Named } from './prefix-names.ts'

export type SessionLimits = {
  readonly statementMs: number
  readonly idleInTransactionMs: number
  /** For its turn. */
  readonly waitMs: number
  /** What all clients together may still have collected for their COPY. */
  readonly copyRoom: { bytes: number }
}

const MESSAGE_MAX_BYTES = 64 * 1024 * 1024
/** A batch longer than this is handed to the engine in parts. */
const BATCH_BYTES = 1024 * 1024
const COPY_MAX_BYTES = 256 * 1024 * 1024
/** Of Parse messages kept for an engine that has to be opened again. What is beyond has to be prepared anew then. */
const KEPT_STATEMENTS_BYTES = 8 * 1024 * 1024
/** Nobody waits for the answer, and everybody else waits for the engine; a client may send something and leave. */
const CLIENT_GONE_MS = 5_000

/** SQL that makes or drops prepared statements by itself. Found in a string or a comment, it costs a little time. */
const TOUCHES_STATEMENTS = /\b(?:prepare|deallocate|discard)\b/i

const unsupportedCopy = () =>
  new WireFailure('0A000', 'COPY FROM STDIN is supported as a simple query with no other statement beside it')

export type Session = {
  /** Until the client leaves or is cut off. Never rejects. */
  readonly done: Promise<void>
  cancel(): void
  end(failure: WireFailure): void
}

export function startSession({
  socket,
  reader,
  backend,
  client,
  prefix,
  limits,
  onProblem,
}: {
  socket: Socket
  reader: MessageReader
  backend: Backend
  client: Client
  /** Of the names of its statements. */
  prefix: string
  limits: SessionLimits
  /** Told what should never happen; the client only learns that something did. */
  onProblem: (problem: unknown) => void
}): Session {
  let batch: Named[] = []
  let batchBytes = 0
  /** After an error in the extended protocol everything up to the next Sync is ignored. */
  let skipping = false
  let owns = false
  let inTransaction = false
  /** Something was asked, and its answer is not complete. */
  let answering = false
  let riskyStatements = false
  let riskyText = false
  let keptBytes = 0
  let idle: NodeJS.Timeout | undefined
  let stalled: NodeJS.Timeout | undefined
  let running = false
  let over = false
  let goneTimer: NodeJS.Timeout | undefined

  /** Drivers that tell of an error only with the ReadyForQuery after it would report a lost connection instead. */
  const end = (failure: WireFailure, answered: Uint8Array = Buffer.alloc(0)) => {
    if (over) return
    over = true
    if (socket.writable) socket.write(Buffer.concat([errorResponse(failure), answered]))
    hangUp(socket)
  }

  const interrupt = (why: Interruption) => {
    if (running) backend.interrupt(client, why)
  }
  const watchForLeaving = () => {
    if (running && !goneTimer) goneTimer = setTimeout(() => interrupt('client gone'), CLIENT_GONE_MS)
  }
  socket.on('close', watchForLeaving)
  socket.on('end', watchForLeaving)

  /** The engine waits for a client that reads slowly; one that does not read at all would stop everybody. */
  function write(bytes: Uint8Array, taken = () => {}): void {
    socket.write(bytes, () => {
      clearTimeout(stalled)
      stalled = undefined
      watchReader()
      taken()
    })
    watchReader()
  }
  const watchReader = () => {
    if (socket.writableLength === 0 || socket.destroyed) return
    stalled ??= setTimeout(giveUp, limits.idleInTransactionMs)
  }
  const giveUp = () => {
    socket.destroy()
    interrupt('client gone')
  }

  async function take(): Promise<void> {
    answering = true
    clearTimeout(idle)
    if (owns) return
    await backend.take(client, limits.waitMs)
    owns = true
  }

  async function run(work: Work) {
    running = true
    if (reader.ended) watchForLeaving()
    if (riskyStatements || riskyText) backend.doubtStatements()
    riskyText = false
    try {
      return await backend.run(client, work, limits.statementMs, write)
    } finally {
      running = false
      clearTimeout(goneTimer)
      goneTimer = undefined
    }
  }

  function afterRun(status: Status | undefined): void {
    answering = false
    if (status) inTransaction = status !== 'I'
    if (status === 'I') {
      owns = false
      backend.release(client)
    } else keepAwake()
  }

  /** One client that is idle in a transaction stops all the others. */
  function keepAwake(): void {
    clearTimeout(idle)
    const tooIdle = new WireFailure(
      '25P03',
      'terminating connection due to idle-in-transaction timeout',
      FATAL,
    )
    idle = setTimeout(() => end(tooIdle), limits.idleInTransactionMs)
  }

  /** Runs what was collected. `last` is the Sync or the Flush that asks for it; without one it is a part. */
  async function runBatch(last?: Named): Promise<void> {
    const messages = last ? [...batch, last] : batch
    batch = []
    batchBytes = 0
    const complete = last !== undefined && typeOf(last.bytes) === 'S'
    if (messages.length === 0) return
    if (complete && messages.length === 1 && !owns) return write(readyForQuery('I'))
    try {
      await take()
      const failure = await repeatStatements(messages)
      if (failure) {
        write(errorResponse(failure))
        skipping = !complete
        return afterRun(complete ? (await run({ bytes: SYNC, complete })).status : undefined)
      }
      const outcome = await run({ bytes: Buffer.concat(messages.map(({ bytes }) => bytes)), complete })
      for (const { bytes, does, statement } of messages) remember(bytes, does, statement)
      if (outcome.failure && !complete) skipping = true
      afterRun(outcome.status)
    } catch (error) {
      if (!(error instanceof WireFailure) || error.fatal) throw error
      answering = false
      write(errorResponse(error))
      if (complete) write(readyForQuery('I'))
      else skipping = true
    }
  }

  /** Those that this batch uses and the engine does not have. */
  async function repeatStatements(messages: readonly Named[]): Promise<WireFailure | undefined> {
    const known = new Set(client.parsed)
    for (const { does, statement = '' } of messages) {
      const parse = client.statements.get(statement)
      if (does === 'use' && !known.has(statement) && parse) {
        const bytes = parseAgain(statement, parse)
        const { failure } = await runQuietly(bytes)
        if (failure) return failure
        client.parsed.add(statement)
      }
      if (does) known.add(statement)
    }
    return undefined
  }

  const runQuietly = (bytes: Buffer) =>
    backend.run(client, { bytes, complete: false }, limits.statementMs, (_, taken) => taken())

  function remember(bytes: Buffer, does: Named['does'], statement = ''): void {
    if (does !== 'parse' && does !== 'close') return
    keptBytes -= client.statements.get(statement)?.length ?? 0
    client.statements.delete(statement)
    client.parsed.delete(statement)
    if (does === 'close') return
    client.parsed.add(statement)
    if (keptBytes + bytes.length > KEPT_STATEMENTS_BYTES) return
    keptBytes += bytes.length
    // A copy: the message is a window into what was read with it.
    client.statements.set(statement, Buffer.from(bytes))
  }

  async function simple(bytes: Buffer): Promise<void> {
    await runBatch()
    if (skipping) return
    const text = bytes.toString('utf8', 5, bytes.length - 1)
    const copy = findCopy(text)
    riskyText = TOUCHES_STATEMENTS.test(text)
    // As in Postgres, a simple query ends the life of the unnamed statement.
    remember(bytes, 'close', '')
    await answered(() => (copy ? copyIn(copy) : runOne({ bytes, complete: true })))
  }

  async function callFunction(bytes: Buffer): Promise<void> {
    await runBatch()
    if (!skipping) await answered(() => runOne({ bytes, complete: true }))
  }

  async function runOne(work: Work): Promise<void> {
    await take()
    afterRun((await run(work)).status)
  }

  /** What is not fatal happens before the engine is taken, so the client is in no transaction. */
  async function answered(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof WireFailure) || error.fatal) throw error
      answering = false
      write(errorResponse(error))
      write(readyForQuery('I'))
    }
  }

  /** The data is collected here, since the engine cannot wait for it, and then read by it in one go. */
  async function copyIn(copy: FoundCopy): Promise<void> {
    if (!copy.alone) return failStatement(unsupportedCopy())
    write(copyInResponse(copy.binary))
    const collected = { data: [], bytes: 0 }
    try {
      await runCopy(copy.fromBlob, collected)
    } finally {
      clearTimeout(idle)
      if (owns) keepAwake()
      limits.copyRoom.bytes += collected.bytes
    }
  }

  async function runCopy(
    statement: string,
    collected: { data: Uint8Array<ArrayBuffer>[]; bytes: number },
  ): Promise<void> {
    let tooMuch = false
    for (;;) {
      // Also outside a transaction: what was collected takes memory.
      keepAwake()
      const bytes = await reader.next(MESSAGE_MAX_BYTES)
      if (!bytes) throw new WireFailure('08006', 'the client is gone', FATAL)
      const type = typeOf(bytes)
      if (type === 'd') {
        const size = bytes.length - 5
        tooMuch ||= collected.bytes + size > COPY_MAX_BYTES || size > limits.copyRoom.bytes
        if (tooMuch) continue
        limits.copyRoom.bytes -= size
        collected.bytes += size
        collected.data.push(new Uint8Array(bytes.subarray(5)))
      } else if (type === 'f') {
        const reason = bytes.toString('utf8', 5, bytes.length - 1)
        return failStatement(new WireFailure('57014', `COPY from stdin failed: ${reason}`))
      } else if (type === 'c') break
      else if (type !== 'H' && type !== 'S') throw unexpected()
    }
    if (tooMuch) {
      return failStatement(
        new WireFailure(
          '54000',
          'COPY FROM STDIN takes at most 256 MiB, less while others copy: send it in parts',
        ),
      )
    }
    await runOne({ bytes: simpleQuery(statement), copy: collected.data, complete: true })
  }

  /** By the engine itself, so that a transaction fails with it and the status that follows is the true one. */
  async function failStatement({ code, message: reason }: WireFailure): Promise<void> {
    const words = reason
      .replaceAll('\0', '')
      .replaceAll('\\', '\\\\')
      .replaceAll("'", "''")
      .replaceAll('$', '\\x24')
    const bytes = simpleQuery(
      `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}', MESSAGE = E'${words}'; END $$`,
    )
    await runOne({ bytes, complete: true })
  }

  /** Answers false when the client says goodbye. */
  async function handle(bytes: Buffer): Promise<boolean> {
    const type = typeOf(bytes)
    if (type === 'X') return false
    if (type === 'S') {
      skipping = false
      await runBatch({ bytes })
    } else if (skipping || type === 'd' || type === 'c' || type === 'f') {
      // Also data of a COPY that has failed already: Postgres ignores it.
    } else if (type === 'Q') await simple(bytes)
    else if (type === 'H') await runBatch({ bytes })
    else if (type === 'F') await callFunction(bytes)
    else if (EXTENDED.has(type)) await collect(bytes)
    else throw unexpected()
    return true
  }

  async function collect(bytes: Buffer): Promise<void> {
    if (typeOf(bytes) === 'P') {
      const text = textOfParse(bytes)
      if (TOUCHES_STATEMENTS.test(text)) riskyStatements = true
      if (findCopy(text)) {
        await runBatch()
        if (!skipping) await refuseBatch(unsupportedCopy())
        return
      }
    }
    const named = prefixNames(bytes, prefix)
    batch.push(named)
    batchBytes += named.bytes.length
    if (batchBytes > BATCH_BYTES) await runBatch()
  }

  /** As Postgres does: the error, then nothing up to the Sync. A transaction it happens in has failed. */
  async function refuseBatch(failure: WireFailure): Promise<void> {
    skipping = true
    write(errorResponse(failure))
    if (!owns) return
    clearTimeout(idle)
    // A Parse that cannot succeed; its own error is not shown.
    await runQuietly(message('P', zeroTerminated(''), zeroTerminated('refused'), Buffer.alloc(2)))
    keepAwake()
  }

  async function serve(): Promise<void> {
    try {
      for (;;) {
        const bytes = await reader.next(MESSAGE_MAX_BYTES)
        if (!bytes || over || !(await handle(bytes))) break
      }
    } catch (error) {
      if (!(error instanceof WireFailure)) onProblem(error)
      const failure = error instanceof WireFailure ? error : new WireFailure('XX000', 'internal error', FATAL)
      end(failure, answering ? readyForQuery(inTransaction ? 'E' : 'I') : undefined)
    } finally {
      clearTimeout(idle)
      clearTimeout(stalled)
      hangUp(socket)
      await backend.leave(client)
    }
  }

  return { done: serve(), cancel: () => interrupt('cancelled'), end }
}

/** What is written already still leaves, if the other side takes it. */
function hangUp(socket: Socket): void {
  if (socket.destroyed) return
  socket.destroySoon()
  const late = setTimeout(() => socket.destroy(), LAST_WORDS_MS)
  socket.once('close', () => clearTimeout(late))
}
const LAST_WORDS_MS = 1_000

const FATAL = { fatal: true }
const EXTENDED = new Set(['P', 'B', 'D', 'E', 'C'])
const typeOf = (bytes: Uint8Array): string => String.fromCharCode(bytes[0] ?? 0)
/** The engine would loop forever over a message it does not know. */
const unexpected = () => new WireFailure('08P01', 'invalid frontend message type', FATAL)
