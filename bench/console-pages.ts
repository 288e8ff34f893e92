/** The whole system in this process, with a busy week behind it: what its pages cost, and what they ask for. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { sql } from '../db/drizzle.ts'
import {
  activity,
  auditLog,
  deliveries,
  events,
  integrations,
  messages,
  platformAccessGrants,
} from '../db/schema.ts'
import { dispatcher } from '../src/boot/listener.ts'
import { httpClient } from '../src/client/http-client.ts'
import { listActivity, summarizeActivity } from '../src/contracts/activity.ts'
import { listAudit } from '../src/contracts/audit.ts'
import { listDeliveries, summarizeDeliveries } from '../src/contracts/deliveries.ts'
import { listGrants, showGrant } from '../src/contracts/grants.ts'
import { makeId } from '../src/contracts/ids.ts'
import { listNotifications } from '../src/contracts/inbox.ts'
import { listOrganizations } from '../src/contracts/organizations.ts'
import { whoAmI } from '../src/contracts/people.ts'
import { signInWithPassword } from '../src/contracts/sessions.ts'
import type { PageCost } from './console.ts'

import { knownVectors, startSourceSystem } from './source-system.ts'

/** Of agents, in the week that the pages show. */
const CALLS = Number(process.argv[2])
const AGENTS = 20
const INTEGRATIONS = 5
const DELIVERIES = 20_000
const AUDITED = 20_000
const DAY_MS = 86_400_000
const DAYS = 7
const [ROUNDS_TO_WARM_UP, ROUNDS, IN_A_ROUND] = [2, 8, 5]
const LOGIN = { email: 'owner@bench.example', password: 'a long enough password of the bench' }

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
const { system, deps, owner, stop } = await startSourceSystem(
  { SVC_DATA_DIR: folder, SVC_ADMIN_EMAIL: LOGIN.email, SVC_ADMIN_PASSWORD: LOGIN.password },
  knownVectors('known-vectors', 384, () => undefined),
)
const grants = await insertAgents()
await insertCalls()
await insertDeliveries()
await insertAudit()
const { token } = await httpClient(system.services.get('api-gateway')!)(signInWithPassword, LOGIN)
const call = httpClient(system.services.get('api-gateway')!, { token, organization: owner.orgId })
const fetchPage = dispatcher(system)

const week = new Date(Date.now() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10)
const from = `${week}T00:00:00.000Z`
const agent = grants[0]!
const ofAgent = { type: 'all', grant_id: agent } as const
/** Of every page: who is signed in, their organizations, and how much they have not read. */
const OF_EVERY_PAGE = {
  whoAmI: () => call(whoAmI, {}),
  listOrganizations: () => call(listOrganizations, {}),
  listNotifications: () => call(listNotifications, { limit: 1 }),
}
const PAGES: Record<string, Record<string, () => Promise<unknown>>> = {
  '/console': {
    summarizeActivity: () => call(summarizeActivity, { type: 'all', from, agents: 'true' }),
  },
  '/console/activity': {
    listActivity: () => call(listActivity, { type: 'data_source', count: 'true' }),
    summarizeActivity: () => call(summarizeActivity, { type: 'data_source', agents: 'true' }),
  },
  '/console/agents?all=true': { listGrants: () => call(listGrants, { all: 'true', count: 'true' }) },
  [`/console/agents/${agent}`]: {
    showGrant: () => call(showGrant, { grant_id: agent }),
    summarizeActivity: () => call(summarizeActivity, ofAgent),
    listActivity: () => call(listActivity, { ...ofAgent, limit: 10 }),
  },
  '/console/deliveries': {
    listDeliveries: () => call(listDeliveries, { count: 'true' }),
    summarizeDeliveries: () => call(summarizeDeliveries, { health: 'true' }),
  },
  '/console/deliveries?state=failed': {
    listDeliveries: () => call(listDeliveries, { state: 'failed', count: 'true' }),
  },
  '/console/audit': { listAudit: () => call(listAudit, { org_id: owner.orgId, count: 'true' }) },
  '/console/connect?assistant=codex': { listGrants: () => call(listGrants, { limit: 5 }) },
}

const costs: PageCost[] = []
for (const [path, operations] of Object.entries(PAGES)) {
  const open = async () => {
    const headers = { cookie: `svc_console=${token}`, 'sec-fetch-site': 'none' }
    const answer = await fetchPage(new Request(`http://localhost:4000${path}`, { headers }))
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${text.slice(0, 300)}`)
    return text
  }
  const compressedKiB = brotliCompressSync(await open()).length / 1024
  const asked = { ...OF_EVERY_PAGE, ...operations }
  const [cpuMs, ...cpuMsOf] = await cpuOf([open, ...Object.values(asked)])
  const slowest = Object.keys(asked)
    .map((name, at) => ({ name, cpuMs: cpuMsOf[at]! }))
    .reduce((most, one) => (one.cpuMs > most.cpuMs ? one : most))
  costs.push({ path: path.replace(agent, '…'), cpuMs: cpuMs!, slowest, compressedKiB })
}
console.log(JSON.stringify(costs))
await stop()
rmSync(folder, { recursive: true, force: true })
console.log('done')

/** In turns, after a few to warm up: an hour in which the machine is slower is one for all of them. */
async function cpuOf(works: readonly (() => Promise<unknown>)[]): Promise<number[]> {
  const spent = works.map(() => 0)
  for (let round = 0; round < ROUNDS_TO_WARM_UP + ROUNDS; round += 1) {
    for (const [at, work] of works.entries()) {
      const before = process.cpuUsage()
      for (let time = 0; time < IN_A_ROUND; time += 1) await work()
      const { user, system: kernel } = process.cpuUsage(before)
      if (round >= ROUNDS_TO_WARM_UP) spent[at]! += (user + kernel) / 1000
    }
  }
  return spent.map((ms) => ms / (ROUNDS * IN_A_ROUND))
}

async function insertAgents(): Promise<string[]> {
  const now = new Date()
  const rows = Array.from({ length: AGENTS }, (_, at) => ({
    id: makeId('grt', now.getTime()),
    orgId: owner.orgId,
    userId: owner.userId!,
    clientId: `https://assistant-${at}.example/client.json`,
    clientKind: 'metadata_document' as const,
    clientName: `Assistant ${at}`,
    redirectHost: '127.0.0.1',
    resource: 'platform' as const,
    scopes: ['data:read' as const],
    payload: {},
    keyEpoch: system.auth!.keyEpoch,
    createdAt: now,
    expiresAt: new Date(now.getTime() + 300 * DAY_MS),
  }))
  await deps.db.insert(platformAccessGrants).values(rows)
  return rows.map(({ id }) => id)
}

async function insertCalls(): Promise<void> {
  const now = Date.now()
  for (let done = 0; done < CALLS; done += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, at) => {
      const number = done + at
      const time = now - (DAYS * DAY_MS * (CALLS - number)) / CALLS
      const isQuestion = number % 3 !== 0
      return {
        orgId: owner.orgId,
        id: makeId('act', time),
        at: new Date(time),
        type: isQuestion ? ('data_source' as const) : ('function' as const),
        name: isQuestion ? 'db_handbook' : 'whoami',
        userId: owner.userId!,
        userName: owner.userName,
        entryPoint: 'mcp' as const,
        clientId: `https://assistant-${number % AGENTS}.example/client.json`,
        clientName: `Assistant ${number % AGENTS}`,
        grantId: grants[number % AGENTS]!,
        outcome: number % 11 === 0 ? ('refused' as const) : ('answered' as const),
        durationMs: 40,
        questionBytes: 40,
        answerBytes: 4_000,
        requestId: 'req_bench',
      }
    })
    await deps.db.insert(activity).values(rows)
  }
  await deps.db.execute(sql`analyze activity`)
}

async function insertDeliveries(): Promise<void> {
  const now = Date.now()
  const { orgId } = owner
  const made = Array.from({ length: INTEGRATIONS }, (_, at) => ({
    orgId,
    id: makeId('int', now),
    kind: 'webhook' as const,
    name: `Receiver ${at}`,
    state: 'active' as const,
    config: { address: 'https://receiver.example/…' },
    sealed: '',
    digest: String(at),
    lastSuccessAt: new Date(now),
    createdAt: new Date(now - DAYS * DAY_MS),
  }))
  await deps.db.insert(integrations).values(made)
  for (let done = 0; done < DELIVERIES; done += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, at) => {
      const time = now - (DAYS * DAY_MS * (DELIVERIES - done - at)) / DELIVERIES
      const id = (prefix: 'evt' | 'dlv' | 'msg') => makeId(prefix, time)
      const [eventId, messageId, isSent] = [id('evt'), id('msg'), at % 17 !== 0]
      const [date, integrationId] = [new Date(time), made[at % INTEGRATIONS]!.id]
      const settled = { type: 'deploy.failed', channel: 'webhook' as const, createdAt: date }
      return {
        event: {
          orgId,
          id: eventId,
          seq: done + at,
          source: 'bench',
          dedupKey: eventId,
          type: settled.type,
          subject: 'deployments/dep_1',
          data: {},
          occurredAt: date,
          recordedAt: date,
          fannedOutAt: date,
        },
        delivery: {
          ...settled,
          orgId,
          id: id('dlv'),
          eventId,
          messageId,
          integrationId,
          state: isSent ? ('sent' as const) : ('failed' as const),
          reason: isSent ? null : ('gave_up' as const),
          settledAt: date,
        },
        message: {
          orgId,
          id: messageId,
          channel: settled.channel,
          integrationId,
          target: integrationId,
          state: isSent ? ('sent' as const) : ('failed' as const),
          attempts: 1,
          nextAt: date,
          createdAt: date,
        },
      }
    })
    await deps.db.insert(events).values(rows.map(({ event }) => event))
    await deps.db.insert(deliveries).values(rows.map(({ delivery }) => delivery))
    await deps.db.insert(messages).values(rows.map(({ message }) => message))
  }
  await deps.db.execute(sql`analyze deliveries, messages, events`)
}

async function insertAudit(): Promise<void> {
  const now = Date.now()
  for (let done = 0; done < AUDITED; done += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, at) => {
      const time = now - (DAYS * DAY_MS * (AUDITED - done - at)) / AUDITED
      return {
        orgId: owner.orgId,
        id: makeId('aud', time),
        at: new Date(time),
        action: 'integration.tested' as const,
        actorKind: 'user' as const,
        actorId: owner.userId,
        actorName: owner.userName,
        subject: 'Receiver 1',
        requestId: 'req_bench',
        supportSessionId: null,
      }
    })
    await deps.db.insert(auditLog).values(rows)
  }
  await deps.db.execute(sql`analyze audit_log`)
}
