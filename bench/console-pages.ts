/** The whole system in this process, with a busy week behind it: what its pages cost, and what they ask for. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { sql } from '../db/drizzle.ts'
import { activity, platformAccessGrants } from '../db/schema.ts'
import { dispatcher } from '../src/boot/listener.ts'
import { httpClient } from '../src/client/http-client.ts'
import { listActivity, summarizeActivity } from '../src/contracts/activity.ts'
import { listGrants, showGrant } from '../src/contracts/grants.ts'
import { makeId } from '../src/contracts/ids.ts'
import { signInWithPassword } from '../src/contracts/sessions.ts'
import type { PageCost } from './console.ts'

import { knownVectors, startSourceSystem } from './source-system.ts'

/** As many as an organization may ask in a week, with the limits as they come. */
const CALLS = 35_000
const AGENTS = 20
const DAY_MS = 86_400_000
const DAYS = 7
const REPEATED = 30
const LOGIN = { email: 'owner@bench.example', password: 'a long enough password of the bench' }

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
const { system, deps, owner, stop } = await startSourceSystem(
  { SVC_DATA_DIR: folder, SVC_ADMIN_EMAIL: LOGIN.email, SVC_ADMIN_PASSWORD: LOGIN.password },
  knownVectors('known-vectors', 384, () => undefined),
)
const grants = await insertAgents()
await insertCalls()
const { token } = await httpClient(system.services.get('api-gateway')!)(signInWithPassword, LOGIN)
const call = httpClient(system.services.get('api-gateway')!, { token, organization: owner.orgId })
const fetchPage = dispatcher(system)

const week = new Date(Date.now() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10)
const from = `${week}T00:00:00.000Z`
const agent = grants[0]!
const ofAgent = { type: 'all', grant_id: agent } as const
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
  const slowest = { name: '', cpuMs: 0 }
  for (const [name, ask] of Object.entries(operations)) {
    const cpuMs = await cpuOf(ask)
    if (cpuMs > slowest.cpuMs) Object.assign(slowest, { name, cpuMs })
  }
  costs.push({ path: path.replace(agent, '…'), cpuMs: await cpuOf(open), slowest, compressedKiB })
}
console.log(JSON.stringify(costs))
await stop()
rmSync(folder, { recursive: true, force: true })
console.log('done')

/** One after the other, after a few to warm up. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  for (let at = 0; at < REPEATED / 3; at += 1) await work()
  const before = process.cpuUsage()
  for (let at = 0; at < REPEATED; at += 1) await work()
  const { user, system: kernel } = process.cpuUsage(before)
  return (user + kernel) / 1000 / REPEATED
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
