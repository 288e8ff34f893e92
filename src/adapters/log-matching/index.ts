/** Matches lines in a thread that is started when it is needed, and ended when it is not or when it takes too long. */
import { Worker } from 'node:worker_threads'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import type { FindLines, MatchLines } from '../../cores/checks/match-lines-port.ts'
import { createTurns } from '../../cores/work/turns.ts'
import type { FromLineThread, Task } from './line-worker.ts'

/** Of one task, from when the thread has it; a usual expression takes some milliseconds for a page. */
const TASK_MS = 2_000
const START_MS = 20_000
const IDLE_MS = 60_000
const HEAP_MIB = 128

export function createLineMatcher({ taskMs = TASK_MS } = {}): {
  matchLines: MatchLines
  findLines: FindLines
  close(): Promise<void>
} {
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let isClosed = false
  const turns = createTurns(FAIR_QUEUES.lineMatches, () => performance.now())

  async function end(): Promise<void> {
    const ended = worker
    worker = undefined
    clearTimeout(idle)
    await ended?.terminate()
  }

  async function run(task: Task): Promise<number[] | undefined> {
    if (isClosed) return undefined
    clearTimeout(idle)
    const thread = worker ?? (await start())
    thread?.ref()
    const found = thread && (await answerOf(thread, taskMs, () => thread.postMessage(task)))
    if (!thread || !Array.isArray(found)) {
      await end()
      return undefined
    }
    thread.unref()
    idle = setTimeout(() => void end(), IDLE_MS).unref()
    return found
  }

  async function start(): Promise<Worker | undefined> {
    const thread = startWorker()
    worker = thread
    thread.once('exit', () => {
      if (worker === thread) worker = undefined
    })
    return (await answerOf(thread, START_MS)) === 'ready' ? thread : undefined
  }

  const findLines: FindLines = (orgId, task) => turns.take([orgId], () => run(task))

  return {
    findLines,
    matchLines: async (orgId, task) => (await findLines(orgId, task))?.length,
    close() {
      isClosed = true
      return end()
    },
  }
}

/** Undefined: there was none in time, or the thread broke. */
async function answerOf(
  thread: Worker,
  ms: number,
  ask: () => void = () => {},
): Promise<FromLineThread | undefined> {
  const answer = Promise.withResolvers<FromLineThread | undefined>()
  const lost = () => answer.resolve(undefined)
  thread.once('message', answer.resolve).once('error', lost).once('exit', lost)
  const timer = setTimeout(lost, ms)
  ask()
  const given = await answer.promise
  clearTimeout(timer)
  thread.off('message', answer.resolve).off('error', lost).off('exit', lost)
  return given
}

function startWorker(): Worker {
  const worker = new Worker(new URL('./line-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    // Nothing of the settings is of use to it.
    env: {},
  })
  // Without a task nobody listens, and an unheard error would end the process.
  return worker.on('error', () => {})
}
