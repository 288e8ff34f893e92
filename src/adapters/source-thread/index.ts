/** Reads archives, compares and edits texts in a thread that is started when it is needed and ended when it is not. */
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { gzip } from 'node:zlib'
import { ServiceError } from '../../contracts/errors.ts'
import { SOURCE_MAX_BYTES } from '../../contracts/limits.ts'
import { writeTar } from '../../contracts/write-tar.ts'
import type { ComparedTexts, EditedTexts, SourceThread } from '../../cores/revisions/source-thread.ts'
import { fairTurns } from './fair-turns.ts'
import type { Task, TaskResult } from './source-worker.ts'
import type { UnpackedArchive } from './unpack-archive.ts'

/** Each holds an archive and what is in it, and the thread a copy of both while it reads: about 240 MiB at most. */
const ARCHIVES = { running: 2, perOrganization: 1, waitingPerOrganization: 4, waitMs: 20_000 }
/** Tasks of the thread: one file, or the reading of one archive. */
const TASKS = { running: 1, perOrganization: 1, waitingPerOrganization: 64, waitMs: 20_000 }
/** Above what the largest archive takes on a busy machine. After it the thread is ended, whatever it does. */
const TASK_MS = 10_000
const IDLE_MS = 60_000
/** Of its heap; the bytes of archives lie outside of it. */
const HEAP_MIB = 256

const compress = promisify(gzip)

export function createSourceThread(): SourceThread & { close(): Promise<void> } {
  const archives = fairTurns(ARCHIVES)
  const tasks = fairTurns(TASKS)
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
    inTurn: archives.inTurn,
    async unpack(orgId, archive) {
      const unpacked = (await tasks.inTurn(orgId, () => run({ unpack: archive }))) as
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
      (await tasks.inTurn(orgId, async () => (isLate() ? undefined : run({ compare: texts })))) as
        | ComparedTexts
        | undefined,
    edit: async (orgId, texts) =>
      (await tasks.inTurn(orgId, () => run({ edit: texts }))) as EditedTexts | undefined,
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
