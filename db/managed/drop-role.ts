/** Drops the login of a database that is gone, as far as others let us. */
import type postgres from 'postgres'
import { quoteIdentifier } from './quote-identifier.ts'
import { retryOnConflict } from './retry-on-conflict.ts'

/** dependent_objects_still_exist */
const STILL_REFERENCED = '2BP01'

/**
 * Whether it is gone. A tenant can grant rights on its own schemas to any role of the server, which then cannot be
 * dropped: such a role stays, without a login, rather than a neighbor keeping the removal from ending.
 */
export async function dropRole(sql: postgres.Sql, name: string): Promise<boolean> {
  const role = quoteIdentifier(name)
  try {
    await retryOnConflict(() => sql.unsafe(`drop role if exists ${role}`))
    return true
  } catch (error) {
    if ((error as { code?: string }).code !== STILL_REFERENCED) throw error
  }
  await retryOnConflict(() => sql.unsafe(`alter role ${role} nologin password null connection limit 0`))
  return false
}
