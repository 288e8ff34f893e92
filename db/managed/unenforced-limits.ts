/** Which limits our login on the server may not enforce: some need a superuser, or a right that one has to grant. */
import type postgres from 'postgres'
import type { TenantLimit } from '../../src/contracts/tenant-limits.ts'
import { arrayLiteral } from './quote-identifier.ts'

type Rights = {
  /** Of pg_stat_activity, for every one of the logins. */
  readonly seesSessions: boolean
  readonly endsSessions: boolean
  readonly limitsFiles: boolean
  readonly ownsDatabases: boolean
}

export async function unenforcedLimits(
  sql: postgres.Sql,
  names: readonly string[],
): Promise<readonly TenantLimit[]> {
  const [rights] = await sql.unsafe<Rights[]>(
    `select
      pg_has_role('pg_read_all_stats', 'usage') or t.member as "seesSessions",
      pg_has_role('pg_signal_backend', 'usage') or t.member as "endsSessions",
      has_parameter_privilege('temp_file_limit', 'SET') as "limitsFiles",
      (select coalesce(bool_and(pg_has_role(datdba, 'usage')), true) from pg_database
        where datname = any ($1::text[])) as "ownsDatabases"
    from (select coalesce(bool_and(pg_has_role(oid, 'usage')), true) as member from pg_roles
      where rolname = any ($1::text[])) t`,
    [arrayLiteral(names)],
  )
  if (!rights) throw new Error('The server returned no row')
  const watches = rights.seesSessions && rights.endsSessions
  return [
    ...(watches ? [] : (['statement', 'idle_transaction', 'connections'] as const)),
    // Watching is not enough: pg_ls_tmpdir() does not list what a parallel hash join writes into folders of its own.
    ...(rights.limitsFiles ? [] : (['temporary_files'] as const)),
    ...(rights.ownsDatabases && rights.endsSessions ? [] : (['disk'] as const)),
  ]
}
