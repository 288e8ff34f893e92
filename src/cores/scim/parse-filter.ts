/** Filters and paths of SCIM (RFC 7644, 3.4.2.2 and figure 7), with names in lower case. Length and depth are limited. */
import { SCIM_FILTER } from '../../contracts/limits.ts'
import { SCIM_URN, type ScimErrorType } from '../../contracts/scim-resources.ts'
import { ScimError } from './scim-error.ts'

const COMPARISONS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const
export type Comparison = (typeof COMPARISONS)[number]
export type FilterValue = string | number | boolean | null

export type Filter =
  | { readonly op: 'and'; readonly of: readonly Filter[] }
  | { readonly op: 'or'; readonly of: readonly Filter[] }
  | { readonly op: 'not'; readonly of: Filter }
  /** `emails[type eq "work"]`: one value for which all of it holds. */
  | { readonly op: 'has'; readonly attribute: string; readonly of: Filter }
  | { readonly op: 'pr'; readonly attribute: string }
  | { readonly op: Comparison; readonly attribute: string; readonly value: FilterValue }

export type Path = {
  readonly attribute: string
  readonly filter?: Filter
  readonly sub?: string
}

export const parseFilter = (text: string): Filter =>
  reading(text, 'invalidFilter', (reader) => reader.filter())

/** Of a change: an attribute, one of its values, a part of that. */
export const parsePath = (text: string): Path => reading(text, 'invalidPath', (reader) => reader.path())

function reading<Result>(
  text: string,
  type: ScimErrorType,
  read: (reader: ReturnType<typeof readerOf>) => Result,
): Result {
  const { characters } = SCIM_FILTER
  if (text.length > characters) throw new ScimError(type, `It must be at most ${characters} characters`)
  const reader = readerOf(tokensOf(text, type), type)
  const result = read(reader)
  reader.end()
  return result
}

/** A string as JSON has it, a bracket, or a word; a dot after a bracket belongs to the next word. */
// oxlint-disable-next-line no-control-regex -- JSON allows none of them
const TOKEN = /\s*(?:("(?:[^"\\\u0000-\u001f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*")|([()[\]])|([^\s()[\]"]+))/y

type Token = { readonly kind: 'text' | 'bracket' | 'word'; readonly text: string }

function tokensOf(text: string, type: ScimErrorType): readonly Token[] {
  const tokens: Token[] = []
  const all = text.trimEnd()
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < all.length) {
    const found = TOKEN.exec(all)
    if (!found) throw new ScimError(type, 'It is not valid')
    const [, quoted, bracket, word] = found
    if (quoted !== undefined) tokens.push({ kind: 'text', text: JSON.parse(quoted) as string })
    else if (bracket !== undefined) tokens.push({ kind: 'bracket', text: bracket })
    else tokens.push({ kind: 'word', text: word! })
  }
  return tokens
}

const ATTRIBUTE = /^[a-z$][\w$-]*(\.[a-z$][\w$-]*)?$/
const SUB_ATTRIBUTE = /^\.([a-z$][\w$-]*)$/
const URNS = [SCIM_URN.user, SCIM_URN.group].map((urn) => `${urn.toLowerCase()}:`)

function readerOf(tokens: readonly Token[], type: ScimErrorType) {
  let at = 0
  let depth = 0

  const fail = (): never => {
    throw new ScimError(type, 'It is not valid')
  }
  const isNext = (kind: Token['kind'], text: string): boolean =>
    tokens[at]?.kind === kind && tokens[at]!.text.toLowerCase() === text
  const take = (kind: Token['kind'], text: string): boolean => {
    if (!isNext(kind, text)) return false
    at += 1
    return true
  }
  const demand = (text: string): void => {
    if (!take('bracket', text)) fail()
  }

  /** Everything that can hold itself comes through here. */
  function nested<Result>(read: () => Result): Result {
    depth += 1
    if (depth > SCIM_FILTER.depth)
      throw new ScimError(type, `It must be at most ${SCIM_FILTER.depth} levels deep`)
    const result = read()
    depth -= 1
    return result
  }

  function filter(): Filter {
    return nested(() => joined('or', () => joined('and', term)))
  }

  function joined(op: 'and' | 'or', read: () => Filter): Filter {
    const of = [read()]
    while (take('word', op)) of.push(read())
    return of.length === 1 ? of[0]! : { op, of }
  }

  function term(): Filter {
    if (isNext('word', 'not') && tokens[at + 1]?.text === '(') {
      at += 1
      return { op: 'not', of: term() }
    }
    if (take('bracket', '(')) {
      const inner = filter()
      demand(')')
      return inner
    }
    const attribute = attributeName()
    if (take('bracket', '[')) {
      const of = filter()
      demand(']')
      const sub = subAttribute()
      const has: Filter = { op: 'has', attribute, of }
      // `emails[type eq "work"].value eq "x"`: of one and the same value.
      return sub === undefined ? has : { ...has, of: { op: 'and', of: [of, comparison(sub)] } }
    }
    return comparison(attribute)
  }

  function comparison(attribute: string): Filter {
    if (take('word', 'pr')) return { op: 'pr', attribute }
    const word = tokens[at]?.kind === 'word' ? tokens[at]!.text.toLowerCase() : ''
    const op = COMPARISONS.find((one) => one === word) ?? fail()
    at += 1
    return { op, attribute, value: value() }
  }

  function value(): FilterValue {
    const token = tokens[at++] ?? fail()
    if (token.kind === 'text') return token.text
    if (token.kind === 'bracket') return fail()
    const word = token.text
    if (word === 'true' || word === 'false') return word === 'true'
    if (word === 'null') return null
    return /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/.test(word) ? Number(word) : fail()
  }

  function attributeName(): string {
    const token = tokens[at++]
    if (token?.kind !== 'word') return fail()
    const name = token.text.toLowerCase()
    const urn = URNS.find((one) => name.startsWith(one)) ?? ''
    const bare = name.slice(urn.length)
    return ATTRIBUTE.test(bare) || (type === 'invalidPath' && isForeign(bare)) ? bare : fail()
  }

  function subAttribute(): string | undefined {
    const token = tokens[at]
    const sub = token?.kind === 'word' ? SUB_ATTRIBUTE.exec(token.text.toLowerCase())?.[1] : undefined
    if (sub !== undefined) at += 1
    return sub
  }

  function path(): Path {
    const [attribute, ownSub] = splitName(attributeName())
    if (ownSub !== undefined) return { attribute, sub: ownSub }
    if (!take('bracket', '[')) return { attribute }
    const of = filter()
    demand(']')
    const sub = subAttribute()
    return { attribute, filter: of, ...(sub !== undefined && { sub }) }
  }

  return {
    filter,
    path,
    end: () => {
      if (at !== tokens.length) fail()
    },
  }
}

/** Of an extension, whose attributes are not kept. */
const isForeign = (name: string): boolean => /^urn:[\w:.-]+$/.test(name)

function splitName(name: string): [string, string | undefined] {
  if (isForeign(name)) return [name, undefined]
  const [attribute, sub] = name.split('.') as [string, string | undefined]
  return [attribute, sub]
}
