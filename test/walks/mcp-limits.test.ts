/** Calls per minute of a grant and of an API token: counted to the last one, for all processes together. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { listActivity } from '../../src/contracts/activity.ts'
import { eq } from '../../db/drizzle.ts'
import { throttles } from '../../db/schema.ts'
import {
  newAssistant,
  preRegistered,
  startListeningSystem,
  whoami,
  type ListeningSystem,
  type Tokens,
} from '../support/assistant.ts'
import { makeApiToken, makeOrganization, type Org } from '../support/make.ts'
import { freshSecrets } from '../support/system.ts'

const PER_MINUTE = 7
/** Replicas need a server: the embedded engine has a single process. */
const replicas = inject('engine') === 'postgres' ? 2 : 1

let systems: ListeningSystem[]
let system: ListeningSystem

beforeAll(async () => {
  const settings = { ...freshSecrets(), MCP_CALLS_PER_MINUTE: String(PER_MINUTE) }
  system = await startListeningSystem(settings)
  systems = [system]
  if (replicas === 1) return
  const urls = {
    API_URL: system.origin,
    AUTH_URL: system.origin,
    MCP_URL: system.origin,
    APP_URL: system.origin,
  }
  const replica = await startListeningSystem({ ...settings, ...urls })
  // By the address it listens on, as a proxy reaches it: its public one is that of the first.
  systems.push({ ...replica, origin: replica.origin.replace('localhost', '127.0.0.1') })
})
afterAll(async () => {
  for (const one of systems) await one.stop()
})

async function connected(org: Org): Promise<Tokens> {
  return newAssistant(system, await preRegistered(system)).connect(org.owner, { scope: 'data:read' })
}

/** At once, spread over the replicas; how many were answered and how many refused. */
async function callAtOnce(token: string, count: number): Promise<Record<string, number>> {
  const calls = Array.from({ length: count }, (_, at) => whoami(systems[at % replicas]!, token))
  const counts: Record<string, number> = {}
  for (const { status } of await Promise.all(calls)) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

test.each(['grant', 'API token'])('a %s has exactly so many, and one more after each step', async (kind) => {
  const org = await makeOrganization(system)
  const token =
    kind === 'grant'
      ? (await connected(org)).access
      : (await makeApiToken(system, org, org.owner, { audiences: ['platform'] })).token
  expect(await callAtOnce(token, PER_MINUTE + 5)).toEqual({ 200: PER_MINUTE, 429: 5 })
  const { activity } = await system.as({ token: org.owner.token, organization: org.id })(listActivity, {})
  expect(activity.filter(({ error }) => error === 'RATE_LIMITED')).toHaveLength(5)
  expect(activity).toHaveLength(PER_MINUTE + 5)

  for (const one of systems) one.clock.advance(60 / PER_MINUTE + 1)
  expect(await callAtOnce(token, 3)).toEqual({ 200: 1, 429: 2 })
  for (const one of systems) one.clock.advance(60)
  expect(await callAtOnce(token, PER_MINUTE)).toEqual({ 200: PER_MINUTE })
})

test('another grant of the same person, and another organization, have their own', async () => {
  const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
  const [first, second, third] = [await connected(org), await connected(org), await connected(other)]
  expect(await callAtOnce(first.access, PER_MINUTE + 1)).toEqual({ 200: PER_MINUTE, 429: 1 })
  expect(await callAtOnce(second.access, 1)).toEqual({ 200: 1 })
  expect(await callAtOnce(third.access, 1)).toEqual({ 200: 1 })
})

test('what the gateway is called for behind a call is not counted, nor a token that does not exist', async () => {
  const org = await makeOrganization(system)
  const { access, grantId } = await connected(org)
  await whoami(system, access)
  const [row] = await system.db
    .select()
    .from(throttles)
    .where(eq(throttles.key, `mcp-calls:${grantId}`))
  const seconds = (row!.fullUntil.getTime() - system.clock.now().getTime()) / 1000
  expect(seconds).toBeLessThanOrEqual(60 / PER_MINUTE)
  const before = await system.db.$count(throttles)
  const { token } = await makeApiToken(system, org, org.owner, { audiences: ['platform'] })
  expect((await whoami(system, `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`)).status).toBe(401)
  expect(await system.db.$count(throttles)).toBe(before)
})
