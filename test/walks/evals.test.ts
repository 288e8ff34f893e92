/** Evals: golden questions of a source, asked as whoever asks, and the threshold that comes from them. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type * as z from 'zod'
import { and, eq, isNotNull, like } from '../../db/drizzle.ts'
import { activity, auditLog, evals, throttles } from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import { listActivity } from '../../src/contracts/activity.ts'
import {
  queryDataSource,
  saveSearchConfiguration,
  searchDataSources,
} from '../../src/contracts/data-sources.ts'
import { EVAL } from '../../src/contracts/limits.ts'
import { removeDatabase } from '../../src/contracts/databases.ts'
import { askEval, listEvals, setThreshold, startEval } from '../../src/contracts/evals.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import { searchDataSources as searchAll } from '../../src/cores/search/search-data-sources.ts'
import { addEndingKeeper, type Ending } from '../../src/cores/record-ending.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import {
  configurationOf,
  entry,
  inDatabase,
  makeSource,
  startWithDatabases,
  type Source,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'

let system: SystemWithDatabases
let org: Org
let other: Org
let [developer, viewer]: Person[] = []
beforeAll(async () => {
  system = await startWithDatabases()
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  developer = await makeMember(system, org, 'developer')
  viewer = await makeMember(system, org, 'viewer')
})
afterAll(() => system.stop())
const as = ({ token }: Person): Call => system.as({ token, organization: org.id })

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
    const more = { source_id, eval_id: begun.id, from: 4, questions: [wanting('open')] }
    await expect(org.owner.call(askEval, more)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'This eval has finished',
    })
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
    await expect(org.owner.call(setThreshold, { source_id, eval_id })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    // Of the model a whole search is refused, and not told as a source that fails.
    const busy = {
      ...system.system.gateway!,
      models: {
        ...system.system.gateway!.models,
        embed: () => Promise.reject(new ServiceError('RATE_LIMITED')),
      },
    }
    const { userId, name: userName } = org.owner
    const whoever = { kind: 'user', orgId: org.id, userId, userName, role: 'owner', sources: null }
    await expect(
      searchAll(busy)({ ...whoever, requestId: 'req' } as never, { query: 'anything', top_k: 1 }),
    ).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    await org.owner.call(saveSearchConfiguration, { source_id, ...configuration })
    await expect(at(1)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('changed'),
    })
    // Another one takes its place, and that of nobody else.
    const theirs = await startOf(as(developer!), source_id, 1)
    await startOf(org.owner.call, source_id, 1)
    await expect(at(1)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const further = { source_id, eval_id: theirs.id, from: 0, questions: [wanting('open')] }
    expect((await as(developer!)(askEval, further)).eval).toMatchObject({ asked: 1 })
    for (const refused of [
      () => startOf(other.owner.call, source_id, 1),
      () => other.owner.call(listEvals, { source_id }),
      () => other.owner.call(setThreshold, { source_id, eval_id: null }),
      () => org.owner.call(searchDataSources, { query: 'open', sources: [source_id, 'db_unknown'] }),
    ]) {
      await expect(refused()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    await expect(startOf(as(viewer!), source_id, 1)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(as(viewer!)(listEvals, { source_id })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test.runIf(inject('everyCase'))(
    'an answer that was lost is given again to whoever asked, of the rows they see by then, and counts once',
    async () => {
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
    },
  )

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
    // So many are kept of a source, and the oldest goes.
    const isFinished = and(eq(evals.sourceId, secrets.id), isNotNull(evals.finishedAt))
    const [one] = await system.db.select().from(evals).where(isFinished).limit(1)
    const older = Array.from({ length: EVAL.kept }, (_, n) => ({ ...one!, id: `evl_0${n}` }))
    await system.db.insert(evals).values(older)
    expect((await askAs(org.owner.call)).eval.finished_at).not.toBeNull()
    expect(await system.db.$count(evals, isFinished)).toBe(EVAL.kept)
    await system.db.delete(evals).where(and(isFinished, like(evals.id, 'evl_0%')))
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

  test('its evals go with a source', async () => {
    const { name } = secrets
    const kept: Ending[] = []
    const leave = addEndingKeeper(system.ownDb, {
      async committing(endings) {
        kept.push(...endings)
        return async () => {}
      },
    })
    await org.owner.call(removeDatabase, { name, confirm: name })
    leave()
    // What it gave is taken from it first: a lost tail of the database does not give it back.
    const to = { enabled: 'false', exposed: 'false' }
    expect(kept).toMatchObject([{ kind: 'data_source', id: secrets.id, orgId: org.id, to }])
    expect(await system.db.select().from(evals).where(eq(evals.sourceId, secrets.id))).toEqual([])
  })
})
