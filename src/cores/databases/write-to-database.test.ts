import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEmbeddedDatabases, type EmbeddedDatabases } from '../../../db/managed/embedded-databases.ts'
import { scramVerifier } from '../../../db/wire/scram.ts'
import type { SourceRow } from './source-rows.ts'
import { writeToDatabase } from './write-to-database.ts'

const PASSWORD = 'correct horse'
/** One: whoever logs in while it is replaced comes in by a password that was changed. */
const LOGIN = { verifier: scramVerifier(PASSWORD), orgId: 'org' }
const SLOW = 'select count(*) from generate_series(1, 3000000)'

let folder = ''
let databases: EmbeddedDatabases

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-written-'))
  databases = await openEmbeddedDatabases({
    folder,
    host: '127.0.0.1',
    port: 0,
    loginOf: async () => LOGIN,
    saltKey: randomBytes(32),
    // Of questions.
    statementTimeoutMs: 20,
  })
  await databases.create('one')
}, 120_000)
afterAll(async () => {
  await databases.close()
  await rm(folder, { recursive: true })
})

const row = { orgId: 'org', id: 'ds_1', kind: 'embedded', physicalName: 'one', sealed: '' } as SourceRow
const write = (statement: string, signal?: AbortSignal) =>
  writeToDatabase(
    {
      managed: {
        address: async () => ({ host: '127.0.0.1', port: databases.port, ssl: 'disable' }),
        questionLogin: async () => undefined,
      },
      dataKeys: {
        seal: () => '',
        open: () => PASSWORD,
        sealerFor: undefined as never,
        keyFor: () => new Uint8Array(),
      },
    },
    row,
    (queries) => queries.query(statement),
    { signal },
  )

test('a statement of an embedded database has longer than one of a question', async () => {
  expect(await write(SLOW)).toHaveLength(1)
})

test('one that is aborted does not run on', async () => {
  const late = new AbortController()
  const endless = write('select count(*) from generate_series(1, 100000000000)', late.signal)
  setTimeout(() => late.abort(), 500)
  await expect(endless).rejects.toMatchObject({ code: expect.stringMatching(/^(57014|CONNECTION_ENDED)$/) })
  // The database has one connection: it would wait for the other statement.
  expect(await write('select 1')).toHaveLength(1)
}, 20_000)
