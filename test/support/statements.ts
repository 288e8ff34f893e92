/** The statements that something runs, and the moments of a race that can be told from them. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, inject } from 'vitest'
import type { Database } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'

type Logger = { logQuery: (text: string, parameters?: unknown) => void }

/** In order, without those that begin and end a transaction. */
export async function statementsDuring(db: Database, work: () => Promise<unknown>): Promise<string[]> {
  const statements: string[] = []
  const stop = onStatement(db, (text) => statements.push(text))
  try {
    await work()
  } finally {
    stop()
  }
  return statements
}

/** Those of `work` itself, without those of loops that look for something meanwhile; in this process, so not of a request over a socket. */
export async function statementsOf(db: Database, work: () => Promise<unknown>): Promise<string[]> {
  const within = new AsyncLocalStorage<true>()
  const statements: string[] = []
  const stop = onStatement(db, (text) => {
    if (within.getStore()) statements.push(text)
  })
  try {
    await within.run(true, work)
  } finally {
    stop()
  }
  return statements
}

/**
 * Begins `work` and waits until it has run a statement with these words, or parameters, so many times to its end; `work` may
 * go on.
 */
export async function untilAsked<T>(
  db: Database,
  words: RegExp,
  work: () => T,
  times = 1,
): Promise<{ readonly going: T }> {
  let text: string | undefined
  let asked = 0
  const stop = onStatement(db, (statement, parameters) => {
    if (words.test(`${statement} ${JSON.stringify(parameters)}`) && ++asked === times) text = statement
  })
  try {
    const going = work()
    await expect.poll(() => text, { interval: 5, timeout: 10_000 }).toBeDefined()
    await expect.poll(() => running(db, text!), { interval: 5, timeout: 10_000 }).toBe(0)
    return { going }
  } finally {
    stop()
  }
}

/** Until so many sessions wait for a lock. The embedded engine has one session: there whoever comes later waits anyway. */
export async function untilLocked(db: Database, sessions: number): Promise<void> {
  if (inject('engine') === 'pglite') return
  const waiting = () => countSessions(db, sql`wait_event_type = 'Lock'`)
  await expect.poll(waiting, { interval: 10, timeout: 15_000 }).toBe(sessions)
}

const running = (db: Database, text: string) =>
  countSessions(
    db,
    sql`state = 'active' and pid <> pg_backend_pid() and starts_with(query, ${text.slice(0, 500)})`,
  )

async function countSessions(db: Database, condition: ReturnType<typeof sql>): Promise<number> {
  const [found] = await db.execute<{ n: number }>(
    sql`select count(*)::int as n from pg_stat_activity where datname = current_database() and ${condition}`,
  )
  return found!.n
}

/** Statements that were prepared before keep their logger, so what listens is that one itself. */
function onStatement(db: Database, listen: (text: string, parameters: unknown) => void): () => void {
  const { logger } = (db as unknown as { session: { logger: Logger } }).session
  const before = logger.logQuery
  logger.logQuery = (text, parameters) => {
    listen(text, parameters)
    before(text, parameters)
  }
  return () => void (logger.logQuery = before)
}
