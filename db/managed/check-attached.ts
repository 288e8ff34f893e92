/** Asks a database that somebody wants to attach whether it can be asked questions, and whether it is our own. */
import {
  isPgvectorNewEnough,
  isPostgresNewEnough,
  OLDEST_PGVECTOR,
  OLDEST_POSTGRES,
} from './needed-versions.ts'

type Ask = <Row extends object>(text: string) => Promise<readonly Row[]>

/** Sentences for the person who attaches it; none when it is fit. They repeat nothing that the server said. */
export async function checkAttached(query: Ask, ours: { systemIdentifier?: string }): Promise<string[]> {
  const [server] = await query<{ version: string; vector: string | null }>(
    `select pg_catalog.current_setting('server_version_num') as version,
      (select extversion from pg_catalog.pg_extension where extname = 'vector') as vector`,
  )
  const version = Number(server?.version)
  const vector = server?.vector ?? null
  const theirs = ours.systemIdentifier === undefined ? undefined : await systemIdentifierOf(query)
  return [
    !isPostgresNewEnough(version) && `The server must be Postgres ${OLDEST_POSTGRES} or newer.`,
    vector === null && 'The database has no pgvector: run CREATE EXTENSION vector in it first.',
    vector !== null &&
      !isPgvectorNewEnough(vector) &&
      `The database needs pgvector ${OLDEST_PGVECTOR} or newer: install it on the server, then run ALTER EXTENSION vector UPDATE.`,
    theirs !== undefined &&
      theirs === ours.systemIdentifier &&
      'This is the server that the service itself uses; its databases cannot be attached.',
  ].filter((sentence) => sentence !== false)
}

/** Given to a server when it is made and shared by its copies. Undefined where we may not read it. */
export async function systemIdentifierOf(query: Ask): Promise<string | undefined> {
  try {
    const [row] = await query<{ id: string }>(
      'select system_identifier::pg_catalog.text as id from pg_catalog.pg_control_system()',
    )
    return row?.id
  } catch (error) {
    // Forbidden, or an engine without such a function. Anything else is not an answer to the question.
    if (['42501', '42883'].includes((error as { code?: string }).code ?? '')) return undefined
    throw error
  }
}
