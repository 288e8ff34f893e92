/**
 * Who has the engine. Whoever begins something has it until the engine is idle again; the others wait for their turn,
 * in the order they came. Pure: backend.ts performs the effects and reports how they ended.
 */
import type { Client } from './prepared-statements.ts'
import { WireError } from './protocol-messages.ts'

export type Interruption = 'time is up' | 'cancelled' | 'client gone'

export type BackendState =
  /** Nobody has the engine, and it may be closed. */
  | { readonly phase: 'idle' }
  | {
      /** Lost: the engine is gone, and with it what the owner had begun. */
      readonly phase: 'preparing' | 'held' | 'running' | 'rolling back' | 'lost'
      readonly owner: Client
      readonly waiting: readonly Client[]
      readonly interruption?: Interruption
      /** While its session is prepared: what it wants to run is not to run. */
      readonly isCancelled?: true
    }
  | { readonly phase: 'ended' }

export type BackendInput =
  | { readonly take: Client }
  | { readonly waitedTooLong: Client }
  | { readonly interrupt: Client; readonly why: Interruption }
  | { readonly release: Client }
  | { readonly leave: Client }
  | { readonly notPrepared: unknown }
  | Progress
type Progress = 'prepared' | 'run' | 'finished' | 'engine lost' | 'rolled back' | 'close idle' | 'end'

export type BackendEffect =
  /** A session with nothing of the client before it, in an engine that is opened if need be. */
  | { readonly prepare: Client }
  | { readonly grant: Client }
  | { readonly refuse: Client; readonly error: unknown }
  | { readonly rollBack: Client }
  | { readonly close: 'stop' | 'terminate' }
  | 'interrupt engine'
  | 'became idle'

type Owned = Extract<BackendState, { owner: Client }>
type Step = readonly [BackendState, readonly BackendEffect[]]

const FATAL = { fatal: true }
export const DATABASE_CLOSED = new WireError('57P01', 'the database was closed', FATAL)
const BUSY = new WireError('57P03', 'the database is busy: another connection is using it')
const INTERRUPTIONS: Record<Interruption, WireError> = {
  'time is up': new WireError('57014', 'canceling statement due to statement timeout'),
  cancelled: new WireError('57014', 'canceling statement due to user request'),
  'client gone': new WireError('08006', 'the client is gone', FATAL),
}

/** Why what ran did not come to its end. */
export function failureIn(state: BackendState, cause: unknown): WireError {
  if (state.phase === 'ended') return DATABASE_CLOSED
  if ('interruption' in state && state.interruption) return INTERRUPTIONS[state.interruption]
  return new WireError('57P02', 'the database engine stopped and will be opened again', {
    fatal: true,
    cause,
  })
}

export function nextBackendState(state: BackendState, input: BackendInput): Step {
  const client = typeof input === 'object' && 'take' in input ? input.take : undefined
  switch (state.phase) {
    case 'idle':
      if (client) return prepare(client, [])
      if (input === 'end') return [{ phase: 'ended' }, [{ close: 'stop' }]]
      return [state, input === 'close idle' ? [{ close: 'stop' }] : []]
    case 'ended':
      // Whoever ends it again also waits until the engine is gone.
      if (input === 'end') return [state, [{ close: 'terminate' }]]
      return [state, client ? [{ refuse: client, error: DATABASE_CLOSED }] : []]
    case 'preparing':
    case 'held':
    case 'running':
    case 'rolling back':
    case 'lost':
      return typeof input === 'string' ? ownerStep(state, input) : clientStep(state, input)
  }
}

/** What a client asks for, or its clock. */
function clientStep(state: Owned, input: Exclude<BackendInput, Progress>): Step {
  const { phase, owner, waiting } = state
  if ('take' in input) {
    if (input.take === owner) return [state, [{ grant: owner }]]
    return [{ ...state, waiting: [...waiting, input.take] }, []]
  }
  if ('waitedTooLong' in input) {
    const others = waiting.filter((client) => client !== input.waitedTooLong)
    return [{ ...state, waiting: others }, [{ refuse: input.waitedTooLong, error: BUSY }]]
  }
  if ('notPrepared' in input) return passOn(waiting, [{ refuse: owner, error: input.notPrepared }])
  if ('interrupt' in input) {
    const { interrupt: client, why } = input
    if (waiting.includes(client)) {
      const others = waiting.filter((other) => other !== client)
      return [{ ...state, waiting: others }, [{ refuse: client, error: INTERRUPTIONS[why] }]]
    }
    if (client !== owner || phase === 'held' || phase === 'lost') return [state, []]
    // Opening the engine and resetting its session is not the client's statement: that is refused afterwards.
    if (phase === 'preparing' && why === 'cancelled') return [{ ...state, isCancelled: true }, []]
    return [{ ...state, interruption: state.interruption ?? input.why }, ['interrupt engine']]
  }
  if ('release' in input) return input.release === owner ? passOn(waiting) : [state, []]
  if (input.leave !== owner) return [state, []]
  if (phase === 'lost') return passOn(waiting)
  return [{ phase: 'rolling back', owner, waiting }, [{ rollBack: owner }]]
}

/** How it goes with what the owner runs. */
function ownerStep(state: Owned, input: Progress): Step {
  const { owner, waiting } = state
  switch (input) {
    case 'prepared':
      if (state.isCancelled) return passOn(waiting, [{ refuse: owner, error: INTERRUPTIONS.cancelled }])
      return [{ phase: 'held', owner, waiting }, [{ grant: owner }]]
    case 'run':
      return [{ phase: 'running', owner, waiting }, []]
    case 'finished':
      return [{ phase: 'held', owner, waiting }, []]
    case 'engine lost':
      return [{ phase: 'lost', owner, waiting }, []]
    case 'rolled back':
      return passOn(waiting)
    case 'close idle':
      return [state, []]
    case 'end': {
      const refused = state.phase === 'preparing' ? [owner, ...waiting] : waiting
      const refusals = refused.map((client) => ({ refuse: client, error: DATABASE_CLOSED }))
      return [{ phase: 'ended' }, [...refusals, { close: 'terminate' }]]
    }
  }
}

const prepare = (owner: Client, waiting: readonly Client[]): Step => [
  { phase: 'preparing', owner, waiting },
  [{ prepare: owner }],
]

function passOn([next, ...others]: readonly Client[], first: readonly BackendEffect[] = []): Step {
  const [state, effects]: Step = next ? prepare(next, others) : [{ phase: 'idle' }, ['became idle']]
  return [state, [...first, ...effects]]
}
