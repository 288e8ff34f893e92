/** Finds statements that name tables of both kinds, identity and tenant, which may lie on different servers; and what compares nothing. */
import type { Connection, Sql, SqlQueries } from '../../db/connect.ts'
import { TABLE_KINDS, type TableKind } from '../../db/table-kinds.ts'

const KINDS: ReadonlyMap<string, TableKind> = new Map(Object.entries(TABLE_KINDS))

const seen = new Set<string>()
const crossings: string[] = []

/** The connection, whose statements are looked at from now on; each text once, which costs a look into a set. */
export function watchStatements<Watched extends Connection>(connection: Watched): Watched {
  const { db, sql } = connection
  const logger = { logQuery: look }
  // Drizzle takes a logger when it is made, and hands it on to every transaction; this is after that.
  const { session } = db as unknown as { session: { logger: object; options: { logger: object } } }
  session.logger = session.options.logger = logger
  const watched = (queries: SqlQueries): SqlQueries => ({
    query(text, parameters) {
      look(text)
      return queries.query(text, parameters)
    },
  })
  const transaction: Sql['transaction'] = (work) => sql.transaction((tx) => work(watched(tx)))
  return { ...connection, sql: { ...watched(sql), transaction } }
}

/** Those since it was last asked, with their tables: whoever ran them fails. */
export const takeCrossings = (): string[] => crossings.splice(0)

function look(text: string): void {
  if (seen.has(text)) return
  seen.add(text)
  const wrong = crossing(text) ?? selfComparison(text)
  if (wrong) crossings.push(`${wrong}\n${text}`)
}

/**
 * A column that is compared with itself, as `p.org_id = "org_id"` within a subquery: drizzle leaves out the table of a column
 * where a statement selects from one, and the inner table is then meant.
 */
export function selfComparison(text: string): string | undefined {
  const [found] = /\b[a-z_]\w*\.([a-z_]\w*) = "\1"(?!\.)/.exec(text) ?? []
  return found === undefined ? undefined : `compared with itself: ${found}`
}

/** The tables of a crossing statement by kind, or undefined. */
export function crossing(text: string): string | undefined {
  for (const statement of statementsOf(text)) {
    const tables = [...new Set(tablesIn(statement))]
    const of = (kind: TableKind) => tables.filter((table) => KINDS.get(table) === kind).toSorted()
    const [identity, tenant] = [of('identity'), of('tenant')]
    if (identity.length && tenant.length)
      return `identity: ${identity.join(', ')}; tenant: ${tenant.join(', ')}`
  }
  return undefined
}

/** Literals and comments are skipped, quoted names are names, and what is left is words and single signs. */
const TOKEN =
  /'(?:[^']|'')*'|--[^\n]*|\/\*[^]*?\*\/|\$(\w*)\$[^]*?\$\1\$|"([^"]+)"|([a-z_][\w$]*)|([(),;.])/gi

function statementsOf(text: string): string[][] {
  const statements: string[][] = [[]]
  for (const [, , quoted, word, sign] of text.matchAll(TOKEN)) {
    const token = quoted ?? word?.toLowerCase() ?? sign
    if (token === ';') statements.push([])
    else if (token !== undefined) statements.at(-1)!.push(token)
  }
  return statements
}

/** Words after which a table is named. */
const BEFORE_TABLES = new Set([
  'from',
  'join',
  'update',
  'into',
  'using',
  'only',
  'lateral',
  'truncate',
  'table',
])
/** Words that end the list that `from a, b` began. */
const AFTER_TABLES = new Set([
  'select',
  'where',
  'set',
  'group',
  'order',
  'limit',
  'values',
  'returning',
  'union',
])

function tablesIn(tokens: readonly string[]): string[] {
  const tables: string[] = []
  /** For each open parenthesis, whether a comma is followed by another table. */
  const lists = [false]
  let expected = false
  for (const [at, token] of tokens.entries()) {
    if (token === '(') lists.push(expected)
    else if (token === ')') lists.pop()
    else if (token === ',') expected = lists.at(-1) ?? false
    else if (token === '.') continue
    else if (BEFORE_TABLES.has(token)) {
      // `is distinct from x` compares, and `do update set` names no table.
      expected = tokens[at - 1] !== 'distinct'
      if (token === 'from' && expected) lists[lists.length - 1] = true
    } else if (AFTER_TABLES.has(token)) {
      expected = false
      lists[lists.length - 1] = false
    } else {
      if (expected && KINDS.has(token)) tables.push(token)
      // The name of a schema is followed by that of the table.
      expected = expected && tokens[at + 1] === '.'
    }
  }
  return tables
}
