/**
 * The program that the question bench asks: the whole product on one port; on another, in the same process and on the
 * same managed database, the bare route, and what the parts of a question take one by one.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { attachedPools } from '../db/managed/attached-thread.ts'
import { sourceConnections } from '../db/managed/source-connections.ts'
import { httpClient } from '../src/client/http-client.ts'
import { validateToken } from '../src/contracts/tokens.ts'
import { findSource, readLogin, openSource } from '../src/cores/databases/index.ts'
import { exactStatement, indexStatement, strategyFor } from '../src/cores/search/nearest-rows.ts'
import { filterConditions, type VectorSearch } from '../src/cores/search/table-search.ts'
import { vectorLiteral } from '../src/cores/search/quote.ts'
import { countQuestion } from '../src/cores/search/question-limits.ts'
import { recordingActivity } from '../src/cores/activity/record-activity.ts'
import { listen } from '../src/boot/listener.ts'
import { bareQuestion, openBareControl, statementsOn, type Search } from './bare-question.ts'
import { startOn100k, freshDatabase, type Engine, type On100k } from './system-on-100k.ts'
import { filterValues } from './table-of-100k.ts'
import { timed } from './timing.ts'

export type Settings = {
  readonly engine: Engine
  readonly folder: string
  readonly port: number
  readonly barePort: number
  readonly questions: number
  readonly percent: number
}
/** Milliseconds of each part, over many questions. */
export type Parts = Record<string, number[]>

const settings = JSON.parse(process.argv[2]!) as Settings
const { engine, folder, questions, percent } = settings
const ours = await startOn100k(engine, folder, { questions, env: { PORT: String(settings.port) } })
const listening = await listen(ours.system)

const control =
  engine.kind === 'postgres' ? await freshDatabase(engine.url, 'svc_bench_bare') : emptyFolder('bare')
const bare = await openBareControl(control)
const connections = sourceConnections(attachedPools([]))
const queries = connections.open('bare', ours.source.kind, 'bare', () => readLogin(ours.deps, ours.source))
const statements = statementsOn(bare.sql)
const search: Search = { plain: await statementFor(false), filtered: await statementFor(true) }
const vectorOf = (question: string) => ours.vectors[Number(question)]!

const server = serve({
  fetch: new Hono()
    .route('/', bareQuestion(statements, queries, search, vectorOf))
    .post('/parts', async (c) => c.json(await timeParts(ours, await c.req.json<PartsAsked>()))).fetch,
  port: settings.barePort,
  hostname: '127.0.0.1',
  overrideGlobalObjects: false,
})
console.log(`token ${ours.token}\nready`)

process.once('SIGTERM', () => {
  void (async () => {
    server.close()
    await listening.stop()
    await connections.close()
    await bare.close()
    await ours.stop()
    if ('drop' in control) await control.drop()
    process.exit(0)
  })()
})

function emptyFolder(name: string): { folder: string } {
  const path = join(folder, name)
  mkdirSync(path)
  return { folder: path }
}

type PartsAsked = { readonly filtered: boolean; readonly questions: readonly number[] }

async function asked(question: number, filtered: boolean): Promise<VectorSearch> {
  const entry = ours.source.configuration!.connection_config.embedding_configs[0]!
  const tableInfo = await ours.deps.tableInfo.read(
    openSource(ours.deps, ours.source),
    entry.table,
    new Date(),
  )
  const filters = filtered
    ? [{ column: 'part', type: 'number' as const, values: filterValues(percent, question) }]
    : []
  return { entry, tableInfo: tableInfo!, vector: ours.vectors[question]!, filters, access: 'all', limit: 10 }
}

/** The very text of the product's own, chosen as the product chooses. */
async function statementFor(filtered: boolean): Promise<string> {
  const about = await asked(0, filtered)
  const conditions = filterConditions(about, 2)!
  const strategy = await strategyFor(queries, about, conditions)
  return strategy === 'exact' ? exactStatement(about, conditions) : indexStatement(about, conditions)
}

async function timeParts(
  { deps, token, owner, source }: On100k,
  { filtered, questions: numbers }: PartsAsked,
): Promise<Parts> {
  const seen: Parts = {}
  const part = async (name: string, work: () => Promise<unknown>) => {
    const { ms } = await timed(work)
    ;(seen[name] ??= []).push(ms)
  }
  const validate = httpClient(deps.auth, { requestId: 'bench', address: 'here' })
  const way = openSource(deps, source)
  const statement = filtered ? search.filtered : search.plain
  for (const number of numbers) {
    const about = await asked(number, filtered)
    const conditions = filterConditions(about, 2)!
    const parameters = [vectorLiteral(about.vector), ...conditions.map(({ parameter }) => parameter)]
    const answer = JSON.stringify({ results: 'x'.repeat(4_000) })
    await part('authentication', () => validate(validateToken, { token, audience: 'api' }))
    await part('finding the source', () => findSource(deps.db, owner.orgId, source.id))
    await part('limit', () => countQuestion(deps, owner.orgId))
    await part('choice of the way', () => strategyFor(way, about, conditions))
    await part('search statement', () => way.query(statement, parameters))
    await part('activity', () =>
      recordingActivity(deps, owner, String(number), async (trace) =>
        Object.assign(trace, { source, answer }),
      ),
    )
    await part('bare limit', () => statements.count())
    await part('bare activity', () => statements.writeDown(String(number), answer, 10))
  }
  return seen
}
