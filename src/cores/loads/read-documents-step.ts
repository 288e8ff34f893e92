/** Reads the next files of a sync, and stages their passages. A file that cannot be read costs that file. */
import { createHash } from 'node:crypto'
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import { isAccessFile } from '../../contracts/document-formats.ts'
import { DOCUMENT_MAX_BYTES, LOAD_LEASE_SECONDS } from '../../contracts/limits.ts'
import type { Queries } from '../databases/index.ts'
import { renewLease, type ClaimedLoad } from './claim-load.ts'
import type { LoadRow } from './load-rows.ts'
import { withProblems } from './read-step.ts'
import { changeStaged, contentFrom, rowsTable, stagedTable, whileStaged } from './staging.ts'
import { LoadFailed, type Step, type StepContext } from './step.ts'

/** Looked up at once; of small ones so many take about a second. */
const FILES = 64
const STEP_MS = 1_000
/** Of one statement. */
const PASSAGES_AT_ONCE = 500

type Listed = { readonly n: string; readonly path: string; readonly sha256: string; readonly bytes: string }
type Progress = Pick<LoadRow, 'readBytes' | 'readLines' | 'rows' | 'problems' | 'problemCount'>

export const readDocumentsStep: Step = async (context, load) => {
  const { deps, queries, plan } = context
  const { sent } = plan.sync!
  if (load.readLines >= sent) {
    if (sent > 0) await removeBeyond(queries, load)
    return { phase: 'embedding', embedded: 0 }
  }
  if (load.readLines === 0) await queries.query(whileStaged(load.id, createTable(load.id, plan.dimensions)))
  const files = await queries.query<Listed>(
    `select r.n::text as n, cells ->> 'path' as path, cells ->> 'sha256' as sha256, cells ->> 'bytes' as bytes
      from ${rowsTable(load.id)} r where r.n > $1::bigint and r.n <= $2::bigint order by r.n limit ${FILES}`,
    [String(load.readLines), String(sent)],
  )
  if (files.length === 0) throw new LoadFailed('staging_lost')
  const endsAt = deps.clock().getTime() + STEP_MS
  const nextBytes = contentFrom(queries, load.id, load.readBytes)
  let now: Progress = load
  let unstaged: FileRead[] = []
  for (const file of files) {
    const read = await readFile(context, load, now, file, await nextBytes(bytesOf(file)))
    unstaged.push(read)
    now = read.progress
    if (unstaged.reduce((sum, { passages }) => sum + passages.length, 0) >= PASSAGES_AT_ONCE) {
      await stage(context, load, unstaged)
      unstaged = []
    }
    if (deps.clock().getTime() >= endsAt) break
  }
  await stage(context, load, unstaged)
  const { readBytes, readLines, rows, problems, problemCount } = now
  return { readBytes, readLines, rows, problems, problemCount }
}

/**
 * A step that was killed may have staged files without saying so, and they may have given more passages than now. Only once all
 * are read: before, another step may have staged what this one does not know of.
 */
const removeBeyond = (queries: Queries, { id, rows }: LoadRow) =>
  queries.query(`delete from ${stagedTable(id)} s where s.n > $1::bigint`, [String(rows)])

/**
 * Kept until all of them are published together; `n` is their order in the sync. Each batch of vectors looks for the texts that
 * it is of, and would read all of them without an index.
 */
const createTable = (loadId: string, dimensions: number): string =>
  `create table if not exists ${stagedTable(loadId)} (n bigint primary key, id text not null, title text not null,
    heading text not null, passage text not null, path text not null, place int not null, sha256 text not null,
    text_sha256 text not null, embedding vector(${dimensions}));
  create index if not exists ${quoteIdentifier(`${loadId}_left`)} on ${stagedTable(loadId)} (text_sha256)
    where embedding is null;`

type FileRead = {
  readonly n: string
  /** Of the file, for its row; and its passages, each a row of what is staged. */
  readonly cells: Readonly<Record<string, unknown>>
  readonly passages: readonly (readonly unknown[])[]
  /** When it is staged. */
  readonly progress: Progress
}

/** It stands where whoever has a connection string may change it, and so much memory is taken for it. */
function bytesOf({ bytes }: Listed): number {
  const size = Number(bytes)
  if (Number.isInteger(size) && size >= 0 && size <= DOCUMENT_MAX_BYTES) return size
  throw new LoadFailed('staging_lost')
}

async function readFile(
  { deps }: StepContext,
  load: LoadRow,
  before: Progress,
  { n, path, sha256, bytes }: Listed,
  content: Buffer,
): Promise<FileRead> {
  if (content.length < Number(bytes)) throw new LoadFailed('staging_lost')
  // Changed while it was sent, or sent in another order.
  if (digestOf(content) !== sha256) throw new LoadFailed('digest')
  const read =
    content.length === 0
      ? { problem: 'It is empty.' }
      : await deps.readDocument(load.orgId, { path, content })
  const title = 'problem' in read ? '' : read.title
  const times = new Map<string, number>()
  const passages = ('problem' in read ? [] : read.passages).map(({ heading, text }, at) => {
    const textSha256 = digestOf(`${heading}\n${text}`)
    // The same text may stand there twice.
    const time = times.get(textSha256) ?? 0
    times.set(textSha256, time + 1)
    const id = digestOf([path, textSha256, time].join('\0')).slice(0, 32)
    return [before.rows + at + 1, id, title, heading, text, path, at, sha256, textSha256]
  })
  const problem = 'problem' in read ? read.problem : null
  // What was to hide a folder hides it, also where it cannot be read.
  const access = 'problem' in read ? (isAccessFile(path) ? [] : null) : (read.access ?? null)
  const progress = {
    readBytes: before.readBytes + content.length,
    readLines: Number(n),
    rows: before.rows + passages.length,
    ...withProblems(before, problem === null ? [] : [`${path}: ${problem}`]),
  }
  return { n, cells: { title, problem, access, passages: passages.length }, passages, progress }
}

async function stage(
  { deps, queries }: StepContext,
  load: ClaimedLoad,
  files: readonly FileRead[],
): Promise<void> {
  const change = async (statement: string, rows: readonly unknown[]) => {
    const isChanged = await changeStaged(queries, statement, [JSON.stringify(rows)], async () => {
      if (await renewLease(deps, load)) return LOAD_LEASE_SECONDS
      throw new Error('the load was canceled, or another process has it')
    })
    if (!isChanged) throw new Error('the lease has run out')
  }
  const passages = files.flatMap((file) => file.passages)
  for (let at = 0; at < passages.length; at += PASSAGES_AT_ONCE) {
    await change(stagePassages(load.id), passages.slice(at, at + PASSAGES_AT_ONCE))
  }
  if (files.length === 0) return
  await change(
    `update ${rowsTable(load.id)} r set cells = r.cells || (e -> 1)
      from jsonb_array_elements($1::text::jsonb) e, live where r.n = (e ->> 0)::bigint`,
    files.map(({ n, cells }) => [n, cells]),
  )
}

const digestOf = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex')

const TEXTS = ['id', 'title', 'heading', 'passage', 'path', 'place', 'sha256', 'text_sha256']

/**
 * With the vector of the same text, where it is published: a small edit embeds a small part. What a killed step has staged is
 * replaced where it differs.
 */
const stagePassages = (loadId: string): string =>
  `insert into ${stagedTable(loadId)} as s
    select (e ->> 0)::bigint, e ->> 1, e ->> 2, e ->> 3, e ->> 4, e ->> 5, (e ->> 6)::int, e ->> 7, e ->> 8,
      (select p.embedding from public.passages p where p.text_sha256 = e ->> 8 limit 1)
    from jsonb_array_elements($1::text::jsonb) e, live
    on conflict (n) do update set ${TEXTS.map((name) => `${name} = excluded.${name}`).join()}, embedding = excluded.embedding
      where (${TEXTS.map((name) => `s.${name}`).join()}) is distinct from (${TEXTS.map((name) => `excluded.${name}`).join()})`
