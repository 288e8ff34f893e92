/** The engine of a managed database: one unit of work at a time, whose answers wait for a slow reader. */
import { startEngineThread } from '../engine-thread.ts'
import type { FromEngine, ToEngine } from '../engine-worker.ts'
import type { Engine } from '../wire/backend.ts'

/** Recovery after a kill took less than a second; a folder that takes so long will not open at all. */
const OPEN_MS = 60_000

export async function startEngine(folder: string, buffersMb: number): Promise<Engine> {
  const ahead = new Int32Array(new SharedArrayBuffer(4))
  const { worker, ended, stop } = await startEngineThread({ folder, buffersMb, ahead }, { openMs: OPEN_MS })
  let endReason: Error | undefined
  let receive: (message: Exclude<FromEngine, 'ready'>) => void = () => {}
  let abort: (reason: Error) => void = () => {}
  void ended.then((reason) => {
    endReason = reason
    receive = () => {}
    abort(reason)
  })
  worker.on('message', (message: Exclude<FromEngine, 'ready'>) => receive(message))

  return {
    run: ({ bytes, copy }, onAnswer) =>
      new Promise((settle, reject) => {
        if (endReason) return reject(endReason)
        // Not a race with `ended`: that promise would collect a listener for every statement there ever was.
        abort = reject
        receive = (message) => {
          const { length } = message.bytes
          const taken = () => {
            Atomics.sub(ahead, 0, length)
            Atomics.notify(ahead, 0)
          }
          if (length > 0) onAnswer(Buffer.from(message.bytes.buffer), taken)
          if (message.done) settle()
        }
        worker.postMessage({ statements: [bytes], ...(copy && { copy }) } satisfies ToEngine)
      }),
    async terminate() {
      await worker.terminate()
    },
    stop,
  }
}
