/**
 * Any number of processes over one Postgres: four of each that people and assistants meet, one of each of the rest, HAProxy
 * in front. Under a steady load they are replaced one after the other, killed, left without a database and given a newer
 * one; and what holds with one process holds with four.
 */
import { randomUUID } from 'node:crypto'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { and, eq, inArray, like } from '../../db/drizzle.ts'
import {
  deliveries,
  logLines,
  maintenanceRuns,
  maintenanceSettings,
  maintenanceSlots,
  oauthArtifacts,
  pipelineRuns,
  pipelines,
  platformAccessGrants,
  platformOauthClients,
  tickets,
} from '../../db/schema.ts'
import type { ServiceName } from '../../src/boot/config.ts'
import { httpClient } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp, listApps } from '../../src/contracts/apps.ts'
import { revokeGrant } from '../../src/contracts/grants.ts'
import { connectWebhook } from '../../src/contracts/integrations.ts'
import {
  DYNAMIC_CLIENTS,
  INVITATIONS_PER_PERSON,
  SIGN_IN_FAILURES_PER_ADDRESS,
} from '../../src/contracts/limits.ts'
import { pushLogs } from '../../src/contracts/logs.ts'
import { inviteMember, removeMember } from '../../src/contracts/members.ts'
import { createOrganization } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { claimPipelineRun, createPipeline, finishPipelineRun } from '../../src/contracts/pipelines.ts'
import { createSubscription } from '../../src/contracts/subscriptions.ts'
import { revokeApiToken } from '../../src/contracts/tokens.ts'
import { newAssistant, preRegistered, register, tokensIn, whoami, type Tokens } from '../support/assistant.ts'
import { findHaproxy } from '../support/haproxy.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  makePerson,
  PASSWORD,
  unique,
  type Org,
} from '../support/make.ts'
import { makeMaintainedApp, turnOn } from '../support/maintenance.ts'
import { receivedId } from '../../src/cores/notifications/channels/received-id.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { startInstallation, type Installation, type Replica } from '../support/replicas.ts'
import {
  countByLane,
  failuresAmong,
  startLoad,
  type Lane,
  type Load,
  type LoadCall,
} from '../support/steady-load.ts'
import { newWalker } from '../support/walker.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CALLS_PER_MINUTE = 240
/** Short, so that the test sees its end; longer than anything that the load has to try again takes. */
const GRACE_S = 25
const ORGANIZATIONS = 10
/** Where others use the machine as well, a process takes half a minute to start. */
const TIMEOUT_MS = 15 * 60_000

const SETTINGS = {
  DATABASE_POOL: '5',
  MCP_CALLS_PER_MINUTE: String(CALLS_PER_MINUTE),
  OAUTH_REFRESH_GRACE_S: String(GRACE_S),
  ORGANIZATIONS_PER_PERSON: String(ORGANIZATIONS),
  NOTIFY_ALLOW_NETS: '127.0.0.1',
  // Longer than HAProxy takes to notice, on a busy machine.
  STOP_DELAY_SECONDS: '5',
}

const program = findHaproxy()
if (program === undefined)
  console.log('HAProxy is not installed (Debian: apt-get install haproxy): not proven.')

describe.skipIf(program === undefined)('four of each, behind HAProxy', () => {
  let installation: Installation
  let receiver: Receiver
  let org: Org
  let shop: { id: string; alias: string }
  let load: Load
  let done: Done
  const ended: string[] = []

  beforeAll(async () => {
    installation = await startInstallation(program!, SETTINGS)
    receiver = await openReceiver()
    org = await makeOrganization(installation.system)
    const alias = unique('shop')
    shop = { alias, id: (await org.owner.call(createApp, { alias, name: 'Shop' })).id }
    const made = await makeLoad()
    done = made.done
    load = startLoad(made.lanes)
    await load.untilWell(2)
  }, TIMEOUT_MS)
  afterAll(async () => {
    await load?.stop()
    await installation?.stop()
    await receiver?.close()
  })

  async function connected(): Promise<Tokens> {
    const assistant = newAssistant(installation.system, await preRegistered(installation.system))
    return assistant.connect(org.owner)
  }

  /** What people, assistants, programs and their workers do all day. What could not be confirmed is tried again, as they would. */
  async function makeLoad() {
    const { system } = installation
    const { owner } = org
    const { id: integration_id } = await owner.call(connectWebhook, { name: 'Counter', url: receiver.url })
    await owner.call(createSubscription, { pattern: 'support.ticket.created', integration_id })
    const { token: appToken } = await owner.call(createAppToken, {
      alias: shop.alias,
      name: 'production',
      scope: 'apps:report',
    })
    const { id: pipelineId } = await owner.call(createPipeline, {
      alias: shop.alias,
      name: 'every-minute',
      cron: '* * * * *',
    })
    const asApp = system.as({ token: appToken })
    const done: Done = {
      pipelineId,
      integrationId: integration_id,
      tickets: 0,
      runs: [],
      acknowledged: [],
      unsure: [],
    }
    const lanes: Record<string, Lane> = {}
    for (const n of [1, 2, 3]) {
      const { access } = await connected()
      lanes[`mcp ${n}`] = { everyMs: 700, call: () => callTool(access) }
    }
    for (const n of [1, 2]) {
      const assistant = newAssistant(system, await preRegistered(system))
      let tokens = await assistant.connect(owner)
      lanes[`refresh ${n}`] = {
        everyMs: 1_000,
        async call() {
          const next = tokensIn(await assistant.refresh(tokens.refresh))
          expect(next.grantId).toBe(tokens.grantId)
          tokens = next
        },
      }
    }
    lanes['api'] = { everyMs: 400, call: () => owner.call(whoAmI, {}) }
    lanes['apps'] = { everyMs: 1_000, call: () => owner.call(listApps, {}) }
    let key = randomUUID()
    lanes['tickets'] = {
      everyMs: 500,
      async call() {
        const response = await fetch(`${system.origin}/api/deploy/apps/${shop.alias}/tickets`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${owner.token}`,
            'content-type': 'application/json',
            'idempotency-key': key,
          },
          body: JSON.stringify({ title: key, body: 'It does not work' }),
        })
        if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`)
        await response.arrayBuffer()
        done.tickets++
        key = randomUUID()
      },
    }
    lanes['logs'] = {
      everyMs: 500,
      async call() {
        const line = `line ${randomUUID()} of the load`
        done.unsure.push(line)
        const { accepted } = await asApp(pushLogs, {
          alias: shop.alias,
          body: new TextEncoder().encode(`${JSON.stringify({ message: line })}\n`),
        })
        expect(accepted).toBe(1)
        done.unsure.pop()
        done.acknowledged.push(line)
      },
    }
    let claim = randomUUID()
    let claimed: { run_id: string; fence: number } | undefined
    lanes['pipeline worker'] = {
      everyMs: 100,
      async call() {
        if (!claimed) {
          const { run, fence } = await asApp(claimPipelineRun, {
            alias: shop.alias,
            worker: 'one',
            pipelines: ['every-minute'],
            claim_id: claim,
            wait_seconds: 5,
          })
          if (run) claimed = { run_id: run.id, fence: fence! }
        }
        if (!claimed) return
        await asApp(finishPipelineRun, { alias: shop.alias, ...claimed, succeeded: true })
        done.runs.push(claimed.run_id)
        claimed = undefined
        claim = randomUUID()
      },
    }
    const walker = newWalker(system, { overSockets: true })
    const signIn = await walker.follow(await walker.open('/console'))
    await walker.follow(await walker.submit(signIn, 'Sign in', { email: owner.email, password: PASSWORD }))
    lanes['console'] = {
      everyMs: 2_000,
      async call() {
        const page = await walker.follow(await walker.open('/console/profile'))
        if (page.status !== 200 || !page.words.includes(owner.email)) {
          throw new Error(`${page.status} at ${page.url.href}: ${page.words.slice(0, 200)}`)
        }
      },
    }
    lanes['site'] = {
      everyMs: 1_000,
      async call() {
        const response = await fetch(`${system.origin}/.well-known/agent-skills/index.json`)
        if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
        await response.arrayBuffer()
      },
    }
    return { lanes, done }
  }

  async function callTool(access: string): Promise<void> {
    const { status, who } = await whoami(installation.system, access)
    if (who?.user.id !== org.owner.userId) throw new Error(`${status}`)
  }

  /** How it was stopped: not ready first, by HAProxy left alone next, and all the while answering. */
  async function stopGently(replica: Replica): Promise<void> {
    const { service, port } = replica
    installation.forget(replica)
    replica.kill('SIGTERM')
    while ((await installation.haproxy.serversUp(service)).includes(port)) await sleep(50)
    expect(await readiness(replica), `${service} when HAProxy has noticed`).toBe(503)
    expect(await replica.exited).toMatchObject({ code: 0 })
    ended.push(service)
  }

  test('a: all are replaced one after the other, and no request fails', { timeout: TIMEOUT_MS }, async () => {
    const from = performance.now()
    const many = installation.replicas().length
    const stops: Promise<void>[] = []
    for (const old of inTurn(installation.replicas())) {
      await installation.start(old.service)
      stops.push(stopGently(old))
    }
    await Promise.all(stops)
    await load.untilWell(2)
    const calls = load.during(from)
    console.log(`a: ${ended.length} processes replaced in ${seconds(from)}; ${countByLane(calls)}`)
    expect(failuresAmong(calls)).toEqual([])
    expect([many, ended.length]).toEqual([20, 20])
  })

  test(
    'b: one of each is killed, and only what it had in its hands fails',
    { timeout: TIMEOUT_MS },
    async () => {
      for (const [service, lanes] of Object.entries(PASSES) as [ServiceName, RegExp][]) {
        const isAlone = installation.replicas(service).length === 1
        const victim = installation.replicas(service)[0]!
        const killed = performance.now()
        installation.forget(victim)
        await victim.stop('SIGKILL')
        const gone = performance.now()
        await installation.start(service)
        const replaced = performance.now()
        await load.untilWell(1)
        const calls = load.during(killed)
        const failed = calls.filter(({ failure }) => failure !== undefined)
        console.log(
          `b: ${service} killed, replaced after ${seconds(gone, replaced)}, all is well after ${seconds(gone)}; ` +
            `${calls.length} calls, failed: ${countByLane(failed) || 'none'}`,
        )
        // Where there was only one, there is nobody until the next one is there.
        const last = isAlone ? replaced : gone
        expect(failed.filter(({ began }) => began > last).map(wordsOfCall), service).toEqual([])
        expect(failed.filter(({ lane }) => !lanes.test(lane)).map(wordsOfCall), service).toEqual([])
      }
    },
  )

  test(
    'c: the database goes and comes back: nobody ends, all are ready again, nothing is broken',
    { timeout: TIMEOUT_MS },
    async () => {
      const before = installation.replicas()
      const exits: string[] = []
      for (const one of before)
        void one.exited.then(({ code }) => exits.push(`${one.service} ended: ${code}`))
      const withDatabase = before.filter(({ service }) => HAS_DATABASE.has(service))
      const halted = performance.now()
      await installation.postgres.halt()
      await untilAll(withDatabase, async (one) => (await readiness(one)) === 503)
      for (const service of HAS_DATABASE) {
        while ((await installation.haproxy.serversUp(service)).length > 0) await sleep(50)
      }
      const others = before.filter(({ service }) => !HAS_DATABASE.has(service))
      expect(new Set(await Promise.all(others.map(readiness)))).toEqual(new Set([200]))
      await until(async () => load.during(halted).filter(({ failure }) => failure !== undefined).length >= 10)
      const resumed = performance.now()
      await installation.postgres.resume()
      await untilAll(withDatabase, async (one) => (await readiness(one)) === 200)
      const ready = performance.now()
      for (const service of HAS_DATABASE) {
        const many = before.filter((one) => one.service === service).length
        while ((await installation.haproxy.serversUp(service)).length < many) await sleep(50)
      }
      const up = performance.now()
      await load.untilWell(2)
      const calls = load.during(halted)
      const failed = calls.filter(({ failure }) => failure !== undefined)
      console.log(
        `c: the database was away for ${seconds(halted, resumed)}, all were ready after ${seconds(resumed, ready)}; ` +
          `${calls.length} calls, failed: ${countByLane(failed)}`,
      )
      expect(failed.length).toBeGreaterThan(0)
      expect(failed.filter(({ began }) => began > up).map(wordsOfCall)).toEqual([])
      expect(exits).toEqual([])
    },
  )

  test(
    'd: a newer version migrates every table while the older one runs, and no request fails',
    { timeout: TIMEOUT_MS },
    async () => {
      const from = performance.now()
      const { launcher, migrations } = await plantVersion(installation)
      const { code, stdout, stderr } = await installation.own.run({
        launcher,
        args: ['migrate'],
        env: { DATABASE_URL: installation.databaseUrl },
      })
      expect([code, stderr, stdout]).toEqual([0, '', `Applied: ${migrations.join(', ')}\n`])
      const migrated = performance.now()
      await load.untilWell(3)
      const stops: Promise<void>[] = []
      // Newer ones beside older ones, and an older one that has to start again.
      for (const service of HAS_DATABASE) {
        const old = installation.replicas(service)[0]!
        await installation.start(service, launcher)
        stops.push(stopGently(old))
      }
      const again = await installation.start('api-gateway')
      expect(
        again.logLines().filter(({ event }) => event === 'the database is newer than this program'),
      ).toHaveLength(1)
      stops.push(stopGently(installation.replicas('api-gateway')[0]!))
      await Promise.all(stops)
      await load.untilWell(2)
      const calls = load.during(from)
      console.log(
        `d: ${migrations.length} migrations in ${seconds(from, migrated)}, then ${stops.length} processes; ${countByLane(calls)}`,
      )
      expect(failuresAmong(calls)).toEqual([])
    },
  )

  describe('e: what holds with one holds with four', () => {
    let spent: {
      first: Tokens
      refresh: (origin: string, token: string) => ReturnType<ReturnType<typeof newAssistant>['refresh']>
      current: Tokens
      at: number
    }

    beforeAll(async () => {
      await load.stop()
    })

    /** Past HAProxy, each in its turn. */
    const direct = (service: ServiceName) => {
      const origins = installation.replicas(service).map(originOf)
      expect(origins).toHaveLength(4)
      return (n: number) => origins[n % 4]!
    }
    const at = (origin: string, token?: string, address?: string) =>
      httpClient(overNetwork(new URL(origin)), { token, address })

    test('one refresh token, refreshed at once at all of them: one answer', async () => {
      const auth = direct('auth-service')
      const { system } = installation
      const client = await preRegistered(system)
      const first = await newAssistant(system, client).connect(org.owner)
      const refresh = (origin: string, token: string) =>
        newAssistant({ ...system, origin }, client).refresh(token)
      const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => refresh(auth(n), first.refresh)))
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
      const pairs = new Set(
        answers.map(({ body }) => JSON.stringify([body.access_token, body.refresh_token])),
      )
      expect(pairs.size).toBe(1)
      const family = await installation.connection.db
        .select()
        .from(oauthArtifacts)
        .where(and(eq(oauthArtifacts.grantId, first.grantId), eq(oauthArtifacts.kind, 'RefreshToken')))
      expect(family.filter(({ consumedAt }) => consumedAt === null)).toHaveLength(1)
      spent = { first, refresh, current: tokensIn(answers[0]!), at: performance.now() }
      console.log('e: 20 refreshes at once, one answer')
    })

    test('wrong passwords of one address, MCP calls of one grant: exactly as many as one process lets through', async () => {
      const gateway = direct('api-gateway')
      const guesser = '203.0.113.9'
      const guess = async (n: number) => {
        const response = await fetch(`${gateway(n)}/api/v1/sessions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-forwarded-for': guesser },
          body: JSON.stringify({
            email: `${unique('nobody')}@people.test`,
            password: 'a wild guess of somebody',
          }),
        })
        return response.status
      }
      const { count, seconds: window } = SIGN_IN_FAILURES_PER_ADDRESS
      const guessed = await countingUntilRefilled(window / count, () =>
        Promise.all(Array.from({ length: 2 * count }, (_, n) => guess(n))),
      )
      expect(new Set(guessed.result)).toEqual(new Set([401, 429]))
      const guesses = guessed.result.filter((status) => status === 401).length
      expect(guesses).toBeGreaterThanOrEqual(count)
      expect(guesses).toBeLessThanOrEqual(count + guessed.refilled)

      const mcp = direct('mcp-server')
      const { access } = await connected()
      const lane = async (n: number) => {
        for (let calls = 0; ; calls++) {
          const { status } = await whoami({ origin: mcp(n) }, access)
          if (status === 429) return calls
          expect(status).toBe(200)
        }
      }
      const called = await countingUntilRefilled(60 / CALLS_PER_MINUTE, () =>
        Promise.all(Array.from({ length: 12 }, (_, n) => lane(n))),
      )
      const calls = called.result.reduce((sum, some) => sum + some)
      console.log(
        `e: ${guesses} of ${2 * count} guesses (limit ${count}); ${calls} MCP calls (limit ${CALLS_PER_MINUTE}, ` +
          `at most ${called.refilled} more in that time), by lane ${called.result.join(' ')}`,
      )
      expect(calls).toBeGreaterThanOrEqual(CALLS_PER_MINUTE)
      expect(calls).toBeLessThanOrEqual(CALLS_PER_MINUTE + called.refilled)
    })

    test('organizations of a person, invitations and registered clients: exactly as many as there may be', async () => {
      const gateway = direct('api-gateway')
      const founder = await makePerson(installation.system)
      const founded = await outcomes(4 * ORGANIZATIONS, (n) =>
        at(gateway(n), founder.token)(createOrganization, { name: unique('Org') }),
      )
      expect(founded).toEqual({ fulfilled: ORGANIZATIONS, CONFLICT: 3 * ORGANIZATIONS })

      const inviting = await makeOrganization(installation.system)
      const invited = await outcomes(INVITATIONS_PER_PERSON.count + 30, (n) =>
        at(gateway(n), inviting.owner.token)(inviteMember, {
          org_id: inviting.id,
          email: `${unique('guest')}@people.test`,
          role: 'viewer',
        }),
      )
      expect(invited).toEqual({ fulfilled: INVITATIONS_PER_PERSON.count, RATE_LIMITED: 30 })

      const auth = direct('auth-service')
      const answers = await Promise.all(
        Array.from({ length: DYNAMIC_CLIENTS.active + 20 }, (_, n) =>
          register({ origin: auth(n) }, { redirect_uris: [`https://client-${n}.example/cb`] }),
        ),
      )
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(DYNAMIC_CLIENTS.active)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(20)
      const registered = await installation.connection.db
        .select()
        .from(platformOauthClients)
        .where(eq(platformOauthClients.kind, 'dynamic'))
      expect(registered).toHaveLength(DYNAMIC_CLIENTS.active)
      console.log(
        `e: ${JSON.stringify({ founded, invited })}, ${registered.length} of ${answers.length} registrations`,
      )
    })

    test('what ends at one is over at all with the very next call', async () => {
      const [mcp, gateway, auth] = [direct('mcp-server'), direct('api-gateway'), direct('auth-service')]
      const four = [0, 1, 2, 3]
      const mcpStatuses = (token: string) =>
        Promise.all(four.map(async (n) => (await whoami({ origin: mcp(n) }, token)).status))
      const validate = async (origin: string, token: string) => {
        const response = await fetch(`${origin}/api/v1/tokens/validate`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ token }),
        })
        return response.status
      }
      const me = (origin: string, token: string) =>
        at(origin, token)(whoAmI, {}).then(
          () => 200,
          ({ code }: { code: string }) => (code === 'UNAUTHENTICATED' ? 401 : code),
        )
      const statuses = async (token: string) =>
        new Set(await Promise.all(four.flatMap((n) => [me(gateway(n), token), validate(auth(n), token)])))
      for (let round = 0; round < 4; round++) {
        const { access, grantId } = await connected()
        expect(await mcpStatuses(access)).toEqual([200, 200, 200, 200])
        await at(gateway(round), org.owner.token)(revokeGrant, { grant_id: grantId })
        expect(await mcpStatuses(access)).toEqual([401, 401, 401, 401])

        const { id, token } = await makeApiToken(installation.system, org, org.owner)
        expect(await statuses(token)).toEqual(new Set([200]))
        await at(gateway(round), org.owner.token)(revokeApiToken, { token_id: id })
        expect(await statuses(token)).toEqual(new Set([401]))

        const member = await makeMember(installation.system, org, 'developer')
        const of = await makeApiToken(installation.system, org, member)
        expect(await statuses(of.token)).toEqual(new Set([200]))
        await at(gateway(round), org.owner.token)(removeMember, { org_id: org.id, user_id: member.userId })
        expect(await statuses(of.token)).toEqual(new Set([401]))
      }
      console.log('e: 12 endings, each at all of them at once')
    })

    test('a scheduled time has one run, of pipelines and of the maintenance agent', async () => {
      const { db } = installation.connection
      const night = await makeOrganization(installation.system)
      const alias = unique('app')
      await night.owner.call(createApp, { alias, name: 'Night' })
      const ids: string[] = []
      for (let n = 0; n < 20; n++) {
        const made = await night.owner.call(createPipeline, { alias, name: `job-${n}`, cron: '0 3 * * *' })
        ids.push(made.id)
      }
      await turnOn(night)
      const maintained: string[] = []
      for (let n = 0; n < 10; n++) maintained.push((await makeMaintainedApp(night)).id)
      // Both at once, and all of them in the same moment.
      const due = new Date(Math.floor(Date.now() / 1000) * 1000)
      await db.transaction(async (tx) => {
        await tx.update(pipelines).set({ nextDueAt: due }).where(inArray(pipelines.id, ids))
        await tx
          .update(maintenanceSettings)
          .set({ nextSlotAt: due })
          .where(eq(maintenanceSettings.orgId, night.id))
      })
      const runsOfPipelines = () =>
        db
          .select()
          .from(pipelineRuns)
          .where(and(eq(pipelineRuns.orgId, night.id), eq(pipelineRuns.isScheduled, true)))
      const runsOfAgent = () => db.select().from(maintenanceRuns).where(eq(maintenanceRuns.orgId, night.id))
      await until(async () => (await runsOfPipelines()).length >= 20 && (await runsOfAgent()).length >= 10)
      // What any of them had begun is over when they have ended.
      const workers = installation.replicas('worker')
      for (const one of workers) installation.forget(one)
      const exits = await Promise.all(workers.map((one) => one.stop()))
      expect(exits.map(({ code }) => code)).toEqual(workers.map(() => 0))
      await Promise.all(workers.map(() => installation.start('worker')))
      const slots = await db.select().from(maintenanceSlots).where(eq(maintenanceSlots.orgId, night.id))
      const runs = await runsOfPipelines()
      expect(runs.map(({ pipelineId }) => pipelineId).toSorted()).toEqual(ids.toSorted())
      expect((await runsOfAgent()).map(({ appId }) => appId).toSorted()).toEqual(maintained.toSorted())
      expect(slots.map(({ appId }) => appId).toSorted()).toEqual(maintained.toSorted())

      // And the one of the load, every minute since it was created, whatever happened to the workers.
      const rows = await db
        .select()
        .from(pipelineRuns)
        .where(eq(pipelineRuns.pipelineId, done.pipelineId))
        .orderBy(pipelineRuns.dueAt)
      const minutes = rows.map(({ dueAt }) => dueAt.getTime() / 60_000)
      expect(minutes).toEqual(minutes.map((_, n) => minutes[0]! + n))
      expect(new Set(done.runs).size).toBe(done.runs.length)
      console.log(
        `e: 20 pipelines and 10 apps due at once, one run each; ${rows.length} minutes: ` +
          rows.map(({ state }) => state).join(' '),
      )
    })

    test('after the grace a refresh token that comes again ends the grant, at all of them', async () => {
      const [auth, mcp] = [direct('auth-service'), direct('mcp-server')]
      const statuses = () =>
        Promise.all(
          [0, 1, 2, 3].map(async (n) => (await whoami({ origin: mcp(n) }, spent.current.access)).status),
        )
      expect(await statuses()).toEqual([200, 200, 200, 200])
      await sleep(Math.max(0, spent.at + (GRACE_S + 1) * 1000 - performance.now()))
      expect(await spent.refresh(auth(2), spent.first.refresh)).toMatchObject({
        status: 400,
        body: { error: 'invalid_grant' },
      })
      expect(await statuses()).toEqual([401, 401, 401, 401])
      expect((await spent.refresh(auth(3), spent.current.refresh)).status).toBe(400)
      const [grant] = await installation.connection.db
        .select()
        .from(platformAccessGrants)
        .where(eq(platformAccessGrants.id, spent.first.grantId))
      expect(grant?.revokedReason).toBe('reuse_detected')
    })

    test(
      'of all that the load did nothing is lost, and nothing was done twice',
      { timeout: TIMEOUT_MS },
      async () => {
        const { db } = installation.connection
        const ofLoad = and(
          eq(deliveries.orgId, org.id),
          eq(deliveries.integrationId, done.integrationId),
          eq(deliveries.type, 'support.ticket.created'),
        )
        const isOpen = and(ofLoad, inArray(deliveries.state, ['waiting', 'retrying']))
        const filed = async () => (await db.select().from(tickets).where(eq(tickets.appId, shop.id))).length
        // What the killed worker had begun counts as unknown after two minutes.
        await until(
          async () =>
            (await db.select().from(deliveries).where(isOpen)).length === 0 &&
            (await db.select().from(deliveries).where(ofLoad)).length === (await filed()),
          150_000,
        )
        const keys = dataKeys(installation.dataKey)
        const target = done.integrationId
        // By the id that the receiver sees.
        const rows = (await db.select().from(deliveries).where(ofLoad)).map((row) => ({
          ...row,
          id: receivedId(keys, { ...row, target }),
        }))
        const got = new Set(receiver.ids)
        const unconfirmed = rows.filter(({ reason }) => reason === 'outcome_unknown')
        const lines = await db
          .select({ text: logLines.text })
          .from(logLines)
          .where(and(eq(logLines.appId, shop.id), like(logLines.text, 'line %')))
        const stored = new Map<string, number>()
        for (const { text } of lines) stored.set(text, (stored.get(text) ?? 0) + 1)
        const outcome = {
          ticketsFiled: await filed(),
          deliveries: rows.length,
          twice: receiver.ids.length - got.size,
          sentButNotReceived: rows.filter(({ id, state }) => state === 'sent' && !got.has(id)).length,
          receivedButUnknown: receiver.ids.filter((id) => !rows.some((row) => row.id === id)).length,
          other: rows.filter(({ state, reason }) => state !== 'sent' && reason !== 'outcome_unknown').length,
          linesLost: done.acknowledged.filter((line) => !stored.has(line)).length,
          linesTwice: [...stored.values()].filter((count) => count > 1).length,
        }
        console.log(
          `e: ${JSON.stringify(outcome)}, unconfirmed: ${unconfirmed.length}, ` +
            `lines: ${done.acknowledged.length} acknowledged, ${done.unsure.length} without an answer`,
        )
        expect(outcome).toEqual({
          // The last one may have been filed although its answer did not come.
          ticketsFiled: expect.toSatisfy((n: number) => n === done.tickets || n === done.tickets + 1),
          deliveries: outcome.ticketsFiled,
          twice: 0,
          sentButNotReceived: 0,
          receivedButUnknown: 0,
          other: 0,
          linesLost: 0,
          linesTwice: 0,
        })
        // One worker was killed, and the database went away from four.
        expect(unconfirmed.length).toBeLessThanOrEqual(5 * 32)
        expect(rows.length - unconfirmed.length).toBeGreaterThan(50)
        expect(done.acknowledged.length).toBeGreaterThan(50)
      },
    )
  })
})

/** What the load has done, as it knows it. */
type Done = {
  readonly pipelineId: string
  readonly integrationId: string
  tickets: number
  readonly runs: string[]
  readonly acknowledged: string[]
  /** Sent, and not yet or never answered. */
  readonly unsure: string[]
}

const HAS_DATABASE: ReadonlySet<ServiceName> = new Set([
  'auth-service',
  'api-gateway',
  'deploy-api',
  'worker',
])

/** Which lanes of the load go through a service. */
const PASSES: Partial<Record<ServiceName, RegExp>> = {
  worker: /^$/,
  'auth-service': /^(?!site)/,
  'api-gateway': /^(?!site|refresh)/,
  'mcp-server': /^mcp/,
  'deploy-api': /^(apps|tickets|logs|pipeline worker|console)$/,
  'agent-runner': /^$/,
  console: /^console$/,
  site: /^site$/,
}

const originOf = ({ port }: Replica): string => `http://127.0.0.1:${port}`

const readiness = async (replica: Replica): Promise<number> =>
  (await fetch(`${originOf(replica)}/readyz`, { headers: { connection: 'close' } })).status

const seconds = (from: number, to = performance.now()): string => `${((to - from) / 1000).toFixed(1)} s`

const wordsOfCall = ({ lane, began, ended, failure }: LoadCall): string =>
  `${lane}, ${Math.round(began)} to ${Math.round(ended)}: ${failure}`

/** One of each service, then another one of each: while one of a service goes, others are replaced. */
function inTurn(replicas: readonly Replica[]): Replica[] {
  const place = new Map<Replica, number>()
  const seen = new Map<ServiceName, number>()
  for (const replica of replicas) {
    place.set(replica, seen.get(replica.service) ?? 0)
    seen.set(replica.service, place.get(replica)! + 1)
  }
  return replicas.toSorted((a, b) => place.get(a)! - place.get(b)!)
}

async function until(isTrue: () => Promise<boolean>, ms = 60_000): Promise<void> {
  for (const began = performance.now(); !(await isTrue()); await sleep(200)) {
    if (performance.now() - began > ms) throw new Error(`not within ${ms} ms: ${isTrue.toString()}`)
  }
}

const untilAll = (replicas: readonly Replica[], isTrue: (one: Replica) => Promise<boolean>) =>
  Promise.all(replicas.map((one) => until(() => isTrue(one))))

/** How a burst of calls ended: how many were answered, and how many with which code. */
async function outcomes(
  many: number,
  call: (n: number) => Promise<unknown>,
): Promise<Record<string, number>> {
  const settled = await Promise.allSettled(Array.from({ length: many }, (_, n) => call(n)))
  const counts: Record<string, number> = {}
  for (const one of settled) {
    const how = one.status === 'fulfilled' ? 'fulfilled' : String((one.reason as { code?: unknown }).code)
    counts[how] = (counts[how] ?? 0) + 1
  }
  return counts
}

/** A limit regains one use every so many seconds: how many it has regained at most when the work is done. */
async function countingUntilRefilled<T>(
  everySeconds: number,
  work: () => Promise<T>,
): Promise<{ result: T; refilled: number }> {
  const began = performance.now()
  const result = await work()
  return { result, refilled: Math.floor((performance.now() - began) / 1000 / everySeconds) }
}

type Receiver = { readonly url: string; readonly ids: string[]; readonly close: () => Promise<void> }

/** Writes down what it gets, then answers. */
async function openReceiver(): Promise<Receiver> {
  const ids: string[] = []
  const server: Server = createServer((incoming, outgoing) => {
    let body = ''
    incoming.setEncoding('utf8').on('data', (text: string) => (body += text))
    incoming.on('end', () => {
      ids.push(...(JSON.parse(body) as { id: string }[]).map(({ id }) => id))
      outgoing.writeHead(200).end()
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    ids,
    url: `http://127.0.0.1:${port}/counter`,
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

/** A version of the program with migrations that only add: a column for every table there is, and a table. */
async function plantVersion({ own, connection }: Installation) {
  const folder = join(await own.newFolder(), 'newer')
  for (const part of ['bin', 'db', 'mcp', 'oauth', 'skills', 'src', 'package.json']) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const tables = await connection.sql.query<{ name: string }>(
    `select relname as name from pg_class where relkind in ('r', 'p') and not relispartition
       and relnamespace = 'public'::regnamespace and relname <> 'svc_migrations' order by 1`,
  )
  const journalFile = join(folder, 'db', 'migrations', 'meta', '_journal.json')
  const journal = JSON.parse(readFileSync(journalFile, 'utf8')) as { entries: { idx: number; tag: string }[] }
  let next = Number.parseInt(journal.entries.at(-1)!.tag, 10) + 1
  const migrations: string[] = []
  const plant = (name: string, statement: string) => {
    const tag = `${String(next).padStart(4, '0')}_planted-${name}`
    writeFileSync(join(folder, 'db', 'migrations', `${tag}.sql`), statement)
    journal.entries.push({ idx: next++, tag })
    migrations.push(tag)
  }
  for (const { name } of tables) {
    plant(name, `ALTER TABLE "${name}" ADD COLUMN "planted" text DEFAULT 'planted' NOT NULL;`)
  }
  plant('table', 'CREATE TABLE "planted" ("id" text PRIMARY KEY);')
  writeFileSync(journalFile, JSON.stringify(journal))
  return { launcher: join(folder, 'bin', 'server'), migrations }
}
