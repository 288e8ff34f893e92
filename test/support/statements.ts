/** The statements that something runs, in order, without those that begin and end a transaction. */
import type { Database } from '../../db/connect.ts'

type Logger = { logQuery(text: string, parameters?: unknown): void }

export async function statementsDuring(db: Database, work: () => Promise<unknown>): Promise<string[]> {
  // Drizzle takes a logger when it is made, and hands it on to every transaction; this is after that.
  const { session } = db as unknown as { session: { logger: Logger; options: { logger: Logger } } }
  const before = session.logger
  const statements: string[] = []
  const logger: Logger = {
    logQuery(text, parameters) {
      statements.push(text)
      before.logQuery(text, parameters)
    },
  }
  session.logger = session.options.logger = logger
  try {
    await work()
  } finally {
    session.logger = session.options.logger = before
  }
  return statements
}
