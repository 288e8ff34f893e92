/** What an agent has proposed and nobody has approved is deployed by nobody, whoever asks and by whichever way. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { appBlobs } from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import { run } from '../../src/cli/run.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import { setAppMember } from '../../src/contracts/apps.ts'
import {
  claimDeployment,
  createDeployment,
  finishDeployment,
  listDeployments,
} from '../../src/contracts/deployments.ts'
import { SOURCE_RETENTION } from '../../src/contracts/limits.ts'
import { approveProposal, denyProposal, showProposal, retryProposal } from '../../src/contracts/proposals.ts'
import {
  diffRevisions,
  downloadRevision,
  findMissingFiles,
  listRevisions,
  pushRevision,
  showRevision,
  uploadFiles,
} from '../../src/contracts/revisions.ts'
import { sweepRevisions } from '../../src/cores/revisions/index.ts'
import { startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import { fakeEnvironment } from '../support/fake-environment.ts'
import { makeMaintainedApp, turnOn } from '../support/maintenance.ts'
import { makeApiToken, makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'
import { agentOf, makeProposal, MODEL, MODELS, type Agent } from '../support/proposals.ts'
import { archiveOf, sha256, treeIn } from '../support/source.ts'
import { formOn, newWalker, signInOnPage } from '../support/walker.ts'

const OLD = 'export const total = NaN\n'
const NEW = 'export const total = count\n'

let system: ListeningSystem
let agent: Agent
let [org, other]: Org[] = []
let [admin, requester, builder]: Person[] = []

beforeAll(async () => {
  system = await startListeningSystem({
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api,console',
    ...MODELS,
  })
  agent = agentOf(system)
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  ;[admin, requester, builder] = [
    await makeMember(system, org, 'admin'),
    await makeMember(system, org, 'admin'),
    await makeMember(system, org, 'viewer'),
  ]
  await turnOn(org, { model: MODEL, cooldown_hours: 0 })
})
afterAll(async () => {
  await agent.close()
  await system.stop()
})

const owner: Call = (...given) => org!.owner.call(...given)
const as = (person: Person | undefined): Call => system.as({ token: person!.token, organization: org!.id })
const push = (alias: string, files: Record<string, string>, replace?: string) =>
  owner(pushRevision, { alias, body: archiveOf(files), ...(replace && { replace }) })

/** By whom the run was started, who builds the app, and the revision that is only proposed. */
async function propose() {
  const { alias } = await makeMaintainedApp(org!)
  await push(alias, { 'total.js': OLD })
  await owner(setAppMember, { alias, user_id: builder!.userId, role: 'builder' })
  const change = { path: 'total.js', text: OLD, old: 'NaN', now: 'count' }
  const { id } = await makeProposal(system, agent, { call: owner, alias, by: as(requester), ...change })
  const { new_revision_id: revision, diff_sha256 } = await owner(showProposal, { alias, proposal_id: id })
  return { alias, revision, asked: { alias, proposal_id: id, diff_sha256 } }
}

const refused = (work: Promise<unknown>) =>
  work.then(
    () => 'deployed',
    (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
  )
const ONLY_PROPOSED = 'CONFLICT: This revision is only proposed'

const svc = async (token: string, line: string) => {
  const environment = fakeEnvironment({ env: { SVC_API_URL: system.origin, SVC_API_KEY: token } })
  return { exit: await run(line.split(' '), environment), out: environment.out(), err: environment.err() }
}

test('what was pushed is downloaded as it is, and only files that are missing are asked for', async () => {
  const { alias, id: appId } = await makeMaintainedApp(org!)
  const { id: revision_id } = await push(alias, { 'total.js': OLD })
  expect(treeIn((await owner(downloadRevision, { alias, revision_id })).body)).toEqual({ 'total.js': OLD })
  const files = { alias, sha256: [sha256(OLD), sha256(NEW)] }
  expect((await owner(findMissingFiles, files)).missing).toEqual([sha256(NEW)])
  const asElsewhere = other!.owner.call
  await expect(asElsewhere(downloadRevision, { alias, revision_id })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  await expect(asElsewhere(findMissingFiles, files)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  // What retention takes soon is asked for as well, and kept for another day once it is sent again.
  const soon = new Date(system.clock.now().getTime() - (SOURCE_RETENTION.unnamedHours / 2) * 3_600_000)
  await system.db.update(appBlobs).set({ unnamedSince: soon }).where(eq(appBlobs.appId, appId))
  expect((await owner(findMissingFiles, files)).missing).toEqual([sha256(OLD), sha256(NEW)])
  await push(alias, { 'total.js': OLD })
  expect((await owner(findMissingFiles, files)).missing).toEqual([sha256(NEW)])

  // A runner gets what it has claimed, for as long as it runs.
  const { token } = await owner(createAppToken, { alias, name: 'runner', scope: 'apps:run' })
  const runner = system.as({ token })
  const { id: deployment_id } = await owner(createDeployment, { alias, revision_id })
  const download = () => refused(runner(downloadRevision, { alias, revision_id }))
  expect(await download()).toMatch(/^NOT_FOUND/)
  const { fence } = await runner(claimDeployment, { alias, runner: 'r' })
  expect(await download()).toBe('deployed')
  await runner(finishDeployment, { alias, deployment_id, fence: fence!, exit_code: 0 })
  expect(await download()).toMatch(/^NOT_FOUND/)

  // No file is taken by a name that is not its own, and what one app has no longer another one may have.
  const misnamed = archiveOf({ [sha256(NEW)]: OLD })
  expect(await refused(owner(uploadFiles, { alias, body: misnamed }))).toMatch(/^INVALID_REQUEST/)
  const { alias: beside } = await makeMaintainedApp(org!)
  const same = await push(beside, { 'total.js': OLD })
  await system.db
    .update(appBlobs)
    .set({ unnamedSince: new Date(0) })
    .where(eq(appBlobs.appId, appId))
  await sweepRevisions(agent)
  expect((await owner(findMissingFiles, files)).missing).toEqual([sha256(OLD), sha256(NEW)])
  const kept = await owner(downloadRevision, { alias: beside, revision_id: same.id })
  expect(treeIn(kept.body)).toEqual({ 'total.js': OLD })
})

test('neither before it is decided nor after it was denied, by the API, a token, the client or the console', async () => {
  const { alias, revision, asked } = await propose()
  const token = await makeApiToken(system, org!, admin!)
  const byBuilder = await makeApiToken(system, org!, builder!)
  const deploy = (call: Call) => refused(call(createDeployment, { alias, revision_id: revision }))
  const walker = newWalker(system)
  await signInOnPage(walker, builder!.email)
  await walker.follow(await walker.open('/console'))

  for (const state of ['ready', 'denied']) {
    if (state === 'denied') await as(admin)(denyProposal, asked)
    for (const call of [owner, as(admin), as(requester), as(builder), token.call, byBuilder.call]) {
      expect(await deploy(call)).toBe(ONLY_PROPOSED)
    }
    expect(await svc(byBuilder.token, `apps deploy ${alias} ${revision}`)).toMatchObject({
      exit: 6,
      out: '',
      err: expect.stringContaining('only proposed'),
    })
    expect((await svc(byBuilder.token, `apps revisions ${alias}`)).out).not.toContain(revision)
    const page = await walker.open(`/console/apps/${alias}/deployments`)
    expect(page.text).toContain('name="revision"')
    expect(page.text).not.toContain(revision)
    // Nor with a form that was changed by hand.
    const sent = await walker.follow(
      await walker.send(page, 'Deploy', { ...formOn(page, 'Deploy').fields, revision }),
    )
    expect(sent.words).toContain('only proposed')
  }
  // Whoever may read the source may look at it.
  expect((await as(builder)(showRevision, { alias, revision_id: revision })).id).toBe(revision)
  expect((await as(builder)(listRevisions, { alias })).revisions).toHaveLength(1)
  expect((await owner(listDeployments, { alias })).deployments).toEqual([])
  expect(await refused(other!.owner.call(createDeployment, { alias, revision_id: revision }))).toMatch(
    /^NOT_FOUND/,
  )
})

test('once it is approved, or somebody has pushed the same, it is a revision as any other', async () => {
  const approved = await propose()
  await as(admin)(approveProposal, approved.asked)
  const pushed = await propose()
  const same = await push(pushed.alias, { 'total.js': NEW })
  expect(same.id).toBe(pushed.revision)
  for (const { alias, revision } of [approved, pushed]) {
    // Also when something else is the head since.
    await push(alias, { 'total.js': OLD }, 'true')
    await as(builder)(createDeployment, { alias, revision_id: revision })
    expect((await as(builder)(listRevisions, { alias })).revisions.map(({ id }) => id)).toContain(revision)
  }
})

test('an approved change is followed to the name that its file has by now, and undone only by whoever says so', async () => {
  const { alias, asked } = await propose()
  await as(admin)(approveProposal, asked)
  const { proposal_id } = asked
  const isUndone = async () => (await owner(showProposal, { alias, proposal_id })).undone
  const more = 'export const sum = 0\n'
  // Renamed as it is, and then with a line more.
  const { id: base_revision } = await push(alias, { 'sum.js': NEW })
  await push(alias, { 'sums.js': `${NEW}${more}`, 'other.js': more })
  const goneBack = [
    { 'sums.js': `${OLD}${more}` },
    { 'sums.js': more },
    // Neither of another kind is it the same file, nor where less than half of its lines are.
    { 'sums.py': `export const total = 0\n${more}` },
    { 'more.js': `export const total = 0\nexport const n = 1\n${more}` },
  ]
  for (const files of goneBack) {
    await expect(push(alias, files)).rejects.toMatchObject({
      code: 'HEAD_MOVED',
      problems: [expect.stringContaining(`${proposal_id}: would be undone in `)],
    })
  }
  // Of what others have pushed since it began nothing is left out either.
  const body = archiveOf({ 'sums.js': `${NEW}${more}` })
  await expect(owner(pushRevision, { alias, body, base_revision })).rejects.toMatchObject({
    code: 'HEAD_MOVED',
    problems: ['"other.js": was changed since, and this push does not have it'],
  })
  expect(await isUndone()).toBe(false)
  await push(alias, { 'sums.js': `${OLD}${more}` }, 'true')
  expect(await isUndone()).toBe(true)
  await push(alias, { 'sums.js': `${NEW}${more}` })
  expect(await isUndone()).toBe(false)
})

test('what a proposal was before it was applied anew stays so', async () => {
  const { alias, revision, asked } = await propose()
  const base = (await owner(listRevisions, { alias })).head_id
  const pushed = await push(alias, { 'total.js': OLD, 'new.txt': 'x' })
  // Compared with what was pushed before it, whatever was proposed in between; and nothing is made from a proposal.
  expect((await owner(diffRevisions, { alias, revision_id: pushed.id })).base).toBe(base)
  const body = archiveOf({ 'total.js': OLD })
  const from = owner(pushRevision, { alias, body, base_revision: revision, replace: 'true' })
  expect(await refused(from)).toMatch(/^INVALID_REQUEST/)
  const again = await as(admin)(retryProposal, asked)
  expect(again.new_revision_id).not.toBe(revision)
  for (const revision_id of [revision, again.new_revision_id]) {
    expect(await refused(as(builder)(createDeployment, { alias, revision_id }))).toBe(ONLY_PROPOSED)
  }
})
