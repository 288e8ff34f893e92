/** The thread: one task after the other, answered in the order in which they came. */
import { parentPort } from 'node:worker_threads'
import type { ComparedTexts, TextsToCompare } from '../../cores/revisions/source-thread.ts'
import { compareTexts } from './compare-texts.ts'
import { unpackArchive, type UnpackedArchive } from './unpack-archive.ts'

export type Task = { readonly unpack: Uint8Array } | { readonly compare: TextsToCompare }
export type TaskResult = { readonly done: UnpackedArchive | ComparedTexts } | { readonly failed: string }

parentPort!.on('message', (task: Task) => {
  try {
    const done = 'unpack' in task ? unpackArchive(task.unpack) : compareTexts(task.compare)
    parentPort!.postMessage({ done } satisfies TaskResult, transferredIn(done))
  } catch (error) {
    parentPort!.postMessage({
      failed: error instanceof Error ? error.name : 'unknown',
    } satisfies TaskResult)
  }
})

/** Not copied: an archive may be as large as everything else this process holds. */
const transferredIn = (done: UnpackedArchive | ComparedTexts): ArrayBuffer[] =>
  typeof done === 'object' && 'tar' in done ? [done.tar] : []
