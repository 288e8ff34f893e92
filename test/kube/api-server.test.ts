/**
 * The adapter for the cluster against a real API server: `KUBE_APISERVER` names its binary, `KUBE_ETCD` that of etcd (or it
 * is on the path). The strict one of the other tests must answer as this one does.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { apiServer } from '../../src/adapters/cluster/api-server.ts'
import { reviewedAccount } from '../../src/cores/workloads/reviewed-account.ts'
import { freePort } from '../support/free-port.ts'
import { selfSigned } from '../support/self-signed.ts'
import { renderChart } from '../support/chart/render-chart.ts'
import { EVERYTHING, HOSTED, SMALLEST } from '../support/chart/values.ts'

const BINARY = process.env['KUBE_APISERVER']
const ETCD = process.env['KUBE_ETCD'] ?? 'etcd'
const ISSUER = 'https://kubernetes.default.svc.cluster.local'
const AUDIENCE = 'svc-control-plane'
if (!BINARY) console.log('No real API server is asked: KUBE_APISERVER names no binary.')

type Json = { readonly [key: string]: unknown; readonly metadata?: { readonly uid: string } }

type KubeObject = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}

/** Where an object of this kind is created. */
function pathOf({ apiVersion, kind }: KubeObject): string {
  const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  const resources = `${kind.toLowerCase()}s`.replace(/ys$/, 'ies').replace(/sss$/, 'sses')
  return kind.startsWith('Cluster') ? `${base}/${resources}` : `${base}/namespaces/svc/${resources}`
}

describe.skipIf(!BINARY)('a real API server', () => {
  const children: ChildProcess[] = []
  const adminToken = randomUUID()
  let folder: string
  let port: number
  let certificate: { key: string; cert: string }
  let cluster: ReturnType<typeof apiServer>

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-kube-'))
    const [etcdPort, peerPort] = [await freePort(), await freePort()]
    port = await freePort()
    certificate = selfSigned('127.0.0.1')
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const file = async (name: string, text: string | Buffer) => {
      await writeFile(join(folder, name), text, { mode: 0o600 })
      return join(folder, name)
    }
    const etcd = `http://127.0.0.1:${etcdPort}`
    const peer = `http://127.0.0.1:${peerPort}`
    start(ETCD, [
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=${etcd}`,
      `--advertise-client-urls=${etcd}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
    ])
    const signing = await file('sa.key', privateKey.export({ type: 'pkcs1', format: 'pem' }))
    start(BINARY!, [
      `--etcd-servers=${etcd}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${join(folder, 'certificates')}`,
      `--tls-cert-file=${await file('tls.crt', certificate.cert)}`,
      `--tls-private-key-file=${await file('tls.key', certificate.key)}`,
      `--service-account-issuer=${ISSUER}`,
      `--api-audiences=${ISSUER}`,
      `--service-account-signing-key-file=${signing}`,
      `--service-account-key-file=${await file('sa.pub', publicKey.export({ type: 'spki', format: 'pem' }))}`,
      `--token-auth-file=${await file('tokens.csv', `${adminToken},admin,admin,"system:masters"\n`)}`,
      '--authorization-mode=RBAC',
      // It waits for controllers that do not run here.
      '--disable-admission-plugins=ServiceAccount',
      '--service-cluster-ip-range=10.0.0.0/24',
    ])
    await untilReady()
    for (const name of ['svc', 'shop']) await make('/api/v1/namespaces', 'v1', 'Namespace', { name })
    await makeAccount('svc', 'auth-service')
    await makeAccount('shop', 'worker', { 'svc.dev/org': 'org_1' })
    await writeFile(join(folder, 'ca.crt'), certificate.cert)
    await writeFile(join(folder, 'token'), await tokenOf('svc', 'auth-service', { audiences: [ISSUER] }))
    cluster = apiServer({ host: '127.0.0.1', port, credentialsFolder: folder, timeoutMs: 3_000 })
  })

  afterAll(async () => {
    cluster?.close()
    for (const child of children.toReversed()) child.kill('SIGKILL')
    await Promise.all(children.map(untilExited))
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  async function untilExited(child: ChildProcess): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }

  const start = (program: string, args: readonly string[]) =>
    children.push(spawn(program, args, { stdio: 'ignore', env: { PATH: process.env['PATH'] ?? '' } }))

  function ask(method: string, path: string, body?: object): Promise<{ status: number; body: Json }> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
      const url = `https://127.0.0.1:${port}${path}`
      const outgoing = request(url, { method, ca: certificate.cert, headers }, (incoming) => {
        let text = ''
        incoming.setEncoding('utf8').on('data', (part: string) => (text += part))
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode ?? 0, body: JSON.parse(text || '{}') as Json }),
        )
      })
      outgoing.on('error', reject)
      outgoing.end(body && JSON.stringify(body))
    })
  }

  async function untilReady(): Promise<void> {
    const deadline = AbortSignal.timeout(90_000)
    for (;;) {
      const { status } = await ask('GET', '/api/v1/namespaces/default').catch(() => ({ status: 0 }))
      if (status === 200) return
      deadline.throwIfAborted()
      await sleep(500)
    }
  }

  async function make(path: string, apiVersion: string, kind: string, metadata: object, rest: object = {}) {
    const { status, body } = await ask('POST', path, { apiVersion, kind, metadata, ...rest })
    expect([kind, status, body['message']]).toEqual([kind, 201, undefined])
    return body
  }

  const makeAccount = (namespace: string, name: string, annotations = {}) =>
    make(`/api/v1/namespaces/${namespace}/serviceaccounts`, 'v1', 'ServiceAccount', { name, annotations })

  async function tokenOf(namespace: string, name: string, spec: object): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
    const made = await make(path, 'authentication.k8s.io/v1', 'TokenRequest', {}, { spec })
    return (made['status'] as { token: string }).token
  }

  const accountOf = async (token: string) =>
    reviewedAccount(await cluster.reviewToken(token, AUDIENCE), AUDIENCE)

  test.each([
    { name: 'smallest', values: SMALLEST },
    { name: 'everything', values: EVERYTHING },
    { name: 'hosted', values: HOSTED },
  ])('takes every object of the chart with values "$name", on trial', async ({ values }) => {
    const texts = [...renderChart(values).files.values()]
    for (const document of texts.flatMap((text) => parseAllDocuments(text))) {
      const object = document.toJS() as KubeObject
      const { status, body } = await ask(
        'POST',
        `${pathOf(object)}?dryRun=All&fieldValidation=Strict`,
        object,
      )
      expect([object.kind, object.metadata.name, status, body['message']]).toEqual([
        object.kind,
        object.metadata.name,
        201,
        undefined,
      ])
    }
  })

  test('without a role nothing may be asked', async () => {
    await expect(cluster.reviewToken('x', AUDIENCE)).rejects.toMatchObject({
      reason: expect.stringContaining('may not create tokenreviews') as string,
    })
    await expect(cluster.findServiceAccount('shop', 'worker')).rejects.toMatchObject({
      reason: expect.stringContaining('may not get serviceaccounts') as string,
    })
  })

  test('the role of the chart is enough', async () => {
    const group = 'rbac.authorization.k8s.io'
    const rules = [
      { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
      { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['get'] },
    ]
    const name = 'svc-auth-service'
    await make(`/apis/${group}/v1/clusterroles`, `${group}/v1`, 'ClusterRole', { name }, { rules })
    const subjects = [{ kind: 'ServiceAccount', namespace: 'svc', name: 'auth-service' }]
    const roleRef = { apiGroup: group, kind: 'ClusterRole', name }
    const path = `/apis/${group}/v1/clusterrolebindings`
    await make(path, `${group}/v1`, 'ClusterRoleBinding', { name }, { subjects, roleRef })
    // The authorizer notices it a moment later.
    await expect
      .poll(() => cluster.findServiceAccount('shop', 'worker').catch(() => undefined), { timeout: 15_000 })
      .toMatchObject({ annotations: { 'svc.dev/org': 'org_1' } })
    expect(await cluster.findServiceAccount('shop', 'nobody')).toBeUndefined()
  })

  test('a token for us names its account, any other names nobody', async () => {
    const { uid } = (await cluster.findServiceAccount('shop', 'worker'))!
    expect(await accountOf(await tokenOf('shop', 'worker', { audiences: [AUDIENCE] }))).toEqual({
      namespace: 'shop',
      name: 'worker',
      uid,
      pod: null,
    })
    expect(await accountOf(await tokenOf('shop', 'worker', { audiences: [ISSUER] }))).toBeUndefined()
    expect(await accountOf('not.a.token')).toBeUndefined()
  })

  test('a pod is named, and refused when it is gone; so is an account that was made again', async () => {
    const pods = '/api/v1/namespaces/shop/pods'
    const spec = { serviceAccountName: 'worker', containers: [{ name: 'worker', image: 'worker' }] }
    const pod = await make(pods, 'v1', 'Pod', { name: 'worker-1' }, { spec })
    const { uid } = pod.metadata!
    const bound = { kind: 'Pod', apiVersion: 'v1', name: 'worker-1', uid }
    const token = await tokenOf('shop', 'worker', { audiences: [AUDIENCE], boundObjectRef: bound })
    expect((await accountOf(token))?.pod).toEqual({ name: 'worker-1', uid })
    await ask('DELETE', `${pods}/worker-1`, { gracePeriodSeconds: 0 })
    // It remembers for about ten seconds.
    await expect.poll(() => accountOf(token), { timeout: 30_000, interval: 1_000 }).toBeUndefined()
    const earlier = await tokenOf('shop', 'worker', { audiences: [AUDIENCE] })
    await ask('DELETE', '/api/v1/namespaces/shop/serviceaccounts/worker')
    await makeAccount('shop', 'worker')
    await expect.poll(() => accountOf(earlier), { timeout: 30_000, interval: 1_000 }).toBeUndefined()
  })
})
