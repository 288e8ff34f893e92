/** A wire is a pure pair: our request as the provider wants it, and its answer as ours. */
import type { ModelRequest, ModelTurn } from '../../contracts/model-port.ts'
import { readJsonObject } from '../../contracts/read-json.ts'

export type WireSettings = {
  /** What the provider calls the model. */
  readonly model: string
  readonly key: string | undefined
  /** Local servers know only the older name. */
  readonly outputLimitField: 'max_tokens' | 'max_completion_tokens'
}

export type WireRequest = {
  /** Added to the base address. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

export type Wire = {
  readonly toRequest: (settings: WireSettings, request: ModelRequest) => WireRequest
  /** Throws InvalidModelAnswer for what is no answer at all. */
  readonly fromResponse: (body: unknown) => ModelTurn
}

/** Without a word of the provider's: its text may quote what it was sent. */
export class InvalidModelAnswer extends Error {
  override readonly name = 'InvalidModelAnswer'
}

export const bearer = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` }

export const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

export const textMember = (value: unknown, name: string): string => {
  const found = member(value, name)
  return typeof found === 'string' ? found : ''
}

export function listMember(value: unknown, name: string): readonly unknown[] {
  const found = member(value, name)
  return Array.isArray(found) ? found : []
}

/**
 * Null unless input and output are both said, in whole numbers, and there was some input: gateways leave out halves of it,
 * or say zero. `cached`: input that some providers count apart.
 */
export function tokensIn(
  usage: unknown,
  names: { readonly input: string; readonly output: string; readonly cached?: readonly string[] },
): number | null {
  const [input, output] = [countIn(usage, names.input), countIn(usage, names.output)]
  const cached = (names.cached ?? [])
    .filter((name) => (member(usage, name) ?? null) !== null)
    .map((name) => countIn(usage, name))
  const asked = cached.reduce((sum, count) => sum + count, input)
  // Not a number is not greater, either.
  return asked > 0 && output >= 0 ? asked + output : null
}

const USAGE_MAX = 1_000_000_000_000

/** NaN: it says nothing that could be counted. */
function countIn(usage: unknown, name: string): number {
  const value = member(usage, name)
  const isCount = typeof value === 'number' && value >= 0 && (Number.isInteger(value) || value === Infinity)
  // Beyond all sense, and charged all the same.
  return isCount ? Math.min(value, USAGE_MAX) : Number.NaN
}

/** Arguments that a provider sends as an object are written out again, so that all wires answer alike. */
export const argumentsText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? {})

/** For the way back: what was not JSON becomes an empty object, because providers refuse anything else. */
export const argumentsObject = (text: string): object => readJsonObject(text) ?? {}
