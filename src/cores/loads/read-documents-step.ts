/** Reads the next files of a sync, and stages their passages. A file that cannot be read costs that file. */
import { createHash } from 'node:crypto'
import { isAccessFile } from '../../contracts/document-formats.ts'
import type { LoadRow } from './load-rows.ts'
import { withProblems } from './read-step.ts'
import { readWhole, rowsTable, stagedTable, whileStaged } from './staging.ts'
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
  if (load.readLines >= sent) return { phase: 'embedding', embedded: 0 }
  if (load.readLines === 0) await queries.query(whileStaged(load.id, createTable(load.id, plan.dimensions)))
  const files = await queries.query<Listed>(
    `select r.n::text as n, cells ->> 'path' as path, cells ->> 'sha256' as sha256, cells ->> 'bytes' as bytes
      from ${rowsTable(load.id)} r where r.n > $1::bigint and r.n <= $2::bigint order by r.n limit ${FILES}`,
    [String(load.readLines), String(sent)],
  )
  if (files.length === 0) throw new LoadFailed('staging_lost')
  const endsAt = deps.clock().getTime() + STEP_MS
  let now: Progress = load
  for (const file of files) {
    now = await readFile(context, load, now, file)
    if (deps.clock().getTime() >= endsAt) break
  }
  const { readBytes, readLines, rows, problems, problemCount } = now
  return { readBytes, readLines, rows, problems, problemCount }
}

/** Kept until all of them are published together; `n` is their order in the sync. */
const createTable = (loadId: string, dimensions: number): string =>
  `create table if not exists ${stagedTable(loadId)} (n bigint primary key, id text not null, title text not null,
    heading text not null, passage text not null, path text not null, place int not null, sha256 text not null,
    text_sha256 text not null, embedding vector(${dimensions}));`

async function readFile(
  { deps, queries }: StepContext,
  load: LoadRow,
  before: Progress,
  { n, path, sha256, bytes }: Listed,
): Promise<Progress> {
  const content = await readWhole(queries, load.id, before.readBytes, Number(bytes))
  if (content.length < Number(bytes)) throw new LoadFailed('staging_lost')
  // Changed while it was sent, or sent in another order.
  if (digestOf(content) !== sha256) throw new LoadFailed('digest')
  const read =
    content.length === 0
      ? { problem: 'It is empty.' }
      : await deps.readDocument(load.orgId, { path, content })
  const passages = 'problem' in read ? [] : read.passages
  const title = 'problem' in read ? '' : read.title
  const times = new Map<string, number>()
  const rows = passages.map(({ heading, text }, at) => {
    const textSha256 = digestOf(`${heading}\n${text}`)
    // The same text may stand there twice.
    const time = times.get(textSha256) ?? 0
    times.set(textSha256, time + 1)
    const id = digestOf([path, textSha256, time].join('\0')).slice(0, 32)
    return [before.rows + at + 1, id, title, heading, text, path, at, sha256, textSha256]
  })
  for (let at = 0; at < rows.length; at += PASSAGES_AT_ONCE) {
    await queries.query(stagePassages(load.id), [JSON.stringify(rows.slice(at, at + PASSAGES_AT_ONCE))])
  }
  const problem = 'problem' in read ? read.problem : null
  // What was to hide a folder hides it, also where it cannot be read.
  const access = 'problem' in read ? (isAccessFile(path) ? [] : null) : (read.access ?? null)
  await queries.query(
    `update ${rowsTable(load.id)} set cells = cells || $2::text::jsonb where n = $1::bigint`,
    [n, JSON.stringify({ title, problem, access, passages: rows.length })],
  )
  return {
    readBytes: before.readBytes + content.length,
    readLines: Number(n),
    rows: before.rows + rows.length,
    ...withProblems(before, problem === null ? [] : [`${path}: ${problem}`]),
  }
}

const digestOf = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex')

/** With the vector of the same text, where it is published: a small edit embeds a small part. */
const stagePassages = (loadId: string): string =>
  `insert into ${stagedTable(loadId)}
    select (e ->> 0)::bigint, e ->> 1, e ->> 2, e ->> 3, e ->> 4, e ->> 5, (e ->> 6)::int, e ->> 7, e ->> 8,
      (select p.embedding from public.passages p where p.text_sha256 = e ->> 8 limit 1)
    from jsonb_array_elements($1::text::jsonb) e
    on conflict (n) do nothing`
