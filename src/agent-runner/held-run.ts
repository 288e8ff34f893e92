/**
 * A run that this process holds: keeps its lease, carries its identity, and knows when it is over. What never reached the
 * tool host is sent again, while it is restarted, and what it could not begin; so is what may be done twice, and the end of
 * the run, which cannot be. Nothing else is repeated, because it may have been done.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallAgent } from '../client/agent-client.ts'
import type { AgentCallInput, AgentCallName, AgentCallOutput, ClaimedRun } from '../contracts/agent-calls.ts'
import {
  WRITING_TOOLS,
  type AgentTools,
  type AnalystEnding,
  type ToolAnswer,
} from '../contracts/agent-tools.ts'
import { ERRORS, ServiceError } from '../contracts/errors.ts'
import { isUnreached } from '../contracts/unreached.ts'
import type { RunTokens } from './ask-in-budget.ts'

/** Fenced, lost, ended by the tool host: there is nothing left to say. */
export class RunOver extends Error {
  override readonly name = 'RunOver'
}

/** Of the lease: so often it is renewed, and so long without an answer the run stops by itself. */
const RENEW = { every: 1 / 4, stopAfter: 1 / 2 }

/** Between two tries, or longer where the tool host says so. */
const AGAIN_MS = 200

/** Its database is away, or there is no room: of a call that has changed anything neither is said. */
const wasNotBegun = (error: unknown): boolean =>
  error instanceof ServiceError && (error.code === 'UNAVAILABLE' || error.code === 'OVERLOADED')

const wasNotDone = (error: unknown): boolean => isUnreached(error) || wasNotBegun(error)

/** Whether it was done nobody knows: the connection broke. */
const isBroken = (error: unknown): boolean =>
  wasNotDone(error) || (error instanceof ServiceError && error.cause instanceof TypeError)

/** The same, or there was no answer in time, or one that says nothing. */
const isUnanswered = (error: unknown): boolean =>
  !(error instanceof ServiceError) || ERRORS[error.code].status >= 500

const againMs = (error: unknown): number =>
  Math.max(AGAIN_MS, error instanceof ServiceError ? (error.retryAfterSeconds ?? 0) * 1000 : 0)

const isInvalid = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'INVALID_REQUEST'

export type HeldRun = {
  readonly tools: AgentTools
  readonly tokens: RunTokens
  /** Aborted with RunOver. */
  readonly over: AbortSignal
  end(ending: AnalystEnding): Promise<void>
  /** Stops renewing, and whatever is on its way. */
  release(): void
}

type Pause = (ms: number, signal: AbortSignal) => Promise<void>
const pauseFor: Pause = (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {})

export function holdRun(call: CallAgent, run: ClaimedRun, pause = pauseFor): HeldRun {
  const over = new AbortController()
  let identity = run.identity
  let heardAt = performance.now()
  const leaseMs = run.lease_seconds * 1000

  async function callAs<Name extends AgentCallName>(
    name: Name,
    input: AgentCallInput<Name>,
    isToRepeat: (error: unknown) => boolean = wasNotDone,
  ): Promise<AgentCallOutput<Name>> {
    for (;;) {
      over.signal.throwIfAborted()
      try {
        const answer = await call(name, input as never, { token: identity, signal: over.signal })
        heardAt = performance.now()
        return answer
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'UNAUTHENTICATED') over.abort(new RunOver())
        over.signal.throwIfAborted()
        // Until the lease is in doubt: then it is over by itself.
        if (!isToRepeat(error)) throw error
        await pause(againMs(error), over.signal)
      }
    }
  }

  const renew = async () => {
    try {
      ;({ identity } = await callAs('renewRun', {}))
    } catch {
      endIfUnheard()
    }
  }
  const endIfUnheard = () => {
    if (performance.now() - heardAt > leaseMs * RENEW.stopAfter) over.abort(new RunOver())
  }
  const timer = setInterval(() => {
    // One that is still being sent again and again says nothing by itself.
    endIfUnheard()
    void renew()
  }, leaseMs * RENEW.every)

  return {
    over: over.signal,
    tools: {
      call: async (tool, input) =>
        (await callAs(
          'callTool',
          { tool, arguments: JSON.stringify(input) },
          WRITING_TOOLS.includes(tool) ? wasNotDone : isBroken,
        )) as ToolAnswer<never>,
    },
    tokens: {
      async reserve(amount) {
        const { reservation_id, is_left_alone } = await callAs('reserveTokens', { amount })
        return { id: reservation_id, isLeftAlone: is_left_alone }
      },
      async settle({ reservationId, requestSha256, ...settled }) {
        await callAs(
          'settleTokens',
          { reservation_id: reservationId, request_sha256: requestSha256, ...settled },
          isBroken,
        )
      },
    },
    async end(ending) {
      try {
        await callAs('endRun', { ending }, isUnanswered)
      } catch (error) {
        // A tool host of the version before knows no outages, and would hear nothing of the end.
        if (!isInvalid(error) || ending.kind !== 'failed' || ending.reason !== 'MODEL_OUTAGE') throw error
        await callAs('endRun', { ending: { kind: 'failed', reason: 'MODEL_UNAVAILABLE' } }, isUnanswered)
      }
    },
    release() {
      clearInterval(timer)
      // Nothing that is still being sent again outlives it.
      over.abort(new RunOver())
    },
  }
}
