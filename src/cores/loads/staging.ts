/**
 * What a load stages, all of it in a schema of its own in the managed database: the parts of its file, its rows as they were
 * read, and the table that they become. Each load has tables of its own, so that they can be dropped, which runs nothing
 * that a tenant has put there. Every statement may be repeated after a kill.
 */
import {
  dropStagedTable,
  oneAtATime,
  STAGING_SCHEMA,
  stagingName,
} from '../../../db/managed/drop-staged-table.ts'
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import { LOAD_PART_BYTES } from '../../contracts/limits.ts'
import type { Queries } from '../databases/index.ts'

export { oneAtATime }

const contentName = (loadId: string): string => `${loadId}_content`
const rowsName = (loadId: string): string => `${loadId}_rows`
const finishedName = (loadId: string): string => `${loadId}_finished`
const beforeName = (loadId: string): string => `${loadId}_before`
const keysName = (loadId: string): string => `${loadId}_keys`
const passagesName = (loadId: string): string => `${loadId}_passages`
export const passagesBeforeName = (loadId: string): string => `${loadId}_passages_before`
const undoneName = (loadId: string): string => `${loadId}_undone`

export const contentTable = (loadId: string): string => stagingName(contentName(loadId))
export const rowsTable = (loadId: string): string => stagingName(rowsName(loadId))
export const stagedTable = (loadId: string): string => stagingName(loadId)
/** Without columns: it is there once the table is in its place, and known without being read. */
export const finishedTable = (loadId: string): string => stagingName(finishedName(loadId))
/** What a load has replaced: a table, or the rows of these keys as they were. */
export const beforeTable = (loadId: string): string => stagingName(beforeName(loadId))
export const keysTable = (loadId: string): string => stagingName(keysName(loadId))
/** Of the rows whose text is longer than the model reads, and those that a load has replaced. */
export const stagedPassages = (loadId: string): string => stagingName(passagesName(loadId))
export const passagesBefore = (loadId: string): string => stagingName(passagesBeforeName(loadId))
/** Without columns: it is there while the version before is back. */
export const undoneTable = (loadId: string): string => stagingName(undoneName(loadId))
/** Nobody else changes its rows until the end of the statement. */
export const lockTable = (table: string): string =>
  `lock table ${finalTable(table)} in share row exclusive mode;`

/** When a load has finished, and into which table: the mark says it, so that another statement knows who was last. */
export const markFinished = (loadId: string, table: string): string =>
  `create table ${finishedTable(loadId)} ();
  execute pg_catalog.format('comment on table ${finishedTable(loadId)} is %L', ${EPOCH}::pg_catalog.text || ' ' || ${literal(table)});`

/** Of the same table, and later. One without such a mark is of an earlier version of ours. */
export const hasLaterLoad = (loadId: string, table: string): string => {
  const mark = `pg_catalog.obj_description(c.oid, 'pg_class')`
  const finishedAt = `pg_catalog.substring(${mark}, '^[0-9]+[.]?[0-9]*')::pg_catalog.float8`
  const marks = `from pg_catalog.pg_class c where c.relnamespace = ${literal(STAGING_SCHEMA)}::pg_catalog.regnamespace`
  return `exists (select ${marks} and c.relname like ${literal('lod\\_%\\_finished')}
    and pg_catalog.split_part(${mark}, ' ', 2) = ${literal(table)}
    and ${finishedAt} > (select ${finishedAt} ${marks} and c.relname = ${literal(finishedName(loadId))}))`
}

/** Where it ends up. */
export const finalTable = (table: string): string => `public.${quoteIdentifier(table)}`

/** Ids are letters and digits of ours. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Made by another process at the same moment: unique_violation of a catalog, duplicate_schema, duplicate_table. */
const MADE_MEANWHILE = new Set(['23505', '42P06', '42P07'])
/** In the class of conditions that nobody else uses, as in finish-step.ts. */
const LEASE_OVER = 'SVC02'

const EPOCH = "pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())"

/** By the clock of the database, asked before the rest: then it ends no later than the lease, however long either takes. */
async function endOfLease(queries: Queries, secondsLeft: () => Promise<number>): Promise<number> {
  const [clock] = await queries.query<{ now: string }>(`select ${EPOCH}::text as now`)
  return Number(clock!.now) + (await secondsLeft())
}

/**
 * Within the lease of whoever does it, of which `secondsLeft` tells the rest: afterwards the load may be cleaned up, and
 * nobody would know of what is made then. The database itself looks at its clock, once the others of this load are done: a
 * process may be slow, or killed, after it has sent the statement.
 */
export async function createStaging(
  queries: Queries,
  loadId: string,
  secondsLeft: () => Promise<number>,
): Promise<void> {
  const end = await endOfLease(queries, secondsLeft)
  const createTable = (name: string, columns: string) =>
    oneAtATime(
      loadId,
      `if ${EPOCH} >= ${end} then raise exception 'the lease has run out' using errcode = '${LEASE_OVER}'; end if;
      create table if not exists ${name} (${columns});`,
    )
  for (const statement of [
    `create schema if not exists ${STAGING_SCHEMA}`,
    createTable(contentTable(loadId), 'at bigint primary key, body bytea not null'),
    createTable(rowsTable(loadId), 'n bigint primary key, line bigint not null, cells jsonb not null'),
  ]) {
    await queries.query(statement).catch((error: unknown) => {
      if (!MADE_MEANWHILE.has((error as { code?: string }).code ?? '')) throw error
    })
  }
}

/** For statements that make something more of the load: nothing, once it was cleaned up. */
export const whileStaged = (loadId: string, statements: string): string =>
  oneAtATime(
    loadId,
    `if pg_catalog.to_regclass(${literal(rowsTable(loadId))}) is null then
      raise exception 'nothing is staged any more' using errcode = 'undefined_table'; end if;
    ${statements}`,
  )

/** False: the lease has run out, and another attempt may have written there. */
export async function storePart(
  queries: Queries,
  loadId: string,
  offset: number,
  body: Uint8Array,
  secondsLeft: () => Promise<number>,
): Promise<boolean> {
  const end = await endOfLease(queries, secondsLeft)
  const stored = await queries.query<{ at: string }>(
    `insert into ${contentTable(loadId)} as c select $1::bigint, decode($2, 'base64') where ${EPOCH} < ${end}
      on conflict (at) do update set body = excluded.body returning c.at::text as at`,
    [String(offset), Buffer.from(body).toString('base64')],
  )
  return stored.length > 0
}

/**
 * By a statement that takes its rows from `live` as well, which has none once the lease has run out. False: it has, and another
 * step may have staged something else there.
 */
export async function changeStaged(
  queries: Queries,
  statement: string,
  parameters: readonly string[],
  secondsLeft: () => Promise<number>,
): Promise<boolean> {
  const end = await endOfLease(queries, secondsLeft)
  const live = await queries.query(
    `with live as materialized (select true as it where ${EPOCH} < ${end}), changed as (${statement}) select it from live`,
    parameters,
  )
  return live.length > 0
}

/**
 * From `offset` on as many bytes, or up to the end of a part that goes on behind them; fewer only at the end of what is staged
 * without a gap. No part is longer than LOAD_PART_BYTES, so the index finds the first: a file may have hundreds of thousands of
 * parts, and each window would look at all that are before it.
 */
export async function readContent(
  queries: Queries,
  loadId: string,
  offset: number,
  bytes: number,
): Promise<Buffer> {
  const parts = await queries.query<{ at: string; body: string }>(
    `select c.at::text as at, encode(c.body, 'base64') as body from ${contentTable(loadId)} c
      where c.at > $1::bigint - ${LOAD_PART_BYTES} and c.at < $1::bigint + $2::bigint
        and c.at + octet_length(c.body) > $1::bigint
      order by c.at`,
    [String(offset), String(bytes)],
  )
  const chunks: Buffer[] = []
  let at = offset
  for (const part of parts) {
    const body = Buffer.from(part.body, 'base64')
    const skipped = at - Number(part.at)
    // A gap: somebody deleted a part.
    if (skipped < 0) break
    // Within a longer one before it, of an attempt that was taken for dead.
    if (skipped > body.length) continue
    chunks.push(body.subarray(skipped))
    at += body.length - skipped
  }
  return Buffer.concat(chunks)
}

const WINDOW_BYTES = 4 * 1024 * 1024

/**
 * The next so many bytes, each time from where the last ones ended; fewer where parts are missing. What a part has beyond them is
 * kept for the next time: a thousand small files may be in one part, which is read once for all of them.
 */
export function contentFrom(
  queries: Queries,
  loadId: string,
  offset: number,
): (bytes: number) => Promise<Buffer> {
  let at = offset
  let held: Buffer = Buffer.alloc(0)
  return async (bytes) => {
    // A file may be large: its bytes are in memory once, beside one window.
    const content = Buffer.allocUnsafeSlow(bytes)
    let length = held.copy(content)
    held = held.subarray(length)
    while (length < bytes) {
      const wanted = Math.min(WINDOW_BYTES, bytes - length)
      const part = await readContent(queries, loadId, at + length, wanted)
      const taken = part.copy(content, length)
      held = part.subarray(taken)
      length += taken
      // A database that gives a byte at a time is not asked for each.
      if (part.length < wanted) break
    }
    at += length
    return content.subarray(0, length)
  }
}

/** So many bytes from `offset` on; fewer where parts are missing. */
export const readWhole = (queries: Queries, loadId: string, offset: number, bytes: number): Promise<Buffer> =>
  contentFrom(queries, loadId, offset)(bytes)

/** Known once nobody is about to do it: not a process that was killed, whose statement still runs. */
export async function isFinished(queries: Queries, loadId: string): Promise<boolean> {
  await queries.query(oneAtATime(loadId, ''))
  const [found] = await queries.query<{ mark: string | null }>(
    `select pg_catalog.to_regclass(${literal(finishedTable(loadId))})::pg_catalog.text as mark`,
  )
  return typeof found?.mark === 'string'
}

/**
 * wrong_object_type: somebody has made a view of that name. dependent_objects_still_exist: or a part of an extension. Then
 * nothing of ours is left there, and it stays.
 */
const NOT_OURS = new Set(['42809', '2BP01'])

/** Everything of this load; safe to repeat, and where nothing was staged. Its rows first: `whileStaged` looks for them. */
export async function removeStaging(queries: Queries, loadId: string): Promise<void> {
  const before = [beforeName(loadId), keysName(loadId), undoneName(loadId), passagesBeforeName(loadId)]
  const staged = [rowsName(loadId), loadId, contentName(loadId), passagesName(loadId), finishedName(loadId)]
  for (const name of [...staged, ...before]) {
    await queries.query(dropStagedTable(loadId, name)).catch((error: unknown) => {
      if (!NOT_OURS.has((error as { code?: string }).code ?? '')) throw error
    })
  }
}

/** Whether a load has left what it replaced. */
export async function hasBefore(queries: Queries, loadId: string): Promise<boolean> {
  const [found] = await queries.query<{ name: string | null }>(
    `select pg_catalog.to_regclass(${literal(beforeTable(loadId))})::pg_catalog.text as name`,
  )
  return typeof found?.name === 'string'
}
