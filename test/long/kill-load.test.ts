/**
 * A load that is killed at any moment goes on: its client, or the server, in every phase. Until all of it is there nothing
 * can be searched; in the end every row is there, once.
 */
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import postgres from 'postgres'
import { createDatabase, removeDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import { listLoads, undoLoad, type LoadPhase, type LoadState } from '../../src/contracts/loads.ts'
import { kill, startClient, until, UNTIL_MS, type ClientProcess } from '../support/client-process.ts'
import { atAddress } from '../support/data-sources.ts'
import { startKilledServer } from '../support/killed-server.ts'
import { processes } from '../support/process.ts'

/** Most of it waits until leases are over. */
const AT_ONCE = { concurrent: true, timeout: 25 * 60_000 }
const ROWS = 3_000

const own = processes()
let model: Server
let setting: string

/** Answers slowly enough that a kill comes in between. */
beforeAll(async () => {
  const answer = JSON.stringify({ data: [{ index: 0, embedding: [1, 0, 0] }] })
  model = createServer((request, response) => {
    request.resume().once('end', () => {
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(answer), 40)
    })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => model.once('listening', resolve))
  const { port } = model.address() as AddressInfo
  setting = JSON.stringify({ slow: { url: `http://127.0.0.1:${port}/v1`, dimensions: 3, bulk: true } })
})
afterAll(async () => {
  await own.cleanUp()
  model?.closeAllConnections()
  model?.close()
})

type Moment = LoadState | LoadPhase
type Kill = { readonly at: Moment; readonly who: 'client' | 'server' | 'both' }

const ORDER: readonly Moment[] = [
  'uploading',
  'reading',
  'checking',
  'embedding',
  'indexing',
  'finishing',
  'succeeded',
]
/** A killed server is waited for until its lease is over: each costs half a minute. */
const KILLS: readonly Kill[] = [
  { at: 'uploading', who: 'client' },
  { at: 'reading', who: 'server' },
  { at: 'checking', who: 'both' },
  { at: 'embedding', who: 'client' },
  { at: 'embedding', who: 'server' },
  { at: 'indexing', who: 'server' },
  { at: 'finishing', who: 'both' },
]
const KILLS_OF_CHANGES: readonly Kill[] = [
  { at: 'checking', who: 'server' },
  { at: 'embedding', who: 'both' },
  { at: 'finishing', who: 'server' },
]
const KILLS_OF_APPENDING: readonly Kill[] = [
  { at: 'embedding', who: 'server' },
  { at: 'finishing', who: 'server' },
]

const SERVER = process.env['TEST_PGVECTOR_URL']
/** Where the managed databases are. */
const PLACES = ['embedded', ...(SERVER ? [SERVER] : [])]

/** A server of somebody else's is left as it was found. */
const leave = async ({ call, end }: Running) => {
  await call(removeDatabase, { name: 'notes', confirm: 'notes' })
  await end()
}

/** Some of them are longer than a model reads. */
const rowsFrom = (first: number, count: number) =>
  Array.from(
    { length: count },
    (_, at) =>
      `n${first + at},"Note ${at}\nof many","${TEXT.repeat((first + at) % 100 === 0 ? 5 : 1)}${first + at}"`,
  )
const TEXT = 'words '.repeat(200)

async function writeCsv(rows: readonly string[]): Promise<string> {
  const file = join(await own.newFolder(), 'notes.csv')
  await writeFile(file, `id,title,text\n${rows.join('\n')}\n`)
  return file
}

async function begin(managed: string) {
  const system = await startKilledServer(own, { managed, models: setting })
  await system.call(createDatabase, { name: 'notes' })
  return { ...system, newest: async () => (await system.call(listLoads, { name: 'notes' })).loads[0] }
}
type Running = Awaited<ReturnType<typeof begin>>

/** Loads the file while both are killed, and returns how often it was begun. */
async function loadKilled(
  system: Running,
  file: string,
  kills: readonly Kill[],
  more: readonly string[] = [],
) {
  const known = (await system.call(listLoads, { name: 'notes' })).loads.length
  const start = () => startLoad(system, file, more)
  const begun = async () => {
    const { loads } = await system.call(listLoads, { name: 'notes' })
    return loads.slice(0, loads.length - known)
  }
  const place = async () => {
    const load = (await begun()).at(-1)
    return load ? ORDER.indexOf(load.phase ?? load.state) : -1
  }
  let client = start()
  for (const { at, who } of kills) {
    await until(client, async () => (await place()) >= ORDER.indexOf(at))
    await sleep(Math.random() * 100)
    if (who !== 'server') await kill(client)
    if (more.length === 0) {
      const tables = await tablesIn(system)
      // Asked afterwards: until then it went on.
      const load = await system.newest()
      if (load?.state === 'running' && load.phase !== 'finishing') {
        expect(tables).not.toContain('public.notes')
      }
    }
    if (who !== 'client') await system.kill()
    await kill(client)
    // The same file once more would be another load.
    if ((await place()) === ORDER.indexOf('succeeded')) break
    client = start()
  }
  const done = async () => (await begun()).find(({ state }) => state === 'succeeded')
  await until(client, async () => (await done()) !== undefined)
  await kill(client)
  const { finished_at } = (await done())!
  // Whoever comes when all is done begins another one, which finds that the rows are there.
  return (await begun()).filter(({ created_at }) => created_at <= finished_at!).length
}

test.for(PLACES)(
  'killed again and again, client and server, the file is loaded whole and once (%#)',
  AT_ONCE,
  async (place, { expect, onTestFinished }) => {
    const system = await begin(place)
    onTestFinished(() => leave(system))
    // All of them were one load. Several parts of an upload, and several of reading.
    expect(await loadKilled(system, await writeCsv(rowsFrom(0, ROWS)), KILLS)).toBe(1)
    const more = await writeCsv(rowsFrom(ROWS, 200))
    expect(await loadKilled(system, more, KILLS_OF_APPENDING, ['--append'])).toBe(1)
    const { url } = await system.call(showConnectionString, { name: 'notes' })
    const [found] = await atAddress(url, (sql) =>
      sql.unsafe(`select count(*)::int as rows, count(distinct id)::int as ids, count(embedding)::int as vectors,
      min(length(text))::int as shortest from notes`),
    )
    const all = ROWS + 200
    expect(found).toEqual({ rows: all, ids: all, vectors: all, shortest: TEXT.length + 1 })
    const kept = (tables: readonly string[]) => tables.filter((name) => !KEPT.test(name))
    await expect
      .poll(async () => kept(await tablesIn(system)), { timeout: UNTIL_MS })
      .toEqual(['public.notes'])
  },
)

/** What a load has replaced, until it can no longer be undone. */
const KEPT = /^svc_loads\.\w+_(before|keys|finished|undone)$/

type Look = { rows: number; vectors: number; digest: string; passages: string }

/** Its rows in one look: which there are, and what they and their passages say. */
async function lookAt({ call }: Running): Promise<Look> {
  const { url } = await call(showConnectionString, { name: 'notes' })
  // Its server may be killed meanwhile: nothing is asked behind our back, so that nothing fails there.
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice() {} })
  try {
    const [found] = await sql.unsafe(
      `select count(*)::int as rows, count(embedding)::int as vectors,
        md5(string_agg(id || ':' || title || ':' || text, ',' order by id collate "C")) as digest,
        (select count(distinct row_id) || ' ' || count(embedding) || ' ' ||
          md5(string_agg(row_id || ':' || place || ':' || passage, ',' order by row_id collate "C", place))
          from svc_passages.notes) as passages from notes`,
    )
    return {
      rows: Number(found!['rows']),
      vectors: Number(found!['vectors']),
      digest: String(found!['digest']),
      passages: String(found!['passages']),
    }
  } finally {
    await sql.end({ timeout: 1 })
  }
}

test.for(PLACES)(
  'killed again and again, a table is changed, replaced and undone whole, and seen as one version or the other (%#)',
  AT_ONCE,
  async (place, { onTestFinished }) => {
    const system = await begin(place)
    onTestFinished(() => leave(system))
    const seen: string[] = []
    await loadKilled(system, await writeCsv(rowsFrom(0, 400)), [])
    const versions = [await lookAt(system)]
    const rename = (rows: readonly string[]) =>
      rows.map((row, at) => (at % 10 === 0 ? row.replace('words ', 'other ') : row))
    const changes: [string[], string[]][] = [
      [rename(rowsFrom(100, 400)), ['--upsert', '--delete-missing']],
      [rename(rename(rowsFrom(200, 300))), ['--replace']],
    ]
    for (const [rows, more] of changes) {
      const before = versions.at(-1)!
      const over = new AbortController()
      const looking = (async () => {
        while (!over.signal.aborted) {
          const look = await lookAt(system).catch(() => undefined)
          if (look) seen.push(JSON.stringify(look))
          await sleep(100)
        }
      })()
      try {
        expect(await loadKilled(system, await writeCsv(rows), KILLS_OF_CHANGES, more)).toBe(1)
      } finally {
        over.abort()
        await looking
      }
      const after = await lookAt(system)
      expect(after).toMatchObject({ rows: rows.length, vectors: rows.length })
      expect(after.digest).not.toBe(before.digest)
      const long = rows.filter((row) => row.length > 4_000).length
      expect(after.passages.split(' ')[0]).toBe(String(long))
      expect(after.passages).not.toBe(before.passages)
      versions.push(after)
      const known = new Set(versions.map((one) => JSON.stringify(one)))
      expect(seen.filter((look) => !known.has(look))).toEqual([])
      // Undone while the server is killed, and done again: whoever has no answer asks again.
      const { id: load_id } = (await system.newest())!
      for (const [undone, expected] of [
        [true, before],
        [false, after],
      ] as const) {
        const asked = system.call(undoLoad, { load_id, undone }).catch(() => undefined)
        await sleep(Math.random() * 200)
        await system.kill()
        await asked
        expect(known).toContain(JSON.stringify(await lookAt(system)))
        await system.call(undoLoad, { load_id, undone })
        expect(await lookAt(system)).toEqual(expected)
      }
    }
  },
)

/** What somebody else holds while the server is killed: its statement waits in the database, and outlives it. */
const LOCKS: readonly [LoadPhase, (loadId: string) => string, readonly string[]][] = [
  ['indexing', (id) => `lock table svc_loads."${id}" in row exclusive mode`, []],
  ['finishing', (id) => `lock table svc_loads."${id}" in access share mode`, []],
  ['finishing', () => `lock table public.notes in share mode`, ['--append']],
]

// Embedded databases end with their server, and no statement outlives it.
test.skipIf(!SERVER).for(LOCKS)(
  'a statement of %s that outlives its server is not done twice (%#)',
  AT_ONCE,
  async ([phase, lock, more], { onTestFinished }) => {
    const system = await begin(SERVER!)
    onTestFinished(() => leave(system))
    if (more.length > 0) await loadKilled(system, await writeCsv(rowsFrom(5_000, 10)), [])
    const { url } = await system.call(showConnectionString, { name: 'notes' })
    const somebody = postgres(url, { max: 1, onnotice() {} })
    const known = (await system.newest())?.id
    const client = startLoad(system, await writeCsv(rowsFrom(0, 1_500)), more)
    let id = ''
    const isOver = Promise.withResolvers<void>()
    await until(client, async () => {
      const load = await system.newest()
      id = load && load.id !== known && load.phase === 'embedding' ? load.id : ''
      return id !== ''
    })
    const held = somebody.begin(async (tx) => {
      await tx.unsafe(lock(id))
      await isOver.promise
    })
    const waiting = async () => {
      const [found] = await atAddress(url, (sql) =>
        sql.unsafe(`select count(*)::int as n from pg_stat_activity where application_name = 'svc load'
          and datname = current_database() and wait_event_type = 'Lock'`),
      )
      return Number(found!['n'])
    }
    await until(client, async () => (await waiting()) > 0 && (await system.newest())?.phase === phase)
    await kill(client)
    await system.kill()
    // It waits no longer than ten seconds; then the next one of the same does.
    await until(client, async () => (await waiting()) > 0)
    isOver.resolve()
    await held
    await somebody.end({ timeout: 5 })
    await until(client, async () => (await system.newest())?.state === 'succeeded')
    const rows = await atAddress(url, (sql) => sql.unsafe('select id from notes'))
    expect(rows).toHaveLength(more.length > 0 ? 1_510 : 1_500)
  },
)

/** What is staged, and what is in its place. */
async function tablesIn({ call }: Running): Promise<string[]> {
  const { url } = await call(showConnectionString, { name: 'notes' })
  const rows = await atAddress(url, (sql) =>
    sql.unsafe(`select schemaname || '.' || tablename as name from pg_tables
      where schemaname in ('public', 'svc_loads') order by 1`),
  )
  return rows.map(({ name }) => String(name))
}

const LOAD = ['--id', 'id', '--title', 'title', '--embed', 'text', '--model', 'slow']

const startLoad = (system: Running, file: string, more: readonly string[]): ClientProcess =>
  startClient(system.server(), system.token, ['db', 'load', 'notes', file, ...LOAD, ...more])
