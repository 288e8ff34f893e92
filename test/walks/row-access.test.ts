/** Row access: who sees which rows over every path, and that a hidden row is as if it were not there. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { groupMembers } from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import {
  fetchSearchResult,
  listDataSources,
  previewDataSource,
  queryDataSource,
  saveSearchConfiguration,
  searchDataSources,
  SearchConfiguration,
  setDataSourceExposure,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import { showConnectionString } from '../../src/contracts/databases.ts'
import {
  addGroupMember,
  createGroup,
  listGroups,
  removeGroup,
  removeGroupMember,
  renameGroup,
  showGroup,
} from '../../src/contracts/groups.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { setAccessAgain } from '../../src/cores/databases/index.ts'
import { saveSearchConfiguration as saveConfiguration } from '../../src/cores/search/save-search-configuration.ts'
import {
  configurationOf,
  entry,
  inDatabase,
  insertSource,
  makeSource,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeMember, makeOrganization, makePerson, unique, type Org, type Person } from '../support/make.ts'
import { expectStaysLess, setAccessColumn } from '../support/narrowings.ts'
import {
  askAll,
  fetchAll,
  makeAccessWorld,
  previewedIds,
  questionOf,
  randomFrom,
  sees,
  type AccessWorld,
} from '../support/row-access.ts'

let system: SystemWithDatabases
beforeAll(async () => {
  system = await startWithDatabases()
})
afterAll(() => system.stop())

const SEED = 31_009
const QUESTION = questionOf(randomFrom(SEED), 3)

describe('random rows, by the definition', () => {
  let world: AccessWorld
  beforeAll(async () => {
    world = await makeAccessWorld(system, { count: 40, seed: SEED })
  })

  test('questions find what one sees, as if the rest were not there', async () => {
    const { byMeaning, byBoth } = await askAll(world, [QUESTION])
    for (const { asker, answer, asIfAbsent, ids, expected } of byMeaning) {
      expect(ids, asker).toEqual(expected)
      expect(answer, asker).toEqual(asIfAbsent)
    }
    for (const { asker, answer, asIfAbsent, ids, expected } of byBoth) {
      expect(expected, asker).toEqual(expect.arrayContaining([...ids]))
      expect(answer, asker).toEqual(asIfAbsent)
    }
    const most = Math.max(...byMeaning.map(({ ids }) => ids.length))
    expect(byMeaning.filter(({ ids }) => ids.length > 0 && ids.length < most).length).toBeGreaterThan(5)
  })

  test('a row is fetched by whoever sees it, and is unknown to others', async () => {
    const tried = await fetchAll(world, QUESTION, 10)
    expect(tried.map(({ fetched }) => fetched)).toEqual(tried.map(({ expected }) => expected))
    expect(new Set(tried.map(({ expected }) => expected)).size).toBeGreaterThan(5)
  })

  test('a preview lists what somebody sees', async () => {
    const { org, askers, rows, source } = world
    for (const asker of askers) {
      if (asker.id === null) continue
      const seen = rows.filter((row) => sees(asker, row)).map(({ id }) => id)
      const previewed = await previewedIds(org.owner.call, source.sourceId, asker.id, 'list')
      expect(previewed, asker.name).toEqual({ ids: seen, total: seen.length })
    }
  })

  test('a search over all sources keeps to it', async () => {
    const { askers, rows, source } = world
    for (const asker of askers.slice(1, 3)) {
      const call = await asker.call()
      const { results } = await call(searchDataSources, { query: QUESTION, sources: [source.sourceId] })
      const found = await Promise.all(
        results.map(async ({ id }) => (await call(fetchSearchResult, { id })).hit.id),
      )
      expect(found.length).toBeGreaterThan(0)
      const hidden = found.filter(
        (id) =>
          !sees(
            asker,
            rows.find((row) => row.id === id)!,
          ),
      )
      expect(hidden, asker.name).toEqual([])
    }
  })
})

const SQL = `create table papers (id text, title text, seen_by text[], n int, embedding vector(3));
  insert into papers values ('open', 'Open', '{everyone}', 1, '[1,0,0]'), ('board', 'Board', '{group:board}', 1, '[1,0.1,0]');
  create table others (id text, title text, embedding vector(3));`
const PAPERS = { ...configurationOf([entry('papers', { fetchable: true })]), access_column: 'seen_by' }

const idsFor = async (call: Call, source_id: string): Promise<string[]> =>
  (await call(queryDataSource, { source_id, query: '[1,0,0]' })).results.map(({ id }) => id)

let org: Org
let other: Org
let [admin, developer, viewer]: Person[] = []
let source_id: string
beforeAll(async () => {
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  admin = await makeMember(system, org, 'admin')
  developer = await makeMember(system, org, 'developer')
  viewer = await makeMember(system, org, 'viewer')
  source_id = (await makeSource(org, { name: 'papers', sql: SQL, configuration: PAPERS })).sourceId
})
const as = ({ token }: Person): Call => system.as({ token, organization: org.id })

describe('groups', () => {
  test('losing one acts on the next call, and so do renaming and removing it', async () => {
    const [call, them] = [as(admin!), as(viewer!)]
    const { id: group_id } = await call(createGroup, { name: 'board' })
    const seen = () => idsFor(them, source_id)
    expect(await seen()).toEqual(['open'])
    await call(addGroupMember, { group_id, member_id: viewer!.email.toUpperCase() })
    expect(await seen()).toEqual(['open', 'board'])
    await call(renameGroup, { group_id, name: 'directors' })
    expect(await seen()).toEqual(['open'])
    await call(renameGroup, { group_id, name: 'board' })
    expect(await seen()).toEqual(['open', 'board'])
    const { id: another } = await call(createGroup, { name: 'staff' })
    await call(addGroupMember, { group_id: another, member_id: viewer!.userId })
    await call(removeGroupMember, { group_id, member_id: viewer!.email })
    expect(await seen()).toEqual(['open'])
    // They are in the others all the same.
    expect((await call(showGroup, { group_id: another })).members).toMatchObject([{ id: viewer!.userId }])
    await call(addGroupMember, { group_id, member_id: viewer!.userId })
    expect(await seen()).toEqual(['open', 'board'])
    // As whoever left and came back: the place of a membership that has ended is theirs again once it is given again.
    await system.db
      .update(groupMembers)
      .set({ membershipId: 'ended' })
      .where(eq(groupMembers.groupId, group_id))
    expect(await seen()).toEqual(['open'])
    await call(addGroupMember, { group_id, member_id: viewer!.userId })
    expect(await seen()).toEqual(['open', 'board'])
    await call(removeGroup, { group_id })
    expect(await seen()).toEqual(['open'])
    // One of the same name is another one.
    await call(createGroup, { name: 'board' })
    expect(await seen()).toEqual(['open'])
  })

  test('are listed, shown and named once, each organization its own', async () => {
    const call = as(admin!)
    const { id: group_id } = await call(createGroup, { name: 'Sales' })
    const there = await other.owner.call(createGroup, { name: 'Sales' })
    await expect(call(createGroup, { name: 'sales' })).rejects.toMatchObject({ code: 'CONFLICT' })
    await call(addGroupMember, { group_id, member_id: viewer!.userId })
    // Twice is once.
    await call(addGroupMember, { group_id, member_id: viewer!.userId })
    const listed = await call(listGroups, { search: 'sal', count: 'true' })
    expect(listed).toMatchObject({ groups: [{ id: group_id, name: 'Sales', members: 1 }], total: 1 })
    expect((await call(showGroup, { group_id })).members).toMatchObject([
      { id: viewer!.userId, kind: 'member', name: viewer!.name, email: viewer!.email },
    ])
    expect((await other.owner.call(showGroup, { group_id: there.id })).members).toEqual([])
    // An address that somebody merely claims is nobody's.
    const claimed = await makeMember(system, org, 'viewer', await makePerson(system, { verified: false }))
    for (const strange of [
      () => call(showGroup, { group_id: there.id }),
      () => call(renameGroup, { group_id: there.id, name: 'Mine' }),
      () => call(removeGroup, { group_id: there.id }),
      () => call(addGroupMember, { group_id: there.id, member_id: viewer!.userId }),
      () => call(removeGroupMember, { group_id: there.id, member_id: viewer!.userId }),
      () => call(addGroupMember, { group_id, member_id: other.owner.userId }),
      () => call(addGroupMember, { group_id, member_id: other.owner.email }),
      () => call(addGroupMember, { group_id, member_id: claimed.email }),
    ]) {
      await expect(strange()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    expect(await call(addGroupMember, { group_id, member_id: claimed.userId })).toMatchObject({ email: null })
    for (const refused of [
      () => as(viewer!)(listGroups, {}),
      () => as(viewer!)(createGroup, { name: 'Mine' }),
    ]) {
      await expect(refused()).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
  })
})

describe('the access column', () => {
  const byDeveloper: Call = (...given) => as(developer!)(...given)
  const audited = async () =>
    (await org.owner.call(listAudit, { org_id: org.id, limit: 200 })).audit
      .filter(({ action }) => action.startsWith('data_source.access') || action === 'data_source.previewed')
      .map(({ action, subject }) => `${action} ${subject}`)
      .toReversed()

  test('is set, changed and removed by owners and admins alone, and never lost by leaving it out', async () => {
    const without = configurationOf([entry('papers', { fetchable: true })])
    for (const call of [byDeveloper, org.owner.call]) {
      await expect(call(saveSearchConfiguration, { source_id, ...without })).rejects.toMatchObject({
        code: 'INVALID_SEARCH_CONFIGURATION',
        problems: [expect.stringContaining('must be repeated, as "seen_by"')],
      })
    }
    for (const access_column of [null, 'title']) {
      await expect(
        byDeveloper(saveSearchConfiguration, { source_id, ...without, access_column }),
      ).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
    // Repeated, everything else may be saved by whoever may configure.
    const saved = await byDeveloper(saveSearchConfiguration, {
      source_id,
      ...PAPERS,
      filter_schema: { n: 'number' },
    })
    expect(saved.access_column).toBe('seen_by')
    expect(await idsFor(org.owner.call, source_id)).toEqual(['open'])
    await org.owner.call(saveSearchConfiguration, { source_id, ...without, access_column: null })
    expect(await idsFor(org.owner.call, source_id)).toEqual(['open', 'board'])
    await expect(
      byDeveloper(saveSearchConfiguration, { source_id, ...without, access_column: 'seen_by' }),
    ).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await org.owner.call(saveSearchConfiguration, { source_id, ...PAPERS })
    expect(await idsFor(org.owner.call, source_id)).toEqual(['open'])
    expect(await audited()).toEqual([
      'data_source.access_set db_papers: seen_by',
      'data_source.access_removed db_papers: seen_by',
      'data_source.access_set db_papers: seen_by',
    ])
  })

  test('is not removed by whoever was lowered before it is saved', async () => {
    const was = { kind: 'user', orgId: org.id, userId: developer!.userId, role: 'admin' }
    const lowered = { ...was, userName: developer!.name, requestId: unique('req') }
    const without = configurationOf([entry('papers', { fetchable: true })])
    await expect(
      saveConfiguration(system.system.gateway!)(lowered as never, {
        source_id,
        ...SearchConfiguration.parse({ ...without, access_column: null }),
      }),
    ).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect((await org.owner.call(showDataSource, { source_id })).access_column).toBe('seen_by')
  })

  test('must be in every table, as text or a list of it', async () => {
    const call = org.owner.call
    const save = (tables: readonly string[], access_column: string) =>
      call(saveSearchConfiguration, {
        source_id,
        ...configurationOf(tables.map((one) => entry(one))),
        access_column,
      })
    await expect(save(['papers', 'others'], 'seen_by')).rejects.toMatchObject({
      problems: ['access_column: table "others" has no column "seen_by"'],
    })
    await expect(save(['papers'], 'n')).rejects.toMatchObject({
      problems: ['access_column: "n" of table "papers" is int4, not text or text[]'],
    })
    expect((await call(showDataSource, { source_id })).access_column).toBe('seen_by')
  })

  test('is neither returned nor a filter unless it is listed', async () => {
    const { results } = await org.owner.call(queryDataSource, { source_id, query: '[1,0,0]' })
    expect(Object.keys(results[0]!.metadata).toSorted()).toEqual(['_handle', '_score', '_target'])
    await expect(
      org.owner.call(queryDataSource, { source_id, query: '[1,0,0]', filters: { seen_by: 'everyone' } }),
    ).rejects.toMatchObject({ code: 'FILTER_NOT_ALLOWED' })
  })

  test('is told with the connection string, which reads past it, and whoever read that is recorded', async () => {
    expect(await byDeveloper(showConnectionString, { name: 'papers' })).toMatchObject({
      access_column: 'seen_by',
    })
    const { audit } = await org.owner.call(listAudit, {
      org_id: org.id,
      action: 'database.connection_shown',
      user_id: developer!.userId,
    })
    expect(audit.map(({ subject }) => subject)).toEqual(['db_papers'])
    await insertSource(system, org, { name: 'plain' })
    const { data_sources } = await byDeveloper(listDataSources, {})
    expect(data_sources.map(({ name, access_column }) => [name, access_column])).toEqual(
      expect.arrayContaining([
        ['papers', 'seen_by'],
        ['plain', null],
      ]),
    )
  })

  test('a preview is for owners and admins, of their own people, and is recorded', async () => {
    const asked = { source_id, member_id: developer!.email }
    expect(await org.owner.call(previewDataSource, asked)).toMatchObject({
      member: { id: developer!.userId, name: developer!.name, email: developer!.email },
      may_query: true,
      target: 'papers',
      rows: [{ id: 'open', title: 'Open' }],
      total: 1,
    })
    await expect(byDeveloper(previewDataSource, asked)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const expose = (minimum_role: 'viewer' | 'admin') =>
      org.owner.call(setDataSourceExposure, { source_id, exposed: true, minimum_role })
    await expose('admin')
    expect((await org.owner.call(previewDataSource, asked)).may_query).toBe(false)
    await expose('viewer')
    for (const [call, wrong] of [
      [org.owner.call, { ...asked, member_id: other.owner.userId }],
      [other.owner.call, asked],
    ] as const) {
      await expect(call(previewDataSource, wrong)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    expect((await audited()).at(-1)).toBe(`data_source.previewed db_papers as ${developer!.email}`)

    // Nothing keeps an id from being null.
    await inDatabase(org, 'papers', (sql) =>
      sql.unsafe(`insert into papers values (null, 'Nameless', '{everyone}', 1, '[0,1,0]')`),
    )
    const first = await org.owner.call(previewDataSource, { ...asked, limit: 1 })
    expect([first.rows, first.total]).toEqual([[{ id: '', title: 'Nameless' }], 2])
    const second = await org.owner.call(previewDataSource, { ...asked, limit: 1, cursor: first.next_cursor! })
    expect([second.rows, second.next_cursor]).toEqual([[{ id: 'open', title: 'Open' }], undefined])
    await inDatabase(org, 'papers', (sql) => sql.unsafe('delete from papers where id is null'))
  })

  test('that was set last is set again when the database has lost that', async () => {
    const { id } = await org.owner.call(showDataSource, { source_id })
    const again = (column: string) =>
      system.db.transaction((tx) =>
        setAccessAgain(tx, () => system.clock.now(), { id, orgId: org.id, to: { column } }),
      )
    const now = async () => (await org.owner.call(showDataSource, { source_id })).access_column
    expect([await again('title'), await now()]).toEqual([true, 'title'])
    expect([await again('title'), await again('seen_by'), await now()]).toEqual([false, true, 'seen_by'])
  })

  test('that is gone shows no row, and says so', async () => {
    await inDatabase(org, 'papers', (sql) => sql.unsafe('alter table papers drop column seen_by'))
    await expect(idsFor(org.owner.call, source_id)).rejects.toMatchObject({
      code: 'INVALID_SEARCH_CONFIGURATION',
    })
  })
})

test.runIf(inject('everyCase'))(
  'an access column that was set is set again when the database has lost that',
  () => expectStaysLess(system, 'data_source_access', setAccessColumn),
)
