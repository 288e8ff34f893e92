/** Reads documents, and files that become tables, in a thread that is started when it is needed, and ended when it is not or when a file is too much for it. */
import { Worker } from 'node:worker_threads'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import type { FileProblem, ReadDocument, ReadFile } from '../../cores/documents/read-document.ts'
import type { ReadTable, ReadTableFile } from '../../cores/loads/read-table.ts'
import { createTurns } from '../../cores/work/turns.ts'
import type { FileToRead, FromDocumentThread } from './document-worker.ts'

/** Of the thread, for one file: by the time that it has worked, not by the clock. */
const CPU_LIMIT_MS = 20_000
/** A workbook is read as a whole, and may have a million rows. */
const TABLE_CPU_LIMIT_MS = 60_000
/** Whoever waits for something that never comes uses no time. */
const CLOCK_LIMIT_MS = 10 * 60_000
const LOOK_MS = 200
const START_MS = 60_000
const IDLE_MS = 60_000
const HEAP_MIB = 384
/** Of buffers, which lie outside of the heap: a small file may unpack to gigabytes. */
const BUFFERS_MAX_BYTES = 512 * 1024 * 1024

type Limits = { readonly cpuLimitMs?: number; readonly heapMib?: number }

export function createDocumentReader({ cpuLimitMs = CPU_LIMIT_MS, heapMib = HEAP_MIB }: Limits = {}): {
  readDocument: ReadDocument
  readTable: ReadTableFile
  close(): Promise<void>
} {
  const turns = createTurns(FAIR_QUEUES.documents)
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let isClosed = false

  async function end(): Promise<void> {
    const ended = worker
    worker = undefined
    clearTimeout(idle)
    await ended?.terminate()
  }

  async function start(): Promise<Worker> {
    const thread = startWorker(heapMib)
    worker = thread
    thread.once('exit', () => {
      if (worker === thread) worker = undefined
    })
    const said = await answerOf(thread, { wallMs: START_MS })
    if (said === 'ready') return thread
    await end()
    throw new Error('the thread that reads documents does not start')
  }

  async function read<Read extends ReadFile | ReadTable>(
    file: FileToRead,
    limitMs: number,
  ): Promise<Read | FileProblem> {
    if (isClosed) throw new Error('the thread that reads documents was closed')
    clearTimeout(idle)
    const thread = worker ?? (await start())
    thread.ref()
    const answer = await answerOf(thread, { cpuLimitMs: limitMs, wallMs: CLOCK_LIMIT_MS }, () =>
      thread.postMessage(file),
    )
    if (typeof answer === 'object' && 'read' in answer) {
      thread.unref()
      idle = setTimeout(() => void end(), IDLE_MS).unref()
      return answer.read as Read | FileProblem
    }
    // What it left behind in the thread nobody knows.
    await end()
    if (isClosed) throw new Error('the thread that reads documents was closed')
    return { problem: PROBLEMS[answer === 'late' ? 'late' : typeof answer === 'object' ? 'failed' : 'lost'] }
  }

  return {
    readDocument: (orgId, file) => turns.take([orgId], () => read(file, cpuLimitMs)),
    readTable: (orgId, file) =>
      turns.take([orgId], () => read(file, file.rowsMax === undefined ? TABLE_CPU_LIMIT_MS : cpuLimitMs)),
    close() {
      isClosed = true
      return end()
    },
  }
}

const PROBLEMS = {
  late: 'It takes too long to read.',
  failed: 'It is broken, or not what its name says.',
  lost: 'It takes more memory to read than there is for one.',
}

type Answer = FromDocumentThread | 'late' | undefined

/** Undefined: the thread broke. */
async function answerOf(
  thread: Worker,
  { cpuLimitMs, wallMs }: { readonly cpuLimitMs?: number; readonly wallMs: number },
  ask: () => void = () => {},
): Promise<Answer> {
  const answer = Promise.withResolvers<Answer>()
  const lost = () => answer.resolve(undefined)
  const late = () => answer.resolve('late')
  thread.once('message', answer.resolve).once('error', lost).once('exit', lost)
  const timer = setTimeout(late, wallMs)
  let before: NodeJS.CpuUsage | undefined
  const look = async () => {
    const { external_memory: buffers } = await thread.getHeapStatistics()
    if (buffers > BUFFERS_MAX_BYTES) lost()
    const { user, system } = await thread.cpuUsage(before)
    if (!before) before = { user, system }
    else if (cpuLimitMs !== undefined && (user + system) / 1000 > cpuLimitMs) late()
  }
  // Of a thread that has ended nothing can be asked, and nothing needs to be.
  const looking = setInterval(() => void look().catch(() => {}), LOOK_MS)
  ask()
  const given = await answer.promise
  clearInterval(looking)
  clearTimeout(timer)
  thread.off('message', answer.resolve).off('error', lost).off('exit', lost)
  return given
}

function startWorker(heapMib: number): Worker {
  const worker = new Worker(new URL('./document-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMib },
    // What a library says about a file is nobody's log.
    stdout: true,
    stderr: true,
    // Nothing of the settings is of use to it.
    env: {},
  })
  // Without a file nobody listens, and an unheard error would end the process.
  return worker.on('error', () => {})
}
