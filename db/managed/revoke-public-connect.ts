/**
 * A login may connect to every database that PUBLIC may connect to, and that is every new one. So PUBLIC loses CONNECT
 * and TEMP on all databases of the server. Names of databases and roles stay readable: pg_database and pg_roles are
 * open to every login and Postgres offers no way to close them.
 */
import type postgres from 'postgres'
import { arrayLiteral, quoteIdentifier } from './quote-identifier.ts'
import { retryOnConflict } from './retry-on-conflict.ts'
import { LOGIN_ROLE_COMMENT } from './login-role-comment.ts'

type Open = { readonly name: string; readonly connect: boolean; readonly temporary: boolean }

/**
 * A database without an ACL has the default privileges. Databases that we may not alter are listed too: they are what
 * remains open. One that takes no connections (template0, or ours while it is being created) is not listed.
 */
const OPEN_DATABASES = `
  select d.datname as name, bool_or(a.privilege_type = 'CONNECT') as connect,
    bool_or(a.privilege_type = 'TEMPORARY') as temporary
  from pg_database d cross join aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
  where d.datallowconn and a.grantee = 0 and a.privilege_type in ('CONNECT', 'TEMPORARY')
  group by d.datname order by d.datname`

/**
 * Every other login keeps by name what it had through PUBLIC, so that nothing of the operator's breaks. Roles of managed
 * databases carry their comment from the transaction that creates them on, so none of them is ever among these.
 */
const ROLES_THAT_KEEP_THEM = `
  select r.rolname as name from pg_roles r
  where r.rolname = current_user or r.rolname = any ($1::text[])
    or (r.rolcanlogin and shobj_description(r.oid, 'pg_authid') is distinct from $2)
  order by r.rolname`

export async function revokePublicConnect(
  sql: postgres.Sql,
  keepConnect: readonly string[],
): Promise<readonly string[]> {
  for (const database of await sql.unsafe<Open[]>(OPEN_DATABASES)) {
    try {
      await retryOnConflict(() => revokeOn(sql, database, keepConnect))
    } catch (error) {
      // Dropped meanwhile, or not ours to alter: then it is still in the list that is returned.
      if (!['3D000', '42501'].includes((error as { code?: string }).code ?? '')) throw error
    }
  }
  return (await sql.unsafe<Open[]>(OPEN_DATABASES)).map(({ name }) => name)
}

/** In one transaction, so that nobody loses access between the two statements. */
async function revokeOn(sql: postgres.Sql, open: Open, keepConnect: readonly string[]): Promise<void> {
  const database = quoteIdentifier(open.name)
  const rights = [open.connect && 'connect', open.temporary && 'temporary'].filter(Boolean).join(', ')
  await sql.begin(async (tx) => {
    const keep = await tx.unsafe<{ name: string }[]>(ROLES_THAT_KEEP_THEM, [
      // As text: fetch_types is off, so the driver does not know array types.
      arrayLiteral(keepConnect),
      LOGIN_ROLE_COMMENT,
    ])
    const roles = keep.map(({ name }) => quoteIdentifier(name)).join(', ')
    await tx.unsafe(`grant ${rights} on database ${database} to ${roles}`)
    await tx.unsafe(`revoke connect, temporary on database ${database} from public`)
  })
}
