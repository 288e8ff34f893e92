/** An embedding model for real processes, whose vectors are known beforehand: every text lies on the first axis. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type EmbeddingEndpoint = {
  /** Value of EMBEDDING_MODELS: `toy-3`, as entries of test/support/data-sources.ts have it. */
  readonly setting: string
  readonly close: () => void
}

export async function startEmbeddingEndpoint(): Promise<EmbeddingEndpoint> {
  const answer = JSON.stringify({ data: [{ index: 0, embedding: [1, 0, 0] }] })
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    setting: JSON.stringify({ 'toy-3': { url: `http://127.0.0.1:${port}/v1`, dimensions: 3 } }),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
