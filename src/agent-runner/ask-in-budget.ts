/** Asks a model with tokens that were reserved before, and settles what it used, whatever happens. Each attempt is paid for. */
import { createHash } from 'node:crypto'
import { AGENT_LIMITS, type AnalystEnding, type AnalystFailure } from '../contracts/agent-tools.ts'
import {
  isOutage,
  outcomeOfAnswer,
  type ModelAnswer,
  type ModelFailureReason,
  type ModelOutcome,
  type ModelRequest,
  type ModelTurn,
} from '../contracts/model-port.ts'
import { tokenBound } from './token-bound.ts'

/** Of one run, at the tool host. */
export type RunTokens = {
  /** Null: there is not so much left today, or the model is left alone. */
  reserve(amount: number): Promise<{ readonly id: string | null; readonly isLeftAlone: boolean }>
  settle(settled: {
    readonly reservationId: string
    /** Null: nobody knows, and all that was reserved counts. */
    readonly tokens: number | null
    readonly outcome: ModelOutcome
    readonly ms: number
    readonly said: string
    /** Of the request, as it was made. */
    readonly requestSha256: string
  }): Promise<void>
}

export type BudgetDeps = {
  readonly ask: (request: ModelRequest, signal: AbortSignal) => Promise<ModelAnswer>
  readonly tokens: RunTokens
  /** The operator's ceiling of all requests of one run. */
  readonly maxRunTokens: number
  /** What it has used of them already, at an earlier attempt. */
  readonly usedTokens: number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

type Asked =
  | { readonly kind: 'turn'; readonly turn: ModelTurn }
  | { readonly kind: 'ended'; readonly ending: AnalystEnding }

/** Of a run, in a row: a provider that is down for longer is down for this night. */
const FAILURES_MAX = 3
/** As many as the tool host waits for. */
const OUTAGES_MAX = 2
const PAUSE_SECONDS = 2
const PAUSE_MAX_SECONDS = 60

const REASONS: Readonly<Record<ModelFailureReason, AnalystFailure>> = {
  refused: 'MODEL_REFUSED',
  rate_limited: 'MODEL_RATE_LIMITED',
  unavailable: 'MODEL_UNAVAILABLE',
  timeout: 'MODEL_TIMEOUT',
  invalid_answer: 'MODEL_INVALID_ANSWER',
  runner_failed: 'MODEL_UNAVAILABLE',
}

export function askInBudget({ ask, tokens, maxRunTokens, usedTokens, sleep }: BudgetDeps) {
  const bound = tokenBound()
  let used = usedTokens

  return async (request: ModelRequest, signal: AbortSignal): Promise<Asked> => {
    let outages = 0
    for (let failures = 1; ; failures++) {
      const amount = bound.of(request)
      if (used + amount > maxRunTokens) return ended({ kind: 'budget_exhausted', reason: 'RUN_CEILING' })
      const { id: reservationId, isLeftAlone } = await tokens.reserve(amount)
      if (isLeftAlone) return ended({ kind: 'failed', reason: 'MODEL_OUTAGE' })
      if (reservationId === null) return ended({ kind: 'budget_exhausted', reason: 'ALLOWANCE_USED' })
      const answer = await paidAnswer(request, reservationId, signal)
      // What an outage cost is no matter of this run.
      const actual = isOutage(outcomeOfAnswer(answer)) ? 0 : (tokensOf(answer) ?? amount)
      used += actual
      if (answer.kind === 'turn') {
        bound.settle(request, actual)
        // Beyond what it was allowed to: such a provider is not asked again.
        if (actual > amount) return ended({ kind: 'budget_exhausted', reason: 'RUN_CEILING' })
        return answer
      }
      // The tool host has noted it, and would let no further one through.
      if (isOutage(outcomeOfAnswer(answer)) && ++outages === OUTAGES_MAX)
        return ended({ kind: 'failed', reason: 'MODEL_OUTAGE' })
      if (!isPassing(answer.reason) || failures === FAILURES_MAX)
        return ended({ kind: 'failed', reason: REASONS[answer.reason] })
      const seconds = answer.retryAfterSeconds ?? PAUSE_SECONDS ** failures
      await sleep(Math.min(seconds, PAUSE_MAX_SECONDS) * 1000, signal)
    }
  }

  async function paidAnswer(
    request: ModelRequest,
    reservationId: string,
    signal: AbortSignal,
  ): Promise<ModelAnswer> {
    const began = performance.now()
    const requestSha256 = createHash('sha256').update(JSON.stringify(request)).digest('hex')
    const settle = (settled: { tokens: number | null; outcome: ModelOutcome; said: string }) =>
      tokens.settle({ reservationId, requestSha256, ms: Math.round(performance.now() - began), ...settled })
    let answer: ModelAnswer
    try {
      answer = await ask(request, signal)
    } catch (error) {
      // How far it got is not known. Where the run is over already, its end has settled it.
      await settle({ tokens: null, outcome: 'refused', said: '' }).catch(() => {})
      throw error
    }
    await settle({ tokens: tokensOf(answer), outcome: outcomeOfAnswer(answer), said: saidIn(answer) })
    return answer
  }
}

const ended = (ending: AnalystEnding): Asked => ({ kind: 'ended', ending })

/** Null: not known. */
function tokensOf(answer: ModelAnswer): number | null {
  if (answer.kind === 'turn') return answer.turn.tokens
  return answer.isSent ? null : 0
}

/** What may be otherwise in a moment. */
const isPassing = (reason: ModelFailureReason): boolean =>
  reason === 'rate_limited' || reason === 'unavailable' || reason === 'timeout'

const saidIn = (answer: ModelAnswer): string =>
  (answer.kind === 'turn'
    ? JSON.stringify({ text: answer.turn.text, calls: answer.turn.calls, ending: answer.turn.ending })
    : JSON.stringify({ failed: answer.reason })
  ).slice(0, AGENT_LIMITS.saidCharacters)
