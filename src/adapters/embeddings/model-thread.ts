/** One thread of the built-in model, and what becomes of the texts it is given: vectors, or a reason why there are none. */
import type { Worker } from 'node:worker_threads'
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import type { FromModelThread } from './built-in-worker.ts'
import type { Timers } from './timers.ts'
import { codeOf } from './unavailable.ts'
import { checkedVector } from './vector.ts'

/** After a reason the thread is gone: its engine may be in any state. */
export type Outcome = readonly Float32Array[] | string

export type ModelThread = {
  /** One batch at a time. */
  readonly embed: (texts: readonly string[]) => Promise<Outcome>
  /** Has loaded the model. */
  readonly isReady: () => boolean
  readonly end: () => Promise<unknown>
}

/** `onLost`: it ended by itself while it had nothing to do. */
export function watchThread(
  worker: Worker,
  { after }: Timers,
  timeoutMs: number,
  onLost: () => void,
): ModelThread {
  let isReady = false
  let settle: ((outcome: Outcome) => void) | undefined
  const lost = (reason: string) => (settle ? settle(reason) : onLost())

  worker
    .on('message', (message: FromModelThread) => {
      if (message === 'ready') isReady = true
      else if ('failed' in message) settle?.(`its engine failed: ${message.failed}`)
      else settle?.(checkedVectors(message))
    })
    .on('error', (error) => lost(`its thread failed: ${codeOf(error)}`))
    .on('exit', () => lost('its thread ended'))
  worker.unref()

  return {
    isReady: () => isReady,
    end: () => worker.terminate(),
    async embed(texts) {
      // The process must not exit before the answer.
      worker.ref()
      const answered = Promise.withResolvers<Outcome>()
      settle = answered.resolve
      const cancel = after(timeoutMs, () => answered.resolve('it took too long'))
      worker.postMessage(texts)
      const outcome = await answered.promise
      cancel()
      settle = undefined
      worker.unref()
      const isComplete = typeof outcome === 'string' || outcome.length === texts.length
      return isComplete ? outcome : 'its engine gave another number of vectors'
    },
  }
}

function checkedVectors(vectors: readonly (readonly number[])[]): Outcome {
  const checked = vectors.map((vector) => checkedVector(vector, BUILT_IN_MODEL.dimensions))
  return checked.find((vector) => typeof vector === 'string') ?? (checked as Float32Array[])
}
