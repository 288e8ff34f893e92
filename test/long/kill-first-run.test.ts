/** The first start killed at any moment: the next one comes up whole, with one owner whose password was told, and the sample. */
import { readdirSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { listDataSources, queryDataSource } from '../../src/contracts/data-sources.ts'
import { showConnectionString } from '../../src/contracts/databases.ts'
import { listMembers } from '../../src/contracts/members.ts'
import { listOrganizationsAsOperator } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { SAMPLE_QUESTION, SAMPLE_SOURCE } from '../../src/sample/load-sample.ts'
import { readSample } from '../../src/sample/read-sample.ts'
import { atAddress } from '../support/data-sources.ts'
import { firstWordsIn, processes, type ServerProcess } from '../support/process.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'

const own = processes()
afterEach(own.cleanUp)

/** Together they stay below four minutes, also on a slow machine. */
const BUDGET_MS = 50_000
/** A round that began in time may end late. */
const PATIENCE_MS = 8 * 60_000

const ROUNDS = 25

test(
  'killed at any moment of the first start, the next start is the first one, whole and told',
  async () => {
    const began = performance.now()
    const spent: string[] = []
    const full = await measureStart(await emptyFolder())
    for (const ms of shuffled(spread(ROUNDS, full * 1.1))) {
      if (performance.now() - began > BUDGET_MS) break
      const SVC_DATA_DIR = await emptyFolder()
      await killAfter(SVC_DATA_DIR, ms)
      await expectWhole(SVC_DATA_DIR)
      spent.push(`${Math.round(ms)} ms`)
      await own.cleanUp()
    }
    console.log(`Killed ${spent.length} first starts: ${spent.join(', ')}`)
    expect(spent.length).toBeGreaterThan(0)
  },
  PATIENCE_MS,
)

/** Moments that chance seldom meets. */
const MOMENTS = {
  'while our own database is being unpacked': (names: readonly string[]) =>
    names.some((name) => name.startsWith('db.partial-')),
  'once our own database is unpacked': (names: readonly string[]) => names.includes('db'),
  'while the database of the sample is being unpacked': (names: readonly string[]) =>
    names.some((name) => name.includes('_sample.partial-')),
  // Its row says that it is being made, and nobody makes it any more.
  'once the database of the sample is unpacked': (names: readonly string[]) =>
    names.some((name) => name.endsWith('_sample')),
}

test.each(Object.entries(MOMENTS))(
  'killed %s, the next start does not wait for the dead',
  async (_when, isReached) => {
    const SVC_DATA_DIR = await emptyFolder()
    const server = await own.launch({ env: { SVC_DATA_DIR } })
    let ended = false
    void server.exited.then(() => (ended = true))
    // Not a timer: an unpacked folder is half written for a few milliseconds only.
    while (!isReached([...namesIn(SVC_DATA_DIR), ...namesIn(join(SVC_DATA_DIR, 'databases'))])) {
      await new Promise((resolve) => setImmediate(resolve))
      expect(ended, server.stderr()).toBe(false)
    }
    expect(await server.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
    await expectWhole(SVC_DATA_DIR)
  },
  PATIENCE_MS,
)

const emptyFolder = async (): Promise<string> => join(await own.newFolder(), 'data')

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** How long an undisturbed first start takes here and now. */
async function measureStart(SVC_DATA_DIR: string): Promise<number> {
  const began = performance.now()
  const server = await own.start({ env: { SVC_DATA_DIR } })
  const took = performance.now() - began
  await server.stop('SIGKILL')
  await rm(SVC_DATA_DIR, { recursive: true })
  return took
}

/** One moment in each of `rounds` equal stretches, wherever in it. */
const spread = (rounds: number, until: number): number[] =>
  Array.from({ length: rounds }, (_, round) => ((round + Math.random()) * until) / rounds)

/** A slow machine does not come to the end of the list, and should leave out something else each time. */
const shuffled = <T>(list: readonly T[]): T[] =>
  list
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)

async function killAfter(SVC_DATA_DIR: string, ms: number): Promise<void> {
  const server = await own.launch({ env: { SVC_DATA_DIR } })
  await sleep(ms)
  expect(await server.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
}

async function expectWhole(SVC_DATA_DIR: string): Promise<void> {
  const server = await own.start({ env: { SVC_DATA_DIR, SVC_OPERATOR_TOKEN: OPERATOR_TOKEN } })
  const words = await firstWordsIn(server)
  const { token } = await server.as()(signInWithPassword, { email: words.email, password: words.password })
  const me = await server.as({ token })(whoAmI, {})
  expect(me).toMatchObject({ role: 'owner', organization: { name: 'Sample organization' } })
  const { members } = await server.as({ token })(listMembers, { org_id: me.organization!.id })
  expect(members.map(({ email, role }) => [email, role])).toEqual([[words.email, 'owner']])
  expect(await server.as({ token: words.token })(whoAmI, {})).toMatchObject({
    kind: 'api_token',
    role: 'owner',
  })
  const { organizations } = await server.as({ token: OPERATOR_TOKEN })(listOrganizationsAsOperator, {})
  expect(organizations.map(({ id }) => id)).toEqual([me.organization!.id])
  const files = (await readdir(SVC_DATA_DIR)).filter((name) => !name.startsWith('lock'))
  expect(files.toSorted()).toEqual(['control.sock', 'databases', 'db', 'first-run.txt', 'secrets.json'])
  await expectWholeSample(server, token)
  await server.stop('SIGKILL')
}

/** All of it, once, and it answers. */
async function expectWholeSample(server: ServerProcess, token: string): Promise<void> {
  const call = server.as({ token })
  const { data_sources } = await call(listDataSources, {})
  expect(data_sources).toMatchObject([
    { source_id: SAMPLE_SOURCE, ready: true, enabled: true, exposed: true, minimum_role: 'viewer' },
  ])
  const { url } = await call(showConnectionString, { name: SAMPLE_SOURCE.slice('db_'.length) })
  const { handbook, products } = readSample()
  const counts = await atAddress(
    url,
    (sql) =>
      sql`select (select count(*)::int from handbook) as handbook, (select count(*)::int from products) as products`,
  )
  expect([...counts]).toEqual([{ handbook: handbook.length, products: products.length }])
  const { results } = await call(queryDataSource, {
    source_id: SAMPLE_SOURCE,
    query: SAMPLE_QUESTION,
    top_k: 1,
  })
  expect(results).toMatchObject([{ id: 'work-from-abroad' }])
}
