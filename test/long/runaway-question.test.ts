/** A question that would never end: it is ended, its source goes on, and nobody else waits for it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listActivity } from '../../src/contracts/activity.ts'
import {
  queryDataSource,
  saveSearchConfiguration,
  setDataSourceState,
  setDataSourceExposure,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import { createDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { atAddress, configurationOf, entry } from '../support/data-sources.ts'
import { startEmbeddingEndpoint, type EmbeddingEndpoint } from '../support/embedding-endpoint.ts'
import { firstWordsIn, migratedFolder, processes, type ServerProcess } from '../support/process.ts'

const own = processes()
let endpoint: EmbeddingEndpoint
beforeAll(async () => {
  endpoint = await startEmbeddingEndpoint()
})
afterAll(async () => {
  await own.cleanUp()
  endpoint?.close()
})

/** 10^14 rows: nobody sees the end of it. */
const TABLES = `create table notes (id text primary key, title text, embedding vector(3));
insert into notes values ('near', 'Near', '[1,0,0]'), ('far', 'Far', '[0,1,0]');
create view endless as select * from notes`
const ENDLESS = `create or replace view endless as
  select (a * b)::text as id, 'Endless' as title, array[a % 7, b % 7, 1]::real[]::vector(3) as embedding
  from generate_series(1, 10000000) a cross join generate_series(1, 10000000) b`

test('a question that never ends is ended with 504, while everybody else is served and the source afterwards', async () => {
  const SVC_DATA_DIR = await migratedFolder(own)
  const server = await own.start({
    env: { SVC_DATA_DIR, SVC_ORG: 'Patience', EMBEDDING_MODELS: endpoint.setting },
  })
  const { token } = await firstWordsIn(server)
  const call = server.as({ token })
  const make = async (name: string, tables: string, labels: readonly string[]) => {
    const { source_id } = await call(createDatabase, { name })
    const { url } = await call(showConnectionString, { name })
    await atAddress(url, (sql) => sql.unsafe(tables).simple())
    await call(saveSearchConfiguration, {
      source_id,
      ...configurationOf(labels.map((label) => entry(label))),
    })
    await call(setDataSourceState, { source_id, enabled: true })
    await call(setDataSourceExposure, { source_id, exposed: true, minimum_role: 'viewer' })
    return source_id
  }
  const source_id = await make('patience', TABLES, ['notes', 'endless'])
  const { url: patience } = await call(showConnectionString, { name: 'patience' })
  await atAddress(patience, (sql) => sql.unsafe(ENDLESS).simple())
  const neighbor = await make('neighbor', TABLES, ['notes'])
  const asked = (id: string, target: string) =>
    call(queryDataSource, { source_id: id, query: 'Near?', target })

  const progress = { over: false }
  const runaway = server
    .fetch(`/api/wf/slim/data-sources/${source_id}/query`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: JSON.stringify({ query: 'Is there an end?', target: 'endless' }),
    })
    .finally(() => (progress.over = true))

  // Everybody else, for as long as it runs.
  let served = 0
  while (!progress.over) {
    await call(whoAmI, {})
    expect((await asked(neighbor, 'notes')).results.map(({ id }) => id)).toEqual(['near', 'far'])
    if (progress.over) break
    served += 1
    await sleep(250)
  }
  const answer = await runaway
  const said = await answer.json()
  expect([answer.status, said]).toMatchObject([
    504,
    { error: { code: 'TIMEOUT', message: 'The database took too long to answer' } },
  ])
  // No other limit ended it.
  const { health } = await call(showDataSource, { source_id })
  expect(health.last_error).toMatchObject({ kind: 'too_slow' })
  expect(served).toBeGreaterThan(0)

  expect((await asked(source_id, 'notes')).results.map(({ id }) => id)).toEqual(['near', 'far'])
  const { activity } = await call(listActivity, { type: 'data_source', outcome: 'failed' })
  expect(activity).toMatchObject([{ name: source_id, error: 'TIMEOUT', answer_bytes: 0 }])
  // Nothing goes on in the background: it would still burn a processor.
  await expect.poll(() => processorShare(server), { timeout: 60_000 }).toBeLessThan(0.5)
  expect(await server.stop()).toMatchObject({ code: 0 })
})

/** Of one processor, over three seconds in which nobody asks it for anything. */
async function processorShare({ metricsPort }: ServerProcess): Promise<number> {
  const seconds = async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)![1])
  }
  const [before, began] = [await seconds(), performance.now()]
  await sleep(3_000)
  return ((await seconds()) - before) / ((performance.now() - began) / 1_000)
}
