/**
 * One connection to a managed or attached database. It speaks as much of the Postgres protocol as questions need, in one
 * round trip each, and hangs up on whatever else a server sends (docs/decisions has the trial of two drivers that fail).
 */
import type { Socket } from 'node:net'
import { cString, int16, int32, message, SYNC } from '../wire/protocol-messages.ts'
import {
  ProtocolViolation,
  readBackendMessages,
  readDataRow,
  readErrorResponse,
  readRowDescription,
  type Column,
  type DatabaseError,
} from './backend-messages.ts'
import { authenticator } from './log-in.ts'
import { openSocket, type Target } from './open-socket.ts'
import { problem } from './problem.ts'
import { responses } from './response-memory.ts'

export type ConnectionSettings = {
  readonly statementTimeoutMs: number
  /** Session settings, given at start-up. */
  readonly parameters: Readonly<Record<string, string>>
  /** Every statement in a read-only transaction of its own, which is rolled back: it leaves nothing, not even a setting. */
  readonly readOnly: boolean
  /** How long after statement_timeout a server may still answer. */
  readonly graceMs?: number
  /** An embedded database is opened by its first login, or even made. */
  readonly loginMs?: number
}

export type PostgresConnection = {
  query(text: string, parameters: readonly (string | null)[]): Promise<readonly Record<string, unknown>[]>
  /** False once it must not be used again. */
  readonly isOpen: boolean
  /** Asks the server to end what is under way: it would run on there after a close. */
  cancel(): Promise<void>
  close(): void
}

export const GRACE_MS = 5_000
/** Both the login itself and the first look at the settings. */
const LOGIN_MS = 5_000
const CANCEL_MS = 2_000
const STATEMENTS_MAX = 100
/** While nothing is asked. A server that reads its configuration anew says at most what has changed. */
const IDLE_MESSAGES_MAX = 100
/** Of one answer. Small values take many times their size on the wire. */
const ROWS_MAX = 10_000
const VALUES_MAX = 100_000

const BEGIN = 'begin read only'
const LIMIT_TIME = `select pg_catalog.set_config('statement_timeout', $1, true)`
const ROLL_BACK = 'rollback'

type Step = {
  readonly text: string
  readonly parameters?: readonly (string | null)[]
  readonly rows?: true
  /**
   * Kept under a name, for the next time. SQL can replace what is behind a name (DEALLOCATE, PREPARE) and a rollback does
   * not undo that, so nothing that guards a question is kept.
   */
  readonly isKept?: true
  /** The only tag that its CommandComplete may have. */
  readonly tag?: string
}
type Outcome = {
  readonly rows: readonly Record<string, unknown>[][]
  readonly failure: DatabaseError | undefined
  readonly status: string
}

export async function connectPostgres(
  target: Target,
  settings: ConnectionSettings,
): Promise<PostgresConnection> {
  const wire = await logIn(target, settings)
  const { statementTimeoutMs, graceMs = GRACE_MS } = settings
  const prepared = preparedStatements()
  const showSettings = settingsStatement(settings)
  const begin: Step = { text: BEGIN, tag: 'BEGIN' }
  const limit: Step = {
    text: LIMIT_TIME,
    parameters: [String(statementTimeoutMs)],
    rows: true,
    tag: 'SELECT 1',
  }
  const show: Step = { text: showSettings, rows: true, tag: 'SELECT 1' }
  const leave: Step[] = [{ text: ROLL_BACK, tag: 'ROLLBACK' }, show]
  let known: string | undefined

  async function run(steps: readonly Step[]): Promise<Outcome> {
    const batch = prepared.begin(steps)
    const outcome = await wire.send(batch.bytes, steps)
    if (outcome.failure) batch.failed()
    return outcome
  }

  /** Thrown away when its settings are no longer those it began with. */
  function checkSettings(shown: unknown): void {
    known ??= JSON.stringify(shown)
    if (JSON.stringify(shown) !== known) wire.destroy(problem('SETTINGS_CHANGED', 'The session was changed'))
  }

  async function question(step: Step): Promise<Outcome> {
    const outcome = await run([begin, limit, step, ...leave])
    if (!outcome.failure) {
      checkSettings(outcome.rows[4])
      return { ...outcome, rows: [outcome.rows[2]!] }
    }
    // What followed the error was not run. A server that hangs up now does not make it another error.
    const left = await run(leave).catch(() => undefined)
    if (left?.status === 'I' && !left.failure) checkSettings(left.rows[1])
    else wire.destroy(outcome.failure)
    return { ...outcome, status: 'I' }
  }

  async function ask(step: Step): Promise<readonly Record<string, unknown>[]> {
    const { rows, failure, status } = await (settings.readOnly ? question(step) : run([step]))
    if (status !== 'I') wire.destroy(new ProtocolViolation())
    if (failure) throw failure
    return rows[0] ?? []
  }

  if (settings.readOnly) {
    // Before the first question could have changed them.
    const shown = run([show])
    const { rows, failure } = await orDestroy(wire, settings.loginMs ?? LOGIN_MS, shown)
    if (failure) {
      wire.destroy(failure)
      throw failure
    }
    checkSettings(rows[0])
  }

  return {
    async query(text, parameters) {
      const asked = ask({ text, parameters, rows: true, isKept: true })
      return orDestroy(wire, statementTimeoutMs + graceMs, asked, () => void cancel(target, wire.key))
    },
    get isOpen() {
      return wire.isOpen
    },
    cancel: () => cancel(target, wire.key),
    close: () => wire.close(),
  }
}

async function orDestroy<T>(
  wire: Pick<Wire, 'destroy'>,
  withinMs: number,
  work: Promise<T>,
  isLate = () => {},
): Promise<T> {
  const timer = setTimeout(() => {
    isLate()
    wire.destroy(problem('ETIMEDOUT', 'The database did not answer in time'))
  }, withinMs)
  return work.finally(() => clearTimeout(timer))
}

/** The settings that were asked for, as the server shows them. */
const settingsStatement = ({ parameters }: ConnectionSettings): string =>
  `select ${['statement_timeout', 'default_transaction_read_only', ...Object.keys(parameters)]
    .map((name, at) => `pg_catalog.current_setting('${name.replaceAll("'", "''")}', true) as s${at}`)
    .join(', ')}`

/** Statements that are kept are prepared under names that are never used twice; those given up are closed with the next batch. */
function preparedStatements() {
  const names = new Map<string, string>()
  let counter = 0
  let dropped: string[] = []
  const drop = (text: string) => {
    const name = names.get(text)
    if (name !== undefined && names.delete(text)) dropped.push(name)
  }
  return {
    begin(steps: readonly Step[]): { bytes: Buffer; failed: () => void } {
      const parts = dropped.map((name) => message('C', Buffer.from('S'), cString(name)))
      dropped = []
      const fresh: string[] = []
      for (const { text, parameters = [], rows, isKept } of steps) {
        const known = isKept ? names.get(text) : undefined
        const name = known ?? (isKept ? `q${(counter += 1)}` : '')
        if (known === undefined) parts.push(message('P', cString(name), cString(text), int16(0)))
        if (known === undefined && isKept) {
          names.set(text, name)
          fresh.push(text)
        }
        parts.push(bind(name, parameters))
        if (rows) parts.push(message('D', Buffer.from('P'), cString('')))
        parts.push(message('E', cString(''), int32(0)))
      }
      while (names.size > STATEMENTS_MAX) drop(names.keys().next().value!)
      return {
        bytes: Buffer.concat([...parts, SYNC]),
        /** Which of them the server has is unknown; and a plan that the table has outgrown is made anew. */
        failed: () => [...fresh, ...steps.map(({ text }) => text)].forEach(drop),
      }
    },
  }
}

/** All values as text, in both directions. */
function bind(name: string, parameters: readonly (string | null)[]): Buffer {
  const values = parameters.flatMap((value) => {
    if (value === null) return [int32(-1)]
    const bytes = Buffer.from(value)
    return [int32(bytes.length), bytes]
  })
  return message('B', cString(''), cString(name), int16(0), int16(parameters.length), ...values, int16(0))
}

type Wire = {
  send(bytes: Buffer, steps: readonly Step[]): Promise<Outcome>
  /** What a CancelRequest names. */
  readonly key: Buffer | undefined
  readonly isOpen: boolean
  destroy(reason: Error): void
  close(): void
}

async function logIn(target: Target, settings: ConnectionSettings): Promise<Wire> {
  const socket = await openSocket(target)
  const wire = wireOn(socket, target)
  socket.write(startupPacket(target, settings))
  await orDestroy(wire, settings.loginMs ?? LOGIN_MS, wire.loggedIn)
  return wire
}

function wireOn(socket: Socket, target: Target): Wire & { readonly loggedIn: Promise<void> } {
  const authenticate = authenticator(target)
  const login = Promise.withResolvers<void>()
  let phase: 'login' | 'idle' | 'answer' | 'closed' = 'login'
  let closedBy: Error | undefined
  let key: Buffer | undefined
  let pending:
    | { answer: Answer; resolve: (outcome: Outcome) => void; reject: (error: Error) => void }
    | undefined
  /** Meanwhile a server waits for the answer, and has nothing to say. */
  let isHashing = false
  let idleMessages = 0

  const destroy = (reason: Error): void => end(reason, () => socket.destroy())
  const held = responses.hold(target.owner ?? target.host, destroy)

  function end(reason: Error, hangUp: () => void): void {
    if (phase === 'closed') return
    phase = 'closed'
    closedBy = reason
    held.end()
    hangUp()
    login.reject(reason)
    pending?.reject(reason)
    pending = undefined
  }
  login.promise.catch(() => {})

  function receive(type: string, body: Buffer): void {
    if (phase === 'closed') return
    if (isHashing) throw new ProtocolViolation()
    // Notices and settings that changed come at any time.
    if (type === 'N' || type === 'S') {
      if (phase === 'idle' && (idleMessages += 1) > IDLE_MESSAGES_MAX) throw new ProtocolViolation()
      return
    }
    if (phase === 'login') return receiveLogin(type, body)
    if (phase === 'answer') return receiveAnswer(type, body)
    throw type === 'E' ? readErrorResponse(body) : new ProtocolViolation()
  }

  function receiveLogin(type: string, body: Buffer): void {
    if (type === 'R') return logInStep(body)
    if (type === 'E') throw readErrorResponse(body)
    if (type === 'K' && body.length === 8) return void (key = Buffer.from(body))
    if (type !== 'Z') throw new ProtocolViolation()
    phase = 'idle'
    login.resolve()
  }

  function logInStep(body: Buffer): void {
    const response = authenticate(body)
    if (response instanceof Promise) void answerHashed(response)
    else if (response) socket.write(response)
  }

  async function answerHashed(response: Promise<Buffer>): Promise<void> {
    isHashing = true
    try {
      const bytes = await response
      isHashing = false
      if (phase === 'login') socket.write(bytes)
    } catch (error) {
      destroy(error as Error)
    }
  }

  function receiveAnswer(type: string, body: Buffer): void {
    const { answer, resolve } = pending!
    const outcome = answer.receive(type, body)
    if (!outcome) return
    phase = 'idle'
    pending = undefined
    resolve(outcome)
  }

  const read = readBackendMessages(receive, held)
  socket.on('data', (chunk: Buffer) => {
    try {
      read(chunk)
    } catch (error) {
      destroy(error as Error)
    }
  })
  socket.on('error', (error) => destroy(error))
  socket.on('close', () =>
    // A server that ends a session says why, and then closes.
    destroy(pending?.answer.failure() ?? problem('ECONNRESET', 'The server closed the connection')),
  )

  return {
    loggedIn: login.promise,
    get key() {
      return key
    },
    get isOpen() {
      return phase !== 'closed'
    },
    destroy,
    close() {
      if (phase === 'closed') return
      socket.write(message('X'))
      // Not at once: the server is told first.
      end(problem('CONNECTION_ENDED', 'The connection was closed'), () => socket.destroySoon())
    },
    send(bytes, steps) {
      return new Promise((resolve, reject) => {
        if (closedBy) return reject(closedBy)
        phase = 'answer'
        idleMessages = 0
        pending = { answer: answerTo(steps), resolve, reject }
        socket.write(bytes)
      })
    },
  }
}

type Answer = {
  receive(type: string, body: Buffer): Outcome | undefined
  failure(): DatabaseError | undefined
}

/** Reads the answer to one batch, up to its ReadyForQuery. */
function answerTo(steps: readonly Step[]): Answer {
  const rows: Record<string, unknown>[][] = steps.map(() => [])
  let at = 0
  let count = 0
  let columns: Column[] | undefined
  let failure: DatabaseError | undefined
  return {
    failure: () => failure,
    receive(type, body) {
      switch (type) {
        case '1':
        case '2':
        case '3':
        case 'n':
          return undefined
        case 'T':
          columns = readRowDescription(body)
          return undefined
        case 'D':
          if (!columns || !steps[at]?.rows) throw new ProtocolViolation()
          count += 1
          if (count > ROWS_MAX || count * columns.length > VALUES_MAX) throw new ProtocolViolation()
          rows[at]!.push(readDataRow(body, columns))
          return undefined
        case 'C':
        case 'I': {
          const tag = steps[at]?.tag
          at += 1
          columns = undefined
          if (failure || at > steps.length) throw new ProtocolViolation()
          if (tag !== undefined && body.toString('latin1') !== `${tag}\0`) throw new ProtocolViolation()
          return undefined
        }
        case 'E':
          failure ??= readErrorResponse(body)
          return undefined
        case 'Z':
          if (!failure && at !== steps.length) throw new ProtocolViolation()
          return { rows, failure, status: body.toString('latin1') }
        default:
          throw new ProtocolViolation()
      }
    },
  }
}

function startupPacket(
  { user, database }: Target,
  { parameters, statementTimeoutMs, readOnly }: ConnectionSettings,
): Buffer {
  const words = Object.entries({
    user,
    database,
    client_encoding: 'UTF8',
    application_name: 'svc',
    statement_timeout: String(statementTimeoutMs),
    ...(readOnly ? { default_transaction_read_only: 'on' } : {}),
    ...parameters,
  })
    .flat()
    .map(cString)
  const body = Buffer.concat([int32(196_608), ...words, Buffer.alloc(1)])
  return Buffer.concat([int32(body.length + 4), body])
}

const CANCEL_REQUEST = 80_877_102

/** A server may ignore its own time limit, or a function may have switched it off: nothing keeps running there. */
async function cancel(target: Target, key: Buffer | undefined): Promise<void> {
  if (!key) return
  try {
    const socket = await openSocket(target, CANCEL_MS)
    socket.on('error', () => {})
    socket.end(Buffer.concat([int32(16), int32(CANCEL_REQUEST), key]))
    setTimeout(() => socket.destroy(), CANCEL_MS).unref()
  } catch {
    // It cannot be reached any more.
  }
}
