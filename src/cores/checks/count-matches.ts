/** Counts the lines of pages that a regular expression matches, in parts that are small, until a limit of text or time. */
import type { MatchLines } from './match-lines-port.ts'

type Asked = { readonly orgId: string; readonly source: string; readonly most: number }
type Counted = { readonly count: number; readonly isWhole: boolean }

/** Of all that is read. */
const READ_MAX_CHARACTERS = 8 * 1024 * 1024
/** Of what is handed over at a time: those of other organizations come in between. */
const PART_CHARACTERS = 256 * 1024
/** A fifth of the claim's lease, reading included. */
const TIME_MAX_MS = 30_000

export async function countMatches(
  matchLines: MatchLines,
  pages: AsyncIterable<readonly string[]>,
  { orgId, source, most }: Asked,
): Promise<Counted> {
  const tooLong = AbortSignal.timeout(TIME_MAX_MS)
  let [count, left] = [0, READ_MAX_CHARACTERS]
  for await (const page of pages) {
    for (const lines of partsOf(page)) {
      left -= charactersOf(lines)
      if (left < 0 || tooLong.aborted) return { count, isWhole: false }
      const found = await matchLines(orgId, { source, lines, most: most - count })
      if (found === undefined) return { count, isWhole: false }
      count += found
      if (count >= most) return { count, isWhole: true }
    }
  }
  return { count, isWhole: true }
}

const charactersOf = (lines: readonly string[]): number => lines.reduce((sum, line) => sum + line.length, 0)

/** A part is as many lines as fit, and one at least. */
function* partsOf(page: readonly string[]): Generator<readonly string[]> {
  let part: string[] = []
  let characters = 0
  for (const line of page) {
    if (part.length > 0 && characters + line.length > PART_CHARACTERS) {
      yield part
      ;[part, characters] = [[], 0]
    }
    part.push(line)
    characters += line.length
  }
  if (part.length > 0) yield part
}
