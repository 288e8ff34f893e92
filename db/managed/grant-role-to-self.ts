/** Makes our login a member of a role that it created. */
import type postgres from 'postgres'
import { retryOnConflict } from './retry-on-conflict.ts'

/**
 * A login that is not a superuser must be able to SET ROLE to give a role a schema, and inherit its rights to see and
 * end its connections. From Postgres 16 on, creating a role grants neither.
 */
export async function grantRoleToSelf(sql: postgres.Sql, quoted: string): Promise<void> {
  const [server] = await sql.unsafe<{ modern: boolean }[]>(
    `select current_setting('server_version_num')::int >= 160000 as modern`,
  )
  const how = server?.modern ? 'with inherit true, set true' : ''
  await retryOnConflict(() => sql.unsafe(`grant ${quoted} to current_user ${how}`))
}
