import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { AUDIENCE, startFakeApiServer, type FakeApiServer } from '../../../test/support/fake-api-server.ts'
import { selfSigned } from '../../../test/support/self-signed.ts'
import { apiServer } from './api-server.ts'

let fake: FakeApiServer
let cluster: ReturnType<typeof apiServer>

beforeAll(async () => {
  fake = await startFakeApiServer(() => new Date())
  fake.addAccount('shop', 'worker', { 'svc.dev/org': 'org_1' })
  cluster = apiServer({ host: fake.host, port: fake.port, credentialsFolder: fake.folder, timeoutMs: 2_000 })
})
afterEach(() => fake.trouble(undefined))
afterAll(async () => {
  cluster.close()
  await fake.close()
})

const review = (token: string) => cluster.reviewToken(token, AUDIENCE)
const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'answered',
    (error: Error & { reason?: string }) => `${error.name}: ${error.reason}`,
  )

test('a review is read as the cluster answers it, yes and no', async () => {
  expect(await review(await fake.mint('shop', 'worker'))).toMatchObject({
    authenticated: true,
    username: 'system:serviceaccount:shop:worker',
    audiences: [AUDIENCE],
  })
  const refused = await review(await fake.mint('shop', 'worker', { forged: true }))
  expect(refused).toMatchObject({ authenticated: false, username: '', groups: [], audiences: [] })
})

test('an account with its annotations, and undefined for one that does not exist', async () => {
  expect(await cluster.findServiceAccount('shop', 'worker')).toMatchObject({
    annotations: { 'svc.dev/org': 'org_1' },
  })
  expect(await cluster.findServiceAccount('svc', 'auth-service')).toMatchObject({ annotations: {} })
  expect(await cluster.findServiceAccount('shop', 'nobody')).toBeUndefined()
})

const ELSE = 'ClusterUnavailable: the API server answered something else than expected'
test.each([
  ['html', ELSE],
  ['empty', ELSE],
  ['other-kind', ELSE],
  ['huge', 'ClusterUnavailable: the API server answered too much'],
  ['half', 'ClusterUnavailable: the API server cannot be reached'],
  ['redirect', 'ClusterUnavailable: the API server answered 302'],
  [500, 'ClusterUnavailable: the API server answered 500'],
  // Of a proxy on the way: it is not the API server that forbids.
  [403, 'ClusterUnavailable: the API server answered 403'],
] as const)('%s says neither yes nor no', async (trouble, reason) => {
  fake.trouble(trouble)
  expect(await reasonOf(review('x'))).toBe(reason)
})

test.each([403, 404] as const)('nor does a proxy that answers %s about an account', async (status) => {
  fake.trouble(status)
  const reason = `ClusterUnavailable: the API server answered ${status}`
  expect(await reasonOf(cluster.findServiceAccount('shop', 'worker'))).toBe(reason)
})

test('a host that is none is refused at the start', () => {
  const settings = { port: 443, credentialsFolder: fake.folder, timeoutMs: 50 }
  expect(() => apiServer({ ...settings, host: 'no host' })).toThrow('Invalid URL')
})

test('it is not waited for without end', async () => {
  fake.trouble('hang')
  const hasty = apiServer({ host: fake.host, port: fake.port, credentialsFolder: fake.folder, timeoutMs: 50 })
  const reason = 'ClusterUnavailable: the API server did not answer in time'
  expect(await reasonOf(hasty.reviewToken('x', AUDIENCE))).toBe(reason)
  hasty.close()
})

test('its own token and the authority are read anew, and a server that has another one gets no token', async () => {
  await fake.rotateToken()
  await fake.rotateCertificate()
  expect(await reasonOf(review('x'))).toBe('answered')
  const asked = fake.requests.length
  const before = selfSigned('127.0.0.1').cert
  await writeFile(join(fake.folder, 'ca.crt'), before)
  expect(await reasonOf(review('x'))).toBe('ClusterUnavailable: the API server cannot be reached')
  expect(fake.requests.length).toBe(asked)
  await fake.rotateCertificate()
  await writeFile(join(fake.folder, 'token'), 'outdated')
  const unknown = 'ClusterUnavailable: the API server does not accept the token of the auth-service'
  expect(await reasonOf(review('x'))).toBe(unknown)
  await rm(join(fake.folder, 'token'))
  const missing = 'ClusterUnavailable: the file token of the own service account cannot be read'
  expect(await reasonOf(review('x'))).toBe(missing)
  await fake.rotateToken()
})

test('without permission it says what to do', async () => {
  fake.permissions.clear()
  const cure = 'set auth-service.rbac.create=true in the chart'
  const may = (what: string) =>
    `ClusterForbidden: the service account of the auth-service may not ${what}: ${cure}`
  expect(await reasonOf(review('x'))).toBe(may('create tokenreviews'))
  expect(await reasonOf(cluster.findServiceAccount('shop', 'worker'))).toBe(may('get serviceaccounts'))
  fake.permissions.add('create tokenreviews').add('get serviceaccounts')
})

test('where nobody listens it cannot be reached', async () => {
  const nowhere = apiServer({ host: '127.0.0.1', port: 1, credentialsFolder: fake.folder, timeoutMs: 2_000 })
  const reason = 'ClusterUnavailable: the API server cannot be reached'
  expect(await reasonOf(nowhere.reviewToken('x', AUDIENCE))).toBe(reason)
})
