/**
 * How much a piece of work does, counted and not timed: how often the functions and blocks of these files ran, and how often
 * a Set or Map was asked for its next element, which a spread does within one block.
 */
import { Session } from 'node:inspector/promises'

type Iteration = { next: () => unknown }

export async function countSteps(files: readonly string[], work: () => void): Promise<number> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    const iterations = countIterations(work)
    const { result } = await session.post('Profiler.takePreciseCoverage')
    await session.post('Profiler.stopPreciseCoverage')
    return result
      .filter(({ url }) => files.some((file) => url.split('?', 1)[0]!.endsWith(`/${file}`)))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
      .reduce((sum, count) => sum + count, iterations)
  } finally {
    session.disconnect()
  }
}

function countIterations(work: () => void): number {
  let counted = 0
  const restores = [new Set().values(), new Map().values()].map((iterator) => {
    const prototype = Object.getPrototypeOf(iterator) as Iteration
    const { next } = prototype
    prototype.next = function count(this: unknown) {
      counted += 1
      return next.call(this)
    }
    return () => void (prototype.next = next)
  })
  try {
    work()
  } finally {
    for (const restore of restores) restore()
  }
  return counted
}
