/** The thread that speaks to attached databases. Whatever a hostile server brings about ends this thread at most. */
import { parentPort, workerData } from 'node:worker_threads'
import type { AttachRule } from '../../src/contracts/attach-rules.ts'
import { allowedAddresses } from './attached-address.ts'
import type { Login } from './database-provisioner.ts'
import { openPool, type Pool, type PoolSettings } from './open-pool.ts'

export type ToAttached =
  | {
      readonly open: number
      readonly login: Login & { readonly owner?: string }
      readonly settings: PoolSettings
    }
  | {
      readonly query: number
      readonly pool: number
      readonly text: string
      readonly parameters: readonly (string | null)[]
    }
  | { readonly end: number; readonly pool: number }

/** To the query or end of that number. Errors lose their code on the way between threads, so it is sent by itself. */
export type FromAttached = { readonly number: number } & (
  | { readonly rows: readonly object[] }
  | { readonly error: { readonly code: string; readonly message: string } }
)

if (!parentPort) throw new Error('This file is the thread of attached databases, not a program')
const port = parentPort
const allowed = workerData as readonly AttachRule[]
const pools = new Map<number, Pool>()

port.on('message', (message: ToAttached) => {
  if ('open' in message) {
    const { login, settings } = message
    const addresses = () => allowedAddresses(login.host, login.port, allowed)
    pools.set(message.open, openPool({ ...login, addresses }, settings))
  } else if ('query' in message) {
    void answer(message.query, async () => pools.get(message.pool)!.query(message.text, message.parameters))
  } else {
    const pool = pools.get(message.pool)
    pools.delete(message.pool)
    void answer(message.end, async () => {
      await pool?.end()
      return []
    })
  }
})

async function answer(number: number, work: () => Promise<readonly object[]>): Promise<void> {
  try {
    send({ number, rows: await work() })
  } catch (thrown) {
    const { code, message } = thrown as { code?: unknown; message?: unknown }
    const error = { code: typeof code === 'string' ? code : 'XX000', message: String(message) }
    send({ number, error })
  }
}

const send = (message: FromAttached): void => port.postMessage(message)
