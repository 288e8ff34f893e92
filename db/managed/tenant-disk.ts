/** How much disk managed databases take on a server, and whether their logins may connect. */
import type postgres from 'postgres'
import { arrayLiteral, quoteIdentifier } from './quote-identifier.ts'
import { endAllSessions, ifPossible } from './tenant-sessions.ts'

/** In bytes. One that is gone has none. */
export async function readDatabaseSizes(
  sql: postgres.Sql,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql.unsafe<{ name: string; bytes: number }[]>(
    `select datname as name, pg_database_size(oid)::float8 as bytes from pg_database where datname = any ($1::text[])`,
    [arrayLiteral(names)],
  )
  return new Map(rows.map(({ name, bytes }) => [name, bytes]))
}

export type ConnectRights = { readonly allowed: readonly string[]; readonly refused: readonly string[] }

/** Alters only what is otherwise; safe to repeat. Our own logins keep the right to connect, and their sessions. */
export async function setConnectRights(
  sql: postgres.Sql,
  { allowed, refused }: ConnectRights,
): Promise<void> {
  const rows = await sql.unsafe<{ name: string; granted: boolean }[]>(
    `select d.datname as name, exists (
        select from aclexplode(d.datacl) a join pg_roles r on r.oid = a.grantee
        where r.rolname = d.datname and a.privilege_type = 'CONNECT') as granted
      from pg_database d where d.datname = any ($1::text[])`,
    [arrayLiteral([...allowed, ...refused])],
  )
  for (const { name, granted } of rows) {
    const database = quoteIdentifier(name)
    if (granted && refused.includes(name)) {
      await ifPossible(() => sql.unsafe(`revoke connect on database ${database} from ${database}`))
    }
    if (!granted && allowed.includes(name)) {
      await ifPossible(() => sql.unsafe(`grant connect on database ${database} to ${database}`))
    }
  }
  // Each time: one that was just connecting when the right was revoked shows up later.
  if (refused.length > 0) await endAllSessions(sql, refused)
}
