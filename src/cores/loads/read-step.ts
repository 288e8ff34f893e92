/** Reads rows of the file into the staging table, and notes what is wrong with them. */
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StoredPlan } from '../../../db/schema.ts'
import type { Queries } from '../databases/index.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOAD_ID_CHARACTERS, LOAD_PART_BYTES, LOAD_PROBLEMS_SHOWN } from '../../contracts/limits.ts'
import { saveStep, type ClaimedLoad } from './claim-load.ts'
import { fileFormatOf, type LoadRow } from './load-rows.ts'
import type { RawRow } from './raw-row.ts'
import type { LoadDeps } from './load-deps.ts'
import { sha256Of } from './read-beginning.ts'
import { isTable, readRows } from './read-rows.ts'
import { contentTable, readContent, readWhole, rowsTable } from './staging.ts'
import { LoadFailed, type Step } from './step.ts'

/** Several times the longest row, so that each part has at least one. */
const WINDOW_BYTES = 1024 * 1024
/** Read without a pause: meanwhile this process answers nobody. */
const ROWS_AT_ONCE = 2_000
/** As long as a long statement has: 256 MiB come in it over 3 Mbit/s. */
const DIGEST_MS = 20 * 60_000
const CONVERSIONS_MAX = 2
const NOT_READ = 'The server stopped twice while it read this file. Save it as CSV.'

export const readStep: Step = async ({ deps, queries, plan }, load) => {
  if (isTable(fileFormatOf(load)) && plan.converted === undefined) return convert(deps, queries, plan, load)
  const end = load.bytes + (plan.converted ?? 0)
  if (load.readBytes >= end) {
    if ((await digestOf(queries, load, deps.clock)) !== load.sha256) throw new LoadFailed('digest')
    return { phase: 'checking' }
  }
  const staged = await readContent(queries, load.id, load.readBytes, WINDOW_BYTES)
  const content = staged.subarray(0, Math.min(WINDOW_BYTES, end - load.readBytes))
  if (content.length === 0) throw new LoadFailed('staging_lost')
  let now: Progress = load
  do {
    await nextTurn()
    const before = now.readBytes
    now = await readSome(queries, plan, load, now, content.subarray(before - load.readBytes))
    // Not a whole row any more.
    if (now.readBytes === before) break
  } while (now.readBytes < load.readBytes + content.length)
  // The window is larger than any row: somebody deleted a part behind this one.
  if (now.readBytes === load.readBytes) throw new LoadFailed('staging_lost')
  const { readBytes, readLines, rows, problems, problemCount } = now
  return { readBytes, readLines, rows, problems, problemCount }
}

/**
 * The rows of a workbook or a Parquet file as NDJSON, behind the file: from there on it is read as any other. The same file
 * gives the same rows, so that doing it again after a kill does no harm.
 */
async function convert(
  deps: LoadDeps,
  queries: Queries,
  plan: StoredPlan,
  load: ClaimedLoad,
): Promise<Partial<LoadRow>> {
  const format = fileFormatOf(load)
  const content = await readWhole(queries, load.id, 0, load.bytes)
  if (content.length < load.bytes) throw new LoadFailed('staging_lost')
  if (!isTable(format) || sha256Of(content) !== load.sha256) throw new LoadFailed('digest')
  const read = await countingBegun(deps, plan, load, () =>
    deps.readTable(load.orgId, { format, content, sheet: plan.sheet }),
  )
  if ('problem' in read) throw new LoadFailed('file', withProblems(load, [read.problem]))
  for (let at = 0; at < read.rows.length; at += LOAD_PART_BYTES) {
    await queries.query(
      `insert into ${contentTable(load.id)} as c (at, body) values ($1::bigint, decode($2, 'base64'))
        on conflict (at) do update set body = excluded.body`,
      [String(load.bytes + at), Buffer.from(read.rows.subarray(at, at + LOAD_PART_BYTES)).toString('base64')],
    )
  }
  return {
    plan: { ...plan, converted: read.rows.length, conversionsBegun: undefined },
    readBytes: load.bytes,
    readLines: 1,
    ...withProblems({ problems: [], problemCount: 0 }, read.problems, read.problemCount),
  }
}

/** Noted before it begins, and no more once it has ended in whatever way: a file that ends the process ends no third one. */
async function countingBegun<T>(
  deps: LoadDeps,
  plan: StoredPlan,
  load: ClaimedLoad,
  work: () => Promise<T>,
): Promise<T> {
  const begun = plan.conversionsBegun ?? 0
  if (begun >= CONVERSIONS_MAX) throw new LoadFailed('file', withProblems(load, [NOT_READ]))
  const noted = await saveStep(deps, load, { plan: { ...plan, conversionsBegun: begun + 1 } })
  if (!noted) throw new Error('the load was canceled, or taken over')
  try {
    return await work()
  } finally {
    await saveStep(deps, load, { plan }).catch(() => {})
  }
}

/**
 * In one go: the state of a hash cannot be stored. Of a large file it is long work (claim-load.ts). Whoever has the login may
 * have put a view in the place of the parts, which gives a byte at a time, each of them slowly: it would hold its loop, which
 * is everybody's, for years.
 */
async function digestOf(queries: Queries, { id, bytes }: LoadRow, clock: () => Date): Promise<string> {
  const endsAt = clock().getTime() + DIGEST_MS
  const hash = createHash('sha256')
  for (let at = 0; at < bytes;) {
    if (clock().getTime() > endsAt) throw new ServiceError('TIMEOUT')
    const content = await readContent(queries, id, at, WINDOW_BYTES)
    if (content.length < Math.min(WINDOW_BYTES, bytes - at)) throw new LoadFailed('staging_lost')
    hash.update(content.subarray(0, bytes - at))
    at += content.length
  }
  return hash.digest('hex')
}

type Progress = Pick<LoadRow, 'readBytes' | 'readLines' | 'rows' | 'problems' | 'problemCount'>

async function readSome(
  queries: Queries,
  plan: StoredPlan,
  load: LoadRow,
  { readBytes, readLines, rows: before, ...known }: Progress,
  content: Buffer,
): Promise<Progress> {
  const end = load.bytes + (plan.converted ?? 0)
  const part = readRows(fileFormatOf(load), content, {
    delimiter: plan.delimiter,
    encoding: plan.encoding,
    headers: plan.columns.map(({ header }) => header),
    lists: plan.columns.flatMap(({ header, isList }) => (isList ? [header] : [])),
    jsons: plan.columns.flatMap(({ header, isJson }) => (isJson ? [header] : [])),
    line: readLines,
    isLast: readBytes + content.length >= end,
    rowsMax: ROWS_AT_ONCE,
  })
  const rows = part.rows.map((row) => checkRow(row, plan))
  // Numbered with the wrong ones, so that a row has the same number when it is read again.
  const stored = rows.flatMap((row, at) => ('cells' in row ? [[before + at + 1, row.line, row.cells]] : []))
  if (stored.length > 0) {
    await queries.query(
      `insert into ${rowsTable(load.id)} (n, line, cells)
        select (e ->> 0)::bigint, (e ->> 1)::bigint, e -> 2 from jsonb_array_elements($1::text::jsonb) e
        on conflict (n) do nothing`,
      [JSON.stringify(stored)],
    )
  }
  const problems = rows.flatMap((row) => ('problem' in row ? [`line ${row.line}: ${row.problem}`] : []))
  return {
    readBytes: part.isBroken ? end : readBytes + part.consumed,
    readLines: part.line,
    rows: before + rows.length,
    ...withProblems(known, problems),
  }
}

export const withProblems = (
  { problems, problemCount }: Pick<LoadRow, 'problems' | 'problemCount'>,
  further: readonly string[],
  /** Of which `further` may be the first. */
  count = further.length,
): Pick<LoadRow, 'problems' | 'problemCount'> => ({
  problems: [...problems, ...further].slice(0, LOAD_PROBLEMS_SHOWN),
  problemCount: problemCount + count,
})

function checkRow(row: RawRow, { id, embed, columns }: StoredPlan): RawRow {
  if ('problem' in row) return row
  const { line, cells } = row
  const key = id === -1 ? undefined : cells[id]!
  if (key?.trim() === '') return { line, problem: `column ${columns[id]!.name}, the id, is empty` }
  if (key !== undefined && key.length > LOAD_ID_CHARACTERS) {
    return {
      line,
      problem: `column ${columns[id]!.name}, the id, has more than ${LOAD_ID_CHARACTERS} characters`,
    }
  }
  if (embed.length > 0 && embed.every((at) => cells[at]!.trim() === ''))
    return { line, problem: 'there is no text to embed' }
  return row
}
