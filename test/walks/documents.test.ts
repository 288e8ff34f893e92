/** A folder of files becomes passages that can be asked: one version or the next, for its own organization. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { and, eq, inArray, sql } from '../../db/drizzle.ts'
import { dataSources, diskUse, loads } from '../../db/schema.ts'
import {
  fetchDataSourceRow,
  fetchSearchResult,
  queryDataSource,
  saveSearchConfiguration,
  searchDataSources,
  showDataSource,
  showQuota,
  setDataSourceExposure,
  setDataSourceState,
} from '../../src/contracts/data-sources.ts'
import { createDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import {
  createDocuments,
  showDocuments,
  syncDocuments,
  undoDocuments,
} from '../../src/contracts/documents.ts'
import { addGroupMember, createGroup } from '../../src/contracts/groups.ts'
import { makeId } from '../../src/contracts/ids.ts'
import {
  DOCUMENT_MAX_BYTES,
  DOCUMENTS_MAX,
  DOCUMENTS_SYNC_IDLE_SECONDS,
  LOADS_UNFINISHED_PER_PERSON,
} from '../../src/contracts/limits.ts'
import { cancelLoad, createLoad, showLoad, startLoad, uploadLoadPart } from '../../src/contracts/loads.ts'
import { writeToDatabase, type Queries } from '../../src/cores/databases/index.ts'
import { takeLoadStep } from '../../src/cores/loads/index.ts'
import { addEndingKeeper, type Ending } from '../../src/cores/record-ending.ts'
import { versionOf } from '../../src/cores/search/table-search.ts'
import { insertSource, startWithDatabases, type SystemWithDatabases } from '../support/data-sources.ts'
import { contentOf, listOf, syncFiles, uploadMissing, type Files } from '../support/documents.ts'
import { announced, never, startFile, takeLoadSteps } from '../support/loads.ts'
import { makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'

let system: SystemWithDatabases
let org: Org
let other: Org
/** One for all tests: a database takes longer to be made than everything else here. */
let name: string
/** What making it told the keepers of endings. */
const kept: Ending[] = []

beforeAll(async () => {
  system = await startWithDatabases()
  org = await makeOrganization(system)
  other = await makeOrganization(system)
  name = unique('docs').replaceAll('-', '_')
  const source_id = `db_${name}`
  const leave = addEndingKeeper(system.ownDb, {
    async committing(endings) {
      kept.push(...endings)
      return async () => {}
    },
  })
  await org.owner.call(createDocuments, { name, model: 'toy-3' })
  leave()
  await org.owner.call(setDataSourceState, { source_id, enabled: true })
  await org.owner.call(setDataSourceExposure, { source_id, exposed: true })
})
afterAll(() => system.stop())

const HANDBOOK: Files = {
  'leave.md':
    '# Leave\n\nEverybody has 25 days. [0,1,0]\n\n## Parental\n\nTwelve weeks for each parent. [0,0,1]\n',
  'it/laptops.html': '<title>Laptops</title><p>Ask the service desk for a laptop. [1,0,0]</p>',
  'notes.txt': 'Some notes about the kitchen. [1,1,0]',
}
const refused = (code: string) => expect.objectContaining({ code })

const ask = async (query: string) =>
  (await org.owner.call(queryDataSource, { source_id: `db_${name}`, query, top_k: 1 })).results[0]

async function inDatabase<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
  const isSource = and(eq(dataSources.orgId, org.id), eq(dataSources.name, name))
  const [source] = await system.db.select().from(dataSources).where(isSource)
  return writeToDatabase(system.system.gateway!, source!, work)
}

/** All that is published. */
const passages = () =>
  inDatabase(async (queries) => [
    ...(await queries.query<{ id: string; path: string; passage: string }>(
      'select id, path, passage from passages order by path, place',
    )),
  ])

/** What questions go by to know that all their statements saw the same. */
const versionSeen = () =>
  inDatabase(async (queries) => {
    const [row] = await queries.query<{ version: string }>(
      `select ${versionOf({ versions: new Set() })} as version`,
    )
    return row!.version
  })

describe('a documents source', () => {
  test('is made with an access column, which a lost tail of the database does not take from it', () => {
    const to = expect.objectContaining({ column: 'access' })
    expect(kept).toEqual([{ kind: 'data_source_access', id: expect.any(String), orgId: org.id, to }])
  })

  test('can be asked after its first sync, passage by passage, by its own organization alone', async () => {
    const { load, held, ...begun } = await syncFiles(system, org.owner.call, name, HANDBOOK)
    expect(begun).toMatchObject({ added: 3, changed: 0, removed: 0, unchanged: 0 })
    expect(load).toMatchObject({ state: 'succeeded', rows: 4, embedded: 4, problems: [] })
    expect(held).toMatchObject({ version: 1, documents: 3, passages: 4, left_out: [] })
    expect(await ask('[0,0,1]')).toMatchObject({
      title: 'Leave',
      metadata: {
        heading: 'Leave > Parental',
        passage: 'Twelve weeks for each parent. [0,0,1]',
        path: 'leave.md',
      },
    })
    const { results } = await org.owner.call(searchDataSources, { query: 'service desk laptop' })
    expect(results.map(({ title }) => title)).toContain('Laptops')
    const source_id = `db_${name}`
    for (const call of [
      () => other.owner.call(queryDataSource, { source_id, query: '[0,0,1]' }),
      () => other.owner.call(showDocuments, { name }),
      () => other.owner.call(syncDocuments, { name, files: [] }),
      () => other.owner.call(showLoad, { load_id: load!.id }),
    ]) {
      await expect(call()).rejects.toEqual(refused('NOT_FOUND'))
    }
  })

  test('answers with citations: the passage, its words, its file, and an address that opens exactly it', async () => {
    const source_id = `db_${name}`
    const call = org.owner.call
    const { results } = await call(queryDataSource, { source_id, query: 'weeks for parents [0,0,1]' })
    const [hit] = results
    const digest = listOf(HANDBOOK).find(({ path }) => path === 'leave.md')!.sha256
    // "parents" is found as "parent".
    expect(hit).toMatchObject({
      title: 'Leave',
      digest,
      matched: expect.arrayContaining(['weeks', 'parent']),
    })
    expect(new Date(hit!.as_of!).getTime()).not.toBeNaN()
    expect(hit!.metadata).not.toHaveProperty('sha256')
    // Both passages of one document are one hit.
    const paths = results.map(({ metadata }) => String(metadata['path']))
    expect(paths.toSorted()).toEqual(['it/laptops.html', 'leave.md', 'notes.txt'])
    expect(hit!.passages).toEqual([
      {
        id: expect.any(String),
        heading: 'Leave',
        passage: 'Everybody has 25 days. [0,1,0]',
        url: expect.any(String),
      },
    ])

    // A further passage is named where it would have been a hit itself.
    const one = await call(queryDataSource, {
      source_id,
      query: '25 days for each parent [0.1,1,0.9]',
      top_k: 1,
    })
    expect(one.results[0]).not.toHaveProperty('passages')

    const page = `/console/data-sources/${source_id}/rows/`
    const link = (url: string | undefined) => {
      expect(new URL(url!).pathname).toContain(page)
      return new URL(url!).pathname.slice(page.length)
    }
    const handle = link(hit!.url)
    const { hit: fetched } = await call(fetchDataSourceRow, { source_id, handle })
    expect(fetched).toMatchObject({
      id: hit!.id,
      url: hit!.url,
      digest,
      metadata: { heading: 'Leave > Parental' },
    })
    expect(fetched.passages!.map(({ passage }) => passage)).toEqual([
      'Everybody has 25 days. [0,1,0]',
      'Twelve weeks for each parent. [0,0,1]',
    ])
    const further = await call(fetchDataSourceRow, {
      source_id,
      handle: link(hit!.passages![0]!.url),
      document: true,
    })
    expect(further).toMatchObject({ hit: { metadata: { passage: 'Everybody has 25 days. [0,1,0]' } } })
    expect(further.hit.passages).toHaveLength(2)

    // Found among all sources, it is the same citation.
    const everywhere = await call(searchDataSources, { query: 'weeks for parents [0,0,1]' })
    const same = everywhere.results.find(({ url }) => url === hit!.url)
    expect(same).toMatchObject({ digest, as_of: hit!.as_of })
    const { day: before } = await call(showQuota, {})
    expect(await call(fetchSearchResult, { id: same!.id, document: true })).toMatchObject({
      source_id,
      hit: { url: hit!.url, passages: [{}, {}] },
    })
    expect((await call(showQuota, {})).day.left).toBe(before.left - 1)

    // A link is of one row of one source of one organization, and asks for the rights again.
    const [body, signature] = handle.split('.') as [string, string]
    const forged = Buffer.from(JSON.stringify(['passages', 'another'])).toString('base64url')
    for (const wrong of [`${forged}.${signature}`, `${body}.${'a'.repeat(24)}`, body, `${handle}.x`]) {
      await expect(call(fetchDataSourceRow, { source_id, handle: wrong })).rejects.toEqual(
        refused('INVALID_REQUEST'),
      )
    }
    await expect(call(fetchSearchResult, { id: handle })).rejects.toEqual(refused('INVALID_REQUEST'))
    const beside = await insertSource(system, org, { enabled: true, exposed: true })
    for (const its of [handle, same!.id]) {
      await expect(call(fetchDataSourceRow, { source_id: beside.sourceId, handle: its })).rejects.toEqual(
        refused('INVALID_REQUEST'),
      )
    }
    await system.db.delete(dataSources).where(eq(dataSources.id, beside.id))
    await expect(other.owner.call(fetchDataSourceRow, { source_id, handle })).rejects.toEqual(
      refused('NOT_FOUND'),
    )
    await call(setDataSourceExposure, { source_id, exposed: true, minimum_role: 'admin' })
    const viewer = await makeMember(system, org, 'viewer')
    await expect(viewer.call(fetchDataSourceRow, { source_id, handle })).rejects.toEqual(refused('FORBIDDEN'))
    await expect(viewer.call(fetchSearchResult, { id: same!.id })).rejects.toEqual(refused('FORBIDDEN'))
    await call(setDataSourceExposure, { source_id, exposed: false })
    await expect(call(fetchDataSourceRow, { source_id, handle })).rejects.toEqual(refused('NOT_FOUND'))
    await call(setDataSourceExposure, { source_id, exposed: true, minimum_role: 'viewer' })

    // Elsewhere, where a template says so.
    const { connection_config, filter_schema, access_column } = await call(showDataSource, { source_id })
    const [entry] = connection_config!.embedding_configs
    const save = (url_template?: string) =>
      call(saveSearchConfiguration, {
        source_id,
        filter_schema,
        access_column,
        connection_config: { embedding_configs: [{ ...entry!, ...(url_template && { url_template }) }] },
      })
    await expect(save('javascript:alert({id})')).rejects.toEqual(refused('INVALID_SEARCH_CONFIGURATION'))
    await save('https://wiki.example.com/{+path}?p={id}')
    expect((await ask('[1,0,0]'))!.url).toMatch(
      /^https:\/\/wiki\.example\.com\/it\/laptops\.html\?p=[0-9a-f]{32}$/,
    )
    await save()
  })

  test('sends only what is missing, deletes what is gone unless it is kept, and embeds only what is new', async () => {
    const before = await passages()
    expect(await syncFiles(system, org.owner.call, name, HANDBOOK)).toMatchObject({
      sync: null,
      unchanged: 3,
    })

    const { 'notes.txt': _, ...without } = HANDBOOK
    const edited = {
      ...without,
      'leave.md': `${without['leave.md'] as string}\n## Sick\n\nCall us. [1,0,1]\n`,
    }
    const kept = await syncFiles(system, org.owner.call, name, edited, { keep: true })
    expect(kept).toMatchObject({ missing: ['leave.md'], added: 0, changed: 1, removed: 0, unchanged: 1 })
    expect(kept.held).toMatchObject({ version: 2, documents: 3, passages: 5 })
    // The passages that were not edited are the same.
    expect(await passages()).toEqual(expect.arrayContaining(before))

    const gone = await syncFiles(system, org.owner.call, name, edited)
    expect(gone).toMatchObject({ missing: [], removed: 1, held: { version: 3, documents: 2, passages: 4 } })
    expect((await passages()).map(({ path }) => path)).not.toContain('notes.txt')
  })

  test('brings the version before back, and the newer one again', async () => {
    const before = await passages()
    const versions = new Set([await versionSeen()])
    await syncFiles(system, org.owner.call, name, {
      'leave.md': 'All is new. [1,0,0]',
      'more.txt': 'More. [0,1,0]',
    })
    const after = await passages()
    versions.add(await versionSeen())
    const { version } = await org.owner.call(showDocuments, { name })
    const undone = await org.owner.call(undoDocuments, { name, version })
    expect(undone).toMatchObject({ version: version + 1, undo_until: expect.any(String) })
    expect(await passages()).toEqual(before)
    versions.add(await versionSeen())
    // The same call again is not another one.
    await expect(org.owner.call(undoDocuments, { name, version })).rejects.toEqual(refused('CONFLICT'))
    await org.owner.call(undoDocuments, { name, version: version + 1 })
    expect(await passages()).toEqual(after)
    expect([...versions.add(await versionSeen())]).toHaveLength(4)
    await expect(other.owner.call(undoDocuments, { name, version })).rejects.toEqual(refused('NOT_FOUND'))
    await org.owner.call(undoDocuments, { name, version: version + 2 })

    // Seven days after the sync, but not after the undoing: it is kept.
    const isSync = and(eq(loads.orgId, org.id), eq(loads.state, 'succeeded'))
    const cleanUp = async () => {
      await system.db.update(loads).set({ waitsUntil: null }).where(isSync)
      await takeLoadSteps(system)
    }
    await cleanUp()
    // Also of an organization that is over its disk quota, where our own login looks.
    const over = { orgId: org.id, bytes: 1, measuredAt: system.clock.now(), overSince: system.clock.now() }
    await system.db.insert(diskUse).values(over)
    await cleanUp()
    await system.db.delete(diskUse).where(eq(diskUse.orgId, org.id))
    const { undo_until } = await org.owner.call(showDocuments, { name })
    const waiting = await system.db
      .select()
      .from(loads)
      .where(and(isSync, eq(loads.isStaged, true)))
    expect(waiting.map(({ waitsUntil }) => waitsUntil?.toISOString())).toEqual([undo_until])
    await org.owner.call(undoDocuments, { name, version: version + 3 })
    expect(await passages()).toEqual(after)
    await org.owner.call(undoDocuments, { name, version: version + 4 })

    // After seven days it is deleted.
    await inDatabase((queries) =>
      queries.query(`update versions set published_at = published_at - interval '7 days'`),
    )
    await cleanUp()
    const held = await org.owner.call(showDocuments, { name })
    expect(held.undo_until).toBeNull()
    await expect(org.owner.call(undoDocuments, { name, version: held.version })).rejects.toEqual(
      refused('CONFLICT'),
    )
    expect(await passages()).toEqual(before)
  })

  test.runIf(inject('everyCase'))(
    'holds no more files than one list names, also where they are kept',
    async () => {
      await inDatabase((queries) =>
        queries.query(`
        insert into documents
        select (jsonb_populate_record(d, jsonb_build_object('path', 'many/' || n))).*
        from documents d, generate_series(1, ${DOCUMENTS_MAX} - (select count(*) from documents)) n
        where d.path = (select min(path) from documents)`),
      )
      const files = listOf({ 'one-more.txt': 'One more. [1,0,0]' })
      await expect(org.owner.call(syncDocuments, { name, files, keep: true })).rejects.toEqual(
        refused('TOO_LARGE'),
      )
      await inDatabase((queries) => queries.query(`delete from documents where path like 'many/%'`))
      // Of a source that has room it is taken.
      const { sync } = await org.owner.call(syncDocuments, { name, files, keep: true })
      await org.owner.call(cancelLoad, { load_id: sync!.id })
      await takeLoadSteps(system)
    },
  )

  test('lists a file that cannot be read with the reason, and does not ask for it again', async () => {
    const files = { ...HANDBOOK, 'broken.md': new Uint8Array([0xff, 0x00, 0x80]), 'empty.txt': '' }
    const { load, held } = await syncFiles(system, org.owner.call, name, files)
    expect(load).toMatchObject({ state: 'succeeded', problem_count: 2 })
    expect(held).toMatchObject({
      documents: 3,
      left_out: [
        { path: 'broken.md', reason: 'Its text is not UTF-8. Save it as UTF-8.' },
        { path: 'empty.txt', reason: 'It is empty.' },
      ],
      left_out_count: 2,
    })
    expect(await syncFiles(system, org.owner.call, name, files)).toMatchObject({ sync: null })
  })

  test('publishes nothing where another version was published meanwhile', async () => {
    const before = await passages()
    const files = { 'only.txt': 'only' }
    const { sync, missing } = await org.owner.call(syncDocuments, { name, files: listOf(files) })
    const { version } = await org.owner.call(showDocuments, { name })
    await expect(org.owner.call(undoDocuments, { name, version })).rejects.toMatchObject({
      message: 'A sync of this source is under way',
    })
    // Nobody goes on with the sync of somebody else.
    const developer = await makeMember(system, org, 'developer')
    await expect(
      system.as({ token: developer.token, organization: org.id })(syncDocuments, {
        name,
        files: listOf(files),
      }),
    ).rejects.toEqual(refused('RATE_LIMITED'))
    await uploadMissing(org.owner.call, sync!, contentOf(files, missing))
    await inDatabase((queries) =>
      queries.query('insert into versions values ($1::bigint, now())', [String(version + 1)]),
    )
    await takeLoadSteps(system)
    expect(await org.owner.call(showLoad, { load_id: sync!.id })).toMatchObject({
      state: 'failed',
      failure: expect.stringContaining('Another version'),
    })
    expect(await passages()).toEqual(before)
    await inDatabase((queries) =>
      queries.query('delete from versions where version > $1::bigint', [String(version)]),
    )
  })

  test('publishes nothing of what was changed while it was sent', async () => {
    const before = await passages()
    const files = { ...HANDBOOK, 'a.txt': 'first', 'b.txt': 'other' }
    const { sync, missing } = await org.owner.call(syncDocuments, { name, files: listOf(files) })
    await uploadMissing(org.owner.call, sync!, contentOf({ ...files, 'b.txt': 'OTHER' }, missing))
    await takeLoadSteps(system)
    expect(await org.owner.call(showLoad, { load_id: sync!.id })).toMatchObject({
      state: 'failed',
      failure: expect.stringContaining('SHA-256'),
    })
    expect(await passages()).toEqual(before)
    // And the next one begins anew.
    expect((await syncFiles(system, org.owner.call, name, files)).load).toMatchObject({ state: 'succeeded' })
  })

  test.runIf(inject('everyCase'))(
    'goes on with the same list, and lets no other one in meanwhile',
    async () => {
      const developer = await makeMember(system, org, 'developer')
      const files = { 'a.txt': 'a'.repeat(5_000), 'b.txt': 'The second file. [0,1,0]' }
      const list = { name, files: listOf(files) }
      const first = await org.owner.call(syncDocuments, list)
      const content = contentOf(files, first.missing)
      const load_id = first.sync!.id
      await org.owner.call(uploadLoadPart, {
        load_id,
        offset: 0,
        body: new Uint8Array(content.subarray(0, 2_000)),
      })

      await expect(developer.call(syncDocuments, list)).rejects.toMatchObject({
        code: 'RATE_LIMITED',
        message: expect.stringMatching(/^Another sync of this source, by .+, is under way$/),
        retryAfterSeconds: 2,
      })
      const again = await org.owner.call(syncDocuments, list)
      expect(again).toMatchObject({ missing: first.missing, sync: { id: load_id, received: 2_000 } })
      await uploadMissing(org.owner.call, again.sync!, content)
      await takeLoadSteps(system)
      expect((await ask('[0,1,0]'))?.metadata).toMatchObject({ path: 'b.txt' })
    },
  )

  test('is one of the unfinished loads of its person, unless it changes nothing; a forgotten one makes way', async () => {
    const source = await insertSource(system, org, { name: unique('full').replaceAll('-', '_') })
    const held = { 'own.txt': 'Of this test. [0,0,1]' }
    const files = { ...held, 'one-more.txt': 'One more. [0,1,0]' }
    await syncFiles(system, org.owner.call, name, held)
    const now = system.clock.now()
    const row = {
      orgId: org.id,
      sourceId: source.id,
      filename: 'a.csv',
      format: 'csv' as const,
      bytes: 10,
      sha256: 'a'.repeat(64),
      createdBy: org.owner.userId,
      createdByName: 'Owner',
      createdAt: now,
      updatedAt: now,
      state: 'uploading' as const,
      isStaged: true,
    }
    const ids = Array.from({ length: LOADS_UNFINISHED_PER_PERSON }, () => makeId('lod', now.getTime()))
    await system.db.insert(loads).values(ids.map((id) => ({ ...row, id })))
    const begin = (of: Files) => org.owner.call(syncDocuments, { name, files: listOf(of) })
    expect(await begin(held)).toMatchObject({ sync: null, unchanged: 1 })
    await expect(begin(files)).rejects.toMatchObject({
      message: `A person has at most ${LOADS_UNFINISHED_PER_PERSON} unfinished loads`,
    })
    // Nobody has started it for longer than one takes to choose columns.
    const [forgotten] = ids
    await system.db
      .update(loads)
      .set({ received: 10, updatedAt: new Date(now.getTime() - 11 * 60_000) })
      .where(eq(loads.id, forgotten!))
    const { sync } = await begin(files)
    const [made] = await system.db.select().from(loads).where(eq(loads.id, forgotten!))
    expect([sync?.state, made!.state]).toEqual(['uploading', 'canceled'])
    await org.owner.call(cancelLoad, { load_id: sync!.id })
    await system.db.delete(loads).where(inArray(loads.id, ids))
  })

  test.runIf(inject('everyCase'))(
    'holds up no load of another organization while its files are read',
    async () => {
      const database = unique('shop').replaceAll('-', '_')
      await other.owner.call(createDatabase, { name: database })
      const { sync, missing } = await org.owner.call(syncDocuments, { name, files: listOf(HANDBOOK) })
      await uploadMissing(org.owner.call, sync!, contentOf(HANDBOOK, missing))
      const deps = system.system.gateway!
      const isRead = Promise.withResolvers<void>()
      const begun = Promise.withResolvers<void>()
      const reading = takeLoadStep(
        {
          ...deps,
          async readDocument(orgId, file) {
            begun.resolve()
            await isRead.promise
            return deps.readDocument(orgId, file)
          },
        },
        never,
        { work: 'documents' },
      )
      await begun.promise
      // The loops of short steps have nothing to do with it, and go on with the others.
      expect(await takeLoadStep(deps, never, { work: 'short' })).toBe(false)
      const file = 'sku,description\nA-1,"[1,0,0]"\n'
      const load = await startFile(other.owner.call, database, file, {
        model: 'toy-3',
        embed_columns: ['description'],
        id_column: 'sku',
        table: 'products',
      })
      while (await takeLoadStep(deps, never, { work: 'short' }));
      expect(await other.owner.call(showLoad, { load_id: load.id })).toMatchObject({ state: 'succeeded' })
      isRead.resolve()
      expect(await reading).toBe(true)
      await takeLoadSteps(system)
      expect(await org.owner.call(showLoad, { load_id: sync!.id })).toMatchObject({ state: 'succeeded' })
    },
  )

  test('a step that is repeated after a kill stages what its files give then, and nothing of before', async () => {
    const files = { 'a.md': 'first [1,0,0]', 'b.md': 'second [0,1,0]' }
    const { sync, missing } = await org.owner.call(syncDocuments, { name, files: listOf(files) })
    await uploadMissing(org.owner.call, sync!, contentOf(files, missing))
    const deps = system.system.gateway!
    const readOnce = (passagesOf: (path: string) => number) =>
      takeLoadStep(
        {
          ...deps,
          readDocument: async (_orgId, { path }) => ({
            title: 'A title',
            passages: Array.from({ length: passagesOf(path) }, (_, at) => ({
              heading: '',
              text: `${path} ${at} of ${passagesOf(path)} [1,0,0]`,
            })),
          }),
        },
        never,
        { work: 'documents' },
      )
    // So many are staged at once, before the next file is read.
    await readOnce((path) => {
      if (path === 'b.md') throw new Error('killed')
      return 500
    })
    const isSync = eq(loads.id, sync!.id)
    const [stopped] = await system.db.select().from(loads).where(isSync)
    expect(stopped).toMatchObject({ state: 'running', phase: 'reading', rows: 0 })
    await system.db.update(loads).set({ waitsFor: null, waitsUntil: null, failingSince: null }).where(isSync)
    while (await readOnce(() => 1));
    await takeLoadSteps(system)
    expect(await org.owner.call(showLoad, { load_id: sync!.id })).toMatchObject({ state: 'succeeded' })
    expect((await passages()).map(({ path, passage }) => [path, passage])).toEqual([
      ['a.md', 'a.md 0 of 1 [1,0,0]'],
      ['b.md', 'b.md 0 of 1 [1,0,0]'],
    ])
  })

  test('a step that was frozen stages nothing once another has its load', async () => {
    const files = { 'a.md': 'frozen [1,0,0]' }
    const { sync, missing } = await org.owner.call(syncDocuments, { name, files: listOf(files) })
    await uploadMissing(org.owner.call, sync!, contentOf(files, missing))
    const step = (read: () => Promise<string>) =>
      takeLoadStep(
        {
          ...system.system.gateway!,
          readDocument: async () => ({ title: '', passages: [{ heading: '', text: await read() }] }),
        },
        never,
        { work: 'documents' },
      )
    const [begun, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
    const frozen = step(() => {
      begun.resolve()
      return thawed.promise
    })
    await begun.promise
    const leaseUntil = sql`now() - interval '1 second'`
    await system.db.update(loads).set({ leaseUntil }).where(eq(loads.id, sync!.id))
    while (await step(async () => 'of the other [1,0,0]'));
    thawed.resolve('of the frozen one [1,0,0]')
    await frozen
    await takeLoadSteps(system)
    expect(await org.owner.call(showLoad, { load_id: sync!.id })).toMatchObject({ state: 'succeeded' })
    expect((await passages()).map(({ passage }) => passage)).toEqual(['of the other [1,0,0]'])
  })

  test('makes way for another sync when it has sent nothing for a minute', async () => {
    const { sync } = await org.owner.call(syncDocuments, { name, files: listOf({ 'a.txt': 'left behind' }) })
    const idleAt = new Date(system.clock.now().getTime() - (DOCUMENTS_SYNC_IDLE_SECONDS + 1) * 1000)
    await system.db.update(loads).set({ updatedAt: idleAt }).where(eq(loads.id, sync!.id))
    const { held } = await syncFiles(system, org.owner.call, name, HANDBOOK)
    expect(held).toMatchObject({ documents: 3, passages: 4 })
    expect(await org.owner.call(showLoad, { load_id: sync!.id })).toMatchObject({ state: 'canceled' })
  })

  test('refuses names that lead elsewhere, and files that are too large', async () => {
    const before = await org.owner.call(showDocuments, { name })
    const sha256 = 'a'.repeat(64)
    const sync = (...files: { path: string; bytes?: number }[]) =>
      org.owner.call(syncDocuments, { name, files: files.map((file) => ({ sha256, bytes: 1, ...file })) })
    for (const path of [
      '../a.md',
      '/etc/a.md',
      'a/../../b.md',
      'a\\b.md',
      'a\u0000.md',
      '.git/a.md',
      'a//b.md',
    ]) {
      await expect(sync({ path })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
    await expect(sync({ path: 'a.md' }, { path: 'a.md' })).rejects.toMatchObject({
      problems: [expect.stringContaining('is there twice')],
    })
    await expect(sync({ path: 'a.md', bytes: DOCUMENT_MAX_BYTES + 1 })).rejects.toEqual(
      refused('INVALID_REQUEST'),
    )
    expect(await org.owner.call(showDocuments, { name })).toEqual(before)
  })

  test('hands out no connection string and takes no tables; an ordinary database takes no documents', async () => {
    await expect(org.owner.call(showConnectionString, { name })).rejects.toEqual(refused('CONFLICT'))
    await expect(org.owner.call(createLoad, announced(name, 'id,text\n1,one\n'))).rejects.toEqual(
      refused('CONFLICT'),
    )
    const { version } = await org.owner.call(showDocuments, { name })
    const { sync } = await org.owner.call(syncDocuments, { name, files: listOf({ 'never.txt': 'sent' }) })
    const load_id = sync!.id
    await expect(org.owner.call(startLoad, { load_id, embed_columns: ['a'] })).rejects.toEqual(
      refused('CONFLICT'),
    )
    await org.owner.call(cancelLoad, { load_id })
    await takeLoadSteps(system)
    expect(await org.owner.call(showDocuments, { name })).toMatchObject({
      version,
      sync: { state: 'canceled' },
    })
    const viewer = await makeMember(system, org, 'viewer')
    await expect(viewer.call(showDocuments, { name })).rejects.toEqual(refused('FORBIDDEN'))
    await expect(viewer.call(syncDocuments, { name, files: [] })).rejects.toEqual(refused('FORBIDDEN'))
    await expect(viewer.call(createDocuments, { name: 'more' })).rejects.toEqual(refused('FORBIDDEN'))
  })

  test('is seen as its documents and folders say, also of what is not sent again, and after an undo', async () => {
    const source_id = `db_${name}`
    await org.owner.call(setDataSourceExposure, { source_id, exposed: true, minimum_role: 'viewer' })
    const [viewer, developer] = [
      await makeMember(system, org, 'viewer'),
      await makeMember(system, org, 'developer'),
    ]
    const by = ({ token }: Person) => system.as({ token, organization: org.id })
    const { id: group_id } = await org.owner.call(createGroup, { name: 'board' })
    await org.owner.call(addGroupMember, { group_id, member_id: viewer.userId })
    const seenBy = async (person: Person) =>
      (await by(person)(queryDataSource, { source_id, query: '[1,0,0] text' })).results
        .map(({ metadata }) => String(metadata['path']))
        .toSorted()

    const files = {
      'open.md': 'Open text.',
      'own.md': '---\naccess: group:board\n---\nText of the board.',
      'secret/access.yaml': 'access: [group:board]',
      'secret/plan.txt': 'Secret text.',
      'secret/deep/note.md': 'Deep text.',
      'secret/deep/told.md': '---\naccess: everyone\n---\nTold text.',
      'secret/odd/access.yaml': 'access: {group: board}',
      'secret/odd/lost.txt': 'Lost text.',
      'wrong.md': '---\naccess: *board\n---\nWrong text.',
    }
    const first = await syncFiles(system, by(developer), name, files)
    expect(first.held).toMatchObject({ documents: 6, left_out_count: 2 })
    expect(first.held.left_out.map(({ path }) => path)).toEqual(['secret/odd/access.yaml', 'wrong.md'])
    expect(await seenBy(developer)).toEqual(['open.md', 'secret/deep/told.md'])
    expect(await seenBy(viewer)).toEqual([
      'open.md',
      'own.md',
      'secret/deep/note.md',
      'secret/deep/told.md',
      'secret/plan.txt',
    ])

    // Whoever does not see them does not open them, by whatever a sync or an undo says of their folder.
    const { 'secret/access.yaml': rule, ...opened } = files
    const widened = { ...files, 'secret/access.yaml': 'access: everyone' }
    for (const attempt of [opened, widened, { ...files, 'secret/deep/access.yaml': 'access: everyone' }]) {
      for (const keep of [false, true]) {
        if (attempt === opened && keep) continue
        await expect(by(developer)(syncDocuments, { name, files: listOf(attempt), keep })).rejects.toEqual(
          refused('FORBIDDEN'),
        )
      }
    }
    // Nor by a sync that names the rule alone, and keeps everything else.
    const ruleAlone = listOf({ 'secret/access.yaml': widened['secret/access.yaml'] })
    await expect(by(developer)(syncDocuments, { name, files: ruleAlone, keep: true })).rejects.toEqual(
      refused('FORBIDDEN'),
    )
    // Nor does a name that is almost that of a rule, or a folder that is almost that of a hidden one.
    for (const path of ['secret/access.yml', 'new/Access.yaml']) {
      const attempt = { ...files, [path]: rule }
      await expect(by(developer)(syncDocuments, { name, files: listOf(attempt) })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        problems: [`files: "${path}" would say who sees its folder, and must be named access.yaml`],
      })
    }
    const beside = listOf({ 'Secret/late.txt': 'Late text.' })
    await expect(by(developer)(syncDocuments, { name, files: beside, keep: true })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: [expect.stringContaining('collides with')],
    })
    const elsewhere = { ...files, 'new/access.yaml': rule, 'new/mine.txt': 'My own text.' }
    expect((await syncFiles(system, by(developer), name, elsewhere)).load).toMatchObject({
      state: 'succeeded',
    })

    const second = await syncFiles(system, org.owner.call, name, { ...elsewhere, ...widened })
    expect(second.missing).toEqual(['secret/access.yaml'])
    expect(await seenBy(developer)).toEqual([
      'open.md',
      'secret/deep/note.md',
      'secret/deep/told.md',
      'secret/plan.txt',
    ])
    // What was replaced is kept with who saw it then, and nobody configures a search of that.
    const { connection_config } = await by(developer)(showDataSource, { source_id })
    const [entry] = connection_config!.embedding_configs
    const before = { ...entry!, table: 'svc_loads.passages_before' }
    await expect(
      by(developer)(saveSearchConfiguration, {
        source_id,
        connection_config: { embedding_configs: [before] },
        access_column: 'access',
      }),
    ).rejects.toMatchObject({
      problems: ['passages: of a documents source only the table "passages" is searched'],
    })
    const { version } = second.held
    await expect(by(developer)(undoDocuments, { name, version })).rejects.toEqual(refused('FORBIDDEN'))
    await org.owner.call(undoDocuments, { name, version })
    expect(await seenBy(developer)).toEqual(['open.md', 'secret/deep/told.md'])
    expect(await seenBy(viewer)).toContain('new/mine.txt')

    // Taken away by an owner, it stays away: neither a save that says nothing of it nor the next sync brings it back.
    const saved = { source_id, connection_config: connection_config! }
    await org.owner.call(saveSearchConfiguration, { ...saved, access_column: null })
    await by(developer)(saveSearchConfiguration, saved)
    await syncFiles(system, by(developer), name, { ...elsewhere, 'more.txt': 'More text.' })
    expect(await by(developer)(showDataSource, { source_id })).toMatchObject({ access_column: null })
    expect(await seenBy(developer)).toContain('secret/plan.txt')
  })
})
