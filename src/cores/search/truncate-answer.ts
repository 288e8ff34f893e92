/** Truncates an answer to its maximum size: long values first, then the last hits. */
import type { Hit, HitPassage, QueryResult } from '../../contracts/data-sources.ts'
import { notFound } from '../../contracts/errors.ts'
import { writeYaml } from '../../contracts/write-yaml.ts'

/** A line of text: with less than that of each value, fewer hits say more than many. */
export const VALUE_MIN_CHARACTERS = 80

/** Enough for an answer that only says that everything was left out. */
export const ANSWER_MIN_BYTES = 256

/** Short values of ours that are useless in part. */
const NEVER_TRUNCATED: ReadonlySet<string> = new Set(['_score', '_target', '_mode', '_found_by', '_handle'])

/** More than `99999 long values shortened to 16384 characters; ` and its quotes take. */
const NOTICE_MAX_BYTES = 100

const ADVICE = ' Narrow the question with filters or a smaller top_k.'

/** The larger of JSON and YAML, so that an answer does not depend on its format. */
export const answerBytes = (answer: object): number => Math.max(jsonBytes(answer), yamlBytes(answer))

/** Never more than `maxBytes`. Ids are not cut: half an id names nothing, or something else. */
export function truncateAnswer(hits: readonly Hit[], maxBytes: number): QueryResult {
  const measured = hits.map((hit) => measure(hit, maxBytes))
  const answer = truncateToFit(maxBytes, {
    most: hits.length,
    values: (kept) => measured.slice(0, kept).flatMap(valuesOf),
    show: (kept, longest) => ({
      count: kept,
      results: measured.slice(0, kept).map((hit) => show(hit, longest)),
    }),
    leftOut: ['last hit', 'last hits'],
    advice: ADVICE,
  })
  // Never undefined: an answer without hits fits into ANSWER_MIN_BYTES.
  return answer ?? { count: 0, results: [] }
}

/** One row, by the same rules; instead of the last hits it loses its last columns. */
export function truncateHit(hit: Hit, maxBytes: number): { hit: Hit; truncated?: string } {
  const measured = measure(hit, maxBytes)
  const ordinary = measured.columns.filter(([name]) => !NEVER_TRUNCATED.has(name))
  const without = (kept: number): Measured => {
    const gone = new Set(ordinary.slice(kept))
    return { ...measured, columns: measured.columns.filter((column) => !gone.has(column)) }
  }
  const answer = truncateToFit(maxBytes, {
    most: ordinary.length,
    values: (kept) => valuesOf(without(kept)),
    show: (kept, longest) => ({ hit: show(without(kept), longest) }),
    leftOut: ['last column', 'last columns'],
    advice: '',
  })
  // Its id alone is larger than an answer may be: no question has ever shown it.
  if (!answer) throw notFound()
  return answer
}

type Value = {
  whole: unknown
  /** What it is cut from: the text itself, or the JSON text of what is not text. */
  text: string
  characters: number
  /** As JSON and whole; Infinity where it cannot fit anyway. */
  bytes: number
}

type Measured = {
  id: string
  title: Value
  /** An address in part leads nowhere, and of a digest nothing is shorter. */
  fixed: Pick<Hit, 'url' | 'digest' | 'as_of' | 'matched'>
  columns: readonly (readonly [name: string, Value])[]
  passages: readonly (readonly [HitPassage, Value])[]
}

const valuesOf = ({ title, columns, passages }: Measured): Value[] => [
  title,
  ...[...columns, ...passages].map(([, value]) => value),
]

const measure = ({ id, title, metadata, passages = [], ...fixed }: Hit, maxBytes: number): Measured => ({
  id,
  title: measureValue(title, maxBytes),
  fixed,
  passages: passages.map((one) => [one, measureValue(one.passage, maxBytes)]),
  columns: Object.entries(metadata).map(([name, value]) => [
    name,
    NEVER_TRUNCATED.has(name) ? unmeasured(value) : measureValue(value, maxBytes),
  ]),
})

const unmeasured = (whole: unknown): Value => ({ whole, text: '', characters: 0, bytes: 0 })

function measureValue(whole: unknown, maxBytes: number): Value {
  const text = textOf(whole)
  if (text === undefined) return { whole, text: '', characters: Infinity, bytes: Infinity }
  const characters = text.length
  if (characters <= VALUE_MIN_CHARACTERS) return { whole, text, characters, bytes: 0 }
  // A character is at least a byte, so what lies beyond is never shown, and a megabyte costs no more than a page.
  if (characters > maxBytes) return { whole, text: text.slice(0, maxBytes), characters, bytes: Infinity }
  return { whole, text, characters, bytes: jsonBytes(whole) }
}

/** `undefined` for what is nested too deep to be written at all. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  try {
    const json = JSON.stringify(value) ?? ''
    // A date is written as text and is cut as text.
    return json.startsWith('"') ? (JSON.parse(json) as string) : json
  } catch (error) {
    // The engine's stack ends some thousand levels down, where Postgres still nests.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

const show = ({ id, title, fixed, columns, passages }: Measured, longest: number): Hit => ({
  id,
  title: showValue(title, longest) as Hit['title'],
  ...fixed,
  metadata: Object.fromEntries(columns.map(([name, value]) => [name, showValue(value, longest)])),
  ...(passages.length > 0 && {
    passages: passages.map(([one, value]) => ({ ...one, passage: String(showValue(value, longest)) })),
  }),
})

const showValue = (value: Value, longest: number): unknown =>
  isTruncated(value, longest) ? beginning(value.text, longest) : value.whole

/** Not where the cut form is the larger one: quotes in JSON text are escaped, and the ellipsis has three bytes. */
function isTruncated({ text, characters, bytes }: Value, longest: number): boolean {
  if (characters <= longest) return false
  // No UTF-16 unit takes more than the six bytes of \u0000: most need no second look.
  return bytes > 6 * longest + 5 || jsonBytes(beginning(text, longest)) < bytes
}

function beginning(text: string, longest: number): string {
  const end = longest - 1
  return `${text.slice(0, splitsPair(text, end) ? end - 1 : end)}…`
}

const splitsPair = (text: string, at: number): boolean => {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)]
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff
}

type Truncatable<T> = {
  /** How many parts (hits, columns) there are to keep. */
  most: number
  /** All values in the answer that keeps so many parts. */
  values: (kept: number) => readonly Value[]
  show: (kept: number, longest: number) => T
  leftOut: readonly [one: string, several: string]
  advice: string
}

/** As many parts as fit at any length of their values; of these lengths the largest. */
function truncateToFit<T extends object>(
  maxBytes: number,
  { most, values, show: showParts, leftOut, advice }: Truncatable<T>,
): (T & { truncated?: string }) | undefined {
  if (maxBytes < ANSWER_MIN_BYTES) throw new RangeError(`An answer needs ${ANSWER_MIN_BYTES} bytes`)

  const answerWith = (kept: number, longest: number): T & { truncated?: string } => {
    const shortened = values(kept).filter((value) => isTruncated(value, longest)).length
    const cuts = [
      shortened > 0 &&
        `${counted(shortened, ['long value', 'long values'])} shortened to ${longest} characters`,
      kept < most && `${counted(most - kept, leftOut)} left out`,
    ].filter((cut) => cut !== false)
    const answer = showParts(kept, longest)
    return cuts.length === 0 ? answer : { ...answer, truncated: `${cuts.join('; ')}.${advice}` }
  }
  const fits = (kept: number, longest: number): boolean => {
    if (charactersOf(values(kept), longest) > maxBytes) return false
    const answer = answerWith(kept, longest)
    return jsonBytes(answer) <= maxBytes && yamlBytes(answer) <= maxBytes
  }

  const longestFor = (kept: number): number | undefined => {
    const all = values(kept)
    if (charactersOf(all, VALUE_MIN_CHARACTERS) > maxBytes) return undefined
    // Longer values never make less JSON; all that can be won is that fewer of them have to be mentioned.
    if (jsonBytes(answerWith(kept, VALUE_MIN_CHARACTERS)) > maxBytes + NOTICE_MAX_BYTES) return undefined
    return longestThatFits(all, maxBytes, (longest) => fits(kept, longest))
  }

  if (fits(most, maxBytes)) return answerWith(most, maxBytes)
  const isPossible = (kept: number) => fits(kept, VALUE_MIN_CHARACTERS) || longestFor(kept) !== undefined
  const kept = isPossible(most) ? most : largest(0, most - 1, isPossible)
  const longest = longestFor(kept)
  return longest === undefined ? undefined : answerWith(kept, longest)
}

const counted = (count: number, [one, several]: readonly [string, string]): string =>
  `${count} ${count === 1 ? one : several}`

/**
 * The size grows with the length only as long as the same values are cut: one that becomes whole may shrink (no more
 * escaped quotes, no more mention in `truncated`). So the lengths at which that happens are tried from the top, and
 * the search halves only between two of them.
 */
function longestThatFits(
  values: readonly Value[],
  maxBytes: number,
  fits: (longest: number) => boolean,
): number | undefined {
  const ceiling = largest(
    VALUE_MIN_CHARACTERS,
    maxBytes,
    (longest) => charactersOf(values, longest) <= maxBytes,
  )
  const turns = new Set(
    values
      .filter((value) => isTruncated(value, VALUE_MIN_CHARACTERS))
      .map((value) => largest(VALUE_MIN_CHARACTERS, ceiling, (longest) => isTruncated(value, longest)) + 1),
  )
  let above = ceiling + 1
  for (const turn of [...turns].filter((at) => at <= ceiling).toSorted((a, b) => b - a)) {
    if (fits(turn)) return largest(turn, above - 1, fits)
    above = turn
  }
  return fits(VALUE_MIN_CHARACTERS) ? largest(VALUE_MIN_CHARACTERS, above - 1, fits) : undefined
}

/** Never more than the bytes these values take, and counted without writing them. */
const charactersOf = (values: readonly Value[], longest: number): number =>
  values.reduce((sum, { text }) => sum + Math.min(text.length, longest), 0)

/** The last number for which it holds, given that it holds for the first and never again once it does not. */
function largest(first: number, last: number, holds: (candidate: number) => boolean): number {
  let [yes, no] = [first, last + 1]
  while (no - yes > 1) {
    const middle = Math.floor((yes + no) / 2)
    if (holds(middle)) yes = middle
    else no = middle
  }
  return yes
}

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
const yamlBytes = (value: unknown): number => Buffer.byteLength(writeYaml(value))
