/**
 * A strict API server of a cluster over TLS: it knows service accounts by uid, pods that are gone, audiences and what whoever
 * asks may do, and answers with the bodies of the real one (test/kube compares them where there is one).
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { selfSigned } from './self-signed.ts'

const ISSUER = 'https://kubernetes.default.svc.cluster.local'
const HOST = '127.0.0.1'
export const AUDIENCE = 'svc-control-plane'

export type Minted = {
  readonly audiences?: readonly string[]
  readonly pod?: { readonly name: string; readonly uid: string } | null
  readonly expiresInSeconds?: number
  /** Signed with a key that is not the cluster's. */
  readonly forged?: boolean
  /** What the token says of its account, whatever is true. */
  readonly uid?: string
}

type Account = {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  annotations: Record<string, string>
}
/** Instead of the answer: nothing at all, or something else than asked for. */
type Trouble = 'hang' | 'html' | 'half' | 'huge' | 'redirect' | 'other-kind' | 'empty' | number

export type FakeApiServer = Awaited<ReturnType<typeof startFakeApiServer>>

export async function startFakeApiServer(clock: () => Date) {
  const [own, foreign] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')]
  const folder = await mkdtemp(join(tmpdir(), 'svc-cluster-'))
  const accounts = new Map<string, Account>()
  const deletedPods = new Set<string>()
  /** Of the auth-service. */
  const permissions = new Set(['create tokenreviews', 'get serviceaccounts'])
  const requests: string[] = []
  let trouble: Trouble | undefined
  let currentToken = ''

  const keyOf = (namespace: string, name: string) => `${namespace}/${name}`
  function addAccount(namespace: string, name: string, annotations: Record<string, string> = {}): Account {
    const account = { namespace, name, uid: randomUUID(), annotations }
    accounts.set(keyOf(namespace, name), account)
    return account
  }

  async function mint(namespace: string, name: string, options: Minted = {}): Promise<string> {
    const { audiences = [AUDIENCE], expiresInSeconds = 3600, forged = false } = options
    const pod = options.pod === undefined ? { name: `${name}-1`, uid: `pod-of-${name}` } : options.pod
    const uid = options.uid ?? accounts.get(keyOf(namespace, name))?.uid ?? randomUUID()
    const now = Math.floor(clock().getTime() / 1000)
    const claims = { namespace, serviceaccount: { name, uid }, ...(pod && { pod }) }
    return new SignJWT({ 'kubernetes.io': claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .setIssuer(ISSUER)
      .setAudience([...audiences])
      .setSubject(`system:serviceaccount:${namespace}:${name}`)
      .setIssuedAt(now)
      .setNotBefore(now)
      .setExpirationTime(now + expiresInSeconds)
      .setJti(randomUUID())
      .sign((forged ? foreign : own).privateKey)
  }

  /** As the real one: signature, time, account and its uid, pod, then audiences. */
  async function authenticate(token: string, audiences: readonly string[]) {
    const { payload } = await jwtVerify(token, own.publicKey, { issuer: ISSUER, currentDate: clock() })
    const claims = payload['kubernetes.io'] as {
      namespace: string
      serviceaccount: { name: string; uid: string }
      pod?: { name: string; uid: string }
    }
    const account = accounts.get(keyOf(claims.namespace, claims.serviceaccount.name))
    if (account?.uid !== claims.serviceaccount.uid) throw new Error('service account UID mismatch')
    if (claims.pod && deletedPods.has(claims.pod.uid)) throw new Error('pod has been deleted')
    const presented = [payload.aud].flat().filter((audience) => audience !== undefined)
    const confirmed = audiences.filter((audience) => presented.includes(audience))
    if (confirmed.length === 0) {
      const [has, wants] = [JSON.stringify(presented), JSON.stringify(audiences)]
      throw new Error(`token audiences ${has} is invalid for the target audiences ${wants}`)
    }
    return { account, pod: claims.pod, audiences: confirmed, jti: payload.jti }
  }

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const path = incoming.url ?? ''
    requests.push(`${incoming.method} ${path}`)
    const body = await readAll(incoming)
    if (trouble !== undefined) return answerTrouble(outgoing, trouble)
    const send = (status: number, value: object) => {
      outgoing.writeHead(status, { 'content-type': 'application/json' })
      outgoing.end(JSON.stringify(value))
    }
    const fail = (code: number, reason: string, message: string) =>
      send(code, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code })
    const bearer = incoming.headers.authorization?.replace(/^Bearer /, '') ?? ''
    const asking = await authenticate(bearer, [ISSUER]).catch(() => undefined)
    if (!asking || bearer !== currentToken) return fail(401, 'Unauthorized', 'Unauthorized')
    const user = usernameOf(asking.account)
    const forbidden = (verb: string, resource: string, group: string) =>
      fail(
        403,
        'Forbidden',
        `${resource}${group && `.${group}`} is forbidden: User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" at the cluster scope`,
      )

    if (incoming.method === 'POST' && path === '/apis/authentication.k8s.io/v1/tokenreviews') {
      if (!permissions.has('create tokenreviews')) {
        return forbidden('create', 'tokenreviews', 'authentication.k8s.io')
      }
      const review = readReview(body)
      if (!review) return fail(400, 'BadRequest', 'not a TokenReview')
      const { spec } = review
      const base = {
        kind: 'TokenReview',
        apiVersion: 'authentication.k8s.io/v1',
        metadata: { creationTimestamp: null },
        spec,
      }
      try {
        const found = await authenticate(spec.token, spec.audiences ?? [ISSUER])
        return send(201, { ...base, status: acceptedStatus(found) })
      } catch (error) {
        const why = error instanceof Error ? error.message : ''
        return send(201, { ...base, status: { user: {}, error: `[invalid bearer token, ${why}]` } })
      }
    }
    const named = /^\/api\/v1\/namespaces\/([^/]+)\/serviceaccounts\/([^/]+)$/.exec(path)
    if (incoming.method === 'GET' && named) {
      if (!permissions.has('get serviceaccounts')) return forbidden('get', 'serviceaccounts', '')
      const account = accounts.get(keyOf(named[1]!, named[2]!))
      if (!account) return fail(404, 'NotFound', `serviceaccounts "${named[2]}" not found`)
      const { namespace, name, uid, annotations } = account
      // The real one leaves out what is empty.
      const metadata = { name, namespace, uid, ...(Object.keys(annotations).length > 0 && { annotations }) }
      return send(200, { kind: 'ServiceAccount', apiVersion: 'v1', metadata })
    }
    return fail(404, 'NotFound', 'the server could not find the requested resource')
  }

  const server = createServer(selfSigned(HOST), (incoming, outgoing) => void answer(incoming, outgoing))
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve))

  async function rotateCertificate(): Promise<void> {
    const made = selfSigned(HOST)
    server.setSecureContext(made)
    server.closeAllConnections()
    await writeFile(join(folder, 'ca.crt'), made.cert)
  }

  /** The token before is not accepted any more. */
  async function rotateToken(): Promise<void> {
    currentToken = await mint('svc', 'auth-service', { audiences: [ISSUER] })
    await writeFile(join(folder, 'token'), `${currentToken}\n`)
  }

  addAccount('svc', 'auth-service')
  await rotateCertificate()
  await rotateToken()
  const { port } = server.address() as AddressInfo
  return {
    host: HOST,
    port,
    folder,
    /** What tells a system to ask it. */
    settings: {
      KUBERNETES_SERVICE_HOST: HOST,
      KUBERNETES_SERVICE_PORT: String(port),
      KUBERNETES_CREDENTIALS_DIR: folder,
    },
    addAccount,
    deleteAccount: (namespace: string, name: string) => accounts.delete(keyOf(namespace, name)),
    mint,
    deletedPods,
    permissions,
    requests,
    rotateCertificate,
    rotateToken,
    trouble(kind: Trouble | undefined) {
      trouble = kind
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const usernameOf = ({ namespace, name }: Pick<Account, 'namespace' | 'name'>) =>
  `system:serviceaccount:${namespace}:${name}`

function acceptedStatus(found: {
  account: Account
  pod: { name: string; uid: string } | undefined
  audiences: readonly string[]
  jti: string | undefined
}) {
  const { account, pod, audiences, jti } = found
  return {
    authenticated: true,
    user: {
      username: usernameOf(account),
      uid: account.uid,
      groups: [
        'system:serviceaccounts',
        `system:serviceaccounts:${account.namespace}`,
        'system:authenticated',
      ],
      extra: {
        'authentication.kubernetes.io/credential-id': [`JTI=${jti}`],
        ...(pod && {
          'authentication.kubernetes.io/pod-name': [pod.name],
          'authentication.kubernetes.io/pod-uid': [pod.uid],
        }),
      },
    },
    audiences,
  }
}

type ReviewSpec = { readonly token: string; readonly audiences?: readonly string[] }

/** Undefined for a field too many as for one too few. */
function readReview(text: string): { readonly spec: ReviewSpec } | undefined {
  const review = JSON.parse(text) as Record<string, unknown>
  const spec = review['spec'] as ReviewSpec | undefined
  const isOne =
    review['kind'] === 'TokenReview' &&
    review['apiVersion'] === 'authentication.k8s.io/v1' &&
    Object.keys(review).every((key) => ['kind', 'apiVersion', 'spec'].includes(key)) &&
    spec !== undefined &&
    typeof spec.token === 'string' &&
    Object.keys(spec).every((key) => ['token', 'audiences'].includes(key))
  return isOne ? { spec } : undefined
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of incoming.setEncoding('utf8')) text += String(part)
  return text
}

function answerTrouble(outgoing: ServerResponse, trouble: Trouble): void {
  const json = { 'content-type': 'application/json' }
  if (trouble === 'hang') return
  if (typeof trouble === 'number') return void outgoing.writeHead(trouble, json).end('{"kind":"Status"}')
  if (trouble === 'redirect') return void outgoing.writeHead(302, { location: 'https://127.0.0.1:1/' }).end()
  if (trouble === 'html') return void outgoing.writeHead(200).end('<html>yes</html>')
  if (trouble === 'empty') return void outgoing.writeHead(201).end()
  if (trouble === 'half') {
    outgoing.writeHead(201, { ...json, 'content-length': '1000' })
    outgoing.write('{"kind":"TokenReview"')
    return void outgoing.destroy()
  }
  if (trouble === 'huge') return void outgoing.writeHead(201, json).end(JSON.stringify('x'.repeat(2 << 20)))
  outgoing.writeHead(201, json).end('{"kind":"Status","status":{"authenticated":true}}')
}
