/** How many questions an organization may ask: counted to the last one, for all processes together. */
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { sql } from '../../db/drizzle.ts'
import {
  fetchDataSourceRow,
  queryDataSource,
  searchDataSources,
  showQuota,
} from '../../src/contracts/data-sources.ts'
import { answerTo } from '../support/answers.ts'
import { rotateConnectionString, showConnectionString } from '../../src/contracts/databases.ts'
import {
  atAddress,
  configurationOf,
  entry,
  insertSource,
  makeSource,
  startWithDatabases,
  toyModels,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeMember, makeOrganization, signedIn, type Org, type Person } from '../support/make.ts'
import { statementsOf, untilLocked } from '../support/statements.ts'
import { freshSecrets, startSystem } from '../support/system.ts'

const SECRETS = freshSecrets()
const LIMITS = { QUESTIONS_PER_MINUTE: '10', QUESTIONS_PER_DAY: '25' }

let system: SystemWithDatabases
let org: Org
/** Exposed and never configured: a question to it counts, and costs no database. */
let source_id = ''

/** Questions that reached the model. */
const embedded: string[] = []
const toys = toyModels()
const models: typeof toys = {
  ...toys,
  embed(owner, model, question, ...rest) {
    embedded.push(question)
    return toys.embed(owner, model, question, ...rest)
  },
}

beforeAll(async () => {
  system = await startWithDatabases({ ...SECRETS, ...LIMITS }, { models })
})

beforeEach(async () => {
  org = await makeOrganization(system)
  source_id = (await insertSource(system, org, { enabled: true, exposed: true })).sourceId
  toBeginOf(60)
})

afterAll(() => system.stop())

/** So that no window ends while a test counts. */
function toBeginOf(seconds: number): void {
  system.clock.advance(seconds - ((system.clock.now().getTime() / 1000) % seconds) + 1)
}

const codeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'answered',
    (error: { code: string }) => error.code,
  )
const ask = (who: Pick<Person, 'call'> = org.owner) =>
  codeOf(who.call(queryDataSource, { source_id, query: 'x' }))
const askTimes = async (count: number, who?: Pick<Person, 'call'>): Promise<string[]> => {
  const codes: string[] = []
  for (let n = 0; n < count; n++) codes.push(await ask(who))
  return codes
}
const COUNTED = 'NO_SEMANTIC_SEARCH'
const times = (count: number, code: string): string[] => Array.from({ length: count }, () => code)

test('ten in a minute, then a refusal that says how long to wait; the next minute begins anew', async () => {
  expect(await askTimes(11)).toEqual([...times(10, COUNTED), 'RATE_LIMITED'])
  const { token } = org.owner
  const left = async () => {
    const { minute, day } = await org.owner.call(showQuota, {})
    return [minute.left, day.left]
  }
  expect(await left()).toEqual([0, 15])
  const refused = await answerTo(system, { token }, queryDataSource, { source_id, query: 'x' })
  expect(refused.status).toBe(429)
  const wait = Number(refused.headers.get('retry-after'))
  expect(wait).toBeGreaterThan(30)
  expect(wait).toBeLessThanOrEqual(60)
  expect(await codeOf(org.owner.call(fetchDataSourceRow, { source_id, handle: 'x' }))).toBe('RATE_LIMITED')
  system.clock.advance(wait)
  expect(await left()).toEqual([10, 15])
  expect(await ask()).toBe(COUNTED)
})

test('all members share them; another organization has its own', async () => {
  const [viewer, other] = [await makeMember(system, org, 'viewer'), await makeOrganization(system)]
  await insertSource(system, other, { name: source_id.slice(3), enabled: true, exposed: true })
  expect(await askTimes(5, viewer)).toEqual(times(5, COUNTED))
  expect(await askTimes(6)).toEqual([...times(5, COUNTED), 'RATE_LIMITED'])
  expect(await ask(viewer)).toBe('RATE_LIMITED')
  expect(await ask(other.owner)).toBe(COUNTED)
})

test('what was refused costs nothing: neither the minute’s nor the day’s', async () => {
  const hidden = await insertSource(system, org, { enabled: true })
  for (let n = 0; n < 12; n++) {
    const attempt = org.owner.call(queryDataSource, { source_id: hidden.id, query: 'x' })
    expect(await codeOf(attempt)).toBe('NOT_FOUND')
  }
  expect(await askTimes(30)).toEqual([...times(10, COUNTED), ...times(20, 'RATE_LIMITED')])
  system.clock.advance(60)
  expect(await askTimes(10)).toEqual(times(10, COUNTED))
})

test('twenty-five in a day, whatever the minute; the next day begins anew', async () => {
  toBeginOf(86_400)
  const { call } = await signedIn(system, org.owner.email)
  for (const count of [10, 10, 5]) {
    expect(await askTimes(count, { call })).toEqual(times(count, COUNTED))
    system.clock.advance(60)
  }
  const refused = await call(queryDataSource, { source_id, query: 'x' }).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'QUOTA_EXCEEDED' })
  const { retryAfterSeconds = 0 } = refused as { retryAfterSeconds?: number }
  expect(retryAfterSeconds).toBeGreaterThan(23 * 3600)
  expect(retryAfterSeconds).toBeLessThanOrEqual(86_400)
  system.clock.advance(retryAfterSeconds)
  expect(await ask(await signedIn(system, org.owner.email))).toBe(COUNTED)
})

test('of thirty at once exactly ten are asked', async () => {
  const codes = await Promise.all(Array.from({ length: 30 }, () => ask()))
  expect(codes.toSorted()).toEqual([...times(10, COUNTED), ...times(20, 'RATE_LIMITED')])
})

const TABLE = {
  sql: `create table t (id text, title text, embedding vector(3)); insert into t values ('1', 'one', '[1,0,0]')`,
  configuration: configurationOf([entry('t')]),
}

/** Of one source, and of all of a list. */
const ASKED = {
  query: (source_id: string, query: string) => org.owner.call(queryDataSource, { source_id, query }),
  ...(inject('everyCase') && {
    search: (id: string, query: string) => org.owner.call(searchDataSources, { sources: [id], query }),
  }),
}

test.each(Object.entries(ASKED))(
  'a question takes four statements: who asks, the source with its count, the count, the activity: %s',
  async (_, asking) => {
    const { sourceId } = await makeSource(org, { name: 'counted', ...TABLE })
    await asking(sourceId, 'x')
    const statements = await statementsOf(system.db, () => asking(sourceId, 'x'))
    expect(statements.filter((text) => /"question_counts"/.test(text))).toHaveLength(2)
    expect(statements.filter((text) => /"data_sources"/.test(text))).toHaveLength(1)
    expect(statements).toHaveLength(4)
  },
)

test.runIf(inject('engine') === 'postgres' && inject('everyCase')).each(Object.entries(ASKED))(
  'far from the limit the search goes on while the question is counted, near to it the search waits: %s',
  async (name, asking) => {
    const { sourceId } = await makeSource(org, { name: 'meanwhile', ...TABLE })
    const query = (text: string) => asking(sourceId, text)
    toBeginOf(60)
    for (let n = 0; n < 4; n++) await query('first')
    const whileLocked = (text: string) =>
      system.db.transaction(async (tx) => {
        await tx.execute(sql`select from question_counts where org_id = ${org.id} for update`)
        const answer = query(text)
        await untilLocked(system.db, 1)
        return { answer, wasEmbedded: embedded.includes(text) }
      })
    const far = await whileLocked(`far: ${name}`)
    expect((await far.answer).count).toBe(1)
    expect(far.wasEmbedded).toBe(true)
    const near = await whileLocked(`near: ${name}`)
    expect(near.wasEmbedded).toBe(false)
    expect((await near.answer).count).toBe(1)
  },
)

test('two systems over one database count together, and ask the databases that one of them holds', async () => {
  const own = toyModels()
  const second = await startSystem(
    {
      ...SECRETS,
      ...LIMITS,
      SVC_SERVICES: 'api-gateway,auth-service',
      SVC_DATA_DIR: system.dataFolder,
      MANAGED_DATABASE_URL: system.system.config.MANAGED_DATABASE_URL ?? 'embedded',
      MANAGED_DATABASE_PORT: '0',
    },
    { models: own, clock: () => system.clock.now() },
  )
  source_id = (await makeSource(org, { name: 'shared', ...TABLE })).sourceId
  toBeginOf(60)
  const there = { call: second.as({ token: org.owner.token }) }
  const codes = await Promise.all(Array.from({ length: 24 }, (_, n) => ask(n % 2 ? org.owner : there)))
  expect(codes.toSorted()).toEqual([...times(14, 'RATE_LIMITED'), ...times(10, 'answered')])
  system.clock.advance(60)
  expect(await ask(there)).toBe('answered')
  // Another password: neither of them goes on with the one before.
  const old = await org.owner.call(showConnectionString, { name: 'shared' })
  await org.owner.call(rotateConnectionString, { name: 'shared' })
  expect([await ask(), await ask(there)]).toEqual(['answered', 'answered'])
  await expect(atAddress(old.url, (sql) => sql`select 1`)).rejects.toMatchObject({ code: '28P01' })
  await second.stop()
  await own.close()
})
