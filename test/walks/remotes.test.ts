/** The git remote of an app: approved proposals become pull requests at a host, and count as deployed once they are back. */
import { createHmac } from 'node:crypto'
import { and, eq, isNotNull, sql } from '../../db/drizzle.ts'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import {
  appHeads,
  appRemotes,
  auditLog,
  deployments,
  findings,
  maintenanceChanges,
  outbox,
  proposals,
  pullRequests,
} from '../../db/schema.ts'
import { createGitHosts } from '../../src/boot/git-hosts.ts'
import type { Call } from '../../src/client/http-client.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import * as deploy from '../../src/contracts/deployments.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import type { GitHostName } from '../../src/contracts/git-hosts.ts'
import {
  approveProposal,
  denyProposal,
  listProposalQueue,
  listProposals,
  retryProposal,
  showProposal,
} from '../../src/contracts/proposals.ts'
import {
  createRemoteSecret,
  removeAppRemote,
  setAppRemote,
  showAppRemote,
} from '../../src/contracts/remotes.ts'
import { listRevisions, pushRevision } from '../../src/contracts/revisions.ts'
import { claimPullRequest, workPullRequest, type PullRequestDeps } from '../../src/cores/remotes/index.ts'
import { sweepRevisions } from '../../src/cores/revisions/index.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import {
  startFakeGitHost,
  type FakeGitHost,
  type FakeRequest,
  type FakeRights,
} from '../support/fake-git-host.ts'
import { makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'
import { makeMaintainedApp, storageOf, turnOn } from '../support/maintenance.ts'
import { agentOf, makeProposal, MODEL, MODELS, type Agent } from '../support/proposals.ts'
import { archiveOf, type Tree } from '../support/source.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const SUM = 'export const sum = (items) =>\n  items.reduce((total, { price }) => total + price, 0)\n'
const REPAIRED = SUM.replace('total + price', 'total + (price ?? 0)')
const TREE: Tree = { 'src/sum.js': SUM, 'src/other.js': 'export const other = 1\n' }

let system: TestSystem
let agent: Agent
let deps: PullRequestDeps
let [org, other]: Org[] = []
let [admin, developer, viewer]: Person[] = []
let alias: string
let appId: string
let host: FakeGitHost
let warnings: unknown[] = []
const hosts: FakeGitHost[] = []

beforeAll(async () => {
  system = await startSystem({
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api',
    // Of the fake hosts.
    NOTIFY_ALLOW_NETS: '127.0.0.0/8',
    ...MODELS,
  })
  agent = agentOf(system)
  deps = {
    ...storageOf(system),
    log: { warn: (...said) => void warnings.push(said) },
    gitHosts: createGitHosts(system.system.config),
    dataKeys: dataKeys(system.system.config.DATA_KEY!),
    appUrl: system.system.config.APP_URL,
  }
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  ;[admin, developer, viewer] = [
    await makeMember(system, org, 'admin'),
    await makeMember(system, org, 'developer'),
    await makeMember(system, org, 'viewer'),
  ]
  for (const one of [org, other]) await turnOn(one, { model: MODEL, cooldown_hours: 0 })
})
afterAll(async () => {
  await agent.close()
  await system.stop()
})
beforeEach(async () => {
  warnings = []
  ;({ alias, id: appId } = await makeMaintainedApp(org!))
  await system.db.delete(maintenanceChanges)
  await push(TREE)
})
afterEach(async () => {
  await system.db.delete(pullRequests)
  await Promise.all(hosts.splice(0).map((one) => one.close()))
})

const owner: Call = (...given) => org!.owner.call(...given)
const as = (person: Person | undefined): Call => system.as({ token: person!.token, organization: org!.id })
const push = (tree: Tree, from: object = {}) => owner(pushRevision, { alias, body: archiveOf(tree), ...from })
const show = (id: string) => owner(showProposal, { alias, proposal_id: id })
const asked = async (id: string) => ({ alias, proposal_id: id, diff_sha256: (await show(id)).diff_sha256 })
const approve = async (id: string) => as(admin)(approveProposal, await asked(id))
const retry = async (id: string) => as(admin)(retryProposal, await asked(id))
/** All that is due now. */
async function work(by = deps): Promise<number> {
  let done = 0
  while (await workPullRequest(by)) done++
  return done
}
/** The pause is over. */
const later = () =>
  system.db.update(pullRequests).set({ nextAt: system.clock.now() }).where(isNotNull(pullRequests.nextAt))
const headOf = async () => (await owner(listRevisions, { alias })).head_id

async function start(kind: GitHostName = 'github', files: Tree = TREE): Promise<FakeGitHost> {
  host = await startFakeGitHost(kind, files)
  hosts.push(host)
  return host
}
const set = (kind: GitHostName = 'github', rights: FakeRights = {}, by: Call = as(admin)) =>
  by(setAppRemote, { alias, host: kind, url: host.url, token: host.makeToken(rights) })

const make = () =>
  makeProposal(system, agent, {
    call: owner,
    alias,
    path: 'src/sum.js',
    text: SUM,
    old: 'total + price',
    now: 'total + (price ?? 0)',
  })
/** Approved, and opened at the host. */
async function opened(kind: GitHostName = 'github'): Promise<string> {
  await start(kind)
  await set(kind)
  const { id } = await make()
  await approve(id)
  await work()
  return id
}
/** Opened, merged at the host, and seen. */
async function merged(): Promise<string> {
  const id = await opened()
  host.merge(1)
  await later()
  await work()
  return id
}
/** So many days ago it was merged, and what is the head was pushed. */
async function aged(days: number): Promise<void> {
  const ago = (at: AnyPgColumn) => sql`${at} - make_interval(days => ${days})`
  await system.db
    .update(proposals)
    .set({ changedAt: ago(proposals.changedAt) })
    .where(eq(proposals.appId, appId))
  await system.db
    .update(appHeads)
    .set({ setAt: ago(appHeads.setAt) })
    .where(eq(appHeads.appId, appId))
}
async function deployed(revision_id: string): Promise<string> {
  const { id: deployment_id } = await owner(deploy.createDeployment, { alias, revision_id })
  const { fence } = await owner(deploy.claimDeployment, { alias, runner: 'r' })
  await owner(deploy.finishDeployment, { alias, deployment_id, fence: fence!, exit_code: 0 })
  return deployment_id
}
/** One that has claimed a deployment. */
const runner = async () => deployed((await headOf())!)
const eventsOf = async (id: string) =>
  (
    await system.db
      .select({ type: outbox.type, data: outbox.data })
      .from(outbox)
      .where(eq(outbox.subject, `proposals/${id}`))
      .orderBy(outbox.seq)
  ).map(({ type, data }) =>
    [type.split('.').at(-1), (data as { code?: string }).code].filter(Boolean).join(' '),
  )
const deployedAtOf = async (id: string) =>
  (await system.db.select().from(proposals).where(eq(proposals.id, id)))[0]!.deployedAt?.toISOString()
const findingOf = async (id: string) => {
  const { fingerprint } = await show(id)
  const [row] = await system.db
    .select({ state: findings.state })
    .from(findings)
    .where(and(eq(findings.orgId, org!.id), eq(findings.appId, appId), eq(findings.fingerprint, fingerprint)))
  return row?.state
}
/** It was done, and nobody wrote it down. */
const dyingAfter =
  <Given extends unknown[]>(work: (...given: Given) => Promise<unknown>) =>
  async (...given: Given): Promise<never> => {
    await work(...given)
    throw new Error('killed')
  }
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail('it was not refused'),
    (error: unknown) => {
      if (!(error instanceof ServiceError)) throw error
      return [error.code, ...(error.problems ?? [])]
    },
  )

describe.each(['github', 'gitlab', 'gitea'] as const)('a remote at %s', (kind) => {
  /** Of the others, what shows that they are understood. */
  // Of one kind of host every case, of the others those that differ.
  const isWhole = kind === 'github' || inject('everyCase')

  test('gets a branch and a pull request for what is approved, and nothing else', async () => {
    await start(kind)
    await set(kind)
    const head = await headOf()
    const { id } = await make()
    expect(await approve(id)).toMatchObject({
      state: 'approved',
      deployment_id: null,
      pull_request: { state: 'opening', number: null, url: null, code: null },
    })
    expect(await headOf()).toBe(head)
    expect(await system.db.$count(deployments, eq(deployments.appId, appId))).toBe(0)

    expect(await work()).toBe(1)
    expect(host.branches()).toEqual(['main', `svc/${id}`])
    expect([host.fileAt('main', 'src/sum.js'), host.fileAt(`svc/${id}`, 'src/sum.js')]).toEqual([
      SUM,
      REPAIRED,
    ])
    expect(host.fileAt(`svc/${id}`, 'src/other.js')).toBe(TREE['src/other.js'])
    expect(host.requests).toMatchObject([
      { branch: `svc/${id}`, target: 'main', title: `svc: maintenance proposal ${id}` },
    ])
    const { body } = host.requests[0]!
    for (const part of ['Repair the sum', 'Because of the log.']) expect(body).toContain(part)
    expect(body).toContain(`/console/apps/${alias}/proposals/${id}`)
    expect(body).toContain('file:src/sum.js#L1-L2')
    const { state, pull_request } = await show(id)
    expect([state, pull_request?.state, pull_request?.number]).toEqual(['approved', 'open', 1])
    expect(pull_request!.url!.startsWith(host.url)).toBe(true)
    expect(await eventsOf(id)).toEqual(['created', 'approved', 'opened'])
    expect([await work(), warnings]).toEqual([0, []])
  })

  test('that merges it makes the proposal deploying, and the push that has it makes it deployed', async () => {
    const id = await opened(kind)
    await later()
    expect(await work()).toBe(1)
    expect((await show(id)).pull_request?.state).toBe('open')
    host.merge(1)
    await later()
    await work()
    expect(await show(id)).toMatchObject({ state: 'deploying', pull_request: { state: 'merged' } })
    const { id: revision_id } = await push({ ...TREE, 'src/other.js': 'export const other = 2\n' })
    expect((await show(id)).state).toBe('deploying')
    // One that no runner has taken is no reason to wait for another.
    await owner(deploy.createDeployment, { alias, revision_id })
    const landed = await push({ ...TREE, 'src/sum.js': `// more\n${REPAIRED}` })
    expect(await show(id)).toMatchObject({
      state: 'deployed',
      deployment_id: null,
      pull_request: { landed_by: landed.id },
    })
    const [head] = await system.db.select().from(appHeads).where(eq(appHeads.revisionId, landed.id))
    expect(await deployedAtOf(id)).toBe(head!.setAt.toISOString())
    expect(await findingOf(id)).toBe('resolved')
    // From then on it is a fix as any other.
    expect((await refusal(push(TREE)))[0]).toBe('HEAD_MOVED')
  })

  test.runIf(isWhole)('that closes it makes the proposal fail, and retrying opens another one', async () => {
    const id = await opened(kind)
    host.closeRequest(1)
    await later()
    await work()
    expect(await show(id)).toMatchObject({
      state: 'failed',
      pull_request: { state: 'closed', code: 'CLOSED_UPSTREAM' },
    })
    expect([await findingOf(id), (await eventsOf(id)).at(-1)]).toEqual(['open', 'failed CLOSED_UPSTREAM'])
    expect(await retry(id)).toMatchObject({ state: 'approved', pull_request: { state: 'opening' } })
    await work()
    expect(host.requests.map(({ branch, state }) => [branch, state])).toEqual([
      [`svc/${id}`, 'closed'],
      [`svc/${id}-2`, 'open'],
    ])
    expect((await show(id)).pull_request).toMatchObject({ state: 'open', number: 2 })
  })

  test.runIf(isWhole)('whose answers are lost at every step gets no second one', async () => {
    await start(kind)
    await set(kind)
    const { id } = await make()
    await approve(id)
    // Those that make something, one after the other: each is done, and nobody here hears of it.
    for (const part of ['POST', 'POST', 'requests', 'POST', 'pulls', 'POST', 'POST']) {
      host.failNext(part, 'lost answer')
      await work()
      await later()
    }
    for (const _ of [1, 2, 3]) {
      await work()
      await later()
    }
    expect(host.requests).toHaveLength(1)
    expect(host.branches()).toEqual(['main', `svc/${id}`])
    expect((await show(id)).pull_request).toMatchObject({ state: 'open', number: 1, code: null })
  })

  test.runIf(isWhole)(
    'is not written to where somebody has changed the file, or taken the branch',
    async () => {
      await start(kind, { ...TREE, 'src/sum.js': `${SUM}// theirs\n` })
      await set(kind)
      const { id } = await make()
      await approve(id)
      await work()
      expect(await show(id)).toMatchObject({ state: 'failed', pull_request: { code: 'UPSTREAM_DIFFERS' } })
      expect([host.branches(), host.requests]).toEqual([['main'], []])
      host.push('main', TREE)
      host.push(
        `svc/${id}-2`,
        { 'src/evil.js': 'evil()\n' },
        `Apply maintenance proposal ${id}\n\nSvc-Proposal: ${id}`,
      )
      await retry(id)
      await work()
      expect(await show(id)).toMatchObject({ state: 'failed', pull_request: { code: 'BRANCH_TAKEN' } })
      expect(host.requests).toEqual([])
      // Nor is a request for it taken for ours.
      host.push(`svc/${id}-3`, { 'src/evil.js': 'evil()\n' })
      host.requests.push(theirs(`svc/${id}-3`))
      await retry(id)
      await work()
      expect(await show(id)).toMatchObject({ state: 'failed', pull_request: { code: 'BRANCH_TAKEN' } })
      expect(host.requests).toHaveLength(1)
    },
  )

  test.runIf(isWhole)(
    'is not taken in by requests of a fork, for another branch, or merged elsewhere',
    async () => {
      await start(kind)
      await set(kind)
      const { id } = await make()
      host.push('old', {})
      host.requests.push(
        { ...theirs(`svc/${id}`), fork: { head: 'f'.repeat(40) }, state: 'merged' },
        { ...theirs(`svc/${id}`), number: 2, target: 'old', state: 'closed' },
      )
      await approve(id)
      await work()
      expect((await show(id)).pull_request).toMatchObject({ state: 'open', number: 3 })
      host.requests[2]!.target = 'old'
      await later()
      await work()
      expect((await show(id)).pull_request?.state).toBe('open')
      host.merge(3)
      await later()
      await work()
      expect(await show(id)).toMatchObject({ state: 'failed', pull_request: { code: 'CLOSED_UPSTREAM' } })
    },
  )

  test.runIf(isWhole)('whose request is of a fork all at once has not merged ours', async () => {
    const id = await opened(kind)
    host.requests[0] = { ...host.requests[0]!, fork: { head: 'f'.repeat(40) }, state: 'merged' }
    await later()
    await work()
    expect(await show(id)).toMatchObject({ state: 'failed', pull_request: { code: 'CLOSED_UPSTREAM' } })
  })

  test.runIf(isWhole)(
    'whose request was merged, and its branch removed, before anybody heard of it is known by its commit',
    async () => {
      await start(kind)
      await set(kind)
      const { id } = await make()
      await approve(id)
      host.failNext(MAKING[kind], 'lost answer')
      await work()
      await later()
      expect(host.requests).toHaveLength(1)
      host.merge(1)
      host.removeBranch(`svc/${id}`)
      await work()
      expect((await show(id)).pull_request).toMatchObject({ state: 'open', number: 1 })
      await later()
      await work()
      expect([(await show(id)).state, host.requests.length]).toEqual(['deploying', 1])
    },
  )

  test.runIf(isWhole)('that everybody reads gets the link alone, and says so', async () => {
    await start(kind)
    expect(await set(kind)).toMatchObject({ is_public: false })
    const { id } = await make()
    await approve(id)
    host.publish()
    await work()
    const { body } = host.requests[0]!
    expect(body).toContain(`/console/apps/${alias}/proposals/${id}`)
    for (const part of ['Repair', 'Because', 'src/sum.js', 'total']) expect(body).not.toContain(part)
    expect((await owner(showAppRemote, { alias })).remote?.is_public).toBe(true)
    expect(await set(kind)).toMatchObject({ is_public: true })
  })

  test('says what its token lacks, and what it has too much', async () => {
    await start(kind)
    const [few, needless, many] = {
      github: [
        { contents: false, requests: false },
        ['Contents: read and write', 'Pull requests: read and write'],
        { scopes: ['repo', 'admin:org', 'workflow'] },
      ],
      gitlab: [
        { level: 20, scopes: ['read_api'] },
        ['the role Developer in the project', 'the scope api'],
        { level: 40, scopes: ['api', 'sudo', 'read_user'] },
      ],
      gitea: [
        { level: 0, contents: false },
        ['write access to the repository', 'the scope write:repository'],
        { account: true },
      ],
    }[kind] as [FakeRights, string[], FakeRights]
    expect(await refusal(set(kind, few))).toEqual([
      'INVALID_REQUEST',
      ...needless.map((right) => `token: lacks ${right}`),
    ])
    expect((await owner(showAppRemote, { alias })).remote).toBeNull()
    expect((await set(kind)).excess).toEqual([])
    const excess = { github: 3, gitlab: 3, gitea: 1 }[kind]
    expect((await set(kind, many)).excess).toHaveLength(excess)
    expect(host.branches()).toEqual(['main'])
    expect(host.requests).toEqual([])
    const url = host.url
    expect(await refusal(as(admin)(setAppRemote, { alias, host: kind, url, token: 'wrong' }))).toEqual([
      'INVALID_REQUEST',
      'token: the host does not accept it',
    ])
    expect(await refusal(set(kind, { reads: false }))).toEqual([
      'INVALID_REQUEST',
      'url: there is no such repository, or the token may not see it',
    ])
    // Of what others may read, and of what the host does not say.
    for (const how of ['unsaid', 'internal', 'public'] as const) {
      host.publish(how)
      expect(await set(kind)).toMatchObject({ is_public: true })
    }
    host.empty()
    expect(await refusal(set(kind))).toEqual(['INVALID_REQUEST', 'url: the repository is empty'])
    host.archive()
    expect(await refusal(set(kind))).toEqual(['INVALID_REQUEST', 'url: the repository is archived'])
  })

  test.runIf(isWhole)(
    'that limits its callers is waited for, and not taken for one that refuses',
    async () => {
      await start(kind)
      host.failNext('', LIMITS[kind])
      expect((await refusal(set(kind)))[0]).toBe('TIMEOUT')
      await set(kind)
      const { id } = await make()
      await approve(id)
      host.failNext('', LIMITS[kind])
      await work()
      expect((await show(id)).pull_request).toMatchObject({ state: 'opening', code: 'REMOTE_UNREACHABLE' })
      const [row] = await system.db.select().from(pullRequests).where(eq(pullRequests.id, id))
      expect(row!.nextAt!.getTime() - row!.lookedAt!.getTime()).toBeGreaterThan(55_000)
      expect((await owner(showAppRemote, { alias })).remote?.trouble).not.toBe('REMOTE_REFUSED')
      // What it may not do is no limit.
      await later()
      host.failNext('', { status: 403, says: '{"message":"Resource not accessible by integration"}' })
      await work()
      expect((await show(id)).pull_request).toMatchObject({ state: 'opening', code: 'REMOTE_REFUSED' })
      await later()
      await work()
      expect((await show(id)).pull_request).toMatchObject({ state: 'open', number: 1, code: null })
    },
  )

  test('is heard when it signs, and only looked at then', async () => {
    const id = await opened(kind)
    host.merge(1)
    expect(await work()).toBe(0)
    const { url, secret } = await as(admin)(createRemoteSecret, { alias })
    const body = '{"action":"closed","merged":false}'
    const call = (signature: string, path = new URL(url).pathname) =>
      system.fetch(path, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', [HEADERS[kind]]: signature },
      })
    const signed = (by: string) =>
      kind === 'gitlab'
        ? by
        : `${kind === 'github' ? 'sha256=' : ''}${createHmac('sha256', by).update(body).digest('hex')}`
    const refused = await call(signed('another'))
    const elsewhere = await call(signed(secret), new URL(url).pathname.replace(org!.id, other!.id))
    expect([refused.status, elsewhere.status]).toEqual([404, 404])
    expect(await work()).toBe(0)
    system.clock.advance(15)
    // A host that is not well is left to its pause, whoever signs.
    await system.db.update(pullRequests).set({ failures: 1 })
    expect((await call(signed(secret))).status).toBe(204)
    expect(await work()).toBe(0)
    await system.db.update(pullRequests).set({ failures: 0 })
    expect((await call(signed(secret))).status).toBe(204)
    expect(await work()).toBe(1)
    // Not what was said, but what is.
    expect(await show(id)).toMatchObject({ state: 'deploying' })
    // A new one ends it.
    await as(admin)(createRemoteSecret, { alias })
    expect((await call(signed(secret))).status).toBe(404)
  })
})

/** Somebody else’s request, to the default branch. */
const theirs = (branch: string): FakeRequest => ({
  number: 1,
  branch,
  target: 'main',
  title: '',
  body: '',
  state: 'open',
})

const MAKING = {
  github: 'POST /api/v3/repos/acme/shop/pulls',
  gitlab: 'POST /api/v4/projects/acme/shop/merge_requests',
  gitea: 'POST /api/v1/repos/acme/shop/pulls',
}
/** As each says it: GitHub with 403 and without how long, GitLab often without, too. */
const LIMITS = {
  github: {
    status: 403,
    says: '{"message":"API rate limit exceeded for user ID 7.","documentation_url":"https://docs.github.com/rest"}',
    headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1767225600' },
  },
  gitlab: {
    status: 429,
    says: '{"message":{"error":"This endpoint has been requested too many times. Try again later."}}',
  },
  gitea: { status: 429, says: '{"message":"Too Many Requests"}', headers: { 'retry-after': '90' } },
}
const HEADERS = {
  github: 'x-hub-signature-256',
  gitlab: 'x-gitlab-token',
  gitea: 'x-gitea-signature',
}

describe('a remote', () => {
  test('is set, changed and removed by owners and admins, and another organization’s is not there', async () => {
    await start()
    for (const person of [developer, viewer]) {
      expect((await refusal(set('github', {}, as(person))))[0]).toBe('FORBIDDEN')
    }
    const token = host.makeToken()
    const given = { alias, host: 'github' as const, url: `${host.url}.git/`, token }
    expect((await refusal(other!.owner.call(setAppRemote, given)))[0]).toBe('NOT_FOUND')
    for (const url of ['https://a:b/x/y', 'https://h:99999/x/y']) {
      expect((await refusal(as(admin)(setAppRemote, { ...given, url })))[0]).toBe('INVALID_REQUEST')
    }
    const before = host.asked.length
    expect(before).toBe(0)
    const made = await as(admin)(setAppRemote, given)
    expect(made).toMatchObject({ host: 'github', url: host.url, trouble: null, webhook_secret: false })
    expect(JSON.stringify([made, await system.db.select().from(appRemotes)])).not.toContain(token)
    expect((await as(viewer)(showAppRemote, { alias })).remote).toEqual(made)
    for (const operation of [showAppRemote, removeAppRemote, createRemoteSecret]) {
      expect((await refusal(other!.owner.call(operation, { alias })))[0]).toBe('NOT_FOUND')
    }
    expect((await refusal(as(developer)(removeAppRemote, { alias })))[0]).toBe('FORBIDDEN')
    await owner(removeAppRemote, { alias })
    expect((await owner(showAppRemote, { alias })).remote).toBeNull()
    expect((await refusal(owner(removeAppRemote, { alias })))[0]).toBe('NOT_FOUND')
    const trail = await system.db
      .select({ action: auditLog.action, subject: auditLog.subject })
      .from(auditLog)
      .where(and(eq(auditLog.orgId, org!.id), sql`${auditLog.subject} like ${`${alias}: http%`}`))
      .orderBy(auditLog.id)
    expect(trail).toEqual([
      { action: 'app.remote_set', subject: `${alias}: ${host.url}` },
      { action: 'app.remote_removed', subject: `${alias}: ${host.url}` },
    ])
  })

  test.runIf(inject('everyCase'))(
    'that is removed or another one gives up what is open, and what is merged goes on',
    async () => {
      const id = await opened()
      await as(admin)(removeAppRemote, { alias })
      expect(await show(id)).toMatchObject({ state: 'failed', pull_request: { code: 'REMOTE_REMOVED' } })
      expect((await eventsOf(id)).at(-1)).toBe('failed REMOTE_REMOVED')
      // Without a remote it is deployed, as it was before.
      const retried = await retry(id)
      expect([retried.state, retried.deployment_id === null]).toEqual(['approved', false])
      expect(await headOf()).toBe(retried.new_revision_id)
      expect((await refusal(push(TREE)))[0]).toBe('HEAD_MOVED')
    },
  )

  test('with another token is tried at once; another repository is another remote', async () => {
    await start()
    await set()
    const { id } = await make()
    await approve(id)
    host.failNext('', 401)
    await work()
    expect((await owner(showAppRemote, { alias })).remote?.trouble).toBe('REMOTE_REFUSED')
    expect((await show(id)).pull_request).toMatchObject({ state: 'opening', code: 'REMOTE_REFUSED' })
    expect(await work()).toBe(0)
    // Of another app it is no trouble.
    const beside = await makeMaintainedApp(org!)
    const same = { host: 'github', url: host.url, token: host.makeToken({}) } as const
    expect((await as(admin)(setAppRemote, { alias: beside.alias, ...same })).trouble).toBeNull()
    expect(await work()).toBe(0)
    await set()
    expect(await work()).toBe(1)
    expect((await show(id)).pull_request).toMatchObject({ state: 'open', code: null })
    // One that is open is not given up, however long ago it was asked for.
    await system.db.update(pullRequests).set({ requestedAt: new Date(0) })
    host.failNext('', 500)
    await later()
    expect(await work()).toBe(1)
    expect((await show(id)).pull_request).toMatchObject({ state: 'open', code: 'REMOTE_UNREACHABLE' })
    const first = host
    await start('forgejo')
    await set('forgejo')
    const given = { state: 'failed', pull_request: { state: 'failed', code: 'REMOTE_REMOVED' } }
    expect(await show(id)).toMatchObject(given)
    // Nor is what was to be opened at one repository opened at another.
    expect((await retry(id)).pull_request).toMatchObject({ state: 'opening' })
    host = first
    await set()
    expect(await show(id)).toMatchObject(given)
    expect(await work()).toBe(0)
    // Without a remote it is deployed, and in the head from then on.
    await as(admin)(removeAppRemote, { alias })
    const retried = await retry(id)
    expect((await show(id)).pull_request).toMatchObject({ landed_by: retried.new_revision_id })
  })

  test.runIf(inject('everyCase'))(
    'that merged other lines lets a person end it, and fails it after a week of pushes without them',
    async () => {
      const id = await merged()
      await push({ ...TREE, 'src/sum.js': REPAIRED.replace('?? 0', '|| 0') })
      expect(await show(id)).toMatchObject({
        state: 'deploying',
        decision: { can: { deny: true, retry: true } },
      })
      await aged(6)
      await later()
      await work()
      expect((await show(id)).state).toBe('deploying')
      await aged(2)
      await later()
      await work()
      expect(await show(id)).toMatchObject({
        state: 'failed',
        pull_request: { state: 'merged', code: 'CHANGED_UPSTREAM' },
      })
      expect([await findingOf(id), (await eventsOf(id)).at(-1)]).toEqual(['open', 'failed CHANGED_UPSTREAM'])
      expect(await work()).toBe(0)
      // It is upstream: retrying waits for its lines, and opens no other one.
      expect(await retry(id)).toMatchObject({
        state: 'deploying',
        pull_request: { state: 'merged', code: null },
      })
      expect(await work()).toBe(1)
      expect([(await show(id)).state, host.requests.length]).toEqual(['deploying', 1])
      expect(await retry(id)).toMatchObject({ state: 'deploying' })
      expect(await as(admin)(denyProposal, await asked(id))).toMatchObject({ state: 'denied' })
      expect([await findingOf(id), await work()]).toEqual(['quiet', 0])
      await push({ ...TREE, 'src/sum.js': REPAIRED })
      expect((await show(id)).state).toBe('denied')
    },
  )

  test('whose merge nothing was pushed after is waited for, until somebody denies it', async () => {
    const id = await merged()
    await aged(8)
    await later()
    await work()
    expect((await show(id)).state).toBe('deploying')
    expect(await as(admin)(denyProposal, await asked(id))).toMatchObject({ state: 'denied' })
    await later()
    expect(await work()).toBe(0)
  })

  test.runIf(inject('everyCase'))(
    'with a runner’s token that no runner uses does not wait for a deployment',
    async () => {
      await owner(createAppToken, { alias, scope: 'apps:run', name: 'runner' })
      const id = await merged()
      await push({ ...TREE, 'src/sum.js': REPAIRED })
      expect((await show(id)).state).toBe('deployed')
    },
  )

  test.runIf(inject('everyCase'))(
    'lands each proposal, however much the others have to read; a broken rollout reopens them all',
    async () => {
      const first = await merged()
      const [row] = await system.db.select().from(proposals).where(eq(proposals.id, first))
      const [request] = await system.db.select().from(pullRequests).where(eq(pullRequests.id, first))
      const [finding] = await system.db
        .select()
        .from(findings)
        .where(eq(findings.fingerprint, row!.fingerprint))
      const big = `${'x'.repeat(900_000)}\n`
      const names = [0, 1, 2, 3, 4, 5]
      // Newer ones of the same app, each with a file that is nearly as long as one may be.
      for (const n of names) {
        const path = `big${n}.txt`
        const fingerprint = `${row!.fingerprint.slice(0, -1)}${n}x`
        const diff = `--- a/${path}\n+++ b/${path}\n@@ -1,1 +1,2 @@\n x\n+landed ${n}\n`
        const files = [{ ...row!.files[0]!, path }]
        const id = `${first}${n}`
        await system.db
          .insert(proposals)
          .values({ ...row!, id, fingerprint, diff, files, day: `2026-01-0${n + 1}` })
        await system.db.insert(pullRequests).values({ ...request!, id })
        await system.db.insert(findings).values({ ...finding!, id: `${finding!.id}${n}`, fingerprint })
      }
      await runner()
      const landed = names.map((n) => [`big${n}.txt`, `${big}landed ${n}\n`] as const)
      const { id: revision_id } = await push({
        ...TREE,
        'src/sum.js': REPAIRED,
        ...Object.fromEntries(landed),
      })
      const deployment_id = await deployed(revision_id)
      const states = () =>
        system.db
          .select({ proposal: proposals.state, finding: findings.state })
          .from(proposals)
          .innerJoin(
            findings,
            and(eq(findings.appId, appId), eq(findings.fingerprint, proposals.fingerprint)),
          )
          .where(eq(proposals.appId, appId))
      const all = (proposal: string, state: string) =>
        Array.from({ length: 7 }, () => ({ proposal, finding: state }))
      expect(await states()).toEqual(all('deployed', 'resolved'))
      await owner(deploy.reportBrokenRollout, { alias, deployment_id })
      expect(await states()).toEqual(all('failed', 'open'))
    },
  )

  test.runIf(inject('everyCase'))(
    'of an app with a runner waits for the deployment of what holds its lines',
    async () => {
      const id = await opened()
      await runner()
      host.merge(1)
      await later()
      await work()
      const { id: revision_id } = await push({ ...TREE, 'src/sum.js': REPAIRED })
      expect(await show(id)).toMatchObject({ state: 'deploying', pull_request: { landed_by: revision_id } })
      const { id: deployment_id } = await owner(deploy.createDeployment, { alias, revision_id })
      const { fence } = await owner(deploy.claimDeployment, { alias, runner: 'r' })
      expect((await show(id)).state).toBe('deploying')
      await owner(deploy.finishDeployment, { alias, deployment_id, fence: fence!, exit_code: 0 })
      expect(await show(id)).toMatchObject({ state: 'deployed', deployment_id })
      // A rollout that breaks afterwards fails it, and retrying waits for the next one.
      await owner(deploy.reportBrokenRollout, { alias, deployment_id })
      expect((await show(id)).state).toBe('failed')
    },
  )

  test.runIf(inject('everyCase'))(
    'whose merge is seen after the push and its deployment catches up',
    async () => {
      const id = await opened()
      host.merge(1)
      const { id: revision_id } = await push({ ...TREE, 'src/sum.js': REPAIRED })
      const { id: deployment_id } = await owner(deploy.createDeployment, { alias, revision_id })
      const { fence } = await owner(deploy.claimDeployment, { alias, runner: 'r' })
      await owner(deploy.finishDeployment, { alias, deployment_id, fence: fence!, exit_code: 0 })
      expect((await show(id)).state).toBe('approved')
      await later()
      await work()
      expect(await show(id)).toMatchObject({
        state: 'deployed',
        deployment_id,
        pull_request: { state: 'merged', landed_by: revision_id },
      })
      // Since its deployment, not since the merge was seen.
      const { ended_at } = await owner(deploy.showDeployment, { alias, deployment_id })
      expect(await deployedAtOf(id)).toBe(ended_at)
    },
  )

  test('that is away, redirects or says nonsense is tried again after growing pauses, and given up after a day', async () => {
    await start()
    await set()
    const { id } = await make()
    await approve(id)
    const codes: unknown[] = []
    for (const how of [
      500,
      { redirect: 'http://127.0.0.1:1/' },
      { says: '{"default_branch":7}' },
      'hang up',
    ] as const) {
      host.failNext('', how)
      expect(await work()).toBe(1)
      const [row] = await system.db.select().from(pullRequests).where(eq(pullRequests.id, id))
      codes.push([row!.code, row!.failures])
      await later()
    }
    expect(codes).toEqual([
      ['REMOTE_UNREACHABLE', 1],
      ['REMOTE_UNREADABLE', 2],
      ['REMOTE_UNREADABLE', 3],
      ['REMOTE_UNREACHABLE', 4],
    ])
    await system.db.update(pullRequests).set({ requestedAt: new Date(0) })
    host.failNext('', 503)
    await work()
    expect(await show(id)).toMatchObject({ state: 'failed', pull_request: { code: 'REMOTE_UNREACHABLE' } })
  })

  test('in a private network is refused where the operator gave none', async () => {
    const guarded = createGitHosts({
      ...system.system.config,
      NOTIFY_ALLOW_NETS: { allowNets: [], organizationNets: new Map() },
    })
    await start()
    const remote = { orgId: org!.id, host: 'github' as const, url: host.url, token: host.makeToken() }
    expect(await guarded.check(remote)).toEqual({ kind: 'address_refused' })
    expect(await guarded.look(remote, { number: 1, branch: 'svc/x' })).toMatchObject({
      kind: 'failed',
      code: 'REMOTE_UNREACHABLE',
    })
    expect(host.asked).toEqual([])
  })

  test('is worked for by one at a time, and for two of an organization at once', async () => {
    const now = system.clock.now()
    const due = { orgId: org!.id, appId, ordinal: 1, state: 'open', requestedAt: now, nextAt: now } as const
    const neighbor = { ...due, orgId: other!.id, nextAt: new Date(now.getTime() + 1) }
    await system.db
      .insert(pullRequests)
      .values([...['a', 'b', 'c', 'd'].map((id) => ({ ...due, id })), { ...neighbor, id: 'z' }])
    system.clock.advance(1)
    const first = await claimPullRequest(deps)
    const claimed = [first, await claimPullRequest(deps), await claimPullRequest(deps)]
    expect(new Set(claimed.map((one) => one?.orgId))).toEqual(new Set([org!.id, other!.id]))
    // The second turn was the neighbour's.
    expect(claimed[1]?.orgId).not.toBe(first?.orgId)
    expect(await claimPullRequest(deps)).toBeUndefined()
    // Whoever has it died: it is another's once the lease is over, and what the dead one says then does not count.
    await system.db.update(pullRequests).set({ leaseUntil: sql`clock_timestamp() - interval '1 second'` })
    expect(await claimPullRequest(deps)).toBeDefined()
  })

  test('is opened once by whoever comes after one that died with the answer in its hands', async () => {
    await start()
    await set()
    const { id } = await make()
    await approve(id)
    const dying = { ...deps, gitHosts: { ...deps.gitHosts, open: dyingAfter(deps.gitHosts.open) } }
    await work(dying)
    expect([host.requests.length, (await show(id)).pull_request?.state]).toEqual([1, 'opening'])
    expect(await work()).toBe(0)
    await system.db.update(pullRequests).set({ leaseUntil: sql`clock_timestamp() - interval '1 second'` })
    expect(await work()).toBe(1)
    expect([host.requests.length, (await show(id)).pull_request?.number]).toEqual([1, 1])
  })

  test.runIf(inject('everyCase'))(
    'keeps its revisions, and its proposals say what they are in every list',
    async () => {
      const id = await opened()
      await sweepRevisions({ ...storageOf(system), sourceStorageBytes: 1 })
      expect((await owner(listProposals, { alias })).proposals[0]?.pull_request?.number).toBe(1)
      host.closeRequest(1)
      await later()
      await work()
      const { proposals: queue } = await owner(listProposalQueue, { org_id: org!.id })
      expect(queue.find((one) => one.id === id)?.pull_request?.code).toBe('CLOSED_UPSTREAM')
      expect(await system.db.$count(proposals, eq(proposals.id, id))).toBe(1)
    },
  )
})
