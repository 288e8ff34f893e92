/** One HTTP request to a server that may be dead, slow, or no svc at all: an answer, or a sentence about what is wrong. */
import type { IncomingHttpHeaders } from 'node:http'
import { ServiceError } from '../contracts/errors.ts'

export type Request = {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
}
export type Answer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** More than any answer of ours; a server that never stops talking must not fill the memory. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024

/** Redirects are answers like any other: followed, one could carry the token to somebody else. */
export async function sendRequest(url: URL, request: Request): Promise<Answer> {
  if (!/(^|\.)localhost$/.test(url.hostname)) return sendTo(undefined, url, request)
  // RFC 6761, 6.3: the name never leaves this machine. To ask the resolver costs as much as the rest of the request, and
  // some answer with only one of the two.
  return sendTo('127.0.0.1', url, request).catch((error: unknown) => {
    if (!wasRefused(error)) throw error
    return sendTo('::1', url, request).catch(() => {
      throw error
    })
  })
}

const wasRefused = (error: unknown): boolean =>
  error instanceof Error && (error.cause as { code?: string } | undefined)?.code === 'ECONNREFUSED'

function sendTo(address: string | undefined, url: URL, request: Request): Promise<Answer> {
  const { method, headers, body, timeoutMs } = request
  // Not `import`: on Node 22 and 24 the module's face alone costs more than the request, and `fetch` does on Node 20.
  const { request: open } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const sent = open(url, {
      method,
      headers: { ...headers, ...length, host: url.host },
      // Without an agent the connection ends with the answer, and the process with it.
      agent: false,
      ...(address !== undefined && { hostname: address, servername: url.hostname }),
    })
    const fail = (error: Error) => {
      clearTimeout(patience)
      sent.destroy()
      reject(error)
    }
    const patience = setTimeout(() => fail(timedOut(url, timeoutMs)), timeoutMs)
    sent.on('error', (error) => fail(unreachable(url, error)))
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size > ANSWER_MAX_BYTES) fail(broken(url, 'sends more than an answer can be long'))
      })
      response.on('error', (error) => fail(unreachable(url, error)))
      response.on('end', () => {
        clearTimeout(patience)
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString('utf8'),
        })
      })
    })
    sent.end(body)
  })
}

const timedOut = (url: URL, ms: number): ServiceError =>
  new ServiceError('TIMEOUT', `${url.origin} did not answer within ${ms / 1000} s`, {
    hint: 'Try again; --timeout <seconds> waits longer.',
  })

const CHECK = 'Is the server running, and is this its address? Check with: svc doctor'

const broken = (url: URL, what: string, hint = CHECK, cause?: Error): ServiceError =>
  new ServiceError('UNEXPECTED', `${url.origin} ${what}`, { hint, cause })

function unreachable(url: URL, error: Error & { code?: string }): ServiceError {
  const code = error.code ?? ''
  if (code === 'ETIMEDOUT') {
    return new ServiceError('TIMEOUT', `${url.origin} cannot be reached: the connection timed out`, {
      hint: CHECK,
      cause: error,
    })
  }
  const [what, hint] = whatHappened(code, url)
  return broken(url, what, hint, error)
}

function whatHappened(code: string, { hostname }: URL): readonly [what: string, hint?: string] {
  if (code === 'ECONNREFUSED') return ['cannot be reached: nothing listens there']
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return [`cannot be reached: the name ${hostname} is not known`]
  if (code === 'ECONNRESET' || code === 'EPIPE') return ['broke the connection off']
  if (/WRONG_VERSION_NUMBER|^EPROTO$/.test(code)) return ['does not speak TLS', 'Is it an http:// address?']
  if (/CERT|SIGNATURE|ISSUER|^ERR_(TLS|SSL)/.test(code)) {
    return [
      `shows a certificate that is not trusted here (${code})`,
      'For an authority of your own set NODE_EXTRA_CA_CERTS to its certificate.',
    ]
  }
  if (code.startsWith('HPE_')) return ['does not answer in HTTP']
  return [`cannot be reached${code === '' ? '' : ` (${code})`}`]
}
