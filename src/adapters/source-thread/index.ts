/** Reads archives, compares and edits texts in a thread that is started when it is needed and ended when it is not. */
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { gzip } from 'node:zlib'
import { ServiceError } from '../../contracts/errors.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import { SOURCE_MAX_BYTES } from '../../contracts/limits.ts'
import { writeTar } from '../../contracts/write-tar.ts'
import type { ComparedTexts, EditedTexts, SourceThread } from '../../cores/revisions/source-thread.ts'
import { createTurns } from '../../cores/work/turns.ts'
import type { Task, TaskResult } from './source-worker.ts'
import type { UnpackedArchive } from './unpack-archive.ts'

/** Above what the largest archive takes on a busy machine. After it the thread is ended, whatever it does. */
const TASK_MS = 10_000
const IDLE_MS = 60_000
/** Of its heap; the bytes of archives lie outside of it. */
const HEAP_MIB = 256

const compress = promisify(gzip)
const now = () => performance.now()

export function createSourceThread(): SourceThread & { close(): Promise<void> } {
  const archives = createTurns(FAIR_QUEUES.archives, now)
  const tasks = createTurns(FAIR_QUEUES.sourceTasks, now)
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined

  const end = async () => {
    const ended = worker
    worker = undefined
    clearTimeout(idle)
    await ended?.terminate()
  }

  /** Undefined: it took too long, or the thread broke. The next task gets a new one. */
  async function run(task: Task): Promise<Extract<TaskResult, { done: unknown }>['done'] | undefined> {
    clearTimeout(idle)
    const thread = (worker ??= startWorker())
    thread.ref()
    const answer = Promise.withResolvers<TaskResult | undefined>()
    const lost = () => answer.resolve(undefined)
    thread.once('message', answer.resolve).once('error', lost).once('exit', lost)
    const timer = setTimeout(lost, TASK_MS)
    thread.postMessage(task)
    const result = await answer.promise
    clearTimeout(timer)
    thread.off('message', answer.resolve).off('error', lost).off('exit', lost)
    if (!result) {
      await end()
      return undefined
    }
    thread.unref()
    idle = setTimeout(() => void end(), IDLE_MS).unref()
    if ('done' in result) return result.done
    throw new Error(`the source thread failed: ${result.failed}`)
  }

  return {
    inTurn: (orgId, work) => archives.take([orgId], work),
    async unpack(orgId, archive) {
      const unpacked = (await tasks.take([orgId], () => run({ unpack: archive }))) as
        | UnpackedArchive
        | undefined
      if (!unpacked) throw new ServiceError('TIMEOUT', 'The archive took too long to read')
      if (unpacked === 'too large') throw tooLarge()
      const { tar, files, problems } = unpacked
      return {
        problems,
        files: files.map(({ path, sha256, offset, length, isExecutable }) => ({
          path,
          sha256,
          isExecutable,
          content: Buffer.from(tar, offset, length),
        })),
      }
    },
    pack: async (files) => new Uint8Array(await compress(writeTar(files))),
    compare: async (orgId, texts, isLate) =>
      (await tasks.take([orgId], async () => (isLate() ? undefined : run({ compare: texts })))) as
        | ComparedTexts
        | undefined,
    edit: async (orgId, texts) =>
      (await tasks.take([orgId], () => run({ edit: texts }))) as EditedTexts | undefined,
    close: end,
  }
}

const tooLarge = () =>
  new ServiceError('TOO_LARGE', `The files are larger than ${SOURCE_MAX_BYTES / 1024 / 1024} MiB together`)

function startWorker(): Worker {
  const worker = new Worker(new URL('./source-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    // Nothing of the settings is of use to it.
    env: {},
  })
  // Without a task nobody listens, and an unheard error would end the process.
  return worker.on('error', () => {})
}
