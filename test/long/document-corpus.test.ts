/** Forty ordinary and forty hostile files of all formats in one sync: what can be read is found, and a bad file costs that file. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDocumentReader } from '../../src/adapters/documents/index.ts'
import { readDocuments } from '../../src/cli/documents/read-folder.ts'
import {
  fetchDataSourceRow,
  queryDataSource,
  setDataSourceExposure,
  setDataSourceState,
} from '../../src/contracts/data-sources.ts'
import { createDatabase } from '../../src/contracts/databases.ts'
import { showLoad, startLoad } from '../../src/contracts/loads.ts'
import { createDocuments, syncDocuments } from '../../src/contracts/documents.ts'
import { inDatabase, startWithDatabases, type SystemWithDatabases } from '../support/data-sources.ts'
import { hostileFiles, ordinaryFiles } from '../support/document-corpus.ts'
import { hostileTables, ordinaryTables } from '../support/table-corpus.ts'
import { contentOf, listOf, syncFiles, uploadMissing } from '../support/documents.ts'
import { takeLoadSteps, uploadFile } from '../support/loads.ts'
import { makeOrganization, type Org } from '../support/make.ts'

const PATIENCE_MS = 10 * 60_000
const READER = new URL('../../src/adapters/documents/index.ts', import.meta.url).href
let system: SystemWithDatabases
let org: Org
const folders: string[] = []
beforeAll(async () => {
  system = await startWithDatabases({ QUESTIONS_PER_MINUTE: '1000' })
  org = await makeOrganization(system)
}, 120_000)
afterAll(async () => {
  await system?.stop()
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })))
})

/** Our own sentences, so that nothing of a file is told in one. */
const SENTENCES =
  /^(It is (broken|protected|empty|not text)|Its (text|tags)|It has more|There is no text|It becomes too large|It takes (too long|more memory)|Files of this kind)[\w ,:'-]*\.?( (Save|Divide)[\w -]*\.)?$/

test(
  'every hostile file ends with a sentence of ours, or is read; and the next one is read as ever',
  async () => {
    const reader = createDocumentReader()
    const hostile = hostileFiles()
    expect(hostile.length).toBeGreaterThanOrEqual(40)
    try {
      for (const { path, content } of hostile) {
        const read = await reader.readDocument('org', { path, content: Buffer.from(content) })
        if ('problem' in read) expect([path, read.problem]).toEqual([path, expect.stringMatching(SENTENCES)])
        const next = await reader.readDocument('org', { path: 'a.txt', content: Buffer.from('as ever') })
        expect([path, next]).toMatchObject([path, { passages: [{ text: 'as ever' }] }])
      }
    } finally {
      await reader.close()
    }
  },
  PATIENCE_MS,
)

/** Of our own words; names of sheets are shown to whoever has sent them. */
const TABLE_SENTENCES =
  /^(It is (broken|protected|encrypted|compressed)|It has more text|It has a cell with more text|It becomes too large|It takes (too long|more memory)|A formula)[\w ,:'-]*\.?( Save[\w ,-]*\.)?$/

test(
  'every hostile workbook and Parquet file ends with a sentence of ours, or is read; and the next one is read as ever',
  async () => {
    const reader = createDocumentReader()
    const ordinary = ordinaryTables()
    const hostile = hostileTables()
    expect(hostile.length).toBeGreaterThanOrEqual(50)
    try {
      const [next] = ordinary
      const told: string[] = []
      for (const { name, format, content } of hostile) {
        const read = await reader.readTable('org', { format, content })
        if ('problem' in read)
          expect([name, read.problem]).toEqual([name, expect.stringMatching(TABLE_SENTENCES)])
        if ('problem' in read) told.push(name)
        const after = await reader.readTable('org', next!)
        expect([name, after]).toMatchObject([name, { headers: ['id', 'value'] }])
      }
      expect(told).toEqual(
        expect.arrayContaining(['bomb', 'a password', 'cut', 'noise', 'a footer of two gigabytes']),
      )
      for (const { name, format, content, row } of ordinary) {
        const read = await reader.readTable('org', { format, content })
        const rows = 'problem' in read ? read.problem : Buffer.from(read.rows).toString().trim()
        expect([format, name, rows]).toEqual([format, name, JSON.stringify(row)])
      }
    } finally {
      await reader.close()
    }
  },
  PATIENCE_MS,
)

// It reads /proc.
test.skipIf(process.platform !== 'linux')(
  'the process that reads is not ended by a signal to all, and ends with a server that is killed',
  async () => {
    const server = spawn(
      process.execPath,
      [
        '--input-type=module-typescript',
        '-e',
        `import { createDocumentReader } from ${JSON.stringify(READER)}
         const reader = createDocumentReader()
         const read = async () => {
           const read = await reader.readDocument('org', { path: 'a.txt', content: Buffer.from('text') })
           console.log('passages' in read ? 'read' : read.problem)
         }
         process.on('SIGUSR2', read)
         setInterval(() => {}, 1_000)
         await read()`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const answer = async () => String((await once(server.stdout, 'data'))[0]).trim()
    try {
      expect(await answer()).toBe('read')
      const [pid] = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').split(' ')
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(Number(pid), signal)
      const again = answer()
      server.kill('SIGUSR2')
      expect(await again).toBe('read')
      expect(existsSync(`/proc/${pid}`)).toBe(true)
      server.kill('SIGKILL')
      await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 30_000 }).toBe(false)
    } finally {
      server.kill('SIGKILL')
    }
  },
  PATIENCE_MS,
)

test(
  'a hostile workbook that is loaded costs a sentence, and leaves nothing in the database',
  async () => {
    const { call } = org.owner
    await call(createDatabase, { name: 'tables' })
    const tables = () =>
      inDatabase(
        org,
        'tables',
        (sql) => sql`select schemaname, tablename from pg_tables where schemaname in ('public', 'svc_loads')`,
      )
    const ended: string[] = []
    for (const [at, { name, format, content }] of hostileTables(0.01).entries()) {
      const { id } = await uploadFile(call, 'tables', content, format)
      const started = await call(startLoad, { load_id: id, table: `t${at}` }).catch((error: unknown) => error)
      await takeLoadSteps(system)
      const { state } = await call(showLoad, { load_id: id })
      if (state === 'succeeded') continue
      expect([name, state]).toEqual([name, 'failed'])
      if (started instanceof Error) expect([name, started]).toMatchObject([name, { code: 'INVALID_REQUEST' }])
      ended.push(`t${at}`, id)
    }
    expect(ended.length).toBeGreaterThan(40)
    const left = (await tables()).map(({ tablename }) => String(tablename))
    expect(left.filter((table) => ended.some((one) => table === one || table.startsWith(`${one}_`)))).toEqual(
      [],
    )
  },
  PATIENCE_MS,
)

test(
  'all of them in one sync: each ordinary file is found by its word, cited and opened there',
  async () => {
    const name = 'corpus'
    const source_id = `db_${name}`
    const { call } = org.owner
    await call(createDocuments, { name, model: 'toy-3' })
    await call(setDataSourceState, { source_id, enabled: true })
    await call(setDataSourceExposure, { source_id, exposed: true })
    const ordinary = ordinaryFiles()
    expect(ordinary.length).toBeGreaterThanOrEqual(40)
    const files = Object.fromEntries(
      [...hostileFiles(0.02), ...ordinary].map(({ path, content }) => [path, content] as const),
    )
    const { load, held } = await syncFiles(system, call, name, files)
    expect(load).toMatchObject({ state: 'succeeded' })
    expect(held.left_out.filter(({ path }) => path.startsWith('ordinary/'))).toEqual([])
    expect(held.left_out_count).toBeGreaterThan(20)
    for (const { reason } of held.left_out) expect(reason).toMatch(SENTENCES)
    for (const { path, word } of ordinary) {
      const { results } = await call(queryDataSource, { source_id, query: word, top_k: 10 })
      const hit = results.find(({ metadata }) => metadata['path'] === path)
      expect([path, hit?.matched]).toEqual([path, expect.arrayContaining([word])])
      const handle = new URL(hit!.url!).pathname.split('/').at(-1)!
      const fetched = await call(fetchDataSourceRow, { source_id, handle })
      expect(fetched.hit.metadata['passage']).toContain(word)
    }
    // Once more it is the same, also of those that could not be read.
    expect(await syncFiles(system, call, name, files)).toMatchObject({ sync: null })
  },
  PATIENCE_MS,
)

test(
  'a document that changes while it is sent, and another sync meanwhile, publish nothing of it',
  async () => {
    const name = 'moving'
    const { call } = org.owner
    await call(createDocuments, { name, model: 'toy-3' })
    const { held } = await syncFiles(system, call, name, { 'a.md': 'first [1,0,0]' })
    const files = { 'a.md': 'second [1,0,0]' }
    const { sync, missing } = await call(syncDocuments, { name, files: listOf(files) })
    await expect(
      call(syncDocuments, { name, files: listOf({ 'a.md': 'third [1,0,0]' }) }),
    ).rejects.toMatchObject({ code: 'RATE_LIMITED', message: expect.stringContaining('is under way') })
    await uploadMissing(call, sync!, contentOf({ 'a.md': 'SECOND [1,0,0]' }, missing))
    await takeLoadSteps(system)
    const after = await syncFiles(system, call, name, { 'a.md': 'first [1,0,0]' })
    expect(after).toMatchObject({ sync: null, held: { version: held.version, passages: 1 } })
  },
  PATIENCE_MS,
)

test(
  'a hundred thousand tiny files are refused with a sentence, by the client and by the server',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-tiny-'))
    folders.push(folder)
    for (let at = 0; at < 100; at++) {
      await mkdir(join(folder, String(at)))
      await Promise.all(
        Array.from({ length: 1_000 }, (_, n) => writeFile(join(folder, String(at), `${n}.txt`), 'x')),
      )
    }
    await expect(readDocuments(folder)).rejects.toMatchObject({
      message: expect.stringContaining('There are more than 20,000 documents'),
    })
    const files = Array.from({ length: 100_000 }, (_, at) => ({
      path: `${at}.txt`,
      sha256: 'a'.repeat(64),
      bytes: 1,
    }))
    await expect(org.owner.call(syncDocuments, { name: 'corpus', files })).rejects.toMatchObject({
      code: expect.stringMatching(/^(TOO_LARGE|INVALID_REQUEST)$/),
    })
  },
  PATIENCE_MS,
)
