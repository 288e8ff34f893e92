/**
 * The part of Go's template language that the chart uses. Everything else is refused, so that the chart stays within it.
 * docs/self-hosting.md says how the results were compared with Go's own.
 */

export type Value = unknown
export type Scope = { readonly dot: Value; readonly variables: ReadonlyMap<string, Value> }
/** Arguments are functions: `and` and `or` leave out those behind the one that decides. */
export type TemplateFunction = (...values: readonly (() => Value)[]) => Value

type Operand =
  | { readonly kind: 'literal'; readonly value: Value }
  | { readonly kind: 'path'; readonly from: string; readonly names: readonly string[] }
  | { readonly kind: 'pipeline'; readonly commands: Pipeline }
  | { readonly kind: 'function'; readonly name: string }
type Pipeline = readonly (readonly Operand[])[]

export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly pipeline: Pipeline }
  | { readonly kind: 'assign'; readonly name: string; readonly pipeline: Pipeline }
  | {
      readonly kind: 'if'
      readonly branches: readonly { readonly when: Pipeline | undefined; readonly body: Body }[]
    }
  | {
      readonly kind: 'range'
      readonly names: readonly string[]
      readonly over: Pipeline
      readonly body: Body
    }
export type Body = readonly TemplateNode[]

export type Parsed = { readonly body: Body; readonly defined: ReadonlyMap<string, Body> }

type Piece = { readonly text: string } | { readonly action: string }

const ACTION = /\{\{(- )?(?:\/\*[^]*?\*\/|([^]*?))( -)?\}\}/g

/** Texts and actions; a comment is an empty action. A dash inside the braces takes away the white space beside it. */
function cut(source: string): Piece[] {
  const pieces: Piece[] = []
  let [from, trimsNext] = [0, false]
  const add = (text: string, trimsEnd: boolean) => {
    const start = trimsNext ? text.trimStart() : text
    pieces.push({ text: trimsEnd ? start.trimEnd() : start })
  }
  // Comments are written with their dash right beside them.
  const normal = source.replaceAll('{{-/*', '{{- /*').replaceAll('*/-}}', '*/ -}}')
  for (const found of normal.matchAll(ACTION)) {
    add(normal.slice(from, found.index), found[1] !== undefined)
    pieces.push({ action: (found[2] ?? '').trim() })
    from = found.index + found[0].length
    trimsNext = found[3] !== undefined
  }
  add(normal.slice(from), false)
  return pieces
}

export function parseTemplate(source: string): Parsed {
  const pieces = cut(source)
  const defined = new Map<string, Body>()
  let at = 0

  /** Up to an action that belongs to whoever called: `else`, `else if …` or `end`. */
  const readBody = (): { body: Body; ending: string } => {
    const body: TemplateNode[] = []
    while (at < pieces.length) {
      const piece = pieces[at++]!
      if ('text' in piece) {
        if (piece.text !== '') body.push({ kind: 'text', text: piece.text })
        continue
      }
      const { action } = piece
      if (/^(end|else)\b/.test(action)) return { body, ending: action }
      const node = readAction(action)
      if (node) body.push(node)
    }
    return { body, ending: '' }
  }

  const readAction = (action: string): TemplateNode | undefined => {
    if (action === '') return undefined
    const [, word = '', rest = ''] = /^(\w+)\s*([^]*)$/.exec(action) ?? []
    if (word === 'define') {
      const { body, ending } = readBody()
      expectEnd(ending, action)
      defined.set(String(JSON.parse(rest)), body)
      return undefined
    }
    if (word === 'if') return readIf(rest)
    if (word === 'range') return readRange(rest)
    if (['with', 'block', 'template', 'break', 'continue'].includes(word)) {
      throw new Error(`The template uses ${word}, which is not known here`)
    }
    const [, name, assigned] = /^\$(\w+)\s*:=\s*([^]*)$/.exec(action) ?? []
    if (name !== undefined) return { kind: 'assign', name, pipeline: parsePipeline(assigned!) }
    return { kind: 'output', pipeline: parsePipeline(action) }
  }

  const readIf = (first: string): TemplateNode => {
    const branches: { when: Pipeline | undefined; body: Body }[] = []
    let when: Pipeline | undefined = parsePipeline(first)
    for (;;) {
      const { body, ending } = readBody()
      branches.push({ when, body })
      if (ending === 'end') return { kind: 'if', branches }
      const [, condition] = /^else(?: if ([^]*))?$/.exec(ending) ?? []
      if (ending === '') throw new Error(`{{ if ${first} }} has no end`)
      when = condition === undefined ? undefined : parsePipeline(condition)
    }
  }

  const readRange = (rest: string): TemplateNode => {
    const [, names, over] = /^(?:((?:\$\w+,\s*)?\$\w+)\s*:=\s*)?([^]*)$/.exec(rest)!
    const { body, ending } = readBody()
    expectEnd(ending, rest)
    return {
      kind: 'range',
      names: names?.split(',').map((name) => name.trim().slice(1)) ?? [],
      over: parsePipeline(over!),
      body,
    }
  }

  const { body, ending } = readBody()
  if (ending !== '') throw new Error(`{{ ${ending} }} closes nothing`)
  return { body, defined }
}

function expectEnd(ending: string, opened: string): void {
  if (ending !== 'end') throw new Error(`{{ ${opened} }} has no end`)
}

const TOKEN = /\s*("(?:[^"\\]|\\.)*"|\$?\w*(?:\.\w+)+|\$\w*|\.|-?\d+|\w+|[()|])/y

function parsePipeline(text: string): Pipeline {
  const tokens = tokensOf(text)
  let at = 0
  const readPipeline = (): Pipeline => {
    const commands: Operand[][] = [[]]
    while (at < tokens.length && tokens[at] !== ')') {
      const token = tokens[at++]!
      if (token === '|') commands.push([])
      else commands.at(-1)!.push(token === '(' ? readParentheses() : operandOf(token))
    }
    return commands
  }
  const readParentheses = (): Operand => {
    const commands = readPipeline()
    if (tokens[at++] !== ')') throw new Error(`{{ ${text} }} has an open parenthesis`)
    return { kind: 'pipeline', commands }
  }
  const pipeline = readPipeline()
  if (at < tokens.length) throw new Error(`{{ ${text} }} does not parse`)
  return pipeline
}

function tokensOf(text: string): string[] {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const from = TOKEN.lastIndex
    const found = TOKEN.exec(text)
    if (!found) throw new Error(`{{ ${text} }} does not parse at ${text.slice(from)}`)
    tokens.push(found[1]!)
  }
  return tokens
}

function operandOf(token: string): Operand {
  if (token.startsWith('"')) return { kind: 'literal', value: JSON.parse(token) }
  if (/^-?\d+$/.test(token)) return { kind: 'literal', value: Number(token) }
  if (token === 'true' || token === 'false') return { kind: 'literal', value: token === 'true' }
  if (/^[.$]/.test(token)) {
    const [from = '', ...names] = token.split('.')
    return { kind: 'path', from, names: names.filter((name) => name !== '') }
  }
  return { kind: 'function', name: token }
}

export const isTrue = (value: Value): boolean => {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return false
  return typeof value === 'object' ? Object.keys(value).length > 0 : true
}

/** As Go prints values of templates. */
export function printed(value: Value): string {
  if (typeof value === 'string' || typeof value === 'boolean') return String(value)
  // Numbers of values are floating-point in Go, and from a million on it writes an exponent.
  if (Number.isInteger(value) && Math.abs(value as number) < 1e6) return String(value)
  throw new Error(`The template prints ${JSON.stringify(value) ?? 'a value that is missing'}`)
}

export function execute(
  body: Body,
  dot: Value,
  functions: { readonly [name: string]: TemplateFunction },
): string {
  const run = (nodes: Body, outer: Scope): string => {
    let scope = outer
    let output = ''
    for (const node of nodes) {
      if (node.kind === 'assign') {
        const value = evaluate(node.pipeline, scope)
        scope = { ...scope, variables: new Map([...scope.variables, [node.name, value]]) }
      } else output += runNode(node, scope)
    }
    return output
  }

  const runNode = (node: Exclude<TemplateNode, { kind: 'assign' }>, scope: Scope): string => {
    switch (node.kind) {
      case 'text':
        return node.text
      case 'output':
        return printed(evaluate(node.pipeline, scope))
      case 'if': {
        const chosen = node.branches.find(({ when }) => when === undefined || isTrue(evaluate(when, scope)))
        return chosen ? run(chosen.body, scope) : ''
      }
      case 'range':
        return entriesOf(evaluate(node.over, scope))
          .map(([key, value]) => run(node.body, rangeScope(node.names, key, value, scope)))
          .join('')
    }
  }

  const evaluate = (pipeline: Pipeline, scope: Scope): Value => {
    let piped: (() => Value)[] = []
    for (const command of pipeline) {
      const value = call(command, piped, scope)
      piped = [() => value]
    }
    return piped[0]?.()
  }

  const call = (
    [first, ...rest]: readonly Operand[],
    piped: readonly (() => Value)[],
    scope: Scope,
  ): Value => {
    if (!first) throw new Error('A command of a template is empty')
    if (first.kind !== 'function') {
      if (rest.length + piped.length > 0) throw new Error('A value of a template has arguments')
      return valueOf(first, scope)
    }
    return callFunction(first.name, [...rest.map((operand) => () => valueOf(operand, scope)), ...piped])
  }

  const callFunction = (name: string, values: readonly (() => Value)[]): Value => {
    const known = functions[name]
    if (!known) throw new Error(`The template uses ${name}, which is not known here`)
    return known(...values)
  }

  const valueOf = (operand: Operand, scope: Scope): Value => {
    switch (operand.kind) {
      case 'literal':
        return operand.value
      case 'pipeline':
        return evaluate(operand.commands, scope)
      case 'function':
        return callFunction(operand.name, [])
      case 'path':
        return operand.names.reduce<Value>(fieldOf, startOf(operand.from, scope))
    }
  }

  const startOf = (from: string, { dot: current, variables }: Scope): Value => {
    if (from === '') return current
    if (!variables.has(from.slice(1))) throw new Error(`The template has no variable ${from}`)
    return variables.get(from.slice(1))
  }

  return run(body, { dot, variables: new Map([['', dot]]) })
}

function fieldOf(value: Value, name: string): Value {
  if (value === undefined || value === null) {
    throw new Error(`nil pointer evaluating interface {}.${name}`)
  }
  return (value as Record<string, Value>)[name]
}

/** Maps by their sorted keys, as Go does. */
function entriesOf(value: Value): [Value, Value][] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.map((item: Value, index) => [index, item])
  return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function rangeScope(names: readonly string[], key: Value, value: Value, { variables }: Scope): Scope {
  const [first, second] = names
  const own: [string, Value][] =
    second === undefined
      ? first === undefined
        ? []
        : [[first, value]]
      : [
          [first!, key],
          [second, value],
        ]
  return { dot: value, variables: new Map([...variables, ...own]) }
}
