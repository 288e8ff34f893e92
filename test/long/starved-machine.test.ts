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
import { atAddress, configurationOf, entry } from '../support/data-sources.ts'
import { startFile } from '../support/loads.ts'
import { firstWordsIn, migratedFolder, processes } from '../support/process.ts'

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
