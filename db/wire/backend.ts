/**
 * Lets many clients use one engine, which has a single session. Who begins something has the engine to itself until
 * it is idle again: a transaction, or a batch up to its Sync, is never mixed with what others send.
 */
import {
  AnswerReader,
  closeStatement,
  FLUSH,
  query,
  simpleQuery,
  type Status,
  SYNC,
  WireFailure,
} from './messages.ts'
import type { Setting } from './startup.ts'

/** A database that is open in a thread of its own. */
export type Engine = {
  /** Answers are handed over as they come; `taken` is to be called when they have left, or the engine waits. */
  run(work: Work, onAnswer: (bytes: Buffer, taken: () => void) => void): Promise<void>
  /** At once, whatever it is doing; nothing that was committed is lost. */
  terminate(): Promise<void>
  /** In order, when it is idle. */
  stop(): Promise<void>
}

/** Protocol messages; with `copy` a single COPY that reads the engine's own device. */
export type Work = {
  readonly bytes: Uint8Array
  readonly copy?: readonly Uint8Array<ArrayBuffer>[]
  /** True when the engine has to be ready for the next query after it. */
  readonly complete: boolean
}

/** What the backend has to remember of a client while others use the engine. */
export type Client = {
  readonly settings: readonly Setting[]
  /** Parse messages by the engine's name of the statement, to repeat them for an engine that has lost them. */
  readonly statements: Map<string, Buffer>
  /** Those the engine has at this moment, if it is the engine of `epoch`. */
  readonly parsed: Set<string>
  epoch: number
}

export type Outcome = { readonly status: Status | undefined; readonly failure: WireFailure | undefined }
export type Interruption = 'time is up' | 'cancelled' | 'client gone'

export type Backend = {
  /** Waits for its turn, and then for a session with nothing of the client before it. */
  take(client: Client, waitMs: number): Promise<void>
  run(client: Client, work: Work, limitMs: number, onAnswer: OnAnswer): Promise<Outcome>
  /** Ends what the client is running, and the engine with it: the engine knows no other way. */
  interrupt(client: Client, why: Interruption): void
  /** After a ReadyForQuery that says idle. */
  release(client: Client): void
  /** Whatever state it left the engine in. */
  leave(client: Client): Promise<void>
  /** The SQL may have made or dropped prepared statements by itself, anybody's. */
  doubtStatements(): void
  readonly open: boolean
  readonly idle: boolean
  /** Monotonic, of the last release. */
  readonly usedAt: number
  /** Closes the engine if nobody uses it; the next client opens it again. */
  closeIdle(): Promise<void>
  /** For good: whoever waits or works is told that the database is gone. */
  end(): Promise<void>
}

type OnAnswer = (bytes: Buffer, taken: () => void) => void

/** In two steps: the second must not run in a transaction that the settings of the client before made read-only. */
const RESET = Buffer.concat([
  simpleQuery('SET SESSION AUTHORIZATION DEFAULT; RESET ROLE; RESET ALL'),
  simpleQuery(
    'CLOSE ALL; UNLISTEN *; SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES',
  ),
])
/** After an error in a batch everything up to a Sync is ignored, also a ROLLBACK: so first a Sync. */
const ROLL_BACK = Buffer.concat([SYNC, simpleQuery('ROLLBACK'), SYNC])
/** Dropping the temporary tables of a client may take a while; anything near this is an engine that hangs. */
const HOUSEKEEPING_MS = 30_000

const INTERRUPTIONS: Record<Interruption, WireFailure> = {
  'time is up': new WireFailure('57014', 'canceling statement due to statement timeout', { fatal: true }),
  cancelled: new WireFailure('57014', 'canceling statement due to user request', { fatal: true }),
  'client gone': new WireFailure('08006', 'the client is gone', { fatal: true }),
}

export function createBackend(needs: {
  /** Waits for room in memory as well, at most so long. */
  open: (waitMs: number) => Promise<Engine>
  /** Called when the engine is closed or lost. */
  closed: () => void
  /** Called when nobody uses the engine any more. */
  becameIdle: () => void
}): Backend {
  let engine: Engine | undefined
  /** Everything that must not overlap with opening the folder again. */
  let closing: Promise<void> = Promise.resolve()
  let opening: Promise<unknown> = Promise.resolve()
  let owner: Client | undefined
  let last: Client | undefined
  let interrupted: WireFailure | undefined
  let running = false
  let doubtful = false
  let ended = false
  /** Grows when the engine has lost its prepared statements. */
  let epoch = 1
  let usedAt = performance.now()
  /** Of clients that have gone. */
  let orphans: string[] = []
  const waiting: { client: Client; call: (failure?: WireFailure) => void }[] = []

  function passOn(): void {
    owner = undefined
    usedAt = performance.now()
    const next = waiting.shift()
    if (next) {
      owner = next.client
      next.call()
    } else needs.becameIdle()
  }

  function turnOf(client: Client, waitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(waiter), 1)
        reject(new WireFailure('57P03', 'the database is busy: another connection is using it'))
      }, waitMs)
      const waiter = {
        client,
        call(failure?: WireFailure) {
          clearTimeout(timer)
          if (failure) reject(failure)
          else resolve()
        },
      }
      waiting.push(waiter)
    })
  }

  function forgetEngine(): void {
    engine = undefined
    last = undefined
    doubtful = false
    orphans = []
    epoch += 1
  }

  /** The folder must not be opened again before the thread that has it open is gone. */
  function drop(how: 'terminate' | 'stop'): Promise<void> {
    const dropped = engine
    if (!dropped) return closing
    forgetEngine()
    closing = closing.then(() => dropped[how]()).then(needs.closed, needs.closed)
    return closing
  }

  async function runOn(target: Engine, work: Work, limitMs: number, onAnswer: OnAnswer): Promise<Outcome> {
    const answer = new AnswerReader()
    interrupted = undefined
    running = true
    const timer = setTimeout(() => interrupt('time is up'), limitMs)
    try {
      await target.run(work, (bytes, taken) => {
        answer.read(bytes)
        onAnswer(bytes, taken)
      })
    } catch (error) {
      await drop('terminate')
      throw ended ? gone() : (interrupted ?? stopped(error))
    } finally {
      running = false
      clearTimeout(timer)
    }
    // Some SQL breaks the engine for good (COPY TO PROGRAM does): it throws inside and never answers again.
    if (work.complete && !answer.status) {
      await drop('terminate')
      throw stopped()
    }
    if (answer.failure?.code === MISSING_STATEMENT) doubtful = true
    return answer
  }

  function interrupt(why: Interruption): void {
    if (!running || !engine) return
    interrupted ??= INTERRUPTIONS[why]
    void engine.terminate()
  }

  async function keepHouse(target: Engine, bytes: Uint8Array): Promise<Outcome> {
    const outcome = await runOn(target, { bytes, complete: true }, HOUSEKEEPING_MS, (_, taken) => taken())
    if (outcome.status === 'I') return outcome
    await drop('terminate')
    throw stopped()
  }

  async function prepare(client: Client, waitMs: number): Promise<void> {
    await closing
    if (ended) throw gone()
    if (!engine) {
      const started = needs.open(waitMs)
      opening = started.catch(() => {})
      engine = await started
      if (ended) {
        await drop('terminate')
        throw gone()
      }
    }
    if (last !== client) await changeOver(engine, client)
    if (client.epoch !== epoch) client.parsed.clear()
    client.epoch = epoch
  }

  async function changeOver(target: Engine, client: Client): Promise<void> {
    last = undefined
    const forget = doubtful ? [simpleQuery('DEALLOCATE ALL')] : [...orphans.map(closeStatement), SYNC]
    await keepHouse(target, Buffer.concat([RESET, ...forget]))
    orphans = []
    if (doubtful) epoch += 1
    doubtful = false
    if (client.settings.length > 0) {
      const calls = client.settings.map((_, index) => `set_config($${2 * index + 1},$${2 * index + 2},false)`)
      const { failure } = await keepHouse(target, query(`select ${calls.join(',')}`, client.settings.flat()))
      if (failure) throw new WireFailure(failure.code, failure.message, { fatal: true })
    }
    client.parsed.delete('')
    last = client
  }

  return {
    async take(client, waitMs) {
      if (ended) throw gone()
      if (owner === client) return
      const start = performance.now()
      if (owner) await turnOf(client, waitMs)
      else owner = client
      try {
        await prepare(client, Math.max(0, waitMs - (performance.now() - start)))
      } catch (error) {
        passOn()
        throw error
      }
    },
    async run(client, work, limitMs, onAnswer) {
      if (owner !== client || !engine) throw gone()
      return runOn(engine, work, limitMs, onAnswer)
    },
    interrupt(client, why) {
      if (owner === client) interrupt(why)
    },
    release(client) {
      if (owner === client) passOn()
    },
    async leave(client) {
      if (owner === client) {
        // Without an engine there is nothing to roll back.
        if (engine && last === client) await keepHouse(engine, ROLL_BACK).catch(() => {})
        if (last === client) last = undefined
      }
      if (client.epoch === epoch) orphans.push(...[...client.parsed].filter((name) => name !== ''))
      if (owner === client) passOn()
    },
    doubtStatements() {
      doubtful = true
    },
    get open() {
      return engine !== undefined
    },
    get idle() {
      return owner === undefined && waiting.length === 0
    },
    get usedAt() {
      return usedAt
    },
    closeIdle: () => (owner === undefined ? drop('stop') : Promise.resolve()),
    async end() {
      ended = true
      for (const { call } of waiting.splice(0)) call(gone())
      await opening
      await drop(owner ? 'terminate' : 'stop')
    },
  }
}

const gone = () => new WireFailure('57P01', 'the database was closed', { fatal: true })
const stopped = (cause?: unknown) =>
  new WireFailure('57P02', 'the database engine stopped and will be opened again', { fatal: true, cause })

/** Somebody's SQL has dropped statements it did not make: they are made anew for whoever comes next. */
const MISSING_STATEMENT = '26000'

/** Repeats what a client prepared for an engine that does not know it. A failure belongs to the client's batch. */
export const parseAgain = (name: string, parse: Buffer): Buffer =>
  Buffer.concat([...(name === '' ? [] : [closeStatement(name)]), parse, FLUSH])
