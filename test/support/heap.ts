/** How much a process of ours keeps, by its inspector: what is left of its heap after a full collection. */
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import type { Env } from './process.ts'

type Usage = {
  readonly usedSize: number
  readonly embedderHeapUsedSize: number
  readonly backingStorageSize: number
}

/** A finalizer frees what only the next collection can take, and what ends of its own accord needs a moment. */
const COLLECTIONS = 4
const PAUSE_MS = 500

export type InspectedHeap = {
  /** For the process to start with. */
  readonly env: Env
  /** Bytes, buffers outside of the heap included; of the main thread alone. */
  readonly bytesKept: () => Promise<number>
}

export async function inspectedHeap(): Promise<InspectedHeap> {
  const address = `127.0.0.1:${await freePort()}`
  return {
    env: { NODE_OPTIONS: `--inspect=${address}` },
    async bytesKept() {
      const send = await attach(address)
      let least = Infinity
      try {
        for (let collected = 0; collected < COLLECTIONS; collected += 1) {
          if (collected > 0) await sleep(PAUSE_MS)
          await send('HeapProfiler.collectGarbage')
          const usage = (await send('Runtime.getHeapUsage')) as Usage
          least = Math.min(least, usage.usedSize + usage.embedderHeapUsedSize + usage.backingStorageSize)
        }
      } finally {
        send.close()
      }
      return least
    },
  }
}

type Answer = {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

async function attach(address: string) {
  const targets = await fetch(`http://${address}/json/list`)
  const [target] = (await targets.json()) as { webSocketDebuggerUrl: string }[]
  const socket = new WebSocket(target!.webSocketDebuggerUrl)
  const lost = new Promise<never>((_, reject) => {
    const fail = () => reject(new Error('The inspector closed its connection'))
    socket.addEventListener('error', fail)
    socket.addEventListener('close', fail)
  })
  // Whoever sends hears of it; after the last answer nobody does.
  lost.catch(() => {})
  await Promise.race([new Promise((resolve) => socket.addEventListener('open', resolve)), lost])
  let sent = 0
  const send = (method: string): Promise<unknown> => {
    const id = (sent += 1)
    const answered = new Promise((resolve, reject) => {
      const hear = ({ data }: MessageEvent) => {
        const answer = JSON.parse(String(data)) as Answer
        if (answer.id !== id) return
        socket.removeEventListener('message', hear)
        if (answer.error) reject(new Error(`${method}: ${answer.error.message}`))
        else resolve(answer.result)
      }
      socket.addEventListener('message', hear)
    })
    socket.send(JSON.stringify({ id, method }))
    return Promise.race([answered, lost])
  }
  return Object.assign(send, { close: () => socket.close() })
}
