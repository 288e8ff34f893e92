/** Keeps answers within the size that models and clients accept: drops whole rows first, then shortens values. */
import { ANSWER_MAX_BYTES } from '../src/contracts/limits.ts'

export const textFits = (text: string): boolean => Buffer.byteLength(text) <= ANSWER_MAX_BYTES
export const fits = (answer: object): boolean => textFits(JSON.stringify(answer))

type Page<Row> = { readonly rows: readonly Row[]; readonly next_cursor?: string | undefined }

/** As long as the contract lets a cursor be: an answer that fits with it fits with the real one. */
const LONGEST_CURSOR = 'x'.repeat(1_000)

/** Models request the first page again and again unless the answer says what to do with the cursor. */
const paged = (answer: object, next_cursor: string | undefined): object =>
  next_cursor === undefined ? answer : { ...answer, next_cursor, more: 'Pass next_cursor as cursor.' }

/** One page that fits. A larger one is read again with fewer rows, so that its cursor comes from the core. */
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
    // Fewer each time, so it terminates even if rows grow while they are read.
    most = Math.max(
      1,
      mostThatFit(rows, (some) => paged(show(some), LONGEST_CURSOR)),
    )
  }
}

/** How many of the first rows fit, at most all but one. */
function mostThatFit<Row>(rows: readonly Row[], show: (rows: readonly Row[]) => object): number {
  let count = rows.length - 1
  while (count > 0 && !fits(show(rows.slice(0, count)))) count -= 1
  return count
}

/** The best hits come first: those that do not fit are dropped from the end. */
export function fitHits<Row>(
  rows: readonly Row[],
  show: (rows: readonly Row[], leftOut: number) => object,
): object {
  const showing = (some: readonly Row[]) => show(some, rows.length - some.length)
  return fits(showing(rows)) ? showing(rows) : showing(rows.slice(0, mostThatFit(rows, showing)))
}

/** The longest prefix of a text with which the answer fits. */
export function fitText(text: string, show: (text: string) => object): object {
  let [fitting, tooLong] = [0, text.length]
  while (tooLong - fitting > 1) {
    const middle = Math.floor((fitting + tooLong) / 2)
    if (fits(show(truncate(text, middle)))) fitting = middle
    else tooLong = middle
  }
  return show(truncate(text, fitting))
}

/** The longest part of a text from an offset with which the answer fits, in whole lines if it can be; and where it ends. */
export function fitPart(
  text: string,
  offset: number,
  show: (part: string, next: number | undefined) => object,
): object {
  const showing = (end: number) => show(text.slice(offset, end), end < text.length ? end : undefined)
  let [fitting, tooLong] = [Math.min(offset, text.length), text.length + 1]
  while (tooLong - fitting > 1) {
    const middle = Math.floor((fitting + tooLong) / 2)
    if (fits(showing(middle))) fitting = middle
    else tooLong = middle
  }
  if (fitting >= text.length) return showing(text.length)
  const lineEnd = text.lastIndexOf('\n', fitting - 1) + 1
  if (lineEnd > offset) return showing(lineEnd)
  return showing(/[\uD800-\uDBFF]/.test(text.charAt(fitting - 1)) ? fitting - 1 : fitting)
}

/** Never splits a surrogate pair. */
export const truncate = (text: string, maxLength: number): string =>
  text.length <= maxLength
    ? text
    : `${text.slice(0, Math.max(0, maxLength - 1)).replace(/[\uD800-\uDBFF]$/, '')}…`

/** For one row that is too large by itself. Our own ids and URLs are shorter than the last of these. */
const LENGTHS = [1_000, 300, 120]

function shorten(answer: object): object {
  const shorter = LENGTHS.map((maxLength) => ({
    ...(shortened(answer, maxLength) as object),
    truncated: 'Long values and lists were shortened.',
  }))
  return shorter.find(fits) ?? shorter.at(-1)!
}

function shortened(value: unknown, maxLength: number): unknown {
  if (typeof value === 'string') return truncate(value, maxLength)
  if (typeof value !== 'object' || value === null) return value
  const most = Math.ceil(maxLength / 8)
  if (Array.isArray(value)) return value.slice(0, most).map((one) => shortened(one, maxLength))
  const entries = Object.entries(value).slice(0, most)
  // A shortened cursor would be useless.
  return Object.fromEntries(
    entries.map(([name, one]) => [name, name === 'next_cursor' ? one : shortened(one, maxLength)]),
  )
}
