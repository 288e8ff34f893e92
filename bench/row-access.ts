/** What row access costs a question: the same table with and without its access column, in turns. */
import {
  queryDataSource,
  saveSearchConfiguration,
  SearchConfiguration,
} from '../src/contracts/data-sources.ts'
import { inTemporaryFolder } from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf, sized } from './sizes.ts'
import { knownVectors, makeSource, startSourceSystem, type SourceSystem } from './source-system.ts'
import { p50 } from './timing.ts'

const ROWS = sized(100_000, 500)
const ROUNDS = roundsOf(6)
const QUESTIONS = sized(20, 2)
const TARGET = 1.3
const DIMENSIONS = 64
const MODEL = 'known-vectors'
const SOURCE = 'db_bench'

/** Columns that name the asker in so many rows. */
const SEEN = { seen_half: 'half of the rows', seen_few: 'one row in a hundred' } as const
type Column = keyof typeof SEEN

const configured = (access_column: Column | null) =>
  SearchConfiguration.parse({
    connection_config: {
      embedding_configs: [
        { label: 'rows', table: 'rows', model: MODEL, dimensions: DIMENSIONS, content_columns: 'id,title' },
      ],
    },
    access_column,
  })

/** The engine makes them up: only that they lie everywhere matters. */
const TABLE = [
  `create table rows (id int primary key, title text, seen_half text[], seen_few text[], embedding vector(${DIMENSIONS}))`,
  `insert into rows select i, 'Row ' || i, array[case when i % 2 = 0 then 'everyone' else 'group:others' end],
    array[case when i % 100 = 0 then 'everyone' else 'group:others' end],
    ('[' || (select string_agg(((hashint4(i * ${DIMENSIONS} + k) & 65535) / 65536.0 - 0.5)::text, ',')
      from generate_series(1, ${DIMENSIONS}) k) || ']')::vector
    from generate_series(1, ${ROWS}) i`,
  'create index on rows using gin (seen_half)',
  'create index on rows using gin (seen_few)',
  `set maintenance_work_mem = '300MB'`,
  'create index on rows using hnsw (embedding vector_cosine_ops) with (m = 8, ef_construction = 32)',
  'analyze rows',
]

export const rowAccess = () =>
  inTemporaryFolder(async (folder) => {
    const random = (question: number) =>
      Float32Array.from({ length: DIMENSIONS }, (_, at) => Math.sin((question + 1) * 12.9898 + at * 78.233))
    const models = knownVectors(MODEL, DIMENSIONS, (question) => random(Number(question)))
    const ours = await startSourceSystem({ SVC_DATA_DIR: folder, MANAGED_DATABASE_URL: 'embedded' }, models)
    try {
      await makeSource(ours, 'bench', configured(null), async (sql) => {
        for (const statement of TABLE) await sql.unsafe(statement)
      })
      return await compare(ours)
    } finally {
      await ours.stop()
    }
  })

async function compare(ours: SourceSystem): Promise<string[]> {
  const spent = new Map<Column | null, number[]>(
    [null, 'seen_half', 'seen_few'].map((one) => [one as Column | null, []]),
  )
  for (let round = 0; round < ROUNDS; round++) {
    for (const [column, costs] of spent) costs.push(...(await ask(ours, column, round)))
  }
  const without = p50(spent.get(null)!)
  return [
    `${ROWS.toLocaleString('en')} rows, CPU of a question, embedded, the middle of ${ROUNDS * QUESTIONS}`,
    `without row access       ${without.toFixed(2)} ms`,
    ...Object.entries(SEEN).map(([column, what]) => {
      const cost = p50(spent.get(column as Column)!)
      const ratio = cost / without
      return `who sees ${what.padEnd(21)} ${cost.toFixed(2)} ms, ${ratio.toFixed(2)}x (target ${TARGET}x: ${metOrMissed(ratio <= TARGET)})`
    }),
  ]
}

/** In milliseconds of CPU of this process, whose thread the engine is. */
async function ask({ call }: SourceSystem, column: Column | null, round: number): Promise<number[]> {
  await call(saveSearchConfiguration, { source_id: SOURCE, ...configured(column) })
  const costs: number[] = []
  // The first ones read the catalog anew.
  for (let at = -2; at < QUESTIONS; at++) {
    const before = process.cpuUsage()
    const { count } = await call(queryDataSource, { source_id: SOURCE, query: String(round * 100 + at + 2) })
    const { user, system } = process.cpuUsage(before)
    if (count === 0) throw new Error('nothing was found')
    if (at >= 0) costs.push((user + system) / 1_000)
  }
  return costs
}
