/** Evals of documents and of loaded tables: what changed of their rows since is noted. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { loads } from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import { setDataSourceExposure, setDataSourceState } from '../../src/contracts/data-sources.ts'
import { createDatabase } from '../../src/contracts/databases.ts'
import { createDocuments, undoDocuments } from '../../src/contracts/documents.ts'
import { askEval, listEvals, setThreshold, startEval } from '../../src/contracts/evals.ts'
import { undoLoad } from '../../src/contracts/loads.ts'
import { startWithDatabases, type SystemWithDatabases } from '../support/data-sources.ts'
import { syncFiles } from '../support/documents.ts'
import { loadFile, takeLoadSteps } from '../support/loads.ts'
import { makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'

let system: SystemWithDatabases
let org: Org
let other: Org
let developer: Person
beforeAll(async () => {
  system = await startWithDatabases()
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  developer = await makeMember(system, org, 'developer')
})
afterAll(() => system.stop())
const as = ({ token }: Person): Call => system.as({ token, organization: org.id })

describe('evals', () => {
  const startOf = (call: Call, source_id: string, questions: number) =>
    call(startEval, { source_id, questions })

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
})
