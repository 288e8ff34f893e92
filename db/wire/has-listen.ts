/** Finds LISTEN in SQL: the engine would accept it, and the notifications would never reach the client. */
import { statementsOf } from './sql-tokens.ts'

export const hasListen = (sql: string): boolean =>
  // Nearly every statement: no need to tokenize it.
  /\blisten\b/i.test(sql) && statementsOf(sql).some(([first]) => first?.text === 'listen')
