/** One managed database on a server: a login role, and a database of the same name that it alone may connect to. */
import type postgres from 'postgres'
import { againWhenDisturbed } from './again-when-disturbed.ts'
import { ManagedServerProblem } from './managed-server-problem.ts'
import { quoteIdentifier } from './quote-identifier.ts'

/** On the role, in the transaction that makes it: what carries this is ours to alter and to drop, and nothing else. */
export const TENANT_COMMENT = 'svc: login of a managed database'

const PHYSICAL_NAME = /^[a-z][a-z0-9_]{0,62}$/
/** As Postgres writes it. Anything else would be taken for a password, and stand in the server's log. */
const VERIFIER = /^SCRAM-SHA-256\$\d{1,9}:[\w+/=]+\$[\w+/=]+:[\w+/=]+$/
/** Room for an application and for a few people; a server has 100 in all unless somebody raised it. */
const CONNECTION_LIMIT = 30

export type Admin = {
  readonly sql: postgres.Sql
  /** A connection of its own to one of the server's databases, closed afterwards. */
  readonly inDatabase: (name: string, work: (sql: postgres.Sql) => Promise<unknown>) => Promise<void>
}

type Found = {
  /** Not there, there with our mark, or somebody else's. */
  readonly role: 'none' | 'ours' | 'foreign'
  readonly database: boolean
  /** Its tenant may connect: the last step of making it. */
  readonly handedOver: boolean
  readonly superuser: boolean
}

/**
 * Safe to repeat after it was cut off anywhere. Nobody but us can connect to the database before the last step, and
 * we never do after it: then the tenant owns schema `public`, and what it puts there could act with our rights.
 */
export async function makeTenant(
  admin: Admin,
  name: string,
  verifier: string,
  { withVector }: { withVector: boolean },
): Promise<void> {
  const { sql } = admin
  const quoted = checkedName(name)
  if (!VERIFIER.test(verifier)) throw new Error('A managed database needs a SCRAM verifier')
  const found = await find(sql, name)
  refuseForeign(found)
  if (found.role === 'ours') {
    await againWhenDisturbed(() => sql.unsafe(`alter role ${quoted} login password '${verifier}'`))
    if (!found.handedOver) await makeDatabase(admin, name, found, withVector)
    return
  }
  await makeRole(sql, quoted, verifier)
  try {
    await makeDatabase(admin, name, found, withVector)
  } catch (error) {
    // A server that cannot do it keeps nothing of the attempt. What remains here is taken up by the next one.
    await removeTenant(admin, name).catch(() => {})
    throw error
  }
}

async function makeDatabase(
  { sql, inDatabase }: Admin,
  name: string,
  found: Found,
  withVector: boolean,
): Promise<void> {
  const quoted = quoteIdentifier(name)
  if (!found.superuser) await joinRole(sql, quoted)
  if (!found.database) {
    // template0, because others may be connected to template1; without connections, because PUBLIC may connect to a
    // new database until that is revoked. Owned by us: an owner could let others in, rename it and drop it.
    await againWhenDisturbed(() =>
      sql.unsafe(`create database ${quoted} template template0 encoding 'UTF8' allow_connections false`),
    )
  }
  // Several statements in one text are one transaction.
  await againWhenDisturbed(() =>
    sql.unsafe(`
      revoke all on database ${quoted} from public;
      grant create, temporary on database ${quoted} to ${quoted};
      alter database ${quoted} allow_connections true`),
  )
  await inDatabase(name, (own) => furnish(own, quoted, name, withVector))
  await againWhenDisturbed(() => sql.unsafe(`grant connect on database ${quoted} to ${quoted}`))
}

/** Safe to repeat. The database goes first: as long as it is there, its role says whose it is. */
export async function removeTenant({ sql }: Admin, name: string): Promise<void> {
  const quoted = checkedName(name)
  const found = await find(sql, name)
  refuseForeign(found)
  if (found.role === 'none') return
  // No new connections, so that those which are ended now do not come back.
  await againWhenDisturbed(() => sql.unsafe(`alter role ${quoted} nologin`))
  if (!found.superuser) await joinRole(sql, quoted)
  await againWhenDisturbed(() => sql.unsafe(`drop database if exists ${quoted} with (force)`))
  await againWhenDisturbed(() => sql.unsafe(`drop role if exists ${quoted}`))
}

function checkedName(name: string): string {
  if (!PHYSICAL_NAME.test(name)) throw new Error('Not the name of a managed database')
  return quoteIdentifier(name)
}

async function find(sql: postgres.Sql, name: string): Promise<Found> {
  const [row] = await sql.unsafe<Found[]>(
    `select
      case when r.oid is null then 'none' when shobj_description(r.oid, 'pg_authid') = $2 then 'ours'
        else 'foreign' end as role,
      d.oid is not null as database,
      exists (select from aclexplode(d.datacl) a where a.grantee = r.oid and a.privilege_type = 'CONNECT')
        as "handedOver",
      (select rolsuper from pg_roles where rolname = current_user) as superuser
    from (select $1::name as name) asked
    left join pg_roles r on r.rolname = asked.name
    left join pg_database d on d.datname = asked.name`,
    [name, TENANT_COMMENT],
  )
  if (!row) throw new Error('A select without a condition has a row')
  return row
}

/** A name such as `postgres` must never get another password, and nobody else's database may be dropped. */
function refuseForeign({ role, database }: Found): void {
  if (role === 'foreign' || (role === 'none' && database)) {
    throw new ManagedServerProblem('The server has a role or database of that name that is not ours.')
  }
}

/**
 * NOINHERIT: on Postgres 15 a role may let others join it, and one that joined another tenant must not get its right
 * to connect by that.
 */
async function makeRole(sql: postgres.Sql, quoted: string, verifier: string): Promise<void> {
  await againWhenDisturbed(() =>
    sql.begin(async (tx) => {
      await tx.unsafe(
        `create role ${quoted} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls noinherit
          connection limit ${CONNECTION_LIMIT} password '${verifier}'`,
      )
      await tx.unsafe(`comment on role ${quoted} is '${TENANT_COMMENT}'`)
    }),
  )
}

/**
 * Whoever is no superuser must be able to act as a role to give it a schema, and have its rights to end its
 * connections. From Postgres 16 on, making a role grants neither.
 */
async function joinRole(sql: postgres.Sql, quoted: string): Promise<void> {
  const [server] = await sql.unsafe<{ modern: boolean }[]>(
    `select current_setting('server_version_num')::int >= 160000 as modern`,
  )
  const how = server?.modern ? 'with inherit true, set true' : ''
  await againWhenDisturbed(() => sql.unsafe(`grant ${quoted} to current_user ${how}`))
}

/** In one transaction: a schema that belongs to the tenant is the sign that the extension was made before. */
async function furnish(sql: postgres.Sql, quoted: string, name: string, withVector: boolean): Promise<void> {
  await sql.begin(async (tx) => {
    const done = await tx.unsafe(
      `select from pg_namespace n join pg_roles r on r.oid = n.nspowner
        where n.nspname = 'public' and r.rolname = $1`,
      [name],
    )
    if (done.length > 0) return
    if (withVector) await tx.unsafe('create extension vector schema public').catch(refuseForbidden)
    await tx.unsafe(`alter schema public owner to ${quoted}`)
  })
}

/** pgvector as it is built by default wants a superuser; hosting providers let their administrators do it as well. */
function refuseForbidden(error: unknown): never {
  if ((error as { code?: string }).code !== '42501') throw error
  throw new ManagedServerProblem(
    'Our login on the server for managed databases may not install pgvector: let it be a superuser, or mark the extension as trusted there.',
    error,
  )
}
