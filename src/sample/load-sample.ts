/**
 * The sample: a small handbook and a product catalog in a managed database, exposed, so that a new user has something
 * to ask, and an app with a week behind it. Requested by the first run and loaded before the port opens; after a crash
 * the next start continues. Of several processes that start together one loads it.
 */
import * as z from 'zod'
import { openPool } from '../../db/managed/open-pool.ts'
import { and, eq, isNotNull, sql } from '../../db/drizzle.ts'
import type { Transaction } from '../../db/connect.ts'
import { dataSources, installationFacts } from '../../db/schema.ts'
import { BUILT_IN_MODEL } from '../contracts/embedding-settings.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { Principal } from '../contracts/operation.ts'
import { SAMPLE_DATABASE, SAMPLE_SOURCE } from '../contracts/sample.ts'
import { findSource, readLogin, createDatabase } from '../cores/databases/index.ts'
import { setDataSourceExposure, saveSearchConfiguration, setDataSourceState } from '../cores/search/index.ts'
import type { GatewayDeps } from '../http/gateway.ts'
import { loadSampleApp } from './load-sample-app.ts'
import { readSample } from './read-sample.ts'

const FACT_NAME = 'sample'
const SampleState = z.object({
  state: z.enum(['requested', 'loaded']),
  principal: z.custom<Principal>(),
  /** A process is loading it, and is taken for dead after this time. */
  until: z.string().optional(),
})
type SampleState = z.output<typeof SampleState>

/** Longer than loading takes anywhere, and than creating a database may take. */
const LOADING_MS = 3 * 60_000

export { SAMPLE_QUESTION, SAMPLE_SOURCE } from '../contracts/sample.ts'

/** In the transaction of the first run. */
export async function requestSample(tx: Transaction, principal: Principal): Promise<void> {
  await tx
    .insert(installationFacts)
    .values({ name: FACT_NAME, value: { state: 'requested', principal } satisfies SampleState })
}

/**
 * True when the sample is loaded. Where managed databases cannot be created there is none, and the reason is logged.
 * `alone`: the data folder belongs to this process, so whoever was loading it before is dead.
 */
export async function loadSample(deps: GatewayDeps, { alone }: { alone: boolean }): Promise<boolean> {
  const [row] = await deps.db.select().from(installationFacts).where(eq(installationFacts.name, FACT_NAME))
  if (!row) return false
  const { state, principal, until } = SampleState.parse(row.value)
  if (state === 'loaded') return true
  const now = deps.clock()
  if (!alone && until !== undefined && new Date(until) > now) return false
  const lease: SampleState = { state, principal, until: new Date(now.getTime() + LOADING_MS).toISOString() }
  if (!(await replace(deps, row.value, lease))) return false
  try {
    await load(deps, principal)
  } catch (error) {
    await replace(deps, lease, { state, principal })
    if (!(error instanceof ServiceError)) throw error
    deps.log.warn('the sample was not loaded', { because: error.message })
    return false
  }
  return replace(deps, lease, { state: 'loaded', principal })
}

/** Unless another process did in the meantime. */
async function replace({ db }: GatewayDeps, before: unknown, after: SampleState): Promise<boolean> {
  const replaced = await db
    .update(installationFacts)
    .set({ value: after })
    .where(
      and(
        eq(installationFacts.name, FACT_NAME),
        sql`${installationFacts.value} = ${JSON.stringify(before)}::text::jsonb`,
      ),
    )
    .returning({ name: installationFacts.name })
  return replaced.length > 0
}

/** Side by side: most of the time the database's own thread is busy, and both are done or tried again. */
async function load(deps: GatewayDeps, principal: Principal): Promise<void> {
  const parts = [loadSampleApp(deps, principal), loadSampleDatabase(deps, principal)]
  for (const part of await Promise.allSettled(parts)) if (part.status === 'rejected') throw part.reason
}

async function loadSampleDatabase(deps: GatewayDeps, principal: Principal): Promise<void> {
  const source_id = SAMPLE_SOURCE
  const before = await findSource(deps.db, principal.orgId!, source_id)
  // One process loads at a time, so whoever was creating it is dead.
  if (before) {
    await deps.db
      .update(dataSources)
      .set({ preparingUntil: new Date(0) })
      .where(and(eq(dataSources.id, before.id), isNotNull(dataSources.preparingUntil)))
  }
  if (!before || before.preparingUntil !== null) {
    await createDatabase(deps)(principal, {
      name: SAMPLE_DATABASE,
      title: 'Sample: handbook and catalog',
      description:
        'The staff handbook of a small outdoor shop and the things it sells. Ask about leave, travel and expenses, or for gear.',
    })
  }
  const row = await findSource(deps.db, principal.orgId!, source_id)
  await fill(await readLogin(deps, row!))
  await saveSearchConfiguration(deps)(principal, { source_id, ...CONFIGURATION })
  await setDataSourceState(deps)(principal, { source_id, enabled: true })
  await setDataSourceExposure(deps)(principal, { source_id, exposed: true, minimum_role: 'viewer' })
}

const table = (label: string, content_columns: string) => ({
  label,
  table: label,
  columns: ['embedding'],
  model: BUILT_IN_MODEL.name,
  dimensions: BUILT_IN_MODEL.dimensions,
  content_columns,
  distance_metric: 'cosine' as const,
})

const CONFIGURATION = {
  connection_config: {
    embedding_configs: [
      table('handbook', 'id,title,text,topic'),
      table('products', 'sku,name,description,category,price,in_stock'),
    ],
  },
  filter_schema: {
    topic: 'string' as const,
    category: 'string' as const,
    in_stock: 'boolean' as const,
  },
}

const SCHEMA = `
create table if not exists handbook (id text primary key, title text not null, topic text not null, text text not null, embedding vector(384) not null);
create table if not exists products (sku text primary key, name text not null, category text not null, price numeric not null, in_stock boolean not null, description text not null, embedding vector(384) not null);`

const HANDBOOK = `insert into handbook select * from json_populate_recordset(null::handbook, $1::text::json) on conflict do nothing`
const PRODUCTS = `insert into products select * from json_populate_recordset(null::products, $1::text::json) on conflict do nothing`

async function fill(login: Parameters<typeof openPool>[0]): Promise<void> {
  const { handbook, products } = readSample()
  const serialize = <Row extends { embedding: readonly number[] }>(rows: readonly Row[]) =>
    JSON.stringify(rows.map((row) => ({ ...row, embedding: JSON.stringify(row.embedding) })))
  const pool = openPool(login, {
    statementTimeoutMs: 30_000,
    loginMs: 30_000,
    max: 1,
    idleSeconds: 5,
    parameters: {},
    readOnly: false,
  })
  try {
    for (const statement of SCHEMA.split(';').filter((text) => text.trim() !== ''))
      await pool.query(statement)
    await pool.query(HANDBOOK, [serialize(handbook)])
    await pool.query(PRODUCTS, [serialize(products)])
  } finally {
    await pool.end()
  }
}
