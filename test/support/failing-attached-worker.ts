/** In place of the thread of attached databases: does what the text of a query names. */
import { parentPort, resourceLimits } from 'node:worker_threads'
import type { FromAttached, ToAttached } from '../../db/managed/attached-worker.ts'

parentPort!.on('message', (message: ToAttached) => {
  if (!('query' in message)) return
  switch (message.text) {
    case 'throw':
      throw new Error('nobody caught this')
    case 'reject':
      return void Promise.reject(new Error('nobody caught this'))
    case 'exit':
      return process.exit(1)
    case 'spin':
      for (;;);
    case 'wait':
      return
    case 'limits':
      return parentPort!.postMessage({ number: message.query, rows: [resourceLimits] } satisfies FromAttached)
    default:
      parentPort!.postMessage({
        number: message.query,
        rows: [{ text: message.text }],
      } satisfies FromAttached)
  }
})
