/**
 * Many clients that connect and ask at once, each over a connection of its own. In a process of their own, started with what
 * they ask as its argument: whoever measures beside them is not kept waiting by them. Prints `sent` when all have begun to
 * connect, and at the end `saw` with every answer.
 */
import { Agent, request } from 'node:http'

export type Crowd = {
  readonly url: string
  readonly method: string
  /** Of the first client, the second and so on; then from the start again. */
  readonly headers: readonly Readonly<Record<string, string>>[]
  readonly body: string
  /** Stands in every good answer. */
  readonly says: string
  readonly connections: number
  /** Of each connection, one after the other. */
  readonly requests: number
}

/** Times of the clock, in milliseconds. What was lost has the status 0. */
export type CrowdAnswer = {
  readonly began: number
  readonly ended: number
  readonly status: number
  /** Whether it says what it is to say. */
  readonly isGood: boolean
}

const { url, method, headers, body, says, connections, requests } = JSON.parse(process.argv[2]!) as Crowd
const agent = new Agent({ keepAlive: true, maxSockets: connections, maxFreeSockets: connections })
const now = () => performance.timeOrigin + performance.now()
const answers: CrowdAnswer[] = []

const asked = Array.from({ length: connections }, async (_, at) => {
  for (let sent = 0; sent < requests; sent++) {
    const began = now()
    const { status, text } = await ask(headers[at % headers.length]!)
    answers.push({ began, ended: now(), status, isGood: text.includes(says) })
  }
})
// After the sockets themselves, which are opened in the next turn.
setImmediate(() => console.log('sent'))
await Promise.all(asked)
agent.destroy()
console.log(`saw ${JSON.stringify(answers)}`)

function ask(own: Readonly<Record<string, string>>): Promise<{ status: number; text: string }> {
  const length = { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve) => {
    const lose = (error: Error) => resolve({ status: 0, text: error.message })
    request(url, { agent, method, headers: { ...own, ...length } }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.once('error', lose)
      response.once('end', () => resolve({ status: response.statusCode!, text }))
    })
      .once('error', lose)
      .end(body)
  })
}
