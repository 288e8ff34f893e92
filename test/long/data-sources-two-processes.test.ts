/** Managed databases in one of two processes over one Postgres: both serve them alike, and count and take over as one. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { DataFolderInUse, lockDataFolder } from '../../db/data-folder-lock.ts'
import { and, eq } from '../../db/drizzle.ts'
import { activity, dataSources, questionCounts } from '../../db/schema.ts'
import { httpClient, type Call } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { readConfig } from '../../src/boot/config.ts'
import {
  queryDataSource,
  saveSearchConfiguration,
  setDataSourceState,
  setDataSourceExposure,
} from '../../src/contracts/data-sources.ts'
import {
  createDatabase,
  removeDatabase,
  rotateConnectionString,
  showConnectionString,
} from '../../src/contracts/databases.ts'
import { EXPOSED_MAX } from '../../src/contracts/limits.ts'
import { changeMemberRole } from '../../src/contracts/members.ts'
import { atAddress, configurationOf, entry, insertSource } from '../support/data-sources.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { startEmbeddingEndpoint, type EmbeddingEndpoint } from '../support/embedding-endpoint.ts'
import { makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { freePort } from '../support/free-port.ts'
import { processes, type Env, type ServerProcess } from '../support/process.ts'
import { freshSecrets, type TestSystem } from '../support/system.ts'
import { rawClient } from '../support/wire-client.ts'

const PER_MINUTE = 25
const PER_DAY = 1_000
/** How often the owner looks for databases that were removed elsewhere. */
const TIDY_MS = 60_000

const own = processes()
let endpoint: EmbeddingEndpoint
let connection: Connection
let drop: () => Promise<unknown>
let system: TestSystem
let env: Env
let databases: string
/** The first one started, which has the databases, and the other one, which reaches them through it. */
let owner: ServerProcess
let other: ServerProcess

const start = (port: number) => own.start({ env: { ...env, PORT: String(port) } })

beforeAll(async () => {
  endpoint = await startEmbeddingEndpoint()
  const { url } = inject('postgres')
  const name = unique('sources').replaceAll('-', '_')
  await onServer(url, `create database ${name}`)
  drop = () => onServer(url, `drop database ${name} with (force)`)
  const ports = [await freePort(), await freePort()] as const
  const address = `http://localhost:${ports[0]}`
  const SVC_DATA_DIR = join(await own.newFolder(), 'data')
  databases = join(SVC_DATA_DIR, 'databases')
  env = {
    DATABASE_URL: databaseUrl(url, name),
    MANAGED_DATABASE_URL: 'embedded',
    // One machine, one configuration: a connection string stays good whichever of the two has the databases.
    MANAGED_DATABASE_PORT: String(await freePort()),
    SVC_DATA_DIR,
    SVC_ORG: 'Two processes',
    APP_URL: address,
    API_URL: address,
    AUTH_URL: address,
    MCP_URL: address,
    ARGON2_MEMORY_KIB: '64',
    EMBEDDING_MODELS: endpoint.setting,
    QUESTIONS_PER_MINUTE: String(PER_MINUTE),
    QUESTIONS_PER_DAY: String(PER_DAY),
    ...freshSecrets(),
  }
  owner = await start(ports[0])
  other = await start(ports[1])
  connection = await connect({ url: env['DATABASE_URL']! })
  const config = readConfig({ ...env, PORT: String(ports[0]) })
  system = {
    system: { config },
    db: connection.db,
    clock: { now: () => new Date() },
    as: (who) => at(owner)(who),
  } as TestSystem
})
afterAll(async () => {
  await own.cleanUp()
  await connection?.close()
  await drop?.()
  endpoint?.close()
})

/** Its own address: the public one is that of the first. */
const at =
  ({ port }: ServerProcess) =>
  (who?: Parameters<TestSystem['as']>[0]): Call =>
    httpClient(overNetwork(new URL(`http://127.0.0.1:${port}`)), who)

const through = (server: ServerProcess, { token }: Person): Call => at(server)({ token })

const TABLE = `create table notes (id text primary key, title text, embedding vector(3));
insert into notes values ('near', 'Near', '[1,0,0]'), ('far', 'Far', '[0,1,0]')`

/** Made, filled, configured and exposed through one of the two. */
async function makeSourceThrough(server: ServerProcess, org: Org, name: string) {
  const call = through(server, org.owner)
  const { source_id } = await call(createDatabase, { name })
  const { url } = await call(showConnectionString, { name })
  await atAddress(url, (sql) => sql.unsafe(TABLE).simple())
  await call(saveSearchConfiguration, { source_id, ...configurationOf([entry('notes')]) })
  await call(setDataSourceState, { source_id, enabled: true })
  await call(setDataSourceExposure, { source_id, exposed: true, minimum_role: 'viewer' })
  return { source_id, url }
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? String(error)

const idsFound = (server: ServerProcess, person: Person, source_id: string): Promise<string[] | string> =>
  through(server, person)(queryDataSource, { source_id, query: 'What is near?' }).then(
    ({ results }) => results.map(({ id }) => id),
    codeOf,
  )

/** How often which answer came, of questions put to both in turn, all at once. */
async function askManyTimes(times: number, person: Person, source_id: string) {
  const answers = await Promise.all(
    Array.from({ length: times }, (_, i) => idsFound([owner, other][i % 2]!, person, source_id)),
  )
  return tally(answers.map((answer) => (typeof answer === 'string' ? answer : 'answered')))
}

function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return counts
}

test('one of the two has the databases; one made through the other is asked through both, and by its connection string', async () => {
  expect(await readFile(join(databases, 'lock-holder.txt'), 'utf8')).toContain(`process ${owner.pid} `)
  const org = await makeOrganization(system)
  const { source_id, url } = await makeSourceThrough(other, org, 'shared')
  for (const server of [owner, other, owner, other]) {
    expect(await idsFound(server, org.owner, source_id)).toEqual(['near', 'far'])
  }
  expect((await through(owner, org.owner)(showConnectionString, { name: 'shared' })).url).toBe(url)
  const written = await atAddress(url, async (sql) => {
    await sql`insert into notes values ('new', 'New', '[0.9,0.1,0]')`
    return sql`select count(*)::int as n from notes`
  })
  expect([...written]).toEqual([{ n: 3 }])
  for (const server of [owner, other]) {
    expect(await idsFound(server, org.owner, source_id)).toEqual(['near', 'new', 'far'])
  }
})

test('one removed through the other and made again under its name is a new one, with nothing of the old in it', async () => {
  const org = await makeOrganization(system)
  const call = through(other, org.owner)
  const before = await makeSourceThrough(other, org, 'again')
  expect(await idsFound(owner, org.owner, before.source_id)).toEqual(['near', 'far'])
  await call(removeDatabase, { name: 'again', confirm: 'again' })
  expect(await idsFound(owner, org.owner, before.source_id)).toBe('NOT_FOUND')
  await call(createDatabase, { name: 'again' })
  const { url } = await call(showConnectionString, { name: 'again' })
  const tables = await atAddress(
    url,
    (sql) => sql`select tablename from pg_tables where schemaname = 'public'`,
  )
  expect([...tables]).toEqual([])
  await expect(atAddress(before.url, (sql) => sql`select 1`)).rejects.toMatchObject({ code: '28P01' })
})

test(`of ${3 * PER_MINUTE} questions at once over both, exactly the ${PER_MINUTE} of a minute are answered`, async () => {
  const org = await makeOrganization(system)
  const { source_id } = await makeSourceThrough(owner, org, 'minute')
  await windowAhead()
  expect(await askManyTimes(3 * PER_MINUTE, org.owner, source_id)).toEqual({
    answered: PER_MINUTE,
    RATE_LIMITED: 2 * PER_MINUTE,
  })
  const [counted] = await connection.db.select().from(questionCounts).where(eq(questionCounts.orgId, org.id))
  expect(counted).toMatchObject({ inMinute: PER_MINUTE, inDay: PER_MINUTE })
  const rows = await connection.db
    .select({ outcome: activity.outcome })
    .from(activity)
    .where(eq(activity.orgId, org.id))
  expect(rows).toHaveLength(3 * PER_MINUTE)
})

test('of the last questions of a day exactly as many as are left are answered, however many come at once', async () => {
  const LEFT = 7
  const org = await makeOrganization(system)
  const { source_id } = await makeSourceThrough(other, org, 'day')
  await windowAhead()
  const now = Date.now()
  await connection.db.insert(questionCounts).values({
    orgId: org.id,
    minute: new Date(now - (now % 60_000) - 60_000),
    inMinute: 0,
    day: new Date(now - (now % 86_400_000)),
    inDay: PER_DAY - LEFT,
  })
  expect(await askManyTimes(30, org.owner, source_id)).toEqual({
    answered: LEFT,
    QUOTA_EXCEEDED: 30 - LEFT,
  })
})

/** Minutes and days are those of the clock: questions that are counted together must not meet the turn of one. */
async function windowAhead(): Promise<void> {
  const passed = Date.now() % 60_000
  if (passed > 30_000) await sleep(60_000 - passed + 100)
}

test(`exposing ${EXPOSED_MAX + 20} sources at once over both exposes exactly ${EXPOSED_MAX}`, async () => {
  const org = await makeOrganization(system)
  const sources = []
  for (let i = 0; i < EXPOSED_MAX + 20; i++) {
    sources.push(await insertSource(system, org, { name: `row_${i}`, enabled: true }))
  }
  // Past the client, which does not wait for as long as the last of them may take on a busy machine.
  const exposed = await Promise.all(
    sources.map(async ({ sourceId }, i) => {
      const { port } = [owner, other][i % 2]!
      const answer = await fetch(`http://127.0.0.1:${port}/api/wf/data-sources/${sourceId}/exposure`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${org.owner.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ exposed: true }),
      })
      const { error } = (await answer.json()) as { error?: { code: string } }
      return error?.code ?? 'exposed'
    }),
  )
  expect(tally(exposed)).toEqual({ exposed: EXPOSED_MAX, EXPOSURE_LIMIT: 20 })
  const rows = await connection.db
    .select()
    .from(dataSources)
    .where(and(eq(dataSources.orgId, org.id), eq(dataSources.exposed, true)))
  expect(rows).toHaveLength(EXPOSED_MAX)
})

test('a role lowered and a source hidden through one are so at the other with the next question', async () => {
  const org = await makeOrganization(system)
  const { source_id } = await makeSourceThrough(other, org, 'roles')
  const call = through(owner, org.owner)
  const member = await makeMember(system, org, 'developer')
  const asked = () => Promise.all([owner, other].map((server) => idsFound(server, member, source_id)))
  const found = ['near', 'far']
  await call(setDataSourceExposure, { source_id, exposed: true, minimum_role: 'developer' })
  expect(await asked()).toEqual([found, found])
  await call(changeMemberRole, { org_id: org.id, user_id: member.userId, role: 'viewer' })
  expect(await asked()).toEqual(['FORBIDDEN', 'FORBIDDEN'])
  await call(setDataSourceExposure, { source_id, exposed: true, minimum_role: 'viewer' })
  expect(await asked()).toEqual([found, found])
  await call(setDataSourceExposure, { source_id, exposed: false })
  expect(await asked()).toEqual(['NOT_FOUND', 'NOT_FOUND'])
})

/** Once the lock was taken for a leftover database, and the next to look for it became a second owner. */
test('the owner clears away what was removed through the other, and nothing else: it stays the owner', async () => {
  const org = await makeOrganization(system)
  const { source_id } = await makeSourceThrough(other, org, 'leftover')
  const [row] = await connection.db.select().from(dataSources).where(eq(dataSources.orgId, org.id))
  const folder = join(databases, row!.physicalName!)
  expect(existsSync(folder)).toBe(true)
  await through(other, org.owner)(removeDatabase, { name: 'leftover', confirm: 'leftover' })
  expect(await idsFound(owner, org.owner, source_id)).toBe('NOT_FOUND')
  const patience = performance.now() + 2 * TIDY_MS
  while (existsSync(folder) && performance.now() < patience) await sleep(200)
  expect([existsSync(folder), existsSync(join(databases, 'lock'))]).toEqual([false, true])
  expect(() => lockDataFolder(databases)).toThrow(DataFolderInUse)
  await makeSourceThrough(other, org, 'afterwards')
})

test('a connection string that is rotated through the other ends what came in with it at the owner', async () => {
  const org = await makeOrganization(system)
  const { url } = await makeSourceThrough(owner, org, 'rotated')
  const { port, username, password } = new URL(url)
  const inside = await rawClient(Number(port))
  expect((await inside.login(username, password)).at(-1)).toBe('Z:I')
  await through(other, org.owner)(rotateConnectionString, { name: 'rotated' })
  expect((await inside.until('E')).at(-1)).toContain('C57P01')
  await inside.closed
  await expect(atAddress(url, (sql) => sql`select 1`)).rejects.toMatchObject({ code: '28P01' })
  const { url: after } = await through(owner, org.owner)(showConnectionString, { name: 'rotated' })
  expect([...(await atAddress(after, (sql) => sql`select count(*)::int as n from notes`))]).toEqual([
    { n: 2 },
  ])
})

test('when the one that has them is killed the other takes over, with everything in them; stopped, nothing stays behind', async () => {
  const org = await makeOrganization(system)
  const { source_id, url } = await makeSourceThrough(owner, org, 'orphan')
  // Opened before, so that ways to the owner are open when it goes.
  expect(await idsFound(other, org.owner, source_id)).toEqual(['near', 'far'])
  await atAddress(url, (sql) => sql`insert into notes values ('last', 'Last', '[0,0,1]')`)
  expect(await owner.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })

  expect(await idsFound(other, org.owner, source_id)).toEqual(['near', 'far', 'last'])
  expect(await readFile(join(databases, 'lock-holder.txt'), 'utf8')).toContain(`process ${other.pid} `)
  const rows = await atAddress(url, (sql) => sql`select id from notes order by id`)
  expect([...rows]).toEqual([{ id: 'far' }, { id: 'last' }, { id: 'near' }])

  // The killed one comes back, and now it is the one that goes through the other.
  const again = await start(owner.port)
  expect(await idsFound(again, org.owner, source_id)).toEqual(['near', 'far', 'last'])
  expect(await readFile(join(databases, 'lock-holder.txt'), 'utf8')).toContain(`process ${other.pid} `)

  // Nobody asks a question now: people's own programs have the databases back all the same.
  expect(await other.stop()).toMatchObject({ code: 0 })
  const patience = performance.now() + 60_000
  const there = () =>
    atAddress(url, (sql) => sql`select id from notes order by id`).then(
      (found) => found.length,
      () => 0,
    )
  while ((await there()) === 0 && performance.now() < patience) await sleep(200)
  expect(await there()).toBe(3)
  expect(await readFile(join(databases, 'lock-holder.txt'), 'utf8')).toContain(`process ${again.pid} `)
  expect(await idsFound(again, org.owner, source_id)).toEqual(['near', 'far', 'last'])
  expect(await again.stop()).toMatchObject({ code: 0 })
  for (const { pid } of [owner, other, again]) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  expect(existsSync(join(databases, 'lock-holder.txt'))).toBe(false)
  lockDataFolder(databases).release()
})
