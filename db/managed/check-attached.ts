/** Checks that a database to be attached has the required versions and is not on our own server. */
import { isPgvectorSupported, isPostgresSupported, MIN_PGVECTOR, MIN_POSTGRES } from './required-versions.ts'

type Ask = <Row extends object>(text: string) => Promise<readonly Row[]>

/** The problems, as sentences for the person who attaches it. They repeat nothing that the server sent. */
export async function checkAttached(query: Ask, ours: { systemIdentifier?: string }): Promise<string[]> {
  const [server] = await query<{ version: string; vector: string | null }>(
    `select pg_catalog.current_setting('server_version_num') as version,
      (select extversion from pg_catalog.pg_extension where extname = 'vector') as vector`,
  )
  const version = Number(server?.version)
  const vector = server?.vector ?? null
  const theirs = ours.systemIdentifier === undefined ? undefined : await systemIdentifierOf(query)
  return [
    !isPostgresSupported(version) && `The server must be Postgres ${MIN_POSTGRES} or newer.`,
    vector === null && 'The database has no pgvector: run CREATE EXTENSION vector in it first.',
    vector !== null &&
      !isPgvectorSupported(vector) &&
      `The database needs pgvector ${MIN_PGVECTOR} or newer: install it on the server, then run ALTER EXTENSION vector UPDATE.`,
    theirs !== undefined &&
      theirs === ours.systemIdentifier &&
      'This server is used by the service itself; its databases cannot be attached.',
  ].filter((sentence) => sentence !== false)
}

/** Set by initdb and shared by physical replicas. Undefined where we may not read it. */
export async function systemIdentifierOf(query: Ask): Promise<string | undefined> {
  try {
    const [row] = await query<{ id: string }>(
      'select system_identifier::pg_catalog.text as id from pg_catalog.pg_control_system()',
    )
    return row?.id
  } catch (error) {
    // No permission, or no such function. Other errors say nothing about it.
    if (['42501', '42883'].includes((error as { code?: string }).code ?? '')) return undefined
    throw error
  }
}
