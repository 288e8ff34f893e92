/** One managed database on a server: a login role, and a database of the same name to which it alone may connect. */
import type postgres from 'postgres'
import { retryOnConflict } from './retry-on-conflict.ts'
import { ManagedServerError } from './managed-server-error.ts'
import { grantRoleToSelf } from './grant-role-to-self.ts'
import { LOGIN_ROLE_COMMENT } from './login-role-comment.ts'
import { dropRole } from './drop-role.ts'
import { dropQuestionRole, questionRoleOf } from './question-role.ts'
import { quoteIdentifier } from './quote-identifier.ts'

const PHYSICAL_NAME = /^[a-z][a-z0-9_]{0,62}$/
/** As Postgres writes it. Anything else would be taken for a password, and stand in the server's log. */
const VERIFIER = /^SCRAM-SHA-256\$\d{1,9}:[\w+/=]+\$[\w+/=]+:[\w+/=]+$/
/** Enough for an application and a few people; a server has 100 in all by default (max_connections). */
const CONNECTION_LIMIT = 30

export type Admin = {
  readonly sql: postgres.Sql
  /** A connection of its own to one of the server's databases, closed afterwards. */
  readonly inDatabase: (name: string, work: (sql: postgres.Sql) => Promise<unknown>) => Promise<void>
}

type Existing = {
  /** Missing, carrying our comment, or somebody else's. */
  readonly role: 'none' | 'ours' | 'foreign'
  readonly database: boolean
  /** Its role may connect: the last step of creating it. */
  readonly connectGranted: boolean
  readonly superuser: boolean
}

/**
 * Safe to repeat after a kill at any step. What a failed attempt leaves drops whoever called, who knows whether another one goes
 * on with it. Nobody but us can connect to the database before the last step, and we never do after it: then its role owns
 * schema `public`, and what it puts there could run with our rights.
 */
export async function createManagedDatabase(
  admin: Admin,
  name: string,
  verifier: string,
  { withVector }: { withVector: boolean },
): Promise<void> {
  const { sql } = admin
  const quoted = checkedName(name)
  if (!VERIFIER.test(verifier)) throw new Error('A managed database needs a SCRAM verifier')
  const existing = await findExisting(sql, name)
  refuseForeign(existing)
  if (existing.role === 'ours') {
    await retryOnConflict(() => sql.unsafe(`alter role ${quoted} login password '${verifier}'`))
    if (!existing.connectGranted) await createDatabase(admin, name, existing, withVector)
    return
  }
  await createRole(sql, quoted, verifier)
  await createDatabase(admin, name, existing, withVector)
}

async function createDatabase(
  { sql, inDatabase }: Admin,
  name: string,
  existing: Existing,
  withVector: boolean,
): Promise<void> {
  const quoted = quoteIdentifier(name)
  if (!existing.superuser) await grantRoleToSelf(sql, quoted)
  if (!existing.database) {
    // template0, because others may be connected to template1; without connections, because PUBLIC may connect to a
    // new database until that is revoked. Owned by us: an owner could grant CONNECT to others, rename it and drop it.
    await retryOnConflict(() =>
      sql.unsafe(`create database ${quoted} template template0 encoding 'UTF8' allow_connections false`),
    )
  }
  // Several statements in one text are one transaction.
  await retryOnConflict(() =>
    sql.unsafe(`
      revoke all on database ${quoted} from public;
      grant create, temporary on database ${quoted} to ${quoted};
      alter database ${quoted} allow_connections true`),
  )
  await inDatabase(name, (own) => prepareDatabase(own, quoted, name, withVector))
  await retryOnConflict(() => sql.unsafe(`grant connect on database ${quoted} to ${quoted}`))
}

/**
 * Safe to repeat. The database is dropped first: while it exists, the comment on its role marks it as ours. Returns the
 * roles that had to stay, without a login (drop-role.ts).
 */
export async function dropManagedDatabase({ sql }: Admin, name: string): Promise<readonly string[]> {
  const quoted = checkedName(name)
  const existing = await findExisting(sql, name)
  refuseForeign(existing)
  if (existing.role === 'none') return []
  // No new connections, so that those which WITH (FORCE) ends do not come back.
  await retryOnConflict(() => sql.unsafe(`alter role ${quoted} nologin`))
  if (!existing.superuser) await grantRoleToSelf(sql, quoted)
  await retryOnConflict(() => sql.unsafe(`drop database if exists ${quoted} with (force)`))
  const kept = (await dropQuestionRole(sql, name)) ? [] : [questionRoleOf(name)]
  return (await dropRole(sql, name)) ? kept : [...kept, name]
}

function checkedName(name: string): string {
  if (!PHYSICAL_NAME.test(name)) throw new Error('Not the name of a managed database')
  return quoteIdentifier(name)
}

async function findExisting(sql: postgres.Sql, name: string): Promise<Existing> {
  const [row] = await sql.unsafe<Existing[]>(
    `select
      case when r.oid is null then 'none' when shobj_description(r.oid, 'pg_authid') = $2 then 'ours'
        else 'foreign' end as role,
      d.oid is not null as database,
      exists (select from aclexplode(d.datacl) a where a.grantee = r.oid and a.privilege_type = 'CONNECT')
        as "connectGranted",
      (select rolsuper from pg_roles where rolname = current_user) as superuser
    from (select $1::name as name) asked
    left join pg_roles r on r.rolname = asked.name
    left join pg_database d on d.datname = asked.name`,
    [name, LOGIN_ROLE_COMMENT],
  )
  if (!row) throw new Error('The server returned no row')
  return row
}

/** A name such as `postgres` must never get another password, and nobody else's database may be dropped. */
function refuseForeign({ role, database }: Existing): void {
  if (role === 'foreign' || (role === 'none' && database)) {
    throw new ManagedServerError(
      'The server already has a role or database of that name that svc did not create.',
    )
  }
}

/**
 * NOINHERIT: on Postgres 15 a role may grant itself to others, and the role of one managed database must not get the
 * right to connect to another that way.
 */
async function createRole(sql: postgres.Sql, quoted: string, verifier: string): Promise<void> {
  await retryOnConflict(() =>
    sql.begin(async (tx) => {
      await tx.unsafe(
        `create role ${quoted} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls noinherit
          connection limit ${CONNECTION_LIMIT} password '${verifier}'`,
      )
      await tx.unsafe(`comment on role ${quoted} is '${LOGIN_ROLE_COMMENT}'`)
    }),
  )
}

/** In one transaction: a schema `public` that belongs to the role shows that the extension was created before. */
async function prepareDatabase(
  sql: postgres.Sql,
  quoted: string,
  name: string,
  withVector: boolean,
): Promise<void> {
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

/** pgvector is not a trusted extension by default, so a superuser has to install it; hosting providers allow their administrators to. */
function refuseForbidden(error: unknown): never {
  if ((error as { code?: string }).code !== '42501') throw error
  throw new ManagedServerError(
    'Our login on the server for managed databases may not install pgvector: make it a superuser, or mark the extension as trusted.',
    { cause: error },
  )
}
