/**
 * The sample: a small handbook and a product catalogue in a managed database, exposed, so that a newcomer has
 * something to ask. Wanted by the first run, loaded before anybody is let in; killed in between, the next start goes
 * on. Of several processes that start together one loads it.
 */
import * as z from 'zod'
import { connectTo } from '../db/managed/connect-to.ts'
import { and, eq, isNotNull, sql } from '../db/drizzle.ts'
import type { Transaction } from '../db/connect.ts'
import { dataSources, installationFacts } from '../db/schema.ts'
import { BUILT_IN_MODEL } from './contracts/embedding-settings.ts'
import { ServiceError } from './contracts/errors.ts'
import type { Caller } from './contracts/operation.ts'
import { findSource, loginOf, makeDatabase } from './cores/databases/index.ts'
import { exposeSource, saveConfiguration, switchSource } from './cores/search/index.ts'
import type { GatewayNeeds } from './http/gateway.ts'
import { readSample } from './sample-texts.ts'

const FACT = 'sample'
const Fact = z.object({
  state: z.enum(['wanted', 'loaded']),
  caller: z.custom<Caller>(),
  /** Somebody is loading it, and is taken for dead afterwards. */
  until: z.string().optional(),
})
type Fact = z.output<typeof Fact>

/** Longer than loading takes anywhere, and than a database may be in the making. */
const LOADING_MS = 3 * 60_000

const NAME = 'sample'
export const SAMPLE_SOURCE = `db_${NAME}`
export const SAMPLE_QUESTION = 'May I work from Spain for a month?'

/** In the transaction of the first run. */
export async function wantSample(tx: Transaction, caller: Caller): Promise<void> {
  await tx.insert(installationFacts).values({ name: FACT, value: { state: 'wanted', caller } satisfies Fact })
}

/**
 * True when the sample is there to be asked. Without a place for managed databases there is none, and the reason is
 * logged. `alone`: the data folder is this process's own, so whoever was at it before is dead.
 */
export async function loadSample(needs: GatewayNeeds, { alone }: { alone: boolean }): Promise<boolean> {
  const [fact] = await needs.db.select().from(installationFacts).where(eq(installationFacts.name, FACT))
  if (!fact) return false
  const { state, caller, until } = Fact.parse(fact.value)
  if (state === 'loaded') return true
  const now = needs.clock()
  if (!alone && until !== undefined && new Date(until) > now) return false
  const mine: Fact = { state, caller, until: new Date(now.getTime() + LOADING_MS).toISOString() }
  if (!(await replace(needs, fact.value, mine))) return false
  try {
    await load(needs, caller)
  } catch (error) {
    await replace(needs, mine, { state, caller })
    if (!(error instanceof ServiceError)) throw error
    needs.log.warn('the sample was not loaded', { because: error.message })
    return false
  }
  return replace(needs, mine, { state: 'loaded', caller })
}

/** Unless somebody else did in the meantime. */
async function replace({ db }: GatewayNeeds, before: unknown, after: Fact): Promise<boolean> {
  const replaced = await db
    .update(installationFacts)
    .set({ value: after })
    .where(
      and(
        eq(installationFacts.name, FACT),
        sql`${installationFacts.value} = ${JSON.stringify(before)}::text::jsonb`,
      ),
    )
    .returning({ name: installationFacts.name })
  return replaced.length > 0
}

async function load(needs: GatewayNeeds, caller: Caller): Promise<void> {
  const source_id = SAMPLE_SOURCE
  const before = await findSource(needs.db, caller.orgId!, source_id)
  // One loads at a time, so whoever was making it is dead and need not be waited for.
  if (before) {
    await needs.db
      .update(dataSources)
      .set({ preparingUntil: new Date(0) })
      .where(and(eq(dataSources.id, before.id), isNotNull(dataSources.preparingUntil)))
  }
  if (!before || before.preparingUntil !== null) {
    await makeDatabase(needs)(caller, {
      name: NAME,
      title: 'Sample: handbook and catalogue',
      description:
        'The staff handbook of a small outdoor shop and the things it sells. Ask about leave, travel and expenses, or for gear.',
    })
  }
  const row = await findSource(needs.db, caller.orgId!, source_id)
  await fill(await loginOf(needs, row!))
  await saveConfiguration(needs)(caller, { source_id, ...CONFIGURATION })
  await switchSource(needs)(caller, { source_id, enabled: true })
  await exposeSource(needs)(caller, { source_id, exposed: true, minimum_role: 'viewer' })
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

async function fill(login: Parameters<typeof connectTo>[0]): Promise<void> {
  const { handbook, products } = readSample()
  const written = <Row extends { embedding: readonly number[] }>(rows: readonly Row[]) =>
    JSON.stringify(rows.map((row) => ({ ...row, embedding: JSON.stringify(row.embedding) })))
  const pool = connectTo(login, { statementTimeoutMs: 30_000, max: 1, idleSeconds: 5, parameters: {} })
  try {
    for (const statement of SCHEMA.split(';').filter((text) => text.trim() !== ''))
      await pool.query(statement)
    await pool.query(HANDBOOK, [written(handbook)])
    await pool.query(PRODUCTS, [written(products)])
  } finally {
    await pool.end()
  }
}
