/** The sample of the first start: asked as the first words say, loaded once, and only where it is wanted. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { listApps } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { listDataSources, queryDataSource, QueryResult } from '../../src/contracts/data-sources.ts'
import { removeDatabase } from '../../src/contracts/databases.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { SAMPLE_QUESTION, SAMPLE_SOURCE } from '../../src/sample/load-sample.ts'
import { freePort } from '../support/free-port.ts'
import { firstWordsIn, migratedFolder, processes, type ServerProcess } from '../support/process.ts'

const own = processes()
afterEach(own.cleanUp)

/** The line that a newcomer copies. */
async function printedCurl({ dataFolder }: ServerProcess): Promise<string> {
  const words = await readFile(join(dataFolder, 'first-run.txt'), 'utf8')
  return words
    .split('\n')
    .find((line) => line.trim().startsWith('curl '))!
    .trim()
}

const sourcesAt = async (server: ServerProcess, token: string) =>
  (await server.as({ token })(listDataSources, {})).data_sources

const appsAt = async (server: ServerProcess, token: string) =>
  (await server.as({ token })(listApps, {})).apps.map(({ alias }) => alias)

test('on an empty folder the question that is printed is answered from the handbook', async () => {
  const server = await own.start({ env: { SVC_DATA_DIR: join(await own.newFolder(), 'data') } })
  const curl = await printedCurl(server)
  expect(curl).toContain('/api/wf/slim/data-sources/db_sample/query')
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', `${curl} --silent --show-error`])
  const answer = QueryResult.parse(JSON.parse(stdout))
  expect(answer).toMatchObject({
    count: 3,
    results: [
      {
        id: 'work-from-abroad',
        title: 'Working from another country',
        metadata: { text: expect.stringContaining('30 days a year from another country') as string },
      },
      {},
      {},
    ],
  })
  expect(await server.stop()).toMatchObject({ code: 0 })
})

test('a later start does not load it again, also when its owner has removed it', async () => {
  const SVC_DATA_DIR = await migratedFolder(own)
  const env = { SVC_DATA_DIR, PORT: String(await freePort()) }
  const first = await own.start({ env })
  const { token } = await firstWordsIn(first)
  const { organization } = await first.as({ token })(whoAmI, {})
  const audit = { org_id: organization!.id }
  const loaded = await sourcesAt(first, token)
  expect(loaded).toMatchObject([{ source_id: 'db_sample', enabled: true, exposed: true, ready: true }])
  expect(await appsAt(first, token)).toEqual(['sample-shop'])
  const events = (await first.as({ token })(listAudit, audit)).audit
  expect(events.filter(({ action }) => action === 'database.created')).toHaveLength(1)
  await first.stop()

  const second = await own.start({ env })
  const call = second.as({ token })
  expect(await sourcesAt(second, token)).toEqual(loaded)
  expect(await appsAt(second, token)).toEqual(['sample-shop'])
  expect((await call(listAudit, audit)).audit).toHaveLength(events.length)
  const question = { source_id: SAMPLE_SOURCE, query: SAMPLE_QUESTION, target: 'handbook', top_k: 1 }
  expect((await call(queryDataSource, question)).results).toMatchObject([{ id: 'work-from-abroad' }])
  await call(removeDatabase, { name: 'sample', confirm: 'sample' })
  await second.stop()

  const third = await own.start({ env })
  expect(await sourcesAt(third, token)).toEqual([])
})

test.each([
  { how: '--empty', start: { args: ['--empty'] }, name: 'My organization' },
  { how: 'SVC_ORG', start: { env: { SVC_ORG: 'Work' } }, name: 'Work' },
])('with $how there is none, and none comes later', async ({ start, name }) => {
  const env = { SVC_DATA_DIR: await migratedFolder(own), PORT: String(await freePort()), ...start.env }
  const first = await own.start({ ...start, env })
  const { token } = await firstWordsIn(first)
  expect(await printedCurl(first)).toMatch(/\/api\/v1\/me$/)
  expect(await first.as({ token })(whoAmI, {})).toMatchObject({ organization: { name } })
  expect(await sourcesAt(first, token)).toEqual([])
  expect(await appsAt(first, token)).toEqual([])
  await first.stop()
  const { SVC_DATA_DIR, PORT } = env
  const second = await own.start({ env: { SVC_DATA_DIR, PORT } })
  expect(await sourcesAt(second, token)).toEqual([])
})
