/**
 * Reads documents, and files that become tables, in a process that is started when it is needed, and ended when it is not or
 * when a file is too much for it. Not in a thread: one large allocation there ends the whole server.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import type { DivideTexts, FileProblem, ReadDocument, ReadFile } from '../../cores/documents/read-document.ts'
import type { ReadTable, ReadTableFile } from '../../cores/loads/read-table.ts'
import { createTurns } from '../../cores/work/turns.ts'
import type { DividedTexts, FileToRead, FromDocumentProcess } from './document-worker.ts'

/** Of the process, for one file: by the time that it has worked, not by the clock. */
const CPU_LIMIT_MS = 20_000
/** A workbook is read as a whole, and may have a million rows. */
const TABLE_CPU_LIMIT_MS = 60_000
/** Where nobody can tell how long a process has worked: of so much of the clock one part. */
const CLOCK_PER_CPU = 3
/** Whoever waits for something that never comes uses no time. */
const CLOCK_LIMIT_MS = 10 * 60_000
const LOOK_MS = 200
const START_MS = 60_000
const IDLE_MS = 60_000
const HEAP_MIB = 384
/** Of buffers, which lie outside of the heap: a small file may unpack to gigabytes. */
const BUFFERS_MIB = 512

type Limits = { readonly cpuLimitMs?: number; readonly heapMib?: number }

export function createDocumentReader({ cpuLimitMs = CPU_LIMIT_MS, heapMib = HEAP_MIB }: Limits = {}): {
  readDocument: ReadDocument
  divideTexts: DivideTexts
  readTable: ReadTableFile
  close(): Promise<void>
} {
  const turns = createTurns(FAIR_QUEUES.documents, () => performance.now())
  const memoryMaxBytes = (heapMib + BUFFERS_MIB) * 1024 * 1024
  let running: ChildProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let isClosed = false

  async function end(): Promise<void> {
    const ended = running
    running = undefined
    clearTimeout(idle)
    if (ended) await kill(ended)
  }

  async function start(): Promise<ChildProcess> {
    const child = startProcess(heapMib)
    running = child
    child.once('exit', () => {
      if (running === child) running = undefined
    })
    const said = await answerOf(child, { wallMs: START_MS, memoryMaxBytes })
    if (said === 'ready' && !isClosed) return child
    await end()
    throw new Error('the process that reads documents does not start')
  }

  async function read<Read extends ReadFile | ReadTable | DividedTexts>(
    file: FileToRead,
    limitMs: number,
  ): Promise<Read | FileProblem> {
    let answer = await readOnce(file, limitMs)
    // It is what a system short of memory ends first, whoever took the memory: only twice it is the file's.
    if (answer === 'killed') answer = await readOnce(file, limitMs)
    if (typeof answer === 'object' && 'read' in answer) return answer.read as Read | FileProblem
    return { problem: PROBLEMS[typeof answer === 'object' || answer === 'ready' ? 'failed' : answer] }
  }

  async function readOnce(file: FileToRead, cpuLimitMs: number): Promise<Answer> {
    if (isClosed) throw new Error('the process that reads documents was closed')
    clearTimeout(idle)
    const child = running ?? (await start())
    child.ref()
    child.channel?.ref()
    const answer = await answerOf(child, { cpuLimitMs, wallMs: CLOCK_LIMIT_MS, memoryMaxBytes }, file)
    if (typeof answer === 'object' && 'read' in answer) {
      child.unref()
      child.channel?.unref()
      idle = setTimeout(() => void end(), IDLE_MS).unref()
      return answer
    }
    // What it left behind in the process nobody knows.
    await end()
    if (isClosed) throw new Error('the process that reads documents was closed')
    return answer
  }

  return {
    readDocument: (orgId, file) => turns.take([orgId], () => read(file, cpuLimitMs)),
    divideTexts: (orgId, texts) => turns.take([orgId], () => read({ texts }, cpuLimitMs)),
    readTable: (orgId, file) =>
      turns.take([orgId], () => read(file, file.rowsMax === undefined ? TABLE_CPU_LIMIT_MS : cpuLimitMs)),
    close() {
      isClosed = true
      return end()
    },
  }
}

const LOST = 'It takes more memory to read than there is for one.'
const PROBLEMS = {
  late: 'It takes too long to read.',
  failed: 'It is broken, or not what its name says.',
  lost: LOST,
  killed: LOST,
}

/** Lost: it ended itself for want of memory, or was about to take too much. Killed: by somebody else, as the system does. */
type Answer = FromDocumentProcess | 'late' | 'lost' | 'killed'

type ProcessLimits = {
  readonly cpuLimitMs?: number
  readonly wallMs: number
  readonly memoryMaxBytes: number
}

async function answerOf(
  child: ChildProcess,
  { cpuLimitMs = Infinity, wallMs, memoryMaxBytes }: ProcessLimits,
  file?: FileToRead,
): Promise<Answer> {
  const answer = Promise.withResolvers<Answer>()
  const lost = () => answer.resolve('lost')
  const exited = (code: number | null, signal: NodeJS.Signals | null) =>
    answer.resolve(code === null ? (signal === 'SIGKILL' ? 'killed' : 'lost') : { failed: true })
  child.once('message', answer.resolve).once('error', lost).once('exit', exited)
  const [startedAt, before] = [performance.now(), usageOf(child)]
  const look = () => {
    const [usage, clockUsedMs] = [usageOf(child), performance.now() - startedAt]
    const usedMs = usage && before ? usage.cpuMs - before.cpuMs : clockUsedMs / CLOCK_PER_CPU
    if (usedMs > cpuLimitMs || clockUsedMs > wallMs) answer.resolve('late')
    else if (usage && usage.bytes > memoryMaxBytes) lost()
  }
  const looking = setInterval(look, LOOK_MS)
  // One that has ended says so by its exit.
  if (file) child.send(file, () => {})
  const given = await answer.promise
  clearInterval(looking)
  child.off('message', answer.resolve).off('error', lost).off('exit', exited)
  return given
}

/** Linux counts time in hundredths of a second, on every processor that Node runs on. */
const TICK_MS = 10

/** From outside: a process that is busy can tell nothing. Undefined: this is not Linux, or it has ended. */
function usageOf({ pid }: ChildProcess): { cpuMs: number; bytes: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // Behind its name, which may hold anything; see proc(5).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const resident = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    const cpuMs = (Number(fields[11]) + Number(fields[12])) * TICK_MS
    return Number.isFinite(cpuMs) ? { cpuMs, bytes: Number(resident?.[1] ?? 0) * 1024 } : undefined
  } catch {
    return undefined
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const { promise: exit, resolve } = Promise.withResolvers<void>()
  child.once('exit', () => resolve())
  child.ref()
  child.kill('SIGKILL')
  await exit
}

function startProcess(heapMib: number): ChildProcess {
  const child = fork(new URL('./document-worker.ts', import.meta.url), [], {
    // Of the server's own flags none.
    execArgv: [`--max-old-space-size=${heapMib}`],
    serialization: 'advanced',
    // What a library says about a file is nobody's log.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // Nothing of the settings is of use to it.
    env: {},
  })
  // Without a file nobody listens, and an unheard error would end the server.
  return child.on('error', () => {})
}
