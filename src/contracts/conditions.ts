/**
 * The conditions of an http check, in the words that Gatus made common: `[STATUS] == 200`, `[RESPONSE_TIME] < 300`,
 * `[BODY].status == UP`, `len([BODY].items) > 0`, `has([BODY].error) == false`, `[BODY] == pat(*ok*)`.
 */
import { readJson } from './read-json.ts'

const COMPARISONS = ['==', '!=', '<=', '>=', '<', '>'] as const
type Comparison = (typeof COMPARISONS)[number]

type Operand =
  | { readonly kind: 'status' }
  | { readonly kind: 'time' }
  | {
      readonly kind: 'body'
      readonly path: readonly (string | number)[]
      readonly of: 'value' | 'len' | 'has'
    }

export type Condition = {
  readonly text: string
  readonly operand: Operand
  readonly comparison: Comparison
  /** Stars stand for any text. */
  readonly expected: { readonly value: string } | { readonly pattern: readonly string[] }
}

export type Measured = { readonly status: number; readonly timeMs: number; readonly body: string }

export const CONDITION_MAX = 300
const PATH_STEPS_MAX = 20

/** Undefined where the text is not a condition. */
export function parseCondition(text: string): Condition | undefined {
  if (text.length > CONDITION_MAX) return undefined
  const [, left, comparison, right] = /^\s*(.*?)\s*(==|!=|<=|>=|<|>)\s*(.*?)\s*$/.exec(text) ?? []
  const operand = parseOperand(left ?? '')
  if (!operand || !right) return undefined
  const [, pattern] = /^pat\((.*)\)$/.exec(right) ?? []
  const isOrder = comparison !== '==' && comparison !== '!='
  if (isOrder && (pattern !== undefined || !isNumber(right))) return undefined
  if (operand.kind !== 'body' && pattern === undefined && !isNumber(right)) return undefined
  return {
    text,
    operand,
    comparison: comparison as Comparison,
    expected: pattern === undefined ? { value: unquoted(right) } : { pattern: pattern.split('*') },
  }
}

const isNumber = (text: string): boolean => /^-?\d{1,15}(?:\.\d{1,10})?$/.test(text)
const unquoted = (text: string): string => /^"(.*)"$/.exec(text)?.[1] ?? text

function parseOperand(text: string): Operand | undefined {
  if (text === '[STATUS]') return { kind: 'status' }
  if (text === '[RESPONSE_TIME]') return { kind: 'time' }
  const [, of, inside] = /^(len|has)\((.*)\)$/.exec(text) ?? []
  const path = parsePath(inside ?? text)
  return path && { kind: 'body', path, of: (of as 'len' | 'has' | undefined) ?? 'value' }
}

/** `[BODY]`, `[BODY].a.b`, `[BODY].items[0].id`, `[BODY][2]`. */
function parsePath(text: string): (string | number)[] | undefined {
  if (!text.startsWith('[BODY]')) return undefined
  const rest = text.slice('[BODY]'.length)
  const steps = [...rest.matchAll(/\.([\w-]{1,100})|\[(\d{1,6})\]/gy)]
  if (steps.reduce((length, [whole]) => length + whole.length, 0) !== rest.length) return undefined
  if (steps.length > PATH_STEPS_MAX) return undefined
  return steps.map(([, name, index]) => name ?? Number(index))
}

export function holds({ operand, comparison, expected }: Condition, measured: Measured): boolean {
  const actual = valueOf(operand, measured)
  if ('pattern' in expected) {
    const matches = actual !== undefined && matchesStars(actual, expected.pattern)
    return comparison === '==' ? matches : !matches
  }
  if (comparison === '==') return actual === expected.value || sameNumber(actual, expected.value)
  if (comparison === '!=') return !(actual === expected.value || sameNumber(actual, expected.value))
  if (actual === undefined || !isNumber(actual)) return false
  const [a, b] = [Number(actual), Number(expected.value)]
  if (comparison === '<') return a < b
  if (comparison === '<=') return a <= b
  return comparison === '>' ? a > b : a >= b
}

const sameNumber = (actual: string | undefined, expected: string): boolean =>
  actual !== undefined && isNumber(actual) && isNumber(expected) && Number(actual) === Number(expected)

/** As text; undefined where there is nothing. */
function valueOf(operand: Operand, { status, timeMs, body }: Measured): string | undefined {
  if (operand.kind === 'status') return String(status)
  if (operand.kind === 'time') return String(Math.round(timeMs))
  const found = operand.path.length === 0 && operand.of === 'value' ? body : readPath(body, operand.path)
  if (operand.of === 'has') return String(found !== undefined)
  if (operand.of === 'len') return lengthOf(found)
  if (found === undefined) return undefined
  return typeof found === 'string' ? found : JSON.stringify(found)
}

function lengthOf(value: unknown): string | undefined {
  if (typeof value === 'string' || Array.isArray(value)) return String(value.length)
  return typeof value === 'object' && value !== null ? String(Object.keys(value).length) : undefined
}

function readPath(body: string, path: readonly (string | number)[]): unknown {
  let value = readJson(body)
  if (value === undefined) return path.length === 0 ? body : undefined
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string | number, unknown>)[step]
  }
  return value
}

/** The parts between the stars, one after the other: no regular expression that a body could make slow. */
function matchesStars(text: string, parts: readonly string[]): boolean {
  if (parts.length === 1) return text === parts[0]
  const [first, last] = [parts[0]!, parts.at(-1)!]
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false
  const end = text.length - last.length
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}
