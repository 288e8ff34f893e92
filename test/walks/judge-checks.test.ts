/** Judge checks by way of the agent-runner: it alone holds the key, and answers nobody who does not know its secret. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checks } from '../../db/schema.ts'
import { judgePort } from '../../src/boot/maintenance-models.ts'
import { createLineMatcher } from '../../src/adapters/log-matching/index.ts'
import { askModelAt } from '../../src/client/ask-model.ts'
import { overNetwork } from '../../src/client/service.ts'
import { ASK_MODEL_PATH } from '../../src/contracts/agent-calls.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { createCheck, listCheckRuns, showCheck } from '../../src/contracts/checks.ts'
import { pushLogs } from '../../src/contracts/logs.ts'
import { updateMaintenanceSettings } from '../../src/contracts/maintenance.ts'
import { MaintenanceModelsSetting } from '../../src/contracts/model-settings.ts'
import { RULES_MODEL } from '../../src/contracts/outcomes.ts'
import { readTokenPool } from '../../src/cores/token-pool/index.ts'
import { agentRunnerTokens } from '../../src/trust/agent-runner-token.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { drainChecks } from '../support/drain.ts'
import { freePort } from '../support/free-port.ts'
import { AGENT_RUNNER_SECRET } from '../support/maintained-app.ts'
import { makeOrganization, unique, type Org } from '../support/make.ts'
import { startModelServer, type ModelServer } from '../support/model-server.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const KEY = 'sk-canary-of-the-judge'
let system: TestSystem
let provider: ModelServer
const matcher = createLineMatcher()
const setting = (key?: string) =>
  JSON.stringify({ judge: { wire: 'anthropic', url: `${provider.origin}/v1`, ...(key && { key }) } })

beforeAll(async () => {
  provider = await startModelServer([{ calls: [{ name: 'verdict', arguments: { verdict: 'fail' } }] }])
  system = await startSystem({
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api,agent-runner',
    AGENT_RUNNER_SECRET,
    MAINTENANCE_MODELS: setting(KEY),
  })
  // What earlier tests left behind would be due as well.
  await system.db.delete(checks)
})
afterAll(async () => {
  await system.stop()
  await provider.stop()
  await matcher.close()
})

const runnerTokens = agentRunnerTokens(AGENT_RUNNER_SECRET)
/** As a worker that holds no key. */
const judge = () =>
  judgePort({
    db: () => system.db,
    models: MaintenanceModelsSetting.parse(setting()),
    ask: askModelAt(system.system.services.get('agent-runner')!, () =>
      runnerTokens.sign('agent-runner', system.clock.now()),
    ),
  })

const runChecks = () =>
  drainChecks({
    db: system.db,
    clock: () => system.clock.now(),
    log: system.system.log,
    dataKeys: dataKeys(system.system.config.DATA_KEY!),
    probeHttp: () => Promise.reject(new Error('no http here')),
    matchLines: matcher.matchLines,
    judge: judge(),
  })

async function makeJudged({ owner: { call } }: Org) {
  const alias = unique('app')
  await call(createApp, { alias, name: 'Shop' })
  await call(pushLogs, { alias, body: Buffer.from('{"level":"error","message":"out of stock"}') })
  const definition = { kind: 'judge', question: 'Do orders go through?' } as const
  const { id } = await call(createCheck, { alias, name: 'Orders', definition })
  return { alias, check_id: id }
}

const turnOn = (org: Org, settings: object) =>
  org.owner.call(updateMaintenanceSettings, { org_id: org.id, ...settings })

test('a question runs where the organization has a model turned on, and is paused elsewhere', async () => {
  const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
  const [path, otherPath] = [await makeJudged(org), await makeJudged(other)]
  const paused = async (who: Org, which: typeof path) => (await who.owner.call(showCheck, which)).paused
  expect(await paused(org, path)).toBe('no_maintenance_model')
  await turnOn(org, { enabled: true, model: 'judge' })
  await turnOn(other, { enabled: true, model: RULES_MODEL })
  expect([await paused(org, path), await paused(other, otherPath)]).toEqual([null, 'no_maintenance_model'])

  await runChecks()
  const { runs } = await org.owner.call(listCheckRuns, path)
  expect(runs).toMatchObject([{ result: 'fail', reason: 'judged' }])
  expect((await other.owner.call(listCheckRuns, otherPath)).runs).toEqual([])
  expect(provider.received.at(-1)!.headers['x-api-key']).toBe(KEY)
  const pool = (orgId: string) =>
    readTokenPool(system.db, { orgId, now: system.clock.now(), allowance: 200_000 })
  expect(await pool(org.id)).toMatchObject({ spent: 15, reserved: 0 })
  expect(await pool(other.id)).toMatchObject({ spent: 0 })

  await turnOn(org, { enabled: false })
  const asked = provider.received.length
  system.clock.advance(120)
  await runChecks()
  expect(await paused(org, path)).toBe('no_maintenance_model')
  expect(provider.received).toHaveLength(asked)
})

test('nobody else asks the model', async () => {
  const agentRunner = system.system.services.get('agent-runner')!
  const request = { system: 's', messages: [{ role: 'user', text: 'x' }], tools: [], maxOutputTokens: 10 }
  const post = (token: string | undefined, body: unknown) =>
    agentRunner(
      new Request(`http://svc.internal${ASK_MODEL_PATH}`, {
        method: 'POST',
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    )
  const org = await makeOrganization(system)
  const asked = provider.received.length
  for (const token of [
    undefined,
    'x',
    org.owner.token,
    await runnerTokens.sign('tool-host', system.clock.now()),
    await agentRunnerTokens('cd'.repeat(32)).sign('agent-runner', system.clock.now()),
  ]) {
    expect((await post(token, { model: 'judge', request })).status).toBe(401)
  }
  const token = await runnerTokens.sign('agent-runner', system.clock.now())
  for (const body of ['', '{}', { model: 'judge', request: { ...request, maxOutputTokens: 1e9 } }])
    expect((await post(token, body)).status).toBe(400)
  expect((await post(token, 'x'.repeat(1024 * 1024 + 1))).status).toBe(413)
  expect(await (await post(token, { model: 'unknown', request })).json()).toEqual({
    kind: 'failed',
    reason: 'refused',
    isSent: false,
  })
  expect(provider.received).toHaveLength(asked)
})

test('an agent-runner that is down has sent nothing, and costs nothing', async () => {
  const down = askModelAt(overNetwork(new URL(`http://127.0.0.1:${await freePort()}`)), async () => 'x')
  const request = { system: '', messages: [], tools: [], maxOutputTokens: 1 }
  expect(await down('judge', request, AbortSignal.timeout(5_000))).toEqual({
    kind: 'failed',
    reason: 'runner_failed',
    isSent: false,
  })
})

test('the key stands in no log line', () => {
  expect(system.logLines.join('\n')).not.toContain(KEY)
})
