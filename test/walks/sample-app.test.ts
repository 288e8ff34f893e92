/** The sample app of the first start: every tab has something to show, and the logs lead to the bug. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { drainRuns } from '../../src/agent-runner/agent-runner.ts'
import { rulesAnalyst } from '../../src/agent-runner/rules/analyst.ts'
import { listApps, showApp } from '../../src/contracts/apps.ts'
import { listCheckRuns, listChecks } from '../../src/contracts/checks.ts'
import { listDeployments, readDeploymentOutput } from '../../src/contracts/deployments.ts'
import { listLogGroups, listLogs, summarizeLogs } from '../../src/contracts/logs.ts'
import {
  showRunEvidence,
  listFindings,
  listMaintenanceRuns,
  updateAppMaintenance,
  updateMaintenanceSettings,
} from '../../src/contracts/maintenance.ts'
import type { Principal } from '../../src/contracts/operation.ts'
import { RULES_MODEL } from '../../src/contracts/outcomes.ts'
import { listPipelineRuns, listPipelines } from '../../src/contracts/pipelines.ts'
import { diffRevisions, listRevisions, readSourceFile } from '../../src/contracts/revisions.ts'
import { dispatchSlots } from '../../src/cores/maintenance/index.ts'
import { loadSampleApp } from '../../src/sample/load-sample-app.ts'
import { SAMPLE_APP } from '../../src/sample/sample-app.ts'
import { agentRunner, AGENT_RUNNER_SECRET } from '../support/maintained-app.ts'
import { makeApiToken, makeOrganization, type Org } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
const { alias } = SAMPLE_APP

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api', AGENT_RUNNER_SECRET })
  org = await makeOrganization(system)
  await load()
})
afterAll(() => system.stop())

/** As the first run asks for it. */
const load = () => {
  const principal: Principal = {
    kind: 'user',
    userId: org.owner.userId,
    userName: org.owner.name,
    userEmail: org.owner.email,
    orgId: org.id,
    organization: { id: org.id, name: org.name, slug: org.slug },
    role: 'owner',
    carriesAppRoles: true,
    scopes: null,
    audiences: ['api'],
    expiresAt: null,
    sources: null,
    entryPoint: 'cli',
    address: '127.0.0.1',
    requestId: 'sample',
  }
  return loadSampleApp({ db: system.db, clock: () => system.clock.now() }, principal)
}

test('what runs is the revision with the bug, and its diff shows the change', async () => {
  const { call } = org.owner
  const [running] = (await call(listDeployments, { alias, state: 'succeeded' })).deployments
  const { revisions } = await call(listRevisions, { alias })
  expect(revisions).toHaveLength(2)
  expect(running).toMatchObject({ revision_id: revisions[0]!.id, requested_by: org.owner.name })
  const { files } = await call(diffRevisions, { alias, revision_id: revisions[0]!.id })
  expect(files.map(({ path, change }) => `${change} ${path}`)).toEqual([
    'added src/discounts.js',
    'changed src/orders.js',
  ])
  const { text } = await readDeploymentOutputOf(running!.id)
  expect(text).toContain('systemctl')
})

const readDeploymentOutputOf = (deployment_id: string) =>
  org.owner.call(readDeploymentOutput, { alias, deployment_id })

test('the trace in the logs names the line in the source', async () => {
  const { call } = org.owner
  const since = new Date(system.clock.now().getTime() - 7 * 86_400_000).toISOString()
  const [line] = (await call(listLogs, { alias, since, level: 'error', limit: 1 })).lines
  const [, path = '', number = ''] = /\/(src\/[\w.]+):(\d+):/.exec(line!.text) ?? []
  const [head] = (await call(listRevisions, { alias })).revisions
  const file = await call(readSourceFile, { alias, revision_id: head!.id, path })
  expect(file.text!.split('\n')[Number(number) - 1]).toContain('CODES[code].percent')
  const { groups } = await call(listLogGroups, { alias, since, level: 'error' })
  expect(groups).toMatchObject([{ template: expect.stringContaining('POST /orders') as string }])
  const { buckets } = await call(summarizeLogs, { alias, since })
  expect(buckets.reduce((sum, { counts }) => sum + (counts.error ?? 0), 0)).toBe(groups[0]!.count)
})

test('two checks with their runs, of which the one over the logs fails, and a pipeline that is off', async () => {
  const { call } = org.owner
  const { checks } = await call(listChecks, { alias })
  expect(checks.map(({ name, state, enabled }) => [name, state, enabled])).toEqual([
    ['No order fails', 'fail', true],
    ['Shop answers', 'pass', false],
  ])
  const { runs } = await call(listCheckRuns, { alias, check_id: checks[0]!.id })
  expect(runs.map(({ result }) => result).toReversed()).toEqual(checks[0]!.recent)
  const [pipeline] = (await call(listPipelines, { alias })).pipelines
  expect(pipeline).toMatchObject({ name: 'nightly-report', enabled: false, last_run: { state: 'succeeded' } })
  const nights = await call(listPipelineRuns, { alias, pipeline_id: pipeline!.id })
  expect(nights.runs.map(({ state }) => state)).toContain('failed')
})

test('it is loaded once, and nobody else sees it', async () => {
  await load()
  expect((await org.owner.call(listApps, {})).apps.map((app) => app.alias)).toEqual([alias])
  const other = await makeOrganization(system)
  await expect(other.owner.call(showApp, { alias })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('in the night the rules find the line with the bug, and everything that they cite opens', async () => {
  // It outlives the night.
  const { call } = await makeApiToken(system, org, org.owner)
  await call(updateMaintenanceSettings, { org_id: org.id, enabled: true, model: RULES_MODEL })
  await call(updateAppMaintenance, { alias, enabled: true })
  const now = system.clock.now()
  const night = new Date(now)
  night.setUTCHours(3, 1, 0, 0)
  if (night <= now) night.setUTCDate(night.getUTCDate() + 1)
  system.clock.advance((night.getTime() - now.getTime()) / 1000)
  const storage = { db: system.db, clock: () => system.clock.now(), log: system.system.log }
  expect([await dispatchSlots(storage), await dispatchSlots(storage)]).toEqual([expect.any(Number), 0])
  const noModel = () => Promise.reject(new Error('no model is asked'))
  expect(await drainRuns({ ...agentRunner(system, noModel), rules: rulesAnalyst })).toBeGreaterThan(0)
  const { runs } = await call(listMaintenanceRuns, { alias })
  expect(runs).toHaveLength(1)
  const [run] = runs
  expect(run).toMatchObject({ outcome: 'finding_recorded', tokens: 0, model: RULES_MODEL })
  const found = (await call(listFindings, { alias })).findings
  expect(found).toMatchObject([{ location: 'src/discounts.js:8', kind: 'error', state: 'open' }])
  expect(found[0]!.summary).toMatch(/^TypeError in discountOn at src\/discounts\.js:8: /)
  for (const ref of found[0]!.evidence) {
    const evidence = await call(showRunEvidence, { alias, execution_id: run!.execution_id, ref })
    expect(evidence).toMatchObject({ pinned: true, text: expect.any(String) as string })
  }
})
