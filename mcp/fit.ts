/** Keeps answers within the size that models and clients take: whole rows first, then shorter values. */
import { ANSWER_MAX_BYTES } from '../src/contracts/limits.ts'

const answerBytes = (answer: object): number => Buffer.byteLength(JSON.stringify(answer))
export const fits = (answer: object): boolean => answerBytes(answer) <= ANSWER_MAX_BYTES

type Page<Row> = { readonly rows: readonly Row[]; readonly next_cursor?: string | undefined }

/** As long as the contract lets a cursor be: what fits with it fits with the real one. */
const LONGEST_CURSOR = 'x'.repeat(1_000)

/** Models ask for the first page again and again unless the answer itself says what to do with a cursor. */
const paged = (answer: object, next_cursor: string | undefined): object =>
  next_cursor === undefined ? answer : { ...answer, next_cursor, more: 'Pass next_cursor as cursor.' }

/** One page that fits. A page that does not is read again with fewer rows, so that its cursor is the core's own. */
export async function fitPage<Row>(
  limit: number,
  read: (limit: number) => Promise<Page<Row>>,
  show: (rows: readonly Row[]) => object,
): Promise<object> {
  for (let most = limit; ;) {
    const { rows, next_cursor } = await read(most)
    const answer = paged(show(rows), next_cursor)
    if (fits(answer)) return answer
    if (rows.length <= 1) return shorten(answer)
    // Fewer each time, so it ends, even where rows grow while they are read.
    most = Math.max(
      1,
      mostThatFit(rows, (some) => paged(show(some), LONGEST_CURSOR)),
    )
  }
}

/** How many of the first rows fit; never all of them. */
function mostThatFit<Row>(rows: readonly Row[], show: (rows: readonly Row[]) => object): number {
  let count = rows.length - 1
  while (count > 0 && !fits(show(rows.slice(0, count)))) count -= 1
  return count
}

/** The best come first: what does not fit is left out from the end. */
export function fitHits<Row>(
  rows: readonly Row[],
  show: (rows: readonly Row[], leftOut: number) => object,
): object {
  const showing = (some: readonly Row[]) => show(some, rows.length - some.length)
  return fits(showing(rows)) ? showing(rows) : showing(rows.slice(0, mostThatFit(rows, showing)))
}

/** The longest beginning of a text with which the answer fits. */
export function fitText(text: string, show: (text: string) => object): object {
  let [yes, no] = [0, text.length]
  while (no - yes > 1) {
    const middle = Math.floor((yes + no) / 2)
    if (fits(show(beginning(text, middle)))) yes = middle
    else no = middle
  }
  return show(beginning(text, yes))
}

/** At most so many characters, none of them halved. */
export const beginning = (text: string, longest: number): string =>
  text.length <= longest
    ? text
    : `${text.slice(0, Math.max(0, longest - 1)).replace(/[\uD800-\uDBFF]$/, '')}…`

/** One row that is too large by itself. Ids and addresses of ours are shorter than the last of these. */
const LENGTHS = [1_000, 300, 120]

function shorten(answer: object): object {
  const shorter = LENGTHS.map((longest) => ({
    ...(shortened(answer, longest) as object),
    truncated: 'Long values and lists were shortened.',
  }))
  return shorter.find(fits) ?? shorter.at(-1)!
}

function shortened(value: unknown, longest: number): unknown {
  if (typeof value === 'string') return beginning(value, longest)
  if (typeof value !== 'object' || value === null) return value
  const most = Math.ceil(longest / 8)
  if (Array.isArray(value)) return value.slice(0, most).map((one) => shortened(one, longest))
  const entries = Object.entries(value).slice(0, most)
  // A cursor is passed on to the letter or not at all.
  return Object.fromEntries(
    entries.map(([name, one]) => [name, name === 'next_cursor' ? one : shortened(one, longest)]),
  )
}
