/** A server that four other processes leave next to no time: it is slow and right. Nobody is refused, and no row is left out. */
import { spawn, type ChildProcess } from 'node:child_process'
import { afterAll, expect, test } from 'vitest'
import type { Call } from '../../src/client/http-client.ts'
import {
  queryDataSource,
  saveSearchConfiguration,
  setDataSourceExposure,
  setDataSourceState,
} from '../../src/contracts/data-sources.ts'
import { createDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import { BUILT_IN_MODEL } from '../../src/contracts/embedding-settings.ts'
import { showLoad } from '../../src/contracts/loads.ts'
import { SAMPLE_QUESTION, SAMPLE_SOURCE } from '../../src/contracts/sample.ts'
import { atAddress, configurationOf, entry } from '../support/data-sources.ts'
import { freePort } from '../support/free-port.ts'
import { startFile } from '../support/loads.ts'
import { littleCpu } from '../support/little-cpu.ts'
import { firstWordsIn, migratedFolder, processes, type Env, type ServerProcess } from '../support/process.ts'

const SPINNING = 4
const QUESTIONS = 200
const ROWS = 2_000
const PATIENCE_MS = 30 * 60_000

const own = processes()
const spinning: ChildProcess[] = []
afterAll(async () => {
  for (const child of spinning) child.kill('SIGKILL')
  await own.cleanUp()
})

test(
  '200 questions and a load of 2,000 rows beside four processes that spin',
  { timeout: PATIENCE_MS },
  async () => {
    const server = await own.start({
      env: {
        SVC_DATA_DIR: await migratedFolder(own),
        SVC_ORG: 'Starved',
        MANAGED_DATABASE_URL: 'embedded',
        QUESTIONS_PER_MINUTE: '100000',
      },
    })
    const call = server.as({ token: (await firstWordsIn(server)).token })
    const source_id = await makeSource(call)
    await call(createDatabase, { name: 'rows' })
    for (let count = 0; count < SPINNING; count += 1) {
      spinning.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
    }

    const csv = ['id,title', ...Array.from({ length: ROWS }, (_, at) => `r${at},Parcel ${at} of the depot`)]
    const { id: load_id } = await startFile(call, 'rows', `${csv.join('\n')}\n`, {
      table: 'parcels',
      id_column: 'id',
      title_column: 'title',
      embed_columns: ['title'],
    })
    const answers: string[] = []
    for (let at = 0; at < QUESTIONS; at += 1) {
      const { results } = await call(queryDataSource, { source_id, query: `Where is parcel ${at}?` })
      answers.push(results.map(({ id }) => id).join(' '))
    }
    expect(answers).toEqual(Array(QUESTIONS).fill('one'))
    await expect
      .poll(async () => (await call(showLoad, { load_id })).state, { timeout: PATIENCE_MS, interval: 500 })
      .toBe('succeeded')
    const { url } = await call(showConnectionString, { name: 'rows' })
    const [counted] = await atAddress(url, (sql) =>
      sql.unsafe('select count(*)::int as rows, count(embedding)::int as vectors from parcels'),
    )
    expect(counted).toEqual({ rows: ROWS, vectors: ROWS })
    expect(server.logLines().filter(({ event }) => event.includes('embedding model'))).toEqual([])
  },
)

/** Asked as soon as it says that it is ready, with nothing warm. */
test(
  'a first start and a later one with a fifth of a core: every step is told, and the first question is answered',
  { timeout: PATIENCE_MS },
  async () => {
    const SVC_DATA_DIR = `${await own.newFolder()}/data`
    let token = ''
    // The same at every start: the token names it.
    const env: Env = { SVC_DATA_DIR, PORT: String(await freePort()) }
    for (const start of ['first', 'later'] as const) {
      const server = await own.launch({ env })
      const little = littleCpu(server.pid)
      console.log(`The ${start} start has ${little.how}.`)
      const isReady = () =>
        server.fetch('/readyz').then(
          ({ status }) => status,
          () => 0,
        )
      await expect.poll(isReady, { timeout: PATIENCE_MS, interval: 50 }).toBe(200)
      if (start === 'first') ({ token } = await untilToken(server))
      const began = performance.now()
      const { results } = await server.as({ token })(queryDataSource, {
        source_id: SAMPLE_SOURCE,
        query: SAMPLE_QUESTION,
      })
      console.log(`The first question after it took ${Math.round(performance.now() - began)} ms.`)
      expect(results[0]?.id).toBe('work-from-abroad')
      const lines = server.logLines()
      expect(lines.filter(({ level }) => level === 'error')).toEqual([])
      const done = lines.filter(({ event }) => event === 'start step done').map(({ step }) => step)
      if (start === 'first')
        expect(done).toEqual([
          'Making the database',
          'Starting the services',
          'Making the first owner',
          'Loading the sample',
        ])
      server.kill('SIGTERM')
      await server.exited
      little.end()
    }
  },
)

/** The port opens a moment before the file is named. */
async function untilToken(server: ServerProcess): Promise<{ token: string }> {
  await expect
    .poll(() => server.logLines().some(({ event }) => event === 'welcome'), { timeout: 60_000 })
    .toBe(true)
  return firstWordsIn(server)
}

async function makeSource(call: Call): Promise<string> {
  const { source_id } = await call(createDatabase, { name: 'notes' })
  const { url } = await call(showConnectionString, { name: 'notes' })
  const { name: model, dimensions } = BUILT_IN_MODEL
  await atAddress(url, (sql) =>
    sql
      .unsafe(
        `create table notes (id text primary key, title text, embedding vector(${dimensions}));
         insert into notes values ('one', 'One', array_fill(0.1::real, array[${dimensions}])::vector)`,
      )
      .simple(),
  )
  const configuration = configurationOf([entry('notes', { model, dimensions })])
  await call(saveSearchConfiguration, { source_id, ...configuration })
  await call(setDataSourceState, { source_id, enabled: true })
  await call(setDataSourceExposure, { source_id, exposed: true, minimum_role: 'viewer' })
  return source_id
}
