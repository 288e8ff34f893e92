/**
 * Row access on both engines, with more rows and rules than `npm test` has time for: every path against a brute force by the
 * definition, and beside tables in which the hidden rows never were. Also through the vector index, which few rows never see.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { dataSources } from '../../db/schema.ts'
import { HITS_MAX } from '../../src/contracts/limits.ts'
import { openSource, type Queries } from '../../src/cores/databases/index.ts'
import type { Condition } from '../../src/cores/search/filter-columns.ts'
import {
  hitsOf,
  indexStatement,
  rawColumns,
  textColumns,
  type FoundRow,
} from '../../src/cores/search/nearest-rows.ts'
import { vectorLiteral } from '../../src/cores/search/quote.ts'
import { mergeNearest, passagesStatement } from '../../src/cores/search/row-passages.ts'
import { readTableInfo } from '../../src/cores/search/table-info.ts'
import { filterConditions, type VectorSearch } from '../../src/cores/search/table-search.ts'
import { startWithDatabases, type SystemWithDatabases } from '../support/data-sources.ts'
import {
  askAll,
  fetchAll,
  makeAccessWorld,
  nearestIds,
  previewedIds,
  questionOf,
  randomFrom,
  rowsOf,
  sees,
  vectorIn,
  type AccessWorld,
} from '../support/row-access.ts'

const SERVER = process.env['TEST_PGVECTOR_URL']
const ENGINES: [name: string, where: string][] = [
  ['embedded', 'embedded'],
  ...(SERVER === undefined ? [] : [['on a server', SERVER] satisfies [string, string]]),
]
const SEEDS = [1, 2]
const ROWS = 400

describe.each(ENGINES)('managed databases %s', (_name, where) => {
  let system: SystemWithDatabases
  beforeAll(async () => {
    system = await startWithDatabases({ MANAGED_DATABASE_URL: where })
  })
  afterAll(() => system.stop())

  describe.each(SEEDS)('rows of seed %i', (seed) => {
    const random = randomFrom(seed * 7_919)
    const questions = Array.from({ length: 4 }, () => questionOf(random, 3))
    let world: AccessWorld
    beforeAll(async () => {
      world = await makeAccessWorld(system, { count: ROWS, seed })
    })

    test('questions by meaning and by both', async () => {
      const { byMeaning, byBoth } = await askAll(world, questions)
      for (const { asker, answer, asIfAbsent, ids, expected } of byMeaning) {
        expect(ids, asker).toEqual(expected)
        expect(answer, asker).toEqual(asIfAbsent)
      }
      for (const { asker, answer, asIfAbsent, ids, expected } of byBoth) {
        expect(expected, asker).toEqual(expect.arrayContaining([...ids]))
        expect(answer, asker).toEqual(asIfAbsent)
      }
    })

    test('fetching', async () => {
      const tried = await fetchAll(world, questions[0]!, 40)
      expect(tried.map(({ fetched }) => fetched)).toEqual(tried.map(({ expected }) => expected))
    })

    test('counts and pages of a preview', async () => {
      const { org, askers, rows, source } = world
      for (const asker of askers) {
        if (asker.id === null) continue
        for (const kind of ['list', 'one'] as const) {
          const seen = rowsOf(rows, kind)
            .filter((row) => sees(asker, row))
            .map(({ id }) => id)
          const previewed = await previewedIds(org.owner.call, source.sourceId, asker.id, kind)
          expect(previewed, asker.name).toEqual({ ids: seen, total: seen.length })
        }
      }
    })

    test('the vector index, which the planner would take for many rows', async () => {
      const { org, askers, rows, source } = world
      const isSource = and(eq(dataSources.orgId, org.id), eq(dataSources.id, source.id))
      const [row] = await system.db.select().from(dataSources).where(isSource)
      const queries = openSource(system.system.gateway!, row!)
      const configured = row!.configuration!.connection_config.embedding_configs
      for (const kind of ['list', 'one'] as const) {
        const entry = configured.find(({ label }) => label === kind)!
        const tableInfo = (await readTableInfo(queries, entry.table))!
        for (const asker of askers) {
          const names = namesOf(asker)
          const seen = rowsOf(rows, kind).filter((one) => sees(asker, one))
          for (const question of questions) {
            const access = { column: 'seen_by', names }
            const search = {
              entry,
              tableInfo,
              vector: vectorIn(question),
              filters: [],
              access,
              limit: HITS_MAX,
            }
            const conditions = filterConditions(search, 2)
            const found = conditions ? await nearest(queries, search, conditions) : []
            const ids = hitsOf(search, found).map(({ id }) => id)
            expect(ids, asker.name).toEqual(nearestIds(seen, question, HITS_MAX))
          }
        }
      }
    })
  })
})

/** Both legs. There are fewer rows than the index gives up after, so what they find is all. */
async function nearest(queries: Queries, search: VectorSearch, conditions: readonly Condition[]) {
  const parameters = [vectorLiteral(search.vector), ...conditions.map(({ parameter }) => parameter)]
  const shown = { raw: rawColumns(search.entry), texts: textColumns(search.entry) }
  const byRows = await queries.query<FoundRow>(indexStatement(search, conditions), parameters)
  const byPassages = await queries.query<FoundRow & { searched: number; farthest: number }>(
    passagesStatement(search, conditions, shown),
    parameters,
  )
  return mergeNearest(byRows, byPassages, search.limit).rows
}

/** By the contract: what a row must have one of to be seen by them. */
const namesOf = ({ role, email, groups }: AccessWorld['askers'][number]): string[] => [
  ...groups.map((name) => `group:${name}`),
  ...(role === null ? [] : ['everyone', ...ROLES_UP_TO[role].map((one) => `role:${one}`)]),
  ...(role !== null && email !== null ? [`user:${email}`] : []),
]
const VIEWING = ['member', 'viewer']
const ROLES_UP_TO = {
  member: VIEWING,
  viewer: VIEWING,
  developer: [...VIEWING, 'developer'],
  admin: [...VIEWING, 'developer', 'admin'],
  owner: [...VIEWING, 'developer', 'admin', 'owner'],
} as const
