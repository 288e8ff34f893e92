/** `/metrics` on a port of its own, loopback unless the operator opens it: numbers are nobody else's business. */
import { createServer } from 'node:http'
import { bind, closeGently, type Listening } from './listener.ts'
import type { System } from './system.ts'

export async function listenForMetrics({ config, metrics }: System): Promise<Listening | undefined> {
  if (!metrics || config.METRICS_PORT === 'off') return undefined
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    void metrics
      .expose()
      .then(({ text, type }) => response.writeHead(200, { 'content-type': type }).end(text))
  })
  const port = await bind(server, config.METRICS_PORT, config.METRICS_HOST, 'METRICS_PORT')
  return { port, stop: () => closeGently(server, 1) }
}
