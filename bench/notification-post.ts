/** The same way out for both contestants, so that what differs is the queue. */
import { Agent, request } from 'node:http'

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

export const post = (url: string, headers: Readonly<Record<string, string>>, body: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const length = { 'content-length': String(Buffer.byteLength(body)) }
    const outgoing = request(url, { method: 'POST', agent, headers: { ...headers, ...length } }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode!))
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
