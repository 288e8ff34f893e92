/** Takes SQL apart as far as the gateway has to understand it: which words its statements begin with. */

export type Token = {
  readonly text: string
  readonly start: number
  readonly end: number
  readonly depth: number
}

/** Tokens by statement, without comments; a quoted token has no text. Empty statements are left out. */
export function statementsOf(sql: string): Token[][] {
  const statements: Token[][] = [[]]
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
  return statements.filter((tokens) => tokens.length > 0)
}

/** PostgreSQL documentation, 4.1 Lexical Structure. An unterminated token goes on to the end of the text. */
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

/** Block comments can be nested. */
function endOfComment(sql: string, start: number): number {
  let depth = 0
  for (const { 0: mark, index } of sql.slice(start).matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1
    if (depth === 0) return start + index + 2
  }
  return sql.length
}
