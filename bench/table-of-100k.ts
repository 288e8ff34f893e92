/** The table that the benches of the data sources ask: 100,000 rows x 384 in clusters, the same on every machine. */
import type postgres from 'postgres'
import type { SearchConfiguration } from '../src/contracts/data-sources.ts'

export const ROWS = 100_000
export const DIMENSIONS = 384
export const TABLE = 'passages'
/** A model that is not there: benches know the vectors of their questions. */
export const MODEL = 'known-vectors'

const CLUSTERS = 400
/** Of one number of a row, where that of a cluster's center has 1/sqrt(384) = 0.05: rows of one cluster have a cosine of 0.74. */
const NOISE = 0.03
/** Numbers are kept with so many digits, so that the text that is loaded and the numbers in memory are the same. */
const DIGITS = 4

export const CONFIGURATION: SearchConfiguration = {
  connection_config: {
    embedding_configs: [
      {
        label: TABLE,
        table: TABLE,
        columns: ['embedding'],
        model: MODEL,
        dimensions: DIMENSIONS,
        content_columns: 'id,title,body,part,region',
        distance_metric: 'cosine',
      },
    ],
  },
  filter_schema: { part: 'number', region: 'number' },
}

export type Row = {
  readonly id: number
  /** 0 to 99, by chance. */
  readonly part: number
  /** 0 to 99, all rows of a cluster in one: a filter on it often leaves nothing near the question. */
  readonly region: number
  readonly vector: Float32Array
}

export function* allRows(): Generator<Row> {
  const centers = makeCenters()
  const random = randomNumbers(1)
  for (let id = 0; id < ROWS; id++) {
    const cluster = Math.floor(random() * CLUSTERS)
    const part = Math.floor(random() * 100)
    yield { id, part, region: cluster % 100, vector: near(centers[cluster]!, random) }
  }
}

/** Questions lie where rows lie, and are none of them. */
export function questionVectors(count: number): Float32Array[] {
  const centers = makeCenters()
  const random = randomNumbers(2)
  return Array.from({ length: count }, () => near(centers[Math.floor(random() * CLUSTERS)]!, random))
}

/** The values of a filter that keeps so many percent of the rows, another for each question. */
export const filterValues = (percent: number, question: number): number[] =>
  Array.from({ length: percent }, (_, at) => (question * 37 + at) % 100)

function makeCenters(): Float32Array[] {
  const random = randomNumbers(3)
  const origin = new Float32Array(DIMENSIONS)
  return Array.from({ length: CLUSTERS }, () => around(origin, 1 / Math.sqrt(DIMENSIONS), random))
}

const near = (center: Float32Array, random: () => number): Float32Array => around(center, NOISE, random)

/** Normally distributed, two numbers from each pair of even ones (Box and Muller). */
function around(center: Float32Array, deviation: number, random: () => number): Float32Array {
  const scale = 10 ** DIGITS
  const vector = new Float32Array(DIMENSIONS)
  for (let at = 0; at < DIMENSIONS; at += 2) {
    const length = deviation * Math.sqrt(-2 * Math.log(1 - random()))
    const angle = 2 * Math.PI * random()
    vector[at] = Math.round((center[at]! + length * Math.cos(angle)) * scale) / scale
    vector[at + 1] = Math.round((center[at + 1]! + length * Math.sin(angle)) * scale) / scale
  }
  return vector
}

/** Marsaglia's xorshift of 32 bits: small, and the same numbers everywhere. */
function randomNumbers(seed: number): () => number {
  let state = seed * 0x9e3779b1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

const ROWS_A_COPY = 2_000

/** Takes minutes, most of them for the vector index. */
export async function fillTable(sql: postgres.Sql, say: (what: string) => void): Promise<void> {
  const started = performance.now()
  const tell = (what: string) => say(`${what} (${((performance.now() - started) / 1000).toFixed(0)} s)`)
  await sql.unsafe(`drop table if exists ${TABLE}`)
  await sql.unsafe(
    `create table ${TABLE} (id int primary key, title text not null, body text not null, part int2 not null, region int2 not null, embedding vector(${DIMENSIONS}) not null)`,
  )
  let lines: string[] = []
  const load = async () => {
    const stream = await sql.unsafe(`copy ${TABLE} from stdin`).writable()
    await new Promise<void>((resolve, reject) => {
      stream.once('error', reject).once('finish', resolve).end(lines.join(''))
    })
    lines = []
  }
  for (const row of allRows()) {
    lines.push(lineOf(row))
    if (lines.length === ROWS_A_COPY) await load()
    if ((row.id + 1) % 20_000 === 0) tell(`${row.id + 1} rows`)
  }
  await sql.unsafe(`create index on ${TABLE} (part)`)
  await sql.unsafe(`create index on ${TABLE} (region)`)
  await sql.unsafe(`set maintenance_work_mem = '300MB'`)
  await sql.unsafe(`create index on ${TABLE} using hnsw (embedding vector_cosine_ops)`)
  tell('HNSW index built')
  await sql.unsafe(`analyze ${TABLE}`)
}

const BODY = 'A passage of a few lines, as long as those that people keep in such tables. '.repeat(4).trim()

const lineOf = ({ id, part, region, vector }: Row): string =>
  `${id}\tPassage ${id} of region ${region}\t${BODY}\t${part}\t${region}\t[${Array.from(vector, (number) => number.toFixed(DIGITS)).join(',')}]\n`
