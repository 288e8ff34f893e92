/** How many of the ten true neighbors a question finds under filters, against brute force and beside plain HNSW. */
import postgres from 'postgres'
import { readLogin } from '../src/cores/databases/index.ts'
import { queryDataSource } from '../src/contracts/data-sources.ts'
import { LEFT_OUT, pgvectorUrl } from './keep-100k.ts'
import { inTemporaryFolder } from './programs.ts'
import { metOrMissed } from './results.ts'
import { startOn100k, type Engine, type On100k } from './system-on-100k.ts'
import { allRows, DIMENSIONS, filterValues, ROWS, TABLE } from './table-of-100k.ts'
import { p50, timed } from './timing.ts'

const TARGET = 0.98
const NEIGHBOURS = 10

type Filter = { readonly column: 'part' | 'region'; readonly percent: number }
/** By chance, and (the hard case) one that seldom leaves anything near the question. */
const FILTERS: readonly (Filter | undefined)[] = [
  undefined,
  ...[50, 25, 10, 1].flatMap((percent) =>
    (['part', 'region'] as const).map((column): Filter => ({ column, percent })),
  ),
]

export const recall = async () => {
  const table = readTable()
  const url = pgvectorUrl()
  return [
    ...(url === undefined ? [LEFT_OUT] : await measure({ kind: 'postgres', url }, 100, table)),
    ...(await measure({ kind: 'embedded' }, 25, table)),
  ]
}

const measure = (engine: Engine, questions: number, table: Table) =>
  inTemporaryFolder(async (folder) => {
    const ours = await startOn100k(engine, folder, { questions })
    const plain = await openPlain(ours)
    try {
      const numbers = Array.from({ length: questions }, (_, at) => at)
      const nearness = numbers.map((at) => table.nearnessTo(ours.vectors[at]!))
      const lines: string[] = []
      for (const filter of FILTERS) {
        const seen = { ours: 0, plain: 0, ms: [] as number[] }
        for (const at of numbers) {
          const values = filter && filterValues(filter.percent, at)
          const truth = table.nearest(nearness[at]!, filter?.column, values)
          const { ms, result } = await timed(() => ask(ours, at, filter, values))
          seen.ms.push(ms)
          seen.ours += share(result, truth)
          seen.plain += share(await plain.ask(ours.vectors[at]!, filter?.column, values), truth)
        }
        lines.push(lineOf(engine, filter, seen.ours / questions, seen.plain / questions, p50(seen.ms)))
      }
      return lines
    } finally {
      await plain.end()
      await ours.stop()
    }
  })

async function ask(
  { call }: On100k,
  question: number,
  filter: Filter | undefined,
  values: number[] | undefined,
): Promise<number[]> {
  const { results } = await call(queryDataSource, {
    source_id: 'db_bench',
    query: String(question),
    top_k: NEIGHBOURS,
    ...(filter && values && { filters: { [filter.column]: values } }),
  })
  return results.map(({ id }) => Number(id))
}

/** HNSW as it comes: ef_search 40, the filter applied to what the index gave. */
async function openPlain({ deps, source }: On100k) {
  const { host, port, user, password, database } = await readLogin(deps, source)
  const sql = postgres({ host, port, user, password, database, max: 1, fetch_types: false })
  // Else the planner takes an index on the filtered column now and then, and it would not be HNSW.
  for (const other of ['enable_seqscan', 'enable_bitmapscan', 'enable_sort'])
    await sql.unsafe(`set ${other} = off`)
  await sql.unsafe('set plan_cache_mode = force_custom_plan')
  return {
    async ask(vector: Float32Array, column?: string, values?: number[]): Promise<number[]> {
      const where = column === undefined ? '' : `where ${column} = any($2::int2[])`
      const rows = await sql.unsafe<{ id: number }[]>(
        `select id from ${TABLE} ${where} order by embedding <=> $1::vector limit ${NEIGHBOURS}`,
        [`[${vector.join(',')}]`, ...(values ? [`{${values.join(',')}}`] : [])],
      )
      return rows.map(({ id }) => id)
    },
    end: () => sql.end(),
  }
}

type Table = ReturnType<typeof readTable>

/** All of it in memory: 154 MB. */
function readTable() {
  const vectors = new Float32Array(ROWS * DIMENSIONS)
  const lengths = new Float64Array(ROWS)
  const columns = { part: new Uint8Array(ROWS), region: new Uint8Array(ROWS) }
  for (const { id, part, region, vector } of allRows()) {
    vectors.set(vector, id * DIMENSIONS)
    lengths[id] = Math.hypot(...vector)
    columns.part[id] = part
    columns.region[id] = region
  }
  return {
    /** To every row: the cosine but for the question's own length, which changes no order. */
    nearnessTo(question: Float32Array): Float64Array {
      return lengths.map((length, id) => {
        let sum = 0
        const first = id * DIMENSIONS
        for (let at = 0; at < DIMENSIONS; at++) sum += vectors[first + at]! * question[at]!
        return sum / length
      })
    },
    nearest(nearness: Float64Array, column?: 'part' | 'region', values: number[] = []): Set<number> {
      const wanted = new Set(values)
      const ids: number[] = []
      for (let id = 0; id < ROWS; id++) {
        if (column === undefined || wanted.has(columns[column][id]!)) ids.push(id)
      }
      return new Set(ids.toSorted((a, b) => nearness[b]! - nearness[a]!).slice(0, NEIGHBOURS))
    },
  }
}

const share = (found: readonly number[], truth: ReadonlySet<number>): number =>
  found.filter((id) => truth.has(id)).length / truth.size

function lineOf(engine: Engine, filter: Filter | undefined, our: number, plain: number, ms: number): string {
  const how = filter?.column === 'part' ? 'random' : 'correlated'
  const what = filter ? `${filter.percent} % ${how}` : 'no filter'
  return `${engine.kind.padEnd(9)} ${what.padEnd(21)} svc ${our.toFixed(3)} (target ${TARGET}: ${metOrMissed(our >= TARGET)}), p50 ${ms.toFixed(1)} ms, plain HNSW ${plain.toFixed(3)}`
}
