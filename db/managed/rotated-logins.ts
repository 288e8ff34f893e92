/** Ends the sessions of a login that has another password now, on a server. */
import type postgres from 'postgres'

/** What a session that comes in late has until it is ended. */
const REPEAT_MS = 1_000

export type RotatedLogins = {
  /** Once its password is changed. */
  endSessionsOf(login: string): Promise<void>
  close(): void
}

/**
 * A client that was logging in with the password before gets in afterwards, and until then its session is not listed under
 * its login. So this process goes on to end what began before the change, for as long as the server gives a client to
 * log in. By the server's clock, so that nobody who comes later is ended. It is not written down for another process: only a
 * kill in that minute would need it.
 */
export function rotatedLogins(sql: postgres.Sql): RotatedLogins {
  const rotated = new Map<string, { readonly changedAt: string; readonly until: number }>()
  let timer: NodeJS.Timeout | undefined

  async function endLateSessions(): Promise<void> {
    const now = performance.now()
    for (const [login, { changedAt, until }] of rotated) {
      if (now > until) rotated.delete(login)
      // It is tried again. On a server that stays away there are no sessions.
      await endSessions(sql, login, changedAt).catch(() => {})
    }
    timer = undefined
    repeat()
  }

  function repeat(): void {
    if (rotated.size > 0) timer ??= setTimeout(() => void endLateSessions(), REPEAT_MS).unref()
  }

  return {
    async endSessionsOf(login) {
      const [server] = await sql.unsafe<{ now: string; loginSeconds: number }[]>(
        `select clock_timestamp()::text as now, setting::int as "loginSeconds"
        from pg_settings where name = 'authentication_timeout'`,
      )
      if (!server) throw new Error('The server returned no row')
      const until = performance.now() + server.loginSeconds * 1_000 + REPEAT_MS
      rotated.set(login, { changedAt: server.now, until })
      repeat()
      await endSessions(sql, login, server.now)
    },
    close() {
      rotated.clear()
      clearTimeout(timer)
    },
  }
}

/** A beginning that our login may not see is that of a session it may not end either: that is an error. */
const endSessions = (sql: postgres.Sql, login: string, changedAt: string) =>
  // As text first: the driver would cut a time to milliseconds.
  sql.unsafe(
    `select pg_terminate_backend(pid) from pg_stat_activity
    where usename = $1 and coalesce(backend_start <= $2::text::timestamptz, true)`,
    [login, changedAt],
  )
