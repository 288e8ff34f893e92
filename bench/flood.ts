/**
 * Somebody who asks as often as they can over many connections, and never heeds an answer. In a process of its own, started
 * with what it asks as its argument, until it is stopped. Prints `flooding` when every connection was answered once, and
 * with every second what it was answered.
 */
import { Agent, request } from 'node:http'
import { makeApiToken } from '../src/trust/api-token.ts'

export type Flood = {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly connections: number
  readonly token: 'none' | 'one' | 'new'
}

const { url, method, headers, body, connections, token } = JSON.parse(process.argv[2]!) as Flood
const agent = new Agent({ keepAlive: true, maxSockets: connections, maxFreeSockets: connections })
const one = makeApiToken()
const statuses = new Map<number, number>()

let answered = 0
for (let lane = 0; lane < connections; lane++) void askForEver()
setInterval(() => {
  console.log(`answered ${JSON.stringify(Object.fromEntries(statuses))}`)
  statuses.clear()
}, 1_000)

async function askForEver(): Promise<void> {
  for (;;) {
    const status = await ask()
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (++answered === connections) console.log('flooding')
  }
}

function ask(): Promise<number> {
  const shown = token === 'none' ? {} : { authorization: `Bearer ${token === 'one' ? one : makeApiToken()}` }
  const length = { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve) => {
    request(url, { agent, method, headers: { ...headers, ...shown, ...length } }, (response) => {
      response.resume().once('close', () => resolve(response.statusCode!))
    })
      .once('error', () => setTimeout(() => resolve(0), 10))
      .end(body)
  })
}
