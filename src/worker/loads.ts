/**
 * The loops that take the steps of loads. They run in the api-gateway, which alone reaches managed databases and embedding
 * models. Several, some for long statements alone and some for reading documents, which wait for one thread: so the indexes
 * and files of some organizations do not keep all others waiting; the first of each kind looks for work, and wakes the next one when it has found some. An organization whose database
 * was slow, perhaps because somebody holds a lock in it, has the last loop of each kind, and leaves the others to the others.
 */
import { takeLoadStep, WORK, type LoadDeps, type Work } from '../cores/loads/index.ts'
import { startLoops, type Loop, type Loops } from '../cores/work/index.ts'
import { nextDue } from './next-due.ts'

const LOOPS: Record<Work, number> = { short: 4, long: 2, documents: 2 }
/** Of those that are woken. */
const ASLEEP_MS = 10 * 60_000
/** Of a turn in the database: more than healthy ones take. */
const SLOW_MS: Record<Work, number> = { short: 5_000, long: 5 * 60_000, documents: 5_000 }
const SLOW_FOR_MS = 10 * 60_000

export function startLoads(deps: LoadDeps): { stop(): Promise<void> } {
  const slow: Record<Work, SlowOrganizations> = {
    short: slowOrganizations(),
    long: slowOrganizations(),
    documents: slowOrganizations(),
  }
  const nameOf = (work: Work, at: number) => `loads: ${work} ${at}`
  const makeLoop = (work: Work, at: number): Loop => {
    const isLast = at === LOOPS[work] - 1
    const onWork = (found: Work) => {
      if (found !== work) loops.wake(nameOf(found, 0))
      else if (!isLast) loops.wake(nameOf(work, at + 1))
    }
    return {
      name: nameOf(work, at),
      // The first looks for work, and the last for that of those who are left to it; the others are woken.
      ...(at === 0 && { topics: ['loads'], due: () => nextDue(deps, 'load') }),
      ...(isLast && {
        topics: ['loads'],
        due: async () => (slow[work].all().length > 0 ? nextDue(deps, 'load') : null),
      }),
      ...(at > 0 && !isLast && { netMs: ASLEEP_MS }),
      async turn(stopping) {
        let databaseMs = 0
        const hasWorked = await takeLoadStep(deps, stopping, {
          work,
          except: isLast ? [] : slow[work].all(),
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
            loops.wake(nameOf(work, LOOPS[work] - 1))
          },
        })
        return hasWorked ? 'again' : null
      },
    }
  }
  const table = WORK.flatMap((work) => Array.from({ length: LOOPS[work] }, (_, at) => makeLoop(work, at)))
  const loops: Loops = startLoops(deps, table)
  return loops
}

type SlowOrganizations = ReturnType<typeof slowOrganizations>

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
