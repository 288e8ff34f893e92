/**
 * The API server of the cluster that this process runs in: two questions over `node:https`, because the global fetch takes
 * no certificate authority of its own. Token and authority are read from their files at every question: both rotate.
 */
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import * as z from 'zod'
import { ClusterForbidden, ClusterUnavailable } from '../../contracts/cluster-errors.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import type { Cluster } from '../../cores/workloads/index.ts'

export type ApiServerSettings = {
  readonly host: string
  readonly port: number
  /** Where the cluster puts `token` and `ca.crt` of the own service account. */
  readonly credentialsFolder: string
  readonly timeoutMs: number
}

/** Far more than either answer has. */
const ANSWER_MAX_BYTES = 1024 * 1024
/** As many as may be open, so that none waits for another. */
const { clusterAcceptedBefore, clusterNewcomers, clusterAccounts } = FAIR_QUEUES
const SOCKETS_MAX = [clusterAcceptedBefore, clusterNewcomers, clusterAccounts].reduce(
  (sum, { running }) => sum + running.all,
  0,
)
/** A kept connection that nobody used for so long is closed. */
const IDLE_MS = 60_000

const texts = z.array(z.string()).default([])

/** Refused is also 201, without `authenticated`. */
const TokenReview = z.object({
  kind: z.literal('TokenReview'),
  status: z.object({
    authenticated: z.boolean().default(false),
    user: z
      .object({
        username: z.string().default(''),
        uid: z.string().default(''),
        groups: texts,
        extra: z.record(z.string(), z.array(z.string())).default({}),
      })
      .default({ username: '', uid: '', groups: [], extra: {} }),
    audiences: texts,
  }),
})

const ServiceAccount = z.object({
  kind: z.literal('ServiceAccount'),
  metadata: z.object({
    uid: z.string().min(1),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
})

const Status = z.object({ kind: z.literal('Status'), reason: z.string().optional() })

type Answer = { readonly status: number; readonly body: string }

export function apiServer(settings: ApiServerSettings): Cluster & { close(): void } {
  const { host, port, credentialsFolder, timeoutMs } = settings
  // Throws for a host that is none: at the start, and not at every call.
  const address = new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`).origin
  let agent: { readonly authority: string; readonly agent: Agent } | undefined

  /** One for as long as the authority stays: connections of an earlier one are not used again, and close by themselves. */
  function agentFor(authority: string): Agent {
    if (agent?.authority !== authority) {
      const options = { ca: authority, keepAlive: true, maxSockets: SOCKETS_MAX, timeout: IDLE_MS }
      agent = { authority, agent: new Agent(options) }
    }
    return agent.agent
  }

  async function readCredential(name: string): Promise<string> {
    try {
      return await readFile(join(credentialsFolder, name), 'utf8')
    } catch (error) {
      throw new ClusterUnavailable(`the file ${name} of the own service account cannot be read`, error)
    }
  }

  async function ask(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const [token, authority] = await Promise.all([readCredential('token'), readCredential('ca.crt')])
    const sent = body === undefined ? '' : JSON.stringify(body)
    const asked = {
      agent: agentFor(authority),
      method,
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        authorization: `Bearer ${token.trim()}`,
        accept: 'application/json',
        ...(sent && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(sent)),
        }),
      },
    }
    const answer = await exchange(new URL(path, address), asked, sent)
    if (answer.status === 401) {
      throw new ClusterUnavailable('the API server does not accept the token of the auth-service')
    }
    return answer
  }

  return {
    address,
    async reviewToken(token, audience) {
      const { status, body } = await ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token, audiences: [audience] },
      })
      if (status === 403 && isStatus(body, 'Forbidden')) throw forbidden('create tokenreviews')
      if (status !== 201 && status !== 200) throw unexpected(status)
      const { user, ...review } = read(TokenReview, body).status
      return { ...review, ...user }
    },
    async findServiceAccount(namespace, name) {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}`
      const { status, body } = await ask('GET', path)
      if (status === 403 && isStatus(body, 'Forbidden')) throw forbidden('get serviceaccounts')
      if (status === 404 && isStatus(body, 'NotFound')) return undefined
      if (status !== 200) throw unexpected(status)
      return read(ServiceAccount, body).metadata
    },
    close: () => agent?.agent.destroy(),
  }
}

const forbidden = (what: string) =>
  new ClusterForbidden(
    `the service account of the auth-service may not ${what}: set auth-service.rbac.create=true in the chart`,
  )

/** Said by the API server itself, and not by a proxy on the way. */
const isStatus = (body: string, reason: 'Forbidden' | 'NotFound'): boolean =>
  read(Status, body).reason === reason

const unexpected = (status: number) => new ClusterUnavailable(`the API server answered ${status}`)

/** What cannot be read says neither yes nor no. Without the cause: it quotes the answer, which repeats the token. */
function read<Schema extends z.ZodType>(schema: Schema, body: string): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(body))
  } catch {
    throw new ClusterUnavailable('the API server answered something else than expected')
  }
}

type Asked = Parameters<typeof request>[1]

/** Both questions change nothing, so one that a kept connection lost at once is asked again, over a new one. */
async function exchange(url: URL, asked: Asked & { signal: AbortSignal }, body: string): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await exchangeOnce(url, asked, body)
    } catch (error) {
      if (error instanceof LostConnection && attempt === 1) continue
      if (error instanceof ClusterUnavailable) throw error
      const reason = asked.signal.aborted
        ? 'the API server did not answer in time'
        : 'the API server cannot be reached'
      throw new ClusterUnavailable(reason, error)
    }
  }
}

/** Kept alive, and closed by the other side in the moment it was used. */
class LostConnection extends Error {}

function exchangeOnce(url: URL, asked: Asked, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, asked, (incoming) => {
      let text = ''
      incoming.setEncoding('utf8')
      incoming.on('data', (part: string) => {
        text += part
        if (text.length <= ANSWER_MAX_BYTES) return
        reject(new ClusterUnavailable('the API server answered too much'))
        outgoing.destroy()
      })
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body: text }))
      incoming.on('error', reject)
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) =>
      reject(
        outgoing.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')
          ? new LostConnection()
          : error,
      ),
    )
    outgoing.end(body)
  })
}
