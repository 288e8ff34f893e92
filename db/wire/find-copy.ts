/** Finds COPY ... FROM STDIN in SQL: the engine cannot wait for the data, so the gateway has to know before it. */

export type FoundCopy =
  /** The only statement; `fromBlob` is the same with the data taken from the engine's own device. */
  { readonly alone: true; readonly binary: boolean; readonly fromBlob: string } | { readonly alone: false }

type Word = { readonly text: string; readonly start: number; readonly end: number; readonly depth: number }

export function findCopy(sql: string): FoundCopy | undefined {
  // Nearly every statement: no need to take it apart.
  if (!/copy/i.test(sql) || !/stdin/i.test(sql)) return undefined
  const statements = statementsOf(sql)
  const found = statements.find((words) => sourceOf(words))
  const source = found && sourceOf(found)
  if (!source) return undefined
  if (statements.length > 1) return { alone: false }
  return {
    alone: true,
    binary:
      found.some(({ text, start }) => text === 'binary' && start > source.end) || found[1]?.text === 'binary',
    fromBlob: `${sql.slice(0, source.start)}'/dev/blob'${sql.slice(source.end)}`,
  }
}

/** The word STDIN, where it is what a COPY reads from. */
function sourceOf(words: readonly Word[]): Word | undefined {
  if (words[0]?.text !== 'copy') return undefined
  const from = words.findIndex(({ text, depth }) => text === 'from' && depth === 0)
  const source = from < 0 ? undefined : words[from + 1]
  return source?.text === 'stdin' ? source : undefined
}

/** Tokens by statement, without comments; what stands in quotes is a token without text. Empty statements are left out. */
function statementsOf(sql: string): Word[][] {
  const statements: Word[][] = [[]]
  let depth = 0
  for (let at = 0; at < sql.length;) {
    const end = endOfToken(sql, at)
    const text = sql.slice(at, end)
    if (text === ';') {
      statements.push([])
      depth = 0
    } else if (text === '(') depth += 1
    else if (text === ')') depth -= 1
    else if (!/^(?:\s|--|\/\*)/.test(text)) {
      const word = /^(?:[a-z_]+|.)$/is.test(text) ? text.toLowerCase() : ''
      statements.at(-1)?.push({ text: word, start: at, end, depth })
    }
    at = end
  }
  return statements.filter((words) => words.length > 0)
}

/** PostgreSQL documentation, 4.1 Lexical Structure. What is left open goes on to the end of the text. */
function endOfToken(sql: string, at: number): number {
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    return pattern.exec(sql)?.[0]
  }
  if (sql.startsWith('/*', at)) return endOfComment(sql, at)
  const dollar = match(/\$(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/iy)
  if (dollar) {
    const close = sql.indexOf(dollar, at + dollar.length)
    return close < 0 ? sql.length : close + dollar.length
  }
  const whole =
    match(/\s+|--[^\r\n]*/y) ??
    match(/e'(?:[^'\\]|\\.|'')*(?:'|$)/isy) ??
    match(/'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)/y) ??
    match(/[\w\u0080-\uffff][\w$\u0080-\uffff]*/y)
  return at + (whole?.length ?? 1)
}

/** Comments of this kind may stand in each other. */
function endOfComment(sql: string, start: number): number {
  let depth = 0
  for (const { 0: mark, index } of sql.slice(start).matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1
    if (depth === 0) return start + index + 2
  }
  return sql.length
}
