/** A question to the model: tokens before it is sent, and what it used and said after. */
import { requireHeld, reserveRunTokens, settleRunTokens, type RunKey } from '../maintenance/index.ts'
import type { ModelOutcome } from '../../contracts/model-port.ts'
import type { Storage } from '../dependencies.ts'
import { digestOf, isTaken, sealStep, type StepDeps } from './record-step.ts'
import { requireInTime } from './require-run.ts'

export async function reserveTurn(
  deps: Storage,
  run: RunKey & { readonly startedAt: Date; readonly model: string },
  amount: number,
): ReturnType<typeof reserveRunTokens> {
  requireInTime(deps.clock, run)
  return reserveRunTokens(deps, run, amount)
}

type Settled = {
  readonly reservationId: string
  readonly tokens: number | null
  readonly outcome: ModelOutcome
  readonly ms: number
  readonly said: string
  readonly requestSha256: string
}

/** What was used is settled also for a run that is over; its transcript ends with it. */
export async function settleTurn(
  { db, clock, dataKeys }: Storage & StepDeps,
  key: RunKey & { readonly model: string },
  { reservationId, tokens, outcome, ms, said, requestSha256 }: Settled,
): Promise<void> {
  const digests = { requestSha256, resultSha256: digestOf(said) }
  // What was asked is as long as the whole conversation: its digest stands for it.
  const sealed = sealStep(dataKeys, key, { ...digests, request: reservationId, answer: said })
  const step = { ...digests, sealed, ms, at: clock(), model: key.model, outcome }
  const isSettled = await withFreeNumber(() => settleRunTokens(db, key, reservationId, tokens, step))
  // Repeated, or of another run: there is nothing to record.
  if (!isSettled) await requireHeld(db, key)
}

const ATTEMPTS = 5

/** A call that the analyst left behind may record its step at this moment. Tokens are settled all the same. */
async function withFreeNumber<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !isTaken(error)) throw error
    }
  }
}
