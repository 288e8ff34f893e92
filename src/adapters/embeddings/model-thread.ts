/** One thread of a local model, and what becomes of the text it is given: a vector, or a reason why there is none. */
import type { Worker } from 'node:worker_threads'
import type { FromModelThread, Loaded } from './model-worker.ts'
import { codeOf } from './code-of.ts'
import { checkedVector } from './vector.ts'

/** After a failure the thread is of no more use: its engine may be in any state. */
export type Failure = {
  readonly reason: string
  /** It was ended from outside: no text and no model is to blame. */
  readonly isEnded: boolean
}

export type ModelThread = {
  /** One at a time. */
  readonly embed: (text: string) => Promise<Float32Array | Failure>
  /** Has loaded the model. */
  readonly isReady: () => boolean
  readonly end: () => Promise<unknown>
}

type Watched = {
  readonly dimensions: number
  readonly cpuLimitMs: number
  readonly onLoaded: (loaded: Loaded) => void
  /** It ended by itself while it had nothing to do. */
  readonly onLost: () => void
  readonly onExit: () => void
}

/** What `worker.terminate()` ends a thread with: before and after it has begun. */
const TERMINATED = [0, 1]
/** How often the time of a text under way is looked at before it is over. */
const LOOKS = 8

export function watchThread(worker: Worker, watched: Watched): ModelThread {
  const { dimensions, cpuLimitMs, onLoaded, onLost, onExit } = watched
  let isReady = false
  let thrown: string | undefined
  let settle: ((outcome: Float32Array | Failure) => void) | undefined
  const fail = (reason: string, isEnded = false) => (settle ? settle({ reason, isEnded }) : onLost())

  worker
    .on('message', (message: FromModelThread) => {
      if ('loaded' in message) {
        isReady = true
        onLoaded(message.loaded)
      } else if ('failed' in message) fail(`its engine failed: ${message.failed}`)
      else {
        const vector = checkedVector(message, dimensions)
        if (typeof vector === 'string') fail(vector)
        else settle?.(vector)
      }
    })
    // It may overtake what the thread said before. At its exit all of that has been heard.
    .on('error', (error) => void (thrown = `its thread failed: ${codeOf(error)}`))
    .on('exit', (code) => {
      onExit()
      if (thrown) fail(thrown)
      else fail('its thread ended', TERMINATED.includes(code))
    })
  worker.unref()

  /** By the time that the thread has worked, not by the clock: on a busy machine a text takes long and is right. */
  function limitTime(): () => void {
    let before: NodeJS.CpuUsage | undefined
    const look = async () => {
      if (!isReady) return
      const { user, system } = await worker.cpuUsage(before)
      if (!before) before = { user, system }
      else if ((user + system) / 1000 > cpuLimitMs) fail('it took too much time')
    }
    // Of a thread that has ended nothing can be asked, and nothing needs to be.
    const timer = setInterval(() => void look().catch(() => {}), cpuLimitMs / LOOKS)
    return () => clearInterval(timer)
  }

  return {
    isReady: () => isReady,
    end: () => worker.terminate(),
    async embed(text) {
      // The process must not exit before the answer.
      worker.ref()
      const answered = Promise.withResolvers<Float32Array | Failure>()
      settle = answered.resolve
      const endLimit = limitTime()
      worker.postMessage(text)
      const outcome = await answered.promise
      endLimit()
      settle = undefined
      worker.unref()
      return outcome
    },
  }
}
