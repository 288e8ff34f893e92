/**
 * A login may connect to every database that PUBLIC may connect to, and that is every new one. So PUBLIC loses CONNECT
 * and TEMP on all databases of the server. Names of databases and roles stay readable: pg_database and pg_roles are
 * open to every login and Postgres offers no way to close them.
 */
import type postgres from 'postgres'
import { quoteIdentifier } from './quote-identifier.ts'
import { againWhenDisturbed } from './again-when-disturbed.ts'
import { TENANT_COMMENT } from './tenant.ts'

type Open = { readonly name: string; readonly connect: boolean; readonly temporary: boolean }

/**
 * With the implied rights of a database that nobody ever granted anything on. Those we may not alter come along too:
 * they are what cannot be closed. One that takes no connections (template0, or ours while it is being made) is closed.
 */
const OPEN_DATABASES = `
  select d.datname as name, bool_or(a.privilege_type = 'CONNECT') as connect,
    bool_or(a.privilege_type = 'TEMPORARY') as temporary
  from pg_database d cross join aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
  where d.datallowconn and a.grantee = 0 and a.privilege_type in ('CONNECT', 'TEMPORARY')
  group by d.datname order by d.datname`

/**
 * Who had the rights of PUBLIC and is no tenant gets them by name, so that nothing of the operator's breaks. Tenants
 * are marked in the transaction that makes them: none is ever taken for somebody else.
 */
const WHO_KEEPS_THEM = `
  select r.rolname as name from pg_roles r
  where r.rolname = current_user or r.rolname = any ($1::text[])
    or (r.rolcanlogin and shobj_description(r.oid, 'pg_authid') is distinct from $2)
  order by r.rolname`

export async function closeToStrangers(
  sql: postgres.Sql,
  alsoKeep: readonly string[],
): Promise<readonly string[]> {
  for (const database of await sql.unsafe<Open[]>(OPEN_DATABASES)) {
    try {
      await againWhenDisturbed(() => closeOne(sql, database, alsoKeep))
    } catch (error) {
      // Dropped meanwhile, or not ours to alter: then it is still in the list below.
      if (!['3D000', '42501'].includes((error as { code?: string }).code ?? '')) throw error
    }
  }
  return (await sql.unsafe<Open[]>(OPEN_DATABASES)).map(({ name }) => name)
}

/** In one transaction: nobody is locked out between the two statements. */
async function closeOne(sql: postgres.Sql, open: Open, alsoKeep: readonly string[]): Promise<void> {
  const database = quoteIdentifier(open.name)
  const rights = [open.connect && 'connect', open.temporary && 'temporary'].filter(Boolean).join(', ')
  await sql.begin(async (tx) => {
    const keep = await tx.unsafe<{ name: string }[]>(WHO_KEEPS_THEM, [arrayText(alsoKeep), TENANT_COMMENT])
    const roles = keep.map(({ name }) => quoteIdentifier(name)).join(', ')
    await tx.unsafe(`grant ${rights} on database ${database} to ${roles}`)
    await tx.unsafe(`revoke connect, temporary on database ${database} from public`)
  })
}

/** The driver was not asked to learn the types of arrays. */
const arrayText = (names: readonly string[]): string =>
  `{${names.map((name) => `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(',')}}`
