/**
 * The loops that take the steps of loads. They run in the api-gateway, which alone reaches managed databases and embedding
 * models. Several, so that a long index of one organization does not keep all others waiting; the first looks for work, and
 * wakes the next one when it has found some.
 */
import { takeLoadStep, type LoadDeps } from '../cores/loads/index.ts'
import { createSignal, turnLoop, type Signal } from './turn-loop.ts'

const LOOPS = 4
/** While there is nothing to do: of the first, and of the others, which are woken. */
const IDLE_MS = 1_000
const ASLEEP_MS = 60_000

export function startLoads(deps: LoadDeps): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const signals = Array.from({ length: LOOPS }, createSignal)
  const loops = signals.map((signal, at) => runLoop(deps, stopping.signal, signal, signals[at + 1], at === 0))
  return {
    async stop() {
      stopping.abort()
      for (const signal of signals) signal.notify()
      await Promise.all(loops)
    },
  }
}

const runLoop = (
  deps: LoadDeps,
  stopping: AbortSignal,
  own: Signal,
  next: Signal | undefined,
  isFirst: boolean,
): Promise<void> =>
  turnLoop(deps.log, 'loads', stopping, async () => {
    const hasWorked = await takeLoadStep(deps, stopping, () => next?.notify())
    if (!hasWorked) await own.wait(isFirst ? IDLE_MS : ASLEEP_MS)
  })
