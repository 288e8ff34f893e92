/** A wire is a pure pair: our request as the provider wants it, and its answer as ours. */
import type { ModelRequest, ModelTurn } from '../../contracts/model-port.ts'

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

/** Null unless every one of them that is there is a whole number, and at least one is. */
export function sumTokens(usage: unknown, names: readonly string[]): number | null {
  const found = names
    .map((name) => member(usage, name))
    .filter((value) => value !== undefined && value !== null)
  if (found.length === 0) return null
  const counts = found.map((value) =>
    Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : NaN,
  )
  const sum = counts.reduce((total, count) => total + count, 0)
  return Number.isNaN(sum) ? null : sum
}

/** Arguments that a provider sends as an object are written out again, so that all wires answer alike. */
export const argumentsText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? {})

/** For the way back: what was not JSON becomes an empty object, because providers refuse anything else. */
export function argumentsObject(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch {
    return {}
  }
}
