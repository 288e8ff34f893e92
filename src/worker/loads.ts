/**
 * The loops that take the steps of loads. They run in the api-gateway, which alone reaches managed databases and embedding
 * models. Several, some for long statements alone and some for reading documents, which wait for one process: so the indexes
 * and files of some organizations do not keep all others waiting; the first of each kind looks for work, and wakes the next one when it has found some. An organization whose database
 * was slow, perhaps because somebody holds a lock in it, has the last loop of each kind, and leaves the others to the others.
 */
import { takeLoadStep, type LoadDeps, type Work } from '../cores/loads/index.ts'
import { startLoops, type Loop, type Loops } from '../cores/work/index.ts'
import { nextDue } from './next-due.ts'

const LOOPS: Record<Work, number> = { short: 4, long: 2, documents: 2 }
/** Of those that are woken. */
const ASLEEP_MS = 10 * 60_000
/** Of a turn in the database: more than healthy ones take. */
const SLOW_MS: Record<Work, number> = { short: 5_000, long: 5 * 60_000, documents: 5_000 }
const SLOW_FOR_MS = 10 * 60_000
/**
 * A turn that has been in its database for so long goes on by itself, and its loop takes another one: somebody may sleep in a
 * trigger there. Longer than a statement waits for a lock. Such turns are one of each organization, and so many in all; one more
 * is given back.
 */
const ALONE_AFTER_MS: Record<Work, number> = { short: 15_000, long: 20_000, documents: 15_000 }
const ALONE_MAX = 32

export function startLoads(deps: LoadDeps): { stop(): Promise<void> } {
  const alone = new Set<Promise<void>>()
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
        let orgId = ''
        const givenBack = new AbortController()
        const isSlow = Promise.withResolvers<'alone'>()
        const step = takeLoadStep(deps, AbortSignal.any([stopping, givenBack.signal]), {
          work,
          except: isLast ? [] : slow[work].all(),
          onWork,
          onClaim: (of) => (orgId = of),
          async aroundQuery(query) {
            const startedAt = performance.now()
            const timer = setTimeout(() => isSlow.resolve('alone'), ALONE_AFTER_MS[work] - databaseMs)
            try {
              return await query()
            } finally {
              clearTimeout(timer)
              databaseMs += performance.now() - startedAt
            }
          },
          onTurn(orgId) {
            if (databaseMs <= SLOW_MS[work]) return
            slow[work].add(orgId)
            loops.wake(nameOf(work, LOOPS[work] - 1))
          },
        })
        const done = await Promise.race([step, isSlow.promise])
        if (done !== 'alone') return done ? 'again' : null
        slow[work].add(orgId)
        loops.wake(nameOf(work, LOOPS[work] - 1))
        if (alone.size < ALONE_MAX) {
          const goingOn = step.then(
            () => {},
            () => {},
          )
          alone.add(goingOn)
          void goingOn.then(() => {
            alone.delete(goingOn)
            loops.wake(nameOf(work, 0))
          })
        } else {
          givenBack.abort()
          await step
        }
        return 'again'
      },
    }
  }
  const table = (Object.keys(LOOPS) as Work[]).flatMap((work) =>
    Array.from({ length: LOOPS[work] }, (_, at) => makeLoop(work, at)),
  )
  const loops: Loops = startLoops(deps, table)
  return {
    async stop() {
      await loops.stop()
      // They end with the signal that the loops were given.
      await Promise.all(alone)
    },
  }
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
