/** Workload identity: a pod reports about its app with the token that its cluster gives it, and with nothing else. */
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { throttles, workloadBindings } from '../../db/schema.ts'
import { readSettings } from '../../sdk/worker/src/settings.ts'
import type { PipelineContext } from '../../sdk/worker/src/run-job.ts'
import { TIMING } from '../../sdk/worker/src/timing.ts'
import { startableWorker } from '../../sdk/worker/src/worker.ts'
import { httpClient } from '../../src/client/http-client.ts'
import type { Service } from '../../src/client/service.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { ERRORS, type ErrorBody } from '../../src/contracts/errors.ts'
import { makeId } from '../../src/contracts/ids.ts'
import {
  REFUSED_WORKLOAD_TOKENS,
  SERVICE_ACCOUNT_READS,
  TOKEN_REVIEW_SECONDS,
  WORKLOAD_BINDINGS_PER_APP,
} from '../../src/contracts/limits.ts'
import { listLogs, pushLogs } from '../../src/contracts/logs.ts'
import type { Operation, Principal } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import {
  claimPipelineRun,
  createPipeline,
  listPipelineRuns,
  startPipelineRun,
} from '../../src/contracts/pipelines.ts'
import { validateToken } from '../../src/contracts/tokens.ts'
import {
  bindServiceAccount,
  listServiceAccounts,
  showServiceAccount,
  unbindServiceAccount,
} from '../../src/contracts/workloads.ts'
import { requireAppWriter } from '../../src/cores/apps/index.ts'
import { recordAudit } from '../../src/cores/record-audit.ts'
import { localDirectory } from '../../src/cores/directory/index.ts'
import { validateToken as validateInCore } from '../../src/cores/identity/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import type { Validate } from '../../src/http/authenticate.ts'
import { mountOperation } from '../../src/http/mount.ts'
import { createServiceApp } from '../../src/http/service-app.ts'
import { noTracing } from '../../src/observe/tracing-port.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import { expectedCode, type Rule } from '../support/access-rules.ts'
import { startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import { startFakeApiServer, type FakeApiServer, type Minted } from '../support/fake-api-server.ts'
import { requestWithInvalidInput } from '../support/invalid-request.ts'
import { hasOneConnection } from '../support/left-out.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { OPERATOR_TOKEN, START_MS, startSystem, type TestSystem } from '../support/system.ts'
import { newWalker, sameSecrets } from '../support/walker.ts'

const SERVICES = { SVC_SERVICES: 'api-gateway,auth-service,deploy-api,mcp-server' }
/** Behind a pooler nothing is heard. */
const READY = { status: 'ready', work: inject('isPooled') ? 'polling' : 'listening' }
const ORG_ANNOTATION = 'svc.dev/org'
const INVALID = 'Invalid or expired API token'

let cluster: FakeApiServer
let system: ListeningSystem
const namespaces = new Map<string, string[]>()
let org: Org
let other: Org
let admin: Person
/** Of one test: an app, and a service account that may be bound to it. */
let alias: string
let namespace: string

beforeAll(async () => {
  let now = () => new Date(START_MS)
  cluster = await startFakeApiServer(() => now())
  system = await startListeningSystem(
    { ...SERVICES, ...cluster.settings },
    { workloadNamespaces: namespaces },
  )
  now = () => system.clock.now()
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  admin = await makeMember(system, org, 'admin')
})

beforeEach(async () => {
  cluster.trouble(undefined)
  ;[alias, namespace] = [unique('shop'), unique('ns')]
  await org.owner.call(createApp, { alias, name: 'Shop' })
  give(org, namespace)
  cluster.addAccount(namespace, 'worker', { [ORG_ANNOTATION]: org.id })
})

afterAll(async () => {
  await system?.stop()
  await cluster?.close()
})

const give = ({ id }: Org, name: string) => namespaces.set(id, [...(namespaces.get(id) ?? []), name])
const account = () => ({ namespace, service_account: 'worker' })
const bind = () => admin.call(bindServiceAccount, { alias, ...account() })
const mint = (options?: Minted) => cluster.mint(namespace, 'worker', options)
const reviews = () => cluster.requests.filter((request) => request.startsWith('POST')).length

const claim = (token: string, on = alias, organization?: string) =>
  system.as({ token, organization })(claimPipelineRun, { alias: on, worker: 'w', pipelines: ['nightly'] })

/** Status and message, as a worker gets them. */
async function answerTo(token: string, to: TestSystem = system): Promise<[number, string]> {
  const response = await to.fetch(`/api/deploy/apps/${alias}/pipeline-runs/claim`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ worker: 'w', pipelines: ['nightly'] }),
  })
  const body = (await response.json()) as Partial<ErrorBody>
  return [response.status, body.error?.message ?? 'done']
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => String((error as { code?: unknown }).code),
  )

describe('binding a service account', () => {
  test('is for owners and admins, and told in the audit trail', async () => {
    for (const role of ['viewer', 'developer'] as const) {
      const { call } = await makeMember(system, org, role)
      expect(await codeOf(call(bindServiceAccount, { alias, ...account() }))).toBe('FORBIDDEN')
      expect(await codeOf(call(showServiceAccount, account()))).toBe('FORBIDDEN')
    }
    const bound = await bind()
    expect(bound).toMatchObject({ ...account(), created_by: admin.name, last_used_at: null, pods: [] })
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, limit: 1 })
    expect(audit[0]).toMatchObject({
      action: 'app.service_account_bound',
      actor: { id: admin.userId },
      subject: `${alias}: ${namespace}/worker`,
    })
  })

  test('works with an unscoped API token, and not with a scoped one', async () => {
    const scoped = await makeApiToken(system, org, org.owner, { scopes: ['data:read'] })
    const as = (token: string) => system.as({ token })(bindServiceAccount, { alias, ...account() })
    expect(await codeOf(as(scoped.token))).toBe('FORBIDDEN')
    const unscoped = await makeApiToken(system, org, org.owner)
    expect(await codeOf(as(unscoped.token))).toBe('done')
  })

  test('a namespace of somebody else answers like an account that does not exist, and the cluster is not asked', async () => {
    cluster.addAccount('foreign', 'worker', { [ORG_ANNOTATION]: org.id })
    const refusalOf = (input: { namespace: string; service_account: string }) =>
      admin.call(bindServiceAccount, { alias, ...input }).catch((error: Error & { hint?: string }) => ({
        message: error.message,
        hint: error.hint,
      }))
    const unknown = await refusalOf({ namespace, service_account: 'nobody' })
    expect(unknown).toMatchObject({ message: expect.stringContaining('no such service account') as string })
    const asked = cluster.requests.length
    expect(await refusalOf({ namespace: 'foreign', service_account: 'worker' })).toEqual(unknown)
    expect(cluster.requests.length).toBe(asked)
  })

  test('whoever may write in the namespace must have named the organization', async () => {
    for (const annotations of [{}, { [ORG_ANNOTATION]: other.id }, { [ORG_ANNOTATION]: org.slug }]) {
      cluster.addAccount(namespace, 'worker', annotations)
      const refused = bind()
      await expect(refused).rejects.toMatchObject({
        code: 'CONFLICT',
        message: 'The service account does not name this organization',
        hint: `Run kubectl annotate serviceaccount worker -n ${namespace} ${ORG_ANNOTATION}=${org.id}`,
      })
    }
  })

  test('an app of another organization does not exist', async () => {
    const { call } = other.owner
    expect(await codeOf(call(bindServiceAccount, { alias, ...account() }))).toBe('NOT_FOUND')
    expect(await codeOf(call(listServiceAccounts, { alias }))).toBe('NOT_FOUND')
    const { id: binding_id } = await bind()
    expect(await codeOf(call(unbindServiceAccount, { alias, binding_id }))).toBe('NOT_FOUND')
    await call(createApp, { alias, name: 'Shop' })
    expect((await call(listServiceAccounts, { alias })).service_accounts).toEqual([])
    expect(await codeOf(call(unbindServiceAccount, { alias, binding_id }))).toBe('NOT_FOUND')
  })

  test('an account reports about one app', async () => {
    await bind()
    const second = unique('second')
    await org.owner.call(createApp, { alias: second, name: 'Second' })
    await expect(admin.call(bindServiceAccount, { alias: second, ...account() })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: `This service account is bound to the app ${alias}`,
    })
  })

  test('binding it again to the same app changes nothing', async () => {
    const { id } = await bind()
    expect(await bind()).toMatchObject({ id, ...account() })
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, limit: 2 })
    expect(audit.map(({ action }) => action)).not.toEqual([
      'app.service_account_bound',
      'app.service_account_bound',
    ])
  })

  test('an account that is handed to another organization is bound there, and here no more', async () => {
    const { uid } = await bind()
    const token = await mint()
    expect((await answerTo(token))[0]).toBe(200)
    give(other, namespace)
    Object.assign(cluster.addAccount(namespace, 'worker', { [ORG_ANNOTATION]: other.id }), { uid })
    const theirs = unique('theirs')
    await other.owner.call(createApp, { alias: theirs, name: 'Theirs' })
    await other.owner.call(bindServiceAccount, { alias: theirs, ...account() })
    expect((await org.owner.call(listServiceAccounts, { alias })).service_accounts).toEqual([])
    expect(await codeOf(claim(token))).toBe('NOT_FOUND')
    expect(await codeOf(claim(token, theirs))).toBe('done')
    // Who acts in the other organization is not told.
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, limit: 1 })
    expect(audit[0]).toMatchObject({
      action: 'app.service_account_unbound',
      actor: { kind: 'system', id: null, name: 'svc' },
      subject: `${alias}: ${namespace}/worker`,
    })
    expect(await codeOf(bind())).toBe('CONFLICT')
  })

  test('what was bound after the cluster was asked is not ended by its answer', async () => {
    const { id, uid } = await bind()
    const [row] = await system.db.select().from(workloadBindings).where(eq(workloadBindings.id, id))
    const later = makeId('wlb', START_MS)
    const createdAt = new Date(system.clock.now().getTime() + 1_000)
    await system.db.insert(workloadBindings).values({ ...row!, id: later, uid: randomUUID(), createdAt })
    expect((await bind()).uid).toBe(uid)
    const { service_accounts } = await org.owner.call(listServiceAccounts, { alias })
    expect(service_accounts.map((one) => one.id).toSorted()).toEqual([id, later].toSorted())
  })

  test('an organization reads a limited number of accounts a minute', async () => {
    const third = await makeOrganization(system)
    give(third, namespace)
    const { count, seconds } = SERVICE_ACCOUNT_READS
    const room = (seconds / count) * 1_000
    await system.db.insert(throttles).values({
      key: sha256(`service-accounts:${third.id}`),
      fullUntil: new Date(system.clock.now().getTime() + seconds * 1_000 - room),
    })
    const read = ({ owner }: Org) => codeOf(owner.call(showServiceAccount, account()))
    expect([await read(third), await read(third), await read(org)]).toEqual([
      'CONFLICT',
      'RATE_LIMITED',
      'done',
    ])
  })

  test.skipIf(hasOneConnection)('of many at once one binds it', async () => {
    const aliases = Array.from({ length: 5 }, () => unique('race'))
    for (const one of aliases) await org.owner.call(createApp, { alias: one, name: one })
    const codes = await Promise.all(
      aliases.map((one) => codeOf(admin.call(bindServiceAccount, { alias: one, ...account() }))),
    )
    expect(codes.toSorted()).toEqual(['CONFLICT', 'CONFLICT', 'CONFLICT', 'CONFLICT', 'done'])
  })

  test('an app has a limited number of them', async () => {
    const { id } = await bind()
    const [row] = await system.db.select().from(workloadBindings).where(eq(workloadBindings.id, id))
    const more = Array.from({ length: WORKLOAD_BINDINGS_PER_APP - 1 }, (_, n) => ({
      ...row!,
      id: makeId('wlb', START_MS),
      serviceAccount: `worker-${n}`,
    }))
    await system.db.insert(workloadBindings).values(more)
    cluster.addAccount(namespace, 'one-more', { [ORG_ANNOTATION]: org.id })
    const refused = admin.call(bindServiceAccount, { alias, namespace, service_account: 'one-more' })
    expect(await codeOf(refused)).toBe('CONFLICT')
    // Made again: the one that it replaces is dead, and makes room.
    cluster.addAccount(namespace, 'worker', { [ORG_ANNOTATION]: org.id })
    expect(await codeOf(bind())).toBe('done')
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, limit: 2 })
    expect(audit.map(({ action }) => action).toSorted()).toEqual([
      'app.service_account_bound',
      'app.service_account_unbound',
    ])
  })

  test('names that no cluster has are refused', async () => {
    for (const name of ['Worker', '../secrets', 'a/b', 'wörker', '-a', 'a'.repeat(254), '']) {
      const refused = admin.call(bindServiceAccount, { alias, namespace, service_account: name })
      expect([name, await codeOf(refused)]).toEqual([name, 'INVALID_REQUEST'])
    }
  })
})

describe('a pod of a bound service account', () => {
  test('claims runs and sends logs, and nothing is stored of its token', async () => {
    const { id } = await bind()
    const token = await mint()
    expect(await claim(token)).toMatchObject({ run: null })
    const sent = { alias, body: Buffer.from('a line\n') }
    expect(await system.as({ token })(pushLogs, sent)).toMatchObject({ accepted: 1 })
    expect(system.logLines.join('')).not.toContain(token.split('.')[2])
    expect(system.logLines.join('')).toContain(`workload ${namespace}/worker (worker-1)`)
    const valid = await system.as()(validateToken, { token })
    expect(valid).toMatchObject({
      valid: true,
      kind: 'workload',
      user: null,
      organization: { id: org.id, slug: org.slug },
      role: null,
      scopes: ['apps:report'],
      audiences: ['api'],
      deployment: alias,
      workload: { binding_id: id, ...account(), pod: 'worker-1' },
    })
  })

  test('runs pipelines with the worker SDK, from its projected token, which is renewed meanwhile', async () => {
    await bind()
    const { id: pipeline_id } = await admin.call(createPipeline, { alias, name: 'nightly' })
    const file = join(cluster.folder, `token-of-${namespace}`)
    await writeFile(file, await mint({ expiresInSeconds: 600 }))
    const env = { SVC_WORKLOAD_TOKEN_FILE: file }
    const nightly = ({ log }: PipelineContext) => {
      log.warn('a line of the job')
      return 'All sent'
    }
    const options = {
      app: alias,
      apiUrl: system.origin,
      pipelines: { nightly },
      forwardLogs: true,
      name: 'w',
    }
    const timing = { ...TIMING, waitSeconds: 1, claimSettledMs: 0 }
    const worker = startableWorker(readSettings(options, env), timing, () => {})
    const running = worker.run()
    const runs = async () => (await admin.call(listPipelineRuns, { alias, pipeline_id })).runs
    const states = async () => (await runs()).map(({ state, worker: by, message }) => [state, by, message])
    const done = ['succeeded', 'w', 'All sent']
    await admin.call(startPipelineRun, { alias, pipeline_id })
    await expect.poll(states, { timeout: 10_000 }).toEqual([done])
    await writeFile(file, await mint({ expiresInSeconds: 3_600 }))
    // The first one has expired.
    system.clock.advance(1_200)
    await admin.call(startPipelineRun, { alias, pipeline_id })
    await expect.poll(states, { timeout: 10_000 }).toEqual([done, done])
    await worker.stop()
    await running
    const { lines } = await admin.call(listLogs, { alias, text: 'a line of the job' })
    expect(lines).toHaveLength(2)
  })

  test('is seen on the page of the app, with those that came before it', async () => {
    await bind()
    for (let n = 1; n <= 22; n += 1) {
      await claim(await mint({ pod: { name: `worker-${n}`, uid: `uid-${n}` } }))
    }
    const viewer = await makeMember(system, org, 'viewer')
    const listed = await viewer.call(listServiceAccounts, { alias })
    expect(listed.audience).toBe('svc-control-plane')
    const [binding] = listed.service_accounts
    expect(binding!.last_used_at).not.toBeNull()
    expect(binding!.pods.map(({ name }) => name)).toEqual(
      Array.from({ length: 20 }, (_, n) => `worker-${22 - n}`),
    )
  })

  test('is named with its pod by whatever it does that is audited', async () => {
    await bind()
    const { db } = system
    const clock = () => system.clock.now()
    const observation = { log: system.system.log, metrics: undefined, tracing: noTracing, clock }
    const app = createServiceApp('deploy-api', observation)
    const verb = () => (principal: Principal, input: { alias: string }) =>
      withTransaction(db, async (tx) => {
        const { orgId } = await requireAppWriter(localDirectory(clock), tx, principal, input.alias)
        await recordAudit(tx, clock, principal, { orgId, action: 'app.renamed', subject: input.alias })
        return { accepted: 1, rejected: 0, dropped: 0 }
      })
    const validate: Validate = (presented) => validateInCore(system.system.auth!)(presented)
    mountOperation(app, pushLogs, verb as never, {}, { operatorToken: undefined, validate })
    const report = httpClient(async (request) => app.fetch(request), { token: await mint() })
    await report(pushLogs, { alias, body: new Uint8Array([10]) })
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, limit: 1 })
    const name = `workload ${namespace}/worker (worker-1)`
    expect(audit[0]).toMatchObject({ subject: alias, actor: { kind: 'workload', id: null, name } })
  })

  test('opens its app and no other, in its organization and no other', async () => {
    await bind()
    const [token, second] = [await mint(), unique('second')]
    await org.owner.call(createApp, { alias: second, name: 'Second' })
    expect(await codeOf(claim(token, second))).toBe('NOT_FOUND')
    const logged = system.logLines.length
    expect(await codeOf(claim(token, alias, other.id))).toBe('NOT_FOUND')
    expect(system.logLines.slice(logged).join('')).toContain(`workload ${namespace}/worker (worker-1)`)
    expect(await codeOf(claim(token, alias, org.slug))).toBe('done')
    const valid = await system.as()(validateToken, { token, organization: other.id })
    expect([valid.organization, valid.role]).toEqual([null, null])
    expect(await codeOf(system.as()(validateToken, { token, audience: 'platform' }))).toBe('UNAUTHENTICATED')
  })

  test('may do what its scope opens, and nothing else anywhere', async () => {
    await bind()
    const token = await mint()
    const workload: Rule = (op) => (op.scope === 'apps:report' ? 'INVALID_REQUEST' : 'FORBIDDEN')
    const service: Service = (request) => {
      const { pathname, search } = new URL(request.url)
      return system.service(new Request(new URL(pathname + search, system.origin), request))
    }
    for (const op of OPERATIONS as readonly Operation[]) {
      const code = await requestWithInvalidInput(service, op, { token, orgId: org.id })
      expect([op.name, code]).toEqual([op.name, expectedCode(op, workload)])
    }
    const initialize = await system.fetch('/platform', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{}',
    })
    expect(initialize.status).toBe(401)
  })

  test('is refused from the next call on when it is unbound, whatever the cluster said a moment ago', async () => {
    const { id: binding_id } = await bind()
    const token = await mint()
    expect((await answerTo(token))[0]).toBe(200)
    const asked = reviews()
    await admin.call(unbindServiceAccount, { alias, binding_id })
    expect(await answerTo(token)).toEqual([401, INVALID])
    expect(reviews()).toBe(asked)
    await bind()
    expect((await answerTo(token))[0]).toBe(200)
  })

  test('is refused when the operator takes the namespace back', async () => {
    await bind()
    const token = await mint()
    expect((await answerTo(token))[0]).toBe(200)
    const given = namespaces.get(org.id)!
    namespaces.set(org.id, [])
    expect(await answerTo(token)).toEqual([401, INVALID])
    namespaces.set(org.id, given)
  })

  test('makes at most so many calls, together with the others of its account', async () => {
    const { id } = await bind()
    const token = await mint()
    expect(await codeOf(claim(token))).toBe('done')
    // That was counted; now it is full.
    const counted = await system.db
      .update(throttles)
      .set({ fullUntil: new Date(system.clock.now().getTime() + 120_000) })
      .where(eq(throttles.key, sha256(`workload-calls:${id}`)))
      .returning()
    expect(counted).toHaveLength(1)
    await expect(claim(token)).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 61 })
  })
})

describe('a token is refused with the words of the contract', () => {
  const forms: Record<string, () => Promise<string>> = {
    'that somebody else signed': () => mint({ forged: true }),
    'that has expired': () => mint({ expiresInSeconds: -60 }),
    'for another audience': () => mint({ audiences: ['https://kubernetes.default.svc.cluster.local'] }),
    'of a pod that is gone': () => {
      const pod = { name: 'gone', uid: randomUUID() }
      cluster.deletedPods.add(pod.uid)
      return mint({ pod })
    },
    'of another namespace': () => {
      cluster.addAccount('elsewhere', 'worker', { [ORG_ANNOTATION]: org.id })
      return cluster.mint('elsewhere', 'worker')
    },
    'of an account that is not bound': () => {
      cluster.addAccount(namespace, 'unbound', { [ORG_ANNOTATION]: org.id })
      return cluster.mint(namespace, 'unbound')
    },
    'that says that its account is the bound one': async () => {
      cluster.addAccount(namespace, 'liar')
      const { service_accounts } = await org.owner.call(listServiceAccounts, { alias })
      return cluster.mint(namespace, 'liar', { uid: service_accounts[0]!.uid })
    },
    'without a signature': async () => (await mint()).replace(/\.[^.]*$/, '.'),
    'that was cut': async () => (await mint()).slice(0, -4),
  }
  test.each(Object.entries(forms))('%s', async (_which, make) => {
    await bind()
    expect((await answerTo(await mint()))[0]).toBe(200)
    const token = await make()
    expect(await answerTo(token)).toEqual([401, INVALID])
    expect(await codeOf(system.as()(validateToken, { token }))).toBe('UNAUTHENTICATED')
  })

  test('of an account that was deleted and made again, until that one is bound', async () => {
    const { id, uid } = await bind()
    const before = await mint()
    expect((await answerTo(before))[0]).toBe(200)
    cluster.deleteAccount(namespace, 'worker')
    cluster.addAccount(namespace, 'worker', { [ORG_ANNOTATION]: org.id })
    // The new one has the name of the bound one, and not its uid.
    expect(await answerTo(await mint())).toEqual([401, INVALID])
    system.clock.advance(TOKEN_REVIEW_SECONDS.accepted + 1)
    expect(await answerTo(before)).toEqual([401, INVALID])
    const again = await bind()
    expect([again.id === id, again.uid === uid]).toEqual([false, false])
    expect((await answerTo(await mint()))[0]).toBe(200)
    const { service_accounts } = await org.owner.call(listServiceAccounts, { alias })
    expect(service_accounts.map((one) => one.id)).toEqual([again.id])
  })

  test('without asking the cluster, after so many from one network; pods that were let in before go on', async () => {
    await bind()
    const token = await mint()
    expect((await answerTo(token))[0]).toBe(200)
    system.clock.advance(TOKEN_REVIEW_SECONDS.accepted + 1)
    const asked = reviews()
    const statuses = []
    for (let n = 0; n < REFUSED_WORKLOAD_TOKENS.count + 2; n += 1)
      statuses.push((await answerTo(await mint({ forged: true })))[0])
    expect(statuses).toEqual([...Array<number>(REFUSED_WORKLOAD_TOKENS.count).fill(401), 429, 429])
    expect((await answerTo(token))[0]).toBe(200)
    expect(reviews()).toBe(asked + REFUSED_WORKLOAD_TOKENS.count + 1)
  })

  test('that has expired, without asking the cluster', async () => {
    await bind()
    const asked = cluster.requests.length
    expect(await answerTo(await mint({ expiresInSeconds: -1 }))).toEqual([401, INVALID])
    expect(cluster.requests.length).toBe(asked)
  })

  test('without asking the cluster, where nothing is bound to what it names', async () => {
    const asked = cluster.requests.length
    for (const forged of [true, false]) expect(await answerTo(await mint({ forged }))).toEqual([401, INVALID])
    expect(cluster.requests.length).toBe(asked)
  })
})

describe('what the cluster said', () => {
  test('counts for half a minute: one question for many calls', async () => {
    await bind()
    const token = await mint()
    const asked = reviews()
    await Promise.all(Array.from({ length: 5 }, () => claim(token)))
    await claim(token)
    expect(reviews()).toBe(asked + 1)
    system.clock.advance(TOKEN_REVIEW_SECONDS.accepted + 1)
    await claim(token)
    expect(reviews()).toBe(asked + 2)
  })

  test('about a pod that is deleted meanwhile, too', async () => {
    await bind()
    const pod = { name: 'short-lived', uid: randomUUID() }
    const token = await mint({ pod })
    expect((await answerTo(token))[0]).toBe(200)
    cluster.deletedPods.add(pod.uid)
    system.clock.advance(TOKEN_REVIEW_SECONDS.accepted + 1)
    expect(await answerTo(token)).toEqual([401, INVALID])
  })

  test('does not outlast the token', async () => {
    await bind()
    const token = await mint({ expiresInSeconds: 10 })
    expect((await answerTo(token))[0]).toBe(200)
    system.clock.advance(11)
    expect(await answerTo(token)).toEqual([401, INVALID])
  })

  test('counts for five seconds if it was no', async () => {
    await bind()
    const pod = { name: 'back', uid: randomUUID() }
    cluster.deletedPods.add(pod.uid)
    const token = await mint({ pod })
    const asked = reviews()
    for (let n = 0; n < 3; n += 1) expect((await answerTo(token))[0]).toBe(401)
    expect(reviews()).toBe(asked + 1)
    cluster.deletedPods.delete(pod.uid)
    system.clock.advance(TOKEN_REVIEW_SECONDS.refused + 1)
    expect((await answerTo(token))[0]).toBe(200)
  })
})

describe('the cluster', () => {
  test.each([500, 429, 404, 'html', 'other-kind', 'half'] as const)(
    'answering %s is 503: the token is neither accepted nor refused, and nothing of it is remembered',
    async (trouble) => {
      await bind()
      const token = await mint()
      cluster.trouble(trouble)
      expect(await answerTo(token)).toEqual([503, ERRORS.CLUSTER_UNAVAILABLE.message])
      await expect(claim(token)).rejects.toMatchObject({ retryAfterSeconds: 5 })
      cluster.trouble(undefined)
      expect((await answerTo(token))[0]).toBe(200)
    },
  )

  test('may rotate the token and the authority of the auth-service', async () => {
    await bind()
    expect((await answerTo(await mint()))[0]).toBe(200)
    await cluster.rotateToken()
    expect((await answerTo(await mint()))[0]).toBe(200)
    await cluster.rotateCertificate()
    expect((await answerTo(await mint()))[0]).toBe(200)
  })

  test('that lets us ask nothing: 401 as the contract has it, and the operator is told why', async () => {
    await bind()
    const operator = newWalker(system)
    const page = '/auth/operator/workload-identity'
    const reason = 'may not create tokenreviews: set auth-service.rbac.create=true in the chart'
    const readiness = async () => (await system.fetch('/readyz')).json()
    cluster.permissions.delete('create tokenreviews')
    const logged = system.logLines.length
    for (let n = 0; n < 3; n += 1) expect(await answerTo(await mint())).toEqual([401, INVALID])
    const lines = system.logLines.slice(logged).filter((line) => line.includes('does not work'))
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(reason)
    expect(await readiness()).toMatchObject({
      status: 'ready',
      warnings: [expect.stringContaining(reason) as string],
    })
    await operator.submit(await operator.open(page), 'Continue', { token: OPERATOR_TOKEN })
    expect((await operator.open(page)).words).toContain(reason)
    cluster.permissions.add('create tokenreviews')
    expect((await answerTo(await mint()))[0]).toBe(200)
    expect(await readiness()).toEqual(READY)
  })

  test('that lets us read no service account: whoever binds is told what to do', async () => {
    cluster.permissions.delete('get serviceaccounts')
    await expect(bind()).rejects.toMatchObject({
      code: 'CLUSTER_UNAVAILABLE',
      message: 'The auth-service may not read service accounts of the cluster',
    })
    const readiness = async () => (await system.fetch('/readyz')).json() as Promise<{ warnings?: string[] }>
    expect((await readiness()).warnings?.join()).toMatch(/^service accounts cannot be bound: /)
    cluster.permissions.add('get serviceaccounts')
    expect(await codeOf(bind())).toBe('done')
    expect(await readiness()).toEqual(READY)
  })

  test('that does not answer whoever binds: told in words about that', async () => {
    cluster.trouble(500)
    await expect(bind()).rejects.toMatchObject({
      code: 'CLUSTER_UNAVAILABLE',
      message: 'The cluster cannot be asked about service accounts now',
    })
  })
})

describe('switched off', () => {
  /** Over the same database and with the same secrets, so that people are signed in here too. */
  const asBefore = () => ({
    ...sameSecrets(system),
    ...SERVICES,
    ...cluster.settings,
    PORT: String(system.system.config.PORT),
  })
  const OFF: [string, Record<string, string>][] = [
    ['at the auth-service', { WORKLOAD_IDENTITY_ENABLED: 'false' }],
    ['at the deploy-api, by an empty audience', { SVC_WORKLOAD_AUDIENCE: '' }],
    ['outside of a cluster', { KUBERNETES_SERVICE_HOST: '' }],
  ]
  test.each(OFF)(
    '%s, a token is refused, nothing can be bound, and the cluster is not asked',
    async (_where, env) => {
      await bind()
      const token = await mint()
      const settings = { ...asBefore(), ...env }
      const off = await startSystem(settings, { workloadNamespaces: namespaces, clockOf: system })
      try {
        const asked = cluster.requests.length
        expect(await answerTo(token, off)).toEqual([401, INVALID])
        cluster.addAccount(namespace, 'second', { [ORG_ANNOTATION]: org.id })
        const refused = off.as({ token: admin.token })(bindServiceAccount, {
          alias,
          namespace,
          service_account: 'second',
        })
        await expect(refused).rejects.toMatchObject({
          code: 'CONFLICT',
          message: 'Workload identity is off in this installation',
        })
        expect(cluster.requests.length).toBe(asked)
      } finally {
        await off.stop()
      }
    },
  )

  test('with another audience on both sides, tokens for the usual one are refused', async () => {
    await bind()
    const env = { WORKLOAD_AUDIENCE: 'ours', SVC_WORKLOAD_AUDIENCE: 'ours' }
    const settings = { ...asBefore(), ...env }
    const moved = await startSystem(settings, { workloadNamespaces: namespaces, clockOf: system })
    try {
      expect(await answerTo(await mint(), moved)).toEqual([401, INVALID])
      expect((await answerTo(await mint({ audiences: ['ours'] }), moved))[0]).toBe(200)
    } finally {
      await moved.stop()
    }
  })
})
