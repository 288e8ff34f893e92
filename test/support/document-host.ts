/** A client's own web site on loopback, with TLS under names of its own: serves metadata documents and counts who asks. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { guardedFetch } from '../../src/adapters/outbound/guarded-fetch.ts'
import type { GuardedFetch } from '../../src/cores/dependencies.ts'

type Answer = Record<string, unknown> | ((answer: ServerResponse) => void)

export type DocumentHost = {
  /** `https://client.test:PORT` */
  readonly origin: string
  /** What another process needs to find it. */
  readonly port: number
  readonly certificate: string
  /** The service's guard, which finds this host and nothing else. */
  readonly guardedFetch: GuardedFetch
  /** Puts a JSON document, or whatever the function answers, at a path; says its address. */
  readonly put: (path: string, answer: Answer) => string
  /** A whole metadata document at a path, naming itself; `changes` go over it. */
  readonly putClient: (path: string, changes?: Record<string, unknown>) => string
  /** How often the path was asked for. */
  readonly hits: (path: string) => number
  /** The host does not answer any more. */
  readonly die: () => void
  readonly close: () => void
}

const NAME = 'client.test'

/** `others` are names that its certificate carries as well. */
export async function openDocumentHost(others: readonly string[] = []): Promise<DocumentHost> {
  const certificate = selfSigned([NAME, ...others])
  const answers = new Map<string, Answer>()
  const hits: string[] = []
  let isDead = false
  const server = createServer({ ...certificate }, (request, response) => {
    const path = request.url ?? ''
    hits.push(path)
    const answer = answers.get(path)
    if (isDead) response.destroy()
    else if (typeof answer === 'function') answer(response)
    else if (!answer) response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const origin = `https://${NAME}:${port}`
  const put = (path: string, answer: Answer) => {
    answers.set(path, answer)
    return origin + path
  }
  return {
    origin,
    port,
    certificate: certificate.cert,
    guardedFetch: guardedFetch({
      resolve: async (name) => (name === NAME ? ['127.0.0.1'] : []),
      allowAddress: (address) => address === '127.0.0.1',
      ca: certificate.cert,
    }),
    put,
    putClient: (path, changes = {}) =>
      put(path, {
        client_id: origin + path,
        client_name: 'A document',
        redirect_uris: [`${origin}/callback`],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
        ...changes,
      }),
    hits: (path) => hits.filter((one) => one === path).length,
    die: () => void (isDead = true),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function selfSigned(names: readonly string[]): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-certificate-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  try {
    const what = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'
    const alternatives = names.map((name) => `DNS:${name}`).join(',')
    const subject = ['-subj', `/CN=${NAME}`, '-addext', `subjectAltName=${alternatives}`]
    execFileSync('openssl', [...what.split(' '), ...subject, '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
