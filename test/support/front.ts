/** Two processes of an installation, each asked in its turn at the public address of both, and what they answer. */
import { Agent, request } from 'node:http'

/** Whoever waits longer has given up. */
const GIVEN_UP_MS = 30_000

export type Answer = {
  /** 0: none came. */
  readonly status: number
  /** In seconds; 0: it does not say. */
  readonly retryAfter: number
  readonly text: string
}

export type Request = {
  readonly method?: string
  readonly path: string
  readonly token?: string
  readonly body?: string | object
  readonly headers?: Record<string, string>
}

/** The two processes, at the public address of the first: any of them may be asked. */
export type Front = {
  readonly origin: string
  readonly ports: readonly number[]
  /** At the next process, or at a certain one. */
  readonly send: (request: Request, port?: number) => Promise<Answer>
  readonly close: () => void
}

export function openFront(origin: string, ports: readonly number[]): Front {
  const agent = new Agent({ keepAlive: true })
  let turn = 0
  return {
    origin,
    ports,
    send({ method = 'GET', path, token, body, headers }, port = ports[turn++ % ports.length]!) {
      const isText = typeof body === 'string'
      const words = body === undefined || isText ? body : JSON.stringify(body)
      return new Promise((resolve) => {
        const asked = request({
          agent,
          host: '127.0.0.1',
          port,
          method,
          path,
          signal: AbortSignal.timeout(GIVEN_UP_MS),
          headers: {
            host: new URL(origin).host,
            accept: 'application/json',
            ...(words !== undefined && {
              'content-type': isText ? 'application/x-ndjson' : 'application/json',
              'content-length': Buffer.byteLength(words),
            }),
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
            ...headers,
          },
        })
        const gone = (error: Error) => resolve({ status: 0, retryAfter: 0, text: String(error) })
        asked.once('error', gone).once('response', (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
          response.once('error', gone)
          response.once('end', () =>
            resolve({
              status: response.statusCode!,
              retryAfter: Number(response.headers['retry-after'] ?? 0),
              text,
            }),
          )
        })
        asked.end(words)
      })
    },
    close: () => agent.destroy(),
  }
}
