/** Row access: who sees which rows over every path, and that a hidden row is as if it were not there. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type * as z from 'zod'
import { eq } from '../../db/drizzle.ts'
import { activity, auditLog, evals, loads, throttles } from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import { listActivity } from '../../src/contracts/activity.ts'
import {
  fetchSearchResult,
  listDataSources,
  previewDataSource,
  queryDataSource,
  saveSearchConfiguration,
  searchDataSources,
  setDataSourceExposure,
  setDataSourceState,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import { createDatabase, removeDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import { createDocuments, undoDocuments } from '../../src/contracts/documents.ts'
import { askEval, listEvals, setThreshold, startEval } from '../../src/contracts/evals.ts'
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
import { undoLoad } from '../../src/contracts/loads.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import {
  configurationOf,
  entry,
  inDatabase,
  insertSource,
  makeSource,
  startWithDatabases,
  type Source,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { syncFiles } from '../support/documents.ts'
import { loadFile, takeLoadSteps } from '../support/loads.ts'
import { makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'
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
    await call(removeGroupMember, { group_id, member_id: viewer!.email })
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
    for (const strange of [
      () => call(showGroup, { group_id: there.id }),
      () => call(renameGroup, { group_id: there.id, name: 'Mine' }),
      () => call(removeGroup, { group_id: there.id }),
      () => call(addGroupMember, { group_id: there.id, member_id: viewer!.userId }),
      () => call(removeGroupMember, { group_id: there.id, member_id: viewer!.userId }),
      () => call(addGroupMember, { group_id, member_id: other.owner.userId }),
      () => call(addGroupMember, { group_id, member_id: other.owner.email }),
    ]) {
      await expect(strange()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
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

  test('is told with the connection string, which reads past it', async () => {
    expect(await byDeveloper(showConnectionString, { name: 'papers' })).toMatchObject({
      access_column: 'seen_by',
    })
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

  test('that is gone shows no row, and says so', async () => {
    await inDatabase(org, 'papers', (sql) => sql.unsafe('alter table papers drop column seen_by'))
    await expect(idsFor(org.owner.call, source_id)).rejects.toMatchObject({
      code: 'INVALID_SEARCH_CONFIGURATION',
    })
  })
})

describe('evals', () => {
  const SECRETS = `create table secrets (id text, title text, seen_by text, embedding vector(3));
    insert into secrets values ('open', 'Open', 'everyone', '[1,0,0]'), ('closed', 'Closed', 'role:owner', '[1,0.1,0]'),
      ('side', 'Aside', 'everyone', '[0,1,0]')`
  const configuration = { ...configurationOf([entry('secrets')]), access_column: 'seen_by' }
  const startOf = (call: Call, source_id: string, questions: number) =>
    call(startEval, { source_id, questions })
  const wanting = (...expect: string[]) => ({ question: '[1,0,0] the golden words', expect })
  let secrets: Source
  beforeAll(async () => {
    secrets = await makeSource(org, { name: 'secrets', sql: SECRETS, configuration })
  })

  test('questions are asked part by part, as whoever asks, and only their numbers are kept', async () => {
    const source_id = secrets.sourceId
    const begun = await startOf(org.owner.call, source_id, 4)
    expect(begun).toMatchObject({ asked: 0, questions: 4, rows: 3, recall_at_5: null, finished_at: null })
    const first = await org.owner.call(askEval, {
      source_id,
      eval_id: begun.id,
      from: 0,
      questions: [wanting('open'), wanting('closed', 'nowhere')],
    })
    expect(first.eval).toMatchObject({ asked: 2, recall_at_5: 0.75, mrr: 0.75, finished_at: null })
    expect(first.answers).toMatchObject([
      { rank: 1, missing: [], hits: [{ id: 'open', title: 'Open', target: 'secrets' }, {}, {}] },
      { rank: 2, missing: ['nowhere'] },
    ])
    expect((await org.owner.call(listEvals, { source_id })).evals).toEqual([])
    const last = await org.owner.call(askEval, {
      source_id,
      eval_id: begun.id,
      from: 2,
      questions: [wanting(), wanting('side')],
    })
    // Nothing answers the third, so that it counts in neither.
    expect(last.eval).toMatchObject({ asked: 4, recall_at_5: 0.8333, mrr: 0.6111, changes: [] })
    expect((await org.owner.call(listEvals, { source_id })).evals).toEqual([last.eval])

    // A row that is hidden from whoever asks is as unknown as one that is not there.
    const theirs = await startOf(as(developer!), source_id, 2)
    const { answers } = await as(developer!)(askEval, {
      source_id,
      eval_id: theirs.id,
      from: 0,
      questions: [wanting('closed'), wanting('nowhere')],
    })
    const [hidden, unknown] = answers
    expect(JSON.stringify(hidden).replaceAll('closed', 'nowhere')).toBe(JSON.stringify(unknown))
    expect(hidden!.hits.map(({ id }) => id)).toEqual(['open', 'side'])

    const [kept] = await system.db.select().from(evals).where(eq(evals.id, begun.id))
    expect(JSON.stringify(kept)).not.toMatch(/golden|closed|nowhere|Open/)
    for (const lines of [
      JSON.stringify(await system.db.select().from(activity).where(eq(activity.orgId, org.id))),
      JSON.stringify(await system.db.select().from(auditLog).where(eq(auditLog.orgId, org.id))),
      system.logLines.join(),
    ]) {
      expect(lines).not.toContain('golden words')
    }
    const { activity: calls } = await org.owner.call(listActivity, { type: 'data_source', source: source_id })
    expect(calls).toHaveLength(3)
  })

  test('what does not follow is refused, and what is somebody else’s does not exist', async () => {
    const source_id = secrets.sourceId
    const { id: eval_id } = await startOf(org.owner.call, source_id, 2)
    const at = (from: number, count = 1, call = org.owner.call) =>
      call(askEval, {
        source_id,
        eval_id,
        from,
        questions: Array.from({ length: count }, () => wanting('open')),
      })
    await expect(at(1)).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(at(0, 3)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    for (const call of [as(developer!), other.owner.call]) {
      await expect(at(0, 1, call)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    const filtered = { ...wanting('open'), filters: { color: 'red' } }
    await expect(
      org.owner.call(askEval, { source_id, eval_id, from: 0, questions: [filtered] }),
    ).rejects.toMatchObject({ code: 'FILTER_NOT_ALLOWED', message: expect.stringMatching(/^Question 1: /) })
    // At once they are answered alike, and counted once.
    const both = await Promise.all([at(0), at(0), at(0)])
    expect(both.map(({ answers }) => answers)).toMatchObject([[{ rank: 1 }], [{ rank: 1 }], [{ rank: 1 }]])
    const [counted] = await system.db.select().from(evals).where(eq(evals.id, eval_id))
    expect(counted).toMatchObject({ asked: 1, totals: { answerable: 1 }, scores: { length: 1 } })
    await org.owner.call(saveSearchConfiguration, { source_id, ...configuration })
    await expect(at(1)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('changed'),
    })
    // Another one takes its place.
    await startOf(org.owner.call, source_id, 1)
    await expect(at(1)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    for (const refused of [
      () => startOf(other.owner.call, source_id, 1),
      () => other.owner.call(listEvals, { source_id }),
      () => other.owner.call(setThreshold, { source_id, eval_id: null }),
    ]) {
      await expect(refused()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    await expect(startOf(as(viewer!), source_id, 1)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(as(viewer!)(listEvals, { source_id })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test('an answer that was lost is given again to whoever asked, of the rows they see by then, and counts once', async () => {
    const source_id = secrets.sourceId
    const { id: eval_id } = await startOf(org.owner.call, source_id, 3)
    const asking = (from: number, questions: ReturnType<typeof wanting>[], call = org.owner.call) =>
      call(askEval, { source_id, eval_id, from, questions })
    const [open, side, nowhere] = [wanting('open'), wanting('side'), wanting('nowhere')]
    const first = await asking(0, [open, side])
    expect(await asking(0, [open, side])).toEqual(first)
    // Less was asked than was sent: that much is answered.
    expect(await asking(0, [open, side, nowhere])).toEqual(first)
    expect(await asking(1, [side])).toEqual({ ...first, answers: [first.answers[1]] })
    const last = await asking(2, [nowhere])
    expect(last.eval).toMatchObject({ asked: 3, recall_at_5: 0.6667 })
    await inDatabase(
      org,
      secrets.name,
      (sql) => sql`update secrets set seen_by = 'role:nobody' where id = 'side'`,
    )
    const again = await asking(1, [side, nowhere])
    expect(again.eval).toEqual(last.eval)
    expect(again.answers).toMatchObject([{ rank: null, missing: ['side'] }, { rank: null }])
    await inDatabase(
      org,
      secrets.name,
      (sql) => sql`update secrets set seen_by = 'everyone' where id = 'side'`,
    )
    await expect(asking(3, [nowhere])).rejects.toMatchObject({ code: 'CONFLICT' })
    for (const call of [as(developer!), other.owner.call]) {
      await expect(asking(2, [nowhere], call)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
  })

  test('one person does not use up what all may ask', async () => {
    const source_id = secrets.sourceId
    const askAs = async (call: Call) => {
      const { id: eval_id } = await startOf(call, source_id, 1)
      return call(askEval, { source_id, eval_id, from: 0, questions: [wanting('open')] })
    }
    const key = sha256(`questions of evals of ${org.id} by ${developer!.userId}`)
    const fullUntil = new Date(system.clock.now().getTime() + 24 * 60 * 60_000)
    await system.db
      .insert(throttles)
      .values({ key, fullUntil })
      .onConflictDoUpdate({ target: throttles.key, set: { fullUntil } })
    const ofAll = () =>
      system.db
        .select()
        .from(throttles)
        .where(eq(throttles.key, sha256(`questions of evals of ${org.id}`)))
    const before = await ofAll()
    expect(before).toHaveLength(1)
    await expect(askAs(as(developer!))).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    expect(await ofAll()).toEqual(before)
    expect((await askAs(org.owner.call)).eval.finished_at).not.toBeNull()
    await system.db.delete(throttles).where(eq(throttles.key, key))
  })

  test('a threshold from an eval marks answers as weak, until the table is searched in another way', async () => {
    const source_id = secrets.sourceId
    const evaluate = async (questions: z.input<typeof askEval.input>['questions']) => {
      const { id: eval_id } = await startOf(org.owner.call, source_id, questions.length)
      return (await org.owner.call(askEval, { source_id, eval_id, from: 0, questions })).eval
    }
    const few = await evaluate([wanting('open')])
    await expect(org.owner.call(setThreshold, { source_id, eval_id: few.id })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'A threshold needs at least 5 questions whose answer was found',
    })
    const { id: eval_id } = await evaluate([
      ...Array.from({ length: 5 }, () => wanting('open')),
      { question: '[0,0,1] nothing', expect: [] },
    ])
    const asked = async (query: string) => {
      const question = { source_id, query }
      const { weak } = await org.owner.call(queryDataSource, question)
      const found = await org.owner.call(searchDataSources, { query, sources: [source_id] })
      expect(found.weak).toBe(weak)
      return weak
    }
    expect(await asked('[0,0,1]')).toBeUndefined()
    const { thresholds } = await as(developer!)(setThreshold, { source_id, eval_id })
    expect(thresholds).toEqual([{ target: 'secrets', score: 1, applies: true }])
    expect(await org.owner.call(listEvals, { source_id, limit: 1 })).toMatchObject({
      thresholds,
      threshold_eval_id: eval_id,
      changes_since: [],
    })
    expect([await asked('[0,0,1]'), await asked('[1,0,0]')]).toEqual([true, undefined])
    const l2 = configurationOf([entry('secrets', { distance_metric: 'l2' })])
    await org.owner.call(saveSearchConfiguration, { source_id, ...l2, access_column: 'seen_by' })
    expect(await asked('[0,0,1]')).toBeUndefined()
    const changed = await org.owner.call(listEvals, { source_id })
    expect(changed.thresholds).toMatchObject([{ applies: false }])
    expect(changed.changes_since).toMatchObject([{ what: 'configuration' }])
    await expect(org.owner.call(setThreshold, { source_id, eval_id })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    await inDatabase(
      org,
      secrets.name,
      (sql) => sql`insert into secrets values ('new', 'New', 'everyone', '[1,1,1]')`,
    )
    expect((await evaluate([wanting('open')])).changes.map(({ what }) => what)).toEqual([
      'configuration',
      'rows',
    ])
    expect(await org.owner.call(setThreshold, { source_id, eval_id: null })).toEqual({ thresholds: [] })
  })

  test('of documents names them by path, or path and heading, and notes a sync as a change of rows', async () => {
    const [name, source_id] = ['handbook', 'db_handbook']
    const leave = '# Leave\n\nEverybody has 25 days. [0,1,0]\n\n## Parental\n\nTwelve weeks. [0,0,1]\n'
    const pay = '---\naccess: [role:owner]\n---\n# Pay\n\nWhat the owner earns. [0,0,1]\n'
    const files = { 'people/leave.md': leave, 'people/pay.md': pay, 'notes.txt': 'The kitchen. [1,0,0]' }
    await org.owner.call(createDocuments, { name, model: 'toy-3' })
    await org.owner.call(setDataSourceState, { source_id, enabled: true })
    await org.owner.call(setDataSourceExposure, { source_id, exposed: true })
    await syncFiles(system, org.owner.call, name, files)
    const evaluate = async (call: Call, ...expected: string[][]) => {
      const { id: eval_id } = await startOf(call, source_id, expected.length)
      const questions = expected.map((expect) => ({ question: '[0,0,1] weeks', expect }))
      return call(askEval, { source_id, eval_id, from: 0, questions })
    }
    const changesSince = async () => (await org.owner.call(listEvals, { source_id })).changes_since

    const first = await evaluate(
      org.owner.call,
      ['people/leave.md'],
      ['people/leave.md#Parental'],
      ['people/leave.md#parental', 'people/pay.md#Pay'],
      ['people/leave.md#Sabbatical', 'leave.md', 'theirs.md'],
    )
    expect(first.answers.map(({ missing }) => missing)).toEqual([
      [],
      [],
      [],
      ['people/leave.md#Sabbatical', 'leave.md', 'theirs.md'],
    ])
    expect(first.answers[3]!.rank).toBeNull()
    expect(first.answers[0]!.hits).toContainEqual(
      expect.objectContaining({ path: 'people/leave.md', heading: 'Leave > Parental' }),
    )
    expect(first.eval).toMatchObject({ recall_at_5: 0.75, changes: [] })
    await expect(evaluate(other.owner.call, ['people/leave.md'])).rejects.toMatchObject({ code: 'NOT_FOUND' })
    // A document that is hidden is as one that is not there.
    const hidden = await evaluate(as(developer!), ['people/pay.md'], ['people/no.md'])
    expect(hidden.answers.map(({ rank }) => rank)).toEqual([null, null])
    expect(hidden.answers[0]!.hits).toEqual(hidden.answers[1]!.hits)
    expect(JSON.stringify(hidden.answers[0]!.hits)).not.toContain('pay.md')

    expect(await changesSince()).toEqual([])
    await syncFiles(system, org.owner.call, name, files)
    expect(await changesSince()).toEqual([])
    const { held } = await syncFiles(system, org.owner.call, name, {
      ...files,
      'notes.txt': 'Lunch. [1,0,0]',
    })
    const marked = await changesSince()
    expect(marked).toEqual([{ what: 'rows', at: expect.any(String) }])
    expect((await evaluate(org.owner.call, ['people/leave.md'])).eval.changes).toEqual(marked)
    expect(await changesSince()).toEqual([])
    await org.owner.call(undoDocuments, { name, version: held.version })
    expect(await changesSince()).toEqual([{ what: 'rows', at: expect.any(String) }])
  })

  test('of a loaded table notes loads and their undoing; one that is searched by words alone gets no threshold', async () => {
    const [name, source_id] = ['gear', 'db_gear']
    const plan = { table: 'gear', id_column: 'sku', title_column: 'name' }
    const rowsOf = (stove: string) => `sku,name,about\nT1,Tent,shelters two\nS1,Stove,${stove}\n`
    for (const { call } of [org.owner, other.owner]) {
      await call(createDatabase, { name })
      const first = { ...plan, save_configuration: true }
      expect(await loadFile(system, call, name, rowsOf('burns wood'), first)).toMatchObject({
        state: 'succeeded',
        configuration_saved: true,
      })
      await call(setDataSourceState, { source_id, enabled: true })
      await call(setDataSourceExposure, { source_id, exposed: true })
    }
    const evaluate = async ({ owner: { call } }: Org) => {
      const questions = Array.from({ length: 5 }, () => ({ question: 'Which stove?', expect: ['S1'] }))
      const { id: eval_id } = await startOf(call, source_id, questions.length)
      return (await call(askEval, { source_id, eval_id, from: 0, questions })).eval
    }
    const changesSince = async (of: Org) => (await of.owner.call(listEvals, { source_id })).changes_since
    const first = await evaluate(org)
    expect([first.recall_at_5, first.rows, first.changes]).toEqual([1, 2, []])
    await expect(org.owner.call(setThreshold, { source_id, eval_id: first.id })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'A threshold needs a table with vectors',
    })
    await evaluate(other)

    const replace = (dry_run: boolean) =>
      loadFile(system, org.owner.call, name, rowsOf('burns gas'), { ...plan, replace: true, dry_run })
    await replace(true)
    expect(await changesSince(org)).toEqual([])
    const { id: load_id } = await replace(false)
    const rows = [{ what: 'rows', at: expect.any(String) }]
    const marked = await changesSince(org)
    expect(marked).toEqual(rows)
    expect((await evaluate(org)).changes).toEqual(marked)
    for (const undone of [true, false]) {
      expect(await changesSince(org)).toEqual([])
      await org.owner.call(undoLoad, { load_id, undone })
      expect(await changesSince(org)).toEqual(rows)
      await evaluate(org)
    }
    // What was kept of it is deleted, which changes no row.
    await system.db.update(loads).set({ waitsUntil: null }).where(eq(loads.id, load_id))
    await takeLoadSteps(system)
    const [done] = await system.db.select().from(loads).where(eq(loads.id, load_id))
    expect(done!.isStaged).toBe(false)
    expect(await changesSince(org)).toEqual([])
    expect(await changesSince(other)).toEqual([])
  })

  test('its evals go with a source', async () => {
    const { name } = secrets
    await org.owner.call(removeDatabase, { name, confirm: name })
    expect(await system.db.select().from(evals).where(eq(evals.sourceId, secrets.id))).toEqual([])
  })
})

test('an access column that was set is set again when the database has lost that', () =>
  expectStaysLess(system, 'data_source_access', setAccessColumn))
