/** Finds COPY ... FROM STDIN in SQL: the engine cannot wait for the data, so the gateway collects it first. */
import { statementsOf, type Token } from './sql-tokens.ts'

export type CopyFromStdin =
  /** The only statement; `fromBlob` is the same, reading from PGlite's /dev/blob. */
  { readonly alone: true; readonly binary: boolean; readonly fromBlob: string } | { readonly alone: false }

export function findCopyFromStdin(sql: string): CopyFromStdin | undefined {
  // Nearly every statement: no need to tokenize it.
  if (!/copy/i.test(sql) || !/stdin/i.test(sql)) return undefined
  const statements = statementsOf(sql)
  const found = statements.find((tokens) => sourceOf(tokens))
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

/** The token STDIN of a COPY FROM. */
function sourceOf(tokens: readonly Token[]): Token | undefined {
  if (tokens[0]?.text !== 'copy') return undefined
  const from = tokens.findIndex(({ text, depth }) => text === 'from' && depth === 0)
  const source = from < 0 ? undefined : tokens[from + 1]
  return source?.text === 'stdin' ? source : undefined
}
