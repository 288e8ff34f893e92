/** One assistant, two processes, one Postgres: refreshes in parallel never fail, and theft is noticed by both. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { and, eq } from '../../db/drizzle.ts'
import { oauthArtifacts, platformAccessGrants, platformOauthClients } from '../../db/schema.ts'
import { httpClient } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { readConfig } from '../../src/boot/config.ts'
import { revokeGrant } from '../../src/contracts/grants.ts'
import {
  newAssistant,
  preRegistered,
  register,
  tokensIn,
  whoami,
  type ListeningSystem,
  type Tokens,
} from '../support/assistant.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { makeOrganization, unique, type Org } from '../support/make.ts'
import { freePort } from '../support/free-port.ts'
import { processes, type Env } from '../support/process.ts'
import { freshSecrets } from '../support/system.ts'

/** Short, so that the test sees its end; long enough for twenty refreshes on a busy machine. */
const GRACE_S = 10

const own = processes()
let connection: Connection
let drop: () => Promise<unknown>
/** The same installation, seen through each process. */
let systems: readonly [ListeningSystem, ListeningSystem]
let org: Org

beforeAll(async () => {
  const { url } = inject('postgres')
  const name = unique('connector').replaceAll('-', '_')
  await onServer(url, `create database ${name}`)
  drop = () => onServer(url, `drop database ${name} with (force)`)
  const ports = [await freePort(), await freePort()] as const
  const address = `http://localhost:${ports[0]}`
  const env: Env = {
    DATABASE_URL: databaseUrl(url, name),
    SVC_ORG: 'Connector',
    // Both are the one public address; the second is reached as its neighbors reach it.
    APP_URL: address,
    API_URL: address,
    AUTH_URL: address,
    MCP_URL: address,
    TRUSTED_PROXIES: '127.0.0.1',
    ARGON2_MEMORY_KIB: '64',
    OAUTH_REFRESH_GRACE_S: String(GRACE_S),
    ...freshSecrets(),
  }
  await Promise.all(ports.map((port) => own.start({ env: { ...env, PORT: String(port) } })))
  connection = await connect({ url: env.DATABASE_URL! })
  const config = readConfig({ ...env, PORT: String(ports[0]) })
  const first = {
    system: { config },
    db: connection.db,
    clock: { now: () => new Date() },
    as: (who) => httpClient(overNetwork(config.API_URL), who),
    origin: address,
  } as ListeningSystem
  systems = [first, { ...first, origin: `http://127.0.0.1:${ports[1]}` }]
  org = await makeOrganization(first)
})
afterAll(async () => {
  await own.cleanUp()
  await connection?.close()
  await drop?.()
})

/** The same client at both processes, connected through the first. */
async function connected() {
  const client = await preRegistered(systems[0])
  const assistants = systems.map((system) => newAssistant(system, client))
  return { assistants, tokens: await assistants[0]!.connect(org.owner) }
}

const familyOf = ({ grantId }: Tokens) =>
  connection.db
    .select()
    .from(oauthArtifacts)
    .where(and(eq(oauthArtifacts.grantId, grantId), eq(oauthArtifacts.kind, 'RefreshToken')))

const callEverywhere = async (token: string) =>
  Promise.all(systems.map(async (system) => (await whoami(system, token)).status))

test('twenty refreshes at once over both: no failure, one successor, one family; a replay after the grace ends it', async () => {
  const { assistants, tokens } = await connected()
  let current = tokens
  for (let round = 0; round < 5; round++) {
    const { refresh } = current
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => assistants[i % 2]!.refresh(refresh)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(
      new Set(answers.map(({ body }) => JSON.stringify([body.access_token, body.refresh_token]))).size,
    ).toBe(1)
    expect((await familyOf(tokens)).filter(({ consumedAt }) => consumedAt === null)).toHaveLength(1)
    current = tokensIn(answers[0]!)
    expect(current.grantId).toBe(tokens.grantId)
    expect(await callEverywhere(current.access)).toEqual([200, 200])
  }
  await new Promise((resolve) => setTimeout(resolve, (GRACE_S + 1) * 1000))
  expect(await assistants[1]!.refresh(tokens.refresh)).toMatchObject({
    status: 400,
    body: { error: 'invalid_grant' },
  })
  expect(await callEverywhere(current.access)).toEqual([401, 401])
  expect((await assistants[0]!.refresh(current.refresh)).status).toBe(400)
  const [grant] = await connection.db
    .select()
    .from(platformAccessGrants)
    .where(eq(platformAccessGrants.id, tokens.grantId))
  expect(grant?.revokedReason).toBe('reuse_detected')
})

test('one code exchanged at both at once gives one answer at most, and then nothing lives', async () => {
  const client = await preRegistered(systems[0])
  const [one, two] = systems.map((system) => newAssistant(system, client))
  const { asked, back } = await one!.ask(org.owner)
  const code = back.searchParams.get('code')!
  const answers = await Promise.all([one!, two!, one!, two!].map((each) => each.exchange(code, asked)))
  const good = answers.filter(({ status }) => status === 200)
  expect(good.length).toBeLessThanOrEqual(1)
  for (const answer of good) expect(await callEverywhere(tokensIn(answer).access)).toEqual([401, 401])
})

test('120 registrations at once over both leave exactly a hundred', async () => {
  const answers = await Promise.all(
    Array.from({ length: 120 }, (_, i) =>
      register(systems[i % 2]!, { redirect_uris: [`https://client-${i}.example/cb`] }),
    ),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(100)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(20)
  const rows = await connection.db
    .select()
    .from(platformOauthClients)
    .where(eq(platformOauthClients.kind, 'dynamic'))
  expect(rows).toHaveLength(100)
})

test('what ends at one process is over at the other with the next call', async () => {
  const { assistants, tokens } = await connected()
  expect(await callEverywhere(tokens.access)).toEqual([200, 200])
  await org.owner.call(revokeGrant, { grant_id: tokens.grantId })
  expect(await callEverywhere(tokens.access)).toEqual([401, 401])
  expect((await assistants[1]!.refresh(tokens.refresh)).status).toBe(400)
})
