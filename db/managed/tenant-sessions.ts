/** The sessions of tenants on a server: reads them as our login may see them, and ends those over a limit. */
import type postgres from 'postgres'
import type { TenantLimit, TenantLimits } from '../../src/contracts/tenant-limits.ts'
import { arrayLiteral, quoteIdentifier } from './quote-identifier.ts'
import { retryOnConflict } from './retry-on-conflict.ts'
import { QUESTION_STATEMENT_MS, SHORT_STATEMENT_MS } from '../../src/contracts/limits.ts'
import { QUESTION_CONNECTIONS, questionRoleOf } from './question-role.ts'
import {
  questionSessionsOverLimits,
  sessionsOverLimits,
  type Ending,
  type QuestionLimits,
  type Tenant,
  type TenantSession,
} from './sessions-over-limits.ts'

export type EndedSession = { readonly physicalName: string; readonly limit: TenantLimit }

/** Well beyond what we ourselves keep to (source-connections.ts, write-to-database.ts). */
const QUESTION_LIMITS: QuestionLimits = {
  transactionSeconds: (3 * QUESTION_STATEMENT_MS) / 1_000,
  idleSeconds: 5 * 60,
  droppingSeconds: (2 * SHORT_STATEMENT_MS) / 1_000,
}

/** Safe to repeat, and in several processes at once: a session that is gone is not ended again. */
export async function endSessionsOverLimits(
  sql: postgres.Sql,
  tenants: readonly Tenant[],
  limits: TenantLimits,
  questionLimits = QUESTION_LIMITS,
): Promise<readonly EndedSession[]> {
  const names = tenants.map(({ physicalName }) => physicalName)
  const ofQuestions = new Map(names.map((name) => [questionRoleOf(name), name]))
  await setRoleLimits(sql, names, limits)
  await setRoleLimits(sql, [...ofQuestions.keys()], { ...limits, connections: QUESTION_CONNECTIONS })
  const sessions = await readSessions(sql, [...names, ...ofQuestions.keys()])
  const endings = [
    ...sessionsOverLimits(sessions, tenants, limits),
    ...questionSessionsOverLimits(
      sessions.filter(({ login }) => ofQuestions.has(login)),
      questionLimits,
    ),
  ]
  const ended: EndedSession[] = []
  for (const ending of endings) {
    const { login } = ending.session
    if (await endSession(sql, ending)) {
      ended.push({ physicalName: ofQuestions.get(login) ?? login, limit: ending.limit })
    }
  }
  return ended
}

/** The files of parallel workers are those of their leader. What they share is in folders, which are not listed. */
const TEMPORARY_FILES = `
  select coalesce(w.leader_pid, w.pid) as pid, sum(f.size)::float8 as bytes
  from pg_ls_tmpdir() f join pg_stat_activity w on w.pid = substring(f.name from '^pgsql_tmp(\\d+)\\.')::int
  group by 1`
const NO_FILES = 'select null::int as pid, 0::float8 as bytes'

async function readSessions(sql: postgres.Sql, names: readonly string[]): Promise<readonly TenantSession[]> {
  const [may] = await sql.unsafe<{ list: boolean }[]>(
    `select has_function_privilege('pg_ls_tmpdir()', 'execute') as list`,
  )
  return sql.unsafe<TenantSession[]>(
    `select a.pid, a.usename as login, a.state, a.query,
      to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as "backendStart",
      to_char(a.query_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as "queryStart",
      extract(epoch from clock_timestamp() - a.query_start)::float8 as "runningSeconds",
      extract(epoch from clock_timestamp() - a.state_change)::float8 as "idleSeconds",
      extract(epoch from clock_timestamp() - a.xact_start)::float8 as "transactionSeconds",
      a.backend_xid is not null as "isWriting",
      coalesce(t.bytes, 0)::float8 as "temporaryFileBytes"
    from pg_stat_activity a left join (${may?.list ? TEMPORARY_FILES : NO_FILES}) t on t.pid = a.pid
    where a.usename = any ($1::text[]) and a.backend_type = 'client backend'`,
    [arrayLiteral(names)],
  )
}

/** Only what was looked at: meanwhile the process may have another session, and the session another statement. */
export async function endSession(
  sql: postgres.Sql,
  { session, how }: Pick<Ending, 'session' | 'how'>,
): Promise<boolean> {
  let isEnded = false
  await ifPossible(async () => {
    isEnded = await signal(sql, session, how)
  })
  return isEnded
}

async function signal(sql: postgres.Sql, session: TenantSession, how: Ending['how']): Promise<boolean> {
  const same = `a.pid = $1 and a.usename = $2
    and to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') = $3`
  const [row] =
    how === 'cancel'
      ? await sql.unsafe<{ done: boolean }[]>(
          `select pg_cancel_backend(a.pid) as done from pg_stat_activity a where ${same}
            and to_char(a.query_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') = $4`,
          [session.pid, session.login, session.backendStart, session.queryStart],
        )
      : await sql.unsafe<{ done: boolean }[]>(
          `select pg_terminate_backend(a.pid) as done from pg_stat_activity a where ${same}`,
          [session.pid, session.login, session.backendStart],
        )
  return row?.done ?? false
}

/** Of these logins, and of no other. */
export async function endAllSessions(sql: postgres.Sql, logins: readonly string[]): Promise<void> {
  await ifPossible(() =>
    sql.unsafe(`select pg_terminate_backend(pid) from pg_stat_activity where usename = any ($1::text[])`, [
      arrayLiteral(logins),
    ]),
  )
}

/**
 * What the server itself enforces against a login that cannot change it: its connections, and temporary files where we
 * may set that limit (a parameter for superusers, or granted to us).
 */
async function setRoleLimits(
  sql: postgres.Sql,
  names: readonly string[],
  limits: TenantLimits,
): Promise<void> {
  const temporary = `${Math.ceil(limits.temporaryFileBytes / 1024)}kB`
  const rows = await sql.unsafe<{ name: string; setsFiles: boolean; setsConnections: boolean }[]>(
    `select rolname as name, rolconnlimit <> $2 as "setsConnections",
      has_parameter_privilege('temp_file_limit', 'SET')
        and not coalesce(rolconfig, '{}') @> array['temp_file_limit=' || $3::text] as "setsFiles"
    from pg_roles where rolname = any ($1::text[])`,
    [arrayLiteral(names), limits.connections, temporary],
  )
  for (const { name, setsFiles, setsConnections } of rows) {
    const role = quoteIdentifier(name)
    await ifPossible(async () => {
      if (setsConnections) await sql.unsafe(`alter role ${role} connection limit ${limits.connections}`)
      if (setsFiles) await sql.unsafe(`alter role ${role} set temp_file_limit = '${temporary}'`)
    })
  }
}

/** A database may be removed at any moment: undefined_object, invalid_catalog_name. unenforced-limits.ts tells what we may not do. */
export async function ifPossible(work: () => Promise<unknown>): Promise<void> {
  try {
    await retryOnConflict(work)
  } catch (error) {
    if (!['42704', '3D000', '42501'].includes((error as { code?: string }).code ?? '')) throw error
  }
}
