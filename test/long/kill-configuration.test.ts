/** Killed while search configurations are saved: what is stored is one of them, whole, and no older than what was confirmed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type * as z from 'zod'
import type { Call } from '../../src/client/http-client.ts'
import {
  queryDataSource,
  SearchConfiguration,
  saveSearchConfiguration,
  setDataSourceState,
  setDataSourceExposure,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import { createDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import { atAddress, configurationOf, entry } from '../support/data-sources.ts'
import { startEmbeddingEndpoint, type EmbeddingEndpoint } from '../support/embedding-endpoint.ts'
import { freePort } from '../support/free-port.ts'
import { firstWordsIn, migratedFolder, processes, type ServerProcess } from '../support/process.ts'

const ROUNDS = 8
/** Further rounds as long as there is time. */
const MORE_ROUNDS = 4
const BUDGET_MS = 120_000
/** For the rounds that must be, on a machine that is busy with something else. */
const PATIENCE_MS = 10 * 60_000

const own = processes()
let endpoint: EmbeddingEndpoint
beforeAll(async () => {
  endpoint = await startEmbeddingEndpoint()
})
afterAll(async () => {
  await own.cleanUp()
  endpoint?.close()
})

const SOURCE = { source_id: 'db_notes' }
const TABLES = `create table notes (id text primary key, title text, body text, topic text, year int, embedding vector(3));
insert into notes values ('near', 'Near', 'First', 'a', 2026, '[1,0,0]'), ('far', 'Far', 'Second', 'b', 2025, '[0,1,0]');
create table letters (id text primary key, title text, embedding vector(3));
insert into letters values ('letter', 'A letter', '[0.5,0.5,0]')`

/**
 * The configuration with this number. Those that follow each other differ in every key that can differ, so that a mix
 * of them would be neither; and each has its number in it, so that an older one is known as such.
 */
const documentOf = (number: number) =>
  number % 2 === 0
    ? configurationOf([entry('notes', { label: `notes ${number}`, distance_metric: 'cosine' })], {
        topic: 'string',
      })
    : configurationOf(
        [
          entry('letters', { label: `letters ${number}`, distance_metric: 'l2' }),
          entry('notes', {
            label: `all ${number}`,
            content_columns: 'title,id,body',
            distance_metric: 'inner_product',
          }),
        ],
        { year: 'number', topic: 'string' },
      )

/** In the order of letters: scores of two metrics are not compared. */
const foundBy = (number: number) => (number % 2 === 0 ? ['far', 'near'] : ['Far', 'Near', 'letter'])

test(
  'killed while configurations are saved, the next start has the last one confirmed or the one under way, whole, and answers by it',
  async () => {
    const began = performance.now()
    const SVC_DATA_DIR = await migratedFolder(own)
    const env = {
      SVC_DATA_DIR,
      PORT: String(await freePort()),
      SVC_ORG: 'Kill',
      EMBEDDING_MODELS: endpoint.setting,
      QUESTIONS_PER_MINUTE: '1000',
    }
    let server = await own.start({ env })
    const { token } = await firstWordsIn(server)
    await prepare(server, token)

    let last = 0
    const found: string[] = []
    for (let round = 0; round < ROUNDS + MORE_ROUNDS; round++) {
      if (round >= ROUNDS && performance.now() - began > BUDGET_MS) break
      const saves = keepSaving(server, token, last + 1)
      await saves.until(1 + Math.floor(Math.random() * 4))
      // Anywhere in the next one, also past its end.
      await sleep(Math.random() * 1.2 * saves.lastTook())
      expect(await server.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
      const { confirmed, begun, refusals } = await saves.ended
      expect(refusals).toEqual([])

      server = await own.start({ env })
      const call = server.as({ token })
      const { connection_config, filter_schema } = await call(showDataSource, SOURCE)
      const possible = [...new Set([confirmed, begun])]
      const which = possible.find((number) =>
        isDeepStrictEqual(
          { connection_config, filter_schema },
          SearchConfiguration.parse(documentOf(number)),
        ),
      )
      expect(which, JSON.stringify({ possible, connection_config, filter_schema })).toBeDefined()
      found.push(which === confirmed ? 'the last confirmed' : 'the one under way')
      const results = await askUntilOpen(call)
      expect(results.map(({ id }) => id).toSorted()).toEqual(foundBy(which!))
      last = begun
    }
    console.log(`Killed ${found.length} times while saving; found afterwards: ${found.join(', ')}`)
    expect(found.length).toBeGreaterThanOrEqual(ROUNDS)
  },
  PATIENCE_MS,
)

async function prepare(server: ServerProcess, token: string): Promise<void> {
  const call = server.as({ token })
  await call(createDatabase, { name: 'notes' })
  const { url } = await call(showConnectionString, { name: 'notes' })
  await atAddress(url, (sql) => sql.unsafe(TABLES).simple())
  await call(saveSearchConfiguration, { ...SOURCE, ...documentOf(0) })
  await call(setDataSourceState, { ...SOURCE, enabled: true })
  await call(setDataSourceExposure, { ...SOURCE, exposed: true, minimum_role: 'viewer' })
}

/** A database whose process was killed is put in order when it is next opened, and that may take longer than a question. */
async function askUntilOpen(call: Call): Promise<z.output<typeof queryDataSource.output>['results']> {
  const patience = performance.now() + 60_000
  for (;;) {
    try {
      return (await call(queryDataSource, { ...SOURCE, query: 'What is near?' })).results
    } catch (error) {
      const { code } = error as { code?: string }
      if (code !== 'TIMEOUT' || performance.now() > patience) throw error
    }
  }
}

/** One after the other, beginning with this number, until nobody answers any more. */
function keepSaving(server: ServerProcess, token: string, first: number) {
  const state = { begun: first - 1, confirmed: first - 1, tookMs: 0, over: false, refusals: [] as string[] }
  const save = async (): Promise<boolean> => {
    state.begun += 1
    const began = performance.now()
    const response = await server
      .fetch(`/api/wf/data-sources/${SOURCE.source_id}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(documentOf(state.begun)),
      })
      .catch(() => undefined)
    // The answer may be cut off after its first line: then nothing was confirmed.
    const body = await response?.text().catch(() => undefined)
    if (!response || body === undefined) return false
    state.tookMs = performance.now() - began
    if (response.status === 200) state.confirmed = state.begun
    else state.refusals.push(`${response.status} ${body}`)
    return response.status === 200
  }
  const ended = (async () => {
    while (await save());
    state.over = true
    return state
  })()
  return {
    ended,
    lastTook: () => state.tookMs,
    /** So many are confirmed, or there will be no more. */
    async until(many: number) {
      while (!state.over && state.confirmed < first - 1 + many) await sleep(5)
    },
  }
}
