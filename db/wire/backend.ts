/**
 * Lets many clients use one engine, which has a single session. A client that begins something has the engine to itself
 * until it is idle again: a transaction, or a queue up to its Sync, is never mixed with what others send.
 */
import { DATABASE_CLOSED, failureIn, nextBackendState } from './backend-state.ts'
import type { BackendEffect, BackendInput, BackendState, Interruption } from './backend-state.ts'
import type { Client } from './prepared-statements.ts'
import { closeStatement, query, ResponseReader, simpleQuery, SYNC } from './protocol-messages.ts'
import { type TransactionStatus, WireError } from './protocol-messages.ts'
import { type OnAnswer, WholeMessages } from './whole-messages.ts'

/** A database that is open in a thread of its own. */
export type Engine = {
  /** Responses are handed over as they come; the engine waits until `taken` is called for them. */
  run(work: Work, onAnswer: (bytes: Buffer, taken: () => void) => void): Promise<void>
  /** Immediately; nothing that was committed is lost. */
  terminate(): Promise<void>
  /** An orderly shutdown, when it is idle. */
  stop(): Promise<void>
}

/** Protocol messages; with `copy` a single COPY that reads the engine's own device. */
export type Work = {
  readonly bytes: Uint8Array
  readonly copy?: readonly Uint8Array<ArrayBuffer>[]
  /** True when the engine has to be ready for the next query after it. */
  readonly complete: boolean
}

export type Outcome = {
  readonly status: TransactionStatus | undefined
  readonly failure: WireError | undefined
}

export type Backend = {
  /** Waits for its turn, and then for a session without anything of the client before it. */
  take(client: Client, waitMs: number): Promise<void>
  run(client: Client, work: Work, limitMs: number, onAnswer: OnAnswer): Promise<Outcome>
  /** Ends what the client is running, and the engine with it: PGlite cannot cancel a statement. */
  interrupt(client: Client, why: Interruption): void
  /** After a ReadyForQuery with status idle. */
  release(client: Client): void
  /** When the client disconnects, whatever state it left the engine in. */
  leave(client: Client): Promise<void>
  /** SQL that is about to run may create or drop prepared statements, of any client. */
  doubtStatements(): void
  readonly open: boolean
  readonly idle: boolean
  /** Monotonic, of the last release. */
  readonly usedAt: number
  /** Closes the engine if nobody uses it; the next client opens it again. */
  closeIdle(): Promise<void>
  /** For good: clients that wait or run something get an error. */
  end(): Promise<void>
}

/** In two steps: the second must not run in a transaction that the settings of the client before made read-only. */
const RESET = Buffer.concat([
  simpleQuery('SET SESSION AUTHORIZATION DEFAULT; RESET ROLE; RESET ALL'),
  simpleQuery(
    'CLOSE ALL; UNLISTEN *; SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES',
  ),
])
/** After an error in an extended query everything up to a Sync is ignored, also a ROLLBACK: so first a Sync. */
const ROLL_BACK = Buffer.concat([SYNC, simpleQuery('ROLLBACK'), SYNC])
/** Dropping the temporary tables of a client may take a while; an engine that takes this long hangs. */
const INTERNAL_MS = 30_000
/** invalid_sql_statement_name: SQL has dropped prepared statements of other clients, which have to be prepared again. */
const MISSING_STATEMENT = '26000'

/** What the one session of the engine holds. */
type EngineSession = {
  /** Whose settings it has. */
  client: Client | undefined
  /** Its prepared statements may not be those we know of. */
  doubtful: boolean
  /** Prepared statements of clients that have gone. */
  orphans: string[]
  /** Grows when the prepared statements are lost. */
  epoch: number
}
type Turn = PromiseWithResolvers<void> & { readonly until: number; readonly timer: NodeJS.Timeout }

export function createBackend(deps: {
  /** Also waits until another database may be opened, at most so long. */
  open: (waitMs: number) => Promise<Engine>
  /** Called when the engine is closed or lost. */
  closed: () => void
  /** Called when nobody uses the engine any more. */
  becameIdle: () => void
  /** Gets errors that no client waits for. */
  onProblem: (problem: unknown) => void
}): Backend {
  let state: BackendState = { phase: 'idle' }
  let engine: Engine | undefined
  let session: EngineSession = { client: undefined, doubtful: false, orphans: [], epoch: 1 }
  let opening: Promise<unknown> = Promise.resolve()
  let closing: Promise<void> = Promise.resolve()
  let usedAt = performance.now()
  const turns = new Map<Client, Turn>()

  async function dispatch(input: BackendInput): Promise<void> {
    const [next, effects] = nextBackendState(state, input)
    state = next
    await Promise.all(effects.map(perform))
  }

  /** A rejection that nobody handles would end the process. */
  function dispatchInBackground(input: BackendInput): void {
    dispatch(input).catch(deps.onProblem)
  }

  async function perform(effect: BackendEffect): Promise<void> {
    if (effect === 'interrupt engine') return engine?.terminate()
    if (effect === 'became idle') {
      usedAt = performance.now()
      return deps.becameIdle()
    }
    // Not awaited: a client that leaves does not wait until the next one has an engine. Never rejects.
    if ('prepare' in effect) return void prepare(effect.prepare)
    if ('grant' in effect) return endTurn(effect.grant)?.resolve()
    if ('refuse' in effect) return endTurn(effect.refuse)?.reject(effect.error)
    if ('rollBack' in effect) return rollBack(effect.rollBack)
    // At once when it is idle, so that nobody takes it meanwhile.
    return effect.close === 'stop' ? drop('stop') : opening.then(() => drop('terminate'))
  }

  function endTurn(client: Client): Turn | undefined {
    const turn = turns.get(client)
    turns.delete(client)
    clearTimeout(turn?.timer)
    return turn
  }

  /** The folder must not be opened again before the thread that has it open is gone. */
  function drop(how: 'terminate' | 'stop'): Promise<void> {
    const dropped = engine
    if (!dropped) return closing
    engine = undefined
    session = { client: undefined, doubtful: false, orphans: [], epoch: session.epoch + 1 }
    closing = closing.then(() => dropped[how]()).then(deps.closed, deps.closed)
    return closing
  }

  async function prepare(client: Client): Promise<void> {
    const turn = turns.get(client)
    clearTimeout(turn?.timer)
    try {
      await closing
      if (state.phase === 'ended') return
      if (!engine) {
        const started = deps.open(Math.max(0, (turn?.until ?? 0) - performance.now()))
        opening = started.catch(() => {})
        engine = await started
      }
      if (session.client !== client) await resetSession(client)
      if (client.epoch !== session.epoch) client.parsed.clear()
      client.epoch = session.epoch
    } catch (error) {
      return dispatchInBackground({ notPrepared: error })
    }
    dispatchInBackground('prepared')
  }

  async function resetSession(client: Client): Promise<void> {
    const { doubtful } = session
    const orphans = session.orphans.splice(0)
    session.client = undefined
    const forget = doubtful ? [simpleQuery('DEALLOCATE ALL')] : [...orphans.map(closeStatement), SYNC]
    await runInternally(client, Buffer.concat([RESET, ...forget]))
    if (doubtful) session.epoch += 1
    session.doubtful = false
    if (client.settings.length > 0) {
      const calls = client.settings.map((_, index) => `set_config($${2 * index + 1},$${2 * index + 2},false)`)
      const { failure } = await runInternally(
        client,
        query(`select ${calls.join(',')}`, client.settings.flat()),
      )
      if (failure) throw new WireError(failure.code, failure.message, { fatal: true })
    }
    client.parsed.delete('')
    session.client = client
  }

  async function rollBack(client: Client): Promise<void> {
    await runInternally(client, ROLL_BACK).catch(() => {})
    session.client = undefined
    return dispatch('rolled back')
  }

  async function runInternally(client: Client, bytes: Uint8Array): Promise<Outcome> {
    const outcome = await execute(client, { bytes, complete: true }, INTERNAL_MS, (_, taken) => taken())
    if (outcome.status === 'I') return outcome
    await drop('terminate')
    throw failureIn(state, new Error('The engine is not idle after its session was reset'))
  }

  async function execute(client: Client, work: Work, limitMs: number, onAnswer: OnAnswer): Promise<Outcome> {
    if (!engine) throw DATABASE_CLOSED
    const response = new ResponseReader()
    const messages = new WholeMessages(onAnswer)
    const timer = setTimeout(() => dispatchInBackground({ interrupt: client, why: 'time is up' }), limitMs)
    try {
      await engine.run(work, (bytes, taken) => {
        response.read(bytes)
        messages.receive(bytes, taken)
      })
      // Some SQL breaks the engine for good (COPY TO PROGRAM does): it throws inside and never answers again.
      if (work.complete && !response.status) throw new Error('The engine did not become ready')
    } catch (error) {
      await drop('terminate')
      const failure = failureIn(state, error)
      throw messages.isWhole ? failure : fatally(failure)
    } finally {
      clearTimeout(timer)
    }
    // It answered at the last moment, and is ended all the same: the next client must not get it.
    if ('interruption' in state && state.interruption) await drop('terminate')
    if (response.failure?.code === MISSING_STATEMENT) session.doubtful = true
    return response
  }

  return {
    take(client, waitMs) {
      const timer = setTimeout(() => dispatchInBackground({ waitedTooLong: client }), waitMs)
      const turn = { ...Promise.withResolvers<void>(), until: performance.now() + waitMs, timer }
      turns.set(client, turn)
      dispatchInBackground({ take: client })
      return turn.promise
    },
    async run(client, work, limitMs, onAnswer) {
      if (state.phase !== 'held' || state.owner !== client) throw DATABASE_CLOSED
      dispatchInBackground('run')
      try {
        const outcome = await execute(client, work, limitMs, onAnswer)
        dispatchInBackground('finished')
        return outcome
      } catch (error) {
        dispatchInBackground('engine lost')
        throw error
      }
    },
    interrupt: (client, why) => dispatchInBackground({ interrupt: client, why }),
    release: (client) => dispatchInBackground({ release: client }),
    leave(client) {
      if (client.epoch === session.epoch) {
        session.orphans.push(...[...client.parsed].filter((name) => name !== ''))
      }
      return dispatch({ leave: client })
    },
    doubtStatements() {
      session.doubtful = true
    },
    get open() {
      return engine !== undefined
    },
    get idle() {
      return state.phase === 'idle'
    },
    get usedAt() {
      return usedAt
    },
    closeIdle: () => dispatch('close idle'),
    end: () => dispatch('end'),
  }
}

/** After half a message no other can follow. */
const fatally = ({ code, message, cause }: WireError) => new WireError(code, message, { fatal: true, cause })
