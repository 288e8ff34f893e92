/** The functions of Helm, sprig and Go that the chart uses, and no others. */
import { createHash } from 'node:crypto'
import { stringify } from 'yaml'
import { isTrue, printed, type TemplateFunction, type Value } from './template-language.ts'

/** Evaluates all arguments first; all but `and` and `or` do that. */
const eager =
  (known: (...values: Value[]) => Value): TemplateFunction =>
  (...values) =>
    known(...values.map((value) => value()))

export class TemplateFailure extends Error {
  override readonly name = 'TemplateFailure'
}

export const templateFunctions = (
  include: (name: string, dot: Value) => string,
): { readonly [name: string]: TemplateFunction } => ({
  and: (...values) => firstOr(values, (value) => !isTrue(value)),
  or: (...values) => firstOr(values, isTrue),
  not: eager((value) => !isTrue(value)),
  eq: eager((a, ...others) => others.some((b) => comparable(a) === comparable(b))),
  ne: eager((a, b) => comparable(a) !== comparable(b)),
  gt: eager((a, b) => Number(a) > Number(b)),
  int: eager((value) => Math.trunc(Number(value))),
  add: eager((...values) => values.reduce<number>((sum, value) => sum + Number(value), 0)),
  default: eager((otherwise, value) => (isTrue(value) ? value : otherwise)),
  dict: eager((...values) =>
    Object.fromEntries(
      Array.from({ length: values.length / 2 }, (_, at) => [String(values[at * 2]), values[at * 2 + 1]]),
    ),
  ),
  // Both change their first argument, as sprig's do.
  set: eager((table, name, value) => Object.assign(table as object, { [String(name)]: value })),
  merge: eager((table, ...more) => {
    for (const [name, value] of more.flatMap((one) => Object.entries(one as object))) {
      const merged = table as Record<string, Value>
      if (!isTrue(merged[name])) merged[name] = value
    }
    return table
  }),
  hasKey: eager((table, name) => Object.hasOwn(table as object, String(name))),
  list: eager((...values) => values),
  index: eager((value, ...keys) =>
    keys.reduce<Value>((inner, key) => (inner as Record<string, Value>)[String(key)], value),
  ),
  include: eager((name, dot) => include(String(name), dot)),
  fail: eager((message) => {
    throw new TemplateFailure(String(message))
  }),
  printf: eager((format, ...values) => {
    const left = [...values]
    return String(format).replaceAll(/%(.)/g, (_, verb) => {
      if (verb !== 's') throw new Error(`printf does not know %${verb}`)
      return printed(left.shift())
    })
  }),
  join: eager((separator, values) => (values as Value[]).map(printed).join(String(separator))),
  trim: eager((text) => String(text).trim()),
  lower: eager((text) => String(text).toLowerCase()),
  replace: eager((from, to, text) => String(text).split(String(from)).join(String(to))),
  regexMatch: eager((pattern, text) => new RegExp(String(pattern)).test(String(text))),
  trunc: eager((length, text) => String(text).slice(0, Number(length))),
  trimSuffix: eager((suffix, text) =>
    String(text).endsWith(String(suffix)) ? String(text).slice(0, -String(suffix).length) : text,
  ),
  nindent: eager((width, text) => {
    const pad = ' '.repeat(Number(width))
    return `\n${pad}${String(text).replaceAll('\n', `\n${pad}`)}`
  }),
  quote: eager((value) => (value === undefined || value === null ? '' : JSON.stringify(printed(value)))),
  sha256sum: eager((text) => createHash('sha256').update(String(text)).digest('hex')),
  toJson: eager((value) =>
    JSON.stringify(sorted(value)).replaceAll(
      /[<>&\u2028\u2029]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  ),
  toYaml: eager((value) =>
    stringify(value, { indentSeq: false, lineWidth: 0, sortMapEntries: true }).trimEnd(),
  ),
})

function firstOr(values: readonly (() => Value)[], decides: (value: Value) => boolean): Value {
  let last: Value
  for (const value of values) {
    last = value()
    if (decides(last)) return last
  }
  return last
}

/** Go refuses to compare what is missing, or two kinds of values. */
function comparable(value: Value): Value {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return value
  throw new Error(`The template compares ${JSON.stringify(value)}`)
}

function sorted(value: Value): Value {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]))
}
