/** The thread: one task after the other, answered in the order in which they came. */
import { parentPort } from 'node:worker_threads'
import type {
  ComparedTexts,
  EditedTexts,
  TextsToCompare,
  TextsToEdit,
} from '../../cores/revisions/source-thread.ts'
import { applyEdits } from './apply-edits.ts'
import { compareTexts } from './compare-texts.ts'
import { unpackArchive, type UnpackedArchive } from './unpack-archive.ts'

export type Task =
  | { readonly unpack: Uint8Array }
  | { readonly compare: TextsToCompare }
  | { readonly edit: TextsToEdit }
type Done = UnpackedArchive | ComparedTexts | EditedTexts
export type TaskResult = { readonly done: Done } | { readonly failed: string }

parentPort!.on('message', (task: Task) => {
  try {
    const done = doTask(task)
    parentPort!.postMessage({ done } satisfies TaskResult, transferredIn(done))
  } catch (error) {
    parentPort!.postMessage({
      failed: error instanceof Error ? error.name : 'unknown',
    } satisfies TaskResult)
  }
})

function doTask(task: Task): Done {
  if ('unpack' in task) return unpackArchive(task.unpack)
  return 'compare' in task ? compareTexts(task.compare) : applyEdits(task.edit)
}

/** Not copied: an archive may be as large as everything else this process holds. */
const transferredIn = (done: Done): ArrayBuffer[] =>
  typeof done === 'object' && 'tar' in done ? [done.tar] : []
