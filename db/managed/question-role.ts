/**
 * The login with which we ask a managed database on a server. A role of our own, whose password nobody else has: it
 * stays when the tenant's login may not connect, and tells our sessions from the tenant's. It inherits what the
 * tenant's role may read, and no more: what a view of the tenant calls runs with the rights of whoever asks.
 */
import { createHash } from 'node:crypto'
import type postgres from 'postgres'
import { dropRole } from './drop-role.ts'
import { quoteIdentifier } from './quote-identifier.ts'
import { retryOnConflict } from './retry-on-conflict.ts'
import { grantRoleToSelf } from './grant-role-to-self.ts'
import { LOGIN_ROLE_COMMENT } from './login-role-comment.ts'
import { ManagedServerError } from './managed-server-error.ts'

const NAME_MAX = 63

/** As readable as a name of 63 characters allows; the digest keeps two that were cut apart. */
export function questionRoleOf(physicalName: string): string {
  const suffix = `_q${createHash('sha256').update(physicalName).digest('hex').slice(0, 8)}`
  return physicalName.slice(0, NAME_MAX - suffix.length) + suffix
}

type Existing = {
  readonly role: 'none' | 'ours' | 'foreign'
  /** It has settings that it gave itself, other than what the worker limits. */
  readonly hasSettings: boolean
  readonly isMember: boolean
  /** We see and end its sessions. */
  readonly isOurs: boolean
  readonly connects: boolean
}

/** Another process did the same: duplicate_object, or unique_violation of a catalog. */
const DUPLICATE_CODES = new Set(['42710', '23505'])
const MAX_ATTEMPTS = 5

/** Four of each process (source-connections.ts), for eight processes. */
export const QUESTION_CONNECTIONS = 32
/** A process whose login has expired asks for it again. */
const VALID_MS = 24 * 60 * 60_000

/**
 * Safe to repeat, and for several at once. The database exists already. What runs with the rights of a role can change
 * its password and settings, and Postgres does not let us forbid it: so each time ours are set again, and whoever had
 * changed them cannot log in any more.
 */
export async function createQuestionRole(
  sql: postgres.Sql,
  physicalName: string,
  verifier: string,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await createMissing(sql, physicalName, verifier)
    } catch (error) {
      const code = (error as { code?: string }).code ?? ''
      if (attempt === MAX_ATTEMPTS || !DUPLICATE_CODES.has(code)) throw error
    }
  }
}

async function createMissing(sql: postgres.Sql, physicalName: string, verifier: string): Promise<void> {
  const name = questionRoleOf(physicalName)
  const [role, tenant] = [quoteIdentifier(name), quoteIdentifier(physicalName)]
  const existing = await findExisting(sql, name, physicalName)
  if (existing.role === 'foreign') {
    throw new ManagedServerError('The server already has a role of that name that svc did not create.')
  }
  if (existing.role === 'none') await createRole(sql, role, verifier)
  else await resetRole(sql, role, tenant, verifier, existing)
  if (!existing.isOurs) await grantRoleToSelf(sql, role)
  if (!existing.isMember) await retryOnConflict(() => sql.unsafe(`grant ${tenant} to ${role}`))
  if (!existing.connects) {
    await retryOnConflict(() => sql.unsafe(`grant connect on database ${tenant} to ${role}`))
  }
}

/** After its database. Whether it is gone (drop-role.ts). */
export async function dropQuestionRole(sql: postgres.Sql, physicalName: string): Promise<boolean> {
  const name = questionRoleOf(physicalName)
  if ((await findExisting(sql, name, physicalName)).role !== 'ours') return true
  return dropRole(sql, name)
}

async function findExisting(sql: postgres.Sql, name: string, physicalName: string): Promise<Existing> {
  const [row] = await sql.unsafe<Existing[]>(
    `select
      case when r.oid is null then 'none' when shobj_description(r.oid, 'pg_authid') = $3 then 'ours'
        else 'foreign' end as role,
      exists (select from pg_db_role_setting s cross join unnest(s.setconfig) one
        where s.setrole = r.oid and not starts_with(one, 'temp_file_limit=')
          and (s.setdatabase = 0 or s.setdatabase = (select oid from pg_database where datname = $2)))
        as "hasSettings",
      coalesce(pg_has_role(r.oid, 'usage'), (select rolsuper from pg_roles where rolname = current_user))
        as "isOurs",
      exists (select from pg_auth_members m join pg_roles t on t.oid = m.roleid
        where m.member = r.oid and t.rolname = $2) as "isMember",
      exists (select from pg_database d cross join aclexplode(d.datacl) a
        where d.datname = $2 and a.grantee = r.oid and a.privilege_type = 'CONNECT') as connects
    from (select $1::name as name) asked left join pg_roles r on r.rolname = asked.name`,
    [name, physicalName, LOGIN_ROLE_COMMENT],
  )
  if (!row) throw new Error('The server returned no row')
  return row
}

/** With its comment in one transaction: a login without it would be granted CONNECT wherever PUBLIC loses it. */
async function createRole(sql: postgres.Sql, role: string, verifier: string): Promise<void> {
  await retryOnConflict(() =>
    sql.begin(async (tx) => {
      await tx.unsafe(
        `create role ${role} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls inherit
          ${loginOptions(verifier)}`,
      )
      await tx.unsafe(`comment on role ${role} is '${LOGIN_ROLE_COMMENT}'`)
    }),
  )
}

/** Not LOGIN: that of a removed database stays without (drop-role.ts). */
async function resetRole(
  sql: postgres.Sql,
  role: string,
  tenant: string,
  verifier: string,
  { hasSettings }: Existing,
): Promise<void> {
  await retryOnConflict(() => sql.unsafe(`alter role ${role} ${loginOptions(verifier)}`))
  if (!hasSettings) return
  await retryOnConflict(() => sql.unsafe(`alter role ${role} reset all`))
  await retryOnConflict(() => sql.unsafe(`alter role ${role} in database ${tenant} reset all`))
}

const loginOptions = (verifier: string): string =>
  `connection limit ${QUESTION_CONNECTIONS} password '${verifier}'
    valid until '${new Date(Date.now() + VALID_MS).toISOString()}'`
