/**
 * The whole loop on the sample app: its bug is in the log, night comes, the rules find it; the next night a scripted model
 * proposes a change, a second person approves it in a browser, the real runner deploys it, the check recovers, and everybody
 * who follows the app is told once of each.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLineMatcher } from '../../src/adapters/log-matching/index.ts'
import { drainRuns } from '../../src/agent-runner/agent-runner.ts'
import { rulesAnalyst } from '../../src/agent-runner/rules/analyst.ts'
import { listen, type Listening } from '../../src/boot/listener.ts'
import type { Call } from '../../src/client/http-client.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import { setAppMember } from '../../src/contracts/apps.ts'
import { listChecks } from '../../src/contracts/checks.ts'
import { readDeploymentOutput } from '../../src/contracts/deployments.ts'
import { listNotifications } from '../../src/contracts/inbox.ts'
import { pushLogs } from '../../src/contracts/logs.ts'
import {
  showRunEvidence,
  listFindings,
  listMaintenanceRuns,
  updateAppMaintenance,
  updateMaintenanceSettings,
} from '../../src/contracts/maintenance.ts'
import type { ModelRequest } from '../../src/contracts/model-port.ts'
import { RULES_MODEL } from '../../src/contracts/outcomes.ts'
import { showProposal } from '../../src/contracts/proposals.ts'
import { setFollow } from '../../src/contracts/subscriptions.ts'
import { localDirectory } from '../../src/cores/directory/index.ts'
import { dispatchSlots } from '../../src/cores/maintenance/index.ts'
import type { ChannelPorts } from '../../src/cores/notifications/index.ts'
import { loadSampleApp } from '../../src/sample/load-sample-app.ts'
import { SAMPLE_APP } from '../../src/sample/sample-app.ts'
import { STACK_TRACE } from '../../src/sample/sample-logs.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { findChromium } from '../find-chromium.ts'
import { openBrowser } from '../support/browser.ts'
import { drainChecks, drainNotifications } from '../support/drain.ts'
import { freePort } from '../support/free-port.ts'
import {
  agentRunner,
  AGENT_RUNNER_SECRET,
  heardBy,
  MODEL,
  MODELS_SETTING,
  turnOf,
} from '../support/maintained-app.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  PASSWORD,
  type Org,
  type Person,
} from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const SVC = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url))
const { alias } = SAMPLE_APP
const HOUR_SECONDS = 3_600
const WRONG = 'CODES[code].percent'
const RIGHT = '(CODES[code.toUpperCase()]?.percent ?? 0)'
/** What a customer with a code in lowercase pays, printed by the source that was deployed. */
const DEPLOY = `node -e "import('./src/orders.js').then(({ totalOf }) => console.log('pays', totalOf({ items: [{ sku: 'T-201', count: 1 }], code: 'spring10' })))"`

describe.skipIf(findChromium() === undefined)(
  'the maintenance agent on the sample app',
  { timeout: 240_000 },
  () => {
    let browser: Browser
    let system: TestSystem
    let listening: Listening
    let base: string
    let org: Org
    let reviewer: Person
    let follower: Person
    /** Tokens that outlast the nights. */
    const calls = new Map<Person, Call>()
    const lineMatcher = createLineMatcher()

    beforeAll(async () => {
      const port = await freePort()
      system = await startSystem({
        PORT: String(port),
        AGENT_RUNNER_SECRET,
        MAINTENANCE_MODELS: MODELS_SETTING,
      })
      listening = await listen(system.system)
      base = `http://localhost:${port}`
      org = await makeOrganization(system)
      await loadSampleApp({ db: system.db, clock: () => system.clock.now() }, ownerOf(org))
      ;[reviewer, follower] = [
        await makeMember(system, org, 'admin'),
        await makeMember(system, org, 'viewer'),
      ]
      await org.owner.call(setAppMember, { alias, user_id: follower.userId, role: 'builder' })
      for (const person of [org.owner, reviewer, follower]) {
        calls.set(person, (await makeApiToken(system, org, person)).call)
        await calls.get(person)!(setFollow, { alias, categories: ['Maintenance', 'Checks'] })
      }
      browser = await openBrowser()
    }, 120_000)

    afterAll(async () => {
      await browser?.close()
      await listening?.stop()
      await system?.stop()
      await lineMatcher.close()
    })

    const ownerOf = ({ id, name, slug, owner }: Org) => ({
      kind: 'user' as const,
      userId: owner.userId,
      userName: owner.name,
      userEmail: owner.email,
      orgId: id,
      organization: { id, name, slug },
      role: 'owner' as const,
      carriesAppRoles: true,
      scopes: null,
      audiences: ['api' as const],
      sources: null,
      expiresAt: null,
      entryPoint: 'api' as const,
      address: '::1',
      requestId: 'loop',
    })

    const call: Call = (operation, input) => calls.get(org.owner)!(operation, input)
    const storage = () => ({ db: system.db, clock: () => system.clock.now(), log: system.system.log })

    async function anOrderFails(token: string): Promise<void> {
      const line = { time: system.clock.now().toISOString(), level: 'error', message: STACK_TRACE }
      await system.as({ token })(pushLogs, { alias, body: Buffer.from(JSON.stringify(line)) })
    }

    /** Until shortly after the next 03:00 UTC. */
    async function nightComes(): Promise<void> {
      const now = system.clock.now()
      const night = new Date(now)
      night.setUTCHours(3, 1, 0, 0)
      if (night <= now) night.setUTCDate(night.getUTCDate() + 1)
      system.clock.advance((night.getTime() - now.getTime()) / 1000)
      expect(await dispatchSlots(storage())).toBe(1)
      expect(await dispatchSlots(storage())).toBe(0)
    }

    const newestRun = async () => (await call(listMaintenanceRuns, { alias })).runs[0]!

    const runChecks = () =>
      drainChecks({
        ...storage(),
        dataKeys: dataKeys(system.system.config.DATA_KEY!),
        judge: null,
        probeHttp: () => Promise.reject(new Error('its http check is off')),
        matchLines: lineMatcher.matchLines,
      })
    const checkState = async () =>
      (await call(listChecks, { alias })).checks.find(({ name }) => name === 'No order fails')!.state

    async function notify(): Promise<void> {
      const sent = async () => ({ kind: 'sent' as const })
      const channels: ChannelPorts = {
        webhook: sent,
        chat: sent,
        direct_message: sent,
        forum: sent,
        email: sent,
      }
      const { config, log } = system.system
      await drainNotifications({
        ...storage(),
        log,
        channels,
        directory: localDirectory(() => new Date()),
        dataKeys: dataKeys(config.DATA_KEY!),
        appUrl: config.APP_URL,
        siteUrl: config.SITE_URL,
      })
    }

    async function toldOf(person: Person): Promise<string[]> {
      const { notifications } = await calls.get(person)!(listNotifications, { state: 'all', limit: 100 })
      return notifications.map(({ type, subject }) => `${type} ${subject.split('/')[0]}`).toSorted()
    }

    test('from a stack trace in the log to a deployed change', async () => {
      const { token } = await call(createAppToken, { alias, name: 'shop', scope: 'apps:report' })
      await anOrderFails(token)
      await call(updateMaintenanceSettings, { org_id: org.id, enabled: true, model: RULES_MODEL })
      await call(updateAppMaintenance, { alias, enabled: true })

      // The first night: rules.
      await nightComes()
      const rules = {
        ...agentRunner(system, () => Promise.reject(new Error('no model is asked'))),
        rules: rulesAnalyst,
      }
      expect(await drainRuns(rules)).toBe(1)
      expect(await newestRun()).toMatchObject({
        outcome: 'finding_recorded',
        exit_code: 11,
        tokens: 0,
        model: RULES_MODEL,
      })
      const { findings } = await call(listFindings, { alias })
      expect(findings).toMatchObject([{ location: 'src/discounts.js:8', kind: 'error', state: 'open' }])
      expect(findings[0]!.summary).toMatch(/^TypeError in discountOn at src\/discounts\.js:8: /)
      const { execution_id } = await newestRun()
      for (const ref of findings[0]!.evidence) {
        const evidence = await call(showRunEvidence, { alias, execution_id, ref })
        expect(evidence).toMatchObject({ pinned: true, text: expect.any(String) as string })
      }

      // The second night: a model that knows.
      await call(updateMaintenanceSettings, { org_id: org.id, model: MODEL })
      system.clock.advance(20 * HOUR_SECONDS)
      await anOrderFails(token)
      await nightComes()
      expect(await drainRuns(agentRunner(system, scripted()))).toBe(1)
      const run = await newestRun()
      expect(run).toMatchObject({ outcome: 'proposed', exit_code: 0, model: MODEL })
      const proposal_id = run.proposal_id!
      const proposal = await call(showProposal, { alias, proposal_id })
      expect(proposal).toMatchObject({ state: 'ready', requested_by: null })
      expect(proposal.diff).toContain(`+  return Math.round(amount * ${RIGHT}) / 100`)
      await runChecks()
      expect(await checkState()).toBe('fail')

      // A second person.
      await approveInBrowser(proposal_id)
      expect((await call(showProposal, { alias, proposal_id })).decided).toMatchObject({
        approved: true,
        user_id: reviewer.userId,
        via: 'console',
      })

      // The runner.
      const runner = await call(createAppToken, { alias, name: 'runner', scope: 'apps:run' })
      expect(await deployOnce(runner.token)).toBe(0)
      const deployed = await call(showProposal, { alias, proposal_id })
      expect(deployed.state).toBe('deployed')
      const output = await call(readDeploymentOutput, { alias, deployment_id: deployed.deployment_id! })
      expect(output.text).toContain('pays 197.1')

      // A day without a failed order.
      system.clock.advance(25 * HOUR_SECONDS)
      await runChecks()
      expect(await checkState()).toBe('pass')

      await notify()
      await notify()
      const told = [
        'application.check.recovered',
        'application.maintenance.proposal.approved',
        'application.maintenance.proposal.created',
        'application.maintenance.run.completed',
        'application.maintenance.run.completed',
      ]
      const typesOf = async (person: Person) => (await toldOf(person)).map((line) => line.split(' ')[0])
      expect(await typesOf(org.owner)).toEqual(told)
      expect(await typesOf(follower)).toEqual(told)
      // Nobody is told of what they did themselves; another admin is told of each change to the agent.
      const changes = Array.from({ length: 3 }, () => 'org.maintenance.changed')
      expect(await typesOf(reviewer)).toEqual([
        ...told.filter((type) => !type.endsWith('.approved')),
        ...changes,
      ])
    })

    const scripted = () => {
      let asked = 0
      return async (_name: string, _settings: object, request: ModelRequest) => {
        asked += 1
        if (asked === 1) {
          return turnOf([
            ['log_groups', {}],
            ['check_history', {}],
            ['read_logs', { level: 'error', limit: 1 }],
            ['read_file', { path: 'src/discounts.js' }],
          ])
        }
        return turnOf([['propose_change', changeFrom(request)]])
      }
    }

    function changeFrom(request: ModelRequest): object {
      const data = Object.fromEntries(heardBy(request).map(({ tool, data: shown }) => [tool, shown])) as {
        read_file: { ref: string }
        read_logs: { lines: { ref: string }[] }
      }
      return {
        title: 'Take codes in lowercase',
        rationale: 'A code that staff wrote in lowercase is not in the table.',
        evidence: [data.read_file.ref, data.read_logs.lines[0]!.ref],
        edits: [{ path: 'src/discounts.js', old_text: WRONG, new_text: RIGHT }],
      }
    }

    async function approveInBrowser(proposalId: string): Promise<void> {
      const context = await browser.newContext()
      const page = await context.newPage()
      await page.goto(`${base}/`)
      await page.getByLabel('Email').fill(reviewer.email)
      await page.getByLabel('Password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.waitForURL(`${base}/console`)
      await page.goto(`${base}/console/apps/${alias}/proposals/${proposalId}`)
      await page.getByText('Take codes in lowercase').first().waitFor()
      await page.getByRole('button', { name: 'Approve', exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click()
      // Not there before: who may approve is on the page as well.
      await page.getByText(`Approved by ${reviewer.name}`).waitFor()
      await context.close()
    }

    /** The client as it is installed, with a token of the app. */
    async function deployOnce(token: string): Promise<number | null> {
      const home = mkdtempSync(join(tmpdir(), 'svc-loop-'))
      try {
        const child = spawn(process.execPath, [SVC, 'apps', 'runner', alias, '--once', '--exec', DEPLOY], {
          env: { PATH: process.env['PATH'], HOME: home, SVC_API_URL: base, SVC_API_KEY: token },
          stdio: ['ignore', 'inherit', 'inherit'],
        })
        return await new Promise((resolve) => child.once('exit', resolve))
      } finally {
        rmSync(home, { recursive: true, force: true })
      }
    }
  },
)
