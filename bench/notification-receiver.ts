/** The receiver of both: answers at once, and knows of every run when its first and its last message came. */
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'

type Run = { first: number; last: number; ids: Set<string>; count: number }
const runs = new Map<string, Run>()
const { port, securePort, key, cert } = JSON.parse(process.argv[2]!) as {
  port: number
  securePort: number
  key: string
  cert: string
}

const take: RequestListener = (incoming, outgoing) => {
  const [, name = ''] = incoming.url!.split('/')
  if (incoming.method === 'GET') {
    const { first, last, ids, count } = runs.get(name) ?? { first: 0, last: 0, ids: new Set(), count: 0 }
    return void outgoing.end(JSON.stringify({ count, distinct: ids.size, ms: last - first }))
  }
  let body = ''
  incoming.setEncoding('utf8').on('data', (text: string) => (body += text))
  incoming.on('end', () => {
    const now = performance.now()
    const run = runs.get(name) ?? { first: now, last: now, ids: new Set(), count: 0 }
    runs.set(name, run)
    run.last = now
    run.count++
    for (const { id } of JSON.parse(body) as { id: string }[]) run.ids.add(id)
    outgoing.end('ok')
  })
}
// As most receivers have it: longer than anybody here is idle.
const keepAliveTimeout = 60_000
createSecureServer({ key, cert, keepAliveTimeout }, take).listen(securePort, '127.0.0.1', () => {
  createServer({ keepAliveTimeout }, take).listen(port, '127.0.0.1', () => console.log('ready'))
})
