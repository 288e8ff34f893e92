/**
 * What a load stages, all of it in a schema of its own in the managed database: the parts of its file, its rows as they were
 * read, and the table that they become. Nobody searches that schema. Every statement may be repeated after a kill.
 */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { Queries } from '../databases/index.ts'

const SCHEMA = 'svc_loads'
export const CONTENT = `${SCHEMA}.content`
/** Loads whose table is in its place. */
export const FINISHED = `${SCHEMA}.finished`

export const rowsTable = (loadId: string): string => `${SCHEMA}.${quoteIdentifier(`${loadId}_rows`)}`
export const stagedTable = (loadId: string): string => `${SCHEMA}.${quoteIdentifier(loadId)}`
/** Where it ends up. */
export const finalTable = (table: string): string => `public.${quoteIdentifier(table)}`

/** Ids are letters and digits of ours. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/**
 * Of two processes that come to the same statement of a load, one waits for the other: a server goes on with a statement
 * after whoever sent it was killed. Names come from `columnNames`, and have nothing in them that could end the quote.
 */
export const oneAtATime = (loadId: string, statements: string): string => `do $svc$ begin
    perform pg_advisory_xact_lock(hashtextextended(${literal(`svc load ${loadId}`)}, 0));
    ${statements}
  end $svc$`

const SETUP = [
  `create schema if not exists ${SCHEMA}`,
  `create table if not exists ${CONTENT} (load_id text, at bigint, body bytea not null, primary key (load_id, at))`,
  `create table if not exists ${FINISHED} (load_id text primary key)`,
]

/** Made by another process at the same moment: unique_violation of a catalog, duplicate_schema, duplicate_table. */
const MADE_MEANWHILE = new Set(['23505', '42P06', '42P07'])

export async function createStaging(queries: Queries, loadId: string): Promise<void> {
  const rows = `create table if not exists ${rowsTable(loadId)} (n bigint primary key, line bigint not null, cells jsonb not null)`
  for (const statement of [...SETUP, rows]) {
    await queries.query(statement).catch((error: unknown) => {
      if (!MADE_MEANWHILE.has((error as { code?: string }).code ?? '')) throw error
    })
  }
}

export async function storePart(
  queries: Queries,
  loadId: string,
  offset: number,
  body: Uint8Array,
): Promise<void> {
  await queries.query(
    `insert into ${CONTENT} values ($1, $2::bigint, decode($3, 'base64'))
      on conflict (load_id, at) do update set body = excluded.body`,
    [loadId, String(offset), Buffer.from(body).toString('base64')],
  )
}

/** From `offset` on, about as many bytes; empty where nothing is staged. */
export async function readContent(
  queries: Queries,
  loadId: string,
  offset: number,
  bytes: number,
): Promise<Buffer> {
  const parts = await queries.query<{ at: string; body: string }>(
    `select c.at::text as at, encode(c.body, 'base64') as body from ${CONTENT} c
      where c.load_id = $1 and c.at < $2::bigint + $3::bigint and c.at + octet_length(c.body) > $2::bigint
      order by c.at`,
    [loadId, String(offset), String(bytes)],
  )
  const chunks: Buffer[] = []
  let at = offset
  for (const part of parts) {
    const body = Buffer.from(part.body, 'base64')
    const skipped = at - Number(part.at)
    // A gap: somebody deleted a part.
    if (skipped < 0 || skipped > body.length) break
    chunks.push(body.subarray(skipped))
    at += body.length - skipped
  }
  return Buffer.concat(chunks)
}

/** Everything of this load; safe to repeat, and where nothing was staged. */
export async function removeStaging(queries: Queries, loadId: string): Promise<void> {
  await queries.query(
    oneAtATime(
      loadId,
      `if to_regnamespace('${SCHEMA}') is not null then
      drop table if exists ${stagedTable(loadId)}, ${rowsTable(loadId)};
      if to_regclass('${CONTENT}') is not null then delete from ${CONTENT} where load_id = ${literal(loadId)}; end if;
      if to_regclass('${FINISHED}') is not null then delete from ${FINISHED} where load_id = ${literal(loadId)}; end if;
    end if;`,
    ),
  )
}
