/** How the queue we compare with posts: Node's own agent, which keeps its connections, over http and https. */
import { Agent, request } from 'node:http'
import { Agent as SecureAgent, request as requestSecurely } from 'node:https'
import type { LookupFunction } from 'node:net'

/** All names of the bench lead here; neither side asks a name server. */
const lookup: LookupFunction = (_hostname, { all }, answer) =>
  process.nextTick(() =>
    all ? answer(null, [{ address: '127.0.0.1', family: 4 }]) : answer(null, '127.0.0.1', 4),
  )

export type Post = (url: string, headers: Readonly<Record<string, string>>, body: string) => Promise<number>

export function createPost(ca: string): Post {
  const agents = {
    'http:': new Agent({ keepAlive: true, maxSockets: 64 }),
    'https:': new SecureAgent({ keepAlive: true, maxSockets: 64, ca }),
  }
  return (url, headers, body) =>
    new Promise((resolve, reject) => {
      const { protocol } = new URL(url)
      const isSecure = protocol === 'https:'
      const length = { 'content-length': String(Buffer.byteLength(body)) }
      const options = {
        method: 'POST',
        agent: agents[isSecure ? 'https:' : 'http:'],
        lookup,
        headers: { ...headers, ...length },
      }
      const outgoing = (isSecure ? requestSecurely : request)(url, options, (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode!))
      })
      outgoing.once('error', reject)
      outgoing.end(body)
    })
}
