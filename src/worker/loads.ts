/**
 * The loops that take the steps of loads. They run in the api-gateway, which alone reaches managed databases and embedding
 * models. Several, and some for long statements alone, so that the indexes of some organizations do not keep all others
 * waiting; the first of each kind looks for work, and wakes the next one when it has found some.
 */
import { takeLoadStep, type LoadDeps, type Work } from '../cores/loads/index.ts'
import { createSignal, turnLoop, type Signal } from './turn-loop.ts'

const LOOPS: Record<Work, number> = { short: 4, long: 2 }
/** While there is nothing to do, of the first: short work comes from people, long work from the short, which wakes it. */
const IDLE_MS: Record<Work, number> = { short: 1_000, long: 5_000 }
/** Of the others. */
const ASLEEP_MS = 60_000

export function startLoads(deps: LoadDeps): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const signals: Record<Work, readonly Signal[]> = {
    short: createSignals(LOOPS.short),
    long: createSignals(LOOPS.long),
  }
  const run = (work: Work, at: number): Promise<void> =>
    turnLoop(deps.log, 'loads', stopping.signal, async () => {
      const onWork = (found: Work) => {
        for (const signal of found === work ? signals[work].slice(at + 1, at + 2) : signals[found])
          signal.notify()
      }
      const hasWorked = await takeLoadStep(deps, stopping.signal, { work, onWork })
      if (!hasWorked) await signals[work][at]!.wait(at === 0 ? IDLE_MS[work] : ASLEEP_MS)
    })
  const loops = (['short', 'long'] as const).flatMap((work) => signals[work].map((_, at) => run(work, at)))
  return {
    async stop() {
      stopping.abort()
      for (const signal of [...signals.short, ...signals.long]) signal.notify()
      await Promise.all(loops)
    },
  }
}

const createSignals = (length: number): readonly Signal[] => Array.from({ length }, createSignal)
