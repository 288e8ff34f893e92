/** After the rows of a file have their vectors: divides those whose text is longer than the model reads, and embeds their passages. */
import { createHash } from 'node:crypto'
import type { StoredPlan } from '../../../db/schema.ts'
import type { Queries } from '../databases/index.ts'
import { passagesComment, passagesTable } from '../search/index.ts'
import { keyOf, wholeText } from './compare-rows.ts'
import { BATCH, embedStaged } from './embed-first.ts'
import type { LoadRow } from './load-rows.ts'
import { mayBeLong } from './row-passages.ts'
import { idColumn } from './search-entry.ts'
import { literal, rowsTable, stagedPassages } from './staging.ts'
import type { StepContext } from './step.ts'

/** What is divided in one step; the row that goes beyond it is still one of them. */
const CHARACTERS_AT_ONCE = 300_000
const ROWS_AT_ONCE = 256
const PASSAGES_AT_ONCE = 500

export const rowPassagesStep = (context: StepContext, load: LoadRow): Promise<Partial<LoadRow>> =>
  context.plan.passages!.isDivided ? embedPassages(context, load) : divideRows(context, load)

type LongRow = { readonly n: string; readonly title: string | null; readonly text: string }

async function divideRows({ deps, queries, plan }: StepContext, load: LoadRow): Promise<Partial<LoadRow>> {
  const title = plan.title === null ? 'null' : `r.cells ->> ${plan.title}`
  const found = await queries.query<LongRow>(
    `select n::text as n, title, text from (
        select long.*, sum(char_length(text)) over (order by n) - char_length(text) as before from (
          select r.n, ${title} as title, ${wholeText(plan)} as text from ${rowsTable(load.id)} r
          where r.n > $1::bigint and ${mayBeLong(plan)} order by r.n limit ${ROWS_AT_ONCE}) long) counted
      where before < ${CHARACTERS_AT_ONCE} order by counted.n`,
    [String(plan.passages!.upTo)],
  )
  const last = found.at(-1)
  if (!last) return { plan: { ...plan, passages: { ...plan.passages!, isDivided: true } } }
  const rows = await divide({ deps }, load, found)
  const reused = await reusedVector(queries, plan)
  for (let at = 0; at < rows.length; at += PASSAGES_AT_ONCE) {
    await queries.query(
      `insert into ${stagedPassages(load.id)} (row_id, place, heading, passage, text_sha256, embedding)
        select ${keyOf(plan)}, (e ->> 1)::int, e ->> 2, e ->> 3, e ->> 4, ${reused}
        from jsonb_array_elements($1::text::jsonb) e join ${rowsTable(load.id)} r on r.n = (e ->> 0)::bigint
        on conflict (row_id, place) do nothing`,
      [JSON.stringify(rows.slice(at, at + PASSAGES_AT_ONCE))],
    )
  }
  return { plan: { ...plan, passages: { upTo: Number(last.n) } } }
}

type StagedPassage = readonly [n: string, place: number, heading: string, passage: string, sha256: string]

/** A text that is too much for the process costs its own passages: the row is found by its beginning. */
async function divide(
  context: Pick<StepContext, 'deps'>,
  load: LoadRow,
  rows: readonly LongRow[],
): Promise<StagedPassage[]> {
  const texts = rows.map(({ title, text }) => ({ title: title ?? '', text }))
  const read = await context.deps.divideTexts(load.orgId, texts)
  if ('problem' in read) {
    if (rows.length === 1) return []
    const each: StagedPassage[] = []
    for (const row of rows) each.push(...(await divide(context, load, [row])))
    return each
  }
  return rows.flatMap(({ n }, at) =>
    read.divided[at]!.map(({ heading, text }, place): StagedPassage => [
      n,
      place,
      heading,
      text,
      createHash('sha256').update(`${heading}\n${text}`).digest('hex'),
    ]),
  )
}

/** Of the same text, where the table has it with a vector of the same model. */
async function reusedVector(queries: Queries, plan: StoredPlan): Promise<string> {
  const table = passagesTable(plan.table)
  const [known] = await queries.query<{ comment: string | null }>(
    `select pg_catalog.obj_description(pg_catalog.to_regclass(${literal(table)}), 'pg_class') as comment`,
  )
  const { model, dimensions } = plan
  const own = passagesComment({ key: idColumn(plan), model, dimensions })
  return known?.comment === own
    ? `(select p.embedding from ${table} p where p.text_sha256 = e ->> 4 limit 1)`
    : 'null'
}

async function embedPassages(context: StepContext, load: LoadRow): Promise<Partial<LoadRow>> {
  const { queries, plan } = context
  const staged = stagedPassages(load.id)
  const found = await queries.query<{ sha256: string; text: string }>(
    `select s.text_sha256 as sha256, ltrim(s.heading || E'\\n' || s.passage, E'\\n') as text from ${staged} s
      where s.embedding is null order by s.row_id, s.place limit ${BATCH}`,
  )
  if (found.length === 0) {
    const [counted] = await queries.query<{ rows: string }>(
      `select count(distinct row_id)::text as rows from ${staged}`,
    )
    return { phase: 'indexing', plan: { ...plan, longRows: Number(counted?.rows) } }
  }
  await embedStaged(context, load, staged, found)
  return {}
}
