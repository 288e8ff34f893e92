/** A program that waits for the answer to its authorization request, on all three spellings of loopback. */
import { EventEmitter, once } from 'node:events'
import * as http from 'node:http'
import type * as https from 'node:https'
import type { AddressInfo } from 'node:net'

export type Receiver = { port: number; next: () => Promise<URL>; close: () => void }

export async function receive(server: http.Server | https.Server = http.createServer()): Promise<Receiver> {
  const arrivals = new EventEmitter<{ answer: [URL] }>()
  server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<title>Connected</title>You may close this.')
    const url = new URL(request.url ?? '', `http://${request.headers.host}`)
    if (/^\/(cb|callback)$/.test(url.pathname)) arrivals.emit('answer', url)
  })
  server.listen(0, '::')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async next() {
      const [url] = await once(arrivals, 'answer', { signal: AbortSignal.timeout(20_000) })
      return url as URL
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
