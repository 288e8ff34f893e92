/**
 * The loops that take the steps of loads. They run in the api-gateway, which alone reaches managed databases and embedding
 * models. Several, and some for long statements alone, so that the indexes of some organizations do not keep all others
 * waiting; the first of each kind looks for work, and wakes the next one when it has found some. An organization whose database
 * was slow, perhaps because somebody holds a lock in it, has the last loop of each kind, and leaves the others to the others.
 */
import { takeLoadStep, type LoadDeps, type Work } from '../cores/loads/index.ts'
import { createSignal, turnLoop, type Signal } from './turn-loop.ts'

const LOOPS: Record<Work, number> = { short: 4, long: 2 }
/** While there is nothing to do, of the first: short work comes from people, long work from the short, which wakes it. */
const IDLE_MS: Record<Work, number> = { short: 1_000, long: 5_000 }
/** Of the others. */
const ASLEEP_MS = 60_000
/** Of a turn in the database: more than healthy ones take. */
const SLOW_MS: Record<Work, number> = { short: 5_000, long: 5 * 60_000 }
const SLOW_FOR_MS = 10 * 60_000

export function startLoads(deps: LoadDeps): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const signals: Record<Work, readonly Signal[]> = {
    short: createSignals(LOOPS.short),
    long: createSignals(LOOPS.long),
  }
  const slow = { short: slowOrganizations(), long: slowOrganizations() }
  const run = (work: Work, at: number): Promise<void> => {
    const isLast = at === LOOPS[work] - 1
    return turnLoop(deps.log, 'loads', stopping.signal, async () => {
      const onWork = (found: Work) => {
        for (const signal of found === work ? signals[work].slice(at + 1, at + 2) : signals[found])
          signal.notify()
      }
      let databaseMs = 0
      const known = slow[work].all()
      const except = isLast ? [] : known
      const hasWorked = await takeLoadStep(deps, stopping.signal, {
        work,
        except,
        onWork,
        async aroundQuery(query) {
          const startedAt = performance.now()
          try {
            return await query()
          } finally {
            databaseMs += performance.now() - startedAt
          }
        },
        onTurn(orgId) {
          if (databaseMs <= SLOW_MS[work]) return
          slow[work].add(orgId)
          signals[work].at(-1)!.notify()
        },
      })
      const looks = at === 0 || (isLast && known.length > 0)
      if (!hasWorked) await signals[work][at]!.wait(looks ? IDLE_MS[work] : ASLEEP_MS)
    })
  }
  const loops = (['short', 'long'] as const).flatMap((work) => signals[work].map((_, at) => run(work, at)))
  return {
    async stop() {
      stopping.abort()
      for (const signal of [...signals.short, ...signals.long]) signal.notify()
      await Promise.all(loops)
    },
  }
}

/** In this process: it is its loops that they would hold up. */
function slowOrganizations() {
  const since = new Map<string, number>()
  return {
    add: (orgId: string) => void since.set(orgId, performance.now()),
    all(): readonly string[] {
      for (const [orgId, at] of since) if (performance.now() - at > SLOW_FOR_MS) since.delete(orgId)
      return [...since.keys()]
    },
  }
}

const createSignals = (length: number): readonly Signal[] => Array.from({ length }, createSignal)
